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

/* For how long all that were not idle have waited for memory, since the cgroup was made, in
 * microseconds: the total of "full". -EINVAL: it is not there. */
int parse_stalled(const char *text, uint64_t *ret_us);
int read_cgroup_stalled(const struct cgroup_mount *mount, const char *cgroup, uint64_t *ret_us);

#endif /* OOMSNOOP_FACTS_PRESSURE_H */
