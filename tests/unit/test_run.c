// SPDX-License-Identifier: Apache-2.0
/* How a command ended: the verdicts of `oomsnoop run`. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "judge/run.h"
#include "judge/verdict_parts.h"
#include "sink/run.h"

#define MIB (1ULL << 20)
#define S 1000000000ULL
#define EXITED(code) ((code) << 8)

static struct run_judgement judged;

static struct run_facts facts_of(int status, enum run_watch watch)
{
	struct run_facts facts = {.pid = 100,
		.comm = "train",
		.cmdline = "train --all",
		.status = status,
		.wall_ns = 4 * S,
		.maxrss_bytes = 5 * MIB,
		.told = {.watch = watch, .from_start = watch == RUN_WATCH_TRACE, .members = 3},
		.cgroup = {.path = "/own", .peak_bytes = UNKNOWN_U64, .oom_kills = UNKNOWN_U64}};

	facts.peak.pss_bytes = UNKNOWN_U64;
	if (watch == RUN_WATCH_NONE)
		strcpy(facts.why_not_traced, "not permitted: needs CAP_BPF");
	return facts;
}

static const struct run_judgement *judge(const struct run_facts *facts)
{
	judge_run(facts, &judged);
	return &judged;
}

static void assert_ids(const struct run_facts *facts, const char *expected)
{
	char ids[512] = "";

	judge(facts);
	for (unsigned int i = 0; i < judged.verdict_count; i++)
		snprintf(ids + strlen(ids), sizeof(ids) - strlen(ids), "%s%s", i ? " " : "",
			judged.verdicts[i].id);
	assert_string_equal(ids, expected);
}

static void add_oom(struct run_facts *facts, uint32_t pid, bool story)
{
	struct run_oom *oom = &facts->told.ooms[facts->told.oom_total++];

	*oom = (struct run_oom) {.victim_count = 1,
		.pids = {pid},
		.comm = "python3",
		.certain = true,
		.has_story = story,
		.first = {
			.id = "own-limit", .claim = "Its limit.", .confidence = CONFIDENCE_LIKELY}};
	if (story)
		oom->story = (struct verdict) {.id = "died-for-workers",
			.claim = "It died for its workers.",
			.confidence = CONFIDENCE_LIKELY};
}

static void add_kill(struct run_facts *facts, uint32_t pid, bool root)
{
	facts->told.kills[facts->told.kill_total++] = (struct run_kill) {.pid = pid,
		.signal = SIGKILL,
		.comm = "sleep",
		.root = root,
		.first = {.id = "killed-by-process",
			.claim = "Not the OOM killer.",
			.confidence = CONFIDENCE_CERTAIN}};
}

static void an_end_of_its_own(void **state)
{
	struct run_facts facts = facts_of(EXITED(0), RUN_WATCH_TRACE);

	(void)state;
	assert_ids(&facts, "ended");
	assert_true(run_is_quiet(&facts, &judged));
	facts.status = EXITED(3);
	assert_ids(&facts, "ended");
	assert_string_equal(judged.verdicts[0].claim, "It ended by itself with 3.");
	/* 128 is no shell's word for a signal, nor is what is beyond the last. */
	facts.status = EXITED(128);
	assert_ids(&facts, "ended");
	facts.status = EXITED(193);
	assert_ids(&facts, "ended");
}

static void the_oom_killer_took_it(void **state)
{
	struct run_facts facts = facts_of(SIGKILL, RUN_WATCH_TRACE);

	(void)state;
	add_oom(&facts, 100, false);
	assert_ids(&facts, "oom-killed");
	assert_string_equal(
		judged.verdicts[0].claim, "The OOM killer killed python3[100]. Its limit.");
	assert_false(run_is_quiet(&facts, &judged));
	facts.told.oom_total = 0;
	add_oom(&facts, 100, true);
	assert_ids(&facts, "died-for-workers oom-killed");
}

static void a_child_was_taken(void **state)
{
	struct run_facts facts = facts_of(EXITED(1), RUN_WATCH_TRACE);

	(void)state;
	add_oom(&facts, 101, false);
	assert_ids(&facts, "oom-killed ended");
	assert_non_null(strstr(judged.verdicts[0].claim, "python3[101], which it had started."));
	/* A shell that waited for it. */
	facts.status = EXITED(137);
	assert_ids(&facts, "oom-killed shell-told-of-child");
	assert_non_null(strstr(judged.verdicts[1].claim, "SIGKILL: python3[101] was."));
	/* Of two, the one that the command itself died in. */
	facts.status = SIGKILL;
	add_oom(&facts, 100, false);
	assert_ids(&facts, "oom-killed");
	assert_non_null(strstr(judged.verdicts[0].claim, "python3[100]."));
}

static void a_group_was_taken(void **state)
{
	struct run_facts facts = facts_of(SIGKILL, RUN_WATCH_TRACE);

	(void)state;
	add_oom(&facts, 101, false);
	facts.told.ooms[0].pids[facts.told.ooms[0].victim_count++] = 100;
	assert_ids(&facts, "oom-killed");
	assert_non_null(strstr(judged.verdicts[0].claim,
		"python3[101], which it had started, and the command with it."));
}

static void somebody_killed_it(void **state)
{
	struct run_facts facts = facts_of(SIGKILL, RUN_WATCH_TRACE);

	(void)state;
	add_kill(&facts, 100, true);
	assert_ids(&facts, "killed-by-process");
	/* What befell a child does not explain another signal. */
	facts.status = SIGTERM;
	facts.told.kills[0].root = false;
	assert_ids(&facts, "ended-by-signal");
	assert_string_equal(judged.verdicts[0].claim, "It was ended by SIGTERM.");
}

static void a_signal_without_a_sender(void **state)
{
	struct run_facts facts = facts_of(SIGKILL, RUN_WATCH_NONE);

	(void)state;
	assert_ids(&facts, "ended-by-signal");
	assert_non_null(strstr(judged.verdicts[0].evidence[0], "not permitted: needs CAP_BPF"));
	assert_string_equal(judged.missing[0].field, "kills");
	facts.status = SIGTERM;
	facts.passed_signal = SIGTERM;
	facts.passed_pid = 7;
	judge(&facts);
	assert_non_null(strstr(judged.verdicts[0].evidence[0], "pid 7"));
}

static void exit_137(void **state)
{
	struct run_facts facts = facts_of(EXITED(137), RUN_WATCH_TRACE);

	(void)state;
	assert_ids(&facts, "exited-by-itself");
	assert_string_equal(
		judged.verdicts[0].claim, "No signal killed it: it exited with 137 by itself.");
	assert_int_equal(judged.verdicts[0].confidence, CONFIDENCE_CERTAIN);
	/* Not watched from the start: it may have been before. */
	facts.told.from_start = false;
	facts.told.attached_ns = S / 2;
	assert_ids(&facts, "exited-by-itself");
	assert_int_equal(judged.verdicts[0].confidence, CONFIDENCE_LIKELY);
	/* A child that a signal ended, and no record of who sent it. */
	facts.told.dead[facts.told.dead_total++] =
		(struct run_dead) {.pid = 103, .signal = SIGKILL, .comm = "eat"};
	assert_ids(&facts, "shell-told-of-child");
	assert_non_null(strstr(judged.verdicts[0].claim, "SIGKILL: eat[103] was."));
	/* By another signal: that is not what 137 tells of. */
	facts.told.dead[0].signal = SIGTERM;
	assert_ids(&facts, "exited-by-itself");
	facts.told.dead_total = 0;
	add_kill(&facts, 104, false);
	assert_ids(&facts, "shell-told-of-child killed-by-process");
}

static void exit_137_unwatched(void **state)
{
	struct run_facts facts = facts_of(EXITED(137), RUN_WATCH_NONE);

	(void)state;
	assert_ids(&facts, "exited-unwatched");
	/* A count of kills in the cgroup that others live in, too. */
	facts.cgroup.oom_kills = 1;
	assert_ids(&facts, "oom-killed ended");
	assert_int_equal(judged.verdicts[0].confidence, CONFIDENCE_POSSIBLE);
	facts.status = EXITED(0);
	assert_ids(&facts, "ended");
	/* In its own it is certain. */
	facts.cgroup.own = true;
	assert_ids(&facts, "oom-killed ended");
	facts.status = SIGKILL;
	assert_ids(&facts, "oom-killed");
	facts.cgroup.oom_kills = 0;
	assert_ids(&facts, "ended-by-signal");
}

static void what_it_held(void **state)
{
	struct run_facts facts = facts_of(EXITED(0), RUN_WATCH_NONE);

	(void)state;
	judge(&facts);
	assert_int_equal(judged.measure, RUN_MEASURE_MAXRSS);
	/* No more than what it was forked with. */
	facts.maxrss_floor_bytes = 5 * MIB;
	judge(&facts);
	assert_int_equal(judged.measure, RUN_MEASURE_BELOW);
	facts.peak = (struct run_peak) {
		.looks = 3, .rss_bytes = 60 * MIB, .rss_processes = 4, .pss_bytes = UNKNOWN_U64};
	judge(&facts);
	assert_int_equal(judged.measure, RUN_MEASURE_RSS);
	assert_int_equal(judged.peak_bytes, 60 * MIB);
	facts.peak.pss_bytes = 20 * MIB;
	judge(&facts);
	assert_int_equal(judged.measure, RUN_MEASURE_PSS);
	assert_int_equal(judged.peak_bytes, 20 * MIB);
	/* It rose after that, and was not summed again. */
	facts.peak.pss_late = true;
	judge(&facts);
	assert_int_equal(judged.measure, RUN_MEASURE_RSS);
	facts.peak.rss_processes = 1;
	judge(&facts);
	assert_int_equal(judged.measure, RUN_MEASURE_ONE);
	/* Between two looks. */
	facts.maxrss_bytes = 90 * MIB;
	judge(&facts);
	assert_int_equal(judged.measure, RUN_MEASURE_MAXRSS);
	assert_int_equal(judged.peak_bytes, 90 * MIB);
	facts.cgroup.own = true;
	facts.cgroup.peak_bytes = 70 * MIB;
	judge(&facts);
	assert_int_equal(judged.measure, RUN_MEASURE_CGROUP);
	assert_int_equal(judged.peak_bytes, 70 * MIB);
}

static void add_refusal(struct run_facts *facts, uint32_t pid, const char *claim)
{
	struct run_refusal *refusal = &facts->told.refusals[facts->told.refusal_total++];

	refusal->pid = pid;
	refusal->first.id = "allocation-refused";
	refusal->first.confidence = CONFIDENCE_CERTAIN;
	verdict_claim(&refusal->first, "%s", claim);
}

static void something_was_refused(void **state)
{
	struct run_facts facts = facts_of(EXITED(1), RUN_WATCH_TRACE);

	(void)state;
	add_refusal(&facts, 100, "train (pid 100) was refused 2 GiB: nobody was killed");
	add_refusal(&facts, 105, "child (pid 105) was refused a thread: nobody was killed");
	assert_ids(&facts, "allocation-refused");
	/* Its own comes before a later one of somebody else. */
	assert_string_equal(judged.verdicts[0].claim,
		"train (pid 100) was refused 2 GiB: nobody was killed; it ended with 1");
	facts.told.refusals[0].pid = 104;
	judge(&facts);
	assert_string_equal(judged.verdicts[0].claim,
		"child (pid 105) was refused a thread: nobody was killed; the command ended with 1");
	/* Where it succeeded, or a signal ended it, that comes first. */
	facts.status = EXITED(0);
	assert_ids(&facts, "ended");
	assert_non_null(strstr(judged.verdicts[0].evidence[1], "was refused a thread"));
	assert_false(run_is_quiet(&facts, &judged));
	facts.status = SIGABRT;
	assert_ids(&facts, "ended-by-signal");
	/* 137, and the OOM killer took one of them. */
	facts.status = EXITED(137);
	add_oom(&facts, 103, false);
	assert_ids(&facts, "oom-killed shell-told-of-child");
}

static void names_are_made_harmless(void **state)
{
	static char data[SINK_RUN_MAX];
	struct host_facts host = {.page_size = 4096, .hostname = "h", .boot_id = "b"};
	struct sink_context context = {.host = &host, .width = 80};
	struct run_facts facts = facts_of(SIGKILL, RUN_WATCH_NONE);
	struct buf buf;

	(void)state;
	memset(facts.comm, '\x1b', sizeof(facts.comm) - 1);
	memset(facts.cmdline, '\x1b', sizeof(facts.cmdline) - 1);
	memset(facts.cgroup.path, '\n', sizeof(facts.cgroup.path) - 1);
	facts.cgroup.own = facts.cgroup.left = true;
	facts.cgroup.oom_kills = 2;
	add_oom(&facts, 100, true);
	judge(&facts);
	buf_init(&buf, data, sizeof(data));
	assert_int_equal(text_run(&buf, &context, &facts, &judged), 0);
	assert_null(strchr(data, '\x1b'));
	buf_init(&buf, data, sizeof(data));
	assert_int_equal(json_run(&buf, &context, &facts, &judged, S), 0);
	assert_null(strchr(data, '\x1b'));
	assert_ptr_equal(strchr(data, '\n'), data + buf.len - 1);
	/* Too little room leaves nothing behind. */
	buf_init(&buf, data, 300);
	assert_true(json_run(&buf, &context, &facts, &judged, S) < 0);
	assert_int_equal(buf.len, 0);
	assert_true(text_run(&buf, &context, &facts, &judged) < 0);
	assert_int_equal(buf.len, 0);
}

static void names_of_signals(void **state)
{
	(void)state;
	assert_string_equal(run_signal_name(SIGKILL), "SIGKILL");
	assert_string_equal(run_signal_name(SIGUSR2), "SIGUSR2");
	assert_string_equal(run_signal_name(40), "signal 40");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_of_its_own),
		cmocka_unit_test(the_oom_killer_took_it),
		cmocka_unit_test(a_child_was_taken),
		cmocka_unit_test(a_group_was_taken),
		cmocka_unit_test(somebody_killed_it),
		cmocka_unit_test(a_signal_without_a_sender),
		cmocka_unit_test(exit_137),
		cmocka_unit_test(exit_137_unwatched),
		cmocka_unit_test(what_it_held),
		cmocka_unit_test(something_was_refused),
		cmocka_unit_test(names_are_made_harmless),
		cmocka_unit_test(names_of_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
