/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Made incidents for the tests of the sinks: what assembler and judge would hand over, written down
 * by hand, so that the sinks are tested without either. Numbers of pages are 4 KiB each.
 */
#ifndef TESTS_SINK_FIXTURE_H
#define TESTS_SINK_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "growth_fixture.h"
#include "judge/trend.h"
#include "sink/sink.h"
#include "sink/view.h"

#define MIB_PAGES 256ULL
#define GIB (1ULL << 30)
#define FIX_TIME_NS 7384000000123ULL /* 2 h 3 min after boot */
#define FIX_NO_LIMIT ((uint64_t)INT64_MAX / 4096)
#define FIX_LEAF "/kubepods.slice/kubepods-burstable.slice/cri-containerd-9f3c2a.scope"

static struct host_facts fix_host;
static struct sink_context fix_context;
static struct incident fix_incident;
static struct judgement fix_judgement;

static inline void fix_task(struct task_facts *task, const char *comm, uint32_t pid, uint64_t anon,
	uint64_t file, uint64_t pgtables_pages)
{
	memset(task, 0, sizeof(*task));
	task->tgid = pid;
	task->tid = pid;
	task->ppid = 31402;
	task->uid = 1000;
	task->ns_tgid = pid;
	task->start_ns = FIX_TIME_NS - 724ULL * 1000000000;
	task->at_ns = FIX_TIME_NS;
	task->flags = EV_TASK_RSS_EXACT;
	task->rss_pages[EV_RSS_ANON] = (int64_t)anon;
	task->rss_pages[EV_RSS_FILE] = (int64_t)file;
	task->rss_exact[EV_RSS_ANON] = (int64_t)anon + 17;
	task->rss_exact[EV_RSS_FILE] = (int64_t)file;
	task->pgtables_bytes = pgtables_pages * 4096;
	task->total_vm_pages = anon + file + 5000;
	snprintf(task->comm, sizeof(task->comm), "%s", comm);
}

static inline struct badness fix_badness(const struct task_facts *task, int64_t total)
{
	struct badness badness = {
		.rss_pages = task->rss_pages[EV_RSS_ANON] + task->rss_pages[EV_RSS_FILE] +
			     task->rss_pages[EV_RSS_SHMEM],
		.swap_pages = task->rss_pages[EV_RSS_SWAP],
		.pgtables_pages = (int64_t)(task->pgtables_bytes / 4096),
		.adj_pages = task->oom_score_adj * (total / 1000),
		.total_pages = total,
	};

	badness.points =
		badness.rss_pages + badness.swap_pages + badness.pgtables_pages + badness.adj_pages;
	return badness;
}

static inline void fix_level(struct incident_level *level, char *path, const char *name,
	uint64_t max_pages, uint64_t usage_pages)
{
	memset(level, 0, sizeof(*level));
	level->id = 4000 + (uint64_t)(path - fix_incident.level_paths[0]);
	level->flags = EV_LEVEL_V2;
	level->usage_pages = usage_pages;
	level->max_pages = max_pages;
	level->high_pages = FIX_NO_LIMIT;
	level->watermark_pages = usage_pages;
	level->failcnt = 23;
	level->swap_max_pages = FIX_NO_LIMIT;
	level->kmem_usage_pages = UNKNOWN_U64;
	level->freed_usage_pages = UNKNOWN_U64;
	for (unsigned int i = 0; i < EV_EVENT_COUNT; i++)
		level->events[i] = 10 + i, level->events_local[i] = i;
	snprintf(path, INCIDENT_PATH, "%s", name);
}

static inline void fix_candidate(unsigned int index, const char *comm, uint32_t pid, uint64_t anon,
	uint64_t file, uint64_t pgtables, int32_t adj)
{
	struct candidate *candidate = &fix_incident.candidates[index];
	struct ranked *ranked = &fix_judgement.ranked[index];

	fix_task(&candidate->task, comm, pid, anon, file, pgtables);
	candidate->task.oom_score_adj = adj;
	candidate->task.flags &= ~(uint32_t)EV_TASK_RSS_EXACT;
	snprintf(candidate->cgroup, sizeof(candidate->cgroup), "%s", FIX_LEAF);
	snprintf(candidate->cmdline, sizeof(candidate->cmdline), "%s --run", comm);
	ranked->index = index;
	ranked->badness = fix_badness(&candidate->task, (int64_t)fix_judgement.totalpages);
	ranked->immune = adj == -1000 ? "oom_score_adj -1000" : NULL;
	fix_incident.candidate_count = index + 1;
	fix_judgement.ranked_count = index + 1;
}

static inline void fix_verdict(
	const char *id, enum confidence confidence, const char *claim, const char *evidence)
{
	struct verdict *verdict = &fix_judgement.verdicts[fix_judgement.verdict_count++];

	verdict->id = id;
	verdict->confidence = confidence;
	snprintf(verdict->claim, sizeof(verdict->claim), "%s", claim);
	snprintf(verdict->evidence[0], sizeof(verdict->evidence[0]), "%s", evidence);
	verdict->evidence_count = 1;
}

static inline void fix_missing(const char *field, const char *why)
{
	struct missing *missing = &fix_judgement.missing[fix_judgement.missing_count++];

	missing->field = field;
	missing->why = why;
}

static inline void fix_context_reset(void)
{
	memset(&fix_host, 0, sizeof(fix_host));
	strcpy(fix_host.hostname, "web-7");
	strcpy(fix_host.boot_id, "0f3c9a52-7d1e-4b6a-9c55-2f1b8a6e4d10");
	strcpy(fix_host.kernel, "6.12.117-amd64");
	fix_host.page_size = 4096;
	fix_host.cpus = 8;
	fix_host.swappiness = 60;

	memset(&fix_context, 0, sizeof(fix_context));
	fix_context.host = &fix_host;
	fix_context.wall_minus_boot_ns = 1767316800000000000LL; /* 2026-01-02T01:20:00Z */
	fix_context.tier = "full";
	fix_context.hook_count = 4;
	fix_context.hooks[0] = (struct sink_hook) {"kill", "fentry oom_kill_process"};
	fix_context.hooks[1] = (struct sink_hook) {"victim", "tp_btf mark_victim"};
	fix_context.hooks[2] = (struct sink_hook) {"exit", "tp_btf sched_process_exit"};
	fix_context.hooks[3] = (struct sink_hook) {"reaper", NULL};
	fix_context.width = 80;
}

static inline void fix_victim(
	unsigned int index, const struct task_facts *task, enum victim_why why)
{
	struct victim *victim = &fix_incident.victims[index];

	victim->task = *task;
	victim->why = why;
	victim->marked = why != VICTIM_SHARED_MM;
	victim->signalled = true;
	victim->exited = true;
	victim->killed_ns = FIX_TIME_NS + 1000;
	victim->exit_ns = victim->killed_ns + 182034567;
	victim->exit_code = 9;
	fix_incident.victim_count = index + 1;
}

static inline void fix_trigger(const char *comm, uint32_t pid)
{
	fix_incident.has_trigger = true;
	fix_incident.trigger_tgid = pid;
	fix_incident.trigger_tid = pid + 1;
	fix_incident.trigger_uid = 1000;
	fix_incident.trigger_start_ns = FIX_TIME_NS - 1000000000;
	snprintf(fix_incident.trigger_comm, sizeof(fix_incident.trigger_comm), "%s", comm);
	snprintf(fix_incident.trigger_cgroup, INCIDENT_PATH, "%s", FIX_LEAF);
}

/* A container at its own limit, seen by the full set of hooks. Everything else starts from it. */
static inline void fix_memcg_kill(void)
{
	struct incident *incident = &fix_incident;
	struct judgement *judgement = &fix_judgement;

	fix_context_reset();
	memset(incident, 0, sizeof(*incident));
	memset(judgement, 0, sizeof(*judgement));
	incident->number = 3;
	incident->time_ns = FIX_TIME_NS;
	incident->outcome = OUTCOME_KILLED;
	incident->closed = CLOSED_EXITED;
	incident->closed_ns = FIX_TIME_NS + 200000000;
	fix_trigger("python3", 31421);
	incident->has_oc = true;
	incident->constraint = EV_CONSTRAINT_MEMCG;
	incident->totalpages = 4194304;
	incident->nodemask = UNKNOWN_U64;
	incident->gfp_mask = 0xcc0;
	strcpy(incident->message, "Memory cgroup out of memory");

	incident->level_count = 4;
	fix_level(&incident->levels[0], incident->level_paths[0], FIX_LEAF, 4194304, 4194303);
	fix_level(&incident->levels[1], incident->level_paths[1],
		"/kubepods.slice/kubepods-burstable.slice", FIX_NO_LIMIT, 4198400);
	fix_level(&incident->levels[2], incident->level_paths[2], "/kubepods.slice", 120000000,
		4298400);
	fix_level(&incident->levels[3], incident->level_paths[3], "/", FIX_NO_LIMIT, 5298400);
	incident->levels[3].flags |= EV_LEVEL_ROOT;
	incident->levels[0].freed_usage_pages = 4194303 - 245248;

	incident->host = (struct host_memory) {480 * GIB, 100 * GIB, 200 * GIB, 0, 0, 0};
	memset(&incident->stat, 0xff, sizeof(incident->stat)); /* UNKNOWN_U64 */
	incident->stat.anon_bytes = 15 * GIB;
	incident->stat.file_bytes = GIB / 2;
	incident->stat.shmem_bytes = 0;
	incident->stat.slab_bytes = GIB / 64;
	incident->stat.pagetables_bytes = 51200000;
	incident->stat.sock_bytes = 4096;
	incident->stat_usage_bytes = 16 * GIB;
	incident->has_events_before = true;
	for (unsigned int i = 0; i < EV_EVENT_COUNT; i++)
		incident->events_before[i] = 9;
	incident->earlier_kills = 1;
	incident->kmsg = KMSG_AGREES;

	fix_task(&incident->chosen, "python3", 31415, 246016, 3072, 794);
	incident->chosen.ns_tgid = 17;
	fix_victim(0, &incident->chosen, VICTIM_CHOSEN);
	strcpy(incident->victim_cgroup, FIX_LEAF);
	strcpy(incident->victim_cmdline, "python train.py --workers 16");
	strcpy(incident->victim_exe, "/usr/bin/python3.11");

	judgement->scope = SCOPE_MEMCG;
	judgement->manual_known = true;
	judgement->totalpages = 4194304;
	judgement->has_badness = true;
	judgement->badness = fix_badness(&incident->chosen, 4194304);
	judgement->other_badness = judgement->badness;
	judgement->other_badness.rss_pages += 17;
	judgement->other_badness.points += 17;
	judgement->has_other = true;
	judgement->rss_match = RSS_MATCH_APPROX;
	judgement->victim_oom_score = 668;
	judgement->has_oom_score = true;
	incident->chosen_points = judgement->badness.points;
	judgement->exit_ns = 182034567;
	judgement->freed_bytes = 245248ULL * 4096;
	judgement->unexplained_bytes = 123456;

	incident->candidate_total = 19;
	fix_candidate(0, "python3", 31415, 246016, 3072, 794, 0);
	fix_candidate(1, "python3", 31416, 245300, 3010, 791, 0);
	fix_candidate(2, "python3", 31417, 245200, 3000, 790, 0);
	fix_candidate(3, "python3", 31402, 101000, 3000, 700, 0);
	fix_candidate(4, "tensorboard", 31440, 21000, 900, 120, 0);
	fix_candidate(5, "sh", 31400, 120, 400, 12, 0);
	fix_candidate(6, "agent", 31399, 9000, 400, 12, -1000);
	fix_verdict("fork-family", CONFIDENCE_LIKELY,
		"16 processes forked by python3[31402] hold 14.7 of 16.0 GiB together, "
		"no single one does.",
		"14.7 GiB in 16 processes");
	fix_verdict("own-limit", CONFIDENCE_CERTAIN, "The victim's own cgroup hit its limit.",
		"limit 16.0 GiB");
	fix_missing("reaped", "no hook for the reaper");
}

/* Tracepoints only: no oom_control, the limit inferred, the candidates listed after the kill. */
static inline void fix_tracepoint_kill(void)
{
	fix_memcg_kill();
	fix_context.tier = "tracepoint";
	fix_context.hooks[0].hook = NULL;
	fix_incident.has_oc = false;
	fix_incident.has_trigger = false;
	memset(&fix_incident.chosen, 0, sizeof(fix_incident.chosen));
	fix_incident.candidates_from_census = true;
	fix_incident.kmsg = KMSG_NOT_READ;
	fix_incident.closed = CLOSED_TIMEOUT;
	fix_incident.closed_ns = FIX_TIME_NS + 10000000000ULL;
	fix_incident.victims[0].exited = false;
	fix_incident.has_events_before = false;
	fix_judgement.scope_inferred = true;
	fix_judgement.manual_known = false;
	fix_judgement.totalpages_computed = true;
	fix_judgement.rss_match = RSS_MATCH_UNKNOWN;
	fix_judgement.exit_ns = UNKNOWN_U64;
	fix_judgement.freed_bytes = UNKNOWN_U64;
	fix_judgement.missing_count = 0;
	fix_missing("trigger_pid", "this kernel does not let oom_kill_process be traced");
	fix_missing("trigger_tid", "this kernel does not let oom_kill_process be traced");
	fix_missing("trigger_comm", "this kernel does not let oom_kill_process be traced");
	fix_missing("gfp_flags", "this kernel does not let oom_kill_process be traced");
	fix_missing("order", "this kernel does not let oom_kill_process be traced");
	fix_missing("gfp_mask", "this kernel does not let oom_kill_process be traced");
	fix_missing("badness.kernel_points", "this kernel does not let oom_kill_process be traced");
	fix_missing("manual", "this kernel does not let oom_kill_process be traced");
	fix_missing("exit_ms", "its exit was not seen in time");
	fix_missing("freed_bytes", "its exit was not seen in time");
	fix_missing("kernel_log", "/dev/kmsg is not readable here");
	fix_missing("reaped", "no hook for the reaper");
}

/* memory.oom.group: one is chosen, nine go with it, and one that shares a victim's memory. */
static inline void fix_group_kill(void)
{
	struct task_facts task;
	char comm[16];

	fix_memcg_kill();
	fix_incident.levels[0].flags |= EV_LEVEL_OOM_GROUP;
	for (unsigned int i = 1; i < 10; i++) {
		snprintf(comm, sizeof(comm), "worker%u", i);
		fix_task(&task, comm, 31415 + i, 3000 + i, 80, 15);
		fix_victim(i, &task, i == 9 ? VICTIM_SHARED_MM : VICTIM_GROUP);
	}
	fix_incident.aborted_scans = 4;
	fix_incident.earlier_kills = 0;
	fix_verdict("group-kill", CONFIDENCE_CERTAIN, "memory.oom.group took the rest with it.",
		"10 victims");
}

/* The whole machine, with swap, an adjustment, and counters that moved. */
static inline void fix_global_kill(void)
{
	fix_memcg_kill();
	fix_incident.constraint = EV_CONSTRAINT_NONE;
	strcpy(fix_incident.message, "Out of memory");
	fix_incident.host =
		(struct host_memory) {16 * GIB, 90ULL << 20, 120ULL << 20, 2 * GIB, 12ULL << 20, 0};
	fix_incident.gfp_mask = 0x100cca;
	fix_incident.order = 3;
	fix_incident.kmsg = KMSG_DIFFERS;
	strcpy(fix_incident.kmsg_difference, "anon-rss 984,064 kB here, 984,320 kB there");
	strcpy(fix_incident.trigger_cgroup, "/system.slice/nginx.service");
	strcpy(fix_incident.trigger_comm, "nginx");
	strcpy(fix_incident.victim_cgroup, "/system.slice/postgresql.service");
	fix_incident.level_count = 0;
	fix_incident.has_events_before = false;
	memset(&fix_incident.stat, 0xff, sizeof(fix_incident.stat));
	fix_incident.stat_usage_bytes = UNKNOWN_U64;
	fix_incident.lost_events = 2;
	fix_judgement.unexplained_bytes = UNKNOWN_U64;
	fix_judgement.scope = SCOPE_GLOBAL;
	fix_judgement.limit_level = -1;
	fix_judgement.totalpages = 4718592;
	fix_judgement.has_other = false;
	fix_judgement.rss_match = RSS_MATCH_NEITHER;
	fix_incident.chosen.oom_score_adj = 300;
	fix_incident.chosen.rss_pages[EV_RSS_SWAP] = 1200;
	fix_incident.chosen.rss_pages[EV_RSS_SHMEM] = 64;
	fix_victim(0, &fix_incident.chosen, VICTIM_CHOSEN);
	fix_judgement.badness = fix_badness(&fix_incident.chosen, 4718592);
	fix_incident.chosen_points = fix_judgement.badness.points + 64;
	fix_candidate(0, "postgres", 900, 2097152, 3072, 4200, -500);
	fix_candidate(1, "python3", 31415, 246016, 3072, 794, 300);
	fix_incident.candidates[1].task.rss_pages[EV_RSS_SWAP] = 1200;
	fix_judgement.ranked[0].index = 1;
	fix_judgement.ranked[0].badness = fix_judgement.badness;
	fix_judgement.ranked[1].index = 0;
	fix_judgement.ranked[1].badness = fix_badness(&fix_incident.candidates[0].task, 4718592);
	fix_incident.candidate_total = 312;
	fix_judgement.verdict_count = 0;
	fix_verdict("victim-not-largest", CONFIDENCE_CERTAIN,
		"postgres[900] held more (8.00 GiB), but its oom_score_adj of -500 protects it.",
		"2,100,224 resident pages against 249,152");
}

/* A full cgroup in which everything is exempt. */
static inline void fix_nobody(void)
{
	fix_memcg_kill();
	fix_incident.outcome = OUTCOME_NO_KILLABLE;
	fix_incident.closed = CLOSED_AT_ONCE;
	fix_incident.victim_count = 0;
	memset(&fix_incident.chosen, 0, sizeof(fix_incident.chosen));
	fix_incident.victim_cgroup[0] = '\0';
	fix_incident.victim_cmdline[0] = '\0';
	fix_incident.victim_exe[0] = '\0';
	fix_incident.chosen_points = INT64_MIN;
	fix_incident.repeated_no_kill = 222;
	fix_incident.earlier_kills = 0;
	fix_incident.kmsg = KMSG_NOT_SEEN;
	fix_judgement.has_badness = false;
	fix_judgement.has_other = false;
	fix_judgement.has_oom_score = false;
	fix_judgement.rss_match = RSS_MATCH_UNKNOWN;
	fix_judgement.exit_ns = UNKNOWN_U64;
	fix_judgement.freed_bytes = UNKNOWN_U64;
	fix_candidate(0, "guarded", 350, 9000, 400, 40, -1000);
	fix_candidate(1, "guarded", 351, 800, 400, 20, -1000);
	fix_incident.candidate_total = 2;
	fix_judgement.verdict_count = 0;
	fix_judgement.missing_count = 0;
	fix_verdict("no-victim", CONFIDENCE_CERTAIN, "Nothing killable was left.", "2 of 2 exempt");
}

static inline void fix_sysrq(void)
{
	fix_global_kill();
	fix_trigger("kworker/3:1", 77);
	fix_incident.trigger_cgroup[0] = '\0';
	fix_incident.trigger_flags = EV_CONTEXT_KTHREAD;
	fix_incident.order = -1;
	fix_incident.gfp_mask = 0xcc0;
	fix_incident.lost_events = 0;
	fix_incident.kmsg = KMSG_AGREES;
	fix_judgement.manual = true;
	fix_incident.chosen_points = fix_judgement.badness.points;
	fix_judgement.rss_match = RSS_MATCH_BOTH;
}

/* The limit is two levels above the victim's cgroup, whose own limit was not reached. */
/* What the kernel counts for one kill: the limit was the upper's, the victim lived in the lower. */
static inline void fix_events(struct incident_level *upper, struct incident_level *lower)
{
	memset(upper->events, 0, sizeof(upper->events));
	memset(upper->events_local, 0, sizeof(upper->events_local));
	memset(lower->events, 0, sizeof(lower->events));
	upper->events[EV_EVENT_MAX] = upper->events_local[EV_EVENT_MAX] = 50;
	upper->events[EV_EVENT_OOM] = upper->events_local[EV_EVENT_OOM] = 1;
	upper->events[EV_EVENT_OOM_KILL] = lower->events[EV_EVENT_OOM_KILL] = 1;
	memcpy(lower->events_local, lower->events, sizeof(lower->events));
}

static inline void fix_ancestor(void)
{
	fix_memcg_kill();
	fix_events(&fix_incident.levels[1], &fix_incident.levels[0]);
	fix_incident.levels[0].max_pages = 8388608;
	fix_incident.levels[1].max_pages = 4198400;
	fix_incident.levels[1].high_pages = 4100000;
	fix_incident.levels[1].swap_max_pages = 0;
	fix_judgement.limit_level = 1;
	fix_incident.host.swap_total_bytes = 4 * GIB;
	fix_incident.host.swap_free_bytes = 4 * GIB;
	fix_judgement.verdicts[1].id = "ancestor-limit";
}

/* The minutes before, and what the judge makes of their numbers. Not of the verdicts: those are
 * fix_verdict()'s. */
static inline void fix_trend(void)
{
	trend_of(&fix_incident.growth, &fix_judgement.trend);
	growth_share_of(&fix_incident.growth, &fix_judgement.trend, &fix_judgement.share);
}

static inline void fix_history(void (*situation)(struct growth_picture *))
{
	situation(&fix_incident.growth);
	fix_trend();
}

static inline void fix_recorder(void)
{
	fix_context.recorder_interval_ns = 1000000000;
	fix_context.recorder_window_ns = 60000000000;
	fix_context.recorder_history_ns = 600000000000;
	fix_context.recorder_source = "iterator";
	fix_context.recorder_faults = "auto";
}

/* Names as their owners may choose them. */
static inline void fix_hostile(void)
{
	fix_memcg_kill();
	strcpy(fix_incident.victims[0].task.comm, "\033[2J\xff\"\\\n\x7f\x9b\xe2\x80");
	strcpy(fix_incident.chosen.comm, fix_incident.victims[0].task.comm);
	strcpy(fix_incident.candidates[0].task.comm, "\r\n\t\b\033]0;x\007");
	strcpy(fix_incident.candidates[1].task.comm, "\xe7\x8c\xab\xe7\x8c\xab\xe7\x8c\xab");
	strcpy(fix_incident.candidates[2].task.comm, "");
	strcpy(fix_incident.victim_cmdline,
		"sh -c 'evil \xe2\x80\xae txt.exe' \033[31mred\033[0m \xc0\xaf \xed\xa0\x80 ok");
	strcpy(fix_incident.trigger_comm, "a b  c");
	memset(fix_incident.level_paths[0], 0, INCIDENT_PATH);
	for (unsigned int i = 0; i < 24; i++)
		strcat(fix_incident.level_paths[0], "/a\nb\x1b[0m.\xe2\x80\x8b");
	strcpy(fix_judgement.verdicts[0].claim, "16 processes of \033[5mblink\033[0m hold most.");
	strcpy(fix_host.hostname, "h\nost");
}

#endif /* TESTS_SINK_FIXTURE_H */
