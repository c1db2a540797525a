/* SPDX-License-Identifier: Apache-2.0 */
/* klog_report_parts.h: between the pool of reports, what finds one, and what fills one. */
#ifndef OOMSNOOP_MODEL_KLOG_REPORT_PARTS_H
#define OOMSNOOP_MODEL_KLOG_REPORT_PARTS_H

#include "model/klog_report.h"

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

/* --- whose line it is: klog_report_whose.c --- */

/* Somebody died, or nobody could: what comes now is after it. */
bool klog_is_over(const struct klog_report *report);
bool klog_same_host(const struct klog_report *report, const struct klog_record *record);
/* printk's caller tells for sure, where both have it. */
bool klog_other_caller(const struct klog_report *report, const struct klog_record *record);
/* By the clock it can still be of this report. */
bool klog_is_near(const struct klog_report *report, const struct klog_record *record);
/* The one that a line without a name of its own belongs to: the newest of this host; or NULL. */
struct klog_report *klog_current(struct klog_reports *reports, const struct klog_record *record);
/* Of a line of a report's body; NULL: of none that is open. */
struct klog_report *klog_body_owner(struct klog_reports *reports, const struct klog_record *record);
/* It goes on: what came meanwhile and is not the newer one's was its own. */
void klog_resume(
	struct klog_reports *reports, struct klog_report *older, const struct klog_record *record);

/* --- what fills one --- */

/* All of it unknown; memory for rows is kept. */
void klog_report_clear(struct klog_report *report);

/* A line that tells of the request, the limit, the memory or the table. */
void klog_fill(struct klog_report *report, const struct klog_line *line);

/* One more that died. False: it is in the list already. */
bool klog_fill_dead(struct klog_report *report, const struct klog_line *line, enum victim_why why);

/* EV_COMM_LEN + 1 bytes; \xNN undone where it was escaped */
void klog_copy_comm(struct scan comm, bool escaped, char *ret);
/* The limit's lines once more, and not the same: they are of two reports. */
bool klog_is_of_another(const struct klog_report *report, const struct klog_line *line);

/* In the order in which the kernel prints a report: is the older one nearer to this line? Only old
 * kernels report for two cgroups at once; those tell whose limit it is in a line of its own. */
bool klog_comes_next(const struct klog_report *older, const struct klog_report *newer,
	const struct klog_line *line);

/* Of two that go on at once the older is ahead in the same sequence of lines: what it lacks and the
 * newer has was its own. */
void klog_hand_back(struct klog_report *newer, struct klog_report *older);

struct klog_when klog_when_of(const struct klog_stamp *stamp);
/* Not further apart than this, as far as any clock tells. */
bool klog_when_within(const struct klog_when *from, const struct klog_when *to, int64_t ns);

void klog_copy_text(struct scan text, char *ret, size_t size); /* cut where it does not fit */

/* Does the text begin with this name, as "comm Not tainted …" does? */
bool klog_names(struct scan text, bool escaped, const char *comm);

#endif /* OOMSNOOP_MODEL_KLOG_REPORT_PARTS_H */
