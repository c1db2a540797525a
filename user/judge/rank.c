// SPDX-License-Identifier: Apache-2.0
#include "judge/rank.h"

#include <stdlib.h>
#include <string.h>

/*
 * How far the kernel's oom_score may be from ours: it is rounded to thousandths of all memory, and
 * the kernel may read its counters less exactly, or a moment later.
 */
#define SCORE_NEAR 20

static int64_t pages_of(uint64_t bytes, uint32_t page_size)
{
	return bytes == UNKNOWN_U64 ? 0 : (int64_t)(bytes / page_size);
}

struct task_facts rank_task(
	pid_t pid, bool is_init, const struct proc_memory *memory, uint32_t page_size)
{
	struct task_facts task = {
		.tgid = (uint32_t)pid,
		.ppid = memory->ppid,
		.uid = memory->uid,
		.oom_score_adj = memory->oom_score_adj,
		.flags = (is_init ? EV_TASK_INIT : 0) |
			 (memory->kernel_thread ? EV_TASK_KTHREAD : 0) |
			 (memory->has_memory ? 0 : EV_TASK_NO_MM) |
			 (memory->forked ? EV_TASK_FORKED : 0),
		.start_ns = memory->start_ns,
		.rss_pages = {[EV_RSS_FILE] = pages_of(memory->file_bytes, page_size),
			[EV_RSS_ANON] = pages_of(memory->anon_bytes, page_size),
			[EV_RSS_SWAP] = pages_of(memory->swap_bytes, page_size),
			[EV_RSS_SHMEM] = pages_of(memory->shmem_bytes, page_size)},
		.pgtables_bytes = memory->has_memory ? memory->pgtables_bytes : 0,
		.total_vm_pages = (uint64_t)pages_of(memory->total_vm_bytes, page_size),
	};

	memcpy(task.comm, memory->comm, sizeof(task.comm));
	return task;
}

static void weigh(const struct ranking *ranking, struct rank_candidate *candidate)
{
	struct badness of_host =
		badness_of(&candidate->task, RSS_APPROX, ranking->host_pages, ranking->page_size);

	candidate->badness =
		badness_of(&candidate->task, RSS_APPROX, ranking->total_pages, ranking->page_size);
	candidate->immune = badness_immune(&candidate->task);
	candidate->score = candidate->immune || ranking->host_pages == UNKNOWN_U64
				   ? 0
				   : oom_score_of(&of_host, ranking->host_pages);
}

static bool score_is_near(const struct rank_candidate *candidate)
{
	int64_t shown = (int64_t)candidate->oom_score;

	return candidate->oom_score != UNKNOWN_U64 && shown > 0 &&
	       shown <= candidate->score + SCORE_NEAR && shown >= candidate->score - SCORE_NEAR;
}

/*
 * What /proc does not tell, the kernel's own score gives away: it is 0 for whom it would not
 * choose. Only where it follows the formula, since before 5.9 it was 0 for everybody small.
 */
static void find_passed_over(struct ranking *ranking)
{
	for (size_t i = 0; i < ranking->count && !ranking->score_agrees; i++)
		ranking->score_agrees = score_is_near(&ranking->candidates[i]);
	for (size_t i = 0; i < ranking->count && ranking->score_agrees; i++) {
		struct rank_candidate *candidate = &ranking->candidates[i];

		if (!candidate->immune && candidate->oom_score == 0 &&
			candidate->score > SCORE_NEAR)
			candidate->immune =
				"the kernel passes it over: in vfork, ending, or given up on";
	}
}

/* Those that may be chosen first, by points; of equals the last one scanned, since it replaces the
 * one before. */
static int compare(const void *one, const void *other)
{
	const struct rank_candidate *a = one, *b = other;

	if (!a->immune != !b->immune)
		return a->immune ? 1 : -1;
	if (a->badness.points != b->badness.points)
		return a->badness.points > b->badness.points ? -1 : 1;
	if (a->order == b->order)
		return 0;
	return a->order > b->order ? -1 : 1;
}

void rank_judge(struct ranking *ranking)
{
	const struct rank_candidate *first = ranking->candidates;

	for (size_t i = 0; i < ranking->count; i++) {
		ranking->candidates[i].order = i;
		weigh(ranking, &ranking->candidates[i]);
	}
	ranking->score_agrees = false;
	find_passed_over(ranking);
	if (ranking->count)
		qsort(ranking->candidates, ranking->count, sizeof(*first), compare);
	ranking->eligible = ranking->ties = 0;
	while (ranking->eligible < ranking->count && !first[ranking->eligible].immune) {
		if (ranking->eligible &&
			first[ranking->eligible].badness.points == first->badness.points)
			ranking->ties++;
		ranking->eligible++;
	}
}

int rank_limit_level(const struct quota *quota)
{
	for (unsigned int i = 0; i < quota->level_count; i++) {
		uint64_t max = quota->levels[i].limits.max_bytes;

		if (max != UNKNOWN_U64 && max != CGROUP_NO_LIMIT)
			return (int)i;
	}
	return -1;
}

/* A limit that is not set, or that the kernel has no file for, is PAGE_COUNTER_MAX to it. */
static uint64_t counter_pages(uint64_t bytes, uint32_t page_size)
{
	return bytes == UNKNOWN_U64 || bytes == CGROUP_NO_LIMIT ? (uint64_t)INT64_MAX / page_size
								: bytes / page_size;
}

uint64_t rank_ceiling(const struct quota_level *level, bool v2, uint32_t swappiness,
	uint32_t vm_swappiness, uint64_t swap_total_bytes, uint32_t page_size)
{
	struct incident_level counters = {
		.flags = v2 ? EV_LEVEL_V2 : 0,
		.swappiness = swappiness,
		.max_pages = counter_pages(level->limits.max_bytes, page_size),
		.swap_max_pages = counter_pages(level->limits.swap_max_bytes, page_size),
	};

	if (swap_total_bytes == UNKNOWN_U64)
		return UNKNOWN_U64;
	return memcg_ceiling(&counters, vm_swappiness, swap_total_bytes / page_size);
}

uint64_t rank_counter_slack(uint32_t online_cpus)
{
	uint64_t batch = 2ULL * online_cpus;

	return (batch < 32 ? 32 : batch) * online_cpus;
}
