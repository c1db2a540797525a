// SPDX-License-Identifier: Apache-2.0
/*
 * sharemm [place options] MIB
 *
 * Two processes on one address space (CLONE_VM without CLONE_THREAD, as vfork-like launchers make
 * them): the kernel chooses one and must kill the other too, which it does without a line in its
 * log.
 */
#define _GNU_SOURCE 1
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "workload.h"

static size_t bytes;

static int sharer(void *arg)
{
	(void)arg;
	set_comm("sharer");
	say("event=sharer");
	touch(map_memory(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1), bytes);
	say("event=done");
	sleep_for_ever();
	return 0;
}

int main(int argc, char **argv)
{
	static char stack[256 << 10] __attribute__((aligned(16)));
	struct place place = {0};
	int opt, status;
	pid_t pid;

	while ((opt = getopt(argc, argv, PLACE_OPTIONS)) != -1)
		if (place_option(&place, opt, optarg))
			return 64;
	if (argc - optind != 1)
		return 64;
	bytes = strtoul(argv[optind], NULL, 10) * MIB;
	take_place(&place, "sharemm");
	pid = clone(sharer, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	if (pid < 0)
		fail("clone");
	say("event=cloned pid_sharer=%d", pid);
	waitpid(pid, &status, 0);
	return 0;
}
