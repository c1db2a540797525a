/* SPDX-License-Identifier: Apache-2.0 */
/* limit.h: whose limit was hit. Pure. */
#ifndef OOMSNOOP_JUDGE_LIMIT_H
#define OOMSNOOP_JUDGE_LIMIT_H

#include "judge/judgement.h"

/*
 * A charge fails where a counter has no room for it, after reclaim. Others may give pages back
 * before the counters are read: the kernel charges in batches of 64 pages (MEMCG_CHARGE_BATCH), so
 * a level is taken for full within one of them.
 */
#define LIMIT_SLACK_PAGES 64

/* PAGE_COUNTER_MAX: LONG_MAX / PAGE_SIZE. At or above it there is no limit. */
#define LIMIT_NONE_PAGES(page_size) ((uint64_t)INT64_MAX / (page_size))

/* cgroup v1: not the memory, but memory and swap together are at their limit, or nearer to it. */
bool limit_is_memsw(const struct incident_level *level, uint32_t page_size);

/* Fills scope, limit_level, totalpages and how they are known. */
void judge_limit(
	const struct incident *incident, const struct host_facts *host, struct judgement *ret);

#endif /* OOMSNOOP_JUDGE_LIMIT_H */
