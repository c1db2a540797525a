// SPDX-License-Identifier: Apache-2.0
#include "fixture_incident.h"

/* --- one kill, from the request to the last page --- */

static void a_normal_kill_is_told_whole_once_all_is_over(void **state)
{
	struct world *world = world_new();
	struct incident *incident;
	const struct victim *victim;

	(void)state;
	strcpy(process_get(world->processes, VICTIM, START(VICTIM), 1)->cmdline, "worker -n 3");
	strcpy(process_get(world->processes, VICTIM, START(VICTIM), 1)->exe, "/bin/worker");
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	assert_null(tick_closed(world, T0 + 50 * MS));
	feed_gone(world, 1, VICTIM);
	incident = tick_closed(world, T0 + 103 * MS);
	assert_non_null(incident);
	assert_int_equal(incident->number, 1);
	assert_int_equal(incident->cpu, 3);
	assert_true(incident->time_ns == T0 + 1 * MS);
	assert_int_equal(incident->outcome, OUTCOME_KILLED);
	assert_int_equal(incident->closed, CLOSED_EXITED);
	assert_true(incident->closed_ns == T0 + 103 * MS);
	assert_true(incident->complete);
	assert_int_equal(incident->chosen.tgid, VICTIM);
	assert_string_equal(incident->victim_cmdline, "worker -n 3");
	assert_string_equal(incident->victim_exe, "/bin/worker");
	assert_int_equal(incident->levels[0].freed_usage_pages, 62144);
	assert_int_equal(incident->victim_count, 1);
	victim = &incident->victims[0];
	assert_int_equal(victim->why, VICTIM_CHOSEN);
	assert_true(victim->marked && victim->signalled && victim->exited && victim->mm_freed);
	assert_false(victim->reaped);
	assert_true(victim->killed_ns == T0 + 2 * MS);
	assert_true(victim->exit_ns == T0 + 102 * MS);
	assert_int_equal(victim->exit_code, 9);
	world_free(world);
}

static void every_counter_of_the_victim_arrives(void **state)
{
	struct world *world = world_new();
	const struct task_facts *task;

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	task = &take_one(world)->victims[0].task;
	assert_int_equal(task->tgid, VICTIM);
	assert_int_equal(task->tid, VICTIM);
	assert_int_equal(task->ppid, 4000);
	assert_int_equal(task->uid, 1000);
	assert_int_equal(task->ns_tgid, VICTIM - 4000);
	assert_int_equal(task->oom_score_adj, 0);
	assert_int_equal(task->flags, EV_TASK_RSS_EXACT | EV_TASK_SIGNALLED);
	assert_true(task->at_ns == T0 + 2 * MS);
	assert_true(task->start_ns == START(VICTIM));
	assert_true(task->mm == MM(VICTIM));
	assert_int_equal(task->cgroup_id, APP_ID);
	assert_int_equal(task->rss_pages[EV_RSS_FILE], 300);
	assert_int_equal(task->rss_pages[EV_RSS_ANON], 200000);
	assert_int_equal(task->rss_pages[EV_RSS_SWAP], 500);
	assert_int_equal(task->rss_pages[EV_RSS_SHMEM], 40);
	assert_int_equal(task->rss_exact[EV_RSS_FILE], 303);
	assert_int_equal(task->rss_exact[EV_RSS_ANON], 200017);
	assert_int_equal(task->pgtables_bytes, 60 * PAGE);
	assert_int_equal(task->total_vm_pages, 250000);
	assert_string_equal(task->comm, "worker");
	world_free(world);
}

static void what_is_released_makes_room_and_leaves_nothing(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	feed_gone(world, 1, VICTIM);
	incident = tick_closed(world, T0 + SEC);
	incidents_release(world->incidents, incident);
	assert_null(incidents_next_closed(world->incidents));
	assert_null(incidents_next_fresh(world->incidents));
	assert_true(incidents_deadline(world->incidents) == UINT64_MAX);
	world_free(world);
}

static void a_new_incident_is_handed_out_once_and_only_with_a_victim(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	assert_null(incidents_next_fresh(world->incidents));
	feed_role(world, EV_ROLE_CHOSEN, 1, T0, VICTIM);
	incident = incidents_next_fresh(world->incidents);
	assert_non_null(incident);
	assert_string_equal(incident->level_paths[0], "/pod/app");
	assert_null(incidents_next_fresh(world->incidents));
	feed_role(world, EV_ROLE_VICTIM, 1, T0, VICTIM);
	assert_null(incidents_next_fresh(world->incidents));
	world_free(world);
}

/* --- several victims --- */

static void a_group_of_ten_has_each_once_though_one_is_marked_twice(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	feed_role(world, EV_ROLE_CHOSEN, 1, T0, VICTIM);
	feed_role(world, EV_ROLE_VICTIM, 1, T0 + MS, VICTIM);
	for (uint32_t i = 0; i < 10; i++) /* the chosen one again, on its turn */
		feed_role(world, EV_ROLE_VICTIM, 1, T0 + (2 + i) * MS, VICTIM - 4 + i);
	feed_end(world, 1, T0 + 20 * MS, EV_END_CHOSEN);
	incident = take_one(world);
	assert_int_equal(incident->victim_count, 10);
	assert_int_equal(incident->victims[0].task.tgid, VICTIM);
	assert_int_equal(incident->victims[0].why, VICTIM_CHOSEN);
	assert_true(incident->victims[0].killed_ns == T0 + MS);
	assert_true(incident->victims[0].task.at_ns == T0 + MS);
	for (unsigned int i = 1; i < 10; i++) {
		assert_int_equal(incident->victims[i].why, VICTIM_GROUP);
		for (unsigned int j = 0; j < i; j++)
			assert_int_not_equal(
				incident->victims[i].task.tgid, incident->victims[j].task.tgid);
	}
	world_free(world);
}

static void a_group_is_over_when_the_last_of_it_is_gone(void **state)
{
	struct world *world = world_new();

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	feed_role(world, EV_ROLE_VICTIM, 1, T0 + 2 * MS, 4243);
	feed_gone(world, 1, VICTIM);
	assert_null(tick_closed(world, T0 + SEC));
	feed_exit(world, 1, T0 + SEC, 4243, START(4243));
	assert_null(tick_closed(world, T0 + SEC + 249 * MS));
	assert_int_equal(tick_closed(world, T0 + SEC + 250 * MS)->closed, CLOSED_EXITED);
	world_free(world);
}

static void one_that_only_shares_the_memory_is_told_apart(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	feed_role(world, EV_ROLE_SIGNALLED, 1, T0 + 5 * MS, 4243);
	incident = take_one(world);
	assert_int_equal(incident->victim_count, 2);
	assert_int_equal(incident->victims[1].why, VICTIM_SHARED_MM);
	assert_true(incident->victims[1].signalled);
	assert_false(incident->victims[1].marked);
	assert_true(incident->victims[1].killed_ns == T0 + 5 * MS);
	world_free(world);
}

static void one_that_is_signalled_and_then_marked_belongs_to_the_group(void **state)
{
	struct world *world = world_new();
	struct ev_task task = task_of(EV_ROLE_VICTIM, 1, T0 + 6 * MS, 4243);
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	feed_role(world, EV_ROLE_SIGNALLED, 1, T0 + 5 * MS, 4243);
	task.rss_pages[EV_RSS_ANON] = 77;
	feed_task(world, &task);
	incident = take_one(world);
	assert_int_equal(incident->victim_count, 2);
	assert_int_equal(incident->victims[1].why, VICTIM_GROUP);
	assert_true(incident->victims[1].marked && incident->victims[1].signalled);
	assert_int_equal(incident->victims[1].task.rss_pages[EV_RSS_ANON], 77);
	assert_true(incident->victims[1].killed_ns == T0 + 5 * MS);
	world_free(world);
}

static void memory_that_is_shared_comes_back_once_for_all(void **state)
{
	struct world *world = world_new();
	struct ev_task sharer = task_of(EV_ROLE_SIGNALLED, 1, T0 + 5 * MS, 4243);

	(void)state;
	sharer.mm = MM(VICTIM);
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	feed_task(world, &sharer);
	feed_gone(world, 1, VICTIM);
	feed_exit(world, 1, T0 + 103 * MS, 4243, START(4243));
	assert_int_equal(tick_closed(world, T0 + 103 * MS)->closed, CLOSED_EXITED);
	world_free(world);
}

static void victims_without_room_are_counted(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	for (uint32_t i = 0; i < INCIDENT_VICTIMS + 9; i++)
		feed_role(world, EV_ROLE_VICTIM, 1, T0, VICTIM + i);
	incident = take_one(world);
	assert_int_equal(incident->victim_count, INCIDENT_VICTIMS);
	assert_int_equal(incident->victims_dropped, 9);
	assert_int_equal(incidents_totals(world->incidents).victims_dropped, 9);
	world_free(world);
}

/* --- those who were dying before --- */

static struct incident *marked_only(struct world *world, bool signal_hook)
{
	struct incidents_options options = world_options(world);
	struct ev_context context = context_of(1, T0);

	options.signal_hook = signal_hook;
	world_start(world, &options);
	context.flags = 0;
	feed_context(world, &context);
	feed_chain(world, 1, EV_LEVEL_VICTIM);
	struct ev_task task = task_of(EV_ROLE_VICTIM, 1, T0 + 4 * MS, VICTIM);

	feed_task(world, &task);
	feed_end(world, 1, T0 + 5 * MS, EV_END_FREEING);
	return take_one(world);
}

static void a_mark_without_a_signal_is_for_one_that_was_dying(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct incident *incident = marked_only(world, true);

	(void)state;
	assert_int_equal(incident->victims[0].why, VICTIM_ALREADY_EXITING);
	assert_false(incident->victims[0].signalled);
	assert_int_equal(incident->outcome, OUTCOME_ALREADY_EXITING);
	assert_true(incident->time_ns == T0 + 4 * MS);
	world_free(world);
}

static void one_that_was_killed_among_the_dying_makes_it_a_kill(void **state)
{
	struct world *world = world_new();
	struct ev_task dying = task_of(EV_ROLE_VICTIM, 1, T0, VICTIM);
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	feed_task(world, &dying);
	feed_role(world, EV_ROLE_VICTIM, 1, T0 + MS, 4243);
	incident = take_one(world);
	assert_int_equal(incident->outcome, OUTCOME_KILLED);
	assert_int_equal(incident->victims[0].why, VICTIM_ALREADY_EXITING);
	assert_int_equal(incident->victims[1].why, VICTIM_GROUP);
	world_free(world);
}

static void where_signals_are_not_seen_their_absence_says_nothing(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	(void)state;
	assert_int_equal(marked_only(world, false)->victims[0].why, VICTIM_CHOSEN);
	world_free(world);
}

/* Chosen, and the kernel found it without memory: it neither signals nor marks it. */
static void one_chosen_but_never_marked_is_still_told(void **state)
{
	struct world *world = world_new();
	struct ev_task task = task_of(EV_ROLE_CHOSEN, 1, T0 + MS, VICTIM);
	struct incident *incident;

	(void)state;
	task.flags = EV_TASK_NO_MM;
	task.mm = 0;
	strcpy(process_get(world->processes, VICTIM, START(VICTIM), 1)->cmdline, "worker -n 3");
	feed_begin(world, 1);
	feed_task(world, &task);
	feed_end(world, 1, T0 + 2 * MS, EV_END_CHOSEN);
	feed_exit(world, 1, T0 + 3 * MS, VICTIM, START(VICTIM));
	incident = tick_closed(world, T0 + 3 * MS);
	assert_non_null(incident);
	assert_int_equal(incident->outcome, OUTCOME_ALREADY_EXITING);
	assert_int_equal(incident->closed, CLOSED_EXITED);
	assert_int_equal(incident->victim_count, 1);
	assert_int_equal(incident->victims[0].task.tgid, VICTIM);
	assert_int_equal(incident->victims[0].why, VICTIM_ALREADY_EXITING);
	assert_string_equal(incident->victim_cmdline, "worker -n 3");
	world_free(world);
}

static void a_mark_that_was_lost_does_not_lose_the_victim(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	feed_role(world, EV_ROLE_CHOSEN, 1, T0 + MS, VICTIM);
	incident = tick_closed(world, T0 + MS + SETTLE_NS);
	assert_non_null(incident);
	assert_int_equal(incident->closed, CLOSED_TIMEOUT);
	assert_int_equal(incident->victim_count, 1);
	assert_int_equal(incident->victims[0].why, VICTIM_CHOSEN);
	assert_int_equal(incident->outcome, OUTCOME_KILLED);
	world_free(world);
}

/* --- exits --- */

static void the_exit_of_a_new_process_of_that_pid_is_not_the_victims(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	feed_exit(world, 0, T0 + 4 * MS, VICTIM, START(VICTIM) + SEC);
	assert_null(tick_closed(world, T0 + 2 * SEC));
	incident = tick_closed(world, T0 + 2 * MS + SETTLE_NS);
	assert_int_equal(incident->closed, CLOSED_TIMEOUT);
	assert_false(incident->victims[0].exited);
	world_free(world);
}

static void a_pid_reused_within_a_group_is_another_victim(void **state)
{
	struct world *world = world_new();
	struct ev_task again = task_of(EV_ROLE_VICTIM, 1, T0 + 8 * MS, VICTIM);
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	again.start_ns = START(VICTIM) + SEC;
	feed_task(world, &again);
	feed_exit(world, 1, T0 + 9 * MS, VICTIM, again.start_ns);
	incident = take_one(world);
	assert_int_equal(incident->victim_count, 2);
	assert_false(incident->victims[0].exited);
	assert_true(incident->victims[1].exited);
	world_free(world);
}

static void an_exit_before_the_kernel_is_done_does_not_end_it(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	feed_role(world, EV_ROLE_VICTIM, 1, T0, VICTIM);
	feed_gone(world, 1, VICTIM);
	assert_null(tick_closed(world, T0 + 300 * MS));
	feed_role(world, EV_ROLE_VICTIM, 1, T0 + 301 * MS, 4243);
	feed_exit(world, 1, T0 + 302 * MS, 4243, START(4243));
	feed_freed(world, 1, 4243, NULL, 0);
	feed_end(world, 1, T0 + 303 * MS, EV_END_CHOSEN);
	incident = tick_closed(world, T0 + 303 * MS);
	assert_int_equal(incident->closed, CLOSED_EXITED);
	assert_int_equal(incident->victim_count, 2);
	world_free(world);
}

static void an_end_that_was_lost_does_not_call_it_reaped(void **state)
{
	struct world *world = world_new();

	(void)state;
	feed_begin(world, 1);
	feed_role(world, EV_ROLE_VICTIM, 1, T0, VICTIM);
	feed_gone(world, 1, VICTIM);
	assert_int_equal(tick_closed(world, T0 + SETTLE_NS)->closed, CLOSED_EXITED);
	world_free(world);
}

static void an_exit_counts_once(void **state)
{
	struct world *world = world_new();
	const struct victim *victim;

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	feed_exit(world, 1, T0 + 7 * MS, VICTIM, START(VICTIM));
	feed_exit(world, 1, T0 + 9 * MS, VICTIM, START(VICTIM));
	victim = &take_one(world)->victims[0];
	assert_true(victim->exit_ns == T0 + 7 * MS);
	world_free(world);
}

static void an_exit_told_before_the_mark_is_not_lost(void **state)
{
	struct world *world = world_new();

	(void)state;
	feed_begin(world, 1);
	feed_exit(world, 0, T0 + MS, VICTIM, START(VICTIM));
	feed_exit(world, 0, T0 + MS, 4243, START(4243) + 1); /* another of that pid */
	feed_kill(world, 1, VICTIM);
	feed_freed(world, 1, VICTIM, NULL, 0);
	assert_int_equal(tick_closed(world, T0 + 4 * MS)->closed, CLOSED_EXITED);
	world_free(world);
}

/* --- how it ends otherwise --- */

static void memory_that_does_not_come_back_is_not_waited_for_long(void **state)
{
	struct world *world = world_new();

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	feed_exit(world, 1, T0 + 100 * MS, VICTIM, START(VICTIM));
	assert_null(tick_closed(world, T0 + 349 * MS));
	assert_true(incidents_deadline(world->incidents) == T0 + 350 * MS);
	assert_int_equal(tick_closed(world, T0 + 350 * MS)->closed, CLOSED_EXITED);
	world_free(world);
}

static void the_reaper_is_told_apart_from_a_timeout(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	feed_role(world, EV_ROLE_VICTIM, 1, T0 + 2 * MS, 4243);
	feed_reap(world, EV_REAP_SKIP, VICTIM);
	feed_reap(world, EV_REAP_FINISH, VICTIM);
	feed_exit(world, 1, T0 + 4 * MS, 4243, START(4243));
	assert_true(incidents_deadline(world->incidents) == T0 + 2 * MS + SETTLE_NS);
	assert_null(tick_closed(world, T0 + 2 * MS + SETTLE_NS - 1));
	incident = tick_closed(world, T0 + 2 * MS + SETTLE_NS);
	assert_int_equal(incident->closed, CLOSED_REAPED);
	assert_true(incident->victims[0].reaped);
	assert_false(incident->victims[1].reaped);
	world_free(world);
}

static void one_that_was_neither_reaped_nor_gone_times_out(void **state)
{
	struct world *world = world_new();

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	feed_role(world, EV_ROLE_VICTIM, 1, T0 + 2 * MS, 4243);
	feed_reap(world, EV_REAP_SKIP, 4243);
	feed_reap(world, EV_REAP_FINISH, VICTIM);
	assert_int_equal(tick_closed(world, T0 + 2 * MS + SETTLE_NS)->closed, CLOSED_TIMEOUT);
	world_free(world);
}

static void the_wait_can_be_set(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct incidents_options options = world_options(world);

	(void)state;
	options.settle_ns = 7 * MS;
	world_start(world, &options);
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	assert_null(tick_closed(world, T0 + 8 * MS));
	assert_non_null(tick_closed(world, T0 + 9 * MS));
	world_free(world);
}

static void a_stop_tells_what_is_open_as_it_stands(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	feed_role(world, EV_ROLE_CANDIDATE, 2, T0, 4100);
	incidents_stop(world->incidents, T0 + 44 * MS);
	incident = incidents_next_closed(world->incidents);
	assert_int_equal(incident->number, 1);
	assert_int_equal(incident->closed, CLOSED_STOPPED);
	assert_true(incident->closed_ns == T0 + 44 * MS);
	incidents_release(world->incidents, incident);
	assert_null(incidents_next_closed(world->incidents));
	world_free(world);
}

/* Without a hook on the end of the invocation. */
static struct world *world_unbounded(void)
{
	struct world *world = calloc(1, sizeof(*world));
	struct incidents_options options = world_options(world);

	options.scope_hook = options.freed_hook = false;
	world_start(world, &options);
	return world;
}

static void where_no_end_is_told_a_lone_kill_ends_with_its_victim(void **state)
{
	struct world *world = world_unbounded();

	(void)state;
	feed_begin(world, 1);
	feed_role(world, EV_ROLE_VICTIM, 1, T0, VICTIM);
	feed_exit(world, 1, T0 + MS, VICTIM, START(VICTIM));
	assert_int_equal(tick_closed(world, T0 + MS)->closed, CLOSED_EXITED);
	world_free(world);
}

static void where_no_end_is_told_a_group_is_waited_for(void **state)
{
	struct world *world = world_unbounded();
	struct ev_context context = context_of(1, T0);

	(void)state;
	context.flags = EV_CONTEXT_GROUP;
	feed_context(world, &context);
	feed_role(world, EV_ROLE_VICTIM, 1, T0, VICTIM);
	feed_exit(world, 1, T0 + MS, VICTIM, START(VICTIM));
	assert_null(tick_closed(world, T0 + 999 * MS));
	assert_true(incidents_deadline(world->incidents) == T0 + SEC);
	feed_role(world, EV_ROLE_VICTIM, 1, T0 + 999 * MS, 4243);
	assert_null(tick_closed(world, T0 + 1900 * MS));
	/* One of them lives: its exit will be told, until then there is only the long wait. */
	assert_true(incidents_deadline(world->incidents) == T0 + 999 * MS + SETTLE_NS);
	feed_exit(world, 1, T0 + 1950 * MS, 4243, START(4243));
	assert_int_equal(tick_closed(world, T0 + 1999 * MS)->victim_count, 2);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_normal_kill_is_told_whole_once_all_is_over),
		cmocka_unit_test(every_counter_of_the_victim_arrives),
		cmocka_unit_test(what_is_released_makes_room_and_leaves_nothing),
		cmocka_unit_test(a_new_incident_is_handed_out_once_and_only_with_a_victim),
		cmocka_unit_test(a_group_of_ten_has_each_once_though_one_is_marked_twice),
		cmocka_unit_test(a_group_is_over_when_the_last_of_it_is_gone),
		cmocka_unit_test(one_that_only_shares_the_memory_is_told_apart),
		cmocka_unit_test(one_that_is_signalled_and_then_marked_belongs_to_the_group),
		cmocka_unit_test(memory_that_is_shared_comes_back_once_for_all),
		cmocka_unit_test(victims_without_room_are_counted),
		cmocka_unit_test(a_mark_without_a_signal_is_for_one_that_was_dying),
		cmocka_unit_test(one_that_was_killed_among_the_dying_makes_it_a_kill),
		cmocka_unit_test(where_signals_are_not_seen_their_absence_says_nothing),
		cmocka_unit_test(one_chosen_but_never_marked_is_still_told),
		cmocka_unit_test(a_mark_that_was_lost_does_not_lose_the_victim),
		cmocka_unit_test(the_exit_of_a_new_process_of_that_pid_is_not_the_victims),
		cmocka_unit_test(a_pid_reused_within_a_group_is_another_victim),
		cmocka_unit_test(an_exit_before_the_kernel_is_done_does_not_end_it),
		cmocka_unit_test(an_end_that_was_lost_does_not_call_it_reaped),
		cmocka_unit_test(an_exit_counts_once),
		cmocka_unit_test(an_exit_told_before_the_mark_is_not_lost),
		cmocka_unit_test(memory_that_does_not_come_back_is_not_waited_for_long),
		cmocka_unit_test(the_reaper_is_told_apart_from_a_timeout),
		cmocka_unit_test(one_that_was_neither_reaped_nor_gone_times_out),
		cmocka_unit_test(the_wait_can_be_set),
		cmocka_unit_test(a_stop_tells_what_is_open_as_it_stands),
		cmocka_unit_test(where_no_end_is_told_a_lone_kill_ends_with_its_victim),
		cmocka_unit_test(where_no_end_is_told_a_group_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
