// SPDX-License-Identifier: Apache-2.0
/* What was asked for and not given, in the style of the text view of incidents. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "sink/refusal.h"
#include "sink/text_parts.h"
#include "sink/view.h"

struct refusal_view {
	struct flow flow;
	const struct sink_context *context;
	const struct refusal *refusal;
	const struct refusal_judgement *judgement;
	struct buf scratch;
	char scratch_data[TEXT_SCRATCH];
};

static void put_where(struct refusal_view *view)
{
	if (!view->refusal->cgroup[0])
		return;
	flow_label(&view->flow, "where");
	text_path(&view->scratch, view->refusal->cgroup);
	flow_take(&view->flow, &view->scratch);
}

static void put_asked(struct refusal_view *view)
{
	const struct refusal *refusal = view->refusal;
	const char *error = refusal_error_name(refusal->error);
	struct buf *text = &view->scratch;

	buf_printf(text, "%s, ", refusal_call_name(refusal->call));
	if (refusal->asked_bytes) {
		glue_exact(text, refusal->asked_bytes);
		buf_puts(text, ", ");
	}
	buf_printf(text, "%s%s ", error ? error : "an error",
		refusal->count_is_least ? " at least" : "");
	glue_count(text, (int64_t)refusal->count);
	buf_printf(text, "%c%s", FLOW_GLUE, refusal->count == 1 ? "time" : "times");
	if (refusal->last_ns > refusal->time_ns) {
		buf_puts(text, " in ");
		glue_duration(text, refusal->last_ns - refusal->time_ns);
	}
	if (refusal->processes > 1)
		buf_printf(text, ", by %u processes of this name", refusal->processes);
	if (refusal->before) {
		buf_puts(text, "; ");
		glue_count(text, (int64_t)refusal->before);
		buf_puts(text, " were told before");
	}
	flow_label(&view->flow, "asked");
	flow_take(&view->flow, text);
}

static void put_process(struct refusal_view *view)
{
	const struct refusal *refusal = view->refusal;
	uint32_t page = view->context->host->page_size;
	struct buf *text = &view->scratch;

	flow_label(&view->flow, "process");
	glue_name(text, refusal->comm, refusal->tgid);
	buf_printf(text, ", uid%c%u", FLOW_GLUE, refusal->uid);
	if (refusal->ns_tgid && refusal->ns_tgid != refusal->tgid)
		buf_printf(text, ", pid%c%u in its container", FLOW_GLUE, refusal->ns_tgid);
	if (refusal->flags & EV_REFUSAL_MM) {
		buf_puts(text, ", ");
		glue_pages(text, refusal->total_vm_pages, page);
		buf_puts(text, " mapped, ");
		glue_pages(text, text_resident_pages(refusal->rss_pages), page);
		buf_puts(text, " of it resident, ");
		glue_count(text, refusal->map_count);
		buf_puts(text, " mappings");
	}
	if (refusal->cmdline[0]) {
		text_comma(text);
		text_terminal(text, refusal->cmdline, strlen(refusal->cmdline), 0);
	}
	flow_take(&view->flow, text);
}

static void put_limit(struct buf *text, const char *name, uint64_t bytes)
{
	if (bytes == UNKNOWN_U64)
		return;
	text_comma(text);
	buf_printf(text, "%s ", name);
	glue_bytes(text, bytes);
}

static void put_number(struct buf *text, const char *name, uint64_t value)
{
	if (value == UNKNOWN_U64)
		return;
	text_comma(text);
	buf_printf(text, "%s ", name);
	glue_count(text, (int64_t)value);
}

/* Those that are set, and what the machine allows. */
static void put_limits(struct refusal_view *view)
{
	const struct refusal *refusal = view->refusal;
	const struct allowance *allowance = &refusal->allowance;
	uint32_t page = view->context->host->page_size;
	struct buf *text = &view->scratch;

	put_limit(text, "ulimit -v", refusal->limit_as_bytes);
	put_limit(text, "ulimit -d", refusal->limit_data_bytes);
	put_number(text, "ulimit -u", refusal->limit_nproc);
	if (refusal->flags & EV_REFUSAL_PIDS)
		put_number(text, "pids.max", (uint64_t)refusal->pids_max);
	if (refusal->flags & EV_REFUSAL_LIMIT) {
		text_comma(text);
		glue_pages(text, refusal->limit_usage_pages, page);
		buf_puts(text, " of ");
		glue_pages(text, refusal->limit_max_pages, page);
		buf_puts(text, " used in ");
		text_path(text, refusal->limit_cgroup);
	}
	put_number(text, "vm.overcommit_memory", allowance->overcommit);
	put_limit(text, "Committed_AS", allowance->committed_bytes);
	put_limit(text, "CommitLimit", allowance->commit_limit_bytes);
	put_number(text, "vm.max_map_count", allowance->max_map_count);
	if (!text->len)
		return;
	flow_label(&view->flow, "limits");
	flow_take(&view->flow, text);
}

static void put_source(struct refusal_view *view)
{
	struct buf *text = &view->scratch;

	text_hook(text, view->context, "refused");
	text_comma(text);
	buf_printf(text, "%s", confidence_name(view->judgement->verdicts[0].confidence));
	flow_label(&view->flow, "source");
	flow_take(&view->flow, text);
}

int text_refusal(struct buf *buf, const struct sink_context *context, const struct refusal *refusal,
	const struct refusal_judgement *judgement)
{
	struct refusal_view view = {.context = context, .refusal = refusal, .judgement = judgement};
	size_t start = buf->len;

	flow_init(&view.flow, buf, context->width, context->color);
	buf_init(&view.scratch, view.scratch_data, sizeof(view.scratch_data));
	text_headline(&view.flow, &view.scratch, view_wall_ns(context, refusal->time_ns), "REFUSED",
		judgement->verdicts[0].claim);
	put_where(&view);
	put_asked(&view);
	put_process(&view);
	put_limits(&view);
	put_source(&view);
	text_host(&view.flow, &view.scratch, context->host, view_wall_ns(context, refusal->time_ns),
		"refusal", refusal->number);
	flow_end(&view.flow);
	if (!buf->full)
		return 0;
	buf_rewind(buf, start);
	return -ENOSPC;
}
