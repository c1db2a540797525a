/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the record share: a line is made, parsed strictly, asked for its members. */
#ifndef TESTS_JSON_FIXTURE_H
#define TESTS_JSON_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "sink/json.h"
#include "sink/sink.h"
#include "sink_fixture.h"
#include "judge/whose.h"

static char data[SINK_JSON_MAX];
static struct buf out;

static inline void empty(void)
{
	buf_init(&out, data, sizeof(data));
}

static json_t *record;

/* One line, one object, no name twice, no byte below 0x20 but the newline at its end. */
static inline json_t *parse_line(void)
{
	json_error_t error;

	assert_true(out.len > 0 && data[out.len - 1] == '\n');
	for (size_t i = 0; i + 1 < out.len; i++)
		assert_true((unsigned char)data[i] >= 0x20 && data[i] != 0x7f);
	json_decref(record);
	record = json_loadb(data, out.len, JSON_REJECT_DUPLICATES, &error);
	if (record == NULL)
		fail_msg("%s at %d: %.80s", error.text, error.position, data + error.position);
	return record;
}

static inline json_t *emit(void)
{
	empty();
	judge_whose(&fix_incident, &fix_judgement);
	assert_int_equal(json_incident(&out, &fix_context, &fix_incident, &fix_judgement), 0);
	return parse_line();
}

static inline json_t *at(const char *name)
{
	return json_object_get(record, name);
}

static inline void assert_number(const char *name, int64_t want)
{
	json_t *value = at(name);

	if (!json_is_integer(value) || json_integer_value(value) != want)
		fail_msg("%s is not %lld", name, (long long)want);
}

static inline void assert_text(const char *name, const char *want)
{
	const char *value = json_string_value(at(name));

	if (value == NULL || strcmp(value, want) != 0)
		fail_msg("%s is '%s', not '%s'", name, value ? value : "(absent)", want);
}

static inline void assert_absent(const char *name)
{
	if (at(name) != NULL)
		fail_msg("%s is there", name);
}

static inline void assert_begins(const char *want)
{
	size_t len = strlen(want);

	assert_true(out.len >= len);
	assert_memory_equal(data, want, len);
}

/* Unknown is not zero, and nothing is both told and missing. */
static inline void assert_honest(void)
{
	json_t *entry;
	size_t i;

	json_array_foreach(at("missing"), i, entry)
	{
		const char *field = json_string_value(json_object_get(entry, "field"));

		assert_non_null(field);
		assert_non_null(json_string_value(json_object_get(entry, "why")));
		assert_absent(field);
	}
	assert_null(strstr(data, "null"));
}

static inline void fill(char *text, size_t size)
{
	memset(text, '\x01', size - 1);
	text[size - 1] = '\0';
}

static inline int forget(void **state)
{
	(void)state;
	json_decref(record);
	record = NULL;
	return 0;
}

#endif /* TESTS_JSON_FIXTURE_H */
