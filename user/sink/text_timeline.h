/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_timeline.h: the minutes around a kill, for a terminal: what was in use at a dozen moments,
 * the nearer to the kill the closer together, who held it, and what happened in between.
 */
#ifndef OOMSNOOP_SINK_TEXT_TIMELINE_H
#define OOMSNOOP_SINK_TEXT_TIMELINE_H

#include <stddef.h>

#include "model/chart.h"
#include "model/store.h"
#include "sink/sink.h"

struct timeline {
	const struct incident *incident;
	const struct judgement *judgement;
	const struct chart *chart; /* NULL: no series; then the picture in the incident serves */
	const struct store_gap *gaps; /* CLOCK_REALTIME; those outside of the window are left out */
	size_t gap_count;
};

/* 0 or -ENOSPC: buf is then as it was before. Nothing is written where nothing is known. */
int text_timeline(
	struct buf *buf, const struct sink_context *context, const struct timeline *timeline);

#endif /* OOMSNOOP_SINK_TEXT_TIMELINE_H */
