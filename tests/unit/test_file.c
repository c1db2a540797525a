// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "facts/file.h"
#include "tree.h"

static int set_up(void **state)
{
	*state = tree_new();
	return 0;
}

static int tear_down(void **state)
{
	tree_remove(*state);
	return 0;
}

static void a_file_is_read_and_terminated(void **state)
{
	char text[8];

	memset(text, 'X', sizeof(text));
	tree_file(*state, "/f", "abc\n");
	assert_int_equal(file_read(*state, "/f", text, sizeof(text)), 4);
	assert_string_equal(text, "abc\n");
}

static void a_longer_file_fills_the_buffer(void **state)
{
	char text[4];

	tree_file(*state, "/f", "abcdef");
	assert_int_equal(file_read(*state, "/f", text, sizeof(text)), 3);
	assert_string_equal(text, "abc");
}

static void a_line_is_without_its_end(void **state)
{
	char text[16];

	tree_file(*state, "/f", "first\nsecond\n");
	assert_int_equal(file_read_line(*state, "/f", text, sizeof(text)), 5);
	assert_string_equal(text, "first");
	assert_int_equal(file_read_line(*state, "/none", text, sizeof(text)), -ENOENT);
}

static void numbers_stand_alone(void **state)
{
	static const char *const broken[] = {"", "\n", "x\n", "1x\n", "1 2\n", " 1\n", "--1\n"};
	int64_t value = 77;

	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
		tree_file(*state, "/n", broken[i]);
		assert_int_equal(file_read_i64(*state, "/n", &value), -EINVAL);
	}
	assert_int_equal(file_read_i64(*state, "/none", &value), -ENOENT);
	assert_int_equal(value, 77);
	tree_file(*state, "/n", "-5\n");
	assert_int_equal(file_read_i64(*state, "/n", &value), 0);
	assert_int_equal(value, -5);
}

static void a_pipe_in_place_of_a_file_does_not_hang(void **state)
{
	char path[PATH_MAX], text[8];

	snprintf(path, sizeof(path), "%s/fifo", (char *)*state);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(file_read(*state, "/fifo", text, sizeof(text)), 0);
}

static void a_path_that_does_not_fit_is_refused(void **state)
{
	char long_root[PATH_MAX + 10], text[8];

	(void)state;
	memset(long_root, '/', sizeof(long_root));
	long_root[sizeof(long_root) - 1] = '\0';
	assert_int_equal(file_read(long_root, "/f", text, sizeof(text)), -ENAMETOOLONG);
}

static void files_of_any_size_are_read_whole(void **state)
{
	static const size_t sizes[] = {0, 1, 16382, 16383, 16384, 32767, 32768, 100001};
	static char data[100001];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)('a' + i * 7 % 26);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		char *text = NULL;
		size_t len = 77;

		tree_bytes(*state, "/f", data, sizes[i]);
		assert_int_equal(file_read_all(*state, "/f", 1 << 20, &text, &len), 0);
		assert_int_equal(len, sizes[i]);
		assert_memory_equal(text, data, len);
		assert_int_equal(text[len], '\0');
		free(text);
	}
}

static void a_file_above_the_bound_is_refused(void **state)
{
	static char data[100001];
	char *text = NULL;
	size_t len;

	tree_bytes(*state, "/f", data, sizeof(data));
	assert_int_equal(file_read_all(*state, "/f", 1000, &text, &len), -EFBIG);
	assert_int_equal(file_read_all(*state, "/none", 1000, &text, &len), -ENOENT);
	assert_int_equal(file_read_all(*state, "/", 1000, &text, &len), -EISDIR);
	assert_null(text);
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(a_file_is_read_and_terminated),
		TREE_TEST(a_longer_file_fills_the_buffer),
		TREE_TEST(a_line_is_without_its_end),
		TREE_TEST(numbers_stand_alone),
		TREE_TEST(a_pipe_in_place_of_a_file_does_not_hang),
		TREE_TEST(a_path_that_does_not_fit_is_refused),
		TREE_TEST(files_of_any_size_are_read_whole),
		TREE_TEST(a_file_above_the_bound_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
