// SPDX-License-Identifier: Apache-2.0
#include "judge/stalls.h"

#include <stdio.h>
#include <string.h>

#include "judge/verdict_parts.h"
#include "judge/verdict_table.h"

static unsigned long long seconds(const struct stall *stall)
{
	return (stall->last_ns - stall->since_ns) / 1000000000ULL;
}

static void put_evidence(const struct stall_scene *scene, struct verdict *ret)
{
	const struct stall *stall = &scene->stall;

	verdict_evidence(ret, "usage %s, memory.high %s, memory.max %s",
		size_text(stall->last.usage_bytes), size_text(stall->last.high_bytes),
		stall->last.max_bytes == UNKNOWN_U64 ? "none" : size_text(stall->last.max_bytes));
	verdict_evidence(ret, "memory.events: high rose by %llu to %llu",
		(unsigned long long)(stall->last.high_events - stall->first.high_events),
		(unsigned long long)stall->last.high_events);
	verdict_evidence(ret, "memory.pressure: full %u%% of the time", stall_full_percent(stall));
	for (unsigned int i = 0; i < scene->process_count && i < STALL_PROCESSES; i++)
		verdict_evidence(ret, "%s[%u] holds %s", scene->processes[i].comm,
			scene->processes[i].tgid, size_text(scene->processes[i].held_bytes));
}

void judge_stall(const struct stall_scene *scene, struct verdict *ret)
{
	const struct stall *stall = &scene->stall;
	const char *path = scene->path[0] ? path_text(scene->path) : "A cgroup";

	memset(ret, 0, sizeof(*ret));
	ret->id = verdict_id("high-livelock");
	/* All of it is counted by the kernel. */
	ret->confidence = CONFIDENCE_CERTAIN;
	if (scene->ended)
		verdict_claim(ret,
			"%s stood still at its memory.high of %s for %llu s; that is over.", path,
			size_text(stall->last.high_bytes), seconds(stall));
	else
		verdict_claim(ret,
			"%s stands still at its memory.high of %s: for %llu s its processes have waited for memory %u%% of the time, and nobody is killed.",
			path, size_text(stall->last.high_bytes), seconds(stall),
			stall_full_percent(stall));
	put_evidence(scene, ret);
}
