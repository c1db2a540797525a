// SPDX-License-Identifier: Apache-2.0
/*
 * eat [place options] [-f FILE] [-n NODE] [-P PID] [-x] MODE MIB
 *
 * One process that eats MIB MiB in one way and then sleeps (-x: exits):
 *   anon     private anonymous memory
 *   file     pages of FILE, mapped shared (file pages on ramfs, shmem on tmpfs)
 *   write    pages of FILE, written with write(2): charged, but in no process's RSS
 *   thread   private anonymous memory, touched by a second thread
 *   directories  kernel memory: so many in FILE, on a tmpfs
 *   pipes    pages of pipes, which the kernel allocates for itself and cannot move
 * -n binds the memory to a NUMA node (mbind), -P takes that pid (to make a pid come back).
 */
#define _GNU_SOURCE 1
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "workload.h"

#define MPOL_BIND 2

struct meal {
	const char *mode;
	const char *file;
	size_t bytes;
	int node;
	pid_t pid;
	int exit_after;
};

static struct meal meal = {.node = -1};

static int open_file(void)
{
	int fd = open(meal.file ? meal.file : "", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		fail("file");
	return fd;
}

static void bind_to_node(int node)
{
	unsigned long mask = 1UL << node;

	if (syscall(SYS_set_mempolicy, MPOL_BIND, &mask, sizeof(mask) * 8) < 0)
		fail("set_mempolicy");
}

static void eat_anon(void)
{
	touch(map_memory(meal.bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1), meal.bytes);
}

static void eat_file(void)
{
	int fd = open_file();

	if (ftruncate(fd, meal.bytes) < 0)
		fail("ftruncate");
	touch(map_memory(meal.bytes, MAP_SHARED, fd), meal.bytes);
}

static void eat_write(void)
{
	static char block[64 << 10];
	int fd = open_file();

	for (size_t done = 0; done < meal.bytes;) {
		ssize_t n = write(fd, block, sizeof(block));

		if (n < 0)
			fail("write");
		done += n;
		if (done % STEP == 0)
			say("event=written bytes=%zu", done);
	}
}

static void *eater_thread(void *arg)
{
	(void)arg;
	say("event=thread tid=%ld", syscall(SYS_gettid));
	eat_anon();
	return NULL;
}

static void eat_in_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, eater_thread, NULL))
		fail("pthread_create");
	pthread_join(thread, NULL);
}

/* Kernel memory, which no resident set shows: about 1 KiB for each directory. */
static void eat_directories(void)
{
	char path[256];

	if (!meal.file || mkdir(meal.file, 0700) < 0)
		fail("mkdir");
	for (size_t i = 0; i < meal.bytes / 1024; i++) {
		snprintf(path, sizeof(path), "%s/%zu", meal.file, i);
		if (mkdir(path, 0700) < 0)
			fail("mkdir");
	}
}

/* What one pipe holds is the most that /proc/sys/fs/pipe-max-size allows anybody as it comes. Its
 * reading end alone keeps the pages, so that a process's 1024 descriptors are enough for 1 GiB. */
static void fill_pipe(void)
{
	static char block[64 << 10];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		fail("pipe");
	if (fcntl(ends[1], F_SETPIPE_SZ, MIB) < 0)
		fail("pipe size");
	for (size_t done = 0; done < MIB;) {
		ssize_t n = write(ends[1], block, sizeof(block));

		if (n < 0)
			fail("pipe write");
		done += n;
	}
	close(ends[1]);
}

static void eat_pipes(void)
{
	for (size_t done = 0; done < meal.bytes;) {
		fill_pipe();
		done += MIB;
		if (done % STEP == 0 || done == meal.bytes)
			say("event=written bytes=%zu", done);
	}
}

/* Go on as a child that has the wanted pid; the parent only waits and ends as the child did. */
static void become_pid(pid_t pid)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&pid,
		.set_tid_size = 1,
	};
	long child = syscall(SYS_clone3, &args, sizeof(args));
	int status;

	if (child < 0)
		fail("clone3");
	if (child == 0)
		return;
	while (waitpid(child, &status, 0) < 0)
		;
	_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

static void eat(void)
{
	if (meal.node >= 0)
		bind_to_node(meal.node);
	if (!strcmp(meal.mode, "anon"))
		eat_anon();
	else if (!strcmp(meal.mode, "file"))
		eat_file();
	else if (!strcmp(meal.mode, "write"))
		eat_write();
	else if (!strcmp(meal.mode, "thread"))
		eat_in_thread();
	else if (!strcmp(meal.mode, "directories"))
		eat_directories();
	else if (!strcmp(meal.mode, "pipes"))
		eat_pipes();
	else
		fail("mode");
}

static void usage(void)
{
	fprintf(stderr,
		"usage: eat [-C CGROUP] [-c COMM] [-w FIFO] [-j ADJ] [-u UID] [-S] [-f FILE]\n"
		"           [-n NODE] [-P PID] [-x] anon|file|write|thread|directories|pipes MIB\n");
	exit(64);
}

int main(int argc, char **argv)
{
	struct place place = {0};
	int opt;

	while ((opt = getopt(argc, argv, PLACE_OPTIONS "f:n:P:x")) != -1) {
		if (opt == 'f')
			meal.file = optarg;
		else if (opt == 'n')
			meal.node = atoi(optarg);
		else if (opt == 'P')
			meal.pid = atoi(optarg);
		else if (opt == 'x')
			meal.exit_after = 1;
		else if (place_option(&place, opt, optarg))
			usage();
	}
	/* More arguments are allowed: they only make a hostile command line. */
	if (argc - optind < 2)
		usage();
	meal.mode = argv[optind];
	meal.bytes = strtoul(argv[optind + 1], NULL, 10) * MIB;
	if (meal.pid)
		become_pid(meal.pid);
	take_place(&place, meal.mode);
	eat();
	say("event=done");
	if (!meal.exit_after)
		sleep_for_ever();
	return 0;
}
