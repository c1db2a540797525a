// SPDX-License-Identifier: Apache-2.0
/*
 * signals COUNT SIGNAL: two processes send each other COUNT signals in turn, waiting for each;
 * SIGNAL by its number. Prints how many were sent, and the nanoseconds that all of it took: by the
 * clock, and of CPU time.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* `rounds` of them from the other one, each answered. */
static void answer(const sigset_t *set, pid_t other, int number, unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++) {
		if (sigwaitinfo(set, NULL) != number)
			fail("sigwaitinfo");
		if (kill(other, number))
			fail("kill");
	}
}

static long long cpu_ns(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000LL +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000LL;
}

int main(int argc, char **argv)
{
	unsigned long count = argc == 3 ? strtoul(argv[1], NULL, 10) / 2 : 0;
	int number = argc == 3 ? atoi(argv[2]) : 0, status;
	struct timespec from, to;
	pid_t child;
	sigset_t set;

	if (!count || sigemptyset(&set) || sigaddset(&set, number))
		return 64;
	/* Whoever waits for a signal of the other's takes one that was to end it for that. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		fail("sigprocmask");
	child = fork();
	if (child < 0)
		fail("fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		answer(&set, getppid(), number, count);
		_exit(0);
	}
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (unsigned long i = 0; i < count; i++) {
		if (kill(child, number))
			fail("kill");
		if (sigwaitinfo(&set, NULL) != number)
			fail("sigwaitinfo");
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	if (waitpid(child, &status, 0) != child || status)
		return 1;
	printf("%lu %lld %lld\n", 2 * count,
		(to.tv_sec - from.tv_sec) * 1000000000LL + to.tv_nsec - from.tv_nsec,
		cpu_ns(RUSAGE_SELF) + cpu_ns(RUSAGE_CHILDREN));
	return 0;
}
