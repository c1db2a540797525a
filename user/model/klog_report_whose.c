// SPDX-License-Identifier: Apache-2.0
/* Which of the reports that are open a line belongs to. */
#include "model/klog_report_parts.h"

#define SECOND_NS 1000000000LL
/* Within a report the kernel holds a lock; a slow console is what takes longest. */
#define GAP_NS (30 * SECOND_NS)

bool klog_is_over(const struct klog_report *report)
{
	return report->dead_count || report->no_killable || report->panicked || report->exiting;
}

bool klog_same_host(const struct klog_report *report, const struct klog_record *record)
{
	return scan_equals(&record->host, report->host) &&
	       (!report->boot_id[0] || !scan_left(&record->boot_id) ||
		       scan_equals(&record->boot_id, report->boot_id));
}

bool klog_other_caller(const struct klog_report *report, const struct klog_record *record)
{
	return report->caller[0] && scan_left(&record->caller) &&
	       !scan_equals(&record->caller, report->caller);
}

bool klog_is_near(const struct klog_report *report, const struct klog_record *record)
{
	struct klog_when now = klog_when_of(record->stamp);

	return klog_when_within(&report->last, &now, GAP_NS);
}

struct klog_report *klog_current(struct klog_reports *reports, const struct klog_record *record)
{
	struct klog_report *ret = NULL;

	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];

		if (report->state != KLOG_REPORT_OPEN || !klog_same_host(report, record) ||
			klog_other_caller(report, record))
			continue;
		/* One that is told by the caller needs no guess. */
		if (report->caller[0] && scan_left(&record->caller))
			return report;
		if (!report->suspended && (!ret || report->sequence > ret->sequence))
			ret = report;
	}
	return ret;
}

/* Has this report what the line tells? Of two that go on at once the first lacks it for longer. */
static bool has_it(const struct klog_report *report, const struct klog_line *line)
{
	switch (line->kind) {
	case KLOG_TASK_IN:
		return report->has_limit_path;
	case KLOG_USAGE:
		return report->usage_kb[line->usage.which] != UNKNOWN_U64;
	case KLOG_TABLE:
		return report->has_table;
	case KLOG_CHOICE:
		return report->has_choice;
	default:
		return false;
	}
}

static struct klog_report *first_without(
	struct klog_reports *reports, const struct klog_record *record)
{
	struct klog_report *ret = klog_current(reports, record);

	if (!ret || klog_is_over(ret) || ret->caller[0])
		return ret;
	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];

		if (report->state == KLOG_REPORT_OPEN && !report->suspended && report != ret &&
			klog_same_host(report, record) && !klog_is_over(report) &&
			!report->caller[0] && report->sequence < ret->sequence &&
			!has_it(report, record->line))
			ret = report;
	}
	return ret;
}

/* --- two at once, where only their order tells them apart --- */

/* Old kernels report for several cgroups at a time. The one that began before waits until it shows
 * that it goes on. */
static struct klog_report *waiting(
	struct klog_reports *reports, const struct klog_record *record, uint64_t before)
{
	struct klog_report *ret = NULL;

	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];

		if (report->state == KLOG_REPORT_OPEN && report->suspended &&
			klog_same_host(report, record) && !report->caller[0] &&
			!klog_is_over(report) && report->sequence < before &&
			klog_is_near(report, record) && (!ret || report->sequence > ret->sequence))
			ret = report;
	}
	return ret;
}

static uint32_t last_pid(const struct klog_report *report)
{
	return report->row_count ? report->rows[report->row_count - 1].pid : 0;
}

/* Of several tables: the one whose pids go on here; of two such, the one that had its row before.
 */
static struct klog_report *row_owner(struct klog_reports *reports, const struct klog_record *record)
{
	uint32_t pid = record->line->row.pid;
	struct klog_report *ret = NULL;

	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];

		if (report->state != KLOG_REPORT_OPEN || !klog_same_host(report, record) ||
			klog_other_caller(report, record) || klog_is_over(report) ||
			!report->has_table || report->has_choice || report->has_summary ||
			!klog_is_near(report, record))
			continue;
		/* One that goes on comes before one that waits. */
		if (ret && ret->suspended != report->suspended
				? ret->suspended
				: !ret || (last_pid(ret) > pid && last_pid(report) <= pid) ||
					  ((last_pid(report) <= pid) == (last_pid(ret) <= pid) &&
						  report->last_line < ret->last_line))
			ret = report;
	}
	return ret ? ret : klog_current(reports, record);
}

/* The statistics name their cgroup: it is the limit's, or below it. */
static struct klog_report *stats_owner(
	struct klog_reports *reports, const struct klog_record *record)
{
	struct scan path = record->line->stats.path;

	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];
		struct scan rest = path;

		if (report->state == KLOG_REPORT_OPEN && klog_same_host(report, record) &&
			!klog_other_caller(report, record) && !klog_is_over(report) &&
			report->has_limit_path && scan_text(&rest, report->limit_path) &&
			(scan_done(&rest) || *rest.at == '/'))
			return report;
	}
	return klog_current(reports, record);
}

/* Who is chosen is in the table, unless it is a thread. */
static struct klog_report *choice_owner(
	struct klog_reports *reports, const struct klog_record *record)
{
	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];

		if (report->state == KLOG_REPORT_OPEN && klog_same_host(report, record) &&
			!klog_other_caller(report, record) && !report->has_choice &&
			!klog_is_over(report) && klog_report_row(report, record->line->choice.pid))
			return report;
	}
	return first_without(reports, record);
}

void klog_resume(
	struct klog_reports *reports, struct klog_report *older, const struct klog_record *record)
{
	older->suspended = false;
	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];

		if (report->state == KLOG_REPORT_OPEN && klog_same_host(report, record) &&
			report->sequence > older->sequence && !klog_is_over(report) &&
			!report->caller[0])
			klog_hand_back(report, older);
	}
}

struct klog_report *klog_body_owner(struct klog_reports *reports, const struct klog_record *record)
{
	struct klog_report *report, *older;

	if (record->line->kind == KLOG_ROW)
		return row_owner(reports, record);
	if (record->line->kind == KLOG_STATS)
		return stats_owner(reports, record);
	if (record->line->kind == KLOG_CHOICE)
		return choice_owner(reports, record);
	report = first_without(reports, record);
	older = report && !klog_is_over(report) ? waiting(reports, record, report->sequence) : NULL;
	if (!older)
		return report;
	/* It comes next for the one that waits, and too soon for the other. */
	if (!has_it(older, record->line) && klog_comes_next(older, report, record->line))
		return older;
	if (!klog_is_of_another(report, record->line))
		return report;
	klog_resume(reports, older, record);
	return report;
}
