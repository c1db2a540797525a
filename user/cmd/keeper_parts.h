/* SPDX-License-Identifier: Apache-2.0 */
/* keeper_parts.h: private to cmd/keeper*.c. keeper.c is the loop's side and opens and closes,
 * keeper_thread.c the side that writes. */
#ifndef OOMSNOOP_CMD_KEEPER_PARTS_H
#define OOMSNOOP_CMD_KEEPER_PARTS_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "cmd/keeper.h"
#include "cmd/keeper_queue.h"

#define KEEPER_SECOND_NS 1000000000ULL

/* What a batch holds that is not committed yet. */
struct keeper_batch {
	bool open; /* store_batch_begin() was called */
	uint64_t points, gaps;
	struct store_gap skipped; /* series passed over */
};

struct keeper {
	/* set by keeper_open() */
	char path[PATH_MAX];
	char shown[2 * PATH_MAX]; /* the path, harmless */
	struct store_limits limits;
	bool series_all, quiet;
	uint64_t window_ns;
	int wake_fd;
	void *memory; /* of the queue */
	size_t memory_bytes;
	void *stack;

	/* between the two */
	struct queue queue;
	_Atomic int error; /* -errno of the last try to write; 0: it went well */
	_Atomic unsigned int renewed; /* how often a new file was begun */
	_Atomic uint64_t stored_incidents, stored_points, stored_kills, stored_refusals;
	_Atomic uint64_t bytes;
	/* set by keeper_close() before `closing` */
	_Atomic bool closing;
	char why[CAPTURE_NAME];
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */

	/* the loop's; the thread's once it is closing */
	struct store_gap lost; /* found no room, and was not told yet */
	uint64_t queued_incidents, queued_points, refused_incidents, refused_points;
	uint64_t told_kills, told_refusals; /* queued, or refused */
	uint64_t next_thinned_ns, again_ns;
	int64_t wall_minus_boot_ns;
	unsigned int renewed_seen;
	bool again; /* points that were told may be missing in the store */

	/* the thread's */
	pthread_t thread;
	bool started;
	bool finished;
	struct store_writer *writer;
	struct capture_run run;
	struct keeper_batch batch;
	struct store_gap skipped; /* committed to be skipped, and not told yet */
	bool no_series; /* incidents alone are stored now */
	bool skip; /* the owner in hand is passed over */
	bool full; /* a reader holds the log: no series */
	bool more; /* store_keep() has more to do */
	bool ended; /* the end of the run is written */
	/* CLOCK_MONOTONIC of the last turn, of the last keeping, and when `full` was said */
	uint64_t turn_ns, kept_ns, full_said_ns;
	struct queue_item item;
};

/* Opens the store where it is not open, and begins the run. */
int keeper_ensure(struct keeper *keeper);
const char *keeper_why(const struct keeper *keeper);
/* The thread's life, until it is told to close. */
void *keeper_main(void *keeper);

void keeper_gap_add(
	struct store_gap *gap, uint64_t incidents, uint64_t points, int64_t from_ns, int64_t to_ns);

#endif /* OOMSNOOP_CMD_KEEPER_PARTS_H */
