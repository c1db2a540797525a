/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chart_parts.h: private to model/chart*.c. chart.c takes series, chart_draw.c makes lines and
 * layers of them.
 */
#ifndef OOMSNOOP_MODEL_CHART_PARTS_H
#define OOMSNOOP_MODEL_CHART_PARTS_H

#include "model/chart.h"

#define CHART_MS 1000000LL
#define CHART_S (1000 * CHART_MS)
#define CHART_NOBODY UINT32_MAX
#define CHART_DOMAIN 0 /* the number of the domain's own series */

struct chart_point {
	int64_t time_ns;
	int64_t held; /* resident and swap; of the domain: usage */
	int64_t swap, cow;
	uint32_t owner;
	uint32_t number; /* in the order of telling */
};

struct chart_owner {
	uint64_t start_ns, root_start_ns;
	uint32_t tgid, root_tgid;
	int64_t exited_ns; /* 0: alive */
	int64_t shared;
	int64_t program_ns; /* what it held before was its parent's */
	int64_t moment_ns; /* points up to here hold for the kill */
	struct chart_point before; /* the newest at or before the window; owner CHART_NOBODY: none
				    */
	uint32_t first, count; /* its points, once they are in order */
	bool is_victim;
	char comm[EV_COMM_LEN + 1];
};

struct chart_victim {
	uint32_t tgid;
	uint64_t start_ns;
	int64_t at_ns; /* when it was told */
};

struct chart_maker {
	uint64_t domain_id, limit_bytes;
	int64_t from_ns, to_ns, kill_ns;
	int64_t moment_from_ns, moment_to_ns; /* of the kill */
	unsigned int victim_count;
	struct chart_victim victims[INCIDENT_VICTIMS];

	struct chart_owner *owners;
	uint32_t owner_count, owner_room;
	uint32_t *buckets; /* number + 1; 0: free */
	uint32_t bucket_mask;
	struct chart_point *points;
	uint32_t point_count, point_room;
	uint32_t current; /* whose points come; CHART_NOBODY: they are passed over */
	bool unsorted, reaches, no_memory;
	uint64_t dropped;
};

static inline int64_t chart_larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static inline int64_t chart_smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Saturates; b is not below 0. */
static inline int64_t chart_sum(int64_t a, int64_t b)
{
	int64_t ret;

	return __builtin_add_overflow(a, b, &ret) ? INT64_MAX : ret;
}

/* b is not before a. */
static inline uint64_t chart_span(int64_t a, int64_t b)
{
	return (uint64_t)b - (uint64_t)a;
}

/* All that was taken, into a chart that has its edges. 0 or -ENOMEM, with what there is by then. */
int chart_draw(struct chart_maker *maker, struct chart *ret);

#endif /* OOMSNOOP_MODEL_CHART_PARTS_H */
