// SPDX-License-Identifier: Apache-2.0
/* Writes one kill that was not the OOM killer's, and forgets old ones. */
#include <stdio.h>
#include <string.h>

#include "sink/store_parts.h"

#define KILL_BYTES 4096 /* of the file, everything full but for many targets */
#define KILLS_MIN 64
#define KILLS_MAX 20000

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

static int insert_targets(
	struct store_writer *writer, const struct killing *killing, int64_t id, uint64_t *sum)
{
	sqlite3_stmt *statement;
	int ret = store_row_prepare(&writer->db, &store_fields_kill_target, "kill, n", &statement);

	for (unsigned int n = 0; !ret && n < killing->target_count && n < KILLING_TARGETS; n++) {
		sqlite3_bind_int64(statement, 1, id);
		sqlite3_bind_int64(statement, 2, n);
		*sum += bind_row(statement, 3, &store_fields_kill_target, killing, n, n);
		ret = db_step(&writer->db, statement);
	}
	sqlite3_finalize(statement);
	return ret;
}

/* Two structs go into one row: what was told is added to the facts. */
static int insert_facts(
	struct store_writer *writer, const struct killing *killing, int64_t id, uint64_t *sum)
{
	sqlite3_stmt *statement;
	int ret = store_row_prepare(&writer->db, &store_fields_kill, "id, crc", &statement);

	if (ret)
		return ret;
	sqlite3_bind_int64(statement, 1, id);
	*sum += bind_row(statement, 3, &store_fields_kill, killing, 0, id);
	ret = db_step(&writer->db, statement);
	sqlite3_finalize(statement);
	return ret;
}

static int update_told(
	struct store_writer *writer, const struct store_kill_told *told, int64_t id, uint64_t sum)
{
	const struct field_table *table = &store_fields_kill_told;
	sqlite3_stmt *statement;
	char sql[1024];
	size_t at = (size_t)snprintf(sql, sizeof(sql), "UPDATE kill SET crc = ?2");
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

static int64_t kills_kept(const struct store_writer *writer)
{
	uint64_t kept = writer->limits.max_bytes / 8 / KILL_BYTES;

	if (kept < KILLS_MIN)
		return KILLS_MIN;
	return kept < KILLS_MAX ? (int64_t)kept : KILLS_MAX;
}

static int forget_before(struct store_writer *writer, int64_t id)
{
	char sql[128];

	if (id <= 0)
		return 0;
	snprintf(sql, sizeof(sql),
		"DELETE FROM kill WHERE id <= %lld; DELETE FROM kill_target WHERE kill <= %lld",
		(long long)id, (long long)id);
	return db_exec(&writer->db, sql);
}

static int insert(struct store_writer *writer, const struct killing *killing,
	const struct store_kill_told *told, int64_t *ret_id)
{
	uint64_t sum = 0;
	int ret = db_number(&writer->db,
		"SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'kill'), 0),"
		" coalesce((SELECT max(id) FROM kill), 0)) + 1",
		1, ret_id);

	if (!ret)
		ret = insert_facts(writer, killing, *ret_id, &sum);
	if (!ret)
		ret = insert_targets(writer, killing, *ret_id, &sum);
	if (!ret)
		ret = update_told(writer, told, *ret_id, sum);
	if (!ret)
		ret = forget_before(writer, *ret_id - kills_kept(writer));
	return ret;
}

int store_kill(struct store_writer *writer, const struct capture_run *run,
	const struct killing *killing, const struct store_kill_told *told, int64_t *ret_id)
{
	struct store_kill_told with_run = *told;
	int ret = store_room(writer, STORE_INCIDENT_BYTES, false);

	with_run.run = run->id;
	if (!ret)
		ret = db_begin_durable(&writer->db);
	if (ret)
		return ret;
	ret = insert(writer, killing, &with_run, ret_id);
	if (!ret)
		return db_commit(&writer->db);
	db_rollback(&writer->db);
	return ret;
}

int store_kills_forget(struct store_writer *writer, int64_t horizon_ns)
{
	char sql[128];
	int64_t last = 0;
	int ret;

	/* In the order of their times; a clock that was set back makes some wait for others. */
	snprintf(sql, sizeof(sql), "SELECT max(id) FROM kill WHERE time_real_ns < %lld",
		(long long)horizon_ns);
	ret = db_number(&writer->db, sql, 0, &last);
	if (ret || !last)
		return ret;
	ret = db_begin(&writer->db);
	if (ret)
		return ret;
	ret = forget_before(writer, last);
	if (!ret)
		return db_commit(&writer->db);
	db_rollback(&writer->db);
	return ret;
}
