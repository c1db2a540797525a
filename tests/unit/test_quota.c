// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "facts/quota.h"
#include "tree.h"

static int set_up(void **state)
{
	*state = tree_new();
	tree_file(*state, "/proc/meminfo",
		"MemTotal: 503316480 kB\nMemAvailable: 400000000 kB\nSwapTotal: 0 kB\n");
	return 0;
}

static int tear_down(void **state)
{
	tree_remove(*state);
	return 0;
}

static void v2_level(const char *root, const char *path, const char *max, const char *usage)
{
	char name[512];

	snprintf(name, sizeof(name), "/sys/fs/cgroup%s/memory.max", path);
	tree_file(root, name, max);
	snprintf(name, sizeof(name), "/sys/fs/cgroup%s/memory.current", path);
	tree_file(root, name, usage);
	snprintf(name, sizeof(name), "/sys/fs/cgroup%s/cgroup.type", path);
	tree_file(root, name, "domain\n");
	snprintf(name, sizeof(name), "/sys/fs/cgroup%s/cgroup.procs", path);
	tree_file(root, name, "");
}

/* A pod with a limit of its own around a container with a higher one. */
static void make_v2(const char *root)
{
	tree_file(root, "/proc/self/mountinfo",
		"30 22 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	tree_file(root, "/proc/self/cgroup", "0::/kubepods/pod1/main\n");
	tree_file(root, "/sys/fs/cgroup/cgroup.procs", "");
	v2_level(root, "/kubepods", "max\n", "50000000000\n");
	v2_level(root, "/kubepods/pod1", "34359738368\n", "34000000000\n");
	v2_level(root, "/kubepods/pod1/main", "42949672960\n", "1000000000\n");
}

static void every_level_up_to_the_root(void **state)
{
	struct quota quota;
	uint64_t left = 0;

	make_v2(*state);
	assert_int_equal(read_quota(*state, &quota), 0);
	assert_int_equal(quota.level_count, 4);
	assert_string_equal(quota.levels[0].cgroup, "/kubepods/pod1/main");
	assert_string_equal(quota.levels[1].cgroup, "/kubepods/pod1");
	assert_string_equal(quota.levels[2].cgroup, "/kubepods");
	assert_string_equal(quota.levels[3].cgroup, "/");
	assert_true(quota.v2);
	assert_true(quota.complete);
	assert_int_equal(quota_tightest(&quota), 1);
	assert_true(quota_bytes(&quota) == 34359738368ULL);
	assert_int_equal(quota_nearest(&quota, &left), 1);
	assert_true(left == 359738368ULL);
	assert_true(quota.host.total_bytes == 503316480ULL * 1024);
}

static void the_level_that_is_full_first_need_not_be_the_tightest(void **state)
{
	struct quota quota;
	uint64_t left;

	make_v2(*state);
	v2_level(*state, "/kubepods", "60000000000\n", "59999999000\n");
	assert_int_equal(read_quota(*state, &quota), 0);
	assert_int_equal(quota_tightest(&quota), 1);
	assert_int_equal(quota_nearest(&quota, &left), 2);
	assert_int_equal(left, 1000);
	/* over its limit: nothing is left, and no more than nothing */
	v2_level(*state, "/kubepods", "60000000000\n", "60000001000\n");
	assert_int_equal(read_quota(*state, &quota), 0);
	assert_int_equal(quota_nearest(&quota, &left), 2);
	assert_int_equal(left, 0);
}

static void no_limit_anywhere_is_the_machine(void **state)
{
	struct quota quota;
	uint64_t left = 77;

	make_v2(*state);
	v2_level(*state, "/kubepods/pod1", "max\n", "1\n");
	v2_level(*state, "/kubepods/pod1/main", "max\n", "1\n");
	assert_int_equal(read_quota(*state, &quota), 0);
	assert_int_equal(quota_tightest(&quota), -1);
	assert_int_equal(quota_nearest(&quota, &left), -1);
	assert_int_equal(left, 77);
	assert_true(quota_bytes(&quota) == quota.host.total_bytes);
	/* a limit that no machine could meet changes nothing */
	v2_level(*state, "/kubepods/pod1", "9000000000000000\n", "1\n");
	assert_int_equal(read_quota(*state, &quota), 0);
	assert_int_equal(quota_tightest(&quota), 1);
	assert_true(quota_bytes(&quota) == quota.host.total_bytes);
}

static void a_private_namespace_hides_what_is_above(void **state)
{
	struct quota quota;

	tree_file(*state, "/proc/self/mountinfo",
		"30 22 0:27 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
	tree_file(*state, "/proc/self/cgroup", "0::/\n");
	v2_level(*state, "", "67108864\n", "4096\n");
	assert_int_equal(read_quota(*state, &quota), 0);
	assert_int_equal(quota.level_count, 1);
	assert_string_equal(quota.levels[0].cgroup, "/");
	assert_int_equal(quota.levels[0].limits.max_bytes, 67108864);
	assert_false(quota.complete);
	assert_true(quota.container);
}

static void v1_level(const char *root, const char *path, const char *max)
{
	char name[512];

	snprintf(name, sizeof(name), "/sys/fs/cgroup/memory%s/memory.limit_in_bytes", path);
	tree_file(root, name, max);
	snprintf(name, sizeof(name), "/sys/fs/cgroup/memory%s/memory.usage_in_bytes", path);
	tree_file(root, name, "4096\n");
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void a_bind_mount_of_v1_ends_at_its_top(void **state)
{
	struct quota quota;

	tree_file(*state, "/proc/self/mountinfo",
		"34 30 0:31 /docker/" ID " /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
	tree_file(*state, "/proc/self/cgroup", "4:memory:/docker/" ID "/app\n");
	v1_level(*state, "", "33554432\n");
	v1_level(*state, "/app", "9223372036854771712\n");
	assert_int_equal(read_quota(*state, &quota), 0);
	assert_false(quota.v2);
	assert_int_equal(quota.level_count, 2);
	assert_string_equal(quota.levels[1].cgroup, "/docker/" ID);
	assert_int_equal(quota_tightest(&quota), 1);
	assert_false(quota.complete);
	assert_true(quota.container);
}

static void the_host_of_v1_is_no_container(void **state)
{
	struct quota quota;

	tree_file(*state, "/proc/self/mountinfo",
		"34 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
	tree_file(*state, "/proc/self/cgroup", "4:memory:/user.slice\n");
	v1_level(*state, "", "9223372036854771712\n");
	v1_level(*state, "/user.slice", "1073741824\n");
	tree_file(*state, "/sys/fs/cgroup/memory/release_agent", "\n");
	assert_int_equal(read_quota(*state, &quota), 0);
	assert_true(quota.complete);
	assert_false(quota.container);
	/* a container that sees the host's mount is told by its name */
	tree_file(*state, "/proc/self/cgroup", "4:memory:/docker/" ID "\n");
	v1_level(*state, "/docker/" ID, "1073741824\n");
	v1_level(*state, "/docker", "9223372036854771712\n");
	assert_int_equal(read_quota(*state, &quota), 0);
	assert_true(quota.complete);
	assert_true(quota.container);
}

static void own_cgroup_is_sought_where_it_is_visible(void **state)
{
	struct quota quota;

	/* a private namespace, and the host's hierarchy mounted beside it */
	tree_file(*state, "/proc/self/cgroup", "0::/\n");
	tree_file(*state, "/proc/self/mountinfo",
		"30 22 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
		"31 22 0:27 /../../.. /host/cgroup ro - cgroup2 cgroup2 rw\n");
	v2_level(*state, "", "67108864\n", "4096\n");
	tree_file(*state, "/host/cgroup/cgroup.procs", "");
	assert_int_equal(read_quota(*state, &quota), 0);
	assert_int_equal(quota.level_count, 1);
	assert_int_equal(quota.levels[0].limits.max_bytes, 67108864);
	assert_false(quota.complete);
	/* with the host's alone, its root must not be taken for our own cgroup */
	tree_file(*state, "/proc/self/mountinfo",
		"31 22 0:27 /../../.. /host/cgroup ro - cgroup2 cgroup2 rw\n");
	assert_int_equal(read_quota(*state, &quota), -ENOENT);
}

static void names_of_containers(void **state)
{
	(void)state;
	assert_true(quota_is_container("/docker/" ID));
	assert_true(quota_is_container("/system.slice/docker-" ID ".scope"));
	assert_true(quota_is_container("/a/cri-containerd-" ID ".scope/init"));
	assert_false(quota_is_container("/user.slice/session-3.scope"));
	assert_false(quota_is_container("/" ID "0"));
	assert_false(quota_is_container("/0123456789abcdef"));
	assert_false(quota_is_container(&ID[1]));
	assert_true(quota_is_container(ID));
	assert_false(quota_is_container("/"));
}

static void nothing_to_be_seen_is_an_error(void **state)
{
	struct quota quota = {.level_count = 9};

	assert_int_equal(read_quota(*state, &quota), -ENOENT);
	tree_file(*state, "/proc/self/mountinfo", "22 26 0:21 / /sys rw - sysfs sysfs rw\n");
	assert_int_equal(read_quota(*state, &quota), -ENOENT);
	assert_int_equal(quota.level_count, 9);
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(every_level_up_to_the_root),
		TREE_TEST(the_level_that_is_full_first_need_not_be_the_tightest),
		TREE_TEST(no_limit_anywhere_is_the_machine),
		TREE_TEST(a_private_namespace_hides_what_is_above),
		TREE_TEST(a_bind_mount_of_v1_ends_at_its_top),
		TREE_TEST(the_host_of_v1_is_no_container),
		TREE_TEST(own_cgroup_is_sought_where_it_is_visible),
		cmocka_unit_test(names_of_containers),
		TREE_TEST(nothing_to_be_seen_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
