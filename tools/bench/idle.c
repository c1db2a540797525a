// SPDX-License-Identifier: Apache-2.0
/*
 * idle [-i MS] [-k KIB] COUNT [CGROUP...]
 *
 * COUNT processes that do nothing, spread evenly over the cgroups. With -i each wakes about every
 * MS milliseconds and, in turn, touches up to KIB (256) of memory or gives it back. Writes "READY"
 * once all live, and ends them when its standard input ends; they end with it in any case.
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "bench.h"

static unsigned long interval_ms, area_pages = 64;

static void sleep_ms(unsigned long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* Each at its own moment and of its own size, the same in every run. */
__attribute__((noreturn)) static void change(unsigned int seed)
{
	volatile char *area = mmap(NULL, area_pages * PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		_exit(1);
	madvise((void *)area, area_pages * PAGE, MADV_NOHUGEPAGE);
	sleep_ms(rand_r(&seed) % interval_ms);
	for (;;) {
		unsigned long pages = 1 + rand_r(&seed) % area_pages;

		for (unsigned long i = 0; i < pages; i++)
			area[i * PAGE] = 1;
		sleep_ms(interval_ms);
		madvise((void *)area, area_pages * PAGE, MADV_DONTNEED);
		sleep_ms(interval_ms);
	}
}

__attribute__((noreturn)) static void live(unsigned int index, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It may have ended before that. */
	if (getppid() != parent)
		_exit(0);
	if (interval_ms)
		change(index);
	for (;;)
		pause();
}

/* This program goes in itself: its children begin there, which is cheaper than to move each. */
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

static void start(pid_t *pids, unsigned long count, char **cgroups, unsigned long cgroup_count)
{
	pid_t self = getpid();
	unsigned long in = 0;

	for (unsigned long i = 0; i < count; i++) {
		if (in < cgroup_count && i >= in * count / cgroup_count)
			join(cgroups[in++]);
		pids[i] = fork();
		if (pids[i] < 0)
			fail("fork");
		if (!pids[i])
			live(i, self);
	}
}

int main(int argc, char **argv)
{
	unsigned long count;
	pid_t *pids;
	char c;
	int opt;

	while ((opt = getopt(argc, argv, "i:k:")) != -1) {
		if (opt == 'i')
			interval_ms = strtoul(optarg, NULL, 10);
		else if (opt == 'k')
			area_pages = strtoul(optarg, NULL, 10) * 1024 / PAGE;
		else
			return 64;
	}
	count = optind < argc ? strtoul(argv[optind], NULL, 10) : 0;
	if (!count || !area_pages)
		return 64;
	pids = calloc(count, sizeof(*pids));
	if (!pids)
		fail("memory");
	start(pids, count, argv + optind + 1, argc - optind - 1);
	puts("READY");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	for (unsigned long i = 0; i < count; i++)
		kill(pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	return 0;
}
