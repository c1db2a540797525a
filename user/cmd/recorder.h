/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder.h: the flight recorder's clock: when all processes are looked at, when page faults are
 * counted, and what becomes of both.
 *
 * A pass runs once every options->census_ns. Where a limit fills, passes come faster, up to twenty
 * times a second but never so often that they take more than RECORDER_SHARE of a CPU; where nothing
 * moves they come at half the pace. Nothing allocates after recorder_open().
 */
#ifndef OOMSNOOP_CMD_RECORDER_H
#define OOMSNOOP_CMD_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/learn.h"
#include "cmd/need.h"
#include "cmd/options.h"
#include "facts/host.h"
#include "model/growth.h"
#include "model/incident.h"
#include "source/loader.h"

#define RECORDER_SHARE 33 /* a pass of 1 ms is followed by at least 33 ms without one */

enum recorder_source {
	RECORDER_NONE = 0, /* left out on request */
	RECORDER_ITERATOR = 1,
	RECORDER_PROC = 2, /* the kernel has no task iterator: /proc is read */
};

struct recorder {
	const struct live_options *options;
	struct names *names;
	struct tracer *tracer;
	struct growth *growth;
	uint32_t page_size;
	enum recorder_source source;
	bool can_arm; /* a hook on page faults serves */
	bool armed;
	int arm_error; /* -errno of the last try to arm; 0: none failed */
	uint64_t armed_until_ns;
	uint64_t next_ns; /* when the next pass is due */
	uint64_t interval_ns; /* until the one after it */
	uint64_t last_ns; /* time that the last pass was stamped with */
	unsigned int quiet; /* passes since anything moved */
	uint64_t passes, passes_failed, arm_count;
	uint64_t spent_ns; /* on the CPU, in all passes */
	uint64_t last_spent_ns;
};

/* 0 or -ENOMEM. The first pass comes with the first tick. */
int recorder_open(struct recorder *recorder, const struct live_options *options,
	const struct host_facts *host, const struct hooks *hooks, struct tracer *tracer,
	struct names *names, const struct table_sizes *sizes);
void recorder_close(struct recorder *recorder);

/* Runs a pass if one is due; true: one was. */
bool recorder_tick(struct recorder *recorder, uint64_t now_ns);
uint64_t recorder_deadline(const struct recorder *recorder);

/* A record of the ring. */
void recorder_fact(struct recorder *recorder, const struct fact *fact);

/*
 * The picture that goes with an incident, whose limit is the cgroup domain_id (0: the machine). A
 * pass is run for it where the kill is no older than a moment, stamped with the time of the kill.
 */
void recorder_incident(struct recorder *recorder, struct incident *incident,
	struct cgroups *cgroups, uint64_t domain_id, uint64_t now_ns);

#endif /* OOMSNOOP_CMD_RECORDER_H */
