// SPDX-License-Identifier: Apache-2.0
/*
 * make_page KIND FILE: the report page of a made incident, as the real writer writes it, for the
 * test in a browser. KIND: plain, workers, hostile, points (no series), bare (no history at all),
 * group, nobody, gaps, large, or svg: the chart alone.
 */
#include "chart_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

static int put(const char *data, size_t len, void *arg)
{
	return fwrite(data, 1, len, arg) == len ? 0 : -EIO;
}

static void page_group(void)
{
	fix_group_kill();
	fix_page_of(NULL);
}

static void page_nobody(void)
{
	fix_nobody();
	fix_page_of(NULL);
}

static void page_points(void)
{
	page_workers();
	fix_page.chart = NULL;
}

static void add_kills(int64_t kill_ns)
{
	static struct html_kill kills[2];

	for (unsigned int i = 0; i < 2; i++) {
		kills[i].time_ns = kill_ns + (i ? 2 : -90) * (int64_t)CHART_SEC;
		kills[i].near = i;
		kills[i].verdict = (struct verdict) {.id = "cgroup-killed",
			.confidence = CONFIDENCE_CERTAIN,
			.evidence_count = 1};
		snprintf(kills[i].verdict.claim, sizeof(kills[i].verdict.claim),
			"Not the OOM killer: runc (pid %u) sent SIGKILL to <img src=x>", 700 + i);
		snprintf(kills[i].verdict.evidence[0], sizeof(kills[i].verdict.evidence[0]),
			"sender runc, pid %u", 700 + i);
	}
	fix_page.kills = kills;
	fix_page.kill_count = fix_page.kill_total = 2;
}

static void page_gaps(void)
{
	static struct store_gap gap;
	static struct html_neighbour others[3];
	int64_t kill_ns = (int64_t)FIX_TIME_NS;

	page_plain();
	gap = (struct store_gap) {STORE_GAP_DISK,
		kill_ns - 120 * CHART_SEC + fix_context.wall_minus_boot_ns,
		kill_ns - 100 * CHART_SEC + fix_context.wall_minus_boot_ns, 0, 1234};
	fix_page.gaps = &gap;
	fix_page.gap_count = 1;
	for (unsigned int i = 0; i < 3; i++) {
		others[i].id = i < 2 ? i + 1 : 12;
		others[i].time_ns =
			fix_context.wall_minus_boot_ns + kill_ns + (int64_t)i * 3600 * CHART_SEC;
		snprintf(others[i].claim, sizeof(others[i].claim),
			"sort[%u]: its cgroup hit its 2.00 GiB memory limit", 400 + i);
	}
	fix_page.neighbours = others;
	fix_page.neighbour_count = 3;
	fix_page.neighbour_total = 40;
	add_kills(kill_ns + fix_context.wall_minus_boot_ns);
}

static const struct {
	const char *name;
	void (*make)(void);
} kinds[] = {
	{"plain", page_plain},
	{"workers", page_workers},
	{"hostile", page_hostile},
	{"points", page_points},
	{"bare", page_bare},
	{"group", page_group},
	{"nobody", page_nobody},
	{"gaps", page_gaps},
	{"large", page_large},
	{"svg", page_workers},
};

static int write_page(const char *kind, FILE *file)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, kind) != 0)
			continue;
		kinds[i].make();
		if (strcmp(kind, "svg") == 0)
			return svg_file(
				&fix_context, &fix_incident, &fix_judgement, &fix_chart, put, file);
		return html_page(&fix_page, put, file);
	}
	return -EINVAL;
}

int main(int argc, char **argv)
{
	FILE *file;
	int result;

	if (argc != 3) {
		fprintf(stderr, "usage: make_page KIND FILE\n");
		return 64;
	}
	tzset();
	file = fopen(argv[2], "w");
	if (file == NULL) {
		fprintf(stderr, "%s: %s\n", argv[2], strerror(errno));
		return 74;
	}
	result = write_page(argv[1], file);
	if (fclose(file) != 0 && result == 0)
		result = -errno;
	if (result != 0)
		fprintf(stderr, "make_page: %s: %s\n", argv[1], strerror(-result));
	return result == 0 ? 0 : 1;
}
