// SPDX-License-Identifier: Apache-2.0
/* What a report becomes: numbers, what stays unknown, what counts once, and what the judge says. */
#include "klog_fixture.h"

#define KILL(pid, comm, tail)                                                                      \
	"Memory cgroup out of memory: Killed process " #pid " (" comm                              \
	") total-vm:103396kB, anon-rss:40316kB, file-rss:4kB, shmem-rss:520kB" tail "\n"

static const struct task_facts *victim(const struct log_result *log, unsigned int index)
{
	assert_true(log->incidents[index].victim_count > 0);
	return &log->incidents[index].victims[0].task;
}

/* --- pages --- */

static void test_page_size_from_the_table(void **state)
{
	static const unsigned int sizes[] = {4096, 8192, 16384, 65536};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		unsigned int kb = sizes[i] / 1024;
		struct log_result *log;
		char text[1024];

		snprintf(text, sizeof(text),
			"memory: usage 65536kB, limit 65536kB, failcnt 1\n"
			"[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n"
			"[    334]     0   334     2000      500   131072       10             0 hog\n"
			"Memory cgroup out of memory: Killed process 334 (hog) total-vm:%ukB, anon-rss:%ukB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:128kB oom_score_adj:0\n",
			2000 * kb, 500 * kb);
		log = log_of(text);
		assert_int_equal(log->count, 1);
		assert_int_equal(log->hosts[0].page_size, sizes[i]);
		assert_false(log->incidents[0].log.page_size_assumed);
		assert_false(log_misses(log, 0, "page_size"));
		assert_int_equal(victim(log, 0)->rss_pages[EV_RSS_ANON], 500);
		assert_int_equal(victim(log, 0)->rss_pages[EV_RSS_SWAP], 10);
		assert_int_equal(victim(log, 0)->pgtables_bytes, 131072);
		free(log);
	}
}

static void test_page_size_from_free_lists_and_from_before(void **state)
{
	struct log_result *log = log_of(
		"x invoked oom-killer: gfp_mask=0xcc0, order=0, oom_score_adj=0\n"
		"Mem-Info:\n"
		"Node 0 Normal free:64kB min:4096kB low:5120kB high:6144kB present:1048576kB managed:1040000kB\n"
		"Node 0 Normal: 0*16kB 2*32kB (U) 0*64kB = 64kB\n"
		"Out of memory: Killed process 7 (x) total-vm:160kB, anon-rss:32kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:16kB oom_score_adj:0\n"
		"Out of memory: Killed process 8 (x) total-vm:160kB, anon-rss:48kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:16kB oom_score_adj:0\n");

	(void)state;
	assert_int_equal(log->count, 2);
	assert_int_equal(log->hosts[0].page_size, 16384);
	assert_int_equal(log->hosts[1].page_size, 16384);
	assert_false(log->incidents[1].log.page_size_assumed);
	assert_int_equal(victim(log, 1)->rss_pages[EV_RSS_ANON], 3);
	free(log);
}

static void test_page_size_assumed(void **state)
{
	struct log_result *log = log_of(KILL(334, "hog", ""));

	(void)state;
	assert_int_equal(log->count, 1);
	assert_int_equal(log->hosts[0].page_size, 4096);
	assert_true(log->incidents[0].log.page_size_assumed);
	assert_true(log_misses(log, 0, "page_size"));
	free(log);
}

/* 5.4 printed bytes and called them kB. */
static void test_page_tables_in_bytes(void **state)
{
	struct log_result *log =
		log_of(KILL(334, "hog", ", UID:0 pgtables:122880kB oom_score_adj:0"));

	(void)state;
	assert_int_equal(victim(log, 0)->pgtables_bytes, 122880);
	free(log);
	log = log_of(KILL(334, "hog", ", UID:0 pgtables:120kB oom_score_adj:0"));
	assert_int_equal(victim(log, 0)->pgtables_bytes, 122880);
	free(log);
	/* nr_ptes is a number of tables, not all of their bytes */
	log = log_of(
		"[ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name\n"
		"[  334]     0   334    25849    10210      30        0             0 hog\n"
		"Memory cgroup out of memory: Kill process 334 (hog) score 9 or sacrifice child\n"
		"Killed process 334 (hog) total-vm:103396kB, anon-rss:40316kB, file-rss:524kB\n");
	assert_true(victim(log, 0)->unknown & TASK_PTES_ONLY);
	assert_true(log_misses(log, 0, "victim_pgtables_bytes"));
	assert_int_equal(log->judgements[0].badness.pgtables_pages, 30);
	free(log);
}

/* --- processes and threads --- */

static void test_threads(void **state)
{
	struct log_result *log = log_of(
		"http-nio invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=0\n"
		"CPU: 1 PID: 31902 Comm: http-nio Not tainted 3.10.0 #1\n"
		"[ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name\n"
		"[31877]  1000 31870  2210344   199874     771   121500             0 java\n"
		"Memory cgroup out of memory: Kill process 31902 (http-nio) score 0 or sacrifice child\n"
		"Killed process 31877 (java) total-vm:8841376kB, anon-rss:786288kB, file-rss:13208kB\n");

	(void)state;
	assert_int_equal(log->count, 1);
	/* The leader is gone: the row's process is told, not the thread that has the memory. */
	assert_int_equal(victim(log, 0)->tgid, 31870);
	assert_int_equal(victim(log, 0)->tid, 31877);
	assert_int_equal(log->incidents[0].trigger_tid, 31902);
	assert_false(log->incidents[0].log.has_trigger_pid);
	assert_true(log_misses(log, 0, "trigger_pid"));
	assert_false(log->incidents[0].log.child_died);
	free(log);
}

static void test_sacrificed_child_and_sharers(void **state)
{
	struct log_result *log = log_of(
		"[ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name\n"
		"[  100]     0   100    50000    40000      90        0             0 parent\n"
		"[  101]     0   101    20000    10000      50        0             0 child\n"
		"Out of memory: Kill process 100 (parent) score 300 or sacrifice child\n"
		"Killed process 101 (child) total-vm:80000kB, anon-rss:40000kB, file-rss:0kB\n"
		"Kill process 102 (sharer) sharing same memory\n");
	const struct verdict *verdict;

	(void)state;
	assert_int_equal(log->count, 1);
	assert_true(log->incidents[0].log.child_died);
	assert_int_equal(log->incidents[0].victim_count, 2);
	assert_int_equal(log->incidents[0].victims[1].why, VICTIM_SHARED_MM);
	verdict = log_verdict(log, 0, "victim-not-largest");
	assert_non_null(verdict);
	assert_non_null(strstr(verdict->claim, "parent[100] was chosen"));
	free(log);
}

/* --- what is known and what is not --- */

static void test_summary_without_its_kill(void **state)
{
	struct log_result *log = log_of(
		"[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n"
		"[    334]     9   334    25849    10210   122880        7             5 hog\n"
		"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a,task=hog,pid=334,uid=9\n");

	(void)state;
	assert_int_equal(log->count, 1);
	assert_int_equal(log->incidents[0].outcome, OUTCOME_KILLED);
	assert_int_equal(victim(log, 0)->total_vm_pages, 25849);
	assert_int_equal(victim(log, 0)->rss_total_pages, 10210);
	assert_true(victim(log, 0)->unknown & TASK_UNKNOWN_ANON);
	assert_int_equal(victim(log, 0)->oom_score_adj, 5);
	assert_true(log_misses(log, 0, "victim_anon_bytes"));
	assert_false(log_misses(log, 0, "victim_swap_bytes"));
	/* the limit is named, its size is not: whose it was may be said, how large not */
	assert_null(log_verdict(log, 0, "own-limit"));
	free(log);
}

static void test_head_alone(void **state)
{
	struct log_result *log = log_of(
		"x invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n");

	(void)state;
	assert_int_equal(log->count, 1);
	assert_int_equal(log->incidents[0].outcome, OUTCOME_UNKNOWN);
	assert_int_equal(log->judgements[0].scope, SCOPE_UNKNOWN);
	assert_true(log_misses(log, 0, "outcome"));
	assert_true(log_misses(log, 0, "victim_pid"));
	assert_null(log_verdict(log, 0, "no-victim"));
	assert_int_equal(log->judgements[0].verdict_count, 0);
	free(log);
}

/* A kill right behind its head is its own; one that comes much later has lost its head. */
static void test_head_and_kill(void **state)
{
	static const char head[] =
		"[  100.000001] x invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n";
	char text[1024];
	struct log_result *log;

	(void)state;
	snprintf(text, sizeof(text), "%s[  100.600001] %s", head, KILL(7, "y", ""));
	log = log_of(text);
	assert_int_equal(log->count, 1);
	assert_true(log->incidents[0].has_trigger);
	free(log);
	snprintf(text, sizeof(text), "%s[  109.600001] %s", head, KILL(7, "y", ""));
	log = log_of(text);
	assert_int_equal(log->count, 2);
	assert_int_equal(log->incidents[0].outcome, OUTCOME_UNKNOWN);
	assert_false(log->incidents[1].has_trigger);
	free(log);
}

/* Tables and usages of which no decision follows are none. */
static void test_no_decision(void **state)
{
	struct log_result *log = log_of(
		"memory: usage 40960kB, limit 40960kB, failcnt 23\n"
		"[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n"
		"[    334]     9   334    25849    10210   122880        7             5 hog\n"
		"x: page allocation failure: order:3, mode:0x40cc0(GFP_KERNEL|__GFP_COMP)\n"
		"Mem-Info:\n"
		"Killed process 12 (quoted)\n");

	(void)state;
	assert_int_equal(log->count, 0);
	free(log);
}

static void test_no_limit(void **state)
{
	static const char *const limits[] = {"9007199254740988", "9007199254740991",
		"18014398509481983", "9007199254740928", "8589934588"};

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct log_result *log;
		char text[512];

		snprintf(text, sizeof(text),
			"Task in /a killed as a result of limit of /a\n"
			"memory: usage 4096kB, limit 4096kB, failcnt 1\n"
			"memory+swap: usage 5120kB, limit %skB, failcnt 0\n" KILL(334, "hog", ""),
			limits[i]);
		log = log_of(text);
		assert_int_equal(log->incidents[0].levels[0].swap_max_pages, INT64_MAX / 4096);
		assert_true(log->incidents[0].log.limit_v1);
		free(log);
	}
}

/* Version 1, with both counters falling between the lines; and 0 for version 2, of 4.x. */
static void test_swap_counter_below_memory(void **state)
{
	static const struct {
		const char *usage;
		bool v1;
	} cases[] = {{"4092", true}, {"4096", true}, {"0", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct log_result *log;
		char text[512];

		snprintf(text, sizeof(text),
			"Task in /a killed as a result of limit of /a\n"
			"memory: usage 4096kB, limit 4096kB, failcnt 1\n"
			"memory+swap: usage %skB, limit 9007199254740988kB, failcnt 0\n" KILL(
				334, "hog", ""),
			cases[i].usage);
		log = log_of(text);
		assert_int_equal(log->incidents[0].log.limit_v1, cases[i].v1);
		free(log);
	}
}

/* The limit may swap, and how much swap there is is not told: no points, but their order. */
static void test_order_without_ceiling(void **state)
{
	static const uint32_t order[] = {12, 10, 11};
	struct log_result *log = log_of(
		"x invoked oom-killer: gfp_mask=0xcc0, order=0, oom_score_adj=0\n"
		"memory: usage 32768kB, limit 32768kB, failcnt 1\n"
		"swap: usage 0kB, limit 9007199254740988kB, failcnt 0\n"
		"Memory cgroup stats for /a:\n"
		"[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n"
		"[     10]     0    10     9000     4000    40960        0             0 big\n"
		"[     11]     0    11     9000     6000    40960        0          -800 kept\n"
		"[     12]     0    12     9000     2000    40960        0           800 small\n"
		"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
		"oom_memcg=/a,task_memcg=/a,task=small,pid=12,uid=0\n"
		"Memory cgroup out of memory: Killed process 12 (small) total-vm:36000kB, "
		"anon-rss:8000kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:40kB oom_score_adj:800\n");

	(void)state;
	assert_int_equal(log->count, 1);
	assert_int_equal(log->judgements[0].totalpages, UNKNOWN_U64);
	assert_int_equal(log->judgements[0].ranked_count, 3);
	for (unsigned int i = 0; i < 3; i++) {
		unsigned int index = log->judgements[0].ranked[i].index;

		assert_int_equal(log->incidents[0].candidates[index].task.tgid, order[i]);
		assert_int_equal(log->judgements[0].ranked[i].badness.adj_pages, 0);
	}
	assert_true(log_misses(log, 0, "victim_badness_pages"));
	free(log);
}

/* Old kernels print for each cgroup what it holds itself; a log that left the victim's out would
 * show 64 MiB that nobody holds. */
static void test_parts_without_the_victims(void **state)
{
	static const char head[] =
		"Task in /pod/app killed as a result of limit of /pod\n"
		"memory: usage 65536kB, limit 65536kB, failcnt 1\n"
		"memory+swap: usage 65536kB, limit 65536kB, failcnt 0\n"
		"kmem: usage 0kB, limit 9007199254740988kB, failcnt 0\n"
		"Memory cgroup stats for /pod: cache:0KB rss:0KB mapped_file:0KB swap:0KB\n";
	static const char part[] =
		"Memory cgroup stats for /pod/app: cache:0KB rss:65000KB mapped_file:0KB swap:0KB\n";
	static const char kill[] =
		"Memory cgroup out of memory: Kill process 10 (app) score 900 or sacrifice child\n"
		"Killed process 10 (app) total-vm:90000kB, anon-rss:65000kB, file-rss:0kB\n";
	char text[2048];
	struct log_result *log;

	(void)state;
	snprintf(text, sizeof(text), "%s%s%s", head, part, kill);
	log = log_of(text);
	assert_int_equal(log->incidents[0].stat.anon_bytes, 65000 << 10);
	free(log);
	snprintf(text, sizeof(text), "%s%s", head, kill);
	log = log_of(text);
	assert_int_equal(log->incidents[0].stat.anon_bytes, UNKNOWN_U64);
	assert_true(log_misses(log, 0, "composition"));
	free(log);
}

/* --- time --- */

static void test_times(void **state)
{
	struct log_result *log;

	(void)state;
	log = log_of("[Tue Mar 10 02:00:00 2026] " KILL(334, "hog", ""));
	assert_true(log->incidents[0].log.has_time && log->incidents[0].log.zone_assumed);
	assert_int_equal(log->incidents[0].log.wall_ns, 1773100800000000000);
	assert_true(log_misses(log, 0, "ts_zone"));
	free(log);
	log = log_of("2026-03-10T00:00:00Z h kernel: [ 12.000003] " KILL(334, "hog", ""));
	assert_int_equal(log->incidents[0].log.wall_ns, 1773100800000000000);
	assert_int_equal(log->incidents[0].log.mono_ns, 12000003000);
	assert_false(log->incidents[0].log.zone_assumed);
	free(log);
	log = log_of("Mar 10 02:00:00 h kernel: " KILL(334, "hog", ""));
	assert_false(log->incidents[0].log.has_time);
	assert_string_equal(log->incidents[0].log.stamp, "Mar 10 02:00:00");
	assert_true(log_misses(log, 0, "ts"));
	free(log);
}

static void test_repeated(void **state)
{
	struct log_result *log = log_of(
		"[  100.000001] Task in /a killed as a result of limit of /a\n"
		"[  100.000001] memory: usage 4096kB, limit 4096kB, failcnt 1\n"
		"[  100.000001] " KILL(1, "a",
			"") "[  400.000001] Task in /a killed as a result of limit of /a\n"
			    "[  400.000001] memory: usage 4096kB, limit 4096kB, failcnt 1\n"
			    "[  400.000001] " KILL(2, "b",
				    "") "[ 1400.000001] Task in /a killed as a result of limit of /a\n"
					"[ 1400.000001] memory: usage 4096kB, limit 4096kB, failcnt 1\n"
					"[ 1400.000001] " KILL(3, "c", "") "[ 1401.000001] " KILL(
						4, "d", "") "[ 1402.000001] " KILL(5, "d", ""));

	(void)state;
	assert_int_equal(log->count, 5);
	assert_null(log_verdict(log, 0, "repeated"));
	assert_non_null(log_verdict(log, 1, "repeated"));
	assert_null(log_verdict(log, 2, "repeated"));
	assert_null(log_verdict(log, 3, "repeated"));
	assert_non_null(strstr(log_verdict(log, 4, "repeated")->claim, "named d 2 times"));
	free(log);
}

/* --- once and twice --- */

#define ASKED(stamp)                                                                               \
	"[  " stamp "] x invoked oom-killer: gfp_mask=0xcc0, order=0, oom_score_adj=0\n"

static void test_copies(void **state)
{
	struct log_result *log;

	(void)state;
	/* The same pid with other numbers, or much later, is another process. */
	log = log_of("[  100.000001] " KILL(1, "a", "") "[  101.000001] " KILL(
		2, "a", "") "[  100.000001] " KILL(1, "a", "") "[ 9100.000001] " KILL(1, "a", ""));
	assert_int_equal(log->count, 3);
	free(log);
	/* A pid that came back within the second, for a process of the same size. */
	log = log_of(ASKED("100.000000") "[  100.000001] " KILL(1, "first", "")
			ASKED("100.300000") "[  100.300001] " KILL(1, "second", ""));
	assert_int_equal(log->count, 2);
	free(log);
	/* Another collector's stamp of the same line. */
	log = log_of(ASKED("100.000000") "[  100.000001] " KILL(1, "a", "")
			ASKED("100.300000") "[  100.300001] " KILL(1, "a", ""));
	assert_int_equal(log->count, 1);
	free(log);
	/* Of two machines. */
	log = log_of("Mar 10 02:00:00 h1 kernel: " KILL(
		1, "a", "") "Mar 10 02:00:00 h2 kernel: " KILL(1, "a", ""));
	assert_int_equal(log->count, 2);
	free(log);
}

static void test_rows_beyond_the_record(void **state)
{
	static char text[1 << 22];
	struct log_result *log;
	size_t len;

	(void)state;
	len = (size_t)sprintf(text,
		"x invoked oom-killer: gfp_mask=0xcc0, order=0, oom_score_adj=0\n"
		"[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n");
	for (int i = 1; i <= 40000; i++)
		len += (size_t)sprintf(text + len,
			"[%7d]     0 %5d     1000 %8d     4096        0             0 p\n", i, i,
			i);
	sprintf(text + len,
		"Out of memory: Killed process 5 (p) total-vm:4000kB, anon-rss:20kB, file-rss:0kB, shmem-rss:0kB\n");
	log = log_of(text);
	assert_int_equal(log->count, 1);
	assert_int_equal(log->incidents[0].candidate_total, 40000);
	assert_int_equal(log->incidents[0].candidate_count, INCIDENT_CANDIDATES);
	assert_int_equal(log->incidents[0].candidates[0].task.tgid, KLOG_ROWS_MAX);
	/* the victim is among them, whatever its size */
	assert_int_equal(log->incidents[0].candidates[INCIDENT_CANDIDATES - 1].task.tgid, 5);
	assert_non_null(log_verdict(log, 0, "victim-not-largest"));
	free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page_size_from_the_table),
		cmocka_unit_test(test_page_size_from_free_lists_and_from_before),
		cmocka_unit_test(test_page_size_assumed),
		cmocka_unit_test(test_page_tables_in_bytes),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_sacrificed_child_and_sharers),
		cmocka_unit_test(test_summary_without_its_kill),
		cmocka_unit_test(test_head_alone),
		cmocka_unit_test(test_head_and_kill),
		cmocka_unit_test(test_no_decision),
		cmocka_unit_test(test_no_limit),
		cmocka_unit_test(test_swap_counter_below_memory),
		cmocka_unit_test(test_order_without_ceiling),
		cmocka_unit_test(test_parts_without_the_victims),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_repeated),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_rows_beyond_the_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
