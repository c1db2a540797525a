/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink.h: what every sink is given. A sink only formats: no file is read, no clock asked, nothing
 * is judged here.
 */
#ifndef OOMSNOOP_SINK_SINK_H
#define OOMSNOOP_SINK_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "facts/host.h"
#include "judge/judgement.h"
#include "model/capture.h"
#include "model/growth.h"
#include "model/incident.h"

#define SINK_HOOKS 24

/* Room that no record exceeds: every table full, every byte of every name escaped. */
#define SINK_JSON_MAX (2U << 20)
#define SINK_TEXT_MAX (128U << 10)

struct sink_hook {
	const char *purpose; /* "kill", "victim", "candidates", … */
	const char *hook; /* "fentry oom_kill_process"; NULL: none could be attached */
};

/* What a sink needs to know of the tracer and its clocks. */
struct sink_context {
	const struct host_facts *host;
	int64_t wall_minus_boot_ns; /* add to a CLOCK_BOOTTIME stamp for CLOCK_REALTIME */
	const char *tier; /* "full" | "tracepoint" */
	unsigned int hook_count;
	struct sink_hook hooks[SINK_HOOKS];
	uint64_t lost_events; /* of the whole run so far */
	bool color;
	int width; /* columns of the text view */
	/* of the recorder; interval 0: there is none */
	uint64_t recorder_interval_ns, recorder_window_ns, recorder_history_ns;
	const char *recorder_source; /* "iterator" | "proc" */
	const char *recorder_faults; /* "auto" | "always" | "never" */
};

/* What a sink needs, out of what a store keeps; points into `run`, which must outlive it. Colour
 * and width stay as they are. */
void sink_context_of(struct sink_context *context, const struct capture_run *run,
	const struct capture_moment *moment);

struct buf;

/* The record as one NDJSON line, with its newline. 0 or -ENOSPC: buf is then as it was before. */
int json_incident(struct buf *buf, const struct sink_context *context,
	const struct incident *incident, const struct judgement *judgement);

/* The text view. 0 or -ENOSPC. */
int text_incident(struct buf *buf, const struct sink_context *context,
	const struct incident *incident, const struct judgement *judgement);

/*
 * One change of a process or a cgroup (--growth), and a limit that is near (--warn): a line of
 * NDJSON or of text, with its newline. `path` of the cgroup, "" when it is not known. `why`: the
 * threshold that was passed, as it was given ("90%"). `names` of its container; NULL: none are
 * known. 0 or -ENOSPC.
 */
int json_growth(struct buf *buf, const struct sink_context *context,
	const struct growth_change *change, const char *path, const struct container_names *names);
int text_growth(struct buf *buf, const struct sink_context *context,
	const struct growth_change *change, const char *path, const struct container_names *names);
int json_pressure(struct buf *buf, const struct sink_context *context, uint64_t boot_ns,
	const struct growth_pressure *pressure, const char *path,
	const struct container_names *names, const char *why);
int text_pressure(struct buf *buf, const struct sink_context *context, uint64_t boot_ns,
	const struct growth_pressure *pressure, const char *path,
	const struct container_names *names, const char *why);

struct run_totals {
	uint64_t incidents, kills, victims, lost_events, lost_candidates, lost_process_events,
		bad_records, evicted;
	uint64_t missed_hooks; /* the kernel passed over a program that was running already */
	uint64_t kmsg_lost;
	uint64_t other_kills; /* told: records of kills that were not the OOM killer's */
	uint64_t refusals; /* told: records of what was asked for and not given */
	uint64_t lost_refusals; /* calls of those that came too fast */
	uint64_t lost_signals; /* of such kills: too many at once, and told by a count at best */
	bool recorded; /* the following four hold */
	struct growth_totals growth;
	uint64_t lost_samples; /* between passes: the ring was half full */
	uint64_t arm_count; /* how often page faults began to be counted */
	uint64_t passes_failed;
	uint64_t pass_ns; /* mean time of a pass, user space included */
	const char
		*reason; /* why the run ends: "signal", "timeout", "max-events", "output-closed" */
};

int json_start(struct buf *buf, const struct sink_context *context, uint64_t boot_ns);
int json_stop(struct buf *buf, const struct sink_context *context, uint64_t boot_ns,
	const struct run_totals *totals);

#endif /* OOMSNOOP_SINK_SINK_H */
