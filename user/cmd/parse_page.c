// SPDX-License-Identifier: Apache-2.0
#include "cmd/parse_page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "cmd/outfile.h"
#include "sink/html.h"
#include "sink/view.h"

#define NEIGHBOURS 100 /* the newest */

/* --- options --- */

enum { OPTION_HTML = 0x600 };

static const struct argp_option option_table[] = {
	{"html", OPTION_HTML, "OUT", 0,
		"Write a page on the last of these incidents to OUT (- for stdout), in place of the "
		"records. A log has no series, so there is no chart on it",
		6},
	{NULL, 0, NULL, 0, NULL, 0},
};

static const struct argp_child children[] = {
	{&selection_inside_argp, 0, "Which incidents (N: by their order in the input):", 4},
	{NULL, 0, NULL, 0}};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct page_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		selection_init(&options->selection);
		state->child_inputs[0] = &options->selection;
		return 0;
	case OPTION_HTML:
		options->html = value;
		return 0;
	case ARGP_KEY_END:
		if (options->selection.last > PARSE_LAST_MAX)
			argp_error(state, "--last: more than %d are not held in memory",
				PARSE_LAST_MAX);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp page_argp = {
	.options = option_table, .parser = parse_option, .children = children};

/* --- what is held --- */

struct held {
	char *data;
	size_t len;
};

struct parse_page {
	const struct page_options *options;
	uint64_t taken;

	/* the last records: a ring */
	size_t held_count, held_next;
	struct held *held;

	/* the incident of the page, and those before it: a ring of the newest */
	struct incident incident;
	struct judgement judgement;
	struct host_facts host;
	uint64_t neighbour_total;
	struct html_neighbour neighbours[NEIGHBOURS];
	struct html_neighbour sorted[NEIGHBOURS];
	struct outfile out;
};

struct parse_page *page_new(const struct page_options *options)
{
	struct parse_page *page = calloc(1, sizeof(*page));

	if (!page)
		return NULL;
	page->options = options;
	if (options->selection.last && !page_wanted(options))
		page->held = calloc(options->selection.last, sizeof(*page->held));
	if (options->selection.last && !page_wanted(options) && !page->held) {
		free(page);
		return NULL;
	}
	return page;
}

void page_free(struct parse_page *page)
{
	if (!page)
		return;
	for (size_t i = 0; page->held && i < page->options->selection.last; i++)
		free(page->held[i].data);
	free(page->held);
	free(page);
}

uint64_t page_taken(const struct parse_page *page)
{
	return page->taken;
}

static const char *claim_of(const struct judgement *judgement)
{
	const struct verdict *first = view_first(judgement);

	return first ? first->claim : "";
}

/* The one that was the last so far is one among others from now on. */
static void put_aside(struct parse_page *page)
{
	struct html_neighbour *one = &page->neighbours[page->neighbour_total++ % NEIGHBOURS];

	one->id = page->incident.number;
	one->time_ns = page->incident.log.has_time ? page->incident.log.wall_ns : HTML_TIME_UNKNOWN;
	snprintf(one->claim, sizeof(one->claim), "%s", claim_of(&page->judgement));
}

bool page_takes(struct parse_page *page, const struct incident *incident,
	const struct judgement *judgement, const struct host_facts *host)
{
	if (!selection_passes(
		    &page->options->selection, (int64_t)incident->number, incident, judgement))
		return false;
	if (page_wanted(page->options)) {
		if (page->taken)
			put_aside(page);
		page->incident = *incident;
		page->judgement = *judgement;
		page->host = *host;
	}
	page->taken++;
	return true;
}

int page_hold(struct parse_page *page, const char *record, size_t len)
{
	struct held *held = &page->held[page->held_next];
	char *copy = malloc(len + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, record, len);
	free(held->data);
	*held = (struct held) {copy, len};
	page->held_next = (page->held_next + 1) % page->options->selection.last;
	if (page->held_count < page->options->selection.last)
		page->held_count++;
	return 0;
}

int page_release(
	struct parse_page *page, int (*write)(const char *data, size_t len, void *arg), void *arg)
{
	size_t size = page->options->selection.last;
	int ret = 0;

	for (size_t i = 0; !ret && i < page->held_count; i++) {
		size_t at = (page->held_next + size - page->held_count + i) % size;

		ret = write(page->held[at].data, page->held[at].len, arg);
	}
	return ret;
}

/* --- the page --- */

static int write_piece(const char *data, size_t len, void *arg)
{
	return outfile_put(arg, data, len);
}

static int put_page(struct parse_page *page)
{
	struct sink_context context = {.host = &page->host};
	size_t count =
		page->neighbour_total < NEIGHBOURS ? (size_t)page->neighbour_total : NEIGHBOURS;
	struct html_page html = {
		.context = &context,
		.id = page->incident.number,
		.incident = &page->incident,
		.judgement = &page->judgement,
		.neighbours = page->sorted,
		.neighbour_count = count,
		.neighbour_total = page->neighbour_total,
	};
	int err = outfile_open(&page->out, page->options->html);

	if (err)
		return err;
	for (size_t i = 0; i < count; i++)
		page->sorted[i] =
			page->neighbours[(page->neighbour_total - count + i) % NEIGHBOURS];
	err = html_page(&html, write_piece, &page->out);
	if (!err)
		err = outfile_commit(&page->out);
	outfile_discard(&page->out);
	return err;
}

int page_end(struct parse_page *page)
{
	const char *path = page->options->html;
	int err;

	if (!page->taken) {
		fprintf(stderr,
			"oomsnoop: parse: %s: not written: there is no incident to make a "
			"page of\n",
			path);
		return 1;
	}
	err = put_page(page);
	if (!err || err == -EPIPE) /* who reads no further has what it wanted */
		return 0;
	fprintf(stderr, "oomsnoop: parse: %s: %s\n", strcmp(path, "-") ? path : "stdout",
		strerror(-err));
	if (err == -ENOMEM)
		return 1;
	return err == -EACCES || err == -EPERM ? EX_NOPERM : EX_IOERR;
}
