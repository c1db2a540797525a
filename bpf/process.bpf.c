// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * process.bpf.c: names, learnt while their owners live: what a process executed, who forked it,
 * where a cgroup lies. These records wait for the reader's next look; when the ring is half full
 * they are left out and counted.
 */
#include "common.bpf.h"

/* What a child begins with is its parent's, page for page, until one of them writes. */
static __always_inline void fork_memory(
	struct ev_fork *e, const struct task_struct *parent, const struct task_struct *child)
{
	struct mm_struct *mm = BPF_CORE_READ(child, mm);
	s64 anon, others;

	e->rss_pages = 0;
	e->anon_pages = 0;
	if (!mm || mm == BPF_CORE_READ(parent, mm))
		return;
	anon = rss_count(mm, EV_RSS_ANON);
	others = rss_count(mm, EV_RSS_FILE) + rss_count(mm, EV_RSS_SHMEM);
	if (anon > 0)
		e->anon_pages = anon;
	e->rss_pages = e->anon_pages + (others > 0 ? others : 0);
	/* What little it has may all be with the CPUs still: the count is 0 then. */
	if (!e->rss_pages)
		e->rss_pages = 1;
}

SEC("?tp_btf/sched_process_fork")
int BPF_PROG(fork_tp, struct task_struct *parent, struct task_struct *child)
{
	struct ev_fork *e;

	/* A thread brings no new name. */
	if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid))
		return 0;
	if (ring_is_busy() || !(e = bpf_ringbuf_reserve(&events, sizeof(*e), 0))) {
		drop_count(EV_DROP_PROCESS);
		return 0;
	}
	hdr_fill(&e->hdr, sizeof(*e), EV_FORK, 0);
	e->tgid = BPF_CORE_READ(child, tgid);
	e->parent_tgid = BPF_CORE_READ(parent, tgid);
	e->start_ns = BPF_CORE_READ(child, start_boottime);
	e->parent_start_ns = BPF_CORE_READ(parent, group_leader, start_boottime);
	fork_memory(e, parent, child);
	bpf_ringbuf_submit(e, wake_flag(false));
	return 0;
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(exec_tp, struct task_struct *task)
{
	unsigned long start, end;
	struct mm_struct *mm;
	struct ev_exec *e;
	u64 len;

	if (ring_is_busy() || !(e = bpf_ringbuf_reserve(&events, sizeof(*e), 0))) {
		drop_count(EV_DROP_PROCESS);
		return 0;
	}
	hdr_fill(&e->hdr, sizeof(*e), EV_EXEC, 0);
	e->tgid = BPF_CORE_READ(task, tgid);
	e->ppid = BPF_CORE_READ(task, real_parent, tgid);
	e->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	e->cgroup_id = memcg_id(css_of_task(task));
	e->uid = BPF_CORE_READ(task, real_cred, uid.val);
	e->pad = 0;
	BPF_CORE_READ_STR_INTO(&e->comm, task, comm);
	/* The arguments were just written to the new stack, by this task: they are there. */
	mm = BPF_CORE_READ(task, mm);
	start = BPF_CORE_READ(mm, arg_start);
	end = BPF_CORE_READ(mm, arg_end);
	len = end > start ? end - start : 0;
	e->args_len = len;
	if (len >= EV_CMDLINE_LEN)
		len = EV_CMDLINE_LEN - 1;
	/* The compiler compares one register and uses another: tell the verifier about this one. */
	barrier_var(len);
	len &= EV_CMDLINE_LEN - 1;
	if (bpf_probe_read_user(e->cmdline, len, (void *)start))
		len = 0;
	e->cmdline_len = len;
	bpf_ringbuf_submit(e, wake_flag(false));
	return 0;
}

static __always_inline int cgroup_send(struct cgroup *cgroup, const char *path, bool removed)
{
	struct ev_cgroup *e;

	if ((u32)BPF_CORE_READ(cgroup, root, hierarchy_id) != memory_hierarchy)
		return 0;
	if (ring_is_busy() || !(e = bpf_ringbuf_reserve(&events, sizeof(*e), 0))) {
		drop_count(EV_DROP_PROCESS);
		return 0;
	}
	hdr_fill(&e->hdr, sizeof(*e), EV_CGROUP, 0);
	e->id = BPF_CORE_READ(cgroup, kn, id);
	e->removed = removed;
	e->pad = 0;
	e->path[0] = '\0';
	bpf_probe_read_kernel_str(e->path, sizeof(e->path), path);
	bpf_ringbuf_submit(e, wake_flag(false));
	return 0;
}

SEC("?tp_btf/cgroup_mkdir")
int BPF_PROG(cgroup_mkdir_tp, struct cgroup *cgroup, const char *path)
{
	return cgroup_send(cgroup, path, false);
}

SEC("?tp_btf/cgroup_rmdir")
int BPF_PROG(cgroup_rmdir_tp, struct cgroup *cgroup, const char *path)
{
	return cgroup_send(cgroup, path, true);
}
