// SPDX-License-Identifier: Apache-2.0
/*
 * refuse [place options] WHAT...: asks for what it will not be given, and says what it got.
 *
 *   as MIB ASK       ulimit -v MIB MiB above what it has, then mmap of ASK MiB
 *   data MIB ASK     ulimit -d likewise, then mmap
 *   brk MIB ASK      the same, then brk
 *   mremap MIB ASK   ulimit -v likewise, then a page that is to grow by ASK MiB
 *   map ASK          mmap of ASK MiB, without any limit of its own
 *   thread MIB       ulimit -v likewise, then threads until there is no room for a stack
 *   mappings         one mapping after the other
 *   big MIB          mmap of MIB MiB, which it gets, then a child; keeps it until SIGUSR1
 *   fork N           up to N children that wait
 *   nproc N          the same with ulimit -u 1, to be run as another user
 *   storm N MIB      N times an mmap of MIB MiB under ulimit -v: how long it took
 *   given N MIB      N times an mmap that succeeds, and munmap
 *   invalid          mmap that fails otherwise (EINVAL)
 *
 * The last line: event=refused call=... errno=... count=..., or event=given.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "workload.h"

/* It has been blocked from the beginning: one that came early counts. */
static int wait_for_usr1(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return sigwaitinfo(&set, NULL) != SIGUSR1;
}

static void block_usr1(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static unsigned long mapped_bytes(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file || fscanf(file, "%lu", &pages) != 1)
		fail("statm");
	fclose(file);
	return pages * PAGE;
}

static void limit(int resource, unsigned long bytes)
{
	struct rlimit rlimit = {bytes, bytes};

	if (setrlimit(resource, &rlimit))
		fail("setrlimit");
}

static int told(const char *call, int failed, int error, unsigned long count)
{
	if (failed)
		say("event=refused call=%s errno=%d count=%lu", call, error, count);
	else
		say("event=given call=%s", call);
	return 0;
}

static int map(unsigned long bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return told("mmap", at == MAP_FAILED, errno, 1);
}

/* The system call itself: sbrk() of some libraries is not it. */
static int grow_heap(unsigned long bytes)
{
	unsigned long end = (unsigned long)syscall(SYS_brk, 0);

	return told("brk", (unsigned long)syscall(SYS_brk, end + bytes) == end, ENOMEM, 1);
}

static int grow_mapping(unsigned long bytes)
{
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	at = mremap(at, PAGE, PAGE + bytes, MREMAP_MAYMOVE);
	return told("mremap", at == MAP_FAILED, errno, 1);
}

static int mappings(void)
{
	unsigned long count = 0;

	/* Neighbours that may not be the same mapping. */
	for (;; count++) {
		int protection = count & 1 ? PROT_READ : PROT_READ | PROT_WRITE;

		if (mmap(NULL, PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			break;
	}
	say("event=mapped count=%lu", count);
	return told("mmap", 1, errno, 1);
}

static int children(long most)
{
	int error = 0, made = 0;

	for (; made < most; made++) {
		pid_t pid = fork();

		if (pid == 0)
			sleep_for_ever();
		if (pid < 0) {
			error = errno;
			break;
		}
	}
	say("event=forked count=%d", made);
	told("fork", error != 0, error, 1);
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
	return 0;
}

/* The child is what is asked for: that it has the memory itself is not told. */
static int big(unsigned long bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		fail("mmap");
	return children(1) || wait_for_usr1();
}

static void *wait_there(void *arg)
{
	sleep_for_ever();
	return arg;
}

static int threads(void)
{
	unsigned long count = 0;
	pthread_t thread;
	int error;

	while (!(error = pthread_create(&thread, NULL, wait_there, NULL)))
		count++;
	say("event=threads count=%lu", count);
	return told("mmap", 1, error, 1);
}

static int storm(unsigned long times, unsigned long bytes, int fails)
{
	struct timespec begun, ended;
	unsigned long failed = 0;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (unsigned long i = 0; i < times; i++) {
		void *at = mmap(
			NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		failed += at == MAP_FAILED;
		if (at != MAP_FAILED)
			munmap(at, bytes);
	}
	clock_gettime(CLOCK_MONOTONIC, &ended);
	say("event=storm times=%lu failed=%lu ns=%lld", times, failed,
		(ended.tv_sec - begun.tv_sec) * 1000000000LL + ended.tv_nsec - begun.tv_nsec);
	return told("mmap", fails, ENOMEM, failed);
}

static int invalid(void)
{
	void *at = mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at != MAP_FAILED || errno != EINVAL)
		fail("mmap of nothing");
	at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0);
	if (at != MAP_FAILED || errno != EBADF)
		fail("mmap of no file");
	say("event=invalid");
	return 0;
}

static int act(const char *what, unsigned long first, unsigned long second)
{
	unsigned long more = mapped_bytes() + first * MIB;

	if (!strcmp(what, "as") || !strcmp(what, "mremap") || !strcmp(what, "thread"))
		limit(RLIMIT_AS, more);
	if (!strcmp(what, "data") || !strcmp(what, "brk"))
		limit(RLIMIT_DATA, more);
	if (!strcmp(what, "as") || !strcmp(what, "data"))
		return map(second * MIB);
	if (!strcmp(what, "brk"))
		return grow_heap(second * MIB);
	if (!strcmp(what, "mremap"))
		return grow_mapping(second * MIB);
	if (!strcmp(what, "map"))
		return map(first * MIB);
	if (!strcmp(what, "big"))
		return big(first * MIB);
	if (!strcmp(what, "thread"))
		return threads();
	if (!strcmp(what, "mappings"))
		return mappings();
	if (!strcmp(what, "nproc"))
		limit(RLIMIT_NPROC, 1);
	if (!strcmp(what, "fork") || !strcmp(what, "nproc"))
		return children((long)first);
	if (!strcmp(what, "storm"))
		limit(RLIMIT_AS, mapped_bytes() + MIB);
	if (!strcmp(what, "storm") || !strcmp(what, "given"))
		return storm(first, second * MIB, what[0] == 's');
	return strcmp(what, "invalid") ? 64 : invalid();
}

int main(int argc, char **argv)
{
	struct place place = {0};
	int opt;

	block_usr1();
	while ((opt = getopt(argc, argv, PLACE_OPTIONS)) != -1)
		if (place_option(&place, opt, optarg))
			return 64;
	if (argc - optind < 1)
		return 64;
	/* Its children are all of its process group. */
	setpgid(0, 0);
	take_place(&place, argv[optind]);
	return act(argv[optind], argc - optind > 1 ? strtoul(argv[optind + 1], NULL, 10) : 0,
		argc - optind > 2 ? strtoul(argv[optind + 2], NULL, 10) : 0);
}
