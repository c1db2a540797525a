// SPDX-License-Identifier: Apache-2.0
/*
 * calls COUNT WHAT: COUNT system calls of one kind: getpid; read (of a byte); given (mmap of a page
 * and munmap); refused (mmap of more than RLIMIT_AS allows). Prints how many, and the nanoseconds
 * that they took: by the clock, and of CPU time.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int zero_fd;

static void get_pid(void)
{
	syscall(SYS_getpid);
}

static void read_byte(void)
{
	char byte;

	if (read(zero_fd, &byte, 1) != 1)
		exit(1);
}

static void map_page(void)
{
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || munmap(at, 4096))
		exit(1);
}

static void map_too_much(void)
{
	if (mmap(NULL, 8UL << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		exit(1);
}

static long long now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*call)(void);
	} calls[] = {{"getpid", get_pid}, {"read", read_byte}, {"given", map_page},
		{"refused", map_too_much}};
	const struct rlimit limit = {4UL << 30, 4UL << 30};
	unsigned long count = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	long long clock, cpu;

	zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	if (!count || zero_fd < 0 || setrlimit(RLIMIT_AS, &limit))
		return 64;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(argv[2], calls[i].name))
			continue;
		clock = now_ns(CLOCK_MONOTONIC);
		cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
		for (unsigned long done = 0; done < count; done++)
			calls[i].call();
		printf("%lu %lld %lld\n", count, now_ns(CLOCK_MONOTONIC) - clock,
			now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu);
		return 0;
	}
	return 64;
}
