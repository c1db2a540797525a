/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chart.h: series out of a store made into what a page draws: memory of each fork family over time,
 * stacked, with the usage and the limit of the domain. Pure; allocates while series are taken (a
 * report is made in peace), never fails halfway: -ENOMEM is told by chart_finish().
 *
 * A family's memory at a moment is what would come back if all of it ended: for each member
 * resident and swap less what it still shares (shared less copies, at least 0), and what is shared
 * once: what its root holds, or, where the root is not there, the most that a member shares. RSS is
 * never summed. A process counts from its first point to its end. What is told of it last, its root
 * and what it shares, is taken for all of its points: one that executed a program within the window
 * is drawn as if it had run it all the time, but with nothing before, where it did so within two
 * seconds of its fork.
 *
 * All layers have the same instants (struct chart.times_ns): at most CHART_INSTANTS, those of the
 * last minute at the recorder's own pace, those before at equal distances, and so those after the
 * kill. At each the value is the last one known then, so that peaks between two instants can be
 * missed outside of the last minute; the domain's own line keeps the highest in each distance.
 *
 * A kill is one moment: from the one for which the incident's picture was made (the first record)
 * to that at which a victim was told. What is told of a process within it holds for all of it, and
 * so at the kill the memory of a family is what struct picture_family has as private and shared, to
 * the byte, where all of its members are among the series. (The other way round, a process that the
 * kill did not tell of and that was seen between first and last of these records is taken as it was
 * seen: what it grew by within these few milliseconds is in one and not in the other.)
 *
 * Nothing that series hold is trusted. Numbers are cut to 0 … CHART_BYTES_MAX, times outside of the
 * window count only as far as they tell what holds in it, and what is beyond CHART_POINTS_MAX or
 * CHART_OWNERS_MAX is counted and left out.
 */
#ifndef OOMSNOOP_MODEL_CHART_H
#define OOMSNOOP_MODEL_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/history.h"
#include "model/incident.h"

#define CHART_INSTANTS 720
/* Families drawn apart: that of the first victim, and the largest at their peak. The others are
 * summed up. */
#define CHART_LAYERS 12
#define CHART_UNKNOWN INT64_MIN
#define CHART_BYTES_MAX (1LL << 53) /* of one value of one series */
#define CHART_POINTS_MAX (1U << 22)
#define CHART_OWNERS_MAX (1U << 18)

struct chart_layer {
	uint32_t root_tgid; /* 0: the rest */
	uint64_t root_start_ns;
	char comm[EV_COMM_LEN + 1]; /* of the root, or of its largest member; of the rest: "" */
	unsigned int members; /* processes that were ever in it, in the window */
	bool has_victim; /* a victim of the incident is in it */
	int64_t *bytes; /* [chart.instants] */
};

struct chart {
	unsigned int instants; /* at least 1; from_ns, to_ns and a kill between them are among them
				*/
	int64_t *times_ns; /* CLOCK_BOOTTIME, rising */
	int64_t kill_ns; /* incident.time_ns */
	int64_t *usage_bytes; /* of the domain (the limit's cgroup, or used memory of the machine);
				 CHART_UNKNOWN: not known then */
	uint64_t limit_bytes; /* UNKNOWN_U64: none */
	int64_t *swap_bytes; /* of all its processes; NULL: none had any */
	unsigned int layer_count;
	struct chart_layer
		layers[CHART_LAYERS + 1]; /* the largest at the kill first, the rest last */
	unsigned int processes; /* series that went in */
	uint64_t dropped; /* owners and points that did not: no room for them, or no pid */
	bool whole; /* false: the store has no series that reach back to from_ns, or some were
		       dropped */
	int64_t from_ns, to_ns;
};

struct chart_maker;

/* For the window [from_ns, to_ns] of an incident, which may go when this returns; domain_id 0: the
 * machine. NULL with errno: EINVAL (the window ends before it begins), ENOMEM. */
struct chart_maker *chart_new(const struct incident *incident, uint64_t domain_id,
	uint64_t limit_bytes, int64_t from_ns, int64_t to_ns);
/* Series may come in any order, and owners again: their points go on, and of two for one moment the
 * later told counts. Those of cgroups other than the domain are passed over. */
struct history_taker chart_taker(struct chart_maker *maker);
/* 0 or -ENOMEM; the maker is gone in any case. chart_free() gives back what a chart holds. */
int chart_finish(struct chart_maker *maker, struct chart *ret);
/* A maker that is not wanted any more. */
void chart_drop(struct chart_maker *maker);
void chart_free(struct chart *chart);

#endif /* OOMSNOOP_MODEL_CHART_H */
