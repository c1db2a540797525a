// SPDX-License-Identifier: Apache-2.0
#include "sink/text_list.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "judge/whose.h"
#include "sink/text_flow.h"
#include "sink/text_whose.h"
#include "sink/view.h"

#define SIZE_COLUMNS 8 /* "1023 MiB" */
#define NARROW 100
#define WHERE_MIN 8
#define ELLIPSIS "\xe2\x80\xa6"
#define SCRATCH (4 * INCIDENT_PATH + 64) /* every byte of a path as \xNN */

/* Columns of each field but the last one, which takes what is left. 0: left out. */
struct columns {
	size_t number, time, victim, size, verdict;
	size_t where; /* 0: no bound */
};

static size_t used_by(const struct columns *columns)
{
	return columns->number + 1 + columns->time + 1 + columns->victim + 1 +
	       (columns->size > 0 ? 2 * (columns->size + 1) : 0) +
	       (columns->verdict > 0 ? columns->verdict + 1 : 0);
}

static struct columns columns_of(const struct list_layout *layout)
{
	size_t width = layout->width > 0 ? (size_t)layout->width : 0;
	bool narrow = width > 0 && width < NARROW;
	struct columns ret = {
		.number = layout->number_columns > 3 ? layout->number_columns : 3,
		.time = narrow ? 16 : 19, /* without seconds, or with them */
		.victim = narrow ? 15 : 22,
		.size = SIZE_COLUMNS,
		.verdict = narrow ? 13 : 19,
	};

	if (width == 0)
		return ret;
	if (used_by(&ret) + WHERE_MIN > width)
		ret.verdict = 0;
	if (used_by(&ret) + WHERE_MIN > width)
		ret.size = 0;
	ret.where = width > used_by(&ret) ? width - used_by(&ret) : 1;
	return ret;
}

static void put_blanks(struct buf *buf, size_t count)
{
	while (count-- > 0)
		buf_putc(buf, ' ');
}

/* A harmless text in its field, and a blank. */
static void put_field(struct buf *buf, const char *text, size_t columns, bool right)
{
	size_t own = text_columns(text, strlen(text));
	size_t rest = own < columns ? columns - own : 0;

	if (columns == 0)
		return;
	put_blanks(buf, right ? rest : 0);
	buf_puts(buf, text);
	put_blanks(buf, right ? 1 : rest + 1);
}

static int end_line(struct buf *buf, size_t start)
{
	while (buf->len > start && buf->data[buf->len - 1] == ' ')
		buf->data[--buf->len] = '\0';
	buf_putc(buf, '\n');
	if (!buf->full)
		return 0;
	buf_rewind(buf, start);
	return -ENOSPC;
}

int text_list_header(struct buf *buf, const struct list_layout *layout)
{
	struct columns columns = columns_of(layout);
	size_t start = buf->len;

	if (layout->color)
		buf_puts(buf, "\033[" FLOW_BOLD "m");
	put_field(buf, "no.", columns.number, true);
	put_field(buf, "time", columns.time, false);
	put_field(buf, "killed", columns.victim, false);
	put_field(buf, "held", columns.size, true);
	put_field(buf, "limit", columns.size, true);
	put_field(buf, "verdict", columns.verdict, false);
	if (columns.where == 0 || columns.where >= strlen("where"))
		buf_puts(buf, "where");
	if (layout->color)
		buf_puts(buf, "\033[0m");
	return end_line(buf, start);
}

/* --- the fields --- */

/* Local, to the second or to the minute: units_local_date() begins like that. */
static void put_time(struct buf *buf, int64_t realtime_ns, size_t columns)
{
	char text[64];
	struct buf date;

	buf_init(&date, text, sizeof(text));
	units_local_date(&date, realtime_ns);
	if (strlen(text) > columns)
		text[columns] = '\0';
	put_field(buf, text, columns, false);
}

static void name_victim(struct buf *buf, const struct incident *incident, size_t columns)
{
	uint32_t total = view_victims_total(incident);
	const struct task_facts *task;
	char end[40];
	struct buf tail;

	if (incident->outcome == OUTCOME_NO_KILLABLE || incident->victim_count == 0) {
		buf_puts(buf, incident->outcome == OUTCOME_NO_KILLABLE ? "nobody" : "?");
		return;
	}
	task = view_victim(incident, 0);
	buf_init(&tail, end, sizeof(end));
	buf_printf(&tail, "[%u]", task->tgid);
	if (incident->outcome == OUTCOME_ALREADY_EXITING)
		buf_puts(&tail, " (was dying)");
	else if (total > 1)
		buf_printf(&tail, "+%u", total - 1);
	if (view_known(task))
		text_terminal(buf, task->comm, strlen(task->comm),
			columns > tail.len + 3 ? columns - tail.len : 3);
	buf_puts(buf, end);
}

static void put_victim(struct buf *buf, const struct incident *incident, size_t columns)
{
	char text[4 * EV_COMM_LEN + 64];
	struct buf name;

	buf_init(&name, text, sizeof(text));
	name_victim(&name, incident, columns);
	put_field(buf, text, columns, false);
}

static void put_size(struct buf *buf, uint64_t bytes, size_t columns)
{
	char text[32] = "?";
	struct buf size;

	if (bytes != UNKNOWN_U64) {
		buf_init(&size, text, sizeof(text));
		units_bytes(&size, bytes);
	}
	put_field(buf, text, columns, true);
}

uint64_t list_held_bytes(const struct list_entry *entry)
{
	const struct incident *incident = entry->incident;
	const struct task_facts *task;
	uint64_t pages = 0;
	bool exact;

	if (incident->victim_count == 0 || incident->outcome == OUTCOME_NO_KILLABLE)
		return UNKNOWN_U64;
	task = view_victim(incident, 0);
	if (!view_has_memory(task))
		return UNKNOWN_U64;
	exact = view_exact(entry->judgement, task);
	for (int kind = 0; kind < EV_RSS_COUNTERS; kind++)
		pages += view_rss(task, kind, exact);
	return pages * entry->context->host->page_size;
}

/* Of the cgroup, or the machine's RAM. */
static uint64_t limit_bytes(const struct list_entry *entry)
{
	const struct incident_level *level = view_limit(entry->incident, entry->judgement);
	uint32_t page_size = entry->context->host->page_size;

	if (level == NULL)
		return entry->judgement->scope == SCOPE_MEMCG ? UNKNOWN_U64
							      : entry->incident->host.total_bytes;
	if (level->max_pages == UNKNOWN_U64 || view_unlimited(level->max_pages, page_size))
		return UNKNOWN_U64;
	return level->max_pages * page_size;
}

/* The end of a path says more than its beginning. */
static void put_tail(struct buf *buf, const char *text, size_t columns)
{
	const char *at = text;

	if (columns == 0 || text_columns(text, strlen(text)) <= columns) {
		buf_puts(buf, text);
		return;
	}
	while (*at != '\0' && text_columns(at, strlen(at)) >= columns) {
		size_t step = utf8_sequence(at, strlen(at));

		at += step > 0 ? step : 1;
	}
	buf_puts(buf, ELLIPSIS);
	buf_puts(buf, at);
}

static const char *place_of(const struct judgement *judgement)
{
	switch (judgement->scope) {
	case SCOPE_GLOBAL:
		return "the machine";
	case SCOPE_CPUSET:
	case SCOPE_MEMPOLICY:
		return "memory nodes";
	default:
		return "?";
	}
}

static void put_where(struct buf *buf, const struct list_entry *entry, size_t columns)
{
	const char *path = view_limit_path(entry->incident, entry->judgement);
	char text[SCRATCH];
	struct buf where;

	buf_init(&where, text, sizeof(text));
	if (path[0] == '\0')
		buf_puts(&where, place_of(entry->judgement));
	else if (!text_whose_short(
			 &where, path, whose_names(entry->incident, entry->judgement, path)))
		text_terminal(&where, path, strlen(path), 0);
	put_tail(buf, text, columns);
}

/* What came of it, in one sentence: a line of its own where lines have an end, since there it has
 * no room beside the rest; else behind the rest, so that a line stays one incident. */
static void put_summary(
	struct buf *buf, const struct list_layout *layout, const struct verdict *first)
{
	size_t indent = columns_of(layout).number + 1;
	size_t width = layout->width > 0 ? (size_t)layout->width : 0;
	char text[4 * VERDICT_TEXT + 1];
	struct buf claim;

	if (first == NULL || (width > 0 && width <= indent))
		return;
	buf_init(&claim, text, sizeof(text));
	text_terminal(&claim, first->claim, strlen(first->claim), width > 0 ? width - indent : 0);
	if (width == 0) {
		buf_puts(buf, "  ");
	} else {
		buf_putc(buf, '\n');
		put_blanks(buf, indent);
	}
	buf_puts(buf, text);
}

static void put_verdict(struct buf *buf, const struct list_entry *entry, size_t columns)
{
	const struct verdict *first = view_first(entry->judgement);
	const char *id = entry->damaged ? "DAMAGED" : first ? first->id : NULL;
	char text[64];
	struct buf verdict;

	if (columns == 0)
		return;
	if (id == NULL)
		id = "-";
	buf_init(&verdict, text, sizeof(text));
	text_terminal(&verdict, id, strlen(id), columns);
	put_field(buf, text, columns, false);
}

int text_list_entry(
	struct buf *buf, const struct list_layout *layout, const struct list_entry *entry)
{
	struct columns columns = columns_of(layout);
	size_t start = buf->len;
	char number[24];
	struct buf text;

	buf_init(&text, number, sizeof(number));
	buf_i64(&text, entry->id);
	put_field(buf, number, columns.number, true);
	put_time(buf, view_wall_ns(entry->context, entry->incident->time_ns), columns.time);
	put_victim(buf, entry->incident, columns.victim);
	put_size(buf, list_held_bytes(entry), columns.size);
	put_size(buf, limit_bytes(entry), columns.size);
	put_verdict(buf, entry, columns.verdict);
	put_where(buf, entry, columns.where);
	put_summary(buf, layout, view_first(entry->judgement));
	return end_line(buf, start);
}

/* --- what was no kill of the OOM killer's --- */

/* Unknown sizes are UNKNOWN_U64; where "": not known. */
struct plain_line {
	int64_t time_ns;
	const char *comm;
	uint32_t pid;
	uint32_t others;
	uint64_t held_bytes, limit_bytes;
	const char *verdict;
	const char *where;
};

static int put_plain(
	struct buf *buf, const struct list_layout *layout, const struct plain_line *line)
{
	struct columns columns = columns_of(layout);
	size_t start = buf->len;
	char text[SCRATCH];
	struct buf scratch;

	put_field(buf, "-", columns.number, true);
	put_time(buf, line->time_ns, columns.time);
	buf_init(&scratch, text, sizeof(text));
	text_terminal(&scratch, line->comm, strlen(line->comm), 0);
	buf_printf(&scratch, "[%u]", line->pid);
	if (line->others)
		buf_printf(&scratch, " +%u", line->others);
	put_field(buf, text, columns.victim, false);
	put_size(buf, line->held_bytes, columns.size);
	put_size(buf, line->limit_bytes, columns.size);
	if (columns.verdict)
		put_field(buf, line->verdict, columns.verdict, false);
	buf_init(&scratch, text, sizeof(text));
	text_terminal(&scratch, line->where, strlen(line->where), 0);
	put_tail(buf, line->where[0] ? text : "?", columns.where);
	return end_line(buf, start);
}

static uint64_t resident_bytes(const int64_t rss_pages[EV_RSS_COUNTERS], uint32_t page_size)
{
	uint64_t pages = 0;

	for (int kind = 0; kind < EV_RSS_COUNTERS; kind++)
		if (rss_pages[kind] > 0)
			pages += (uint64_t)rss_pages[kind];
	return pages * page_size;
}

int text_list_kill(struct buf *buf, const struct list_layout *layout,
	const struct sink_context *context, const struct killing *killing,
	const struct kill_judgement *judgement)
{
	uint32_t page_size = context->host->page_size;
	const struct plain_line line = {
		.time_ns = view_wall_ns(context, killing->time_ns),
		.comm = killing->targets[0].comm,
		.pid = killing->targets[0].tgid,
		.others = killing->total - 1,
		.held_bytes = resident_bytes(killing->targets[0].rss_pages, page_size),
		.limit_bytes = killing->flags & EV_SIGNAL_LIMIT
				       ? killing->limit_max_pages * page_size
				       : UNKNOWN_U64,
		.verdict = judgement->verdicts[0].id,
		.where = killing->target_cgroup,
	};

	return put_plain(buf, layout, &line);
}

int text_list_refusal(struct buf *buf, const struct list_layout *layout,
	const struct sink_context *context, const struct refusal *refusal,
	const struct refusal_judgement *judgement)
{
	const struct plain_line line = {
		.time_ns = view_wall_ns(context, refusal->time_ns),
		.comm = refusal->comm,
		.pid = refusal->tgid,
		.others = refusal->processes > 1 ? refusal->processes - 1 : 0,
		.held_bytes = refusal->flags & EV_REFUSAL_MM
				      ? resident_bytes(refusal->rss_pages, context->host->page_size)
				      : UNKNOWN_U64,
		.limit_bytes =
			refusal_counts_bytes(judgement->cause) ? judgement->limit : UNKNOWN_U64,
		.verdict = judgement->verdicts[0].id,
		.where = refusal->cgroup,
	};

	return put_plain(buf, layout, &line);
}

/* --- what is not there --- */

bool list_gap_matters(const struct store_gap *gap)
{
	return gap->why == STORE_GAP_NOT_RUNNING || gap->incidents != 0;
}

void list_gaps_add(struct list_gaps *gaps, const struct store_gap *gap)
{
	if (gaps->count == 0 || gap->from_ns < gaps->from_ns)
		gaps->from_ns = gap->from_ns;
	if (gaps->count == 0 || gap->to_ns > gaps->to_ns)
		gaps->to_ns = gap->to_ns;
	gaps->count++;
	if (gap->to_ns > gap->from_ns)
		gaps->length_ns += (uint64_t)(gap->to_ns - gap->from_ns);
	if (gap->incidents == UNKNOWN_U64 || gaps->incidents == UNKNOWN_U64)
		gaps->incidents = UNKNOWN_U64;
	else
		gaps->incidents += gap->incidents;
}

static void put_lost(struct buf *buf, const struct list_gaps *gaps, const char *one,
	const char *many, const char *why)
{
	if (gaps->incidents == UNKNOWN_U64)
		buf_printf(buf, "an unknown number of %s", many);
	else
		buf_printf(buf, "%llu %s", (unsigned long long)gaps->incidents,
			gaps->incidents == 1 ? one : many);
	buf_puts(buf, why);
}

static void put_not_running(struct buf *buf, const struct list_gaps *gaps)
{
	buf_puts(buf, "not recording for ");
	units_duration_ns(buf, gaps->length_ns);
	if (gaps->count > 1)
		buf_printf(buf, ", %u times", gaps->count);
}

int text_list_gaps(struct buf *buf, const struct list_layout *layout, enum store_gap_why why,
	const struct list_gaps *gaps)
{
	size_t start = buf->len;

	if (layout->color)
		buf_puts(buf, "\033[" FLOW_YELLOW "m");
	buf_puts(buf, "-- ");
	switch (why) {
	case STORE_GAP_NOT_RUNNING:
		put_not_running(buf, gaps);
		break;
	case STORE_GAP_PRUNED:
		put_lost(buf, gaps, "older incident", "older incidents",
			" gave way to --max-size or --keep");
		break;
	default:
		put_lost(buf, gaps, "incident", "incidents", " lost: ");
		buf_puts(buf,
			why == STORE_GAP_DISK ? "the disk took nothing" : "the disk was too slow");
	}
	buf_puts(buf, " --");
	if (layout->color)
		buf_puts(buf, "\033[0m");
	return end_line(buf, start);
}
