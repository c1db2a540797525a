// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * faults.bpf.c: page faults, attached only while memory is getting tight (or on request).
 *
 * Where the kernel tells of each fault with its error code (x86), write faults on pages that are
 * present are counted: each of them copies a page, or finds that it need not. Elsewhere the perf
 * event of page faults gives a sample now and then, and copies are not told apart.
 */
#include "recorder.bpf.h"

/* arch/x86/include/asm/trap_pf.h */
#define FAULT_PRESENT 1
#define FAULT_WRITE 2

static __always_inline u64 current_start_ns(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, group_leader, start_boottime);
}

static __always_inline s64 held_pages(const struct mm_struct *mm)
{
	s64 pages = 0;
	u32 i;

	for (i = 0; i < EV_RSS_COUNTERS; i++)
		pages += rss_count(mm, i);
	return pages;
}

static __always_inline void sample_write(
	struct ev_sample *e, struct task_struct *task, const struct process_count *count, u32 why)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	u32 i;

	__builtin_memset(e, 0, sizeof(*e));
	hdr_fill(&e->hdr, sizeof(*e), EV_SAMPLE, 0);
	e->why = why;
	e->tgid = BPF_CORE_READ(task, tgid);
	e->ppid = BPF_CORE_READ(task, real_parent, tgid);
	e->oom_score_adj = BPF_CORE_READ(task, signal, oom_score_adj);
	e->start_ns = count->start_ns;
	e->mm = (u64)mm;
	e->cgroup_id = memcg_id(css_of_task(task));
	for (i = 0; i < EV_RSS_COUNTERS; i++)
		e->rss_pages[i] = rss_count(mm, i);
	e->pgtables_bytes = BPF_CORE_READ(mm, pgtables_bytes.counter);
	if (BPF_CORE_READ(task, group_leader, flags) & PF_FORKNOEXEC)
		e->flags |= EV_TASK_FORKED;
	if (!rss_is_percpu())
		e->flags |= EV_TASK_RSS_SPLIT;
	e->faults = EV_UNKNOWN;
	e->io_bytes = EV_UNKNOWN;
	e->copied_pages = copies_counted ? count->copied_pages : EV_UNKNOWN;
	e->charged_pages = charges_counted ? count->charged_pages : EV_UNKNOWN;
	BPF_CORE_READ_STR_INTO(&e->comm, task, group_leader, comm);
}

/* Tells of the current process, if it has moved by enough since it was told of. */
__noinline int sample_current(u32 why)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct process_count *count;
	struct ev_sample *e;
	s64 moved;

	if (!mm || BPF_CORE_READ(task, flags) & PF_KTHREAD)
		return 0;
	count = process_count_get(tgid, current_start_ns());
	if (!count)
		return 0;
	moved = held_pages(mm) + (s64)count->copied_pages - count->told_pages;
	if (moved < (s64)sample_pages && moved > -(s64)sample_pages)
		return 0;
	if (ring_is_busy() || !(e = bpf_ringbuf_reserve(&events, sizeof(*e), 0))) {
		drop_count(EV_DROP_SAMPLE);
		return 0;
	}
	count->told_pages += moved;
	sample_write(e, task, count, why);
	bpf_ringbuf_submit(e, wake_flag(false));
	return 0;
}

/* Hands on what a batch counted for the process that it is of. */
__noinline int fault_batch_flush(u32 index)
{
	struct fault_batch *batch = bpf_map_lookup_elem(&fault_batches, &index);
	struct process_count *count;

	if (!batch || !batch->copied)
		return 0;
	count = process_count_get(batch->tgid, batch->start_ns);
	if (count)
		__sync_fetch_and_add(&count->copied_pages, batch->copied);
	batch->copied = 0;
	return 0;
}

static __always_inline int fault_seen(u32 index, unsigned long error_code)
{
	struct fault_batch *batch = bpf_map_lookup_elem(&fault_batches, &index);
	u32 tgid = bpf_get_current_pid_tgid() >> 32;

	if (!batch)
		return 0;
	if (batch->tgid != tgid) {
		fault_batch_flush(index);
		batch->tgid = tgid;
		batch->start_ns = current_start_ns();
		batch->faults = 0;
	}
	if ((error_code & (FAULT_PRESENT | FAULT_WRITE)) == (FAULT_PRESENT | FAULT_WRITE))
		batch->copied++;
	if (++batch->faults >= fault_period) {
		batch->faults = 0;
		fault_batch_flush(index);
		sample_current(EV_SAMPLE_FAULTS);
	}
	return 0;
}

SEC("?tp_btf/page_fault_user")
int BPF_PROG(fault_user_tp, unsigned long address, struct pt_regs *regs, unsigned long error_code)
{
	return fault_seen(0, error_code);
}

/* The kernel's own: read(2) into fresh memory, and the like. */
SEC("?tp_btf/page_fault_kernel")
int BPF_PROG(fault_kernel_tp, unsigned long address, struct pt_regs *regs, unsigned long error_code)
{
	return fault_seen(1, error_code);
}

SEC("?perf_event")
int fault_perf(struct bpf_perf_event_data *context)
{
	return sample_current(EV_SAMPLE_FAULTS);
}
