// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel counts an oom where the limit is, and the kill where the victim lived. Who looks at
 * one of the two cgroups only draws the wrong conclusion: hence both, side by side.
 */
#include "sink/text_parts.h"
#include "sink/view.h"

static void put_count(struct buf *text, const char *name, uint64_t count)
{
	buf_printf(text, "%s%c%llu", name, FLOW_GLUE, (unsigned long long)count);
}

static void put_pair(struct buf *text, const uint64_t events[EV_EVENT_COUNT])
{
	put_count(text, "oom", events[EV_EVENT_OOM]);
	buf_puts(text, ", ");
	put_count(text, "oom_kill", events[EV_EVENT_OOM_KILL]);
}

static bool is_counted(const struct incident_level *level)
{
	return level->events[EV_EVENT_OOM] != UNKNOWN_U64 &&
	       level->events[EV_EVENT_OOM_KILL] != UNKNOWN_U64 &&
	       level->events_local[EV_EVENT_OOM] != UNKNOWN_U64 &&
	       level->events_local[EV_EVENT_OOM_KILL] != UNKNOWN_U64;
}

static void put_v2(
	struct buf *text, const struct incident_level *limit, const struct incident_level *victim)
{
	buf_puts(text, "memory.events of the limit's cgroup: ");
	put_pair(text, limit->events);
	buf_puts(text, " (memory.events.local: ");
	put_pair(text, limit->events_local);
	buf_puts(text, "); of the victim's: ");
	put_pair(text, victim->events);
	buf_puts(text, ". oom counts where the limit is, oom_kill where the victim lived");
}

/* v1 shows only kills, each cgroup its own. */
static void put_v1(
	struct buf *text, const struct incident_level *limit, const struct incident_level *victim)
{
	buf_puts(text, "memory.oom_control of the limit's cgroup: ");
	put_count(text, "oom_kill", limit->events[EV_EVENT_OOM_KILL]);
	buf_puts(text, "; of the victim's: ");
	put_count(text, "oom_kill", victim->events[EV_EVENT_OOM_KILL]);
	buf_puts(text, ". It counts where the victim lived, not where the limit is");
}

void text_events(struct text_view *view)
{
	const struct incident *incident = view->incident;
	const struct incident_level *limit = view_limit(incident, view->judgement);
	const struct incident_level *victim = &incident->levels[0];

	if (view->judgement->scope != SCOPE_MEMCG || limit == NULL || limit == victim ||
		incident->outcome != OUTCOME_KILLED || !is_counted(limit) || !is_counted(victim))
		return;
	flow_label(&view->flow, "events");
	if (limit->flags & EV_LEVEL_V2)
		put_v2(&view->scratch, limit, victim);
	else
		put_v1(&view->scratch, limit, victim);
	flow_take(&view->flow, &view->scratch);
}
