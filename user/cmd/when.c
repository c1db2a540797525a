// SPDX-License-Identifier: Apache-2.0
#include "cmd/when.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define NS_PER_S 1000000000LL
#define MINUTE_S 60LL
#define HOUR_S 3600LL
#define DAY_S 86400LL
#define YEAR_MIN 1970
#define YEAR_MAX 2261 /* int64_t nanoseconds reach a little further */
#define SPAN_MAX_S (300LL * 365 * DAY_S)
#define INSTANT_MAX_S 9214646400LL /* the end of YEAR_MAX */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *skip_blanks(const char *at)
{
	while (is_blank(*at))
		at++;
	return at;
}

/* Exactly so many digits; NULL: there are fewer. */
static const char *take_digits(const char *at, int digits, int *ret)
{
	*ret = 0;
	for (int i = 0; i < digits; i++, at++) {
		if (!is_digit(*at))
			return NULL;
		*ret = *ret * 10 + (*at - '0');
	}
	return at;
}

/* ".5" after seconds; digits beyond nanoseconds are cut. NULL: a point and nothing after it. */
static const char *take_fraction(const char *at, int64_t *ret_ns)
{
	int64_t unit = NS_PER_S / 10;

	*ret_ns = 0;
	if (*at != '.' && *at != ',')
		return at;
	at++;
	if (!is_digit(*at))
		return NULL;
	for (; is_digit(*at); at++, unit /= 10)
		*ret_ns += (*at - '0') * unit;
	return at;
}

static int days_of(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month == 2 && leap ? 29 : days[month - 1];
}

/* "2026-11-30"; NULL: it is no date. */
static const char *take_date(const char *at, struct tm *ret)
{
	int year, month, day;

	at = take_digits(at, 4, &year);
	at = at && *at == '-' ? take_digits(at + 1, 2, &month) : NULL;
	at = at && *at == '-' ? take_digits(at + 1, 2, &day) : NULL;
	if (!at || is_digit(*at) || year < YEAR_MIN || year > YEAR_MAX || month < 1 || month > 12 ||
		day < 1 || day > days_of(year, month))
		return NULL;
	ret->tm_year = year - 1900;
	ret->tm_mon = month - 1;
	ret->tm_mday = day;
	return at;
}

/* "03:14", "3:14", "03:14:22", "03:14:22.184"; NULL: it is no time of day. */
static const char *take_time(const char *at, struct tm *ret, int64_t *ret_ns)
{
	int hour, minute, second = 0;

	*ret_ns = 0;
	at = take_digits(at, is_digit(at[0]) && at[1] == ':' ? 1 : 2, &hour);
	at = at && *at == ':' ? take_digits(at + 1, 2, &minute) : NULL;
	if (at && *at == ':') {
		at = take_digits(at + 1, 2, &second);
		at = at ? take_fraction(at, ret_ns) : NULL;
	}
	/* 60: a leap second */
	if (!at || is_digit(*at) || hour > 23 || minute > 59 || second > 60)
		return NULL;
	ret->tm_hour = hour;
	ret->tm_min = minute;
	ret->tm_sec = second;
	return at;
}

/* "Z", "+01:00", "+0100", "+01"; NULL: it is none of these. */
static const char *take_offset(const char *at, int64_t *ret_s)
{
	int sign = *at == '-' ? -1 : 1, hours, minutes = 0;

	*ret_s = 0;
	if (*at == 'Z' || *at == 'z')
		return at + 1;
	if (*at != '+' && *at != '-')
		return NULL;
	at = take_digits(at + 1, 2, &hours);
	if (at && *at == ':')
		at = take_digits(at + 1, 2, &minutes);
	else if (at && is_digit(*at))
		at = take_digits(at, 2, &minutes);
	if (!at || hours > 23 || minutes > 59)
		return NULL;
	*ret_s = sign * (hours * HOUR_S + minutes * MINUTE_S);
	return at;
}

static bool same_local(time_t when, const struct tm *want)
{
	struct tm got;

	return localtime_r(&when, &got) && got.tm_year == want->tm_year &&
	       got.tm_mon == want->tm_mon && got.tm_mday == want->tm_mday &&
	       got.tm_hour == want->tm_hour && got.tm_min == want->tm_min;
}

/* Seconds since 1970 of a local time. Both of the two that it may be are asked for, with and
 * without daylight saving time; those that exist look the same when they are told back. */
static int64_t local_seconds(const struct tm *local, enum when_edge edge)
{
	struct tm winter = *local, summer;
	time_t as_winter, as_summer;
	bool is_winter, is_summer;

	winter.tm_sec = 0; /* a leap second would be the next minute */
	summer = winter;
	winter.tm_isdst = 0;
	summer.tm_isdst = 1;
	as_winter = mktime(&winter);
	as_summer = mktime(&summer);
	is_winter = same_local(as_winter, local);
	is_summer = same_local(as_summer, local);
	/* Neither: skipped when clocks are set ahead, so as if they had not been. */
	if (!is_summer)
		return as_winter + local->tm_sec;
	if (is_winter && (as_winter < as_summer) == (edge == WHEN_BEGINNING))
		return as_winter + local->tm_sec;
	return as_summer + local->tm_sec;
}

static struct tm local_day(int64_t now_ns)
{
	time_t now = (time_t)(now_ns / NS_PER_S);
	struct tm ret = {0};

	localtime_r(&now, &ret);
	ret.tm_hour = ret.tm_min = ret.tm_sec = 0;
	return ret;
}

/* --- the forms --- */

/* "now", "today", "yesterday" */
static int parse_word(const char *text, int64_t now_ns, enum when_edge edge, int64_t *ret_ns)
{
	struct tm day = local_day(now_ns);

	if (!strcasecmp(text, "now")) {
		*ret_ns = now_ns;
		return 0;
	}
	if (!strcasecmp(text, "yesterday")) {
		/* mktime() brings a day 0 into order, but same_local() is to see it in order. */
		struct tm noon = day;

		noon.tm_mday--;
		noon.tm_hour = 12;
		noon.tm_isdst = -1;
		mktime(&noon);
		day = noon;
		day.tm_hour = 0;
	} else if (strcasecmp(text, "today") != 0) {
		return -EINVAL;
	}
	*ret_ns = local_seconds(&day, edge) * NS_PER_S;
	return 0;
}

/* "@1700000000", "@1700000000.5" */
static int parse_instant(const char *text, int64_t *ret_ns)
{
	int64_t seconds = 0, ns;
	const char *at = text + 1;

	if (*text != '@' || !is_digit(*at))
		return -EINVAL;
	for (; is_digit(*at); at++) {
		seconds = seconds * 10 + (*at - '0');
		if (seconds >= INSTANT_MAX_S)
			return -EINVAL;
	}
	at = take_fraction(at, &ns);
	if (!at || *at)
		return -EINVAL;
	*ret_ns = seconds * NS_PER_S + ns;
	return 0;
}

/* A date, with a time or without, local or with its offset. */
static int parse_date(const char *text, enum when_edge edge, int64_t *ret_ns)
{
	struct tm when = {0};
	const char *at = take_date(text, &when);
	int64_t ns = 0, offset;

	if (!at)
		return -EINVAL;
	if (*at == 'T' || *at == 't' || (is_blank(*at) && is_digit(*skip_blanks(at))))
		at = take_time(skip_blanks(at + 1), &when, &ns);
	if (at && !*at) {
		*ret_ns = local_seconds(&when, edge) * NS_PER_S + ns;
		return 0;
	}
	at = at ? take_offset(skip_blanks(at), &offset) : NULL;
	if (!at || *at)
		return -EINVAL;
	*ret_ns = ((int64_t)timegm(&when) - offset) * NS_PER_S + ns;
	return 0;
}

static int parse_time(const char *text, int64_t now_ns, enum when_edge edge, int64_t *ret_ns)
{
	struct tm day = local_day(now_ns);
	int64_t ns;
	const char *at = take_time(text, &day, &ns);

	if (!at || *at)
		return -EINVAL;
	*ret_ns = local_seconds(&day, edge) * NS_PER_S + ns;
	return 0;
}

/* How many letters of a unit stand at `at`, and what it is worth; 0: none. */
static size_t take_unit(const char *at, int64_t *ret_s)
{
	static const struct {
		const char *name;
		int64_t seconds;
	} units[] = {
		{"s", 1},
		{"sec", 1},
		{"secs", 1},
		{"second", 1},
		{"seconds", 1},
		{"m", MINUTE_S},
		{"min", MINUTE_S},
		{"mins", MINUTE_S},
		{"minute", MINUTE_S},
		{"minutes", MINUTE_S},
		{"h", HOUR_S},
		{"hr", HOUR_S},
		{"hrs", HOUR_S},
		{"hour", HOUR_S},
		{"hours", HOUR_S},
		{"d", DAY_S},
		{"day", DAY_S},
		{"days", DAY_S},
		{"w", 7 * DAY_S},
		{"week", 7 * DAY_S},
		{"weeks", 7 * DAY_S},
	};
	size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].name) == len && !strncasecmp(at, units[i].name, len)) {
			*ret_s = units[i].seconds;
			return len;
		}
	}
	return 0;
}

/* "90 min" of a span; NULL: it is none. */
static const char *take_span(const char *at, double *ret_s)
{
	int64_t unit, ns;
	double count = 0;
	size_t len;

	if (!is_digit(*at))
		return NULL;
	for (; is_digit(*at); at++)
		count = count * 10 + (*at - '0');
	at = take_fraction(at, &ns);
	at = at ? skip_blanks(at) : "";
	len = take_unit(at, &unit);
	if (!len)
		return NULL;
	*ret_s = (count + (double)ns / (double)NS_PER_S) * (double)unit;
	return skip_blanks(at + len);
}

/* "2h", "1 hour ago", "1h 30m", "-2h" */
static int parse_ago(const char *text, int64_t now_ns, int64_t *ret_ns)
{
	const char *at = skip_blanks(*text == '-' ? text + 1 : text);
	double seconds = 0, part;

	do {
		at = take_span(at, &part);
		if (!at)
			return -EINVAL;
		seconds += part;
	} while (is_digit(*at));
	if (!strcasecmp(at, "ago"))
		at += strlen("ago");
	if (*at || !(seconds <= (double)SPAN_MAX_S))
		return -EINVAL;
	*ret_ns = now_ns - (int64_t)(seconds * (double)NS_PER_S);
	return 0;
}

int when_parse(const char *text, int64_t now_ns, enum when_edge edge, int64_t *ret_ns)
{
	size_t len;
	char trimmed[64];

	text = skip_blanks(text);
	len = strlen(text);
	while (len > 0 && is_blank(text[len - 1]))
		len--;
	if (len == 0 || len >= sizeof(trimmed))
		return -EINVAL;
	memcpy(trimmed, text, len);
	trimmed[len] = '\0';
	if (!parse_word(trimmed, now_ns, edge, ret_ns) || !parse_instant(trimmed, ret_ns) ||
		!parse_date(trimmed, edge, ret_ns) || !parse_time(trimmed, now_ns, edge, ret_ns))
		return 0;
	return parse_ago(trimmed, now_ns, ret_ns);
}
