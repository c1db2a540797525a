/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_flow.h: paragraphs with a label in a gutter, wrapped at word borders.
 *
 * Text given to a flow must be harmless already (text_terminal()); a FLOW_GLUE in it is written as
 * a blank at which no line is broken. Words longer than a line are broken after '/' or '|', since
 * they are paths and flags as a rule, and anywhere else if that does not help.
 */
#ifndef OOMSNOOP_SINK_TEXT_FLOW_H
#define OOMSNOOP_SINK_TEXT_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define FLOW_GLUE '\x1f'
#define FLOW_GUTTER 9
#define FLOW_WIDTH 80 /* where no width is given */
#define FLOW_WIDTH_MIN 40

#define FLOW_RED "1;31"
#define FLOW_YELLOW "1;33"
#define FLOW_BOLD "1"

/* A paragraph as one text, each FLOW_GLUE in it still there. Label "": it goes on with the one
 * before. */
typedef void flow_taker(const char *label, const char *text, void *arg);

struct flow {
	struct buf *out;
	size_t width;
	size_t column;
	bool color;
	/* Paragraphs are handed on instead of laid out; what is no paragraph is left out. */
	flow_taker *taker; /* NULL: laid out */
	void *arg;
	const char *label;
};

void flow_init(struct flow *flow, struct buf *out, int width, bool color);
void flow_hand_on(struct flow *flow, flow_taker *taker, void *arg);

/* A line break where one is due, and the label in the gutter; "" for a line without one. */
void flow_label(struct flow *flow, const char *label);
void flow_text(struct flow *flow, const char *text);
/* The same of a scratch buffer, which is then empty again. A text that it had no room for shows its
 * cut as "…". */
void flow_take(struct flow *flow, struct buf *scratch);
/* As it stands, without looking for a line end: for what is known to fit. */
void flow_raw(struct flow *flow, const char *text);
void flow_colored(struct flow *flow, const char *color, const char *text);
void flow_end(struct flow *flow);

/* Into scratch text, each in one piece: no line ends within. */
void glue_bytes(struct buf *buf, uint64_t bytes);
void glue_exact(struct buf *buf, uint64_t bytes); /* "4 KiB" for sizes that come in whole pages */
void glue_pages(struct buf *buf, uint64_t pages, uint32_t page_size);
void glue_duration(struct buf *buf, uint64_t ns);
void glue_count(struct buf *buf, int64_t count);
void glue_name(struct buf *buf, const char *comm, uint32_t pid); /* python3[31415] */

#endif /* OOMSNOOP_SINK_TEXT_FLOW_H */
