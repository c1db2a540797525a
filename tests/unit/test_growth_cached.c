// SPDX-License-Identifier: Apache-2.0
/* Growth in no address space: page cache and tmpfs, and who can account for it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "growth_world.h"

static void a_tmpfs_writer_ranks_first(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *writer = world_task(world, 100, 1, 2 * MIB);
	struct ev_sample *grower = world_task(world, 101, 1, 20 * MIB);
	struct ev_sample *reader = world_task(world, 102, 1, 2 * MIB);
	const struct growth_picture *picture;

	(void)state;
	for (int i = 0; i < 11; i++) {
		world_pass(world);
		writer->io_bytes += 10 * MIB_BYTES;
		reader->io_bytes += MIB_BYTES / 2;
		grower->rss_pages[EV_RSS_ANON] += MIB;
		grower->faults += MIB;
		group_of(world, GROUP)->usage += 11 * MIB;
	}
	world_pass(world);
	picture = world_picture(world, GROUP, 60);
	assert_int_equal(picture->processes[0].tgid, 100);
	assert_near(picture->processes[0].cached_bytes, 105 * MIB_BYTES);
	assert_int_equal(picture->processes[0].cow_bytes, 0);
	assert_int_equal(picture->processes[1].tgid, 101);
	assert_int_equal(picture->processes[1].cached_bytes, 0);
	assert_int_equal(picture->unattributed_bytes, 110 * MIB_BYTES);
	/* all of it together is no more than what grew */
	assert_true(picture->processes[0].cached_bytes + pictured(picture, 102)->cached_bytes <=
		    110ULL * MIB_BYTES);
	world_free(world);
}

static void charges_tell_who_filled_the_cache(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *writer = world_task(world, 100, 1, 2 * MIB);
	struct ev_sample *reader = world_task(world, 101, 1, 2 * MIB);

	(void)state;
	writer->charged_pages = reader->charged_pages = 1000;
	world_pass(world);
	world_pass(world);
	/* one reads what is cached already, over and over; the other is charged */
	reader->io_bytes += 500 * MIB_BYTES;
	writer->io_bytes += 10 * MIB_BYTES;
	writer->charged_pages += 13 * MIB;
	writer->rss_pages[EV_RSS_ANON] += 3 * MIB;
	group_of(world, GROUP)->usage += 13 * MIB;
	world_pass(world);
	world_picture(world, GROUP, 10);
	assert_int_equal(pictured(&world->picture, 100)->cached_bytes, 10 * MIB_BYTES);
	assert_int_equal(pictured(&world->picture, 101)->cached_bytes, 0);
	world_free(world);
}

static void a_short_writer_is_kept(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task;

	(void)state;
	world_pass(world);
	world_task(world, 55, 1, MIB);
	world_pass(world);
	task = world_task(world, 100, 1, 0);
	task->start_ns = world->now_ns + 1;
	task->io_bytes = 300 * MIB_BYTES;
	group_of(world, GROUP)->usage += 300 * MIB;
	world->now_ns += 400 * MS;
	world_exit(world, 100, 200);
	world_pass(world);
	world_picture(world, GROUP, 10);
	assert_int_equal(world->picture.processes[0].tgid, 100);
	assert_int_equal(world->picture.processes[0].cached_bytes, 300 * MIB_BYTES);
	assert_true(world->picture.processes[0].exited);
	world_free(world);
}

static void a_writer_in_the_root_cgroup(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *writer = world_task(world, 100, 1, 2 * MIB), *other;
	uint64_t used = 1000 * MIB_BYTES;

	(void)state;
	writer->cgroup_id = ROOT;
	other = world_task(world, 101, 1, MIB);
	for (int i = 0; i < 6; i++) {
		growth_host(world->growth, world->now_ns + S, used, 4000 * MIB_BYTES);
		world_pass(world);
		writer->io_bytes += 30 * MIB_BYTES; /* a third stays: the rest is cache on disk */
		other->io_bytes += 5 * MIB_BYTES; /* all of it is charged to its cgroup */
		group_of(world, GROUP)->usage += 5 * MIB;
		used += 15 * MIB_BYTES;
	}
	world_picture(world, 0, 60);
	assert_int_equal(pictured(&world->picture, 101)->cached_bytes, 25 * MIB_BYTES);
	assert_int_equal(world->picture.domain_delta_bytes, 75 * MIB_BYTES);
	assert_int_equal(world->picture.domain_max_bytes, 4000 * MIB_BYTES);
	assert_int_equal(pictured(&world->picture, 100)->cached_bytes, 50 * MIB_BYTES);
	assert_int_equal(world->picture.unattributed_bytes, 75 * MIB_BYTES);
	world_free(world);
}

static void what_was_copied_is_not_told_twice(void **state)
{
	struct world *world = workers_new();

	(void)state;
	task_of(world, FIRST)->charged_pages = 0;
	world_pass(world);
	world_pass(world);
	/* it copies, and ends; meanwhile the page cache grows */
	copy(world, FIRST, 20 * MIB);
	world_exit(world, FIRST, 400 * MIB);
	group_of(world, GROUP)->usage += 10 * MIB;
	world_pass(world);
	world_picture(world, GROUP, 10);
	assert_near(pictured(&world->picture, FIRST)->cow_bytes, 20 * MIB_BYTES);
	assert_int_equal(pictured(&world->picture, FIRST)->cached_bytes, 0);
	world_free(world);
}

static void a_count_that_began_anew_tells_nothing(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task = world_task(world, 100, 1, 2 * MIB);

	(void)state;
	task->charged_pages = 1000 * MIB;
	world_pass(world);
	world_pass(world);
	task->charged_pages = 5; /* the kernel's table had no room for it meanwhile */
	group_of(world, GROUP)->usage += 50 * MIB;
	world_pass(world);
	assert_int_equal(pictured(world_picture(world, GROUP, 10), 100)->cached_bytes, 0);
	world_free(world);
}

static void a_usage_that_was_not_told_before(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task = world_task(world, 100, 1, 90 * MIB);
	struct group *group = group_of(world, GROUP), *other;

	(void)state;
	world_pass(world);
	world_pass(world);
	group->silent = true;
	world_pass(world);
	/* it frees memory, and reads, where nothing tells by how much the usage rose */
	group->silent = false;
	task->rss_pages[EV_RSS_ANON] -= 50 * MIB;
	task->io_bytes += 100 * MIB_BYTES;
	world_pass(world);
	assert_int_equal(pictured(world_picture(world, GROUP, 10), 100)->cached_bytes, 0);
	/* nor where a cgroup comes up that was there before: its cache may be old */
	other = world_group(world, 20, ROOT);
	other->usage = 300 * MIB;
	task = world_task(world, 101, 1, MIB);
	task->cgroup_id = 20;
	task->start_ns = world->now_ns + 1;
	task->io_bytes = 300 * MIB_BYTES;
	world_pass(world);
	assert_int_equal(pictured(world_picture(world, 20, 10), 101)->cached_bytes, 0);
	world_free(world);
}

static void charges_of_memory_of_ones_own(void **state)
{
	struct world *world = world_new(0);
	struct ev_sample *task;

	(void)state;
	world_task(world, 100, 1, 1000 * MIB);
	world_pass(world);
	world_pass(world);
	/* a peak that may be its parent's: what it held itself is not known, nor what is beyond it
	 */
	world_fork(world, 100, 200);
	world_exec(world, 200);
	task = task_of(world, 200);
	task->charged_pages = 300 * MIB;
	group_of(world, GROUP)->usage += 300 * MIB;
	world_exit(world, 200, 1000 * MIB);
	world_pass(world);
	assert_null(pictured(world_picture(world, GROUP, 10), 200));
	assert_int_equal(world->picture.not_followed, 1);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tmpfs_writer_ranks_first),
		cmocka_unit_test(charges_tell_who_filled_the_cache),
		cmocka_unit_test(a_short_writer_is_kept),
		cmocka_unit_test(a_writer_in_the_root_cgroup),
		cmocka_unit_test(what_was_copied_is_not_told_twice),
		cmocka_unit_test(a_count_that_began_anew_tells_nothing),
		cmocka_unit_test(a_usage_that_was_not_told_before),
		cmocka_unit_test(charges_of_memory_of_ones_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
