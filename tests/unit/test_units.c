// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"

#define KIB 1024ULL
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define S 1000000000ULL

static char data[128];
static struct buf out;

static const char *bytes(uint64_t value)
{
	buf_init(&out, data, sizeof(data));
	units_bytes(&out, value);
	return data;
}

static const char *count(int64_t value)
{
	buf_init(&out, data, sizeof(data));
	units_count(&out, value);
	return data;
}

static const char *duration(uint64_t value)
{
	buf_init(&out, data, sizeof(data));
	units_duration_ns(&out, value);
	return data;
}

static const char *utc(int64_t value)
{
	buf_init(&out, data, sizeof(data));
	units_rfc3339_utc(&out, value);
	return data;
}

static void sizes_have_three_digits_at_least(void **state)
{
	(void)state;
	assert_string_equal(bytes(0), "0");
	assert_string_equal(bytes(1), "1 B");
	assert_string_equal(bytes(512), "512 B");
	assert_string_equal(bytes(1023), "1023 B");
	assert_string_equal(bytes(1024), "1.00 KiB");
	assert_string_equal(bytes(1536), "1.50 KiB");
	assert_string_equal(bytes(961 * MIB), "961 MiB");
	assert_string_equal(bytes(16 * GIB), "16.0 GiB");
	assert_string_equal(bytes(1013 * MIB), "1013 MiB");
	assert_string_equal(bytes(1024 * GIB), "1.00 TiB");
	assert_string_equal(bytes(1ULL << 60), "1.00 EiB");
	assert_string_equal(bytes(UINT64_MAX), "16.0 EiB");
}

static void rounding_never_shows_too_many_digits(void **state)
{
	(void)state;
	assert_string_equal(bytes(10 * MIB - 1), "10.0 MiB");
	assert_string_equal(bytes(100 * MIB - 1), "100 MiB");
	assert_string_equal(bytes(1024 * MIB - 1), "1.00 GiB");
	assert_string_equal(bytes(1024 * KIB - 1), "1.00 MiB");
	assert_string_equal(bytes(1023 * KIB + 511), "1023 KiB");
	assert_string_equal(bytes(1023 * KIB + 512), "1.00 MiB");
	assert_string_equal(bytes((1ULL << 60) - 1), "1.00 EiB");
}

static void counts_have_separators(void **state)
{
	(void)state;
	assert_string_equal(count(0), "0");
	assert_string_equal(count(999), "999");
	assert_string_equal(count(1000), "1,000");
	assert_string_equal(count(246016), "246,016");
	assert_string_equal(count(-1200), "-1,200");
	assert_string_equal(count(-100), "-100");
	assert_string_equal(count(1234567890), "1,234,567,890");
	assert_string_equal(count(INT64_MAX), "9,223,372,036,854,775,807");
	assert_string_equal(count(INT64_MIN), "-9,223,372,036,854,775,808");
}

static void durations_use_the_units_people_do(void **state)
{
	(void)state;
	assert_string_equal(duration(0), "0 s");
	assert_string_equal(duration(999), "999 ns");
	assert_string_equal(duration(1000), "1.00 \xc2\xb5s");
	assert_string_equal(duration(182000000), "182 ms");
	assert_string_equal(duration(8420000), "8.42 ms");
	assert_string_equal(duration(12400000), "12.4 ms");
	assert_string_equal(duration(S - 1), "999 ms");
	assert_string_equal(duration(4200 * 1000000ULL), "4.20 s");
	assert_string_equal(duration(60 * S - 1), "59.9 s");
	assert_string_equal(duration(60 * S), "1 min");
	assert_string_equal(duration(252 * S), "4 min 12 s");
	assert_string_equal(duration(12 * 60 * S + 59 * S), "12 min");
	assert_string_equal(duration(3 * 3600 * S + 5 * 60 * S), "3 h 5 min");
	assert_string_equal(duration(3 * 3600 * S), "3 h");
	assert_string_equal(duration(52 * 3600 * S), "2 d 4 h");
	assert_string_equal(duration(UINT64_MAX), "213503 d 23 h");
}

static void utc_times_have_nine_digits(void **state)
{
	(void)state;
	assert_string_equal(utc(0), "1970-01-01T00:00:00.000000000Z");
	assert_string_equal(utc(1767323045123456789), "2026-01-02T03:04:05.123456789Z");
	assert_string_equal(utc(-1), "1969-12-31T23:59:59.999999999Z");
	assert_string_equal(utc(-S), "1969-12-31T23:59:59.000000000Z");
	assert_string_equal(utc(951782400 * (int64_t)S), "2000-02-29T00:00:00.000000000Z");
	assert_string_equal(utc(4107542400 * (int64_t)S), "2100-03-01T00:00:00.000000000Z");
	assert_string_equal(utc(INT64_MAX), "2262-04-11T23:47:16.854775807Z");
	assert_string_equal(utc(INT64_MIN), "1677-09-21T00:12:43.145224192Z");
}

/* Own calendar arithmetic against the library's, one day apart, over four hundred years. */
static void utc_dates_are_those_of_the_c_library(void **state)
{
	(void)state;
	for (int64_t day = -73000; day < 73000; day++) {
		time_t when = day * 86400;
		char want[32];
		struct tm tm;

		assert_non_null(gmtime_r(&when, &tm));
		strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%S.000000000Z", &tm);
		assert_string_equal(utc(day * 86400 * (int64_t)S), want);
	}
}

static void local_times_follow_the_zone(void **state)
{
	(void)state;
	setenv("TZ", "XYZ-1:30", 1);
	tzset();
	buf_init(&out, data, sizeof(data));
	units_local_time(&out, 1767323045184999999);
	assert_string_equal(data, "04:34:05.184");
	buf_reset(&out);
	units_local_date(&out, 1767323045184999999);
	assert_string_equal(data, "2026-01-02 04:34:05 +0130");
	setenv("TZ", "XYZ+5", 1);
	tzset();
	buf_reset(&out);
	units_local_date(&out, 1767323045184999999);
	assert_string_equal(data, "2026-01-01 22:04:05 -0500");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_have_three_digits_at_least),
		cmocka_unit_test(rounding_never_shows_too_many_digits),
		cmocka_unit_test(counts_have_separators),
		cmocka_unit_test(durations_use_the_units_people_do),
		cmocka_unit_test(utc_times_have_nine_digits),
		cmocka_unit_test(utc_dates_are_those_of_the_c_library),
		cmocka_unit_test(local_times_follow_the_zone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
