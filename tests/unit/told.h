/* SPDX-License-Identifier: Apache-2.0 */
/* told.h: takes what model/growth.h tells of series, one call at a time. For growth_world.h. */
#ifndef OOMSNOOP_TESTS_TOLD_H
#define OOMSNOOP_TESTS_TOLD_H

#include "growth_world.h"

#define TOLD_MAX 2000
#define TOLD_POINTS 80

/* What one call told. */
struct told_series {
	struct history_owner owner;
	unsigned int count;
	struct history_point points[TOLD_POINTS];
};

struct told {
	unsigned int count, points, left_out;
	struct told_series series[TOLD_MAX];
};

static inline void take_owner(const struct history_owner *owner, void *arg)
{
	struct told *told = arg;

	assert_true(told->count < TOLD_MAX);
	told->series[told->count].owner = *owner;
	told->series[told->count++].count = 0;
}

static inline void take_point(const struct history_point *point, void *arg)
{
	struct told *told = arg;
	struct told_series *series;

	assert_true(told->count > 0);
	series = &told->series[told->count - 1];
	assert_true(series->count < TOLD_POINTS);
	/* oldest first */
	if (series->count)
		assert_true(series->points[series->count - 1].time_ns < point->time_ns);
	series->points[series->count++] = *point;
	told->points++;
}

static struct told told;
static const struct history_taker taker = {take_owner, take_point, &told};

static inline void ask(struct world *world, uint64_t domain_id, uint64_t from_ns, bool again)
{
	told.count = told.points = 0;
	told.left_out = growth_history(world->growth, domain_id, from_ns, again, &taker);
}

static inline void ask_thinned(struct world *world, uint64_t min_bytes)
{
	told.count = told.points = 0;
	growth_thinned(world->growth, world->now_ns, min_bytes, &taker);
}

/* NULL: it was not told. Nobody is told twice in one call. */
static inline const struct told_series *find(enum history_kind kind, uint64_t id)
{
	const struct told_series *ret = NULL;

	for (unsigned int i = 0; i < told.count; i++) {
		const struct history_owner *owner = &told.series[i].owner;

		if (owner->kind != kind || id != (kind == HISTORY_PROCESS	  ? owner->tgid
							 : kind == HISTORY_CGROUP ? owner->cgroup_id
										  : 0))
			continue;
		assert_null(ret);
		ret = &told.series[i];
	}
	return ret;
}

static inline const struct told_series *process_told(uint32_t tgid)
{
	return find(HISTORY_PROCESS, tgid);
}

static inline const struct told_series *cgroup_told(uint64_t id)
{
	return find(HISTORY_CGROUP, id);
}

static inline void assert_point(
	const struct told_series *series, unsigned int at, uint64_t time_ns, int64_t first_value)
{
	assert_non_null(series);
	assert_true(at < series->count);
	assert_int_equal(series->points[at].time_ns, time_ns);
	assert_int_equal(series->points[at].values[0], first_value);
}

#endif /* OOMSNOOP_TESTS_TOLD_H */
