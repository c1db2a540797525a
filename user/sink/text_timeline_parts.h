/* SPDX-License-Identifier: Apache-2.0 */
/* text_timeline_parts.h: private to text_timeline*.c: the window of a timeline, and its events. */
#ifndef OOMSNOOP_SINK_TEXT_TIMELINE_PARTS_H
#define OOMSNOOP_SINK_TEXT_TIMELINE_PARTS_H

#include "sink/text_parts.h"
#include "sink/text_timeline.h"

#define TIMELINE_SECOND_NS 1000000000ULL
#define TIMELINE_ROWS 12
#define TIMELINE_EVENTS 32
#define TIMELINE_WHEN                                                                              \
	9 /* columns; "-3 min 20 s" would be 11, so seconds are left out from there on */

struct timeline_row {
	uint64_t time_ns;
	int64_t used; /* CHART_UNKNOWN */
	int instant; /* of the chart; -1: only the usage is known */
};

struct timeline_event {
	uint64_t time_ns;
	const char *color; /* NULL: none */
	char text[224]; /* glued where no line may end */
};

struct timeline_view {
	struct text_view text;
	const struct timeline *timeline;
	uint64_t kill_ns, from_ns, to_ns;
	uint64_t limit_bytes; /* UNKNOWN_U64: none */
	struct timeline_row rows[TIMELINE_ROWS];
	unsigned int row_count;
	unsigned int families; /* columns */
	unsigned int bar; /* its columns */
	struct timeline_event events[TIMELINE_EVENTS];
	unsigned int event_count, events_left_out;
};

/* Is the usage of the limit known at any moment? */
bool timeline_chart_usage(const struct chart *chart);
bool timeline_picture_usage(const struct growth_picture *picture);

/* "-45 s", "-0.5 s", "-110 s", "-20 min", "+182 ms", "kill" */
void timeline_when(struct buf *text, const struct timeline_view *view, uint64_t time_ns);
void timeline_right(struct flow *flow, const char *text, size_t columns);

/* What happened, a line each. */
void timeline_events(struct timeline_view *view);

#endif /* OOMSNOOP_SINK_TEXT_TIMELINE_PARTS_H */
