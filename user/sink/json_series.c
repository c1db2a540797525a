// SPDX-License-Identifier: Apache-2.0
#include "sink/json_series.h"

#include "sink/json.h"
#include "sink/json_parts.h"
#include "sink/view.h"

static void put_head(struct buf *buf, const char *type, int64_t time_ns, const char *hostname)
{
	json_begin(buf, NULL, '{');
	json_add_u64(buf, "v", 1);
	json_add_name(buf, "type", type);
	json_add_time(buf, "ts", time_ns);
	json_add_string(buf, "host", hostname);
}

/* Below 0: not counted. */
static void put_bytes(struct buf *buf, const char *key, int64_t bytes)
{
	if (bytes >= 0)
		json_add_i64(buf, key, bytes);
}

/* Clocks of the boot, as mono_us: with boot_id they order, and tell processes of one pid apart. */
static void put_mono(struct buf *buf, const char *key, uint64_t boot_ns)
{
	if (boot_ns != 0 && boot_ns != UNKNOWN_U64)
		json_add_u64(buf, key, boot_ns / 1000);
}

static void put_process(
	struct buf *buf, const struct history_owner *owner, const char *path, const int64_t *values)
{
	json_add_string(buf, "kind", "process");
	json_add_u64(buf, "pid", owner->tgid);
	json_add_name(buf, "comm", owner->comm);
	put_mono(buf, "started_mono_us", owner->start_ns);
	json_add_u64(buf, "ppid", owner->ppid);
	if (owner->root_tgid != 0)
		json_add_u64(buf, "root_pid", owner->root_tgid);
	json_add_string(buf, "cgroup", path);
	put_bytes(buf, "resident_bytes", values[HISTORY_RESIDENT]);
	put_bytes(buf, "swap_bytes", values[HISTORY_SWAP]);
	put_bytes(buf, "cow_bytes", values[HISTORY_COW]);
	put_bytes(buf, "cached_bytes", values[HISTORY_CACHED]);
	json_add_u64(buf, "forked_shared_bytes", owner->shared_bytes);
}

static void put_cgroup(
	struct buf *buf, const struct history_owner *owner, const char *path, const int64_t *values)
{
	json_add_string(buf, "kind", "cgroup");
	json_add_string(buf, "cgroup", path);
	put_bytes(buf, "usage_bytes", values[HISTORY_USAGE]);
	put_bytes(buf, "charged_bytes", values[HISTORY_CHARGED]);
	json_add_u64(buf, "max_bytes", owner->max_bytes);
}

int json_series(struct buf *buf, const struct capture_run *run, const struct history_owner *owner,
	const char *path, const struct history_point *point)
{
	size_t start = buf->len;

	put_head(buf, "series", point->time_ns, run->host.hostname);
	json_add_string(buf, "boot_id", run->host.boot_id);
	switch (owner->kind) {
	case HISTORY_PROCESS:
		put_process(buf, owner, path, point->values);
		break;
	case HISTORY_CGROUP:
		put_cgroup(buf, owner, path, point->values);
		break;
	default:
		json_add_string(buf, "kind", "machine");
		put_bytes(buf, "used_bytes", point->values[HISTORY_USED]);
		json_add_u64(buf, "max_bytes", owner->max_bytes);
	}
	return json_finish(buf, start);
}

int json_gap(struct buf *buf, const char *hostname, const struct store_gap *gap)
{
	size_t start = buf->len;

	put_head(buf, "gap", gap->from_ns, hostname);
	json_add_time(buf, "until", gap->to_ns);
	json_add_string(buf, "why", store_gap_name(gap->why));
	json_add_u64(buf, "incidents_lost", gap->incidents);
	json_add_u64(buf, "points_lost", gap->points);
	return json_finish(buf, start);
}

static void put_victim(struct buf *buf, const struct list_entry *entry)
{
	const struct incident *incident = entry->incident;
	const struct task_facts *task;

	if (incident->victim_count == 0)
		return;
	task = view_victim(incident, 0);
	json_add_u64(buf, "victim_pid", task->tgid);
	if (view_known(task))
		json_add_name(buf, "victim_comm", task->comm);
	json_add_string(buf, "victim_cgroup", incident->victim_cgroup);
	json_add_u64(buf, "victim_held_bytes", list_held_bytes(entry));
}

static void put_limit(struct buf *buf, const struct list_entry *entry)
{
	const struct incident_level *level = view_limit(entry->incident, entry->judgement);
	uint32_t page_size = entry->context->host->page_size;

	if (level == NULL || entry->judgement->scope != SCOPE_MEMCG)
		return;
	json_add_string(buf, "limit_cgroup", view_limit_path(entry->incident, entry->judgement));
	if (view_limit_path(entry->incident, entry->judgement)[0])
		json_add_string(buf, "limit_kind", cgroup_kind_name(entry->judgement->limit_kind));
	if (!view_unlimited(level->max_pages, page_size))
		json_add_pages(buf, "limit_bytes", level->max_pages, page_size);
	json_add_pages(buf, "usage_bytes", level->usage_pages, page_size);
}

static void put_verdicts(struct buf *buf, const struct judgement *judgement)
{
	size_t start = json_begin(buf, "verdict_ids", '[');

	for (unsigned int i = 0; i < judgement->verdict_count && i < VERDICTS_MAX; i++)
		json_add_string(buf, NULL, judgement->verdicts[i].id);
	json_end_filled(buf, start, ']');
}

int json_listed(struct buf *buf, const struct list_entry *entry)
{
	const struct incident *incident = entry->incident;
	size_t start = buf->len;

	json_head(buf, entry->context, "incident", incident->time_ns);
	json_summary(buf, view_first(entry->judgement));
	json_add_i64(buf, "number", entry->id);
	json_add_u64(buf, "incident", incident->number);
	json_add_string(buf, "outcome", outcome_name(incident->outcome));
	if (entry->judgement->scope != SCOPE_UNKNOWN)
		json_add_string(buf, "scope", scope_name(entry->judgement->scope));
	put_limit(buf, entry);
	json_whose(buf, incident, entry->judgement);
	put_victim(buf, entry);
	json_add_u64(buf, "victims_total", view_victims_total(incident));
	put_verdicts(buf, entry->judgement);
	if (entry->damaged)
		json_add_bool(buf, "damaged", true);
	return json_finish(buf, start);
}
