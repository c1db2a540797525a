/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learn.h: names of processes and cgroups, learnt while they live: all that are there at the start,
 * then what the hooks tell. Nothing here touches a process that is being killed.
 */
#ifndef OOMSNOOP_CMD_LEARN_H
#define OOMSNOOP_CMD_LEARN_H

#include <stdint.h>

#include "facts/cgroupfs.h"
#include "model/cgroup.h"
#include "model/containers.h"
#include "model/process.h"
#include "source/decode.h"

struct names {
	struct processes *processes;
	struct cgroups *cgroups;
	struct containers *containers;
	struct names_reader *reader; /* of the host's file system */
	uint64_t look_ns; /* when names of containers are looked for again at the earliest */
	struct cgroup_mount mount;
	bool mounted; /* mount is valid */
	bool host_proc; /* /proc shows the host's pids: otherwise a pid there is another process */
};

/* `host_root`: see names_reader_new(). 0 or -errno. A missing cgroup mount is no error: paths then
 * come from the records alone. There are as many places for containers as for cgroups. */
int names_open(struct names *names, const char *host_root, size_t processes, size_t cgroups);
void names_close(struct names *names);

/* Everything that lives now. */
void names_learn_all(struct names *names, uint64_t now_ns);

/* Fork, exec, exit and cgroup records; others are passed over. */
void names_learn(struct names *names, const struct fact *fact);

/* Names of containers that came to be since: a few files a tick, since this waits for the disk. */
void names_tick(struct names *names, uint64_t now_ns);

#endif /* OOMSNOOP_CMD_LEARN_H */
