// SPDX-License-Identifier: Apache-2.0
/*
 * Forks, execs and exits: who belongs to whom, and what they still have in common.
 *
 * A fork is only noted. A process enters the table when it is seen with memory of its own, at a
 * pass or between two, or when its exit tells that it had some: many short forks thus take nobody's
 * place.
 *
 * What a child shares with its parent when it begins is told with the fork. Of one that was there
 * before the recorder it is not known: at first sight, all that it holds but no more than its
 * parent holds is taken to be shared.
 */
#include <string.h>

#include "model/growth_parts.h"

/* A peak is taken for a process's own if it is so much above what it may have from its parent. */
#define PEAK_MARGIN 8

/* --- what a parent shares with its children --- */

static void lend(struct followed *parent, uint64_t pages)
{
	parent->sharers++;
	if (pages > parent->lent)
		parent->lent = pages;
}

/*
 * A child has ended or runs a program of its own. It is taken off the parent's account at the next
 * look at the parent that is later: what was copied until then was copied while it shared.
 */
static void child_left(struct followed *parent, uint64_t time_ns)
{
	if (!parent || parent->leaving == parent->sharers)
		return;
	parent->leaving++;
	if (time_ns > parent->leaving_ns)
		parent->leaving_ns = time_ns;
}

/* With the last of them gone, what it copied because of them is all there is of those pages: its
 * RSS shows them. */
void followed_settle(struct followed *process, uint64_t time_ns)
{
	if (!process->leaving || time_ns < process->leaving_ns)
		return;
	process->sharers -= process->leaving;
	process->leaving = 0;
	if (process->sharers)
		return;
	process->cow = less(process->cow, process->lent_copied);
	process->lent = process->lent_copied = 0;
}

static void leave_parent(struct growth *growth, struct followed *process, uint64_t time_ns)
{
	if (process->flags & FOLLOWED_BORROWS)
		child_left(followed_parent(growth, process->ppid, process->start_ns), time_ns);
	process->flags &= ~FOLLOWED_BORROWS;
}

static void note_left(struct growth *growth, struct fork_note *note, uint64_t time_ns)
{
	if (note->lent)
		child_left(
			followed_find(growth, note->parent_tgid, note->parent_start_ns), time_ns);
	note->lent = false;
}

/* --- into the table --- */

/* It runs in its parent's address space (vfork, CLONE_VM): what it holds is told of the parent. */
static bool borrows_memory(
	struct growth *growth, const struct reading *reading, const struct fork_note *note)
{
	const struct followed *parent =
		note ? followed_find(growth, note->parent_tgid, note->parent_start_ns)
		     : followed_parent(growth, reading->ppid, reading->start_ns);

	return parent && !parent->exited_ns && mm_known(parent->mm) && parent->mm == reading->mm;
}

/* Its counters began at the fork: what it does from there on is comparable. */
static void begin_at_fork(struct growth *growth, struct followed *process,
	const struct reading *reading, uint64_t anon)
{
	process->census.anon = (int64_t)anon;
	process->census.mapped = (int64_t)less(process->shared, anon);
	/* The kernel gives a child no page tables of files: it maps them anew. */
	process->census.file = 0;
	process->census_cgroup_id = reading->cgroup_id;
	process->pass = growth->in_pass ? growth->pass - 1 : growth->pass;
}

static void adopt(struct growth *growth, struct followed *process, const struct reading *reading,
	struct fork_note *note)
{
	struct followed *parent = followed_find(growth, note->parent_tgid, note->parent_start_ns);

	process->inherited = note->inherited;
	if (!reading->forked || note->execed) {
		note_left(growth, note, reading->time_ns);
		fork_drop(growth, note);
		return;
	}
	process->root_tgid = parent ? parent->root_tgid : note->root_tgid;
	process->root_start_ns = parent ? parent->root_start_ns : note->root_start_ns;
	process->shared = note->rss;
	if (parent && note->rss && !note->lent) {
		lend(parent, note->rss);
		note->lent = true;
	}
	if (note->lent)
		process->flags |= FOLLOWED_BORROWS;
	begin_at_fork(growth, process, reading, note->anon);
	fork_drop(growth, note);
}

static void be_own_root(struct followed *process)
{
	process->root_tgid = process->tgid;
	process->root_start_ns = process->start_ns;
}

/* Nothing tells who forked it: what its parent held is what its peak may come from. */
static void take_in(struct growth *growth, struct followed *process, const struct reading *reading)
{
	const struct followed *parent = followed_parent(growth, reading->ppid, reading->start_ns);

	process->inherited = parent ? parent->peak : 0;
	if (!reading->forked)
		return;
	process->flags |= FOLLOWED_UNPLACED;
	growth->unplaced = true;
}

struct followed *followed_enter(struct growth *growth, const struct reading *reading)
{
	struct fork_note *note = fork_find(growth, reading->tgid, reading->start_ns);
	int64_t held = resident_of(&reading->counters) + reading->swap;
	struct followed *process;

	if (borrows_memory(growth, reading, note))
		return NULL;
	process = followed_take(growth, reading->tgid, held);
	if (!process) {
		growth->totals.samples_no_room++;
		return NULL;
	}
	process->start_ns = reading->start_ns;
	process->ppid = reading->ppid;
	process->mm = reading->mm;
	process->flags = reading->forked ? FOLLOWED_FORKED : 0;
	be_own_root(process);
	if (note)
		adopt(growth, process, reading, note);
	else
		take_in(growth, process, reading);
	/* What began under our eyes began with nothing, or with what it shares. */
	if (began_since(growth, process->start_ns)) {
		process->told_held = (int64_t)process->shared;
		process->told_ns = process->start_ns;
	} else {
		process->told_held = held;
		process->told_ns = reading->time_ns;
	}
	return process;
}

/* --- families of those that were there before --- */

/* Up to the first whose place is known. They may have been told in any order. */
static void place(struct growth *growth, struct followed *process)
{
	struct followed *parent = followed_parent(growth, process->ppid, process->start_ns);
	struct followed *at = process, *above_it = parent;
	uint64_t resident = above(process->anon + process->mapped);

	for (int i = 0; above_it && i < GROWTH_CHAIN_MAX; i++) {
		at = above_it;
		above_it = at->flags & FOLLOWED_UNPLACED
				   ? followed_parent(growth, at->ppid, at->start_ns)
				   : NULL;
	}
	process->root_tgid = at->root_tgid;
	process->root_start_ns = at->root_start_ns;
	if (!parent)
		return;
	process->shared = least(resident, above(parent->anon + parent->mapped));
	process->flags |= FOLLOWED_BORROWS;
	lend(parent, process->shared);
}

void followed_place_all(struct growth *growth)
{
	struct slots *slots = &growth->process_slots;

	if (!growth->unplaced)
		return;
	for (uint32_t slot = slots->oldest[SLOT_LIVE]; slot != SLOT_NONE;
		slot = slots->links[slot].newer) {
		struct followed *process = &growth->processes[slot];

		if (process->flags & FOLLOWED_UNPLACED)
			place(growth, process);
		process->flags &= ~FOLLOWED_UNPLACED;
	}
	growth->unplaced = false;
}

/* --- what the kernel tells --- */

/* The root is found now: the parent may be gone when the child is seen. */
void growth_take_fork(struct growth *growth, const struct ev_fork *event)
{
	struct followed *parent = followed_find(growth, event->parent_tgid, event->parent_start_ns);
	const struct fork_note *noted =
		fork_find(growth, event->parent_tgid, event->parent_start_ns);
	/* Making room for this one could take that one's place. */
	struct fork_note before = noted ? *noted : (struct fork_note) {.execed = true};
	struct fork_note *note = fork_take(growth, event->tgid, event->start_ns);

	note->parent_tgid = note->root_tgid = event->parent_tgid;
	note->parent_start_ns = note->root_start_ns = event->parent_start_ns;
	note->rss = least(event->rss_pages, GROWTH_PAGES_MAX);
	note->anon = least(event->anon_pages, note->rss);
	note->inherited = note->rss ? note->rss : UNKNOWN_U64;
	if (parent) {
		note->root_tgid = parent->root_tgid;
		note->root_start_ns = parent->root_start_ns;
		if (!note->rss)
			note->inherited = parent->peak;
	} else if (!before.execed) {
		note->root_tgid = before.root_tgid;
		note->root_start_ns = before.root_start_ns;
	}
	if (!parent || !note->rss)
		return;
	/* All that it holds is shared again. */
	parent->lent = 0;
	lend(parent, note->rss);
	note->lent = true;
}

/* A new address space: what it shared, and what it copied, is gone. */
void followed_execed(struct growth *growth, struct followed *process, uint64_t time_ns)
{
	leave_parent(growth, process, time_ns);
	process->census.anon = (int64_t)private_pages(
		resident_of(&process->census), process->shared, process->cow);
	process->census.mapped = process->census.file = 0;
	process->flags &= ~(FOLLOWED_FORKED | FOLLOWED_UNPLACED);
	process->flags |= FOLLOWED_EXECED;
	be_own_root(process);
	process->shared = process->cow = 0;
	process->lent = process->lent_copied = 0;
	process->sharers = process->leaving = 0;
}

void growth_take_exec(struct growth *growth, const struct ev_exec *event)
{
	struct followed *process = followed_find(growth, event->tgid, event->start_ns);
	struct fork_note *note;

	if (!process) {
		note = fork_find(growth, event->tgid, event->start_ns);
		if (!note)
			return;
		note_left(growth, note, event->hdr.time_ns);
		note->execed = true;
		return;
	}
	/* One that was seen since shows what it is now. */
	if (process->exited_ns || event->hdr.time_ns < process->series.seen_ns)
		return;
	followed_execed(growth, process, event->hdr.time_ns);
	memcpy(process->comm, event->comm, sizeof(process->comm));
	process->mm = EV_UNKNOWN;
	process->anon = process->mapped = process->swap = 0;
	followed_store(growth, process, event->hdr.time_ns);
}

/* --- exits --- */

void followed_ended(struct growth *growth, struct followed *process, uint64_t time_ns)
{
	leave_parent(growth, process, time_ns);
	followed_freed(growth, process, time_ns);
	process->exited_ns = time_ns ? time_ns : 1;
	slots_move(&growth->process_slots, followed_slot(growth, process), SLOT_GONE);
}

/*
 * signal->maxrss outlives an exec: of a program that was started by fork and exec, or by vfork, it
 * may be the parent's. 0: it tells nothing of the process itself.
 */
static uint64_t own_peak(uint64_t peak_pages, bool execed, uint64_t inherited)
{
	uint64_t peak = peak_pages == EV_UNKNOWN ? 0 : least(peak_pages, GROWTH_PAGES_MAX);
	uint64_t margin = inherited / PEAK_MARGIN;

	if (!execed || !inherited)
		return peak;
	if (inherited == UNKNOWN_U64)
		return 0;
	return peak > inherited + margin ? peak : 0;
}

static struct counters end_counters(const struct ev_exit *event, int64_t anon, int64_t mapped)
{
	return (struct counters) {.anon = anon,
		.mapped = mapped,
		.faults = event->faults,
		.io_bytes = event->io_bytes,
		.copied = event->copied_pages,
		.charged = event->charged_pages};
}

static void followed_exit(
	struct growth *growth, struct followed *process, const struct ev_exit *event)
{
	uint64_t peak = own_peak(
		event->peak_pages, !(process->flags & FOLLOWED_FORKED), process->inherited);
	struct counters end = end_counters(event, process->anon, process->mapped);
	uint64_t rise = less(peak, process->peak);

	if (process->flags & FOLLOWED_ENDED)
		return;
	end.file = process->census.file;
	process->flags |= FOLLOWED_ENDED;
	followed_last_interval(growth, process, &end, rise, event->hdr.time_ns);
	process->peak += rise;
	/* It may have been missed at a pass already. */
	if (!process->exited_ns)
		followed_ended(growth, process, event->hdr.time_ns);
}

/* What one did that nobody has seen alive. */
struct unseen {
	bool execed;
	uint64_t baseline, inherited, peak;
	uint64_t charged, copied, io_bytes; /* EV_UNKNOWN: they tell nothing */
};

static struct unseen unseen_of(
	struct growth *growth, const struct ev_exit *event, const struct fork_note *note)
{
	bool began = began_since(growth, event->start_ns);
	const struct followed *parent;
	struct unseen ret = {
		.io_bytes = began ? event->io_bytes : EV_UNKNOWN,
		.copied = began ? event->copied_pages : EV_UNKNOWN,
		.charged = EV_UNKNOWN,
	};

	if (note) {
		ret.execed = note->execed;
		ret.baseline = note->execed ? 0 : note->rss;
		ret.inherited = note->inherited;
	} else {
		parent = followed_parent(growth, event->ppid, event->start_ns);
		ret.execed = true;
		ret.inherited = parent ? parent->peak : 0;
	}
	/* In another's address space the peak is that one's. */
	if (!note || note->execed || note->rss)
		ret.peak = own_peak(event->peak_pages, ret.execed, ret.inherited);
	/* Where memory of its own is not known, charges do not tell what is beyond it. */
	if (began && ret.peak)
		ret.charged = event->charged_pages;
	return ret;
}

static uint64_t known(uint64_t number)
{
	return number == EV_UNKNOWN ? 0 : number;
}

/* Is what it did not worth a place? */
static bool is_small(const struct growth *growth, const struct unseen *unseen)
{
	return less(unseen->peak, unseen->baseline) < growth->follow_pages &&
	       known(unseen->charged) < growth->follow_pages &&
	       least(known(unseen->copied), unseen->baseline) < growth->follow_pages &&
	       known(unseen->io_bytes) / growth->page_size < growth->follow_pages;
}

static void followed_unseen(struct growth *growth, struct followed *process,
	const struct ev_exit *event, const struct unseen *unseen, const struct fork_note *note)
{
	const struct reading nothing = {.cgroup_id = event->cgroup_id};
	struct counters end;

	process->start_ns = process->told_ns = event->start_ns;
	process->ppid = event->ppid;
	process->cgroup_id = event->cgroup_id;
	memcpy(process->comm, event->comm, sizeof(process->comm));
	be_own_root(process);
	if (note && !unseen->execed) {
		process->root_tgid = note->root_tgid;
		process->root_start_ns = note->root_start_ns;
	}
	process->shared = unseen->baseline;
	process->told_held = (int64_t)unseen->baseline;
	process->anon = (int64_t)unseen->peak;
	process->peak = unseen->peak;
	process->flags = FOLLOWED_ENDED | FOLLOWED_FREED;
	/* Its peak stands for anon, and so does what it began with. */
	begin_at_fork(growth, process, &nothing, process->shared);
	followed_store(growth, process, event->hdr.time_ns);
	end = end_counters(event, process->anon, 0);
	end.charged = unseen->charged;
	end.copied = unseen->copied;
	end.io_bytes = unseen->io_bytes;
	followed_last_interval(growth, process, &end, 0, event->hdr.time_ns);
	followed_ended(growth, process, event->hdr.time_ns);
}

static void exit_of_unseen(struct growth *growth, const struct ev_exit *event)
{
	struct fork_note *note = fork_find(growth, event->tgid, event->start_ns);
	struct unseen unseen = unseen_of(growth, event, note);
	struct followed *process = NULL;

	if (!is_small(growth, &unseen))
		process = followed_take(growth, event->tgid, 0);
	if (process)
		followed_unseen(growth, process, event, &unseen, note);
	else
		growth->totals.not_followed++;
	if (!note)
		return;
	note_left(growth, note, event->hdr.time_ns);
	fork_drop(growth, note);
}

void growth_take_exit(struct growth *growth, const struct ev_exit *event)
{
	struct followed *process = followed_find(growth, event->tgid, event->start_ns);

	if (process)
		followed_exit(growth, process, event);
	else
		exit_of_unseen(growth, event);
}
