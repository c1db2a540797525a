// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/when.h"

#define S 1000000000LL
#define HOUR (3600 * S)
#define DAY (24 * HOUR)
#define NOV_30 1796000400LL /* 2026-11-30 01:00:00 UTC: midnight of neither zone below */

/* Central European time with the rules of today, and a zone without summer time. */
#define CENTRAL "CET-1CEST,M3.5.0,M10.5.0/3"
#define KOLKATA "IST-5:30"

static int64_t now_ns;

static void in_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

static int in_central(void **state)
{
	(void)state;
	in_zone(CENTRAL);
	now_ns = NOV_30 * S;
	return 0;
}

static int64_t parsed_to(const char *text, enum when_edge edge)
{
	int64_t ret = -1;

	if (when_parse(text, now_ns, edge, &ret))
		fail_msg("'%s' is not understood", text);
	return ret;
}

static int64_t parsed(const char *text)
{
	int64_t since = parsed_to(text, WHEN_BEGINNING);

	assert_int_equal(parsed_to(text, WHEN_END), since);
	return since;
}

/* What calendar and clock say of it in the zone of now. */
static void assert_local(int64_t when_ns, const char *want)
{
	time_t seconds = when_ns / S;
	char text[64];
	struct tm local;

	assert_non_null(localtime_r(&seconds, &local));
	strftime(text, sizeof(text), "%F %T %z", &local);
	assert_string_equal(text, want);
}

static void assert_refused(const char *text)
{
	int64_t ret = 42;

	if (when_parse(text, now_ns, WHEN_BEGINNING, &ret) != -EINVAL)
		fail_msg("'%s' is taken for %lld", text, (long long)ret);
	assert_int_equal(ret, 42);
}

static void rfc_3339(void **state)
{
	(void)state;
	assert_int_equal(parsed("1970-01-01T00:00:00Z"), 0);
	assert_int_equal(parsed("2023-11-14T22:13:20Z"), 1700000000 * S);
	assert_int_equal(parsed("2023-11-14t22:13:20z"), 1700000000 * S);
	assert_int_equal(parsed("2023-11-14T23:13:20+01:00"), 1700000000 * S);
	assert_int_equal(parsed("2023-11-14T16:43:20-05:30"), 1700000000 * S);
	assert_int_equal(parsed("2023-11-14T22:13:20.123456789Z"), 1700000000 * S + 123456789);
	assert_int_equal(parsed("2023-11-14T22:13:20.5Z"), 1700000000 * S + S / 2);
	assert_int_equal(parsed("2023-11-14T22:13:20.1234567894321Z"), 1700000000 * S + 123456789);
	assert_int_equal(parsed("2016-12-31T23:59:60Z"), 1483228800 * S); /* a leap second */
	assert_int_equal(parsed("2024-02-29T00:00:00Z"), 1709164800 * S);
}

static void as_reports_print_it(void **state)
{
	(void)state;
	assert_int_equal(parsed("2023-11-14 23:13:20 +0100"), 1700000000 * S);
	assert_int_equal(parsed("2023-11-14 22:13:20Z"), 1700000000 * S);
	assert_int_equal(parsed("  2023-11-14  23:13:20  +01 "), 1700000000 * S);
	assert_int_equal(parsed("2023-11-14 22:13Z"), 1700000000 * S - 20 * S);
}

static void local_dates(void **state)
{
	(void)state;
	assert_local(parsed("2026-11-30 03:14"), "2026-11-30 03:14:00 +0100");
	assert_local(parsed("2026-11-30 03:14:22"), "2026-11-30 03:14:22 +0100");
	assert_local(parsed("2026-11-30T3:14"), "2026-11-30 03:14:00 +0100");
	assert_local(parsed("2026-07-30 03:14:22"), "2026-07-30 03:14:22 +0200");
	assert_local(parsed("2026-07-30"), "2026-07-30 00:00:00 +0200");
	assert_local(parsed("2026-11-30"), "2026-11-30 00:00:00 +0100");
	assert_local(parsed("2026-07-30 23:59:60"), "2026-07-31 00:00:00 +0200");
	assert_int_equal(parsed("2026-07-30 03:14:22.25") % S, S / 4);
	in_zone(KOLKATA);
	assert_local(parsed("2026-07-30 03:14"), "2026-07-30 03:14:00 +0530");
}

static void a_time_alone_is_todays(void **state)
{
	(void)state;
	assert_local(parsed("03:14"), "2026-11-30 03:14:00 +0100");
	assert_local(parsed("3:14"), "2026-11-30 03:14:00 +0100");
	assert_local(parsed("00:00:01"), "2026-11-30 00:00:01 +0100");
	assert_local(parsed("23:59"), "2026-11-30 23:59:00 +0100"); /* it is to come */
	/* It is the thirtieth in India, too, but on the Pacific not yet. */
	in_zone("PST8PDT,M3.2.0,M11.1.0");
	assert_local(parsed("03:14"), "2026-11-29 03:14:00 -0800");
}

static void words(void **state)
{
	(void)state;
	assert_int_equal(parsed("now"), now_ns);
	assert_local(parsed("today"), "2026-11-30 00:00:00 +0100");
	assert_local(parsed("yesterday"), "2026-11-29 00:00:00 +0100");
	assert_local(parsed("Yesterday"), "2026-11-29 00:00:00 +0100");
	/* The first of a month, and of a year. */
	now_ns = 1767225600 * S; /* 2026-01-01 00:00:00 UTC */
	assert_local(parsed("yesterday"), "2025-12-31 00:00:00 +0100");
}

static void the_day_after_the_clocks_changed(void **state)
{
	(void)state;
	now_ns = 1774911600 * S; /* 2026-03-31 01:00:00 +0200 */
	assert_local(parsed("yesterday"), "2026-03-30 00:00:00 +0200");
	now_ns = 1774825200 * S; /* 2026-03-30 01:00:00 +0200 */
	assert_local(parsed("yesterday"), "2026-03-29 00:00:00 +0100");
	assert_local(parsed("today"), "2026-03-30 00:00:00 +0200");
	now_ns = 1774778400 * S; /* 2026-03-29 12:00:00 +0200: the day itself */
	assert_local(parsed("today"), "2026-03-29 00:00:00 +0100");
	assert_local(parsed("yesterday"), "2026-03-28 00:00:00 +0100");
	now_ns = 1792962000 * S; /* 2026-10-25 22:00:00 +0100 */
	assert_local(parsed("today"), "2026-10-25 00:00:00 +0200");
	assert_local(parsed("yesterday"), "2026-10-24 00:00:00 +0200");
}

static void a_local_time_that_comes_twice(void **state)
{
	(void)state;
	assert_local(parsed_to("2026-10-25 02:30", WHEN_BEGINNING), "2026-10-25 02:30:00 +0200");
	assert_int_equal(parsed_to("2026-10-25 02:30", WHEN_END),
		parsed_to("2026-10-25 02:30", WHEN_BEGINNING) + HOUR);
	assert_int_equal(
		parsed("2026-10-25 02:30 +0200"), parsed_to("2026-10-25 02:30", WHEN_BEGINNING));
	assert_local(parsed("2026-10-25 01:59:59"), "2026-10-25 01:59:59 +0200");
	assert_local(parsed("2026-10-25 03:00"), "2026-10-25 03:00:00 +0100");
}

static void a_local_time_that_never_comes(void **state)
{
	(void)state;
	assert_local(parsed("2026-03-29 02:30:05"), "2026-03-29 03:30:05 +0200");
	assert_local(parsed("2026-03-29 01:59"), "2026-03-29 01:59:00 +0100");
	assert_local(parsed("2026-03-29 03:00"), "2026-03-29 03:00:00 +0200");
}

static void before_now(void **state)
{
	(void)state;
	assert_int_equal(parsed("1 hour ago"), now_ns - HOUR);
	assert_int_equal(parsed("2h"), now_ns - 2 * HOUR);
	assert_int_equal(parsed("-2h"), now_ns - 2 * HOUR);
	assert_int_equal(parsed("90 min ago"), now_ns - 90 * 60 * S);
	assert_int_equal(parsed("90min"), now_ns - 90 * 60 * S);
	assert_int_equal(parsed("90 Minutes Ago"), now_ns - 90 * 60 * S);
	assert_int_equal(parsed("1h 30m"), now_ns - 90 * 60 * S);
	assert_int_equal(parsed("1h30m ago"), now_ns - 90 * 60 * S);
	assert_int_equal(parsed("1.5h"), now_ns - 90 * 60 * S);
	assert_int_equal(parsed("45 s ago"), now_ns - 45 * S);
	assert_int_equal(parsed("3 days"), now_ns - 3 * DAY);
	assert_int_equal(parsed("2 weeks ago"), now_ns - 14 * DAY);
	assert_int_equal(parsed("0s"), now_ns);
}

static void instants(void **state)
{
	(void)state;
	assert_int_equal(parsed("@1700000000"), 1700000000 * S);
	assert_int_equal(parsed("@0"), 0);
	assert_int_equal(parsed("@1700000000.25"), 1700000000 * S + S / 4);
	assert_true(parsed("@9214646399") > 0);
	assert_true(parsed("2261-12-31T23:59:59-23:59") > 0);
}

static void what_is_none_is_refused(void **state)
{
	static const char *const texts[] = {"", " ", "soon", "tomorrow", "2026", "2026-11",
		"26-11-30", "2026-13-01", "2026-00-01", "2026-02-29", "2026-11-31", "2026-11-00",
		"2026-11-30x", "2026-11-300", "2026-11-30T", "2026-11-30 3", "2026-11-30 03:1",
		"2026-11-30 24:00", "2026-11-30 03:60", "2026-11-30 03:14:61",
		"2026-11-30 03:14:", "2026-11-30 03:14:22.", "2026-11-30 03:14:22 +1",
		"2026-11-30 03:14:22 +24:00", "2026-11-30 03:14:22 CET", "2026-11-30T03:14:22ZZ",
		"03", "03:", "3:1", "003:14", "25:00", "03:14:22:01", "@", "@x", "@-1", "@1 2",
		"@1.", "@99999999999", "@99999999999999999999999", "1", "1 hour aga", "ago",
		"hour ago", "h", "-", "-h", "--2h", "2 fortnights", "2h ago ago", "2h30", "1..5h",
		"1.h", "0x10h", "1e3s", "infh", "nan s", "99999999999999999999 weeks", "1h -30m",
		"1969-12-31", "2262-01-01", "10000-01-01", "2026-11-30\n", "03:14\n",
		"1 s 1 s 1 s 1 s 1 s 1 s 1 s 1 s 1 s 1 s 1 s 1 s 1 s 1 s 1 s 1 s 1 s 1 s"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_refused(texts[i]);
}

/* Any bytes: the parser reads nothing beyond them, which the sanitizers see. */
static void odd_bytes(void **state)
{
	static const char *const whole[] = {
		"2026-11-30T03:14:22.5+01:00", "1h 30m ago", "@17.5", "03:14:22", "yesterday"};

	(void)state;
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		for (size_t len = 0; len <= strlen(whole[i]); len++) {
			for (int byte = 1; byte < 256; byte++) {
				char *text = malloc(len + 2);
				int64_t ret;

				assert_non_null(text);
				memcpy(text, whole[i], len);
				text[len] = (char)byte;
				text[len + 1] = '\0';
				when_parse(text, now_ns, WHEN_END, &ret);
				free(text);
			}
		}
	}
}

#define TEST(name) cmocka_unit_test_setup(name, in_central)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rfc_3339),
		TEST(as_reports_print_it),
		TEST(local_dates),
		TEST(a_time_alone_is_todays),
		TEST(words),
		TEST(the_day_after_the_clocks_changed),
		TEST(a_local_time_that_comes_twice),
		TEST(a_local_time_that_never_comes),
		TEST(before_now),
		TEST(instants),
		TEST(what_is_none_is_refused),
		TEST(odd_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
