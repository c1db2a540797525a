// SPDX-License-Identifier: Apache-2.0
#include "series_told.h"

#include <time.h>

static void what_goes_in_comes_out(void **state)
{
	struct history_owner worker = process_owner(100, T0 - SEC, APP, "worker");
	struct history_owner other = process_owner(200, T0 - SEC, SIDE, "other");
	const struct history_owner *owner;
	struct fixture fixture;

	(void)state;
	fixture_start(&fixture, 8 * MIB, T0);
	worker.ppid = 77;
	worker.root_tgid = 70;
	worker.root_start_ns = (uint64_t)(T0 - 5 * SEC);
	worker.shared_bytes = 12345;
	worker.exited_ns = (uint64_t)(T0 + 9 * SEC);
	batch_begin(&fixture);
	tell_world(&fixture, T0);
	tell_owner(&fixture, &worker, "", "worker --all");
	tell_point(&fixture, T0 + 3 * SEC, 3, 30, 300, 3000);
	tell_point(&fixture, T0 + 1 * SEC, 1, 10, 100, 1000);
	tell_owner(&fixture, &other, "", "");
	tell_point(&fixture, T0 + 2 * SEC, 2, -5, 0, 0);
	batch_commit(&fixture);
	read_history(&fixture, 0, T0, T0 + 60 * SEC);

	assert_int_equal(told.owner_count, 6);
	assert_int_equal(told.point_count, 7);
	owner = told_owner(HISTORY_HOST, 0);
	assert_nth(owner, 0, T0, 500);
	assert_int_equal(owner->max_bytes, 1024 * MIB);
	owner = told_owner(HISTORY_CGROUP, APP);
	assert_nth(owner, 0, T0, 200);
	assert_int_equal(told_nth(owner, 0)->values[HISTORY_CHARGED], 150);
	assert_int_equal(owner->max_bytes, 64 * MIB);
	assert_int_equal(owner->parent_id, POD);
	owner = told_owner(HISTORY_CGROUP, POD);
	assert_int_equal(told_nth(owner, 0)->values[HISTORY_CHARGED], -1);
	assert_true(owner->max_bytes == UINT64_MAX);
	owner = told_owner(HISTORY_PROCESS, 100);
	assert_nth(owner, 0, T0 + 1 * SEC, 1);
	assert_nth(owner, 1, T0 + 3 * SEC, 3);
	assert_null(told_nth(owner, 2));
	for (int i = 0; i < HISTORY_VALUES; i++) {
		static const int64_t values[] = {3, 30, 300, 3000};

		assert_int_equal(told_nth(owner, 1)->values[i], values[i]);
	}
	assert_int_equal(owner->ppid, 77);
	assert_int_equal(owner->root_tgid, 70);
	assert_int_equal(owner->root_start_ns, T0 - 5 * SEC);
	assert_int_equal(owner->start_ns, T0 - SEC);
	assert_int_equal(owner->shared_bytes, 12345);
	assert_int_equal(owner->exited_ns, T0 + 9 * SEC);
	assert_int_equal(owner->cgroup_id, APP);
	assert_string_equal(owner->comm, "worker");
	/* A counter summed up over CPUs may be below 0 for a moment. */
	assert_int_equal(told_nth(told_owner(HISTORY_PROCESS, 200), 0)->values[HISTORY_SWAP], 0);
	fixture_remove(&fixture);
}

static void only_the_domain(void **state)
{
	struct history_owner inside = process_owner(100, T0, APP, "inside");
	struct history_owner above = process_owner(101, T0, POD, "above");
	struct history_owner beside = process_owner(102, T0, SIDE, "beside");
	struct history_owner nowhere = process_owner(103, T0, 0, "nowhere");
	struct history_owner deep = process_owner(104, T0, 99, "deep");
	struct history_owner lost = process_owner(105, T0, 98, "lost");
	struct history_owner child = cgroup_owner(99, APP, UINT64_MAX);
	struct history_owner orphan = cgroup_owner(98, 0, UINT64_MAX);
	struct history_owner *const all[] = {&inside, &above, &beside, &nowhere, &deep, &lost};
	static const struct {
		uint64_t domain;
		bool wanted[6];
	} cases[] = {
		{0, {true, true, true, true, true, true}},
		{POD, {true, true, false, false, true, true}},
		{APP, {true, false, false, false, true, false}},
		{99, {false, false, false, false, true, false}},
		{SIDE, {false, false, true, false, false, false}},
		{12345, {false, false, false, false, false, false}},
	};
	struct fixture fixture;

	(void)state;
	fixture_start(&fixture, 8 * MIB, T0);
	batch_begin(&fixture);
	tell_world(&fixture, T0);
	tell_owner(&fixture, &child, "/pod/app/child", "");
	tell_owner(&fixture, &orphan, "/pod/apple", ""); /* its parent is not known; no app */
	for (size_t i = 0; i < 6; i++) {
		tell_owner(&fixture, all[i], "", "");
		tell_point(&fixture, T0 + SEC, 1, 0, 0, 0);
	}
	batch_commit(&fixture);
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		read_history(&fixture, cases[c].domain, T0, T0 + 60 * SEC);
		for (size_t i = 0; i < 6; i++)
			assert_int_equal(
				!!told_owner(HISTORY_PROCESS, all[i]->tgid), cases[c].wanted[i]);
		assert_non_null(told_owner(HISTORY_CGROUP, SIDE)); /* all cgroups, always */
	}
	fixture_remove(&fixture);
}

static void the_point_that_holds_comes_first(void **state)
{
	struct history_owner still = process_owner(1, 0, APP, "still");
	struct history_owner moving = process_owner(2, 0, APP, "moving");
	struct history_owner gone = process_owner(3, 0, APP, "gone");
	struct history_owner later = process_owner(4, T0 + 30 * SEC, APP, "later");
	struct fixture fixture;

	(void)state;
	fixture_start(&fixture, 8 * MIB, T0 - 600 * SEC);
	gone.exited_ns = (uint64_t)(T0 - SEC);
	batch_begin(&fixture);
	tell_owner(&fixture, &still, "", "");
	tell_point(&fixture, T0 - 500 * SEC, 10, 0, 0, 0);
	tell_point(&fixture, T0 - 400 * SEC, 11, 0, 0, 0);
	tell_owner(&fixture, &moving, "", "");
	tell_point(&fixture, T0 - 10 * SEC, 20, 0, 0, 0);
	tell_point(&fixture, T0, 21, 0, 0, 0);
	tell_point(&fixture, T0 + 5 * SEC, 22, 0, 0, 0);
	tell_point(&fixture, T0 + 61 * SEC, 23, 0, 0, 0);
	tell_owner(&fixture, &gone, "", "");
	tell_point(&fixture, T0 - 20 * SEC, 30, 0, 0, 0);
	tell_owner(&fixture, &later, "", "");
	tell_point(&fixture, T0 + 31 * SEC, 40, 0, 0, 0);
	batch_commit(&fixture);
	read_history(&fixture, 0, T0, T0 + 60 * SEC);
	assert_nth(told_owner(HISTORY_PROCESS, 1), 0, T0, 11);
	assert_null(told_nth(told_owner(HISTORY_PROCESS, 1), 1));
	assert_nth(told_owner(HISTORY_PROCESS, 2), 0, T0, 21);
	assert_nth(told_owner(HISTORY_PROCESS, 2), 1, T0 + 5 * SEC, 22);
	assert_null(told_nth(told_owner(HISTORY_PROCESS, 2), 2));
	assert_null(told_owner(HISTORY_PROCESS, 3));
	assert_nth(told_owner(HISTORY_PROCESS, 4), 0, T0 + 31 * SEC, 40);
	/* Another boot, and one that was never stored. */
	fixture_run(&fixture, BOOT_B, T0);
	assert_int_equal(read_history_of(fixture.path, BOOT_B, 0, T0, T0 + 60 * SEC), 0);
	assert_int_equal(told.owner_count, 0);
	assert_int_equal(read_history_of(fixture.path, "nobody", 0, INT64_MIN, INT64_MAX), 0);
	assert_int_equal(told.owner_count, 0);
	fixture_remove(&fixture);
}

static void the_last_told_holds(void **state)
{
	struct history_owner owner = process_owner(1, 0, APP, "one");
	struct fixture fixture;

	(void)state;
	fixture_start(&fixture, 8 * MIB, T0);
	batch_begin(&fixture);
	tell_owner(&fixture, &owner, "", "");
	for (int round = 0; round < 50; round++)
		for (int i = 0; i < 20; i++)
			tell_point(&fixture, T0 + (19 - i) * SEC, 1000 * round + i, 0, 0, 0);
	batch_commit(&fixture);
	read_history(&fixture, 0, T0 - SEC, T0 + 60 * SEC);
	assert_int_equal(told.point_count, 20);
	for (int i = 0; i < 20; i++)
		assert_nth(&told.owners[0], (unsigned int)i, T0 + i * SEC, 49000 + 19 - i);
	batch_begin(&fixture);
	tell_owner(&fixture, &owner, "", "");
	tell_point(&fixture, T0 + 7 * SEC, 7, 0, 0, 0);
	batch_commit(&fixture);
	read_history(&fixture, 0, T0 - SEC, T0 + 60 * SEC);
	assert_int_equal(told.point_count, 20);
	assert_nth(&told.owners[0], 7, T0 + 7 * SEC, 7);
	fixture_remove(&fixture);
}

/* Owners and times at random, beside the store in plain arrays. */
static void as_a_plain_table_would(void **state)
{
	static int64_t plain[40][1000]; /* value + 1 by owner and second */
	struct fixture fixture;
	uint64_t seed = 20240607;

	(void)state;
	fixture_start(&fixture, 16 * MIB, T0);
	memset(plain, 0, sizeof(plain));
	for (int batch = 0; batch < 40; batch++) {
		batch_begin(&fixture);
		for (int i = 0; i < 300; i++) {
			unsigned int which = (unsigned int)(random_next(&seed) % 40);
			int64_t second = (int64_t)(random_next(&seed) % 1000);
			int64_t value = (int64_t)(random_next(&seed) % 100000);
			struct history_owner owner = process_owner(which + 1, which, APP, "p");

			tell_owner(&fixture, &owner, "", "");
			tell_point(&fixture, T0 + second * SEC, value, 0, 0, 0);
			plain[which][second] = value + 1;
		}
		batch_commit(&fixture);
	}
	for (int from = 0; from < 1000; from += 137) {
		unsigned int points = 0;

		read_history(&fixture, 0, T0 + from * SEC, T0 + (from + 300) * SEC);
		for (unsigned int which = 0; which < 40; which++) {
			const struct history_owner *owner = told_owner(HISTORY_PROCESS, which + 1);
			unsigned int n = 0;
			int held = from;

			while (held >= 0 && !plain[which][held])
				held--;
			if (held >= 0)
				assert_nth(owner, n++, T0 + from * SEC, plain[which][held] - 1);
			for (int second = from + 1; second <= from + 300 && second < 1000; second++)
				if (plain[which][second])
					assert_nth(owner, n++, T0 + second * SEC,
						plain[which][second] - 1);
			points += n;
		}
		assert_int_equal(told.point_count, points);
	}
	assert_true(fixture_is_sound(&fixture));
	fixture_remove(&fixture);
}

static void names_follow_what_happens_to_them(void **state)
{
	struct history_owner owner = process_owner(1, 5, APP, "sh");
	struct history_owner cgroup = cgroup_owner(APP, POD, 10);
	struct fixture fixture;
	int changes;

	(void)state;
	fixture_start(&fixture, 8 * MIB, T0);
	batch_begin(&fixture);
	tell_owner(&fixture, &cgroup, "/pod/app", "");
	tell_owner(&fixture, &owner, "", "sh -c x");
	tell_point(&fixture, T0, 1, 0, 0, 0);
	batch_commit(&fixture);
	changes = sqlite3_total_changes(fixture.writer->db.handle);
	for (int i = 1; i < 100; i++) { /* nothing new: only the points are written */
		batch_begin(&fixture);
		tell_owner(&fixture, &cgroup, "/pod/app", "");
		tell_owner(&fixture, &owner, "", "sh -c x");
		tell_point(&fixture, T0 + i * SEC, i, 0, 0, 0);
		batch_commit(&fixture);
	}
	assert_int_equal(sqlite3_total_changes(fixture.writer->db.handle) - changes, 99);
	strcpy(owner.comm, "python3");
	batch_begin(&fixture);
	tell_owner(&fixture, &owner, "", "python3 a.py");
	owner.exited_ns = (uint64_t)T0;
	tell_owner(&fixture, &owner, "", ""); /* not known now: what is known stays */
	cgroup.max_bytes = UINT64_MAX;
	cgroup.parent_id = 0;
	tell_owner(&fixture, &cgroup, "", "");
	batch_commit(&fixture);
	assert_int_equal(fixture_number(&fixture, "SELECT count(*) FROM process"), 1);
	assert_int_equal(fixture_number(&fixture,
				 "SELECT count(*) FROM process WHERE comm = 'python3' AND cmdline ="
				 " 'python3 a.py' AND exited_ns = 5000000000000 AND cgroup = 30"),
		1);
	assert_int_equal(
		fixture_number(&fixture, "SELECT count(*) FROM cgroup WHERE path = '/pod/app' AND"
					 " parent_kernfs_id = 20 AND max_bytes IS NULL"),
		1);
	/* The pid again: another process. */
	owner.start_ns = 6;
	batch_begin(&fixture);
	tell_owner(&fixture, &owner, "", "");
	batch_commit(&fixture);
	assert_int_equal(fixture_number(&fixture, "SELECT count(*) FROM process"), 2);
	fixture_remove(&fixture);
}

static void any_bytes_are_names(void **state)
{
	struct history_owner owner = process_owner(1, 5, APP, "\xff\x1b[2J'\"");
	struct history_owner cgroup = cgroup_owner(APP, 0, UINT64_MAX);
	struct fixture fixture;

	(void)state;
	fixture_start(&fixture, 8 * MIB, T0);
	batch_begin(&fixture);
	tell_owner(&fixture, &cgroup, "/\xc3\xbc/\xfe\n", "");
	tell_owner(&fixture, &owner, "", "\x80\x81");
	tell_point(&fixture, T0, 1, 0, 0, 0);
	batch_commit(&fixture);
	read_history(&fixture, APP, T0 - 1, T0 + SEC);
	assert_string_equal(told_owner(HISTORY_PROCESS, 1)->comm, "\xff\x1b[2J'\"");
	fixture_remove(&fixture);
}

/* More than are remembered, in a store that has no room for a batch in one transaction. */
static void more_names_than_are_remembered(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_start(&fixture, 64 * MIB, T0);
	for (int round = 0; round < 2; round++) {
		batch_begin(&fixture);
		for (uint32_t pid = 1; pid <= 20000; pid++) {
			struct history_owner owner = process_owner(pid, pid, APP, "many");

			tell_owner(&fixture, &owner, "", "many words");
			tell_point(&fixture, T0 + round * SEC, pid + (uint32_t)round, 0, 0, 0);
		}
		batch_commit(&fixture);
	}
	assert_int_equal(fixture_number(&fixture, "SELECT count(*) FROM process"), 20000);
	read_history(&fixture, 0, T0 - SEC, T0 + SEC);
	assert_int_equal(told.point_count, 40000);
	for (unsigned int i = 0; i < told.point_count; i++)
		assert_int_equal(told.points[i].point.values[0],
			told.owners[told.points[i].owner].tgid +
				(told.points[i].point.time_ns - T0) / SEC);
	assert_true(fixture_is_sound(&fixture));
	fixture_remove(&fixture);
}

/* An incident does not wait for a batch, and takes nothing from it. */
static void an_incident_within_a_batch(void **state)
{
	struct history_owner one = process_owner(1, 0, APP, "one");
	struct history_owner two = process_owner(2, 0, APP, "two");
	struct fixture fixture;

	(void)state;
	fixture_start(&fixture, 8 * MIB, T0);
	batch_begin(&fixture);
	tell_owner(&fixture, &one, "", "");
	tell_point(&fixture, T0 + SEC, 1, 0, 0, 0);
	assert_int_equal(fixture_incident(&fixture, T0, 1), 1);
	tell_point(&fixture, T0 + 2 * SEC, 2, 0, 0, 0);
	tell_owner(&fixture, &two, "", "");
	tell_point(&fixture, T0 + SEC, 3, 0, 0, 0);
	assert_int_equal(fixture_incident(&fixture, T0, 1), 2);
	batch_commit(&fixture);
	read_history(&fixture, 0, T0, T0 + 9 * SEC);
	assert_int_equal(told.point_count, 3);
	assert_nth(told_owner(HISTORY_PROCESS, 1), 1, T0 + 2 * SEC, 2);
	assert_nth(told_owner(HISTORY_PROCESS, 2), 0, T0 + SEC, 3);
	fixture_remove(&fixture);
}

static void batches_have_bounds(void **state)
{
	struct history_owner owner = process_owner(1, 0, APP, "one");
	struct history_point point = {.time_ns = T0, .values = {1, 2, 3, 4}};
	struct store_gap gap = {.why = STORE_GAP_DISK, .from_ns = 1, .to_ns = 2};
	struct fixture fixture;

	(void)state;
	fixture_make(&fixture, 8 * MIB);
	fixture_open(&fixture);
	assert_int_equal(store_batch_begin(fixture.writer), -EINVAL); /* no run yet */
	fixture_run(&fixture, BOOT_A, T0);
	batch_begin(&fixture);
	assert_int_equal(store_point(fixture.writer, &point), -EINVAL); /* whose? */
	tell_owner(&fixture, &owner, "", "");
	for (int i = 0; i < STORE_BATCH_POINTS; i++, point.time_ns += MS)
		fixture_says(&fixture, store_point(fixture.writer, &point));
	assert_int_equal(store_point(fixture.writer, &point), -ENOBUFS);
	for (int i = 0; i < STORE_BATCH_GAPS; i++)
		fixture_says(&fixture, store_gap(fixture.writer, &gap));
	assert_int_equal(store_gap(fixture.writer, &gap), -ENOBUFS);
	batch_commit(&fixture);
	assert_int_equal(
		fixture_number(&fixture, "SELECT count(*) FROM process_point"), STORE_BATCH_POINTS);
	assert_int_equal(fixture_number(&fixture, "SELECT count(*) FROM gap"), STORE_BATCH_GAPS);
	/* One that is not committed is dropped. */
	batch_begin(&fixture);
	tell_owner(&fixture, &owner, "", "");
	fixture_says(&fixture, store_point(fixture.writer, &point));
	fixture_says(&fixture, store_gap(fixture.writer, &gap));
	batch_begin(&fixture);
	batch_commit(&fixture);
	assert_int_equal(
		fixture_number(&fixture, "SELECT count(*) FROM process_point"), STORE_BATCH_POINTS);
	assert_int_equal(fixture_number(&fixture, "SELECT count(*) FROM gap"), STORE_BATCH_GAPS);
	fixture_remove(&fixture);
}

/* The size of a window of a busy machine; the time is printed, not judged. */
static void a_large_window(void **state)
{
	struct timespec before, after;
	struct fixture fixture;

	(void)state;
	fixture_start(&fixture, 64 * MIB, T0);
	for (int part = 0; part < 30; part++) {
		batch_begin(&fixture);
		for (uint32_t pid = 1; pid <= 500; pid++) {
			struct history_owner owner = process_owner(pid, 1, APP, "p");

			tell_owner(&fixture, &owner, "", "");
			for (int i = 0; i < 20; i++)
				tell_point(&fixture, T0 + (20 * part + i) * SEC, i, pid, 0, 0);
		}
		batch_commit(&fixture);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	read_history(&fixture, APP, T0 - SEC, T0 + 600 * SEC);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	assert_int_equal(told.owner_count, 500);
	assert_int_equal(told.point_count, 300000);
	print_message(
		"300000 points: %.0f ms\n", (double)(after.tv_sec - before.tv_sec) * 1e3 +
						    (double)(after.tv_nsec - before.tv_nsec) / 1e6);
	fixture_remove(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_in_comes_out),
		cmocka_unit_test(only_the_domain),
		cmocka_unit_test(the_point_that_holds_comes_first),
		cmocka_unit_test(the_last_told_holds),
		cmocka_unit_test(as_a_plain_table_would),
		cmocka_unit_test(names_follow_what_happens_to_them),
		cmocka_unit_test(any_bytes_are_names),
		cmocka_unit_test(more_names_than_are_remembered),
		cmocka_unit_test(an_incident_within_a_batch),
		cmocka_unit_test(batches_have_bounds),
		cmocka_unit_test(a_large_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
