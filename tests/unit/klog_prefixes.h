/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs put before the kernel's lines. In a pattern, '@' stands for the line, '#' for six
 * digits that count up.
 */
#ifndef OOMSNOOP_TESTS_KLOG_PREFIXES_H
#define OOMSNOOP_TESTS_KLOG_PREFIXES_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum body_form { BODY_PLAIN, BODY_KMSG, BODY_JSON, BODY_JSON_BYTES, BODY_EXPORT_BINARY };

struct log_prefix {
	const char *name;
	const char *pattern;
	enum body_form form;
	const char *host; /* NULL: not told */
	bool mono, wall, year, zone; /* what the stamp tells */
};

static const struct log_prefix log_prefixes[] = {
	{"bare", "@\n", BODY_PLAIN, NULL, false, false, false, false},
	{"bare, CRLF", "@\r\n", BODY_PLAIN, NULL, false, false, false, false},
	{"dmesg", "[  253.#] @\n", BODY_PLAIN, NULL, true, false, false, false},
	{"dmesg -r", "<6>[  253.#] @\n", BODY_PLAIN, NULL, true, false, false, false},
	{"dmesg -x", "kern  :warn  : [  253.#] @\n", BODY_PLAIN, NULL, true, false, false, false},
	{"dmesg -d", "[  253.# <    0.000012>] @\n", BODY_PLAIN, NULL, true, false, false, false},
	{"dmesg --reltime", "[  +0.#] @\n", BODY_PLAIN, NULL, false, false, false, false},
	{"dmesg -T", "[Thu Jun 13 23:02:07 2024] @\n", BODY_PLAIN, NULL, false, true, true, false},
	{"dmesg -T, French", "[lun. févr.  9 09:31:15 2026] @\n", BODY_PLAIN, NULL, false, true,
		true, false},
	{"dmesg -T, Japanese", "[木  6月 13 23:02:07 2024] @\n", BODY_PLAIN, NULL, false, true,
		true, false},
	{"dmesg -T, no language known", "[xyz Abcd 13 23:02:07 2024] @\n", BODY_PLAIN, NULL, false,
		false, false, false},
	{"dmesg iso", "2024-06-13T23:02:07,#+02:00 @\n", BODY_PLAIN, NULL, false, true, true, true},
	{"dmesg in colours", "\x1b[32m[  253.#] \x1b[0m\x1b[33m@\x1b[0m\n", BODY_PLAIN, NULL, true,
		false, false, false},
	{"printk caller", "[  253.#][ T1234] @\n", BODY_PLAIN, NULL, true, false, false, false},
	{"printk caller, no blank", "[  253.#] [T1234] @\n", BODY_PLAIN, NULL, true, false, false,
		false},
	{"boot console with CPU", "[  253.#@1] @\n", BODY_PLAIN, NULL, true, false, false, false},
	{"kmsg", "6,1#,253#,-;@\n", BODY_KMSG, NULL, true, false, false, false},
	{"kmsg with caller", "6,1#,253#,-,caller=T12;@\n", BODY_KMSG, NULL, true, false, false,
		false},
	{"syslog", "Feb 11 03:10:41 web11 kernel: @\n", BODY_PLAIN, "web11", false, true, false,
		false},
	{"syslog with seconds", "Feb 11 03:10:41 web11 kernel: [8412345.#] @\n", BODY_PLAIN,
		"web11", true, true, false, false},
	{"syslog, level in it", "Feb 11 03:10:41 web11 kern.warn kernel: [ 8412345.#] @\n",
		BODY_PLAIN, "web11", true, true, false, false},
	{"syslog without host", "Feb 11 03:10:41 kernel: @\n", BODY_PLAIN, NULL, false, true, false,
		false},
	{"syslog without tag", "Feb 11 03:10:41 web11 [8412345.#] @\n", BODY_PLAIN, "web11", true,
		true, false, false},
	{"syslog with level", "<4>Feb 11 03:10:41 web11 kernel: @\n", BODY_PLAIN, "web11", false,
		true, false, false},
	{"syslog with year", "Feb 11 2024 03:10:41 web11 kernel: @\n", BODY_PLAIN, "web11", false,
		true, true, false},
	{"syslog, ISO", "2025-03-08T21:40:12.#+00:00 pool-b-7 kernel: [66120.#] @\n", BODY_PLAIN,
		"pool-b-7", true, true, true, true},
	{"RFC 5424", "<6>1 2025-03-08T21:40:12.#Z pool-b-7 kernel - - - @\n", BODY_PLAIN,
		"pool-b-7", false, true, true, true},
	{"RFC 5424 with data",
		"<6>1 2025-03-08T21:40:12.#Z pool-b-7 kernel - - [a@1 b=\"c]\\\"\"] \xef\xbb\xbf@\n",
		BODY_PLAIN, "pool-b-7", false, true, true, true},
	{"logread", "Tue Jan  7 09:17:33 2025 kern.warn kernel: [ 5221.#] @\n", BODY_PLAIN, NULL,
		true, true, true, false},
	{"journalctl", "Jun 17 13:08:41 numa-2 kernel: @\n", BODY_PLAIN, "numa-2", false, true,
		false, false},
	{"journalctl, German", "Mär 17 13:08:41 numa-2 kernel: @\n", BODY_PLAIN, "numa-2", false,
		true, false, false},
	{"journalctl short-precise", "Jun 17 13:08:41.# numa-2 kernel: @\n", BODY_PLAIN, "numa-2",
		false, true, false, false},
	{"journalctl short-iso", "2024-06-17T13:08:41+0200 numa-2 kernel: @\n", BODY_PLAIN,
		"numa-2", false, true, true, true},
	{"journalctl short-full", "Mon 2024-06-17 13:08:41 CEST numa-2 kernel: @\n", BODY_PLAIN,
		"numa-2", false, true, true, false},
	{"journalctl short-full, UTC", "Mon 2024-06-17 13:08:41 UTC numa-2 kernel: @\n", BODY_PLAIN,
		"numa-2", false, true, true, true},
	{"journalctl short-unix", "1718622521.# numa-2 kernel: @\n", BODY_PLAIN, "numa-2", false,
		true, true, true},
	{"journalctl short-monotonic", "[  253.#] numa-2 kernel: @\n", BODY_PLAIN, "numa-2", true,
		false, false, false},
	{"journal JSON",
		"{\"__REALTIME_TIMESTAMP\":\"1768875069#\",\"_HOSTNAME\":\"gpu-3\",\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"@\",\"_SOURCE_MONOTONIC_TIMESTAMP\":\"253#\"}\n",
		BODY_JSON, "gpu-3", true, true, true, true},
	{"journal JSON, bytes",
		"{\"MESSAGE\":[@],\"_TRANSPORT\":\"kernel\",\"__REALTIME_TIMESTAMP\":\"1768875069#\",\"_HOSTNAME\":\"gpu-3\"}\n",
		BODY_JSON_BYTES, "gpu-3", false, true, true, true},
	{"journal JSON, pretty",
		"{\n\t\"_HOSTNAME\" : \"gpu-3\",\n\t\"MESSAGE\" : \"@\",\n\t\"_TRANSPORT\" : \"kernel\",\n\t\"__REALTIME_TIMESTAMP\" : \"1768875069#\"\n}\n",
		BODY_JSON, "gpu-3", false, true, true, true},
	{"journal JSON, events", "data: {\"MESSAGE\":\"@\",\"_TRANSPORT\":\"kernel\"}\n\n",
		BODY_JSON, NULL, false, false, false, false},
	{"journal export",
		"__CURSOR=s=1;i=#\n__REALTIME_TIMESTAMP=1768875069#\n_TRANSPORT=kernel\n_HOSTNAME=gpu-3\nMESSAGE=@\nPRIORITY=6\n\n",
		BODY_PLAIN, "gpu-3", false, true, true, true},
	{"journal export, binary",
		"__CURSOR=s=1;i=#\n__REALTIME_TIMESTAMP=1768875069#\nMESSAGE\n@\n_TRANSPORT=kernel\n\n",
		BODY_EXPORT_BINARY, NULL, false, true, true, true},
	{"journal verbose",
		"Mon 2024-06-17 13:08:41.# UTC [s=5f1d;i=4e00;b=b3c1;m=1;t=2;x=3]\n    _TRANSPORT=kernel\n    _HOSTNAME=gpu-3\n    MESSAGE=@\n",
		BODY_PLAIN, "gpu-3", false, true, true, true},
	{"docker JSON",
		"{\"log\":\"[  253.#] @\\n\",\"stream\":\"stdout\",\"time\":\"2024-06-17T13:08:41.#Z\"}\n",
		BODY_JSON, NULL, true, true, true, true},
	{"CRI", "2024-06-17T13:08:41.#Z stdout F [  253.#] @\n", BODY_PLAIN, NULL, true, true, true,
		true},
	{"Talos", "192.0.2.14: kern:    info: [2025-02-03T04:11:58.#Z]: @      \n", BODY_PLAIN,
		"192.0.2.14", false, true, true, true},
	{"hypervisor's log", "2024-01-22T17:03:12.604Z In(05) vcpu-2 - Guest: <6>[61204.#] @\n",
		BODY_PLAIN, NULL, true, true, true, true},
	{"mail", "> [  253.#] @\n", BODY_PLAIN, NULL, true, false, false, false},
	{"mail, quoted twice", "> > Jun 17 13:08:41 numa-2 kernel: @\n", BODY_PLAIN, "numa-2",
		false, true, false, false},
	{"indented", "    [  253.#] @\n", BODY_PLAIN, NULL, true, false, false, false},
	{"grep", "/var/log/messages-20240617:Jun 17 13:08:41 numa-2 kernel: @\n", BODY_PLAIN,
		"numa-2", false, true, false, false},
	{"grep -n", "kern.log:12#:[  253.#] @\n", BODY_PLAIN, NULL, true, false, false, false},
	{"indented", "    @\n", BODY_PLAIN, NULL, false, false, false, false},
	{"a collector's export", "13/Jun/2024 23:02:07.123 node7 kernel: [  253.#] @\n", BODY_PLAIN,
		NULL, true, false, false, false},
	{"fields with semicolons", "17;node7;kernel: @\n", BODY_PLAIN, NULL, false, false, false,
		false},
	{"zone and tag in brackets", "2024-06-13 23:02:07.123 UTC [kernel] @\n", BODY_PLAIN, NULL,
		false, true, true, true},
	{"JSON, wrapped by a shipper",
		"{\"log\":{\"file\":{\"path\":\"/var/log/kern.log\"},\"offset\":12},\"message\":\"@\","
		"\"@timestamp\":\"2024-06-13T23:02:07.1Z\"}\n",
		BODY_JSON, NULL, false, true, true, true},
	{"JSON, journal within an object",
		"{\"insertId\":\"a\",\"jsonPayload\":{\"_HOSTNAME\":\"node7\",\"MESSAGE\":\"@\"},"
		"\"timestamp\":\"2024-06-13T23:02:07.1Z\"}\n",
		BODY_JSON, "node7", false, true, true, true},
};

#define LOG_PREFIXES (sizeof(log_prefixes) / sizeof(log_prefixes[0]))

static inline size_t put_body(char *ret, const char *line, enum body_form form)
{
	size_t len = strlen(line), out = 0;

	if (form == BODY_EXPORT_BINARY) {
		for (int i = 0; i < 8; i++)
			ret[out++] = (char)(len >> (8 * i));
		memcpy(ret + out, line, len);
		return out + len;
	}
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i];

		if (form == BODY_KMSG && (c < ' ' || c >= 127 || c == '\\'))
			out += (size_t)sprintf(ret + out, "\\x%02x", c);
		else if (form == BODY_JSON && c < ' ')
			out += (size_t)sprintf(ret + out, "\\u%04x", c);
		else if (form == BODY_JSON && (c == '"' || c == '\\'))
			out += (size_t)sprintf(ret + out, "\\%c", c);
		else if (form == BODY_JSON_BYTES)
			out += (size_t)sprintf(ret + out, "%s%u", i ? "," : "", c);
		else
			ret[out++] = (char)c;
	}
	return out;
}

/* Returns the bytes written. */
static inline size_t put_log_line(
	char *ret, const struct log_prefix *prefix, const char *line, unsigned int number)
{
	size_t out = 0;
	bool body = false;

	for (const char *at = prefix->pattern; *at; at++) {
		if (*at == '#') {
			out += (size_t)sprintf(ret + out, "%06u", number);
		} else if (*at == '@' && !body && at[1] != '1') {
			out += put_body(ret + out, line, prefix->form);
			body = true;
		} else {
			ret[out++] = *at;
		}
	}
	return out;
}

#endif /* OOMSNOOP_TESTS_KLOG_PREFIXES_H */
