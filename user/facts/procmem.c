// SPDX-License-Identifier: Apache-2.0
#include "facts/procmem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "facts/file.h"
#include "facts/host.h"
#include "facts/procfs.h"
#include "facts/scan.h"

/* include/linux/sched.h: the same bits on every kernel since 2.6. */
#define PF_FORKNOEXEC 0x00000040
#define PF_KTHREAD 0x00200000

/* Numbers of proc(5) */
enum { STAT_STATE = 3, STAT_FLAGS = 9, STAT_MINFLT = 10, STAT_MAJFLT = 12, STAT_THREADS = 20 };

void proc_memory_init(struct proc_memory *memory)
{
	*memory = (struct proc_memory) {
		.uid = UINT32_MAX,
		.faults = UNKNOWN_U64,
		.anon_bytes = UNKNOWN_U64,
		.file_bytes = UNKNOWN_U64,
		.shmem_bytes = UNKNOWN_U64,
		.swap_bytes = UNKNOWN_U64,
		.pgtables_bytes = UNKNOWN_U64,
		.total_vm_bytes = UNKNOWN_U64,
		.oom_score_adj = PROC_ADJ_UNKNOWN,
		.oom_score = UNKNOWN_U64,
		.io_bytes = UNKNOWN_U64,
	};
}

/* --- stat --- */

static bool whole_number(struct scan field, uint64_t *ret)
{
	return scan_u64(&field, ret) && scan_done(&field);
}

int parse_stat_memory(const char *text, struct proc_memory *memory)
{
	uint64_t flags = 0, minor = 0, major = 0, threads = 0, faults;
	struct scan rest, field;
	struct proc_ids ids;
	const char *close;
	bool good = true;
	int err = parse_proc_stat(text, &ids);

	if (err)
		return err;
	/* That there is one, with a blank behind it, was checked just now. */
	close = strrchr(text, ')');
	rest = scan_of(close + 2, strlen(close + 2));
	for (int number = STAT_STATE; number <= STAT_THREADS && scan_field(&rest, ' ', &field);
		number++) {
		if (number == STAT_FLAGS)
			good &= whole_number(field, &flags);
		else if (number == STAT_MINFLT)
			good &= whole_number(field, &minor);
		else if (number == STAT_MAJFLT)
			good &= whole_number(field, &major);
		else if (number == STAT_THREADS)
			good &= whole_number(field, &threads);
	}
	if (!good || threads > UINT32_MAX || __builtin_add_overflow(minor, major, &faults))
		return -EINVAL;
	memcpy(memory->comm, ids.comm, sizeof(memory->comm));
	memory->ppid = ids.ppid;
	memory->start_ns = ids.start_ns;
	memory->threads = (uint32_t)threads;
	memory->faults = faults;
	memory->kernel_thread = flags & PF_KTHREAD;
	memory->forked = flags & PF_FORKNOEXEC;
	return 0;
}

/* --- status --- */

struct status_key {
	const char *name;
	size_t offset;
};

#define KEY(name, field)                                                                           \
	{                                                                                          \
		name, offsetof(struct proc_memory, field)                                          \
	}
static const struct status_key status_keys[] = {
	KEY("VmSize:", total_vm_bytes),
	KEY("RssAnon:", anon_bytes),
	KEY("RssFile:", file_bytes),
	KEY("RssShmem:", shmem_bytes),
	KEY("VmPTE:", pgtables_bytes),
	KEY("VmSwap:", swap_bytes),
};
#undef KEY

/* "	    112 kB" */
static void kilobytes(struct scan value, uint64_t *ret_bytes)
{
	uint64_t kb;

	scan_blanks(&value);
	if (scan_u64(&value, &kb) && scan_equals(&value, " kB") && kb <= UINT64_MAX / 1024 - 1)
		*ret_bytes = kb * 1024;
}

/* True for the last line that matters. */
static bool status_line(struct scan line, struct proc_memory *memory)
{
	uint64_t uid;

	if (scan_text(&line, "Uid:\t")) {
		if (scan_u64(&line, &uid) && uid <= UINT32_MAX)
			memory->uid = (uint32_t)uid;
		return false;
	}
	for (size_t i = 0; i < sizeof(status_keys) / sizeof(*status_keys); i++) {
		const struct status_key *key = &status_keys[i];
		uint64_t *value = (uint64_t *)((char *)memory + key->offset);

		if (!scan_text(&line, key->name))
			continue;
		memory->has_memory = true;
		kilobytes(line, value);
		return value == &memory->swap_bytes;
	}
	return false;
}

bool parse_status_memory(const char *text, size_t len, struct proc_memory *memory)
{
	struct scan scan = scan_of(text, len), line;

	while (scan_line(&scan, &line)) {
		if (status_line(line, memory))
			return true;
	}
	return false;
}

/*
 * Takes the whole lines out of text[0…len) and moves what is left to its front. A line that fills
 * the whole buffer goes: none that matters is so long.
 */
static bool take_lines(char *text, size_t size, size_t *len, bool *skip, struct proc_memory *memory)
{
	char *begin = text, *end = memrchr(text, '\n', *len);
	bool done;

	if (!end) {
		if (*len == size) {
			*skip = true;
			*len = 0;
		}
		return false;
	}
	if (*skip)
		begin = (char *)memchr(text, '\n', *len) + 1;
	*skip = false;
	done = begin <= end && parse_status_memory(begin, (size_t)(end + 1 - begin), memory);
	*len -= (size_t)(end + 1 - text);
	memmove(text, end + 1, *len);
	return done;
}

/*
 * Piece by piece: the line of the supplementary groups stands before the memory and may be of any
 * length, and what comes behind VmSwap need not be read at all.
 */
static int read_status(int dir, const char *name, struct proc_memory *memory)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err = 0;
	bool skip = false;
	char text[4096];
	size_t len = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t got = read(fd, text + len, sizeof(text) - len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			err = -errno;
		if (got <= 0)
			break;
		len += (size_t)got;
		if (take_lines(text, sizeof(text), &len, &skip, memory))
			break;
	}
	close(fd);
	return err;
}

/* --- io --- */

int parse_io(const char *text, size_t len, uint64_t *ret_bytes)
{
	uint64_t value, sum = 0;
	struct scan scan = scan_of(text, len), line;
	unsigned int found = 0;

	while (scan_line(&scan, &line)) {
		if (!scan_text(&line, "rchar: ") && !scan_text(&line, "wchar: "))
			continue;
		if (!whole_number(line, &value) || __builtin_add_overflow(sum, value, &sum))
			return -EINVAL;
		found++;
	}
	if (found != 2)
		return -EINVAL;
	*ret_bytes = sum;
	return 0;
}

/* --- a process --- */

/*
 * Terminated text of a file that the kernel hands out whole with the first read: file_read_at()
 * would ask once more for its end, at a tenth of all that a process costs.
 */
static ssize_t read_whole(int dir, const char *name, char *ret, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t len;

	if (fd < 0)
		return -errno;
	do
		len = read(fd, ret, size - 1);
	while (len < 0 && errno == EINTR);
	if (len < 0)
		len = -errno;
	else
		ret[len] = '\0';
	close(fd);
	return len;
}

/* A number and its newline. */
static bool number_at(int dir, const char *name, int64_t *ret)
{
	char text[32];
	ssize_t len = read_whole(dir, name, text, sizeof(text));
	struct scan scan;

	if (len <= 0)
		return false;
	scan = scan_of(text, strcspn(text, "\n"));
	return scan_i64(&scan, ret) && scan_done(&scan);
}

static int read_stat(int dir, struct proc_memory *memory)
{
	char text[2048];
	ssize_t len = read_whole(dir, "stat", text, sizeof(text));

	return len < 0 ? (int)len : parse_stat_memory(text, memory);
}

static void read_oom_files(int dir, unsigned int also, struct proc_memory *memory)
{
	int64_t value;

	if (number_at(dir, "oom_score_adj", &value) && value >= -1000 && value <= 1000)
		memory->oom_score_adj = (int32_t)value;
	if (also & PROC_MEMORY_SCORE && number_at(dir, "oom_score", &value) && value >= 0)
		memory->oom_score = (uint64_t)value;
}

static void read_io(int dir, struct proc_memory *memory)
{
	char text[512];
	ssize_t len = read_whole(dir, "io", text, sizeof(text));

	if (len > 0)
		parse_io(text, (size_t)len, &memory->io_bytes);
}

/* The directory stays that of this process: once it has ended, its files are gone for good. */
static int open_process(const char *root, pid_t pid, const char *below)
{
	char name[64], path[PATH_MAX];
	int err, fd;

	snprintf(name, sizeof(name), "/proc/%d%s", (int)pid, below);
	err = file_path(root, name, path, sizeof(path));
	if (err)
		return err;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int read_proc_memory(const char *root, pid_t pid, unsigned int also, struct proc_memory *ret)
{
	int dir = open_process(root, pid, ""), err;
	struct proc_memory memory;

	if (dir < 0)
		return dir;
	proc_memory_init(&memory);
	err = read_stat(dir, &memory);
	if (!err)
		err = read_status(dir, "status", &memory);
	if (!err)
		read_oom_files(dir, also, &memory);
	if (!err && also & PROC_MEMORY_IO)
		read_io(dir, &memory);
	close(dir);
	if (!err)
		*ret = memory;
	return err;
}

int read_thread_memory(const char *root, pid_t pid, struct proc_memory *memory)
{
	int fd = open_process(root, pid, "/task"), err = -ESRCH;
	char name[NAME_MAX + sizeof("/status")];
	struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		err = -errno;
		close(fd);
		return err;
	}
	while (err && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/status", entry->d_name);
		/* One that ends meanwhile is like one that has ended before. */
		if (!read_status(fd, name, memory) && memory->has_memory)
			err = 0;
	}
	closedir(dir);
	return err;
}
