/* SPDX-License-Identifier: Apache-2.0 */
/* What store_history() tells, kept; and a small world to tell a store of. */
#ifndef OOMSNOOP_TESTS_SERIES_TOLD_H
#define OOMSNOOP_TESTS_SERIES_TOLD_H

#include "series_fixture.h"

#define T0 (5000 * SEC)
#define POD 20
#define APP 30
#define SIDE 40
#define TOLD_MAX 400000

/* What a taker was told: owners in the order of telling, with their points. */
struct told_point {
	struct history_point point;
	unsigned int owner;
};

struct told {
	struct history_owner owners[40000];
	unsigned int owner_count, point_count;
	struct told_point points[TOLD_MAX];
};

static struct told told;
static struct captured captured;

static inline void take_owner(const struct history_owner *owner, void *arg)
{
	struct told *to = arg;

	assert_true(to->owner_count < sizeof(to->owners) / sizeof(to->owners[0]));
	to->owners[to->owner_count++] = *owner;
}

static inline void take_point(const struct history_point *point, void *arg)
{
	struct told *to = arg;

	assert_true(to->owner_count && to->point_count < TOLD_MAX);
	to->points[to->point_count].point = *point;
	to->points[to->point_count++].owner = to->owner_count - 1;
}

static inline int read_history_of(
	const char *path, const char *boot_id, uint64_t domain_id, int64_t from_ns, int64_t to_ns)
{
	struct history_taker taker = {take_owner, take_point, &told};
	int ret;
	struct store *store = store_open(path, &ret);

	assert_non_null(store);
	assert_int_equal(ret, 0);
	memset(&captured, 0, sizeof(captured));
	strcpy(captured.run.host.boot_id, boot_id);
	told.owner_count = told.point_count = 0;
	ret = store_history(store, &captured, domain_id, from_ns, to_ns, &taker);
	if (ret)
		assert_true(store_why(store)[0] != '\0');
	store_close(store);
	return ret;
}

static inline void read_history(
	struct fixture *fixture, uint64_t domain_id, int64_t from_ns, int64_t to_ns)
{
	assert_int_equal(read_history_of(fixture->path, BOOT_A, domain_id, from_ns, to_ns), 0);
}

/* The only one of that pid or cgroup; NULL: it was not told. */
static inline const struct history_owner *told_owner(enum history_kind kind, uint64_t id)
{
	const struct history_owner *found = NULL;

	for (unsigned int i = 0; i < told.owner_count; i++) {
		const struct history_owner *owner = &told.owners[i];

		if (owner->kind != kind ||
			(kind == HISTORY_PROCESS ? owner->tgid : owner->cgroup_id) != id)
			continue;
		assert_null(found);
		found = owner;
	}
	return found;
}

/* Its nth point. */
static inline const struct history_point *told_nth(
	const struct history_owner *owner, unsigned int n)
{
	assert_non_null(owner);
	for (unsigned int i = 0; i < told.point_count; i++)
		if (told.points[i].owner == (unsigned int)(owner - told.owners) && !n--)
			return &told.points[i].point;
	return NULL;
}

static inline void assert_nth(
	const struct history_owner *owner, unsigned int n, int64_t time_ns, int64_t first)
{
	const struct history_point *point = told_nth(owner, n);

	assert_non_null(point);
	assert_int_equal(point->time_ns, time_ns);
	assert_int_equal(point->values[0], first);
}

/* A pod of two containers on a machine of 1 GiB, and something beside it. */
static inline void tell_world(struct fixture *fixture, int64_t boot_ns)
{
	struct history_owner host = host_owner(1024 * MIB);
	struct history_owner pod = cgroup_owner(POD, 1, UINT64_MAX);
	struct history_owner app = cgroup_owner(APP, POD, 64 * MIB);
	struct history_owner side = cgroup_owner(SIDE, 1, 32 * MIB);

	tell_owner(fixture, &host, "", "");
	tell_point(fixture, boot_ns, 500, -1, 0, 0);
	tell_owner(fixture, &pod, "/pod", "");
	tell_point(fixture, boot_ns, 300, -1, 0, 0);
	tell_owner(fixture, &app, "/pod/app", "");
	tell_point(fixture, boot_ns, 200, 150, 0, 0);
	tell_owner(fixture, &side, "/side", "");
	tell_point(fixture, boot_ns, 100, 0, 0, 0);
}

#endif /* OOMSNOOP_TESTS_SERIES_TOLD_H */
