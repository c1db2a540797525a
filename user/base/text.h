/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h: arbitrary bytes made harmless. Names of processes, cgroups and command lines are chosen
 * by whoever made them: they may hold escapes, newlines, quotes and broken UTF-8.
 */
#ifndef OOMSNOOP_BASE_TEXT_H
#define OOMSNOOP_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Length of the valid UTF-8 sequence at text (1…4), or 0: not valid (overlong, surrogate, cut,
 * above U+10FFFF). */
size_t utf8_sequence(const char *text, size_t len);

/* For a JSON string, without its quotes: valid UTF-8 passes, every other byte becomes U+FFFD,
 * control characters (C0, DEL, C1), line and paragraph separator, quote and backslash are escaped.
 * Whole or, when the buffer is full, nothing. */
void text_json(struct buf *buf, const char *text, size_t len);

/* For a terminal: printable UTF-8 passes; control characters (C0, DEL, C1), bidirectional
 * overrides, invisible format characters and broken bytes are shown as \xNN, byte by byte;
 * backslash as \\. At most max_columns columns, "…" last where it was cut; 0: no bound. Returns the
 * columns written. Whole or, when the buffer is full, nothing. */
size_t text_terminal(struct buf *buf, const char *text, size_t len, size_t max_columns);

/* For HTML, in text and in quoted attributes: shows what text_terminal() shows, with & < > " ' as
 * character references. Whole or, when the buffer is full, nothing. */
void text_html(struct buf *buf, const char *text, size_t len);

/* Columns of text that text_terminal() has made. */
size_t text_columns(const char *text, size_t len);

#endif /* OOMSNOOP_BASE_TEXT_H */
