/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.h: what must be kept beside an incident to judge and show it again later, elsewhere: the
 * facts of the run that saw it, and of the moment at which it was told. Plain data. With these and
 * struct incident, live and reported text are the same bytes.
 */
#ifndef OOMSNOOP_MODEL_CAPTURE_H
#define OOMSNOOP_MODEL_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "facts/host.h"
#include "model/coverage.h"
#include "model/incident.h"

#define CAPTURE_HOOKS 24
#define CAPTURE_NAME 64

struct capture_hook {
	char purpose[CAPTURE_NAME];
	char hook[96]; /* "fentry oom_kill_process"; empty: none could be attached */
};

/* One run of a tracer. Times are CLOCK_REALTIME. */
struct capture_run {
	int64_t id; /* in the store; 0: not stored yet */
	struct host_facts host;
	char version[CAPTURE_NAME]; /* of oomsnoop */
	char tier[16]; /* "full" | "tracepoint" */
	unsigned int hook_count;
	struct capture_hook hooks[CAPTURE_HOOKS];
	/* the recorder; interval 0: there was none */
	uint64_t recorder_interval_ns, recorder_window_ns, recorder_history_ns;
	char recorder_source[16]; /* "iterator" | "proc" */
	char recorder_faults[16]; /* "auto" | "always" | "never" */
	int64_t began_ns;
	int64_t ended_ns; /* INT64_MIN: it goes on, or ended without a word */
	char ended_why[CAPTURE_NAME]; /* "signal", …; empty: without a word */
};

/* What holds for one incident only. */
struct capture_moment {
	int64_t wall_minus_boot_ns; /* CLOCK_REALTIME less CLOCK_BOOTTIME when it was told */
	uint64_t lost_events; /* of the whole run, by then */
	struct coverage coverage;
};

/* An incident as it comes out of a store. `damaged`: a part of it could not be read, or does not
 * match its checksum; what is there is in `incident`. */
struct captured {
	int64_t id; /* in the store: 1, 2, … in the order of storing */
	bool damaged;
	char damage[128]; /* what, for stderr */
	struct capture_run run;
	struct capture_moment moment;
	struct incident incident;
	char faults_why[160]; /* moment.coverage.faults_why points here, or is NULL: not to be
				 copied apart from it */
};

#endif /* OOMSNOOP_MODEL_CAPTURE_H */
