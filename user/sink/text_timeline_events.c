// SPDX-License-Identifier: Apache-2.0
/* The events of a timeline, in their order. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "sink/text_timeline_parts.h"
#include "sink/view.h"

#define BIG_SHARE 32 /* of the limit: a process that became larger is an event */
#define NEAR_TENTHS 9 /* of the limit */

/* Text goes into the scratch buffer first, glued, and from there into the event. */
static void add_event(struct timeline_view *view, uint64_t time_ns, const char *color)
{
	struct buf *text = &view->text.scratch;
	struct timeline_event *event;
	unsigned int at;

	if (time_ns < view->from_ns || view->event_count == TIMELINE_EVENTS) {
		view->events_left_out += view->event_count == TIMELINE_EVENTS;
		buf_reset(text);
		return;
	}
	for (at = view->event_count; at > 0 && view->events[at - 1].time_ns > time_ns; at--)
		view->events[at] = view->events[at - 1];
	event = &view->events[at];
	event->time_ns = time_ns;
	event->color = color;
	/* Glued to its first word, so that no line ends between. */
	snprintf(event->text, sizeof(event->text), "%c%c%s", FLOW_GLUE, FLOW_GLUE, text->data);
	view->event_count++;
	buf_reset(text);
}

static bool is_big(const struct timeline_view *view, uint64_t bytes)
{
	const struct growth_picture *picture = &view->timeline->incident->growth;
	uint64_t whole = view->limit_bytes;

	if (whole == UNKNOWN_U64)
		whole = picture->domain_delta_bytes > 0 ? (uint64_t)picture->domain_delta_bytes : 0;
	return bytes != UNKNOWN_U64 && bytes > 0 && bytes >= whole / BIG_SHARE;
}

/* Workers come in crowds: those that one process forked under one name are one event. */
static bool is_of_crowd(const struct picture_process *one, const struct picture_process *other)
{
	return one->ppid == other->ppid && strcmp(one->comm, other->comm) == 0;
}

static void add_crowd(struct timeline_view *view, unsigned int first)
{
	const struct growth_picture *picture = &view->timeline->incident->growth;
	const struct picture_process *one = &picture->processes[first], *earliest = one;
	uint64_t most = 0;
	unsigned int more = 0, ended = 0;
	struct buf *text = &view->text.scratch;

	for (unsigned int i = 0; i < picture->process_count && i < PICTURE_PROCESSES; i++) {
		const struct picture_process *process = &picture->processes[i];

		if (!process->began || !is_big(view, process->peak_bytes) ||
			!is_of_crowd(one, process))
			continue;
		if (i < first)
			return; /* told with that one */
		more += i > first;
		ended += process->exited;
		if (process->peak_bytes > most)
			most = process->peak_bytes;
		if (process->start_ns < earliest->start_ns)
			earliest = process;
	}
	glue_name(text, earliest->comm, earliest->tgid);
	if (more > 0)
		buf_printf(text, " and%c%u%cmore of that name", FLOW_GLUE, more, FLOW_GLUE);
	buf_puts(text, " began; held up to ");
	glue_bytes(text, most);
	buf_puts(text, more > 0 ? " each" : "");
	if (ended > more)
		buf_puts(text, ", and ended before the kill");
	else if (ended > 0)
		buf_printf(text, "; %u ended before the kill", ended);
	add_event(view, earliest->start_ns, NULL);
}

static void add_beginnings(struct timeline_view *view)
{
	const struct growth_picture *picture = &view->timeline->incident->growth;

	if (!picture->valid)
		return;
	for (unsigned int i = 0; i < picture->process_count && i < PICTURE_PROCESSES; i++) {
		if (picture->processes[i].began && is_big(view, picture->processes[i].peak_bytes))
			add_crowd(view, i);
	}
}

static void add_counting(struct timeline_view *view)
{
	const struct growth_picture *picture = &view->timeline->incident->growth;
	struct buf *text = &view->text.scratch;

	for (unsigned int i = 0; picture->valid && i < picture->armed_count && i < PICTURE_ARMED;
		i++) {
		const struct picture_armed *armed = &picture->armed[i];

		buf_puts(text, "a limit was near: page faults were counted from here on");
		add_event(view, armed->from_ns > view->from_ns ? armed->from_ns : view->from_ns,
			NULL);
		if (armed->to_ns == 0)
			continue;
		buf_puts(text, "page faults were counted up to here");
		add_event(view, armed->to_ns, NULL);
	}
}

/* The time of a known usage, by its place: of the chart, or else of the picture's points. */
static unsigned int usage_points(const struct timeline_view *view)
{
	if (timeline_chart_usage(view->timeline->chart))
		return view->timeline->chart->instants;
	return timeline_picture_usage(&view->timeline->incident->growth)
		       ? view->timeline->incident->growth.point_count
		       : 0;
}

static int64_t usage_point(const struct timeline_view *view, unsigned int at, uint64_t *ret_time_ns)
{
	const struct growth_picture *picture = &view->timeline->incident->growth;
	const struct chart *chart = view->timeline->chart;

	if (timeline_chart_usage(chart)) {
		*ret_time_ns = (uint64_t)chart->times_ns[at];
		return chart->usage_bytes[at];
	}
	*ret_time_ns = picture->from_ns + (unsigned __int128)(picture->to_ns - picture->from_ns) *
						  at / (picture->point_count - 1);
	return picture->points[at] > INT64_MAX ? CHART_UNKNOWN : (int64_t)picture->points[at];
}

/* From when on it was near its limit, up to the kill. */
static void add_near(struct timeline_view *view)
{
	unsigned int count = usage_points(view);
	uint64_t since_ns = 0, time_ns;
	struct buf *text = &view->text.scratch;
	bool near = false;

	if (view->limit_bytes == UNKNOWN_U64)
		return;
	for (unsigned int i = 0; i < count; i++) {
		int64_t used = usage_point(view, i, &time_ns);
		bool now_near =
			used >= 0 && (unsigned __int128)used * 10 >=
					     (unsigned __int128)view->limit_bytes * NEAR_TENTHS;

		if (time_ns > view->kill_ns)
			break;
		if (used == CHART_UNKNOWN)
			continue;
		if (now_near && !near)
			since_ns = time_ns;
		near = now_near;
	}
	if (!near || since_ns == 0 || since_ns == view->kill_ns)
		return;
	buf_printf(text, "90%c%% of the limit in use%s", FLOW_GLUE,
		since_ns <= view->from_ns ? " already" : "");
	add_event(view, since_ns, NULL);
}

static void name_victim(struct buf *text, const struct incident *incident, unsigned int index)
{
	const struct task_facts *task = view_victim(incident, index);

	if (view_known(task))
		glue_name(text, task->comm, task->tgid);
	else
		buf_printf(text, "pid%c%u", FLOW_GLUE, task->tgid);
}

static void add_kill(struct timeline_view *view)
{
	const struct incident *incident = view->timeline->incident;
	struct buf *text = &view->text.scratch;

	if (incident->outcome == OUTCOME_NO_KILLABLE) {
		buf_puts(text, "the limit was reached, and nobody could be killed");
	} else if (incident->victim_count == 0) {
		buf_puts(text, "the kernel killed a process whose name was lost");
	} else {
		buf_puts(text, incident->outcome == OUTCOME_ALREADY_EXITING
				       ? "the kernel waited for "
				       : "the kernel killed ");
		name_victim(text, incident, 0);
		if (view_victims_total(incident) > 1)
			buf_printf(text, " and%c%u%cmore", FLOW_GLUE,
				view_victims_total(incident) - 1, FLOW_GLUE);
	}
	add_event(view, view->kill_ns, FLOW_RED);
}

/* Victims one by one up to three; of more, the last one's exit. */
static void add_exits(struct timeline_view *view)
{
	const struct incident *incident = view->timeline->incident;
	uint64_t freed = view->timeline->judgement->freed_bytes, last_ns = 0;
	unsigned int gone = 0, count = incident->victim_count;
	struct buf *text = &view->text.scratch;

	if (count > INCIDENT_VICTIMS)
		count = INCIDENT_VICTIMS;
	for (unsigned int i = 0; i < count; i++) {
		const struct victim *victim = &incident->victims[i];

		if (!victim->exited || victim->exit_ns < view->kill_ns)
			continue;
		gone++;
		if (victim->exit_ns > last_ns)
			last_ns = victim->exit_ns;
		if (i > 2)
			continue;
		name_victim(text, incident, i);
		buf_puts(text, " was gone");
		if (i == 0 && freed != UNKNOWN_U64 && freed > 0) {
			buf_puts(text, "; ");
			glue_bytes(text, freed);
			buf_puts(text, " came back");
		}
		add_event(view, victim->exit_ns, NULL);
	}
	if (gone > 3) {
		buf_printf(text, "the last of %u victims was gone", gone);
		add_event(view, last_ns, NULL);
	}
}

static const char *gap_text(enum store_gap_why why)
{
	switch (why) {
	case STORE_GAP_NOT_RUNNING:
		return "no recorder ran for ";
	case STORE_GAP_DISK:
		return "the disk took nothing, and points are missing, for ";
	case STORE_GAP_QUEUE:
		return "the disk was too slow, and points are missing, for ";
	case STORE_GAP_WINDOW:
		return "there were more processes than are kept: the smaller ones are missing, for ";
	default:
		return "series gave way to --max-size or --keep, for ";
	}
}

static void add_gaps(struct timeline_view *view)
{
	const struct timeline *timeline = view->timeline;
	int64_t offset = view->text.context->wall_minus_boot_ns;

	for (size_t i = 0; i < timeline->gap_count; i++) {
		const struct store_gap *gap = &timeline->gaps[i];
		int64_t from = gap->from_ns - offset, to = gap->to_ns - offset;

		if (to <= (int64_t)view->from_ns || from > (int64_t)view->to_ns || to < from)
			continue;
		if (from < (int64_t)view->from_ns)
			from = (int64_t)view->from_ns;
		buf_puts(&view->text.scratch, gap_text(gap->why));
		glue_duration(&view->text.scratch, (uint64_t)(to - from));
		add_event(view, (uint64_t)from, FLOW_YELLOW);
	}
}

static void put_events(struct timeline_view *view)
{
	struct flow *flow = &view->text.flow;
	const char *label = "events";

	for (unsigned int i = 0; i < view->event_count; i++) {
		const struct timeline_event *event = &view->events[i];
		char text[40];
		struct buf when;

		buf_init(&when, text, sizeof(text));
		timeline_when(&when, view, event->time_ns);
		flow_label(flow, label);
		timeline_right(flow, text, TIMELINE_WHEN);
		if (event->color && flow->color)
			buf_printf(flow->out, "\033[%sm", event->color);
		flow_text(flow, event->text);
		if (event->color && flow->color)
			buf_puts(flow->out, "\033[0m");
		label = "";
	}
	if (view->events_left_out > 0) {
		flow_label(flow, "");
		buf_printf(&view->text.scratch, "and %u more that are not shown",
			view->events_left_out);
		flow_take(flow, &view->text.scratch);
	}
}

void timeline_events(struct timeline_view *view)
{
	/* What matters most first: there is a bound. */
	add_kill(view);
	add_exits(view);
	add_gaps(view);
	add_near(view);
	add_counting(view);
	add_beginnings(view);
	put_events(view);
}
