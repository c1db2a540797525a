// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "facts/host.h"
#include "sink/json.h"

/* A comma goes before everything but the first member; strings end in a quote, so the last byte
 * tells. */
static void put_key(struct buf *buf, const char *key)
{
	char last = buf->len > 0 ? buf->data[buf->len - 1] : '\n';

	if (last != '{' && last != '[' && last != '\n')
		buf_putc(buf, ',');
	if (key == NULL)
		return;
	buf_putc(buf, '"');
	buf_puts(buf, key);
	buf_puts(buf, "\":");
}

size_t json_begin(struct buf *buf, const char *key, char bracket)
{
	size_t start = buf->len;

	put_key(buf, key);
	buf_putc(buf, bracket);
	return start;
}

void json_end(struct buf *buf, char bracket)
{
	buf_putc(buf, bracket);
}

void json_end_filled(struct buf *buf, size_t start, char bracket)
{
	char open = bracket == '}' ? '{' : '[';

	if (buf->full)
		return;
	if (buf->data[buf->len - 1] == open)
		buf_rewind(buf, start);
	else
		buf_putc(buf, bracket);
}

void json_add_name(struct buf *buf, const char *key, const char *text)
{
	put_key(buf, key);
	buf_putc(buf, '"');
	text_json(buf, text, strlen(text));
	buf_putc(buf, '"');
}

void json_add_string(struct buf *buf, const char *key, const char *text)
{
	if (text != NULL && text[0] != '\0')
		json_add_name(buf, key, text);
}

void json_add_u64(struct buf *buf, const char *key, uint64_t value)
{
	if (value > JSON_NUMBER_MAX)
		return;
	put_key(buf, key);
	buf_u64(buf, value);
}

void json_add_i64(struct buf *buf, const char *key, int64_t value)
{
	if (value > JSON_NUMBER_MAX || value < -JSON_NUMBER_MAX)
		return;
	put_key(buf, key);
	buf_i64(buf, value);
}

void json_add_bool(struct buf *buf, const char *key, bool value)
{
	put_key(buf, key);
	buf_puts(buf, value ? "true" : "false");
}

void json_add_hex(struct buf *buf, const char *key, uint64_t value)
{
	put_key(buf, key);
	buf_printf(buf, "\"0x%llx\"", (unsigned long long)value);
}

void json_add_pages(struct buf *buf, const char *key, uint64_t pages, uint32_t page_size)
{
	uint64_t bytes;

	if (pages != UNKNOWN_U64 && !__builtin_mul_overflow(pages, (uint64_t)page_size, &bytes))
		json_add_u64(buf, key, bytes);
}

void json_add_ms(struct buf *buf, const char *key, uint64_t ns)
{
	if (ns == UNKNOWN_U64 || ns / 1000000 > JSON_NUMBER_MAX)
		return;
	put_key(buf, key);
	buf_printf(buf, "%llu.%03u", (unsigned long long)(ns / 1000000),
		(unsigned int)(ns / 1000 % 1000));
}

void json_add_decimal(struct buf *buf, const char *key, int64_t value, unsigned int decimals)
{
	uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value, unit = 1;

	for (unsigned int i = 0; i < decimals; i++)
		unit *= 10;
	if (size / unit > JSON_NUMBER_MAX)
		return;
	put_key(buf, key);
	buf_printf(buf, "%s%llu.%0*llu", value < 0 ? "-" : "", (unsigned long long)(size / unit),
		(int)decimals, (unsigned long long)(size % unit));
}

void json_add_time(struct buf *buf, const char *key, int64_t realtime_ns)
{
	put_key(buf, key);
	buf_putc(buf, '"');
	units_rfc3339_utc(buf, realtime_ns);
	buf_putc(buf, '"');
}
