// SPDX-License-Identifier: Apache-2.0
#include "source/klog_prefix.h"

#include <string.h>

#define LAYERS_MAX 10
#define BRACKET_MAX 80 /* the longest stamp that stands in brackets */
#define HOST_MAX 255
#define TAG_MAX 64
#define UNKNOWN_MAX 160
#define FACILITY_SHIFT 3

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool starts(const struct scan *scan, const char *text)
{
	struct scan rest = *scan;

	return scan_text(&rest, text);
}

static bool starts_with_digit(const struct scan *scan)
{
	return !scan_done(scan) && is_digit(*scan->at);
}

/* A word up to the next blank, and the blanks behind it. False: the text ends first. */
static bool take_word(struct scan *scan, struct scan *ret)
{
	const char *stop = memchr(scan->at, ' ', scan_left(scan));

	if (!stop || stop == scan->at)
		return false;
	*ret = (struct scan) {scan->at, stop};
	scan->at = stop;
	scan_blanks(scan);
	return true;
}

static void set_speaker(struct klog_prefix *prefix, enum klog_speaker speaker)
{
	if (prefix->speaker != KLOG_PROGRAM)
		prefix->speaker = speaker;
}

static void set_facility(struct klog_prefix *prefix, uint64_t priority)
{
	set_speaker(prefix, priority >> FACILITY_SHIFT ? KLOG_PROGRAM : KLOG_KERNEL);
}

/* --- /dev/kmsg: "4,2312,7201400006,-,caller=T12;text" --- */

static bool take_kmsg(struct scan *scan, struct klog_prefix *prefix)
{
	struct scan rest = *scan, flags;
	uint64_t priority, sequence, time_us;

	if (!starts_with_digit(&rest) || !scan_u64(&rest, &priority) || !scan_text(&rest, ",") ||
		!scan_u64(&rest, &sequence) || !scan_text(&rest, ",") ||
		!scan_u64(&rest, &time_us) || !scan_text(&rest, ",") || priority > 1023 ||
		time_us > UINT64_MAX / 1000 || !memchr(rest.at, ';', scan_left(&rest)) ||
		!scan_field(&rest, ';', &flags))
		return false;
	set_facility(prefix, priority);
	prefix->stamp.has_mono = true;
	prefix->stamp.mono_ns = time_us * 1000;
	prefix->escape = KLOG_ESCAPE_KMSG;
	prefix->continued = scan_left(&flags) && (*flags.at == 'c' || *flags.at == '+');
	if (scan_field(&flags, ',', &(struct scan) {0}) && scan_text(&flags, "caller="))
		prefix->caller = flags;
	prefix->stamped = true;
	*scan = rest;
	return true;
}

/* --- RFC 5424: "<6>1 2024-01-02T03:04:05Z host kernel - - - text" --- */

static bool pass_structured_data(struct scan *scan)
{
	bool quoted = false;

	if (scan_text(scan, "-"))
		return true;
	while (scan_text(scan, "[")) {
		for (; !scan_done(scan) && (quoted || *scan->at != ']'); scan->at++) {
			if (*scan->at == '\\' && scan_left(scan) > 1)
				scan->at++;
			else if (*scan->at == '"')
				quoted = !quoted;
		}
		if (!scan_text(scan, "]"))
			return false;
	}
	return true;
}

static bool take_rfc5424(struct scan *scan, struct klog_prefix *prefix)
{
	struct scan rest = *scan, host, program, word;
	struct klog_stamp stamp = {0};

	if (!scan_text(&rest, "1 ") || (!klog_iso_stamp(&rest, &stamp) && !scan_text(&rest, "-")) ||
		!scan_text(&rest, " ") || !take_word(&rest, &host) || !take_word(&rest, &program) ||
		!take_word(&rest, &word) || !take_word(&rest, &word) ||
		!pass_structured_data(&rest))
		return false;
	if (stamp.has_wall) {
		bool has_mono = prefix->stamp.has_mono;
		uint64_t mono_ns = prefix->stamp.mono_ns;

		prefix->stamp = stamp;
		prefix->stamp.has_mono = has_mono;
		prefix->stamp.mono_ns = mono_ns;
	}
	scan_text(&rest, " ");
	scan_text(&rest, "\xef\xbb\xbf");
	if (!scan_equals(&host, "-"))
		prefix->host = host;
	prefix->tagged = true;
	set_speaker(prefix, scan_equals(&program, "kernel") ? KLOG_KERNEL : KLOG_PROGRAM);
	prefix->escape = KLOG_ESCAPE_SYSLOG;
	prefix->stamped = true;
	*scan = rest;
	return true;
}

/* "<6>", alone or before RFC 5424 */
static bool take_level(struct scan *scan, struct klog_prefix *prefix)
{
	struct scan rest = *scan;
	uint64_t priority;

	if (!scan_text(&rest, "<") || !scan_u64(&rest, &priority) || priority > 1023 ||
		!scan_text(&rest, ">"))
		return false;
	set_facility(prefix, priority);
	prefix->stamped = true;
	take_rfc5424(&rest, prefix);
	*scan = rest;
	return true;
}

/* --- dmesg -x: "kern  :warn  : text" --- */

static bool take_facility_name(struct scan *scan, struct klog_prefix *prefix)
{
	static const char *const facilities[] = {"kern", "user", "mail", "daemon", "auth", "syslog",
		"lpr", "news", "uucp", "cron", "authpriv", "ftp"};
	static const char *const levels[] = {
		"emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"};

	for (size_t i = 0; i < sizeof(facilities) / sizeof(facilities[0]); i++) {
		struct scan rest = *scan;

		if (!scan_text(&rest, facilities[i]))
			continue;
		scan_blanks(&rest);
		if (!scan_text(&rest, ":"))
			continue;
		scan_blanks(&rest);
		for (size_t j = 0; j < sizeof(levels) / sizeof(levels[0]); j++) {
			struct scan level = rest;

			if (!scan_text(&level, levels[j]))
				continue;
			scan_blanks(&level);
			if (!scan_text(&level, ":"))
				continue;
			scan_text(&level, " ");
			set_speaker(prefix, i ? KLOG_PROGRAM : KLOG_KERNEL);
			prefix->stamped = true;
			*scan = level;
			return true;
		}
	}
	return false;
}

/* --- brackets --- */

/* "[T123]", "[ T123]", "[C0]": printk's caller, behind its stamp. */
static void take_caller(struct scan *scan, struct klog_prefix *prefix)
{
	struct scan rest = *scan, name;
	uint64_t number;

	scan_text(&rest, " ");
	if (!scan_text(&rest, "["))
		return;
	scan_blanks(&rest);
	name.at = rest.at;
	if ((!scan_text(&rest, "T") && !scan_text(&rest, "C")) || !scan_u64(&rest, &number))
		return;
	name.end = rest.at;
	if (!scan_text(&rest, "]"))
		return;
	prefix->caller = name;
	*scan = rest;
}

/* "[ 12345.678901]", "[12345.678901 <    0.000023>]", "[12345.678901@0]" */
static bool is_mono(struct scan text, uint64_t *ret_ns)
{
	uint64_t cpu;

	scan_blanks(&text);
	if (!klog_seconds(&text, ret_ns))
		return false;
	if (scan_text(&text, "@"))
		scan_u64(&text, &cpu);
	scan_blanks(&text);
	return scan_done(&text) || *text.at == '<';
}

/* "[  +0.000023]", "[<    0.000023>]": distances; "[Oct 5 19:44]": no second. None is a time. */
static bool is_relative(struct scan text)
{
	struct scan word;
	uint64_t ns, number;

	scan_text(&text, "<");
	scan_blanks(&text);
	scan_text(&text, "+");
	if (klog_seconds(&text, &ns)) {
		scan_text(&text, ">");
		return scan_done(&text);
	}
	if (!take_word(&text, &word) || starts_with_digit(&word) || !scan_u64(&text, &number) ||
		number > 31 || !scan_text(&text, " ") || !scan_u64(&text, &number) || number > 23 ||
		!scan_text(&text, ":") || !scan_u64(&text, &number) || number > 59)
		return false;
	return scan_done(&text);
}

static bool is_wall(struct scan text, struct klog_stamp *ret)
{
	struct klog_stamp stamp = {.has_mono = ret->has_mono, .mono_ns = ret->mono_ns};

	if (!klog_iso_stamp(&text, &stamp) && !klog_ctime_stamp(text, &stamp))
		return false;
	*ret = stamp;
	return true;
}

static bool take_bracket(struct scan *scan, struct klog_prefix *prefix)
{
	struct scan rest = *scan, inside;
	size_t room = scan_left(scan) < BRACKET_MAX ? scan_left(scan) : BRACKET_MAX;
	const char *end;
	uint64_t mono_ns;

	if (!scan_text(&rest, "["))
		return false;
	end = memchr(scan->at, ']', room);
	if (!end)
		return false;
	inside = (struct scan) {rest.at, end};
	rest.at = end + 1;
	if (is_mono(inside, &mono_ns)) {
		prefix->stamp.has_mono = true;
		prefix->stamp.mono_ns = mono_ns;
		take_caller(&rest, prefix);
	} else if (!is_wall(inside, &prefix->stamp) && !is_relative(inside)) {
		return false;
	}
	prefix->stamped = true;
	scan_text(&rest, ":");
	scan_text(&rest, " ");
	*scan = rest;
	return true;
}

/* --- host and program --- */

static bool is_kernel_tag(struct scan tag)
{
	struct scan rest = tag;
	uint64_t pid;

	if (!scan_text(&rest, "kernel"))
		return false;
	if (scan_text(&rest, "["))
		return scan_u64(&rest, &pid) && scan_text(&rest, "]:") && scan_done(&rest);
	return scan_equals(&rest, ":");
}

/* "kern.warn", "daemon.info": facility and level, as busybox's syslogd writes them. */
static bool take_selector(struct scan *scan, struct klog_prefix *prefix)
{
	static const char *const levels[] = {
		"emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"};
	struct scan rest = *scan, word, facility;

	if (!take_word(&rest, &word) || !scan_field(&word, '.', &facility) ||
		scan_left(&facility) > 8)
		return false;
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		if (!starts(&word, levels[i]))
			continue;
		set_speaker(prefix, scan_equals(&facility, "kern") ? KLOG_KERNEL : KLOG_PROGRAM);
		*scan = rest;
		return true;
	}
	return false;
}

/* "std… F " and "std… P ": a container runtime's line, with a line of its own in it. */
static bool take_stream(struct scan *scan)
{
	struct scan rest = *scan;

	if (!scan_text(&rest, "std") || (!scan_text(&rest, "out ") && !scan_text(&rest, "err ")) ||
		(!scan_text(&rest, "F ") && !scan_text(&rest, "P ")))
		return false;
	*scan = rest;
	return true;
}

/* "In(05) vcpu-2 - Guest: ", "| vcpu-0| I125: Guest: ": what a guest's console said. */
static bool take_guest(struct scan *scan)
{
	static const char mark[] = " Guest: <";
	const char *found = memmem(scan->at, scan_left(scan), mark, sizeof(mark) - 1);

	if (!found || found - scan->at > TAG_MAX)
		return false;
	scan->at = found + sizeof(mark) - 2;
	return true;
}

/* "  411   411 I lowmemorykiller: ": Android. */
static bool take_logcat(struct scan *scan, struct klog_prefix *prefix)
{
	struct scan rest = *scan, tag;
	uint64_t number;

	scan_blanks(&rest);
	if (!scan_u64(&rest, &number) || !starts(&rest, " "))
		return false;
	scan_blanks(&rest);
	if (!scan_u64(&rest, &number) || !scan_text(&rest, " ") || scan_left(&rest) < 3 ||
		!memchr("VDIWEFS", *rest.at, 7) || rest.at[1] != ' ')
		return false;
	rest.at += 2;
	if (!memchr(rest.at, ':', scan_left(&rest)) || !scan_field(&rest, ':', &tag))
		return false;
	set_speaker(prefix, starts(&tag, "kernel") ? KLOG_KERNEL : KLOG_PROGRAM);
	scan_text(&rest, " ");
	*scan = rest;
	return true;
}

/* "[kernel] " */
static bool take_bracketed_tag(struct scan *scan, struct klog_prefix *prefix)
{
	if (!scan_text(scan, "[kernel] "))
		return false;
	prefix->tagged = true;
	set_speaker(prefix, KLOG_KERNEL);
	return true;
}

/* A word that ends with a colon, and a blank or the end behind it: who wrote the line. */
static bool take_tag(struct scan *scan, struct klog_prefix *prefix)
{
	struct scan rest = *scan, tag = {scan->at, scan->at};

	while (tag.end < scan->end && *tag.end != ' ')
		tag.end++;
	/* Some leave out the blank. */
	if (starts(scan, "kernel:"))
		tag.end = scan->at + strlen("kernel:");
	rest.at = tag.end;
	if (tag.end == tag.at || tag.end[-1] != ':' || scan_left(&tag) > TAG_MAX)
		return false;
	scan_text(&rest, " ");
	prefix->tagged = true;
	set_speaker(prefix, is_kernel_tag(tag) ? KLOG_KERNEL : KLOG_PROGRAM);
	*scan = rest;
	return true;
}

/* Behind a syslog stamp: "host kernel: ", "host sshd[933]: ", "kernel: ", "kern.warn kernel: ",
 * "host [12.345] ". What looks otherwise is left as it is. */
static void take_origin(struct scan *scan, struct klog_prefix *prefix)
{
	struct scan rest = *scan, host, word, after;

	if (take_stream(scan)) {
		prefix->speaker = KLOG_ANYBODY;
		return;
	}
	if (take_guest(scan)) {
		set_speaker(prefix, KLOG_KERNEL);
		return;
	}
	prefix->escape = KLOG_ESCAPE_SYSLOG;
	if (take_bracketed_tag(scan, prefix))
		return;
	if (take_selector(&rest, prefix)) {
		take_tag(&rest, prefix);
		*scan = rest;
		return;
	}
	if (!take_word(&rest, &host) || scan_left(&host) > HOST_MAX)
		return;
	if (host.end[-1] == ':') {
		/* No host. A program has a pid, or it is a line of the kernel's own. */
		if (is_kernel_tag(host) || (scan_left(&host) > 3 && host.end[-2] == ']'))
			take_tag(scan, prefix);
		return;
	}
	after = rest;
	if (take_selector(&after, prefix))
		rest = after;
	word = rest;
	if (take_tag(&rest, prefix)) {
		prefix->host = host;
		*scan = rest;
	} else if (starts(&word, "[") && take_bracket(&word, prefix)) {
		prefix->host = host;
		*scan = word;
	}
}

/* --- stamps that stand by themselves --- */

/* "Mon 2024-01-01 00:00:00.123456 CET host kernel: " of journalctl's full formats */
static bool take_full(struct scan *scan, struct klog_prefix *prefix)
{
	struct scan rest = *scan, weekday, zone;
	struct klog_stamp stamp = {0};

	if (starts_with_digit(&rest) || !take_word(&rest, &weekday) || scan_left(&weekday) > 8 ||
		!starts_with_digit(&rest) || !klog_iso_stamp(&rest, &stamp))
		return false;
	if (!stamp.has_zone) {
		scan_text(&rest, " ");
		if (!take_word(&rest, &zone))
			return false;
	} else {
		scan_text(&rest, " ");
	}
	prefix->stamp = stamp;
	prefix->stamped = true;
	take_origin(&rest, prefix);
	*scan = rest;
	return true;
}

/* "1704067200.123456 host kernel: " */
static bool take_unix(struct scan *scan, struct klog_prefix *prefix)
{
	struct scan rest = *scan;
	uint64_t ns;

	if (!starts_with_digit(&rest) || !klog_seconds(&rest, &ns) || ns < 100000000000000000ULL ||
		ns > INT64_MAX || !scan_text(&rest, " "))
		return false;
	prefix->stamp.has_wall = prefix->stamp.has_year = prefix->stamp.has_zone = true;
	prefix->stamp.wall_ns = (int64_t)ns;
	prefix->stamp.text = (struct scan) {scan->at, rest.at - 1};
	prefix->stamped = true;
	take_origin(&rest, prefix);
	*scan = rest;
	return true;
}

/* "03-12 08:11:02.113": Android; the year is not told. */
static bool take_android(struct scan *scan, struct klog_prefix *prefix)
{
	struct scan rest = *scan;
	uint64_t month, day;
	int64_t ns;

	if (!starts_with_digit(&rest) || !scan_u64(&rest, &month) || month > 12 ||
		!scan_text(&rest, "-") || !scan_u64(&rest, &day) || day > 31 ||
		!scan_text(&rest, " ") || !klog_time_of_day(&rest, &ns) ||
		!take_logcat(&rest, prefix))
		return false;
	prefix->stamped = true;
	*scan = rest;
	return true;
}

static bool take_date(struct scan *scan, struct klog_prefix *prefix)
{
	struct scan rest = *scan;
	struct klog_stamp stamp = prefix->stamp;
	bool iso = klog_iso_stamp(&rest, &stamp);

	if (!iso && !klog_month_stamp(&rest, &stamp) && !klog_year_stamp(&rest, &stamp))
		return false;
	prefix->stamp = stamp;
	prefix->stamped = true;
	/* dmesg's iso format has no host behind it. */
	if (iso && memchr(stamp.text.at, ',', scan_left(&stamp.text))) {
		scan_text(&rest, " ");
	} else {
		scan_text(&rest, ":");
		scan_blanks(&rest);
		if (!stamp.has_zone && (scan_text(&rest, "UTC ") || scan_text(&rest, "GMT ")))
			prefix->stamp.has_zone = true;
		take_origin(&rest, prefix);
	}
	*scan = rest;
	return true;
}

/* "192.0.2.14: kern:     err: [2025-02-03T04:11:58.41Z]: ": Talos */
static bool take_talos(struct scan *scan, struct klog_prefix *prefix)
{
	struct scan rest = *scan, host;

	if (!take_word(&rest, &host) || host.end[-1] != ':' || !starts(&rest, "kern:") ||
		!take_facility_name(&rest, prefix))
		return false;
	scan_blanks(&rest);
	if (!take_bracket(&rest, prefix))
		return false;
	host.end--;
	prefix->host = host;
	*scan = rest;
	return true;
}

/* "host kernel: " without a stamp before it, as behind that of journalctl's short-monotonic */
static bool take_bare_tag(struct scan *scan, struct klog_prefix *prefix)
{
	struct scan rest = *scan, host = {0}, tag;

	if (!starts(&rest, "kernel:") && !starts(&rest, "kernel[")) {
		if (!take_word(&rest, &host) || scan_left(&host) > HOST_MAX || host.end[-1] == ':')
			return false;
	}
	tag = (struct scan) {rest.at, memchr(rest.at, ' ', scan_left(&rest))};
	if (!tag.end)
		tag.end = rest.end;
	if (!is_kernel_tag(tag))
		return false;
	if (host.at)
		prefix->host = host;
	take_tag(&rest, prefix);
	prefix->stamped = true;
	*scan = rest;
	return true;
}

/*
 * "Oct 12, 2024 @ 04:05:06.123 host kernel: ", "4711;host;kernel: ": exports of what collectors
 * show, in as many forms as there are. Nothing is known of them but that the kernel's name comes
 * first, before any other program's.
 */
static bool take_unknown(struct scan *scan, struct klog_prefix *prefix)
{
	static const char mark[] = "kernel: ";
	size_t room = scan_left(scan) < UNKNOWN_MAX ? scan_left(scan) : UNKNOWN_MAX;
	const char *found = memmem(scan->at, room, mark, sizeof(mark) - 1);

	if (!found || found == scan->at || !memchr(" ,;|\t\"", found[-1], 6) ||
		memmem(scan->at, (size_t)(found - scan->at), ": ", 2))
		return false;
	scan->at = found;
	prefix->stamped = true;
	return take_tag(scan, prefix);
}

/* What no layer of its own may be: between stamps there is nothing else. */
static bool take_layer(struct scan *scan, struct klog_prefix *prefix)
{
	/* /dev/kmsg has the kernel's words as they are. */
	if (scan_done(scan) || prefix->escape == KLOG_ESCAPE_KMSG)
		return false;
	switch (*scan->at) {
	case '[':
		return take_bracket(scan, prefix);
	case '<':
		return take_level(scan, prefix);
	default:
		break;
	}
	/* Behind the writer's name only brackets and levels may still come. */
	if (prefix->tagged)
		return false;
	if (starts_with_digit(scan))
		return take_kmsg(scan, prefix) || take_date(scan, prefix) ||
		       take_unix(scan, prefix) || take_android(scan, prefix) ||
		       take_talos(scan, prefix) ||
		       (!prefix->stamped && take_rfc5424(scan, prefix)) ||
		       take_bare_tag(scan, prefix);
	return take_date(scan, prefix) || take_full(scan, prefix) ||
	       take_facility_name(scan, prefix) || take_talos(scan, prefix) ||
	       take_bare_tag(scan, prefix);
}

/* "/var/log/messages-20240101:", "syslog:12:": grep was here. Only before a stamp. */
static bool take_file_name(struct scan *scan, struct klog_prefix *prefix)
{
	struct scan rest = *scan, name;
	uint64_t line;

	if (!memchr(rest.at, ':', scan_left(&rest)) || !scan_field(&rest, ':', &name) ||
		!scan_left(&name) || memchr(name.at, ' ', scan_left(&name)))
		return false;
	if (scan_u64(&rest, &line) && !scan_text(&rest, ":") && !scan_text(&rest, "-"))
		rest.at = name.end + 1;
	if (!take_layer(&rest, prefix) || !prefix->stamped)
		return false;
	*scan = rest;
	return true;
}

/* --- around it all --- */

static void trim_end(struct scan *scan, size_t *ret_trimmed)
{
	const char *end = scan->end;

	while (scan->end > scan->at && (scan->end[-1] == ' ' || scan->end[-1] == '\t' ||
					       scan->end[-1] == '\r' || scan->end[-1] == '\0'))
		scan->end--;
	*ret_trimmed = (size_t)(end - scan->end);
}

/* Indentation and "> > ". */
static void take_quotes(struct scan *scan, struct klog_prefix *prefix)
{
	for (;;) {
		struct scan rest = *scan;

		scan_blanks(&rest);
		if (!scan_text(&rest, ">"))
			return;
		prefix->quoted++;
		scan_text(&rest, " ");
		*scan = rest;
	}
}

void klog_prefix_parse(const char *line, size_t len, struct klog_prefix *ret)
{
	struct scan scan = scan_of(line, len), rest;

	memset(ret, 0, sizeof(*ret));
	while (!scan_done(&scan) && *scan.at == '\0')
		scan.at++;
	scan_text(&scan, "\xef\xbb\xbf");
	take_quotes(&scan, ret);
	trim_end(&scan, &ret->trimmed);
	/* Blanks belong to what follows, unless a stamp does. */
	rest = scan;
	scan_blanks(&rest);
	if (starts(&rest, "```"))
		rest.at = scan.at = scan.end;
	for (int i = 0; i < LAYERS_MAX && take_layer(&rest, ret); i++)
		scan = rest;
	if (!ret->stamped && !scan_done(&rest) && take_file_name(&rest, ret)) {
		for (int i = 0; i < LAYERS_MAX && take_layer(&rest, ret); i++)
			;
		scan = rest;
	}
	if (!ret->stamped && !ret->tagged && take_unknown(&rest, ret)) {
		while (!scan_done(&rest) && *rest.at == '[' && take_bracket(&rest, ret))
			;
		scan = rest;
	}
	ret->body = scan;
}
