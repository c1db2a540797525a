// SPDX-License-Identifier: Apache-2.0
/* The thinned series: only what moved enough is told. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "told.h"

static void only_what_moved_enough(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *small = world_task(world, 100, 1, 10 * MIB);
	struct ev_sample *large = world_task(world, 101, 1, 640 * MIB);

	(void)state;
	group_of(world, GROUP)->usage = 700 * MIB;
	world_task(world, 102, 1, 3 * MIB);
	growth_host(world->growth, world->now_ns + S, 1000 * MIB_BYTES, 4000 * MIB_BYTES);
	world_pass(world);
	ask_thinned(world, 4 * MIB_BYTES);
	/* those that are new and hold so much */
	assert_int_equal(told.count, 4);
	assert_point(process_told(100), 0, 1001 * S, 10 * MIB_BYTES);
	assert_point(process_told(101), 0, 1001 * S, 640 * MIB_BYTES);
	assert_point(cgroup_told(GROUP), 0, 1001 * S, 700 * MIB_BYTES);
	assert_point(find(HISTORY_HOST, 0), 0, 1001 * S, 1000 * MIB_BYTES);
	ask_thinned(world, 4 * MIB_BYTES);
	assert_int_equal(told.count, 0);
	/* 4 MiB are enough for one, and no thirty-second of the other */
	small->rss_pages[EV_RSS_ANON] += 4 * MIB;
	large->rss_pages[EV_RSS_ANON] += 19 * MIB;
	group_of(world, GROUP)->usage += 21 * MIB;
	growth_host(world->growth, world->now_ns + S, 1031 * MIB_BYTES, 4000 * MIB_BYTES);
	world_pass(world);
	ask_thinned(world, 4 * MIB_BYTES);
	assert_int_equal(told.count, 1);
	assert_point(process_told(100), 0, 1002 * S, 14 * MIB_BYTES);
	/* together with what follows it is; of the machine, too */
	large->rss_pages[EV_RSS_ANON] += MIB;
	group_of(world, GROUP)->usage += MIB;
	growth_host(world->growth, world->now_ns + S, 1032 * MIB_BYTES, 4000 * MIB_BYTES);
	world_pass(world);
	world->now_ns += 5 * S;
	ask_thinned(world, 4 * MIB_BYTES);
	assert_int_equal(told.count, 3);
	/* told for when it began to hold */
	assert_point(process_told(101), 0, 1003 * S, 660 * MIB_BYTES);
	assert_point(cgroup_told(GROUP), 0, 1003 * S, 722 * MIB_BYTES);
	assert_point(find(HISTORY_HOST, 0), 0, 1003 * S, 1032 * MIB_BYTES);
	/* down counts like up, and so does swap in the place of memory */
	small->rss_pages[EV_RSS_ANON] -= 2 * MIB;
	small->rss_pages[EV_RSS_SWAP] += 2 * MIB;
	world_pass(world);
	ask_thinned(world, 4 * MIB_BYTES);
	assert_int_equal(told.count, 1);
	assert_int_equal(process_told(100)->points[0].values[HISTORY_SWAP], 2 * MIB_BYTES);
	world_free(world);
}

static void copies_move(void **state)
{
	struct world *world = workers_new();

	(void)state;
	ask_thinned(world, 4 * MIB_BYTES);
	assert_int_equal(process_told(FIRST)->owner.shared_bytes, 400 * MIB_BYTES);
	copy(world, FIRST, 50 * MIB);
	world_pass(world);
	ask_thinned(world, 4 * MIB_BYTES);
	assert_int_equal(told.count, 2);
	assert_int_equal(process_told(FIRST)->points[0].values[HISTORY_COW], 50 * MIB_BYTES);
	assert_non_null(cgroup_told(GROUP));
	world_free(world);
}

static void ends_are_told_once(void **state)
{
	struct world *world = world_new(0);
	struct group *group = world_group(world, 30, ROOT);
	struct ev_sample *task;

	(void)state;
	group->usage = 9 * MIB;
	world_task(world, 100, 1, 10 * MIB);
	world_task(world, 101, 1, MIB); /* was never told */
	world_task(world, 103, 1, MIB)->cgroup_id = 30;
	world_pass(world);
	ask_thinned(world, 4 * MIB_BYTES);
	assert_int_equal(told.count, 2);
	world->now_ns += S / 2;
	world_exit(world, 100, 0);
	world_exit(world, 101, 0);
	world_exit(world, 103, 0);
	/* it came and went, and was large */
	task = world_task(world, 102, 1, 0);
	task->start_ns = world->now_ns - 100 * MS;
	world_exit(world, 102, 300 * MIB);
	memset(&world->fact.cgroup, 0, sizeof(world->fact.cgroup));
	world->fact.cgroup.removed = 1;
	world->fact.cgroup.id = 30;
	group->silent = true;
	world_fact(world, EV_CGROUP, world->now_ns);
	world_pass(world);
	ask_thinned(world, 4 * MIB_BYTES);
	assert_int_equal(told.count, 3);
	assert_true(process_told(100)->owner.exited_ns == 1001 * S + S / 2);
	assert_point(process_told(100), 0, 1001 * S, 10 * MIB_BYTES);
	assert_point(process_told(102), 0, 1001 * S + S / 2, 300 * MIB_BYTES);
	assert_true(process_told(102)->owner.exited_ns == 1001 * S + S / 2);
	assert_point(cgroup_told(30), 0, 1001 * S + S / 2, 0);
	world_pass(world);
	ask_thinned(world, 4 * MIB_BYTES);
	assert_int_equal(told.count, 0);
	world_free(world);
}

static void limits_are_told_again(void **state)
{
	struct world *world = world_new(0);
	struct group *group = group_of(world, GROUP);

	(void)state;
	group->usage = 9 * MIB;
	world_task(world, 100, 1, MIB);
	world_pass(world);
	ask_thinned(world, 4 * MIB_BYTES);
	group->max = 10 * MIB;
	world_pass(world);
	ask_thinned(world, 4 * MIB_BYTES);
	assert_int_equal(told.count, 1);
	assert_int_equal(cgroup_told(GROUP)->owner.max_bytes, 10 * MIB_BYTES);
	/* with no least size at all, what does not move is not told all the same */
	ask_thinned(world, 0);
	assert_int_equal(told.count, 1);
	assert_non_null(process_told(100));
	ask_thinned(world, 0);
	assert_int_equal(told.count, 0);
	world_free(world);
}

static void before_anything_is_known(void **state)
{
	struct world *world = world_new(0);

	(void)state;
	ask(world, 0, 0, false);
	assert_int_equal(told.count + told.left_out, 0);
	ask_thinned(world, 0);
	assert_int_equal(told.count, 0);
	/* what a kill tells comes after the pass that it is asked for */
	world_kill(world, world_task(world, 100, 1, 10 * MIB), EV_ROLE_CANDIDATE);
	world->now_ns -= MS;
	ask_thinned(world, 0);
	assert_int_equal(told.count, 0);
	world->now_ns += MS;
	ask_thinned(world, 0);
	assert_int_equal(told.count, 1);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_moved_enough),
		cmocka_unit_test(copies_move),
		cmocka_unit_test(ends_are_told_once),
		cmocka_unit_test(limits_are_told_again),
		cmocka_unit_test(before_anything_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
