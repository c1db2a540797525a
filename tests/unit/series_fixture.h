/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store in a folder of its own, its one writer, and series to tell it. Clocks are numbers here:
 * `boot_ns` is CLOCK_BOOTTIME, what is added to it for CLOCK_REALTIME is `offset_ns`.
 */
#ifndef OOMSNOOP_TESTS_SERIES_FIXTURE_H
#define OOMSNOOP_TESTS_SERIES_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sink/store.h"
#include "sink/store_parts.h"

#define MS 1000000LL
#define SEC (1000 * MS)
#define DAY (86400 * SEC)
#define MIB (1ULL << 20)
#define WALL0 (1700000000LL * SEC) /* of most tests: CLOCK_REALTIME less CLOCK_BOOTTIME */
#define BOOT_A "aaaaaaaa-0000-4000-8000-000000000001"
#define BOOT_B "bbbbbbbb-0000-4000-8000-000000000002"

struct fixture {
	char folder[64];
	char path[96];
	struct store_limits limits;
	struct store_writer *writer;
	struct capture_run run;
	int64_t offset_ns;
};

/* Memory in preference to a disk: nothing here is about how long fsync() takes. */
static inline void fixture_make(struct fixture *fixture, uint64_t max_bytes)
{
	memset(fixture, 0, sizeof(*fixture));
	snprintf(fixture->folder, sizeof(fixture->folder), "%s/oomsnoop-series-XXXXXX",
		access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	assert_non_null(mkdtemp(fixture->folder));
	snprintf(fixture->path, sizeof(fixture->path), "%s/capture.db", fixture->folder);
	fixture->limits.max_bytes = max_bytes;
	fixture->offset_ns = WALL0;
}

static inline void fixture_open(struct fixture *fixture)
{
	int ret = store_writer_open(fixture->path, &fixture->limits, &fixture->writer);

	if (ret)
		print_error("store_writer_open: %d: %s\n", ret, store_writer_why(NULL));
	assert_int_equal(ret, 0);
}

static inline void fixture_close(struct fixture *fixture)
{
	store_writer_close(fixture->writer);
	fixture->writer = NULL;
}

static inline void fixture_remove(struct fixture *fixture)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	char path[128];

	fixture_close(fixture);
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", fixture->path, ends[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(fixture->folder), 0);
}

static inline void fixture_says(struct fixture *fixture, int ret)
{
	if (ret)
		print_error("%d: %s\n", ret, store_writer_why(fixture->writer));
	assert_int_equal(ret, 0);
}

static inline void fixture_run(struct fixture *fixture, const char *boot_id, int64_t boot_ns)
{
	struct capture_run *run = &fixture->run;

	memset(run, 0, sizeof(*run));
	snprintf(run->host.boot_id, sizeof(run->host.boot_id), "%s", boot_id);
	strcpy(run->host.hostname, "node-1");
	run->host.page_size = 4096;
	strcpy(run->version, "9.9");
	run->hook_count = 2;
	strcpy(run->hooks[0].purpose, "kill");
	strcpy(run->hooks[0].hook, "fentry oom_kill_process");
	strcpy(run->hooks[1].purpose, "exit");
	run->began_ns = boot_ns + fixture->offset_ns;
	run->ended_ns = INT64_MIN;
	fixture_says(fixture, store_run_begin(fixture->writer, run, fixture->offset_ns));
}

static inline void fixture_start(struct fixture *fixture, uint64_t max_bytes, int64_t boot_ns)
{
	fixture_make(fixture, max_bytes);
	fixture_open(fixture);
	fixture_run(fixture, BOOT_A, boot_ns);
}

static inline struct history_owner process_owner(
	uint32_t pid, int64_t start_ns, uint64_t cgroup_id, const char *comm)
{
	struct history_owner owner = {.kind = HISTORY_PROCESS,
		.tgid = pid,
		.ppid = 1,
		.root_tgid = pid,
		.start_ns = (uint64_t)start_ns,
		.root_start_ns = (uint64_t)start_ns,
		.cgroup_id = cgroup_id,
		.max_bytes = UINT64_MAX};

	snprintf(owner.comm, sizeof(owner.comm), "%s", comm);
	return owner;
}

static inline struct history_owner cgroup_owner(uint64_t id, uint64_t parent_id, uint64_t max_bytes)
{
	return (struct history_owner) {.kind = HISTORY_CGROUP,
		.cgroup_id = id,
		.parent_id = parent_id,
		.max_bytes = max_bytes};
}

static inline struct history_owner host_owner(uint64_t total_bytes)
{
	return (struct history_owner) {.kind = HISTORY_HOST, .max_bytes = total_bytes};
}

static inline void tell_owner(struct fixture *fixture, const struct history_owner *owner,
	const char *path, const char *cmdline)
{
	fixture_says(fixture, store_owner(fixture->writer, owner, path, cmdline));
}

static inline void tell_point(
	struct fixture *fixture, int64_t boot_ns, int64_t a, int64_t b, int64_t c, int64_t d)
{
	struct history_point point = {.time_ns = boot_ns, .values = {a, b, c, d}};

	fixture_says(fixture, store_point(fixture->writer, &point));
}

static inline void batch_begin(struct fixture *fixture)
{
	fixture_says(fixture, store_batch_begin(fixture->writer));
}

static inline void batch_commit(struct fixture *fixture)
{
	fixture_says(fixture, store_batch_commit(fixture->writer, fixture->offset_ns));
}

/* An incident with `candidates` of them, each with a long command line. */
static inline int fixture_try_incident(
	struct fixture *fixture, int64_t boot_ns, unsigned int candidates, int64_t *ret_id)
{
	static struct incident incident;
	static struct judgement judgement;
	struct capture_moment moment = {.wall_minus_boot_ns = fixture->offset_ns};

	memset(&incident, 0, sizeof(incident));
	incident.time_ns = (uint64_t)boot_ns;
	incident.outcome = OUTCOME_KILLED;
	incident.victim_count = 1;
	incident.victims[0].task.tgid = 4242;
	strcpy(incident.victims[0].task.comm, "victim");
	incident.candidate_count = incident.candidate_total = candidates;
	for (unsigned int i = 0; i < candidates; i++) {
		incident.candidates[i].task.tgid = 5000 + i;
		memset(incident.candidates[i].cmdline, 'x', INCIDENT_CMDLINE - 1);
	}
	return store_incident(
		fixture->writer, &fixture->run, &moment, &incident, &judgement, ret_id);
}

static inline int64_t fixture_incident(
	struct fixture *fixture, int64_t boot_ns, unsigned int candidates)
{
	int64_t id = 0;

	fixture_says(fixture, fixture_try_incident(fixture, boot_ns, candidates, &id));
	return id;
}

/* store_keep() until there is nothing more to do. */
static inline bool fixture_keep(struct fixture *fixture, int64_t now_ns)
{
	bool more = true, full = false;

	for (unsigned int calls = 0; more; calls++) {
		fixture_says(fixture, store_keep(fixture->writer, now_ns, &more, &full));
		assert_true(calls < 1000000);
	}
	return full;
}

/* What is in the file, asked of the writer's own handle. */
static inline int64_t fixture_number(struct fixture *fixture, const char *sql)
{
	int64_t value;

	fixture_says(fixture, db_number(&fixture->writer->db, sql, -1, &value));
	return value;
}

static inline void fixture_sql(struct fixture *fixture, const char *sql)
{
	fixture_says(fixture, db_exec(&fixture->writer->db, sql));
}

static inline bool fixture_is_sound(struct fixture *fixture)
{
	sqlite3_stmt *statement;
	char words[256] = "";

	assert_int_equal(db_prepare(&fixture->writer->db, &statement, "PRAGMA integrity_check"), 0);
	assert_int_equal(db_step(&fixture->writer->db, statement), 1);
	db_column_bytes(statement, 0, words, sizeof(words));
	sqlite3_finalize(statement);
	if (strcmp(words, "ok") != 0)
		print_error("integrity_check: %s\n", words);
	return !strcmp(words, "ok");
}

/* File and log, as anybody sees them in the folder. */
static inline uint64_t fixture_bytes(const struct fixture *fixture)
{
	char path[128];
	struct stat status;
	uint64_t bytes = 0;

	snprintf(path, sizeof(path), "%s-wal", fixture->path);
	if (!stat(path, &status))
		bytes += (uint64_t)status.st_size;
	if (!stat(fixture->path, &status))
		bytes += (uint64_t)status.st_size;
	return bytes;
}

/* The same numbers at every run. */
static inline uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

#endif /* OOMSNOOP_TESTS_SERIES_FIXTURE_H */
