/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusing.h: memory and processes that were asked for and not given: calls to one record.
 *
 * Contract
 *   What the processes of one name in one cgroup were refused by one call is one record, with a
 * count: a program may ask in a loop, and all workers of a pool at once. It is closed when nothing
 * came for REFUSAL_GAP_NS, or after REFUSAL_MOST_NS. What goes on after it was told is told again
 * only REFUSAL_AGAIN_NS later, with the count of what came meanwhile. A bounded pool, taken once;
 * what finds it full is counted.
 *
 * Units as in incident.h; what is not known is UNKNOWN_U64.
 */
#ifndef OOMSNOOP_MODEL_REFUSING_H
#define OOMSNOOP_MODEL_REFUSING_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "facts/allowance.h"
#include "facts/host.h"
#include "model/cgroup.h"
#include "model/process.h"
#include "source/decode.h"

#define REFUSAL_GAP_NS 300000000ULL
#define REFUSAL_MOST_NS 10000000000ULL
#define REFUSAL_AGAIN_NS 60000000000ULL

struct refusal {
	uint32_t number; /* within the run: 1, 2, … */
	enum ev_call call;
	uint64_t time_ns, last_ns; /* of the first, and of the last that was told */
	int32_t error; /* ENOMEM, EAGAIN */
	uint32_t flags; /* enum ev_refusal_flag, of the first */
	uint64_t count; /* how often, at least */
	bool count_is_least; /* some were told only by powers of two */
	uint32_t processes; /* of that name and cgroup, at least */
	uint64_t before; /* of these, told already by an earlier record of the same */

	/* of the first */
	uint64_t asked_bytes, detail; /* as in struct ev_refusal */
	uint32_t tgid, tid, ppid, uid, ns_tgid;
	uint32_t map_count;
	uint64_t start_ns, cgroup_id;
	uint64_t total_vm_pages, data_vm_pages, brk_bytes, task_size; /* EV_REFUSAL_MM */
	int64_t rss_pages[EV_RSS_COUNTERS];
	uint64_t limit_as_bytes, limit_data_bytes, limit_nproc; /* RLIM_INFINITY is UNKNOWN_U64 */
	uint64_t user_processes;
	char comm[EV_COMM_LEN + 1];
	char cmdline[PROCESS_CMDLINE_LEN];
	char exe[PROCESS_EXE_LEN];
	char cgroup[CGROUP_PATH_LEN];

	/* with EV_REFUSAL_PIDS */
	uint64_t pids_id;
	int64_t pids_count, pids_max;
	uint32_t pids_level;
	char pids_name[EV_NAME_LEN + 1];
	char pids_cgroup[CGROUP_PATH_LEN]; /* "": not known */

	/* with EV_REFUSAL_LIMIT */
	uint64_t limit_id, limit_usage_pages, limit_max_pages;
	char limit_cgroup[CGROUP_PATH_LEN];

	/* read in user space when the record began */
	bool gathered;
	struct host_memory host;
	struct allowance allowance;
};

struct refusals;

/* How often a process was refused by a call, in the burst that began then; 0: not known. */
typedef uint32_t refusal_counter(uint32_t tgid, enum ev_call call, uint64_t began_ns, void *arg);

/* Names come from the two tables, which stay the caller's. NULL with errno. */
struct refusals *refusals_new(
	struct processes *processes, struct cgroups *cgroups, refusal_counter *counter, void *arg);
void refusals_free(struct refusals *refusals);

/* EV_REFUSAL; others are passed over. */
void refusals_fact(struct refusals *refusals, const struct fact *fact);

/* One that has just begun, for what else is to be read; NULL: none. Given once. */
struct refusal *refusals_next_fresh(struct refusals *refusals);
/* The oldest that is closed by now, to be released; NULL: none. now_ns UINT64_MAX: all are. */
struct refusal *refusals_next_closed(struct refusals *refusals, uint64_t now_ns);
/* `told`: what is like it is held back for a while. */
void refusals_release(
	struct refusals *refusals, struct refusal *refusal, uint64_t now_ns, bool told);
/* When to ask for closed ones again; UINT64_MAX: none is open. */
uint64_t refusals_deadline(const struct refusals *refusals, uint64_t now_ns);
/* Calls that found no room. */
uint64_t refusals_lost(const struct refusals *refusals);

#endif /* OOMSNOOP_MODEL_REFUSING_H */
