/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * common.bpf.h: the ring, the scope of an OOM invocation, and how a process or a memcg chain is
 * written down.
 *
 * Everything that reads the kernel goes through BPF_CORE_READ, so that the same code serves
 * tracepoint, fentry and kprobe programs alike.
 */
#ifndef OOMSNOOP_COMMON_BPF_H
#define OOMSNOOP_COMMON_BPF_H

#include "compat.bpf.h"
#include <bpf/bpf_tracing.h>

#define MAX_CPUS 512 /* CPUs that an exact sum goes over; more: EV_TASK_RSS_EXACT stays off */
/* Threads that are asked for the address space when the leader has none any more. */
#define MAX_THREADS 64
#define GROUP_GAP_NS 1000000000ULL
#define VICTIMS_TRACKED 4096

struct events_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 * 1024 * 1024);
};
extern struct events_map events SEC(".maps");

/* Processes that the OOM killer has marked or signalled and that have not exited yet: tgid ->
 * incident. */
struct killed_tgids_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, VICTIMS_TRACKED);
	__type(key, u32);
	__type(value, u32);
};
extern struct killed_tgids_map killed_tgids SEC(".maps");

/* Their address spaces: mm -> incident. */
struct killed_mms_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, VICTIMS_TRACKED);
	__type(key, u64);
	__type(value, u32);
};
extern struct killed_mms_map killed_mms SEC(".maps");

/* Distance from the template of the per-CPU area to each CPU's own, filled once by the census
 * program. */
struct percpu_offsets_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, u32);
	__type(value, u64);
};
extern struct percpu_offsets_map percpu_offsets SEC(".maps");

/*
 * The candidates of the scan that is under way. Most scans of a storm end without a choice, since
 * an earlier victim is still dying: theirs are never told. One scan at a time, so one table; what
 * it has no room for goes to the ring at once.
 */
#define CANDIDATES_HELD 512
#define CANDIDATES_ROW 32

struct scan_candidates_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CANDIDATES_HELD);
	__type(key, u32);
	__type(value, struct ev_task);
};
extern struct scan_candidates_map scan_candidates SEC(".maps");

/* Who was sent SIGKILL last on this CPU, and by whom: __oom_kill_process() signals, then marks,
 * under a spin lock. */
struct last_signal {
	u64 sender;
	u64 task; /* address of whom it was sent to: held by the killer until after the mark */
	u32 target;
	u32 pad;
};

struct last_signals_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct last_signal);
};
extern struct last_signals_map last_signals SEC(".maps");

/* Defined in state.bpf.c. */
extern struct oom_scope scope;
extern __u32 last_number;
extern __u64 drops[EV_DROP_COUNT];
extern struct ev_burst bursts[EV_BURSTS];
extern struct ev_term terms[EV_TERMS];
extern __u64 signals_second;
extern __u32 signals_told;
extern struct ev_burst refusals[EV_BURSTS];
extern __u64 refusals_second;
extern __u32 refusals_told;
extern const volatile bool kills_traced;
extern const volatile bool shared_traced;
extern const volatile bool scope_hooked;
extern const volatile __u32 cpu_count;
extern const volatile __u64 ring_busy_bytes;
extern const volatile __u64 ring_wake_bytes;
extern const volatile __u64 ring_candidate_bytes;
extern const volatile __u32 memory_hierarchy;

static __always_inline void drop_count(u32 reason)
{
	if (reason < EV_DROP_COUNT)
		__sync_fetch_and_add(&drops[reason], 1);
}

static __always_inline void hdr_fill(struct ev_hdr *hdr, u32 len, u16 kind, u32 number)
{
	hdr->len = len;
	hdr->kind = kind;
	hdr->version = EV_VERSION;
	hdr->time_ns = bpf_ktime_get_boot_ns();
	hdr->cpu = bpf_get_smp_processor_id();
	hdr->incident = number;
}

/* Records that only feed tables of names must not crowd out an incident: they get the first half of
 * the ring. */
static __always_inline bool ring_is_busy(void)
{
	return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > ring_busy_bytes;
}

/* The reader looks by itself a few times a second; it is woken when an incident moved on or the
 * ring fills. */
static __always_inline u64 wake_flag(bool now)
{
	if (now || bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > ring_wake_bytes)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

/* An address as a plain number: typed pointers, as tracepoints get them, may not be handed to
 * global functions. */
static __always_inline u64 address_of(const void *pointer)
{
	u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), &pointer);
	return address;
}

/*
 * Functions that several programs call, or that one calls in a loop, are global: the verifier then
 * checks each once by itself and not again at every call, which is most of the time that loading
 * takes. All their arguments are plain numbers (kernel addresses that only bpf_probe_read_kernel()
 * follows), as 5.10 allows no others.
 */
int task_send(u64 task_address, u32 role, u32 flags, u64 totalpages);
int candidate_hold(u64 task_address, u64 totalpages);
int candidate_send(u32 at);
int candidates_send_row(u32 from);
int candidates_send(void);
int counts_send(u64 css_address, u32 number);
u64 process_mm(u64 task_address);

static __always_inline u64 memcg_id(struct cgroup_subsys_state *css)
{
	return css ? BPF_CORE_READ(css, cgroup, kn, id) : 0;
}

/* __percpu_counter_sum(): the shared count and what each CPU has not handed in yet. */
static __always_inline int rss_sum_exact(struct ev_task *e, struct mm_struct *mm)
{
	u64 counters[EV_RSS_COUNTERS];
	u32 cpu, i;

	if (!mm || !cpu_count || cpu_count > MAX_CPUS)
		return -1;
	for (i = 0; i < EV_RSS_COUNTERS; i++) {
		counters[i] = rss_percpu_counters(mm, i);
		e->rss_exact[i] = e->rss_pages[i];
		if (!counters[i])
			return -1;
	}
	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		u32 key = cpu;
		u64 *offset;

		if (cpu >= cpu_count)
			break;
		offset = bpf_map_lookup_elem(&percpu_offsets, &key);
		if (!offset || !*offset)
			return -1;
		for (i = 0; i < EV_RSS_COUNTERS; i++) {
			s32 part = 0;

			if (bpf_probe_read_kernel(
				    &part, sizeof(part), (void *)(counters[i] + *offset)))
				return -1;
			e->rss_exact[i] += part;
		}
	}
	return 0;
}

static __always_inline void task_fill_memory(
	struct ev_task *e, struct task_struct *task, bool exact)
{
	struct mm_struct *mm = (void *)process_mm(address_of(task));
	u32 i;

	e->mm = (u64)mm;
	e->pgtables_bytes = EV_UNKNOWN;
	e->total_vm_pages = EV_UNKNOWN;
	if (!mm) {
		e->flags |= EV_TASK_NO_MM;
		return;
	}
	for (i = 0; i < EV_RSS_COUNTERS; i++)
		e->rss_pages[i] = rss_count(mm, i);
	e->pgtables_bytes = BPF_CORE_READ(mm, pgtables_bytes.counter);
	e->total_vm_pages = BPF_CORE_READ(mm, total_vm);
	if (mm_oom_skip(mm))
		e->flags |= EV_TASK_OOM_SKIP;
	if (!rss_is_percpu())
		e->flags |= EV_TASK_RSS_SPLIT;
	else if (exact && !rss_sum_exact(e, mm))
		e->flags |= EV_TASK_RSS_EXACT;
	if (BPF_CORE_READ(task, vfork_done) && BPF_CORE_READ(task, real_parent, mm) == mm)
		e->flags |= EV_TASK_VFORK;
}

/* Of the levels of a task's chain that have a limit, the fullest. */
struct fullest_limit {
	struct cgroup_subsys_state *css; /* NULL: none has a limit */
	u64 usage, max; /* pages */
	bool v2; /* the hierarchy of the memory controller */
};

static __always_inline struct fullest_limit fullest_limit_of(const struct task_struct *task)
{
	struct cgroup_subsys_state *css = css_of_task(task);
	u64 unlimited = 1ULL << 46; /* PAGE_COUNTER_MAX is 2^51 with 4 KiB pages, 2^47 with 64 */
	struct fullest_limit ret = {};
	u64 fullest = 0;
	u32 i;

	for (i = 0; i < EV_MAX_LEVELS && css; i++) {
		struct mem_cgroup *memcg = memcg_of_css(css);
		struct cgroup_subsys_state *parent = BPF_CORE_READ(css, parent);
		u64 usage = BPF_CORE_READ(memcg, memory.usage.counter);
		u64 max = BPF_CORE_READ(memcg, memory.max);

		if (max && max < unlimited && (usage << 10) / max >= fullest) {
			fullest = (usage << 10) / max;
			ret.css = css;
			ret.usage = usage;
			ret.max = max;
		}
		if (!parent && BPF_CORE_READ(css, cgroup, root, hierarchy_id) == 0)
			ret.v2 = true;
		css = parent;
	}
	return ret;
}

/* Writes a process down. `exact` also sums the per-CPU parts, which costs a read per CPU and
 * counter. */
static __always_inline void task_fill(struct ev_task *e, struct task_struct *task, bool exact)
{
	struct signal_struct *signal;
	struct task_struct *leader;

	signal = BPF_CORE_READ(task, signal);
	leader = BPF_CORE_READ(task, group_leader);
	e->tgid = BPF_CORE_READ(task, tgid);
	e->tid = BPF_CORE_READ(task, pid);
	e->ppid = BPF_CORE_READ(task, real_parent, tgid);
	e->uid = BPF_CORE_READ(task, real_cred, uid.val);
	e->ns_tgid = pid_nr_innermost(BPF_CORE_READ(signal, pids[PIDTYPE_TGID]));
	e->oom_score_adj = BPF_CORE_READ(signal, oom_score_adj);
	e->start_ns = BPF_CORE_READ(leader, start_boottime);
	e->cgroup_id = memcg_id(css_of_task(task));
	e->totalpages = EV_UNKNOWN;
	BPF_CORE_READ_STR_INTO(&e->comm, task, comm);
	if (BPF_CORE_READ(task, flags) & PF_KTHREAD)
		e->flags |= EV_TASK_KTHREAD;
	if (BPF_CORE_READ(leader, flags) & PF_FORKNOEXEC)
		e->flags |= EV_TASK_FORKED;
	if (BPF_CORE_READ(signal, oom_mm))
		e->flags |= EV_TASK_OOM_VICTIM;
	if (BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT)
		e->flags |= EV_TASK_EXITING;
	if (BPF_CORE_READ(signal, oom_flag_origin))
		e->flags |= EV_TASK_ORIGIN;
	if (e->tgid == 1)
		e->flags |= EV_TASK_INIT;
	task_fill_memory(e, task, exact);
}

/* This one dies of the invocation under way. `mm` NULL: another one's was tracked already. */
static __always_inline void victim_track(struct task_struct *task, struct mm_struct *mm)
{
	u32 tgid = BPF_CORE_READ(task, tgid), number = scope.number;
	u64 key = (u64)mm;

	bpf_map_update_elem(&killed_tgids, &tgid, &number, BPF_ANY);
	if (key)
		bpf_map_update_elem(&killed_mms, &key, &number, BPF_ANY);
}

#endif /* OOMSNOOP_COMMON_BPF_H */
