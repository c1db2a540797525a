// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kill.bpf.c: the OOM kill itself: who asked, who was weighed, who was chosen, who was marked or
 * signalled.
 *
 * Each purpose has several programs of which the loader takes one; the work is in the functions
 * they share. Order within one invocation (mm/oom_kill.c): out_of_memory > oom_evaluate_task … >
 * oom_kill_process > signal_generate > mark_victim > signal_generate for processes that share the
 * memory > out_of_memory returns.
 */
#include "common.bpf.h"

/* A limit with nobody to kill is told in full once in this time. */
#define NO_KILL_GAP_NS 1000000000ULL

#define level_event(e, memcg, slot, name)                                                          \
	((e)->events[slot] = memcg_event(memcg, memory_events, name),                              \
		(e)->events_local[slot] = memcg_event(memcg, memory_events_local, name))

static __always_inline void level_fill_counters(struct ev_level *e, struct mem_cgroup *memcg)
{
	struct page_counter *memory =
		(void *)memcg + bpf_core_field_offset(struct mem_cgroup, memory);
	struct page_counter *swap = (void *)memcg + bpf_core_field_offset(struct mem_cgroup, swap);

	e->usage_pages = BPF_CORE_READ(memory, usage.counter);
	e->max_pages = BPF_CORE_READ(memory, max);
	e->high_pages = counter_high(memory);
	e->min_pages = BPF_CORE_READ(memory, min);
	e->low_pages = BPF_CORE_READ(memory, low);
	e->watermark_pages = BPF_CORE_READ(memory, watermark);
	e->failcnt = BPF_CORE_READ(memory, failcnt);
	e->swap_usage_pages = BPF_CORE_READ(swap, usage.counter);
	e->swap_max_pages = BPF_CORE_READ(swap, max);
	e->kmem_usage_pages = memcg_kmem_pages(memcg);
	level_event(e, memcg, EV_EVENT_LOW, MEMCG_LOW);
	level_event(e, memcg, EV_EVENT_HIGH, MEMCG_HIGH);
	level_event(e, memcg, EV_EVENT_MAX, MEMCG_MAX);
	level_event(e, memcg, EV_EVENT_OOM, MEMCG_OOM);
	level_event(e, memcg, EV_EVENT_OOM_KILL, MEMCG_OOM_KILL);
	level_event(e, memcg, EV_EVENT_OOM_GROUP_KILL, MEMCG_OOM_GROUP_KILL);
}

__noinline int level_send(u64 css_address, u64 limit_id, u32 role, u32 index)
{
	struct cgroup_subsys_state *css = (void *)css_address;
	struct mem_cgroup *memcg = memcg_of_css(css);
	struct ev_level *e;
	const char *name;

	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		drop_count(EV_DROP_INCIDENT);
		return 0;
	}
	hdr_fill(&e->hdr, sizeof(*e), EV_LEVEL, scope.number);
	e->role = role;
	e->index = index;
	e->flags = 0;
	e->id = memcg_id(css);
	e->swappiness = memcg_swappiness(memcg);
	level_fill_counters(e, memcg);
	if (!BPF_CORE_READ(css, parent))
		e->flags |= EV_LEVEL_ROOT;
	if (BPF_CORE_READ(css, cgroup, root, hierarchy_id) == 0)
		e->flags |= EV_LEVEL_V2;
	if (BPF_CORE_READ(memcg, oom_group))
		e->flags |= EV_LEVEL_OOM_GROUP;
	if (limit_id && e->id == limit_id)
		e->flags |= EV_LEVEL_LIMIT_HERE;
	e->name[0] = '\0';
	name = BPF_CORE_READ(css, cgroup, kn, name);
	if (name)
		bpf_probe_read_kernel_str(e->name, sizeof(e->name), name);
	bpf_ringbuf_submit(e, wake_flag(false));
	return 0;
}

/* Every level from a cgroup to the root, leaf first. */
__noinline int levels_send(u64 css_address, u64 limit_id, u32 role)
{
	struct cgroup_subsys_state *css = (void *)css_address;
	u32 i;

	for (i = 0; i < EV_MAX_LEVELS && css; i++) {
		level_send(address_of(css), limit_id, role, i);
		css = BPF_CORE_READ(css, parent);
	}
	return 0;
}

__noinline int count_send(u64 css_address, u32 number)
{
	struct cgroup_subsys_state *css = (void *)css_address;
	struct mem_cgroup *memcg = memcg_of_css(css);
	struct ev_kill_count *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e) {
		drop_count(EV_DROP_INCIDENT);
		return 0;
	}
	hdr_fill(&e->hdr, sizeof(*e), EV_KILL_COUNT, number);
	e->id = memcg_id(css);
	e->oom_kill = memcg_event(memcg, memory_events, MEMCG_OOM_KILL);
	e->oom_group_kill = memcg_event(memcg, memory_events, MEMCG_OOM_GROUP_KILL);
	e->oom_kill_local = memcg_event(memcg, memory_events_local, MEMCG_OOM_KILL);
	e->oom_group_kill_local = memcg_event(memcg, memory_events_local, MEMCG_OOM_GROUP_KILL);
	bpf_ringbuf_submit(e, wake_flag(false));
	return 0;
}

/* What the kernel has counted as killed by now, on every level from a cgroup to the root. */
__noinline int counts_send(u64 css_address, u32 number)
{
	struct cgroup_subsys_state *css = (void *)css_address;
	u32 i;

	for (i = 0; i < EV_MAX_LEVELS && css; i++) {
		count_send(address_of(css), number);
		css = BPF_CORE_READ(css, parent);
	}
	return 0;
}

/* Is memory.oom.group set on the way from a cgroup to the root? The kernel looks no further than
 * the limit's level. */
__noinline int chain_has_group(u64 css_address)
{
	struct cgroup_subsys_state *css = (void *)css_address;
	u32 i;

	for (i = 0; i < EV_MAX_LEVELS && css; i++) {
		struct mem_cgroup *memcg = memcg_of_css(css);

		if (BPF_CORE_READ(css, parent) && BPF_CORE_READ(memcg, oom_group))
			return 1;
		css = BPF_CORE_READ(css, parent);
	}
	return 0;
}

static __always_inline void scope_begin(u64 owner, u64 oc)
{
	last_number++;
	scope.number = last_number;
	scope.owner = owner;
	scope.oc = oc;
	scope.css = 0;
	scope.last_mm = 0;
	scope.last_ns = 0;
	scope.open = true;
	scope.context_sent = false;
	scope.killed = false;
	scope.marked = false;
	scope.group = false;
	scope.candidates = 0;
}

/* Inside out_of_memory() without a hook on its entry: the first thing seen of an invocation opens
 * it. */
static __always_inline void scope_ensure(struct oom_control *oc)
{
	u64 owner = bpf_get_current_pid_tgid();

	if (scope.open && scope.owner == owner && scope.oc == (u64)oc && !scope.killed)
		return;
	scope_begin(owner, address_of(oc));
}

static __always_inline void context_fill_oc(struct ev_context *e, struct oom_control *oc)
{
	nodemask_t *nodemask = (void *)BPF_CORE_READ(oc, nodemask);

	e->flags |= EV_CONTEXT_OC;
	e->constraint = BPF_CORE_READ(oc, constraint);
	e->limit_cgroup_id = memcg_id(css_of_memcg(BPF_CORE_READ(oc, memcg)));
	e->totalpages = BPF_CORE_READ(oc, totalpages);
	e->chosen_points = BPF_CORE_READ(oc, chosen_points);
	e->gfp_mask = BPF_CORE_READ(oc, gfp_mask);
	e->order = BPF_CORE_READ(oc, order);
	if (nodemask)
		bpf_probe_read_kernel(&e->nodemask, sizeof(e->nodemask), nodemask);
}

/* Who asked and why; then the chain of memcgs of `victim`, or of the limit where nobody was chosen.
 */
__noinline int context_send(u64 oc_address, u64 message_address, u64 victim_address)
{
	struct oom_control *oc = (void *)oc_address;
	struct task_struct *victim = (void *)victim_address;
	const char *message = (void *)message_address;
	struct task_struct *current = (void *)bpf_get_current_task();
	struct cgroup_subsys_state *css, *own = css_of_task(current);
	struct ev_context *e;
	u64 limit_id = 0;

	css = victim ? css_of_task(victim) : oc ? css_of_memcg(BPF_CORE_READ(oc, memcg)) : NULL;
	scope.context_sent = true;
	scope.css = address_of(css);
	scope.group = chain_has_group(address_of(css));
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		drop_count(EV_DROP_INCIDENT);
		return 0;
	}
	__builtin_memset(e, 0, sizeof(*e));
	hdr_fill(&e->hdr, sizeof(*e), EV_CONTEXT, scope.number);
	e->nodemask = EV_UNKNOWN;
	e->mems_allowed = mems_allowed_of(current);
	e->policy_nodes = policy_nodes_of(current);
	e->tgid = BPF_CORE_READ(current, tgid);
	e->tid = BPF_CORE_READ(current, pid);
	e->uid = BPF_CORE_READ(current, real_cred, uid.val);
	e->oom_score_adj = BPF_CORE_READ(current, signal, oom_score_adj);
	e->start_ns = BPF_CORE_READ(current, group_leader, start_boottime);
	e->cgroup_id = memcg_id(own);
	BPF_CORE_READ_STR_INTO(&e->comm, current, comm);
	if (BPF_CORE_READ(current, flags) & PF_KTHREAD)
		e->flags |= EV_CONTEXT_KTHREAD;
	if (scope.group)
		e->flags |= EV_CONTEXT_GROUP;
	if (oc)
		context_fill_oc(e, oc);
	if (message)
		bpf_probe_read_kernel_str(e->message, sizeof(e->message), message);
	limit_id = e->limit_cgroup_id;
	bpf_ringbuf_submit(e, wake_flag(false));

	levels_send(address_of(css), limit_id, victim ? EV_LEVEL_VICTIM : EV_LEVEL_LIMIT);
	if (own && own != css)
		levels_send(address_of(own), limit_id, EV_LEVEL_TRIGGER);
	return 0;
}

/* --- out_of_memory(): the bounds of one invocation --- */

static __always_inline int oom_enter(struct oom_control *oc)
{
	scope_begin(bpf_get_current_pid_tgid(), address_of(oc));
	return 0;
}

/* A limit with nobody to kill is asked for again and again: 70 times a second and more. */
static __always_inline bool no_kill_told(u64 limit, u64 now)
{
	if (scope.no_kill_told_ns && scope.no_kill_limit == limit &&
		now - scope.no_kill_told_ns < NO_KILL_GAP_NS) {
		scope.no_kill_suppressed++;
		return false;
	}
	scope.no_kill_limit = limit;
	scope.no_kill_told_ns = now;
	return true;
}

static __always_inline u32 end_choice(struct oom_control *oc, bool returned)
{
	u64 chosen = (u64)BPF_CORE_READ(oc, chosen);

	if (chosen == (u64)-1)
		return EV_END_ABORTED;
	if (chosen)
		return EV_END_CHOSEN;
	return returned ? EV_END_FREEING : EV_END_NONE;
}

static __noinline int oom_leave(struct oom_control *oc, bool returned)
{
	u64 owner = bpf_get_current_pid_tgid(), limit;
	u32 choice, suppressed = 0;
	struct ev_end *e;

	if (!scope.open || scope.owner != owner || !oc)
		return 0;
	choice = end_choice(oc, returned);
	scope.open = false;
	if (choice == EV_END_FREEING && !scope.marked)
		return 0;
	limit = memcg_id(css_of_memcg(BPF_CORE_READ(oc, memcg)));
	if (choice == EV_END_NONE) {
		suppressed = scope.no_kill_suppressed;
		if (no_kill_told(limit, bpf_ktime_get_boot_ns())) {
			scope.no_kill_suppressed = 0;
			candidates_send();
			context_send(address_of(oc), 0, 0);
		}
	}
	if (scope.marked)
		counts_send(scope.css, scope.number);
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		drop_count(EV_DROP_INCIDENT);
		return 0;
	}
	hdr_fill(&e->hdr, sizeof(*e), EV_END, scope.number);
	e->choice = choice;
	e->returned = returned;
	e->killed = scope.killed;
	e->suppressed = suppressed;
	e->limit_cgroup_id = limit;
	bpf_ringbuf_submit(e, wake_flag(choice != EV_END_ABORTED));
	return 0;
}

SEC("?fentry/out_of_memory")
int BPF_PROG(scope_enter_fentry, struct oom_control *oc)
{
	return oom_enter(oc);
}

SEC("?fexit/out_of_memory")
int BPF_PROG(scope_leave_fexit, struct oom_control *oc, bool ret)
{
	return oom_leave(oc, ret);
}

SEC("?kprobe/out_of_memory")
int BPF_KPROBE(scope_enter_kprobe, struct oom_control *oc)
{
	return oom_enter(oc);
}

SEC("?kretprobe/out_of_memory")
int BPF_KRETPROBE(scope_leave_kretprobe, int ret)
{
	return oom_leave((struct oom_control *)scope.oc, ret & 0xff);
}

/* --- the scan: every process that the kernel weighs --- */

static __always_inline int candidate_seen(struct task_struct *task, u64 totalpages)
{
	/* A global scan passes kernel threads, too; they hold no memory of their own. */
	if (BPF_CORE_READ(task, flags) & PF_KTHREAD)
		return 0;
	candidate_hold(address_of(task), totalpages);
	return 0; /* a constant: fentry may return nothing else */
}

static __always_inline int candidate_evaluated(struct task_struct *task, struct oom_control *oc)
{
	if (!scope_hooked)
		scope_ensure(oc);
	return candidate_seen(task, BPF_CORE_READ(oc, totalpages));
}

/* oom_badness() also serves every read of /proc/PID/oom_score: only what runs inside
 * out_of_memory() counts. */
static __always_inline int candidate_weighed(struct task_struct *task, u64 totalpages)
{
	if (!scope.open || scope.owner != bpf_get_current_pid_tgid())
		return 0;
	return candidate_seen(task, totalpages);
}

SEC("?fentry/oom_evaluate_task")
int BPF_PROG(candidate_fentry, struct task_struct *task, void *arg)
{
	return candidate_evaluated(task, arg);
}

SEC("?kprobe/oom_evaluate_task")
int BPF_KPROBE(candidate_kprobe, struct task_struct *task, void *arg)
{
	return candidate_evaluated(task, arg);
}

SEC("?fentry/oom_badness")
int BPF_PROG(badness_fentry, struct task_struct *task, unsigned long totalpages)
{
	return candidate_weighed(task, totalpages);
}

SEC("?kprobe/oom_badness")
int BPF_KPROBE(badness_kprobe, struct task_struct *task, unsigned long totalpages)
{
	return candidate_weighed(task, totalpages);
}

/* GCC splits the function on some kernels and calls only the part from the scan: a hook on the
 * whole never fires. */
SEC("?kprobe/oom_badness.part.0")
int BPF_KPROBE(badness_part_kprobe, struct task_struct *task, unsigned long totalpages)
{
	return candidate_weighed(task, totalpages);
}

/* --- oom_kill_process(): somebody was chosen --- */

static __always_inline int kill_chosen(struct oom_control *oc, const char *message)
{
	struct task_struct *chosen = BPF_CORE_READ(oc, chosen);

	if (!scope_hooked || !scope.open)
		scope_ensure(oc);
	scope.killed = true;
	candidates_send();
	context_send(address_of(oc), address_of(message), address_of(chosen));
	task_send(address_of(chosen), EV_ROLE_CHOSEN, 0, BPF_CORE_READ(oc, totalpages));
	return 0;
}

SEC("?fentry/oom_kill_process")
int BPF_PROG(kill_fentry, struct oom_control *oc, const char *message)
{
	return kill_chosen(oc, message);
}

SEC("?kprobe/oom_kill_process")
int BPF_KPROBE(kill_kprobe, struct oom_control *oc, const char *message)
{
	return kill_chosen(oc, message);
}

/* --- mark_oom_victim(): this one dies --- */

/*
 * Does this mark belong to the invocation seen last? Where out_of_memory() or oom_kill_process() is
 * hooked, they say so. With the tracepoint alone one thread marks several processes only when
 * memory.oom.group takes them together.
 */
static __always_inline bool mark_continues(u64 owner, u64 now)
{
	if (!scope.open || scope.owner != owner)
		return false;
	if (scope_hooked || (scope.killed && !scope.marked))
		return true;
	return scope.marked && scope.group && now - scope.last_ns < GROUP_GAP_NS;
}

static __noinline int victim_marked(struct task_struct *task)
{
	u64 owner = bpf_get_current_pid_tgid(), now = bpf_ktime_get_boot_ns();
	struct last_signal *signal;
	struct mm_struct *mm;
	u32 zero = 0, flags = 0;

	if (!task)
		return 0;
	if (!mark_continues(owner, now))
		scope_begin(owner, 0);
	if (!scope.context_sent)
		context_send(0, 0, address_of(task));
	mm = (void *)process_mm(address_of(task));
	scope.marked = true;
	scope.last_mm = (u64)mm;
	scope.last_ns = now;
	signal = bpf_map_lookup_elem(&last_signals, &zero);
	if (signal && signal->sender == owner && signal->target == (u32)BPF_CORE_READ(task, tgid))
		flags = EV_TASK_SIGNALLED;
	victim_track(task, mm);
	task_send(address_of(task), EV_ROLE_VICTIM, flags, EV_UNKNOWN);
	return 0;
}

SEC("?tp_btf/mark_victim")
int BPF_PROG(victim_tp, struct task_struct *task, uid_t uid)
{
	return victim_marked(task);
}

SEC("?fentry/mark_oom_victim")
int BPF_PROG(victim_fentry, struct task_struct *task)
{
	return victim_marked(task);
}

SEC("?kprobe/mark_oom_victim")
int BPF_KPROBE(victim_kprobe, struct task_struct *task)
{
	return victim_marked(task);
}

/*
 * The old shape of the tracepoint has only a thread id. Whoever is killed was signalled just
 * before, and signal_generate had the task; without that hook all else is for user space to look up
 * in what it learnt.
 */
SEC("?tp_btf/mark_victim")
int BPF_PROG(victim_tp_pid, int pid)
{
	u64 owner = bpf_get_current_pid_tgid(), now = bpf_ktime_get_boot_ns();
	struct task_struct *current = (void *)bpf_get_current_task();
	struct last_signal *signal;
	struct ev_task *e;
	u32 key = pid, zero = 0;

	if (BPF_CORE_READ(current, pid) == pid)
		return victim_marked(current);
	signal = bpf_map_lookup_elem(&last_signals, &zero);
	if (signal && signal->sender == owner) {
		struct task_struct *task = (void *)signal->task;

		if (BPF_CORE_READ(task, pid) == pid)
			return victim_marked(task);
	}
	if (!mark_continues(owner, now))
		scope_begin(owner, 0);
	if (!scope.context_sent)
		context_send(0, 0, address_of(current));
	scope.marked = true;
	scope.last_ns = now;
	bpf_map_update_elem(&killed_tgids, &key, &scope.number, BPF_ANY);
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		drop_count(EV_DROP_INCIDENT);
		return 0;
	}
	__builtin_memset(e, 0, sizeof(*e));
	hdr_fill(&e->hdr, sizeof(*e), EV_TASK, scope.number);
	e->role = EV_ROLE_VICTIM;
	e->flags = EV_TASK_PARTIAL;
	e->tgid = e->tid = pid;
	e->start_ns = e->pgtables_bytes = e->total_vm_pages = e->totalpages = EV_UNKNOWN;
	bpf_ringbuf_submit(e, wake_flag(true));
	return 0;
}
