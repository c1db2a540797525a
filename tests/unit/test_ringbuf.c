// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/ringbuf.h"

#define SIZE 64

static uint8_t memory[SIZE];

static struct ringbuf make(void)
{
	struct ringbuf ring;

	memset(memory, 0xee, sizeof(memory));
	ringbuf_init(&ring, memory, sizeof(memory));
	return ring;
}

static void test_nothing_before_publish(void **state)
{
	struct ringbuf ring = make();
	char text[8] = {0};

	(void)state;
	assert_false(ringbuf_get(&ring, text, 1));
	assert_true(ringbuf_put(&ring, "abc", 3, 0));
	assert_false(ringbuf_get(&ring, text, 1));
	ringbuf_publish(&ring);
	assert_false(ringbuf_get(&ring, text, 4));
	assert_true(ringbuf_get(&ring, text, 3));
	assert_string_equal(text, "abc");
	assert_false(ringbuf_get(&ring, text, 1));
}

static void test_full_and_spare(void **state)
{
	struct ringbuf ring = make();
	uint8_t block[SIZE + 1] = {0};

	(void)state;
	assert_false(ringbuf_put(&ring, block, SIZE + 1, 0));
	assert_false(ringbuf_put(&ring, block, 1, SIZE));
	assert_false(ringbuf_put(&ring, block, 1, SIZE + 1));
	assert_false(ringbuf_put(&ring, block, SIZE / 2 + 1, SIZE / 2));
	assert_true(ringbuf_put(&ring, block, SIZE / 2, SIZE / 2));
	assert_false(ringbuf_put(&ring, block, 1, SIZE / 2));
	assert_true(ringbuf_put(&ring, block, SIZE / 2, 0));
	assert_false(ringbuf_put(&ring, block, 1, 0));
	assert_true(ringbuf_put(&ring, block, 0, 0));
	assert_int_equal(ringbuf_used(&ring), SIZE);
}

/* What was got stays where it is until it is released. */
static void test_release_makes_room(void **state)
{
	struct ringbuf ring = make();
	uint8_t block[SIZE] = {0};

	(void)state;
	assert_true(ringbuf_put(&ring, block, SIZE, 0));
	ringbuf_publish(&ring);
	assert_true(ringbuf_get(&ring, block, 40));
	assert_false(ringbuf_put(&ring, block, 1, 0));
	ringbuf_release(&ring, 30);
	assert_false(ringbuf_put(&ring, block, 31, 0));
	assert_true(ringbuf_put(&ring, block, 30, 0));
}

static void test_wraps(void **state)
{
	struct ringbuf ring = make();
	char text[24];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		char want[24];

		memset(want, 'a' + i % 26, sizeof(want));
		assert_true(ringbuf_put(&ring, want, sizeof(want), 0));
		ringbuf_publish(&ring);
		assert_true(ringbuf_get(&ring, text, sizeof(text)));
		assert_memory_equal(text, want, sizeof(want));
		ringbuf_release(&ring, ring.got);
	}
	assert_int_equal(ringbuf_used(&ring), 0);
}

static void test_rewind(void **state)
{
	struct ringbuf ring = make();
	char text[8] = {0};

	(void)state;
	ringbuf_put(&ring, "abcdef", 6, 0);
	ringbuf_publish(&ring);
	ringbuf_get(&ring, NULL, 2);
	ringbuf_release(&ring, ring.got);
	assert_true(ringbuf_get(&ring, text, 4));
	assert_string_equal(text, "cdef");
	ringbuf_rewind(&ring);
	memset(text, 0, sizeof(text));
	assert_true(ringbuf_get(&ring, text, 2));
	assert_string_equal(text, "cd");
}

static void test_back(void **state)
{
	struct ringbuf ring = make();
	uint64_t at;
	char text[8] = {0};

	(void)state;
	ringbuf_put(&ring, "ab", 2, 0);
	at = ring.put;
	ringbuf_put(&ring, "xyz", 3, 0);
	ringbuf_back(&ring, at);
	ringbuf_put(&ring, "c", 1, 0);
	ringbuf_publish(&ring);
	assert_true(ringbuf_get(&ring, text, 3));
	assert_string_equal(text, "abc");
	assert_false(ringbuf_get(&ring, text, 1));
}

#define MESSAGES 200000

static void *produce(void *arg)
{
	struct ringbuf *ring = arg;

	for (uint32_t i = 0; i < MESSAGES; i++) {
		uint8_t len = 1 + i % 13, body[13];

		memset(body, (uint8_t)i, sizeof(body));
		while (!ringbuf_put(ring, &len, 1, 14))
			sched_yield();
		ringbuf_put(ring, body, len, 0);
		ringbuf_publish(ring);
	}
	return NULL;
}

/* Whole messages, all of them, in order; every seventh one read twice. */
static void test_two_threads(void **state)
{
	struct ringbuf ring = make();
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, produce, &ring), 0);
	for (uint32_t i = 0; i < MESSAGES;) {
		uint8_t len, body[13];
		static uint32_t again;

		if (!ringbuf_get(&ring, &len, 1)) {
			sched_yield();
			continue;
		}
		assert_int_equal(len, 1 + i % 13);
		assert_true(ringbuf_get(&ring, body, len));
		for (int j = 0; j < len; j++)
			assert_int_equal(body[j], (uint8_t)i);
		if (i % 7 == 0 && again != i) {
			again = i;
			ringbuf_rewind(&ring);
			continue;
		}
		ringbuf_release(&ring, ring.got);
		i++;
	}
	pthread_join(thread, NULL);
	assert_int_equal(ringbuf_used(&ring), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_before_publish),
		cmocka_unit_test(test_full_and_spare),
		cmocka_unit_test(test_release_makes_room),
		cmocka_unit_test(test_wraps),
		cmocka_unit_test(test_rewind),
		cmocka_unit_test(test_back),
		cmocka_unit_test(test_two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
