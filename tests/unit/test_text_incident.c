// SPDX-License-Identifier: Apache-2.0
#include "text_fixture.h"

static void memcg_kill(void **state)
{
	(void)state;
	fix_memcg_kill();
	assert_golden("memcg-kill");
}

static void tracepoint_inferred(void **state)
{
	(void)state;
	fix_tracepoint_kill();
	assert_golden("tracepoint-inferred");
}

static void group_of_ten(void **state)
{
	(void)state;
	fix_group_kill();
	assert_golden("group-of-ten");
}

static void global_kill(void **state)
{
	(void)state;
	fix_global_kill();
	assert_golden("global-kill");
}

static void nobody_killable(void **state)
{
	(void)state;
	fix_nobody();
	assert_golden("nobody-killable");
}

static void sysrq(void **state)
{
	(void)state;
	fix_sysrq();
	assert_golden("sysrq");
}

static void ancestor_limit(void **state)
{
	(void)state;
	fix_ancestor();
	assert_golden("ancestor-limit");
}

#define CONTAINER_ID "9f3c41d2a0b15e6f9f3c41d2a0b15e6f9f3c41d2a0b15e6f9f3c41d2a0b15e6f"
#define POD_SLICE                                                                                  \
	"/kubepods.slice/kubepods-burstable.slice/"                                                \
	"kubepods-burstable-pod1b4e28ba_2fa1_11d2_883f_0016d3cca427.slice"

static void fix_pod_names(void)
{
	snprintf(fix_incident.victim_cgroup, sizeof(fix_incident.victim_cgroup), "%s",
		POD_SLICE "/cri-containerd-" CONTAINER_ID ".scope");
	strcpy(fix_incident.level_paths[0], fix_incident.victim_cgroup);
	strcpy(fix_incident.names.container, "trainer");
	strcpy(fix_incident.names.pod, "bert-0");
	strcpy(fix_incident.names.namespace, "train");
}

static void a_container_of_a_pod(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_pod_names();
	assert_golden("container-limit");
}

static void a_pods_limit(void **state)
{
	(void)state;
	fix_ancestor();
	fix_pod_names();
	strcpy(fix_incident.level_paths[fix_judgement.limit_level], POD_SLICE);
	assert_golden("pod-limit");
}

/* Version 1 has no memory.events, and each cgroup counts alone. */
static void kills_of_version_one_count_where_the_victim_lived(void **state)
{
	(void)state;
	fix_ancestor();
	for (unsigned int i = 0; i < fix_incident.level_count; i++)
		fix_incident.levels[i].flags &= ~(uint32_t)EV_LEVEL_V2;
	fix_incident.levels[1].events[EV_EVENT_OOM_KILL] = 0;
	emit();
	assert_true(shows("memory.oom_control of the limit's cgroup: oom_kill 0;"));
	assert_true(shows(" oom_kill 1. It counts where the"));
	assert_false(shows("memory.events"));
}

/* Nothing can be misread where both are one cgroup, or the counts are not known. */
static void events_are_told_only_where_they_mislead(void **state)
{
	(void)state;
	fix_memcg_kill();
	emit();
	assert_false(shows(" events "));
	fix_ancestor();
	fix_incident.levels[0].events_local[EV_EVENT_OOM_KILL] = UNKNOWN_U64;
	emit();
	assert_false(shows(" events "));
}

static void hostile_names(void **state)
{
	(void)state;
	fix_hostile();
	assert_golden("hostile-names");
}

static void memory_and_swap_of_version_one(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_incident.levels[0].flags = 0;
	fix_incident.levels[0].usage_pages = 4000000;
	fix_incident.levels[0].swap_max_pages = 5000000;
	fix_incident.levels[0].swap_usage_pages = 5000000;
	assert_golden("memsw-limit");
}

static void whoever_asks_dies(void **state)
{
	(void)state;
	fix_global_kill();
	strcpy(fix_incident.message, "Out of memory (oom_kill_allocating_task)");
	fix_incident.chosen_points = 0;
	fix_judgement.rss_match = RSS_MATCH_UNKNOWN;
	fix_trigger("python3", 31415);
	assert_golden("allocating-task");
}

static void only_a_pid(void **state)
{
	(void)state;
	fix_tracepoint_kill();
	fix_incident.victims[0].task.flags = EV_TASK_PARTIAL;
	fix_judgement.has_badness = false;
	fix_incident.candidate_total = fix_incident.candidate_count = 0;
	fix_judgement.ranked_count = 0;
	emit_wide();
	assert_harmless(1000);
	assert_true(shows("KILLED pid 31415: "));
	assert_true(shows("only its pid was told"));
	assert_false(shows("uid"));
	assert_false(shows(" top "));
	assert_false(shows(" chosen "));
	assert_false(shows("anon"));
}

static void an_unknown_limit_is_called_unknown(void **state)
{
	(void)state;
	fix_tracepoint_kill();
	fix_judgement.scope = SCOPE_UNKNOWN;
	fix_judgement.limit_level = -1;
	emit_wide();
	assert_harmless(1000);
	assert_true(shows("whose limit was hit is not"));
	assert_false(shows("all RAM"));
}

static void nodes_are_not_called_the_machine(void **state)
{
	(void)state;
	fix_global_kill();
	fix_judgement.scope = SCOPE_CPUSET;
	emit_wide();
	assert_harmless(1000);
	assert_true(shows("(cpuset)"));
	assert_false(shows("whole machine is"));
}

/* The sum as it stands there must add up, whichever reading it was made from. */
static void a_sum_of_other_counters_is_not_split(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_judgement.badness.rss_pages += 5;
	fix_judgement.badness.points += 5;
	emit_wide();
	assert_true(shows("249,093 resident + 794 page tables + 0 adj = 249,887 pages"));
	assert_false(shows("anon +"));
}

static void the_reading_of_the_scan_may_be_the_sum(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_incident.chosen.rss_pages[EV_RSS_ANON] += 9;
	emit_wide();
	assert_true(shows("246,016 anon + 3,072 file + 794 page tables"));
}

static void negative_adjustments_are_subtracted(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_incident.chosen.oom_score_adj = -10;
	fix_judgement.badness = fix_badness(&fix_incident.chosen, 4194304);
	fix_incident.chosen_points = fix_judgement.badness.points;
	emit_wide();
	assert_true(shows(" - 41,940 adj"));
	assert_true(shows("(oom_score_adj -10) = 207,942 pages of"));
}

static void a_victim_that_was_not_the_highest_is_placed(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_incident.chosen = fix_incident.candidates[2].task;
	fix_judgement.badness = fix_judgement.ranked[2].badness;
	emit_wide();
	assert_true(shows("3rd of 19; then python3[31415] 249,882"));
}

static void a_long_list_of_victims_is_cut_and_counted(void **state)
{
	(void)state;
	fix_group_kill();
	for (unsigned int i = 10; i < 300; i++)
		fix_incident.victims[i] = fix_incident.victims[1];
	fix_incident.victim_count = 300;
	fix_incident.victims_dropped = 12;
	emit_wide();
	assert_harmless(1000);
	assert_true(shows("and 311 more: "));
	assert_true(shows("312 processes"));
	assert_true(shows("and 272 more\n"));
}

static void what_happened_to_the_end_is_told(void **state)
{
	static const struct {
		enum incident_closed closed;
		const char *text;
	} cases[] = {
		{CLOSED_REAPED, "reaper"},
		{CLOSED_EVICTED, "newer kills needed the room"},
		{CLOSED_STOPPED, "tracing was stopped"},
		{CLOSED_TIMEOUT, "not seen to exit within 10.0 s"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fix_tracepoint_kill();
		fix_incident.closed = cases[i].closed;
		emit_wide();
		assert_harmless(1000);
		assert_true(shows(cases[i].text));
	}
}

static void the_ceiling_is_never_shown_as_a_size(void **state)
{
	(void)state;
	fix_memcg_kill();
	fix_judgement.totalpages = 7777777;
	fix_judgement.badness.total_pages = 7777777;
	emit();
	assert_false(shows("7,777,777"));
	assert_false(shows("29.7 GiB"));
}

static void every_width_is_kept(void **state)
{
	static void (*const fixtures[])(void) = {fix_memcg_kill, fix_tracepoint_kill,
		fix_group_kill, fix_global_kill, fix_nobody, fix_sysrq, fix_ancestor, fix_hostile};

	(void)state;
	for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++) {
		for (int width = 40; width < 200; width++) {
			fixtures[i]();
			fix_context.width = width;
			emit();
			assert_harmless((size_t)width);
		}
	}
	fix_memcg_kill();
	fix_context.width = 0;
	emit();
	assert_harmless(80);
}

/* Colour adds escapes and changes no letter. */
static void colour_is_never_the_only_sign(void **state)
{
	static char plain[SINK_TEXT_MAX], stripped[SINK_TEXT_MAX];
	size_t len = 0;

	(void)state;
	fix_global_kill();
	strcpy(plain, emit());
	fix_context.color = true;
	emit();
	assert_true(shows("\033[1;31mKILLED\033[0m"));
	for (const char *at = data; *at != '\0'; at++) {
		if (*at == '\033')
			at = strchr(at, 'm');
		else
			stripped[len++] = *at;
	}
	stripped[len] = '\0';
	assert_string_equal(stripped, plain);
}

static void every_name_is_made_harmless(void **state)
{
	static const char evil[] = "\033]0;owned\007";

	(void)state;
	fix_global_kill();
	strcpy(fix_incident.trigger_comm, evil);
	strcpy(fix_incident.trigger_cgroup, evil);
	strcpy(fix_incident.victim_cgroup, evil);
	strcpy(fix_incident.victim_cmdline, evil);
	strcpy(fix_incident.victims[0].task.comm, evil);
	strcpy(fix_incident.candidates[0].task.comm, evil);
	strcpy(fix_incident.kmsg_difference, evil);
	strcpy(fix_judgement.verdicts[0].claim, evil);
	strcpy(fix_host.hostname, evil);
	strcpy(fix_host.kernel, evil);
	emit();
	assert_harmless(80);
}

static void a_view_is_whole_or_absent(void **state)
{
	static char small[SINK_TEXT_MAX];
	size_t whole;

	(void)state;
	fix_group_kill();
	emit();
	whole = out.len;
	for (size_t size = 4; size < whole + 8; size++) {
		struct buf buf;
		int ret;

		buf_init(&buf, small, size);
		buf_puts(&buf, "abc");
		ret = text_incident(&buf, &fix_context, &fix_incident, &fix_judgement);
		if (size >= whole + 4) {
			assert_int_equal(ret, 0);
			assert_memory_equal(small + 3, data, whole);
		} else {
			assert_int_equal(ret, -ENOSPC);
			assert_string_equal(small, "abc");
		}
	}
}

static void the_largest_view_fits(void **state)
{
	(void)state;
	fix_ancestor();
	for (unsigned int i = 0; i < EV_MAX_LEVELS; i++)
		fill(fix_incident.level_paths[i], INCIDENT_PATH);
	fill(fix_incident.victim_cgroup, INCIDENT_PATH);
	fill(fix_incident.trigger_cgroup, INCIDENT_PATH - 1);
	fill(fix_incident.victim_cmdline, INCIDENT_CMDLINE);
	fix_judgement.verdict_count = VERDICTS_MAX;
	for (unsigned int i = 0; i < VERDICTS_MAX; i++) {
		fix_judgement.verdicts[i].id = "swap-heavy";
		fill(fix_judgement.verdicts[i].claim, VERDICT_TEXT);
	}
	fix_judgement.missing_count = 0;
	for (unsigned int i = 0; i < MISSING_MAX; i++)
		fix_missing("trigger_pid", "a reason");
	fix_incident.victim_count = INCIDENT_VICTIMS;
	for (unsigned int i = 1; i < INCIDENT_VICTIMS; i++) {
		fix_incident.victims[i] = fix_incident.victims[0];
		fix_incident.victims[i].why = VICTIM_SHARED_MM;
		fill(fix_incident.victims[i].task.comm, EV_COMM_LEN + 1);
	}
	emit();
	assert_harmless(80);
	assert_true(out.len < SINK_TEXT_MAX / 2);
	assert_true(shows("incident 3\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memcg_kill),
		cmocka_unit_test(tracepoint_inferred),
		cmocka_unit_test(group_of_ten),
		cmocka_unit_test(global_kill),
		cmocka_unit_test(nobody_killable),
		cmocka_unit_test(sysrq),
		cmocka_unit_test(ancestor_limit),
		cmocka_unit_test(a_container_of_a_pod),
		cmocka_unit_test(a_pods_limit),
		cmocka_unit_test(kills_of_version_one_count_where_the_victim_lived),
		cmocka_unit_test(events_are_told_only_where_they_mislead),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(memory_and_swap_of_version_one),
		cmocka_unit_test(whoever_asks_dies),
		cmocka_unit_test(only_a_pid),
		cmocka_unit_test(an_unknown_limit_is_called_unknown),
		cmocka_unit_test(nodes_are_not_called_the_machine),
		cmocka_unit_test(a_sum_of_other_counters_is_not_split),
		cmocka_unit_test(the_reading_of_the_scan_may_be_the_sum),
		cmocka_unit_test(negative_adjustments_are_subtracted),
		cmocka_unit_test(a_victim_that_was_not_the_highest_is_placed),
		cmocka_unit_test(a_long_list_of_victims_is_cut_and_counted),
		cmocka_unit_test(what_happened_to_the_end_is_told),
		cmocka_unit_test(the_ceiling_is_never_shown_as_a_size),
		cmocka_unit_test(every_width_is_kept),
		cmocka_unit_test(colour_is_never_the_only_sign),
		cmocka_unit_test(every_name_is_made_harmless),
		cmocka_unit_test(a_view_is_whole_or_absent),
		cmocka_unit_test(the_largest_view_fits),
	};

	return cmocka_run_group_tests(tests, set_zone, NULL);
}
