/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oomrules.h: what else decides an OOM, besides the points: settings by which somebody else dies,
 * more than one dies, or nobody does.
 *
 * Paths of cgroups and mounts as in cgroupfs.h. What cannot be read is -1, or UINT32_MAX.
 * Source: Documentation/admin-guide/sysctl/vm.rst, cgroup-v1/memory.rst, cgroup-v2.rst.
 */
#ifndef OOMSNOOP_FACTS_OOMRULES_H
#define OOMSNOOP_FACTS_OOMRULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "facts/cgroupfs.h"

struct oom_rules {
	int panic_on_oom; /* 1: when the machine is out of memory, 2: a cgroup, too */
	int kill_allocating_task; /* of the machine: whoever asks dies; for cgroups it is not asked
				   */
	/* of one cgroup of version 1; on version 2 there is neither */
	int kill_disabled; /* memory.oom_control's oom_kill_disable */
	uint32_t swappiness; /* memory.swappiness, which stands there for vm.swappiness */
};

/* The machine's, and those of a cgroup unless that is NULL. */
void read_oom_rules(const char *root, const struct cgroup_mount *mount, const char *cgroup,
	struct oom_rules *ret);

/* The text of version 1's memory.oom_control -> 0, 1, or -1. */
int parse_oom_kill_disable(const char *text, size_t len);

/*
 * With whom a victim dies: the topmost cgroup from its own up to `top` (the one whose limit is hit;
 * "/": the machine) that has memory.oom.group set. "" where none has; version 1 knows no such
 * thing.
 */
void read_oom_group(const struct cgroup_mount *mount, const char *cgroup, const char *top,
	char *ret_path, size_t size);

/* "/a/b" is below "/a" and "/a/b", not "/a/bc"; everything is below "/". */
bool cgroup_is_below(const char *cgroup, const char *top);

#endif /* OOMSNOOP_FACTS_OOMRULES_H */
