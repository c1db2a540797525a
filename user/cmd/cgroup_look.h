/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_look.h: one look at one's own cgroup: who is in it and below it, and the counters of every
 * level that can be seen. All of it is readable by whoever is in it, without any right.
 */
#ifndef OOMSNOOP_CMD_CGROUP_LOOK_H
#define OOMSNOOP_CMD_CGROUP_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "facts/quota.h"
#include "model/cgroup.h"
#include "model/selfwatch.h"

struct cgroup_view {
	struct cgroup_mount mount;
	struct cgroup_mount below; /* the same, from the domain on down */
	struct quota quota; /* the levels as they were at the start, own cgroup first */
	unsigned int domain; /* index of the level that is watched, with all below it */
	bool host_proc; /* /proc shows the host's pids */
	struct cgroups *cgroups; /* paths are learnt here */
};

/*
 * Where our own memory cgroup is, and which level is the one to watch: the outermost that can be
 * seen where that is not the root (then all of it is ours), else the nearest with a limit, else our
 * own. 0; -ENOENT: none is to be seen, or we are in the root, which counts no kills; other -errno.
 */
int cgroup_view_open(struct cgroup_view *view);

/* `closely`: whether a process is dying is looked at, too, and its names are not read, which could
 * wait for it. 0 or -errno: the domain could not be read. *ret_kills: counted since the last look.
 */
int cgroup_view_look(
	struct cgroup_view *view, struct selfwatch *watch, bool closely, uint32_t *ret_kills);

/* memory.stat and memory.pressure of the domain, for a kill that may come. */
void cgroup_view_stat(const struct cgroup_view *view, struct selfwatch *watch);

static inline const struct quota_level *cgroup_view_domain(const struct cgroup_view *view)
{
	return &view->quota.levels[view->domain];
}

#endif /* OOMSNOOP_CMD_CGROUP_LOOK_H */
