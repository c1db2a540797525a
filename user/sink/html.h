/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html.h: the report page of one incident, and its chart alone. One file that asks for nothing: no
 * network, a Content-Security-Policy that permits what is embedded by its hash and nothing else.
 * All that is told stands in it as text, tables and a static SVG; scripts only add zoom, hover and
 * sorting.
 */
#ifndef OOMSNOOP_SINK_HTML_H
#define OOMSNOOP_SINK_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "judge/judgement.h"
#include "model/capture.h"
#include "model/chart.h"
#include "model/store.h"
#include "sink/sink.h"

#define HTML_TIME_UNKNOWN INT64_MIN /* a log need not tell it */

/* Another incident of the same store, for the list at the end. */
struct html_neighbour {
	int64_t id;
	int64_t time_ns; /* CLOCK_REALTIME; HTML_TIME_UNKNOWN */
	char claim[VERDICT_TEXT]; /* arbitrary bytes still */
};

/* A kill that was not the OOM killer's, around this incident. */
struct html_kill {
	int64_t time_ns; /* CLOCK_REALTIME of the first signal */
	bool near; /* in the cgroup of this limit, or after this kill */
	struct verdict verdict; /* the first */
};

struct html_page {
	const struct sink_context *context;
	int64_t id; /* of the incident in its store; 0: none */
	const struct incident *incident;
	const struct judgement *judgement;
	const struct chart *chart; /* NULL: no series; what the incident itself has is drawn */
	const struct html_neighbour *neighbours;
	size_t neighbour_count;
	size_t neighbour_total; /* in the store, this one left out */
	const struct html_kill *kills; /* by time */
	size_t kill_count;
	size_t kill_total; /* in the window */
	const struct store_gap *gaps; /* within the window */
	size_t gap_count;
	const char *damage; /* NULL: all could be read */
};

/* Hands the page to write() piece by piece, until it returns non-zero, which is then returned; 0,
 * -ENOMEM, or -ENOSPC: the record is larger than any may be. A page in parts must be thrown away.
 */
int html_page(const struct html_page *page, int (*write)(const char *data, size_t len, void *arg),
	void *arg);

/* The chart alone, as an SVG file. Without series (chart NULL) the points that the incident itself
 * has are drawn; -ENODATA: it has none either. */
int svg_file(const struct sink_context *context, const struct incident *incident,
	const struct judgement *judgement, const struct chart *chart,
	int (*write)(const char *data, size_t len, void *arg), void *arg);

/* Is the zoomable chart in this build? */
bool html_has_plot(void);

#endif /* OOMSNOOP_SINK_HTML_H */
