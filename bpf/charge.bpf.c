// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * charge.bpf.c: what processes charge to their memory cgroups.
 *
 * page_counter_try_charge() runs once per 64 pages charged (MEMCG_CHARGE_BATCH: what is left over
 * waits on the CPU for the next), for all levels at once, in the task that asks. That makes it the
 * sampler that may stay on: the counters of the asking process are looked at in the same step.
 */
#include "recorder.bpf.h"

/* Is this the memory counter of the current task's own memcg? Its id then, else 0. There are
 * others: swap, memory+swap, kernel memory, huge pages, and those of whoever a page is charged to
 * on somebody's behalf. */
static __always_inline u64 own_memcg(const struct page_counter *counter)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct cgroup_subsys_state *css = css_of_task(task);
	struct mem_cgroup *memcg = memcg_of_css(css);

	if (!memcg || BPF_CORE_READ(task, flags) & PF_KTHREAD)
		return 0;
	if ((const void *)counter !=
		(void *)memcg + bpf_core_field_offset(struct mem_cgroup, memory))
		return 0;
	return memcg_id(css);
}

static __always_inline int charged(const struct page_counter *counter, u64 pages)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u64 memcg = own_memcg(counter);
	struct cgroup_count fresh = {.charged_pages = pages}, *cgroup;
	struct process_count *process;

	if (!memcg)
		return 0;
	cgroup = bpf_map_lookup_elem(&cgroup_counts, &memcg);
	if (cgroup)
		__sync_fetch_and_add(&cgroup->charged_pages, pages);
	else
		bpf_map_update_elem(&cgroup_counts, &memcg, &fresh, BPF_NOEXIST);
	process = process_count_get(bpf_get_current_pid_tgid() >> 32,
		BPF_CORE_READ(task, group_leader, start_boottime));
	if (process)
		__sync_fetch_and_add(&process->charged_pages, pages);
	return sample_current(EV_SAMPLE_CHARGES);
}

/* The kernel's function gives back a bool: the rest of the register is not told to be anything. */
SEC("?fexit/page_counter_try_charge")
int BPF_PROG(charge_fexit, struct page_counter *counter, unsigned long pages,
	struct page_counter **fail, unsigned long done)
{
	if (done & 0xff)
		charged(counter, pages);
	return 0;
}

/* At its entry what comes of it is not known: work it out as the function does. A counter near its
 * limit is asked for 64 pages first and then for one, at every page. */
static __always_inline bool has_room(const struct page_counter *counter, u64 pages)
{
	u32 i;

	for (i = 0; i < EV_MAX_LEVELS && counter; i++) {
		u64 usage = BPF_CORE_READ(counter, usage.counter);

		if (usage + pages > BPF_CORE_READ(counter, max))
			return false;
		counter = BPF_CORE_READ(counter, parent);
	}
	return true;
}

SEC("?kprobe/page_counter_try_charge")
int BPF_KPROBE(charge_kprobe, struct page_counter *counter, unsigned long pages)
{
	if (has_room(counter, pages))
		charged(counter, pages);
	return 0;
}
