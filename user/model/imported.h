/* SPDX-License-Identifier: Apache-2.0 */
/*
 * imported.h: a report of a kernel log as an incident, for the judge and the sinks that serve what
 * is traced. What the log does not tell stays unknown; nothing is looked up on the machine that
 * reads.
 *
 * An importer remembers, in bounded memory, what earlier reports of the same log teach of later
 * ones: the page size, and which limit has killed before.
 */
#ifndef OOMSNOOP_MODEL_IMPORTED_H
#define OOMSNOOP_MODEL_IMPORTED_H

#include <stdbool.h>
#include <stdint.h>

#include "facts/host.h"
#include "model/incident.h"
#include "model/klog_report.h"

/* From what a clock on the wall showed, as if it had been UTC, to UTC. */
typedef int64_t (*imported_zone_fn)(int64_t civil_ns);

struct importer;

/* Nothing of it is known. */
void incident_log_clear(struct incident_log *log);

/* `zone`: for stamps that name no time zone; NULL: those give no time. NULL with errno. */
struct importer *importer_new(imported_zone_fn zone);
/* Of the machine whose log names no host: known, not to be worked out of its reports. */
void importer_page_size(struct importer *importer, uint32_t page_size);

void importer_free(struct importer *importer);

/*
 * Fills both outputs whole. False: this report is a copy of one that was told before, as where two
 * collectors wrote into one log; it is counted.
 */
bool importer_incident(struct importer *importer, const struct klog_report *report,
	struct incident *ret, struct host_facts *ret_host);

uint64_t importer_copies(const struct importer *importer);

#endif /* OOMSNOOP_MODEL_IMPORTED_H */
