// SPDX-License-Identifier: Apache-2.0
/* SQLite files: one writer, readers without rights, errors by their numbers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "source/db.h"

#define NOBODY 65534

static char folder[64], path[128];
static struct db db, other;

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/oomsnoop-db-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/x.db", folder);
	return 0;
}

static int remove_folder(void **state)
{
	char command[128];

	(void)state;
	chmod(folder, 0755);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	assert_int_equal(system(command), 0);
	return 0;
}

static void open_writer(void)
{
	int ret = db_open_writer(&db, path);

	if (ret)
		print_message("%s\n", db_why(&db));
	assert_int_equal(ret, 0);
}

/* A table with some rows, in a database with a log. */
static void make_table(void)
{
	open_writer();
	assert_int_equal(db_wal(&db), 0);
	assert_int_equal(db_exec(&db, "CREATE TABLE t(a); INSERT INTO t VALUES(1), (2)"), 0);
}

static int64_t number(struct db *from, const char *sql)
{
	int64_t ret = -1;

	assert_int_equal(db_number(from, sql, -1, &ret), 0);
	return ret;
}

static bool exists(const char *end)
{
	char name[160];

	snprintf(name, sizeof(name), "%s%s", path, end);
	return !access(name, F_OK);
}

/* fn in another process; its return value, -1: it died. */
static int in_child(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(fn());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A writer in another process, which inherited nothing of SQLite's from this one: it runs `sql` and
 * stays until let_go(). */
static struct {
	pid_t pid;
	int ready, go; /* pipes */
} keeper;

static void keep_open(int ready, int go, const char *sql)
{
	char byte = 0;

	if (db_open_writer(&other, path) || db_wal(&other) || db_exec(&other, sql) ||
		write(ready, &byte, 1) != 1)
		_exit(1);
	if (read(go, &byte, 1) != 0)
		_exit(2);
	db_close(&other);
	_exit(0);
}

static void keep_writer(const char *sql)
{
	int ready[2], go[2];
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	keeper.pid = fork();
	assert_true(keeper.pid >= 0);
	if (!keeper.pid) {
		close(ready[0]);
		close(go[1]);
		keep_open(ready[1], go[0], sql);
	}
	close(ready[1]);
	close(go[0]);
	keeper.ready = ready[0];
	keeper.go = go[1];
	assert_int_equal(read(keeper.ready, &byte, 1), 1);
}

static void let_go(void)
{
	int status;

	close(keeper.go);
	close(keeper.ready);
	assert_int_equal(waitpid(keeper.pid, &status, 0), keeper.pid);
	assert_int_equal(status, 0);
}

/* --- the one writer --- */

static void test_a_new_file_is_made(void **state)
{
	struct stat status;

	(void)state;
	umask(022);
	make_table();
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0640);
	assert_int_equal(number(&db, "PRAGMA page_size"), 4096);
	assert_int_equal(number(&db, "PRAGMA auto_vacuum"), 2);
	assert_int_equal(number(&db, "SELECT sum(a) FROM t"), 3);
	db_close(&db);
	db_close(&db);
	assert_false(exists("-wal"));
}

static int open_as_writer(void)
{
	return -db_open_writer(&other, path);
}

static void test_a_second_writer_is_refused_at_once(void **state)
{
	(void)state;
	keep_writer("CREATE TABLE t(a)");
	assert_int_equal(db_open_writer(&db, path), -EBUSY);
	assert_string_equal(db_why(&db), "another writer has it open");
	assert_int_equal(db_open_writer(&db, path), -EBUSY);
	let_go();
	open_writer();
	assert_int_equal(number(&db, "SELECT count(*) FROM t"), 0);
	db_close(&db);
}

/* SQLite's locks are the process's, and go when any descriptor of the file is closed in it. */
static void test_a_second_writer_in_one_process_takes_no_locks_along(void **state)
{
	char command[256];

	(void)state;
	make_table();
	assert_int_equal(db_open_writer(&other, path), -EBUSY);
	assert_string_equal(db_why(&other), "another writer has it open");
	/* The kernel still shows a lock of SQLite's on the file: the shared one of a log's user. */
	snprintf(command, sizeof(command),
		"grep -q \"POSIX  ADVISORY  READ .*:$(stat -c %%i '%s') 10737\" /proc/locks", path);
	assert_int_equal(system(command), 0);
	assert_int_equal(db_exec(&db, "INSERT INTO t VALUES(3)"), 0);
	db_close(&db);
	assert_int_equal(in_child(open_as_writer), 0);
}

static int open_and_die(void)
{
	if (db_open_writer(&other, path))
		return 1;
	kill(getpid(), SIGKILL);
	return 2;
}

static void test_the_lock_ends_with_its_process(void **state)
{
	(void)state;
	make_table();
	db_close(&db);
	assert_int_equal(in_child(open_and_die), -1);
	open_writer();
	assert_int_equal(number(&db, "SELECT count(*) FROM t"), 2);
	db_close(&db);
}

/* How many rows another process sees. */
static int count_as_reader(void)
{
	bool stale;

	return db_open_reader(&other, path, &stale) ? 1 : number(&other, "SELECT count(*) FROM t");
}

static void test_readers_and_the_writer_do_not_wait(void **state)
{
	bool stale;
	int64_t count;

	(void)state;
	make_table();
	assert_int_equal(db_begin(&db), 0);
	assert_int_equal(db_exec(&db, "INSERT INTO t VALUES(3)"), 0);
	assert_int_equal(in_child(count_as_reader), 2);
	assert_int_equal(db_open_reader(&other, path, &stale), 0);
	assert_false(stale);
	assert_int_equal(number(&other, "SELECT count(*) FROM t"), 2);
	assert_int_equal(db_commit(&db), 0);
	assert_int_equal(number(&other, "SELECT count(*) FROM t"), 3);
	assert_int_equal(
		db_number(&other, "INSERT INTO t VALUES(4) RETURNING a", 0, &count), -EROFS);
	db_close(&other);
	db_close(&db);
}

static void test_a_file_that_was_replaced_is_noticed(void **state)
{
	char moved[160];

	(void)state;
	make_table();
	assert_true(db_in_place(&db));
	snprintf(moved, sizeof(moved), "%s.old", path);
	assert_int_equal(rename(path, moved), 0);
	assert_false(db_in_place(&db));
	assert_int_equal(close(open(path, O_CREAT | O_RDWR, 0600)), 0);
	assert_false(db_in_place(&db));
	db_close(&db);
}

static void test_any_path_is_a_path(void **state)
{
	static const char *const names[] = {
		"a?b=c#d%41 e", ":memory:", "file:x?mode=memory", "\xff\n'\"", "--"};
	char cwd[256];

	(void)state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bool stale;

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		make_table();
		db_close(&db);
		assert_true(exists(""));
		assert_int_equal(db_open_reader(&db, path, &stale), 0);
		assert_int_equal(number(&db, "SELECT count(*) FROM t"), 2);
		db_close(&db);
		/* Relative ones alike. */
		assert_int_equal(chdir(folder), 0);
		assert_int_equal(db_open_reader(&db, names[i], &stale), 0);
		assert_int_equal(number(&db, "SELECT count(*) FROM t"), 2);
		db_close(&db);
		assert_int_equal(chdir(cwd), 0);
	}
	snprintf(path, sizeof(path), "%s/x.db", folder);
}

static void test_what_is_no_file_is_refused(void **state)
{
	char name[600];
	bool stale;

	(void)state;
	assert_int_equal(db_open_writer(&db, folder), -EISDIR);
	assert_int_equal(db_open_reader(&db, folder, &stale), -EISDIR);
	assert_int_equal(db_open_writer(&db, "/dev/null"), -EINVAL);
	assert_int_equal(db_open_reader(&db, "/dev/null", &stale), -EINVAL);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(db_open_writer(&db, path), -EINVAL);
	assert_int_equal(db_open_reader(&db, path, &stale), -EINVAL);
	unlink(path);
	assert_int_equal(db_open_reader(&db, path, &stale), -ENOENT);
	assert_int_equal(db_open_writer(&db, "/nonexistent/x"), -ENOENT);
	memset(name, 'x', sizeof(name));
	memcpy(name, "/tmp/", 5);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(db_open_writer(&db, name), -ENAMETOOLONG);
}

/* --- readers without rights --- */

static bool become_nobody(void)
{
	return !setgroups(0, NULL) && !setgid(NOBODY) && !setuid(NOBODY);
}

static int read_as_nobody(void)
{
	bool stale;

	if (!become_nobody())
		return 101;
	if (db_open_reader(&other, path, &stale))
		return 102;
	return (int)number(&other, "SELECT count(*) FROM t") + (stale ? 50 : 0);
}

static int read_forbidden(void)
{
	bool stale;

	return become_nobody() ? -db_open_reader(&other, path, &stale) : 101;
}

static void only_as_root(void)
{
	if (geteuid())
		skip();
}

static void test_a_reader_needs_no_right_to_write(void **state)
{
	(void)state;
	only_as_root();
	make_table();
	assert_int_equal(chmod(folder, 0755), 0);
	assert_int_equal(chmod(path, 0644), 0);
	db_close(&db);
	assert_int_equal(in_child(read_as_nobody), 2);
	assert_false(exists("-wal"));
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(in_child(read_forbidden), EACCES);
}

static void permit(const char *end, mode_t mode)
{
	char name[160];

	snprintf(name, sizeof(name), "%s%s", path, end);
	assert_int_equal(chmod(name, mode), 0);
}

/* While the recorder runs: its log is read where that is permitted, and missed where it is not. */
static void test_a_log_that_may_not_be_read_is_told(void **state)
{
	(void)state;
	only_as_root();
	assert_int_equal(chmod(folder, 0755), 0);
	keep_writer("CREATE TABLE t(a); INSERT INTO t VALUES(1), (2); PRAGMA wal_checkpoint;"
		    "INSERT INTO t VALUES(3)");
	permit("", 0644);
	permit("-wal", 0644);
	permit("-shm", 0644);
	assert_int_equal(in_child(read_as_nobody), 3);
	permit("-shm", 0600);
	assert_int_equal(in_child(read_as_nobody), 52);
	permit("-shm", 0644);
	permit("-wal", 0600);
	assert_int_equal(in_child(read_as_nobody), 52);
	let_go();
	assert_int_equal(in_child(read_as_nobody), 3);
}

static void test_a_reader_leaves_nothing_behind(void **state)
{
	bool stale;

	(void)state;
	make_table();
	db_close(&db);
	assert_int_equal(db_open_reader(&db, path, &stale), 0);
	assert_int_equal(number(&db, "SELECT count(*) FROM t"), 2);
	assert_false(exists("-wal"));
	assert_false(exists("-shm"));
	assert_false(db_overtaken(&db));
	db_close(&db);
}

static void test_a_writer_that_came_later_is_noticed(void **state)
{
	bool stale;

	(void)state;
	make_table();
	db_close(&db);
	assert_int_equal(db_open_reader(&other, path, &stale), 0);
	open_writer();
	assert_int_equal(db_exec(&db, "INSERT INTO t VALUES(9)"), 0);
	assert_true(db_overtaken(&other));
	db_close(&other);
	db_close(&db);
}

/* --- what cannot be trusted --- */

static void test_what_is_no_database(void **state)
{
	bool stale;
	int fd = open(path, O_CREAT | O_WRONLY, 0600);
	char text[8192];

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
	close(fd);
	assert_int_equal(db_open_reader(&db, path, &stale), -EBADMSG);
	assert_string_equal(db_why(&db), "file is not a database");
	assert_int_equal(db_open_writer(&db, path), -EBADMSG);
	/* A failed open holds no lock. */
	assert_int_equal(in_child(open_as_writer), EBADMSG);
}

static void test_a_file_that_was_cut_is_read_as_far_as_it_goes(void **state)
{
	struct stat status;
	bool stale;
	int64_t count;

	(void)state;
	make_table();
	assert_int_equal(db_exec(&db, "CREATE TABLE big(a); WITH RECURSIVE r(n) AS (VALUES(1)"
				      " UNION ALL SELECT n + 1 FROM r WHERE n < 500) INSERT INTO"
				      " big SELECT zeroblob(1000) FROM r"),
		0);
	db_close(&db);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(truncate(path, status.st_size / 2), 0);
	assert_int_equal(db_open_reader(&db, path, &stale), 0);
	assert_true(db.salvaging);
	assert_int_equal(number(&db, "SELECT count(*) FROM t"), 2);
	assert_int_equal(db_number(&db, "SELECT sum(length(a)) FROM big", 0, &count), -EBADMSG);
	db_close(&db);
}

static void test_a_reader_runs_nothing_out_of_the_file(void **state)
{
	int64_t value;
	bool stale;

	(void)state;
	make_table();
	assert_int_equal(db_exec(&db, "CREATE VIEW v AS SELECT * FROM t;"
				      " CREATE TABLE large(a); INSERT INTO large"
				      " VALUES(zeroblob(3000000))"),
		0);
	db_close(&db);
	assert_int_equal(db_open_reader(&db, path, &stale), 0);
	assert_int_not_equal(db_number(&db, "SELECT count(*) FROM v", 0, &value), 0);
	assert_int_equal(db_number(&db, "SELECT a FROM large", 0, &value), -EBADMSG);
	assert_int_not_equal(db_exec(&db, "ATTACH '/etc/passwd' AS p"), 0);
	assert_int_not_equal(db_exec(&db, "CREATE TABLE no(a)"), 0);
	db_close(&db);
}

/* Words of a schema are somebody else's. */
static void test_words_are_harmless(void **state)
{
	(void)state;
	open_writer();
	assert_int_equal(db_exec(&db, "SELECT * FROM \"\x1b[2J\n\""), -EINVAL);
	assert_null(strchr(db_why(&db), '\x1b'));
	assert_null(strchr(db_why(&db), '\n'));
	assert_non_null(strstr(db_why(&db), "no such table"));
	assert_int_equal(db_say(&db, -EIO, "%0400d\x01", 1), -EIO);
	assert_true(strlen(db_why(&db)) > 60);
	db_close(&db);
}

static void test_errors_by_their_numbers(void **state)
{
	static const struct {
		int code, system_errno, expected;
	} cases[] = {
		{SQLITE_OK, 0, 0},
		{SQLITE_ROW, ENOSPC, 0},
		{SQLITE_DONE, ENOSPC, 0},
		{SQLITE_FULL, 0, -ENOSPC},
		{SQLITE_IOERR_WRITE, ENOSPC, -ENOSPC},
		{SQLITE_IOERR_WRITE, EDQUOT, -ENOSPC},
		{SQLITE_IOERR_WRITE, EFBIG, -EFBIG},
		{SQLITE_IOERR_WRITE, EROFS, -EROFS},
		{SQLITE_IOERR_FSYNC, EIO, -EIO},
		{SQLITE_IOERR_READ, 0, -EIO},
		{SQLITE_IOERR_NOMEM, 0, -ENOMEM},
		{SQLITE_IOERR_SHORT_READ, 0, -EBADMSG},
		{SQLITE_CORRUPT, ENOSPC, -EBADMSG},
		{SQLITE_CORRUPT_INDEX, 0, -EBADMSG},
		{SQLITE_NOTADB, 0, -EBADMSG},
		{SQLITE_TOOBIG, 0, -EBADMSG},
		{SQLITE_BUSY, 0, -EBUSY},
		{SQLITE_BUSY_SNAPSHOT, 0, -EBUSY},
		{SQLITE_LOCKED, 0, -EBUSY},
		{SQLITE_READONLY, 0, -EROFS},
		{SQLITE_READONLY_DIRECTORY, 0, -EACCES},
		{SQLITE_READONLY_DBMOVED, 0, -ENOENT},
		{SQLITE_CANTOPEN, ENOENT, -ENOENT},
		{SQLITE_CANTOPEN, EACCES, -EACCES},
		{SQLITE_CANTOPEN, 0, -EIO},
		{SQLITE_NOMEM, 0, -ENOMEM},
		{SQLITE_CONSTRAINT_PRIMARYKEY, 0, -EEXIST},
		{SQLITE_ERROR, 0, -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(db_errno(cases[i].code, cases[i].system_errno), cases[i].expected);
}

/* --- transactions and statements --- */

static void test_durable_transactions_wait_for_the_disk(void **state)
{
	(void)state;
	make_table();
	assert_int_equal(number(&db, "PRAGMA synchronous"), 1);
	assert_int_equal(db_begin_durable(&db), 0);
	assert_int_equal(number(&db, "PRAGMA synchronous"), 2);
	assert_int_equal(db_commit(&db), 0);
	assert_int_equal(db_begin(&db), 0);
	assert_int_equal(number(&db, "PRAGMA synchronous"), 1);
	db_rollback(&db);
	db_close(&db);
}

static void test_a_failure_leaves_what_was_before(void **state)
{
	(void)state;
	make_table();
	assert_int_equal(db_exec(&db, "CREATE TABLE u(a UNIQUE); INSERT INTO u VALUES(1)"), 0);
	assert_int_equal(db_begin(&db), 0);
	assert_int_equal(db_exec(&db, "INSERT INTO t VALUES(3)"), 0);
	assert_int_equal(db_exec(&db, "INSERT OR ROLLBACK INTO u VALUES(1)"), -EEXIST);
	/* SQLite has ended it by itself: a commit must not be taken for one. */
	assert_int_equal(db_commit(&db), -EIO);
	assert_int_equal(number(&db, "SELECT count(*) FROM t"), 2);
	assert_int_equal(db_begin(&db), 0);
	assert_int_equal(db_exec(&db, "INSERT INTO t VALUES(3)"), 0);
	db_rollback(&db);
	db_rollback(&db);
	assert_int_equal(number(&db, "SELECT count(*) FROM t"), 2);
	db_close(&db);
}

/* The file may not grow: as for a user's limit, or a file system's. */
static int write_beyond_the_limit(void)
{
	struct rlimit limit = {.rlim_cur = 100 << 10, .rlim_max = RLIM_INFINITY};
	int ret = 0;

	signal(SIGXFSZ, SIG_IGN);
	if (db_open_writer(&other, path) || setrlimit(RLIMIT_FSIZE, &limit))
		return 1;
	for (int i = 0; !ret && i < 200; i++)
		ret = db_exec(&other, "INSERT INTO t VALUES(zeroblob(4000))");
	if (db_exec(&other, "PRAGMA wal_checkpoint"))
		ret = ret ? ret : -1;
	db_close(&other);
	return -ret;
}

static void test_a_file_that_may_not_grow(void **state)
{
	(void)state;
	make_table();
	db_close(&db);
	assert_int_equal(in_child(write_beyond_the_limit), EFBIG);
	open_writer();
	assert_true(number(&db, "SELECT count(*) FROM t") > 2);
	assert_int_equal(db_exec(&db, "PRAGMA integrity_check"), 0);
	db_close(&db);
}

static void test_the_log_is_moved_as_far_as_readers_allow(void **state)
{
	uint64_t bytes, log_bytes;
	bool stale;

	(void)state;
	make_table();
	assert_int_equal(db_open_reader(&other, path, &stale), 0);
	assert_int_equal(db_exec(&other, "BEGIN; SELECT count(*) FROM t"), 0);
	assert_int_equal(db_exec(&db, "INSERT INTO t VALUES(zeroblob(50000))"), 0);
	assert_int_equal(db_checkpoint(&db, &log_bytes), 0);
	assert_true(log_bytes > 50000);
	assert_int_equal(db_size(&db, &bytes, &log_bytes), 0);
	assert_true(log_bytes > 50000);
	assert_int_equal(db_exec(&other, "COMMIT"), 0);
	assert_int_equal(db_checkpoint(&db, &log_bytes), 0);
	assert_int_equal(log_bytes, 0);
	assert_int_equal(db_size(&db, &bytes, &log_bytes), 0);
	assert_true(bytes > 50000);
	db_close(&other);
	db_close(&db);
}

static void check_bytes(sqlite3_stmt *statement, const char *text, size_t len, int type)
{
	char back[8];

	db_bind_bytes(statement, 1, text, len);
	assert_int_equal(db_step(&db, statement), 1);
	assert_int_equal(sqlite3_column_type(statement, 0), type);
	assert_int_equal(db_column_bytes(statement, 0, back, sizeof(back)), type != SQLITE_NULL);
	assert_int_equal(strncmp(back, text ? text : "", sizeof(back) - 1), 0);
	assert_int_equal(db_step(&db, statement), 0);
}

static void test_bytes_are_text_where_they_are_text(void **state)
{
	sqlite3_stmt *statement;
	char back[8] = "left";

	(void)state;
	open_writer();
	assert_int_equal(db_prepare(&db, &statement, "SELECT ?1"), 0);
	check_bytes(statement, "plain", 5, SQLITE_TEXT);
	check_bytes(statement, "", 0, SQLITE_TEXT);
	check_bytes(statement, "caf\xc3\xa9", 5, SQLITE_TEXT);
	check_bytes(statement, "longer than eight", 17, SQLITE_TEXT);
	check_bytes(statement, "\xff\xfe", 2, SQLITE_BLOB);
	check_bytes(statement, "caf\xc3", 4, SQLITE_BLOB);
	check_bytes(statement, "a\0b", 3, SQLITE_BLOB);
	check_bytes(statement, NULL, 0, SQLITE_NULL);
	sqlite3_bind_int(statement, 1, 5);
	assert_int_equal(db_step(&db, statement), 1);
	assert_false(db_column_bytes(statement, 0, back, sizeof(back)));
	assert_string_equal(back, "");
	sqlite3_finalize(statement);
	db_close(&db);
}

/* --- memory --- */

/* Needs more than it may take: an error, and no more memory. */
static int live_within_bounds(void)
{
	int ret;

	if (db_memory(4 << 20) || db_memory(4 << 20) != -EALREADY)
		return 1;
	if (db_open_writer(&other, path) ||
		db_exec(&other, "INSERT INTO t VALUES(zeroblob(100000))"))
		return 2;
	ret = db_exec(&other, "SELECT zeroblob(8000000) || 'x'");
	if (sqlite3_memory_highwater(0) > 2 << 20)
		return 3;
	if (db_exec(&other, "INSERT INTO t VALUES(5)"))
		return 4;
	db_close(&other);
	return ret == -ENOMEM ? 0 : 5;
}

static void test_memory_is_bounded(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	make_table();
	db_close(&db);
	/* Once SQLite is at work its memory cannot be laid out any more: in a program of its own.
	 */
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		sqlite3_shutdown();
		sqlite3_memory_highwater(1);
		_exit(live_within_bounds());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(db_memory(1 << 20), -EALREADY);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_a_new_file_is_made),
		IN_FOLDER(test_a_second_writer_is_refused_at_once),
		IN_FOLDER(test_a_second_writer_in_one_process_takes_no_locks_along),
		IN_FOLDER(test_the_lock_ends_with_its_process),
		IN_FOLDER(test_readers_and_the_writer_do_not_wait),
		IN_FOLDER(test_a_file_that_was_replaced_is_noticed),
		IN_FOLDER(test_any_path_is_a_path),
		IN_FOLDER(test_what_is_no_file_is_refused),
		IN_FOLDER(test_a_reader_needs_no_right_to_write),
		IN_FOLDER(test_a_log_that_may_not_be_read_is_told),
		IN_FOLDER(test_a_reader_leaves_nothing_behind),
		IN_FOLDER(test_a_writer_that_came_later_is_noticed),
		IN_FOLDER(test_what_is_no_database),
		IN_FOLDER(test_a_file_that_was_cut_is_read_as_far_as_it_goes),
		IN_FOLDER(test_a_reader_runs_nothing_out_of_the_file),
		IN_FOLDER(test_words_are_harmless),
		cmocka_unit_test(test_errors_by_their_numbers),
		IN_FOLDER(test_durable_transactions_wait_for_the_disk),
		IN_FOLDER(test_a_failure_leaves_what_was_before),
		IN_FOLDER(test_a_file_that_may_not_grow),
		IN_FOLDER(test_the_log_is_moved_as_far_as_readers_allow),
		IN_FOLDER(test_bytes_are_text_where_they_are_text),
		IN_FOLDER(test_memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
