// SPDX-License-Identifier: Apache-2.0
/* Processes: the victim, the sum that chose it, all that were weighed, all that were killed. */
#include <string.h>

#include "base/units.h"
#include "facts/host.h"
#include "sink/html_parts.h"
#include "sink/view.h"

#define COUNT_OF(list) ((unsigned int)(sizeof(list) / sizeof((list)[0])))
#define OPEN_ROWS 24 /* a longer table is folded */

static void fact_text(struct html_view *view, const char *name, const char *bytes)
{
	if (bytes[0] == '\0')
		return;
	html_fact(view, name);
	html_raw(&view->out, "<code>");
	html_text(&view->out, bytes);
	html_raw(&view->out, "</code>");
	html_fact_end(view);
}

static void fact_bytes(struct html_view *view, const char *name, uint64_t bytes)
{
	if (bytes == UNKNOWN_U64)
		return;
	html_fact(view, name);
	html_bytes(&view->out, bytes);
	html_fact_end(view);
}

static void fact_number(struct html_view *view, const char *name, int64_t number)
{
	html_fact(view, name);
	html_printf(&view->out, "%lld", (long long)number);
	html_fact_end(view);
}

static void put_identity(struct html_view *view, const struct task_facts *task)
{
	char text[64];
	struct buf date;

	fact_number(view, "pid", task->tgid);
	if (!view_known(task))
		return;
	if (task->ns_tgid != 0 && task->ns_tgid != task->tgid)
		fact_number(view, "pid in its container", task->ns_tgid);
	if (!(task->unknown & TASK_UNKNOWN_UID))
		fact_number(view, "uid", task->uid);
	if (task->ppid != 0)
		fact_number(view, "parent", task->ppid);
	if (task->start_ns != 0 && task->start_ns != UNKNOWN_U64) {
		buf_init(&date, text, sizeof(text));
		units_local_date(&date, view_wall_ns(view->context, task->start_ns));
		html_fact(view, "started");
		html_raw(&view->out, text);
		html_fact_end(view);
	}
	if (view_adj_known(task))
		fact_number(view, "oom_score_adj", task->oom_score_adj);
	if (view->judgement->has_oom_score)
		fact_number(view, "oom_score", view->judgement->victim_oom_score);
}

static const struct counter {
	const char *name;
	enum ev_rss kind;
	uint32_t unknown;
} counters[] = {
	{"anon", EV_RSS_ANON, TASK_UNKNOWN_ANON},
	{"file", EV_RSS_FILE, TASK_UNKNOWN_FILE},
	{"shmem", EV_RSS_SHMEM, TASK_UNKNOWN_SHMEM},
	{"swap", EV_RSS_SWAP, TASK_UNKNOWN_SWAP},
};

static void put_memory(struct html_view *view, const struct task_facts *task)
{
	bool exact = view_exact(view->judgement, task);

	if (!view_has_memory(task))
		return;
	if (task->unknown & TASK_UNKNOWN_SPLIT)
		fact_bytes(view, "resident", task->rss_total_pages * view->page_size);
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		if (!(task->unknown & counters[i].unknown))
			fact_bytes(view, counters[i].name,
				view_rss(task, counters[i].kind, exact) * view->page_size);
	}
	fact_bytes(view, "page tables", task->pgtables_bytes);
	if (task->total_vm_pages < UINT64_MAX / view->page_size)
		fact_bytes(view, "address space", task->total_vm_pages * view->page_size);
}

void html_victim(struct html_view *view)
{
	const struct incident *incident = view->incident;
	const struct task_facts *task;

	if (incident->victim_count == 0)
		return;
	task = view_victim(incident, 0);
	html_section(view, "victim", "The victim");
	html_facts(view);
	if (view_comm_known(task)) {
		html_fact(view, "name");
		html_text(&view->out, task->comm);
		html_fact_end(view);
	}
	put_identity(view, task);
	put_memory(view, task);
	html_facts_end(view);
	html_facts(view);
	fact_text(view, "command line", incident->victim_cmdline);
	fact_text(view, "program", incident->victim_exe);
	fact_text(view, "cgroup", incident->victim_cgroup);
	html_facts_end(view);
	html_paragraph(view, "say", "asked", 0);
	html_section_end(view);
}

/* --- the sum --- */

static void put_term(struct html_view *view, const char *name, int64_t pages)
{
	html_row(view, false);
	html_printf(&view->out, "<th scope=\"row\">%s</th>", name);
	html_cell_count(view, pages);
	html_row_end(view);
}

static void put_terms(struct html_view *view)
{
	const struct badness *badness = &view->judgement->badness;
	const struct task_facts *task = view_chosen(view->incident);
	struct html_out *out = &view->out;
	int64_t points;

	html_raw(out, "<div class=\"box\"><table class=\"terms\"><caption>Its badness in pages"
		      "</caption><tbody>\n");
	put_term(view, "resident: anon, file and shmem", badness->rss_pages);
	put_term(view, "in swap", badness->swap_pages);
	put_term(view, "page tables", badness->pgtables_pages);
	html_raw(out, "<tr><th scope=\"row\">oom_score_adj");
	if (task != NULL && view_adj_known(task))
		html_printf(out, " %d", task->oom_score_adj);
	html_raw(out, " \xc3\x97 (");
	html_count(out, badness->total_pages);
	html_raw(out, " / 1000)</th>");
	html_cell_count(view, badness->adj_pages);
	html_raw(out, "</tr>\n<tr class=\"total\"><th scope=\"row\">sum</th>");
	html_cell_count(view, badness->points);
	html_raw(out, "</tr>\n");
	if (view_kernel_points(view->incident, &points)) {
		html_raw(out, "<tr><th scope=\"row\">the kernel's own sum</th>");
		html_cell_count(view, points);
		html_raw(out, "</tr>\n");
	}
	html_raw(out, "</tbody></table></div>\n");
}

void html_sum(struct html_view *view)
{
	if (html_words_get(&view->words, "chosen", 0) == NULL)
		return;
	html_section(view, "sum", "The sum that chose it");
	html_paragraph(view, "say", "chosen", 0);
	if (view->judgement->has_badness)
		put_terms(view);
	html_section_end(view);
}

/* --- candidates --- */

static void put_memory_cells(struct html_view *view, const struct task_facts *task)
{
	bool exact = view_exact(view->judgement, task), told = view_has_memory(task);

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		if (told && !(task->unknown & counters[i].unknown))
			html_cell_pages(view, view_rss(task, counters[i].kind, exact));
		else
			html_cell_none(view);
	}
	html_cell_bytes(view, told ? task->pgtables_bytes : UNKNOWN_U64);
}

/* All that older kernels print: the sum. */
static void put_resident_cells(struct html_view *view, const struct task_facts *task)
{
	uint32_t part = TASK_UNKNOWN_ANON | TASK_UNKNOWN_FILE | TASK_UNKNOWN_SHMEM;

	if (task->unknown & TASK_UNKNOWN_SPLIT || !(task->unknown & part))
		html_cell_pages(view, view_rss_total(task, false));
	else
		html_cell_none(view);
	if (task->unknown & TASK_UNKNOWN_SWAP)
		html_cell_none(view);
	else
		html_cell_pages(view, view_rss(task, EV_RSS_SWAP, false));
	html_cell_bytes(view, task->pgtables_bytes);
}

static bool any_split_unknown(const struct incident *incident)
{
	for (unsigned int i = 0; i < incident->candidate_count && i < INCIDENT_CANDIDATES; i++) {
		if (incident->candidates[i].task.unknown & TASK_UNKNOWN_SPLIT)
			return true;
	}
	return false;
}

static void put_adj_cell(struct html_view *view, const struct task_facts *task)
{
	if (view_adj_known(task))
		html_cell_count(view, task->oom_score_adj);
	else
		html_cell_none(view);
}

static void put_points_cell(
	struct html_view *view, const struct ranked *ranked, const struct task_facts *task)
{
	if (ranked->immune != NULL) {
		html_raw(&view->out, "<td class=\"n no\">");
		html_text(&view->out, ranked->immune);
		html_raw(&view->out, "</td>");
	} else if ((view->judgement->totalpages != UNKNOWN_U64 || view_imported(view->incident)) &&
		   view_has_memory(task)) {
		html_cell_count(view, ranked->badness.points);
	} else {
		html_cell_none(view);
	}
}

static void put_candidate(struct html_view *view, unsigned int place, bool sums)
{
	const struct ranked *ranked = &view->judgement->ranked[place];
	const struct incident *incident = view->incident;
	const struct candidate *candidate;

	if (ranked->index >= incident->candidate_count || ranked->index >= INCIDENT_CANDIDATES)
		return;
	candidate = &incident->candidates[ranked->index];
	html_row(view, html_is_victim(incident, &candidate->task));
	html_cell_id(view, place + 1);
	html_cell_id(view, candidate->task.tgid);
	html_cell_text(view, candidate->task.comm);
	if (sums)
		put_resident_cells(view, &candidate->task);
	else
		put_memory_cells(view, &candidate->task);
	put_adj_cell(view, &candidate->task);
	put_points_cell(view, ranked, &candidate->task);
	if (!view_imported(incident)) {
		html_raw(&view->out, "<td class=\"path\">");
		html_text(&view->out, candidate->cmdline);
		html_raw(&view->out, "</td>");
		html_cell_below(view, candidate->cgroup);
	}
	html_row_end(view);
}

/* Which of them are in the table: the best are kept. */
static void put_candidates_note(struct html_view *view)
{
	const struct incident *incident = view->incident;
	struct html_out *out = &view->out;

	html_raw(out, "<p class=\"say\">");
	html_count(out, incident->candidate_total);
	if (view_imported(incident))
		html_raw(out, incident->candidate_total == 1 ? " process is in the log's table"
							     : " processes are in the log's table");
	else
		html_raw(out, view_self(incident) ? " processes were seen before the kill"
			      : incident->candidates_from_census
				      ? " processes were found right after the kill"
				      : " processes were weighed by the kernel");
	if (incident->candidate_total > view->judgement->ranked_count)
		html_printf(out, "; the %u largest were kept", view->judgement->ranked_count);
	html_raw(out, ". Best first, as the kernel would choose; marked: killed.");
	if (view_imported(incident) && view->judgement->totalpages == UNKNOWN_U64)
		html_raw(out, " Points are their pages alone: what oom_score_adj is a share of is "
			      "not in the log.");
	html_raw(out, "</p>\n");
}

/* What of their columns only a trace knows comes last. */
#define TRACED_COLUMNS 2

void html_candidates(struct html_view *view)
{
	static const struct html_column summed[] = {
		{"#", true, "place by the kernel's sum"},
		{"pid", true, NULL},
		{"name", false, NULL},
		{"resident", true, "anon, file and shmem together: this kernel prints the sum"},
		{"swap", true, NULL},
		{"tables", true, "page tables"},
		{"adj", true, "oom_score_adj"},
		{"points", true, "the kernel's sum in pages"},
	};
	static const struct html_column columns[] = {
		{"#", true, "place by the kernel's sum"},
		{"pid", true, NULL},
		{"name", false, NULL},
		{"anon", true, "anonymous memory, resident"},
		{"file", true, "mapped files, resident"},
		{"shmem", true, "shared memory and tmpfs, resident"},
		{"swap", true, NULL},
		{"tables", true, "page tables"},
		{"adj", true, "oom_score_adj"},
		{"points", true, "the kernel's sum in pages"},
		{"command line", false, NULL},
		{"cgroup", false, "\xe2\x80\xa6: the one whose limit was hit"},
	};

	bool imported = view_imported(view->incident);
	bool sums = imported && any_split_unknown(view->incident);

	if (view->judgement->ranked_count == 0)
		return;
	html_section(view, "candidates", "All that could have been chosen");
	put_candidates_note(view);
	html_table(view, "Candidates", sums ? summed : columns,
		sums ? COUNT_OF(summed) : COUNT_OF(columns) - (imported ? TRACED_COLUMNS : 0));
	for (unsigned int i = 0; i < view->judgement->ranked_count && i < INCIDENT_CANDIDATES; i++)
		put_candidate(view, i, sums);
	html_table_end(view);
	html_section_end(view);
}

/* --- victims --- */

static const char *why_text(enum victim_why why)
{
	switch (why) {
	case VICTIM_CHOSEN:
		return "chosen";
	case VICTIM_GROUP:
		return "memory.oom.group";
	case VICTIM_SHARED_MM:
		return "shares the memory of the one chosen";
	case VICTIM_ALREADY_EXITING:
		return "was exiting already";
	case VICTIM_VANISHED:
		return "vanished with the kill";
	case VICTIM_POSSIBLE:
		return "vanished, perhaps killed";
	default:
		return "not known";
	}
}

static void put_gone_cell(struct html_view *view, const struct victim *victim)
{
	uint64_t ns = victim->exit_ns - victim->killed_ns;

	if (!victim->exited || victim->killed_ns == UNKNOWN_U64 ||
		victim->exit_ns < victim->killed_ns) {
		html_cell_none(view);
		return;
	}
	html_printf(&view->out, "<td class=\"n\" data-v=\"%llu\">", (unsigned long long)ns);
	html_duration(&view->out, ns);
	html_raw(&view->out, "</td>");
}

static void put_killed(struct html_view *view, unsigned int index)
{
	const struct victim *victim = &view->incident->victims[index];
	const struct task_facts *task = view_victim(view->incident, index);

	html_row(view, index == 0);
	html_cell_id(view, task->tgid);
	if (view_comm_known(task))
		html_cell_text(view, task->comm);
	else
		html_cell_none(view);
	html_cell_literal(view, why_text(victim->why));
	put_memory_cells(view, task);
	put_adj_cell(view, task);
	if (!view_imported(view->incident))
		put_gone_cell(view, victim);
	html_row_end(view);
}

void html_victims(struct html_view *view)
{
	static const struct html_column columns[] = {
		{"pid", true, NULL},
		{"name", false, NULL},
		{"why", false, NULL},
		{"anon", true, "anonymous memory, resident"},
		{"file", true, "mapped files, resident"},
		{"shmem", true, "shared memory and tmpfs, resident"},
		{"swap", true, NULL},
		{"tables", true, "page tables"},
		{"adj", true, "oom_score_adj"},
		{"gone after", true, "from the kill to the exit of its last thread"},
	};
	const struct incident *incident = view->incident;
	bool fold = incident->victim_count > OPEN_ROWS;

	if (view_victims_total(incident) < 2 && incident->victim_count < 2)
		return;
	html_section(view, "victims", "All that were killed");
	html_paragraph(view, "say clamp", "killed", 0);
	if (fold)
		html_printf(&view->out, "<details><summary>%u processes</summary>\n",
			incident->victim_count);
	html_table(view, "Killed", columns, COUNT_OF(columns) - view_imported(incident));
	for (unsigned int i = 0; i < incident->victim_count && i < INCIDENT_VICTIMS; i++)
		put_killed(view, i);
	html_table_end(view);
	html_raw(&view->out, fold ? "</details>\n" : "");
	if (incident->victims_dropped > 0)
		html_printf(&view->out,
			"<p class=\"say\">%u more were killed; there was no room to "
			"keep them.</p>\n",
			incident->victims_dropped);
	html_section_end(view);
}
