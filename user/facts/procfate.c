// SPDX-License-Identifier: Apache-2.0
#include "facts/procfate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "facts/file.h"
#include "facts/scan.h"

/* Numbers of proc(5). The last one is shown to those who may trace it, else as 0. */
enum { STAT_STATE = 3, STAT_THREADS = 20, STAT_EXIT_CODE = 52 };

#define SIGKILL_BIT (1ULL << (SIGKILL - 1))

struct stat_end {
	char state;
	uint64_t threads;
	uint64_t exit_code;
};

static int stat_end(const char *text, struct stat_end *ret)
{
	const char *close = strrchr(text, ')');
	struct scan rest, field;

	if (!close || close[1] != ' ')
		return -EINVAL;
	rest = scan_of(close + 2, strcspn(close + 2, "\n"));
	for (int number = STAT_STATE; number <= STAT_EXIT_CODE; number++) {
		bool good = scan_field(&rest, ' ', &field) && !scan_done(&field);

		if (good && number == STAT_STATE)
			ret->state = *field.at;
		else if (good && number == STAT_THREADS)
			good = scan_u64(&field, &ret->threads);
		else if (good && number == STAT_EXIT_CODE)
			good = scan_u64(&field, &ret->exit_code);
		if (!good)
			return -EINVAL;
	}
	return 0;
}

static bool hex_digits(struct scan digits, uint64_t *ret)
{
	uint64_t value = 0;

	if (scan_done(&digits) || scan_left(&digits) > 16)
		return false;
	for (; !scan_done(&digits); digits.at++) {
		const char *at = memchr("0123456789abcdef", *digits.at, 16);

		if (!at)
			return false;
		value = value << 4 | (uint64_t)(at - "0123456789abcdef");
	}
	*ret = value;
	return true;
}

static bool sigkill_pending(const char *status)
{
	struct scan scan = scan_of(status, strlen(status)), line;
	uint64_t pending;

	while (scan_line(&scan, &line))
		if (scan_text(&line, "ShdPnd:\t"))
			return hex_digits(line, &pending) && pending & SIGKILL_BIT;
	return false;
}

int parse_proc_fate(const char *stat, const char *status, struct proc_fate *ret)
{
	struct stat_end end;
	int err = stat_end(stat, &end);

	if (err)
		return err;
	/* A leader that waits for its threads is shown as a zombie, too. */
	ret->zombie = (end.state == 'Z' && end.threads <= 1) || end.state == 'X';
	ret->killed = sigkill_pending(status) || (ret->zombie && (end.exit_code & 0x7f) == SIGKILL);
	return 0;
}

int read_proc_fate(const char *root, pid_t pid, struct proc_fate *ret)
{
	/* Its groups stand before the signals and may be many: then these are not found. */
	char path[PATH_MAX], name[32], stat[2048], status[16384];
	int dir, err;
	ssize_t len;

	snprintf(name, sizeof(name), "/proc/%d", (int)pid);
	err = file_path(root, name, path, sizeof(path));
	if (err)
		return err;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	len = file_read_at(dir, "stat", stat, sizeof(stat));
	if (len >= 0)
		len = file_read_at(dir, "status", status, sizeof(status));
	close(dir);
	return len < 0 ? (int)len : parse_proc_fate(stat, status, ret);
}
