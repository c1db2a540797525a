// SPDX-License-Identifier: Apache-2.0
/* A kill that was counted, and who vanished, as an incident. */
#include <string.h>

#include "model/imported.h"
#include "model/selfwatch_parts.h"

/* How near to its limit a cgroup was, for charges that failed there to have led to the kill. */
#define FULL_PART 32
/* By so much the largest of those that vanished must be ahead of the next one. */
#define FAR_AHEAD 2
/* More pages than any limit that is one. */
#define NO_LIMIT_PAGES (1ULL << 48)

static uint64_t pages_of(const struct selfwatch *watch, uint64_t bytes)
{
	return bytes == UNKNOWN_U64 ? UNKNOWN_U64 : bytes / watch->options.page_size;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	if (a == UNKNOWN_U64 || b == UNKNOWN_U64)
		return a == UNKNOWN_U64 ? b : a;
	return a > b ? a : b;
}

static bool rose(uint64_t before, uint64_t now)
{
	return before != UNKNOWN_U64 && now != UNKNOWN_U64 && now > before;
}

/* --- levels --- */

/* What is in use falls as soon as the victim is gone: of both readings the higher one. */
static void fill_level(
	const struct selfwatch *watch, const struct self_group *group, struct incident_level *level)
{
	const struct cgroup_limits *limits = &group->now;

	memset(level, 0xff, sizeof(*level)); /* UNKNOWN_U64 */
	level->id = group->id;
	level->flags = (watch->options.v2 ? EV_LEVEL_V2 : 0) | (group->root ? EV_LEVEL_ROOT : 0) |
		       (limits->oom_group == 1 ? EV_LEVEL_OOM_GROUP : 0);
	level->usage_pages =
		pages_of(watch, larger(group->before.usage_bytes, limits->usage_bytes));
	level->max_pages = pages_of(watch, limits->max_bytes);
	level->high_pages = pages_of(watch, limits->high_bytes);
	level->watermark_pages = pages_of(watch, limits->peak_bytes);
	level->swap_usage_pages =
		pages_of(watch, larger(group->before.swap_usage_bytes, limits->swap_usage_bytes));
	level->swap_max_pages = pages_of(watch, limits->swap_max_bytes);
	level->events[EV_EVENT_OOM] = limits->oom;
	level->events[EV_EVENT_OOM_KILL] = limits->oom_kill;
	if (watch->options.v2)
		level->events[EV_EVENT_MAX] = limits->max_events;
	else
		level->failcnt = limits->max_events;
}

static void fill_levels(struct selfwatch *watch, struct incident *ret)
{
	struct self_group *domain = self_domain(watch);
	struct self_group *group =
		self_group_of(watch, watch->episode.where ?: (domain ? domain->id : 0));

	while (group && ret->level_count < EV_MAX_LEVELS) {
		fill_level(watch, group, &ret->levels[ret->level_count]);
		strcpy(ret->level_paths[ret->level_count], group->path);
		ret->level_count++;
		group = self_group_of(watch, group->parent_id);
	}
}

static bool was_full(const struct self_group *group)
{
	uint64_t max = group->now.max_bytes,
		 most = larger(group->before.usage_bytes, group->now.usage_bytes);

	if (max == UNKNOWN_U64 || max == CGROUP_NO_LIMIT)
		return false;
	if (group->now.peak_bytes != UNKNOWN_U64 && group->now.peak_bytes >= max)
		return true;
	return most != UNKNOWN_U64 && most >= max - max / FULL_PART;
}

/* An invocation is counted where the limit is and in all above it (v2): the lowest that counts. */
static enum self_limit_sign sign_of(const struct selfwatch *watch, const struct self_group *group)
{
	if (group->root)
		return SELF_LIMIT_NONE;
	if (watch->options.v2)
		return rose(group->older.oom, group->now.oom) ? SELF_LIMIT_COUNTED
							      : SELF_LIMIT_NONE;
	return rose(group->older.max_events, group->now.max_events) && was_full(group)
		       ? SELF_LIMIT_FAILED
		       : SELF_LIMIT_NONE;
}

static void find_limit(struct selfwatch *watch, struct incident *ret)
{
	ret->self.limit_level = -1;
	for (unsigned int i = 0; i < ret->level_count; i++) {
		struct self_group *group = self_group_of(watch, ret->levels[i].id);
		enum self_limit_sign sign = sign_of(watch, group);

		if (sign == SELF_LIMIT_NONE)
			continue;
		ret->self.limit_level = (int)i;
		ret->self.limit_sign = sign;
		ret->has_events_before = true;
		memset(ret->events_before, 0xff, sizeof(ret->events_before));
		ret->events_before[EV_EVENT_OOM] = group->older.oom;
		ret->events_before[EV_EVENT_OOM_KILL] = group->older.oom_kill;
		if (watch->options.v2)
			ret->events_before[EV_EVENT_MAX] = group->older.max_events;
		return;
	}
}

/* --- who was there --- */

static int64_t weight_of(const struct selfwatch *watch, const struct task_facts *task)
{
	const struct incident *incident = &watch->incident;
	int level = incident->self.limit_level;
	uint64_t ceiling = level < 0 ? 0 : incident->levels[level].max_pages;
	int64_t pages = (int64_t)self_held_pages(task, watch->options.page_size);

	return ceiling < NO_LIMIT_PAGES ? pages + task->oom_score_adj * (int64_t)(ceiling / 1000)
					: pages;
}

/* Is the cgroup the limit's, or below it? Of a limit above what is watched all are. */
static bool below_limit(struct selfwatch *watch, uint64_t cgroup_id)
{
	const struct incident *incident = &watch->incident;
	struct self_group *at = self_group_of(watch, cgroup_id);
	uint64_t limit;

	if (incident->self.limit_level < 0)
		return true;
	limit = incident->levels[incident->self.limit_level].id;
	for (int i = 0; at && i < EV_MAX_LEVELS; i++) {
		if (at->id == limit)
			return true;
		at = self_group_of(watch, at->parent_id);
	}
	return false;
}

static void put_candidate(
	struct selfwatch *watch, struct candidate *candidate, const struct self_process *process)
{
	struct self_group *group = self_group_of(watch, process->task.cgroup_id);

	candidate->task = process->task;
	candidate->weight = weight_of(watch, &process->task);
	candidate->cgroup[0] = '\0';
	if (group && strlen(group->path) < sizeof(candidate->cgroup))
		strcpy(candidate->cgroup, group->path);
	strcpy(candidate->cmdline, process->cmdline);
}

/* The heaviest, in order. */
static void weigh(struct selfwatch *watch, const struct self_process *process)
{
	struct incident *incident = &watch->incident;
	int64_t weight = weight_of(watch, &process->task);
	unsigned int at = incident->candidate_count;

	if (!below_limit(watch, process->task.cgroup_id))
		return;
	incident->candidate_total++;
	if (at == INCIDENT_CANDIDATES) {
		if (incident->candidates[--at].weight >= weight)
			return;
	} else {
		incident->candidate_count++;
	}
	for (; at > 0 && incident->candidates[at - 1].weight < weight; at--)
		incident->candidates[at] = incident->candidates[at - 1];
	put_candidate(watch, &incident->candidates[at], process);
}

static void weigh_one(const struct self_process *process, void *arg)
{
	weigh(arg, process);
}

static void fill_candidates(struct selfwatch *watch)
{
	unsigned int kept = watch->gone_count < SELF_GONE ? watch->gone_count : SELF_GONE;

	selfwatch_each(watch, weigh_one, watch);
	for (unsigned int i = 0; i < kept; i++)
		if (watch->gone[i].gone_ns > watch->episode.before_ns && !watch->gone[i].told)
			weigh(watch, &watch->gone[i]);
}

static uint32_t earlier_kills(const struct selfwatch *watch)
{
	unsigned int kept =
		watch->earlier_count < SELF_EARLIER ? watch->earlier_count : SELF_EARLIER;
	uint32_t count = 0;

	for (unsigned int i = 0; i < kept; i++)
		count += watch->earlier_ns[i] + REPEAT_WINDOW_NS > watch->episode.seen_ns;
	return count;
}

static void clear(struct incident *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->source = INCIDENT_SELF;
	memset(&ret->host, 0xff, sizeof(ret->host)); /* UNKNOWN_U64 */
	ret->totalpages = ret->ceiling_hint = ret->nodemask = UNKNOWN_U64;
	ret->mems_allowed = ret->policy_nodes = UNKNOWN_U64;
	incident_log_clear(&ret->log);
}

void self_begin_incident(struct selfwatch *watch)
{
	struct incident *ret = &watch->incident;

	clear(ret);
	ret->time_ns = watch->episode.seen_ns;
	ret->outcome = OUTCOME_KILLED;
	ret->gathered = ret->complete = true;
	ret->stat = watch->stat;
	ret->stat_usage_bytes = watch->stat_usage_bytes;
	ret->self.before_ns = watch->episode.before_ns;
	ret->self.hidden = watch->hidden;
	ret->self.complete = watch->options.complete;
	ret->self.counted = watch->totals.domain_kills;
	ret->self.pressure_some = watch->pressure.some;
	ret->self.pressure_full = watch->pressure.full;
	fill_levels(watch, ret);
	find_limit(watch, ret);
	if (ret->self.limit_level >= 0 && self_domain(watch) &&
		ret->levels[ret->self.limit_level].id != self_domain(watch)->id) {
		memset(&ret->stat, 0xff, sizeof(ret->stat)); /* it is of the domain */
		ret->stat_usage_bytes = UNKNOWN_U64;
	}
	fill_candidates(watch);
	ret->earlier_kills = earlier_kills(watch);
}

/* --- who vanished --- */

static void sort_by_weight(
	const struct selfwatch *watch, struct self_process **list, unsigned int count)
{
	for (unsigned int i = 1; i < count; i++) {
		struct self_process *one = list[i];
		unsigned int at = i;

		for (; at > 0 &&
			weight_of(watch, &list[at - 1]->task) < weight_of(watch, &one->task);
			at--)
			list[at] = list[at - 1];
		list[at] = one;
	}
}

/* Those at which SIGKILL was seen, where they are enough; the others ended otherwise, then. */
static unsigned int those_killed(
	struct self_process **list, unsigned int count, uint32_t kills, struct self_process **ret)
{
	unsigned int killed = 0;

	for (unsigned int i = 0; i < count; i++)
		if (list[i]->killed)
			ret[killed++] = list[i];
	if (killed >= kills)
		return killed;
	memcpy(ret, list, count * sizeof(*list));
	return count;
}

static bool all_killed(struct self_process *const *list, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (!list[i]->killed)
			return false;
	return true;
}

/* The kernel takes the largest of all: it vanished, and of the others that vanished none is near.
 */
static bool is_far_ahead(
	const struct selfwatch *watch, struct self_process *const *list, unsigned int count)
{
	int64_t first = weight_of(watch, &list[0]->task);

	for (unsigned int i = 0; i < watch->incident.candidate_count; i++)
		if (watch->incident.candidates[i].weight > first)
			return false;
	return count < 2 || first > FAR_AHEAD * weight_of(watch, &list[1]->task);
}

static bool is_listed(
	const struct task_facts *task, struct self_process *const *list, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (list[i]->task.tgid == task->tgid && list[i]->task.start_ns == task->start_ns)
			return true;
	return false;
}

/* Somebody larger lives on: what vanished may have ended by itself, and the one that was killed
 * have come and gone between two looks. */
static bool is_outweighed(
	const struct selfwatch *watch, struct self_process *const *list, unsigned int count)
{
	int64_t least = weight_of(watch, &list[count - 1]->task);

	for (unsigned int i = 0; i < watch->incident.candidate_count; i++) {
		const struct candidate *candidate = &watch->incident.candidates[i];

		if (candidate->weight > least && !is_listed(&candidate->task, list, count))
			return true;
	}
	return false;
}

static void put_victim(struct selfwatch *watch, struct incident *ret, struct self_process *process,
	enum victim_why why)
{
	struct victim *victim;
	struct self_group *group = self_group_of(watch, process->task.cgroup_id);

	if (ret->victim_count == INCIDENT_VICTIMS)
		return;
	victim = &ret->victims[ret->victim_count++];
	*victim = (struct victim) {.task = process->task,
		.why = why,
		.signalled = process->killed,
		.killed_ns = ret->time_ns};
	process->told = true;
	if (ret->victim_count > 1)
		return;
	if (group)
		strcpy(ret->victim_cgroup, group->path);
	strcpy(ret->victim_cmdline, process->cmdline);
	strcpy(ret->victim_exe, process->exe);
}

/* `list`: the heaviest first. */
static void choose(struct selfwatch *watch, struct incident *ret, struct self_process **list,
	unsigned int count, unsigned int all)
{
	uint32_t kills = watch->episode.kills;
	enum victim_why why = VICTIM_VANISHED;

	if (count <= kills && all_killed(list, count)) {
		ret->self.certainty = count == all ? SELF_CERTAIN : SELF_LIKELY;
	} else if (count <= kills && !is_outweighed(watch, list, count)) {
		ret->self.certainty = SELF_LIKELY;
	} else if (kills == 1 && is_far_ahead(watch, list, count)) {
		ret->self.certainty = SELF_LIKELY;
		count = 1;
	} else {
		ret->self.certainty = SELF_POSSIBLE;
		why = VICTIM_POSSIBLE;
	}
	for (unsigned int i = 0; i < count; i++)
		put_victim(watch, ret, list[i], why);
}

static void fill_freed(struct selfwatch *watch, struct incident *ret)
{
	for (unsigned int i = 0; i < ret->level_count; i++) {
		struct self_group *group = self_group_of(watch, ret->levels[i].id);

		if (group && group->now.usage_bytes != UNKNOWN_U64)
			ret->levels[i].freed_usage_pages = pages_of(watch, group->now.usage_bytes);
	}
}

void self_fill_victims(struct selfwatch *watch, struct incident *ret)
{
	struct self_process *suspects[SELF_GONE], *list[SELF_GONE];
	uint32_t kills = watch->episode.kills;
	unsigned int all, count;
	bool dying;

	all = self_suspects(watch, suspects, SELF_GONE, &dying);
	count = those_killed(suspects, all, kills, list);
	sort_by_weight(watch, list, count);
	ret->self.kills = kills;
	ret->self.vanished = all;
	ret->self.unseen = count < kills ? kills - count : 0;
	if (count)
		choose(watch, ret, list, count, all);
	fill_freed(watch, ret);
}
