// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "judge/limit.h"
#include "sink/json.h"
#include "sink/view.h"

const struct incident_level *view_limit(
	const struct incident *incident, const struct judgement *judgement)
{
	int level = judgement->limit_level;

	if (level < 0 || (unsigned int)level >= incident->level_count || level >= EV_MAX_LEVELS)
		return NULL;
	return &incident->levels[level];
}

const char *view_limit_path(const struct incident *incident, const struct judgement *judgement)
{
	if (view_limit(incident, judgement) == NULL)
		return "";
	return incident->level_paths[judgement->limit_level];
}

bool view_unlimited(uint64_t pages, uint32_t page_size)
{
	return pages != UNKNOWN_U64 && page_size > 0 && pages >= LIMIT_NONE_PAGES(page_size);
}

static bool is_chosen(const struct incident *incident, const struct task_facts *task)
{
	return incident->chosen.tgid != 0 && incident->chosen.tgid == task->tgid;
}

const struct task_facts *view_victim(const struct incident *incident, unsigned int index)
{
	const struct task_facts *task = &incident->victims[index].task;

	return !view_known(task) && is_chosen(incident, task) ? &incident->chosen : task;
}

const struct task_facts *view_chosen(const struct incident *incident)
{
	if (incident->chosen.tgid != 0)
		return &incident->chosen;
	return incident->victim_count > 0 ? &incident->victims[0].task : NULL;
}

bool view_known(const struct task_facts *task)
{
	return (task->flags & EV_TASK_PARTIAL) == 0;
}

bool view_imported(const struct incident *incident)
{
	return incident->source == INCIDENT_IMPORTED;
}

bool view_self(const struct incident *incident)
{
	return incident->source == INCIDENT_SELF;
}

const char *view_candidates_at(const struct incident *incident)
{
	if (view_self(incident))
		return "before";
	return incident->candidates_from_census ? "census" : "kernel";
}

const char *view_stat_at(const struct incident *incident)
{
	if (view_self(incident))
		return "before";
	return view_stat_at_kill(incident) ? "kernel" : "after";
}

bool view_stat_at_kill(const struct incident *incident)
{
	return view_imported(incident) || incident->stat_at_kill;
}

bool view_comm_known(const struct task_facts *task)
{
	return view_known(task) && !(task->unknown & TASK_UNKNOWN_COMM);
}

bool view_adj_known(const struct task_facts *task)
{
	return view_known(task) && !(task->unknown & TASK_UNKNOWN_ADJ);
}

bool view_has_memory(const struct task_facts *task)
{
	return (task->flags & (EV_TASK_PARTIAL | EV_TASK_NO_MM)) == 0;
}

bool view_exact(const struct judgement *judgement, const struct task_facts *task)
{
	return judgement->rss_sum == RSS_EXACT && (task->flags & EV_TASK_RSS_EXACT) != 0;
}

uint64_t view_rss(const struct task_facts *task, enum ev_rss kind, bool exact)
{
	int64_t pages = exact ? task->rss_exact[kind] : task->rss_pages[kind];

	return pages > 0 ? (uint64_t)pages : 0;
}

uint64_t view_rss_total(const struct task_facts *task, bool exact)
{
	if (task->unknown & TASK_UNKNOWN_SPLIT)
		return task->rss_total_pages;
	return view_rss(task, EV_RSS_ANON, exact) + view_rss(task, EV_RSS_FILE, exact) +
	       view_rss(task, EV_RSS_SHMEM, exact);
}

bool view_allocating_task(const struct incident *incident)
{
	return (incident->has_oc || view_imported(incident)) &&
	       strstr(incident->message, "oom_kill_allocating_task") != NULL;
}

bool view_kernel_points(const struct incident *incident, int64_t *ret_points)
{
	if (!incident->has_oc || incident->outcome == OUTCOME_NO_KILLABLE ||
		view_allocating_task(incident))
		return false;
	/* What select_bad_process() starts from: nothing was weighed, a dying task was let go on.
	 */
	if (incident->chosen_points == INT64_MIN || incident->chosen.tgid == 0)
		return false;
	*ret_points = incident->chosen_points;
	return true;
}

bool view_missing(const struct judgement *judgement, const char *field)
{
	for (unsigned int i = 0; i < judgement->missing_count; i++) {
		if (strcmp(judgement->missing[i].field, field) == 0)
			return true;
	}
	return false;
}

bool view_verdict(const struct judgement *judgement, const char *id)
{
	for (unsigned int i = 0; i < judgement->verdict_count && i < VERDICTS_MAX; i++) {
		if (strcmp(judgement->verdicts[i].id, id) == 0)
			return true;
	}
	return false;
}

const struct verdict *view_first(const struct judgement *judgement)
{
	return judgement->verdict_count > 0 ? &judgement->verdicts[0] : NULL;
}

bool view_headline_says(const char *id)
{
	static const char *const ids[] = {"own-limit", "ancestor-limit", "host-exhausted",
		"node-bound", "operator-request", "no-victim", "victim-not-seen", "limit-not-here"};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		if (strcmp(id, ids[i]) == 0)
			return true;
	}
	return false;
}

const char *view_growth_path(const struct growth_picture *picture, uint64_t cgroup_id)
{
	for (unsigned int i = 0; i < picture->cgroup_count && i < PICTURE_CGROUPS; i++) {
		if (picture->cgroups[i].id == cgroup_id)
			return picture->cgroups[i].path;
	}
	return "";
}

uint64_t view_window_ns(const struct growth_picture *picture)
{
	return picture->to_ns > picture->from_ns ? picture->to_ns - picture->from_ns : 0;
}

bool view_used_tenths(const struct growth_pressure *pressure, uint64_t *ret_tenths)
{
	unsigned __int128 tenths;

	if (pressure->max_bytes == 0 || pressure->max_bytes == UNKNOWN_U64 ||
		pressure->usage_bytes == UNKNOWN_U64)
		return false;
	tenths = (unsigned __int128)pressure->usage_bytes * 1000 / pressure->max_bytes;
	*ret_tenths = tenths < JSON_NUMBER_MAX ? (uint64_t)tenths : JSON_NUMBER_MAX;
	return true;
}

uint32_t view_victims_total(const struct incident *incident)
{
	/* Of those that vanished only so many were killed. */
	if (view_self(incident))
		return incident->self.kills;
	return incident->victim_count + incident->victims_dropped;
}

int64_t view_wall_ns(const struct sink_context *context, uint64_t boot_ns)
{
	return (int64_t)(boot_ns + (uint64_t)context->wall_minus_boot_ns);
}
