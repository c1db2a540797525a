// SPDX-License-Identifier: Apache-2.0
/* Writes one kill that was not the OOM killer's, or what was refused, and forgets old ones. */
#include <stdio.h>
#include <string.h>

#include "sink/store_parts.h"

#define KILL_BYTES 4096 /* of the file, everything full but for many targets */
#define KILLS_MIN 64
#define KILLS_MAX 20000

/* What is one row, with its own table of rows that belong to it or without. */
struct note_kind {
	const char *name; /* of the table */
	const struct field_table *facts, *told;
	const struct field_table *parts; /* NULL: none */
	const char *parts_key;
	unsigned int (*part_count)(const void *facts);
};

static unsigned int targets_of(const void *facts)
{
	const struct killing *killing = facts;

	return killing->target_count < KILLING_TARGETS ? killing->target_count : KILLING_TARGETS;
}

static const struct note_kind kill_kind = {"kill", &store_fields_kill, &store_fields_kill_told,
	&store_fields_kill_target, "kill, n", targets_of};
static const struct note_kind refusal_kind = {
	"refusal", &store_fields_refusal, &store_fields_refusal_told, NULL, NULL, NULL};

static uint64_t bind_row(sqlite3_stmt *statement, int first, const struct field_table *table,
	const void *base, size_t n, int64_t sum_n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < table->field_count; i++) {
		struct store_value value = store_value_of(&table->fields[i], base, n, NULL);

		store_value_bind(statement, first + (int)i, &value);
		sum += store_sum_value(
			store_sum_column(table->table, table->fields[i].column), sum_n, &value);
	}
	return sum;
}

static int insert_parts(struct store_writer *writer, const struct note_kind *kind,
	const void *facts, int64_t id, uint64_t *sum)
{
	unsigned int count = kind->parts ? kind->part_count(facts) : 0;
	sqlite3_stmt *statement;
	int ret;

	if (!kind->parts)
		return 0;
	ret = store_row_prepare(&writer->db, kind->parts, kind->parts_key, &statement);
	for (unsigned int n = 0; !ret && n < count; n++) {
		sqlite3_bind_int64(statement, 1, id);
		sqlite3_bind_int64(statement, 2, n);
		*sum += bind_row(statement, 3, kind->parts, facts, n, n);
		ret = db_step(&writer->db, statement);
	}
	sqlite3_finalize(statement);
	return ret;
}

/* Two structs go into one row: what was told is added to the facts. */
static int insert_facts(struct store_writer *writer, const struct note_kind *kind,
	const void *facts, int64_t id, uint64_t *sum)
{
	sqlite3_stmt *statement;
	int ret = store_row_prepare(&writer->db, kind->facts, "id, crc", &statement);

	if (ret)
		return ret;
	sqlite3_bind_int64(statement, 1, id);
	*sum += bind_row(statement, 3, kind->facts, facts, 0, id);
	ret = db_step(&writer->db, statement);
	sqlite3_finalize(statement);
	return ret;
}

static int update_told(struct store_writer *writer, const struct note_kind *kind,
	const struct store_kill_told *told, int64_t id, uint64_t sum)
{
	const struct field_table *table = kind->told;
	sqlite3_stmt *statement;
	char sql[1024];
	size_t at = (size_t)snprintf(sql, sizeof(sql), "UPDATE %s SET crc = ?2", kind->name);
	int ret;

	for (size_t i = 0; i < table->field_count && at < sizeof(sql); i++)
		at += (size_t)snprintf(
			sql + at, sizeof(sql) - at, ", %s = ?%zu", table->fields[i].column, 3 + i);
	if (at < sizeof(sql))
		snprintf(sql + at, sizeof(sql) - at, " WHERE id = ?1");
	ret = db_prepare(&writer->db, &statement, sql);
	if (ret)
		return ret;
	sum += bind_row(statement, 3, table, told, 0, id);
	sqlite3_bind_int64(statement, 1, id);
	sqlite3_bind_int64(statement, 2, (int64_t)sum);
	ret = db_step(&writer->db, statement);
	sqlite3_finalize(statement);
	return ret;
}

static int64_t notes_kept(const struct store_writer *writer)
{
	uint64_t kept = writer->limits.max_bytes / 8 / KILL_BYTES;

	if (kept < KILLS_MIN)
		return KILLS_MIN;
	return kept < KILLS_MAX ? (int64_t)kept : KILLS_MAX;
}

static int forget_before(struct store_writer *writer, const struct note_kind *kind, int64_t id)
{
	char sql[160];
	size_t at;

	if (id <= 0)
		return 0;
	at = (size_t)snprintf(
		sql, sizeof(sql), "DELETE FROM %s WHERE id <= %lld", kind->name, (long long)id);
	if (kind->parts && at < sizeof(sql))
		snprintf(sql + at, sizeof(sql) - at, "; DELETE FROM %s WHERE %s <= %lld",
			kind->parts->table, kind->name, (long long)id);
	return db_exec(&writer->db, sql);
}

static int insert(struct store_writer *writer, const struct note_kind *kind, const void *facts,
	const struct store_kill_told *told, int64_t *ret_id)
{
	uint64_t sum = 0;
	char sql[256];
	int ret;

	snprintf(sql, sizeof(sql),
		"SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = '%s'), 0),"
		" coalesce((SELECT max(id) FROM %s), 0)) + 1",
		kind->name, kind->name);
	ret = db_number(&writer->db, sql, 1, ret_id);
	if (!ret)
		ret = insert_facts(writer, kind, facts, *ret_id, &sum);
	if (!ret)
		ret = insert_parts(writer, kind, facts, *ret_id, &sum);
	if (!ret)
		ret = update_told(writer, kind, told, *ret_id, sum);
	if (!ret)
		ret = forget_before(writer, kind, *ret_id - notes_kept(writer));
	return ret;
}

static int store_note(struct store_writer *writer, const struct note_kind *kind,
	const struct capture_run *run, const void *facts, const struct store_kill_told *told,
	int64_t *ret_id)
{
	struct store_kill_told with_run = *told;
	int ret = store_room(writer, STORE_INCIDENT_BYTES, false);

	with_run.run = run->id;
	if (!ret)
		ret = db_begin_durable(&writer->db);
	if (ret)
		return ret;
	ret = insert(writer, kind, facts, &with_run, ret_id);
	if (!ret)
		return db_commit(&writer->db);
	db_rollback(&writer->db);
	return ret;
}

int store_kill(struct store_writer *writer, const struct capture_run *run,
	const struct killing *killing, const struct store_kill_told *told, int64_t *ret_id)
{
	return store_note(writer, &kill_kind, run, killing, told, ret_id);
}

int store_refusal(struct store_writer *writer, const struct capture_run *run,
	const struct refusal *refusal, const struct store_kill_told *told, int64_t *ret_id)
{
	return store_note(writer, &refusal_kind, run, refusal, told, ret_id);
}

static int forget_kind(
	struct store_writer *writer, const struct note_kind *kind, int64_t horizon_ns)
{
	char sql[128];
	int64_t last = 0;
	int ret;

	/* In the order of their times; a clock that was set back makes some wait for others. */
	snprintf(sql, sizeof(sql), "SELECT max(id) FROM %s WHERE time_real_ns < %lld", kind->name,
		(long long)horizon_ns);
	ret = db_number(&writer->db, sql, 0, &last);
	if (ret || !last)
		return ret;
	ret = db_begin(&writer->db);
	if (ret)
		return ret;
	ret = forget_before(writer, kind, last);
	if (!ret)
		return db_commit(&writer->db);
	db_rollback(&writer->db);
	return ret;
}

int store_kills_forget(struct store_writer *writer, int64_t horizon_ns)
{
	int ret = forget_kind(writer, &kill_kind, horizon_ns);

	return ret ? ret : forget_kind(writer, &refusal_kind, horizon_ns);
}
