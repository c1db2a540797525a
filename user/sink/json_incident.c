// SPDX-License-Identifier: Apache-2.0
/* The record of one incident: docs/record-schema.md names every member. */
#include <stdio.h>
#include <string.h>

#include "judge/gfp.h"
#include "sink/json.h"
#include "sink/json_parts.h"
#include "sink/view.h"

/* PAGE_COUNTER_MAX with the largest pages that there are. */
#define NO_LIMIT_BYTES ((uint64_t)INT64_MAX - 65535)

static const char *const event_names[EV_EVENT_COUNT] = {
	[EV_EVENT_LOW] = "low",
	[EV_EVENT_HIGH] = "high",
	[EV_EVENT_MAX] = "max",
	[EV_EVENT_OOM] = "oom",
	[EV_EVENT_OOM_KILL] = "oom_kill",
	[EV_EVENT_OOM_GROUP_KILL] = "oom_group_kill",
};

/* Only what the log tells of time and place. */
static void put_logged_head(
	struct buf *buf, const struct sink_context *context, const struct incident *incident)
{
	const struct incident_log *log = &incident->log;

	json_begin(buf, NULL, '{');
	json_add_u64(buf, "v", 1);
	json_add_name(buf, "type", "oom");
	if (log->has_time)
		json_add_time(buf, "ts", log->wall_ns);
	json_add_string(buf, "log_stamp", log->stamp);
	json_add_string(buf, "host", context->host->hostname);
	json_add_string(buf, "boot_id", context->host->boot_id);
	json_add_string(buf, "kernel", context->host->kernel);
	if (log->has_mono) {
		json_add_u64(buf, "mono_ns", log->mono_ns);
		json_add_u64(buf, "mono_us", log->mono_ns / 1000);
	}
	if (!log->page_size_assumed)
		json_add_u64(buf, "page_size", context->host->page_size);
}

/* "No limit" is told by leaving the limit out: PAGE_COUNTER_MAX is no amount of memory. */
static void put_limit(struct buf *buf, const char *key, uint64_t pages, uint32_t page_size)
{
	if (!view_unlimited(pages, page_size))
		json_add_pages(buf, key, pages, page_size);
}

/* Version 1 keeps memory and swap in one counter: it must not be read as swap. */
static void put_swap(struct buf *buf, const struct incident_level *level, const char *v2_limit,
	const char *v2_usage, uint32_t page_size)
{
	bool v2 = (level->flags & EV_LEVEL_V2) != 0;

	put_limit(buf, v2 ? v2_limit : "memsw_limit_bytes", level->swap_max_pages, page_size);
	json_add_pages(
		buf, v2 ? v2_usage : "memsw_usage_bytes", level->swap_usage_pages, page_size);
}

/* Of version 1 a log tells both counters: what is in swap is the difference. */
static void put_v1_swap(struct buf *buf, const struct incident_level *level, uint32_t page_size)
{
	if (level->usage_pages != UNKNOWN_U64 && level->swap_usage_pages != UNKNOWN_U64 &&
		level->swap_usage_pages >= level->usage_pages)
		json_add_pages(buf, "swap_usage_bytes",
			level->swap_usage_pages - level->usage_pages, page_size);
}

static void put_limit_level(struct buf *buf, const struct sink_context *context,
	const struct incident *incident, const struct judgement *judgement)
{
	const struct incident_level *level = view_limit(incident, judgement);
	uint32_t page_size = context->host->page_size;

	if (level == NULL || judgement->scope != SCOPE_MEMCG)
		return;
	json_add_string(buf, "limit_cgroup", view_limit_path(incident, judgement));
	if (view_limit_path(incident, judgement)[0])
		json_add_string(buf, "limit_kind", cgroup_kind_name(judgement->limit_kind));
	put_limit(buf, "limit_bytes", level->max_pages, page_size);
	json_add_pages(buf, "usage_bytes", level->usage_pages, page_size);
	put_swap(buf, level, "swap_limit_bytes", "swap_usage_bytes", page_size);
	if (!view_imported(incident)) {
		json_add_bool(buf, "limit_oom_group", (level->flags & EV_LEVEL_OOM_GROUP) != 0);
		return;
	}
	if (incident->log.limit_v1)
		put_v1_swap(buf, level, page_size);
	if (level->flags & EV_LEVEL_OOM_GROUP)
		json_add_bool(buf, "limit_oom_group", true);
}

static void put_host(struct buf *buf, const struct host_memory *host)
{
	json_add_u64(buf, "host_total_bytes", host->total_bytes);
	json_add_u64(buf, "host_free_bytes", host->free_bytes);
	json_add_u64(buf, "host_available_bytes", host->available_bytes);
	json_add_u64(buf, "host_swap_total_bytes", host->swap_total_bytes);
	json_add_u64(buf, "host_swap_free_bytes", host->swap_free_bytes);
	json_add_u64(buf, "host_hugetlb_bytes", host->hugetlb_bytes);
}

static void put_zone(struct buf *buf, const struct incident_zone *zone, uint32_t page_size)
{
	uint64_t kept =
		zone->reserve_count ? zone->reserve_pages[zone->reserve_count - 1] : UNKNOWN_U64;

	json_begin(buf, NULL, '{');
	if (zone->node >= 0)
		json_add_u64(buf, "node", (uint64_t)zone->node);
	json_add_string(buf, "zone", zone->name);
	json_add_pages(buf, "free_bytes", zone->free_pages, page_size);
	json_add_pages(buf, "min_bytes", zone->min_pages, page_size);
	json_add_pages(buf, "low_bytes", zone->low_pages, page_size);
	json_add_pages(buf, "managed_bytes", zone->managed_pages, page_size);
	json_add_pages(buf, "present_bytes", zone->present_pages, page_size);
	json_add_pages(buf, "lowmem_reserve_bytes", kept, page_size);
	json_add_pages(buf, "reserved_highatomic_bytes", zone->highatomic_pages, page_size);
	json_add_pages(buf, "free_cma_bytes", zone->cma_pages, page_size);
	if (zone->order_count) {
		json_begin(buf, "free_pieces", '[');
		for (unsigned int i = 0; i < zone->order_count && i < ZONE_ORDERS; i++)
			json_add_u64(buf, NULL, zone->pieces[i]);
		json_end(buf, ']');
	}
	json_end(buf, '}');
}

static void put_zones(
	struct buf *buf, const struct sink_context *context, const struct incident *incident)
{
	size_t start;

	if (!incident_is_logged(incident))
		return;
	start = json_begin(buf, "zones", '[');
	for (unsigned int i = 0; i < incident->log.machine.zone_count && i < INCIDENT_ZONES; i++)
		put_zone(buf, &incident->log.machine.zones[i], context->host->page_size);
	json_end_filled(buf, start, ']');
}

static void put_counts(struct buf *buf, const char *key, const uint64_t events[EV_EVENT_COUNT])
{
	size_t start = json_begin(buf, key, '{');

	for (unsigned int i = 0; i < EV_EVENT_COUNT; i++)
		json_add_u64(buf, event_names[i], events[i]);
	json_end_filled(buf, start, '}');
}

static void put_level(struct buf *buf, const struct incident_level *level, const char *path,
	bool is_limit, bool imported, uint32_t page_size)
{
	json_begin(buf, NULL, '{');
	json_add_string(buf, "cgroup", path);
	if (path[0])
		json_add_string(buf, "kind", cgroup_kind_name(parse_cgroup_kind(path)));
	if (is_limit)
		json_add_bool(buf, "hit", true);
	put_limit(buf, "max_bytes", level->max_pages, page_size);
	put_limit(buf, "high_bytes", level->high_pages, page_size);
	put_limit(buf, "low_bytes", level->low_pages, page_size);
	put_limit(buf, "min_bytes", level->min_pages, page_size);
	json_add_pages(buf, "usage_bytes", level->usage_pages, page_size);
	json_add_pages(buf, "peak_bytes", level->watermark_pages, page_size);
	put_swap(buf, level, "swap_max_bytes", "swap_usage_bytes", page_size);
	json_add_pages(buf, "kmem_usage_bytes", level->kmem_usage_pages, page_size);
	json_add_u64(buf, "failcnt", level->failcnt);
	json_add_pages(buf, "usage_after_bytes", level->freed_usage_pages, page_size);
	/* A log names the one that died as a group, and says nothing of others. */
	if (!imported || level->flags & EV_LEVEL_OOM_GROUP)
		json_add_bool(buf, "oom_group", (level->flags & EV_LEVEL_OOM_GROUP) != 0);
	put_counts(buf, "events", level->events);
	put_counts(buf, "events_local", level->events_local);
	json_end(buf, '}');
}

static void put_levels(struct buf *buf, const struct sink_context *context,
	const struct incident *incident, const struct judgement *judgement)
{
	const struct incident_level *limit = view_limit(incident, judgement);
	size_t start = json_begin(buf, "limits", '[');

	for (unsigned int i = 0; i < incident->level_count && i < EV_MAX_LEVELS; i++)
		put_level(buf, &incident->levels[i], incident->level_paths[i],
			&incident->levels[i] == limit, view_imported(incident),
			context->host->page_size);
	json_end_filled(buf, start, ']');
}

static void put_events(
	struct buf *buf, const struct incident *incident, const struct judgement *judgement)
{
	const struct incident_level *level = view_limit(incident, judgement);
	size_t start;
	char key[32];

	if (level == NULL)
		return;
	start = json_begin(buf, "memory_events", '{');
	for (unsigned int i = 0; i < EV_EVENT_COUNT; i++) {
		uint64_t now = level->events[i], before = incident->events_before[i];

		json_add_u64(buf, event_names[i], now);
		if (!incident->has_events_before || now == UNKNOWN_U64 || now < before)
			continue;
		snprintf(key, sizeof(key), "%s_delta", event_names[i]);
		json_add_u64(buf, key, now - before);
	}
	json_end_filled(buf, start, '}');
}

static void put_composition(
	struct buf *buf, const struct incident *incident, const struct judgement *judgement)
{
	const struct cgroup_stat *stat = &incident->stat;
	size_t before = buf->len, start = json_begin(buf, "composition", '{');

	json_add_u64(buf, "anon_bytes", stat->anon_bytes);
	json_add_u64(buf, "file_bytes", stat->file_bytes);
	json_add_u64(buf, "shmem_bytes", stat->shmem_bytes);
	json_add_u64(buf, "slab_bytes", stat->slab_bytes);
	json_add_u64(buf, "kernel_bytes", stat->kernel_bytes);
	json_add_u64(buf, "kernel_stack_bytes", stat->kernel_stack_bytes);
	json_add_u64(buf, "pagetables_bytes", stat->pagetables_bytes);
	json_add_u64(buf, "sec_pagetables_bytes", stat->sec_pagetables_bytes);
	json_add_u64(buf, "percpu_bytes", stat->percpu_bytes);
	json_add_u64(buf, "vmalloc_bytes", stat->vmalloc_bytes);
	json_add_u64(buf, "sock_bytes", stat->sock_bytes);
	json_add_u64(buf, "hugetlb_bytes", stat->hugetlb_bytes);
	json_add_u64(buf, "file_dirty_bytes", stat->file_dirty_bytes);
	json_add_u64(buf, "file_writeback_bytes", stat->file_writeback_bytes);
	json_add_u64(buf, "swapcached_bytes", stat->swapcached_bytes);
	json_add_u64(buf, "usage_bytes", incident->stat_usage_bytes);
	json_add_u64(buf, "unexplained_bytes", judgement->unexplained_bytes);
	json_end_filled(buf, start, '}');
	if (buf->len > before)
		json_add_string(buf, "composition_at", view_stat_at(incident));
}

static void put_where(struct buf *buf, const struct sink_context *context,
	const struct incident *incident, const struct judgement *judgement)
{
	if (judgement->scope != SCOPE_UNKNOWN) {
		json_add_string(buf, "scope", scope_name(judgement->scope));
		json_add_bool(buf, "limit_inferred", judgement->scope_inferred);
	}
	if (judgement->manual_known || judgement->manual)
		json_add_bool(buf, "manual", judgement->manual);
	put_limit_level(buf, context, incident, judgement);
	put_limit(buf, "total_bytes", judgement->totalpages, context->host->page_size);
	if (judgement->totalpages != UNKNOWN_U64)
		json_add_bool(buf, "total_computed", judgement->totalpages_computed);
	put_host(buf, &incident->host);
	put_zones(buf, context, incident);
	put_levels(buf, context, incident, judgement);
	put_events(buf, incident, judgement);
	put_composition(buf, incident, judgement);
}

/* What the bits of a mask mean has changed, and a log's kernel may be any: the log's own words. */
static void put_logged_request(struct buf *buf, const struct incident *incident)
{
	if (incident->log.has_order)
		json_add_i64(buf, "order", incident->order);
	if (incident->log.has_gfp)
		json_add_hex(buf, "gfp_mask", incident->gfp_mask);
	json_add_string(buf, "gfp_flags", incident->log.gfp_flags);
	if (incident->nodemask != UNKNOWN_U64)
		json_add_hex(buf, "nodemask", incident->nodemask);
	if (incident->mems_allowed != UNKNOWN_U64 && view_imported(incident))
		json_add_hex(buf, "mems_allowed", incident->mems_allowed);
	json_add_string(buf, "kernel_message", incident->message);
}

static void put_request(struct buf *buf, const struct incident *incident)
{
	char flags[512];

	if (!incident->has_oc) {
		put_logged_request(buf, incident);
		return;
	}
	flags[0] = '\0';
	gfp_flags_text(incident->gfp_mask, flags, sizeof(flags));
	json_add_i64(buf, "order", incident->order);
	json_add_hex(buf, "gfp_mask", incident->gfp_mask);
	json_add_name(buf, "gfp_flags", flags);
	if (incident->nodemask != UNKNOWN_U64)
		json_add_hex(buf, "nodemask", incident->nodemask);
	json_add_string(buf, "kernel_message", incident->message);
}

static void put_logged_trigger(struct buf *buf, const struct incident *incident)
{
	const struct incident_log *log = &incident->log;

	if (!incident->has_trigger)
		return;
	if (log->has_trigger_pid)
		json_add_u64(buf, "trigger_pid", incident->trigger_tgid);
	if (log->has_trigger_tid)
		json_add_u64(buf, "trigger_tid", incident->trigger_tid);
	json_add_name(buf, "trigger_comm", incident->trigger_comm);
	if (log->has_trigger_uid)
		json_add_u64(buf, "trigger_uid", incident->trigger_uid);
	if (log->has_trigger_adj)
		json_add_i64(buf, "trigger_oom_score_adj", incident->trigger_adj);
}

static void put_trigger(
	struct buf *buf, const struct sink_context *context, const struct incident *incident)
{
	if (view_imported(incident)) {
		put_logged_trigger(buf, incident);
	} else if (incident->has_trigger) {
		json_add_u64(buf, "trigger_pid", incident->trigger_tgid);
		json_add_u64(buf, "trigger_tid", incident->trigger_tid);
		json_add_name(buf, "trigger_comm", incident->trigger_comm);
		json_add_string(buf, "trigger_cmdline", incident->trigger_cmdline);
		json_add_string(buf, "trigger_cgroup", incident->trigger_cgroup);
		json_add_u64(buf, "trigger_uid", incident->trigger_uid);
		json_add_i64(buf, "trigger_oom_score_adj", incident->trigger_adj);
		if (incident->trigger_start_ns != 0 && incident->trigger_start_ns != UNKNOWN_U64)
			json_add_time(buf, "trigger_started",
				view_wall_ns(context, incident->trigger_start_ns));
		json_add_bool(buf, "trigger_kernel_thread",
			(incident->trigger_flags & EV_CONTEXT_KTHREAD) != 0);
	}
	put_request(buf, incident);
}

static void put_after(
	struct buf *buf, const struct incident *incident, const struct judgement *judgement)
{
	json_add_ms(buf, "exit_ms", judgement->exit_ns);
	/* "false" would claim that the reaper was watched. */
	if (incident->victim_count > 0 && !view_missing(judgement, "reaped"))
		json_add_bool(buf, "reaped", incident->victims[0].reaped);
	json_add_u64(buf, "freed_bytes", judgement->freed_bytes);
	if (view_imported(incident) || view_self(incident)) {
		json_add_u64(buf, "earlier_kills", incident->earlier_kills);
		return;
	}
	json_add_u64(buf, "aborted_scans", incident->aborted_scans);
	json_add_u64(buf, "repeated", incident->repeated_no_kill);
	json_add_u64(buf, "earlier_kills", incident->earlier_kills);
}

/* The same counters a moment earlier, as the kernel printed them. */
static void put_logged_limit(struct buf *buf, const struct incident *incident)
{
	const struct incident_log *log = &incident->log;
	size_t start;

	if (!log->joined)
		return;
	start = json_begin(buf, "kernel_log_limit", '{');
	json_add_u64(buf, "usage_bytes", log->usage_bytes);
	if (log->limit_bytes < NO_LIMIT_BYTES)
		json_add_u64(buf, "limit_bytes", log->limit_bytes);
	json_add_u64(buf, "failcnt", log->failcnt);
	json_end_filled(buf, start, '}');
}

static const char *certainty_name(enum self_certainty certainty)
{
	static const char *const names[] = {"not-seen", "certain", "likely", "possible"};

	return names[certainty];
}

/* Three digits after the point, as of milliseconds. */
static void put_percent(struct buf *buf, const char *key, uint64_t hundredths)
{
	if (hundredths <= 10000)
		json_add_ms(buf, key, hundredths * 10000);
}

/* What it was noticed by. */
static void put_observed(struct buf *buf, const struct incident *incident)
{
	const struct incident_self *self = &incident->self;

	json_begin(buf, "observed", '{');
	json_add_u64(buf, "kills", self->kills);
	json_add_u64(buf, "kills_counted", self->counted);
	json_add_u64(buf, "vanished", self->vanished);
	json_add_u64(buf, "unseen", self->unseen);
	json_add_u64(buf, "hidden_processes", self->hidden);
	json_add_string(buf, "victim_certainty", certainty_name(self->certainty));
	json_add_ms(buf, "within_ms", incident_within_ns(incident));
	put_percent(buf, "pressure_some_percent", self->pressure_some);
	put_percent(buf, "pressure_full_percent", self->pressure_full);
	json_end(buf, '}');
}

static void put_honesty(struct buf *buf, const struct sink_context *context,
	const struct incident *incident, const struct judgement *judgement)
{
	bool seen = incident->kmsg == KMSG_AGREES || incident->kmsg == KMSG_DIFFERS;

	json_verdicts(buf, judgement->verdicts, judgement->verdict_count);
	if (view_imported(incident)) {
		json_add_string(buf, "source", incident->log.followed ? "kmsg" : "import");
		json_missing(buf, judgement->missing, judgement->missing_count);
		return;
	}
	if (view_self(incident)) {
		json_add_string(buf, "source", "cgroup");
		put_observed(buf, incident);
		json_missing(buf, judgement->missing, judgement->missing_count);
		return;
	}
	json_add_string(buf, "source", seen ? "bpf+kmsg" : "bpf");
	if (incident->kmsg != KMSG_NOT_READ)
		json_add_string(buf, "kernel_log", kmsg_state_name(incident->kmsg));
	if (incident->kmsg == KMSG_DIFFERS)
		json_add_string(buf, "kernel_log_difference", incident->kmsg_difference);
	put_logged_limit(buf, incident);
	json_hooks(buf, context);
	json_missing(buf, judgement->missing, judgement->missing_count);
	json_add_u64(buf, "lost_events", incident->lost_events);
}

int json_incident(struct buf *buf, const struct sink_context *context,
	const struct incident *incident, const struct judgement *judgement)
{
	size_t start = buf->len;

	if (view_imported(incident))
		put_logged_head(buf, context, incident);
	else
		json_head(buf, context, "oom", incident->time_ns);
	json_summary(buf, view_first(judgement));
	json_add_u64(buf, "incident", incident->number);
	if (incident->outcome != OUTCOME_UNKNOWN)
		json_add_string(buf, "outcome", outcome_name(incident->outcome));
	if (!view_imported(incident)) {
		json_add_string(buf, "tier", context->tier);
		json_add_string(buf, "closed", closed_name(incident->closed));
	}
	put_where(buf, context, incident, judgement);
	put_trigger(buf, context, incident);
	json_whose(buf, incident, judgement);
	json_victim(buf, context, incident, judgement);
	json_add_u64(buf, "victims_total", view_victims_total(incident));
	json_victims(buf, context, incident, judgement);
	json_badness(buf, incident, judgement);
	json_candidates(buf, context, incident, judgement);
	json_history(buf, context, incident, judgement);
	put_after(buf, incident, judgement);
	put_honesty(buf, context, incident, judgement);
	return json_finish(buf, start);
}
