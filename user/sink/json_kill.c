// SPDX-License-Identifier: Apache-2.0
#include "judge/whose.h"
#include "sink/json.h"
#include "sink/json_parts.h"
#include "sink/kill.h"
#include "sink/view.h"

static void put_started(
	struct buf *buf, const struct sink_context *context, const char *key, uint64_t start_ns)
{
	if (start_ns != 0 && start_ns != UNKNOWN_U64)
		json_add_time(buf, key, view_wall_ns(context, start_ns));
}

static void put_hundredths(struct buf *buf, const char *key, uint64_t value)
{
	if (value != UNKNOWN_U64)
		json_add_decimal(buf, key, value, 2);
}

static void put_sender(struct buf *buf, const struct sink_context *context,
	const struct killing *killing, const struct kill_judgement *judgement)
{
	json_add_u64(buf, "sender_pid", killing->sender_tgid);
	json_add_u64(buf, "sender_tid", killing->sender_tid);
	json_add_name(buf, "sender_comm", killing->sender_comm);
	json_add_string(buf, "sender_cmdline", killing->sender_cmdline);
	json_add_string(buf, "sender_exe", killing->sender_exe);
	json_add_string(buf, "sender_file", killing->sender_file);
	json_add_u64(buf, "sender_uid", killing->sender_uid);
	json_add_u64(buf, "sender_ppid", killing->sender_ppid);
	json_add_string(buf, "sender_parent_comm", killing->sender_parent);
	json_add_string(buf, "sender_parent_exe", killing->sender_parent_exe);
	put_started(buf, context, "sender_started", killing->sender_start_ns);
	json_add_string(buf, "sender_cgroup", killing->sender_cgroup);
	json_add_string(buf, "sender_kind", killer_kind_name(judgement->killer.kind));
	json_add_string(buf, "sender_name", judgement->killer.name);
	if (killing->flags & EV_SIGNAL_KTHREAD)
		json_add_bool(buf, "sender_kernel_thread", true);
}

static void put_whose(
	struct buf *buf, const struct killing *killing, const struct container_path *where)
{
	const struct container_names *names = &killing->names;
	enum container_runtime runtime = whose_runtime(where, names);

	json_add_string(buf, "target_unit", where->unit);
	json_add_string(buf, "container_id", where->id);
	json_add_string(
		buf, "container_name", names->container[0] ? names->container : where->name);
	json_add_string(buf, "pod_name", names->pod);
	json_add_string(buf, "pod_namespace", names->namespace);
	json_add_string(buf, "pod_uid", where->pod_uid[0] ? where->pod_uid : names->pod_uid);
	json_add_string(buf, "pod_qos", pod_qos_name(where->qos));
	json_add_string(buf, "runtime", container_runtime_name(runtime));
	json_add_string(buf, "node_container_id", where->node_id);
}

static void put_target(
	struct buf *buf, const struct sink_context *context, const struct killing *killing)
{
	static const char *const keys[] = {"target_anon_bytes", "target_file_bytes",
		"target_shmem_bytes", "target_swap_bytes"};
	const struct killing_target *target = &killing->targets[0];

	json_add_u64(buf, "target_pid", target->tgid);
	json_add_u64(buf, "target_tid", target->tid);
	if (target->ns_tgid != target->tgid)
		json_add_u64(buf, "target_container_pid", target->ns_tgid);
	json_add_name(buf, "target_comm", target->comm);
	json_add_string(buf, "target_cmdline", killing->target_cmdline);
	json_add_string(buf, "target_exe", killing->target_exe);
	json_add_u64(buf, "target_uid", target->uid);
	json_add_u64(buf, "target_ppid", target->ppid);
	json_add_u64(buf, "target_pgid", target->pgid);
	put_started(buf, context, "target_started", target->start_ns);
	json_add_string(buf, "target_cgroup", killing->target_cgroup);
	json_add_i64(buf, "target_oom_score_adj", target->oom_score_adj);
	json_rss(buf, target->rss_pages, keys, context->host->page_size);
	json_add_bool(buf, "target_is_child", target->flags & EV_SIGNAL_CHILD);
	json_add_bool(buf, "target_is_descendant", target->flags & EV_SIGNAL_DESCENDANT);
}

static void put_targets(
	struct buf *buf, const struct sink_context *context, const struct killing *killing)
{
	static const char *const keys[] = {"anon_bytes", "file_bytes", "shmem_bytes", "swap_bytes"};

	json_add_u64(buf, "targets_total", killing->total);
	json_add_u64(buf, "targets_descendants", killing->descendants);
	if (killing->total == 1)
		return;
	json_begin(buf, "targets", '[');
	for (unsigned int i = 0; i < killing->target_count && i < KILLING_TARGETS; i++) {
		const struct killing_target *target = &killing->targets[i];

		json_begin(buf, NULL, '{');
		json_add_u64(buf, "pid", target->tgid);
		json_add_name(buf, "comm", target->comm);
		json_add_u64(buf, "uid", target->uid);
		put_started(buf, context, "started", target->start_ns);
		json_rss(buf, target->rss_pages, keys, context->host->page_size);
		json_end(buf, '}');
	}
	json_end(buf, ']');
}

static void put_before(struct buf *buf, const struct killing *killing)
{
	if (killing->term_ns) {
		json_add_ms(buf, "sigterm_ms_before", killing->time_ns - killing->term_ns);
		json_add_u64(buf, "sigterm_pid", killing->term_tgid);
		json_add_string(buf, "sigterm_comm", killing->term_comm);
		json_add_u64(buf, "sigterm_count", killing->term_count);
	}
	if (killing->oom_ns) {
		json_add_ms(buf, "oom_kill_ms_before", killing->time_ns - killing->oom_ns);
		json_add_u64(buf, "oom_kill_pid", killing->oom_tgid);
		json_add_name(buf, "oom_kill_comm", killing->oom_comm);
	}
}

static void put_state(
	struct buf *buf, const struct sink_context *context, const struct killing *killing)
{
	const struct host_memory *host = &killing->host;
	uint32_t page = context->host->page_size;

	if (killing->flags & EV_SIGNAL_LIMIT) {
		json_add_string(buf, "limit_cgroup", killing->limit_cgroup);
		json_add_pages(buf, "limit_bytes", killing->limit_max_pages, page);
		json_add_pages(buf, "usage_bytes", killing->limit_usage_pages, page);
		json_add_u64(buf, "limit_oom_kills", killing->limit_oom_kills);
	}
	json_add_u64(buf, "host_total_bytes", host->total_bytes);
	json_add_u64(buf, "host_available_bytes", host->available_bytes);
	json_add_u64(buf, "host_swap_total_bytes", host->swap_total_bytes);
	json_add_u64(buf, "host_swap_free_bytes", host->swap_free_bytes);
	put_hundredths(buf, "pressure_some_percent", killing->pressure.some);
	put_hundredths(buf, "pressure_full_percent", killing->pressure.full);
	put_hundredths(buf, "cgroup_pressure_some_percent", killing->cgroup_pressure.some);
	put_hundredths(buf, "cgroup_pressure_full_percent", killing->cgroup_pressure.full);
}

static void put_tmpfs(struct buf *buf, const struct tmpfs_use *tmpfs)
{
	size_t start;

	json_add_string(buf, "tmpfs_mount", tmpfs->mount);
	if (tmpfs->files == UINT32_MAX)
		return;
	json_add_u64(buf, "tmpfs_files", tmpfs->files);
	json_add_u64(buf, "tmpfs_named_bytes", tmpfs->named_bytes);
	start = json_begin(buf, "tmpfs_largest", '[');
	for (unsigned int i = 0; i < tmpfs->largest_count && i < TMPFS_LARGEST; i++) {
		json_begin(buf, NULL, '{');
		json_add_name(buf, "file", tmpfs->largest[i].name);
		json_add_u64(buf, "bytes", tmpfs->largest[i].bytes);
		json_end(buf, '}');
	}
	json_end_filled(buf, start, ']');
}

static void put_fault(
	struct buf *buf, const struct sink_context *context, const struct killing *killing)
{
	uint32_t page = context->host->page_size;
	uint64_t from;

	if (killing->manner != MANNER_FAULT)
		return;
	json_add_hex(buf, "fault_address", killing->address);
	if (!(killing->flags & EV_SIGNAL_MAPPING))
		return;
	json_add_string(buf, "fault_file", killing->mapping_name);
	json_add_string(buf, "fault_fs", mapping_fs_name(killing->mapping_magic));
	json_add_u64(buf, "fault_file_bytes", killing->mapping_bytes);
	if (!__builtin_mul_overflow(killing->mapping_pgoff, (uint64_t)page, &from) &&
		!__builtin_add_overflow(from, killing->mapping_offset, &from))
		json_add_u64(buf, "fault_offset_bytes", from);
	if (!(killing->flags & EV_SIGNAL_BLOCKS))
		return;
	json_add_pages(buf, "tmpfs_max_bytes", killing->tmpfs_max_blocks, page);
	json_add_pages(buf, "tmpfs_used_bytes", killing->tmpfs_used_blocks, page);
	put_tmpfs(buf, &killing->tmpfs);
}

static void put_signal(struct buf *buf, const struct killing *killing)
{
	json_add_u64(buf, "number", killing->number);
	json_add_string(buf, "signal", signal_name(killing->signal));
	json_add_i64(buf, "code", killing->code);
	json_add_string(buf, "code_name", signal_code_name(killing->signal, killing->code));
	json_add_string(buf, "manner", manner_name(killing->manner));
	if (killing->flags & EV_SIGNAL_ARGUMENT)
		json_add_i64(buf, "kill_argument", killing->argument);
	json_add_string(
		buf, "result", killing->result == EV_SIGNAL_IGNORED ? "ignored" : "delivered");
	json_add_bool(buf, "to_process", killing->flags & EV_SIGNAL_GROUP);
}

int json_kill(struct buf *buf, const struct sink_context *context, const struct killing *killing,
	const struct kill_judgement *judgement)
{
	size_t start = buf->len;

	json_head(buf, context, "kill", killing->time_ns);
	json_summary(buf, &judgement->verdicts[0]);
	put_signal(buf, killing);
	put_sender(buf, context, killing, judgement);
	put_target(buf, context, killing);
	put_whose(buf, killing, &judgement->where);
	put_targets(buf, context, killing);
	put_before(buf, killing);
	put_state(buf, context, killing);
	put_fault(buf, context, killing);
	json_verdicts(buf, judgement->verdicts, judgement->verdict_count);
	if (judgement->missing_count > 0)
		json_missing(buf, judgement->missing, judgement->missing_count);
	return json_finish(buf, start);
}
