/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.h: small steps through text that somebody else wrote. A cursor moves only when what was
 * asked for is there; nothing is read at or past `end`; nothing allocates, no locale is asked.
 */
#ifndef OOMSNOOP_FACTS_SCAN_H
#define OOMSNOOP_FACTS_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scan {
	const char *at;
	const char *end;
};

struct scan scan_of(const char *text, size_t len);

/* The next line without its newline; false at the end of the text. */
bool scan_line(struct scan *scan, struct scan *ret_line);

/* Decimal digits; a number that does not fit is not one. */
bool scan_u64(struct scan *scan, uint64_t *ret);
bool scan_i64(struct scan *scan, int64_t *ret);

/* Exactly this text. */
bool scan_text(struct scan *scan, const char *text);

/* Up to the separator, which is passed over, or up to the end when there is none. False when
 * nothing is left to read. */
bool scan_field(struct scan *scan, char separator, struct scan *ret_field);

/* Blanks and tabs. */
void scan_blanks(struct scan *scan);

bool scan_done(const struct scan *scan);
size_t scan_left(const struct scan *scan);
bool scan_equals(const struct scan *scan, const char *text);

/* Copies with an end; -ENAMETOOLONG when it does not fit whole. */
int scan_copy(const struct scan *scan, char *ret, size_t size);

/* True if one of the comma separated words is this one. */
bool scan_has_word(struct scan list, const char *word);

#endif /* OOMSNOOP_FACTS_SCAN_H */
