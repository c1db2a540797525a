// SPDX-License-Identifier: Apache-2.0
#include "facts/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "facts/cgroupfs.h"
#include "facts/file.h"
#include "facts/host.h"
#include "facts/scan.h"

/* PROC_PID_INIT_INO: the same on every kernel since 3.8. */
#define INITIAL_PID_NAMESPACE "pid:[4026531836]"

int parse_release(const char *text, int *ret_major, int *ret_minor)
{
	struct scan scan = scan_of(text, strlen(text));
	uint64_t major, minor;

	if (!scan_u64(&scan, &major) || !scan_text(&scan, ".") || !scan_u64(&scan, &minor) ||
		major > 1000 || minor > 100000)
		return -EINVAL;
	*ret_major = (int)major;
	*ret_minor = (int)minor;
	return 0;
}

bool kernel_new_enough(int major, int minor)
{
	return major > KERNEL_FLOOR_MAJOR ||
	       (major == KERNEL_FLOOR_MAJOR && minor >= KERNEL_FLOOR_MINOR);
}

enum lockdown parse_lockdown(const char *text)
{
	if (strstr(text, "[none]"))
		return LOCKDOWN_NONE;
	if (strstr(text, "[integrity]"))
		return LOCKDOWN_INTEGRITY;
	if (strstr(text, "[confidentiality]"))
		return LOCKDOWN_CONFIDENTIALITY;
	return LOCKDOWN_UNKNOWN;
}

const char *lockdown_name(enum lockdown lockdown)
{
	static const char *const names[] = {
		[LOCKDOWN_UNKNOWN] = "unknown",
		[LOCKDOWN_NONE] = "none",
		[LOCKDOWN_INTEGRITY] = "integrity",
		[LOCKDOWN_CONFIDENTIALITY] = "confidentiality",
	};

	return names[lockdown];
}

const char *cgroup_mode_name(enum cgroup_mode mode)
{
	static const char *const names[] = {
		[CGROUP_MODE_NONE] = "none",
		[CGROUP_MODE_V1] = "v1",
		[CGROUP_MODE_V2] = "v2",
	};

	return names[mode];
}

struct kernel_switch {
	const char *path;
	size_t offset;
};

#define SWITCH(path, field)                                                                        \
	{                                                                                          \
		path, offsetof(struct kernel_facts, field)                                         \
	}
static const struct kernel_switch switches[] = {
	SWITCH("/proc/sys/kernel/unprivileged_bpf_disabled", unprivileged_bpf_disabled),
	SWITCH("/proc/sys/net/core/bpf_jit_enable", bpf_jit_enable),
	SWITCH("/proc/sys/kernel/kptr_restrict", kptr_restrict),
	SWITCH("/proc/sys/kernel/perf_event_paranoid", perf_event_paranoid),
	SWITCH("/proc/sys/kernel/ftrace_enabled", ftrace_enabled),
	SWITCH("/proc/sys/kernel/dmesg_restrict", dmesg_restrict),
	SWITCH("/proc/sys/vm/panic_on_oom", panic_on_oom),
	SWITCH("/proc/sys/vm/oom_kill_allocating_task", oom_kill_allocating_task),
	SWITCH("/proc/sys/vm/overcommit_memory", overcommit_memory),
	SWITCH("/proc/sys/vm/swappiness", swappiness),
};
#undef SWITCH

static void read_switches(const char *root, struct kernel_facts *facts)
{
	for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++) {
		int32_t *field = (int32_t *)((char *)facts + switches[i].offset);
		int64_t value;

		*field = KERNEL_UNKNOWN;
		if (!file_read_i64(root, switches[i].path, &value) && value > INT32_MIN &&
			value <= INT32_MAX)
			*field = (int32_t)value;
	}
}

/* 0 where a reader could open it: the mode alone does not tell, dmesg_restrict decides. */
static int try_open(const char *root, const char *path)
{
	char whole[PATH_MAX];
	int err = file_path(root, path, whole, sizeof(whole)), fd;

	if (err)
		return err;
	fd = open(whole, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void read_btf(const char *root, struct kernel_facts *facts)
{
	char path[PATH_MAX];
	struct stat stat_buf;

	if (file_path(root, "/sys/kernel/btf/vmlinux", path, sizeof(path)) ||
		stat(path, &stat_buf) < 0 || stat_buf.st_size == 0)
		return;
	facts->btf = true;
	facts->btf_bytes = (uint64_t)stat_buf.st_size;
}

static void read_mounts(const char *root, struct kernel_facts *facts)
{
	struct cgroup_mount mount;
	char *text;
	size_t len;

	if (!read_memory_mount(root, &mount)) {
		facts->cgroup_mode = mount.v2 ? CGROUP_MODE_V2 : CGROUP_MODE_V1;
		memcpy(facts->cgroup_mount, mount.path, sizeof(facts->cgroup_mount));
	}
	if (file_read_all(root, "/proc/self/mountinfo", 64U << 20, &text, &len))
		return;
	(void)parse_mountinfo_type(text, "tracefs", facts->tracefs, sizeof(facts->tracefs));
	free(text);
}

bool in_initial_pid_namespace(const char *root)
{
	char path[PATH_MAX], link[64];
	ssize_t len;

	if (file_path(root, "/proc/self/ns/pid", path, sizeof(path)))
		return false;
	len = readlink(path, link, sizeof(link) - 1);
	if (len < 0)
		return false;
	link[len] = '\0';
	return strcmp(link, INITIAL_PID_NAMESPACE) == 0;
}

int read_kernel(const char *root, struct kernel_facts *ret)
{
	struct kernel_facts facts = {.major = -1, .minor = -1, .swap_total_bytes = UNKNOWN_U64};
	struct host_memory memory;
	char text[128];
	ssize_t len = file_read_line(
		root, "/proc/sys/kernel/osrelease", facts.release, sizeof(facts.release));

	if (len < 0)
		return (int)len;
	if (!parse_release(facts.release, &facts.major, &facts.minor))
		facts.new_enough = kernel_new_enough(facts.major, facts.minor);
	read_btf(root, &facts);
	read_mounts(root, &facts);
	read_switches(root, &facts);
	if (file_read_line(root, "/sys/kernel/security/lockdown", text, sizeof(text)) >= 0)
		facts.lockdown = parse_lockdown(text);
	/* Reading fails with EOPNOTSUPP where PSI is built in but switched off. */
	facts.psi = file_read(root, "/proc/pressure/memory", text, sizeof(text)) > 0;
	facts.kmsg_error = try_open(root, "/dev/kmsg");
	if (!read_meminfo(root, &memory))
		facts.swap_total_bytes = memory.swap_total_bytes;
	facts.initial_pid_namespace = in_initial_pid_namespace(root);
	*ret = facts;
	return 0;
}
