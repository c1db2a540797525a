// SPDX-License-Identifier: Apache-2.0
/* Series made into lines and layers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "model/chart.h"

#define S 1000000000LL
#define MS 1000000LL
#define MIB (1LL << 20)
#define DOMAIN 10
#define LIMIT (1000 * MIB)
#define FROM (1000 * S)
#define KILL (1300 * S)
#define TO (1305 * S)

static struct incident incident;
static struct chart chart;

/* A window of five minutes before the kill and five seconds after it. */
static struct chart_maker *maker_new(void)
{
	struct chart_maker *maker;

	memset(&incident, 0, sizeof(incident));
	incident.time_ns = KILL;
	incident.victim_count = 1;
	incident.victims[0].task.tgid = 100;
	incident.victims[0].task.start_ns = 500 * S;
	incident.victims[0].task.at_ns = KILL;
	maker = chart_new(&incident, DOMAIN, LIMIT, FROM, TO);
	assert_non_null(maker);
	return maker;
}

static void tell(struct chart_maker *maker, const struct history_owner *owner)
{
	struct history_taker taker = chart_taker(maker);

	taker.owner(owner, taker.arg);
}

static struct history_owner process(uint32_t tgid, uint32_t root_tgid, int64_t shared)
{
	struct history_owner owner = {.kind = HISTORY_PROCESS,
		.cgroup_id = DOMAIN,
		.tgid = tgid,
		.ppid = root_tgid,
		.start_ns = (tgid + 400) * (uint64_t)S,
		.root_tgid = root_tgid,
		.root_start_ns = (root_tgid + 400) * (uint64_t)S,
		.shared_bytes = (uint64_t)shared};

	owner.comm[0] = (char)('a' + tgid % 26);
	return owner;
}

static void tell_process(struct chart_maker *maker, uint32_t tgid, uint32_t root, int64_t shared)
{
	struct history_owner owner = process(tgid, root, shared);

	tell(maker, &owner);
}

static void tell_ended(struct chart_maker *maker, uint32_t tgid, uint32_t root, int64_t exited_ns)
{
	struct history_owner owner = process(tgid, root, 0);

	owner.exited_ns = (uint64_t)exited_ns;
	tell(maker, &owner);
}

static void tell_domain(struct chart_maker *maker)
{
	struct history_owner owner = {.kind = HISTORY_CGROUP, .cgroup_id = DOMAIN};

	tell(maker, &owner);
}

static void at(struct chart_maker *maker, int64_t time_ns, int64_t first, int64_t swap, int64_t cow)
{
	struct history_taker taker = chart_taker(maker);
	struct history_point point = {.time_ns = time_ns, .values = {first, swap, cow, 0}};

	taker.point(&point, taker.arg);
}

static void finish(struct chart_maker *maker)
{
	assert_int_equal(chart_finish(maker, &chart), 0);
	assert_true(chart.instants > 0 && chart.instants <= CHART_INSTANTS);
	for (unsigned int i = 1; i < chart.instants; i++)
		assert_true(chart.times_ns[i - 1] < chart.times_ns[i]);
	assert_true(chart.times_ns[0] == chart.from_ns);
	assert_true(chart.times_ns[chart.instants - 1] == chart.to_ns);
}

/* The last instant at or before that time. */
static unsigned int instant(int64_t time_ns)
{
	unsigned int i = 0;

	assert_true(chart.times_ns[0] <= time_ns);
	while (i + 1 < chart.instants && chart.times_ns[i + 1] <= time_ns)
		i++;
	return i;
}

static const struct chart_layer *layer_of(uint32_t root_tgid)
{
	for (unsigned int i = 0; i < chart.layer_count; i++)
		if (chart.layers[i].root_tgid == root_tgid)
			return &chart.layers[i];
	fail_msg("no layer of %u", root_tgid);
	return NULL;
}

static int64_t held(uint32_t root_tgid, int64_t time_ns)
{
	return layer_of(root_tgid)->bytes[instant(time_ns)];
}

/* --- families --- */

static void a_family_is_what_would_come_back(void **state)
{
	struct chart_maker *maker = maker_new();

	(void)state;
	tell_process(maker, 100, 100, 0);
	at(maker, FROM, 400 * MIB, 0, 0);
	for (uint32_t i = 1; i <= 3; i++) {
		tell_process(maker, 100 + i, 100, 400 * MIB);
		at(maker, FROM + 20 * S, 400 * MIB, 0, 0);
		/* copies; then memory of its own */
		at(maker, FROM + 100 * S, 400 * MIB, 0, i * 50 * MIB);
		at(maker, FROM + 200 * S, 410 * MIB, 5 * MIB, i * 50 * MIB);
	}
	finish(maker);
	assert_int_equal(chart.layer_count, 1);
	assert_int_equal(chart.processes, 4);
	assert_int_equal(chart.layers[0].members, 4);
	assert_true(chart.layers[0].has_victim);
	assert_string_equal(chart.layers[0].comm, "w");
	assert_int_equal(held(100, FROM), 400 * MIB);
	assert_int_equal(held(100, FROM + 50 * S), 400 * MIB);
	assert_int_equal(held(100, FROM + 150 * S), (400 + 50 + 100 + 150) * MIB);
	assert_int_equal(held(100, KILL), (700 + 3 * 15) * MIB);
	assert_int_equal(chart.swap_bytes[instant(KILL)], 15 * MIB);
	assert_int_equal(chart.swap_bytes[instant(FROM + 150 * S)], 0);
	assert_true(chart.whole);
	assert_true(chart.kill_ns == KILL && chart.from_ns == FROM && chart.to_ns == TO);
	assert_true(chart.limit_bytes == LIMIT);
	chart_free(&chart);
}

static void without_a_root_what_is_shared_is_there_once(void **state)
{
	struct chart_maker *maker = maker_new();

	(void)state;
	tell_process(maker, 201, 77, 300 * MIB);
	at(maker, FROM, 310 * MIB, 0, 100 * MIB);
	tell_process(maker, 202, 77, 300 * MIB);
	at(maker, FROM, 305 * MIB, 0, 20 * MIB);
	finish(maker);
	/* 110 and 25 to themselves, 280 shared */
	assert_int_equal(held(77, KILL), 415 * MIB);
	/* named by the largest, since the root is not there */
	assert_string_equal(layer_of(77)->comm, "t");
	assert_false(layer_of(77)->has_victim);
	assert_null(chart.swap_bytes);
	chart_free(&chart);
}

static void the_dead_hold_nothing(void **state)
{
	struct chart_maker *maker = maker_new();

	(void)state;
	tell_ended(maker, 100, 100, KILL + 2 * S);
	at(maker, FROM, 500 * MIB, 0, 0);
	tell_ended(maker, 150, 150, FROM + 100 * S);
	at(maker, FROM + 50 * S, 900 * MIB, 10 * MIB, 0);
	/* before the window; and one whose only point is told for its end */
	tell_ended(maker, 160, 160, FROM - 1);
	at(maker, FROM - 50 * S, 900 * MIB, 0, 0);
	tell_ended(maker, 170, 170, FROM + 10 * S + 1);
	at(maker, FROM + 10 * S + 1, 90 * MIB, 0, 0);
	finish(maker);
	assert_int_equal(chart.processes, 3);
	assert_int_equal(held(150, FROM + 100 * S), 910 * MIB);
	assert_int_equal(held(150, FROM + 102 * S), 0);
	assert_int_equal(held(150, FROM + 48 * S), 0);
	assert_int_equal(held(100, KILL + S), 500 * MIB);
	assert_int_equal(held(100, KILL + 3 * S), 0);
	assert_int_equal(held(100, TO), 0);
	assert_int_equal(layer_of(170)->members, 1);
	/* by what they hold at the kill, whatever they once held */
	assert_int_equal(chart.layers[0].root_tgid, 100);
	assert_int_equal(chart.layers[1].root_tgid, 150);
	assert_int_equal(chart.swap_bytes[instant(FROM + 80 * S)], 10 * MIB);
	assert_int_equal(chart.swap_bytes[instant(FROM + 180 * S)], 0);
	chart_free(&chart);
}

static void a_program_of_its_own(void **state)
{
	struct chart_maker *maker = maker_new();
	struct history_owner owner = process(300, 300, 0);

	(void)state;
	/* forked, and seen with all that its parent holds before it executed a program */
	owner.start_ns = owner.root_start_ns = (uint64_t)(KILL - 10 * S);
	tell(maker, &owner);
	at(maker, KILL - 10 * S + 5 * MS, 800 * MIB, 0, 0);
	at(maker, KILL - 9 * S, 0, 0, 0);
	at(maker, KILL - 8 * S, 20 * MIB, 0, 0);
	/* one that had lived for longer had it for itself */
	tell_process(maker, 301, 301, 0);
	at(maker, KILL - 10 * S, 800 * MIB, 0, 0);
	at(maker, KILL - 9 * S, 0, 0, 0);
	finish(maker);
	assert_int_equal(held(300, KILL - 10 * S + 5 * MS), 0);
	assert_int_equal(held(300, KILL), 20 * MIB);
	assert_int_equal(held(301, KILL - 10 * S + 5 * MS), 800 * MIB);
	chart_free(&chart);
}

static void only_the_largest_are_drawn_apart(void **state)
{
	struct chart_maker *maker = maker_new();

	(void)state;
	tell_process(maker, 100, 100, 0); /* the victim: small, but drawn */
	at(maker, FROM, MIB, 0, 0);
	for (uint32_t i = 1; i <= 20; i++) {
		tell_process(maker, 200 + i, 200 + i, 0);
		at(maker, FROM, i * 10 * MIB, 0, 0);
	}
	/* it was the largest once, and is nothing any more */
	tell_process(maker, 300, 300, 0);
	at(maker, FROM + 10 * S, 999 * MIB, 0, 0);
	at(maker, FROM + 90 * S, 0, 0, 0);
	finish(maker);
	assert_int_equal(chart.layer_count, CHART_LAYERS + 1);
	for (unsigned int i = 0; i < 10; i++) {
		assert_int_equal(chart.layers[i].root_tgid, 220 - i);
		assert_int_equal(chart.layers[i].bytes[instant(KILL)], (20 - i) * 10 * MIB);
	}
	assert_int_equal(chart.layers[10].root_tgid, 100);
	assert_int_equal(chart.layers[11].root_tgid, 300);
	assert_int_equal(held(300, FROM + 50 * S), 999 * MIB);
	/* 10, 20, … 100 */
	assert_int_equal(chart.layers[12].root_tgid, 0);
	assert_int_equal(chart.layers[12].members, 10);
	assert_int_equal(chart.layers[12].bytes[instant(KILL)], 550 * MIB);
	assert_string_equal(chart.layers[12].comm, "");
	assert_false(chart.layers[12].has_victim);
	chart_free(&chart);
}

static void victims_are_found_by_their_start(void **state)
{
	static const struct {
		uint32_t tgid;
		int64_t off_ns;
		bool is_victim;
	} cases[] = {{100, 0, true}, {100, 20 * MS, true}, {100, -20 * MS, true},
		{100, 20 * MS + 1, false}, {100, -21 * MS, false}, {101, 0, false}};

	(void)state;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct chart_maker *maker = maker_new();
		struct history_owner owner = process(cases[i].tgid, cases[i].tgid, 0);

		owner.start_ns = owner.root_start_ns = (uint64_t)(500 * S + cases[i].off_ns);
		tell(maker, &owner);
		at(maker, FROM, MIB, 0, 0);
		finish(maker);
		assert_int_equal(chart.layers[0].has_victim, cases[i].is_victim);
		chart_free(&chart);
	}
}

static void a_store_keeps_milliseconds(void **state)
{
	struct chart_maker *maker;
	struct history_owner owner = process(100, 100, 0);

	(void)state;
	chart_drop(maker_new());
	incident.time_ns = KILL + 300000;
	incident.victims[0].task.at_ns = KILL + 700000;
	maker = chart_new(&incident, DOMAIN, LIMIT, FROM, TO);
	/* it ended soon after it was marked; both are told for the same millisecond */
	owner.exited_ns = (uint64_t)KILL;
	tell(maker, &owner);
	at(maker, FROM + MS, 400 * MIB, 0, 0);
	at(maker, KILL + MS, 500 * MIB, 0, 0);
	finish(maker);
	assert_true(chart.whole);
	assert_int_equal(held(100, FROM), 400 * MIB);
	assert_int_equal(held(100, KILL - MS), 400 * MIB);
	assert_int_equal(held(100, KILL + 300000), 500 * MIB);
	assert_int_equal(held(100, KILL + S), 0);
	chart_free(&chart);
}

/* --- lines and instants --- */

static void the_domains_line_keeps_peaks(void **state)
{
	struct chart_maker *maker = maker_new();
	struct history_owner other = {.kind = HISTORY_CGROUP, .cgroup_id = DOMAIN + 1};
	struct history_owner host = {.kind = HISTORY_HOST};

	(void)state;
	tell_domain(maker);
	at(maker, FROM + 30 * S, 100 * MIB, -1, 0);
	at(maker, FROM + 60 * S, 200 * MIB, -1, 0);
	/* between two instants */
	at(maker, FROM + 60 * S + 300 * MS, 990 * MIB, -1, 0);
	at(maker, FROM + 60 * S + 400 * MS, 300 * MIB, -1, 0);
	tell(maker, &other);
	at(maker, FROM + 70 * S, 5000 * MIB, -1, 0);
	tell(maker, &host);
	at(maker, FROM + 80 * S, 6000 * MIB, 0, 0);
	finish(maker);
	assert_true(chart.usage_bytes[0] == CHART_UNKNOWN);
	assert_true(chart.usage_bytes[instant(FROM + 29 * S)] == CHART_UNKNOWN);
	assert_int_equal(chart.usage_bytes[instant(FROM + 40 * S)], 100 * MIB);
	assert_int_equal(chart.usage_bytes[instant(FROM + 60 * S)], 200 * MIB);
	assert_int_equal(chart.usage_bytes[instant(FROM + 60 * S) + 1], 990 * MIB);
	assert_int_equal(chart.usage_bytes[instant(FROM + 60 * S) + 2], 300 * MIB);
	assert_int_equal(chart.usage_bytes[instant(TO)], 300 * MIB);
	/* nothing reaches back to the beginning */
	assert_false(chart.whole);
	assert_int_equal(chart.layer_count, 0);
	assert_null(chart.swap_bytes);
	chart_free(&chart);
}

static void of_the_machine_it_is_what_is_used(void **state)
{
	struct history_owner host = {.kind = HISTORY_HOST};
	struct chart_maker *maker;

	(void)state;
	chart_drop(maker_new());
	maker = chart_new(&incident, 0, UNKNOWN_U64, FROM, TO);
	tell_domain(maker);
	at(maker, FROM, 5 * MIB, -1, 0);
	tell(maker, &host);
	at(maker, FROM, 7 * MIB, 0, 0);
	finish(maker);
	assert_int_equal(chart.usage_bytes[0], 7 * MIB);
	assert_true(chart.whole);
	assert_true(chart.limit_bytes == UNKNOWN_U64);
	chart_free(&chart);
}

static void instants_keep_the_recorders_pace(void **state)
{
	struct chart_maker *maker = maker_new();
	unsigned int before = 0, minute = 0;

	(void)state;
	tell_process(maker, 100, 100, 0);
	for (int64_t t = FROM + S / 3; t < KILL; t += S)
		at(maker, t, t / 1000, 0, 0);
	/* of the same pass, a little later */
	tell_process(maker, 101, 101, 0);
	for (int64_t t = FROM + S / 3; t < KILL; t += S)
		at(maker, t + 3 * MS, t / 2000, 0, 0);
	finish(maker);
	for (unsigned int i = 0; i < chart.instants; i++) {
		int64_t t = chart.times_ns[i];

		before += t < KILL - 60 * S;
		if (t < KILL - 60 * S || t >= KILL)
			continue;
		minute++;
		assert_int_equal((t - FROM) % S, S / 3 + 3 * MS);
		assert_int_equal(held(100, t), (t - 3 * MS) / 1000);
		assert_int_equal(held(101, t), (t - 3 * MS) / 2000);
	}
	assert_int_equal(before, 240);
	assert_int_equal(minute, 60);
	assert_true(chart.times_ns[instant(KILL)] == KILL);
	chart_free(&chart);
}

static void a_hurry_is_thinned_out(void **state)
{
	struct chart_maker *maker = maker_new();
	unsigned int minute = 0;

	(void)state;
	tell_process(maker, 100, 100, 0);
	for (int64_t t = KILL - 61 * S; t < KILL + 5 * S; t += 7 * MS)
		at(maker, t, t / 1000, 0, 0);
	finish(maker);
	for (unsigned int i = 0; i < chart.instants; i++)
		minute += chart.times_ns[i] >= KILL - 60 * S && chart.times_ns[i] <= KILL;
	assert_in_range(minute, 300, 402);
	for (unsigned int i = instant(KILL - 59 * S); i < instant(KILL); i++)
		assert_true(chart.times_ns[i + 1] - chart.times_ns[i] < S);
	chart_free(&chart);
}

static void windows_of_any_kind(void **state)
{
	static const struct {
		int64_t from_ns, to_ns;
	} windows[] = {{KILL, KILL}, {0, 0}, {KILL - 1, KILL + 1}, {0, INT64_MAX},
		{INT64_MIN, INT64_MAX}, {INT64_MIN, INT64_MIN}, {INT64_MAX, INT64_MAX},
		{KILL + S, KILL + 90 * S}, {KILL - 90 * S, KILL - S}, {KILL - 30 * S, KILL}};

	(void)state;
	for (unsigned int i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		struct chart_maker *maker = maker_new();

		chart_drop(maker);
		maker = chart_new(&incident, DOMAIN, LIMIT, windows[i].from_ns, windows[i].to_ns);
		assert_non_null(maker);
		tell_process(maker, 100, 100, 0);
		for (int64_t t = KILL - 80 * S; t <= KILL + 80 * S; t += S)
			at(maker, t, MIB, 0, 0);
		finish(maker);
		if (windows[i].from_ns <= KILL && windows[i].to_ns >= KILL)
			assert_true(chart.times_ns[instant(KILL)] == KILL);
		if (windows[i].to_ns >= KILL)
			assert_int_equal(chart.layers[0].bytes[chart.instants - 1], MIB);
		chart_free(&chart);
	}
	errno = 0;
	assert_null(chart_new(&incident, DOMAIN, LIMIT, KILL, KILL - 1));
	assert_int_equal(errno, EINVAL);
	chart_drop(NULL);
}

/* --- in any order --- */

/* Copies: their addresses do not matter. */
static void assert_same(const struct chart *a, const struct chart *b)
{
	size_t bytes = a->instants * sizeof(int64_t);

	assert_int_equal(a->instants, b->instants);
	assert_int_equal(a->layer_count, b->layer_count);
	assert_int_equal(a->processes, b->processes);
	assert_int_equal(a->whole, b->whole);
	assert_memory_equal(a->times_ns, b->times_ns, bytes);
	assert_memory_equal(a->usage_bytes, b->usage_bytes, bytes);
	assert_memory_equal(a->swap_bytes, b->swap_bytes, bytes);
	for (unsigned int i = 0; i < a->layer_count; i++) {
		assert_int_equal(a->layers[i].root_tgid, b->layers[i].root_tgid);
		assert_int_equal(a->layers[i].members, b->layers[i].members);
		assert_string_equal(a->layers[i].comm, b->layers[i].comm);
		assert_memory_equal(a->layers[i].bytes, b->layers[i].bytes, bytes);
	}
}

#define CROWD 40
#define STEPS 100

/* A point of one of 40 processes in 17 families, or of the domain. */
static void tell_step(struct chart_maker *maker, uint32_t who, uint32_t step)
{
	uint32_t seed = who * 7919 + step * 104729;

	if (who == CROWD)
		tell_domain(maker);
	else
		tell_process(maker, 100 + who, 100 + who % 17, who < 17 ? 0 : 50 * MIB);
	/* the first is before the window */
	at(maker, FROM - 2 * S + step * 3 * S + who * MS, (int64_t)(seed % 300) * MIB,
		(int64_t)(seed % 3) * MIB, (int64_t)(seed % 60) * MIB);
}

static void any_order_will_do(void **state)
{
	static uint32_t order[(CROWD + 1) * STEPS];
	uint32_t count = (CROWD + 1) * STEPS, random = 12345;
	struct chart_maker *maker = maker_new();
	struct chart straight;

	(void)state;
	for (uint32_t i = 0; i < count; i++) {
		tell_step(maker, i / STEPS, i % STEPS);
		order[i] = i;
	}
	finish(maker);
	straight = chart;
	assert_int_equal(straight.layer_count, CHART_LAYERS + 1);
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = count - 1; i > 0; i--) {
			uint32_t with = (random = random * 1664525 + 1013904223) % (i + 1);
			uint32_t kept = order[i];

			order[i] = order[with];
			order[with] = kept;
		}
		maker = maker_new();
		/* and each of them twice, one after the other or not */
		for (uint32_t i = 0; i < count; i++) {
			tell_step(maker, order[i] / STEPS, order[i] % STEPS);
			tell_step(maker, order[i / 2] / STEPS, order[i / 2] % STEPS);
		}
		finish(maker);
		assert_same(&straight, &chart);
		chart_free(&chart);
	}
	chart_free(&straight);
}

static void of_two_the_later_told_counts(void **state)
{
	struct chart_maker *maker = maker_new();

	(void)state;
	tell_process(maker, 100, 100, 0);
	at(maker, FROM - 5 * S, 9 * MIB, 0, 0);
	at(maker, FROM - 5 * S, 8 * MIB, 0, 0);
	at(maker, FROM - 6 * S, 7 * MIB, 0, 0);
	at(maker, KILL - 5 * S, 1 * MIB, 0, 0);
	at(maker, KILL - 4 * S, 2 * MIB, 0, 0);
	tell_process(maker, 101, 101, 0);
	at(maker, FROM, MIB, 0, 0);
	/* its points go on, and begin before those that were told; it has ended meanwhile */
	tell_ended(maker, 100, 100, KILL + S);
	at(maker, KILL - 5 * S, 3 * MIB, 0, 0);
	at(maker, KILL - 3 * S, 4 * MIB, 0, 0);
	/* that it ended is told alone */
	tell_ended(maker, 101, 101, FROM + 200 * S);
	finish(maker);
	assert_int_equal(chart.processes, 2);
	assert_int_equal(held(100, FROM), 8 * MIB);
	assert_int_equal(held(100, KILL - 5 * S), 3 * MIB);
	assert_int_equal(held(100, KILL - 4 * S), 2 * MIB);
	assert_int_equal(held(100, KILL), 4 * MIB);
	assert_int_equal(held(100, TO), 0);
	assert_int_equal(held(101, FROM + 200 * S), MIB);
	assert_int_equal(held(101, FROM + 202 * S), 0);
	chart_free(&chart);
}

/* --- what a store may hold --- */

static void numbers_that_cannot_be(void **state)
{
	static const int64_t numbers[] = {INT64_MIN, -1, 0, 1, 1LL << 53, 1LL << 62, INT64_MAX};
	unsigned int count = sizeof(numbers) / sizeof(numbers[0]);
	struct chart_maker *maker = maker_new();
	uint32_t tgid = 1;

	(void)state;
	for (unsigned int i = 0; i < count * count * count; i++) {
		struct history_owner owner = process(tgid, tgid % 5, numbers[i % count]);

		tgid = tgid * 3 + 1;
		owner.exited_ns = (uint64_t)numbers[i / count % count];
		owner.start_ns = (uint64_t)numbers[i / count / count];
		memset(owner.comm, 'x', sizeof(owner.comm));
		tell(maker, &owner);
		for (unsigned int j = 0; j < count; j++) {
			at(maker, numbers[j], numbers[i % count], numbers[j],
				numbers[(i + j) % count]);
			at(maker, FROM + j * S, numbers[i % count], numbers[j],
				numbers[(i + j) % count]);
		}
	}
	tell_domain(maker);
	at(maker, FROM, INT64_MAX, INT64_MIN, INT64_MIN);
	at(maker, FROM + 100 * S, INT64_MIN, INT64_MIN, INT64_MIN);
	finish(maker);
	for (unsigned int i = 0; i < chart.instants; i++) {
		assert_in_range(chart.usage_bytes[i], 0, CHART_BYTES_MAX);
		for (unsigned int j = 0; j < chart.layer_count; j++)
			assert_true(chart.layers[j].bytes[i] >= 0);
	}
	for (unsigned int j = 0; j < chart.layer_count; j++)
		assert_true(strlen(chart.layers[j].comm) <= EV_COMM_LEN);
	chart_free(&chart);
}

static void points_of_nobody(void **state)
{
	struct chart_maker *maker = maker_new();
	struct history_owner owner = process(0, 5, 0);
	struct history_owner other = {.kind = (enum history_kind)99, .cgroup_id = DOMAIN};

	(void)state;
	at(maker, FROM, MIB, 0, 0);
	tell(maker, &owner);
	at(maker, FROM, MIB, 0, 0);
	tell(maker, &other);
	at(maker, FROM, MIB, 0, 0);
	/* one whose family is not known is one of its own */
	owner = process(7, 0, 0);
	tell(maker, &owner);
	at(maker, FROM, 3 * MIB, 0, 0);
	/* one without points is not there */
	tell_process(maker, 8, 8, 0);
	finish(maker);
	assert_int_equal(chart.layer_count, 1);
	assert_int_equal(held(7, KILL), 3 * MIB);
	assert_int_equal(chart.dropped, 1);
	assert_false(chart.whole);
	chart_free(&chart);
	/* nothing at all */
	finish(maker_new());
	assert_int_equal(chart.layer_count, 0);
	assert_false(chart.whole);
	assert_int_equal(chart.processes, 0);
	chart_free(&chart);
}

static void more_owners_than_there_is_room_for(void **state)
{
	struct chart_maker *maker = maker_new();

	(void)state;
	/* one place is the domain's own */
	for (uint32_t i = 1; i < CHART_OWNERS_MAX + 10; i++) {
		tell_process(maker, i, 1 + i % 3, 0);
		at(maker, FROM, 1000, 0, 0);
	}
	finish(maker);
	assert_int_equal(chart.dropped, 10);
	assert_int_equal(chart.processes, CHART_OWNERS_MAX - 1);
	assert_false(chart.whole);
	assert_int_equal(chart.layer_count, 3);
	chart_free(&chart);
}

static void more_points_than_there_is_room_for(void **state)
{
	struct chart_maker *maker = maker_new();

	(void)state;
	tell_process(maker, 100, 100, 0);
	at(maker, FROM, MIB, 0, 0);
	for (uint32_t i = 0; i < CHART_POINTS_MAX + 5; i++)
		at(maker, FROM + 2 * MS + i, MIB + i, 0, 0);
	finish(maker);
	assert_int_equal(chart.dropped, 5);
	assert_false(chart.whole);
	assert_int_equal(held(100, KILL), MIB + CHART_POINTS_MAX - 1);
	chart_free(&chart);
}

/* A sanitizer needs any amount of address space itself. */
#ifndef __SANITIZE_ADDRESS__
static void no_memory(void **state)
{
	struct chart_maker *maker = maker_new();
	struct rlimit old, limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
	limit = old;
	limit.rlim_cur = 64 * MIB;
	tell_process(maker, 100, 100, 0);
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	for (uint32_t i = 0; i < CHART_POINTS_MAX; i++)
		at(maker, FROM + 2 * MS + i, MIB + i, 0, 0);
	assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
	memset(&chart, 0x55, sizeof(chart));
	assert_int_equal(chart_finish(maker, &chart), -ENOMEM);
	assert_int_equal(chart.instants, 0);
	assert_null(chart.times_ns);
	chart_free(&chart);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_family_is_what_would_come_back),
		cmocka_unit_test(without_a_root_what_is_shared_is_there_once),
		cmocka_unit_test(the_dead_hold_nothing),
		cmocka_unit_test(a_program_of_its_own),
		cmocka_unit_test(only_the_largest_are_drawn_apart),
		cmocka_unit_test(victims_are_found_by_their_start),
		cmocka_unit_test(a_store_keeps_milliseconds),
		cmocka_unit_test(the_domains_line_keeps_peaks),
		cmocka_unit_test(of_the_machine_it_is_what_is_used),
		cmocka_unit_test(instants_keep_the_recorders_pace),
		cmocka_unit_test(a_hurry_is_thinned_out),
		cmocka_unit_test(windows_of_any_kind),
		cmocka_unit_test(any_order_will_do),
		cmocka_unit_test(of_two_the_later_told_counts),
		cmocka_unit_test(numbers_that_cannot_be),
		cmocka_unit_test(points_of_nobody),
		cmocka_unit_test(more_owners_than_there_is_room_for),
		cmocka_unit_test(more_points_than_there_is_room_for),
#ifndef __SANITIZE_ADDRESS__
		cmocka_unit_test(no_memory),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
