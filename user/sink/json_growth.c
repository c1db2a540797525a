// SPDX-License-Identifier: Apache-2.0
/* Who grew: in the record of an incident, and as lines of their own. */
#include "sink/json.h"
#include "sink/json_parts.h"
#include "sink/view.h"

static void put_started(
	struct buf *buf, const struct sink_context *context, const char *key, uint64_t start_ns)
{
	if (start_ns != 0 && start_ns != UNKNOWN_U64)
		json_add_time(buf, key, view_wall_ns(context, start_ns));
}

/* Doubles are judged with and rounded at the end only. */
static void put_rate(struct buf *buf, double bytes_per_s)
{
	if (bytes_per_s > -(double)JSON_NUMBER_MAX && bytes_per_s < (double)JSON_NUMBER_MAX)
		json_add_i64(buf, "bytes_per_s", (int64_t)bytes_per_s);
}

static void put_trend(
	struct buf *buf, const struct growth_picture *picture, const struct trend *trend)
{
	if (trend->kind == TREND_UNKNOWN)
		return;
	json_add_string(buf, "kind", trend_name(trend->kind));
	json_add_u64(buf, "rise_bytes", trend->rise_bytes);
	put_rate(buf, trend->bytes_per_s);
	if (trend->start_ns != 0 && trend->start_ns <= picture->to_ns)
		json_add_ms(buf, "started_ms_before", picture->to_ns - trend->start_ns);
	if (trend->kind == TREND_SPIKE)
		json_add_ms(buf, "spike_ms", trend->spike_ns);
	json_add_decimal(buf, "r2", (int64_t)(trend->r2 * 1000 + 0.5), 3);
}

/* A plot needs every place: where one point is not known, all are left out. */
static void put_series(struct buf *buf, const struct growth_picture *picture)
{
	unsigned int count = picture->point_count;

	if (count == 0 || count > PICTURE_POINTS)
		return;
	for (unsigned int i = 0; i < count; i++) {
		if (picture->points[i] > JSON_NUMBER_MAX)
			return;
	}
	json_begin(buf, "series_bytes", '[');
	for (unsigned int i = 0; i < count; i++)
		json_add_u64(buf, NULL, picture->points[i]);
	json_end(buf, ']');
}

static void put_growth(
	struct buf *buf, const struct growth_picture *picture, const struct judgement *judgement)
{
	json_begin(buf, "growth", '{');
	if (picture->domain_id == 0)
		json_add_string(buf, "scope", "host");
	else
		json_add_string(buf, "cgroup", view_growth_path(picture, picture->domain_id));
	json_add_u64(buf, "max_bytes", picture->domain_max_bytes);
	if (picture->domain_known) {
		json_add_i64(buf, "delta_bytes", picture->domain_delta_bytes);
		json_add_i64(buf, "unattributed_bytes", picture->unattributed_bytes);
		put_trend(buf, picture, &judgement->trend);
		put_series(buf, picture);
	}
	json_end(buf, '}');
}

static void put_cgroups(struct buf *buf, const struct growth_picture *picture)
{
	if (picture->cgroup_total > picture->cgroup_count)
		json_add_u64(buf, "growth_cgroups_total", picture->cgroup_total);
	json_begin(buf, "growth_cgroups", '[');
	for (unsigned int i = 0; i < picture->cgroup_count && i < PICTURE_CGROUPS; i++) {
		const struct picture_cgroup *cgroup = &picture->cgroups[i];

		json_begin(buf, NULL, '{');
		json_add_string(buf, "cgroup", cgroup->path);
		json_add_i64(buf, "delta_bytes", cgroup->delta_bytes);
		json_add_i64(buf, "own_delta_bytes", cgroup->own_bytes);
		json_add_u64(buf, "usage_bytes", cgroup->usage_bytes);
		json_add_u64(buf, "charged_bytes", cgroup->charged_bytes);
		if (cgroup->began)
			json_add_bool(buf, "began", true);
		json_end(buf, '}');
	}
	json_end(buf, ']');
}

static void put_copied(struct buf *buf, uint64_t cow_bytes, bool upper_bound)
{
	json_add_u64(buf, "cow_bytes", cow_bytes);
	if (upper_bound)
		json_add_bool(buf, "cow_upper_bound", true);
}

static void put_process(struct buf *buf, const struct sink_context *context,
	const struct growth_picture *picture, const struct picture_process *process)
{
	json_begin(buf, NULL, '{');
	json_add_u64(buf, "pid", process->tgid);
	json_add_name(buf, "comm", process->comm);
	put_started(buf, context, "started", process->start_ns);
	json_add_u64(buf, "ppid", process->ppid);
	json_add_string(buf, "cgroup", view_growth_path(picture, process->cgroup_id));
	json_add_i64(buf, "delta_bytes", process->delta_bytes);
	put_copied(buf, process->cow_bytes, process->cow_upper_bound);
	json_add_u64(buf, "cached_bytes", process->cached_bytes);
	json_add_u64(buf, "held_bytes", process->held_bytes);
	json_add_u64(buf, "peak_bytes", process->peak_bytes);
	json_add_string(buf, "state", process->exited ? "exited" : "alive");
	if (process->began)
		json_add_bool(buf, "began", true);
	json_end(buf, '}');
}

static void put_processes(
	struct buf *buf, const struct sink_context *context, const struct growth_picture *picture)
{
	if (picture->process_total > picture->process_count)
		json_add_u64(buf, "growth_processes_total", picture->process_total);
	json_begin(buf, "growth_processes", '[');
	for (unsigned int i = 0; i < picture->process_count && i < PICTURE_PROCESSES; i++)
		put_process(buf, context, picture, &picture->processes[i]);
	json_end(buf, ']');
}

static void put_families(
	struct buf *buf, const struct sink_context *context, const struct growth_picture *picture)
{
	if (picture->family_total > picture->family_count)
		json_add_u64(buf, "families_total", picture->family_total);
	json_begin(buf, "families", '[');
	for (unsigned int i = 0; i < picture->family_count && i < PICTURE_FAMILIES; i++) {
		const struct picture_family *family = &picture->families[i];

		json_begin(buf, NULL, '{');
		json_add_u64(buf, "root_pid", family->root_tgid);
		json_add_name(buf, "comm", family->comm);
		put_started(buf, context, "root_started", family->root_start_ns);
		json_add_u64(buf, "members", family->members);
		json_add_u64(buf, "exited", family->exited);
		json_add_u64(buf, "private_bytes", family->private_bytes);
		json_add_u64(buf, "shared_bytes", family->shared_bytes);
		json_add_i64(buf, "delta_bytes", family->delta_bytes);
		put_copied(buf, family->cow_bytes, family->cow_upper_bound);
		json_end(buf, '}');
	}
	json_end(buf, ']');
}

/* Relative to the end of the window: 0 is the end, and what was before it is negative. */
static void put_before(struct buf *buf, const char *key, uint64_t at_ns, uint64_t end_ns)
{
	int64_t before_us = at_ns < end_ns ? (int64_t)((end_ns - at_ns) / 1000) : 0;

	json_add_decimal(buf, key, -before_us, 3);
}

static void put_fault_counting(struct buf *buf, const struct growth_picture *picture)
{
	size_t start = json_begin(buf, "fault_counting", '[');

	for (unsigned int i = 0; i < picture->armed_count && i < PICTURE_ARMED; i++) {
		const struct picture_armed *armed = &picture->armed[i];

		json_begin(buf, NULL, '{');
		put_before(buf, "from_ms", armed->from_ns, picture->to_ns);
		put_before(
			buf, "to_ms", armed->to_ns ? armed->to_ns : picture->to_ns, picture->to_ns);
		json_end(buf, '}');
	}
	json_end_filled(buf, start, ']');
}

void json_history(struct buf *buf, const struct sink_context *context,
	const struct incident *incident, const struct judgement *judgement)
{
	const struct growth_picture *picture = &incident->growth;

	if (!picture->valid)
		return;
	json_add_ms(buf, "window_ms", view_window_ns(picture));
	put_growth(buf, picture, judgement);
	put_cgroups(buf, picture);
	put_processes(buf, context, picture);
	put_families(buf, context, picture);
	put_fault_counting(buf, picture);
	json_add_u64(buf, "history_evicted", picture->evicted);
	json_add_u64(buf, "not_followed", picture->not_followed);
}

/* --- lines of their own --- */

static void put_changed_process(
	struct buf *buf, const struct sink_context *context, const struct growth_change *change)
{
	json_add_u64(buf, "pid", change->tgid);
	json_add_name(buf, "comm", change->comm);
	put_started(buf, context, "started", change->start_ns);
}

int json_growth(struct buf *buf, const struct sink_context *context,
	const struct growth_change *change, const char *path, const struct container_names *names)
{
	size_t start = buf->len;

	json_head(buf, context, "growth", change->time_ns);
	json_add_string(buf, "of", change->is_cgroup ? "cgroup" : "process");
	if (!change->is_cgroup)
		put_changed_process(buf, context, change);
	json_add_string(buf, "cgroup", path);
	json_whose_cgroup(buf, path, names);
	json_add_i64(buf, "delta_bytes", change->delta_bytes);
	if (change->is_cgroup) {
		json_add_u64(buf, "usage_bytes", change->now_bytes);
		json_add_u64(buf, "max_bytes", change->max_bytes);
	} else {
		json_add_u64(buf, "cow_bytes", change->cow_bytes);
		json_add_u64(buf, "held_bytes", change->now_bytes);
	}
	if (change->since_ns <= change->time_ns)
		json_add_ms(buf, "since_ms", change->time_ns - change->since_ns);
	json_add_string(buf, "state", change->exited ? "exited" : "alive");
	return json_finish(buf, start);
}

int json_pressure(struct buf *buf, const struct sink_context *context, uint64_t boot_ns,
	const struct growth_pressure *pressure, const char *path,
	const struct container_names *names, const char *why)
{
	size_t start = buf->len;
	uint64_t tenths;

	json_head(buf, context, "pressure", boot_ns);
	if (pressure->cgroup_id == 0)
		json_add_string(buf, "scope", "host");
	else
		json_add_string(buf, "cgroup", path);
	json_whose_cgroup(buf, path, names);
	json_add_u64(buf, "usage_bytes", pressure->usage_bytes);
	json_add_u64(buf, "max_bytes", pressure->max_bytes);
	if (view_used_tenths(pressure, &tenths))
		json_add_decimal(buf, "used_percent", (int64_t)tenths, 1);
	put_rate(buf, pressure->bytes_per_s);
	json_add_ms(buf, "left_ms", pressure->left_ns);
	json_add_string(buf, "why", why);
	return json_finish(buf, start);
}
