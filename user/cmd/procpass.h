/* SPDX-License-Identifier: Apache-2.0 */
/*
 * procpass.h: the recorder's pass where the kernel has no task iterator: the same records, made
 * from /proc/PID and the files of the memory cgroups.
 */
#ifndef OOMSNOOP_CMD_PROCPASS_H
#define OOMSNOOP_CMD_PROCPASS_H

#include <stdint.h>

#include "cmd/learn.h"
#include "source/decode.h"

/*
 * An EV_SAMPLE for every process that /proc shows and an EV_USAGE for every memory cgroup that is
 * to be seen, all stamped now_ns. Copies and charges are not known there. /proc tells when a
 * process started in steps of 10 ms: where its name was learnt from the kernel's own records, that
 * start is taken. Returns how many records, or -errno (-EXDEV: /proc shows other pids than the
 * host's).
 */
int procpass(struct names *names, uint64_t now_ns, void (*fn)(const struct fact *fact, void *arg),
	void *arg);

/* Only the EV_USAGE of each cgroup, and of that only the usage: one file each. */
int procpass_usages(struct names *names, uint64_t now_ns,
	void (*fn)(const struct fact *fact, void *arg), void *arg);

#endif /* OOMSNOOP_CMD_PROCPASS_H */
