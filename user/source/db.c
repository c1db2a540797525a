// SPDX-License-Identifier: Apache-2.0
#include "source/db.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"

#define PAGE_SIZE "4096"
#define PAGE_BYTES 4096
#define BUSY_MS 5000 /* recovery of a log, and the last one's checkpoint when it closes */
#define LOG_KEPT_BYTES "1048576" /* what the log's file is cut back to */
/* SQLite's own locks begin at 2^30 and on the -shm file; this byte never exists. */
#define WRITER_BYTE (1LL << 62)
#define READER_LENGTH_MAX                                                                          \
	(1 << 20) /* longest value or row: the largest of ours has some 20 KiB                     \
		   */
#define PATH_BYTES_MAX 500 /* SQLite's own bound is 512, with "-journal" */
#define WRITERS_MAX 8

/*
 * Files that this process writes to. A second descriptor of such a file must not be opened even to
 * be refused: closing it would give up SQLite's locks on the file, which are the process's.
 */
static struct {
	pthread_mutex_t mutex;
	struct {
		dev_t device;
		ino_t inode;
		bool used;
	} files[WRITERS_MAX];
} writers = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* --- errors --- */

static int cantopen_errno(int code, int system_errno)
{
	if (code == SQLITE_CANTOPEN_ISDIR)
		return -EISDIR;
	if (code == SQLITE_CANTOPEN_FULLPATH)
		return -ENAMETOOLONG;
	return system_errno > 0 ? -system_errno : -EIO;
}

static int io_errno(int code, int system_errno)
{
	switch (code) {
	case SQLITE_IOERR_NOMEM:
		return -ENOMEM;
	case SQLITE_IOERR_SHORT_READ:
	case SQLITE_IOERR_CORRUPTFS:
	case SQLITE_IOERR_DATA:
		return -EBADMSG;
	}
	switch (system_errno) {
	case ENOSPC:
	case EDQUOT:
		return -ENOSPC;
	case EROFS:
	case EFBIG:
	case EACCES:
	case ENOLCK:
	case ENOMEM:
		return -system_errno;
	default:
		return -EIO;
	}
}

static int readonly_errno(int code)
{
	if (code == SQLITE_READONLY_DBMOVED)
		return -ENOENT;
	return code == SQLITE_READONLY ? -EROFS : -EACCES;
}

int db_errno(int code, int system_errno)
{
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_IOERR:
		return io_errno(code, system_errno);
	case SQLITE_CANTOPEN:
		return cantopen_errno(code, system_errno);
	case SQLITE_READONLY:
		return readonly_errno(code);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_FORMAT:
	case SQLITE_MISMATCH:
	case SQLITE_TOOBIG: /* nothing of ours is */
		return -EBADMSG;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_PROTOCOL:
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_INTERRUPT:
	case SQLITE_ABORT:
		return -EINTR;
	case SQLITE_CONSTRAINT:
		return -EEXIST;
	case SQLITE_NOLFS:
		return -EFBIG;
	default:
		return -EINVAL;
	}
}

/* Words may hold names out of the file's schema. */
static void set_why(struct db *db, const char *words)
{
	struct buf buf;

	buf_init(&buf, db->why, sizeof(db->why));
	text_terminal(&buf, words, strlen(words), 240);
	if (!buf.full)
		return;
	/* Each column may have taken four bytes and more. */
	buf_reset(&buf);
	text_terminal(&buf, words, strlen(words), sizeof(db->why) / 5);
}

int db_say(struct db *db, int error, const char *format, ...)
{
	char words[sizeof(db->why)];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	set_why(db, words);
	return error;
}

static int errno_of_file(sqlite3_file *file)
{
	int value = 0;

	if (file && file->pMethods)
		file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &value);
	return value;
}

/* SQLite keeps the system's number for these two results only, and forgets it where it has to roll
 * back; the files, its log first, still know. */
static int system_errno_of(struct db *db, int code)
{
	sqlite3_file *log = NULL, *file = NULL;
	int ret = sqlite3_system_errno(db->handle);

	if ((code & 0xff) != SQLITE_IOERR && (code & 0xff) != SQLITE_CANTOPEN)
		return 0;
	if (ret || (code & 0xff) == SQLITE_CANTOPEN)
		return ret;
	sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
	sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);
	ret = errno_of_file(log);
	return ret ? ret : errno_of_file(file);
}

/* What the handle's last call met, given its result. */
static int failed(struct db *db, int code)
{
	int system_errno = db->handle && code ? system_errno_of(db, code) : 0;
	const char *words = db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(code);
	int error = db_errno(code, system_errno);

	if (!error)
		return 0;
	if (system_errno > 0)
		return db_say(db, error, "%s: %s", words, strerror(system_errno));
	return db_say(db, error, "%s", words);
}

const char *db_why(const struct db *db)
{
	return db->why;
}

/* --- memory --- */

/* The buffer is SQLite's until the process ends. */
int db_memory(uint64_t heap_bytes)
{
	static bool done;
	uint64_t pages;
	int header = 0;
	void *buffer;

	if (done)
		return -EALREADY;
	if (!heap_bytes)
		return 0;
	if (sqlite3_config(SQLITE_CONFIG_PCACHE_HDRSZ, &header) != SQLITE_OK)
		return -EALREADY;
	header = (header + 7) & ~7;
	pages = heap_bytes / 2 / (uint64_t)(PAGE_BYTES + header);
	buffer = malloc(pages * (size_t)(PAGE_BYTES + header));
	if (!buffer)
		return -ENOMEM;
	if (sqlite3_config(SQLITE_CONFIG_PAGECACHE, buffer, PAGE_BYTES + header, (int)pages) !=
			SQLITE_OK ||
		sqlite3_initialize() != SQLITE_OK) {
		free(buffer);
		return -EALREADY;
	}
	sqlite3_hard_heap_limit64((sqlite3_int64)(heap_bytes / 2));
	sqlite3_soft_heap_limit64((sqlite3_int64)(heap_bytes / 16 * 7));
	done = true;
	return 0;
}

/* --- opening --- */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr("/._-", c));
}

/* A URI, since a bare name may mean something else to SQLite (":memory:", "file:…"). */
static int make_uri(const char *path, const char *query, char *ret, size_t size)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t at = strlen("file://");

	if (strlen(path) > PATH_BYTES_MAX || at + 3 * strlen(path) + strlen(query) >= size)
		return -ENAMETOOLONG;
	memcpy(ret, "file://", at);
	for (; *path; path++) {
		if (is_plain(*path)) {
			ret[at++] = *path;
			continue;
		}
		ret[at++] = '%';
		ret[at++] = hex[(unsigned char)*path >> 4];
		ret[at++] = hex[(unsigned char)*path & 15];
	}
	strcpy(ret + at, query);
	return 0;
}

static int open_handle(struct db *db, const char *query, int flags)
{
	char real[PATH_MAX], uri[3 * PATH_BYTES_MAX + 64];
	int code;

	if (!realpath(db->path, real))
		return db_say(db, -errno, "%s", strerror(errno));
	if (make_uri(real, query, uri, sizeof(uri)) < 0)
		return db_say(db, -ENAMETOOLONG, "the path has more than %d bytes", PATH_BYTES_MAX);
	code = sqlite3_open_v2(uri, &db->handle,
		flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_busy_timeout(db->handle, BUSY_MS);
	return failed(db, code);
}

static int begin_open(struct db *db, const char *path)
{
	memset(db, 0, sizeof(*db));
	db->lock_fd = -1;
	if (strlen(path) >= sizeof(db->path))
		return db_say(db, -ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
	strcpy(db->path, path);
	return 0;
}

static void remember_file(struct db *db, const struct stat *status)
{
	db->device = status->st_dev;
	db->inode = status->st_ino;
}

/* With the mutex held: its place in the list, or -1. */
static int writer_index(dev_t device, ino_t inode)
{
	for (int i = 0; i < WRITERS_MAX; i++)
		if (writers.files[i].used && writers.files[i].device == device &&
			writers.files[i].inode == inode)
			return i;
	return -1;
}

static int writer_add(const struct db *db)
{
	for (int i = 0; i < WRITERS_MAX; i++) {
		if (writers.files[i].used)
			continue;
		writers.files[i].device = db->device;
		writers.files[i].inode = db->inode;
		writers.files[i].used = true;
		return 0;
	}
	return -EMFILE;
}

static int busy(struct db *db)
{
	return db_say(db, -EBUSY, "another writer has it open");
}

/* The lock goes with the last descriptor, so it ends with the process, however that ends. */
static int lock_writer(struct db *db)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = WRITER_BYTE, .l_len = 1};
	struct stat status;

	db->lock_fd = open(db->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640);
	if (db->lock_fd < 0 || fstat(db->lock_fd, &status))
		return db_say(db, -errno, "%s", strerror(errno));
	if (!S_ISREG(status.st_mode))
		return db_say(db, -EINVAL, "not a regular file");
	remember_file(db, &status);
	if (fcntl(db->lock_fd, F_OFD_SETLK, &lock))
		return errno == EAGAIN || errno == EACCES
			       ? busy(db)
			       : db_say(db, -errno, "no lock on it: %s", strerror(errno));
	return writer_add(db);
}

static int take_writer(struct db *db)
{
	struct stat status;
	int ret;

	pthread_mutex_lock(&writers.mutex);
	if (!stat(db->path, &status) && writer_index(status.st_dev, status.st_ino) >= 0)
		ret = busy(db);
	else
		ret = lock_writer(db);
	if (ret && db->lock_fd >= 0) {
		close(db->lock_fd);
		db->lock_fd = -1;
	}
	pthread_mutex_unlock(&writers.mutex);
	return ret;
}

static void give_writer(struct db *db)
{
	int index;

	if (db->lock_fd < 0)
		return;
	pthread_mutex_lock(&writers.mutex);
	index = writer_index(db->device, db->inode);
	if (index >= 0)
		writers.files[index].used = false;
	close(db->lock_fd);
	db->lock_fd = -1;
	pthread_mutex_unlock(&writers.mutex);
}

void db_close(struct db *db)
{
	/* Statements that somebody forgot keep a zombie alive: no leak of locks then. */
	if (db->handle)
		sqlite3_close_v2(db->handle);
	db->handle = NULL;
	give_writer(db);
}

static bool is_empty(const struct db *db)
{
	struct stat status;

	return !fstat(db->lock_fd, &status) && !status.st_size;
}

static int set_up_writer(struct db *db)
{
	int ret = open_handle(db, "", SQLITE_OPEN_READWRITE);

	if (!ret)
		ret = db_exec(db, "PRAGMA synchronous=NORMAL;"
				  "PRAGMA journal_size_limit=" LOG_KEPT_BYTES ";"
				  "PRAGMA mmap_size=0;"
				  "PRAGMA cell_size_check=ON;"
				  "PRAGMA temp_store=MEMORY;"
				  "PRAGMA trusted_schema=OFF;"
				  /* Reads the header: is it a database at all? */
				  "PRAGMA schema_version;");
	/* In a file that is there the latter would be written anew, to no use. */
	if (!ret && is_empty(db))
		ret = db_exec(db, "PRAGMA page_size=" PAGE_SIZE ";"
				  "PRAGMA auto_vacuum=INCREMENTAL;");
	if (!ret && !db_in_place(db))
		ret = db_say(db, -EBUSY, "the file was replaced while it was opened");
	return ret;
}

int db_open_writer(struct db *db, const char *path)
{
	int ret = begin_open(db, path);

	if (!ret)
		ret = take_writer(db);
	if (!ret)
		ret = set_up_writer(db);
	if (ret)
		db_close(db);
	return ret;
}

/* Nothing that a file brings with it may run, take much memory, or reach another file. */
static int distrust(struct db *db)
{
	static const struct {
		int what, value;
	} limits[] = {
		{SQLITE_LIMIT_LENGTH, READER_LENGTH_MAX},
		{SQLITE_LIMIT_SQL_LENGTH, READER_LENGTH_MAX},
		{SQLITE_LIMIT_ATTACHED, 0},
		{SQLITE_LIMIT_WORKER_THREADS, 0},
		{SQLITE_LIMIT_TRIGGER_DEPTH, 1},
		{SQLITE_LIMIT_EXPR_DEPTH, 100},
	};

	/* Only in the state that a repair needs does SQLite read a file that is shorter than its
	 * header says. Nothing is ever written through this handle. */
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, !db->salvaging, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_WRITABLE_SCHEMA, db->salvaging, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		sqlite3_limit(db->handle, limits[i].what, limits[i].value);
	return db_exec(db, "PRAGMA query_only=ON;"
			   "PRAGMA mmap_size=0;"
			   "PRAGMA cell_size_check=ON;"
			   "PRAGMA temp_store=MEMORY;"
			   /* The log is opened here, and the schema parsed. */
			   "SELECT 1 FROM sqlite_schema LIMIT 1;");
}

static int set_up_reader(struct db *db)
{
	int ret = open_handle(db, db->immutable ? "?immutable=1" : "", SQLITE_OPEN_READONLY);

	return ret ? ret : distrust(db);
}

/* Bytes of the log beside the file; -1: there is none. */
static int64_t log_bytes(const struct db *db)
{
	char path[PATH_MAX + 8];
	struct stat status;

	if (!realpath(db->path, path))
		return -1;
	strcat(path, "-wal");
	return stat(path, &status) ? -1 : status.st_size;
}

/* A folder or a -shm file that may not be written to shows itself in these. */
static bool is_for_want_of_shm(int code)
{
	return (code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_READONLY ||
	       code == SQLITE_IOERR_SHMOPEN || code == SQLITE_IOERR_SHMMAP ||
	       code == SQLITE_IOERR_LOCK;
}

static int try_reader(struct db *db, bool *ret_stale)
{
	int ret = set_up_reader(db), code = sqlite3_extended_errcode(db->handle);

	if (ret && !db->immutable && is_for_want_of_shm(code)) {
		*ret_stale = log_bytes(db) > 0;
		db_close(db);
		db->immutable = true;
		ret = set_up_reader(db);
		code = sqlite3_extended_errcode(db->handle);
	}
	if (ret && (code & 0xff) == SQLITE_CORRUPT) {
		db_close(db);
		db->salvaging = true;
		ret = set_up_reader(db);
	}
	return ret;
}

static int check_readable(struct db *db)
{
	struct stat status;

	if (stat(db->path, &status))
		return db_say(db, -errno, "%s", strerror(errno));
	if (!S_ISREG(status.st_mode))
		return db_say(
			db, S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL, "not a regular file");
	if (access(db->path, R_OK))
		return db_say(db, -errno, "%s", strerror(errno));
	remember_file(db, &status);
	return 0;
}

int db_open_reader(struct db *db, const char *path, bool *ret_stale)
{
	int ret = begin_open(db, path);

	*ret_stale = false;
	if (!ret)
		ret = check_readable(db);
	if (ret)
		return ret;
	db->immutable = log_bytes(db) < 0;
	ret = try_reader(db, ret_stale);
	if (ret)
		db_close(db);
	return ret;
}

bool db_overtaken(const struct db *db)
{
	return db->immutable && log_bytes(db) > 0;
}

int db_wal(struct db *db)
{
	sqlite3_stmt *statement;
	char mode[16] = "";
	int ret = db_prepare(db, &statement, "PRAGMA journal_mode=WAL");

	if (ret)
		return ret;
	ret = db_step(db, statement);
	if (ret > 0)
		db_column_bytes(statement, 0, mode, sizeof(mode));
	sqlite3_finalize(statement);
	if (ret < 0)
		return ret;
	if (strcmp(mode, "wal") != 0)
		return db_say(db, -ENOTSUP, "no write-ahead log on this file system");
	return 0;
}

bool db_in_place(const struct db *db)
{
	struct stat status;

	return !stat(db->path, &status) && status.st_dev == db->device &&
	       status.st_ino == db->inode;
}

/* --- statements --- */

int db_exec(struct db *db, const char *sql)
{
	return failed(db, sqlite3_exec(db->handle, sql, NULL, NULL, NULL));
}

int db_prepare(struct db *db, sqlite3_stmt **ret, const char *sql)
{
	return failed(
		db, sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL));
}

int db_step(struct db *db, sqlite3_stmt *statement)
{
	int code = sqlite3_step(statement);
	int ret;

	if (code == SQLITE_ROW)
		return 1;
	ret = failed(db, code);
	sqlite3_reset(statement);
	return ret;
}

int db_number(struct db *db, const char *sql, int64_t none, int64_t *ret)
{
	sqlite3_stmt *statement;
	int error = db_prepare(db, &statement, sql);

	*ret = none;
	if (error)
		return error;
	error = db_step(db, statement);
	if (error > 0) {
		if (sqlite3_column_type(statement, 0) != SQLITE_NULL)
			*ret = sqlite3_column_int64(statement, 0);
		error = 0;
	}
	sqlite3_finalize(statement);
	return error;
}

/* --- transactions --- */

/* The level cannot be changed within a transaction. */
static int begin(struct db *db, bool full)
{
	int ret = 0;

	if (db->full != full)
		ret = db_exec(db, full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
	if (ret)
		return ret;
	db->full = full;
	return db_exec(db, "BEGIN IMMEDIATE");
}

int db_begin(struct db *db)
{
	return begin(db, false);
}

int db_begin_durable(struct db *db)
{
	return begin(db, true);
}

int db_commit(struct db *db)
{
	int ret;

	/* SQLite ends a transaction by itself after some failures: nothing of it is there then. */
	if (sqlite3_get_autocommit(db->handle))
		return db_say(db, -EIO, "the transaction was rolled back by an earlier failure");
	ret = db_exec(db, "COMMIT");
	if (ret)
		db_rollback(db);
	return ret;
}

void db_rollback(struct db *db)
{
	if (db->handle && !sqlite3_get_autocommit(db->handle))
		sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
}

static int file_size(const char *path, uint64_t *ret)
{
	struct stat status;

	*ret = 0;
	if (stat(path, &status))
		return -errno;
	*ret = (uint64_t)status.st_size;
	return 0;
}

int db_size(const struct db *db, uint64_t *ret_bytes, uint64_t *ret_wal_bytes)
{
	const char *path = sqlite3_db_filename(db->handle, "main");
	int ret = file_size(path, ret_bytes);

	file_size(sqlite3_filename_wal(path), ret_wal_bytes); /* none: nothing is in it */
	return ret;
}

int db_checkpoint(struct db *db, uint64_t *ret_wal_bytes)
{
	uint64_t bytes;
	int code;

	/* What readers still need stays in the log: the next call gets it. */
	sqlite3_busy_timeout(db->handle, 0);
	code = sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_busy_timeout(db->handle, BUSY_MS);
	db_size(db, &bytes, ret_wal_bytes);
	return (code & 0xff) == SQLITE_BUSY ? 0 : failed(db, code);
}

/* --- text --- */

static bool is_text(const char *text, size_t len)
{
	for (size_t i = 0, step; i < len; i += step) {
		step = utf8_sequence(text + i, len - i);
		if (!step || !text[i])
			return false;
	}
	return true;
}

void db_bind_bytes(sqlite3_stmt *statement, int index, const char *text, size_t len)
{
	if (!text)
		sqlite3_bind_null(statement, index);
	else if (is_text(text, len))
		sqlite3_bind_text(statement, index, text, (int)len, SQLITE_STATIC);
	else
		sqlite3_bind_blob(statement, index, text, (int)len, SQLITE_STATIC);
}

bool db_column_bytes(sqlite3_stmt *statement, int column, char *ret, size_t size)
{
	int type = sqlite3_column_type(statement, column);
	const void *bytes = NULL;
	size_t len = 0;

	ret[0] = '\0';
	if (type == SQLITE_TEXT)
		bytes = sqlite3_column_text(statement, column);
	else if (type == SQLITE_BLOB)
		bytes = sqlite3_column_blob(statement, column);
	else
		return false;
	if (bytes)
		len = (size_t)sqlite3_column_bytes(statement, column);
	if (len > size - 1)
		len = size - 1;
	if (len)
		memcpy(ret, bytes, len);
	ret[len] = '\0';
	return true;
}
