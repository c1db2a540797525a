// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * signal.bpf.c: signals that kill: those of the OOM killer to processes that share the victim's
 * memory, and all that are not the OOM killer's. One program for both purposes, since each costs
 * every signal of the machine a call.
 *
 * Source: kernel/signal.c (__send_signal_locked(), force_sig_info_to_task()), kernel/cgroup/
 * cgroup.c (__cgroup_kill()), kernel/pid_namespace.c (zap_pid_ns_processes()). Threads that die of
 * an exec, or with their process, are sent nothing through here.
 */
#include "vma.bpf.h"

#define SEND_SIG_NOINFO ((u64)0) /* include/linux/sched/signal.h: in current's name */
#define SEND_SIG_PRIV ((u64)1) /* from the kernel, no siginfo */
#define SIGNAL_BUS 7 /* include/uapi/asm-generic/signal.h */
#define SIGNAL_KILL 9
#define SIGNAL_SEGV 11
#define SIGNAL_TERM 15
#define SIGNALS_TAKEN                                                                              \
	(1ULL << SIGNAL_BUS | 1ULL << SIGNAL_KILL | 1ULL << SIGNAL_SEGV | 1ULL << SIGNAL_TERM)
#define PF_EXITING 0x00000004 /* include/linux/sched.h */
#define TMPFS_MAGIC 0x01021994 /* include/uapi/linux/magic.h */

#define BURST_GAP_NS 100000000ULL /* a sender that was silent for so long begins another one */
#define BURST_NS 1000000000ULL /* and so does one that goes on for so long */
#define SECOND_NS 1000000000ULL
#define SIGNALS_A_SECOND 512 /* of all senders */
/* What is older is in the tables of names, unless the ring was busy all this time. */
#define YOUNG_NS 10000000000ULL
#define ANCESTORS 32
/* A SIGTERM this long ago has nothing to do with a SIGKILL. */
#define TERM_NS 600000000000ULL
#define TERM_JIFFIES 60000 /* a minute where the tick is fastest, ten where it is slowest */

/* --- those who die only because they share the victim's memory --- */

static __always_inline bool shared_victim(struct task_struct *task, u64 owner)
{
	if (!scope.open || scope.owner != owner || !scope.marked || !scope.last_mm)
		return false;
	if (bpf_ktime_get_boot_ns() - scope.last_ns > GROUP_GAP_NS)
		return false;
	return process_mm(address_of(task)) == scope.last_mm;
}

/* The signal to whom a mark follows. Where nothing tells that this thread is inside the OOM killer,
 * user space takes the signal back when it sees the mark. */
static __always_inline bool oom_is_killing(u64 owner)
{
	if (!scope.open || scope.owner != owner)
		return false;
	return scope_hooked || (scope.killed && !scope.marked) ||
	       bpf_ktime_get_boot_ns() - scope.last_ns < GROUP_GAP_NS;
}

/* True: this signal is the OOM killer's. */
static __always_inline bool oom_signalled(struct task_struct *task)
{
	u64 owner = bpf_get_current_pid_tgid();
	struct last_signal *signal;
	u32 zero = 0;

	if (!shared_traced)
		return false;
	signal = bpf_map_lookup_elem(&last_signals, &zero);
	if (signal) {
		signal->sender = owner;
		signal->task = address_of(task);
		signal->target = BPF_CORE_READ(task, tgid);
	}
	if (!shared_victim(task, owner))
		return oom_is_killing(owner);
	victim_track(task, NULL);
	task_send(address_of(task), EV_ROLE_SIGNALLED, 0, EV_UNKNOWN);
	return true;
}

/* --- which are told --- */

/* Handled, it kills nobody. A signal that is blocked or ignored was set to its default before. */
static __always_inline bool fault_kills(int sig, u64 info, struct task_struct *task)
{
	struct kernel_siginfo *siginfo = (void *)info;
	struct sighand_struct *sighand;
	u64 handler = 1;

	if (info <= SEND_SIG_PRIV || BPF_CORE_READ(siginfo, si_code) <= 0)
		return false;
	sighand = BPF_CORE_READ(task, sighand);
	bpf_probe_read_kernel(&handler, sizeof(handler),
		(void *)sighand + bpf_core_field_offset(struct sighand_struct, action) +
			(sig - 1) * bpf_core_type_size(struct k_sigaction) +
			bpf_core_field_offset(struct sigaction, sa_handler));
	return handler == 0;
}

static __always_inline bool takes_effect(struct task_struct *task, int result)
{
	if (result == EV_SIGNAL_DELIVERED || result == EV_SIGNAL_LOST_INFO)
		return true;
	return result == EV_SIGNAL_IGNORED &&
	       !(BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT);
}

/* Which one of its burst this is; 0: too many at once, and counted. */
static __always_inline u32 burst_take(u32 sender, u64 now, u64 *ret_began)
{
	struct ev_burst *burst = &bursts[sender & (EV_BURSTS - 1)];
	u32 count;

	if (burst->sender != sender || now - burst->last_ns > BURST_GAP_NS ||
		now - burst->began_ns > BURST_NS) {
		burst->sender = sender;
		burst->began_ns = now;
		burst->count = 0;
	}
	burst->last_ns = now;
	*ret_began = burst->began_ns;
	/* Kernels before 5.12 cannot give back what was there before: two threads of one sender may
	 * see the same number. */
	__sync_fetch_and_add(&burst->count, 1);
	count = burst->count;
	if (count > EV_BURST_TOLD && (count & (count - 1)))
		return 0;
	if (now - signals_second > SECOND_NS) {
		signals_second = now;
		signals_told = 0;
	}
	__sync_fetch_and_add(&signals_told, 1);
	return signals_told > SIGNALS_A_SECOND ? 0 : count;
}

/* --- SIGTERM: remembered --- */

static __always_inline struct ev_term *term_of(u32 tgid)
{
	return &terms[tgid & (EV_TERMS - 1)];
}

/* Another one's, or the first for long. A CPU that does the same for another process at this very
 * moment may mix with it: what has both the pid and the start of the target is believed. */
static __always_inline void term_begin(
	struct ev_term *term, struct task_struct *task, u32 tgid, u32 sender)
{
	term->task = 0;
	barrier();
	term->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	term->first_ns = bpf_ktime_get_boot_ns();
	term->jiffies = bpf_jiffies64();
	term->tgid = tgid;
	term->sender = sender;
	term->count = 1;
	barrier();
	term->task = address_of(task);
}

/* Some programs send many and handle them: what is known already takes neither a map nor a clock,
 * but for the kernel's own tick. */
static __always_inline void term_remember(struct task_struct *task, u32 tgid)
{
	struct ev_term *term = term_of(tgid);
	u32 sender = bpf_get_current_pid_tgid() >> 32;

	if (term->task != address_of(task) || term->sender != sender) {
		term_begin(term, task, tgid, sender);
		return;
	}
	term->count++;
	if (bpf_jiffies64() - term->jiffies < TERM_JIFFIES)
		return;
	term->jiffies = bpf_jiffies64();
	if (bpf_ktime_get_boot_ns() - term->first_ns > TERM_NS)
		term_begin(term, task, tgid, sender);
}

static __always_inline void term_fill(struct ev_signal *e)
{
	struct ev_term *term = term_of(e->tgid);

	if (term->tgid != e->tgid || term->start_ns != e->start_ns ||
		e->hdr.time_ns - term->first_ns > TERM_NS)
		return;
	e->flags |= EV_SIGNAL_TERM;
	e->term_ns = term->first_ns;
	e->term_tgid = term->sender;
	e->term_count = term->count;
}

/* --- the record --- */

static __always_inline void sender_fill(struct ev_signal *e, struct task_struct *sender)
{
	u32 flags = BPF_CORE_READ(sender, flags);

	e->sender_tgid = BPF_CORE_READ(sender, tgid);
	e->sender_tid = BPF_CORE_READ(sender, pid);
	e->sender_ppid = BPF_CORE_READ(sender, real_parent, tgid);
	e->sender_uid = BPF_CORE_READ(sender, real_cred, uid.val);
	e->sender_start_ns = BPF_CORE_READ(sender, group_leader, start_boottime);
	e->sender_cgroup_id = memcg_id(css_of_task(sender));
	BPF_CORE_READ_STR_INTO(&e->sender_comm, sender, group_leader, comm);
	BPF_CORE_READ_STR_INTO(&e->parent_comm, sender, real_parent, group_leader, comm);
	if (flags & PF_KTHREAD)
		e->flags |= EV_SIGNAL_KTHREAD;
	if (flags & PF_EXITING)
		e->flags |= EV_SIGNAL_EXITING;
	if (pid_nr_innermost(BPF_CORE_READ(sender, signal, pids[PIDTYPE_TGID])) == 1)
		e->flags |= EV_SIGNAL_NS_INIT;
}

/* It may be gone before user space looks: a shell that was started to kill. */
static __always_inline void sender_file(struct ev_signal *e, struct task_struct *sender)
{
	const unsigned char *name = BPF_CORE_READ(sender, mm, exe_file, f_path.dentry, d_name.name);

	if (name)
		bpf_probe_read_kernel_str(e->sender_file, sizeof(e->sender_file), name);
}

static __always_inline void sender_args(struct ev_signal *e, struct task_struct *sender)
{
	struct mm_struct *mm = BPF_CORE_READ(sender, mm);
	u64 start, len;

	if (!mm || e->hdr.time_ns - e->sender_start_ns > YOUNG_NS)
		return;
	start = BPF_CORE_READ(mm, arg_start);
	len = BPF_CORE_READ(mm, arg_end) - start;
	e->args_len = len;
	if (len >= EV_CMDLINE_LEN)
		len = EV_CMDLINE_LEN - 1;
	barrier_var(len);
	len &= EV_CMDLINE_LEN - 1;
	if (!bpf_probe_read_user(e->cmdline, len, (void *)start))
		e->cmdline_len = len;
}

static __always_inline void target_fill(struct ev_signal *e, struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	u32 i;

	e->tgid = BPF_CORE_READ(task, tgid);
	e->tid = BPF_CORE_READ(task, pid);
	e->ppid = BPF_CORE_READ(task, real_parent, tgid);
	e->uid = BPF_CORE_READ(task, real_cred, uid.val);
	e->ns_tgid = pid_nr_innermost(BPF_CORE_READ(signal, pids[PIDTYPE_TGID]));
	e->pgid = BPF_CORE_READ(signal, pids[PIDTYPE_PGID], numbers[0].nr);
	e->oom_score_adj = BPF_CORE_READ(signal, oom_score_adj);
	e->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	e->cgroup_id = memcg_id(css_of_task(task));
	BPF_CORE_READ_STR_INTO(&e->comm, task, group_leader, comm);
	for (i = 0; i < EV_RSS_COUNTERS && mm; i++)
		e->rss_pages[i] = rss_count(mm, i);
	if (e->ns_tgid == 1)
		e->flags |= EV_SIGNAL_TARGET_INIT;
	if (e->sender_ppid == e->tgid)
		e->flags |= EV_SIGNAL_PARENT;
}

/* Does the target descend from the sender? How far: 1 is its child; 0: no. */
__noinline int signal_kinship(u64 task_address, u32 sender)
{
	struct task_struct *task = (void *)task_address;
	u32 i;

	for (i = 1; i <= ANCESTORS; i++) {
		u32 tgid;

		task = BPF_CORE_READ(task, real_parent);
		tgid = BPF_CORE_READ(task, tgid);
		if (tgid == sender)
			return i;
		if (tgid <= 1)
			return 0;
	}
	return 0;
}

static __always_inline void limit_fill(struct ev_signal *e, struct task_struct *task)
{
	struct fullest_limit limit = fullest_limit_of(task);

	if (limit.v2)
		e->flags |= EV_SIGNAL_LIMIT_V2;
	if (!limit.css)
		return;
	e->flags |= EV_SIGNAL_LIMIT;
	e->limit_id = memcg_id(limit.css);
	e->limit_usage_pages = limit.usage;
	e->limit_max_pages = limit.max;
	e->limit_oom_kills = memcg_event(memcg_of_css(limit.css), memory_events, MEMCG_OOM_KILL);
}

static __always_inline void argument_fill(struct ev_signal *e)
{
	struct pt_regs *regs;

	if (!has_task_regs())
		return;
	regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	if (syscall_number(regs) != SYSCALL_KILL)
		return;
	e->flags |= EV_SIGNAL_ARGUMENT;
	e->argument = (s32)syscall_first(regs);
}

static __always_inline void info_fill(struct ev_signal *e, u64 info)
{
	struct kernel_siginfo *siginfo = (void *)info;

	if (info == SEND_SIG_PRIV)
		e->flags |= EV_SIGNAL_PRIV;
	else if (info == SEND_SIG_NOINFO)
		e->flags |= EV_SIGNAL_NOINFO;
	if (info == SEND_SIG_PRIV)
		e->code = 0x80; /* SI_KERNEL, as the kernel itself writes it down */
	if (info <= SEND_SIG_PRIV)
		return;
	e->code = BPF_CORE_READ(siginfo, si_code);
	if (e->signal != SIGNAL_KILL)
		e->address = (u64)BPF_CORE_READ(siginfo, _sifields._sigfault._addr);
	else if (e->code == 0)
		argument_fill(e);
}

/* Everything but the file of a fault. NULL: not told. */
static __always_inline struct ev_signal *signal_begin(
	int sig, u64 info, struct task_struct *task, int group, int result)
{
	struct task_struct *sender = (void *)bpf_get_current_task();
	u64 now = bpf_ktime_get_boot_ns(), began;
	struct ev_signal *e;
	u32 burst;
	int kin;

	burst = burst_take(bpf_get_current_pid_tgid() >> 32, now, &began);
	if (!burst || ring_is_busy() || !(e = bpf_ringbuf_reserve(&events, sizeof(*e), 0))) {
		drop_count(EV_DROP_SIGNAL);
		return NULL;
	}
	__builtin_memset(e, 0, offsetof(struct ev_signal, cmdline));
	hdr_fill(&e->hdr, sizeof(*e), EV_SIGNAL, 0);
	e->cmdline[0] = '\0';
	e->signal = sig;
	e->flags = group ? EV_SIGNAL_GROUP : 0;
	e->result = result;
	e->burst = burst;
	e->burst_ns = began;
	sender_fill(e, sender);
	sender_file(e, sender);
	sender_args(e, sender);
	target_fill(e, task);
	info_fill(e, info);
	limit_fill(e, task);
	if (sig == SIGNAL_KILL)
		term_fill(e);
	kin = signal_kinship(address_of(task), e->sender_tgid);
	if (kin && e->tgid != e->sender_tgid)
		e->flags |=
			kin == 1 ? EV_SIGNAL_CHILD | EV_SIGNAL_DESCENDANT : EV_SIGNAL_DESCENDANT;
	return e;
}

/* --- the file that a fault was in --- */

/* A percpu_counter, summed: what each CPU has not handed in may be all that matters. */
__noinline u64 counter_sum(u64 address)
{
	u64 counters = 0;
	s64 sum = 0;
	u32 cpu;

	bpf_probe_read_kernel(&sum, sizeof(sum),
		(void *)address + bpf_core_field_offset(struct percpu_counter, count));
	bpf_probe_read_kernel(&counters, sizeof(counters),
		(void *)address + bpf_core_field_offset(struct percpu_counter, counters));
	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		u32 key = cpu;
		u64 *offset;
		s32 part = 0;

		if (cpu >= cpu_count)
			break;
		offset = bpf_map_lookup_elem(&percpu_offsets, &key);
		if (!offset || !*offset)
			return EV_UNKNOWN;
		bpf_probe_read_kernel(&part, sizeof(part), (void *)(counters + *offset));
		sum += part;
	}
	return sum > 0 ? sum : 0;
}

static __always_inline void tmpfs_fill(struct ev_signal *e, struct super_block *sb)
{
	struct shmem_sb_info *info = BPF_CORE_READ(sb, s_fs_info);
	u64 used;

	e->tmpfs_max_blocks = BPF_CORE_READ(info, max_blocks);
	if (!e->tmpfs_max_blocks)
		return;
	used = counter_sum(
		address_of(info) + bpf_core_field_offset(struct shmem_sb_info, used_blocks));
	if (used == EV_UNKNOWN)
		return;
	e->tmpfs_used_blocks = used;
	e->flags |= EV_SIGNAL_BLOCKS;
}

static __always_inline void mapping_fill(struct ev_signal *e, struct task_struct *task)
{
	struct vm_area_struct *vma = vma_at(task, e->address);
	struct file *file = vma ? BPF_CORE_READ(vma, vm_file) : NULL;
	struct super_block *sb;
	const unsigned char *name;

	if (!vma)
		return;
	if (!file) {
		e->flags |= EV_SIGNAL_MAPPING_ANON;
		return;
	}
	sb = BPF_CORE_READ(file, f_inode, i_sb);
	e->flags |= EV_SIGNAL_MAPPING;
	e->mapping_magic = BPF_CORE_READ(sb, s_magic);
	e->mapping_dev = BPF_CORE_READ(sb, s_dev);
	e->mapping_bytes = BPF_CORE_READ(file, f_inode, i_size);
	e->mapping_pgoff = BPF_CORE_READ(vma, vm_pgoff);
	e->mapping_offset = e->address - BPF_CORE_READ(vma, vm_start);
	name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
	if (name)
		bpf_probe_read_kernel_str(e->mapping_name, sizeof(e->mapping_name), name);
	if (e->mapping_magic == TMPFS_MAGIC)
		tmpfs_fill(e, sb);
}

/* --- the hook --- */

/* Is this one to be told? */
static __always_inline bool signal_kills(int sig, u64 info, struct task_struct *task, int result)
{
	if (sig == SIGNAL_KILL) {
		if (info == SEND_SIG_PRIV && oom_signalled(task))
			return false;
		return kills_traced && takes_effect(task, result);
	}
	return kills_traced && fault_kills(sig, info, task);
}

SEC("?tp_btf/signal_generate")
int BPF_PROG(signal_tp, int sig, struct kernel_siginfo *info, struct task_struct *task, int group,
	int result)
{
	struct ev_signal *e;

	if (!(SIGNALS_TAKEN >> (sig & 63) & 1))
		return 0;
	if (sig == SIGNAL_TERM) {
		if (kills_traced)
			term_remember(task, task->tgid);
		return 0;
	}
	if (!signal_kills(sig, address_of(info), task, result))
		return 0;
	e = signal_begin(sig, address_of(info), task, group, result);
	if (!e)
		return 0;
	if (sig != SIGNAL_KILL)
		mapping_fill(e, task);
	bpf_ringbuf_submit(e, wake_flag(true));
	return 0;
}
