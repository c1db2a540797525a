// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "facts/host.h"
#include "facts/kernel.h"
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

static void releases_begin_with_two_numbers(void **state)
{
	int major = -5, minor = -5;

	(void)state;
	assert_int_equal(parse_release("6.12.117+deb13-cloud-amd64", &major, &minor), 0);
	assert_int_equal(major, 6);
	assert_int_equal(minor, 12);
	assert_int_equal(parse_release("5.10", &major, &minor), 0);
	assert_int_equal(parse_release("", &major, &minor), -EINVAL);
	assert_int_equal(parse_release("6", &major, &minor), -EINVAL);
	assert_int_equal(parse_release("v6.1", &major, &minor), -EINVAL);
	assert_int_equal(parse_release("99999999999.1", &major, &minor), -EINVAL);
	assert_int_equal(major, 5);
	assert_int_equal(minor, 10);
}

static void the_floor_is_5_8(void **state)
{
	(void)state;
	assert_true(kernel_new_enough(5, 8));
	assert_true(kernel_new_enough(6, 0));
	assert_true(kernel_new_enough(10, 1));
	assert_false(kernel_new_enough(5, 7));
	assert_false(kernel_new_enough(4, 18));
	assert_false(kernel_new_enough(-1, -1));
}

static void lockdown_is_what_stands_in_brackets(void **state)
{
	(void)state;
	assert_int_equal(parse_lockdown("[none] integrity confidentiality\n"), LOCKDOWN_NONE);
	assert_int_equal(parse_lockdown("none [integrity] confidentiality"), LOCKDOWN_INTEGRITY);
	assert_int_equal(
		parse_lockdown("none integrity [confidentiality]"), LOCKDOWN_CONFIDENTIALITY);
	assert_int_equal(parse_lockdown("none integrity"), LOCKDOWN_UNKNOWN);
	assert_int_equal(parse_lockdown(""), LOCKDOWN_UNKNOWN);
}

static void make_kernel(const char *root)
{
	tree_file(root, "/proc/sys/kernel/osrelease", "6.1.0-50-cloud-amd64\n");
	tree_file(root, "/proc/sys/kernel/unprivileged_bpf_disabled", "2\n");
	tree_file(root, "/proc/sys/kernel/kptr_restrict", "1\n");
	tree_file(root, "/proc/sys/kernel/perf_event_paranoid", "-1\n");
	tree_file(root, "/proc/sys/vm/panic_on_oom", "1\n");
	tree_file(root, "/proc/sys/vm/oom_kill_allocating_task", "0\n");
	tree_file(root, "/proc/sys/vm/overcommit_memory", "2\n");
	tree_file(root, "/proc/sys/vm/swappiness", "60\n");
	tree_file(root, "/proc/pressure/memory", "some avg10=0.00\n");
	tree_file(root, "/proc/meminfo", "MemTotal: 100 kB\nSwapTotal: 8 kB\n");
	tree_file(root, "/proc/self/mountinfo",
		"30 22 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
		"31 22 0:28 / /sys/kernel/tracing rw - tracefs tracefs rw\n");
	tree_file(root, "/sys/kernel/btf/vmlinux", "\x9f\xeb");
	tree_file(root, "/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	tree_file(root, "/dev/kmsg", "");
	tree_link(root, "/proc/self/ns/pid", "pid:[4026531836]");
}

static void a_whole_kernel_is_read(void **state)
{
	struct kernel_facts kernel;

	make_kernel(*state);
	assert_int_equal(read_kernel(*state, &kernel), 0);
	assert_string_equal(kernel.release, "6.1.0-50-cloud-amd64");
	assert_true(kernel.new_enough);
	assert_true(kernel.btf);
	assert_int_equal(kernel.btf_bytes, 2);
	assert_int_equal(kernel.cgroup_mode, CGROUP_MODE_V2);
	assert_string_equal(kernel.cgroup_mount + strlen(*state), "/sys/fs/cgroup");
	assert_string_equal(kernel.tracefs, "/sys/kernel/tracing");
	assert_int_equal(kernel.lockdown, LOCKDOWN_INTEGRITY);
	assert_int_equal(kernel.unprivileged_bpf_disabled, 2);
	assert_int_equal(kernel.kptr_restrict, 1);
	assert_int_equal(kernel.perf_event_paranoid, -1);
	assert_int_equal(kernel.panic_on_oom, 1);
	assert_int_equal(kernel.oom_kill_allocating_task, 0);
	assert_int_equal(kernel.overcommit_memory, 2);
	assert_int_equal(kernel.swappiness, 60);
	assert_true(kernel.psi);
	assert_int_equal(kernel.kmsg_error, 0);
	assert_int_equal(kernel.swap_total_bytes, 8192);
	assert_true(kernel.initial_pid_namespace);
}

static void what_is_not_there_is_unknown_and_not_0(void **state)
{
	struct kernel_facts kernel;

	tree_file(*state, "/proc/sys/kernel/osrelease", "custom\n");
	tree_file(*state, "/proc/sys/kernel/kptr_restrict", "many\n");
	tree_file(*state, "/proc/sys/kernel/perf_event_paranoid", "2x\n");
	tree_file(*state, "/proc/sys/vm/swappiness", "99999999999\n");
	tree_file(*state, "/sys/kernel/btf/vmlinux", "");
	assert_int_equal(read_kernel(*state, &kernel), 0);
	assert_int_equal(kernel.major, -1);
	assert_false(kernel.new_enough);
	assert_false(kernel.btf);
	assert_int_equal(kernel.cgroup_mode, CGROUP_MODE_NONE);
	assert_string_equal(kernel.cgroup_mount, "");
	assert_string_equal(kernel.tracefs, "");
	assert_int_equal(kernel.lockdown, LOCKDOWN_UNKNOWN);
	assert_int_equal(kernel.unprivileged_bpf_disabled, KERNEL_UNKNOWN);
	assert_int_equal(kernel.kptr_restrict, KERNEL_UNKNOWN);
	assert_int_equal(kernel.perf_event_paranoid, KERNEL_UNKNOWN);
	assert_int_equal(kernel.swappiness, KERNEL_UNKNOWN);
	assert_int_equal(kernel.panic_on_oom, KERNEL_UNKNOWN);
	assert_false(kernel.psi);
	assert_int_equal(kernel.kmsg_error, -ENOENT);
	assert_true(kernel.swap_total_bytes == UNKNOWN_U64);
	assert_false(kernel.initial_pid_namespace);
}

static void a_kernel_that_cannot_be_read_is_an_error(void **state)
{
	struct kernel_facts kernel = {.major = 77};

	assert_int_equal(read_kernel(*state, &kernel), -ENOENT);
	assert_int_equal(kernel.major, 77);
}

static void memory_on_v1_is_told(void **state)
{
	struct kernel_facts kernel;

	make_kernel(*state);
	tree_file(*state, "/proc/self/mountinfo",
		"30 22 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		"34 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
	assert_int_equal(read_kernel(*state, &kernel), 0);
	assert_int_equal(kernel.cgroup_mode, CGROUP_MODE_V1);
	assert_string_equal(cgroup_mode_name(kernel.cgroup_mode), "v1");
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(releases_begin_with_two_numbers),
		cmocka_unit_test(the_floor_is_5_8),
		cmocka_unit_test(lockdown_is_what_stands_in_brackets),
		TREE_TEST(a_whole_kernel_is_read),
		TREE_TEST(what_is_not_there_is_unknown_and_not_0),
		TREE_TEST(a_kernel_that_cannot_be_read_is_an_error),
		TREE_TEST(memory_on_v1_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
