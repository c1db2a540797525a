// SPDX-License-Identifier: Apache-2.0
#include "sink/json.h"
#include "sink/json_parts.h"
#include "sink/refusal.h"
#include "sink/view.h"

static void put_call(struct buf *buf, const struct refusal *refusal)
{
	json_add_u64(buf, "number", refusal->number);
	json_add_string(buf, "call", refusal_call_name(refusal->call));
	json_add_string(buf, "error", refusal_error_name(refusal->error));
	json_add_u64(buf, "count", refusal->count);
	json_add_bool(buf, "count_is_least", refusal->count_is_least);
	json_add_u64(buf, "processes", refusal->processes);
	if (refusal->before)
		json_add_u64(buf, "count_before", refusal->before);
	json_add_ms(buf, "lasted_ms", refusal->last_ns - refusal->time_ns);
	if (refusal->asked_bytes)
		json_add_u64(buf, "asked_bytes", refusal->asked_bytes);
	if (refusal->call == EV_CALL_MMAP)
		json_add_hex(buf, "map_flags", refusal->detail >> 32);
	if (refusal->call == EV_CALL_MMAP || refusal->call == EV_CALL_MPROTECT)
		json_add_hex(buf, "protection", (uint32_t)refusal->detail);
	if (refusal->call == EV_CALL_FORK || refusal->call == EV_CALL_THREAD)
		json_add_hex(buf, "clone_flags", refusal->detail);
}

static void put_cause(struct buf *buf, const struct refusal_judgement *judgement)
{
	bool bytes = refusal_counts_bytes(judgement->cause);

	json_add_string(buf, "cause", refusal_cause_name(judgement->cause));
	if (!judgement->cause)
		return;
	json_add_u64(buf, bytes ? "cause_asked_bytes" : "cause_asked", judgement->asked);
	json_add_u64(buf, bytes ? "cause_used_bytes" : "cause_used", judgement->used);
	json_add_u64(buf, bytes ? "cause_limit_bytes" : "cause_limit", judgement->limit);
}

static void put_process(
	struct buf *buf, const struct sink_context *context, const struct refusal *refusal)
{
	static const char *const keys[] = {"anon_bytes", "file_bytes", "shmem_bytes", "swap_bytes"};
	uint32_t page = context->host->page_size;

	json_add_u64(buf, "pid", refusal->tgid);
	json_add_u64(buf, "tid", refusal->tid);
	if (refusal->ns_tgid != refusal->tgid)
		json_add_u64(buf, "container_pid", refusal->ns_tgid);
	json_add_name(buf, "comm", refusal->comm);
	json_add_string(buf, "cmdline", refusal->cmdline);
	json_add_string(buf, "exe", refusal->exe);
	json_add_u64(buf, "uid", refusal->uid);
	json_add_u64(buf, "ppid", refusal->ppid);
	json_add_time(buf, "started", view_wall_ns(context, refusal->start_ns));
	json_add_string(buf, "cgroup", refusal->cgroup);
	if (!(refusal->flags & EV_REFUSAL_MM))
		return;
	json_add_pages(buf, "mapped_bytes", refusal->total_vm_pages, page);
	json_add_pages(buf, "data_bytes", refusal->data_vm_pages, page);
	json_add_u64(buf, "heap_bytes", refusal->brk_bytes);
	json_add_u64(buf, "mappings", refusal->map_count);
	json_rss(buf, refusal->rss_pages, keys, page);
}

/* Every limit that there is, whichever it was. */
static void put_limits(
	struct buf *buf, const struct sink_context *context, const struct refusal *refusal)
{
	const struct allowance *allowance = &refusal->allowance;
	uint32_t page = context->host->page_size;

	json_add_u64(buf, "rlimit_as_bytes", refusal->limit_as_bytes);
	json_add_u64(buf, "rlimit_data_bytes", refusal->limit_data_bytes);
	json_add_u64(buf, "rlimit_nproc", refusal->limit_nproc);
	json_add_u64(buf, "user_processes", refusal->user_processes);
	if (refusal->flags & EV_REFUSAL_PIDS) {
		json_add_string(buf, "pids_cgroup", refusal->pids_cgroup);
		json_add_name(buf, "pids_cgroup_name", refusal->pids_name);
		json_add_i64(buf, "pids_max", refusal->pids_max);
		json_add_i64(buf, "pids_current", refusal->pids_count);
	}
	if (refusal->flags & EV_REFUSAL_LIMIT) {
		json_add_string(buf, "limit_cgroup", refusal->limit_cgroup);
		json_add_pages(buf, "limit_bytes", refusal->limit_max_pages, page);
		json_add_pages(buf, "usage_bytes", refusal->limit_usage_pages, page);
	}
	json_add_u64(buf, "overcommit_memory", allowance->overcommit);
	json_add_u64(buf, "commit_limit_bytes", allowance->commit_limit_bytes);
	json_add_u64(buf, "committed_bytes", allowance->committed_bytes);
	json_add_u64(buf, "max_map_count", allowance->max_map_count);
	json_add_u64(buf, "threads_max", allowance->threads_max);
	json_add_u64(buf, "threads", allowance->threads);
	json_add_u64(buf, "host_total_bytes", refusal->host.total_bytes);
	json_add_u64(buf, "host_available_bytes", refusal->host.available_bytes);
	json_add_u64(buf, "host_swap_total_bytes", refusal->host.swap_total_bytes);
	json_add_u64(buf, "host_swap_free_bytes", refusal->host.swap_free_bytes);
}

int json_refusal(struct buf *buf, const struct sink_context *context, const struct refusal *refusal,
	const struct refusal_judgement *judgement)
{
	size_t start = buf->len;

	json_head(buf, context, "refusal", refusal->time_ns);
	json_summary(buf, &judgement->verdicts[0]);
	put_call(buf, refusal);
	put_cause(buf, judgement);
	put_process(buf, context, refusal);
	put_limits(buf, context, refusal);
	json_verdicts(buf, judgement->verdicts, judgement->verdict_count);
	if (judgement->missing_count > 0)
		json_missing(buf, judgement->missing, judgement->missing_count);
	return json_finish(buf, start);
}
