/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_page.h: which incidents of a stream are told, the last few of them alone, and a page on
 * the last. A stream cannot be gone back in: what may still be asked for at its end is held in
 * memory, records as they are written (--last N), or the one incident that is the last so far.
 */
#ifndef OOMSNOOP_CMD_PARSE_PAGE_H
#define OOMSNOOP_CMD_PARSE_PAGE_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/select.h"
#include "facts/host.h"
#include "judge/judgement.h"
#include "model/incident.h"

#define PARSE_LAST_MAX 10000 /* records that --last may ask for */

struct page_options {
	struct selection selection; /* ids: the incident's number in the input */
	const char *html; /* NULL: records */
};

/* A part of another argp; its input is a struct page_options of zeros. */
extern const struct argp page_argp;

/* Nothing is written to stdout but by page_end(). */
static inline bool page_wanted(const struct page_options *options)
{
	return options->html;
}

struct parse_page;

struct parse_page *page_new(const struct page_options *options); /* NULL: no memory */
void page_free(struct parse_page *page);

/* False: it was not asked for. A page's is kept until a later one takes its place. */
bool page_takes(struct parse_page *page, const struct incident *incident,
	const struct judgement *judgement, const struct host_facts *host);
/* How many it took, of all that it was shown. */
uint64_t page_taken(const struct parse_page *page);

/* A record that may be among the last: kept, the oldest goes. -ENOMEM. */
int page_hold(struct parse_page *page, const char *record, size_t len);
/* Hands the records that are held to write(), oldest first, until it returns other than 0. */
int page_release(
	struct parse_page *page, int (*write)(const char *data, size_t len, void *arg), void *arg);

/* Writes the page. An exit status, after words on stderr: 1, there is no incident for it. */
int page_end(struct parse_page *page);

#endif /* OOMSNOOP_CMD_PARSE_PAGE_H */
