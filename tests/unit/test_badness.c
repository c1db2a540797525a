// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "judge/badness.h"

#define PAGE 4096

/* 25,811 pages as they were weighed on a 5.10 kernel with a ceiling of 117,116. */
static struct task_facts weighed(int32_t adj)
{
	return (struct task_facts) {.oom_score_adj = adj,
		.rss_pages = {[EV_RSS_FILE] = 200,
			[EV_RSS_ANON] = 25000,
			[EV_RSS_SHMEM] = 11,
			[EV_RSS_SWAP] = 545},
		.pgtables_bytes = 55 * PAGE + 4095};
}

static int64_t points_of(int32_t adj, uint64_t totalpages)
{
	struct task_facts task = weighed(adj);

	return badness_of(&task, RSS_APPROX, totalpages, PAGE).points;
}

static void the_sum_is_the_kernels_to_the_page(void **state)
{
	(void)state;
	assert_int_equal(points_of(0, 117116), 25811);
	assert_int_equal(points_of(300, 117116), 60911);
	assert_int_equal(points_of(-500, 117116), -32689);
}

static void every_part_is_told_and_the_parts_make_the_sum(void **state)
{
	struct task_facts task = weighed(-500);
	struct badness badness = badness_of(&task, RSS_APPROX, 117116, PAGE);

	(void)state;
	assert_int_equal(badness.rss_pages, 25211);
	assert_int_equal(badness.swap_pages, 545);
	assert_int_equal(badness.pgtables_pages, 55);
	assert_int_equal(badness.adj_pages, -58500);
	assert_int_equal(badness.total_pages, 117116);
	assert_int_equal(badness.points, 25211 + 545 + 55 - 58500);
}

static void the_ceiling_is_divided_first(void **state)
{
	(void)state;
	assert_int_equal(points_of(1000, 999), 25811);
	assert_int_equal(points_of(-999, 999), 25811);
	assert_int_equal(points_of(999, 1000), 25811 + 999);
	assert_int_equal(points_of(999, 1999), 25811 + 999);
}

static void without_a_ceiling_the_adjustment_is_left_out(void **state)
{
	struct task_facts task = weighed(300);
	struct badness badness = badness_of(&task, RSS_APPROX, UNKNOWN_U64, PAGE);

	(void)state;
	assert_int_equal(badness.points, 25811);
	assert_int_equal(badness.adj_pages, 0);
	assert_int_equal(badness.total_pages, 0);
}

static void a_counter_below_zero_counts_as_nothing(void **state)
{
	struct task_facts task = weighed(0);

	(void)state;
	task.rss_pages[EV_RSS_SHMEM] = -7;
	task.rss_pages[EV_RSS_SWAP] = -545;
	assert_int_equal(badness_of(&task, RSS_APPROX, 117116, PAGE).points, 25800 - 545);
}

static void page_tables_that_were_not_read_count_as_nothing(void **state)
{
	struct task_facts task = weighed(0);

	(void)state;
	task.pgtables_bytes = UNKNOWN_U64;
	assert_int_equal(badness_of(&task, RSS_APPROX, 117116, PAGE).points, 25811 - 55);
}

static void the_exact_sum_is_taken_only_where_it_was_read(void **state)
{
	struct task_facts task = weighed(0);

	(void)state;
	task.rss_exact[EV_RSS_ANON] = 25068;
	assert_int_equal(badness_of(&task, RSS_EXACT, 117116, PAGE).points, 25811);
	task.flags = EV_TASK_RSS_EXACT;
	assert_int_equal(badness_of(&task, RSS_EXACT, 117116, PAGE).points, 25068 + 55);
	assert_int_equal(badness_of(&task, RSS_APPROX, 117116, PAGE).points, 25811);
}

static void page_tables_are_pages_of_the_machine(void **state)
{
	struct task_facts task = weighed(0);

	(void)state;
	task.pgtables_bytes = 3 * 65536;
	assert_int_equal(badness_of(&task, RSS_APPROX, 117116, 65536).pgtables_pages, 3);
}

static int64_t oom_score(int32_t adj)
{
	struct task_facts task = weighed(adj);
	struct badness badness = badness_of(&task, RSS_APPROX, 117116, PAGE);

	return oom_score_of(&badness, 117116);
}

static void oom_score_is_what_proc_shows(void **state)
{
	struct badness none = {.points = 25811};

	(void)state;
	assert_int_equal(oom_score(0), 813);
	assert_int_equal(oom_score(300), 1013);
	assert_int_equal(oom_score(-500), 480);
	assert_int_equal(oom_score(-999), 148);
	assert_int_equal(oom_score_of(&none, 0), 0);
}

static const char *immune(uint32_t flags, int32_t adj)
{
	struct task_facts task = {.flags = flags, .oom_score_adj = adj};

	return badness_immune(&task);
}

static void who_may_not_be_chosen_and_why(void **state)
{
	(void)state;
	assert_null(immune(0, -999));
	assert_null(immune(EV_TASK_OOM_VICTIM | EV_TASK_EXITING | EV_TASK_RSS_EXACT, 0));
	assert_string_equal(immune(0, -1000), "oom_score_adj -1000");
	assert_string_equal(immune(EV_TASK_INIT, -1000), "it is init");
	assert_string_equal(immune(EV_TASK_KTHREAD, 0), "it is a kernel thread");
	assert_string_equal(immune(EV_TASK_NO_MM, 0), "it has no memory left");
	assert_string_equal(immune(EV_TASK_OOM_SKIP, 0), "the kernel gave up on it");
	assert_string_equal(immune(EV_TASK_VFORK, 0), "it is in vfork");
}

static struct incident_level limited(uint32_t flags, uint64_t max, uint64_t swap_max)
{
	return (struct incident_level) {
		.flags = flags, .max_pages = max, .swap_max_pages = swap_max, .swappiness = 30};
}

static void a_v2_ceiling_is_the_limit_and_the_swap_it_may_use(void **state)
{
	struct incident_level level = limited(EV_LEVEL_V2, 10240, 500);

	(void)state;
	assert_int_equal(memcg_ceiling(&level, 60, 9000), 10740);
	assert_int_equal(memcg_ceiling(&level, 60, 400), 10640);
	assert_int_equal(memcg_ceiling(&level, 60, 0), 10240);
	level.swap_max_pages = (uint64_t)INT64_MAX / PAGE;
	assert_int_equal(memcg_ceiling(&level, 60, 9000), 19240);
}

static void a_v1_ceiling_takes_the_swap_out_of_memory_and_swap(void **state)
{
	struct incident_level level = limited(0, 10240, 12000);

	(void)state;
	assert_int_equal(memcg_ceiling(&level, 0, 9000), 12000);
	assert_int_equal(memcg_ceiling(&level, 0, 1000), 11240);
	level.swap_max_pages = 10240;
	assert_int_equal(memcg_ceiling(&level, 60, 9000), 10240);
}

static void with_swappiness_0_there_is_no_swap_in_the_ceiling(void **state)
{
	struct incident_level v2 = limited(EV_LEVEL_V2, 10240, 500);
	struct incident_level v1 = limited(0, 10240, 12000);

	(void)state;
	v1.swappiness = 0; /* its own counts, not the machine's */
	assert_int_equal(memcg_ceiling(&v1, 60, 9000), 10240);
	assert_int_equal(memcg_ceiling(&v2, 0, 9000), 10240);
}

static void a_swappiness_that_is_not_known_makes_no_number_up(void **state)
{
	struct incident_level level = limited(EV_LEVEL_V2, 10240, 500);

	(void)state;
	assert_true(memcg_ceiling(&level, UINT32_MAX, 9000) == UNKNOWN_U64);
	assert_int_equal(memcg_ceiling(&level, UINT32_MAX, 0), 10240);
	level.swap_max_pages = 0;
	assert_int_equal(memcg_ceiling(&level, UINT32_MAX, 9000), 10240);
}

static void a_limit_of_nothing_is_a_ceiling_of_one_page(void **state)
{
	struct incident_level level = limited(EV_LEVEL_V2, 0, 0);

	(void)state;
	assert_int_equal(memcg_ceiling(&level, 60, 9000), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sum_is_the_kernels_to_the_page),
		cmocka_unit_test(every_part_is_told_and_the_parts_make_the_sum),
		cmocka_unit_test(the_ceiling_is_divided_first),
		cmocka_unit_test(without_a_ceiling_the_adjustment_is_left_out),
		cmocka_unit_test(a_counter_below_zero_counts_as_nothing),
		cmocka_unit_test(page_tables_that_were_not_read_count_as_nothing),
		cmocka_unit_test(the_exact_sum_is_taken_only_where_it_was_read),
		cmocka_unit_test(page_tables_are_pages_of_the_machine),
		cmocka_unit_test(oom_score_is_what_proc_shows),
		cmocka_unit_test(who_may_not_be_chosen_and_why),
		cmocka_unit_test(a_v2_ceiling_is_the_limit_and_the_swap_it_may_use),
		cmocka_unit_test(a_v1_ceiling_takes_the_swap_out_of_memory_and_swap),
		cmocka_unit_test(with_swappiness_0_there_is_no_swap_in_the_ceiling),
		cmocka_unit_test(a_swappiness_that_is_not_known_makes_no_number_up),
		cmocka_unit_test(a_limit_of_nothing_is_a_ceiling_of_one_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
