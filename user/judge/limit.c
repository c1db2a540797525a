// SPDX-License-Identifier: Apache-2.0
#include "judge/limit.h"

#include <string.h>

#define HOST_EMPTY_PART 50

/* Pages left below a limit; negative where the usage is above it; INT64_MAX without a limit. */
static int64_t headroom(uint64_t usage, uint64_t max, uint32_t page_size)
{
	if (usage == UNKNOWN_U64 || max == UNKNOWN_U64 || max >= LIMIT_NONE_PAGES(page_size))
		return INT64_MAX;
	return (int64_t)max - (int64_t)usage;
}

static int64_t level_headroom(const struct incident_level *level, uint32_t page_size)
{
	int64_t memory = headroom(level->usage_pages, level->max_pages, page_size);
	int64_t memsw;

	/* v2 has no limit on memory and swap together: a full swap only stops swapping. */
	if (level->flags & EV_LEVEL_V2)
		return memory;
	memsw = headroom(level->swap_usage_pages, level->swap_max_pages, page_size);
	return memsw < memory ? memsw : memory;
}

/* Is `path` this level's cgroup or below it? */
static bool path_is_below(const char *path, const char *level)
{
	size_t len = strlen(level);

	if (!strcmp(level, "/"))
		return true;
	return !strncmp(path, level, len) && (path[len] == '/' || path[len] == '\0');
}

/*
 * The limit is one that whoever asked for the page is charged against, too. Among those it is the
 * fullest; of two equally full the lower one, since a charge climbs from the leaf and stops at the
 * first that fails. How far above its limit a level is says nothing: it is full.
 */
static int level_full(const struct incident *incident, uint32_t page_size)
{
	int64_t least = LIMIT_SLACK_PAGES + 1;
	int found = -1;

	for (unsigned int i = 0; i < incident->level_count; i++) {
		const struct incident_level *level = &incident->levels[i];
		int64_t room = level_headroom(level, page_size);

		if (room < 0)
			room = 0;
		if (level->flags & EV_LEVEL_ROOT || room >= least)
			continue;
		if (incident->trigger_cgroup[0] &&
			!path_is_below(incident->trigger_cgroup, incident->level_paths[i]))
			continue;
		least = room;
		found = i;
	}
	return found;
}

/*
 * The kernel counts each invocation of the OOM killer at the very level whose limit was hit, before
 * anything is killed. The page counters may have fallen again when they are read, since earlier
 * victims are on their way out; this count has not.
 */
static int level_counted(const struct incident *incident)
{
	const struct host_memory *host = &incident->host;

	/* A scan that ended without a kill was counted, too, and not seen: while the machine itself
	 * has nothing left, the count proves nothing. */
	if (host->available_bytes != UNKNOWN_U64 && host->total_bytes != UNKNOWN_U64 &&
		host->available_bytes < host->total_bytes / HOST_EMPTY_PART)
		return -1;
	for (unsigned int i = 0; i < incident->level_count; i++) {
		const struct incident_level *level = &incident->levels[i];

		uint64_t counted = level->events_local[EV_EVENT_OOM];

		if (counted != UNKNOWN_U64 && level->oom_local_before != UNKNOWN_U64 &&
			counted > level->oom_local_before)
			return i;
	}
	return -1;
}

/* Who lowers a limit asks for the kill, and is charged elsewhere: the usage is above the limit. */
static int level_above_limit(const struct incident *incident, uint32_t page_size)
{
	for (unsigned int i = 0; i < incident->level_count; i++)
		if (!(incident->levels[i].flags & EV_LEVEL_ROOT) &&
			level_headroom(&incident->levels[i], page_size) < 0)
			return i;
	return -1;
}

bool limit_is_memsw(const struct incident_level *level, uint32_t page_size)
{
	return !(level->flags & EV_LEVEL_V2) &&
	       headroom(level->swap_usage_pages, level->swap_max_pages, page_size) <
		       headroom(level->usage_pages, level->max_pages, page_size);
}

static int level_of_oc(const struct incident *incident)
{
	for (unsigned int i = 0; i < incident->level_count; i++)
		if (incident->levels[i].id == incident->oc_limit_id)
			return i;
	return -1;
}

static enum scope scope_of_constraint(uint32_t constraint)
{
	switch (constraint) {
	case EV_CONSTRAINT_MEMCG:
		return SCOPE_MEMCG;
	case EV_CONSTRAINT_CPUSET:
		return SCOPE_CPUSET;
	case EV_CONSTRAINT_MEMORY_POLICY:
		return SCOPE_MEMPOLICY;
	default:
		return SCOPE_GLOBAL;
	}
}

static uint64_t host_pages(uint64_t bytes, uint32_t page_size)
{
	return bytes == UNKNOWN_U64 ? UNKNOWN_U64 : bytes / page_size;
}

static void ceiling_compute(
	const struct incident *incident, const struct host_facts *host, struct judgement *ret)
{
	uint64_t ram = host_pages(incident->host.total_bytes, host->page_size);
	uint64_t swap = host_pages(incident->host.swap_total_bytes, host->page_size);

	ret->totalpages = UNKNOWN_U64;
	if (swap == UNKNOWN_U64)
		return;
	if (ret->limit_level >= 0)
		ret->totalpages =
			memcg_ceiling(&incident->levels[ret->limit_level], host->swappiness, swap);
	else if (ram != UNKNOWN_U64)
		ret->totalpages = ram + swap;
	ret->totalpages_computed = ret->totalpages != UNKNOWN_U64;
}

/* As constrained_alloc() does it: nodes with memory that whoever asked may not use, by its policy
 * or by its cpuset. */
static enum scope scope_of_nodes(const struct incident *incident, const struct host_facts *host)
{
	uint64_t nodes = host->memory_nodes;

	if (incident->policy_nodes != UNKNOWN_U64 && nodes & ~incident->policy_nodes)
		return SCOPE_MEMPOLICY;
	if (incident->mems_allowed != UNKNOWN_U64 && nodes & ~incident->mems_allowed)
		return SCOPE_CPUSET;
	return SCOPE_GLOBAL;
}

/* The kernel's ceiling as far as a log tells it: of the machine; of a cgroup that may not swap. */
static uint64_t ceiling_of_log(
	const struct incident *incident, const struct host_facts *host, const struct judgement *ret)
{
	const struct incident_level *level;
	uint64_t ram = host_pages(incident->host.total_bytes, host->page_size);
	uint64_t swap = host_pages(incident->host.swap_total_bytes, host->page_size);

	if (ret->scope == SCOPE_GLOBAL && ram != UNKNOWN_U64 && swap != UNKNOWN_U64)
		return ram + swap;
	if (ret->limit_level < 0)
		return UNKNOWN_U64;
	level = &incident->levels[ret->limit_level];
	if (level->max_pages == UNKNOWN_U64 ||
		level->max_pages >= LIMIT_NONE_PAGES(host->page_size))
		return UNKNOWN_U64;
	if (level->flags & EV_LEVEL_V2 ? level->swap_max_pages == 0
				       : level->swap_max_pages == level->max_pages)
		return level->max_pages;
	return UNKNOWN_U64;
}

/*
 * By the constraint that the kernel printed, or by its words. Before 5.0 it does not print that it
 * looked at some nodes only; its account of the memory is of those alone then.
 */
static void judge_limit_of_log(
	const struct incident *incident, const struct host_facts *host, struct judgement *ret)
{
	const struct incident_log *log = &incident->log;

	ret->scope = log->has_scope ? scope_of_constraint(incident->constraint) : SCOPE_UNKNOWN;
	if (ret->scope == SCOPE_GLOBAL && !log->has_constraint && log->machine.nodes_left_out) {
		bool policy = incident->nodemask != UNKNOWN_U64 &&
			      incident->mems_allowed != UNKNOWN_U64 &&
			      incident->nodemask != incident->mems_allowed;

		ret->scope = policy ? SCOPE_MEMPOLICY : SCOPE_CPUSET;
		ret->scope_inferred = true;
	}
	if (ret->scope == SCOPE_MEMCG)
		ret->limit_level = log->limit_level;
	ret->totalpages = ceiling_of_log(incident, host, ret);
	ret->totalpages_computed = ret->totalpages != UNKNOWN_U64;
}

/* The kernel's structures were out of reach, but its report of this very kill names the limit. */
static void judge_limit_joined(
	const struct incident *incident, const struct host_facts *host, struct judgement *ret)
{
	ret->scope = scope_of_constraint(incident->constraint);
	if (ret->scope == SCOPE_MEMCG)
		ret->limit_level = incident->log.limit_level;
	if (ret->scope == SCOPE_MEMCG || ret->scope == SCOPE_GLOBAL)
		ceiling_compute(incident, host, ret);
}

/*
 * From within a cgroup: the level whose count of invocations rose, or charges to which failed.
 * Where none of all up to the root did, the machine was out of memory; where some cannot be seen it
 * may have been one of those.
 */
static void judge_limit_of_self(
	const struct incident *incident, const struct host_facts *host, struct judgement *ret)
{
	const struct incident_self *self = &incident->self;

	ret->totalpages = UNKNOWN_U64;
	ret->scope_inferred = self->limit_sign != SELF_LIMIT_COUNTED;
	if (self->limit_sign != SELF_LIMIT_NONE) {
		ret->scope = SCOPE_MEMCG;
		ret->limit_level = self->limit_level;
	} else {
		ret->scope = self->complete && incident->level_count ? SCOPE_GLOBAL : SCOPE_UNKNOWN;
	}
	if (ret->scope != SCOPE_UNKNOWN)
		ceiling_compute(incident, host, ret);
}

void judge_limit(
	const struct incident *incident, const struct host_facts *host, struct judgement *ret)
{
	ret->limit_level = -1;
	if (incident->source == INCIDENT_SELF) {
		judge_limit_of_self(incident, host, ret);
		return;
	}
	if (incident->source == INCIDENT_IMPORTED) {
		judge_limit_of_log(incident, host, ret);
		return;
	}
	if (incident->has_oc) {
		ret->scope = scope_of_constraint(incident->constraint);
		ret->totalpages = incident->totalpages;
		if (ret->scope == SCOPE_MEMCG)
			ret->limit_level = level_of_oc(incident);
		return;
	}
	ret->totalpages = UNKNOWN_U64;
	if (incident->log.joined && incident->log.has_scope) {
		judge_limit_joined(incident, host, ret);
		return;
	}
	ret->scope_inferred = true;
	if (!incident->level_count) {
		ret->scope = SCOPE_UNKNOWN;
		return;
	}
	ret->limit_level = level_full(incident, host->page_size);
	if (ret->limit_level < 0)
		ret->limit_level = level_above_limit(incident, host->page_size);
	if (ret->limit_level < 0)
		ret->limit_level = level_counted(incident);
	if (ret->limit_level >= 0)
		ret->scope = SCOPE_MEMCG;
	else
		ret->scope = incident_chain_is_whole(incident) ? scope_of_nodes(incident, host)
							       : SCOPE_UNKNOWN;
	/* The ceiling of some nodes is not known here. */
	if (ret->scope == SCOPE_MEMCG || ret->scope == SCOPE_GLOBAL)
		ceiling_compute(incident, host, ret);
}
