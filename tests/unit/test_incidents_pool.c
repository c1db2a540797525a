// SPDX-License-Identifier: Apache-2.0
#include "fixture_incident.h"

/* --- only a pid --- */

static struct ev_task pid_only(uint64_t time_ns, uint32_t pid)
{
	struct ev_task task = {.hdr = hdr_of(1, time_ns),
		.role = EV_ROLE_VICTIM,
		.flags = EV_TASK_PARTIAL,
		.tgid = pid,
		.tid = pid,
		.start_ns = EV_UNKNOWN,
		.pgtables_bytes = EV_UNKNOWN,
		.total_vm_pages = EV_UNKNOWN,
		.totalpages = EV_UNKNOWN};

	return task;
}

static void a_pid_alone_is_completed_by_the_scan(void **state)
{
	struct world *world = world_new();
	struct ev_task task = pid_only(T0 + 2 * MS, VICTIM);
	const struct victim *victim;
	struct incident *incident;

	(void)state;
	feed_role(world, EV_ROLE_CANDIDATE, 1, T0, 4100);
	feed_role(world, EV_ROLE_CANDIDATE, 1, T0, VICTIM);
	feed_chain(world, 1, EV_LEVEL_VICTIM);
	feed_task(world, &task);
	task.hdr.time_ns += MS; /* the mark twice: still one victim */
	feed_task(world, &task);
	incident = take_one(world);
	victim = &incident->victims[0];
	assert_int_equal(incident->victim_count, 1);
	assert_false(victim->task.flags & EV_TASK_PARTIAL);
	assert_true(victim->task.start_ns == START(VICTIM));
	assert_int_equal(victim->task.rss_pages[EV_RSS_ANON], 200000);
	assert_true(victim->marked);
	assert_true(victim->killed_ns == T0 + 2 * MS);
	assert_string_equal(incident->victim_cgroup, "/pod/app");
	world_free(world);
}

static void a_pid_alone_is_completed_by_the_choice(void **state)
{
	struct world *world = world_new();
	struct ev_task task = pid_only(T0 + 2 * MS, VICTIM);

	(void)state;
	feed_begin(world, 1);
	feed_role(world, EV_ROLE_CHOSEN, 1, T0 + MS, VICTIM);
	feed_task(world, &task);
	feed_exit(world, 1, T0 + 3 * MS, VICTIM, START(VICTIM));
	assert_true(take_one(world)->victims[0].task.start_ns == START(VICTIM));
	world_free(world);
}

static void feed_census(struct world *world, struct incident *incident, uint32_t pid, uint64_t cg)
{
	static struct fact fact;

	fact.kind = EV_TASK;
	fact.task = task_of(EV_ROLE_CENSUS, 0, T0 + 9 * MS, pid);
	fact.task.cgroup_id = cg;
	incident_census(world->incidents, incident, &fact);
}

static void a_pid_alone_is_completed_by_a_census(void **state)
{
	struct world *world = world_new();
	struct ev_task task = pid_only(T0 + 2 * MS, VICTIM);
	struct incident *incident;

	(void)state;
	feed_chain(world, 1, EV_LEVEL_VICTIM);
	feed_task(world, &task);
	incident = incidents_next_fresh(world->incidents);
	assert_string_equal(incident->victim_cgroup, "");
	feed_census(world, incident, VICTIM, APP_ID);
	incident_census_done(world->incidents, incident);
	assert_ptr_equal(take_one(world), incident);
	assert_false(incident->victims[0].task.flags & EV_TASK_PARTIAL);
	assert_int_equal(incident->victims[0].task.rss_pages[EV_RSS_ANON], 200000);
	assert_int_equal(incident->candidate_total, 1);
	assert_string_equal(incident->victim_cgroup, "/pod/app");
	world_free(world);
}

/* The chain that is told with a bare pid is that of whoever asked. */
static void a_pid_alone_is_not_placed_in_the_cgroup_of_who_asked(void **state)
{
	struct world *world = world_new();
	struct ev_task task = pid_only(T0 + 2 * MS, VICTIM);
	struct incident *incident;

	(void)state;
	cgroup_learn(world->cgroups, 99, "/pod/other", 1);
	feed_chain(world, 1, EV_LEVEL_VICTIM);
	feed_task(world, &task);
	incident = incidents_next_fresh(world->incidents);
	feed_census(world, incident, VICTIM, 99);
	incident_census_done(world->incidents, incident);
	assert_string_equal(take_one(world)->victim_cgroup, "/pod/other");
	world_free(world);
}

static void a_pid_alone_does_not_blot_out_what_was_told_before(void **state)
{
	struct world *world = world_new();
	struct ev_task task = pid_only(T0 + 2 * MS, VICTIM);
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	feed_role(world, EV_ROLE_SIGNALLED, 1, T0 + MS, VICTIM);
	feed_task(world, &task);
	incident = take_one(world);
	assert_int_equal(incident->victim_count, 1);
	assert_int_equal(incident->victims[0].task.rss_pages[EV_RSS_ANON], 200000);
	assert_int_equal(incident->victims[0].why, VICTIM_CHOSEN);
	world_free(world);
}

static void a_census_holds_the_victim_as_it_was_when_it_was_marked(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	incident = incidents_next_fresh(world->incidents);
	feed_census(world, incident, 4100, APP_ID);
	incident_census_done(world->incidents, incident);
	assert_true(incident->candidates_from_census);
	assert_true(incident->census_ns == T0 + 9 * MS);
	assert_int_equal(incident->candidate_total, 2);
	assert_int_equal(incident->candidates[1].task.tgid, VICTIM);
	assert_true(incident->candidates[1].task.at_ns == T0 + 2 * MS);
	world_free(world);
}

/* --- scans that kill nobody --- */

static void feed_end_at(struct world *world, uint32_t number, enum ev_end_choice choice,
	uint64_t limit, uint32_t suppressed)
{
	struct ev_end end = {.hdr = hdr_of(number, T0 + 30 * MS),
		.choice = choice,
		.suppressed = suppressed,
		.limit_cgroup_id = limit};

	feed(world, &end, sizeof(end), EV_END, "");
}

static void a_scan_that_finds_nobody_is_told_at_once(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_role(world, EV_ROLE_CANDIDATE, 1, T0, 4100);
	feed_begin(world, 1);
	feed_chain(world, 1, EV_LEVEL_LIMIT);
	feed_end_at(world, 1, EV_END_NONE, APP_ID, 222);
	incident = incidents_next_closed(world->incidents);
	assert_non_null(incident);
	assert_int_equal(incident->outcome, OUTCOME_NO_KILLABLE);
	assert_int_equal(incident->closed, CLOSED_AT_ONCE);
	assert_int_equal(incident->repeated_no_kill, 222);
	assert_int_equal(incident->victim_count, 0);
	assert_string_equal(incident->victim_cgroup, "");
	assert_string_equal(incident->level_paths[0], "/pod/app");
	assert_int_equal(incident->candidate_total, 1);
	assert_ptr_equal(incidents_next_fresh(world->incidents), incident);
	world_free(world);
}

static void one_like_the_last_is_only_counted_by_the_kernel_side(void **state)
{
	struct world *world = world_new();

	(void)state;
	feed_role(world, EV_ROLE_CANDIDATE, 1, T0, 4100);
	feed_end_at(world, 1, EV_END_NONE, APP_ID, 0);
	assert_null(incidents_next_closed(world->incidents));
	assert_true(incidents_deadline(world->incidents) == UINT64_MAX);
	world_free(world);
}

static void aborted_scans_count_on_the_latest_incident_of_that_limit(void **state)
{
	struct world *world = world_new();
	struct ev_context context;
	struct incident *first;

	(void)state;
	for (uint32_t number = 1; number <= 3; number++) {
		context = context_of(number, T0);
		context.hdr.time_ns += number * MS;
		context.limit_cgroup_id = number == 3 ? POD_ID : APP_ID;
		feed_context(world, &context);
		feed_kill(world, number, VICTIM + number);
	}
	feed_role(world, EV_ROLE_CANDIDATE, 4, T0, 4100);
	feed_end_at(world, 4, EV_END_ABORTED, APP_ID, 0);
	feed_end_at(world, 5, EV_END_ABORTED, APP_ID, 0);
	feed_end_at(world, 6, EV_END_ABORTED, 999, 0);
	feed_end_at(world, 7, EV_END_ABORTED, POD_ID, 0);
	first = take_one(world);
	assert_int_equal(first->number, 1);
	assert_int_equal(first->aborted_scans, 0);
	incidents_release(world->incidents, first);
	first = incidents_next_closed(world->incidents);
	assert_int_equal(first->aborted_scans, 2);
	incidents_release(world->incidents, first);
	first = incidents_next_closed(world->incidents);
	assert_int_equal(first->aborted_scans, 1);
	incidents_release(world->incidents, first);
	assert_null(incidents_next_closed(world->incidents));
	world_free(world);
}

static void a_global_scan_does_not_count_where_the_limit_is_not_known(void **state)
{
	struct world *world = world_new();

	(void)state;
	feed_role(world, EV_ROLE_VICTIM, 1, T0, VICTIM);
	feed_end_at(world, 2, EV_END_ABORTED, 0, 0);
	assert_int_equal(take_one(world)->aborted_scans, 0);
	world_free(world);
}

static void a_scan_whose_end_never_came_is_forgotten(void **state)
{
	struct world *world = world_new();

	(void)state;
	feed_role(world, EV_ROLE_CANDIDATE, 1, T0, 4100);
	assert_null(tick_closed(world, T0 + SETTLE_NS));
	assert_true(incidents_deadline(world->incidents) == UINT64_MAX);
	world_free(world);
}

/* --- several incidents --- */

static void two_that_run_into_each_other_stay_apart(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	feed_role(world, EV_ROLE_CANDIDATE, 1, T0, 4100);
	feed_role(world, EV_ROLE_CHOSEN, 1, T0, VICTIM);
	feed_begin(world, 2);
	feed_role(world, EV_ROLE_CHOSEN, 2, T0 + 4 * MS, 5000);
	feed_role(world, EV_ROLE_VICTIM, 1, T0 + 5 * MS, VICTIM);
	feed_role(world, EV_ROLE_VICTIM, 2, T0 + 6 * MS, 5000);
	feed_exit(world, 2, T0 + 7 * MS, 5000, START(5000));
	feed_end(world, 2, T0 + 8 * MS, EV_END_CHOSEN);
	feed_end(world, 1, T0 + 8 * MS, EV_END_CHOSEN);
	feed_freed(world, 2, 5000, NULL, 0);
	incident = tick_closed(world, T0 + 9 * MS);
	assert_int_equal(incident->number, 2);
	assert_int_equal(incident->victim_count, 1);
	assert_int_equal(incident->victims[0].task.tgid, 5000);
	assert_int_equal(incident->candidate_total, 0);
	incidents_release(world->incidents, incident);
	assert_null(incidents_next_closed(world->incidents));
	feed_gone(world, 1, VICTIM);
	incident = tick_closed(world, T0 + SEC);
	assert_int_equal(incident->number, 1);
	assert_int_equal(incident->victim_count, 1);
	assert_int_equal(incident->victims[0].task.tgid, VICTIM);
	assert_int_equal(incident->candidate_total, 1);
	world_free(world);
}

static void a_storm_loses_nothing_while_closed_ones_are_taken_out(void **state)
{
	struct world *world = world_new();
	struct incident *incident;
	uint32_t told = 0;

	(void)state;
	for (uint32_t number = 1; number <= 500; number++) {
		feed_begin(world, number);
		feed_kill(world, number, 10000 + number);
		if (number > 50) /* fifty are dying at any time */
			feed_gone(world, number - 50, 10000 + number - 50);
		incidents_tick(world->incidents, T0 + 200 * MS);
		while ((incident = incidents_next_closed(world->incidents)) != NULL) {
			assert_int_equal(incident->number, ++told);
			assert_int_equal(incident->closed, CLOSED_EXITED);
			incidents_release(world->incidents, incident);
		}
	}
	assert_int_equal(told, 450);
	assert_int_equal(incidents_totals(world->incidents).opened, 500);
	assert_int_equal(incidents_totals(world->incidents).evicted, 0);
	assert_int_equal(incidents_totals(world->incidents).orphans, 0);
	world_free(world);
}

static void a_storm_evicts_the_oldest_and_tells_each(void **state)
{
	struct world *world = world_new();
	struct incident *incident;
	uint32_t told = 0;

	(void)state;
	for (uint32_t number = 1; number <= 500; number++) { /* nobody dies */
		struct ev_context context = context_of(number, T0 + number);

		feed_context(world, &context);
		feed_kill(world, number, 10000 + number);
		while ((incident = incidents_next_closed(world->incidents)) != NULL) {
			assert_int_equal(incident->number, ++told);
			assert_int_equal(incident->closed, CLOSED_EVICTED);
			assert_int_equal(incident->victims[0].task.tgid, 10000 + told);
			incidents_release(world->incidents, incident);
		}
	}
	assert_int_equal(told, 500 - 120);
	assert_int_equal(incidents_totals(world->incidents).evicted, 500 - 120);
	assert_int_equal(incidents_totals(world->incidents).orphans, 0);
	world_free(world);
}

static void what_finds_the_pool_full_is_counted_and_never_mixed_in(void **state)
{
	struct world *world = world_new();
	struct incident *incident;
	uint32_t told = 0;

	(void)state;
	for (uint32_t number = 1; number <= 200; number++) { /* nobody takes anything out */
		struct ev_context context = context_of(number, T0 + number);

		feed_context(world, &context);
		feed_kill(world, number, 10000 + number);
	}
	incidents_stop(world->incidents, T0 + SEC);
	while ((incident = incidents_next_closed(world->incidents)) != NULL) {
		assert_int_equal(incident->number, ++told);
		assert_int_equal(incident->victim_count, 1);
		assert_int_equal(incident->victims[0].task.tgid, 10000 + told);
		incidents_release(world->incidents, incident);
	}
	assert_int_equal(told, 128);
	assert_int_equal(incidents_totals(world->incidents).opened, 128);
	/* Eight were told early, 72 were not told at all. */
	assert_int_equal(incidents_totals(world->incidents).evicted, 8 + 72);
	assert_int_equal(incidents_totals(world->incidents).orphans, 72 * 4);
	world_free(world);
}

static void what_comes_late_does_not_open_an_incident_again(void **state)
{
	struct world *world = world_new();

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	feed_gone(world, 1, VICTIM);
	incidents_release(world->incidents, tick_closed(world, T0 + SEC));
	feed_role(world, EV_ROLE_SIGNALLED, 1, T0 + SEC, 4243);
	feed_end(world, 1, T0 + SEC, EV_END_CHOSEN);
	feed_freed(world, 1, VICTIM, NULL, 0);
	incidents_stop(world->incidents, T0 + 9 * SEC);
	assert_null(incidents_next_closed(world->incidents));
	assert_int_equal(incidents_totals(world->incidents).orphans, 3);
	world_free(world);
}

static void facts_of_no_incident_are_passed_over(void **state)
{
	struct world *world = world_new();

	(void)state;
	feed_exit(world, 0, T0, VICTIM, START(VICTIM));
	feed_reap(world, EV_REAP_FINISH, VICTIM);
	feed_freed(world, 9, VICTIM, NULL, 0);
	feed_role(world, EV_ROLE_VICTIM, 0, T0, VICTIM);
	incidents_stop(world->incidents, T0);
	assert_null(incidents_next_closed(world->incidents));
	assert_int_equal(incidents_totals(world->incidents).opened, 0);
	assert_int_equal(incidents_totals(world->incidents).orphans, 2);
	world_free(world);
}

/* --- special kinds of kill --- */

static void a_sysrq_keeps_its_order(void **state)
{
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);
	struct incident *incident;

	(void)state;
	context.order = -1;
	context.constraint = EV_CONSTRAINT_NONE;
	context.limit_cgroup_id = 0;
	context.flags |= EV_CONTEXT_KTHREAD;
	feed_context(world, &context);
	feed_chain(world, 1, EV_LEVEL_VICTIM);
	feed_kill(world, 1, VICTIM);
	incident = take_one(world);
	assert_int_equal(incident->order, -1);
	assert_int_equal(judge(world, incident)->manual, true);
	assert_int_equal(judge(world, incident)->scope, SCOPE_GLOBAL);
	world_free(world);
}

static void a_log_line_told_before_the_mark_finds_its_victim(void **state)
{
	struct world *world = world_new();
	struct kmsg_kill line = {.pid = VICTIM,
		.uid = 1000,
		.total_vm_kb = 1000000,
		.anon_kb = 800000,
		.file_kb = 1200,
		.shmem_kb = 160,
		.pgtables_kb = 240,
		.comm = "worker"};

	(void)state;
	incidents_kmsg(world->incidents, &line, T0);
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	assert_int_equal(take_one(world)->kmsg, KMSG_AGREES);
	world_free(world);
}

static void an_old_log_line_of_another_process_with_that_pid_is_not_taken(void **state)
{
	struct world *world = world_new();
	struct kmsg_kill line = {.pid = VICTIM, .uid = 1000, .comm = "earlier"};

	(void)state;
	incidents_kmsg(world->incidents, &line, T0);
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	assert_int_equal(take_one(world)->kmsg, KMSG_NOT_READ);
	world_free(world);
}

/* It had memory when it was chosen and none a moment later: "already exiting. Skip killing the
 * task". */
static void one_let_be_by_the_kernel_was_not_killed(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_exit(world, 1, T0, VICTIM, START(VICTIM)); /* told before anybody asked for it */
	feed_begin(world, 1);
	feed_role(world, EV_ROLE_CHOSEN, 1, T0 + 1 * MS, VICTIM);
	feed_end(world, 1, T0 + 2 * MS, EV_END_CHOSEN);
	incidents_tick(world->incidents, T0 + 1 * SEC);
	incident = incidents_next_closed(world->incidents);
	assert_non_null(incident);
	assert_int_equal(incident->outcome, OUTCOME_ALREADY_EXITING);
	assert_int_equal(incident->closed, CLOSED_EXITED);
	assert_false(incident->victims[0].marked);
	world_free(world);
}

/* A kernel that interrupts tracing programs may pass over one; the memory that came back shows the
 * end. */
static void freed_memory_stands_for_an_exit_that_was_passed_over(void **state)
{
	const uint64_t usage[3] = {100, 200, 300};
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	feed_freed(world, 1, VICTIM, usage, 3);
	incidents_tick(world->incidents, T0 + 91 * MS);
	assert_null(incidents_next_closed(world->incidents)); /* the exit may still come */
	incidents_tick(world->incidents, T0 + 90 * MS + FREED_SETTLE_NS);
	incident = incidents_next_closed(world->incidents);
	assert_non_null(incident);
	assert_int_equal(incident->closed, CLOSED_EXITED);
	assert_false(incident->victims[0].exited);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pid_alone_is_completed_by_the_scan),
		cmocka_unit_test(a_pid_alone_is_completed_by_the_choice),
		cmocka_unit_test(a_pid_alone_is_completed_by_a_census),
		cmocka_unit_test(a_pid_alone_is_not_placed_in_the_cgroup_of_who_asked),
		cmocka_unit_test(a_pid_alone_does_not_blot_out_what_was_told_before),
		cmocka_unit_test(a_census_holds_the_victim_as_it_was_when_it_was_marked),
		cmocka_unit_test(a_scan_that_finds_nobody_is_told_at_once),
		cmocka_unit_test(one_like_the_last_is_only_counted_by_the_kernel_side),
		cmocka_unit_test(aborted_scans_count_on_the_latest_incident_of_that_limit),
		cmocka_unit_test(a_global_scan_does_not_count_where_the_limit_is_not_known),
		cmocka_unit_test(a_scan_whose_end_never_came_is_forgotten),
		cmocka_unit_test(two_that_run_into_each_other_stay_apart),
		cmocka_unit_test(a_storm_loses_nothing_while_closed_ones_are_taken_out),
		cmocka_unit_test(a_storm_evicts_the_oldest_and_tells_each),
		cmocka_unit_test(what_finds_the_pool_full_is_counted_and_never_mixed_in),
		cmocka_unit_test(what_comes_late_does_not_open_an_incident_again),
		cmocka_unit_test(facts_of_no_incident_are_passed_over),
		cmocka_unit_test(a_sysrq_keeps_its_order),
		cmocka_unit_test(a_log_line_told_before_the_mark_finds_its_victim),
		cmocka_unit_test(one_let_be_by_the_kernel_was_not_killed),
		cmocka_unit_test(freed_memory_stands_for_an_exit_that_was_passed_over),
		cmocka_unit_test(an_old_log_line_of_another_process_with_that_pid_is_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
