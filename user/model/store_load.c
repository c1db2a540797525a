// SPDX-License-Identifier: Apache-2.0
/*
 * Incidents and runs out of a store. Rows are read whole ("SELECT *") and by the names of their
 * columns: what an older store lacks is not known, what a newer one has besides counts for the
 * checksum alone.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/store_parts.h"

#define PAGE_SIZE_MIN 1024
#define PAGE_SIZE_MAX (1U << 20)
#define PAGE_SIZE_USUAL 4096
#define RATE_MAX (1ULL << 62) /* bytes a second */
#define RATE_STEEPER                                                                               \
	64 /* than over the window: what a line through a part of its points can be                \
	    */

enum base { BASE_NONE, BASE_FACTS, BASE_MOMENT, BASE_TOLD };

struct column {
	const struct field *field; /* NULL: not one that this build knows */
	enum base base;
	bool is_key; /* not part of the checksum */
	uint32_t sum; /* store_sum_column() */
};

/* A table that is read, and what its columns are. */
struct reader {
	const struct field_table *table;
	const char *key;
	sqlite3_stmt *statement;
	struct column *columns;
	int column_count, n_column, crc_column;
};

enum {
	READER_INCIDENT = 0, /* and the arrays, as in store_field_tables */
	READER_VERDICT = STORE_FIELDS_TABLES,
	READER_RUN,
	READER_RUN_HOOK,
	READERS,
};

struct store_readers {
	struct reader readers[READERS];
	struct store_told told;
};

/* What an incident is read into, and what came of it. */
struct loading {
	struct store *store;
	struct captured *ret;
	uint64_t sum, crc; /* over what was read; as it was stored */
	bool has_crc;
};

/* --- damage --- */

/* The first reason is told: what follows comes of it. */
__attribute__((format(printf, 2, 3))) static void damage(
	struct captured *captured, const char *format, ...)
{
	va_list args;

	if (captured->damaged)
		return;
	captured->damaged = true;
	va_start(args, format);
	vsnprintf(captured->damage, sizeof(captured->damage), format, args);
	va_end(args);
}

/* --- statements --- */

static void reader_release(struct reader *reader)
{
	sqlite3_finalize(reader->statement);
	free(reader->columns);
	memset(reader, 0, sizeof(*reader));
}

void store_readers_free(struct store *store)
{
	if (!store->readers)
		return;
	for (size_t i = 0; i < READERS; i++)
		reader_release(&store->readers->readers[i]);
	free(store->readers);
	store->readers = NULL;
}

static const struct field *find_in(const struct field_table *table, const char *name)
{
	for (size_t i = 0; i < table->field_count; i++)
		if (!strcmp(table->fields[i].column, name))
			return &table->fields[i];
	return NULL;
}

static void find_field(const struct reader *reader, const char *name, struct column *ret)
{
	ret->base = BASE_FACTS;
	ret->field = find_in(reader->table, name);
	if (ret->field || reader->table != &store_field_tables[STORE_FIELDS_INCIDENT])
		return;
	ret->base = BASE_MOMENT;
	ret->field = find_in(&store_fields_moment, name);
	if (ret->field)
		return;
	ret->base = BASE_TOLD;
	ret->field = find_in(&store_fields_told, name);
}

/* Again whenever a writer that adds columns changed what "*" stands for. */
static int map_columns(struct reader *reader)
{
	int count = sqlite3_column_count(reader->statement);
	struct column *columns = calloc((size_t)count + 1, sizeof(*columns));

	if (!columns)
		return -ENOMEM;
	free(reader->columns);
	reader->columns = columns;
	reader->column_count = count;
	reader->n_column = reader->crc_column = -1;
	for (int i = 0; i < count; i++) {
		const char *name = sqlite3_column_name(reader->statement, i);

		if (!name)
			return -ENOMEM;
		columns[i].is_key =
			!strcmp(name, reader->key) || !strcmp(name, "n") || !strcmp(name, "crc");
		if (!strcmp(name, "n"))
			reader->n_column = i;
		else if (!strcmp(name, "crc"))
			reader->crc_column = i;
		columns[i].sum = store_sum_column(reader->table->table, name);
		find_field(reader, name, &columns[i]);
	}
	return 0;
}

static int reader_prepare(struct store *store, struct reader *reader,
	const struct field_table *table, const char *key)
{
	char sql[128];
	int ret;

	reader->table = table;
	reader->key = key;
	snprintf(sql, sizeof(sql), "SELECT * FROM %s WHERE %s = ?1%s", table->table, key,
		strcmp(key, "id") ? " ORDER BY n" : "");
	ret = db_prepare(&store->db, &reader->statement, sql);
	return ret ? ret : map_columns(reader);
}

/* NULL: the table cannot be read, or is not there. */
static struct reader *reader_of(
	struct store *store, size_t which, const struct field_table *table, const char *key)
{
	struct reader *reader = &store->readers->readers[which];

	if (!reader->statement && reader_prepare(store, reader, table, key)) {
		reader_release(reader);
		return NULL;
	}
	return reader;
}

/* 1: a row, its columns known; 0: no more; -errno. */
static int reader_step(struct store *store, struct reader *reader)
{
	int ret = db_step(&store->db, reader->statement);

	if (ret > 0 && sqlite3_column_count(reader->statement) != reader->column_count &&
		map_columns(reader)) {
		sqlite3_reset(reader->statement);
		return -ENOMEM;
	}
	return ret;
}

/* --- rows --- */

static void clear_table(const struct field_table *table, void *base, size_t n)
{
	for (size_t i = 0; i < table->field_count; i++)
		store_member_clear(&table->fields[i], base, n);
}

/* The one text that is not in a struct itself. */
static bool read_faults_why(struct captured *captured, sqlite3_stmt *statement, int column)
{
	captured->moment.coverage.faults_why = NULL;
	if (sqlite3_column_type(statement, column) == SQLITE_NULL)
		return true;
	if (!db_column_bytes(statement, column, captured->faults_why, sizeof(captured->faults_why)))
		return false;
	captured->moment.coverage.faults_why = captured->faults_why;
	return (size_t)sqlite3_column_bytes(statement, column) == strlen(captured->faults_why);
}

/* bases: where members of each enum base are; NULL: not to be kept. n: row of an array, else 0. */
static void read_row(struct loading *loading, const struct reader *reader, void *const bases[4],
	size_t n, int64_t sum_n)
{
	for (int i = 0; i < reader->column_count; i++) {
		const struct column *column = &reader->columns[i];
		void *base = bases[column->base];
		bool fine = true;

		if (!column->is_key)
			loading->sum += store_sum_read(column->sum, sum_n, reader->statement, i);
		if (!column->field || !base)
			continue;
		if (column->field->type == FIELD_CSTRING)
			fine = read_faults_why(loading->ret, reader->statement, i);
		else
			fine = store_member_read(column->field, base, n, reader->statement, i);
		if (!fine)
			damage(loading->ret, "%s: %s is no value that it can have",
				reader->table->what, column->field->column);
	}
}

static void read_crc(struct loading *loading, const struct reader *reader)
{
	loading->has_crc = reader->crc_column >= 0 && sqlite3_column_type(reader->statement,
							      reader->crc_column) == SQLITE_INTEGER;
	if (loading->has_crc)
		loading->crc =
			(uint64_t)sqlite3_column_int64(reader->statement, reader->crc_column);
}

/* A row with a number of its own. 0, -ENOENT, -errno. */
static int read_single(
	struct loading *loading, struct reader *reader, int64_t id, void *const bases[4])
{
	int ret;

	sqlite3_bind_int64(reader->statement, 1, id);
	ret = reader_step(loading->store, reader);
	if (ret <= 0)
		return ret ? ret : -ENOENT;
	read_crc(loading, reader);
	read_row(loading, reader, bases, 0, id);
	sqlite3_reset(reader->statement);
	return 0;
}

/* Rows 0, 1, … up to the first that is not there. Returns how many; *ret_error: why no more. */
static size_t read_rows(struct loading *loading, struct reader *reader, int64_t id, void *base,
	size_t row_max, int *ret_error)
{
	void *const bases[4] = {[BASE_FACTS] = base};
	size_t n = 0;
	int ret;

	sqlite3_bind_int64(reader->statement, 1, id);
	while ((ret = reader_step(loading->store, reader)) > 0) {
		if (n == row_max || reader->n_column < 0 ||
			sqlite3_column_type(reader->statement, reader->n_column) !=
				SQLITE_INTEGER ||
			sqlite3_column_int64(reader->statement, reader->n_column) != (int64_t)n) {
			ret = -EBADMSG;
			db_say(&loading->store->db, ret, "a row is missing, or too many are there");
			break;
		}
		if (base)
			clear_table(reader->table, base, n);
		read_row(loading, reader, bases, n, (int64_t)n);
		n++;
	}
	sqlite3_reset(reader->statement);
	*ret_error = ret;
	return n;
}

static void set_count(const struct field_table *table, void *base, size_t count)
{
	unsigned int value = (unsigned int)count;

	/* What says that there are rows says more than that. */
	if (table->rows)
		return;
	memcpy((char *)base + table->count_offset, &value, sizeof(value));
}

/* An array with its count; what of it cannot be read is told. */
static void load_array(struct loading *loading, size_t which, const struct field_table *table,
	const char *key, int64_t id, void *base)
{
	struct reader *reader = reader_of(loading->store, which, table, key);
	size_t expected = store_row_count(table, base), count = 0;
	int error = 0;

	if (reader)
		count = read_rows(loading, reader, id, base, table->row_max, &error);
	if (error || (!reader && expected))
		damage(loading->ret, "%s cannot all be read: %s", table->what,
			db_why(&loading->store->db));
	else if (count != expected)
		damage(loading->ret, "%s: %zu of %zu can be read", table->what, count, expected);
	set_count(table, base, count);
}

/* Nothing of them is kept, but they are under the checksum. */
static void pass_verdicts(struct loading *loading, int64_t id)
{
	struct reader *reader =
		reader_of(loading->store, READER_VERDICT, &store_fields_verdict, "incident");
	int error = 0;

	if (reader)
		read_rows(loading, reader, id, NULL, SIZE_MAX, &error);
	if (error)
		damage(loading->ret, "verdicts cannot all be read: %s",
			db_why(&loading->store->db));
}

/* --- what no machine tells --- */

/* Words that only oomsnoop writes, and that go out as they are. */
static void mend_words(struct captured *captured, char *words)
{
	for (; *words; words++) {
		if (*words >= ' ' && *words <= '~' && *words != '"' && *words != '\\')
			continue;
		damage(captured, "the facts of its run hold words that oomsnoop does not write");
		*words = '?';
	}
}

static void mend_run(struct captured *captured)
{
	struct capture_run *run = &captured->run;
	struct host_facts *host = &run->host;

	mend_words(captured, run->version);
	mend_words(captured, run->tier);
	mend_words(captured, run->recorder_source);
	mend_words(captured, run->recorder_faults);
	mend_words(captured, run->ended_why);
	for (unsigned int i = 0; i < run->hook_count; i++) {
		mend_words(captured, run->hooks[i].purpose);
		mend_words(captured, run->hooks[i].hook);
	}
	if (host->page_size >= PAGE_SIZE_MIN && host->page_size <= PAGE_SIZE_MAX &&
		!(host->page_size & (host->page_size - 1)))
		return;
	damage(captured, "the size of a page is not known");
	host->page_size = PAGE_SIZE_USUAL;
}

/* A rate that does not fit into 64 bits is none. */
static void mend_growth(struct captured *captured)
{
	struct growth_picture *picture = &captured->incident.growth;
	uint64_t window = picture->to_ns > picture->from_ns ? picture->to_ns - picture->from_ns : 0;

	for (unsigned int i = 0; window && i < picture->point_count; i++) {
		unsigned __int128 rate = (unsigned __int128)picture->points[i] * RATE_STEEPER *
					 1000000000ULL / window;

		if (picture->points[i] == UNKNOWN_U64 || rate <= RATE_MAX)
			continue;
		damage(captured, "points of usage: more than any machine can hold");
		picture->point_count = 0;
	}
}

/* An index that leads nowhere. */
static void mend_log(struct captured *captured)
{
	struct incident *incident = &captured->incident;
	int level = incident->source == INCIDENT_SELF ? incident->self.limit_level
						      : incident->log.limit_level;

	if (incident->source == INCIDENT_SELF && level < 0 &&
		incident->self.limit_sign != SELF_LIMIT_NONE) {
		damage(captured, "the limit is not among the levels");
		incident->self.limit_sign = SELF_LIMIT_NONE;
	}
	if ((incident->source == INCIDENT_TRACED && !incident->log.joined) ||
		(level >= -1 && level < (int)incident->level_count))
		return;
	damage(captured, "the limit is none of the levels");
	incident->log.limit_level = incident->self.limit_level = -1;
	incident->self.limit_sign = SELF_LIMIT_NONE;
}

/* --- the whole --- */

static void load_run(struct store *store, int64_t id, struct captured *captured)
{
	struct loading loading = {.store = store, .ret = captured};
	struct reader *reader = reader_of(store, READER_RUN, &store_fields_run, "id");
	struct capture_run *run = &captured->run;
	void *const bases[4] = {[BASE_FACTS] = run};
	int ret = -EBADMSG;

	clear_table(&store_fields_run, run, 0);
	run->id = id;
	if (reader)
		ret = read_single(&loading, reader, id, bases);
	if (ret)
		damage(captured, "the facts of its run cannot be read: %s",
			ret == -ENOENT ? "they are not there" : db_why(&store->db));
	load_array(&loading, READER_RUN_HOOK, &store_fields_run_hook, "run", id, run);
	if (!loading.has_crc || loading.crc != loading.sum)
		damage(captured, "the facts of its run do not match their checksum");
	mend_run(captured);
}

static void load_parts(struct loading *loading, int64_t id)
{
	for (size_t i = 1; i < store_field_table_count; i++)
		load_array(loading, i, &store_field_tables[i], "incident", id,
			&loading->ret->incident);
	pass_verdicts(loading, id);
	if (!loading->has_crc || loading->crc != loading->sum)
		damage(loading->ret, "it does not match its checksum");
	mend_growth(loading->ret);
	mend_log(loading->ret);
}

/* It was stored, and nobody pruned it: the lowest numbers go first. */
static bool must_be_there(struct store *store, int64_t id)
{
	int64_t first, last;

	return !store_numbers(store, &first, &last) && id >= first && id <= last;
}

static int load_incident(struct store *store, int64_t id, struct captured *ret)
{
	struct loading loading = {.store = store, .ret = ret};
	struct store_told *told = &store->readers->told;
	void *const bases[4] = {
		[BASE_FACTS] = &ret->incident, [BASE_MOMENT] = &ret->moment, [BASE_TOLD] = told};
	struct reader *reader =
		reader_of(store, READER_INCIDENT, &store_field_tables[STORE_FIELDS_INCIDENT], "id");
	int error = reader ? 0 : -EBADMSG;

	memset(ret, 0, sizeof(*ret));
	ret->id = id;
	clear_table(&store_field_tables[STORE_FIELDS_INCIDENT], &ret->incident, 0);
	clear_table(&store_fields_moment, &ret->moment, 0);
	clear_table(&store_field_tables[STORE_FIELDS_LOG], &ret->incident, 0);
	memset(told, 0, sizeof(*told));
	if (reader)
		error = read_single(&loading, reader, id, bases);
	if (error == -ENOENT)
		return must_be_there(store, id)
			       ? store_say(store, -EBADMSG,
					 "it was stored, and is not there any more")
			       : store_say(store, error, "there is no incident of that number");
	if (error)
		return store_failed(store, error);
	load_parts(&loading, id);
	mend_words(ret, ret->faults_why);
	load_run(store, told->run, ret);
	return 0;
}

static bool have_readers(struct store *store)
{
	if (!store->readers)
		store->readers = calloc(1, sizeof(*store->readers));
	return store->readers;
}

int store_load_run(struct store *store, int64_t id, struct captured *ret)
{
	if (!have_readers(store))
		return -ENOMEM;
	memset(ret, 0, sizeof(*ret));
	load_run(store, id, ret);
	return ret->damaged ? -EBADMSG : 0;
}

static int load_once(struct store *store, int64_t id, struct captured *ret)
{
	int error;

	if (!have_readers(store))
		return store_say(store, -ENOMEM, "no memory");
	/* One state of the store for all its tables. */
	error = db_exec(&store->db, "BEGIN");
	if (error)
		return store_failed(store, error);
	error = load_incident(store, id, ret);
	db_rollback(&store->db);
	return error;
}

int store_load(struct store *store, int64_t id, struct captured *ret)
{
	int error;

	store->why[0] = '\0';
	error = load_once(store, id, ret);
	if ((error == -EBADMSG || (!error && ret->damaged)) && store_renew(store))
		error = load_once(store, id, ret);
	return error;
}
