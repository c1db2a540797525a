// SPDX-License-Identifier: Apache-2.0
#include "source/klog_entry.h"

#include <string.h>

#define NAME_MAX_LEN 64
#define DEPTH_MAX 32
#define OBJECTS_MAX 4 /* objects within objects that are looked into */

void klog_entry_begin(struct klog_entry *entry)
{
	memset(entry, 0, offsetof(struct klog_entry, text));
}

/* --- fields --- */

static void set_text(struct klog_entry *entry, struct scan value)
{
	entry->len = scan_left(&value) < KLOG_TEXT_MAX ? scan_left(&value) : KLOG_TEXT_MAX;
	memcpy(entry->text, value.at, entry->len);
	entry->has_text = true;
}

static void set_speaker(struct klog_entry *entry, bool kernel)
{
	entry->speaker = kernel ? KLOG_KERNEL : KLOG_PROGRAM;
}

static void set_boot_id(struct klog_entry *entry, struct scan value)
{
	static const unsigned int dashes[] = {8, 12, 16, 20, 32};
	unsigned int next = 0;
	size_t len = 0;

	if (scan_left(&value) != 32)
		return;
	for (unsigned int i = 0; i < 32; i++) {
		if (i == dashes[next]) {
			entry->boot_id[len++] = '-';
			next++;
		}
		entry->boot_id[len++] = value.at[i];
	}
	entry->boot_id[len] = '\0';
}

static void set_realtime_us(struct klog_entry *entry, struct scan value)
{
	uint64_t us;

	if (!scan_u64(&value, &us) || us > INT64_MAX / 1000)
		return;
	entry->stamp.has_wall = entry->stamp.has_year = entry->stamp.has_zone = true;
	entry->stamp.wall_ns = (int64_t)us * 1000;
}

static void set_mono_us(struct klog_entry *entry, struct scan value)
{
	uint64_t us;

	if (!scan_u64(&value, &us) || us > UINT64_MAX / 1000)
		return;
	entry->stamp.has_mono = true;
	entry->stamp.mono_ns = us * 1000;
}

static void set_iso(struct klog_entry *entry, struct scan value)
{
	struct klog_stamp stamp = {0};

	if (!entry->stamp.has_wall && klog_iso_stamp(&value, &stamp)) {
		entry->stamp = stamp;
		entry->stamp.text = (struct scan) {0};
	}
}

static void set_host(struct klog_entry *entry, struct scan value)
{
	scan_copy(&value, entry->host, sizeof(entry->host));
}

static bool journal_field(struct klog_entry *entry, struct scan name, struct scan value)
{
	if (scan_equals(&name, "MESSAGE")) {
		set_text(entry, value);
	} else if (scan_equals(&name, "_TRANSPORT")) {
		entry->has_transport = true;
		set_speaker(entry, scan_equals(&value, "kernel"));
	} else if (scan_equals(&name, "SYSLOG_IDENTIFIER")) {
		if (!entry->has_transport)
			set_speaker(entry, scan_equals(&value, "kernel"));
	} else if (scan_equals(&name, "__REALTIME_TIMESTAMP")) {
		if (!entry->stamp.has_wall)
			set_realtime_us(entry, value);
	} else if (scan_equals(&name, "_SOURCE_REALTIME_TIMESTAMP")) {
		set_realtime_us(entry, value);
	} else if (scan_equals(&name, "_SOURCE_MONOTONIC_TIMESTAMP")) {
		set_mono_us(entry, value);
	} else if (scan_equals(&name, "_HOSTNAME")) {
		set_host(entry, value);
	} else if (scan_equals(&name, "_BOOT_ID")) {
		set_boot_id(entry, value);
	} else {
		return false;
	}
	return true;
}

/* Of container runtimes ("log"), and of shippers, which name a few things alike. */
static void other_field(struct klog_entry *entry, struct scan name, struct scan value)
{
	static const char *const texts[] = {
		"log", "message", "msg", "Message", "line", "textPayload", "content", "_raw"};
	static const char *const times[] = {"time", "@timestamp", "timestamp"};
	static const char *const hosts[] = {"host", "hostname"};
	static const char *const programs[] = {"ident", "program", "appname", "syslog_identifier"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (scan_equals(&name, texts[i]) && !entry->has_text) {
			entry->inner = true;
			set_text(entry, value);
		}
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (scan_equals(&name, times[i]))
			set_iso(entry, value);
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		if (scan_equals(&name, hosts[i]))
			set_host(entry, value);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (scan_equals(&name, programs[i]))
			set_speaker(entry, scan_equals(&value, "kernel"));
}

void klog_entry_field(struct klog_entry *entry, struct scan name, struct scan value)
{
	if (!journal_field(entry, name, value))
		other_field(entry, name, value);
}

bool klog_entry_assignment(struct klog_entry *entry, struct scan line)
{
	const char *stop;

	scan_blanks(&line);
	stop = memchr(line.at, '=', scan_left(&line));
	if (!stop || stop == line.at || stop - line.at > NAME_MAX_LEN)
		return false;
	for (const char *at = line.at; at < stop; at++)
		if (!(*at >= 'A' && *at <= 'Z') && !(*at >= '0' && *at <= '9') && *at != '_')
			return false;
	journal_field(entry, (struct scan) {line.at, stop}, (struct scan) {stop + 1, line.end});
	return true;
}

/* --- JSON --- */

static void put_byte(char *ret, size_t size, size_t *len, unsigned int byte)
{
	if (*len < size)
		ret[(*len)++] = (char)byte;
}

static void put_code_point(char *ret, size_t size, size_t *len, uint32_t code)
{
	if (code < 0x80) {
		put_byte(ret, size, len, code);
		return;
	}
	if (code >= 0x10000) {
		put_byte(ret, size, len, 0xf0 | code >> 18);
		put_byte(ret, size, len, 0x80 | (code >> 12 & 0x3f));
	} else if (code >= 0x800) {
		put_byte(ret, size, len, 0xe0 | code >> 12);
	}
	if (code >= 0x800)
		put_byte(ret, size, len, 0x80 | (code >> 6 & 0x3f));
	else
		put_byte(ret, size, len, 0xc0 | code >> 6);
	put_byte(ret, size, len, 0x80 | (code & 0x3f));
}

static bool hex4(struct scan *scan, uint32_t *ret)
{
	uint32_t value = 0;

	if (scan_left(scan) < 4)
		return false;
	for (int i = 0; i < 4; i++, scan->at++) {
		char c = *scan->at;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint32_t)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			value = value << 4 | (uint32_t)((c | 0x20) - 'a' + 10);
		else
			return false;
	}
	*ret = value;
	return true;
}

static bool unicode_escape(struct scan *scan, char *ret, size_t size, size_t *len)
{
	uint32_t code, low;
	struct scan pair;

	if (!hex4(scan, &code))
		return false;
	pair = *scan;
	if (code >= 0xd800 && code < 0xdc00 && scan_text(&pair, "\\u") && hex4(&pair, &low) &&
		low >= 0xdc00 && low < 0xe000) {
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		*scan = pair;
	}
	put_code_point(ret, size, len, code);
	return true;
}

/* Behind the opening quote. What is longer than the room is cut. */
static bool json_string(struct scan *scan, char *ret, size_t size, size_t *ret_len)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";

	*ret_len = 0;
	while (!scan_done(scan)) {
		char c = *scan->at++;
		const char *escape;

		if (c == '"')
			return true;
		if (c != '\\') {
			put_byte(ret, size, ret_len, (unsigned char)c);
			continue;
		}
		if (scan_done(scan))
			return false;
		c = *scan->at++;
		escape = memchr(from, c, sizeof(from) - 1);
		if (escape)
			put_byte(ret, size, ret_len, (unsigned char)to[escape - from]);
		else if (c != 'u' || !unicode_escape(scan, ret, size, ret_len))
			return false;
	}
	return false;
}

/* "[112,116]": bytes that are no UTF-8; or the first of several strings. */
static bool json_array(struct scan *scan, char *ret, size_t size, size_t *ret_len)
{
	uint64_t byte;
	bool first = true;

	*ret_len = 0;
	for (;;) {
		char ignored[1];
		size_t none;

		scan_blanks(scan);
		if (scan_text(scan, "]"))
			return true;
		if (scan_text(scan, "\"")) {
			if (!(first ? json_string(scan, ret, size, ret_len)
				    : json_string(scan, ignored, 0, &none)))
				return false;
		} else if (scan_u64(scan, &byte) && byte < 256) {
			put_byte(ret, size, ret_len, (unsigned int)byte);
		} else {
			return false;
		}
		first = false;
		scan_blanks(scan);
		scan_text(scan, ",");
	}
}

/* What is no text: passed over, by its brackets if it has any. */
static bool pass_value(struct scan *scan)
{
	unsigned int depth = 0;
	char ignored[1];
	size_t none;

	while (!scan_done(scan)) {
		char c = *scan->at;

		if (!depth && (c == ',' || c == '}'))
			return true;
		scan->at++;
		if (c == '"' && !json_string(scan, ignored, 0, &none))
			return false;
		if ((c == '{' || c == '[') && ++depth > DEPTH_MAX)
			return false;
		if ((c == '}' || c == ']') && depth)
			depth--;
	}
	return depth == 0;
}

static bool json_member(struct klog_entry *entry, struct scan *scan, unsigned int depth);

/* Behind its bracket. Shippers wrap what they were given: its members count as the object's own.
 * False: it ends early. */
static bool json_object(struct klog_entry *entry, struct scan *scan, unsigned int depth)
{
	for (;;) {
		scan_blanks(scan);
		if (scan_text(scan, "}"))
			return true;
		if (!json_member(entry, scan, depth))
			return false;
		scan_blanks(scan);
		scan_text(scan, ",");
	}
}

/* "name" : value. False: it is no JSON. */
static bool json_member(struct klog_entry *entry, struct scan *scan, unsigned int depth)
{
	static _Thread_local char value[KLOG_TEXT_MAX];
	char name[NAME_MAX_LEN];
	size_t name_len, len;
	struct scan number;

	scan_blanks(scan);
	if (!scan_text(scan, "\"") || !json_string(scan, name, sizeof(name), &name_len))
		return false;
	scan_blanks(scan);
	if (!scan_text(scan, ":"))
		return false;
	scan_blanks(scan);
	if (depth < OBJECTS_MAX && scan_text(scan, "{"))
		return json_object(entry, scan, depth + 1);
	if (scan_text(scan, "\"")) {
		if (!json_string(scan, value, sizeof(value), &len))
			return false;
	} else if (scan_text(scan, "[")) {
		if (!json_array(scan, value, sizeof(value), &len))
			return false;
	} else {
		number.at = scan->at;
		if (!pass_value(scan))
			return false;
		number.end = scan->at;
		if (scan_left(&number) && *number.at == '{')
			return true;
		klog_entry_field(entry, scan_of(name, name_len), number);
		return true;
	}
	klog_entry_field(entry, scan_of(name, name_len), scan_of(value, len));
	return true;
}

bool klog_entry_json(struct klog_entry *entry, struct scan line)
{
	scan_text(&line, "data: ");
	scan_text(&line, "\x1e");
	scan_blanks(&line);
	if (!scan_text(&line, "{"))
		return false;
	klog_entry_begin(entry);
	/* A line that was cut still tells what came before. */
	json_object(entry, &line, 0);
	return entry->has_text;
}

bool klog_entry_pretty(struct klog_entry *entry, struct scan line)
{
	return json_member(entry, &line, 0);
}
