// SPDX-License-Identifier: Apache-2.0
#include "json_fixture.h"

/* --- the emitter --- */

static void commas_follow_from_what_stands_before(void **state)
{
	size_t start;

	(void)state;
	empty();
	json_begin(&out, NULL, '{');
	json_add_u64(&out, "a", 1);
	json_begin(&out, "list", '[');
	json_add_name(&out, NULL, "x[");
	json_add_name(&out, NULL, "{");
	json_begin(&out, NULL, '{');
	json_end(&out, '}');
	json_add_i64(&out, NULL, -5);
	json_end(&out, ']');
	start = json_begin(&out, "empty", '{');
	json_end_filled(&out, start, '}');
	json_add_bool(&out, "b", false);
	json_add_hex(&out, "h", 0xcc0);
	json_end(&out, '}');
	assert_string_equal(
		data, "{\"a\":1,\"list\":[\"x[\",\"{\",{},-5],\"b\":false,\"h\":\"0xcc0\"}");
}

static void what_is_not_known_is_left_out(void **state)
{
	(void)state;
	empty();
	json_begin(&out, NULL, '{');
	json_add_u64(&out, "unknown", UNKNOWN_U64);
	json_add_u64(&out, "large", 1ULL << 53);
	json_add_u64(&out, "largest", (1ULL << 53) - 1);
	json_add_i64(&out, "low", -(1LL << 53));
	json_add_i64(&out, "lowest", 1 - (1LL << 53));
	json_add_i64(&out, "min", INT64_MIN);
	json_add_pages(&out, "pages", UNKNOWN_U64, 4096);
	json_add_pages(&out, "many", 1ULL << 60, 4096);
	json_add_pages(&out, "three", 3, 4096);
	json_add_ms(&out, "ms", UNKNOWN_U64);
	json_add_string(&out, "none", NULL);
	json_add_string(&out, "blank", "");
	json_add_name(&out, "name", "");
	json_end(&out, '}');
	assert_string_equal(data, "{\"largest\":9007199254740991,\"lowest\":-9007199254740991,"
				  "\"three\":12288,\"name\":\"\"}");
}

static void milliseconds_keep_the_microseconds(void **state)
{
	(void)state;
	empty();
	json_begin(&out, NULL, '[');
	json_add_ms(&out, NULL, 0);
	json_add_ms(&out, NULL, 182034567);
	json_add_ms(&out, NULL, 999);
	json_end(&out, ']');
	assert_string_equal(data, "[0.000,182.034,0.000]");
}

static void decimals_are_exact(void **state)
{
	(void)state;
	empty();
	json_begin(&out, NULL, '[');
	json_add_decimal(&out, NULL, 905, 1);
	json_add_decimal(&out, NULL, 0, 3);
	json_add_decimal(&out, NULL, -42500001, 3);
	json_add_decimal(&out, NULL, -7, 3);
	json_add_decimal(&out, NULL, 1000, 3);
	json_add_decimal(&out, NULL, INT64_MIN, 1); /* beyond a double */
	json_add_decimal(&out, NULL, INT64_MIN, 6);
	json_end(&out, ']');
	assert_string_equal(data, "[90.5,0.000,-42500.001,-0.007,1.000,-9223372036854.775808]");
}

static void a_second_line_begins_without_a_comma(void **state)
{
	(void)state;
	empty();
	buf_puts(&out, "{}\n");
	json_begin(&out, NULL, '{');
	json_end(&out, '}');
	assert_string_equal(data, "{}\n{}");
}

/* --- the record --- */

static void every_record_is_one_strict_line(void **state)
{
	static void (*const fixtures[])(void) = {fix_memcg_kill, fix_tracepoint_kill,
		fix_group_kill, fix_global_kill, fix_nobody, fix_sysrq, fix_ancestor, fix_hostile};

	(void)state;
	for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++) {
		fixtures[i]();
		emit();
		assert_honest();
		assert_begins(
			"{\"v\":1,\"type\":\"oom\",\"ts\":\"2026-01-02T03:23:04.000000123Z\",\"host\":\"");
	}
}

static void the_first_keys_are_fixed(void **state)
{
	(void)state;
	fix_memcg_kill();
	emit();
	assert_begins(
		"{\"v\":1,\"type\":\"oom\",\"ts\":\"2026-01-02T03:23:04.000000123Z\",\"host\":\"web-7\","
		"\"boot_id\":\"0f3c9a52-7d1e-4b6a-9c55-2f1b8a6e4d10\",\"mono_ns\":7384000000123,");
}

static void a_memcg_kill_has_its_numbers(void **state)
{
	json_t *limits, *leaf;

	(void)state;
	fix_memcg_kill();
	emit();
	assert_text("scope", "memcg");
	assert_true(json_is_false(at("limit_inferred")));
	assert_text("limit_cgroup", FIX_LEAF);
	assert_number("limit_bytes", 4194304LL * 4096);
	assert_number("usage_bytes", 4194303LL * 4096);
	assert_number("swap_usage_bytes", 0);
	assert_absent("swap_limit_bytes");
	assert_number("total_bytes", 4194304LL * 4096);
	limits = at("limits");
	assert_int_equal(json_array_size(limits), 4);
	leaf = json_array_get(limits, 0);
	assert_true(json_is_true(json_object_get(leaf, "hit")));
	assert_null(json_object_get(json_array_get(limits, 1), "max_bytes"));
	assert_null(json_object_get(json_array_get(limits, 1), "hit"));
	assert_null(json_object_get(leaf, "high_bytes"));
	assert_int_equal(json_integer_value(json_object_get(leaf, "usage_after_bytes")),
		(4194303LL - 245248) * 4096);
	assert_text("gfp_mask", "0xcc0");
	assert_number("order", 0);
	assert_absent("nodemask");
	assert_text("source", "bpf+kmsg");
	assert_text("kernel_log", "agrees");
	assert_number("lost_events", 0);
}

/* What misleads who reads one of the two: each level has both. */
static void every_level_has_its_events(void **state)
{
	static const struct {
		const char *key, *name;
		int level, count;
	} wanted[] = {
		{"events", "oom", 0, 0},
		{"events", "oom_kill", 0, 1},
		{"events", "oom", 1, 1},
		{"events", "oom_kill", 1, 1},
		{"events", "max", 1, 50},
		{"events_local", "oom", 1, 1},
		{"events_local", "oom_kill", 1, 0},
		{"events_local", "oom_kill", 0, 1},
		{"events_local", "oom_group_kill", 0, 0},
	};
	json_t *level;

	(void)state;
	fix_ancestor();
	fix_incident.levels[2].events[EV_EVENT_OOM] = UNKNOWN_U64;
	emit();
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		level = json_object_get(
			json_array_get(at("limits"), wanted[i].level), wanted[i].key);
		assert_int_equal(json_integer_value(json_object_get(level, wanted[i].name)),
			wanted[i].count);
	}
	level = json_object_get(json_array_get(at("limits"), 2), "events");
	assert_non_null(json_object_get(level, "oom_kill"));
	assert_null(json_object_get(level, "oom"));
}

static void events_carry_what_was_added(void **state)
{
	json_t *events;

	(void)state;
	fix_memcg_kill();
	fix_incident.levels[0].events[EV_EVENT_HIGH] = UNKNOWN_U64;
	fix_incident.events_before[EV_EVENT_LOW] = 99; /* a counter cannot run backwards */
	emit();
	events = at("memory_events");
	assert_int_equal(json_integer_value(json_object_get(events, "oom_kill")), 14);
	assert_int_equal(json_integer_value(json_object_get(events, "oom_kill_delta")), 5);
	assert_null(json_object_get(events, "high"));
	assert_null(json_object_get(events, "high_delta"));
	assert_int_equal(json_integer_value(json_object_get(events, "low")), 10);
	assert_null(json_object_get(events, "low_delta"));
}

static void the_victim_is_told_twice_alike(void **state)
{
	static const char *const names[] = {"pid", "comm", "uid", "ppid", "container_pid",
		"started", "anon_bytes", "file_bytes", "shmem_bytes", "swap_bytes",
		"pgtables_bytes", "total_vm_bytes", "oom_score_adj"};
	json_t *victim;

	(void)state;
	fix_memcg_kill();
	emit();
	victim = json_array_get(at("victims"), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char flat[64];

		snprintf(flat, sizeof(flat), "victim_%s", names[i]);
		assert_non_null(at(flat));
		assert_true(json_equal(at(flat), json_object_get(victim, names[i])));
	}
	assert_number("victim_anon_bytes", 246016LL * 4096);
	assert_number("victim_container_pid", 17);
	assert_number("victim_badness_pages", 249882);
	assert_text("victim_started", "2026-01-02T03:11:00.000000123Z");
	assert_text("victim_unit", "cri-containerd-9f3c2a.scope");
	assert_string_equal(json_string_value(json_object_get(victim, "why")), "chosen");
	assert_int_equal(json_integer_value(json_object_get(victim, "exit_code")), 9);
	assert_true(json_real_value(json_object_get(victim, "exit_ms")) > 182.03);
}

static void badness_is_a_sum_and_the_kernels(void **state)
{
	json_t *badness;

	(void)state;
	fix_global_kill();
	emit();
	badness = at("badness");
	assert_int_equal(json_integer_value(json_object_get(badness, "points")),
		json_integer_value(json_object_get(badness, "rss_pages")) +
			json_integer_value(json_object_get(badness, "swap_pages")) +
			json_integer_value(json_object_get(badness, "pgtables_pages")) +
			json_integer_value(json_object_get(badness, "adj_pages")));
	assert_int_equal(json_integer_value(json_object_get(badness, "kernel_points")),
		json_integer_value(json_object_get(badness, "points")) + 64);
	assert_string_equal(json_string_value(json_object_get(badness, "rss_matches")), "neither");
	assert_null(json_object_get(badness, "rss_exact_pages"));
}

static void both_sums_are_named_for_what_they_are(void **state)
{
	json_t *badness;

	(void)state;
	fix_memcg_kill();
	emit();
	badness = at("badness");
	assert_int_equal(json_integer_value(json_object_get(badness, "rss_approx_pages")), 249088);
	assert_int_equal(json_integer_value(json_object_get(badness, "rss_exact_pages")), 249105);
	/* The same, on a kernel that sums exactly: the judge then leads with the exact sum. */
	fix_judgement.other_badness = fix_judgement.badness;
	fix_judgement.badness.rss_pages += 17;
	fix_judgement.badness.points += 17;
	fix_judgement.rss_match = RSS_MATCH_EXACT;
	fix_judgement.rss_sum = RSS_EXACT;
	emit();
	badness = at("badness");
	assert_int_equal(json_integer_value(json_object_get(badness, "rss_approx_pages")), 249088);
	assert_int_equal(json_integer_value(json_object_get(badness, "rss_exact_pages")), 249105);
	assert_number("victim_anon_bytes", (246016LL + 17) * 4096);
	assert_absent("victim_counters_approximate");
	assert_true(json_is_true(
		json_object_get(json_array_get(at("candidates"), 0), "counters_approximate")));
}

static void negative_counters_are_read_as_the_kernel_reads_them(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_incident.victims[0].task.rss_pages[EV_RSS_SHMEM] = -3;
	emit();
	assert_number("victim_shmem_bytes", 0);
}

static void whoever_asks_dies_without_points(void **state)
{
	(void)state;
	fix_global_kill();
	strcpy(fix_incident.message, "Out of memory (oom_kill_allocating_task)");
	fix_incident.chosen_points = 0;
	emit();
	assert_null(json_object_get(at("badness"), "kernel_points"));
	assert_text("kernel_message", "Out of memory (oom_kill_allocating_task)");
}

static void candidates_are_ranked_and_immune_ones_have_no_points(void **state)
{
	json_t *candidates, *agent;

	(void)state;
	fix_memcg_kill();
	emit();
	candidates = at("candidates");
	assert_int_equal(json_array_size(candidates), 7);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(
			json_integer_value(json_object_get(json_array_get(candidates, i), "rank")),
			i + 1);
	agent = json_array_get(candidates, 6);
	assert_string_equal(
		json_string_value(json_object_get(agent, "immune")), "oom_score_adj -1000");
	assert_null(json_object_get(agent, "badness_pages"));
	assert_number("candidates_total", 19);
	assert_text("candidates_at", "kernel");
}

static void points_need_a_ceiling(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_judgement.totalpages = UNKNOWN_U64;
	fix_judgement.has_badness = false;
	emit();
	assert_absent("total_bytes");
	assert_absent("total_computed");
	assert_absent("badness");
	assert_absent("victim_badness_pages");
	assert_null(json_object_get(json_array_get(at("candidates"), 0), "badness_pages"));
}

static void a_bare_pid_claims_nothing_else(void **state)
{
	static const char *const absent[] = {"victim_comm", "victim_uid", "victim_ppid",
		"victim_anon_bytes", "victim_pgtables_bytes", "victim_total_vm_bytes",
		"victim_oom_score_adj", "victim_started"};

	(void)state;
	fix_tracepoint_kill();
	fix_judgement.has_badness = false;
	fix_incident.victims[0].task.flags = EV_TASK_PARTIAL;
	emit();
	assert_number("victim_pid", 31415);
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		assert_absent(absent[i]);
	assert_null(json_object_get(json_array_get(at("victims"), 0), "comm"));
}

static void a_bare_pid_is_filled_from_the_choice(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_incident.victims[0].task.flags = EV_TASK_PARTIAL;
	emit();
	assert_text("victim_comm", "python3");
	assert_number("victim_anon_bytes", 246016LL * 4096);
}

static void memory_that_is_gone_is_not_zero(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_incident.victims[0].task.flags = EV_TASK_NO_MM;
	emit();
	assert_absent("victim_anon_bytes");
	assert_absent("victim_pgtables_bytes");
	assert_number("victim_uid", 1000);
}

static void version_one_counts_memory_and_swap_together(void **state)
{
	json_t *leaf;

	(void)state;
	fix_memcg_kill();
	fix_incident.levels[0].flags = 0;
	fix_incident.levels[0].swap_max_pages = 5000000;
	fix_incident.levels[0].swap_usage_pages = 4999999;
	fix_incident.levels[0].kmem_usage_pages = 12;
	emit();
	assert_number("memsw_limit_bytes", 5000000LL * 4096);
	assert_number("memsw_usage_bytes", 4999999LL * 4096);
	assert_absent("swap_limit_bytes");
	assert_absent("swap_usage_bytes");
	leaf = json_array_get(at("limits"), 0);
	assert_non_null(json_object_get(leaf, "memsw_usage_bytes"));
	assert_null(json_object_get(leaf, "swap_usage_bytes"));
	assert_int_equal(json_integer_value(json_object_get(leaf, "kmem_usage_bytes")), 12 * 4096);
}

static void only_a_cgroups_limit_has_a_cgroup(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_judgement.scope = SCOPE_CPUSET;
	fix_incident.nodemask = 0x2;
	emit();
	assert_text("scope", "cpuset");
	assert_text("nodemask", "0x2");
	assert_absent("limit_cgroup");
	assert_absent("limit_bytes");
	assert_absent("usage_bytes");
}

static void a_path_that_was_not_learnt_is_absent(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_incident.level_paths[0][0] = '\0';
	emit();
	assert_absent("limit_cgroup");
	assert_null(json_object_get(json_array_get(at("limits"), 0), "cgroup"));
	assert_number("limit_bytes", 4194304LL * 4096);
}

static void units_are_found_below_the_slices(void **state)
{
	static const struct {
		const char *path, *unit;
	} cases[] = {
		{"/system.slice/nginx.service", "nginx.service"},
		{"/system.slice/nginx.service/worker", "nginx.service"},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope", "x.scope"},
		{"/user.slice/user-1000.slice/session-3.scope", "session-3.scope"},
		{"/docker/9f3c", NULL},
		{"/kubepods/besteffort/pod1/9f3c", NULL},
		{"/system.slice", NULL},
		{"/", NULL},
		{"", NULL},
		{"/.service", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fix_memcg_kill();
		strcpy(fix_incident.victim_cgroup, cases[i].path);
		emit();
		if (cases[i].unit != NULL)
			assert_text("victim_unit", cases[i].unit);
		else
			assert_absent("victim_unit");
	}
}

static void nobody_killed_speaks_of_no_victim(void **state)
{
	const char *key;
	json_t *value;

	(void)state;
	fix_nobody();
	emit();
	assert_text("outcome", "no-killable");
	assert_text("closed", "at-once");
	assert_number("victims_total", 0);
	assert_number("repeated", 222);
	json_object_foreach(record, key, value)
	{
		assert_int_not_equal(strncmp(key, "victim_", 7), 0);
		assert_string_not_equal(key, "victims");
		assert_string_not_equal(key, "badness");
		assert_string_not_equal(key, "reaped");
	}
	assert_text("kernel_log", "not-seen");
	assert_text("source", "bpf");
}

static void the_tracepoint_tier_says_what_it_inferred(void **state)
{
	(void)state;
	fix_tracepoint_kill();
	emit();
	assert_text("tier", "tracepoint");
	assert_true(json_is_true(at("limit_inferred")));
	assert_true(json_is_true(at("total_computed")));
	assert_text("candidates_at", "census");
	assert_absent("manual");
	assert_absent("order");
	assert_absent("gfp_mask");
	assert_absent("trigger_pid");
	assert_absent("exit_ms");
	assert_absent("freed_bytes");
	assert_absent("kernel_log");
	assert_absent("reaped");
	assert_null(json_object_get(at("badness"), "kernel_points"));
	assert_null(json_object_get(at("hooks"), "kill"));
}

static void all_victims_of_a_group_are_listed(void **state)
{
	(void)state;
	fix_group_kill();
	fix_incident.victims_dropped = 3;
	emit();
	assert_number("victims_total", 13);
	assert_int_equal(json_array_size(at("victims")), 10);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(at("victims"), 5), "why")),
		"group");
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(at("victims"), 9), "why")),
		"shared-mm");
	assert_true(json_is_true(at("limit_oom_group")));
}

static void hostile_names_come_back_as_they_may(void **state)
{
	(void)state;
	fix_hostile();
	emit();
	assert_text(
		"victim_comm", "\033[2J\xef\xbf\xbd\"\\\n\x7f\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_text("host", "h\nost");
	assert_int_equal(
		strncmp(json_string_value(at("limit_cgroup")), "/a\nb\x1b[0m.\xe2\x80\x8b/a\n", 15),
		0);
}

static void numbers_beyond_a_double_are_left_out(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_incident.time_ns = 200ULL * 86400 * 1000000000;
	fix_incident.levels[0].usage_pages = 1ULL << 42;
	emit();
	assert_absent("mono_ns");
	assert_number("mono_us", 200LL * 86400 * 1000000);
	assert_absent("usage_bytes");
	assert_text("ts", "2026-07-21T01:20:00.000000000Z");
}

static void tables_that_claim_too_much_are_not_read_past_their_end(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_judgement.ranked[0].index = INCIDENT_CANDIDATES + 7;
	fix_judgement.limit_level = 99;
	fix_context.hook_count = 1000;
	emit();
	assert_absent("limit_cgroup");
	assert_int_equal(json_array_size(at("candidates")), 6);
}

/* Every size of buffer: whole, or as it was before. */
static void a_line_is_whole_or_absent(void **state)
{
	static char small[SINK_JSON_MAX];
	size_t whole;

	(void)state;
	fix_memcg_kill();
	emit();
	whole = out.len;
	for (size_t size = 4; size < whole + 8; size++) {
		struct buf buf;
		int ret;

		buf_init(&buf, small, size);
		buf_puts(&buf, "{}\n");
		ret = json_incident(&buf, &fix_context, &fix_incident, &fix_judgement);
		if (size >= whole + 4) {
			assert_int_equal(ret, 0);
			assert_memory_equal(small + 3, data, whole);
		} else {
			assert_int_equal(ret, -ENOSPC);
			assert_string_equal(small, "{}\n");
			assert_false(buf.full);
		}
	}
}

static void fill_history(struct growth_picture *picture)
{
	pic_workers(picture);
	fill(picture->cgroups[0].path, PICTURE_PATH);
	fill(picture->processes[0].comm, EV_COMM_LEN + 1);
	fill(picture->families[0].comm, EV_COMM_LEN + 1);
	for (unsigned int i = 1; i < PICTURE_CGROUPS; i++)
		picture->cgroups[i] = picture->cgroups[0];
	for (unsigned int i = 1; i < PICTURE_PROCESSES; i++)
		picture->processes[i] = picture->processes[0];
	for (unsigned int i = 1; i < PICTURE_FAMILIES; i++)
		picture->families[i] = picture->families[0];
	for (unsigned int i = 1; i < PICTURE_ARMED; i++)
		picture->armed[i] = picture->armed[0];
	picture->cgroup_count = PICTURE_CGROUPS;
	picture->process_count = PICTURE_PROCESSES;
	picture->family_count = PICTURE_FAMILIES;
	picture->armed_count = PICTURE_ARMED;
}

/* Every table full, every byte of every name an escape: it must fit what sink.h promises. */
static void the_largest_record_fits(void **state)
{
	(void)state;
	fix_memcg_kill();
	fill(fix_incident.victims[0].task.comm, EV_COMM_LEN + 1);
	fix_incident.candidates[0].task = fix_incident.victims[0].task;
	fill(fix_incident.candidates[0].cgroup, CANDIDATE_PATH);
	fill(fix_incident.candidates[0].cmdline, INCIDENT_CMDLINE);
	for (unsigned int i = 0; i < INCIDENT_CANDIDATES; i++) {
		fix_incident.candidates[i] = fix_incident.candidates[0];
		fix_judgement.ranked[i] = fix_judgement.ranked[0];
		fix_judgement.ranked[i].index = i;
	}
	fix_incident.candidate_count = fix_judgement.ranked_count = INCIDENT_CANDIDATES;
	for (unsigned int i = 0; i < INCIDENT_VICTIMS; i++)
		fix_incident.victims[i] = fix_incident.victims[0];
	fix_incident.victim_count = INCIDENT_VICTIMS;
	for (unsigned int i = 0; i < EV_MAX_LEVELS; i++) {
		fix_incident.levels[i] = fix_incident.levels[0];
		fill(fix_incident.level_paths[i], INCIDENT_PATH);
	}
	fix_incident.level_count = EV_MAX_LEVELS;
	for (unsigned int i = 0; i < VERDICTS_MAX; i++) {
		struct verdict *verdict = &fix_judgement.verdicts[i];

		verdict->id = "own-limit";
		verdict->confidence = CONFIDENCE_CERTAIN;
		verdict->evidence_count = VERDICT_EVIDENCE;
		fill(verdict->claim, VERDICT_TEXT);
		for (unsigned int j = 0; j < VERDICT_EVIDENCE; j++)
			fill(verdict->evidence[j], VERDICT_TEXT);
	}
	fix_judgement.verdict_count = VERDICTS_MAX;
	for (unsigned int i = fix_judgement.missing_count; i < MISSING_MAX; i++)
		fix_missing("reaped", "a reason that is about as long as the longest there is");
	fill_history(&fix_incident.growth);
	fill(fix_incident.victim_cmdline, INCIDENT_CMDLINE);
	fill(fix_incident.victim_exe, INCIDENT_CMDLINE);
	fill(fix_incident.victim_cgroup, INCIDENT_PATH);
	fill(fix_incident.trigger_cgroup, INCIDENT_PATH);
	fill(fix_incident.trigger_cmdline, INCIDENT_CMDLINE);
	emit();
	assert_int_equal(json_array_size(at("victims")), INCIDENT_VICTIMS);
	assert_int_equal(json_array_size(at("growth_processes")), PICTURE_PROCESSES);
	assert_true(out.len < SINK_JSON_MAX / 4 * 3);
}

static void a_run_begins_and_ends_with_its_lines(void **state)
{
	struct run_totals totals = {.incidents = 5,
		.kills = 3,
		.victims = 12,
		.lost_events = 1,
		.lost_candidates = 2,
		.lost_process_events = 4,
		.bad_records = 6,
		.evicted = 7,
		.kmsg_lost = 8,
		.reason = "signal"};

	(void)state;
	fix_context_reset();
	empty();
	assert_int_equal(json_start(&out, &fix_context, FIX_TIME_NS), 0);
	parse_line();
	assert_text("type", "start");
	assert_text("tier", "full");
	assert_text("kernel", "6.12.117-amd64");
	assert_text("version", OOMSNOOP_VERSION);
	assert_number("page_size", 4096);
	assert_number("cgroup_version", 2);
	assert_int_equal(json_object_size(at("hooks")), 3);
	assert_string_equal(json_string_value(json_array_get(at("hooks_missing"), 0)), "reaper");
	empty();
	assert_int_equal(json_stop(&out, &fix_context, FIX_TIME_NS, &totals), 0);
	parse_line();
	assert_text("type", "stop");
	assert_text("reason", "signal");
	assert_number("incidents", 5);
	assert_number("victims", 12);
	assert_number("kernel_log_lost", 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_follow_from_what_stands_before),
		cmocka_unit_test(what_is_not_known_is_left_out),
		cmocka_unit_test(milliseconds_keep_the_microseconds),
		cmocka_unit_test(decimals_are_exact),
		cmocka_unit_test(a_second_line_begins_without_a_comma),
		cmocka_unit_test(every_record_is_one_strict_line),
		cmocka_unit_test(the_first_keys_are_fixed),
		cmocka_unit_test(a_memcg_kill_has_its_numbers),
		cmocka_unit_test(every_level_has_its_events),
		cmocka_unit_test(events_carry_what_was_added),
		cmocka_unit_test(the_victim_is_told_twice_alike),
		cmocka_unit_test(badness_is_a_sum_and_the_kernels),
		cmocka_unit_test(both_sums_are_named_for_what_they_are),
		cmocka_unit_test(negative_counters_are_read_as_the_kernel_reads_them),
		cmocka_unit_test(whoever_asks_dies_without_points),
		cmocka_unit_test(candidates_are_ranked_and_immune_ones_have_no_points),
		cmocka_unit_test(points_need_a_ceiling),
		cmocka_unit_test(a_bare_pid_claims_nothing_else),
		cmocka_unit_test(a_bare_pid_is_filled_from_the_choice),
		cmocka_unit_test(memory_that_is_gone_is_not_zero),
		cmocka_unit_test(version_one_counts_memory_and_swap_together),
		cmocka_unit_test(only_a_cgroups_limit_has_a_cgroup),
		cmocka_unit_test(a_path_that_was_not_learnt_is_absent),
		cmocka_unit_test(units_are_found_below_the_slices),
		cmocka_unit_test(nobody_killed_speaks_of_no_victim),
		cmocka_unit_test(the_tracepoint_tier_says_what_it_inferred),
		cmocka_unit_test(all_victims_of_a_group_are_listed),
		cmocka_unit_test(hostile_names_come_back_as_they_may),
		cmocka_unit_test(numbers_beyond_a_double_are_left_out),
		cmocka_unit_test(tables_that_claim_too_much_are_not_read_past_their_end),
		cmocka_unit_test(a_line_is_whole_or_absent),
		cmocka_unit_test(the_largest_record_fits),
		cmocka_unit_test(a_run_begins_and_ends_with_its_lines),
	};

	return cmocka_run_group_tests(tests, NULL, forget);
}
