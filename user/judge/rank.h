/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.h: whom the kernel's OOM killer would choose now, from what /proc and cgroupfs show of a
 * machine on which nobody is being killed. Pure: facts in, a ranking out. Pages, unless named
 * otherwise.
 *
 * Source: mm/oom_kill.c oom_evaluate_task(), mm/memcontrol.c mem_cgroup_scan_tasks().
 */
#ifndef OOMSNOOP_JUDGE_RANK_H
#define OOMSNOOP_JUDGE_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "facts/procmem.h"
#include "facts/quota.h"
#include "judge/badness.h"

struct rank_candidate {
	struct task_facts task;
	uint64_t oom_score; /* what /proc/PID/oom_score shows; UNKNOWN_U64 */
	const char *cgroup; /* in the memory hierarchy; NULL: not known */
	const char *cmdline; /* NULL: not read */
	/* the rest is the judge's */
	size_t order; /* in the order of the kernel's scan */
	struct badness badness;
	int64_t score; /* what oom_score should be, by the formula of 5.9 and newer */
	const char *immune; /* why it may not be chosen; NULL: it may */
};

struct ranking {
	struct rank_candidate *candidates; /* in the order of the kernel's scan; then best first */
	size_t count;
	uint64_t total_pages; /* what oom_score_adj is relative to; UNKNOWN_U64 */
	uint64_t host_pages; /* all RAM and swap, which oom_score is relative to; UNKNOWN_U64 */
	uint32_t page_size;
	/* the rest is the judge's */
	size_t eligible; /* the first so many may be chosen */
	size_t ties; /* how many more have as many points as the first */
	bool score_agrees; /* oom_score follows the formula that is known here */
};

/* The facts of one process as the judge takes them. */
struct task_facts rank_task(
	pid_t pid, bool is_init, const struct proc_memory *memory, uint32_t page_size);

/* Weighs, and sorts: whom the kernel would take first, then who may not be chosen, by points. */
void rank_judge(struct ranking *ranking);

/* Whose limit it is that would be hit: the first level, from the cgroup asked for up to the root,
 * that has one. -1: none has, so it is the machine that would be out of memory. */
int rank_limit_level(const struct quota *quota);

/* The kernel's ceiling (totalpages) at that limit. swappiness: the cgroup's own, on version 1.
 * UNKNOWN_U64: it depends on what could not be read. */
uint64_t rank_ceiling(const struct quota_level *level, bool v2, uint32_t swappiness,
	uint32_t vm_swappiness, uint64_t swap_total_bytes, uint32_t page_size);

/*
 * By how many pages each of a process's counters may be off when the kernel weighs it, where it
 * keeps them per CPU and takes the quick reading (6.2 to 6.19): percpu_counter_batch on each CPU.
 */
uint64_t rank_counter_slack(uint32_t online_cpus);

#endif /* OOMSNOOP_JUDGE_RANK_H */
