// SPDX-License-Identifier: Apache-2.0
/* The page of an incident that was read from a kernel log: what that does not tell is not there, or
 * a dash; never 0. */
#include "klog_fixture.h"
#include "markup_fixture.h"

#include <time.h>

#include "judge/zones.h"
#include "sink/html.h"

#define DASH "<td class=\"n no\">\xe2\x80\x93</td>"

/* The last incident of a log. */
static void page_of(const char *text)
{
	struct log_result *log = log_of(text);
	unsigned int last;
	struct sink_context context = {.width = 80};
	struct html_page page = {.context = &context};

	assert_true(log->count > 0);
	last = log->count - 1;
	context.host = &log->hosts[last];
	page.id = (int64_t)last + 1;
	page.incident = &log->incidents[last];
	page.judgement = &log->judgements[last];
	markup_reset();
	assert_int_equal(html_page(&page, take_markup, NULL), 0);
	assert_well_formed();
	free(log);
}

/* What stands in a section, as a copy. */
static char *section(const char *id)
{
	char from[64];
	const char *start, *end;
	char *ret;

	snprintf(from, sizeof(from), "<section id=\"%s\"", id);
	start = strstr(markup, from);
	if (start == NULL)
		return NULL;
	end = strstr(start, "</section>");
	assert_non_null(end);
	ret = strndup(start, (size_t)(end - start));
	assert_non_null(ret);
	return ret;
}

static void assert_section_has(const char *id, const char *text)
{
	char *found = section(id);

	if (found == NULL)
		fail_msg("no section %s", id);
	else if (strstr(found, text) == NULL)
		fail_msg("%s: not there: %s", id, text);
	free(found);
}

static void assert_section_lacks(const char *id, const char *text)
{
	char *found = section(id);

	if (found != NULL && strstr(found, text) != NULL)
		fail_msg("%s has %s", id, text);
	free(found);
}

static const char memcg_log[] =
	"[  100.000001] hog invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
	"[  100.000002] memory: usage 40960kB, limit 40960kB, failcnt 30\n"
	"[  100.000003] swap: usage 0kB, limit 9007199254740988kB, failcnt 0\n"
	"[  100.000004] Memory cgroup stats for /box:\n"
	"[  100.000005] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n"
	"[  100.000006] [    334]     0   334    20000    10000   131072        0             0 hog\n"
	"[  100.000007] [    335]     0   335     2000      500    65536        0           300 helper\n"
	"[  100.000008] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/box,task_memcg=/box,task=hog,pid=334,uid=0\n"
	"[  100.000009] Memory cgroup out of memory: Killed process 334 (hog) total-vm:80000kB, anon-rss:39000kB, file-rss:1000kB, shmem-rss:0kB, UID:0 pgtables:128kB oom_score_adj:0\n";

static void a_limit_of_a_log_is_told_with_what_it_has(void **state)
{
	(void)state;
	page_of(memcg_log);
	assert_has("KILLED</span> hog[334]: its cgroup hit its 40.0\xc2\xa0MiB memory limit");
	assert_has("<span>100.000009 s after boot</span>");
	assert_has("<p class=\"where\">/box</p>");
	assert_section_has("victim", "<dt>anon</dt><dd>38.1\xc2\xa0MiB</dd>");
	assert_section_has("victim", "<dt>oom_score_adj</dt><dd>0</dd>");
	assert_section_has("source", "a kernel log");
	assert_section_has("missing", "<code>host_total_bytes</code>");
	assert_section_has("missing", "<code>ts</code>");
	assert_has("A kernel log has none.");
	assert_section_has("limits", "<td>hit</td>");
	assert_section_has("after", "the kernel killed 1 process</li>");
}

/* The kernel tells of a cgroup's limit alone. */
static void a_limits_page_has_no_host_totals(void **state)
{
	(void)state;
	page_of(memcg_log);
	assert_false(has("the host has"));
	assert_false(has("all RAM"));
	assert_false(has("What filled the machine"));
	assert_false(has("<section id=\"zones\""));
	assert_false(has("<figure"));
	assert_false(has("1970"));
	assert_false(has("just after the kill"));
	/* No host's name, either. */
	assert_false(has("<span></span>"));
}

static void older_tables_have_one_column_of_memory(void **state)
{
	(void)state;
	page_of(memcg_log);
	assert_section_has("candidates", ">resident<");
	assert_section_lacks("candidates", ">shmem<");
	assert_section_lacks("candidates", ">command line<");
	assert_section_has("candidates", "2 processes are in the log's table");
	assert_section_has("candidates", "<td class=\"n\" data-v=\"2048000\">1.95\xc2\xa0MiB</td>");
}

/* A line of a kill and nothing else. */
static void what_a_line_alone_tells(void **state)
{
	(void)state;
	page_of("Memory cgroup out of memory: Killed process 12 (lone) total-vm:8000kB, "
		"anon-rss:400kB, file-rss:0kB\n");
	assert_has("no time in the log");
	assert_section_has("victim", "<dt>anon</dt><dd>400\xc2\xa0KiB</dd>");
	assert_section_has("victim", "<dt>file</dt><dd>0</dd>");
	assert_section_lacks("victim", "<dt>shmem</dt>");
	assert_section_lacks("victim", "<dt>swap</dt>");
	assert_section_lacks("victim", "<dt>uid</dt>");
	assert_section_lacks("victim", "<dt>oom_score_adj</dt>");
	assert_section_lacks("victim", "<dt>page tables</dt>");
	assert_section_lacks("victim", "<dt>parent</dt>");
	assert_false(has("<section id=\"candidates\""));
	assert_false(has("<section id=\"limits\""));
	assert_section_has("missing", "<td><code>candidates</code></td>");
	assert_section_has("source", "pages taken for 4");
}

static void two_victims_of_lines_alone_have_dashes(void **state)
{
	char *found;

	(void)state;
	page_of("x invoked oom-killer: gfp_mask=0xcc0, order=0, oom_score_adj=0\n"
		"Memory cgroup out of memory: Killed process 12 (one) total-vm:8000kB, "
		"anon-rss:400kB, file-rss:0kB\n"
		"Tasks in /box are going to be killed due to memory.oom.group set\n"
		"Memory cgroup out of memory: Killed process 13 (two) total-vm:8000kB, "
		"anon-rss:800kB, file-rss:0kB\n");
	found = section("victims");
	assert_non_null(found);
	assert_non_null(strstr(found, "<td>one</td>"));
	/* shmem, swap, tables and adj of each */
	assert_non_null(strstr(found, DASH DASH DASH DASH));
	assert_null(strstr(found, "gone after"));
	free(found);
}

static const char global_log[] =
	"[   50.000001] eater invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
	"[   50.000002] Mem-Info:\n"
	"[   50.000003] active_anon:1000 inactive_anon:2000 isolated_anon:0\n"
	" active_file:10 inactive_file:20 isolated_file:0\n"
	" unevictable:5 dirty:1 writeback:0\n"
	" slab_reclaimable:100 slab_unreclaimable:300\n"
	" mapped:10 shmem:50 pagetables:40\n"
	" free:900 free_pcp:0 free_cma:0\n"
	"[   50.000004] Node 0 Normal free:2048kB boost:0kB min:2560kB low:5120kB high:6144kB reserved_highatomic:0KB active_anon:0kB inactive_anon:0kB active_file:0kB inactive_file:0kB unevictable:0kB writepending:0kB present:40960kB managed:32768kB mlocked:0kB bounce:0kB free_pcp:0kB local_pcp:0kB free_cma:0kB\n"
	"[   50.000005] lowmem_reserve[]: 0 0 0\n"
	"[   50.000006] Node 0 Normal: 12*4kB (U) 250*8kB (UM) = 2048kB\n"
	"[   50.000007] 10240 pages RAM\n"
	"[   50.000008] 0 pages HighMem/MovableOnly\n"
	"[   50.000009] 2048 pages reserved\n"
	"[   50.000010] [  pid  ]   uid  tgid total_vm rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name\n";

static const char global_kill[] =
	"[   50.000011] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/,task=eater,pid=77,uid=5\n"
	"[   50.000012] Out of memory: Killed process 77 (eater) total-vm:80000kB, anon-rss:12000kB, file-rss:0kB, shmem-rss:0kB, UID:5 pgtables:128kB oom_score_adj:0\n";

static void zones_are_told_with_their_arithmetic(void **state)
{
	char text[8192];

	(void)state;
	snprintf(text, sizeof(text), "%s%s", global_log, global_kill);
	page_of(text);
	assert_section_has("zones", "<td>Normal</td>");
	assert_section_has("zones", ">2.00\xc2\xa0MiB</td>");
	/* 2048 - 2560 kB */
	assert_section_has("zones", "<td class=\"n\" data-v=\"-524288\">-512\xc2\xa0KiB</td>");
	assert_section_has("zones", "<td>no room</td>");
	assert_section_has("composition", "<td>tmpfs and shared memory</td>");
	assert_section_has("composition", "data-v=\"204800\">200\xc2\xa0KiB</td>");
	assert_has("<dt>free</dt>");
	/* Not told by this log: no line rather than a 0. */
	assert_section_lacks("composition", "huge pages");
	assert_section_lacks("composition", "kernel: stacks");
	assert_false(has("<dt>swap</dt>"));
}

static void a_panic_and_an_end_that_is_lost(void **state)
{
	char text[8192];

	(void)state;
	page_of(global_log);
	assert_has("<span class=\"tag calm\">OOM</span>");
	assert_has("<p class=\"big\">not in the log</p>");
	assert_section_has("after", "what came of it is not in the log");
	assert_false(has("<section id=\"victim\""));
	snprintf(text, sizeof(text),
		"%s[   50.000013] Kernel panic - not syncing: Out of memory: system-wide "
		"panic_on_oom is enabled\n",
		global_log);
	page_of(text);
	assert_has("<span class=\"tag\">PANIC</span>");
	assert_section_has("after", "stopped in place of killing");
}

static void names_of_a_log_stay_text(void **state)
{
	(void)state;
	page_of("Memory cgroup out of memory: Killed process 12 (<b>&\"x) total-vm:8000kB, "
		"anon-rss:400kB, file-rss:0kB\n");
	assert_has("&lt;b&gt;&amp;&quot;x");
	assert_false(has("<b>&"));
}

static void another_incident_without_a_time(void **state)
{
	static struct html_neighbour other = {.id = 1, .time_ns = HTML_TIME_UNKNOWN};
	struct log_result *log = log_of(memcg_log);
	struct sink_context context = {.host = &log->hosts[0]};
	struct html_page page = {.context = &context,
		.incident = &log->incidents[0],
		.judgement = &log->judgements[0],
		.neighbours = &other,
		.neighbour_count = 1,
		.neighbour_total = 1};

	(void)state;
	markup_reset();
	assert_int_equal(html_page(&page, take_markup, NULL), 0);
	assert_well_formed();
	assert_section_has("others", "Other incidents of this log");
	assert_section_has("others", DASH);
	free(log);
}

static void room_is_not_known_without_a_request(void **state)
{
	static struct incident incident;
	struct zone_room room;

	(void)state;
	incident.log.joined = true;
	incident.log.machine.zone_count = 1;
	incident.log.machine.zones[0].free_pages = 10;
	assert_false(judge_zone_room(&incident, 0, &room));
	incident.log.has_gfp = true;
	assert_true(judge_zone_room(&incident, 0, &room));
	assert_false(judge_zone_room(&incident, 1, &room));
	incident.log.machine.zones[0].min_pages = UNKNOWN_U64;
	assert_false(judge_zone_room(&incident, 0, &room));
}

static int set_up(void **state)
{
	(void)state;
	setenv("TZ", "XYZ-1", 1);
	tzset();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(markup);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_of_a_log_is_told_with_what_it_has),
		cmocka_unit_test(a_limits_page_has_no_host_totals),
		cmocka_unit_test(older_tables_have_one_column_of_memory),
		cmocka_unit_test(what_a_line_alone_tells),
		cmocka_unit_test(two_victims_of_lines_alone_have_dashes),
		cmocka_unit_test(zones_are_told_with_their_arithmetic),
		cmocka_unit_test(a_panic_and_an_end_that_is_lost),
		cmocka_unit_test(names_of_a_log_stay_text),
		cmocka_unit_test(another_incident_without_a_time),
		cmocka_unit_test(room_is_not_known_without_a_request),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
