// SPDX-License-Identifier: Apache-2.0
#include "source/hooks.h"

#include <stdio.h>
#include <string.h>

#define TP(program, point)                                                                         \
	{                                                                                          \
		program, HOOK_TP_BTF, point, HOOK_SHAPE_ANY                                        \
	}
#define ONE(program, kind, target)                                                                 \
	{                                                                                          \
		{                                                                                  \
			{                                                                          \
				program, kind, target, HOOK_SHAPE_ANY                              \
			}                                                                          \
		}                                                                                  \
	}

/* How the kernel names the functions of system calls. */
#if defined(__aarch64__)
#define CALL "__arm64_sys_"
#else
#define CALL "__x64_sys_"
#endif

const struct hook hook_table[HOOK_COUNT] = {
	[HOOK_SCOPE] =
		{
			.name = "scope",
			.lost = "scans that killed nobody are not seen, and the end of a group kill is a guess of time",
			.alternatives =
				{
					{{{"scope_enter_fentry", HOOK_FENTRY, "out_of_memory",
						  HOOK_SHAPE_ANY},
						{"scope_leave_fexit", HOOK_FEXIT, "out_of_memory",
							HOOK_SHAPE_ANY}}},
					{{{"scope_enter_kprobe", HOOK_KPROBE, "out_of_memory",
						  HOOK_SHAPE_ANY},
						{"scope_leave_kretprobe", HOOK_KRETPROBE,
							"out_of_memory", HOOK_SHAPE_ANY}}},
				},
		},
	[HOOK_KILL] =
		{
			.name = "kill",
			.lost = "limit, ceiling and scope come from the page counters; no order, gfp mask or kernel's points",
			.alternatives =
				{
					ONE("kill_fentry", HOOK_FENTRY, "oom_kill_process"),
					ONE("kill_kprobe", HOOK_KPROBE, "oom_kill_process"),
				},
		},
	[HOOK_CANDIDATES] =
		{
			.name = "candidates",
			.lost = "candidates come from a census taken right after the kill, not from the kernel's scan",
			.alternatives =
				{
					ONE("candidate_fentry", HOOK_FENTRY, "oom_evaluate_task"),
					ONE("candidate_kprobe", HOOK_KPROBE, "oom_evaluate_task"),
					/* The part before the whole: where GCC split the function,
					 * the whole attaches and never fires in a kill. */
					ONE("badness_part_kprobe", HOOK_KPROBE,
						"oom_badness.part.0"),
					ONE("badness_fentry", HOOK_FENTRY, "oom_badness"),
					ONE("badness_kprobe", HOOK_KPROBE, "oom_badness"),
				},
		},
	[HOOK_VICTIM] =
		{
			.name = "victim",
			.required = true,
			.lost = "kills are not seen",
			.alternatives =
				{
					{{{"victim_tp", HOOK_TP_BTF, "mark_victim",
						HOOK_SHAPE_TASK}}},
					ONE("victim_fentry", HOOK_FENTRY, "mark_oom_victim"),
					ONE("victim_kprobe", HOOK_KPROBE, "mark_oom_victim"),
					{{{"victim_tp_pid", HOOK_TP_BTF, "mark_victim",
						HOOK_SHAPE_INT}}},
				},
		},
	/* One program serves both purposes that signals have. */
	[HOOK_SHARED] =
		{
			.name = "shared-mm",
			.lost = "processes killed only because they share the victim's memory are not named",
			.alternatives = {ONE("signal_tp", HOOK_TP_BTF, "signal_generate")},
		},
	[HOOK_SIGNAL] =
		{
			.name = "signal",
			.lost = "kills that are not the OOM killer's are not told, nor who sent the signal",
			.alternatives = {ONE("signal_tp", HOOK_TP_BTF, "signal_generate")},
		},
	[HOOK_EXIT] =
		{
			.name = "exit",
			.lost = "when the victim was gone is not known; incidents close on a timer",
			.alternatives = {ONE("exit_tp", HOOK_TP_BTF, "sched_process_exit")},
		},
	[HOOK_FREED] =
		{
			.name = "freed",
			.lost = "how much memory came back is not known",
			.alternatives =
				{
					ONE("freed_tp", HOOK_TP_BTF, "exit_mmap"),
					ONE("freed_fexit", HOOK_FEXIT, "exit_mmap"),
				},
		},
	[HOOK_REAPER] =
		{
			.name = "reaper",
			.lost = "whether the OOM reaper took the memory is not known",
			.alternatives = {ONE("reap_finish_tp", HOOK_TP_BTF, "finish_task_reaping")},
		},
	[HOOK_FORK] =
		{
			.name = "fork",
			.lost = "a process forked after the start that executed nothing has no command line",
			.alternatives = {ONE("fork_tp", HOOK_TP_BTF, "sched_process_fork")},
		},
	[HOOK_EXEC] =
		{
			.name = "exec",
			.lost = "programs started after the start have no command line",
			.alternatives = {ONE("exec_tp", HOOK_TP_BTF, "sched_process_exec")},
		},
	[HOOK_CGROUP] =
		{
			.name = "cgroup",
			.lost = "candidates in cgroups made after the start have no path",
			.alternatives =
				{
					{{TP("cgroup_mkdir_tp", "cgroup_mkdir"),
						TP("cgroup_rmdir_tp", "cgroup_rmdir")}},
				},
		},
	[HOOK_CENSUS] =
		{
			.name = "census",
			.lost = "no candidates where the kernel's scan cannot be watched, and no exact per-CPU sums",
			.alternatives = {ONE("census_iter", HOOK_ITER, "task")},
		},
	[HOOK_RECORDER] =
		{
			.name = "recorder",
			.lost = "the passes of the flight recorder read /proc, which is slow: copies are not told apart there",
			.alternatives = {ONE("recorder_iter", HOOK_ITER, "task")},
		},
	[HOOK_CHARGE] =
		{
			.name = "charge",
			.lost = "who charged page cache, tmpfs or kernel memory is told by reads and writes only, and growth between two passes is not seen",
			.alternatives =
				{
					ONE("charge_fexit", HOOK_FEXIT, "page_counter_try_charge"),
					ONE("charge_kprobe", HOOK_KPROBE,
						"page_counter_try_charge"),
				},
		},
	[HOOK_FAULTS] =
		{
			.name = "faults",
			.on_demand = true,
			.lost = "copy-on-write is estimated from the kernel's count of faults and each cgroup's usage: an upper bound",
			.alternatives =
				{
					{{TP("fault_user_tp", "page_fault_user"),
						TP("fault_kernel_tp", "page_fault_kernel")}},
					ONE("fault_perf", HOOK_PERF, "page-faults"),
				},
		},
	[HOOK_REFUSED] =
		{
			.name = "refused",
			.lost = "memory and processes that were asked for and not given (ENOMEM, EAGAIN) are not told",
			.alternatives =
				{
					{{{"refused_mmap_fexit", HOOK_FEXIT, "vm_mmap_pgoff",
						  HOOK_SHAPE_ANY},
						{"refused_clone_fexit", HOOK_FEXIT, "kernel_clone",
							HOOK_SHAPE_ANY},
						{"refused_brk_fexit", HOOK_FEXIT, CALL "brk",
							HOOK_SHAPE_ANY},
						{"refused_mremap_fexit", HOOK_FEXIT, CALL "mremap",
							HOOK_SHAPE_ANY},
						{"refused_mprotect_fexit", HOOK_FEXIT,
							CALL "mprotect", HOOK_SHAPE_ANY}}},
					/* Kernels whose types do not tell what a system call's
					 * function is given (5.10): what counts most. */
					{{{"refused_clone_fexit", HOOK_FEXIT, "kernel_clone",
						  HOOK_SHAPE_ANY},
						{"refused_mmap_fexit", HOOK_FEXIT, "vm_mmap_pgoff",
							HOOK_SHAPE_ANY}}},
					/* Last, and on request only: see HOOK_EVERY_CALL. */
					ONE("refused_exit_tp", HOOK_TP_BTF, "sys_exit"),
				},
		},
};

void hooks_init(struct hooks *hooks)
{
	memset(hooks, 0, sizeof(*hooks));
	for (int i = 0; i < HOOK_COUNT; i++)
		hooks->states[i].serving = -1;
}

bool hook_served(const struct hooks *hooks, enum hook_purpose purpose)
{
	return hooks->states[purpose].serving >= 0;
}

bool hook_listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, name, len) && (at[len] == ',' || at[len] == '\0'))
			return true;
	return false;
}

const char *hook_kind_name(enum hook_kind kind)
{
	static const char *const names[] = {
		[HOOK_NONE] = "none",
		[HOOK_TP_BTF] = "tp_btf",
		[HOOK_FENTRY] = "fentry",
		[HOOK_FEXIT] = "fexit",
		[HOOK_KPROBE] = "kprobe",
		[HOOK_KRETPROBE] = "kretprobe",
		[HOOK_ITER] = "iter",
		[HOOK_PERF] = "perf",
	};

	return names[kind];
}

const char *hook_label(const struct hook_alternative *alternative, char *ret, size_t size)
{
	const struct hook_program *program = &alternative->programs[0];

	if (!program->name)
		return NULL;
	snprintf(ret, size, "%s %s", hook_kind_name(program->kind), program->target);
	return ret;
}

size_t hook_alternatives(const struct hook *hook)
{
	size_t count = 0;

	while (count < HOOK_ALTERNATIVES && hook->alternatives[count].programs[0].name)
		count++;
	return count;
}

bool hooks_full_tier(const struct hooks *hooks)
{
	return hook_served(hooks, HOOK_KILL);
}
