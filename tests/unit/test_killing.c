// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "model/killing.h"

#define T0 1000000000000ULL
#define MS 1000000ULL

static struct killings *killings;
static struct processes *processes;
static struct cgroups *cgroups;
static struct fact fact;

static int begin(void **state)
{
	(void)state;
	processes = processes_new(64);
	cgroups = cgroups_new(64);
	killings = killings_new(processes, cgroups);
	cgroup_learn(cgroups, 7, "/pod/app", T0);
	cgroup_learn(cgroups, 8, "/pod", T0);
	cgroup_learn(cgroups, 9, "/podder", T0);
	return killings ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	killings_free(killings);
	processes_free(processes);
	cgroups_free(cgroups);
	return 0;
}

static void make(uint32_t sender, uint32_t target, uint64_t at_ns)
{
	memset(&fact, 0, sizeof(fact));
	fact.kind = EV_SIGNAL;
	fact.signal.hdr.time_ns = at_ns;
	fact.signal.signal = 9;
	fact.signal.flags = EV_SIGNAL_GROUP;
	fact.signal.burst = 1;
	fact.signal.burst_ns = at_ns;
	fact.signal.sender_tgid = sender;
	fact.signal.sender_start_ns = 5;
	fact.signal.tgid = target;
	fact.signal.start_ns = target;
	fact.signal.cgroup_id = 7;
	memcpy(fact.signal.comm, "0123456789abcdef", EV_COMM_LEN);
}

static void send(uint32_t sender, uint32_t target, uint64_t at_ns)
{
	make(sender, target, at_ns);
	killings_fact(killings, &fact);
}

static void mark(uint32_t target, uint64_t cgroup, uint64_t at_ns)
{
	memset(&fact, 0, sizeof(fact));
	fact.kind = EV_TASK;
	fact.task.hdr.time_ns = at_ns;
	fact.task.role = EV_ROLE_VICTIM;
	fact.task.tgid = target;
	fact.task.cgroup_id = cgroup;
	killings_fact(killings, &fact);
}

static struct killing *only(void)
{
	struct killing *killing = killings_next_closed(killings, UINT64_MAX), *more;

	assert_non_null(killing);
	killings_release(killings, killing);
	more = killings_next_closed(killings, UINT64_MAX);
	assert_null(more);
	return killing;
}

static void what_one_sender_does_at_once_is_one_record(void **state)
{
	struct killing *killing;

	(void)state;
	send(10, 100, T0);
	send(10, 101, T0 + 100 * MS);
	send(10, 102, T0 + 200 * MS);
	killing = only();
	assert_int_equal(killing->total, 3);
	assert_int_equal(killing->target_count, 3);
	assert_int_equal(killing->targets[2].tgid, 102);
	assert_int_equal(killing->time_ns, T0);
	assert_int_equal(killing->last_ns, T0 + 200 * MS);
	assert_string_equal(killing->targets[0].comm, "0123456789abcdef");
	assert_string_equal(killing->target_cgroup, "/pod/app");
}

static void a_pause_or_another_sender_makes_another_record(void **state)
{
	(void)state;
	send(10, 100, T0);
	send(11, 101, T0 + MS);
	send(10, 102, T0 + KILLING_GAP_NS + MS);
	for (uint32_t i = 1; i <= 3; i++) {
		struct killing *killing = killings_next_closed(killings, UINT64_MAX);

		assert_int_equal(killing->number, i);
		assert_int_equal(killing->total, 1);
		killings_release(killings, killing);
	}
	assert_null(killings_next_closed(killings, UINT64_MAX));
}

static void it_closes_in_time(void **state)
{
	(void)state;
	assert_true(killings_deadline(killings) == UINT64_MAX);
	send(10, 100, T0);
	assert_int_equal(killings_deadline(killings), T0 + KILLING_GAP_NS);
	assert_null(killings_next_closed(killings, T0 + KILLING_GAP_NS - 1));
	assert_non_null(killings_next_closed(killings, T0 + KILLING_GAP_NS));
	/* Whoever goes on and on is told once a second. */
	for (uint64_t at = T0; at < T0 + KILLING_MOST_NS; at += 100 * MS)
		send(10, 101, at);
	assert_int_equal(killings_deadline(killings), T0 + KILLING_MOST_NS);
}

static void manners_are_told_apart(void **state)
{
	static const struct {
		uint32_t signal, flags;
		int32_t code, argument;
		enum killing_manner manner;
	} cases[] = {
		{9, EV_SIGNAL_GROUP | EV_SIGNAL_ARGUMENT, 0, 55, MANNER_EACH},
		{9, EV_SIGNAL_GROUP, 0, 0, MANNER_EACH},
		{9, 0, -6, 0, MANNER_EACH},
		{9, EV_SIGNAL_GROUP | EV_SIGNAL_ARGUMENT, 0, -55, MANNER_GROUP},
		{9, EV_SIGNAL_GROUP | EV_SIGNAL_ARGUMENT, 0, 0, MANNER_GROUP},
		{9, EV_SIGNAL_GROUP | EV_SIGNAL_ARGUMENT, 0, -1, MANNER_ALL},
		{9, EV_SIGNAL_NOINFO, 0, 0, MANNER_CGROUP},
		{9, EV_SIGNAL_NOINFO | EV_SIGNAL_GROUP | EV_SIGNAL_EXITING, 0, 0, MANNER_PARENT},
		{9, EV_SIGNAL_PRIV | EV_SIGNAL_GROUP | EV_SIGNAL_EXITING | EV_SIGNAL_NS_INIT, 128,
			0, MANNER_NAMESPACE},
		{9, EV_SIGNAL_PRIV | EV_SIGNAL_GROUP, 128, 0, MANNER_KERNEL},
		{9, EV_SIGNAL_GROUP, -2, 0, MANNER_TIMER},
		{7, 0, 2, 0, MANNER_FAULT},
		{11, 0, 1, 0, MANNER_FAULT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make(10, 100, T0);
		fact.signal.signal = cases[i].signal;
		fact.signal.flags = cases[i].flags;
		fact.signal.code = cases[i].code;
		fact.signal.argument = cases[i].argument;
		killings_fact(killings, &fact);
		assert_int_equal(only()->manner, cases[i].manner);
	}
}

/* The signal first, the mark right behind. */
static void the_oom_killers_own_are_taken_out(void **state)
{
	(void)state;
	make(10, 100, T0);
	fact.signal.flags |= EV_SIGNAL_PRIV;
	killings_fact(killings, &fact);
	mark(100, 7, T0 + 1000);
	assert_null(killings_next_closed(killings, UINT64_MAX));
	/* As a member of its group it is sent another one, before the mark is seen or after it. */
	for (int i = 0; i < 2; i++) {
		make(10, 102, T0 + i * 500);
		fact.signal.flags |= EV_SIGNAL_PRIV;
		killings_fact(killings, &fact);
	}
	mark(102, 7, T0 + 1000);
	make(10, 102, T0 + 2000);
	fact.signal.flags |= EV_SIGNAL_PRIV;
	killings_fact(killings, &fact);
	assert_null(killings_next_closed(killings, UINT64_MAX));
	/* What a process sends stays, even to one that the OOM killer marks then. */
	send(10, 101, T0);
	mark(101, 7, T0 + 1000);
	assert_int_equal(only()->targets[0].tgid, 101);
}

static void an_oom_kill_before_is_remembered_where_it_was(void **state)
{
	static const struct {
		uint64_t cgroup, before_ns;
		bool is_near;
	} cases[] = {
		{7, 500 * MS, true},
		{8, 500 * MS, true},
		{9, 500 * MS, false},
		{7, KILLING_OOM_NS + MS, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		end(state);
		begin(state);
		mark(55, cases[i].cgroup, T0 - cases[i].before_ns);
		send(10, 100, T0);
		assert_int_equal(only()->oom_tgid, cases[i].is_near ? 55 : 0);
	}
}

static void what_was_only_counted_is_in_the_total(void **state)
{
	struct killing *killing;

	(void)state;
	for (uint32_t i = 0; i < 40; i++) {
		make(10, 100 + i, T0 + i);
		fact.signal.burst = i + 1;
		killings_fact(killings, &fact);
	}
	killing = only();
	assert_int_equal(killing->total, 40);
	assert_int_equal(killing->target_count, KILLING_TARGETS);
	killing_counted(killing, 1000);
	assert_int_equal(killing->total, 1000);
	/* Of a short burst all were told: the others are in a record of another manner. */
	send(10, 100, T0);
	killing = only();
	killing_counted(killing, EV_BURST_TOLD);
	assert_int_equal(killing->total, 1);
}

static void the_pool_is_bounded_and_says_so(void **state)
{
	unsigned int told = 0;
	struct killing *killing;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		send(1000 + i, 100, T0 + i);
	assert_true(killings_evicted(killings) > 0);
	/* The oldest is to be told at once, and makes room. */
	killing = killings_next_closed(killings, 0);
	assert_int_equal(killing->sender_tgid, 1000);
	killings_release(killings, killing);
	send(5000, 100, T0 + 200);
	while ((killing = killings_next_closed(killings, UINT64_MAX))) {
		killings_release(killings, killing);
		told++;
	}
	assert_int_equal(told + 1 + killings_evicted(killings), 101);
}

static void names_come_from_the_tables(void **state)
{
	struct process *process = process_get(processes, 10, 5, T0);
	struct killing *killing;

	(void)state;
	strcpy(process->cmdline, "old name");
	strcpy(process->exe, "/usr/bin/x");
	send(10, 100, T0);
	killing = killings_next_fresh(killings);
	assert_string_equal(killing->sender_cmdline, "old name");
	assert_string_equal(killing->sender_exe, "/usr/bin/x");
	assert_null(killings_next_fresh(killings));
	only();
	make(10, 100, T0);
	fact.text_len = 8;
	fact.signal.args_len = 8;
	memcpy(fact.text, "kill\0-9", 8);
	killings_fact(killings, &fact);
	assert_string_equal(only()->sender_cmdline, "kill -9");
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(what_one_sender_does_at_once_is_one_record),
		EACH(a_pause_or_another_sender_makes_another_record),
		EACH(it_closes_in_time),
		EACH(manners_are_told_apart),
		EACH(the_oom_killers_own_are_taken_out),
		EACH(an_oom_kill_before_is_remembered_where_it_was),
		EACH(what_was_only_counted_is_in_the_total),
		EACH(the_pool_is_bounded_and_says_so),
		EACH(names_come_from_the_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
