// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "sink/text_flow.h"

#define NAME_COLUMNS 32 /* of a name: 15 bytes, each of which may be shown as \xNN */

void flow_init(struct flow *flow, struct buf *out, int width, bool color)
{
	flow->out = out;
	flow->width = width <= 0	       ? FLOW_WIDTH
		      : width < FLOW_WIDTH_MIN ? FLOW_WIDTH_MIN
					       : (size_t)width;
	flow->column = 0;
	flow->color = color;
	flow->taker = NULL;
}

void flow_hand_on(struct flow *flow, flow_taker *taker, void *arg)
{
	flow->out = NULL;
	flow->width = SIZE_MAX / 4; /* nothing is cut to fit a line */
	flow->column = 0;
	flow->color = false;
	flow->taker = taker;
	flow->arg = arg;
	flow->label = "";
}

static void put_indent(struct flow *flow)
{
	while (flow->column < FLOW_GUTTER) {
		buf_putc(flow->out, ' ');
		flow->column++;
	}
}

static void break_line(struct flow *flow)
{
	buf_putc(flow->out, '\n');
	flow->column = 0;
	put_indent(flow);
}

void flow_colored(struct flow *flow, const char *color, const char *text)
{
	if (flow->taker)
		return;
	if (flow->color)
		buf_printf(flow->out, "\033[%sm", color);
	flow_raw(flow, text);
	if (flow->color)
		buf_puts(flow->out, "\033[0m");
}

void flow_label(struct flow *flow, const char *label)
{
	if (flow->taker) {
		flow->label = label;
		return;
	}
	flow_end(flow);
	if (label[0] != '\0') {
		buf_putc(flow->out, ' ');
		flow->column = 1;
		flow_colored(flow, FLOW_BOLD, label);
	}
	put_indent(flow);
}

void flow_end(struct flow *flow)
{
	if (flow->column > 0)
		buf_putc(flow->out, '\n');
	flow->column = 0;
}

static size_t character_at(const char *text, size_t len, size_t *ret_columns)
{
	size_t step = utf8_sequence(text, len);

	if (step == 0)
		step = 1;
	*ret_columns = text[0] == FLOW_GLUE ? 1 : text_columns(text, step);
	return step;
}

static size_t columns_of(const char *text, size_t len)
{
	size_t columns = 0, width;

	for (size_t at = 0; at < len;) {
		at += character_at(text + at, len - at, &width);
		columns += width;
	}
	return columns;
}

/* How much of a long word goes on this line: bytes, ending at the best place to break. */
static size_t fitting(const struct flow *flow, const char *word, size_t len)
{
	size_t column = flow->column, best = 0, at = 0;

	while (at < len) {
		size_t width, step = character_at(word + at, len - at, &width);

		if (column + width > flow->width)
			return best > 0 ? best : at;
		column += width;
		at += step;
		if (word[at - step] == '/' || word[at - step] == '|')
			best = at;
	}
	return len;
}

static void put_piece(struct flow *flow, const char *piece, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buf_putc(flow->out, piece[i] == FLOW_GLUE ? ' ' : piece[i]);
	flow->column += columns_of(piece, len);
}

static void put_word(struct flow *flow, const char *word, size_t len, bool blank_before)
{
	size_t columns = columns_of(word, len), blank = blank_before ? 1 : 0;

	if (flow->column + blank + columns <= flow->width) {
		if (blank_before && flow->column > FLOW_GUTTER)
			put_piece(flow, " ", 1);
		put_piece(flow, word, len);
		return;
	}
	if (flow->column > FLOW_GUTTER)
		break_line(flow);
	while (len > 0) {
		size_t piece = fitting(flow, word, len);

		if (piece == 0)
			return; /* not one character fits: the line is too narrow for anything */
		put_piece(flow, word, piece);
		word += piece;
		len -= piece;
		if (len > 0)
			break_line(flow);
	}
}

void flow_text(struct flow *flow, const char *text)
{
	bool blank_before = false;

	while (*text != '\0') {
		size_t len = strcspn(text, " ");

		if (len > 0)
			put_word(flow, text, len, blank_before);
		text += len;
		blank_before = *text == ' ';
		text += strspn(text, " ");
	}
}

void flow_take(struct flow *flow, struct buf *scratch)
{
	if (flow->taker) {
		flow->taker(flow->label, scratch->data, flow->arg);
		if (scratch->full)
			flow->taker("", "\xe2\x80\xa6", flow->arg);
		buf_reset(scratch);
		return;
	}
	flow_text(flow, scratch->data);
	if (scratch->full)
		flow_text(flow, " \xe2\x80\xa6");
	buf_reset(scratch);
}

void flow_raw(struct flow *flow, const char *text)
{
	if (flow->taker)
		return;
	put_piece(flow, text, strlen(text));
}

static void glue_from(struct buf *buf, size_t start)
{
	for (size_t i = start; i < buf->len; i++) {
		if (buf->data[i] == ' ')
			buf->data[i] = FLOW_GLUE;
	}
}

void glue_bytes(struct buf *buf, uint64_t bytes)
{
	size_t start = buf->len;

	units_bytes(buf, bytes);
	glue_from(buf, start);
}

void glue_exact(struct buf *buf, uint64_t bytes)
{
	if (bytes % 1024 == 0 && bytes > 0 && bytes < (10U << 20))
		buf_printf(buf, "%u%cKiB", (unsigned int)(bytes / 1024), FLOW_GLUE);
	else
		glue_bytes(buf, bytes);
}

void glue_pages(struct buf *buf, uint64_t pages, uint32_t page_size)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(pages, (uint64_t)page_size, &bytes))
		bytes = UINT64_MAX;
	glue_bytes(buf, bytes);
}

void glue_duration(struct buf *buf, uint64_t ns)
{
	size_t start = buf->len;

	units_duration_ns(buf, ns);
	glue_from(buf, start);
}

void glue_count(struct buf *buf, int64_t count)
{
	units_count(buf, count);
}

void glue_name(struct buf *buf, const char *comm, uint32_t pid)
{
	size_t start = buf->len;

	text_terminal(buf, comm, strlen(comm), NAME_COLUMNS);
	buf_printf(buf, "[%u]", pid);
	glue_from(buf, start);
}
