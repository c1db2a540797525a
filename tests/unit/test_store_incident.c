// SPDX-License-Identifier: Apache-2.0
/* Incidents into a store and out of it, and the list of them. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "sink_fixture.h"
#include "store_random.h"

static struct incident incident;
static struct capture_moment moment;

/* --- there and back --- */

static void test_random_incidents_come_back_whole(void **state)
{
	static struct incident all[60];
	struct capture_moment moments[60];
	struct made made;
	struct store *store;

	(void)state;
	made_new(&made);
	for (int i = 0; i < 60; i++) {
		random_incident(&all[i]);
		random_moment(&moments[i]);
		assert_int_equal(made_put(&made, &all[i], &moments[i]), i + 1);
	}
	store = open_store(&made);
	for (int i = 0; i < 60; i++) {
		assert_int_equal(store_load(store, i + 1, &captured), 0);
		if (captured.damaged)
			print_message("%d: %s\n", i, captured.damage);
		assert_false(captured.damaged);
		assert_true(same_incident(&all[i], &captured.incident));
		assert_true(same_moment(&moments[i], &captured.moment));
		assert_true(same_run(&made.run, &captured.run));
	}
	assert_int_equal(store_load(store, 61, &captured), -ENOENT);
	assert_int_equal(store_load(store, 0, &captured), -ENOENT);
	assert_int_equal(store_load(store, -5, &captured), -ENOENT);
	assert_int_equal(store_load(store, INT64_MAX, &captured), -ENOENT);
	store_close(store);
	made_remove(&made);
}

static void fill_everything(void)
{
	memset(&incident, 0, sizeof(incident));
	incident.level_count = EV_MAX_LEVELS;
	incident.victim_count = INCIDENT_VICTIMS;
	incident.candidate_count = INCIDENT_CANDIDATES;
	incident.growth.cgroup_count = PICTURE_CGROUPS;
	incident.growth.process_count = PICTURE_PROCESSES;
	incident.growth.family_count = PICTURE_FAMILIES;
	incident.growth.point_count = PICTURE_POINTS;
	incident.growth.armed_count = PICTURE_ARMED;
	incident.source = INCIDENT_IMPORTED;
	for (size_t i = 1; i < store_field_table_count; i++) {
		random_table(&store_field_tables[i], &incident);
		incident.log.machine.zone_count = INCIDENT_ZONES;
	}
	random_log(&incident);
	incident.growth.to_ns = 1ULL << 50;
}

static void test_the_largest_and_the_smallest_come_back(void **state)
{
	struct made made;
	int64_t full, empty;

	(void)state;
	made_new(&made);
	random_moment(&moment);
	fill_everything();
	full = made_put(&made, &incident, &moment);
	assert_loads(&made, full);
	assert_true(same_incident(&incident, &captured.incident));
	memset(&incident, 0, sizeof(incident));
	empty = made_put(&made, &incident, &moment);
	assert_loads(&made, empty);
	assert_true(same_incident(&incident, &captured.incident));
	made_remove(&made);
}

static void test_a_count_that_is_too_large_reads_nothing_beyond(void **state)
{
	struct made made;
	int64_t id;

	(void)state;
	made_new(&made);
	random_moment(&moment);
	fill_everything();
	id = made_put(&made, &incident, &moment);
	made_close(&made);
	made_exec(&made, "UPDATE incident SET victim_count = 100000, level_count = -1,"
			 " candidate_count = 4294967296, growth_point_count = 'many'");
	struct store *store = open_store(&made);

	assert_int_equal(store_load(store, id, &captured), 0);
	assert_true(captured.damaged);
	assert_int_equal(captured.incident.victim_count, INCIDENT_VICTIMS);
	assert_true(captured.incident.level_count <= EV_MAX_LEVELS);
	assert_true(captured.incident.candidate_count <= INCIDENT_CANDIDATES);
	assert_true(captured.incident.growth.point_count <= PICTURE_POINTS);
	store_close(store);
	made_remove(&made);
}

static bool file_holds(const char *path, const void *bytes, size_t len)
{
	static char data[4 << 20];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size;

	assert_true(fd >= 0);
	size = read(fd, data, sizeof(data));
	close(fd);
	return size > 0 && memmem(data, (size_t)size, bytes, len);
}

/* SQLite writes numbers with the most significant byte first. */
static void test_addresses_stay_on_the_machine(void **state)
{
	static const unsigned char address[] = {0xff, 0xff, 0x8a, 0xbc, 0xde, 0xf1, 0x23, 0x40};
	struct made made;
	int64_t id;

	(void)state;
	made_new(&made);
	random_moment(&moment);
	memset(&incident, 0, sizeof(incident));
	incident.victim_count = 3;
	incident.candidate_count = 2;
	incident.chosen.mm = incident.victims[0].task.mm = incident.candidates[1].task.mm =
		0xffff8abcdef12340ULL;
	incident.victims[1].task.mm = 0xffff8abcdef12380ULL;
	incident.victims[2].task.mm = UNKNOWN_U64;
	incident.candidates[0].task.mm = 0;
	id = made_put(&made, &incident, &moment);
	made_close(&made);
	assert_false(file_holds(made.path, address, sizeof(address)));
	assert_loads(&made, id);
	assert_int_equal(captured.incident.chosen.mm, captured.incident.victims[0].task.mm);
	assert_int_equal(captured.incident.chosen.mm, captured.incident.candidates[1].task.mm);
	assert_int_not_equal(captured.incident.chosen.mm, captured.incident.victims[1].task.mm);
	assert_in_range(captured.incident.chosen.mm, 1, 3);
	assert_true(captured.incident.victims[2].task.mm == UNKNOWN_U64);
	assert_int_equal(captured.incident.candidates[0].task.mm, 0);
	made_remove(&made);
}

static void test_any_bytes_are_kept_and_text_stays_text(void **state)
{
	struct made made;
	int64_t id;

	(void)state;
	made_new(&made);
	random_moment(&moment);
	memset(&incident, 0, sizeof(incident));
	incident.victim_count = 2;
	strcpy(incident.victims[0].task.comm, "\xff\xfe\x1b[2J");
	strcpy(incident.victims[1].task.comm, "caf\xc3\xa9");
	memset(incident.victim_cmdline, 'x', sizeof(incident.victim_cmdline) - 1);
	id = made_put(&made, &incident, &moment);
	made_close(&made);
	assert_sql(&made, "SELECT typeof(comm) FROM victim WHERE n = 0", "blob");
	assert_sql(&made, "SELECT typeof(comm) FROM victim WHERE n = 1", "text");
	assert_sql(&made, "SELECT typeof(victim_exe) FROM incident", "null");
	assert_loads(&made, id);
	assert_string_equal(captured.incident.victims[0].task.comm, "\xff\xfe\x1b[2J");
	assert_string_equal(captured.incident.victims[1].task.comm, "caf\xc3\xa9");
	assert_string_equal(captured.incident.victim_cmdline, incident.victim_cmdline);
	made_remove(&made);
}

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

/* --- failures, numbers --- */

static void test_a_full_disk_leaves_nothing_half(void **state)
{
	static struct judgement judgement;
	struct made made;
	char before[32];
	int64_t id = 0;

	(void)state;
	made_new(&made);
	random_moment(&moment);
	fill_everything();
	made_put(&made, &incident, &moment);
	made_close(&made);
	made_text(&made, "PRAGMA page_count", before, sizeof(before));
	made_open(&made);
	made_run(&made);
	/* What SQLite says when the disk is full it says for this, too. */
	assert_int_equal(
		sqlite3_exec(*(sqlite3 **)made.writer, "PRAGMA max_page_count = 1", 0, 0, 0),
		SQLITE_OK);
	judge_incident(&incident, &made.run.host, &moment.coverage, &judgement);
	assert_int_equal(
		store_incident(made.writer, &made.run, &moment, &incident, &judgement, &id),
		-ENOSPC);
	assert_int_equal(
		sqlite3_exec(*(sqlite3 **)made.writer, "PRAGMA max_page_count = 100000", 0, 0, 0),
		SQLITE_OK);
	assert_int_equal(made_put(&made, &incident, &moment), 2);
	made_close(&made);
	assert_sql(&made, "SELECT count(*) FROM incident", "2");
	assert_sql(&made, "SELECT count(*) FROM victim", "1024");
	assert_sql(&made, "PRAGMA integrity_check", "ok");
	assert_loads(&made, 2);
	assert_true(same_incident(&incident, &captured.incident));
	made_remove(&made);
}

static void test_numbers_are_not_given_twice(void **state)
{
	struct made made;

	(void)state;
	put_one(&made);
	made_open(&made);
	made_run(&made);
	assert_int_equal(made_put(&made, &incident, &moment), 2);
	made_close(&made);
	made_exec(&made, "DELETE FROM incident; DELETE FROM victim");
	made_open(&made);
	made_run(&made);
	assert_int_equal(made_put(&made, &incident, &moment), 3);
	made_remove(&made);
}

/* --- the list --- */

struct seen {
	int64_t ids[64];
	unsigned int count, stop_at;
};

static int see(const struct store_line *line, void *arg)
{
	struct seen *seen = arg;

	assert_false(line->damaged);
	assert_string_equal(line->told_by, OOMSNOOP_VERSION);
	seen->ids[seen->count++] = line->id;
	return seen->count == seen->stop_at ? 7 : 0;
}

/* Stored in another order than they happened. */
static void test_the_list_goes_by_time(void **state)
{
	static const int64_t minutes[] = {30, 10, 20, 10};
	struct made made;
	struct store *store;
	struct seen seen = {0};
	int64_t base = 1767316800000000000LL, minute = 60000000000LL;

	(void)state;
	made_new(&made);
	memset(&incident, 0, sizeof(incident));
	memset(&moment, 0, sizeof(moment));
	moment.wall_minus_boot_ns = base;
	for (int i = 0; i < 4; i++) {
		incident.time_ns = (uint64_t)(minutes[i] * minute);
		made_put(&made, &incident, &moment);
	}
	store = open_store(&made);
	assert_int_equal(store_each(store, INT64_MIN, INT64_MAX, false, see, &seen), 0);
	assert_int_equal(seen.count, 4);
	assert_memory_equal(seen.ids, ((int64_t[]) {2, 4, 3, 1}), 4 * sizeof(int64_t));
	seen = (struct seen) {0};
	assert_int_equal(store_each(store, INT64_MIN, INT64_MAX, true, see, &seen), 0);
	assert_memory_equal(seen.ids, ((int64_t[]) {1, 3, 4, 2}), 4 * sizeof(int64_t));
	seen = (struct seen) {0};
	assert_int_equal(
		store_each(store, base + 10 * minute, base + 20 * minute, false, see, &seen), 0);
	assert_memory_equal(seen.ids, ((int64_t[]) {2, 4, 3}), 3 * sizeof(int64_t));
	assert_int_equal(seen.count, 3);
	seen = (struct seen) {.stop_at = 2};
	assert_int_equal(store_each(store, INT64_MIN, INT64_MAX, false, see, &seen), 7);
	assert_int_equal(seen.count, 2);
	store_close(store);
	made_remove(&made);
}

/* The reader goes on while a writer adds. */
static void test_a_reader_sees_what_a_writer_adds(void **state)
{
	struct made made;
	struct store *store;
	struct seen seen = {0};

	(void)state;
	made_new(&made);
	random_moment(&moment);
	memset(&incident, 0, sizeof(incident));
	made_put(&made, &incident, &moment);
	store = open_store(&made);
	assert_int_equal(store_each(store, INT64_MIN, INT64_MAX, false, see, &seen), 0);
	assert_int_equal(seen.count, 1);
	made_put(&made, &incident, &moment);
	seen = (struct seen) {0};
	assert_int_equal(store_each(store, INT64_MIN, INT64_MAX, false, see, &seen), 0);
	assert_int_equal(seen.count, 2);
	assert_int_equal(store_load(store, 2, &captured), 0);
	assert_false(captured.damaged);
	store_close(store);
	made_remove(&made);
}

/* --- what is read is fit to be judged and shown --- */

static void show(const struct captured *from)
{
	static char data[SINK_JSON_MAX];
	static struct judgement judgement;
	struct sink_context context = {.width = 80};
	struct buf buf;

	sink_context_of(&context, &from->run, &from->moment);
	judge_incident(&from->incident, &from->run.host, &from->moment.coverage, &judgement);
	buf_init(&buf, data, sizeof(data));
	assert_int_equal(json_incident(&buf, &context, &from->incident, &judgement), 0);
	assert_harmless_text(data);
	buf_init(&buf, data, sizeof(data));
	text_incident(&buf, &context, &from->incident, &judgement);
	assert_harmless_text(data);
}

static void test_what_comes_out_can_be_judged_and_shown(void **state)
{
	struct made made;
	struct store *store;

	(void)state;
	made_new(&made);
	for (int i = 0; i < 150; i++) {
		random_incident(&incident);
		random_moment(&moment);
		/* Some go further into the judge. */
		if (i % 2) {
			incident.growth.valid = incident.growth.domain_known = true;
			incident.growth.point_count = PICTURE_POINTS;
			for (int j = 0; j < PICTURE_POINTS; j++)
				incident.growth.points[j] = random_up_to(1ULL << 60);
		}
		made_put(&made, &incident, &moment);
	}
	store = open_store(&made);
	for (int i = 0; i < 150; i++) {
		assert_int_equal(store_load(store, i + 1, &captured), 0);
		show(&captured);
	}
	store_close(store);
	made_remove(&made);
}

/* Sets columns here and there, other ones with each turn. */
static void spoil(const struct made *made, const char *value, size_t turn)
{
	static char sql[65536];
	size_t at =
		(size_t)snprintf(sql, sizeof(sql), "BEGIN;UPDATE run SET page_size = %s;", value);

	for (size_t i = 0; i < store_field_table_count; i++) {
		const struct field_table *table = &store_field_tables[i];

		for (size_t j = 0; j < table->field_count; j += 1 + j / 9)
			at += (size_t)snprintf(sql + at, sizeof(sql) - at, "UPDATE %s SET %s = %s;",
				table->table, table->fields[(j + turn) % table->field_count].column,
				value);
	}
	snprintf(sql + at, sizeof(sql) - at, "COMMIT");
	made_exec(made, sql);
}

/* Every number of a store set to something that no machine tells. */
static void test_a_hostile_store_can_be_judged_and_shown(void **state)
{
	static const char *const values[] = {"9223372036854775807", "-9223372036854775808", "-1",
		"1", "1e300", "'x'", "zeroblob(5000)", "NULL", "4294967295", "1073741824"};
	struct made made;

	(void)state;
	put_one(&made);
	for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
		struct store *store;

		spoil(&made, values[v], v);
		store = open_store(&made);
		assert_int_equal(store_load(store, 1, &captured), 0);
		assert_true(captured.damaged);
		show(&captured);
		store_close(store);
	}
	made_remove(&made);
}

/* --- pace --- */

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Far above what it takes, so that only a blunder fails it; the figure is printed. */
static void test_loading_is_quick(void **state)
{
	struct made made;
	struct store *store;
	double began;

	(void)state;
	made_new(&made);
	random_moment(&moment);
	fill_everything();
	incident.victim_count = 1;
	memset(&incident.victims[1], 0, sizeof(incident.victims) - sizeof(incident.victims[0]));
	made_put(&made, &incident, &moment);
	store = open_store(&made);
	assert_int_equal(store_load(store, 1, &captured), 0);
	began = seconds();
	for (int i = 0; i < 200; i++)
		assert_int_equal(store_load(store, 1, &captured), 0);
	print_message("# an incident with 64 candidates is loaded in %.0f us\n",
		(seconds() - began) / 200 * 1e6);
	assert_true(seconds() - began < 200 * 0.02);
	store_close(store);
	made_remove(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_incidents_come_back_whole),
		cmocka_unit_test(test_the_largest_and_the_smallest_come_back),
		cmocka_unit_test(test_a_count_that_is_too_large_reads_nothing_beyond),
		cmocka_unit_test(test_addresses_stay_on_the_machine),
		cmocka_unit_test(test_any_bytes_are_kept_and_text_stays_text),
		cmocka_unit_test(test_a_full_disk_leaves_nothing_half),
		cmocka_unit_test(test_numbers_are_not_given_twice),
		cmocka_unit_test(test_the_list_goes_by_time),
		cmocka_unit_test(test_a_reader_sees_what_a_writer_adds),
		cmocka_unit_test(test_what_comes_out_can_be_judged_and_shown),
		cmocka_unit_test(test_a_hostile_store_can_be_judged_and_shown),
		cmocka_unit_test(test_loading_is_quick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
