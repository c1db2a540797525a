/* SPDX-License-Identifier: Apache-2.0 */
/* text_parts.h: the pieces that the text views are put together from. */
#ifndef OOMSNOOP_SINK_TEXT_PARTS_H
#define OOMSNOOP_SINK_TEXT_PARTS_H

#include "sink/sink.h"
#include "sink/text_flow.h"

/* One paragraph before it is wrapped: two cgroup paths of which every byte is shown as \xNN. */
#define TEXT_SCRATCH (12U << 10)

struct text_view {
	struct flow flow;
	const struct sink_context *context;
	const struct incident *incident;
	const struct judgement *judgement;
	struct buf scratch;
	char scratch_data[TEXT_SCRATCH];
};

/* Of a cgroup, or that it was not learnt. */
void text_path(struct buf *text, const char *path);
/* Between two items, where there is one before. */
void text_comma(struct buf *text);
/* The hook that served this purpose, if one did. */
void text_hook(struct buf *text, const struct sink_context *context, const char *purpose);
/* anon, file and shmem; a counter below 0 is 0, as the kernel takes it. */
uint64_t text_resident_pages(const int64_t rss_pages[EV_RSS_COUNTERS]);

/* A first line and a last one, each by way of the scratch `text`: when, in a word what, and the
 * claim of the first verdict; whose kernel, and which record (what it is called, its number). */
void text_headline(
	struct flow *flow, struct buf *text, int64_t wall_ns, const char *tag, const char *claim);
void text_host(struct flow *flow, struct buf *text, const struct host_facts *host, int64_t wall_ns,
	const char *record, uint32_t number);

void text_events(struct text_view *view);
void text_history(struct text_view *view);
void text_victim(struct text_view *view);
void text_chosen(struct text_view *view);
void text_top(struct text_view *view);
void text_killed(struct text_view *view);
void text_missing(struct text_view *view);
void text_source(struct text_view *view);

/* All paragraphs of the text view, one by one, for who lays them out otherwise: the headline
 * without time and tag first, without a label. Tables are left out. */
void text_paragraphs(const struct sink_context *context, const struct incident *incident,
	const struct judgement *judgement, flow_taker *taker, void *arg);

#endif /* OOMSNOOP_SINK_TEXT_PARTS_H */
