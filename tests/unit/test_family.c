// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "model/family.h"

static const struct family_member *fork_of(struct family *family, uint32_t parent, uint32_t pid)
{
	struct fact fact = {.kind = EV_FORK,
		.fork = {.tgid = pid, .parent_tgid = parent, .start_ns = 1000 + pid}};

	assert_null(family_fact(family, &fact));
	return family_find(family, pid);
}

static const struct family_member *exit_of(struct family *family, uint32_t pid, uint32_t code)
{
	struct fact fact = {
		.kind = EV_EXIT, .exit = {.hdr = {.time_ns = 7}, .tgid = pid, .exit_code = code}};

	memcpy(fact.exit.comm, "worker", 7);
	return family_fact(family, &fact);
}

static void who_descends_belongs_to_it(void **state)
{
	struct family *family = family_new(64);

	(void)state;
	assert_null(fork_of(family, 10, 11));
	family_begin(family, 10, "root");
	assert_int_equal(family_root(family), 10);
	assert_string_equal(fork_of(family, 10, 12)->comm, "root");
	assert_non_null(fork_of(family, 12, 13));
	assert_null(fork_of(family, 99, 14));
	assert_int_equal(family_count(family), 3);
	assert_int_equal(family_alive(family), 3);
	family_free(family);
}

static void an_orphan_stays_a_member(void **state)
{
	struct family *family = family_new(64);

	(void)state;
	family_begin(family, 10, "root");
	fork_of(family, 10, 12);
	fork_of(family, 12, 13);
	assert_int_equal(exit_of(family, 12, 9)->exit_code, 9);
	assert_non_null(family_find(family, 13));
	assert_string_equal(family_find(family, 12)->comm, "worker");
	assert_int_equal(family_alive(family), 2);
	assert_null(exit_of(family, 12, 9));
	assert_null(exit_of(family, 99, 9));
	/* It forks, though its parent is gone. */
	assert_non_null(fork_of(family, 13, 14));
	family_free(family);
}

static void a_pid_that_comes_back_is_a_stranger(void **state)
{
	struct family *family = family_new(64);

	(void)state;
	family_begin(family, 10, "root");
	fork_of(family, 10, 12);
	exit_of(family, 12, 0);
	assert_null(fork_of(family, 500, 12));
	assert_null(fork_of(family, 12, 13));
	/* And a member again, once one of us makes it. */
	assert_non_null(fork_of(family, 10, 12));
	assert_int_equal(family_alive(family), 2);
	/* The end of one was not told. */
	assert_null(fork_of(family, 500, 12));
	assert_int_equal(family_alive(family), 1);
	family_free(family);
}

static void seen_in_proc(void **state)
{
	struct family *family = family_new(64);

	(void)state;
	family_begin(family, 10, "");
	assert_true(family_seen(family, 12, 10, "sh"));
	assert_false(family_seen(family, 20, 19, "other"));
	assert_true(family_seen(family, 13, 12, "sleep"));
	assert_string_equal(family_find(family, 13)->comm, "sleep");
	/* The record of its fork comes later, and is of the same process. */
	fork_of(family, 12, 13);
	assert_int_equal(family_count(family), 3);
	assert_string_equal(family_find(family, 13)->comm, "sleep");
	/* Orphans hang on the root, which may have ended. */
	exit_of(family, 10, 0);
	assert_true(family_seen(family, 14, 10, "late"));
	family_free(family);
}

static void a_sample_tells_of_who_was_missed(void **state)
{
	struct family *family = family_new(64);
	struct fact fact = {.kind = EV_SAMPLE, .sample = {.tgid = 30, .ppid = 10, .mm = 1}};

	(void)state;
	memcpy(fact.sample.comm, "0123456789abcdef", 16);
	family_begin(family, 10, "root");
	assert_null(family_fact(family, &fact));
	assert_string_equal(family_find(family, 30)->comm, "0123456789abcdef");
	/* One without memory is on its way out. */
	fact.sample.tgid = 31;
	fact.sample.mm = 0;
	family_fact(family, &fact);
	assert_null(family_find(family, 31));
	family_free(family);
}

static void a_full_table_forgets_the_dead_first(void **state)
{
	struct family *family = family_new(4);

	(void)state;
	family_begin(family, 10, "root");
	for (uint32_t pid = 11; pid < 40; pid++) {
		fork_of(family, 10, pid);
		exit_of(family, pid, 0);
	}
	assert_non_null(family_find(family, 10));
	assert_int_equal(family_count(family), 30);
	assert_int_equal(family_alive(family), 1);
	for (uint32_t pid = 50; pid < 60; pid++)
		fork_of(family, 10, pid);
	assert_true(family_alive(family) <= 4);
	family_free(family);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_descends_belongs_to_it),
		cmocka_unit_test(an_orphan_stays_a_member),
		cmocka_unit_test(a_pid_that_comes_back_is_a_stranger),
		cmocka_unit_test(seen_in_proc),
		cmocka_unit_test(a_sample_tells_of_who_was_missed),
		cmocka_unit_test(a_full_table_forgets_the_dead_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
