// SPDX-License-Identifier: Apache-2.0
#include "judge/judgement.h"

#include <string.h>

#include "judge/limit.h"
#include "judge/verdict_table.h"
#include "judge/whose.h"

const char *scope_name(enum scope scope)
{
	static const char *const names[] = {"unknown", "memcg", "global", "cpuset", "mempolicy"};

	return names[scope];
}

const char *outcome_name(enum incident_outcome outcome)
{
	switch (outcome) {
	case OUTCOME_ALREADY_EXITING:
		return "already-exiting";
	case OUTCOME_NO_KILLABLE:
		return "no-killable";
	case OUTCOME_PANIC:
		return "panic";
	case OUTCOME_UNKNOWN:
		return "unknown";
	default:
		return "killed";
	}
}

const char *closed_name(enum incident_closed closed)
{
	static const char *const names[] = {
		"open", "exited", "reaped", "timeout", "evicted", "stopped", "at-once"};

	return names[closed];
}

const char *victim_why_name(enum victim_why why)
{
	static const char *const names[] = {"unknown", "chosen", "group", "shared-mm",
		"already-exiting", "vanished", "possible"};

	return names[why];
}

const char *rss_match_name(enum rss_match match)
{
	static const char *const names[] = {"unknown", "approx", "exact", "both", "neither"};

	return names[match];
}

const char *confidence_name(enum confidence confidence)
{
	static const char *const names[] = {"unknown", "certain", "likely", "possible"};

	return names[confidence];
}

const char *kmsg_state_name(enum kmsg_state state)
{
	static const char *const names[] = {"not-read", "not-seen", "agrees", "differs"};

	return names[state];
}

/* The kernel's own points stand for a scan: with oom_kill_allocating_task there was none. Who is in
 * swapoff goes first whatever it holds: LONG_MAX stands for that. */
static bool points_are_known(const struct incident *incident)
{
	return incident->has_oc && incident->chosen_points != INT64_MAX &&
	       !strstr(incident->message, "oom_kill_allocating_task");
}

static enum rss_match match_points(const struct task_facts *task, const struct incident *incident,
	const struct host_facts *host)
{
	int64_t approx = badness_of(task, RSS_APPROX, incident->totalpages, host->page_size).points;
	int64_t exact = badness_of(task, RSS_EXACT, incident->totalpages, host->page_size).points;
	bool approx_matches = approx == incident->chosen_points;
	bool exact_matches = exact == incident->chosen_points;

	/* Only one sum was read. */
	if (!(task->flags & (EV_TASK_RSS_EXACT | EV_TASK_RSS_SPLIT)))
		return approx_matches ? RSS_MATCH_APPROX : RSS_MATCH_NEITHER;
	if (approx_matches && exact_matches)
		return RSS_MATCH_BOTH;
	if (exact_matches)
		return RSS_MATCH_EXACT;
	return approx_matches ? RSS_MATCH_APPROX : RSS_MATCH_NEITHER;
}

static const struct task_facts *candidate_of(
	const struct incident *incident, uint32_t tgid, uint64_t start_ns)
{
	for (unsigned int i = 0; i < incident->candidate_count; i++) {
		const struct task_facts *task = &incident->candidates[i].task;

		if (task->tgid == tgid && task->start_ns == start_ns)
			return task;
	}
	return NULL;
}

/* The reading that the kernel's own points were made from: while it was weighed, else when it was
 * chosen. */
static const struct task_facts *weighed_victim(
	const struct incident *incident, const struct host_facts *host, struct judgement *ret)
{
	const struct task_facts *chosen = incident->chosen.tgid ? &incident->chosen : NULL;
	const struct task_facts *scanned = NULL;

	if (!chosen && incident->victim_count)
		chosen = &incident->victims[0].task;
	if (!chosen || chosen->flags & (EV_TASK_PARTIAL | EV_TASK_NO_MM))
		return NULL;
	if (!points_are_known(incident))
		return chosen;
	ret->rss_match = match_points(chosen, incident, host);
	if (!incident->candidates_from_census)
		scanned = candidate_of(incident, chosen->tgid, chosen->start_ns);
	if (ret->rss_match != RSS_MATCH_NEITHER || !scanned)
		return chosen;
	ret->rss_match = match_points(scanned, incident, host);
	return ret->rss_match == RSS_MATCH_NEITHER ? chosen : scanned;
}

static bool line_is(const struct kmsg_kill *line, const int64_t *rss, uint32_t page_size)
{
	const int64_t unit = page_size / 1024;

	return (int64_t)line->anon_kb == rss[EV_RSS_ANON] * unit &&
	       (int64_t)line->file_kb == rss[EV_RSS_FILE] * unit &&
	       (int64_t)line->shmem_kb == rss[EV_RSS_SHMEM] * unit;
}

/*
 * Which of the two sums the kernel takes, for its points and for its log alike: what the points
 * say; else what its line in the log says; else what was seen of this kernel before; else the plain
 * counters.
 */
static enum rss_sum kernels_sum(const struct incident *incident, const struct host_facts *host,
	const struct coverage *coverage, enum rss_match match)
{
	const struct task_facts *task = &incident->victims[0].task;

	if (match == RSS_MATCH_EXACT || match == RSS_MATCH_APPROX)
		return match == RSS_MATCH_EXACT ? RSS_EXACT : RSS_APPROX;
	if (incident->kmsg == KMSG_AGREES && incident->victim_count &&
		task->flags & EV_TASK_RSS_EXACT) {
		bool approx = line_is(&incident->kmsg_line, task->rss_pages, host->page_size);
		bool exact = line_is(&incident->kmsg_line, task->rss_exact, host->page_size);

		if (approx != exact)
			return exact ? RSS_EXACT : RSS_APPROX;
	}
	return coverage->kernel_sum == RSS_MATCH_EXACT ? RSS_EXACT : RSS_APPROX;
}

static void judge_badness(const struct incident *incident, const struct host_facts *host,
	const struct coverage *coverage, struct judgement *ret)
{
	const struct task_facts *task = weighed_victim(incident, host, ret);
	enum rss_sum sum = kernels_sum(incident, host, coverage, ret->rss_match);
	uint64_t ram = incident->host.total_bytes, swap = incident->host.swap_total_bytes;

	ret->rss_sum = sum;
	/* Marked without a choice, where a choice would have been seen: there was no sum. */
	if (!task || ret->totalpages == UNKNOWN_U64 || (coverage->full_tier && !incident->has_oc))
		return;
	ret->has_badness = ret->has_held = true;
	ret->badness = badness_of(task, sum, ret->totalpages, host->page_size);
	if (task->flags & EV_TASK_RSS_EXACT) {
		ret->has_other = true;
		ret->other_badness = badness_of(task, sum == RSS_EXACT ? RSS_APPROX : RSS_EXACT,
			ret->totalpages, host->page_size);
	}
	if (ram != UNKNOWN_U64 && swap != UNKNOWN_U64) {
		uint64_t all = (ram + swap) / host->page_size;
		struct badness of_all = badness_of(task, sum, all, host->page_size);

		ret->has_oom_score = true;
		ret->victim_oom_score = badness_immune(task) ? 0 : oom_score_of(&of_all, all);
	}
}

/* The row that the kernel printed of the victim. Kernels that do not count page tables in bytes yet
 * give root a discount, too: of those no sum is told. */
static void judge_badness_of_log(
	const struct incident *incident, const struct host_facts *host, struct judgement *ret)
{
	const uint32_t needed = TASK_UNKNOWN_SWAP | TASK_UNKNOWN_ADJ | TASK_PTES_ONLY;
	const struct task_facts *task = &incident->chosen;

	ret->rss_sum = RSS_APPROX;
	if (!task->tgid)
		return;
	ret->has_held = true;
	ret->badness = badness_of(task, RSS_APPROX, ret->totalpages, host->page_size);
	ret->has_badness = ret->totalpages != UNKNOWN_U64 && !(task->unknown & needed) &&
			   task->pgtables_bytes != UNKNOWN_U64;
}

/* What it held when it was last seen. The kernel weighed it later. */
static void judge_held_of_self(
	const struct incident *incident, const struct host_facts *host, struct judgement *ret)
{
	ret->rss_sum = RSS_APPROX;
	if (!incident->victim_count)
		return;
	ret->has_held = true;
	ret->badness = badness_of(
		&incident->victims[0].task, RSS_APPROX, ret->totalpages, host->page_size);
}

static bool is_victim(const struct incident *incident, const struct task_facts *task)
{
	return incident->victim_count && incident->victims[0].task.tgid == task->tgid &&
	       incident->victims[0].task.start_ns == task->start_ns;
}

/* For the order alone: a log may tell the limit and not how much swap goes with it. Most of the
 * ceiling is the limit, then, and oom_score_adj is a share of that. */
static uint64_t ceiling_for_order(const struct incident *incident, const struct host_facts *host,
	const struct judgement *judgement)
{
	uint64_t limit;

	if (judgement->totalpages != UNKNOWN_U64 || incident->source != INCIDENT_IMPORTED ||
		judgement->limit_level < 0)
		return judgement->totalpages;
	limit = incident->levels[judgement->limit_level].max_pages;
	return limit < LIMIT_NONE_PAGES(host->page_size) ? limit : UNKNOWN_U64;
}

/* Those that may be chosen first, by points; of equals the victim leads, since the last one scanned
 * wins a tie. */
static bool ranks_before(const struct incident *incident, uint64_t ceiling, const struct ranked *a,
	const struct ranked *b)
{
	const struct task_facts *task_a = &incident->candidates[a->index].task;
	const struct task_facts *task_b = &incident->candidates[b->index].task;
	int64_t per_adj = ceiling == UNKNOWN_U64 ? 0 : (int64_t)(ceiling / 1000);
	int64_t points_a = a->badness.points - a->badness.adj_pages,
		points_b = b->badness.points - b->badness.adj_pages;

	if (!a->immune != !b->immune)
		return !a->immune;
	points_a += task_a->oom_score_adj * per_adj;
	points_b += task_b->oom_score_adj * per_adj;
	if (points_a != points_b)
		return points_a > points_b;
	return is_victim(incident, task_a) && !is_victim(incident, task_b);
}

static void judge_ranking(
	const struct incident *incident, const struct host_facts *host, struct judgement *ret)
{
	uint64_t ceiling = ceiling_for_order(incident, host, ret);
	enum rss_sum sum = ret->rss_sum;

	for (unsigned int i = 0; i < incident->candidate_count; i++) {
		const struct task_facts *task = &incident->candidates[i].task;
		struct ranked entry = {
			.index = i,
			.badness = badness_of(task, sum, ret->totalpages, host->page_size),
			.immune = badness_immune(task),
		};
		unsigned int at = ret->ranked_count++;

		while (at > 0 && ranks_before(incident, ceiling, &entry, &ret->ranked[at - 1])) {
			ret->ranked[at] = ret->ranked[at - 1];
			at--;
		}
		ret->ranked[at] = entry;
	}
}

static void judge_after(
	const struct incident *incident, const struct host_facts *host, struct judgement *ret)
{
	const struct victim *victim = &incident->victims[0];

	ret->exit_ns = ret->freed_bytes = UNKNOWN_U64;
	if (incident->victim_count && victim->exited)
		ret->exit_ns = victim->exit_ns > victim->killed_ns
				       ? victim->exit_ns - victim->killed_ns
				       : 0;
	if (ret->limit_level >= 0) {
		const struct incident_level *level = &incident->levels[ret->limit_level];

		if (level->freed_usage_pages != UNKNOWN_U64)
			ret->freed_bytes =
				level->usage_pages > level->freed_usage_pages
					? (level->usage_pages - level->freed_usage_pages) *
						  host->page_size
					: 0;
	}
}

static uint64_t known(uint64_t value)
{
	return value == UNKNOWN_U64 ? 0 : value;
}

/* What the cgroup's usage holds beyond all that its statistics name. */
static void judge_composition(const struct incident *incident, struct judgement *ret)
{
	const struct cgroup_stat *stat = &incident->stat;
	uint64_t named;

	ret->unexplained_bytes = UNKNOWN_U64;
	if (incident->stat_usage_bytes == UNKNOWN_U64 || stat->anon_bytes == UNKNOWN_U64)
		return;
	named = stat->anon_bytes + known(stat->file_bytes) + known(stat->sock_bytes) +
		known(stat->hugetlb_bytes);
	if (stat->kernel_bytes != UNKNOWN_U64)
		named += stat->kernel_bytes;
	else
		named += known(stat->slab_bytes) + known(stat->kernel_stack_bytes) +
			 known(stat->pagetables_bytes) + known(stat->percpu_bytes) +
			 known(stat->vmalloc_bytes);
	ret->unexplained_bytes =
		incident->stat_usage_bytes > named ? incident->stat_usage_bytes - named : 0;
}

void judge_missing_add(struct judgement *ret, const char *field, const char *why)
{
	if (ret->missing_count < MISSING_MAX)
		ret->missing[ret->missing_count++] = (struct missing) {field, why};
}

static void missing_all(struct judgement *ret, const char *const *fields, const char *why)
{
	for (; *fields; fields++)
		judge_missing_add(ret, *fields, why);
}

static const char *why_not_exited(const struct incident *incident, const struct coverage *coverage)
{
	if (!coverage->exit_hook)
		return "process exits could not be hooked here";
	if (incident->closed == CLOSED_EVICTED)
		return "too many incidents at once: this one was told before its victim was gone";
	if (incident->closed == CLOSED_STOPPED)
		return "the tracer was stopped before the victim was gone";
	if (incident->victims[0].mm_freed)
		return "its memory was given back, but the kernel passed over the hook on its exit";
	return "the victim was not gone when the wait ended";
}

static void missing_after(
	const struct incident *incident, const struct coverage *coverage, struct judgement *ret)
{
	if (ret->exit_ns == UNKNOWN_U64)
		judge_missing_add(ret, "exit_ms", why_not_exited(incident, coverage));
	if (!coverage->reaper_hook)
		judge_missing_add(
			ret, "reaped", "the reaper's tracepoints could not be hooked here");
	if (ret->freed_bytes != UNKNOWN_U64)
		return;
	if (ret->scope != SCOPE_MEMCG)
		judge_missing_add(
			ret, "freed_bytes", "measured only for the cgroup whose limit was hit");
	else if (ret->limit_level < 0)
		judge_missing_add(ret, "freed_bytes", "the records of the cgroup chain were lost");
	else if (!coverage->freed_hook)
		judge_missing_add(ret, "freed_bytes", "exit_mmap could not be hooked here");
	else
		judge_missing_add(ret, "freed_bytes",
			"the victim's memory was not seen to come back (another process may hold it)");
}

static const char *why_no_oc(const struct incident *incident, const struct coverage *coverage)
{
	if (!coverage->full_tier)
		return "oom_kill_process could not be hooked here";
	if (!incident->has_trigger)
		return "the record of who asked was lost";
	return "the kernel marked this victim without choosing one";
}

static void missing_victim(
	const struct incident *incident, const struct coverage *coverage, struct judgement *ret)
{
	static const char *const counters[] = {"victim_anon_bytes", "victim_file_bytes",
		"victim_shmem_bytes", "victim_swap_bytes", "victim_pgtables_bytes",
		"victim_total_vm_bytes", NULL};
	static const char *const identity[] = {"victim_comm", "victim_uid", "victim_ppid",
		"victim_started", "victim_oom_score_adj", NULL};
	static const char *const sum[] = {"badness", "victim_badness_pages", NULL};
	static const char *const weighed[] = {"candidates", "candidates_total", NULL};
	const struct task_facts *task = &incident->victims[0].task;

	if (task->flags & (EV_TASK_PARTIAL | EV_TASK_NO_MM))
		missing_all(ret, counters,
			task->flags & EV_TASK_PARTIAL
				? "this kernel's tracepoint tells only the pid"
				: "the victim had given up its memory already");
	if (task->flags & EV_TASK_PARTIAL)
		missing_all(ret, identity, "this kernel's tracepoint tells only the pid");
	if (!incident->victim_cmdline[0])
		judge_missing_add(ret, "victim_cmdline",
			coverage->process_hook ? "the process was not seen before it was killed"
					       : "process starts could not be hooked here");
	if (!incident->victim_exe[0])
		judge_missing_add(
			ret, "victim_exe", "the link was not readable while the process lived");
	if (!incident->victim_cgroup[0])
		judge_missing_add(ret, "victim_cgroup", "the path of its cgroup was not learnt");
	if (!ret->has_badness)
		missing_all(ret, sum,
			coverage->full_tier && !incident->has_oc
				? why_no_oc(incident, coverage)
				: "the victim's counters or the ceiling are not known");
	if (!incident->candidate_count)
		missing_all(ret, weighed,
			coverage->candidates_hook || coverage->census
				? "the kernel weighed nobody, or the records were lost"
				: "neither the kernel's scan nor a census could be hooked here");
}

static void missing_trigger(
	const struct incident *incident, const struct coverage *coverage, struct judgement *ret)
{
	static const char *const order[] = {"manual", "order", NULL};
	static const char *const mask[] = {"gfp_mask", "gfp_flags", NULL};
	static const char *const trigger_fields[] = {
		"trigger_pid", "trigger_tid", "trigger_comm", "trigger_cgroup", NULL};

	if (!incident->has_oc) {
		const char *why = why_no_oc(incident, coverage);

		if (!incident->log.has_order)
			missing_all(ret, order, why);
		if (!incident->log.has_gfp)
			missing_all(ret, mask, why);
		if (!incident->log.joined)
			judge_missing_add(ret, "nodemask", why);
		judge_missing_add(ret, "badness.kernel_points", why);
	}
	if (!incident->has_trigger) {
		missing_all(ret, trigger_fields, "the record of who asked was lost");
		return;
	}
	if (!incident->trigger_cgroup[0])
		judge_missing_add(ret, "trigger_cgroup", "the path of its cgroup was not learnt");
	if (!incident->trigger_cmdline[0] && !(incident->trigger_flags & EV_CONTEXT_KTHREAD))
		judge_missing_add(ret, "trigger_cmdline", "the process was not seen before");
}

static void missing_limit(const struct incident *incident, struct judgement *ret)
{
	static const char *const limit[] = {"limit_cgroup", "limit_bytes", "usage_bytes", NULL};

	if (!incident->level_count)
		judge_missing_add(ret, "limits", "the records of the cgroup chain were lost");
	if (ret->scope == SCOPE_UNKNOWN)
		judge_missing_add(ret, "scope", "the records of the cgroup chain were lost");
	if (ret->scope == SCOPE_MEMCG && ret->limit_level < 0)
		missing_all(ret, limit, "the records of the cgroup chain were lost");
	else if (ret->limit_level >= 0 && !incident->level_paths[ret->limit_level][0])
		judge_missing_add(ret, "limit_cgroup", "the path of the cgroup was not learnt");
	if (ret->scope == SCOPE_MEMCG && incident->stat.anon_bytes == UNKNOWN_U64)
		judge_missing_add(ret, "composition",
			"the cgroup's memory.stat was not readable (the cgroup may be gone)");
	if (ret->totalpages == UNKNOWN_U64)
		judge_missing_add(ret, "total_bytes", "oom_control.totalpages is not known");
}

/* Where charges or faults were not counted, what they would have told is estimated or left out. */
static void missing_growth(
	const struct incident *incident, const struct coverage *coverage, struct judgement *ret)
{
	static const char *const history[] = {"window_ms", "growth", "growth_cgroups",
		"growth_processes", "families", "fault_counting", NULL};
	static const char *const usage[] = {
		"growth.delta_bytes", "growth.kind", "growth.series_bytes", NULL};
	const char *faults_why = coverage->faults_why;

	if (!incident->growth.valid) {
		missing_all(ret, history,
			coverage->recorder ? "no pass of the recorder came before this kill"
					   : "no history was kept");
		return;
	}
	if (!incident->growth.domain_known)
		missing_all(ret, usage, "the usage was not recorded before this kill");
	else if (ret->trend.kind == TREND_UNKNOWN)
		judge_missing_add(ret, "growth.kind", "the history before this kill is too short");
	if (!coverage->charge_hook)
		judge_missing_add(
			ret, "growth_cgroups.charged_bytes", "charges could not be hooked here");
	if (incident->growth.armed_count)
		return;
	if (!faults_why && !coverage->faults_hook)
		faults_why = "page faults cannot be counted here";
	judge_missing_add(ret, "fault_counting",
		faults_why ? faults_why : "page faults were not counted before this kill");
}

static void judge_missing(
	const struct incident *incident, const struct coverage *coverage, struct judgement *ret)
{
	missing_trigger(incident, coverage, ret);
	missing_limit(incident, ret);
	missing_growth(incident, coverage, ret);
	if (incident->outcome != OUTCOME_NO_KILLABLE) {
		missing_victim(incident, coverage, ret);
		missing_after(incident, coverage, ret);
	}
	if (incident->kmsg == KMSG_NOT_READ)
		judge_missing_add(ret, "kernel_log", "/dev/kmsg is not readable here");
	if (incident->outcome != OUTCOME_NO_KILLABLE && !coverage->signal_hook)
		judge_missing_add(ret, "victims.why",
			"processes that only share the memory are not seen here");
}

void judge_incident(const struct incident *incident, const struct host_facts *host,
	const struct coverage *coverage, struct judgement *ret)
{
	memset(ret, 0, sizeof(*ret));
	judge_limit(incident, host, ret);
	judge_whose(incident, ret);
	ret->manual_known = incident_order_known(incident);
	ret->manual = ret->manual_known && incident->order == -1;
	if (incident->source == INCIDENT_IMPORTED) {
		ret->manual_known = incident->log.has_order;
		ret->manual = incident->log.sysrq;
		judge_badness_of_log(incident, host, ret);
	} else if (incident->source == INCIDENT_SELF) {
		judge_held_of_self(incident, host, ret);
	} else {
		judge_badness(incident, host, coverage, ret);
	}
	judge_ranking(incident, host, ret);
	judge_after(incident, host, ret);
	judge_composition(incident, ret);
	trend_of(&incident->growth, &ret->trend);
	growth_share_of(&incident->growth, &ret->trend, &ret->share);
	if (incident->source == INCIDENT_IMPORTED)
		judge_missing_of_log(incident, ret);
	else if (incident->source == INCIDENT_SELF)
		judge_missing_of_self(incident, ret);
	else
		judge_missing(incident, coverage, ret);
	judge_whose_missing(incident, ret);
	judge_verdicts(incident, host, ret);
}
