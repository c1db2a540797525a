// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* task.bpf.c: one process, written down for the ring. */
#include "common.bpf.h"

/* The address space of a process: its leader's, else that of any thread that still has one
 * (find_lock_task_mm()). */
__noinline u64 process_mm(u64 task_address)
{
	struct task_struct *task = (void *)task_address;
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct list_head *head, *node;
	struct signal_struct *signal;
	int i;

	if (mm)
		return (u64)mm;
	signal = BPF_CORE_READ(task, signal);
	if (!signal)
		return 0;
	head = (void *)signal + bpf_core_field_offset(struct signal_struct, thread_head);
	node = BPF_CORE_READ(head, next);
	for (i = 0; i < MAX_THREADS && node && node != head; i++) {
		task = (void *)node - bpf_core_field_offset(struct task_struct, thread_node);
		mm = BPF_CORE_READ(task, mm);
		if (mm)
			return (u64)mm;
		node = BPF_CORE_READ(node, next);
	}
	return 0;
}

__noinline int task_send(u64 task_address, u32 role, u32 flags, u64 totalpages)
{
	struct task_struct *task = (void *)task_address;
	struct ev_task *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	bool candidate = role == EV_ROLE_CANDIDATE;

	if (!e) {
		drop_count(candidate ? EV_DROP_CANDIDATE : EV_DROP_INCIDENT);
		return 0;
	}
	__builtin_memset(e, 0, sizeof(*e));
	hdr_fill(&e->hdr, sizeof(*e), EV_TASK, scope.number);
	e->role = role;
	e->flags = flags;
	task_fill(e, task, true);
	e->totalpages = totalpages;
	bpf_ringbuf_submit(e, wake_flag(role == EV_ROLE_VICTIM));
	return 0;
}
