// SPDX-License-Identifier: Apache-2.0
/* The chart of the page: the drawing that always stands there, its legend, and its numbers for the
 * script that puts a zoomable one in its place. */
#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "facts/host.h"
#include "sink/html_parts.h"
#include "sink/json.h"
#include "sink/text_flow.h"

#define NUMBER_MAX 20 /* of one number and its comma */
#define NAMES_MAX (8U << 10)

static void legend_item(struct html_view *view, const char *class, int64_t bytes)
{
	html_printf(&view->out, "<li><i class=\"key k%s\"></i><span>", class);
	if (bytes >= 0) {
		html_raw(&view->out, "<b>");
		html_bytes(&view->out, (uint64_t)bytes);
		html_raw(&view->out, "</b> ");
	}
}

static void legend_end(struct html_view *view)
{
	html_raw(&view->out, "</span></li>\n");
}

static void put_legend(struct html_view *view)
{
	const struct svg_scene *scene = &view->scene;
	const struct chart *chart = scene->chart;
	unsigned int kill = svg_kill_index(chart);
	struct html_out *out = &view->out;
	char class[4];

	html_raw(out, "<ul class=\"legend\" aria-label=\"At the kill\">\n");
	if (chart->usage_bytes != NULL) {
		legend_item(view, "usage", chart->usage_bytes[kill]);
		html_raw(out, "in use");
		legend_end(view);
	}
	if (chart->swap_bytes != NULL) {
		legend_item(view, "swap", chart->swap_bytes[kill]);
		html_raw(out, "swap of all its processes");
		legend_end(view);
	}
	for (unsigned int i = 0; i < chart->layer_count; i++) {
		int64_t bytes = chart->layers[i].bytes[kill];

		svg_layer_class(chart, i, class);
		legend_item(view, class, bytes > 0 ? bytes : 0);
		svg_layer_name(out, &chart->layers[i]);
		html_raw(out, chart->layers[i].has_victim ? ", the victim's" : "");
		legend_end(view);
	}
	html_raw(out, "</ul>\n");
}

static void put_marks(struct html_view *view)
{
	const struct svg_scene *scene = &view->scene;
	struct html_out *out = &view->out;

	if (scene->armed_count > 0)
		html_raw(out, "<span><i class=\"key karmed\"></i>page faults were counted</span> ");
	if (scene->gap_count > 0)
		html_raw(out, "<span><i class=\"key kgap\"></i>nothing was recorded</span> ");
}

/* What the picture does not show. */
static void put_caption(struct html_view *view)
{
	const struct chart *chart = view->scene.chart;
	struct html_out *out = &view->out;

	html_raw(out, "<figcaption>");
	put_marks(view);
	if (chart->layer_count > 0)
		html_raw(out, "Areas: memory of processes by fork family, what a family shares "
			      "counted once. Line: what is in use, page cache and kernel memory "
			      "included.");
	else
		html_raw(out, "Only what is in use was kept with this incident, not the series of "
			      "its processes.");
	if (!chart->whole)
		html_raw(out, " The series do not reach back to the beginning of the window.");
	if (chart->limit_bytes == UNKNOWN_U64)
		html_raw(out, " There is no limit to draw.");
	html_raw(out, "</figcaption>");
}

int html_chart(struct html_view *view)
{
	struct html_out *out = &view->out;
	int result;

	if (!view->has_chart)
		return 0;
	html_raw(out, "<figure id=\"chart\" aria-label=\"Memory before the kill\">\n"
		      "<div id=\"plot\"></div>\n<div id=\"still\">"
		      "<div class=\"box\" role=\"region\" tabindex=\"0\" aria-label=\"Chart\">");
	result = svg_draw(out, &view->scene);
	html_raw(out, "</div>\n");
	put_legend(view);
	html_raw(out, "</div>\n");
	put_caption(view);
	html_raw(out, "</figure>\n");
	return result;
}

/* --- for the script --- */

static void add_values(struct buf *json, const char *key, const int64_t *bytes, unsigned int count)
{
	json_begin(json, key, '[');
	for (unsigned int i = 0; i < count; i++) {
		if (bytes[i] == CHART_UNKNOWN)
			buf_puts(json, i > 0 ? ",null" : "null");
		else
			json_add_i64(json, NULL, bytes[i]);
	}
	json_end(json, ']');
}

/* Seconds before or after the kill, to the millisecond. */
static void add_time(struct buf *json, int64_t ns)
{
	json_add_decimal(json, NULL, ns / 1000000, 3);
}

static void add_spans(struct buf *json, const char *key, const struct svg_span *spans,
	unsigned int count, int64_t kill_ns)
{
	json_begin(json, key, '[');
	for (unsigned int i = 0; i < count; i++) {
		json_begin(json, NULL, '[');
		add_time(json, spans[i].from_ns - kill_ns);
		add_time(json, spans[i].to_ns - kill_ns);
		json_end(json, ']');
	}
	json_end(json, ']');
}

static void add_layer(struct buf *json, const struct chart *chart, unsigned int index)
{
	const struct chart_layer *layer = &chart->layers[index];
	char text[256], class[4];
	struct buf name;

	buf_init(&name, text, sizeof(text));
	if (layer->root_tgid == 0)
		buf_printf(&name, "all others (%u)", layer->members);
	else
		glue_name(&name, layer->comm, layer->root_tgid);
	for (size_t i = 0; i < name.len; i++) {
		if (text[i] == FLOW_GLUE)
			text[i] = ' ';
	}
	svg_layer_class(chart, index, class);
	json_begin(json, NULL, '{');
	json_add_string(json, "name", text);
	json_add_string(json, "key", class);
	json_add_u64(json, "members", layer->members);
	json_add_bool(json, "victim", layer->has_victim);
	add_values(json, "bytes", layer->bytes, chart->instants);
	json_end(json, '}');
}

static void add_chart(struct buf *json, const struct svg_scene *scene)
{
	const struct chart *chart = scene->chart;

	json_begin(json, NULL, '{');
	json_begin(json, "span_s", '[');
	add_time(json, chart->from_ns - chart->kill_ns);
	add_time(json, chart->to_ns - chart->kill_ns);
	json_end(json, ']');
	json_begin(json, "times_s", '[');
	for (unsigned int i = 0; i < chart->instants; i++)
		add_time(json, chart->times_ns[i] - chart->kill_ns);
	json_end(json, ']');
	json_add_u64(json, "limit_bytes", chart->limit_bytes);
	if (chart->usage_bytes != NULL)
		add_values(json, "usage_bytes", chart->usage_bytes, chart->instants);
	if (chart->swap_bytes != NULL)
		add_values(json, "swap_bytes", chart->swap_bytes, chart->instants);
	json_begin(json, "layers", '[');
	for (unsigned int i = 0; i < chart->layer_count; i++)
		add_layer(json, chart, i);
	json_end(json, ']');
	add_spans(json, "armed", scene->armed, scene->armed_count, chart->kill_ns);
	add_spans(json, "gaps", scene->gaps, scene->gap_count, chart->kill_ns);
	json_end(json, '}');
}

int html_chart_data(struct html_view *view)
{
	const struct chart *chart = view->scene.chart;
	struct buf json;
	size_t size;
	char *data;

	if (!view->has_chart)
		return 0;
	size = (size_t)chart->instants * (chart->layer_count + 3) * NUMBER_MAX + NAMES_MAX;
	data = malloc(size);
	if (data == NULL)
		return -ENOMEM;
	buf_init(&json, data, size);
	add_chart(&json, &view->scene);
	html_raw(&view->out, "<script type=\"application/json\" id=\"chart-data\">");
	html_json_data(&view->out, data, json.len);
	html_raw(&view->out, "</script>\n");
	free(data);
	return json.full ? -ENOSPC : 0;
}
