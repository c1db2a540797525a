/* SPDX-License-Identifier: Apache-2.0 */
/*
 * procmem.h: what the kernel's badness is made from, as /proc/PID shows it to everybody.
 *
 * parse_*() are pure and fill only what the text tells; read_*() open below a root. 0 or -errno
 * (-ESRCH, -ENOENT: gone; -EINVAL: not a text of the kernel's). Bytes, unless named otherwise; a
 * value that is not told is UNKNOWN_U64 (facts/host.h). Nothing allocates, except where it is said.
 *
 * The resident set is summed as /proc sums it: on kernels that keep these counters per CPU that may
 * be exact where the OOM killer itself takes an approximate reading (6.12 to 6.19).
 *
 * Source: Documentation/filesystems/proc.rst, fs/proc/array.c, fs/proc/task_mmu.c task_mem(),
 * fs/proc/base.c.
 */
#ifndef OOMSNOOP_FACTS_PROCMEM_H
#define OOMSNOOP_FACTS_PROCMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_ADJ_UNKNOWN INT32_MIN

struct proc_memory {
	/* stat */
	char comm[17];
	uint32_t ppid;
	uint32_t threads; /* that have not ended, with a leader that waits for the others */
	uint64_t start_ns; /* CLOCK_BOOTTIME in steps of the clock tick, as in procfs.h */
	uint64_t faults; /* page faults, minor and major, of all its threads, dead ones included */
	bool kernel_thread; /* PF_KTHREAD */
	bool forked; /* PF_FORKNOEXEC: runs what it was forked with */

	/* status */
	uint32_t uid; /* real; UINT32_MAX: not told */
	bool has_memory; /* false: a kernel thread, or its first thread has ended */
	uint64_t anon_bytes, file_bytes, shmem_bytes, swap_bytes, pgtables_bytes;
	uint64_t total_vm_bytes;

	int32_t oom_score_adj; /* PROC_ADJ_UNKNOWN */
	uint64_t oom_score; /* the kernel's own, relative to all RAM and swap */
	uint64_t io_bytes; /* through read and write calls (rchar + wchar), dead threads included */
};

/* Everything unknown: what the parsers and readers below begin with. */
void proc_memory_init(struct proc_memory *memory);

/* Fills the part "stat", of /proc/PID/stat, or nothing of it. */
int parse_stat_memory(const char *text, struct proc_memory *memory);

/*
 * Fills the part "status" from some whole lines of /proc/PID/status; other lines are passed over,
 * and so is one that is damaged. True once the last line that matters was among them.
 */
bool parse_status_memory(const char *text, size_t len, struct proc_memory *memory);

/* rchar + wchar of /proc/PID/io. */
int parse_io(const char *text, size_t len, uint64_t *ret_bytes);

/* Files of a process that are read only where they are asked for. */
enum proc_memory_also {
	PROC_MEMORY_SCORE = 1 << 0, /* oom_score: the kernel weighs the process for it */
	PROC_MEMORY_IO = 1 << 1, /* io: of processes that one may trace */
};

/*
 * stat, status and oom_score_adj, and what is asked for besides: all of one process, even where its
 * pid is given away meanwhile. An error only where stat or status cannot be read.
 */
int read_proc_memory(const char *root, pid_t pid, unsigned int also, struct proc_memory *ret);

/*
 * A first thread that ended before the others shows no memory, though the process has it: fills in
 * what the first thread that lives shows. Lists a directory, which allocates. -ESRCH: none lives.
 */
int read_thread_memory(const char *root, pid_t pid, struct proc_memory *memory);

#endif /* OOMSNOOP_FACTS_PROCMEM_H */
