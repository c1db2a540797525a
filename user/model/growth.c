// SPDX-License-Identifier: Apache-2.0
/* The recorder's tables: made at start, filled by facts, compared from pass to pass. */
#include "model/growth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/growth_parts.h"

#define PROCESSES_DEFAULT 16384
#define CGROUPS_DEFAULT 8192
#define LEDGER_BYTES_DEFAULT (16UL << 20)
#define KEEP_NS_DEFAULT (600 * 1000000000ULL)
#define FORKS_MIN 64
#define HOST_BYTES_MAX (1ULL << 60)

static size_t or_default(size_t value, size_t by_default)
{
	return value ? value : by_default;
}

static size_t forks_for(size_t processes)
{
	return processes / 2 > FORKS_MIN ? processes / 2 : FORKS_MIN;
}

size_t growth_bytes(const struct growth_options *options)
{
	const struct growth *growth = NULL; /* for the sizes of what it points to */
	size_t processes = or_default(options->processes, PROCESSES_DEFAULT);
	size_t cgroups = or_default(options->cgroups, CGROUPS_DEFAULT);
	size_t forks = forks_for(processes);

	return sizeof(*growth) + slots_bytes(processes) + slots_bytes(cgroups) +
	       slots_bytes(forks) + processes * sizeof(*growth->processes) +
	       cgroups * sizeof(*growth->cgroups) + forks * sizeof(*growth->forks) +
	       2 * processes * sizeof(*growth->intervals) + families_bytes(processes) +
	       or_default(options->ledger_bytes, LEDGER_BYTES_DEFAULT);
}

/* Whatever is not touched takes no memory: nothing here is written to before it is used. */
static int tables_new(struct growth *growth, size_t processes, size_t cgroups)
{
	size_t forks = forks_for(processes);
	int error;

	error = slots_init(&growth->process_slots, processes);
	if (!error)
		error = slots_init(&growth->cgroup_slots, cgroups);
	if (!error)
		error = slots_init(&growth->fork_slots, forks);
	if (error)
		return error;
	growth->processes = calloc(processes, sizeof(*growth->processes));
	growth->cgroups = calloc(cgroups, sizeof(*growth->cgroups));
	growth->forks = calloc(forks, sizeof(*growth->forks));
	growth->intervals = calloc(2 * processes, sizeof(*growth->intervals));
	growth->interval_capacity = 2 * processes;
	if (!growth->processes || !growth->cgroups || !growth->forks || !growth->intervals)
		return -ENOMEM;
	return families_new(growth, processes);
}

struct growth *growth_new(const struct growth_options *options)
{
	struct growth *growth = calloc(1, sizeof(*growth));
	int error;

	if (!growth)
		return NULL;
	growth->page_size = options->page_size;
	growth->keep_ns = options->keep_ns ? options->keep_ns : KEEP_NS_DEFAULT;
	growth->pass = 1;
	growth->pressure.left_ns = UINT64_MAX;
	error = options->page_size ? 0 : -EINVAL;
	if (!error) {
		growth->follow_pages = GROWTH_FOLLOW_BYTES / options->page_size;
		error = tables_new(growth, or_default(options->processes, PROCESSES_DEFAULT),
			or_default(options->cgroups, CGROUPS_DEFAULT));
	}
	if (!error) {
		growth->ledger = ledger_new(
			or_default(options->ledger_bytes, LEDGER_BYTES_DEFAULT), growth->keep_ns);
		error = growth->ledger ? 0 : -errno;
	}
	if (!error)
		return growth;
	growth_free(growth);
	errno = -error;
	return NULL;
}

void growth_free(struct growth *growth)
{
	if (!growth)
		return;
	slots_done(&growth->process_slots);
	slots_done(&growth->cgroup_slots);
	slots_done(&growth->fork_slots);
	free(growth->processes);
	free(growth->cgroups);
	free(growth->forks);
	free(growth->intervals);
	free(growth->families);
	free(growth->family_buckets);
	ledger_free(growth->ledger);
	free(growth);
}

/* --- samples --- */

static void count_memory(struct reading *reading, const int64_t pages[EV_RSS_COUNTERS])
{
	reading->counters.anon = cut_pages(pages[EV_RSS_ANON]);
	reading->counters.mapped =
		cut_pages(cut_pages(pages[EV_RSS_FILE]) + cut_pages(pages[EV_RSS_SHMEM]));
	reading->counters.file = cut_pages(pages[EV_RSS_FILE]);
	reading->swap = cut_pages(pages[EV_RSS_SWAP]);
}

static void read_sample(const struct ev_sample *event, struct reading *ret)
{
	*ret = (struct reading) {
		.time_ns = event->hdr.time_ns,
		.start_ns = event->start_ns,
		.mm = event->flags & EV_TASK_NO_MM ? 0 : event->mm,
		.cgroup_id = event->cgroup_id,
		.tgid = event->tgid,
		.ppid = event->ppid,
		.forked = event->flags & EV_TASK_FORKED,
		.counters.faults = event->faults,
		.counters.io_bytes = event->io_bytes,
		.counters.copied = event->copied_pages,
		.counters.charged = event->charged_pages,
		.comm = event->comm,
	};
	count_memory(ret, (const int64_t *)event->rss_pages);
}

static void read_task(const struct ev_task *event, struct reading *ret)
{
	*ret = (struct reading) {
		.time_ns = event->hdr.time_ns,
		.start_ns = event->start_ns,
		.mm = event->mm,
		.cgroup_id = event->cgroup_id,
		.tgid = event->tgid,
		.ppid = event->ppid,
		.forked = event->flags & EV_TASK_FORKED,
		.of_kill = true,
		.counters.faults = EV_UNKNOWN,
		.counters.io_bytes = EV_UNKNOWN,
		.counters.copied = EV_UNKNOWN,
		.counters.charged = EV_UNKNOWN,
		.comm = event->comm,
	};
	count_memory(ret, (const int64_t *)event->rss_pages);
}

/*
 * A process on its way out has no memory of its own any more, and a pass that belongs to a kill is
 * stamped with its time though what the kill told of that very moment is known already: then what
 * is known of its memory stands, and only what it did is taken.
 */
static void keep_memory(struct growth *growth, struct followed *process, struct reading *reading)
{
	bool is_older = reading->time_ns < process->series.seen_ns;

	if (reading->mm && !is_older)
		return;
	if (!reading->mm && !is_older && reading->of_pass)
		followed_freed(growth, process, reading->time_ns);
	reading->counters.anon = process->anon;
	reading->counters.mapped = process->mapped;
	reading->counters.file = process->census.file;
	reading->swap = process->swap;
	if (reading->mm)
		return;
	/* Old kernels put the dying into the root cgroup. */
	reading->mm = process->mm;
	reading->cgroup_id = process->cgroup_id;
}

/* What a new program is seen by, where no record told of it. */
static bool has_execed(const struct followed *process, const struct reading *reading)
{
	return (process->flags & FOLLOWED_FORKED && !reading->forked) ||
	       (mm_known(process->mm) && mm_known(reading->mm) && process->mm != reading->mm);
}

static void update(struct growth *growth, struct followed *process, const struct reading *reading)
{
	process->anon = reading->counters.anon;
	process->mapped = reading->counters.mapped;
	process->swap = reading->swap;
	process->mm = reading->mm;
	process->cgroup_id = reading->cgroup_id;
	/* Another parent: the one that it shared with has ended. */
	if (process->ppid != reading->ppid)
		process->flags &= ~FOLLOWED_BORROWS;
	process->ppid = reading->ppid;
	/* A kill may name a thread of it. */
	if (!reading->of_kill || !process->comm[0])
		memcpy(process->comm, reading->comm, sizeof(process->comm));
	if ((uint64_t)resident_of(&reading->counters) > process->peak)
		process->peak = (uint64_t)resident_of(&reading->counters);
	if (reading->of_kill)
		process->late_ns = reading->time_ns;
	if (reading->time_ns >= process->series.seen_ns)
		followed_store(growth, process, reading->time_ns);
}

static void take_census(
	struct growth *growth, struct followed *process, const struct reading *reading)
{
	if (!reading->of_pass || process->pass == growth->pass)
		return;
	followed_settle(process, reading->time_ns);
	followed_interval(growth, process, reading);
	process->census = reading->counters;
	process->census_cgroup_id = reading->cgroup_id;
	process->pass = growth->pass;
	process->flags &= ~FOLLOWED_EXECED;
}

/* It ended unseen, or so it seemed. */
static void revive(struct followed *process)
{
	process->exited_ns = 0;
	process->flags &= ~(FOLLOWED_FREED | FOLLOWED_END_TOLD);
}

static void take_reading(struct growth *growth, struct reading *reading)
{
	struct followed *process = followed_find(growth, reading->tgid, reading->start_ns);

	growth->totals.samples++;
	reading->of_pass = reading->of_pass && growth->in_pass;
	if (process && (process->flags & FOLLOWED_ENDED || (process->exited_ns && !reading->mm)))
		return;
	if (process)
		keep_memory(growth, process, reading);
	else if (reading->mm)
		process = followed_enter(growth, reading);
	if (!process)
		return;
	if (process->exited_ns)
		revive(process);
	if (has_execed(process, reading))
		followed_execed(growth, process, reading->time_ns);
	take_census(growth, process, reading);
	update(growth, process, reading);
	slots_move(&growth->process_slots, followed_slot(growth, process), SLOT_LIVE);
}

static void take_sample(struct growth *growth, const struct ev_sample *event)
{
	struct reading reading;

	/* In vfork: its parent's memory. */
	if (event->flags & (EV_TASK_KTHREAD | EV_TASK_VFORK | EV_TASK_PARTIAL))
		return;
	read_sample(event, &reading);
	reading.of_pass = event->why == EV_SAMPLE_CENSUS;
	take_reading(growth, &reading);
}

static void take_task(struct growth *growth, const struct ev_task *event)
{
	struct reading reading;

	if (event->flags & (EV_TASK_PARTIAL | EV_TASK_NO_MM | EV_TASK_KTHREAD | EV_TASK_VFORK) ||
		!event->mm)
		return;
	read_task(event, &reading);
	take_reading(growth, &reading);
}

void growth_fact(struct growth *growth, const struct fact *fact)
{
	switch (fact->kind) {
	case EV_SAMPLE:
		take_sample(growth, &fact->sample);
		return;
	case EV_TASK:
		take_task(growth, &fact->task);
		return;
	case EV_USAGE:
		growth_take_usage(growth, &fact->usage);
		return;
	case EV_LEVEL:
		growth_take_level(growth, &fact->level);
		return;
	case EV_CGROUP:
		growth_take_cgroup(growth, &fact->cgroup);
		return;
	case EV_FORK:
		growth_take_fork(growth, &fact->fork);
		return;
	case EV_EXEC:
		growth_take_exec(growth, &fact->exec);
		return;
	case EV_EXIT:
		growth_take_exit(growth, &fact->exit);
		return;
	default:
		return;
	}
}

/* --- passes --- */

void growth_pass_begin(struct growth *growth, uint64_t time_ns)
{
	growth->in_pass = time_ns > growth->pass_ns;
	if (!growth->in_pass) {
		growth->totals.passes_refused++;
		return;
	}
	growth->pass++;
	growth->before_ns = growth->pass_ns;
	growth->pass_ns = time_ns;
	growth->moved_processes = 0;
	if (!growth->first_pass_ns)
		growth->first_pass_ns = time_ns;
}

/* Whoever is heard of is moved to the end of the list: those that were not are at its beginning. */
static void end_unseen(struct growth *growth)
{
	struct slots *slots = &growth->process_slots;
	uint32_t slot = slots->oldest[SLOT_LIVE];

	while (slot != SLOT_NONE) {
		struct followed *process = &growth->processes[slot];

		if (process->pass == growth->pass || process->series.seen_ns >= growth->pass_ns)
			return;
		slot = slots->links[slot].newer;
		followed_ended(growth, process, growth->pass_ns - 1);
	}
}

void growth_pass_end(struct growth *growth)
{
	if (!growth->in_pass)
		return;
	end_unseen(growth);
	followed_place_all(growth);
	growth_measure(growth);
	growth_share_out(growth);
	growth_weigh(growth);
	growth->host_rise_bytes = 0;
	growth->in_pass = false;
	growth->totals.passes++;
}

/* The next one is compared with neither this one nor the one before. */
void growth_pass_cut(struct growth *growth)
{
	if (!growth->in_pass)
		return;
	growth->pass++;
	growth->interval_count = 0;
	growth->in_pass = false;
	growth->totals.passes_cut++;
}

void growth_host(struct growth *growth, uint64_t time_ns, uint64_t used_bytes, uint64_t total_bytes)
{
	int64_t values[LEDGER_VALUES] = {0}, rise;

	if (time_ns <= growth->host_ns)
		return;
	used_bytes = least(used_bytes, HOST_BYTES_MAX);
	values[HOST_USED_BYTES] = (int64_t)used_bytes;
	if (growth->host_ns) {
		rise = (int64_t)used_bytes - (int64_t)growth->host_used_bytes;
		growth->host_rise_bytes += rise;
		growth->host_bytes_per_s =
			(double)rise / ((double)(time_ns - growth->host_ns) / 1e9);
	}
	growth->host_ns = time_ns;
	growth->host_used_bytes = used_bytes;
	growth->host_total_bytes = least(total_bytes, HOST_BYTES_MAX);
	ledger_append(growth->ledger, &growth->host, time_ns, values);
}

void growth_armed(struct growth *growth, uint64_t time_ns, bool armed)
{
	struct picture_armed *last = &growth->armed[(growth->armed_count - 1) % GROWTH_ARMED_KEPT];
	bool is_armed = growth->armed_count && !last->to_ns;

	if (armed == is_armed)
		return;
	if (armed) {
		last = &growth->armed[growth->armed_count++ % GROWTH_ARMED_KEPT];
		*last = (struct picture_armed) {.from_ns = time_ns};
	} else {
		last->to_ns = time_ns;
	}
}

/* --- totals --- */

static uint64_t count_unplaced(const struct growth *growth)
{
	const struct slots *slots = &growth->cgroup_slots;
	uint64_t count = 0;

	for (uint32_t slot = slots->oldest[SLOT_LIVE]; slot != SLOT_NONE;
		slot = slots->links[slot].newer) {
		const struct measured *at = &growth->cgroups[slot];

		for (int i = 0; i < GROWTH_CHAIN_MAX && at && at->parent_id; i++)
			at = measured_find(growth, at->parent_id);
		count += !at || at->parent_id;
	}
	return count;
}

struct growth_totals growth_totals(const struct growth *growth)
{
	struct growth_totals totals = growth->totals;

	totals.processes = growth->process_slots.used;
	totals.cgroups = growth->cgroup_slots.used;
	totals.limits_unplaced = count_unplaced(growth);
	totals.ledger = ledger_totals(growth->ledger);
	return totals;
}
