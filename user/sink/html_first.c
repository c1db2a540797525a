// SPDX-License-Identifier: Apache-2.0
/* What is seen without scrolling: the sentence, and the four facts it rests on. */
#include <string.h>

#include "base/units.h"
#include "facts/host.h"
#include "sink/html_parts.h"
#include "sink/view.h"

#define RUNNERS 3

/* Of a log what it has: a date, its stamp as it stands there, or the kernel's own seconds. */
static void put_time(struct html_view *view)
{
	const struct incident_log *log = &view->incident->log;
	bool imported = view_imported(view->incident);
	char text[64];
	struct buf date;

	buf_init(&date, text, sizeof(text));
	if (!imported)
		units_local_date(&date, view_wall_ns(view->context, view->incident->time_ns));
	else if (log->has_time)
		units_local_date(&date, log->wall_ns);
	else if (log->has_mono && log->stamp[0] == '\0')
		buf_printf(&date, "%llu.%06llu s after boot",
			(unsigned long long)(log->mono_ns / 1000000000),
			(unsigned long long)(log->mono_ns / 1000 % 1000000));
	if (date.len > 0)
		html_raw(&view->out, text);
	else
		html_text(&view->out, log->stamp[0] != '\0' ? log->stamp : "no time in the log");
}

static void put_span(struct html_view *view, const char *before, const char *bytes)
{
	if (bytes[0] == '\0')
		return;
	html_printf(&view->out, "<span>%s", before);
	html_text(&view->out, bytes);
	html_raw(&view->out, "</span>");
}

static void put_top(struct html_view *view)
{
	struct html_out *out = &view->out;

	html_raw(out, "<header><p class=\"top\"><b>oomsnoop</b>");
	if (view->page->id > 0)
		html_printf(out, "<span>incident %lld</span>", (long long)view->page->id);
	html_raw(out, "<span>");
	put_time(view);
	html_raw(out, "</span>");
	put_span(view, "", view->context->host->hostname);
	put_span(view, "Linux ", view->context->host->kernel);
	html_raw(out, "</p>\n");
}

/* The first verdict and what it rests on, unless the headline says it. */
static void put_summary(struct html_view *view)
{
	const struct verdict *first = view_first(view->judgement);
	struct html_out *out = &view->out;

	if (first == NULL || view_headline_says(first->id))
		return;
	html_raw(out, "<p class=\"summary\">");
	if (first->confidence == CONFIDENCE_LIKELY)
		html_raw(out, "Likely: ");
	else if (first->confidence == CONFIDENCE_POSSIBLE)
		html_raw(out, "Possibly: ");
	html_text(out, first->claim);
	html_raw(out, "</p>\n<p class=\"say\">");
	for (unsigned int i = 0; i < first->evidence_count && i < VERDICT_EVIDENCE; i++) {
		html_raw(out, i > 0 ? "; " : "");
		html_text(out, first->evidence[i]);
	}
	html_raw(out, "</p>\n");
}

static void put_headline(struct html_view *view)
{
	struct html_out *out = &view->out;
	bool killed = view->incident->outcome == OUTCOME_KILLED ||
		      view->incident->outcome == OUTCOME_PANIC;

	put_top(view);
	html_printf(out, "<h1><span class=\"tag%s\">%s</span> ", killed ? "" : " calm",
		view->words.tag);
	html_words_put(out, &view->words, "headline", 0);
	html_raw(out, "</h1>\n");
	put_summary(view);
	html_paragraph(view, "where", "where", 0);
	html_paragraph(view, "where", "where", 1);
	html_paragraph(view, "where", "where", 2);
	if (view->page->damage != NULL) {
		html_raw(out, "<p class=\"damage\" role=\"alert\">Damaged: ");
		html_text(out, view->page->damage);
		html_raw(out, "</p>\n");
	}
	html_raw(out, "</header>\n");
}

static void card(struct html_view *view, const char *question)
{
	html_printf(&view->out, "<div class=\"card\"><h2>%s</h2>\n", question);
}

static void card_end(struct html_view *view)
{
	html_raw(&view->out, "</div>\n");
}

/* --- who --- */

static const char *leaf_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static const char *nobody_text(const struct incident *incident)
{
	if (incident->outcome == OUTCOME_UNKNOWN && view_imported(incident))
		return "not in the log";
	return incident->outcome == OUTCOME_PANIC ? "the kernel itself" : "nobody";
}

static void put_who(struct html_view *view)
{
	const struct incident *incident = view->incident;
	uint32_t total = view_victims_total(incident);
	struct html_out *out = &view->out;

	card(view, incident->outcome == OUTCOME_ALREADY_EXITING ? "Who was dying" : "Who died");
	if (incident->victim_count == 0) {
		html_printf(out, "<p class=\"big\">%s</p>\n", nobody_text(incident));
		html_paragraph(view, "say", "after", 0);
	} else {
		const struct task_facts *task = view_victim(incident, 0);

		html_raw(out, "<p class=\"big\">");
		html_name(out, view_comm_known(task) ? task->comm : "pid ", task->tgid);
		html_raw(out, "</p>\n");
		if (total > 1)
			html_printf(out, "<p class=\"in\">and %u more</p>\n", total - 1);
		if (incident->victim_cgroup[0] != '\0') {
			html_raw(out, "<p class=\"in\">in <code>");
			html_text(out, leaf_of(incident->victim_cgroup));
			html_raw(out, "</code></p>\n");
		}
		html_paragraph(view, "say clamp", "victim", 1);
		html_paragraph(view, "say clamp", "victim", 0);
	}
	card_end(view);
}

/* --- which limit --- */

/* A bar of two parts: `part` of `whole`. */
static void put_meter(struct html_view *view, const char *name, uint64_t part, uint64_t whole)
{
	struct html_out *out = &view->out;
	double share = whole > 0 ? (double)part / (double)whole * 100 : 0;

	if (share > 100)
		share = 100;
	html_printf(out,
		"<svg class=\"meter\" viewBox=\"0 0 100 6\" preserveAspectRatio=\"none\" role=\"img\" "
		"aria-label=\"%s: %.1f %%\"><rect class=\"rest\" width=\"100\" height=\"6\"/>"
		"<rect class=\"part\" width=\"%.2f\" height=\"6\"/></svg>",
		name, share, share);
}

static void put_amount(struct html_view *view, const char *name, uint64_t bytes)
{
	html_printf(&view->out, "<div><dt>%s</dt><dd>", name);
	html_bytes(&view->out, bytes);
	html_raw(&view->out, "</dd></div>\n");
}

static void put_limit_machine(struct html_view *view)
{
	const struct host_memory *host = &view->incident->host;
	struct html_out *out = &view->out;

	if (host->total_bytes == UNKNOWN_U64) {
		html_raw(out, "<p class=\"big\">not known</p>\n");
		return;
	}
	html_raw(out, "<p class=\"big\">");
	html_bytes(out, host->total_bytes);
	html_raw(out, view->judgement->scope == SCOPE_GLOBAL ? " <small>all RAM</small></p>\n"
							     : " <small>RAM</small></p>\n");
	html_raw(out, "<dl class=\"amounts\">");
	if (view_imported(view->incident) && host->free_bytes <= host->total_bytes) {
		put_amount(view, "free", host->free_bytes);
		put_meter(view, "free", host->free_bytes, host->total_bytes);
	}
	if (host->available_bytes <= host->total_bytes) {
		put_amount(view, "in use", host->total_bytes - host->available_bytes);
		put_meter(view, "in use", host->total_bytes - host->available_bytes,
			host->total_bytes);
	}
	if (host->swap_total_bytes != UNKNOWN_U64)
		put_amount(view, "swap", host->swap_total_bytes);
	if (host->swap_total_bytes != UNKNOWN_U64 && host->swap_total_bytes > 0 &&
		host->swap_free_bytes <= host->swap_total_bytes) {
		put_amount(view, "swap in use", host->swap_total_bytes - host->swap_free_bytes);
		put_meter(view, "swap in use", host->swap_total_bytes - host->swap_free_bytes,
			host->swap_total_bytes);
	}
	html_raw(out, "</dl>\n");
}

static void put_limit_cgroup(struct html_view *view, const struct incident_level *level)
{
	const struct host_memory *host = &view->incident->host;
	struct html_out *out = &view->out;
	uint64_t limit = UNKNOWN_U64, usage = UNKNOWN_U64;

	if (level->max_pages != UNKNOWN_U64 && !view_unlimited(level->max_pages, view->page_size))
		limit = level->max_pages * view->page_size;
	if (level->usage_pages < UINT64_MAX / view->page_size)
		usage = level->usage_pages * view->page_size;
	html_raw(out, "<p class=\"big\">");
	if (limit != UNKNOWN_U64) {
		html_bytes(out, limit);
		html_raw(out, " <small>memory limit</small></p>\n");
	} else {
		html_raw(out, level->max_pages == UNKNOWN_U64
				      ? "<small>its limit is not known</small></p>\n"
				      : "<small>no memory limit of its own</small></p>\n");
	}
	html_raw(out, "<dl class=\"amounts\">");
	if (usage != UNKNOWN_U64) {
		put_amount(view, "in use", usage);
		if (limit != UNKNOWN_U64)
			put_meter(view, "in use of the limit", usage, limit);
	}
	if (host->total_bytes != UNKNOWN_U64) {
		put_amount(view, "the host has", host->total_bytes);
		if (limit != UNKNOWN_U64)
			put_meter(view, "the limit of the host's memory", limit, host->total_bytes);
	}
	html_raw(out, "</dl>\n");
}

static void put_limit(struct html_view *view)
{
	const struct incident_level *level = view_limit(view->incident, view->judgement);

	card(view, "Which limit");
	if (level != NULL && view->judgement->scope == SCOPE_MEMCG && view->page_size > 0)
		put_limit_cgroup(view, level);
	else
		put_limit_machine(view);
	html_paragraph(view, "say", "limit", 0);
	html_paragraph(view, "say", "limit", 1);
	card_end(view);
}

/* --- why that one --- */

/* With its sum; where nobody could be killed, with the reason. */
static void put_runner(struct html_view *view, const struct ranked *ranked, int64_t most)
{
	const struct task_facts *task = &view->incident->candidates[ranked->index].task;
	bool victim = html_is_victim(view->incident, task);

	html_printf(&view->out, "<li%s><span>", victim ? " class=\"victim\"" : "");
	html_name(&view->out, task->comm, task->tgid);
	html_raw(&view->out, "</span><b>");
	if (ranked->immune != NULL)
		html_text(&view->out, ranked->immune);
	else
		html_count(&view->out, ranked->badness.points);
	html_raw(&view->out, "</b>");
	if (ranked->immune == NULL && most > 0 && ranked->badness.points >= 0)
		put_meter(view, "of the highest sum", (uint64_t)ranked->badness.points,
			(uint64_t)most);
	html_raw(&view->out, "</li>\n");
}

static void put_runners(struct html_view *view)
{
	const struct judgement *judgement = view->judgement;
	bool nobody = view->incident->outcome == OUTCOME_NO_KILLABLE;
	bool imported = view_imported(view->incident);
	unsigned int least = imported && view->incident->victim_count == 0 ? 1 : 2;
	int64_t most = 0;

	if (!nobody && (judgement->ranked_count < least ||
			       (judgement->totalpages == UNKNOWN_U64 && !imported)))
		return;
	html_raw(&view->out, "<ol class=\"runners\">\n");
	for (unsigned int i = 0; i < judgement->ranked_count && i < RUNNERS; i++) {
		const struct ranked *ranked = &judgement->ranked[i];

		if (ranked->index >= view->incident->candidate_count ||
			ranked->index >= INCIDENT_CANDIDATES || (ranked->immune != NULL) != nobody)
			continue;
		if (most == 0)
			most = ranked->badness.points;
		put_runner(view, ranked, most);
	}
	html_raw(&view->out, "</ol>\n");
}

static void put_why(struct html_view *view)
{
	const struct judgement *judgement = view->judgement;
	bool nobody = view->incident->outcome == OUTCOME_NO_KILLABLE;
	bool counted = !view_imported(view->incident) || view->incident->log.has_table;
	const char *question = nobody ? "Why nobody" : "Why that one";
	struct html_out *out = &view->out;

	if (!nobody && view->incident->victim_count == 0 && view_imported(view->incident))
		question = "Who was there";
	card(view, question);
	if (judgement->has_badness) {
		html_raw(out, "<p class=\"big\">");
		html_count(out, judgement->badness.points);
		html_raw(out, " <small>pages</small></p>\n");
	} else if (nobody && counted) {
		html_printf(out, "<p class=\"big\">%u <small>weighed, none killable</small></p>\n",
			view->incident->candidate_total);
	}
	html_paragraph(view, "say sum", "chosen", 0);
	put_runners(view);
	card_end(view);
}

/* --- how it grew --- */

static void put_growth(struct html_view *view)
{
	card(view, "How it grew");
	if (!view->incident->growth.valid)
		html_printf(&view->out,
			"<p class=\"big\"><small>no history was kept</small></p>\n"
			"<p class=\"say\">%s</p>\n",
			view_imported(view->incident) ? "A kernel log has none."
						      : "No flight recorder ran.");
	html_paragraph(view, "lead", "growth", 0);
	html_paragraph(view, "say", "growth", 1);
	html_paragraph(view, "say", "growth", 2);
	card_end(view);
}

void html_first(struct html_view *view)
{
	put_headline(view);
	html_raw(&view->out, "<main>\n<div class=\"cards\">\n");
	put_who(view);
	put_limit(view);
	put_why(view);
	put_growth(view);
	html_raw(&view->out, "</div>\n");
}
