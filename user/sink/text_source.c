// SPDX-License-Identifier: Apache-2.0
/* The last paragraphs of the text view: what is missing and why, and who told all of it. */
#include <string.h>

#include "base/text.h"
#include "sink/text_parts.h"
#include "sink/view.h"

#define MISSING_FIELDS 4 /* named for one reason; the record has them all */
#define HOOKS_NAMED 2

static bool is_first_of_reason(const struct judgement *judgement, unsigned int index)
{
	for (unsigned int i = 0; i < index; i++) {
		if (strcmp(judgement->missing[i].why, judgement->missing[index].why) == 0)
			return false;
	}
	return true;
}

/* All fields that are missing for the reason of the one at `first`. */
static void put_reason(struct text_view *view, unsigned int first, unsigned int count)
{
	const struct missing *missing = view->judgement->missing;
	struct buf *text = &view->scratch;
	unsigned int fields = 0;

	for (unsigned int i = first; i < count; i++) {
		if (strcmp(missing[i].why, missing[first].why) != 0)
			continue;
		if (fields < MISSING_FIELDS)
			buf_printf(text, "%s%s", fields > 0 ? ", " : "", missing[i].field);
		fields++;
	}
	if (fields > MISSING_FIELDS)
		buf_printf(text, " and%c%u%cmore", FLOW_GLUE, fields - MISSING_FIELDS, FLOW_GLUE);
	buf_printf(text, ": %s", missing[first].why);
}

void text_missing(struct text_view *view)
{
	unsigned int count = view->judgement->missing_count;

	if (count > MISSING_MAX)
		count = MISSING_MAX;
	if (count == 0)
		return;
	flow_label(&view->flow, "missing");
	for (unsigned int i = 0; i < count; i++) {
		if (!is_first_of_reason(view->judgement, i))
			continue;
		if (i > 0)
			buf_puts(&view->scratch, "; ");
		put_reason(view, i, count);
	}
	flow_take(&view->flow, &view->scratch);
}

/* What the record has from there, and not from the kernel's structures. */
static void put_taken(struct text_view *view)
{
	const struct incident *incident = view->incident;
	bool limit = !incident->has_oc && incident->log.has_scope;

	if (limit)
		buf_puts(&view->scratch, ", and tells whose limit it was");
	if (incident->stat_at_kill)
		buf_puts(&view->scratch, limit ? " and what filled it at the kill"
					       : ", and tells what filled the limit at the kill");
}

static void put_kernel_log(struct text_view *view)
{
	const struct incident *incident = view->incident;
	struct buf *text = &view->scratch;

	switch (incident->kmsg) {
	case KMSG_AGREES:
		buf_puts(text, "the kernel log agrees");
		put_taken(view);
		break;
	case KMSG_DIFFERS:
		buf_puts(text, "THE KERNEL LOG DIFFERS: ");
		text_terminal(
			text, incident->kmsg_difference, strlen(incident->kmsg_difference), 0);
		put_taken(view);
		break;
	case KMSG_NOT_SEEN:
		buf_puts(text, "the kernel log has no line of it so far");
		break;
	default:
		buf_puts(text, "the kernel log was not readable");
	}
}

static void put_hooks(struct text_view *view)
{
	const struct sink_context *context = view->context;
	struct buf *text = &view->scratch;
	unsigned int named = 0, served = 0;

	for (unsigned int i = 0; i < context->hook_count && i < SINK_HOOKS; i++) {
		if (context->hooks[i].hook == NULL)
			continue;
		if (served++ >= HOOKS_NAMED)
			continue;
		text_comma(text);
		buf_puts(text, context->hooks[i].hook);
		named++;
	}
	if (served > named)
		buf_printf(text, " and%c%u more %s", FLOW_GLUE, served - named,
			served - named == 1 ? "hook" : "hooks");
	if (served > 0)
		buf_puts(text, "; ");
}

static void put_observed(struct text_view *view)
{
	const struct incident_self *self = &view->incident->self;
	struct buf *text = &view->scratch;

	buf_printf(text, "the files of its own cgroup alone: within%c", FLOW_GLUE);
	glue_duration(text, incident_within_ns(view->incident));
	buf_printf(text, " the kernel counted %u %s and %u %s", self->kills,
		self->kills == 1 ? "kill" : "kills", self->vanished,
		self->vanished == 1 ? "process vanished" : "processes vanished");
	if (self->certainty == SELF_CERTAIN)
		buf_puts(text, self->vanished == 1 ? ", by SIGKILL" : ", all by SIGKILL");
	else if (self->certainty == SELF_LIKELY)
		buf_puts(text, self->vanished > self->kills
				       ? ": the victim was the largest by far"
				       : ": that these belong together is likely, and no more");
	if (self->unseen)
		buf_printf(
			text, "; of %u nobody was seen: who lives briefly is missed", self->unseen);
	if (self->hidden)
		buf_printf(text, "; %u processes of it cannot be seen from here", self->hidden);
}

void text_source(struct text_view *view)
{
	struct buf *text = &view->scratch;

	flow_label(&view->flow, "source");
	if (view_imported(view->incident)) {
		buf_puts(text,
			view->incident->log.followed ? "the kernel log alone" : "a kernel log");
		if (view->incident->log.page_size_assumed)
			buf_puts(text, ", pages taken for 4 KiB");
		flow_take(&view->flow, text);
		return;
	}
	if (view_self(view->incident)) {
		put_observed(view);
		flow_take(&view->flow, text);
		return;
	}
	put_hooks(view);
	put_kernel_log(view);
	if (view->incident->lost_events > 0)
		buf_printf(text, "; LOST %llu records of this kill",
			(unsigned long long)view->incident->lost_events);
	else
		buf_puts(text, "; 0 lost");
	flow_take(&view->flow, text);
}
