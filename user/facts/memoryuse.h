/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memoryuse.h: what of a cgroup's memory the kernel gives back when it gets tight, and what not,
 * out of its memory.stat. Bytes; UNKNOWN_U64: not told. 0 or -errno.
 *
 * The lists of file pages hold no tmpfs and no shared memory: those are of the anonymous lists, and
 * go only where there is swap. Locked pages are on neither. Source: mm/memcontrol.c
 * memory_stats[], mm/vmscan.c.
 */
#ifndef OOMSNOOP_FACTS_MEMORYUSE_H
#define OOMSNOOP_FACTS_MEMORYUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "facts/cgroupfs.h"

struct memory_use {
	uint64_t anon_bytes;
	uint64_t shmem_bytes;
	uint64_t inactive_file_bytes, active_file_bytes;
	uint64_t dirty_bytes, writeback_bytes; /* of the file pages: to be written first */
	uint64_t unevictable_bytes; /* locked, and ramfs */
	uint64_t kernel_bytes; /* v2 from 5.18 on; v1: memory.kmem.usage_in_bytes */
	uint64_t slab_reclaimable_bytes; /* v2; a part of kernel_bytes */
	uint64_t hierarchy_max_bytes; /* v1: the lowest limit of this cgroup and all above it, of
					 those, too, that cannot be seen. CGROUP_NO_LIMIT */
};

int parse_memory_use(const char *text, bool v2, struct memory_use *ret);
int read_memory_use(const struct cgroup_mount *mount, const char *cgroup, struct memory_use *ret);

/* Page cache that is given back: all of it, and of that what has to be written before. UNKNOWN_U64
 * where the lists are not told. */
uint64_t memory_use_cache(const struct memory_use *use, uint64_t *ret_dirty_bytes);

#endif /* OOMSNOOP_FACTS_MEMORYUSE_H */
