// SPDX-License-Identifier: Apache-2.0
/* What people ask a store by SQL: names as in the record, bytes, UTC. */
#include "model/store_schema.h"

/* CLOCK_REALTIME in nanoseconds as RFC 3339. */
#define UTC(ns)                                                                                    \
	"CASE WHEN " ns " IS NOT NULL THEN strftime('%Y-%m-%dT%H:%M:%S', (" ns                     \
	") / 1000000000, 'unixepoch') || '.' || substr('00000000' || ((" ns                        \
	") % 1000000000), -9) || 'Z' END"

/* enum task_unknown, of what came out of a log; older stores have no such column. */
#define TOLD(row, prefix, bit, column)                                                             \
	"CASE WHEN NOT coalesce(" row "." prefix "unknown, 0) & " bit " THEN " row                 \
	"." prefix column " END"
#define ADJ(row, prefix) TOLD(row, prefix, "32", "oom_score_adj")
#define UID(row, prefix) TOLD(row, prefix, "64", "uid")
#define PPID(row, prefix) TOLD(row, prefix, "256", "ppid")

/* The kernel takes negative counters for 0; what had no memory any more, or is known by its pid
 * only, has no counters (EV_TASK_NO_MM, EV_TASK_PARTIAL). 1024: EV_TASK_RSS_EXACT. */
#define RSS(row, prefix, kind)                                                                     \
	"CASE WHEN " row "." prefix "flags & 2050 OR coalesce(" row "." prefix "unknown, 0) & "    \
	"CASE '" kind "' WHEN 'anon' THEN 1 WHEN 'file' THEN 2 WHEN 'shmem' THEN 4 "               \
	"ELSE 8 END THEN NULL "                                                                    \
	"WHEN i.told_rss_exact AND " row "." prefix "flags & 1024 THEN max(" row "." prefix kind   \
	"_exact_pages, 0) ELSE max(" row "." prefix kind "_pages, 0) END"
#define RSS_BYTES(row, kind) RSS(row, "", kind) " * r.page_size AS " kind "_bytes"

/* Of the victim: where the mark told a bare pid, what was handed to the killer is known of it. */
#define VICTIM_IS_CHOSEN "v.flags & 2048 AND i.chosen_pid AND i.chosen_pid = v.pid"
#define VICTIM(column)                                                                             \
	"CASE WHEN " VICTIM_IS_CHOSEN " THEN i.chosen_" column                                     \
	" WHEN NOT v.flags & 2048 THEN v." column " END AS victim_" column
#define VICTIM_TOLD(which, column)                                                                 \
	"CASE WHEN " VICTIM_IS_CHOSEN                                                              \
	" THEN " which("i", "chosen_") " WHEN NOT v.flags & 2048 THEN " which(                     \
		"v", "") " END AS victim_" column
#define VICTIM_BYTES(kind)                                                                         \
	"CASE WHEN " VICTIM_IS_CHOSEN " THEN " RSS("i", "chosen_", kind) " ELSE " RSS(             \
		"v", "", kind) " END * r.page_size AS victim_" kind "_bytes"

/* One column, or one clause, a line. */
/* clang-format off */
static const char incidents_sql[] =
	"AS SELECT i.id, "
	UTC("i.time_real_ns") " AS time, "
	"r.hostname AS host, "
	"i.told_scope AS scope, "
	"i.told_limit_cgroup AS limit_cgroup, "
	"i.told_limit_kind AS limit_kind, "
	"i.told_limit_bytes AS limit_bytes, "
	"i.told_usage_bytes AS usage_bytes, "
	"v.pid AS victim_pid, "
	VICTIM("comm") ", "
	VICTIM_TOLD(UID, "uid") ", "
	"i.victim_cmdline, "
	"i.victim_cgroup, "
	"i.told_unit AS victim_unit, "
	"i.told_container_id AS container_id, "
	"i.told_container_name AS container_name, "
	"i.pod_name, "
	"i.pod_namespace, "
	"i.told_pod_uid AS pod_uid, "
	"i.told_runtime AS runtime, "
	VICTIM_BYTES("anon") ", "
	VICTIM_BYTES("file") ", "
	VICTIM_BYTES("shmem") ", "
	VICTIM_BYTES("swap") ", "
	VICTIM_TOLD(ADJ, "oom_score_adj") ", "
	"i.told_points AS victim_badness_pages, "
	"CASE WHEN i.has_trigger THEN nullif(i.trigger_pid, 0) END AS trigger_pid, "
	"i.trigger_comm, "
	"i.trigger_cgroup, "
	"i.told_outcome AS outcome, "
	"i.told_first_verdict AS verdict, "
	"i.told_claim AS claim, "
	"i.victim_count + i.victims_dropped AS kills, "
	"i.told_by, "
	"i.run "
	"FROM incident i LEFT JOIN run r ON r.id = i.run "
	"LEFT JOIN victim v ON v.incident = i.id AND v.n = 0";

#define TASK_COLUMNS(row) \
	RSS_BYTES(row, "anon") ", " \
	RSS_BYTES(row, "file") ", " \
	RSS_BYTES(row, "shmem") ", " \
	RSS_BYTES(row, "swap") ", " \
	TOLD(row, "", "512", "pgtables_bytes") " AS pgtables_bytes, " \
	row ".total_vm_pages * r.page_size AS total_vm_bytes, " \
	ADJ(row, "") " AS oom_score_adj, "

static const char victims_sql[] =
	"AS SELECT v.incident, v.n, "
	UTC("i.time_real_ns") " AS time, "
	"v.pid, v.comm, " UID("v", "") " AS uid, " PPID("v", "") " AS ppid, "
	"CASE v.why WHEN 1 THEN 'chosen' WHEN 2 THEN 'group' WHEN 3 THEN 'shared-mm' "
		"WHEN 4 THEN 'already-exiting' END AS why, "
	TASK_COLUMNS("v")
	"v.marked, v.signalled, v.exited, v.mm_freed, v.reaped, "
	"CASE WHEN v.exited AND v.exit_ns >= v.killed_ns "
		"THEN (v.exit_ns - v.killed_ns) / 1e6 END AS exit_ms, "
	"CASE WHEN v.exited THEN v.exit_code END AS exit_code "
	"FROM victim v JOIN incident i ON i.id = v.incident LEFT JOIN run r ON r.id = i.run";

/* The sum is the kernel's: the division comes before the multiplication. */
static const char candidates_sql[] =
	"AS SELECT c.incident, c.n, c.pid, c.comm, c.cmdline, c.cgroup, "
	UID("c", "") " AS uid, " PPID("c", "") " AS ppid, "
	TASK_COLUMNS("c")
	"CASE WHEN NOT c.flags & 2050 AND i.told_total_pages IS NOT NULL THEN "
		"CASE WHEN coalesce(c.unknown, 0) & 16 THEN c.rss_total_pages ELSE "
		RSS("c", "", "file") " + " RSS("c", "", "anon") " + "
		RSS("c", "", "shmem") " END + " RSS("c", "", "swap")
		" + coalesce(c.pgtables_bytes, 0) / r.page_size"
		" + " ADJ("c", "") " * (i.told_total_pages / 1000) END AS badness_pages, "
	"CASE WHEN i.candidates_from_census THEN 'census' ELSE 'kernel' END AS seen_at "
	"FROM candidate c JOIN incident i ON i.id = c.incident LEFT JOIN run r ON r.id = i.run";

static const char verdicts_sql[] =
	"AS SELECT incident, n, id, claim, "
	"CASE confidence WHEN 1 THEN 'certain' WHEN 2 THEN 'likely' WHEN 3 THEN 'possible' END "
		"AS confidence, "
	"evidence FROM verdict";

static const char process_series_sql[] =
	"AS SELECT "
	UTC("(x.t_ms * 1000000 + b.wall_minus_boot_ns)") " AS time, "
	"b.hostname AS host, x.boot, x.t_ms, "
	"p.pid, p.start_ns, p.ppid, p.root_pid, p.comm, p.cmdline, "
	"c.path AS cgroup, "
	"x.resident AS resident_bytes, x.swap AS swap_bytes, "
	"x.cow AS cow_bytes, x.cached AS cached_bytes, p.shared_bytes "
	"FROM process_point x LEFT JOIN boot b ON b.id = x.boot "
	"LEFT JOIN process p ON p.id = x.process "
	"LEFT JOIN cgroup c ON c.boot = p.boot AND c.kernfs_id = p.cgroup";

static const char cgroup_series_sql[] =
	"AS SELECT "
	UTC("(x.t_ms * 1000000 + b.wall_minus_boot_ns)") " AS time, "
	"b.hostname AS host, x.boot, x.t_ms, c.kernfs_id, "
	"CASE c.kernfs_id WHEN 0 THEN NULL ELSE c.path END AS cgroup, "
	"x.usage AS usage_bytes, "
	"CASE WHEN x.charged >= 0 THEN x.charged END AS charged_bytes, "
	"c.max_bytes "
	"FROM cgroup_point x LEFT JOIN boot b ON b.id = x.boot "
	"LEFT JOIN cgroup c ON c.id = x.cgroup";

static const char processes_sql[] =
	"AS SELECT p.id, b.hostname AS host, b.boot_id, p.pid, p.ppid, p.root_pid, p.comm, p.cmdline, "
	"c.path AS cgroup, "
	UTC("(p.start_ns + b.wall_minus_boot_ns)") " AS started, "
	UTC("(nullif(p.exited_ns, 0) + b.wall_minus_boot_ns)") " AS exited, "
	"p.shared_bytes "
	"FROM process p LEFT JOIN boot b ON b.id = p.boot "
	"LEFT JOIN cgroup c ON c.boot = p.boot AND c.kernfs_id = p.cgroup";

static const char cgroups_sql[] =
	"AS SELECT c.id, b.hostname AS host, b.boot_id, c.kernfs_id, c.parent_kernfs_id, c.path, "
	"c.max_bytes FROM cgroup c LEFT JOIN boot b ON b.id = c.boot";

static const char runs_sql[] =
	"AS SELECT r.id, "
	UTC("r.began_ns") " AS began, "
	UTC("r.ended_ns") " AS ended, "
	"r.ended_why, r.hostname AS host, r.boot_id, r.kernel, r.version, r.tier, r.page_size, r.cpus, "
	"r.recorder_interval_ns / 1e6 AS recorder_interval_ms, r.recorder_source, "
	"(SELECT count(*) FROM incident i WHERE i.run = r.id) AS incidents "
	"FROM run r";

static const char gaps_sql[] =
	"AS SELECT id, "
	"CASE why WHEN 1 THEN 'not-running' WHEN 2 THEN 'disk' WHEN 3 THEN 'queue' "
		"WHEN 4 THEN 'window' WHEN 5 THEN 'pruned' ELSE why END AS why, "
	UTC("from_ns") " AS \"from\", "
	UTC("to_ns") " AS \"to\", "
	"incidents, points FROM gap";

static const char kills_sql[] =
	"AS SELECT k.id, "
	UTC("k.time_real_ns") " AS time, "
	"r.hostname AS host, "
	"k.signal, k.code, "
	"CASE k.manner WHEN 1 THEN 'each' WHEN 2 THEN 'process-group' WHEN 3 THEN 'all' "
		"WHEN 4 THEN 'cgroup.kill' WHEN 5 THEN 'pid-namespace-end' WHEN 6 THEN 'parent-death' "
		"WHEN 7 THEN 'kernel' WHEN 8 THEN 'fault' WHEN 9 THEN 'timer' END AS manner, "
	"k.sender_pid, k.sender_comm, k.sender_cmdline, k.sender_exe, k.sender_uid, k.sender_cgroup, "
	"t.pid AS target_pid, t.comm AS target_comm, k.target_cmdline, t.uid AS target_uid, "
	"k.target_cgroup, k.told_unit AS target_unit, "
	"k.told_container_id AS container_id, k.told_container_name AS container_name, "
	"k.pod_name, k.pod_namespace, k.told_pod_uid AS pod_uid, k.told_runtime AS runtime, "
	"k.total AS targets, "
	"max(t.anon_pages, 0) * r.page_size AS target_anon_bytes, "
	"CASE WHEN k.term_ns > 0 THEN (k.time_ns - k.term_ns) / 1e6 END AS sigterm_ms_before, "
	"CASE WHEN k.oom_ns > 0 THEN (k.time_ns - k.oom_ns) / 1e6 END AS oom_kill_ms_before, "
	"k.told_first_verdict AS verdict, k.told_claim AS claim "
	"FROM kill k LEFT JOIN run r ON r.id = k.run "
	"LEFT JOIN kill_target t ON t.kill = k.id AND t.n = 0";

static const char refusals_sql[] =
	"AS SELECT f.id, "
	UTC("f.time_real_ns") " AS time, "
	"r.hostname AS host, "
	"CASE f.call WHEN 1 THEN 'mmap' WHEN 2 THEN 'brk' WHEN 3 THEN 'mremap' "
		"WHEN 4 THEN 'mprotect' WHEN 5 THEN 'fork' WHEN 6 THEN 'clone' END AS call, "
	"CASE f.error WHEN 11 THEN 'EAGAIN' WHEN 12 THEN 'ENOMEM' END AS error, "
	"f.count, f.processes, f.asked_bytes, "
	"f.pid, f.comm, f.cmdline, f.exe, f.uid, f.cgroup, "
	"f.total_vm_pages * r.page_size AS mapped_bytes, "
	"max(f.anon_pages, 0) * r.page_size AS anon_bytes, "
	"f.limit_as_bytes AS rlimit_as_bytes, f.limit_data_bytes AS rlimit_data_bytes, "
	"f.limit_nproc AS rlimit_nproc, f.user_processes, "
	"CASE WHEN f.flags & 16 THEN f.pids_max END AS pids_max, "
	"f.overcommit AS overcommit_memory, f.commit_limit_bytes, f.committed_bytes, "
	"f.told_first_verdict AS verdict, f.told_claim AS claim "
	"FROM refusal f LEFT JOIN run r ON r.id = f.run";
/* clang-format on */

const struct store_view store_views[] = {
	{"incidents", incidents_sql},
	{"victims", victims_sql},
	{"candidates", candidates_sql},
	{"verdicts", verdicts_sql},
	{"process_series", process_series_sql},
	{"cgroup_series", cgroup_series_sql},
	{"processes", processes_sql},
	{"cgroups", cgroups_sql},
	{"runs", runs_sql},
	{"gaps", gaps_sql},
	{"kills", kills_sql},
	{"refusals", refusals_sql},
};

const size_t store_view_count = sizeof(store_views) / sizeof(store_views[0]);
