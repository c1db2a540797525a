/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room.h: how much more memory this process's own cgroup can take before a limit is met, page cache
 * that can be dropped counted as free.
 */
#ifndef OOMSNOOP_FACTS_ROOM_H
#define OOMSNOOP_FACTS_ROOM_H

#include <stdint.h>

#include "facts/quota.h"

struct memory_room {
	uint64_t room_bytes; /* UNKNOWN_U64: no limit is to be seen */
	uint64_t max_bytes,
		used_bytes; /* of the level with the least room; used without the cache */
	char cgroup[QUOTA_PATH]; /* that level */
};

/* 0 or -errno, as read_quota(). A level whose memory.stat cannot be read has no cache. */
int read_memory_room(const char *root, struct memory_room *ret);

#endif /* OOMSNOOP_FACTS_ROOM_H */
