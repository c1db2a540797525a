// SPDX-License-Identifier: Apache-2.0
/*
 * herd [place options] [-b KIB] [-n AT_ONCE] idle|brief|vfork COUNT
 *
 * A parent of many:
 *   idle    COUNT children that pause, until the parent is gone
 *   brief   COUNT children, AT_ONCE at a time (1 without -n), each of which touches KIB KiB and
 * ends vfork   COUNT children, one after the other, that end at once: many in a short time, since
 * no address space is made for them It says when they are all there, or all gone, and sleeps.
 */
#define _GNU_SOURCE 1
#include <signal.h>
#include <sys/wait.h>

#include "workload.h"

static size_t bytes;
static long count, at_once = 1;

static void child_idle(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sleep_for_ever();
}

static void child_brief(void)
{
	volatile char *p = bytes ? map_memory(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1) : NULL;

	for (size_t i = 0; i < bytes; i += PAGE)
		p[i] = 1;
	_exit(0);
}

static void fork_one(void (*child)(void))
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (!pid)
		child();
}

/* How many ended by themselves: one that was killed did not. */
static long reap(long children)
{
	long whole = 0;
	int status;

	while (children-- > 0 && wait(&status) > 0)
		whole += WIFEXITED(status) && WEXITSTATUS(status) == 0;
	return whole;
}

static void run_brief(void)
{
	long whole = 0;

	for (long i = 0; i < count; i++) {
		if (i >= at_once)
			whole += reap(1);
		fork_one(child_brief);
	}
	whole += reap(count < at_once ? count : at_once);
	say("event=done children=%ld ended=%ld bytes=%zu", count, whole, bytes);
}

/* A function of its own: the child runs on this frame. */
__attribute__((noinline)) static void vfork_one(void)
{
	pid_t pid = vfork();

	if (pid < 0)
		fail("vfork");
	if (!pid)
		_exit(0);
}

static void run_vfork(void)
{
	long whole = 0;

	for (long i = 0; i < count; i++) {
		vfork_one();
		whole += reap(1);
	}
	say("event=done children=%ld ended=%ld bytes=0", count, whole);
}

static void run_idle(void)
{
	for (long i = 0; i < count; i++)
		fork_one(child_idle);
	say("event=done children=%ld bytes=0", count);
}

static void usage(void)
{
	fprintf(stderr, "usage: herd [-C CGROUP] [-c COMM] [-w FIFO] [-j ADJ] [-u UID] [-S]\n"
			"            [-b KIB] [-n AT_ONCE] idle|brief|vfork COUNT\n");
	exit(64);
}

static void (*mode_of(const char *name))(void)
{
	if (!strcmp(name, "idle"))
		return run_idle;
	if (!strcmp(name, "brief"))
		return run_brief;
	if (!strcmp(name, "vfork"))
		return run_vfork;
	usage();
	return NULL;
}

int main(int argc, char **argv)
{
	struct place place = {0};
	void (*run)(void);
	int opt;

	while ((opt = getopt(argc, argv, PLACE_OPTIONS "b:n:")) != -1) {
		if (opt == 'b')
			bytes = strtoul(optarg, NULL, 10) * 1024;
		else if (opt == 'n')
			at_once = atol(optarg);
		else if (place_option(&place, opt, optarg))
			usage();
	}
	if (argc - optind != 2)
		usage();
	run = mode_of(argv[optind]);
	count = atol(argv[optind + 1]);
	if (count < 1 || at_once < 1)
		usage();
	take_place(&place, argv[optind]);
	run();
	sleep_for_ever();
}
