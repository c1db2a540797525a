// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * refused.bpf.c: memory and processes that were asked for and not given. The program lives on, or
 * ends by its own will: nobody was killed, and nothing else tells of it.
 *
 * What is told is the answer of the call, and beside it all that the kernel may have weighed:
 * which limit it was, user space works out. Where functions cannot be hooked, the end of every
 * system call can be, which slows all of them down, and is done on request only.
 *
 * Source: mm/mmap.c and mm/vma.c (may_expand_vm(), do_mmap(), do_brk_flags(), move_vma()),
 * mm/util.c (__vm_enough_memory()), kernel/fork.c (copy_process()), kernel/cgroup/pids.c.
 */
#include "common.bpf.h"

#define ERROR_AGAIN 11 /* include/uapi/asm-generic/errno-base.h */
#define ERROR_NOMEM 12
#define CLONE_THREAD 0x00010000 /* include/uapi/linux/sched.h */
#define CAP_SYS_ADMIN 21 /* include/uapi/linux/capability.h */
#define CAP_SYS_RESOURCE 24
#define RLIMIT_DATA 2 /* include/uapi/asm-generic/resource.h */
#define RLIMIT_NPROC 6
#define RLIMIT_AS 9
#define SECOND_NS 1000000000ULL
#define REFUSALS_A_SECOND 256 /* of all processes */

/* --- which are told --- */

/* The first one of its process and call, then each power of two: a program may ask in a loop. 0:
 * not told, but counted. */
static __always_inline u32 refusal_take(u32 call, u64 now, u64 *ret_began)
{
	u32 key = EV_REFUSAL_KEY((u32)(bpf_get_current_pid_tgid() >> 32), call);
	struct ev_burst *burst = &refusals[EV_REFUSAL_PLACE(key)];
	u32 count;

	if (burst->sender != key || now - burst->last_ns > SECOND_NS) {
		burst->sender = key;
		burst->began_ns = now;
		burst->count = 0;
	}
	burst->last_ns = now;
	*ret_began = burst->began_ns;
	__sync_fetch_and_add(&burst->count, 1);
	count = burst->count;
	if (count & (count - 1))
		return 0;
	if (now - refusals_second > SECOND_NS) {
		refusals_second = now;
		refusals_told = 0;
	}
	__sync_fetch_and_add(&refusals_told, 1);
	if (refusals_told <= REFUSALS_A_SECOND)
		return count;
	drop_count(EV_DROP_REFUSAL);
	return 0;
}

/* --- the record --- */

static __always_inline void memory_fill(struct ev_refusal *e, struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	u64 data, brk;
	u32 i;

	if (!mm)
		return;
	e->flags |= EV_REFUSAL_MM;
	e->total_vm_pages = BPF_CORE_READ(mm, total_vm);
	e->data_vm_pages = BPF_CORE_READ(mm, data_vm);
	e->map_count = BPF_CORE_READ(mm, map_count);
	e->task_size = BPF_CORE_READ(mm, task_size);
	data = BPF_CORE_READ(mm, end_data) - BPF_CORE_READ(mm, start_data);
	brk = BPF_CORE_READ(mm, brk) - BPF_CORE_READ(mm, start_brk);
	e->brk_bytes = data + brk;
	for (i = 0; i < EV_RSS_COUNTERS; i++)
		e->rss_pages[i] = rss_count(mm, i);
}

static __always_inline u64 rlimit_of(struct signal_struct *signal, u32 which)
{
	return BPF_CORE_READ(signal, rlim[which].rlim_cur);
}

/* Those of the initial user namespace, which are what lifts a limit. */
static __always_inline bool is_capable(const struct cred *cred, u32 capability)
{
	u64 effective = 0;

	if (BPF_CORE_READ(cred, user_ns, level))
		return false;
	bpf_probe_read_kernel(&effective, sizeof(effective),
		(const void *)cred + bpf_core_field_offset(struct cred, cap_effective));
	return effective >> capability & 1;
}

static __always_inline void process_fill(struct ev_refusal *e, struct task_struct *task)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	const struct cred *cred = BPF_CORE_READ(task, cred);

	e->tgid = BPF_CORE_READ(task, tgid);
	e->tid = BPF_CORE_READ(task, pid);
	e->ppid = BPF_CORE_READ(task, real_parent, tgid);
	e->uid = BPF_CORE_READ(task, real_cred, uid.val);
	e->ns_tgid = pid_nr_innermost(BPF_CORE_READ(signal, pids[PIDTYPE_TGID]));
	e->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	e->cgroup_id = memcg_id(css_of_task(task));
	BPF_CORE_READ_STR_INTO(&e->comm, task, group_leader, comm);
	e->limit_as_bytes = rlimit_of(signal, RLIMIT_AS);
	e->limit_data_bytes = rlimit_of(signal, RLIMIT_DATA);
	e->limit_nproc = rlimit_of(signal, RLIMIT_NPROC);
	e->user_processes = processes_of_user(cred);
	if (is_capable(cred, CAP_SYS_ADMIN))
		e->flags |= EV_REFUSAL_ADMIN;
	if (is_capable(cred, CAP_SYS_RESOURCE))
		e->flags |= EV_REFUSAL_RESOURCE;
	/* copy_process(): the root user of the machine is not held to it. */
	if (!BPF_CORE_READ(cred, uid.val) && !BPF_CORE_READ(cred, user_ns, level))
		e->flags |= EV_REFUSAL_ROOT;
}

/* The lowest level that has as many as it may have: the kernel counts from the leaf upwards. */
static __always_inline void pids_fill(struct ev_refusal *e, struct task_struct *task)
{
	struct cgroup_subsys_state *css = pids_css_of(task);
	u32 i;

	for (i = 0; i < EV_MAX_LEVELS && css; i++) {
		struct pids_cgroup *pids =
			(void *)css - bpf_core_field_offset(struct pids_cgroup, css);
		s64 count = BPF_CORE_READ(pids, counter.counter);
		s64 max = BPF_CORE_READ(pids, limit.counter);
		const char *name = BPF_CORE_READ(css, cgroup, kn, name);

		if (count >= max) {
			e->flags |= EV_REFUSAL_PIDS;
			e->pids_level = i;
			e->pids_count = count;
			e->pids_max = max;
			e->pids_id = BPF_CORE_READ(css, cgroup, kn, id);
			bpf_probe_read_kernel_str(e->pids_name, sizeof(e->pids_name), name);
			return;
		}
		css = BPF_CORE_READ(css, parent);
	}
}

static __always_inline void memcg_fill(struct ev_refusal *e, struct task_struct *task)
{
	struct fullest_limit limit = fullest_limit_of(task);

	if (!limit.css)
		return;
	e->flags |= EV_REFUSAL_LIMIT;
	e->limit_id = memcg_id(limit.css);
	e->limit_usage_pages = limit.usage;
	e->limit_max_pages = limit.max;
}

/* Global: the verifier then checks it once for all programs. Returns 0. */
__noinline int refusal_tell(u32 call, s32 error, u64 asked, u64 detail)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u64 now = bpf_ktime_get_boot_ns(), began;
	u32 count = refusal_take(call, now, &began);
	struct ev_refusal *e;

	if (!count)
		return 0;
	if (ring_is_busy() || !(e = bpf_ringbuf_reserve(&events, sizeof(*e), 0))) {
		drop_count(EV_DROP_REFUSAL);
		return 0;
	}
	__builtin_memset(e, 0, sizeof(*e));
	hdr_fill(&e->hdr, sizeof(*e), EV_REFUSAL, 0);
	e->call = call;
	e->error = error;
	e->asked_bytes = asked;
	e->detail = detail;
	e->count = count;
	e->burst_ns = began;
	memory_fill(e, task);
	process_fill(e, task);
	pids_fill(e, task);
	memcg_fill(e, task);
	bpf_ringbuf_submit(e, wake_flag(true));
	return 0;
}

/* --- the calls --- */

static __always_inline bool is_refusal(long ret)
{
	return ret == -ERROR_NOMEM || ret == -ERROR_AGAIN;
}

static __always_inline void mmap_ended(u64 len, u64 prot, u64 flags, long ret)
{
	/* EAGAIN is about locked memory (RLIMIT_MEMLOCK). */
	if (ret == -ERROR_NOMEM)
		refusal_tell(EV_CALL_MMAP, ERROR_NOMEM, len, flags << 32 | (u32)prot);
}

/* brk(2) of the kernel never fails: it tells where the end is, which is then where it was. */
static __always_inline void brk_ended(u64 asked, long ret)
{
	if (ret >= 0 && asked > (u64)ret)
		refusal_tell(EV_CALL_BRK, ERROR_NOMEM, asked - ret, 0);
}

static __always_inline void mremap_ended(u64 old_len, u64 new_len, long ret)
{
	if (ret == -ERROR_NOMEM)
		refusal_tell(EV_CALL_MREMAP, ERROR_NOMEM, new_len > old_len ? new_len - old_len : 0,
			new_len);
}

static __always_inline void mprotect_ended(u64 len, u64 prot, long ret)
{
	if (ret == -ERROR_NOMEM)
		refusal_tell(EV_CALL_MPROTECT, ERROR_NOMEM, len, (u32)prot);
}

static __always_inline void fork_ended(u64 flags, long ret)
{
	if (is_refusal(ret))
		refusal_tell(flags & CLONE_THREAD ? EV_CALL_THREAD : EV_CALL_FORK, -ret, 0, flags);
}

/* --- hooks on functions --- */

SEC("?fexit/vm_mmap_pgoff")
int BPF_PROG(refused_mmap_fexit, struct file *file, unsigned long addr, unsigned long len,
	unsigned long prot, unsigned long flag, unsigned long pgoff, unsigned long ret)
{
	mmap_ended(len, prot, flag, ret);
	return 0;
}

SEC("?fexit/kernel_clone")
int BPF_PROG(refused_clone_fexit, struct kernel_clone_args *args, pid_t ret)
{
	if (is_refusal(ret))
		fork_ended(BPF_CORE_READ(args, flags), ret);
	return 0;
}

SEC("?fexit/" SYSCALL_FUNCTION(brk))
int BPF_PROG(refused_brk_fexit, const struct pt_regs *regs, long ret)
{
	brk_ended(syscall_first(regs), ret);
	return 0;
}

SEC("?fexit/" SYSCALL_FUNCTION(mremap))
int BPF_PROG(refused_mremap_fexit, const struct pt_regs *regs, long ret)
{
	if (ret == -ERROR_NOMEM)
		mremap_ended(syscall_second(regs), syscall_third(regs), ret);
	return 0;
}

SEC("?fexit/" SYSCALL_FUNCTION(mprotect))
int BPF_PROG(refused_mprotect_fexit, const struct pt_regs *regs, long ret)
{
	if (ret == -ERROR_NOMEM)
		mprotect_ended(syscall_second(regs), syscall_third(regs), ret);
	return 0;
}

/* --- the end of every system call --- */

static __always_inline void call_ended(long number, struct pt_regs *regs, long ret)
{
	u64 flags = 0;

	switch (number) {
	case SYSCALL_MMAP:
		mmap_ended(syscall_second(regs), syscall_third(regs), syscall_fourth(regs), ret);
		return;
	case SYSCALL_BRK:
		brk_ended(syscall_first(regs), ret);
		return;
	case SYSCALL_MREMAP:
		mremap_ended(syscall_second(regs), syscall_third(regs), ret);
		return;
	case SYSCALL_MPROTECT:
		mprotect_ended(syscall_second(regs), syscall_third(regs), ret);
		return;
	case SYSCALL_CLONE3:
		/* struct clone_args: its first word; not there: a process is told. */
		bpf_probe_read_user(&flags, sizeof(flags), (void *)syscall_first(regs));
		fork_ended(flags, ret);
		return;
	case SYSCALL_CLONE:
		fork_ended(syscall_first(regs), ret);
		return;
	default:
		if (is_fork_number(number))
			fork_ended(0, ret);
	}
}

/* Nearly all end here at one of the first two tests. */
SEC("?tp_btf/sys_exit")
int BPF_PROG(refused_exit_tp, struct pt_regs *regs, long ret)
{
	long number = regs->SYSCALL_NUMBER_FIELD;

	if (ret < 0 ? !is_refusal(ret) : number != SYSCALL_BRK)
		return 0;
	if (!is_native_call((void *)bpf_get_current_task()))
		return 0;
	call_ended(number, regs, ret);
	return 0;
}
