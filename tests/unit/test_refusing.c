// SPDX-License-Identifier: Apache-2.0
/* Refused calls to records. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "model/refusing.h"

#define T0 1000000000000ULL
#define MS 1000000ULL
#define SEC 1000000000ULL

static struct refusals *refusals;
static struct processes *processes;
static struct cgroups *cgroups;
static struct fact fact;
static uint32_t counted; /* what the kernel side says */

static uint32_t count_of(uint32_t tgid, enum ev_call call, uint64_t began_ns, void *arg)
{
	(void)tgid;
	(void)call;
	(void)began_ns;
	(void)arg;
	return counted;
}

static int begin(void **state)
{
	(void)state;
	counted = 1;
	processes = processes_new(64);
	cgroups = cgroups_new(64);
	refusals = refusals_new(processes, cgroups, count_of, NULL);
	cgroup_learn(cgroups, 7, "/pod/app", T0);
	return refusals ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	refusals_free(refusals);
	processes_free(processes);
	cgroups_free(cgroups);
	return 0;
}

static void refuse(uint32_t tgid, enum ev_call call, uint32_t count, uint64_t at_ns)
{
	memset(&fact, 0, sizeof(fact));
	fact.kind = EV_REFUSAL;
	fact.refusal.hdr.time_ns = at_ns;
	fact.refusal.call = call;
	fact.refusal.error = 12;
	fact.refusal.count = count;
	fact.refusal.burst_ns = at_ns;
	fact.refusal.asked_bytes = 1000 + call;
	fact.refusal.tgid = tgid;
	fact.refusal.cgroup_id = 7;
	memcpy(fact.refusal.comm, "0123456789abcdef", EV_COMM_LEN);
	refusals_fact(refusals, &fact);
}

static struct refusal *closed(uint64_t at_ns)
{
	return refusals_next_closed(refusals, at_ns);
}

static void a_loop_is_one_record_with_a_count(void **state)
{
	struct refusal *refusal;

	(void)state;
	refuse(1, EV_CALL_MMAP, 1, T0);
	assert_non_null(refusals_next_fresh(refusals));
	assert_null(refusals_next_fresh(refusals));
	counted = 500;
	assert_null(closed(T0 + 200 * MS));
	counted = 1000;
	assert_null(closed(T0 + 400 * MS)); /* it went on meanwhile */
	assert_null(closed(T0 + 700 * MS));
	refusal = closed(T0 + 701 * MS);
	assert_non_null(refusal);
	assert_int_equal(refusal->count, 1000);
	assert_false(refusal->count_is_least);
	assert_int_equal(refusal->processes, 1);
	assert_string_equal(refusal->cgroup, "/pod/app");
	refusals_release(refusals, refusal, T0 + 701 * MS, true);
	assert_null(closed(UINT64_MAX));
}

static void one_that_never_ends_is_told_in_between(void **state)
{
	struct refusal *refusal = NULL;
	uint64_t now = T0;

	(void)state;
	refuse(1, EV_CALL_MMAP, 1, T0);
	while (!refusal && now < T0 + 20 * SEC) {
		now += 100 * MS;
		counted++;
		refusal = closed(now);
	}
	assert_non_null(refusal);
	assert_true(now == T0 + REFUSAL_MOST_NS);
	refusals_release(refusals, refusal, now, true);
	/* What goes on is told a minute later, and once. */
	refuse(1, EV_CALL_MMAP, 128, now + 100 * MS);
	assert_null(closed(now + 59 * SEC));
	refusal = closed(now + 60 * SEC);
	assert_non_null(refusal);
	assert_int_equal(refusal->before, 101);
	refusals_release(refusals, refusal, now + 60 * SEC, true);
}

static void an_allocator_tries_one_call_after_the_other(void **state)
{
	struct refusal *refusal;

	(void)state;
	refuse(1, EV_CALL_BRK, 1, T0);
	refuse(1, EV_CALL_MMAP, 1, T0 + MS);
	refuse(1, EV_CALL_BRK, 1, T0 + 2 * MS);
	refuse(1, EV_CALL_FORK, 1, T0 + 3 * MS);
	refusal = closed(UINT64_MAX);
	assert_int_equal(refusal->call, EV_CALL_MMAP);
	assert_int_equal(refusal->asked_bytes, 1000 + EV_CALL_MMAP);
	assert_int_equal(refusal->count, 3);
	assert_int_equal(refusal->processes, 1);
	refusals_release(refusals, refusal, T0, true);
	refusal = closed(UINT64_MAX);
	assert_int_equal(refusal->call, EV_CALL_FORK);
	refusals_release(refusals, refusal, T0, true);
	assert_null(closed(UINT64_MAX));
}

static void workers_of_one_name_are_one_record(void **state)
{
	struct refusal *refusal;

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		refuse(100 + i, EV_CALL_MMAP, 1, T0 + i * MS);
	refusal = closed(UINT64_MAX);
	assert_int_equal(refusal->processes, 40);
	assert_int_equal(refusal->count, 40);
	assert_true(refusal->count_is_least);
	refusals_release(refusals, refusal, T0, true);
}

static void the_next_ones_alike_wait(void **state)
{
	uint64_t now = T0;

	(void)state;
	/* Each another process of that name. */
	for (uint32_t i = 0; i < 3; i++) {
		struct refusal *refusal;

		refuse(10 + i, EV_CALL_MMAP, 1, now);
		refusal = closed(now + 301 * MS);
		assert_non_null(refusal);
		assert_int_equal(refusal->before, i);
		now += SEC;
		refusals_release(refusals, refusal, now, true);
	}
	refuse(20, EV_CALL_MMAP, 1, now + SEC);
	assert_null(closed(now + 59 * SEC));
	assert_non_null(closed(now + 60 * SEC));
	assert_non_null(closed(UINT64_MAX));
}

static void what_was_not_told_holds_nothing_back(void **state)
{
	struct refusal *refusal;

	(void)state;
	refuse(1, EV_CALL_MMAP, 1, T0);
	refusal = closed(T0 + SEC);
	refusals_release(refusals, refusal, T0 + SEC, false);
	refuse(1, EV_CALL_MMAP, 1, T0 + 2 * SEC);
	assert_non_null(closed(T0 + 3 * SEC));
}

static void a_burst_that_was_overtaken_counts_at_least(void **state)
{
	struct refusal *refusal;

	(void)state;
	refuse(1, EV_CALL_MMAP, 1, T0);
	refuse(1, EV_CALL_MMAP, 1, T0 + MS);
	counted = 0;
	assert_null(closed(T0 + 100 * MS));
	refusal = closed(T0 + SEC);
	assert_non_null(refusal);
	assert_true(refusal->count_is_least);
}

static void what_finds_no_room_is_counted(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 65; i++) {
		refuse(1, EV_CALL_MMAP, 1, T0);
		fact.refusal.cgroup_id = 100 + i;
		refusals_fact(refusals, &fact);
	}
	assert_int_equal(refusals_lost(refusals), 2);
	assert_true(refusals_deadline(refusals, T0) == T0 + REFUSAL_GAP_NS);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(a_loop_is_one_record_with_a_count),
		EACH(one_that_never_ends_is_told_in_between),
		EACH(an_allocator_tries_one_call_after_the_other),
		EACH(workers_of_one_name_are_one_record),
		EACH(the_next_ones_alike_wait),
		EACH(what_was_not_told_holds_nothing_back),
		EACH(a_burst_that_was_overtaken_counts_at_least),
		EACH(what_finds_no_room_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
