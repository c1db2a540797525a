// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/width.h"

static char data[4096];
static struct buf out;

static const char *json_of(const char *text, size_t len)
{
	buf_init(&out, data, sizeof(data));
	text_json(&out, text, len);
	assert_false(out.full);
	return data;
}

static const char *terminal_of(const char *text, size_t columns)
{
	buf_init(&out, data, sizeof(data));
	text_terminal(&out, text, strlen(text), columns);
	assert_false(out.full);
	return data;
}

/* Every broken kind of sequence, each at the end of its text so that reading on would be seen. */
static const struct {
	const char *what;
	const char *bytes;
	size_t len;
} broken[] = {
	{"lone continuation", "\x80", 1},
	{"lone continuation, last", "\xbf", 1},
	{"overlong two bytes", "\xc0\xaf", 2},
	{"overlong two bytes, highest", "\xc1\xbf", 2},
	{"overlong three bytes", "\xe0\x80\xaf", 3},
	{"overlong three bytes, highest", "\xe0\x9f\xbf", 3},
	{"overlong four bytes", "\xf0\x80\x80\xaf", 4},
	{"overlong four bytes, highest", "\xf0\x8f\xbf\xbf", 4},
	{"first surrogate", "\xed\xa0\x80", 3},
	{"last surrogate", "\xed\xbf\xbf", 3},
	{"above U+10FFFF", "\xf4\x90\x80\x80", 4},
	{"first byte f5", "\xf5\x80\x80\x80", 4},
	{"five bytes", "\xf8\x88\x80\x80\x80", 5},
	{"six bytes", "\xfc\x84\x80\x80\x80\x80", 6},
	{"byte fe", "\xfe", 1},
	{"byte ff", "\xff", 1},
	{"two bytes, cut", "\xc3", 1},
	{"three bytes, cut after one", "\xe2", 1},
	{"three bytes, cut after two", "\xe2\x82", 2},
	{"four bytes, cut after three", "\xf0\x9f\x98", 3},
	{"two bytes, second is ASCII", "\xc3(", 2},
	{"three bytes, third is ASCII", "\xe2\x82(", 3},
	{"four bytes, fourth is ASCII", "\xf0\x9f\x98(", 4},
};

static const char *const whole[] = {"a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80",
	"\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};

static void valid_sequences_have_their_length(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		size_t len = strlen(whole[i]);

		assert_int_equal(utf8_sequence(whole[i], len), len);
		assert_int_equal(utf8_sequence(whole[i], len - 1), 0);
	}
	assert_int_equal(utf8_sequence("\0", 1), 1);
}

static void broken_sequences_have_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		if (utf8_sequence(broken[i].bytes, broken[i].len) != 0)
			fail_msg("%s", broken[i].what);
	}
}

/* Every two bytes against an independent rule: what jansson takes for a string. */
static void two_bytes_are_judged_as_a_json_reader_does(void **state)
{
	(void)state;
	for (unsigned int first = 0x80; first < 0x100; first++) {
		for (unsigned int second = 0x80; second < 0x100; second++) {
			char text[3] = {(char)first, (char)second, '\0'};
			json_t *string = json_stringn(text, 2);

			assert_int_equal(utf8_sequence(text, 2) == 2, string != NULL);
			json_decref(string);
		}
	}
}

static void every_control_character_comes_back_from_json(void **state)
{
	char quoted[sizeof(data) + 2], text[] = "a?b";
	json_t *string;

	(void)state;
	for (unsigned int byte = 0; byte < 0x80; byte++) {
		text[1] = (char)byte;
		snprintf(quoted, sizeof(quoted), "\"%s\"", json_of(text, 3));
		for (const char *at = quoted; *at != '\0'; at++)
			assert_true(*at >= 0x20 && *at < 0x7f);
		string = json_loads(quoted, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		assert_non_null(string);
		assert_int_equal(json_string_length(string), 3);
		assert_memory_equal(json_string_value(string), text, 3);
		json_decref(string);
	}
}

static void short_escapes_are_used_where_there_are_any(void **state)
{
	(void)state;
	assert_string_equal(json_of("\b\t\n\f\r\"\\/\x0b", 9), "\\b\\t\\n\\f\\r\\\"\\\\/\\u000b");
	assert_string_equal(json_of("\x7f\x1b", 2), "\\u007f\\u001b");
}

static void what_breaks_lines_or_terminals_is_escaped(void **state)
{
	(void)state;
	assert_string_equal(json_of("\xc2\x85\xc2\x9b", 4), "\\u0085\\u009b");
	assert_string_equal(json_of("\xe2\x80\xa8\xe2\x80\xa9", 6), "\\u2028\\u2029");
	assert_string_equal(json_of("\xc2\xa0\xe2\x80\xa7", 5), "\xc2\xa0\xe2\x80\xa7");
}

static void every_broken_byte_becomes_one_replacement(void **state)
{
	(void)state;
	assert_string_equal(json_of("a\xff\xfe\x62", 4), "a\xef\xbf\xbd\xef\xbf\xbd\x62");
	assert_string_equal(json_of("\xed\xa0\x80", 3), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_string_equal(json_of("\xe2\x82(", 3), "\xef\xbf\xbd\xef\xbf\xbd(");
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		json_t *string;

		json_of(broken[i].bytes, broken[i].len);
		string = json_stringn(data, out.len);
		if (string == NULL)
			fail_msg("%s", broken[i].what);
		json_decref(string);
	}
}

static void valid_text_passes_through_json(void **state)
{
	const char *text = "Gr\xc3\xbc\xc3\x9f"
			   "e \xe7\x8c\xab \xf0\x9f\x90\xb1";

	(void)state;
	assert_string_equal(json_of(text, strlen(text)), text);
}

static void json_text_is_whole_or_absent(void **state)
{
	char small[8];
	struct buf buf;

	(void)state;
	buf_init(&buf, small, sizeof(small));
	buf_puts(&buf, "ab");
	text_json(&buf, "cde\x01", 4);
	assert_true(buf.full);
	assert_string_equal(small, "ab");
}

static void printable_text_passes_to_the_terminal(void **state)
{
	(void)state;
	assert_string_equal(terminal_of("gr\xc3\xbcn \xe7\x8c\xab", 0), "gr\xc3\xbcn \xe7\x8c\xab");
	assert_string_equal(terminal_of("a\\b", 0), "a\\\\b");
	assert_string_equal(terminal_of("", 5), "");
}

static void nothing_that_drives_a_terminal_passes(void **state)
{
	(void)state;
	assert_string_equal(terminal_of("\033[2J\007\x7f", 0), "\\x1b[2J\\x07\\x7f");
	assert_string_equal(terminal_of("\xc2\x9b"
					"31m",
				    0),
		"\\xc2\\x9b31m");
	assert_string_equal(terminal_of("\x9b"
					"31m",
				    0),
		"\\x9b31m");
	for (unsigned int byte = 1; byte < 0x100; byte++) {
		char text[2] = {(char)byte, '\0'};
		const char *shown = terminal_of(text, 0);

		for (; *shown != '\0'; shown++)
			assert_true(*shown >= 0x20 && *shown < 0x7f);
	}
}

static void text_cannot_turn_or_hide(void **state)
{
	(void)state;
	/* right-to-left override, zero width space, byte order mark, tag, noncharacter */
	assert_string_equal(terminal_of("\xe2\x80\xae", 0), "\\xe2\\x80\\xae");
	assert_string_equal(terminal_of("\xe2\x80\x8b", 0), "\\xe2\\x80\\x8b");
	assert_string_equal(terminal_of("\xef\xbb\xbf", 0), "\\xef\\xbb\\xbf");
	assert_string_equal(terminal_of("\xf3\xa0\x80\x81", 0), "\\xf3\\xa0\\x80\\x81");
	assert_string_equal(terminal_of("\xef\xbf\xbf", 0), "\\xef\\xbf\\xbf");
	assert_string_equal(terminal_of("\xe2\x81\xa6", 0), "\\xe2\\x81\\xa6");
}

static void broken_bytes_are_shown_one_by_one(void **state)
{
	(void)state;
	assert_string_equal(terminal_of("\xed\xa0\x80z", 0), "\\xed\\xa0\\x80z");
	assert_string_equal(terminal_of("\xc3", 0), "\\xc3");
}

static void columns_are_those_of_the_terminal(void **state)
{
	(void)state;
	buf_init(&out, data, sizeof(data));
	assert_int_equal(text_terminal(&out, "abc", 3, 0), 3);
	assert_int_equal(text_terminal(&out, "\xe7\x8c\xab", 3, 0), 2);
	assert_int_equal(text_terminal(&out, "e\xcc\x81", 3, 0), 1);
	assert_int_equal(text_terminal(&out, "\n", 1, 0), 4);
	assert_int_equal(text_columns("a\xe7\x8c\xab"
				      "e\xcc\x81",
				 7),
		4);
}

static void a_cut_text_says_so_within_its_columns(void **state)
{
	(void)state;
	assert_string_equal(terminal_of("abcdef", 6), "abcdef");
	assert_string_equal(terminal_of("abcdefg", 6), "abcde\xe2\x80\xa6");
	/* a wide character that would stand in the last two columns gives way as a whole */
	assert_string_equal(
		terminal_of("abc\xe7\x8c\xab\xe7\x8c\xab", 6), "abc\xe7\x8c\xab\xe2\x80\xa6");
	assert_string_equal(
		terminal_of("ab\xe7\x8c\xab\xe7\x8c\xab", 5), "ab\xe7\x8c\xab\xe2\x80\xa6");
	assert_string_equal(terminal_of("\n\n", 6), "\\x0a\xe2\x80\xa6");
	assert_string_equal(terminal_of("\n", 3), "\xe2\x80\xa6");
	assert_string_equal(terminal_of("ab", 1), "\xe2\x80\xa6");
}

static void a_cut_keeps_the_accents_of_what_stays(void **state)
{
	(void)state;
	assert_string_equal(terminal_of("e\xcc\x81"
					"e\xcc\x81"
					"xyz",
				    3),
		"e\xcc\x81"
		"e\xcc\x81\xe2\x80\xa6");
}

static void cut_texts_never_exceed_their_columns(void **state)
{
	static const char text[] =
		"a\033\xe7\x8c\xab\xff e\xcc\x81\\\xf0\x9f\x90\xb1\xe2\x80\xae z";

	(void)state;
	for (size_t columns = 1; columns < 60; columns++) {
		size_t told;

		buf_init(&out, data, sizeof(data));
		told = text_terminal(&out, text, sizeof(text) - 1, columns);
		assert_true(told <= columns);
		assert_int_equal(text_columns(data, out.len), told);
	}
}

static void terminal_text_is_whole_or_absent(void **state)
{
	char small[8];
	struct buf buf;

	(void)state;
	buf_init(&buf, small, sizeof(small));
	buf_puts(&buf, "ab");
	assert_int_equal(text_terminal(&buf, "c\001\002", 3, 0), 0);
	assert_true(buf.full);
	assert_string_equal(small, "ab");
}

/* The same bytes every time; half of them from what UTF-8 is made of, so that sequences occur. */
static size_t random_text(uint32_t *seed, char *text, size_t size)
{
	static const unsigned char likely[] = {0xc2, 0xe2, 0xed, 0xf0, 0xf4, 0x80, 0x8f, 0x90, 0x9f,
		0xa0, 0xbf, 0xff, 0x1b, '"', '\\', 'a'};
	size_t len;

	*seed = *seed * 1664525 + 1013904223;
	len = (*seed >> 16) % size;
	for (size_t i = 0; i < len; i++) {
		*seed = *seed * 1664525 + 1013904223;
		text[i] = *seed >> 31 ? (char)(*seed >> 16) : (char)likely[(*seed >> 16) % 16];
	}
	return len;
}

static void no_bytes_at_all_break_either_output(void **state)
{
	char text[48], quoted[sizeof(data) + 2];
	uint32_t seed = 4711;

	(void)state;
	for (unsigned int round = 0; round < 100000; round++) {
		size_t len = random_text(&seed, text, sizeof(text)), columns;
		json_t *string;

		snprintf(quoted, sizeof(quoted), "\"%s\"", json_of(text, len));
		string = json_loads(quoted, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		assert_non_null(string);
		json_decref(string);
		buf_init(&out, data, sizeof(data));
		columns = text_terminal(&out, text, len, round % 40);
		assert_int_equal(columns, text_columns(data, out.len));
		for (size_t i = 0; i < out.len; i++)
			assert_true((unsigned char)data[i] >= 0x20 && data[i] != 0x7f);
	}
}

static const char *html_of(const char *text, size_t len)
{
	buf_init(&out, data, sizeof(data));
	text_html(&out, text, len);
	assert_false(out.full);
	return data;
}

static void nothing_is_markup_in_html(void **state)
{
	(void)state;
	assert_string_equal(html_of("<a href=\"x\" b='&amp;'>", 22),
		"&lt;a href=&quot;x&quot; b=&#39;&amp;amp;&#39;&gt;");
	assert_string_equal(html_of("caf\xc3\xa9 \xe7\x8c\xab", 9), "caf\xc3\xa9 \xe7\x8c\xab");
	assert_string_equal(html_of("", 0), "");
}

static void html_shows_what_a_terminal_shows(void **state)
{
	(void)state;
	assert_string_equal(html_of("a\nb\x1b[0m\x00\x7f", 9), "a\\x0ab\\x1b[0m\\x00\\x7f");
	assert_string_equal(html_of("\xe2\x80\xae\xff\\", 5), "\\xe2\\x80\\xae\\xff\\\\");
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		html_of(broken[i].bytes, broken[i].len);
		for (size_t at = 0; at < out.len; at++)
			assert_true(
				(unsigned char)data[at] >= 0x20 && (unsigned char)data[at] < 0x7f);
	}
}

/* Every pair of bytes: no raw markup, no control character, valid UTF-8. */
static void no_bytes_at_all_break_html(void **state)
{
	(void)state;
	for (unsigned int pair = 0; pair < 0x10000; pair++) {
		const char bytes[2] = {(char)(pair >> 8), (char)pair};

		html_of(bytes, 2);
		assert_null(strpbrk(data, "<>\"'"));
		for (size_t at = 0, step; at < out.len; at += step) {
			step = utf8_sequence(data + at, out.len - at);
			assert_true(step > 0);
			assert_true((unsigned char)data[at] >= 0x20 && data[at] != 0x7f);
		}
	}
}

static void html_is_whole_or_absent(void **state)
{
	char small[8];

	(void)state;
	for (size_t size = 1; size <= sizeof(small); size++) {
		buf_init(&out, small, size);
		text_html(&out, "a<", 2);
		assert_string_equal(small, size > 5 ? "a&lt;" : "");
		assert_int_equal(out.full, size <= 5);
	}
}

static void widths_at_the_edges_of_the_tables(void **state)
{
	(void)state;
	assert_int_equal(width_of('a'), 1);
	assert_int_equal(width_of(0x9f), -1);
	assert_int_equal(width_of(0xa0), 1);
	assert_int_equal(width_of(0xad), -1);
	assert_int_equal(width_of(0x2ff), 1);
	assert_int_equal(width_of(0x300), 0);
	assert_int_equal(width_of(0x36f), 0);
	assert_int_equal(width_of(0x370), 1);
	assert_int_equal(width_of(0x10ff), 1);
	assert_int_equal(width_of(0x1100), 2);
	assert_int_equal(width_of(0xac00), 2);
	assert_int_equal(width_of(0xd7a3), 2);
	assert_int_equal(width_of(0xff01), 2);
	assert_int_equal(width_of(0xff61), 1);
	assert_int_equal(width_of(0x1f431), 2);
	assert_int_equal(width_of(0x20000), 2);
	assert_int_equal(width_of(0x10ffff), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_sequences_have_their_length),
		cmocka_unit_test(broken_sequences_have_none),
		cmocka_unit_test(two_bytes_are_judged_as_a_json_reader_does),
		cmocka_unit_test(every_control_character_comes_back_from_json),
		cmocka_unit_test(short_escapes_are_used_where_there_are_any),
		cmocka_unit_test(what_breaks_lines_or_terminals_is_escaped),
		cmocka_unit_test(every_broken_byte_becomes_one_replacement),
		cmocka_unit_test(valid_text_passes_through_json),
		cmocka_unit_test(json_text_is_whole_or_absent),
		cmocka_unit_test(printable_text_passes_to_the_terminal),
		cmocka_unit_test(nothing_that_drives_a_terminal_passes),
		cmocka_unit_test(text_cannot_turn_or_hide),
		cmocka_unit_test(broken_bytes_are_shown_one_by_one),
		cmocka_unit_test(columns_are_those_of_the_terminal),
		cmocka_unit_test(a_cut_text_says_so_within_its_columns),
		cmocka_unit_test(a_cut_keeps_the_accents_of_what_stays),
		cmocka_unit_test(cut_texts_never_exceed_their_columns),
		cmocka_unit_test(terminal_text_is_whole_or_absent),
		cmocka_unit_test(no_bytes_at_all_break_either_output),
		cmocka_unit_test(nothing_is_markup_in_html),
		cmocka_unit_test(html_shows_what_a_terminal_shows),
		cmocka_unit_test(no_bytes_at_all_break_html),
		cmocka_unit_test(html_is_whole_or_absent),
		cmocka_unit_test(widths_at_the_edges_of_the_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
