// SPDX-License-Identifier: Apache-2.0
/* What an imported incident lacks: why, in the log's own terms. */
#include "judge/judgement.h"

#define NOT_IN_LOG "the log does not tell it"
#define NEVER_IN_LOG "kernel logs do not tell it"

static void all(struct judgement *ret, const char *const *fields, const char *why)
{
	for (; *fields; fields++)
		judge_missing_add(ret, *fields, why);
}

static void missing_time(const struct incident *incident, struct judgement *ret)
{
	const struct incident_log *log = &incident->log;

	if (!log->has_time)
		judge_missing_add(ret, "ts",
			log->stamp[0] ? "the log's stamps have no year, or no time zone"
				      : "the log's lines have no time of day");
	else if (log->zone_assumed)
		judge_missing_add(ret, "ts_zone",
			"the log's stamps name no time zone: the reader's was taken");
	if (!log->has_mono)
		judge_missing_add(ret, "mono_us", "the log's lines have no kernel seconds");
	if (log->page_size_assumed)
		judge_missing_add(
			ret, "page_size", "the log does not show it: 4096 bytes were assumed");
}

static void missing_request(const struct incident *incident, struct judgement *ret)
{
	static const char *const asker[] = {"trigger_comm", "trigger_tid", "trigger_pid", "order",
		"gfp_mask", "gfp_flags", NULL};
	const struct incident_log *log = &incident->log;

	if (!ret->manual_known && !ret->manual)
		judge_missing_add(ret, "manual", NOT_IN_LOG);
	if (!incident->has_trigger) {
		all(ret, asker, "the line of who asked is not in the log");
		return;
	}
	if (!log->has_order)
		judge_missing_add(ret, "order", NOT_IN_LOG);
	if (!log->has_gfp)
		judge_missing_add(ret, "gfp_mask", NOT_IN_LOG);
	if (!log->gfp_flags[0])
		judge_missing_add(ret, "gfp_flags", NOT_IN_LOG);
	if (!log->has_trigger_tid)
		judge_missing_add(ret, "trigger_tid", NOT_IN_LOG);
	if (!log->has_trigger_pid)
		judge_missing_add(ret, "trigger_pid",
			log->has_trigger_tid
				? "the log tells a thread; its process is not in the table"
				: NOT_IN_LOG);
}

static void missing_limit(const struct incident *incident, struct judgement *ret)
{
	static const char *const limit[] = {"limit_cgroup", "limit_bytes", "usage_bytes", NULL};
	const struct incident_level *level;

	if (ret->scope == SCOPE_UNKNOWN)
		judge_missing_add(ret, "scope", NOT_IN_LOG);
	if (ret->totalpages == UNKNOWN_U64)
		judge_missing_add(ret, "total_bytes", NOT_IN_LOG);
	if (ret->scope != SCOPE_MEMCG) {
		if (incident->host.total_bytes == UNKNOWN_U64)
			judge_missing_add(ret, "host_total_bytes", NOT_IN_LOG);
		return;
	}
	judge_missing_add(ret, "host_total_bytes",
		"of a cgroup's limit the kernel does not print the machine's memory");
	if (ret->limit_level < 0) {
		all(ret, limit, NOT_IN_LOG);
	} else {
		level = &incident->levels[ret->limit_level];
		if (!incident->level_paths[ret->limit_level][0])
			judge_missing_add(ret, "limit_cgroup", NOT_IN_LOG);
		if (level->usage_pages == UNKNOWN_U64)
			judge_missing_add(ret, "usage_bytes", NOT_IN_LOG);
		if (level->max_pages == UNKNOWN_U64)
			judge_missing_add(ret, "limit_bytes", NOT_IN_LOG);
	}
	if (incident->stat.anon_bytes == UNKNOWN_U64)
		judge_missing_add(ret, "composition", NOT_IN_LOG);
}

static void missing_victim(const struct incident *incident, struct judgement *ret)
{
	static const struct {
		uint32_t flag;
		const char *field;
	} fields[] = {{TASK_UNKNOWN_COMM, "victim_comm"}, {TASK_UNKNOWN_UID, "victim_uid"},
		{TASK_UNKNOWN_ADJ, "victim_oom_score_adj"},
		{TASK_UNKNOWN_ANON, "victim_anon_bytes"}, {TASK_UNKNOWN_FILE, "victim_file_bytes"},
		{TASK_UNKNOWN_SHMEM, "victim_shmem_bytes"},
		{TASK_UNKNOWN_SWAP, "victim_swap_bytes"}};
	static const char *const never[] = {"victim_ppid", "victim_started", "victim_cmdline",
		"victim_exe", "exit_ms", "freed_bytes", NULL};
	const struct task_facts *task = &incident->victims[0].task;

	if (!incident->victim_count) {
		if (incident->outcome == OUTCOME_UNKNOWN)
			judge_missing_add(ret, "victim_pid", "the log ends before it, or lost it");
		return;
	}
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (task->unknown & fields[i].flag)
			judge_missing_add(ret, fields[i].field, NOT_IN_LOG);
	if (task->pgtables_bytes == UNKNOWN_U64 || task->unknown & TASK_PTES_ONLY)
		judge_missing_add(ret, "victim_pgtables_bytes", NOT_IN_LOG);
	if (task->total_vm_pages == UNKNOWN_U64)
		judge_missing_add(ret, "victim_total_vm_bytes", NOT_IN_LOG);
	if (!incident->victim_cgroup[0])
		judge_missing_add(ret, "victim_cgroup", NOT_IN_LOG);
	if (!ret->has_badness) {
		judge_missing_add(ret, "badness", NOT_IN_LOG);
		judge_missing_add(ret, "victim_badness_pages", NOT_IN_LOG);
	}
	all(ret, never, NEVER_IN_LOG);
	if (!incident->victims[0].reaped)
		judge_missing_add(ret, "reaped", "the log has no line of the reaper's");
}

void judge_missing_of_log(const struct incident *incident, struct judgement *ret)
{
	static const char *const never[] = {
		"trigger_cgroup", "trigger_cmdline", "growth", "families", NULL};

	if (incident->outcome == OUTCOME_UNKNOWN)
		judge_missing_add(ret, "outcome", "the log ends before it, or lost it");
	missing_time(incident, ret);
	missing_request(incident, ret);
	missing_limit(incident, ret);
	missing_victim(incident, ret);
	if (!incident->log.has_table)
		judge_missing_add(ret, "candidates", "the table is not in the log");
	all(ret, never, NEVER_IN_LOG);
}
