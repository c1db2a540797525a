/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trend.h: what a series of usage means: did it leak steadily, jump, or stand still? And who made
 * most of what it grew. Pure.
 *
 * Works on picture.points: equal distances, the first one at picture.from_ns, the last one at
 * picture.to_ns. A point that is UNKNOWN_U64 is passed over.
 */
#ifndef OOMSNOOP_JUDGE_TREND_H
#define OOMSNOOP_JUDGE_TREND_H

#include <stdbool.h>
#include <stdint.h>

#include "model/picture.h"

enum trend_kind {
	TREND_UNKNOWN = 0, /* fewer than three points, or nothing recorded */
	TREND_FLAT = 1, /* grew by less than 1/32 of the limit; without one, of what it holds */
	TREND_STEADY =
		2, /* a straight line explains the growth: r2 >= 0.9 over at least 10 points */
	TREND_SPIKE = 3, /* nine tenths of the growth within the last tenth of the window, or within
			    3 s of a window three times as long as that */
	TREND_UNEVEN = 4, /* grew, neither way */
};

struct trend {
	enum trend_kind kind;
	int64_t delta_bytes; /* from the first point to the last */
	uint64_t rise_bytes; /* from the last low to the end: what led to it. More than delta_bytes
				where usage fell within the window, as after an earlier kill */
	uint64_t start_ns; /* when the growth that led to the end began; 0: TREND_FLAT, _UNKNOWN */
	double bytes_per_s; /* from there to the end; TREND_FLAT: over the window */
	double r2; /* of a line from there to the end, 0 to 1 */
	uint64_t spike_ns; /* TREND_SPIKE: within how long nine tenths of it came, as far as the
			      points can tell; else 0 */
};

void trend_of(const struct growth_picture *picture, struct trend *ret);
const char *trend_name(enum trend_kind kind); /* "steady", … */

enum growth_by {
	GROWTH_BY_NONE = 0, /* it did not grow, or nobody made most of it */
	GROWTH_BY_PROCESS = 1, /* one process made more than half of it */
	GROWTH_BY_FAMILY = 2, /* no single process, but one fork family with two members alive */
	GROWTH_BY_NOBODY = 3, /* more than half is in no address space: page cache, tmpfs, kernel
				 memory */
};

/* Who made most of the growth, copies of shared pages counted in. */
struct growth_share {
	enum growth_by by;
	unsigned int index; /* _PROCESS, _FAMILY: into the picture's list. _NOBODY: the process
			       whose reads, writes or charges can account for half of it at least;
			       PICTURE_PROCESSES: none */
	uint64_t growth_bytes; /* the whole: over the window, or since the last low if that is more;
				  0: it did not grow */
	uint64_t part_bytes; /* theirs: may be more than the whole, since others shrank */
	uint64_t cow_bytes; /* of it, by copy-on-write */
	bool cow_upper_bound;
};

void growth_share_of(
	const struct growth_picture *picture, const struct trend *trend, struct growth_share *ret);

/* What a process or a family grew by: delta and copies, no less than 0 and never overflowing. */
uint64_t growth_part(int64_t delta_bytes, uint64_t cow_bytes);

#endif /* OOMSNOOP_JUDGE_TREND_H */
