// SPDX-License-Identifier: Apache-2.0
/* Incidents of a store, a line each; and the same for machines, with series and gaps. */
#include "text_fixture.h"

#include <jansson.h>

#include "base/text.h"
#include "sink/json_series.h"
#include "sink/text_list.h"

#define SEC 1000000000LL

static struct list_layout layout;

static struct list_entry entry_of(void)
{
	return (struct list_entry) {.id = 12,
		.context = &fix_context,
		.incident = &fix_incident,
		.judgement = &fix_judgement};
}

static int one_kill(void **state)
{
	set_zone(state);
	fix_memcg_kill();
	layout = (struct list_layout) {.width = 120, .number_columns = 2};
	return 0;
}

/* The second line of what line() asked for; "": there is none. */
static char summary[sizeof(data)];

/* The first line alone. */
static const char *line(void)
{
	struct list_entry entry = entry_of();
	char *end;

	buf_init(&out, data, sizeof(data));
	assert_int_equal(text_list_entry(&out, &layout, &entry), 0);
	assert_harmless(layout.width ? (size_t)layout.width : 100000);
	end = strchr(data, '\n') + 1;
	strcpy(summary, end);
	*end = '\0';
	assert_true(!summary[0] ||
		    (layout.width && strchr(summary, '\n') == summary + strlen(summary) - 1));
	return data;
}

static void header(void)
{
	buf_init(&out, data, sizeof(data));
	assert_int_equal(text_list_header(&out, &layout), 0);
}

/* --- text --- */

static void a_wide_line(void **state)
{
	(void)state;
	header();
	assert_string_equal(data,
		"no. time                killed                     held    limit verdict             "
		"where\n");
	assert_string_equal(line(),
		" 12 2026-01-02 04:23:04 python3[31415]          973 MiB 16.0 GiB fork-family         "
		"….slice/cri-containerd-9f3c2a.scope\n" +
			0);
}

static void a_narrow_line(void **state)
{
	(void)state;
	layout.width = 80;
	header();
	assert_string_equal(data,
		"no. time             killed              held    limit verdict       where\n");
	assert_string_equal(line(),
		" 12 2026-01-02 04:23 python3[31415]   973 MiB 16.0 GiB fork-family   "
		"…3c2a.scope\n");
}

static void what_does_not_fit_is_left_out(void **state)
{
	(void)state;
	layout.width = 76;
	header();
	assert_string_equal(data, "no. time             killed              held    limit where\n");
	assert_non_null(strstr(line(), " 16.0 GiB …tainerd-9f3c2a.scope\n"));
	layout.width = 60;
	header();
	assert_string_equal(data, "no. time             killed          where\n");
	assert_non_null(strstr(line(), " python3[31415]  …ontainerd-9f3c2a.scope\n"));
}

static void without_a_bound_the_path_is_whole(void **state)
{
	(void)state;
	layout.width = 0;
	assert_non_null(strstr(line(), " fork-family         " FIX_LEAF "  16 processes"));
}

static void every_width_holds(void **state)
{
	(void)state;
	fix_hostile();
	for (layout.width = 40; layout.width < 200; layout.width++) {
		line();
		header();
		assert_harmless((size_t)layout.width);
	}
}

static void long_names_and_numbers(void **state)
{
	struct list_entry entry = entry_of();

	(void)state;
	layout.number_columns = 7;
	strcpy(fix_incident.victims[0].task.comm, "123456789012345");
	fix_incident.victims[0].task.tgid = 4194304;
	fix_incident.victims_dropped = 9;
	entry.id = 1234567;
	buf_init(&out, data, sizeof(data));
	assert_int_equal(text_list_entry(&out, &layout, &entry), 0);
	assert_harmless(120);
	assert_memory_equal(data, "1234567 2026-01-02 04:23:04 1234567890…[4194304]+9 ", 52);
}

static void many_victims(void **state)
{
	(void)state;
	fix_group_kill();
	assert_non_null(strstr(line(), " python3[31415]+9 "));
}

static void the_machine(void **state)
{
	(void)state;
	fix_global_kill();
	assert_non_null(strstr(line(), " 978 MiB 16.0 GiB victim-not-largest  the machine\n"));
}

static void nobody(void **state)
{
	(void)state;
	fix_nobody();
	assert_non_null(strstr(line(), " nobody                        ? 16.0 GiB "));
}

static void one_that_was_dying(void **state)
{
	(void)state;
	fix_incident.outcome = OUTCOME_ALREADY_EXITING;
	layout.width = 0;
	assert_non_null(strstr(line(), "[31415] (was dying) "));
}

static void what_is_not_known(void **state)
{
	(void)state;
	fix_incident.victim_count = 0;
	fix_judgement.scope = SCOPE_UNKNOWN;
	fix_judgement.limit_level = -1;
	fix_judgement.verdict_count = 0;
	fix_incident.host.total_bytes = UNKNOWN_U64;
	assert_non_null(strstr(
		line(), " ?                             ?        ? -                   ?\n"));
	fix_memcg_kill();
	fix_incident.victims[0].task.flags |= EV_TASK_PARTIAL;
	fix_incident.chosen.tgid = 0;
	fix_incident.levels[0].max_pages = FIX_NO_LIMIT;
	assert_non_null(strstr(line(), " [31415]                       ?        ? "));
}

static void damage_is_said(void **state)
{
	struct list_entry entry = entry_of();

	(void)state;
	entry.damaged = true;
	buf_init(&out, data, sizeof(data));
	assert_int_equal(text_list_entry(&out, &layout, &entry), 0);
	assert_true(shows(" DAMAGED "));
}

/* Behind the rest where a line has no end, so that it stays one line; else on a second one. */
static void the_first_claim_is_the_summary(void **state)
{
	static const char claim[] = "  16 processes forked by python3[31402] hold 14.7 of 16.0 GiB "
				    "together, no single one does.\n";

	(void)state;
	layout.width = 0;
	assert_non_null(strstr(line(), claim));
	assert_string_equal(summary, "");
	layout.width = 80;
	assert_non_null(strstr(line(), " fork-family "));
	assert_string_equal(summary,
		"    16 processes forked by python3[31402] hold 14.7 of 16.0 GiB together, no si…\n");
	strcpy(fix_judgement.verdicts[0].claim, "a\033[31m\nb");
	line();
	assert_string_equal(summary, "    a\\x1b[31m\\x0ab\n");
	fix_judgement.verdict_count = 0;
	line();
	assert_string_equal(summary, "");
}

static void colour_only_where_wanted(void **state)
{
	(void)state;
	header();
	assert_false(shows("\033"));
	layout.color = true;
	header();
	assert_true(shows("\033[1mno."));
	assert_true(shows("where\033[0m\n"));
}

static void no_room_leaves_nothing(void **state)
{
	struct list_entry entry = entry_of();
	struct list_gaps gaps = {.count = 1};
	char small[24];
	struct buf buf;

	(void)state;
	buf_init(&buf, small, sizeof(small));
	buf_puts(&buf, "before");
	assert_int_equal(text_list_entry(&buf, &layout, &entry), -ENOSPC);
	assert_int_equal(text_list_header(&buf, &layout), -ENOSPC);
	assert_int_equal(text_list_gaps(&buf, &layout, STORE_GAP_NOT_RUNNING, &gaps), -ENOSPC);
	assert_int_equal(json_listed(&buf, &entry), -ENOSPC);
	assert_string_equal(small, "before");
}

/* --- gaps --- */

static const char *gap_line(enum store_gap_why why, const struct list_gaps *gaps)
{
	buf_init(&out, data, sizeof(data));
	assert_int_equal(text_list_gaps(&out, &layout, why, gaps), 0);
	assert_harmless(120);
	return data;
}

static void gaps_of_one_kind_are_one(void **state)
{
	struct list_gaps gaps = {0};

	(void)state;
	list_gaps_add(&gaps, &(struct store_gap) {STORE_GAP_NOT_RUNNING, 0, 11100 * SEC, 0, 0});
	assert_string_equal(
		gap_line(STORE_GAP_NOT_RUNNING, &gaps), "-- not recording for 3 h 5 min --\n");
	list_gaps_add(
		&gaps, &(struct store_gap) {STORE_GAP_NOT_RUNNING, 20000 * SEC, 23600 * SEC, 0, 0});
	assert_string_equal(gap_line(STORE_GAP_NOT_RUNNING, &gaps),
		"-- not recording for 4 h 5 min, 2 times --\n");
	assert_int_equal(gaps.from_ns, 0);
	assert_int_equal(gaps.to_ns, 23600 * SEC);
	/* A clock that was set back makes no length. */
	list_gaps_add(&gaps, &(struct store_gap) {STORE_GAP_NOT_RUNNING, 9 * SEC, 3 * SEC, 0, 0});
	assert_int_equal(gaps.length_ns, 14700 * SEC);
}

static void gaps_tell_what_was_lost(void **state)
{
	struct list_gaps gaps = {0};

	(void)state;
	list_gaps_add(&gaps, &(struct store_gap) {STORE_GAP_DISK, 0, SEC, 1, 5});
	assert_string_equal(
		gap_line(STORE_GAP_DISK, &gaps), "-- 1 incident lost: the disk took nothing --\n");
	list_gaps_add(&gaps, &(struct store_gap) {STORE_GAP_DISK, 0, SEC, 2, 5});
	assert_string_equal(
		gap_line(STORE_GAP_DISK, &gaps), "-- 3 incidents lost: the disk took nothing --\n");
	assert_string_equal(gap_line(STORE_GAP_QUEUE, &gaps),
		"-- 3 incidents lost: the disk was too slow --\n");
	assert_string_equal(gap_line(STORE_GAP_PRUNED, &gaps),
		"-- 3 older incidents gave way to --max-size or --keep --\n");
	list_gaps_add(&gaps, &(struct store_gap) {STORE_GAP_DISK, 0, SEC, UNKNOWN_U64, 5});
	list_gaps_add(&gaps, &(struct store_gap) {STORE_GAP_DISK, 0, SEC, 7, 5});
	assert_string_equal(gap_line(STORE_GAP_DISK, &gaps),
		"-- an unknown number of incidents lost: the disk took nothing --\n");
}

static void only_gaps_in_incidents_matter(void **state)
{
	(void)state;
	assert_true(list_gap_matters(&(struct store_gap) {.why = STORE_GAP_NOT_RUNNING}));
	assert_true(list_gap_matters(&(struct store_gap) {.why = STORE_GAP_QUEUE, .incidents = 1}));
	assert_true(list_gap_matters(
		&(struct store_gap) {.why = STORE_GAP_DISK, .incidents = UNKNOWN_U64}));
	assert_false(list_gap_matters(&(struct store_gap) {.why = STORE_GAP_WINDOW, .points = 9}));
	assert_false(list_gap_matters(&(struct store_gap) {.why = STORE_GAP_PRUNED, .points = 9}));
}

/* --- NDJSON --- */

static json_t *parsed(void)
{
	json_error_t error;
	json_t *ret;

	assert_true(out.len > 1 && data[out.len - 1] == '\n');
	assert_null(memchr(data, '\n', out.len - 1));
	ret = json_loads(data, JSON_REJECT_DUPLICATES, &error);
	if (!ret)
		fail_msg("%s in %s", error.text, data);
	return ret;
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static json_int_t number_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		fail_msg("no number %s in %s", key, data);
	return json_integer_value(value);
}

static void a_listed_incident(void **state)
{
	struct list_entry entry = entry_of();
	json_t *object;

	(void)state;
	buf_init(&out, data, sizeof(data));
	assert_int_equal(json_listed(&out, &entry), 0);
	object = parsed();
	assert_string_equal(text_of(object, "type"), "incident");
	assert_string_equal(text_of(object, "ts"), "2026-01-02T03:23:04.000000123Z");
	assert_int_equal(number_of(object, "number"), 12);
	assert_int_equal(number_of(object, "incident"), 3);
	assert_string_equal(text_of(object, "outcome"), "killed");
	assert_string_equal(text_of(object, "scope"), "memcg");
	assert_string_equal(text_of(object, "limit_cgroup"), FIX_LEAF);
	assert_int_equal(number_of(object, "limit_bytes"), 16 * GIB);
	assert_int_equal(number_of(object, "victim_pid"), 31415);
	assert_string_equal(text_of(object, "victim_comm"), "python3");
	assert_int_equal(number_of(object, "victim_held_bytes"), (246016 + 3072) * 4096LL);
	assert_int_equal(number_of(object, "victims_total"), 1);
	assert_int_equal(json_array_size(json_object_get(object, "verdict_ids")), 2);
	assert_string_equal(text_of(object, "summary"), fix_judgement.verdicts[0].claim);
	assert_null(json_object_get(object, "damaged"));
	json_decref(object);
}

static void a_listed_incident_without_victim(void **state)
{
	struct list_entry entry = entry_of();
	json_t *object;

	(void)state;
	fix_nobody();
	fix_judgement.verdict_count = 0;
	entry.damaged = true;
	buf_init(&out, data, sizeof(data));
	assert_int_equal(json_listed(&out, &entry), 0);
	object = parsed();
	assert_null(json_object_get(object, "victim_pid"));
	assert_null(json_object_get(object, "victim_held_bytes"));
	assert_null(json_object_get(object, "verdict_ids"));
	assert_null(json_object_get(object, "summary"));
	assert_true(json_is_true(json_object_get(object, "damaged")));
	json_decref(object);
}

static struct capture_run run_of(void)
{
	struct capture_run run = {.id = 1};

	run.host = fix_host;
	return run;
}

static json_t *series(const struct history_owner *owner, const char *path, int64_t first,
	int64_t second, int64_t third, int64_t fourth)
{
	struct history_point point = {1767324184 * SEC + 5, {first, second, third, fourth}};
	struct capture_run run = run_of();

	buf_init(&out, data, sizeof(data));
	assert_int_equal(json_series(&out, &run, owner, path, &point), 0);
	return parsed();
}

static void points_of_a_process(void **state)
{
	struct history_owner owner = {.kind = HISTORY_PROCESS,
		.tgid = 31415,
		.ppid = 31402,
		.root_tgid = 31402,
		.start_ns = 12345678901ULL,
		.shared_bytes = 4096,
		.max_bytes = UINT64_MAX,
		.comm = "py\n\xff\"x"};
	json_t *object = series(&owner, "/a\033b", 1 << 20, 0, 8192, -1);

	(void)state;
	assert_string_equal(text_of(object, "type"), "series");
	assert_string_equal(text_of(object, "ts"), "2026-01-02T03:23:04.000000005Z");
	assert_string_equal(text_of(object, "host"), "web-7");
	assert_string_equal(text_of(object, "boot_id"), fix_host.boot_id);
	assert_string_equal(text_of(object, "kind"), "process");
	assert_string_equal(text_of(object, "comm"), "py\n\xef\xbf\xbd\"x");
	assert_string_equal(text_of(object, "cgroup"), "/a\033b");
	assert_int_equal(number_of(object, "pid"), 31415);
	assert_int_equal(number_of(object, "ppid"), 31402);
	assert_int_equal(number_of(object, "root_pid"), 31402);
	assert_int_equal(number_of(object, "started_mono_us"), 12345678);
	assert_int_equal(number_of(object, "resident_bytes"), 1 << 20);
	assert_int_equal(number_of(object, "swap_bytes"), 0);
	assert_int_equal(number_of(object, "cow_bytes"), 8192);
	assert_null(json_object_get(object, "cached_bytes")); /* not counted */
	assert_null(json_object_get(object, "max_bytes"));
	json_decref(object);
}

static void points_of_a_cgroup_and_of_the_machine(void **state)
{
	struct history_owner owner = {.kind = HISTORY_CGROUP, .max_bytes = 1 << 30};
	json_t *object = series(&owner, "/pod", 77, -1, 0, 0);

	(void)state;
	assert_string_equal(text_of(object, "kind"), "cgroup");
	assert_string_equal(text_of(object, "cgroup"), "/pod");
	assert_int_equal(number_of(object, "usage_bytes"), 77);
	assert_int_equal(number_of(object, "max_bytes"), 1 << 30);
	assert_null(json_object_get(object, "charged_bytes"));
	assert_null(json_object_get(object, "pid"));
	json_decref(object);
	owner.max_bytes = UINT64_MAX;
	object = series(&owner, "", 77, 5, 0, 0);
	assert_null(json_object_get(object, "cgroup"));
	assert_null(json_object_get(object, "max_bytes")); /* none */
	assert_int_equal(number_of(object, "charged_bytes"), 5);
	json_decref(object);
	owner = (struct history_owner) {.kind = HISTORY_HOST, .max_bytes = 99};
	object = series(&owner, "", 88, 0, 0, 0);
	assert_string_equal(text_of(object, "kind"), "machine");
	assert_int_equal(number_of(object, "used_bytes"), 88);
	assert_int_equal(number_of(object, "max_bytes"), 99);
	json_decref(object);
}

static void a_gap(void **state)
{
	struct store_gap gap = {
		STORE_GAP_QUEUE, 1767324184 * SEC, 1767324190 * SEC, 2, UNKNOWN_U64};
	json_t *object;

	(void)state;
	buf_init(&out, data, sizeof(data));
	assert_int_equal(json_gap(&out, "web\n7", &gap), 0);
	object = parsed();
	assert_string_equal(text_of(object, "type"), "gap");
	assert_string_equal(text_of(object, "ts"), "2026-01-02T03:23:04.000000000Z");
	assert_string_equal(text_of(object, "until"), "2026-01-02T03:23:10.000000000Z");
	assert_string_equal(text_of(object, "host"), "web\n7");
	assert_string_equal(text_of(object, "why"), store_gap_name(STORE_GAP_QUEUE));
	assert_int_equal(number_of(object, "incidents_lost"), 2);
	assert_null(json_object_get(object, "points_lost"));
	json_decref(object);
}

#define TEST(name) cmocka_unit_test_setup(name, one_kill)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_wide_line),
		TEST(a_narrow_line),
		TEST(what_does_not_fit_is_left_out),
		TEST(without_a_bound_the_path_is_whole),
		TEST(every_width_holds),
		TEST(long_names_and_numbers),
		TEST(many_victims),
		TEST(the_machine),
		TEST(nobody),
		TEST(one_that_was_dying),
		TEST(what_is_not_known),
		TEST(damage_is_said),
		TEST(the_first_claim_is_the_summary),
		TEST(colour_only_where_wanted),
		TEST(no_room_leaves_nothing),
		TEST(gaps_of_one_kind_are_one),
		TEST(gaps_tell_what_was_lost),
		TEST(only_gaps_in_incidents_matter),
		TEST(a_listed_incident),
		TEST(a_listed_incident_without_victim),
		TEST(points_of_a_process),
		TEST(points_of_a_cgroup_and_of_the_machine),
		TEST(a_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
