// SPDX-License-Identifier: Apache-2.0
/*
 * cow [place options] [-k KIND] [-s STEP_KIB] [-i MS] [-g FIFO] MIB WORKERS
 *
 * A parent touches MIB MiB and forks WORKERS. When FIFO is opened (without -g: at once) there are
 * write faults on present pages, STEP_KIB every MS ms. By KIND:
 *   copy    each worker writes to every page of the parent's: private copies, RSS does not move
 *   zero    each worker writes to memory of its own that it has read before: it only had the zero
 *           page (where the kernel uses one), so RSS moves and nothing was copied
 *   reuse   the workers are gone by then and the parent writes to its own pages: they are simply
 *           made writable again, nothing is copied and RSS does not move
 *
 * Who wrote says by how much its Private_Dirty and its Anonymous (of the kernel's smaps_rollup)
 * rose since its start; what rose in the first and not in the second was copied. Nobody outlives
 * the parent, which says when all are through.
 */
#define _GNU_SOURCE 1
#include <signal.h>
#include <sys/wait.h>

#include "workload.h"

#define MAX_WORKERS 64

enum kind {
	COPY,
	ZERO,
	REUSE,
};

static const char *const kind_names[] = {"copy", "zero", "reuse"};

static enum kind kind = COPY;
static size_t bytes, step = MIB;
static long step_ms;

static void read_all(volatile const char *p)
{
	for (size_t i = 0; i < bytes; i += PAGE)
		(void)p[i];
}

static void write_by_steps(volatile char *p)
{
	struct pace pace;

	pace_begin(&pace, step_ms);
	for (size_t i = 0; i < bytes; i += PAGE) {
		if (i && i % step == 0)
			pace_step(&pace);
		p[i] = 2;
	}
}

static void say_worked(const struct holding *before)
{
	struct holding after;
	long dirty, anon;

	measure(&after);
	dirty = after.private_dirty - before->private_dirty;
	anon = after.anon - before->anon;
	say("event=worked bytes=%zu rss=%ld anon=%ld private_dirty=%ld copied=%ld", bytes,
		after.rss - before->rss, anon, dirty, dirty - anon);
}

static void work(int number, char *inherited, int go, int ready)
{
	struct holding before;
	char c;

	if (kind == REUSE)
		_exit(0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	set_comm("copier");
	/* Once for what measuring itself touches. */
	measure(&before);
	measure(&before);
	if (kind == ZERO) {
		inherited = map_memory(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		/* A huge page would be a private one at once. */
		madvise(inherited, bytes, MADV_NOHUGEPAGE);
		read_all(inherited);
	}
	say("event=worker number=%d", number);
	if (write(ready, "r", 1) != 1 || read(go, &c, 1) != 1)
		_exit(1);
	write_by_steps(inherited);
	say_worked(&before);
	if (write(ready, "d", 1) != 1)
		_exit(1);
	sleep_for_ever();
}

/* Dies if a worker is gone. */
static void hear_from_all(int ready, int count)
{
	char c;

	while (count-- > 0)
		if (read(ready, &c, 1) != 1)
			fail("worker");
}

static void fork_workers(int count, char *inherited, const int *go, const int *ready)
{
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		if (!pid) {
			close(go[1]);
			close(ready[0]);
			work(i, inherited, go[0], ready[1]);
		}
	}
	/* With the last worker's end the pipe ends. */
	close(ready[1]);
}

static void run_workers(int count, const char *fifo, char *inherited)
{
	int go[2], ready[2];

	if (pipe(go) < 0 || pipe(ready) < 0)
		fail("pipe");
	fork_workers(count, inherited, go, ready);
	hear_from_all(ready[0], count);
	say("event=forked workers=%d", count);
	if (fifo)
		wait_fifo(fifo);
	for (int i = 0; i < count; i++)
		if (write(go[1], "g", 1) != 1)
			fail("go");
	hear_from_all(ready[0], count);
}

static void run_reuse(int count, const char *fifo, char *own)
{
	struct holding before;
	int nowhere[2] = {-1, -1};

	measure(&before);
	measure(&before);
	fork_workers(count, own, nowhere, nowhere);
	while (wait(NULL) > 0)
		;
	say("event=forked workers=%d", count);
	if (fifo)
		wait_fifo(fifo);
	write_by_steps(own);
	say_worked(&before);
}

static void usage(void)
{
	fprintf(stderr,
		"usage: cow [-C CGROUP] [-c COMM] [-w FIFO] [-j ADJ] [-u UID] [-S]\n"
		"           [-k copy|zero|reuse] [-s STEP_KIB] [-i MS] [-g FIFO] MIB WORKERS\n");
	exit(64);
}

static void set_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(kind_names) / sizeof(kind_names[0]); i++) {
		if (!strcmp(name, kind_names[i])) {
			kind = i;
			return;
		}
	}
	usage();
}

static int read_options(int argc, char **argv, struct place *place, const char **fifo)
{
	int opt, count;

	while ((opt = getopt(argc, argv, PLACE_OPTIONS "k:s:i:g:")) != -1) {
		if (opt == 'k')
			set_kind(optarg);
		else if (opt == 's')
			step = strtoul(optarg, NULL, 10) * 1024;
		else if (opt == 'i')
			step_ms = atol(optarg);
		else if (opt == 'g')
			*fifo = optarg;
		else if (place_option(place, opt, optarg))
			usage();
	}
	if (argc - optind != 2)
		usage();
	bytes = strtoul(argv[optind], NULL, 10) * MIB;
	count = atoi(argv[optind + 1]);
	if (count < 1 || count > MAX_WORKERS || !step)
		usage();
	return count;
}

int main(int argc, char **argv)
{
	struct place place = {0};
	const char *fifo = NULL;
	int count = read_options(argc, argv, &place, &fifo);
	char *memory;

	take_place(&place, kind_names[kind]);
	memory = map_memory(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (kind != ZERO)
		touch(memory, bytes);
	if (kind == REUSE)
		run_reuse(count, fifo, memory);
	else
		run_workers(count, fifo, memory);
	say("event=done workers=%d bytes=%zu", count, bytes);
	sleep_for_ever();
}
