/* SPDX-License-Identifier: Apache-2.0 */
/*
 * procfate.h: is this process dying, and was it SIGKILL?
 *
 * SIGKILL to a process stays in its shared set of pending signals until its parent has reaped it,
 * and /proc/PID/status shows that set to everybody. exit_group() and execve() kill threads by their
 * own sets only. Source: kernel/signal.c complete_signal(), zap_other_threads(); fs/proc/array.c.
 */
#ifndef OOMSNOOP_FACTS_PROCFATE_H
#define OOMSNOOP_FACTS_PROCFATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct proc_fate {
	bool zombie; /* all of its threads have ended, and its parent has not asked for it yet */
	bool killed; /* SIGKILL was sent to it, or it ended by that */
};

/* Of the texts of /proc/PID/stat and of the beginning of /proc/PID/status. 0 or -EINVAL. */
int parse_proc_fate(const char *stat, const char *status, struct proc_fate *ret);

/* 0 or -errno (-ENOENT, -ESRCH: gone). */
int read_proc_fate(const char *root, pid_t pid, struct proc_fate *ret);

#endif /* OOMSNOOP_FACTS_PROCFATE_H */
