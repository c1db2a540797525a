// SPDX-License-Identifier: Apache-2.0
#include "fixture_incident.h"

/* --- the kernel's log line --- */

static struct kmsg_kill line_of_approximate(void)
{
	return (struct kmsg_kill) {.pid = VICTIM,
		.uid = 1000,
		.oom_score_adj = 0,
		.total_vm_kb = 1000000,
		.anon_kb = 800000,
		.file_kb = 1200,
		.shmem_kb = 160,
		.pgtables_kb = 240,
		.comm = "worker"};
}

static struct incident *with_line(struct world *world, const struct kmsg_kill *line)
{
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	incidents_kmsg(world->incidents, line, T0);
	return take_one(world);
}

static void assert_line(const struct kmsg_kill *line, enum kmsg_state want, const char *difference)
{
	struct world *world = world_new();
	struct incident *incident = with_line(world, line);

	assert_int_equal(incident->kmsg, want);
	assert_string_equal(incident->kmsg_difference, difference);
	world_free(world);
}

static void the_kernels_line_agrees_by_either_sum(void **state)
{
	struct kmsg_kill line = line_of_approximate();

	(void)state;
	assert_line(&line, KMSG_AGREES, "");
	line.anon_kb = 200017 * 4;
	line.file_kb = 303 * 4;
	assert_line(&line, KMSG_AGREES, "");
}

static void each_number_that_differs_is_named(void **state)
{
	struct kmsg_kill line = line_of_approximate();

#define DIFFERS(field, words)                                                                      \
	do {                                                                                       \
		line = line_of_approximate();                                                      \
		line.field += 4;                                                                   \
		assert_line(&line, KMSG_DIFFERS, words);                                           \
	} while (0)
	(void)state;
	DIFFERS(uid, "UID 1000 here, 1004 in the log");
	DIFFERS(oom_score_adj, "oom_score_adj 0 here, 4 in the log");
	DIFFERS(total_vm_kb, "total-vm 1000000 kB here, 1000004 kB in the log");
	DIFFERS(anon_kb, "anon-rss 800000 kB here, 800004 kB in the log");
	DIFFERS(file_kb, "file-rss 1200 kB here, 1204 kB in the log");
	DIFFERS(shmem_kb, "shmem-rss 160 kB here, 164 kB in the log");
	DIFFERS(pgtables_kb, "pgtables 240 kB here, 244 kB in the log");
	line = line_of_approximate();
	line.uid = 7;
	line.pgtables_kb = 0;
	assert_line(&line, KMSG_DIFFERS,
		"UID 1000 here, 7 in the log; pgtables 240 kB here, 0 kB in the log");
#undef DIFFERS
}

static enum kmsg_state state_with(uint32_t flags, uint64_t anon_kb)
{
	struct world *world = world_new();
	struct kmsg_kill line = line_of_approximate();
	struct ev_task task = task_of(EV_ROLE_VICTIM, 1, T0, VICTIM);
	enum kmsg_state ret;

	line.anon_kb = anon_kb;
	task.flags = flags;
	feed_task(world, &task);
	incidents_kmsg(world->incidents, &line, T0);
	ret = take_one(world)->kmsg;
	world_free(world);
	return ret;
}

static void a_sum_that_was_not_read_cannot_agree(void **state)
{
	(void)state;
	assert_int_equal(state_with(0, 200017 * 4), KMSG_DIFFERS);
	assert_int_equal(state_with(0, 200000 * 4), KMSG_AGREES);
}

static void where_threads_hold_counts_back_64_pages_are_no_difference(void **state)
{
	(void)state;
	assert_int_equal(state_with(EV_TASK_RSS_SPLIT, 200064 * 4), KMSG_AGREES);
	assert_int_equal(state_with(EV_TASK_RSS_SPLIT, 200065 * 4), KMSG_DIFFERS);
	assert_int_equal(state_with(EV_TASK_RSS_SPLIT, 199936 * 4), KMSG_AGREES);
	assert_int_equal(state_with(EV_TASK_RSS_SPLIT, 199935 * 4), KMSG_DIFFERS);
}

static void counters_below_zero_are_printed_as_zero(void **state)
{
	struct world *world = world_new();
	struct kmsg_kill line = line_of_approximate();
	struct ev_task task = task_of(EV_ROLE_VICTIM, 1, T0, VICTIM);

	(void)state;
	line.shmem_kb = 0;
	task.rss_pages[EV_RSS_SHMEM] = -3;
	task.rss_exact[EV_RSS_SHMEM] = 1;
	feed_task(world, &task);
	incidents_kmsg(world->incidents, &line, T0);
	assert_int_equal(take_one(world)->kmsg, KMSG_AGREES);
	world_free(world);
}

static void a_line_printed_twice_does_not_undo_agreement(void **state)
{
	struct world *world = world_new();
	struct kmsg_kill line = line_of_approximate(), again = line;

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	incidents_kmsg(world->incidents, &line, T0);
	again.anon_kb = 0;
	incidents_kmsg(world->incidents, &again, T0);
	assert_int_equal(take_one(world)->kmsg, KMSG_AGREES);
	world_free(world);
}

static void what_is_not_known_does_not_differ(void **state)
{
	struct world *world = world_new();
	struct kmsg_kill line = line_of_approximate();
	struct ev_task task = task_of(EV_ROLE_VICTIM, 1, T0, VICTIM);

	(void)state;
	task.flags = EV_TASK_NO_MM;
	task.total_vm_pages = task.pgtables_bytes = EV_UNKNOWN;
	memset(task.rss_pages, 0, sizeof(task.rss_pages));
	feed_task(world, &task);
	incidents_kmsg(world->incidents, &line, T0);
	assert_int_equal(take_one(world)->kmsg, KMSG_AGREES);
	world_free(world);
}

static void a_line_of_another_process_is_passed_over(void **state)
{
	struct world *world = world_new();
	struct kmsg_kill line = line_of_approximate();

	(void)state;
	line.pid++;
	assert_int_equal(with_line(world, &line)->kmsg, KMSG_NOT_READ);
	world_free(world);
}

/* --- memory that came back --- */

static void usage_is_laid_along_the_victims_own_chain(void **state)
{
	static const uint64_t usage[] = {5, 6, 7};
	struct world *world = world_new();
	struct incident *incident;

	(void)state;
	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	feed_freed(world, 1, VICTIM, usage, 3);
	incident = take_one(world);
	assert_true(incident->victims[0].mm_freed);
	for (int i = 0; i < 3; i++)
		assert_int_equal(incident->levels[i].freed_usage_pages, 5 + i);
	world_free(world);
}

/* /pod is the limit; a second victim lives `deep` levels below it, elsewhere. */
static struct incident *freed_elsewhere(struct world *world, unsigned int deep)
{
	static const uint64_t usage[] = {91, 92, 93, 94, 95};
	struct ev_context context = context_of(1, T0);
	struct ev_level level;
	struct ev_task other = task_of(EV_ROLE_VICTIM, 1, T0, 4243);

	context.limit_cgroup_id = POD_ID;
	feed_context(world, &context);
	level = level_of(1, 0, APP_ID);
	feed_level(world, &level, "app");
	level = level_of(1, 1, POD_ID);
	level.flags |= EV_LEVEL_LIMIT_HERE;
	feed_level(world, &level, "pod");
	level = level_of(1, 2, ROOT_ID);
	feed_level(world, &level, "");
	feed_role(world, EV_ROLE_VICTIM, 1, T0, VICTIM);
	other.cgroup_id = 88;
	feed_task(world, &other);
	feed_freed(world, 1, 4243, usage, deep + 2);
	return take_one(world);
}

static void usage_of_another_leaf_is_laid_along_from_the_root(void **state)
{
	(void)state;
	for (unsigned int deep = 0; deep < 3; deep++) {
		struct world *world = world_new();
		struct incident *incident = freed_elsewhere(world, deep);

		assert_true(incident->levels[0].freed_usage_pages == UNKNOWN_U64);
		assert_int_equal(incident->levels[1].freed_usage_pages, 91 + deep);
		assert_int_equal(incident->levels[2].freed_usage_pages, 92 + deep);
		world_free(world);
	}
}

static void assert_nothing_freed(const uint64_t *usage, unsigned int count)
{
	struct world *world = world_new();
	struct incident *incident;

	feed_begin(world, 1);
	feed_kill(world, 1, VICTIM);
	feed_freed(world, 1, VICTIM, usage, count);
	incident = take_one(world);
	assert_true(incident->victims[0].mm_freed);
	for (int i = 0; i < 3; i++)
		assert_true(incident->levels[i].freed_usage_pages == UNKNOWN_U64);
	world_free(world);
}

static void a_chain_that_cannot_be_the_victims_is_not_laid_along(void **state)
{
	static const uint64_t usage[EV_FREED_LEVELS] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

	(void)state;
	assert_nothing_freed(usage, 0);
	assert_nothing_freed(usage, 2);
	assert_nothing_freed(usage, 4);
	assert_nothing_freed(usage, EV_FREED_LEVELS);
}

static void without_the_whole_chain_usage_cannot_be_laid_along(void **state)
{
	static const uint64_t usage[] = {6, 7};
	struct world *world = world_new();
	struct ev_context context = context_of(1, T0);
	struct incident *incident;

	(void)state;
	feed_context(world, &context);
	feed_named(world, EV_LEVEL_VICTIM, 0, APP_ID, "app");
	feed_named(world, EV_LEVEL_VICTIM, 1, POD_ID, "pod");
	feed_kill(world, 1, VICTIM);
	feed_freed(world, 1, VICTIM, usage, 2);
	incident = take_one(world);
	assert_true(incident->levels[0].freed_usage_pages == UNKNOWN_U64);
	assert_true(incident->levels[1].freed_usage_pages == UNKNOWN_U64);
	world_free(world);
}

static void an_incident_that_is_reset_is_as_a_new_one(void **state)
{
	struct world *world = world_new();
	struct incident *incident, *fresh = calloc(1, sizeof(*fresh));
	struct kmsg_kill line = line_of_approximate();

	(void)state;
	line.uid = 1;
	for (uint32_t i = 0; i < 80; i++)
		feed_candidate(world, 1000 + i, 10 + i, 0);
	incident = with_line(world, &line);
	incident->gathered = true;
	incident->earlier_kills = incident->lost_events = 3;
	incident_reset(incident);
	incident_reset(fresh);
	assert_memory_equal(incident, fresh, sizeof(*fresh));
	assert_true(fresh->stat.anon_bytes == UNKNOWN_U64);
	assert_true(fresh->host.total_bytes == UNKNOWN_U64);
	assert_true(fresh->stat_usage_bytes == UNKNOWN_U64);
	free(fresh);
	incidents_free(world->incidents);
	world->incidents = NULL;
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernels_line_agrees_by_either_sum),
		cmocka_unit_test(each_number_that_differs_is_named),
		cmocka_unit_test(a_sum_that_was_not_read_cannot_agree),
		cmocka_unit_test(where_threads_hold_counts_back_64_pages_are_no_difference),
		cmocka_unit_test(counters_below_zero_are_printed_as_zero),
		cmocka_unit_test(a_line_printed_twice_does_not_undo_agreement),
		cmocka_unit_test(what_is_not_known_does_not_differ),
		cmocka_unit_test(a_line_of_another_process_is_passed_over),
		cmocka_unit_test(usage_is_laid_along_the_victims_own_chain),
		cmocka_unit_test(usage_of_another_leaf_is_laid_along_from_the_root),
		cmocka_unit_test(a_chain_that_cannot_be_the_victims_is_not_laid_along),
		cmocka_unit_test(without_the_whole_chain_usage_cannot_be_laid_along),
		cmocka_unit_test(an_incident_that_is_reset_is_as_a_new_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
