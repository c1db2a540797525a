// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "facts/procsize.h"

#define REST                                                                                       \
	" 14730 14703 14703 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 1234567 9000000 654 "            \
	"18446744073709551615 1 1\n"

static void a_line_of_stat(void **state)
{
	struct proc_size size;

	(void)state;
	assert_int_equal(parse_proc_size("14731 (python3) S" REST, &size), 0);
	assert_int_equal(size.pid, 14731);
	assert_int_equal(size.ppid, 14730);
	assert_int_equal(size.rss_pages, 654);
	assert_int_equal(size.state, 'S');
	assert_string_equal(size.comm, "python3");
}

static void a_name_may_hold_anything(void **state)
{
	struct proc_size size;

	(void)state;
	assert_int_equal(parse_proc_size("7 (a) S 1 (b)\n) Z" REST, &size), 0);
	assert_string_equal(size.comm, "a) S 1 (b)\n");
	assert_int_equal(size.state, 'Z');
	assert_int_equal(size.ppid, 14730);
	assert_int_equal(parse_proc_size("7 () R" REST, &size), 0);
	assert_string_equal(size.comm, "");
}

static void what_is_no_stat(void **state)
{
	static const char *const texts[] = {"", "7", "7 (x", "7 (x) ", "7 (x) S 1 2 3\n",
		"x (x) S" REST, ") ( S" REST,
		"7 (x) S x 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n",
		"7 (x) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 -5 1\n",
		"7 (x) S 4294967296 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 5 1\n"};
	struct proc_size size;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(parse_proc_size(texts[i], &size), -EINVAL);
}

static void proportional_shares(void **state)
{
	uint64_t bytes;

	(void)state;
	assert_int_equal(parse_smaps_rollup("00400000-7ff0 ---p 00000000 00:00 0  [rollup]\n"
					    "Rss:                1000 kB\n"
					    "Pss:                 300 kB\n"
					    "Pss_Dirty:           100 kB\n"
					    "SwapPss:              20 kB\n",
				 &bytes),
		0);
	assert_int_equal(bytes, 320 << 10);
	assert_int_equal(parse_smaps_rollup("Rss: 1000 kB\n", &bytes), -EINVAL);
	assert_int_equal(parse_smaps_rollup("Pss: kB\n", &bytes), -EINVAL);
	assert_int_equal(parse_smaps_rollup("Pss: 18446744073709551615 kB\n", &bytes), -EINVAL);
}

static void of_this_process(void **state)
{
	struct proc_size size;
	uint64_t bytes;

	(void)state;
	assert_int_equal(read_proc_size("", getpid(), &size), 0);
	assert_int_equal(size.ppid, getppid());
	assert_true(size.rss_pages > 0);
	assert_int_equal(read_pss("", getpid(), &bytes), 0);
	assert_true(bytes > 0);
	assert_int_equal(read_proc_size("/nowhere", getpid(), &size), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_of_stat),
		cmocka_unit_test(a_name_may_hold_anything),
		cmocka_unit_test(what_is_no_stat),
		cmocka_unit_test(proportional_shares),
		cmocka_unit_test(of_this_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
