/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the memory eaters share. A workload says what it does, one line of key=value pairs per step,
 * each written by one write(2) so that lines of several processes never mix and the last line
 * before a SIGKILL is whole. Tests hold these lines against the kernel's report and the tracer's
 * record.
 */
#ifndef TESTS_WORKLOAD_H
#define TESTS_WORKLOAD_H

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define MIB (1UL << 20)
#define PAGE 4096UL
/* How often an eater says how far it is. */
#define STEP (4 * MIB)

/* How a workload puts itself in place before it eats. */
struct place {
	const char *cgroup; /* directory to join */
	const char *comm; /* name to take, \xNN escapes allowed */
	const char *fifo; /* wait until somebody opens this for writing */
	const char *adj; /* oom_score_adj */
	long uid; /* 0: stay root */
	int small_pages; /* no transparent huge pages */
};

#define PLACE_OPTIONS "C:c:w:j:u:S"

__attribute__((format(printf, 1, 2))) static inline void say(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n;

	n = snprintf(line, sizeof(line), "pid=%d ", getpid());
	va_start(ap, fmt);
	n += vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	va_end(ap);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	if (write(STDOUT_FILENO, line, n) < 0)
		_exit(74);
}

static inline void fail(const char *what)
{
	say("event=error what=%s errno=%d", what, errno);
	exit(1);
}

static inline void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		fail("open");
	if (write(fd, text, strlen(text)) < 0)
		fail("write");
	close(fd);
}

static inline void join_cgroup(const char *dir)
{
	char path[PATH_MAX], pid[16];

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	snprintf(pid, sizeof(pid), "%d", getpid());
	write_file(path, pid);
}

static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* A shell cannot put every byte into an argument safely; \xNN can. */
static inline void set_comm(const char *escaped)
{
	char name[16];
	size_t n = 0;

	while (*escaped && n < sizeof(name) - 1) {
		if (escaped[0] == '\\' && escaped[1] == 'x' && hex_digit(escaped[2]) >= 0 &&
			hex_digit(escaped[3]) >= 0) {
			name[n++] = (char)(hex_digit(escaped[2]) << 4 | hex_digit(escaped[3]));
			escaped += 4;
		} else {
			name[n++] = *escaped++;
		}
	}
	name[n] = '\0';
	if (prctl(PR_SET_NAME, name) < 0)
		fail("prctl");
}

/*
 * Opening a FIFO for reading blocks until the test opens it for writing: a start signal for any
 * number of readers.
 */
static inline void wait_fifo(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail("fifo");
	close(fd);
}

static inline int place_option(struct place *place, int opt, char *arg)
{
	switch (opt) {
	case 'C':
		place->cgroup = arg;
		return 0;
	case 'c':
		place->comm = arg;
		return 0;
	case 'w':
		place->fifo = arg;
		return 0;
	case 'j':
		place->adj = arg;
		return 0;
	case 'u':
		place->uid = atol(arg);
		return 0;
	case 'S':
		place->small_pages = 1;
		return 0;
	default:
		return -1;
	}
}

/*
 * The first line is written before the cgroup is joined, so that the log's own page is not charged
 * to it.
 */
static inline void take_place(const struct place *place, const char *mode)
{
	say("event=start mode=%s", mode);
	if (place->adj)
		write_file("/proc/self/oom_score_adj", place->adj);
	if (place->cgroup)
		join_cgroup(place->cgroup);
	if (place->small_pages)
		prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	if (place->uid &&
		(setgroups(0, NULL) < 0 || setgid(place->uid) < 0 || setuid(place->uid) < 0))
		fail("setuid");
	if (place->comm)
		set_comm(place->comm);
	say("event=ready");
	if (place->fifo)
		wait_fifo(place->fifo);
}

static inline char *map_memory(size_t bytes, int flags, int fd)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0);

	if (p == MAP_FAILED)
		fail("mmap");
	return p;
}

/*
 * A plain store: one that reads first would map the zero page, and fault a second time to replace
 * it.
 */
static inline void touch(volatile char *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += PAGE) {
		if (i && i % STEP == 0)
			say("event=touched bytes=%zu", i);
		p[i] = 1;
	}
	say("event=touched bytes=%zu", bytes);
}

/* What the kernel's exact sums, by a walk over the page tables, say of this process. */
struct holding {
	long rss;
	long anon;
	long swap;
	long private_dirty; /* pages that nobody else maps: a copy of a shared page adds to it */
};

static inline long rollup_bytes(const char *rollup, const char *key)
{
	const char *line = strstr(rollup, key);

	return line ? strtol(line + strlen(key), NULL, 10) * 1024 : 0;
}

static inline void measure(struct holding *ret)
{
	char text[4096];
	int fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		fail("smaps_rollup");
	close(fd);
	text[n] = '\0';
	ret->rss = rollup_bytes(text, "\nRss:");
	ret->anon = rollup_bytes(text, "\nAnonymous:");
	ret->swap = rollup_bytes(text, "\nSwap:");
	ret->private_dirty = rollup_bytes(text, "\nPrivate_Dirty:");
}

/* Steps at equal distances: the times do not drift with what a step costs. */
struct pace {
	struct timespec begun, next;
	long step_ms; /* 0: as fast as it can */
};

static inline void pace_begin(struct pace *pace, long step_ms)
{
	clock_gettime(CLOCK_MONOTONIC, &pace->begun);
	pace->next = pace->begun;
	pace->step_ms = step_ms;
}

static inline void pace_step(struct pace *pace)
{
	if (!pace->step_ms)
		return;
	pace->next.tv_nsec += pace->step_ms % 1000 * 1000000;
	pace->next.tv_sec += pace->step_ms / 1000 + pace->next.tv_nsec / 1000000000;
	pace->next.tv_nsec %= 1000000000;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &pace->next, NULL);
}

static inline long pace_ms(const struct pace *pace)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - pace->begun.tv_sec) * 1000 +
	       (now.tv_nsec - pace->begun.tv_nsec) / 1000000;
}

static inline void sleep_for_ever(void)
{
	for (;;)
		pause();
}

#endif
