// SPDX-License-Identifier: Apache-2.0
#include "facts/oomrules.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "facts/file.h"
#include "facts/scan.h"

int parse_oom_kill_disable(const char *text, size_t len)
{
	struct scan scan = scan_of(text, len), line;
	uint64_t value;

	while (scan_line(&scan, &line)) {
		if (scan_text(&line, "oom_kill_disable ") && scan_u64(&line, &value) &&
			scan_done(&line) && value <= 1)
			return (int)value;
	}
	return -1;
}

static int small_number(const char *root, const char *path)
{
	int64_t value;

	return !file_read_i64(root, path, &value) && value >= 0 && value <= 1000 ? (int)value : -1;
}

static void read_v1_rules(const char *dir, struct oom_rules *rules)
{
	int swappiness = small_number(dir, "/memory.swappiness");
	char text[512];
	ssize_t len = file_read(dir, "/memory.oom_control", text, sizeof(text));

	if (len > 0)
		rules->kill_disabled = parse_oom_kill_disable(text, (size_t)len);
	if (swappiness >= 0)
		rules->swappiness = (uint32_t)swappiness;
}

void read_oom_rules(const char *root, const struct cgroup_mount *mount, const char *cgroup,
	struct oom_rules *ret)
{
	char dir[PATH_MAX];

	*ret = (struct oom_rules) {
		.panic_on_oom = small_number(root, "/proc/sys/vm/panic_on_oom"),
		.kill_allocating_task = small_number(root, "/proc/sys/vm/oom_kill_allocating_task"),
		.kill_disabled = -1,
		.swappiness = UINT32_MAX,
	};
	if (cgroup && !mount->v2 && !cgroup_dir(mount, cgroup, dir, sizeof(dir)))
		read_v1_rules(dir, ret);
}

bool cgroup_is_below(const char *cgroup, const char *top)
{
	size_t len = strlen(top);

	if (strcmp(top, "/") == 0)
		return cgroup[0] == '/';
	return strncmp(cgroup, top, len) == 0 && (cgroup[len] == '/' || cgroup[len] == '\0');
}

static bool has_oom_group(const struct cgroup_mount *mount, const char *cgroup)
{
	char dir[PATH_MAX];

	return !cgroup_dir(mount, cgroup, dir, sizeof(dir)) &&
	       small_number(dir, "/memory.oom.group") == 1;
}

void read_oom_group(const struct cgroup_mount *mount, const char *cgroup, const char *top,
	char *ret_path, size_t size)
{
	char path[PATH_MAX];

	ret_path[0] = '\0';
	if (!mount->v2 || strlen(cgroup) >= sizeof(path) || strlen(cgroup) >= size)
		return;
	strcpy(path, cgroup);
	while (cgroup_is_below(path, top)) {
		char *slash = strrchr(path, '/');

		if (has_oom_group(mount, path))
			strcpy(ret_path, path);
		if (strcmp(path, "/") == 0)
			return;
		slash[slash == path] = '\0';
	}
}
