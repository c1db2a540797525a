/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h: what more than one sink asks of an incident, so that the terminal and the record cannot
 * tell it differently. Choices of presentation only; nothing is judged here.
 */
#ifndef OOMSNOOP_SINK_VIEW_H
#define OOMSNOOP_SINK_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "judge/judgement.h"
#include "model/incident.h"
#include "sink/sink.h"

/* The level whose limit was hit; NULL: no cgroup's limit, or none is known. */
const struct incident_level *view_limit(
	const struct incident *incident, const struct judgement *judgement);
/* Its path, or "". */
const char *view_limit_path(const struct incident *incident, const struct judgement *judgement);

/* PAGE_COUNTER_MAX: LONG_MAX / PAGE_SIZE pages stand for "max". */
bool view_unlimited(uint64_t pages, uint32_t page_size);

/*
 * The counters of a victim as close to its death as they were read: those of the mark, or, where a
 * tracepoint gave a bare pid, those handed to oom_kill_process().
 */
const struct task_facts *view_victim(const struct incident *incident, unsigned int index);

/* The counters that the badness sum was made from. */
const struct task_facts *view_chosen(const struct incident *incident);

/* Out of a kernel log: what that does not tell is left out. */
bool view_imported(const struct incident *incident);

/* Noticed from within its cgroup: who vanished, as last seen before. */
bool view_self(const struct incident *incident);

/* When the candidates were read: "kernel" (by it, at the kill), "census" (right after), "before".
 */
const char *view_candidates_at(const struct incident *incident);

/* When what filled the limit's cgroup was read: "kernel", "after", "before". */
const char *view_stat_at(const struct incident *incident);

/* Is what filled the limit's cgroup told as it was at the kill, not a moment later? */
bool view_stat_at_kill(const struct incident *incident);

/* The name is known, and not only the pid. */
bool view_comm_known(const struct task_facts *task);
bool view_adj_known(const struct task_facts *task);

/* More than pid and time is known. */
bool view_known(const struct task_facts *task);
/* It had an address space whose counters were read. */
bool view_has_memory(const struct task_facts *task);

/* The exact sum stands for the counter: the kernel itself summed exactly, and so did we. */
bool view_exact(const struct judgement *judgement, const struct task_facts *task);

/* Pages as the kernel reads the counter; it takes negative ones for 0. */
uint64_t view_rss(const struct task_facts *task, enum ev_rss kind, bool exact);

/* anon, file and shmem together, which is all that some logs tell. */
uint64_t view_rss_total(const struct task_facts *task, bool exact);

/* oc->chosen_points, where the kernel weighed processes before it chose. */
bool view_kernel_points(const struct incident *incident, int64_t *ret_points);
/* vm.oom_kill_allocating_task: whoever asks dies, whatever its size. */
bool view_allocating_task(const struct incident *incident);

/* The field is named in judgement.missing. */
bool view_missing(const struct judgement *judgement, const char *field);

/* The verdict was given. */
bool view_verdict(const struct judgement *judgement, const char *id);

/* The one that says most: its claim is the summary of the incident. NULL: there is none. */
const struct verdict *view_first(const struct judgement *judgement);
/* The first line of the text says the same as this verdict. */
bool view_headline_says(const char *id);

/* The path of a cgroup that the picture tells, or "". */
const char *view_growth_path(const struct growth_picture *picture, uint64_t cgroup_id);
/* How long the history is that it rests on. */
uint64_t view_window_ns(const struct growth_picture *picture);

/* Tenths of a percent of the limit in use, rounded down: what is not full is not called full.
 * False: there is no limit. */
bool view_used_tenths(const struct growth_pressure *pressure, uint64_t *ret_tenths);

uint32_t view_victims_total(const struct incident *incident);
int64_t view_wall_ns(const struct sink_context *context, uint64_t boot_ns);

#endif /* OOMSNOOP_SINK_VIEW_H */
