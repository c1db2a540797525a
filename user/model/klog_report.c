// SPDX-License-Identifier: Apache-2.0
/* Which report a line belongs to, and when a report is over. */
#include "model/klog_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/klog_report_parts.h"

#define SECOND_NS 1000000000LL
/* Within a report the kernel holds a lock; a slow console is what takes longest. */
#define GAP_NS (30 * SECOND_NS)
/* A whole group dies at once. */
#define GROUP_NS (5 * SECOND_NS)
#define AT_ONCE_NS (SECOND_NS / 10)
#define SYSRQ_NS (10 * SECOND_NS)
/* So many lines of others end it: less once the kill is there. */
#define LINES_AFTER_KILL 200
#define LINES_WITHOUT 4000
#define SYSRQ_LINES 50

struct klog_reports {
	klog_report_fn fn;
	void *arg;
	uint64_t line, sequence;
	/* the last "Manual OOM execution" */
	bool has_sysrq;
	uint64_t sysrq_line;
	char sysrq_host[65];
	struct klog_when sysrq_when;
	struct klog_report reports[KLOG_REPORTS];
};

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

static bool is_over(const struct klog_report *report)
{
	return report->dead_count || report->no_killable || report->panicked || report->exiting;
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

/* --- whose line is it --- */

static bool same_host(const struct klog_report *report, const struct klog_record *record)
{
	return scan_equals(&record->host, report->host) &&
	       (!report->boot_id[0] || !scan_left(&record->boot_id) ||
		       scan_equals(&record->boot_id, report->boot_id));
}

/* printk's caller tells for sure, where both have it. */
static bool other_caller(const struct klog_report *report, const struct klog_record *record)
{
	return report->caller[0] && scan_left(&record->caller) &&
	       !scan_equals(&record->caller, report->caller);
}

/* The one that a line without a name of its own belongs to: the newest of this host. */
static struct klog_report *current(struct klog_reports *reports, const struct klog_record *record)
{
	struct klog_report *ret = NULL;

	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];

		if (report->state != KLOG_REPORT_OPEN || !same_host(report, record) ||
			other_caller(report, record))
			continue;
		/* One that is told by the caller needs no guess. */
		if (report->caller[0] && scan_left(&record->caller))
			return report;
		if (!report->suspended && (!ret || report->sequence > ret->sequence))
			ret = report;
	}
	return ret;
}

static void own(
	struct klog_reports *reports, struct klog_report *report, const struct klog_record *record)
{
	report->last = klog_when_of(record->stamp);
	report->last_line = reports->line;
	if (!report->caller[0])
		klog_copy_text(record->caller, report->caller, sizeof(report->caller));
}

static bool is_near(const struct klog_report *report, const struct klog_record *record)
{
	struct klog_when now = klog_when_of(record->stamp);

	return klog_when_within(&report->last, &now, GAP_NS);
}

/* --- beginnings --- */

/* The very same line again: a second collector, or a log that has each line twice. */
static bool is_copy(const struct klog_report *report, const struct klog_record *record)
{
	const struct klog_line *line = record->line;
	struct klog_when now = klog_when_of(record->stamp);
	char comm[EV_COMM_LEN + 1];
	bool bare = !report->has_table && !report->has_mem_info && !report->has_trace &&
		    !report->trigger_tid && !is_over(report);

	klog_copy_comm(line->invoked.comm, line->escaped, comm);
	if (!report->has_invoked || strcmp(comm, report->trigger_comm) != 0 ||
		line->invoked.gfp_mask != report->gfp_mask ||
		line->invoked.order != report->order ||
		line->invoked.oom_score_adj != report->trigger_adj)
		return false;
	/* A clock that stood still throughout a report (a busy virtual machine's) tells nothing. */
	if (is_over(report) && report->began.has_mono &&
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

		if (report->state != KLOG_REPORT_OPEN || !same_host(report, record))
			continue;
		if (is_over(report) || report->suspended || !report->has_invoked ||
			!klog_when_within(&report->last, &now, GROUP_NS)) {
			if (!other_caller(report, record) || is_over(report))
				close_report(reports, report);
		} else if (!other_caller(report, record)) {
			report->suspended = true;
		}
	}
}

static void take_invoked(struct klog_reports *reports, const struct klog_record *record)
{
	struct klog_report *report;

	for (int i = 0; i < KLOG_REPORTS; i++) {
		report = &reports->reports[i];
		if (report->state == KLOG_REPORT_OPEN && same_host(report, record) &&
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
	struct klog_report *report = current(reports, record);

	if (!report || is_over(report) || !klog_names(name, line->escaped, report->trigger_comm) ||
		(line->kind == KLOG_CPU && report->trigger_tid)) {
		for (int i = 0; i < KLOG_REPORTS; i++) {
			struct klog_report *other = &reports->reports[i];

			if (other->state != KLOG_REPORT_OPEN || !other->suspended ||
				!same_host(other, record) ||
				!klog_names(name, line->escaped, other->trigger_comm))
				continue;
			other->suspended = false;
			report = other;
			break;
		}
	}
	if (!report || is_over(report))
		return;
	klog_fill(report, line);
	own(reports, report, record);
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
	struct klog_report *ret = current(reports, record);

	if (!ret || is_over(ret) || ret->caller[0])
		return ret;
	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];

		if (report->state == KLOG_REPORT_OPEN && !report->suspended && report != ret &&
			same_host(report, record) && !is_over(report) && !report->caller[0] &&
			report->sequence < ret->sequence && !has_it(report, record->line))
			ret = report;
	}
	return ret;
}

/* May a report begin with this line, its head being lost? */
static bool may_begin(const struct klog_line *line)
{
	return line->kind == KLOG_TASK_IN || line->kind == KLOG_TABLE ||
	       line->kind == KLOG_SUMMARY || line->kind == KLOG_CHOICE ||
	       line->kind == KLOG_STATS ||
	       (line->kind == KLOG_USAGE && line->usage.which == KLOG_USAGE_MEMORY);
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
			same_host(report, record) && !report->caller[0] && !is_over(report) &&
			report->sequence < before && is_near(report, record) &&
			(!ret || report->sequence > ret->sequence))
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

		if (report->state != KLOG_REPORT_OPEN || !same_host(report, record) ||
			other_caller(report, record) || is_over(report) || !report->has_table ||
			report->has_choice || report->has_summary || !is_near(report, record))
			continue;
		/* One that goes on comes before one that waits. */
		if (ret && ret->suspended != report->suspended
				? ret->suspended
				: !ret || (last_pid(ret) > pid && last_pid(report) <= pid) ||
					  ((last_pid(report) <= pid) == (last_pid(ret) <= pid) &&
						  report->last_line < ret->last_line))
			ret = report;
	}
	return ret ? ret : current(reports, record);
}

/* The statistics name their cgroup: it is the limit's, or below it. */
static struct klog_report *stats_owner(
	struct klog_reports *reports, const struct klog_record *record)
{
	struct scan path = record->line->stats.path;

	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];
		struct scan rest = path;

		if (report->state == KLOG_REPORT_OPEN && same_host(report, record) &&
			!other_caller(report, record) && !is_over(report) &&
			report->has_limit_path && scan_text(&rest, report->limit_path) &&
			(scan_done(&rest) || *rest.at == '/'))
			return report;
	}
	return current(reports, record);
}

/* Who is chosen is in the table, unless it is a thread. */
static struct klog_report *choice_owner(
	struct klog_reports *reports, const struct klog_record *record)
{
	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];

		if (report->state == KLOG_REPORT_OPEN && same_host(report, record) &&
			!other_caller(report, record) && !report->has_choice && !is_over(report) &&
			klog_report_row(report, record->line->choice.pid))
			return report;
	}
	return first_without(reports, record);
}

/* It goes on: what came meanwhile and is not the newer one's was its own. */
static void resume(
	struct klog_reports *reports, struct klog_report *older, const struct klog_record *record)
{
	older->suspended = false;
	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];

		if (report->state == KLOG_REPORT_OPEN && same_host(report, record) &&
			report->sequence > older->sequence && !is_over(report) &&
			!report->caller[0])
			klog_hand_back(report, older);
	}
}

static struct klog_report *body_owner(
	struct klog_reports *reports, const struct klog_record *record)
{
	struct klog_report *report, *older;

	if (record->line->kind == KLOG_ROW)
		return row_owner(reports, record);
	if (record->line->kind == KLOG_STATS)
		return stats_owner(reports, record);
	if (record->line->kind == KLOG_CHOICE)
		return choice_owner(reports, record);
	report = first_without(reports, record);
	older = report && !is_over(report) ? waiting(reports, record, report->sequence) : NULL;
	if (!older)
		return report;
	/* It comes next for the one that waits, and too soon for the other. */
	if (!has_it(older, record->line) && klog_comes_next(older, report, record->line))
		return older;
	if (!klog_is_of_another(report, record->line))
		return report;
	resume(reports, older, record);
	return report;
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
	struct klog_report *report = body_owner(reports, record);
	bool second = report && ((line->kind == KLOG_SUMMARY && report->has_summary) ||
					(line->kind == KLOG_CHOICE && report->has_choice));

	if (report && is_near(report, record) &&
		(is_told(report, line) || (is_over(report) && report->copied)))
		return;
	if (!report || is_over(report) || second || !is_near(report, record)) {
		/* Rows and the like without a beginning tell nothing. */
		if (!may_begin(line))
			return;
		make_way(reports, record);
		report = open_report(reports, record);
	}
	if (report->suspended)
		resume(reports, report, record);
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

	if (is_over(report) || !is_near(report, record) || !fits_scope(report, line->kill.message))
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

		if (report->state == KLOG_REPORT_OPEN && same_host(report, record) &&
			((report->has_summary && report->summary_pid == pid) ||
				(report->has_choice && report->choice_pid == pid)) &&
			is_its_kill(report, record))
			return report;
	}
	for (int i = 0; i < KLOG_REPORTS; i++) {
		struct klog_report *report = &reports->reports[i];

		if (report->state == KLOG_REPORT_OPEN && same_host(report, record) &&
			!other_caller(report, record) && !report->has_summary &&
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
		report = current(reports, record);
	if (report && is_victim(report, line->kill.pid) && is_near(report, record)) {
		own(reports, report, record);
		return;
	}
	if (anybody && (!report || is_over(report) || !(report->has_invoked || report->has_choice)))
		return;
	if (report && is_its_kill(report, record)) {
		klog_fill_dead(report, line, VICTIM_CHOSEN);
		report->killed = klog_when_of(record->stamp);
	} else if (report && is_over(report) && is_of_group(report, record)) {
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
	struct klog_report *report = current(reports, record);
	bool nobody = record->line->kind == KLOG_NO_KILLABLE;

	/* Said twice, or by another collector: each decision has a head of its own. */
	if (report && is_near(report, record) && (nobody ? report->no_killable : report->panicked))
		return;
	if (!report || (is_over(report) && !(report->no_killable && !nobody)) ||
		!is_near(report, record)) {
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
	struct klog_report *report = current(reports, record);

	if (line->kind == KLOG_REAPED) {
		for (int i = 0; i < KLOG_REPORTS; i++)
			for (unsigned int j = 0; j < reports->reports[i].dead_count; j++)
				if (reports->reports[i].state == KLOG_REPORT_OPEN &&
					same_host(&reports->reports[i], record) &&
					reports->reports[i].dead[j].pid == line->reaped.pid)
					reports->reports[i].dead[j].reaped = true;
		return;
	}
	if (!report || !is_near(report, record))
		return;
	if (line->kind == KLOG_SHARING) {
		klog_fill_dead(report, line, VICTIM_SHARED_MM);
	} else if (line->kind == KLOG_GROUP) {
		klog_fill(report, line);
	} else if (line->kind == KLOG_EXITING && !is_over(report)) {
		klog_fill_dead(report, line, VICTIM_ALREADY_EXITING);
		report->exiting = true;
	}
	own(reports, report, record);
}

static void take_boot(struct klog_reports *reports, const struct klog_record *record)
{
	for (int i = 0; i < KLOG_REPORTS; i++)
		if (same_host(&reports->reports[i], record))
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
				(is_over(report) ? LINES_AFTER_KILL : LINES_WITHOUT))
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
		if (reports->reports[i].state == KLOG_REPORT_OPEN && !is_over(&reports->reports[i]))
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
