/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h: JSON appended to a buffer, without memory of its own.
 *
 * Every function appends one member; `key` NULL makes it an element of an array. Commas follow from
 * what stands before. What is not known (UNKNOWN_U64, NULL, "") is left out, key and all, and so is
 * a number beyond 2^53 - 1, which most readers would damage. Keys are literals and not escaped.
 */
#ifndef OOMSNOOP_SINK_JSON_H
#define OOMSNOOP_SINK_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define JSON_NUMBER_MAX ((1LL << 53) - 1)

/* Opens an object ('{') or array ('['). Returns where the member starts, for json_end_filled(). */
size_t json_begin(struct buf *buf, const char *key, char bracket);
void json_end(struct buf *buf, char bracket); /* '}' or ']' */

/* The same, but what stayed empty is taken back, with its key. */
void json_end_filled(struct buf *buf, size_t start, char bracket);

void json_add_string(struct buf *buf, const char *key, const char *text); /* left out when empty */
void json_add_name(struct buf *buf, const char *key, const char *text); /* "" is a name, too */
void json_add_u64(struct buf *buf, const char *key, uint64_t value);
void json_add_i64(struct buf *buf, const char *key, int64_t value);
void json_add_bool(struct buf *buf, const char *key, bool value);
void json_add_hex(struct buf *buf, const char *key, uint64_t value); /* "0x1f" */
void json_add_pages(
	struct buf *buf, const char *key, uint64_t pages, uint32_t page_size); /* bytes */
void json_add_ms(struct buf *buf, const char *key, uint64_t ns); /* 182.034 */
/* value / 10^decimals, exactly: 905 with 1 is 90.5. At most 6 decimals. */
void json_add_decimal(struct buf *buf, const char *key, int64_t value, unsigned int decimals);
void json_add_time(struct buf *buf, const char *key, int64_t realtime_ns); /* RFC 3339, UTC */

#endif /* OOMSNOOP_SINK_JSON_H */
