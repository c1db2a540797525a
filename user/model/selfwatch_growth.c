// SPDX-License-Identifier: Apache-2.0
/* A look of selfwatch as a pass of the flight recorder. */
#include <string.h>

#include "model/selfwatch_parts.h"

struct feeding {
	const struct selfwatch *watch;
	struct growth *growth;
};

static uint64_t pages_of(const struct selfwatch *watch, uint64_t bytes)
{
	return bytes == UNKNOWN_U64 ? EV_UNKNOWN : bytes / watch->options.page_size;
}

static struct fact *new_fact(enum ev_kind kind)
{
	static struct fact fact; /* too large for a stack */

	memset(&fact.usage, 0, sizeof(fact.usage));
	memset(&fact.sample, 0, sizeof(fact.sample));
	fact.kind = kind;
	fact.text_len = 0;
	return &fact;
}

static void feed_process(const struct self_process *process, void *arg)
{
	const struct feeding *feeding = arg;
	struct fact *fact = new_fact(EV_SAMPLE);
	struct ev_sample *sample = &fact->sample;
	const struct task_facts *task = &process->task;

	sample->hdr = (struct ev_hdr) {.len = sizeof(*sample),
		.kind = EV_SAMPLE,
		.version = EV_VERSION,
		.time_ns = feeding->watch->look_ns};
	sample->tgid = task->tgid;
	sample->ppid = task->ppid;
	sample->oom_score_adj = task->oom_score_adj;
	sample->flags = task->flags;
	sample->why = EV_SAMPLE_CENSUS;
	sample->start_ns = task->start_ns;
	sample->mm = 1; /* it has one: which, /proc does not tell */
	sample->cgroup_id = task->cgroup_id;
	memcpy(sample->rss_pages, task->rss_pages, sizeof(sample->rss_pages));
	sample->pgtables_bytes = task->pgtables_bytes;
	sample->faults = process->faults;
	sample->io_bytes = EV_UNKNOWN;
	sample->copied_pages = sample->charged_pages = EV_UNKNOWN;
	memcpy(sample->comm, task->comm, sizeof(sample->comm));
	growth_fact(feeding->growth, fact);
}

static void feed_group(const struct feeding *feeding, const struct self_group *group)
{
	const struct selfwatch *watch = feeding->watch;
	struct fact *fact = new_fact(EV_USAGE);
	struct ev_usage *usage = &fact->usage;

	memset(usage, 0xff, sizeof(*usage)); /* EV_UNKNOWN */
	usage->hdr = (struct ev_hdr) {.len = sizeof(*usage),
		.kind = EV_USAGE,
		.version = EV_VERSION,
		.time_ns = watch->look_ns};
	usage->id = group->id;
	usage->parent_id = group->parent_id;
	usage->flags = (watch->options.v2 ? EV_LEVEL_V2 : 0) | (group->root ? EV_LEVEL_ROOT : 0);
	usage->usage_pages = pages_of(watch, group->now.usage_bytes);
	usage->max_pages = pages_of(watch, group->now.max_bytes);
	usage->high_pages = pages_of(watch, group->now.high_bytes);
	usage->swap_usage_pages = pages_of(watch, group->now.swap_usage_bytes);
	usage->swap_max_pages = pages_of(watch, group->now.swap_max_bytes);
	usage->events[EV_EVENT_OOM] = group->now.oom;
	usage->events[EV_EVENT_OOM_KILL] = group->now.oom_kill;
	if (watch->options.v2)
		usage->events[EV_EVENT_MAX] = group->now.max_events;
	else
		usage->failcnt = group->now.max_events;
	growth_fact(feeding->growth, fact);
}

void selfwatch_feed(const struct selfwatch *watch, struct growth *growth)
{
	struct feeding feeding = {watch, growth};

	growth_pass_begin(growth, watch->look_ns);
	selfwatch_each(watch, feed_process, &feeding);
	for (unsigned int i = 0; i < watch->group_count; i++)
		if (watch->groups[i].look == watch->look)
			feed_group(&feeding, &watch->groups[i]);
	growth_pass_end(growth);
}
