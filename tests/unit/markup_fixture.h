/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a text well-formed markup? Stricter than browsers are: every element is closed, every
 * attribute is quoted and one that we write, every & begins a reference, no raw control character,
 * valid UTF-8. So whatever a hostile name tries to be, it fails here.
 */
#ifndef TESTS_MARKUP_FIXTURE_H
#define TESTS_MARKUP_FIXTURE_H

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "sink_fixture.h"

#define MARKUP_DEPTH 32

static char *markup;
static size_t markup_len, markup_size;
static unsigned int markup_pieces;

static inline int take_markup(const char *data, size_t len, void *arg)
{
	const unsigned int *fail_at = arg;

	if (fail_at != NULL && markup_pieces++ == *fail_at)
		return -ENOSPC;
	if (markup_len + len + 1 > markup_size) {
		markup_size = (markup_len + len + 1) * 2;
		markup = realloc(markup, markup_size);
		assert_non_null(markup);
	}
	memcpy(markup + markup_len, data, len);
	markup_len += len;
	markup[markup_len] = '\0';
	return 0;
}

static inline void markup_reset(void)
{
	markup_len = 0;
	markup_pieces = 0;
	if (markup != NULL)
		markup[0] = '\0';
}

static inline bool in_list(const char *name, size_t len, const char *const *list)
{
	for (; *list != NULL; list++) {
		if (strlen(*list) == len && strncmp(*list, name, len) == 0)
			return true;
	}
	return false;
}

static inline void assert_attribute(const char *name, size_t len)
{
	static const char *const known[] = {"aria-label", "aria-labelledby", "charset", "class",
		"content", "d", "data-v", "dy", "fill", "font-family", "font-size", "font-weight",
		"height", "http-equiv", "id", "lang", "name", "paint-order", "preserveAspectRatio",
		"role", "scope", "stroke", "stroke-dasharray", "stroke-width", "tabindex",
		"text-anchor", "title", "transform", "type", "viewBox", "width", "x", "x1", "x2",
		"xmlns", "y", "y1", "y2", NULL};

	if (!in_list(name, len, known))
		fail_msg("attribute %.*s", (int)len, name);
}

/* From after the element's name; returns the place of its '>'. */
static inline const char *check_attributes(const char *at, bool *ret_closed)
{
	*ret_closed = false;
	for (;;) {
		const char *name;

		at += strspn(at, " \n");
		if (*at == '/') {
			*ret_closed = true;
			at++;
		}
		if (*at == '>')
			return at;
		name = at;
		at += strcspn(at, "=<> \"");
		assert_attribute(name, (size_t)(at - name));
		if (strncmp(at, "=\"", 2) != 0)
			fail_msg("attribute without a quoted value: %.40s", name);
		at += 2;
		at += strcspn(at, "\"<");
		if (*at != '"')
			fail_msg("value goes on: %.60s", name);
		at++;
	}
}

static inline void check_text_byte(const char *at)
{
	static const char *const references[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", NULL};

	if (*at == '&') {
		const char *end = strchr(at, ';');

		if (end == NULL || !in_list(at, (size_t)(end - at) + 1, references))
			fail_msg("no reference: %.20s", at);
	}
	if (*at == '>')
		fail_msg("raw > before %.20s", at);
	if (((unsigned char)*at < 0x20 && *at != '\n') || *at == 0x7f)
		fail_msg("raw control character %02x", *at);
}

/* What has no end tag in HTML; in SVG everything has one. */
static inline bool is_void(const char *name, size_t len)
{
	static const char *const names[] = {"!DOCTYPE", "meta", "br", NULL};

	return in_list(name, len, names);
}

/* Past an element whose content is no markup; else `at`. */
static inline const char *skip_raw(const char *at, const char *name, size_t len)
{
	char end[16];

	if (!in_list(name, len, (const char *const[]) {"script", "style", NULL}))
		return at;
	snprintf(end, sizeof(end), "</%.*s>", (int)len, name);
	at = strstr(at, end);
	assert_non_null(at);
	return at;
}

static inline void assert_well_formed(void)
{
	const char *stack[MARKUP_DEPTH], *at = markup;
	size_t lens[MARKUP_DEPTH], depth = 0;

	for (size_t i = 0, step; i < markup_len; i += step) {
		step = utf8_sequence(markup + i, markup_len - i);
		if (step == 0)
			fail_msg("no UTF-8 at %zu", i);
	}
	assert_int_equal(strlen(markup), markup_len);
	while (*at != '\0') {
		bool closing, closed;
		const char *name;
		size_t len;

		if (*at != '<') {
			check_text_byte(at++);
			continue;
		}
		closing = at[1] == '/';
		name = at + 1 + closing;
		len = strcspn(name, " />\n");
		if (strncmp(name, "!DOCTYPE html>", 14) == 0) {
			at = name + 14;
			continue;
		}
		at = check_attributes(name + len, &closed) + 1;
		if (closing) {
			if (depth == 0 || lens[depth - 1] != len ||
				strncmp(stack[depth - 1], name, len) != 0)
				fail_msg("ends what is not open: %.30s", name);
			depth--;
		} else if (!closed && !is_void(name, len)) {
			assert_true(depth < MARKUP_DEPTH);
			stack[depth] = name;
			lens[depth++] = len;
			at = skip_raw(at, name, len);
		}
	}
	assert_int_equal(depth, 0);
}

static inline bool has(const char *text)
{
	return strstr(markup, text) != NULL;
}

static inline void assert_has(const char *text)
{
	if (!has(text))
		fail_msg("not there: %s", text);
}

static inline unsigned int count_of(const char *text)
{
	unsigned int count = 0;

	for (const char *at = markup; (at = strstr(at, text)) != NULL; at += strlen(text))
		count++;
	return count;
}

#endif /* TESTS_MARKUP_FIXTURE_H */
