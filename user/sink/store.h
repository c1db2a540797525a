/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h (sink): the one writer of a capture store. Called by one thread at a time; blocks on the
 * disk. Everything of its own (some 3 MiB, touched as far as it is used) is taken when it is
 * opened; then it allocates through SQLite alone, within db_memory().
 *
 * All return 0 or -errno as in source/db.h. A failure loses nothing that was stored: the caller may
 * try again. -ENOSPC: the disk is full. Two more come from the limit, and go away by
 * store_keep() or by themselves: -EAGAIN, a reader holds the log, which has reached its bound;
 * -EFBIG, max_bytes is used up by what may not be pruned. Times of points and owners are
 * CLOCK_BOOTTIME.
 */
#ifndef OOMSNOOP_SINK_STORE_H
#define OOMSNOOP_SINK_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "judge/judgement.h"
#include "model/capture.h"
#include "model/history.h"
#include "model/store.h"
#include "model/store_fields.h"

struct store_limits {
	uint64_t max_bytes; /* of file and log (-wal) together; less than STORE_MIN_BYTES counts as
			       that */
	uint64_t keep_ns; /* 0: for ever */
};

#define STORE_MIN_BYTES (4ULL << 20)

struct store_writer;

/* -EBUSY: another recorder writes there. -EPROTO, -EBADMSG: not a store that this build can write
 * to. */
int store_writer_open(
	const char *path, const struct store_limits *limits, struct store_writer **ret);
void store_writer_close(struct store_writer *writer);
const char *store_writer_why(const struct store_writer
		*writer); /* also after a failed open, with NULL: the last one's */
/* False: the file was removed or replaced; what is written now is lost with it. */
bool store_writer_in_place(const struct store_writer *writer);
/* Of file and log, on the disk. */
uint64_t store_writer_bytes(const struct store_writer *writer);

/*
 * Fills run->id; tells the gap since the last run, on the same boot or another: since its end, or,
 * where it ended without a word, since the last that it stored. A clock that was set back makes no
 * gap of less than nothing. Before anything else is written, once for each writer. Durable.
 */
int store_run_begin(
	struct store_writer *writer, struct capture_run *run, int64_t wall_minus_boot_ns);
/* Writes run->ended_ns and run->ended_why. */
int store_run_end(struct store_writer *writer, const struct capture_run *run);

/*
 * A batch: from store_batch_begin() to store_batch_commit(). Points belong to the owner told last.
 * The path of a cgroup is told with its owner, "" when not known; cmdline of a process likewise:
 * what is known already stays. Neither need outlive the call. An owner that was told before, and
 * in which nothing changed, costs no access to the file. Points are held in memory, sorted by time
 * and written at the commit. The same point may be told again, later or in another batch: the last
 * one holds. So whoever meets a failure tells the whole batch again, gaps included; until it is
 * begun again all calls return that failure.
 *
 * store_batch_begin() drops what an earlier batch held that was not committed.
 */
#define STORE_BATCH_POINTS 32768
#define STORE_BATCH_GAPS 64

int store_batch_begin(struct store_writer *writer);
int store_owner(struct store_writer *writer, const struct history_owner *owner, const char *path,
	const char *cmdline);
/* -ENOBUFS: the batch is full, and what it holds stays: commit, begin another one, tell the owner
 * and this point again. */
int store_point(struct store_writer *writer, const struct history_point *point);
int store_gap(struct store_writer *writer, const struct store_gap *gap); /* -ENOBUFS */
/* wall_minus_boot_ns: as the clocks are now; kept where it moved by more than 10 ms. -EAGAIN as
 * above: series have to wait, or to be counted as a gap. */
int store_batch_commit(struct store_writer *writer, int64_t wall_minus_boot_ns);

/* One transaction, durable when it returns 0. May come between the calls of a batch. */
int store_incident(struct store_writer *writer, const struct capture_run *run,
	const struct capture_moment *moment, const struct incident *incident,
	const struct judgement *judgement, int64_t *ret_id);

/*
 * A kill that was not the OOM killer's. One transaction, durable when it returns 0; `told` but for
 * its run. Of many only the newest are kept: no more than an eighth of the file.
 */
int store_kill(struct store_writer *writer, const struct capture_run *run,
	const struct killing *killing, const struct store_kill_told *told, int64_t *ret_id);

/* The same of memory or a process that was asked for and not given. */
int store_refusal(struct store_writer *writer, const struct capture_run *run,
	const struct refusal *refusal, const struct store_kill_told *told, int64_t *ret_id);

/*
 * Keeps to the limits; to be called after each commit and each incident. max_bytes is never
 * exceeded even if it is not, but then each write has to make its own room.
 *
 * What goes first: the oldest series, but for those of the minutes around the newest incident, as
 * long as these are no more than an eighth of the file; then the oldest incidents with all that
 * belongs to them; those minutes; never the newest incident. Series and incidents older than
 * keep_ns go in any case, but for the newest incident. What went is told as one gap
 * (STORE_GAP_PRUNED) that only grows. now_ns: CLOCK_REALTIME.
 *
 * A bounded piece of work a call; *ret_more: call again soon. *ret_full: a reader holds the log,
 * which has reached its bound: no series can be written until it lets go.
 */
int store_keep(struct store_writer *writer, int64_t now_ns, bool *ret_more, bool *ret_full);

#endif /* OOMSNOOP_SINK_STORE_H */
