// SPDX-License-Identifier: Apache-2.0
#include "chart_fixture.h"
#include "markup_fixture.h"

#include <jansson.h>
#include <time.h>

#include "sink/html_parts.h"

static void make(void (*situation)(void))
{
	situation();
	markup_reset();
	assert_int_equal(html_page(&fix_page, take_markup, NULL), 0);
	assert_well_formed();
}

/* What stands between two texts, as a copy. */
static char *between(const char *from, const char *to)
{
	const char *start = strstr(markup, from), *end;
	char *ret;

	assert_non_null(start);
	start += strlen(from);
	end = strstr(start, to);
	assert_non_null(end);
	ret = strndup(start, (size_t)(end - start));
	assert_non_null(ret);
	return ret;
}

static void take_back(char *text, const char *reference, char c)
{
	char *at;

	while ((at = strstr(text, reference)) != NULL) {
		*at = c;
		memmove(at + 1, at + strlen(reference), strlen(at + strlen(reference)) + 1);
	}
}

static json_t *chart_data(void)
{
	char *text = between("<script type=\"application/json\" id=\"chart-data\">", "</script>");
	json_t *ret = json_loads(text, 0, NULL);

	assert_non_null(ret);
	assert_null(strchr(text, '<'));
	free(text);
	return ret;
}

static void every_situation_is_a_whole_page(void **state)
{
	static void (*const situations[])(void) = {
		page_plain, page_workers, page_hostile, page_bare, page_large};

	(void)state;
	for (size_t i = 0; i < sizeof(situations) / sizeof(situations[0]); i++) {
		make(situations[i]);
		assert_int_equal(strncmp(markup, "<!DOCTYPE html>\n", 16), 0);
		assert_int_equal(strcmp(markup + markup_len - 8, "</html>\n"), 0);
	}
}

/* Before anything that could ask for something. */
static void the_policy_comes_first_and_permits_nothing_else(void **state)
{
	char *policy;

	(void)state;
	make(page_plain);
	policy = between("<meta http-equiv=\"Content-Security-Policy\" content=\"", "\">");
	assert_int_equal(strncmp(policy, "default-src 'none'; script-src 'sha256-", 39), 0);
	assert_non_null(strstr(policy, "; style-src 'sha256-"));
	assert_non_null(strstr(policy, "; img-src data:; base-uri 'none'; form-action 'none'"));
	assert_null(strstr(policy, "unsafe"));
	assert_true(strstr(markup, "Content-Security-Policy") < strstr(markup, "<style"));
	assert_int_equal(count_of("<script>"), html_has_plot() ? 2 : 1);
	assert_int_equal(count_of("<style>"), html_has_plot() ? 2 : 1);
	free(policy);
}

static void nothing_refers_to_the_outside(void **state)
{
	(void)state;
	make(page_plain);
	assert_false(has(" href="));
	assert_false(has(" src="));
	assert_false(has("@import"));
	assert_false(has("url("));
	/* An address in uPlot's own first line, in a comment. */
	assert_int_equal(count_of("://"), html_has_plot() ? 1 : 0);
}

static void the_first_screen_says_it_all(void **state)
{
	(void)state;
	make(page_plain);
	assert_true(has("</h1>\n<p class=\"summary\">Likely: 16 processes forked by python3[31402] "
			"hold 14.7 of 16.0 GiB together, no single one does.</p>\n"
			"<p class=\"say\">14.7 GiB in 16 processes</p>\n"));
	assert_has(
		"KILLED</span> python3[31415]: its cgroup hit its 16.0\xc2\xa0GiB memory limit</h1>");
	assert_has("<title>KILLED python3[31415]: its cgroup hit");
	assert_has("<p class=\"where\">" FIX_LEAF "</p>");
	assert_has("<p class=\"big\">python3[31415]");
	assert_has("in <code>cri-containerd-9f3c2a.scope</code>");
	assert_has("anon\xc2\xa0"
		   "961\xc2\xa0MiB, file\xc2\xa0"
		   "12.0\xc2\xa0MiB");
	assert_has("<p class=\"big\">16.0\xc2\xa0GiB <small>memory limit");
	assert_has("<dt>the host has</dt><dd>480\xc2\xa0GiB</dd>");
	assert_has("246,016\xc2\xa0"
		   "anon + 3,072\xc2\xa0"
		   "file + 794\xc2\xa0page\xc2\xa0tables");
	assert_has("<span>python3[31416]</span><b>249,101</b>");
	assert_has("<p class=\"lead\">+3.00\xc2\xa0GiB in 5\xc2\xa0min, steadily by ");
}

static void words_are_those_of_the_text_view(void **state)
{
	static const char *const labels[] = {"headline", "where", "limit", "growth", "victim",
		"chosen", "asked", "after", "source", "host", "missing", "why"};
	static struct html_words words;
	static char text[SINK_TEXT_MAX];
	struct buf buf;

	(void)state;
	page_workers();
	html_words_of(&words, &fix_context, &fix_incident, &fix_judgement);
	fix_context.width = 1000;
	buf_init(&buf, text, sizeof(text));
	assert_int_equal(text_incident(&buf, &fix_context, &fix_incident, &fix_judgement), 0);
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		char said[2048];
		const char *found = html_words_get(&words, labels[i], 0);

		assert_non_null(found);
		snprintf(said, sizeof(said), "%s", found);
		for (char *at = said; *at != '\0'; at++)
			*at = *at == '\x1f' ? ' ' : *at;
		if (strstr(text, said) == NULL)
			fail_msg("%s: %s", labels[i], said);
	}
	assert_null(html_words_get(&words, "top", 0));
	assert_null(html_words_get(&words, "headline", 1));
}

static void everything_of_the_record_is_told(void **state)
{
	(void)state;
	make(page_workers);
	assert_has("<code>copy-on-write</code>");
	assert_has("<b>likely</b>");
	assert_has("<li>write faults on present pages were counted for 42.5 s</li>");
	assert_has("<td><code>reaped</code></td><td>no hook for the reaper</td>");
	assert_has("tp_btf mark_victim");
	assert_has("none could be attached");
	assert_has("the kernel log agrees");
	assert_has("<td class=\"n no\">oom_score_adj -1000</td>");
	assert_has("7 largest were kept");
	assert_has(">anonymous memory of processes</td>");
	assert_has("not explained by memory.stat");
	assert_has("Growth by fork family");
	assert_has("Growth by process");
	assert_has("Growth by cgroup");
	assert_has("kill no.\xc2\xa0"
		   "2 here within 10\xc2\xa0min");
	assert_has("+182\xc2\xa0ms</time> python3[31415] was gone");
	assert_has("<td>hit</td>");
}

static void values_to_sort_by_are_the_numbers_themselves(void **state)
{
	char cell[96];

	(void)state;
	make(page_plain);
	snprintf(cell, sizeof(cell), "<td class=\"n\" data-v=\"%llu\">961\xc2\xa0MiB</td>",
		246016ULL * 4096);
	assert_has(cell);
	assert_has("<td class=\"n\" data-v=\"249882\">249,882</td>");
	assert_has("<td class=\"n\" data-v=\"-1000\">-1,000</td>");
}

static void the_scripts_numbers_are_the_charts(void **state)
{
	json_t *data, *layer;

	(void)state;
	make(page_workers);
	data = chart_data();
	assert_int_equal(json_array_size(json_object_get(data, "times_s")), fix_chart.instants);
	assert_int_equal(json_array_size(json_object_get(data, "layers")), 3);
	layer = json_array_get(json_object_get(data, "layers"), 0);
	assert_string_equal(json_string_value(json_object_get(layer, "name")), "python3[31402]");
	assert_true(json_is_true(json_object_get(layer, "victim")));
	for (unsigned int i = 0; i < fix_chart.instants; i++)
		assert_int_equal(
			json_integer_value(json_array_get(json_object_get(layer, "bytes"), i)),
			fix_chart.layers[0].bytes[i]);
	assert_true(json_number_value(json_array_get(json_object_get(data, "times_s"), 0)) == -60);
	assert_int_equal(
		json_integer_value(json_object_get(data, "limit_bytes")), fix_chart.limit_bytes);
	assert_true(json_number_value(json_array_get(
			    json_array_get(json_object_get(data, "armed"), 0), 0)) == -42.5);
	json_decref(data);
}

static void unknown_usage_is_null_for_the_script(void **state)
{
	json_t *data, *usage;

	(void)state;
	page_workers();
	fix_usage[0] = fix_usage[7] = CHART_UNKNOWN;
	fix_chart.limit_bytes = UNKNOWN_U64;
	markup_reset();
	assert_int_equal(html_page(&fix_page, take_markup, NULL), 0);
	data = chart_data();
	usage = json_object_get(data, "usage_bytes");
	assert_int_equal(json_array_size(usage), fix_chart.instants);
	assert_true(json_is_null(json_array_get(usage, 0)));
	assert_true(json_is_null(json_array_get(usage, 7)));
	assert_null(json_object_get(data, "limit_bytes"));
	assert_has("There is no limit to draw.");
	json_decref(data);
}

/* As JSON the same, however it must be written here. */
static void the_raw_record_is_the_record(void **state)
{
	static char want[SINK_JSON_MAX];
	struct buf buf;
	json_t *here, *there;
	char *text;

	(void)state;
	make(page_hostile);
	buf_init(&buf, want, sizeof(want));
	assert_int_equal(json_incident(&buf, &fix_context, &fix_incident, &fix_judgement), 0);
	assert_non_null(strstr(want, "\xe2\x80\xae"));
	text = between("<pre tabindex=\"0\">", "</pre>");
	assert_null(strstr(text, "\xe2\x80\xae"));
	take_back(text, "&lt;", '<');
	take_back(text, "&gt;", '>');
	take_back(text, "&quot;", '"');
	take_back(text, "&amp;", '&');
	here = json_loads(text, 0, NULL);
	there = json_loads(want, 0, NULL);
	assert_non_null(here);
	assert_true(json_equal(here, there));
	json_decref(here);
	json_decref(there);
	free(text);
}

static void hostile_names_stay_text(void **state)
{
	json_t *data;

	(void)state;
	make(page_hostile);
	assert_false(has("<b onload"));
	assert_false(has("<script>alert"));
	assert_false(has("<svg onload"));
	assert_false(has("<img"));
	assert_false(has("\xe2\x80\xae"));
	assert_has("&lt;/script&gt;&lt;img&gt;");
	assert_has("&lt;b onload=&quot;x()&quot;&gt;&amp;&#39;\\x01\\xff \\xe2\\x80\\xae txt.exe");
	assert_has("Damaged: its series: &lt;/p&gt;");
	assert_int_equal(count_of("</title>"), count_of("<title>"));
	data = chart_data();
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(data, "layers"), 0), "name")),
		"</script>\\x1b\\xe2\\x80\\xae[31402]");
	json_decref(data);
}

static void without_history_there_is_no_chart(void **state)
{
	(void)state;
	make(page_bare);
	assert_false(has("<figure"));
	assert_false(has("id=\"chart-data\""));
	assert_has("no history was kept");
	assert_has("LOST 2 records");
	assert_has("available right after the kill");
	assert_false(has("<section id=\"composition\""));
	assert_false(has("<span>incident "));
}

static void nobody_killed_is_told_as_such(void **state)
{
	(void)state;
	fix_nobody();
	fix_page_of(NULL);
	markup_reset();
	assert_int_equal(html_page(&fix_page, take_markup, NULL), 0);
	assert_well_formed();
	assert_has("<span class=\"tag calm\">NOBODY KILLED</span> a cgroup hit its");
	assert_has("<h2>Why nobody</h2>");
	assert_has("<span>guarded[350]</span><b>oom_score_adj -1000</b>");
	assert_false(has("<section id=\"victim\""));
	assert_has("the request goes on failing");
}

static void victims_are_listed_when_there_are_more(void **state)
{
	(void)state;
	make(page_plain);
	assert_false(has("<section id=\"victims\""));
	make(page_large);
	assert_has("<section id=\"victims\"");
	assert_has("<details><summary>512 processes</summary>");
	assert_has("shares the memory of the one chosen");
	assert_has("python3[31415] and\xc2\xa0"
		   "511\xc2\xa0more: their cgroup hit");
}

static void kills_of_others_are_told(void **state)
{
	static struct html_kill kills[2];

	(void)state;
	page_plain();
	for (unsigned int i = 0; i < 2; i++) {
		kills[i].time_ns = (int64_t)FIX_TIME_NS + fix_context.wall_minus_boot_ns +
				   (i ? 2 : -90) * (int64_t)CHART_SEC;
		kills[i].near = i;
		kills[i].verdict = (struct verdict) {.id = "killed-by-process",
			.confidence = CONFIDENCE_LIKELY,
			.evidence_count = 1};
		snprintf(kills[i].verdict.claim, sizeof(kills[i].verdict.claim),
			"Not the OOM killer: <b>%u", i);
		snprintf(kills[i].verdict.evidence[0], sizeof(kills[i].verdict.evidence[0]),
			"sender \x1b%u", i);
	}
	fix_page.kills = kills;
	fix_page.kill_count = 2;
	fix_page.kill_total = 102;
	markup_reset();
	assert_int_equal(html_page(&fix_page, take_markup, NULL), 0);
	assert_well_formed();
	assert_has("102 kills that were not the OOM killer's");
	assert_has("the last 2 are told; 1 of them (marked)");
	assert_has("<summary>Not the OOM killer: &lt;b&gt;0</summary>");
	assert_has("<li>sender \\x1b0</li>");
	assert_has("before</td>");
	assert_has("<tr class=\"victim\">");
	make(page_plain);
	assert_false(has("<section id=\"kills\""));
}

static void others_and_gaps_are_told(void **state)
{
	static struct html_neighbour other = {.id = 12, .time_ns = 1767316800000000000LL};
	int64_t kill_ns;

	(void)state;
	page_plain();
	kill_ns = (int64_t)FIX_TIME_NS + fix_context.wall_minus_boot_ns;
	snprintf(other.claim, sizeof(other.claim), "sort<1>\x1b");
	fix_page.neighbours = &other;
	fix_page.neighbour_count = 1;
	fix_page.neighbour_total = 7;
	fix_page.gaps = &(struct store_gap) {
		STORE_GAP_DISK, kill_ns - 20 * CHART_SEC, kill_ns - 10 * CHART_SEC, 0, 1234};
	fix_page.gap_count = 1;
	fix_chart.whole = false;
	markup_reset();
	assert_int_equal(html_page(&fix_page, take_markup, NULL), 0);
	assert_well_formed();
	assert_has("<td>sort&lt;1&gt;\\x1b</td>");
	assert_has("1 of 7.");
	assert_has("<td class=\"n\" data-v=\"1234\">1,234</td>");
	assert_has("<rect class=\"gap\"");
	assert_has("The series do not reach back to the beginning of the window.");
}

static void the_licence_of_the_chart_goes_with_it(void **state)
{
	(void)state;
	make(page_plain);
	if (!html_has_plot())
		skip();
	assert_has("Permission is hereby granted, free of charge");
	assert_has("Leon Sorokin");
}

static void the_largest_page_is_small_and_quick(void **state)
{
	struct timespec begun, ended;

	(void)state;
	page_large();
	markup_reset();
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
	assert_int_equal(html_page(&fix_page, take_markup, NULL), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
	assert_true(markup_len < 2 << 20);
	assert_true(ended.tv_sec - begun.tv_sec < 1 ||
		    (ended.tv_sec - begun.tv_sec == 1 && ended.tv_nsec < begun.tv_nsec));
}

/* Whichever piece it is. */
static void a_failed_write_is_told(void **state)
{
	unsigned int count = UINT32_MAX;

	(void)state;
	page_large();
	markup_reset();
	assert_int_equal(html_page(&fix_page, take_markup, &count), 0);
	count = markup_pieces;
	assert_true(count > 10);
	for (unsigned int piece = 0; piece < count; piece++) {
		markup_reset();
		assert_int_equal(html_page(&fix_page, take_markup, &piece), -ENOSPC);
		assert_int_equal(markup_pieces, piece + 1);
	}
}

static int set_up(void **state)
{
	(void)state;
	setenv("TZ", "XYZ-1", 1);
	tzset();
	return 0;
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
		cmocka_unit_test(every_situation_is_a_whole_page),
		cmocka_unit_test(the_policy_comes_first_and_permits_nothing_else),
		cmocka_unit_test(nothing_refers_to_the_outside),
		cmocka_unit_test(the_first_screen_says_it_all),
		cmocka_unit_test(words_are_those_of_the_text_view),
		cmocka_unit_test(everything_of_the_record_is_told),
		cmocka_unit_test(values_to_sort_by_are_the_numbers_themselves),
		cmocka_unit_test(the_scripts_numbers_are_the_charts),
		cmocka_unit_test(unknown_usage_is_null_for_the_script),
		cmocka_unit_test(the_raw_record_is_the_record),
		cmocka_unit_test(hostile_names_stay_text),
		cmocka_unit_test(without_history_there_is_no_chart),
		cmocka_unit_test(nobody_killed_is_told_as_such),
		cmocka_unit_test(victims_are_listed_when_there_are_more),
		cmocka_unit_test(kills_of_others_are_told),
		cmocka_unit_test(others_and_gaps_are_told),
		cmocka_unit_test(the_licence_of_the_chart_goes_with_it),
		cmocka_unit_test(the_largest_page_is_small_and_quick),
		cmocka_unit_test(a_failed_write_is_told),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
