// SPDX-License-Identifier: Apache-2.0
/* Opens a store for its one writer, and tells of runs. */
#include "sink/store_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/store_schema.h"

#define NS_PER_MS 1000000LL
#define LOG_MOST (64ULL << 20)
#define LOG_CHECKPOINT (4ULL << 20)
#define CLOCK_MOVED_NS 10000000LL
#define RUNS_KEPT 1000 /* of those that saw no incident */
#define GAPS_KEPT 4000

/* Why the last open failed; there is no writer to ask then. */
static _Thread_local char open_why[320];

static uint64_t at_most(uint64_t value, uint64_t most)
{
	return value < most ? value : most;
}

/* --- opening --- */

static void share_out(struct store_writer *writer, int64_t page_bytes)
{
	struct store_bounds *bounds = &writer->bounds;
	uint64_t most = writer->limits.max_bytes;

	bounds->page_bytes = page_bytes > 0 ? (uint64_t)page_bytes : 4096;
	bounds->log_most = at_most(most / 4, LOG_MOST);
	bounds->log_series = bounds->log_most / 2;
	bounds->log_checkpoint = at_most(most / 8, LOG_CHECKPOINT);
	/* The page number has 32 bits. */
	bounds->file_pages = at_most((most - bounds->log_most) / bounds->page_bytes, 0xfffffffe);
	bounds->batch_pages = bounds->log_checkpoint / 2 / bounds->page_bytes;
	bounds->cache_pages = bounds->batch_pages / 2;
}

static int set_bounds(struct store_writer *writer)
{
	int64_t page_bytes;
	char sql[128];
	int ret = db_number(&writer->db, "PRAGMA page_size", 4096, &page_bytes);

	if (ret)
		return ret;
	share_out(writer, page_bytes);
	/* The log is moved into the file by store_keep.c, which knows how large it may become. */
	sqlite3_wal_autocheckpoint(writer->db.handle, 0);
	snprintf(sql, sizeof(sql), "PRAGMA cache_size=%llu; PRAGMA cache_spill=%llu",
		(unsigned long long)writer->bounds.cache_pages,
		(unsigned long long)writer->bounds.cache_pages);
	return db_exec(&writer->db, sql);
}

static int set_up(struct store_writer *writer)
{
	uint64_t wal_bytes;
	int version;
	int ret = store_schema_prepare(&writer->db, &version);

	/* So that the file itself is a store from now on, for who copies it, or may not read the
	 * log. */
	if (!ret)
		ret = db_checkpoint(&writer->db, &wal_bytes);
	if (!ret)
		ret = set_bounds(writer);
	if (!ret)
		ret = store_keep_prepare(writer);
	if (!ret)
		ret = store_batch_prepare(writer);
	if (!ret)
		ret = store_incident_prepare(writer);
	return ret;
}

static int opening_failed(struct store_writer *writer, int error)
{
	snprintf(open_why, sizeof(open_why), "%s", db_why(&writer->db));
	store_writer_close(writer);
	return error;
}

int store_writer_open(
	const char *path, const struct store_limits *limits, struct store_writer **ret)
{
	struct store_writer *writer = calloc(1, sizeof(*writer));
	int error;

	*ret = NULL;
	open_why[0] = '\0';
	if (!writer) {
		snprintf(open_why, sizeof(open_why), "no memory");
		return -ENOMEM;
	}
	writer->limits = *limits;
	if (writer->limits.max_bytes < STORE_MIN_BYTES)
		writer->limits.max_bytes = STORE_MIN_BYTES;
	error = db_open_writer(&writer->db, path);
	if (!error)
		error = set_up(writer);
	if (error)
		return opening_failed(writer, error);
	*ret = writer;
	return 0;
}

void store_writer_close(struct store_writer *writer)
{
	if (!writer)
		return;
	if (writer->db.handle)
		db_rollback(&writer->db);
	store_incident_release(writer);
	store_batch_release(writer);
	store_keep_release(writer);
	db_close(&writer->db);
	free(writer);
}

const char *store_writer_why(const struct store_writer *writer)
{
	return writer ? db_why(&writer->db) : open_why;
}

bool store_writer_in_place(const struct store_writer *writer)
{
	return db_in_place(&writer->db);
}

uint64_t store_writer_bytes(const struct store_writer *writer)
{
	uint64_t bytes = 0, log_bytes = 0;

	db_size(&writer->db, &bytes, &log_bytes);
	return bytes + log_bytes;
}

/* --- the clock --- */

int store_clock(struct store_writer *writer, int64_t wall_minus_boot_ns)
{
	int64_t moved;
	char sql[128];

	if (!__builtin_sub_overflow(wall_minus_boot_ns, writer->wall_minus_boot_ns, &moved) &&
		moved <= CLOCK_MOVED_NS && moved >= -CLOCK_MOVED_NS)
		return 0;
	snprintf(sql, sizeof(sql), "UPDATE boot SET wall_minus_boot_ns = %lld WHERE id = %lld",
		(long long)wall_minus_boot_ns, (long long)writer->boot);
	writer->wall_minus_boot_ns = wall_minus_boot_ns;
	return db_exec(&writer->db, sql);
}

/* --- the run before --- */

struct earlier_run {
	bool known;
	bool same_boot;
	int64_t end_ns; /* by the clock of its boot as it was last stored */
	int64_t wall_minus_boot_ns; /* that clock */
};

static int read_number(
	struct store_writer *writer, const char *format, int64_t key, int64_t none, int64_t *ret)
{
	char sql[256];

	snprintf(sql, sizeof(sql), format, (long long)key);
	return db_number(&writer->db, sql, none, ret);
}

static int64_t wall_of(int64_t boot_ms, int64_t wall_minus_boot_ns)
{
	int64_t ns, sum;

	if (__builtin_mul_overflow(boot_ms, NS_PER_MS, &ns) ||
		__builtin_add_overflow(ns, wall_minus_boot_ns, &sum))
		return INT64_MIN;
	return sum;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The last that it stored: points of its boot, and incidents. */
static int last_stored(struct store_writer *writer, int64_t run, int64_t boot,
	int64_t wall_minus_boot_ns, int64_t *ret_ns)
{
	int64_t process_ms, cgroup_ms, incident_ns;
	int ret = read_number(writer,
		"SELECT t_ms FROM process_point WHERE boot = %lld ORDER BY t_ms DESC LIMIT 1", boot,
		INT64_MIN, &process_ms);

	if (!ret)
		ret = read_number(writer,
			"SELECT t_ms FROM cgroup_point WHERE boot = %lld"
			" ORDER BY t_ms DESC LIMIT 1",
			boot, INT64_MIN, &cgroup_ms);
	if (!ret)
		ret = read_number(writer,
			"SELECT time_real_ns FROM (SELECT run, time_real_ns FROM incident"
			" ORDER BY id DESC LIMIT 1) WHERE run = %lld",
			run, INT64_MIN, &incident_ns);
	if (ret)
		return ret;
	*ret_ns = later(*ret_ns, wall_of(later(process_ms, cgroup_ms), wall_minus_boot_ns));
	*ret_ns = later(*ret_ns, incident_ns);
	return 0;
}

static int read_earlier(struct store_writer *writer, const char *boot_id, struct earlier_run *ret)
{
	int64_t run = 0, boot = 0, ended_ns = INT64_MIN;
	sqlite3_stmt *statement;
	int error = db_prepare(&writer->db, &statement,
		"SELECT run.id, began_ns, ended_ns, boot.id, wall_minus_boot_ns, run.boot_id = ?1"
		" FROM run LEFT JOIN boot ON boot.boot_id = run.boot_id"
		" ORDER BY run.id DESC LIMIT 1");

	memset(ret, 0, sizeof(*ret));
	if (error)
		return error;
	db_bind_bytes(statement, 1, boot_id, strlen(boot_id));
	error = db_step(&writer->db, statement);
	if (error > 0) {
		ret->known = true;
		run = sqlite3_column_int64(statement, 0);
		ret->end_ns = sqlite3_column_int64(statement, 1);
		if (sqlite3_column_type(statement, 2) != SQLITE_NULL)
			ended_ns = sqlite3_column_int64(statement, 2);
		boot = sqlite3_column_int64(statement, 3);
		ret->wall_minus_boot_ns = sqlite3_column_int64(statement, 4);
		ret->same_boot = boot && sqlite3_column_int(statement, 5);
		error = 0;
	}
	sqlite3_finalize(statement);
	if (error || !ret->known)
		return error;
	if (ended_ns == INT64_MIN)
		return last_stored(writer, run, boot, ret->wall_minus_boot_ns, &ret->end_ns);
	ret->end_ns = ended_ns;
	return 0;
}

/* On the same boot it is measured by the clock that nobody sets. */
static int tell_earlier(struct store_writer *writer, const struct earlier_run *earlier,
	const struct capture_run *run, int64_t wall_minus_boot_ns)
{
	struct store_gap gap = {.why = STORE_GAP_NOT_RUNNING,
		.from_ns = earlier->end_ns,
		.to_ns = run->began_ns,
		.incidents = UNKNOWN_U64,
		.points = UNKNOWN_U64};
	int64_t moved;

	if (!earlier->known)
		return 0;
	if (earlier->same_boot &&
		!__builtin_sub_overflow(wall_minus_boot_ns, earlier->wall_minus_boot_ns, &moved) &&
		__builtin_add_overflow(earlier->end_ns, moved, &gap.from_ns))
		gap.from_ns = earlier->end_ns;
	if (gap.from_ns > gap.to_ns)
		gap.from_ns = gap.to_ns;
	return store_gap_insert(writer, &gap);
}

/* --- runs --- */

static int put_boot(
	struct store_writer *writer, const struct capture_run *run, int64_t wall_minus_boot_ns)
{
	sqlite3_stmt *statement;
	int ret = db_prepare(&writer->db, &statement,
		"INSERT INTO boot (boot_id, wall_minus_boot_ns, hostname) VALUES (?1, ?2, ?3)"
		" ON CONFLICT (boot_id) DO UPDATE SET"
		" wall_minus_boot_ns = excluded.wall_minus_boot_ns, hostname = excluded.hostname"
		" RETURNING id");

	if (ret)
		return ret;
	db_bind_bytes(statement, 1, run->host.boot_id, strlen(run->host.boot_id));
	sqlite3_bind_int64(statement, 2, wall_minus_boot_ns);
	db_bind_bytes(statement, 3, run->host.hostname, strlen(run->host.hostname));
	ret = db_step(&writer->db, statement);
	if (ret > 0)
		writer->boot = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return ret < 0 ? ret : 0;
}

/* A row of struct capture_run, or of its hooks; `keys` beginning with the run's id. */
static int put_row(struct store_writer *writer, const struct field_table *table, const char *keys,
	const int64_t *key_values, int key_count, const struct capture_run *run, size_t n)
{
	sqlite3_stmt *statement;
	int ret = store_row_prepare(&writer->db, table, keys, &statement);

	if (ret)
		return ret;
	for (int i = 0; i < key_count; i++)
		sqlite3_bind_int64(statement, 1 + i, key_values[i]);
	store_row_bind(statement, 1 + key_count, table, run, n, NULL);
	ret = db_step(&writer->db, statement);
	sqlite3_finalize(statement);
	return ret < 0 ? ret : 0;
}

static int put_run(struct store_writer *writer, struct capture_run *run)
{
	int64_t keys[2];
	int ret = db_number(&writer->db,
		"SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'run'), 0),"
		" coalesce((SELECT max(id) FROM run), 0)) + 1",
		1, &run->id);

	if (ret)
		return ret;
	keys[0] = run->id;
	keys[1] = store_run_sum(run);
	ret = put_row(writer, &store_fields_run, "id, crc", keys, 2, run, 0);
	for (size_t i = 0; i < store_row_count(&store_fields_run_hook, run) && !ret; i++) {
		keys[1] = (int64_t)i;
		ret = put_row(writer, &store_fields_run_hook, "run, n", keys, 2, run, i);
	}
	return ret;
}

/* What a recorder that is started again and again leaves behind. */
static int prune_runs(struct store_writer *writer, int64_t run)
{
	char sql[1024];

	snprintf(sql, sizeof(sql),
		"DELETE FROM run WHERE id <= %lld AND id NOT IN (SELECT run FROM incident"
		"  WHERE run IS NOT NULL) AND id NOT IN (SELECT run FROM kill"
		"  WHERE run IS NOT NULL);"
		"DELETE FROM run_hook WHERE run <= %lld AND run NOT IN (SELECT id FROM run);"
		"DELETE FROM gap WHERE why <> %d AND id <= (SELECT max(id) FROM gap) - %d;"
		"DELETE FROM boot WHERE id < %lld AND boot_id NOT IN (SELECT boot_id FROM run"
		"  WHERE boot_id IS NOT NULL)"
		" AND NOT EXISTS (SELECT 1 FROM process_point WHERE boot = boot.id)"
		" AND NOT EXISTS (SELECT 1 FROM cgroup_point WHERE boot = boot.id)",
		(long long)(run - RUNS_KEPT), (long long)(run - RUNS_KEPT), STORE_GAP_PRUNED,
		GAPS_KEPT, (long long)writer->boot);
	return db_exec(&writer->db, sql);
}

static int begin_run(
	struct store_writer *writer, struct capture_run *run, int64_t wall_minus_boot_ns)
{
	struct earlier_run earlier;
	int ret = read_earlier(writer, run->host.boot_id, &earlier);

	if (!ret)
		ret = tell_earlier(writer, &earlier, run, wall_minus_boot_ns);
	if (!ret)
		ret = put_boot(writer, run, wall_minus_boot_ns);
	if (!ret)
		ret = put_run(writer, run);
	if (!ret)
		ret = prune_runs(writer, run->id);
	return ret;
}

int store_run_begin(
	struct store_writer *writer, struct capture_run *run, int64_t wall_minus_boot_ns)
{
	int64_t now_ns;
	int ret;

	db_rollback(&writer->db);
	store_batch_reset(writer);
	writer->newest_ms = writer->names_cut_ms = 0;
	ret = store_room(writer, STORE_INCIDENT_BYTES, false);
	if (!ret)
		ret = db_begin_durable(&writer->db);
	if (ret)
		return ret;
	ret = begin_run(writer, run, wall_minus_boot_ns);
	if (!ret)
		ret = db_commit(&writer->db);
	if (ret) {
		db_rollback(&writer->db);
		writer->boot = 0;
		run->id = 0;
		return ret;
	}
	writer->wall_minus_boot_ns = wall_minus_boot_ns;
	if (!__builtin_sub_overflow(run->began_ns, wall_minus_boot_ns, &now_ns) && now_ns > 0)
		writer->newest_ms = now_ns / NS_PER_MS;
	return 0;
}

static int end_run(struct store_writer *writer, const struct capture_run *run)
{
	sqlite3_stmt *statement;
	int ret = db_prepare(&writer->db, &statement,
		"UPDATE run SET ended_ns = ?2, ended_why = ?3, crc = ?4 WHERE id = ?1");

	if (ret)
		return ret;
	sqlite3_bind_int64(statement, 1, run->id);
	if (run->ended_ns != INT64_MIN)
		sqlite3_bind_int64(statement, 2, run->ended_ns);
	if (run->ended_why[0])
		db_bind_bytes(statement, 3, run->ended_why, strlen(run->ended_why));
	sqlite3_bind_int64(statement, 4, store_run_sum(run));
	ret = db_step(&writer->db, statement);
	sqlite3_finalize(statement);
	return ret;
}

int store_run_end(struct store_writer *writer, const struct capture_run *run)
{
	int ret = db_begin_durable(&writer->db);

	if (ret)
		return ret;
	ret = end_run(writer, run);
	if (!ret)
		return db_commit(&writer->db);
	db_rollback(&writer->db);
	return ret;
}
