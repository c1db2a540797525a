/* SPDX-License-Identifier: Apache-2.0 */
/* rank_collect.h: every process that the kernel would weigh, read once out of /proc. */
#ifndef OOMSNOOP_CMD_RANK_COLLECT_H
#define OOMSNOOP_CMD_RANK_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "facts/cgroupfs.h"
#include "judge/rank.h"

struct collection {
	struct rank_candidate *candidates;
	size_t count, room;
	char **texts; /* that the candidates point to */
	size_t text_count, text_room;
	size_t unreadable;
	const char *unreadable_why; /* of the first of them; NULL: none */
	bool initial_pid_namespace; /* pid 1 is init, which the kernel spares */
	uint32_t page_size;
};

/*
 * Both append, in the order in which the kernel scans as far as that can be seen; kernel threads,
 * this process itself and what vanishes meanwhile are left out. 0 or -errno: -ENOMEM, or the list
 * could not be read.
 */
int collect_machine(struct collection *collection, const struct cgroup_mount *mount);
int collect_cgroup(
	struct collection *collection, const struct cgroup_mount *mount, const char *cgroup);

/* Reads the command lines of the first `count` in their present order: last of all and of few,
 * since it takes a lock that a process short of memory may hold. */
int collect_commands(struct collection *collection, size_t count);

void collection_free(struct collection *collection);

#endif /* OOMSNOOP_CMD_RANK_COLLECT_H */
