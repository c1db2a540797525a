// SPDX-License-Identifier: Apache-2.0
#include "fixture_incident.h"
#include "growth_fixture.h"

/* --- which of the two sums the kernel took --- */

static enum rss_match match_of(uint32_t flags, int64_t kernel_points, const char *message)
{
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);
	struct ev_task task = task_of(EV_ROLE_CHOSEN, 1, T0, VICTIM);
	enum rss_match ret;

	context.chosen_points = kernel_points;
	strcpy(context.message, message);
	feed_context(world, &context);
	feed_chain(world, 1, EV_LEVEL_VICTIM);
	task.flags = flags;
	feed_task(world, &task);
	feed_role(world, EV_ROLE_VICTIM, 1, T0, VICTIM);
	ret = judge(world, take_one(world))->rss_match;
	world_free(world);
	return ret;
}

#define APPROX 200900 /* task_of() */
#define EXACT 200920

static void the_sum_that_gives_the_kernels_points_is_named(void **state)
{
	(void)state;
	assert_int_equal(match_of(EV_TASK_RSS_EXACT, APPROX, "Out of memory"), RSS_MATCH_APPROX);
	assert_int_equal(match_of(EV_TASK_RSS_EXACT, EXACT, "Out of memory"), RSS_MATCH_EXACT);
	assert_int_equal(match_of(EV_TASK_RSS_EXACT, 5, "Out of memory"), RSS_MATCH_NEITHER);
	assert_int_equal(match_of(EV_TASK_RSS_SPLIT, APPROX, "Out of memory"), RSS_MATCH_BOTH);
	assert_int_equal(match_of(EV_TASK_RSS_SPLIT, 5, "Out of memory"), RSS_MATCH_NEITHER);
}

static void a_sum_that_was_not_read_does_not_match(void **state)
{
	(void)state;
	assert_int_equal(match_of(0, APPROX, "Out of memory"), RSS_MATCH_APPROX);
	assert_int_equal(match_of(0, EXACT, "Out of memory"), RSS_MATCH_NEITHER);
}

static void points_that_stand_for_no_sum_match_nothing(void **state)
{
	(void)state;
	assert_int_equal(match_of(EV_TASK_RSS_EXACT, 0, "Out of memory (oom_kill_allocating_task)"),
		RSS_MATCH_UNKNOWN);
	assert_int_equal(match_of(EV_TASK_RSS_EXACT, INT64_MAX, "Out of memory"),
		RSS_MATCH_UNKNOWN); /* in swapoff */
}

static void both_sums_that_are_equal_match_both(void **state)
{
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);
	struct ev_task task = task_of(EV_ROLE_CHOSEN, 1, T0, VICTIM);
	const struct judgement *judgement;

	(void)state;
	memcpy(task.rss_exact, task.rss_pages, sizeof(task.rss_exact));
	context.chosen_points = APPROX;
	feed_context(world, &context);
	feed_task(world, &task);
	feed_role(world, EV_ROLE_VICTIM, 1, T0, VICTIM);
	judgement = judge(world, take_one(world));
	assert_int_equal(judgement->rss_match, RSS_MATCH_BOTH);
	world_free(world);
}

static void without_oom_control_the_points_are_unknown(void **state)
{
	struct world *world = world_new();

	(void)state;
	feed_role(world, EV_ROLE_VICTIM, 1, T0, VICTIM);
	assert_int_equal(judge(world, take_one(world))->rss_match, RSS_MATCH_UNKNOWN);
	world_free(world);
}

/* The counters moved between the scan and the choice: the scan's reading is the kernel's. */
static void the_reading_of_the_scan_may_be_the_one_that_matches(void **state)
{
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);
	struct ev_task task = task_of(EV_ROLE_CANDIDATE, 1, T0, VICTIM);
	const struct judgement *judgement;

	(void)state;
	task.rss_pages[EV_RSS_ANON] -= 1000;
	feed_task(world, &task);
	context.chosen_points = APPROX - 1000;
	feed_context(world, &context);
	feed_kill(world, 1, VICTIM);
	judgement = judge(world, take_one(world));
	assert_int_equal(judgement->rss_match, RSS_MATCH_APPROX);
	assert_int_equal(judgement->badness.points, APPROX - 1000);
	world_free(world);
}

static void the_sums_are_shown_with_the_matching_one_first(void **state)
{
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);
	const struct judgement *judgement;
	struct incident *incident;

	(void)state;
	context.chosen_points = EXACT;
	feed_context(world, &context);
	feed_chain(world, 1, EV_LEVEL_VICTIM);
	feed_kill(world, 1, VICTIM);
	incident = take_one(world);
	host_16_gib(incident);
	judgement = judge(world, incident);
	assert_true(judgement->has_badness && judgement->has_other);
	assert_int_equal(judgement->badness.points, EXACT);
	assert_int_equal(judgement->other_badness.points, APPROX);
	assert_int_equal(judgement->badness.rss_pages, 200360);
	assert_int_equal(judgement->badness.total_pages, APP_MAX);
	/* (1000 + 200920 * 1000 / 4718592) * 2 / 3: against the machine, not the limit */
	assert_true(judgement->has_oom_score);
	assert_int_equal(judgement->victim_oom_score, (1000 + 42) * 2 / 3);
	world_free(world);
}

/* Without points: what the log's line says, else what was seen of this kernel before. */
static void the_kernels_sum_is_known_by_its_line_or_from_before(void **state)
{
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);
	struct incident *incident;

	(void)state;
	context.flags = 0;
	world->coverage.full_tier = false;
	feed_context(world, &context);
	feed_chain(world, 1, EV_LEVEL_VICTIM);
	feed_role(world, EV_ROLE_VICTIM, 1, T0, VICTIM);
	incident = take_one(world);
	host_16_gib(incident);
	assert_int_equal(judge(world, incident)->rss_sum, RSS_APPROX);
	assert_int_equal(judge(world, incident)->badness.points, APPROX);
	world->coverage.kernel_sum = RSS_MATCH_EXACT;
	assert_int_equal(judge(world, incident)->badness.points, EXACT);
	incident->kmsg = KMSG_AGREES;
	incident->kmsg_line.anon_kb = 200000 * 4;
	incident->kmsg_line.file_kb = 300 * 4;
	incident->kmsg_line.shmem_kb = 40 * 4;
	assert_int_equal(judge(world, incident)->rss_sum, RSS_APPROX);
	world->coverage.kernel_sum = RSS_MATCH_UNKNOWN;
	incident->kmsg_line.anon_kb = 200017 * 4;
	incident->kmsg_line.file_kb = 303 * 4;
	assert_int_equal(judge(world, incident)->rss_sum, RSS_EXACT);
	assert_int_equal(judge(world, incident)->rss_match, RSS_MATCH_UNKNOWN);
	incident->kmsg_line.file_kb = 300 * 4; /* half of one, half of the other: neither */
	assert_int_equal(judge(world, incident)->rss_sum, RSS_APPROX);
	world_free(world);
}

static void marked_without_a_choice_there_was_no_sum(void **state)
{
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);
	struct incident *incident;

	(void)state;
	context.flags = 0;
	feed_context(world, &context);
	feed_chain(world, 1, EV_LEVEL_VICTIM);
	feed_role(world, EV_ROLE_VICTIM, 1, T0, VICTIM);
	incident = take_one(world);
	host_16_gib(incident);
	assert_false(judge(world, incident)->has_badness);
	assert_string_equal(missing_why(judge(world, incident), "badness"),
		"the kernel marked this victim without choosing one");
	world->coverage.full_tier = false; /* a choice would not have been seen */
	assert_true(judge(world, incident)->has_badness);
	world_free(world);
}

static void one_without_memory_has_no_sum(void **state)
{
	struct world *world = world_new();
	struct ev_task task = task_of(EV_ROLE_CHOSEN, 1, T0, VICTIM);
	const struct judgement *judgement;

	(void)state;
	feed_begin(world, 1);
	task.flags = EV_TASK_NO_MM;
	feed_task(world, &task);
	feed_end(world, 1, T0, EV_END_CHOSEN);
	judgement = judge(world, take_one(world));
	assert_false(judgement->has_badness);
	assert_non_null(missing_why(judgement, "badness"));
	assert_string_equal(missing_why(judgement, "victim_anon_bytes"),
		"the victim had given up its memory already");
	world_free(world);
}

/* --- ranking --- */

static void feed_ranked(struct world *world, uint32_t pid, int64_t anon, int32_t adj)
{
	struct ev_task task = small_task(EV_ROLE_CANDIDATE, 1, pid, anon);

	task.oom_score_adj = adj;
	feed_task(world, &task);
}

static void assert_ranks(const struct incident *incident, const struct judgement *judgement,
	const uint32_t *pids, unsigned int count)
{
	assert_int_equal(judgement->ranked_count, count);
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(
			incident->candidates[judgement->ranked[i].index].task.tgid, pids[i]);
}

static void points_rank_and_the_immune_come_last(void **state)
{
	static const uint32_t want[] = {103, 101, 102, 106, 104, 105};
	struct world *world = world_new();
	struct ev_task vfork = small_task(EV_ROLE_CANDIDATE, 1, 106, 90000);
	const struct judgement *judgement;
	struct incident *incident;

	(void)state;
	feed_ranked(world, 105, 500, -1000);
	feed_ranked(world, 101, 300, 0);
	feed_ranked(world, 104, 100000, -1000); /* the largest, and safe */
	feed_ranked(world, 102, 250, 0);
	feed_ranked(world, 103, 10, 2); /* 2 * 262 */
	vfork.flags = EV_TASK_VFORK; /* more points than all, and safe, too */
	feed_task(world, &vfork);
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	incident = take_one(world);
	judgement = judge(world, incident);
	assert_ranks(incident, judgement, want, 6);
	assert_int_equal(judgement->ranked[0].badness.points, 10 + 2 * 262);
	assert_null(judgement->ranked[2].immune);
	assert_string_equal(judgement->ranked[3].immune, "it is in vfork");
	assert_string_equal(judgement->ranked[4].immune, "oom_score_adj -1000");
	world_free(world);
}

/* The kernel takes the last that it scans of those with equal points. */
static void of_equals_the_victim_leads(void **state)
{
	static const uint32_t want[] = {VICTIM, 4100, 4300};
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_role(world, EV_ROLE_CANDIDATE, 1, T0, 4100);
	feed_role(world, EV_ROLE_CANDIDATE, 1, T0, VICTIM);
	feed_role(world, EV_ROLE_CANDIDATE, 1, T0, 4300);
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	incident = take_one(world);
	assert_ranks(incident, judge(world, incident), want, 3);
	world_free(world);
}

/* --- after --- */

static struct incident *gone(struct world *world)
{
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	feed_gone(world, 1, VICTIM);
	return tick_closed(world, T0 + SEC);
}

static void what_came_back_is_counted_at_the_limit(void **state)
{
	struct world *world = world_new();
	const struct judgement *judgement = judge(world, gone(world));

	(void)state;
	assert_true(judgement->exit_ns == 100 * MS);
	assert_true(judgement->freed_bytes == 200000 * PAGE);
	assert_null(missing_why(judgement, "freed_bytes"));
	assert_null(missing_why(judgement, "exit_ms"));
	world_free(world);
}

static void a_usage_that_grew_meanwhile_gave_nothing_back(void **state)
{
	static const uint64_t usage[] = {APP_MAX + 5, 1, 1};
	struct world *world = world_new();

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	feed_freed(world, 1, VICTIM, usage, 3);
	assert_true(judge(world, take_one(world))->freed_bytes == 0);
	world_free(world);
}

static void an_exit_stamped_before_the_mark_took_no_time(void **state)
{
	struct world *world = world_new();

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	feed_exit(world, 1, T0 + MS, VICTIM, START(VICTIM));
	assert_true(judge(world, take_one(world))->exit_ns == 0);
	world_free(world);
}

/* --- composition --- */

static void stat_set(struct incident *incident, uint64_t kernel)
{
	incident->stat.anon_bytes = 100 * MIB;
	incident->stat.file_bytes = 50 * MIB;
	incident->stat.shmem_bytes = 40 * MIB; /* within file */
	incident->stat.sock_bytes = 1 * MIB;
	incident->stat.slab_bytes = 10 * MIB;
	incident->stat.kernel_stack_bytes = 2 * MIB;
	incident->stat.pagetables_bytes = 3 * MIB;
	incident->stat.percpu_bytes = 4 * MIB;
	incident->stat.vmalloc_bytes = 5 * MIB;
	incident->stat.kernel_bytes = kernel;
	incident->stat_usage_bytes = 300 * MIB;
}

static void unexplained_is_what_no_part_names(void **state)
{
	struct world *world = world_new();
	struct incident *incident = gone(world);

	(void)state;
	stat_set(incident, 30 * MIB);
	assert_true(judge(world, incident)->unexplained_bytes == (300 - 181) * MIB);
	stat_set(incident, UNKNOWN_U64); /* its parts stand for it */
	assert_true(judge(world, incident)->unexplained_bytes == (300 - 175) * MIB);
	incident->stat.hugetlb_bytes = 64 * MIB;
	assert_true(judge(world, incident)->unexplained_bytes == (300 - 239) * MIB);
	incident->stat_usage_bytes = 10 * MIB; /* read after the victim was gone */
	assert_true(judge(world, incident)->unexplained_bytes == 0);
	incident->stat_usage_bytes = UNKNOWN_U64;
	assert_true(judge(world, incident)->unexplained_bytes == UNKNOWN_U64);
	world_free(world);
}

/* --- what is missing, and why --- */

static void with_all_hooks_little_is_missing(void **state)
{
	struct world *world = world_new();
	struct incident *incident;
	const struct judgement *judgement;

	(void)state;
	strcpy(process_get(world->processes, VICTIM, START(VICTIM), 1)->cmdline, "v");
	strcpy(process_get(world->processes, VICTIM, START(VICTIM), 1)->exe, "/v");
	strcpy(process_get(world->processes, 4300, START(4300), 1)->cmdline, "a");
	feed_role(world, EV_ROLE_CANDIDATE, 1, T0, VICTIM);
	incident = gone(world);
	host_16_gib(incident);
	stat_set(incident, 30 * MIB);
	incident->kmsg = KMSG_NOT_SEEN;
	pic_workers(&incident->growth);
	world->coverage.recorder = world->coverage.charge_hook = true;
	judgement = judge(world, incident);
	for (unsigned int i = 0; i < judgement->missing_count; i++)
		print_message("missing: %s\n", judgement->missing[i].field);
	assert_int_equal(judgement->missing_count, 0);
	world_free(world);
}

static void what_was_not_recorded_is_named(void **state)
{
	static const char *const all[] = {"window_ms", "growth", "growth_cgroups",
		"growth_processes", "families", "fault_counting"};
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	incident = gone(world);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_string_equal(
			missing_why(judge(world, incident), all[i]), "no history was kept");
	world->coverage.recorder = true;
	assert_string_equal(missing_why(judge(world, incident), "growth_processes"),
		"no pass of the recorder came before this kill");
	pic_workers(&incident->growth);
	assert_int_equal(judge(world, incident)->trend.kind, TREND_STEADY);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_null(missing_why(judge(world, incident), all[i]));
	incident->growth.point_count = 2;
	assert_non_null(missing_why(judge(world, incident), "growth.kind"));
	assert_null(missing_why(judge(world, incident), "growth.delta_bytes"));
	incident->growth.domain_known = false;
	assert_string_equal(missing_why(judge(world, incident), "growth.delta_bytes"),
		"the usage was not recorded before this kill");
	world_free(world);
}

static void what_was_not_counted_is_named(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	incident = gone(world);
	pic_leak(&incident->growth);
	world->coverage.recorder = world->coverage.faults_hook = true;
	assert_string_equal(missing_why(judge(world, incident), "growth_cgroups.charged_bytes"),
		"charges could not be hooked here");
	assert_string_equal(missing_why(judge(world, incident), "fault_counting"),
		"page faults were not counted before this kill");
	world->coverage.charge_hook = true;
	world->coverage.faults_hook = false;
	assert_null(missing_why(judge(world, incident), "growth_cgroups.charged_bytes"));
	assert_string_equal(missing_why(judge(world, incident), "fault_counting"),
		"page faults cannot be counted here");
	world->coverage.faults_why = "--faults=never";
	assert_string_equal(
		missing_why(judge(world, incident), "fault_counting"), "--faults=never");
	incident->growth.armed_count = 1;
	assert_null(missing_why(judge(world, incident), "fault_counting"));
	world_free(world);
}

/* The reason that is given for a field with one thing of the coverage taken away. */
#define ASSERT_GAP(part, field, reason)                                                            \
	do {                                                                                       \
		struct world *gap_world = world_new();                                             \
		struct incident *gap_incident;                                                     \
		const char *gap_why;                                                               \
                                                                                                   \
		feed_bare(gap_world);                                                              \
		gap_incident = take_one(gap_world);                                                \
		gap_world->coverage.part = false;                                                  \
		gap_why = missing_why(judge(gap_world, gap_incident), field);                      \
		assert_non_null(gap_why);                                                          \
		assert_string_equal(gap_why, reason);                                              \
		gap_world->coverage.part = true;                                                   \
		gap_why = missing_why(judge(gap_world, gap_incident), field);                      \
		assert_true(!gap_why || strcmp(gap_why, reason) != 0);                             \
		world_free(gap_world);                                                             \
	} while (0)

/* A mark and the chain, nothing else. */
static void feed_bare(struct world *world)
{
	struct ev_context context = context_of(1, T0);

	context.flags = 0;
	feed_context(world, &context);
	feed_chain(world, 1, EV_LEVEL_VICTIM);
	feed_role(world, EV_ROLE_VICTIM, 1, T0, VICTIM);
}

static void each_gap_is_named_with_its_reason(void **state)
{
	(void)state;
	ASSERT_GAP(full_tier, "gfp_mask", "oom_kill_process could not be hooked here");
	ASSERT_GAP(full_tier, "gfp_flags", "oom_kill_process could not be hooked here");
	ASSERT_GAP(full_tier, "order", "oom_kill_process could not be hooked here");
	ASSERT_GAP(full_tier, "manual", "oom_kill_process could not be hooked here");
	ASSERT_GAP(full_tier, "badness.kernel_points", "oom_kill_process could not be hooked here");
	ASSERT_GAP(exit_hook, "exit_ms", "process exits could not be hooked here");
	ASSERT_GAP(freed_hook, "freed_bytes", "exit_mmap could not be hooked here");
	ASSERT_GAP(reaper_hook, "reaped", "the reaper's tracepoints could not be hooked here");
	ASSERT_GAP(signal_hook, "victims.why",
		"processes that only share the memory are not seen here");
	ASSERT_GAP(process_hook, "victim_cmdline", "process starts could not be hooked here");
}

static void neither_scan_nor_census_leaves_no_candidates(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_bare(world);
	incident = take_one(world);
	world->coverage.candidates_hook = false;
	assert_string_equal(missing_why(judge(world, incident), "candidates"),
		"the kernel weighed nobody, or the records were lost");
	world->coverage.census = false;
	assert_string_equal(missing_why(judge(world, incident), "candidates"),
		"neither the kernel's scan nor a census could be hooked here");
	world_free(world);
}

static void a_mark_without_a_choice_says_so(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_bare(world);
	incident = take_one(world);
	assert_string_equal(missing_why(judge(world, incident), "order"),
		"the kernel marked this victim without choosing one");
	world_free(world);
}

static void records_that_were_lost_are_named(void **state)
{
	struct world *world = world_new();
	const struct judgement *judgement;

	(void)state;
	feed_role(world, EV_ROLE_VICTIM, 1, T0, VICTIM);
	judgement = judge(world, take_one(world));
	assert_string_equal(
		missing_why(judgement, "trigger_pid"), "the record of who asked was lost");
	assert_string_equal(missing_why(judgement, "order"), "the record of who asked was lost");
	assert_string_equal(
		missing_why(judgement, "limits"), "the records of the cgroup chain were lost");
	assert_string_equal(
		missing_why(judgement, "victim_cgroup"), "the path of its cgroup was not learnt");
	assert_non_null(missing_why(judgement, "total_bytes"));
	assert_non_null(missing_why(judgement, "badness"));
	world_free(world);
}

static void a_limit_whose_level_was_lost_is_named(void **state)
{
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);
	const struct judgement *judgement;

	(void)state;
	context.limit_cgroup_id = 999;
	context.cgroup_id = 888;
	feed_context(world, &context);
	feed_chain(world, 1, EV_LEVEL_VICTIM);
	feed_kill(world, 1, VICTIM);
	judgement = judge(world, take_one(world));
	assert_string_equal(missing_why(judgement, "limit_cgroup"),
		"the records of the cgroup chain were lost");
	assert_string_equal(
		missing_why(judgement, "freed_bytes"), "the records of the cgroup chain were lost");
	assert_non_null(missing_why(judgement, "trigger_cgroup"));
	world_free(world);
}

static void a_pid_alone_has_no_counters(void **state)
{
	struct world *world = world_new();
	struct ev_task task = task_of(EV_ROLE_VICTIM, 1, T0, VICTIM);
	const struct judgement *judgement;

	(void)state;
	task.flags = EV_TASK_PARTIAL;
	task.start_ns = EV_UNKNOWN;
	feed_task(world, &task);
	judgement = judge(world, take_one(world));
	assert_false(judgement->has_badness);
	assert_string_equal(missing_why(judgement, "victim_uid"),
		"this kernel's tracepoint tells only the pid");
	assert_non_null(missing_why(judgement, "victim_swap_bytes"));
	world_free(world);
}

static void why_the_exit_was_not_seen_depends_on_the_end(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_bare(world);
	incident = take_one(world);
	assert_string_equal(missing_why(judge(world, incident), "exit_ms"),
		"the tracer was stopped before the victim was gone");
	incident->closed = CLOSED_TIMEOUT;
	assert_string_equal(missing_why(judge(world, incident), "exit_ms"),
		"the victim was not gone when the wait ended");
	incident->closed = CLOSED_EVICTED;
	assert_string_equal(missing_why(judge(world, incident), "exit_ms"),
		"too many incidents at once: this one was told before its victim was gone");
	world_free(world);
}

static void a_log_that_cannot_be_read_is_named(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_bare(world);
	incident = take_one(world);
	assert_non_null(missing_why(judge(world, incident), "kernel_log"));
	incident->kmsg = KMSG_AGREES;
	assert_null(missing_why(judge(world, incident), "kernel_log"));
	world_free(world);
}

static void a_kernel_thread_has_no_command_line_to_miss(void **state)
{
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_bare(world);
	incident = take_one(world);
	assert_non_null(missing_why(judge(world, incident), "trigger_cmdline"));
	incident->trigger_flags |= EV_CONTEXT_KTHREAD;
	assert_null(missing_why(judge(world, incident), "trigger_cmdline"));
	world_free(world);
}

static void nobody_killed_has_nothing_of_a_victim_to_miss(void **state)
{
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);
	const struct judgement *judgement;

	(void)state;
	feed_context(world, &context);
	feed_chain(world, 1, EV_LEVEL_LIMIT);
	feed_end(world, 1, T0, EV_END_NONE);
	world->coverage.signal_hook = world->coverage.reaper_hook = false;
	judgement = judge(world, incidents_next_closed(world->incidents));
	assert_null(missing_why(judgement, "victim_uid"));
	assert_null(missing_why(judgement, "victims.why"));
	assert_null(missing_why(judgement, "exit_ms"));
	assert_null(missing_why(judgement, "reaped"));
	assert_null(missing_why(judgement, "badness"));
	assert_false(judgement->has_badness);
	world_free(world);
}

static void every_value_has_a_name(void **state)
{
	(void)state;
	assert_string_equal(scope_name(SCOPE_UNKNOWN), "unknown");
	assert_string_equal(scope_name(SCOPE_MEMPOLICY), "mempolicy");
	assert_string_equal(outcome_name(OUTCOME_KILLED), "killed");
	assert_string_equal(outcome_name(OUTCOME_NO_KILLABLE), "no-killable");
	assert_string_equal(outcome_name(OUTCOME_ALREADY_EXITING), "already-exiting");
	assert_string_equal(closed_name(CLOSED_NOT), "open");
	assert_string_equal(closed_name(CLOSED_EXITED), "exited");
	assert_string_equal(closed_name(CLOSED_REAPED), "reaped");
	assert_string_equal(closed_name(CLOSED_TIMEOUT), "timeout");
	assert_string_equal(closed_name(CLOSED_EVICTED), "evicted");
	assert_string_equal(closed_name(CLOSED_STOPPED), "stopped");
	assert_string_equal(closed_name(CLOSED_AT_ONCE), "at-once");
	assert_string_equal(victim_why_name(VICTIM_CHOSEN), "chosen");
	assert_string_equal(victim_why_name(VICTIM_GROUP), "group");
	assert_string_equal(victim_why_name(VICTIM_SHARED_MM), "shared-mm");
	assert_string_equal(victim_why_name(VICTIM_ALREADY_EXITING), "already-exiting");
	assert_string_equal(rss_match_name(RSS_MATCH_NEITHER), "neither");
	assert_string_equal(rss_match_name(RSS_MATCH_APPROX), "approx");
	assert_string_equal(confidence_name(CONFIDENCE_CERTAIN), "certain");
	assert_string_equal(confidence_name(CONFIDENCE_POSSIBLE), "possible");
	assert_string_equal(kmsg_state_name(KMSG_NOT_READ), "not-read");
	assert_string_equal(kmsg_state_name(KMSG_DIFFERS), "differs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sum_that_gives_the_kernels_points_is_named),
		cmocka_unit_test(a_sum_that_was_not_read_does_not_match),
		cmocka_unit_test(points_that_stand_for_no_sum_match_nothing),
		cmocka_unit_test(both_sums_that_are_equal_match_both),
		cmocka_unit_test(without_oom_control_the_points_are_unknown),
		cmocka_unit_test(the_reading_of_the_scan_may_be_the_one_that_matches),
		cmocka_unit_test(the_sums_are_shown_with_the_matching_one_first),
		cmocka_unit_test(the_kernels_sum_is_known_by_its_line_or_from_before),
		cmocka_unit_test(marked_without_a_choice_there_was_no_sum),
		cmocka_unit_test(one_without_memory_has_no_sum),
		cmocka_unit_test(points_rank_and_the_immune_come_last),
		cmocka_unit_test(of_equals_the_victim_leads),
		cmocka_unit_test(what_came_back_is_counted_at_the_limit),
		cmocka_unit_test(a_usage_that_grew_meanwhile_gave_nothing_back),
		cmocka_unit_test(an_exit_stamped_before_the_mark_took_no_time),
		cmocka_unit_test(unexplained_is_what_no_part_names),
		cmocka_unit_test(with_all_hooks_little_is_missing),
		cmocka_unit_test(what_was_not_recorded_is_named),
		cmocka_unit_test(what_was_not_counted_is_named),
		cmocka_unit_test(each_gap_is_named_with_its_reason),
		cmocka_unit_test(neither_scan_nor_census_leaves_no_candidates),
		cmocka_unit_test(a_mark_without_a_choice_says_so),
		cmocka_unit_test(records_that_were_lost_are_named),
		cmocka_unit_test(a_limit_whose_level_was_lost_is_named),
		cmocka_unit_test(a_pid_alone_has_no_counters),
		cmocka_unit_test(why_the_exit_was_not_seen_depends_on_the_end),
		cmocka_unit_test(a_log_that_cannot_be_read_is_named),
		cmocka_unit_test(a_kernel_thread_has_no_command_line_to_miss),
		cmocka_unit_test(nobody_killed_has_nothing_of_a_victim_to_miss),
		cmocka_unit_test(every_value_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
