// SPDX-License-Identifier: Apache-2.0
/*
 * grow [place options] [-s STEP_KIB] [-i MS] [-r ROUNDS] [-f FILE] [-m CGROUP] [-R FIFO] [-H] MODE
 * MIB
 *
 * One process whose memory grows by MIB MiB in one way, at a given pace, and which knows by how
 * much:
 *   anon     private anonymous memory, touched
 *   write    FILE, written with write(2): page cache or tmpfs, in no process's RSS
 *   shared   FILE, mapped shared and touched
 *   read     FILE, mapped and read; written and dropped from the page cache before the start
 *   churn    private anonymous memory, mapped, touched and unmapped ROUNDS times: no growth
 * It takes STEP_KIB (churn: a whole round) every MS ms; without -i all of it at once. -m moves it
 * to another cgroup when half is done, -H asks for huge pages. At the end it says what it took and
 * what the kernel's own sums say it holds more than at its start, and sleeps. -R: it gives
 * everything back when that fifo is opened.
 */
#define _GNU_SOURCE 1
#include "workload.h"

#define HUGE_PAGE (2 * MIB)

struct growth {
	const char *mode;
	const char *file;
	const char *move_to;
	const char *free_fifo;
	size_t bytes, step;
	long step_ms;
	long rounds;
	int huge;
	char *memory;
	int fd;
};

static struct growth growth = {.step = MIB, .rounds = 100, .fd = -1};
static char block[64 << 10];

static void write_range(size_t from, size_t to)
{
	while (from < to) {
		size_t want = to - from < sizeof(block) ? to - from : sizeof(block);
		ssize_t n = write(growth.fd, block, want);

		if (n <= 0)
			fail("write");
		from += n;
	}
}

static void touch_range(size_t from, size_t to)
{
	volatile char *memory = growth.memory;

	for (; from < to; from += PAGE)
		memory[from] = 1;
}

static void read_range(size_t from, size_t to)
{
	volatile const char *memory = growth.memory;

	for (; from < to; from += PAGE)
		(void)memory[from];
}

static void open_file(void)
{
	growth.fd = open(growth.file ? growth.file : "", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (growth.fd < 0)
		fail("file");
}

/* Whoever reads a page first is charged for it: nobody may have it in the page cache. */
static void prepare_file(void)
{
	open_file();
	write_range(0, growth.bytes);
	if (fsync(growth.fd) < 0 || posix_fadvise(growth.fd, 0, 0, POSIX_FADV_DONTNEED))
		fail("drop");
}

static void map_file(void)
{
	if (growth.fd < 0)
		open_file();
	if (ftruncate(growth.fd, growth.bytes) < 0)
		fail("ftruncate");
	growth.memory = map_memory(growth.bytes, MAP_SHARED, growth.fd);
}

/* Whole huge pages: a first touch of the last one must not take more than was asked for. */
static void map_anonymous(void)
{
	size_t spare = growth.huge ? HUGE_PAGE : 0;
	char *p = map_memory(growth.bytes + spare, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (growth.huge) {
		p += HUGE_PAGE - (unsigned long)p % HUGE_PAGE;
		if (madvise(p, growth.bytes, MADV_HUGEPAGE) < 0)
			fail("madvise");
	}
	growth.memory = p;
}

static void grow_by_steps(struct pace *pace, void (*take)(size_t from, size_t to))
{
	for (size_t done = 0, to; done < growth.bytes; done = to) {
		to = growth.bytes - done > growth.step ? done + growth.step : growth.bytes;
		if (growth.move_to && done < growth.bytes / 2 && to >= growth.bytes / 2) {
			join_cgroup(growth.move_to);
			say("event=moved bytes=%zu", done);
		}
		take(done, to);
		say("event=grown bytes=%zu ms=%ld", to, pace_ms(pace));
		pace_step(pace);
	}
}

static void churn(struct pace *pace)
{
	for (long round = 0; round < growth.rounds; round++) {
		growth.memory = map_memory(growth.bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		touch_range(0, growth.bytes);
		munmap(growth.memory, growth.bytes);
		pace_step(pace);
	}
	growth.memory = NULL;
	say("event=churned bytes=%zu rounds=%ld", growth.bytes, growth.rounds);
}

static void grow(struct pace *pace)
{
	if (!strcmp(growth.mode, "anon")) {
		map_anonymous();
		grow_by_steps(pace, touch_range);
	} else if (!strcmp(growth.mode, "write")) {
		open_file();
		grow_by_steps(pace, write_range);
	} else if (!strcmp(growth.mode, "shared")) {
		map_file();
		grow_by_steps(pace, touch_range);
	} else if (!strcmp(growth.mode, "read")) {
		map_file();
		grow_by_steps(pace, read_range);
	} else {
		churn(pace);
	}
}

static void give_back(void)
{
	wait_fifo(growth.free_fifo);
	if (growth.memory)
		munmap(growth.memory, growth.bytes);
	if (growth.fd >= 0) {
		unlink(growth.file);
		close(growth.fd);
	}
	say("event=freed bytes=%zu", growth.bytes);
}

static int known_mode(const char *mode)
{
	static const char *const modes[] = {"anon", "write", "shared", "read", "churn"};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(mode, modes[i]))
			return 1;
	return 0;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: grow [-C CGROUP] [-c COMM] [-w FIFO] [-j ADJ] [-u UID] [-S] [-s STEP_KIB]\n"
		"            [-i MS] [-r ROUNDS] [-f FILE] [-m CGROUP] [-R FIFO] [-H]\n"
		"            anon|write|shared|read|churn MIB\n");
	exit(64);
}

static void read_options(int argc, char **argv, struct place *place)
{
	int opt;

	while ((opt = getopt(argc, argv, PLACE_OPTIONS "s:i:r:f:m:R:H")) != -1) {
		if (opt == 's')
			growth.step = strtoul(optarg, NULL, 10) * 1024;
		else if (opt == 'i')
			growth.step_ms = atol(optarg);
		else if (opt == 'r')
			growth.rounds = atol(optarg);
		else if (opt == 'f')
			growth.file = optarg;
		else if (opt == 'm')
			growth.move_to = optarg;
		else if (opt == 'R')
			growth.free_fifo = optarg;
		else if (opt == 'H')
			growth.huge = 1;
		else if (place_option(place, opt, optarg))
			usage();
	}
	if (argc - optind != 2 || !known_mode(argv[optind]) || !growth.step)
		usage();
	growth.mode = argv[optind];
	growth.bytes = strtoul(argv[optind + 1], NULL, 10) * MIB;
}

int main(int argc, char **argv)
{
	struct place place = {0};
	struct holding before, after;
	struct pace pace;

	read_options(argc, argv, &place);
	if (!strcmp(growth.mode, "read"))
		prepare_file();
	take_place(&place, growth.mode);
	measure(&before);
	pace_begin(&pace, growth.step_ms);
	grow(&pace);
	measure(&after);
	say("event=done mode=%s bytes=%zu ms=%ld rss=%ld swap=%ld private_dirty=%ld held=%ld",
		growth.mode, growth.bytes, pace_ms(&pace), after.rss - before.rss,
		after.swap - before.swap, after.private_dirty - before.private_dirty,
		after.rss + after.swap);
	if (growth.free_fifo)
		give_back();
	sleep_for_ever();
}
