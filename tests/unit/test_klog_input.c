// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "source/klog_input.h"
#include "source/klog_unpack.h"

#define MANY 200000

static FILE *file_of(const void *data, size_t len)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, len, file), len);
	assert_int_equal(fflush(file), 0);
	assert_int_equal(lseek(fileno(file), 0, SEEK_SET), 0);
	return file;
}

static struct klog_input *input_of(const void *data, size_t len, FILE **ret_file)
{
	*ret_file = file_of(data, len);
	return klog_input_new(fileno(*ret_file));
}

static void assert_line(struct klog_input *input, const char *want)
{
	const char *line;
	size_t len;

	assert_int_equal(klog_input_line(input, &line, &len), 1);
	assert_int_equal(len, strlen(want));
	assert_memory_equal(line, want, len);
}

static void assert_end(struct klog_input *input, int want)
{
	const char *line;
	size_t len;

	assert_int_equal(klog_input_line(input, &line, &len), want);
}

static void test_lines(void **state)
{
	static const char text[] = "one\n\nthree\r\nlast";
	FILE *file;
	struct klog_input *input = input_of(text, sizeof(text) - 1, &file);

	(void)state;
	assert_line(input, "one");
	assert_line(input, "");
	assert_line(input, "three\r");
	assert_line(input, "last");
	assert_end(input, 0);
	assert_end(input, 0);
	assert_int_equal(klog_input_lines(input), 4);
	assert_null(klog_input_compression(input));
	klog_input_free(input);
	fclose(file);
	input = input_of("", 0, &file);
	assert_end(input, 0);
	klog_input_free(input);
	fclose(file);
}

static void test_long_line_is_cut_and_counted(void **state)
{
	size_t len = 3 << 20;
	char *text = malloc(len + 16);
	struct klog_input *input;
	const char *line;
	size_t got;
	FILE *file;

	(void)state;
	memset(text, 'x', len);
	memcpy(text + len, "\nshort\n", 7);
	input = input_of(text, len + 7, &file);
	assert_int_equal(klog_input_line(input, &line, &got), 1);
	assert_int_equal(got, KLOG_LINE_MAX);
	assert_line(input, "short");
	assert_end(input, 0);
	assert_int_equal(klog_input_cut(input), 1);
	klog_input_free(input);
	fclose(file);
	free(text);
}

/* --- packed --- */

static char *many_lines(size_t *ret_len)
{
	char *text = malloc((size_t)MANY * 24);
	size_t len = 0;

	for (int i = 0; i < MANY; i++)
		len += (size_t)sprintf(text + len, "line number %d\n", i);
	*ret_len = len;
	return text;
}

static void assert_many(const void *packed, size_t packed_len, const char *name)
{
	FILE *file;
	struct klog_input *input = input_of(packed, packed_len, &file);
	char want[32];

	for (int i = 0; i < MANY; i++) {
		sprintf(want, "line number %d", i);
		assert_line(input, want);
	}
	assert_end(input, 0);
	assert_string_equal(klog_input_compression(input), name);
	klog_input_free(input);
	fclose(file);
}

static int read_all(const void *packed, size_t len)
{
	FILE *file;
	struct klog_input *input = input_of(packed, len, &file);
	const char *line;
	size_t got;
	int more;

	while ((more = klog_input_line(input, &line, &got)) == 1)
		;
	klog_input_free(input);
	fclose(file);
	return more;
}

static size_t pack_gzip(const char *text, size_t len, unsigned char *ret, size_t size)
{
	z_stream stream = {0};

	assert_int_equal(
		deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_in = (unsigned char *)(uintptr_t)text;
	stream.avail_in = (uInt)len;
	stream.next_out = ret;
	stream.avail_out = (uInt)size;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	deflateEnd(&stream);
	return size - stream.avail_out;
}

/* Whole, in two members, cut off, and damaged. */
static void check_packed(
	unsigned char *packed, size_t half, size_t len, const char *name, bool has_sum)
{
	assert_many(packed, len, name);
	assert_int_equal(read_all(packed, half / 2), -EBADMSG);
	assert_int_equal(read_all(packed, len - 3), -EBADMSG);
	if (!has_sum)
		return;
	packed[half / 2] ^= 0x55;
	assert_int_equal(read_all(packed, len), -EBADMSG);
}

static void test_gzip(void **state)
{
	size_t len, half;
	char *text = many_lines(&len);
	unsigned char *packed = malloc(len);
	size_t first = pack_gzip(text, len / 2, packed, len);

	(void)state;
	half = first;
	first += pack_gzip(text + len / 2, len - len / 2, packed + first, len - first);
	check_packed(packed, half, first, "gzip", true);
	free(packed);
	free(text);
}

static void test_xz(void **state)
{
	size_t len, at = 0, half;
	char *text = many_lines(&len);
	uint8_t *packed = malloc(len);

	(void)state;
	assert_int_equal(lzma_easy_buffer_encode(2, LZMA_CHECK_CRC64, NULL, (uint8_t *)text,
				 len / 2, packed, &at, len),
		LZMA_OK);
	half = at;
	assert_int_equal(lzma_easy_buffer_encode(2, LZMA_CHECK_CRC64, NULL,
				 (uint8_t *)text + len / 2, len - len / 2, packed, &at, len),
		LZMA_OK);
	check_packed(packed, half, at, "xz", true);
	free(packed);
	free(text);
}

static void test_zstd(void **state)
{
	size_t len, first, half;
	char *text = many_lines(&len);
	unsigned char *packed = malloc(2 * len);

	(void)state;
	first = ZSTD_compress(packed, 2 * len, text, len / 2, 3);
	assert_false(ZSTD_isError(first));
	half = first;
	first += ZSTD_compress(packed + first, 2 * len - first, text + len / 2, len - len / 2, 3);
	check_packed(packed, half, first, "zstd", false);
	free(packed);
	free(text);
}

/* --- passing over --- */

static const char *const needles[] = {"needle", "other thing", NULL};

static void test_skip(void **state)
{
	size_t len, at;
	char *text = many_lines(&len), *place;
	struct klog_input *input;
	const char *line;
	size_t got;
	bool seen = false;
	uint64_t lines;
	FILE *file;

	(void)state;
	place = strstr(text, "line number 150000\n");
	at = (size_t)(place - text);
	memcpy(place, "with a needle 0000", 18);
	input = input_of(text, len, &file);
	assert_true(klog_input_skip(input, needles));
	while (klog_input_line(input, &line, &got) == 1 && !seen) {
		seen = got == 18 && !memcmp(line, "with a needle 0000", 18);
		assert_true(memchr(line, '\n', got) == NULL);
		klog_input_skip(input, needles);
	}
	assert_true(seen);
	lines = klog_input_lines(input);
	/* What came right before is handed out, what came long before is not. */
	assert_true(lines > 1000 && lines < 3000);
	assert_true(at > 100000);
	assert_end(input, 0);
	klog_input_free(input);
	fclose(file);
	free(text);
}

/* Where there is none, all is passed over, in a file of one line, too. */
static void test_skip_to_the_end(void **state)
{
	size_t len;
	char *text = many_lines(&len);
	struct klog_input *input;
	FILE *file;

	(void)state;
	input = input_of(text, len, &file);
	assert_true(klog_input_skip(input, needles));
	assert_end(input, 0);
	klog_input_free(input);
	fclose(file);
	memset(text, 'y', len);
	input = input_of(text, len, &file);
	assert_true(klog_input_skip(input, needles));
	assert_end(input, 0);
	klog_input_free(input);
	fclose(file);
	free(text);
}

/* At every distance from the end of what is read at once. */
static void test_needle_across_reads(void **state)
{
	size_t size = 600 << 10;
	char *text = malloc(size);

	(void)state;
	for (size_t at = (512 << 10) - 20; at < (512 << 10) + 4; at++) {
		struct klog_input *input;
		const char *line;
		bool seen = false;
		size_t got;
		FILE *file;

		for (size_t i = 0; i < size; i++)
			text[i] = i % 64 == 63 ? '\n' : '.';
		text[at - 1] = '\n';
		memcpy(text + at, "needle\n", 7);
		input = input_of(text, size, &file);
		do {
			klog_input_skip(input, needles);
			if (klog_input_line(input, &line, &got) != 1)
				break;
			seen |= got == 6 && !memcmp(line, "needle", 6);
		} while (true);
		assert_true(seen);
		klog_input_free(input);
		fclose(file);
	}
	free(text);
}

static void test_bytes(void **state)
{
	static const char text[] = "NAME\n12\n345\nnext\n";
	FILE *file;
	struct klog_input *input = input_of(text, sizeof(text) - 1, &file);
	const char *bytes;

	(void)state;
	assert_line(input, "NAME");
	assert_true(klog_input_bytes(input, 6, &bytes));
	assert_memory_equal(bytes, "12\n345", 6);
	assert_line(input, "");
	assert_line(input, "next");
	assert_false(klog_input_bytes(input, 1, &bytes));
	klog_input_free(input);
	fclose(file);
	input = input_of(text, sizeof(text) - 1, &file);
	assert_false(klog_input_bytes(input, UINT64_MAX, &bytes));
	assert_end(input, 0);
	klog_input_free(input);
	fclose(file);
}

static void test_unreadable(void **state)
{
	struct klog_input *input = klog_input_new(open("/", O_RDONLY | O_DIRECTORY));

	(void)state;
	assert_end(input, -EISDIR);
	klog_input_free(input);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_long_line_is_cut_and_counted),
		cmocka_unit_test(test_gzip),
		cmocka_unit_test(test_xz),
		cmocka_unit_test(test_zstd),
		cmocka_unit_test(test_skip),
		cmocka_unit_test(test_skip_to_the_end),
		cmocka_unit_test(test_needle_across_reads),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
