/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroupprocs.h: who is in a cgroup, as its files tell those who may only read them. 0 or -errno.
 * Source: Documentation/admin-guide/cgroup-v2.rst.
 */
#ifndef OOMSNOOP_FACTS_CGROUPPROCS_H
#define OOMSNOOP_FACTS_CGROUPPROCS_H

#include <sys/types.h>

#include "facts/cgroupfs.h"

struct cgroup_members {
	unsigned int hidden; /* shown as 0: in no pid namespace that can be seen from here */
	bool cut; /* there are more than were read */
};

/*
 * Calls fn for every process of the cgroup itself, not of those below it; stops at its first
 * non-zero return and returns that. -EOPNOTSUPP: a threaded cgroup has no such list.
 */
int read_cgroup_procs(const struct cgroup_mount *mount, const char *cgroup,
	int (*fn)(pid_t pid, void *arg), void *arg, struct cgroup_members *ret);

#endif /* OOMSNOOP_FACTS_CGROUPPROCS_H */
