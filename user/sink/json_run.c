// SPDX-License-Identifier: Apache-2.0
/* What all lines share, and the first and last line of a run. */
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
	return json_finish(buf, start);
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
	return json_finish(buf, start);
}
