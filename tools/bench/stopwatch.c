// SPDX-License-Identifier: Apache-2.0
/*
 * stopwatch [-a] [-k] [-o FILE] [-t SECONDS] -- COMMAND...
 *
 * Starts a tracer and tells how long it took from execve() until it was attached:
 *   without -a  until it wrote "READY" to file descriptor 9 (pass it --ready-fd 9)
 *   with -a     until a perf event of its own (tracepoint, kprobe, sample) has a BPF program on it,
 * which the kernel is asked for again and again: no tool's own word is taken Prints "pid NS RSS HWM
 * LCK" (KiB) and ends the tracer with SIGINT, or with -k leaves it running.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "bench.h"

#define READY_FD 9
#define MAX_FD 128
#define POLL_US 500

static uint64_t deadline;

static void redirect(const char *path, int to)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || dup2(fd, to) < 0)
		fail(path);
	close(fd);
}

static void start(char **command, const char *output, int ready_fd, uint64_t *started)
{
	char errors[PATH_MAX];

	/* Beside it, but for /dev/null. */
	snprintf(errors, sizeof(errors), strncmp(output, "/dev/", 5) ? "%s.stderr" : "%s", output);
	redirect(output, STDOUT_FILENO);
	redirect(errors, STDERR_FILENO);
	if (ready_fd >= 0 && dup2(ready_fd, READY_FD) < 0)
		fail("dup2");
	*started = boot_ns();
	execvp(command[0], command);
	fail(command[0]);
}

static int program_on(pid_t pid, int fd)
{
	union bpf_attr attr = {.task_fd_query = {.pid = pid, .fd = fd}};

	/* Of a program on a sampling event the kernel says no more than that it is there. */
	return !syscall(SYS_bpf, BPF_TASK_FD_QUERY, &attr, sizeof(attr)) || errno == EOPNOTSUPP;
}

static uint64_t wait_attached(pid_t pid)
{
	while (boot_ns() < deadline) {
		for (int fd = 3; fd < MAX_FD; fd++)
			if (program_on(pid, fd))
				return boot_ns();
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return 0;
		usleep(POLL_US);
	}
	return 0;
}

static uint64_t wait_ready(int fd)
{
	struct pollfd wait_for = {.fd = fd, .events = POLLIN};
	char text[8];

	if (poll(&wait_for, 1, (deadline - boot_ns()) / 1000000) != 1 ||
		read(fd, text, sizeof(text)) < 5)
		return 0;
	return boot_ns();
}

static long status_kib(pid_t pid, const char *name)
{
	char path[64], line[256];
	long kib = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			kib = strtol(line + strlen(name), NULL, 10);
	if (file)
		fclose(file);
	return kib;
}

/* Asked again, since a tool may miss a signal that does not interrupt its wait. */
static void end(pid_t pid)
{
	for (int tenths = 0; tenths < 50; tenths++) {
		kill(pid, tenths < 40 ? SIGINT : SIGKILL);
		for (int i = 0; i < 20; i++) {
			if (waitpid(pid, NULL, WNOHANG) == pid)
				return;
			usleep(5000);
		}
	}
}

int main(int argc, char **argv)
{
	int opt, attached = 0, keep = 0, ready[2] = {-1, -1}, seconds = 120;
	const char *output = "/dev/null";
	uint64_t *started, ended;
	pid_t pid;

	while ((opt = getopt(argc, argv, "+ako:t:")) != -1) {
		if (opt == 'a')
			attached = 1;
		else if (opt == 'k')
			keep = 1;
		else if (opt == 'o')
			output = optarg;
		else if (opt == 't')
			seconds = atoi(optarg);
		else
			return 64;
	}
	if (optind == argc)
		return 64;
	started = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (started == MAP_FAILED || (!attached && pipe2(ready, O_CLOEXEC)))
		fail("setup");
	deadline = boot_ns() + seconds * 1000000000ULL;
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (!pid)
		start(argv + optind, output, ready[1], started);
	if (!attached)
		close(ready[1]);
	ended = attached ? wait_attached(pid) : wait_ready(ready[0]);
	if (!ended) {
		fprintf(stderr, "stopwatch: %s did not attach\n", argv[optind]);
		kill(pid, SIGKILL);
		return 1;
	}
	/* Whatever is given back or allocated just after counts as well. */
	usleep(300000);
	printf("%d %llu %ld %ld %ld\n", pid, (unsigned long long)(ended - *started),
		status_kib(pid, "VmRSS:"), status_kib(pid, "VmHWM:"), status_kib(pid, "VmLck:"));
	if (keep)
		return 0;
	end(pid);
	return 0;
}
