// SPDX-License-Identifier: Apache-2.0
/* What a line does to the reports that are open, and when a report is over. */
#include "model/klog_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/klog_report_parts.h"

#define SECOND_NS 1000000000LL
/* A whole group dies at once. */
#define GROUP_NS (5 * SECOND_NS)
#define AT_ONCE_NS (SECOND_NS / 10)
#define SYSRQ_NS (10 * SECOND_NS)
/* So many lines of others end it: less once the kill is there. */
#define LINES_AFTER_KILL 200
#define LINES_WITHOUT 4000
#define SYSRQ_LINES 50

struct klog_reports *klog_reports_new(klog_report_fn fn, void *arg)
{
	struct klog_reports *reports = calloc(1, sizeof(*reports));

	if (!reports)
		return NULL;
	reports->fn = fn;
	reports->arg = arg;
	return reports;
}

void klog_reports_free(struct klog_reports *reports)
{
	if (!reports)
		return;
	for (int i = 0; i < KLOG_REPORTS; i++)
		free(reports->reports[i].rows);
	free(reports);
}

int klog_reports_bound(struct klog_reports *reports, size_t rows)
{
	if (rows > KLOG_ROWS_MAX)
		rows = KLOG_ROWS_MAX;
	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];

		if (rows && !report->rows)
			report->rows = malloc(rows * sizeof(*report->rows));
		if (rows && !report->rows)
			return -ENOMEM;
		report->row_room = rows;
		report->bounded = true;
	}
	return 0;
}

/* --- the pool --- */

/* A request, a choice, a death or the words that there was none: without any of them it is no
 * decision of the OOM killer. */
static bool is_decision(const struct klog_report *report)
{
	return report->has_invoked || report->has_summary || report->has_choice ||
	       report->dead_count || report->no_killable || report->panicked;
}

static struct klog_report *oldest(struct klog_reports *reports)
{
	struct klog_report *ret = NULL;

	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];

		if (report->state != KLOG_REPORT_FREE && (!ret || report->sequence < ret->sequence))
			ret = report;
	}
	return ret;
}

/* In the order in which they began: one that is over waits for those before it. */
static void tell_closed(struct klog_reports *reports)
{
	struct klog_report *report;

	while ((report = oldest(reports)) && report->state == KLOG_REPORT_CLOSED) {
		report->state = KLOG_REPORT_FREE;
		if (is_decision(report))
			reports->fn(reports->arg, report);
	}
}

static void close_report(struct klog_reports *reports, struct klog_report *report)
{
	if (report->state == KLOG_REPORT_OPEN)
		report->state = KLOG_REPORT_CLOSED;
	tell_closed(reports);
}

static struct klog_report *free_slot(struct klog_reports *reports)
{
	for (int i = 0; i < KLOG_REPORTS; i++)
		if (reports->reports[i].state == KLOG_REPORT_FREE)
			return &reports->reports[i];
	close_report(reports, oldest(reports));
	return free_slot(reports);
}

static struct klog_report *open_report(
	struct klog_reports *reports, const struct klog_record *record)
{
	struct klog_report *report = free_slot(reports);

	klog_report_clear(report);
	report->state = KLOG_REPORT_OPEN;
	report->sequence = ++reports->sequence;
	report->began = report->last = klog_when_of(record->stamp);
	report->last_line = reports->line;
	klog_copy_text(record->host, report->host, sizeof(report->host));
	klog_copy_text(record->boot_id, report->boot_id, sizeof(report->boot_id));
	klog_copy_text(record->caller, report->caller, sizeof(report->caller));
	return report;
}

static void own(
	struct klog_reports *reports, struct klog_report *report, const struct klog_record *record)
{
	report->last = klog_when_of(record->stamp);
	report->last_line = reports->line;
	if (!report->caller[0])
		klog_copy_text(record->caller, report->caller, sizeof(report->caller));
}

/* --- beginnings --- */

/* The very same line again: a second collector, or a log that has each line twice. */
static bool is_copy(const struct klog_report *report, const struct klog_record *record)
{
	const struct klog_line *line = record->line;
	struct klog_when now = klog_when_of(record->stamp);
	char comm[EV_COMM_LEN + 1];
	bool bare = !report->has_table && !report->has_mem_info && !report->has_trace &&
		    !report->trigger_tid && !klog_is_over(report);

	klog_copy_comm(line->invoked.comm, line->escaped, comm);
	if (!report->has_invoked || strcmp(comm, report->trigger_comm) != 0 ||
		line->invoked.gfp_mask != report->gfp_mask ||
		line->invoked.order != report->order ||
		line->invoked.oom_score_adj != report->trigger_adj)
		return false;
	/* A clock that stood still throughout a report (a busy virtual machine's) tells nothing. */
	if (klog_is_over(report) && report->began.has_mono &&
		report->began.mono_ns == report->last.mono_ns)
		return false;
	if (report->began.has_mono && now.has_mono)
		return report->began.mono_ns / 1000 == now.mono_ns / 1000;
	return bare && klog_when_within(&report->began, &now, SECOND_NS);
}

/* Those of this host that have had their end are told; one that has not may go on if a line with
 * its name comes. */
static void make_way(struct klog_reports *reports, const struct klog_record *record)
{
	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];
		struct klog_when now = klog_when_of(record->stamp);

		if (report->state != KLOG_REPORT_OPEN || !klog_same_host(report, record))
			continue;
		if (klog_is_over(report) || report->suspended || !report->has_invoked ||
			!klog_when_within(&report->last, &now, GROUP_NS)) {
			if (!klog_other_caller(report, record) || klog_is_over(report))
				close_report(reports, report);
		} else if (!klog_other_caller(report, record)) {
			report->suspended = true;
		}
	}
}

static void take_invoked(struct klog_reports *reports, const struct klog_record *record)
{
	struct klog_report *report;

	for (int i = 0; i < KLOG_REPORTS; i++) {
		report = &reports->reports[i];
		if (report->state == KLOG_REPORT_OPEN && klog_same_host(report, record) &&
			is_copy(report, record)) {
			report->copied = true;
			return;
		}
	}
	make_way(reports, record);
	report = open_report(reports, record);
	klog_fill(report, record->line);
	if (!reports->has_sysrq || !scan_equals(&record->host, reports->sysrq_host))
		return;
	if (reports->line - reports->sysrq_line <= SYSRQ_LINES &&
		klog_when_within(&reports->sysrq_when, &report->began, SYSRQ_NS))
		report->sysrq = true;
	reports->has_sysrq = false;
}

static void take_sysrq(struct klog_reports *reports, const struct klog_record *record)
{
	reports->has_sysrq = true;
	reports->sysrq_line = reports->line;
	reports->sysrq_when = klog_when_of(record->stamp);
	klog_copy_text(record->host, reports->sysrq_host, sizeof(reports->sysrq_host));
}

/* --- lines of a report's body --- */

/* A line with the name of one that had to wait makes it go on. */
static void take_named(struct klog_reports *reports, const struct klog_record *record)
{
	const struct klog_line *line = record->line;
	struct scan name = line->kind == KLOG_CPU ? line->cpu.comm : line->cpuset.comm;
	struct klog_report *report = klog_current(reports, record);

	if (!report || klog_is_over(report) ||
		!klog_names(name, line->escaped, report->trigger_comm) ||
		(line->kind == KLOG_CPU && report->trigger_tid)) {
		for (int i = 0; i < KLOG_REPORTS; i++) {
			struct klog_report *other = &reports->reports[i];

			if (other->state != KLOG_REPORT_OPEN || !other->suspended ||
				!klog_same_host(other, record) ||
				!klog_names(name, line->escaped, other->trigger_comm))
				continue;
			other->suspended = false;
			report = other;
			break;
		}
	}
	if (!report || klog_is_over(report))
		return;
	klog_fill(report, line);
	own(reports, report, record);
}

/* May a report begin with this line, its head being lost? */
static bool may_begin(const struct klog_line *line)
{
	return line->kind == KLOG_TASK_IN || line->kind == KLOG_TABLE ||
	       line->kind == KLOG_SUMMARY || line->kind == KLOG_CHOICE ||
	       line->kind == KLOG_STATS ||
	       (line->kind == KLOG_USAGE && line->usage.which == KLOG_USAGE_MEMORY);
}

/* The same summary or choice again. */
static bool is_told(const struct klog_report *report, const struct klog_line *line)
{
	if (line->kind == KLOG_SUMMARY)
		return report->has_summary && report->summary_pid == line->summary.pid;
	if (line->kind == KLOG_CHOICE)
		return report->has_choice && report->choice_pid == line->choice.pid;
	return false;
}

static void take_body(struct klog_reports *reports, const struct klog_record *record)
{
	const struct klog_line *line = record->line;
	struct klog_report *report = klog_body_owner(reports, record);
	bool second = report && ((line->kind == KLOG_SUMMARY && report->has_summary) ||
					(line->kind == KLOG_CHOICE && report->has_choice));

	if (report && klog_is_near(report, record) &&
		(is_told(report, line) || (klog_is_over(report) && report->copied)))
		return;
	if (!report || klog_is_over(report) || second || !klog_is_near(report, record)) {
		/* Rows and the like without a beginning tell nothing. */
		if (!may_begin(line))
			return;
		make_way(reports, record);
		report = open_report(reports, record);
	}
	if (report->suspended)
		klog_resume(reports, report, record);
	klog_fill(report, line);
	own(reports, report, record);
}

/* --- deaths --- */

static bool fits_scope(const struct klog_report *report, enum klog_message message)
{
	if (message == KLOG_MESSAGE_MEMCG)
		return report->constraint == KLOG_CONSTRAINT_MEMCG ||
		       (!report->has_mem_info && report->constraint == KLOG_CONSTRAINT_UNKNOWN);
	if (message == KLOG_MESSAGE_NONE)
		return true;
	return report->constraint != KLOG_CONSTRAINT_MEMCG;
}

/* Those of a group are in the table, unless they came since. */
static bool is_of_group(const struct klog_report *report, const struct klog_record *record)
{
	struct klog_when now = klog_when_of(record->stamp);

	if (!report->has_group || !klog_when_within(&report->last, &now, GROUP_NS))
		return false;
	if (!report->row_count || klog_report_row(report, record->line->kill.pid))
		return true;
	/* Its row is lost, or it came since; right behind the one before it by a clock that tells.
	 */
	return report->last.has_mono && now.has_mono &&
	       klog_when_within(&report->last, &now, AT_ONCE_NS);
}

static bool is_victim(const struct klog_report *report, uint32_t pid)
{
	for (unsigned int i = 0; i < report->dead_count; i++)
		if (report->dead[i].pid == pid)
			return true;
	return false;
}

static bool is_its_kill(const struct klog_report *report, const struct klog_record *record)
{
	const struct klog_line *line = record->line;
	struct klog_when now = klog_when_of(record->stamp);

	if (klog_is_over(report) || !klog_is_near(report, record) ||
		!fits_scope(report, line->kill.message))
		return false;
	/* Of a head that lost all that follows it, the kill may be lost, too. */
	if (!report->has_table && !report->has_summary && !report->has_choice &&
		!klog_when_within(&report->last, &now, GROUP_NS))
		return false;
	/* What 4.20 and 5.0 say of a process, they may do to a child of it. */
	return !report->has_summary || report->summary_pid == line->kill.pid ||
	       !report->row_count || klog_report_row(report, line->kill.pid);
}

/* The report, open or waiting, that named this process as the one to die, or has it in its table.
 */
static struct klog_report *report_that_chose(
	struct klog_reports *reports, const struct klog_record *record)
{
	uint32_t pid = record->line->kill.pid;

	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];

		if (report->state == KLOG_REPORT_OPEN && klog_same_host(report, record) &&
			((report->has_summary && report->summary_pid == pid) ||
				(report->has_choice && report->choice_pid == pid)) &&
			is_its_kill(report, record))
			return report;
	}
	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];

		if (report->state == KLOG_REPORT_OPEN && klog_same_host(report, record) &&
			!klog_other_caller(report, record) && !report->has_summary &&
			klog_report_row(report, pid) && is_its_kill(report, record))
			return report;
	}
	return NULL;
}

static void take_kill(struct klog_reports *reports, const struct klog_record *record)
{
	const struct klog_line *line = record->line;
	struct klog_report *report = report_that_chose(reports, record);
	/* Any program may print such words; the kernel is known by its own, or by a report. */
	bool anybody = line->kill.total_vm_kb == UNKNOWN_U64 &&
		       line->kill.message == KLOG_MESSAGE_NONE && record->speaker != KLOG_KERNEL;

	if (!report)
		report = klog_current(reports, record);
	if (report && is_victim(report, line->kill.pid) && klog_is_near(report, record)) {
		own(reports, report, record);
		return;
	}
	if (anybody &&
		(!report || klog_is_over(report) || !(report->has_invoked || report->has_choice)))
		return;
	if (report && is_its_kill(report, record)) {
		klog_fill_dead(report, line, VICTIM_CHOSEN);
		report->killed = klog_when_of(record->stamp);
	} else if (report && klog_is_over(report) && is_of_group(report, record)) {
		klog_fill_dead(report, line, VICTIM_GROUP);
	} else {
		if (anybody)
			return;
		make_way(reports, record);
		report = open_report(reports, record);
		klog_fill_dead(report, line, VICTIM_CHOSEN);
		report->killed = report->began;
	}
	if (line->kill.message != KLOG_MESSAGE_NONE)
		report->message = line->kill.message;
	own(reports, report, record);
}

/* What comes behind a kill, or in its place. */
static void take_end(struct klog_reports *reports, const struct klog_record *record)
{
	struct klog_report *report = klog_current(reports, record);
	bool nobody = record->line->kind == KLOG_NO_KILLABLE;

	/* Said twice, or by another collector: each decision has a head of its own. */
	if (report && klog_is_near(report, record) &&
		(nobody ? report->no_killable : report->panicked))
		return;
	if (!report || (klog_is_over(report) && !(report->no_killable && !nobody)) ||
		!klog_is_near(report, record)) {
		make_way(reports, record);
		report = open_report(reports, record);
	}
	report->no_killable |= nobody;
	report->panicked |= !nobody;
	own(reports, report, record);
}

static void take_after(struct klog_reports *reports, const struct klog_record *record)
{
	const struct klog_line *line = record->line;
	struct klog_report *report = klog_current(reports, record);

	if (line->kind == KLOG_REAPED) {
		for (int i = 0; i < KLOG_REPORTS; i++)
			for (unsigned int j = 0; j < reports->reports[i].dead_count; j++)
				if (reports->reports[i].state == KLOG_REPORT_OPEN &&
					klog_same_host(&reports->reports[i], record) &&
					reports->reports[i].dead[j].pid == line->reaped.pid)
					reports->reports[i].dead[j].reaped = true;
		return;
	}
	if (!report || !klog_is_near(report, record))
		return;
	if (line->kind == KLOG_SHARING) {
		klog_fill_dead(report, line, VICTIM_SHARED_MM);
	} else if (line->kind == KLOG_GROUP) {
		klog_fill(report, line);
	} else if (line->kind == KLOG_EXITING && !klog_is_over(report)) {
		klog_fill_dead(report, line, VICTIM_ALREADY_EXITING);
		report->exiting = true;
	}
	own(reports, report, record);
}

static void take_boot(struct klog_reports *reports, const struct klog_record *record)
{
	for (int i = 0; i < KLOG_REPORTS; i++)
		if (klog_same_host(&reports->reports[i], record))
			close_report(reports, &reports->reports[i]);
}

void klog_reports_record(struct klog_reports *reports, const struct klog_record *record)
{
	switch (record->line->kind) {
	case KLOG_INVOKED:
		take_invoked(reports, record);
		break;
	case KLOG_SYSRQ:
		take_sysrq(reports, record);
		break;
	case KLOG_CPU:
	case KLOG_CPUSET:
		take_named(reports, record);
		break;
	case KLOG_KILL:
		take_kill(reports, record);
		break;
	case KLOG_NO_KILLABLE:
	case KLOG_PANIC:
		take_end(reports, record);
		break;
	case KLOG_SHARING:
	case KLOG_GROUP:
	case KLOG_EXITING:
	case KLOG_REAPED:
		take_after(reports, record);
		break;
	case KLOG_BOOT:
		take_boot(reports, record);
		break;
	case KLOG_SUPPRESSED:
	case KLOG_ALLOC_FAILURE:
		break;
	default:
		take_body(reports, record);
		break;
	}
}

void klog_reports_at(struct klog_reports *reports, uint64_t lines)
{
	reports->line = lines;
	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];

		if (report->state == KLOG_REPORT_OPEN &&
			lines - report->last_line >
				(klog_is_over(report) ? LINES_AFTER_KILL : LINES_WITHOUT))
			close_report(reports, report);
	}
}

void klog_reports_end(struct klog_reports *reports)
{
	for (int i = 0; i < KLOG_REPORTS; i++)
		if (reports->reports[i].state == KLOG_REPORT_OPEN)
			reports->reports[i].state = KLOG_REPORT_CLOSED;
	tell_closed(reports);
}

bool klog_reports_settled(const struct klog_reports *reports)
{
	for (int i = 0; i < KLOG_REPORTS; i++)
		if (reports->reports[i].state == KLOG_REPORT_OPEN &&
			!klog_is_over(&reports->reports[i]))
			return false;
	return true;
}

const struct klog_report *klog_reports_of(const struct klog_reports *reports, uint32_t pid)
{
	const struct klog_report *ret = NULL;

	for (int i = 0; i < KLOG_REPORTS; i++) {
		const struct klog_report *report = &reports->reports[i];

		if (report->state == KLOG_REPORT_OPEN &&
			(!ret || report->sequence > ret->sequence) &&
			((report->has_summary && report->summary_pid == pid) ||
				is_victim(report, pid)))
			ret = report;
	}
	return ret;
}

bool klog_reports_idle(const struct klog_reports *reports)
{
	for (int i = 0; i < KLOG_REPORTS; i++)
		if (reports->reports[i].state != KLOG_REPORT_FREE)
			return false;
	return true;
}
