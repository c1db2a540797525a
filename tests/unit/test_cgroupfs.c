// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "facts/cgroupfs.h"
#include "facts/host.h"
#include "tree.h"

#define NO_LIMIT_V1 "9223372036854771712\n" /* what a kernel with pages of 4 KiB prints */

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

/* --- mounts --- */

#define V1_LINE                                                                                    \
	"34 30 0:31 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
#define V2_LINE "40 30 0:37 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
#define OTHER_LINES                                                                                \
	"22 26 0:21 / /sys rw,relatime - sysfs sysfs rw\n"                                         \
	"31 30 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"                      \
	"39 30 0:36 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=memory\n"

static void v1_goes_before_v2_whatever_their_order(void **state)
{
	struct cgroup_mount mount;

	(void)state;
	assert_int_equal(parse_mountinfo_memory(OTHER_LINES V2_LINE V1_LINE, &mount), 0);
	assert_false(mount.v2);
	assert_string_equal(mount.path, "/sys/fs/cgroup/memory");
	assert_string_equal(mount.root, "/");
	assert_int_equal(parse_mountinfo_memory(V1_LINE V2_LINE, &mount), 0);
	assert_false(mount.v2);
}

static void v2_where_memory_is_on_no_v1_hierarchy(void **state)
{
	struct cgroup_mount mount;

	(void)state;
	assert_int_equal(parse_mountinfo_memory(OTHER_LINES V2_LINE, &mount), 0);
	assert_true(mount.v2);
	assert_string_equal(mount.path, "/sys/fs/cgroup/unified");
}

static void no_controller_is_mounted(void **state)
{
	struct cgroup_mount mount = {.path = "as it was"};

	(void)state;
	assert_int_equal(parse_mountinfo_memory(OTHER_LINES, &mount), -ENOENT);
	assert_int_equal(parse_mountinfo_memory("", &mount), -ENOENT);
	assert_string_equal(mount.path, "as it was");
}

static void escapes_in_mount_points_are_undone(void **state)
{
	struct cgroup_mount mount;

	(void)state;
	assert_int_equal(parse_mountinfo_memory("1 2 0:3 /a\\134b /mnt/my\\040cg\\011x\\012 rw - "
						"cgroup2 none rw\n",
				 &mount),
		0);
	assert_string_equal(mount.path, "/mnt/my cg\tx\n");
	assert_string_equal(mount.root, "/a\\b");
	assert_int_equal(
		parse_mountinfo_memory("1 2 0:3 / /mnt/\\04 rw - cgroup2 none rw\n", &mount), 0);
	assert_string_equal(mount.path, "/mnt/\\04");
}

static void an_escaped_nul_cannot_shorten_a_path(void **state)
{
	struct cgroup_mount mount;

	(void)state;
	assert_int_equal(
		parse_mountinfo_memory("1 2 0:3 / /mnt\\000x rw - cgroup2 none rw\n", &mount),
		-ENOENT);
}

static void broken_lines_are_passed_over(void **state)
{
	struct cgroup_mount mount;
	char text[1200] = "1 2 0:3 / /";

	(void)state;
	assert_int_equal(parse_mountinfo_memory("1 2 0:3\n\n1 2 0:3 / /x rw shared:1 cgroup2\n"
						"1 2 0:3 / /x rw - cgroup2 none\n" V2_LINE,
				 &mount),
		0);
	assert_string_equal(mount.path, "/sys/fs/cgroup/unified");
	/* a mount point longer than its place */
	memset(text + strlen(text), 'a', 1000);
	strcat(text, " rw - cgroup2 none rw\n");
	assert_int_equal(parse_mountinfo_memory(text, &mount), -ENOENT);
}

static void of_two_mounts_the_one_that_shows_more(void **state)
{
	struct cgroup_mount mount;

	(void)state;
	assert_int_equal(
		parse_mountinfo_memory("1 2 0:3 /docker/1 /sys/fs/cgroup rw - cgroup2 none rw\n"
				       "1 2 0:3 / /host/cgroup rw - cgroup2 none rw\n",
			&mount),
		0);
	assert_string_equal(mount.path, "/host/cgroup");
	/* From within a cgroup namespace the host's mount is told as the way up. */
	assert_int_equal(
		parse_mountinfo_memory("1 2 0:3 /../../.. /host/cgroup rw - cgroup2 none rw\n"
				       "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 none rw\n",
			&mount),
		0);
	assert_string_equal(mount.path, "/host/cgroup");
	assert_string_equal(mount.root, "/../../..");
}

static void a_mount_covers_the_earlier_one_at_its_place(void **state)
{
	struct cgroup_mount mount;

	(void)state;
	assert_int_equal(parse_mountinfo_memory("1 2 0:3 / /cg rw - cgroup2 none rw\n"
						"1 2 0:3 /docker/1 /cg rw - cgroup2 none rw\n",
				 &mount),
		0);
	assert_string_equal(mount.root, "/docker/1");
}

static void other_file_systems_are_found_by_type(void **state)
{
	char path[64] = "as it was";

	(void)state;
	assert_int_equal(parse_mountinfo_type(OTHER_LINES, "tracefs", path, sizeof(path)), -ENOENT);
	assert_string_equal(path, "as it was");
	assert_int_equal(parse_mountinfo_type(OTHER_LINES "7 1 0:9 / /sys/kernel/tr\\040c rw - "
							  "tracefs tracefs rw\n",
				 "tracefs", path, sizeof(path)),
		0);
	assert_string_equal(path, "/sys/kernel/tr c");
	assert_int_equal(parse_mountinfo_type(OTHER_LINES, "sysfs", path, 4), -ENAMETOOLONG);
}

/* --- where a cgroup is --- */

static void cgroups_are_found_below_their_mount(void **state)
{
	static const struct {
		const char *root, *cgroup, *dir;
	} cases[] = {
		{"/", "/", "/cg"},
		{"/", "/a/b", "/cg/a/b"},
		{"/docker/1", "/docker/1", "/cg"},
		{"/docker/1", "/docker/1/x", "/cg/x"},
		{"/docker/1", "/docker/12", NULL},
		{"/docker/1", "/", NULL},
		{"/docker/1", "/a", NULL},
		/* seen from a cgroup namespace */
		{"/", "/../x", NULL},
		{"/../..", "/../../x", "/cg/x"},
		{"/../..", "/../..", "/cg"},
		{"/../..", "/../x", NULL},
		{"/../..", "/kubepods/pod1", "/cg/kubepods/pod1"},
		/* names that only look like a way up */
		{"/..x", "/a", NULL},
		{"/..x", "/..x/a", "/cg/a"},
		{"/", "/..x/y", "/cg/..x/y"},
		{"/", "/a/../../etc", NULL},
		{"/", "a", NULL},
		{"/", "", NULL},
	};
	struct cgroup_mount mount = {.path = "/cg"};
	char dir[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int err;

		strcpy(mount.root, cases[i].root);
		err = cgroup_dir(&mount, cases[i].cgroup, dir, sizeof(dir));
		assert_int_equal(err, cases[i].dir ? 0 : -ENOENT);
		if (cases[i].dir)
			assert_string_equal(dir, cases[i].dir);
	}
	strcpy(mount.root, "/");
	assert_int_equal(cgroup_dir(&mount, "/abc", dir, 5), -ENAMETOOLONG);
}

/* --- memory.stat --- */

static void stat_of_v2_7_3(void **state)
{
	char *text = tree_fixture("memory-stat/v2-7.3.txt");
	struct cgroup_stat stat;

	(void)state;
	assert_int_equal(parse_memory_stat(text, true, &stat), 0);
	assert_int_equal(stat.anon_bytes, 41807872);
	assert_int_equal(stat.file_bytes, 0);
	assert_int_equal(stat.kernel_bytes, 135168);
	assert_int_equal(stat.kernel_stack_bytes, 0);
	assert_int_equal(stat.pagetables_bytes, 126976);
	assert_int_equal(stat.sec_pagetables_bytes, 0);
	assert_int_equal(stat.slab_bytes, 5632);
	assert_int_equal(stat.swapcached_bytes, 0);
	assert_true(stat.hugetlb_bytes == UNKNOWN_U64);
	free(text);
}

static void stat_of_v2_5_10_leaves_what_came_later_unknown(void **state)
{
	char *text = tree_fixture("memory-stat/v2-5.10.txt");
	struct cgroup_stat stat;

	(void)state;
	assert_int_equal(parse_memory_stat(text, true, &stat), 0);
	assert_int_equal(stat.anon_bytes, 41766912);
	assert_int_equal(stat.shmem_bytes, 0);
	assert_int_equal(stat.percpu_bytes, 0);
	assert_true(stat.kernel_bytes == UNKNOWN_U64);
	assert_true(stat.pagetables_bytes == UNKNOWN_U64);
	assert_true(stat.vmalloc_bytes == UNKNOWN_U64);
	assert_true(stat.swapcached_bytes == UNKNOWN_U64);
	free(text);
}

static void stat_of_v1_counts_the_children_in(void **state)
{
	char *text = tree_fixture("memory-stat/v1-6.18.txt");
	struct cgroup_stat stat;
	uint64_t total;

	(void)state;
	assert_int_equal(parse_memory_stat(text, false, &stat), 0);
	assert_int_equal(sscanf(strstr(text, "total_rss "), "total_rss %lu", &total), 1);
	assert_int_equal(stat.anon_bytes, total);
	assert_int_equal(sscanf(strstr(text, "total_cache "), "total_cache %lu", &total), 1);
	assert_int_equal(stat.file_bytes, total);
	assert_true(stat.kernel_bytes == UNKNOWN_U64);
	assert_true(stat.slab_bytes == UNKNOWN_U64);
	free(text);
}

static void every_key_of_v2_has_its_field(void **state)
{
	static const char text[] = "anon 1\nfile 2\nkernel 3\nkernel_stack 4\npagetables 5\n"
				   "sec_pagetables 6\npercpu 7\nsock 8\nvmalloc 9\nshmem 10\n"
				   "file_dirty 11\nfile_writeback 12\nswapcached 13\nslab 14\n"
				   "hugetlb 15\n";
	struct cgroup_stat stat;

	(void)state;
	assert_int_equal(parse_memory_stat(text, true, &stat), 0);
	assert_int_equal(stat.anon_bytes, 1);
	assert_int_equal(stat.file_bytes, 2);
	assert_int_equal(stat.kernel_bytes, 3);
	assert_int_equal(stat.kernel_stack_bytes, 4);
	assert_int_equal(stat.pagetables_bytes, 5);
	assert_int_equal(stat.sec_pagetables_bytes, 6);
	assert_int_equal(stat.percpu_bytes, 7);
	assert_int_equal(stat.sock_bytes, 8);
	assert_int_equal(stat.vmalloc_bytes, 9);
	assert_int_equal(stat.shmem_bytes, 10);
	assert_int_equal(stat.file_dirty_bytes, 11);
	assert_int_equal(stat.file_writeback_bytes, 12);
	assert_int_equal(stat.swapcached_bytes, 13);
	assert_int_equal(stat.slab_bytes, 14);
	assert_int_equal(stat.hugetlb_bytes, 15);
}

static void a_text_that_is_no_stat_is_refused(void **state)
{
	static const char *const texts[] = {"", "\n\n", "anon\n", "anon x\n", "anon -1\n",
		"anon 18446744073709551616\n", "anon 1 2\n", "anonymous 5\n", " anon 5\n"};
	struct cgroup_stat stat = {.anon_bytes = 3};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(parse_memory_stat(texts[i], true, &stat), -EINVAL);
	assert_int_equal(stat.anon_bytes, 3);
}

static void kernel_memory_of_v1_has_files_of_its_own(void **state)
{
	struct cgroup_mount mount = {.root = "/"};
	struct cgroup_stat stat;

	snprintf(mount.path, sizeof(mount.path), "%s", (char *)*state);
	tree_file(*state, "/a/memory.stat", "total_rss 4096\ntotal_cache 8192\n");
	assert_int_equal(read_cgroup_stat(&mount, "/a", &stat), 0);
	assert_true(stat.kernel_bytes == UNKNOWN_U64);
	tree_file(*state, "/a/memory.kmem.usage_in_bytes", "12288\n");
	tree_file(*state, "/a/memory.kmem.tcp.usage_in_bytes", "512\n");
	assert_int_equal(read_cgroup_stat(&mount, "/a", &stat), 0);
	assert_int_equal(stat.anon_bytes, 4096);
	assert_int_equal(stat.kernel_bytes, 12288);
	assert_int_equal(stat.sock_bytes, 512);
}

static void kernel_memory_of_v2_is_in_the_stat_alone(void **state)
{
	struct cgroup_mount mount = {.root = "/", .v2 = true};
	struct cgroup_stat stat = {.anon_bytes = 3};

	snprintf(mount.path, sizeof(mount.path), "%s", (char *)*state);
	tree_file(*state, "/a/memory.stat", "");
	assert_int_equal(read_cgroup_stat(&mount, "/a", &stat), -EINVAL);
	assert_int_equal(stat.anon_bytes, 3);
	tree_file(*state, "/a/memory.stat", "anon 1\nkernel 5\nsock 6\n");
	assert_int_equal(read_cgroup_stat(&mount, "/a", &stat), 0);
	assert_int_equal(stat.kernel_bytes, 5);
	assert_int_equal(stat.sock_bytes, 6);
}

static void a_stat_longer_than_the_buffer_gives_no_half_number(void **state)
{
	struct cgroup_mount mount = {.root = "/", .v2 = true};
	static char text[9000];
	struct cgroup_stat stat;

	snprintf(mount.path, sizeof(mount.path), "%s", (char *)*state);
	/* the line of shmem lies across the end of the buffer of 8 KiB */
	memset(text, '#', 8181);
	memcpy(text, "anon 5\n", 7);
	strcpy(text + 8180, "\nshmem 1234567890\n");
	tree_file(*state, "/a/memory.stat", text);
	assert_int_equal(read_cgroup_stat(&mount, "/a", &stat), 0);
	assert_int_equal(stat.anon_bytes, 5);
	assert_true(stat.shmem_bytes == UNKNOWN_U64);
}

/* --- limits --- */

static void limits_of_v2(void **state)
{
	struct cgroup_mount mount = {.root = "/", .v2 = true};
	struct cgroup_limits limits;
	uint64_t usage = 0;

	snprintf(mount.path, sizeof(mount.path), "%s", (char *)*state);
	tree_file(*state, "/pod/memory.max", "67108864\n");
	tree_file(*state, "/pod/memory.high", "max\n");
	tree_file(*state, "/pod/memory.current", "67104768\n");
	tree_file(*state, "/pod/memory.peak", "67108864\n");
	tree_file(*state, "/pod/memory.swap.max", "0\n");
	tree_file(*state, "/pod/memory.swap.current", "0\n");
	tree_file(*state, "/pod/memory.oom.group", "1\n");
	tree_file(*state, "/pod/memory.events",
		"low 0\nhigh 7\nmax 50\noom 2\noom_kill 3\noom_group_kill 1\n");
	assert_int_equal(read_cgroup_limits(&mount, "/pod", &limits), 0);
	assert_int_equal(limits.max_bytes, 67108864);
	assert_true(limits.high_bytes == CGROUP_NO_LIMIT);
	assert_int_equal(limits.usage_bytes, 67104768);
	assert_int_equal(limits.peak_bytes, 67108864);
	assert_int_equal(limits.swap_max_bytes, 0);
	assert_int_equal(limits.swap_usage_bytes, 0);
	assert_int_equal(limits.oom_group, 1);
	assert_int_equal(limits.max_events, 50);
	assert_int_equal(limits.oom, 2);
	assert_int_equal(limits.oom_kill, 3);
	assert_int_equal(read_cgroup_usage(&mount, "/pod", &usage), 0);
	assert_int_equal(usage, 67104768);
}

static void limits_of_v1(void **state)
{
	struct cgroup_mount mount = {.root = "/"};
	struct cgroup_limits limits;

	snprintf(mount.path, sizeof(mount.path), "%s", (char *)*state);
	tree_file(*state, "/a/memory.limit_in_bytes", "41943040\n");
	tree_file(*state, "/a/memory.memsw.limit_in_bytes", NO_LIMIT_V1);
	tree_file(*state, "/a/memory.usage_in_bytes", "41938944\n");
	tree_file(*state, "/a/memory.max_usage_in_bytes", "41943040\n");
	tree_file(*state, "/a/memory.memsw.usage_in_bytes", "41938944\n");
	tree_file(*state, "/a/memory.failcnt", "12\n");
	tree_file(*state, "/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
	assert_int_equal(read_cgroup_limits(&mount, "/a", &limits), 0);
	assert_int_equal(limits.max_bytes, 41943040);
	assert_true(limits.swap_max_bytes == CGROUP_NO_LIMIT);
	assert_true(limits.high_bytes == UNKNOWN_U64);
	assert_int_equal(limits.max_events, 12);
	assert_int_equal(limits.oom_kill, 4);
	assert_true(limits.oom == UNKNOWN_U64);
	assert_int_equal(limits.oom_group, -1);
}

static void no_limit_of_v1_is_known_for_every_page_size(void **state)
{
	static const char *const most[] = {
		NO_LIMIT_V1, "9223372036854759424\n", "9223372036854710272\n"};
	struct cgroup_mount mount = {.root = "/"};
	struct cgroup_limits limits;

	snprintf(mount.path, sizeof(mount.path), "%s", (char *)*state);
	for (size_t i = 0; i < sizeof(most) / sizeof(*most); i++) {
		tree_file(*state, "/a/memory.limit_in_bytes", most[i]);
		assert_int_equal(read_cgroup_limits(&mount, "/a", &limits), 0);
		assert_true(limits.max_bytes == CGROUP_NO_LIMIT);
	}
}

static void the_root_of_v2_tells_nothing_but_is_there(void **state)
{
	struct cgroup_mount mount = {.root = "/", .v2 = true};
	struct cgroup_limits limits;
	uint64_t usage = 5;

	snprintf(mount.path, sizeof(mount.path), "%s", (char *)*state);
	assert_int_equal(read_cgroup_limits(&mount, "/", &limits), 0);
	assert_true(limits.max_bytes == UNKNOWN_U64);
	assert_true(limits.usage_bytes == UNKNOWN_U64);
	assert_true(limits.oom_kill == UNKNOWN_U64);
	assert_int_equal(limits.oom_group, -1);
	assert_int_equal(read_cgroup_usage(&mount, "/", &usage), -ENOENT);
	assert_int_equal(usage, 5);
}

static void a_cgroup_that_is_gone_is_an_error(void **state)
{
	struct cgroup_mount mount = {.root = "/", .v2 = true};
	struct cgroup_limits limits = {.oom_group = 7};
	struct cgroup_stat stat;
	uint64_t usage;

	snprintf(mount.path, sizeof(mount.path), "%s", (char *)*state);
	assert_int_equal(read_cgroup_limits(&mount, "/gone", &limits), -ENOENT);
	assert_int_equal(limits.oom_group, 7);
	assert_int_equal(read_cgroup_stat(&mount, "/gone", &stat), -ENOENT);
	assert_int_equal(read_cgroup_usage(&mount, "/gone", &usage), -ENOENT);
}

/* --- a process's cgroup --- */

static void the_cgroup_of_a_process(void **state)
{
	static const char text[] = "9:name=systemd:/\n4:memory:/kubepods/pod1/c:1\n"
				   "3:cpu,cpuacct:/x\n0::/user.slice\n";
	char path[64];

	(void)state;
	assert_int_equal(parse_proc_cgroup(text, false, path, sizeof(path)), 0);
	assert_string_equal(path, "/kubepods/pod1/c:1");
	assert_int_equal(parse_proc_cgroup(text, true, path, sizeof(path)), 0);
	assert_string_equal(path, "/user.slice");
	assert_int_equal(parse_proc_cgroup("5:cpu,memory:/both\n", false, path, sizeof(path)), 0);
	assert_string_equal(path, "/both");
}

static void a_removed_cgroup_keeps_its_name(void **state)
{
	char path[64];

	(void)state;
	assert_int_equal(
		parse_proc_cgroup("0::/a/run-r1.scope (deleted)\n", true, path, sizeof(path)), 0);
	assert_string_equal(path, "/a/run-r1.scope");
}

static void a_cgroup_that_is_not_told(void **state)
{
	char path[8] = "?";

	(void)state;
	assert_int_equal(parse_proc_cgroup("", true, path, sizeof(path)), -ENOENT);
	assert_int_equal(parse_proc_cgroup("4:memory:/x\n", true, path, sizeof(path)), -ENOENT);
	assert_int_equal(parse_proc_cgroup("0::/x\n", false, path, sizeof(path)), -ENOENT);
	assert_int_equal(parse_proc_cgroup("0::x\n0:\n0\n", true, path, sizeof(path)), -ENOENT);
	assert_int_equal(
		parse_proc_cgroup("0::/12345678\n", true, path, sizeof(path)), -ENAMETOOLONG);
	assert_string_equal(path, "?");
}

static void the_memory_mount_lies_below_the_root(void **state)
{
	struct cgroup_mount mount;
	char path[64];
	uint64_t usage;

	tree_file(*state, "/proc/self/mountinfo", OTHER_LINES V1_LINE);
	tree_file(*state, "/proc/77/cgroup", "4:memory:/a\n");
	tree_file(*state, "/proc/self/cgroup", "4:memory:/own\n");
	tree_file(*state, "/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "8192\n");
	assert_int_equal(read_memory_mount(*state, &mount), 0);
	assert_int_equal(read_proc_cgroup(*state, 77, mount.v2, path, sizeof(path)), 0);
	assert_int_equal(read_cgroup_usage(&mount, path, &usage), 0);
	assert_int_equal(usage, 8192);
	assert_int_equal(read_proc_cgroup(*state, 0, mount.v2, path, sizeof(path)), 0);
	assert_string_equal(path, "/own");
	assert_int_equal(read_proc_cgroup(*state, 78, mount.v2, path, sizeof(path)), -ENOENT);
}

/* --- all cgroups --- */

struct found {
	unsigned int count;
	char paths[16][600];
	uint64_t ids[16];
	const char *stop_at;
};

static int collect(uint64_t id, const char *path, void *arg)
{
	struct found *found = arg;

	assert_true(found->count < 16);
	found->ids[found->count] = id;
	snprintf(found->paths[found->count++], sizeof(found->paths[0]), "%s", path);
	return found->stop_at && strcmp(path, found->stop_at) == 0 ? 9 : 0;
}

static int index_of(const struct found *found, const char *path)
{
	for (unsigned int i = 0; i < found->count; i++) {
		if (strcmp(found->paths[i], path) == 0)
			return (int)i;
	}
	return -1;
}

static void every_cgroup_is_walked_with_its_id(void **state)
{
	struct cgroup_mount mount = {.root = "/", .v2 = true};
	struct found found = {0};
	char path[PATH_MAX];
	struct stat st;

	snprintf(mount.path, sizeof(mount.path), "%s", (char *)*state);
	tree_file(*state, "/a/memory.max", "max\n");
	tree_dir(*state, "/a/b c");
	tree_dir(*state, "/d");
	tree_link(*state, "/loop", ".");
	assert_int_equal(walk_cgroups(&mount, collect, &found), 0);
	assert_int_equal(found.count, 4);
	assert_int_equal(index_of(&found, "/"), 0);
	assert_true(index_of(&found, "/a") > 0);
	assert_true(index_of(&found, "/d") > 0);
	snprintf(path, sizeof(path), "%s/a/b c", (char *)*state);
	assert_int_equal(stat(path, &st), 0);
	assert_true(index_of(&found, "/a/b c") > index_of(&found, "/a"));
	assert_true(found.ids[index_of(&found, "/a/b c")] == st.st_ino);
}

static void paths_begin_with_what_is_mounted(void **state)
{
	struct cgroup_mount mount = {.root = "/docker/1", .v2 = true};
	struct found found = {0}, above = {0};

	snprintf(mount.path, sizeof(mount.path), "%s", (char *)*state);
	tree_dir(*state, "/x");
	assert_int_equal(walk_cgroups(&mount, collect, &found), 0);
	assert_true(index_of(&found, "/docker/1") == 0);
	assert_true(index_of(&found, "/docker/1/x") == 1);
	strcpy(mount.root, "/../..");
	assert_int_equal(walk_cgroups(&mount, collect, &above), 0);
	assert_true(index_of(&above, "/") == 0);
	assert_true(index_of(&above, "/x") == 1);
}

static void the_walk_ends_where_it_is_told(void **state)
{
	struct cgroup_mount mount = {.root = "/", .v2 = true};
	struct found found = {.stop_at = "/a"};

	snprintf(mount.path, sizeof(mount.path), "%s", (char *)*state);
	tree_dir(*state, "/a/b/c");
	assert_int_equal(walk_cgroups(&mount, collect, &found), 9);
	assert_int_equal(found.count, 2);
	snprintf(mount.path, sizeof(mount.path), "%s/gone", (char *)*state);
	assert_int_equal(walk_cgroups(&mount, collect, &found), -ENOENT);
}

static int remove_sibling(uint64_t id, const char *path, void *arg)
{
	char gone[PATH_MAX];

	(void)id;
	/* The listing of the root is read by now: whichever of the two comes first removes the
	 * other one. */
	if (strcmp(path, "/") == 0)
		return 0;
	snprintf(gone, sizeof(gone), "%s/%s", *(char **)arg, strcmp(path, "/a") == 0 ? "b" : "a");
	rmdir(gone);
	return 0;
}

static void cgroups_that_vanish_meanwhile_are_passed_over(void **state)
{
	struct cgroup_mount mount = {.root = "/", .v2 = true};

	snprintf(mount.path, sizeof(mount.path), "%s", (char *)*state);
	tree_dir(*state, "/a");
	tree_dir(*state, "/b");
	assert_int_equal(walk_cgroups(&mount, remove_sibling, state), 0);
}

static int count_all(uint64_t id, const char *path, void *arg)
{
	(void)id;
	(void)path;
	++*(unsigned int *)arg;
	return 0;
}

static void a_bottomless_tree_is_cut(void **state)
{
	struct cgroup_mount mount = {.root = "/", .v2 = true};
	unsigned int count = 0;
	char path[1024] = "";

	snprintf(mount.path, sizeof(mount.path), "%s", (char *)*state);
	for (int i = 0; i < 200; i++)
		strcat(path, "/d");
	tree_dir(*state, path);
	assert_int_equal(walk_cgroups(&mount, count_all, &count), 0);
	assert_int_equal(count, 65);
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(v1_goes_before_v2_whatever_their_order),
		cmocka_unit_test(v2_where_memory_is_on_no_v1_hierarchy),
		cmocka_unit_test(no_controller_is_mounted),
		cmocka_unit_test(escapes_in_mount_points_are_undone),
		cmocka_unit_test(an_escaped_nul_cannot_shorten_a_path),
		cmocka_unit_test(broken_lines_are_passed_over),
		cmocka_unit_test(of_two_mounts_the_one_that_shows_more),
		cmocka_unit_test(a_mount_covers_the_earlier_one_at_its_place),
		cmocka_unit_test(other_file_systems_are_found_by_type),
		cmocka_unit_test(cgroups_are_found_below_their_mount),
		cmocka_unit_test(stat_of_v2_7_3),
		cmocka_unit_test(stat_of_v2_5_10_leaves_what_came_later_unknown),
		cmocka_unit_test(stat_of_v1_counts_the_children_in),
		cmocka_unit_test(every_key_of_v2_has_its_field),
		cmocka_unit_test(a_text_that_is_no_stat_is_refused),
		TREE_TEST(kernel_memory_of_v1_has_files_of_its_own),
		TREE_TEST(kernel_memory_of_v2_is_in_the_stat_alone),
		TREE_TEST(a_stat_longer_than_the_buffer_gives_no_half_number),
		TREE_TEST(limits_of_v2),
		TREE_TEST(limits_of_v1),
		TREE_TEST(no_limit_of_v1_is_known_for_every_page_size),
		TREE_TEST(the_root_of_v2_tells_nothing_but_is_there),
		TREE_TEST(a_cgroup_that_is_gone_is_an_error),
		cmocka_unit_test(the_cgroup_of_a_process),
		cmocka_unit_test(a_removed_cgroup_keeps_its_name),
		cmocka_unit_test(a_cgroup_that_is_not_told),
		TREE_TEST(the_memory_mount_lies_below_the_root),
		TREE_TEST(every_cgroup_is_walked_with_its_id),
		TREE_TEST(paths_begin_with_what_is_mounted),
		TREE_TEST(the_walk_ends_where_it_is_told),
		TREE_TEST(cgroups_that_vanish_meanwhile_are_passed_over),
		TREE_TEST(a_bottomless_tree_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
