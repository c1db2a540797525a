// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A part of a command, which the library of what is tested does not hold. */
#include "cmd/keeper_queue.c"

#define BYTES QUEUE_MIN_BYTES

static uint8_t memory[BYTES];
static struct queue queue;
static struct queue_item item;
static struct incident incident;
static struct judgement judgement;

static int setup(void **state)
{
	(void)state;
	memset(memory, 0xa5, sizeof(memory));
	queue_init(&queue, memory, sizeof(memory));
	memset(&item, 0x5a, sizeof(item));
	memset(&incident, 0, sizeof(incident));
	memset(&judgement, 0, sizeof(judgement));
	return 0;
}

static struct history_owner an_owner(void)
{
	return (struct history_owner) {
		.kind = HISTORY_PROCESS,
		.cgroup_id = 0x1234567890ULL,
		.parent_id = UINT64_MAX,
		.max_bytes = UINT64_MAX,
		.tgid = UINT32_MAX,
		.ppid = 1,
		.root_tgid = 77,
		.start_ns = 123456789012345ULL,
		.root_start_ns = 5,
		.exited_ns = 0,
		.shared_bytes = 1ULL << 40,
		.comm = "a\nb\033\"\\\377xxxxxxxxx",
	};
}

static void assert_next(enum queue_kind kind)
{
	assert_int_equal(queue_next(&queue, &item), kind);
}

static void assert_owner(const struct history_owner *owner, const char *path, const char *cmdline)
{
	assert_next(QUEUE_OWNER);
	assert_int_equal(item.owner.kind, owner->kind);
	assert_true(item.owner.cgroup_id == owner->cgroup_id);
	assert_true(item.owner.parent_id == owner->parent_id);
	assert_true(item.owner.max_bytes == owner->max_bytes);
	assert_true(item.owner.tgid == owner->tgid && item.owner.ppid == owner->ppid);
	assert_int_equal(item.owner.root_tgid, owner->root_tgid);
	assert_true(item.owner.start_ns == owner->start_ns);
	assert_true(item.owner.root_start_ns == owner->root_start_ns);
	assert_true(item.owner.exited_ns == owner->exited_ns);
	assert_true(item.owner.shared_bytes == owner->shared_bytes);
	assert_string_equal(item.owner.comm, owner->comm);
	assert_string_equal(item.path, path);
	assert_string_equal(item.cmdline, cmdline);
}

static void test_owner(void **state)
{
	struct history_owner owner = an_owner();

	(void)state;
	assert_true(queue_owner(&queue, &owner, "/a/b\n", "cmd --x"));
	assert_next(QUEUE_EMPTY);
	queue_publish(&queue);
	assert_owner(&owner, "/a/b\n", "cmd --x");
	assert_next(QUEUE_EMPTY);
	owner.max_bytes = 0;
	owner.comm[0] = '\0';
	assert_true(queue_owner(&queue, &owner, "", ""));
	queue_publish(&queue);
	assert_owner(&owner, "", "");
}

/* Longest names; a longer command line is cut. */
static void test_owner_long(void **state)
{
	struct history_owner owner = an_owner();
	char path[CGROUP_PATH_LEN + 10], cmdline[QUEUE_CMDLINE + 10];

	(void)state;
	memset(path, 'p', sizeof(path));
	path[CGROUP_PATH_LEN - 1] = '\0';
	memset(cmdline, 'c', sizeof(cmdline));
	cmdline[sizeof(cmdline) - 1] = '\0';
	assert_true(queue_owner(&queue, &owner, path, cmdline));
	queue_publish(&queue);
	cmdline[QUEUE_CMDLINE] = '\0';
	assert_owner(&owner, path, cmdline);
}

static void test_points(void **state)
{
	static const int64_t values[] = {0, 1, -1, 63, 64, 4095, 4096, -4096, 4097, 1LL << 40,
		-(1LL << 40), INT64_MAX, INT64_MIN, INT64_MAX - 4095, 12345678901234567LL};
	const size_t count = sizeof(values) / sizeof(values[0]);
	struct history_owner owner = an_owner();

	(void)state;
	assert_true(queue_owner(&queue, &owner, "", ""));
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++) {
			struct history_point point = {
				.time_ns = (int64_t)(1000000 * (i * count + j) + 999),
				.values = {values[i], values[j], values[(i + j) % count], 7},
			};

			assert_true(queue_point(&queue, &point));
		}
	queue_publish(&queue);
	assert_next(QUEUE_OWNER);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++) {
			assert_next(QUEUE_POINT);
			assert_true(item.point.time_ns == (int64_t)(1000000 * (i * count + j)));
			assert_true(item.point.values[0] == values[i]);
			assert_true(item.point.values[1] == values[j]);
			assert_true(item.point.values[2] == values[(i + j) % count]);
			assert_true(item.point.values[3] == 7);
		}
	assert_next(QUEUE_EMPTY);
}

/* Differences begin anew with each owner, so that any of them can be the first after a restart. */
static void test_rewind_to_owner(void **state)
{
	struct history_owner owner = an_owner();
	struct history_point point = {.time_ns = 5000, .values = {4096, 0, 8192, 1}};
	uint64_t second;

	(void)state;
	queue_owner(&queue, &owner, "", "one");
	queue_point(&queue, &point);
	queue_owner(&queue, &owner, "", "two");
	point.time_ns = 9000;
	queue_point(&queue, &point);
	queue_publish(&queue);
	for (int i = 0; i < 2; i++) {
		assert_owner(&owner, "", "one");
		assert_next(QUEUE_POINT);
		assert_int_equal(item.point.time_ns, 5000);
		assert_owner(&owner, "", "two");
		second = item.at;
		assert_next(QUEUE_POINT);
		queue_rewind(&queue);
	}
	queue_release(&queue, second);
	queue_rewind(&queue);
	assert_owner(&owner, "", "two");
	assert_next(QUEUE_POINT);
	assert_int_equal(item.point.time_ns, 9000);
	assert_int_equal(item.point.values[2], 8192);
	assert_next(QUEUE_EMPTY);
}

/* A usual point takes few bytes. */
static void test_point_size(void **state)
{
	struct history_owner owner = an_owner();
	struct history_point point = {.time_ns = 86400000000000LL};
	size_t before;

	(void)state;
	queue_owner(&queue, &owner, "", "");
	queue_point(&queue, &point);
	before = ringbuf_used(&queue.ring);
	for (int i = 0; i < 1000; i++) {
		point.time_ns += 1000123456;
		point.values[HISTORY_RESIDENT] += 1 << 20;
		point.values[HISTORY_COW] += 3 << 12;
		assert_true(queue_point(&queue, &point));
	}
	assert_true((ringbuf_used(&queue.ring) - before) / 1000 <= 8);
}

static void test_gap(void **state)
{
	const struct store_gap gap = {.why = STORE_GAP_DISK,
		.from_ns = -5,
		.to_ns = INT64_MAX,
		.incidents = 3,
		.points = UNKNOWN_U64};

	(void)state;
	assert_true(queue_gap(&queue, &gap));
	assert_next(QUEUE_GAP);
	assert_memory_equal(&item.gap, &gap, sizeof(gap));
}

static const char *const faults_why = "no hook on page faults serves here";

static struct capture_moment a_moment(void)
{
	struct capture_moment moment;

	memset(&moment, 0, sizeof(moment));
	moment.wall_minus_boot_ns = INT64_MIN + 5;
	moment.lost_events = 9;
	moment.coverage.full_tier = true;
	moment.coverage.kernel_sum = RSS_MATCH_EXACT;
	moment.coverage.faults_why = faults_why;
	return moment;
}

static void assert_incident(const struct capture_moment *moment)
{
	assert_next(QUEUE_INCIDENT);
	assert_memory_equal(&item.incident, &incident, sizeof(incident));
	assert_memory_equal(&item.judgement, &judgement, sizeof(judgement));
	assert_memory_equal(&item.moment, moment, sizeof(*moment));
	assert_ptr_equal(item.moment.coverage.faults_why, faults_why);
}

/* Empty, usual, and every byte in use. */
static void test_incident(void **state)
{
	struct capture_moment moment = a_moment();
	size_t empty, full;

	(void)state;
	assert_true(queue_incident(&queue, &incident, &judgement, &moment));
	empty = ringbuf_used(&queue.ring);
	assert_incident(&moment);
	assert_true(empty < 256);
	incident.number = 77;
	incident.victim_count = 1;
	incident.victims[511].exit_code = 9;
	judgement.missing_count = 4;
	assert_true(queue_incident(&queue, &incident, &judgement, &moment));
	assert_incident(&moment);
	full = ringbuf_used(&queue.ring);
	memset(&incident, 0xff, sizeof(incident));
	memset(&judgement, 0xff, sizeof(judgement));
	assert_true(queue_incident(&queue, &incident, &judgement, &moment));
	assert_incident(&moment);
	full = ringbuf_used(&queue.ring) - full;
	assert_true(full < sizeof(incident) + sizeof(judgement) + 256);
}

/* The worst for runs: every other word is empty. Over and over, so that it wraps everywhere. */
static void test_incident_wraps(void **state)
{
	struct capture_moment moment = a_moment();

	(void)state;
	for (size_t i = 0; i + 8 <= sizeof(incident); i += 16)
		memcpy((char *)&incident + i, "\377\1\2\3\4\5\6\7", 8);
	for (int round = 0; round < 40; round++) {
		assert_true(queue_incident(&queue, &incident, &judgement, &moment));
		assert_incident(&moment);
		queue_release(&queue, item.end);
	}
}

/* Series get half of it, incidents nearly all, gaps the rest; what finds no room leaves no trace.
 */
static void test_shares(void **state)
{
	struct history_owner owner = an_owner();
	struct history_point point = {.time_ns = 0};
	struct capture_moment moment = a_moment();
	struct store_gap gap = {.why = STORE_GAP_QUEUE};
	unsigned int points = 0, incidents = 0, gaps = 0, got[5] = {0};

	(void)state;
	assert_false(queue_fills(&queue));
	queue_owner(&queue, &owner, "/path", "cmdline");
	for (;; points++) {
		point.time_ns += 1000000;
		point.values[0] = rand();
		if (!queue_point(&queue, &point))
			break;
	}
	assert_true(queue_fills(&queue));
	assert_true(ringbuf_used(&queue.ring) <= BYTES / 2);
	assert_true(ringbuf_used(&queue.ring) > BYTES / 2 - 64);
	assert_false(queue_owner(&queue, &owner, "/path", "cmdline"));
	memset(&judgement, 0xff, sizeof(judgement));
	while (queue_incident(&queue, &incident, &judgement, &moment))
		incidents++;
	assert_true(incidents >= BYTES / 2 / (sizeof(judgement) + 4096) - 1);
	while (queue_gap(&queue, &gap))
		gaps++;
	assert_true(gaps >= 50);
	while (queue_next(&queue, &item) != QUEUE_EMPTY)
		got[item.kind]++;
	assert_int_equal(got[QUEUE_OWNER], 1);
	assert_int_equal(got[QUEUE_POINT], points);
	assert_int_equal(got[QUEUE_INCIDENT], incidents);
	assert_int_equal(got[QUEUE_GAP], gaps);
	queue_release(&queue, item.end);
	assert_int_equal(ringbuf_used(&queue.ring), 0);
	assert_true(queue_owner(&queue, &owner, "/path", "cmdline"));
}

/* Whole, in its place between others; and no more of them than half of the queue holds. */
static void test_kill(void **state)
{
	static struct killing killing = {
		.number = 7, .target_count = 2, .target_cgroup = "/a", .limit_id = UINT64_MAX};
	struct store_kill_told told = {.time_real_ns = -5, .claim = "x"};
	struct store_gap gap = {.incidents = 3};
	unsigned int put = 0;

	(void)state;
	killing.targets[1].tgid = 99;
	assert_true(queue_kill(&queue, &killing, &told));
	assert_true(queue_gap(&queue, &gap));
	assert_next(QUEUE_KILL);
	assert_memory_equal(&item.killing, &killing, sizeof(killing));
	assert_memory_equal(&item.told, &told, sizeof(told));
	assert_next(QUEUE_GAP);
	while (queue_kill(&queue, &killing, &told))
		put++;
	assert_true(put > 10);
	assert_true(queue_gap(&queue, &gap));
	while (put--)
		assert_next(QUEUE_KILL);
	assert_next(QUEUE_GAP);
	assert_next(QUEUE_EMPTY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_owner, setup),
		cmocka_unit_test_setup(test_owner_long, setup),
		cmocka_unit_test_setup(test_points, setup),
		cmocka_unit_test_setup(test_rewind_to_owner, setup),
		cmocka_unit_test_setup(test_point_size, setup),
		cmocka_unit_test_setup(test_gap, setup),
		cmocka_unit_test_setup(test_incident, setup),
		cmocka_unit_test_setup(test_incident_wraps, setup),
		cmocka_unit_test_setup(test_shares, setup),
		cmocka_unit_test_setup(test_kill, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
