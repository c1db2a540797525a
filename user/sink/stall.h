/* SPDX-License-Identifier: Apache-2.0 */
/* stall.h: a standstill at memory.high, as sinks tell it: when it has begun, and when it is over.
 */
#ifndef OOMSNOOP_SINK_STALL_H
#define OOMSNOOP_SINK_STALL_H

#include "judge/stalls.h"
#include "sink/sink.h"

/* A line of NDJSON or of text, with its newline, told at boot_ns. 0 or -ENOSPC: buf is then as it
 * was before. */
int json_stall(struct buf *buf, const struct sink_context *context, uint64_t boot_ns,
	const struct stall_scene *scene, const struct verdict *verdict);
int text_stall(struct buf *buf, const struct sink_context *context, uint64_t boot_ns,
	const struct stall_scene *scene, const struct verdict *verdict);

#endif /* OOMSNOOP_SINK_STALL_H */
