/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h: the table of hooks: purpose, alternatives in order, whether it is required, what the
 * record loses without it.
 *
 * Pure data and names; probe.h finds out what the running kernel takes, loader.h attaches it. To
 * add a hook see docs/how-to-add.md.
 */
#ifndef OOMSNOOP_SOURCE_HOOKS_H
#define OOMSNOOP_SOURCE_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

enum hook_purpose {
	HOOK_SCOPE,
	HOOK_KILL,
	HOOK_CANDIDATES,
	HOOK_VICTIM,
	HOOK_SHARED,
	HOOK_SIGNAL,
	HOOK_EXIT,
	HOOK_FREED,
	HOOK_REAPER,
	HOOK_FORK,
	HOOK_EXEC,
	HOOK_CGROUP,
	HOOK_CENSUS,
	HOOK_RECORDER,
	HOOK_CHARGE,
	HOOK_FAULTS,
	HOOK_REFUSED,
	HOOK_COUNT
};

enum hook_kind {
	HOOK_NONE,
	HOOK_TP_BTF,
	HOOK_FENTRY,
	HOOK_FEXIT,
	HOOK_KPROBE,
	HOOK_KRETPROBE,
	HOOK_ITER,
	HOOK_PERF, /* software event of the perf subsystem */
};

/* What a tracepoint's arguments must look like, where they changed between kernels. */
enum hook_shape {
	HOOK_SHAPE_ANY,
	HOOK_SHAPE_TASK, /* first argument: struct task_struct * */
	HOOK_SHAPE_INT, /* first argument: int */
};

#define HOOK_PROGRAMS 5
#define HOOK_ALTERNATIVES 5

struct hook_program {
	const char *name; /* of the program in the object */
	enum hook_kind kind;
	const char *target; /* function, tracepoint or iterator */
	enum hook_shape shape;
};

struct hook_alternative {
	struct hook_program programs[HOOK_PROGRAMS]; /* all of them or none */
};

struct hook {
	const char *name;
	bool required;
	bool on_demand; /* attached only while it is wanted */
	const char *lost; /* one sentence: what a record lacks without it */
	struct hook_alternative alternatives[HOOK_ALTERNATIVES]; /* best first */
};

extern const struct hook hook_table[HOOK_COUNT];

/* What became of the table on this kernel. */
struct hook_state {
	int serving; /* index of the alternative that is attached; -1: none */
	char why[HOOK_ALTERNATIVES][160]; /* why the others do not serve; empty: not tried */
};

struct hooks {
	struct hook_state states[HOOK_COUNT];
};

void hooks_init(struct hooks *hooks);
bool hook_served(const struct hooks *hooks, enum hook_purpose purpose);

/* Is a name one of a list of them, as `--without` takes it: "kill,fentry,iter task"? */
bool hook_listed(const char *list, const char *name);

/* "fentry oom_kill_process"; NULL where the alternative has no programs. */
const char *hook_label(const struct hook_alternative *alternative, char *ret, size_t size);
size_t hook_alternatives(const struct hook *hook);
const char *hook_kind_name(enum hook_kind kind);

/* Of HOOK_REFUSED: the end of every system call, which costs each of them. */
#define HOOK_EVERY_CALL "tp_btf sys_exit"

/* oom_control within reach: limit, ceiling, points and constraint are the kernel's own. */
bool hooks_full_tier(const struct hooks *hooks);

#endif /* OOMSNOOP_SOURCE_HOOKS_H */
