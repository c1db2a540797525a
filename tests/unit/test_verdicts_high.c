// SPDX-License-Identifier: Apache-2.0
/* memory.high that came before a kill: told from literal facts, and not without any of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "judge/judgement.h"

#define PAGES_A_MIB 256
#define NO_LIMIT ((uint64_t)INT64_MAX / 4096)

static const struct host_facts host = {.page_size = 4096, .cpus = 4};
static struct incident incident;
static struct judgement judgement;

static void level(unsigned int index, const char *path, uint64_t usage_mib, uint64_t max_pages)
{
	struct incident_level *ret = &incident.levels[index];

	memset(ret, 0xff, sizeof(*ret));
	ret->id = 30 + index;
	ret->flags = EV_LEVEL_V2 | (index == 2 ? EV_LEVEL_ROOT : 0);
	ret->usage_pages = usage_mib * PAGES_A_MIB;
	ret->max_pages = max_pages;
	ret->high_pages = NO_LIMIT;
	memset(ret->events, 0, sizeof(ret->events));
	memset(ret->events_local, 0, sizeof(ret->events_local));
	strcpy(incident.level_paths[index], path);
}

/* A kill by the limit of /pod/app, whose memory.high was passed 412 times; below it 88 times more.
 */
static struct incident_level *throttled(void)
{
	memset(&incident, 0, sizeof(incident));
	incident.outcome = OUTCOME_KILLED;
	incident.has_oc = true;
	incident.constraint = EV_CONSTRAINT_MEMCG;
	incident.oc_limit_id = 30;
	incident.victim_count = 1;
	incident.victims[0].task.tgid = 7;
	incident.victims[0].task.cgroup_id = 30;
	incident.victims[0].why = VICTIM_CHOSEN;
	memset(&incident.stat, 0xff, sizeof(incident.stat));
	incident.stat_usage_bytes = UNKNOWN_U64;
	incident.level_count = 3;
	level(0, "/pod/app", 1024, 1024 * PAGES_A_MIB);
	level(1, "/pod", 1100, NO_LIMIT);
	level(2, "/", 2000, NO_LIMIT);
	incident.levels[0].high_pages = 1000 * PAGES_A_MIB;
	incident.levels[0].events[EV_EVENT_HIGH] = 500;
	incident.levels[0].events_local[EV_EVENT_HIGH] = 412;
	return incident.levels;
}

static const struct verdict *given(void)
{
	const struct coverage coverage = {.full_tier = true};

	memset(&judgement, 0x5a, sizeof(judgement));
	judge_incident(&incident, &host, &coverage, &judgement);
	for (unsigned int i = 0; i < judgement.verdict_count; i++)
		if (!strcmp(judgement.verdicts[i].id, "throttled-before"))
			return &judgement.verdicts[i];
	return NULL;
}

static void the_level_and_its_numbers_are_told(void **state)
{
	const struct verdict *verdict;

	(void)state;
	throttled();
	verdict = given();
	assert_non_null(verdict);
	assert_string_equal(verdict->claim,
		"Whoever allocated in /pod/app was slowed down before this kill: usage is above its memory.high of 1000 MiB, which was passed 412 times.");
	assert_int_equal(verdict->confidence, CONFIDENCE_LIKELY);
	assert_int_equal(verdict->evidence_count, 2);
	assert_string_equal(
		verdict->evidence[0], "memory.high 1000 MiB, usage 1.00 GiB at the kill");
	assert_string_equal(verdict->evidence[1], "memory.events.local: high 412");
}

/* A cgroup above it throttles whatever is in it. */
static void a_level_above_counts_too(void **state)
{
	struct incident_level *levels = throttled();

	(void)state;
	levels[0].high_pages = levels[0].usage_pages + 1;
	levels[1].high_pages = levels[1].usage_pages;
	levels[1].events_local[EV_EVENT_HIGH] = UNKNOWN_U64;
	levels[1].events[EV_EVENT_HIGH] = 1;
	assert_non_null(given());
	assert_string_equal(given()->claim,
		"Whoever allocated in /pod was slowed down before this kill: usage is above its memory.high of 1.07 GiB, which was passed 1 time.");
	assert_string_equal(given()->evidence[1], "memory.events: high 1");
}

static void what_was_since_the_last_kill_counts(void **state)
{
	(void)state;
	throttled();
	incident.has_events_before = true;
	incident.events_before[EV_EVENT_HIGH] = 488;
	assert_non_null(given());
	assert_string_equal(
		given()->evidence[2], "since the last kill there, with those below: high 12");
	incident.events_before[EV_EVENT_HIGH] = 500;
	assert_null(given());
}

/* The same, but for one fact. */
static void without_any_of_its_facts_it_is_not_given(void **state)
{
	struct incident_level *own;

	(void)state;
	own = throttled();
	own->high_pages = UNKNOWN_U64;
	assert_null(given());
	own = throttled();
	own->high_pages = NO_LIMIT;
	assert_null(given());
	own = throttled();
	own->usage_pages = UNKNOWN_U64;
	assert_null(given());
	own = throttled();
	own->usage_pages = own->high_pages - 1;
	assert_null(given());
	own = throttled();
	own->events_local[EV_EVENT_HIGH] = 0;
	assert_null(given());
	own = throttled();
	own->events_local[EV_EVENT_HIGH] = own->events[EV_EVENT_HIGH] = UNKNOWN_U64;
	assert_null(given());
	own = throttled();
	own->flags &= ~(uint32_t)EV_LEVEL_V2; /* a soft limit slows nobody */
	assert_null(given());
	throttled();
	incident.victim_count = 0;
	assert_null(given());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_level_and_its_numbers_are_told),
		cmocka_unit_test(a_level_above_counts_too),
		cmocka_unit_test(what_was_since_the_last_kill_counts),
		cmocka_unit_test(without_any_of_its_facts_it_is_not_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
