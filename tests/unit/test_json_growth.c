// SPDX-License-Identifier: Apache-2.0
/* Who grew: in the record of an incident, as lines of their own, and the recorder's own account. */
#include "json_fixture.h"

#define MIB PIC_MIB

static void emit_history(void (*situation)(struct growth_picture *))
{
	fix_memcg_kill();
	fix_history(situation);
	emit();
	assert_honest();
}

static json_t *in(const char *name, const char *key)
{
	return json_object_get(at(name), key);
}

/* Of one element of a list. */
static json_t *of(const char *list, size_t index, const char *key)
{
	return json_object_get(json_array_get(at(list), index), key);
}

static int64_t number(json_t *value)
{
	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

/* In thousandths, since no double is exactly what was written. */
static int64_t thousandths(json_t *value)
{
	double scaled;

	assert_true(json_is_real(value));
	scaled = json_real_value(value) * 1000;
	return (int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

static const char *text(json_t *value)
{
	assert_true(json_is_string(value));
	return json_string_value(value);
}

/* --- in the record of an incident --- */

static void without_a_history_nothing_is_told(void **state)
{
	static const char *const names[] = {"window_ms", "growth", "growth_cgroups",
		"growth_processes", "families", "fault_counting", "history_evicted", "not_followed",
		"growth_processes_total"};

	(void)state;
	fix_memcg_kill();
	emit();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_absent(names[i]);
}

static void the_growth_of_the_limit_is_told(void **state)
{
	(void)state;
	emit_history(pic_leak);
	assert_int_equal(thousandths(at("window_ms")), 300000000);
	assert_string_equal(text(in("growth", "cgroup")), PIC_PATH);
	assert_null(in("growth", "scope"));
	assert_int_equal(number(in("growth", "max_bytes")), 4 * GIB);
	assert_int_equal(number(in("growth", "delta_bytes")), 3 * GIB);
	assert_int_equal(number(in("growth", "rise_bytes")), 3 * GIB);
	assert_int_equal(number(in("growth", "unattributed_bytes")), 20 * MIB);
	assert_string_equal(text(in("growth", "kind")), "steady");
	assert_in_range(number(in("growth", "bytes_per_s")), 15 * MIB, 16 * MIB);
	assert_in_range(thousandths(in("growth", "started_ms_before")), 197000000, 199000000);
	assert_int_equal(thousandths(in("growth", "r2")), 1000);
	assert_null(in("growth", "spike_ms"));
	assert_int_equal(json_array_size(in("growth", "series_bytes")), PICTURE_POINTS);
	assert_int_equal(number(json_array_get(in("growth", "series_bytes"), 0)), GIB);
	assert_int_equal(number(json_array_get(in("growth", "series_bytes"), 59)), 4 * GIB);
	assert_number("history_evicted", 0);
	assert_number("not_followed", 0);
	assert_absent("fault_counting");
}

static void a_spike_says_how_long_it_took(void **state)
{
	(void)state;
	emit_history(pic_spike);
	assert_string_equal(text(in("growth", "kind")), "spike");
	assert_in_range(thousandths(in("growth", "spike_ms")), 2000000, 2100000);
	assert_null(in("growth", "cgroup")); /* its path is not in the picture */
}

static void the_machine_has_no_cgroup(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_history(pic_flat);
	fix_incident.growth.domain_id = 0;
	fix_incident.growth.domain_max_bytes = UNKNOWN_U64;
	emit();
	assert_string_equal(text(in("growth", "scope")), "host");
	assert_null(in("growth", "cgroup"));
	assert_null(in("growth", "max_bytes"));
	assert_string_equal(text(in("growth", "kind")), "flat");
	assert_null(in("growth", "started_ms_before"));
	assert_int_equal(number(in("growth", "bytes_per_s")), 0);
	assert_int_equal(number(in("growth", "unattributed_bytes")), -1000LL * (int64_t)MIB);
}

static void usage_that_was_not_recorded_is_no_zero(void **state)
{
	static const char *const names[] = {"delta_bytes", "rise_bytes", "kind", "bytes_per_s",
		"r2", "series_bytes", "unattributed_bytes"};

	(void)state;
	fix_memcg_kill();
	fix_history(pic_leak);
	fix_incident.growth.domain_known = false;
	fix_trend();
	emit();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_null(in("growth", names[i]));
	assert_int_equal(json_array_size(at("growth_processes")), 3);
}

static void a_series_with_a_gap_is_left_out(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_history(pic_leak);
	fix_incident.growth.points[7] = UNKNOWN_U64;
	emit();
	assert_null(in("growth", "series_bytes"));
	assert_string_equal(text(in("growth", "kind")), "steady");
	fix_incident.growth.points[7] = GIB;
	fix_incident.growth.point_count = PICTURE_POINTS + 1;
	emit();
	assert_null(in("growth", "series_bytes"));
}

static void cgroups_are_told(void **state)
{
	struct picture_cgroup *cgroup;

	(void)state;
	fix_memcg_kill();
	fix_history(pic_leak);
	cgroup = pic_cgroup(&fix_incident.growth, 5, "", -5LL * (int64_t)MIB, MIB);
	cgroup->charged_bytes = 7 * MIB;
	cgroup->own_bytes = -3LL * (int64_t)MIB;
	cgroup->began = true;
	emit();
	assert_int_equal(json_array_size(at("growth_cgroups")), 2);
	assert_string_equal(text(of("growth_cgroups", 0, "cgroup")), PIC_PATH);
	assert_int_equal(number(of("growth_cgroups", 0, "delta_bytes")), 3 * GIB);
	assert_int_equal(number(of("growth_cgroups", 0, "own_delta_bytes")), 3 * GIB);
	assert_int_equal(number(of("growth_cgroups", 0, "usage_bytes")), 4 * GIB);
	assert_null(of("growth_cgroups", 0, "charged_bytes"));
	assert_null(of("growth_cgroups", 0, "began"));
	assert_null(of("growth_cgroups", 1, "cgroup"));
	assert_int_equal(number(of("growth_cgroups", 1, "delta_bytes")), -5LL * (int64_t)MIB);
	assert_int_equal(number(of("growth_cgroups", 1, "own_delta_bytes")), -3LL * (int64_t)MIB);
	assert_int_equal(number(of("growth_cgroups", 1, "charged_bytes")), 7 * MIB);
	assert_true(json_is_true(of("growth_cgroups", 1, "began")));
	assert_absent("growth_cgroups_total");
}

static void processes_are_told(void **state)
{
	struct picture_process *process;

	(void)state;
	fix_memcg_kill();
	fix_history(pic_leak);
	process = &fix_incident.growth.processes[1];
	process->cow_bytes = 9 * MIB;
	process->cow_upper_bound = process->exited = process->began = true;
	process->cached_bytes = 11 * MIB;
	process->delta_bytes = -4096;
	process->cgroup_id = 99;
	process->start_ns = 0;
	fix_incident.growth.processes[2].cow_bytes = UNKNOWN_U64;
	fix_incident.growth.processes[2].cached_bytes = UNKNOWN_U64;
	fix_incident.growth.process_total = 4711;
	emit();
	assert_number("growth_processes_total", 4711);
	assert_int_equal(number(of("growth_processes", 0, "pid")), 900);
	assert_string_equal(text(of("growth_processes", 0, "comm")), "java");
	assert_string_equal(
		text(of("growth_processes", 0, "started")), "2026-01-02T03:11:00.000000123Z");
	assert_int_equal(number(of("growth_processes", 0, "ppid")), 1);
	assert_string_equal(text(of("growth_processes", 0, "cgroup")), PIC_PATH);
	assert_int_equal(number(of("growth_processes", 0, "delta_bytes")), 2950 * MIB);
	assert_int_equal(number(of("growth_processes", 0, "cow_bytes")), 0);
	assert_null(of("growth_processes", 0, "cow_upper_bound"));
	assert_int_equal(number(of("growth_processes", 0, "held_bytes")), 3014 * MIB);
	assert_int_equal(number(of("growth_processes", 0, "peak_bytes")), 3014 * MIB);
	assert_string_equal(text(of("growth_processes", 0, "state")), "alive");
	assert_null(of("growth_processes", 0, "began"));
	assert_null(of("growth_processes", 1, "started"));
	assert_null(of("growth_processes", 1, "cgroup"));
	assert_int_equal(number(of("growth_processes", 1, "delta_bytes")), -4096);
	assert_true(json_is_true(of("growth_processes", 1, "cow_upper_bound")));
	assert_int_equal(number(of("growth_processes", 1, "cached_bytes")), 11 * MIB);
	assert_string_equal(text(of("growth_processes", 1, "state")), "exited");
	assert_true(json_is_true(of("growth_processes", 1, "began")));
	assert_null(of("growth_processes", 2, "cow_bytes"));
	assert_null(of("growth_processes", 2, "cached_bytes"));
}

static void families_are_told(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_history(pic_workers);
	fix_incident.growth.families[0].exited = 2;
	fix_incident.growth.families[0].cow_upper_bound = true;
	fix_incident.growth.family_total = 12;
	emit();
	assert_number("families_total", 12);
	assert_int_equal(number(of("families", 0, "root_pid")), 31402);
	assert_string_equal(text(of("families", 0, "comm")), "python3");
	assert_string_equal(
		text(of("families", 0, "root_started")), "2026-01-02T03:10:59.000000123Z");
	assert_int_equal(number(of("families", 0, "members")), 17);
	assert_int_equal(number(of("families", 0, "exited")), 2);
	assert_int_equal(number(of("families", 0, "private_bytes")), 11800 * MIB);
	assert_int_equal(number(of("families", 0, "shared_bytes")), 2900 * MIB);
	assert_int_equal(number(of("families", 0, "delta_bytes")), 48 * MIB);
	assert_int_equal(number(of("families", 0, "cow_bytes")), 11784 * MIB);
	assert_true(json_is_true(of("families", 0, "cow_upper_bound")));
}

static void lists_that_are_known_to_be_empty_are_empty(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_history(pic_spike);
	fix_incident.growth.process_count = 0;
	emit();
	assert_int_equal(json_array_size(at("growth_processes")), 0);
	assert_true(json_is_array(at("growth_processes")));
	assert_true(json_is_array(at("growth_cgroups")));
	assert_true(json_is_array(at("families")));
}

static void counting_is_told_relative_to_the_end(void **state)
{
	struct growth_picture *picture = &fix_incident.growth;

	(void)state;
	fix_memcg_kill();
	fix_history(pic_workers);
	picture->armed[1] =
		(struct picture_armed) {picture->to_ns - 3000000, picture->to_ns - 1500};
	picture->armed[2] = (struct picture_armed) {picture->to_ns + 5, picture->to_ns + 9};
	picture->armed_count = 3;
	emit();
	assert_int_equal(thousandths(of("fault_counting", 0, "from_ms")), -42500000);
	assert_int_equal(thousandths(of("fault_counting", 0, "to_ms")), 0);
	assert_int_equal(thousandths(of("fault_counting", 1, "from_ms")), -3000);
	assert_int_equal(thousandths(of("fault_counting", 1, "to_ms")), -1);
	assert_int_equal(thousandths(of("fault_counting", 2, "from_ms")), 0);
}

static void hostile_names_and_counts_do_no_harm(void **state)
{
	struct growth_picture *picture = &fix_incident.growth;

	(void)state;
	fix_memcg_kill();
	fix_history(pic_workers);
	strcpy(picture->processes[0].comm, "\033[2J\xff\"\\\n\x7f");
	strcpy(picture->families[0].comm, "\xed\xa0\x80");
	strcpy(picture->cgroups[0].path, "/a\nb\x9b\"");
	picture->cgroup_count = picture->process_count = picture->family_count = 1000;
	picture->armed_count = 1000;
	for (unsigned int i = 0; i < 16; i++) {
		picture->processes[i].delta_bytes = INT64_MIN;
		picture->processes[i].held_bytes = UINT64_MAX - 1;
	}
	fix_judgement.trend.bytes_per_s = __builtin_inf();
	emit();
	assert_string_equal(
		text(of("growth_processes", 0, "comm")), "\033[2J\xef\xbf\xbd\"\\\n\x7f");
	assert_string_equal(text(of("growth_cgroups", 0, "cgroup")), "/a\nb\xef\xbf\xbd\"");
	assert_null(of("growth_processes", 0, "delta_bytes"));
	assert_null(of("growth_processes", 0, "held_bytes"));
	assert_null(in("growth", "bytes_per_s"));
	assert_int_equal(json_array_size(at("growth_processes")), PICTURE_PROCESSES);
	assert_int_equal(json_array_size(at("fault_counting")), PICTURE_ARMED);
	fix_judgement.trend.bytes_per_s = __builtin_nan("");
	emit();
	assert_null(in("growth", "bytes_per_s"));
}

/* --- lines of their own --- */

static struct growth_change change;
static struct growth_pressure pressure;

static void emit_growth(const char *path)
{
	empty();
	assert_int_equal(json_growth(&out, &fix_context, &change, path, NULL), 0);
	parse_line();
	assert_begins("{\"v\":1,\"type\":\"growth\",\"ts\":\"2026-01-02T03:23:04.000000123Z\","
		      "\"host\":\"web-7\",\"boot_id\":\"0f3c9a52-");
}

static void process_change(void)
{
	fix_context_reset();
	change = (struct growth_change) {.time_ns = FIX_TIME_NS,
		.since_ns = FIX_TIME_NS - 1000500000,
		.cgroup_id = 7,
		.tgid = 31415,
		.start_ns = FIX_TIME_NS - 5000000000,
		.comm = "python3",
		.delta_bytes = 24 * MIB,
		.cow_bytes = 12 * MIB,
		.now_bytes = 961 * MIB,
		.max_bytes = UNKNOWN_U64};
}

static void a_process_that_changed_is_a_line(void **state)
{
	(void)state;
	process_change();
	emit_growth("/a/b");
	assert_text("of", "process");
	assert_number("pid", 31415);
	assert_text("comm", "python3");
	assert_text("started", "2026-01-02T03:22:59.000000123Z");
	assert_text("cgroup", "/a/b");
	assert_number("delta_bytes", 24 * MIB);
	assert_number("cow_bytes", 12 * MIB);
	assert_number("held_bytes", 961 * MIB);
	assert_int_equal(thousandths(at("since_ms")), 1000500);
	assert_text("state", "alive");
	assert_absent("usage_bytes");
	assert_absent("max_bytes");
	change.exited = true;
	change.delta_bytes = -5;
	change.cow_bytes = UNKNOWN_U64;
	change.since_ns = FIX_TIME_NS + 1;
	change.start_ns = 0;
	strcpy(change.comm, "\n\"\xff");
	emit_growth("");
	assert_text("comm", "\n\"\xef\xbf\xbd");
	assert_text("state", "exited");
	assert_number("delta_bytes", -5);
	assert_absent("cow_bytes");
	assert_absent("cgroup");
	assert_absent("since_ms");
	assert_absent("started");
}

static void a_cgroup_that_changed_is_a_line(void **state)
{
	(void)state;
	process_change();
	change.is_cgroup = true;
	change.max_bytes = GIB;
	emit_growth("/a\x1b");
	assert_text("of", "cgroup");
	assert_text("cgroup", "/a\x1b");
	assert_number("delta_bytes", 24 * MIB);
	assert_number("usage_bytes", 961 * MIB);
	assert_number("max_bytes", GIB);
	assert_absent("pid");
	assert_absent("comm");
	assert_absent("cow_bytes");
	assert_absent("held_bytes");
	change.max_bytes = UNKNOWN_U64;
	emit_growth("/a");
	assert_absent("max_bytes");
}

static void emit_pressure(const char *path, const char *why)
{
	empty();
	assert_int_equal(
		json_pressure(&out, &fix_context, FIX_TIME_NS, &pressure, path, NULL, why), 0);
	parse_line();
	assert_text("type", "pressure");
}

static void a_limit_that_is_near_is_a_line(void **state)
{
	(void)state;
	fix_context_reset();
	pressure = (struct growth_pressure) {.cgroup_id = 7,
		.usage_bytes = 999999999,
		.max_bytes = 1000000000,
		.bytes_per_s = 120000000.7,
		.left_ns = 12500000000};
	emit_pressure("/a\n", "90%");
	assert_text("cgroup", "/a\n");
	assert_absent("scope");
	assert_number("usage_bytes", 999999999);
	assert_number("max_bytes", 1000000000);
	assert_int_equal(thousandths(at("used_percent")), 99900); /* it is not full */
	assert_number("bytes_per_s", 120000000);
	assert_int_equal(thousandths(at("left_ms")), 12500000);
	assert_text("why", "90%");
	pressure.cgroup_id = 0;
	pressure.left_ns = UINT64_MAX;
	pressure.usage_bytes = pressure.max_bytes;
	emit_pressure("/ignored", "");
	assert_text("scope", "host");
	assert_absent("cgroup");
	assert_absent("left_ms");
	assert_absent("why");
	assert_int_equal(thousandths(at("used_percent")), 100000);
	pressure.usage_bytes = UINT64_MAX - 1;
	pressure.max_bytes = 1;
	emit_pressure("", NULL);
	pressure.max_bytes = UNKNOWN_U64;
	emit_pressure("", NULL);
	assert_absent("used_percent");
	assert_absent("max_bytes");
}

static void lines_are_whole_or_absent(void **state)
{
	char small[700];

	(void)state;
	process_change();
	pressure = (struct growth_pressure) {.cgroup_id = 7, .max_bytes = 5};
	for (size_t size = 1; size < sizeof(small); size++) {
		struct buf buf;
		int ret;

		buf_init(&buf, small, size);
		ret = json_growth(&buf, &fix_context, &change, "/a", NULL);
		assert_true(ret == 0 ? small[buf.len - 1] == '\n' : ret == -ENOSPC && !buf.len);
		buf_init(&buf, small, size);
		ret = json_pressure(&buf, &fix_context, 1, &pressure, "/a", NULL, "90%");
		assert_true(ret == 0 ? small[buf.len - 1] == '\n' : ret == -ENOSPC && !buf.len);
	}
}

/* --- the recorder's own account --- */

static void a_run_tells_of_its_recorder(void **state)
{
	struct run_totals totals = {.recorded = true,
		.growth = {.passes = 1,
			.samples = 2,
			.processes_evicted = 3,
			.cgroups_evicted = 4,
			.not_followed = 5,
			.samples_no_room = 10,
			.passes_refused = 8,
			.ledger = {.evicted = 6, .refused = 3}},
		.lost_samples = 7,
		.arm_count = 8,
		.passes_failed = 9,
		.pass_ns = 312500,
		.reason = "signal"};
	static const struct {
		const char *key;
		int64_t value;
	} cases[] = {{"passes", 1}, {"samples", 2}, {"processes_evicted", 3},
		{"cgroups_evicted", 4}, {"not_followed", 5}, {"history_evicted", 6},
		{"lost_samples", 7}, {"armed", 8}, {"passes_failed", 9}, {"samples_no_room", 10},
		{"refused", 11}};

	(void)state;
	fix_context_reset();
	fix_recorder();
	empty();
	assert_int_equal(json_start(&out, &fix_context, FIX_TIME_NS), 0);
	parse_line();
	assert_string_equal(text(in("recorder", "source")), "iterator");
	assert_string_equal(text(in("recorder", "faults")), "auto");
	assert_int_equal(thousandths(in("recorder", "interval_ms")), 1000000);
	assert_int_equal(thousandths(in("recorder", "window_ms")), 60000000);
	assert_int_equal(thousandths(in("recorder", "history_ms")), 600000000);
	empty();
	assert_int_equal(json_stop(&out, &fix_context, FIX_TIME_NS, &totals), 0);
	parse_line();
	assert_int_equal(json_object_size(at("recorder")), 1 + sizeof(cases) / sizeof(cases[0]));
	assert_int_equal(thousandths(in("recorder", "pass_ms")), 312);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(number(in("recorder", cases[i].key)), cases[i].value);
}

static void a_run_without_a_recorder_tells_of_none(void **state)
{
	struct run_totals totals = {.reason = "signal"};

	(void)state;
	fix_context_reset();
	empty();
	assert_int_equal(json_start(&out, &fix_context, FIX_TIME_NS), 0);
	parse_line();
	assert_absent("recorder");
	empty();
	assert_int_equal(json_stop(&out, &fix_context, FIX_TIME_NS, &totals), 0);
	parse_line();
	assert_absent("recorder");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_history_nothing_is_told),
		cmocka_unit_test(the_growth_of_the_limit_is_told),
		cmocka_unit_test(a_spike_says_how_long_it_took),
		cmocka_unit_test(the_machine_has_no_cgroup),
		cmocka_unit_test(usage_that_was_not_recorded_is_no_zero),
		cmocka_unit_test(a_series_with_a_gap_is_left_out),
		cmocka_unit_test(cgroups_are_told),
		cmocka_unit_test(processes_are_told),
		cmocka_unit_test(families_are_told),
		cmocka_unit_test(lists_that_are_known_to_be_empty_are_empty),
		cmocka_unit_test(counting_is_told_relative_to_the_end),
		cmocka_unit_test(hostile_names_and_counts_do_no_harm),
		cmocka_unit_test(a_process_that_changed_is_a_line),
		cmocka_unit_test(a_cgroup_that_changed_is_a_line),
		cmocka_unit_test(a_limit_that_is_near_is_a_line),
		cmocka_unit_test(lines_are_whole_or_absent),
		cmocka_unit_test(a_run_tells_of_its_recorder),
		cmocka_unit_test(a_run_without_a_recorder_tells_of_none),
	};

	return cmocka_run_group_tests(tests, NULL, forget);
}
