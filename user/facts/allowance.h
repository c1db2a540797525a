/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allowance.h: what the machine allows beyond memory that is there: how much may be promised
 * (overcommit), how many mappings, threads and pids there may be, and where a process counts among
 * the pids of its cgroup.
 *
 * What cannot be read is UNKNOWN_U64. Source: Documentation/mm/overcommit-accounting.rst,
 * admin-guide/sysctl/vm.rst and kernel.rst, filesystems/proc.rst.
 */
#ifndef OOMSNOOP_FACTS_ALLOWANCE_H
#define OOMSNOOP_FACTS_ALLOWANCE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "facts/host.h"

struct allowance {
	uint64_t overcommit; /* vm.overcommit_memory: 0 heuristic, 1 always, 2 never */
	uint64_t commit_limit_bytes, committed_bytes; /* CommitLimit, Committed_AS */
	uint64_t admin_reserve_bytes, user_reserve_bytes; /* kept back where overcommit is 2 */
	uint64_t max_map_count; /* vm.max_map_count */
	uint64_t threads_max, threads; /* kernel.threads-max, and how many there are */
	uint64_t pid_max;
};

/* Out of the text of /proc/meminfo: the two of what is promised. */
void parse_commit(const char *text, size_t len, struct allowance *ret);
/* "0.10 0.20 0.30 2/345 6789": how many threads there are, of /proc/loadavg. */
uint64_t parse_loadavg_threads(const char *text, size_t len);
void read_allowance(const char *root, struct allowance *ret);

/* The cgroup of a process for the pids controller, out of the text of /proc/PID/cgroup, and the
 * one `levels` above it. -ENOENT: none; -ENAMETOOLONG. */
int parse_pids_cgroup(
	const char *text, size_t len, unsigned int levels, char *ret_path, size_t size);
int read_pids_cgroup(const char *root, pid_t pid, unsigned int levels, char *ret_path, size_t size);

#endif /* OOMSNOOP_FACTS_ALLOWANCE_H */
