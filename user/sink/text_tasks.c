// SPDX-License-Identifier: Apache-2.0
/* Processes in the text view: the victim, the sum that chose it, the runners-up, all killed. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "sink/text_parts.h"
#include "sink/view.h"

#define TOP_ROWS 5
#define KILLED_NAMES 40

static void put_memory(struct text_view *view, const struct task_facts *task)
{
	static const struct {
		const char *name;
		enum ev_rss kind;
		uint32_t unknown;
	} counters[] = {
		{"anon", EV_RSS_ANON, TASK_UNKNOWN_ANON},
		{"file", EV_RSS_FILE, TASK_UNKNOWN_FILE},
		{"shmem", EV_RSS_SHMEM, TASK_UNKNOWN_SHMEM},
		{"swap", EV_RSS_SWAP, TASK_UNKNOWN_SWAP},
	};
	uint32_t page_size = view->context->host->page_size;
	struct buf *text = &view->scratch;

	if (task->unknown & TASK_UNKNOWN_SPLIT) {
		buf_printf(text, "resident%c", FLOW_GLUE);
		glue_pages(text, task->rss_total_pages, page_size);
	}
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		if (task->unknown & counters[i].unknown)
			continue;
		buf_printf(text, "%s%s%c", text->len > 0 ? ", " : "", counters[i].name, FLOW_GLUE);
		glue_pages(text,
			view_rss(task, counters[i].kind, view_exact(view->judgement, task)),
			page_size);
	}
	if (task->pgtables_bytes != UNKNOWN_U64 && text->len > 0) {
		buf_printf(text, ", page%ctables%c", FLOW_GLUE, FLOW_GLUE);
		glue_bytes(text, task->pgtables_bytes);
	}
	if (text->len == 0)
		return;
	flow_label(&view->flow, "");
	flow_take(&view->flow, text);
}

static void put_command(struct text_view *view)
{
	const struct incident *incident = view->incident;
	const char *command = incident->victim_cmdline[0] != '\0' ? incident->victim_cmdline
								  : incident->victim_exe;

	if (command[0] == '\0')
		return;
	buf_puts(&view->scratch, ", ");
	text_terminal(&view->scratch, command, strlen(command),
		2 * (view->flow.width - FLOW_GUTTER) - 20);
}

/* It goes on with what it held. */
static void put_last_seen(struct text_view *view, const struct task_facts *task)
{
	if (!view_self(view->incident) || task->at_ns > view->incident->time_ns)
		return;
	buf_puts(&view->scratch, "last seen ");
	glue_duration(&view->scratch, view->incident->time_ns - task->at_ns);
	buf_puts(&view->scratch, " before the kill was noticed, holding:");
	flow_label(&view->flow, "");
	flow_take(&view->flow, &view->scratch);
}

void text_victim(struct text_view *view)
{
	const struct incident *incident = view->incident;
	struct buf *text = &view->scratch;
	const struct task_facts *task;

	if (incident->victim_count == 0)
		return;
	task = view_victim(incident, 0);
	flow_label(&view->flow, "victim");
	if (!view_known(task)) {
		buf_puts(text, "only its pid was told by this kernel");
		put_command(view);
		flow_take(&view->flow, text);
		return;
	}
	if (task->unknown & TASK_UNKNOWN_UID)
		buf_printf(text, "pid%c%u", FLOW_GLUE, task->tgid);
	else
		buf_printf(text, "uid%c%u", FLOW_GLUE, task->uid);
	if (task->ns_tgid != 0 && task->ns_tgid != task->tgid)
		buf_printf(text, ", pid%c%u in its container", FLOW_GLUE, task->ns_tgid);
	if (task->start_ns != UNKNOWN_U64 && task->start_ns != 0 &&
		task->start_ns <= incident->time_ns) {
		buf_printf(text, ", up%c", FLOW_GLUE);
		glue_duration(text, incident->time_ns - task->start_ns);
	}
	if (task->ppid != 0)
		buf_printf(text, ", child of pid%c%u", FLOW_GLUE, task->ppid);
	put_command(view);
	flow_take(&view->flow, text);
	put_last_seen(view, task);
	if (view_has_memory(task))
		put_memory(view, task);
}

static bool is_victim(const struct incident *incident, const struct task_facts *task)
{
	for (unsigned int i = 0; i < incident->victim_count && i < INCIDENT_VICTIMS; i++) {
		if (incident->victims[i].task.tgid == task->tgid)
			return true;
	}
	return false;
}

/* The candidate at a place of the ranking; NULL past its end. */
static const struct task_facts *ranked_task(const struct text_view *view, unsigned int place)
{
	const struct judgement *judgement = view->judgement;
	const struct incident *incident = view->incident;

	if (place >= judgement->ranked_count || place >= INCIDENT_CANDIDATES)
		return NULL;
	if (judgement->ranked[place].index >= incident->candidate_count ||
		judgement->ranked[place].index >= INCIDENT_CANDIDATES)
		return NULL;
	return &incident->candidates[judgement->ranked[place].index].task;
}

/* One term of the sum. The first has no operator unless it is negative. */
static void put_term(struct buf *text, int64_t pages, const char *what)
{
	if (text->len > 0)
		buf_puts(text, pages < 0 ? " - " : " + ");
	else if (pages < 0)
		buf_putc(text, '-');
	glue_count(text, pages < 0 ? -pages : pages);
	buf_printf(text, "%c%s", FLOW_GLUE, what);
}

/* True if the counters of this reading are those that the sum was made from. */
static bool put_resident_of(
	struct text_view *view, const struct task_facts *task, const struct badness *badness)
{
	bool exact = task != NULL && view_exact(view->judgement, task);
	int64_t anon, file, shmem;

	if (task == NULL || !view_has_memory(task))
		return false;
	anon = (int64_t)view_rss(task, EV_RSS_ANON, exact);
	file = (int64_t)view_rss(task, EV_RSS_FILE, exact);
	shmem = (int64_t)view_rss(task, EV_RSS_SHMEM, exact);
	if (anon + file + shmem != badness->rss_pages)
		return false;
	put_term(&view->scratch, anon, "anon");
	put_term(&view->scratch, file, "file");
	if (shmem > 0)
		put_term(&view->scratch, shmem, "shmem");
	return true;
}

/*
 * The resident pages, kind by kind, from whichever reading the judge took: when it was chosen, or
 * when it was weighed. As one number where neither fits, since the sum must be right as it stands.
 */
static void put_resident(struct text_view *view, const struct badness *badness)
{
	const struct task_facts *chosen = view_chosen(view->incident), *task;

	if (put_resident_of(view, chosen, badness))
		return;
	for (unsigned int place = 0; (task = ranked_task(view, place)) != NULL; place++) {
		if (chosen != NULL && task->tgid == chosen->tgid &&
			put_resident_of(view, task, badness))
			return;
	}
	put_term(&view->scratch, badness->rss_pages, "resident");
}

static void put_sum(struct text_view *view)
{
	const struct badness *badness = &view->judgement->badness;
	const struct task_facts *task = view_chosen(view->incident);
	uint32_t page_size = view->context->host->page_size;
	struct buf *text = &view->scratch;
	char name[24];

	put_resident(view, badness);
	if (badness->swap_pages > 0)
		put_term(text, badness->swap_pages, "swap");
	snprintf(name, sizeof(name), "page%ctables", FLOW_GLUE);
	if (view->judgement->has_badness || badness->pgtables_pages > 0)
		put_term(text, badness->pgtables_pages, name);
	if (view->judgement->has_badness)
		put_term(text, badness->adj_pages, "adj");
	if (badness->adj_pages != 0 && task != NULL && view_known(task))
		buf_printf(text, " (oom_score_adj%c%d)", FLOW_GLUE, task->oom_score_adj);
	buf_puts(text, " = ");
	glue_count(text, badness->points);
	buf_printf(text, "%cpages of ", FLOW_GLUE);
	glue_exact(text, page_size);
	/* With an adjustment in it the sum is no amount of memory. */
	if (badness->adj_pages == 0 && badness->points > 0) {
		buf_puts(text, " (");
		glue_pages(text, (uint64_t)badness->points, page_size);
		buf_putc(text, ')');
	}
}

static const char *ordinal_end(unsigned int number)
{
	if (number % 100 >= 11 && number % 100 <= 13)
		return "th";
	switch (number % 10) {
	case 1:
		return "st";
	case 2:
		return "nd";
	case 3:
		return "rd";
	default:
		return "th";
	}
}

/* The best one after the chosen one that could have been killed. */
static void put_next(struct text_view *view, unsigned int place)
{
	const struct task_facts *task = ranked_task(view, place);

	if (task == NULL || view->judgement->ranked[place].immune != NULL)
		return;
	buf_puts(&view->scratch, "; then ");
	glue_name(&view->scratch, task->comm, task->tgid);
	buf_putc(&view->scratch, FLOW_GLUE);
	glue_count(&view->scratch, view->judgement->ranked[place].badness.points);
	if (!view->judgement->has_badness && task->oom_score_adj != 0)
		buf_printf(
			&view->scratch, " with oom_score_adj%c%d", FLOW_GLUE, task->oom_score_adj);
}

/* Where what oom_score_adj adds is not known in pages, another may hold more than the first. */
static bool is_outweighed(const struct text_view *view, unsigned int place)
{
	const struct ranked *ranked = view->judgement->ranked;

	for (unsigned int i = 0; i < view->judgement->ranked_count; i++)
		if (ranked[i].immune == NULL &&
			ranked[i].badness.points > ranked[place].badness.points)
			return true;
	return false;
}

static void put_rank(struct text_view *view)
{
	const struct incident *incident = view->incident;
	const struct task_facts *chosen = view_chosen(incident), *task;
	bool sums = view->judgement->has_badness;
	struct buf *text = &view->scratch;

	if (chosen == NULL || incident->candidate_total == 0)
		return;
	for (unsigned int place = 0; (task = ranked_task(view, place)) != NULL; place++) {
		if (task->tgid != chosen->tgid)
			continue;
		if (place == 0 && !sums && is_outweighed(view, place))
			buf_printf(text, ", with oom_score_adj%c%d first", FLOW_GLUE,
				task->oom_score_adj);
		else if (place == 0)
			buf_puts(text, sums ? ", highest" : ", largest");
		else
			buf_printf(text, ", %u%s%s", place + 1, ordinal_end(place + 1),
				sums ? "" : " largest");
		buf_printf(text, " of %u%s", incident->candidate_total,
			view_self(incident)		   ? " seen before the kill"
			: incident->candidates_from_census ? " found right after the kill"
							   : "");
		put_next(view, place == 0 ? 1 : 0);
		return;
	}
	buf_printf(text, "; %u processes were %s", incident->candidate_total,
		view_self(incident)		   ? "seen before the kill"
		: incident->candidates_from_census ? "found right after the kill"
						   : "weighed");
}

static void put_kernel_points(struct text_view *view)
{
	const struct badness *badness = &view->judgement->badness;
	struct buf *text = &view->scratch;
	int64_t points;

	if (!view_kernel_points(view->incident, &points) || points == badness->points)
		return;
	buf_puts(text, ". The kernel's own sum was ");
	glue_count(text, points);
	buf_puts(text, ": the counters moved between its reading and ours");
}

void text_chosen(struct text_view *view)
{
	struct buf *text = &view->scratch;
	int64_t points;

	if (view->incident->outcome == OUTCOME_NO_KILLABLE)
		return;
	if (view->judgement->has_badness || view->judgement->has_held) {
		flow_label(&view->flow, "chosen");
		put_sum(view);
		if (view_allocating_task(view->incident)) {
			buf_puts(text,
				"; not by this sum: vm.oom_kill_allocating_task is set, so whoever "
				"asks dies");
		} else {
			put_rank(view);
			put_kernel_points(view);
		}
		flow_take(&view->flow, text);
	} else if (view_kernel_points(view->incident, &points)) {
		flow_label(&view->flow, "chosen");
		buf_puts(text, "with ");
		glue_count(text, points);
		buf_puts(text, " points by the kernel's own sum (pages, and oom_score_adj)");
		flow_take(&view->flow, text);
	}
}

/* "39.8" below 100 MiB, "1,024" above: columns are compared down, not read one by one. */
static void put_mib(struct buf *buf, uint64_t pages, uint32_t page_size)
{
	uint64_t tenths = pages * page_size / ((1U << 20) / 10);

	if (tenths < 1000)
		buf_printf(buf, "%u.%u", (unsigned int)(tenths / 10), (unsigned int)(tenths % 10));
	else
		units_count(buf, (int64_t)(tenths / 10));
}

static void put_right(struct flow *flow, const char *text, size_t columns)
{
	size_t own = strlen(text);

	for (; own < columns; own++)
		flow_raw(flow, " ");
	flow_raw(flow, text);
}

static void put_left(struct flow *flow, struct buf *scratch, const char *text, size_t columns)
{
	size_t own;

	buf_reset(scratch);
	own = text_terminal(scratch, text, strlen(text), columns);
	flow_raw(flow, scratch->data);
	for (; own < columns; own++)
		flow_raw(flow, " ");
	buf_reset(scratch);
}

/* Which columns a row has: where nobody could be killed, the reasons take the place of the sum. */
struct table {
	bool swap;
	bool reasons;
	size_t reason_columns;
};

#define NAME_COLUMNS 16
#define ROW_COLUMNS (2 + 8 + 1 + NAME_COLUMNS + 1 + 9 + 1 + 6)
#define SWAP_COLUMNS (1 + 9)
#define POINTS_COLUMNS (1 + 13) /* " not killable:" is as wide */

static void put_header(struct text_view *view, const struct table *table)
{
	struct flow *flow = &view->flow;

	flow_label(flow, "top");
	put_right(flow, "pid", 2 + 8);
	flow_raw(flow, " ");
	put_left(flow, &view->scratch, "name", NAME_COLUMNS);
	put_right(flow, "RAM MiB", 1 + 9);
	if (table->swap)
		put_right(flow, "swap MiB", SWAP_COLUMNS);
	put_right(flow, "adj", 1 + 6);
	if (table->reasons)
		flow_raw(flow, " not killable:");
	else
		put_right(flow,
			view_imported(view->incident) && view->judgement->totalpages == UNKNOWN_U64
				? "pages"
				: "points",
			POINTS_COLUMNS);
}

static void put_pages_cell(struct text_view *view, uint64_t pages, size_t columns)
{
	char cell[32];
	struct buf buf;

	buf_init(&buf, cell, sizeof(cell));
	put_mib(&buf, pages, view->context->host->page_size);
	put_right(&view->flow, cell, columns);
}

static void put_points_cell(
	struct text_view *view, const struct table *table, const struct ranked *ranked)
{
	char cell[32] = "exempt";
	struct buf buf;

	if (table->reasons) {
		const char *reason = ranked->immune != NULL ? ranked->immune : "?";

		flow_raw(&view->flow, " ");
		text_terminal(&view->scratch, reason, strlen(reason), table->reason_columns);
		flow_raw(&view->flow, view->scratch.data);
		buf_reset(&view->scratch);
		return;
	}
	if (ranked->immune == NULL) {
		buf_init(&buf, cell, sizeof(cell));
		if (view->judgement->totalpages == UNKNOWN_U64 && !view_imported(view->incident))
			buf_putc(&buf, '?');
		else
			units_count(&buf, ranked->badness.points);
	}
	put_right(&view->flow, cell, POINTS_COLUMNS);
}

static void put_row(struct text_view *view, const struct table *table,
	const struct task_facts *task, const struct ranked *ranked)
{
	struct flow *flow = &view->flow;
	bool exact = view_exact(view->judgement, task);
	char cell[16];

	flow_label(flow, "");
	flow_raw(flow, is_victim(view->incident, task) ? "> " : "  ");
	snprintf(cell, sizeof(cell), "%u", task->tgid);
	put_right(flow, cell, 8);
	flow_raw(flow, " ");
	put_left(flow, &view->scratch, task->comm, NAME_COLUMNS);
	put_pages_cell(view, view_rss_total(task, exact), 1 + 9);
	if (table->swap)
		put_pages_cell(view, view_rss(task, EV_RSS_SWAP, exact), SWAP_COLUMNS);
	if (task->unknown & TASK_UNKNOWN_ADJ)
		strcpy(cell, "?");
	else
		snprintf(cell, sizeof(cell), "%d", task->oom_score_adj);
	put_right(flow, cell, 1 + 6);
	put_points_cell(view, table, ranked);
}

/* A column of zeros tells nobody anything. */
static bool any_swapped(const struct text_view *view)
{
	const struct task_facts *task;

	for (unsigned int i = 0; i < TOP_ROWS && (task = ranked_task(view, i)) != NULL; i++) {
		if (view_rss(task, EV_RSS_SWAP, view_exact(view->judgement, task)) > 0)
			return true;
	}
	return false;
}

/* Of a single process there is nothing to compare. */
void text_top(struct text_view *view)
{
	bool killed = view->incident->outcome != OUTCOME_NO_KILLABLE;
	size_t room = view->flow.width - FLOW_GUTTER;
	const struct task_facts *task;
	struct table table = {.reasons = !killed};

	if (view->flow.taker || view->judgement->ranked_count < (killed ? 2 : 1) ||
		room < ROW_COLUMNS + POINTS_COLUMNS)
		return;
	table.swap =
		killed && room >= ROW_COLUMNS + SWAP_COLUMNS + POINTS_COLUMNS && any_swapped(view);
	table.reason_columns = room - ROW_COLUMNS - 1;
	put_header(view, &table);
	for (unsigned int i = 0; i < TOP_ROWS && (task = ranked_task(view, i)) != NULL; i++)
		put_row(view, &table, task, &view->judgement->ranked[i]);
}

static const char *why_text(enum victim_why why)
{
	switch (why) {
	case VICTIM_SHARED_MM:
		return " (shares the memory of the one chosen)";
	case VICTIM_ALREADY_EXITING:
		return " (was exiting already)";
	default:
		return "";
	}
}

static bool any_group_victim(const struct incident *incident)
{
	for (unsigned int i = 0; i < incident->victim_count && i < INCIDENT_VICTIMS; i++) {
		if (incident->victims[i].why == VICTIM_GROUP)
			return true;
	}
	return false;
}

void text_killed(struct text_view *view)
{
	const struct incident *incident = view->incident;
	uint32_t total = view_victims_total(incident), shown = incident->victim_count;
	struct buf *text = &view->scratch;

	if (total < 2 && (!view_self(incident) || incident->victim_count < 2))
		return;
	flow_label(&view->flow, "killed");
	buf_printf(text, "%u process%s", total, total == 1 ? "" : "es");
	if (view_self(incident) && shown > total) {
		buf_printf(text, ", which may be any of these %u", shown);
		total = shown;
	}
	if (any_group_victim(incident))
		buf_puts(text, " (memory.oom.group is set, so they die together)");
	buf_puts(text, ": ");
	if (shown > KILLED_NAMES)
		shown = KILLED_NAMES;
	if (shown == 0)
		buf_puts(text, "none of them was seen");
	for (unsigned int i = 0; i < shown; i++) {
		const struct task_facts *task = view_victim(incident, i);

		if (i > 0)
			buf_puts(text, ", ");
		glue_name(text,
			view_known(task) && !(task->unknown & TASK_UNKNOWN_COMM) ? task->comm
										 : "pid ",
			task->tgid);
		buf_puts(text, why_text(incident->victims[i].why));
	}
	if (shown && shown < total)
		buf_printf(text, " and %u more", total - shown);
	flow_take(&view->flow, text);
}
