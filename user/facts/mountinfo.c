// SPDX-License-Identifier: Apache-2.0
/* Where the memory hierarchy is mounted, out of /proc/PID/mountinfo (proc(5)). */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts/cgroupfs.h"
#include "facts/file.h"
#include "facts/scan.h"

#define MOUNTINFO_MAX (64U << 20) /* a node with thousands of containers has megabytes */

struct mount_line {
	struct scan root, point, type, super_options;
};

/* "36 35 98:0 /root /point rw,noatime master:1 - type source super,options" */
static bool split_line(struct scan line, struct mount_line *ret)
{
	struct scan field;

	for (int i = 0; i < 3; i++) {
		if (!scan_field(&line, ' ', &field))
			return false;
	}
	if (!scan_field(&line, ' ', &ret->root) || !scan_field(&line, ' ', &ret->point))
		return false;
	/* mount options, then any number of optional fields up to a single dash */
	do {
		if (!scan_field(&line, ' ', &field))
			return false;
	} while (!scan_equals(&field, "-"));
	return scan_field(&line, ' ', &ret->type) && scan_field(&line, ' ', &field) &&
	       scan_field(&line, ' ', &ret->super_options);
}

static bool octal_escape(const char *at, size_t left, char *ret)
{
	if (left < 4 || at[0] != '\\' || at[1] < '0' || at[1] > '3')
		return false;
	for (int i = 2; i < 4; i++) {
		if (at[i] < '0' || at[i] > '7')
			return false;
	}
	*ret = (char)(((at[1] - '0') << 6) | ((at[2] - '0') << 3) | (at[3] - '0'));
	return true;
}

/* Undoes the \040 of blanks, tabs, newlines and backslashes. */
static int unescape(struct scan field, char *ret, size_t size)
{
	size_t len = 0;

	while (!scan_done(&field)) {
		char c = *field.at;

		if (octal_escape(field.at, scan_left(&field), &c))
			field.at += 3;
		field.at++;
		if (len + 1 >= size || c == '\0')
			return -ENAMETOOLONG;
		ret[len++] = c;
	}
	ret[len] = '\0';
	return 0;
}

/*
 * How much of the hierarchy a mount shows. Seen from a cgroup namespace, "/.." and "/../.." lie
 * above its own root, so each step up is worth more; a mount of one named cgroup shows the least.
 */
static int mount_rank(const char *root)
{
	int ups = 0;

	if (strcmp(root, "/") == 0)
		return 1;
	while (strncmp(root, "/..", 3) == 0 && (root[3] == '/' || root[3] == '\0')) {
		root += 3;
		ups++;
	}
	return *root == '\0' ? 1 + ups : 0;
}

/* The cgroup can be reached by its name: below the mount's root, or NULL: it does not matter. */
static bool shows(const struct cgroup_mount *mount, const char *cgroup)
{
	size_t len = strlen(mount->root);

	if (!cgroup || strcmp(mount->root, "/") == 0)
		return true;
	return strncmp(cgroup, mount->root, len) == 0 &&
	       (cgroup[len] == '/' || cgroup[len] == '\0');
}

/* v1 before v2; then one that shows the cgroup; then the one that shows more; then the later one,
 * if it covers the earlier. */
static bool better_mount(
	const struct cgroup_mount *old, const struct cgroup_mount *candidate, const char *cgroup)
{
	if (old->v2 != candidate->v2)
		return old->v2;
	if (strcmp(old->path, candidate->path) == 0)
		return true;
	if (shows(old, cgroup) != shows(candidate, cgroup))
		return shows(candidate, cgroup);
	return mount_rank(candidate->root) > mount_rank(old->root);
}

static bool memory_mount(struct scan line, struct cgroup_mount *ret)
{
	struct mount_line mount;

	if (!split_line(line, &mount))
		return false;
	if (scan_equals(&mount.type, "cgroup2"))
		ret->v2 = true;
	else if (scan_equals(&mount.type, "cgroup") && scan_has_word(mount.super_options, "memory"))
		ret->v2 = false;
	else
		return false;
	return !unescape(mount.point, ret->path, sizeof(ret->path)) &&
	       !unescape(mount.root, ret->root, sizeof(ret->root));
}

static int find_mount(const char *text, const char *cgroup, struct cgroup_mount *ret)
{
	struct scan scan = scan_of(text, strlen(text)), line;
	struct cgroup_mount best, candidate;
	bool found = false;

	while (scan_line(&scan, &line)) {
		if (!memory_mount(line, &candidate))
			continue;
		if (!found || better_mount(&best, &candidate, cgroup))
			best = candidate;
		found = true;
	}
	if (!found)
		return -ENOENT;
	*ret = best;
	return 0;
}

int parse_mountinfo_memory(const char *text, struct cgroup_mount *ret)
{
	return find_mount(text, NULL, ret);
}

int parse_mountinfo_type(const char *text, const char *type, char *ret_path, size_t size)
{
	struct scan scan = scan_of(text, strlen(text)), line;
	char path[PATH_MAX];
	struct mount_line mount;

	while (scan_line(&scan, &line)) {
		if (!split_line(line, &mount) || !scan_equals(&mount.type, type) ||
			unescape(mount.point, path, sizeof(path)))
			continue;
		if (strlen(path) >= size)
			return -ENAMETOOLONG;
		strcpy(ret_path, path);
		return 0;
	}
	return -ENOENT;
}

static int read_mount_of(const char *root, const char *cgroup, struct cgroup_mount *ret)
{
	struct cgroup_mount mount;
	char path[sizeof(mount.path)];
	char *text;
	size_t len;
	int err;

	err = file_read_all(root, "/proc/self/mountinfo", MOUNTINFO_MAX, &text, &len);
	if (err)
		return err;
	err = find_mount(text, cgroup, &mount);
	free(text);
	if (err)
		return err;
	/* All that is read below the mount later has to go through the root, too. */
	err = file_path(root, mount.path, path, sizeof(path));
	if (err)
		return err;
	memcpy(mount.path, path, sizeof(path));
	*ret = mount;
	return 0;
}

int read_memory_mount(const char *root, struct cgroup_mount *ret)
{
	return read_mount_of(root, NULL, ret);
}

int read_own_memory_mount(const char *root, struct cgroup_mount *ret, char *ret_cgroup, size_t size)
{
	struct cgroup_mount mount;
	int err = read_memory_mount(root, &mount);

	if (err)
		return err;
	err = read_proc_cgroup(root, 0, mount.v2, ret_cgroup, size);
	if (err)
		return err;
	err = read_mount_of(root, ret_cgroup, &mount);
	if (err)
		return err;
	/* The top of a namespace has no name in a mount from above it. */
	if (!shows(&mount, ret_cgroup))
		return -ENOENT;
	*ret = mount;
	return 0;
}

int parse_mountinfo_device(
	const char *text, unsigned int major, unsigned int minor, char *ret_path, size_t size)
{
	struct scan scan = scan_of(text, strlen(text)), line;
	struct mount_line mount;
	char wanted[32];
	int ret = -ENOENT;

	snprintf(wanted, sizeof(wanted), "%u:%u", major, minor);
	while (scan_line(&scan, &line)) {
		struct scan rest = line, field;

		for (int i = 0; i < 3; i++)
			if (!scan_field(&rest, ' ', &field))
				break;
		if (!scan_equals(&field, wanted) || !split_line(line, &mount))
			continue;
		/* All of it, rather than a folder that is bound elsewhere. */
		if (ret && !unescape(mount.point, ret_path, size))
			ret = 0;
		if (scan_equals(&mount.root, "/"))
			return unescape(mount.point, ret_path, size);
	}
	return ret;
}
