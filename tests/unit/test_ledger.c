// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/ledger.h"

#define S 1000000000ULL
#define US 1000ULL
#define CHUNK 128

/* The same numbers at every run. */
static uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void add(
	struct ledger *ledger, struct series *series, uint64_t time_ns, int64_t a, int64_t b)
{
	int64_t values[LEDGER_VALUES] = {a, b, 0, 0};

	ledger_append(ledger, series, time_ns, values);
}

static int64_t value_at(const struct ledger *ledger, const struct series *series, uint64_t time_ns)
{
	struct ledger_point point;

	assert_true(ledger_at(ledger, series, time_ns, &point));
	return point.values[0];
}

/* Everything, beside the ledger, in plain arrays. */
struct plain {
	struct ledger_point points[4096];
	unsigned int count;
};

static void plain_add(struct plain *plain, uint64_t time_ns, const int64_t *values)
{
	struct ledger_point *point = &plain->points[plain->count];

	if (plain->count &&
		!memcmp(plain->points[plain->count - 1].values, values, sizeof(point->values)))
		return;
	point->time_ns = time_ns;
	memcpy(point->values, values, sizeof(point->values));
	plain->count++;
}

static void random_values(uint64_t *seed, int64_t *values)
{
	for (int i = 0; i < LEDGER_VALUES; i++) {
		switch (random_next(seed) % 5) {
		case 0:
			values[i] = (int64_t)((uint64_t)values[i] + random_next(seed) % 100);
			break;
		case 1:
			values[i] = (int64_t)((uint64_t)values[i] - random_next(seed) % 100000);
			break;
		case 2:
			values[i] = (int64_t)random_next(seed); /* any jump, over the whole range */
			break;
		default:
			break;
		}
	}
}

struct comparison {
	const struct plain *plain;
	unsigned int at;
};

static void compare_point(const struct ledger_point *point, void *arg)
{
	struct comparison *comparison = arg;
	const struct ledger_point *wanted = &comparison->plain->points[comparison->at];

	assert_true(comparison->at < comparison->plain->count);
	assert_memory_equal(point->values, wanted->values, sizeof(point->values));
	assert_true(point->time_ns <= wanted->time_ns && wanted->time_ns - point->time_ns < US);
	comparison->at++;
}

static void compare_at(const struct ledger *ledger, const struct series *series,
	const struct plain *plain, unsigned int i)
{
	const struct ledger_point *wanted = &plain->points[i];
	struct ledger_point point;

	assert_true(ledger_at(ledger, series, wanted->time_ns, &point));
	/* Of several at one moment the last one holds. */
	while (i + 1 < plain->count && plain->points[i + 1].time_ns / US <= wanted->time_ns / US)
		i++;
	if (plain->points[i].time_ns == wanted->time_ns)
		assert_memory_equal(point.values, plain->points[i].values, sizeof(point.values));
}

static void what_goes_in_comes_out(void **state)
{
	static struct plain plains[7];
	struct ledger *ledger = ledger_new(4 << 20, 60 * S);
	struct series series[7] = {0};
	int64_t values[7][LEDGER_VALUES] = {0};
	uint64_t seed = 20240607, time_ns = S;

	(void)state;
	for (unsigned int i = 0; i < 14000; i++) {
		unsigned int which = random_next(&seed) % 7;

		time_ns += random_next(&seed) % 3 ? random_next(&seed) % (5 * S) : 0;
		random_values(&seed, values[which]);
		ledger_append(ledger, &series[which], time_ns, values[which]);
		plain_add(&plains[which], time_ns, values[which]);
	}
	for (unsigned int which = 0; which < 7; which++) {
		struct comparison comparison = {&plains[which], 0};

		assert_true(plains[which].count > 1000);
		ledger_walk(ledger, &series[which], 0, compare_point, &comparison);
		assert_int_equal(comparison.at, plains[which].count);
		for (unsigned int i = 0; i < plains[which].count; i++)
			compare_at(ledger, &series[which], &plains[which], i);
		assert_true(series[which].first_ns == plains[which].points[0].time_ns);
		assert_true(series[which].cut_ns == 0);
	}
	assert_int_equal(ledger_totals(ledger).evicted, 0);
	assert_int_equal(ledger_totals(ledger).refused, 0);
	ledger_free(ledger);
}

static void values_at_their_limits(void **state)
{
	static const int64_t limits[] = {INT64_MAX, INT64_MIN, -1, 1, INT64_MIN, 0, INT64_MAX};
	struct ledger *ledger = ledger_new(1 << 16, 60 * S);
	struct series series = {0};
	struct ledger_point point;

	(void)state;
	for (unsigned int i = 0; i < 7; i++) {
		int64_t values[LEDGER_VALUES] = {limits[i], -limits[i] - 1, limits[i], limits[i]};

		ledger_append(ledger, &series, (i + 1) * S, values);
	}
	for (unsigned int i = 0; i < 7; i++) {
		assert_true(ledger_at(ledger, &series, (i + 1) * S + 5, &point));
		assert_true(point.values[0] == limits[i]);
		assert_true(point.values[1] == -limits[i] - 1);
		assert_true(point.values[3] == limits[i]);
	}
	/* as late as there is a time */
	add(ledger, &series, UINT64_MAX, 5, 5);
	assert_true(value_at(ledger, &series, UINT64_MAX) == 5);
	assert_true(value_at(ledger, &series, UINT64_MAX - S) == INT64_MAX);
	ledger_free(ledger);
}

static void rounding_does_not_add_up(void **state)
{
	struct ledger *ledger = ledger_new(1 << 16, 60 * S);
	struct series series = {0};
	struct ledger_point point;

	(void)state;
	for (unsigned int i = 0; i <= 1000; i++)
		add(ledger, &series, S + i * 1999, i, 0);
	assert_true(ledger_at(ledger, &series, S + 999 * 1999, &point));
	assert_true(point.values[0] == 999);
	assert_true(S + 999 * 1999 - point.time_ns < US);
	/* what is newest is exact */
	assert_true(ledger_at(ledger, &series, S + 1000 * 1999, &point));
	assert_true(point.time_ns == S + 1000 * 1999);
	ledger_free(ledger);
}

static void what_stands_still_is_not_stored(void **state)
{
	struct ledger *ledger = ledger_new(1 << 16, 60 * S);
	struct series series = {0};

	(void)state;
	for (unsigned int i = 1; i <= 1000; i++)
		add(ledger, &series, i * S, 7, 7);
	assert_int_equal(ledger_totals(ledger).points, 1);
	assert_true(series.last.time_ns == S);
	assert_true(series.seen_ns == 1000 * S);
	assert_true(value_at(ledger, &series, 500 * S) == 7);
	ledger_free(ledger);
}

static void a_time_that_goes_back_is_refused(void **state)
{
	struct ledger *ledger = ledger_new(1 << 16, 60 * S);
	struct series series = {0};

	(void)state;
	add(ledger, &series, 0, 1, 1);
	assert_int_equal(ledger_totals(ledger).refused, 1);
	assert_true(series.first_ns == 0);
	add(ledger, &series, 10 * S, 1, 1);
	add(ledger, &series, 20 * S, 1, 1);
	/* it was seen to hold still until 20 s */
	add(ledger, &series, 15 * S, 2, 2);
	assert_int_equal(ledger_totals(ledger).refused, 2);
	assert_true(value_at(ledger, &series, 30 * S) == 1);
	add(ledger, &series, 20 * S, 3, 3);
	assert_int_equal(ledger_totals(ledger).refused, 2);
	assert_true(value_at(ledger, &series, 20 * S) == 3);
	assert_true(value_at(ledger, &series, 20 * S - US) == 1);
	ledger_free(ledger);
}

static void before_its_beginning(void **state)
{
	struct ledger *ledger = ledger_new(1 << 16, 60 * S);
	struct series series = {0};
	struct ledger_point point;

	(void)state;
	memset(&point, 0xff, sizeof(point));
	assert_false(ledger_at(ledger, &series, 5 * S, &point));
	assert_true(point.time_ns == 0 && point.values[0] == 0);
	add(ledger, &series, 10 * S, 4, 0);
	add(ledger, &series, 11 * S, 5, 0);
	assert_false(ledger_at(ledger, &series, 10 * S - 1, &point));
	assert_true(point.time_ns == 10 * S && point.values[0] == 4);
	assert_true(value_at(ledger, &series, 10 * S) == 4);
	ledger_free(ledger);
}

/* Differences that take many bytes: seven points to a chunk at most. */
static void add_wide(struct ledger *ledger, struct series *series, uint64_t time_ns, int64_t n)
{
	add(ledger, series, time_ns, n, (int64_t)((uint64_t)n * 0x3243f6a8885a308dULL));
}

static void count_point(const struct ledger_point *point, void *arg)
{
	unsigned int *count = arg;

	(void)point;
	(*count)++;
}

static void the_oldest_gives_way(void **state)
{
	struct ledger *ledger = ledger_new(16 * CHUNK, 300 * S);
	struct series a = {0}, b = {0};
	struct ledger_point point;
	unsigned int count = 0;

	(void)state;
	add(ledger, &b, S, 42, 0);
	for (unsigned int i = 1; i <= 1000; i++)
		add_wide(ledger, &a, i * S, i);
	/* what it holds now is never lost, though its only chunk is */
	assert_true(b.oldest == 0 && b.newest == 0);
	assert_true(b.cut_ns == S);
	assert_true(value_at(ledger, &b, 2 * S) == 42);
	ledger_walk(ledger, &b, 0, count_point, &count);
	assert_int_equal(count, 1);
	/* of the other one the newest part is left, without a gap */
	assert_true(a.cut_ns > 800 * S && a.cut_ns < 1000 * S);
	assert_true(a.first_ns == S);
	assert_false(ledger_at(ledger, &a, a.cut_ns - S, &point));
	assert_true(point.time_ns == a.cut_ns);
	for (uint64_t time_ns = a.cut_ns; time_ns <= 1000 * S; time_ns += S)
		assert_true(value_at(ledger, &a, time_ns) == (int64_t)(time_ns / S));
	assert_true(ledger_totals(ledger).evicted > 100);
	ledger_free(ledger);
}

static void only_what_is_young_counts_as_lost(void **state)
{
	struct ledger *ledger = ledger_new(16 * CHUNK, 60 * S);
	struct series series = {0};

	(void)state;
	for (unsigned int i = 1; i <= 1000; i++)
		add_wide(ledger, &series, i * 60 * S, i);
	assert_true(series.cut_ns > 0);
	assert_int_equal(ledger_totals(ledger).evicted, 0);
	ledger_free(ledger);
}

static void a_series_goes_on_after_all_of_it_gave_way(void **state)
{
	struct ledger *ledger = ledger_new(4 * CHUNK, 60 * S);
	struct series calm = {0}, busy = {0};
	struct ledger_point point;

	(void)state;
	add(ledger, &calm, 5 * S, 11, 0);
	for (unsigned int i = 6; i <= 100; i++)
		add_wide(ledger, &busy, i * S, i);
	assert_true(calm.oldest == 0);
	add(ledger, &calm, 200 * S, 12, 0);
	/* it held 11 all the time between */
	assert_true(value_at(ledger, &calm, 199 * S) == 11);
	assert_true(value_at(ledger, &calm, 5 * S) == 11);
	assert_true(value_at(ledger, &calm, 200 * S) == 12);
	assert_false(ledger_at(ledger, &calm, 4 * S, &point));
	assert_true(calm.first_ns == 5 * S && calm.cut_ns == 5 * S);
	ledger_free(ledger);
}

static void an_arena_of_one_chunk(void **state)
{
	struct ledger *ledger = ledger_new(CHUNK, 60 * S);
	struct series a = {0}, b = {0};
	struct ledger_point point;

	(void)state;
	for (unsigned int i = 1; i <= 200; i++)
		add_wide(ledger, &a, i * S, i);
	assert_true(value_at(ledger, &a, 200 * S) == 200);
	assert_true(value_at(ledger, &a, a.cut_ns) == (int64_t)(a.cut_ns / S));
	assert_false(ledger_at(ledger, &a, a.cut_ns - 1, &point));
	add(ledger, &b, 300 * S, 1, 0);
	assert_true(value_at(ledger, &a, 300 * S) == 200);
	assert_true(value_at(ledger, &b, 300 * S) == 1);
	ledger_free(ledger);
}

static void what_is_forgotten_makes_room(void **state)
{
	struct ledger *ledger = ledger_new(16 * CHUNK, 1000 * S);
	struct series gone = {0}, stays = {0}, next = {0}, empty = {0};
	unsigned int count = 0;

	(void)state;
	for (unsigned int i = 1; i <= 50; i++)
		add_wide(ledger, &gone, i * S, i);
	add(ledger, &stays, 50 * S, 5, 0);
	ledger_forget(ledger, &gone);
	assert_memory_equal(&gone, &empty, sizeof(gone));
	ledger_forget(ledger, &gone); /* an empty one */
	/* All but one of the chunks are another's before what stays must give way. */
	for (unsigned int i = 51; stays.oldest; i++)
		add_wide(ledger, &next, i * S, i);
	assert_true(next.cut_ns == 0);
	ledger_walk(ledger, &next, 0, count_point, &count);
	assert_in_range(count, 15 * 6, 16 * 7);
	assert_int_equal(ledger_totals(ledger).evicted, 1);
	assert_true(value_at(ledger, &stays, 51 * S) == 5);
	ledger_free(ledger);
}

static void forgotten_again_and_again(void **state)
{
	struct ledger *ledger = ledger_new(64 * CHUNK, 60 * S);
	struct series stays = {0}, series = {0};

	(void)state;
	for (unsigned int round = 1; round <= 1000; round++) {
		for (unsigned int i = 0; i < 20; i++)
			add_wide(ledger, &series, round * S + i * US, i);
		ledger_forget(ledger, &series);
		add(ledger, &stays, round * S + 20 * US, round, 0);
	}
	assert_true(value_at(ledger, &stays, 1000 * S + 20 * US) == 1000);
	assert_true(value_at(ledger, &stays, 999 * S + 20 * US) == 999);
	ledger_free(ledger);
}

static void many_series_in_a_small_arena(void **state)
{
	static struct series series[200];
	struct ledger *ledger = ledger_new(100 * CHUNK, 60 * S);
	uint64_t seed = 99, time_ns = S;
	int64_t newest[200] = {0};

	(void)state;
	memset(series, 0, sizeof(series));
	for (unsigned int i = 0; i < 100000; i++) {
		unsigned int which = random_next(&seed) % 200;

		time_ns += random_next(&seed) % S;
		if (random_next(&seed) % 50 == 0) {
			ledger_forget(ledger, &series[which]);
			newest[which] = 0;
			continue;
		}
		newest[which] += random_next(&seed) % 1000;
		add(ledger, &series[which], time_ns, newest[which], 0);
		assert_true(value_at(ledger, &series[which], time_ns) == newest[which]);
	}
	for (unsigned int which = 0; which < 200; which++) {
		struct ledger_point point;
		unsigned int count = 0;

		if (series[which].first_ns == 0)
			continue;
		assert_true(value_at(ledger, &series[which], UINT64_MAX) == newest[which]);
		/* as far back as it says, and no further */
		if (series[which].cut_ns) {
			ledger_at(ledger, &series[which], series[which].cut_ns - 1, &point);
			assert_true(point.time_ns == series[which].cut_ns);
		}
		ledger_walk(ledger, &series[which], 0, count_point, &count);
		assert_true(count > 0);
	}
	ledger_free(ledger);
}

static void a_walk_begins_with_what_held(void **state)
{
	struct ledger *ledger = ledger_new(1 << 16, 60 * S);
	struct series series = {0};
	unsigned int count = 0;

	(void)state;
	ledger_walk(ledger, &series, 0, count_point, &count);
	assert_int_equal(count, 0);
	for (unsigned int i = 1; i <= 100; i++)
		add_wide(ledger, &series, i * S, i);
	ledger_walk(ledger, &series, 60 * S + S / 2, count_point, &count);
	assert_int_equal(count, 41);
	count = 0;
	ledger_walk(ledger, &series, 60 * S, count_point, &count);
	assert_int_equal(count, 41);
	count = 0;
	ledger_walk(ledger, &series, 1000 * S, count_point, &count);
	assert_int_equal(count, 1);
	ledger_free(ledger);
}

static void sizes_that_cannot_be(void **state)
{
	(void)state;
	errno = 0;
	assert_null(ledger_new(0, S));
	assert_int_equal(errno, EINVAL);
	assert_null(ledger_new(CHUNK - 1, S));
	assert_null(ledger_new(SIZE_MAX, S));
	ledger_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_in_comes_out),
		cmocka_unit_test(values_at_their_limits),
		cmocka_unit_test(rounding_does_not_add_up),
		cmocka_unit_test(what_stands_still_is_not_stored),
		cmocka_unit_test(a_time_that_goes_back_is_refused),
		cmocka_unit_test(before_its_beginning),
		cmocka_unit_test(the_oldest_gives_way),
		cmocka_unit_test(only_what_is_young_counts_as_lost),
		cmocka_unit_test(a_series_goes_on_after_all_of_it_gave_way),
		cmocka_unit_test(an_arena_of_one_chunk),
		cmocka_unit_test(what_is_forgotten_makes_room),
		cmocka_unit_test(forgotten_again_and_again),
		cmocka_unit_test(many_series_in_a_small_arena),
		cmocka_unit_test(a_walk_begins_with_what_held),
		cmocka_unit_test(sizes_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
