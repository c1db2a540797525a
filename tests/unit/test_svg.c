// SPDX-License-Identifier: Apache-2.0
#include "chart_fixture.h"
#include "markup_fixture.h"

#include "sink/svg_axis.h"
#include "sink/svg_parts.h"

static struct svg_scene scene;

static void draw_file(const struct chart *chart)
{
	markup_reset();
	assert_int_equal(
		svg_file(&fix_context, &fix_incident, &fix_judgement, chart, take_markup, NULL), 0);
	assert_well_formed();
}

/* The data of the path of that class. */
static void path_of(const char *class, char *ret, size_t size)
{
	char head[32];
	const char *at;
	size_t len;

	snprintf(head, sizeof(head), "<path class=\"%s\"", class);
	at = strstr(markup, head);
	assert_non_null(at);
	at = strstr(at, " d=\"") + 4;
	len = strcspn(at, "\"");
	assert_true(len < size);
	memcpy(ret, at, len);
	ret[len] = '\0';
}

static unsigned int count_char(const char *text, char c)
{
	unsigned int count = 0;

	for (; *text != '\0'; text++)
		count += *text == c;
	return count;
}

static void ticks_of_memory_are_powers_of_two(void **state)
{
	static const struct {
		uint64_t most, step;
	} cases[] = {
		{0, 1},
		{7, 1},
		{8, 2},
		{4096, 1024},
		{16ULL << 30, 4ULL << 30},
		{17ULL << 30, 4ULL << 30},
		{1ULL << 50, 1ULL << 48},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(axis_bytes_step(cases[i].most), cases[i].step);
	assert_true(axis_bytes_step(UINT64_MAX) > 0);
}

static void ticks_of_time_are_round(void **state)
{
	static const struct {
		int64_t span_s, step_ms;
	} cases[] = {
		{1, 100},
		{6, 500},
		{60, 5000},
		{66, 10000},
		{300, 30000},
		{600, 60000},
		{3600, 300000},
		{86400, 7200000},
		{864000, 86400000},
		{8640000, 691200000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(axis_time_step(cases[i].span_s * CHART_SEC, 12),
			cases[i].step_ms * 1000000);
}

static void times_are_told_in_the_unit_of_the_step(void **state)
{
	static const struct {
		int64_t at_ms, step_ms;
		const char *label;
	} cases[] = {
		{-60000, 5000, "-60 s"},
		{0, 5000, "0"},
		{1000, 500, "+1 s"},
		{-2500, 500, "-2.5 s"},
		{-300000, 60000, "-5 min"},
		{-300000, 30000, "-300 s"},
		{-7200000, 3600000, "-2 h"},
		{-100, 100, "-0.1 s"},
	};
	char text[32];
	struct buf buf;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_init(&buf, text, sizeof(text));
		axis_time_label(&buf, cases[i].at_ms * 1000000, cases[i].step_ms * 1000000);
		assert_string_equal(text, cases[i].label);
	}
}

static void a_file_tells_all_without_a_page(void **state)
{
	(void)state;
	page_workers();
	draw_file(&fix_chart);
	assert_has("<title>KILLED python3[31415]: its cgroup hit its 16.0\xc2\xa0GiB memory limit");
	assert_has("<desc>Memory over 1\xc2\xa0min up to the kill: in use from ");
	assert_has(">limit 16.0\xc2\xa0GiB</text>");
	assert_has(">kill</text>");
	assert_has(">-60 s</text>");
	assert_has(">0</text>");
	assert_has(">16.0\xc2\xa0GiB</text>");
	assert_has(
		"python3[31402]\xc2\xa0(17\xc2\xa0processes) <tspan fill=\"#4f5b67\">15.0\xc2\xa0GiB");
	assert_has("page faults were counted");
	assert_int_equal(count_of("<path class=\"fv\""), 1);
	assert_int_equal(count_of("<path class=\"f0\""), 1);
	assert_int_equal(count_of("<path class=\"f1\""), 1);
}

/* The area of a layer stands on those below it: at the kill the first ends where the next begins.
 */
static void layers_are_stacked(void **state)
{
	char first[8192], second[8192], corner[32];
	const char *at;

	(void)state;
	page_workers();
	draw_file(&fix_chart);
	path_of("fv", first, sizeof(first));
	path_of("f0", second, sizeof(second));
	/* The upper edge's last point is where the lower edge's first one of the next layer is. */
	at = strstr(first, "L1064.0,");
	assert_non_null(at);
	snprintf(corner, sizeof(corner), "%.*s", (int)strcspn(at + 1, "L") + 1, at);
	assert_non_null(strstr(second, corner));
}

static void what_stands_still_takes_two_points(void **state)
{
	char path[8192];

	(void)state;
	page_plain();
	for (unsigned int i = 0; i < fix_chart.instants; i++)
		fix_usage[i] = CHART_GIB;
	draw_file(&fix_chart);
	path_of("usage", path, sizeof(path));
	assert_int_equal(count_char(path, 'M'), 1);
	assert_int_equal(count_char(path, 'L'), 1);
}

static void what_is_not_known_is_a_hole(void **state)
{
	char path[16384];

	(void)state;
	page_plain();
	fix_usage[0] = CHART_UNKNOWN;
	fix_usage[100] = fix_usage[101] = CHART_UNKNOWN;
	draw_file(&fix_chart);
	path_of("usage", path, sizeof(path));
	assert_int_equal(count_char(path, 'M'), 2);
}

static void nothing_known_at_all_is_no_failure(void **state)
{
	char path[64];

	(void)state;
	page_plain();
	fix_chart.layer_count = 0;
	for (unsigned int i = 0; i < fix_chart.instants; i++)
		fix_usage[i] = CHART_UNKNOWN;
	draw_file(&fix_chart);
	path_of("usage", path, sizeof(path));
	assert_string_equal(path, "");
	fix_chart.usage_bytes = NULL;
	draw_file(&fix_chart);
	assert_false(has("class=\"usage\""));
}

/* The line would press all else flat. */
static void a_limit_far_away_is_not_drawn(void **state)
{
	(void)state;
	page_plain();
	fix_chart.limit_bytes = 480 * GIB;
	draw_file(&fix_chart);
	assert_false(has("class=\"limit\""));
	fix_chart.limit_bytes = UNKNOWN_U64;
	draw_file(&fix_chart);
	assert_false(has("class=\"limit\""));
	assert_false(has(", limit "));
}

static void without_series_the_incidents_own_points_are_drawn(void **state)
{
	char path[4096];

	(void)state;
	page_workers();
	draw_file(NULL);
	path_of("usage", path, sizeof(path));
	assert_int_equal(count_char(path, 'M') + count_char(path, 'L'), PICTURE_POINTS);
	assert_true(svg_scene_of(&scene, &fix_context, &fix_incident, NULL, NULL, 0));
	assert_int_equal(scene.chart->times_ns[0], fix_incident.growth.from_ns);
	assert_int_equal(scene.chart->times_ns[PICTURE_POINTS - 1], fix_incident.growth.to_ns);
}

static void without_anything_there_is_no_file(void **state)
{
	(void)state;
	page_bare();
	markup_reset();
	assert_int_equal(
		svg_file(&fix_context, &fix_incident, &fix_judgement, NULL, take_markup, NULL),
		-ENODATA);
	assert_int_equal(markup_len, 0);
}

static struct store_gap gap_of(enum store_gap_why why, int64_t from_s, int64_t to_s)
{
	int64_t kill_ns = (int64_t)FIX_TIME_NS + fix_context.wall_minus_boot_ns;

	return (struct store_gap) {why, kill_ns + from_s * CHART_SEC, kill_ns + to_s * CHART_SEC,
		UNKNOWN_U64, UNKNOWN_U64};
}

/* Only those in which nothing was recorded, and only what is in the picture. */
static void gaps_are_cut_to_the_window(void **state)
{
	struct store_gap gaps[5];

	(void)state;
	page_plain();
	gaps[0] = gap_of(STORE_GAP_NOT_RUNNING, -400, -290);
	gaps[1] = gap_of(STORE_GAP_DISK, -100, -90);
	gaps[2] = gap_of(STORE_GAP_WINDOW, -80, -70);
	gaps[3] = gap_of(STORE_GAP_QUEUE, -900, -800);
	gaps[4] = gap_of(STORE_GAP_NOT_RUNNING, 0, 0);
	gaps[4].from_ns = INT64_MIN;
	gaps[4].to_ns = INT64_MIN;
	assert_true(svg_scene_of(&scene, &fix_context, &fix_incident, &fix_chart, gaps, 5));
	assert_int_equal(scene.gap_count, 2);
	assert_int_equal(scene.gaps[0].from_ns, fix_chart.from_ns);
	assert_int_equal(scene.gaps[0].to_ns, fix_chart.from_ns + 10 * CHART_SEC);
	assert_int_equal(scene.gaps[1].to_ns - scene.gaps[1].from_ns, 10 * CHART_SEC);
}

static void the_mark_of_the_kill_is_where_it_was(void **state)
{
	(void)state;
	page_plain();
	fix_chart.kill_ns = fix_chart.from_ns + 150 * CHART_SEC;
	draw_file(&fix_chart);
	assert_has("<line class=\"kill\" x1=\"569.0\"");
	assert_has(">+150 s</text>");
	assert_has(">-150 s</text>");
	assert_int_equal(fix_times[svg_kill_index(&fix_chart)] <= fix_chart.kill_ns, true);
}

static void hostile_names_stay_text(void **state)
{
	(void)state;
	page_hostile();
	draw_file(&fix_chart);
	assert_has("&lt;b\xc2\xa0"
		   "a=&quot;'&amp;[31403]");
	assert_false(has("<script"));
}

static void a_failed_write_is_told(void **state)
{
	unsigned int pieces;

	(void)state;
	page_large();
	draw_file(&fix_chart);
	for (pieces = 0; pieces < 3; pieces++) {
		markup_reset();
		assert_int_equal(svg_file(&fix_context, &fix_incident, &fix_judgement, &fix_chart,
					 take_markup, &pieces),
			-ENOSPC);
	}
}

static int tear_down(void **state)
{
	(void)state;
	free(markup);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_of_memory_are_powers_of_two),
		cmocka_unit_test(ticks_of_time_are_round),
		cmocka_unit_test(times_are_told_in_the_unit_of_the_step),
		cmocka_unit_test(a_file_tells_all_without_a_page),
		cmocka_unit_test(layers_are_stacked),
		cmocka_unit_test(what_stands_still_takes_two_points),
		cmocka_unit_test(what_is_not_known_is_a_hole),
		cmocka_unit_test(nothing_known_at_all_is_no_failure),
		cmocka_unit_test(a_limit_far_away_is_not_drawn),
		cmocka_unit_test(without_series_the_incidents_own_points_are_drawn),
		cmocka_unit_test(without_anything_there_is_no_file),
		cmocka_unit_test(gaps_are_cut_to_the_window),
		cmocka_unit_test(the_mark_of_the_kill_is_where_it_was),
		cmocka_unit_test(hostile_names_stay_text),
		cmocka_unit_test(a_failed_write_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
