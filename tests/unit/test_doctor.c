// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "doctor_fixture.h"

/* --- the verdict --- */

static void the_verdict_comes_first(void **state)
{
	struct doctor_report report = healthy();

	(void)state;
	report.quota.container = false;
	assert_int_equal(doctor_tier(&report), DOCTOR_TIER_FULL);
	assert_int_equal(strncmp(text_of(&report), "Tier: full: ", 12), 0);
	assert_silent(&report, "Not served");
	report.hooks.states[HOOK_KILL].serving = -1;
	assert_int_equal(doctor_tier(&report), DOCTOR_TIER_TRACEPOINT);
	assert_int_equal(strncmp(text_of(&report), "Tier: tracepoints only: ", 24), 0);
	assert_says(&report, hook_table[HOOK_KILL].lost);
	report.tracer_error = -EPERM;
	assert_int_equal(doctor_tier(&report), DOCTOR_TIER_NONE);
	assert_int_equal(strncmp(text_of(&report), "Tier: none: ", 12), 0);
}

static void what_serves_is_named(void **state)
{
	struct doctor_report report = healthy();
	json_t *json = json_of(&report);

	(void)state;
	assert_string_equal(
		string_at(json_array_get(json_object_get(json, "hooks"), HOOK_KILL), "hook"),
		"fentry oom_kill_process");
	json_decref(json);
	assert_says(&report, " kill: fentry oom_kill_process ");
}

static void hooks_that_failed_for_want_of_rights_say_nothing_of_the_kernel(void **state)
{
	struct doctor_report report = healthy();
	json_t *json;

	(void)state;
	strcpy(report.hooks.states[HOOK_KILL].why[1], "no kprobes here");
	report.tracer_error = -EPERM;
	assert_says(
		&report, "no kprobes here"); /* a security module, perhaps: all is worth telling */
	report.rights.user_namespace = true;
	assert_silent(&report, "no kprobes here");
	report.rights.user_namespace = false;
	report.rights.effective = 0;
	assert_silent(&report, "no kprobes here");
	assert_says(&report, "; missing: CAP_BPF, CAP_PERFMON");
	json = json_of(&report);
	assert_null(json_object_get(json, "hooks"));
	assert_int_equal(
		json_array_size(json_object_get(json_object_get(json, "rights"), "missing")), 2);
	json_decref(json);
	/* with the rights there, or another failure, the table is told */
	report.tracer_error = -EOPNOTSUPP;
	assert_says(&report, "no kprobes here");
}

static void what_is_not_served_is_named(void **state)
{
	struct doctor_report report = healthy();

	(void)state;
	report.hooks.states[HOOK_REAPER].serving = -1;
	report.hooks.states[HOOK_FREED].serving = -1;
	assert_says(&report, "Not served: freed, reaper (below).");
	assert_says(&report, hook_table[HOOK_REAPER].lost);
}

static void reasons_of_every_alternative_are_told(void **state)
{
	struct doctor_report report = healthy();

	(void)state;
	report.hooks.states[HOOK_KILL].serving = 1;
	strcpy(report.hooks.states[HOOK_KILL].why[0], "no trampolines (EBUSY)");
	assert_says(&report, "kill: kprobe oom_kill_process not fentry oom_kill_process: "
			     "no trampolines (EBUSY)");
	/* those after the one that serves were not tried */
	report.hooks.states[HOOK_KILL].serving = 0;
	report.hooks.states[HOOK_KILL].why[0][0] = '\0';
	assert_silent(&report, "kprobe oom_kill_process");
}

static void obstacles_in_the_order_in_which_they_matter(void **state)
{
	struct doctor_report report = healthy();

	(void)state;
	assert_int_equal(doctor_obstacle(&report), DOCTOR_CLEAR);
	report.tracer_error = -EINVAL;
	assert_int_equal(doctor_obstacle(&report), DOCTOR_FAILED);
	assert_says(&report, "loading the programs failed: Invalid argument.");
	report.hooks.states[HOOK_VICTIM].serving = -1;
	assert_int_equal(doctor_obstacle(&report), DOCTOR_REQUIRED_HOOK);
	assert_says(&report, "no hook can serve \"victim\": kills are not seen.");
	report.tracer_error = -EPERM;
	report.rights.effective = RIGHT(CAP_BPF);
	assert_int_equal(doctor_obstacle(&report), DOCTOR_NOT_PERMITTED);
	assert_says(&report, "not permitted: CAP_PERFMON is missing.");
	report.kernel.btf = false;
	assert_int_equal(doctor_obstacle(&report), DOCTOR_NO_BTF);
	assert_says(&report, "CONFIG_DEBUG_INFO_BTF).");
	report.kernel.new_enough = false;
	assert_int_equal(doctor_obstacle(&report), DOCTOR_KERNEL_TOO_OLD);
	assert_says(&report, "older than 5.8 and has no BPF ring buffer.");
	/* a release that does not begin with numbers proves nothing */
	report.kernel.major = -1;
	assert_int_equal(doctor_obstacle(&report), DOCTOR_NO_BTF);
}

static void refusals_have_a_cause(void **state)
{
	struct doctor_report report = healthy();

	(void)state;
	report.tracer_error = -EACCES;
	report.rights.effective = 0;
	assert_says(&report, "CAP_BPF and CAP_PERFMON are missing.");
	report.rights.effective = RIGHT(CAP_SYS_ADMIN);
	assert_says(&report, "a seccomp filter or a security module refuses");
	report.kernel.lockdown = LOCKDOWN_CONFIDENTIALITY;
	assert_says(&report, "locked down for confidentiality.");
	report.rights.user_namespace = true;
	assert_says(&report, "this is a user namespace");
}

/* --- notes --- */

static void settings_without_consequences_get_no_note(void **state)
{
	struct doctor_report report = healthy();

	(void)state;
	assert_null(doctor_note(&report, 0));
	assert_silent(&report, "notes");
}

static void each_setting_has_its_note(void **state)
{
	static const struct {
		size_t offset;
		int32_t value;
		const char *starts;
	} settings[] = {
#define AT(field) offsetof(struct doctor_report, kernel.field)
		{AT(panic_on_oom), 1, "vm.panic_on_oom"},
		{AT(panic_on_oom), 2, "vm.panic_on_oom"},
		{AT(oom_kill_allocating_task), 1, "vm.oom_kill_allocating_task"},
		{AT(overcommit_memory), 2, "vm.overcommit_memory"},
		{AT(kmsg_error), -EPERM, "/dev/kmsg"},
		{AT(kptr_restrict), 2, "kernel.kptr_restrict"},
		{AT(ftrace_enabled), 0, "kernel.ftrace_enabled"},
#undef AT
	};

	(void)state;
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		struct doctor_report report = healthy();

		*(int32_t *)((char *)&report + settings[i].offset) = settings[i].value;
		assert_non_null(doctor_note(&report, 0));
		assert_int_equal(strncmp(doctor_note(&report, 0), settings[i].starts,
					 strlen(settings[i].starts)),
			0);
		assert_null(doctor_note(&report, 1));
	}
}

static void notes_add_up(void **state)
{
	struct doctor_report report = healthy();

	(void)state;
	report.kernel.psi = false;
	report.kernel.swap_total_bytes = 0;
	assert_says(&report, "notes No swap: ");
	assert_says(&report,
		"(PSI): they are left out. rights held: CAP_BPF, CAP_PERFMON, CAP_SYSLOG "
		"memory locked: yes; oom_score_adj -1000 without CAP_SYS_PTRACE: program files of "
		"other users' processes (victim_exe) are not known memory");
	report.kernel.initial_pid_namespace = false;
	assert_non_null(doctor_note(&report, 2));
	assert_null(doctor_note(&report, 3));
	/* hidden addresses matter only to those who may not see them anyway */
	report = healthy();
	report.kernel.kptr_restrict = 1;
	assert_null(doctor_note(&report, 0));
	report.rights.effective = 0;
	assert_non_null(doctor_note(&report, 0));
	report.kernel_error = -ENOENT;
	assert_null(doctor_note(&report, 0));
}

static const struct rights_extra *extra_of(unsigned int capability)
{
	for (size_t i = 0; i < RIGHTS_EXTRAS; i++)
		if (rights_extras[i].capability == capability)
			return &rights_extras[i];
	fail_msg("no such capability");
	return NULL;
}

/* Each is lost by what was tried, and not where the capability is there: then something else is in
 * the way. */
static void a_capability_is_lost_by_what_failed_without_it(void **state)
{
	static const struct {
		unsigned int capability;
		size_t offset;
		int value;
	} rows[] = {
		{CAP_SYS_RESOURCE, offsetof(struct doctor_report, protection.adj_error), -EACCES},
		{CAP_IPC_LOCK, offsetof(struct doctor_report, protection.lock_error), -ENOMEM},
		{CAP_SYS_NICE, offsetof(struct doctor_report, protection.priority_error), -EACCES},
		{CAP_SYSLOG, offsetof(struct doctor_report, kernel.kmsg_error), -EPERM},
		{CAP_DAC_READ_SEARCH, offsetof(struct doctor_report, rights.uid), 65534},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct doctor_report report = healthy();
		const struct rights_extra *extra = extra_of(rows[i].capability);

		report.rights.effective = RIGHT(CAP_BPF) | RIGHT(CAP_PERFMON);
		assert_null(doctor_right_lost(&report, extra));
		*(int *)((char *)&report + rows[i].offset) = rows[i].value;
		assert_ptr_equal(doctor_right_lost(&report, extra), extra->lost);
		report.rights.effective |= RIGHT(rows[i].capability);
		assert_null(doctor_right_lost(&report, extra));
	}
}

static void a_device_that_is_not_there_is_no_lack_of_rights(void **state)
{
	struct doctor_report report = healthy();

	(void)state;
	report.rights.effective = RIGHT(CAP_BPF) | RIGHT(CAP_PERFMON);
	report.kernel.kmsg_error = -ENOENT;
	assert_null(doctor_right_lost(&report, extra_of(CAP_SYSLOG)));
}

static void before_5_11_the_limit_on_locked_memory_is_named(void **state)
{
	struct doctor_report report = healthy();
	char text[1024];
	struct buf buf;

	(void)state;
	report.tracer_error = -EPERM;
	report.kernel.major = 5;
	report.kernel.minor = 10;
	buf_init(&buf, text, sizeof(text));
	doctor_put_obstacle(&buf, &report);
	assert_non_null(strstr(text, "RLIMIT_MEMLOCK: CAP_SYS_RESOURCE is missing"));
	report.rights.effective |= RIGHT(CAP_SYS_RESOURCE);
	buf_reset(&buf);
	doctor_put_obstacle(&buf, &report);
	assert_null(strstr(text, "RLIMIT_MEMLOCK"));
}

/* What it takes, and whether that fits, in each of the four cases. */
static void a_switch_that_is_not_known_is_not_shown(void **state)
{
	struct doctor_report report = healthy();

	(void)state;
	assert_says(&report, "swappiness=60");
	assert_silent(&report, "dmesg_restrict");
}

/* --- form --- */

/* Everything at its worst: long, hostile, failed. */
static struct doctor_report worst(void)
{
	struct doctor_report report = healthy();

	report.kernel.psi = false;
	report.kernel.swap_total_bytes = 0;
	report.kernel.initial_pid_namespace = false;
	report.kernel.panic_on_oom = report.kernel.oom_kill_allocating_task = 1;
	report.kernel.overcommit_memory = report.kernel.kptr_restrict = 2;
	report.kernel.ftrace_enabled = 0;
	report.kernel.kmsg_error = -EPERM;
	report.kernel.lockdown = LOCKDOWN_CONFIDENTIALITY;
	report.kernel.cgroup_mode = CGROUP_MODE_NONE;
	report.tracer_error = -EPERM;
	report.rights.effective = RIGHT(CAP_SYS_ADMIN); /* or the hooks would not be told */
	report.protection.lock_error = report.protection.adj_error = -EACCES;
	for (int i = 0; i < HOOK_COUNT; i++) {
		report.hooks.states[i].serving = -1;
		for (size_t j = 0; j < HOOK_ALTERNATIVES; j++) {
			memset(report.hooks.states[i].why[j], 'w', 159);
			memcpy(report.hooks.states[i].why[j], "\x1b[31m \"\\\n\xff", 10);
		}
	}
	report.quota.level_count = 0;
	for (unsigned int i = 0; i < QUOTA_LEVELS; i++) {
		char name[QUOTA_PATH];

		memset(name, "a\x1b\xe4/"[i % 4], sizeof(name));
		name[0] = '/';
		name[sizeof(name) - 1] = '\0';
		add_level(&report.quota, name, 5 * GIB, 6 * GIB);
	}
	return report;
}

static void check_lines(const char *text)
{
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		size_t len = strcspn(line, "\n");

		assert_int_equal(line[len], '\n');
		assert_true(text_columns(line, len) <= 80);
		assert_true(len == 0 || line[len - 1] != ' ');
		for (size_t i = 0; i < len; i++)
			assert_true((unsigned char)line[i] >= ' ' && line[i] != 0x7f);
	}
}

static void no_line_is_wider_than_80_columns_or_steers_the_terminal(void **state)
{
	struct doctor_report report = healthy();

	(void)state;
	check_lines(text_of(&report));
	report = worst();
	check_lines(text_of(&report));
}

static void the_object_is_whole_at_its_worst(void **state)
{
	struct doctor_report report = worst();
	json_t *json = json_of(&report), *hooks = json_object_get(json, "hooks"), *part;

	(void)state;
	assert_int_equal(json_array_size(hooks), HOOK_COUNT);
	assert_int_equal(json_array_size(json_object_get(json, "notes")), 11);
	assert_int_equal(
		json_array_size(json_object_get(json_object_get(json, "memory"), "limits")),
		QUOTA_LEVELS);
	assert_string_equal(string_at(json, "tier"), "none");
	assert_string_equal(string_at(json, "obstacle"), "not_permitted");
	part = json_object_get(json, "rights");
	assert_true(json_is_false(json_object_get(part, "memory_locked")));
	assert_string_equal(string_at(part, "memory_locked_error"), "Permission denied");
	json_decref(json);
}

static void the_object_says_what_the_text_says(void **state)
{
	struct doctor_report report = healthy();
	json_t *json, *hook, *part;

	(void)state;
	report.hooks.states[HOOK_REAPER].serving = -1;
	report.hooks.states[HOOK_KILL].serving = 1;
	strcpy(report.hooks.states[HOOK_KILL].why[0], "refused");
	json = json_of(&report);
	assert_int_equal(json_integer_value(json_object_get(json, "v")), 1);
	assert_string_equal(string_at(json, "type"), "doctor");
	assert_string_equal(string_at(json, "ts"), "2026-01-02T03:04:05.123456789Z");
	assert_string_equal(string_at(json, "host"), "node-7");
	assert_string_equal(string_at(json, "tier"), "full");
	assert_null(json_object_get(json, "obstacle"));
	assert_null(json_object_get(json, "notes"));
	hook = json_array_get(json_object_get(json, "hooks"), HOOK_KILL);
	assert_string_equal(string_at(hook, "purpose"), "kill");
	assert_string_equal(string_at(hook, "hook"), "kprobe oom_kill_process");
	part = json_array_get(json_object_get(hook, "tried"), 0);
	assert_string_equal(string_at(part, "hook"), "fentry oom_kill_process");
	assert_string_equal(string_at(part, "why"), "refused");
	hook = json_array_get(json_object_get(json, "hooks"), HOOK_REAPER);
	assert_null(json_object_get(hook, "hook"));
	assert_string_equal(string_at(hook, "lost"), hook_table[HOOK_REAPER].lost);
	part = json_object_get(json, "kernel");
	assert_string_equal(string_at(part, "release"), "6.12.117+deb13");
	assert_string_equal(string_at(part, "cgroup_mode"), "v2");
	assert_true(json_is_true(json_object_get(part, "btf")));
	assert_null(json_object_get(part, "dmesg_restrict"));
	assert_string_equal(string_at(part, "lockdown"), "none");
	part = json_object_get(json, "rights");
	assert_int_equal(json_array_size(json_object_get(part, "effective")), 3);
	assert_null(json_object_get(part, "missing"));
	assert_true(json_is_true(json_object_get(part, "memory_locked")));
	assert_int_equal(json_integer_value(json_object_get(part, "oom_score_adj")), -1000);
	part = json_object_get(json, "memory");
	assert_int_equal(json_integer_value(json_object_get(part, "allowed_bytes")), 32 * GIB);
	assert_string_equal(string_at(part, "limited_by"), "/kubepods/pod1/main");
	assert_int_equal(json_integer_value(json_object_get(part, "left_bytes")), GIB);
	assert_string_equal(string_at(part, "summary"), quota_sentence(&report.quota));
	part = json_array_get(json_object_get(part, "limits"), 1);
	assert_null(json_object_get(part, "max_bytes"));
	json_decref(json);
}

static void what_could_not_be_read_is_left_out(void **state)
{
	struct doctor_report report = {.tracer_error = -EPERM};
	json_t *json;

	(void)state;
	report.host_error = report.kernel_error = report.rights_error = report.quota_error =
		-ENOENT;
	json = json_of(&report);
	assert_null(json_object_get(json, "kernel"));
	assert_null(json_object_get(json, "memory"));
	assert_null(json_object_get(json, "hooks"));
	assert_null(json_object_get(json, "host"));
	assert_string_equal(string_at(json, "tier"), "none");
	json_decref(json);
	assert_says(&report, "kernel not readable: No such file or directory");
	assert_says(&report, "hooks not tried: nothing can be loaded");
}

static void too_little_room_leaves_the_buffer_as_it_was(void **state)
{
	struct doctor_report report = healthy();
	char small[300];
	struct buf buf;

	(void)state;
	buf_init(&buf, small, sizeof(small));
	buf_puts(&buf, "before\n");
	assert_int_equal(doctor_text(&buf, &report), -ENOSPC);
	assert_string_equal(small, "before\n");
	assert_false(buf.full);
	assert_int_equal(doctor_json(&buf, &report), -ENOSPC);
	assert_string_equal(small, "before\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_verdict_comes_first),
		cmocka_unit_test(what_serves_is_named),
		cmocka_unit_test(hooks_that_failed_for_want_of_rights_say_nothing_of_the_kernel),
		cmocka_unit_test(what_is_not_served_is_named),
		cmocka_unit_test(reasons_of_every_alternative_are_told),
		cmocka_unit_test(obstacles_in_the_order_in_which_they_matter),
		cmocka_unit_test(refusals_have_a_cause),
		cmocka_unit_test(settings_without_consequences_get_no_note),
		cmocka_unit_test(each_setting_has_its_note),
		cmocka_unit_test(notes_add_up),
		cmocka_unit_test(a_capability_is_lost_by_what_failed_without_it),
		cmocka_unit_test(a_device_that_is_not_there_is_no_lack_of_rights),
		cmocka_unit_test(before_5_11_the_limit_on_locked_memory_is_named),
		cmocka_unit_test(a_switch_that_is_not_known_is_not_shown),
		cmocka_unit_test(no_line_is_wider_than_80_columns_or_steers_the_terminal),
		cmocka_unit_test(the_object_is_whole_at_its_worst),
		cmocka_unit_test(the_object_says_what_the_text_says),
		cmocka_unit_test(what_could_not_be_read_is_left_out),
		cmocka_unit_test(too_little_room_leaves_the_buffer_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
