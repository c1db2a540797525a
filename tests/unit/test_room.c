// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "facts/host.h"
#include "facts/room.h"
#include "tree.h"

#define MIB (1ULL << 20)

static int set_up(void **state)
{
	*state = tree_new();
	tree_file(*state, "/proc/self/mountinfo",
		"30 22 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	tree_file(*state, "/proc/self/cgroup", "0::/pod/main\n");
	tree_file(*state, "/sys/fs/cgroup/cgroup.procs", "");
	return 0;
}

static int tear_down(void **state)
{
	tree_remove(*state);
	return 0;
}

static void level(const char *root, const char *path, const char *max, uint64_t used_mib,
	uint64_t file_mib, uint64_t shmem_mib)
{
	char name[256], text[256];

	snprintf(name, sizeof(name), "/sys/fs/cgroup%s/memory.max", path);
	tree_file(root, name, max);
	snprintf(name, sizeof(name), "/sys/fs/cgroup%s/memory.current", path);
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)(used_mib * MIB));
	tree_file(root, name, text);
	snprintf(name, sizeof(name), "/sys/fs/cgroup%s/memory.stat", path);
	snprintf(text, sizeof(text), "anon 0\nfile %llu\nshmem %llu\n",
		(unsigned long long)(file_mib * MIB), (unsigned long long)(shmem_mib * MIB));
	tree_file(root, name, text);
	snprintf(name, sizeof(name), "/sys/fs/cgroup%s/cgroup.type", path);
	tree_file(root, name, "domain\n");
}

static void no_limit_is_no_bound(void **state)
{
	struct memory_room room;

	level(*state, "/pod/main", "max\n", 50, 0, 0);
	assert_int_equal(read_memory_room(*state, &room), 0);
	assert_true(room.room_bytes == UNKNOWN_U64);
}

static void cache_counts_as_free_and_shared_memory_does_not(void **state)
{
	struct memory_room room;

	level(*state, "/pod/main", "104857600\n", 90, 60, 20);
	assert_int_equal(read_memory_room(*state, &room), 0);
	assert_int_equal(room.room_bytes, 50 * MIB);
	assert_int_equal(room.used_bytes, 50 * MIB);
	assert_int_equal(room.max_bytes, 100 * MIB);
	assert_string_equal(room.cgroup, "/pod/main");
}

static void the_level_with_the_least_room_counts(void **state)
{
	struct memory_room room;

	level(*state, "/pod/main", "104857600\n", 10, 0, 0);
	level(*state, "/pod", "209715200\n", 190, 0, 0);
	assert_int_equal(read_memory_room(*state, &room), 0);
	assert_int_equal(room.room_bytes, 10 * MIB);
	assert_string_equal(room.cgroup, "/pod");
}

static void above_its_limit_there_is_no_room(void **state)
{
	struct memory_room room;

	level(*state, "/pod/main", "1048576\n", 2, 0, 0);
	assert_int_equal(read_memory_room(*state, &room), 0);
	assert_int_equal(room.room_bytes, 0);
}

static void without_a_hierarchy_it_is_an_error(void **state)
{
	struct memory_room room;

	tree_file(*state, "/proc/self/mountinfo", "22 1 0:5 / /proc rw - proc proc rw\n");
	assert_int_equal(read_memory_room(*state, &room), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_limit_is_no_bound, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			cache_counts_as_free_and_shared_memory_does_not, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			the_level_with_the_least_room_counts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			above_its_limit_there_is_no_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			without_a_hierarchy_it_is_an_error, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
