// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "sink/html_words.h"
#include "sink/text_parts.h"
#include "sink/view.h"

static void take(const char *label, const char *text, void *arg)
{
	struct html_words *words = arg;
	size_t len;

	text += strspn(text, " ");
	len = strlen(text) + 1;
	if (words->count == HTML_WORDS || len > sizeof(words->room) - words->used)
		return;
	if (label[0] == '\0')
		label = words->count > 0 ? words->items[words->count - 1].label : "headline";
	snprintf(words->items[words->count].label, sizeof(words->items[0].label), "%s", label);
	words->items[words->count].text = memcpy(words->room + words->used, text, len);
	words->count++;
	words->used += len;
}

void html_words_of(struct html_words *words, const struct sink_context *context,
	const struct incident *incident, const struct judgement *judgement)
{
	words->count = 0;
	words->used = 0;
	words->tag = "KILLED";
	if (incident->outcome == OUTCOME_NO_KILLABLE)
		words->tag = "NOBODY KILLED";
	else if (incident->outcome == OUTCOME_ALREADY_EXITING)
		words->tag = "NOT KILLED";
	else if (incident->outcome == OUTCOME_PANIC)
		words->tag = "PANIC";
	else if (incident->outcome == OUTCOME_UNKNOWN && view_imported(incident))
		words->tag = "OOM";
	text_paragraphs(context, incident, judgement, take, words);
}

const char *html_words_get(const struct html_words *words, const char *label, unsigned int index)
{
	for (unsigned int i = 0; i < words->count; i++) {
		if (strcmp(words->items[i].label, label) == 0 && index-- == 0)
			return words->items[i].text;
	}
	return NULL;
}

bool html_words_put(
	struct html_out *out, const struct html_words *words, const char *label, unsigned int index)
{
	const char *text = html_words_get(words, label, index);

	if (text != NULL)
		html_shown(out, text);
	return text != NULL;
}

void html_words_headline(struct html_out *out, const struct html_words *words)
{
	html_raw(out, words->tag);
	html_raw(out, " ");
	html_words_put(out, words, "headline", 0);
}
