// SPDX-License-Identifier: Apache-2.0
/*
 * Keeps a store to its limits. Everything goes in pieces of bounded size, each a transaction of its
 * own with its share of the gap that tells of it.
 *
 * Pages that become free are used again, so that the file does not grow beyond its bound; it only
 * has to shrink when the bound was lowered (PRAGMA incremental_vacuum).
 */
#include "sink/store_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/store_schema.h"

#define NS_PER_MS 1000000LL
#define PIECE_POINTS 8192 /* of each table, removed at once */
#define PIECE_NAMES 2048 /* looked at, at once */
/* Series from so long before the newest incident on belong to it, and what came right after. */
#define WINDOW_BEFORE_MS 600000LL
#define WINDOW_AFTER_MS 60000LL
#define WINDOW_POINTS 100000 /* more than that are not held back */
#define POINTS_PER_PAGE 100 /* roughly, for bounds */

enum statement {
	PROCESS_FIRST, /* the first key from (boot, t_ms) on, and how many rows later */
	CGROUP_FIRST,
	PROCESS_NTH,
	CGROUP_NTH,
	PROCESS_LAST, /* before a time, of one boot */
	CGROUP_LAST,
	PROCESS_DELETE,
	CGROUP_DELETE,
	PROCESS_NAMES_END,
	CGROUP_NAMES_END,
	PROCESS_NAMES_DELETE,
	CGROUP_NAMES_DELETE,
	BOOT_CLOCK,
	INCIDENT_FIRST,
	INCIDENT_LAST,
	GAP_GROWS,
	STATEMENTS
};

static const char *const statement_texts[STATEMENTS] = {
	[PROCESS_FIRST] = "SELECT boot, t_ms FROM process_point WHERE (boot, t_ms) >= (?1, ?2)"
			  " ORDER BY boot, t_ms LIMIT 1",
	[CGROUP_FIRST] = "SELECT boot, t_ms FROM cgroup_point WHERE (boot, t_ms) >= (?1, ?2)"
			 " ORDER BY boot, t_ms LIMIT 1",
	[PROCESS_NTH] = "SELECT t_ms FROM process_point WHERE boot = ?1 AND t_ms >= ?2"
			" ORDER BY t_ms LIMIT 1 OFFSET ?3",
	[CGROUP_NTH] = "SELECT t_ms FROM cgroup_point WHERE boot = ?1 AND t_ms >= ?2"
		       " ORDER BY t_ms LIMIT 1 OFFSET ?3",
	[PROCESS_LAST] = "SELECT t_ms FROM process_point WHERE boot = ?1 AND t_ms < ?2"
			 " ORDER BY t_ms DESC LIMIT 1",
	[CGROUP_LAST] = "SELECT t_ms FROM cgroup_point WHERE boot = ?1 AND t_ms < ?2"
			" ORDER BY t_ms DESC LIMIT 1",
	[PROCESS_DELETE] =
		"DELETE FROM process_point WHERE boot = ?1 AND t_ms >= ?2 AND t_ms <= ?3",
	[CGROUP_DELETE] = "DELETE FROM cgroup_point WHERE boot = ?1 AND t_ms >= ?2 AND t_ms <= ?3",
	[PROCESS_NAMES_END] = "SELECT id FROM process WHERE id >= ?1 ORDER BY id LIMIT 1 OFFSET ?2",
	[CGROUP_NAMES_END] = "SELECT id FROM cgroup WHERE id >= ?1 ORDER BY id LIMIT 1 OFFSET ?2",
	/* ?3 ?4: all points before are gone, but for those of boot ?5 from ?6 to ?7 */
	[PROCESS_NAMES_DELETE] =
		"DELETE FROM process WHERE id >= ?1 AND id < ?2"
		" AND (boot < ?3 OR (boot = ?3 AND until_ms < ?4))"
		" AND NOT (boot = ?5 AND until_ms >= ?6 AND start_ns / 1000000 <= ?7)",
	[CGROUP_NAMES_DELETE] = "DELETE FROM cgroup WHERE id >= ?1 AND id < ?2"
				" AND (boot < ?3 OR (boot = ?3 AND until_ms < ?4))"
				" AND NOT (boot = ?5 AND until_ms >= ?6)",
	[BOOT_CLOCK] = "SELECT wall_minus_boot_ns FROM boot WHERE id = ?1",
	[INCIDENT_FIRST] = "SELECT id, time_real_ns FROM incident ORDER BY id LIMIT 1",
	[INCIDENT_LAST] =
		"SELECT incident.id, boot.id, time_ns FROM incident LEFT JOIN run ON run.id = run"
		" LEFT JOIN boot ON boot.boot_id = run.boot_id ORDER BY incident.id DESC LIMIT 1",
	[GAP_GROWS] = "UPDATE gap SET from_ns = min(from_ns, ?2), to_ns = max(to_ns, ?3),"
		      " incidents = incidents + ?4, points = points + ?5 WHERE why = ?1",
};

struct store_keeping {
	sqlite3_stmt *statements[STATEMENTS];
	sqlite3_stmt *incident_deletes[32]; /* one a table */
	unsigned int incident_tables;
	int64_t names_at[2]; /* ids up to which names were looked at */
	uint64_t piece_points;
	uint64_t log_bound; /* that pruning may fill the log to */
};

/* Where points lie: (boot, t_ms). */
struct key {
	int64_t boot, t_ms;
};

/* Series around the newest incident; boot -1: none. */
struct window {
	int64_t boot, from_ms, to_ms;
};

static const struct window no_window = {-1, 0, 0};

/* Keyed by the incident. */
static bool is_of_incident(const struct store_table *table)
{
	return !strncmp(table->columns[0], "incident ", 9);
}

static int prepare_deletes(struct store_writer *writer)
{
	struct store_keeping *keeping = writer->keeping;
	const size_t most =
		sizeof(keeping->incident_deletes) / sizeof(keeping->incident_deletes[0]);
	char sql[128];
	int ret = 0;

	for (size_t i = 0; i < store_table_count && !ret; i++) {
		bool own = !strcmp(store_tables[i].name, "incident");

		if (!own && !is_of_incident(&store_tables[i]))
			continue;
		if (keeping->incident_tables == most)
			return db_say(&writer->db, -ENOBUFS, "more tables than expected");
		snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE %s = ?1", store_tables[i].name,
			own ? "id" : "incident");
		ret = db_prepare(
			&writer->db, &keeping->incident_deletes[keeping->incident_tables++], sql);
	}
	return ret;
}

/* --- the size of file and log --- */

/* How many pages can still be written. Negative: a lowered limit has to be reached yet. */
static int pages_free(struct store_writer *writer, int64_t *ret_free, int64_t *ret_count)
{
	int64_t unused = 0;
	int ret = db_number(&writer->db, "PRAGMA page_count", 0, ret_count);

	if (!ret)
		ret = db_number(&writer->db, "PRAGMA freelist_count", 0, &unused);
	*ret_free = (int64_t)writer->bounds.file_pages - *ret_count + unused;
	return ret;
}

/* It cannot be set below what there is: to be called again when the file has shrunk. */
static int set_hard_stop(struct store_writer *writer)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "PRAGMA max_page_count=%llu",
		(unsigned long long)writer->bounds.file_pages);
	return db_exec(&writer->db, sql);
}

static uint64_t log_bytes(const struct store_writer *writer)
{
	uint64_t bytes = 0, log = 0;

	db_size(&writer->db, &bytes, &log);
	return log;
}

/* Moves the log into the file if `bytes` more would go beyond `most`. -EAGAIN: a reader is in the
 * way. */
static int room_in_log(struct store_writer *writer, uint64_t bytes, uint64_t most)
{
	uint64_t log = log_bytes(writer);
	int ret;

	if (log + bytes <= most && log < writer->bounds.log_checkpoint)
		return 0;
	ret = db_checkpoint(&writer->db, &log);
	if (ret)
		return ret;
	if (log + bytes > most)
		return db_say(&writer->db, -EAGAIN,
			"somebody reads the file, and the log beside it has reached its bound");
	return 0;
}

int store_keep_prepare(struct store_writer *writer)
{
	struct store_keeping *keeping = calloc(1, sizeof(*keeping));
	uint64_t most = writer->bounds.file_pages * 2;
	int ret = 0;

	if (!keeping)
		return db_say(&writer->db, -ENOMEM, "no memory");
	writer->keeping = keeping;
	keeping->piece_points = most < PIECE_POINTS ? most : PIECE_POINTS;
	for (int i = 0; i < STATEMENTS && !ret; i++)
		ret = db_prepare(&writer->db, &keeping->statements[i], statement_texts[i]);
	if (!ret)
		ret = prepare_deletes(writer);
	if (!ret)
		ret = set_hard_stop(writer);
	return ret;
}

void store_keep_release(struct store_writer *writer)
{
	struct store_keeping *keeping = writer->keeping;

	if (!keeping)
		return;
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(keeping->statements[i]);
	for (unsigned int i = 0; i < keeping->incident_tables; i++)
		sqlite3_finalize(keeping->incident_deletes[i]);
	free(keeping);
	writer->keeping = NULL;
}

/* --- statements --- */

/* Binds numbers and steps once: 1 a row (to be reset by the caller), 0, -errno. */
static int step_with(
	struct store_writer *writer, sqlite3_stmt *statement, const int64_t *numbers, int count)
{
	for (int i = 0; i < count; i++)
		sqlite3_bind_int64(statement, 1 + i, numbers[i]);
	return db_step(&writer->db, statement);
}

/* The first column of its row, or `none`. */
static int number_of(struct store_writer *writer, enum statement which, const int64_t *numbers,
	int count, int64_t none, int64_t *ret)
{
	sqlite3_stmt *statement = writer->keeping->statements[which];
	int error = step_with(writer, statement, numbers, count);

	*ret = none;
	if (error > 0 && sqlite3_column_type(statement, 0) != SQLITE_NULL)
		*ret = sqlite3_column_int64(statement, 0);
	sqlite3_reset(statement);
	return error < 0 ? error : 0;
}

/* Adds how many rows went. */
static int delete_with(struct store_writer *writer, sqlite3_stmt *statement, const int64_t *numbers,
	int count, uint64_t *ret_rows)
{
	int ret = step_with(writer, statement, numbers, count);

	if (!ret)
		*ret_rows += (uint64_t)sqlite3_changes64(writer->db.handle);
	sqlite3_reset(statement);
	return ret;
}

static int64_t wall_ns(int64_t t_ms, int64_t wall_minus_boot_ns)
{
	int64_t ns, sum;

	if (__builtin_mul_overflow(t_ms, NS_PER_MS, &ns))
		ns = INT64_MAX;
	if (__builtin_add_overflow(ns, wall_minus_boot_ns, &sum))
		return ns < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

/* Of the present boot as it is known now, else as it was left. */
static int clock_of(struct store_writer *writer, int64_t boot, int64_t *ret)
{
	*ret = writer->wall_minus_boot_ns;
	if (boot == writer->boot)
		return 0;
	return number_of(writer, BOOT_CLOCK, &boot, 1, 0, ret);
}

static int grow_gap(struct store_writer *writer, int64_t from_ns, int64_t to_ns, uint64_t incidents,
	uint64_t points)
{
	const int64_t numbers[] = {
		STORE_GAP_PRUNED, from_ns, to_ns, (int64_t)incidents, (int64_t)points};
	const struct store_gap gap = {STORE_GAP_PRUNED, from_ns, to_ns, incidents, points};
	uint64_t grown = 0;
	int ret = delete_with(writer, writer->keeping->statements[GAP_GROWS], numbers, 5, &grown);

	if (ret || grown)
		return ret;
	return store_gap_insert(writer, &gap);
}

/* --- names --- */

/* Names up to `cut` that nothing refers to any more: some of them a call, in turn. */
static int prune_names(
	struct store_writer *writer, int kind, struct key cut, const struct window *window)
{
	struct store_keeping *keeping = writer->keeping;
	const int64_t piece[] = {keeping->names_at[kind], PIECE_NAMES};
	int64_t numbers[] = {
		piece[0], 0, cut.boot, cut.t_ms, window->boot, window->from_ms, window->to_ms};
	uint64_t rows = 0;
	int ret = number_of(writer, kind ? PROCESS_NAMES_END : CGROUP_NAMES_END, piece, 2,
		INT64_MAX, &numbers[1]);

	if (!ret)
		ret = delete_with(writer,
			keeping->statements[kind ? PROCESS_NAMES_DELETE : CGROUP_NAMES_DELETE],
			numbers, kind ? 7 : 6, &rows);
	if (!ret)
		keeping->names_at[kind] = numbers[1] == INT64_MAX ? 0 : numbers[1];
	return ret;
}

/* Points of this boot that are held back for the commit may need their names: all of them are set
 * ahead of newest_ms. */
static int prune_all_names(struct store_writer *writer, struct key cut, const struct window *window)
{
	int ret = 0;

	if (cut.boot == writer->boot && cut.t_ms > writer->newest_ms)
		cut.t_ms = writer->newest_ms;
	for (int kind = 0; kind < 2 && !ret; kind++)
		ret = prune_names(writer, kind, cut, window);
	if (!ret && cut.boot == writer->boot && cut.t_ms > writer->names_cut_ms)
		writer->names_cut_ms = cut.t_ms;
	return ret;
}

/* --- series --- */

/* The oldest point from `from` on. boot INT64_MAX: there is none. */
static int first_key(struct store_writer *writer, struct key from, struct key *ret)
{
	const int64_t numbers[] = {from.boot, from.t_ms};
	static const enum statement which[] = {PROCESS_FIRST, CGROUP_FIRST};

	*ret = (struct key) {INT64_MAX, INT64_MAX};
	for (int i = 0; i < 2; i++) {
		sqlite3_stmt *statement = writer->keeping->statements[which[i]];
		int error = step_with(writer, statement, numbers, 2);
		struct key key;

		if (error > 0) {
			key.boot = sqlite3_column_int64(statement, 0);
			key.t_ms = sqlite3_column_int64(statement, 1);
			if (key.boot < ret->boot || (key.boot == ret->boot && key.t_ms < ret->t_ms))
				*ret = key;
		}
		sqlite3_reset(statement);
		if (error < 0)
			return error;
	}
	return 0;
}

/* The end of a piece that begins there; at least one moment long. */
static int piece_end(
	struct store_writer *writer, struct key begin, int64_t limit_ms, int64_t *ret_ms)
{
	const int64_t numbers[] = {begin.boot, begin.t_ms, (int64_t)writer->keeping->piece_points};
	int64_t process_ms, cgroup_ms;
	int ret = number_of(writer, PROCESS_NTH, numbers, 3, INT64_MAX, &process_ms);

	if (!ret)
		ret = number_of(writer, CGROUP_NTH, numbers, 3, INT64_MAX, &cgroup_ms);
	if (ret)
		return ret;
	*ret_ms = process_ms < cgroup_ms ? process_ms : cgroup_ms;
	if (*ret_ms > limit_ms)
		*ret_ms = limit_ms;
	if (*ret_ms <= begin.t_ms && begin.t_ms < INT64_MAX)
		*ret_ms = begin.t_ms + 1;
	return 0;
}

/* The last one that goes, for the gap's end. */
static int last_before(
	struct store_writer *writer, int64_t boot, int64_t before_ms, int64_t *ret_ms)
{
	const int64_t numbers[] = {boot, before_ms};
	int64_t process_ms, cgroup_ms;
	int ret = number_of(writer, PROCESS_LAST, numbers, 2, INT64_MIN, &process_ms);

	if (!ret)
		ret = number_of(writer, CGROUP_LAST, numbers, 2, INT64_MIN, &cgroup_ms);
	if (!ret)
		*ret_ms = process_ms > cgroup_ms ? process_ms : cgroup_ms;
	return ret;
}

static int remove_points(
	struct store_writer *writer, struct key begin, int64_t end_ms, const struct window *window)
{
	const int64_t numbers[] = {
		begin.boot, begin.t_ms, end_ms == INT64_MAX ? INT64_MAX : end_ms - 1};
	int64_t last_ms = begin.t_ms, clock_ns = 0;
	sqlite3_stmt **statements = writer->keeping->statements;
	uint64_t points = 0;
	int ret = last_before(writer, begin.boot, end_ms, &last_ms);

	if (!ret)
		ret = clock_of(writer, begin.boot, &clock_ns);
	if (!ret)
		ret = delete_with(writer, statements[PROCESS_DELETE], numbers, 3, &points);
	if (!ret)
		ret = delete_with(writer, statements[CGROUP_DELETE], numbers, 3, &points);
	/* Or whoever needs room would try for ever. */
	if (!ret && !points)
		ret = db_say(&writer->db, -EBADMSG, "the keys of a series are damaged");
	if (!ret)
		ret = grow_gap(writer, wall_ns(begin.t_ms, clock_ns), wall_ns(last_ms, clock_ns), 0,
			points);
	if (!ret)
		ret = prune_all_names(writer, (struct key) {begin.boot, end_ms}, window);
	return ret;
}

/* A transaction of its own. */
static int prune_begin(struct store_writer *writer)
{
	int ret = room_in_log(writer, writer->bounds.batch_pages * writer->bounds.page_bytes,
		writer->keeping->log_bound);

	return ret ? ret : db_begin(&writer->db);
}

static int prune_end(struct store_writer *writer, int ret)
{
	if (!ret)
		ret = db_commit(&writer->db);
	if (ret)
		db_rollback(&writer->db);
	return ret;
}

/* A piece of the series that begins at `begin`, up to limit_ms at most. `window` is not in it, and
 * names that it needs stay. */
static int prune_points(struct store_writer *writer, struct key begin, int64_t limit_ms,
	const struct window *window)
{
	int64_t end_ms;
	int ret = piece_end(writer, begin, limit_ms, &end_ms);

	if (!ret)
		ret = prune_begin(writer);
	if (ret)
		return ret;
	return prune_end(writer, remove_points(writer, begin, end_ms, window));
}

/* --- incidents --- */

struct incident_ends {
	int64_t first, first_time_ns;
	int64_t last; /* 0: none at all */
	struct window window; /* of the last */
};

static int read_incidents(struct store_writer *writer, struct incident_ends *ret)
{
	sqlite3_stmt *first = writer->keeping->statements[INCIDENT_FIRST];
	sqlite3_stmt *last = writer->keeping->statements[INCIDENT_LAST];
	int error = step_with(writer, first, NULL, 0);
	int64_t at_ms;

	memset(ret, 0, sizeof(*ret));
	ret->window = no_window;
	if (error > 0) {
		ret->first = sqlite3_column_int64(first, 0);
		ret->first_time_ns = sqlite3_column_int64(first, 1);
		sqlite3_reset(first);
		error = step_with(writer, last, NULL, 0);
	}
	if (error > 0) {
		ret->last = sqlite3_column_int64(last, 0);
		if (sqlite3_column_type(last, 1) != SQLITE_NULL) {
			at_ms = sqlite3_column_int64(last, 2) / NS_PER_MS;
			ret->window.boot = sqlite3_column_int64(last, 1);
			ret->window.from_ms = at_ms - WINDOW_BEFORE_MS;
			ret->window.to_ms = at_ms + WINDOW_AFTER_MS;
		}
		sqlite3_reset(last);
	}
	return error < 0 ? error : 0;
}

static int remove_incident(struct store_writer *writer, int64_t id, int64_t time_ns)
{
	struct store_keeping *keeping = writer->keeping;
	uint64_t rows = 0;
	int ret = 0;

	for (unsigned int i = 0; i < keeping->incident_tables && !ret; i++)
		ret = delete_with(writer, keeping->incident_deletes[i], &id, 1, &rows);
	if (!ret && !rows)
		ret = db_say(&writer->db, -EBADMSG, "the number of an incident is damaged");
	return ret ? ret : grow_gap(writer, time_ns, time_ns, 1, 0);
}

static int prune_incident(struct store_writer *writer, const struct incident_ends *incidents)
{
	int ret = prune_begin(writer);

	if (ret)
		return ret;
	return prune_end(
		writer, remove_incident(writer, incidents->first, incidents->first_time_ns));
}

/* --- what goes first --- */

static bool is_before(struct key key, int64_t boot, int64_t t_ms)
{
	return key.boot < boot || (key.boot == boot && key.t_ms < t_ms);
}

/* Does the window hold more than its share of the file? */
static int window_is_large(
	struct store_writer *writer, const struct window *window, bool *ret_large)
{
	uint64_t share = writer->bounds.file_pages / 8 * POINTS_PER_PAGE;
	const int64_t numbers[] = {window->boot, window->from_ms,
		(int64_t)(share < WINDOW_POINTS ? share : WINDOW_POINTS)};
	int64_t nth_ms;
	int ret = number_of(writer, PROCESS_NTH, numbers, 3, INT64_MAX, &nth_ms);

	*ret_large = nth_ms <= window->to_ms;
	return ret;
}

/* A piece of what may go first; *ret_did false: nothing is left that may. */
static int prune_for_size(struct store_writer *writer, bool *ret_did)
{
	struct key begin, after;
	struct incident_ends incidents;
	const struct window *window = &incidents.window;
	bool large = false;
	int ret = read_incidents(writer, &incidents);

	*ret_did = true;
	if (!ret)
		ret = first_key(writer, (struct key) {INT64_MIN, INT64_MIN}, &begin);
	if (ret)
		return ret;
	if (begin.boot != INT64_MAX &&
		(window->boot < 0 || is_before(begin, window->boot, window->from_ms)))
		return prune_points(writer, begin,
			begin.boot == window->boot ? window->from_ms : INT64_MAX, window);
	if (begin.boot != INT64_MAX) {
		ret = first_key(writer, (struct key) {window->boot, window->to_ms + 1}, &after);
		if (!ret && after.boot != INT64_MAX)
			return prune_points(writer, after, INT64_MAX, window);
		if (!ret)
			ret = window_is_large(writer, window, &large);
		if (ret)
			return ret;
	}
	if (!large && incidents.first != incidents.last)
		return prune_incident(writer, &incidents);
	*ret_did = begin.boot != INT64_MAX;
	return *ret_did ? prune_points(writer, begin, INT64_MAX, &no_window) : 0;
}

/* A piece of what is too old. */
static int prune_for_age(struct store_writer *writer, int64_t now_ns, bool *ret_did)
{
	struct incident_ends incidents;
	int64_t horizon_ns, clock_ns, limit_ns;
	struct key begin;
	int ret;

	*ret_did = false;
	if (!writer->limits.keep_ns || writer->limits.keep_ns > INT64_MAX ||
		__builtin_sub_overflow(now_ns, (int64_t)writer->limits.keep_ns, &horizon_ns))
		return 0;
	ret = store_kills_forget(writer, horizon_ns);
	if (!ret)
		ret = first_key(writer, (struct key) {INT64_MIN, INT64_MIN}, &begin);
	if (!ret && begin.boot != INT64_MAX)
		ret = clock_of(writer, begin.boot, &clock_ns);
	if (ret)
		return ret;
	if (begin.boot != INT64_MAX && wall_ns(begin.t_ms, clock_ns) < horizon_ns &&
		!__builtin_sub_overflow(horizon_ns, clock_ns, &limit_ns)) {
		*ret_did = true;
		return prune_points(writer, begin, limit_ns / NS_PER_MS, &no_window);
	}
	ret = read_incidents(writer, &incidents);
	if (ret || incidents.first == incidents.last || incidents.first_time_ns >= horizon_ns)
		return ret;
	*ret_did = true;
	return prune_incident(writer, &incidents);
}

/* --- room --- */

static int room_in_file(struct store_writer *writer, uint64_t bytes)
{
	int64_t free_pages, count;
	bool did = true;
	int ret;

	for (;;) {
		ret = pages_free(writer, &free_pages, &count);
		if (ret || free_pages * (int64_t)writer->bounds.page_bytes >= (int64_t)bytes)
			return ret;
		if (!did)
			return db_say(&writer->db, -EFBIG,
				"the store is full: its limit leaves no room for more");
		ret = prune_for_size(writer, &did);
		if (ret)
			return ret;
	}
}

int store_room(struct store_writer *writer, uint64_t bytes, bool is_series)
{
	const struct store_bounds *bounds = &writer->bounds;
	int ret = 0;

	/* Names of a batch that was begun: they do no harm without their points. */
	if (!sqlite3_get_autocommit(writer->db.handle))
		ret = db_commit(&writer->db);
	if (ret)
		return store_batch_failed(writer, ret);
	writer->keeping->log_bound = is_series ? bounds->log_series : bounds->log_most;
	ret = room_in_file(writer, bytes + (is_series ? STORE_INCIDENT_BYTES : 0));
	return ret ? ret : room_in_log(writer, bytes, writer->keeping->log_bound);
}

/* Some pages from the end of the file into free places. */
static int shrink(struct store_writer *writer)
{
	char sql[64];
	int ret = room_in_log(writer, writer->bounds.batch_pages * writer->bounds.page_bytes,
		writer->keeping->log_bound);

	snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%llu)",
		(unsigned long long)writer->bounds.batch_pages / 4);
	if (!ret)
		ret = db_exec(&writer->db, sql);
	return ret ? ret : set_hard_stop(writer);
}

static int keep_piece(struct store_writer *writer, int64_t now_ns, bool *ret_more)
{
	const int64_t wanted = (int64_t)(STORE_INCIDENT_BYTES / writer->bounds.page_bytes +
					 2 * writer->bounds.batch_pages);
	int64_t free_pages, count;
	int ret = pages_free(writer, &free_pages, &count);

	*ret_more = false;
	if (!ret && free_pages < wanted)
		ret = prune_for_size(writer, ret_more);
	if (!ret && !*ret_more)
		ret = prune_for_age(writer, now_ns, ret_more);
	if (ret || *ret_more || count <= (int64_t)writer->bounds.file_pages)
		return ret;
	*ret_more = true;
	return shrink(writer);
}

int store_keep(struct store_writer *writer, int64_t now_ns, bool *ret_more, bool *ret_full)
{
	int ret, log;

	writer->keeping->log_bound = writer->bounds.log_series;
	ret = keep_piece(writer, now_ns, ret_more);
	log = room_in_log(writer, writer->bounds.batch_pages * writer->bounds.page_bytes,
		writer->bounds.log_series);

	*ret_full = log == -EAGAIN;
	if (ret != -EAGAIN) /* else *ret_full says it */
		return ret ? ret : *ret_full ? 0 : log;
	*ret_more = false;
	return 0;
}
