// SPDX-License-Identifier: Apache-2.0
/* When a cgroup that is above memory.high stands still, when not, and how both are told. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/buf.h"
#include "facts/host.h"
#include "judge/stalls.h"
#include "sink/stall.h"

#define SECOND 1000000000ULL
#define MIB (1ULL << 20)

static struct stalling stalling;
static struct stall told;
static uint64_t now_ns;

static const struct stall_look standing = {
	.cgroup_id = 7,
	.usage_bytes = 70 * MIB,
	.high_bytes = 64 * MIB,
	.max_bytes = UNKNOWN_U64,
	.high_events = 100,
	.full_us = 5000000,
};

static struct stall_look fresh(uint64_t stall_s)
{
	memset(&stalling, 0, sizeof(stalling));
	stalling.stall_ns = stall_s * SECOND;
	now_ns = 1000 * SECOND;
	return standing;
}

/* A second on: so much of it all of them waited, and so often memory.high was passed. */
static enum stall_news look_on(struct stall_look *look, unsigned int percent, uint64_t events)
{
	now_ns += SECOND;
	look->full_us += percent * 10000ULL;
	look->high_events += events;
	return stalling_take(&stalling, now_ns, look, &told);
}

static void a_standstill_is_told_once(void **state)
{
	struct stall_look look = fresh(9);
	unsigned int began = 0;

	(void)state;
	assert_int_equal(stalling_take(&stalling, now_ns, &look, &told), STALL_NO_NEWS);
	for (int i = 1; i <= 60; i++) {
		enum stall_news news = look_on(&look, 90, 1);

		assert_int_equal(news, i == 9 ? STALL_BEGAN : STALL_NO_NEWS);
		assert_false(stalling_left(&stalling, now_ns, &told));
		began += news == STALL_BEGAN;
		if (news != STALL_BEGAN)
			continue;
		assert_int_equal(told.since_ns, 1000 * SECOND);
		assert_int_equal(told.last_ns, 1009 * SECOND);
		assert_int_equal(told.last.high_events, 109);
		assert_int_equal(stall_full_percent(&told), 90);
	}
	assert_int_equal(began, 1);
	/* Not looked at any more: usage is below, or it is gone. */
	now_ns += SECOND;
	assert_true(stalling_left(&stalling, now_ns, &told));
	assert_int_equal(told.last_ns - told.since_ns, 60 * SECOND);
	assert_int_equal(stalling.count, 0);
	assert_false(stalling_left(&stalling, now_ns, &told));
}

/* The kernel adds waiting up every two seconds. */
static void waiting_that_comes_in_steps_is_no_pause(void **state)
{
	struct stall_look look = fresh(10);
	unsigned int began = 0;

	(void)state;
	stalling_take(&stalling, now_ns, &look, &told);
	for (int i = 1; i <= 40; i++)
		began += look_on(&look, i % 2 ? 0 : 200, i % 2) == STALL_BEGAN;
	assert_int_equal(began, 1);
	assert_true(stalling.stalls[0].told);
}

static void without_each_of_its_signs_it_is_none(void **state)
{
	(void)state;
	for (int without = 0; without < 4; without++) {
		struct stall_look look = fresh(9);

		stalling_take(&stalling, now_ns, &look, &told);
		for (int i = 1; i <= 60; i++) {
			/* Others run meanwhile; nobody passes it; below it at each eighth look. */
			assert_int_equal(look_on(&look, without == 0 ? 49 : 90, without != 1),
				STALL_NO_NEWS);
			if (without == 2 && i % 8 == 0) {
				now_ns += SECOND;
				assert_false(stalling_left(&stalling, now_ns, &told));
			}
			if (without == 3 && i == 8)
				break;
		}
		now_ns += SECOND;
		assert_false(stalling_left(&stalling, now_ns, &told));
	}
}

static void it_ends_when_nobody_waits_and_may_begin_anew(void **state)
{
	struct stall_look look = fresh(9);
	unsigned int news[3] = {0};

	(void)state;
	stalling_take(&stalling, now_ns, &look, &told);
	for (int i = 0; i < 20; i++)
		news[look_on(&look, 100, 2)]++;
	for (int i = 0; i < 20; i++) {
		enum stall_news one = look_on(&look, 3, 2);

		news[one]++;
		if (one != STALL_ENDED)
			continue;
		/* Up to the end of the last round that it stood still in. */
		assert_int_equal(told.last_ns - told.since_ns, 21 * SECOND);
		assert_int_equal(told.last.high_events, 100 + 21 * 2);
		assert_int_equal(stall_full_percent(&told), 95);
	}
	assert_int_equal(news[STALL_BEGAN], 1);
	assert_int_equal(news[STALL_ENDED], 1);
	for (int i = 0; i < 20; i++)
		news[look_on(&look, 100, 2)]++;
	assert_int_equal(news[STALL_BEGAN], 2);
	assert_int_equal(news[STALL_ENDED], 1);
}

static void more_than_there_is_room_for_are_counted(void **state)
{
	struct stall_look look = fresh(9);

	(void)state;
	for (unsigned int i = 0; i < STALLS_MAX + 3; i++) {
		look.cgroup_id = 100 + i;
		stalling_take(&stalling, now_ns, &look, &told);
	}
	assert_int_equal(stalling.count, STALLS_MAX);
	assert_int_equal(stalling.not_followed, 3);
	now_ns += SECOND;
	assert_false(stalling_left(&stalling, now_ns, &told));
	assert_int_equal(stalling.count, 0);
}

/* --- how it is told --- */

static const struct host_facts host = {.page_size = 4096, .hostname = "h"};

static struct stall_scene scene_of(void)
{
	struct stall_look look = fresh(9);
	struct stall_scene scene = {.path = "/app\n", .process_count = 1};

	stalling_take(&stalling, now_ns, &look, &told);
	for (int i = 0; i < 9; i++)
		look_on(&look, 97, 3);
	scene.stall = told;
	scene.processes[0] = (struct stall_process) {
		.tgid = 4711, .start_ns = SECOND, .held_bytes = 66 * MIB, .comm = "a\"b\n"};
	return scene;
}

static void it_is_said_in_one_sentence(void **state)
{
	struct stall_scene scene = scene_of();
	struct verdict verdict;

	(void)state;
	scene.path = "/app";
	judge_stall(&scene, &verdict);
	assert_string_equal(verdict.id, "high-livelock");
	assert_int_equal(verdict.confidence, CONFIDENCE_CERTAIN);
	assert_string_equal(verdict.claim,
		"/app stands still at its memory.high of 64.0 MiB: for 9 s its processes have waited for memory 97% of the time, and nobody is killed.");
	assert_int_equal(verdict.evidence_count, 4);
	assert_string_equal(
		verdict.evidence[0], "usage 70.0 MiB, memory.high 64.0 MiB, memory.max none");
	assert_string_equal(verdict.evidence[1], "memory.events: high rose by 27 to 127");
	assert_string_equal(verdict.evidence[2], "memory.pressure: full 97% of the time");
	scene.ended = true;
	judge_stall(&scene, &verdict);
	assert_string_equal(verdict.claim,
		"/app stood still at its memory.high of 64.0 MiB for 9 s; that is over.");
}

static void hostile_names_stay_within_their_line(void **state)
{
	const struct sink_context context = {.host = &host};
	struct stall_scene scene = scene_of();
	struct verdict verdict;
	char data[8192];
	struct buf buf;

	(void)state;
	judge_stall(&scene, &verdict);
	buf_init(&buf, data, sizeof(data));
	assert_int_equal(json_stall(&buf, &context, now_ns, &scene, &verdict), 0);
	assert_ptr_equal(strchr(buf.data, '\n'), buf.data + buf.len - 1);
	assert_non_null(strstr(buf.data, "\"type\":\"stall\""));
	assert_non_null(strstr(buf.data, "\"state\":\"stalled\""));
	assert_non_null(strstr(buf.data, "\"comm\":\"a\\\"b\\n\""));
	assert_null(strstr(buf.data, "max_bytes"));
	buf_init(&buf, data, sizeof(data));
	assert_int_equal(text_stall(&buf, &context, now_ns, &scene, &verdict), 0);
	assert_ptr_equal(strchr(buf.data, '\n'), buf.data + buf.len - 1);
	assert_non_null(strstr(buf.data, " STALL "));
	buf_init(&buf, data, 64);
	assert_int_not_equal(json_stall(&buf, &context, now_ns, &scene, &verdict), 0);
	assert_int_equal(buf.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_standstill_is_told_once),
		cmocka_unit_test(waiting_that_comes_in_steps_is_no_pause),
		cmocka_unit_test(without_each_of_its_signs_it_is_none),
		cmocka_unit_test(it_ends_when_nobody_waits_and_may_begin_anew),
		cmocka_unit_test(more_than_there_is_room_for_are_counted),
		cmocka_unit_test(it_is_said_in_one_sentence),
		cmocka_unit_test(hostile_names_stay_within_their_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
