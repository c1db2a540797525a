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
void klog_copy_text(struct scan text, char *ret, size_t size); /* cut where it does not fit */

/* Does the text begin with this name, as "comm Not tainted …" does? */
bool klog_names(struct scan text, bool escaped, const char *comm);

#endif /* OOMSNOOP_MODEL_KLOG_REPORT_PARTS_H */
