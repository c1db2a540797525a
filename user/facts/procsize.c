// SPDX-License-Identifier: Apache-2.0
#include "facts/procsize.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "facts/file.h"
#include "facts/scan.h"

/* Numbers of proc(5). */
enum { STAT_STATE = 3, STAT_PPID = 4, STAT_RSS = 24 };

static bool numbers(const char *text, struct proc_size *ret)
{
	struct scan rest = scan_of(text, strcspn(text, "\n")), field;
	uint64_t value;

	for (int number = STAT_STATE; number <= STAT_RSS; number++) {
		if (!scan_field(&rest, ' ', &field) || scan_done(&field))
			return false;
		if (number == STAT_STATE)
			ret->state = *field.at;
		if (number != STAT_PPID && number != STAT_RSS)
			continue;
		if (!scan_u64(&field, &value) || (number == STAT_PPID && value > UINT32_MAX))
			return false;
		if (number == STAT_PPID)
			ret->ppid = (uint32_t)value;
		else
			ret->rss_pages = value;
	}
	return true;
}

int parse_proc_size(const char *text, struct proc_size *ret)
{
	struct scan scan = scan_of(text, strlen(text));
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	struct proc_size size = {0};
	uint64_t pid;
	size_t len;

	if (!open || !close || close < open || close[1] != ' ' || !scan_u64(&scan, &pid) ||
		pid > UINT32_MAX || !numbers(close + 2, &size))
		return -EINVAL;
	size.pid = (uint32_t)pid;
	len = (size_t)(close - open - 1);
	if (len >= sizeof(size.comm))
		len = sizeof(size.comm) - 1;
	memcpy(size.comm, open + 1, len);
	*ret = size;
	return 0;
}

int read_proc_size(const char *root, pid_t pid, struct proc_size *ret)
{
	char path[64], text[1024];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	len = file_read(root, path, text, sizeof(text));
	return len < 0 ? (int)len : parse_proc_size(text, ret);
}

int parse_smaps_rollup(const char *text, uint64_t *ret_bytes)
{
	struct scan scan = scan_of(text, strlen(text)), line;
	uint64_t kib, sum = 0;
	bool seen = false;

	while (scan_line(&scan, &line)) {
		bool pss = scan_text(&line, "Pss:");

		if (!pss && !scan_text(&line, "SwapPss:"))
			continue;
		scan_blanks(&line);
		if (!scan_u64(&line, &kib) || kib > UINT64_MAX >> 12)
			return -EINVAL;
		sum += kib << 10;
		seen |= pss;
	}
	if (!seen)
		return -EINVAL;
	*ret_bytes = sum;
	return 0;
}

int read_pss(const char *root, pid_t pid, uint64_t *ret_bytes)
{
	char path[64], text[2048];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	len = file_read(root, path, text, sizeof(text));
	return len < 0 ? (int)len : parse_smaps_rollup(text, ret_bytes);
}
