/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Made charts and pages for the tests of the report page: what model/chart.h would hand over,
 * written down by hand, over the incidents of sink_fixture.h.
 */
#ifndef TESTS_CHART_FIXTURE_H
#define TESTS_CHART_FIXTURE_H

#include "model/chart.h"
#include "sink/html.h"
#include "sink_fixture.h"

#define CHART_MIB (1LL << 20)
#define CHART_GIB (1LL << 30)
#define CHART_SEC 1000000000LL

static int64_t fix_times[CHART_INSTANTS], fix_usage[CHART_INSTANTS], fix_swap[CHART_INSTANTS];
static int64_t fix_layers[CHART_LAYERS + 1][CHART_INSTANTS];
static struct chart fix_chart;
static struct html_page fix_page;

/* So many instants over so many seconds that end with the kill, and no series yet. */
static inline void chart_window(unsigned int instants, int64_t seconds, uint64_t limit_bytes)
{
	memset(&fix_chart, 0, sizeof(fix_chart));
	fix_chart.instants = instants;
	fix_chart.times_ns = fix_times;
	fix_chart.kill_ns = (int64_t)FIX_TIME_NS;
	fix_chart.from_ns = fix_chart.kill_ns - seconds * CHART_SEC;
	fix_chart.to_ns = fix_chart.kill_ns;
	fix_chart.limit_bytes = limit_bytes;
	fix_chart.whole = true;
	for (unsigned int i = 0; i < instants; i++)
		fix_times[i] = fix_chart.from_ns + seconds * CHART_SEC * i / (instants - 1);
}

/* From one size to another; from `bend` (thousandths of the window) on. */
static inline struct chart_layer *chart_layer(const char *comm, uint32_t root, unsigned int members,
	int64_t from, int64_t to, unsigned int bend)
{
	unsigned int number = fix_chart.layer_count++, count = fix_chart.instants;
	struct chart_layer *layer = &fix_chart.layers[number];
	unsigned int start = (count - 1) * bend / 1000;

	memset(layer, 0, sizeof(*layer));
	layer->root_tgid = root;
	layer->root_start_ns = PIC_END_NS - 725 * PIC_SEC;
	layer->members = members;
	snprintf(layer->comm, sizeof(layer->comm), "%s", comm);
	layer->bytes = fix_layers[number];
	for (unsigned int i = 0; i < count; i++)
		layer->bytes[i] =
			i <= start ? from : from + (to - from) * (i - start) / (count - 1 - start);
	fix_chart.processes += members;
	return layer;
}

/* What is in use: all layers and so much page cache. */
static inline void chart_usage(int64_t cache)
{
	fix_chart.usage_bytes = fix_usage;
	for (unsigned int i = 0; i < fix_chart.instants; i++) {
		fix_usage[i] = cache;
		for (unsigned int j = 0; j < fix_chart.layer_count; j++)
			fix_usage[i] += fix_chart.layers[j].bytes[i];
	}
}

static inline void fix_page_of(const struct chart *chart)
{
	memset(&fix_page, 0, sizeof(fix_page));
	fix_page.context = &fix_context;
	fix_page.id = 3;
	fix_page.incident = &fix_incident;
	fix_page.judgement = &fix_judgement;
	fix_page.chart = chart;
}

/* --- situations --- */

/* One container at its limit: a leak, and others that stand still. */
static inline void page_plain(void)
{
	fix_memcg_kill();
	fix_recorder();
	fix_history(pic_leak);
	fix_verdict("steady-leak", CONFIDENCE_LIKELY,
		"Usage grew in a straight line, by 14.6 MiB a second for 3 min 20 s.", "r2 0.998");
	fix_verdict("host-larger-than-limit", CONFIDENCE_CERTAIN,
		"The machine has 480 GiB; `free` in the container shows that, not its limit of "
		"16.0 GiB.",
		"limit 16.0 GiB, RAM 480 GiB");
	chart_window(300, 300, 16 * (uint64_t)CHART_GIB);
	chart_layer("python3", 31402, 17, 3 * CHART_GIB, 14 * CHART_GIB, 330)->has_victim = true;
	chart_layer("tensorboard", 31440, 1, 600 * CHART_MIB, 640 * CHART_MIB, 0);
	chart_layer("", 0, 4, 90 * CHART_MIB, 90 * CHART_MIB, 0);
	chart_usage(500 * CHART_MIB);
	fix_page_of(&fix_chart);
}

/* Forked workers that copy what their parent loaded. */
static inline void page_workers(void)
{
	fix_memcg_kill();
	fix_recorder();
	fix_history(pic_workers);
	fix_verdict("copy-on-write", CONFIDENCE_LIKELY,
		"11.5 GiB of the growth of 12.0 GiB are private copies of pages that were shared "
		"by fork (copy-on-write): no RSS shows them.",
		"write faults on present pages were counted for 42.5 s");
	chart_window(200, 60, 16 * (uint64_t)CHART_GIB);
	chart_layer("python3", 31402, 17, 3 * CHART_GIB, 15 * CHART_GIB, 0)->has_victim = true;
	chart_layer("nginx", 900, 5, 200 * CHART_MIB, 260 * CHART_MIB, 0);
	chart_layer("redis-server", 901, 1, 400 * CHART_MIB, 100 * CHART_MIB, 500);
	chart_usage(300 * CHART_MIB);
	fix_page_of(&fix_chart);
}

/* Ten minutes of 500 processes, every list full. */
static inline void page_large(void)
{
	char comm[16];

	fix_group_kill();
	fix_recorder();
	fix_history(pic_workers);
	for (unsigned int i = 0; i < INCIDENT_CANDIDATES; i++) {
		snprintf(comm, sizeof(comm), "worker-%u", i);
		fix_candidate(i, comm, 31415 + i, 246016 - 1000 * i, 3072, 794 - i, 0);
	}
	fix_incident.candidate_total = 500;
	for (unsigned int i = 10; i < INCIDENT_VICTIMS; i++) {
		struct task_facts task;

		fix_task(&task, "worker", 32000 + i, 3000 + i, 80, 15);
		fix_victim(i, &task, VICTIM_GROUP);
		fix_incident.victims[i].exit_ns += i * 1000000ULL;
	}
	chart_window(CHART_INSTANTS, 600, 16 * (uint64_t)CHART_GIB);
	for (unsigned int i = 0; i < CHART_LAYERS; i++) {
		snprintf(comm, sizeof(comm), "worker-%u", i);
		chart_layer(comm, 31415 + i, 40, 100 * CHART_MIB + i * 1234567, CHART_GIB, 80 * i);
		for (unsigned int j = 0; j < CHART_INSTANTS; j++)
			fix_layers[i][j] += (int64_t)(j * 7919 + i * 104729) % 9000000;
	}
	fix_chart.layers[0].has_victim = true;
	chart_layer("", 0, 20, CHART_GIB, CHART_GIB, 0);
	chart_usage(CHART_GIB);
	fix_chart.swap_bytes = fix_swap;
	for (unsigned int i = 0; i < CHART_INSTANTS; i++)
		fix_swap[i] = (int64_t)i * 700000;
	fix_page_of(&fix_chart);
}

#define MARKUP "<b onload=\"x()\">&'"

/* Names that would be markup, end elements, or turn text around. */
static inline void page_hostile(void)
{
	fix_hostile();
	fix_recorder();
	fix_history(pic_workers);
	strcpy(fix_incident.candidates[3].task.comm, "</script><img>");
	strcpy(fix_incident.candidates[4].task.comm, "<!--");
	strcpy(fix_incident.candidates[5].cmdline,
		"</textarea><script>alert(1)</script> \xe2\x80\xae" MARKUP);
	strcpy(fix_incident.candidates[5].cgroup, "/a</td><svg onload=alert(1)>\n/x");
	strcpy(fix_incident.victim_exe, "/tmp/" MARKUP);
	strcpy(fix_incident.victim_cmdline, MARKUP "\x01\xff \xe2\x80\xae txt.exe");
	strcpy(fix_incident.growth.processes[0].comm, "<i>x</i>");
	strcpy(fix_incident.growth.families[0].comm, "</style><i>");
	strcpy(fix_incident.growth.cgroups[0].path, "/'\"><script>alert(2)</script>");
	strcpy(fix_judgement.verdicts[0].claim, "16 of " MARKUP " hold most.");
	strcpy(fix_judgement.verdicts[0].evidence[0], "</li></script>" MARKUP);
	strcpy(fix_host.hostname, "h<u>\nost");
	strcpy(fix_host.kernel, "6.1</title>");
	fix_judgement.missing[0].why = "</td>" MARKUP;
	chart_window(30, 60, 16 * (uint64_t)CHART_GIB);
	chart_layer("</script>\x1b\xe2\x80\xae", 31402, 17, 3 * CHART_GIB, 15 * CHART_GIB, 0)
		->has_victim = true;
	chart_layer("<b a=\"'&", 31403, 1, CHART_GIB / 2, CHART_GIB / 2, 0);
	chart_usage(300 * CHART_MIB);
	fix_page_of(&fix_chart);
	fix_page.damage = "its series: </p><script>alert(3)</script>";
}

/* No series in the store, no history in the incident. */
static inline void page_bare(void)
{
	fix_global_kill();
	fix_page_of(NULL);
	fix_page.id = 0;
}

#endif /* TESTS_CHART_FIXTURE_H */
