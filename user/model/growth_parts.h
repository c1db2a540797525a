/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growth_parts.h: private to model/growth*.c: the tables, and what is kept of each entry.
 *
 * growth.c takes facts and runs passes, growth_table.c finds entries and makes room for them,
 * growth_family.c knows forks, execs and exits, growth_cow.c tells whose the growth is that no RSS
 * shows, growth_cgroup.c measures cgroups against their limits, growth_changes.c tells what
 * changed, growth_picture.c and growth_families.c make the picture of a window, growth_history.c
 * tells the series behind it.
 *
 * Pages, unless named otherwise. What comes from outside is cut to GROWTH_PAGES_MAX when it is
 * taken, so that sums over all entries fit.
 */
#ifndef OOMSNOOP_MODEL_GROWTH_PARTS_H
#define OOMSNOOP_MODEL_GROWTH_PARTS_H

#include "facts/host.h"
#include "model/growth.h"
#include "model/slots.h"

#define GROWTH_PAGES_MAX (1LL << 40)
#define GROWTH_CHAIN_MAX 64 /* levels of cgroups, or of forks, that are climbed */
/* What a kill tells comes a little after the first record of it, and holds for that moment. */
#define GROWTH_KILL_NS 1000000000ULL
#define GROWTH_ARMED_KEPT 32
#define GROWTH_FOLLOW_BYTES (1ULL << 20) /* below it nobody is followed after the fact */

/* What the values of the points of a series are. */
enum process_value {
	PROCESS_RESIDENT = 0, /* anon, file and shmem */
	PROCESS_SWAP = 1,
	PROCESS_COW = 2, /* copies that it holds beyond that */
	PROCESS_CACHED = 3, /* since it is followed */
};

enum cgroup_value {
	CGROUP_USAGE = 0,
	CGROUP_CHARGED = 1, /* -1: not counted */
};

enum host_value {
	HOST_USED_BYTES = 0,
};

/* Of one process at one look. EV_UNKNOWN where the type is unsigned: not known. */
struct counters {
	int64_t anon, mapped; /* mapped: file and shmem */
	int64_t file; /* of mapped; 0 where it is not known apart */
	uint64_t faults, io_bytes, copied, charged;
};

/* EV_SAMPLE and EV_TASK. */
struct reading {
	uint64_t time_ns;
	uint64_t start_ns;
	uint64_t mm; /* 0: none any more */
	uint64_t cgroup_id;
	uint32_t tgid, ppid;
	bool forked; /* still runs what it was forked with */
	bool of_kill; /* told by the OOM killer */
	bool of_pass;
	int64_t swap;
	struct counters counters;
	const char *comm; /* EV_COMM_LEN bytes */
};

/* What growth_history() has told of one series. */
struct history_mark {
	uint64_t from_ns; /* from here to the newest, all of it was */
	uint64_t newest_ns; /* as the ledger has it; 0: nothing was told */
	uint64_t begin_ns; /* for when a window's first point was told last */
	uint64_t values; /* of the newest, mixed: it may change without getting newer */
	uint64_t owner; /* what was told of the owner and may change without a point, mixed */
};

#define THINNED_VALUES 3

/* What growth_thinned() told last of one series. */
struct thinned_mark {
	bool told;
	int64_t values[THINNED_VALUES];
	uint64_t end; /* exit or removal; of what is there: its limit */
};

enum followed_flag {
	FOLLOWED_FORKED = 1 << 0, /* runs what it was forked with */
	FOLLOWED_UNPLACED =
		1 << 1, /* forked by somebody who is looked for at the end of the pass */
	FOLLOWED_BORROWS = 1 << 2, /* its parent counts it among its sharers */
	FOLLOWED_EXECED = 1 << 3, /* since the last census */
	FOLLOWED_ENDED = 1 << 4, /* its exit was told: nothing that is told of it is new */
	FOLLOWED_FREED = 1 << 5, /* that its memory came back is accounted for */
	FOLLOWED_END_TOLD = 1 << 6, /* by growth_changes() */
};

/* A process. */
struct followed {
	uint32_t tgid, ppid;
	uint64_t start_ns;
	uint64_t root_start_ns; /* of its family's root; itself where it executed a program */
	uint32_t root_tgid;
	uint32_t flags; /* enum followed_flag */
	uint64_t mm;
	uint64_t cgroup_id, census_cgroup_id;
	uint64_t exited_ns; /* 0: alive */
	uint64_t late_ns; /* the newest point, where it is later than the moment it is told for */
	uint64_t estimated_ns; /* when copies were last attributed that are an upper bound */

	/*
	 * What it was forked with and may still have in common; 0 after an exec. And what it shares
	 * as a parent: with how many children, how many of its pages it has not copied since the
	 * last fork, and how many it has since the first of these children.
	 */
	uint64_t shared;
	uint64_t lent, lent_copied;
	uint64_t leaving_ns; /* when the last of `leaving` ended or executed a program */
	uint32_t sharers;
	uint32_t leaving; /* of the sharers, until the next look at it */

	uint64_t inherited; /* peaks up to about this may be those of who forked it; UNKNOWN_U64 */
	uint64_t peak; /* resident, of its whole life */
	struct counters census; /* of the last pass that it was in */
	uint32_t pass; /* its number; 0: none */
	uint32_t pad;
	/* By how much one of the counters of copies was ahead of the other at that pass. */
	uint32_t faults_ahead, copied_ahead;
	int64_t anon, mapped, swap; /* last known */
	uint64_t cow, cached;

	int64_t told_held;
	uint64_t told_cow, told_ns;
	struct history_mark history;
	struct thinned_mark thinned;
	struct series series;
	char comm[EV_COMM_LEN];
};

/* What the processes of a cgroup did between two passes, added up. */
struct sums {
	uint32_t pass;
	int64_t rise;
	uint64_t bound, copied;
	uint64_t other;
};

struct meter {
	uint64_t usage, swap_usage, failcnt, max_events, high_events;
};

/* A cgroup. */
struct measured {
	uint64_t id, parent_id;
	uint32_t flags; /* enum ev_level_flag */
	uint32_t pass; /* the last one that it was heard of in */
	uint64_t level_ns; /* when a kill told it last */
	uint64_t level_usage; /* and what it said; the series may have a later look by then */
	uint64_t removed_ns; /* 0: it is there */
	uint64_t max, high, swap_max, charged;
	struct meter now, before; /* before: at the end of the pass `before_pass` */
	uint32_t before_pass;
	bool began; /* after the first pass */
	bool made; /* its making was told: before it is heard of first, it holds nothing */
	bool has_rise; /* the following hold: it was in the last two passes */
	bool met_limit; /* of its own, between them */
	bool pinned; /* full, and reclaim makes room: usage does not tell how near the end is */
	bool met_below; /* its own or one below it */
	int64_t rise, swap_rise, children_rise;
	uint64_t held; /* by processes in it and below: what no reclaim of page cache gets back */
	uint64_t held_ns; /* at which pass; 0: never looked at */
	double held_rate; /* pages a second since the look before */
	struct sums sums;

	uint64_t told_usage, told_ns;
	struct history_mark history;
	struct thinned_mark thinned;
	struct series series;

	/* of the picture, or the history, that is being made */
	uint32_t picture;
	bool inside;
	int64_t window_rise, window_children;
};

/* A process that was forked and not seen since. */
struct fork_note {
	uint32_t tgid, parent_tgid, root_tgid;
	bool execed;
	bool lent; /* its parent counts it among its sharers */
	uint64_t start_ns, parent_start_ns, root_start_ns;
	uint64_t rss, anon; /* that it was forked with; anon: of rss */
	uint64_t inherited; /* as in struct followed */
};

/* What one process did between two passes. */
struct interval {
	uint32_t slot, tgid;
	uint64_t time_ns;
	uint64_t cgroup_id;
	uint64_t left_id; /* the cgroup that it came from meanwhile; 0: none */
	int64_t rise;
	int64_t lived; /* of one that ended since: what a pass for a moment before that finds there
			*/
	uint64_t bound; /* so many it may have copied */
	uint64_t other; /* so much it can account for beyond that */
	bool counted; /* write faults were, all the time */
	bool charges; /* `other` is what was charged to it: copies are in it */

	/* while it is shared out */
	struct followed *process; /* NULL: not now, or its place is another's */
	struct measured *cgroup; /* NULL: no usage of its own, so that it is the machine's */
	uint64_t copied;
};

struct family_sum; /* growth_families.c */

struct growth {
	struct ledger *ledger;
	uint32_t page_size;
	uint64_t follow_pages;
	uint64_t keep_ns;

	struct slots process_slots, cgroup_slots, fork_slots;
	struct followed *processes;
	struct measured *cgroups;
	struct fork_note *forks;

	struct interval *intervals;
	size_t interval_count, interval_capacity;
	struct family_sum *families;
	uint32_t *family_buckets;
	uint32_t family_count;
	uint32_t family_mask;
	uint32_t picture;

	/* From 1 on, so that a process's 0 is never the one before. */
	uint32_t pass;
	bool in_pass;
	bool unplaced; /* somebody is */
	uint64_t pass_ns, before_ns, first_pass_ns;
	struct sums
		machine; /* of processes whose cgroup has no usage of its own, or is not known */
	int64_t all_rise; /* of all processes */
	uint64_t all_copied, all_cached;
	uint64_t moved_processes, moved_cgroups;
	struct growth_pressure pressure;

	struct series host;
	uint64_t host_ns, host_used_bytes, host_total_bytes; /* total 0: not told yet */
	double host_bytes_per_s;
	int64_t host_rise_bytes; /* since the last pass */
	struct history_mark host_history;
	struct thinned_mark host_thinned;

	/* growth_history(): a heap, the smallest on top */
	struct history_place {
		int64_t most; /* that it held in the window */
		uint32_t slot;
	} places[HISTORY_PROCESSES];

	struct picture_armed armed[GROWTH_ARMED_KEPT]; /* a ring */
	uint64_t armed_count; /* all there ever were */
	struct {
		uint32_t incident, role, index;
		uint64_t id;
	} last_level;
	struct growth_totals totals;
};

/* --- numbers --- */

static inline int64_t cut_pages(int64_t pages)
{
	return pages < 0 ? 0 : pages > GROWTH_PAGES_MAX ? GROWTH_PAGES_MAX : pages;
}

static inline uint64_t less(uint64_t value, uint64_t by)
{
	return value > by ? value - by : 0;
}

static inline uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* At least 0. */
static inline uint64_t above(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

static inline int64_t to_bytes(const struct growth *growth, int64_t pages)
{
	int64_t bytes;

	if (__builtin_mul_overflow(pages, (int64_t)growth->page_size, &bytes))
		return pages < 0 ? INT64_MIN : INT64_MAX;
	return bytes;
}

static inline int64_t resident_of(const struct counters *counters)
{
	return counters->anon + counters->mapped;
}

static inline int64_t held_of(const struct followed *process)
{
	return process->anon + process->mapped + process->swap;
}

/* Addresses are the kernel's; what does not look like one only says that there is memory. */
static inline bool mm_known(uint64_t mm)
{
	return mm != EV_UNKNOWN && mm >> 63;
}

/* Did it begin after the recorder did? */
static inline bool began_since(const struct growth *growth, uint64_t start_ns)
{
	return growth->first_pass_ns && start_ns > growth->first_pass_ns;
}

/* --- growth_table.c --- */

struct followed *followed_find(struct growth *growth, uint32_t tgid, uint64_t start_ns);
/* The living process of this pid that was there at that time; NULL: not known. Never init: it
 * adopts. */
struct followed *followed_parent(struct growth *growth, uint32_t ppid, uint64_t start_ns);
/* An empty entry for one that holds so many pages (0: no living one gives way). NULL: no room. */
struct followed *followed_take(struct growth *growth, uint32_t tgid, int64_t held);
uint32_t followed_slot(const struct growth *growth, const struct followed *process);
void followed_store(struct growth *growth, struct followed *process, uint64_t time_ns);

struct measured *measured_find(const struct growth *growth, uint64_t id);
struct measured *measured_get(struct growth *growth, uint64_t id);
uint32_t measured_slot(const struct growth *growth, const struct measured *cgroup);

struct fork_note *fork_find(struct growth *growth, uint32_t tgid, uint64_t start_ns);
struct fork_note *fork_take(struct growth *growth, uint32_t tgid, uint64_t start_ns);
void fork_drop(struct growth *growth, struct fork_note *note);

/* --- growth_family.c --- */

/* Makes an entry for a process that is not in the table. NULL: no room, or not memory of its own.
 */
struct followed *followed_enter(struct growth *growth, const struct reading *reading);
void followed_execed(struct growth *growth, struct followed *process, uint64_t time_ns);
void followed_ended(struct growth *growth, struct followed *process, uint64_t time_ns);
void followed_settle(struct followed *process, uint64_t time_ns);
void followed_place_all(struct growth *growth);
void growth_take_fork(struct growth *growth, const struct ev_fork *event);
void growth_take_exec(struct growth *growth, const struct ev_exec *event);
void growth_take_exit(struct growth *growth, const struct ev_exit *event);

/* What would come back if it ended: what it holds less what it still shares. */
static inline uint64_t private_pages(int64_t resident, uint64_t shared, uint64_t cow)
{
	return less(above(resident), less(shared, cow));
}

/* --- growth_cow.c --- */

/* Between the last pass and this one. */
void followed_interval(
	struct growth *growth, struct followed *process, const struct reading *reading);
/* Between the last pass and its end; `rise`: what it grew by beyond what is known of it. */
void followed_last_interval(struct growth *growth, struct followed *process,
	const struct counters *end, uint64_t rise, uint64_t time_ns);
void followed_freed(struct growth *growth, struct followed *process, uint64_t time_ns);
void growth_share_out(struct growth *growth);

/* --- growth_cgroup.c --- */

void growth_take_usage(struct growth *growth, const struct ev_usage *event);
void growth_take_level(struct growth *growth, const struct ev_level *event);
void growth_take_cgroup(struct growth *growth, const struct ev_cgroup *event);
/* At the end of a pass: by how much each cgroup rose. */
void growth_measure(struct growth *growth);
/* After growth_share_out(). */
void growth_weigh(struct growth *growth);
bool measured_met_limit(const struct growth *growth, const struct measured *cgroup);
/* v2's root has no counter of its own. */
bool measured_counts(const struct measured *cgroup);
bool growth_limited(const struct growth *growth, uint64_t max);

/* --- growth_picture.c, growth_families.c --- */

/* One process in the window. */
struct standing {
	const struct followed *process;
	bool exited, began;
	struct ledger_point begin, end;
	int64_t held; /* at the end; at its exit: its peak, where that is of this window */
	int64_t delta; /* held less what it began with */
	uint64_t cow, cached;
	bool cow_estimated;
};

/* Marks all cgroups that are domain_id (0: any) or below it, for growth_is_inside(). */
void growth_mark_inside(struct growth *growth, uint64_t domain_id);
bool growth_is_inside(const struct growth *growth, uint64_t domain_id, uint64_t cgroup_id);

int families_new(struct growth *growth, size_t capacity);
size_t families_bytes(size_t capacity);
void families_clear(struct growth *growth);
void families_add(struct growth *growth, const struct standing *standing);
void families_tell(struct growth *growth, struct growth_picture *ret);

#endif /* OOMSNOOP_MODEL_GROWTH_PARTS_H */
