// SPDX-License-Identifier: Apache-2.0
/* The loop's side and the thread's, over a store and a history that do as they are told. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

/* Parts of a command, which the library of what is tested does not hold. */
#include "cmd/keeper_queue.c"
#include "cmd/keeper_thread.c"
#define take_owner keeper_take_owner
#define take_point keeper_take_point
#include "cmd/keeper.c"
#undef take_owner
#undef take_point

#include "keeper_world.h"

/* --- one keeper --- */

static struct names names;
static struct growth *const growth = (struct growth *)(void *)&names;
static struct keeper *keeper;
static struct keeper_totals totals;
static int said_fd, own_stderr;
static bool large; /* incidents are, as they come from now on */

static int setup(void **state)
{
	char name[] = "/tmp/test_keeper-XXXXXX";

	(void)state;
	memset((char *)&disk + sizeof(disk.mutex), 0, sizeof(disk) - sizeof(disk.mutex));
	memset(&history, 0, sizeof(history));
	large = false;
	names.processes = processes_new(64);
	names.cgroups = cgroups_new(64);
	snprintf(process_get(names.processes, 7, 70, 1)->cmdline, PROCESS_CMDLINE_LEN, "a command");
	said_fd = mkstemp(name);
	unlink(name);
	own_stderr = dup(STDERR_FILENO);
	return said_fd < 0 || dup2(said_fd, STDERR_FILENO) < 0;
}

static int teardown(void **state)
{
	(void)state;
	dup2(own_stderr, STDERR_FILENO);
	close(own_stderr);
	close(said_fd);
	processes_free(names.processes);
	cgroups_free(names.cgroups);
	return 0;
}

static struct keeper *open_it(int *ret_status)
{
	const struct keeper_options options = {.path = PATH,
		.limits = {.max_bytes = 1 << 30, .keep_ns = 5},
		.series_all = true,
		.queue_bytes = QUEUE_MIN_BYTES};
	static const struct capture_run run = {.recorder_history_ns = 60 * SECOND_NS};

	return keeper_open(&options, &run, ret_status);
}

static void begin(void)
{
	int status = 0;

	keeper = open_it(&status);
	assert_non_null(keeper);
	assert_int_equal(keeper_start(keeper), 0);
}

static void happens(uint32_t number, bool with_series)
{
	static struct incident incident;
	static struct judgement judgement;
	struct capture_moment moment = {.lost_events = number};

	incident.number = number;
	incident.time_ns = 100 * SECOND_NS;
	incident.outcome = OUTCOME_KILLED;
	incident.victim_count = 1;
	incident.victims[0].task.tgid = number;
	memcpy(incident.victims[0].task.comm, "a\nb", 4);
	incident.level_count = 1;
	incident.levels[0].id = 55;
	judgement.limit_level = 0;
	memset(judgement.verdicts, large ? 'x' : 0, sizeof(judgement.verdicts));
	keeper_incident(
		keeper, &incident, &judgement, &moment, with_series ? growth : NULL, &names);
}

static void finish(uint64_t grace_ns)
{
	keeper_close(keeper, "signal", grace_ns, &totals);
	assert_true(disk.closed);
}

static void wait_incidents(unsigned int count)
{
	while (atomic_load(&keeper->stored_incidents) < count)
		poll(NULL, 0, 1);
}

static bool said(const char *words, unsigned int times)
{
	static char text[1 << 20];
	ssize_t len = pread(said_fd, text, sizeof(text) - 1, 0);
	unsigned int count = 0;

	text[len > 0 ? len : 0] = '\0';
	for (const char *at = text; (at = strstr(at, words)) != NULL; at++)
		count++;
	return count == times;
}

static void assert_numbers(uint32_t from, uint32_t to)
{
	assert_int_equal(disk.incidents, to - from + 1);
	for (uint32_t i = from; i <= to; i++)
		assert_int_equal(disk.numbers[i - from], i);
}

/* --- tests --- */

static void test_order(void **state)
{
	(void)state;
	history.points = 150;
	begin();
	happens(1, true);
	wait_incidents(1);
	assert_int_equal(history.domain_id, 55);
	assert_int_equal(history.from_ns, 40 * SECOND_NS);
	assert_false(history.again);
	finish(SECOND_NS);
	assert_string_equal(disk.log, "ropopci");
	assert_int_equal(totals.incidents, 1);
	assert_int_equal(totals.points, 150);
	assert_int_equal(totals.incidents_lost + totals.points_lost, 0);
	assert_int_equal(totals.error, 0);
	assert_string_equal(disk.why, "signal");
	assert_true(disk.ended_ns > 0);
	assert_true(said("oomsnoop: recording to " PATH "\n", 1));
	assert_true(said("stored incident 1: KILLED a\\x0ab[1]\n", 1));
}

static void test_thinned(void **state)
{
	(void)state;
	history.points = 10;
	begin();
	keeper_pass(keeper, growth, &names, 1000);
	keeper_pass(keeper, growth, &names, 1000 + 9 * SECOND_NS);
	keeper_pass(keeper, growth, &names, 1000 + 10 * SECOND_NS);
	keeper_pass(keeper, NULL, &names, 1000 + 90 * SECOND_NS);
	finish(SECOND_NS);
	assert_int_equal(history.thinned, 2);
	assert_int_equal(totals.points, 20);
}

/* More than a batch holds, in one series and in many. */
static void test_large(void **state)
{
	(void)state;
	begin();
	history.points = STORE_BATCH_POINTS + 5000;
	happens(1, true);
	wait_incidents(1);
	finish(SECOND_NS);
	assert_int_equal(totals.points, STORE_BATCH_POINTS + 5000);
	assert_int_equal(disk.points, STORE_BATCH_POINTS + 5000);
	assert_int_equal(disk.batch_most, STORE_BATCH_POINTS);
	assert_int_equal(disk.owners, 2);
}

static void test_retries(void **state)
{
	(void)state;
	history.points = 10;
	begin();
	breaks(CALL_COMMIT, -EIO, 1);
	happens(1, true);
	happens(2, true);
	wait_incidents(2);
	breaks(CALL_INCIDENT, -ENOSPC, 1);
	happens(3, true);
	wait_incidents(3);
	finish(SECOND_NS);
	assert_numbers(1, 3);
	assert_int_equal(totals.points, 30);
	assert_int_equal(totals.points_lost, 0);
	assert_true(said("cannot write to " PATH ": why it failed", 2));
	assert_true(said("can be written to again", 2));
	assert_int_equal(disk.gap_count, 0);
}

/* The queue fills while the disk fails: what finds no room is counted, and told once it is over. */
static void test_overflow(void **state)
{
	uint64_t in_gaps = 0, points_in_gaps = 0;

	(void)state;
	history.points = 9000;
	begin();
	breaks(CALL_COMMIT, -ENOSPC, UINT32_MAX);
	breaks(CALL_INCIDENT, -ENOSPC, UINT32_MAX);
	happens(1, true);
	while (!atomic_load(&keeper->error))
		poll(NULL, 0, 1);
	large = true;
	for (uint32_t i = 2; i <= 300; i++)
		happens(i, i < 100);
	breaks(CALL_COMMIT, 0, 0);
	breaks(CALL_INCIDENT, 0, 0);
	wait_incidents(20);
	finish(10 * SECOND_NS);
	assert_true(totals.incidents_lost > 0 && totals.points_lost > 0);
	assert_int_equal(totals.incidents + totals.incidents_lost, 300);
	assert_int_equal(totals.points + totals.points_lost, 99 * 9000);
	assert_int_equal(totals.incidents, disk.incidents);
	assert_int_equal(totals.points, disk.points);
	for (unsigned int i = 0; i < disk.gap_count; i++) {
		assert_int_equal(disk.gaps[i].why, STORE_GAP_DISK);
		in_gaps += disk.gaps[i].incidents;
		points_in_gaps += disk.gaps[i].points;
	}
	assert_int_equal(disk.gap_count, 1);
	assert_int_equal(in_gaps, totals.incidents_lost);
	assert_int_equal(points_in_gaps, totals.points_lost);
	assert_int_equal(totals.error, 0);
	for (unsigned int i = 0; i < disk.incidents; i++)
		assert_int_equal(disk.numbers[i], i + 1);
}

/* After points were lost, the next window is told whole: once, and not sooner than in ten seconds
 * again. */
static void test_again(void **state)
{
	(void)state;
	history.points = 9000;
	begin();
	breaks(CALL_COMMIT, -EIO, UINT32_MAX);
	while (!keeper->refused_points)
		happens(1, true);
	assert_false(history.again);
	happens(1, true);
	assert_true(history.again);
	happens(1, true);
	assert_false(history.again);
	breaks(CALL_COMMIT, 0, 0);
	finish(10 * SECOND_NS);
	assert_int_equal(totals.incidents_lost, 0);
}

static void test_reader_holds_log(void **state)
{
	(void)state;
	history.points = 10;
	begin();
	pthread_mutex_lock(&disk.mutex);
	disk.full = true;
	pthread_mutex_unlock(&disk.mutex);
	breaks(CALL_COMMIT, -EAGAIN, 1);
	happens(1, true);
	happens(2, true);
	wait_incidents(2);
	assert_true(said("no series are stored until it ends", 1));
	pthread_mutex_lock(&disk.mutex);
	disk.full = false;
	pthread_mutex_unlock(&disk.mutex);
	while (atomic_load(&keeper->stored_points) < 10) {
		happens(3, true);
		poll(NULL, 0, 100);
	}
	finish(SECOND_NS);
	assert_true(disk.gap_count > 0);
	assert_int_equal(disk.gaps[0].why, STORE_GAP_DISK);
	assert_true(disk.gaps[0].points >= 20);
	assert_int_equal(totals.incidents_lost, 0);
}

/* What can never be stored does not stand in the way. */
static void test_poison(void **state)
{
	(void)state;
	history.points = 10;
	begin();
	breaks(CALL_INCIDENT, -EEXIST, 1);
	happens(1, true);
	happens(2, true);
	wait_incidents(1);
	breaks(CALL_OWNER, -EINVAL, 1);
	happens(3, true);
	wait_incidents(2);
	finish(SECOND_NS);
	assert_numbers(2, 3);
	assert_true(said("an incident cannot be stored and is left out", 1));
	assert_true(said("a series cannot be stored and is left out", 1));
	assert_int_equal(totals.incidents_lost, 1);
	assert_int_equal(totals.points, 20);
	assert_int_equal(totals.points_lost, 10);
	assert_true(disk.gap_count > 0);
}

static void test_point_refused(void **state)
{
	(void)state;
	history.points = 10;
	begin();
	breaks(CALL_POINT, -EINVAL, 3);
	happens(1, true);
	wait_incidents(1);
	finish(SECOND_NS);
	assert_int_equal(totals.points, 7);
	assert_int_equal(totals.points_lost, 3);
	assert_int_equal(disk.gaps[0].points, 3);
}

static void test_replaced(void **state)
{
	(void)state;
	begin();
	happens(1, true);
	wait_incidents(1);
	pthread_mutex_lock(&disk.mutex);
	disk.replaced = true;
	disk.fails[CALL_OPEN] = -ENOENT;
	disk.fail_times[CALL_OPEN] = 1;
	pthread_mutex_unlock(&disk.mutex);
	happens(2, true);
	wait_incidents(2);
	happens(3, true);
	assert_true(history.again);
	wait_incidents(3);
	finish(SECOND_NS);
	assert_int_equal(disk.opened, 2);
	assert_int_equal(disk.runs, 2);
	assert_true(said("was removed or replaced", 1));
	assert_true(said("cannot write to " PATH ": why it could not be opened", 1));
	assert_numbers(1, 3);
}

/* The end waits for the disk as long as it was told, and counts. */
static void test_close_failing(void **state)
{
	uint64_t begun;

	(void)state;
	history.points = 10;
	begin();
	breaks(CALL_COMMIT, -ENOSPC, UINT32_MAX);
	happens(1, true);
	begun = clock_now_ns(CLOCK_MONOTONIC);
	finish(SECOND_NS / 2);
	begun = clock_now_ns(CLOCK_MONOTONIC) - begun;
	assert_true(begun >= SECOND_NS / 2 && begun < 5 * SECOND_NS);
	assert_int_equal(totals.error, -ENOSPC);
	assert_int_equal(totals.incidents_lost, 1);
	assert_int_equal(totals.points_lost, 10);
	assert_string_equal(disk.why, "");
}

static void test_end_fails(void **state)
{
	(void)state;
	begin();
	breaks(CALL_END_RUN, -EIO, 2);
	finish(10 * SECOND_NS);
	assert_int_equal(totals.error, 0);
	assert_string_equal(disk.why, "signal");
}

/* Closed before its thread was started. */
static void test_never_started(void **state)
{
	int status = 0;

	(void)state;
	keeper = open_it(&status);
	assert_non_null(keeper);
	happens(1, false);
	finish(SECOND_NS);
	assert_numbers(1, 1);
	assert_string_equal(disk.why, "signal");
}

static void test_open_status(void **state)
{
	static const struct {
		enum call call;
		int error, status;
	} cases[] = {
		{CALL_OPEN, -ENOENT, EX_IOERR},
		{CALL_OPEN, -EROFS, EX_IOERR},
		{CALL_OPEN, -EACCES, EX_NOPERM},
		{CALL_OPEN, -EPERM, EX_NOPERM},
		{CALL_OPEN, -EBADMSG, EX_DATAERR},
		{CALL_OPEN, -EPROTO, EX_DATAERR},
		{CALL_OPEN, -EBUSY, 1},
		{CALL_BEGIN_RUN, -ENOSPC, EX_IOERR},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int status = 0;

		breaks(cases[i].call, cases[i].error, 1);
		assert_null(open_it(&status));
		assert_int_equal(status, cases[i].status);
	}
	assert_true(said("another recorder writes to " PATH, 1));
	assert_true(said("cannot write to " PATH ": why it could not be opened", 6));
	assert_true(said("cannot write to " PATH ": why it failed", 1));
}

static void test_window_left_out(void **state)
{
	(void)state;
	history.points = 1;
	history.left_out = 12;
	begin();
	happens(1, true);
	wait_incidents(1);
	finish(SECOND_NS);
	assert_int_equal(disk.gap_count, 1);
	assert_int_equal(disk.gaps[0].why, STORE_GAP_WINDOW);
	assert_true(disk.gaps[0].points == UNKNOWN_U64);
	assert_int_equal(disk.gaps[0].to_ns - disk.gaps[0].from_ns, 60 * SECOND_NS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_order),
		TEST(test_thinned),
		TEST(test_large),
		TEST(test_retries),
		TEST(test_overflow),
		TEST(test_again),
		TEST(test_reader_holds_log),
		TEST(test_poison),
		TEST(test_point_refused),
		TEST(test_replaced),
		TEST(test_close_failing),
		TEST(test_end_fails),
		TEST(test_never_started),
		TEST(test_open_status),
		TEST(test_window_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
