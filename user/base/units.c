// SPDX-License-Identifier: Apache-2.0
#include <stdbool.h>
#include <time.h>

#include "base/units.h"

#define NS_PER_S 1000000000LL
#define S_PER_DAY 86400LL

/* value / 2^shift with `decimals` digits after the point, rounded half up, as an integer. The
 * product does not fit 64 bits for exbibytes. */
static uint64_t scaled(uint64_t value, unsigned int shift, unsigned int times)
{
	unsigned __int128 product = (unsigned __int128)value * times;

	return (uint64_t)((product + ((unsigned __int128)1 << shift) / 2) >> shift);
}

/* Three significant digits of value / 2^shift; false: it rounds to 1024, the next unit's 1.00. */
static bool put_scaled(struct buf *buf, uint64_t value, unsigned int shift)
{
	uint64_t hundredths = scaled(value, shift, 100), tenths = scaled(value, shift, 10);
	uint64_t whole = scaled(value, shift, 1);

	if (hundredths < 1000)
		buf_printf(buf, "%u.%02u", (unsigned int)(hundredths / 100),
			(unsigned int)(hundredths % 100));
	else if (tenths < 1000)
		buf_printf(buf, "%u.%u", (unsigned int)(tenths / 10), (unsigned int)(tenths % 10));
	else if (whole < 1024)
		buf_u64(buf, whole);
	else
		return false;
	return true;
}

void units_bytes(struct buf *buf, uint64_t bytes)
{
	static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	const unsigned int count = sizeof(names) / sizeof(names[0]);

	if (bytes == 0) {
		buf_putc(buf, '0');
		return;
	}
	if (bytes < 1024) {
		buf_printf(buf, "%u B", (unsigned int)bytes);
		return;
	}
	for (unsigned int i = 0; i < count; i++) {
		unsigned int shift = 10 * (i + 1);

		if (i + 1 < count && bytes >> shift >= 1024)
			continue;
		if (put_scaled(buf, bytes, shift)) {
			buf_printf(buf, " %s", names[i]);
			return;
		}
	}
}

void units_count(struct buf *buf, int64_t count)
{
	uint64_t rest = count < 0 ? -(uint64_t)count : (uint64_t)count;
	char digits[32];
	size_t at = sizeof(digits), put = 0;

	do {
		if (put > 0 && put % 3 == 0)
			digits[--at] = ',';
		digits[--at] = (char)('0' + rest % 10);
		rest /= 10;
		put++;
	} while (rest > 0);
	if (count < 0)
		digits[--at] = '-';
	buf_put(buf, digits + at, sizeof(digits) - at);
}

/* Three significant digits of ns / unit, for ns < 1000 units. */
static void put_three_digits(struct buf *buf, uint64_t ns, uint64_t unit)
{
	unsigned int hundredths = (unsigned int)(ns / (unit / 100));

	if (hundredths < 1000)
		buf_printf(buf, "%u.%02u", hundredths / 100, hundredths % 100);
	else if (hundredths < 10000)
		buf_printf(buf, "%u.%u", hundredths / 100, hundredths / 10 % 10);
	else
		buf_printf(buf, "%u", hundredths / 100);
}

/* "3 h 5 min", "3 h": the second unit is left out when it is 0. */
static void put_two_units(
	struct buf *buf, uint64_t big, const char *big_name, uint64_t small, const char *small_name)
{
	buf_u64(buf, big);
	buf_printf(buf, " %s", big_name);
	if (small == 0)
		return;
	buf_putc(buf, ' ');
	buf_u64(buf, small);
	buf_printf(buf, " %s", small_name);
}

void units_duration_ns(struct buf *buf, uint64_t ns)
{
	uint64_t seconds = ns / NS_PER_S, minutes = seconds / 60;

	if (ns == 0) {
		buf_puts(buf, "0 s");
	} else if (ns < 1000) {
		buf_printf(buf, "%u ns", (unsigned int)ns);
	} else if (ns < 1000000) {
		put_three_digits(buf, ns, 1000);
		buf_puts(buf, " \xc2\xb5s");
	} else if (ns < NS_PER_S) {
		put_three_digits(buf, ns, 1000000);
		buf_puts(buf, " ms");
	} else if (seconds < 60) {
		put_three_digits(buf, ns, NS_PER_S);
		buf_puts(buf, " s");
	} else if (minutes < 10) {
		put_two_units(buf, minutes, "min", seconds % 60, "s");
	} else if (minutes < 60) {
		put_two_units(buf, minutes, "min", 0, "");
	} else if (minutes < 24 * 60) {
		put_two_units(buf, minutes / 60, "h", minutes % 60, "min");
	} else {
		put_two_units(buf, minutes / (24 * 60), "d", minutes / 60 % 24, "h");
	}
}

/* Seconds and the nanoseconds above them, for times before 1970 too. */
static int64_t split_seconds(int64_t realtime_ns, int64_t *ret_ns)
{
	int64_t seconds = realtime_ns / NS_PER_S, ns = realtime_ns % NS_PER_S;

	if (ns < 0) {
		ns += NS_PER_S;
		seconds--;
	}
	*ret_ns = ns;
	return seconds;
}

/*
 * The calendar date of a day since 1970-01-01, counted in years that begin in March, so that the
 * leap day is the last of its year. Own arithmetic, since gmtime_r() takes the time zone's lock and
 * may read its file: not while memory is out.
 */
static void put_date(struct buf *buf, int64_t day)
{
	int64_t shifted = day + 719468; /* days since 0000-03-01 */
	int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097; /* of 400 years */
	int64_t day_of_era = shifted - era * 146097;
	int64_t year =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64_t day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * day_of_year + 2) / 153; /* 0: March */
	int64_t day_of_month = day_of_year - (153 * month + 2) / 5 + 1;

	year += era * 400 + (month >= 10 ? 1 : 0);
	month += month < 10 ? 3 : -9;
	buf_printf(buf, "%04d-%02d-%02d", (int)year, (int)month, (int)day_of_month);
}

void units_rfc3339_utc(struct buf *buf, int64_t realtime_ns)
{
	int64_t ns, seconds = split_seconds(realtime_ns, &ns);
	int64_t day = seconds / S_PER_DAY, second = seconds % S_PER_DAY;

	if (second < 0) {
		second += S_PER_DAY;
		day--;
	}
	put_date(buf, day);
	buf_printf(buf, "T%02d:%02d:%02d.%09dZ", (int)(second / 3600), (int)(second / 60 % 60),
		(int)(second % 60), (int)ns);
}

void units_local_time(struct buf *buf, int64_t realtime_ns)
{
	int64_t ns, seconds = split_seconds(realtime_ns, &ns);
	time_t when = (time_t)seconds;
	struct tm local = {0};

	localtime_r(&when, &local);
	buf_printf(buf, "%02d:%02d:%02d.%03d", local.tm_hour, local.tm_min, local.tm_sec,
		(int)(ns / 1000000));
}

void units_local_date(struct buf *buf, int64_t realtime_ns)
{
	int64_t ns, seconds = split_seconds(realtime_ns, &ns);
	time_t when = (time_t)seconds;
	struct tm local = {0};
	long offset;

	localtime_r(&when, &local);
	offset = local.tm_gmtoff < 0 ? -local.tm_gmtoff : local.tm_gmtoff;
	buf_printf(buf, "%04d-%02d-%02d %02d:%02d:%02d %c%02d%02d", local.tm_year + 1900,
		local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
		local.tm_gmtoff < 0 ? '-' : '+', (int)(offset / 3600), (int)(offset / 60 % 60));
}
