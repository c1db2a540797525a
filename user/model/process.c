// SPDX-License-Identifier: Apache-2.0
#include "model/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/slots.h"

#define PROC_TICK_NS 10000000ULL /* USER_HZ is 100 wherever the tool runs */

struct processes {
	struct slots slots;
	uint64_t evicted;
	struct process entries[];
};

size_t processes_bytes(size_t capacity)
{
	return sizeof(struct processes) + capacity * sizeof(struct process) + slots_bytes(capacity);
}

struct processes *processes_new(size_t capacity)
{
	struct processes *table;
	int err;

	if (capacity == 0 || capacity > SLOTS_MAX) {
		errno = EINVAL;
		return NULL;
	}
	table = calloc(1, sizeof(*table) + capacity * sizeof(table->entries[0]));
	if (!table)
		return NULL;
	err = slots_init(&table->slots, capacity);
	if (err) {
		free(table);
		errno = -err;
		return NULL;
	}
	return table;
}

void processes_free(struct processes *table)
{
	if (!table)
		return;
	slots_done(&table->slots);
	free(table);
}

static uint32_t slot_of(const struct processes *table, const struct process *process)
{
	return (uint32_t)(process - table->entries);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Of all entries of this tgid that started within slack, the one that started nearest. */
static struct process *nearest(
	struct processes *table, uint32_t tgid, uint64_t start_ns, uint64_t slack_ns)
{
	struct process *best = NULL;
	uint32_t slot;

	for (slot = slots_first(&table->slots, tgid); slot != SLOT_NONE;
		slot = slots_next(&table->slots, slot)) {
		struct process *process = &table->entries[slot];

		if (process->tgid != tgid || distance(process->start_ns, start_ns) > slack_ns)
			continue;
		if (!best ||
			distance(process->start_ns, start_ns) < distance(best->start_ns, start_ns))
			best = process;
	}
	return best;
}

struct process *process_find(struct processes *table, uint32_t tgid, uint64_t start_ns)
{
	/* The newest is what is nearest to the end of time. */
	uint64_t slack_ns = start_ns == UINT64_MAX ? UINT64_MAX : PROCESS_START_SLACK_NS;

	return nearest(table, tgid, start_ns, slack_ns);
}

/* /proc cuts a start down to whole ticks; the kernel's own is one only by a chance of 1 in 10^7. */
static bool is_coarse(uint64_t start_ns)
{
	return start_ns % PROC_TICK_NS == 0;
}

/*
 * The entry that means the same process, though its start may have come from /proc. Of two exact
 * starts each is a process of its own, however close; and none comes back once it has exited.
 */
static struct process *same_process(struct processes *table, uint32_t tgid, uint64_t start_ns)
{
	struct process *process = process_find(table, tgid, start_ns);

	if (!process) /* one whose start was not known when it was heard of first */
		process = nearest(table, tgid, UINT64_MAX, 0);
	if (!process || process->start_ns == start_ns || start_ns == UINT64_MAX)
		return process;
	if (process->start_ns == UINT64_MAX)
		return process->exited ? NULL : process;
	if (process->exited || is_coarse(process->start_ns) == is_coarse(start_ns))
		return NULL;
	return process;
}

static struct process *add(struct processes *table, uint32_t tgid, uint64_t start_ns)
{
	enum slot_list evicted;
	struct process *process = &table->entries[slots_take(&table->slots, tgid, &evicted)];

	if (evicted == SLOT_LIVE)
		table->evicted++;
	memset(process, 0, sizeof(*process));
	process->tgid = tgid;
	process->start_ns = start_ns;
	return process;
}

struct process *process_get(
	struct processes *table, uint32_t tgid, uint64_t start_ns, uint64_t now_ns)
{
	struct process *process = same_process(table, tgid, start_ns);

	if (!process)
		process = add(table, tgid, start_ns);
	else if (start_ns != UINT64_MAX &&
		 (process->start_ns == UINT64_MAX || is_coarse(process->start_ns)))
		process->start_ns = start_ns; /* at least as fine as what was known */
	process->seen_ns = now_ns;
	/* The order of the dead is that of their exits, whoever asks for them. */
	if (!process->exited)
		slots_move(&table->slots, slot_of(table, process), SLOT_LIVE);
	return process;
}

void process_fork(struct processes *table, uint32_t tgid, uint64_t start_ns, uint32_t parent_tgid,
	uint64_t parent_start_ns, uint64_t now_ns)
{
	struct process *parent = process_find(table, parent_tgid, parent_start_ns), *child;

	/* Heard of just now: or making room for the child could take the parent's place. */
	if (parent)
		parent = process_get(table, parent_tgid, parent->start_ns, now_ns);
	child = process_get(table, tgid, start_ns, now_ns);
	child->ppid = parent_tgid;
	/* The same slot: a table so full that the child has taken its parent's place. */
	if (!parent || parent == child || (child->cmdline[0] && !child->inherited))
		return;
	memcpy(child->cmdline, parent->cmdline, sizeof(child->cmdline));
	memcpy(child->exe, parent->exe, sizeof(child->exe));
	child->inherited = true;
}

void process_exit(struct processes *table, uint32_t tgid, uint64_t start_ns, uint64_t now_ns)
{
	struct process *process = process_find(table, tgid, start_ns);

	if (!process || process->exited)
		return;
	process->exited = true;
	process->seen_ns = now_ns;
	slots_move(&table->slots, slot_of(table, process), SLOT_GONE);
}

size_t processes_count(const struct processes *table)
{
	return table->slots.used;
}

uint64_t processes_evicted(const struct processes *table)
{
	return table->evicted;
}
