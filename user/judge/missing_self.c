// SPDX-License-Identifier: Apache-2.0
/* What an incident lacks that was noticed from within its cgroup, by counters and who vanished. */
#include "judge/judgement.h"

#define NO_RIGHTS "not to be seen without rights (CAP_BPF, or the kernel log)"

static void all(struct judgement *ret, const char *const *fields, const char *why)
{
	for (; *fields; fields++)
		judge_missing_add(ret, *fields, why);
}

static void missing_limit(const struct incident *incident, struct judgement *ret)
{
	static const char *const limit[] = {"limit_cgroup", "limit_bytes", "usage_bytes", NULL};

	if (ret->scope == SCOPE_UNKNOWN) {
		judge_missing_add(ret, "scope",
			"no limit that can be seen from here was hit: one above, or the machine");
		all(ret, limit, "no limit that can be seen from here was hit");
	}
	if (ret->totalpages == UNKNOWN_U64)
		judge_missing_add(ret, "total_bytes", "the limit is not known");
	if (incident->stat.anon_bytes == UNKNOWN_U64)
		judge_missing_add(ret, "composition",
			"memory.stat of that cgroup was not read before the kill");
}

static void missing_victim(const struct incident *incident, struct judgement *ret)
{
	static const char *const who[] = {
		"victim_pid", "victim_comm", "victim_uid", "victim_cgroup", NULL};
	static const char *const sum[] = {"badness", "victim_badness_pages", NULL};

	if (!incident->victim_count)
		all(ret, who,
			"no process vanished that was seen before: it lived too briefly, or cannot "
			"be seen from here");
	else if (!incident->victim_cmdline[0])
		judge_missing_add(ret, "victim_cmdline", "it was not readable");
	if (incident->victim_count && !incident->victim_exe[0])
		judge_missing_add(ret, "victim_exe", "the link was not readable");
	all(ret, sum,
		"its counters are those of the last look before, not those that were weighed");
	if (!incident->candidate_count)
		judge_missing_add(ret, "candidates", "no process was seen there");
}

void judge_missing_of_self(const struct incident *incident, struct judgement *ret)
{
	static const char *const never[] = {"trigger_pid", "trigger_tid", "trigger_comm",
		"trigger_cgroup", "order", "gfp_mask", "gfp_flags", "manual", "reaped",
		"kernel_log", NULL};

	all(ret, never, NO_RIGHTS);
	missing_limit(incident, ret);
	missing_victim(incident, ret);
	judge_missing_add(ret, "exit_ms", "who vanished is noticed at the next look");
	if (ret->freed_bytes == UNKNOWN_U64)
		judge_missing_add(ret, "freed_bytes", "measured only for a limit that was hit");
	if (!incident->growth.valid)
		judge_missing_add(ret, "growth", "no look came before this kill");
	else if (ret->trend.kind == TREND_UNKNOWN)
		judge_missing_add(ret, "growth.kind", "the history before this kill is too short");
	judge_missing_add(ret, "fault_counting", NO_RIGHTS);
}
