// SPDX-License-Identifier: Apache-2.0
/* A reader that holds the log, a disk that is full, a writer that is killed: nothing stored is
 * lost. */
#include "keep_fixture.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* --- a reader that does not let go --- */

static void a_reader_that_holds_the_log(void **state)
{
	struct fixture fixture;
	int64_t boot_ns = T0, id, stored;
	bool full = false, more, stale;
	struct db reader;
	int ret = 0, refused = 0, incidents = 0;

	(void)state;
	fixture_start(&fixture, 8 * MIB, T0);
	batch(&fixture, boot_ns, 1, 200);
	assert_int_equal(db_open_reader(&reader, fixture.path, &stale), 0);
	assert_int_equal(db_exec(&reader, "BEGIN"), 0);
	assert_int_equal(db_number(&reader, "SELECT count(*) FROM process_point", 0, &stored), 0);
	for (int i = 0; i < 2000 && !full; i++) {
		batch(&fixture, boot_ns += 10 * SEC, 1, 200);
		fixture_says(&fixture,
			store_keep(fixture.writer, boot_ns + fixture.offset_ns, &more, &full));
		assert_within(&fixture);
	}
	assert_true(full);
	/* Series wait; what was stored so far is not touched. */
	stored = points(&fixture);
	for (int i = 0; i < 10; i++) {
		ret = try_batch(&fixture, boot_ns + 10 * SEC, 1, 200);
		refused += ret == -EAGAIN;
		assert_true(!ret || ret == -EAGAIN);
		assert_within(&fixture);
	}
	assert_int_equal(ret, -EAGAIN);
	assert_non_null(strstr(store_writer_why(fixture.writer), "read"));
	/* Incidents have the rest of the log to themselves, to its last bound. */
	while (!(ret = fixture_try_incident(&fixture, boot_ns, 20, &id)) && incidents < 200) {
		incidents++;
		fixture_says(&fixture,
			store_keep(fixture.writer, boot_ns + fixture.offset_ns, &more, &full));
		assert_true(full);
		assert_within(&fixture);
	}
	assert_int_equal(ret, -EAGAIN);
	assert_true(incidents >= 16); /* 1 MiB of log */
	assert_within(&fixture);
	assert_true(points(&fixture) >= stored);
	/* It lets go: everything goes on at once. */
	assert_int_equal(db_exec(&reader, "COMMIT"), 0);
	assert_int_equal(fixture_incident(&fixture, boot_ns, 20), incidents + 1);
	batch(&fixture, boot_ns + 10 * SEC, 1, 200);
	assert_false(fixture_keep(&fixture, boot_ns + fixture.offset_ns));
	assert_within(&fixture);
	assert_true(fixture_is_sound(&fixture));
	db_close(&reader);
	fixture_remove(&fixture);
}

/* --- a disk that is full --- */

static void limit_files(uint64_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* No file may grow: the log cannot take another page, wherever it stands. */
static void a_full_disk_loses_nothing(void **state)
{
	int64_t boot_ns = T0, before, id;
	struct fixture fixture;
	int failed = 0;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	fixture_start(&fixture, 8 * MIB, T0);
	for (int i = 0; i < 50; i++)
		batch(&fixture, boot_ns += 10 * SEC, 1, 100);
	fixture_incident(&fixture, boot_ns, 10);
	before = points(&fixture);
	for (uint64_t bytes = 1; bytes < 40 * 4096; bytes += 2 * 4096 + 7) {
		bool more, full;
		int ret;

		fixture_keep(&fixture, boot_ns + fixture.offset_ns);
		limit_files(bytes);
		ret = try_batch(&fixture, boot_ns + 10 * SEC, 1000, 300);
		if (ret) {
			assert_true(ret == -EFBIG || ret == -ENOSPC || ret == -EIO);
			assert_true(store_writer_why(fixture.writer)[0] != '\0');
			assert_int_equal(points(&fixture), before);
			failed++;
		} else {
			before = points(&fixture);
		}
		ret = fixture_try_incident(&fixture, boot_ns, 60, &id);
		assert_true(!ret || ret == -EFBIG || ret == -ENOSPC || ret == -EIO);
		store_keep(fixture.writer, boot_ns + fixture.offset_ns, &more, &full);
		limit_files(0);
		/* There is room again: the very same is told once more, and nothing is twice. */
		batch(&fixture, boot_ns + 10 * SEC, 1000, 300);
		assert_int_equal(points(&fixture), 50 * 100 + 300);
		fixture_sql(&fixture, "DELETE FROM process_point WHERE process IN"
				      " (SELECT id FROM process WHERE pid >= 1000)");
		before = points(&fixture);
		assert_int_equal(before, 50 * 100);
	}
	assert_true(failed >= 5);
	assert_true(fixture_number(&fixture, "SELECT min(id) FROM incident") == 1);
	assert_true(fixture_is_sound(&fixture));
	fixture_remove(&fixture);
}

/* Names that an incident wanted to commit on its way could not be: their points are refused. */
static void a_broken_batch_is_told_again(void **state)
{
	struct history_owner owner = process_owner(7, 7, APP, "seven");
	struct history_point point = {.time_ns = T0 + SEC, .values = {1, 2, 3, 4}};
	struct fixture fixture;
	int64_t id;
	int ret;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	fixture_start(&fixture, 8 * MIB, T0);
	batch_begin(&fixture);
	tell_owner(&fixture, &owner, "", "");
	fixture_says(&fixture, store_point(fixture.writer, &point));
	limit_files(1);
	ret = fixture_try_incident(&fixture, T0, 3, &id);
	limit_files(0);
	assert_true(ret < 0);
	assert_int_equal(store_owner(fixture.writer, &owner, "", ""), ret);
	assert_int_equal(store_point(fixture.writer, &point), ret);
	assert_int_equal(store_batch_commit(fixture.writer, fixture.offset_ns), ret);
	assert_int_equal(points(&fixture), 0);
	assert_int_equal(fixture_incident(&fixture, T0, 3), 1);
	batch_begin(&fixture);
	tell_owner(&fixture, &owner, "", "");
	fixture_says(&fixture, store_point(fixture.writer, &point));
	batch_commit(&fixture);
	assert_int_equal(points(&fixture), 1);
	assert_no_orphans(&fixture);
	fixture_remove(&fixture);
}

/* The hard stop of the file itself, as if all of the reckoning were wrong. */
static void the_hard_stop(void **state)
{
	int64_t boot_ns = T0, stored;
	struct fixture fixture;
	int ret = 0;

	(void)state;
	fixture_start(&fixture, 8 * MIB, T0);
	batch(&fixture, boot_ns, 1, 2000);
	fixture_sql(&fixture, "PRAGMA max_page_count = 1"); /* no more than there are */
	for (int i = 1; i < 100 && !ret; i++) {
		stored = points(&fixture);
		ret = try_batch(&fixture, boot_ns + i * SEC, 1, 2000);
	}
	assert_int_equal(ret, -ENOSPC);
	assert_int_equal(points(&fixture), stored);
	fixture_sql(&fixture, "PRAGMA max_page_count = 100000");
	batch(&fixture, boot_ns + 100 * SEC, 1, 2000);
	assert_int_equal(points(&fixture), stored + 2000);
	assert_true(fixture_is_sound(&fixture));
	fixture_remove(&fixture);
}

/* --- a recorder that is killed --- */

/* Writes until it is killed; tells the number of each incident that is stored. */
static void write_until_killed(struct fixture *fixture, int fd)
{
	int64_t boot_ns = T0, id;

	if (store_writer_open(fixture->path, &fixture->limits, &fixture->writer) ||
		store_run_begin(fixture->writer, &fixture->run, fixture->offset_ns))
		_exit(1);
	for (;;) {
		bool more, full;

		if (try_batch(fixture, boot_ns += SEC, 1, 100) ||
			fixture_try_incident(fixture, boot_ns, 20, &id) ||
			write(fd, &id, sizeof(id)) != sizeof(id) ||
			store_keep(fixture->writer, boot_ns + WALL0, &more, &full))
			_exit(1);
	}
}

static void what_was_stored_survives_its_writer(void **state)
{
	struct fixture fixture;
	int64_t id = 0, runs = 1;
	int ends[2], status;

	(void)state;
	fixture_start(&fixture, 4 * MIB, T0);
	fixture_close(&fixture);
	for (int round = 1; round <= 4; round++) {
		pid_t child;

		assert_int_equal(pipe(ends), 0);
		child = fork();
		if (!child)
			write_until_killed(&fixture, ends[1]);
		close(ends[1]);
		for (int told = 0; told < 9 * round - 6; told++)
			assert_int_equal(read(ends[0], &id, sizeof(id)), sizeof(id));
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		while (read(ends[0], &id, sizeof(id)) == sizeof(id))
			;
		close(ends[0]);
		fixture_open(&fixture);
		assert_within(&fixture);
		fixture_run(&fixture, BOOT_A, T0);
		runs += 2;
		assert_true(fixture_number(&fixture, "SELECT max(id) FROM incident") >= id);
		assert_int_equal(fixture_number(&fixture, "SELECT max(id) FROM run"), runs);
		assert_no_orphans(&fixture);
		assert_true(fixture_is_sound(&fixture));
		fixture_close(&fixture);
	}
	fixture_remove(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_that_holds_the_log),
		cmocka_unit_test(a_full_disk_loses_nothing),
		cmocka_unit_test(a_broken_batch_is_told_again),
		cmocka_unit_test(the_hard_stop),
		cmocka_unit_test(what_was_stored_survives_its_writer),
	};

	return cmocka_run_group_tests(tests, bound_memory, NULL);
}
