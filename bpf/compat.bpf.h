/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * compat.bpf.h: the only place that knows that kernels differ (but for the trees of vma.bpf.h).
 *
 * One block per change: what moved, and one getter that hides the choice. Choices are made by CO-RE
 * from the types of the running kernel, never from its version. vmlinux.h is of 6.12; flavours
 * (name___suffix) describe the others.
 */
#ifndef OOMSNOOP_COMPAT_BPF_H
#define OOMSNOOP_COMPAT_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "event.h"

#define PF_FORKNOEXEC 0x00000040 /* include/linux/sched.h */
#define PF_KTHREAD 0x00200000 /* include/linux/sched.h, since 2.6.27 */
#define SIGNAL_GROUP_EXIT 0x00000004 /* include/linux/sched/signal.h */
#define MMF_OOM_SKIP_BIT 21 /* include/linux/mm_types.h, since 4.9 */

/*
 * Resident set counters. Until 6.1 an array of atomics, kept exact but for what each thread holds
 * back; since 6.2 an array of percpu_counter (commit f1a7941243c1), whose `count` lags by up to
 * batch pages a CPU.
 */
struct mm_rss_stat___atomic {
	atomic_long_t count[EV_RSS_COUNTERS];
} __attribute__((preserve_access_index));

struct mm_struct___atomic {
	struct mm_rss_stat___atomic rss_stat;
} __attribute__((preserve_access_index));

#define rss_is_percpu() (!bpf_core_field_exists(((struct mm_struct___atomic *)0)->rss_stat.count))

static __always_inline s64 rss_count(const struct mm_struct *mm, int i)
{
	const void *base;
	s64 value = 0;

	if (rss_is_percpu()) {
		base = (const void *)mm + bpf_core_field_offset(struct mm_struct, rss_stat) +
		       i * bpf_core_type_size(struct percpu_counter) +
		       bpf_core_field_offset(struct percpu_counter, count);
	} else {
		base = (const void *)mm +
		       bpf_core_field_offset(struct mm_struct___atomic, rss_stat.count) +
		       i * sizeof(value);
	}
	bpf_probe_read_kernel(&value, sizeof(value), base);
	return value;
}

static __always_inline u64 rss_percpu_counters(const struct mm_struct *mm, int i)
{
	u64 counters = 0;

	if (rss_is_percpu())
		bpf_probe_read_kernel(&counters, sizeof(counters),
			(const void *)mm + bpf_core_field_offset(struct mm_struct, rss_stat) +
				i * bpf_core_type_size(struct percpu_counter) +
				bpf_core_field_offset(struct percpu_counter, counters));
	return counters;
}

/* mm_struct.flags: one word until 6.17, a bitmap type since 6.18. Its first word holds what is
 * asked here. */
struct mm_flags___bitmap {
	unsigned long __mm_flags[1];
};

struct mm_struct___bitmap {
	struct mm_flags___bitmap flags;
};

static __always_inline bool mm_oom_skip(const struct mm_struct *mm)
{
	unsigned long flags = 0;

	if (bpf_core_field_exists(((struct mm_struct___bitmap *)0)->flags.__mm_flags))
		bpf_probe_read_kernel(&flags, sizeof(flags),
			(const void *)mm + bpf_core_field_offset(struct mm_struct___bitmap, flags));
	else if (bpf_core_field_exists(((struct mm_struct *)0)->flags))
		flags = BPF_CORE_READ(mm, flags);
	return flags & (1UL << MMF_OOM_SKIP_BIT);
}

/* The memory controller's number moves with the configuration; so do the events' (OOM_GROUP_KILL
 * came after 5.10). */
static __always_inline struct cgroup_subsys_state *css_of_set(const struct css_set *set)
{
	struct cgroup_subsys_state *css = NULL;

	if (!set || !bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return NULL;
	bpf_probe_read_kernel(&css, sizeof(css),
		(const void *)set + bpf_core_field_offset(struct css_set, subsys) +
			bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id) * sizeof(css));
	return css;
}

static __always_inline struct cgroup_subsys_state *css_of_task(const struct task_struct *task)
{
	return css_of_set(BPF_CORE_READ(task, cgroups));
}

static __always_inline struct mem_cgroup *memcg_of_css(struct cgroup_subsys_state *css)
{
	return css ? (void *)css - bpf_core_field_offset(struct mem_cgroup, css) : NULL;
}

static __always_inline struct cgroup_subsys_state *css_of_memcg(struct mem_cgroup *memcg)
{
	return memcg ? (void *)memcg + bpf_core_field_offset(struct mem_cgroup, css) : NULL;
}

/* The pids controller's, which with cgroup v1 is a hierarchy of its own. NULL: there is none. */
static __always_inline struct cgroup_subsys_state *pids_css_of(const struct task_struct *task)
{
	const struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css = NULL;

	if (!set || !bpf_core_enum_value_exists(enum cgroup_subsys_id, pids_cgrp_id) ||
		!bpf_core_type_exists(struct pids_cgroup))
		return NULL;
	bpf_probe_read_kernel(&css, sizeof(css),
		(const void *)set + bpf_core_field_offset(struct css_set, subsys) +
			bpf_core_enum_value(enum cgroup_subsys_id, pids_cgrp_id) * sizeof(css));
	return css;
}

/* How many processes and threads a user has, as RLIMIT_NPROC counts them: in user_struct until
 * 5.13, with the counts of a user namespace since 5.19 (between the two: not read). */
struct user_struct___processes {
	atomic_t processes;
} __attribute__((preserve_access_index));

static __always_inline u64 processes_of_user(const struct cred *cred)
{
	struct user_struct___processes *user;

	if (bpf_core_field_exists(((struct ucounts *)0)->rlimit) &&
		bpf_core_enum_value_exists(enum rlimit_type, UCOUNT_RLIMIT_NPROC))
		return BPF_CORE_READ(cred, ucounts, rlimit[0].counter);
	if (!bpf_core_field_exists(((struct user_struct___processes *)0)->processes))
		return EV_UNKNOWN;
	user = (void *)BPF_CORE_READ(cred, user);
	return BPF_CORE_READ(user, processes.counter);
}

/* The enumerator has to be a literal at the place of use, hence a macro. `array`: memory_events or
 * memory_events_local. */
#define memcg_event(memcg, array, name)                                                            \
	({                                                                                         \
		u64 __value = EV_UNKNOWN;                                                          \
		if (bpf_core_enum_value_exists(enum memcg_memory_event, name))                     \
			bpf_probe_read_kernel(&__value, sizeof(__value),                           \
				(const void *)(memcg) +                                            \
					bpf_core_field_offset(struct mem_cgroup, array) +          \
					bpf_core_enum_value(enum memcg_memory_event, name) * 8);   \
		__value;                                                                           \
	})

/* Only with cgroup v1 built in: kmem's own counter, and a swappiness per cgroup (the field is gone
 * in 7.3). */
struct mem_cgroup___v1 {
	struct page_counter kmem;
	int swappiness;
};

static __always_inline u64 memcg_kmem_pages(struct mem_cgroup *memcg)
{
	u64 value = EV_UNKNOWN;

	if (bpf_core_field_exists(((struct mem_cgroup___v1 *)0)->kmem))
		bpf_probe_read_kernel(&value, sizeof(value),
			(const void *)memcg + bpf_core_field_offset(struct mem_cgroup___v1, kmem) +
				bpf_core_field_offset(struct page_counter, usage));
	return value;
}

static __always_inline u32 memcg_swappiness(struct mem_cgroup *memcg)
{
	u32 value = ~0U;

	if (bpf_core_field_exists(((struct mem_cgroup___v1 *)0)->swappiness))
		bpf_probe_read_kernel(&value, sizeof(value),
			(const void *)memcg +
				bpf_core_field_offset(struct mem_cgroup___v1, swappiness));
	return value;
}

/* page_counter.high came with 5.8's rewrite of memory.high. */
static __always_inline u64 counter_high(const struct page_counter *counter)
{
	if (!bpf_core_field_exists(((struct page_counter *)0)->high))
		return EV_UNKNOWN;
	return BPF_CORE_READ(counter, high);
}

/* pid.numbers: one element until 6.0, a flexible array since. */
static __always_inline u32 pid_nr_innermost(const struct pid *pid)
{
	u32 level, nr = 0;

	if (!pid)
		return 0;
	level = BPF_CORE_READ(pid, level);
	bpf_probe_read_kernel(&nr, sizeof(nr),
		(const void *)pid + bpf_core_field_offset(struct pid, numbers) +
			level * bpf_core_type_size(struct upid) +
			bpf_core_field_offset(struct upid, nr));
	return nr;
}

/* Bytes that went through read and write calls: only with CONFIG_TASK_XACCT. */
#define task_has_io() bpf_core_field_exists(((struct task_struct *)0)->ioac.rchar)

/* Memory nodes: only with CONFIG_NUMA. Sets of nodes are told by their first 64. */
struct mempolicy___v {
	union {
		nodemask_t nodes; /* until 5.13 */
	} v;
};

#define POLICY_BIND 2 /* MPOL_BIND, include/uapi/linux/mempolicy.h */

static __always_inline u64 mems_allowed_of(const struct task_struct *task)
{
	if (!bpf_core_field_exists(((struct task_struct *)0)->mems_allowed))
		return EV_UNKNOWN;
	return BPF_CORE_READ(task, mems_allowed.bits[0]);
}

/* The nodes that a task's own policy binds it to; EV_UNKNOWN: none does. */
static __always_inline u64 policy_nodes_of(const struct task_struct *task)
{
	struct mempolicy *policy;

	if (!bpf_core_field_exists(((struct task_struct *)0)->mempolicy))
		return EV_UNKNOWN;
	policy = BPF_CORE_READ(task, mempolicy);
	if (!policy || BPF_CORE_READ(policy, mode) != POLICY_BIND)
		return EV_UNKNOWN;
	if (bpf_core_field_exists(((struct mempolicy___v *)0)->v.nodes))
		return BPF_CORE_READ((struct mempolicy___v *)policy, v.nodes.bits[0]);
	if (bpf_core_field_exists(((struct mempolicy *)0)->nodes))
		return BPF_CORE_READ(policy, nodes.bits[0]);
	return EV_UNKNOWN;
}

/*
 * The registers with which a task entered the kernel: by a helper since 5.15. The numbers of
 * kill(2) are those of native programs: what a 32-bit one asks is not read.
 */
#if defined(__TARGET_ARCH_x86)
#define SYSCALL_FUNCTION(name) "__x64_sys_" #name
#define SYSCALL_NUMBER_FIELD orig_ax
#define SYSCALL_MMAP 9
#define SYSCALL_MPROTECT 10
#define SYSCALL_BRK 12
#define SYSCALL_MREMAP 25
#define SYSCALL_CLONE 56
#define SYSCALL_KILL 62
#define is_fork_number(number) ((number) == 57 || (number) == 58) /* fork, vfork */
#define syscall_first(regs) BPF_CORE_READ(regs, di)
#define syscall_second(regs) BPF_CORE_READ(regs, si)
#define syscall_third(regs) BPF_CORE_READ(regs, dx)
#define syscall_fourth(regs) BPF_CORE_READ(regs, r10)
#elif defined(__TARGET_ARCH_arm64)
#define SYSCALL_FUNCTION(name) "__arm64_sys_" #name
#define SYSCALL_NUMBER_FIELD syscallno
#define SYSCALL_KILL 129
#define SYSCALL_BRK 214
#define SYSCALL_MREMAP 216
#define SYSCALL_CLONE 220
#define SYSCALL_MMAP 222
#define SYSCALL_MPROTECT 226
#define is_fork_number(number) false /* clone serves */
#define syscall_first(regs) BPF_CORE_READ(regs, orig_x0)
#define syscall_second(regs) BPF_CORE_READ(regs, regs[1])
#define syscall_third(regs) BPF_CORE_READ(regs, regs[2])
#define syscall_fourth(regs) BPF_CORE_READ(regs, regs[3])
#endif
#define SYSCALL_CLONE3 435
#define syscall_number(regs) BPF_CORE_READ(regs, SYSCALL_NUMBER_FIELD)

/* A 32-bit program's calls have other numbers. */
#define TS_COMPAT 0x0002 /* arch/x86/include/asm/thread_info.h */
#define TIF_32BIT 22 /* arch/arm64/include/asm/thread_info.h */

static __always_inline bool is_native_call(const struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return !(BPF_CORE_READ(task, thread_info.status) & TS_COMPAT);
#else
	return !(BPF_CORE_READ(task, thread_info.flags) >> TIF_32BIT & 1);
#endif
}

#define has_task_regs()                                                                            \
	(bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs) &&                    \
		bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))

#endif /* OOMSNOOP_COMPAT_BPF_H */
