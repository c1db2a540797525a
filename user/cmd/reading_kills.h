/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reading_kills.h: kills that were not the OOM killer's, for list, report and export: told in the
 * order of time between the incidents. Not told: where one incident was asked for by its number, or
 * a scope, which they have none of.
 */
#ifndef OOMSNOOP_CMD_READING_KILLS_H
#define OOMSNOOP_CMD_READING_KILLS_H

#include "cmd/reading.h"
#include "judge/kills.h"
#include "model/killing.h"

struct reading_kills {
	struct reading *reading;
	struct store_line *lines; /* oldest first */
	size_t count, room, next;
	struct captured *captured; /* run and moment of the one in hand */
	struct killing killing;
	struct kill_judgement judgement;
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
/* Those are not told. */
void reading_kills_skip(struct reading_kills *kills, int64_t time_ns);

#endif /* OOMSNOOP_CMD_READING_KILLS_H */
