// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "judge/rank.h"

#define PAGE 4096
#define MIB (1ULL << 20)
#define GIB (1ULL << 30)
/* A limit of 128 MiB on a machine of 24 GiB. */
#define LIMIT_PAGES 32768
#define HOST_PAGES 6291456

static struct rank_candidate candidates[8];
static struct ranking ranking;

static void begin(void)
{
	memset(candidates, 0, sizeof(candidates));
	ranking = (struct ranking) {.candidates = candidates,
		.total_pages = LIMIT_PAGES,
		.host_pages = HOST_PAGES,
		.page_size = PAGE};
}

/* The next in the order of the scan, with a score as the kernel shows it. */
static struct rank_candidate *add(uint32_t pid, int64_t anon, int32_t adj)
{
	struct rank_candidate *candidate = &candidates[ranking.count++];
	int64_t score = (1000 + (anon + adj * (HOST_PAGES / 1000)) * 1000 / HOST_PAGES) * 2 / 3;

	candidate->task.tgid = pid;
	candidate->task.oom_score_adj = adj;
	candidate->task.rss_pages[EV_RSS_ANON] = anon;
	candidate->oom_score = adj == -1000 ? 0 : (uint64_t)(score < 0 ? 0 : score);
	return candidate;
}

static void assert_order(const uint32_t *pids, size_t count)
{
	rank_judge(&ranking);
	assert_int_equal(ranking.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(candidates[i].task.tgid, pids[i]);
}

#define ASSERT_ORDER(...)                                                                          \
	do {                                                                                       \
		static const uint32_t pids[] = {__VA_ARGS__};                                      \
		assert_order(pids, sizeof(pids) / sizeof(*pids));                                  \
	} while (0)

/* --- facts --- */

static void facts_become_pages(void **state)
{
	struct proc_memory memory = {.comm = "kworker/u8:2-ev",
		.ppid = 4,
		.uid = 33,
		.start_ns = 99,
		.forked = true,
		.has_memory = true,
		.oom_score_adj = -5,
		.anon_bytes = 100 * PAGE,
		.file_bytes = 7 * PAGE,
		.shmem_bytes = 3 * PAGE,
		.swap_bytes = 2 * PAGE,
		.pgtables_bytes = 5 * PAGE + 1024,
		.total_vm_bytes = 1000 * PAGE};
	struct task_facts task = rank_task(42, false, &memory, PAGE);
	struct badness badness = badness_of(&task, RSS_APPROX, LIMIT_PAGES, PAGE);

	(void)state;
	assert_int_equal(task.tgid, 42);
	assert_int_equal(task.ppid, 4);
	assert_int_equal(task.uid, 33);
	assert_string_equal(task.comm, "kworker/u8:2-ev");
	assert_int_equal(task.flags, EV_TASK_FORKED);
	assert_int_equal(badness.rss_pages, 110);
	assert_int_equal(badness.swap_pages, 2);
	assert_int_equal(badness.pgtables_pages, 5);
	assert_int_equal(badness.adj_pages, -5 * 32);
	memory.has_memory = false;
	memory.anon_bytes = memory.pgtables_bytes = UNKNOWN_U64;
	memory.kernel_thread = true;
	task = rank_task(1, true, &memory, PAGE);
	assert_int_equal(task.rss_pages[EV_RSS_ANON], 0);
	assert_int_equal(task.pgtables_bytes, 0);
	assert_int_equal(
		task.flags, EV_TASK_FORKED | EV_TASK_NO_MM | EV_TASK_KTHREAD | EV_TASK_INIT);
}

/* --- the order --- */

static void most_points_first(void **state)
{
	(void)state;
	begin();
	add(1001, 500, 0);
	add(1002, 9000, 0);
	add(1003, 4000, 0);
	ASSERT_ORDER(1002, 1003, 1001);
	assert_int_equal(ranking.eligible, 3);
	assert_int_equal(ranking.ties, 0);
	assert_int_equal(candidates[0].badness.points, 9000);
	assert_true(ranking.score_agrees);
}

static void the_adjustment_is_relative_to_this_limit(void **state)
{
	(void)state;
	begin();
	add(1001, 9000, 0);
	add(1002, 500, 300); /* 500 + 300 * 32 = 10,100 */
	ASSERT_ORDER(1002, 1001);
	assert_int_equal(candidates[0].badness.points, 10100);
	/* what /proc shows is relative to the machine */
	assert_int_equal(
		candidates[0].score, (1000 + (500 + 300 * 6291) * 1000 / HOST_PAGES) * 2 / 3);
	begin();
	ranking.total_pages = 999; /* too small a limit for any adjustment */
	add(1001, 9000, 0);
	add(1002, 500, 1000);
	ASSERT_ORDER(1001, 1002);
}

static void points_below_zero_are_still_points(void **state)
{
	(void)state;
	begin();
	add(1001, 10, -900);
	add(1002, 10, -500);
	ASSERT_ORDER(1002, 1001);
	assert_int_equal(ranking.eligible, 2);
	assert_int_equal(candidates[0].badness.points, 10 - 500 * 32);
}

/* points < chosen_points goes on to the next: an equal one takes the place. */
static void of_equals_the_last_one_scanned_wins(void **state)
{
	(void)state;
	begin();
	add(1005, 700, 0);
	add(1001, 700, 0);
	add(1004, 100, 0);
	add(1003, 700, 0);
	ASSERT_ORDER(1003, 1001, 1005, 1004);
	assert_int_equal(ranking.ties, 2);
}

static void who_may_not_be_chosen_comes_last(void **state)
{
	(void)state;
	begin();
	add(1, 20000, 0)->task.flags = EV_TASK_INIT;
	add(1002, 30000, -1000);
	add(1003, 0, 0)->task.flags = EV_TASK_NO_MM;
	add(1004, 5, -999);
	ASSERT_ORDER(1004, 1, 1003, 1002);
	assert_int_equal(ranking.eligible, 1);
	assert_string_equal(candidates[1].immune, "it is init");
	assert_string_equal(candidates[2].immune, "it has no memory left");
	assert_string_equal(candidates[3].immune, "oom_score_adj -1000");
	assert_int_equal(candidates[3].score, 0);
}

static void nobody_is_no_ranking(void **state)
{
	(void)state;
	begin();
	ranking.candidates = NULL;
	rank_judge(&ranking);
	assert_int_equal(ranking.eligible, 0);
	assert_int_equal(ranking.ties, 0);
	begin();
	add(1002, 30000, -1000);
	add(1003, 30000, -1000);
	ASSERT_ORDER(1003, 1002);
	assert_int_equal(ranking.eligible, 0);
	assert_int_equal(ranking.ties, 0);
}

static void an_unknown_ceiling_leaves_the_adjustment_out(void **state)
{
	(void)state;
	begin();
	ranking.total_pages = ranking.host_pages = UNKNOWN_U64;
	add(1001, 10, 900);
	add(1002, 20, 0);
	ASSERT_ORDER(1002, 1001);
	assert_int_equal(candidates[1].badness.points, 10);
}

/* --- what the kernel's own score gives away --- */

static void a_score_of_zero_gives_away_who_is_passed_over(void **state)
{
	(void)state;
	begin();
	add(1001, 9000, 0)->oom_score = 0;
	add(1002, 100, 0);
	ASSERT_ORDER(1002, 1001);
	assert_int_equal(ranking.eligible, 1);
	assert_non_null(strstr(candidates[1].immune, "vfork"));
}

/* With -999 the formula itself comes to 0. */
static void a_score_that_may_be_zero_gives_nothing_away(void **state)
{
	(void)state;
	begin();
	add(1001, 9000, -999)->oom_score = 0;
	add(1002, 100, 0);
	ASSERT_ORDER(1002, 1001);
	assert_int_equal(ranking.eligible, 2);
	begin();
	add(1001, 9000, 0)->oom_score = UNKNOWN_U64;
	add(1002, 100, 0);
	ASSERT_ORDER(1001, 1002);
	assert_int_equal(ranking.eligible, 2);
}

/* Before 5.9 it was points * 1000 / total: 0 for all that is small. */
static void scores_of_an_older_formula_give_nothing_away(void **state)
{
	(void)state;
	begin();
	add(1001, 9000, 0)->oom_score = 1;
	add(1002, 100, 0)->oom_score = 0;
	add(1003, 3000000, 0)->oom_score = 476;
	ASSERT_ORDER(1003, 1001, 1002);
	assert_int_equal(ranking.eligible, 3);
	assert_false(ranking.score_agrees);
}

/* --- whose limit --- */

static struct quota quota_of(uint64_t own, uint64_t above, uint64_t root)
{
	struct quota quota = {.level_count = 3, .complete = true};

	quota.levels[0].limits.max_bytes = own;
	quota.levels[1].limits.max_bytes = above;
	quota.levels[2].limits.max_bytes = root;
	return quota;
}

static int level_of(uint64_t own, uint64_t above, uint64_t root)
{
	struct quota quota = quota_of(own, above, root);

	return rank_limit_level(&quota);
}

static void the_limit_is_the_nearest_one(void **state)
{
	(void)state;
	assert_int_equal(level_of(GIB, MIB, UNKNOWN_U64), 0);
	assert_int_equal(level_of(CGROUP_NO_LIMIT, MIB, UNKNOWN_U64), 1);
	assert_int_equal(level_of(UNKNOWN_U64, CGROUP_NO_LIMIT, UNKNOWN_U64), -1);
	assert_int_equal(level_of(CGROUP_NO_LIMIT, CGROUP_NO_LIMIT, GIB), 2);
	assert_int_equal(level_of(0, CGROUP_NO_LIMIT, GIB), 0);
}

static uint64_t ceiling(
	bool v2, uint64_t max, uint64_t swap_max, uint32_t own, uint32_t vm, uint64_t swap_total)
{
	struct quota_level level = {.limits = {.max_bytes = max, .swap_max_bytes = swap_max}};

	return rank_ceiling(&level, v2, own, vm, swap_total, PAGE);
}

static void the_ceiling_is_the_limit_and_its_swap(void **state)
{
	const uint64_t none = CGROUP_NO_LIMIT, unset = UINT32_MAX;

	(void)state;
	assert_int_equal(ceiling(true, 128 * MIB, none, unset, 60, 0), 32768);
	assert_int_equal(ceiling(true, 128 * MIB, 4 * MIB, unset, 60, GIB), 32768 + 1024);
	assert_int_equal(ceiling(true, 128 * MIB, none, unset, 60, GIB), 32768 + 262144);
	/* no such file: the kernel's counter has no limit */
	assert_int_equal(ceiling(true, 128 * MIB, UNKNOWN_U64, unset, 60, GIB), 32768 + 262144);
	assert_int_equal(ceiling(true, 128 * MIB, none, unset, 0, GIB), 32768);
	assert_int_equal(ceiling(true, 0, 0, unset, 60, 0), 1);
}

/* memory+swap in one counter, and a swappiness of its own */
static void the_ceiling_of_version_1(void **state)
{
	(void)state;
	assert_int_equal(ceiling(false, 128 * MIB, 132 * MIB, 60, 0, GIB), 32768 + 1024);
	assert_int_equal(ceiling(false, 128 * MIB, 128 * MIB, 60, 60, GIB), 32768);
	assert_int_equal(ceiling(false, 128 * MIB, CGROUP_NO_LIMIT, 0, 60, GIB), 32768);
	assert_int_equal(ceiling(false, 128 * MIB, UNKNOWN_U64, 60, 60, MIB), 32768 + 256);
	assert_int_equal(ceiling(false, 128 * MIB, 132 * MIB, UINT32_MAX, 60, GIB), 32768 + 1024);
}

static void a_ceiling_that_cannot_be_known(void **state)
{
	(void)state;
	assert_true(
		ceiling(true, MIB, CGROUP_NO_LIMIT, UINT32_MAX, UINT32_MAX, GIB) == UNKNOWN_U64);
	assert_true(
		ceiling(true, MIB, CGROUP_NO_LIMIT, UINT32_MAX, 60, UNKNOWN_U64) == UNKNOWN_U64);
	/* without swap the swappiness does not matter */
	assert_int_equal(ceiling(true, MIB, CGROUP_NO_LIMIT, UINT32_MAX, UINT32_MAX, 0), 256);
}

static void counters_lag_by_a_batch_on_each_cpu(void **state)
{
	(void)state;
	assert_int_equal(rank_counter_slack(1), 32);
	assert_int_equal(rank_counter_slack(2), 64);
	assert_int_equal(rank_counter_slack(16), 512);
	assert_int_equal(rank_counter_slack(64), 8192);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(facts_become_pages),
		cmocka_unit_test(most_points_first),
		cmocka_unit_test(the_adjustment_is_relative_to_this_limit),
		cmocka_unit_test(points_below_zero_are_still_points),
		cmocka_unit_test(of_equals_the_last_one_scanned_wins),
		cmocka_unit_test(who_may_not_be_chosen_comes_last),
		cmocka_unit_test(nobody_is_no_ranking),
		cmocka_unit_test(an_unknown_ceiling_leaves_the_adjustment_out),
		cmocka_unit_test(a_score_of_zero_gives_away_who_is_passed_over),
		cmocka_unit_test(a_score_that_may_be_zero_gives_nothing_away),
		cmocka_unit_test(scores_of_an_older_formula_give_nothing_away),
		cmocka_unit_test(the_limit_is_the_nearest_one),
		cmocka_unit_test(the_ceiling_is_the_limit_and_its_swap),
		cmocka_unit_test(the_ceiling_of_version_1),
		cmocka_unit_test(a_ceiling_that_cannot_be_known),
		cmocka_unit_test(counters_lag_by_a_batch_on_each_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
