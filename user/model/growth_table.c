// SPDX-License-Identifier: Apache-2.0
/* The tables: who is in them, and who gives way. */
#include <string.h>

#include "model/growth_parts.h"

/* Of so many that were not heard of for longest, the smallest gives way. */
#define GIVE_WAY_LOOKS 8

/* --- processes --- */

struct followed *followed_find(struct growth *growth, uint32_t tgid, uint64_t start_ns)
{
	uint32_t slot;

	for (slot = slots_first(&growth->process_slots, tgid); slot != SLOT_NONE;
		slot = slots_next(&growth->process_slots, slot)) {
		struct followed *process = &growth->processes[slot];

		if (process->tgid == tgid && process->start_ns == start_ns)
			return process;
	}
	return NULL;
}

struct followed *followed_parent(struct growth *growth, uint32_t ppid, uint64_t start_ns)
{
	struct followed *best = NULL;
	uint32_t slot;

	if (ppid <= 1)
		return NULL;
	for (slot = slots_first(&growth->process_slots, ppid); slot != SLOT_NONE;
		slot = slots_next(&growth->process_slots, slot)) {
		struct followed *process = &growth->processes[slot];

		if (process->tgid != ppid || process->start_ns > start_ns || process->exited_ns)
			continue;
		if (!best || process->start_ns > best->start_ns)
			best = process;
	}
	return best;
}

uint32_t followed_slot(const struct growth *growth, const struct followed *process)
{
	return (uint32_t)(process - growth->processes);
}

/*
 * All places are taken by the living. The newest does not just take the oldest one's: with more
 * processes than places each pass would then replace every one of them, and none would have a
 * history. False: the new one is no larger than those that might give way.
 */
static bool make_room(struct growth *growth, int64_t held)
{
	struct slots *slots = &growth->process_slots;
	uint32_t slot = slots->oldest[SLOT_LIVE], smallest = SLOT_NONE;

	for (int i = 0; i < GIVE_WAY_LOOKS && slot != SLOT_NONE; i++) {
		if (smallest == SLOT_NONE ||
			held_of(&growth->processes[slot]) < held_of(&growth->processes[smallest]))
			smallest = slot;
		slot = slots->links[slot].newer;
	}
	if (smallest == SLOT_NONE || held_of(&growth->processes[smallest]) >= held)
		return false;
	slots_move(slots, smallest, SLOT_GONE);
	growth->totals.processes_evicted++;
	return true;
}

struct followed *followed_take(struct growth *growth, uint32_t tgid, int64_t held)
{
	struct slots *slots = &growth->process_slots;
	enum slot_list evicted;
	struct followed *process;

	if (slots->used == slots->capacity && slots->oldest[SLOT_GONE] == SLOT_NONE &&
		!make_room(growth, held))
		return NULL;
	process = &growth->processes[slots_take(slots, tgid, &evicted)];
	if (evicted != SLOT_LISTS)
		ledger_forget(growth->ledger, &process->series);
	memset(process, 0, sizeof(*process));
	process->tgid = tgid;
	return process;
}

void followed_store(struct growth *growth, struct followed *process, uint64_t time_ns)
{
	const int64_t values[LEDGER_VALUES] = {
		[PROCESS_RESIDENT] = process->anon + process->mapped,
		[PROCESS_SWAP] = process->swap,
		[PROCESS_COW] = (int64_t)process->cow,
		[PROCESS_CACHED] = (int64_t)process->cached,
	};

	ledger_append(growth->ledger, &process->series, time_ns, values);
}

/* --- cgroups --- */

struct measured *measured_find(const struct growth *growth, uint64_t id)
{
	uint32_t slot;

	for (slot = slots_first(&growth->cgroup_slots, id); slot != SLOT_NONE;
		slot = slots_next(&growth->cgroup_slots, slot)) {
		if (growth->cgroups[slot].id == id)
			return &growth->cgroups[slot];
	}
	return NULL;
}

uint32_t measured_slot(const struct growth *growth, const struct measured *cgroup)
{
	return (uint32_t)(cgroup - growth->cgroups);
}

struct measured *measured_get(struct growth *growth, uint64_t id)
{
	struct measured *cgroup = measured_find(growth, id);
	enum slot_list evicted;

	if (cgroup) {
		slots_move(&growth->cgroup_slots, measured_slot(growth, cgroup), SLOT_LIVE);
		return cgroup;
	}
	cgroup = &growth->cgroups[slots_take(&growth->cgroup_slots, id, &evicted)];
	if (evicted != SLOT_LISTS)
		ledger_forget(growth->ledger, &cgroup->series);
	growth->totals.cgroups_evicted += evicted == SLOT_LIVE;
	memset(cgroup, 0, sizeof(*cgroup));
	cgroup->id = id;
	cgroup->charged = EV_UNKNOWN;
	cgroup->began = growth->first_pass_ns &&
			!(growth->in_pass && growth->pass_ns == growth->first_pass_ns);
	return cgroup;
}

/* --- forks --- */

struct fork_note *fork_find(struct growth *growth, uint32_t tgid, uint64_t start_ns)
{
	uint32_t slot;

	for (slot = slots_first(&growth->fork_slots, tgid); slot != SLOT_NONE;
		slot = slots_next(&growth->fork_slots, slot)) {
		struct fork_note *note = &growth->forks[slot];

		if (note->tgid == tgid && note->start_ns == start_ns)
			return note;
	}
	return NULL;
}

struct fork_note *fork_take(struct growth *growth, uint32_t tgid, uint64_t start_ns)
{
	struct fork_note *note = fork_find(growth, tgid, start_ns);
	enum slot_list evicted;

	if (!note)
		note = &growth->forks[slots_take(&growth->fork_slots, tgid, &evicted)];
	memset(note, 0, sizeof(*note));
	note->tgid = tgid;
	note->start_ns = start_ns;
	return note;
}

/* No process has the pid 0. */
void fork_drop(struct growth *growth, struct fork_note *note)
{
	note->tgid = 0;
	slots_move(&growth->fork_slots, (uint32_t)(note - growth->forks), SLOT_GONE);
}
