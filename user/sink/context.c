// SPDX-License-Identifier: Apache-2.0
/* What sinks are told of a run: the same for a live one and for one out of a store. */
#include "sink/sink.h"

static const char *filled(const char *text)
{
	return text[0] ? text : NULL;
}

void sink_context_of(struct sink_context *context, const struct capture_run *run,
	const struct capture_moment *moment)
{
	context->host = &run->host;
	context->tier = run->tier;
	context->recorder_interval_ns = run->recorder_interval_ns;
	context->recorder_window_ns = run->recorder_window_ns;
	context->recorder_history_ns = run->recorder_history_ns;
	context->recorder_source = run->recorder_source;
	context->recorder_faults = run->recorder_faults;
	context->hook_count = run->hook_count < SINK_HOOKS ? run->hook_count : SINK_HOOKS;
	for (unsigned int i = 0; i < context->hook_count; i++) {
		context->hooks[i].purpose = run->hooks[i].purpose;
		context->hooks[i].hook = filled(run->hooks[i].hook);
	}
	if (!moment)
		return;
	context->wall_minus_boot_ns = moment->wall_minus_boot_ns;
	context->lost_events = moment->lost_events;
}
