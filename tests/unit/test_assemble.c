// SPDX-License-Identifier: Apache-2.0
#include "fixture_incident.h"

static const char *const hostile = "a\033[2J\xff %s \"b\\";

/* --- who asked --- */

static void who_asked_and_what_the_kernel_held_are_kept_whole(void **state)
{
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);
	struct incident *incident;

	(void)state;
	context.nodemask = 5;
	context.order = 3;
	memcpy(context.message, "no end in sight: 48 bytes, each of them in use..", EV_MESSAGE_LEN);
	memcpy(context.comm, "sixteen bytes ok", EV_COMM_LEN);
	strcpy(process_get(world->processes, 4300, START(4300), 1)->cmdline, "asker --page");
	feed(world, &context, sizeof(context), EV_CONTEXT, "");
	feed_kill(world, 1, VICTIM);
	incident = take_one(world);
	assert_true(incident->has_trigger && incident->has_oc);
	assert_int_equal(incident->trigger_flags, EV_CONTEXT_OC);
	assert_int_equal(incident->trigger_tgid, 4300);
	assert_int_equal(incident->trigger_tid, 4301);
	assert_int_equal(incident->trigger_uid, 1001);
	assert_int_equal(incident->trigger_adj, 5);
	assert_true(incident->trigger_start_ns == START(4300));
	assert_int_equal(incident->trigger_cgroup_id, APP_ID);
	assert_string_equal(incident->trigger_comm, "sixteen bytes ok");
	assert_string_equal(incident->trigger_cmdline, "asker --page");
	assert_int_equal(incident->constraint, EV_CONSTRAINT_MEMCG);
	assert_int_equal(incident->oc_limit_id, APP_ID);
	assert_int_equal(incident->totalpages, APP_MAX);
	assert_int_equal(incident->chosen_points, 200900);
	assert_int_equal(incident->nodemask, 5);
	assert_int_equal(incident->gfp_mask, 0xcc0);
	assert_int_equal(incident->order, 3);
	assert_string_equal(incident->message, "no end in sight: 48 bytes, each of them in use..");
	world_free(world);
}

static void without_oom_control_its_numbers_are_unknown(void **state)
{
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);
	struct incident *incident;

	(void)state;
	context.flags = 0;
	feed_context(world, &context);
	feed_role(world, EV_ROLE_VICTIM, 1, T0, VICTIM);
	incident = take_one(world);
	assert_true(incident->has_trigger);
	assert_false(incident->has_oc);
	assert_true(incident->totalpages == UNKNOWN_U64);
	assert_true(incident->nodemask == UNKNOWN_U64);
	assert_string_equal(incident->message, "");
	world_free(world);
}

/* --- levels and paths --- */

static void every_number_of_a_level_arrives(void **state)
{
	struct world *world = world_new();
	struct incident *incident;
	const struct incident_level *level;

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	incident = take_one(world);
	assert_int_equal(incident->level_count, 3);
	level = &incident->levels[0];
	assert_int_equal(level->id, APP_ID);
	assert_int_equal(level->flags, EV_LEVEL_V2 | EV_LEVEL_LIMIT_HERE);
	assert_true(level->swappiness == UINT32_MAX);
	assert_int_equal(level->usage_pages, APP_MAX);
	assert_int_equal(level->max_pages, APP_MAX);
	assert_true(level->high_pages == NO_LIMIT);
	assert_int_equal(level->min_pages, 11);
	assert_int_equal(level->low_pages, 12);
	assert_int_equal(level->watermark_pages, 13);
	assert_int_equal(level->failcnt, 14);
	assert_int_equal(level->swap_usage_pages, 500);
	assert_int_equal(level->swap_max_pages, 0);
	assert_true(level->kmem_usage_pages == UNKNOWN_U64);
	assert_true(level->freed_usage_pages == UNKNOWN_U64);
	for (int i = 0; i < EV_EVENT_COUNT; i++) {
		assert_int_equal(level->events[i], i + 1);
		assert_true(level->events_local[i] == (i == EV_EVENT_OOM ? UNKNOWN_U64 : i + 7u));
	}
	assert_int_equal(incident->levels[1].id, POD_ID);
	assert_int_equal(incident->levels[2].id, ROOT_ID);
	world_free(world);
}

static void feed_kill_count(struct world *world, uint64_t id, uint64_t kills, uint64_t local)
{
	struct ev_kill_count event = {.hdr = hdr_of(1, T0 + 2 * MS),
		.id = id,
		.oom_kill = kills,
		.oom_group_kill = 6,
		.oom_kill_local = local,
		.oom_group_kill_local = EV_UNKNOWN};

	feed(world, &event, sizeof(event), EV_KILL_COUNT, "");
}

/* The fixture's levels say 5 with those below, and 11 of their own. */
static void kills_are_counted_after_the_choice(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_kill_count(world, APP_ID, 70, 70); /* of no incident yet: passed over */
	feed_begin(world, 1);
	feed_kill_count(world, APP_ID, 7, 12);
	feed_kill_count(world, POD_ID, 6, 11);
	feed_kill_count(world, APP_ID, 4, 4); /* an older reading */
	feed_kill_count(world, 0, 99, 99);
	feed_kill_count(world, 4711, 99, 99); /* of another chain */
	feed_kill_count(world, ROOT_ID, EV_UNKNOWN, EV_UNKNOWN);
	feed_kill(world, 1, VICTIM);
	incident = take_one(world);
	assert_int_equal(incident->levels[0].events[EV_EVENT_OOM_KILL], 7);
	assert_int_equal(incident->levels[0].events_local[EV_EVENT_OOM_KILL], 12);
	assert_int_equal(incident->levels[1].events[EV_EVENT_OOM_KILL], 6);
	assert_int_equal(incident->levels[1].events_local[EV_EVENT_OOM_KILL], 11);
	assert_int_equal(incident->levels[2].events[EV_EVENT_OOM_KILL], 5);
	assert_int_equal(incident->levels[2].events_local[EV_EVENT_OOM_KILL], 11);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(incident->levels[i].events[EV_EVENT_OOM], 4);
		assert_int_equal(incident->levels[i].events_local[EV_EVENT_OOM_GROUP_KILL], 12);
	}
	world_free(world);
}

static void paths_are_made_from_the_root_and_remembered(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	incident = take_one(world);
	assert_string_equal(incident->level_paths[0], "/pod/app");
	assert_string_equal(incident->level_paths[1], "/pod");
	assert_string_equal(incident->level_paths[2], "/");
	assert_string_equal(incident->victim_cgroup, "/pod/app");
	assert_string_equal(incident->trigger_cgroup, "/pod/app");
	assert_string_equal(cgroup_path(world->cgroups, APP_ID), "/pod/app");
	assert_string_equal(cgroup_path(world->cgroups, POD_ID), "/pod");
	world_free(world);
}

static void an_asker_elsewhere_has_a_path_of_its_own(void **state)
{
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);
	struct incident *incident;

	(void)state;
	context.cgroup_id = 77;
	feed_context(world, &context);
	feed_chain(world, 1, EV_LEVEL_VICTIM);
	feed_named(world, EV_LEVEL_TRIGGER, 0, 77, "side");
	feed_named(world, EV_LEVEL_TRIGGER, 1, POD_ID, "pod");
	feed_named(world, EV_LEVEL_TRIGGER, 2, ROOT_ID, "");
	feed_kill(world, 1, VICTIM);
	incident = take_one(world);
	assert_string_equal(incident->trigger_cgroup, "/pod/side");
	assert_string_equal(cgroup_path(world->cgroups, 77), "/pod/side");
	assert_string_equal(incident->victim_cgroup, "/pod/app");
	assert_int_equal(incident->level_count, 3);
	world_free(world);
}

static void an_asker_in_the_root_is_at_the_root(void **state)
{
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);

	(void)state;
	context.cgroup_id = ROOT_ID;
	feed_context(world, &context);
	feed_chain(world, 1, EV_LEVEL_VICTIM);
	feed_named(world, EV_LEVEL_TRIGGER, 0, ROOT_ID, "");
	feed_kill(world, 1, VICTIM);
	assert_string_equal(take_one(world)->trigger_cgroup, "/");
	world_free(world);
}

/* The asker's chain is app2 in mid in pod; the record at `lost` never came. */
static void trigger_path_without(uint32_t lost, const char *known, const char *want)
{
	static const char *const names[] = {"app2", "mid", "pod", ""};
	static const uint64_t ids[] = {77, 78, POD_ID, ROOT_ID};
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);

	context.cgroup_id = 77;
	if (known)
		cgroup_learn(world->cgroups, 77, known, 1);
	feed_context(world, &context);
	feed_chain(world, 1, EV_LEVEL_VICTIM);
	for (uint32_t i = 0; i < 4; i++)
		if (i != lost)
			feed_named(world, EV_LEVEL_TRIGGER, i, ids[i], names[i]);
	feed_kill(world, 1, VICTIM);
	assert_string_equal(take_one(world)->trigger_cgroup, want);
	if (!known && lost < 4)
		assert_null(cgroup_path(world->cgroups, 77));
	world_free(world);
}

static void an_askers_path_with_a_level_lost_is_not_told_in_part(void **state)
{
	(void)state;
	trigger_path_without(4, NULL, "/pod/mid/app2");
	for (uint32_t lost = 0; lost < 4; lost++) {
		trigger_path_without(lost, NULL, "");
		trigger_path_without(lost, "/pod/mid/app2", "/pod/mid/app2");
	}
}

static void an_askers_level_told_twice_does_not_stand_for_a_lost_one(void **state)
{
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);

	(void)state;
	context.cgroup_id = 77;
	feed_context(world, &context);
	feed_chain(world, 1, EV_LEVEL_VICTIM);
	feed_named(world, EV_LEVEL_TRIGGER, 0, 77, "side");
	feed_named(world, EV_LEVEL_TRIGGER, 0, 77, "side");
	feed_named(world, EV_LEVEL_TRIGGER, 2, ROOT_ID, "");
	feed_kill(world, 1, VICTIM);
	assert_string_equal(take_one(world)->trigger_cgroup, "");
	world_free(world);
}

/* The victim's chain is app in mid in pod. */
static struct incident *chain_without(struct world *world, uint32_t lost)
{
	static const char *const names[] = {"app", "mid", "pod", ""};
	static const uint64_t ids[] = {APP_ID, 78, POD_ID, ROOT_ID};
	struct ev_context context = context_of(1, T0);

	feed_context(world, &context);
	for (uint32_t i = 0; i < 4; i++)
		if (i != lost)
			feed_named(world, EV_LEVEL_VICTIM, i, ids[i], names[i]);
	feed_kill(world, 1, VICTIM);
	return take_one(world);
}

static void a_chain_with_a_level_lost_has_no_half_paths(void **state)
{
	(void)state;
	for (uint32_t lost = 0; lost < 4; lost++) {
		struct world *world = world_new();
		struct incident *incident = chain_without(world, lost);

		assert_int_equal(incident->level_count, lost);
		for (uint32_t i = 0; i < 4; i++)
			assert_string_equal(incident->level_paths[i], "");
		assert_string_equal(incident->victim_cgroup, "");
		assert_null(cgroup_path(world->cgroups, APP_ID));
		world_free(world);
	}
}

static void paths_that_were_learnt_before_stand_in_for_lost_levels(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	cgroup_learn(world->cgroups, APP_ID, "/pod/mid/app", 1);
	incident = chain_without(world, 2);
	assert_int_equal(incident->level_count, 2);
	assert_string_equal(incident->level_paths[0], "/pod/mid/app");
	assert_string_equal(incident->level_paths[1], "");
	assert_string_equal(incident->victim_cgroup, "/pod/mid/app");
	assert_string_equal(incident->trigger_cgroup, "/pod/mid/app");
	world_free(world);
}

static void levels_out_of_order_or_twice_change_nothing(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	feed_named(world, EV_LEVEL_VICTIM, 0, 555, "other");
	feed_named(world, EV_LEVEL_VICTIM, 3, 556, "above");
	feed_named(world, EV_LEVEL_VICTIM, 2, 557, "else");
	feed_named(world, EV_LEVEL_VICTIM, 23, 558, "far");
	feed_kill(world, 1, VICTIM);
	incident = take_one(world);
	assert_int_equal(incident->level_count, 3);
	assert_int_equal(incident->levels[0].id, APP_ID);
	assert_string_equal(incident->level_paths[0], "/pod/app");
	world_free(world);
}

static void names_of_any_bytes_pass_unchanged(void **state)
{
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);
	char want[64];

	(void)state;
	feed_context(world, &context);
	feed_named(world, EV_LEVEL_VICTIM, 0, APP_ID, hostile);
	feed_named(world, EV_LEVEL_VICTIM, 1, POD_ID, "..");
	feed_named(world, EV_LEVEL_VICTIM, 2, ROOT_ID, "");
	feed_kill(world, 1, VICTIM);
	strcpy(want, "/../");
	strcat(want, hostile);
	assert_string_equal(take_one(world)->victim_cgroup, want);
	world_free(world);
}

/* `deep` levels of the longest name that there can be, below the root. */
static struct incident *deep_chain(struct world *world, enum ev_level_role role, uint32_t deep)
{
	struct ev_context context = context_of(1, T0);
	char name[EV_NAME_LEN];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	context.cgroup_id = 77;
	feed_context(world, &context);
	if (role == EV_LEVEL_TRIGGER)
		feed_chain(world, 1, EV_LEVEL_VICTIM);
	for (uint32_t i = 0; i < deep; i++)
		feed_named(world, role, i,
			i			   ? 100 + i
			: role == EV_LEVEL_TRIGGER ? 77
						   : APP_ID,
			i ? name : "leaf");
	feed_named(world, role, deep, ROOT_ID, "");
	feed_kill(world, 1, VICTIM);
	return take_one(world);
}

static void a_path_without_room_is_not_told_in_part(void **state)
{
	struct world *world = world_new();
	struct incident *incident = deep_chain(world, EV_LEVEL_VICTIM, 6);

	(void)state;
	assert_int_equal(incident->level_count, 7);
	assert_string_equal(incident->level_paths[0], "");
	assert_string_equal(incident->level_paths[1], "");
	assert_int_equal(strlen(incident->level_paths[3]), 3 * 256);
	assert_string_equal(incident->victim_cgroup, "");
	world_free(world);
	world = world_new();
	assert_string_equal(deep_chain(world, EV_LEVEL_TRIGGER, 6)->trigger_cgroup, "");
	assert_null(cgroup_path(world->cgroups, 77));
	world_free(world);
}

static void a_path_that_just_fits_is_told_whole(void **state)
{
	struct world *world = world_new();
	struct incident *incident = deep_chain(world, EV_LEVEL_TRIGGER, 4);

	(void)state;
	assert_int_equal(strlen(incident->trigger_cgroup), 3 * 256 + 5);
	assert_string_equal(incident->trigger_cgroup + 3 * 256, "/leaf");
	world_free(world);
	world = world_new();
	incident = deep_chain(world, EV_LEVEL_VICTIM, 4);
	assert_int_equal(strlen(incident->victim_cgroup), 3 * 256 + 5);
	world_free(world);
}

static void more_levels_than_are_kept_leave_paths_unknown(void **state)
{
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);
	struct incident *incident;

	(void)state;
	feed_context(world, &context);
	for (uint32_t i = 0; i < EV_MAX_LEVELS + 3; i++)
		feed_named(world, EV_LEVEL_VICTIM, i, 100 + i, "x");
	feed_kill(world, 1, VICTIM);
	incident = take_one(world);
	assert_int_equal(incident->level_count, EV_MAX_LEVELS);
	assert_string_equal(incident->level_paths[EV_MAX_LEVELS - 1], "");
	assert_string_equal(incident->victim_cgroup, "");
	world_free(world);
}

/* --- candidates --- */

static const struct candidate *candidate_of(const struct incident *incident, uint32_t pid)
{
	for (unsigned int i = 0; i < incident->candidate_count; i++)
		if (incident->candidates[i].task.tgid == pid)
			return &incident->candidates[i];
	return NULL;
}

static void a_candidate_brings_its_counters_and_names(void **state)
{
	struct world *world = world_new();
	const struct candidate *candidate;
	struct incident *incident;

	(void)state;
	strcpy(process_get(world->processes, VICTIM, START(VICTIM), 1)->cmdline, "worker -n 3");
	cgroup_learn(world->cgroups, APP_ID, "/pod/app", 1);
	feed_role(world, EV_ROLE_CANDIDATE, 1, T0, VICTIM);
	feed_role(world, EV_ROLE_CANDIDATE, 1, T0, 4243);
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	incident = take_one(world);
	assert_int_equal(incident->candidate_total, 2);
	assert_int_equal(incident->candidate_count, 2);
	assert_false(incident->candidates_from_census);
	candidate = candidate_of(incident, VICTIM);
	assert_string_equal(candidate->cgroup, "/pod/app");
	assert_string_equal(candidate->cmdline, "worker -n 3");
	assert_int_equal(candidate->task.rss_pages[EV_RSS_ANON], 200000);
	assert_int_equal(candidate->task.rss_exact[EV_RSS_ANON], 200017);
	assert_int_equal(candidate->weight, 200900);
	assert_string_equal(candidate_of(incident, 4243)->cmdline, "");
	world_free(world);
}

static void a_candidate_seen_twice_counts_once_with_its_last_numbers(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_candidate(world, 100, 50, 0);
	feed_candidate(world, 101, 60, 0);
	feed_candidate(world, 100, 70, 0);
	feed_kill(world, 1, VICTIM);
	incident = take_one(world);
	assert_int_equal(incident->candidate_total, 2);
	assert_int_equal(incident->candidate_count, 2);
	assert_int_equal(candidate_of(incident, 100)->task.rss_pages[EV_RSS_ANON], 70);
	world_free(world);
}

static void a_pid_reused_during_the_scan_is_two_candidates(void **state)
{
	struct world *world = world_new();
	struct ev_task task = small_task(EV_ROLE_CANDIDATE, 1, 100, 50);

	(void)state;
	feed_task(world, &task);
	task.start_ns += 5;
	feed_task(world, &task);
	feed_kill(world, 1, VICTIM);
	assert_int_equal(take_one(world)->candidate_total, 2);
	world_free(world);
}

static void the_best_64_are_kept_and_the_rest_counted(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	for (uint32_t i = 0; i < 200; i++) /* 37 and 200 share no divisor: each weight once */
		feed_candidate(world, 1000 + i, 10 + i * 37 % 200, 0);
	feed_kill(world, 1, VICTIM);
	incident = take_one(world);
	assert_int_equal(incident->candidate_total, 200);
	assert_int_equal(incident->candidate_count, 64);
	for (uint32_t i = 0; i < 200; i++) {
		bool best = i * 37 % 200 >= 200 - 64;

		assert_int_equal(candidate_of(incident, 1000 + i) != NULL, best);
	}
	world_free(world);
}

/* The largest of all, protected, told at place `at` of 200. */
static void protected_largest_is_kept(uint32_t at)
{
	struct world *world = world_new();
	struct incident *incident;

	for (uint32_t i = 0; i < 200; i++)
		if (i == at)
			feed_candidate(world, 9999, 100000, -1000);
		else
			feed_candidate(world, 1000 + i, 10 + i, 0);
	feed_kill(world, 1, VICTIM);
	incident = take_one(world);
	assert_int_equal(incident->candidate_total, 200);
	assert_int_equal(incident->candidate_count, 64);
	assert_non_null(candidate_of(incident, 9999));
	assert_non_null(candidate_of(incident, at == 199 ? 1198 : 1199));
	assert_null(candidate_of(incident, 1020));
	world_free(world);
}

static void the_one_that_holds_the_most_is_kept_however_protected(void **state)
{
	(void)state;
	protected_largest_is_kept(0);
	protected_largest_is_kept(63);
	protected_largest_is_kept(64);
	protected_largest_is_kept(199);
}

static void one_without_memory_is_no_candidate(void **state)
{
	struct world *world = world_new();
	struct ev_task task = small_task(EV_ROLE_CANDIDATE, 1, 100, 50);
	struct incident *incident;

	(void)state;
	task.flags = EV_TASK_NO_MM;
	feed_task(world, &task);
	feed_kill(world, 1, VICTIM);
	incident = take_one(world);
	assert_int_equal(incident->candidate_total, 0);
	assert_int_equal(incident->candidate_count, 0);
	world_free(world);
}

static void candidates_are_weighed_against_the_scans_own_ceiling(void **state)
{
	struct world *world = world_new();
	struct ev_task task = small_task(EV_ROLE_CANDIDATE, 1, 100, 50);
	struct incident *incident;

	(void)state;
	task.totalpages = 2500;
	task.oom_score_adj = 10;
	feed_task(world, &task);
	feed_kill(world, 1, VICTIM);
	incident = take_one(world);
	assert_int_equal(incident->ceiling_hint, 2500);
	assert_int_equal(incident->candidates[0].weight, 50 + 10 * 2);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_asked_and_what_the_kernel_held_are_kept_whole),
		cmocka_unit_test(without_oom_control_its_numbers_are_unknown),
		cmocka_unit_test(every_number_of_a_level_arrives),
		cmocka_unit_test(kills_are_counted_after_the_choice),
		cmocka_unit_test(paths_are_made_from_the_root_and_remembered),
		cmocka_unit_test(an_asker_elsewhere_has_a_path_of_its_own),
		cmocka_unit_test(an_asker_in_the_root_is_at_the_root),
		cmocka_unit_test(an_askers_path_with_a_level_lost_is_not_told_in_part),
		cmocka_unit_test(an_askers_level_told_twice_does_not_stand_for_a_lost_one),
		cmocka_unit_test(a_chain_with_a_level_lost_has_no_half_paths),
		cmocka_unit_test(paths_that_were_learnt_before_stand_in_for_lost_levels),
		cmocka_unit_test(levels_out_of_order_or_twice_change_nothing),
		cmocka_unit_test(names_of_any_bytes_pass_unchanged),
		cmocka_unit_test(a_path_without_room_is_not_told_in_part),
		cmocka_unit_test(a_path_that_just_fits_is_told_whole),
		cmocka_unit_test(more_levels_than_are_kept_leave_paths_unknown),
		cmocka_unit_test(a_candidate_brings_its_counters_and_names),
		cmocka_unit_test(a_candidate_seen_twice_counts_once_with_its_last_numbers),
		cmocka_unit_test(a_pid_reused_during_the_scan_is_two_candidates),
		cmocka_unit_test(the_best_64_are_kept_and_the_rest_counted),
		cmocka_unit_test(the_one_that_holds_the_most_is_kept_however_protected),
		cmocka_unit_test(one_without_memory_is_no_candidate),
		cmocka_unit_test(candidates_are_weighed_against_the_scans_own_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
