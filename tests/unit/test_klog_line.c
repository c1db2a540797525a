// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "source/klog_line.h"

static struct klog_layout layout_of(const char *head)
{
	struct klog_line line;

	klog_line_parse(scan_of(head, strlen(head)), NULL, &line);
	assert_int_equal(line.kind, KLOG_TABLE);
	return line.table;
}

static struct klog_line parse_with(const char *text, const struct klog_layout *layout)
{
	struct klog_line ret;

	klog_line_parse(scan_of(text, strlen(text)), layout, &ret);
	return ret;
}

static struct klog_line parse(const char *text)
{
	return parse_with(text, NULL);
}

static void assert_text(struct scan got, const char *want)
{
	if (!scan_equals(&got, want))
		fail_msg("'%.*s' is not '%s'", (int)scan_left(&got), got.at, want);
}

/* --- kills of all ages --- */

static void test_kill_lines(void **state)
{
	static const struct {
		const char *line;
		int message;
		uint64_t total_vm, anon, file, shmem, uid, pgtables;
		int adj; /* 9999: none */
		int whole;
	} table[] = {
		{"Killed process 7 (x)", KLOG_MESSAGE_NONE, -1, -1, -1, -1, -1, -1, 9999, 1},
		{"Out of Memory: Killed process 7 (x).", KLOG_MESSAGE_GLOBAL, -1, -1, -1, -1, -1,
			-1, 9999, 1},
		{"Killed process 7 (x) vsz:10kB, anon-rss:2kB, file-rss:3kB", KLOG_MESSAGE_NONE, 10,
			2, 3, -1, -1, -1, 9999, 1},
		{"Killed process 7 (x) total-vm:10kB, anon-rss:2kB, file-rss:3kB",
			KLOG_MESSAGE_NONE, 10, 2, 3, -1, -1, -1, 9999, 1},
		{"Killed process 7, UID 48, (x) total-vm:10kB, anon-rss:2kB, file-rss:3kB",
			KLOG_MESSAGE_NONE, 10, 2, 3, -1, 48, -1, 9999, 1},
		{"Killed process 7 (x), UID 48, total-vm:10kB, anon-rss:2kB, file-rss:3kB, shmem-rss:4kB",
			KLOG_MESSAGE_NONE, 10, 2, 3, 4, 48, -1, 9999, 1},
		{"Memory cgroup out of memory: Killed process 7 (x) total-vm:10kB, anon-rss:2kB, file-rss:3kB, shmem-rss:4kB",
			KLOG_MESSAGE_MEMCG, 10, 2, 3, 4, -1, -1, 9999, 1},
		{"Out of memory: Killed process 7 (x) total-vm:10kB, anon-rss:2kB, file-rss:3kB, shmem-rss:4kB, UID:48",
			KLOG_MESSAGE_GLOBAL, 10, 2, 3, 4, 48, -1, 9999, 1},
		{"Out of memory (oom_kill_allocating_task): Killed process 7 (x) total-vm:10kB, anon-rss:2kB, file-rss:3kB, shmem-rss:4kB, UID:48 pgtables:56kB oom_score_adj:-998",
			KLOG_MESSAGE_ALLOCATING, 10, 2, 3, 4, 48, 56, -998, 1},
		{"Out of memory: Killed process 7 (x) total-vm:10kB, anon-rss:2kB, file-rss:3kB, shmem-rss:4kB, UID:48 pgtables:56 oom_score_adj:0",
			KLOG_MESSAGE_GLOBAL, 10, 2, 3, 4, 48, 56, 0, 1},
		{"Out of memory: Killed process 7 (x) total-vm:10kB, anon-rss:2kB, fil",
			KLOG_MESSAGE_GLOBAL, 10, 2, -1, -1, -1, -1, 9999, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct klog_line line = parse(table[i].line);

		if (line.kind != KLOG_KILL)
			fail_msg("no kill: %s", table[i].line);
		assert_int_equal(line.kill.pid, 7);
		assert_text(line.kill.comm, "x");
		assert_int_equal(line.kill.message, table[i].message);
		assert_int_equal(line.kill.total_vm_kb, table[i].total_vm);
		assert_int_equal(line.kill.anon_kb, table[i].anon);
		assert_int_equal(line.kill.file_kb, table[i].file);
		assert_int_equal(line.kill.shmem_kb, table[i].shmem);
		assert_int_equal(line.kill.uid, table[i].uid);
		assert_int_equal(line.kill.pgtables_kb, table[i].pgtables);
		assert_int_equal(line.kill.has_adj ? line.kill.oom_score_adj : 9999, table[i].adj);
		assert_int_equal(line.whole, table[i].whole);
	}
}

static void test_no_kill_lines(void **state)
{
	static const char *const lines[] = {
		"Killed process",
		"Killed process 7",
		"Killed process x (y)",
		"Killed process 0 (y)",
		"Killed process 99999999999 (y)",
		"Killed process 7 (x) from 203.0.113.9 port 40122",
		"Killed process 7 (a name of more than fifteen bytes)",
		" out: Killed process 7 (x)",
		"xKilled process 7 (x)",
		"Killing process 7 (x)",
		"systemd-oomd: Killed /user.slice due to memory pressure",
		"lowmemorykiller: Killing 'om.example.feed' (8811) (tgid 8811), adj 900,",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (parse(lines[i]).kind == KLOG_KILL)
			fail_msg("taken for a kill: %s", lines[i]);
}

/* --- tables --- */

static void test_layouts(void **state)
{
	struct klog_layout layout;
	struct klog_line line;

	(void)state;
	layout = layout_of("[ pid ]   uid  tgid total_vm      rss cpu oom_adj name");
	line = parse_with("[ 2210]    27  2209   202133    99613   3     -17 my sqld", &layout);
	assert_int_equal(line.kind, KLOG_ROW);
	assert_int_equal(line.row.pid, 2210);
	assert_int_equal(line.row.tgid, 2209);
	assert_int_equal(line.row.uid, 27);
	assert_int_equal(line.row.rss_pages, 99613);
	assert_int_equal(line.row.swap_pages, UNKNOWN_U64);
	assert_int_equal(line.row.oom_score_adj, -1000);
	assert_text(line.row.comm, "my sqld");

	layout = layout_of("[ pid ]   uid  tgid total_vm      rss cpu oom_adj oom_score_adj name");
	line = parse_with(
		"[ 2210]    27  2210   202133    99613   3       3           176  x", &layout);
	assert_int_equal(line.row.oom_score_adj, 176);
	assert_text(line.row.comm, " x");

	layout = layout_of(
		"[ pid ]   uid  tgid total_vm      rss nr_ptes nr_pmds swapents oom_score_adj name");
	line = parse_with(
		"[ 2210]    27  2210   202133    99613     400       7      600             0 ",
		&layout);
	assert_int_equal(line.row.ptes_pages, 407);
	assert_int_equal(line.row.swap_pages, 600);
	assert_text(line.row.comm, "");

	layout = layout_of(
		"[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name");
	line = parse_with(
		"[   2210]    27  2210   202133    99613  1650688      600         -1000 x",
		&layout);
	assert_int_equal(line.row.pgtables_bytes, 1650688);
	assert_int_equal(line.row.anon_pages, UNKNOWN_U64);

	layout = layout_of(
		"[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name");
	line = parse_with(
		"[    157]     0   157     6608     6270     3050     2944       276    90112        0             0 probe",
		&layout);
	assert_int_equal(line.row.anon_pages, 3050);
	assert_int_equal(line.row.file_pages, 2944);
	assert_int_equal(line.row.shmem_pages, 276);
	/* a column of a later kernel */
	layout = layout_of(
		"[  pid  ]   uid  tgid total_vm      rss new_one pgtables_bytes swapents oom_score_adj name");
	line = parse_with(
		"[    157]     0   157     6608     6270     3050     90112        0             0 probe",
		&layout);
	assert_int_equal(line.row.pgtables_bytes, 90112);
	assert_text(line.row.comm, "probe");
}

static void test_no_rows(void **state)
{
	struct klog_layout layout = layout_of(
		"[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name");
	static const char *const lines[] = {"[    157]     0   157     6608     6270",
		"[    157]     0   157     6608     6270     a     0             0 x",
		"[ ]     0   157     6608     6270     1     0             0 x",
		"[    157]     0   157     6608     6270     1     0             0 a name of more than fifteen"};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_not_equal(parse_with(lines[i], &layout).kind, KLOG_ROW);
	assert_int_not_equal(
		parse("[    157]     0   157     6608     6270     1     0      0 x").kind,
		KLOG_ROW);
}

/* --- heads and scopes --- */

static void test_heads(void **state)
{
	struct klog_line line = parse(
		"sort: run 3/7 invoked oom-killer: gfp_mask=0x15080c0(GFP_KERNEL|__GFP_ZERO), nodemask=0,2,  order=1, oom_score_adj=-999");

	(void)state;
	assert_int_equal(line.kind, KLOG_INVOKED);
	assert_true(line.whole);
	assert_text(line.invoked.comm, "sort: run 3/7");
	assert_int_equal(line.invoked.gfp_mask, 0x15080c0);
	assert_text(line.invoked.gfp_flags, "GFP_KERNEL|__GFP_ZERO");
	assert_text(line.invoked.nodemask, "0,2");
	assert_int_equal(klog_node_mask(line.invoked.nodemask), 5);
	assert_int_equal(line.invoked.order, 1);
	assert_int_equal(line.invoked.oom_score_adj, -999);
	line = parse("x invoked oom-killer: gfp_mask=0x201da, order=-1, oomkilladj=0");
	assert_true(line.whole && line.invoked.has_order && !line.invoked.has_adj);
	assert_int_equal(line.invoked.order, -1);
	line = parse("x invoked oom-killer: gfp_mask=0x");
	assert_int_equal(line.kind, KLOG_INVOKED);
	assert_false(line.whole || line.invoked.has_gfp);
	assert_int_equal(parse("a program of a longer name invoked oom-killer: gfp_mask=0x0").kind,
		KLOG_NONE);
}

static void test_summary(void **state)
{
	struct klog_line line = parse(
		"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,b,mems_allowed=0-1,oom_memcg=/a,task=1,task_memcg=/a,task=1/x,task=n,a,pid=7,uid=9");

	(void)state;
	assert_int_equal(line.kind, KLOG_SUMMARY);
	assert_true(line.whole);
	assert_int_equal(line.summary.constraint, KLOG_CONSTRAINT_MEMCG);
	assert_text(line.summary.oom_memcg, "/a,task=1");
	assert_int_equal(klog_node_mask(line.summary.mems), 3);
	assert_int_equal(line.summary.pid, 7);
	assert_int_equal(line.summary.uid, 9);
	line = parse(
		"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),global_oom,task_memcg=/,task=Isolated Web Co,pid=9120,uid=1000");
	assert_true(line.summary.global);
	assert_text(line.summary.task_memcg, "/");
	assert_text(line.summary.comm, "Isolated Web Co");
	assert_int_equal(klog_node_mask(line.summary.nodemask), UNKNOWN_U64);
}

static void test_memory_lines(void **state)
{
	struct klog_line line = parse(
		"DMA free:8kB min:64kB low:80kB high:96kB reserved_highatomic:0KB active_anon:6880kB present:10856kB managed:10224kB free_cma:4kB");

	(void)state;
	assert_int_equal(line.kind, KLOG_ZONE);
	assert_int_equal(line.zone.node, -1);
	assert_text(line.zone.name, "DMA");
	assert_int_equal(line.zone.free_kb, 8);
	assert_int_equal(line.zone.managed_kb, 10224);
	assert_int_equal(line.zone.cma_kb, 4);
	assert_int_equal(line.zone.boost_kb, UNKNOWN_U64);
	line = parse("Node 3 DMA32: 1*16kB (UM) 0*32kB 2*64kB (C) = 144kB");
	assert_int_equal(line.kind, KLOG_BUDDY);
	assert_int_equal(line.buddy.node, 3);
	assert_int_equal(line.buddy.page_kb, 16);
	assert_int_equal(line.buddy.orders, 3);
	assert_int_equal(line.buddy.types[2], KLOG_BUDDY_CMA);
	line = parse(" free:14200 slab_reclaimable:9000 slab_unreclaimable:15000");
	assert_int_equal(line.kind, KLOG_COUNTERS);
	assert_int_equal(line.counters[KLOG_FREE], 14200);
	assert_int_equal(line.counters[KLOG_SHMEM], UNKNOWN_U64);
	line = parse("Free swap  = 37912kB");
	assert_int_equal(line.kind, KLOG_COUNT);
	assert_int_equal(line.count.value, 37912);
	line = parse("lowmem_reserve[]: 0 403 16096");
	assert_int_equal(line.reserve.count, 3);
	assert_int_equal(line.reserve.pages[1], 403);
	line = parse("memory+swap: usage 5kB, limit 18014398509481983kB, failcnt 0");
	assert_int_equal(line.usage.which, KLOG_USAGE_MEMSW);
	assert_int_equal(line.usage.limit_kb, 18014398509481983);
	assert_int_equal(parse("anon 41807872").kind, KLOG_STAT);
	assert_int_equal(parse("anon 41807872 x").kind, KLOG_NONE);
}

static void test_others(void **state)
{
	static const struct {
		const char *line;
		enum klog_kind kind;
	} table[] = {
		{"sysrq: Manual OOM execution", KLOG_SYSRQ},
		{"sysrq: SysRq : Manual OOM execution", KLOG_SYSRQ},
		{"Task in /a killed as a result of limit of /a", KLOG_TASK_IN},
		{"Memory limit reached of cgroup /a", KLOG_TASK_IN},
		{"Memory cgroup stats for /a: cache:0KB rss:1KB", KLOG_STATS},
		{"Out of memory: kill process 7 (x) score 5 or a child", KLOG_CHOICE},
		{"Memory cgroup out of memory: Kill process 7 (x) score 5 or sacrifice child",
			KLOG_CHOICE},
		{"Kill process 7 (x) sharing same memory", KLOG_SHARING},
		{"Tasks in /a are going to be killed due to memory.oom.group set", KLOG_GROUP},
		{"Out of memory and no killable processes...", KLOG_NO_KILLABLE},
		{"Kernel panic - not syncing: Out of memory and no killable processes...",
			KLOG_NO_KILLABLE},
		{"Kernel panic - not syncing: out of memory. panic_on_oom is selected", KLOG_PANIC},
		{"Kernel panic - not syncing: Out of memory: system-wide panic_on_oom is enabled",
			KLOG_PANIC},
		{"Kernel panic - not syncing: Fatal exception", KLOG_NONE},
		{"oom_reaper: reaped process 7 (x), now anon-rss:0kB", KLOG_REAPED},
		{"oom_reaper: unable to reap pid:7 (x)", KLOG_NONE},
		{"Out of memory: OOM victim 7 (x) is already exiting. Skip killing the task",
			KLOG_EXITING},
		{"oom_kill_process: 70 callbacks suppressed", KLOG_SUPPRESSED},
		{"x: page allocation failure: order:0, mode:0x20", KLOG_ALLOC_FAILURE},
		{"swapper/0: page allocation failure. order:1, mode:0x20", KLOG_ALLOC_FAILURE},
		{" [<ffffffff8125f303>] ? dump_stack+0x282/0xd1f", KLOG_STACK},
		{"Linux version 6.1.0 (x)", KLOG_BOOT},
		{"RIP: 0033:0x401652", KLOG_NONE},
		{"java.lang.OutOfMemoryError: Java heap space", KLOG_NONE},
		{"torch.cuda.OutOfMemoryError: CUDA out of memory.", KLOG_NONE},
		{"", KLOG_NONE},
		{"   ", KLOG_NONE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (parse(table[i].line).kind != table[i].kind)
			fail_msg("%s: kind %d", table[i].line, parse(table[i].line).kind);
}

/* Any cut of any line, and any byte changed, is read within its bounds (the sanitizers watch). */
static void test_damaged_lines(void **state)
{
	static const char *const lines[] = {
		"x invoked oom-killer: gfp_mask=0x15080c0(GFP_KERNEL), nodemask=(null), order=1, oom_score_adj=0",
		"CPU: 0 UID: 0 PID: 334 Comm: hog Not tainted 6.12 #1",
		"Task in /a killed as a result of limit of /b",
		"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,mems_allowed=0-1,oom_memcg=/a,task_memcg=/a,task=n,pid=7,uid=9",
		"Memory cgroup out of memory: Killed process 7 (x) total-vm:10kB, anon-rss:2kB, file-rss:3kB, shmem-rss:4kB, UID:48 pgtables:56kB oom_score_adj:-998",
		"Node 0 DMA32 free:24800kB min:25640kB low:32048kB present:2869364kB",
		"Node 0 DMA32: 0*4kB 1*8kB (UME) 1*16kB = 24kB",
		"[  157]     0   157     6608     6270     1     0             0 x",
		"Memory cgroup stats for /x: cache:0KB rss:1KB",
		"lowmem_reserve[]: 0 2756 5007 5007",
	};
	struct klog_layout layout = layout_of(
		"[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name");
	struct klog_line line;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		size_t len = strlen(lines[i]);

		for (size_t cut = 0; cut <= len; cut++) {
			char *copy = malloc(cut + !cut);

			memcpy(copy, lines[i], cut);
			klog_line_parse(scan_of(copy, cut), &layout, &line);
			for (size_t at = 0; at < cut; at++) {
				char byte = copy[at];

				copy[at] = (char)(byte ^ (1 << (at % 8)));
				klog_line_parse(scan_of(copy, cut), &layout, &line);
				copy[at] = byte;
			}
			free(copy);
		}
	}
}

/* A form that was tried first and given up leaves nothing behind in the one that is found. */
static void test_leftovers(void **state)
{
	struct klog_layout layout = layout_of("[ pid ]   uid  tgid total_vm      rss name");
	struct klog_line line = parse_with("[255]-x invoked oom-killer: gfp_ma", &layout);

	(void)state;
	assert_int_equal(line.kind, KLOG_INVOKED);
	assert_text(line.invoked.comm, "[255]-x");
	assert_false(line.invoked.has_gfp);
	assert_false(line.invoked.has_order);
	assert_false(line.invoked.has_adj);
	assert_null(line.invoked.nodemask.at);
	assert_null(line.invoked.gfp_flags.at);
	assert_false(line.whole);
	line = parse_with("[ 4294967295 4294967295 ]", &layout);
	assert_int_equal(line.kind, KLOG_NONE);
	assert_int_equal(line.row.pid, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leftovers),
		cmocka_unit_test(test_kill_lines),
		cmocka_unit_test(test_no_kill_lines),
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_no_rows),
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_memory_lines),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_damaged_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
