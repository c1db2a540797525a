/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper.h: what `record` does beside the live trace: a queue, and the thread that empties it into
 * the store.
 *
 * keeper_pass() and keeper_incident() are called by the loop: they never wait for the disk and
 * never allocate. What finds no room in the queue is counted, and a gap is told in the store once
 * it can be written again. Series may use half of the queue; the rest is for incidents. Everything
 * is taken by keeper_open().
 *
 * The thread commits batches once a second and an incident at once; when that is durable, with the
 * series of its window, it announces it on stderr (unless quiet): "stored incident 12: KILLED ...".
 * The store is told what the loop judged: the judge is not asked by two threads.
 *
 * When the disk fails: what is queued stays there and is tried again every second; it is said once
 * on stderr, and once when it works again. When the file was removed or replaced, a new one is
 * begun at its path, and said. A line that stderr does not take at once is left out.
 */
#ifndef OOMSNOOP_CMD_KEEPER_H
#define OOMSNOOP_CMD_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/learn.h"
#include "judge/judgement.h"
#include "model/capture.h"
#include "model/growth.h"
#include "model/killing.h"
#include "model/refusing.h"
#include "sink/store.h"

struct keeper_options {
	const char *path;
	struct store_limits limits;
	bool series_all; /* the thinned series, too; not only windows of incidents */
	bool quiet;
	uint64_t queue_bytes; /* 0: 16 MiB; rounded up to a power of two */
};

struct keeper;

/* Opens the store and begins the run. NULL: *ret_status (sysexits) says what to end with; a message
 * was written. */
struct keeper *keeper_open(
	const struct keeper_options *options, const struct capture_run *run, int *ret_status);
/* Starts the thread: with the rights, and without the priority, that the caller has by then. 0 or
 * -errno. */
int keeper_start(struct keeper *keeper);

/* After a pass of the recorder: the thinned series, every few seconds. growth NULL: none are kept.
 */
void keeper_pass(
	struct keeper *keeper, struct growth *growth, const struct names *names, uint64_t now_ns);
/* An incident that is over, as it was judged, with the series of its window (growth NULL: none). */
void keeper_incident(struct keeper *keeper, const struct incident *incident,
	const struct judgement *judgement, const struct capture_moment *moment,
	struct growth *growth, const struct names *names);

/* A kill that was not the OOM killer's; `told` but for its run. */
void keeper_kill(
	struct keeper *keeper, const struct killing *killing, const struct store_kill_told *told);
/* The same of what was refused. */
void keeper_refusal(
	struct keeper *keeper, const struct refusal *refusal, const struct store_kill_told *told);

struct keeper_totals {
	uint64_t refusals_lost; /* counted only */
	uint64_t kills, kills_lost; /* that were not the OOM killer's: stored; counted only */
	uint64_t incidents, incidents_lost; /* stored; counted only */
	uint64_t points, points_lost;
	uint64_t bytes; /* of the file and its log */
	int error; /* -errno that still stands; 0: none */
};

/* Writes what is queued, for at most grace_ns, ends the run in the store and the thread. The keeper
 * is gone. */
void keeper_close(
	struct keeper *keeper, const char *why, uint64_t grace_ns, struct keeper_totals *ret);

#endif /* OOMSNOOP_CMD_KEEPER_H */
