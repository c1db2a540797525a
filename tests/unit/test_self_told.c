// SPDX-License-Identifier: Apache-2.0
/* A kill that was noticed from within its cgroup, judged and told. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "judge/judgement.h"
#include "model/imported.h"
#include "sink/sink.h"

#define SECOND 1000000000ULL
#define PAGES(mib) ((int64_t)(mib)*256)
#define NO_LIMIT_PAGES (UINT64_MAX / 4096)

static struct incident incident;
static struct judgement judgement;
static struct host_facts host = {
	.hostname = "notebook", .kernel = "6.12.1", .page_size = 4096, .swappiness = 60};
static char told[SINK_JSON_MAX];

static void put_task(struct task_facts *task, uint32_t pid, unsigned int mib)
{
	*task = (struct task_facts) {.tgid = pid,
		.ppid = 1,
		.start_ns = SECOND,
		.at_ns = 99 * SECOND + SECOND / 2,
		.cgroup_id = 7};
	task->rss_pages[EV_RSS_ANON] = PAGES(mib);
	snprintf(task->comm, sizeof(task->comm), "python\x1b%u", pid);
}

/* One of a few processes, killed at its own limit of 64 MiB. */
static void make(enum self_certainty certainty, unsigned int victims, unsigned int kills)
{
	memset(&incident, 0, sizeof(incident));
	incident_log_clear(&incident.log);
	incident.source = INCIDENT_SELF;
	incident.number = 1;
	incident.time_ns = 100 * SECOND;
	incident.outcome = OUTCOME_KILLED;
	incident.closed = CLOSED_EXITED;
	incident.nodemask = incident.mems_allowed = incident.policy_nodes = UINT64_MAX;
	incident.host.total_bytes = 480ULL << 30;
	incident.host.swap_total_bytes = 0;
	memset(&incident.stat, 0xff, sizeof(incident.stat));
	incident.stat_usage_bytes = UINT64_MAX;
	incident.level_count = 1;
	memset(&incident.levels[0], 0xff, sizeof(incident.levels[0]));
	incident.levels[0].id = 7;
	incident.levels[0].flags = EV_LEVEL_V2;
	incident.levels[0].max_pages = incident.levels[0].watermark_pages = PAGES(64);
	incident.levels[0].usage_pages = PAGES(50);
	strcpy(incident.level_paths[0], "/");
	incident.self = (struct incident_self) {.before_ns = 99 * SECOND,
		.kills = kills,
		.vanished = victims,
		.unseen = victims < kills ? kills - victims : 0,
		.certainty = certainty,
		.limit_sign = SELF_LIMIT_COUNTED,
		.counted = kills,
		.pressure_some = 1234,
		.pressure_full = UINT64_MAX};
	for (unsigned int i = 0; i < victims; i++) {
		struct victim *victim = &incident.victims[incident.victim_count++];

		put_task(&victim->task, 50 + i, 40 - i);
		victim->why = certainty == SELF_POSSIBLE ? VICTIM_POSSIBLE : VICTIM_VANISHED;
		incident.candidates[i].task = victim->task;
	}
	incident.candidate_count = incident.candidate_total = victims;
	if (victims)
		strcpy(incident.victim_cgroup, "/");
}

static const char *text(void)
{
	static char flat[SINK_TEXT_MAX];
	const struct sink_context context = {.host = &host, .tier = "cgroup", .width = 80};
	static const struct coverage nothing;
	struct buf buf;
	size_t len = 0;

	judge_incident(&incident, &host, &nothing, &judgement);
	buf_init(&buf, told, SINK_TEXT_MAX);
	assert_int_equal(text_incident(&buf, &context, &incident, &judgement), 0);
	for (const char *at = told; *at; at++)
		if ((*at != ' ' && *at != '\n') || (len && flat[len - 1] != ' '))
			flat[len++] = *at == '\n' ? ' ' : *at;
	flat[len] = '\0';
	return flat;
}

static json_t *json(void)
{
	const struct sink_context context = {.host = &host, .tier = "cgroup"};
	static const struct coverage nothing;
	struct buf buf;
	json_t *ret;

	judge_incident(&incident, &host, &nothing, &judgement);
	buf_init(&buf, told, sizeof(told));
	assert_int_equal(json_incident(&buf, &context, &incident, &judgement), 0);
	ret = json_loads(told, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(ret);
	return ret;
}

static void says(const char *words)
{
	const char *all = text();

	if (!strstr(all, words))
		fail_msg("not said: \"%s\" in: %s", words, all);
}

static bool has_verdict(const char *id)
{
	for (unsigned int i = 0; i < judgement.verdict_count; i++)
		if (!strcmp(judgement.verdicts[i].id, id))
			return true;
	return false;
}

static void one_that_is_certain(void **state)
{
	json_t *record, *observed;

	(void)state;
	make(SELF_CERTAIN, 1, 1);
	says("KILLED python\\x1b50[50]: its cgroup hit its 64.0 MiB memory limit");
	says("last seen 500 ms before the kill was noticed, holding: anon 40.0 MiB");
	says("50.0 MiB when looked at, at most 64.0 MiB so far");
	says("within 1.00 s the kernel counted 1 kill and 1 process vanished, by SIGKILL");
	assert_false(has_verdict("victim-uncertain"));
	record = json();
	assert_string_equal(json_string_value(json_object_get(record, "source")), "cgroup");
	assert_int_equal(json_integer_value(json_object_get(record, "victim_pid")), 50);
	assert_int_equal(json_integer_value(json_object_get(record, "victims_total")), 1);
	assert_null(json_object_get(record, "badness"));
	assert_null(json_object_get(record, "hooks"));
	observed = json_object_get(record, "observed");
	assert_string_equal(
		json_string_value(json_object_get(observed, "victim_certainty")), "certain");
	assert_true(json_real_value(json_object_get(observed, "pressure_some_percent")) == 12.34);
	assert_null(json_object_get(observed, "pressure_full_percent"));
	json_decref(record);
}

static void one_of_three(void **state)
{
	json_t *record;

	(void)state;
	make(SELF_POSSIBLE, 3, 1);
	says("KILLED 1 of 3 processes that vanished, perhaps python\\x1b50[50]: its cgroup hit");
	says("killed 1 process, which may be any of these 3: python\\x1b50[50], python\\x1b51[51], "
	     "python\\x1b52[52]");
	says("1 of the 3 processes that vanished was killed; which cannot be told from here");
	assert_true(has_verdict("victim-uncertain"));
	assert_false(has_verdict("victim-is-largest"));
	record = json();
	assert_int_equal(json_integer_value(json_object_get(record, "victims_total")), 1);
	assert_int_equal(json_array_size(json_object_get(record, "victims")), 3);
	json_decref(record);
}

static void nobody_seen(void **state)
{
	json_t *record;

	(void)state;
	make(SELF_NOBODY_SEEN, 0, 2);
	says("KILLED a process that was not seen and 1 more: their cgroup hit");
	says("killed 2 processes: none of them was seen");
	says("of 2 nobody was seen");
	assert_true(has_verdict("victim-not-seen"));
	record = json();
	assert_null(json_object_get(record, "victim_pid"));
	assert_int_equal(json_integer_value(json_object_get(record, "victims_total")), 2);
	json_decref(record);
}

static void a_limit_that_cannot_be_seen(void **state)
{
	json_t *record;

	(void)state;
	make(SELF_LIKELY, 1, 1);
	incident.self.limit_sign = SELF_LIMIT_NONE;
	incident.self.limit_level = -1;
	says("no limit that can be seen from here was hit: one above it, or the machine");
	assert_true(has_verdict("limit-not-here"));
	assert_int_equal(judgement.scope, SCOPE_UNKNOWN);
	record = json();
	assert_null(json_object_get(record, "scope"));
	json_decref(record);
	/* Where all levels are seen it is the machine. */
	incident.self.complete = true;
	incident.levels[0].max_pages = NO_LIMIT_PAGES;
	says("probably the whole machine is out of memory");
	assert_int_equal(judgement.scope, SCOPE_GLOBAL);
	assert_false(has_verdict("limit-not-here"));
}

static void charges_that_failed_are_no_count(void **state)
{
	(void)state;
	make(SELF_LIKELY, 1, 1);
	incident.self.limit_sign = SELF_LIMIT_FAILED;
	says("probably its cgroup hit its 64.0 MiB memory limit");
	assert_true(judgement.scope_inferred);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_is_certain),
		cmocka_unit_test(one_of_three),
		cmocka_unit_test(nobody_seen),
		cmocka_unit_test(a_limit_that_cannot_be_seen),
		cmocka_unit_test(charges_that_failed_are_no_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
