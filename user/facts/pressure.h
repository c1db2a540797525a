/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pressure.h: memory pressure (PSI): the share of the last 10 s in which some task, or all of them,
 * waited for memory. 0 or -errno, and the output is left alone then. Source:
 * Documentation/accounting/psi.rst.
 */
#ifndef OOMSNOOP_FACTS_PRESSURE_H
#define OOMSNOOP_FACTS_PRESSURE_H

#include <stdint.h>

#include "facts/cgroupfs.h"

/* Hundredths of a percent; UNKNOWN_U64: its line is not there. */
struct pressure {
	uint64_t some, full;
};

int parse_pressure(const char *text, struct pressure *ret);
/* Of the machine: /proc/pressure/memory. */
int read_pressure(const char *root, struct pressure *ret);
/* Of a cgroup: memory.pressure, which v2 alone has. */
int read_cgroup_pressure(
	const struct cgroup_mount *mount, const char *cgroup, struct pressure *ret);

#endif /* OOMSNOOP_FACTS_PRESSURE_H */
