// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/kmsg.h"
#include "tree.h"

/*
 * /dev/kmsg gives one record for each read() and fails between them in ways that no file does: the
 * test plays it. The executable's read() comes before libc's.
 */
struct step {
	const char *record; /* NULL: fails with error */
	int error;
};

static const struct step *steps;
static size_t step_count;

ssize_t read(int fd, void *buf, size_t size)
{
	const struct step *step = steps;

	(void)fd;
	if (step_count == 0) {
		errno = EAGAIN;
		return -1;
	}
	steps++;
	step_count--;
	if (!step->record) {
		errno = step->error;
		return step->error ? -1 : 0;
	}
	assert_true(strlen(step->record) <= size);
	memcpy(buf, step->record, strlen(step->record));
	return (ssize_t)strlen(step->record);
}

static void play(const struct step *these, size_t count)
{
	steps = these;
	step_count = count;
}

static bool parse(const char *record, struct kmsg_kill *ret)
{
	return parse_kmsg_kill(record, strlen(record), ret);
}

#define TAIL                                                                                       \
	") total-vm:103396kB, anon-rss:40600kB, file-rss:4kB, shmem-rss:628kB, UID:1000 "          \
	"pgtables:116kB oom_score_adj:500"
#define KILL(name) "3,2388,7201400106,-;Memory cgroup out of memory: Killed process 210 (" name TAIL

/* Lines of stock kernels. */
static const char *const real_lines[] = {
	/* 5.10 */
	"3,900,105751473,-;Memory cgroup out of memory: Killed process 210 (hog) total-vm:103396kB, "
	"anon-rss:40600kB, file-rss:4kB, shmem-rss:628kB, UID:0 pgtables:116kB oom_score_adj:0\n",
	/* 6.1 on cgroup v1 */
	"3,901,122520769,-;Out of memory (oom_kill_allocating_task): Killed process 250 (hog) "
	"total-vm:922596kB, anon-rss:414688kB, file-rss:4kB, shmem-rss:628kB, UID:0 pgtables:844kB "
	"oom_score_adj:0\n",
	/* 6.12 */
	"3,902,173547715,-;Out of memory: Killed process 307 (hog) total-vm:103396kB, "
	"anon-rss:102272kB, file-rss:0kB, shmem-rss:520kB, UID:0 pgtables:236kB oom_score_adj:0\n",
	/* 7.3, with the caller that some builds print */
	"3,903,226616369,-,caller=T332;Memory cgroup out of memory: Killed process 332 (hog) "
	"total-vm:103404kB, anon-rss:40824kB, file-rss:4kB, shmem-rss:628kB, UID:0 pgtables:120kB "
	"oom_score_adj:500\n",
};

static void lines_of_every_kernel_are_read(void **state)
{
	static const struct kmsg_kill expected[] = {
		{105751473, 210, 0, 0, 103396, 40600, 4, 628, 116, "hog"},
		{122520769, 250, 0, 0, 922596, 414688, 4, 628, 844, "hog"},
		{173547715, 307, 0, 0, 103396, 102272, 0, 520, 236, "hog"},
		{226616369, 332, 0, 500, 103404, 40824, 4, 628, 120, "hog"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(real_lines) / sizeof(*real_lines); i++) {
		struct kmsg_kill kill;

		memset(&kill, 0x5a, sizeof(kill));
		assert_true(parse(real_lines[i], &kill));
		assert_int_equal(kill.time_us, expected[i].time_us);
		assert_int_equal(kill.pid, expected[i].pid);
		assert_int_equal(kill.uid, expected[i].uid);
		assert_int_equal(kill.oom_score_adj, expected[i].oom_score_adj);
		assert_int_equal(kill.total_vm_kb, expected[i].total_vm_kb);
		assert_int_equal(kill.anon_kb, expected[i].anon_kb);
		assert_int_equal(kill.file_kb, expected[i].file_kb);
		assert_int_equal(kill.shmem_kb, expected[i].shmem_kb);
		assert_int_equal(kill.pgtables_kb, expected[i].pgtables_kb);
		assert_string_equal(kill.comm, expected[i].comm);
	}
}

static void names_that_imitate_the_line(void **state)
{
	static const struct {
		const char *record, *comm;
	} lines[] = {
		{KILL(") total-vm:1kB"), ") total-vm:1kB"},
		{KILL(", UID:0"), ", UID:0"},
		{KILL("("), "("},
		{KILL(")"), ")"},
		{KILL(") total-vm:"), ") total-vm:"},
		{KILL("a b"), "a b"},
		{KILL(""), ""},
		{KILL("\\x1b[31mrender"), "\x1b[31mrender"},
		{KILL("caf\\xc3\\xa9 worker"), "caf\xc3\xa9 worker"},
		{KILL("new\\x0aline"), "new\nline"},
		{KILL("back\\x5cslash"), "back\\slash"},
		{KILL("\\x5cx41"), "\\x41"}, /* undone once, not twice */
		{KILL("\\xzz\\x4"), "\\xzz\\x4"},
		{KILL("123456789012345"), "123456789012345"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct kmsg_kill kill;

		assert_true(parse(lines[i].record, &kill));
		assert_string_equal(kill.comm, lines[i].comm);
		assert_int_equal(kill.pid, 210);
		assert_int_equal(kill.uid, 1000);
		assert_int_equal(kill.total_vm_kb, 103396);
	}
}

static void what_user_space_writes_does_not_count(void **state)
{
	struct kmsg_kill kill;

	(void)state;
	/* Facility 1 and above: priority 11 is level 3 of user space. */
	assert_false(parse("11,5,7,-;Out of memory: Killed process 1 (x" TAIL, &kill));
	assert_false(parse("30,5,7,-;Out of memory: Killed process 1 (x" TAIL, &kill));
	assert_true(parse("7,5,7,-;Out of memory: Killed process 1 (x" TAIL, &kill));
	/* A program may quote a line, but the kernel's own begins with it. */
	assert_false(parse("6,5,7,-;x: Out of memory: Killed process 1 (x" TAIL, &kill));
}

static void a_dictionary_behind_the_text_is_not_of_it(void **state)
{
	struct kmsg_kill kill;

	(void)state;
	assert_true(parse(KILL("hog") "\n SUBSYSTEM=x\n DEVICE=+y:z\n", &kill));
	assert_false(parse("6,1,2,-;hello\n Out of memory: Killed process 1 (x" TAIL "\n", &kill));
}

static void adjustments_below_zero(void **state)
{
	struct kmsg_kill kill;

	(void)state;
	assert_true(parse("3,1,2,c;Out of memory: Killed process 9 (a) total-vm:1kB, anon-rss:2kB, "
			  "file-rss:3kB, shmem-rss:4kB, UID:4294967295 pgtables:5kB "
			  "oom_score_adj:-999\n",
		&kill));
	assert_int_equal(kill.oom_score_adj, -999);
	assert_true(kill.uid == UINT32_MAX);
	assert_int_equal(kill.pgtables_kb, 5);
}

static void a_line_with_a_number_amiss_is_not_taken(void **state)
{
	static const char *const records[] = {
		"",
		"3,1,2,-",
		";",
		"3,1,2;Out of memory: Killed process 1 (x" TAIL,
		"-3,1,2,-;Out of memory: Killed process 1 (x" TAIL,
		"3,1,2,-;Out of memory: Killed process (x" TAIL,
		"3,1,2,-;Out of memory: Killed process 0 (x" TAIL,
		"3,1,2,-;Out of memory: Killed process 4294967296 (x" TAIL,
		"3,1,2,-;Out of memory: Killed process 12(x" TAIL,
		"3,1,2,-;Out of memory: Killed process 12 (a name over 15 bytes" TAIL,
		"3,1,2,-;Out of memory: Killed process 12 (x)",
		"3,1,2,-;Out of memory: Kill process 12 (x" TAIL,
		"3,1,2,-;Out of memory and more: Killed process 12 (x" TAIL,
		"3,1,2,-;Out of memory: Killed process 12 (x" TAIL " and more",
		"3,1,2,-;Out of memory: Killed process 12 (x" TAIL "0",
		"3,1,2,-;Out of memory: Killed process 12 (x) total-vm:1kB, anon-rss:1kB, "
		"file-rss:1kB, UID:1 pgtables:1kB oom_score_adj:0",
		"3,1,2,-;Out of memory: Killed process 12 (x) total-vm:1, anon-rss:1kB, "
		"file-rss:1kB, shmem-rss:1kB, UID:1 pgtables:1kB oom_score_adj:0",
		"3,1,2,-;Out of memory: Killed process 12 (x) total-vm:99999999999999999999kB, "
		"anon-rss:1kB, file-rss:1kB, shmem-rss:1kB, UID:1 pgtables:1kB oom_score_adj:0",
		"3,1,2,-;Out of memory: Killed process 12 (x) total-vm:1kB, anon-rss:1kB, "
		"file-rss:1kB, shmem-rss:1kB, UID:4294967296 pgtables:1kB oom_score_adj:0",
	};
	struct kmsg_kill kill = {.pid = 77};

	(void)state;
	for (size_t i = 0; i < sizeof(records) / sizeof(*records); i++)
		assert_false(parse(records[i], &kill));
	assert_int_equal(kill.pid, 77);
}

static void a_record_cut_anywhere_is_not_taken(void **state)
{
	const char *record = KILL("hog");
	struct kmsg_kill kill;

	(void)state;
	for (size_t len = 0; len < strlen(record); len++) {
		char *block = malloc(len ? len : 1);
		bool taken;

		memcpy(block, record, len);
		taken = parse_kmsg_kill(block, len, &kill);
		free(block);
		/* only the digits of the very last number leave something that looks whole */
		assert_true(!taken || len >= strlen(record) - 2);
	}
}

static void random_bytes_break_nothing(void **state)
{
	uint64_t seed = 88172645463325252ULL;
	struct kmsg_kill kill;
	unsigned int taken = 0;

	(void)state;
	for (int round = 0; round < 300000; round++) {
		char record[512] = KILL("hog");
		size_t len = strlen(record);
		char *block = malloc(len);

		for (unsigned int i = 0; i < 1 + seed % 3; i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			record[(seed >> 8) % len] = (char)seed;
		}
		memcpy(block, record, len);
		if (parse_kmsg_kill(block, len, &kill)) {
			assert_true(memchr(kill.comm, 0, sizeof(kill.comm)) != NULL);
			taken++;
		}
		free(block);
	}
	assert_true(taken > 1000 && taken < 200000);
}

/* --- reading --- */

static void assert_kill(const struct kmsg_record *record, const char *comm)
{
	struct kmsg_kill kill;

	assert_true(parse_kmsg_kill(record->text, record->len, &kill));
	assert_string_equal(kill.comm, comm);
	assert_null(memchr(record->text, '\n', record->len));
}

static void the_kernels_records_come_out_oldest_first(void **state)
{
	static const struct step these[] = {
		{"6,1,2,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null)\n", 0},
		{KILL("first") "\n", 0},
		{"6,1,2,-;eth0: link up\n", 0},
		{NULL, EINTR},
		{"12,1,2,-;a program's own words\n", 0},
		{KILL("second") "\n SUBSYSTEM=x\n", 0},
	};
	static struct kmsg_record record;
	uint64_t lost = 0;

	(void)state;
	play(these, 6);
	assert_int_equal(kmsg_next(0, &record, &lost), 1);
	assert_int_equal(record.time_us, 2);
	assert_int_equal(kmsg_next(0, &record, &lost), 1);
	assert_kill(&record, "first");
	assert_int_equal(kmsg_next(0, &record, &lost), 1);
	assert_int_equal(kmsg_next(0, &record, &lost), 1);
	assert_kill(&record, "second");
	assert_int_equal(kmsg_next(0, &record, &lost), 0);
	assert_int_equal(lost, 0);
}

static void overwritten_records_are_counted_and_passed(void **state)
{
	static const struct step these[] = {
		{NULL, EPIPE}, {NULL, EPIPE}, {NULL, EINVAL}, {KILL("after") "\n", 0}};
	static struct kmsg_record record;
	uint64_t lost = 10;

	(void)state;
	play(these, 4);
	assert_int_equal(kmsg_next(0, &record, &lost), 1);
	assert_kill(&record, "after");
	assert_int_equal(lost, 13);
}

static void the_end_of_a_file_is_nothing_for_now(void **state)
{
	static const struct step these[] = {{NULL, 0}};
	static struct kmsg_record record;
	uint64_t lost = 0;

	(void)state;
	play(these, 1);
	assert_int_equal(kmsg_next(0, &record, &lost), 0);
}

static void errors_are_handed_on(void **state)
{
	static const struct step these[] = {{NULL, EIO}};
	struct step refusals[200];
	static struct kmsg_record record;
	uint64_t lost = 0;

	(void)state;
	play(these, 1);
	assert_int_equal(kmsg_next(0, &record, &lost), -EIO);
	/* what is no kmsg at all refuses for ever */
	for (size_t i = 0; i < 200; i++)
		refusals[i] = (struct step) {NULL, EINVAL};
	play(refusals, 200);
	assert_int_equal(kmsg_next(0, &record, &lost), -EINVAL);
	assert_true(step_count > 0);
}

static void it_opens_at_the_end_and_does_not_block(void **state)
{
	char *root = tree_new(), path[PATH_MAX];
	int fd;

	(void)state;
	tree_file(root, "/kmsg", KILL("old"));
	snprintf(path, sizeof(path), "%s/kmsg", root);
	fd = kmsg_open(path);
	assert_true(fd >= 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), strlen(KILL("old")));
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	snprintf(path, sizeof(path), "%s/none", root);
	assert_int_equal(kmsg_open(path), -ENOENT);
	mkfifo(path, 0600);
	assert_int_equal(kmsg_open(path), -ESPIPE);
	tree_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_every_kernel_are_read),
		cmocka_unit_test(names_that_imitate_the_line),
		cmocka_unit_test(what_user_space_writes_does_not_count),
		cmocka_unit_test(a_dictionary_behind_the_text_is_not_of_it),
		cmocka_unit_test(adjustments_below_zero),
		cmocka_unit_test(a_line_with_a_number_amiss_is_not_taken),
		cmocka_unit_test(a_record_cut_anywhere_is_not_taken),
		cmocka_unit_test(random_bytes_break_nothing),
		cmocka_unit_test(the_kernels_records_come_out_oldest_first),
		cmocka_unit_test(overwritten_records_are_counted_and_passed),
		cmocka_unit_test(the_end_of_a_file_is_nothing_for_now),
		cmocka_unit_test(errors_are_handed_on),
		cmocka_unit_test(it_opens_at_the_end_and_does_not_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
