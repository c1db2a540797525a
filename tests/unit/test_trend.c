// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "facts/host.h"
#include "judge/trend.h"
#include "growth_fixture.h"

#define MIB PIC_MIB
#define GIB PIC_GIB
#define SEC PIC_SEC
#define NO_LIMIT UNKNOWN_U64

static struct growth_picture picture;
static struct trend trend;
static struct growth_share share;

static void judge(void)
{
	memset(&trend, 0x5a, sizeof(trend));
	trend_of(&picture, &trend);
	assert_true(trend.r2 >= 0 && trend.r2 <= 1.000001);
}

static double seconds_before_end(void)
{
	return (double)(PIC_END_NS - trend.start_ns) / SEC;
}

static void assert_near(double value, double want, double by)
{
	if (value < want - by || value > want + by)
		fail_msg("%f is not %f within %f", value, want, by);
}

/* --- kinds --- */

static void a_steady_leak_is_a_line(void **state)
{
	(void)state;
	pic_window(&picture, 59, 16 * GIB);
	pic_ramp(&picture, 60, 4 * GIB, 16 * GIB);
	judge();
	assert_int_equal(trend.kind, TREND_STEADY);
	assert_string_equal(trend_name(trend.kind), "steady");
	assert_near(trend.bytes_per_s, 12.0 * GIB / 59, 1000);
	assert_near(trend.r2, 1, 0.0001);
	assert_near(seconds_before_end(), 59, 0.1);
	assert_int_equal(trend.rise_bytes, picture.points[59] - 4 * GIB);
	assert_int_equal(trend.delta_bytes, trend.rise_bytes);
	assert_int_equal(trend.spike_ns, 0);
}

/* Nothing for 29 s, then 30 s of it. */
static void a_leak_that_began_later_is_told_from_there(void **state)
{
	(void)state;
	pic_window(&picture, 59, NO_LIMIT);
	pic_level(&picture, 29, GIB);
	pic_ramp(&picture, 31, GIB, 4 * GIB);
	judge();
	assert_int_equal(trend.kind, TREND_STEADY);
	assert_near(seconds_before_end(), 30, 0.5);
	assert_near(trend.bytes_per_s, 3.0 * GIB / 30, 0.01 * GIB);
}

/* What stands still trembles, and a leak is no ruler's line. */
static void noise_moves_the_beginning_by_little(void **state)
{
	static const int noise[] = {3, -7, 9, -2, 6, -9, 1, 8, -5, -4};

	(void)state;
	pic_window(&picture, 59, NO_LIMIT);
	pic_level(&picture, 30, GIB);
	pic_ramp(&picture, 30, GIB, 3 * GIB);
	for (unsigned int i = 0; i < 60; i++)
		picture.points[i] += (uint64_t)(noise[i % 10] * (int64_t)MIB * 4);
	judge();
	assert_int_equal(trend.kind, TREND_STEADY);
	assert_near(seconds_before_end(), 29, 2.5);
	assert_true(trend.r2 > 0.98);
}

static void a_spike_at_the_end(void **state)
{
	(void)state;
	pic_window(&picture, 59, 4 * GIB);
	pic_level(&picture, 58, GIB);
	pic_point(&picture, GIB + 100 * MIB);
	pic_point(&picture, 4 * GIB);
	judge();
	assert_int_equal(trend.kind, TREND_SPIKE);
	assert_int_equal(trend.spike_ns, SEC);
	assert_near(seconds_before_end(), 1, 0.01); /* a little more is still low */
	assert_int_equal(trend.rise_bytes, 3 * GIB);
}

static void a_spike_within_the_window(void **state)
{
	(void)state;
	pic_window(&picture, 59, 4 * GIB);
	pic_level(&picture, 20, GIB);
	pic_point(&picture, 2 * GIB);
	pic_point(&picture, 3 * GIB);
	pic_level(&picture, 38, 3 * GIB + 900 * MIB);
	judge();
	assert_int_equal(trend.kind, TREND_SPIKE);
	assert_int_equal(trend.spike_ns, 3 * SEC);
	assert_near(seconds_before_end(), 40, 0.01);
}

/* Ten minutes, ten seconds between two points: 3 s cannot be told, the last tenth can. */
static void a_long_window_has_its_last_tenth(void **state)
{
	(void)state;
	pic_window(&picture, 590, 4 * GIB);
	pic_level(&picture, 55, GIB);
	pic_ramp(&picture, 5, 2 * GIB, 4 * GIB);
	judge();
	assert_int_equal(trend.kind, TREND_SPIKE);
	assert_int_equal(trend.spike_ns, 50 * SEC);
	pic_window(&picture, 590, 4 * GIB);
	pic_level(&picture, 40, GIB);
	pic_level(&picture, 20, 4 * GIB);
	judge();
	assert_int_equal(trend.kind, TREND_UNEVEN);
	assert_int_equal(trend.spike_ns, 0);
}

/* All that is known of it is its last three seconds: no calm before it was seen. */
static void what_fills_a_short_history_is_no_spike(void **state)
{
	(void)state;
	pic_window(&picture, 3, 4 * GIB);
	pic_ramp(&picture, 60, GIB, 4 * GIB);
	judge();
	assert_int_equal(trend.kind, TREND_STEADY);
}

static void a_staircase_of_two_steps_is_uneven(void **state)
{
	(void)state;
	pic_window(&picture, 59, NO_LIMIT);
	pic_level(&picture, 20, GIB);
	pic_level(&picture, 20, 2 * GIB);
	pic_level(&picture, 20, 3 * GIB);
	judge();
	assert_int_equal(trend.kind, TREND_UNEVEN);
	assert_string_equal(trend_name(trend.kind), "uneven");
	assert_near(seconds_before_end(), 40, 0.01);
}

/* Passes are fewer than points: each value stands for some. */
static void a_staircase_of_many_steps_is_steady(void **state)
{
	(void)state;
	pic_window(&picture, 59, NO_LIMIT);
	for (unsigned int i = 0; i < 20; i++)
		pic_level(&picture, 3, (10 + i) * 100 * MIB);
	judge();
	assert_int_equal(trend.kind, TREND_STEADY);
	assert_true(trend.r2 > 0.99);
}

/* A collector that gives back less each time. */
static void a_sawtooth_that_leaks_began_at_its_last_low(void **state)
{
	(void)state;
	pic_window(&picture, 59, 4 * GIB);
	for (unsigned int tooth = 0; tooth < 6; tooth++)
		pic_ramp(&picture, 10, GIB + tooth * 300 * MIB,
			GIB + tooth * 300 * MIB + 1200 * MIB);
	judge();
	assert_int_equal(trend.kind, TREND_UNEVEN);
	assert_near(seconds_before_end(), 58, 2);
	assert_true(trend.r2 > 0.3 && trend.r2 < 0.9);
	assert_true(trend.bytes_per_s > 0);
}

/* A kill 20 s ago took it to the ground: only what came since led to this one. */
static void growth_after_an_earlier_kill_is_told_from_there(void **state)
{
	(void)state;
	pic_window(&picture, 59, 4 * GIB);
	pic_ramp(&picture, 40, 2 * GIB, 4 * GIB);
	pic_ramp(&picture, 20, GIB, 4 * GIB);
	judge();
	assert_int_equal(trend.kind, TREND_STEADY);
	assert_near(seconds_before_end(), 19, 0.5);
	assert_near((double)trend.delta_bytes, 2.0 * GIB, MIB);
	assert_near((double)trend.rise_bytes, 3.0 * GIB, MIB);
	assert_near(trend.bytes_per_s, 3.0 * GIB / 19, MIB);
}

static void what_stands_still_is_flat(void **state)
{
	(void)state;
	pic_window(&picture, 59, 16 * GIB);
	pic_level(&picture, 60, 16 * GIB);
	judge();
	assert_int_equal(trend.kind, TREND_FLAT);
	assert_string_equal(trend_name(trend.kind), "flat");
	assert_int_equal(trend.delta_bytes, 0);
	assert_int_equal(trend.start_ns, 0);
	assert_true(trend.r2 == 0 && trend.bytes_per_s == 0);
}

/* Of the limit, or, where there is none, of what is held. */
static void a_little_growth_is_flat(void **state)
{
	(void)state;
	pic_window(&picture, 59, 32 * GIB);
	pic_ramp(&picture, 60, 2 * GIB, 3 * GIB - MIB);
	judge();
	assert_int_equal(trend.kind, TREND_FLAT);
	picture.points[59] = 3 * GIB;
	judge();
	assert_int_equal(trend.kind, TREND_STEADY);
	picture.points[59] = 3 * GIB - MIB;
	picture.domain_max_bytes = NO_LIMIT;
	judge();
	assert_int_equal(trend.kind, TREND_STEADY);
}

static void what_shrinks_does_not_grow(void **state)
{
	(void)state;
	pic_window(&picture, 59, 4 * GIB);
	pic_ramp(&picture, 60, 4 * GIB, GIB);
	judge();
	assert_int_equal(trend.kind, TREND_FLAT);
	assert_near((double)trend.delta_bytes, -3.0 * GIB, MIB);
	assert_near(trend.bytes_per_s, -3.0 * GIB / 59, MIB);
	assert_int_equal(trend.rise_bytes, 0);
}

static void nothing_at_all_is_flat(void **state)
{
	(void)state;
	pic_window(&picture, 59, NO_LIMIT);
	pic_level(&picture, 60, 0);
	judge();
	assert_int_equal(trend.kind, TREND_FLAT);
}

/* --- what is not known --- */

static void two_points_are_too_few(void **state)
{
	(void)state;
	pic_window(&picture, 59, GIB);
	pic_point(&picture, 0);
	pic_point(&picture, GIB);
	judge();
	assert_int_equal(trend.kind, TREND_UNKNOWN);
	assert_string_equal(trend_name(trend.kind), "unknown");
	assert_int_equal(trend.delta_bytes, 0);
	pic_point(&picture, GIB);
	judge();
	assert_int_equal(trend.kind, TREND_UNEVEN);
}

static void without_a_record_there_is_no_trend(void **state)
{
	(void)state;
	pic_window(&picture, 59, GIB);
	pic_ramp(&picture, 60, 0, GIB);
	picture.valid = false;
	judge();
	assert_int_equal(trend.kind, TREND_UNKNOWN);
	picture.valid = true;
	picture.domain_known = false;
	judge();
	assert_int_equal(trend.kind, TREND_UNKNOWN);
	picture.domain_known = true;
	picture.from_ns = picture.to_ns;
	judge();
	assert_int_equal(trend.kind, TREND_UNKNOWN);
	picture.from_ns = picture.to_ns - 59 * SEC;
	picture.point_count = PICTURE_POINTS + 1;
	judge();
	assert_int_equal(trend.kind, TREND_UNKNOWN);
}

/* The cgroup was made 30 s ago. */
static void unknown_points_are_passed_over(void **state)
{
	(void)state;
	pic_window(&picture, 59, 4 * GIB);
	pic_level(&picture, 30, UNKNOWN_U64);
	pic_ramp(&picture, 30, GIB, 4 * GIB);
	judge();
	assert_int_equal(trend.kind, TREND_STEADY);
	assert_near(seconds_before_end(), 29, 0.5);
	for (unsigned int i = 2; i < 60; i++)
		picture.points[i] = UNKNOWN_U64;
	judge();
	assert_int_equal(trend.kind, TREND_UNKNOWN);
}

static void huge_values_do_not_overflow(void **state)
{
	(void)state;
	pic_window(&picture, 59, UINT64_MAX - 1);
	pic_ramp(&picture, 60, 0, UINT64_MAX - 1);
	judge();
	assert_int_equal(trend.kind, TREND_STEADY);
	assert_int_equal(trend.delta_bytes, INT64_MAX);
	for (unsigned int i = 0; i < 60; i++)
		picture.points[i] = UINT64_MAX - 2 - picture.points[i];
	judge();
	assert_int_equal(trend.delta_bytes, -INT64_MAX);
	for (unsigned int i = 0; i < 60; i++)
		picture.points[i] = UINT64_MAX - 1;
	judge();
	assert_int_equal(trend.kind, TREND_FLAT);
	assert_true(trend.r2 == 0 && trend.bytes_per_s == 0);
	/* A limit that is far below what is held is no limit, but must not crash. */
	picture.domain_max_bytes = 1;
	picture.points[0]--;
	judge();
	assert_int_equal(trend.spike_ns, 0);
}

/* --- who --- */

/* 4 GiB within a minute. */
static void grown(void)
{
	pic_window(&picture, 59, 16 * GIB);
	for (unsigned int i = 0; i < 60; i++)
		pic_point(&picture, 8 * GIB + 4 * GIB / 59 * i);
	picture.domain_delta_bytes = 4 * GIB;
}

static const struct growth_share *shared(void)
{
	judge();
	memset(&share, 0x5a, sizeof(share));
	growth_share_of(&picture, &trend, &share);
	return &share;
}

static void one_process_made_most_of_it(void **state)
{
	(void)state;
	grown();
	pic_process(&picture, "a", 10, GIB, 0);
	pic_process(&picture, "b", 11, 2 * GIB, 512 * MIB);
	assert_int_equal(shared()->by, GROWTH_BY_PROCESS);
	assert_int_equal(share.index, 1);
	assert_int_equal(share.growth_bytes, 4 * GIB);
	assert_int_equal(share.part_bytes, 2 * GIB + 512 * MIB);
	assert_int_equal(share.cow_bytes, 512 * MIB);
	assert_false(share.cow_upper_bound);
	picture.processes[1].cow_upper_bound = true;
	assert_true(shared()->cow_upper_bound);
	picture.processes[1].cow_bytes = UNKNOWN_U64;
	assert_int_equal(shared()->by, GROWTH_BY_NONE); /* one half is not most */
	assert_int_equal(share.growth_bytes, 4 * GIB);
}

static void a_family_made_most_where_no_process_did(void **state)
{
	(void)state;
	grown();
	pic_process(&picture, "a", 10, GIB, 512 * MIB);
	pic_process(&picture, "a", 11, GIB, 512 * MIB);
	pic_family(&picture, "a", 9, 2, 2 * GIB, GIB);
	assert_int_equal(shared()->by, GROWTH_BY_FAMILY);
	assert_int_equal(share.index, 0);
	assert_int_equal(share.part_bytes, 3 * GIB);
	assert_int_equal(share.cow_bytes, GIB);
	picture.families[0].members = 1; /* one that is left is a process */
	assert_int_equal(shared()->by, GROWTH_BY_NONE);
	picture.families[0].members = 2;
	picture.processes[0].delta_bytes = 2 * GIB;
	assert_int_equal(shared()->by, GROWTH_BY_PROCESS);
}

/* Sixteen processes map one tmpfs of 4 GiB: their counters say 64. */
static void pages_counted_more_than_once_are_no_growth(void **state)
{
	(void)state;
	grown();
	pic_family(&picture, "a", 9, 16, 64 * GIB, 0);
	assert_int_equal(shared()->by, GROWTH_BY_NONE);
	picture.families[0].delta_bytes = 5 * GIB;
	assert_int_equal(shared()->by, GROWTH_BY_FAMILY);
}

static void nobody_made_most_of_it(void **state)
{
	(void)state;
	grown();
	pic_process(&picture, "dd", 77, MIB, 0);
	picture.processes[0].cached_bytes = GIB;
	picture.unattributed_bytes = 3 * GIB;
	assert_int_equal(shared()->by, GROWTH_BY_NOBODY);
	assert_int_equal(share.part_bytes, 3 * GIB);
	assert_int_equal(share.index, PICTURE_PROCESSES); /* a third of it is not the half */
	pic_process(&picture, "cp", 78, MIB, 0);
	picture.processes[1].cached_bytes = 3 * GIB;
	assert_int_equal(shared()->index, 1);
	picture.processes[1].cached_bytes = UNKNOWN_U64;
	assert_int_equal(shared()->index, PICTURE_PROCESSES);
	picture.unattributed_bytes = -3LL * (int64_t)GIB;
	assert_int_equal(shared()->by, GROWTH_BY_NONE);
}

static void without_growth_nobody_made_it(void **state)
{
	(void)state;
	pic_window(&picture, 59, 16 * GIB);
	pic_level(&picture, 60, 16 * GIB);
	pic_process(&picture, "a", 10, 3 * GIB, GIB);
	picture.unattributed_bytes = 3 * GIB;
	assert_int_equal(shared()->by, GROWTH_BY_NONE);
	assert_int_equal(share.growth_bytes, 0);
	picture.valid = false;
	assert_int_equal(shared()->by, GROWTH_BY_NONE);
}

/* An earlier kill within the window: since the last low it is more than over the window. */
static void the_whole_is_what_came_since_the_last_low(void **state)
{
	(void)state;
	pic_window(&picture, 59, 4 * GIB);
	pic_ramp(&picture, 40, 2 * GIB, 4 * GIB);
	pic_ramp(&picture, 20, GIB, 4 * GIB);
	picture.domain_delta_bytes = 2 * GIB;
	pic_process(&picture, "a", 10, GIB + 200 * MIB, 0);
	assert_int_equal(shared()->by, GROWTH_BY_NONE);
	assert_near((double)share.growth_bytes, 3.0 * GIB, MIB);
}

static void parts_are_no_less_than_nothing_and_do_not_overflow(void **state)
{
	(void)state;
	assert_int_equal(growth_part(5, 7), 12);
	assert_int_equal(growth_part(-5, 7), 2);
	assert_int_equal(growth_part(-7, 5), 0);
	assert_int_equal(growth_part(5, UNKNOWN_U64), 5);
	assert_int_equal(growth_part(INT64_MIN, 0), 0);
	assert_int_equal(growth_part(INT64_MAX, UINT64_MAX - 1), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_steady_leak_is_a_line),
		cmocka_unit_test(a_leak_that_began_later_is_told_from_there),
		cmocka_unit_test(noise_moves_the_beginning_by_little),
		cmocka_unit_test(a_spike_at_the_end),
		cmocka_unit_test(a_spike_within_the_window),
		cmocka_unit_test(a_long_window_has_its_last_tenth),
		cmocka_unit_test(what_fills_a_short_history_is_no_spike),
		cmocka_unit_test(a_staircase_of_two_steps_is_uneven),
		cmocka_unit_test(a_staircase_of_many_steps_is_steady),
		cmocka_unit_test(a_sawtooth_that_leaks_began_at_its_last_low),
		cmocka_unit_test(growth_after_an_earlier_kill_is_told_from_there),
		cmocka_unit_test(what_stands_still_is_flat),
		cmocka_unit_test(a_little_growth_is_flat),
		cmocka_unit_test(what_shrinks_does_not_grow),
		cmocka_unit_test(nothing_at_all_is_flat),
		cmocka_unit_test(two_points_are_too_few),
		cmocka_unit_test(without_a_record_there_is_no_trend),
		cmocka_unit_test(unknown_points_are_passed_over),
		cmocka_unit_test(huge_values_do_not_overflow),
		cmocka_unit_test(one_process_made_most_of_it),
		cmocka_unit_test(a_family_made_most_where_no_process_did),
		cmocka_unit_test(pages_counted_more_than_once_are_no_growth),
		cmocka_unit_test(nobody_made_most_of_it),
		cmocka_unit_test(without_growth_nobody_made_it),
		cmocka_unit_test(the_whole_is_what_came_since_the_last_low),
		cmocka_unit_test(parts_are_no_less_than_nothing_and_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
