// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* state.bpf.c: the maps and variables that all programs share. */
#include "recorder.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct events_map events SEC(".maps");
struct killed_tgids_map killed_tgids SEC(".maps");
struct killed_mms_map killed_mms SEC(".maps");
struct percpu_offsets_map percpu_offsets SEC(".maps");
struct scan_candidates_map scan_candidates SEC(".maps");
struct last_signals_map last_signals SEC(".maps");
struct process_counts_map process_counts SEC(".maps");
struct cgroup_counts_map cgroup_counts SEC(".maps");
struct fault_batches_map fault_batches SEC(".maps");

struct oom_scope scope = {};
__u32 last_number = 0;
__u64 drops[EV_DROP_COUNT] = {};
__u64 sample_pages = 4096;
bool counting = false;
struct ev_burst bursts[EV_BURSTS] = {};
struct ev_term terms[EV_TERMS] = {};
__u64 signals_second = 0; /* the second in hand, and how many signals were told in it */
__u32 signals_told = 0;
struct ev_burst refusals[EV_BURSTS] = {}; /* sender: EV_REFUSAL_KEY() */
__u64 refusals_second = 0;
__u32 refusals_told = 0;

/* Set by the loader before the programs are loaded. */
const volatile bool scope_hooked = false; /* out_of_memory()'s entry and return are hooked */
const volatile __u32 cpu_count = 0; /* possible CPUs; 0: sum nothing exactly */
const volatile __u64 ring_busy_bytes = 2 * 1024 * 1024;
const volatile __u64 ring_wake_bytes = 512 * 1024;
const volatile __u64 ring_candidate_bytes =
	3 * 1024 * 1024; /* candidates leave the rest to other records */
const volatile __u32 memory_hierarchy = 0; /* of cgroups that have a memory controller; 0 is v2 */
const volatile bool shared_traced = false; /* who dies with the victim since it shares its memory */
const volatile bool kills_traced = false; /* who else kills */
const volatile bool copies_counted = false; /* write faults are told apart from others */
const volatile bool charges_counted = false;
const volatile __u32 fault_period = 64;
