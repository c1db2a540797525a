/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h: names of processes, learnt while they live.
 *
 * A bounded table, allocated once. The key is (tgid, start_ns): a pid that comes back is another
 * process. When it is full, the process that has been dead for longest gives way, then the one not
 * heard of for longest; each is counted. start_ns from /proc is coarser than the kernel's own:
 * process_find() takes a start within PROCESS_START_SLACK_NS.
 */
#ifndef OOMSNOOP_MODEL_PROCESS_H
#define OOMSNOOP_MODEL_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROCESS_CMDLINE_LEN 384
#define PROCESS_EXE_LEN 192
#define PROCESS_START_SLACK_NS 20000000ULL /* two clock ticks of /proc */

struct process {
	uint32_t tgid;
	uint32_t ppid;
	uint64_t start_ns;
	uint64_t seen_ns;
	bool exited;
	bool inherited; /* forked and has not executed anything: the command line is its parent's */
	char cmdline[PROCESS_CMDLINE_LEN];
	char exe[PROCESS_EXE_LEN];
};

struct processes;

/* NULL with errno: no memory. */
struct processes *processes_new(size_t capacity);
size_t processes_bytes(size_t capacity); /* what it takes, once all of it is used */
void processes_free(struct processes *table);

/* The entry of (tgid, start_ns), made when there is none. Never NULL. start_ns UINT64_MAX: not
 * known; the newest of that tgid. */
struct process *process_get(
	struct processes *table, uint32_t tgid, uint64_t start_ns, uint64_t now_ns);

/* The entry or NULL. start_ns UINT64_MAX: the newest of that tgid. */
struct process *process_find(struct processes *table, uint32_t tgid, uint64_t start_ns);

void process_fork(struct processes *table, uint32_t tgid, uint64_t start_ns, uint32_t parent_tgid,
	uint64_t parent_start_ns, uint64_t now_ns);
void process_exit(struct processes *table, uint32_t tgid, uint64_t start_ns, uint64_t now_ns);

size_t processes_count(const struct processes *table);
uint64_t processes_evicted(const struct processes *table); /* live ones that gave way */

#endif /* OOMSNOOP_MODEL_PROCESS_H */
