// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "source/decode.h"

#define RANDOM_ROUNDS 1000000

/* A valid record of each kind, and room behind it. */
union sample {
	struct ev_hdr hdr;
	struct ev_context context;
	struct ev_task task;
	struct ev_level level;
	struct ev_end end;
	struct ev_exit exit;
	struct ev_mm_freed mm_freed;
	struct ev_reap reap;
	struct ev_fork fork;
	struct ev_exec exec;
	struct ev_cgroup cgroup;
	struct ev_sample sample;
	struct ev_usage usage;
	struct ev_kill_count kill_count;
	struct ev_signal signal;
	struct ev_refusal refusal;
	char bytes[2048];
};

static const size_t sizes[] = {
	[EV_CONTEXT] = sizeof(struct ev_context),
	[EV_TASK] = sizeof(struct ev_task),
	[EV_LEVEL] = sizeof(struct ev_level),
	[EV_END] = sizeof(struct ev_end),
	[EV_EXIT] = sizeof(struct ev_exit),
	[EV_MM_FREED] = sizeof(struct ev_mm_freed),
	[EV_REAP] = sizeof(struct ev_reap),
	[EV_FORK] = sizeof(struct ev_fork),
	[EV_EXEC] = sizeof(struct ev_exec),
	[EV_CGROUP] = sizeof(struct ev_cgroup),
	[EV_SAMPLE] = sizeof(struct ev_sample),
	[EV_USAGE] = sizeof(struct ev_usage),
	[EV_KILL_COUNT] = sizeof(struct ev_kill_count),
	[EV_SIGNAL] = sizeof(struct ev_signal),
	[EV_REFUSAL] = sizeof(struct ev_refusal),
};

#define FIRST EV_CONTEXT
#define LAST EV_REFUSAL

static union sample sample_of(unsigned int kind)
{
	union sample sample;

	memset(&sample, 0, sizeof(sample));
	sample.hdr.len = sizes[kind];
	sample.hdr.kind = kind;
	sample.hdr.version = EV_VERSION;
	sample.hdr.time_ns = 123456789;
	sample.hdr.incident = 3;
	if (kind == EV_TASK)
		sample.task.role = EV_ROLE_VICTIM;
	if (kind == EV_LEVEL)
		sample.level.role = EV_LEVEL_VICTIM;
	if (kind == EV_REAP)
		sample.reap.stage = EV_REAP_START;
	if (kind == EV_SAMPLE)
		sample.sample.why = EV_SAMPLE_CENSUS;
	if (kind == EV_SIGNAL) {
		sample.signal.signal = 9;
		sample.signal.burst = 1;
	}
	if (kind == EV_REFUSAL) {
		sample.refusal.call = EV_CALL_MMAP;
		sample.refusal.count = 1;
	}
	return sample;
}

static int decode(const union sample *sample, struct fact *ret)
{
	return decode_event(sample, sample->hdr.len, ret);
}

/* Decodes, and proves that a refused record has left the fact alone. */
static int decode_strict(const void *data, size_t size, struct fact *ret)
{
	static struct fact before;
	int err;

	memset(ret, 0x5a, sizeof(*ret));
	memset(&before, 0x5a, sizeof(before));
	err = decode_event(data, size, ret);
	if (err)
		assert_memory_equal(ret, &before, sizeof(before));
	return err;
}

static void every_kind_is_taken_apart(void **state)
{
	struct fact fact;

	(void)state;
	for (unsigned int kind = FIRST; kind <= LAST; kind++) {
		union sample sample = sample_of(kind);

		if (!sizes[kind])
			continue;
		assert_int_equal(decode(&sample, &fact), 0);
		assert_int_equal(fact.kind, kind);
		assert_int_equal(fact.hdr.time_ns, 123456789);
		assert_int_equal(fact.hdr.incident, 3);
		assert_memory_equal(&fact.hdr, &sample, sizes[kind]);
	}
}

static void a_record_cut_anywhere_is_refused(void **state)
{
	struct fact fact;

	(void)state;
	for (unsigned int kind = FIRST; kind <= LAST; kind++) {
		for (size_t size = 0; size < sizes[kind]; size++) {
			union sample sample = sample_of(kind);

			/* the header tells the truth, and the header does not */
			assert_int_equal(decode_strict(&sample, size, &fact), -EBADMSG);
			sample.hdr.len = size;
			assert_int_equal(decode_strict(&sample, size, &fact), -EBADMSG);
		}
	}
}

static void a_record_may_grow_at_its_end(void **state)
{
	union sample sample = sample_of(EV_EXIT);
	struct fact fact;

	(void)state;
	sample.exit.tgid = 42;
	sample.hdr.len += 64;
	memset(sample.bytes + sizes[EV_EXIT], 0xee, 64);
	assert_int_equal(decode(&sample, &fact), 0);
	assert_int_equal(fact.exit.tgid, 42);
}

static void the_length_must_be_that_of_the_bytes(void **state)
{
	union sample sample = sample_of(EV_TASK);
	struct fact fact;

	(void)state;
	assert_int_equal(decode_strict(&sample, sizes[EV_TASK] + 8, &fact), -EBADMSG);
	sample.hdr.len = UINT32_MAX;
	assert_int_equal(decode_strict(&sample, sizes[EV_TASK], &fact), -EBADMSG);
}

static void another_version_is_told_apart(void **state)
{
	union sample sample = sample_of(EV_TASK);
	struct fact fact;

	(void)state;
	sample.hdr.version = EV_VERSION + 1;
	assert_int_equal(decode_strict(&sample, sample.hdr.len, &fact), -EPROTO);
	sample.hdr.version = 0;
	assert_int_equal(decode_strict(&sample, sample.hdr.len, &fact), -EPROTO);
}

static void unknown_kinds_are_told_apart(void **state)
{
	static const unsigned int kinds[] = {0, LAST + 1, 255, 65535};
	struct fact fact;

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		union sample sample = sample_of(EV_TASK);

		sample.hdr.kind = kinds[i];
		assert_int_equal(decode_strict(&sample, sample.hdr.len, &fact), -ENOMSG);
	}
}

/* --- every number with a range: its ends pass, what lies beyond does not --- */

static struct ranged {
	unsigned int kind;
	size_t offset, size;
	int64_t low, high;
} ranges[] = {
#define RANGE(kind, type, field, low, high)                                                        \
	{                                                                                          \
		kind, offsetof(struct type, field), sizeof(((struct type *)0)->field), low, high   \
	}
	RANGE(EV_CONTEXT, ev_context, constraint, 0, EV_CONSTRAINT_MEMCG),
	RANGE(EV_CONTEXT, ev_context, oom_score_adj, -1000, 1000),
	RANGE(EV_CONTEXT, ev_context, order, -1, 64),
	RANGE(EV_TASK, ev_task, role, EV_ROLE_CANDIDATE, EV_ROLE_CENSUS),
	RANGE(EV_TASK, ev_task, oom_score_adj, -1000, 1000),
	RANGE(EV_TASK, ev_task, rss_pages[0], -(1LL << 52), 1LL << 52),
	RANGE(EV_TASK, ev_task, rss_pages[3], -(1LL << 52), 1LL << 52),
	RANGE(EV_TASK, ev_task, rss_exact[2], -(1LL << 52), 1LL << 52),
	RANGE(EV_LEVEL, ev_level, role, EV_LEVEL_VICTIM, EV_LEVEL_LIMIT),
	RANGE(EV_LEVEL, ev_level, index, 0, EV_MAX_LEVELS - 1),
	RANGE(EV_END, ev_end, choice, 0, EV_END_FREEING),
	RANGE(EV_END, ev_end, returned, 0, 1),
	RANGE(EV_END, ev_end, killed, 0, 1),
	RANGE(EV_EXIT, ev_exit, oom_victim, 0, 1),
	RANGE(EV_REAP, ev_reap, stage, EV_REAP_WAKE, EV_REAP_SKIP),
	RANGE(EV_EXEC, ev_exec, cmdline_len, 0, EV_CMDLINE_LEN),
	RANGE(EV_CGROUP, ev_cgroup, removed, 0, 1),
	RANGE(EV_SAMPLE, ev_sample, why, EV_SAMPLE_CENSUS, EV_SAMPLE_CHARGES),
	RANGE(EV_SAMPLE, ev_sample, oom_score_adj, -1000, 1000),
	RANGE(EV_SAMPLE, ev_sample, rss_pages[1], -(1LL << 52), 1LL << 52),
#undef RANGE
};

static int decode_with(const struct ranged *range, int64_t value)
{
	union sample sample = sample_of(range->kind);
	struct fact fact;

	/* little-endian, as all machines that the tool is built for */
	memcpy(sample.bytes + range->offset, &value, range->size);
	return decode_strict(&sample, sample.hdr.len, &fact);
}

static void numbers_out_of_their_range_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		assert_int_equal(decode_with(&ranges[i], ranges[i].low), 0);
		assert_int_equal(decode_with(&ranges[i], ranges[i].high), 0);
		assert_int_equal(decode_with(&ranges[i], ranges[i].low - 1), -EBADMSG);
		assert_int_equal(decode_with(&ranges[i], ranges[i].high + 1), -EBADMSG);
	}
}

/* --- strings --- */

static void a_name_without_end_gets_one(void **state)
{
	union sample sample = sample_of(EV_LEVEL);
	struct fact fact;

	(void)state;
	memset(sample.level.name, 'n', EV_NAME_LEN);
	assert_int_equal(decode(&sample, &fact), 0);
	assert_int_equal(fact.text_len, EV_NAME_LEN);
	assert_int_equal(strlen(fact.text), EV_NAME_LEN);
	sample = sample_of(EV_CGROUP);
	memset(sample.cgroup.path, '/', EV_PATH_LEN);
	assert_int_equal(decode(&sample, &fact), 0);
	assert_int_equal(fact.text_len, EV_PATH_LEN);
	assert_int_equal(strlen(fact.text), EV_PATH_LEN);
	sample = sample_of(EV_CONTEXT);
	memset(sample.context.message, 'm', EV_MESSAGE_LEN);
	assert_int_equal(decode(&sample, &fact), 0);
	assert_int_equal(strlen(fact.text), EV_MESSAGE_LEN);
}

static void a_short_string_ends_where_it_ends(void **state)
{
	union sample sample = sample_of(EV_CGROUP);
	struct fact fact;

	(void)state;
	memset(sample.cgroup.path, 'x', EV_PATH_LEN);
	strcpy(sample.cgroup.path, "/kubepods/pod1");
	assert_int_equal(decode(&sample, &fact), 0);
	assert_string_equal(fact.text, "/kubepods/pod1");
	assert_int_equal(fact.text_len, 14);
}

static void arguments_keep_their_nuls(void **state)
{
	union sample sample = sample_of(EV_EXEC);
	struct fact fact;

	(void)state;
	memset(sample.exec.cmdline, 'z', EV_CMDLINE_LEN);
	memcpy(sample.exec.cmdline, "sh\0-c", 5);
	sample.exec.cmdline_len = 5;
	assert_int_equal(decode(&sample, &fact), 0);
	assert_int_equal(fact.text_len, 5);
	assert_memory_equal(fact.text, "sh\0-c\0", 6);
	sample.exec.cmdline_len = EV_CMDLINE_LEN;
	assert_int_equal(decode(&sample, &fact), 0);
	assert_int_equal(fact.text_len, EV_CMDLINE_LEN);
	assert_int_equal(fact.text[EV_CMDLINE_LEN], '\0');
}

static void kinds_without_a_string_have_an_empty_text(void **state)
{
	union sample sample = sample_of(EV_TASK);
	struct fact fact;

	(void)state;
	memset(&fact, 'x', sizeof(fact));
	memset(sample.task.comm, 'c', EV_COMM_LEN);
	assert_int_equal(decode(&sample, &fact), 0);
	assert_int_equal(fact.text_len, 0);
	assert_string_equal(fact.text, "");
}

static void a_comm_may_use_all_its_bytes(void **state)
{
	char comm[EV_COMM_LEN], ret[EV_COMM_LEN + 1];

	(void)state;
	memset(comm, 'c', sizeof(comm));
	fact_comm(comm, ret);
	assert_string_equal(ret, "cccccccccccccccc");
	memset(ret, 'x', sizeof(ret));
	memcpy(comm, "a\0b", 3);
	fact_comm(comm, ret);
	/* nothing of what stands behind the end is handed on */
	assert_memory_equal(ret, "a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", EV_COMM_LEN + 1);
}

static void a_record_at_an_odd_address_is_read(void **state)
{
	union sample sample = sample_of(EV_TASK);
	char *odd = malloc(sizes[EV_TASK] + 1);
	struct fact fact;

	(void)state;
	sample.task.start_ns = 0x1122334455667788;
	memcpy(odd + 1, &sample, sizes[EV_TASK]);
	assert_int_equal(decode_event(odd + 1, sizes[EV_TASK], &fact), 0);
	assert_true(fact.task.start_ns == 0x1122334455667788);
	free(odd);
}

/* --- garbage --- */

static uint64_t xorshift(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void check_fact(const struct fact *fact)
{
	assert_true(fact->kind >= FIRST && fact->kind <= LAST);
	assert_true(fact->text_len <= EV_PATH_LEN);
	assert_int_equal(fact->text[fact->text_len], '\0');
	if (fact->kind == EV_LEVEL)
		assert_true(fact->level.index < EV_MAX_LEVELS);
	if (fact->kind == EV_EXEC)
		assert_true(fact->exec.cmdline_len <= EV_CMDLINE_LEN);
}

/*
 * Bytes of a valid record are changed at random places, and the record is cut or lengthened at
 * random: in a block of exactly that size, so that a sanitizer sees any step beside it.
 */
static void random_bytes_break_nothing(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15ULL;
	unsigned int taken = 0, refused = 0;
	struct fact fact;

	(void)state;
	for (int round = 0; round < RANDOM_ROUNDS; round++) {
		unsigned int pick = FIRST + xorshift(&seed) % LAST;
		unsigned int kind = sizes[pick] ? pick : EV_SIGNAL;
		union sample sample = sample_of(kind);
		size_t size = xorshift(&seed) % 4 ? sizes[kind] : xorshift(&seed) % 1400;
		unsigned int changes = xorshift(&seed) % 8;
		char *block;

		for (unsigned int i = 0; i < changes; i++)
			sample.bytes[xorshift(&seed) % sizes[kind]] = (char)xorshift(&seed);
		if (xorshift(&seed) % 8)
			sample.hdr.len = size;
		block = malloc(size ? size : 1);
		memcpy(block, &sample, size);
		if (decode_event(block, size, &fact) == 0) {
			check_fact(&fact);
			taken++;
		} else {
			refused++;
		}
		free(block);
	}
	/* neither side is idle, or this would prove nothing */
	assert_true(taken > RANDOM_ROUNDS / 20);
	assert_true(refused > RANDOM_ROUNDS / 20);
}

static void pure_noise_is_refused(void **state)
{
	uint64_t seed = 88172645463325252ULL, noise[64];
	struct fact fact;

	(void)state;
	for (int round = 0; round < 100000; round++) {
		for (size_t i = 0; i < sizeof(noise) / sizeof(*noise); i++)
			noise[i] = xorshift(&seed);
		assert_true(decode_event(noise, sizeof(noise), &fact) < 0);
	}
}

static void the_numbers_of_a_refusal_are_checked(void **state)
{
	union sample sample = sample_of(EV_REFUSAL);
	struct fact fact;

	(void)state;
	assert_int_equal(decode(&sample, &fact), 0);
	sample.refusal.call = 0;
	assert_int_equal(decode_strict(&sample, sample.hdr.len, &fact), -EBADMSG);
	sample.refusal.call = EV_CALL_LAST + 1;
	assert_int_equal(decode_strict(&sample, sample.hdr.len, &fact), -EBADMSG);
	sample = sample_of(EV_REFUSAL);
	sample.refusal.count = 0;
	assert_int_equal(decode_strict(&sample, sample.hdr.len, &fact), -EBADMSG);
	sample = sample_of(EV_REFUSAL);
	sample.refusal.pids_level = EV_MAX_LEVELS;
	assert_int_equal(decode_strict(&sample, sample.hdr.len, &fact), -EBADMSG);
	sample = sample_of(EV_REFUSAL);
	sample.refusal.total_vm_pages = 1ULL << 53;
	assert_int_equal(decode_strict(&sample, sample.hdr.len, &fact), -EBADMSG);
}

static void the_numbers_of_a_signal_are_checked(void **state)
{
	union sample sample = sample_of(EV_SIGNAL);
	struct fact fact;

	(void)state;
	sample.signal.cmdline_len = 11;
	memcpy(sample.signal.cmdline,
		"kill\0-9\0"
		"123",
		11);
	assert_int_equal(decode(&sample, &fact), 0);
	assert_int_equal(fact.text_len, 11);
	assert_memory_equal(fact.text,
		"kill\0-9\0"
		"123",
		11);
	sample.signal.cmdline_len = EV_CMDLINE_LEN + 1;
	assert_int_equal(decode_strict(&sample, sample.hdr.len, &fact), -EBADMSG);
	sample = sample_of(EV_SIGNAL);
	sample.signal.signal = 65;
	assert_int_equal(decode_strict(&sample, sample.hdr.len, &fact), -EBADMSG);
	sample.signal.signal = 0;
	assert_int_equal(decode_strict(&sample, sample.hdr.len, &fact), -EBADMSG);
	sample = sample_of(EV_SIGNAL);
	sample.signal.result = EV_SIGNAL_LOST_INFO + 1;
	assert_int_equal(decode_strict(&sample, sample.hdr.len, &fact), -EBADMSG);
	sample = sample_of(EV_SIGNAL);
	sample.signal.burst = 0;
	assert_int_equal(decode_strict(&sample, sample.hdr.len, &fact), -EBADMSG);
	sample = sample_of(EV_SIGNAL);
	sample.signal.oom_score_adj = 1001;
	assert_int_equal(decode_strict(&sample, sample.hdr.len, &fact), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_numbers_of_a_refusal_are_checked),
		cmocka_unit_test(the_numbers_of_a_signal_are_checked),
		cmocka_unit_test(every_kind_is_taken_apart),
		cmocka_unit_test(a_record_cut_anywhere_is_refused),
		cmocka_unit_test(a_record_may_grow_at_its_end),
		cmocka_unit_test(the_length_must_be_that_of_the_bytes),
		cmocka_unit_test(another_version_is_told_apart),
		cmocka_unit_test(unknown_kinds_are_told_apart),
		cmocka_unit_test(numbers_out_of_their_range_are_refused),
		cmocka_unit_test(a_name_without_end_gets_one),
		cmocka_unit_test(a_short_string_ends_where_it_ends),
		cmocka_unit_test(arguments_keep_their_nuls),
		cmocka_unit_test(kinds_without_a_string_have_an_empty_text),
		cmocka_unit_test(a_comm_may_use_all_its_bytes),
		cmocka_unit_test(a_record_at_an_odd_address_is_read),
		cmocka_unit_test(random_bytes_break_nothing),
		cmocka_unit_test(pure_noise_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
