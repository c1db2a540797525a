// SPDX-License-Identifier: Apache-2.0
/* Older and newer stores, what is none, and what SQL shows. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "sink_fixture.h"
#include "store_random.h"

static struct incident incident;
static struct capture_moment moment;

/* SQLite itself refuses a column twice; that each table is made is shown by any store. */
static void test_all_field_tables_are_made(void **state)
{
	struct made made;
	char sql[256];

	(void)state;
	made_new(&made);
	made_close(&made);
	for (size_t i = 0; i < store_field_table_count; i++) {
		for (size_t j = 0; j < store_field_tables[i].field_count; j++) {
			snprintf(sql, sizeof(sql),
				"SELECT count(*) FROM pragma_table_info('%s') WHERE name = '%s'",
				store_field_tables[i].table,
				store_field_tables[i].fields[j].column);
			assert_sql(&made, sql, "1");
		}
	}
	assert_sql(&made, "PRAGMA integrity_check", "ok");
	assert_sql(&made, "PRAGMA journal_mode", "wal");
	assert_sql(&made, "PRAGMA application_id", "1330597235");
	made_remove(&made);
}

/* --- older and newer --- */

/* A run on the fixture's machine, which sees the fixture's kill. */
static void fix_new(struct made *made)
{
	made_name(made);
	made_open(made);
	random_run(&made->run);
	random_moment(&moment);
	fix_memcg_kill();
	fix_incident.oc_limit_id = fix_incident.levels[0].id;
	made->run.host = fix_host;
	made_run(made);
}

static void put_one(struct made *made)
{
	fix_new(made);
	incident = fix_incident;
	incident.stat.percpu_bytes = UNKNOWN_U64;
	made_put(made, &incident, &moment);
	made_close(made);
}

static void test_a_column_that_an_older_store_lacks_is_not_known(void **state)
{
	struct made made;

	(void)state;
	put_one(&made);
	made_exec(&made, "DROP VIEW incidents; DROP VIEW candidates; DROP VIEW victims;"
			 " DROP VIEW runs; ALTER TABLE incident DROP COLUMN stat_percpu_bytes;"
			 " DROP TABLE picture_armed;");
	assert_loads(&made, 1);
	assert_true(same_incident(&incident, &captured.incident));
	made_remove(&made);
}

/* As a build that knew nothing of logs wrote it: its checksum does not cover what it lacks. */
static void test_a_store_from_before_logs_is_of_traced_incidents(void **state)
{
	static const char *const columns[] = {
		"source", "joined", "stat_at_kill", "chosen_unknown", "chosen_rss_total_pages"};
	const struct store_value zero = {.type = SQLITE_INTEGER};
	struct made made;
	char sql[256], crc[32];
	uint64_t sum;

	(void)state;
	put_one(&made);
	made_text(&made, "SELECT crc FROM incident", crc, sizeof(crc));
	sum = (uint64_t)strtoll(crc, NULL, 10);
	assert_sql(&made, "SELECT count(*) FROM log", "0");
	made_exec(&made, "DROP VIEW incidents; DROP VIEW candidates; DROP VIEW victims;"
			 " DROP VIEW runs; DROP TABLE log; DROP TABLE zone");
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		snprintf(sql, sizeof(sql), "ALTER TABLE incident DROP COLUMN %s", columns[i]);
		made_exec(&made, sql);
		sum -= store_sum_value(store_sum_column("incident", columns[i]), 1, &zero);
	}
	snprintf(sql, sizeof(sql), "UPDATE incident SET crc = %lld", (long long)sum);
	made_exec(&made, sql);
	assert_loads(&made, 1);
	assert_true(same_incident(&incident, &captured.incident));
	assert_int_equal(captured.incident.source, INCIDENT_TRACED);
	assert_int_equal(captured.incident.chosen.unknown, 0);
	/* A writer completes it, and what it writes then has all of it. */
	made_open(&made);
	made_run(&made);
	incident.source = INCIDENT_IMPORTED;
	incident.log.machine.zone_count = 2;
	incident.log.machine.zones[1].free_pages = 7;
	made_put(&made, &incident, &moment);
	made_close(&made);
	assert_loads(&made, 1);
	assert_loads(&made, 2);
	assert_true(same_incident(&incident, &captured.incident));
	assert_int_equal(captured.incident.log.machine.zones[1].free_pages, 7);
	made_remove(&made);
}

static void test_a_log_that_points_nowhere_is_damage(void **state)
{
	static const char *const levels[] = {"-2", "99", "9223372036854775807", "NULL"};
	struct made made;

	(void)state;
	fix_new(&made);
	incident = fix_incident;
	incident.source = INCIDENT_IMPORTED;
	incident.log.limit_level = 1;
	incident.log.machine.zone_count = 1;
	incident.log.machine.zones[0].order_count = ZONE_ORDERS;
	made_put(&made, &incident, &moment);
	made_close(&made);
	assert_loads(&made, 1);
	assert_int_equal(captured.incident.log.limit_level, 1);
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		struct store *store;
		char sql[256];

		snprintf(sql, sizeof(sql),
			"UPDATE log SET limit_level = %s; UPDATE zone SET order_count = 17",
			levels[i]);
		made_exec(&made, sql);
		store = open_store(&made);
		assert_int_equal(store_load(store, 1, &captured), 0);
		assert_true(captured.damaged);
		assert_in_range(
			captured.incident.log.limit_level + 1, 0, captured.incident.level_count);
		assert_in_range(captured.incident.log.machine.zones[0].order_count, 0, ZONE_ORDERS);
		store_close(store);
	}
	/* Without its row it is still no traced one. */
	made_exec(&made, "DELETE FROM log");
	struct store *store = open_store(&made);

	assert_int_equal(store_load(store, 1, &captured), 0);
	assert_true(captured.damaged);
	assert_int_equal(captured.incident.source, INCIDENT_IMPORTED);
	assert_true(captured.incident.log.machine.shmem_bytes == UNKNOWN_U64);
	store_close(store);
	made_remove(&made);
}

static void test_a_writer_completes_an_older_store(void **state)
{
	struct made made;

	(void)state;
	put_one(&made);
	made_exec(&made, "DROP VIEW incidents; DROP VIEW candidates; DROP VIEW victims;"
			 " DROP VIEW runs; ALTER TABLE incident DROP COLUMN stat_percpu_bytes;"
			 " DROP VIEW process_series; DROP VIEW processes;"
			 " ALTER TABLE process DROP COLUMN cmdline;"
			 " ALTER TABLE level DROP COLUMN events_low;"
			 " DROP TABLE picture_armed; DROP INDEX incident_time;"
			 " CREATE VIEW runs AS SELECT 'old' AS x;");
	made_open(&made);
	made_run(&made);
	random_incident(&incident);
	assert_int_equal(made_put(&made, &incident, &moment), 2);
	made_close(&made);
	assert_sql(&made, "SELECT count(*) FROM incidents", "2");
	assert_sql(&made, "SELECT count(*) FROM runs WHERE began IS NOT NULL", "2");
	assert_sql(&made,
		"SELECT count(*) FROM pragma_table_info('process') WHERE name = 'cmdline'", "1");
	assert_loads(&made, 2);
	assert_true(same_incident(&incident, &captured.incident));
	made_remove(&made);
}

/* As a newer build would write them: covered by the checksum, passed over by this one. */
static void test_what_a_newer_store_has_besides_is_passed_over(void **state)
{
	struct made made;
	struct store_value value = {.type = SQLITE_INTEGER, .number = 77};
	char sql[256], crc[32];
	uint64_t sum;

	(void)state;
	put_one(&made);
	made_exec(&made, "ALTER TABLE incident ADD COLUMN future INTEGER;"
			 " CREATE TABLE news(a, b); INSERT INTO news VALUES(1, 2);"
			 " ALTER TABLE victim ADD COLUMN more BLOB;");
	assert_loads(&made, 1);
	/* SQLite's own addition would overflow into a float. */
	made_text(&made, "SELECT crc FROM incident", crc, sizeof(crc));
	sum = (uint64_t)strtoll(crc, NULL, 10) +
	      store_sum_value(store_sum_column("incident", "future"), 1, &value);
	snprintf(sql, sizeof(sql), "UPDATE incident SET future = 77, crc = %lld", (long long)sum);
	made_exec(&made, sql);
	assert_loads(&made, 1);
	assert_true(same_incident(&incident, &captured.incident));
	made_exec(&made, "UPDATE incident SET future = 78");
	struct store *store = open_store(&made);

	assert_int_equal(store_load(store, 1, &captured), 0);
	assert_true(captured.damaged);
	store_close(store);
	made_open(&made);
	made_close(&made);
	made_remove(&made);
}

static void assert_refused(const char *path, int error, const char *words)
{
	int got;
	struct store_limits limits = {.max_bytes = 1ULL << 30};
	struct store_writer *writer = NULL;
	struct store *store = store_open(path, &got);

	assert_non_null(store);
	assert_int_equal(got, error);
	if (!strstr(store_why(store), words))
		fail_msg("\"%s\" does not say \"%s\"", store_why(store), words);
	store_close(store);
	if (strstr(words, "empty"))
		return;
	assert_int_equal(store_writer_open(path, &limits, &writer), error);
	assert_null(writer);
	assert_non_null(strstr(store_writer_why(NULL), words));
}

static void test_a_store_that_is_too_new_is_refused(void **state)
{
	struct made made;

	(void)state;
	put_one(&made);
	made_exec(&made, "PRAGMA user_version = 99");
	assert_refused(made.path, -EPROTO, "needs oomsnoop that knows store version 99");
	assert_sql(&made, "PRAGMA user_version", "99");
	made_remove(&made);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void test_what_is_no_store_is_refused_and_left_alone(void **state)
{
	struct made made;

	(void)state;
	made_name(&made);
	made_exec(&made, "CREATE TABLE mine(a); INSERT INTO mine VALUES('precious')");
	assert_refused(made.path, -EBADMSG, "another program");
	assert_sql(&made, "SELECT a FROM mine", "precious");
	assert_sql(&made, "PRAGMA journal_mode", "delete");
	assert_sql(&made, "SELECT count(*) FROM sqlite_schema", "1");
	unlink(made.path);
	write_file(made.path,
		"this is a log file, and longer than a header of 100 bytes, so that "
		"nobody can say that it was only cut off: ............................");
	assert_refused(made.path, -EBADMSG, "not a database");
	write_file(made.path, "");
	assert_refused(made.path, -EBADMSG, "empty");
	made_open(&made);
	made_remove(&made);
}

static void test_a_file_that_is_not_there(void **state)
{
	int error;
	struct store *store = store_open("/nonexistent/x.db", &error);

	(void)state;
	assert_int_equal(error, -ENOENT);
	assert_string_equal(store_why(store), "No such file or directory");
	store_close(store);
	store = store_open("/tmp", &error);
	assert_int_equal(error, -EISDIR);
	store_close(store);
}

/* --- what SQL shows --- */

static void test_views_tell_what_the_record_tells(void **state)
{
	struct made made;
	char sql[512], expected[256];

	(void)state;
	put_one(&made);
	snprintf(expected, sizeof(expected), "%lld",
		(long long)fix_incident.victims[0].task.rss_pages[EV_RSS_ANON] * 4096);
	assert_sql(&made, "SELECT victim_anon_bytes FROM incidents", expected);
	assert_sql(&made, "SELECT anon_bytes FROM victims WHERE n = 0", expected);
	assert_sql(&made, "SELECT anon_bytes FROM candidates WHERE n = 0", expected);
	assert_sql(&made, "SELECT scope || ' ' || limit_bytes || ' ' || usage_bytes FROM incidents",
		"memcg 17179869184 17179865088");
	assert_sql(&made, "SELECT limit_cgroup FROM incidents", FIX_LEAF);
	assert_sql(&made, "SELECT victim_pid || victim_comm || victim_uid FROM incidents",
		"31415python31000");
	assert_sql(&made, "SELECT trigger_pid || trigger_comm FROM incidents", "31421python3");
	assert_sql(&made, "SELECT outcome || kills FROM incidents", "killed1");
	assert_sql(&made, "SELECT verdict FROM incidents", "own-limit");
	assert_sql(&made, "SELECT claim FROM incidents",
		"The victim's own cgroup reached its limit of 16.0 GiB.");
	assert_sql(&made, "SELECT confidence FROM verdicts WHERE n = 0", "certain");
	assert_sql(&made, "SELECT why FROM victims", "chosen");
	assert_sql(&made, "SELECT exit_ms FROM victims", "182.034567");
	assert_sql(&made, "SELECT host FROM incidents", made.run.host.hostname);
	/* The kernel's own sum. */
	snprintf(expected, sizeof(expected), "%lld", (long long)fix_incident.chosen_points);
	assert_sql(&made, "SELECT victim_badness_pages FROM incidents", expected);
	assert_sql(&made, "SELECT badness_pages FROM candidates WHERE n = 0", expected);
	snprintf(sql, sizeof(sql),
		"SELECT time = strftime('%%Y-%%m-%%dT%%H:%%M:%%S', %lld, 'unixepoch') || "
		"printf('.%%09dZ', %lld) FROM incidents",
		(long long)((FIX_TIME_NS + moment.wall_minus_boot_ns) / 1000000000),
		(long long)((FIX_TIME_NS + moment.wall_minus_boot_ns) % 1000000000));
	assert_sql(&made, sql, "1");
	made_remove(&made);
}

/* Where the kernel sums exactly, and where a tracepoint told the pid only. */
static void test_views_choose_the_counters_as_the_record_does(void **state)
{
	struct made made;
	struct task_facts *victim;

	(void)state;
	fix_new(&made);
	moment.coverage.kernel_sum = RSS_MATCH_EXACT;
	incident = fix_incident;
	incident.chosen_points += 17;
	made_put(&made, &incident, &moment);
	victim = &incident.victims[0].task;
	memset(victim->rss_pages, 0, sizeof(victim->rss_pages));
	memset(victim->rss_exact, 0, sizeof(victim->rss_exact));
	victim->comm[0] = '\0';
	victim->flags = EV_TASK_PARTIAL;
	made_put(&made, &incident, &moment);
	incident.chosen.tgid = 0;
	made_put(&made, &incident, &moment);
	made_close(&made);
	assert_sql(&made, "SELECT victim_anon_bytes FROM incidents WHERE id = 1", "1007751168");
	assert_sql(&made, "SELECT victim_anon_bytes || victim_comm FROM incidents WHERE id = 2",
		"1007751168python3");
	assert_sql(&made, "SELECT victim_anon_bytes FROM incidents WHERE id = 3", "NULL");
	assert_sql(&made, "SELECT victim_comm FROM incidents WHERE id = 3", "NULL");
	assert_sql(&made, "SELECT anon_bytes FROM victims WHERE incident = 3", "NULL");
	made_remove(&made);
}

/* 0 is what the struct holds where a log is silent. */
static void test_views_do_not_tell_what_a_log_does_not(void **state)
{
	struct made made;
	struct task_facts *task;

	(void)state;
	fix_new(&made);
	incident = fix_incident;
	incident.source = INCIDENT_IMPORTED;
	incident.trigger_tgid = 0;
	task = &incident.victims[0].task;
	task->unknown = TASK_UNKNOWN_SWAP | TASK_UNKNOWN_ADJ | TASK_UNKNOWN_UID |
			TASK_UNKNOWN_PPID | TASK_PTES_ONLY;
	task = &incident.candidates[0].task;
	memset(task->rss_pages, 0, sizeof(task->rss_pages));
	task->unknown =
		TASK_UNKNOWN_ANON | TASK_UNKNOWN_FILE | TASK_UNKNOWN_SHMEM | TASK_UNKNOWN_SPLIT;
	task->rss_total_pages = 1000;
	task->pgtables_bytes = 8192;
	task->oom_score_adj = 0;
	made_put(&made, &incident, &moment);
	made_close(&made);
	assert_sql(&made,
		"SELECT victim_swap_bytes IS NULL AND victim_uid IS NULL AND"
		" victim_oom_score_adj IS NULL AND trigger_pid IS NULL FROM incidents",
		"1");
	assert_sql(&made, "SELECT victim_anon_bytes > 0 FROM incidents", "1");
	assert_sql(&made,
		"SELECT swap_bytes IS NULL AND uid IS NULL AND ppid IS NULL AND"
		" oom_score_adj IS NULL AND pgtables_bytes IS NULL FROM victims WHERE n = 0",
		"1");
	assert_sql(&made,
		"SELECT anon_bytes IS NULL AND file_bytes IS NULL AND swap_bytes = 0"
		" FROM candidates WHERE n = 0",
		"1");
	made_exec(&made, "UPDATE incident SET told_total_pages = 1000000");
	assert_sql(&made, "SELECT badness_pages FROM candidates WHERE n = 0", "1002");
	made_remove(&made);
}

static void test_every_view_can_be_asked(void **state)
{
	struct made made;
	char sql[128];

	(void)state;
	made_new(&made);
	for (int i = 0; i < 20; i++) {
		random_incident(&incident);
		random_moment(&moment);
		made_put(&made, &incident, &moment);
	}
	made_close(&made);
	for (size_t i = 0; i < store_view_count; i++) {
		char count[32];

		snprintf(sql, sizeof(sql), "SELECT count(*) FROM (SELECT * FROM %s)",
			store_views[i].name);
		made_text(&made, sql, count, sizeof(count));
		snprintf(sql, sizeof(sql), "CREATE TABLE copy_%zu AS SELECT * FROM %s", i,
			store_views[i].name);
		made_exec(&made, sql);
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM copy_%zu", i);
		assert_sql(&made, sql, count);
	}
	assert_sql(&made, "SELECT count(*) FROM incidents", "20");
	made_remove(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_field_tables_are_made),
		cmocka_unit_test(test_a_column_that_an_older_store_lacks_is_not_known),
		cmocka_unit_test(test_a_store_from_before_logs_is_of_traced_incidents),
		cmocka_unit_test(test_a_log_that_points_nowhere_is_damage),
		cmocka_unit_test(test_a_writer_completes_an_older_store),
		cmocka_unit_test(test_what_a_newer_store_has_besides_is_passed_over),
		cmocka_unit_test(test_a_store_that_is_too_new_is_refused),
		cmocka_unit_test(test_what_is_no_store_is_refused_and_left_alone),
		cmocka_unit_test(test_a_file_that_is_not_there),
		cmocka_unit_test(test_views_tell_what_the_record_tells),
		cmocka_unit_test(test_views_choose_the_counters_as_the_record_does),
		cmocka_unit_test(test_views_do_not_tell_what_a_log_does_not),
		cmocka_unit_test(test_every_view_can_be_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
