/* SPDX-License-Identifier: Apache-2.0 */
/*
 * procfs.h: names of processes, from /proc/PID. Used while processes live; never for one that is
 * being killed, since cmdline takes a lock that a dying process may hold for long. 0 or -errno
 * (-ESRCH, -ENOENT: gone). Source: Documentation/filesystems/proc.rst.
 */
#ifndef OOMSNOOP_FACTS_PROCFS_H
#define OOMSNOOP_FACTS_PROCFS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_ids {
	uint32_t ppid;
	uint32_t uid;
	uint64_t start_ns; /* CLOCK_BOOTTIME, in the steps of the clock tick that /proc shows (10
			      ms) */
	char comm[17];
};

/* Argument vectors as text: NUL between arguments becomes a blank, trailing ones go; other bytes
 * stay as they are. Returns the length; ret is always terminated. A longer vector is cut and ends
 * in "...". */
size_t cmdline_text(const char *args, size_t len, size_t full_len, char *ret, size_t size);

int read_cmdline(const char *root, pid_t pid, char *ret, size_t size);
/* Without the kernel's " (deleted)"; a path that does not fit is cut and ends in "...". */
int read_exe(const char *root, pid_t pid, char *ret, size_t size);

/* Fills all but uid, which is not told there. */
int parse_proc_stat(const char *text, struct proc_ids *ret);
/* The real uid out of the text of /proc/PID/status. */
int parse_status_uid(const char *text, uint32_t *ret_uid);
int read_proc_ids(const char *root, pid_t pid, struct proc_ids *ret);

/* Calls fn for every process (not thread); stops at its first non-zero return and returns that. */
int walk_processes(const char *root, int (*fn)(pid_t pid, void *arg), void *arg);

#endif /* OOMSNOOP_FACTS_PROCFS_H */
