// SPDX-License-Identifier: Apache-2.0
#include "facts/host.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "facts/cgroupfs.h"
#include "facts/file.h"
#include "facts/scan.h"

/* More than any kernel can be built for: a bound for sums, not a guess about machines. */
#define CPUS_MAX 65536

struct meminfo_key {
	const char *name;
	size_t offset;
};

#define KEY(name, field)                                                                           \
	{                                                                                          \
		name, offsetof(struct host_memory, field)                                          \
	}
static const struct meminfo_key meminfo_keys[] = {
	KEY("MemTotal:", total_bytes),
	KEY("MemFree:", free_bytes),
	KEY("MemAvailable:", available_bytes),
	KEY("SwapTotal:", swap_total_bytes),
	KEY("SwapFree:", swap_free_bytes),
	KEY("Hugetlb:", hugetlb_bytes),
};
#undef KEY

static void meminfo_line(struct scan line, struct host_memory *memory)
{
	uint64_t value;

	for (size_t i = 0; i < sizeof(meminfo_keys) / sizeof(*meminfo_keys); i++) {
		struct scan rest = line;

		if (!scan_text(&rest, meminfo_keys[i].name))
			continue;
		scan_blanks(&rest);
		if (scan_u64(&rest, &value) && scan_equals(&rest, " kB") &&
			value <= UINT64_MAX / 1024 - 1)
			*(uint64_t *)((char *)memory + meminfo_keys[i].offset) = value * 1024;
		return;
	}
}

int parse_meminfo(const char *text, size_t len, struct host_memory *ret)
{
	struct scan scan = scan_of(text, len), line;
	struct host_memory memory;

	/* UNKNOWN_U64 in every field */
	memset(&memory, 0xff, sizeof(memory));
	while (scan_line(&scan, &line))
		meminfo_line(line, &memory);
	if (memory.total_bytes == UNKNOWN_U64)
		return -EINVAL;
	*ret = memory;
	return 0;
}

int read_meminfo(const char *root, struct host_memory *ret)
{
	char text[8192];
	ssize_t len = file_read(root, "/proc/meminfo", text, sizeof(text));

	return len < 0 ? (int)len : parse_meminfo(text, (size_t)len, ret);
}

/* "3" or "0-3" */
static bool list_range(struct scan range, uint64_t *ret_first, uint64_t *ret_last)
{
	uint64_t first, last;

	if (!scan_u64(&range, &first))
		return false;
	last = first;
	if (scan_text(&range, "-") && !scan_u64(&range, &last))
		return false;
	if (!scan_done(&range) || last < first || last >= CPUS_MAX)
		return false;
	*ret_first = first;
	*ret_last = last;
	return true;
}

/* The kernel's form of a set of CPUs or nodes; -EINVAL. */
static int parse_list(const char *text, uint64_t *ret_highest, uint64_t *ret_mask)
{
	struct scan scan = scan_of(text, strcspn(text, "\n")), range;
	uint64_t first, last, highest = 0, mask = 0;

	if (scan_done(&scan) || scan.end[-1] == ',')
		return -EINVAL;
	while (scan_field(&scan, ',', &range)) {
		if (!list_range(range, &first, &last))
			return -EINVAL;
		if (last > highest)
			highest = last;
		for (; first <= last && first < 64; first++)
			mask |= 1ULL << first;
	}
	*ret_highest = highest;
	*ret_mask = mask;
	return 0;
}

int parse_cpu_list(const char *text, uint32_t *ret_count)
{
	uint64_t highest, mask;
	int error = parse_list(text, &highest, &mask);

	if (!error)
		*ret_count = (uint32_t)highest + 1;
	return error;
}

int parse_node_list(const char *text, uint64_t *ret_mask)
{
	uint64_t highest, mask;
	int error = parse_list(text, &highest, &mask);

	if (!error)
		*ret_mask = mask;
	return error;
}

/* "memory	4	10	1": name, hierarchy, cgroups, enabled */
static bool memory_row(struct scan row, int *ret_hierarchy)
{
	uint64_t hierarchy, cgroups, enabled;

	if (!scan_text(&row, "memory\t") || !scan_u64(&row, &hierarchy) || !scan_text(&row, "\t") ||
		!scan_u64(&row, &cgroups) || !scan_text(&row, "\t") || !scan_u64(&row, &enabled))
		return false;
	/* Booted with cgroup_disable=memory: the row stays, the controller is gone. */
	if (!enabled || hierarchy > INT32_MAX)
		return false;
	*ret_hierarchy = (int)hierarchy;
	return true;
}

int parse_proc_cgroups(const char *text, int *ret_hierarchy)
{
	struct scan scan = scan_of(text, strlen(text)), row;

	while (scan_line(&scan, &row)) {
		if (memory_row(row, ret_hierarchy))
			return 0;
	}
	return -ENOENT;
}

/* Where /proc/cgroups does not name it, the v2 mount's own list of controllers does. */
static bool v2_has_memory(const char *root)
{
	struct cgroup_mount mount;
	char text[512];
	ssize_t len;
	struct scan scan, word;

	if (read_memory_mount(root, &mount) || !mount.v2)
		return false;
	len = file_read_line(mount.path, "/cgroup.controllers", text, sizeof(text));
	if (len < 0)
		return false;
	scan = scan_of(text, (size_t)len);
	while (scan_field(&scan, ' ', &word)) {
		if (scan_equals(&word, "memory"))
			return true;
	}
	return false;
}

static int memory_hierarchy(const char *root)
{
	char text[4096];
	int hierarchy;

	if (file_read(root, "/proc/cgroups", text, sizeof(text)) >= 0 &&
		!parse_proc_cgroups(text, &hierarchy))
		return hierarchy;
	return v2_has_memory(root) ? 0 : -1;
}

static uint32_t possible_cpus(const char *root)
{
	char text[256];
	uint32_t count;
	long configured;

	if (file_read(root, "/sys/devices/system/cpu/possible", text, sizeof(text)) >= 0 &&
		!parse_cpu_list(text, &count))
		return count;
	configured = sysconf(_SC_NPROCESSORS_CONF);
	return configured > 0 ? (uint32_t)configured : 1;
}

/* Without NUMA there is no such file, and nothing to tell apart. */
static uint64_t memory_nodes(const char *root)
{
	char text[1024];
	uint64_t mask = 0;

	if (file_read(root, "/sys/devices/system/node/has_memory", text, sizeof(text)) >= 0)
		parse_node_list(text, &mask);
	return mask;
}

int read_host(const char *root, struct host_facts *ret)
{
	struct host_facts facts = {.swappiness = UINT32_MAX};
	ssize_t release, name, boot;
	int64_t swappiness;

	release = file_read_line(
		root, "/proc/sys/kernel/osrelease", facts.kernel, sizeof(facts.kernel));
	name = file_read_line(
		root, "/proc/sys/kernel/hostname", facts.hostname, sizeof(facts.hostname));
	boot = file_read_line(
		root, "/proc/sys/kernel/random/boot_id", facts.boot_id, sizeof(facts.boot_id));
	/* One of them may be hidden; where all are, this is no /proc. */
	if (release < 0 && name < 0 && boot < 0)
		return (int)release;
	facts.page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	facts.cpus = possible_cpus(root);
	if (!file_read_i64(root, "/proc/sys/vm/swappiness", &swappiness) && swappiness >= 0 &&
		swappiness <= 1000)
		facts.swappiness = (uint32_t)swappiness;
	facts.memory_nodes = memory_nodes(root);
	facts.memory_hierarchy = memory_hierarchy(root);
	*ret = facts;
	return 0;
}
