// SPDX-License-Identifier: Apache-2.0
/* The facts of a kill that was not the OOM killer's, member by member. */
#include "model/store_fields_parts.h"

#define PAGES_MAX (1ULL << 43)
#define SIGNAL_MAX 64
#define PERCENT_MAX 10000 /* in hundredths */

#define KILL(type, name, member, max, about)                                                       \
	{                                                                                          \
		name, type, sizeof(((struct killing *)0)->member), 0,                              \
			offsetof(struct killing, member), max, about                               \
	}
#define TARGET(type, name, member, max, about)                                                     \
	{                                                                                          \
		name, type, sizeof(((struct killing_target *)0)->member),                          \
			sizeof(struct killing_target),                                             \
			offsetof(struct killing, targets[0].member), max, about                    \
	}
#define TOLD(type, name, member, max, about)                                                       \
	{                                                                                          \
		name, type, sizeof(((struct store_kill_told *)0)->member), 0,                      \
			offsetof(struct store_kill_told, member), max, about                       \
	}
#define LARGEST(i)                                                                                 \
	KILL(FIELD_U64, "tmpfs_largest_" #i "_bytes", tmpfs.largest[i].bytes, BYTES_MAX, NULL),    \
		KILL(FIELD_TEXT, "tmpfs_largest_" #i "_name", tmpfs.largest[i].name, 0, NULL)

static const struct field kill_fields[] = {
	KILL(FIELD_U32, "number", number, 0, "of the kill within its run"),
	KILL(FIELD_U32, "manner", manner, MANNER_LAST,
		"1 each, 2 process group, 3 all, 4 cgroup.kill, 5 end of a pid namespace, 6 death of "
		"the parent, 7 the kernel, 8 a fault, 9 a timer"),
	KILL(FIELD_U64_KNOWN, "time_ns", time_ns, TIME_MAX, "of the first signal"),
	KILL(FIELD_U64_KNOWN, "last_ns", last_ns, TIME_MAX, NULL),
	KILL(FIELD_U32, "signal", signal, SIGNAL_MAX, NULL),
	KILL(FIELD_I32, "code", code, 0, "si_code"),
	KILL(FIELD_U32, "result", result, EV_SIGNAL_LOST_INFO, "1: ignored"),
	KILL(FIELD_U32, "flags", flags, 0, "enum ev_signal_flag, of the first signal"),
	KILL(FIELD_I32, "argument", argument, 0, "of kill(2), where flags & 512"),
	KILL(FIELD_U32, "sender_pid", sender_tgid, 0, NULL),
	KILL(FIELD_U32, "sender_tid", sender_tid, 0, NULL),
	KILL(FIELD_U32, "sender_ppid", sender_ppid, 0, NULL),
	KILL(FIELD_U32, "sender_uid", sender_uid, 0, NULL),
	KILL(FIELD_U64, "sender_start_ns", sender_start_ns, TIME_MAX, NULL),
	KILL(FIELD_U64, "sender_cgroup_id", sender_cgroup_id, 0, "kernfs id"),
	KILL(FIELD_TEXT, "sender_comm", sender_comm, 0, NULL),
	KILL(FIELD_TEXT, "sender_parent_comm", sender_parent, 0, NULL),
	KILL(FIELD_TEXT, "sender_cmdline", sender_cmdline, 0, NULL),
	KILL(FIELD_TEXT, "sender_exe", sender_exe, 0, NULL),
	KILL(FIELD_TEXT, "sender_file", sender_file, 0, "name of the program file alone"),
	KILL(FIELD_TEXT, "sender_parent_exe", sender_parent_exe, 0, NULL),
	KILL(FIELD_TEXT, "sender_cgroup", sender_cgroup, 0, NULL),
	KILL(FIELD_U32, "total", total, 0, "signals, those included that were only counted"),
	KILL(FIELD_U32, "descendants", descendants, 0,
		"of those that were told: to whom descends from the sender"),
	KILL(FIELD_U32, "target_count", target_count, KILLING_TARGETS, "rows of kill_target"),
	KILL(FIELD_TEXT, "target_cgroup", target_cgroup, 0, "of the first"),
	KILL(FIELD_TEXT, "target_cmdline", target_cmdline, 0, NULL),
	KILL(FIELD_TEXT, "target_exe", target_exe, 0, NULL),
	NAMES_FIELDS(KILL),
	KILL(FIELD_U64_KNOWN, "term_ns", term_ns, TIME_MAX, "SIGTERM before it; 0: none"),
	KILL(FIELD_U32, "term_pid", term_tgid, 0, NULL),
	KILL(FIELD_U32, "term_count", term_count, 0, NULL),
	KILL(FIELD_TEXT, "term_comm", term_comm, 0, NULL),
	KILL(FIELD_U64, "limit_id", limit_id, 0, "kernfs id of the fullest limit of the chain"),
	KILL(FIELD_U64, "limit_usage_pages", limit_usage_pages, COUNTER_MAX, NULL),
	KILL(FIELD_U64, "limit_max_pages", limit_max_pages, COUNTER_MAX, NULL),
	KILL(FIELD_U64, "limit_oom_kills", limit_oom_kills, 0, "memory.events oom_kill"),
	KILL(FIELD_TEXT, "limit_cgroup", limit_cgroup, 0, NULL),
	KILL(FIELD_U64_KNOWN, "oom_ns", oom_ns, TIME_MAX,
		"the last OOM kill in the same cgroup; 0: none"),
	KILL(FIELD_U32, "oom_pid", oom_tgid, 0, NULL),
	KILL(FIELD_TEXT, "oom_comm", oom_comm, 0, NULL),
	KILL(FIELD_U64, "address", address, 0, "of a fault"),
	KILL(FIELD_U64, "mapping_magic", mapping_magic, 0, "super_block.s_magic"),
	KILL(FIELD_U64, "mapping_bytes", mapping_bytes, BYTES_MAX, "size of the file"),
	KILL(FIELD_U64, "mapping_pgoff", mapping_pgoff, COUNTER_MAX, NULL),
	KILL(FIELD_U64, "mapping_offset", mapping_offset, BYTES_MAX, NULL),
	KILL(FIELD_U64, "tmpfs_max_blocks", tmpfs_max_blocks, COUNTER_MAX, NULL),
	KILL(FIELD_U64, "tmpfs_used_blocks", tmpfs_used_blocks, COUNTER_MAX, NULL),
	KILL(FIELD_U32, "mapping_dev", mapping_dev, 0, "major << 20 | minor"),
	KILL(FIELD_TEXT, "mapping_name", mapping_name, 0, NULL),
	KILL(FIELD_TEXT, "tmpfs_mount", tmpfs.mount, 0, "as the target or its parent sees it"),
	KILL(FIELD_U32_OR_NONE, "tmpfs_files", tmpfs.files, 0, "in its topmost folder"),
	KILL(FIELD_U32, "tmpfs_largest_count", tmpfs.largest_count, TMPFS_LARGEST, NULL),
	KILL(FIELD_U64, "tmpfs_named_bytes", tmpfs.named_bytes, BYTES_MAX, "what these files take"),
	LARGEST(0),
	LARGEST(1),
	LARGEST(2),
	KILL(FIELD_BOOL, "gathered", gathered, 0, "what user space adds was read"),
	HOST_FIELDS(KILL, BYTES_MAX),
	KILL(FIELD_U64, "pressure_some", pressure.some, PERCENT_MAX,
		"hundredths of a percent, over 10 s"),
	KILL(FIELD_U64, "pressure_full", pressure.full, PERCENT_MAX, NULL),
	KILL(FIELD_U64, "cgroup_pressure_some", cgroup_pressure.some, PERCENT_MAX, NULL),
	KILL(FIELD_U64, "cgroup_pressure_full", cgroup_pressure.full, PERCENT_MAX, NULL),
	KILL(FIELD_U64, "burst_ns", burst_ns, TIME_MAX, NULL),
	KILL(FIELD_U32, "burst_first", burst_first, 0, NULL),
	KILL(FIELD_U32, "received", received, 0, "signals that were told one by one"),
};

const struct field_table store_fields_kill = {
	"kill", "the kill", kill_fields, COUNT(kill_fields), 0, 0, NULL};

static const struct field target_fields[] = {
	TARGET(FIELD_U32, "pid", tgid, 0, NULL),
	TARGET(FIELD_U32, "tid", tid, 0, NULL),
	TARGET(FIELD_U32, "ppid", ppid, 0, NULL),
	TARGET(FIELD_U32, "uid", uid, 0, NULL),
	TARGET(FIELD_U32, "ns_pid", ns_tgid, 0, "as seen in its own pid namespace"),
	TARGET(FIELD_U32, "pgid", pgid, 0, NULL),
	TARGET(FIELD_I32, "oom_score_adj", oom_score_adj, ADJ_MAX, NULL),
	TARGET(FIELD_U32, "flags", flags, 0, "enum ev_signal_flag"),
	TARGET(FIELD_U64_KNOWN, "time_ns", time_ns, TIME_MAX, NULL),
	TARGET(FIELD_U64, "start_ns", start_ns, TIME_MAX, NULL),
	TARGET(FIELD_U64, "cgroup_id", cgroup_id, 0, "kernfs id"),
	RSS_FIELDS(TARGET, PAGES_MAX),
	TARGET(FIELD_TEXT, "comm", comm, 0, NULL),
};

const struct field_table store_fields_kill_target = {"kill_target", "targets", target_fields,
	COUNT(target_fields), KILLING_TARGETS, offsetof(struct killing, target_count), NULL};

static const struct field told_fields[] = {
	TOLD(FIELD_I64, "time_real_ns", time_real_ns, TIME_MAX, "CLOCK_REALTIME"),
	TOLD(FIELD_I64, "wall_minus_boot_ns", wall_minus_boot_ns, TIME_MAX,
		"add to any _ns for CLOCK_REALTIME"),
	TOLD(FIELD_I64, "run", run, 0, "run.id"),
	TOLD(FIELD_TEXT, "told_by", by, 0, "version of oomsnoop that judged it for these columns"),
	TOLD(FIELD_TEXT, "told_first_verdict", first_verdict, 0, NULL),
	TOLD(FIELD_TEXT, "told_claim", claim, 0, "of the first verdict"),
	TOLD(FIELD_TEXT, "told_container_id", container_id, 0, NULL),
	TOLD(FIELD_TEXT, "told_container_name", container_name, 0, NULL),
	TOLD(FIELD_TEXT, "told_pod_uid", pod_uid, 0, NULL),
	TOLD(FIELD_TEXT, "told_runtime", runtime, 0, NULL),
	TOLD(FIELD_TEXT, "told_unit", unit, 0, "systemd unit, out of the path"),
};

const struct field_table store_fields_kill_told = {
	"kill", "the kill", told_fields, COUNT(told_fields), 0, 0, NULL};

const struct field_table store_fields_refusal_told = {
	"refusal", "the refusal", told_fields, COUNT(told_fields), 0, 0, NULL};
