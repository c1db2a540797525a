/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incidents.h: records in, incidents out.
 *
 * The assembler keeps a fixed pool of open incidents. The caller feeds it every fact in the order
 * of the ring (incidents_fact), tells it the time (incidents_tick), and takes what has come to its
 * end (incidents_next_closed), giving each back with incidents_release(). Between the two it is
 * told once of each new incident (incidents_next_fresh), so that it can add what only user space
 * can read, while the kill is still going on.
 *
 * Closing: when the kernel has ended the invocation and every victim has exited and its memory is
 * back; else when the reaper took the memory, or nothing of the kind was seen, after SETTLE_NS.
 */
#ifndef OOMSNOOP_MODEL_INCIDENTS_H
#define OOMSNOOP_MODEL_INCIDENTS_H

#include "model/incident.h"
#include "model/joined.h"

#define INCIDENT_POOL 128
#define INCIDENT_POOL_MIN 16
#define SETTLE_NS                                                                                  \
	5000000000ULL /* longest wait for exit and memory; the reaper starts 2 s after the kill */
#define GROUP_SETTLE_NS                                                                            \
	1000000000ULL /* without a hook on the end: wait for more victims of one group kill */
#define LINE_SETTLE_NS                                                                             \
	50000000ULL /* longest wait for the kernel log's line once all have exited                 \
		     */
#define FREED_SETTLE_NS 250000000ULL /* longest wait for the memory once all have exited */

struct incidents_options {
	const struct host_facts *host;
	bool scope_hook; /* the end of each invocation is told */
	bool exit_hook;
	bool freed_hook;
	bool kmsg; /* lines of the kernel log are handed in */
	bool signal_hook; /* whether the OOM killer signalled a victim is known */
	unsigned int pool; /* how many may be open; at least INCIDENT_POOL_MIN; 0: INCIDENT_POOL */
	uint64_t settle_ns; /* 0: SETTLE_NS */
	/* Orders candidates while they come in; the kernel's arithmetic, which the judge owns. */
	int64_t (*weight)(const struct task_facts *task, uint64_t totalpages, uint32_t page_size);
};

struct incidents;

/* NULL with errno. The tables of names stay the caller's. */
struct incidents *incidents_new(const struct incidents_options *options,
	struct processes *processes, struct cgroups *cgroups);
void incidents_free(struct incidents *incidents);
size_t incidents_bytes(unsigned int pool); /* what it takes, once all of it is used */

/* Facts that belong to no incident (fork, exec, cgroup) are passed over; exits are used. */
void incidents_fact(struct incidents *incidents, const struct fact *fact);

/* One process of a census taken for this incident. */
void incident_census(
	struct incidents *incidents, struct incident *incident, const struct fact *fact);

/* After a census: the victims, as they were when they were marked, since the census may have come
 * too late for them. */
void incident_census_done(struct incidents *incidents, struct incident *incident);

/*
 * A line of the kernel log: kept with the victim that it names. And the report before it: joined to
 * the incident of that victim. Both may come before the mark; `read_ns`: when they were read, so
 * that an old one is not taken for that of a later process with the same number.
 */
void incidents_kmsg(struct incidents *incidents, const struct kmsg_kill *line, uint64_t read_ns);
void incidents_report(
	struct incidents *incidents, const struct joined_report *report, uint64_t read_ns);

/* Is there an incident for which lines should be read at once? */
bool incidents_await_kmsg(const struct incidents *incidents);

void incidents_tick(struct incidents *incidents, uint64_t now_ns);

/* When a tick is next of use; UINT64_MAX: nothing is open. */
uint64_t incidents_deadline(const struct incidents *incidents);

/* An incident that was not handed out here before and has a victim or is without one for good;
 * NULL: none. */
struct incident *incidents_next_fresh(struct incidents *incidents);

/* The oldest incident that is closed; NULL: none. */
struct incident *incidents_next_closed(struct incidents *incidents);
void incidents_release(struct incidents *incidents, struct incident *incident);

/* Closes all that are open: the tracer stops. */
void incidents_stop(struct incidents *incidents, uint64_t now_ns);

struct incidents_totals {
	uint64_t opened, evicted, victims_dropped,
		orphans; /* orphans: facts of no incident that is known */
};

struct incidents_totals incidents_totals(const struct incidents *incidents);

#endif /* OOMSNOOP_MODEL_INCIDENTS_H */
