// SPDX-License-Identifier: Apache-2.0
/*
 * load exec|fork|fault COUNT: COUNT times vfork and exec of /bin/true; or fork and exit of the
 * child; or a page touched for the first time. Prints the nanoseconds that it took, by the clock
 * and on the CPU (its own and its children's; other work of the machine does not move that one as
 * much).
 */
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "bench.h"

#define ROUND_PAGES 16384UL

extern char **environ;

static void exec_once(void)
{
	char *argv[] = {"true", NULL};
	pid_t pid;

	errno = posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ);
	if (errno)
		fail("/bin/true");
	waitpid(pid, NULL, 0);
}

static void fork_once(void)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void fault(unsigned long pages)
{
	volatile char *memory = mmap(
		NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		fail("mmap");
	madvise((void *)memory, pages * PAGE, MADV_NOHUGEPAGE);
	for (unsigned long i = 0; i < pages; i++)
		memory[i * PAGE] = 1;
	munmap((void *)memory, pages * PAGE);
}

static uint64_t cpu_ns(void)
{
	uint64_t us = 0;

	for (int who = RUSAGE_CHILDREN; who <= RUSAGE_SELF; who++) {
		struct rusage usage;

		getrusage(who, &usage);
		us += (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000ULL +
		      usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
	}
	return us * 1000;
}

int main(int argc, char **argv)
{
	unsigned long count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	uint64_t before = boot_ns();

	if (!count)
		return 64;
	if (!strcmp(argv[1], "exec"))
		for (unsigned long i = 0; i < count; i++)
			exec_once();
	else if (!strcmp(argv[1], "fork"))
		for (unsigned long i = 0; i < count; i++)
			fork_once();
	else if (!strcmp(argv[1], "fault"))
		for (unsigned long left = count; left;
			left -= left < ROUND_PAGES ? left : ROUND_PAGES)
			fault(left < ROUND_PAGES ? left : ROUND_PAGES);
	else
		return 64;
	printf("%llu %llu\n", (unsigned long long)(boot_ns() - before),
		(unsigned long long)cpu_ns());
	return 0;
}
