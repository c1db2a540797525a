// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "facts/host.h"
#include "tree.h"

static int set_up(void **state)
{
	*state = tree_new();
	return 0;
}

static int tear_down(void **state)
{
	tree_remove(*state);
	return 0;
}

static int meminfo(const char *text, struct host_memory *ret)
{
	return parse_meminfo(text, strlen(text), ret);
}

static void meminfo_of_a_real_kernel(void **state)
{
	char *text = tree_fixture("meminfo/6.18.txt");
	struct host_memory memory;

	(void)state;
	assert_int_equal(meminfo(text, &memory), 0);
	assert_int_equal(memory.total_bytes, 24683620ULL * 1024);
	assert_int_equal(memory.swap_total_bytes, 0);
	assert_int_equal(memory.hugetlb_bytes, 0);
	assert_true(memory.free_bytes < memory.total_bytes);
	assert_true(memory.available_bytes < memory.total_bytes);
	free(text);
}

static void what_meminfo_does_not_tell_is_unknown(void **state)
{
	struct host_memory memory;

	(void)state;
	assert_int_equal(meminfo("MemTotal:       100 kB\nSwapTotal: 7 kB\n", &memory), 0);
	assert_int_equal(memory.total_bytes, 102400);
	assert_int_equal(memory.swap_total_bytes, 7168);
	assert_true(memory.available_bytes == UNKNOWN_U64);
	assert_true(memory.swap_free_bytes == UNKNOWN_U64);
	assert_true(memory.hugetlb_bytes == UNKNOWN_U64);
}

static void damaged_meminfo_is_not_guessed(void **state)
{
	struct host_memory memory = {.total_bytes = 5};

	(void)state;
	assert_int_equal(meminfo("", &memory), -EINVAL);
	assert_int_equal(meminfo("MemTotal: -1 kB\n", &memory), -EINVAL);
	assert_int_equal(meminfo("MemTotal: 12\n", &memory), -EINVAL);
	assert_int_equal(meminfo("MemTotal: 12 MB\n", &memory), -EINVAL);
	assert_int_equal(meminfo("MemTotal: 18446744073709551615 kB\n", &memory), -EINVAL);
	assert_int_equal(memory.total_bytes, 5);
}

static void meminfo_stops_at_its_length(void **state)
{
	struct host_memory memory;

	(void)state;
	assert_int_equal(parse_meminfo("MemTotal: 1 kB\nMemFree: 2 kB\n", 15, &memory), 0);
	assert_true(memory.free_bytes == UNKNOWN_U64);
}

static void cpu_lists_count_up_to_the_highest(void **state)
{
	static const struct {
		const char *text;
		uint32_t count;
	} lists[] = {{"0\n", 1}, {"0-3,5\n", 6}, {"0-127", 128}, {"7,0-1", 8}, {"0-0", 1}};
	uint32_t count;

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		count = 0;
		assert_int_equal(parse_cpu_list(lists[i].text, &count), 0);
		assert_int_equal(count, lists[i].count);
	}
}

static void node_lists_become_masks(void **state)
{
	uint64_t mask = 0;

	(void)state;
	assert_int_equal(parse_node_list("0-1,3\n", &mask), 0);
	assert_int_equal(mask, 0xb);
	assert_int_equal(parse_node_list("0", &mask), 0);
	assert_int_equal(mask, 1);
	assert_int_equal(parse_node_list("62-70", &mask), 0);
	assert_true(mask == 3ULL << 62);
	assert_int_equal(parse_node_list("", &mask), -EINVAL);
	assert_true(mask == 3ULL << 62);
}

static void broken_cpu_lists_are_refused(void **state)
{
	static const char *const lists[] = {"", "\n", "a", "3-1", "0-", "-1", "0,", ",0", "0 1",
		"0-99999999", "18446744073709551616", "0-3x"};
	uint32_t count = 77;

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		assert_int_equal(parse_cpu_list(lists[i], &count), -EINVAL);
	assert_int_equal(count, 77);
}

static void the_hierarchy_of_memory(void **state)
{
	int hierarchy = -7;

	(void)state;
	assert_int_equal(parse_proc_cgroups("#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
					    "cpuset\t3\t1\t1\nmemory\t4\t10\t1\n",
				 &hierarchy),
		0);
	assert_int_equal(hierarchy, 4);
	assert_int_equal(parse_proc_cgroups("memory\t0\t120\t1\n", &hierarchy), 0);
	assert_int_equal(hierarchy, 0);
}

static void a_missing_or_disabled_controller_is_none(void **state)
{
	int hierarchy = -7;

	(void)state;
	assert_int_equal(parse_proc_cgroups("", &hierarchy), -ENOENT);
	assert_int_equal(parse_proc_cgroups("cpuset\t3\t1\t1\n", &hierarchy), -ENOENT);
	assert_int_equal(parse_proc_cgroups("memory\t0\t1\t0\n", &hierarchy), -ENOENT);
	assert_int_equal(parse_proc_cgroups("memory_x\t4\t1\t1\n", &hierarchy), -ENOENT);
	assert_int_equal(hierarchy, -7);
}

static void an_empty_meminfo_is_an_error(void **state)
{
	struct host_memory memory = {.total_bytes = 5};

	assert_int_equal(read_meminfo(*state, &memory), -ENOENT);
	tree_file(*state, "/proc/meminfo", "");
	assert_int_equal(read_meminfo(*state, &memory), -EINVAL);
	assert_int_equal(memory.total_bytes, 5);
	tree_file(*state, "/proc/meminfo", "MemTotal: 3 kB\n");
	assert_int_equal(read_meminfo(*state, &memory), 0);
	assert_int_equal(memory.total_bytes, 3072);
}

static void make_host(const char *root)
{
	tree_file(root, "/proc/sys/kernel/osrelease", "6.12.117+deb13\n");
	tree_file(root, "/proc/sys/kernel/hostname", "node-7\n");
	tree_file(
		root, "/proc/sys/kernel/random/boot_id", "b3c1d2e4-f5a6-0718-293a-4b5c6d7e8f90\n");
	tree_file(root, "/proc/sys/vm/swappiness", "60\n");
	tree_file(root, "/sys/devices/system/cpu/possible", "0-63\n");
	tree_file(root, "/proc/cgroups", "memory\t4\t10\t1\n");
}

static void a_whole_host_is_read(void **state)
{
	struct host_facts host;

	make_host(*state);
	assert_int_equal(read_host(*state, &host), 0);
	assert_string_equal(host.kernel, "6.12.117+deb13");
	assert_string_equal(host.hostname, "node-7");
	assert_string_equal(host.boot_id, "b3c1d2e4-f5a6-0718-293a-4b5c6d7e8f90");
	assert_int_equal(host.cpus, 64);
	assert_int_equal(host.swappiness, 60);
	assert_int_equal(host.memory_hierarchy, 4);
	assert_int_equal(host.page_size, sysconf(_SC_PAGESIZE));
}

static void memory_left_out_of_proc_cgroups_is_found_on_v2(void **state)
{
	struct host_facts host;

	make_host(*state);
	tree_file(*state, "/proc/cgroups", "cpuset\t0\t1\t1\n");
	assert_int_equal(read_host(*state, &host), 0);
	assert_int_equal(host.memory_hierarchy, -1);
	tree_file(*state, "/proc/self/mountinfo",
		"30 22 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	assert_int_equal(read_host(*state, &host), 0);
	assert_int_equal(host.memory_hierarchy, -1);
	tree_file(*state, "/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
	assert_int_equal(read_host(*state, &host), 0);
	assert_int_equal(host.memory_hierarchy, 0);
	tree_file(*state, "/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io pids\n");
	assert_int_equal(read_host(*state, &host), 0);
	assert_int_equal(host.memory_hierarchy, -1);
}

static void a_swappiness_of_0_is_known(void **state)
{
	struct host_facts host;

	make_host(*state);
	tree_file(*state, "/proc/sys/vm/swappiness", "0\n");
	assert_int_equal(read_host(*state, &host), 0);
	assert_int_equal(host.swappiness, 0);
}

static void swappiness_that_cannot_be_read_is_unknown(void **state)
{
	struct host_facts host;

	make_host(*state);
	tree_file(*state, "/proc/sys/vm/swappiness", "sixty\n");
	assert_int_equal(read_host(*state, &host), 0);
	assert_true(host.swappiness == UINT32_MAX);
}

static void no_proc_is_an_error_and_touches_nothing(void **state)
{
	struct host_facts host = {.cpus = 9};

	assert_int_equal(read_host(*state, &host), -ENOENT);
	assert_int_equal(host.cpus, 9);
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(meminfo_of_a_real_kernel),
		cmocka_unit_test(what_meminfo_does_not_tell_is_unknown),
		cmocka_unit_test(damaged_meminfo_is_not_guessed),
		cmocka_unit_test(meminfo_stops_at_its_length),
		cmocka_unit_test(cpu_lists_count_up_to_the_highest),
		cmocka_unit_test(node_lists_become_masks),
		cmocka_unit_test(broken_cpu_lists_are_refused),
		cmocka_unit_test(the_hierarchy_of_memory),
		cmocka_unit_test(a_missing_or_disabled_controller_is_none),
		TREE_TEST(an_empty_meminfo_is_an_error),
		TREE_TEST(a_whole_host_is_read),
		TREE_TEST(memory_left_out_of_proc_cgroups_is_found_on_v2),
		TREE_TEST(a_swappiness_of_0_is_known),
		TREE_TEST(swappiness_that_cannot_be_read_is_unknown),
		TREE_TEST(no_proc_is_an_error_and_touches_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
