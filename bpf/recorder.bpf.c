// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * recorder.bpf.c: the flight recorder's pass: every process and every memory cgroup that has one,
 * in one read of an iterator.
 *
 * A pass runs once a second on every machine, so it follows typed pointers where the iterator gives
 * them (a load each) instead of calling bpf_probe_read_kernel() for every field.
 */
#include "recorder.bpf.h"

/* Set before each pass. */
__u64 pass_number = 0;
__u64 pass_ns = 0;

#define WALKED_THREADS 32

/* Verifiers of kernels with atomic counters follow no typed pointer into an array of them. */
static __always_inline void rss_typed(struct ev_sample *e, struct mm_struct *mm)
{
	u32 i;

	if (rss_is_percpu()) {
		for (i = 0; i < EV_RSS_COUNTERS; i++)
			e->rss_pages[i] = mm->rss_stat[i].count;
		return;
	}
	bpf_probe_read_kernel(e->rss_pages, sizeof(e->rss_pages),
		(const void *)mm +
			bpf_core_field_offset(struct mm_struct___atomic, rss_stat.count));
}

/*
 * Page faults and bytes read and written by the process in hand: what its ended threads left with
 * the signal structure, and what each living one counts. Here, since a global function can hand
 * back one number only; passes do not overlap.
 */
__u64 threads_faults = 0;
__u64 threads_io_bytes = 0;

struct flt_pair {
	u64 min_flt, maj_flt;
};

struct io_pair {
	u64 rchar, wchar;
};

static __always_inline void thread_add(const void *task)
{
	struct flt_pair faults = {};
	struct io_pair io = {};

	bpf_probe_read_kernel(
		&faults, sizeof(faults), task + bpf_core_field_offset(struct task_struct, min_flt));
	threads_faults += faults.min_flt + faults.maj_flt;
	if (!task_has_io())
		return;
	bpf_probe_read_kernel(
		&io, sizeof(io), task + bpf_core_field_offset(struct task_struct, ioac.rchar));
	threads_io_bytes += io.rchar + io.wchar;
}

/* Threads but the leader, which is added already. */
__noinline int threads_add(u64 leader_address)
{
	struct task_struct *leader = (void *)leader_address;
	const void *head, *node, *thread;
	u32 i;

	head = (const void *)BPF_CORE_READ(leader, signal) +
	       bpf_core_field_offset(struct signal_struct, thread_head);
	if (bpf_probe_read_kernel(&node, sizeof(node), head))
		return 0;
	for (i = 0; i < WALKED_THREADS; i++) {
		if (node == head)
			break;
		thread = node - bpf_core_field_offset(struct task_struct, thread_node);
		if (thread != leader)
			thread_add(thread);
		if (bpf_probe_read_kernel(&node, sizeof(node), node))
			break;
	}
	return 0;
}

static __always_inline void sample_threads(struct ev_sample *e, struct task_struct *task)
{
	struct signal_struct *signal = task->signal;
	u32 threads = signal->nr_threads;

	if (threads > WALKED_THREADS) {
		e->faults = EV_UNKNOWN;
		e->io_bytes = EV_UNKNOWN;
		return;
	}
	threads_faults = signal->min_flt + signal->maj_flt + task->min_flt + task->maj_flt;
	if (task_has_io())
		threads_io_bytes = signal->ioac.rchar + signal->ioac.wchar + task->ioac.rchar +
				   task->ioac.wchar;
	if (threads > 1)
		threads_add(address_of(task));
	e->faults = threads_faults;
	e->io_bytes = task_has_io() ? threads_io_bytes : EV_UNKNOWN;
}

static __always_inline void sample_counts(struct ev_sample *e)
{
	struct process_count *count = NULL;
	u32 tgid = e->tgid;

	if (counting)
		count = bpf_map_lookup_elem(&process_counts, &tgid);
	if (count && count->start_ns != e->start_ns)
		count = NULL;
	/* Whoever is not in the table has not been met: it has copied and charged nothing there. */
	e->copied_pages = !copies_counted ? EV_UNKNOWN : count ? count->copied_pages : 0;
	e->charged_pages = !charges_counted ? EV_UNKNOWN : count ? count->charged_pages : 0;
}

static __always_inline void sample_flags(struct ev_sample *e, struct task_struct *task)
{
	struct signal_struct *signal = task->signal;

	if (task->flags & PF_FORKNOEXEC) /* of the leader: a thread has it from its creator */
		e->flags |= EV_TASK_FORKED;
	if (signal->oom_mm)
		e->flags |= EV_TASK_OOM_VICTIM;
	if (signal->flags & SIGNAL_GROUP_EXIT)
		e->flags |= EV_TASK_EXITING;
	if (!rss_is_percpu())
		e->flags |= EV_TASK_RSS_SPLIT;
}

/* The leader has ended and others of its threads go on. */
static __always_inline void sample_orphans(struct ev_sample *e, struct task_struct *task)
{
	struct mm_struct *mm = (void *)process_mm(address_of(task));
	u32 i;

	e->mm = (u64)mm;
	if (!mm) {
		e->flags |= EV_TASK_NO_MM;
		return;
	}
	for (i = 0; i < EV_RSS_COUNTERS; i++)
		e->rss_pages[i] = rss_count(mm, i);
	e->pgtables_bytes = BPF_CORE_READ(mm, pgtables_bytes.counter);
}

static __always_inline void sample_memory(struct ev_sample *e, struct task_struct *task)
{
	struct mm_struct *mm = task->mm;

	if (!mm) {
		sample_orphans(e, task);
		return;
	}
	e->mm = (u64)mm;
	rss_typed(e, mm);
	e->pgtables_bytes = mm->pgtables_bytes.counter;
}

static __always_inline void sample_typed(
	struct ev_sample *e, struct task_struct *task, struct cgroup_subsys_state *css)
{
	e->hdr.len = sizeof(*e);
	e->hdr.kind = EV_SAMPLE;
	e->hdr.version = EV_VERSION;
	e->hdr.time_ns = pass_ns;
	e->why = EV_SAMPLE_CENSUS;
	e->tgid = task->tgid;
	e->ppid = task->real_parent->tgid;
	e->oom_score_adj = task->signal->oom_score_adj;
	e->start_ns = task->start_boottime;
	e->cgroup_id = memcg_id(css);
	sample_flags(e, task);
	sample_memory(e, task);
	sample_threads(e, task);
	sample_counts(e);
	__builtin_memcpy(e->comm, task->comm, sizeof(e->comm));
}

static __always_inline void usage_fill(struct ev_usage *e, struct cgroup_subsys_state *css,
	struct mem_cgroup *memcg, u64 charged_pages)
{
	struct cgroup_subsys_state *parent = BPF_CORE_READ(css, parent);

	e->hdr.len = sizeof(*e);
	e->hdr.kind = EV_USAGE;
	e->hdr.version = EV_VERSION;
	e->hdr.time_ns = pass_ns;
	e->id = memcg_id(css);
	e->parent_id = memcg_id(parent);
	if (!parent)
		e->flags |= EV_LEVEL_ROOT;
	if (!memory_hierarchy)
		e->flags |= EV_LEVEL_V2;
	e->usage_pages = BPF_CORE_READ(memcg, memory.usage.counter);
	e->max_pages = BPF_CORE_READ(memcg, memory.max);
	e->high_pages = counter_high(&memcg->memory);
	e->swap_usage_pages = BPF_CORE_READ(memcg, swap.usage.counter);
	e->swap_max_pages = BPF_CORE_READ(memcg, swap.max);
	e->failcnt = BPF_CORE_READ(memcg, memory.failcnt);
	e->events[EV_EVENT_LOW] = memcg_event(memcg, memory_events, MEMCG_LOW);
	e->events[EV_EVENT_HIGH] = memcg_event(memcg, memory_events, MEMCG_HIGH);
	e->events[EV_EVENT_MAX] = memcg_event(memcg, memory_events, MEMCG_MAX);
	e->events[EV_EVENT_OOM] = memcg_event(memcg, memory_events, MEMCG_OOM);
	e->events[EV_EVENT_OOM_KILL] = memcg_event(memcg, memory_events, MEMCG_OOM_KILL);
	e->events[EV_EVENT_OOM_GROUP_KILL] =
		memcg_event(memcg, memory_events, MEMCG_OOM_GROUP_KILL);
	e->charged_pages = charges_counted ? charged_pages : EV_UNKNOWN;
}

/*
 * One level, unless this pass has told it; false then. What a process told itself is told again:
 * when the buffer of a read is full, the kernel throws away what the last process wrote and runs
 * the program for it once more.
 */
static __noinline bool usage_tell(struct seq_file *seq, u64 css_address, u32 tgid)
{
	struct cgroup_subsys_state *css = (void *)css_address;
	u64 key = memcg_id(css);
	struct cgroup_count fresh = {.pass = pass_number, .told_by = tgid}, *count;
	struct ev_usage e = {};
	u64 charged_pages = 0;

	count = bpf_map_lookup_elem(&cgroup_counts, &key);
	if (!count) {
		bpf_map_update_elem(&cgroup_counts, &key, &fresh, BPF_ANY);
	} else if (count->pass == pass_number && count->told_by != tgid) {
		return false;
	} else {
		count->pass = pass_number;
		count->told_by = tgid;
		charged_pages = count->charged_pages;
	}
	usage_fill(&e, css, memcg_of_css(css), charged_pages);
	bpf_seq_write(seq, &e, sizeof(e));
	return true;
}

/* The leader stands for its process. */
SEC("?iter/task")
int recorder_iter(struct bpf_iter__task *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *task = ctx->task;
	struct cgroup_subsys_state *css;
	struct ev_sample e;
	u32 i;

	if (!task || task->pid != task->tgid || task->flags & PF_KTHREAD)
		return 0;
	__builtin_memset(&e, 0, sizeof(e));
	css = css_of_set(task->cgroups);
	sample_typed(&e, task, css);
	bpf_seq_write(seq, &e, sizeof(e));
	for (i = 0; i < EV_MAX_LEVELS && css; i++) {
		if (!usage_tell(seq, (u64)css, e.tgid))
			break;
		css = BPF_CORE_READ(css, parent);
	}
	return 0;
}
