// SPDX-License-Identifier: Apache-2.0
/*
 * The command itself: started, waited for, sent the signals that we are sent, followed in its end.
 *
 * It runs in our process group, as under time(1) or env(1): the terminal's keys, job control and
 * hang-ups reach it as they would without us. A signal that was sent to us alone is passed on; one
 * that was sent to the whole group it has already. siginfo does not tell the two apart, so a
 * witness in the same group is asked whether it got it, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/clock.h"
#include "cmd/run_parts.h"

#define MS_NS 1000000ULL
#define SECOND_NS 1000000000ULL
#define WITNESS_NS 20000000L /* a signal reaches all of a group within one walk over it */
#define NOT_FOUND 127 /* as shells and env(1) end: POSIX, 2.8.2 */
#define NOT_EXECUTABLE 126

/* --- signals --- */

/* All that can be passed on. What the processor raises would be our own fault; SIGTTIN and SIGTTOU
 * stop us as they stop everybody. */
static void passed_on(sigset_t *ret)
{
	static const int left[] = {
		SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGTTIN, SIGTTOU};

	sigfillset(ret);
	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
		sigdelset(ret, left[i]);
}

int run_signals_open(struct run *run)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t set;

	passed_on(&set);
	/* Ignored, it would have the kernel reap the command without telling how it ended. */
	if (sigaction(SIGCHLD, &standard, &run->child_before) ||
		sigprocmask(SIG_BLOCK, &set, &run->signals_before))
		return -errno;
	run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return run->signal_fd < 0 ? -errno : 0;
}

/* --- the witness --- */

/* Asked for a signal by its number, answers 1 if it got that, too. */
static void bear_witness(int fd)
{
	struct timespec patience = {0, WITNESS_NS};
	unsigned char asked, answer;
	sigset_t set;

	while (read(fd, &asked, 1) == 1) {
		sigemptyset(&set);
		sigaddset(&set, asked);
		answer = sigtimedwait(&set, NULL, &patience) == asked;
		if (write(fd, &answer, 1) != 1)
			return;
	}
}

int run_witness_start(struct run *run, enum run_role *ret_role)
{
	int pair[2], null;

	*ret_role = RUN_RUNNER;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	run->witness = fork();
	if (run->witness < 0) {
		run->witness = 0;
		close(pair[0]);
		close(pair[1]);
		return -errno;
	}
	if (run->witness) {
		close(pair[1]);
		run->witness_fd = pair[0];
		return 0;
	}
	*ret_role = RUN_ELSE;
	prctl(PR_SET_NAME, "oomsnoop-wit");
	/* Nobody's pipe may be held open by it. */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	dup2(pair[1], STDERR_FILENO + 1);
	close_range(STDERR_FILENO + 2, ~0U, 0);
	bear_witness(STDERR_FILENO + 1);
	return 0;
}

static bool group_got_it(struct run *run, unsigned char signal)
{
	struct pollfd wait = {.fd = run->witness_fd, .events = POLLIN};
	unsigned char answer = 0;

	/* A command that made a group of its own was not reached by what went to ours. */
	if (getpgid(run->child) != getpgrp())
		return false;
	if (send(run->witness_fd, &signal, 1, MSG_NOSIGNAL) != 1 || poll(&wait, 1, 1000) != 1 ||
		recv(run->witness_fd, &answer, 1, 0) != 1)
		return false;
	return answer;
}

/* As the terminal stopped the command. In an orphaned group the kernel stops nobody. */
static void stop_likewise(int signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	kill(getpid(), signal);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void pass_on(struct run *run, const struct signalfd_siginfo *info)
{
	int signal = (int)info->ssi_signo;
	bool got;

	if (!run->child || run->ended)
		return;
	/* Before there is a witness: what the terminal sends, it sends to a group. */
	got = run->witness ? group_got_it(run, (unsigned char)signal) : info->ssi_code == SI_KERNEL;
	if (!got)
		kill(run->child, signal);
	run->facts.passed_signal = info->ssi_signo;
	run->facts.passed_by_kernel = info->ssi_code == SI_KERNEL;
	run->facts.passed_pid = info->ssi_pid;
	run->facts.passed_uid = info->ssi_uid;
	if (signal == SIGTSTP)
		stop_likewise(signal);
}

/* --- starting --- */

struct failure {
	int join, exec; /* -errno */
};

static void become_command(const struct run *run, int fd)
{
	struct failure failure = {.join = run_cgroup_join(run)};

	if (!failure.join) {
		sigaction(SIGCHLD, &run->child_before, NULL);
		sigprocmask(SIG_SETMASK, &run->signals_before, NULL);
		execvp(run->options.command[0], run->options.command);
		failure.exec = -errno;
	}
	if (write(fd, &failure, sizeof(failure)) < 0)
		return;
}

static int start_failed(const struct run *run, const struct failure *failure)
{
	char shown[512];
	struct buf buf;

	buf_init(&buf, shown, sizeof(shown));
	text_terminal(&buf, run->options.command[0], strlen(run->options.command[0]), 400);
	if (failure->join) {
		fprintf(stderr, "oomsnoop: run: cannot move '%s' into its cgroup: %s\n", shown,
			strerror(-failure->join));
		return 1;
	}
	fprintf(stderr, "oomsnoop: run: cannot execute '%s': %s\n", shown,
		strerror(-failure->exec));
	return failure->exec == -ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}

int run_child_start(struct run *run, enum run_role *ret_role)
{
	struct failure failure = {0};
	struct rusage ours;
	int pair[2], null;
	ssize_t got;

	*ret_role = RUN_RUNNER;
	if (pipe2(pair, O_CLOEXEC)) {
		fprintf(stderr, "oomsnoop: run: %s\n", strerror(errno));
		return 1;
	}
	/* From now on whoever loses its parent becomes our child. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!getrusage(RUSAGE_SELF, &ours))
		run->facts.maxrss_floor_bytes = (uint64_t)ours.ru_maxrss << 10;
	run->start_ns = run->sampler.start_ns = boot_now_ns();
	run->child = fork();
	if (run->child == 0) {
		*ret_role = RUN_ELSE;
		become_command(run, pair[1]);
		return NOT_EXECUTABLE;
	}
	if (run->child < 0) {
		fprintf(stderr, "oomsnoop: run: cannot start a process: %s\n", strerror(errno));
		return 1;
	}
	close(pair[1]);
	atomic_store(&run->shared->root_pid, (uint32_t)run->child);
	run->facts.pid = (uint32_t)run->child;
	run->sampler.root = run->child;
	got = read(pair[0], &failure, sizeof(failure));
	close(pair[0]);
	if (got == sizeof(failure)) {
		waitpid(run->child, NULL, 0);
		run->child = 0;
		return start_failed(run, &failure);
	}
	/* They are the command's: a pipe that it closes is closed. */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		if (fd != null)
			dup3(null, fd, O_CLOEXEC);
	return 0;
}

/* --- waiting --- */

static uint64_t timeval_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * SECOND_NS + (uint64_t)time->tv_usec * 1000;
}

static void child_ended(struct run *run, int status, const struct rusage *usage)
{
	struct run_facts *facts = &run->facts;

	run->end_ns = boot_now_ns();
	run->ended = true;
	facts->status = status;
	facts->wall_ns = run->end_ns - run->start_ns;
	facts->user_ns = timeval_ns(&usage->ru_utime);
	facts->system_ns = timeval_ns(&usage->ru_stime);
	facts->maxrss_bytes = (uint64_t)usage->ru_maxrss << 10;
}

/* Everybody who has ended: the command, our helpers, orphans of the family. */
static void reap(struct run *run)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
		if (pid == run->child && !run->ended) {
			child_ended(run, status, &usage);
		} else if (pid == run->tracer) {
			run->tracer_status = status;
			run->tracer_ended = true;
		} else if (pid == run->witness) {
			run->witness = 0;
		}
	}
}

/* One of those that end programs, if it was among them; else 0. */
static int take_signals(struct run *run)
{
	struct signalfd_siginfo info;
	int ends = 0;

	while (read(run->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM ||
			info.ssi_signo == SIGHUP || info.ssi_signo == SIGQUIT)
			ends = (int)info.ssi_signo;
		pass_on(run, &info);
	}
	reap(run);
	return ends;
}

static int until_ms(uint64_t until_ns)
{
	uint64_t now = boot_now_ns();

	return until_ns <= now ? 0 : (int)((until_ns - now) / MS_NS) + 1;
}

bool run_child_wait(struct run *run, uint64_t until_ns)
{
	struct pollfd wait = {.fd = run->signal_fd, .events = POLLIN};
	struct run_sampler *sampler = &run->sampler;

	while (!run->ended && boot_now_ns() < until_ns) {
		poll(&wait, 1, until_ms(sampler->next_ns < until_ns ? sampler->next_ns : until_ns));
		take_signals(run);
		if (!run->ended && boot_now_ns() >= sampler->next_ns && run_sample(sampler))
			sampler->next_ns = boot_now_ns() + SECOND_NS;
	}
	return run->ended;
}

bool run_is_childless(const struct run *run)
{
	siginfo_t info;

	/* Orphans are ours; so are the helpers, which would hide that there are none. */
	return !run->tracer && !run->witness &&
	       waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && errno == ECHILD;
}

int run_tracer_wait(struct run *run, uint64_t until_ns)
{
	struct pollfd wait = {.fd = run->signal_fd, .events = POLLIN};
	int signal = 0;

	reap(run);
	while (!run->tracer_ended && !signal && boot_now_ns() < until_ns) {
		poll(&wait, 1, until_ms(until_ns));
		signal = take_signals(run);
	}
	return signal;
}

/* --- the end --- */

int run_end_alike(const struct run *run)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};
	struct rlimit none = {0, 0};
	sigset_t set;
	int signal;

	if (WIFEXITED(run->facts.status))
		return WEXITSTATUS(run->facts.status);
	signal = WTERMSIG(run->facts.status);
	/* The core is the command's. */
	setrlimit(RLIMIT_CORE, &none);
	sigaction(signal, &standard, NULL);
	sigemptyset(&set);
	sigaddset(&set, signal);
	kill(getpid(), signal);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return 128 + signal;
}
