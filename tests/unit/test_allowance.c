// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "facts/allowance.h"
#include "tree.h"

static void promises_are_read(void **state)
{
	static const char text[] = "MemTotal: 5 kB\nCommitLimit:    12341808 kB\n"
				   "Committed_AS:    3675632 kB\nCommitted: 1 kB\n";
	static const char broken[] = "CommitLimit: x kB\nCommitted_AS: 18446744073709551615 kB\n";
	struct allowance ret;

	(void)state;
	parse_commit(text, sizeof(text) - 1, &ret);
	assert_true(ret.commit_limit_bytes == 12341808ULL << 10);
	assert_true(ret.committed_bytes == 3675632ULL << 10);
	parse_commit(broken, sizeof(broken) - 1, &ret);
	assert_true(ret.commit_limit_bytes == UNKNOWN_U64);
	assert_true(ret.committed_bytes == UNKNOWN_U64);
}

static uint64_t threads(const char *text)
{
	return parse_loadavg_threads(text, strlen(text));
}

static void threads_are_read(void **state)
{
	(void)state;
	assert_true(threads("0.10 0.20 0.30 2/345 6789\n") == 345);
	assert_true(threads("") == UNKNOWN_U64);
	assert_true(threads("0.10 0.20 0.30") == UNKNOWN_U64);
	assert_true(threads("0.10 0.20 0.30 2 6789\n") == UNKNOWN_U64);
	assert_true(threads("0.10 0.20 0.30 2/x 6789\n") == UNKNOWN_U64);
}

static int find(const char *text, unsigned int levels, char *ret, size_t size)
{
	return parse_pids_cgroup(text, strlen(text), levels, ret, size);
}

static void the_cgroup_of_pids_is_found(void **state)
{
	static const char v1[] = "9:memory:/m\n8:cpu,pids:/a/b/c\n0::/x\n";
	char path[16];

	(void)state;
	assert_int_equal(find(v1, 0, path, sizeof(path)), 0);
	assert_string_equal(path, "/a/b/c");
	assert_int_equal(find(v1, 2, path, sizeof(path)), 0);
	assert_string_equal(path, "/a");
	assert_int_equal(find(v1, 3, path, sizeof(path)), 0);
	assert_string_equal(path, "/");
	assert_int_equal(find(v1, 9, path, sizeof(path)), 0);
	assert_string_equal(path, "/");
	assert_int_equal(find("0::/x/y\n", 1, path, sizeof(path)), 0);
	assert_string_equal(path, "/x");
	assert_int_equal(find("9:memory:/m\n", 0, path, sizeof(path)), -ENOENT);
	assert_int_equal(find("0::nonsense\n", 0, path, sizeof(path)), -ENOENT);
	assert_int_equal(find("0::/longer-than-it/may-be\n", 0, path, sizeof(path)), -ENAMETOOLONG);
}

static void what_is_not_there_is_not_known(void **state)
{
	char *root = tree_new();
	struct allowance ret;
	char path[16];

	(void)state;
	read_allowance(root, &ret);
	for (size_t i = 0; i < sizeof(ret) / sizeof(uint64_t); i++)
		assert_true(((uint64_t *)&ret)[i] == UNKNOWN_U64);
	assert_int_equal(read_pids_cgroup(root, 1, 0, path, sizeof(path)), -ENOENT);
	tree_remove(root);
	read_allowance("", &ret);
	assert_true(ret.overcommit <= 2);
	assert_true(ret.max_map_count != UNKNOWN_U64 && ret.threads != UNKNOWN_U64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(promises_are_read),
		cmocka_unit_test(threads_are_read),
		cmocka_unit_test(the_cgroup_of_pids_is_found),
		cmocka_unit_test(what_is_not_there_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
