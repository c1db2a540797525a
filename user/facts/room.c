// SPDX-License-Identifier: Apache-2.0
#include "facts/room.h"

#include <string.h>

#include "facts/cgroupfs.h"
#include "facts/host.h"

/* File pages but shared memory, which has nowhere to go. Dirty ones are written back first, and
 * that is waited for. */
static uint64_t cache_of(const struct cgroup_mount *mount, const char *cgroup)
{
	struct cgroup_stat stat;

	if (read_cgroup_stat(mount, cgroup, &stat) || stat.file_bytes == UNKNOWN_U64)
		return 0;
	if (stat.shmem_bytes == UNKNOWN_U64)
		return stat.file_bytes;
	return stat.file_bytes > stat.shmem_bytes ? stat.file_bytes - stat.shmem_bytes : 0;
}

static void take_level(
	const struct cgroup_mount *mount, const struct quota_level *level, struct memory_room *room)
{
	uint64_t max = level->limits.max_bytes, usage = level->limits.usage_bytes, cache, left;

	if (max == UNKNOWN_U64 || max == CGROUP_NO_LIMIT || usage == UNKNOWN_U64)
		return;
	cache = cache_of(mount, level->cgroup);
	usage = usage > cache ? usage - cache : 0;
	left = max > usage ? max - usage : 0;
	/* The outermost of equals, as everywhere. */
	if (room->room_bytes != UNKNOWN_U64 && left > room->room_bytes)
		return;
	room->room_bytes = left;
	room->max_bytes = max;
	room->used_bytes = usage;
	memcpy(room->cgroup, level->cgroup, sizeof(room->cgroup));
}

int read_memory_room(const char *root, struct memory_room *ret)
{
	struct memory_room room = {
		.room_bytes = UNKNOWN_U64, .max_bytes = UNKNOWN_U64, .used_bytes = UNKNOWN_U64};
	static struct quota quota;
	struct cgroup_mount mount;
	char cgroup[QUOTA_PATH];
	int err = read_own_memory_mount(root, &mount, cgroup, sizeof(cgroup));

	if (!err)
		err = read_quota_levels(&mount, cgroup, &quota);
	if (err)
		return err;
	for (unsigned int i = 0; i < quota.level_count; i++)
		take_level(&mount, &quota.levels[i], &room);
	*ret = room;
	return 0;
}
