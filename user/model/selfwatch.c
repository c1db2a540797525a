// SPDX-License-Identifier: Apache-2.0
#include "model/selfwatch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/selfwatch_parts.h"

#define SETTLE_NS 2000000000ULL

struct selfwatch *selfwatch_new(const struct selfwatch_options *options)
{
	size_t capacity = options->processes ? options->processes : SELF_PROCESSES;
	struct selfwatch *watch = calloc(1, sizeof(*watch));
	int err = watch ? slots_init(&watch->slots, capacity) : -ENOMEM;

	if (!err) {
		watch->processes = calloc(capacity, sizeof(*watch->processes));
		err = watch->processes ? 0 : -ENOMEM;
	}
	if (err) {
		selfwatch_free(watch);
		errno = -err;
		return NULL;
	}
	watch->options = *options;
	if (!watch->options.settle_ns)
		watch->options.settle_ns = SETTLE_NS;
	memset(&watch->stat, 0xff, sizeof(watch->stat)); /* UNKNOWN_U64 */
	watch->stat_usage_bytes = UNKNOWN_U64;
	watch->pressure = (struct pressure) {UNKNOWN_U64, UNKNOWN_U64};
	return watch;
}

void selfwatch_free(struct selfwatch *watch)
{
	if (!watch)
		return;
	slots_done(&watch->slots);
	free(watch->processes);
	free(watch);
}

/* --- processes --- */

uint64_t self_held_pages(const struct task_facts *task, uint32_t page_size)
{
	uint64_t pages = 0;

	for (int i = 0; i < EV_RSS_COUNTERS; i++)
		if (task->rss_pages[i] > 0)
			pages += (uint64_t)task->rss_pages[i];
	if (task->pgtables_bytes != UNKNOWN_U64)
		pages += task->pgtables_bytes / page_size;
	return pages;
}

static uint32_t slot_of(const struct selfwatch *watch, uint32_t tgid)
{
	uint32_t slot = slots_first(&watch->slots, tgid);

	while (slot != SLOT_NONE && watch->processes[slot].task.tgid != tgid)
		slot = slots_next(&watch->slots, slot);
	return slot;
}

/* From the table into the ring of those that vanished. */
static void goes(struct selfwatch *watch, uint32_t slot, uint64_t when_ns)
{
	struct self_process *process = &watch->processes[slot];

	process->gone_ns = when_ns;
	watch->gone[watch->gone_count++ % SELF_GONE] = *process;
	process->task.tgid = 0;
	slots_move(&watch->slots, slot, SLOT_GONE);
	watch->totals.processes--;
}

static struct self_process *comes(struct selfwatch *watch, const struct task_facts *task)
{
	struct self_process *process;
	enum slot_list evicted;
	uint32_t slot;

	if (watch->totals.processes == watch->slots.capacity) {
		watch->totals.no_room++;
		return NULL;
	}
	slot = slots_take(&watch->slots, task->tgid, &evicted);
	process = &watch->processes[slot];
	memset(process, 0, sizeof(*process));
	process->task = *task;
	watch->totals.processes++;
	return process;
}

/* What it held before its memory was taken from it; of two readings while it dies, the larger. */
static void keep_reading(
	const struct selfwatch *watch, struct self_process *process, const struct self_sight *sight)
{
	uint32_t page_size = watch->options.page_size;

	if (!sight->has_memory)
		return;
	if (process->killed && self_held_pages(&sight->task, page_size) <=
				       self_held_pages(&process->task, page_size))
		return;
	if (strcmp(process->task.comm, sight->task.comm) ||
		(process->task.flags & ~sight->task.flags & EV_TASK_FORKED))
		process->named = false;
	process->task = sight->task;
	process->faults = sight->faults;
}

struct self_process *selfwatch_process(struct selfwatch *watch, const struct self_sight *sight)
{
	uint32_t slot = slot_of(watch, sight->task.tgid);
	struct self_process *process = slot == SLOT_NONE ? NULL : &watch->processes[slot];

	/* Its pid was given to another one meanwhile. */
	if (process && process->task.start_ns != sight->task.start_ns) {
		goes(watch, slot, watch->look_ns);
		process = NULL;
	}
	/* A zombie of before our time is none of our business. */
	if (!process && sight->zombie)
		return NULL;
	if (!process)
		process = comes(watch, &sight->task);
	if (!process)
		return NULL;
	process->look = watch->look;
	process->killed |= sight->killed;
	keep_reading(watch, process, sight);
	if (!sight->zombie)
		return process;
	if (slot != SLOT_NONE)
		goes(watch, slot, watch->look_ns);
	return NULL;
}

void selfwatch_hidden(struct selfwatch *watch, unsigned int count)
{
	watch->hidden += count;
}

void selfwatch_each(const struct selfwatch *watch,
	void (*fn)(const struct self_process *process, void *arg), void *arg)
{
	for (uint32_t slot = 0; slot < watch->slots.used; slot++)
		if (watch->processes[slot].task.tgid)
			fn(&watch->processes[slot], arg);
}

static void miss_the_rest(struct selfwatch *watch, uint64_t now_ns)
{
	for (uint32_t slot = 0; slot < watch->slots.used; slot++)
		if (watch->processes[slot].task.tgid && watch->processes[slot].look != watch->look)
			goes(watch, slot, now_ns);
}

/* --- cgroups --- */

struct self_group *self_group_of(struct selfwatch *watch, uint64_t id)
{
	for (unsigned int i = 0; id && i < watch->group_count; i++)
		if (watch->groups[i].id == id)
			return &watch->groups[i];
	return NULL;
}

struct self_group *self_domain(struct selfwatch *watch)
{
	for (unsigned int i = 0; i < watch->group_count; i++)
		if (watch->groups[i].domain)
			return &watch->groups[i];
	return NULL;
}

/* A place of its own, or that of one which was removed longest ago. */
static struct self_group *place_for(struct selfwatch *watch)
{
	struct self_group *oldest = NULL;

	if (watch->group_count < SELF_CGROUPS)
		return &watch->groups[watch->group_count++];
	for (unsigned int i = 0; i < SELF_CGROUPS; i++) {
		struct self_group *group = &watch->groups[i];

		if (group->look + 1 < watch->look && (!oldest || group->look < oldest->look))
			oldest = group;
	}
	return oldest;
}

/* One that was made after the first look begins at nothing; one that found no room then does not.
 */
static struct self_group *make_group(struct selfwatch *watch, const struct self_counts *counts)
{
	struct self_group *group = place_for(watch);
	bool is_new = watch->look > 1 && counts->inside && !counts->domain &&
		      !watch->totals.cgroups_no_room;

	if (!group) {
		watch->totals.cgroups_no_room++;
		return NULL;
	}
	memset(group, 0, sizeof(*group));
	group->id = counts->id;
	strncpy(group->path, counts->path, sizeof(group->path) - 1);
	group->now = counts->limits;
	if (is_new)
		group->now.oom_kill = group->now.oom = group->now.max_events = 0;
	group->before = group->now;
	return group;
}

void selfwatch_cgroup(struct selfwatch *watch, const struct self_counts *counts)
{
	struct self_group *group = self_group_of(watch, counts->id);

	if (!group)
		group = make_group(watch, counts);
	if (!group)
		return;
	group->parent_id = counts->parent_id;
	group->inside = counts->inside;
	group->domain = counts->domain;
	group->root = counts->root;
	group->look = watch->look;
	group->older = group->before;
	group->before = group->now;
	group->now = counts->limits;
}

static uint32_t risen(uint64_t before, uint64_t now)
{
	if (before == UNKNOWN_U64 || now == UNKNOWN_U64 || now <= before)
		return 0;
	return now - before > UINT32_MAX ? UINT32_MAX : (uint32_t)(now - before);
}

/* On v2 the domain's own count has all of them, those of cgroups that are gone by now, too. */
static uint32_t count_kills(struct selfwatch *watch)
{
	uint32_t sum = 0, of_domain = 0;

	watch->totals.domain_kills = 0;
	for (unsigned int i = 0; i < watch->group_count; i++) {
		struct self_group *group = &watch->groups[i];

		group->rise = 0;
		if (group->look != watch->look || !group->inside)
			continue;
		group->rise = risen(group->before.oom_kill, group->now.oom_kill);
		if (!watch->options.v2 || group->domain)
			watch->totals.domain_kills +=
				group->now.oom_kill == UNKNOWN_U64 ? 0 : group->now.oom_kill;
		sum += group->rise;
		if (group->domain)
			of_domain = group->rise;
	}
	return watch->options.v2 ? of_domain : sum;
}

/* The cgroup that has all of the kills and none of them below it; 0: there is no such. */
static uint64_t where_they_were(const struct selfwatch *watch, uint32_t kills)
{
	const struct self_group *found = NULL;

	for (unsigned int i = 0; i < watch->group_count; i++) {
		const struct self_group *group = &watch->groups[i];
		uint32_t below = 0;

		for (unsigned int j = 0; watch->options.v2 && j < watch->group_count; j++)
			if (watch->groups[j].parent_id == group->id)
				below += watch->groups[j].rise;
		if (group->rise <= below)
			continue;
		/* Of the domain's own kills some may be of a cgroup that is gone by now. */
		if (found || group->rise - below != kills || (group->domain && watch->options.v2))
			return 0;
		found = group;
	}
	return found ? found->id : 0;
}

static void open_or_add(struct selfwatch *watch, uint32_t kills, uint64_t now_ns)
{
	struct episode *episode = &watch->episode;
	uint64_t where = where_they_were(watch, kills);

	if (episode->open) {
		episode->kills += kills;
		if (episode->where != where)
			episode->where = 0;
		return;
	}
	*episode = (struct episode) {.open = true,
		.before_ns = watch->looked_ns,
		.seen_ns = now_ns,
		.kills = kills,
		.where = where};
	self_begin_incident(watch);
}

/* --- looks --- */

void selfwatch_look(struct selfwatch *watch, uint64_t now_ns)
{
	watch->look++;
	watch->look_ns = now_ns;
	watch->hidden = 0;
}

uint32_t selfwatch_looked(struct selfwatch *watch, uint64_t now_ns)
{
	uint32_t kills;

	miss_the_rest(watch, watch->look_ns);
	kills = count_kills(watch);
	if (kills)
		open_or_add(watch, kills, now_ns);
	watch->looked_ns = now_ns;
	return kills;
}

void selfwatch_stat(struct selfwatch *watch, const struct cgroup_stat *stat, uint64_t usage_bytes)
{
	watch->stat = *stat;
	watch->stat_usage_bytes = usage_bytes;
}

void selfwatch_pressure(struct selfwatch *watch, const struct pressure *pressure)
{
	watch->pressure = *pressure;
}

bool selfwatch_open(const struct selfwatch *watch)
{
	return watch->episode.open;
}

uint64_t selfwatch_before(const struct selfwatch *watch)
{
	return watch->episode.before_ns;
}

uint64_t selfwatch_growth_id(const struct selfwatch *watch)
{
	const struct incident *incident = &watch->incident;
	struct self_group *domain = self_domain((struct selfwatch *)watch);

	if (incident->self.limit_level >= 0)
		return incident->levels[incident->self.limit_level].id;
	return domain ? domain->id : 0;
}

struct selfwatch_totals selfwatch_totals(const struct selfwatch *watch)
{
	return watch->totals;
}

/* --- the end of an episode --- */

static bool is_suspect(const struct selfwatch *watch, const struct self_process *process)
{
	const struct episode *episode = &watch->episode;

	if (process->told || (episode->where && process->task.cgroup_id != episode->where))
		return false;
	return process->gone_ns ? process->gone_ns > episode->before_ns : process->killed;
}

unsigned int self_suspects(
	struct selfwatch *watch, struct self_process **ret, unsigned int room, bool *ret_dying)
{
	unsigned int kept = watch->gone_count < SELF_GONE ? watch->gone_count : SELF_GONE;
	unsigned int count = 0;

	*ret_dying = false;
	for (unsigned int i = 0; i < kept && count < room; i++)
		if (is_suspect(watch, &watch->gone[i]))
			ret[count++] = &watch->gone[i];
	for (uint32_t slot = 0; slot < watch->slots.used && count < room; slot++) {
		struct self_process *process = &watch->processes[slot];

		if (!process->task.tgid || !is_suspect(watch, process))
			continue;
		ret[count++] = process;
		*ret_dying = true;
	}
	return count;
}

static bool is_over(struct selfwatch *watch, uint64_t now_ns)
{
	struct self_process *suspects[SELF_GONE];
	bool dying;

	if (now_ns >= watch->episode.seen_ns + watch->options.settle_ns)
		return true;
	return self_suspects(watch, suspects, SELF_GONE, &dying) >= watch->episode.kills && !dying;
}

static void remember(struct selfwatch *watch)
{
	watch->earlier_ns[watch->earlier_count++ % SELF_EARLIER] = watch->episode.seen_ns;
}

/* Nobody may be suspected twice. */
static void forget_suspects(struct selfwatch *watch)
{
	for (unsigned int i = 0; i < SELF_GONE; i++)
		watch->gone[i].gone_ns = 0;
	watch->gone_count = 0;
}

bool selfwatch_take(struct selfwatch *watch, uint64_t now_ns, bool now, struct incident *ret)
{
	if (!watch->episode.open || (!now && !is_over(watch, now_ns)))
		return false;
	*ret = watch->incident;
	self_fill_victims(watch, ret);
	ret->closed = now ? CLOSED_STOPPED : CLOSED_EXITED;
	if (!now && now_ns >= watch->episode.seen_ns + watch->options.settle_ns)
		ret->closed = CLOSED_TIMEOUT;
	ret->closed_ns = now_ns;
	remember(watch);
	forget_suspects(watch);
	watch->episode.open = false;
	return true;
}
