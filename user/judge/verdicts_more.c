// SPDX-License-Identifier: Apache-2.0
/* Who else died: of the same group, and at the same limit before. */
#include "judge/verdict_rules.h"

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

bool rule_group_kill(const struct scene *scene, struct verdict *verdict)
{
	unsigned int with = scene->incident->victims_dropped;
	int level = group_level(scene);

	for (unsigned int i = 0; i < scene->incident->victim_count; i++)
		if (scene->incident->victims[i].why == VICTIM_GROUP)
			with++;
	if (!with)
		return false;
	verdict->confidence = CONFIDENCE_CERTAIN;
	verdict_claim(verdict, "memory.oom.group took %u more %s with the one that was chosen.",
		with, with == 1 ? "process" : "processes");
	verdict_evidence(verdict, "victims: %u",
		scene->incident->victim_count + scene->incident->victims_dropped);
	if (level >= 0)
		verdict_evidence(verdict, "memory.oom.group is set on %s",
			path_text(scene->incident->level_paths[level]));
	return true;
}

/* A log may not name the cgroup whose limit it was. */
bool rule_repeated_name(const struct scene *scene, struct verdict *verdict)
{
	uint32_t earlier = scene->incident->earlier_kills;

	if (!earlier || scene->limit_path[0])
		return false;
	verdict->confidence = CONFIDENCE_CERTAIN;
	verdict_claim(verdict,
		"The kernel killed a process named %s %u times within 10 minutes, this one included.",
		scene->victim->comm, earlier + 1);
	verdict_evidence(verdict, "%u earlier in the log", earlier);
	return true;
}

bool rule_repeated(const struct scene *scene, struct verdict *verdict)
{
	uint32_t earlier = scene->incident->earlier_kills;
	/* No more of them are remembered. */
	bool at_least = earlier >= CGROUP_KILLS_COUNTED;

	if (!earlier)
		return false;
	verdict->confidence = CONFIDENCE_CERTAIN;
	verdict_claim(verdict,
		"This limit has killed %s%u times within 10 minutes, this one included.",
		at_least ? "at least " : "", earlier + 1);
	verdict_evidence(verdict, "%s%u earlier at %s", at_least ? "at least " : "", earlier,
		path_text(scene->limit_path));
	return true;
}
