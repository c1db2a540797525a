// SPDX-License-Identifier: Apache-2.0
/* What lines of several types share, and the first and last line of a run. */
#include <errno.h>

#include "sink/json.h"
#include "sink/json_parts.h"
#include "sink/view.h"

void json_head(
	struct buf *buf, const struct sink_context *context, const char *type, uint64_t boot_ns)
{
	json_begin(buf, NULL, '{');
	json_add_u64(buf, "v", 1);
	json_add_name(buf, "type", type);
	json_add_time(buf, "ts", view_wall_ns(context, boot_ns));
	json_add_string(buf, "host", context->host->hostname);
	json_add_string(buf, "boot_id", context->host->boot_id);
	/* Nanoseconds outgrow a double's integers after 104 days of uptime; microseconds do not. */
	json_add_u64(buf, "mono_ns", boot_ns);
	json_add_u64(buf, "mono_us", boot_ns / 1000);
}

void json_summary(struct buf *buf, const struct verdict *first)
{
	if (first)
		json_add_string(buf, "summary", first->claim);
}

static void put_verdict(struct buf *buf, const struct verdict *verdict)
{
	json_begin(buf, NULL, '{');
	json_add_string(buf, "id", verdict->id);
	json_add_name(buf, "claim", verdict->claim);
	json_begin(buf, "evidence", '[');
	for (unsigned int i = 0; i < verdict->evidence_count && i < VERDICT_EVIDENCE; i++)
		json_add_name(buf, NULL, verdict->evidence[i]);
	json_end(buf, ']');
	json_add_string(buf, "confidence", confidence_name(verdict->confidence));
	json_end(buf, '}');
}

void json_verdicts(struct buf *buf, const struct verdict *verdicts, unsigned int count)
{
	json_begin(buf, "verdicts", '[');
	for (unsigned int i = 0; i < count; i++)
		put_verdict(buf, &verdicts[i]);
	json_end(buf, ']');
}

void json_missing(struct buf *buf, const struct missing *missing, unsigned int count)
{
	json_begin(buf, "missing", '[');
	for (unsigned int i = 0; i < count; i++) {
		json_begin(buf, NULL, '{');
		json_add_string(buf, "field", missing[i].field);
		json_add_string(buf, "why", missing[i].why);
		json_end(buf, '}');
	}
	json_end(buf, ']');
}

static uint64_t pages_of(int64_t pages)
{
	return pages > 0 ? (uint64_t)pages : 0;
}

void json_rss(struct buf *buf, const int64_t rss_pages[EV_RSS_COUNTERS], const char *const keys[4],
	uint32_t page_size)
{
	json_add_pages(buf, keys[0], pages_of(rss_pages[EV_RSS_ANON]), page_size);
	json_add_pages(buf, keys[1], pages_of(rss_pages[EV_RSS_FILE]), page_size);
	json_add_pages(buf, keys[2], pages_of(rss_pages[EV_RSS_SHMEM]), page_size);
	json_add_pages(buf, keys[3], pages_of(rss_pages[EV_RSS_SWAP]), page_size);
}

void json_hooks(struct buf *buf, const struct sink_context *context)
{
	size_t start = json_begin(buf, "hooks", '{');

	for (unsigned int i = 0; i < context->hook_count && i < SINK_HOOKS; i++)
		json_add_string(buf, context->hooks[i].purpose, context->hooks[i].hook);
	json_end_filled(buf, start, '}');
}

static void put_hooks_missing(struct buf *buf, const struct sink_context *context)
{
	size_t start = json_begin(buf, "hooks_missing", '[');

	for (unsigned int i = 0; i < context->hook_count && i < SINK_HOOKS; i++) {
		if (context->hooks[i].hook == NULL)
			json_add_string(buf, NULL, context->hooks[i].purpose);
	}
	json_end_filled(buf, start, ']');
}

int json_finish(struct buf *buf, size_t start)
{
	json_end(buf, '}');
	buf_putc(buf, '\n');
	if (!buf->full)
		return 0;
	buf_rewind(buf, start);
	return -ENOSPC;
}

static void put_recorder(struct buf *buf, const struct sink_context *context)
{
	if (context->recorder_interval_ns == 0)
		return;
	json_begin(buf, "recorder", '{');
	json_add_string(buf, "source", context->recorder_source);
	json_add_ms(buf, "interval_ms", context->recorder_interval_ns);
	json_add_ms(buf, "window_ms", context->recorder_window_ns);
	json_add_ms(buf, "history_ms", context->recorder_history_ns);
	json_add_string(buf, "faults", context->recorder_faults);
	json_end(buf, '}');
}

int json_start(struct buf *buf, const struct sink_context *context, uint64_t boot_ns)
{
	size_t start = buf->len;

	json_head(buf, context, "start", boot_ns);
	json_add_string(buf, "version", OOMSNOOP_VERSION);
	json_add_string(buf, "kernel", context->host->kernel);
	json_add_u64(buf, "page_size", context->host->page_size);
	json_add_u64(buf, "cpus", context->host->cpus);
	if (context->host->memory_hierarchy >= 0)
		json_add_u64(buf, "cgroup_version", context->host->memory_hierarchy == 0 ? 2 : 1);
	json_add_string(buf, "tier", context->tier);
	json_hooks(buf, context);
	put_hooks_missing(buf, context);
	put_recorder(buf, context);
	return json_finish(buf, start);
}

static void put_recorded(struct buf *buf, const struct run_totals *totals)
{
	const struct growth_totals *growth = &totals->growth;

	if (!totals->recorded)
		return;
	json_begin(buf, "recorder", '{');
	json_add_u64(buf, "passes", growth->passes);
	json_add_u64(buf, "passes_failed", totals->passes_failed);
	json_add_ms(buf, "pass_ms", totals->pass_ns);
	json_add_u64(buf, "samples", growth->samples);
	json_add_u64(buf, "lost_samples", totals->lost_samples);
	json_add_u64(buf, "samples_no_room", growth->samples_no_room);
	json_add_u64(buf, "refused", growth->passes_refused + growth->ledger.refused);
	json_add_u64(buf, "processes_evicted", growth->processes_evicted);
	json_add_u64(buf, "cgroups_evicted", growth->cgroups_evicted);
	json_add_u64(buf, "history_evicted", growth->ledger.evicted);
	json_add_u64(buf, "not_followed", growth->not_followed);
	json_add_u64(buf, "armed", totals->arm_count);
	json_end(buf, '}');
}

int json_stop(struct buf *buf, const struct sink_context *context, uint64_t boot_ns,
	const struct run_totals *totals)
{
	size_t start = buf->len;

	json_head(buf, context, "stop", boot_ns);
	json_add_string(buf, "reason", totals->reason);
	json_add_u64(buf, "incidents", totals->incidents);
	json_add_u64(buf, "kills", totals->kills);
	json_add_u64(buf, "victims", totals->victims);
	json_add_u64(buf, "lost_events", totals->lost_events);
	json_add_u64(buf, "lost_candidates", totals->lost_candidates);
	json_add_u64(buf, "lost_process_events", totals->lost_process_events);
	json_add_u64(buf, "bad_records", totals->bad_records);
	json_add_u64(buf, "missed_hooks", totals->missed_hooks);
	json_add_u64(buf, "evicted", totals->evicted);
	json_add_u64(buf, "kernel_log_lost", totals->kmsg_lost);
	json_add_u64(buf, "other_kills", totals->other_kills);
	json_add_u64(buf, "lost_signals", totals->lost_signals);
	json_add_u64(buf, "refusals", totals->refusals);
	json_add_u64(buf, "lost_refusals", totals->lost_refusals);
	put_recorded(buf, totals);
	return json_finish(buf, start);
}
