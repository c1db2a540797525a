// SPDX-License-Identifier: Apache-2.0
#include "facts/cgroupfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "facts/file.h"
#include "facts/host.h"
#include "facts/scan.h"

/* v1 prints its "no limit" as LONG_MAX rounded down to a page; this is so for pages up to 64 KiB.
 */
#define V1_NO_LIMIT 0x7fffffffffff0000ULL

#define DELETED " (deleted)"

/* --- where a cgroup is --- */

/* text without the leading components of prefix, or NULL: not below it. */
static const char *below(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strcmp(prefix, "/") == 0)
		return text;
	if (strncmp(text, prefix, len) != 0 || (text[len] != '/' && text[len] != '\0'))
		return NULL;
	return text + len;
}

static bool goes_up(const char *path)
{
	return strncmp(path, "/..", 3) == 0 && (path[3] == '/' || path[3] == '\0');
}

static bool has_dots(const char *path)
{
	struct scan scan = scan_of(path, strlen(path)), name;

	while (scan_field(&scan, '/', &name)) {
		if (scan_equals(&name, ".."))
			return true;
	}
	return false;
}

int cgroup_dir(const struct cgroup_mount *mount, const char *cgroup, char *ret, size_t size)
{
	const char *rest = below(cgroup, mount->root);

	/* A mount of something above our namespace's root: its own name is known only as "/..", so
	 * a path without that is taken as the kernel's, from the top. */
	if (!rest && goes_up(mount->root) && !goes_up(cgroup))
		rest = cgroup;
	if (!rest || cgroup[0] != '/' || has_dots(rest))
		return -ENOENT;
	if (strcmp(rest, "/") == 0)
		rest = "";
	return file_path(mount->path, rest, ret, size);
}

ssize_t read_cgroup_file(const struct cgroup_mount *mount, const char *cgroup, const char *name,
	char *ret, size_t size)
{
	char path[PATH_MAX];
	int err = cgroup_dir(mount, cgroup, path, sizeof(path));
	size_t len;

	if (err)
		return err;
	len = strlen(path);
	err = file_path("", name, path + len, sizeof(path) - len);
	return err ? err : file_read("", path, ret, size);
}

/* A descriptor, so that all files come from one and the same cgroup even if it is replaced. */
static int open_cgroup(const struct cgroup_mount *mount, const char *cgroup)
{
	char path[PATH_MAX];
	int err = cgroup_dir(mount, cgroup, path, sizeof(path)), fd;

	if (err)
		return err;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* --- memory.stat --- */

struct stat_key {
	const char *name;
	size_t offset;
};

#define KEY(name, field)                                                                           \
	{                                                                                          \
		name, offsetof(struct cgroup_stat, field)                                          \
	}
static const struct stat_key v2_keys[] = {
	KEY("anon", anon_bytes),
	KEY("file", file_bytes),
	KEY("shmem", shmem_bytes),
	KEY("slab", slab_bytes),
	KEY("kernel", kernel_bytes),
	KEY("kernel_stack", kernel_stack_bytes),
	KEY("pagetables", pagetables_bytes),
	KEY("sec_pagetables", sec_pagetables_bytes),
	KEY("percpu", percpu_bytes),
	KEY("vmalloc", vmalloc_bytes),
	KEY("sock", sock_bytes),
	KEY("hugetlb", hugetlb_bytes),
	KEY("file_dirty", file_dirty_bytes),
	KEY("file_writeback", file_writeback_bytes),
	KEY("swapcached", swapcached_bytes),
	{NULL, 0},
};

/* The keys without "total_" leave the children out. */
static const struct stat_key v1_keys[] = {
	KEY("total_rss", anon_bytes),
	KEY("total_cache", file_bytes),
	KEY("total_shmem", shmem_bytes),
	KEY("total_dirty", file_dirty_bytes),
	KEY("total_writeback", file_writeback_bytes),
	KEY("total_swapcached", swapcached_bytes),
	{NULL, 0},
};
#undef KEY

static bool stat_line(struct scan line, const struct stat_key *key, struct cgroup_stat *stat)
{
	struct scan name;
	uint64_t value;

	if (!scan_field(&line, ' ', &name) || !scan_u64(&line, &value) || !scan_done(&line))
		return false;
	for (; key->name; key++) {
		if (!scan_equals(&name, key->name))
			continue;
		*(uint64_t *)((char *)stat + key->offset) = value;
		return true;
	}
	return false;
}

int parse_memory_stat(const char *text, bool v2, struct cgroup_stat *ret)
{
	const struct stat_key *keys = v2 ? v2_keys : v1_keys;
	struct scan scan = scan_of(text, strlen(text)), line;
	struct cgroup_stat stat;
	bool any = false;

	/* UNKNOWN_U64 in every field */
	memset(&stat, 0xff, sizeof(stat));
	while (scan_line(&scan, &line)) {
		if (stat_line(line, keys, &stat))
			any = true;
	}
	if (!any)
		return -EINVAL;
	*ret = stat;
	return 0;
}

/* One number, or "max"; UNKNOWN_U64 where there is no such file. */
static uint64_t value_at(int dir, const char *name)
{
	char text[64];
	ssize_t len = file_read_at(dir, name, text, sizeof(text));
	struct scan scan;
	uint64_t value;

	if (len <= 0)
		return UNKNOWN_U64;
	scan = scan_of(text, strcspn(text, "\n"));
	if (scan_equals(&scan, "max"))
		return CGROUP_NO_LIMIT;
	if (!scan_u64(&scan, &value) || !scan_done(&scan))
		return UNKNOWN_U64;
	return value;
}

static uint64_t v1_limit_at(int dir, const char *name)
{
	uint64_t value = value_at(dir, name);

	return value >= V1_NO_LIMIT && value != UNKNOWN_U64 ? CGROUP_NO_LIMIT : value;
}

int read_cgroup_stat(const struct cgroup_mount *mount, const char *cgroup, struct cgroup_stat *ret)
{
	char text[8192];
	int dir = open_cgroup(mount, cgroup), err;
	ssize_t len;

	if (dir < 0)
		return dir;
	len = file_read_at(dir, "memory.stat", text, sizeof(text));
	/* A line that the buffer cut in two would give a number that is not the kernel's. */
	if (len == (ssize_t)sizeof(text) - 1)
		*(strrchr(text, '\n') ?: text) = '\0';
	err = len < 0 ? (int)len : parse_memory_stat(text, mount->v2, ret);
	if (!err && !mount->v2) {
		ret->kernel_bytes = value_at(dir, "memory.kmem.usage_in_bytes");
		ret->sock_bytes = value_at(dir, "memory.kmem.tcp.usage_in_bytes");
	}
	close(dir);
	return err;
}

/* --- limits --- */

/* The number behind a key of a file of "key number" lines. */
static uint64_t keyed_at(int dir, const char *name, const char *key)
{
	char text[1024];
	ssize_t len = file_read_at(dir, name, text, sizeof(text));
	struct scan scan, line;
	uint64_t value;

	if (len < 0)
		return UNKNOWN_U64;
	scan = scan_of(text, (size_t)len);
	while (scan_line(&scan, &line)) {
		if (scan_text(&line, key) && scan_text(&line, " ") && scan_u64(&line, &value) &&
			scan_done(&line))
			return value;
	}
	return UNKNOWN_U64;
}

static void v2_limits(int dir, struct cgroup_limits *limits)
{
	uint64_t group = value_at(dir, "memory.oom.group");

	limits->max_bytes = value_at(dir, "memory.max");
	limits->high_bytes = value_at(dir, "memory.high");
	limits->usage_bytes = value_at(dir, "memory.current");
	limits->peak_bytes = value_at(dir, "memory.peak");
	limits->swap_max_bytes = value_at(dir, "memory.swap.max");
	limits->swap_usage_bytes = value_at(dir, "memory.swap.current");
	limits->oom_kill = keyed_at(dir, "memory.events", "oom_kill");
	limits->oom = keyed_at(dir, "memory.events", "oom");
	limits->max_events = keyed_at(dir, "memory.events", "max");
	limits->oom_group = group <= 1 ? (int)group : -1;
}

static void v1_limits(int dir, struct cgroup_limits *limits)
{
	limits->max_bytes = v1_limit_at(dir, "memory.limit_in_bytes");
	/* The soft limit of v1 throttles nobody: it is not memory.high. */
	limits->high_bytes = UNKNOWN_U64;
	limits->usage_bytes = value_at(dir, "memory.usage_in_bytes");
	limits->peak_bytes = value_at(dir, "memory.max_usage_in_bytes");
	limits->swap_max_bytes = v1_limit_at(dir, "memory.memsw.limit_in_bytes");
	limits->swap_usage_bytes = value_at(dir, "memory.memsw.usage_in_bytes");
	limits->oom_kill = keyed_at(dir, "memory.oom_control", "oom_kill");
	limits->oom = UNKNOWN_U64;
	limits->max_events = value_at(dir, "memory.failcnt");
	limits->oom_group = -1;
}

int read_cgroup_limits(
	const struct cgroup_mount *mount, const char *cgroup, struct cgroup_limits *ret)
{
	int dir = open_cgroup(mount, cgroup);

	if (dir < 0)
		return dir;
	if (mount->v2)
		v2_limits(dir, ret);
	else
		v1_limits(dir, ret);
	close(dir);
	return 0;
}

int read_cgroup_usage(const struct cgroup_mount *mount, const char *cgroup, uint64_t *ret_bytes)
{
	int dir = open_cgroup(mount, cgroup);
	uint64_t usage;

	if (dir < 0)
		return dir;
	usage = value_at(dir, mount->v2 ? "memory.current" : "memory.usage_in_bytes");
	close(dir);
	/* The root of v2 has no such file. */
	if (usage == UNKNOWN_U64)
		return -ENOENT;
	*ret_bytes = usage;
	return 0;
}

/* --- a process's cgroup --- */

/* "4:memory:/path" or "0::/path"; the path may hold colons. */
static bool cgroup_line(struct scan line, bool v2, struct scan *ret_path)
{
	struct scan hierarchy, controllers;

	if (!scan_field(&line, ':', &hierarchy) || !scan_field(&line, ':', &controllers))
		return false;
	if (scan_done(&line) || *line.at != '/')
		return false;
	*ret_path = line;
	if (v2)
		return scan_equals(&hierarchy, "0") && scan_done(&controllers);
	return scan_has_word(controllers, "memory");
}

int parse_proc_cgroup(const char *text, bool v2, char *ret_path, size_t size)
{
	struct scan scan = scan_of(text, strlen(text)), line, path;
	const size_t remark = strlen(DELETED);

	while (scan_line(&scan, &line)) {
		if (!cgroup_line(line, v2, &path))
			continue;
		/* The kernel's remark on a cgroup that was removed below its processes. */
		if (scan_left(&path) > remark && memcmp(path.end - remark, DELETED, remark) == 0)
			path.end -= remark;
		return scan_copy(&path, ret_path, size);
	}
	return -ENOENT;
}

int read_proc_cgroup(const char *root, pid_t pid, bool v2, char *ret_path, size_t size)
{
	char name[64], text[16384];
	ssize_t len;

	if (pid == 0)
		snprintf(name, sizeof(name), "/proc/self/cgroup");
	else
		snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
	len = file_read(root, name, text, sizeof(text));
	if (len < 0)
		return (int)len;
	if (len == (ssize_t)sizeof(text) - 1)
		return -EFBIG;
	return parse_proc_cgroup(text, v2, ret_path, size);
}

/* --- all cgroups --- */

#define WALK_DEPTH 64 /* descriptors that are held at a time; deeper trees are cut there */

struct walk {
	int (*fn)(uint64_t id, const char *path, void *arg);
	void *arg;
	char path[PATH_MAX]; /* as the kernel names it; empty: the top */
	size_t len;
};

static int walk_dir(struct walk *walk, int fd, int depth);

static int walk_child(struct walk *walk, int parent, const char *name, int depth)
{
	size_t before = walk->len, len = strlen(name);
	int fd, ret;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || depth == WALK_DEPTH ||
		before + 1 + len >= sizeof(walk->path))
		return 0;
	/* Gone between the listing and now, or no directory: passed over. */
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0;
	walk->path[before] = '/';
	memcpy(walk->path + before + 1, name, len + 1);
	walk->len = before + 1 + len;
	ret = walk_dir(walk, fd, depth + 1);
	walk->len = before;
	walk->path[before] = '\0';
	return ret;
}

/* Takes fd over. */
static int walk_dir(struct walk *walk, int fd, int depth)
{
	struct dirent *entry;
	struct stat stat;
	DIR *dir;
	int ret;

	if (fstat(fd, &stat) < 0 || !(dir = fdopendir(fd))) {
		close(fd);
		return 0;
	}
	ret = walk->fn(stat.st_ino, walk->len ? walk->path : "/", walk->arg);
	while (ret == 0 && (entry = readdir(dir))) {
		if (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN)
			ret = walk_child(walk, fd, entry->d_name, depth);
	}
	closedir(dir);
	return ret;
}

int walk_cgroups(const struct cgroup_mount *mount,
	int (*fn)(uint64_t id, const char *path, void *arg), void *arg)
{
	struct walk walk = {.fn = fn, .arg = arg};
	int fd = open(mount->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	/* What lies above our namespace has no name here: such a mount counts as the top. */
	if (strcmp(mount->root, "/") != 0 && !goes_up(mount->root)) {
		walk.len = strlen(mount->root);
		memcpy(walk.path, mount->root, walk.len + 1);
	}
	return walk_dir(&walk, fd, 0);
}
