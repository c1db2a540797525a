/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the text view share. Views are compared with files of tests/golden. After a
 * wanted change of the view: run with GOLDEN_UPDATE=1 and read the difference before it is
 * committed.
 */
#ifndef TESTS_TEXT_FIXTURE_H
#define TESTS_TEXT_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/text.h"
#include "sink/sink.h"
#include "sink_fixture.h"
#include "judge/whose.h"

static char data[SINK_TEXT_MAX];
static struct buf out;

static inline const char *emit(void)
{
	buf_init(&out, data, sizeof(data));
	judge_whose(&fix_incident, &fix_judgement);
	assert_int_equal(text_incident(&out, &fix_context, &fix_incident, &fix_judgement), 0);
	return data;
}

/* On so wide a line no sentence is broken, so that one can be looked for. */
static inline void emit_wide(void)
{
	fix_context.width = 1000;
	emit();
}

/* What holds for every view: it fits, it is whole lines, and nothing in it drives a terminal. */
static inline void assert_harmless(size_t width)
{
	const char *line = data, *end;

	assert_true(out.len > 0 && data[out.len - 1] == '\n');
	for (; *line != '\0'; line = end + 1) {
		size_t len;

		end = strchr(line, '\n');
		len = (size_t)(end - line);
		if (text_columns(line, len) > width)
			fail_msg("wider than %zu: %.*s", width, (int)len, line);
		if (len == 0 || line[len - 1] == ' ')
			fail_msg("blank at the end of '%.*s'", (int)len, line);
		for (const char *at = line; at < end; at++) {
			if ((unsigned char)*at < 0x20 || *at == 0x7f)
				fail_msg("raw control character in %.*s", (int)len, line);
		}
		for (size_t at = 0, step; at < len; at += step) {
			step = utf8_sequence(line + at, len - at);
			assert_true(step > 0);
		}
	}
}

static inline void golden_path(char *path, size_t size, const char *name)
{
	const char *slash = strrchr(__FILE__, '/');

	snprintf(path, size, "%.*s/../golden/%s.txt", (int)(slash - __FILE__), __FILE__, name);
}

static inline void golden_write(const char *path)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, out.len, file), out.len);
	assert_int_equal(fclose(file), 0);
}

static inline void assert_golden(const char *name)
{
	static char want[SINK_TEXT_MAX];
	char path[512];
	size_t len;
	FILE *file;

	emit();
	assert_harmless(80);
	golden_path(path, sizeof(path), name);
	if (getenv("GOLDEN_UPDATE") != NULL)
		golden_write(path);
	file = fopen(path, "r");
	if (file == NULL)
		fail_msg("%s: %s", path, strerror(errno));
	len = fread(want, 1, sizeof(want) - 1, file);
	want[len] = '\0';
	fclose(file);
	assert_string_equal(data, want);
}

static inline bool shows(const char *text)
{
	return strstr(data, text) != NULL;
}

/* Local times in the views do not depend on where the tests run. */
static inline int set_zone(void **state)
{
	(void)state;
	setenv("TZ", "XYZ-1", 1);
	tzset();
	return 0;
}

static inline void fill(char *text, size_t size)
{
	memset(text, '\x01', size - 1);
	text[size - 1] = '\0';
}

#endif /* TESTS_TEXT_FIXTURE_H */
