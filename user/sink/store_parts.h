/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_parts.h: private to sink/store*.c. store.c opens and tells of runs, store_batch.c writes
 * series, store_incident.c incidents, store_kill.c other kills,
 * store_keep.c keeps to the limits.
 *
 * The limit is shared out once, when the store is opened: the file may grow to file_pages, the log
 * to the rest. Before anything is written store_room() sees to it that it fits into both, so that
 * SQLITE_FULL means that the disk is full (PRAGMA max_page_count is the hard stop all the same).
 */
#ifndef OOMSNOOP_SINK_STORE_PARTS_H
#define OOMSNOOP_SINK_STORE_PARTS_H

#include "model/store_fields.h"
#include "sink/store.h"
#include "source/db.h"

/* What an incident may add to file and log, everything full; this much is kept free for the next
 * one. */
#define STORE_INCIDENT_BYTES (512ULL << 10)
/* How far a process or cgroup's `until_ms` is set ahead of its points. */
#define STORE_UNTIL_MS 3600000LL

struct store_incident_statements; /* store_incident.c: prepared once */
struct store_batch; /* store_batch.c */
struct store_keeping; /* store_keep.c */

struct store_bounds {
	uint64_t page_bytes;
	uint64_t file_pages; /* PRAGMA max_page_count */
	uint64_t log_checkpoint; /* bytes of the log from which on it is moved into the file */
	uint64_t log_series; /* beyond it no series are written */
	uint64_t log_most; /* beyond it nothing is */
	uint64_t batch_pages; /* that one transaction of a batch may write */
	uint64_t cache_pages; /* of these, as many as may be in memory, unwritten */
};

struct store_writer {
	struct db db;
	struct store_limits limits;
	struct store_bounds bounds;
	struct store_incident_statements *incident;
	struct store_batch *batch;
	struct store_keeping *keeping;
	int64_t boot; /* row of table boot; 0: store_run_begin() was not called yet */
	int64_t wall_minus_boot_ns; /* as it is in that row */
	int64_t newest_ms; /* CLOCK_BOOTTIME: no point of this run so far is later */
	int64_t names_cut_ms; /* names of this boot whose until_ms is less may be gone */
};

/* 0 or -errno, when the writer is opened. */
int store_incident_prepare(struct store_writer *writer);
void store_incident_release(struct store_writer *writer);
int store_batch_prepare(struct store_writer *writer);
void store_batch_release(struct store_writer *writer);
/* Drops what it holds, and what it knows of names: they are those of one boot. */
void store_batch_reset(struct store_writer *writer);
/* Its names could not be committed: returns `error`, as all calls do until it is begun again. */
int store_batch_failed(struct store_writer *writer, int error);
int store_keep_prepare(struct store_writer *writer);
void store_keep_release(struct store_writer *writer);

/*
 * Outside of a transaction, before `bytes` are written in one: makes room in the file by pruning,
 * and in the log by a checkpoint. store_incident() calls it with STORE_INCIDENT_BYTES. -EAGAIN: a
 * reader holds the log, which may not grow further; -EFBIG: nothing is left that could be pruned.
 */
int store_room(struct store_writer *writer, uint64_t bytes, bool is_series);

/* Sets the boot row's clock to what it is now, if that moved. */
int store_clock(struct store_writer *writer, int64_t wall_minus_boot_ns);
/* Kills and refusals before this time go (store_kill.c); a transaction of its own, if there are
 * any. */
int store_kills_forget(struct store_writer *writer, int64_t horizon_ns);
/* In a transaction. */
int store_gap_insert(struct store_writer *writer, const struct store_gap *gap);

#endif /* OOMSNOOP_SINK_STORE_PARTS_H */
