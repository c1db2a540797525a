/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.h: bounded history: series of points, delta-coded, in one arena that is taken at start.
 *
 * A point is a time and LEDGER_VALUES numbers. A series (struct series) lives in its owner's entry
 * and is a chain of chunks of the arena; each chunk begins with absolute values, so that the oldest
 * can be dropped at no cost. Chunks are handed out in a ring: when the arena is full, the chunk
 * that was begun longest ago gives way, which is always the oldest of its series. What a series
 * holds now is kept in the series itself and is never lost.
 *
 * Times are kept to the microsecond, rounded down; those of the newest point and of the first point
 * of a chunk, and all values, are exact.
 *
 * A point whose values equal the last one's is not stored: what stands still costs nothing, and the
 * value between two points is that of the earlier one. Times must not go back within a series;
 * a point that does is refused and counted, and the next that comes later is taken. There is no
 * time 0.
 *
 * Nothing allocates after ledger_new(). Units: `_ns` CLOCK_BOOTTIME; values are the owner's.
 */
#ifndef OOMSNOOP_MODEL_LEDGER_H
#define OOMSNOOP_MODEL_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEDGER_VALUES 4

struct ledger;

struct ledger_point {
	uint64_t time_ns;
	int64_t values[LEDGER_VALUES];
};

/* Zeroed: an empty series. The owner keeps its address for as long as it has points
 * (ledger_forget()). */
struct series {
	uint32_t oldest, newest; /* chunk + 1; 0: none */
	struct ledger_point last; /* the newest point stored */
	uint64_t seen_ns; /* when `last` was seen to hold still; >= last.time_ns */
	uint64_t first_ns; /* of its very first point; 0: empty */
	uint64_t cut_ns; /* history before this was dropped; 0: none was */
};

/* An arena of about so many bytes; history older than keep_ns may be dropped without being counted.
 * NULL with errno. */
struct ledger *ledger_new(size_t bytes, uint64_t keep_ns);
void ledger_free(struct ledger *ledger);

void ledger_append(
	struct ledger *ledger, struct series *series, uint64_t time_ns, const int64_t *values);

/* Gives its chunks back; the series is empty then. */
void ledger_forget(struct ledger *ledger, struct series *series);

/*
 * What held at a moment: the last point at or before it. False, with the oldest point that is known
 * in *ret, when the history does not reach back so far (the series began later, or its beginning
 * was dropped); false and *ret zeroed for an empty series.
 */
bool ledger_at(const struct ledger *ledger, const struct series *series, uint64_t time_ns,
	struct ledger_point *ret);

/* Calls fn for every stored point from the one that holds at from_ns on, oldest first. */
void ledger_walk(const struct ledger *ledger, const struct series *series, uint64_t from_ns,
	void (*fn)(const struct ledger_point *point, void *arg), void *arg);

struct ledger_totals {
	uint64_t points; /* stored */
	uint64_t evicted; /* chunks that gave way while they were younger than keep_ns */
	uint64_t refused; /* points that went back in time */
};

struct ledger_totals ledger_totals(const struct ledger *ledger);

#endif /* OOMSNOOP_MODEL_LEDGER_H */
