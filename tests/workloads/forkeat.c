// SPDX-License-Identifier: Apache-2.0
/*
 * forkeat [place options] [-a WORKER_ADJ] PARENT_MIB WORKERS OWN_MIB
 *
 * A parent touches PARENT_MIB, forks WORKERS and waits. Each worker writes to every page of what it
 * inherited (private copies by copy-on-write: its RSS does not move) and then touches OWN_MIB of
 * its own. None begins before all have their names. Workers stay until they are killed; the parent
 * ends them, and itself, once each has either eaten or died. WORKER_ADJ, their oom_score_adj,
 * decides that a worker dies and not the parent.
 */
#define _GNU_SOURCE 1
#include <signal.h>
#include <sys/wait.h>

#include "workload.h"

#define MAX_WORKERS 64

static pid_t workers[MAX_WORKERS];
static const char *worker_adj;

/* Two pipes that carry nothing but their end: of `named` once each worker has its name or is dead,
 * of `begin` once the parent has seen that. */
static int named[2], begin[2];

static void wait_for_end(int fd)
{
	char c;

	while (read(fd, &c, 1) < 0 && errno == EINTR)
		;
	close(fd);
}

static void work(int number, char *inherited, size_t shared, size_t own, int ready)
{
	char comm[16];

	close(begin[1]);

	/*
	 * No worker outlives a killed parent, since the test waits for an empty cgroup; but where
	 * the whole group is to be killed, each must be left to the kernel.
	 */
	if (worker_adj) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		write_file("/proc/self/oom_score_adj", worker_adj);
	}
	snprintf(comm, sizeof(comm), "worker-%d", number);
	set_comm(comm);
	close(named[1]);
	wait_for_end(begin[0]);
	say("event=worker number=%d", number);
	if (shared)
		touch(inherited, shared);
	say("event=copied bytes=%zu", shared);
	if (own)
		touch(map_memory(own, MAP_PRIVATE | MAP_ANONYMOUS, -1), own);
	if (write(ready, "", 1) != 1)
		_exit(1);
	sleep_for_ever();
}

/* Returns once each worker has either eaten its fill or died; how many died. */
static int wait_for_workers(int fd, int count)
{
	int full = 0, dead = 0, status;
	char c;

	while (full + dead < count) {
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid > 0) {
			say("event=ended pid_worker=%d signal=%d", pid,
				WIFSIGNALED(status) ? WTERMSIG(status) : 0);
			for (int i = 0; i < count; i++)
				if (workers[i] == pid)
					workers[i] = 0;
			dead++;
		} else if (read(fd, &c, 1) == 1) {
			full++;
		} else {
			usleep(5000);
		}
	}
	return dead;
}

static void end_workers(int count)
{
	for (int i = 0; i < count; i++)
		if (workers[i])
			kill(workers[i], SIGKILL);
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	struct place place = {0};
	int opt, count, dead, ready[2];
	size_t shared, own;
	char *inherited = NULL;

	while ((opt = getopt(argc, argv, PLACE_OPTIONS "a:")) != -1)
		if (opt == 'a')
			worker_adj = optarg;
		else if (place_option(&place, opt, optarg))
			return 64;
	if (argc - optind != 3)
		return 64;
	shared = strtoul(argv[optind], NULL, 10) * MIB;
	count = atoi(argv[optind + 1]);
	own = strtoul(argv[optind + 2], NULL, 10) * MIB;
	if (count < 1 || count > MAX_WORKERS)
		return 64;
	take_place(&place, "forkeat");
	if (pipe2(ready, O_NONBLOCK) < 0 || pipe(named) < 0 || pipe(begin) < 0)
		fail("pipe");
	if (shared) {
		inherited = map_memory(shared, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		touch(inherited, shared);
	}
	for (int i = 0; i < count; i++) {
		workers[i] = fork();
		if (workers[i] < 0)
			fail("fork");
		if (!workers[i])
			work(i, inherited, shared, own, ready[1]);
	}
	close(named[1]);
	wait_for_end(named[0]);
	close(begin[1]);
	dead = wait_for_workers(ready[0], count);
	end_workers(count);
	say("event=done workers=%d died=%d", count, dead);
	return 0;
}
