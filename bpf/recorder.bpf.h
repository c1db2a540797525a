/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recorder.bpf.h: what the flight recorder counts between two passes, in tables that its iterator
 * reads out.
 */
#ifndef OOMSNOOP_RECORDER_BPF_H
#define OOMSNOOP_RECORDER_BPF_H

#include "common.bpf.h"

#define COUNTED_PROCESSES 16384
#define COUNTED_CGROUPS 8192

/* Of one process. LRU: whose exit was missed gives way. */
struct process_count {
	u64 start_ns; /* a pid that came back begins anew */
	u64 copied_pages;
	u64 charged_pages;
	s64 told_pages; /* what it held and had copied when a sample was last sent */
};

struct process_counts_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, COUNTED_PROCESSES);
	__type(key, u32);
	__type(value, struct process_count);
};
extern struct process_counts_map process_counts SEC(".maps");

/* Of one memcg, by its kernfs id. */
struct cgroup_count {
	u64 charged_pages;
	u64 pass; /* the last pass that told it */
	u32 told_by; /* the process that it was told with */
	u32 pad;
};

struct cgroup_counts_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, COUNTED_CGROUPS);
	__type(key, u64);
	__type(value, struct cgroup_count);
};
extern struct cgroup_counts_map cgroup_counts SEC(".maps");

/*
 * Faults of whoever ran last on this CPU, handed on in batches: a fault costs a comparison and two
 * additions. One for each program, since one may interrupt the other.
 */
struct fault_batch {
	u32 tgid;
	u32 faults; /* since the last sample */
	u32 copied; /* not handed on yet */
	u32 pad;
	u64 start_ns;
};

#define FAULT_BATCHES 2

struct fault_batches_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FAULT_BATCHES);
	__type(key, u32);
	__type(value, struct fault_batch);
};
extern struct fault_batches_map fault_batches SEC(".maps");

/* Set by the loader before the programs are loaded. */
extern const volatile bool copies_counted;
extern const volatile bool charges_counted;
extern const volatile __u32 fault_period;
/* Is anything in the table of processes? Until then no pass looks there. */
extern bool counting;
/* A sample between two passes is sent once a process has moved by so much; set while running, too.
 */
extern __u64 sample_pages;

/* The entry of a process, made when there is none or an earlier owner of the pid left its own. */
static __always_inline struct process_count *process_count_get(u32 tgid, u64 start_ns)
{
	struct process_count fresh = {.start_ns = start_ns}, *count;

	count = bpf_map_lookup_elem(&process_counts, &tgid);
	if (count && count->start_ns == start_ns)
		return count;
	bpf_map_update_elem(&process_counts, &tgid, &fresh, BPF_ANY);
	return bpf_map_lookup_elem(&process_counts, &tgid);
}

int sample_current(u32 why);
int fault_batch_flush(u32 index);

#endif /* OOMSNOOP_RECORDER_BPF_H */
