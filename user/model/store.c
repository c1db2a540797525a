// SPDX-License-Identifier: Apache-2.0
/* Opening a store to read it, and the list of its incidents. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/store_parts.h"
#include "model/store_schema.h"

/* An incident takes more of a file than this: so many numbers are tried of a damaged one. */
#define INCIDENT_BYTES_LEAST 512
#define NUMBERS_MIN 4096

int store_say(struct store *store, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(store->why, sizeof(store->why), format, args);
	va_end(args);
	return error;
}

/* A statement of ours that does not fit the schema, where the marks say that it is a store. */
int store_failed(struct store *store, int error)
{
	if (error == -EINVAL)
		error = -EBADMSG;
	return store_say(store, error, "%s", db_why(&store->db));
}

/* --- opening --- */

/*
 * Virtual tables and computed columns run code while they are read, as long as whoever made the
 * file likes. No store of ours has any.
 */
static int refuse_programs(struct store *store)
{
	static const char *const questions[] = {
		"SELECT count(*) FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%'",
		"SELECT count(*) FROM sqlite_schema AS s, pragma_table_xinfo(s.name) AS x"
		" WHERE s.type = 'table' AND x.hidden <> 0",
	};
	int64_t found = 0;

	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		int ret = db_number(&store->db, questions[i], 0, &found);

		if (ret)
			return store_failed(store, ret);
		if (found)
			return store_say(store, -EBADMSG,
				"its schema computes what it should hold: not made by oomsnoop");
	}
	return 0;
}

static int open_and_check(struct store *store, const char *path)
{
	int ret = db_open_reader(&store->db, path, &store->stale);

	if (ret)
		return store_say(store, ret, "%s", db_why(&store->db));
	ret = store_schema_check(&store->db, &store->version);
	return ret ? store_failed(store, ret) : refuse_programs(store);
}

struct store *store_open(const char *path, int *ret_error)
{
	struct store *store = calloc(1, sizeof(*store));

	*ret_error = -ENOMEM;
	if (!store)
		return NULL;
	store->db.lock_fd = -1;
	*ret_error = open_and_check(store, path);
	return store;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	store_readers_free(store);
	db_close(&store->db);
	free(store);
}

const char *store_why(const struct store *store)
{
	return store->why;
}

bool store_stale(const struct store *store)
{
	return store->stale;
}

bool store_renew(struct store *store)
{
	char path[sizeof(store->db.path)];

	if (store->stale || !db_overtaken(&store->db))
		return false;
	strcpy(path, store->db.path);
	store_readers_free(store);
	db_close(&store->db);
	store->checked = false;
	return !open_and_check(store, path);
}

/* --- which numbers there are --- */

struct census {
	int64_t count, timed; /* all, and those with a time */
	int64_t sum, first, last; /* of ids; 0: none */
};

static int take_census(struct store *store, const char *sql, struct census *ret)
{
	sqlite3_stmt *statement;
	int result = db_prepare(&store->db, &statement, sql);

	memset(ret, 0, sizeof(*ret));
	if (result)
		return result;
	result = db_step(&store->db, statement);
	if (result > 0) {
		ret->count = sqlite3_column_int64(statement, 0);
		ret->timed = sqlite3_column_int64(statement, 1);
		ret->sum = sqlite3_column_int64(statement, 2);
		ret->first = sqlite3_column_int64(statement, 3);
		ret->last = sqlite3_column_int64(statement, 4);
		result = 0;
	}
	sqlite3_finalize(statement);
	return result;
}

#define CENSUS "SELECT count(*), count(time_real_ns), sum(id), min(id), max(id) FROM incident "

/* The number given last, also where that incident is gone. */
static int last_given(struct store *store, int64_t *ret)
{
	return db_number(
		&store->db, "SELECT seq FROM sqlite_sequence WHERE name = 'incident'", 0, ret);
}

/*
 * Index, table and the numbers given must be of one mind. Pruning takes the lowest numbers first,
 * so that between the lowest and the last given none is missing: a page of the tree that lost a
 * row shows itself here, though SQLite finds nothing wrong with it.
 */
static bool is_sound(struct store *store)
{
	struct census table, index;
	int64_t given = 0, named = 0;

	if (take_census(store, CENSUS "NOT INDEXED", &table) ||
		take_census(store, CENSUS "INDEXED BY incident_time", &index) ||
		last_given(store, &given) ||
		db_number(&store->db, "SELECT max(incident) FROM verdict", 0, &named))
		return false;
	return !memcmp(&table, &index, sizeof(table)) && table.timed == table.count &&
	       table.last == given && named <= given &&
	       (!table.count || table.last - table.first + 1 == table.count);
}

static void widen(struct store *store, const char *sql, int64_t *first, int64_t *last)
{
	int64_t value;

	if (db_number(&store->db, sql, 0, &value) || value <= 0 || value == INT64_MAX)
		return;
	if (value > *last)
		*last = value;
	if (value < *first)
		*first = value;
}

int store_numbers(struct store *store, int64_t *ret_first, int64_t *ret_last)
{
	static const char *const questions[] = {
		"SELECT max(id) FROM incident NOT INDEXED",
		"SELECT min(id) FROM incident NOT INDEXED",
		"SELECT max(id) FROM incident INDEXED BY incident_time",
		"SELECT min(id) FROM incident INDEXED BY incident_time",
		"SELECT max(incident) FROM victim",
		"SELECT min(incident) FROM victim",
		"SELECT max(incident) FROM verdict",
		"SELECT min(incident) FROM verdict",
	};
	uint64_t bytes = 0, log_bytes = 0, most;
	int64_t first = INT64_MAX, last = 0;
	int ret = last_given(store, &last);

	if (last == INT64_MAX)
		last = 0;
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		widen(store, questions[i], &first, &last);
	db_size(&store->db, &bytes, &log_bytes);
	most = (bytes + log_bytes) / INCIDENT_BYTES_LEAST + NUMBERS_MIN;
	if (last > 0 && (first > last || (uint64_t)(last - first) > most))
		first = (uint64_t)last > most ? last - (int64_t)most : 1;
	*ret_first = last > 0 ? first : 1;
	*ret_last = last > 0 ? last : 0;
	return last > 0 ? 0 : ret;
}

/* --- the list --- */

struct entry {
	int64_t id, time_ns;
};

struct list {
	struct entry *entries;
	size_t count, size;
	size_t lost; /* numbers that must be there and cannot be read */
};

static int append(struct list *list, int64_t id, int64_t time_ns)
{
	struct entry *grown;
	size_t size = list->size ? 2 * list->size : 256;

	if (list->count == list->size) {
		grown = realloc(list->entries, size * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->entries = grown;
		list->size = size;
	}
	list->entries[list->count++] = (struct entry) {.id = id, .time_ns = time_ns};
	return 0;
}

static int by_time(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

static int list_by_index(struct store *store, int64_t since_ns, int64_t until_ns, struct list *list)
{
	sqlite3_stmt *statement;
	int ret = db_prepare(&store->db, &statement,
		"SELECT id, time_real_ns FROM incident INDEXED BY incident_time"
		" WHERE time_real_ns >= ?1 AND time_real_ns <= ?2 ORDER BY time_real_ns, id");

	if (ret)
		return ret;
	sqlite3_bind_int64(statement, 1, since_ns);
	sqlite3_bind_int64(statement, 2, until_ns);
	while ((ret = db_step(&store->db, statement)) > 0) {
		struct entry entry = {.id = sqlite3_column_int64(statement, 0),
			.time_ns = sqlite3_column_int64(statement, 1)};

		/* A tree that leads back into itself would be walked for ever. */
		if (list->count && by_time(&list->entries[list->count - 1], &entry) >= 0)
			ret = -EBADMSG;
		else
			ret = append(list, entry.id, entry.time_ns);
		if (ret)
			break;
	}
	sqlite3_finalize(statement);
	return ret;
}

/* Each number by itself, so that a page that is gone takes only what was on it. */
static int list_by_number(
	struct store *store, int64_t since_ns, int64_t until_ns, struct list *list)
{
	int64_t first, last, time_ns;
	sqlite3_stmt *statement;
	int ret = store_numbers(store, &first, &last);

	if (!ret)
		ret = db_prepare(&store->db, &statement,
			"SELECT time_real_ns FROM incident NOT INDEXED WHERE id = ?1");
	if (ret)
		return store_failed(store, ret);
	for (int64_t id = first; !ret && id <= last; id++) {
		sqlite3_bind_int64(statement, 1, id);
		if (db_step(&store->db, statement) <= 0) {
			list->lost++;
			continue;
		}
		time_ns = sqlite3_column_int64(statement, 0);
		if (sqlite3_column_type(statement, 0) != SQLITE_INTEGER)
			list->lost++;
		else if (time_ns >= since_ns && time_ns <= until_ns)
			ret = append(list, id, time_ns);
		sqlite3_reset(statement);
	}
	sqlite3_finalize(statement);
	if (ret)
		return store_say(store, ret, "no memory");
	if (list->count)
		qsort(list->entries, list->count, sizeof(list->entries[0]), by_time);
	return 0;
}

/* Within one transaction, so that a writer changes nothing meanwhile; it ends before anybody is
 * told, so that a slow reader does not hold the writer's log. */
static int make_list(struct store *store, int64_t since_ns, int64_t until_ns, struct list *list)
{
	int ret = db_exec(&store->db, "BEGIN");

	if (ret)
		return store_failed(store, ret);
	if (!store->checked)
		store->checked = is_sound(store);
	ret = store->checked ? list_by_index(store, since_ns, until_ns, list) : -EBADMSG;
	if (ret && ret != -ENOMEM) {
		list->count = 0;
		ret = list_by_number(store, since_ns, until_ns, list);
	} else if (ret) {
		store_say(store, ret, "no memory");
	}
	db_rollback(&store->db);
	return ret;
}

struct telling {
	struct store *store;
	sqlite3_stmt *statement;
	int (*fn)(const struct store_line *line, void *arg);
	void *arg;
};

/* What a writer pruned since the list was made is not told. */
static bool was_pruned(struct store *store, int64_t id)
{
	int64_t first;

	return !db_number(&store->db, "SELECT min(id) FROM incident NOT INDEXED", 0, &first) &&
	       first > id;
}

static int tell(struct telling *telling, const struct entry *entry)
{
	struct store_line line = {.id = entry->id, .time_ns = entry->time_ns};
	int ret;

	sqlite3_bind_int64(telling->statement, 1, entry->id);
	ret = db_step(&telling->store->db, telling->statement);
	if (!ret && was_pruned(telling->store, entry->id))
		return 0;
	line.damaged = ret <= 0 || sqlite3_column_int64(telling->statement, 0) != entry->time_ns;
	if (ret > 0)
		db_column_bytes(telling->statement, 1, line.told_by, sizeof(line.told_by));
	sqlite3_reset(telling->statement);
	return telling->fn(&line, telling->arg);
}

static int tell_all(struct telling *telling, const struct list *list, bool backwards)
{
	int ret = db_prepare(&telling->store->db, &telling->statement,
		"SELECT time_real_ns, told_by FROM incident NOT INDEXED WHERE id = ?1");

	if (ret)
		return store_failed(telling->store, ret);
	for (size_t i = 0; !ret && i < list->count; i++)
		ret = tell(telling, &list->entries[backwards ? list->count - 1 - i : i]);
	sqlite3_finalize(telling->statement);
	return ret;
}

int store_each(struct store *store, int64_t since_ns, int64_t until_ns, bool backwards,
	int (*fn)(const struct store_line *line, void *arg), void *arg)
{
	struct telling telling = {.store = store, .fn = fn, .arg = arg};
	struct list list = {0};
	int ret;

	store->why[0] = '\0';
	ret = make_list(store, since_ns, until_ns, &list);
	if (ret == -EBADMSG && store_renew(store)) {
		list.count = list.lost = 0;
		ret = make_list(store, since_ns, until_ns, &list);
	}
	if (!ret)
		ret = tell_all(&telling, &list, backwards);
	if (!ret && list.lost)
		ret = store_say(store, -EBADMSG, "damaged: %zu incident%s in it cannot be read",
			list.lost, list.lost == 1 ? "" : "s");
	free(list.entries);
	return ret;
}
