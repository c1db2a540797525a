// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "judge/killer.h"

/* Made processes: what they are called, which file they run, how they were called, and what they
 * are. */
static const struct {
	uint32_t tgid;
	const char *comm, *exe, *cmdline, *cgroup;
	enum killer_kind kind;
	const char *name;
	bool by_name;
} cases[] = {
	{1, "systemd", "/usr/lib/systemd/systemd", "/sbin/init", "/init.scope",
		KILLER_SERVICE_MANAGER, "systemd", false},
	{1, "init", "/sbin/init", "init", "/", KILLER_SERVICE_MANAGER, "init", false},
	{1, "what", "/usr/bin/what", "what", "/", KILLER_SERVICE_MANAGER, NULL, false},
	{9, "init", "/sbin/init", "init", "/", KILLER_PROCESS, NULL, false},
	{700, "systemd-oomd", "/usr/lib/systemd/systemd-oomd", "/lib/systemd/systemd-oomd",
		"/system.slice/systemd-oomd.service", KILLER_OOM_DAEMON, "systemd-oomd", false},
	{701, "earlyoom", "/usr/bin/earlyoom", "/usr/bin/earlyoom -r 3600", "", KILLER_OOM_DAEMON,
		"earlyoom", false},
	{702, "earlyoom", "", "", "", KILLER_OOM_DAEMON, "earlyoom", true},
	/* A name that anybody may take, beside a file that is another one. */
	{703, "earlyoom", "/home/u/other", "earlyoom", "", KILLER_PROCESS, NULL, false},
	{704, "nohang", "/usr/bin/python3.11", "python3 /usr/sbin/nohang --monitor --config /etc/x",
		"/system.slice/nohang.service", KILLER_OOM_DAEMON, "nohang", true},
	{705, "python3", "/usr/bin/python3.11", "python3 -u -B train.py nohang", "",
		KILLER_INTERPRETER, NULL, false},
	{706, "supervisord", "/usr/bin/python3.11", "/usr/bin/python3 /usr/bin/supervisord -n", "",
		KILLER_SERVICE_MANAGER, "supervisord", true},
	{707, "containerd-shim", "/usr/bin/containerd-shim-runc-v2", "", "", KILLER_RUNTIME, NULL,
		false},
	{708, "containerd-shim", "", "", "", KILLER_RUNTIME, NULL, true},
	{709, "runc", "/memfd:runc_cloned:/proc/self/exe", "runc kill", "", KILLER_RUNTIME, "runc",
		false},
	{710, "conmon", "/usr/bin/conmon", "", "", KILLER_RUNTIME, "conmon", false},
	{711, "kubelet", "/usr/bin/kubelet", "", "", KILLER_KUBELET, "kubelet", false},
	{712, "slurmstepd", "/usr/sbin/slurmstepd", "", "", KILLER_BATCH, "slurmstepd", false},
	{713, "timeout", "/usr/bin/timeout", "timeout -s KILL 5 x", "", KILLER_TOOL, "timeout",
		false},
	{714, "bash", "/usr/bin/bash", "-bash", "", KILLER_SHELL, "bash", false},
	{715, "timeout", "/bin/busybox", "timeout 3 x", "", KILLER_TOOL, "timeout", false},
	{716, "ash", "/bin/busybox", "ash", "", KILLER_SHELL, "busybox", false},
	{717, "sudo", "/usr/bin/sudo", "sudo x", "", KILLER_PRIVILEGE, "sudo", false},
	{718, "", "", "", "", KILLER_PROCESS, NULL, false},
	{719, "x", "/", "/ / / /", "", KILLER_PROCESS, NULL, false},
};

static void each_is_what_it_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct killer_facts facts = {cases[i].tgid, cases[i].comm, cases[i].exe, "",
			cases[i].cmdline, cases[i].cgroup};
		struct killer killer = killer_of(&facts);

		if (killer.kind != cases[i].kind || killer.by_name != cases[i].by_name)
			print_message("%u %s\n", cases[i].tgid, cases[i].comm);
		assert_int_equal(killer.kind, cases[i].kind);
		assert_int_equal(killer.by_name, cases[i].by_name);
		if (cases[i].name)
			assert_string_equal(killer.name, cases[i].name);
		else
			assert_null(killer.name);
	}
}

/* What the kernel told with the signal goes before what was learnt: it may have executed since. */
static void the_file_of_the_moment_counts(void **state)
{
	struct killer_facts facts = {800, "x", "/usr/bin/bash", "earlyoom", "", ""};

	(void)state;
	assert_int_equal(killer_of(&facts).kind, KILLER_OOM_DAEMON);
	assert_false(killer_of(&facts).by_name);
	facts.exe = "";
	facts.file = "memfd:runc_cloned:/proc/self/exe";
	assert_int_equal(killer_of(&facts).kind, KILLER_RUNTIME);
}

static void a_users_manager_is_told_apart(void **state)
{
	struct killer_facts facts = {900, "systemd", "/usr/lib/systemd/systemd", "",
		"/lib/systemd/systemd --user",
		"/user.slice/user-1000.slice/user@1000.service/init.scope"};

	(void)state;
	assert_true(killer_of(&facts).user_manager);
	facts.tgid = 1;
	assert_false(killer_of(&facts).user_manager);
}

static void only_managers_have_an_office(void **state)
{
	(void)state;
	for (int kind = 0; kind <= KILLER_LAST; kind++) {
		struct killer killer = {.kind = kind};

		assert_int_equal(killer_has_office(&killer),
			kind >= KILLER_OOM_DAEMON && kind <= KILLER_BATCH);
		assert_true(killer_kind_name(kind)[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_what_it_is),
		cmocka_unit_test(the_file_of_the_moment_counts),
		cmocka_unit_test(a_users_manager_is_told_apart),
		cmocka_unit_test(only_managers_have_an_office),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
