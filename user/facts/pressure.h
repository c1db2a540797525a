/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pressure.h: memory pressure (PSI): the share of the last 10 s in which some task, or all of them,
 * waited for memory, in hundredths of a percent. 0 or -errno, and the outputs are left alone then;
 * a line that is not there gives UINT32_MAX. Source: Documentation/accounting/psi.rst.
 */
#ifndef OOMSNOOP_FACTS_PRESSURE_H
#define OOMSNOOP_FACTS_PRESSURE_H

#include <stdint.h>

#include "facts/cgroupfs.h"

int parse_pressure(const char *text, uint32_t *ret_some, uint32_t *ret_full);
/* Of the machine: /proc/pressure/memory. */
int read_pressure(const char *root, uint32_t *ret_some, uint32_t *ret_full);
/* Of a cgroup: memory.pressure, which v2 alone has. */
int read_cgroup_pressure(const struct cgroup_mount *mount, const char *cgroup, uint32_t *ret_some,
	uint32_t *ret_full);

#endif /* OOMSNOOP_FACTS_PRESSURE_H */
