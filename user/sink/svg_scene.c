// SPDX-License-Identifier: Apache-2.0
/* What there is to draw, and how its parts are named. */
#include <stdio.h>
#include <string.h>

#include "facts/host.h"
#include "sink/svg_parts.h"
#include "sink/text_flow.h"

static void add_span(struct svg_span *spans, unsigned int *count, unsigned int room,
	const struct chart *chart, struct svg_span span)
{
	if (span.from_ns < chart->from_ns)
		span.from_ns = chart->from_ns;
	if (span.to_ns > chart->to_ns)
		span.to_ns = chart->to_ns;
	if (*count < room && span.from_ns < span.to_ns)
		spans[(*count)++] = span;
}

static void take_armed(struct svg_scene *scene, const struct growth_picture *picture)
{
	for (unsigned int i = 0; i < picture->armed_count && i < PICTURE_ARMED; i++) {
		const struct picture_armed *armed = &picture->armed[i];
		uint64_t to_ns = armed->to_ns ? armed->to_ns : picture->to_ns;

		add_span(scene->armed, &scene->armed_count, PICTURE_ARMED, scene->chart,
			(struct svg_span) {(int64_t)armed->from_ns, (int64_t)to_ns});
	}
}

/* The store's clock is the wall's, and a gap may begin before all times. */
static int64_t boot_ns(int64_t wall_ns, int64_t wall_minus_boot_ns)
{
	int64_t ret;

	if (__builtin_sub_overflow(wall_ns, wall_minus_boot_ns, &ret))
		return wall_ns < 0 ? INT64_MIN : INT64_MAX;
	return ret;
}

static bool from_picture(struct svg_scene *scene, const struct incident *incident)
{
	const struct growth_picture *picture = &incident->growth;
	unsigned int count = picture->point_count;
	int64_t span = (int64_t)(picture->to_ns - picture->from_ns);
	bool any = false;

	if (!picture->valid || !picture->domain_known || count < 2 || count > PICTURE_POINTS ||
		picture->to_ns <= picture->from_ns)
		return false;
	for (unsigned int i = 0; i < count; i++) {
		bool known = picture->points[i] <= INT64_MAX;

		scene->own_times_ns[i] = (int64_t)picture->from_ns + span / (count - 1) * i;
		scene->own_usage_bytes[i] = known ? (int64_t)picture->points[i] : CHART_UNKNOWN;
		any |= known;
	}
	scene->own_times_ns[count - 1] = (int64_t)picture->to_ns;
	scene->own = (struct chart) {
		.instants = count,
		.times_ns = scene->own_times_ns,
		.usage_bytes = scene->own_usage_bytes,
		.kill_ns = (int64_t)incident->time_ns,
		.limit_bytes = picture->domain_max_bytes,
		.whole = true,
		.from_ns = (int64_t)picture->from_ns,
		.to_ns = (int64_t)picture->to_ns,
	};
	scene->chart = &scene->own;
	return any;
}

bool svg_scene_of(struct svg_scene *scene, const struct sink_context *context,
	const struct incident *incident, const struct chart *chart, const struct store_gap *gaps,
	size_t gap_count)
{
	memset(scene, 0, sizeof(*scene));
	scene->chart = chart;
	if ((chart == NULL || chart->instants < 2 || chart->to_ns <= chart->from_ns) &&
		!from_picture(scene, incident))
		return false;
	if (incident->growth.valid)
		take_armed(scene, &incident->growth);
	for (size_t i = 0; i < gap_count; i++) {
		/* What was only thinned out or left over is no time without a record. */
		if (gaps[i].why != STORE_GAP_NOT_RUNNING && gaps[i].why != STORE_GAP_DISK &&
			gaps[i].why != STORE_GAP_QUEUE)
			continue;
		add_span(scene->gaps, &scene->gap_count, SVG_GAPS, scene->chart,
			(struct svg_span) {boot_ns(gaps[i].from_ns, context->wall_minus_boot_ns),
				boot_ns(gaps[i].to_ns, context->wall_minus_boot_ns)});
	}
	return true;
}

void svg_layer_class(const struct chart *chart, unsigned int layer, char ret[4])
{
	unsigned int number = 0;

	if (chart->layers[layer].has_victim) {
		strcpy(ret, "v");
		return;
	}
	if (chart->layers[layer].root_tgid == 0) {
		strcpy(ret, "r");
		return;
	}
	for (unsigned int i = 0; i < layer; i++)
		number += !chart->layers[i].has_victim && chart->layers[i].root_tgid != 0;
	snprintf(ret, 4, "%u", number % CHART_LAYERS);
}

unsigned int svg_kill_index(const struct chart *chart)
{
	unsigned int index = 0;

	for (unsigned int i = 0; i < chart->instants; i++) {
		if (chart->times_ns[i] <= chart->kill_ns)
			index = i;
	}
	return index;
}

void svg_layer_name(struct html_out *out, const struct chart_layer *layer)
{
	char text[256];
	struct buf name;

	if (layer->root_tgid == 0) {
		html_printf(out, "all others (%u)", layer->members);
		return;
	}
	buf_init(&name, text, sizeof(text));
	glue_name(&name, layer->comm, layer->root_tgid);
	if (layer->members > 1)
		buf_printf(&name, "%c(%u%cprocesses)", FLOW_GLUE, layer->members, FLOW_GLUE);
	html_shown(out, text);
}

void svg_describe(struct html_out *out, const struct chart *chart)
{
	int64_t first = CHART_UNKNOWN, last = CHART_UNKNOWN;

	for (unsigned int i = 0; chart->usage_bytes != NULL && i < chart->instants; i++) {
		int64_t bytes = chart->usage_bytes[i];

		if (bytes == CHART_UNKNOWN || bytes < 0)
			continue;
		if (first == CHART_UNKNOWN)
			first = bytes;
		if (chart->times_ns[i] <= chart->kill_ns)
			last = bytes;
	}
	html_raw(out, "Memory over ");
	html_duration(out, (uint64_t)(chart->to_ns - chart->from_ns));
	html_raw(out, " up to the kill");
	if (first != CHART_UNKNOWN && last != CHART_UNKNOWN) {
		html_raw(out, ": in use from ");
		html_bytes(out, (uint64_t)first);
		html_raw(out, " to ");
		html_bytes(out, (uint64_t)last);
	}
	if (chart->limit_bytes != UNKNOWN_U64) {
		html_raw(out, ", limit ");
		html_bytes(out, chart->limit_bytes);
	}
}
