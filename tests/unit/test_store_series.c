// SPDX-License-Identifier: Apache-2.0
#include "series_told.h"

/* --- export --- */

struct exported {
	int64_t time_ns, run, value;
	enum history_kind kind;
	char path[64];
};

static struct exported exported[20000];
static unsigned int exported_count;

static void take_exported(const struct capture_run *run, const struct history_owner *owner,
	const char *path, const struct history_point *point, void *arg)
{
	struct exported *to = &exported[exported_count++];

	assert_ptr_equal(arg, exported);
	assert_true(exported_count <= sizeof(exported) / sizeof(exported[0]));
	assert_string_equal(run->host.hostname, "node-1");
	to->time_ns = point->time_ns;
	to->run = run->id;
	to->value = point->values[0];
	to->kind = owner->kind;
	snprintf(to->path, sizeof(to->path), "%s", path);
}

static int export_all(const char *path, int64_t since_ns, int64_t until_ns)
{
	int ret;
	struct store *store = store_open(path, &ret);

	assert_int_equal(ret, 0);
	exported_count = 0;
	ret = store_series(store, since_ns, until_ns, take_exported, exported);
	store_close(store);
	return ret;
}

static void everything_by_time_of_the_wall(void **state)
{
	struct history_owner worker = process_owner(100, 1, APP, "worker");
	int64_t hour = 3600 * SEC;
	struct fixture fixture;

	(void)state;
	fixture_start(&fixture, 8 * MIB, T0);
	for (int run = 0; run < 4; run++) { /* two of a boot */
		int64_t began_ns = T0 + run % 2 * hour;

		if (run)
			fixture_run(&fixture, run < 2 ? BOOT_A : BOOT_B, began_ns);
		batch_begin(&fixture);
		tell_world(&fixture, began_ns + SEC);
		tell_owner(&fixture, &worker, "", "");
		tell_point(&fixture, began_ns + SEC, run, 0, 0, 0);
		batch_commit(&fixture);
		if (run == 1)
			fixture.offset_ns += DAY;
	}
	assert_int_equal(export_all(fixture.path, INT64_MIN, INT64_MAX), 0);
	assert_int_equal(exported_count, 20);
	for (unsigned int i = 0; i < exported_count; i++) {
		int64_t began_ns = WALL0 + T0 + i / 10 * DAY + i / 5 % 2 * hour;

		assert_int_equal(exported[i].time_ns, began_ns + SEC);
		assert_int_equal(exported[i].run, 1 + i / 5);
	}
	assert_int_equal(exported[0].kind, HISTORY_HOST);
	assert_string_equal(exported[1].path, "/pod");
	assert_int_equal(exported[14].kind, HISTORY_PROCESS);
	assert_string_equal(exported[14].path, "/pod/app");
	assert_int_equal(exported[14].value, 2);
	assert_int_equal(export_all(fixture.path, WALL0 + T0 + 2 * SEC, WALL0 + T0 + DAY + SEC), 0);
	assert_int_equal(exported_count, 10);
	assert_int_equal(exported[0].run, 2);
	assert_int_equal(exported[9].run, 3);
	assert_int_equal(export_all(fixture.path, WALL0 + T0 + DAY + SEC + 1, INT64_MAX), 0);
	assert_int_equal(exported_count, 5);
	assert_int_equal(export_all(fixture.path, INT64_MAX, INT64_MIN), 0);
	fixture_remove(&fixture);
}

/* More at one moment than are read at once, and times that do not divide. */
static void export_in_pieces(void **state)
{
	struct fixture fixture;
	unsigned int rows = 0;

	(void)state;
	fixture_start(&fixture, 32 * MIB, T0);
	batch_begin(&fixture);
	for (uint32_t pid = 1; pid <= 9500; pid++) {
		struct history_owner owner = process_owner(pid, 1, APP, "p");

		tell_owner(&fixture, &owner, "", "");
		tell_point(&fixture, T0 + (pid > 9000 ? pid * MS : 0), pid, 0, 0, 0);
		rows++;
	}
	for (uint64_t id = 1; id <= 5000; id++) {
		struct history_owner owner = cgroup_owner(id, 0, UINT64_MAX);

		tell_owner(&fixture, &owner, "", "");
		tell_point(&fixture, T0 + (id > 4500 ? (int64_t)id * MS : 0), (int64_t)id, 0, 0, 0);
		rows++;
	}
	batch_commit(&fixture);
	assert_int_equal(export_all(fixture.path, INT64_MIN, INT64_MAX), 0);
	assert_int_equal(exported_count, rows);
	for (unsigned int i = 1; i < exported_count; i++)
		assert_true(exported[i - 1].time_ns <= exported[i].time_ns);
	fixture_remove(&fixture);
}

/* --- gaps and the summary --- */

static struct store_gap gaps[64];
static unsigned int gap_count;

static void take_gap(const struct store_gap *gap, void *arg)
{
	assert_null(arg);
	assert_true(gap_count < 64);
	gaps[gap_count++] = *gap;
}

static void read_gaps(struct fixture *fixture, int64_t since_ns, int64_t until_ns)
{
	int ret;
	struct store *store = store_open(fixture->path, &ret);

	assert_int_equal(ret, 0);
	gap_count = 0;
	assert_int_equal(store_gaps(store, since_ns, until_ns, take_gap, NULL), 0);
	store_close(store);
}

static void end_run(struct fixture *fixture, int64_t boot_ns)
{
	fixture->run.ended_ns = boot_ns + fixture->offset_ns;
	strcpy(fixture->run.ended_why, "signal");
	fixture_says(fixture, store_run_end(fixture->writer, &fixture->run));
}

static void assert_gap(unsigned int n, int64_t from_ns, int64_t to_ns)
{
	assert_true(n < gap_count);
	assert_int_equal(gaps[n].why, STORE_GAP_NOT_RUNNING);
	assert_int_equal(gaps[n].from_ns, from_ns);
	assert_int_equal(gaps[n].to_ns, to_ns);
	assert_true(gaps[n].incidents == UNKNOWN_U64 && gaps[n].points == UNKNOWN_U64);
}

static void time_without_a_recorder_is_told(void **state)
{
	struct history_owner owner = process_owner(1, 0, APP, "one");
	struct fixture fixture;
	int64_t now;

	(void)state;
	fixture_start(&fixture, 8 * MIB, T0);
	read_gaps(&fixture, INT64_MIN, INT64_MAX);
	assert_int_equal(gap_count, 0); /* there was nothing before */
	end_run(&fixture, T0 + 10 * SEC);
	fixture_run(&fixture, BOOT_A, T0 + 30 * SEC);
	read_gaps(&fixture, INT64_MIN, INT64_MAX);
	assert_int_equal(gap_count, 1);
	assert_gap(0, WALL0 + T0 + 10 * SEC, WALL0 + T0 + 30 * SEC);
	/* Killed: the last that it stored, a point, counts. */
	batch_begin(&fixture);
	tell_owner(&fixture, &owner, "", "");
	tell_point(&fixture, T0 + 40 * SEC, 1, 0, 0, 0);
	batch_commit(&fixture);
	fixture_run(&fixture, BOOT_A, T0 + 50 * SEC);
	read_gaps(&fixture, WALL0 + T0 + 31 * SEC, INT64_MAX);
	assert_int_equal(gap_count, 1);
	assert_gap(0, WALL0 + T0 + 40 * SEC, WALL0 + T0 + 50 * SEC);
	/* Killed again; an incident was the last. */
	fixture_incident(&fixture, T0 + 55 * SEC, 1);
	fixture_run(&fixture, BOOT_A, T0 + 60 * SEC);
	read_gaps(&fixture, WALL0 + T0 + 51 * SEC, INT64_MAX);
	assert_int_equal(gap_count, 1);
	assert_gap(0, WALL0 + T0 + 55 * SEC, WALL0 + T0 + 60 * SEC);
	/* Killed before it stored anything: since it began. */
	fixture_run(&fixture, BOOT_A, T0 + 70 * SEC);
	read_gaps(&fixture, WALL0 + T0 + 61 * SEC, INT64_MAX);
	assert_int_equal(gap_count, 1);
	assert_gap(0, WALL0 + T0 + 60 * SEC, WALL0 + T0 + 70 * SEC);
	/* The clock was set back by a day meanwhile. */
	end_run(&fixture, T0 + 80 * SEC);
	fixture.offset_ns -= DAY;
	fixture_run(&fixture, BOOT_A, T0 + 95 * SEC);
	read_gaps(&fixture, INT64_MIN, WALL0 + T0 - DAY / 2);
	assert_int_equal(gap_count, 1);
	assert_gap(0, WALL0 - DAY + T0 + 80 * SEC, WALL0 - DAY + T0 + 95 * SEC);
	/* Another boot, whose clock is behind: nothing can be said but that there was one. */
	end_run(&fixture, T0 + 100 * SEC);
	fixture.offset_ns = WALL0 - 10 * DAY;
	fixture_run(&fixture, BOOT_B, 5 * SEC);
	now = fixture.offset_ns + 5 * SEC;
	read_gaps(&fixture, INT64_MIN, now + 1);
	assert_int_equal(gap_count, 1);
	assert_gap(0, now, now);
	assert_int_equal(
		fixture_number(&fixture, "SELECT count(*) FROM run WHERE ended_ns IS NULL"),
		4); /* those that ended without a word, and this one */
	assert_int_equal(fixture_number(&fixture, "SELECT count(*) FROM boot"), 2);
	assert_int_equal(fixture_number(&fixture, "SELECT count(*) FROM run_hook"), 2 * 7);
	fixture_remove(&fixture);
}

static void gaps_are_named(void **state)
{
	(void)state;
	for (int why = STORE_GAP_NOT_RUNNING; why <= STORE_GAP_PRUNED; why++)
		for (int other = STORE_GAP_NOT_RUNNING; other < why; other++)
			assert_string_not_equal(store_gap_name((enum store_gap_why)why),
				store_gap_name((enum store_gap_why)other));
	assert_string_equal(store_gap_name(STORE_GAP_NOT_RUNNING), "not-running");
	assert_string_equal(store_gap_name((enum store_gap_why)99), "unknown");
}

static void the_summary(void **state)
{
	struct fixture fixture;
	struct store_summary summary;
	struct store *store;
	int ret;

	(void)state;
	fixture_make(&fixture, 8 * MIB);
	fixture_open(&fixture);
	store = store_open(fixture.path, &ret);
	assert_int_equal(store_summary(store, &summary), 0);
	assert_int_equal(summary.incidents + summary.runs, 0);
	assert_true(summary.first_ns == INT64_MIN && summary.last_ns == INT64_MIN &&
		    summary.running_since_ns == INT64_MIN);
	assert_string_equal(summary.hostname, "");
	store_close(store);
	fixture_run(&fixture, BOOT_A, T0);
	fixture_incident(&fixture, T0 + SEC, 3);
	fixture_incident(&fixture, T0 + 9 * SEC, 3);
	store = store_open(fixture.path, &ret);
	assert_int_equal(store_summary(store, &summary), 0);
	assert_int_equal(summary.incidents, 2);
	assert_int_equal(summary.runs, 1);
	assert_int_equal(summary.first_ns, WALL0 + T0 + SEC);
	assert_int_equal(summary.last_ns, WALL0 + T0 + 9 * SEC);
	assert_int_equal(summary.running_since_ns, WALL0 + T0);
	assert_string_equal(summary.hostname, "node-1");
	assert_true(summary.bytes >= 4096);
	end_run(&fixture, T0 + 20 * SEC);
	assert_int_equal(store_summary(store, &summary), 0);
	assert_true(summary.running_since_ns == INT64_MIN);
	store_close(store);
	fixture_remove(&fixture);
}

/* A run's own facts, its end included, are under its checksum. */
static void runs_come_back_whole(void **state)
{
	static struct captured loaded;
	struct fixture fixture;
	struct store *store;
	int ret;

	(void)state;
	fixture_start(&fixture, 8 * MIB, T0);
	fixture_incident(&fixture, T0 + SEC, 3);
	end_run(&fixture, T0 + 20 * SEC);
	store = store_open(fixture.path, &ret);
	assert_int_equal(store_load(store, 1, &loaded), 0);
	assert_string_equal(loaded.damage, "");
	assert_int_equal(loaded.run.id, fixture.run.id);
	assert_int_equal(loaded.run.ended_ns, fixture.run.ended_ns);
	assert_string_equal(loaded.run.ended_why, "signal");
	assert_string_equal(loaded.run.hooks[0].hook, "fentry oom_kill_process");
	assert_string_equal(loaded.run.hooks[1].purpose, "exit");
	assert_int_equal(loaded.run.hook_count, 2);
	store_close(store);
	fixture_remove(&fixture);
}

/* --- damage --- */

static void tell_pieces(struct fixture *fixture)
{
	batch_begin(fixture);
	tell_world(fixture, T0);
	for (uint32_t pid = 1; pid <= 60; pid++) {
		struct history_owner owner = process_owner(pid, 1, APP, "p");

		tell_owner(fixture, &owner, "", "");
		for (int i = 0; i < 100; i++)
			tell_point(fixture, T0 + i * SEC, pid, 0, 0, 0);
	}
	batch_commit(fixture);
}

static void what_can_be_read_is_told(void **state)
{
	static const struct {
		const char *sql;
		int64_t lost; /* points */
	} cases[] = {
		{"DELETE FROM process WHERE pid = 7", 100},
		{"UPDATE process_point SET swap = -1 WHERE process = 3", 100},
		{"UPDATE process_point SET resident = 'x' WHERE process = 3", 100},
		{"UPDATE process_point SET cached = NULL WHERE process = 3", 100},
		{"UPDATE cgroup_point SET usage = NULL WHERE t_ms > 0", 4},
		{"DELETE FROM cgroup", 4},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture fixture;

		fixture_start(&fixture, 8 * MIB, T0);
		tell_pieces(&fixture);
		fixture_sql(&fixture, cases[i].sql);
		assert_int_equal(read_history_of(fixture.path, BOOT_A, 0, T0 - SEC, T0 + 100 * SEC),
			-EBADMSG);
		assert_int_equal(told.point_count, 6004 - cases[i].lost);
		assert_int_equal(export_all(fixture.path, INT64_MIN, INT64_MAX), -EBADMSG);
		assert_int_equal(exported_count, 6004 - cases[i].lost);
		fixture_remove(&fixture);
	}
}

/* Each page in turn, so that any part of the tree is hit: never more, never a crash, and whatever
 * is told is what was stored. */
static void pages_are_lost(void **state)
{
	unsigned int bad = 0, whole = 0, pages;
	static char saved[4096], garbage[4096];
	struct fixture fixture;
	FILE *file;

	(void)state;
	fixture_start(&fixture, 8 * MIB, T0);
	tell_pieces(&fixture);
	fixture_close(&fixture);
	file = fopen(fixture.path, "r+");
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	pages = (unsigned int)(ftell(file) / 4096);
	memset(garbage, 0xa5, sizeof(garbage));
	for (unsigned int page = 2; page < pages; page++) {
		int ret;
		struct store *store;

		fseek(file, page * 4096L, SEEK_SET);
		assert_int_equal(fread(saved, 1, 4096, file), 4096);
		fseek(file, page * 4096L, SEEK_SET);
		assert_int_equal(fwrite(garbage, 1, 4096, file), 4096);
		fflush(file);
		store = store_open(fixture.path, &ret);
		if (!ret) {
			struct history_taker taker = {take_owner, take_point, &told};

			memset(&captured, 0, sizeof(captured));
			strcpy(captured.run.host.boot_id, BOOT_A);
			told.owner_count = told.point_count = 0;
			ret = store_history(
				store, &captured, POD, T0 - SEC, T0 + 100 * SEC, &taker);
			assert_true(!ret || ret == -EBADMSG);
			assert_true(told.point_count <= 6004);
			for (unsigned int i = 4; i < told.point_count; i++)
				if (told.owners[told.points[i].owner].kind == HISTORY_PROCESS)
					assert_int_equal(told.points[i].point.values[0],
						told.owners[told.points[i].owner].tgid);
			whole += !ret && told.point_count == 6004;
			bad += ret == -EBADMSG;
			ret = store_series(store, INT64_MIN, INT64_MAX, take_exported, exported);
			assert_true(!ret || ret == -EBADMSG);
			exported_count = 0;
		}
		store_close(store);
		fseek(file, page * 4096L, SEEK_SET);
		assert_int_equal(fwrite(saved, 1, 4096, file), 4096);
		fflush(file);
	}
	fclose(file);
	print_message("%u pages: %u told of, %u not missed\n", pages, bad, whole);
	assert_true(bad >= 20 && whole >= 10);
	fixture_remove(&fixture);
}

/* --- the file --- */

static void one_writer_at_a_time(void **state)
{
	struct store_writer *second = NULL;
	struct fixture fixture;
	char moved[128];

	(void)state;
	fixture_start(&fixture, 8 * MIB, T0);
	assert_int_equal(store_writer_open(fixture.path, &fixture.limits, &second), -EBUSY);
	assert_null(second);
	assert_true(store_writer_why(NULL)[0] != '\0');
	assert_true(store_writer_in_place(fixture.writer));
	snprintf(moved, sizeof(moved), "%s.moved", fixture.path);
	assert_int_equal(rename(fixture.path, moved), 0);
	assert_false(store_writer_in_place(fixture.writer));
	fclose(fopen(fixture.path, "w"));
	assert_false(store_writer_in_place(fixture.writer));
	assert_int_equal(unlink(fixture.path), 0);
	assert_int_equal(rename(moved, fixture.path), 0);
	assert_true(store_writer_in_place(fixture.writer));
	fixture_close(&fixture);
	fixture_open(&fixture);
	fixture_remove(&fixture);
}

static void others_files_are_left_alone(void **state)
{
	struct store_writer *writer = NULL;
	struct fixture fixture;
	FILE *file;

	(void)state;
	fixture_make(&fixture, 8 * MIB);
	file = fopen(fixture.path, "w");
	for (int i = 0; i < 1000; i++)
		fprintf(file, "not a store at all\n");
	fclose(file);
	assert_int_equal(store_writer_open(fixture.path, &fixture.limits, &writer), -EBADMSG);
	assert_true(store_writer_why(NULL)[0] != '\0');
	assert_int_equal(fixture_bytes(&fixture), 19000);
	unlink(fixture.path);
	assert_int_equal(store_writer_open("/nowhere/at/all", &fixture.limits, &writer), -ENOENT);
	fixture_remove(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_by_time_of_the_wall),
		cmocka_unit_test(export_in_pieces),
		cmocka_unit_test(time_without_a_recorder_is_told),
		cmocka_unit_test(gaps_are_named),
		cmocka_unit_test(the_summary),
		cmocka_unit_test(runs_come_back_whole),
		cmocka_unit_test(what_can_be_read_is_told),
		cmocka_unit_test(pages_are_lost),
		cmocka_unit_test(one_writer_at_a_time),
		cmocka_unit_test(others_files_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
