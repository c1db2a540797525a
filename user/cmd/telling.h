/* SPDX-License-Identifier: Apache-2.0 */
/*
 * telling.h: the side of a live run that people and scripts see, wherever its incidents come from:
 * records on stdout, the probe, the signals that end it, what it counts, and how it ends.
 *
 * Contract
 *   One run at a time: records are formatted in one buffer. What does not fit there is said on
 * stderr and counted as lost. An output that cannot be written to ends the run, unless a store is
 * kept beside it: then only the printing ends. Nothing here allocates.
 */
#ifndef OOMSNOOP_CMD_TELLING_H
#define OOMSNOOP_CMD_TELLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/buf.h"
#include "cmd/options.h"
#include "judge/judgement.h"
#include "model/incident.h"
#include "sink/sink.h"

struct telling {
	const struct live_options *options;
	struct sink_context sink;
	struct run_totals totals;
	bool outlived; /* by a store, when stdout fails */
	bool silent; /* nothing goes to stdout, or nothing more */
	bool left; /* whoever is followed has ended */
	bool ended;
	int output_error; /* -errno of stdout; it ends the run */
	int print_error; /* -errno of stdout, where a store outlives it */
	uint64_t told; /* records written */
	int signal_fd, epoll_fd;
	int probe_fd; /* -1: nobody may ask */
};

/* Opens nothing. */
void telling_init(struct telling *telling, const struct live_options *options);
/* Listens where --probe says. 0, or an exit status, which was said. */
int telling_open_probe(struct telling *telling);
/* The loop's own descriptors: signals, the probe, a reader of stdout that goes away. 0 or -errno.
 */
int telling_open(struct telling *telling);
void telling_close(struct telling *telling);
/* One more of them. 0 or -errno. */
int telling_watch(const struct telling *telling, int fd, uint32_t events);
/* What is true of one of the own; others, and the probe, are the caller's. */
void telling_event(struct telling *telling, const struct epoll_event *event);
void telling_probe(const struct telling *telling, uint64_t lost_events);

/* The first reason counts. */
void telling_end(struct telling *telling, const char *reason);
/* Nobody reads it, or enough was told. */
bool telling_muted(const struct telling *telling);
/* To stdout, unless nothing goes there. 0 or the -errno that ends the run. */
int telling_print(struct telling *telling, const char *data, size_t len);
/* A record: a buffer to format it in, behind what parts it from those told before, NULL where
 * nothing goes to stdout; then what came of the formatting, 0 or -errno. */
struct buf *telling_begin(struct telling *telling);
void telling_commit(struct telling *telling, int error, const char *what, uint32_t number);
void telling_incident(struct telling *telling, const struct incident *incident,
	const struct judgement *judgement);
/* Sets wall_minus_boot_ns of `sink`, which whoever tells a record does before; CLOCK_BOOTTIME. */
uint64_t telling_clock(struct telling *telling);
/* The start line of NDJSON, and READY for whoever waits for it. */
void telling_start(struct telling *telling);
/* The stop line; what of the totals is the caller's is filled in before. */
void telling_stop(struct telling *telling, const char *reason);
/* What an output that failed makes of the exit status; said where it is an error. */
int telling_status(const struct telling *telling);

/* For the person at the terminal; errors are told whatever -q says. */
void telling_remark(const struct telling *telling, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* OOMSNOOP_CMD_TELLING_H */
