// SPDX-License-Identifier: Apache-2.0
#include "facts/quota.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "facts/file.h"
#include "facts/scan.h"

#define CONTAINER_ID_LEN 64

bool quota_is_container(const char *cgroup)
{
	size_t digits = 0;

	for (; *cgroup; cgroup++) {
		digits = isxdigit((unsigned char)*cgroup) ? digits + 1 : 0;
		/* Exactly that many: a longer row of digits is something else. */
		if (digits == CONTAINER_ID_LEN && !isxdigit((unsigned char)cgroup[1]))
			return true;
	}
	return false;
}

static bool has_file(const struct cgroup_mount *mount, const char *cgroup, const char *name)
{
	char path[PATH_MAX];
	size_t len;

	if (cgroup_dir(mount, cgroup, path, sizeof(path)))
		return false;
	len = strlen(path);
	return !file_path("/", name, path + len, sizeof(path) - len) && access(path, F_OK) == 0;
}

/*
 * The hierarchy's true root, not that of a namespace: the kernel leaves memory.max out of it on v2,
 * and puts release_agent nowhere else on v1.
 */
static bool is_true_root(const struct cgroup_mount *mount, const char *cgroup)
{
	if (mount->v2)
		return has_file(mount, cgroup, "cgroup.procs") &&
		       !has_file(mount, cgroup, "cgroup.type");
	return has_file(mount, cgroup, "release_agent");
}

/* "/a/b" -> "/a" -> "/"; false at the top. */
static bool to_parent(char *cgroup)
{
	char *slash = strrchr(cgroup, '/');

	if (!slash || strcmp(cgroup, "/") == 0)
		return false;
	slash[slash == cgroup] = '\0';
	return true;
}

int read_quota_levels(const struct cgroup_mount *mount, const char *cgroup, struct quota *ret)
{
	char path[QUOTA_PATH];
	unsigned int count = 0;

	if (strlen(cgroup) >= sizeof(path))
		return -ENAMETOOLONG;
	strcpy(path, cgroup);
	ret->complete = false;
	do {
		struct quota_level *level = &ret->levels[count];
		int err = read_cgroup_limits(mount, path, &level->limits);

		/* Above what is mounted here. */
		if (err && count > 0)
			break;
		if (err)
			return err;
		strcpy(level->cgroup, path);
		ret->complete = is_true_root(mount, path);
		count++;
	} while (count < QUOTA_LEVELS && to_parent(path));
	ret->level_count = count;
	ret->v2 = mount->v2;
	ret->container = !ret->complete || quota_is_container(cgroup);
	return 0;
}

static void read_use(const struct cgroup_mount *mount, struct quota *quota)
{
	int tightest = quota_tightest(quota);

	quota->use_level = tightest < 0 ? 0 : (unsigned int)tightest;
	quota->has_use =
		!read_memory_use(mount, quota->levels[quota->use_level].cgroup, &quota->use);
}

int read_quota(const char *root, struct quota *ret)
{
	struct cgroup_mount mount;
	char cgroup[QUOTA_PATH];
	struct quota quota = {0};
	int err;

	err = read_meminfo(root, &quota.host);
	if (err)
		return err;
	err = read_own_memory_mount(root, &mount, cgroup, sizeof(cgroup));
	if (err)
		return err;
	err = read_quota_levels(&mount, cgroup, &quota);
	if (err)
		return err;
	read_use(&mount, &quota);
	*ret = quota;
	return 0;
}

static bool is_limit(uint64_t bytes)
{
	return bytes != UNKNOWN_U64 && bytes != CGROUP_NO_LIMIT;
}

int quota_tightest(const struct quota *quota)
{
	uint64_t lowest = CGROUP_NO_LIMIT;
	int tightest = -1;

	for (unsigned int i = 0; i < quota->level_count; i++) {
		uint64_t max = quota->levels[i].limits.max_bytes;

		if (!is_limit(max) || max > lowest)
			continue;
		lowest = max;
		tightest = (int)i;
	}
	return tightest;
}

int quota_nearest(const struct quota *quota, uint64_t *ret_left_bytes)
{
	uint64_t least = UINT64_MAX;
	int nearest = -1;

	for (unsigned int i = 0; i < quota->level_count; i++) {
		const struct cgroup_limits *limits = &quota->levels[i].limits;
		uint64_t left;

		if (!is_limit(limits->max_bytes) || limits->usage_bytes == UNKNOWN_U64)
			continue;
		left = limits->max_bytes > limits->usage_bytes
			       ? limits->max_bytes - limits->usage_bytes
			       : 0;
		if (left > least)
			continue;
		least = left;
		nearest = (int)i;
	}
	if (nearest >= 0)
		*ret_left_bytes = least;
	return nearest;
}

uint64_t quota_hidden_max(const struct quota *quota)
{
	int tightest = quota_tightest(quota);
	uint64_t lowest = tightest < 0 ? CGROUP_NO_LIMIT : quota->levels[tightest].limits.max_bytes;

	if (!quota->has_use || quota->complete || !is_limit(quota->use.hierarchy_max_bytes) ||
		quota->use.hierarchy_max_bytes >= lowest)
		return CGROUP_NO_LIMIT;
	return quota->use.hierarchy_max_bytes;
}

/* v1 limits memory and swap together: what is above the limit on memory is for swap. */
static uint64_t level_swap(const struct quota *quota, const struct cgroup_limits *limits)
{
	uint64_t max = limits->swap_max_bytes;

	if (quota->v2 || !is_limit(max) || !is_limit(limits->max_bytes))
		return max;
	return max > limits->max_bytes ? max - limits->max_bytes : 0;
}

uint64_t quota_swap_bytes(const struct quota *quota)
{
	uint64_t lowest = quota->host.swap_total_bytes;

	for (unsigned int i = 0; i < quota->level_count; i++) {
		uint64_t max = level_swap(quota, &quota->levels[i].limits);

		if (is_limit(max) && max < lowest)
			lowest = max;
	}
	return lowest;
}

uint64_t quota_bytes(const struct quota *quota)
{
	int tightest = quota_tightest(quota);
	uint64_t hidden = quota_hidden_max(quota), least = quota->host.total_bytes;

	if (tightest >= 0 && quota->levels[tightest].limits.max_bytes < least)
		least = quota->levels[tightest].limits.max_bytes;
	return hidden < least ? hidden : least;
}
