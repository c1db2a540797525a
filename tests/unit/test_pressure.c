// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "facts/host.h"
#include "facts/pressure.h"

static void both_lines_are_read(void **state)
{
	struct pressure ret;

	(void)state;
	assert_int_equal(parse_pressure("some avg10=51.34 avg60=1.00 avg300=0.00 total=7\n"
					"full avg10=0.07 avg60=0.00 avg300=0.00 total=1\n",
				 &ret),
		0);
	assert_int_equal(ret.some, 5134);
	assert_int_equal(ret.full, 7);
	assert_int_equal(parse_pressure("some avg10=100.00 avg60=0\n", &ret), 0);
	assert_int_equal(ret.some, 10000);
	assert_true(ret.full == UNKNOWN_U64);
}

static void what_is_no_pressure_leaves_the_output_alone(void **state)
{
	static const char *const texts[] = {"", "some", "some avg10=", "some avg10=x",
		"some avg10=101.00 x", "some avg10=1.2 x", "full avg10=-1.00 x"};
	struct pressure ret = {5, 6};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_not_equal(parse_pressure(texts[i], &ret), 0);
		assert_int_equal(ret.some, 5);
		assert_int_equal(ret.full, 6);
	}
}

static void the_total_of_full_is_read(void **state)
{
	static const char *const texts[] = {"", "full", "full avg10=1.00",
		"full total=", "full total=x", "full total=7x", "some avg10=0.00 total=7\n"};
	uint64_t us = 5;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_not_equal(parse_stalled(texts[i], &us), 0);
	assert_int_equal(us, 5);
	assert_int_equal(parse_stalled("some avg10=51.34 avg60=1.00 avg300=0.00 total=7\n"
				       "full avg10=0.07 avg60=0.00 avg300=0.00 total=11875213\n",
				 &us),
		0);
	assert_int_equal(us, 11875213);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_lines_are_read),
		cmocka_unit_test(the_total_of_full_is_read),
		cmocka_unit_test(what_is_no_pressure_leaves_the_output_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
