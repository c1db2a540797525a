/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assemble.h: what one fact does to one incident. The pool and the rules of closing are in
 * incidents.c; this is the inside of it, apart so that each can be tested alone.
 */
#ifndef OOMSNOOP_MODEL_ASSEMBLE_H
#define OOMSNOOP_MODEL_ASSEMBLE_H

#include "model/incidents.h"

/* Only what was used is cleared: an incident is large and mostly empty. */
void incident_reset(struct incident *incident);

void task_facts_set(struct task_facts *ret, const struct ev_task *event);
void incident_context(
	struct incident *incident, const struct ev_context *event, struct processes *processes);
void incident_level(struct incident *incident, const struct ev_level *event, const char *name,
	struct cgroups *cgroups);
void incident_candidate(struct incident *incident, const struct ev_task *event,
	struct processes *processes, struct cgroups *cgroups,
	const struct incidents_options *options);

/* The same for a reading that is there already. One without memory is no candidate. */
void incident_candidate_add(struct incident *incident, const struct task_facts *task,
	struct processes *processes, struct cgroups *cgroups,
	const struct incidents_options *options);

/* The victim's entry, new or known; NULL: no room. */
struct victim *incident_victim(struct incident *incident, const struct ev_task *event,
	struct processes *processes, bool signal_hook);

/* Victims of which only the pid was told: what the scan, or a census, told of them stands for the
 * rest. */
void incident_victims_complete(struct incident *incident);

/* Chosen, and no mark was told: it was on its way out already, or the record was lost. */
void incident_adopt_chosen(struct incident *incident, struct processes *processes);

/* The paths of what was not told up to the root, out of the table of names; those that are not
 * there, either, end up empty. To be called when all levels have come. */
void incident_paths_settle(struct incident *incident, struct cgroups *cgroups);

/* True when the fact was about a victim of this incident. */
bool incident_exit(struct incident *incident, const struct ev_exit *event);
bool incident_reap(struct incident *incident, uint32_t tid);
void incident_freed(struct incident *incident, const struct ev_mm_freed *event);
/* How often the kernel has killed by now, of a level of the chain; one of another chain is passed
 * over. */
void incident_count(struct incident *incident, const struct ev_kill_count *event);
bool incident_kmsg(struct incident *incident, const struct kmsg_kill *line, uint32_t page_size);

#endif /* OOMSNOOP_MODEL_ASSEMBLE_H */
