/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stalling.h: cgroups that memory.high has brought to a standstill: usage is not below it, nothing
 * can be reclaimed, whoever allocates is put to sleep, and nobody is killed.
 *
 * Contract
 *   Pure: fed with looks, a second or so apart, at the cgroups whose usage is not below
 * memory.high; one that is not among them has come out of it. A stall is told once when it has
 * lasted for stall_ns, and once when it ends. Through all of it, at every look, usage was not below
 * memory.high; and in every round of a third of stall_ns it was passed again, and all that were not
 * idle waited for memory for half of the time. Nothing allocates.
 *
 * Units: `_ns` CLOCK_BOOTTIME, `_us` of waiting as memory.pressure counts it.
 * Source: mem_cgroup_handle_over_high() (mm/memcontrol.c), kernel/sched/psi.c, which adds up every
 * two seconds: so a round is no shorter than that.
 */
#ifndef OOMSNOOP_MODEL_STALLING_H
#define OOMSNOOP_MODEL_STALLING_H

#include <stdbool.h>
#include <stdint.h>

#define STALLS_MAX 64 /* above memory.high at once */
#define STALL_MIN_NS 6000000000ULL /* three rounds of two seconds */
#define STALL_FULL_PERCENT 50

struct stall_look {
	uint64_t cgroup_id;
	uint64_t usage_bytes, high_bytes;
	uint64_t max_bytes; /* UNKNOWN_U64: no limit */
	uint64_t high_events; /* memory.events, with those of the cgroups below */
	uint64_t full_us; /* total of "full" in memory.pressure */
};

struct stall {
	uint64_t since_ns, last_ns; /* the first and the last look at it: so long at least */
	struct stall_look first, last;
	bool told;

	/* of the round */
	uint64_t round_ns, round_events, round_full_us;
};

enum stall_news {
	STALL_NO_NEWS = 0,
	STALL_BEGAN = 1,
	STALL_ENDED = 2,
};

struct stalling {
	uint64_t stall_ns; /* at least STALL_MIN_NS; 0: none is told */
	unsigned int count;
	struct stall stalls[STALLS_MAX];
	uint64_t not_followed; /* looks that found no room */
};

/* What came of a look; of news *ret is the stall. */
enum stall_news stalling_take(struct stalling *stalling, uint64_t now_ns,
	const struct stall_look *look, struct stall *ret);

/* After all looks of now_ns: one that was told and that was not looked at any more. False: no more
 * of them. */
bool stalling_left(struct stalling *stalling, uint64_t now_ns, struct stall *ret);

/* The share of its time that all of them waited, as far as it was looked at: 0 to 100. */
unsigned int stall_full_percent(const struct stall *stall);

#endif /* OOMSNOOP_MODEL_STALLING_H */
