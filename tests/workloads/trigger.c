// SPDX-License-Identifier: Apache-2.0
/*
 * trigger [place options] BIG_MIB SMALL_MIB
 *
 * The one who asks is not the one who dies: a big process eats BIG_MIB and goes to sleep; only then
 * a small one eats SMALL_MIB, trips the limit and lives on, since the kernel kills the big one.
 */
#define _GNU_SOURCE 1
#include <signal.h>
#include <sys/wait.h>

#include "workload.h"

static void big(size_t bytes, int ready)
{
	set_comm("big-sleeper");
	touch(map_memory(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1), bytes);
	say("event=asleep role=big");
	if (write(ready, "", 1) != 1)
		_exit(1);
	sleep_for_ever();
}

static void small(size_t bytes)
{
	set_comm("small-asker");
	say("event=awake role=small");
	touch(map_memory(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1), bytes);
	say("event=done role=small");
}

/*
 * The big one is asleep in pause() only when its state says so; until then it could still run while
 * it is weighed.
 */
static void wait_asleep(pid_t pid)
{
	char path[64], stat[512], *state;
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	do {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			fail("stat");
		n = read(fd, stat, sizeof(stat) - 1);
		close(fd);
		stat[n > 0 ? n : 0] = '\0';
		state = strrchr(stat, ')');
	} while (!state || state[2] != 'S');
}

int main(int argc, char **argv)
{
	struct place place = {0};
	int opt, status, ready[2];
	pid_t pid;
	char c;

	while ((opt = getopt(argc, argv, PLACE_OPTIONS)) != -1)
		if (place_option(&place, opt, optarg))
			return 64;
	if (argc - optind != 2)
		return 64;
	take_place(&place, "trigger");
	if (pipe(ready) < 0)
		fail("pipe");
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (!pid)
		big(strtoul(argv[optind], NULL, 10) * MIB, ready[1]);
	if (read(ready[0], &c, 1) != 1)
		fail("big");
	wait_asleep(pid);
	if (!fork()) {
		small(strtoul(argv[optind + 1], NULL, 10) * MIB);
		return 0;
	}
	if (wait(&status) != pid) {
		say("event=surprise what=small-ended-first");
		kill(pid, SIGKILL);
		return 1;
	}
	say("event=ended role=big pid_big=%d signal=%d", pid,
		WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	wait(&status);
	say("event=ended role=small signal=%d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	return 0;
}
