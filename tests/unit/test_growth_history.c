// SPDX-License-Identifier: Apache-2.0
/* The series of a window, as they leave the recorder. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "told.h"

static void a_window_is_told_whole(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task = world_task(world, 100, 7, 50 * MIB);
	struct group *group = group_of(world, GROUP);
	const struct told_series *series;

	(void)state;
	memcpy(task->comm, "leaker", 6);
	group->max = 1000 * MIB;
	for (int i = 0; i < 10; i++) {
		growth_host(world->growth, world->now_ns + S, (uint64_t)(500 + i) * MIB_BYTES,
			4000 * MIB_BYTES);
		group->usage = (60 + (uint64_t)i) * MIB;
		group->charged = 1000 + (uint64_t)i;
		world_pass(world);
		task->rss_pages[EV_RSS_ANON] += MIB;
		task->rss_pages[EV_RSS_SWAP] = 3 * MIB;
	}
	/* passes at 1001 … 1010 s */
	ask(world, GROUP, 1004 * S + S / 2, false);
	assert_int_equal(told.left_out, 0);
	series = process_told(100);
	assert_int_equal(series->count, 7);
	/* what holds at the beginning is told for the beginning */
	assert_point(series, 0, 1004 * S + S / 2, 53 * MIB_BYTES);
	for (unsigned int i = 1; i < 7; i++)
		assert_point(series, i, (1004 + i) * S, (53 + i) * MIB_BYTES);
	assert_int_equal(series->points[3].values[HISTORY_SWAP], 3 * MIB_BYTES);
	assert_int_equal(series->points[3].values[HISTORY_COW], 0);
	assert_int_equal(series->owner.ppid, 7);
	assert_true(series->owner.start_ns == task->start_ns);
	assert_int_equal(series->owner.root_tgid, 100);
	assert_true(series->owner.root_start_ns == task->start_ns);
	assert_int_equal(series->owner.cgroup_id, GROUP);
	assert_true(series->owner.exited_ns == 0);
	assert_int_equal(series->owner.shared_bytes, 0);
	assert_string_equal(series->owner.comm, "leaker");
	series = cgroup_told(GROUP);
	assert_int_equal(series->count, 7);
	assert_point(series, 0, 1004 * S + S / 2, 63 * MIB_BYTES);
	assert_int_equal(series->points[0].values[HISTORY_CHARGED], 1003 * PAGE);
	assert_point(series, 6, 1010 * S, 69 * MIB_BYTES);
	assert_int_equal(series->owner.max_bytes, 1000 * MIB_BYTES);
	assert_int_equal(series->owner.parent_id, ROOT);
	series = find(HISTORY_HOST, 0);
	assert_int_equal(series->count, 7);
	assert_point(series, 0, 1004 * S + S / 2, 503 * MIB_BYTES);
	assert_point(series, 6, 1010 * S, 509 * MIB_BYTES);
	assert_int_equal(series->owner.max_bytes, 4000 * MIB_BYTES);
	/* version 2's root has no counter */
	assert_null(cgroup_told(ROOT));
	world_free(world);
}

static void what_is_not_counted_is_not_zero(void **state)
{
	struct world *world = world_new(0);

	(void)state;
	group_of(world, GROUP)->usage = MIB;
	world_pass(world);
	ask(world, GROUP, 900 * S, false);
	/* it does not reach back to the beginning of the window */
	assert_point(cgroup_told(GROUP), 0, 1001 * S, MIB_BYTES);
	assert_int_equal(cgroup_told(GROUP)->points[0].values[HISTORY_CHARGED], -1);
	assert_true(cgroup_told(GROUP)->owner.max_bytes == UNKNOWN_U64);
	assert_null(find(HISTORY_HOST, 0));
	world_free(world);
}

static void only_what_is_new_is_told_again(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task = world_task(world, 100, 1, 50 * MIB);

	(void)state;
	world_task(world, 101, 1, 9 * MIB);
	world_task(world, 102, 1, 8 * MIB);
	for (int i = 0; i < 5; i++) {
		world_pass(world);
		task->rss_pages[EV_RSS_ANON] += MIB;
	}
	ask(world, GROUP, 1000 * S, false);
	assert_int_equal(process_told(100)->count, 5);
	assert_int_equal(process_told(101)->count, 1);
	/* the same window, and one that begins later */
	ask(world, GROUP, 1000 * S, false);
	assert_int_equal(told.count, 0);
	ask(world, GROUP, 1003 * S, false);
	assert_int_equal(told.count, 0);
	world_pass(world);
	world_pass(world);
	world->now_ns += S / 2;
	world_exit(world, 101, 9 * MIB);
	ask(world, GROUP, 1003 * S, false);
	assert_int_equal(told.count, 2);
	assert_int_equal(process_told(100)->count, 1);
	assert_point(process_told(100), 0, 1006 * S, 55 * MIB_BYTES);
	/* that it ended is told once */
	assert_int_equal(process_told(101)->count, 0);
	assert_true(process_told(101)->owner.exited_ns == 1007 * S + S / 2);
	ask(world, GROUP, 1003 * S, false);
	assert_int_equal(told.count, 0);
	/* all of it, on request */
	ask(world, GROUP, 1003 * S + 1, true);
	assert_int_equal(process_told(100)->count, 4);
	assert_point(process_told(100), 0, 1003 * S + 1, 52 * MIB_BYTES);
	assert_point(process_told(101), 0, 1003 * S + 1, 9 * MIB_BYTES);
	assert_point(process_told(102), 0, 1003 * S + 1, 8 * MIB_BYTES);
	ask(world, GROUP, 1003 * S, false);
	assert_int_equal(told.count, 0);
	world_free(world);
}

static void windows_that_do_not_join(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task = world_task(world, 100, 1, 0);

	(void)state;
	for (int i = 1; i <= 20; i++) {
		task->rss_pages[EV_RSS_ANON] = i * MIB;
		world_pass(world);
		if (i == 5)
			ask(world, GROUP, 1003 * S, false);
	}
	assert_int_equal(process_told(100)->count, 3);
	/* it begins after the end of the other */
	ask(world, GROUP, 1015 * S + 1, false);
	assert_int_equal(process_told(100)->count, 6);
	assert_point(process_told(100), 0, 1015 * S + 1, 15 * MIB_BYTES);
	/* in the middle, where nothing was told yet; what follows was */
	ask(world, GROUP, 1008 * S + 1, false);
	assert_int_equal(process_told(100)->count, 8);
	assert_point(process_told(100), 0, 1008 * S + 1, 8 * MIB_BYTES);
	assert_point(process_told(100), 7, 1015 * S, 15 * MIB_BYTES);
	ask(world, GROUP, 1009 * S, false);
	assert_int_equal(told.count, 0);
	world_free(world);
}

/* Who reads a window looks for what holds at its beginning, but not hours back. */
static void what_stands_still_is_told_now_and_then(void **state)
{
	struct world *world = world_new(0);
	unsigned int points = 0;

	(void)state;
	world_task(world, 100, 1, 50 * MIB);
	group_of(world, GROUP)->usage = 60 * MIB;
	for (int i = 0; i < 300; i++) {
		world_pass(world);
		ask(world, GROUP, world->now_ns - 5 * S, false);
		if (!told.count)
			continue;
		points++;
		assert_int_equal(told.points, 2);
		assert_point(process_told(100), 0,
			points == 1 ? world->now_ns : world->now_ns - 5 * S, 50 * MIB_BYTES);
		assert_point(cgroup_told(GROUP), 0,
			points == 1 ? world->now_ns : world->now_ns - 5 * S, 60 * MIB_BYTES);
	}
	/* once every 31 s */
	assert_in_range(points, 10, 11);
	/* also where a later window was told already */
	ask(world, GROUP, 1100 * S, false);
	assert_int_equal(told.points, 2);
	assert_point(process_told(100), 0, 1100 * S, 50 * MIB_BYTES);
	world_free(world);
}

/* A kill: what was copied is found out after the last point, and holds for it. */
static void a_point_that_changed(void **state)
{
	struct world *world = workers_new();
	struct group *group = group_of(world, GROUP);
	uint64_t kill_ns;

	(void)state;
	world_pass(world);
	world_pass(world);
	kill_ns = world->now_ns += 500 * MS;
	copy(world, FIRST, 50 * MIB);
	world->now_ns += 2 * MS;
	group->max = 450 * MIB;
	world_level(world, group, 0, 3);
	task_of(world, FIRST)->rss_pages[EV_RSS_ANON] += MIB;
	world_kill(world, task_of(world, FIRST), EV_ROLE_VICTIM);
	ask(world, GROUP, 1000 * S, false);
	assert_int_equal(process_told(FIRST)->count, 2);
	assert_point(process_told(FIRST), 1, kill_ns + 2 * MS, 401 * MIB_BYTES);
	assert_int_equal(process_told(FIRST)->points[1].values[HISTORY_COW], 0);
	assert_int_equal(process_told(FIRST)->owner.root_tgid, 100);
	assert_int_equal(process_told(FIRST)->owner.shared_bytes, 400 * MIB_BYTES);
	world->now_ns = kill_ns;
	group->silent = true;
	world_look(world);
	ask(world, GROUP, 1000 * S, false);
	assert_int_equal(told.points, 1);
	assert_point(process_told(FIRST), 0, kill_ns + 2 * MS, 401 * MIB_BYTES);
	assert_near((uint64_t)process_told(FIRST)->points[0].values[HISTORY_COW], 49 * MIB_BYTES);
	ask(world, GROUP, 1000 * S, false);
	assert_int_equal(told.count, 0);
	world_free(world);
}

static void those_that_ended(void **state)
{
	struct world *world = world_new(0);

	(void)state;
	world_task(world, 100, 1, 50 * MIB);
	world_task(world, 101, 1, 60 * MIB);
	world_task(world, 102, 1, 70 * MIB); /* nothing tells of its end */
	world_pass(world);
	world->now_ns += S / 2;
	world_exit(world, 100, 0);
	world_pass(world);
	world_pass(world);
	world->now_ns += S / 2;
	world_exit(world, 101, 0);
	task_of(world, 102)->tgid = 0;
	world_pass(world);
	ask(world, GROUP, 1002 * S, false);
	assert_null(process_told(100));
	assert_point(process_told(101), 0, 1002 * S, 60 * MIB_BYTES);
	assert_true(process_told(101)->owner.exited_ns == 1003 * S + S);
	assert_true(process_told(102)->owner.exited_ns == world->now_ns - 1);
	ask(world, GROUP, 1001 * S, true);
	assert_true(process_told(100)->owner.exited_ns == 1001 * S + S / 2);
	world_free(world);
}

/* ROOT > 20 > 21 > 22, ROOT > 20 > 23, ROOT > GROUP: a process of so many MiB in each. */
static struct world *tree_new(void)
{
	static const struct {
		uint64_t id, parent;
	} groups[] = {{20, ROOT}, {21, 20}, {22, 21}, {23, 20}};
	struct world *world = world_new(0);

	for (unsigned int i = 0; i < 4; i++) {
		world_group(world, groups[i].id, groups[i].parent)->usage = (1 + i) * MIB;
		world_task(world, (uint32_t)groups[i].id, 1, MIB)->cgroup_id = groups[i].id;
	}
	world_task(world, GROUP, 1, 100 * MIB);
	world_task(world, 99, 1, MIB)->cgroup_id = ROOT;
	return world;
}

static void a_domain_and_what_is_above_it(void **state)
{
	struct world *world = tree_new();

	(void)state;
	world_pass(world);
	ask(world, 21, 1000 * S, false);
	assert_non_null(cgroup_told(20));
	assert_non_null(cgroup_told(21));
	assert_non_null(cgroup_told(22));
	assert_null(cgroup_told(23));
	assert_null(cgroup_told(GROUP));
	assert_non_null(process_told(21));
	assert_non_null(process_told(22));
	assert_int_equal(told.count, 5);
	/* another domain: what was told is told */
	ask(world, 20, 1000 * S, false);
	assert_int_equal(told.count, 3);
	assert_non_null(cgroup_told(23));
	assert_non_null(process_told(20));
	assert_non_null(process_told(23));
	/* one that nothing is known of */
	ask(world, 77, 1000 * S, true);
	assert_int_equal(told.count, 0);
	world_free(world);
}

static void the_machine_as_domain(void **state)
{
	struct world *world = tree_new();

	(void)state;
	group_of(world, 22)->max = 50 * MIB;
	world_pass(world);
	world_pass(world);
	group_of(world, 23)->usage += 1;
	world_pass(world);
	ask(world, 0, 1002 * S + 1, false);
	/* who moved, and who has a limit */
	assert_int_equal(cgroup_told(23)->count, 2);
	assert_int_equal(cgroup_told(22)->count, 1);
	assert_null(cgroup_told(20));
	assert_null(cgroup_told(21));
	/* all processes */
	assert_int_equal(told.count, 8);
	assert_non_null(process_told(99));
	world_free(world);
}

static void a_cgroup_that_was_removed(void **state)
{
	struct world *world = tree_new();
	struct ev_cgroup *event = &world->fact.cgroup;

	(void)state;
	world_pass(world);
	ask(world, 20, 1000 * S, false);
	world->now_ns += 300 * MS;
	memset(event, 0, sizeof(*event));
	event->removed = 1;
	event->id = 23;
	group_of(world, 23)->silent = true;
	world_fact(world, EV_CGROUP, world->now_ns);
	ask(world, 20, 1000 * S, false);
	assert_int_equal(told.count, 1);
	assert_int_equal(cgroup_told(23)->count, 1);
	assert_point(cgroup_told(23), 0, 1001 * S + 300 * MS, 0);
	ask(world, 20, 1000 * S, false);
	assert_int_equal(told.count, 0);
	/* its window is over */
	world_pass(world);
	ask(world, 20, world->now_ns, true);
	assert_null(cgroup_told(23));
	assert_non_null(cgroup_told(22));
	world_free(world);
}

static void a_limit_that_changed(void **state)
{
	struct world *world = tree_new();

	(void)state;
	world_pass(world);
	ask(world, 20, 1000 * S, false);
	group_of(world, 22)->max = 50 * MIB;
	world_pass(world);
	ask(world, 20, 1000 * S, false);
	assert_int_equal(told.count, 1);
	assert_int_equal(cgroup_told(22)->count, 0);
	assert_int_equal(cgroup_told(22)->owner.max_bytes, 50 * MIB_BYTES);
	world_free(world);
}

/* Samples made at once: more than a small world holds. */
static void crowd(struct world *world, uint32_t count, int64_t (*pages)(uint32_t number))
{
	struct ev_sample task = *world_task(world, 1, 1, 0);

	world->task_count = 0;
	world->now_ns += S;
	growth_pass_begin(world->growth, world->now_ns);
	for (uint32_t i = 0; i < count; i++) {
		task.tgid = 1000 + i;
		task.start_ns = 10 * S + i;
		task.mm = 0xffff888000000000ULL + i * 1024ULL;
		task.rss_pages[EV_RSS_ANON] = pages(i);
		world_sample(world, &task, EV_SAMPLE_CENSUS);
	}
	growth_pass_end(world->growth);
}

static int64_t same(uint32_t number)
{
	return 1000 + number % 7;
}

/* One in three was large once. */
static int64_t were_large(uint32_t number)
{
	return number % 3 ? 1000 + number % 7 : 50000 + number;
}

static void the_largest_are_chosen(void **state)
{
	struct world *world = world_new(0);
	unsigned int large = 0;

	(void)state;
	crowd(world, 3000, same);
	crowd(world, 3000, were_large);
	crowd(world, 3000, same);
	ask(world, GROUP, 1002 * S + 1, false);
	assert_int_equal(told.count, 1024);
	assert_int_equal(told.left_out, 3000 - 1024);
	for (unsigned int i = 0; i < told.count; i++) {
		const struct told_series *series = &told.series[i];
		int64_t first = series->points[0].values[0];

		if ((series->owner.tgid - 1000) % 3)
			continue;
		assert_int_equal(first, were_large(series->owner.tgid - 1000) * PAGE);
		/* the largest first */
		if (large)
			assert_true(first < told.series[i - 1].points[0].values[0]);
		large++;
	}
	assert_int_equal(large, 1000);
	/* by what they held in the window, and not before it */
	ask(world, GROUP, 1003 * S, true);
	assert_int_equal(told.count, 1024);
	for (unsigned int i = 1; i < told.count; i++)
		assert_true(told.series[i].points[0].values[0] <=
			    told.series[i - 1].points[0].values[0]);
	assert_int_equal(told.series[0].points[0].values[0], 1006 * PAGE);
	world_free(world);
}

static void a_history_that_was_cut(void **state)
{
	struct growth_options options = {.page_size = PAGE, .processes = 64, .ledger_bytes = 512};
	struct world *world = world_new(0);
	struct ev_sample *task;

	(void)state;
	growth_free(world->growth);
	world->growth = growth_new(&options);
	world_task(world, 101, 1, 5 * MIB); /* all of its history gives way */
	task = world_task(world, 100, 1, 0);
	for (int i = 1; i <= 3000; i++) {
		task->rss_pages[EV_RSS_ANON] = i * 1000;
		world_pass(world);
		if (i % 20)
			continue;
		ask(world, 0, world->now_ns - 19 * S, false);
		assert_int_equal(process_told(100)->count, 20);
		assert_point(process_told(100), 19, world->now_ns, i * 1000LL * PAGE);
	}
	assert_true(growth_totals(world->growth).ledger.evicted > 0);
	ask(world, 0, 1000 * S, true);
	assert_true(process_told(100)->count > 20);
	assert_true((uint64_t)process_told(100)->points[0].time_ns > 2000 * S);
	assert_point(process_told(101), 0, 1001 * S, 5 * MIB_BYTES);
	world_free(world);
}

static void a_place_of_another(void **state)
{
	struct world *world = world_new(64);

	(void)state;
	for (uint32_t i = 0; i < 64; i++)
		world_task(world, 1000 + i, 1, 2 * MIB);
	world_pass(world);
	ask(world, 0, 1000 * S, false);
	ask_thinned(world, MIB_BYTES);
	assert_non_null(process_told(1000));
	for (uint32_t i = 0; i < 64; i++)
		world_exit(world, 1000 + i, 0);
	for (uint32_t i = 0; i < 64; i++)
		world_task(world, 2000 + i, 1, 2 * MIB);
	world_pass(world);
	/* it is new, whoever had its place before */
	ask(world, 0, 1000 * S, false);
	for (uint32_t i = 0; i < 64; i++)
		assert_int_equal(process_told(2000 + i)->count, 1);
	ask_thinned(world, MIB_BYTES);
	for (uint32_t i = 0; i < 64; i++)
		assert_int_equal(process_told(2000 + i)->count, 1);
	world_free(world);
}

/* It was missed at a pass, and is there again: it has not ended. */
static void one_that_seemed_to_have_ended(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task = world_task(world, 100, 1, 10 * MIB);

	(void)state;
	world_pass(world);
	task->tgid = 0;
	world_pass(world);
	ask_thinned(world, MIB_BYTES);
	assert_true(process_told(100)->owner.exited_ns != 0);
	ask(world, GROUP, 1000 * S, false);
	assert_true(process_told(100)->owner.exited_ns != 0);
	task->tgid = 100;
	world_pass(world);
	ask_thinned(world, MIB_BYTES);
	assert_true(process_told(100)->owner.exited_ns == 0);
	ask(world, GROUP, 1000 * S, false);
	assert_true(process_told(100)->owner.exited_ns == 0);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_is_told_whole),
		cmocka_unit_test(what_is_not_counted_is_not_zero),
		cmocka_unit_test(only_what_is_new_is_told_again),
		cmocka_unit_test(windows_that_do_not_join),
		cmocka_unit_test(what_stands_still_is_told_now_and_then),
		cmocka_unit_test(a_point_that_changed),
		cmocka_unit_test(those_that_ended),
		cmocka_unit_test(a_domain_and_what_is_above_it),
		cmocka_unit_test(the_machine_as_domain),
		cmocka_unit_test(a_cgroup_that_was_removed),
		cmocka_unit_test(a_limit_that_changed),
		cmocka_unit_test(the_largest_are_chosen),
		cmocka_unit_test(a_history_that_was_cut),
		cmocka_unit_test(a_place_of_another),
		cmocka_unit_test(one_that_seemed_to_have_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
