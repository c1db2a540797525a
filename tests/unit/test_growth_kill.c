// SPDX-License-Identifier: Apache-2.0
/* What a kill tells, and the pass that goes with it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "growth_world.h"

/* One task of 10 MiB in a group that may have 500, seen twice. */
static struct world *filling_new(void)
{
	struct world *world = world_new(0);
	struct group *group = group_of(world, GROUP);

	world_task(world, 100, 1, 10 * MIB);
	group->usage = 10 * MIB;
	group->max = 500 * MIB;
	world_pass(world);
	world_pass(world);
	return world;
}

static void a_spike_that_only_the_kill_has_seen(void **state)
{
	struct world *world = filling_new();
	struct ev_sample *task = task_of(world, 100);
	struct group *group = group_of(world, GROUP);

	(void)state;
	world->now_ns += 400 * MS;
	/* the first record of the incident, and the moment that is asked for */
	growth_picture(world->growth, NULL, GROUP, world->now_ns, 10 * S, &world->picture);
	assert_int_equal(world->picture.processes[0].delta_bytes, 0);
	world->now_ns += 3 * MS;
	group->usage = 500 * MIB;
	task->rss_pages[EV_RSS_ANON] = 490 * MIB;
	world_level(world, group, 0, 7);
	world_kill(world, task, EV_ROLE_VICTIM);
	world->now_ns += 20 * MS;
	world_exit(world, 100, 490 * MIB);
	growth_picture(
		world->growth, NULL, GROUP, world->now_ns - 23 * MS, 10 * S, &world->picture);
	assert_int_equal(world->picture.processes[0].delta_bytes, 480 * MIB_BYTES);
	assert_int_equal(world->picture.processes[0].peak_bytes, 490 * MIB_BYTES);
	assert_false(world->picture.processes[0].exited);
	assert_string_equal(world->picture.processes[0].comm, "task");
	assert_int_equal(world->picture.domain_delta_bytes, 490 * MIB_BYTES);
	assert_int_equal(world->picture.unattributed_bytes, 10 * MIB_BYTES);
	world_free(world);
}

static void a_kill_tells_only_what_is_whole(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task = world_task(world, 100, 1, 10 * MIB);

	(void)state;
	world_pass(world);
	task->rss_pages[EV_RSS_ANON] = 0;
	task->flags = EV_TASK_PARTIAL;
	world_kill(world, task, EV_ROLE_VICTIM);
	task->flags = EV_TASK_KTHREAD;
	world_kill(world, task, EV_ROLE_VICTIM);
	task->flags = EV_TASK_NO_MM;
	world_kill(world, task, EV_ROLE_VICTIM);
	assert_int_equal(world_picture(world, 0, 10)->processes[0].held_bytes, 10 * MIB_BYTES);
	world_free(world);
}

/* A pass was run between the kill and the reading of its records: it found memory given back, and
 * what the kill told is older than that. */
static void a_pass_between_the_kill_and_its_records(void **state)
{
	struct world *world = filling_new();
	struct ev_sample *task = task_of(world, 100);
	struct group *group = group_of(world, GROUP);
	uint64_t kill_ns;

	(void)state;
	kill_ns = world->now_ns + 400 * MS;
	task->rss_pages[EV_RSS_ANON] = 5 * MIB;
	group->usage = 5 * MIB;
	world_pass(world);
	assert_true(world->now_ns > kill_ns);
	world->now_ns = kill_ns;
	group->usage = 500 * MIB;
	task->rss_pages[EV_RSS_ANON] = 490 * MIB;
	world_level(world, group, 0, 7);
	world_kill(world, task, EV_ROLE_VICTIM);
	growth_picture(world->growth, NULL, GROUP, kill_ns + MS, 10 * S, &world->picture);
	assert_int_equal(world->picture.domain_delta_bytes, 490 * MIB_BYTES);
	assert_int_equal(world->picture.points[world->picture.point_count - 1], 500 * MIB_BYTES);
	assert_int_equal(world->picture.cgroups[0].usage_bytes, 500 * MIB_BYTES);
	world_free(world);
}

/* The pass that goes with a kill is stamped with the time of its first record, though the kill's
 * own records are later and the victim is gone when it runs. */
static void the_pass_that_goes_with_a_kill(void **state)
{
	struct world *world = workers_new();
	struct group *group = group_of(world, GROUP);
	struct ev_sample *victim = task_of(world, FIRST), *unseen;
	struct growth_pressure pressure;
	uint64_t kill_ns;

	(void)state;
	group->max = 460 * MIB;
	world_pass(world);
	world_pass(world);
	kill_ns = world->now_ns += 500 * MS;
	copy(world, FIRST, 50 * MIB);
	copy(world, FIRST + 1, 10 * MIB);
	task_of(world, 100)->io_bytes += 500 * MIB_BYTES; /* reads what is cached */
	unseen = world_task(world, 500, 1, 3 * MIB);
	unseen->start_ns = kill_ns - MS;
	world->now_ns += 2 * MS;
	world_level(world, group, 0, 3);
	world_kill(world, task_of(world, 100), EV_ROLE_CANDIDATE);
	world_kill(world, task_of(world, FIRST + 2), EV_ROLE_CANDIDATE);
	world_kill(world, task_of(world, FIRST + 3), EV_ROLE_CANDIDATE);
	world_kill(world, victim, EV_ROLE_VICTIM);
	world_sample(world, task_of(world, FIRST + 1), EV_SAMPLE_FAULTS);
	/* one that only the kill has seen, and that is gone without a record */
	world_kill(world, unseen, EV_ROLE_SIGNALLED);
	unseen->tgid = 0;
	world->now_ns += 10 * MS;
	world_exit(world, FIRST, 400 * MIB);
	/* by now much has come back: what the kill told stands */
	group->usage -= 50 * MIB;
	group->silent = true;
	task_of(world, FIRST + 2)->rss_pages[EV_RSS_ANON] = 0;
	world->now_ns = kill_ns;
	world_look(world);
	assert_int_equal(growth_totals(world->growth).ledger.refused, 0);
	world_picture(world, GROUP, 10);
	assert_int_equal(world->picture.domain_delta_bytes, 60 * MIB_BYTES);
	assert_near(pictured(&world->picture, FIRST)->cow_bytes, 50 * MIB_BYTES);
	assert_false(pictured(&world->picture, FIRST)->exited);
	assert_true(pictured(&world->picture, FIRST)->cow_upper_bound);
	assert_near(pictured(&world->picture, FIRST + 1)->cow_bytes, 10 * MIB_BYTES);
	assert_int_equal(pictured(&world->picture, FIRST + 2)->held_bytes, 400 * MIB_BYTES);
	assert_int_equal(pictured(&world->picture, 500)->delta_bytes, 3 * MIB_BYTES);
	assert_false(pictured(&world->picture, 500)->exited);
	assert_int_equal(pictured(&world->picture, 100)->cached_bytes, 0);
	/* its 3 MiB are in no usage here */
	assert_int_equal(world->picture.unattributed_bytes, -3 * MIB_BYTES);
	growth_pressure(world->growth, &pressure);
	assert_int_equal(pressure.cgroup_id, GROUP);
	assert_int_equal(pressure.usage_bytes, 460 * MIB_BYTES);
	/* the pass after it sees the memory come back, and takes nothing for growth */
	group->silent = false;
	world_pass(world);
	world_picture(world, GROUP, 10);
	assert_true(pictured(&world->picture, FIRST)->exited);
	assert_near(pictured(&world->picture, FIRST + 1)->cow_bytes, 10 * MIB_BYTES);
	assert_int_equal(pictured(&world->picture, FIRST + 1)->cached_bytes, 0);
	world_free(world);
}

/* Started, grown and killed between two passes, while somebody else reads what is cached. */
static void one_that_ate_all_at_once(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *reader = world_task(world, 100, 1, 10 * MIB), *eater;
	struct group *group = group_of(world, GROUP);
	uint64_t kill_ns;

	(void)state;
	group->usage = 10 * MIB;
	group->max = 300 * MIB;
	world_pass(world);
	world_pass(world);
	eater = world_fork(world, 100, 200);
	world_exec(world, 200);
	kill_ns = world->now_ns += 700 * MS;
	eater->rss_pages[EV_RSS_ANON] = 290 * MIB;
	reader->io_bytes += 500 * MIB_BYTES;
	group->usage = 300 * MIB;
	world->now_ns += MS;
	world_level(world, group, 0, 1);
	world_kill(world, eater, EV_ROLE_VICTIM);
	world->now_ns += MS;
	world_exit(world, 200, 290 * MIB);
	group->silent = true;
	world->now_ns = kill_ns;
	world_look(world);
	world_picture(world, GROUP, 10);
	assert_int_equal(world->picture.processes[0].tgid, 200);
	assert_int_equal(world->picture.processes[0].delta_bytes, 290 * MIB_BYTES + 10 * PAGE);
	assert_int_equal(pictured(&world->picture, 100)->cached_bytes, 0);
	assert_int_equal(growth_totals(world->growth).ledger.refused, 0);
	/* at the pass after it all has come back, and something else has grown */
	group->silent = false;
	reader->io_bytes += 500 * MIB_BYTES;
	group->usage = 60 * MIB;
	world_pass(world);
	assert_near(pictured(world_picture(world, GROUP, 10), 100)->cached_bytes, 50 * MIB_BYTES);
	world_free(world);
}

static void a_parent_that_copied_until_the_kill(void **state)
{
	struct world *world = world_new(0);
	struct group *group = group_of(world, GROUP);
	uint64_t kill_ns;

	(void)state;
	group->usage = 400 * MIB;
	group->max = 480 * MIB;
	world_task(world, 100, 1, 400 * MIB);
	world_pass(world);
	world_fork(world, 100, 200);
	world_pass(world);
	world_pass(world);
	kill_ns = world->now_ns += 500 * MS;
	copy(world, 100, 80 * MIB);
	world->now_ns += MS;
	world_level(world, group, 0, 3);
	world_kill(world, task_of(world, 100), EV_ROLE_CANDIDATE);
	world_kill(world, task_of(world, 200), EV_ROLE_VICTIM);
	world->now_ns += 10 * MS;
	world_exit(world, 200, 400 * MIB);
	group->silent = true;
	world->now_ns = kill_ns;
	world_look(world);
	/* with the child its copies are gone, but at that moment they were there */
	assert_near(pictured(world_picture(world, GROUP, 10), 100)->cow_bytes, 80 * MIB_BYTES);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_spike_that_only_the_kill_has_seen),
		cmocka_unit_test(a_kill_tells_only_what_is_whole),
		cmocka_unit_test(a_pass_between_the_kill_and_its_records),
		cmocka_unit_test(the_pass_that_goes_with_a_kill),
		cmocka_unit_test(one_that_ate_all_at_once),
		cmocka_unit_test(a_parent_that_copied_until_the_kill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
