// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "source/klog_prefix.h"

#define SECOND 1000000000LL

struct expected {
	const char *line;
	const char *body;
	enum klog_speaker speaker;
	const char *host;
	const char *caller;
	int64_t mono_us; /* -1: none */
	int64_t wall_s; /* of a stamp with a year; -1: none */
	int stamped;
};

static struct klog_prefix parse(const char *line)
{
	struct klog_prefix ret;

	klog_prefix_parse(line, strlen(line), &ret);
	return ret;
}

static void assert_text(const char *line, struct scan got, const char *want)
{
	if (!scan_equals(&got, want))
		fail_msg("%s: '%.*s' is not '%s'", line, (int)scan_left(&got), got.at, want);
}

static void check(const struct expected *expected)
{
	struct klog_prefix got = parse(expected->line);

	assert_text(expected->line, got.body, expected->body);
	assert_text(expected->line, got.host, expected->host ? expected->host : "");
	assert_text(expected->line, got.caller, expected->caller ? expected->caller : "");
	if (got.speaker != expected->speaker)
		fail_msg("%s: speaker %d", expected->line, got.speaker);
	if ((got.stamp.has_mono ? (int64_t)(got.stamp.mono_ns / 1000) : -1) != expected->mono_us)
		fail_msg("%s: seconds %lld", expected->line, (long long)got.stamp.mono_ns);
	if ((got.stamp.has_wall && got.stamp.has_year ? got.stamp.wall_ns / SECOND : -1) !=
		expected->wall_s)
		fail_msg("%s: time %lld", expected->line, (long long)got.stamp.wall_ns);
	assert_int_equal(got.stamped, expected->stamped);
}

/* What is a prefix, and where it ends. */
static void test_prefixes(void **state)
{
	static const struct expected table[] = {
		{"", "", KLOG_ANYBODY, NULL, NULL, -1, -1, 0},
		{"plain text", "plain text", KLOG_ANYBODY, NULL, NULL, -1, -1, 0},
		{"  keeps its blanks  ", "  keeps its blanks", KLOG_ANYBODY, NULL, NULL, -1, -1, 0},
		{"[    1.500000]  two", " two", KLOG_ANYBODY, NULL, NULL, 1500000, -1, 1},
		{"[12345.678901][T99] x", "x", KLOG_ANYBODY, NULL, "T99", 12345678901, -1, 1},
		{"[12345.678901][    C0] x", "x", KLOG_ANYBODY, NULL, "C0", 12345678901, -1, 1},
		{"<4>[ 1.000000] x", "x", KLOG_KERNEL, NULL, NULL, 1000000, -1, 1},
		{"<30>[ 1.000000] x", "x", KLOG_PROGRAM, NULL, NULL, 1000000, -1, 1},
		{"daemon:info  : [ 1.000000] x", "x", KLOG_PROGRAM, NULL, NULL, 1000000, -1, 1},
		{"12,1,5,-;x", "x", KLOG_PROGRAM, NULL, NULL, 5, -1, 1},
		{"4,1,5,-;[ 1.000000] its own", "[ 1.000000] its own", KLOG_KERNEL, NULL, NULL, 5,
			-1, 1},
		{"[1970-01-01T00:01:40.5Z]: x", "x", KLOG_ANYBODY, NULL, NULL, -1, 100, 1},
		{"[Thu Jan  1 00:01:40 1970] x", "x", KLOG_ANYBODY, NULL, NULL, -1, 100, 1},
		{"[mar. mars 10 00:00:00 2026] x", "x", KLOG_ANYBODY, NULL, NULL, -1, 1773100800,
			1},
		{"[Di Mär 10 00:00:00 2026] x", "x", KLOG_ANYBODY, NULL, NULL, -1, 1773100800, 1},
		{"[вт мар 10 00:00:00 2026] x", "x", KLOG_ANYBODY, NULL, NULL, -1, 1773100800, 1},
		{"[火  3月 10 00:00:00 2026] x", "x", KLOG_ANYBODY, NULL, NULL, -1, 1773100800, 1},
		{"[화  3월 10 00:00:00 2026] x", "x", KLOG_ANYBODY, NULL, NULL, -1, 1773100800, 1},
		{"[Oct 5 19:44] x", "x", KLOG_ANYBODY, NULL, NULL, -1, -1, 1},
		{"[  +0.000023] x", "x", KLOG_ANYBODY, NULL, NULL, -1, -1, 1},
		{"2026-03-10T01:00:00,000000+01:00 sort: x", "sort: x", KLOG_ANYBODY, NULL, NULL,
			-1, 1773100800, 1},
		{"2026-03-10 00:00:00 h kernel: x", "x", KLOG_KERNEL, "h", NULL, -1, 1773100800, 1},
		{"2026 Mar 10 00:00:00 h kernel: x", "x", KLOG_KERNEL, "h", NULL, -1, 1773100800,
			1},
		{"Feb 29 03:10:41 h kernel:x", "x", KLOG_KERNEL, "h", NULL, -1, -1, 1},
		{"Feb 11 03:10:41 h kernel[0]: x", "x", KLOG_KERNEL, "h", NULL, -1, -1, 1},
		{"Feb 11 03:10:41 h sshd[9]: kernel: x", "kernel: x", KLOG_PROGRAM, "h", NULL, -1,
			-1, 1},
		{"Feb 11 03:10:41 h rsyslogd-2177: x", "x", KLOG_PROGRAM, "h", NULL, -1, -1, 1},
		{"Feb 11 03:10:41 app[9]: x", "x", KLOG_PROGRAM, NULL, NULL, -1, -1, 1},
		{"Feb 11 03:10:41 memory: usage 1kB", "memory: usage 1kB", KLOG_ANYBODY, NULL, NULL,
			-1, -1, 1},
		{"1718622521.000001 h kernel: x", "x", KLOG_KERNEL, "h", NULL, -1, 1718622521, 1},
		{"03-12 08:11:02.113   411   411 I lowmemorykiller: x", "x", KLOG_PROGRAM, NULL,
			NULL, -1, -1, 1},
		{"2024-06-17T13:08:41Z stderr P Feb 11 03:10:41 h app[1]: x", "x", KLOG_PROGRAM,
			"h", NULL, -1, -1, 1},
		{"```", "", KLOG_ANYBODY, NULL, NULL, -1, -1, 0},
		{">> > text", "text", KLOG_ANYBODY, NULL, NULL, -1, -1, 0},
		/* rows, and names that look like a beginning */
		{"[  301]     0   301     3011 x", "[  301]     0   301     3011 x", KLOG_ANYBODY,
			NULL, NULL, -1, -1, 0},
		{"[ 1.000000] [  301]     0", "[  301]     0", KLOG_ANYBODY, NULL, NULL, 1000000,
			-1, 1},
		{"824002 total pagecache pages", "824002 total pagecache pages", KLOG_ANYBODY, NULL,
			NULL, -1, -1, 0},
		{"Node 0 DMA: 1*4kB", "Node 0 DMA: 1*4kB", KLOG_ANYBODY, NULL, NULL, -1, -1, 0},
		{"Feb 31 x", "Feb 31 x", KLOG_ANYBODY, NULL, NULL, -1, -1, 0},
		{"[12:34:56] x", "[12:34:56] x", KLOG_ANYBODY, NULL, NULL, -1, -1, 0},
		{"[", "[", KLOG_ANYBODY, NULL, NULL, -1, -1, 0},
		{"<", "<", KLOG_ANYBODY, NULL, NULL, -1, -1, 0},
		{"<4", "<4", KLOG_ANYBODY, NULL, NULL, -1, -1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		check(&table[i]);
}

static void test_time_zones(void **state)
{
	static const struct {
		const char *line;
		int has_zone;
		int64_t wall_s;
	} table[] = {
		{"2026-03-10T00:00:00Z h kernel: x", 1, 1773100800},
		{"2026-03-10T02:00:00+02:00 h kernel: x", 1, 1773100800},
		{"2026-03-10T02:00:00+0200 h kernel: x", 1, 1773100800},
		{"2026-03-09T18:30:00-05:30 h kernel: x", 1, 1773100800},
		{"2026-03-10T00:00:00 h kernel: x", 0, 1773100800},
		{"Tue 2026-03-10 00:00:00 UTC h kernel: x", 1, 1773100800},
		{"Tue 2026-03-10 00:00:00 CET h kernel: x", 0, 1773100800},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct klog_prefix got = parse(table[i].line);

		assert_true(got.stamp.has_wall && got.stamp.has_year);
		assert_int_equal(got.stamp.has_zone, table[i].has_zone);
		assert_int_equal(got.stamp.wall_ns, table[i].wall_s * SECOND);
		assert_text(table[i].line, got.body, "x");
	}
}

static void test_stamp_text_and_distance_without_year(void **state)
{
	struct klog_prefix first = parse("Feb 11 03:10:41 h kernel: x");
	struct klog_prefix second = parse("Feb 11 03:10:58.25 h kernel: x");

	(void)state;
	assert_true(first.stamp.has_wall);
	assert_false(first.stamp.has_year);
	assert_text("Feb", first.stamp.text, "Feb 11 03:10:41");
	assert_int_equal(second.stamp.wall_ns - first.stamp.wall_ns, 17250000000LL);
}

/* Any cut of a line, and any byte in it, is read without reading beyond. */
static void test_cut_anywhere(void **state)
{
	static const char *const lines[] = {
		"<6>1 2025-03-08T21:40:12.5Z pool-b-7 kernel - - [a@1 b=\"c]\\\"\"] \xef\xbb\xbf[ 1.000000][ T1] x",
		"> > /var/log/messages:Feb 11 2024 03:10:41 web11 kern.warn kernel: [ 8412345.1234][T1] x",
		"192.0.2.14: kern:    info: [2025-02-03T04:11:58.5Z]: x",
		"[lun. févr.  9 09:31:15 2026 <    0.000012>] x",
		"2024-01-22T17:03:12.604Z In(05) vcpu-2 - Guest: <6>[61204.123] x",
	};
	char copy[256];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		for (size_t len = 0; len <= strlen(lines[i]); len++) {
			struct klog_prefix got;
			char *end = copy + sizeof(copy) - len;

			memcpy(end, lines[i], len);
			klog_prefix_parse(end, len, &got);
			assert_true(got.body.at >= end && got.body.at <= got.body.end);
			assert_true(got.body.end <= copy + sizeof(copy));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_time_zones),
		cmocka_unit_test(test_stamp_text_and_distance_without_year),
		cmocka_unit_test(test_cut_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
