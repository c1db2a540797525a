// SPDX-License-Identifier: Apache-2.0
/* btf_scan.c: made type information, damaged in every way, and the running kernel's own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/btf_scan.h"

struct made {
	char types[4096];
	uint32_t types_len;
	char strings[1024];
	uint32_t strings_len;
	uint32_t last_id;
	char all[8192];
	size_t size;
};

static uint32_t made_string(struct made *made, const char *text)
{
	uint32_t at = made->strings_len;

	memcpy(made->strings + at, text, strlen(text) + 1);
	made->strings_len += strlen(text) + 1;
	return at;
}

static uint32_t made_type(struct made *made, const char *name, uint32_t kind, uint32_t vlen,
	uint32_t type, const void *tail, size_t tail_len)
{
	struct btf_type fixed = {
		.name_off = name ? made_string(made, name) : 0,
		.info = kind << 24 | vlen,
		.type = type,
	};

	memcpy(made->types + made->types_len, &fixed, sizeof(fixed));
	made->types_len += sizeof(fixed);
	memcpy(made->types + made->types_len, tail ? tail : "", tail_len);
	made->types_len += tail_len;
	return ++made->last_id;
}

/* A tracepoint: typedef btf_trace_NAME -> pointer -> prototype(void *, first). */
static uint32_t made_tracepoint(struct made *made, const char *name, uint32_t first)
{
	struct btf_param params[2] = {{0, 0}, {0, first}};
	uint32_t id = made_type(made, NULL, BTF_KIND_FUNC_PROTO, 2, 0, params, sizeof(params));

	id = made_type(made, NULL, BTF_KIND_PTR, 0, id, NULL, 0);
	return made_type(made, name, BTF_KIND_TYPEDEF, 0, id, NULL, 0);
}

static void made_finish(struct made *made)
{
	struct btf_header header = {
		.magic = BTF_MAGIC,
		.version = 1,
		.hdr_len = sizeof(header),
		.type_off = 0,
		.type_len = made->types_len,
		.str_off = made->types_len,
		.str_len = made->strings_len,
	};

	memcpy(made->all, &header, sizeof(header));
	memcpy(made->all + sizeof(header), made->types, made->types_len);
	memcpy(made->all + sizeof(header) + made->types_len, made->strings, made->strings_len);
	made->size = sizeof(header) + made->types_len + made->strings_len;
}

static void made_fill(struct made *made)
{
	uint32_t encoding = 32, number, task, pointer, proto;
	uint32_t array[3] = {1, 1, 4};
	struct btf_member members[2] = {{0, 1, 0}, {0, 1, 32}};

	memset(made, 0, sizeof(*made));
	made->strings_len = 1;
	number = made_type(made, "int", BTF_KIND_INT, 0, 4, &encoding, sizeof(encoding));
	made_type(made, NULL, BTF_KIND_ARRAY, 0, 0, array, sizeof(array));
	task = made_type(made, "task_struct", BTF_KIND_STRUCT, 2, 8, members, sizeof(members));
	pointer = made_type(made, NULL, BTF_KIND_PTR, 0, task, NULL, 0);
	proto = made_type(made, NULL, BTF_KIND_FUNC_PROTO, 0, 0, NULL, 0);
	made_type(made, "oom_kill_process", BTF_KIND_FUNC, 0, proto, NULL, 0);
	made_tracepoint(made, "btf_trace_mark_victim", pointer);
	made_tracepoint(made, "btf_trace_wake_reaper", number);
	/* a function and a typedef whose names belong to the other kind */
	made_type(made, "btf_trace_fake", BTF_KIND_FUNC, 0, proto, NULL, 0);
	made_type(made, "out_of_memory", BTF_KIND_TYPEDEF, 0, number, NULL, 0);
	made_finish(made);
}

static void made_types_are_found_by_kind_and_shape(void **state)
{
	struct btf_want wants[] = {
		{BTF_WANT_FUNCTION, "oom_kill_process", 0, 0},
		{BTF_WANT_TRACEPOINT, "mark_victim", 0, 0},
		{BTF_WANT_TRACEPOINT, "wake_reaper", 0, 0},
		{BTF_WANT_TRACEPOINT, "fake", 0, 0},
		{BTF_WANT_FUNCTION, "out_of_memory", 0, 0},
		{BTF_WANT_FUNCTION, "oom_kill", 0, 0},
	};
	struct made made;

	(void)state;
	made_fill(&made);
	assert_int_equal(btf_scan(made.all, made.size, wants, 6), 0);
	assert_int_equal(wants[0].id, 6);
	assert_int_equal(wants[1].id, 9);
	assert_int_equal(wants[1].first, BTF_ARGUMENT_TASK);
	assert_int_equal(wants[2].id, 12);
	assert_int_equal(wants[2].first, BTF_ARGUMENT_INT);
	assert_int_equal(wants[3].id, 0);
	assert_int_equal(wants[4].id, 0);
	assert_int_equal(wants[5].id, 0);
}

static void every_cut_is_refused(void **state)
{
	struct btf_want want = {BTF_WANT_TRACEPOINT, "mark_victim", 0, 0};
	struct made made;

	(void)state;
	made_fill(&made);
	for (size_t size = 0; size < made.size; size++) {
		char *copy = malloc(size ? size : 1);

		/* A block of its own, so that a read beyond it is seen by AddressSanitizer. */
		memcpy(copy, made.all, size);
		assert_int_equal(btf_scan(copy, size, &want, 1), -EBADMSG);
		free(copy);
	}
}

static void an_unknown_kind_is_refused(void **state)
{
	struct btf_want want = {BTF_WANT_FUNCTION, "oom_kill_process", 0, 0};
	struct made made;

	(void)state;
	made_fill(&made);
	made_type(&made, "later", 31, 0, 0, NULL, 0);
	made_finish(&made);
	assert_int_equal(btf_scan(made.all, made.size, &want, 1), -EBADMSG);
}

static void any_damaged_byte_is_survived(void **state)
{
	struct made made;

	(void)state;
	made_fill(&made);
	for (size_t at = 0; at < made.size; at++) {
		for (int bit = 0; bit < 8; bit++) {
			struct btf_want wants[] = {
				{BTF_WANT_FUNCTION, "oom_kill_process", 0, 0},
				{BTF_WANT_TRACEPOINT, "mark_victim", 0, 0},
			};
			char *copy = malloc(made.size);
			int error;

			memcpy(copy, made.all, made.size);
			copy[at] ^= 1 << bit;
			error = btf_scan(copy, made.size, wants, 2);
			assert_true(error == 0 || error == -EBADMSG);
			free(copy);
		}
	}
}

static void types_that_point_in_a_circle_end(void **state)
{
	struct btf_want want = {BTF_WANT_TRACEPOINT, "circle", 0, 0};
	struct made made;
	uint32_t self;

	(void)state;
	made_fill(&made);
	self = made.last_id + 1;
	made_type(&made, NULL, BTF_KIND_PTR, 0, self, NULL, 0);
	made_tracepoint(&made, "btf_trace_circle", self);
	made_finish(&made);
	assert_int_equal(btf_scan(made.all, made.size, &want, 1), 0);
	assert_int_not_equal(want.id, 0);
	assert_int_equal(want.first, BTF_ARGUMENT_OTHER);
}

/* Every kernel that the tool supports has these; where the machine has no BTF there is nothing to
 * read. */
static void the_running_kernel_has_the_oom_killer(void **state)
{
	struct btf_want wants[] = {
		{BTF_WANT_FUNCTION, "out_of_memory", 0, 0},
		{BTF_WANT_TRACEPOINT, "sched_process_exit", 0, 0},
		{BTF_WANT_TRACEPOINT, "no_such_tracepoint", 0, 0},
	};
	int error = btf_scan_file(BTF_PATH, wants, 3);

	(void)state;
	if (access(BTF_PATH, R_OK)) {
		assert_int_equal(error, -ENOENT);
		return;
	}
	assert_int_equal(error, 0);
	assert_int_not_equal(wants[0].id, 0);
	assert_int_not_equal(wants[1].id, 0);
	assert_int_equal(wants[1].first, BTF_ARGUMENT_TASK);
	assert_int_equal(wants[2].id, 0);
}

static void a_missing_or_empty_file_is_told(void **state)
{
	struct btf_want want = {BTF_WANT_FUNCTION, "out_of_memory", 0, 0};

	(void)state;
	assert_int_equal(btf_scan_file("/nonexistent/btf", &want, 1), -ENOENT);
	assert_int_equal(btf_scan_file("/dev/null", &want, 1), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(made_types_are_found_by_kind_and_shape),
		cmocka_unit_test(every_cut_is_refused),
		cmocka_unit_test(an_unknown_kind_is_refused),
		cmocka_unit_test(any_damaged_byte_is_survived),
		cmocka_unit_test(types_that_point_in_a_circle_end),
		cmocka_unit_test(the_running_kernel_has_the_oom_killer),
		cmocka_unit_test(a_missing_or_empty_file_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
