// SPDX-License-Identifier: Apache-2.0
/* type: "run" */
#include <sys/wait.h>

#include "sink/json.h"
#include "sink/json_parts.h"
#include "sink/run.h"

static void put_end(struct buf *buf, const struct run_facts *facts)
{
	json_add_u64(buf, "pid", facts->pid);
	json_add_name(buf, "comm", facts->comm);
	json_add_name(buf, "cmdline", facts->cmdline);
	if (WIFSIGNALED(facts->status)) {
		json_add_string(buf, "signal", run_signal_name((uint32_t)WTERMSIG(facts->status)));
		if (WCOREDUMP(facts->status))
			json_add_bool(buf, "core_dumped", true);
	} else {
		json_add_u64(buf, "exit_code", (uint64_t)WEXITSTATUS(facts->status));
	}
	json_add_ms(buf, "wall_ms", facts->wall_ns);
	json_add_ms(buf, "user_ms", facts->user_ns);
	json_add_ms(buf, "system_ms", facts->system_ns);
	json_add_u64(buf, "alive", facts->alive);
	if (facts->passed_signal) {
		json_add_string(buf, "passed_signal", run_signal_name(facts->passed_signal));
		if (!facts->passed_by_kernel)
			json_add_u64(buf, "passed_from_pid", facts->passed_pid);
	}
}

static void put_peak(
	struct buf *buf, const struct run_facts *facts, const struct run_judgement *judgement)
{
	const struct run_peak *peak = &facts->peak;

	json_add_u64(buf, "peak_bytes", judgement->peak_bytes);
	json_add_string(buf, "peak_measured", run_measure_name(judgement->measure));
	json_add_u64(buf, "maxrss_bytes", facts->maxrss_bytes);
	if (!peak->looks)
		return;
	json_add_u64(buf, "looks", peak->looks);
	json_add_u64(buf, "peak_rss_bytes", peak->rss_bytes);
	json_add_ms(buf, "peak_rss_at_ms", peak->rss_at_ns);
	json_add_u64(buf, "peak_processes", peak->rss_processes);
	json_add_u64(buf, "peak_pss_bytes", peak->pss_bytes);
	if (peak->pss_bytes != UNKNOWN_U64)
		json_add_ms(buf, "peak_pss_at_ms", peak->pss_at_ns);
	if (!peak->largest_pid)
		return;
	json_add_u64(buf, "largest_pid", peak->largest_pid);
	json_add_name(buf, "largest_comm", peak->largest_comm);
	json_add_u64(buf, "largest_bytes", peak->largest_bytes);
}

static void put_cgroup(struct buf *buf, const struct run_cgroup *cgroup)
{
	json_add_string(buf, "cgroup", cgroup->path);
	json_add_bool(buf, "cgroup_own", cgroup->own);
	json_add_u64(buf, "cgroup_oom_kills", cgroup->oom_kills);
	if (!cgroup->own)
		return;
	json_add_u64(buf, "limit_bytes", cgroup->max_bytes);
	json_add_u64(buf, "swap_limit_bytes", cgroup->swap_max_bytes);
	json_add_u64(buf, "cgroup_peak_bytes", cgroup->peak_bytes);
	if (cgroup->left)
		json_add_bool(buf, "cgroup_left", true);
}

static void put_watched(struct buf *buf, const struct run_told *told)
{
	json_add_string(buf, "watched", run_watch_name(told->watch));
	if (told->watch == RUN_WATCH_NONE)
		return;
	json_add_bool(buf, "watched_from_start", told->from_start);
	json_add_ms(buf, "attached_ms", told->attached_ns);
	if (told->members)
		json_add_u64(buf, "processes", told->members);
	json_add_u64(buf, "oom_incidents", told->oom_total);
	json_add_u64(buf, "other_kills", told->kill_total);
	json_add_u64(buf, "refusals", told->refusal_total);
	json_add_u64(buf, "foreign_oom_incidents", told->foreign_ooms);
}

static void put_dead(struct buf *buf, const struct run_told *told)
{
	size_t start = json_begin(buf, "ended_by_signal", '[');

	for (unsigned int i = 0; i < told->dead_total && i < RUN_DEAD; i++) {
		json_begin(buf, NULL, '{');
		json_add_u64(buf, "pid", told->dead[i].pid);
		json_add_name(buf, "comm", told->dead[i].comm);
		json_add_string(buf, "signal", run_signal_name(told->dead[i].signal));
		json_end(buf, '}');
	}
	json_end_filled(buf, start, ']');
}

int json_run(struct buf *buf, const struct sink_context *context, const struct run_facts *facts,
	const struct run_judgement *judgement, uint64_t ended_ns)
{
	size_t start = buf->len;

	json_head(buf, context, "run", ended_ns);
	put_end(buf, facts);
	put_peak(buf, facts, judgement);
	put_cgroup(buf, &facts->cgroup);
	put_watched(buf, &facts->told);
	put_dead(buf, &facts->told);
	json_verdicts(buf, judgement->verdicts, judgement->verdict_count);
	if (judgement->missing_count > 0)
		json_missing(buf, judgement->missing, judgement->missing_count);
	return json_finish(buf, start);
}
