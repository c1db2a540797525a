// SPDX-License-Identifier: Apache-2.0
/* Who grew, for a person: the paragraph of an incident, and lines of their own. */
#include "text_fixture.h"

#define MIB PIC_MIB
#define EVIL "\033]0;owned\007"

/* A kill with a history; the verdicts that the judge would give with it. */
static void history(void (*situation)(struct growth_picture *))
{
	fix_memcg_kill();
	fix_judgement.verdicts[0] = fix_judgement.verdicts[1]; /* own-limit */
	fix_judgement.verdict_count = 1;
	fix_history(situation);
}

/* The paragraph alone, on so wide a line that no sentence is broken. */
static const char *paragraph(void)
{
	static char text[SINK_TEXT_MAX];
	char *start, *end;

	emit_wide();
	assert_harmless(1000);
	start = strstr(data, "\n growth ");
	assert_non_null(start);
	end = strstr(start, "\n victim ");
	assert_non_null(end);
	snprintf(text, sizeof(text), "%.*s", (int)(end + 1 - start), start);
	return text;
}

static void assert_says(const char *want)
{
	const char *text = paragraph();

	if (!strstr(text, want))
		fail_msg("no '%s' in:%s", want, text);
}

static void assert_silent(const char *unwanted)
{
	const char *text = paragraph();

	if (strstr(text, unwanted))
		fail_msg("'%s' in:%s", unwanted, text);
}

/* --- whole views --- */

static void workers_that_copy(void **state)
{
	(void)state;
	history(pic_workers);
	fix_verdict("fork-family", CONFIDENCE_LIKELY,
		"The fork family of python3[31402], 17 processes, holds 14.4 GiB of the 16.0 GiB in use; no single one of them holds most of it.",
		"private 11.5 GiB");
	fix_verdict("copy-on-write", CONFIDENCE_LIKELY,
		"11.5 GiB of the growth of 12.0 GiB are private copies of pages that were shared by fork (copy-on-write): no RSS shows them.",
		"copied 11.5 GiB");
	fix_verdict("steady-leak", CONFIDENCE_LIKELY, "Usage grew steadily.", "r2 1.00");
	assert_golden("growth-workers");
	assert_false(shows("Usage grew steadily.")); /* the paragraph says it */
}

static void one_that_leaks(void **state)
{
	(void)state;
	history(pic_leak);
	assert_golden("growth-leak");
}

static void a_spike_in_a_short_history(void **state)
{
	(void)state;
	history(pic_spike);
	assert_golden("growth-spike");
}

static void a_tmpfs(void **state)
{
	(void)state;
	history(pic_tmpfs);
	assert_golden("growth-tmpfs");
}

static void at_the_limit_all_the_time(void **state)
{
	(void)state;
	history(pic_flat);
	assert_golden("growth-flat");
}

/* --- the line that shows usage --- */

static void without_a_history_nothing_is_said(void **state)
{
	(void)state;
	fix_memcg_kill();
	emit();
	assert_false(shows("\n growth "));
}

static void blocks_reach_up_to_the_limit(void **state)
{
	(void)state;
	history(pic_workers);
	assert_says(
		" growth  ▃▃▃▄▄▄▅▅▅▅▆▆▆▇▇▇████ +12.0 GiB in 1 min, steadily by 205 MiB a second\n");
	/* Without a limit, up to the most there was. */
	fix_incident.growth.domain_max_bytes = UNKNOWN_U64;
	assert_says("▃▃▃▄▄▄▅▅▅▅▆▆▆▇▇▇████ ");
	/* A small part of a large machine is a low line. */
	fix_incident.growth.domain_max_bytes = 480 * GIB;
	assert_says(" growth  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁ ");
	/* What is above the limit is no higher than full. */
	fix_incident.growth.domain_max_bytes = GIB;
	assert_says(" growth  ████████████████████ ");
}

static void unknown_points_are_dots(void **state)
{
	(void)state;
	history(pic_workers);
	for (unsigned int i = 0; i < 31; i++)
		fix_incident.growth.points[i] = UNKNOWN_U64;
	assert_says(" growth  ..........▆▆▆▇▇▇████ ");
	for (unsigned int i = 0; i < PICTURE_POINTS; i++)
		fix_incident.growth.points[i] = UNKNOWN_U64;
	fix_trend();
	assert_says(" growth  the history is too short to tell");
}

static void an_end_that_is_not_known_is_no_usage(void **state)
{
	(void)state;
	history(pic_flat);
	fix_incident.growth.points[59] = UNKNOWN_U64;
	fix_trend();
	assert_says(" usage stood at about 2.00 GiB for 1 min\n         grew most: postgres[900]");
}

static void few_points_are_few_blocks(void **state)
{
	(void)state;
	history(pic_workers);
	fix_incident.growth.point_count = 3;
	fix_incident.growth.points[0] = 0;
	fix_incident.growth.points[1] = 8 * GIB;
	fix_incident.growth.points[2] = 16 * GIB;
	fix_trend();
	assert_says(" growth  ▁▅█ +16.0 GiB in 1 min, unevenly\n");
	fix_incident.growth.point_count = PICTURE_POINTS + 1; /* nonsense is not read */
	fix_trend();
	assert_says(" growth  the history is too short");
	memset(fix_incident.growth.points, 0, sizeof(fix_incident.growth.points));
	fix_incident.growth.point_count = 20;
	fix_incident.growth.domain_max_bytes = 0;
	fix_trend();
	assert_says(" growth  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁ usage stood at about 0 for 1 min");
}

static void growth_since_an_earlier_kill_is_told_from_there(void **state)
{
	struct growth_picture *picture = &fix_incident.growth;

	(void)state;
	history(pic_workers);
	pic_window(picture, 59, 4 * GIB);
	pic_ramp(picture, 40, 3 * GIB, 4 * GIB);
	pic_ramp(picture, 20, GIB, 4 * GIB);
	fix_trend();
	assert_says("+3.00 GiB in the last 19.0 s, steadily by 162 MiB a second\n");
}

static void a_leak_says_since_when(void **state)
{
	(void)state;
	history(pic_leak);
	assert_says("+3.00 GiB in 5 min, steadily by 15.5 MiB a second for the last 3 min 18 s\n");
}

static void what_shrank_is_said_to(void **state)
{
	struct growth_picture *picture = &fix_incident.growth;

	(void)state;
	history(pic_workers);
	pic_window(picture, 60, 4 * GIB);
	pic_ramp(picture, 60, 4 * GIB, 3 * GIB);
	fix_trend();
	assert_says(" growth  ██████████▇▇▇▇▇▇▇▇▇▇ -1.00 GiB in 1 min\n");
}

static void a_history_that_is_shorter_says_so(void **state)
{
	(void)state;
	history(pic_spike);
	assert_says("; nothing older was recorded (asked for: 1 min)\n");
	fix_incident.growth.asked_ns = 31 * PIC_SEC;
	assert_silent("nothing older");
}

static void usage_that_was_not_recorded_is_not_drawn(void **state)
{
	(void)state;
	history(pic_workers);
	fix_incident.growth.domain_known = false;
	fix_trend();
	assert_says(" growth  how usage grew was not recorded\n");
	assert_says("grew most, copies counted in: python3[31415] +747 MiB, ");
}

/* --- who --- */

static void copies_are_said_once(void **state)
{
	(void)state;
	history(pic_workers);
	assert_says("96 % of it in the fork family of python3[31402] (17 processes), "
		    "11.5 GiB by copy-on-write\n");
	fix_judgement.share.cow_upper_bound = true;
	assert_says("(17 processes), at most 11.5 GiB by copy-on-write\n");
	fix_verdict("copy-on-write", CONFIDENCE_LIKELY, "Copies.", "a number");
	assert_says("(17 processes)\n");
}

static void one_process_is_named_with_its_share(void **state)
{
	(void)state;
	history(pic_leak);
	assert_says("96 % of it in java[900]\n");
	fix_incident.growth.processes[0].delta_bytes = 9 * GIB;
	fix_trend();
	assert_says("about all of it in java[900]\n");
	fix_incident.growth.processes[0].exited = true;
	fix_incident.growth.processes[0].cow_bytes = GIB;
	assert_says("about all of it in java[900] (ended)\n");
	fix_trend();
	assert_says("about all of it in java[900] (ended), 1.00 GiB by copy-on-write\n");
	assert_says("grew most, copies counted in: java[900] +10.0 GiB (ended), sidecar");
	fix_incident.growth.process_count = 1; /* the same again */
	assert_silent("grew most");
}

static void nobody_is_named_where_nobody_did_it(void **state)
{
	(void)state;
	history(pic_leak);
	fix_incident.growth.processes[0].delta_bytes = GIB;
	fix_trend();
	assert_silent(" of it ");
	history(pic_tmpfs);
	fix_incident.growth.processes[0].cached_bytes = 0;
	fix_trend();
	assert_says("99 % of it in no process's own memory: page cache, tmpfs or kernel memory\n");
}

static void the_three_that_grew_most(void **state)
{
	struct growth_picture *picture = &fix_incident.growth;

	(void)state;
	history(pic_leak);
	assert_says(
		"grew most: java[900] +2.88 GiB, sidecar[901] +102 MiB\n"); /* 4 KiB are not told */
	pic_process(picture, "cp", 903, -200LL * (int64_t)MIB, 500 * MIB)->exited = true;
	pic_process(picture, "last", 904, 200 * MIB, 0);
	assert_says("grew most, copies counted in: java[900] +2.88 GiB, cp[903] +300 MiB (ended), "
		    "last[904] +200 MiB\n");
	picture->processes[3].cow_upper_bound = true;
	assert_says("grew most, copies at most: java[900] ");
	picture->process_count = 1000; /* nonsense is not read */
	assert_says("grew most, copies at most: java[900] ");
	picture->process_count = 0;
	assert_silent("grew most");
}

/* Page cache gave way: usage stands still, and yet somebody grew. */
static void where_usage_stands_still_growers_are_told(void **state)
{
	(void)state;
	history(pic_flat);
	assert_says("usage stood at about 2.00 GiB for 1 min\n"
		    "         grew most: postgres[900] +1000 MiB\n");
	fix_incident.growth.processes[0].delta_bytes = 7 * MIB;
	assert_silent("postgres");
}

/* --- form --- */

static void every_width_is_kept_and_every_name_harmless(void **state)
{
	static void (*const situations[])(struct growth_picture *) = {
		pic_workers, pic_leak, pic_spike, pic_tmpfs, pic_flat};

	(void)state;
	for (size_t i = 0; i < sizeof(situations) / sizeof(situations[0]); i++) {
		for (int width = 40; width < 160; width++) {
			history(situations[i]);
			fix_context.width = width;
			for (unsigned int j = 0; j < fix_incident.growth.process_count; j++)
				strcpy(fix_incident.growth.processes[j].comm, EVIL);
			strcpy(fix_incident.growth.families[0].comm, EVIL);
			emit();
			assert_harmless((size_t)width);
		}
	}
}

static void numbers_at_their_limits_are_no_trouble(void **state)
{
	struct growth_picture *picture = &fix_incident.growth;

	(void)state;
	history(pic_workers);
	for (unsigned int i = 0; i < PICTURE_POINTS; i++)
		picture->points[i] = i < 30 ? 1 : UINT64_MAX - 1;
	picture->domain_delta_bytes = INT64_MAX;
	picture->unattributed_bytes = INT64_MIN;
	picture->asked_ns = UINT64_MAX;
	for (unsigned int i = 0; i < picture->process_count; i++) {
		picture->processes[i].delta_bytes = i % 2 ? INT64_MIN : INT64_MAX;
		picture->processes[i].cow_bytes = UINT64_MAX - 1;
	}
	fix_trend();
	paragraph();
	picture->from_ns = picture->to_ns + 1; /* a clock that ran backwards */
	fix_trend();
	paragraph();
}

static void the_largest_view_fits(void **state)
{
	struct growth_picture *picture = &fix_incident.growth;

	(void)state;
	history(pic_workers);
	fill(picture->families[0].comm, EV_COMM_LEN + 1);
	for (unsigned int i = 0; i < picture->process_count; i++) {
		fill(picture->processes[i].comm, EV_COMM_LEN + 1);
		picture->processes[i].exited = picture->processes[i].cow_upper_bound = true;
	}
	emit();
	assert_harmless(80);
	assert_true(shows("(ended)"));
	assert_true(shows("incident 3\n"));
}

/* --- lines of their own --- */

static struct growth_change change;
static struct growth_pressure pressure;

static void process_change(void)
{
	fix_context_reset();
	change = (struct growth_change) {.time_ns = FIX_TIME_NS,
		.since_ns = FIX_TIME_NS - 1000000000,
		.cgroup_id = 7,
		.tgid = 31415,
		.start_ns = FIX_TIME_NS - 5000000000,
		.comm = "python3",
		.delta_bytes = 24 * MIB,
		.cow_bytes = 12 * MIB,
		.now_bytes = 961 * MIB,
		.max_bytes = UNKNOWN_U64};
}

static void assert_growth(const char *path, const char *want)
{
	buf_init(&out, data, sizeof(data));
	assert_int_equal(text_growth(&out, &fix_context, &change, path, NULL), 0);
	assert_string_equal(data, want);
	assert_harmless(4 * CGROUP_PATH_LEN);
}

static void a_process_that_grew_is_one_line(void **state)
{
	(void)state;
	process_change();
	assert_growth("/a",
		"04:23:04.000 GROWTH python3[31415] +24.0 MiB (at most 12.0 MiB more by "
		"copy-on-write) in 1.00 s, holds 961 MiB\n");
	change.cow_bytes = 0;
	change.delta_bytes = -24LL * (int64_t)MIB;
	change.exited = true;
	strcpy(change.comm, EVIL);
	assert_growth("", "04:23:04.000 GROWTH \\x1b]0;owned\\x07[31415] -24.0 MiB in 1.00 s, "
			  "ended, held 961 MiB\n");
	change.delta_bytes = INT64_MIN;
	change.cow_bytes = UNKNOWN_U64;
	change.since_ns = FIX_TIME_NS + 1;
	assert_growth("", "04:23:04.000 GROWTH \\x1b]0;owned\\x07[31415] -8.00 EiB in 0 s, "
			  "ended, held 961 MiB\n");
}

static void a_cgroup_that_grew_is_one_line(void **state)
{
	(void)state;
	process_change();
	change.is_cgroup = true;
	change.max_bytes = 16 * GIB;
	assert_growth("/a/b", "04:23:04.000 GROWTH /a/b +24.0 MiB in 1.00 s, uses 961 MiB of "
			      "16.0 GiB\n");
	change.max_bytes = UNKNOWN_U64;
	assert_growth("/a\nb" EVIL,
		"04:23:04.000 GROWTH /a\\x0ab\\x1b]0;owned\\x07 +24.0 MiB in 1.00 s, uses 961 MiB\n");
	assert_growth("", "04:23:04.000 GROWTH a cgroup whose path was not learnt +24.0 MiB in "
			  "1.00 s, uses 961 MiB\n");
}

static void whose_it_is_stands_beside_it(void **state)
{
	struct container_names names = {
		.container = "trainer", .pod = "bert-0", .namespace = "train"};
	const char *path = "/kubepods/pod1b4e28ba-2fa1-11d2-883f-0016d3cca427/"
			   "9f3c41d2a0b15e6f9f3c41d2a0b15e6f9f3c41d2a0b15e6f9f3c41d2a0b15e6f";

	(void)state;
	process_change();
	buf_init(&out, data, sizeof(data));
	assert_int_equal(text_growth(&out, &fix_context, &change, path, &names), 0);
	assert_true(shows(", holds 961 MiB, in train/bert-0/trainer\n"));
	change.is_cgroup = true;
	buf_init(&out, data, sizeof(data));
	assert_int_equal(text_growth(&out, &fix_context, &change, path, &names), 0);
	assert_true(shows("5e6f (train/bert-0/trainer) +24.0 MiB in "));
}

static void assert_pressure(const char *path, const char *why, const char *want)
{
	buf_init(&out, data, sizeof(data));
	assert_int_equal(
		text_pressure(&out, &fix_context, FIX_TIME_NS, &pressure, path, NULL, why), 0);
	assert_string_equal(data, want);
	assert_harmless(4 * CGROUP_PATH_LEN);
}

static void a_limit_that_is_near_is_one_line(void **state)
{
	(void)state;
	fix_context_reset();
	pressure = (struct growth_pressure) {.cgroup_id = 7,
		.usage_bytes = 14909 * MIB,
		.max_bytes = 16384 * MIB,
		.bytes_per_s = 120.0 * MIB,
		.left_ns = 12291666667};
	assert_pressure("/kubepods/x", "90%",
		"04:23:04.000 PRESSURE /kubepods/x at 90 % of 16.0 GiB, +120 MiB/s: full in 12.2 s "
		"(threshold 90%)\n");
	pressure.left_ns = UINT64_MAX;
	pressure.bytes_per_s = 0;
	assert_pressure("", NULL,
		"04:23:04.000 PRESSURE a cgroup whose path was not learnt at 90 % of 16.0 GiB, "
		"not growing\n");
	pressure.cgroup_id = 0;
	pressure.usage_bytes = UINT64_MAX - 1;
	pressure.max_bytes = 1;
	pressure.bytes_per_s = __builtin_inf();
	pressure.left_ns = 0;
	assert_pressure("/ignored", EVIL,
		"04:23:04.000 PRESSURE the machine at 900719925474099 % of 1 B: full in 0 s "
		"(threshold \\x1b]0;owned\\x07)\n");
	pressure.max_bytes = UNKNOWN_U64;
	pressure.usage_bytes = GIB;
	assert_pressure("/a" EVIL, "10s",
		"04:23:04.000 PRESSURE the machine at 1.00 GiB: full in 0 s (threshold 10s)\n");
}

static void a_line_is_whole_or_absent(void **state)
{
	static const char whole[] = "04:23:04.000 GROWTH python3[31415] +24.0 MiB (at most 12.0 "
				    "MiB more by copy-on-write) in 1.00 s, holds 961 MiB\n";
	static char path[CGROUP_PATH_LEN];
	char small[sizeof(whole) + 10];

	(void)state;
	process_change();
	for (size_t size = 4; size < sizeof(small); size++) {
		struct buf buf;
		int ret;

		buf_init(&buf, small, size);
		buf_puts(&buf, "abc");
		ret = text_growth(&buf, &fix_context, &change, "", NULL);
		if (ret == 0)
			assert_string_equal(small + 3, whole);
		else
			assert_string_equal(small, "abc");
		assert_int_equal(ret == 0, size > 3 + strlen(whole));
	}
	/* The longest path, every byte of it shown as four. */
	fill(path, sizeof(path));
	change.is_cgroup = true;
	buf_init(&out, data, sizeof(data));
	assert_int_equal(text_growth(&out, &fix_context, &change, path, NULL), 0);
	assert_harmless(4 * CGROUP_PATH_LEN + 100);
	assert_true(shows("uses 961 MiB\n"));
}

static void colour_is_on_the_tag_alone(void **state)
{
	(void)state;
	process_change();
	fix_context.color = true;
	buf_init(&out, data, sizeof(data));
	assert_int_equal(text_growth(&out, &fix_context, &change, "", NULL), 0);
	assert_true(shows("04:23:04.000 \033[1mGROWTH\033[0m python3[31415] "));
	buf_init(&out, data, sizeof(data));
	assert_int_equal(
		text_pressure(&out, &fix_context, FIX_TIME_NS, &pressure, "", NULL, "90%"), 0);
	assert_true(shows("04:23:04.000 \033[1;33mPRESSURE\033[0m "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers_that_copy),
		cmocka_unit_test(one_that_leaks),
		cmocka_unit_test(a_spike_in_a_short_history),
		cmocka_unit_test(a_tmpfs),
		cmocka_unit_test(at_the_limit_all_the_time),
		cmocka_unit_test(without_a_history_nothing_is_said),
		cmocka_unit_test(blocks_reach_up_to_the_limit),
		cmocka_unit_test(unknown_points_are_dots),
		cmocka_unit_test(an_end_that_is_not_known_is_no_usage),
		cmocka_unit_test(few_points_are_few_blocks),
		cmocka_unit_test(growth_since_an_earlier_kill_is_told_from_there),
		cmocka_unit_test(a_leak_says_since_when),
		cmocka_unit_test(what_shrank_is_said_to),
		cmocka_unit_test(a_history_that_is_shorter_says_so),
		cmocka_unit_test(usage_that_was_not_recorded_is_not_drawn),
		cmocka_unit_test(copies_are_said_once),
		cmocka_unit_test(one_process_is_named_with_its_share),
		cmocka_unit_test(nobody_is_named_where_nobody_did_it),
		cmocka_unit_test(the_three_that_grew_most),
		cmocka_unit_test(where_usage_stands_still_growers_are_told),
		cmocka_unit_test(every_width_is_kept_and_every_name_harmless),
		cmocka_unit_test(numbers_at_their_limits_are_no_trouble),
		cmocka_unit_test(the_largest_view_fits),
		cmocka_unit_test(a_process_that_grew_is_one_line),
		cmocka_unit_test(a_cgroup_that_grew_is_one_line),
		cmocka_unit_test(whose_it_is_stands_beside_it),
		cmocka_unit_test(a_limit_that_is_near_is_one_line),
		cmocka_unit_test(a_line_is_whole_or_absent),
		cmocka_unit_test(colour_is_on_the_tag_alone),
	};

	return cmocka_run_group_tests(tests, set_zone, NULL);
}
