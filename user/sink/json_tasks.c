// SPDX-License-Identifier: Apache-2.0
/* Processes in the record: who died, why that one, who else was weighed. */
#include <stdio.h>
#include <string.h>

#include "sink/json.h"
#include "sink/json_parts.h"
#include "sink/view.h"

/* Processes appear as flat members ("victim_uid") and as elements of lists ("uid"). */
struct key {
	const char *prefix;
	char text[48];
};

static const char *key_of(struct key *key, const char *name)
{
	snprintf(key->text, sizeof(key->text), "%s%s", key->prefix, name);
	return key->text;
}

static void put_memory(struct buf *buf, struct key *key, const struct sink_context *context,
	const struct judgement *judgement, const struct task_facts *task)
{
	static const struct {
		const char *name;
		enum ev_rss kind;
		uint32_t unknown;
	} counters[] = {
		{"anon_bytes", EV_RSS_ANON, TASK_UNKNOWN_ANON},
		{"file_bytes", EV_RSS_FILE, TASK_UNKNOWN_FILE},
		{"shmem_bytes", EV_RSS_SHMEM, TASK_UNKNOWN_SHMEM},
		{"swap_bytes", EV_RSS_SWAP, TASK_UNKNOWN_SWAP},
	};
	uint32_t page_size = context->host->page_size;
	bool exact = view_exact(judgement, task);

	if (!view_has_memory(task))
		return;
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (!(task->unknown & counters[i].unknown))
			json_add_pages(buf, key_of(key, counters[i].name),
				view_rss(task, counters[i].kind, exact), page_size);
	if (task->unknown & TASK_UNKNOWN_SPLIT)
		json_add_pages(buf, key_of(key, "rss_bytes"), task->rss_total_pages, page_size);
	if (!(task->unknown & TASK_PTES_ONLY))
		json_add_u64(buf, key_of(key, "pgtables_bytes"), task->pgtables_bytes);
	json_add_pages(buf, key_of(key, "total_vm_bytes"), task->total_vm_pages, page_size);
	/* The kernel summed exactly, but of this process only the plain counter was read. */
	if (judgement->rss_sum == RSS_EXACT && !exact)
		json_add_bool(buf, key_of(key, "counters_approximate"), true);
}

static void put_started(struct buf *buf, struct key *key, const struct sink_context *context,
	const struct task_facts *task)
{
	if (task->start_ns != 0 && task->start_ns != UNKNOWN_U64)
		json_add_time(buf, key_of(key, "started"), view_wall_ns(context, task->start_ns));
}

/* Who it is, without its pid, which comes first in every list. */
static void put_identity(struct buf *buf, struct key *key, const struct sink_context *context,
	const struct task_facts *task)
{
	if (!view_known(task))
		return;
	if (!(task->unknown & TASK_UNKNOWN_COMM))
		json_add_name(buf, key_of(key, "comm"), task->comm);
	if (task->tid != 0)
		json_add_u64(buf, key_of(key, "tid"), task->tid);
	if (!(task->unknown & TASK_UNKNOWN_PPID))
		json_add_u64(buf, key_of(key, "ppid"), task->ppid);
	if (!(task->unknown & TASK_UNKNOWN_UID))
		json_add_u64(buf, key_of(key, "uid"), task->uid);
	if (task->ns_tgid != 0)
		json_add_u64(buf, key_of(key, "container_pid"), task->ns_tgid);
	put_started(buf, key, context, task);
}

/* How old what is told of it was when the kill was noticed. */
static void put_seen(struct buf *buf, const char *key, const struct incident *incident,
	const struct task_facts *task)
{
	if (view_self(incident) && task->at_ns <= incident->time_ns)
		json_add_ms(buf, key, incident->time_ns - task->at_ns);
}

void json_victim(struct buf *buf, const struct sink_context *context,
	const struct incident *incident, const struct judgement *judgement)
{
	struct key key = {.prefix = "victim_"};
	const struct task_facts *task;

	if (incident->victim_count == 0)
		return;
	task = view_victim(incident, 0);
	json_add_u64(buf, "victim_pid", task->tgid);
	put_identity(buf, &key, context, task);
	json_add_string(buf, "victim_cmdline", incident->victim_cmdline);
	json_add_string(buf, "victim_exe", incident->victim_exe);
	json_add_string(buf, "victim_cgroup", incident->victim_cgroup);
	if (incident->victim_cgroup[0])
		json_add_string(buf, "victim_unit", judgement->where.unit);
	put_memory(buf, &key, context, judgement, task);
	if (view_adj_known(task))
		json_add_i64(buf, "victim_oom_score_adj", task->oom_score_adj);
	put_seen(buf, "victim_seen_before_ms", incident, task);
	if (judgement->has_badness)
		json_add_i64(buf, "victim_badness_pages", judgement->badness.points);
	if (judgement->has_oom_score)
		json_add_i64(buf, "victim_oom_score", judgement->victim_oom_score);
}

static void put_end(struct buf *buf, const struct victim *victim)
{
	if (victim->exited) {
		if (victim->exit_ns >= victim->killed_ns && victim->killed_ns != UNKNOWN_U64)
			json_add_ms(buf, "exit_ms", victim->exit_ns - victim->killed_ns);
		json_add_u64(buf, "exit_code", victim->exit_code);
	}
	/* Unseen may be unhooked: only what was seen is told. */
	if (victim->mm_freed)
		json_add_bool(buf, "mm_freed", true);
	if (victim->reaped)
		json_add_bool(buf, "reaped", true);
}

void json_victims(struct buf *buf, const struct sink_context *context,
	const struct incident *incident, const struct judgement *judgement)
{
	struct key key = {.prefix = ""};
	size_t start = json_begin(buf, "victims", '[');

	for (unsigned int i = 0; i < incident->victim_count && i < INCIDENT_VICTIMS; i++) {
		const struct victim *victim = &incident->victims[i];
		const struct task_facts *task = view_victim(incident, i);

		json_begin(buf, NULL, '{');
		json_add_u64(buf, "pid", task->tgid);
		put_identity(buf, &key, context, task);
		json_add_string(buf, "why", victim_why_name(victim->why));
		put_memory(buf, &key, context, judgement, task);
		if (view_adj_known(task))
			json_add_i64(buf, "oom_score_adj", task->oom_score_adj);
		put_seen(buf, "seen_before_ms", incident, task);
		if (view_self(incident))
			json_add_bool(buf, "sigkill_seen", victim->signalled);
		else if (!view_imported(incident))
			json_add_bool(buf, "marked", victim->marked);
		put_end(buf, victim);
		json_end(buf, '}');
	}
	json_end_filled(buf, start, ']');
}

static void put_both_sums(struct buf *buf, const struct judgement *judgement)
{
	bool exact_first = judgement->rss_sum == RSS_EXACT;
	const struct badness *approx =
		exact_first ? &judgement->other_badness : &judgement->badness;
	const struct badness *exact = exact_first ? &judgement->badness : &judgement->other_badness;

	if (!judgement->has_other)
		return;
	json_add_i64(buf, "rss_approx_pages", approx->rss_pages);
	json_add_i64(buf, "rss_exact_pages", exact->rss_pages);
}

void json_badness(
	struct buf *buf, const struct incident *incident, const struct judgement *judgement)
{
	const struct badness *badness = &judgement->badness;
	int64_t kernel_points;

	if (!judgement->has_badness)
		return;
	json_begin(buf, "badness", '{');
	json_add_i64(buf, "rss_pages", badness->rss_pages);
	json_add_i64(buf, "swap_pages", badness->swap_pages);
	json_add_i64(buf, "pgtables_pages", badness->pgtables_pages);
	json_add_i64(buf, "adj_pages", badness->adj_pages);
	json_add_i64(buf, "total_pages", badness->total_pages);
	json_add_i64(buf, "points", badness->points);
	if (view_kernel_points(incident, &kernel_points))
		json_add_i64(buf, "kernel_points", kernel_points);
	put_both_sums(buf, judgement);
	if (judgement->rss_match != RSS_MATCH_UNKNOWN)
		json_add_string(buf, "rss_matches", rss_match_name(judgement->rss_match));
	json_end(buf, '}');
}

static void put_candidate(struct buf *buf, const struct sink_context *context,
	const struct judgement *judgement, const struct candidate *candidate,
	const struct ranked *ranked, unsigned int rank)
{
	const struct task_facts *task = &candidate->task;
	struct key key = {.prefix = ""};

	json_begin(buf, NULL, '{');
	json_add_u64(buf, "rank", rank);
	json_add_u64(buf, "pid", task->tgid);
	put_identity(buf, &key, context, task);
	json_add_string(buf, "cmdline", candidate->cmdline);
	json_add_string(buf, "cgroup", candidate->cgroup);
	put_memory(buf, &key, context, judgement, task);
	if (view_adj_known(task))
		json_add_i64(buf, "oom_score_adj", task->oom_score_adj);
	if (ranked->immune != NULL)
		json_add_string(buf, "immune", ranked->immune);
	else if (judgement->totalpages != UNKNOWN_U64 && view_has_memory(task))
		json_add_i64(buf, "badness_pages", ranked->badness.points);
	json_end(buf, '}');
}

void json_candidates(struct buf *buf, const struct sink_context *context,
	const struct incident *incident, const struct judgement *judgement)
{
	size_t start;

	if (view_imported(incident) && incident->log.has_table)
		json_add_u64(buf, "candidates_count", incident->candidate_total);
	if (incident->candidate_total > 0) {
		json_add_u64(buf, "candidates_total", incident->candidate_total);
		json_add_string(buf, "candidates_at", view_candidates_at(incident));
	}
	start = json_begin(buf, "candidates", '[');
	for (unsigned int i = 0; i < judgement->ranked_count && i < INCIDENT_CANDIDATES; i++) {
		const struct ranked *ranked = &judgement->ranked[i];

		if (ranked->index < incident->candidate_count &&
			ranked->index < INCIDENT_CANDIDATES)
			put_candidate(buf, context, judgement, &incident->candidates[ranked->index],
				ranked, i + 1);
	}
	json_end_filled(buf, start, ']');
}
