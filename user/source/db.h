/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db.h: an SQLite file, opened for one writer or for readers: the only place that opens one.
 *
 * Knows nothing of what is in it. Everything returns 0 or -errno: -ENOSPC disk full, -EIO, -EROFS,
 * -EACCES, -ENOENT, -EBUSY (another writer holds it), -EBADMSG (damaged, or no database), -EFBIG
 * (the file may not grow further), -ENOMEM, -EINVAL (the statement does not fit the schema),
 * -EEXIST (a row of that key is there). db_why() tells in words what the last failure was.
 *
 * The writer holds a lock on the file itself for as long as it is open (an open file description
 * lock on a byte that SQLite does not use), so that a second recorder is refused at once; readers
 * take none of it. Synchronous is NORMAL, and FULL for the transaction that db_begin_durable()
 * begins. A file of 0 bytes or none is a new one: mode 0640, pages of 4096 bytes, incremental
 * vacuum. One that is there keeps what it has until db_wal(), so that nothing of another program's
 * is changed before it was looked at.
 *
 * A reader needs no right to write: not to the file, and not to its folder. Where there is no log
 * (-wal), nobody has the file open, and it is read as it stands ("immutable"), so that no file is
 * left beside it; likewise where SQLite cannot have its -shm file there: *ret_stale then tells that
 * a log with newer content lies beside it and could not be used. It trusts nothing in the file: no
 * view, trigger or function of its schema runs. Of a file that was cut, what is there is read.
 *
 * A handle is used by one thread at a time. In one process: a reader of the file that a writer has
 * open must be closed before that writer (closing any descriptor of a file gives up the process's
 * locks on it).
 */
#ifndef OOMSNOOP_SOURCE_DB_H
#define OOMSNOOP_SOURCE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct db {
	sqlite3 *handle;
	int lock_fd; /* -1: a reader */
	bool full; /* PRAGMA synchronous is FULL */
	bool immutable; /* a reader that takes the file as it stands */
	bool salvaging; /* a reader of a file that is cut: pages that it names are not there */
	dev_t device; /* of the file that is open */
	ino_t inode;
	char path[4096]; /* as it was given */
	char why[320];
};

/*
 * Memory of all databases of this process: bounded by heap_bytes (0: no bound), half of it taken at
 * once; once, before the first is opened. -EALREADY.
 */
int db_memory(uint64_t heap_bytes);

/* After a failure there is nothing to close, and db_why() holds. */
int db_open_writer(struct db *db, const char *path);
int db_open_reader(struct db *db, const char *path, bool *ret_stale);
void db_close(struct db *db); /* checkpoints, where it is a writer; fine on a zeroed struct with
				 lock_fd -1, and twice */

/* Write-ahead logging from now on: readers and the writer do not wait for each other. */
int db_wal(struct db *db);

/* A reader that took the file as it stood, and a writer has come since: what was read last may be
 * mixed of old and new. To be opened again. */
bool db_overtaken(const struct db *db);

/* Is the file at its path still the one that is open? False: it was removed or replaced. */
bool db_in_place(const struct db *db);

int db_exec(struct db *db, const char *sql);
int db_prepare(struct db *db, sqlite3_stmt **ret, const char *sql); /* to be used many times */
/* sqlite3_step(): 1 a row, 0 done, -errno. A statement that is done or failed is reset. */
int db_step(struct db *db, sqlite3_stmt *statement);
/* The first column of the first row; `none` where there is no row or it is NULL. */
int db_number(struct db *db, const char *sql, int64_t none, int64_t *ret);

int db_begin(struct db *db);
int db_begin_durable(struct db *db);
int db_commit(struct db *db); /* a failed one is rolled back */
void db_rollback(struct db *db); /* db_why() stays */
/* Moves the log into the file, as far as readers allow, waiting for none; *ret_wal_bytes: how large
 * the log's file still is. */
int db_checkpoint(struct db *db, uint64_t *ret_wal_bytes);
/* Of the file and of its log, as they lie on the disk. */
int db_size(const struct db *db, uint64_t *ret_bytes, uint64_t *ret_wal_bytes);

/* An SQLite result code as -errno. */
int db_errno(int code, int system_errno);
const char *db_why(const struct db *db);
/* For a failure that is the caller's to tell: returns `error`. */
int db_say(struct db *db, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Text that is valid UTF-8 is bound as TEXT, any other bytes as BLOB (who reads the file with other
 * tools would fail on the former); NULL binds NULL. The memory must last until the step. */
void db_bind_bytes(sqlite3_stmt *statement, int index, const char *text, size_t len);
/* TEXT or BLOB, cut to size - 1, NUL terminated; false and "" for NULL and numbers. */
bool db_column_bytes(sqlite3_stmt *statement, int column, char *ret, size_t size);

#endif /* OOMSNOOP_SOURCE_DB_H */
