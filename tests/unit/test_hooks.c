// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/hooks.h"

#ifndef SOURCE_ROOT
#define SOURCE_ROOT "." /* tests run from the root of the source tree */
#endif

static char source[1 << 20];

/* All programs of the kernel side, one after the other. */
static int read_source(void **state)
{
	size_t len = 0;
	glob_t found;

	(void)state;
	if (glob(SOURCE_ROOT "/bpf/*.bpf.c", 0, NULL, &found))
		return 0; /* not run from the source tree: those tests are skipped */
	for (size_t i = 0; i < found.gl_pathc; i++) {
		FILE *file = fopen(found.gl_pathv[i], "r");

		if (!file)
			return -1;
		len += fread(source + len, 1, sizeof(source) - 1 - len, file);
		fclose(file);
	}
	globfree(&found);
	return 0;
}

/* SEC("?kind/target") and, on the next line, the program's name. What a perf event counts is chosen
 * when it is opened: the section names no target. */
/* Functions of system calls are named by the architecture: the source asks a macro. */
static const char *call_of(const struct hook_program *program)
{
	static const char *const prefixes[] = {"__x64_sys_", "__arm64_sys_"};

	for (int i = 0; i < 2; i++)
		if (!strncmp(program->target, prefixes[i], strlen(prefixes[i])))
			return program->target + strlen(prefixes[i]);
	return NULL;
}

static bool source_has(const struct hook_program *program)
{
	char section[160];
	const char *at = source;
	size_t len = strlen(program->name);

	if (program->kind == HOOK_PERF)
		snprintf(section, sizeof(section), "SEC(\"?perf_event\")\nint ");
	else if (call_of(program))
		snprintf(section, sizeof(section), "SEC(\"?%s/\" SYSCALL_FUNCTION(%s))\nint ",
			hook_kind_name(program->kind), call_of(program));
	else
		snprintf(section, sizeof(section), "SEC(\"?%s/%s\")\nint ",
			hook_kind_name(program->kind), program->target);
	while ((at = strstr(at, section)) != NULL) {
		const char *name = at += strlen(section);
		const char *open = strchr(name, '(');

		if (open && !strncmp(name, "BPF_", 4))
			name = open + 1;
		if (!strncmp(name, program->name, len) && strchr(",)(", name[len]))
			return true;
	}
	return false;
}

typedef void (*visit_fn)(const struct hook *hook, const struct hook_program *program);

static unsigned int each_program(visit_fn visit)
{
	unsigned int count = 0;

	for (int i = 0; i < HOOK_COUNT; i++)
		for (int j = 0; j < HOOK_ALTERNATIVES; j++)
			for (int k = 0; k < HOOK_PROGRAMS; k++) {
				const struct hook_program *program =
					&hook_table[i].alternatives[j].programs[k];

				if (!program->name)
					continue;
				visit(&hook_table[i], program);
				count++;
			}
	return count;
}

static void assert_whole(const struct hook *hook, const struct hook_program *program)
{
	(void)hook;
	assert_non_null(program->target);
	assert_int_not_equal(program->kind, HOOK_NONE);
	assert_true(strlen(program->target) > 0);
	if (program->shape != HOOK_SHAPE_ANY)
		assert_int_equal(program->kind, HOOK_TP_BTF);
}

static void every_purpose_has_a_name_a_price_and_an_alternative(void **state)
{
	(void)state;
	for (int i = 0; i < HOOK_COUNT; i++) {
		assert_non_null(hook_table[i].name);
		assert_non_null(hook_table[i].lost);
		assert_true(strlen(hook_table[i].lost) > 10);
		assert_true(hook_alternatives(&hook_table[i]) >= 1);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(hook_table[i].name, hook_table[j].name);
	}
	assert_true(each_program(assert_whole) > HOOK_COUNT);
}

static void nothing_stands_behind_a_gap_in_the_table(void **state)
{
	(void)state;
	for (int i = 0; i < HOOK_COUNT; i++)
		for (size_t j = hook_alternatives(&hook_table[i]); j < HOOK_ALTERNATIVES; j++)
			for (int k = 0; k < HOOK_PROGRAMS; k++)
				assert_null(hook_table[i].alternatives[j].programs[k].name);
}

static void only_the_mark_is_required(void **state)
{
	(void)state;
	for (int i = 0; i < HOOK_COUNT; i++)
		assert_int_equal(hook_table[i].required, i == HOOK_VICTIM);
}

/* Two of one label are the same tracepoint in its two shapes. */
static void labels_tell_the_alternatives_of_a_purpose_apart(void **state)
{
	char one[128], other[128];

	(void)state;
	for (int i = 0; i < HOOK_COUNT; i++)
		for (size_t j = 0; j < hook_alternatives(&hook_table[i]); j++)
			for (size_t k = 0; k < j; k++) {
				const struct hook_alternative *a = &hook_table[i].alternatives[j];
				const struct hook_alternative *b = &hook_table[i].alternatives[k];

				assert_non_null(hook_label(a, one, sizeof(one)));
				assert_non_null(hook_label(b, other, sizeof(other)));
				if (!strcmp(one, other))
					assert_int_not_equal(
						a->programs[0].shape, b->programs[0].shape);
			}
}

/* What costs at every fault must not be on when nobody asked for it. */
static void only_page_faults_are_hooked_on_demand(void **state)
{
	(void)state;
	for (int i = 0; i < HOOK_COUNT; i++)
		assert_int_equal(hook_table[i].on_demand, i == HOOK_FAULTS);
}

static void names_are_found_in_a_list(void **state)
{
	(void)state;
	assert_true(hook_listed("kill,fentry", "kill"));
	assert_true(hook_listed("kill,iter task", "iter task"));
	assert_true(hook_listed("recorder", "recorder"));
	assert_false(hook_listed("kill,fentry", "fen"));
	assert_false(hook_listed("recorders", "recorder"));
	assert_false(hook_listed("", "kill"));
	assert_false(hook_listed(NULL, "kill"));
}

static void a_label_is_the_kind_and_the_target(void **state)
{
	struct hook_alternative none = {0};
	char label[128];

	(void)state;
	assert_string_equal(
		hook_label(&hook_table[HOOK_KILL].alternatives[0], label, sizeof(label)),
		"fentry oom_kill_process");
	assert_null(hook_label(&none, label, sizeof(label)));
}

static const char *seen[256];
static unsigned int seen_count;

static void assert_listed_once(const struct hook *hook, const struct hook_program *program)
{
	/* Signals have two purposes and one program. */
	if (hook == &hook_table[HOOK_SIGNAL])
		return;
	for (unsigned int i = 0; i < seen_count; i++) {
		/* Of what is refused the second choice is a part of the first. */
		if (hook == &hook_table[HOOK_REFUSED] && !strcmp(seen[i], program->name))
			return;
		assert_string_not_equal(seen[i], program->name);
	}
	assert_true(seen_count < 256);
	seen[seen_count++] = program->name;
}

static void no_program_serves_twice(void **state)
{
	(void)state;
	seen_count = 0;
	each_program(assert_listed_once);
}

static void assert_in_source(const struct hook *hook, const struct hook_program *program)
{
	if (!source_has(program))
		print_error("%s: no program %s on %s/%s\n", hook->name, program->name,
			hook_kind_name(program->kind), program->target);
	assert_true(source_has(program));
}

static void every_program_of_the_table_is_written_for_that_hook(void **state)
{
	(void)state;
	if (!source[0])
		skip();
	each_program(assert_in_source);
}

/* One that is written and in no table would never run. */
static void every_program_that_is_written_is_in_the_table(void **state)
{
	unsigned int written = 0, listed;

	(void)state;
	if (!source[0])
		skip();
	for (const char *at = source; (at = strstr(at, "SEC(\"?")) != NULL; at++)
		written++;
	seen_count = 0;
	listed = each_program(assert_listed_once);
	assert_true(listed > seen_count);
	assert_int_equal(written, seen_count);
}

static void nothing_serves_at_first(void **state)
{
	struct hooks hooks;

	(void)state;
	memset(&hooks, 0x5a, sizeof(hooks));
	hooks_init(&hooks);
	for (int i = 0; i < HOOK_COUNT; i++) {
		assert_false(hook_served(&hooks, i));
		for (int j = 0; j < HOOK_ALTERNATIVES; j++)
			assert_string_equal(hooks.states[i].why[j], "");
	}
	assert_false(hooks_full_tier(&hooks));
}

static void the_choice_is_what_makes_the_tier_full(void **state)
{
	struct hooks hooks;

	(void)state;
	hooks_init(&hooks);
	for (int i = 0; i < HOOK_COUNT; i++)
		if (i != HOOK_KILL)
			hooks.states[i].serving = 0;
	assert_false(hooks_full_tier(&hooks));
	hooks.states[HOOK_KILL].serving = 1;
	assert_true(hooks_full_tier(&hooks));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_purpose_has_a_name_a_price_and_an_alternative),
		cmocka_unit_test(nothing_stands_behind_a_gap_in_the_table),
		cmocka_unit_test(only_the_mark_is_required),
		cmocka_unit_test(labels_tell_the_alternatives_of_a_purpose_apart),
		cmocka_unit_test(only_page_faults_are_hooked_on_demand),
		cmocka_unit_test(names_are_found_in_a_list),
		cmocka_unit_test(a_label_is_the_kind_and_the_target),
		cmocka_unit_test(no_program_serves_twice),
		cmocka_unit_test(every_program_of_the_table_is_written_for_that_hook),
		cmocka_unit_test(every_program_that_is_written_is_in_the_table),
		cmocka_unit_test(nothing_serves_at_first),
		cmocka_unit_test(the_choice_is_what_makes_the_tier_full),
	};

	return cmocka_run_group_tests(tests, read_source, NULL);
}
