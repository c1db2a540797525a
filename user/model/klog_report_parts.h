/* SPDX-License-Identifier: Apache-2.0 */
/* klog_report_parts.h: between the pool of reports and what fills one. */
#ifndef OOMSNOOP_MODEL_KLOG_REPORT_PARTS_H
#define OOMSNOOP_MODEL_KLOG_REPORT_PARTS_H

#include "model/klog_report.h"

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
