// SPDX-License-Identifier: Apache-2.0
/* What of a cgroup and of its processes is readable without any right. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "facts/cgroupprocs.h"
#include "facts/host.h"
#include "facts/memoryuse.h"
#include "facts/procfate.h"
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

/* --- how a process ends --- */

static const char *stat_of(char state, unsigned int threads, unsigned int exit_code)
{
	static char text[512];
	int len = snprintf(text, sizeof(text), "12 (a) b (c) %c", state);

	for (int number = 4; number <= 52; number++)
		len += snprintf(text + len, sizeof(text) - len, " %u",
			number == 20   ? threads
			: number == 52 ? exit_code
				       : 0);
	strcpy(text + len, "\n");
	return text;
}

static struct proc_fate fate_of(const char *stat, const char *shared)
{
	struct proc_fate fate;
	char status[256];

	snprintf(status, sizeof(status),
		"Name:\tc\nSigPnd:\t0000000000000100\nShdPnd:\t%s\nSigBlk:\t0000000000000000\n",
		shared);
	assert_int_equal(parse_proc_fate(stat, status, &fate), 0);
	return fate;
}

static void sigkill_shows(void **state)
{
	(void)state;
	assert_false(fate_of(stat_of('S', 1, 0), "0000000000000000").killed);
	/* SIGTERM is on its way. */
	assert_false(fate_of(stat_of('S', 1, 0), "0000000000004000").killed);
	assert_true(fate_of(stat_of('D', 4, 0), "0000000000000100").killed);
	assert_false(fate_of(stat_of('D', 4, 0), "0000000000000100").zombie);
	assert_true(fate_of(stat_of('Z', 1, 0), "0000000000004100").killed);
}

static void zombies_show_how_they_ended(void **state)
{
	(void)state;
	assert_true(fate_of(stat_of('Z', 1, 9), "0000000000000000").killed);
	assert_true(fate_of(stat_of('Z', 1, 9), "0000000000000000").zombie);
	assert_true(fate_of(stat_of('Z', 1, 0x89), "0000000000000000").killed); /* core */
	assert_false(fate_of(stat_of('Z', 1, 15), "0000000000000000").killed);
	assert_false(fate_of(stat_of('Z', 1, 9 << 8), "0000000000000000").killed);
	/* Its leader has ended, and its other threads go on. */
	assert_false(fate_of(stat_of('Z', 3, 0), "0000000000000000").zombie);
}

static void damaged_texts_tell_nothing(void **state)
{
	struct proc_fate fate;

	(void)state;
	assert_int_equal(parse_proc_fate("", "", &fate), -EINVAL);
	assert_int_equal(parse_proc_fate("1 (a) Z 1 2", "", &fate), -EINVAL);
	assert_int_equal(parse_proc_fate("1 (a)Z", "", &fate), -EINVAL);
	assert_false(fate_of(stat_of('S', 1, 0), "zzz").killed);
	assert_false(fate_of(stat_of('S', 1, 0), "00000000000001000").killed);
	assert_int_equal(parse_proc_fate(stat_of('S', 1, 0), "ShdPnd:", &fate), 0);
	assert_false(fate.killed);
}

static void one_that_is_gone(void **state)
{
	struct proc_fate fate;

	assert_int_equal(read_proc_fate(*state, 12, &fate), -ENOENT);
	tree_file(*state, "/proc/12/stat", stat_of('Z', 1, 9));
	tree_file(*state, "/proc/12/status", "ShdPnd:\t0000000000000000\n");
	assert_int_equal(read_proc_fate(*state, 12, &fate), 0);
	assert_true(fate.killed);
}

/* --- who is in a cgroup --- */

static unsigned int count;
static pid_t last;

static int take(pid_t pid, void *arg)
{
	(void)arg;
	count++;
	last = pid;
	return 0;
}

static int refuse(pid_t pid, void *arg)
{
	(void)arg;
	return pid;
}

static void members(void **state)
{
	struct cgroup_mount mount = {.root = "/", .v2 = true};
	struct cgroup_members ret;

	snprintf(mount.path, sizeof(mount.path), "%s/cg", (char *)*state);
	tree_file(*state, "/cg/x/cgroup.procs", "17\n0\n18\n0\nxx\n99999999999\n19\n");
	assert_int_equal(read_cgroup_procs(&mount, "/x", take, NULL, &ret), 0);
	assert_int_equal(count, 3);
	assert_int_equal(last, 19);
	assert_int_equal(ret.hidden, 2);
	assert_false(ret.cut);
	assert_int_equal(read_cgroup_procs(&mount, "/x", refuse, NULL, &ret), 17);
	assert_int_equal(read_cgroup_procs(&mount, "/y", take, NULL, &ret), -ENOENT);
}

/* --- what goes and what stays --- */

static void use_of_v1(void **state)
{
	struct memory_use use;
	uint64_t dirty;

	(void)state;
	assert_int_equal(
		parse_memory_use("rss 1\nhierarchical_memory_limit 1073741824\ntotal_rss 100\n"
				 "total_inactive_file 50\ntotal_active_file 30\ntotal_dirty 10\n"
				 "total_writeback 5\ntotal_unevictable 7\ntotal_shmem 3\n",
			false, &use),
		0);
	assert_int_equal(use.anon_bytes, 100);
	assert_int_equal(memory_use_cache(&use, &dirty), 80);
	assert_int_equal(dirty, 15);
	assert_int_equal(use.hierarchy_max_bytes, 1073741824);
	assert_true(use.kernel_bytes == UNKNOWN_U64);
	assert_int_equal(
		parse_memory_use("hierarchical_memory_limit 9223372036854771712\n", false, &use),
		0);
	assert_true(use.hierarchy_max_bytes == CGROUP_NO_LIMIT);
	assert_true(memory_use_cache(&use, &dirty) == UNKNOWN_U64);
}

static void use_of_v2(void **state)
{
	struct cgroup_mount mount = {.root = "/", .v2 = true};
	struct memory_use use;
	uint64_t dirty;

	snprintf(mount.path, sizeof(mount.path), "%s/cg", (char *)*state);
	tree_file(*state, "/cg/x/memory.stat",
		"anon 1\nfile 90\nkernel 20\nshmem 10\nfile_dirty 200\ninactive_file 50\n"
		"active_file 30\nslab_reclaimable 4\nunevictable 0\n");
	assert_int_equal(read_memory_use(&mount, "/x", &use), 0);
	assert_int_equal(use.kernel_bytes, 20);
	assert_int_equal(use.slab_reclaimable_bytes, 4);
	assert_int_equal(memory_use_cache(&use, &dirty), 80);
	/* Counted at another moment than the lists. */
	assert_int_equal(dirty, 80);
	assert_true(use.hierarchy_max_bytes == UNKNOWN_U64);
	assert_int_equal(parse_memory_use("nothing here\n", true, &use), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sigkill_shows),
		cmocka_unit_test(zombies_show_how_they_ended),
		cmocka_unit_test(damaged_texts_tell_nothing),
		cmocka_unit_test_setup_teardown(one_that_is_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(members, set_up, tear_down),
		cmocka_unit_test(use_of_v1),
		cmocka_unit_test_setup_teardown(use_of_v2, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
