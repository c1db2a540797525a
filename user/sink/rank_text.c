// SPDX-License-Identifier: Apache-2.0
/* The ranking for people: the answer in the first line, the table, the sum, 80 columns. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "sink/rank.h"
#include "sink/text_flow.h"
#include "sink/view.h"

/* The columns of the table, 79 together; numbers with the blank before them. */
enum {
	RANK_COLUMNS = 4,
	PID_COLUMNS = 8,
	NAME_COLUMNS = 15,
	POINTS_COLUMNS = 13,
	RAM_COLUMNS = 10,
	SWAP_COLUMNS = 9,
	TABLES_COLUMNS = 7,
	ADJ_COLUMNS = 6,
	SCORE_COLUMNS = 6,
};

/* Two lines of a command line tell which of its kind it is. */
#define COMMAND_COLUMNS (2 * (FLOW_WIDTH - FLOW_GUTTER) - 20)

struct page {
	struct flow flow;
	struct buf scratch; /* a sentence on its way to the flow */
	char memory[4 * RANK_NOTE_BYTES]; /* of which every byte may be shown as \xNN */
	const struct rank_report *report;
};

/* --- the answer --- */

static void put_name(struct buf *buf, const struct task_facts *task)
{
	text_terminal(buf, task->comm, strlen(task->comm), 0);
	buf_printf(buf, "[%u]", task->tgid);
}

static void put_where(struct buf *buf, const struct rank_report *report)
{
	const struct quota_level *limit = rank_limit(report);

	if (!limit) {
		buf_puts(buf, "on this machine");
		return;
	}
	buf_puts(buf, "in ");
	text_terminal(buf, limit->cgroup, strlen(limit->cgroup), 0);
}

static void put_answer(struct buf *buf, const struct rank_report *report)
{
	const struct ranking *ranking = &report->ranking;

	if (!ranking->eligible) {
		buf_puts(buf, "Nobody can be killed ");
		put_where(buf, report);
		buf_puts(buf, ranking->count ? ": no process may be chosen\n"
					     : ": no process is there\n");
		return;
	}
	buf_puts(buf, "Next to be killed ");
	put_where(buf, report);
	buf_puts(buf, ": ");
	put_name(buf, &ranking->candidates->task);
	buf_puts(buf, ", ");
	units_count(buf, ranking->candidates->badness.points);
	buf_puts(buf, " points\n");
}

/* --- the table --- */

static void put_right(struct buf *buf, const char *text, size_t columns)
{
	for (size_t own = strlen(text); own < columns; own++)
		buf_putc(buf, ' ');
	buf_puts(buf, text);
}

static void put_left(struct buf *buf, const char *text, size_t columns)
{
	size_t own = text_terminal(buf, text, strlen(text), columns);

	for (; own < columns; own++)
		buf_putc(buf, ' ');
}

static void put_number(struct buf *buf, int64_t number, size_t columns)
{
	char text[32];
	struct buf cell;

	buf_init(&cell, text, sizeof(text));
	units_count(&cell, number);
	put_right(buf, text, columns);
}

/* "39.8" below 100 MiB, "1,024" above: columns are compared down, so they have one unit. */
static void put_mib(struct buf *buf, uint64_t bytes, size_t columns)
{
	uint64_t tenths = bytes / ((1U << 20) / 10);
	char text[32];

	if (tenths >= 1000) {
		put_number(buf, (int64_t)(bytes >> 20), columns);
		return;
	}
	snprintf(text, sizeof(text), "%u.%u", (unsigned int)(tenths / 10),
		(unsigned int)(tenths % 10));
	put_right(buf, text, columns);
}

static void put_header(struct buf *buf)
{
	buf_putc(buf, '\n');
	put_right(buf, "rank", RANK_COLUMNS);
	put_right(buf, "pid", PID_COLUMNS);
	buf_putc(buf, ' ');
	put_left(buf, "name", NAME_COLUMNS);
	put_right(buf, "points", POINTS_COLUMNS);
	put_right(buf, "RAM MiB", RAM_COLUMNS);
	put_right(buf, "swap MiB", SWAP_COLUMNS);
	put_right(buf, "tables", TABLES_COLUMNS);
	put_right(buf, "adj", ADJ_COLUMNS);
	put_right(buf, "score", SCORE_COLUMNS);
	buf_putc(buf, '\n');
}

/* Why it may not be chosen, short enough for the column of the points. */
static const char *short_reason(const struct rank_candidate *candidate)
{
	if (candidate->task.flags & EV_TASK_INIT)
		return "(init)";
	if (candidate->task.oom_score_adj == -1000)
		return "(adj -1000)";
	if (candidate->task.flags & EV_TASK_NO_MM)
		return "(no memory)";
	return "(passed over)";
}

static void put_row(struct buf *buf, const struct ranking *ranking, size_t index)
{
	const struct rank_candidate *candidate = &ranking->candidates[index];
	const struct task_facts *task = &candidate->task;
	char text[32];

	snprintf(text, sizeof(text), "%zu", index + 1);
	put_right(buf, text, RANK_COLUMNS);
	snprintf(text, sizeof(text), "%u", task->tgid);
	put_right(buf, text, PID_COLUMNS);
	buf_putc(buf, ' ');
	put_left(buf, task->comm, NAME_COLUMNS);
	if (candidate->immune)
		put_right(buf, short_reason(candidate), POINTS_COLUMNS);
	else
		put_number(buf, candidate->badness.points, POINTS_COLUMNS);
	put_mib(buf, (uint64_t)candidate->badness.rss_pages * ranking->page_size, RAM_COLUMNS);
	put_mib(buf, (uint64_t)candidate->badness.swap_pages * ranking->page_size, SWAP_COLUMNS);
	put_mib(buf, task->pgtables_bytes, TABLES_COLUMNS);
	snprintf(text, sizeof(text), "%d", task->oom_score_adj);
	put_right(buf, text, ADJ_COLUMNS);
	if (candidate->oom_score == UNKNOWN_U64)
		strcpy(text, "?");
	else
		snprintf(text, sizeof(text), "%llu", (unsigned long long)candidate->oom_score);
	put_right(buf, text, SCORE_COLUMNS);
	buf_putc(buf, '\n');
}

static void put_rest(struct buf *buf, const struct ranking *ranking, size_t shown)
{
	size_t immune = ranking->count - (ranking->eligible > shown ? ranking->eligible : shown);

	if (shown == ranking->count)
		return;
	buf_printf(buf, "and %zu more (-n 0 shows all)", ranking->count - shown);
	if (immune)
		buf_printf(buf, ", %zu of which may not be chosen", immune);
	buf_putc(buf, '\n');
}

static void put_table(struct buf *buf, const struct rank_report *report)
{
	const struct ranking *ranking = &report->ranking;
	size_t shown = ranking->count < report->shown ? ranking->count : report->shown;

	if (!ranking->count)
		return;
	put_header(buf);
	for (size_t i = 0; i < shown; i++)
		put_row(buf, ranking, i);
	put_rest(buf, ranking, shown);
}

/* --- the sum --- */

static void put_term(struct buf *buf, int64_t pages, const char *what)
{
	buf_puts(buf, pages < 0 ? " - " : " + ");
	units_count(buf, pages < 0 ? -pages : pages);
	buf_printf(buf, " %s", what);
}

/* One line, however long: it is to be read, and found, as a sum. */
static void put_sum(struct buf *buf, const struct rank_report *report)
{
	const struct rank_candidate *first = report->ranking.candidates;

	buf_putc(buf, '\n');
	units_count(buf, (int64_t)view_rss(&first->task, EV_RSS_ANON, false));
	buf_puts(buf, " anon");
	put_term(buf, (int64_t)view_rss(&first->task, EV_RSS_FILE, false), "file");
	put_term(buf, (int64_t)view_rss(&first->task, EV_RSS_SHMEM, false), "shmem");
	put_term(buf, first->badness.swap_pages, "swap");
	put_term(buf, first->badness.pgtables_pages, "page tables");
	put_term(buf, first->badness.adj_pages, "adj");
	buf_puts(buf, " = ");
	units_count(buf, first->badness.points);
	buf_puts(buf, " pages\n\n");
}

static void put_command(struct page *page)
{
	const char *command = page->report->ranking.candidates->cmdline;

	if (!command || !command[0])
		return;
	flow_label(&page->flow, "command");
	text_terminal(&page->scratch, command, strlen(command), COMMAND_COLUMNS);
	flow_take(&page->flow, &page->scratch);
}

static void put_limit(struct page *page)
{
	const struct rank_report *report = page->report;
	const struct quota_level *limit = rank_limit(report);
	struct buf *out = &page->scratch;

	flow_label(&page->flow, "limit");
	if (limit) {
		glue_bytes(out, limit->limits.max_bytes);
		buf_puts(out, " of ");
		text_terminal(out, limit->cgroup, strlen(limit->cgroup), 0);
		if (limit->limits.usage_bytes != UNKNOWN_U64) {
			buf_puts(out, ", ");
			glue_bytes(out, limit->limits.usage_bytes);
			buf_puts(out, " used");
		}
	} else {
		buf_puts(out, "the machine's memory, ");
		glue_bytes(out, report->quota.host.total_bytes);
		if (report->quota.host.available_bytes != UNKNOWN_U64) {
			buf_puts(out, ", ");
			glue_bytes(out, report->quota.host.available_bytes);
			buf_puts(out, " available");
		}
	}
	flow_take(&page->flow, out);
}

static void put_adj(struct page *page)
{
	const struct ranking *ranking = &page->report->ranking;
	const struct rank_candidate *first = ranking->candidates;
	struct buf *out = &page->scratch;

	if (ranking->total_pages == UNKNOWN_U64 || first->task.oom_score_adj == 0)
		return;
	flow_label(&page->flow, "adj");
	buf_printf(out, "oom_score_adj %d x ", first->task.oom_score_adj);
	glue_count(out, (int64_t)(ranking->total_pages / 1000));
	buf_puts(out, ", the thousandth part of ");
	buf_puts(out, rank_limit(page->report) ? "the limit and the swap it may use ("
					       : "all RAM and swap (");
	glue_count(out, (int64_t)ranking->total_pages);
	buf_printf(out, "%cpages)", FLOW_GLUE);
	flow_take(&page->flow, out);
}

/* --- what /proc shows --- */

/* "P = 5,270 + 500 x 6,170 = 3,090,270 pages": the same pages, another adjustment. */
static void put_score_pages(
	struct buf *out, const struct rank_candidate *first, uint64_t host_pages)
{
	int64_t adj = first->task.oom_score_adj, part = (int64_t)(host_pages / 1000);
	int64_t own = first->badness.points - first->badness.adj_pages;

	buf_puts(out, "P = ");
	if (adj) {
		glue_count(out, own);
		buf_printf(
			out, " %c %lld x ", adj < 0 ? '-' : '+', (long long)(adj < 0 ? -adj : adj));
		glue_count(out, part);
		buf_puts(out, " = ");
	}
	glue_count(out, own + adj * part);
}

static void put_score(struct page *page)
{
	const struct ranking *ranking = &page->report->ranking;
	const struct rank_candidate *first = ranking->candidates;
	struct buf *out = &page->scratch;

	if (ranking->host_pages == UNKNOWN_U64)
		return;
	flow_label(&page->flow, "score");
	buf_printf(out, "/proc/%u/oom_score ", first->task.tgid);
	if (first->oom_score == UNKNOWN_U64)
		buf_puts(out, "could not be read");
	else
		buf_printf(out, "shows %llu", (unsigned long long)first->oom_score);
	buf_puts(out, ". It is relative to all RAM and swap (");
	glue_pages(out, ranking->host_pages, ranking->page_size);
	buf_puts(out, "), whatever the limit of a cgroup: (1000 + P x 1000 / ");
	glue_count(out, (int64_t)ranking->host_pages);
	buf_puts(out, ") x 2 / 3 with ");
	put_score_pages(out, first, ranking->host_pages);
	buf_puts(out, " pages");
	if (first->oom_score != (uint64_t)first->score)
		buf_printf(out, ", which makes %lld", (long long)first->score);
	buf_putc(out, '.');
	flow_take(&page->flow, out);
}

static void put_counters(struct page *page)
{
	const struct ranking *ranking = &page->report->ranking;
	uint64_t slack = page->report->counter_slack_pages;
	struct buf *out = &page->scratch;
	int64_t lead;

	flow_label(&page->flow, "margin");
	buf_puts(out,
		"Linux 6.2 to 6.19 weighs by counters that are kept per CPU: here each may be off by "
		"up to ");
	glue_count(out, (int64_t)slack);
	buf_puts(out, " pages, while /proc sums exactly (since 6.12).");
	if (ranking->eligible > 1) {
		lead = ranking->candidates[0].badness.points -
		       ranking->candidates[1].badness.points;
		buf_puts(out, " The lead over the next is ");
		glue_count(out, lead);
		/* Four counters of one process too high, four of the other too low. */
		buf_puts(out, lead > (int64_t)(8 * slack) ? " pages."
							  : " pages: there it may fall to either.");
	}
	flow_take(&page->flow, out);
}

static void put_notes(struct page *page)
{
	char text[RANK_NOTE_BYTES];
	struct buf note;

	buf_init(&note, text, sizeof(text));
	for (unsigned int i = 0; rank_note(&note, page->report, i); i++) {
		if (note.len) {
			flow_label(&page->flow, "note");
			text_terminal(&page->scratch, text, note.len, 0);
			flow_take(&page->flow, &page->scratch);
		}
		buf_reset(&note);
	}
}

int rank_text(struct buf *buf, const struct rank_report *report)
{
	size_t start = buf->len;
	struct page page = {.report = report};

	flow_init(&page.flow, buf, FLOW_WIDTH, false);
	buf_init(&page.scratch, page.memory, sizeof(page.memory));
	put_answer(buf, report);
	put_table(buf, report);
	if (report->ranking.eligible) {
		put_sum(buf, report);
		put_command(&page);
	} else {
		buf_putc(buf, '\n');
	}
	put_limit(&page);
	if (report->ranking.eligible) {
		put_adj(&page);
		put_score(&page);
		put_counters(&page);
	}
	put_notes(&page);
	flow_end(&page.flow);
	if (!buf->full)
		return 0;
	buf_rewind(buf, start);
	return -ENOSPC;
}
