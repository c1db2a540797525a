/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html_words.h: the paragraphs of the text view, by their labels, so that a page says in the same
 * words what a terminal does.
 */
#ifndef OOMSNOOP_SINK_HTML_WORDS_H
#define OOMSNOOP_SINK_HTML_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "sink/html_out.h"
#include "sink/sink.h"

#define HTML_WORDS 96

struct html_words {
	const char *tag; /* "KILLED" */
	unsigned int count;
	struct {
		char label[12]; /* of its own, or of the one that it goes on with */
		const char *text;
	} items[HTML_WORDS];
	size_t used;
	char room[SINK_TEXT_MAX];
};

void html_words_of(struct html_words *words, const struct sink_context *context,
	const struct incident *incident, const struct judgement *judgement);

/* The index-th paragraph under a label; NULL: there is none. */
const char *html_words_get(const struct html_words *words, const char *label, unsigned int index);
/* The same written down, or nothing. Returns whether there was one. */
bool html_words_put(struct html_out *out, const struct html_words *words, const char *label,
	unsigned int index);
/* "KILLED python3[31415]: its cgroup hit its 16.0 GiB memory limit" */
void html_words_headline(struct html_out *out, const struct html_words *words);

#endif /* OOMSNOOP_SINK_HTML_WORDS_H */
