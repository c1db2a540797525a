// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/buf.h"

static void text_is_appended_and_terminated(void **state)
{
	char data[32];
	struct buf buf;

	(void)state;
	memset(data, 'x', sizeof(data));
	buf_init(&buf, data, sizeof(data));
	assert_string_equal(data, "");
	buf_puts(&buf, "one");
	buf_putc(&buf, '-');
	buf_put(&buf, "twofold", 3);
	buf_printf(&buf, "-%d", 3);
	assert_string_equal(data, "one-two-3");
	assert_int_equal(buf.len, 9);
	assert_false(buf.full);
}

static void the_last_byte_is_for_the_end(void **state)
{
	char data[5];
	struct buf buf;

	(void)state;
	buf_init(&buf, data, sizeof(data));
	buf_puts(&buf, "1234");
	assert_false(buf.full);
	assert_string_equal(data, "1234");
	buf_putc(&buf, '5');
	assert_true(buf.full);
	assert_string_equal(data, "1234");
}

static void what_does_not_fit_leaves_the_text_as_it_was(void **state)
{
	char data[8];
	struct buf buf;

	(void)state;
	buf_init(&buf, data, sizeof(data));
	buf_puts(&buf, "abc");
	buf_puts(&buf, "defgh");
	assert_true(buf.full);
	assert_string_equal(data, "abc");
	buf_rewind(&buf, buf.len);
	buf_printf(&buf, "%s", "defgh");
	assert_true(buf.full);
	assert_string_equal(data, "abc");
	buf_rewind(&buf, buf.len);
	buf_u64(&buf, 12345);
	assert_true(buf.full);
	assert_string_equal(data, "abc");
	buf_rewind(&buf, buf.len);
	buf_i64(&buf, -1234);
	assert_true(buf.full);
	assert_string_equal(data, "abc");
	assert_int_equal(buf.len, 3);
}

static void a_full_buffer_takes_nothing_more(void **state)
{
	char data[8];
	struct buf buf;

	(void)state;
	buf_init(&buf, data, sizeof(data));
	buf_puts(&buf, "abc");
	buf_puts(&buf, "defgh");
	buf_putc(&buf, 'i');
	buf_printf(&buf, "j");
	buf_u64(&buf, 1);
	assert_string_equal(data, "abc");
	buf_rewind(&buf, 2);
	assert_false(buf.full);
	buf_putc(&buf, 'i');
	assert_string_equal(data, "abi");
	buf_reset(&buf);
	assert_string_equal(data, "");
	assert_int_equal(buf.len, 0);
}

static void rewinding_forward_moves_nothing(void **state)
{
	char data[8];
	struct buf buf;

	(void)state;
	buf_init(&buf, data, sizeof(data));
	buf_puts(&buf, "abc");
	buf_rewind(&buf, 7);
	assert_int_equal(buf.len, 3);
	assert_string_equal(data, "abc");
}

static void no_room_at_all_is_full_from_the_start(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf, NULL, 0);
	assert_true(buf.full);
	buf_puts(&buf, "a");
	buf_printf(&buf, "%d", 1);
	buf_reset(&buf);
	assert_true(buf.full);
	assert_int_equal(buf.len, 0);
}

static void numbers_of_every_size(void **state)
{
	char data[128];
	struct buf buf;

	(void)state;
	buf_init(&buf, data, sizeof(data));
	buf_u64(&buf, 0);
	buf_putc(&buf, ' ');
	buf_u64(&buf, UINT64_MAX);
	buf_putc(&buf, ' ');
	buf_i64(&buf, INT64_MIN);
	buf_putc(&buf, ' ');
	buf_i64(&buf, INT64_MAX);
	buf_putc(&buf, ' ');
	buf_i64(&buf, -1);
	assert_string_equal(data, "0 18446744073709551615 -9223372036854775808 "
				  "9223372036854775807 -1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_appended_and_terminated),
		cmocka_unit_test(the_last_byte_is_for_the_end),
		cmocka_unit_test(what_does_not_fit_leaves_the_text_as_it_was),
		cmocka_unit_test(a_full_buffer_takes_nothing_more),
		cmocka_unit_test(rewinding_forward_moves_nothing),
		cmocka_unit_test(no_room_at_all_is_full_from_the_start),
		cmocka_unit_test(numbers_of_every_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
