// SPDX-License-Identifier: Apache-2.0
/* Copies of what was shared: RSS does not show them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "growth_world.h"

static void workers_copy(struct world *world, unsigned int passes)
{
	for (unsigned int i = 0; i < passes; i++) {
		for (uint32_t n = 0; n < WORKERS; n++)
			copy(world, FIRST + n, (n + 1) * 2 * MIB);
		world_pass(world);
	}
}

static void workers_that_copy(void **state)
{
	struct world *world = workers_new();
	const struct growth_picture *picture;

	(void)state;
	workers_copy(world, 10);
	picture = world_picture(world, GROUP, 60);
	for (uint32_t n = 0; n < WORKERS; n++) {
		const struct picture_process *worker = pictured(picture, FIRST + n);

		assert_near(worker->cow_bytes, (n + 1) * 20 * MIB_BYTES);
		assert_int_equal(worker->delta_bytes, 0);
		/* nobody counted write faults: it may be less */
		assert_true(worker->cow_upper_bound);
	}
	assert_int_equal(picture->processes[0].tgid, FIRST + WORKERS - 1);
	assert_int_equal(pictured(picture, 100)->cow_bytes, 0);
	assert_int_equal(picture->domain_delta_bytes, 200 * MIB_BYTES);
	assert_in_range(picture->unattributed_bytes, 0, MIB_BYTES);
	assert_false(picture->cow_counted);
	/* of a window in which nothing was copied, nothing is told */
	for (int i = 0; i < 20; i++)
		world_pass(world);
	assert_int_equal(pictured(world_picture(world, GROUP, 10), FIRST)->cow_bytes, 0);
	world_free(world);
}

static void counted_while_armed(void **state)
{
	struct world *world = workers_new();
	const struct picture_process *worker;

	(void)state;
	workers_copy(world, 1); /* before the window, and not counted */
	for (uint32_t n = 0; n < WORKERS; n++)
		task_of(world, FIRST + n)->copied_pages = 0;
	growth_armed(world->growth, world->now_ns, true);
	growth_armed(world->growth, world->now_ns, true); /* it is already */
	world_pass(world);
	/* faults that copied nothing are told apart */
	task_of(world, FIRST)->faults += 3 * MIB;
	workers_copy(world, 10);
	worker = pictured(world_picture(world, GROUP, 10), FIRST + 1);
	assert_near(worker->cow_bytes, 40 * MIB_BYTES);
	assert_false(worker->cow_upper_bound);
	assert_near(pictured(&world->picture, FIRST)->cow_bytes, 20 * MIB_BYTES);
	assert_true(world->picture.cow_counted);
	assert_int_equal(world->picture.armed_count, 1);
	assert_true(pictured(world_picture(world, GROUP, 60), FIRST + 1)->cow_upper_bound);
	world_free(world);
}

static void counted_but_the_usage_does_not_agree(void **state)
{
	struct world *world = workers_new();
	const struct picture_process *worker;

	(void)state;
	for (uint32_t n = 0; n < WORKERS; n++)
		task_of(world, FIRST + n)->copied_pages = 0;
	growth_armed(world->growth, world->now_ns, true);
	world_pass(world);
	/* half of the write faults found that they need not copy */
	copy(world, FIRST, 20 * MIB);
	group_of(world, GROUP)->usage -= 10 * MIB;
	world_pass(world);
	worker = pictured(world_picture(world, GROUP, 10), FIRST);
	assert_near(worker->cow_bytes, 10 * MIB_BYTES);
	assert_true(worker->cow_upper_bound);
	/* as near as the kernel's batches let it be */
	copy(world, FIRST + 1, 200);
	group_of(world, GROUP)->usage -= 60;
	world_pass(world);
	worker = pictured(world_picture(world, GROUP, 10), FIRST + 1);
	assert_int_equal(worker->cow_bytes, 140 * PAGE);
	assert_false(worker->cow_upper_bound);
	world_free(world);
}

static void armed_for_a_part_of_the_time(void **state)
{
	struct world *world = workers_new();

	(void)state;
	task_of(world, FIRST)->copied_pages = 0;
	world->now_ns += 500 * MS;
	growth_armed(world->growth, world->now_ns, true);
	/* of 8 MiB, the hook has seen half */
	copy(world, FIRST, 8 * MIB);
	task_of(world, FIRST)->copied_pages = 4 * MIB;
	world_pass(world);
	assert_near(pictured(world_picture(world, GROUP, 10), FIRST)->cow_bytes, 8 * MIB_BYTES);
	assert_true(pictured(&world->picture, FIRST)->cow_upper_bound);
	world_free(world);
}

static void charges_are_a_bound(void **state)
{
	struct world *world = workers_new();

	(void)state;
	for (uint32_t n = 0; n < WORKERS; n++)
		task_of(world, FIRST + n)->charged_pages = 0;
	world_pass(world);
	/* Two take as many faults each, and one of them was charged for. */
	copy(world, FIRST, 10 * MIB);
	task_of(world, FIRST + 1)->faults += 10 * MIB;
	world_pass(world);
	world_picture(world, GROUP, 10);
	assert_near(pictured(&world->picture, FIRST)->cow_bytes, 10 * MIB_BYTES);
	/* but for what a batch may have left on the CPUs for it: 128 pages */
	assert_in_range(pictured(&world->picture, FIRST + 1)->cow_bytes, 0, 512 << 10);
	/* what was copied is not told twice, though the cgroup grew by more */
	copy(world, FIRST, 10 * MIB);
	group_of(world, GROUP)->usage += 10 * MIB;
	world_pass(world);
	world_picture(world, GROUP, 10);
	assert_near(pictured(&world->picture, FIRST)->cow_bytes, 20 * MIB_BYTES);
	assert_in_range(pictured(&world->picture, FIRST)->cached_bytes, 0, 512 << 10);
	world_free(world);
}

static void a_churner_copies_nothing(void **state)
{
	struct world *world = workers_new();
	struct ev_sample *own = world_task(world, 300, 1, 100 * MIB);
	struct ev_sample *forked = task_of(world, FIRST);

	(void)state;
	group_of(world, GROUP)->usage += 100 * MIB;
	world_pass(world);
	for (int i = 0; i < 20; i++) {
		int64_t step = i % 2 ? 50 * MIB : -50 * MIB;

		/* maps, touches and unmaps, again and again */
		own->rss_pages[EV_RSS_ANON] += step;
		own->faults += 200 * MIB;
		forked->rss_pages[EV_RSS_ANON] += step;
		forked->faults += 200 * MIB;
		group_of(world, GROUP)->usage += (uint64_t)(2 * step);
		world_pass(world);
	}
	world_picture(world, GROUP, 60);
	assert_int_equal(pictured(&world->picture, 300)->cow_bytes, 0);
	assert_int_equal(pictured(&world->picture, FIRST)->cow_bytes, 0);
	assert_int_equal(pictured(&world->picture, 300)->peak_bytes, 100 * MIB_BYTES);
	world_free(world);
}

static void at_the_limit_usage_tells_nothing(void **state)
{
	struct world *world = workers_new();
	struct ev_sample *thrashing = world_task(world, 300, 1, 100 * MIB);
	struct group *group = group_of(world, GROUP);

	(void)state;
	group->usage = group->max = 500 * MIB;
	world_pass(world);
	world_pass(world);
	for (int i = 0; i < 5; i++) {
		/* one that shares copies while reclaim takes away as much */
		task_of(world, FIRST)->faults += 5 * MIB;
		/* one that shares nothing reads its files back in, over and over */
		thrashing->faults += 500 * MIB;
		group->failcnt += 100;
		world_pass(world);
	}
	world_picture(world, GROUP, 60);
	assert_near(pictured(&world->picture, FIRST)->cow_bytes, 25 * MIB_BYTES);
	assert_true(pictured(&world->picture, FIRST)->cow_upper_bound);
	assert_int_equal(pictured(&world->picture, 300)->cow_bytes, 0);
	world_free(world);
}

static void the_limit_of_an_ancestor(void **state)
{
	struct world *world = world_new(0);
	struct group *parent = group_of(world, GROUP), *leaf;

	(void)state;
	leaf = world_group(world, 20, GROUP);
	world_task(world, 100, 1, 100 * MIB)->cgroup_id = 20;
	world_pass(world);
	world_fork(world, 100, 200);
	world_pass(world);
	/* faults, and no growth of usage: the cgroup is far from any limit */
	task_of(world, 200)->faults += 10 * MIB;
	parent->max_events++; /* of one below it */
	world_pass(world);
	assert_int_equal(pictured(world_picture(world, 20, 10), 200)->cow_bytes, 0);
	/* the same, with reclaim from above */
	task_of(world, 200)->faults += 10 * MIB;
	parent->failcnt++;
	world_pass(world);
	assert_near(pictured(world_picture(world, 20, 10), 200)->cow_bytes, 10 * MIB_BYTES);
	/* its own counts, whoever below met it */
	task_of(world, 200)->faults += 10 * MIB;
	leaf->max_events++;
	world_pass(world);
	assert_near(pictured(world_picture(world, 20, 10), 200)->cow_bytes, 20 * MIB_BYTES);
	world_free(world);
}

static void no_more_than_it_shares(void **state)
{
	struct world *world = workers_new();
	struct group *group = group_of(world, GROUP);

	(void)state;
	group->max = group->usage; /* usage is no bound */
	for (int i = 0; i < 10; i++) {
		task_of(world, FIRST)->faults += 100 * MIB;
		world_pass(world);
	}
	assert_int_equal(
		pictured(world_picture(world, GROUP, 60), FIRST)->cow_bytes, 400 * MIB_BYTES);
	/* a limit above which there is reclaim, and no kill */
	group->max = 2 * group->usage;
	group->high = group->usage;
	world_pass(world);
	task_of(world, FIRST + 1)->faults += 100 * MIB;
	world_pass(world);
	assert_int_equal(
		pictured(world_picture(world, GROUP, 60), FIRST + 1)->cow_bytes, 100 * MIB_BYTES);
	world_free(world);
}

static void threads_that_were_not_walked(void **state)
{
	struct world *world = workers_new();
	struct ev_sample *task = task_of(world, FIRST);

	(void)state;
	task->faults = EV_UNKNOWN;
	group_of(world, GROUP)->usage += 50 * MIB;
	world_pass(world);
	world_pass(world);
	assert_int_equal(pictured(world_picture(world, GROUP, 10), FIRST)->cow_bytes, 0);
	/* while write faults are counted, they tell alone */
	task->copied_pages = 0;
	growth_armed(world->growth, world->now_ns, true);
	world_pass(world);
	task->copied_pages = 5 * MIB;
	group_of(world, GROUP)->usage += 5 * MIB;
	world_pass(world);
	assert_near(pictured(world_picture(world, GROUP, 10), FIRST)->cow_bytes, 5 * MIB_BYTES);
	world_free(world);
}

static void what_it_copied_before_the_first_look(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *child;

	(void)state;
	group_of(world, GROUP)->usage = 100 * MIB;
	world_task(world, 100, 1, 100 * MIB);
	world_pass(world);
	world_pass(world);
	child = world_fork(world, 100, 200);
	copy(world, 200, 30 * MIB);
	child->rss_pages[EV_RSS_ANON] += 2 * MIB;
	child->faults += 2 * MIB;
	group_of(world, GROUP)->usage += 2 * MIB;
	world_pass(world);
	world_picture(world, GROUP, 10);
	assert_near(pictured(&world->picture, 200)->cow_bytes, 30 * MIB_BYTES);
	assert_int_equal(pictured(&world->picture, 200)->delta_bytes, 2 * MIB_BYTES);
	world_free(world);
}

/* A child maps its program's files anew, sixteen pages at a fault, and whoever read them first was
 * charged: neither hides a copy. */
static void what_it_copied_though_nobody_saw_it(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *child;

	(void)state;
	group_of(world, GROUP)->usage = 100 * MIB;
	world_task(world, 100, 1, 100 * MIB);
	world_pass(world);
	growth_armed(world->growth, world->now_ns, true);
	world_pass(world);
	child = world_fork(world, 100, 200);
	child->copied_pages = 0;
	copy(world, 200, 30 * MIB);
	world_exit(world, 200, 100 * MIB);
	world_pass(world);
	assert_near(pictured(world_picture(world, GROUP, 10), 200)->cow_bytes, 30 * MIB_BYTES);
	assert_int_equal(pictured(&world->picture, 200)->delta_bytes, 0);
	world_free(world);
}

static void files_mapped_anew_hide_no_copies(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *child;

	(void)state;
	group_of(world, GROUP)->usage = 20 * MIB;
	world_task(world, 100, 1, 20 * MIB);
	world_pass(world);
	world_pass(world);
	child = world_fork(world, 100, 200);
	copy(world, 200, 8 * MIB);
	child->rss_pages[EV_RSS_FILE] += 160;
	child->faults += 10;
	world_pass(world);
	world_picture(world, GROUP, 10);
	assert_near(pictured(&world->picture, 200)->cow_bytes, 8 * MIB_BYTES);
	world_free(world);
}

static void moving_to_another_cgroup_copies_nothing(void **state)
{
	struct world *world = workers_new();
	struct group *other = world_group(world, 11, ROOT);

	(void)state;
	world_pass(world);
	world_pass(world);
	/* it moves, and grows, and takes faults; others take faults where it was and where it is */
	task_of(world, FIRST)->cgroup_id = 11;
	task_of(world, FIRST)->rss_pages[EV_RSS_ANON] += 20 * MIB;
	task_of(world, FIRST)->faults += 40 * MIB;
	task_of(world, FIRST + 1)->faults += 40 * MIB;
	group_of(world, GROUP)->usage += 8 * MIB;
	other->usage += 12 * MIB;
	world_pass(world);
	world_picture(world, 0, 10);
	assert_int_equal(pictured(&world->picture, FIRST)->cow_bytes, 0);
	assert_int_equal(pictured(&world->picture, FIRST)->cached_bytes, 0);
	assert_int_equal(pictured(&world->picture, FIRST + 1)->cow_bytes, 0);
	/* it is where it went to, and copies there from now on */
	copy(world, FIRST, 5 * MIB);
	world_pass(world);
	assert_null(pictured(world_picture(world, GROUP, 10), FIRST));
	assert_near(pictured(world_picture(world, 11, 10), FIRST)->cow_bytes, 5 * MIB_BYTES);
	world_free(world);
}

static void others_that_end_hide_no_copies(void **state)
{
	struct world *world = workers_new();

	(void)state;
	world_task(world, 300, 1, 60 * MIB);
	group_of(world, GROUP)->usage += 60 * MIB;
	world_pass(world);
	/* it was missed once, and is there all the same */
	task_of(world, 300)->tgid = 0;
	world_pass(world);
	world_task(world, 300, 1, 60 * MIB);
	world_pass(world);
	world_pass(world);
	copy(world, FIRST, 60 * MIB);
	world_exit(world, 300, 60 * MIB);
	group_of(world, GROUP)->usage -= 60 * MIB;
	world_pass(world);
	assert_near(pictured(world_picture(world, GROUP, 10), FIRST)->cow_bytes, 60 * MIB_BYTES);
	world_free(world);
}

/* A database that writes its snapshot from a child. */
static void a_parent_that_copies(void **state)
{
	struct world *world = world_new(0);

	(void)state;
	group_of(world, GROUP)->usage = 400 * MIB;
	world_task(world, 100, 1, 400 * MIB);
	world_pass(world);
	world_pass(world);
	/* before it forks, it shares nothing */
	copy(world, 100, 10 * MIB);
	world_pass(world);
	assert_int_equal(pictured(world_picture(world, GROUP, 60), 100)->cow_bytes, 0);
	world_fork(world, 100, 200);
	world_pass(world);
	copy(world, 100, 50 * MIB);
	world_pass(world);
	assert_near(pictured(world_picture(world, GROUP, 60), 100)->cow_bytes, 50 * MIB_BYTES);
	/* the child is gone: of each page there is one again */
	world_exit(world, 200, 400 * MIB);
	group_of(world, GROUP)->usage -= 50 * MIB;
	world_pass(world);
	assert_int_equal(pictured(world_picture(world, GROUP, 60), 100)->cow_bytes, 0);
	/* one that starts programs shares with none of them */
	world_fork(world, 100, 201);
	world_exec(world, 201);
	copy(world, 100, 50 * MIB);
	world_pass(world);
	assert_int_equal(pictured(world_picture(world, GROUP, 60), 100)->cow_bytes, 0);
	copy(world, 100, 50 * MIB);
	world_pass(world);
	assert_int_equal(pictured(world_picture(world, GROUP, 60), 100)->cow_bytes, 0);
	world_free(world);
}

static void what_a_parent_shares_at_the_limit(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *parent = world_task(world, 100, 1, 400 * MIB);
	struct group *group = group_of(world, GROUP);

	(void)state;
	group->usage = group->max = 500 * MIB; /* usage is no bound */
	world_pass(world);
	world_fork(world, 100, 200);
	world_pass(world);
	for (int i = 0; i < 3; i++) {
		parent->faults += 100 * MIB;
		world_pass(world);
	}
	assert_int_equal(
		pictured(world_picture(world, GROUP, 60), 100)->cow_bytes, 300 * MIB_BYTES);
	/* it holds less than it has not copied yet, and shares just that again */
	parent->rss_pages[EV_RSS_ANON] = 50 * MIB;
	world_fork(world, 100, 201);
	world_pass(world);
	for (int i = 0; i < 3; i++) {
		parent->faults += 300 * MIB;
		world_pass(world);
	}
	assert_int_equal(
		pictured(world_picture(world, GROUP, 60), 100)->cow_bytes, 350 * MIB_BYTES);
	world_free(world);
}

static void a_parent_that_runs_another_program(void **state)
{
	struct world *world = world_new(0);

	(void)state;
	world_task(world, 100, 1, 400 * MIB);
	world_pass(world);
	world_fork(world, 100, 200);
	world_pass(world);
	/* and forks at once: what it did before is not taken for copies of what it shares now */
	world_exec(world, 100);
	task_of(world, 100)->faults += 50 * MIB;
	task_of(world, 100)->rss_pages[EV_RSS_ANON] = 30 * MIB;
	group_of(world, GROUP)->usage += 50 * MIB;
	world_exit(world, 200, 400 * MIB);
	world_fork(world, 100, 201);
	world_pass(world);
	assert_int_equal(pictured(world_picture(world, GROUP, 60), 100)->cow_bytes, 0);
	copy(world, 100, 20 * MIB);
	world_pass(world);
	assert_near(pictured(world_picture(world, GROUP, 60), 100)->cow_bytes, 20 * MIB_BYTES);
	world_exit(world, 201, 30 * MIB);
	world_pass(world);
	assert_int_equal(pictured(world_picture(world, GROUP, 60), 100)->cow_bytes, 0);
	world_free(world);
}

static void an_adopted_child_was_not_shared_with(void **state)
{
	struct world *world = world_new(0);

	(void)state;
	world_task(world, 50, 1, 100 * MIB);
	world_task(world, 100, 50, 10 * MIB);
	world_pass(world);
	world_fork(world, 50, 51);
	world_fork(world, 100, 101);
	world_pass(world);
	world_exit(world, 100, 10 * MIB);
	task_of(world, 101)->ppid = 50; /* a subreaper */
	world_pass(world);
	world_exit(world, 101, 10 * MIB);
	world_pass(world);
	copy(world, 50, 20 * MIB);
	world_pass(world);
	assert_near(pictured(world_picture(world, GROUP, 60), 50)->cow_bytes, 20 * MIB_BYTES);
	world_free(world);
}

static void an_exec_gives_back_what_was_private(void **state)
{
	struct world *world = workers_new();

	(void)state;
	world_pass(world);
	/* one leaves 400 MiB that others still hold; another copies less than it took faults for */
	world_exec(world, FIRST);
	task_of(world, FIRST)->rss_pages[EV_RSS_ANON] = 10 * MIB;
	task_of(world, FIRST + 1)->faults += 150 * MIB;
	group_of(world, GROUP)->usage += 60 * MIB;
	world_pass(world);
	assert_near(
		pictured(world_picture(world, GROUP, 60), FIRST + 1)->cow_bytes, 50 * MIB_BYTES);
	world_free(world);
}

static void the_growth_of_a_child_is_not_its_parents(void **state)
{
	struct world *world = workers_new();
	struct group *child = world_group(world, 20, GROUP);

	(void)state;
	world_pass(world);
	world_pass(world);
	/* version 1 lets processes stay in a cgroup that has others below it */
	child->usage += 80 * MIB;
	group_of(world, GROUP)->usage += 80 * MIB;
	task_of(world, FIRST)->faults += 50 * MIB;
	task_of(world, FIRST)->io_bytes += 50 * MIB_BYTES;
	world_pass(world);
	world_picture(world, GROUP, 60);
	assert_int_equal(pictured(&world->picture, FIRST)->cow_bytes, 0);
	assert_int_equal(pictured(&world->picture, FIRST)->cached_bytes, 0);
	world_free(world);
}

static void the_dying_give_back_once(void **state)
{
	struct world *world = workers_new();
	struct ev_sample *dying = world_task(world, 300, 1, 60 * MIB);

	(void)state;
	group_of(world, GROUP)->usage += 60 * MIB;
	world_pass(world);
	world_pass(world);
	/* it grew, as a sample tells, before it let go of all of it */
	world->now_ns += 100 * MS;
	dying->rss_pages[EV_RSS_ANON] = 90 * MIB;
	world_sample(world, dying, EV_SAMPLE_FAULTS);
	dying->mm = 0;
	dying->rss_pages[EV_RSS_ANON] = 0;
	group_of(world, GROUP)->usage -= 60 * MIB;
	copy(world, FIRST, 40 * MIB);
	world_pass(world);
	assert_near(pictured(world_picture(world, GROUP, 60), FIRST)->cow_bytes, 40 * MIB_BYTES);
	/* its exit comes later, and gives nothing back: these faults copied nothing */
	world_exit(world, 300, 90 * MIB);
	task_of(world, FIRST)->faults += 60 * MIB;
	world_pass(world);
	assert_near(pictured(world_picture(world, GROUP, 60), FIRST)->cow_bytes, 40 * MIB_BYTES);
	world_free(world);
}

static void one_that_moved_before_it_ended(void **state)
{
	struct world *world = workers_new();

	(void)state;
	world_group(world, 11, ROOT);
	world_pass(world);
	world_pass(world);
	world->now_ns += 100 * MS;
	task_of(world, FIRST)->cgroup_id = 11;
	world_sample(world, task_of(world, FIRST), EV_SAMPLE_CHARGES);
	task_of(world, FIRST)->faults += 50 * MIB;
	world_exit(world, FIRST, 400 * MIB);
	world_pass(world);
	assert_int_equal(pictured(world_picture(world, 11, 60), FIRST)->cow_bytes, 0);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers_that_copy),
		cmocka_unit_test(counted_while_armed),
		cmocka_unit_test(counted_but_the_usage_does_not_agree),
		cmocka_unit_test(armed_for_a_part_of_the_time),
		cmocka_unit_test(charges_are_a_bound),
		cmocka_unit_test(a_churner_copies_nothing),
		cmocka_unit_test(at_the_limit_usage_tells_nothing),
		cmocka_unit_test(the_limit_of_an_ancestor),
		cmocka_unit_test(no_more_than_it_shares),
		cmocka_unit_test(threads_that_were_not_walked),
		cmocka_unit_test(what_it_copied_before_the_first_look),
		cmocka_unit_test(what_it_copied_though_nobody_saw_it),
		cmocka_unit_test(files_mapped_anew_hide_no_copies),
		cmocka_unit_test(moving_to_another_cgroup_copies_nothing),
		cmocka_unit_test(others_that_end_hide_no_copies),
		cmocka_unit_test(a_parent_that_copies),
		cmocka_unit_test(what_a_parent_shares_at_the_limit),
		cmocka_unit_test(a_parent_that_runs_another_program),
		cmocka_unit_test(an_adopted_child_was_not_shared_with),
		cmocka_unit_test(an_exec_gives_back_what_was_private),
		cmocka_unit_test(the_growth_of_a_child_is_not_its_parents),
		cmocka_unit_test(the_dying_give_back_once),
		cmocka_unit_test(one_that_moved_before_it_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
