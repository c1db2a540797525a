/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tmpfs.h: a tmpfs as a process sees it: where it is mounted, and which files are the largest.
 *
 * Allocates nothing. What has no name any more (files that were unlinked and are still open or
 * mapped) is not seen. Source: proc(5), shm_overview(7).
 */
#ifndef OOMSNOOP_FACTS_TMPFS_H
#define OOMSNOOP_FACTS_TMPFS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TMPFS_MOUNT_LEN 256
#define TMPFS_NAME_LEN 64 /* a longer one is cut */
#define TMPFS_LARGEST 3

struct tmpfs_file {
	uint64_t bytes; /* that it takes */
	char name[TMPFS_NAME_LEN];
};

struct tmpfs_use {
	char mount[TMPFS_MOUNT_LEN]; /* as the process sees it; "": not known */
	uint32_t files; /* in its topmost folder; UINT32_MAX: not known */
	uint32_t largest_count;
	uint64_t named_bytes; /* what these files take together */
	struct tmpfs_file largest[TMPFS_LARGEST]; /* first the largest */
};

/* `dev`: major << 20 | minor, as the kernel has it. 0 or -errno (-ESRCH, -EINVAL: the process is
 * gone), and the output is then as it was. */
int read_tmpfs_use(const char *root, pid_t pid, uint32_t dev, struct tmpfs_use *ret);

#endif /* OOMSNOOP_FACTS_TMPFS_H */
