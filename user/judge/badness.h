/* SPDX-License-Identifier: Apache-2.0 */
/*
 * badness.h: the kernel's own arithmetic, in its own integers.
 *
 * Source: mm/oom_kill.c oom_badness(), fs/proc/base.c proc_oom_score(), mm/memcontrol.c
 * mem_cgroup_get_max(); the same since 5.9. Pure: facts in, numbers out.
 */
#ifndef OOMSNOOP_JUDGE_BADNESS_H
#define OOMSNOOP_JUDGE_BADNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/incident.h"

struct badness {
	int64_t rss_pages; /* file + anon + shmem */
	int64_t swap_pages;
	int64_t pgtables_pages;
	int64_t adj_pages; /* oom_score_adj * (totalpages / 1000): the division comes first */
	int64_t total_pages; /* the ceiling that was divided */
	int64_t points; /* exactly the sum of the first four */
};

/* Which of the two sums to take where the kernel keeps its counters per CPU. */
enum rss_sum { RSS_APPROX = 0, RSS_EXACT = 1 };

struct badness badness_of(
	const struct task_facts *task, enum rss_sum sum, uint64_t totalpages, uint32_t page_size);

/* Why the kernel would not choose it whatever its points: NULL if it may be chosen, else a short
 * reason. */
const char *badness_immune(const struct task_facts *task);

/* What /proc/PID/oom_score shows: relative to RAM and swap, whatever the limit was. */
int64_t oom_score_of(const struct badness *badness, uint64_t ram_and_swap_pages);

/* mem_cgroup_get_max(): max, and the swap it may use; all in pages. UNKNOWN_U64: it depends on a
 * swappiness that is not known. */
uint64_t memcg_ceiling(
	const struct incident_level *level, uint32_t vm_swappiness, uint64_t total_swap_pages);

#endif /* OOMSNOOP_JUDGE_BADNESS_H */
