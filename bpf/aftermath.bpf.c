// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* aftermath.bpf.c: what came after: exits, memory that came back, the reaper. */
#include "recorder.bpf.h"

static __always_inline u64 exit_io(struct task_struct *task)
{
	if (!task_has_io())
		return EV_UNKNOWN;
	return BPF_CORE_READ(task, signal, ioac.rchar) + BPF_CORE_READ(task, signal, ioac.wchar) +
	       BPF_CORE_READ(task, ioac.rchar) + BPF_CORE_READ(task, ioac.wchar);
}

/* What the recorder counted for it, and its peak: signal->maxrss was brought up to date before. */
static __always_inline void exit_counts(struct ev_exit *e, struct task_struct *task)
{
	struct process_count *count = NULL;
	u32 tgid = e->tgid;

	if (copies_counted) {
		fault_batch_flush(0);
		fault_batch_flush(1);
	}
	if (copies_counted || charges_counted)
		count = bpf_map_lookup_elem(&process_counts, &tgid);
	if (count && count->start_ns != e->start_ns)
		count = NULL;
	e->copied_pages = !copies_counted ? EV_UNKNOWN : count ? count->copied_pages : 0;
	e->charged_pages = !charges_counted ? EV_UNKNOWN : count ? count->charged_pages : 0;
	if (count)
		bpf_map_delete_elem(&process_counts, &tgid);
	/* Its other threads have left theirs with the signal structure. */
	e->faults = BPF_CORE_READ(task, signal, min_flt) + BPF_CORE_READ(task, signal, maj_flt) +
		    BPF_CORE_READ(task, min_flt) + BPF_CORE_READ(task, maj_flt);
	e->io_bytes = exit_io(task);
	e->ppid = BPF_CORE_READ(task, real_parent, tgid);
	e->cgroup_id = memcg_id(css_of_task(task));
	e->peak_pages = BPF_CORE_READ(task, signal, maxrss);
	BPF_CORE_READ_STR_INTO(&e->comm, task, group_leader, comm);
}

/*
 * The last thread of a process. signal->live falls before this tracepoint on every kernel, so the
 * later argument `group_dead` (6.16) is not needed.
 */
SEC("?tp_btf/sched_process_exit")
int BPF_PROG(exit_tp, struct task_struct *task)
{
	u32 tgid, *number;
	struct ev_exit *e;

	if (BPF_CORE_READ(task, signal, live.counter) != 0)
		return 0;
	tgid = BPF_CORE_READ(task, tgid);
	number = bpf_map_lookup_elem(&killed_tgids, &tgid);
	if (!number && ring_is_busy()) {
		drop_count(EV_DROP_PROCESS);
		return 0;
	}
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		drop_count(number ? EV_DROP_INCIDENT : EV_DROP_PROCESS);
		return 0;
	}
	hdr_fill(&e->hdr, sizeof(*e), EV_EXIT, number ? *number : 0);
	e->tgid = tgid;
	e->oom_victim = BPF_CORE_READ(task, signal, oom_mm) != NULL;
	e->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	e->exit_code = BPF_CORE_READ(task, exit_code);
	exit_counts(e, task);
	bpf_ringbuf_submit(e, wake_flag(number != NULL));
	if (number)
		bpf_map_delete_elem(&killed_tgids, &tgid);
	return 0;
}

/*
 * The last to let go of an address space may be a kernel thread, or somebody who reads the victim's
 * files in /proc: only a victim's own chain says anything.
 */
static __always_inline bool is_victim(struct task_struct *task, struct mm_struct *mm)
{
	u32 tgid = BPF_CORE_READ(task, tgid);

	return BPF_CORE_READ(task, signal, oom_mm) == mm ||
	       bpf_map_lookup_elem(&killed_tgids, &tgid);
}

/* The usage of every level of the victim's chain once its pages are gone. */
static __always_inline int mm_freed(struct mm_struct *mm)
{
	struct task_struct *current = (void *)bpf_get_current_task();
	struct cgroup_subsys_state *css;
	u64 key = (u64)mm, chain;
	struct ev_mm_freed *e;
	u32 *number, killed, i;

	number = bpf_map_lookup_elem(&killed_mms, &key);
	if (!number)
		return 0;
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		drop_count(EV_DROP_INCIDENT);
		return 0;
	}
	killed = *number;
	hdr_fill(&e->hdr, sizeof(*e), EV_MM_FREED, killed);
	e->mm = key;
	css = is_victim(current, mm) ? css_of_task(current) : NULL;
	chain = address_of(css);
	for (i = 0; i < EV_FREED_LEVELS; i++) {
		struct mem_cgroup *memcg = memcg_of_css(css);

		e->usage_pages[i] = EV_UNKNOWN;
		if (!css)
			continue;
		e->usage_pages[i] = BPF_CORE_READ(memcg, memory.usage.counter);
		css = BPF_CORE_READ(css, parent);
	}
	bpf_ringbuf_submit(e, wake_flag(true));
	if (!scope_hooked)
		counts_send(chain, killed);
	bpf_map_delete_elem(&killed_mms, &key);
	return 0;
}

SEC("?tp_btf/exit_mmap")
int BPF_PROG(freed_tp, struct mm_struct *mm)
{
	return mm_freed(mm);
}

SEC("?fexit/exit_mmap")
int BPF_PROG(freed_fexit, struct mm_struct *mm)
{
	return mm_freed(mm);
}

SEC("?tp_btf/finish_task_reaping")
int BPF_PROG(reap_finish_tp, int pid)
{
	struct ev_reap *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e) {
		drop_count(EV_DROP_INCIDENT);
		return 0;
	}
	hdr_fill(&e->hdr, sizeof(*e), EV_REAP, 0);
	e->stage = EV_REAP_FINISH;
	e->tid = pid;
	bpf_ringbuf_submit(e, wake_flag(true));
	return 0;
}
