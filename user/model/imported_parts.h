/* SPDX-License-Identifier: Apache-2.0 */
/* imported_parts.h: what a report tells of memory, for an import and for joining. */
#ifndef OOMSNOOP_MODEL_IMPORTED_PARTS_H
#define OOMSNOOP_MODEL_IMPORTED_PARTS_H

#include "model/incident.h"
#include "model/klog_report.h"

#define KB_BYTES 1024

/* The cgroup whose limit was hit, those between it and the victim's, and what fills it. */
void imported_limit(struct incident *ret, const struct klog_report *report, uint32_t page_size);

/* The machine's memory by kind, and its zones: Mem-Info, which a limit's report does not have. */
void imported_machine(
	struct incident_machine *ret, const struct klog_report *report, uint32_t page_size);

/* What there is of it. */
void imported_host(struct host_memory *ret, const struct klog_report *report, uint32_t page_size);

static inline uint64_t imported_known(uint64_t value)
{
	return value == UNKNOWN_U64 ? 0 : value;
}

#endif /* OOMSNOOP_MODEL_IMPORTED_PARTS_H */
