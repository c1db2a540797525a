/* SPDX-License-Identifier: Apache-2.0 */
/* stalls.h: what a standstill at memory.high comes to: one verdict, high-livelock. Pure. */
#ifndef OOMSNOOP_JUDGE_STALLS_H
#define OOMSNOOP_JUDGE_STALLS_H

#include "judge/judgement.h"
#include "model/stalling.h"

#define STALL_PROCESSES 3 /* those that hold most */

struct stall_process {
	uint32_t tgid;
	uint64_t start_ns, held_bytes;
	char comm[EV_COMM_LEN + 1];
};

/* A stall with what else is known of its cgroup. */
struct stall_scene {
	struct stall stall;
	bool ended; /* else it has just been told to have begun */
	const char *path; /* "": not known */
	const struct container_names *names; /* NULL: none are known */
	unsigned int process_count; /* 0: nobody is known to hold anything there */
	struct stall_process processes[STALL_PROCESSES];
};

void judge_stall(const struct stall_scene *scene, struct verdict *ret);

#endif /* OOMSNOOP_JUDGE_STALLS_H */
