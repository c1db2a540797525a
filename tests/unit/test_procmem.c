// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "facts/host.h"
#include "facts/procmem.h"
#include "tree.h"

static int set_up(void **state)
{
	*state = tree_new();
	return 0;
}

static int tear_down(void **state)
{
	tree_remove(*state);
	return 0;
}

/* --- stat --- */

/* From the state on: ppid 41, flags, 111 minor and 7 major faults, 3 threads, start 12345. */
#define STAT_TAIL(flags)                                                                           \
	" S 41 42 42 0 -1 " flags " 111 9999 7 8888 5 3 0 0 20 0 3 0 12345 2265088 300 "           \
	"18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
#define STAT(name) "42 (" name ")" STAT_TAIL("4194304")

static void stat_tells_faults_threads_and_flags(void **state)
{
	struct proc_memory memory;

	(void)state;
	proc_memory_init(&memory);
	assert_int_equal(parse_stat_memory(STAT("bash"), &memory), 0);
	assert_string_equal(memory.comm, "bash");
	assert_int_equal(memory.ppid, 41);
	assert_int_equal(memory.threads, 3);
	/* of its own threads; not those of its children that it waited for */
	assert_int_equal(memory.faults, 118);
	assert_int_equal(memory.start_ns, 12345ULL * 1000000000 / sysconf(_SC_CLK_TCK));
	assert_false(memory.kernel_thread);
	assert_false(memory.forked);
}

static void flags_of_kernel_threads_and_of_forks(void **state)
{
	struct proc_memory memory;

	(void)state;
	/* PF_KTHREAD 0x200000, PF_FORKNOEXEC 0x40 */
	assert_int_equal(parse_stat_memory("2 (kthreadd)" STAT_TAIL("2129984"), &memory), 0);
	assert_true(memory.kernel_thread);
	assert_int_equal(parse_stat_memory("3 (sh)" STAT_TAIL("4194368"), &memory), 0);
	assert_false(memory.kernel_thread);
	assert_true(memory.forked);
}

static void a_name_that_imitates_the_line_changes_nothing(void **state)
{
	static const char *const names[] = {
		"x) S 1 (", "a b c", "new\nline", ")", ") S 1 1 1 0 -1"};
	struct proc_memory memory;
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(text, sizeof(text), "42 (%s)%s", names[i], STAT_TAIL("4194304"));
		assert_int_equal(parse_stat_memory(text, &memory), 0);
		assert_string_equal(memory.comm, names[i]);
		assert_int_equal(memory.faults, 118);
		assert_false(memory.kernel_thread);
	}
}

static void damaged_stat_is_refused_and_touches_nothing(void **state)
{
	static const char *const texts[] = {
		"",
		"42 (bash",
		"42 (bash) S 41 42",
		"42 (bash)" STAT_TAIL("x"),
		"42 (bash)" STAT_TAIL("-1"),
		"42 (bash)" STAT_TAIL("99999999999999999999"),
		/* the two kinds of faults together exceed 64 bits */
		"42 (b) S 1 1 1 0 -1 0 18446744073709551615 0 1 0 5 3 0 0 20 0 1 0 5 6\n",
		/* more threads than there can be */
		"42 (b) S 1 1 1 0 -1 0 1 0 1 0 5 3 0 0 20 0 4294967296 0 5 6\n",
	};
	struct proc_memory memory = {.faults = 5, .ppid = 6, .comm = "as it was"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(parse_stat_memory(texts[i], &memory), -EINVAL);
	assert_int_equal(memory.faults, 5);
	assert_int_equal(memory.ppid, 6);
	assert_string_equal(memory.comm, "as it was");
}

/* --- status --- */

#define STATUS_HEAD "Name:\tx\nUmask:\t0022\nState:\tS (sleeping)\nUid:\t1000\t0\t0\t0\nGid:\t5\n"
#define STATUS_MEMORY                                                                                \
	"VmPeak:\t  999999 kB\nVmSize:\t   4000 kB\nVmRSS:\t    1128 kB\nRssAnon:\t     100 kB\n"    \
	"RssFile:\t    1024 kB\nRssShmem:\t       4 kB\nVmData:\t     360 kB\nVmPTE:\t      44 kB\n" \
	"VmSwap:\t      20 kB\n"
#define STATUS_TAIL "HugetlbPages:\t       0 kB\nThreads:\t3\nSigQ:\t0/96364\n"

static void assert_memory(const struct proc_memory *memory)
{
	assert_true(memory->has_memory);
	assert_int_equal(memory->uid, 1000);
	assert_int_equal(memory->anon_bytes, 100 << 10);
	assert_int_equal(memory->file_bytes, 1024 << 10);
	assert_int_equal(memory->shmem_bytes, 4 << 10);
	assert_int_equal(memory->swap_bytes, 20 << 10);
	assert_int_equal(memory->pgtables_bytes, 44 << 10);
	assert_int_equal(memory->total_vm_bytes, 4000 << 10);
}

static void status_tells_all_that_badness_needs(void **state)
{
	static const char text[] = STATUS_HEAD STATUS_MEMORY STATUS_TAIL;
	struct proc_memory memory;

	(void)state;
	proc_memory_init(&memory);
	assert_true(parse_status_memory(text, strlen(text), &memory));
	assert_memory(&memory);
}

static void status_may_come_in_pieces(void **state)
{
	static const char head[] = STATUS_HEAD, memory_lines[] = STATUS_MEMORY;
	struct proc_memory memory;

	(void)state;
	proc_memory_init(&memory);
	assert_false(parse_status_memory(head, strlen(head), &memory));
	assert_false(memory.has_memory);
	assert_int_equal(memory.uid, 1000);
	assert_true(parse_status_memory(memory_lines, strlen(memory_lines), &memory));
	assert_memory(&memory);
}

static void a_process_without_memory_shows_none(void **state)
{
	static const char text[] = STATUS_HEAD STATUS_TAIL;
	struct proc_memory memory;

	(void)state;
	proc_memory_init(&memory);
	assert_false(parse_status_memory(text, strlen(text), &memory));
	assert_false(memory.has_memory);
	assert_true(memory.anon_bytes == UNKNOWN_U64);
	assert_true(memory.swap_bytes == UNKNOWN_U64);
}

static void damaged_lines_leave_the_value_unknown(void **state)
{
	static const char *const lines[] = {"RssAnon:\t kB\n", "RssAnon:\t12\n",
		"RssAnon:\t12 MB\n", "RssAnon:\t-12 kB\n", "RssAnon:\t12 kB x\n",
		"RssAnon:\t99999999999999999999 kB\n",
		/* in bytes it would be UNKNOWN_U64, or no number of 64 bits at all */
		"RssAnon:\t18014398509481983 kB\n", "RssAnon:\t18446744073709551615 kB\n"};
	struct proc_memory memory;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		proc_memory_init(&memory);
		parse_status_memory(lines[i], strlen(lines[i]), &memory);
		assert_true(memory.anon_bytes == UNKNOWN_U64);
		/* that it has memory is told all the same: it must not pass for one without */
		assert_true(memory.has_memory);
	}
	proc_memory_init(&memory);
	parse_status_memory("Uid:\t4294967296\t0\n", 18, &memory);
	assert_true(memory.uid == UINT32_MAX);
}

static void only_whole_keys_count(void **state)
{
	static const char text[] =
		"XRssAnon:\t5 kB\nRssAnonX:\t5 kB\n RssAnon:\t5 kB\nRssAnon\t5 kB\n";
	struct proc_memory memory;

	(void)state;
	proc_memory_init(&memory);
	assert_false(parse_status_memory(text, strlen(text), &memory));
	assert_false(memory.has_memory);
}

/* --- io --- */

static void io_is_what_went_through_calls(void **state)
{
	static const char text[] = "rchar: 100\nwchar: 23\nsyscr: 5\nsyscw: 6\nread_bytes: 4096\n"
				   "write_bytes: 0\ncancelled_write_bytes: 0\n";
	static const char *const damaged[] = {"", "rchar: 1\n", "rchar: 1\nwchar: x\n",
		"rchar: 18446744073709551615\nwchar: 1\n", "rchar: 1\nwchar: 2 3\n"};
	uint64_t bytes = 77;

	(void)state;
	for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++)
		assert_int_equal(parse_io(damaged[i], strlen(damaged[i]), &bytes), -EINVAL);
	assert_int_equal(bytes, 77);
	assert_int_equal(parse_io(text, strlen(text), &bytes), 0);
	assert_int_equal(bytes, 123);
}

/* --- a made process --- */

static void make_process(const char *root, const char *status)
{
	tree_file(root, "/proc/42/stat", STAT("py) 1 ("));
	tree_file(root, "/proc/42/status", status);
	tree_file(root, "/proc/42/oom_score_adj", "-500\n");
	tree_file(root, "/proc/42/oom_score", "701\n");
	tree_file(root, "/proc/42/io", "rchar: 100\nwchar: 23\n");
}

static void a_process_is_read_whole(void **state)
{
	struct proc_memory memory;

	make_process(*state, STATUS_HEAD STATUS_MEMORY STATUS_TAIL);
	assert_int_equal(read_proc_memory(*state, 42, 0, &memory), 0);
	assert_memory(&memory);
	assert_string_equal(memory.comm, "py) 1 (");
	assert_int_equal(memory.oom_score_adj, -500);
	/* not asked for */
	assert_true(memory.oom_score == UNKNOWN_U64);
	assert_true(memory.io_bytes == UNKNOWN_U64);
	assert_int_equal(
		read_proc_memory(*state, 42, PROC_MEMORY_SCORE | PROC_MEMORY_IO, &memory), 0);
	assert_int_equal(memory.oom_score, 701);
	assert_int_equal(memory.io_bytes, 123);
}

/* The line of the groups stands before the memory: whoever may set groups must not hide behind it.
 */
static void long_lists_of_groups_hide_nothing(void **state)
{
	static const size_t lengths[] = {1, 3900, 4000, 4096, 4097, 8192, 720000};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		size_t size = lengths[i] + 4096, len;
		char *text = malloc(size);
		struct proc_memory memory;

		len = (size_t)snprintf(text, size, STATUS_HEAD "Groups:\t");
		memset(text + len, '7', lengths[i]);
		strcpy(text + len + lengths[i], "\n" STATUS_MEMORY STATUS_TAIL);
		make_process(*state, text);
		assert_int_equal(read_proc_memory(*state, 42, 0, &memory), 0);
		assert_memory(&memory);
		free(text);
	}
}

/* A line that was passed over for its length must not leave its end behind as a line of its own. */
static void the_end_of_a_long_line_is_no_line(void **state)
{
	char text[10000] = STATUS_HEAD "Groups:\t";
	struct proc_memory memory;

	for (size_t at = strlen(text); at + 64 < sizeof(text); at += 16)
		memcpy(text + at, "RssAnon:\t999 kB ", 17);
	strcat(text, "\nRssFile:\t8 kB\n");
	make_process(*state, text);
	assert_int_equal(read_proc_memory(*state, 42, 0, &memory), 0);
	assert_true(memory.anon_bytes == UNKNOWN_U64);
	assert_int_equal(memory.file_bytes, 8 << 10);
}

static void what_is_damaged_is_not_known(void **state)
{
	static const char *const adjs[] = {"", "x\n", "1001\n", "-1001\n", "5 6\n"};
	struct proc_memory memory;

	make_process(*state, STATUS_HEAD STATUS_MEMORY);
	for (size_t i = 0; i < sizeof(adjs) / sizeof(*adjs); i++) {
		tree_file(*state, "/proc/42/oom_score_adj", adjs[i]);
		assert_int_equal(read_proc_memory(*state, 42, 0, &memory), 0);
		assert_int_equal(memory.oom_score_adj, PROC_ADJ_UNKNOWN);
	}
	tree_file(*state, "/proc/42/oom_score", "-3\n");
	tree_file(*state, "/proc/42/io", "rchar: 100\n");
	assert_int_equal(
		read_proc_memory(*state, 42, PROC_MEMORY_SCORE | PROC_MEMORY_IO, &memory), 0);
	assert_true(memory.oom_score == UNKNOWN_U64);
	assert_true(memory.io_bytes == UNKNOWN_U64);
}

static void files_that_are_not_there(void **state)
{
	struct proc_memory memory = {.uid = 9};

	assert_int_equal(read_proc_memory(*state, 42, 0, &memory), -ENOENT);
	tree_file(*state, "/proc/42/stat", STAT("x"));
	assert_int_equal(read_proc_memory(*state, 42, 0, &memory), -ENOENT);
	tree_file(*state, "/proc/42/stat", "damaged");
	assert_int_equal(read_proc_memory(*state, 42, 0, &memory), -EINVAL);
	assert_int_equal(memory.uid, 9);
	assert_int_equal(read_thread_memory(*state, 42, &memory), -ENOENT);
}

static void a_thread_that_lives_shows_the_memory(void **state)
{
	struct proc_memory memory;

	make_process(*state, STATUS_HEAD STATUS_TAIL);
	tree_file(*state, "/proc/42/task/42/status", STATUS_HEAD STATUS_TAIL);
	assert_int_equal(read_proc_memory(*state, 42, 0, &memory), 0);
	assert_false(memory.has_memory);
	assert_int_equal(read_thread_memory(*state, 42, &memory), -ESRCH);
	tree_file(*state, "/proc/42/task/43/status", STATUS_HEAD STATUS_MEMORY STATUS_TAIL);
	assert_int_equal(read_thread_memory(*state, 42, &memory), 0);
	assert_memory(&memory);
	assert_int_equal(memory.oom_score_adj, -500);
}

static void this_very_process_is_read(void **state)
{
	struct proc_memory before, after;
	const size_t size = 16 << 20;
	volatile char *memory;

	(void)state;
	assert_int_equal(
		read_proc_memory("", getpid(), PROC_MEMORY_SCORE | PROC_MEMORY_IO, &before), 0);
	memory = malloc(size);
	for (size_t at = 0; at < size; at += 4096)
		memory[at] = 'x';
	assert_int_equal(
		read_proc_memory("", getpid(), PROC_MEMORY_SCORE | PROC_MEMORY_IO, &after), 0);
	free((void *)memory);
	assert_string_equal(after.comm, "test_procmem");
	assert_int_equal(after.ppid, getppid());
	assert_int_equal(after.uid, getuid());
	assert_int_equal(after.threads, 1);
	assert_true(after.has_memory && !after.kernel_thread && !after.forked);
	assert_true(after.oom_score != UNKNOWN_U64 && after.oom_score_adj != PROC_ADJ_UNKNOWN);
	assert_true(after.anon_bytes >= before.anon_bytes + size);
	assert_true(after.anon_bytes < before.anon_bytes + 2 * size);
	/* huge pages take few faults, but some */
	assert_true(after.faults > before.faults);
	/* its own reading of /proc is what it read */
	assert_true(after.io_bytes > before.io_bytes);
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_tells_faults_threads_and_flags),
		cmocka_unit_test(flags_of_kernel_threads_and_of_forks),
		cmocka_unit_test(a_name_that_imitates_the_line_changes_nothing),
		cmocka_unit_test(damaged_stat_is_refused_and_touches_nothing),
		cmocka_unit_test(status_tells_all_that_badness_needs),
		cmocka_unit_test(status_may_come_in_pieces),
		cmocka_unit_test(a_process_without_memory_shows_none),
		cmocka_unit_test(damaged_lines_leave_the_value_unknown),
		cmocka_unit_test(only_whole_keys_count),
		cmocka_unit_test(io_is_what_went_through_calls),
		TREE_TEST(a_process_is_read_whole),
		TREE_TEST(long_lists_of_groups_hide_nothing),
		TREE_TEST(the_end_of_a_long_line_is_no_line),
		TREE_TEST(what_is_damaged_is_not_known),
		TREE_TEST(files_that_are_not_there),
		TREE_TEST(a_thread_that_lives_shows_the_memory),
		cmocka_unit_test(this_very_process_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
