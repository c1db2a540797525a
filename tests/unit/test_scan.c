// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include <string.h>

#include "facts/scan.h"

static struct scan of(const char *text)
{
	return scan_of(text, strlen(text));
}

static void numbers_stop_at_what_is_no_digit(void **state)
{
	struct scan scan = of("12kB");
	uint64_t value = 0;

	(void)state;
	assert_true(scan_u64(&scan, &value));
	assert_int_equal(value, 12);
	assert_true(scan_equals(&scan, "kB"));
}

static void a_number_that_does_not_fit_is_none(void **state)
{
	struct scan most = of("18446744073709551615"), more = of("18446744073709551616");
	uint64_t value = 7;

	(void)state;
	assert_true(scan_u64(&most, &value));
	assert_true(value == UINT64_MAX);
	value = 7;
	assert_false(scan_u64(&more, &value));
	assert_int_equal(value, 7);
	assert_int_equal(scan_left(&more), 20);
}

static void nothing_is_read_behind_the_end(void **state)
{
	struct scan scan = scan_of("123", 2), whole = scan_of("kBx", 2);
	uint64_t value = 0;

	(void)state;
	assert_true(scan_u64(&scan, &value));
	assert_int_equal(value, 12);
	assert_true(scan_done(&scan));
	assert_false(scan_text(&whole, "kBx"));
	assert_true(scan_text(&whole, "kB"));
	assert_true(scan_done(&whole));
}

static void signs_are_taken_by_the_signed_one_alone(void **state)
{
	struct scan scan = of("-1000"), plus = of("+5"), bare = of("-"),
		    huge = of("9223372036854775808");
	uint64_t u = 3;
	int64_t i = 3;

	(void)state;
	assert_false(scan_u64(&scan, &u));
	assert_true(scan_i64(&scan, &i));
	assert_int_equal(i, -1000);
	assert_false(scan_i64(&plus, &i));
	assert_false(scan_i64(&bare, &i));
	assert_int_equal(scan_left(&bare), 1);
	assert_false(scan_i64(&huge, &i));
}

static void lines_end_with_or_without_newline(void **state)
{
	struct scan scan = of("a\n\nlast"), line;

	(void)state;
	assert_true(scan_line(&scan, &line) && scan_equals(&line, "a"));
	assert_true(scan_line(&scan, &line) && scan_equals(&line, ""));
	assert_true(scan_line(&scan, &line) && scan_equals(&line, "last"));
	assert_false(scan_line(&scan, &line));
}

static void words_of_a_list_are_whole(void **state)
{
	(void)state;
	assert_true(scan_has_word(of("rw,memory"), "memory"));
	assert_false(scan_has_word(of("rw,name=memory"), "memory"));
	assert_false(scan_has_word(of("memory_x,xmemory"), "memory"));
	assert_false(scan_has_word(of(""), "memory"));
}

static void copies_are_whole_or_not_made(void **state)
{
	struct scan scan = of("abcd");
	char ret[5] = "?";

	(void)state;
	assert_int_equal(scan_copy(&scan, ret, 4), -ENAMETOOLONG);
	assert_string_equal(ret, "?");
	assert_int_equal(scan_copy(&scan, ret, 5), 0);
	assert_string_equal(ret, "abcd");
}

static void a_failed_text_moves_nothing(void **state)
{
	struct scan scan = of("MemTota");

	(void)state;
	assert_false(scan_text(&scan, "MemTotal:"));
	assert_int_equal(scan_left(&scan), 7);
	assert_true(scan_text(&scan, "Mem"));
	assert_true(scan_equals(&scan, "Tota"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_stop_at_what_is_no_digit),
		cmocka_unit_test(a_number_that_does_not_fit_is_none),
		cmocka_unit_test(nothing_is_read_behind_the_end),
		cmocka_unit_test(signs_are_taken_by_the_signed_one_alone),
		cmocka_unit_test(lines_end_with_or_without_newline),
		cmocka_unit_test(words_of_a_list_are_whole),
		cmocka_unit_test(copies_are_whole_or_not_made),
		cmocka_unit_test(a_failed_text_moves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
