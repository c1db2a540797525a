// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * census.bpf.c: every process with all badness inputs, in one read of an iterator. Gives the
 * candidates where the kernel's own scan cannot be watched, and fills the tables at the start.
 */
#include "common.bpf.h"

/* Set before each read: only processes below this memcg (0: all), with exact sums or without. */
__u64 census_domain = 0;
bool census_exact = false;

/*
 * A per-CPU pointer is an offset to which each CPU adds its own distance. The distances are
 * measured on a per-CPU map of our own: bpf_map_lookup_percpu_elem() gives its address on one CPU,
 * bpf_array.pptrs the pointer that it started from. Both are taken as plain bytes from the stack,
 * since the verifier allows no arithmetic on pointers of different kinds. This needs no kallsyms:
 * reading them costs more than all else at start, and not every kernel lists variables there. The
 * helper came with 5.19; before, RSS is not counted per CPU (6.2), but the blocks of a tmpfs are.
 */
static __always_inline void percpu_offsets_fill(void)
{
	const void *map = &last_signals, *own;
	u64 array = 0, from = 0, to = 0, distance;
	u32 cpu, zero = 0;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_map_lookup_percpu_elem))
		return;
	bpf_probe_read_kernel(&array, sizeof(array), &map);
	bpf_probe_read_kernel(&from, sizeof(from),
		(void *)(array + bpf_core_field_offset(struct bpf_array, pptrs)));
	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		u32 key = cpu; /* a loop's counter whose address is taken would be lost to the
				  verifier */

		if (cpu >= cpu_count)
			break;
		own = bpf_map_lookup_percpu_elem(&last_signals, &zero, cpu);
		if (!own)
			continue;
		bpf_probe_read_kernel(&to, sizeof(to), &own);
		distance = to - from;
		bpf_map_update_elem(&percpu_offsets, &key, &distance, BPF_ANY);
	}
}

static __noinline bool in_domain(struct task_struct *task)
{
	struct cgroup_subsys_state *css = css_of_task(task);
	u32 i;

	if (!census_domain)
		return true;
	for (i = 0; i < EV_MAX_LEVELS && css; i++) {
		if (memcg_id(css) == census_domain)
			return true;
		css = BPF_CORE_READ(css, parent);
	}
	return false;
}

/* A thread stands for its process when it leads it, or when the leader has no address space any
 * more and it has. */
static __always_inline bool stands_for_process(struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	if (task == leader || BPF_CORE_READ(task, pid) == BPF_CORE_READ(task, tgid))
		return true;
	return !BPF_CORE_READ(leader, mm) && BPF_CORE_READ(task, mm);
}

SEC("?iter/task")
int census_iter(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct ev_task e;

	if (!task)
		return 0;
	if (ctx->meta->seq_num == 0)
		percpu_offsets_fill();
	if (BPF_CORE_READ(task, flags) & PF_KTHREAD || !stands_for_process(task) ||
		!in_domain(task))
		return 0;
	__builtin_memset(&e, 0, sizeof(e));
	hdr_fill(&e.hdr, sizeof(e), EV_TASK, 0);
	e.role = EV_ROLE_CENSUS;
	task_fill(&e, task, census_exact);
	bpf_seq_write(ctx->meta->seq, &e, sizeof(e));
	return 0;
}
