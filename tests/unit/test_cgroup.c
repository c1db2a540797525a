// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include <stdio.h>
#include <string.h>

#include "model/cgroup.h"

static void a_path_is_learnt_and_kept_after_removal(void **state)
{
	struct cgroups *table = cgroups_new(4);

	(void)state;
	assert_null(cgroup_path(table, 77));
	assert_int_equal(cgroup_learn(table, 77, "/kubepods/pod1", 5), 0);
	assert_string_equal(cgroup_path(table, 77), "/kubepods/pod1");
	cgroup_remove(table, 77, 9);
	assert_string_equal(cgroup_path(table, 77), "/kubepods/pod1");
	assert_true(cgroup_find(table, 77)->removed);
	assert_true(cgroup_find(table, 77)->seen_ns == 9);
	cgroups_free(table);
}

static void learning_again_renews_the_path_and_keeps_the_history(void **state)
{
	struct cgroups *table = cgroups_new(4);

	(void)state;
	cgroup_learn(table, 77, "/a", 5);
	cgroup_find(table, 77)->has_events = true;
	cgroup_killed(cgroup_find(table, 77), 6);
	cgroup_remove(table, 77, 7);
	assert_int_equal(cgroup_learn(table, 77, "/b", 8), 0);
	assert_string_equal(cgroup_path(table, 77), "/b");
	assert_false(cgroup_find(table, 77)->removed);
	assert_true(cgroup_find(table, 77)->has_events);
	assert_int_equal(cgroup_kills_between(cgroup_find(table, 77), 0, UINT64_MAX), 1);
	cgroups_free(table);
}

static void half_a_path_is_not_kept(void **state)
{
	struct cgroups *table = cgroups_new(4);
	char path[CGROUP_PATH_LEN + 1];

	(void)state;
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[CGROUP_PATH_LEN] = '\0';
	assert_int_equal(cgroup_learn(table, 5, path, 1), -ENAMETOOLONG);
	assert_null(cgroup_find(table, 5));
	path[CGROUP_PATH_LEN - 1] = '\0';
	assert_int_equal(cgroup_learn(table, 5, path, 1), 0);
	assert_string_equal(cgroup_path(table, 5), path);
	path[CGROUP_PATH_LEN - 1] = 'b';
	assert_int_equal(cgroup_learn(table, 5, path, 2), -ENAMETOOLONG);
	assert_int_equal(strlen(cgroup_path(table, 5)), CGROUP_PATH_LEN - 1);
	cgroups_free(table);
}

static void no_cgroup_has_the_number_0(void **state)
{
	struct cgroups *table = cgroups_new(4);

	(void)state;
	assert_int_equal(cgroup_learn(table, 0, "/a", 1), -EINVAL);
	assert_null(cgroup_find(table, 0));
	cgroup_remove(table, 0, 2);
	cgroups_free(table);
}

static void the_first_removed_gives_way_first(void **state)
{
	struct cgroups *table = cgroups_new(3);

	(void)state;
	cgroup_learn(table, 1, "/1", 1);
	cgroup_learn(table, 2, "/2", 2);
	cgroup_learn(table, 3, "/3", 3);
	cgroup_remove(table, 3, 4);
	cgroup_remove(table, 2, 5);
	cgroup_find(table, 3); /* asked for, and still the first */
	cgroup_learn(table, 4, "/4", 6);
	assert_null(cgroup_find(table, 3));
	assert_non_null(cgroup_find(table, 2));
	assert_non_null(cgroup_find(table, 1));
	assert_int_equal(cgroups_evicted(table), 0);
	cgroups_free(table);
}

static void then_the_one_not_asked_for_longest_and_it_is_counted(void **state)
{
	struct cgroups *table = cgroups_new(2);

	(void)state;
	cgroup_learn(table, 1, "/1", 1);
	cgroup_learn(table, 2, "/2", 2);
	assert_non_null(cgroup_path(table, 1));
	cgroup_learn(table, 3, "/3", 3);
	assert_null(cgroup_find(table, 2));
	assert_non_null(cgroup_find(table, 1));
	assert_int_equal(cgroups_evicted(table), 1);
	cgroups_free(table);
}

static void an_evicted_place_starts_empty(void **state)
{
	struct cgroups *table = cgroups_new(1);

	(void)state;
	cgroup_learn(table, 1, "/a/long/one", 1);
	cgroup_find(table, 1)->has_events = true;
	cgroup_killed(cgroup_find(table, 1), 5);
	cgroup_learn(table, 2, "/2", 2);
	assert_string_equal(cgroup_path(table, 2), "/2");
	assert_false(cgroup_find(table, 2)->has_events);
	assert_int_equal(cgroup_kills_between(cgroup_find(table, 2), 0, UINT64_MAX), 0);
	cgroups_free(table);
}

static void kills_are_counted_back_to_a_time(void **state)
{
	struct cgroups *table = cgroups_new(2);
	struct cgroup_entry *entry;

	(void)state;
	cgroup_learn(table, 1, "/1", 1);
	entry = cgroup_find(table, 1);
	assert_int_equal(cgroup_kills_between(entry, 0, UINT64_MAX), 0);
	cgroup_killed(entry, 100);
	cgroup_killed(entry, 200);
	cgroup_killed(entry, 300);
	assert_int_equal(cgroup_kills_between(entry, 0, UINT64_MAX), 3);
	assert_int_equal(cgroup_kills_between(entry, 200, UINT64_MAX), 2);
	assert_int_equal(cgroup_kills_between(entry, 301, UINT64_MAX), 0);
	assert_int_equal(cgroup_kills_between(entry, 0, 300), 2);
	/* Seen, and then told. */
	cgroup_killed(entry, 200);
	assert_int_equal(cgroup_kills_between(entry, 0, UINT64_MAX), 3);
	cgroups_free(table);
}

static void of_many_kills_the_last_are_kept(void **state)
{
	struct cgroups *table = cgroups_new(2);
	struct cgroup_entry *entry;

	(void)state;
	cgroup_learn(table, 1, "/1", 1);
	entry = cgroup_find(table, 1);
	for (uint64_t i = 1; i <= 3 * CGROUP_KILLS + 5; i++)
		cgroup_killed(entry, i);
	assert_int_equal(entry->kill_count, 3 * CGROUP_KILLS + 5);
	assert_int_equal(cgroup_kills_between(entry, 0, UINT64_MAX), CGROUP_KILLS_COUNTED);
	assert_int_equal(cgroup_kills_between(entry, 3 * CGROUP_KILLS + 5, UINT64_MAX), 1);
	cgroups_free(table);
}

static void thousands_are_found_again(void **state)
{
	struct cgroups *table = cgroups_new(4096);
	char path[32];

	(void)state;
	for (uint64_t i = 1; i <= 4096; i++) {
		snprintf(path, sizeof(path), "/c%lu", i);
		/* ids as kernfs makes them on 64 bits: a generation above the inode number */
		assert_int_equal(cgroup_learn(table, i << 32 | i, path, i), 0);
	}
	for (uint64_t i = 1; i <= 4096; i++) {
		snprintf(path, sizeof(path), "/c%lu", i);
		assert_string_equal(cgroup_path(table, i << 32 | i), path);
	}
	assert_null(cgroup_path(table, 4097));
	cgroups_free(table);
	assert_null(cgroups_new(0));
	cgroups_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_is_learnt_and_kept_after_removal),
		cmocka_unit_test(learning_again_renews_the_path_and_keeps_the_history),
		cmocka_unit_test(half_a_path_is_not_kept),
		cmocka_unit_test(no_cgroup_has_the_number_0),
		cmocka_unit_test(the_first_removed_gives_way_first),
		cmocka_unit_test(then_the_one_not_asked_for_longest_and_it_is_counted),
		cmocka_unit_test(an_evicted_place_starts_empty),
		cmocka_unit_test(kills_are_counted_back_to_a_time),
		cmocka_unit_test(of_many_kills_the_last_are_kept),
		cmocka_unit_test(thousands_are_found_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
