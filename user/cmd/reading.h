/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reading.h: what list, report and export share: a store opened, the incidents asked for one after
 * the other, loaded and judged as they would be live, what could not be read told on stderr, and
 * the exit status that all of it comes to. Needs neither root nor BPF, nor the right to write.
 */
#ifndef OOMSNOOP_CMD_READING_H
#define OOMSNOOP_CMD_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/select.h"
#include "judge/judgement.h"
#include "model/capture.h"
#include "model/store.h"
#include "sink/sink.h"

#define READING_OOM 3 /* --fail-on-oom: there was a kill */

struct reading {
	const char *command; /* "list", for messages */
	const char *path;
	struct selection selection;
	bool asked; /* for certain incidents, not for all */
	struct store *store;
	struct sink_context context; /* of the incident in hand; colour and width are the caller's
				      */
	struct captured *captured; /* the incident in hand */
	struct judgement *judgement;
	bool progress; /* tell on stderr how far it is */
	int64_t began_ns, told_ns; /* CLOCK_MONOTONIC */

	int64_t *ids; /* of all in the time span, oldest first */
	size_t count, room;
	size_t first; /* of the last ones that were asked for; 0 where all are */

	uint64_t shown, unreadable;
	bool broken; /* the store could not be read to its end */
	int output_error; /* -errno of the first write that failed */
};

/* Opens the store and finds the incidents of the time span. 0, or the exit status after a message
 * on stderr. reading_close() in any case. */
int reading_open(struct reading *reading, const char *command, const char *path,
	const struct selection *selection);
void reading_close(struct reading *reading);

/* The incidents that were asked for, oldest first: fn is called with each in hand, until it returns
 * non-zero: -errno of its output. */
void reading_each(
	struct reading *reading, int (*fn)(struct reading *reading, void *arg), void *arg);

/* Does the test hold for one of those that were asked for? The newest are looked at first. */
bool reading_any(struct reading *reading, bool (*test)(const struct reading *reading));

/* Loads and judges one, whatever was asked for. False: it cannot be read, or is gone by now; with
 * `say`, what is damaged or why not is told on stderr. */
bool reading_load(struct reading *reading, int64_t id, bool say);

/* What it all comes to, after a message where there is something to say. */
int reading_status(const struct reading *reading);

/* "oomsnoop: list: ..." */
void reading_say(const struct reading *reading, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* On a terminal, once it takes more than a second: what, and how many so far (of `all`; 0: not
 * known). reading_progress_end() wipes it. */
void reading_progress(struct reading *reading, const char *what, uint64_t count, uint64_t all);
void reading_progress_end(struct reading *reading);

#endif /* OOMSNOOP_CMD_READING_H */
