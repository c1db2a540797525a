// SPDX-License-Identifier: Apache-2.0
/* Verdicts that rest on a log's account of the memory: literal reports, and what follows from them.
 */
#include "klog_fixture.h"

#define HEAD(gfp, order)                                                                           \
	"x invoked oom-killer: gfp_mask=" gfp "(X), order=" order ", oom_score_adj=0\nMem-Info:\n"
#define MACHINE(free, ram)                                                                         \
	"active_anon:1000 inactive_anon:20 isolated_anon:0\n free:" free                           \
	" free_pcp:0 free_cma:0\nFree swap  = 0kB\nTotal swap = 0kB\n" ram                         \
	" pages RAM\n0 pages reserved\n"
#define ZONE(name, free, min, cma)                                                                      \
	"Node 0 " name " free:" free "kB min:" min                                                      \
	"kB low:0kB high:0kB reserved_highatomic:0KB present:4194304kB managed:4194304kB free_cma:" cma \
	"kB\n"
#define KILLED                                                                                     \
	"Out of memory: Killed process 7 (x) total-vm:8kB, anon-rss:8kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:4kB oom_score_adj:0\n"

static bool given(const char *text, const char *id)
{
	struct log_result *log = log_of(text);
	bool ret;

	assert_int_equal(log->count, 1);
	ret = log_verdict(log, 0, id) != NULL;
	free(log);
	return ret;
}

static void assert_only(const char *text, const char *yes, const char *no)
{
	if (!given(text, yes))
		fail_msg("no %s", yes);
	if (given(text, no))
		fail_msg("%s was given", no);
}

static void test_all_zones_full(void **state)
{
	(void)state;
	assert_only(HEAD("0x140cca", "0") ZONE("DMA32", "900", "1000",
			    "0") "lowmem_reserve[]: 0 0 0 0\n" ZONE("Normal", "3000", "4000",
			    "0") "lowmem_reserve[]: 0 0 0 0\n" MACHINE("975", "1048576") KILLED,
		"host-exhausted", "zone-exhausted");
	/* Order 2, as for a thread's stack, with nothing left: it is the machine all the same. */
	assert_only(
		HEAD("0xcc0", "2") ZONE("Normal", "3000", "4000",
			"0") "Node 0 Normal: 0*4kB 375*8kB (UM) 0*16kB = 3000kB\n" MACHINE("750",
			"1048576") KILLED,
		"host-exhausted", "zone-exhausted");
}

/* What a lower zone keeps back from requests that could be served above is not room. */
static void test_kept_back(void **state)
{
	(void)state;
	assert_only(HEAD("0x140cca", "0") ZONE("DMA", "15360", "68",
			    "0") "lowmem_reserve[]: 0 1088 5369 5369 5369\n" ZONE("Normal", "3000",
			    "4000", "0") "lowmem_reserve[]: 0 0 0 0 0\n" MACHINE("4590", "1048576")
			    KILLED,
		"host-exhausted", "zone-exhausted");
}

static void test_low_zone_full(void **state)
{
	/* 32 bit: a kernel's page cannot come from HighMem. */
	static const char zones[] = ZONE("DMA", "8", "64",
		"0") "lowmem_reserve[]: 0 403 16096 16096\n" ZONE("Normal", "4044", "4424",
		"0") "lowmem_reserve[]: 0 0 125544 125544\n" ZONE("HighMem", "2000000", "512",
		"0") "lowmem_reserve[]: 0 0 0 0\n" MACHINE("501013", "1048576") KILLED;
	char text[4096];

	(void)state;
	snprintf(text, sizeof(text), HEAD("0xcc0", "0") "%s", zones);
	assert_only(text, "zone-exhausted", "host-exhausted");
	/* A page for a process may: then there was room. */
	snprintf(text, sizeof(text), HEAD("0x100cca", "0") "%s", zones);
	assert_false(given(text, "zone-exhausted"));
	assert_false(given(text, "host-exhausted"));
	/* GFP_DMA32 on a machine whose Normal zone is empty */
	assert_only(HEAD("0xcc4", "0") ZONE("DMA32", "900", "1000",
			    "0") "lowmem_reserve[]: 0 0 0 0\n" ZONE("Normal", "3000000", "4000",
			    "0") MACHINE("750225", "1048576") KILLED,
		"zone-exhausted", "host-exhausted");
}

/* Since 6.1 zones above the one asked for are not shown: what is free there is in the sum alone. */
static void test_zones_left_out(void **state)
{
	static const char log[] = HEAD("0x500cc2", "0") ZONE("DMA32", "900", "1000",
		"0") "lowmem_reserve[]: 0 0 0 300000 300000\n" MACHINE("100000",
		"1048576") "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/,task=x,pid=7,uid=0\n" KILLED;

	(void)state;
	assert_only(log, "zone-exhausted", "host-exhausted");
	assert_false(given(log, "node-bound"));
}

static void test_fragmented(void **state)
{
	(void)state;
	assert_only(
		HEAD("0xcc0", "3") ZONE("Normal", "400000", "4000",
			"0") "Node 0 Normal: 50000*4kB (UME) 25000*8kB (UME) 0*16kB 0*32kB = 400000kB\n" MACHINE("100000",
			"1048576") KILLED,
		"zone-exhausted", "host-exhausted");
	/* One piece, but of a kind that this request may not take. */
	assert_only(
		HEAD("0xcc0", "3") ZONE("Normal", "400000", "4000",
			"0") "Node 0 Normal: 50000*4kB (UME) 25000*8kB (UME) 0*16kB 1*32kB (H) = 400032kB\n" MACHINE("100000",
			"1048576") KILLED,
		"zone-exhausted", "host-exhausted");
	/* There is one. */
	assert_false(given(
		HEAD("0xcc0", "3") ZONE("Normal", "400000", "4000",
			"0") "Node 0 Normal: 50000*4kB (UME) 25000*8kB (UME) 0*16kB 1*32kB (U) = 400032kB\n" MACHINE("100000",
			"1048576") KILLED,
		"zone-exhausted"));
}

static void test_cma(void **state)
{
	static const char zone[] =
		ZONE("DMA", "400000", "4000", "398000") MACHINE("100000", "1048576") KILLED;
	char text[2048];

	(void)state;
	snprintf(text, sizeof(text), HEAD("0xcc0", "0") "%s", zone);
	assert_only(text, "zone-exhausted", "host-exhausted");
	/* What can be moved may go there. */
	snprintf(text, sizeof(text), HEAD("0x100cca", "0") "%s", zone);
	assert_false(given(text, "zone-exhausted"));
}

/* Nothing is said of a machine whose memory is not in the log. */
static void test_no_evidence(void **state)
{
	struct log_result *log = log_of(
		"x invoked oom-killer: gfp_mask=0xcc0(X), order=2, oom_score_adj=0\n" KILLED);

	(void)state;
	assert_int_equal(log->count, 1);
	assert_int_equal(log->judgements[0].scope, SCOPE_GLOBAL);
	assert_int_equal(log->judgements[0].verdict_count, 0);
	free(log);
}

/* Before 5.0 the constraint is not printed; the account of the memory is of some nodes only then.
 */
static void test_nodes_left_out(void **state)
{
	struct log_result *log = log_of(
		"x invoked oom-killer: gfp_mask=0x24200ca(GFP_HIGHUSER_MOVABLE), nodemask=1, order=0, oom_score_adj=0\n"
		"x cpuset=/ mems_allowed=0-1\nMem-Info:\n"
		"active_anon:1000 inactive_anon:20\n free:500000 free_pcp:0 free_cma:0\n"
		"Node 1 Normal free:3000kB min:4000kB low:5000kB high:6000kB present:4194304kB managed:4194304kB\n"
		"Total swap = 0kB\nFree swap  = 0kB\n2097152 pages RAM\n0 pages reserved\n"
		"Out of memory: Kill process 7 (x) score 9 or sacrifice child\n"
		"Killed process 7 (x) total-vm:8kB, anon-rss:8kB, file-rss:0kB, shmem-rss:0kB\n");

	(void)state;
	assert_int_equal(log->judgements[0].scope, SCOPE_MEMPOLICY);
	assert_true(log->judgements[0].scope_inferred);
	assert_non_null(log_verdict(log, 0, "node-bound"));
	assert_null(log_verdict(log, 0, "host-exhausted"));
	free(log);
}

/* --- who holds it --- */

static struct log_result *herd(unsigned int members, unsigned int pages, unsigned int largest,
	unsigned int shmem_kb, bool split)
{
	static char text[1 << 16];
	size_t len = (size_t)snprintf(text, sizeof(text),
		"memory: usage 4096000kB, limit 4096000kB, failcnt 1\n"
		"swap: usage 0kB, limit 0kB, failcnt 0\nMemory cgroup stats for /a:\nshmem %llu\n"
		"[  pid  ]   uid  tgid total_vm      rss %spgtables_bytes swapents oom_score_adj name\n",
		(unsigned long long)shmem_kb * 1024, split ? "rss_anon rss_file rss_shmem " : "");

	for (unsigned int i = 0; i < members; i++) {
		unsigned int rss = i ? pages : largest;

		len += (size_t)snprintf(text + len, sizeof(text) - len,
			"[%7u]     0 %5u   900000 %8u ", 100 + i, 100 + i, rss);
		if (split)
			len += (size_t)snprintf(
				text + len, sizeof(text) - len, "%8u        0        0 ", rss);
		len += (size_t)snprintf(
			text + len, sizeof(text) - len, "    4096        0             0 worker\n");
	}
	snprintf(text + len, sizeof(text) - len, "%s",
		"Memory cgroup out of memory: Killed process 100 (worker) total-vm:3600000kB, anon-rss:8kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:4kB oom_score_adj:0\n");
	return log_of(text);
}

static void test_family(void **state)
{
	static const struct {
		unsigned int members, pages, largest, shmem_kb;
		bool split, given;
	} table[] = {
		{16, 60000, 60000, 0, true, true}, {16, 60000, 60000, 0, false, true},
		{2, 480000, 480000, 0, true, false}, /* two are no herd */
		{16, 20000, 20000, 0, true, false}, /* less than half of it */
		{16, 10000, 800000, 0, true, false}, /* one holds most */
		{16, 200000, 200000, 0, false, false}, /* shared pages are counted often */
		{16, 60000, 60000, 200000, false, false}, /* all of them show the same segment */
		{16, 60000, 60000, 200000, true, true}, /* and here they do not */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct log_result *log = herd(table[i].members, table[i].pages, table[i].largest,
			table[i].shmem_kb, table[i].split);

		if ((log_verdict(log, 0, "fork-family") != NULL) != table[i].given)
			fail_msg("family %zu", i);
		free(log);
	}
}

static const char *const holders[][2] = {
	{"shmem:600000", "tmpfs-held"},
	{"slab_reclaimable:0 slab_unreclaimable:600000", "kernel-memory-held"},
	{"dirty:500000 writeback:100000", "page-cache-dirty"},
	{"active_file:0 inactive_file:0 slab_reclaimable:0 slab_unreclaimable:0",
		"no-process-holds-it"},
};

static void test_holders_of_the_machine(void **state)
{
	char text[2048];

	(void)state;
	for (size_t i = 0; i < sizeof(holders) / sizeof(holders[0]); i++) {
		snprintf(text, sizeof(text),
			HEAD("0x140cca", "0") "%s\n" ZONE("Normal", "3000", "4000", "0")
				MACHINE("750", "1048576") KILLED,
			holders[i][0]);
		if (!given(text, holders[i][1]))
			fail_msg("no %s", holders[i][1]);
	}
	assert_true(given(
		HEAD("0x140cca", "0") ZONE("Normal", "3000", "4000",
			"0") "Node 0 hugepages_total=1500 hugepages_free=1500 hugepages_surp=0 hugepages_size=2048kB\n" MACHINE("750",
			"1048576") KILLED,
		"hugetlb-held"));
}

static void test_kernel_memory_of_a_cgroup(void **state)
{
	static const char *const stats[] = {
		"swap: usage 0kB, limit 0kB, failcnt 0\nMemory cgroup stats for /a:\nanon 100000\nfile 0\nkernel 3000000\nslab 10\n",
		"swap: usage 0kB, limit 0kB, failcnt 0\nMemory cgroup stats for /a:\nanon 100000\nfile 0\nkernel_stack 1000000\nslab 2000000\n",
		"memory+swap: usage 4096kB, limit 9007199254740988kB, failcnt 0\nkmem: usage 3000kB, limit 9007199254740988kB, failcnt 0\nMemory cgroup stats for /a: cache:0KB rss:900KB\n",
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(stats) / sizeof(stats[0]); i++) {
		snprintf(text, sizeof(text),
			"memory: usage 4096kB, limit 4096kB, failcnt 1\n%sMemory cgroup out of memory: Killed process 7 (x) total-vm:8kB, anon-rss:8kB, file-rss:0kB, shmem-rss:0kB\n",
			stats[i]);
		if (!given(text, "kernel-memory-held"))
			fail_msg("no kernel-memory-held of %zu", i);
	}
}

static void test_limit_lowered(void **state)
{
	static const char rest[] =
		"memory: usage 8192kB, limit 4096kB, failcnt 1\n"
		"swap: usage 0kB, limit 0kB, failcnt 0\n"
		"Memory cgroup stats for /a:\nanon 8388608\nfile 0\n"
		"Memory cgroup out of memory: Killed process 7 (x) total-vm:8kB, anon-rss:8kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:4kB oom_score_adj:0\n";
	static const struct {
		const char *trace;
		enum confidence confidence;
	} table[] = {
		{"", CONFIDENCE_LIKELY},
		{" memory_max_write+0x119/0x1b0\n", CONFIDENCE_CERTAIN},
		{" mem_cgroup_resize_limit+0x119/0x1b0\n", CONFIDENCE_CERTAIN},
		{" try_charge_memcg+0x119/0x1b0\n", CONFIDENCE_POSSIBLE},
	};
	char text[2048];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct log_result *log;

		snprintf(text, sizeof(text),
			"x invoked oom-killer: gfp_mask=0xcc0(X), order=0, oom_score_adj=0\n%s%s",
			table[i].trace, rest);
		log = log_of(text);
		assert_non_null(log_verdict(log, 0, "limit-lowered"));
		assert_int_equal(
			log_verdict(log, 0, "limit-lowered")->confidence, table[i].confidence);
		free(log);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_zones_full),
		cmocka_unit_test(test_kept_back),
		cmocka_unit_test(test_low_zone_full),
		cmocka_unit_test(test_zones_left_out),
		cmocka_unit_test(test_fragmented),
		cmocka_unit_test(test_cma),
		cmocka_unit_test(test_no_evidence),
		cmocka_unit_test(test_nodes_left_out),
		cmocka_unit_test(test_family),
		cmocka_unit_test(test_holders_of_the_machine),
		cmocka_unit_test(test_kernel_memory_of_a_cgroup),
		cmocka_unit_test(test_limit_lowered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
