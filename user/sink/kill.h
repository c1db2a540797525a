/* SPDX-License-Identifier: Apache-2.0 */
/* kill.h: who killed, where it was not the OOM killer, as sinks tell it. */
#ifndef OOMSNOOP_SINK_KILL_H
#define OOMSNOOP_SINK_KILL_H

#include "judge/kills.h"
#include "sink/sink.h"

/* A line of NDJSON, with its newline. 0 or -ENOSPC: buf is then as it was before. */
int json_kill(struct buf *buf, const struct sink_context *context, const struct killing *killing,
	const struct kill_judgement *judgement);

/* The text view. 0 or -ENOSPC. */
int text_kill(struct buf *buf, const struct sink_context *context, const struct killing *killing,
	const struct kill_judgement *judgement);

#endif /* OOMSNOOP_SINK_KILL_H */
