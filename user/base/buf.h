/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf.h: text appended to memory that the caller owns. Never allocates. What does not fit sets
 * `full` and leaves the text as it was before that append, so a writer checks once, at its end.
 */
#ifndef OOMSNOOP_BASE_BUF_H
#define OOMSNOOP_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data; /* always NUL terminated */
	size_t size;
	size_t len;
	bool full;
};

void buf_init(struct buf *buf, char *data, size_t size);
void buf_reset(struct buf *buf);
void buf_putc(struct buf *buf, char c);
void buf_puts(struct buf *buf, const char *text);
void buf_put(struct buf *buf, const void *data, size_t len);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_u64(struct buf *buf, uint64_t value);
void buf_i64(struct buf *buf, int64_t value);

/* Back to an earlier length (buf->len remembered by the caller), clearing `full`. */
void buf_rewind(struct buf *buf, size_t len);

#endif /* OOMSNOOP_BASE_BUF_H */
