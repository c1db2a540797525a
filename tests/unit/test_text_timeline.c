// SPDX-License-Identifier: Apache-2.0
/* The minutes around a kill, for a terminal. */
#include "text_fixture.h"

#include "sink/text_timeline.h"

#define MIB PIC_MIB
#define SEC 1000000000LL
#define INSTANTS 121 /* one a second, 110 of them before the kill */
#define KILL ((int64_t)FIX_TIME_NS)

static struct chart chart;
static struct timeline timeline;
static struct store_gap gaps[4];
static int64_t times[INSTANTS], usage[INSTANTS], bytes[CHART_LAYERS + 1][INSTANTS];

static void layer(const char *comm, uint32_t pid, unsigned int members, int64_t from, int64_t to)
{
	struct chart_layer *ret = &chart.layers[chart.layer_count];

	*ret = (struct chart_layer) {
		.root_tgid = pid, .members = members, .bytes = bytes[chart.layer_count]};
	strcpy(ret->comm, comm);
	for (int i = 0; i < INSTANTS; i++)
		ret->bytes[i] = from + (to - from) * (i < 110 ? i : 110) / 110;
	chart.layer_count++;
}

/* 16 GiB filled within 110 s, from 4 GiB on; half of it comes back in the 10 s after. */
static int workers(void **state)
{
	set_zone(state);
	fix_memcg_kill();
	fix_history(pic_workers);
	fix_incident.levels[0].freed_usage_pages = UNKNOWN_U64;
	memset(&chart, 0, sizeof(chart));
	chart.instants = INSTANTS;
	chart.times_ns = times;
	chart.usage_bytes = usage;
	chart.kill_ns = KILL;
	chart.limit_bytes = 16 * GIB;
	chart.whole = true;
	for (int i = 0; i < INSTANTS; i++) {
		times[i] = KILL + (i - 110) * SEC;
		usage[i] = i <= 110 ? (int64_t)(4 * GIB) + (int64_t)(12 * GIB) / 110 * i
				    : (int64_t)(8 * GIB);
	}
	layer("python3", 31402, 17, 2 * GIB, 14 * GIB);
	layer("tensorboard", 31440, 1, 200 * MIB, 210 * MIB);
	layer("", 0, 40, 100 * MIB, 100 * MIB);
	timeline = (struct timeline) {
		.incident = &fix_incident, .judgement = &fix_judgement, .chart = &chart};
	return 0;
}

static const char *tell(void)
{
	buf_init(&out, data, sizeof(data));
	assert_int_equal(text_timeline(&out, &fix_context, &timeline), 0);
	if (out.len > 0)
		assert_harmless(fix_context.width);
	return data;
}

/* Whole lines, blanks for whatever stands in the label's place. */
static void assert_line(const char *want)
{
	char line[512];

	snprintf(line, sizeof(line), "%s\n", want);
	if (!strstr(data, line))
		fail_msg("no line '%s' in:\n%s", want, data);
}

static unsigned int lines_of(const char *text)
{
	unsigned int ret = 0;

	for (; *text; text++)
		ret += *text == '\n';
	return ret;
}

static void a_whole_timeline(void **state)
{
	char want[4096], path[512];
	FILE *file;
	size_t len;

	(void)state;
	fix_incident.growth.processes[0].began = true;
	fix_incident.growth.processes[0].start_ns = FIX_TIME_NS - 40 * SEC;
	fix_incident.growth.processes[0].peak_bytes = 961 * MIB;
	fix_incident.growth.armed_count = 1;
	fix_incident.growth.armed[0] = (struct picture_armed) {FIX_TIME_NS - 20 * SEC, 0};
	tell();
	golden_path(path, sizeof(path), "timeline-workers");
	if (getenv("GOLDEN_UPDATE") != NULL)
		golden_write(path);
	file = fopen(path, "r");
	if (file == NULL)
		fail_msg("%s: %s", path, strerror(errno));
	len = fread(want, 1, sizeof(want) - 1, file);
	want[len] = '\0';
	fclose(file);
	assert_string_equal(data, want);
}

static void a_dozen_moments_closer_to_the_kill(void **state)
{
	static const char *const moments[] = {
		"  -110 s ", "   -60 s ", "   -10 s ", "    -1 s ", "    kill ", "   +10 s "};
	const char *at;

	(void)state;
	at = strstr(tell(), "usage");
	assert_non_null(at);
	for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++) {
		const char *found = strstr(at, moments[i]);

		if (!found)
			fail_msg("no '%s' after the one before in:\n%s", moments[i], data);
		at = found;
	}
	/* the header, the moments, the legend, the events */
	assert_true(lines_of(strstr(data, "usage")) <= 12 + 3 + 4);
}

static void bars_reach_up_to_the_limit(void **state)
{
	(void)state;
	tell();
	assert_non_null(
		strstr(data, "kill 16.0 GiB █████████████▉   14.0 GiB    210 MiB    100 MiB"));
	assert_non_null(strstr(data, "+10 s 8.00 GiB ███████·······"));
	usage[110] = 16 * GIB;
	assert_non_null(strstr(tell(), "kill 16.0 GiB ██████████████   14.0"));
	/* above it */
	usage[110] = 20 * GIB;
	assert_non_null(strstr(tell(), "kill 20.0 GiB ██████████████   14.0"));
	/* without one, up to the most there was */
	usage[110] = 16 * GIB;
	chart.limit_bytes = UNKNOWN_U64;
	assert_non_null(strstr(tell(), "+10 s 8.00 GiB ███████·······"));
	assert_null(strstr(data, "90"));
}

static void what_is_not_known_is_no_zero(void **state)
{
	(void)state;
	for (int i = 0; i < INSTANTS; i++)
		usage[i] = CHART_UNKNOWN;
	bytes[1][110] = CHART_UNKNOWN;
	fix_incident.growth.valid = false;
	assert_non_null(
		strstr(tell(), "kill        ? ··············   14.0 GiB          ?    100 MiB"));
	usage[110] = 0;
	assert_non_null(strstr(tell(), "kill        0 ··············"));
}

/* After the kill the last that is known need not hold any more. */
static void the_end_is_what_was_counted(void **state)
{
	(void)state;
	fix_incident.levels[0].freed_usage_pages = 3 * GIB / 4096;
	assert_non_null(strstr(tell(), "+10 s 3.00 GiB "));
	fix_incident.levels[0].freed_usage_pages = UNKNOWN_U64;
	assert_non_null(strstr(tell(), "+10 s 8.00 GiB "));
	usage[120] = usage[110];
	assert_non_null(strstr(tell(), "+10 s        ? ··············"));
}

static void families_as_many_as_fit(void **state)
{
	(void)state;
	layer("nginx", 900, 5, MIB, MIB);
	layer("sshd", 901, 1, MIB, MIB);
	tell();
	assert_line(
		"         held by: python3[31402] with all it forked (17), tensorboard[31440],\n"
		"         others (40); and 2 smaller not shown");
	fix_context.width = 120;
	tell();
	assert_true(shows("sshd"));
	assert_false(shows("not shown"));
	fix_context.width = 40;
	tell();
	assert_false(shows("held by"));
}

static void every_width_holds(void **state)
{
	(void)state;
	fix_hostile();
	fix_history(pic_workers);
	strcpy(chart.layers[0].comm, "\033[2J\xff\n\x7f\x9b\xe2\x80");
	strcpy(chart.layers[1].comm, "\xe7\x8c\xab\xe7\x8c\xab\xe7\x8c\xab");
	strcpy(fix_incident.growth.processes[0].comm, "\r\n\t\b\033]0;x\007\xff\xff\xff\xff");
	fix_incident.growth.processes[0].began = true;
	fix_incident.growth.processes[0].start_ns = FIX_TIME_NS - 40 * SEC;
	for (fix_context.width = 40; fix_context.width < 130; fix_context.width++)
		tell();
}

/* --- events --- */

static void events_stand_in_their_order(void **state)
{
	const char *kill, *gone, *near;

	(void)state;
	tell();
	near = strstr(data, "-14 s  90 % of the limit in use\n");
	kill = strstr(data, "kill  the kernel killed python3[31415]\n");
	gone = strstr(data, "+182 ms  python3[31415] was gone; 958 MiB came back\n");
	assert_true(near && kill && gone);
	assert_true(near < kill && kill < gone);
}

static void near_the_limit_from_the_beginning(void **state)
{
	(void)state;
	for (int i = 0; i < 110; i++)
		usage[i] = 15 * GIB;
	assert_non_null(strstr(tell(), "-110 s  90 % of the limit in use already\n"));
	/* it was left once: the last time counts */
	usage[100] = GIB;
	assert_non_null(strstr(tell(), "-9 s  90 % of the limit in use\n"));
	usage[110] = 4 * GIB;
	assert_null(strstr(tell(), "90 %"));
}

static void who_began_and_became_large(void **state)
{
	struct picture_process *process = &fix_incident.growth.processes[0];

	(void)state;
	fix_context.width = 120;
	process->began = true;
	process->start_ns = FIX_TIME_NS - 40 * SEC;
	process->peak_bytes = 900 * MIB;
	strcpy(process->comm, "big");
	process->tgid = 77;
	assert_non_null(strstr(tell(), "-40 s  big[77] began; held up to 900 MiB\n"));
	process->exited = true;
	assert_non_null(strstr(tell(), "900 MiB, and ended before the kill\n"));
	process->peak_bytes = 100 * MIB; /* a thirty-second of 16 GiB is 512 MiB */
	assert_null(strstr(tell(), "began"));
	process->peak_bytes = 900 * MIB;
	process->began = false;
	assert_null(strstr(tell(), "began"));
}

static void a_crowd_is_one_event(void **state)
{
	struct growth_picture *picture = &fix_incident.growth;

	(void)state;
	fix_context.width = 120;
	picture->process_count = 0;
	for (unsigned int i = 0; i < 5; i++) {
		struct picture_process *process =
			pic_process(picture, i == 4 ? "other" : "worker", 50 + i, GIB, 0);

		process->began = true;
		process->start_ns = FIX_TIME_NS - (i == 2 ? 31 : 30 - i) * SEC;
		process->peak_bytes = GIB + i * GIB / 4;
	}
	tell();
	assert_non_null(strstr(data,
		"-31 s  worker[52] and 3 more of that name began; held up to 1.75 GiB each\n"));
	assert_non_null(strstr(data, "-26 s  other[54] began; held up to 2.00 GiB\n"));
	assert_null(strstr(data, "worker[50]"));
	picture->processes[3].exited = true;
	assert_non_null(strstr(tell(), "1.75 GiB each; 1 ended before the kill\n"));
	picture->processes[1].ppid = 7; /* another's child */
	assert_non_null(strstr(tell(), "-29 s  worker[51] began; held up to 1.25 GiB\n"));
}

static void when_page_faults_were_counted(void **state)
{
	struct growth_picture *picture = &fix_incident.growth;

	(void)state;
	picture->armed_count = 2;
	picture->armed[0] =
		(struct picture_armed) {FIX_TIME_NS - 400 * SEC, FIX_TIME_NS - 50 * SEC};
	picture->armed[1] = (struct picture_armed) {FIX_TIME_NS - 20 * SEC, 0};
	tell();
	assert_non_null(
		strstr(data, "-110 s  a limit was near: page faults were counted from here on"));
	assert_non_null(strstr(data, "-50 s  page faults were counted up to here\n"));
	assert_non_null(
		strstr(data, "-20 s  a limit was near: page faults were counted from here on"));
}

static void gaps_in_the_window(void **state)
{
	int64_t kill = KILL + fix_context.wall_minus_boot_ns;

	(void)state;
	gaps[0] =
		(struct store_gap) {STORE_GAP_NOT_RUNNING, kill - 500 * SEC, kill - 80 * SEC, 0, 0};
	gaps[1] = (struct store_gap) {STORE_GAP_QUEUE, kill - 30 * SEC, kill - 25 * SEC, 0, 9};
	gaps[2] = (struct store_gap) {STORE_GAP_DISK, kill - 900 * SEC, kill - 800 * SEC, 0, 9};
	gaps[3] = (struct store_gap) {STORE_GAP_DISK, kill + 900 * SEC, kill + 950 * SEC, 0, 9};
	timeline.gaps = gaps;
	timeline.gap_count = 4;
	tell();
	assert_non_null(strstr(data, "-110 s  no recorder ran for 30.0 s\n"));
	assert_non_null(
		strstr(data, "-30 s  the disk was too slow, and points are missing, for 5.00 s\n"));
	assert_null(strstr(data, "the disk took"));
}

static void many_victims(void **state)
{
	(void)state;
	fix_group_kill();
	fix_history(pic_workers);
	for (unsigned int i = 0; i < fix_incident.victim_count; i++)
		fix_incident.victims[i].exit_ns = FIX_TIME_NS + (i + 1) * SEC;
	tell();
	assert_non_null(strstr(data, "kill  the kernel killed python3[31415] and 9 more\n"));
	assert_non_null(strstr(data, "+1 s  python3[31415] was gone; 958 MiB came back\n"));
	assert_non_null(strstr(data, "+3 s  worker2[31417] was gone\n"));
	assert_null(strstr(data, "worker3[31418] was gone"));
	assert_non_null(strstr(data, "+10 s  the last of 10 victims was gone\n"));
}

static void nobody_was_killed(void **state)
{
	(void)state;
	fix_nobody();
	fix_history(pic_workers);
	assert_non_null(
		strstr(tell(), "kill  the limit was reached, and nobody could be killed\n"));
	fix_memcg_kill();
	fix_incident.outcome = OUTCOME_ALREADY_EXITING;
	assert_non_null(strstr(tell(), "kill  the kernel waited for python3[31415]\n"));
	fix_incident.outcome = OUTCOME_KILLED;
	fix_incident.victim_count = 0;
	assert_non_null(strstr(tell(), "the kernel killed a process whose name was lost\n"));
}

static void too_many_events_are_counted(void **state)
{
	struct growth_picture *picture = &fix_incident.growth;

	(void)state;
	for (unsigned int i = 0; i < PICTURE_PROCESSES; i++) {
		struct picture_process *process = &picture->processes[i];

		memset(process, 0, sizeof(*process));
		process->tgid = process->ppid = 100 + i;
		process->began = true;
		process->start_ns = FIX_TIME_NS - (uint64_t)(60 - i) * SEC;
		process->peak_bytes = GIB;
	}
	picture->process_count = PICTURE_PROCESSES;
	picture->armed_count = 0;
	assert_non_null(strstr(tell(), "and 3 more that are not shown\n"));
	assert_true(shows("the kernel killed "));
	assert_true(shows("was gone"));
	assert_true(shows("90 %"));
}

/* --- without series --- */

static void the_picture_serves_without_series(void **state)
{
	(void)state;
	timeline.chart = NULL;
	tell();
	assert_non_null(strstr(data, "   when   in use\n"));
	assert_non_null(strstr(data, "  -60 s 4.00 GiB "));
	assert_non_null(strstr(data, "   kill 16.0 GiB ██████████████\n"));
	assert_null(strstr(data, "held by"));
	assert_non_null(strstr(data, "90 % of the limit in use"));
}

static void without_a_history_nothing_is_said(void **state)
{
	(void)state;
	timeline.chart = NULL;
	fix_memcg_kill();
	assert_string_equal(tell(), "");
	fix_nobody();
	assert_string_equal(tell(), "");
}

static void odd_charts(void **state)
{
	(void)state;
	chart.instants = 0;
	fix_memcg_kill();
	assert_string_equal(tell(), "");
	/* one instant, at the kill or after it */
	chart.instants = 1;
	times[0] = KILL;
	assert_string_equal(tell(), "");
	times[0] = KILL + SEC;
	assert_string_equal(tell(), "");
	/* less than half a second before it */
	times[0] = KILL - SEC / 10;
	assert_non_null(strstr(tell(), "-0.1 s "));
	/* days */
	times[0] = KILL - 7000 * SEC;
	chart.instants = 1;
	assert_non_null(strstr(tell(), "  -2 h "));
	assert_true(lines_of(data) <= 12 + 3 + 4);
	/* nothing but unknown usage, nobody in it */
	workers(state);
	fix_memcg_kill();
	chart.layer_count = 0;
	chart.usage_bytes = NULL;
	tell();
	chart.limit_bytes = 0;
	tell();
}

static void no_room_leaves_nothing(void **state)
{
	char small[400];
	struct buf buf;

	(void)state;
	buf_init(&buf, small, sizeof(small));
	buf_puts(&buf, "before");
	assert_int_equal(text_timeline(&buf, &fix_context, &timeline), -ENOSPC);
	assert_string_equal(small, "before");
}

static void colour_only_where_wanted(void **state)
{
	(void)state;
	assert_null(strchr(tell(), '\033'));
	fix_context.color = true;
	buf_init(&out, data, sizeof(data));
	assert_int_equal(text_timeline(&out, &fix_context, &timeline), 0);
	assert_true(shows("\033[1;31m"));
	assert_true(shows("\033[1musage\033[0m"));
}

#define TEST(name) cmocka_unit_test_setup(name, workers)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_whole_timeline),
		TEST(a_dozen_moments_closer_to_the_kill),
		TEST(bars_reach_up_to_the_limit),
		TEST(what_is_not_known_is_no_zero),
		TEST(the_end_is_what_was_counted),
		TEST(families_as_many_as_fit),
		TEST(every_width_holds),
		TEST(events_stand_in_their_order),
		TEST(near_the_limit_from_the_beginning),
		TEST(who_began_and_became_large),
		TEST(a_crowd_is_one_event),
		TEST(when_page_faults_were_counted),
		TEST(gaps_in_the_window),
		TEST(many_victims),
		TEST(nobody_was_killed),
		TEST(too_many_events_are_counted),
		TEST(the_picture_serves_without_series),
		TEST(without_a_history_nothing_is_said),
		TEST(odd_charts),
		TEST(no_room_leaves_nothing),
		TEST(colour_only_where_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
