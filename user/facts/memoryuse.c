// SPDX-License-Identifier: Apache-2.0
#include "facts/memoryuse.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "facts/host.h"
#include "facts/scan.h"

#define STAT_BYTES 8192
/* As in cgroupfs.c: LONG_MAX rounded down to pages. */
#define V1_NO_LIMIT 0x7fffffffffff0000ULL

struct use_key {
	const char *v2, *v1; /* NULL: not in that version */
	size_t offset;
};

#define KEY(v2, v1, field)                                                                         \
	{                                                                                          \
		v2, v1, offsetof(struct memory_use, field)                                         \
	}
static const struct use_key keys[] = {
	KEY("anon", "total_rss", anon_bytes),
	KEY("shmem", "total_shmem", shmem_bytes),
	KEY("inactive_file", "total_inactive_file", inactive_file_bytes),
	KEY("active_file", "total_active_file", active_file_bytes),
	KEY("file_dirty", "total_dirty", dirty_bytes),
	KEY("file_writeback", "total_writeback", writeback_bytes),
	KEY("unevictable", "total_unevictable", unevictable_bytes),
	KEY("kernel", NULL, kernel_bytes),
	KEY("slab_reclaimable", NULL, slab_reclaimable_bytes),
	KEY(NULL, "hierarchical_memory_limit", hierarchy_max_bytes),
};
#undef KEY

static bool use_line(struct scan line, bool v2, struct memory_use *use)
{
	struct scan name;
	uint64_t value;

	if (!scan_field(&line, ' ', &name) || !scan_u64(&line, &value) || !scan_done(&line))
		return false;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *key = v2 ? keys[i].v2 : keys[i].v1;

		if (!key || !scan_equals(&name, key))
			continue;
		*(uint64_t *)((char *)use + keys[i].offset) = value;
		return true;
	}
	return false;
}

int parse_memory_use(const char *text, bool v2, struct memory_use *ret)
{
	struct scan scan = scan_of(text, strlen(text)), line;
	struct memory_use use;
	bool any = false;

	memset(&use, 0xff, sizeof(use)); /* UNKNOWN_U64 */
	while (scan_line(&scan, &line))
		any |= use_line(line, v2, &use);
	if (!any)
		return -EINVAL;
	if (use.hierarchy_max_bytes >= V1_NO_LIMIT && use.hierarchy_max_bytes != UNKNOWN_U64)
		use.hierarchy_max_bytes = CGROUP_NO_LIMIT;
	*ret = use;
	return 0;
}

int read_memory_use(const struct cgroup_mount *mount, const char *cgroup, struct memory_use *ret)
{
	char text[STAT_BYTES], number[64];
	ssize_t len = read_cgroup_file(mount, cgroup, "/memory.stat", text, sizeof(text));
	struct scan scan;
	uint64_t kernel;
	int err;

	if (len < 0)
		return (int)len;
	/* A line that the buffer cut in two would give a number that is not the kernel's. */
	if (len == (ssize_t)sizeof(text) - 1)
		*(strrchr(text, '\n') ?: text) = '\0';
	err = parse_memory_use(text, mount->v2, ret);
	if (err || mount->v2)
		return err;
	len = read_cgroup_file(
		mount, cgroup, "/memory.kmem.usage_in_bytes", number, sizeof(number));
	scan = scan_of(number, len > 0 ? strcspn(number, "\n") : 0);
	if (scan_u64(&scan, &kernel) && scan_done(&scan))
		ret->kernel_bytes = kernel;
	return 0;
}

uint64_t memory_use_cache(const struct memory_use *use, uint64_t *ret_dirty_bytes)
{
	uint64_t cache, dirty = 0;

	*ret_dirty_bytes = 0;
	if (use->inactive_file_bytes == UNKNOWN_U64 || use->active_file_bytes == UNKNOWN_U64)
		return UNKNOWN_U64;
	cache = use->inactive_file_bytes + use->active_file_bytes;
	if (use->dirty_bytes != UNKNOWN_U64)
		dirty += use->dirty_bytes;
	if (use->writeback_bytes != UNKNOWN_U64)
		dirty += use->writeback_bytes;
	*ret_dirty_bytes = dirty < cache ? dirty : cache;
	return cache;
}
