/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_queue.h: what the loop hands to the thread that writes the store: series, gaps and
 * incidents, packed into a ring of bytes. One producer, one consumer; nobody waits, nothing
 * allocates.
 *
 * Points are packed as differences to the one before: some 8 bytes each. Their times are kept to
 * the microsecond, rounded down. An incident is packed without its empty parts, which are most of
 * it. It stays within this process: pointers to constants in it stay valid.
 */
#ifndef OOMSNOOP_CMD_KEEPER_QUEUE_H
#define OOMSNOOP_CMD_KEEPER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ringbuf.h"
#include "judge/judgement.h"
#include "model/capture.h"
#include "model/history.h"
#include "model/killing.h"
#include "model/refusing.h"
#include "model/store.h"
#include "model/store_fields.h"

#define QUEUE_CMDLINE 256 /* of a process in a series: what is longer is cut */

enum queue_kind {
	QUEUE_EMPTY = 0,
	QUEUE_OWNER = 1,
	QUEUE_POINT = 2, /* of the owner that came last */
	QUEUE_GAP = 3,
	QUEUE_INCIDENT = 4,
	QUEUE_KILL = 5,
	QUEUE_REFUSAL = 6,
};

struct queue {
	struct ringbuf ring;
	struct history_point put_last, got_last; /* of the owner in hand, times in µs */
};

/* bytes: a power of two; at least QUEUE_MIN_BYTES. */
void queue_init(struct queue *queue, void *memory, size_t bytes);
#define QUEUE_MIN_BYTES (2U << 20)

/* --- the producer. False: no room for it, and nothing was put. --- */

/* Publishes what was put before: a series comes to the consumer whole, or as far as there was room.
 */
bool queue_owner(struct queue *queue, const struct history_owner *owner, const char *path,
	const char *cmdline);
bool queue_point(struct queue *queue, const struct history_point *point);
/* The following are published at once, with all before them. */
bool queue_gap(struct queue *queue, const struct store_gap *gap);
bool queue_incident(struct queue *queue, const struct incident *incident,
	const struct judgement *judgement, const struct capture_moment *moment);
bool queue_kill(
	struct queue *queue, const struct killing *killing, const struct store_kill_told *told);
bool queue_refusal(
	struct queue *queue, const struct refusal *refusal, const struct store_kill_told *told);
void queue_publish(struct queue *queue);
/* More than a quarter is in use: better not wait until the next batch is due. */
bool queue_fills(const struct queue *queue);

/* --- the consumer --- */

struct queue_item {
	enum queue_kind kind;
	uint64_t at, end; /* where it lies */
	struct history_owner owner;
	char path[CGROUP_PATH_LEN];
	char cmdline[QUEUE_CMDLINE + 1];
	struct history_point point;
	struct store_gap gap;
	struct incident incident;
	struct judgement judgement;
	struct capture_moment moment;
	struct killing killing;
	struct refusal refusal;
	struct store_kill_told told;
};

/* The next one, whose kind is returned: only that part of *ret is filled. */
enum queue_kind queue_next(struct queue *queue, struct queue_item *ret);
/* What lies before `at` is done with: where an item begins or ends. Points cannot begin what comes
 * next: their owner must. */
void queue_release(struct queue *queue, uint64_t at);
/* Begins again with the first item that was not released. */
void queue_rewind(struct queue *queue);

#endif /* OOMSNOOP_CMD_KEEPER_QUEUE_H */
