/* SPDX-License-Identifier: Apache-2.0 */
/* refusal.h: memory and processes that were asked for and not given, as sinks tell it. */
#ifndef OOMSNOOP_SINK_REFUSAL_H
#define OOMSNOOP_SINK_REFUSAL_H

#include "judge/refusals.h"
#include "sink/sink.h"

/* A line of NDJSON, with its newline. 0 or -ENOSPC: buf is then as it was before. */
int json_refusal(struct buf *buf, const struct sink_context *context, const struct refusal *refusal,
	const struct refusal_judgement *judgement);

/* The text view. 0 or -ENOSPC. */
int text_refusal(struct buf *buf, const struct sink_context *context, const struct refusal *refusal,
	const struct refusal_judgement *judgement);

#endif /* OOMSNOOP_SINK_REFUSAL_H */
