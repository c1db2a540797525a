// SPDX-License-Identifier: Apache-2.0
/* Who killed, in the style of the text view of incidents. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "judge/whose.h"
#include "sink/kill.h"
#include "sink/text_parts.h"
#include "sink/text_whose.h"
#include "sink/view.h"

#define TARGETS_NAMED 6

struct kill_view {
	struct flow flow;
	const struct sink_context *context;
	const struct killing *killing;
	const struct kill_judgement *judgement;
	struct buf scratch;
	char scratch_data[TEXT_SCRATCH];
};

static void put_where(struct kill_view *view)
{
	const struct container_path *where = &view->judgement->where;
	const struct container_names *names = &view->killing->names;
	const char *label = "where";

	if (text_whose_names(&view->scratch, where, names, whose_runtime(where, names))) {
		flow_label(&view->flow, label);
		flow_take(&view->flow, &view->scratch);
		label = "";
	}
	if (!view->killing->target_cgroup[0])
		return;
	flow_label(&view->flow, label);
	text_path(&view->scratch, view->killing->target_cgroup);
	flow_take(&view->flow, &view->scratch);
}

/* The first one's claim is the headline. */
static void put_why(struct kill_view *view)
{
	struct buf *text = &view->scratch;

	for (unsigned int i = 1; i < view->judgement->verdict_count && i < KILL_VERDICTS; i++) {
		const struct verdict *verdict = &view->judgement->verdicts[i];

		flow_label(&view->flow, i == 1 ? "why" : "");
		if (verdict->confidence != CONFIDENCE_CERTAIN)
			buf_printf(text, "%s: ", confidence_name(verdict->confidence));
		text_terminal(text, verdict->claim, strlen(verdict->claim), 0);
		flow_take(&view->flow, text);
	}
}

static void put_cmdline(struct kill_view *view, const char *cmdline)
{
	struct buf *text = &view->scratch;

	if (!cmdline[0])
		return;
	text_comma(text);
	text_terminal(text, cmdline, strlen(cmdline), 0);
}

static void put_sender(struct kill_view *view)
{
	const struct killing *killing = view->killing;
	struct buf *text = &view->scratch;

	flow_label(&view->flow, "sender");
	glue_name(text, killing->sender_comm, killing->sender_tgid);
	buf_printf(text, ", uid%c%u, child of ", FLOW_GLUE, killing->sender_uid);
	glue_name(text, killing->sender_parent, killing->sender_ppid);
	put_cmdline(view, killing->sender_cmdline);
	if (killing->sender_cgroup[0]) {
		buf_puts(text, ", in ");
		text_path(text, killing->sender_cgroup);
	}
	flow_take(&view->flow, text);
}

static void put_target(struct kill_view *view)
{
	const struct killing *killing = view->killing;
	const struct killing_target *target = &killing->targets[0];
	struct buf *text = &view->scratch;

	flow_label(&view->flow, "target");
	glue_name(text, target->comm, target->tgid);
	buf_printf(text, ", uid%c%u", FLOW_GLUE, target->uid);
	if (target->ns_tgid && target->ns_tgid != target->tgid)
		buf_printf(text, ", pid%c%u in its container", FLOW_GLUE, target->ns_tgid);
	if (killing->time_ns > target->start_ns) {
		buf_puts(text, ", up ");
		glue_duration(text, killing->time_ns - target->start_ns);
	}
	buf_puts(text, ", held ");
	glue_pages(text, text_resident_pages(target->rss_pages), view->context->host->page_size);
	put_cmdline(view, killing->target_cmdline);
	flow_take(&view->flow, text);
}

static void put_others(struct kill_view *view)
{
	const struct killing *killing = view->killing;
	struct buf *text = &view->scratch;
	unsigned int named = 1;

	if (killing->total < 2)
		return;
	flow_label(&view->flow, "with it");
	for (; named < killing->target_count && named <= TARGETS_NAMED; named++) {
		text_comma(text);
		glue_name(text, killing->targets[named].comm, killing->targets[named].tgid);
	}
	if (killing->total > named)
		buf_printf(text, "%s%u%cmore", text->len ? " and " : "", killing->total - named,
			FLOW_GLUE);
	flow_take(&view->flow, text);
}

static void put_before(struct kill_view *view)
{
	const struct killing *killing = view->killing;
	struct buf *text = &view->scratch;

	if (killing->term_ns) {
		buf_printf(text, "SIGTERM from pid%c%u ", FLOW_GLUE, killing->term_tgid);
		glue_duration(text, killing->time_ns - killing->term_ns);
		buf_puts(text, " before");
		if (killing->term_count > 1)
			buf_printf(text, ", %u times", killing->term_count);
	}
	if (killing->oom_ns) {
		text_comma(text);
		buf_puts(text, "the OOM killer took ");
		glue_name(text, killing->oom_comm, killing->oom_tgid);
		buf_puts(text, " here ");
		glue_duration(text, killing->time_ns - killing->oom_ns);
		buf_puts(text, " before");
	}
	if (!text->len)
		return;
	flow_label(&view->flow, "before");
	flow_take(&view->flow, text);
}

static void put_percent(struct buf *text, uint64_t hundredths)
{
	buf_printf(text, "%" PRIu64 ".%02" PRIu64 "%c%%", hundredths / 100, hundredths % 100,
		FLOW_GLUE);
}

static void put_memory(struct kill_view *view)
{
	const struct killing *killing = view->killing;
	const struct host_memory *host = &killing->host;
	uint32_t page = view->context->host->page_size;
	struct buf *text = &view->scratch;

	if (killing->flags & EV_SIGNAL_LIMIT) {
		glue_pages(text, killing->limit_usage_pages, page);
		buf_puts(text, " of the limit of ");
		glue_pages(text, killing->limit_max_pages, page);
		buf_puts(text, " used in ");
		text_path(text, killing->limit_cgroup);
	} else {
		buf_puts(text, "no limit on the way to the root");
	}
	if (host->available_bytes != UNKNOWN_U64 && host->total_bytes != UNKNOWN_U64) {
		buf_puts(text, "; the machine has ");
		glue_bytes(text, host->available_bytes);
		buf_puts(text, " of ");
		glue_bytes(text, host->total_bytes);
		buf_puts(text, " available");
	}
	if (killing->pressure.some != UNKNOWN_U64) {
		buf_puts(text, ", pressure ");
		put_percent(text, killing->pressure.some);
	}
	if (killing->cgroup_pressure.some != UNKNOWN_U64) {
		buf_puts(text, ", that of its cgroup ");
		put_percent(text, killing->cgroup_pressure.some);
	}
	flow_label(&view->flow, "memory");
	flow_take(&view->flow, text);
}

static void put_tmpfs(struct kill_view *view)
{
	const struct tmpfs_use *tmpfs = &view->killing->tmpfs;
	struct buf *text = &view->scratch;

	if (!tmpfs->mount[0])
		return;
	text_path(text, tmpfs->mount);
	if (tmpfs->files != UINT32_MAX)
		buf_printf(text, ", %u files", tmpfs->files);
	for (unsigned int i = 0; i < tmpfs->largest_count && i < TMPFS_LARGEST; i++) {
		buf_puts(text, i ? ", " : ", the largest ");
		text_terminal(text, tmpfs->largest[i].name, strlen(tmpfs->largest[i].name), 0);
		buf_putc(text, FLOW_GLUE);
		glue_bytes(text, tmpfs->largest[i].bytes);
	}
	flow_label(&view->flow, "tmpfs");
	flow_take(&view->flow, text);
}

static void put_source(struct kill_view *view)
{
	const struct killing *killing = view->killing;
	const char *code = signal_code_name(killing->signal, killing->code);
	struct buf *text = &view->scratch;

	text_hook(text, view->context, "signal");
	text_comma(text);
	buf_puts(text, signal_name(killing->signal) ? signal_name(killing->signal) : "a signal");
	if (code)
		buf_printf(text, " (%s)", code);
	if (killing->result == EV_SIGNAL_IGNORED)
		buf_puts(text, ", ignored: the first process of a pid namespace takes none from "
			       "within");
	flow_label(&view->flow, "source");
	flow_take(&view->flow, text);
}

int text_kill(struct buf *buf, const struct sink_context *context, const struct killing *killing,
	const struct kill_judgement *judgement)
{
	struct kill_view view = {.context = context, .killing = killing, .judgement = judgement};
	size_t start = buf->len;

	flow_init(&view.flow, buf, context->width, context->color);
	buf_init(&view.scratch, view.scratch_data, sizeof(view.scratch_data));
	text_headline(&view.flow, &view.scratch, view_wall_ns(context, killing->time_ns), "KILL",
		judgement->verdicts[0].claim);
	put_where(&view);
	put_why(&view);
	if (killing->manner != MANNER_FAULT)
		put_sender(&view);
	put_target(&view);
	put_others(&view);
	put_before(&view);
	put_memory(&view);
	put_tmpfs(&view);
	put_source(&view);
	text_host(&view.flow, &view.scratch, context->host, view_wall_ns(context, killing->time_ns),
		"kill", killing->number);
	flow_end(&view.flow);
	if (!buf->full)
		return 0;
	buf_rewind(buf, start);
	return -ENOSPC;
}
