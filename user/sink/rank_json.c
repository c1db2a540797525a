// SPDX-License-Identifier: Apache-2.0
/* The ranking as one line of NDJSON: docs/record-schema.md names every member. */
#include "sink/json.h"
#include "sink/json_parts.h"
#include "sink/rank.h"
#include "sink/view.h"

static void put_limit_value(struct buf *buf, const char *key, uint64_t bytes)
{
	if (bytes != CGROUP_NO_LIMIT)
		json_add_u64(buf, key, bytes);
}

static void put_scope(struct buf *buf, const struct rank_report *report)
{
	const struct quota_level *limit = rank_limit(report);
	const struct host_memory *host = &report->quota.host;
	bool v2 = report->quota.v2;

	json_add_string(buf, "scope", limit ? "memcg" : "global");
	json_add_string(buf, "cgroup", report->asked);
	if (limit) {
		const struct cgroup_limits *limits = &limit->limits;

		json_add_string(buf, "limit_cgroup", limit->cgroup);
		json_add_u64(buf, "limit_bytes", limits->max_bytes);
		json_add_u64(buf, "usage_bytes", limits->usage_bytes);
		put_limit_value(
			buf, v2 ? "swap_limit_bytes" : "memsw_limit_bytes", limits->swap_max_bytes);
		json_add_u64(buf, v2 ? "swap_usage_bytes" : "memsw_usage_bytes",
			limits->swap_usage_bytes);
	}
	json_add_pages(buf, "total_bytes", report->ranking.total_pages, report->ranking.page_size);
	json_add_u64(buf, "host_total_bytes", host->total_bytes);
	json_add_u64(buf, "host_available_bytes", host->available_bytes);
	json_add_u64(buf, "host_swap_total_bytes", host->swap_total_bytes);
	json_add_u64(buf, "page_size", report->ranking.page_size);
}

static void put_first(struct buf *buf, const struct rank_report *report)
{
	const struct rank_candidate *first = report->ranking.candidates;

	if (!report->ranking.eligible)
		return;
	json_add_u64(buf, "next_pid", first->task.tgid);
	json_add_name(buf, "next_comm", first->task.comm);
	json_add_string(buf, "next_oom_group", report->oom_group);
	if (report->ranking.total_pages == UNKNOWN_U64)
		return;
	json_begin(buf, "badness", '{');
	json_add_i64(buf, "rss_pages", first->badness.rss_pages);
	json_add_i64(buf, "swap_pages", first->badness.swap_pages);
	json_add_i64(buf, "pgtables_pages", first->badness.pgtables_pages);
	json_add_i64(buf, "adj_pages", first->badness.adj_pages);
	json_add_i64(buf, "total_pages", first->badness.total_pages);
	json_add_i64(buf, "points", first->badness.points);
	json_end(buf, '}');
}

static void put_memory(struct buf *buf, const struct task_facts *task, uint32_t page_size)
{
	if (!view_has_memory(task))
		return;
	json_add_pages(buf, "anon_bytes", view_rss(task, EV_RSS_ANON, false), page_size);
	json_add_pages(buf, "file_bytes", view_rss(task, EV_RSS_FILE, false), page_size);
	json_add_pages(buf, "shmem_bytes", view_rss(task, EV_RSS_SHMEM, false), page_size);
	json_add_pages(buf, "swap_bytes", view_rss(task, EV_RSS_SWAP, false), page_size);
	json_add_u64(buf, "pgtables_bytes", task->pgtables_bytes);
	json_add_pages(buf, "total_vm_bytes", task->total_vm_pages, page_size);
}

static void put_candidate(struct buf *buf, const struct sink_context *context,
	const struct ranking *ranking, const struct rank_candidate *candidate, size_t rank)
{
	const struct task_facts *task = &candidate->task;

	json_begin(buf, NULL, '{');
	json_add_u64(buf, "rank", rank);
	json_add_u64(buf, "pid", task->tgid);
	json_add_name(buf, "comm", task->comm);
	json_add_u64(buf, "ppid", task->ppid);
	if (task->uid != UINT32_MAX)
		json_add_u64(buf, "uid", task->uid);
	json_add_time(buf, "started", view_wall_ns(context, task->start_ns));
	json_add_string(buf, "cmdline", candidate->cmdline);
	json_add_string(buf, "cgroup", candidate->cgroup);
	put_memory(buf, task, ranking->page_size);
	json_add_i64(buf, "oom_score_adj", task->oom_score_adj);
	if (candidate->immune)
		json_add_string(buf, "immune", candidate->immune);
	else if (ranking->total_pages != UNKNOWN_U64)
		json_add_i64(buf, "badness_pages", candidate->badness.points);
	json_add_u64(buf, "oom_score", candidate->oom_score);
	json_end(buf, '}');
}

static void put_candidates(
	struct buf *buf, const struct sink_context *context, const struct rank_report *report)
{
	const struct ranking *ranking = &report->ranking;

	json_begin(buf, "candidates", '[');
	for (size_t i = 0; i < ranking->count && i < report->shown; i++)
		put_candidate(buf, context, ranking, &ranking->candidates[i], i + 1);
	json_end(buf, ']');
}

static void put_notes(struct buf *buf, const struct rank_report *report)
{
	size_t start = json_begin(buf, "notes", '[');
	char text[RANK_NOTE_BYTES];
	struct buf note;

	buf_init(&note, text, sizeof(text));
	for (unsigned int i = 0; rank_note(&note, report, i); i++) {
		json_add_string(buf, NULL, text);
		buf_reset(&note);
	}
	json_end_filled(buf, start, ']');
}

int rank_json(struct buf *buf, const struct sink_context *context, const struct rank_report *report)
{
	const struct ranking *ranking = &report->ranking;
	size_t start = buf->len;

	json_head(buf, context, "rank", report->boot_ns);
	put_scope(buf, report);
	put_first(buf, report);
	json_add_u64(buf, "candidates_total", ranking->count);
	json_add_u64(buf, "eligible_total", ranking->eligible);
	json_add_u64(buf, "ties", ranking->ties);
	json_add_u64(buf, "unreadable", report->unreadable);
	json_add_u64(buf, "counter_slack_pages", report->counter_slack_pages);
	put_candidates(buf, context, report);
	put_notes(buf, report);
	return json_finish(buf, start);
}
