// SPDX-License-Identifier: Apache-2.0
/* Who else died: of the same group, and at the same limit before. And what slowed them down first.
 */
#include "judge/limit.h"
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

/* --- memory.high --- */

/* Of this very cgroup, where the kernel tells that; else those below it are in it, too. */
static uint64_t high_events(const struct incident_level *level)
{
	uint64_t own = level->events_local[EV_EVENT_HIGH];

	return own != UNKNOWN_U64 ? own : level->events[EV_EVENT_HIGH];
}

static bool high_is_known(const struct scene *scene, const struct incident_level *level)
{
	/* Version 1 has a soft limit in its place, which slows nobody. */
	return level->flags & EV_LEVEL_V2 && level->high_pages != UNKNOWN_U64 &&
	       level->usage_pages != UNKNOWN_U64 && high_events(level) != UNKNOWN_U64 &&
	       level->high_pages < LIMIT_NONE_PAGES(scene->host->page_size);
}

bool scene_knows_high(const struct scene *scene)
{
	for (unsigned int i = 0; i < scene->incident->level_count; i++)
		if (high_is_known(scene, &scene->incident->levels[i]))
			return true;
	return false;
}

/* How often it was passed since the last kill there, if that is known: UNKNOWN_U64. */
static uint64_t high_events_since(const struct scene *scene, const struct incident_level *level)
{
	const struct incident *incident = scene->incident;
	uint64_t now = level->events[EV_EVENT_HIGH],
		 before = incident->events_before[EV_EVENT_HIGH];

	if (level != scene->limit || !incident->has_events_before || now == UNKNOWN_U64 ||
		before == UNKNOWN_U64 || now < before)
		return UNKNOWN_U64;
	return now - before;
}

/* The lowest one: that is the one that its owner has written. NULL: none. */
static const struct incident_level *level_above_high(const struct scene *scene)
{
	for (unsigned int i = 0; i < scene->incident->level_count; i++) {
		const struct incident_level *level = &scene->incident->levels[i];

		if (high_is_known(scene, level) && level->usage_pages >= level->high_pages &&
			high_events(level) && high_events_since(scene, level))
			return level;
	}
	return NULL;
}

/* The kernel slows down by how far usage is above it: how much that was, no counter tells. */
bool rule_throttled(const struct scene *scene, struct verdict *verdict)
{
	const struct incident_level *level = level_above_high(scene);
	uint64_t count, since, high;

	if (!level || !scene->incident->victim_count)
		return false;
	count = high_events(level);
	since = high_events_since(scene, level);
	high = pages_to_bytes(scene, level->high_pages);
	verdict->confidence = CONFIDENCE_LIKELY;
	verdict_claim(verdict,
		"Whoever allocated in %s was slowed down before this kill: usage is above its memory.high of %s, which was passed %llu time%s.",
		path_text(scene->incident->level_paths[level - scene->incident->levels]),
		size_text(high), (unsigned long long)count, count == 1 ? "" : "s");
	verdict_evidence(verdict, "memory.high %s, usage %s at the kill", size_text(high),
		size_text(pages_to_bytes(scene, level->usage_pages)));
	verdict_evidence(verdict, "memory.events%s: high %llu",
		level->events_local[EV_EVENT_HIGH] != UNKNOWN_U64 ? ".local" : "",
		(unsigned long long)count);
	if (since != UNKNOWN_U64)
		verdict_evidence(verdict, "since the last kill there, with those below: high %llu",
			(unsigned long long)since);
	return true;
}
