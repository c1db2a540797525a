// SPDX-License-Identifier: Apache-2.0
#include "model/joined.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/imported.h"
#include "model/imported_parts.h"

/* --- reports as they are printed --- */

struct joiner {
	uint32_t page_size;
	joined_fn fn;
	void *arg;
	struct klog_stream *stream;
	struct klog_reports *reports;
	uint64_t lines;
	struct joined_report report; /* the one that is told */
};

void joined_report_of(const struct klog_report *report, uint32_t pid, uint32_t page_size,
	struct joined_report *ret)
{
	*ret = (struct joined_report) {.pid = pid,
		.has_invoked = report->has_invoked,
		.has_order = report->has_order,
		.has_gfp = report->has_gfp,
		.has_trigger_adj = report->has_trigger_adj,
		.trigger_tid = report->trigger_tid,
		.order = report->order,
		.trigger_adj = report->trigger_adj,
		.gfp_mask = report->gfp_mask,
		.nodemask = report->nodemask,
		.mems_allowed = report->mems_allowed,
		.constraint = report->constraint,
		.limit_written = report->limit_written,
		.has_trace = report->has_trace,
		.failcnt = report->failcnt[KLOG_USAGE_MEMORY],
		.has_stats = report->has_stats,
		.stat = report->stat};
	imported_machine(&ret->machine, report, page_size);
	memcpy(ret->trigger_comm, report->trigger_comm, sizeof(ret->trigger_comm));
	memcpy(ret->gfp_flags, report->gfp_flags, sizeof(ret->gfp_flags));
	memcpy(ret->usage_kb, report->usage_kb, sizeof(ret->usage_kb));
	memcpy(ret->limit_kb, report->limit_kb, sizeof(ret->limit_kb));
	if (report->has_limit_path)
		memcpy(ret->limit_path, report->limit_path, sizeof(ret->limit_path));
	if (report->has_summary && report->summary_pid == pid)
		memcpy(ret->comm, report->summary_comm, sizeof(ret->comm));
	for (unsigned int i = 0; i < report->dead_count; i++)
		if (report->dead[i].pid == pid && report->dead[i].comm_known)
			memcpy(ret->comm, report->dead[i].comm, sizeof(ret->comm));
}

/* Whoever dies is named last: what this line ends is whole, as far as it was printed. */
static void take_line(void *arg, const struct klog_record *record)
{
	struct joiner *joiner = arg;
	const struct klog_line *line = record->line;
	const struct klog_report *report;
	uint32_t pid = 0;

	klog_reports_record(joiner->reports, record);
	if (line->kind == KLOG_SUMMARY)
		pid = line->summary.pid;
	else if (line->kind == KLOG_KILL)
		pid = line->kill.pid;
	report = pid ? klog_reports_of(joiner->reports, pid) : NULL;
	/* The others of a group have no report of their own. */
	if (!report || (line->kind == KLOG_KILL && report->dead[0].pid != pid))
		return;
	joined_report_of(report, pid, joiner->page_size, &joiner->report);
	joiner->fn(joiner->arg, &joiner->report);
}

/* By its end a report has told long ago what it has. */
static void pass_over(void *arg, const struct klog_report *report)
{
	(void)arg;
	(void)report;
}

struct joiner *joiner_new(uint32_t page_size, joined_fn fn, void *arg)
{
	struct joiner *joiner = calloc(1, sizeof(*joiner));

	if (!joiner)
		return NULL;
	joiner->page_size = page_size;
	joiner->fn = fn;
	joiner->arg = arg;
	joiner->reports = klog_reports_new(pass_over, NULL);
	joiner->stream = klog_stream_new(NULL, take_line, joiner);
	/* Who was weighed is known better than by the report's table. */
	if (!joiner->reports || !joiner->stream || klog_reports_bound(joiner->reports, 0)) {
		joiner_free(joiner);
		return NULL;
	}
	return joiner;
}

void joiner_free(struct joiner *joiner)
{
	if (!joiner)
		return;
	klog_stream_free(joiner->stream);
	klog_reports_free(joiner->reports);
	free(joiner);
}

/* And what a report goes on with whose head was overwritten. */
static bool has_needle(const char *record, size_t len)
{
	static const char stats[] = "emory cgroup stats for ";

	if (memmem(record, len, stats, sizeof(stats) - 1))
		return true;
	for (const char *const *needle = klog_needles; *needle; needle++)
		if (memmem(record, len, *needle, strlen(*needle)))
			return true;
	return false;
}

void joiner_record(struct joiner *joiner, const char *record, size_t len)
{
	/* Others may print a lot. */
	if (klog_reports_idle(joiner->reports) && klog_stream_idle(joiner->stream) &&
		!has_needle(record, len)) {
		klog_stream_end(joiner->stream);
		return;
	}
	klog_reports_at(joiner->reports, ++joiner->lines);
	klog_stream_line(joiner->stream, record, len);
}

void joiner_flush(struct joiner *joiner)
{
	klog_stream_end(joiner->stream);
}

/* --- differences --- */

void incident_differs(struct incident *incident, const char *format, ...)
{
	size_t len = strlen(incident->kmsg_difference), room;
	char text[sizeof(incident->kmsg_difference)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	incident->kmsg = KMSG_DIFFERS;
	room = sizeof(incident->kmsg_difference) - len;
	snprintf(incident->kmsg_difference + len, room, "%s%s", len ? "; " : "", text);
}

static void compare_u64(struct incident *incident, const char *what, uint64_t here, uint64_t there)
{
	if (here != UNKNOWN_U64 && there != UNKNOWN_U64 && here != there)
		incident_differs(incident, "%s %llu here, %llu in the log", what,
			(unsigned long long)here, (unsigned long long)there);
}

static void compare_mask(struct incident *incident, const char *what, uint64_t here, uint64_t there)
{
	if (here != UNKNOWN_U64 && there != UNKNOWN_U64 && here != there)
		incident_differs(incident, "%s 0x%llx here, 0x%llx in the log", what,
			(unsigned long long)here, (unsigned long long)there);
}

static void compare_i32(struct incident *incident, const char *what, int32_t here, int32_t there)
{
	if (here != there)
		incident_differs(incident, "%s %d here, %d in the log", what, here, there);
}

static void compare_text(
	struct incident *incident, const char *what, const char *here, const char *there)
{
	if (here[0] && there[0] && strcmp(here, there) != 0)
		incident_differs(incident, "%s %.80s here, %.80s in the log", what, here, there);
}

/* --- the request --- */

static void join_request(struct incident *incident, const struct joined_report *report)
{
	struct incident_log *log = &incident->log;

	log->limit_written = report->limit_written;
	log->has_trace = report->has_trace;
	if (incident->has_oc) {
		if (report->has_order)
			compare_i32(incident, "order", incident->order, report->order);
		if (report->has_gfp)
			compare_mask(incident, "gfp_mask", incident->gfp_mask, report->gfp_mask);
		compare_mask(incident, "nodemask", incident->nodemask, report->nodemask);
		return;
	}
	log->has_order = report->has_order;
	log->has_gfp = report->has_gfp && report->has_order;
	if (report->has_order)
		incident->order = report->order;
	if (log->has_gfp) {
		incident->gfp_mask = (uint32_t)report->gfp_mask;
		memcpy(log->gfp_flags, report->gfp_flags, sizeof(log->gfp_flags));
	}
	incident->nodemask = report->nodemask;
	log->sysrq = report->has_order && report->order == -1;
}

static void join_trigger(struct incident *incident, const struct joined_report *report)
{
	if (incident->mems_allowed == UNKNOWN_U64)
		incident->mems_allowed = report->mems_allowed;
	else
		compare_mask(
			incident, "mems_allowed", incident->mems_allowed, report->mems_allowed);
	if (!incident->has_trigger || !report->has_invoked)
		return;
	compare_text(incident, "trigger_comm", incident->trigger_comm, report->trigger_comm);
	if (report->trigger_tid && incident->trigger_tid)
		compare_u64(incident, "trigger_tid", incident->trigger_tid, report->trigger_tid);
	if (report->has_trigger_adj)
		compare_i32(incident, "trigger_oom_score_adj", incident->trigger_adj,
			report->trigger_adj);
}

/* --- the limit --- */

static uint32_t constraint_of(enum klog_constraint constraint)
{
	switch (constraint) {
	case KLOG_CONSTRAINT_MEMCG:
		return EV_CONSTRAINT_MEMCG;
	case KLOG_CONSTRAINT_CPUSET:
		return EV_CONSTRAINT_CPUSET;
	case KLOG_CONSTRAINT_POLICY:
		return EV_CONSTRAINT_MEMORY_POLICY;
	default:
		return EV_CONSTRAINT_NONE;
	}
}

static const char *constraint_name(uint32_t constraint)
{
	static const char *const names[] = {[EV_CONSTRAINT_NONE] = "none",
		[EV_CONSTRAINT_CPUSET] = "cpuset",
		[EV_CONSTRAINT_MEMORY_POLICY] = "memory policy",
		[EV_CONSTRAINT_MEMCG] = "memcg"};

	return constraint <= EV_CONSTRAINT_MEMCG ? names[constraint] : "unknown";
}

static int level_of_id(const struct incident *incident, uint64_t id)
{
	for (unsigned int i = 0; i < incident->level_count; i++)
		if (incident->levels[i].id == id)
			return (int)i;
	return -1;
}

static int level_of_path(const struct incident *incident, const char *path)
{
	for (unsigned int i = 0; i < incident->level_count; i++)
		if (!strcmp(incident->level_paths[i], path))
			return (int)i;
	return -1;
}

static bool paths_are_known(const struct incident *incident)
{
	for (unsigned int i = 0; i < incident->level_count; i++)
		if (incident->level_paths[i][0] != '/')
			return false;
	return incident_chain_is_whole(incident);
}

/* The level that both agree on; -1: there is none, or it is not known which. */
static int limit_level(struct incident *incident, const struct joined_report *report)
{
	int level = level_of_path(incident, report->limit_path);
	int own = level_of_id(incident, incident->oc_limit_id);

	if (incident->has_oc) {
		if (own >= 0)
			compare_text(incident, "limit_cgroup", incident->level_paths[own],
				report->limit_path);
		return own == level ? own : -1;
	}
	if (level < 0 && paths_are_known(incident))
		incident_differs(incident,
			"limit_cgroup none of the victim's cgroups here, %.120s in the log",
			report->limit_path);
	return level;
}

/* As the kernel prints them; "no limit" is a number there, too, and the same one. */
static void compare_kb(struct incident *incident, const char *what, uint64_t pages, uint64_t log_kb,
	uint32_t page_size)
{
	if (pages != UNKNOWN_U64)
		compare_u64(incident, what, pages * (page_size / KB_BYTES), log_kb);
}

static void join_numbers(struct incident *incident, const struct joined_report *report, int at,
	const struct host_facts *host)
{
	const struct incident_level *level = &incident->levels[at];
	bool v2 = level->flags & EV_LEVEL_V2;
	uint64_t usage_kb = report->usage_kb[KLOG_USAGE_MEMORY];
	uint64_t max_kb = report->limit_kb[KLOG_USAGE_MEMORY];
	uint64_t kmem_kb = report->usage_kb[KLOG_USAGE_KMEM];
	struct incident_log *log = &incident->log;

	/* Usage and failures go on moving between the two readings: they stand side by side. */
	if (usage_kb != UNKNOWN_U64)
		log->usage_bytes = usage_kb * KB_BYTES;
	if (max_kb != UNKNOWN_U64)
		log->limit_bytes = max_kb * KB_BYTES;
	log->failcnt = report->failcnt;
	compare_kb(incident, "limit_kb", level->max_pages, max_kb, host->page_size);
	compare_kb(incident, v2 ? "swap_limit_kb" : "memsw_limit_kb", level->swap_max_pages,
		report->limit_kb[v2 ? KLOG_USAGE_SWAP : KLOG_USAGE_MEMSW], host->page_size);
	if (!report->has_stats || report->stat.anon_bytes == UNKNOWN_U64)
		return;
	incident->stat = report->stat;
	if (!v2 && report->stat.kernel_bytes == UNKNOWN_U64 && kmem_kb != UNKNOWN_U64)
		incident->stat.kernel_bytes = kmem_kb * KB_BYTES;
	incident->stat_usage_bytes = log->usage_bytes;
	incident->stat_at_kill = true;
}

static void join_limit(struct incident *incident, const struct joined_report *report,
	const struct host_facts *host)
{
	struct incident_log *log = &incident->log;
	uint32_t constraint = constraint_of(report->constraint);
	bool memcg = report->constraint == KLOG_CONSTRAINT_MEMCG;
	int level = memcg && report->limit_path[0] ? limit_level(incident, report) : -1;

	log->limit_level = level;
	if (level >= 0)
		join_numbers(incident, report, level, host);
	if (report->constraint == KLOG_CONSTRAINT_UNKNOWN)
		return;
	if (incident->has_oc) {
		if (constraint != incident->constraint)
			incident_differs(incident, "constraint %s here, %s in the log",
				constraint_name(incident->constraint), constraint_name(constraint));
		return;
	}
	/* A limit that is not among those that were read leaves the scope to be worked out. */
	if (memcg && level < 0)
		return;
	incident->constraint = constraint;
	log->has_constraint = log->has_scope = true;
}

/* --- one incident --- */

static bool is_its_victim(const struct incident *incident, uint32_t pid)
{
	const struct task_facts *chosen = &incident->chosen;

	if (incident->victim_count)
		return incident->victims[0].task.tgid == pid ||
		       (incident->victims[0].task.tid && incident->victims[0].task.tid == pid);
	return chosen->tgid && (chosen->tgid == pid || chosen->tid == pid);
}

bool incident_join(struct incident *incident, const struct joined_report *report,
	const struct host_facts *host)
{
	struct incident_log *log = &incident->log;

	if (!report->pid || !is_its_victim(incident, report->pid))
		return false;
	/* The line of the kill, behind what was joined when the choice was printed. */
	if (log->joined)
		return true;
	incident_log_clear(log);
	log->joined = true;
	if (incident->kmsg == KMSG_NOT_READ)
		incident->kmsg = KMSG_AGREES;
	join_request(incident, report);
	join_trigger(incident, report);
	join_limit(incident, report, host);
	if (report->constraint != KLOG_CONSTRAINT_MEMCG)
		log->machine = report->machine;
	return true;
}
