/* SPDX-License-Identifier: Apache-2.0 */
/*
 * procsize.h: whose child a process is and how much it has resident, by one small file each; and
 * its proportional share, which counts what several map once in the sum of all of them.
 *
 * 0 or -errno (-ENOENT, -ESRCH: gone). Source: Documentation/filesystems/proc.rst, fs/proc/array.c
 * do_task_stat(), fs/proc/task_mmu.c show_smaps_rollup().
 */
#ifndef OOMSNOOP_FACTS_PROCSIZE_H
#define OOMSNOOP_FACTS_PROCSIZE_H

#include <stdint.h>
#include <sys/types.h>

struct proc_size {
	uint32_t pid, ppid;
	uint64_t rss_pages; /* anon, file and shmem */
	char state; /* 'R', 'S', 'Z' … */
	char comm[17];
};

int parse_proc_size(const char *text, struct proc_size *ret);
int read_proc_size(const char *root, pid_t pid, struct proc_size *ret);

/* Pss and SwapPss together. Walks the page tables of the process: milliseconds for each GiB.
 * -EACCES: of processes that one may not trace. */
int parse_smaps_rollup(const char *text, uint64_t *ret_bytes);
int read_pss(const char *root, pid_t pid, uint64_t *ret_bytes);

#endif /* OOMSNOOP_FACTS_PROCSIZE_H */
