/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history.h: series of memory over time, as they go from the flight recorder into the store and
 * from there into a chart.
 *
 * A series belongs to a process, a cgroup or the machine. It is told as its owner, then its points,
 * oldest first. A value holds until the next point: what does not move has no points. Units: bytes;
 * times as the teller says.
 *
 * An owner may be told again, with points that join those told before, or with none: what is told
 * of it then holds from there on (it ended, its limit changed). A process has no point for its end:
 * from exited_ns on it holds nothing, whatever its last point says. What a kill tells of a process
 * comes with a time a little after that of the kill, and holds for the kill.
 */
#ifndef OOMSNOOP_MODEL_HISTORY_H
#define OOMSNOOP_MODEL_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"

#define HISTORY_VALUES 4
#define HISTORY_PROCESSES 1024 /* of one window: the largest */

enum history_kind {
	HISTORY_HOST = 1, /* values: used (total less available) */
	HISTORY_CGROUP = 2, /* values: usage, charged by its own processes (-1: not counted) */
	HISTORY_PROCESS = 3, /* values: resident (anon, file and shmem), swap, private copies beyond
				that, cached (what its reads, writes and charges account for that no
				address space shows: at most) */
};

enum history_value {
	HISTORY_USED = 0,
	HISTORY_USAGE = 0,
	HISTORY_CHARGED = 1,
	HISTORY_RESIDENT = 0,
	HISTORY_SWAP = 1,
	HISTORY_COW = 2,
	HISTORY_CACHED = 3,
};

struct history_owner {
	enum history_kind kind;
	uint64_t cgroup_id; /* kernfs id: the cgroup's own, or the process's; 0: not known */
	/* cgroups, machine */
	uint64_t parent_id; /* kernfs id; 0: the root, or not known */
	uint64_t max_bytes; /* limit or size now; UINT64_MAX: none */
	/* processes */
	uint32_t tgid, ppid;
	uint32_t root_tgid; /* of its family: who executed the program that it runs */
	uint64_t start_ns, root_start_ns; /* CLOCK_BOOTTIME */
	uint64_t exited_ns; /* CLOCK_BOOTTIME; 0: alive */
	uint64_t shared_bytes; /* what it was forked with and has in common with its family, copies
				  (HISTORY_COW) not taken off; 0: nothing */
	char comm[EV_COMM_LEN + 1];
};

struct history_point {
	int64_t time_ns;
	int64_t values[HISTORY_VALUES];
};

/* Takes series as they are told. */
struct history_taker {
	void (*owner)(const struct history_owner *owner, void *arg);
	void (*point)(const struct history_point *point, void *arg); /* of the owner told last */
	void *arg;
};

#endif /* OOMSNOOP_MODEL_HISTORY_H */
