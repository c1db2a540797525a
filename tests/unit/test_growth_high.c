// SPDX-License-Identifier: Apache-2.0
/* Which cgroups a pass has found above memory.high. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "growth_world.h"

struct highs {
	unsigned int count;
	struct growth_high last;
};

static void take_high(const struct growth_high *high, void *arg)
{
	struct highs *highs = arg;

	highs->count++;
	highs->last = *high;
}

static unsigned int highs_of(struct world *world, struct highs *ret)
{
	*ret = (struct highs) {0};
	growth_above_high(world->growth, take_high, ret);
	return ret->count;
}

static void what_is_not_below_memory_high_is_told(void **state)
{
	struct world *world = world_new(0);
	struct group *group = world_group(world, 20, GROUP);
	struct highs highs;

	(void)state;
	group->high = 16 * MIB;
	group->usage = 16 * MIB - 1;
	world_pass(world);
	assert_int_equal(highs_of(world, &highs), 0);
	group->usage++;
	world_pass(world);
	assert_int_equal(highs_of(world, &highs), 1);
	assert_int_equal(highs.last.cgroup_id, 20);
	assert_int_equal(highs.last.usage_bytes, 16 * MIB_BYTES);
	assert_int_equal(highs.last.high_bytes, 16 * MIB_BYTES);
	assert_true(highs.last.max_bytes == UNKNOWN_U64);
	group->max = 32 * MIB;
	world_pass(world);
	assert_int_equal(highs_of(world, &highs), 1);
	assert_int_equal(highs.last.max_bytes, 32 * MIB_BYTES);
	/* A soft limit of version 1 is none. */
	group->flags &= ~(uint32_t)EV_LEVEL_V2;
	world_pass(world);
	assert_int_equal(highs_of(world, &highs), 0);
	world_free(world);
}

/* Whoever was in it has left: nobody is there to wait for what it holds. */
static void a_cgroup_without_anybody_is_above_nothing(void **state)
{
	struct world *world = world_new(0);
	struct group *group = world_group(world, 20, GROUP);
	struct highs highs;

	(void)state;
	group->high = 16 * MIB;
	group->usage = 17 * MIB;
	world_pass(world);
	assert_int_equal(highs_of(world, &highs), 1);
	world->group_count--;
	world_pass(world);
	assert_int_equal(highs_of(world, &highs), 0);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_below_memory_high_is_told),
		cmocka_unit_test(a_cgroup_without_anybody_is_above_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
