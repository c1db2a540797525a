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

static __always_inline void task_write(
	struct ev_task *e, struct task_struct *task, u32 role, u32 flags, u64 totalpages)
{
	__builtin_memset(e, 0, sizeof(*e));
	hdr_fill(&e->hdr, sizeof(*e), EV_TASK, scope.number);
	e->role = role;
	e->flags = flags;
	task_fill(e, task, true);
	e->totalpages = totalpages;
}

/* Candidates are many, and each matters little: they leave the last part of the ring to what
 * matters more. */
static __always_inline struct ev_task *task_reserve(u32 role)
{
	bool candidate = role == EV_ROLE_CANDIDATE;
	struct ev_task *e = NULL;

	if (!candidate || bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) < ring_candidate_bytes)
		e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e)
		drop_count(candidate ? EV_DROP_CANDIDATE : EV_DROP_INCIDENT);
	return e;
}

__noinline int task_send(u64 task_address, u32 role, u32 flags, u64 totalpages)
{
	struct ev_task *e = task_reserve(role);

	if (!e)
		return 0;
	task_write(e, (void *)task_address, role, flags, totalpages);
	bpf_ringbuf_submit(e, wake_flag(role == EV_ROLE_VICTIM));
	return 0;
}

__noinline int candidate_hold(u64 task_address, u64 totalpages)
{
	u32 at = scope.candidates;
	struct ev_task *e = bpf_map_lookup_elem(&scan_candidates, &at);

	scope.candidates = at + 1;
	if (!e)
		return task_send(task_address, EV_ROLE_CANDIDATE, 0, totalpages);
	task_write(e, (void *)task_address, EV_ROLE_CANDIDATE, 0, totalpages);
	return 0;
}

__noinline int candidate_send(u32 at)
{
	const struct ev_task *held = bpf_map_lookup_elem(&scan_candidates, &at);
	struct ev_task *e;

	/* Left over from another scan: this one's was not seen whole. */
	if (!held || held->hdr.incident != scope.number)
		return 0;
	e = task_reserve(EV_ROLE_CANDIDATE);
	if (!e)
		return 0;
	__builtin_memcpy(e, held, sizeof(*e));
	bpf_ringbuf_submit(e, wake_flag(false));
	return 0;
}

/* In rows, each a call: the verifier follows a loop turn by turn, and 512 turns for every program
 * that can end a scan. */
__noinline int candidates_send_row(u32 from)
{
	u32 i;

	for (i = 0; i < CANDIDATES_ROW; i++) {
		if (from + i >= scope.candidates)
			break;
		candidate_send(from + i);
	}
	return 0;
}

/* The scan came to an end that is worth telling. */
__noinline int candidates_send(void)
{
	u32 row;

	for (row = 0; row < CANDIDATES_HELD / CANDIDATES_ROW; row++) {
		if (row * CANDIDATES_ROW >= scope.candidates)
			break;
		candidates_send_row(row * CANDIDATES_ROW);
	}
	scope.candidates = 0;
	return 0;
}
