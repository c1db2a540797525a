/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reading_kills.h: kills that were not the OOM killer's, and what was refused, for list, report and
 * export: told in the order of time between the incidents. Not told: where one incident was asked
 * for by its number, or a scope, which they have none of.
 */
#ifndef OOMSNOOP_CMD_READING_KILLS_H
#define OOMSNOOP_CMD_READING_KILLS_H

#include "cmd/reading.h"
#include "judge/kills.h"
#include "judge/refusals.h"
#include "model/killing.h"

struct reading_note {
	int64_t id, time_ns;
	bool refused; /* a refusal, not a kill */
};

struct reading_kills {
	struct reading *reading;
	struct reading_note *notes; /* oldest first */
	bool listing_refusals; /* while they are listed */
	size_t count, room, next;
	struct captured *captured; /* run and moment of the one in hand */
	bool refused; /* the one in hand is a refusal, not a kill */
	struct killing killing;
	struct kill_judgement judgement;
	struct refusal refusal;
	struct refusal_judgement refusal_judgement;
	struct sink_context context; /* colour and width are those of `reading` */
	bool no_memory;
	uint64_t shown;
};

/* After reading_open(). What cannot be read is said, and 0 returned all the same; or -ENOMEM. */
int reading_kills_open(struct reading_kills *kills, struct reading *reading);
void reading_kills_close(struct reading_kills *kills);

/* Those before this time (CLOCK_REALTIME) that were not told yet and match: fn is called with each
 * in hand, until it returns non-zero, which is returned. */
int reading_kills_until(struct reading_kills *kills, int64_t time_ns,
	int (*fn)(struct reading_kills *kills, void *arg), void *arg);
/* The one in hand as a record, as text. 0 or -ENOSPC. */
int reading_kills_json(const struct reading_kills *kills, struct buf *buf);
int reading_kills_text(const struct reading_kills *kills, struct buf *buf);
/* Those are not told. */
void reading_kills_skip(struct reading_kills *kills, int64_t time_ns);

#endif /* OOMSNOOP_CMD_READING_KILLS_H */
