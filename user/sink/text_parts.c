// SPDX-License-Identifier: Apache-2.0
/* What the text views of incidents, kills and refusals share. */
#include "sink/text_parts.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"

void text_path(struct buf *text, const char *path)
{
	if (path[0] == '\0')
		buf_puts(text, "a cgroup whose path was not learnt");
	else
		text_terminal(text, path, strlen(path), 0);
}

void text_comma(struct buf *text)
{
	if (text->len > 0)
		buf_puts(text, ", ");
}

void text_headline(
	struct flow *flow, struct buf *text, int64_t wall_ns, const char *tag, const char *claim)
{
	char stamp[32];
	struct buf time;

	buf_init(&time, stamp, sizeof(stamp));
	units_local_time(&time, wall_ns);
	buf_putc(&time, ' ');
	flow_raw(flow, stamp);
	flow_colored(flow, FLOW_YELLOW, tag);
	flow_raw(flow, " ");
	text_terminal(text, claim, strlen(claim), 0);
	flow_take(flow, text);
}

void text_hook(struct buf *text, const struct sink_context *context, const char *purpose)
{
	for (unsigned int i = 0; i < context->hook_count && i < SINK_HOOKS; i++) {
		if (context->hooks[i].hook && !strcmp(context->hooks[i].purpose, purpose))
			buf_puts(text, context->hooks[i].hook);
	}
}

void text_host(struct flow *flow, struct buf *text, const struct host_facts *host, int64_t wall_ns,
	const char *record, uint32_t number)
{
	flow_label(flow, "host");
	text_terminal(text, host->hostname, strlen(host->hostname), 0);
	text_comma(text);
	buf_printf(text, "Linux%c", FLOW_GLUE);
	text_terminal(text, host->kernel, strlen(host->kernel), 0);
	buf_puts(text, ", ");
	units_local_date(text, wall_ns);
	buf_printf(text, ", %s%c%u", record, FLOW_GLUE, number);
	flow_take(flow, text);
}

uint64_t text_resident_pages(const int64_t rss_pages[EV_RSS_COUNTERS])
{
	uint64_t pages = 0;

	for (int i = 0; i < EV_RSS_COUNTERS; i++) {
		if (i != EV_RSS_SWAP && rss_pages[i] > 0)
			pages += (uint64_t)rss_pages[i];
	}
	return pages;
}
