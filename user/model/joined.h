/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joined.h: the kernel's own report of a kill that is traced as well, found by its victim.
 *
 * Contract
 *   A joiner is given the kernel's records of /dev/kmsg as they are printed, and tells a report as
 * soon as it names who dies: by then the kernel has printed the request, the limit and what fills
 * it. Reports that are cut, rate-limited or without their head tell what they have. All memory is
 * taken by joiner_new().
 *
 *   incident_join() adds to an incident what only the report has. What was read from the kernel's
 * structures stays; where the report says something else both are kept, and shown, in
 * kmsg_difference.
 */
#ifndef OOMSNOOP_MODEL_JOINED_H
#define OOMSNOOP_MODEL_JOINED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "facts/host.h"
#include "model/incident.h"
#include "model/klog_report.h"

/* What a report tells that an incident may take, without its table. */
struct joined_report {
	uint32_t pid; /* of who dies; 0: nothing is here */
	char comm[EV_COMM_LEN + 1]; /* of the same; "" */
	bool has_invoked, has_order, has_gfp, has_trigger_adj;
	char trigger_comm[EV_COMM_LEN + 1];
	uint32_t trigger_tid; /* 0: not told */
	int32_t order, trigger_adj;
	uint64_t gfp_mask, nodemask, mems_allowed;
	char gfp_flags[256];
	enum klog_constraint constraint;
	bool limit_written, has_trace;
	char limit_path[INCIDENT_PATH]; /* "": not told */
	uint64_t usage_kb[4], limit_kb[4], failcnt; /* by enum klog_usage; failcnt: of the memory */
	bool has_stats;
	struct cgroup_stat stat;
	struct incident_machine machine; /* where no cgroup's limit was hit */
};

typedef void (*joined_fn)(void *arg, const struct joined_report *report);

struct joiner;

/* page_size: of this kernel, bytes. NULL with errno */
struct joiner *joiner_new(uint32_t page_size, joined_fn fn, void *arg);
void joiner_free(struct joiner *joiner);

/* One record of /dev/kmsg, as it was read. */
void joiner_record(struct joiner *joiner, const char *record, size_t len);

/* There is no more for now: what is held back is told. */
void joiner_flush(struct joiner *joiner);

void joined_report_of(const struct klog_report *report, uint32_t pid, uint32_t page_size,
	struct joined_report *ret);

/* False: the report is of another kill. */
bool incident_join(struct incident *incident, const struct joined_report *report,
	const struct host_facts *host);

/* Appends to kmsg_difference, as far as there is room, and sets KMSG_DIFFERS. */
void incident_differs(struct incident *incident, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* OOMSNOOP_MODEL_JOINED_H */
