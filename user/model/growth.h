/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growth.h: who grew: processes, cgroups and fork families over the ledger.
 *
 * Fed with samples and usages of a pass (growth_pass_begin(), facts, growth_pass_end()), with
 * samples between passes, and with forks, execs and exits; asked for a picture of a window.
 * Everything is taken at start (growth_new()); what finds no room is counted. A process is (tgid,
 * start_ns). A family is a process that executed a program (or whose parent is not known), and all
 * that descend from it by fork without exec.
 *
 * Copy-on-write. RSS does not move when a shared page becomes a private copy, but a fault is taken.
 * Between two passes a process copied
 *   - at most `excess` pages: its page faults less what its anon, file and shmem counters rose
 *     (task_struct.min_flt counts every fault, always), and
 *   - while write faults were counted (armed), at most those on present pages, and
 *   - where charges are counted, at most what was charged beyond what its RSS rose, and
 *   - at most what it shares: what it was forked with and has not copied yet, or, while a child is
 *     there, what it held when it forked last, and
 *   - while its cgroup met no limit, all processes of the cgroup together at most what the
 *     cgroup's usage rose beyond what their RSS rose, shared out by their excess.
 * The least of these is taken. It is called an upper bound unless write faults were counted and the
 * cgroup's usage agreed (5 %, or 1 MiB). What a parent copied is taken back with the last child
 * that shared it: from then on its RSS shows it.
 *
 * Units: `_ns` CLOCK_BOOTTIME. Source: kernel/fork.c, mm/memory.c do_wp_page(), mm/page_counter.c.
 */
#ifndef OOMSNOOP_MODEL_GROWTH_H
#define OOMSNOOP_MODEL_GROWTH_H

#include "model/history.h"
#include "model/ledger.h"
#include "model/picture.h"
#include "model/process.h"
#include "source/decode.h"

struct growth;

struct growth_options {
	size_t processes; /* capacity: 0 for 16384 */
	size_t cgroups; /* 0 for 8192 */
	size_t ledger_bytes; /* 0 for 16 MiB */
	uint64_t keep_ns; /* 0 for 10 minutes */
	uint32_t page_size;
};

/* NULL with errno. */
struct growth *growth_new(const struct growth_options *options);
void growth_free(struct growth *growth);

/* What growth_new() takes, once all of it is used. */
size_t growth_bytes(const struct growth_options *options);

/* One read of the iterator. The records of a pass may come in any order. Whoever was there at the
 * last pass, is not in this one and has no exit record has ended unseen. A pass whose time is not
 * after that of the one before is refused and counted. */
void growth_pass_begin(struct growth *growth, uint64_t time_ns);
void growth_pass_end(struct growth *growth);
/* In place of growth_pass_end(), where the read broke off: who is missing has not ended. */
void growth_pass_cut(struct growth *growth);

/*
 * EV_SAMPLE, EV_USAGE, EV_FORK, EV_EXEC, EV_EXIT, EV_CGROUP; others are passed over. A sample that
 * is none of a census may come at any time. ev_sample.mm EV_UNKNOWN: there is one, and no more is
 * known of it. EV_TASK and EV_LEVEL records of an incident count as samples and usages, too: the
 * last that is known. They hold for a moment up to a second before their own, since a picture, and
 * a pass, may be asked for the time of the incident's first record.
 */
void growth_fact(struct growth *growth, const struct fact *fact);

/* Used RAM of the machine (total less available), once a pass. */
void growth_host(
	struct growth *growth, uint64_t time_ns, uint64_t used_bytes, uint64_t total_bytes);

/* From now on write faults are counted, or not any more. */
void growth_armed(struct growth *growth, uint64_t time_ns, bool armed);

/* What a pass showed, for the clock of the passes and for arming. Nearest is the limit that is
 * reached soonest, if one is within a minute, else the fullest. */
struct growth_pressure {
	uint64_t cgroup_id; /* 0: the machine; the one nearest to its limit */
	uint64_t usage_bytes, max_bytes;
	double ratio; /* usage / max; 0: no limit anywhere */
	double bytes_per_s; /* how fast it grew, at least 0: growth_pressure() since the pass
			       before or over the last second, whichever is more; growth_near()
			       over a second at least */
	uint64_t left_ns; /* until the limit at that rate; UINT64_MAX: it does not grow */
	uint64_t moved_bytes; /* by how much all cgroups, or all processes, changed since the pass
				 before: the larger sum */
};

void growth_pressure(const struct growth *growth, struct growth_pressure *ret);

/* Calls fn for each limit that is at least `ratio` full or at most left_ns away (0: do not ask),
 * after a pass. */
void growth_near(const struct growth *growth, double ratio, uint64_t left_ns,
	void (*fn)(const struct growth_pressure *pressure, void *arg), void *arg);

/* A cgroup (v2) that was in the last pass and whose usage is not below its memory.high. */
struct growth_high {
	uint64_t cgroup_id;
	uint64_t usage_bytes, high_bytes;
	uint64_t max_bytes; /* UNKNOWN_U64: no limit */
	uint64_t high_events; /* how often that was passed, there and below */
};

/* Calls fn for each of them. */
void growth_above_high(const struct growth *growth,
	void (*fn)(const struct growth_high *high, void *arg), void *arg);

/*
 * One that changed by at least min_bytes since it was last told here. A process that ended is told
 * once: with what it had grown by until then, or else with what it gave back.
 */
struct growth_change {
	bool is_cgroup;
	uint64_t time_ns, since_ns; /* since_ns: when it was last told, or first seen */
	uint64_t cgroup_id;
	uint32_t tgid; /* processes */
	uint64_t start_ns;
	char comm[EV_COMM_LEN + 1];
	int64_t delta_bytes; /* processes: anon, file, shmem and swap; cgroups: usage */
	uint64_t cow_bytes; /* processes, since then */
	uint64_t now_bytes;
	uint64_t max_bytes; /* cgroups; UNKNOWN_U64: no limit */
	bool exited;
};

/* Calls fn for every process and cgroup that changed enough, the biggest change first, at most 64,
 * and remembers what was told. Returns how many there were. */
unsigned int growth_changes(struct growth *growth, uint64_t min_bytes,
	void (*fn)(const struct growth_change *change, void *arg), void *arg);

/*
 * The window of length window_ns that ends at to_ns, of one cgroup with all below it (0: of the
 * machine). Paths are looked up in `cgroups`.
 */
void growth_picture(struct growth *growth, struct cgroups *cgroups, uint64_t domain_id,
	uint64_t to_ns, uint64_t window_ns, struct growth_picture *ret);

/*
 * The series behind a picture (CLOCK_BOOTTIME): of the machine; of the cgroups from domain_id down
 * and of those above it (0: of those that moved since from_ns or have a limit); and of the
 * processes in it, those that ended since from_ns included, at most HISTORY_PROCESSES: those that
 * held most at some moment since from_ns, the largest first. Returns how many were left out.
 *
 * Each series begins with the point that holds at from_ns, told at from_ns, or with the first that
 * is known. A cgroup that was removed ends with usage 0; a process ends by history_owner.exited_ns.
 *
 * Without `again` what an earlier call told of an owner is not told again: a second incident soon
 * after the first costs little. Nothing new: not told at all. Nothing but its end, limit or place:
 * the owner alone. Only the first point is, where from_ns is more than 30 s after the time that it
 * was told for last: so a reader need not look further back than that for what stands still.
 */
unsigned int growth_history(struct growth *growth, uint64_t domain_id, uint64_t from_ns, bool again,
	const struct history_taker *taker);

/*
 * The thinned series: owner and present point (told at the moment since which it holds) of each
 * process and cgroup that moved by at least min_bytes and by a thirty-second of what it held since
 * it was last told here, or is new and holds min_bytes; of one that was told here also when it
 * ended or its limit changed; and of the machine likewise. Resident, swap and copies of a process
 * count, and the usage of a cgroup. To be called after a pass, every few seconds.
 */
void growth_thinned(struct growth *growth, uint64_t now_ns, uint64_t min_bytes,
	const struct history_taker *taker);

struct growth_totals {
	size_t processes, cgroups; /* in the tables */
	uint64_t processes_evicted, cgroups_evicted; /* live ones that gave way */
	uint64_t passes, samples, not_followed;
	uint64_t passes_cut; /* the read broke off */
	uint64_t passes_refused; /* their time was not after that of the one before */
	uint64_t samples_no_room; /* of processes not in the table, which is full of larger ones */
	uint64_t limits_unplaced; /* cgroups whose chain to the root is not known */
	struct ledger_totals ledger;
};

struct growth_totals growth_totals(const struct growth *growth);

#endif /* OOMSNOOP_MODEL_GROWTH_H */
