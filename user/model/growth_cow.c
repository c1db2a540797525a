// SPDX-License-Identifier: Apache-2.0
/*
 * Whose the growth is that no RSS shows: copies of shared pages, page cache, tmpfs.
 *
 * For each process that did anything between two passes there is an interval: by how much its RSS
 * rose, at most how many pages it copied, and how much it can account for beyond both. At the end
 * of the pass what a cgroup's usage rose beyond the RSS of its processes is shared out among them,
 * first to copies and then to the rest, in proportion to those bounds.
 *
 * The rules of growth.h, and what keeps from looking like copies what is none:
 *   - Only what is shared can be copied: of what it was forked with, and of what it held when it
 *     forked last, as long as a child is there, what it has not copied yet. Who never forked has
 *     none, however many faults it takes.
 *   - A process that moved to another cgroup leaves its memory charged where it was. Its rise
 *     counts in both, and it copies nothing then.
 *   - After an exec, faults and RSS are those of two address spaces: it copies nothing then.
 *   - When memory comes back, its RSS is taken off less what it shared: others still hold that.
 *
 * An amount is exact, not an upper bound, only where write faults were counted from one pass to the
 * other and all that was counted in its cgroup is what the usage shows, within 5 % or 1 MiB.
 */
#include <string.h>

#include "model/growth_parts.h"

#define FAULT_AROUND 16 /* mm/memory.c */
#define LIBRARY_PAGES 1024 /* more of a file than this is taken to be read by who maps it */
#define CHARGE_SLACK_PART 8
#define MISSED_PART 8
#define CHARGE_SLACK_PAGES 128 /* MEMCG_CHARGE_BATCH on two CPUs */
#define COUNTED_AHEAD 64 /* pages: a batch of counted faults */
#define AGREE_PART 20 /* 5 % */
#define AGREE_BYTES (1ULL << 20)

static const struct picture_armed *last_armed(const struct growth *growth)
{
	return growth->armed_count ? &growth->armed[(growth->armed_count - 1) % GROWTH_ARMED_KEPT]
				   : NULL;
}

/* Were write faults counted from then until now? */
static bool counted_since(const struct growth *growth, uint64_t since_ns)
{
	const struct picture_armed *armed = last_armed(growth);

	return armed && !armed->to_ns && armed->from_ns <= since_ns;
}

/* EV_UNKNOWN also where it fell: then it was counted anew from some moment between. */
static uint64_t rise_of(uint64_t now, uint64_t before)
{
	if (now == EV_UNKNOWN || before == EV_UNKNOWN || now < before)
		return EV_UNKNOWN;
	return now - before;
}

/* Pages that it may still have in common with others. */
static uint64_t shared_left(const struct followed *process)
{
	uint64_t of_fork = less(process->shared, process->cow);

	return process->sharers && process->lent > of_fork ? process->lent : of_fork;
}

/*
 * Charges come in batches, and what is left of one waits on the CPU for whoever of the same cgroup
 * comes next there: of processes that take turns, one may have been charged for what another took.
 */
static uint64_t charge_slack(uint64_t charged)
{
	return charged / CHARGE_SLACK_PART + CHARGE_SLACK_PAGES;
}

/* Two counters of the same pages, read at different moments: what one is ahead by, by no more than
 * its batch, is the other's in the next interval. */
static uint64_t lesser(uint64_t a, uint32_t *a_ahead, uint64_t b, uint32_t *b_ahead)
{
	uint64_t ret;

	a += *a_ahead;
	b += *b_ahead;
	ret = least(a, b);
	*a_ahead = (uint32_t)least(a - ret, COUNTED_AHEAD);
	*b_ahead = (uint32_t)least(b - ret, COUNTED_AHEAD);
	return ret;
}

/* `grown`: by how much RSS rose at least. */
static uint64_t copies_bound(struct followed *process, const struct counters *before,
	const struct counters *now, uint64_t grown, uint64_t left, bool counted)
{
	uint64_t faults = rise_of(now->faults, before->faults);
	uint64_t copied = counted ? rise_of(now->copied, before->copied) : EV_UNKNOWN;
	uint64_t charged = rise_of(now->charged, before->charged);
	uint64_t bound;

	if (faults != EV_UNKNOWN)
		faults = less(faults, grown);
	/* Since 7.0 the kernel passes over a program that was interrupted on that CPU: a few faults
	 * are not counted. */
	if (copied != EV_UNKNOWN)
		copied += copied / MISSED_PART;
	if (faults != EV_UNKNOWN && copied != EV_UNKNOWN)
		bound = lesser(faults, &process->faults_ahead, copied, &process->copied_ahead);
	else
		bound = least(faults, copied);
	if (bound == EV_UNKNOWN)
		return 0;
	if (charged != EV_UNKNOWN)
		bound = least(bound, less(charged + charge_slack(charged), grown));
	return least(bound, left);
}

/* What it was charged for beyond its RSS, else what it read and wrote. */
static void account_other(const struct growth *growth, struct interval *interval,
	const struct counters *before, const struct counters *now, uint64_t grown)
{
	uint64_t charged = rise_of(now->charged, before->charged);
	uint64_t io = rise_of(now->io_bytes, before->io_bytes);

	interval->charges = charged != EV_UNKNOWN;
	if (interval->charges)
		interval->other = less(charged, grown);
	else if (io != EV_UNKNOWN)
		interval->other = io / growth->page_size;
	interval->other = least(interval->other, GROWTH_PAGES_MAX);
}

/* --- one process --- */

static void push(struct growth *growth, struct followed *process, struct interval *interval)
{
	if (!interval->rise && !interval->lived && !interval->bound && !interval->other)
		return;
	if (growth->interval_count == growth->interval_capacity)
		return;
	interval->slot = followed_slot(growth, process);
	interval->tgid = process->tgid;
	growth->intervals[growth->interval_count++] = *interval;
}

/*
 * By how much each counter of RSS rose, as far as each page of it took a fault, and a charge, of
 * its own: what rose here and fell there took faults, too. Of a file the kernel maps the pages
 * around the one that was touched, too (fault_around_bytes, 16 pages), and whoever read them first
 * was charged.
 */
static uint64_t grown_between(const struct counters *before, const struct counters *now)
{
	int64_t file = now->file - before->file;

	return above(now->anon - before->anon) + above(now->mapped - before->mapped - file) +
	       above(file) / FAULT_AROUND;
}

/*
 * By how much RSS rose as far as its cgroup was charged for it. What little a process maps of files
 * is its program and its libraries, which whoever read them first was charged for.
 */
static int64_t rise_charged(const struct counters *before, const struct counters *now)
{
	int64_t file = now->file - before->file;

	if (file > 0)
		file -= file < LIBRARY_PAGES ? file : LIBRARY_PAGES;
	else
		file += -file < LIBRARY_PAGES ? -file : LIBRARY_PAGES;
	return now->anon - before->anon + now->mapped - before->mapped -
	       (now->file - before->file) + file;
}

/* The last pass that is over. */
struct last_pass {
	uint32_t number;
	uint64_t time_ns; /* 0: none */
};

static struct last_pass last_pass(const struct growth *growth)
{
	if (growth->in_pass)
		return (struct last_pass) {growth->pass - 1, growth->before_ns};
	return (struct last_pass) {growth->pass, growth->pass_ns};
}

/* What its counters were then. One that began since had none of its own. False: not known. */
static bool counters_before(
	const struct growth *growth, const struct followed *process, struct counters *ret)
{
	struct last_pass last = last_pass(growth);

	memset(ret, 0, sizeof(*ret));
	if (process->pass == last.number)
		*ret = process->census;
	else if (!last.time_ns || process->start_ns <= last.time_ns)
		return false;
	return true;
}

void followed_interval(
	struct growth *growth, struct followed *process, const struct reading *reading)
{
	const struct counters *now = &reading->counters;
	bool execed = process->flags & FOLLOWED_EXECED;
	bool was_there = process->pass == last_pass(growth).number;
	struct interval interval = {.time_ns = growth->pass_ns, .cgroup_id = reading->cgroup_id};
	struct counters before;
	uint64_t grown;

	if (!counters_before(growth, process, &before))
		return;
	/* What came back already is no rise any more. */
	if (!(process->flags & FOLLOWED_FREED))
		interval.rise = rise_charged(&before, now);
	growth->moved_processes += above(interval.rise) + above(-interval.rise);
	if (was_there && process->census_cgroup_id != reading->cgroup_id) {
		interval.left_id = process->census_cgroup_id;
		push(growth, process, &interval);
		return;
	}
	/* All that is in a new address space was charged anew. */
	grown = execed ? above(resident_of(now)) : grown_between(&before, now);
	interval.counted = counted_since(growth, growth->before_ns);
	if (was_there && !execed)
		interval.bound = copies_bound(
			process, &before, now, grown, shared_left(process), interval.counted);
	account_other(growth, &interval, &before, now, grown);
	push(growth, process, &interval);
}

static void copied(struct followed *process, uint64_t pages)
{
	process->cow += pages;
	process->lent = less(process->lent, pages);
	if (process->sharers)
		process->lent_copied += pages;
}

/*
 * Its memory has come back by now, so no usage shows what it copied: the other bounds stand alone.
 * They hold for the last moment at which its memory is known.
 */
void followed_last_interval(struct growth *growth, struct followed *process,
	const struct counters *end, uint64_t rise, uint64_t time_ns)
{
	bool execed = process->flags & FOLLOWED_EXECED;
	bool was_there = process->pass == last_pass(growth).number;
	struct interval interval = {.time_ns = time_ns, .cgroup_id = process->cgroup_id};
	struct counters before;
	uint64_t grown, pages = 0;

	if (!counters_before(growth, process, &before))
		return;
	grown = rise + (execed ? above(resident_of(end)) : grown_between(&before, end));
	if (was_there && !execed && process->census_cgroup_id == process->cgroup_id)
		pages = copies_bound(process, &before, end, grown, shared_left(process),
			counted_since(growth, last_pass(growth).time_ns));
	account_other(growth, &interval, &before, end, grown);
	if (interval.charges)
		interval.other = less(interval.other, pages);
	if (!(process->flags & FOLLOWED_FREED))
		interval.lived = resident_of(end) - resident_of(&before) + (int64_t)pages;
	push(growth, process, &interval);
	if (!pages)
		return;
	copied(process, pages);
	process->estimated_ns = time_ns;
	followed_store(growth, process, process->series.seen_ns);
}

void followed_freed(struct growth *growth, struct followed *process, uint64_t time_ns)
{
	struct interval interval = {.time_ns = time_ns, .cgroup_id = process->cgroup_id};
	bool was_there = process->pass >= last_pass(growth).number;

	/* Its last look is the one that the usage of its cgroup is compared with. */
	if (was_there && !(process->flags & FOLLOWED_FREED))
		interval.rise = -(int64_t)private_pages(
			resident_of(&process->census), process->shared, process->cow);
	process->flags |= FOLLOWED_FREED;
	push(growth, process, &interval);
}

/* --- a cgroup --- */

/* Fresh for each pass. NULL: its usage is not counted. */
static struct measured *cgroup_of(struct growth *growth, uint64_t id)
{
	struct measured *cgroup = measured_find(growth, id);

	if (!cgroup || !measured_counts(cgroup))
		return NULL;
	if (cgroup->sums.pass != growth->pass)
		cgroup->sums = (struct sums) {.pass = growth->pass};
	return cgroup;
}

static struct sums *sums_of(struct growth *growth, struct measured *cgroup)
{
	return cgroup ? &cgroup->sums : &growth->machine;
}

/* One that is later than the moment of this pass waits for a later one. */
static bool is_due(const struct growth *growth, const struct interval *interval)
{
	return interval->time_ns <= growth->pass_ns;
}

static void sum_rise(struct growth *growth, const struct interval *interval)
{
	struct measured *left;

	growth->all_rise += interval->rise;
	if (!interval->left_id) {
		sums_of(growth, interval->cgroup)->rise += interval->rise;
		return;
	}
	left = cgroup_of(growth, interval->left_id);
	sums_of(growth, interval->cgroup)->rise += (int64_t)above(interval->rise);
	sums_of(growth, left)->rise += (int64_t)above(interval->rise);
}

/* A kill's pass: the one that has ended meanwhile was still there. */
static void sum_waiting(struct growth *growth, struct interval *interval)
{
	growth->all_rise += interval->lived;
	sums_of(growth, cgroup_of(growth, interval->cgroup_id))->rise += interval->lived;
	interval->rise -= interval->lived;
	interval->lived = 0;
}

static void sum_up(struct growth *growth)
{
	for (size_t i = 0; i < growth->interval_count; i++) {
		struct interval *interval = &growth->intervals[i];
		struct followed *process = &growth->processes[interval->slot];

		if (!is_due(growth, interval)) {
			sum_waiting(growth, interval);
			continue;
		}
		interval->cgroup = cgroup_of(growth, interval->cgroup_id);
		sum_rise(growth, interval);
		if (process->tgid != interval->tgid)
			continue;
		interval->process = process;
		sums_of(growth, interval->cgroup)->bound += interval->bound;
	}
}

/* What it rose itself, beyond the RSS of its processes. */
static uint64_t beyond_rss(const struct measured *cgroup)
{
	return above(cgroup->rise - cgroup->children_rise - cgroup->sums.rise);
}

/* At most so many pages were copied in this cgroup; UINT64_MAX: its usage does not tell, since
 * reclaim took away what was charged, or it is not known. */
static uint64_t room_for_copies(const struct growth *growth, const struct measured *cgroup)
{
	if (!cgroup || !cgroup->has_rise || measured_met_limit(growth, cgroup))
		return UINT64_MAX;
	return beyond_rss(cgroup);
}

static uint64_t share(uint64_t part, uint64_t whole, uint64_t room)
{
	return whole <= room ? part : (uint64_t)((double)part * (double)room / (double)whole);
}

static bool agree(const struct growth *growth, uint64_t bound, uint64_t room)
{
	uint64_t difference = bound > room ? bound - room : room - bound;

	return room != UINT64_MAX &&
	       (difference <= room / AGREE_PART || difference <= AGREE_BYTES / growth->page_size);
}

static void share_copies(struct growth *growth, struct interval *interval)
{
	const struct sums *sums = sums_of(growth, interval->cgroup);
	uint64_t room = room_for_copies(growth, interval->cgroup);

	interval->copied = share(interval->bound, sums->bound, room);
	if (!interval->copied)
		return;
	copied(interval->process, interval->copied);
	if (!interval->counted || !agree(growth, sums->bound, room))
		interval->process->estimated_ns = growth->pass_ns;
}

static void share_all_copies(struct growth *growth)
{
	for (size_t i = 0; i < growth->interval_count; i++) {
		struct interval *interval = &growth->intervals[i];
		struct sums *sums = sums_of(growth, interval->cgroup);

		if (!interval->process)
			continue;
		if (interval->bound)
			share_copies(growth, interval);
		if (interval->charges)
			interval->other = less(interval->other, interval->copied);
		sums->copied += interval->copied;
		sums->other += interval->other;
		growth->all_copied += interval->copied;
	}
}

/* Growth in no address space. That of the machine comes last: it is what no cgroup explains. */
static void share_others(struct growth *growth, bool of_machine)
{
	int64_t machine = growth->host_rise_bytes / (int64_t)growth->page_size - growth->all_rise;
	uint64_t room = less(above(machine), growth->all_copied + growth->all_cached);

	for (size_t i = 0; i < growth->interval_count; i++) {
		struct interval *interval = &growth->intervals[i];
		const struct measured *cgroup = interval->cgroup;
		const struct sums *sums = sums_of(growth, interval->cgroup);
		uint64_t pages;

		if (!interval->process || !interval->other || !cgroup != of_machine)
			continue;
		if (cgroup)
			room = cgroup->has_rise ? less(beyond_rss(cgroup), sums->copied) : 0;
		pages = share(interval->other, sums->other, room);
		interval->process->cached += pages;
		growth->all_cached += of_machine ? 0 : pages;
	}
}

/* Where the newest point of a process is later than the pass, what it got belongs to the pass all
 * the same: a kill is told at once and looked at a little later, for the moment of its beginning.
 */
static void store_shares(struct growth *growth)
{
	size_t later = 0;

	for (size_t i = 0; i < growth->interval_count; i++) {
		struct interval *interval = &growth->intervals[i];
		struct followed *process = interval->process;

		if (!is_due(growth, interval)) {
			growth->intervals[later++] = *interval;
			continue;
		}
		growth->moved_processes += interval->copied;
		if (!process || (!interval->copied && !interval->other))
			continue;
		followed_store(growth, process, process->series.seen_ns);
		if (process->series.seen_ns > growth->pass_ns)
			process->late_ns = process->series.seen_ns;
	}
	growth->interval_count = later;
}

void growth_share_out(struct growth *growth)
{
	growth->machine = (struct sums) {0};
	growth->all_rise = 0;
	growth->all_copied = growth->all_cached = 0;
	sum_up(growth);
	share_all_copies(growth);
	share_others(growth, false);
	share_others(growth, true);
	store_shares(growth);
}
