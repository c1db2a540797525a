// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "base/width.h"
#include "sink/html_out.h"
#include "sink/text_flow.h"

#define NO_BREAK_SPACE "\xc2\xa0"

void html_out_init(struct html_out *out, html_writer *write, void *arg)
{
	out->write = write;
	out->arg = arg;
	out->result = 0;
	buf_init(&out->buf, out->data, sizeof(out->data));
}

static void flush(struct html_out *out)
{
	if (out->buf.len > 0 && out->result == 0)
		out->result = out->write(out->data, out->buf.len, out->arg);
	buf_reset(&out->buf);
}

/* The buffer, with room for one append. */
static struct buf *room(struct html_out *out)
{
	if (out->buf.size - out->buf.len <= HTML_APPEND_MAX)
		flush(out);
	return &out->buf;
}

int html_finish(struct html_out *out)
{
	flush(out);
	return out->result;
}

void html_data(struct html_out *out, const char *markup, size_t len)
{
	if (len < HTML_APPEND_MAX) {
		buf_put(room(out), markup, len);
		return;
	}
	flush(out);
	if (out->result == 0)
		out->result = out->write(markup, len, out->arg);
}

void html_raw(struct html_out *out, const char *markup)
{
	html_data(out, markup, strlen(markup));
}

void html_printf(struct html_out *out, const char *format, ...)
{
	char text[512];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len > 0)
		html_data(out, text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
}

/* In steps, since a text may be longer than one append; a character is never cut in two. */
void html_text(struct html_out *out, const char *bytes)
{
	size_t len = strlen(bytes), step;

	for (; len > 0; bytes += step, len -= step) {
		step = utf8_sequence(bytes, len);
		if (step == 0)
			step = 1;
		text_html(room(out), bytes, step);
	}
}

static void put_shown(struct buf *buf, char c)
{
	switch (c) {
	case FLOW_GLUE:
		buf_puts(buf, NO_BREAK_SPACE);
		break;
	case '&':
		buf_puts(buf, "&amp;");
		break;
	case '<':
		buf_puts(buf, "&lt;");
		break;
	case '>':
		buf_puts(buf, "&gt;");
		break;
	case '"':
		buf_puts(buf, "&quot;");
		break;
	default:
		buf_putc(buf, c);
	}
}

void html_shown(struct html_out *out, const char *text)
{
	for (; *text != '\0'; text++)
		put_shown(room(out), *text);
}

/* Units are kept with their number. */
static void glue_from(struct buf *buf, size_t start)
{
	char text[64];
	size_t len = buf->len - start;

	if (len >= sizeof(text))
		return;
	memcpy(text, buf->data + start, len);
	text[len] = '\0';
	buf_rewind(buf, start);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == ' ')
			buf_puts(buf, NO_BREAK_SPACE);
		else
			buf_putc(buf, text[i]);
	}
}

void html_bytes(struct html_out *out, uint64_t bytes)
{
	struct buf *buf = room(out);
	size_t start = buf->len;

	units_bytes(buf, bytes);
	glue_from(buf, start);
}

void html_signed_bytes(struct html_out *out, int64_t bytes)
{
	if (bytes != 0)
		html_raw(out, bytes < 0 ? "-" : "+");
	html_bytes(out, bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes);
}

void html_count(struct html_out *out, int64_t count)
{
	units_count(room(out), count);
}

void html_duration(struct html_out *out, uint64_t ns)
{
	struct buf *buf = room(out);
	size_t start = buf->len;

	units_duration_ns(buf, ns);
	glue_from(buf, start);
}

void html_name(struct html_out *out, const char *comm, uint32_t pid)
{
	html_text(out, comm);
	html_printf(out, "[%u]", pid);
}

/* --- JSON --- */

static uint32_t character(const char *text, size_t len)
{
	static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t value = (unsigned char)text[0] & first_bits[len];

	for (size_t i = 1; i < len; i++)
		value = value << 6 | ((unsigned char)text[i] & 0x3f);
	return value;
}

static void put_escape(struct buf *buf, uint32_t value)
{
	if (value >= 0x10000) {
		buf_printf(buf, "\\u%04x", (unsigned int)(0xd800 + ((value - 0x10000) >> 10)));
		value = 0xdc00 + ((value - 0x10000) & 0x3ff);
	}
	buf_printf(buf, "\\u%04x", (unsigned int)value);
}

void html_json_text(struct html_out *out, const char *json, size_t len)
{
	size_t step;

	for (; len > 0; json += step, len -= step) {
		step = utf8_sequence(json, len);
		if (step == 0)
			return; /* our own writer lets no such byte pass */
		if (step == 1)
			put_shown(room(out), *json);
		else if (width_of(character(json, step)) < 0)
			put_escape(room(out), character(json, step));
		else
			buf_put(room(out), json, step);
	}
}

void html_json_data(struct html_out *out, const char *json, size_t len)
{
	while (len > 0) {
		const char *mark = memchr(json, '<', len);
		size_t run = mark != NULL ? (size_t)(mark - json) : len;

		html_data(out, json, run);
		if (mark == NULL)
			return;
		html_raw(out, "\\u003c");
		json += run + 1;
		len -= run + 1;
	}
}
