// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include <string.h>

#include "model/process.h"

#define S 1000000000ULL

static void a_process_is_its_pid_and_its_start(void **state)
{
	struct processes *table = processes_new(8);
	struct process *a = process_get(table, 100, 5 * S + 1, 1);
	struct process *b = process_get(table, 100, 9 * S + 1, 2);

	(void)state;
	strcpy(a->cmdline, "first");
	strcpy(b->cmdline, "second");
	assert_ptr_not_equal(a, b);
	assert_int_equal(processes_count(table), 2);
	assert_ptr_equal(process_get(table, 100, 5 * S + 1, 3), a);
	assert_string_equal(process_find(table, 100, 5 * S + 1)->cmdline, "first");
	assert_string_equal(process_find(table, 100, 9 * S + 1)->cmdline, "second");
	assert_null(process_find(table, 100, 7 * S));
	assert_null(process_find(table, 101, 5 * S + 1));
	processes_free(table);
}

static void the_newest_of_a_pid_where_the_start_is_not_known(void **state)
{
	struct processes *table = processes_new(8);
	struct process *older, *newer;

	(void)state;
	newer = process_get(table, 100, 9 * S + 1, 1);
	older = process_get(table, 100, 5 * S + 1, 2);
	assert_ptr_equal(process_find(table, 100, UINT64_MAX), newer);
	assert_ptr_equal(process_get(table, 100, UINT64_MAX, 3), newer);
	assert_ptr_not_equal(older, newer);
	assert_null(process_find(table, 7, UINT64_MAX));
	processes_free(table);
}

static void a_start_that_becomes_known_belongs_to_the_same_process(void **state)
{
	struct processes *table = processes_new(8);
	struct process *unknown = process_get(table, 100, UINT64_MAX, 1);

	(void)state;
	assert_ptr_equal(process_get(table, 100, 5 * S + 1, 2), unknown);
	assert_true(unknown->start_ns == 5 * S + 1);
	assert_int_equal(processes_count(table), 1);
	processes_free(table);
}

static void starts_from_proc_are_coarser(void **state)
{
	struct processes *table = processes_new(8);
	struct process *process = process_get(table, 100, 5 * S + 30000000, 1);

	(void)state;
	/* cut down to whole ticks by /proc; the kernel's own start comes later */
	assert_ptr_equal(process_find(table, 100, 5 * S + 34567890), process);
	assert_ptr_equal(process_get(table, 100, 5 * S + 34567890, 2), process);
	assert_true(process->start_ns == 5 * S + 34567890);
	/* and the other way round: the exact start is kept */
	assert_ptr_equal(process_get(table, 100, 5 * S + 30000000, 3), process);
	assert_true(process->start_ns == 5 * S + 34567890);
	assert_int_equal(processes_count(table), 1);
	assert_non_null(process_find(table, 100, 5 * S + 34567890 + PROCESS_START_SLACK_NS));
	assert_null(process_find(table, 100, 5 * S + 34567891 + PROCESS_START_SLACK_NS));
	processes_free(table);
}

static void a_pid_reused_at_once_is_another_process(void **state)
{
	struct processes *table = processes_new(8);
	struct process *first = process_get(table, 100, 5 * S + 1, 1), *second;

	(void)state;
	strcpy(first->cmdline, "first");
	process_exit(table, 100, 5 * S + 1, 2);
	second = process_get(table, 100, 5 * S + 2000001, 3);
	assert_ptr_not_equal(first, second);
	assert_string_equal(second->cmdline, "");
	assert_false(second->exited);
	/* of two within the slack the nearer one */
	assert_ptr_equal(process_find(table, 100, 5 * S + 2), first);
	assert_ptr_equal(process_find(table, 100, 5 * S + 2000000), second);
	/* and one from /proc that has exited does not come back either */
	first = process_get(table, 200, 6 * S, 4);
	process_exit(table, 200, 6 * S, 5);
	assert_ptr_not_equal(process_get(table, 200, 6 * S + 5000001, 6), first);
	processes_free(table);
}

static void a_forked_process_has_its_parents_command_line(void **state)
{
	struct processes *table = processes_new(8);
	struct process *parent = process_get(table, 10, 1 * S + 1, 1), *child;

	(void)state;
	strcpy(parent->cmdline, "python train.py");
	strcpy(parent->exe, "/usr/bin/python3");
	process_fork(table, 11, 2 * S + 1, 10, 1 * S + 1, 2);
	child = process_find(table, 11, 2 * S + 1);
	assert_non_null(child);
	assert_string_equal(child->cmdline, "python train.py");
	assert_string_equal(child->exe, "/usr/bin/python3");
	assert_int_equal(child->ppid, 10);
	assert_true(child->inherited);
	assert_false(parent->inherited);
	processes_free(table);
}

static void a_fork_told_late_does_not_undo_an_exec(void **state)
{
	struct processes *table = processes_new(8);
	struct process *child;

	(void)state;
	strcpy(process_get(table, 10, 1 * S + 1, 1)->cmdline, "sh");
	child = process_get(table, 11, 2 * S + 1, 2);
	strcpy(child->cmdline, "hog 64");
	process_fork(table, 11, 2 * S + 1, 10, 1 * S + 1, 3);
	assert_string_equal(child->cmdline, "hog 64");
	assert_false(child->inherited);
	assert_int_equal(child->ppid, 10);
	processes_free(table);
}

static void a_fork_of_an_unknown_parent_is_still_a_process(void **state)
{
	struct processes *table = processes_new(8);

	(void)state;
	process_fork(table, 11, 2 * S + 1, 10, 1 * S + 1, 3);
	assert_int_equal(process_find(table, 11, 2 * S + 1)->ppid, 10);
	assert_string_equal(process_find(table, 11, 2 * S + 1)->cmdline, "");
	assert_false(process_find(table, 11, 2 * S + 1)->inherited);
	assert_int_equal(processes_count(table), 1);
	processes_free(table);
}

static void the_longest_dead_gives_way_first(void **state)
{
	struct processes *table = processes_new(4);

	(void)state;
	for (uint32_t pid = 1; pid <= 4; pid++)
		process_get(table, pid, S + pid, pid);
	process_exit(table, 3, S + 3, 10);
	process_exit(table, 2, S + 2, 11);
	process_get(table, 3, S + 3, 12); /* asking for a dead one makes it no younger */
	process_get(table, 5, S + 5, 13);
	assert_null(process_find(table, 3, S + 3));
	process_get(table, 6, S + 6, 14);
	assert_null(process_find(table, 2, S + 2));
	assert_int_equal(processes_evicted(table), 0);
	assert_int_equal(processes_count(table), 4);
	processes_free(table);
}

static void then_the_one_not_heard_of_for_longest_and_it_is_counted(void **state)
{
	struct processes *table = processes_new(3);

	(void)state;
	for (uint32_t pid = 1; pid <= 3; pid++)
		process_get(table, pid, S + pid, pid);
	process_get(table, 1, S + 1, 10);
	process_find(table, 2, S + 2); /* looking is not hearing */
	process_get(table, 4, S + 4, 11);
	assert_null(process_find(table, 2, S + 2));
	assert_non_null(process_find(table, 1, S + 1));
	assert_int_equal(processes_evicted(table), 1);
	processes_free(table);
}

static void a_parent_does_not_give_way_to_its_child(void **state)
{
	struct processes *table = processes_new(2);

	(void)state;
	strcpy(process_get(table, 10, S + 1, 1)->cmdline, "parent");
	process_get(table, 20, S + 2, 2);
	process_fork(table, 11, 2 * S + 1, 10, S + 1, 3);
	assert_non_null(process_find(table, 10, S + 1));
	assert_string_equal(process_find(table, 11, 2 * S + 1)->cmdline, "parent");
	processes_free(table);
	table = processes_new(1);
	process_get(table, 10, S + 1, 1);
	process_fork(table, 11, 2 * S + 1, 10, S + 1, 3);
	assert_int_equal(process_find(table, 11, 2 * S + 1)->ppid, 10);
	processes_free(table);
}

static void exits_of_the_unknown_are_nothing(void **state)
{
	struct processes *table = processes_new(4);

	(void)state;
	process_exit(table, 9, S, 1);
	assert_int_equal(processes_count(table), 0);
	process_get(table, 9, S + 1, 2);
	process_exit(table, 9, S + 1, 3);
	process_exit(table, 9, S + 1, 4);
	assert_true(process_find(table, 9, S + 1)->exited);
	processes_free(table);
}

static void sizes_that_cannot_be_are_refused(void **state)
{
	(void)state;
	errno = 0;
	assert_null(processes_new(0));
	assert_int_equal(errno, EINVAL);
	assert_null(processes_new(SIZE_MAX));
	processes_free(NULL);
}

/* Against a table that is right by being simple: 200,000 steps over few pids in little room. */
#define MODEL_ROOM 16
static struct {
	uint32_t tgid;
	uint64_t start_ns, order;
	bool exited;
} model[MODEL_ROOM];

static int model_index(uint32_t tgid, uint64_t start_ns)
{
	for (int i = 0; i < MODEL_ROOM; i++) {
		if (model[i].order && model[i].tgid == tgid && model[i].start_ns == start_ns)
			return i;
	}
	return -1;
}

static int model_victim(void)
{
	int victim = -1;

	for (int i = 0; i < MODEL_ROOM; i++) {
		if (!model[i].order)
			return i;
		if (victim < 0 || model[i].exited > model[victim].exited ||
			(model[i].exited == model[victim].exited &&
				model[i].order < model[victim].order))
			victim = i;
	}
	return victim;
}

static void model_get(uint32_t tgid, uint64_t start_ns, uint64_t order)
{
	int at = model_index(tgid, start_ns);

	if (at < 0) {
		at = model_victim();
		model[at].tgid = tgid;
		model[at].start_ns = start_ns;
		model[at].exited = false;
	}
	if (!model[at].exited)
		model[at].order = order;
}

static void model_exit(uint32_t tgid, uint64_t start_ns, uint64_t order)
{
	int at = model_index(tgid, start_ns);

	if (at < 0 || model[at].exited)
		return;
	model[at].exited = true;
	model[at].order = order;
}

static void the_table_agrees_with_a_simple_one(void **state)
{
	struct processes *table = processes_new(MODEL_ROOM);
	uint64_t random = 88172645463325252ULL;

	(void)state;
	for (uint64_t step = 1; step <= 200000; step++) {
		uint32_t tgid;
		uint64_t start_ns;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		tgid = 1 + random % 13;
		start_ns = (1 + (random >> 8) % 3) * S + 1;
		if ((random >> 16) % 4 == 0) {
			process_exit(table, tgid, start_ns, step);
			model_exit(tgid, start_ns, step);
		} else {
			process_get(table, tgid, start_ns, step);
			model_get(tgid, start_ns, step);
		}
		tgid = 1 + (random >> 24) % 13;
		assert_true((process_find(table, tgid, start_ns) != NULL) ==
			    (model_index(tgid, start_ns) >= 0));
	}
	assert_int_equal(processes_count(table), MODEL_ROOM);
	processes_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_its_pid_and_its_start),
		cmocka_unit_test(the_newest_of_a_pid_where_the_start_is_not_known),
		cmocka_unit_test(a_start_that_becomes_known_belongs_to_the_same_process),
		cmocka_unit_test(starts_from_proc_are_coarser),
		cmocka_unit_test(a_pid_reused_at_once_is_another_process),
		cmocka_unit_test(a_forked_process_has_its_parents_command_line),
		cmocka_unit_test(a_fork_told_late_does_not_undo_an_exec),
		cmocka_unit_test(a_fork_of_an_unknown_parent_is_still_a_process),
		cmocka_unit_test(the_longest_dead_gives_way_first),
		cmocka_unit_test(then_the_one_not_heard_of_for_longest_and_it_is_counted),
		cmocka_unit_test(a_parent_does_not_give_way_to_its_child),
		cmocka_unit_test(exits_of_the_unknown_are_nothing),
		cmocka_unit_test(sizes_that_cannot_be_are_refused),
		cmocka_unit_test(the_table_agrees_with_a_simple_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
