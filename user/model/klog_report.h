/* SPDX-License-Identifier: Apache-2.0 */
/*
 * klog_report.h: typed lines of a kernel log put together to reports, one for each decision of the
 * OOM killer.
 *
 * Contract
 *   Lines are given in the order of the log. A report is told once its end is certain: another one
 * began, or many lines came that are not its own, or the log ended; in the order in which they
 * began. Several are open at once: of several hosts in one log, and of several CPUs where the
 * prefix or a name tells whose a line is. The pool is fixed; when it is full the oldest is told as
 * it stands. Rows of a table beyond KLOG_ROWS_MAX are counted only.
 *
 *   What the log repeats (a line for each of two collectors, a victim's line printed twice) counts
 * once. What the log does not tell is UNKNOWN_U64, or told by a flag.
 */
#ifndef OOMSNOOP_MODEL_KLOG_REPORT_H
#define OOMSNOOP_MODEL_KLOG_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "facts/cgroupfs.h"
#include "model/incident.h"
#include "source/klog_stream.h"

#define KLOG_ROWS_MAX 32768
#define KLOG_REPORTS 6

struct klog_when {
	bool has_mono, has_wall, has_year, has_zone;
	uint64_t mono_ns;
	int64_t wall_ns;
	char text[48]; /* as it is written; "" where it is not in the log as text */
};

struct klog_task { /* a row of the table */
	uint32_t pid, tgid, uid;
	int32_t oom_score_adj;
	bool adj_known;
	char comm[EV_COMM_LEN + 1];
	uint64_t total_vm_pages, rss_pages, anon_pages, file_pages, shmem_pages;
	uint64_t ptes_pages, pgtables_bytes, swap_pages;
};

struct klog_dead {
	uint32_t pid;
	enum victim_why why;
	bool reaped;
	bool has_adj;
	int32_t oom_score_adj;
	uint64_t uid;
	uint64_t total_vm_kb, anon_kb, file_kb, shmem_kb, pgtables_kb;
	char comm[EV_COMM_LEN + 1];
	bool comm_known;
};

enum klog_state { KLOG_REPORT_FREE = 0, KLOG_REPORT_OPEN, KLOG_REPORT_CLOSED };

struct klog_report {
	enum klog_state state;
	uint64_t sequence; /* 1…, in the order in which they began */
	uint64_t last_line; /* of the log, that was its own */
	struct klog_when began, last;
	struct klog_when killed; /* the first death */
	char host[65];
	char boot_id[37];
	char release[65];
	char caller[16];
	bool copied; /* its head came again: so will the rest of it */
	bool suspended; /* another one began before this had its end */

	bool has_invoked;
	char trigger_comm[EV_COMM_LEN + 1];
	bool has_gfp, has_order, has_trigger_adj;
	uint64_t gfp_mask;
	char gfp_flags[256];
	int32_t order, trigger_adj;
	uint32_t trigger_tid; /* 0: not told. The number is a thread's */
	uint64_t trigger_uid;
	uint64_t nodemask, mems_allowed; /* UNKNOWN_U64 */
	bool sysrq; /* its line stood right before, or its function is in the trace */
	bool limit_written; /* the trace comes from a write to the limit's file */
	bool has_trace;

	enum klog_constraint constraint;
	enum klog_message message;
	bool has_limit_path, has_task_path;
	char limit_path[INCIDENT_PATH], task_path[INCIDENT_PATH];
	char group_path[INCIDENT_PATH];
	bool has_group;
	uint64_t usage_kb[4], limit_kb[4], failcnt[4]; /* by enum klog_usage */
	bool has_stats;
	bool stats_in_parts; /* a line for each cgroup, of what it holds itself */
	bool stats_of_task; /* the victim's cgroup is among them */
	struct cgroup_stat stat;

	bool has_mem_info;
	uint64_t counters[KLOG_COUNTERS_COUNT];
	uint64_t counts[KLOG_COUNT_COUNT];
	uint64_t hugepages_kb; /* of all sizes; UNKNOWN_U64 */
	uint64_t kernel_stack_kb;
	uint64_t page_kb; /* of order 0, as the free lists show it; 0: not told */
	unsigned int zone_count, zones_dropped;
	struct incident_zone zones[INCIDENT_ZONES];
	int reserve_zone; /* that the next lowmem_reserve[] belongs to */

	bool has_table, table_closed;
	struct klog_layout layout;
	size_t row_count, row_total, row_room;
	bool bounded; /* row_room is all that there will be */
	struct klog_task *rows; /* NULL: none */

	bool has_summary;
	uint32_t summary_pid;
	uint64_t summary_uid;
	char summary_comm[EV_COMM_LEN + 1];
	bool has_choice;
	uint32_t choice_pid;
	char choice_comm[EV_COMM_LEN + 1];

	unsigned int dead_count, dead_dropped;
	struct klog_dead dead[INCIDENT_VICTIMS];
	bool no_killable, panicked, exiting;
};

/* The report is good during the call only. */
typedef void (*klog_report_fn)(void *arg, const struct klog_report *report);

struct klog_reports;

struct klog_reports *klog_reports_new(klog_report_fn fn, void *arg); /* NULL with errno */
void klog_reports_free(struct klog_reports *reports);

/* Takes what `rows` rows a report need, at most KLOG_ROWS_MAX, and allocates no more from here on:
 * rows beyond that are counted only. 0 or -ENOMEM. */
int klog_reports_bound(struct klog_reports *reports, size_t rows);

/* Lines of the log that were read so far, before the records of one are given. */
void klog_reports_at(struct klog_reports *reports, uint64_t lines);
void klog_reports_record(struct klog_reports *reports, const struct klog_record *record);
void klog_reports_end(struct klog_reports *reports); /* tells all that is open */
bool klog_reports_idle(const struct klog_reports *reports); /* none is open */

/* For who cannot wait until an end is certain: all that are open have told what came of it. */
bool klog_reports_settled(const struct klog_reports *reports);

/* The newest one that is open and names this process as the one that dies. NULL: none does. */
const struct klog_report *klog_reports_of(const struct klog_reports *reports, uint32_t pid);

/* Nanoseconds from one to the other, by the best clock that both have; 0 where there is none. */
int64_t klog_when_gap(const struct klog_when *from, const struct klog_when *to);

/* Do both have a clock of one kind? */
bool klog_when_comparable(const struct klog_when *from, const struct klog_when *to);

/* The row of this process or thread. NULL: there is none. */
const struct klog_task *klog_report_row(const struct klog_report *report, uint32_t pid);

#endif /* OOMSNOOP_MODEL_KLOG_REPORT_H */
