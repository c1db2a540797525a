/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg_parts.h: what a chart is drawn from: the series, and what is marked in them. The page draws
 * it inline and hands the same scene to its script; svg_file() makes a file of it.
 */
#ifndef OOMSNOOP_SINK_SVG_PARTS_H
#define OOMSNOOP_SINK_SVG_PARTS_H

#include "model/chart.h"
#include "model/picture.h"
#include "model/store.h"
#include "sink/html_out.h"
#include "sink/sink.h"

#define SVG_GAPS 32

struct svg_span {
	int64_t from_ns, to_ns; /* CLOCK_BOOTTIME */
};

struct svg_scene {
	const struct chart *chart;
	unsigned int armed_count, gap_count;
	struct svg_span armed[PICTURE_ARMED]; /* page faults were counted */
	struct svg_span gaps[SVG_GAPS]; /* nothing was recorded */
	/* where there are no series: the points that every incident has */
	struct chart own;
	int64_t own_times_ns[PICTURE_POINTS], own_usage_bytes[PICTURE_POINTS];
};

/* False: there is nothing to draw. `scene` must not be moved afterwards. */
bool svg_scene_of(struct svg_scene *scene, const struct sink_context *context,
	const struct incident *incident, const struct chart *chart, const struct store_gap *gaps,
	size_t gap_count);

/* The drawing inside a page; 0 or -ENOMEM. */
int svg_draw(struct html_out *out, const struct svg_scene *scene);

/* Of a layer: "v" for a victim's family, "r" for the rest, else its number among the others. */
void svg_layer_class(const struct chart *chart, unsigned int layer, char ret[4]);

/* One sentence: what a chart shows, for those who do not see it. */
void svg_describe(struct html_out *out, const struct chart *chart);

/* The last instant that is not after the kill. */
unsigned int svg_kill_index(const struct chart *chart);
/* A layer's name: of its root and how many processes, "all others" for the rest. */
void svg_layer_name(struct html_out *out, const struct chart_layer *layer);

#endif /* OOMSNOOP_SINK_SVG_PARTS_H */
