// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "source/klog_needles.h"
#include "source/klog_stream.h"

#define ROOM 512
#define TURNS 200000

/* What it must be equal to. */
static const char *plainly(const char *const *texts, const char *data, size_t len)
{
	const char *first = NULL;

	for (size_t i = 0; texts[i]; i++) {
		const char *found = memmem(data, len, texts[i], strlen(texts[i]));

		if (found && (!first || found < first))
			first = found;
	}
	return first;
}

/* A text of its very size, so that a read past its end is seen by the sanitizers. */
static void assert_found(
	const struct klog_needles *needles, const char *const *texts, const char *text, size_t len)
{
	char *data = malloc(len ? len : 1);

	assert_non_null(data);
	memcpy(data, text, len);
	assert_ptr_equal(klog_needles_find(needles, data, len), plainly(texts, data, len));
	free(data);
}

/* Each of them at each place of texts of each length around the steps that are taken. */
static void test_everywhere(void **state)
{
	struct klog_needles needles;
	char text[ROOM];

	(void)state;
	klog_needles_set(&needles, klog_needles);
	assert_true(needles.count > 2);
	for (unsigned int i = 0; i < needles.count; i++)
		for (size_t len = 0; len <= 200; len++)
			for (size_t at = 0; at + needles.list[i].len <= len; at += 1 + at / 70) {
				memset(text, '.', len);
				memcpy(text + at, needles.list[i].text, needles.list[i].len);
				assert_found(&needles, klog_needles, text, len);
			}
	memset(text, 0, sizeof(text));
	assert_null(klog_needles_find(&needles, text, sizeof(text)));
	assert_null(klog_needles_find(&needles, text, 0));
}

/* Of few letters, so that beginnings and parts of the needles are everywhere. */
static void test_random(void **state)
{
	static const char *const texts[] = {
		"ab", "abcab", "c", "bbbb", "dddddddddddddddddddddd", NULL};
	static const char *const rarer[] = {"abcdab", "ddcdd", "aaaaaaaaaa", NULL};
	struct klog_needles few, many;
	char text[ROOM];

	(void)state;
	srandom(1);
	klog_needles_set(&many, texts);
	klog_needles_set(&few, rarer);
	for (unsigned int turn = 0; turn < TURNS; turn++) {
		size_t len = (size_t)random() % ROOM;
		unsigned int letters = 2 + (unsigned int)random() % 3;

		for (size_t i = 0; i < len; i++)
			text[i] = (char)('a' + (unsigned int)random() % letters);
		assert_found(&few, rarer, text, len);
		if (turn % 8 == 0)
			assert_found(&many, texts, text, len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everywhere),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
