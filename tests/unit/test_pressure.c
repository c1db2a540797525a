// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "facts/pressure.h"

static void both_lines_are_read(void **state)
{
	uint32_t some = 1, full = 1;

	(void)state;
	assert_int_equal(parse_pressure("some avg10=51.34 avg60=1.00 avg300=0.00 total=7\n"
					"full avg10=0.07 avg60=0.00 avg300=0.00 total=1\n",
				 &some, &full),
		0);
	assert_int_equal(some, 5134);
	assert_int_equal(full, 7);
	assert_int_equal(parse_pressure("some avg10=100.00 avg60", &some, &full), 0);
	assert_int_equal(some, 10000);
	assert_int_equal(full, UINT32_MAX);
}

static void what_is_no_pressure_leaves_the_outputs_alone(void **state)
{
	static const char *const texts[] = {
		"", "some", "some avg10=", "some avg10=x", "some avg10=101.00", "full avg10=-1.00"};
	uint32_t some = 5, full = 6;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_not_equal(parse_pressure(texts[i], &some, &full), 0);
		assert_int_equal(some, 5);
		assert_int_equal(full, 6);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_lines_are_read),
		cmocka_unit_test(what_is_no_pressure_leaves_the_outputs_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
