// SPDX-License-Identifier: Apache-2.0
/* What a kill means, and how it is told. */
#include <jansson.h>

#include "base/buf.h"
#include "judge/kills.h"
#include "sink/kill.h"
#include "sink_fixture.h"

#define SEC 1000000000ULL

static struct killing killing;
static struct kill_judgement judged;
static char out[64 << 10];

/* bash[10] sent SIGKILL to python3[100] of /pod/app, whose limit was half full. */
static int a_kill(void **state)
{
	(void)state;
	memset(&fix_context, 0, sizeof(fix_context));
	memset(&fix_host, 0, sizeof(fix_host));
	fix_host.page_size = 4096;
	strcpy(fix_host.hostname, "web-7");
	strcpy(fix_host.boot_id, "60f9fdcb-57df-438f-b6cc-b318fd71ec35");
	strcpy(fix_host.kernel, "6.12");
	fix_context.host = &fix_host;
	fix_context.width = 80;
	fix_context.hook_count = 1;
	fix_context.hooks[0] = (struct sink_hook) {"signal", "tp_btf signal_generate"};
	memset(&killing, 0, sizeof(killing));
	killing = (struct killing) {.number = 3,
		.manner = MANNER_EACH,
		.time_ns = 1000 * SEC,
		.last_ns = 1000 * SEC,
		.signal = 9,
		.flags = EV_SIGNAL_GROUP | EV_SIGNAL_LIMIT,
		.sender_tgid = 10,
		.sender_tid = 10,
		.sender_ppid = 9,
		.sender_comm = "bash",
		.sender_parent = "sshd",
		.sender_cmdline = "-bash",
		.sender_exe = "/usr/bin/bash",
		.sender_cgroup = "/user.slice",
		.total = 1,
		.received = 1,
		.target_count = 1,
		.target_cgroup = "/pod/app",
		.target_cmdline = "python3 train.py",
		.limit_max_pages = 1000,
		.limit_usage_pages = 500,
		.limit_cgroup = "/pod",
		.pressure = {123, UNKNOWN_U64},
		.cgroup_pressure = {UNKNOWN_U64, UNKNOWN_U64}};
	killing.targets[0] = (struct killing_target) {.tgid = 100,
		.tid = 100,
		.ns_tgid = 100,
		.start_ns = 900 * SEC,
		.rss_pages = {10, 256, 0, 0},
		.comm = "python3"};
	killing.host = (struct host_memory) {.total_bytes = 16 * GIB,
		.available_bytes = 8 * GIB,
		.swap_total_bytes = 0,
		.swap_free_bytes = 0};
	return 0;
}

static const struct verdict *judge(void)
{
	judge_killing(&killing, &fix_host, &judged);
	assert_true(judged.verdict_count > 0 && judged.verdict_count <= KILL_VERDICTS);
	for (unsigned int i = 0; i < judged.verdict_count; i++) {
		assert_true(judged.verdicts[i].evidence_count > 0);
		assert_true(judged.verdicts[i].claim[0]);
	}
	return &judged.verdicts[0];
}

static bool evidence(const char *wanted)
{
	for (unsigned int i = 0; i < judged.verdict_count; i++)
		for (unsigned int j = 0; j < judged.verdicts[i].evidence_count; j++)
			if (strstr(judged.verdicts[i].evidence[j], wanted))
				return true;
	return false;
}

static void a_shell_is_a_process(void **state)
{
	const struct verdict *verdict = judge();

	(void)state;
	assert_string_equal(verdict->id, "killed-by-process");
	assert_string_equal(verdict->claim,
		"Not the OOM killer: bash (pid 10) sent SIGKILL to python3 (pid 100)");
	assert_int_equal(verdict->confidence, CONFIDENCE_CERTAIN);
	assert_true(evidence("child of sshd (pid 9): -bash"));
	assert_true(evidence("the limit of /pod was 50 % full: 1.95 MiB of 3.91 MiB"));
	assert_true(evidence("8.00 GiB of 16.0 GiB available, memory pressure 1.23 %"));
	assert_true(killing_is_foreign(&killing));
}

static void its_own_child_is_not_foreign(void **state)
{
	(void)state;
	killing.flags |= EV_SIGNAL_CHILD | EV_SIGNAL_DESCENDANT;
	killing.descendants = 1;
	assert_false(killing_is_foreign(&killing));
	assert_non_null(strstr(judge()->claim, "its own child"));
	/* Two, one of them a stranger. */
	killing.received = killing.total = 2;
	assert_true(killing_is_foreign(&killing));
	/* A manager's children are what it is there for. */
	killing.received = killing.total = 1;
	strcpy(killing.sender_exe, "/usr/sbin/slurmstepd");
	assert_true(killing_is_foreign(&killing));
}

static void a_daemon_is_known_by_its_file(void **state)
{
	const struct verdict *verdict;

	(void)state;
	strcpy(killing.sender_exe, "/usr/lib/systemd/systemd-oomd");
	killing.cgroup_pressure.some = 5134;
	killing.total = killing.received = killing.target_count = 12;
	verdict = judge();
	assert_string_equal(verdict->id, "killed-by-oom-daemon");
	assert_string_equal(verdict->claim,
		"Not the OOM killer: systemd-oomd (pid 10) sent SIGKILL to 12 processes, first of them "
		"python3 (pid 100), at a memory pressure of 51 % in its cgroup");
	assert_int_equal(judged.verdict_count, 1);
	killing.sender_exe[0] = '\0';
	strcpy(killing.sender_comm, "earlyoom");
	assert_int_equal(judge()->confidence, CONFIDENCE_LIKELY);
}

static void a_manager_stops_what_it_runs(void **state)
{
	const struct verdict *verdict;

	(void)state;
	killing.sender_tgid = 1;
	strcpy(killing.sender_comm, "systemd");
	strcpy(killing.sender_exe, "/usr/lib/systemd/systemd");
	killing.term_ns = killing.time_ns - 90 * SEC;
	killing.term_tgid = 1;
	killing.term_count = 1;
	verdict = judge();
	assert_string_equal(verdict->id, "cgroup-killed");
	assert_string_equal(verdict->claim,
		"Not the OOM killer: systemd (pid 1) sent SIGKILL to python3 (pid 100), 1 min 30 s after "
		"SIGTERM, which had not ended it");
	killing.oom_ns = killing.time_ns - SEC / 5;
	killing.oom_tgid = 77;
	strcpy(killing.oom_comm, "eater");
	verdict = judge();
	assert_string_equal(verdict->id, "cleanup-after-oom");
	assert_non_null(
		strstr(verdict->claim, "it killed eater (pid 77) in this cgroup 200 ms before"));
	assert_string_equal(judged.verdicts[1].id, "cgroup-killed");
}

/* Whoever kills by hand a while after has nothing to do with it: no cleaning up is claimed. */
static void a_hand_after_an_oom_kill_is_no_cleanup(void **state)
{
	(void)state;
	killing.oom_ns = killing.time_ns - SEC;
	killing.oom_tgid = 77;
	assert_string_equal(judge()->id, "killed-by-process");
	assert_int_equal(judged.verdict_count, 1);
}

static void manners_have_their_words(void **state)
{
	(void)state;
	killing.manner = MANNER_CGROUP;
	assert_string_equal(judge()->id, "cgroup-killed");
	assert_non_null(strstr(
		judged.verdicts[0].claim, "killed the whole cgroup /pod/app by cgroup.kill"));
	killing.manner = MANNER_GROUP;
	killing.argument = -100;
	assert_non_null(strstr(judge()->claim, "to the process group 100: python3 (pid 100)"));
	killing.manner = MANNER_NAMESPACE;
	assert_string_equal(judge()->id, "cgroup-killed");
	assert_false(killing_is_foreign(&killing));
	killing.manner = MANNER_PARENT;
	assert_string_equal(judge()->id, "killed-by-process");
	killing.manner = MANNER_KERNEL;
	assert_string_equal(judge()->id, "killed-by-kernel");
	killing.manner = MANNER_EACH;
	killing.result = EV_SIGNAL_IGNORED;
	assert_non_null(strstr(judge()->claim, "Nobody was killed: bash"));
	killing.result = 0;
	killing.sender_tgid = 100;
	assert_non_null(strstr(judge()->claim, "killed itself"));
}

static void a_full_tmpfs_is_told(void **state)
{
	const struct verdict *verdict;

	(void)state;
	killing.manner = MANNER_FAULT;
	killing.signal = 7;
	killing.code = 2;
	killing.sender_tgid = 100;
	killing.flags = EV_SIGNAL_MAPPING | EV_SIGNAL_BLOCKS;
	killing.mapping_magic = 0x01021994;
	killing.mapping_bytes = 1 << 30;
	killing.tmpfs_max_blocks = killing.tmpfs_used_blocks = 16384;
	strcpy(killing.mapping_name, "torch_1");
	verdict = judge();
	assert_string_equal(verdict->id, "shm-full");
	assert_string_equal(verdict->claim,
		"Not the OOM killer: python3 (pid 100) died of SIGBUS, since the tmpfs that torch_1 is "
		"in is full: 64.0 MiB of 64.0 MiB in use");
	/* One page is free: then it was not that. */
	killing.tmpfs_used_blocks--;
	assert_string_equal(judge()->id, "memory-fault");
	assert_null(strstr(judged.verdicts[0].claim, "beyond the end"));
	killing.mapping_offset = killing.mapping_bytes;
	assert_non_null(strstr(judge()->claim, "beyond the end of torch_1"));
	assert_true(killing_is_foreign(&killing));
	killing.signal = 11;
	assert_false(killing_is_foreign(&killing));
}

static bool is_missing(const char *field)
{
	for (unsigned int i = 0; i < judged.missing_count; i++)
		if (!strcmp(judged.missing[i].field, field))
			return true;
	return false;
}

/* What is mapped there was not found: nothing is claimed of it, and it is said to be missing. */
static void a_fault_of_an_unknown_mapping_is_not_sure(void **state)
{
	(void)state;
	killing.manner = MANNER_FAULT;
	killing.signal = 7;
	killing.code = 2;
	killing.sender_tgid = 100;
	killing.flags = 0;
	assert_string_equal(judge()->id, "memory-fault");
	assert_int_equal(judged.verdicts[0].confidence, CONFIDENCE_POSSIBLE);
	assert_non_null(strstr(judged.verdicts[0].claim, "a full tmpfs, a file that was cut"));
	assert_true(is_missing("fault_file"));
	/* Bad memory, say, is no file's matter; nor is what is no file. */
	killing.code = 4;
	assert_int_equal(judge()->confidence, CONFIDENCE_CERTAIN);
	killing.code = 2;
	killing.flags = EV_SIGNAL_MAPPING_ANON;
	assert_int_equal(judge()->confidence, CONFIDENCE_CERTAIN);
	assert_false(is_missing("fault_file"));
	/* On a tmpfs, and how full it was could not be read. */
	killing.flags = EV_SIGNAL_MAPPING;
	killing.mapping_magic = 0x01021994;
	killing.mapping_bytes = 1 << 20;
	assert_int_equal(judge()->confidence, CONFIDENCE_LIKELY);
	assert_non_null(strstr(judged.verdicts[0].claim, "that is full, most likely"));
	assert_true(is_missing("tmpfs_used_bytes"));
}

/* --- sinks --- */

static json_t *line(void)
{
	struct buf buf;
	json_t *json;

	buf_init(&buf, out, sizeof(out));
	judge();
	assert_int_equal(json_kill(&buf, &fix_context, &killing, &judged), 0);
	json = json_loads(out, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(json);
	return json;
}

static void hostile_names_are_harmless(void **state)
{
	static const char hostile[] = "a\n\033[31m\"\\\xff,";
	struct buf buf;
	json_t *json;

	(void)state;
	strcpy(killing.sender_comm, hostile);
	strcpy(killing.sender_cmdline, hostile);
	strcpy(killing.sender_exe, hostile);
	strcpy(killing.sender_cgroup, hostile);
	strcpy(killing.target_cgroup, hostile);
	strcpy(killing.limit_cgroup, hostile);
	strcpy(killing.names.container, hostile);
	strcpy(killing.names.pod, hostile);
	strcpy(killing.names.namespace, hostile);
	strcpy(killing.targets[0].comm, hostile);
	json = line();
	assert_null(strchr(out, '\033'));
	assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1);
	json_decref(json);
	buf_init(&buf, out, sizeof(out));
	assert_int_equal(text_kill(&buf, &fix_context, &killing, &judged), 0);
	assert_null(strchr(out, '\033'));
	assert_null(strchr(out, '\xff'));
}

/* Every name as long as it may be, every byte of it escaped. */
static void the_longest_record_fits(void **state)
{
	static char big[256 << 10];
	struct buf buf;

	(void)state;
#define FILL(text) memset(text, 1, sizeof(text) - 1)
	FILL(killing.sender_comm);
	FILL(killing.sender_parent);
	FILL(killing.sender_cmdline);
	FILL(killing.sender_exe);
	FILL(killing.sender_parent_exe);
	FILL(killing.sender_cgroup);
	FILL(killing.target_cgroup);
	FILL(killing.target_cmdline);
	FILL(killing.target_exe);
	FILL(killing.limit_cgroup);
	FILL(killing.names.container);
	FILL(killing.names.pod);
	FILL(killing.names.namespace);
	FILL(killing.names.pod_uid);
	FILL(killing.mapping_name);
	FILL(killing.oom_comm);
	FILL(killing.term_comm);
	killing.total = killing.target_count = KILLING_TARGETS;
	killing.term_ns = killing.oom_ns = 1;
	killing.manner = MANNER_GROUP;
	for (int i = 0; i < KILLING_TARGETS; i++) {
		killing.targets[i] = killing.targets[0];
		FILL(killing.targets[i].comm);
	}
	judge();
	buf_init(&buf, big, sizeof(big));
	assert_int_equal(json_kill(&buf, &fix_context, &killing, &judged), 0);
	assert_true(buf.len < sizeof(big) / 2);
	buf_reset(&buf);
	assert_int_equal(text_kill(&buf, &fix_context, &killing, &judged), 0);
	assert_true(buf.len < sizeof(big) / 2);
	/* And into too little room nothing goes. */
	buf_init(&buf, big, 300);
	buf_puts(&buf, "before");
	assert_int_not_equal(json_kill(&buf, &fix_context, &killing, &judged), 0);
	assert_int_not_equal(text_kill(&buf, &fix_context, &killing, &judged), 0);
	assert_string_equal(big, "before");
}

static void what_is_not_known_is_left_out_and_named(void **state)
{
	json_t *json, *item;
	size_t at;
	bool named = false;

	(void)state;
	killing.sender_cmdline[0] = '\0';
	json = line();
	assert_string_equal(
		json_string_value(json_object_get(json, "summary")), judged.verdicts[0].claim);
	assert_null(json_object_get(json, "sender_cmdline"));
	assert_null(json_object_get(json, "pressure_full_percent"));
	assert_null(json_object_get(json, "sigterm_ms_before"));
	json_array_foreach(json_object_get(json, "missing"), at, item) named |=
		!strcmp(json_string_value(json_object_get(item, "field")), "sender_cmdline");
	assert_true(named);
	json_decref(json);
}

static void the_first_line_says_it(void **state)
{
	struct buf buf;

	(void)state;
	judge();
	buf_init(&buf, out, sizeof(out));
	assert_int_equal(text_kill(&buf, &fix_context, &killing, &judged), 0);
	assert_non_null(
		strstr(out, " KILL Not the OOM killer: bash (pid 10) sent SIGKILL to python3"));
	assert_non_null(strstr(out, "\n where   /pod/app\n"));
	assert_non_null(strstr(
		out, "\n sender  bash[10], uid 0, child of sshd[9], -bash, in /user.slice\n"));
	assert_non_null(strstr(out, "\n source  tp_btf signal_generate, SIGKILL (SI_USER)\n"));
}

#define POD "/kubepods/burstable/pod0b5e4f3c-8a77-4c1e-9d2a-6f1d7c1b2a90/"
#define ID "9f3c41d2a0b19f3c41d2a0b19f3c41d2a0b19f3c41d2a0b19f3c41d2a0b19f3c"

static void is_json(json_t *json, const char *key, const char *wanted)
{
	assert_non_null(json_object_get(json, key));
	assert_string_equal(json_string_value(json_object_get(json, key)), wanted);
}

static void it_is_told_whose_it_was(void **state)
{
	struct buf buf;
	json_t *json;

	(void)state;
	strcpy(killing.target_cgroup, POD ID);
	strcpy(killing.names.container, "trainer");
	strcpy(killing.names.pod, "bert-0");
	strcpy(killing.names.namespace, "train");
	killing.names.runtime = RUNTIME_CONTAINERD;
	judge();
	assert_false(is_missing("container_name") || is_missing("pod_name"));
	buf_init(&buf, out, sizeof(out));
	assert_int_equal(json_kill(&buf, &fix_context, &killing, &judged), 0);
	json = json_loads(out, 0, NULL);
	assert_non_null(json);
	is_json(json, "container_id", ID);
	is_json(json, "container_name", "trainer");
	is_json(json, "pod_name", "bert-0");
	is_json(json, "pod_namespace", "train");
	is_json(json, "pod_uid", "0b5e4f3c-8a77-4c1e-9d2a-6f1d7c1b2a90");
	is_json(json, "pod_qos", "burstable");
	is_json(json, "runtime", "containerd");
	json_decref(json);
	buf_init(&buf, out, sizeof(out));
	assert_int_equal(text_kill(&buf, &fix_context, &killing, &judged), 0);
	assert_non_null(strstr(out, "\n where   pod train/bert-0, container trainer (containerd "));
}

static void names_that_are_not_known_are_missing(void **state)
{
	(void)state;
	judge();
	assert_false(is_missing("container_name") || is_missing("pod_name"));
	strcpy(killing.target_cgroup, POD ID);
	killing.names.troubles = NAMES_NO_LOGS;
	judge();
	assert_true(is_missing("container_name"));
	assert_true(is_missing("pod_name"));
	assert_true(is_missing("pod_namespace"));
	strcpy(killing.target_cgroup, "/system.slice/cron.service");
	judge();
	assert_false(is_missing("container_name") || is_missing("pod_name"));
}

#define EACH(test) cmocka_unit_test_setup(test, a_kill)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(a_shell_is_a_process),
		EACH(its_own_child_is_not_foreign),
		EACH(a_daemon_is_known_by_its_file),
		EACH(a_manager_stops_what_it_runs),
		EACH(a_hand_after_an_oom_kill_is_no_cleanup),
		EACH(manners_have_their_words),
		EACH(a_full_tmpfs_is_told),
		EACH(a_fault_of_an_unknown_mapping_is_not_sure),
		EACH(hostile_names_are_harmless),
		EACH(the_longest_record_fits),
		EACH(what_is_not_known_is_left_out_and_named),
		EACH(the_first_line_says_it),
		EACH(it_is_told_whose_it_was),
		EACH(names_that_are_not_known_are_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
