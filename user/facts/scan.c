// SPDX-License-Identifier: Apache-2.0
#include "facts/scan.h"

#include <errno.h>
#include <string.h>

struct scan scan_of(const char *text, size_t len)
{
	return (struct scan) {.at = text, .end = text + len};
}

bool scan_done(const struct scan *scan)
{
	return scan->at >= scan->end;
}

size_t scan_left(const struct scan *scan)
{
	return (size_t)(scan->end - scan->at);
}

bool scan_field(struct scan *scan, char separator, struct scan *ret_field)
{
	const char *stop;

	if (scan_done(scan))
		return false;
	stop = memchr(scan->at, separator, scan_left(scan));
	ret_field->at = scan->at;
	ret_field->end = stop ? stop : scan->end;
	scan->at = stop ? stop + 1 : scan->end;
	return true;
}

bool scan_line(struct scan *scan, struct scan *ret_line)
{
	return scan_field(scan, '\n', ret_line);
}

bool scan_u64(struct scan *scan, uint64_t *ret)
{
	const char *at = scan->at;
	uint64_t value = 0;

	while (at < scan->end && *at >= '0' && *at <= '9') {
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return false;
		at++;
	}
	if (at == scan->at)
		return false;
	scan->at = at;
	*ret = value;
	return true;
}

bool scan_i64(struct scan *scan, int64_t *ret)
{
	struct scan rest = *scan;
	bool negative = scan_text(&rest, "-");
	uint64_t value;

	if (!scan_u64(&rest, &value) || value > INT64_MAX)
		return false;
	*scan = rest;
	*ret = negative ? -(int64_t)value : (int64_t)value;
	return true;
}

bool scan_text(struct scan *scan, const char *text)
{
	size_t len = strlen(text);

	if (scan_left(scan) < len || memcmp(scan->at, text, len) != 0)
		return false;
	scan->at += len;
	return true;
}

void scan_blanks(struct scan *scan)
{
	while (!scan_done(scan) && (*scan->at == ' ' || *scan->at == '\t'))
		scan->at++;
}

bool scan_equals(const struct scan *scan, const char *text)
{
	size_t len = scan_left(scan);

	/* What is empty may point nowhere. */
	return len == strlen(text) && (len == 0 || memcmp(scan->at, text, len) == 0);
}

int scan_copy(const struct scan *scan, char *ret, size_t size)
{
	size_t len = scan_left(scan);

	if (len >= size)
		return -ENAMETOOLONG;
	if (len > 0)
		memcpy(ret, scan->at, len);
	ret[len] = '\0';
	return 0;
}

bool scan_has_word(struct scan list, const char *word)
{
	struct scan field;

	while (scan_field(&list, ',', &field)) {
		if (scan_equals(&field, word))
			return true;
	}
	return false;
}
