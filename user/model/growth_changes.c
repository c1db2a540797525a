// SPDX-License-Identifier: Apache-2.0
/* What changed since it was told last. */
#include <stdlib.h>
#include <string.h>

#include "model/growth_parts.h"

#define CHANGES_TOLD 64

/* The biggest so far, the biggest first. */
struct changes {
	struct growth *growth;
	uint64_t min_bytes;
	unsigned int found, kept;
	struct candidate {
		uint32_t slot;
		uint64_t weight;
		struct growth_change change;
	} places[CHANGES_TOLD];
};

static uint64_t size_of(int64_t delta_bytes)
{
	return delta_bytes < 0 ? -(uint64_t)delta_bytes : (uint64_t)delta_bytes;
}

static void offer(struct changes *changes, uint32_t slot, const struct growth_change *change)
{
	uint64_t weight = size_of(change->delta_bytes) + change->cow_bytes;
	unsigned int at = changes->kept;

	if (weight < changes->min_bytes || !weight)
		return;
	changes->found++;
	while (at > 0 && changes->places[at - 1].weight < weight)
		at--;
	if (at == CHANGES_TOLD)
		return;
	if (changes->kept < CHANGES_TOLD)
		changes->kept++;
	memmove(&changes->places[at + 1], &changes->places[at],
		(changes->kept - 1 - at) * sizeof(changes->places[0]));
	changes->places[at] = (struct candidate) {slot, weight, *change};
}

/*
 * Of one that ended: what it had grown by that was not told yet, at its exit or at its peak; where
 * that is little, that it gave back what was told.
 */
static void change_of_ended(
	const struct changes *changes, const struct followed *process, struct growth_change *ret)
{
	const struct growth *growth = changes->growth;
	int64_t held = held_of(process), peak = (int64_t)process->peak;
	bool never_told = process->told_ns == process->start_ns;

	if (never_told && peak > held)
		held = peak;
	ret->exited = true;
	ret->time_ns = process->exited_ns;
	ret->delta_bytes = to_bytes(growth, held - process->told_held);
	ret->now_bytes = (uint64_t)to_bytes(growth, held);
	if (ret->delta_bytes > 0 &&
		size_of(ret->delta_bytes) + ret->cow_bytes >= changes->min_bytes)
		return;
	ret->delta_bytes = never_told ? 0
				      : to_bytes(growth, -(int64_t)private_pages(process->told_held,
								 process->shared, process->cow));
	ret->cow_bytes = 0;
	ret->now_bytes = 0;
}

static void offer_process(struct changes *changes, uint32_t slot)
{
	const struct growth *growth = changes->growth;
	const struct followed *process = &growth->processes[slot];
	int64_t held = held_of(process);
	struct growth_change change = {
		.time_ns = growth->pass_ns,
		.since_ns = process->told_ns,
		.cgroup_id = process->cgroup_id,
		.tgid = process->tgid,
		.start_ns = process->start_ns,
		.delta_bytes = to_bytes(growth, held - process->told_held),
		.cow_bytes =
			(uint64_t)to_bytes(growth, (int64_t)less(process->cow, process->told_cow)),
		.now_bytes = (uint64_t)to_bytes(growth, held),
		.max_bytes = UNKNOWN_U64,
	};

	fact_comm(process->comm, change.comm);
	if (process->exited_ns)
		change_of_ended(changes, process, &change);
	offer(changes, slot, &change);
}

static void offer_cgroup(struct changes *changes, uint32_t slot)
{
	const struct growth *growth = changes->growth;
	const struct measured *cgroup = &growth->cgroups[slot];
	int64_t usage = (int64_t)cgroup->now.usage;
	struct growth_change change = {
		.is_cgroup = true,
		.time_ns = growth->pass_ns,
		.since_ns = cgroup->told_ns,
		.cgroup_id = cgroup->id,
		.delta_bytes = to_bytes(growth, usage - (int64_t)cgroup->told_usage),
		.now_bytes = (uint64_t)to_bytes(growth, usage),
		.max_bytes = growth_limited(growth, cgroup->max) ? cgroup->max * growth->page_size
								 : UNKNOWN_U64,
	};

	if (cgroup->series.first_ns && measured_counts(cgroup))
		offer(changes, slot, &change);
}

/* They are in the order of their ends: what was offered once is before all that is new. */
static void offer_ended(struct changes *changes)
{
	struct growth *growth = changes->growth;
	const struct slots *slots = &growth->process_slots;

	for (uint32_t slot = slots->newest[SLOT_GONE]; slot != SLOT_NONE;
		slot = slots->links[slot].older) {
		if (growth->processes[slot].flags & FOLLOWED_END_TOLD)
			return;
		growth->processes[slot].flags |= FOLLOWED_END_TOLD;
		offer_process(changes, slot);
	}
}

static void remember(struct growth *growth, const struct candidate *place)
{
	struct measured *cgroup = &growth->cgroups[place->slot];
	struct followed *process = &growth->processes[place->slot];

	if (place->change.is_cgroup) {
		cgroup->told_usage = cgroup->now.usage;
		cgroup->told_ns = place->change.time_ns;
		return;
	}
	process->told_held = held_of(process);
	process->told_cow = process->cow;
	process->told_ns = place->change.time_ns;
}

unsigned int growth_changes(struct growth *growth, uint64_t min_bytes,
	void (*fn)(const struct growth_change *change, void *arg), void *arg)
{
	struct changes changes = {.growth = growth, .min_bytes = min_bytes};
	const struct slots *processes = &growth->process_slots, *cgroups = &growth->cgroup_slots;

	for (uint32_t slot = processes->oldest[SLOT_LIVE]; slot != SLOT_NONE;
		slot = processes->links[slot].newer)
		offer_process(&changes, slot);
	offer_ended(&changes);
	for (uint32_t slot = cgroups->oldest[SLOT_LIVE]; slot != SLOT_NONE;
		slot = cgroups->links[slot].newer)
		offer_cgroup(&changes, slot);
	for (unsigned int i = 0; i < changes.kept; i++) {
		remember(growth, &changes.places[i]);
		fn(&changes.places[i].change, arg);
	}
	return changes.found;
}
