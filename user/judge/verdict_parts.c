// SPDX-License-Identifier: Apache-2.0
#include "judge/verdict_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "judge/limit.h"

/* Longest path within a sentence: the numbers beside it must not be cut off. */
#define PATH_SHOWN 180

void verdict_claim(struct verdict *verdict, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(verdict->claim, sizeof(verdict->claim), format, args);
	va_end(args);
}

void verdict_evidence(struct verdict *verdict, const char *format, ...)
{
	va_list args;

	if (verdict->evidence_count == VERDICT_EVIDENCE)
		return;
	va_start(args, format);
	vsnprintf(verdict->evidence[verdict->evidence_count++], VERDICT_TEXT, format, args);
	va_end(args);
}

const char *size_text(uint64_t bytes)
{
	static char texts[8][24];
	static unsigned int turn;
	char *text = texts[turn++ % 8];
	struct buf buf;

	if (bytes == UNKNOWN_U64)
		return "unknown";
	buf_init(&buf, text, sizeof(texts[0]));
	units_bytes(&buf, bytes);
	return text;
}

uint64_t pages_to_bytes(const struct scene *scene, uint64_t pages)
{
	return pages == UNKNOWN_U64 ? UNKNOWN_U64 : pages * scene->host->page_size;
}

const char *path_text(const char *path)
{
	static char texts[4][PATH_SHOWN + 1];
	static unsigned int turn;
	size_t len = strlen(path);
	char *text;

	if (!len)
		return "a cgroup whose path is not known";
	if (len <= PATH_SHOWN)
		return path;
	text = texts[turn++ % 4];
	path += len - (PATH_SHOWN - 3);
	while ((*path & 0xc0) == 0x80)
		path++;
	snprintf(text, sizeof(texts[0]), "...%s", path);
	return text;
}

/* Who traces reads such numbers just after the kill; the kernel printed them before it. */
const char *when_text(const struct scene *scene)
{
	return scene_is_imported(scene) ? "at the kill" : "just after the kill";
}

const char *stat_when_text(const struct scene *scene)
{
	if (scene_is_self(scene))
		return "at the last look before the kill";
	return scene->incident->stat_at_kill ? "at the kill" : when_text(scene);
}

uint64_t held_bytes(const struct scene *scene, const struct badness *badness)
{
	return (uint64_t)(badness->points - badness->adj_pages) * scene->host->page_size;
}

/* Of cgroup v1 the limit on memory and swap together, where it is that which was hit. */
const char *limit_kind(const struct scene *scene)
{
	return limit_is_memsw(scene->limit, scene->host->page_size) ? "memory+swap limit" : "limit";
}

uint64_t limit_bytes(const struct scene *scene)
{
	return pages_to_bytes(scene, limit_is_memsw(scene->limit, scene->host->page_size)
					     ? scene->limit->swap_max_pages
					     : scene->limit->max_pages);
}

uint64_t limit_usage_bytes(const struct scene *scene)
{
	return pages_to_bytes(scene, limit_is_memsw(scene->limit, scene->host->page_size)
					     ? scene->limit->swap_usage_pages
					     : scene->limit->usage_pages);
}

/* Before 5.18 memory.stat has the parts of it only. v1 has them not at all, but a counter. */
uint64_t kernel_memory_bytes(const struct scene *scene)
{
	const struct cgroup_stat *stat = &scene->incident->stat;
	const uint64_t parts[] = {stat->slab_bytes, stat->kernel_stack_bytes,
		stat->pagetables_bytes, stat->percpu_bytes, stat->vmalloc_bytes};
	uint64_t sum = 0;

	if (stat->kernel_bytes != UNKNOWN_U64)
		return stat->kernel_bytes;
	if (stat->slab_bytes == UNKNOWN_U64)
		return pages_to_bytes(scene, scene->limit->kmem_usage_pages);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		sum = sum + known_bytes(parts[i]) < sum ? UNKNOWN_U64 - 1
							: sum + known_bytes(parts[i]);
	return sum;
}

uint64_t victims_bytes(const struct scene *scene)
{
	uint64_t pages = 0;

	for (unsigned int i = 0; i < scene->incident->victim_count; i++) {
		const int64_t *rss = scene->incident->victims[i].task.rss_pages;

		for (int kind = EV_RSS_FILE; kind <= EV_RSS_SHMEM; kind++)
			pages += kind != EV_RSS_SWAP && rss[kind] > 0 ? (uint64_t)rss[kind] : 0;
	}
	return pages * scene->host->page_size;
}

/* ", 2.00 GiB of swap" */
static const char *swap_text(const struct host_memory *memory)
{
	static char text[48];

	if (memory->swap_total_bytes == UNKNOWN_U64)
		return "";
	if (!memory->swap_total_bytes)
		return ", no swap";
	snprintf(text, sizeof(text), ", %s of swap", size_text(memory->swap_total_bytes));
	return text;
}

void claim_of_host(const struct scene *scene, struct verdict *verdict)
{
	const struct host_memory *memory = &scene->incident->host;

	verdict_claim(verdict,
		"The machine itself was out of memory (%s of RAM%s); no cgroup's limit was hit.",
		size_text(memory->total_bytes), swap_text(memory));
}
