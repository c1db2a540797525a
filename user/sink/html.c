// SPDX-License-Identifier: Apache-2.0
/*
 * The report page. Everything it tells stands in it as text; what its scripts add is comfort. Its
 * policy permits what is embedded, by hash, and nothing else: no request can leave it, whatever a
 * process was called.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sink/html_parts.h"
#include "sink/view.h"

bool html_has_plot(void)
{
	return html_plot_script.len > 0;
}

static void put_asset(struct html_view *view, const char *element, const struct html_asset *asset)
{
	if (asset->len == 0)
		return;
	html_printf(&view->out, "<%s>", element);
	html_data(&view->out, asset->data, asset->len);
	html_printf(&view->out, "</%s>\n", element);
}

static void put_head(struct html_view *view)
{
	struct html_out *out = &view->out;

	html_raw(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ");
	html_raw(out, html_policy);
	html_raw(out, "; img-src data:; base-uri 'none'; form-action 'none'\">\n"
		      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
	html_words_headline(out, &view->words);
	html_raw(out, "</title>\n");
	put_asset(view, "style", &html_plot_style);
	put_asset(view, "style", &html_style);
	html_raw(out, "</head>\n<body>\n");
}

/* --- verdicts --- */

static void put_verdict(struct html_view *view, const struct verdict *verdict)
{
	struct html_out *out = &view->out;
	const char *confidence = confidence_name(verdict->confidence);

	html_printf(out, "<li class=\"%s\"><p class=\"claim\">", confidence);
	html_text(out, verdict->claim);
	html_printf(out, "</p>\n<p class=\"how\"><b>%s</b> <code>%s</code></p>\n<ul>", confidence,
		verdict->id);
	for (unsigned int i = 0; i < verdict->evidence_count && i < VERDICT_EVIDENCE; i++) {
		html_raw(out, "<li>");
		html_text(out, verdict->evidence[i]);
		html_raw(out, "</li>");
	}
	html_raw(out, "</ul></li>\n");
}

void html_verdicts(struct html_view *view)
{
	const struct judgement *judgement = view->judgement;

	if (judgement->verdict_count == 0)
		return;
	html_section(view, "verdicts", "What it means");
	html_raw(&view->out, "<ol class=\"verdicts\">\n");
	for (unsigned int i = 0; i < judgement->verdict_count && i < VERDICTS_MAX; i++)
		put_verdict(view, &judgement->verdicts[i]);
	html_raw(&view->out, "</ol>\n<p class=\"say\">Each name is explained in docs/verdicts.md: "
			     "what it rests on, and how sure it is.</p>\n");
	html_section_end(view);
}

/* --- honesty --- */

void html_missing(struct html_view *view)
{
	static const struct html_column columns[] = {
		{"field of the record", false, NULL},
		{"why it is not there", false, NULL},
	};
	const struct judgement *judgement = view->judgement;

	html_section(view, "missing", "What is missing");
	if (judgement->missing_count == 0) {
		html_raw(&view->out, "<p class=\"say\">Nothing.</p>\n");
		html_section_end(view);
		return;
	}
	html_table(view, "Missing", columns, 2);
	for (unsigned int i = 0; i < judgement->missing_count && i < MISSING_MAX; i++) {
		html_row(view, false);
		html_raw(&view->out, "<td><code>");
		html_text(&view->out, judgement->missing[i].field);
		html_raw(&view->out, "</code></td>");
		html_cell_text(view, judgement->missing[i].why);
		html_row_end(view);
	}
	html_table_end(view);
	html_section_end(view);
}

static void put_gaps(struct html_view *view)
{
	static const struct html_column columns[] = {
		{"from", false, NULL},
		{"to", false, NULL},
		{"why", false, NULL},
		{"incidents", true, "lost in it"},
		{"points", true, "of series, lost in it"},
	};

	if (view->page->gap_count == 0)
		return;
	html_table(view, "Gaps in the window", columns, 5);
	for (size_t i = 0; i < view->page->gap_count; i++) {
		const struct store_gap *gap = &view->page->gaps[i];
		char text[64];
		struct buf date;

		html_row(view, false);
		buf_init(&date, text, sizeof(text));
		units_local_date(&date, gap->from_ns);
		html_cell_literal(view, text);
		buf_reset(&date);
		units_local_date(&date, gap->to_ns);
		html_cell_literal(view, text);
		html_cell_text(view, store_gap_name(gap->why));
		if (gap->incidents != UNKNOWN_U64)
			html_cell_count(view, (int64_t)gap->incidents);
		else
			html_cell_none(view);
		if (gap->points != UNKNOWN_U64)
			html_cell_count(view, (int64_t)gap->points);
		else
			html_cell_none(view);
		html_row_end(view);
	}
	html_table_end(view);
}

void html_source(struct html_view *view)
{
	static const struct html_column columns[] = {
		{"for", false, NULL},
		{"hook that served", false, NULL},
	};
	const struct sink_context *context = view->context;

	html_section(view, "source", "Where it is known from");
	html_paragraph(view, "say", "source", 0);
	html_paragraph(view, "say", "host", 0);
	put_gaps(view);
	if (context->hook_count > 0) {
		html_table(view, "Hooks", columns, 2);
		for (unsigned int i = 0; i < context->hook_count && i < SINK_HOOKS; i++) {
			html_row(view, false);
			html_cell_text(view, context->hooks[i].purpose);
			if (context->hooks[i].hook != NULL)
				html_cell_text(view, context->hooks[i].hook);
			else
				html_raw(
					&view->out, "<td class=\"no\">none could be attached</td>");
			html_row_end(view);
		}
		html_table_end(view);
	}
	html_section_end(view);
}

void html_neighbours(struct html_view *view)
{
	static const struct html_column columns[] = {
		{"incident", true, NULL},
		{"when", true, NULL},
		{"what", false, NULL},
	};
	const struct html_page *page = view->page;
	char text[64];
	struct buf date;

	if (page->neighbour_count == 0)
		return;
	html_section(view, "others",
		view_imported(view->incident) ? "Other incidents of this log"
					      : "Other incidents of this file");
	if (page->neighbour_total > page->neighbour_count)
		html_printf(&view->out, "<p class=\"say\">%zu of %zu.</p>\n", page->neighbour_count,
			page->neighbour_total);
	html_table(view, "Other incidents", columns, 3);
	for (size_t i = 0; i < page->neighbour_count; i++) {
		const struct html_neighbour *other = &page->neighbours[i];

		html_row(view, false);
		html_cell_id(view, (uint64_t)other->id);
		buf_init(&date, text, sizeof(text));
		if (other->time_ns == HTML_TIME_UNKNOWN) {
			html_cell_none(view);
		} else {
			units_local_date(&date, other->time_ns);
			html_printf(&view->out, "<td data-v=\"%lld\">%s</td>",
				(long long)(other->time_ns / 1000000), text);
		}
		html_cell_text(view, other->claim);
		html_row_end(view);
	}
	html_table_end(view);
	html_section_end(view);
}

int html_record(struct html_view *view)
{
	char *data = malloc(SINK_JSON_MAX);
	struct buf json;
	int result;

	if (data == NULL)
		return -ENOMEM;
	buf_init(&json, data, SINK_JSON_MAX);
	result = json_incident(&json, view->context, view->incident, view->judgement);
	if (result == 0) {
		html_section(view, "record", "The record");
		html_raw(&view->out,
			"<details class=\"raw\"><summary>One line of JSON, as the live "
			"trace and the export give it</summary><pre tabindex=\"0\">");
		html_json_text(&view->out, data, json.len);
		html_raw(&view->out, "</pre></details>\n");
		html_section_end(view);
	}
	free(data);
	return result;
}

static void put_foot(struct html_view *view)
{
	html_raw(&view->out, "</main>\n<footer>Made by oomsnoop " OOMSNOOP_VERSION
			     ". This page asks for nothing: it can be kept and sent as it is.");
	if (html_has_plot()) {
		html_raw(&view->out, "<details class=\"raw\"><summary>The zoomable chart is uPlot, "
				     "MIT licence</summary><pre>");
		html_shown(&view->out, html_plot_notice.data);
		html_raw(&view->out, "</pre></details>");
	}
	html_raw(&view->out, "</footer>\n");
}

static int put_page(struct html_view *view)
{
	int result;

	put_head(view);
	html_first(view);
	result = html_chart(view);
	if (result != 0)
		return result;
	html_verdicts(view);
	html_composition(view);
	html_machine(view);
	html_zones(view);
	html_victim(view);
	html_sum(view);
	html_candidates(view);
	html_victims(view);
	html_growth(view);
	html_levels(view);
	html_after(view);
	html_kills(view);
	html_missing(view);
	html_source(view);
	html_neighbours(view);
	result = html_record(view);
	if (result != 0)
		return result;
	put_foot(view);
	result = html_chart_data(view);
	put_asset(view, "script", &html_plot_script);
	put_asset(view, "script", &html_script);
	html_raw(&view->out, "</body>\n</html>\n");
	return result;
}

int html_page(const struct html_page *page, html_writer *write, void *arg)
{
	struct html_view *view = calloc(1, sizeof(*view));
	int result, written;

	if (view == NULL)
		return -ENOMEM;
	view->page = page;
	view->context = page->context;
	view->incident = page->incident;
	view->judgement = page->judgement;
	view->page_size = page->context->host->page_size;
	if (view->page_size == 0)
		view->page_size = 4096;
	html_out_init(&view->out, write, arg);
	html_words_of(&view->words, view->context, view->incident, view->judgement);
	view->has_chart = svg_scene_of(&view->scene, view->context, view->incident, page->chart,
		page->gaps, page->gap_count);
	result = put_page(view);
	written = html_finish(&view->out);
	free(view);
	return written != 0 ? written : result;
}
