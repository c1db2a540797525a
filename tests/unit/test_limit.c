// SPDX-License-Identifier: Apache-2.0
#include "fixture_incident.h"

/*
 * A chain app in pod in slice, seen without oom_control; each level as { usage, max } in pages. The
 * asker is in `asker`, NULL: in the victim's own cgroup.
 */
struct seen {
	uint64_t usage[3], max[3];
	uint64_t memsw_usage[3], memsw_max[3]; /* with v1 */
	const char *asker;
	bool v1;
	bool no_root;
	uint64_t machine_nodes, allowed, policy; /* memory nodes; 0: not known */
	uint64_t counted[3], counted_before[3]; /* invocations by that very limit; 0: not known */
};

#define SLICE_ID 10

static struct judgement judgement;

static void judge_seen(const struct seen *seen)
{
	static const char *const names[] = {"app", "pod", "slice"};
	static const uint64_t ids[] = {APP_ID, POD_ID, SLICE_ID};
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);
	struct incident *incident;
	struct ev_level level;

	context.flags = 0;
	world->host.memory_nodes = seen->machine_nodes;
	if (seen->allowed)
		context.mems_allowed = seen->allowed;
	if (seen->policy)
		context.policy_nodes = seen->policy;
	if (seen->asker)
		context.cgroup_id = 77;
	feed_context(world, &context);
	for (uint32_t i = 0; i < 3; i++) {
		level = level_of(1, i, ids[i]);
		level.usage_pages = seen->usage[i];
		level.max_pages = seen->max[i] ? seen->max[i] : NO_LIMIT;
		if (seen->counted[i])
			level.events_local[EV_EVENT_OOM] = seen->counted[i];
		if (seen->counted_before[i]) {
			struct cgroup_entry *entry;

			cgroup_learn(world->cgroups, ids[i], "/before", 1);
			entry = cgroup_find(world->cgroups, ids[i]);
			entry->has_oom_local = true;
			entry->oom_local = seen->counted_before[i];
		}
		if (seen->v1) {
			level.flags = 0;
			level.swappiness = 60;
			level.swap_usage_pages = seen->memsw_usage[i];
			level.swap_max_pages = seen->memsw_max[i] ? seen->memsw_max[i] : NO_LIMIT;
		}
		feed_level(world, &level, names[i]);
	}
	level = level_of(1, 3, ROOT_ID);
	level.usage_pages = level.max_pages = 5000000; /* the root has no limit that counts */
	if (!seen->no_root)
		feed_level(world, &level, "");
	if (seen->asker)
		cgroup_learn(world->cgroups, 77, seen->asker, 1);
	feed_role(world, EV_ROLE_VICTIM, 1, T0, VICTIM);
	incident = take_one(world);
	host_16_gib(incident);
	memset(&judgement, 0, sizeof(judgement));
	judge_limit(incident, &world->host, &judgement);
	world_free(world);
}

static void assert_level(const struct seen *seen, int want)
{
	judge_seen(seen);
	assert_int_equal(judgement.scope, SCOPE_MEMCG);
	assert_int_equal(judgement.limit_level, want);
	assert_true(judgement.scope_inferred);
}

static void the_own_limit_is_full(void **state)
{
	struct seen seen = {.usage = {1000, 5000, 9000}, .max = {1000, 8000, 0}};

	(void)state;
	assert_level(&seen, 0);
	assert_int_equal(judgement.totalpages, 1000); /* swap.max is 0 */
	assert_true(judgement.totalpages_computed);
}

static void a_limit_above_is_full(void **state)
{
	struct seen seen = {.usage = {1000, 8000, 9000}, .max = {2000, 8000, 0}};

	(void)state;
	assert_level(&seen, 1);
	assert_int_equal(judgement.totalpages, 8000);
}

static void pages_given_back_within_a_batch_leave_it_full(void **state)
{
	struct seen seen = {.usage = {936, 5000, 9000}, .max = {1000, 0, 0}};

	(void)state;
	assert_level(&seen, 0);
	seen.usage[0] = 935;
	judge_seen(&seen);
	assert_int_equal(judgement.scope, SCOPE_GLOBAL);
}

static void of_two_the_fuller_one_is_meant(void **state)
{
	struct seen seen = {.usage = {990, 8000, 9000}, .max = {1000, 8000, 0}};

	(void)state;
	assert_level(&seen, 1);
}

static void of_two_equally_full_the_lower_one_is_meant(void **state)
{
	struct seen seen = {.usage = {1000, 8000, 9000}, .max = {1000, 8000, 9000}};

	(void)state;
	assert_level(&seen, 0);
	seen.usage[0] = 990;
	seen.usage[1] = 7990;
	seen.usage[2] = 8990;
	assert_level(&seen, 0);
}

static void how_far_above_its_limit_does_not_make_it_fuller(void **state)
{
	struct seen seen = {.usage = {1000, 8900, 9000}, .max = {1000, 8000, 0}};

	(void)state;
	assert_level(&seen, 0);
}

static void a_sibling_that_asked_is_not_charged_to_the_leaf(void **state)
{
	struct seen seen = {
		.usage = {1000, 7990, 9000}, .max = {1000, 8000, 0}, .asker = "/slice/pod/side"};

	(void)state;
	assert_level(&seen, 1);
	seen.asker = "/slice/pod/app2"; /* a name that only begins alike */
	assert_level(&seen, 1);
	seen.asker = "/slice/pod/app/deeper";
	assert_level(&seen, 0);
}

static void one_far_away_that_asked_makes_it_the_machine(void **state)
{
	struct seen seen = {.usage = {1000, 7990, 9000}, .max = {1000, 8000, 0}, .asker = "/else"};

	(void)state;
	judge_seen(&seen);
	assert_int_equal(judgement.scope, SCOPE_GLOBAL);
	assert_int_equal(judgement.limit_level, -1);
}

/* memory.max was written from outside: the writer asks, and the usage is above the limit. */
static void a_limit_lowered_from_outside_is_found(void **state)
{
	struct seen seen = {.usage = {1000, 9000, 9500}, .max = {0, 8000, 0}, .asker = "/else"};

	(void)state;
	assert_level(&seen, 1);
}

/* The usage has fallen again, but the kernel counted the invocation at the limit's own level. */
static void a_level_that_counted_the_invocation_is_meant(void **state)
{
	struct seen seen = {.usage = {500, 5000, 9000},
		.max = {1000, 8000, 0},
		.counted = {7, 4, 1},
		.counted_before = {7, 3, 1}};

	(void)state;
	assert_level(&seen, 1);
	seen.counted[1] = 3;
	judge_seen(&seen);
	assert_int_equal(judgement.scope, SCOPE_GLOBAL);
	seen.counted[1] = 4;
	seen.counted_before[1] = 0; /* never looked at before: 4 may be old */
	judge_seen(&seen);
	assert_int_equal(judgement.scope, SCOPE_GLOBAL);
}

static void none_full_is_the_machine(void **state)
{
	struct seen seen = {.usage = {1000, 5000, 9000}, .max = {2000, 8000, 0}};

	(void)state;
	judge_seen(&seen);
	assert_int_equal(judgement.scope, SCOPE_GLOBAL);
	assert_int_equal(judgement.limit_level, -1);
	assert_true(judgement.scope_inferred);
	assert_int_equal(judgement.totalpages, 18 * GIB / PAGE);
	assert_true(judgement.totalpages_computed);
}

static void none_full_of_a_chain_with_its_end_lost_is_not_known(void **state)
{
	struct seen seen = {.usage = {1000, 5000, 9000}, .max = {2000, 8000, 0}, .no_root = true};

	(void)state;
	judge_seen(&seen);
	assert_int_equal(judgement.scope, SCOPE_UNKNOWN);
	assert_true(judgement.totalpages == UNKNOWN_U64);
	assert_false(judgement.totalpages_computed);
	seen.usage[1] = 8000;
	assert_level(&seen, 1);
}

static void v1_memory_and_swap_together_may_be_what_is_full(void **state)
{
	struct seen seen = {.v1 = true,
		.usage = {600, 5000, 9000},
		.max = {1000, 8000, 0},
		.memsw_usage = {1500, 6000, 9000},
		.memsw_max = {1500, 0, 0}};

	(void)state;
	assert_level(&seen, 0);
	assert_int_equal(judgement.totalpages, 1500);
}

static void v2_swap_that_is_full_is_no_limit_reached(void **state)
{
	struct seen seen = {.usage = {600, 5000, 9000}, .max = {1000, 8000, 0}};

	(void)state;
	judge_seen(&seen); /* swap 500 of 0 */
	assert_int_equal(judgement.scope, SCOPE_GLOBAL);
}

static void which_of_the_two_limits_of_v1_it_was(void **state)
{
	struct incident_level level = {.usage_pages = 990,
		.max_pages = 1000,
		.swap_usage_pages = 1500,
		.swap_max_pages = 1500};

	(void)state;
	assert_true(limit_is_memsw(&level, PAGE));
	level.usage_pages = 1000;
	assert_false(limit_is_memsw(&level, PAGE));
	level.max_pages = NO_LIMIT;
	assert_true(limit_is_memsw(&level, PAGE));
	level.flags = EV_LEVEL_V2;
	assert_false(limit_is_memsw(&level, PAGE));
}

static const struct judgement *told(uint32_t constraint, uint64_t limit_id)
{
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);

	context.constraint = constraint;
	context.limit_cgroup_id = limit_id;
	feed_context(world, &context);
	feed_chain(world, 1, EV_LEVEL_VICTIM);
	feed_kill(world, 1, VICTIM);
	memset(&judgement, 0, sizeof(judgement));
	judge_limit(take_one(world), &world->host, &judgement);
	world_free(world);
	return &judgement;
}

static void nodes_that_may_not_be_used_are_no_global_end(void **state)
{
	struct seen seen = {.usage = {900, 5000, 9000}, .machine_nodes = 3, .allowed = 0xff};

	(void)state;
	judge_seen(&seen);
	assert_int_equal(judgement.scope, SCOPE_GLOBAL);
	seen.allowed = 2;
	judge_seen(&seen);
	assert_int_equal(judgement.scope, SCOPE_CPUSET);
	assert_true(judgement.scope_inferred);
	assert_true(judgement.totalpages == UNKNOWN_U64); /* of some nodes alone: not known */
	seen.policy = 1;
	judge_seen(&seen);
	assert_int_equal(judgement.scope, SCOPE_MEMPOLICY);
	/* A limit that is full comes before all of it. */
	seen.max[0] = 900;
	assert_level(&seen, 0);
	seen = (struct seen) {
		.usage = {900, 5000, 9000}, .machine_nodes = 1, .allowed = 1, .policy = 1};
	judge_seen(&seen);
	assert_int_equal(judgement.scope, SCOPE_GLOBAL);
}

static void what_the_kernel_told_is_not_inferred(void **state)
{
	(void)state;
	assert_int_equal(told(EV_CONSTRAINT_MEMCG, APP_ID)->limit_level, 0);
	assert_false(judgement.scope_inferred);
	assert_int_equal(judgement.scope, SCOPE_MEMCG);
	assert_int_equal(judgement.totalpages, APP_MAX);
	assert_false(judgement.totalpages_computed);
	/* The leaf is full, and it was the other one all the same. */
	assert_int_equal(told(EV_CONSTRAINT_MEMCG, POD_ID)->limit_level, 1);
	assert_int_equal(told(EV_CONSTRAINT_NONE, 0)->limit_level, -1);
	assert_int_equal(judgement.scope, SCOPE_GLOBAL);
	assert_int_equal(told(EV_CONSTRAINT_CPUSET, 0)->scope, SCOPE_CPUSET);
	assert_int_equal(told(EV_CONSTRAINT_MEMORY_POLICY, 0)->scope, SCOPE_MEMPOLICY);
	assert_int_equal(judgement.limit_level, -1);
}

static void a_limit_whose_record_was_lost_is_no_level(void **state)
{
	(void)state;
	assert_int_equal(told(EV_CONSTRAINT_MEMCG, 999)->limit_level, -1);
	assert_int_equal(judgement.scope, SCOPE_MEMCG);
}

static void without_levels_nothing_is_inferred(void **state)
{
	struct world *world = world_new();

	(void)state;
	feed_role(world, EV_ROLE_VICTIM, 1, T0, VICTIM);
	memset(&judgement, 0, sizeof(judgement));
	judge_limit(take_one(world), &world->host, &judgement);
	assert_int_equal(judgement.scope, SCOPE_UNKNOWN);
	assert_int_equal(judgement.limit_level, -1);
	assert_true(judgement.totalpages == UNKNOWN_U64);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_own_limit_is_full),
		cmocka_unit_test(a_limit_above_is_full),
		cmocka_unit_test(pages_given_back_within_a_batch_leave_it_full),
		cmocka_unit_test(of_two_the_fuller_one_is_meant),
		cmocka_unit_test(of_two_equally_full_the_lower_one_is_meant),
		cmocka_unit_test(how_far_above_its_limit_does_not_make_it_fuller),
		cmocka_unit_test(a_sibling_that_asked_is_not_charged_to_the_leaf),
		cmocka_unit_test(one_far_away_that_asked_makes_it_the_machine),
		cmocka_unit_test(a_limit_lowered_from_outside_is_found),
		cmocka_unit_test(a_level_that_counted_the_invocation_is_meant),
		cmocka_unit_test(none_full_is_the_machine),
		cmocka_unit_test(none_full_of_a_chain_with_its_end_lost_is_not_known),
		cmocka_unit_test(v1_memory_and_swap_together_may_be_what_is_full),
		cmocka_unit_test(v2_swap_that_is_full_is_no_limit_reached),
		cmocka_unit_test(which_of_the_two_limits_of_v1_it_was),
		cmocka_unit_test(nodes_that_may_not_be_used_are_no_global_end),
		cmocka_unit_test(what_the_kernel_told_is_not_inferred),
		cmocka_unit_test(a_limit_whose_record_was_lost_is_no_level),
		cmocka_unit_test(without_levels_nothing_is_inferred),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
