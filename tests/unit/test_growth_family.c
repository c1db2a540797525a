// SPDX-License-Identifier: Apache-2.0
/* Who belongs to whom, and what they have in common. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "growth_world.h"

static void members_belong_to_who_forked_them(void **state)
{
	struct world *world = world_new(0);
	const struct picture_family *family;

	(void)state;
	memcpy(world_task(world, 100, 1, 200 * MIB)->comm, "postmaster", 10);
	world_pass(world);
	world_fork(world, 100, 101);
	world_fork(world, 100, 102);
	world_pass(world);
	/* grandchildren, whose own parent has not been seen by then, and never will */
	world_fork(world, 102, 103);
	world_fork(world, 103, 104);
	world_fork(world, 102, 99);
	world_fork(world, 99, 105);
	world_exit(world, 99, 200 * MIB);
	task_of(world, 101)->rss_pages[EV_RSS_ANON] += 10 * MIB;
	task_of(world, 104)->rss_pages[EV_RSS_ANON] += 5 * MIB;
	world_pass(world);
	family = family_pictured(world_picture(world, GROUP, 60), 100);
	assert_int_equal(world->picture.family_total, 1);
	assert_string_equal(family->comm, "postmaster");
	assert_int_equal(family->members, 6);
	assert_int_equal(family->exited, 0);
	assert_true(family->root_start_ns == task_of(world, 100)->start_ns);
	/* the 200 MiB are there once, and each has what it grew by */
	assert_int_equal(family->shared_bytes, 200 * MIB_BYTES);
	assert_int_equal(family->private_bytes, 15 * MIB_BYTES);
	assert_int_equal(family->delta_bytes, 15 * MIB_BYTES);
	assert_int_equal(family->cow_bytes, 0);
	world_free(world);
}

static void what_was_copied_is_private(void **state)
{
	struct world *world = world_new(0);
	const struct picture_family *family;

	(void)state;
	group_of(world, GROUP)->usage = 200 * MIB;
	world_task(world, 100, 1, 200 * MIB);
	world_pass(world);
	world_pass(world);
	for (uint32_t i = 1; i <= 3; i++)
		world_fork(world, 100, 100 + i);
	world_pass(world);
	/* 50 MiB of it each, and the first one 30 MiB more of its own */
	for (uint32_t i = 1; i <= 3; i++)
		task_of(world, 100 + i)->faults += 50 * MIB;
	task_of(world, 101)->faults += 30 * MIB;
	task_of(world, 101)->rss_pages[EV_RSS_ANON] += 30 * MIB;
	group_of(world, GROUP)->usage += 180 * MIB;
	world_pass(world);
	family = family_pictured(world_picture(world, GROUP, 60), 100);
	assert_int_equal(family->cow_bytes, 150 * MIB_BYTES);
	assert_true(family->cow_upper_bound);
	assert_int_equal(family->delta_bytes, 30 * MIB_BYTES);
	/* 150 MiB is still shared by all; together they take what the cgroup is charged with */
	assert_int_equal(family->shared_bytes, 150 * MIB_BYTES);
	assert_int_equal(family->private_bytes, (50 + 3 * 50 + 30) * MIB_BYTES);
	assert_int_equal(family->private_bytes + family->shared_bytes, 380 * MIB_BYTES);
	world_free(world);
}

static void the_root_may_be_dead(void **state)
{
	struct world *world = world_new(0);
	const struct picture_family *family;

	(void)state;
	memcpy(world_task(world, 100, 1, 100 * MIB)->comm, "launcher", 8);
	world_pass(world);
	world_fork(world, 100, 101);
	world_fork(world, 100, 102);
	world_pass(world);
	world_exit(world, 100, 100 * MIB);
	task_of(world, 101)->ppid = task_of(world, 102)->ppid = 1;
	world_pass(world);
	world_fork(world, 101, 103);
	world_pass(world);
	family = family_pictured(world_picture(world, GROUP, 60), 100);
	assert_int_equal(family->members, 3);
	assert_int_equal(family->exited, 1);
	assert_string_equal(family->comm, "launcher");
	/* no root that holds it: what is shared is there once all the same */
	assert_int_equal(family->shared_bytes, 100 * MIB_BYTES);
	assert_int_equal(family->private_bytes, 0);
	/* in a window in which it was dead already */
	for (int i = 0; i < 20; i++)
		world_pass(world);
	family = family_pictured(world_picture(world, GROUP, 10), 100);
	assert_int_equal(family->members, 3);
	assert_int_equal(family->exited, 0);
	world_free(world);
}

static void an_exec_leaves_the_family(void **state)
{
	struct world *world = world_new(0);

	(void)state;
	world_task(world, 100, 1, 100 * MIB);
	world_pass(world);
	for (uint32_t i = 1; i <= 3; i++)
		world_fork(world, 100, 100 + i);
	world_pass(world);
	/* one is told of, and of one the record is lost: it shows at the next look */
	world_exec(world, 101);
	task_of(world, 102)->flags &= ~EV_TASK_FORKED;
	task_of(world, 102)->mm += 512;
	task_of(world, 102)->rss_pages[EV_RSS_ANON] = 5 * MIB;
	world_picture(world, GROUP, 60);
	assert_int_equal(pictured(&world->picture, 101)->held_bytes, 0);
	world_pass(world);
	world_picture(world, GROUP, 60);
	assert_int_equal(family_pictured(&world->picture, 100)->members, 2);
	assert_null(family_pictured(&world->picture, 101));
	assert_null(family_pictured(&world->picture, 102));
	assert_int_equal(pictured(&world->picture, 101)->held_bytes, 20 * PAGE);
	assert_string_equal(pictured(&world->picture, 101)->comm, "program");
	/* it begins one of its own */
	world_fork(world, 102, 110);
	world_pass(world);
	world_picture(world, GROUP, 60);
	assert_int_equal(family_pictured(&world->picture, 102)->members, 2);
	assert_int_equal(family_pictured(&world->picture, 102)->shared_bytes, 5 * MIB_BYTES);
	world_free(world);
}

static void an_exec_that_is_told_before_it_is_seen(void **state)
{
	struct world *world = world_new(0);

	(void)state;
	world_task(world, 100, 1, 100 * MIB);
	world_pass(world);
	world_fork(world, 100, 101);
	world_exec(world, 101);
	/* and what it forks in turn is its own */
	task_of(world, 101)->rss_pages[EV_RSS_ANON] = 40 * MIB;
	world_fork(world, 101, 102);
	world_pass(world);
	world_picture(world, GROUP, 60);
	assert_null(family_pictured(&world->picture, 100));
	assert_int_equal(family_pictured(&world->picture, 101)->members, 2);
	assert_int_equal(
		family_pictured(&world->picture, 101)->shared_bytes, 40 * MIB_BYTES + 10 * PAGE);
	world_free(world);
}

static void an_exec_between_two_looks_copies_nothing(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task;

	(void)state;
	group_of(world, GROUP)->usage = 100 * MIB;
	world_task(world, 100, 1, 100 * MIB);
	world_pass(world);
	task = world_fork(world, 100, 101);
	world_pass(world);
	world_pass(world);
	world_exec(world, 101);
	task->faults += 30 * MIB; /* some as what it was, some as what it is */
	task->rss_pages[EV_RSS_ANON] = 10 * MIB;
	group_of(world, GROUP)->usage += 30 * MIB;
	world_pass(world);
	world_picture(world, GROUP, 60);
	assert_int_equal(pictured(&world->picture, 101)->cow_bytes, 0);
	assert_int_equal(pictured(&world->picture, 101)->held_bytes, 10 * MIB_BYTES + 10 * PAGE);
	/* nor afterwards: it shares nothing any more */
	task->faults += 30 * MIB;
	group_of(world, GROUP)->usage += 30 * MIB;
	world_pass(world);
	assert_int_equal(pictured(world_picture(world, GROUP, 60), 101)->cow_bytes, 0);
	world_free(world);
}

/* They were there before the recorder; the pass tells them in any order. */
static void families_from_before(void **state)
{
	struct world *world = world_new(0);
	const struct picture_family *family;
	struct ev_sample *child;

	(void)state;
	child = world_task(world, 103, 102, 90 * MIB);
	child->flags = EV_TASK_FORKED;
	child->start_ns = 13 * S;
	child = world_task(world, 102, 100, 120 * MIB);
	child->flags = EV_TASK_FORKED;
	child->start_ns = 12 * S;
	world_task(world, 100, 1, 80 * MIB)->start_ns = 11 * S;
	/* adopted by init: who forked it is not known */
	world_task(world, 1, 0, 10 * MIB);
	world_task(world, 104, 1, 30 * MIB)->flags = EV_TASK_FORKED;
	/* a pid that was another's when it began */
	world_task(world, 200, 1, 10 * MIB)->start_ns = 50 * S;
	child = world_task(world, 105, 200, 30 * MIB);
	child->flags = EV_TASK_FORKED;
	child->start_ns = 40 * S;
	world_pass(world);
	family = family_pictured(world_picture(world, GROUP, 60), 100);
	assert_int_equal(world->picture.family_total, 1);
	assert_int_equal(family->members, 3);
	/* all that they held at first sight, but no more than who forked them holds */
	assert_int_equal(family->shared_bytes, 90 * MIB_BYTES);
	world_free(world);
}

/* /proc tells that there is memory, and not which; a kill does. */
static void memory_that_proc_tells_of(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *child;
	uint64_t mm;

	(void)state;
	world_task(world, 100, 1, 100 * MIB)->mm = 1;
	world_pass(world);
	child = world_fork(world, 100, 101);
	mm = child->mm;
	child->mm = 1;
	world_pass(world);
	child->mm = mm;
	world_kill(world, child, EV_ROLE_CANDIDATE);
	child->mm = EV_UNKNOWN;
	world_pass(world);
	assert_int_equal(family_pictured(world_picture(world, GROUP, 60), 100)->members, 2);
	assert_int_equal(family_pictured(&world->picture, 100)->shared_bytes, 100 * MIB_BYTES);
	world_free(world);
}

static void a_family_of_those_in_the_domain(void **state)
{
	struct world *world = world_new(0);
	const struct picture_family *family;

	(void)state;
	world_group(world, 20, ROOT);
	world_task(world, 100, 1, 100 * MIB);
	world_pass(world);
	for (uint32_t i = 1; i <= 4; i++)
		world_fork(world, 100, 100 + i)->cgroup_id = i > 2 ? 20 : GROUP;
	world_pass(world);
	family = family_pictured(world_picture(world, 20, 60), 100);
	assert_int_equal(family->members, 2);
	assert_string_equal(family->comm, "task");
	assert_int_equal(family_pictured(world_picture(world, GROUP, 60), 100)->members, 3);
	assert_int_equal(family_pictured(world_picture(world, 0, 60), 100)->members, 5);
	world_free(world);
}

static void the_largest_families_first(void **state)
{
	struct world *world = world_new(0);

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		world_task(world, 1000 + 10 * i, 1, 10 * MIB);
	world_pass(world);
	for (uint32_t i = 0; i < 20; i++)
		world_fork(world, 1000 + 10 * i, 1001 + 10 * i);
	world_pass(world);
	for (uint32_t i = 0; i < 20; i++)
		task_of(world, 1001 + 10 * i)->rss_pages[EV_RSS_ANON] += (i * 7 % 20) * MIB;
	world_pass(world);
	world_picture(world, GROUP, 60);
	assert_int_equal(world->picture.family_total, 20);
	assert_int_equal(world->picture.family_count, PICTURE_FAMILIES);
	for (int64_t i = 0; i < PICTURE_FAMILIES; i++)
		assert_int_equal(world->picture.families[i].delta_bytes, (19 - i) * MIB_BYTES);
	world_free(world);
}

static void members_that_ended(void **state)
{
	struct world *world = world_new(0);
	const struct picture_family *family;

	(void)state;
	world_task(world, 100, 1, 10 * MIB);
	world_pass(world);
	for (uint32_t i = 0; i < 5; i++)
		world_fork(world, 100, 101 + i);
	world_pass(world);
	for (uint32_t i = 0; i < 5; i++)
		world_exit(world, 101 + i, 15 * MIB);
	/* one whom nobody saw alive: its peak is 20 MiB above what it was forked with */
	world_fork(world, 100, 110);
	world_exit(world, 110, 30 * MIB);
	world_pass(world);
	family = family_pictured(world_picture(world, GROUP, 60), 100);
	assert_int_equal(family->members, 1);
	assert_int_equal(family->exited, 6);
	assert_int_equal(family->private_bytes, 10 * MIB_BYTES);
	assert_int_equal(family->shared_bytes, 0);
	assert_int_equal(family->delta_bytes, 0);
	assert_int_equal(pictured(&world->picture, 110)->delta_bytes, 20 * MIB_BYTES);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_belong_to_who_forked_them),
		cmocka_unit_test(what_was_copied_is_private),
		cmocka_unit_test(the_root_may_be_dead),
		cmocka_unit_test(an_exec_leaves_the_family),
		cmocka_unit_test(an_exec_that_is_told_before_it_is_seen),
		cmocka_unit_test(an_exec_between_two_looks_copies_nothing),
		cmocka_unit_test(families_from_before),
		cmocka_unit_test(memory_that_proc_tells_of),
		cmocka_unit_test(a_family_of_those_in_the_domain),
		cmocka_unit_test(the_largest_families_first),
		cmocka_unit_test(members_that_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
