/* SPDX-License-Identifier: Apache-2.0 */
/* text_parts.h: the pieces that text_incident() is put together from. */
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

void text_events(struct text_view *view);
void text_history(struct text_view *view);
void text_victim(struct text_view *view);
void text_chosen(struct text_view *view);
void text_top(struct text_view *view);
void text_killed(struct text_view *view);
void text_missing(struct text_view *view);
void text_source(struct text_view *view);

/* Between two items, where there is one before. */
void text_comma(struct buf *text);

/* All paragraphs of the text view, one by one, for who lays them out otherwise: the headline
 * without time and tag first, without a label. Tables are left out. */
void text_paragraphs(const struct sink_context *context, const struct incident *incident,
	const struct judgement *judgement, flow_taker *taker, void *arg);

#endif /* OOMSNOOP_SINK_TEXT_PARTS_H */
