// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "sink/rank.h"

#define GIB (1ULL << 30)
#define HOSTILE "a\nb\x1b[31m\"\xff\\"

static struct rank_candidate candidates[8];
static struct rank_report report;
static struct host_facts host;
static struct sink_context context;
static char memory[65536];

static struct rank_candidate *add(const char *comm, uint32_t pid, int64_t anon, int64_t file,
	uint64_t pgtables_pages, int32_t adj)
{
	struct rank_candidate *candidate = &candidates[report.ranking.count++];

	candidate->task = (struct task_facts) {
		.tgid = pid,
		.ppid = 1,
		.uid = 1000,
		.oom_score_adj = adj,
		.start_ns = 5000000000,
		.rss_pages = {[EV_RSS_ANON] = anon, [EV_RSS_FILE] = file},
		.pgtables_bytes = pgtables_pages * 4096,
		.total_vm_pages = (uint64_t)(anon + file) * 2,
	};
	snprintf(candidate->task.comm, sizeof(candidate->task.comm), "%s", comm);
	candidate->cgroup = "/pods/pod1/main";
	candidate->oom_score = 700;
	return candidate;
}

static void add_level(const char *cgroup, uint64_t max, uint64_t usage)
{
	struct quota_level *level = &report.quota.levels[report.quota.level_count++];

	snprintf(level->cgroup, sizeof(level->cgroup), "%s", cgroup);
	level->limits = (struct cgroup_limits) {.max_bytes = max,
		.usage_bytes = usage,
		.swap_max_bytes = CGROUP_NO_LIMIT,
		.swap_usage_bytes = 0,
		.oom_group = -1};
}

/* A machine of 23.5 GiB without swap; no process yet. */
static void machine(void)
{
	memset(candidates, 0, sizeof(candidates));
	host = (struct host_facts) {
		.hostname = "box", .boot_id = "b", .page_size = 4096, .cpus = 2};
	context = (struct sink_context) {.host = &host, .wall_minus_boot_ns = 1000000000};
	report = (struct rank_report) {
		.boot_ns = 100000000000,
		.level = -1,
		.rules = {.kill_disabled = -1, .swappiness = UINT32_MAX},
		.oom_group = "",
		.counter_slack_pages = 64,
		.ranking = {.candidates = candidates,
			.total_pages = 6170905,
			.host_pages = 6170905,
			.page_size = 4096},
		.shown = 10,
	};
	report.quota.host.total_bytes = 6170905ULL * 4096;
	report.quota.host.available_bytes = 20 * GIB;
}

/* The same with a cgroup of 16 GiB that was asked for. */
static void container(void)
{
	machine();
	report.asked = "/pods/pod1/main";
	report.quota.v2 = report.quota.complete = true;
	add_level("/pods/pod1/main", 16 * GIB, 15 * GIB);
	add_level("/pods/pod1", CGROUP_NO_LIMIT, 15 * GIB);
	add_level("/", UNKNOWN_U64, UNKNOWN_U64);
	report.level = 0;
	report.ranking.total_pages = 4194304;
}

static const char *text(void)
{
	struct buf buf;

	rank_judge(&report.ranking);
	buf_init(&buf, memory, sizeof(memory));
	assert_int_equal(rank_text(&buf, &report), 0);
	return memory;
}

/* Lines are wrapped wherever: for finding sentences, all white space is one blank. */
static const char *flat(void)
{
	static char ret[sizeof(memory)];
	size_t len = 0;

	for (const char *at = text(); *at; at++) {
		char c = *at == '\n' ? ' ' : *at;

		if (c != ' ' || len == 0 || ret[len - 1] != ' ')
			ret[len++] = c;
	}
	ret[len] = '\0';
	return ret;
}

static void assert_says(const char *sentence)
{
	if (!strstr(flat(), sentence))
		fail_msg("not said: \"%s\" in:\n%s", sentence, memory);
}

static void assert_silent(const char *words)
{
	if (strstr(flat(), words))
		fail_msg("said: \"%s\" in:\n%s", words, memory);
}

static json_t *json(void)
{
	json_error_t error;
	struct buf buf;
	json_t *ret;

	rank_judge(&report.ranking);
	buf_init(&buf, memory, sizeof(memory));
	assert_int_equal(rank_json(&buf, &context, &report), 0);
	assert_ptr_equal(strchr(memory, '\n'), memory + buf.len - 1);
	ret = json_loads(memory, JSON_REJECT_DUPLICATES, &error);
	if (!ret)
		fail_msg("%s at %d: %s", error.text, error.position, memory);
	return ret;
}

static json_int_t number_at(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		fail_msg("%s is no number in %s", key, memory);
	return json_integer_value(value);
}

static void assert_string_at(json_t *object, const char *key, const char *wanted)
{
	const char *value = json_string_value(json_object_get(object, key));

	if (!value)
		fail_msg("%s is no string in %s", key, memory);
	assert_string_equal(value, wanted);
}

/* --- the answer --- */

static void the_answer_comes_first(void **state)
{
	static const char machine_says[] =
		"Next to be killed on this machine: python3[31415], 249,882 points\n";
	static const char container_says[] =
		"Next to be killed in /pods/pod1/main: python3[31415], 249,882 points\n";

	(void)state;
	machine();
	add("python3", 31415, 246016, 3072, 794, 0);
	assert_int_equal(strncmp(text(), machine_says, strlen(machine_says)), 0);
	container();
	add("sh", 31, 120, 300, 10, 0);
	add("python3", 31415, 246016, 3072, 794, 0);
	assert_int_equal(strncmp(text(), container_says, strlen(container_says)), 0);
}

static void nobody_is_an_answer_too(void **state)
{
	(void)state;
	container();
	add("agent", 7, 100, 100, 10, -1000);
	assert_says("Nobody can be killed in /pods/pod1/main: no process may be chosen");
	assert_says("(adj -1000)");
	assert_silent(" = ");
	assert_silent("/oom_score");
	container();
	assert_says("Nobody can be killed in /pods/pod1/main: no process is there");
	assert_silent("rank pid");
}

/* --- the table --- */

static void assert_columns(const char *first_line_of_sentences)
{
	const char *line = memory;

	for (; *line && strncmp(line, first_line_of_sentences, strlen(first_line_of_sentences));) {
		size_t len = strcspn(line, "\n");

		if (text_columns(line, len) > 80 && !strstr(line, " page tables "))
			fail_msg("%zu columns: %.*s", text_columns(line, len), (int)len, line);
		line += len + (line[len] == '\n');
	}
	assert_true(*line);
}

static void rows_stay_within_80_columns(void **state)
{
	struct rank_candidate *big;

	(void)state;
	machine();
	/* 16 TiB of RAM, all swapped once more, the highest pid there can be */
	big = add("123456789012345", 4194304, 4294967296, 4294967296, 99999999, 1000);
	big->task.rss_pages[EV_RSS_SWAP] = 999999999;
	big->oom_score = 1333;
	report.ranking.total_pages = 4294967296;
	add("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac", 2, 5, 5, 5, -1000);
	add("\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b", 3, 5, 5, 5, -999)
		->oom_score = UNKNOWN_U64;
	text();
	assert_columns(" limit");
}

static void a_row_tells_all_that_was_weighed(void **state)
{
	struct rank_candidate *candidate;

	(void)state;
	container();
	candidate = add("python3", 31415, 246016, 3072, 794, 300);
	candidate->task.rss_pages[EV_RSS_SWAP] = 25600;
	assert_says(" 1 31415 python3 1,533,682 973 100 3.1 300 700 ");
	candidate->oom_score = UNKNOWN_U64;
	assert_says(" 1 31415 python3 1,533,682 973 100 3.1 300 ? ");
}

static void only_as_many_rows_as_asked_for(void **state)
{
	(void)state;
	container();
	for (uint32_t i = 0; i < 5; i++)
		add("worker", 100 + i, 1000 + i, 0, 1, i < 2 ? -1000 : 0);
	report.shown = 2;
	assert_says("and 3 more (-n 0 shows all), 2 of which may not be chosen");
	assert_silent(" 3 102 worker");
	report.shown = 4;
	assert_says("and 1 more (-n 0 shows all), 1 of which may not be chosen");
	report.shown = 5;
	assert_silent("more (-n 0");
	report.shown = SIZE_MAX;
	assert_silent("more (-n 0");
}

/* --- the sum --- */

static void the_sum_stands_in_one_line(void **state)
{
	(void)state;
	machine();
	add("python3", 31415, 246016, 3072, 794, 0);
	assert_non_null(strstr(text(),
		"\n246,016 anon + 3,072 file + 0 shmem + 0 swap + 794 page tables + 0 adj = "
		"249,882 pages\n"));
	assert_silent("oom_score_adj 0");
}

static void the_adjustment_is_worked_out(void **state)
{
	(void)state;
	container();
	add("python3", 31415, 1000, 0, 0, -500);
	assert_non_null(strstr(text(), "\n1,000 anon + 0 file + 0 shmem + 0 swap + 0 page tables - "
				       "2,097,000 adj = -2,096,000 pages\n"));
	assert_says("oom_score_adj -500 x 4,194, the thousandth part of the limit and the swap it "
		    "may use (4,194,304 pages)");
	report.ranking.total_pages = UNKNOWN_U64;
	assert_says(" + 0 adj = 1,000 pages");
	assert_says("it is left out of the points");
}

static void the_score_is_explained(void **state)
{
	struct rank_candidate *candidate;

	(void)state;
	machine();
	candidate = add("python3", 31415, 246016, 3072, 794, 0);
	candidate->oom_score = 693;
	assert_says(
		"/proc/31415/oom_score shows 693. It is relative to all RAM and swap (23.5 GiB), "
		"whatever the limit of a cgroup: (1000 + P x 1000 / 6,170,905) x 2 / 3 with "
		"P = 249,882 pages.");
	container();
	/* 249,882 + 300 * 6,170 = 2,100,882; (1000 + 340) * 2 / 3 = 893 */
	candidate = add("python3", 31415, 246016, 3072, 794, 300);
	candidate->oom_score = 893;
	assert_says("with P = 249,882 + 300 x 6,170 = 2,100,882 pages.");
	candidate->oom_score = 890;
	assert_says("= 2,100,882 pages, which makes 893.");
	candidate->task.oom_score_adj = -300;
	assert_says("with P = 249,882 - 300 x 6,170 = -1,601,118 pages");
	candidate->oom_score = UNKNOWN_U64;
	assert_says("/proc/31415/oom_score could not be read. It is relative");
}

static void a_lead_that_the_counters_may_hide_is_told(void **state)
{
	(void)state;
	machine();
	add("a", 1001, 5000, 0, 0, 0);
	assert_says("each may be off by up to 64 pages");
	assert_silent("The lead");
	add("b", 1002, 4488, 0, 0, 0);
	assert_says("The lead over the next is 512 pages: there it may fall to either.");
	candidates[1].task.rss_pages[EV_RSS_ANON]--;
	assert_says("The lead over the next is 513 pages.");
}

/* --- notes --- */

static void a_cgroup_without_a_limit(void **state)
{
	(void)state;
	container();
	assert_silent("no limit of its own");
	report.quota.levels[0].limits.max_bytes = CGROUP_NO_LIMIT;
	report.quota.levels[1].limits.max_bytes = 16 * GIB;
	report.level = 1;
	add("big", 1001, 5000, 0, 0, 0)->cgroup = "/pods/pod1/side";
	add("own", 1002, 100, 0, 0, 0);
	assert_says("Next to be killed in /pods/pod1: big[1001]");
	assert_says(
		"/pods/pod1/main has no limit of its own: the nearest above it is that of "
		"/pods/pod1 (16.0 GiB), and all processes in and below that are weighed. The first of "
		"/pods/pod1/main itself is number 2: own[1002].");
	for (int i = 0; i < 2; i++)
		candidates[i].cgroup = candidates[i].task.tgid == 1002 ? "/pods/pod1/mainly" : NULL;
	assert_says("None of /pods/pod1/main itself may be chosen.");
	report.level = -1;
	report.ranking.total_pages = 6170905;
	assert_says("nor has any cgroup above it: the limit is the machine's memory");
	report.quota.complete = false;
	assert_says("nor has any cgroup above it that can be seen from here: the limit");
}

static void the_root_is_the_machine(void **state)
{
	(void)state;
	machine();
	report.asked = "/";
	report.quota.complete = true;
	add_level("/", UNKNOWN_U64, UNKNOWN_U64);
	add("a", 1001, 5000, 0, 0, 0);
	assert_says("Next to be killed on this machine");
	assert_silent("no limit of its own");
}

static void a_limit_above_that_is_nearer(void **state)
{
	(void)state;
	container();
	add("a", 1001, 5000, 0, 0, 0);
	assert_silent("nearer");
	report.quota.levels[1].limits.max_bytes = 15 * GIB + GIB / 2;
	assert_says("/pods/pod1 is nearer to its limit: 512 MiB are left there");
	assert_silent("The machine has less");
	report.quota.host.available_bytes = GIB / 4;
	assert_says("The machine has less available (256 MiB) than that limit has left (1.00 GiB)");
}

static void what_dies_together(void **state)
{
	(void)state;
	container();
	add("a", 1001, 5000, 0, 0, 0);
	add("b", 1002, 500, 0, 0, -999);
	add("spared", 1003, 500, 0, 0, -1000);
	add("elsewhere", 1004, 500, 0, 0, 0)->cgroup = "/pods/pod2";
	assert_silent("memory.oom.group");
	report.oom_group = "/pods/pod1";
	assert_says("memory.oom.group is set on /pods/pod1: all its processes die together (2).");
}

static void settings_by_which_nobody_is_killed(void **state)
{
	(void)state;
	container();
	add("a", 1001, 5000, 0, 0, 0);
	report.rules.panic_on_oom = 1;
	report.rules.kill_allocating_task = 1;
	assert_silent("panics");
	assert_silent("allocating");
	report.rules.kill_disabled = 1;
	assert_says("oom_kill_disable is set in memory.oom_control of /pods/pod1/main: nobody");
	report.rules.panic_on_oom = 2;
	assert_says("vm.panic_on_oom is 2: the kernel panics and kills nobody.");
	assert_silent("oom_kill_disable");
	report.level = -1;
	report.rules.panic_on_oom = 1;
	assert_says("vm.panic_on_oom is 1: the kernel panics and kills nobody.");
	report.rules.panic_on_oom = 0;
	assert_says("vm.oom_kill_allocating_task is set: whoever asks");
}

static void what_was_not_seen_is_told(void **state)
{
	(void)state;
	machine();
	for (uint32_t i = 0; i < 3; i++)
		add("same", 1001 + i, 5000, 0, 0, 0);
	assert_says("2 more have as many points.");
	report.unreadable = 1;
	report.unreadable_why = "Permission denied";
	assert_says(
		"1 more process could not be read, and is not in this ranking: Permission denied.");
	report.unreadable = 7;
	assert_says("7 more processes could not be read, and are not in this ranking");
	report.hidden = true;
	assert_says("hidepid: other users' processes are not ranked.");
	report.own_pid_namespace = true;
	assert_says("pid namespace of its own: only its processes are ranked, by their pids in it. "
		    "/proc is mounted with hidepid");
	for (int i = 0; i < 3; i++)
		candidates[i].oom_score = 3;
	assert_says("this kernel may weigh otherwise");
}

/* --- JSON --- */

static void the_object_holds_the_sum_and_the_limit(void **state)
{
	json_t *object, *badness, *first;

	(void)state;
	container();
	add("python3", 31415, 246016, 3072, 794, 300)->cmdline = "python train.py";
	object = json();
	assert_string_at(object, "type", "rank");
	assert_string_at(object, "scope", "memcg");
	assert_string_at(object, "cgroup", "/pods/pod1/main");
	assert_string_at(object, "limit_cgroup", "/pods/pod1/main");
	assert_int_equal(number_at(object, "limit_bytes"), 16 * GIB);
	assert_int_equal(number_at(object, "usage_bytes"), 15 * GIB);
	assert_int_equal(number_at(object, "total_bytes"), 16 * GIB);
	assert_int_equal(number_at(object, "next_pid"), 31415);
	assert_int_equal(number_at(object, "counter_slack_pages"), 64);
	badness = json_object_get(object, "badness");
	assert_int_equal(number_at(badness, "rss_pages") + number_at(badness, "swap_pages") +
				 number_at(badness, "pgtables_pages") +
				 number_at(badness, "adj_pages"),
		number_at(badness, "points"));
	assert_int_equal(number_at(badness, "adj_pages"), 300 * 4194);
	first = json_array_get(json_object_get(object, "candidates"), 0);
	assert_int_equal(number_at(first, "rank"), 1);
	assert_int_equal(number_at(first, "badness_pages"), number_at(badness, "points"));
	assert_int_equal(number_at(first, "anon_bytes"), 246016 * 4096);
	assert_int_equal(number_at(first, "pgtables_bytes"), 794 * 4096);
	assert_int_equal(number_at(first, "oom_score"), 700);
	assert_string_at(first, "cmdline", "python train.py");
	assert_string_at(first, "started", "1970-01-01T00:00:06.000000000Z");
	assert_null(json_object_get(first, "immune"));
	json_decref(object);
}

static void what_is_not_known_is_left_out(void **state)
{
	static const char *const limits[] = {"cgroup", "limit_cgroup", "limit_bytes", "usage_bytes",
		"swap_limit_bytes", "memsw_limit_bytes", "swap_usage_bytes", "memsw_usage_bytes"};
	json_t *object, *first;

	(void)state;
	container();
	report.quota.v2 = false;
	object = json();
	assert_null(json_object_get(object, "memsw_limit_bytes"));
	assert_null(json_object_get(object, "swap_usage_bytes"));
	assert_int_equal(number_at(object, "memsw_usage_bytes"), 0);
	assert_null(json_object_get(object, "next_pid"));
	assert_null(json_object_get(object, "badness"));
	assert_int_equal(json_array_size(json_object_get(object, "candidates")), 0);
	json_decref(object);
	machine();
	add("a", 1001, 5000, 0, 0, 0)->oom_score = UNKNOWN_U64;
	candidates[0].cgroup = NULL;
	candidates[0].task.uid = UINT32_MAX;
	report.ranking.total_pages = UNKNOWN_U64;
	object = json();
	assert_string_at(object, "scope", "global");
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		assert_null(json_object_get(object, limits[i]));
	assert_null(json_object_get(object, "total_bytes"));
	assert_null(json_object_get(object, "badness"));
	first = json_array_get(json_object_get(object, "candidates"), 0);
	assert_null(json_object_get(first, "oom_score"));
	assert_null(json_object_get(first, "cgroup"));
	assert_null(json_object_get(first, "uid"));
	assert_null(json_object_get(first, "badness_pages"));
	json_decref(object);
}

static void immune_ones_say_why(void **state)
{
	json_t *object, *last;

	(void)state;
	machine();
	add("a", 1001, 5000, 0, 0, 0);
	add("gone", 1002, 0, 0, 0, 0)->task.flags = EV_TASK_NO_MM;
	object = json();
	assert_int_equal(number_at(object, "candidates_total"), 2);
	assert_int_equal(number_at(object, "eligible_total"), 1);
	last = json_array_get(json_object_get(object, "candidates"), 1);
	assert_string_at(last, "immune", "it has no memory left");
	assert_null(json_object_get(last, "badness_pages"));
	assert_null(json_object_get(last, "anon_bytes"));
	json_decref(object);
}

/* --- hostile --- */

static void hostile_names_steer_nothing(void **state)
{
	static const char *const hostile = "/x" HOSTILE;
	json_t *object;

	(void)state;
	container();
	strcpy(report.quota.levels[0].cgroup, hostile);
	strcpy(report.quota.levels[1].cgroup, hostile);
	report.quota.levels[1].limits.max_bytes = 15 * GIB + 1;
	report.asked = report.oom_group = hostile;
	add(HOSTILE, 1001, 5000, 0, 0, 0)->cgroup = hostile;
	candidates[0].cmdline = HOSTILE;
	for (const char *at = text(); *at; at++)
		assert_true(
			*at == '\n' || ((unsigned char)*at >= 0x20 && (unsigned char)*at != 0xff));
	/* a newline in a name begins no line */
	assert_null(strstr(memory, "\nb"));
	assert_says("Next to be killed in /xa\\x0ab\\x1b[31m\"\\xff\\\\: "
		    "a\\x0ab\\x1b[31m\"\\xff\\\\[1001], 5,000 points");
	assert_says("memory.oom.group is set on /xa\\x0ab");
	object = json();
	assert_string_at(object, "next_comm", "a\nb\x1b[31m\"\xef\xbf\xbd\\");
	assert_string_at(object, "next_oom_group", "/xa\nb\x1b[31m\"\xef\xbf\xbd\\");
	json_decref(object);
}

static void no_room_leaves_the_buffer_as_it_was(void **state)
{
	char small[400];
	struct buf buf;

	(void)state;
	container();
	add("python3", 31415, 246016, 3072, 794, 0);
	rank_judge(&report.ranking);
	buf_init(&buf, small, sizeof(small));
	buf_puts(&buf, "before");
	assert_int_equal(rank_text(&buf, &report), -ENOSPC);
	assert_string_equal(small, "before");
	assert_int_equal(rank_json(&buf, &context, &report), -ENOSPC);
	assert_string_equal(small, "before");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_answer_comes_first),
		cmocka_unit_test(nobody_is_an_answer_too),
		cmocka_unit_test(rows_stay_within_80_columns),
		cmocka_unit_test(a_row_tells_all_that_was_weighed),
		cmocka_unit_test(only_as_many_rows_as_asked_for),
		cmocka_unit_test(the_sum_stands_in_one_line),
		cmocka_unit_test(the_adjustment_is_worked_out),
		cmocka_unit_test(the_score_is_explained),
		cmocka_unit_test(a_lead_that_the_counters_may_hide_is_told),
		cmocka_unit_test(a_cgroup_without_a_limit),
		cmocka_unit_test(the_root_is_the_machine),
		cmocka_unit_test(a_limit_above_that_is_nearer),
		cmocka_unit_test(what_dies_together),
		cmocka_unit_test(settings_by_which_nobody_is_killed),
		cmocka_unit_test(what_was_not_seen_is_told),
		cmocka_unit_test(the_object_holds_the_sum_and_the_limit),
		cmocka_unit_test(what_is_not_known_is_left_out),
		cmocka_unit_test(immune_ones_say_why),
		cmocka_unit_test(hostile_names_steer_nothing),
		cmocka_unit_test(no_room_leaves_the_buffer_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
