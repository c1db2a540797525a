// SPDX-License-Identifier: Apache-2.0
/* How a command ended, in the style of the text view of incidents. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "base/text.h"
#include "base/units.h"
#include "sink/run.h"
#include "sink/text_parts.h"

struct run_view {
	struct flow flow;
	const struct run_facts *facts;
	const struct run_judgement *judgement;
	struct buf scratch;
	char scratch_data[TEXT_SCRATCH];
};

static void put_text(struct run_view *view, const char *text)
{
	text_terminal(&view->scratch, text, strlen(text), 0);
}

static void put_confidence(struct run_view *view, const struct verdict *verdict)
{
	if (verdict->confidence == CONFIDENCE_LIKELY)
		buf_puts(&view->scratch, "likely: ");
	else if (verdict->confidence == CONFIDENCE_POSSIBLE)
		buf_puts(&view->scratch, "possible: ");
}

/* The sentence, and nothing before it that a reader would have to skip. */
static void put_headline(struct run_view *view)
{
	flow_raw(&view->flow, "oomsnoop: ");
	put_confidence(view, &view->judgement->verdicts[0]);
	put_text(view, view->judgement->verdicts[0].claim);
	flow_take(&view->flow, &view->scratch);
}

static void put_evidence(struct run_view *view, const struct verdict *verdict)
{
	/* What is said below, too. */
	if (!strcmp(verdict->id, "ended"))
		return;
	for (unsigned int i = 0; i < verdict->evidence_count && i < VERDICT_EVIDENCE; i++) {
		flow_label(&view->flow, i ? "" : "because");
		put_text(view, verdict->evidence[i]);
		flow_take(&view->flow, &view->scratch);
	}
}

static void put_others(struct run_view *view)
{
	const struct run_judgement *judgement = view->judgement;

	for (unsigned int i = 1; i < judgement->verdict_count && i < RUN_VERDICTS; i++) {
		flow_label(&view->flow, i == 1 ? "also" : "");
		put_confidence(view, &judgement->verdicts[i]);
		put_text(view, judgement->verdicts[i].claim);
		flow_take(&view->flow, &view->scratch);
	}
}

static void put_command(struct run_view *view)
{
	const struct run_facts *facts = view->facts;
	struct buf *text = &view->scratch;

	flow_label(&view->flow, "command");
	put_text(view, facts->cmdline);
	buf_printf(text, ", pid%c%u", FLOW_GLUE, facts->pid);
	flow_take(&view->flow, text);
}

static void put_end(struct run_view *view)
{
	const struct run_facts *facts = view->facts;
	struct buf *text = &view->scratch;

	flow_label(&view->flow, "ended");
	if (WIFSIGNALED(facts->status))
		buf_printf(text, "by %s", run_signal_name((uint32_t)WTERMSIG(facts->status)));
	else
		buf_printf(text, "with %d", WEXITSTATUS(facts->status));
	buf_puts(text, " after ");
	glue_duration(text, facts->wall_ns);
	buf_puts(text, "; CPU ");
	glue_duration(text, facts->user_ns);
	buf_puts(text, " user, ");
	glue_duration(text, facts->system_ns);
	buf_puts(text, " system");
	if (facts->alive != UNKNOWN_U64 && facts->alive)
		buf_printf(text, "; %" PRIu64 "%cof what it started live%s on", facts->alive,
			FLOW_GLUE, facts->alive == 1 ? "s" : "");
	flow_take(&view->flow, text);
}

static const char *measured(enum run_measure measure)
{
	switch (measure) {
	case RUN_MEASURE_CGROUP:
		return "the kernel's own peak of its cgroup";
	case RUN_MEASURE_PSS:
		return "sum of Pss: what several share counts once";
	case RUN_MEASURE_ONE:
		return "RSS of its one process";
	case RUN_MEASURE_RSS:
		return "sum of RSS: what several share counts in each";
	case RUN_MEASURE_MAXRSS:
		return "the kernel's own peak of the largest process";
	case RUN_MEASURE_BELOW:
		return "or less: that much the process had before it was the command";
	default:
		return "not known";
	}
}

static void put_peak(struct run_view *view)
{
	const struct run_facts *facts = view->facts;
	const struct run_peak *peak = &facts->peak;
	struct buf *text = &view->scratch;

	if (view->judgement->peak_bytes == UNKNOWN_U64)
		return;
	flow_label(&view->flow, "peak");
	glue_bytes(text, view->judgement->peak_bytes);
	buf_printf(text, " (%s)", measured(view->judgement->measure));
	if (peak->rss_processes > 1) {
		buf_printf(text, "; of %u%cprocesses ", peak->rss_processes, FLOW_GLUE);
		if (peak->pss_bytes != UNKNOWN_U64 && !peak->pss_late) {
			glue_bytes(text, peak->pss_bytes);
			buf_puts(text, " Pss, ");
		}
		glue_bytes(text, peak->rss_bytes);
		buf_puts(text, " RSS");
	}
	if (peak->largest_pid) {
		buf_puts(text, "; the largest ");
		glue_name(text, peak->largest_comm, peak->largest_pid);
		buf_putc(text, ' ');
		glue_bytes(text, peak->largest_bytes);
	}
	flow_take(&view->flow, text);
}

static void put_cgroup(struct run_view *view)
{
	const struct run_cgroup *cgroup = &view->facts->cgroup;
	struct buf *text = &view->scratch;

	if (!cgroup->own)
		return;
	flow_label(&view->flow, "limit");
	if (cgroup->max_bytes == UNKNOWN_U64)
		buf_puts(text, "none");
	else
		glue_bytes(text, cgroup->max_bytes);
	if (cgroup->peak_bytes != UNKNOWN_U64) {
		buf_puts(text, ", at most ");
		glue_bytes(text, cgroup->peak_bytes);
		buf_puts(text, " of it used");
	}
	if (cgroup->oom_kills != UNKNOWN_U64)
		buf_printf(text, ", %" PRIu64 "%ckilled by the OOM killer", cgroup->oom_kills,
			FLOW_GLUE);
	if (cgroup->left) {
		buf_puts(text, "; it is left, as somebody lives in it: rmdir it later: ");
		text_path(text, cgroup->path);
	}
	flow_take(&view->flow, text);
}

static void put_watched(struct run_view *view)
{
	const struct run_facts *facts = view->facts;
	const struct run_told *told = &facts->told;
	struct buf *text = &view->scratch;

	flow_label(&view->flow, "watched");
	if (told->watch == RUN_WATCH_TRACE && told->from_start) {
		buf_puts(text, "by BPF, from its start on");
	} else if (told->watch == RUN_WATCH_TRACE) {
		buf_puts(text, "by BPF, from ");
		glue_duration(text, told->attached_ns);
		buf_puts(text, " after its start on (--attach-first: from its start on)");
	} else {
		buf_puts(text, told->watch == RUN_WATCH_CGROUP
				       ? "by the files of its cgroup and /proc, not by BPF: "
				       : "by /proc and wait4, not by BPF: ");
		put_text(view, facts->why_not_traced);
	}
	flow_take(&view->flow, text);
}

int text_run(struct buf *buf, const struct sink_context *context, const struct run_facts *facts,
	const struct run_judgement *judgement)
{
	struct run_view view = {.facts = facts, .judgement = judgement};
	size_t start = buf->len;

	flow_init(&view.flow, buf, context->width, context->color);
	buf_init(&view.scratch, view.scratch_data, sizeof(view.scratch_data));
	put_headline(&view);
	put_others(&view);
	put_evidence(&view, &judgement->verdicts[0]);
	put_command(&view);
	put_end(&view);
	put_peak(&view);
	put_cgroup(&view);
	put_watched(&view);
	flow_end(&view.flow);
	if (!buf->full)
		return 0;
	buf_rewind(buf, start);
	return -ENOSPC;
}
