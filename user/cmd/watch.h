/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h: the live trace once all is open: the loop, and what is done with each incident. Nothing
 * here allocates.
 */
#ifndef OOMSNOOP_CMD_WATCH_H
#define OOMSNOOP_CMD_WATCH_H

#include "cmd/keeper.h"
#include "cmd/learn.h"
#include "cmd/need.h"
#include "cmd/options.h"
#include "cmd/recorder.h"
#include "cmd/stream.h"
#include "cmd/telling.h"
#include "judge/judgement.h"
#include "judge/kills.h"
#include "judge/refusals.h"
#include "model/capture.h"
#include "model/incidents.h"
#include "model/joined.h"
#include "model/killing.h"
#include "model/refusing.h"
#include "model/stalling.h"
#include "sink/sink.h"
#include "source/hooks.h"
#include "source/loader.h"

struct watch {
	const struct live_options *options;
	struct telling telling;
	struct host_facts host;
	struct hooks hooks;
	struct coverage coverage;
	struct capture_run run; /* what sinks and a store are told of this run */
	struct keeper *keeper; /* the store beside it; NULL: none */
	struct names names;
	struct tracer *tracer;
	struct incidents *incidents;
	struct killings *killings; /* NULL: no hook, or not wanted */
	struct refusals *refusals; /* likewise */
	struct recorder recorder;
	struct stream stream;
	struct stalling stalling;
	uint64_t stalls_looked_ns;
	bool stalls_full_told;
	int kmsg_fd; /* below 0: not readable, and why */
	struct joiner *joiner; /* reports out of it; NULL where it is not readable */
	bool kmsg_armed; /* woken by it */
	int timer_fd;
	struct table_sizes sizes;
	uint64_t ends_ns; /* CLOCK_BOOTTIME; UINT64_MAX: no end */
	uint64_t kmsg_lost;
	uint64_t lost_told; /* lost records that a record of an incident has told of */
	uint64_t leaves_ns; /* whoever is followed has ended: no later than this. UINT64_MAX: not
			       yet */
	struct judgement judgement; /* of the incident in hand */
	struct kill_judgement kill_judgement; /* of the kill in hand */
	struct refusal_judgement refusal_judgement; /* of the refusal in hand */
};

/* Fills coverage, the run and the sink's view of it from watch->hooks. */
void watch_describe(struct watch *watch);

/* Opens signals, timer and epoll. 0 or -errno. */
int watch_open(struct watch *watch);
void watch_close(struct watch *watch);

/* A joined_fn: `arg` is a struct watch. */
void watch_report(void *arg, const struct joined_report *report);

/* Takes what is in the ring, without waiting. */
void watch_drain(struct watch *watch);

/* Until a signal, the end of time, the last incident that was asked for, or a broken output. 0 or
 * -errno. */
int watch_run(struct watch *watch);

/* Ends: drains, tells what is still open, and the stop line. */
void watch_finish(struct watch *watch);

#endif /* OOMSNOOP_CMD_WATCH_H */
