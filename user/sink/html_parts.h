/* SPDX-License-Identifier: Apache-2.0 */
/* html_parts.h: the pieces that html_page() is put together from, and the tables in them. */
#ifndef OOMSNOOP_SINK_HTML_PARTS_H
#define OOMSNOOP_SINK_HTML_PARTS_H

#include "sink/html.h"
#include "sink/html_out.h"
#include "sink/html_words.h"
#include "sink/svg_parts.h"

struct html_view {
	struct html_out out;
	const struct html_page *page;
	const struct sink_context *context;
	const struct incident *incident;
	const struct judgement *judgement;
	uint32_t page_size;
	bool has_chart;
	struct svg_scene scene;
	struct html_words words;
};

/* What the build embeds: build/…/page/assets.c, made by tools/page/embed. */
struct html_asset {
	const char *data;
	size_t len;
};

extern const struct html_asset html_style, html_plot_style; /* without a plot: of length 0 */
extern const struct html_asset html_script, html_plot_script;
extern const struct html_asset html_plot_notice;
/* "script-src 'sha256-…'; style-src 'sha256-…'" of exactly these */
extern const char html_policy[];

/* --- tables --- */

struct html_column {
	const char *title;
	bool number; /* at the right, sorted by its value */
	const char *hint; /* NULL, or what the title is short for */
};

/* A section with a heading; id is for links. */
void html_section(struct html_view *view, const char *id, const char *title);
void html_section_end(struct html_view *view);

void html_table(struct html_view *view, const char *caption, const struct html_column *columns,
	unsigned int count);
void html_row(struct html_view *view, bool marked);
void html_row_end(struct html_view *view);
void html_table_end(struct html_view *view);

void html_cell_text(struct html_view *view, const char *bytes); /* arbitrary */
void html_cell_path(struct html_view *view, const char *path); /* "" is said */
void html_cell_below(struct html_view *view, const char *path); /* "…/b": below the limit's */
void html_cell_literal(struct html_view *view, const char *text);
void html_cell_id(struct html_view *view, uint64_t number); /* a pid: no separators */
void html_cell_count(struct html_view *view, int64_t count);
void html_cell_bytes(struct html_view *view, uint64_t bytes); /* UNKNOWN_U64: a dash */
void html_cell_pages(struct html_view *view, uint64_t pages);
void html_cell_signed(struct html_view *view, int64_t bytes);
void html_cell_none(struct html_view *view);

/* A list of names and values; the value is open until html_fact_end(). */
void html_facts(struct html_view *view);
void html_fact(struct html_view *view, const char *name);
void html_fact_end(struct html_view *view);
void html_facts_end(struct html_view *view);

/* A paragraph of the text view, if there is one. */
void html_paragraph(
	struct html_view *view, const char *class, const char *label, unsigned int index);

bool html_is_victim(const struct incident *incident, const struct task_facts *task);
uint64_t html_held_pages(const struct judgement *judgement, const struct task_facts *task);

/* --- sections --- */

void html_first(struct html_view *view); /* what is seen without scrolling, the chart after it */
int html_chart(struct html_view *view);
int html_chart_data(struct html_view *view);
void html_verdicts(struct html_view *view);
void html_victim(struct html_view *view);
void html_sum(struct html_view *view);
void html_candidates(struct html_view *view);
void html_victims(struct html_view *view);
void html_composition(struct html_view *view);
void html_machine(struct html_view *view);
void html_zones(struct html_view *view);
void html_levels(struct html_view *view);
void html_growth(struct html_view *view);
void html_after(struct html_view *view);
void html_kills(struct html_view *view);
void html_missing(struct html_view *view);
void html_source(struct html_view *view);
void html_neighbours(struct html_view *view);
int html_record(struct html_view *view);

#endif /* OOMSNOOP_SINK_HTML_PARTS_H */
