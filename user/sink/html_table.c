// SPDX-License-Identifier: Apache-2.0
/* Tables, lists of facts, sections. A cell that can be sorted by value has it in data-v. */
#include <string.h>

#include "facts/host.h"
#include "sink/html_parts.h"
#include "sink/view.h"

void html_section(struct html_view *view, const char *id, const char *title)
{
	html_printf(&view->out,
		"<section id=\"%s\" aria-labelledby=\"%s-h\"><h2 id=\"%s-h\">%s</h2>\n", id, id, id,
		title);
}

void html_section_end(struct html_view *view)
{
	html_raw(&view->out, "</section>\n");
}

void html_table(struct html_view *view, const char *caption, const struct html_column *columns,
	unsigned int count)
{
	struct html_out *out = &view->out;

	html_printf(out,
		"<div class=\"box\" role=\"region\" tabindex=\"0\" aria-label=\"%s\">"
		"<table class=\"sortable\"><caption>%s</caption><thead><tr>",
		caption, caption);
	for (unsigned int i = 0; i < count; i++) {
		html_printf(out, "<th scope=\"col\"%s", columns[i].number ? " class=\"n\"" : "");
		if (columns[i].hint != NULL)
			html_printf(out, " title=\"%s\"", columns[i].hint);
		html_printf(out, ">%s</th>", columns[i].title);
	}
	html_raw(out, "</tr></thead><tbody>\n");
}

void html_table_end(struct html_view *view)
{
	html_raw(&view->out, "</tbody></table></div>\n");
}

void html_row(struct html_view *view, bool marked)
{
	html_raw(&view->out, marked ? "<tr class=\"victim\">" : "<tr>");
}

void html_row_end(struct html_view *view)
{
	html_raw(&view->out, "</tr>\n");
}

void html_cell_literal(struct html_view *view, const char *text)
{
	html_raw(&view->out, "<td>");
	html_raw(&view->out, text);
	html_raw(&view->out, "</td>");
}

void html_cell_text(struct html_view *view, const char *bytes)
{
	html_raw(&view->out, "<td>");
	html_text(&view->out, bytes);
	html_raw(&view->out, "</td>");
}

void html_cell_path(struct html_view *view, const char *path)
{
	if (path[0] == '\0') {
		html_raw(&view->out, "<td class=\"no\">not learnt</td>");
		return;
	}
	html_raw(&view->out, "<td class=\"path\">");
	html_text(&view->out, path);
	html_raw(&view->out, "</td>");
}

/* From the cgroup of the limit on, since most are in it. */
void html_cell_below(struct html_view *view, const char *path)
{
	const char *limit = view_limit_path(view->incident, view->judgement);
	size_t len = strlen(limit);

	if (len < 2 || strncmp(path, limit, len) != 0 || (path[len] != '\0' && path[len] != '/')) {
		html_cell_path(view, path);
		return;
	}
	if (path[len] == '\0') {
		html_raw(&view->out, "<td>the limit's own</td>");
		return;
	}
	html_raw(&view->out, "<td class=\"path\">\xe2\x80\xa6");
	html_text(&view->out, path + len);
	html_raw(&view->out, "</td>");
}

void html_cell_none(struct html_view *view)
{
	html_raw(&view->out, "<td class=\"n no\">\xe2\x80\x93</td>");
}

void html_cell_id(struct html_view *view, uint64_t number)
{
	html_printf(&view->out, "<td class=\"n\" data-v=\"%llu\">%llu</td>",
		(unsigned long long)number, (unsigned long long)number);
}

static void open_number(struct html_view *view, int64_t value)
{
	html_printf(&view->out, "<td class=\"n\" data-v=\"%lld\">", (long long)value);
}

void html_cell_count(struct html_view *view, int64_t count)
{
	open_number(view, count);
	html_count(&view->out, count);
	html_raw(&view->out, "</td>");
}

void html_cell_bytes(struct html_view *view, uint64_t bytes)
{
	if (bytes == UNKNOWN_U64) {
		html_cell_none(view);
		return;
	}
	open_number(view, bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX);
	html_bytes(&view->out, bytes);
	html_raw(&view->out, "</td>");
}

void html_cell_pages(struct html_view *view, uint64_t pages)
{
	uint64_t bytes;

	if (pages == UNKNOWN_U64 || __builtin_mul_overflow(pages, view->page_size, &bytes))
		html_cell_none(view);
	else
		html_cell_bytes(view, bytes);
}

void html_cell_signed(struct html_view *view, int64_t bytes)
{
	open_number(view, bytes);
	html_signed_bytes(&view->out, bytes);
	html_raw(&view->out, "</td>");
}

void html_facts(struct html_view *view)
{
	html_raw(&view->out, "<dl class=\"facts\">\n");
}

void html_fact(struct html_view *view, const char *name)
{
	html_printf(&view->out, "<div><dt>%s</dt><dd>", name);
}

void html_fact_end(struct html_view *view)
{
	html_raw(&view->out, "</dd></div>\n");
}

void html_facts_end(struct html_view *view)
{
	html_raw(&view->out, "</dl>\n");
}

void html_paragraph(
	struct html_view *view, const char *class, const char *label, unsigned int index)
{
	const char *text = html_words_get(&view->words, label, index);

	if (text == NULL)
		return;
	html_printf(&view->out, "<p class=\"%s\">", class);
	html_shown(&view->out, text);
	html_raw(&view->out, "</p>\n");
}

bool html_is_victim(const struct incident *incident, const struct task_facts *task)
{
	for (unsigned int i = 0; i < incident->victim_count && i < INCIDENT_VICTIMS; i++) {
		if (incident->victims[i].task.tgid == task->tgid)
			return true;
	}
	return false;
}

uint64_t html_held_pages(const struct judgement *judgement, const struct task_facts *task)
{
	return view_rss_total(task, view_exact(judgement, task));
}
