// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include <sys/mman.h>
#include <sys/wait.h>

#include "facts/rights.h"
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

#define STATUS(effective)                                                                          \
	"Name:\tx\nCapInh:\t0000000000000000\nCapPrm:\t000001ffffffffff\nCapEff:\t" effective      \
	"\nCapBnd:\t000000c000200000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t0\n"

static void sets_are_read_from_the_status(void **state)
{
	struct rights rights;

	(void)state;
	assert_int_equal(parse_status_rights(STATUS("000000c000000000"), &rights), 0);
	assert_true(rights.effective == (RIGHT(CAP_BPF) | RIGHT(CAP_PERFMON)));
	assert_true(rights.permitted == 0x1ffffffffffULL);
	assert_true(
		rights.bounding == (RIGHT(CAP_BPF) | RIGHT(CAP_PERFMON) | RIGHT(CAP_SYS_ADMIN)));
	assert_true(rights.no_new_privs);
}

static void the_uid_that_counts_is_the_effective_one(void **state)
{
	struct rights rights;

	(void)state;
	assert_int_equal(
		parse_status_rights(
			"Uid:\t0\t65534\t0\t0\nCapPrm:\t0\nCapEff:\t0\nCapBnd:\t0\n", &rights),
		0);
	assert_int_equal(rights.uid, 65534);
}

static void a_set_of_an_older_kernel_has_fewer_digits(void **state)
{
	struct rights rights;

	(void)state;
	assert_int_equal(parse_status_rights("CapPrm:\t0\nCapEff:\tf0\nCapBnd:\t1\n", &rights), 0);
	assert_true(rights.effective == 0xf0);
	assert_false(rights.no_new_privs);
}

static void a_status_without_them_is_refused(void **state)
{
	struct rights rights = {.effective = 5};

	(void)state;
	assert_int_equal(parse_status_rights("", &rights), -EINVAL);
	assert_int_equal(parse_status_rights("CapEff:\t0\nCapPrm:\t0\n", &rights), -EINVAL);
	assert_int_equal(parse_status_rights(STATUS("xyz"), &rights), -EINVAL);
	assert_int_equal(parse_status_rights(STATUS(""), &rights), -EINVAL);
	assert_int_equal(parse_status_rights(STATUS("00000000000000001"), &rights), -EINVAL);
	assert_int_equal(rights.effective, 5);
}

static void names_have_their_numbers(void **state)
{
	(void)state;
	assert_string_equal(capability_name(CAP_CHOWN), "CAP_CHOWN");
	assert_string_equal(capability_name(CAP_SYS_PTRACE), "CAP_SYS_PTRACE");
	assert_string_equal(capability_name(CAP_SYS_ADMIN), "CAP_SYS_ADMIN");
	assert_string_equal(capability_name(CAP_SYSLOG), "CAP_SYSLOG");
	assert_string_equal(capability_name(CAP_PERFMON), "CAP_PERFMON");
	assert_string_equal(capability_name(CAP_BPF), "CAP_BPF");
	assert_string_equal(capability_name(CAP_LAST_CAP), "CAP_CHECKPOINT_RESTORE");
	assert_null(capability_name(CAP_LAST_CAP + 1));
	assert_null(capability_name(UINT32_MAX));
}

static void what_is_missing_is_named(void **state)
{
	const char *missing[RIGHTS_MISSING_MAX];
	struct rights rights = {0};

	(void)state;
	assert_int_equal(rights_check(&rights, missing), 2);
	assert_string_equal(missing[0], "CAP_BPF");
	assert_string_equal(missing[1], "CAP_PERFMON");
	rights.effective = RIGHT(CAP_BPF);
	assert_int_equal(rights_check(&rights, missing), 1);
	assert_string_equal(missing[0], "CAP_PERFMON");
	rights.effective = RIGHT(CAP_PERFMON);
	assert_int_equal(rights_check(&rights, missing), 1);
	assert_string_equal(missing[0], "CAP_BPF");
	rights.effective |= RIGHT(CAP_BPF);
	assert_int_equal(rights_check(&rights, missing), 0);
	rights.effective = RIGHT(CAP_SYS_ADMIN);
	assert_int_equal(rights_check(&rights, missing), 0);
	/* held, but not in force */
	rights.effective = 0;
	rights.permitted = UINT64_MAX;
	assert_int_equal(rights_check(&rights, missing), 2);
}

static void only_the_whole_map_is_the_hosts(void **state)
{
	(void)state;
	assert_true(parse_uid_map_initial("         0          0 4294967295\n"));
	assert_false(parse_uid_map_initial("         0     100000      65536\n"));
	assert_false(parse_uid_map_initial("         0          0      65536\n"));
	assert_false(parse_uid_map_initial("0 0 4294967295\n1 1 1\n"));
	assert_false(parse_uid_map_initial(""));
	assert_false(parse_uid_map_initial("0 0\n"));
}

static void a_user_namespace_is_seen(void **state)
{
	struct rights rights;

	tree_file(*state, "/proc/self/status", STATUS("000001ffffffffff"));
	assert_int_equal(read_rights(*state, &rights), 0);
	assert_false(rights.user_namespace);
	tree_file(*state, "/proc/self/uid_map", "0 0 4294967295\n");
	assert_int_equal(read_rights(*state, &rights), 0);
	assert_false(rights.user_namespace);
	tree_file(*state, "/proc/self/uid_map", "0 100000 65536\n");
	assert_int_equal(read_rights(*state, &rights), 0);
	assert_true(rights.user_namespace);
}

static void no_status_is_an_error(void **state)
{
	struct rights rights;

	assert_int_equal(read_rights(*state, &rights), -ENOENT);
}

/* --- oom_score_adj --- */

struct floor {
	int lowest, now, calls;
};

static int set_above_floor(int adj, void *arg)
{
	struct floor *floor = arg;

	floor->calls++;
	if (adj < floor->lowest)
		return -EACCES;
	floor->now = adj;
	return 0;
}

static void the_lowest_permitted_value_is_found(void **state)
{
	static const int floors[] = {-999, -998, -500, -1, 0, 1, 499, 500};

	(void)state;
	for (size_t i = 0; i < sizeof(floors) / sizeof(*floors); i++) {
		struct floor floor = {.lowest = floors[i], .now = 500};
		int adj = 7777;

		assert_int_equal(rights_lowest_adj(500, set_above_floor, &floor, &adj), -EACCES);
		assert_int_equal(adj, floors[i]);
		assert_int_equal(floor.now, adj);
		assert_true(floor.calls <= 12);
	}
}

static void the_lowest_of_all_takes_one_try(void **state)
{
	struct floor floor = {.lowest = -1000, .now = 0};
	int adj = 7777;

	(void)state;
	assert_int_equal(rights_lowest_adj(0, set_above_floor, &floor, &adj), 0);
	assert_int_equal(adj, -1000);
	assert_int_equal(floor.calls, 1);
}

static void protection_is_told_step_by_step(void **state)
{
	struct rights_protection protection;
	char *text;

	tree_file(*state, "/proc/self/oom_score_adj", "300\n");
	rights_protect(*state, &protection);
	assert_int_equal(protection.adj_error, 0);
	assert_int_equal(protection.adj, -1000);
	assert_int_equal(protection.adj_before, 300);
	text = calloc(1, 64);
	snprintf(text, 64, "%s/proc/self/oom_score_adj", (char *)*state);
	assert_int_equal(rights_set_adj(*state, 5), 0);
	unlink(text);
	free(text);
	rights_protect(*state, &protection);
	assert_int_equal(protection.adj_error, -ENOENT);
	assert_int_equal(protection.adj, 0);
	assert_int_equal(protection.adj_before, 0);
	munlockall();
}

/* --- dropping: in a child, since nothing brings them back --- */

static int drop_and_look(uint64_t keep)
{
	struct rights before, after;

	if (read_rights("", &before) || rights_drop(keep) || read_rights("", &after))
		return 1;
	if (after.effective != (before.permitted & keep) || after.permitted != after.effective)
		return 2;
	if (!after.no_new_privs)
		return 3;
	if ((before.effective & RIGHT(CAP_SETPCAP)) && after.bounding != 0)
		return 4;
	/* once more, now that nothing is left to do it with */
	if (rights_drop(0) || read_rights("", &after) || after.effective || after.permitted)
		return 5;
	return 0;
}

static int in_child(uint64_t keep)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(drop_and_look(keep));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void nothing_is_left_but_what_is_kept(void **state)
{
	(void)state;
	assert_int_equal(in_child(0), 0);
	assert_int_equal(in_child(RIGHT(CAP_SYS_PTRACE) | RIGHT(CAP_DAC_READ_SEARCH)), 0);
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_are_read_from_the_status),
		cmocka_unit_test(the_uid_that_counts_is_the_effective_one),
		cmocka_unit_test(a_set_of_an_older_kernel_has_fewer_digits),
		cmocka_unit_test(a_status_without_them_is_refused),
		cmocka_unit_test(names_have_their_numbers),
		cmocka_unit_test(what_is_missing_is_named),
		cmocka_unit_test(only_the_whole_map_is_the_hosts),
		TREE_TEST(a_user_namespace_is_seen),
		TREE_TEST(no_status_is_an_error),
		cmocka_unit_test(the_lowest_permitted_value_is_found),
		cmocka_unit_test(the_lowest_of_all_takes_one_try),
		TREE_TEST(protection_is_told_step_by_step),
		cmocka_unit_test(nothing_is_left_but_what_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
