// SPDX-License-Identifier: Apache-2.0
#include "cmd/cgroup_told.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"

/* Where we stand among those that the kernel would weigh. */
struct standing {
	uint32_t self;
	uint32_t page_size;
	unsigned int processes, before;
	int64_t own, adj_pages;
	uint64_t own_bytes;
	int own_adj;
	bool found;
};

static int64_t points_of(const struct standing *standing, const struct task_facts *task)
{
	int64_t pages = 0;

	for (int i = 0; i < EV_RSS_COUNTERS; i++)
		pages += task->rss_pages[i];
	if (task->pgtables_bytes != UNKNOWN_U64)
		pages += (int64_t)(task->pgtables_bytes / standing->page_size);
	return pages + task->oom_score_adj * standing->adj_pages;
}

static void find_self(const struct self_process *process, void *arg)
{
	struct standing *standing = arg;

	standing->processes++;
	if (process->task.tgid != standing->self)
		return;
	standing->found = true;
	standing->own = points_of(standing, &process->task);
	standing->own_adj = process->task.oom_score_adj;
	standing->own_bytes = 0;
	for (int i = 0; i < EV_RSS_COUNTERS; i++)
		standing->own_bytes += (uint64_t)process->task.rss_pages[i] * standing->page_size;
}

static void count_before(const struct self_process *process, void *arg)
{
	struct standing *standing = arg;

	standing->before += process->task.tgid != standing->self &&
			    process->task.oom_score_adj > -1000 &&
			    points_of(standing, &process->task) > standing->own;
}

static void tell_standing(const struct cgroup_view *view, const struct selfwatch *watch, int adj)
{
	uint64_t max = cgroup_view_domain(view)->limits.max_bytes;
	struct standing standing = {
		.self = (uint32_t)getpid(), .page_size = (uint32_t)sysconf(_SC_PAGESIZE)};
	char text[32];
	struct buf buf;

	if (max < CGROUP_NO_LIMIT)
		standing.adj_pages = (int64_t)(max / standing.page_size / 1000);
	selfwatch_each(watch, find_self, &standing);
	if (!standing.found || adj <= -1000)
		return;
	selfwatch_each(watch, count_before, &standing);
	buf_init(&buf, text, sizeof(text));
	units_bytes(&buf, standing.own_bytes);
	fprintf(stderr,
		"oomsnoop: it needs memory here, too (%s now), and may be killed itself (oom_score_adj %d): "
		"of %u processes %u would go before it. To keep it give the work a higher oom_score_adj: "
		"`echo 500 >/proc/self/oom_score_adj` before it starts needs no right\n",
		text, adj, standing.processes, standing.before);
}

static void tell_watched(const struct cgroup_view *view, const struct selfwatch *watch, bool woken)
{
	const struct quota_level *domain = cgroup_view_domain(view);
	struct selfwatch_totals totals = selfwatch_totals(watch);
	char text[4 * QUOTA_PATH + 64];
	struct buf buf;

	buf_init(&buf, text, sizeof(text));
	text_terminal(&buf, domain->cgroup, strlen(domain->cgroup), 0);
	buf_puts(&buf, " (");
	if (domain->limits.max_bytes < CGROUP_NO_LIMIT) {
		buf_puts(&buf, "limit ");
		units_bytes(&buf, domain->limits.max_bytes);
	} else {
		buf_puts(&buf, "no limit of its own");
	}
	fprintf(stderr,
		"oomsnoop: watches its own cgroup alone, %s, cgroup v%d), %zu %s; killed there so far: "
		"%llu\n",
		text, view->mount.v2 ? 2 : 1, totals.processes,
		totals.processes == 1 ? "process" : "processes",
		(unsigned long long)totals.domain_kills);
	fprintf(stderr,
		"oomsnoop: cannot be known so: kills elsewhere, who asked for the page, what the kernel "
		"weighed; who was killed is told by who vanished%s\n",
		woken ? "" : ", noticed at the next look (this cgroup version gives no notice)");
}

void cgroup_told_start(const struct cgroup_view *view, const struct selfwatch *watch,
	const struct live_options *options, bool woken, int adj)
{
	if (!options->quiet)
		tell_watched(view, watch, woken);
	if (adj > -1000 && cgroup_view_domain(view)->limits.oom_group == 1)
		fprintf(stderr,
			"oomsnoop: memory.oom.group is set on its cgroup: at a kill there all processes die "
			"together, this one, too, and nothing will be told. Have it switched off (kubelet: "
			"singleProcessOOMKill), or watch from outside, with rights\n");
	if (!options->quiet)
		tell_standing(view, watch, adj);
}
