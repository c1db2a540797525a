// SPDX-License-Identifier: Apache-2.0
/* Processes from pass to pass: who grew, who came and went, and who makes room. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "growth_world.h"

static void a_steady_leak(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task = world_task(world, 100, 1, 50 * MIB);
	struct group *group = group_of(world, GROUP);
	const struct growth_picture *picture;

	(void)state;
	world_task(world, 101, 1, 80 * MIB); /* stands still */
	group->usage = 130 * MIB;
	group->max = 1000 * MIB;
	world_pass(world);
	for (int i = 0; i < 60; i++) {
		task->rss_pages[EV_RSS_ANON] += 5 * MIB;
		task->faults += 5 * MIB;
		group->usage += 5 * MIB;
		world_pass(world);
	}
	picture = world_picture(world, GROUP, 60);
	assert_true(picture->valid && picture->domain_known);
	assert_true(picture->to_ns - picture->from_ns == 60 * S);
	assert_int_equal(picture->domain_delta_bytes, 300 * MIB_BYTES);
	assert_int_equal(picture->domain_max_bytes, 1000 * MIB_BYTES);
	assert_int_equal(picture->unattributed_bytes, 0);
	assert_int_equal(picture->process_total, 2);
	assert_int_equal(picture->processes[0].tgid, 100);
	assert_int_equal(picture->processes[0].delta_bytes, 300 * MIB_BYTES);
	assert_int_equal(picture->processes[0].held_bytes, 350 * MIB_BYTES);
	assert_int_equal(picture->processes[0].peak_bytes, 350 * MIB_BYTES);
	assert_int_equal(picture->processes[0].cow_bytes, 0);
	assert_int_equal(picture->processes[1].delta_bytes, 0);
	assert_int_equal(picture->point_count, PICTURE_POINTS);
	assert_int_equal(picture->points[0], 130 * MIB_BYTES);
	assert_int_equal(picture->points[PICTURE_POINTS - 1], 430 * MIB_BYTES);
	for (int i = 1; i < PICTURE_POINTS; i++)
		assert_in_range(
			picture->points[i] - picture->points[i - 1], 5 * MIB_BYTES, 10 * MIB_BYTES);
	world_free(world);
}

static void only_the_window_counts(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task = world_task(world, 100, 1, 0);

	(void)state;
	for (int i = 0; i < 100; i++) {
		task->rss_pages[EV_RSS_ANON] += MIB;
		world_pass(world);
	}
	assert_int_equal(world_picture(world, 0, 10)->processes[0].delta_bytes, 10 * MIB_BYTES);
	assert_int_equal(world_picture(world, 0, 50)->processes[0].delta_bytes, 50 * MIB_BYTES);
	/* longer than there was a recorder: from its first pass on */
	assert_int_equal(world_picture(world, 0, 500)->processes[0].delta_bytes, 99 * MIB_BYTES);
	assert_true(world->picture.from_ns == 1001 * S);
	assert_true(world->picture.asked_ns == 500 * S);
	/* a moment of the past */
	growth_picture(world->growth, NULL, 0, 1050 * S, 10 * S, &world->picture);
	assert_int_equal(world->picture.processes[0].held_bytes, 50 * MIB_BYTES);
	assert_int_equal(world->picture.processes[0].delta_bytes, 10 * MIB_BYTES);
	world_free(world);
}

static void swap_and_files_count(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task = world_task(world, 100, 1, 100 * MIB);

	(void)state;
	world_pass(world);
	task->rss_pages[EV_RSS_ANON] -= 40 * MIB;
	task->rss_pages[EV_RSS_SWAP] += 60 * MIB;
	task->rss_pages[EV_RSS_SHMEM] += 7 * MIB;
	task->rss_pages[EV_RSS_FILE] += 3 * MIB;
	world_pass(world);
	world_picture(world, 0, 10);
	assert_int_equal(world->picture.processes[0].delta_bytes, 30 * MIB_BYTES);
	assert_int_equal(world->picture.processes[0].held_bytes, 130 * MIB_BYTES);
	/* swap is not resident */
	assert_int_equal(world->picture.processes[0].peak_bytes, 100 * MIB_BYTES);
	world_free(world);
}

static void counters_below_zero_are_none(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task = world_task(world, 100, 1, -20);

	(void)state;
	task->rss_pages[EV_RSS_FILE] = -1;
	task->rss_pages[EV_RSS_SWAP] = INT64_MIN;
	world_pass(world);
	assert_int_equal(world_picture(world, 0, 10)->processes[0].held_bytes, 0);
	task->rss_pages[EV_RSS_ANON] = 5;
	world_pass(world);
	assert_int_equal(world_picture(world, 0, 10)->processes[0].delta_bytes, 5 * PAGE);
	world_free(world);
}

static void a_process_that_began_within_the_window(void **state)
{
	struct world *world = world_new(0);

	(void)state;
	world_task(world, 100, 1, 100 * MIB);
	world_pass(world);
	/* forked and executed: all that it holds it has got since */
	world_fork(world, 100, 200);
	world_exec(world, 200);
	task_of(world, 200)->rss_pages[EV_RSS_ANON] = 30 * MIB;
	/* forked only: what it began with is not its own */
	world_fork(world, 100, 201)->rss_pages[EV_RSS_ANON] += 4 * MIB;
	world_pass(world);
	world_picture(world, 0, 10);
	assert_int_equal(pictured(&world->picture, 200)->delta_bytes, 30 * MIB_BYTES + 10 * PAGE);
	assert_true(pictured(&world->picture, 200)->began);
	assert_int_equal(pictured(&world->picture, 201)->delta_bytes, 4 * MIB_BYTES);
	assert_int_equal(pictured(&world->picture, 201)->held_bytes, 104 * MIB_BYTES);
	assert_false(pictured(&world->picture, 100)->began);
	world_free(world);
}

static void started_just_before_the_window(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task;

	(void)state;
	world_pass(world);
	task = world_task(world, 100, 1, 50 * MIB);
	task->start_ns = world->now_ns + 600 * MS;
	world_pass(world);
	for (int i = 0; i < 9; i++)
		world_pass(world);
	/* the window begins between its start and the first look at it */
	growth_picture(world->growth, NULL, 0, world->now_ns, 9 * S + 200 * MS, &world->picture);
	assert_false(world->picture.processes[0].began);
	assert_int_equal(world->picture.processes[0].delta_bytes, 50 * MIB_BYTES);
	world_free(world);
}

static void one_that_ended_counts_with_what_it_held(void **state)
{
	struct world *world = world_new(0);
	struct group *group = group_of(world, GROUP);

	(void)state;
	group->usage = 100 * MIB;
	world_task(world, 100, 1, 100 * MIB);
	world_pass(world);
	task_of(world, 100)->rss_pages[EV_RSS_ANON] += 25 * MIB;
	world_task(world, 101, 1, 5 * MIB)->start_ns = world->now_ns + 1;
	group->usage += 30 * MIB;
	world_pass(world);
	world_exit(world, 100, 900 * MIB);
	world_exit(world, 101, 40 * MIB);
	group->usage = 0;
	world_pass(world);
	world_picture(world, GROUP, 10);
	/* it is older than the window: its peak may be, too */
	assert_true(pictured(&world->picture, 100)->exited);
	assert_int_equal(pictured(&world->picture, 100)->delta_bytes, 25 * MIB_BYTES);
	assert_int_equal(pictured(&world->picture, 100)->peak_bytes, 125 * MIB_BYTES);
	/* it began within: its peak is of the window */
	assert_int_equal(pictured(&world->picture, 101)->delta_bytes, 40 * MIB_BYTES);
	assert_int_equal(pictured(&world->picture, 101)->held_bytes, 40 * MIB_BYTES);
	assert_int_equal(world->picture.domain_delta_bytes, -100 * MIB_BYTES);
	/* all that came back is theirs */
	assert_int_equal(world->picture.unattributed_bytes, 0);
	/* and before the window nobody cares */
	for (int i = 0; i < 20; i++)
		world_pass(world);
	assert_int_equal(world_picture(world, GROUP, 10)->process_total, 0);
	world_free(world);
}

static void one_that_is_not_there_any_more_has_ended(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task;

	(void)state;
	world_task(world, 100, 1, 10 * MIB);
	world_task(world, 101, 1, 20 * MIB);
	world_pass(world);
	task_of(world, 100)->tgid = 0;
	world_pass(world);
	world_picture(world, 0, 10);
	assert_true(pictured(&world->picture, 100)->exited);
	assert_int_equal(pictured(&world->picture, 100)->held_bytes, 10 * MIB_BYTES);
	assert_false(pictured(&world->picture, 101)->exited);
	/* it was there all the same: a pass that was cut short */
	task = world_task(world, 100, 1, 12 * MIB);
	world_pass(world);
	assert_false(pictured(world_picture(world, 0, 10), 100)->exited);
	/* what was missed and is a zombie now is not there */
	task->tgid = 0;
	world_pass(world);
	task->tgid = 100;
	task->mm = 0;
	world_pass(world);
	assert_true(pictured(world_picture(world, 0, 10), 100)->exited);
	task->mm = 0xffff888000000000ULL + 100 * 1024ULL;
	world_pass(world);
	/* what has exited stays so, whatever is told of it afterwards */
	exit_record(world, task, 0);
	world_pass(world);
	assert_true(pictured(world_picture(world, 0, 10), 100)->exited);
	world_free(world);
}

static void a_dying_one_keeps_what_it_held(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task = world_task(world, 100, 1, 10 * MIB);

	(void)state;
	world_pass(world);
	task->rss_pages[EV_RSS_ANON] = 60 * MIB;
	world_pass(world);
	task->mm = 0;
	task->rss_pages[EV_RSS_ANON] = 0;
	task->flags |= EV_TASK_NO_MM;
	task->cgroup_id = ROOT; /* where old kernels put the dying */
	world_pass(world);
	assert_int_equal(world_picture(world, GROUP, 10)->processes[0].held_bytes, 60 * MIB_BYTES);
	world_sample(world, task, EV_SAMPLE_FAULTS);
	world_kill(world, task, EV_ROLE_SIGNALLED);
	assert_int_equal(world_picture(world, 0, 10)->processes[0].held_bytes, 60 * MIB_BYTES);
	/* and one that was never seen with memory does not come in */
	task = world_task(world, 101, 1, 0);
	task->mm = 0;
	world_pass(world);
	assert_null(pictured(world_picture(world, 0, 10), 101));
	world_free(world);
}

static void a_pid_that_comes_back_is_another(void **state)
{
	struct world *world = world_new(0);

	(void)state;
	world_task(world, 100, 1, 40 * MIB);
	world_pass(world);
	world_exit(world, 100, 40 * MIB);
	world_task(world, 100, 1, 15 * MIB)->start_ns = world->now_ns + 5;
	world_pass(world);
	world_picture(world, 0, 10);
	assert_int_equal(world->picture.process_total, 2);
	assert_int_equal(world->picture.processes[0].held_bytes, 15 * MIB_BYTES);
	assert_int_equal(world->picture.processes[0].delta_bytes, 15 * MIB_BYTES);
	assert_false(world->picture.processes[0].exited);
	assert_true(world->picture.processes[1].exited);
	assert_int_equal(world->picture.processes[1].delta_bytes, 0);
	world_free(world);
}

static void an_exec_that_is_told_late(void **state)
{
	struct world *world = world_new(0);

	(void)state;
	world_task(world, 100, 1, 10 * MIB);
	world_pass(world);
	/* the look at it was later than the exec, and shows what it holds since */
	task_of(world, 100)->mm += 512;
	task_of(world, 100)->rss_pages[EV_RSS_ANON] = 70 * MIB;
	world_pass(world);
	task_of(world, 100)->mm -= 512;
	world->now_ns -= MS;
	world_exec(world, 100);
	world->now_ns += MS;
	assert_int_equal(world_picture(world, 0, 10)->processes[0].held_bytes, 70 * MIB_BYTES);
	assert_int_equal(growth_totals(world->growth).ledger.refused, 0);
	world_free(world);
}

static void between_two_passes(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task = world_task(world, 100, 1, 10 * MIB);

	(void)state;
	world_pass(world);
	world->now_ns += 300 * MS;
	task->rss_pages[EV_RSS_ANON] = 200 * MIB;
	world_sample(world, task, EV_SAMPLE_CHARGES);
	world_picture(world, 0, 10);
	assert_int_equal(world->picture.processes[0].held_bytes, 200 * MIB_BYTES);
	world->now_ns += 300 * MS;
	task->rss_pages[EV_RSS_ANON] = 10 * MIB;
	world_pass(world);
	world_picture(world, 0, 10);
	assert_int_equal(world->picture.processes[0].held_bytes, 10 * MIB_BYTES);
	assert_int_equal(world->picture.processes[0].peak_bytes, 200 * MIB_BYTES);
	/* one that nobody has seen before comes in, too */
	task = world_task(world, 101, 1, 70 * MIB);
	task->start_ns = world->now_ns;
	world->now_ns += 100 * MS;
	world_sample(world, task, EV_SAMPLE_FAULTS);
	assert_int_equal(pictured(world_picture(world, 0, 10), 101)->delta_bytes, 70 * MIB_BYTES);
	world_free(world);
}

static void a_pass_whose_time_goes_back(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task = world_task(world, 100, 1, 10 * MIB);
	struct growth_totals totals;

	(void)state;
	world_pass(world);
	world_pass(world);
	task->rss_pages[EV_RSS_ANON] = 90 * MIB;
	world->now_ns -= S;
	world_look(world);
	world->now_ns += S;
	world_look(world); /* no later than the one before */
	totals = growth_totals(world->growth);
	assert_int_equal(totals.passes, 2);
	assert_int_equal(totals.passes_refused, 2);
	/* nobody has ended because of it, and what is later is taken again */
	world_pass(world);
	world_picture(world, 0, 10);
	assert_false(world->picture.processes[0].exited);
	assert_int_equal(world->picture.processes[0].held_bytes, 90 * MIB_BYTES);
	assert_int_equal(growth_totals(world->growth).passes, 3);
	world_free(world);
}

static void a_pass_that_was_never_begun(void **state)
{
	struct world *world = world_new(0);

	(void)state;
	world_task(world, 100, 1, 10 * MIB);
	growth_pass_end(world->growth);
	assert_int_equal(growth_totals(world->growth).passes, 0);
	assert_false(world_picture(world, 0, 10)->valid);
	assert_int_equal(world->picture.asked_ns, 10 * S);
	world_pass(world);
	assert_true(world_picture(world, 0, 10)->valid);
	growth_picture(world->growth, NULL, 0, 10 * S, S, &world->picture);
	assert_false(world->picture.valid); /* before there was a recorder */
	world_free(world);
}

static void short_forks_take_no_place(void **state)
{
	struct world *world = world_new(256);

	(void)state;
	for (uint32_t i = 0; i < 200; i++)
		world_task(world, 1000 + i, 1, MIB + i);
	world_pass(world);
	for (uint32_t i = 0; i < 100000; i++) {
		world->now_ns += 10000;
		world_fork(world, 1000, 20000 + i);
		task_of(world, 20000 + i)->rss_pages[EV_RSS_ANON] += 5;
		/* some run a program, and some exits are lost */
		if (i % 3 == 0)
			world_exec(world, 20000 + i);
		if (i % 10)
			world_exit(world, 20000 + i, MIB + 5);
		else
			task_of(world, 20000 + i)->tgid = 0;
	}
	world_pass(world);
	world_picture(world, 0, 30);
	assert_int_equal(world->picture.process_total, 200);
	assert_int_equal(world->picture.not_followed, 90000);
	assert_int_equal(growth_totals(world->growth).processes_evicted, 0);
	assert_int_equal(growth_totals(world->growth).processes, 200);
	world_free(world);
}

static void one_that_came_and_went_between_two_passes(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task;

	(void)state;
	world_task(world, 100, 1, 300 * MIB);
	world_pass(world);
	world->now_ns += 100 * MS;
	/* grew by 50 MiB beyond what it was forked with */
	world_fork(world, 100, 200);
	world_exit(world, 200, 350 * MIB);
	/* a program of its own: all of its peak, which no parent had */
	task = world_task(world, 201, 1, 0);
	task->start_ns = world->now_ns;
	world_exit(world, 201, 80 * MIB);
	/* less than 1 MiB */
	task = world_task(world, 202, 1, 0);
	task->start_ns = world->now_ns;
	world_exit(world, 202, 255);
	world_fork(world, 100, 203);
	world_exit(world, 203, 300 * MIB + 255);
	world_pass(world);
	world_picture(world, GROUP, 10);
	assert_int_equal(pictured(&world->picture, 200)->delta_bytes, 50 * MIB_BYTES);
	assert_true(pictured(&world->picture, 200)->exited);
	assert_int_equal(pictured(&world->picture, 200)->peak_bytes, 350 * MIB_BYTES);
	assert_int_equal(pictured(&world->picture, 201)->delta_bytes, 80 * MIB_BYTES);
	assert_string_equal(pictured(&world->picture, 201)->comm, "task");
	assert_null(pictured(&world->picture, 202));
	assert_null(pictured(&world->picture, 203));
	assert_int_equal(world->picture.not_followed, 2);
	world_free(world);
}

static void a_peak_may_be_the_parents(void **state)
{
	struct world *world = world_new(0);

	(void)state;
	world_task(world, 100, 1, 1000 * MIB);
	world_pass(world);
	world->now_ns += 100 * MS;
	/* fork and exec, by one that holds 1000 MiB: signal->maxrss says so of its child, too */
	world_fork(world, 100, 200);
	world_exec(world, 200);
	world_exit(world, 200, 1001 * MIB);
	/* one that went beyond any doubt */
	world_fork(world, 100, 201);
	world_exec(world, 201);
	world_exit(world, 201, 1500 * MIB);
	/* vfork: no pages of its own, the parent's peak */
	world_vfork(world, 100, 202);
	world_exec(world, 202);
	world_exit(world, 202, 1000 * MIB);
	/* whose fork was lost */
	world_task(world, 203, 100, 0)->start_ns = world->now_ns;
	world_exit(world, 203, 1000 * MIB);
	world_picture(world, 0, 10);
	assert_null(pictured(&world->picture, 200));
	assert_null(pictured(&world->picture, 202));
	assert_null(pictured(&world->picture, 203));
	assert_int_equal(pictured(&world->picture, 201)->delta_bytes, 1500 * MIB_BYTES);
	assert_int_equal(world->picture.not_followed, 3);
	/* the same, of one that was seen meanwhile */
	world_task(world, 204, 100, 5 * MIB)->start_ns = world->now_ns;
	world_pass(world);
	world_exit(world, 204, 1000 * MIB);
	world->now_ns += MS;
	assert_int_equal(pictured(world_picture(world, 0, 10), 204)->delta_bytes, 5 * MIB_BYTES);
	/* vfork, and no program at all; and one that went beyond its parent */
	world_vfork(world, 100, 205);
	world_exit(world, 205, 1000 * MIB);
	world_vfork(world, 100, 206);
	world_exec(world, 206);
	world_exit(world, 206, 1500 * MIB);
	world_picture(world, 0, 10);
	assert_null(pictured(&world->picture, 205));
	assert_int_equal(pictured(&world->picture, 206)->delta_bytes, 1500 * MIB_BYTES);
	world_free(world);
}

static void a_table_that_is_full_keeps_the_large(void **state)
{
	struct world *world = world_new(256);
	unsigned int large = 0;

	(void)state;
	for (uint32_t i = 0; i < 350; i++)
		world_task(world, 1000 + i, 1, i % 10 == 9 ? 100 * MIB : 10 + i);
	for (int i = 0; i < 5; i++)
		world_pass(world);
	for (uint32_t i = 9; i < 350; i += 10)
		task_of(world, 1000 + i)->rss_pages[EV_RSS_ANON] += MIB;
	world_pass(world);
	world_picture(world, 0, 10);
	for (uint32_t i = 9; i < 350; i += 10) {
		const struct picture_process *process = pictured(&world->picture, 1000 + i);

		large += process && process->delta_bytes == MIB_BYTES;
	}
	/* 35 are large; the picture has room for 32 */
	assert_int_equal(large, 32);
	assert_int_equal(growth_totals(world->growth).processes, 256);
	assert_true(growth_totals(world->growth).processes_evicted > 0);
	assert_true(growth_totals(world->growth).samples_no_room > 0);
	world_free(world);
}

static void the_dead_make_room_first(void **state)
{
	struct world *world = world_new(64);

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		world_task(world, 1000 + i, 1, MIB);
	world_pass(world);
	for (unsigned int round = 0; round < 100; round++) {
		for (uint32_t i = 0; i < 20; i++)
			world_task(world, 2000 + i, 1, 2 * MIB)->start_ns = world->now_ns + i;
		world_pass(world);
		for (uint32_t i = 0; i < 20; i++)
			world_exit(world, 2000 + i, 2 * MIB);
	}
	/* those that are dead longest are gone, and nobody else */
	assert_int_equal(growth_totals(world->growth).processes_evicted, 0);
	assert_int_equal(growth_totals(world->growth).samples_no_room, 0);
	world_picture(world, 0, 200);
	assert_int_equal(world->picture.process_total, 64);
	/* an end never takes the place of a living one */
	for (uint32_t i = 0; i < 24; i++)
		world_task(world, 3000 + i, 1, 10);
	world_pass(world);
	world_task(world, 4000, 1, 0)->start_ns = world->now_ns;
	world_exit(world, 4000, 500 * MIB);
	world_picture(world, 0, 200);
	assert_null(pictured(&world->picture, 4000));
	assert_int_equal(growth_totals(world->growth).processes_evicted, 0);
	world_free(world);
}

/* Another's history must not end up in the place of one that gave way. */
static void a_place_that_is_used_again(void **state)
{
	struct growth_options options = {.page_size = PAGE, .processes = 64, .ledger_bytes = 32000};
	struct world *world = world_new(0);

	(void)state;
	growth_free(world->growth);
	world->growth = growth_new(&options);
	for (unsigned int round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < 29; i++)
			world_task(world, 1000 + i, 1, 0)->start_ns = world->now_ns + 1;
		for (int64_t pass = 1; pass <= 30; pass++) {
			for (uint32_t i = 0; i < 29; i++)
				task_of(world, 1000 + i)->rss_pages[EV_RSS_ANON] =
					1000 * pass * (i + 1);
			world_pass(world);
		}
		/* all of it is there, at any moment */
		for (uint64_t pass = 1; pass <= 30; pass++) {
			growth_picture(world->growth, NULL, 0, world->now_ns - (30 - pass) * S,
				S / 2, &world->picture);
			for (uint32_t i = 0; i < 29; i++)
				assert_int_equal(pictured(&world->picture, 1000 + i)->held_bytes,
					1000 * pass * (i + 1) * PAGE);
		}
		for (uint32_t i = 0; i < 29; i++)
			world_exit(world, 1000 + i, 0);
		world->now_ns += S;
	}
	world_free(world);
}

static void a_pass_that_broke_off(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *forked;

	(void)state;
	world_task(world, 100, 1, 50 * MIB);
	world_task(world, 101, 1, 60 * MIB);
	world_pass(world);
	forked = world_fork(world, 100, 200);
	world_pass(world);
	growth_pass_cut(world->growth); /* none is under way */
	world->now_ns += S;
	growth_pass_begin(world->growth, world->now_ns);
	world_sample(world, task_of(world, 101), EV_SAMPLE_CENSUS);
	world_sample(world, forked, EV_SAMPLE_CENSUS);
	growth_pass_cut(world->growth);
	assert_int_equal(growth_totals(world->growth).passes, 2);
	assert_int_equal(growth_totals(world->growth).passes_cut, 1);
	world_picture(world, 0, 10);
	assert_false(pictured(&world->picture, 100)->exited);
	/* faults of two intervals, of which nothing else is known */
	forked->faults += 20 * MIB;
	world_pass(world);
	assert_int_equal(pictured(world_picture(world, 0, 10), 200)->cow_bytes, 0);
	assert_false(pictured(&world->picture, 100)->exited);
	world_free(world);
}

static void the_memory_of_another(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *child;

	(void)state;
	world_task(world, 100, 1, 500 * MIB);
	/* CLONE_VM: the same address space */
	child = world_task(world, 101, 100, 500 * MIB);
	child->mm = task_of(world, 100)->mm;
	child->flags = EV_TASK_FORKED;
	child->start_ns = 20 * S;
	/* in vfork */
	child = world_task(world, 102, 55, 400 * MIB);
	child->flags = EV_TASK_VFORK;
	/* a kernel thread */
	child = world_task(world, 103, 2, 400 * MIB);
	child->flags = EV_TASK_KTHREAD;
	world_pass(world);
	world_picture(world, 0, 10);
	assert_int_equal(world->picture.process_total, 1);
	/* one whose fork was told */
	child = world_fork(world, 100, 104);
	child->mm = task_of(world, 100)->mm;
	world_pass(world);
	assert_int_equal(world_picture(world, 0, 10)->process_total, 1);
	/* they outlive the one whose memory it was */
	world_exit(world, 100, 500 * MIB);
	world_pass(world);
	assert_int_equal(pictured(world_picture(world, 0, 10), 101)->held_bytes, 500 * MIB_BYTES);
	assert_non_null(pictured(&world->picture, 104));
	world_free(world);
}

static void options_that_cannot_be(void **state)
{
	struct growth_options options = {0};

	(void)state;
	errno = 0;
	assert_null(growth_new(&options));
	assert_int_equal(errno, EINVAL);
	options.page_size = PAGE;
	options.ledger_bytes = 1;
	assert_null(growth_new(&options));
	assert_int_equal(errno, EINVAL);
	options.ledger_bytes = 0;
	options.processes = SIZE_MAX;
	assert_null(growth_new(&options));
	growth_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_steady_leak),
		cmocka_unit_test(only_the_window_counts),
		cmocka_unit_test(swap_and_files_count),
		cmocka_unit_test(counters_below_zero_are_none),
		cmocka_unit_test(a_process_that_began_within_the_window),
		cmocka_unit_test(started_just_before_the_window),
		cmocka_unit_test(one_that_ended_counts_with_what_it_held),
		cmocka_unit_test(one_that_is_not_there_any_more_has_ended),
		cmocka_unit_test(a_dying_one_keeps_what_it_held),
		cmocka_unit_test(a_pid_that_comes_back_is_another),
		cmocka_unit_test(an_exec_that_is_told_late),
		cmocka_unit_test(between_two_passes),
		cmocka_unit_test(a_pass_whose_time_goes_back),
		cmocka_unit_test(a_pass_that_was_never_begun),
		cmocka_unit_test(short_forks_take_no_place),
		cmocka_unit_test(one_that_came_and_went_between_two_passes),
		cmocka_unit_test(a_peak_may_be_the_parents),
		cmocka_unit_test(a_table_that_is_full_keeps_the_large),
		cmocka_unit_test(the_dead_make_room_first),
		cmocka_unit_test(a_place_that_is_used_again),
		cmocka_unit_test(a_pass_that_broke_off),
		cmocka_unit_test(the_memory_of_another),
		cmocka_unit_test(options_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
