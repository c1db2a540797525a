/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroupfs.h: the memory controller's files, version 1 and 2.
 *
 * Paths of cgroups are those of the kernel, from the root of the hierarchy ("/kubepods/pod1");
 * `mount` is where that hierarchy is mounted. 0 or -errno; a value that the files do not tell is
 * UNKNOWN_U64; "max" and v1's PAGE_COUNTER_MAX are CGROUP_NO_LIMIT. Source:
 * Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst.
 */
#ifndef OOMSNOOP_FACTS_CGROUPFS_H
#define OOMSNOOP_FACTS_CGROUPFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CGROUP_NO_LIMIT (UINT64_MAX - 1)

struct cgroup_mount {
	char path[256]; /* "/sys/fs/cgroup", "/sys/fs/cgroup/memory" */
	char root[512]; /* the cgroup that is mounted there; "/" unless seen from a cgroup namespace
			   or bind mount */
	bool v2;
};

/* Where memory is accounted: v1's memory hierarchy when it is mounted, else v2. -ENOENT: neither is
 * mounted. */
int parse_mountinfo_memory(const char *text, struct cgroup_mount *ret);

/* Where the first file system of this type is mounted: out of the text of /proc/PID/mountinfo.
 * -ENOENT: nowhere. */
int parse_mountinfo_type(const char *text, const char *type, char *ret_path, size_t size);

/* Where a device is mounted, out of the same: its root, rather than a folder of it. -ENOENT. */
int parse_mountinfo_device(
	const char *text, unsigned int major, unsigned int minor, char *ret_path, size_t size);

int read_memory_mount(const char *root, struct cgroup_mount *ret);

/* The mount in which this process's own cgroup is to be seen, and that cgroup: not the same mount
 * where the host's is there beside that of our own cgroup namespace. -ENOENT: in none. */
int read_own_memory_mount(
	const char *root, struct cgroup_mount *ret, char *ret_cgroup, size_t size);

/* The directory of a cgroup. The path may be the kernel's own or one that a cgroup namespace shows
 * ("/../x"). -ENOENT: it is not below what is mounted there; -ENAMETOOLONG. */
int cgroup_dir(const struct cgroup_mount *mount, const char *cgroup, char *ret, size_t size);

/* One file of a cgroup's directory ("/memory.stat") as text, cut at size - 1. Its length or -errno.
 */
ssize_t read_cgroup_file(const struct cgroup_mount *mount, const char *cgroup, const char *name,
	char *ret, size_t size);

/* memory.stat as bytes; what the version does not tell is UNKNOWN_U64. */
struct cgroup_stat {
	uint64_t anon_bytes; /* v1: total_rss */
	uint64_t file_bytes; /* page cache with shmem, as the kernel prints it; v1: total_cache */
	uint64_t shmem_bytes;
	uint64_t slab_bytes;
	uint64_t kernel_bytes; /* all kernel memory (v2 >= 5.18; v1: memory.kmem.usage_in_bytes) */
	uint64_t kernel_stack_bytes;
	uint64_t pagetables_bytes;
	uint64_t sec_pagetables_bytes; /* v2 >= 6.1: page tables of KVM and IOMMU */
	uint64_t percpu_bytes;
	uint64_t vmalloc_bytes;
	uint64_t sock_bytes;
	uint64_t hugetlb_bytes;
	uint64_t file_dirty_bytes;
	uint64_t file_writeback_bytes;
	uint64_t swapcached_bytes;
};

int parse_memory_stat(const char *text, bool v2, struct cgroup_stat *ret);
int read_cgroup_stat(const struct cgroup_mount *mount, const char *cgroup, struct cgroup_stat *ret);

struct cgroup_limits {
	uint64_t max_bytes, high_bytes, usage_bytes, peak_bytes;
	uint64_t swap_max_bytes, swap_usage_bytes; /* v1: memory+swap */
	uint64_t oom_kill, oom,
		max_events; /* memory.events; v1: memory.oom_control's oom_kill and failcnt */
	int oom_group; /* -1: not told */
};

int read_cgroup_limits(
	const struct cgroup_mount *mount, const char *cgroup, struct cgroup_limits *ret);
int read_cgroup_usage(const struct cgroup_mount *mount, const char *cgroup, uint64_t *ret_bytes);

/* The cgroup of a process in the memory hierarchy, out of the text of /proc/PID/cgroup. pid 0: of
 * this process. */
int parse_proc_cgroup(const char *text, bool v2, char *ret_path, size_t size);
int read_proc_cgroup(const char *root, pid_t pid, bool v2, char *ret_path, size_t size);

/* Calls fn for every cgroup below the mount with its kernfs id (inode number) and kernel path;
 * stops at its first non-zero return and returns that. Directories that vanish meanwhile are passed
 * over. */
int walk_cgroups(const struct cgroup_mount *mount,
	int (*fn)(uint64_t id, const char *path, void *arg), void *arg);

#endif /* OOMSNOOP_FACTS_CGROUPFS_H */
