// SPDX-License-Identifier: Apache-2.0
#include "sink/json.h"
#include "sink/json_parts.h"
#include "sink/stall.h"
#include "sink/view.h"

static void put_numbers(struct buf *buf, const struct stall *stall)
{
	json_add_u64(buf, "usage_bytes", stall->last.usage_bytes);
	json_add_u64(buf, "high_bytes", stall->last.high_bytes);
	json_add_u64(buf, "max_bytes", stall->last.max_bytes);
	json_add_u64(buf, "high_events", stall->last.high_events);
	json_add_u64(buf, "high_events_delta", stall->last.high_events - stall->first.high_events);
	json_add_u64(buf, "pressure_full_percent", stall_full_percent(stall));
}

static void put_processes(
	struct buf *buf, const struct sink_context *context, const struct stall_scene *scene)
{
	size_t start = json_begin(buf, "processes", '[');

	for (unsigned int i = 0; i < scene->process_count && i < STALL_PROCESSES; i++) {
		const struct stall_process *process = &scene->processes[i];

		json_begin(buf, NULL, '{');
		json_add_u64(buf, "pid", process->tgid);
		json_add_name(buf, "comm", process->comm);
		json_add_time(buf, "started", view_wall_ns(context, process->start_ns));
		json_add_u64(buf, "held_bytes", process->held_bytes);
		json_end(buf, '}');
	}
	json_end_filled(buf, start, ']');
}

int json_stall(struct buf *buf, const struct sink_context *context, uint64_t boot_ns,
	const struct stall_scene *scene, const struct verdict *verdict)
{
	const struct stall *stall = &scene->stall;
	size_t start = buf->len;

	json_head(buf, context, "stall", boot_ns);
	json_summary(buf, verdict);
	json_add_string(buf, "state", scene->ended ? "ended" : "stalled");
	json_add_time(buf, "since", view_wall_ns(context, stall->since_ns));
	json_add_ms(buf, "lasted_ms", stall->last_ns - stall->since_ns);
	json_add_string(buf, "cgroup", scene->path);
	json_whose_cgroup(buf, scene->path, scene->names);
	put_numbers(buf, stall);
	put_processes(buf, context, scene);
	json_verdicts(buf, verdict, 1);
	return json_finish(buf, start);
}
