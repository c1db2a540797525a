// SPDX-License-Identifier: Apache-2.0
/*
 * Series. Names (processes, cgroups) are written as they are told, points are held back until the
 * commit and go in by time: so each page of the tables is touched once, however the caller
 * interleaves owners, and the log stays small. A commit is cut into transactions of at most
 * bounds.batch_pages; all of it can be told again, so a part that went in does no harm.
 *
 * Which row a name has is remembered in a table of fixed size. `until_ms` of a name is a time that
 * none of its points is later than, set an hour ahead and moved when a point passes it: pruning
 * knows by it, without a look at the points, which names nothing refers to any more.
 */
#include "sink/store_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_MS 1000000LL
#define CACHE_SETS 4096
#define CACHE_WAYS 4
#define BUDGET_EVERY 8 /* rows between two looks at how much was written */

/* A name that was written. `row` 0: free. */
struct known_name {
	uint64_t id; /* pid or kernfs id */
	uint64_t start_ns; /* UINT64_MAX: a cgroup */
	uint64_t content; /* hash of what else its row holds */
	int64_t row;
	int64_t until_ms;
	uint64_t used; /* the greater the later */
};

struct batch_point {
	int64_t t_ms;
	int64_t row;
	uint32_t order; /* as told: of two at one time the later holds */
	bool is_process;
	int64_t values[HISTORY_VALUES];
};

enum statement {
	PUT_PROCESS,
	PUT_CGROUP,
	PROCESS_UNTIL,
	CGROUP_UNTIL,
	CGROUPS_UNTIL, /* a process's, and all above it */
	PROCESS_POINT,
	CGROUP_POINT,
	PUT_GAP,
	STATEMENTS
};

struct store_batch {
	sqlite3_stmt *statements[STATEMENTS];
	struct known_name names[CACHE_SETS][CACHE_WAYS];
	uint64_t clock;
	struct known_name *owner; /* told last; NULL: none */
	uint64_t owner_cgroup;
	int broken; /* -errno: names that its points refer to were rolled back */
	int written; /* pages, when the transaction began */
	unsigned int since_look;
	unsigned int point_count, gap_count;
	struct batch_point points[STORE_BATCH_POINTS];
	struct store_gap gaps[STORE_BATCH_GAPS];
};

static const char *const statement_texts[STATEMENTS] = {
	[PUT_PROCESS] =
		"INSERT INTO process (boot, pid, start_ns, ppid, root_pid, root_start_ns, cgroup,"
		" exited_ns, shared_bytes, comm, cmdline, until_ms)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
		" ON CONFLICT (boot, pid, start_ns) DO UPDATE SET ppid = excluded.ppid,"
		" root_pid = excluded.root_pid, root_start_ns = excluded.root_start_ns,"
		" cgroup = coalesce(excluded.cgroup, cgroup),"
		" exited_ns = excluded.exited_ns,"
		" shared_bytes = excluded.shared_bytes, comm = excluded.comm,"
		" cmdline = coalesce(excluded.cmdline, cmdline),"
		" until_ms = max(until_ms, excluded.until_ms) RETURNING id, until_ms",
	[PUT_CGROUP] =
		"INSERT INTO cgroup (boot, kernfs_id, parent_kernfs_id, path, max_bytes, until_ms)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
		" ON CONFLICT (boot, kernfs_id) DO UPDATE SET"
		" parent_kernfs_id = coalesce(excluded.parent_kernfs_id, parent_kernfs_id),"
		" path = coalesce(excluded.path, path), max_bytes = excluded.max_bytes,"
		" until_ms = max(until_ms, excluded.until_ms) RETURNING id, until_ms",
	[PROCESS_UNTIL] = "UPDATE process SET until_ms = ?2 WHERE id = ?1 AND until_ms < ?2",
	[CGROUP_UNTIL] = "UPDATE cgroup SET until_ms = ?2 WHERE id = ?1 AND until_ms < ?2",
	[CGROUPS_UNTIL] =
		"UPDATE cgroup SET until_ms = ?3 WHERE boot = ?1 AND until_ms < ?3 AND kernfs_id IN"
		" (WITH RECURSIVE up (id) AS (VALUES (?2) UNION SELECT parent_kernfs_id"
		"  FROM up JOIN cgroup ON boot = ?1 AND kernfs_id = up.id"
		"  WHERE parent_kernfs_id IS NOT NULL LIMIT 64) SELECT id FROM up)",
	[PROCESS_POINT] =
		"INSERT OR REPLACE INTO process_point (boot, t_ms, process, resident, swap, cow,"
		" cached) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[CGROUP_POINT] = "INSERT OR REPLACE INTO cgroup_point (boot, t_ms, cgroup, usage, charged)"
			 " VALUES (?1, ?2, ?3, ?4, ?5)",
	[PUT_GAP] = "INSERT INTO gap (why, from_ns, to_ns, incidents, points)"
		    " VALUES (?1, ?2, ?3, ?4, ?5)",
};

int store_batch_prepare(struct store_writer *writer)
{
	struct store_batch *batch = calloc(1, sizeof(*batch));
	int ret = 0;

	if (!batch)
		return db_say(&writer->db, -ENOMEM, "no memory");
	writer->batch = batch;
	for (int i = 0; i < STATEMENTS && !ret; i++)
		ret = db_prepare(&writer->db, &batch->statements[i], statement_texts[i]);
	return ret;
}

void store_batch_release(struct store_writer *writer)
{
	if (!writer->batch)
		return;
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(writer->batch->statements[i]);
	free(writer->batch);
	writer->batch = NULL;
}

/* --- transactions of a bounded size --- */

/* Pages that went into the log since the handle was opened: all but those still in the cache. */
static int pages_written(struct store_writer *writer)
{
	int now = 0, highest;

	sqlite3_db_status(writer->db.handle, SQLITE_DBSTATUS_CACHE_WRITE, &now, &highest, 0);
	return now;
}

static int piece_begin(struct store_writer *writer)
{
	int ret = store_room(writer, writer->bounds.batch_pages * writer->bounds.page_bytes, true);

	if (!ret)
		ret = db_begin(&writer->db);
	writer->batch->written = pages_written(writer);
	writer->batch->since_look = 0;
	return ret;
}

/* After each row: has the transaction become so large that it has to be closed? */
static bool piece_is_full(struct store_writer *writer)
{
	struct store_batch *batch = writer->batch;
	uint64_t written;

	if (++batch->since_look < BUDGET_EVERY)
		return false;
	batch->since_look = 0;
	written = (uint64_t)(pages_written(writer) - batch->written);
	return written + writer->bounds.cache_pages > writer->bounds.batch_pages;
}

static bool in_transaction(const struct store_writer *writer)
{
	return !sqlite3_get_autocommit(writer->db.handle);
}

static void forget_names(struct store_batch *batch)
{
	memset(batch->names, 0, sizeof(batch->names));
	batch->owner = NULL;
}

void store_batch_reset(struct store_writer *writer)
{
	forget_names(writer->batch);
	writer->batch->point_count = writer->batch->gap_count = 0;
	writer->batch->broken = 0;
}

/* Rows of names may have gone with the transaction: all has to be told again. */
int store_batch_failed(struct store_writer *writer, int error)
{
	db_rollback(&writer->db);
	forget_names(writer->batch);
	writer->batch->broken = error;
	return error;
}

/* A statement without a result, bound already. */
static int run_statement(struct store_writer *writer, enum statement which)
{
	sqlite3_stmt *statement = writer->batch->statements[which];
	int ret = db_step(&writer->db, statement);

	sqlite3_reset(statement);
	return ret < 0 ? ret : 0;
}

/* --- names --- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ at[i]) * 0x100000001b3ULL;
	return hash;
}

static uint64_t hash_owner(const struct history_owner *owner, const char *path, const char *cmdline)
{
	const uint64_t numbers[] = {owner->cgroup_id, owner->parent_id, owner->max_bytes,
		owner->ppid, owner->root_tgid, owner->root_start_ns, owner->exited_ns,
		owner->shared_bytes};
	uint64_t hash = hash_bytes(0xcbf29ce484222325ULL, numbers, sizeof(numbers));

	hash = hash_bytes(hash, owner->comm, strnlen(owner->comm, sizeof(owner->comm)));
	hash = hash_bytes(hash, "", 1);
	hash = hash_bytes(hash, path, strlen(path));
	hash = hash_bytes(hash, "", 1);
	return hash_bytes(hash, cmdline, strlen(cmdline));
}

static bool is_process(const struct known_name *name)
{
	return name->start_ns != UINT64_MAX;
}

/* Its place, free or not; the one that was used longest ago gives way. */
static struct known_name *find_name(struct store_batch *batch, uint64_t id, uint64_t start_ns)
{
	const uint64_t key[] = {id, start_ns};
	uint64_t hash = hash_bytes(0xcbf29ce484222325ULL, key, sizeof(key));
	struct known_name *set = batch->names[(hash ^ hash >> 32) % CACHE_SETS];
	struct known_name *oldest = &set[0];

	for (unsigned int i = 0; i < CACHE_WAYS; i++) {
		if (set[i].row && set[i].id == id && set[i].start_ns == start_ns)
			return &set[i];
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	memset(oldest, 0, sizeof(*oldest));
	oldest->id = id;
	oldest->start_ns = start_ns;
	return oldest;
}

static void bind_u64(sqlite3_stmt *statement, int index, uint64_t value, uint64_t none)
{
	if (value == none)
		sqlite3_bind_null(statement, index);
	else
		sqlite3_bind_int64(statement, index, (sqlite3_int64)value);
}

static void bind_text(sqlite3_stmt *statement, int index, const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	db_bind_bytes(statement, index, len ? text : NULL, len);
}

/* cgroup 0: not known. */
static void bind_process(struct store_writer *writer, const struct history_owner *owner,
	const char *cmdline, int64_t until_ms)
{
	sqlite3_stmt *statement = writer->batch->statements[PUT_PROCESS];

	sqlite3_bind_int64(statement, 1, writer->boot);
	sqlite3_bind_int64(statement, 2, owner->tgid);
	sqlite3_bind_int64(statement, 3, (sqlite3_int64)(owner->start_ns & INT64_MAX));
	sqlite3_bind_int64(statement, 4, owner->ppid);
	sqlite3_bind_int64(statement, 5, owner->root_tgid);
	sqlite3_bind_int64(statement, 6, (sqlite3_int64)owner->root_start_ns);
	bind_u64(statement, 7, owner->cgroup_id, 0);
	bind_u64(statement, 8, owner->exited_ns, 0);
	sqlite3_bind_int64(statement, 9, (sqlite3_int64)owner->shared_bytes);
	bind_text(statement, 10, owner->comm, sizeof(owner->comm));
	bind_text(statement, 11, cmdline, PROCESS_CMDLINE_LEN);
	sqlite3_bind_int64(statement, 12, until_ms);
}

/* The machine is cgroup 0. */
static void bind_cgroup(struct store_writer *writer, const struct history_owner *owner,
	const char *path, int64_t until_ms)
{
	sqlite3_stmt *statement = writer->batch->statements[PUT_CGROUP];
	bool is_host = owner->kind == HISTORY_HOST;

	sqlite3_bind_int64(statement, 1, writer->boot);
	sqlite3_bind_int64(statement, 2, is_host ? 0 : (sqlite3_int64)owner->cgroup_id);
	bind_u64(statement, 3, is_host ? 0 : owner->parent_id, 0);
	bind_text(statement, 4, path, CGROUP_PATH_LEN);
	bind_u64(statement, 5, owner->max_bytes, UINT64_MAX);
	sqlite3_bind_int64(statement, 6, until_ms);
}

static int put_name(struct store_writer *writer, enum statement which, struct known_name *name)
{
	sqlite3_stmt *statement = writer->batch->statements[which];
	int ret = db_step(&writer->db, statement);

	if (ret > 0) {
		name->row = sqlite3_column_int64(statement, 0);
		name->until_ms = sqlite3_column_int64(statement, 1);
		sqlite3_reset(statement);
		return 0;
	}
	return ret < 0 ? ret : db_say(&writer->db, -EBADMSG, "a row was not written");
}

/* Cgroups live as long as the processes in them, so that their paths can be told. */
static int move_cgroups_until(struct store_writer *writer, uint64_t cgroup_id, int64_t until_ms)
{
	sqlite3_stmt *statement = writer->batch->statements[CGROUPS_UNTIL];

	if (!cgroup_id)
		return 0;
	sqlite3_bind_int64(statement, 1, writer->boot);
	sqlite3_bind_int64(statement, 2, (sqlite3_int64)cgroup_id);
	sqlite3_bind_int64(statement, 3, until_ms);
	return run_statement(writer, CGROUPS_UNTIL);
}

static int write_owner(struct store_writer *writer, const struct history_owner *owner,
	const char *path, const char *cmdline, struct known_name *name)
{
	int64_t until_ms = writer->newest_ms + STORE_UNTIL_MS;
	int ret;

	if (owner->kind == HISTORY_PROCESS) {
		bind_process(writer, owner, cmdline, until_ms);
		ret = put_name(writer, PUT_PROCESS, name);
		return ret ? ret : move_cgroups_until(writer, owner->cgroup_id, until_ms);
	}
	bind_cgroup(writer, owner, path, until_ms);
	return put_name(writer, PUT_CGROUP, name);
}

/* A transaction for names is open when it returns 0. */
static int names_begin(struct store_writer *writer)
{
	int ret;

	if (in_transaction(writer)) {
		if (!piece_is_full(writer))
			return 0;
		ret = db_commit(&writer->db);
		if (ret)
			return store_batch_failed(writer, ret);
	}
	return piece_begin(writer);
}

int store_batch_begin(struct store_writer *writer)
{
	struct store_batch *batch = writer->batch;

	if (!writer->boot)
		return db_say(&writer->db, -EINVAL, "no run was begun");
	/* Names that are not committed yet are not known to be there. */
	if (in_transaction(writer))
		store_batch_failed(writer, 0);
	batch->point_count = batch->gap_count = 0;
	batch->owner = NULL;
	batch->broken = 0;
	return 0;
}

int store_owner(struct store_writer *writer, const struct history_owner *owner, const char *path,
	const char *cmdline)
{
	bool process = owner->kind == HISTORY_PROCESS;
	uint64_t id = process ? owner->tgid : owner->kind == HISTORY_HOST ? 0 : owner->cgroup_id;
	struct store_batch *batch = writer->batch;
	uint64_t content;
	struct known_name *name;
	int ret;

	if (batch->broken)
		return batch->broken;
	path = path ? path : "";
	cmdline = cmdline ? cmdline : "";
	content = hash_owner(owner, path, cmdline);
	/* UINT64_MAX stands for cgroups; no clock reaches it. */
	name = find_name(batch, id, process ? owner->start_ns & INT64_MAX : UINT64_MAX);
	name->used = ++batch->clock;
	batch->owner = NULL;
	if (!name->row || name->content != content || name->until_ms < writer->names_cut_ms) {
		ret = names_begin(writer);
		/* Making room may have forgotten, never moved, what is known. */
		if (!ret)
			ret = write_owner(writer, owner, path, cmdline, name);
		if (ret)
			return store_batch_failed(writer, ret);
		name->content = content;
	}
	batch->owner = name;
	batch->owner_cgroup = process ? owner->cgroup_id : 0;
	return 0;
}

/* A point that is later than all its owner was expected to have. */
static int move_until(struct store_writer *writer, int64_t t_ms)
{
	struct store_batch *batch = writer->batch;
	struct known_name *name = batch->owner;
	enum statement which = is_process(name) ? PROCESS_UNTIL : CGROUP_UNTIL;
	int64_t until_ms = t_ms + STORE_UNTIL_MS;
	int ret = names_begin(writer);

	if (!ret) {
		sqlite3_bind_int64(batch->statements[which], 1, name->row);
		sqlite3_bind_int64(batch->statements[which], 2, until_ms);
		ret = run_statement(writer, which);
	}
	if (!ret)
		ret = move_cgroups_until(writer, batch->owner_cgroup, until_ms);
	if (ret)
		return store_batch_failed(writer, ret);
	name->until_ms = until_ms;
	return 0;
}

/* --- points --- */

static int64_t to_ms(int64_t time_ns)
{
	return time_ns < 0 ? 0 : time_ns / NS_PER_MS;
}

int store_point(struct store_writer *writer, const struct history_point *point)
{
	struct store_batch *batch = writer->batch;
	int64_t t_ms = to_ms(point->time_ns);
	struct batch_point *held;
	int ret;

	if (batch->broken)
		return batch->broken;
	if (!batch->owner)
		return db_say(&writer->db, -EINVAL, "a point without its owner");
	if (batch->point_count == STORE_BATCH_POINTS)
		return db_say(&writer->db, -ENOBUFS, "the batch is full");
	if (t_ms > batch->owner->until_ms) {
		ret = move_until(writer, t_ms);
		if (ret)
			return ret;
	}
	if (t_ms > writer->newest_ms)
		writer->newest_ms = t_ms;
	held = &batch->points[batch->point_count];
	held->t_ms = t_ms;
	held->row = batch->owner->row;
	held->order = batch->point_count++;
	held->is_process = is_process(batch->owner);
	memcpy(held->values, point->values, sizeof(held->values));
	return 0;
}

int store_gap(struct store_writer *writer, const struct store_gap *gap)
{
	struct store_batch *batch = writer->batch;

	if (batch->gap_count == STORE_BATCH_GAPS)
		return db_say(&writer->db, -ENOBUFS, "the batch is full");
	batch->gaps[batch->gap_count++] = *gap;
	return 0;
}

static int compare_points(const struct batch_point *a, const struct batch_point *b)
{
	if (a->t_ms != b->t_ms)
		return a->t_ms < b->t_ms ? -1 : 1;
	if (a->is_process != b->is_process)
		return a->is_process ? 1 : -1;
	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

static void sift_down(struct batch_point *points, size_t at, size_t count)
{
	struct batch_point moved = points[at];

	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && compare_points(&points[child], &points[child + 1]) < 0)
			child++;
		if (compare_points(&moved, &points[child]) >= 0)
			break;
		points[at] = points[child];
	}
	points[at] = moved;
}

/* In place: the library's qsort() may allocate. Mostly they come by time already. */
static void sort_points(struct batch_point *points, size_t count)
{
	bool sorted = true;

	for (size_t i = 1; i < count && sorted; i++)
		sorted = compare_points(&points[i - 1], &points[i]) < 0;
	if (sorted)
		return;
	for (size_t i = count / 2; i-- > 0;)
		sift_down(points, i, count);
	for (size_t end = count; end-- > 1;) {
		struct batch_point highest = points[0];

		points[0] = points[end];
		points[end] = highest;
		sift_down(points, 0, end);
	}
}

/* Less than nothing is what a counter that is summed up over CPUs may show for a moment. */
static int64_t at_least_0(int64_t value)
{
	return value < 0 ? 0 : value;
}

static int insert_point(struct store_writer *writer, const struct batch_point *point)
{
	enum statement which = point->is_process ? PROCESS_POINT : CGROUP_POINT;
	sqlite3_stmt *statement = writer->batch->statements[which];

	sqlite3_bind_int64(statement, 1, writer->boot);
	sqlite3_bind_int64(statement, 2, point->t_ms);
	sqlite3_bind_int64(statement, 3, point->row);
	sqlite3_bind_int64(statement, 4, at_least_0(point->values[0]));
	if (point->is_process) {
		for (int i = 1; i < HISTORY_VALUES; i++)
			sqlite3_bind_int64(statement, 4 + i, at_least_0(point->values[i]));
	} else if (point->values[HISTORY_CHARGED] < 0) {
		sqlite3_bind_null(statement, 5);
	} else {
		sqlite3_bind_int64(statement, 5, point->values[HISTORY_CHARGED]);
	}
	return run_statement(writer, which);
}

/* As many as one transaction may hold; it stays open. *at: the first that is not in. */
static int insert_piece(struct store_writer *writer, unsigned int *at)
{
	struct store_batch *batch = writer->batch;
	int ret = piece_begin(writer);

	while (!ret && *at < batch->point_count) {
		ret = insert_point(writer, &batch->points[(*at)++]);
		if (!ret && piece_is_full(writer))
			break;
	}
	return ret;
}

int store_gap_insert(struct store_writer *writer, const struct store_gap *gap)
{
	sqlite3_stmt *statement = writer->batch->statements[PUT_GAP];

	sqlite3_bind_int64(statement, 1, gap->why);
	sqlite3_bind_int64(statement, 2, gap->from_ns);
	sqlite3_bind_int64(statement, 3, gap->to_ns);
	bind_u64(statement, 4, gap->incidents, UNKNOWN_U64);
	bind_u64(statement, 5, gap->points, UNKNOWN_U64);
	return run_statement(writer, PUT_GAP);
}

/* With the last piece, so that a batch that is told again does not tell its gaps twice. */
static int finish_batch(struct store_writer *writer, int64_t wall_minus_boot_ns)
{
	struct store_batch *batch = writer->batch;
	int ret = store_clock(writer, wall_minus_boot_ns);

	for (unsigned int i = 0; i < batch->gap_count && !ret; i++)
		ret = store_gap_insert(writer, &batch->gaps[i]);
	return ret;
}

int store_batch_commit(struct store_writer *writer, int64_t wall_minus_boot_ns)
{
	struct store_batch *batch = writer->batch;
	int64_t clock_before = writer->wall_minus_boot_ns;
	unsigned int at = 0;
	int ret = batch->broken;

	if (!ret && in_transaction(writer)) /* names */
		ret = db_commit(&writer->db);
	sort_points(batch->points, batch->point_count);
	do {
		if (!ret)
			ret = insert_piece(writer, &at);
		if (!ret && at == batch->point_count)
			ret = finish_batch(writer, wall_minus_boot_ns);
		if (!ret)
			ret = db_commit(&writer->db);
	} while (!ret && at < batch->point_count);
	if (ret) {
		writer->wall_minus_boot_ns = clock_before;
		return store_batch_failed(writer, ret);
	}
	batch->point_count = batch->gap_count = 0;
	return 0;
}
