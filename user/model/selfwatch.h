/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selfwatch.h: kills noticed from within a cgroup, by who may do nothing but read: the kernel's
 * count of kills rises, and between two looks a process has vanished.
 *
 * Contract
 *   A look is: selfwatch_look(), a selfwatch_process() for each process that is there, a
 * selfwatch_cgroup() for each cgroup, selfwatch_looked(). The processes are read before the
 * counters: so who was missed at one look cannot be one of those that were counted after it. A kill
 * opens an episode: selfwatch_open() tells that looks should come fast. It is over when as many
 * processes have vanished as were killed and none is still dying, or after settle_ns; then
 * selfwatch_take() gives the incident.
 *
 *   Everything is taken by selfwatch_new(). What finds no room is counted.
 *
 * On cgroup v2 a cgroup counts the kills of all below it; on v1 each its own, so the rises of the
 * domain and of all below it are summed. Source: mm/memcontrol.c memcg_memory_event(),
 * mm/oom_kill.c.
 */
#ifndef OOMSNOOP_MODEL_SELFWATCH_H
#define OOMSNOOP_MODEL_SELFWATCH_H

#include "facts/cgroupfs.h"
#include "facts/pressure.h"
#include "model/growth.h"
#include "model/incident.h"

#define SELF_PROCESSES 2048
#define SELF_CGROUPS 96
#define SELF_GONE 256 /* that vanished; kept for as long as a kill may be counted for them */

struct selfwatch;

struct selfwatch_options {
	size_t processes; /* 0: SELF_PROCESSES */
	uint32_t page_size;
	uint64_t settle_ns; /* 0: 2 s */
	bool v2;
	bool complete; /* the levels reach up to the hierarchy's root */
};

struct self_process {
	struct task_facts task; /* as it was last read with memory in it: task.at_ns */
	uint64_t faults; /* UNKNOWN_U64 */
	bool named; /* set by who fills in cmdline and exe; falls with an exec */
	bool killed; /* SIGKILL was sent to it */
	bool told; /* an incident has it as its victim already, and it is still dying */
	uint64_t gone_ns; /* when it was first missed, or seen as a zombie; 0: it is there */
	uint64_t look; /* of the last look that showed it */
	char cmdline[INCIDENT_CMDLINE];
	char exe[PROCESS_EXE_LEN];
};

/* One process of a look. Counters of `task` are good with has_memory. */
struct self_sight {
	struct task_facts task;
	uint64_t faults;
	bool has_memory;
	bool zombie;
	bool killed;
};

/* One cgroup of a look. */
struct self_counts {
	uint64_t id, parent_id; /* kernfs ids; parent 0: it is the highest that can be seen */
	bool inside; /* the domain, or below it: its kills count, its processes are watched */
	bool domain;
	bool root; /* of the hierarchy itself */
	const char *path;
	struct cgroup_limits limits;
};

/* NULL with errno. */
struct selfwatch *selfwatch_new(const struct selfwatch_options *options);
void selfwatch_free(struct selfwatch *watch);

void selfwatch_look(struct selfwatch *watch, uint64_t now_ns);
/* The entry of this process, good until the next call. NULL: no room, or it is a zombie. */
struct self_process *selfwatch_process(struct selfwatch *watch, const struct self_sight *sight);
/* Processes of the watched cgroups that the look could not show. */
void selfwatch_hidden(struct selfwatch *watch, unsigned int count);
void selfwatch_cgroup(struct selfwatch *watch, const struct self_counts *counts);
/* How many kills were counted since the look before; the first look of all shows none. */
uint32_t selfwatch_looked(struct selfwatch *watch, uint64_t now_ns);

/* What the last look before a kill showed beside; kept until the next call. */
void selfwatch_stat(struct selfwatch *watch, const struct cgroup_stat *stat, uint64_t usage_bytes);
void selfwatch_pressure(struct selfwatch *watch, const struct pressure *pressure);

/* The look just made, as a pass of the recorder. */
void selfwatch_feed(const struct selfwatch *watch, struct growth *growth);

bool selfwatch_open(const struct selfwatch *watch); /* an episode is under way */
/* The incident of the open episode, where it is over, or `now`: whatever is known. Fills all but
 * number, host and growth. */
bool selfwatch_take(struct selfwatch *watch, uint64_t now_ns, bool now, struct incident *ret);
/* When it began: the last look before it, for a picture of the growth. */
uint64_t selfwatch_before(const struct selfwatch *watch);
/* The cgroup whose growth tells most: the limit's, else the domain. 0: none. */
uint64_t selfwatch_growth_id(const struct selfwatch *watch);

struct selfwatch_totals {
	size_t processes; /* in the table */
	uint64_t no_room; /* processes that found it full */
	uint64_t cgroups_no_room;
	uint64_t domain_kills; /* the kernel's count, of the domain and what it has below it */
};

struct selfwatch_totals selfwatch_totals(const struct selfwatch *watch);
/* Calls fn for each process that is there. */
void selfwatch_each(const struct selfwatch *watch,
	void (*fn)(const struct self_process *process, void *arg), void *arg);

#endif /* OOMSNOOP_MODEL_SELFWATCH_H */
