// SPDX-License-Identifier: Apache-2.0
/*
 * Kills that were not the OOM killer's, and what was refused, out of a store. As with incidents
 * rows are read whole and by the names of their columns. Statements are made anew each time: there
 * are few of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/store_parts.h"

#define SQL_BYTES 160

static void damaged(struct captured *ret, const char *what)
{
	if (ret->damaged)
		return;
	ret->damaged = true;
	snprintf(ret->damage, sizeof(ret->damage), "%s", what);
}

static bool has_kills(struct store *store)
{
	int64_t found = 0;

	return !db_number(&store->db,
		       "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND"
		       " name IN ('kill', 'kill_target')",
		       0, &found) &&
	       found == 2;
}

static bool has_refusals(struct store *store)
{
	int64_t found = 0;

	return !db_number(&store->db,
		       "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND"
		       " name = 'refusal'",
		       0, &found) &&
	       found == 1;
}

/* --- the list --- */

struct kill_list {
	struct store_line *lines;
	size_t count, room;
};

static int append(struct kill_list *list, const struct store_line *line)
{
	size_t room = list->room ? 2 * list->room : 256;
	struct store_line *grown;

	if (list->count == list->room) {
		grown = reallocarray(list->lines, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->lines = grown;
		list->room = room;
	}
	list->lines[list->count++] = *line;
	return 0;
}

static int make_list(struct store *store, const char *sql, int64_t since_ns, int64_t until_ns,
	struct kill_list *list)
{
	struct store_line line = {0}, last = {.time_ns = INT64_MIN};
	sqlite3_stmt *statement;
	int ret = db_prepare(&store->db, &statement, sql);

	if (ret)
		return ret;
	sqlite3_bind_int64(statement, 1, since_ns);
	sqlite3_bind_int64(statement, 2, until_ns);
	while ((ret = db_step(&store->db, statement)) > 0) {
		line.id = sqlite3_column_int64(statement, 0);
		line.time_ns = sqlite3_column_int64(statement, 1);
		/* A tree that leads back into itself would be walked for ever. */
		if (line.time_ns < last.time_ns ||
			(line.time_ns == last.time_ns && line.id <= last.id))
			ret = -EBADMSG;
		else
			ret = append(list, &line);
		if (ret)
			break;
		last = line;
	}
	sqlite3_finalize(statement);
	return ret;
}

static int each_of(struct store *store, const char *sql, int64_t since_ns, int64_t until_ns,
	int (*fn)(const struct store_line *line, void *arg), void *arg)
{
	struct kill_list list = {0};
	int ret = make_list(store, sql, since_ns, until_ns, &list), told = 0;

	for (size_t i = 0; !told && i < list.count; i++)
		told = fn(&list.lines[i], arg);
	free(list.lines);
	return told ? told : ret ? store_failed(store, ret) : 0;
}

#define LIST_OF(table)                                                                             \
	"SELECT id, time_real_ns FROM " table                                                      \
	" WHERE time_real_ns >= ?1 AND time_real_ns <= ?2 ORDER BY time_real_ns, id"

int store_kills(struct store *store, int64_t since_ns, int64_t until_ns,
	int (*fn)(const struct store_line *line, void *arg), void *arg)
{
	if (!has_kills(store))
		return 0;
	return each_of(store, LIST_OF("kill"), since_ns, until_ns, fn, arg);
}

int store_refusals(struct store *store, int64_t since_ns, int64_t until_ns,
	int (*fn)(const struct store_line *line, void *arg), void *arg)
{
	if (!has_refusals(store))
		return 0;
	return each_of(store, LIST_OF("refusal"), since_ns, until_ns, fn, arg);
}

/* --- one of them --- */

struct kill_loading {
	struct store *store;
	struct captured *ret;
	struct store_kill_told told;
	uint64_t sum, crc;
	bool has_crc;
};

static const struct field *find_in(const struct field_table *table, const char *name)
{
	for (size_t i = 0; i < table->field_count; i++)
		if (!strcmp(table->fields[i].column, name))
			return &table->fields[i];
	return NULL;
}

static void clear(const struct field_table *table, void *base, size_t n)
{
	for (size_t i = 0; i < table->field_count; i++)
		store_member_clear(&table->fields[i], base, n);
}

/* Row n of a table; keys are none of its facts. */
static void read_row(struct kill_loading *loading, sqlite3_stmt *statement,
	const struct field_table *table, void *facts, size_t n, int64_t sum_n)
{
	for (int i = 0; i < sqlite3_column_count(statement); i++) {
		const char *name = sqlite3_column_name(statement, i);
		const struct field *field;
		void *base = facts;

		if (!name || !strcmp(name, "id") || !strcmp(name, "kill") || !strcmp(name, "n"))
			continue;
		if (!strcmp(name, "crc")) {
			loading->crc = (uint64_t)sqlite3_column_int64(statement, i);
			loading->has_crc = sqlite3_column_type(statement, i) == SQLITE_INTEGER;
			continue;
		}
		loading->sum +=
			store_sum_read(store_sum_column(table->table, name), sum_n, statement, i);
		field = find_in(table, name);
		if (!field && table != &store_fields_kill_target) {
			field = find_in(&store_fields_kill_told, name);
			base = &loading->told;
		}
		if (field && !store_member_read(field, base, n, statement, i))
			damaged(loading->ret, "a column holds no value that it can have");
	}
}

static int read_facts(
	struct kill_loading *loading, const struct field_table *table, int64_t id, void *facts)
{
	sqlite3_stmt *statement;
	char sql[64];
	int ret;

	snprintf(sql, sizeof(sql), "SELECT * FROM %s WHERE id = ?1", table->table);
	ret = db_prepare(&loading->store->db, &statement, sql);

	if (ret)
		return ret;
	sqlite3_bind_int64(statement, 1, id);
	ret = db_step(&loading->store->db, statement);
	if (ret > 0)
		read_row(loading, statement, table, facts, 0, id);
	sqlite3_finalize(statement);
	return ret > 0 ? 0 : ret ? ret : -ENOENT;
}

static void read_targets(struct kill_loading *loading, int64_t id, struct killing *killing)
{
	unsigned int expected = killing->target_count, n = 0;
	sqlite3_stmt *statement;
	int ret = db_prepare(&loading->store->db, &statement,
		"SELECT * FROM kill_target WHERE kill = ?1 ORDER BY n");

	if (!ret)
		sqlite3_bind_int64(statement, 1, id);
	while (!ret && n < KILLING_TARGETS && db_step(&loading->store->db, statement) > 0) {
		clear(&store_fields_kill_target, killing, n);
		read_row(loading, statement, &store_fields_kill_target, killing, n, n);
		n++;
	}
	sqlite3_finalize(statement);
	killing->target_count = n;
	if (n != expected || !n)
		damaged(loading->ret, "targets cannot all be read");
}

/* An index and counts that the sinks go by. */
static void mend(struct captured *ret, struct killing *killing)
{
	bool known = killing->manner >= MANNER_EACH && killing->manner <= MANNER_LAST;

	if (known && killing->total >= killing->target_count &&
		killing->last_ns >= killing->time_ns && killing->term_ns <= killing->time_ns &&
		killing->oom_ns <= killing->time_ns)
		return;
	damaged(ret, "numbers that contradict each other");
	if (!known)
		killing->manner = MANNER_EACH;
	if (killing->total < killing->target_count)
		killing->total = killing->target_count;
	if (killing->term_ns > killing->time_ns)
		killing->term_ns = 0;
	if (killing->oom_ns > killing->time_ns)
		killing->oom_ns = 0;
}

static void mend_refusal(struct captured *ret, struct refusal *refusal)
{
	bool known = refusal->call >= EV_CALL_MMAP && refusal->call <= EV_CALL_LAST;

	if (known && refusal->last_ns >= refusal->time_ns)
		return;
	damaged(ret, "numbers that contradict each other");
	if (!known)
		refusal->call = EV_CALL_MMAP;
	if (refusal->last_ns < refusal->time_ns)
		refusal->last_ns = refusal->time_ns;
}

/* After the facts: their checksum, and the run. */
static void finish_load(struct kill_loading *loading, int64_t id)
{
	struct captured *ret = loading->ret;
	char damage[sizeof(ret->damage)];
	bool was_damaged;

	if (!loading->has_crc || loading->crc != loading->sum)
		damaged(ret, "it does not match its checksum");
	was_damaged = ret->damaged;
	memcpy(damage, ret->damage, sizeof(damage));
	store_load_run(loading->store, loading->told.run, ret);
	if (was_damaged) {
		ret->damaged = true;
		memcpy(ret->damage, damage, sizeof(damage));
	}
	ret->id = id;
	ret->moment.wall_minus_boot_ns = loading->told.wall_minus_boot_ns;
}

static int load_kill(struct store *store, int64_t id, struct killing *killing, struct captured *ret)
{
	struct kill_loading loading = {.store = store, .ret = ret};
	int error;

	memset(killing, 0, sizeof(*killing));
	clear(&store_fields_kill, killing, 0);
	error = read_facts(&loading, &store_fields_kill, id, killing);
	if (error == -ENOENT)
		return store_say(store, error, "there is no kill of that number");
	if (error)
		return store_failed(store, error);
	read_targets(&loading, id, killing);
	mend(ret, killing);
	finish_load(&loading, id);
	return 0;
}

static int load_refusal(
	struct store *store, int64_t id, struct refusal *refusal, struct captured *ret)
{
	struct kill_loading loading = {.store = store, .ret = ret};
	int error;

	memset(refusal, 0, sizeof(*refusal));
	clear(&store_fields_refusal, refusal, 0);
	error = read_facts(&loading, &store_fields_refusal, id, refusal);
	if (error == -ENOENT)
		return store_say(store, error, "there is no refusal of that number");
	if (error)
		return store_failed(store, error);
	mend_refusal(ret, refusal);
	finish_load(&loading, id);
	return 0;
}

static int begin_load(struct store *store, struct captured *ret)
{
	int error = db_exec(&store->db, "BEGIN");

	ret->damaged = false;
	ret->damage[0] = '\0';
	return error ? store_failed(store, error) : 0;
}

int store_load_kill(
	struct store *store, int64_t id, struct killing *ret_killing, struct captured *ret)
{
	int error;

	store->why[0] = '\0';
	if (!has_kills(store))
		return store_say(store, -ENOENT, "there are no kills in it");
	error = begin_load(store, ret);
	if (error)
		return error;
	error = load_kill(store, id, ret_killing, ret);
	db_rollback(&store->db);
	return error;
}

int store_load_refusal(
	struct store *store, int64_t id, struct refusal *ret_refusal, struct captured *ret)
{
	int error;

	store->why[0] = '\0';
	if (!has_refusals(store))
		return store_say(store, -ENOENT, "there are no refusals in it");
	error = begin_load(store, ret);
	if (error)
		return error;
	error = load_refusal(store, id, ret_refusal, ret);
	db_rollback(&store->db);
	return error;
}
