/* SPDX-License-Identifier: Apache-2.0 */
/* run.h: how a command ended, as sinks tell it. */
#ifndef OOMSNOOP_SINK_RUN_H
#define OOMSNOOP_SINK_RUN_H

#include "judge/run.h"
#include "sink/sink.h"

#define SINK_RUN_MAX (96U << 10) /* every byte of every name escaped */

/* A line of NDJSON, with its newline; ended_ns CLOCK_BOOTTIME. 0 or -ENOSPC: buf is then as it was
 * before. */
int json_run(struct buf *buf, const struct sink_context *context, const struct run_facts *facts,
	const struct run_judgement *judgement, uint64_t ended_ns);

/* The text view. 0 or -ENOSPC. */
int text_run(struct buf *buf, const struct sink_context *context, const struct run_facts *facts,
	const struct run_judgement *judgement);

#endif /* OOMSNOOP_SINK_RUN_H */
