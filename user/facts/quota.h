/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quota.h: how much memory this process may really use: every memory limit from its own cgroup to
 * the top, against the machine's memory, which is all that `free` shows.
 */
#ifndef OOMSNOOP_FACTS_QUOTA_H
#define OOMSNOOP_FACTS_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "facts/cgroupfs.h"
#include "facts/host.h"
#include "facts/memoryuse.h"

#define QUOTA_LEVELS 24
#define QUOTA_PATH 512

struct quota_level {
	char cgroup[QUOTA_PATH];
	struct cgroup_limits limits;
};

struct quota {
	struct host_memory host;
	bool v2;
	bool complete; /* the last level is the hierarchy's root: no limit can hide above it */
	bool container; /* seen from a container: its own namespace, mount or a runtime's cgroup */
	unsigned int level_count;
	struct quota_level levels[QUOTA_LEVELS]; /* own cgroup first */
	bool has_use; /* `use` is of the level with the tightest limit; where none has one, of our
			 own */
	unsigned int use_level;
	struct memory_use use;
};

/* 0 or -errno: no memory controller is to be seen, or /proc is not there. */
int read_quota(const char *root, struct quota *ret);

/* Fills all of ret but host: the levels of one cgroup below a mount. */
int read_quota_levels(const struct cgroup_mount *mount, const char *cgroup, struct quota *ret);

/* Index of the level with the lowest memory limit, the outermost of equals; -1: none has one. */
int quota_tightest(const struct quota *quota);

/* Index of the level that will be full first, and what is left there; -1: none has a limit. */
int quota_nearest(const struct quota *quota, uint64_t *ret_left_bytes);

/* v1: the lowest limit of all levels is one that cannot be seen, above those that can; its bytes,
 * else CGROUP_NO_LIMIT. */
uint64_t quota_hidden_max(const struct quota *quota);

/* Swap that may be used beside: the lowest limit of all levels, or the machine's swap if that is
 * less. UNKNOWN_U64: not told. */
uint64_t quota_swap_bytes(const struct quota *quota);

/* What may be used: the tightest limit or the machine's memory, whichever is less. */
uint64_t quota_bytes(const struct quota *quota);

/* True for names that container runtimes give: 64 hexadecimal digits with what they put around. */
bool quota_is_container(const char *cgroup);

#endif /* OOMSNOOP_FACTS_QUOTA_H */
