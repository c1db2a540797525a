// SPDX-License-Identifier: Apache-2.0
/* Who else died: of the same group, and at the same limit before. */
#include "judge/judgement.h"
#include "judge/verdict_parts.h"

/* The kernel takes the highest level with memory.oom.group, up to that of the limit. */
static int group_level(const struct scene *scene)
{
	int top = scene->ret->limit_level >= 0 ? scene->ret->limit_level
					       : (int)scene->incident->level_count - 1;

	for (int i = top; i >= 0; i--)
		if (scene->incident->levels[i].flags & EV_LEVEL_OOM_GROUP)
			return i;
	return -1;
}

void judge_group(struct scene *scene)
{
	unsigned int with = scene->incident->victims_dropped;
	int level = group_level(scene);
	struct verdict *verdict;

	for (unsigned int i = 0; i < scene->incident->victim_count; i++)
		if (scene->incident->victims[i].why == VICTIM_GROUP)
			with++;
	if (!with)
		return;
	verdict = verdict_new(scene, "group-kill", CONFIDENCE_CERTAIN);
	verdict_claim(verdict, "memory.oom.group took %u more %s with the one that was chosen.",
		with, with == 1 ? "process" : "processes");
	verdict_evidence(verdict, "victims: %u",
		scene->incident->victim_count + scene->incident->victims_dropped);
	if (level >= 0)
		verdict_evidence(verdict, "memory.oom.group is set on %s",
			path_text(scene->incident->level_paths[level]));
}

void judge_repeated(struct scene *scene)
{
	uint32_t earlier = scene->incident->earlier_kills;
	/* No more of them are remembered. */
	bool at_least = earlier >= CGROUP_KILLS_COUNTED;
	struct verdict *verdict;

	if (earlier && scene->incident->source == INCIDENT_IMPORTED && !scene->limit_path[0] &&
		scene->victim) {
		verdict = verdict_new(scene, "repeated", CONFIDENCE_CERTAIN);
		verdict_claim(verdict,
			"The kernel killed a process named %s %u times within 10 minutes, this one included.",
			scene->victim->comm, earlier + 1);
		verdict_evidence(verdict, "%u earlier in the log", earlier);
		return;
	}
	if (!earlier || !scene->limit)
		return;
	verdict = verdict_new(scene, "repeated", CONFIDENCE_CERTAIN);
	verdict_claim(verdict,
		"This limit has killed %s%u times within 10 minutes, this one included.",
		at_least ? "at least " : "", earlier + 1);
	verdict_evidence(verdict, "%s%u earlier at %s", at_least ? "at least " : "", earlier,
		path_text(scene->limit_path));
}
