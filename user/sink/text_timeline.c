// SPDX-License-Identifier: Apache-2.0
/* The window of a timeline, and its table: what was in use, and by whom. */
#include "sink/text_timeline.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "sink/text_timeline_parts.h"
#include "sink/view.h"

#define OFFSETS_MAX (TIMELINE_ROWS - 3) /* beside them: the beginning, the kill, the end */
#define FAMILIES 6
#define SIZE_COLUMNS 9
#define BAR_COLUMNS 14 /* or what is left of a narrow line */
#define FAMILY_COLUMNS 11 /* " 1023 MiB" and a name's part */

/* --- the window --- */

bool timeline_chart_usage(const struct chart *chart)
{
	if (!chart || !chart->usage_bytes)
		return false;
	for (unsigned int i = 0; i < chart->instants; i++) {
		if (chart->usage_bytes[i] != CHART_UNKNOWN)
			return true;
	}
	return false;
}

bool timeline_picture_usage(const struct growth_picture *picture)
{
	return picture->valid && picture->domain_known && picture->point_count > 1 &&
	       picture->point_count <= PICTURE_POINTS && picture->to_ns > picture->from_ns;
}

static void find_window(struct timeline_view *view)
{
	const struct incident *incident = view->timeline->incident;
	const struct growth_picture *picture = &incident->growth;
	const struct chart *chart = view->timeline->chart;

	view->kill_ns = incident->time_ns;
	view->limit_bytes = picture->valid ? picture->domain_max_bytes : UNKNOWN_U64;
	view->from_ns = view->to_ns = view->kill_ns;
	if (chart && chart->instants > 0) {
		view->from_ns = (uint64_t)chart->times_ns[0];
		view->to_ns = (uint64_t)chart->times_ns[chart->instants - 1];
		view->limit_bytes = chart->limit_bytes;
	} else if (timeline_picture_usage(picture)) {
		view->from_ns = picture->from_ns;
	}
	if (view->limit_bytes == 0)
		view->limit_bytes = UNKNOWN_U64;
}

/* --- what is known at a moment --- */

/* The last instant at or before it; -1: it lies before the first. */
static int instant_at(const struct chart *chart, uint64_t time_ns)
{
	int low = -1, high = (int)chart->instants;

	while (high - low > 1) {
		int middle = low + (high - low) / 2;

		if ((uint64_t)chart->times_ns[middle] <= time_ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static int64_t picture_usage(const struct growth_picture *picture, uint64_t time_ns)
{
	uint64_t span = picture->to_ns - picture->from_ns, point;

	/* The picture was made for the moment of the kill, and a record may be stamped a little
	 * later. */
	if (time_ns > picture->to_ns && time_ns - picture->to_ns < TIMELINE_SECOND_NS)
		time_ns = picture->to_ns;
	if (time_ns < picture->from_ns || time_ns > picture->to_ns)
		return CHART_UNKNOWN;
	point = (unsigned __int128)(time_ns - picture->from_ns) * (picture->point_count - 1) / span;
	return picture->points[point] > INT64_MAX ? CHART_UNKNOWN : (int64_t)picture->points[point];
}

/*
 * What was in use at the end: once the victim's memory was gone, as the kernel counted it. Else
 * what the chart says, unless that is only what held at the kill: it was not looked at since.
 */
static void correct_last_row(struct timeline_view *view)
{
	const struct timeline *timeline = view->timeline;
	const struct incident_level *level = view_limit(timeline->incident, timeline->judgement);
	struct timeline_row *last = &view->rows[view->row_count - 1];

	if (view->row_count < 2 || last->time_ns <= view->kill_ns)
		return;
	if (level && level->freed_usage_pages != UNKNOWN_U64)
		last->used =
			(int64_t)(level->freed_usage_pages * view->text.context->host->page_size);
	else if (last->used == last[-1].used)
		last->used = CHART_UNKNOWN;
}

static void add_row(struct timeline_view *view, uint64_t time_ns)
{
	const struct growth_picture *picture = &view->timeline->incident->growth;
	const struct chart *chart = view->timeline->chart;
	struct timeline_row *row = &view->rows[view->row_count];

	if (view->row_count == TIMELINE_ROWS ||
		(view->row_count > 0 && view->rows[view->row_count - 1].time_ns >= time_ns))
		return;
	*row = (struct timeline_row) {.time_ns = time_ns, .used = CHART_UNKNOWN, .instant = -1};
	if (chart && chart->instants > 0)
		row->instant = instant_at(chart, time_ns);
	if (row->instant >= 0 && timeline_chart_usage(chart))
		row->used = chart->usage_bytes[row->instant];
	else if (timeline_picture_usage(picture))
		row->used = picture_usage(picture, time_ns);
	view->row_count++;
}

/*
 * The beginning, some moments before the kill, the kill, and the end. What leads to a kill often
 * happens in its last seconds, so that the moments lie the closer the nearer it comes.
 */
static void choose_rows(struct timeline_view *view)
{
	static const uint32_t tenths[] = {864000, 432000, 216000, 108000, 72000, 36000, 18000,
		12000, 6000, 3000, 1800, 1200, 600, 450, 300, 200, 100, 50, 20, 10, 5};
	const unsigned int all = sizeof(tenths) / sizeof(tenths[0]);
	uint64_t window = view->kill_ns > view->from_ns ? view->kill_ns - view->from_ns : 0;
	unsigned int first = 0, count;

	/* One as good as at the beginning adds nothing. */
	while (first < all && tenths[first] * (TIMELINE_SECOND_NS / 10) > window - window / 16)
		first++;
	count = all - first < OFFSETS_MAX ? all - first : OFFSETS_MAX;
	add_row(view, view->from_ns);
	for (unsigned int i = 0; i < count; i++) {
		unsigned int at = first + i * (all - first) / count;

		add_row(view, view->kill_ns - tenths[at] * (TIMELINE_SECOND_NS / 10));
	}
	add_row(view, view->kill_ns);
	if (view->to_ns > view->kill_ns)
		add_row(view, view->to_ns);
	correct_last_row(view);
}

/* --- the table --- */

void timeline_right(struct flow *flow, const char *text, size_t columns)
{
	size_t own = text_columns(text, strlen(text));

	for (; own < columns; own++)
		flow_raw(flow, " ");
	flow_raw(flow, text);
}

static void put_size_cell(struct timeline_view *view, int64_t bytes, size_t columns)
{
	char text[32] = "?";
	struct buf buf;

	if (bytes >= 0) {
		buf_init(&buf, text, sizeof(text));
		units_bytes(&buf, (uint64_t)bytes);
	}
	timeline_right(&view->text.flow, text, columns);
}

void timeline_when(struct buf *text, const struct timeline_view *view, uint64_t time_ns)
{
	bool after = time_ns > view->kill_ns;
	uint64_t apart = after ? time_ns - view->kill_ns : view->kill_ns - time_ns;
	uint64_t tenths = (apart + TIMELINE_SECOND_NS / 20) / (TIMELINE_SECOND_NS / 10);

	if (apart == 0) {
		buf_puts(text, "kill");
		return;
	}
	buf_putc(text, after ? '+' : '-');
	if (after && apart < TIMELINE_SECOND_NS)
		units_duration_ns(text, apart);
	else if (tenths < 1800)
		buf_printf(text, tenths % 10 ? "%u.%u s" : "%u s", (unsigned int)(tenths / 10),
			(unsigned int)(tenths % 10));
	else if (tenths < 36000)
		buf_printf(text, "%u min", (unsigned int)((tenths + 300) / 600));
	else
		buf_printf(text, "%u h", (unsigned int)((tenths + 18000) / 36000));
}

/* In eighths of a column, up to the limit; without one, up to the most there was. */
static void put_bar(struct timeline_view *view, int64_t used, uint64_t full)
{
	static const char *const eighths[] = {"", "\xe2\x96\x8f", "\xe2\x96\x8e", "\xe2\x96\x8d",
		"\xe2\x96\x8c", "\xe2\x96\x8b", "\xe2\x96\x8a", "\xe2\x96\x89"};
	unsigned __int128 filled = used > 0 ? (unsigned __int128)used * view->bar * 8 / full : 0;
	unsigned int level = filled > view->bar * 8 ? view->bar * 8 : (unsigned int)filled;
	struct flow *flow = &view->text.flow;

	flow_raw(flow, " ");
	for (unsigned int i = 0; i < view->bar; i++) {
		if (level >= 8 * (i + 1))
			flow_raw(flow, "\xe2\x96\x88");
		else if (level > 8 * i)
			flow_raw(flow, eighths[level - 8 * i]);
		else
			flow_raw(flow, "\xc2\xb7");
	}
}

static uint64_t full_of(const struct timeline_view *view)
{
	uint64_t most = 1;

	if (view->limit_bytes != UNKNOWN_U64)
		return view->limit_bytes;
	for (unsigned int i = 0; i < view->row_count; i++) {
		if (view->rows[i].used > 0 && (uint64_t)view->rows[i].used > most)
			most = (uint64_t)view->rows[i].used;
	}
	return most;
}

/* As many as fit, the rest of all families not counted in. */
static void choose_families(struct timeline_view *view)
{
	const struct chart *chart = view->timeline->chart;
	size_t room = view->text.flow.width - FLOW_GUTTER;
	size_t used = TIMELINE_WHEN + SIZE_COLUMNS + 1;

	view->bar = room - used < BAR_COLUMNS ? (unsigned int)(room - used) : BAR_COLUMNS;
	used += view->bar;
	view->families = 0;
	if (!chart)
		return;
	while (view->families < chart->layer_count && view->families < FAMILIES &&
		used + (view->families + 1) * FAMILY_COLUMNS <= room)
		view->families++;
}

static void put_family_name(struct timeline_view *view, const struct chart_layer *layer)
{
	char text[4 * EV_COMM_LEN + 16] = "others";
	struct buf buf;

	if (layer->root_tgid != 0) {
		buf_init(&buf, text, sizeof(text));
		text_terminal(&buf, layer->comm, strlen(layer->comm), FAMILY_COLUMNS - 1);
	}
	timeline_right(&view->text.flow, text, FAMILY_COLUMNS);
}

static void put_table_header(struct timeline_view *view)
{
	struct flow *flow = &view->text.flow;

	flow_label(flow, "usage");
	timeline_right(flow, "when", TIMELINE_WHEN);
	timeline_right(flow, "in use", SIZE_COLUMNS);
	if (view->families > 0) {
		timeline_right(flow, "", 1 + view->bar);
		for (unsigned int i = 0; i < view->families; i++)
			put_family_name(view, &view->timeline->chart->layers[i]);
	}
}

static void put_table_row(struct timeline_view *view, const struct timeline_row *row, uint64_t full)
{
	const struct chart *chart = view->timeline->chart;
	struct flow *flow = &view->text.flow;
	char text[40];
	struct buf when;

	buf_init(&when, text, sizeof(text));
	timeline_when(&when, view, row->time_ns);
	flow_label(flow, "");
	timeline_right(flow, text, TIMELINE_WHEN);
	put_size_cell(view, row->used, SIZE_COLUMNS);
	put_bar(view, row->used, full);
	for (unsigned int i = 0; i < view->families; i++)
		put_size_cell(view,
			row->instant < 0 ? CHART_UNKNOWN : chart->layers[i].bytes[row->instant],
			FAMILY_COLUMNS);
}

/* Who the columns are: their heads have no room for pids. */
static void put_families(struct timeline_view *view)
{
	const struct chart *chart = view->timeline->chart;
	struct buf *text = &view->text.scratch;

	if (view->families == 0)
		return;
	flow_label(&view->text.flow, "");
	buf_puts(text, "held by: ");
	for (unsigned int i = 0; i < view->families; i++) {
		const struct chart_layer *layer = &chart->layers[i];

		buf_puts(text, i > 0 ? ", " : "");
		if (layer->root_tgid == 0) {
			buf_printf(text, "others%c(%u)", FLOW_GLUE, layer->members);
			continue;
		}
		glue_name(text, layer->comm, layer->root_tgid);
		if (layer->members > 1)
			buf_printf(text, " with%call it%cforked%c(%u)", FLOW_GLUE, FLOW_GLUE,
				FLOW_GLUE, layer->members);
	}
	if (chart->layer_count > view->families)
		buf_printf(text, "; and %u smaller%c%s", chart->layer_count - view->families,
			FLOW_GLUE, "not shown");
	flow_take(&view->text.flow, text);
}

static void put_table(struct timeline_view *view)
{
	uint64_t full = full_of(view);
	bool known = false;

	for (unsigned int i = 0; i < view->row_count; i++)
		known |= view->rows[i].used != CHART_UNKNOWN || view->rows[i].instant >= 0;
	if (!known || view->row_count < 2)
		return;
	choose_families(view);
	put_table_header(view);
	for (unsigned int i = 0; i < view->row_count; i++)
		put_table_row(view, &view->rows[i], full);
	put_families(view);
}

int text_timeline(
	struct buf *buf, const struct sink_context *context, const struct timeline *timeline)
{
	struct timeline_view view = {.timeline = timeline};
	size_t start = buf->len;

	view.text.context = context;
	view.text.incident = timeline->incident;
	view.text.judgement = timeline->judgement;
	flow_init(&view.text.flow, buf, context->width, context->color);
	buf_init(&view.text.scratch, view.text.scratch_data, sizeof(view.text.scratch_data));
	find_window(&view);
	if (view.from_ns < view.kill_ns)
		choose_rows(&view);
	put_table(&view);
	/* The kill and its end were told above: without a time before them there is no line. */
	if (view.from_ns < view.kill_ns)
		timeline_events(&view);
	flow_end(&view.text.flow);
	if (!buf->full)
		return 0;
	buf_rewind(buf, start);
	return -ENOSPC;
}
