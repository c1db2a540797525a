// SPDX-License-Identifier: Apache-2.0
/* Cgroups and the machine: usage, limits, changes; and records as no kernel would write them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "growth_world.h"

static struct growth_pressure pressure_of(struct world *world)
{
	struct growth_pressure pressure;

	growth_pressure(world->growth, &pressure);
	return pressure;
}

/* --- the picture's cgroups --- */

static void own_growth_is_what_no_child_has(void **state)
{
	struct world *world = world_new(0);
	struct group *child = world_group(world, 20, GROUP), *other;
	const struct picture_cgroup *cgroup;

	(void)state;
	world_group(world, 30, ROOT)->usage = 7 * MIB;
	child->charged = 5000;
	cgroup_learn(world->paths, 20, "/a/b", 1);
	cgroup_learn(world->paths, GROUP, "/a", 1);
	world_pass(world);
	child->usage += 60 * MIB;
	child->charged += 70 * MIB;
	group_of(world, GROUP)->usage += 100 * MIB;
	other = world_group(world, 21, GROUP);
	other->usage = 15 * MIB;
	world_pass(world);
	world_picture(world, GROUP, 10);
	assert_int_equal(world->picture.cgroup_total, 3);
	assert_int_equal(world->picture.cgroups[0].id, 20);
	assert_string_equal(world->picture.cgroups[0].path, "/a/b");
	assert_int_equal(world->picture.cgroups[0].own_bytes, 60 * MIB_BYTES);
	assert_int_equal(world->picture.cgroups[0].charged_bytes, 70 * MIB_BYTES);
	cgroup = cgroup_pictured(&world->picture, GROUP);
	assert_int_equal(cgroup->delta_bytes, 100 * MIB_BYTES);
	assert_int_equal(cgroup->own_bytes, 25 * MIB_BYTES);
	assert_true(cgroup->charged_bytes == UNKNOWN_U64);
	cgroup = cgroup_pictured(&world->picture, 21);
	assert_true(cgroup->began);
	assert_int_equal(cgroup->own_bytes, 15 * MIB_BYTES);
	assert_string_equal(cgroup->path, "");
	/* the machine: all but the root, which version 2 does not count */
	assert_int_equal(world_picture(world, 0, 10)->cgroup_total, 4);
	assert_null(cgroup_pictured(&world->picture, ROOT));
	assert_false(world->picture.domain_known);
	world_free(world);
}

static void a_cgroup_that_was_removed(void **state)
{
	struct world *world = world_new(0);
	struct group *child = world_group(world, 20, GROUP);

	(void)state;
	group_of(world, GROUP)->usage = 100 * MIB;
	child->usage = 60 * MIB;
	world_pass(world);
	child->silent = true;
	memset(&world->fact.cgroup, 0, sizeof(world->fact.cgroup));
	world->fact.cgroup.id = 20;
	world->fact.cgroup.removed = 1;
	world_fact(world, EV_CGROUP, world->now_ns + MS);
	group_of(world, GROUP)->usage = 90 * MIB;
	world_pass(world);
	world_picture(world, GROUP, 10);
	assert_null(cgroup_pictured(&world->picture, 20));
	assert_int_equal(cgroup_pictured(&world->picture, GROUP)->delta_bytes, -10 * MIB_BYTES);
	assert_int_equal(cgroup_pictured(&world->picture, GROUP)->own_bytes, 50 * MIB_BYTES);
	/* one that is told again is there */
	child->silent = false;
	world_pass(world);
	assert_non_null(cgroup_pictured(world_picture(world, GROUP, 10), 20));
	world_free(world);
}

static void one_that_nobody_is_in_holds_what_it_held(void **state)
{
	struct world *world = world_new(0);
	struct group *child = world_group(world, 20, GROUP);

	(void)state;
	world_pass(world);
	child->usage = 60 * MIB;
	group_of(world, GROUP)->usage = 60 * MIB;
	world_pass(world);
	child->silent = true; /* its last process has ended, its page cache has not */
	world_pass(world);
	world_pass(world);
	world_picture(world, GROUP, 10);
	assert_int_equal(world->picture.cgroups[0].id, 20);
	assert_int_equal(world->picture.cgroups[0].usage_bytes, 60 * MIB_BYTES);
	assert_int_equal(cgroup_pictured(&world->picture, GROUP)->own_bytes, 0);
	world_free(world);
}

static void usage_of(struct world *world, uint64_t id, uint64_t parent_id, uint64_t usage)
{
	struct group group = {.id = id,
		.parent_id = parent_id,
		.flags = EV_LEVEL_V2,
		.usage = usage,
		.max = UINT64_MAX,
		.charged = EV_UNKNOWN};

	world_usage(world, &group);
}

/* A chain of ten, and 5000 leaves below its end. */
static void deep_pass(struct world *world, uint64_t leaf_usage)
{
	world->now_ns += S;
	growth_pass_begin(world->growth, world->now_ns);
	for (uint64_t i = 0; i < 5000; i++)
		usage_of(world, 1000 + i, 109, leaf_usage + (i == 1234 ? leaf_usage : 0));
	for (uint64_t i = 0; i < 10; i++)
		usage_of(world, 100 + i, i ? 99 + i : ROOT, 5001 * leaf_usage);
	world_usage(world, group_of(world, ROOT));
	for (unsigned int i = 0; i < world->task_count; i++)
		world_sample(world, &world->tasks[i], EV_SAMPLE_CENSUS);
	growth_pass_end(world->growth);
}

static void deep_and_wide(void **state)
{
	struct world *world = world_new(0);

	(void)state;
	world_task(world, 100, 1, MIB)->cgroup_id = 1000 + 4999;
	world_task(world, 101, 1, MIB)->cgroup_id = GROUP;
	deep_pass(world, 10);
	deep_pass(world, 30);
	assert_int_equal(world_picture(world, 100, 10)->process_total, 1);
	assert_int_equal(world->picture.cgroup_total, 5010);
	assert_int_equal(world->picture.cgroup_count, PICTURE_CGROUPS);
	assert_int_equal(world->picture.cgroups[0].id, 1000 + 1234);
	assert_int_equal(world->picture.cgroups[0].own_bytes, 40 * PAGE);
	assert_int_equal(world->picture.cgroups[1].own_bytes, 20 * PAGE);
	/* the domain is told, though others have more of their own */
	assert_int_equal(cgroup_pictured(&world->picture, 100)->own_bytes, 0);
	assert_int_equal(cgroup_pictured(&world->picture, 100)->delta_bytes, 5001 * 20 * PAGE);
	assert_int_equal(world_picture(world, 105, 10)->cgroup_total, 5005);
	assert_int_equal(world_picture(world, 1000 + 4999, 10)->process_total, 1);
	assert_int_equal(world_picture(world, 1000, 10)->process_total, 0);
	assert_int_equal(growth_totals(world->growth).limits_unplaced, 0);
	world_free(world);
}

static void chains_that_lead_nowhere(void **state)
{
	struct world *world = world_new(0);

	(void)state;
	world_task(world, 100, 1, MIB)->cgroup_id = 77; /* no record of it */
	world_task(world, 101, 1, MIB)->cgroup_id = 50;
	world->now_ns += S;
	growth_pass_begin(world->growth, world->now_ns);
	usage_of(world, 50, 51, 10); /* a circle */
	usage_of(world, 51, 52, 10);
	usage_of(world, 52, 50, 10);
	usage_of(world, 60, 60, 10); /* its own parent */
	usage_of(world, 61, 999, 10); /* of one that is not known */
	usage_of(world, 0, 0, 10); /* no cgroup at all */
	for (unsigned int i = 0; i < world->task_count; i++)
		world_sample(world, &world->tasks[i], EV_SAMPLE_CENSUS);
	growth_pass_end(world->growth);
	assert_int_equal(world_picture(world, 77, 10)->process_total, 1);
	assert_int_equal(world_picture(world, 52, 10)->process_total, 1);
	assert_int_equal(world->picture.cgroup_total, 3);
	assert_int_equal(world_picture(world, 999, 10)->cgroup_total, 1);
	assert_int_equal(world_picture(world, ROOT, 10)->process_total, 0);
	assert_int_equal(growth_totals(world->growth).limits_unplaced, 5);
	assert_int_equal(growth_totals(world->growth).cgroups, 5);
	/* its own parent is no child of itself */
	world->now_ns += S;
	growth_pass_begin(world->growth, world->now_ns);
	usage_of(world, 60, 60, 60);
	growth_pass_end(world->growth);
	assert_int_equal(pressure_of(world).moved_bytes, 50 * PAGE);
	assert_int_equal(world_picture(world, 60, 10)->cgroups[0].own_bytes, 50 * PAGE);
	world_free(world);
}

static void levels_of_a_kill_place_a_cgroup(void **state)
{
	struct world *world = world_new(0);
	struct group leaf = {.id = 40, .flags = EV_LEVEL_V2, .usage = 90 * MIB, .max = 90 * MIB};

	(void)state;
	world_pass(world);
	world_pass(world);
	/* made, filled and killed between two passes */
	world->now_ns += 300 * MS;
	world_level(world, &leaf, 0, 5);
	world_level(world, group_of(world, GROUP), 1, 5);
	world_picture(world, 40, 10);
	assert_true(world->picture.domain_known);
	assert_int_equal(world->picture.domain_delta_bytes, 90 * MIB_BYTES);
	assert_int_equal(world->picture.points[0], 0);
	assert_int_equal(world->picture.points[PICTURE_POINTS - 1], 90 * MIB_BYTES);
	assert_int_equal(world_picture(world, GROUP, 10)->cgroup_total, 2);
	world_free(world);
}

static void cgroup_made(struct world *world, uint64_t id)
{
	memset(&world->fact.cgroup, 0, sizeof(world->fact.cgroup));
	world->fact.cgroup.id = id;
	world_fact(world, EV_CGROUP, world->now_ns);
}

static void one_that_was_made_began_with_nothing(void **state)
{
	struct world *world = world_new(0);
	struct group *group;
	struct ev_sample *task;

	(void)state;
	world_pass(world);
	cgroup_made(world, 20);
	assert_int_equal(world_picture(world, GROUP, 10)->cgroup_total, 1);
	world_pass(world);
	/* somebody comes in, and writes to a tmpfs */
	group = world_group(world, 20, GROUP);
	group->usage = 85 * MIB;
	task = world_task(world, 100, 1, 5 * MIB);
	task->cgroup_id = 20;
	task->start_ns = world->now_ns + 1;
	task->io_bytes = 80 * MIB_BYTES;
	world_pass(world);
	world_picture(world, 20, 10);
	assert_int_equal(world->picture.domain_delta_bytes, 85 * MIB_BYTES);
	assert_int_equal(world->picture.processes[0].cached_bytes, 80 * MIB_BYTES);
	assert_true(world->picture.cgroups[0].began);
	/* any number of empty ones takes nobody's place */
	for (uint64_t id = 1000; id < 20000; id++)
		cgroup_made(world, id);
	world_group(world, 21, GROUP);
	world_pass(world);
	assert_int_equal(growth_totals(world->growth).cgroups_evicted, 0);
	assert_int_equal(world_picture(world, 20, 10)->domain_delta_bytes, 85 * MIB_BYTES);
	world_free(world);
}

static void windows_of_any_length(void **state)
{
	struct growth_options options = {.page_size = PAGE, .keep_ns = 20 * S};
	struct world *world = world_new(0);

	(void)state;
	world_task(world, 100, 1, MIB);
	world_pass(world);
	assert_int_equal(world_picture(world, GROUP, 0)->point_count, 1);
	assert_int_equal(world->picture.process_count, 1);
	world->now_ns += 1;
	world_picture(world, GROUP, 1);
	assert_int_equal(world->picture.point_count, PICTURE_POINTS);
	growth_picture(world->growth, NULL, GROUP, UINT64_MAX, UINT64_MAX, &world->picture);
	assert_true(world->picture.valid);
	/* no further back than history is kept */
	growth_free(world->growth);
	world->growth = growth_new(&options);
	for (int i = 0; i < 100; i++)
		world_pass(world);
	world_picture(world, GROUP, 60);
	assert_true(world->picture.to_ns - world->picture.from_ns == 20 * S);
	assert_true(world->picture.asked_ns == 60 * S);
	world_free(world);
}

static void when_faults_were_counted(void **state)
{
	struct world *world = world_new(0);
	const struct growth_picture *picture;

	(void)state;
	growth_armed(world->growth, 900 * S, false); /* they were not */
	world_pass(world);
	for (uint64_t i = 0; i < 40; i++) {
		growth_armed(world->growth, (1010 + 2 * i) * S, true);
		growth_armed(world->growth, (1011 + 2 * i) * S, false);
	}
	growth_armed(world->growth, 1100 * S, true);
	world->now_ns = 1110 * S;
	picture = world_picture(world, 0, 32);
	assert_true(picture->cow_counted);
	/* 1078 was on, 1079 off, ... 1088 on, 1089 off, 1100 on */
	assert_int_equal(picture->armed_count, 7);
	assert_true(picture->armed[0].from_ns == 1078 * S && picture->armed[0].to_ns == 1079 * S);
	assert_true(picture->armed[6].from_ns == 1100 * S && picture->armed[6].to_ns == 0);
	/* more than there are places: the latest */
	picture = world_picture(world, 0, 100);
	assert_int_equal(picture->armed_count, PICTURE_ARMED);
	assert_true(picture->armed[PICTURE_ARMED - 1].from_ns == 1100 * S);
	/* cut to the window */
	growth_picture(world->growth, NULL, 0, 1078 * S + S / 2, S, &world->picture);
	assert_int_equal(picture->armed_count, 1);
	assert_true(picture->armed[0].to_ns == 0);
	growth_picture(world->growth, NULL, 0, 1095 * S, S, &world->picture);
	assert_int_equal(picture->armed_count, 0);
	assert_false(picture->cow_counted);
	world_free(world);
}

/* --- how near --- */

static void the_nearest_limit(void **state)
{
	struct world *world = world_new(0);
	struct group *full = world_group(world, 20, ROOT), *filling = group_of(world, GROUP);
	struct growth_pressure pressure = pressure_of(world);

	(void)state;
	assert_true(pressure.ratio == 0 && pressure.left_ns == UINT64_MAX);
	world_pass(world);
	assert_true(pressure_of(world).ratio == 0); /* no limit anywhere */
	full->usage = 95 * MIB;
	full->max = 100 * MIB;
	filling->usage = 100 * MIB;
	filling->max = 1000 * MIB;
	world_pass(world);
	world_pass(world);
	/* nothing moves: the fullest */
	pressure = pressure_of(world);
	assert_int_equal(pressure.cgroup_id, 20);
	assert_true(pressure.ratio == 0.95 && pressure.left_ns == UINT64_MAX);
	assert_int_equal(pressure.moved_bytes, 0);
	/* one that is full in 8 s comes first */
	filling->usage += 100 * MIB;
	world_pass(world);
	pressure = pressure_of(world);
	assert_int_equal(pressure.cgroup_id, GROUP);
	assert_int_equal(pressure.usage_bytes, 200 * MIB_BYTES);
	assert_int_equal(pressure.max_bytes, 1000 * MIB_BYTES);
	assert_true(pressure.bytes_per_s == 100.0 * MIB_BYTES);
	assert_true(pressure.left_ns == 8 * S);
	assert_int_equal(pressure.moved_bytes, 100 * MIB_BYTES);
	/* one that shrinks does not grow */
	filling->usage -= 50 * MIB;
	world_pass(world);
	assert_int_equal(pressure_of(world).cgroup_id, 20);
	/* processes move, too, up and down */
	world_task(world, 100, 1, 10 * MIB);
	world_task(world, 101, 1, 90 * MIB);
	world_pass(world);
	task_of(world, 100)->rss_pages[EV_RSS_ANON] += 30 * MIB;
	task_of(world, 101)->rss_pages[EV_RSS_ANON] -= 40 * MIB;
	world_pass(world);
	assert_int_equal(pressure_of(world).moved_bytes, 70 * MIB_BYTES);
	world_pass(world);
	assert_int_equal(pressure_of(world).moved_bytes, 0);
	world_free(world);
}

static void memory_and_swap_on_version_1(void **state)
{
	struct world *world = world_new(0);
	struct group *group = group_of(world, GROUP);

	(void)state;
	group->flags = 0;
	group->usage = 50 * MIB;
	group->max = 100 * MIB;
	group->swap_usage = 90 * MIB;
	group->swap_max = 120 * MIB;
	world_pass(world);
	assert_true(pressure_of(world).ratio == 0.75);
	assert_int_equal(pressure_of(world).max_bytes, 120 * MIB_BYTES);
	/* on version 2 it is swap alone, and no limit that kills */
	group->flags = EV_LEVEL_V2;
	world_pass(world);
	assert_true(pressure_of(world).ratio == 0.5);
	world_free(world);
}

struct near {
	unsigned int count;
	uint64_t ids[8];
};

/* 70 MiB of page cache keep it at its limit of 100: each page asked for takes one of them. */
static void full_of_page_cache(void **state)
{
	struct world *world = world_new(0);
	struct group *group = group_of(world, GROUP);
	struct growth_pressure pressure;

	(void)state;
	group->max = group->usage = 100 * MIB;
	world_task(world, 100, 1, 30 * MIB);
	for (int i = 0; i < 4; i++) {
		group->max_events += 500;
		world_pass(world);
	}
	/* nothing of its processes' moves: that may go on for ever */
	pressure = pressure_of(world);
	assert_true(pressure.ratio == 1 && pressure.left_ns == UINT64_MAX);
	/* now they grow: by 10 MiB a second, 50 MiB before the end */
	for (int i = 0; i < 2; i++) {
		task_of(world, 100)->rss_pages[EV_RSS_ANON] += 10 * MIB;
		group->max_events += 500;
		world_pass(world);
	}
	pressure = pressure_of(world);
	assert_true(pressure.ratio == 1);
	assert_int_equal(pressure.usage_bytes, 100 * MIB_BYTES);
	assert_true(pressure.left_ns == 5 * S);
	assert_true(pressure.bytes_per_s == 10 * MIB_BYTES);
	world_free(world);
}

static void take_near(const struct growth_pressure *pressure, void *arg)
{
	struct near *near = arg;

	assert_in_range(near->count, 0, 7);
	near->ids[near->count++] = pressure->cgroup_id;
}

static void limits_that_are_near(void **state)
{
	struct world *world = world_new(0);
	struct group *full = world_group(world, 20, ROOT), *filling = group_of(world, GROUP);
	struct near near = {0};

	(void)state;
	growth_near(world->growth, 0.5, 10 * S, take_near, &near);
	full->usage = 95 * MIB;
	full->max = 100 * MIB;
	filling->max = 100 * MIB;
	world_pass(world);
	filling->usage = 10 * MIB;
	growth_host(world->growth, world->now_ns, 50, 100);
	world_pass(world);
	growth_near(world->growth, 0.96, 0, take_near, &near);
	growth_near(world->growth, 0, 0, take_near, &near);
	growth_near(world->growth, 0, 8 * S, take_near, &near);
	assert_int_equal(near.count, 0);
	growth_near(world->growth, 0.95, 0, take_near, &near);
	assert_int_equal(near.count, 1);
	assert_int_equal(near.ids[0], 20);
	growth_near(world->growth, 0, 9 * S, take_near, &near);
	assert_int_equal(near.count, 2);
	assert_int_equal(near.ids[1], GROUP);
	near.count = 0;
	growth_near(world->growth, 0.5, 0, take_near, &near);
	assert_int_equal(near.count, 2);
	assert_int_equal(near.ids[0], 0); /* the machine */
	world_free(world);
}

static void the_pace_of_the_machine(void **state)
{
	struct world *world = world_new(0);

	(void)state;
	growth_host(world->growth, 1001 * S, 1000, 10000);
	world_pass(world);
	growth_host(world->growth, 1003 * S, 3000, 10000);
	/* the pass may be nearer to the one before than the two looks are */
	world_pass(world);
	assert_int_equal(pressure_of(world).cgroup_id, 0);
	assert_true(pressure_of(world).bytes_per_s == 1000);
	assert_true(pressure_of(world).left_ns == 7 * S);
	growth_host(world->growth, 1003 * S, 5000, 10000); /* no later */
	world_pass(world);
	assert_true(pressure_of(world).bytes_per_s == 1000);
	world_free(world);
}

/* --- what changed --- */

struct told {
	unsigned int count;
	struct growth_change changes[80];
};

static void take_change(const struct growth_change *change, void *arg)
{
	struct told *told = arg;

	assert_in_range(told->count, 0, 63);
	told->changes[told->count++] = *change;
}

static unsigned int changes_of(struct world *world, struct told *told)
{
	told->count = 0;
	return growth_changes(world->growth, MIB_BYTES, take_change, told);
}

static void changes_since_they_were_told(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task = world_task(world, 100, 1, 100 * MIB);
	struct told told;

	(void)state;
	world_task(world, 101, 1, 50 * MIB);
	group_of(world, GROUP)->max = 500 * MIB;
	group_of(world, GROUP)->usage = 150 * MIB;
	world_pass(world);
	assert_int_equal(changes_of(world, &told), 0); /* what was there is no change */
	for (int i = 0; i < 3; i++) {
		task->rss_pages[EV_RSS_ANON] += 128;
		world_pass(world);
	}
	assert_int_equal(changes_of(world, &told), 1);
	assert_int_equal(told.changes[0].tgid, 100);
	assert_int_equal(told.changes[0].delta_bytes, 3 * MIB_BYTES / 2);
	assert_true(told.changes[0].since_ns == 1001 * S && told.changes[0].time_ns == 1004 * S);
	assert_int_equal(changes_of(world, &told), 0);
	/* the biggest first, whichever way */
	task->rss_pages[EV_RSS_ANON] += 2 * MIB;
	task_of(world, 101)->rss_pages[EV_RSS_ANON] -= 30 * MIB;
	group_of(world, GROUP)->usage += 10 * MIB;
	world_pass(world);
	assert_int_equal(changes_of(world, &told), 3);
	assert_int_equal(told.changes[0].tgid, 101);
	assert_int_equal(told.changes[0].delta_bytes, -30 * MIB_BYTES);
	assert_true(told.changes[1].is_cgroup);
	assert_int_equal(told.changes[1].max_bytes, 500 * MIB_BYTES);
	assert_int_equal(told.changes[2].delta_bytes, 2 * MIB_BYTES);
	assert_string_equal(told.changes[2].comm, "task");
	world_free(world);
}

static void changes_of_those_that_came_and_went(void **state)
{
	struct world *world = world_new(0);
	struct told told;

	(void)state;
	world_task(world, 100, 1, 100 * MIB);
	world_task(world, 101, 1, 40 * MIB);
	world_pass(world);
	changes_of(world, &told);
	world_fork(world, 100, 200); /* shares all that it holds */
	world_fork(world, 100, 201)->rss_pages[EV_RSS_ANON] += 3 * MIB;
	world_fork(world, 100, 202); /* never seen alive */
	world_exit(world, 202, 120 * MIB);
	world_exit(world, 101, 40 * MIB);
	world_pass(world);
	world_exit(world, 201, 103 * MIB);
	assert_int_equal(changes_of(world, &told), 3);
	assert_int_equal(told.changes[0].tgid, 101);
	assert_int_equal(told.changes[0].delta_bytes, -40 * MIB_BYTES);
	assert_int_equal(told.changes[0].now_bytes, 0);
	assert_true(told.changes[0].exited);
	assert_int_equal(told.changes[1].tgid, 202);
	assert_int_equal(told.changes[1].delta_bytes, 20 * MIB_BYTES);
	assert_true(told.changes[1].exited);
	assert_int_equal(told.changes[2].tgid, 201);
	assert_int_equal(told.changes[2].delta_bytes, 3 * MIB_BYTES);
	/* an end is told once; of one that gave back only what is shared it is none */
	world_exit(world, 200, 100 * MIB);
	world_pass(world);
	assert_int_equal(changes_of(world, &told), 0);
	world_free(world);
}

static void changes_that_rss_does_not_show(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *child;
	struct told told;

	(void)state;
	group_of(world, GROUP)->usage = 100 * MIB;
	world_task(world, 100, 1, 100 * MIB);
	world_pass(world);
	child = world_fork(world, 100, 200);
	world_pass(world);
	changes_of(world, &told);
	child->faults += 20 * MIB;
	group_of(world, GROUP)->usage += 20 * MIB;
	world_pass(world);
	assert_int_equal(changes_of(world, &told), 2);
	assert_int_equal(told.changes[0].tgid + told.changes[1].tgid, 200);
	assert_int_equal(told.changes[0].cow_bytes + told.changes[1].cow_bytes, 20 * MIB_BYTES);
	assert_int_equal(changes_of(world, &told), 0);
	/* it grew by more than anybody saw before it ended */
	world_task(world, 300, 1, MIB)->start_ns = world->now_ns + 1;
	world_pass(world);
	world_exit(world, 300, 70 * MIB);
	assert_int_equal(changes_of(world, &told), 1);
	assert_int_equal(told.changes[0].delta_bytes, 70 * MIB_BYTES);
	assert_int_equal(told.changes[0].now_bytes, 70 * MIB_BYTES);
	world_free(world);
}

static void more_changes_than_are_told(void **state)
{
	struct world *world = world_new(0);
	struct told told;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		world_task(world, 1000 + i, 1, 0);
	world_pass(world);
	for (uint32_t i = 0; i < 100; i++)
		task_of(world, 1000 + i)->rss_pages[EV_RSS_ANON] = (1 + i * 37 % 100) * MIB;
	world_pass(world);
	assert_int_equal(changes_of(world, &told), 100);
	assert_int_equal(told.count, 64);
	for (int64_t i = 0; i < 64; i++)
		assert_int_equal(told.changes[i].delta_bytes, (100 - i) * MIB_BYTES);
	/* who was not told is told next */
	assert_int_equal(changes_of(world, &told), 36);
	assert_int_equal(told.changes[0].delta_bytes, 36 * MIB_BYTES);
	assert_int_equal(changes_of(world, &told), 0);
	world_free(world);
}

/* --- anything at all --- */

static uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Few enough values that records meet each other, and the ends of every range. */
static uint64_t random_value(uint64_t *seed)
{
	static const uint64_t ends[] = {0, 1, 2, 100, 4096, 1ULL << 40, 1ULL << 52, INT64_MAX,
		1ULL << 63, UINT64_MAX - 1, UINT64_MAX};

	return random_next(seed) % 3 ? random_next(seed) % 50 : ends[random_next(seed) % 11];
}

static void random_fact(struct world *world, uint64_t *seed)
{
	static const enum ev_kind kinds[] = {EV_SAMPLE, EV_TASK, EV_USAGE, EV_LEVEL, EV_CGROUP,
		EV_FORK, EV_EXEC, EV_EXIT, EV_SAMPLE, EV_REAP};
	uint64_t *words = (uint64_t *)&world->fact.hdr;

	for (unsigned int i = 0; i < 32; i++)
		words[i] = random_next(seed) % 2 ? random_value(seed)
						 : random_value(seed) | random_value(seed) << 32;
	world->fact.kind = kinds[random_next(seed) % 10];
	if (random_next(seed) % 4)
		world->fact.hdr.time_ns = world->now_ns + random_value(seed) % S;
	if (world->fact.kind == EV_SAMPLE && random_next(seed) % 2)
		world->fact.sample.why = EV_SAMPLE_CENSUS;
	growth_fact(world->growth, &world->fact);
}

static void look_at_all(struct world *world, uint64_t *seed, struct told *told)
{
	struct near near = {0};

	told->count = 0;
	growth_changes(world->growth, 1, take_change, told);
	growth_near(world->growth, 1e300, 0, take_near, &near);
	growth_picture(world->growth, world->paths, random_next(seed) % 50,
		random_next(seed) % 2 ? world->now_ns : random_value(seed), random_value(seed),
		&world->picture);
	assert_in_range(world->picture.process_count, 0, PICTURE_PROCESSES);
	assert_in_range(world->picture.process_count, 0, world->picture.process_total);
	assert_in_range(world->picture.family_count, 0, PICTURE_FAMILIES);
	assert_in_range(world->picture.cgroup_count, 0, PICTURE_CGROUPS);
	assert_true(world->picture.from_ns <= world->picture.to_ns);
}

static void records_that_no_kernel_writes(void **state)
{
	struct growth_options options = {
		.page_size = 65536, .processes = 40, .cgroups = 20, .ledger_bytes = 8192};
	struct world *world = world_new(0);
	uint64_t seed = 4711;
	static struct told told;

	(void)state;
	growth_free(world->growth);
	world->growth = growth_new(&options);
	for (unsigned int i = 0; i < 200000; i++) {
		switch (random_next(&seed) % 40) {
		case 0:
			world->now_ns += random_value(&seed) % (10 * S);
			growth_pass_begin(world->growth, world->now_ns);
			break;
		case 1:
			growth_pass_end(world->growth);
			break;
		case 2:
			growth_host(world->growth, world->now_ns, random_value(&seed),
				random_value(&seed));
			break;
		case 3:
			growth_armed(world->growth, world->now_ns, random_next(&seed) % 2);
			break;
		case 4:
			look_at_all(world, &seed, &told);
			break;
		default:
			random_fact(world, &seed);
			break;
		}
	}
	assert_int_equal(growth_totals(world->growth).processes, 40);
	assert_int_equal(growth_totals(world->growth).cgroups, 20);
	assert_true(growth_totals(world->growth).cgroups_evicted > 0);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_growth_is_what_no_child_has),
		cmocka_unit_test(a_cgroup_that_was_removed),
		cmocka_unit_test(one_that_nobody_is_in_holds_what_it_held),
		cmocka_unit_test(deep_and_wide),
		cmocka_unit_test(chains_that_lead_nowhere),
		cmocka_unit_test(levels_of_a_kill_place_a_cgroup),
		cmocka_unit_test(one_that_was_made_began_with_nothing),
		cmocka_unit_test(windows_of_any_length),
		cmocka_unit_test(when_faults_were_counted),
		cmocka_unit_test(the_nearest_limit),
		cmocka_unit_test(full_of_page_cache),
		cmocka_unit_test(memory_and_swap_on_version_1),
		cmocka_unit_test(limits_that_are_near),
		cmocka_unit_test(the_pace_of_the_machine),
		cmocka_unit_test(changes_since_they_were_told),
		cmocka_unit_test(changes_of_those_that_came_and_went),
		cmocka_unit_test(changes_that_rss_does_not_show),
		cmocka_unit_test(more_changes_than_are_told),
		cmocka_unit_test(records_that_no_kernel_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
