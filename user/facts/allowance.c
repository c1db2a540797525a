// SPDX-License-Identifier: Apache-2.0
#include "facts/allowance.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "facts/file.h"
#include "facts/scan.h"

static uint64_t kilobytes(uint64_t value)
{
	return value <= (UINT64_MAX >> 10) - 1 ? value << 10 : UNKNOWN_U64;
}

void parse_commit(const char *text, size_t len, struct allowance *ret)
{
	struct scan scan = scan_of(text, len), line;
	uint64_t *target, value;

	ret->commit_limit_bytes = UNKNOWN_U64;
	ret->committed_bytes = UNKNOWN_U64;
	while (scan_line(&scan, &line)) {
		if (scan_text(&line, "CommitLimit:"))
			target = &ret->commit_limit_bytes;
		else if (scan_text(&line, "Committed_AS:"))
			target = &ret->committed_bytes;
		else
			continue;
		scan_blanks(&line);
		if (scan_u64(&line, &value) && scan_equals(&line, " kB"))
			*target = kilobytes(value);
	}
}

uint64_t parse_loadavg_threads(const char *text, size_t len)
{
	struct scan scan = scan_of(text, len), field;
	uint64_t running, threads;

	for (int i = 0; i < 4; i++)
		if (!scan_field(&scan, ' ', &field))
			return UNKNOWN_U64;
	if (!scan_u64(&field, &running) || !scan_text(&field, "/") || !scan_u64(&field, &threads) ||
		!scan_done(&field))
		return UNKNOWN_U64;
	return threads;
}

static uint64_t number_of(const char *root, const char *path)
{
	int64_t value;

	return !file_read_i64(root, path, &value) && value >= 0 ? (uint64_t)value : UNKNOWN_U64;
}

static uint64_t kilobytes_of(const char *root, const char *path)
{
	uint64_t value = number_of(root, path);

	return value == UNKNOWN_U64 ? value : kilobytes(value);
}

void read_allowance(const char *root, struct allowance *ret)
{
	char text[8192];
	ssize_t len = file_read(root, "/proc/meminfo", text, sizeof(text));

	parse_commit(text, len > 0 ? (size_t)len : 0, ret);
	len = file_read(root, "/proc/loadavg", text, sizeof(text));
	ret->threads = parse_loadavg_threads(text, len > 0 ? (size_t)len : 0);
	ret->overcommit = number_of(root, "/proc/sys/vm/overcommit_memory");
	ret->admin_reserve_bytes = kilobytes_of(root, "/proc/sys/vm/admin_reserve_kbytes");
	ret->user_reserve_bytes = kilobytes_of(root, "/proc/sys/vm/user_reserve_kbytes");
	ret->max_map_count = number_of(root, "/proc/sys/vm/max_map_count");
	ret->threads_max = number_of(root, "/proc/sys/kernel/threads-max");
	ret->pid_max = number_of(root, "/proc/sys/kernel/pid_max");
}

/* "7:pids:/a/b": version 1's own hierarchy goes before version 2's "0::/a/b". */
static bool pids_line(struct scan line, bool v2, struct scan *ret_path)
{
	struct scan id, controllers;

	if (!scan_field(&line, ':', &id) || !scan_field(&line, ':', &controllers))
		return false;
	*ret_path = line;
	return v2 ? scan_equals(&id, "0") && scan_done(&controllers)
		  : scan_has_word(controllers, "pids");
}

static void up(char *path, unsigned int levels)
{
	while (levels-- && path[1]) {
		char *slash = strrchr(path, '/');

		slash[slash == path] = '\0';
	}
}

int parse_pids_cgroup(
	const char *text, size_t len, unsigned int levels, char *ret_path, size_t size)
{
	struct scan line, path;

	for (int v2 = 0; v2 <= 1; v2++) {
		struct scan scan = scan_of(text, len);

		while (scan_line(&scan, &line)) {
			int error;

			if (!pids_line(line, v2, &path) || !scan_left(&path) || *path.at != '/')
				continue;
			error = scan_copy(&path, ret_path, size);
			if (!error)
				up(ret_path, levels);
			return error;
		}
	}
	return -ENOENT;
}

int read_pids_cgroup(const char *root, pid_t pid, unsigned int levels, char *ret_path, size_t size)
{
	char path[64], text[8192];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	len = file_read(root, path, text, sizeof(text));
	return len < 0 ? (int)len : parse_pids_cgroup(text, (size_t)len, levels, ret_path, size);
}
