/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_list.h: incidents of a store, one line and one sentence each, with the times between them in
 * which nothing was watched.
 */
#ifndef OOMSNOOP_SINK_TEXT_LIST_H
#define OOMSNOOP_SINK_TEXT_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "judge/kills.h"
#include "judge/refusals.h"
#include "model/store.h"
#include "sink/sink.h"

struct list_layout {
	int width; /* columns of a line; 0: as long as it takes */
	unsigned int number_columns; /* of the longest number */
	bool color;
};

struct list_entry {
	int64_t id; /* in the store */
	bool damaged;
	const struct sink_context *context;
	const struct incident *incident;
	const struct judgement *judgement;
};

/* What the first victim held in RAM and swap; UNKNOWN_U64: nobody died, or it was not read. */
uint64_t list_held_bytes(const struct list_entry *entry);

/* Each a whole line, of an incident or a kill with its summary: behind it, or with a bound on a
 * second line. 0 or -ENOSPC: buf is then as it was before. */
int text_list_header(struct buf *buf, const struct list_layout *layout);
int text_list_entry(
	struct buf *buf, const struct list_layout *layout, const struct list_entry *entry);

/* A kill that was not the OOM killer's: no number, and the first target's memory and the fullest
 * limit of its chain. */
int text_list_kill(struct buf *buf, const struct list_layout *layout,
	const struct sink_context *context, const struct killing *killing,
	const struct kill_judgement *judgement);

/* What was asked for and not given: the process's memory, and the limit if it is one of bytes. */
int text_list_refusal(struct buf *buf, const struct list_layout *layout,
	const struct sink_context *context, const struct refusal *refusal,
	const struct refusal_judgement *judgement);

/* Gaps of one kind that no incident lies between. */
struct list_gaps {
	unsigned int count;
	int64_t from_ns, to_ns; /* CLOCK_REALTIME, from the first to the last */
	uint64_t length_ns; /* of all */
	uint64_t incidents; /* lost in them; UNKNOWN_U64 */
};

/* One more: they become one line. */
void list_gaps_add(struct list_gaps *gaps, const struct store_gap *gap);
/* Does it leave incidents out? Where only series have a gap, a list has none. */
bool list_gap_matters(const struct store_gap *gap);
int text_list_gaps(struct buf *buf, const struct list_layout *layout, enum store_gap_why why,
	const struct list_gaps *gaps);

#endif /* OOMSNOOP_SINK_TEXT_LIST_H */
