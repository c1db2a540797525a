// SPDX-License-Identifier: Apache-2.0
/* An imported incident's memory: the limit's cgroup or the machine. */
#include <string.h>

#include "model/imported_parts.h"

/* PAGE_COUNTER_MAX, RESOURCE_MAX and what 32 bits make of them: no limit at all. */
#define NO_LIMIT_KB 9007199254740000ULL
#define NO_LIMIT_KB_32 8589934588ULL

/* --- the limit --- */

static uint64_t limit_pages(uint64_t kb, uint32_t page_size)
{
	if (kb == UNKNOWN_U64)
		return UNKNOWN_U64;
	if (kb >= NO_LIMIT_KB || kb == NO_LIMIT_KB_32)
		return (uint64_t)INT64_MAX / page_size;
	return kb / (page_size / KB_BYTES);
}

static uint64_t usage_pages(uint64_t kb, uint32_t page_size)
{
	return kb == UNKNOWN_U64 ? UNKNOWN_U64 : kb / (page_size / KB_BYTES);
}

static struct incident_level *new_level(struct incident *ret, const char *path, size_t len)
{
	struct incident_level *level = &ret->levels[ret->level_count];

	memset(level, 0xff, sizeof(*level)); /* nothing is known but its path */
	level->id = 0;
	level->flags = 0;
	memcpy(ret->level_paths[ret->level_count], path, len);
	ret->level_paths[ret->level_count][len] = '\0';
	ret->level_count++;
	return level;
}

/* The victim's cgroup, those between, and the limit's: as far as one is below the other. */
static void fill_chain(struct incident *ret, const char *task, const char *limit)
{
	size_t len = strlen(task), top = strcmp(limit, "/") ? strlen(limit) : 0;

	if (strncmp(task, limit, top) != 0 || (task[top] != '/' && task[top] != '\0'))
		return;
	while (len > top && ret->level_count < EV_MAX_LEVELS - 1) {
		new_level(ret, task, len);
		while (len > top && task[--len] != '/')
			;
	}
}

void imported_limit(struct incident *ret, const struct klog_report *report, uint32_t page_size)
{
	bool memsw = report->usage_kb[KLOG_USAGE_MEMSW] != UNKNOWN_U64;
	int swap = memsw ? KLOG_USAGE_MEMSW : KLOG_USAGE_SWAP;
	uint64_t memory_kb = report->usage_kb[KLOG_USAGE_MEMORY];
	struct incident_level *level;

	if (report->has_task_path && report->has_limit_path)
		fill_chain(ret, report->task_path, report->limit_path);
	ret->log.limit_level = (int)ret->level_count;
	level = new_level(ret, report->limit_path, strlen(report->limit_path));
	/* 4.x prints the line of version 1 for version 2, too, and 0 in it. (A little less than
	 * memory alone is version 1, too: usage falls from one line to the next.) */
	if (memsw && !report->usage_kb[KLOG_USAGE_MEMSW] && memory_kb &&
		report->limit_kb[KLOG_USAGE_MEMSW] >= NO_LIMIT_KB)
		memsw = false, swap = KLOG_USAGE_SWAP;
	ret->log.limit_v1 = memsw;
	level->flags = memsw ? 0 : EV_LEVEL_V2;
	level->usage_pages = usage_pages(memory_kb, page_size);
	level->max_pages = limit_pages(report->limit_kb[KLOG_USAGE_MEMORY], page_size);
	level->swap_usage_pages = usage_pages(report->usage_kb[swap], page_size);
	level->swap_max_pages = limit_pages(report->limit_kb[swap], page_size);
	if (memsw)
		level->kmem_usage_pages = usage_pages(report->usage_kb[KLOG_USAGE_KMEM], page_size);
	/* Of what is below the limit's cgroup the victim's part is the one that must not be left
	 * out: the rest would be taken for memory that no process holds. */
	if (!report->stats_in_parts || report->stats_of_task || !report->has_task_path)
		ret->stat = report->stat;
	if (ret->stat.kernel_bytes == UNKNOWN_U64 && memsw &&
		report->usage_kb[KLOG_USAGE_KMEM] != UNKNOWN_U64)
		ret->stat.kernel_bytes = report->usage_kb[KLOG_USAGE_KMEM] * KB_BYTES;
	if (memory_kb != UNKNOWN_U64)
		ret->stat_usage_bytes = memory_kb * KB_BYTES;
	for (unsigned int i = 0; report->has_group && i < ret->level_count; i++)
		if (!strcmp(ret->level_paths[i], report->group_path)) {
			ret->levels[i].flags |= EV_LEVEL_OOM_GROUP;
			ret->log.has_oom_group = true;
		}
}

/* --- the machine --- */

static uint64_t times(uint64_t count, uint64_t unit)
{
	uint64_t ret;

	return count == UNKNOWN_U64 || __builtin_mul_overflow(count, unit, &ret) ? UNKNOWN_U64
										 : ret;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a == UNKNOWN_U64 || b == UNKNOWN_U64 ? UNKNOWN_U64 : a + b;
}

static void fill_zones(
	struct incident_machine *ret, const struct klog_report *report, uint32_t page_size)
{
	uint64_t present = 0, ram = report->counts[KLOG_COUNT_RAM];

	ret->zone_count = report->zone_count;
	ret->zones_dropped = report->zones_dropped;
	for (unsigned int i = 0; i < report->zone_count; i++) {
		struct incident_zone *zone = &ret->zones[i];
		uint64_t *const kbs[] = {&zone->free_pages, &zone->min_pages, &zone->low_pages,
			&zone->present_pages, &zone->managed_pages, &zone->highatomic_pages,
			&zone->cma_pages};

		*zone = report->zones[i];
		for (size_t j = 0; j < sizeof(kbs) / sizeof(kbs[0]); j++)
			*kbs[j] = usage_pages(*kbs[j], page_size);
		present += imported_known(zone->present_pages);
	}
	/* What is missing without a constraint are zones, on any node. */
	ret->nodes_left_out = report->zone_count && !report->zones_dropped &&
			      report->constraint != KLOG_CONSTRAINT_NONE && ram != UNKNOWN_U64 &&
			      present < ram - ram / 8;
}

void imported_machine(
	struct incident_machine *ret, const struct klog_report *report, uint32_t page_size)
{
	const uint64_t *counters = report->counters;

	ret->free_bytes = times(counters[KLOG_FREE], page_size);
	ret->cma_bytes = times(counters[KLOG_FREE_CMA], page_size);
	ret->anon_bytes =
		times(sum(counters[KLOG_ACTIVE_ANON], counters[KLOG_INACTIVE_ANON]), page_size);
	ret->file_bytes =
		times(sum(counters[KLOG_ACTIVE_FILE], counters[KLOG_INACTIVE_FILE]), page_size);
	ret->dirty_bytes = times(sum(counters[KLOG_DIRTY], counters[KLOG_WRITEBACK]), page_size);
	ret->shmem_bytes = times(counters[KLOG_SHMEM], page_size);
	ret->slab_unreclaimable_bytes = times(counters[KLOG_SLAB_UNRECLAIMABLE], page_size);
	ret->slab_bytes = times(
		sum(counters[KLOG_SLAB_RECLAIMABLE], counters[KLOG_SLAB_UNRECLAIMABLE]), page_size);
	ret->pagetables_bytes = times(counters[KLOG_PAGETABLES], page_size);
	ret->unevictable_bytes = times(counters[KLOG_UNEVICTABLE], page_size);
	ret->kernel_stack_bytes = times(report->kernel_stack_kb, KB_BYTES);
	fill_zones(ret, report, page_size);
}

void imported_host(struct host_memory *ret, const struct klog_report *report, uint32_t page_size)
{
	const uint64_t *counts = report->counts;

	if (counts[KLOG_COUNT_RAM] != UNKNOWN_U64 &&
		counts[KLOG_COUNT_RAM] >= imported_known(counts[KLOG_COUNT_RESERVED]))
		ret->total_bytes =
			times(counts[KLOG_COUNT_RAM] - imported_known(counts[KLOG_COUNT_RESERVED]),
				page_size);
	ret->free_bytes = times(report->counters[KLOG_FREE], page_size);
	ret->swap_total_bytes = times(counts[KLOG_COUNT_SWAP_TOTAL], KB_BYTES);
	ret->swap_free_bytes = times(counts[KLOG_COUNT_SWAP_FREE], KB_BYTES);
	ret->hugetlb_bytes = times(report->hugepages_kb, KB_BYTES);
}
