/* SPDX-License-Identifier: Apache-2.0 */
/*
 * klog_line.h: what one line of the kernel's says about an OOM kill: its kind, its numbers, its
 * names. Pure, no allocation: texts are parts of the line that was given.
 *
 * Forms of all kernels from 2.6.32 to 7.3, told by what they look like, never by a version. Names
 * of processes and cgroups may hold anything, forms of these very lines too: they are cut from the
 * side where the kernel's own text cannot be imitated. Units are the line's own and in the names.
 * A number that the form does not have is UNKNOWN_U64 (facts/host.h).
 *
 * Source: mm/oom_kill.c, mm/memcontrol.c, mm/page_alloc.c and lib/show_mem.c of those kernels.
 */
#ifndef OOMSNOOP_SOURCE_KLOG_LINE_H
#define OOMSNOOP_SOURCE_KLOG_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "facts/host.h"
#include "facts/scan.h"

#define KLOG_COMM_MAX 15
#define KLOG_ZONE_LISTS 8 /* of lowmem_reserve[] */
#define KLOG_ORDERS 16
#define KLOG_COLUMNS 20

enum klog_kind {
	KLOG_NONE = 0,
	KLOG_INVOKED, /* "x invoked oom-killer: gfp_mask=…" */
	KLOG_SYSRQ, /* "sysrq: Manual OOM execution" */
	KLOG_CPU, /* "CPU: 1 PID: 2 Comm: x …", "Pid: 2, comm: x …" */
	KLOG_CPUSET, /* "x cpuset=/ mems_allowed=0" */
	KLOG_STACK, /* a function of a call trace */
	KLOG_TASK_IN, /* "Task in A killed as a result of limit of B" */
	KLOG_USAGE, /* "memory: usage 1kB, limit 1kB, failcnt 1" */
	KLOG_STATS, /* "Memory cgroup stats for A:", maybe with all of them behind it */
	KLOG_STAT, /* "anon 41807872" */
	KLOG_MEM_INFO, /* "Mem-Info:" */
	KLOG_COUNTERS, /* "active_anon:1 inactive_anon:2 …", pages */
	KLOG_NODE, /* "Node 0 active_anon:1kB …" */
	KLOG_ZONE, /* "Node 0 Normal free:1kB min:2kB …", "Normal free:…" */
	KLOG_RESERVE, /* "lowmem_reserve[]: 0 403 …", pages */
	KLOG_BUDDY, /* "Node 0 Normal: 1*4kB (U) … = 4kB" */
	KLOG_HUGEPAGES, /* "Node 0 hugepages_total=0 …" */
	KLOG_COUNT, /* "65406 pages RAM", "Free swap  = 0kB" */
	KLOG_TABLE, /* the head of the table of processes */
	KLOG_ROW,
	KLOG_SUMMARY, /* "oom-kill:constraint=…" */
	KLOG_CHOICE, /* "…: Kill process 1 (x) score 2 or sacrifice child" */
	KLOG_KILL, /* "…: Killed process 1 (x) total-vm:…" */
	KLOG_SHARING, /* "Kill process 1 (x) sharing same memory" */
	KLOG_GROUP, /* "Tasks in A are going to be killed due to memory.oom.group set" */
	KLOG_NO_KILLABLE, /* "Out of memory and no killable processes..." */
	KLOG_PANIC, /* "Kernel panic - not syncing: Out of memory…" */
	KLOG_REAPED, /* "oom_reaper: reaped process 1 (x), now …" */
	KLOG_EXITING, /* "…: OOM victim 1 (x) is already exiting. Skip killing the task" */
	KLOG_SUPPRESSED, /* "oom_kill_process: 4 callbacks suppressed" */
	KLOG_ALLOC_FAILURE, /* "x: page allocation failure: order:…": somebody else's trace begins
			     */
	KLOG_BOOT, /* "Linux version …" */
};

/* The words that oom_kill_process() was called with. */
enum klog_message {
	KLOG_MESSAGE_NONE = 0, /* old kernels do not repeat them in the line of the kill */
	KLOG_MESSAGE_GLOBAL,
	KLOG_MESSAGE_MEMCG,
	KLOG_MESSAGE_ALLOCATING, /* "Out of memory (oom_kill_allocating_task)" */
};

enum klog_constraint {
	KLOG_CONSTRAINT_UNKNOWN = 0,
	KLOG_CONSTRAINT_NONE,
	KLOG_CONSTRAINT_CPUSET,
	KLOG_CONSTRAINT_POLICY,
	KLOG_CONSTRAINT_MEMCG,
};

enum klog_usage { KLOG_USAGE_MEMORY, KLOG_USAGE_MEMSW, KLOG_USAGE_KMEM, KLOG_USAGE_SWAP };

/* Of the machine, in pages. */
enum klog_counter {
	KLOG_FREE,
	KLOG_FREE_CMA,
	KLOG_ACTIVE_ANON,
	KLOG_INACTIVE_ANON,
	KLOG_ACTIVE_FILE,
	KLOG_INACTIVE_FILE,
	KLOG_DIRTY,
	KLOG_WRITEBACK,
	KLOG_SHMEM,
	KLOG_SLAB_RECLAIMABLE,
	KLOG_SLAB_UNRECLAIMABLE,
	KLOG_PAGETABLES,
	KLOG_UNEVICTABLE,
	KLOG_COUNTERS_COUNT,
};

enum klog_count {
	KLOG_COUNT_RAM, /* pages */
	KLOG_COUNT_HIGHMEM, /* pages */
	KLOG_COUNT_RESERVED, /* pages */
	KLOG_COUNT_SWAP_FREE, /* kB */
	KLOG_COUNT_SWAP_TOTAL, /* kB */
	KLOG_COUNT_COUNT,
};

enum klog_column {
	KLOG_COLUMN_OTHER = 0, /* a number of no use here */
	KLOG_COLUMN_UID,
	KLOG_COLUMN_TGID,
	KLOG_COLUMN_TOTAL_VM,
	KLOG_COLUMN_RSS,
	KLOG_COLUMN_ANON,
	KLOG_COLUMN_FILE,
	KLOG_COLUMN_SHMEM,
	KLOG_COLUMN_PTES, /* nr_ptes, nr_pmds, nr_puds: pages of page tables */
	KLOG_COLUMN_PGTABLES, /* bytes */
	KLOG_COLUMN_SWAP,
	KLOG_COLUMN_OOM_ADJ,
	KLOG_COLUMN_ADJ,
	KLOG_COLUMN_KINDS,
};

/* The columns between the pid and the name, by the head of the table. */
struct klog_layout {
	unsigned int count; /* 0: no head was seen */
	uint8_t columns[KLOG_COLUMNS]; /* enum klog_column */
	bool has[KLOG_COLUMN_KINDS];
};

struct klog_row {
	uint32_t pid; /* of a thread that has the memory still */
	uint32_t tgid;
	uint32_t uid;
	int32_t oom_score_adj; /* from oom_adj where there is no other, see klog_line.c */
	bool adj_known;
	uint64_t total_vm_pages, rss_pages;
	uint64_t anon_pages, file_pages, shmem_pages; /* UNKNOWN_U64: one sum only */
	uint64_t ptes_pages; /* UNKNOWN_U64: bytes are told, or nothing */
	uint64_t pgtables_bytes;
	uint64_t swap_pages;
	struct scan comm;
};

struct klog_zone {
	int node; /* -1: not told */
	struct scan name; /* "DMA", "Normal", … */
	uint64_t free_kb, min_kb, low_kb, high_kb, boost_kb, present_kb, managed_kb;
	uint64_t highatomic_kb, cma_kb;
};

enum klog_buddy_type {
	KLOG_BUDDY_UNTYPED = 1 << 0, /* old kernels do not tell of what types free pieces are */
	KLOG_BUDDY_UNMOVABLE = 1 << 1,
	KLOG_BUDDY_MOVABLE = 1 << 2,
	KLOG_BUDDY_RECLAIMABLE = 1 << 3,
	KLOG_BUDDY_HIGHATOMIC = 1 << 4,
	KLOG_BUDDY_CMA = 1 << 5,
	KLOG_BUDDY_ISOLATE = 1 << 6,
};

struct klog_buddy {
	int node;
	struct scan name;
	unsigned int orders;
	uint64_t page_kb; /* of order 0 */
	uint64_t counts[KLOG_ORDERS];
	uint8_t types[KLOG_ORDERS]; /* enum klog_buddy_type */
};

struct klog_line {
	enum klog_kind kind;
	bool escaped; /* for the caller: what is not printable in names may be there as \xNN */
	bool whole; /* all of the form is there; what is cut off still tells its beginning */
	union {
		struct {
			struct scan comm, nodemask, gfp_flags;
			bool has_gfp, has_order, has_adj;
			uint64_t gfp_mask;
			int32_t order, oom_score_adj;
		} invoked;
		struct {
			uint32_t pid;
			uint64_t uid;
			struct scan comm; /* and what stands behind it */
			struct scan release;
		} cpu;
		struct {
			struct scan comm, cpuset, mems;
		} cpuset;
		struct scan function; /* KLOG_STACK */
		struct {
			struct scan task, limit; /* task empty: "Memory limit reached of cgroup" */
		} task_in;
		struct {
			enum klog_usage which;
			uint64_t usage_kb, limit_kb, failcnt;
		} usage;
		struct {
			struct scan path, list; /* "cache:1KB rss:2KB"; empty: lines follow */
		} stats;
		struct {
			struct scan name;
			uint64_t value;
		} stat;
		uint64_t counters[KLOG_COUNTERS_COUNT];
		struct {
			int node;
			uint64_t kernel_stack_kb;
		} node;
		struct klog_zone zone;
		struct {
			unsigned int count;
			uint64_t pages[KLOG_ZONE_LISTS];
		} reserve;
		struct klog_buddy buddy;
		struct {
			uint64_t total, free, size_kb;
		} hugepages;
		struct {
			enum klog_count which;
			uint64_t value;
		} count;
		struct klog_layout table;
		struct klog_row row;
		struct {
			enum klog_constraint constraint;
			bool global; /* "global_oom" */
			struct scan nodemask, mems, oom_memcg, task_memcg, comm;
			uint32_t pid;
			uint64_t uid;
		} summary;
		struct {
			enum klog_message message;
			uint32_t pid; /* of a thread, maybe */
			struct scan comm;
		} choice; /* KLOG_SHARING and KLOG_EXITING, too */
		struct {
			enum klog_message message;
			uint32_t pid;
			struct scan comm;
			uint64_t total_vm_kb, anon_kb, file_kb, shmem_kb, pgtables_kb, uid;
			bool has_adj;
			int32_t oom_score_adj;
		} kill;
		struct scan path; /* KLOG_GROUP */
		struct {
			uint32_t pid;
		} reaped;
		struct scan release; /* KLOG_BOOT */
	};
};

/* `layout`: that of the last head of a table; rows are told by it. KLOG_NONE: nothing of this. */
void klog_line_parse(struct scan body, const struct klog_layout *layout, struct klog_line *ret);

/* Lines of Mem-Info, as above. False: it is none. */
bool klog_memory_parse(struct scan body, struct klog_line *ret);

/* "0-1,3" as a mask of the first 64 nodes; UNKNOWN_U64: it is no list, as "(null)". */
uint64_t klog_node_mask(struct scan list);

#endif /* OOMSNOOP_SOURCE_KLOG_LINE_H */
