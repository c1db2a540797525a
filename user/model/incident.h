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
#include "facts/container_names.h"
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

/* What an imported log does not tell of a process; of one that was traced all of it is known. */
enum task_unknown {
	TASK_UNKNOWN_ANON = 1 << 0,
	TASK_UNKNOWN_FILE = 1 << 1,
	TASK_UNKNOWN_SHMEM = 1 << 2,
	TASK_UNKNOWN_SWAP = 1 << 3,
	TASK_UNKNOWN_SPLIT = 1 << 4, /* rss_total_pages stands for anon, file and shmem */
	TASK_UNKNOWN_ADJ = 1 << 5,
	TASK_UNKNOWN_UID = 1 << 6,
	TASK_UNKNOWN_COMM = 1 << 7,
	TASK_UNKNOWN_PPID = 1 << 8,
	TASK_PTES_ONLY = 1 << 9, /* pgtables_bytes is that of the tables the kernel counted */
};

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
	uint32_t unknown; /* enum task_unknown */
	uint64_t rss_total_pages; /* with TASK_UNKNOWN_SPLIT */
	char comm[EV_COMM_LEN + 1];
};

enum victim_why {
	VICTIM_CHOSEN = 1,
	VICTIM_GROUP = 2, /* memory.oom.group took it with the chosen one */
	VICTIM_SHARED_MM = 3, /* killed only because it shares the chosen one's memory */
	VICTIM_ALREADY_EXITING = 4, /* marked, so that it may die faster; it was dying before */
	VICTIM_VANISHED = 5, /* watched from within: it vanished when the kernel counted a kill */
	VICTIM_POSSIBLE = 6, /* the same, but more vanished than were killed */
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
	/* As they stood when the kernel chose; oom_kill and oom_group_kill when it had killed. */
	uint64_t events[EV_EVENT_COUNT]; /* v2: with those of the cgroups below */
	uint64_t
		events_local[EV_EVENT_COUNT]; /* of this very cgroup: its oom is how often this very
					       * limit invoked the OOM killer, this time included */
	uint64_t oom_local_before; /* that at the last look; UNKNOWN_U64: there was none */
	uint64_t freed_usage_pages; /* usage once a victim's memory was gone; UNKNOWN_U64: not seen
				     */
};

enum incident_outcome {
	OUTCOME_UNKNOWN = 0, /* imported only: the log ends before it */
	OUTCOME_KILLED = 1,
	OUTCOME_NO_KILLABLE = 2, /* the scan found nobody; for a memcg the charge goes on failing */
	OUTCOME_ALREADY_EXITING = 3, /* nobody was killed: who was marked was dying anyway */
	OUTCOME_PANIC = 4, /* imported only: the kernel stopped instead (vm.panic_on_oom) */
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

enum incident_source {
	INCIDENT_TRACED = 0,
	INCIDENT_IMPORTED = 1, /* from a kernel log alone: `log` holds what only that has */
	INCIDENT_SELF = 2, /* from within the cgroup, without any right: see `self` */
};

/* How well it is known who of those that vanished was killed. */
enum self_certainty {
	SELF_NOBODY_SEEN = 0, /* no process vanished that was known */
	SELF_CERTAIN = 1, /* as many vanished as were killed, and SIGKILL was seen at each */
	SELF_LIKELY = 2, /* as many vanished; or one was by far the largest of all */
	SELF_POSSIBLE = 3, /* more vanished than were killed */
};

/* What shows whose limit it was. */
enum self_limit_sign {
	SELF_LIMIT_NONE = 0, /* none of those that can be seen: one above, or the machine */
	SELF_LIMIT_COUNTED = 1, /* its count of invocations of the OOM killer rose (v2) */
	SELF_LIMIT_FAILED = 2, /* charges failed at it, and it had been full (v1) */
};

/* How a kill was noticed by who only watches its own cgroup: from counters and from who vanished
 * between two looks. All of the last look before are task_facts.at_ns or before_ns. */
struct incident_self {
	uint64_t before_ns; /* when the count of kills had not risen yet */
	uint32_t kills; /* by so much it rose */
	uint32_t vanished; /* processes that vanished meanwhile, or were seen to die of SIGKILL */
	uint32_t unseen; /* of the kills: no process was seen to vanish for them */
	uint32_t hidden; /* processes of the cgroup that cannot be seen from here */
	enum self_certainty certainty;
	enum self_limit_sign limit_sign;
	int limit_level; /* index into levels; -1: none that can be seen */
	bool complete; /* the last level is the hierarchy's root */
	uint64_t counted; /* kills since the cgroup was made, these included */
	/* memory.pressure at the last look, hundredths of a percent; UNKNOWN_U64 */
	uint64_t pressure_some, pressure_full;
};

#define INCIDENT_ZONES 32
#define ZONE_ORDERS 16
#define ZONE_LISTS 8

/* One zone of one node, as Mem-Info shows it. Pages; UNKNOWN_U64. */
struct incident_zone {
	int node; /* -1: the kernel knows no nodes */
	char name[12];
	uint64_t free_pages, min_pages, low_pages, present_pages, managed_pages;
	uint64_t highatomic_pages, cma_pages;
	unsigned int reserve_count;
	uint64_t reserve_pages[ZONE_LISTS]; /* kept back from requests for higher zones */
	unsigned int order_count; /* 0: the free lists are not told */
	uint64_t pieces[ZONE_ORDERS]; /* free ones, by order */
	uint8_t types[ZONE_ORDERS]; /* enum klog_buddy_type of source/klog_line.h */
};

/* The machine's memory as Mem-Info shows it at the kill. UNKNOWN_U64 */
struct incident_machine {
	uint64_t free_bytes, cma_bytes, anon_bytes, file_bytes, dirty_bytes, shmem_bytes,
		slab_bytes, slab_unreclaimable_bytes, kernel_stack_bytes, pagetables_bytes,
		unevictable_bytes;
	bool nodes_left_out; /* only some nodes are shown: those that may be used */
	/* Since 6.1 those that the request may not use are left out. */
	unsigned int zone_count, zones_dropped;
	struct incident_zone zones[INCIDENT_ZONES];
};

/* What a log tells, and how much of it. Of an incident that was traced nothing, unless `joined`. */
struct incident_log {
	bool joined; /* traced: the kernel's report of this very kill was found, see model/joined.h
		      */
	bool followed; /* imported: out of the log of this machine, as it was printed */
	/* of the limit's cgroup, as printed; with `joined`. UNKNOWN_U64 */
	uint64_t usage_bytes, limit_bytes, failcnt;
	bool has_time;
	int64_t wall_ns; /* CLOCK_REALTIME, with has_time */
	bool zone_assumed; /* the stamp names no time zone: that of this machine was taken */
	bool has_mono;
	uint64_t mono_ns; /* the kernel's own seconds, in time_ns too */
	char stamp[48]; /* of the wall clock, as the log has it */
	bool page_size_assumed;
	bool has_order, has_gfp, has_constraint, has_scope, has_trigger_pid, has_trigger_tid,
		has_trigger_adj, has_trigger_uid, has_table;
	bool has_oom_group; /* the log names the cgroup that died as one */
	int limit_level; /* index into levels; -1: no cgroup's limit, or not told which */
	bool limit_v1; /* memory and swap are in one counter */
	bool sysrq, limit_written, has_trace;
	bool child_died; /* a child of the one chosen (choice_*) died in its place */
	uint32_t choice_pid;
	char choice_comm[EV_COMM_LEN + 1];
	char gfp_flags[256]; /* as the log has them; "" */

	/* those of one name that hold the most together; members 0: none do */
	uint32_t family_members;
	char family_comm[EV_COMM_LEN + 1];
	uint64_t family_pages, family_largest_pages;
	bool family_from_anon; /* summed without pages that several of them may share */

	struct incident_machine machine;
};

struct incident {
	enum incident_source source;
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
	/* Of its container and pod, as the host's disk told them; what the path tells is the
	 * judge's. Where nobody was killed: of the limit's. */
	struct container_names names;

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
	bool stat_at_kill; /* both as the kernel printed them, before it killed */
	uint64_t events_before[EV_EVENT_COUNT]; /* at the last incident of this cgroup */
	bool has_events_before;
	uint32_t earlier_kills; /* incidents with a victim in the same limit cgroup within
				   REPEAT_WINDOW_NS */

	/* the minutes before, as the recorder saw them when the first record arrived */
	struct growth_picture growth;

	enum kmsg_state kmsg;
	struct kmsg_kill kmsg_line; /* with AGREES or DIFFERS */
	char kmsg_difference[256]; /* each with both values */

	struct incident_log log;
	struct incident_self self; /* of INCIDENT_SELF only */
};

/* How long the count of kills may have been risen before it was noticed. */
static inline uint64_t incident_within_ns(const struct incident *incident)
{
	return incident->time_ns > incident->self.before_ns
		       ? incident->time_ns - incident->self.before_ns
		       : 0;
}

/* Does the chain reach the root? Not where a record of it was lost, or there are too many levels:
 * that no level is full is then not known. */
static inline bool incident_chain_is_whole(const struct incident *incident)
{
	return incident->level_count &&
	       incident->levels[incident->level_count - 1].flags & EV_LEVEL_ROOT;
}

/* What was asked for: out of oom_control, or as the log has it. */
static inline bool incident_order_known(const struct incident *incident)
{
	return incident->has_oc || incident->log.has_order;
}

/* The kernel's own report is what tells of it, or tells of it as well. */
static inline bool incident_is_logged(const struct incident *incident)
{
	return incident->source == INCIDENT_IMPORTED || incident->log.joined;
}

/* Free in the whole machine when the kernel gave up; else what was read just after it. */
static inline uint64_t incident_free_bytes(const struct incident *incident)
{
	if (incident_is_logged(incident) && incident->log.machine.free_bytes != UNKNOWN_U64)
		return incident->log.machine.free_bytes;
	return incident->host.free_bytes;
}

#define REPEAT_WINDOW_NS (600ULL * 1000000000ULL)

#endif /* OOMSNOOP_MODEL_INCIDENT_H */
