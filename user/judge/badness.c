// SPDX-License-Identifier: Apache-2.0
#include "judge/badness.h"

#include <stddef.h>

static int64_t counter(const struct task_facts *task, enum rss_sum sum, int which)
{
	int64_t value = sum == RSS_EXACT && task->flags & EV_TASK_RSS_EXACT
				? task->rss_exact[which]
				: task->rss_pages[which];

	/* get_mm_counter() never gives a negative number, though the counter may be for a moment.
	 */
	return value < 0 ? 0 : value;
}

struct badness badness_of(
	const struct task_facts *task, enum rss_sum sum, uint64_t totalpages, uint32_t page_size)
{
	struct badness ret = {
		.rss_pages = counter(task, sum, EV_RSS_FILE) + counter(task, sum, EV_RSS_ANON) +
			     counter(task, sum, EV_RSS_SHMEM),
		.swap_pages = counter(task, sum, EV_RSS_SWAP),
	};

	if (task->unknown & TASK_UNKNOWN_SPLIT)
		ret.rss_pages = (int64_t)task->rss_total_pages;
	if (task->pgtables_bytes != UNKNOWN_U64)
		ret.pgtables_pages = task->pgtables_bytes / page_size;
	if (totalpages != UNKNOWN_U64) {
		ret.total_pages = totalpages;
		ret.adj_pages = (int64_t)task->oom_score_adj * (int64_t)(totalpages / 1000);
	}
	ret.points = ret.rss_pages + ret.swap_pages + ret.pgtables_pages + ret.adj_pages;
	return ret;
}

const char *badness_immune(const struct task_facts *task)
{
	if (task->flags & EV_TASK_INIT)
		return "it is init";
	if (task->flags & EV_TASK_KTHREAD)
		return "it is a kernel thread";
	if (task->oom_score_adj == -1000)
		return "oom_score_adj -1000";
	if (task->flags & EV_TASK_NO_MM)
		return "it has no memory left";
	if (task->flags & EV_TASK_OOM_SKIP)
		return "the kernel gave up on it";
	if (task->flags & EV_TASK_VFORK)
		return "it is in vfork";
	return NULL;
}

int64_t oom_score_of(const struct badness *badness, uint64_t ram_and_swap_pages)
{
	int64_t points;

	if (!ram_and_swap_pages)
		return 0;
	points = (1000 + badness->points * 1000 / (int64_t)ram_and_swap_pages) * 2 / 3;
	return points < 0 ? 0 : points;
}

uint64_t memcg_ceiling(
	const struct incident_level *level, uint32_t vm_swappiness, uint64_t total_swap_pages)
{
	bool v2 = level->flags & EV_LEVEL_V2;
	uint32_t swappiness =
		v2 || level->swappiness == UINT32_MAX ? vm_swappiness : level->swappiness;
	uint64_t swap = v2 ? level->swap_max_pages : level->swap_max_pages - level->max_pages;
	uint64_t ceiling = level->max_pages;

	if (swappiness == UINT32_MAX && swap && total_swap_pages)
		return UNKNOWN_U64;
	if (swappiness)
		ceiling += swap < total_swap_pages ? swap : total_swap_pages;
	return ceiling ? ceiling : 1;
}
