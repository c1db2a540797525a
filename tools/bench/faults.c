// SPDX-License-Identifier: Apache-2.0
/*
 * faults [-c CGROUP] [-f FILE] [-n WORKERS] [-t] [-w] KIND COUNT
 *
 * A storm that measures itself. Each of WORKERS (1) processes, or with -t threads of one process,
 * does COUNT operations on a CPU of its own, all let go at the same moment:
 *   touch  an anonymous page of 4 KiB is touched for the first time; they are mapped and given
 *          back 16 MiB at a time
 *   cow    a child writes to a page that it shares with its parent: 16 MiB, again and again
 *   fork   a child is forked, ends and is waited for
 *   exec   the same, but the child executes /bin/true
 *   write  64 KiB are written to FILE, which is cut to nothing at each 16 MiB
 * It joins CGROUP first, so that all is charged there. Some operations before the start, not
 * counted, warm up; with -w there are none. Prints operations, nanoseconds by the clock from the
 * first start to the last end, nanoseconds on the CPU, and page faults, of all workers.
 */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "bench.h"

#define CHUNK_PAGES 4096UL
#define BLOCK (64UL << 10)
#define FILE_BLOCKS (16 * MIB / BLOCK)
#define MAX_WORKERS 64
#define WARM_UP                                                                                    \
	16 /* a part of so many before the gate: caches, page tables, the allocator's lists */

struct result {
	uint64_t begin_ns, end_ns, cpu_ns, faults;
};

struct worker {
	int index;
	void (*run)(struct worker *worker, unsigned long count);
	volatile char *pages; /* cow */
	int file; /* write */
};

static unsigned long count;
static int as_threads, cold, ready[2], go[2];
static const char *file_name;
static struct result *results; /* one a worker, shared with the processes */

static volatile char *map_pages(void)
{
	char *memory = mmap(NULL, CHUNK_PAGES * PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		fail("mmap");
	/* Kernels without huge pages refuse; they map small ones anyway. */
	madvise(memory, CHUNK_PAGES * PAGE, MADV_NOHUGEPAGE);
	return memory;
}

static void write_each(volatile char *pages, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		pages[i * PAGE] = 1; /* not read before it: that would be a fault of its own */
}

static void touch(struct worker *worker, unsigned long left)
{
	(void)worker;
	while (left) {
		unsigned long n = left < CHUNK_PAGES ? left : CHUNK_PAGES;
		volatile char *pages = map_pages();

		write_each(pages, n);
		munmap((void *)pages, CHUNK_PAGES * PAGE);
		left -= n;
	}
}

static void wait_for(pid_t pid)
{
	int status;

	if (pid < 0)
		fail("fork");
	if (waitpid(pid, &status, 0) != pid || status)
		fail("child");
}

static void cow(struct worker *worker, unsigned long left)
{
	if (!worker->pages) {
		worker->pages = map_pages();
		write_each(worker->pages, CHUNK_PAGES);
	}
	while (left) {
		unsigned long n = left < CHUNK_PAGES ? left : CHUNK_PAGES;
		pid_t pid = fork();

		if (!pid) {
			write_each(worker->pages, n);
			_exit(0);
		}
		wait_for(pid);
		left -= n;
	}
}

static void fork_exit(struct worker *worker, unsigned long left)
{
	(void)worker;
	while (left--) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		wait_for(pid);
	}
}

static void fork_exec(struct worker *worker, unsigned long left)
{
	(void)worker;
	while (left--) {
		pid_t pid = fork();

		if (!pid) {
			execl("/bin/true", "true", NULL);
			_exit(127);
		}
		wait_for(pid);
	}
}

static void write_blocks(struct worker *worker, unsigned long left)
{
	static const char block[BLOCK];
	char path[PATH_MAX];

	if (worker->file < 0) {
		snprintf(path, sizeof(path), "%s.%d", file_name, worker->index);
		worker->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (worker->file < 0)
			fail(path);
		unlink(path);
	}
	while (left) {
		unsigned long n = left < FILE_BLOCKS ? left : FILE_BLOCKS;

		for (unsigned long i = 0; i < n; i++)
			if (pwrite(worker->file, block, BLOCK, i * BLOCK) != (ssize_t)BLOCK)
				fail("write");
		if (ftruncate(worker->file, 0))
			fail("ftruncate");
		left -= n;
	}
}

static const struct kind {
	const char *name;
	void (*run)(struct worker *worker, unsigned long count);
} kinds[] = {
	{"touch", touch},
	{"cow", cow},
	{"fork", fork_exit},
	{"exec", fork_exec},
	{"write", write_blocks},
};

static void pin(int index)
{
	cpu_set_t may, own;
	int seen = 0;

	if (sched_getaffinity(0, sizeof(may), &may))
		fail("sched_getaffinity");
	index %= CPU_COUNT(&may);
	CPU_ZERO(&own);
	/* From the last CPU down: the first serves most interrupts. */
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
		if (CPU_ISSET(cpu, &may) && seen++ == index)
			CPU_SET(cpu, &own);
	if (sched_setaffinity(0, sizeof(own), &own))
		fail("sched_setaffinity");
}

/* Of this worker and of the children that it has waited for (a process; threads share those). */
static void usage(uint64_t *cpu_ns, uint64_t *faults)
{
	const int whose[] = {as_threads ? RUSAGE_THREAD : RUSAGE_SELF, RUSAGE_CHILDREN};

	*cpu_ns = *faults = 0;
	for (int i = 0; i < (as_threads ? 1 : 2); i++) {
		struct rusage own;

		getrusage(whose[i], &own);
		*cpu_ns += (own.ru_utime.tv_sec + own.ru_stime.tv_sec) * 1000000000ULL +
			   (own.ru_utime.tv_usec + own.ru_stime.tv_usec) * 1000ULL;
		*faults += own.ru_minflt + own.ru_majflt;
	}
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct result *result = &results[worker->index];
	uint64_t cpu_ns, faults;
	char c;

	pin(worker->index);
	if (!cold)
		worker->run(worker, count / WARM_UP + 1);
	if (write(ready[1], "", 1) != 1 || read(go[0], &c, 1) != 1)
		fail("gate");
	usage(&cpu_ns, &faults);
	result->begin_ns = boot_ns();
	worker->run(worker, count);
	result->end_ns = boot_ns();
	usage(&result->cpu_ns, &result->faults);
	result->cpu_ns -= cpu_ns;
	result->faults -= faults;
	return NULL;
}

static void start(struct worker *worker, pthread_t *thread)
{
	pid_t pid;

	if (as_threads) {
		if (pthread_create(thread, NULL, work, worker))
			fail("pthread_create");
		return;
	}
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (!pid) {
		/* Else a worker that fails leaves the others waiting at the gate for ever. */
		close(ready[0]);
		close(go[1]);
		work(worker);
		_exit(0);
	}
}

static void release(int workers)
{
	char c = 0;

	if (!as_threads)
		close(ready[1]);
	for (int i = 0; i < workers; i++)
		if (read(ready[0], &c, 1) != 1)
			exit(1); /* it has said why */
	for (int i = 0; i < workers; i++)
		if (write(go[1], &c, 1) != 1)
			fail("gate");
}

static void finish(const pthread_t *threads, int workers)
{
	int status;

	for (int i = 0; i < workers; i++) {
		if (as_threads)
			pthread_join(threads[i], NULL);
		else if (wait(&status) < 0 || status)
			fail("worker");
	}
}

static void report(int workers)
{
	struct result sum = {.begin_ns = UINT64_MAX};

	for (int i = 0; i < workers; i++) {
		if (results[i].begin_ns < sum.begin_ns)
			sum.begin_ns = results[i].begin_ns;
		if (results[i].end_ns > sum.end_ns)
			sum.end_ns = results[i].end_ns;
		sum.cpu_ns += results[i].cpu_ns;
		sum.faults += results[i].faults;
	}
	printf("%lu %llu %llu %llu\n", count * workers,
		(unsigned long long)(sum.end_ns - sum.begin_ns), (unsigned long long)sum.cpu_ns,
		(unsigned long long)sum.faults);
}

static void join(const char *cgroup)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		fail(path);
	close(fd);
}

static void storm(void (*run)(struct worker *worker, unsigned long count), int workers)
{
	struct worker worker[MAX_WORKERS];
	pthread_t threads[MAX_WORKERS];

	if (pipe(ready) || pipe(go))
		fail("pipe");
	results = mmap(NULL, MAX_WORKERS * sizeof(*results), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (results == MAP_FAILED)
		fail("mmap");
	for (int i = 0; i < workers; i++) {
		worker[i] = (struct worker) {.index = i, .run = run, .file = -1};
		start(&worker[i], &threads[i]);
	}
	release(workers);
	finish(threads, workers);
}

int main(int argc, char **argv)
{
	void (*run)(struct worker * worker, unsigned long count) = NULL;
	int opt, workers = 1;

	while ((opt = getopt(argc, argv, "c:f:n:tw")) != -1) {
		if (opt == 'c')
			join(optarg);
		else if (opt == 'f')
			file_name = optarg;
		else if (opt == 'n')
			workers = atoi(optarg);
		else if (opt == 't')
			as_threads = 1;
		else if (opt == 'w')
			cold = 1;
		else
			return 64;
	}
	if (optind + 2 != argc || workers < 1 || workers > MAX_WORKERS)
		return 64;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[optind], kinds[i].name))
			run = kinds[i].run;
	count = strtoul(argv[optind + 1], NULL, 10);
	/* A thread's children are counted with its process's: only what needs none may be threads.
	 */
	if (!run || !count || (run == write_blocks && !file_name) ||
		(as_threads && run != touch && run != write_blocks))
		return 64;
	storm(run, workers);
	report(workers);
	return 0;
}
