// SPDX-License-Identifier: Apache-2.0
/*
 * victims [-m MIB] [-n COUNT] [-s] CGROUP...
 *
 * COUNT processes (1) in each cgroup, each of which touches MIB MiB (16): all let go at the same
 * moment, or with -s one at a time, the next when the last has been reaped. This program stays
 * outside and writes the account: a line "released NS", one "victim PID SIGNAL NS" for each as it
 * is reaped, and "ended NS". NS is CLOCK_BOOTTIME.
 */
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "bench.h"

static size_t bytes = 16 * MIB;
static int ready[2], go[2];

static void join(const char *cgroup)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		fail(path);
	close(fd);
}

static void eat(const char *cgroup)
{
	volatile char *memory;
	char c;

	join(cgroup);
	close(go[1]);
	if (write(ready[1], "", 1) != 1 || read(go[0], &c, 1) != 0)
		fail("barrier");
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		fail("mmap");
	for (size_t at = 0; at < bytes; at += PAGE)
		memory[at] = 1;
	_exit(0);
}

static void barrier_open(void)
{
	if (pipe(ready) || pipe(go))
		fail("pipe");
}

static void start(const char *cgroup)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (!pid)
		eat(cgroup);
}

static void release(int count)
{
	char c;

	while (count-- > 0)
		if (read(ready[0], &c, 1) != 1)
			fail("barrier");
	close(go[1]);
}

static void barrier_close(void)
{
	close(ready[0]);
	close(ready[1]);
	close(go[0]);
}

static int reap_one(void)
{
	int status;
	pid_t pid = wait(&status);

	if (pid < 0)
		return 0;
	printf("victim %d %d %llu\n", pid, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		(unsigned long long)boot_ns());
	return 1;
}

static void one_at_a_time(char **cgroups, int count)
{
	for (; *cgroups; cgroups++)
		for (int i = 0; i < count; i++) {
			barrier_open();
			start(*cgroups);
			release(1);
			while (reap_one())
				;
			barrier_close();
		}
}

static void all_at_once(char **cgroups, int count)
{
	int started = 0;

	barrier_open();
	for (; *cgroups; cgroups++)
		for (int i = 0; i < count; i++, started++)
			start(*cgroups);
	/* Released by the last line of release(): what is printed before is not late. */
	printf("started %d\n", started);
	fflush(stdout);
	release(started);
	printf("released %llu\n", (unsigned long long)boot_ns());
	while (reap_one())
		;
}

int main(int argc, char **argv)
{
	int opt, count = 1, sequential = 0;

	while ((opt = getopt(argc, argv, "m:n:s")) != -1) {
		if (opt == 'm')
			bytes = strtoul(optarg, NULL, 10) * MIB;
		else if (opt == 'n')
			count = atoi(optarg);
		else if (opt == 's')
			sequential = 1;
		else
			return 64;
	}
	if (optind == argc || count < 1 || !bytes)
		return 64;
	if (sequential)
		one_at_a_time(argv + optind, count);
	else
		all_at_once(argv + optind, count);
	printf("ended %llu\n", (unsigned long long)boot_ns());
	return 0;
}
