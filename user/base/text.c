// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "base/width.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define ELLIPSIS "\xe2\x80\xa6" /* U+2026 */

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* The second byte decides what the first cannot: overlong forms, surrogates, above U+10FFFF. */
static bool second_byte_fits(unsigned char first, unsigned char second)
{
	switch (first) {
	case 0xe0:
		return second >= 0xa0;
	case 0xed:
		return second < 0xa0;
	case 0xf0:
		return second >= 0x90;
	case 0xf4:
		return second < 0x90;
	default:
		return true;
	}
}

size_t utf8_sequence(const char *text, size_t len)
{
	unsigned char first;
	size_t need;

	if (len == 0)
		return 0;
	first = (unsigned char)text[0];
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	need = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (len < need || !second_byte_fits(first, (unsigned char)text[1]))
		return 0;
	for (size_t i = 1; i < need; i++) {
		if (!is_continuation(text[i]))
			return 0;
	}
	return need;
}

/* text holds a valid sequence of `len` bytes. */
static uint32_t utf8_value(const char *text, size_t len)
{
	static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t value = (unsigned char)text[0] & first_bits[len];

	for (size_t i = 1; i < len; i++)
		value = value << 6 | ((unsigned char)text[i] & 0x3f);
	return value;
}

/* A text that is not whole is taken back; the buffer stays full, so that its writer sees it. */
static void take_back(struct buf *buf, size_t start)
{
	buf_rewind(buf, start);
	buf->full = true;
}

static void json_escape(struct buf *buf, uint32_t value)
{
	static const char letters[] = "btn\0fr"; /* 0x08 … 0x0d */

	if (value == '"' || value == '\\') {
		buf_putc(buf, '\\');
		buf_putc(buf, (char)value);
	} else if (value >= 0x08 && value <= 0x0d && letters[value - 0x08] != '\0') {
		buf_putc(buf, '\\');
		buf_putc(buf, letters[value - 0x08]);
	} else {
		buf_printf(buf, "\\u%04x", (unsigned int)value);
	}
}

/*
 * JSON itself asks for C0, quote and backslash only. The others are escaped since they are valid
 * JSON that still breaks readers: C1 controls drive terminals, and U+0085, U+2028 and U+2029 end a
 * line for languages that split text by Unicode's rules.
 */
static bool json_must_escape(uint32_t value)
{
	return value < 0x20 || value == '"' || value == '\\' || (value >= 0x7f && value < 0xa0) ||
	       value == 0x2028 || value == 0x2029;
}

/* How many bytes from here on need no look at all: most names are nothing else. */
static size_t plain_run(const char *text, size_t len)
{
	size_t run = 0;

	while (run < len && text[run] >= 0x20 && text[run] < 0x7f && text[run] != '"' &&
		text[run] != '\\')
		run++;
	return run;
}

void text_json(struct buf *buf, const char *text, size_t len)
{
	size_t start = buf->len;

	if (buf->full)
		return;
	for (size_t at = 0; at < len;) {
		size_t step = plain_run(text + at, len - at);
		uint32_t value;

		if (step > 0) {
			buf_put(buf, text + at, step);
			at += step;
			continue;
		}
		step = utf8_sequence(text + at, len - at);
		if (step == 0) {
			buf_puts(buf, REPLACEMENT);
			at++;
			continue;
		}
		value = utf8_value(text + at, step);
		if (json_must_escape(value))
			json_escape(buf, value);
		else
			buf_put(buf, text + at, step);
		at += step;
	}
	if (buf->full)
		take_back(buf, start);
}

/* Appends what stands for the character at text and returns its columns; *step is its bytes. */
static size_t terminal_character(struct buf *buf, const char *text, size_t len, size_t *step)
{
	size_t sequence = utf8_sequence(text, len);
	int width = sequence > 0 ? width_of(utf8_value(text, sequence)) : -1;

	*step = sequence > 0 ? sequence : 1;
	if (*text == '\\') {
		buf_puts(buf, "\\\\");
		return 2;
	}
	if (width >= 0) {
		buf_put(buf, text, sequence);
		return (size_t)width;
	}
	for (size_t i = 0; i < *step; i++)
		buf_printf(buf, "\\x%02x", (unsigned char)text[i]);
	return 4 * *step;
}

size_t text_terminal(struct buf *buf, const char *text, size_t len, size_t max_columns)
{
	size_t start = buf->len, cut_len = buf->len, cut_columns = 0, columns = 0, step;

	if (buf->full)
		return 0;
	for (size_t at = 0; at < len; at += step) {
		columns += terminal_character(buf, text + at, len - at, &step);
		if (buf->full) {
			take_back(buf, start);
			return 0;
		}
		if (max_columns > 0 && columns > max_columns) {
			/* Back to the last place that leaves a column for the ellipsis. */
			buf_rewind(buf, cut_len);
			buf_puts(buf, ELLIPSIS);
			if (buf->full)
				take_back(buf, start);
			return buf->full ? 0 : cut_columns + 1;
		}
		if (columns < max_columns) {
			cut_len = buf->len;
			cut_columns = columns;
		}
	}
	return columns;
}

static const char *html_reference(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void text_html(struct buf *buf, const char *text, size_t len)
{
	size_t start = buf->len, step;

	if (buf->full)
		return;
	for (size_t at = 0; at < len; at += step) {
		const char *reference = html_reference(text[at]);

		step = 1;
		if (reference != NULL)
			buf_puts(buf, reference);
		else
			terminal_character(buf, text + at, len - at, &step);
	}
	if (buf->full)
		take_back(buf, start);
}

size_t text_columns(const char *text, size_t len)
{
	size_t columns = 0;

	for (size_t at = 0; at < len;) {
		size_t step = utf8_sequence(text + at, len - at);
		int width = step > 0 ? width_of(utf8_value(text + at, step)) : 1;

		columns += width > 0 ? (size_t)width : 0;
		at += step > 0 ? step : 1;
	}
	return columns;
}
