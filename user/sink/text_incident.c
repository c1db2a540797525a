// SPDX-License-Identifier: Apache-2.0
/*
 * The incident for a person who was paged: what was killed and whose limit it was in the first
 * line, then what that rests on, then what the tracer could not see.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "judge/gfp.h"
#include "judge/whose.h"
#include "sink/text_parts.h"
#include "sink/text_whose.h"
#include "sink/view.h"

static void put_victim_name(struct buf *text, const struct task_facts *task)
{
	if (view_known(task) && !(task->unknown & TASK_UNKNOWN_COMM))
		glue_name(text, task->comm, task->tgid);
	else
		buf_printf(text, "pid%c%u", FLOW_GLUE, task->tgid);
}

/* v1: memory below its limit, memory+swap at its own. */
static bool is_memsw_limit(const struct incident_level *level, uint32_t page_size)
{
	return (level->flags & EV_LEVEL_V2) == 0 && level->swap_usage_pages != UNKNOWN_U64 &&
	       !view_unlimited(level->swap_max_pages, page_size) &&
	       level->swap_usage_pages >= level->swap_max_pages &&
	       level->usage_pages < level->max_pages;
}

/* "its 16.0 GiB memory limit", without the amount where it is not known. */
static void put_limit_size(struct text_view *view, const struct incident_level *level)
{
	uint32_t page_size = view->context->host->page_size;
	bool memsw = level != NULL && is_memsw_limit(level, page_size);
	uint64_t pages = UNKNOWN_U64;

	if (level != NULL)
		pages = memsw ? level->swap_max_pages : level->max_pages;
	buf_puts(&view->scratch, "its ");
	if (pages != UNKNOWN_U64 && !view_unlimited(pages, page_size)) {
		glue_pages(&view->scratch, pages, page_size);
		buf_putc(&view->scratch, ' ');
	}
	buf_puts(&view->scratch, memsw ? "memory+swap limit" : "memory limit");
}

static void put_machine_size(struct buf *text, const struct host_memory *host)
{
	if (host->total_bytes == UNKNOWN_U64)
		return;
	buf_puts(text, " (");
	glue_bytes(text, host->total_bytes);
	buf_printf(text, "%cRAM", FLOW_GLUE);
	if (host->swap_total_bytes == 0) {
		buf_printf(text, ", no%cswap", FLOW_GLUE);
	} else if (host->swap_total_bytes != UNKNOWN_U64) {
		buf_puts(text, ", ");
		glue_bytes(text, host->swap_total_bytes);
		buf_printf(text, "%cswap", FLOW_GLUE);
	}
	buf_putc(text, ')');
}

static void put_cause_memcg(struct text_view *view)
{
	const struct incident_level *level = view_limit(view->incident, view->judgement);
	bool victim = view->incident->outcome != OUTCOME_NO_KILLABLE;
	const char *its = view_victims_total(view->incident) > 1 ? "their" : "its";
	const char *whose = whose_limit(view->incident, view->judgement);
	struct buf *text = &view->scratch;

	if (view->judgement->scope_inferred)
		buf_puts(text, "probably ");
	if (!victim)
		buf_printf(text, "a %s", whose ? whose : "cgroup");
	else if (whose)
		buf_printf(text, "%s %s", its, whose);
	else if (view->judgement->limit_level > 0)
		buf_printf(text, "a cgroup above %s own", its);
	else
		buf_printf(text, "%s cgroup", its);
	buf_puts(text, " hit ");
	put_limit_size(view, level);
}

static void put_cause(struct text_view *view)
{
	const struct judgement *judgement = view->judgement;
	struct buf *text = &view->scratch;

	if (judgement->manual_known && judgement->manual) {
		buf_puts(text, "by request (sysrq-f), not because a limit was hit");
		return;
	}
	switch (judgement->scope) {
	case SCOPE_MEMCG:
		put_cause_memcg(view);
		return;
	case SCOPE_GLOBAL:
		if (view_imported(view->incident) && view_verdict(judgement, "zone-exhausted")) {
			buf_puts(text, "no zone of memory that the request may use had room");
			return;
		}
		buf_puts(text, judgement->scope_inferred ? "probably " : "");
		buf_puts(text, "the whole machine is out of memory");
		put_machine_size(text, &view->incident->host);
		return;
	case SCOPE_CPUSET:
	case SCOPE_MEMPOLICY:
		buf_puts(text, "no memory was left on the NUMA nodes that the process which asked "
			       "may use (");
		buf_puts(text, judgement->scope == SCOPE_CPUSET ? "cpuset)" : "memory policy)");
		return;
	default:
		buf_puts(text, view_self(view->incident)
				       ? "no limit that can be seen from here was hit: one above "
					 "it, or the machine is out of memory"
				       : "by the kernel's OOM killer; whose limit was hit is not "
					 "known");
	}
}

static void put_nobody(struct text_view *view)
{
	flow_colored(&view->flow, FLOW_YELLOW, "NOBODY KILLED");
	flow_raw(&view->flow, ":");
	if (view->judgement->manual_known && view->judgement->manual)
		buf_puts(&view->scratch, "a kill was requested (sysrq-f)");
	else
		put_cause(view);
	buf_puts(&view->scratch, ", and no process there may be killed");
}

static void put_somebody(struct text_view *view)
{
	const struct incident *incident = view->incident;
	uint32_t total = view_victims_total(incident);
	struct buf *text = &view->scratch;

	flow_colored(&view->flow, FLOW_RED, "KILLED");
	if (view_self(incident) && incident->self.certainty == SELF_POSSIBLE) {
		buf_printf(text, "%u of %u processes that vanished, perhaps%c", total,
			incident->self.vanished, FLOW_GLUE);
		total = 1;
	}
	if (incident->victim_count > 0)
		put_victim_name(text, view_victim(incident, 0));
	else
		buf_puts(text, view_self(incident) ? "a process that was not seen"
						   : "a process whose name was lost");
	if (total > 1)
		buf_printf(text, " and%c%u%cmore", FLOW_GLUE, total - 1, FLOW_GLUE);
	buf_puts(text, ": ");
	put_cause(view);
}

/* The kernel only let it use its reserves to finish sooner: somebody else ended it. */
static void put_dying(struct text_view *view)
{
	struct buf *text = &view->scratch;

	flow_colored(&view->flow, FLOW_YELLOW, "NOT KILLED");
	flow_raw(&view->flow, ":");
	put_victim_name(text, view_victim(view->incident, 0));
	buf_puts(text, " was already exiting when ");
	put_cause(view);
}

/* A log may end, or have lost, what came of it. */
static void put_no_end(struct text_view *view)
{
	struct buf *text = &view->scratch;

	if (view->incident->outcome == OUTCOME_PANIC) {
		flow_colored(&view->flow, FLOW_RED, "PANIC");
		buf_puts(text, "the kernel stopped in place of killing (vm.panic_on_oom): ");
	} else {
		flow_colored(&view->flow, FLOW_YELLOW, "OOM");
		buf_puts(text, "whom the kernel killed is not in the log: ");
	}
	put_cause(view);
}

/* What the log has: a time of day, or the kernel's own seconds. */
static void put_log_time(struct text_view *view)
{
	const struct incident_log *log = &view->incident->log;
	struct buf *text = &view->scratch;

	if (log->has_time)
		units_local_time(text, log->wall_ns);
	else if (log->stamp[0])
		text_terminal(text, log->stamp, strlen(log->stamp), 0);
	else if (log->has_mono)
		buf_printf(text, "[%llu.%06llu]", (unsigned long long)(log->mono_ns / 1000000000),
			(unsigned long long)(log->mono_ns / 1000 % 1000000));
	else
		buf_puts(text, "[no time]");
}

static void put_headline(struct text_view *view)
{
	struct flow *flow = &view->flow;
	struct buf *text = &view->scratch;

	if (view_imported(view->incident))
		put_log_time(view);
	else
		units_local_time(text, view_wall_ns(view->context, view->incident->time_ns));
	flow_raw(flow, text->data);
	flow_raw(flow, " ");
	buf_reset(text);
	buf_putc(text, ' ');
	if (view->incident->outcome == OUTCOME_UNKNOWN || view->incident->outcome == OUTCOME_PANIC)
		put_no_end(view);
	else if (view->incident->outcome == OUTCOME_NO_KILLABLE)
		put_nobody(view);
	else if (view->incident->outcome == OUTCOME_ALREADY_EXITING)
		put_dying(view);
	else
		put_somebody(view);
	flow_take(flow, text);
}

static void put_where(struct text_view *view)
{
	const struct incident *incident = view->incident;
	const struct judgement *judgement = view->judgement;
	struct buf *text = &view->scratch;
	bool limit = judgement->scope == SCOPE_MEMCG && judgement->limit_level >= 0;
	bool below = !limit || judgement->limit_level > 0;
	const char *label = "where";

	if (text_whose(text, incident, judgement)) {
		flow_label(&view->flow, label);
		flow_take(&view->flow, text);
		label = "";
	}
	if (limit) {
		flow_label(&view->flow, label);
		text_path(text, view_limit_path(incident, judgement));
		if (judgement->scope_inferred)
			buf_puts(text, " (inferred from the memory counters)");
		flow_take(&view->flow, text);
		label = "";
	}
	if (below && incident->victim_cgroup[0] != '\0') {
		flow_label(&view->flow, label);
		buf_puts(text, "the victim was in ");
		text_path(text, incident->victim_cgroup);
		flow_take(&view->flow, text);
	}
}

static void put_swap(struct text_view *view, const struct incident_level *level)
{
	const struct host_memory *host = &view->incident->host;
	uint32_t page_size = view->context->host->page_size;
	bool v2 = (level->flags & EV_LEVEL_V2) != 0;
	bool limited = level->swap_max_pages != UNKNOWN_U64 &&
		       !view_unlimited(level->swap_max_pages, page_size);
	struct buf *text = &view->scratch;

	if (v2 && level->swap_max_pages == 0) {
		buf_printf(text, ", no%cswap allowed", FLOW_GLUE);
		return;
	}
	if (v2 && host->swap_total_bytes == 0) {
		buf_printf(text, ", no%cswap", FLOW_GLUE);
		return;
	}
	if (level->swap_usage_pages == UNKNOWN_U64 || (!v2 && !limited))
		return;
	buf_puts(text, v2 ? ", swap used " : ", memory+swap used ");
	glue_pages(text, level->swap_usage_pages, page_size);
	if (limited) {
		buf_puts(text, " of ");
		glue_pages(text, level->swap_max_pages, page_size);
	}
}

/* "limit 64.0 MiB, used 39.1 MiB" of a level. */
static void put_level(struct text_view *view, const struct incident_level *level)
{
	uint32_t page_size = view->context->host->page_size;
	struct buf *text = &view->scratch;

	if (level->max_pages != UNKNOWN_U64) {
		if (view_unlimited(level->max_pages, page_size))
			buf_puts(text, "no limit of its own");
		else
			glue_pages(text, level->max_pages, page_size);
	}
	if (level->usage_pages != UNKNOWN_U64) {
		buf_puts(text, ", used ");
		glue_pages(text, level->usage_pages, page_size);
	}
}

/* Only worth its line where the quota is smaller than what `free` shows. */
static void put_free_shows(struct text_view *view, const struct incident_level *level)
{
	const struct host_memory *host = &view->incident->host;
	uint32_t page_size = view->context->host->page_size;
	struct buf *text = &view->scratch;

	if (host->total_bytes == UNKNOWN_U64 || level->max_pages == UNKNOWN_U64 ||
		view_unlimited(level->max_pages, page_size) ||
		level->max_pages >= host->total_bytes / page_size)
		return;
	buf_puts(text, "; `free` shows the host's ");
	glue_bytes(text, host->total_bytes);
}

static void put_limit_memcg(struct text_view *view)
{
	const struct incident_level *level = view_limit(view->incident, view->judgement);
	uint32_t page_size = view->context->host->page_size;
	struct buf *text = &view->scratch;

	if (level == NULL)
		return;
	flow_label(&view->flow, "limit");
	put_level(view, level);
	if (view_self(view->incident) && level->watermark_pages != UNKNOWN_U64) {
		buf_puts(text, " when looked at, at most ");
		glue_pages(text, level->watermark_pages, page_size);
		buf_puts(text, " so far");
	}
	put_swap(view, level);
	if (level->high_pages != UNKNOWN_U64 && !view_unlimited(level->high_pages, page_size)) {
		buf_puts(text, ", slowed down from ");
		glue_pages(text, level->high_pages, page_size);
		buf_puts(text, " on (memory.high)");
	}
	put_free_shows(view, level);
	flow_take(&view->flow, text);
	if (view->judgement->limit_level > 0 && view->incident->victim_count > 0 &&
		!view_imported(view->incident)) {
		flow_label(&view->flow, "");
		buf_puts(text, parse_cgroup_kind(view->incident->level_paths[0]) == KIND_CONTAINER
				       ? "the victim's container: "
				       : "the victim's own cgroup: ");
		put_level(view, &view->incident->levels[0]);
		flow_take(&view->flow, text);
	}
}

static void put_limit_machine(struct text_view *view)
{
	const struct host_memory *host = &view->incident->host;
	struct buf *text = &view->scratch;

	if (host->total_bytes == UNKNOWN_U64)
		return;
	flow_label(&view->flow, "limit");
	if (view->judgement->scope == SCOPE_GLOBAL && !view->judgement->manual)
		buf_puts(text, "all RAM: ");
	else
		buf_puts(text, "RAM of the machine: ");
	glue_bytes(text, host->total_bytes);
	if (view_imported(view->incident) && host->free_bytes != UNKNOWN_U64) {
		buf_puts(text, "; free: ");
		glue_bytes(text, host->free_bytes);
	}
	if (host->available_bytes != UNKNOWN_U64) {
		buf_puts(text, "; available right after the kill: ");
		glue_bytes(text, host->available_bytes);
	}
	if (host->swap_total_bytes == 0) {
		buf_printf(text, "; no%cswap", FLOW_GLUE);
	} else if (host->swap_total_bytes != UNKNOWN_U64 && host->swap_free_bytes != UNKNOWN_U64) {
		buf_puts(text, "; swap ");
		glue_bytes(text, host->swap_total_bytes);
		buf_puts(text, ", free ");
		glue_bytes(text, host->swap_free_bytes);
	}
	flow_take(&view->flow, text);
}

/* Said elsewhere in this view: with the limit or the growth, of those who died, after the kill. */
static bool is_said_elsewhere(const char *id)
{
	static const char *const ids[] = {"host-larger-than-limit", "group-kill", "repeated",
		"victim-is-largest", "spike", "steady-leak", "grew-most", "no-process-grew"};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		if (strcmp(id, ids[i]) == 0)
			return true;
	}
	return false;
}

/* Numbers, one after the other. */
static void put_evidence(struct text_view *view, const struct verdict *verdict)
{
	struct buf *text = &view->scratch;

	for (unsigned int i = 0; i < verdict->evidence_count && i < VERDICT_EVIDENCE; i++) {
		if (i > 0)
			buf_puts(text, "; ");
		text_terminal(text, verdict->evidence[i], strlen(verdict->evidence[i]), 0);
	}
	flow_label(&view->flow, "");
	flow_take(&view->flow, text);
}

/* The first one is the answer: with what it rests on, and wherever else it is said. */
static void put_why(struct text_view *view)
{
	const struct judgement *judgement = view->judgement;
	const char *label = "why";

	for (unsigned int i = 0; i < judgement->verdict_count && i < VERDICTS_MAX; i++) {
		const struct verdict *verdict = &judgement->verdicts[i];

		if (view_headline_says(verdict->id) || (i > 0 && is_said_elsewhere(verdict->id)))
			continue;
		flow_label(&view->flow, label);
		if (verdict->confidence == CONFIDENCE_LIKELY)
			buf_puts(&view->scratch, "likely: ");
		else if (verdict->confidence == CONFIDENCE_POSSIBLE)
			buf_puts(&view->scratch, "possibly: ");
		text_terminal(&view->scratch, verdict->claim, strlen(verdict->claim), 0);
		flow_take(&view->flow, &view->scratch);
		if (i == 0)
			put_evidence(view, verdict);
		label = "";
	}
}

static void put_request(struct text_view *view)
{
	const struct incident *incident = view->incident;
	uint32_t page_size = view->context->host->page_size;
	struct buf *text = &view->scratch;
	char flags[512] = "";

	if (!incident_order_known(incident))
		return;
	if (incident->order < 0 || incident->order > 31)
		return;
	if (incident->order == 0)
		buf_printf(text, ", for 1%cpage (", FLOW_GLUE);
	else
		buf_printf(text, ", for %llu%cpages in one piece (", 1ULL << incident->order,
			FLOW_GLUE);
	glue_exact(text, (uint64_t)page_size << incident->order);
	if (!incident->has_oc)
		snprintf(flags, sizeof(flags), "%s", incident->log.gfp_flags);
	else
		gfp_flags_text(incident->gfp_mask, flags, sizeof(flags));
	if (flags[0] != '\0') {
		buf_puts(text, ", ");
		text_terminal(text, flags, strlen(flags), 0);
	}
	buf_putc(text, ')');
}

/* A log may tell a thread, or no number at all. */
static void put_asker(struct text_view *view)
{
	const struct incident *incident = view->incident;
	struct buf *text = &view->scratch;

	if (!view_imported(incident) || incident->log.has_trigger_pid) {
		glue_name(text, incident->trigger_comm, incident->trigger_tgid);
		return;
	}
	text_terminal(text, incident->trigger_comm, strlen(incident->trigger_comm), 0);
	if (incident->log.has_trigger_tid)
		buf_printf(text, " (thread%c%u)", FLOW_GLUE, incident->trigger_tid);
}

/* The asker is often taken for the culprit: say that asking is all it did. */
static void put_asked(struct text_view *view)
{
	const struct incident *incident = view->incident;
	struct buf *text = &view->scratch;
	bool self;

	if (!incident->has_trigger)
		return;
	flow_label(&view->flow, "asked");
	self = incident->victim_count > 0 &&
	       incident->victims[0].task.tgid == incident->trigger_tgid;
	if (view_imported(incident) && !incident->trigger_tgid)
		self = false;
	if (view->judgement->manual_known && view->judgement->manual) {
		buf_puts(text, "a person or a program, by sysrq-f; done in ");
		put_asker(view);
	} else if (self) {
		buf_puts(text, "the victim itself happened to ask");
	} else {
		put_asker(view);
		buf_puts(text,
			incident->log.limit_written ? " wrote a lower limit" : " happened to ask");
	}
	put_request(view);
	if (!self && incident->trigger_cgroup[0] != '\0' &&
		strcmp(incident->trigger_cgroup, incident->victim_cgroup) != 0 &&
		strcmp(incident->trigger_cgroup, view_limit_path(incident, view->judgement)) != 0) {
		buf_puts(text, ", from ");
		text_path(text, incident->trigger_cgroup);
	}
	flow_take(&view->flow, text);
}

static void put_end(struct text_view *view)
{
	const struct incident *incident = view->incident;
	struct buf *text = &view->scratch;

	if (view->judgement->exit_ns != UNKNOWN_U64) {
		buf_puts(text, "gone in ");
		glue_duration(text, view->judgement->exit_ns);
		return;
	}
	switch (incident->closed) {
	case CLOSED_REAPED:
		buf_puts(text, "memory taken back by the kernel's reaper before it had exited");
		break;
	case CLOSED_TIMEOUT:
		buf_puts(text, "not seen to exit");
		if (incident->closed_ns > incident->time_ns) {
			buf_puts(text, " within ");
			glue_duration(text, incident->closed_ns - incident->time_ns);
		}
		break;
	case CLOSED_EVICTED:
		buf_puts(text, "not followed to its end: newer kills needed the room");
		break;
	case CLOSED_STOPPED:
		buf_puts(text, "not followed to its end: tracing was stopped");
		break;
	default:
		break;
	}
}

static void put_after_kill(struct text_view *view)
{
	const struct incident *incident = view->incident;
	struct buf *text = &view->scratch;

	if (!view_self(incident))
		put_end(view);
	if (view->judgement->freed_bytes != UNKNOWN_U64) {
		text_comma(text);
		glue_bytes(text, view->judgement->freed_bytes);
		buf_puts(text, " came back");
	}
	if (incident->aborted_scans > 0) {
		text_comma(text);
		buf_printf(text, "%u more %s waited for it", incident->aborted_scans,
			incident->aborted_scans == 1 ? "request" : "requests");
	}
	if (incident->earlier_kills > 0) {
		text_comma(text);
		buf_printf(
			text, "kill no.%c%u here within ", FLOW_GLUE, incident->earlier_kills + 1);
		glue_duration(text, REPEAT_WINDOW_NS);
	}
}

static void put_after(struct text_view *view)
{
	const struct incident *incident = view->incident;
	struct buf *text = &view->scratch;

	if (incident->outcome != OUTCOME_NO_KILLABLE)
		put_after_kill(view);
	else
		buf_puts(text, "the request goes on failing: what asked hangs, retries or gets "
			       "an error until memory is freed or the limit raised");
	if (incident->repeated_no_kill > 0)
		buf_printf(text, " (%u more like it since the last one shown)",
			incident->repeated_no_kill);
	if (text->len == 0)
		return;
	flow_label(&view->flow, "after");
	flow_take(&view->flow, text);
}

static void put_log_host(struct text_view *view)
{
	const struct host_facts *host = view->context->host;
	const struct incident_log *log = &view->incident->log;
	struct buf *text = &view->scratch;

	flow_label(&view->flow, "host");
	text_terminal(text, host->hostname, strlen(host->hostname), 0);
	if (host->kernel[0] != '\0') {
		text_comma(text);
		buf_printf(text, "Linux%c", FLOW_GLUE);
		text_terminal(text, host->kernel, strlen(host->kernel), 0);
	}
	if (log->has_time) {
		text_comma(text);
		units_local_date(text, log->wall_ns);
	}
	text_comma(text);
	buf_printf(text, "incident%c%u", FLOW_GLUE, view->incident->number);
	flow_take(&view->flow, text);
}

/* What a ticket needs when this is all that is pasted into it. */
static void put_host(struct text_view *view)
{
	const struct incident *incident = view->incident;

	if (view_imported(incident))
		put_log_host(view);
	else
		text_host(&view->flow, &view->scratch, view->context->host,
			view_wall_ns(view->context, incident->time_ns), "incident",
			incident->number);
}

static void put_all(struct text_view *view)
{
	put_headline(view);
	put_why(view);
	put_where(view);
	if (view->judgement->scope == SCOPE_MEMCG)
		put_limit_memcg(view);
	else
		put_limit_machine(view);
	text_events(view);
	text_history(view);
	text_victim(view);
	text_killed(view);
	text_chosen(view);
	put_asked(view);
	text_top(view);
	put_after(view);
	text_missing(view);
	text_source(view);
	put_host(view);
}

int text_incident(struct buf *buf, const struct sink_context *context,
	const struct incident *incident, const struct judgement *judgement)
{
	struct text_view view = {.context = context, .incident = incident, .judgement = judgement};
	size_t start = buf->len;

	flow_init(&view.flow, buf, context->width, context->color);
	buf_init(&view.scratch, view.scratch_data, sizeof(view.scratch_data));
	put_all(&view);
	flow_end(&view.flow);
	if (!buf->full)
		return 0;
	buf_rewind(buf, start);
	return -ENOSPC;
}

void text_paragraphs(const struct sink_context *context, const struct incident *incident,
	const struct judgement *judgement, flow_taker *taker, void *arg)
{
	struct text_view view = {.context = context, .incident = incident, .judgement = judgement};

	flow_hand_on(&view.flow, taker, arg);
	buf_init(&view.scratch, view.scratch_data, sizeof(view.scratch_data));
	put_all(&view);
}
