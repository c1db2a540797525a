// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

void buf_init(struct buf *buf, char *data, size_t size)
{
	buf->data = data;
	buf->size = size;
	buf->len = 0;
	buf->full = size == 0;
	if (size > 0)
		data[0] = '\0';
}

void buf_reset(struct buf *buf)
{
	buf_rewind(buf, 0);
}

/*
 * Once full, a buffer takes nothing more until it is rewound: a later, shorter append that happens
 * to fit would leave a text with a hole in it.
 */
void buf_put(struct buf *buf, const void *data, size_t len)
{
	if (buf->full)
		return;
	if (len >= buf->size - buf->len) {
		buf->full = true;
		return;
	}
	memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void buf_putc(struct buf *buf, char c)
{
	buf_put(buf, &c, 1);
}

void buf_puts(struct buf *buf, const char *text)
{
	buf_put(buf, text, strlen(text));
}

void buf_printf(struct buf *buf, const char *format, ...)
{
	size_t room = buf->size - buf->len;
	va_list args;
	int len;

	if (buf->full)
		return;
	va_start(args, format);
	len = vsnprintf(buf->data + buf->len, room, format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= room) {
		buf->data[buf->len] = '\0';
		buf->full = true;
		return;
	}
	buf->len += (size_t)len;
}

void buf_u64(struct buf *buf, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	buf_put(buf, digits + at, sizeof(digits) - at);
}

void buf_i64(struct buf *buf, int64_t value)
{
	size_t start = buf->len;

	if (value < 0)
		buf_putc(buf, '-');
	buf_u64(buf, value < 0 ? -(uint64_t)value : (uint64_t)value);
	if (buf->full && buf->len > start) {
		buf_rewind(buf, start);
		buf->full = true;
	}
}

void buf_rewind(struct buf *buf, size_t len)
{
	if (len < buf->len)
		buf->len = len;
	buf->full = buf->size == 0;
	if (buf->size > 0)
		buf->data[buf->len] = '\0';
}
