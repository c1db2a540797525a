// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include <signal.h>

#include "facts/procfs.h"
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

/* --- command lines --- */

static const char *text_of(const char *args, size_t len, size_t full, size_t size)
{
	static char ret[8192];
	size_t written;

	memset(ret, 'X', sizeof(ret));
	written = cmdline_text(args, len, full, ret, size);
	assert_int_equal(written, strlen(ret));
	assert_true(strlen(ret) < size);
	return ret;
}

static void arguments_are_joined_by_blanks(void **state)
{
	(void)state;
	assert_string_equal(text_of("python\0train.py\0", 16, 16, 64), "python train.py");
	assert_string_equal(text_of("sh\0-c\0\0x\0", 9, 9, 64), "sh -c  x");
}

static void a_tail_of_nuls_goes(void **state)
{
	(void)state;
	assert_string_equal(text_of("nginx: worker\0\0\0\0\0\0", 19, 19, 64), "nginx: worker");
	assert_string_equal(text_of("\0\0\0", 3, 3, 64), "");
	assert_string_equal(text_of("", 0, 0, 64), "");
}

static void blanks_of_the_last_argument_stay(void **state)
{
	(void)state;
	assert_string_equal(text_of("a \0", 3, 3, 64), "a ");
}

static void a_longer_vector_ends_in_dots(void **state)
{
	(void)state;
	assert_string_equal(text_of("abcdefghij", 10, 10, 8), "abcd...");
	assert_string_equal(text_of("abcdefg", 7, 7, 8), "abcdefg");
	assert_string_equal(text_of("abcd", 4, 9, 64), "abcd...");
	assert_string_equal(text_of("abcd", 4, 9, 8), "abcd...");
}

static void a_cut_leaves_no_half_character(void **state)
{
	(void)state;
	/* "ab" and the first two bytes of a character of three */
	assert_string_equal(text_of("ab\xe2\x82", 4, 9, 64), "ab...");
	assert_string_equal(text_of("ab\xe2\x82\xac", 5, 9, 64), "ab\xe2\x82\xac...");
	assert_string_equal(text_of("ab\xf0\x9f\x98", 5, 9, 64), "ab...");
	/* bytes that are no UTF-8 at all stay */
	assert_string_equal(text_of("\x80\x80\x80\x80", 4, 9, 64), "\x80\x80\x80\x80...");
	assert_string_equal(text_of("caf\xc3\xa9", 5, 5, 64), "caf\xc3\xa9");
}

static void no_room_at_all_is_survived(void **state)
{
	char one[1] = {'X'}, three[3];

	(void)state;
	assert_int_equal(cmdline_text("abc", 3, 3, one, 0), 0);
	assert_int_equal(one[0], 'X');
	assert_int_equal(cmdline_text("abc", 3, 3, one, 1), 0);
	assert_int_equal(one[0], '\0');
	assert_int_equal(cmdline_text("abc", 3, 3, three, 3), 2);
	assert_string_equal(three, "..");
}

static void a_command_line_longer_than_a_page_is_cut(void **state)
{
	static char args[9000], ret[8192];

	memset(args, 'a', sizeof(args));
	tree_bytes(*state, "/proc/7/cmdline", args, sizeof(args));
	assert_int_equal(read_cmdline(*state, 7, ret, sizeof(ret)), 0);
	assert_int_equal(strlen(ret), 4095 + 3);
	assert_string_equal(ret + 4095, "...");
	assert_int_equal(read_cmdline(*state, 7, ret, 32), 0);
	assert_int_equal(strlen(ret), 31);
	assert_string_equal(ret + 28, "...");
}

static void kernel_threads_have_an_empty_one(void **state)
{
	char ret[8] = "?";

	tree_file(*state, "/proc/2/cmdline", "");
	assert_int_equal(read_cmdline(*state, 2, ret, sizeof(ret)), 0);
	assert_string_equal(ret, "");
}

static void a_process_that_is_gone_is_an_error(void **state)
{
	char ret[8] = "?";
	struct proc_ids ids = {.ppid = 3};

	assert_int_equal(read_cmdline(*state, 4242, ret, sizeof(ret)), -ENOENT);
	assert_int_equal(read_exe(*state, 4242, ret, sizeof(ret)), -ENOENT);
	assert_int_equal(read_proc_ids(*state, 4242, &ids), -ENOENT);
	assert_string_equal(ret, "?");
	assert_int_equal(ids.ppid, 3);
}

/* --- program files --- */

static void a_program_file_by_name(void **state)
{
	char ret[64];

	tree_link(*state, "/proc/7/exe", "/usr/bin/python3.11");
	assert_int_equal(read_exe(*state, 7, ret, sizeof(ret)), 0);
	assert_string_equal(ret, "/usr/bin/python3.11");
}

static void a_replaced_program_file_keeps_its_name(void **state)
{
	char ret[64];

	tree_link(*state, "/proc/7/exe", "/opt/a b (deleted)");
	assert_int_equal(read_exe(*state, 7, ret, sizeof(ret)), 0);
	assert_string_equal(ret, "/opt/a b");
}

static void a_long_path_shows_its_cut(void **state)
{
	char ret[16];

	tree_link(*state, "/proc/7/exe", "/opt/some/where/far/away");
	assert_int_equal(read_exe(*state, 7, ret, sizeof(ret)), 0);
	assert_string_equal(ret, "/opt/some/wh...");
}

/* --- /proc/PID/stat --- */

#define STAT_TAIL                                                                                  \
	" S 41 42 42 0 -1 4194560 111 0 0 0 5 3 0 0 20 0 1 0 12345 2265088 300 "                   \
	"18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"

static void stat_of_a_plain_process(void **state)
{
	struct proc_ids ids = {.uid = 99};

	(void)state;
	assert_int_equal(parse_proc_stat("42 (bash)" STAT_TAIL, &ids), 0);
	assert_string_equal(ids.comm, "bash");
	assert_int_equal(ids.ppid, 41);
	assert_int_equal(ids.start_ns, 12345ULL * 1000000000 / sysconf(_SC_CLK_TCK));
	assert_int_equal(ids.uid, 99);
}

static void names_that_imitate_the_rest_of_the_line(void **state)
{
	static const char *const names[] = {
		"x) S 1 (", "a b", "new\nline", ")", "((", ") R 1 1 1 1", ""};
	struct proc_ids ids;
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(text, sizeof(text), "42 (%s)%s", names[i], STAT_TAIL);
		assert_int_equal(parse_proc_stat(text, &ids), 0);
		assert_string_equal(ids.comm, names[i]);
		assert_int_equal(ids.ppid, 41);
	}
}

static void a_workers_long_name_is_cut(void **state)
{
	struct proc_ids ids;

	(void)state;
	assert_int_equal(parse_proc_stat("9 (kworker/u8:2-events_unbound)" STAT_TAIL, &ids), 0);
	assert_string_equal(ids.comm, "kworker/u8:2-eve");
}

static void broken_stat_is_refused_and_touches_nothing(void **state)
{
	static const char *const texts[] = {"", "42", "42 (bash", "42 bash) S 1", "42 (bash)",
		"42 (bash) S", "42 (bash) S 1 2 3\n", "42 (bash) S x" STAT_TAIL,
		"42 (bash) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 99999999999999999999 1\n"};
	struct proc_ids ids = {.ppid = 5, .comm = "as it was"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(parse_proc_stat(texts[i], &ids), -EINVAL);
	assert_int_equal(ids.ppid, 5);
	assert_string_equal(ids.comm, "as it was");
}

static void the_real_uid_is_the_first(void **state)
{
	uint32_t uid = 7;

	(void)state;
	assert_int_equal(parse_status_uid("Name:\tx\\nUid:\t9\nUid:\t1000\t0\t0\t0\n", &uid), 0);
	assert_int_equal(uid, 1000);
	assert_int_equal(parse_status_uid("Uid:\t4294967295\t0\n", &uid), 0);
	assert_true(uid == UINT32_MAX);
	assert_int_equal(parse_status_uid("Uid:\t4294967296\n", &uid), -EINVAL);
	assert_int_equal(parse_status_uid("Gid:\t5\n", &uid), -EINVAL);
}

static void ids_come_from_stat_and_status(void **state)
{
	struct proc_ids ids;

	tree_file(*state, "/proc/42/stat", "42 (ba) sh)" STAT_TAIL);
	tree_file(*state, "/proc/42/status", "Name:\tba) sh\nUid:\t33\t33\t33\t33\n");
	assert_int_equal(read_proc_ids(*state, 42, &ids), 0);
	assert_string_equal(ids.comm, "ba) sh");
	assert_int_equal(ids.uid, 33);
	assert_int_equal(ids.ppid, 41);
}

static void this_very_process_is_read(void **state)
{
	struct proc_ids ids;
	char ret[256];

	(void)state;
	assert_int_equal(read_proc_ids("", getpid(), &ids), 0);
	assert_int_equal(ids.ppid, getppid());
	assert_int_equal(ids.uid, getuid());
	assert_string_equal(ids.comm, "test_procfs");
	assert_true(ids.start_ns > 0);
	assert_int_equal(read_cmdline("", getpid(), ret, sizeof(ret)), 0);
	assert_non_null(strstr(ret, "test_procfs"));
}

/* --- all processes --- */

struct seen {
	int count;
	pid_t sum;
	int stop_at;
};

static int count_pid(pid_t pid, void *arg)
{
	struct seen *seen = arg;

	seen->count++;
	seen->sum += pid;
	return seen->count == seen->stop_at ? 55 : 0;
}

static void only_numbers_are_processes(void **state)
{
	struct seen seen = {0};

	tree_dir(*state, "/proc/1");
	tree_dir(*state, "/proc/30");
	tree_dir(*state, "/proc/4x");
	tree_dir(*state, "/proc/0");
	tree_dir(*state, "/proc/self");
	tree_dir(*state, "/proc/99999999999");
	assert_int_equal(walk_processes(*state, count_pid, &seen), 0);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.sum, 31);
}

static void the_walk_stops_when_told(void **state)
{
	struct seen seen = {.stop_at = 1};

	tree_dir(*state, "/proc/1");
	tree_dir(*state, "/proc/30");
	assert_int_equal(walk_processes(*state, count_pid, &seen), 55);
	assert_int_equal(seen.count, 1);
	tree_remove(strdup(*state));
	assert_int_equal(walk_processes(*state, count_pid, &seen), -ENOENT);
	mkdir(*state, 0700);
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_joined_by_blanks),
		cmocka_unit_test(a_tail_of_nuls_goes),
		cmocka_unit_test(blanks_of_the_last_argument_stay),
		cmocka_unit_test(a_longer_vector_ends_in_dots),
		cmocka_unit_test(a_cut_leaves_no_half_character),
		cmocka_unit_test(no_room_at_all_is_survived),
		TREE_TEST(a_command_line_longer_than_a_page_is_cut),
		TREE_TEST(kernel_threads_have_an_empty_one),
		TREE_TEST(a_process_that_is_gone_is_an_error),
		TREE_TEST(a_program_file_by_name),
		TREE_TEST(a_replaced_program_file_keeps_its_name),
		TREE_TEST(a_long_path_shows_its_cut),
		cmocka_unit_test(stat_of_a_plain_process),
		cmocka_unit_test(names_that_imitate_the_rest_of_the_line),
		cmocka_unit_test(a_workers_long_name_is_cut),
		cmocka_unit_test(broken_stat_is_refused_and_touches_nothing),
		cmocka_unit_test(the_real_uid_is_the_first),
		TREE_TEST(ids_come_from_stat_and_status),
		cmocka_unit_test(this_very_process_is_read),
		TREE_TEST(only_numbers_are_processes),
		TREE_TEST(the_walk_stops_when_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
