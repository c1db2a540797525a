// SPDX-License-Identifier: Apache-2.0
#include "facts/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "facts/file.h"
#include "facts/scan.h"

#define CUT_MARK "..."
#define DELETED " (deleted)"
#define PROC_STAT_STARTTIME 22 /* its number in proc(5) */

/* Bytes of text[0…len) without a UTF-8 sequence that the cut has left unfinished at its end. */
static size_t whole_characters(const char *text, size_t len)
{
	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char byte = (unsigned char)text[len - back];
		size_t needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;

		if ((byte & 0xc0) == 0x80)
			continue; /* the middle of a sequence: its first byte is further back */
		return needs > back ? len - back : len;
	}
	return len;
}

/* Copies len bytes, or as many as leave room for the mark. */
static size_t copy_cut(const char *text, size_t len, bool more, char *ret, size_t size)
{
	size_t room = size - 1;

	if (len <= room && !more) {
		memcpy(ret, text, len);
		ret[len] = '\0';
		return len;
	}
	room = room > strlen(CUT_MARK) ? room - strlen(CUT_MARK) : 0;
	len = whole_characters(text, len < room ? len : room);
	memcpy(ret, text, len);
	ret[len] = '\0';
	return len +
	       (size_t)snprintf(ret + len, size - len, "%.*s", (int)(size - 1 - len), CUT_MARK);
}

size_t cmdline_text(const char *args, size_t len, size_t full_len, char *ret, size_t size)
{
	bool more = full_len > len;

	if (size == 0)
		return 0;
	/* Programs that set their title leave a long tail of NULs behind it. */
	while (len > 0 && args[len - 1] == '\0')
		len--;
	len = copy_cut(args, len, more, ret, size);
	for (size_t i = 0; i < len; i++) {
		if (ret[i] == '\0')
			ret[i] = ' ';
	}
	return len;
}

static ssize_t read_of(const char *root, pid_t pid, const char *name, char *ret, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return file_read(root, path, ret, size);
}

int read_cmdline(const char *root, pid_t pid, char *ret, size_t size)
{
	char args[4096];
	ssize_t len = read_of(root, pid, "cmdline", args, sizeof(args));
	size_t full_len;

	if (len < 0)
		return (int)len;
	/* A full buffer: the argument area may go on, and what is shown must not look whole. */
	full_len = (size_t)len + ((size_t)len == sizeof(args) - 1);
	cmdline_text(args, (size_t)len, full_len, ret, size);
	return 0;
}

int read_exe(const char *root, pid_t pid, char *ret, size_t size)
{
	char link[PATH_MAX], path[PATH_MAX];
	ssize_t len;
	int err;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	err = file_path(root, link, path, sizeof(path));
	if (err)
		return err;
	len = readlink(path, link, sizeof(link) - 1);
	if (len < 0)
		return -errno;
	/* The kernel's remark on a program file that was replaced or removed is not its name. */
	if ((size_t)len > strlen(DELETED) &&
		memcmp(link + len - strlen(DELETED), DELETED, strlen(DELETED)) == 0)
		len -= (ssize_t)strlen(DELETED);
	if (size == 0)
		return -ENAMETOOLONG;
	copy_cut(link, (size_t)len, false, ret, size);
	return 0;
}

/* The fields behind the name, from the third on. */
static bool stat_fields(struct scan rest, uint64_t *ret_ppid, uint64_t *ret_start)
{
	struct scan field;
	uint64_t ppid = 0;

	for (int number = 3; scan_field(&rest, ' ', &field); number++) {
		if (number == 4 && (!scan_u64(&field, &ppid) || !scan_done(&field)))
			return false;
		if (number == PROC_STAT_STARTTIME) {
			if (!scan_u64(&field, ret_start))
				return false;
			*ret_ppid = ppid;
			return true;
		}
	}
	return false;
}

int parse_proc_stat(const char *text, struct proc_ids *ret)
{
	/* A name may hold parentheses, blanks and newlines: it ends at the last parenthesis. */
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	uint64_t tick_ns = 1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t ppid, ticks, start_ns;
	size_t len;

	if (!open || !close || close < open || close[1] != ' ')
		return -EINVAL;
	if (!stat_fields(scan_of(close + 2, strlen(close + 2)), &ppid, &ticks))
		return -EINVAL;
	if (ppid > UINT32_MAX || __builtin_mul_overflow(ticks, tick_ns, &start_ns))
		return -EINVAL;
	/* Kernel workers show more than the 15 bytes that a name has. */
	len = (size_t)(close - open - 1);
	len = len < sizeof(ret->comm) ? len : sizeof(ret->comm) - 1;
	memset(ret->comm, 0, sizeof(ret->comm));
	memcpy(ret->comm, open + 1, len);
	ret->ppid = (uint32_t)ppid;
	ret->start_ns = start_ns;
	return 0;
}

int parse_status_uid(const char *text, uint32_t *ret_uid)
{
	struct scan scan = scan_of(text, strlen(text)), line;
	uint64_t uid;

	while (scan_line(&scan, &line)) {
		if (!scan_text(&line, "Uid:\t"))
			continue;
		if (!scan_u64(&line, &uid) || uid > UINT32_MAX)
			return -EINVAL;
		*ret_uid = (uint32_t)uid;
		return 0;
	}
	return -EINVAL;
}

int read_proc_ids(const char *root, pid_t pid, struct proc_ids *ret)
{
	struct proc_ids ids = {0};
	char text[4096];
	ssize_t len = read_of(root, pid, "stat", text, sizeof(text));
	int err;

	if (len < 0)
		return (int)len;
	err = parse_proc_stat(text, &ids);
	if (err)
		return err;
	/* The owner of /proc/PID is root for all that may not be dumped: ask the status. */
	len = read_of(root, pid, "status", text, sizeof(text));
	if (len < 0)
		return (int)len;
	err = parse_status_uid(text, &ids.uid);
	if (err)
		return err;
	*ret = ids;
	return 0;
}

static bool name_is_pid(const char *name, pid_t *ret_pid)
{
	struct scan scan = scan_of(name, strlen(name));
	uint64_t pid;

	if (!scan_u64(&scan, &pid) || !scan_done(&scan) || pid == 0 || pid > INT32_MAX)
		return false;
	*ret_pid = (pid_t)pid;
	return true;
}

int walk_processes(const char *root, int (*fn)(pid_t pid, void *arg), void *arg)
{
	char path[PATH_MAX];
	struct dirent *entry;
	pid_t pid;
	DIR *dir;
	int ret = file_path(root, "/proc", path, sizeof(path));

	if (ret)
		return ret;
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (ret == 0 && (entry = readdir(dir))) {
		if (name_is_pid(entry->d_name, &pid))
			ret = fn(pid, arg);
	}
	closedir(dir);
	return ret;
}
