// SPDX-License-Identifier: Apache-2.0
#include "source/klog_time.h"

#include <string.h>
#include <strings.h>

#define NS_PER_S 1000000000LL
#define S_PER_DAY 86400LL
#define MONTH_WORD 16
#define LEAP_YEAR 1972 /* stands for a year that is not told: it has a 29 February */

/* Abbreviated as `date +%b` does, without the full stop. */
static const char *const months[][12] = {
	{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"},
	{"janv", "févr", "mars", "avril", "mai", "juin", "juil", "août", "sept", "oct", "nov",
		"déc"},
	{"Jän", "Febr", "Mär", "Apr", "Mai", "Juni", "Juli", "Aug", "Sept", "Okt", "Nov", "Dez"},
	{"ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sept", "oct", "nov", "dic"},
	{"gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic"},
	{"jan", "fev", "mar", "abr", "mai", "jun", "jul", "ago", "set", "out", "nov", "dez"},
	{"jan", "feb", "mrt", "apr", "mei", "jun", "jul", "aug", "sep", "okt", "nov", "dec"},
	{"jan", "feb", "mars", "april", "maj", "juni", "juli", "aug", "sep", "okt", "nov", "des"},
	{"tammi", "helmi", "maalis", "huhti", "touko", "kesä", "heinä", "elo", "syys", "loka",
		"marras", "joulu"},
	{"sty", "lut", "mar", "kwi", "maj", "cze", "lip", "sie", "wrz", "paź", "lis", "gru"},
	{"led", "úno", "bře", "dub", "kvě", "čen", "čec", "srp", "zář", "říj", "lis", "pro"},
	{"янв", "фев", "мар", "апр", "мая", "июн", "июл", "авг", "сен", "окт", "ноя", "дек"},
	{"янв", "февр", "марта", "апр", "май", "июня", "июля", "авг", "сент", "окт", "нояб", "дек"},
	{"січ", "лют", "бер", "кві", "тра", "чер", "лип", "сер", "вер", "жов", "лис", "гру"},
	{"Oca", "Şub", "Mar", "Nis", "May", "Haz", "Tem", "Ağu", "Eyl", "Eki", "Kas", "Ara"},
	{"jan", "febr", "márc", "ápr", "máj", "jún", "júl", "aug", "szept", "okt", "nov", "dec"},
	{"ian", "feb", "mar", "apr", "mai", "iun", "iul", "aug", "sep", "oct", "nov", "dec"},
	{"gen", "febr", "març", "abr", "maig", "juny", "jul", "ag", "set", "oct", "nov", "des"},
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Exactly or at most so many digits. */
static bool digits(struct scan *scan, unsigned int least, unsigned int most, int64_t *ret)
{
	const char *at = scan->at;
	int64_t value = 0;

	while (at < scan->end && is_digit(*at) && at - scan->at < (ptrdiff_t)most)
		value = value * 10 + (*at++ - '0');
	if (at - scan->at < (ptrdiff_t)least)
		return false;
	scan->at = at;
	*ret = value;
	return true;
}

/* Digits after the point, as nanoseconds; what is beyond them is passed over. */
static int64_t fraction(struct scan *scan)
{
	int64_t unit = NS_PER_S / 10, ns = 0;

	while (scan->at < scan->end && is_digit(*scan->at)) {
		ns += (*scan->at++ - '0') * unit;
		unit /= 10;
	}
	return ns;
}

bool klog_time_of_day(struct scan *scan, int64_t *ret_ns)
{
	struct scan rest = *scan;
	int64_t hour, minute, second;

	if (!digits(&rest, 2, 2, &hour) || !scan_text(&rest, ":") ||
		!digits(&rest, 2, 2, &minute) || !scan_text(&rest, ":") ||
		!digits(&rest, 2, 2, &second) || hour > 23 || minute > 59 || second > 60)
		return false;
	*ret_ns = (hour * 3600 + minute * 60 + second) * NS_PER_S;
	if (scan_left(&rest) > 1 && (*rest.at == '.' || *rest.at == ',') && is_digit(rest.at[1])) {
		rest.at++;
		*ret_ns += fraction(&rest);
	}
	*scan = rest;
	return true;
}

/* Days since 1970-01-01, in years that begin in March. */
static int64_t day_of(int64_t year, int64_t month, int64_t day)
{
	int64_t era, year_of_era, day_of_year;

	year -= month <= 2;
	era = (year >= 0 ? year : year - 399) / 400;
	year_of_era = year - era * 400;
	day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
	       day_of_year - 719468;
}

static bool is_date(int64_t year, int64_t month, int64_t day)
{
	return year >= 1970 && year < 2200 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* "+0100", "+01:00", "-08", "Z", " UTC", " +0100" */
static void zone(struct scan *scan, struct klog_stamp *stamp)
{
	struct scan rest = *scan;
	int64_t hours, minutes = 0;
	bool west;

	if (scan_text(&rest, "Z") || scan_text(&rest, " UTC") || scan_text(&rest, " GMT")) {
		if (!scan_done(&rest) && *rest.at != ' ' && *rest.at != ']' && *rest.at != '|')
			return;
		stamp->has_zone = true;
		*scan = rest;
		return;
	}
	if (scan_left(&rest) > 2 && *rest.at == ' ' && is_digit(rest.at[2]))
		rest.at++;
	west = scan_text(&rest, "-");
	if ((!west && !scan_text(&rest, "+")) || !digits(&rest, 2, 2, &hours) || hours > 15)
		return;
	scan_text(&rest, ":");
	digits(&rest, 2, 2, &minutes);
	if (!scan_done(&rest) && *rest.at != ' ' && *rest.at != ']')
		return;
	stamp->wall_ns += (west ? 1 : -1) * (hours * 3600 + minutes * 60) * NS_PER_S;
	stamp->has_zone = true;
	*scan = rest;
}

bool klog_iso_stamp(struct scan *scan, struct klog_stamp *ret)
{
	struct scan rest = *scan;
	int64_t year, month, day, of_day;
	const char *separator;

	if (!digits(&rest, 4, 4, &year))
		return false;
	separator = scan_left(&rest) && *rest.at == '/' ? "/" : "-";
	if (!scan_text(&rest, separator) || !digits(&rest, 2, 2, &month) ||
		!scan_text(&rest, separator) || !digits(&rest, 2, 2, &day) ||
		(!scan_text(&rest, "T") && !scan_text(&rest, " ")) ||
		!klog_time_of_day(&rest, &of_day) || !is_date(year, month, day))
		return false;
	ret->wall_ns = day_of(year, month, day) * S_PER_DAY * NS_PER_S + of_day;
	ret->has_wall = ret->has_year = true;
	ret->has_zone = false;
	zone(&rest, ret);
	ret->text = (struct scan) {scan->at, rest.at};
	*scan = rest;
	return true;
}

/* A word up to a blank, without the full stop that some languages put there. */
static struct scan word(struct scan *scan)
{
	struct scan ret = {scan->at, scan->at};

	while (ret.end < scan->end && *ret.end != ' ')
		ret.end++;
	scan->at = ret.end;
	if (ret.end > ret.at && ret.end[-1] == '.')
		ret.end--;
	return ret;
}

/* 1…12 or 0. */
static int64_t month_of(struct scan text)
{
	char name[MONTH_WORD];
	int64_t number;

	/* "2月" and "2월" */
	if (scan_left(&text) && is_digit(*text.at)) {
		if (!digits(&text, 1, 2, &number) || number < 1 || number > 12)
			return 0;
		return scan_equals(&text, "月") || scan_equals(&text, "월") ? number : 0;
	}
	if (!scan_left(&text) || scan_copy(&text, name, sizeof(name)))
		return 0;
	for (size_t i = 0; i < sizeof(months) / sizeof(months[0]); i++)
		for (int month = 0; month < 12; month++)
			if (!strcasecmp(name, months[i][month]))
				return month + 1;
	return 0;
}

/* " 7 09:17:33" and what may follow: " 2025". */
static bool day_and_time(struct scan *scan, int64_t *ret_day, int64_t *ret_ns, int64_t *ret_year)
{
	struct scan rest = *scan, year;

	scan_blanks(&rest);
	if (!digits(&rest, 1, 2, ret_day))
		return false;
	scan_text(&rest, ".");
	/* "Feb 11 2024 03:10:41" */
	year = rest;
	*ret_year = 0;
	if (scan_text(&year, " ") && digits(&year, 4, 4, ret_year) && *ret_year >= 1970 &&
		scan_left(&year) && *year.at == ' ')
		rest = year;
	else
		*ret_year = 0;
	scan_blanks(&rest);
	if (!klog_time_of_day(&rest, ret_ns))
		return false;
	year = rest;
	if (!*ret_year && scan_text(&year, " ") && digits(&year, 4, 4, ret_year) &&
		*ret_year >= 1970 && *ret_year < 2200 &&
		(scan_done(&year) || *year.at == ' ' || *year.at == ':'))
		rest = year;
	else if (*ret_year >= 2200)
		*ret_year = 0;
	*scan = rest;
	return true;
}

static bool is_weekday(struct scan text)
{
	static const char *const days[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

	for (size_t i = 0; i < sizeof(days) / sizeof(days[0]); i++)
		if (scan_equals(&text, days[i]))
			return true;
	return false;
}

static void fill_wall(
	struct klog_stamp *ret, int64_t year, int64_t month, int64_t day, int64_t of_day)
{
	ret->has_wall = true;
	ret->has_year = year != 0;
	ret->has_zone = false;
	ret->wall_ns = day_of(year ? year : LEAP_YEAR, month, day) * S_PER_DAY * NS_PER_S + of_day;
}

bool klog_month_stamp(struct scan *scan, struct klog_stamp *ret)
{
	struct scan rest = *scan, name = word(&rest);
	int64_t month, day, of_day, year;

	if (is_weekday(name)) {
		scan_blanks(&rest);
		name = word(&rest);
	}
	/* Most lines of a log do not begin with a month: look at the digits behind it first. */
	if (!scan_left(&rest) || !day_and_time(&rest, &day, &of_day, &year))
		return false;
	month = month_of(name);
	if (!is_date(year ? year : LEAP_YEAR, month, day))
		return false;
	fill_wall(ret, year, month, day, of_day);
	ret->text = (struct scan) {scan->at, rest.at};
	*scan = rest;
	return true;
}

bool klog_year_stamp(struct scan *scan, struct klog_stamp *ret)
{
	struct scan rest = *scan, name;
	int64_t year, day, of_day, ignored;

	if (!digits(&rest, 4, 4, &year) || !scan_text(&rest, " "))
		return false;
	name = word(&rest);
	if (!day_and_time(&rest, &day, &of_day, &ignored) || !is_date(year, month_of(name), day))
		return false;
	fill_wall(ret, year, month_of(name), day, of_day);
	ret->text = (struct scan) {scan->at, rest.at};
	*scan = rest;
	return true;
}

/* Two digits, colon, two digits, colon. */
static const char *find_clock(struct scan text)
{
	for (const char *at = text.at; at + 8 <= text.end; at++)
		if (is_digit(at[0]) && is_digit(at[1]) && at[2] == ':' && is_digit(at[3]) &&
			is_digit(at[4]) && at[5] == ':')
			return at;
	return NULL;
}

bool klog_ctime_stamp(struct scan text, struct klog_stamp *ret)
{
	struct scan before = {text.at, find_clock(text)}, after, stamp = text;
	int64_t month = 0, day = 0, year = 0, of_day;

	if (!before.end)
		return false;
	after = (struct scan) {before.end, text.end};
	if (!klog_time_of_day(&after, &of_day))
		return false;
	scan_blanks(&after);
	if (!digits(&after, 4, 4, &year) || year < 1970 || year >= 2200)
		return false;
	stamp.end = after.at;
	/* "<    0.000023>" of dmesg -d may follow. */
	scan_blanks(&after);
	if (!scan_done(&after) && *after.at != '<')
		return false;
	/* The weekday comes before the month, and may be spelt like one: the last one counts. */
	while (!scan_done(&before)) {
		struct scan part;
		int64_t number;

		scan_blanks(&before);
		part = word(&before);
		number = month_of(part);
		if (number)
			month = number;
		else
			digits(&part, 1, 2, &day);
	}
	if (is_date(year, month, day)) {
		fill_wall(ret, year, month, day, of_day);
		ret->text = stamp;
	}
	return true;
}

bool klog_seconds(struct scan *scan, uint64_t *ret_ns)
{
	struct scan rest = *scan;
	uint64_t seconds;
	const char *point;

	if (!scan_u64(&rest, &seconds) || seconds > 1ULL << 33 || !scan_text(&rest, "."))
		return false;
	point = rest.at;
	*ret_ns = seconds * NS_PER_S + (uint64_t)fraction(&rest);
	if (rest.at - point < 3)
		return false;
	*scan = rest;
	return true;
}
