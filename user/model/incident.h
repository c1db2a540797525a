/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incident.h: one OOM invocation of the kernel, assembled from facts.
 *
 * Contract
 *   The assembler is given decoded records in the order in which they left the ring, and ticks of
 * the clock. It owns a fixed pool, allocated once by incidents_new(); nothing on the way from
 * record to finished incident allocates. Every record that finds no room is counted in the incident
 * that it belonged to. A process is (tgid, start_ns), never tgid alone.
 *
 * Units
 *   `_ns` CLOCK_BOOTTIME, `_pages` pages of the machine that made the facts (page_size of struct
 * host_facts), `_bytes`. A value that is not known is UNKNOWN_U64 (facts/host.h), never 0.
 */
#ifndef OOMSNOOP_MODEL_INCIDENT_H
#define OOMSNOOP_MODEL_INCIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "facts/cgroupfs.h"
#include "facts/host.h"
#include "model/cgroup.h"
#include "model/picture.h"
#include "model/process.h"
#include "source/decode.h"
#include "source/kmsg.h"

#define INCIDENT_CANDIDATES 64 /* the best ones, best first */
#define INCIDENT_VICTIMS 512
#define INCIDENT_CMDLINE PROCESS_CMDLINE_LEN
#define INCIDENT_PATH CGROUP_PATH_LEN
#define CANDIDATE_PATH 320 /* room for a container's path; there are many candidates */

/* All badness inputs of one process at one moment, and its names as learnt while it lived. */
struct task_facts {
	uint32_t tgid;
	uint32_t tid;
	uint32_t ppid;
	uint32_t uid;
	uint32_t ns_tgid;
	int32_t oom_score_adj;
	uint32_t flags; /* enum ev_task_flag */
	uint64_t at_ns; /* when these counters were read */
	uint64_t start_ns;
	uint64_t mm;
	uint64_t cgroup_id;
	int64_t rss_pages[EV_RSS_COUNTERS]; /* as get_mm_counter() reads them */
	int64_t rss_exact[EV_RSS_COUNTERS]; /* with EV_TASK_RSS_EXACT */
	uint64_t pgtables_bytes;
	uint64_t total_vm_pages;
	char comm[EV_COMM_LEN + 1];
};

enum victim_why {
	VICTIM_CHOSEN = 1,
	VICTIM_GROUP = 2, /* memory.oom.group took it with the chosen one */
	VICTIM_SHARED_MM = 3, /* killed only because it shares the chosen one's memory */
	VICTIM_ALREADY_EXITING = 4, /* marked, so that it may die faster; it was dying before */
};

struct victim {
	struct task_facts task;
	enum victim_why why;
	bool marked; /* the kernel marked it (mark_victim) */
	bool signalled; /* the OOM killer sent it SIGKILL */
	bool exited;
	bool mm_freed;
	bool reaped;
	uint64_t killed_ns;
	uint64_t exit_ns;
	uint32_t exit_code;
};

struct candidate {
	struct task_facts task;
	int64_t weight; /* order of keeping only; the judge ranks */
	char cgroup[CANDIDATE_PATH]; /* empty: not known, or too long */
	char cmdline[INCIDENT_CMDLINE];
};

struct incident_level {
	uint64_t id;
	uint32_t flags; /* enum ev_level_flag */
	uint32_t swappiness;
	uint64_t usage_pages, max_pages, high_pages, min_pages, low_pages, watermark_pages;
	uint64_t failcnt;
	uint64_t swap_usage_pages, swap_max_pages, kmem_usage_pages;
	uint64_t events[EV_EVENT_COUNT];
	uint64_t oom_local; /* how often this very limit invoked the OOM killer, this time included
			     */
	uint64_t oom_local_before; /* the same at the last look; UNKNOWN_U64: there was none */
	uint64_t freed_usage_pages; /* usage once a victim's memory was gone; UNKNOWN_U64: not seen
				     */
};

enum incident_outcome {
	OUTCOME_KILLED = 1,
	OUTCOME_NO_KILLABLE = 2, /* the scan found nobody; for a memcg the charge goes on failing */
	OUTCOME_ALREADY_EXITING = 3, /* nobody was killed: who was marked was dying anyway */
};

enum incident_closed {
	CLOSED_NOT = 0,
	CLOSED_EXITED = 1, /* every victim exited and its memory came back */
	CLOSED_REAPED = 2, /* the reaper took the memory; not all have exited */
	CLOSED_TIMEOUT = 3, /* neither was seen in time */
	CLOSED_EVICTED = 4, /* the pool was needed for a newer incident */
	CLOSED_STOPPED = 5, /* the tracer was told to stop */
	CLOSED_AT_ONCE = 6, /* nobody was killed, so there is nothing to wait for */
};

enum kmsg_state {
	KMSG_NOT_READ = 0, /* /dev/kmsg is not readable here */
	KMSG_NOT_SEEN =
		1, /* readable, but no line of this kill was there when the incident was closed */
	KMSG_AGREES = 2,
	KMSG_DIFFERS = 3,
};

struct incident {
	uint32_t number; /* of the kernel side */
	uint64_t time_ns; /* of the kill, else of the first record */
	uint32_t cpu;
	enum incident_outcome outcome;
	enum incident_closed closed;
	uint64_t closed_ns;
	bool gathered; /* what user space adds was read */
	bool complete; /* the kernel has finished killing: out_of_memory() returned */

	/* who asked */
	bool has_trigger;
	uint32_t trigger_flags; /* enum ev_context_flag */
	uint32_t trigger_tgid, trigger_tid, trigger_uid;
	int32_t trigger_adj;
	uint64_t trigger_start_ns;
	uint64_t trigger_cgroup_id;
	char trigger_comm[EV_COMM_LEN + 1];
	char trigger_cgroup[INCIDENT_PATH];
	char trigger_cmdline[INCIDENT_CMDLINE];

	/* oom_control; without it the judge works from the page counters */
	bool has_oc;
	uint32_t constraint; /* enum ev_constraint */
	uint64_t oc_limit_id;
	uint64_t totalpages;
	int64_t chosen_points;
	uint64_t nodemask;
	uint64_t mems_allowed, policy_nodes; /* of whoever asked; UNKNOWN_U64 */
	uint32_t gfp_mask;
	int32_t order;
	char message[EV_MESSAGE_LEN + 1];

	/* the victim's memcg chain, leaf first; the root is the last */
	unsigned int level_count;
	struct incident_level levels[EV_MAX_LEVELS];
	char level_paths[EV_MAX_LEVELS][INCIDENT_PATH];

	/* counters as the kernel handed them to oom_kill_process(), before the signal; tgid 0: not
	 * seen */
	struct task_facts chosen;

	unsigned int victim_count;
	unsigned int victims_dropped;
	struct victim victims[INCIDENT_VICTIMS];
	char victim_cgroup[INCIDENT_PATH]; /* of victims[0] */
	char victim_cmdline[INCIDENT_CMDLINE];
	char victim_exe[PROCESS_EXE_LEN];

	uint64_t ceiling_hint; /* totalpages as far as known while candidates come in, else
				  UNKNOWN_U64 */
	unsigned int candidate_total; /* weighed by the kernel, or listed by the census */
	unsigned int candidate_count; /* kept */
	bool candidates_from_census;
	uint64_t census_ns; /* when the census ran */
	struct candidate candidates[INCIDENT_CANDIDATES];

	uint32_t aborted_scans; /* more invocations for this limit, ended while a victim was on its
				   way out */
	uint32_t repeated_no_kill; /* like invocations with nobody to kill, left out since the last
				      one told */
	uint64_t lost_events; /* records of this incident that never arrived */

	/* read in user space when the first record of the incident arrived */
	struct host_memory host;
	struct cgroup_stat stat; /* of the limit's cgroup, or empty */
	uint64_t stat_usage_bytes;
	uint64_t events_before[EV_EVENT_COUNT]; /* at the last incident of this cgroup */
	bool has_events_before;
	uint32_t earlier_kills; /* incidents with a victim in the same limit cgroup within
				   REPEAT_WINDOW_NS */

	/* the minutes before, as the recorder saw them when the first record arrived */
	struct growth_picture growth;

	enum kmsg_state kmsg;
	struct kmsg_kill kmsg_line; /* with AGREES or DIFFERS */
	char kmsg_difference[96];
};

/* Does the chain reach the root? Not where a record of it was lost, or there are too many levels:
 * that no level is full is then not known. */
static inline bool incident_chain_is_whole(const struct incident *incident)
{
	return incident->level_count &&
	       incident->levels[incident->level_count - 1].flags & EV_LEVEL_ROOT;
}

#define REPEAT_WINDOW_NS (600ULL * 1000000000ULL)

#endif /* OOMSNOOP_MODEL_INCIDENT_H */
