/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h: what this kernel offers and how it is set, as far as the tool depends on it. Nothing is
 * decided by the release's number but the one floor below which no program of ours loads.
 *
 * read_*() open below a root, parse_*() are pure. A switch that is not readable is KERNEL_UNKNOWN.
 */
#ifndef OOMSNOOP_FACTS_KERNEL_H
#define OOMSNOOP_FACTS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_UNKNOWN INT32_MIN

/* The BPF ring buffer came with 5.8, and nothing stands in for it. */
#define KERNEL_FLOOR_MAJOR 5
#define KERNEL_FLOOR_MINOR 8

enum lockdown {
	LOCKDOWN_UNKNOWN = 0, /* no such file: not built in, or securityfs is not mounted */
	LOCKDOWN_NONE = 1,
	LOCKDOWN_INTEGRITY = 2,
	LOCKDOWN_CONFIDENTIALITY = 3, /* BPF may not read kernel memory */
};

enum cgroup_mode {
	CGROUP_MODE_NONE = 0, /* no memory controller, or none mounted */
	CGROUP_MODE_V1 = 1,
	CGROUP_MODE_V2 = 2,
};

struct kernel_facts {
	char release[65];
	int major, minor; /* -1: the release does not begin with them */
	bool new_enough;
	bool btf;
	uint64_t btf_bytes;
	enum cgroup_mode cgroup_mode; /* where memory is accounted */
	char cgroup_mount[256];
	char tracefs[256]; /* empty: not mounted; needed by classic tracepoints alone */
	enum lockdown lockdown;
	int32_t unprivileged_bpf_disabled;
	int32_t bpf_jit_enable;
	int32_t kptr_restrict;
	int32_t perf_event_paranoid;
	int32_t ftrace_enabled; /* 0: no trampoline fires, so neither fentry nor kprobe by ftrace */
	int32_t dmesg_restrict;
	int32_t panic_on_oom;
	int32_t oom_kill_allocating_task;
	int32_t overcommit_memory;
	int32_t swappiness;
	bool psi; /* /proc/pressure/memory */
	int kmsg_error; /* 0: /dev/kmsg can be read; else -errno */
	uint64_t swap_total_bytes; /* UNKNOWN_U64 */
	bool initial_pid_namespace; /* its pids are the host's, so that names can be found in /proc
				     */
};

/* "6.12.117+deb13" -> 6, 12. -EINVAL: it does not begin so. */
int parse_release(const char *text, int *ret_major, int *ret_minor);
bool kernel_new_enough(int major, int minor);

/* "none [integrity] confidentiality" */
enum lockdown parse_lockdown(const char *text);
const char *lockdown_name(enum lockdown lockdown);
const char *cgroup_mode_name(enum cgroup_mode mode);

/* Are pids in the root's /proc those of the host? */
bool in_initial_pid_namespace(const char *root);

/* 0 or -errno: only where even the release cannot be read. */
int read_kernel(const char *root, struct kernel_facts *ret);

#endif /* OOMSNOOP_FACTS_KERNEL_H */
