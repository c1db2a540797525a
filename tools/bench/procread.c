// SPDX-License-Identifier: Apache-2.0
/*
 * procread PASSES PAUSE_MS: what a pass of the recorder knows of each process, read from /proc, as
 * fast as it can be: no stdio, no allocation, a path relative to /proc, kernel threads left alone
 * after the first file. Prints for each pass "PROCESSES NS". stat           parent, page faults,
 * start time, name status         uid, RssAnon, RssFile, RssShmem, VmSwap, VmPTE oom_score_adj
 *   cgroup         the path in the memory hierarchy
 */
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>

#include "bench.h"

#define PF_KTHREAD 0x00200000ULL

enum stat_field { PPID = 4, FLAGS = 9, MINFLT = 10, MAJFLT = 12, STARTTIME = 22, STAT_FIELDS };

struct facts {
	uint64_t stat[STAT_FIELDS];
	uint64_t uid, anon, file, shmem, swap, pgtables;
	int64_t adj;
	char comm[16];
	char cgroup[256];
};

static int proc;
static char text[16384];
static volatile uint64_t taken; /* so that no field may be left out by the compiler */

/* The whole file with an end. 0: the process is gone. */
static size_t read_file(const char *pid, size_t pid_length, const char *name, size_t name_length)
{
	size_t used = 0;
	char path[64];
	ssize_t n;
	int fd;

	memcpy(path, pid, pid_length);
	path[pid_length] = '/';
	memcpy(path + pid_length + 1, name, name_length + 1);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	/* These files give all they have in one read if there is room. */
	n = read(fd, text, sizeof(text) - 1);
	if (n > 0)
		used = n;
	close(fd);
	text[used] = '\0';
	return used;
}

static uint64_t number(const char **at)
{
	const char *p = *at;
	uint64_t value = 0;

	while (*p == ' ' || *p == '\t' || *p == '-')
		p++;
	while (*p >= '0' && *p <= '9')
		value = value * 10 + (*p++ - '0');
	*at = p;
	return value;
}

static void parse_stat(size_t length, struct facts *facts)
{
	const char *name = memchr(text, '(', length), *end = memrchr(text, ')', length);
	size_t name_length;

	if (!name || !end)
		return;
	name_length = end - name - 1;
	if (name_length >= sizeof(facts->comm))
		name_length = sizeof(facts->comm) - 1;
	memcpy(facts->comm, name + 1, name_length);
	end += 4; /* past the state, which is a letter */
	for (int field = PPID; field <= STARTTIME; field++)
		facts->stat[field] = number(&end);
}

static void parse_status_line(const char *line, struct facts *facts)
{
	static const struct {
		const char *name;
		size_t length, offset;
	} wanted[] = {
#define FIELD(name, field) {name, sizeof(name) - 1, offsetof(struct facts, field)}
		FIELD("Uid:", uid),
		FIELD("RssAnon:", anon),
		FIELD("RssFile:", file),
		FIELD("RssShmem:", shmem),
		FIELD("VmPTE:", pgtables),
		FIELD("VmSwap:", swap),
#undef FIELD
	};

	if (*line != 'U' && *line != 'R' && *line != 'V')
		return;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (!memcmp(line, wanted[i].name, wanted[i].length)) {
			line += wanted[i].length;
			*(uint64_t *)((char *)facts + wanted[i].offset) = number(&line);
			return;
		}
}

static void parse_status(struct facts *facts)
{
	for (const char *line = text; line && *line;) {
		parse_status_line(line, facts);
		if (*line == 'V' && line[2] == 'S' && line[3] == 'w')
			return; /* nothing that is wanted comes after VmSwap */
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
}

static void parse_cgroup(struct facts *facts)
{
	const char *path = strstr(text, ":memory:"), *end;
	size_t length;

	path = path ? path + 8 : text + 3; /* "0::" */
	end = strchr(path, '\n');
	length = end ? (size_t)(end - path) : strlen(path);
	if (length >= sizeof(facts->cgroup))
		length = sizeof(facts->cgroup) - 1;
	memcpy(facts->cgroup, path, length);
}

#define READ(pid, length, name) read_file(pid, length, name, sizeof(name) - 1)

static int read_process(const char *pid, struct facts *facts)
{
	size_t pid_length = strlen(pid), length = READ(pid, pid_length, "stat");
	const char *at = text;

	if (!length)
		return 0;
	memset(facts, 0, offsetof(struct facts, cgroup) + 1);
	parse_stat(length, facts);
	if (facts->stat[FLAGS] & PF_KTHREAD)
		return 0;
	if (!READ(pid, pid_length, "status"))
		return 0;
	parse_status(facts);
	if (!READ(pid, pid_length, "oom_score_adj"))
		return 0;
	facts->adj = *text == '-' ? -(int64_t)number(&at) : (int64_t)number(&at);
	if (READ(pid, pid_length, "cgroup") < 4)
		return 0;
	parse_cgroup(facts);
	taken += facts->stat[MINFLT] + facts->stat[MAJFLT] + facts->stat[STARTTIME] +
		 facts->stat[PPID] + facts->uid + facts->anon + facts->file + facts->shmem +
		 facts->swap + facts->pgtables + facts->adj + facts->comm[0] + facts->cgroup[0];
	return 1;
}

static unsigned long pass(void)
{
	static struct facts facts;
	unsigned long count = 0;
	struct dirent *entry;
	DIR *dir = fdopendir(openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	if (!dir)
		fail("/proc");
	while ((entry = readdir(dir)))
		if (*entry->d_name >= '1' && *entry->d_name <= '9')
			count += read_process(entry->d_name, &facts);
	closedir(dir);
	return count;
}

int main(int argc, char **argv)
{
	unsigned long passes = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	long pause_ms = argc == 3 ? atol(argv[2]) : 0;

	if (!passes)
		return 64;
	proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		fail("/proc");
	pass();
	while (passes--) {
		struct timespec pause = {pause_ms / 1000, pause_ms % 1000 * 1000000};
		uint64_t before;
		unsigned long count;

		/* At the recorder's own pace: back to back, all would still be in the caches. */
		nanosleep(&pause, NULL);
		before = boot_ns();
		count = pass();

		printf("%lu %llu\n", count, (unsigned long long)(boot_ns() - before));
	}
	return 0;
}
