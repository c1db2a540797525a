/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as the kernel side writes them, made by hand and fed to the assembler: a world of one
 * cgroup chain /pod/app, pages of 4 KiB. Tests change a record before they feed it.
 */
#ifndef OOMSNOOP_TESTS_FIXTURE_INCIDENT_H
#define OOMSNOOP_TESTS_FIXTURE_INCIDENT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "judge/badness.h"
#include "judge/judgement.h"
#include "judge/limit.h"
#include "model/assemble.h"
#include "model/incidents.h"

#define PAGE 4096ULL
#define MIB (1ULL << 20)
#define GIB (1ULL << 30)
#define MS 1000000ULL
#define SEC (1000 * MS)
#define T0 (5000 * SEC)
#define NO_LIMIT LIMIT_NONE_PAGES(PAGE)
#define ROOT_ID 1
#define POD_ID 20
#define APP_ID 30
#define APP_MAX 262144ULL /* 1 GiB */
#define VICTIM 4242
#define START(pid) ((pid)*MS + 7)
#define MM(pid) (0xffff888000000000ULL + (pid)*64)

struct world {
	struct host_facts host;
	struct coverage coverage;
	struct processes *processes;
	struct cgroups *cgroups;
	struct incidents *incidents;
};

static inline int64_t world_weight(
	const struct task_facts *task, uint64_t totalpages, uint32_t page_size)
{
	return badness_of(task, RSS_APPROX, totalpages, page_size).points;
}

/* All hooks are served unless the caller takes one away. */
static inline struct incidents_options world_options(struct world *world)
{
	world->host = (struct host_facts) {.page_size = PAGE, .cpus = 4, .swappiness = 60};
	world->coverage = (struct coverage) {.full_tier = true,
		.candidates_hook = true,
		.exit_hook = true,
		.freed_hook = true,
		.reaper_hook = true,
		.signal_hook = true,
		.process_hook = true,
		.census = true};
	return (struct incidents_options) {.host = &world->host,
		.scope_hook = true,
		.exit_hook = true,
		.freed_hook = true,
		.signal_hook = true,
		.weight = world_weight};
}

static inline void world_start(struct world *world, const struct incidents_options *options)
{
	world->processes = processes_new(256);
	world->cgroups = cgroups_new(256);
	world->incidents = incidents_new(options, world->processes, world->cgroups);
	assert_non_null(world->incidents);
}

static inline struct world *world_new(void)
{
	struct world *world = calloc(1, sizeof(*world));
	struct incidents_options options = world_options(world);

	world_start(world, &options);
	return world;
}

static inline void world_free(struct world *world)
{
	incidents_free(world->incidents);
	processes_free(world->processes);
	cgroups_free(world->cgroups);
	free(world);
}

static inline void feed(
	struct world *world, const void *record, size_t size, enum ev_kind kind, const char *text)
{
	static struct fact fact;

	memset(&fact, 0xa5, sizeof(fact)); /* nothing may be read that the record does not hold */
	fact.kind = kind;
	memcpy(&fact.hdr, record, size);
	fact.text_len = strlen(text);
	memcpy(fact.text, text, fact.text_len + 1);
	incidents_fact(world->incidents, &fact);
}

static inline struct ev_hdr hdr_of(uint32_t number, uint64_t time_ns)
{
	return (struct ev_hdr) {
		.version = EV_VERSION, .time_ns = time_ns, .cpu = 3, .incident = number};
}

static inline struct ev_context context_of(uint32_t number, uint64_t time_ns)
{
	struct ev_context ret = {.hdr = hdr_of(number, time_ns),
		.flags = EV_CONTEXT_OC,
		.constraint = EV_CONSTRAINT_MEMCG,
		.tgid = 4300,
		.tid = 4301,
		.uid = 1001,
		.oom_score_adj = 5,
		.start_ns = START(4300),
		.cgroup_id = APP_ID,
		.comm = "asker",
		.limit_cgroup_id = APP_ID,
		.totalpages = APP_MAX,
		.chosen_points = 200000 + 300 + 40 + 500 + 60,
		.nodemask = EV_UNKNOWN,
		.mems_allowed = EV_UNKNOWN,
		.policy_nodes = EV_UNKNOWN,
		.gfp_mask = 0xcc0,
		.order = 0,
		.message = "Memory cgroup out of memory"};

	return ret;
}

static inline struct ev_task task_of(
	enum ev_task_role role, uint32_t number, uint64_t time_ns, uint32_t pid)
{
	struct ev_task ret = {.hdr = hdr_of(number, time_ns),
		.role = role,
		.flags = EV_TASK_RSS_EXACT,
		.tgid = pid,
		.tid = pid,
		.ppid = 4000,
		.uid = 1000,
		.ns_tgid = pid - 4000,
		.start_ns = START(pid),
		.mm = MM(pid),
		.cgroup_id = APP_ID,
		.rss_pages = {[EV_RSS_FILE] = 300,
			[EV_RSS_ANON] = 200000,
			[EV_RSS_SWAP] = 500,
			[EV_RSS_SHMEM] = 40},
		.rss_exact = {[EV_RSS_FILE] = 303,
			[EV_RSS_ANON] = 200017,
			[EV_RSS_SWAP] = 500,
			[EV_RSS_SHMEM] = 40},
		.pgtables_bytes = 60 * PAGE,
		.total_vm_pages = 250000,
		.totalpages = EV_UNKNOWN,
		.comm = "worker"};

	return ret;
}

/* The same with one number for all that it holds. */
static inline struct ev_task small_task(
	enum ev_task_role role, uint32_t number, uint32_t pid, int64_t anon_pages)
{
	struct ev_task ret = task_of(role, number, T0, pid);

	memset(ret.rss_pages, 0, sizeof(ret.rss_pages));
	ret.rss_pages[EV_RSS_ANON] = anon_pages;
	ret.flags = 0;
	ret.pgtables_bytes = 0;
	if (role == EV_ROLE_CANDIDATE)
		ret.totalpages = APP_MAX;
	return ret;
}

static inline struct ev_level level_of(uint32_t number, uint32_t index, uint64_t id)
{
	struct ev_level ret = {.hdr = hdr_of(number, T0),
		.role = EV_LEVEL_VICTIM,
		.index = index,
		.flags = EV_LEVEL_V2,
		.swappiness = UINT32_MAX,
		.id = id,
		.usage_pages = 250000,
		.max_pages = NO_LIMIT,
		.high_pages = NO_LIMIT,
		.min_pages = 11,
		.low_pages = 12,
		.watermark_pages = 13,
		.failcnt = 14,
		.swap_usage_pages = 500,
		.swap_max_pages = 0,
		.kmem_usage_pages = EV_UNKNOWN,
		.events = {1, 2, 3, 4, 5, 6},
		.events_local = {7, 8, 9, EV_UNKNOWN, 11, 12}};

	if (id == ROOT_ID)
		ret.flags |= EV_LEVEL_ROOT;
	return ret;
}

static inline void feed_context(struct world *world, const struct ev_context *event)
{
	feed(world, event, sizeof(*event), EV_CONTEXT, event->message);
}

static inline void feed_task(struct world *world, const struct ev_task *event)
{
	feed(world, event, sizeof(*event), EV_TASK, "");
}

static inline void feed_level(struct world *world, const struct ev_level *event, const char *name)
{
	feed(world, event, sizeof(*event), EV_LEVEL, name);
}

static inline void feed_named(
	struct world *world, enum ev_level_role role, uint32_t index, uint64_t id, const char *name)
{
	struct ev_level level = level_of(1, index, id);

	level.role = role;
	feed_level(world, &level, name);
}

/* /pod/app, the limit of 1 GiB on the leaf. */
static inline void feed_chain(struct world *world, uint32_t number, enum ev_level_role role)
{
	struct ev_level level = level_of(number, 0, APP_ID);

	level.role = role;
	level.flags |= EV_LEVEL_LIMIT_HERE;
	level.usage_pages = level.max_pages = APP_MAX;
	feed_level(world, &level, "app");
	level = level_of(number, 1, POD_ID);
	level.role = role;
	level.usage_pages = 300000;
	feed_level(world, &level, "pod");
	level = level_of(number, 2, ROOT_ID);
	level.role = role;
	level.usage_pages = 400000;
	feed_level(world, &level, "");
}

static inline void feed_end(
	struct world *world, uint32_t number, uint64_t time_ns, enum ev_end_choice choice)
{
	struct ev_end end = {.hdr = hdr_of(number, time_ns),
		.choice = choice,
		.returned = choice != EV_END_NONE,
		.killed = choice == EV_END_CHOSEN,
		.limit_cgroup_id = APP_ID};

	feed(world, &end, sizeof(end), EV_END, "");
}

static inline void feed_exit(
	struct world *world, uint32_t number, uint64_t time_ns, uint32_t pid, uint64_t start_ns)
{
	struct ev_exit event = {.hdr = hdr_of(number, time_ns),
		.tgid = pid,
		.oom_victim = 1,
		.start_ns = start_ns,
		.exit_code = 9};

	feed(world, &event, sizeof(event), EV_EXIT, "");
}

/* Usage of the caller's chain, leaf first. */
static inline void feed_freed(struct world *world, uint32_t number, uint32_t pid,
	const uint64_t *usage, unsigned int count)
{
	struct ev_mm_freed event = {.hdr = hdr_of(number, T0 + 90 * MS), .mm = MM(pid)};

	for (unsigned int i = 0; i < EV_FREED_LEVELS; i++)
		event.usage_pages[i] = i < count ? usage[i] : EV_UNKNOWN;
	feed(world, &event, sizeof(event), EV_MM_FREED, "");
}

static inline void feed_reap(struct world *world, enum ev_reap_stage stage, uint32_t tid)
{
	struct ev_reap event = {.hdr = hdr_of(0, T0 + 2 * SEC), .stage = stage, .tid = tid};

	feed(world, &event, sizeof(event), EV_REAP, "");
}

static inline void feed_role(struct world *world, enum ev_task_role role, uint32_t number,
	uint64_t time_ns, uint32_t pid)
{
	struct ev_task event = task_of(role, number, time_ns, pid);

	if (role == EV_ROLE_VICTIM)
		event.flags |= EV_TASK_SIGNALLED;
	if (role == EV_ROLE_CANDIDATE)
		event.totalpages = APP_MAX;
	feed_task(world, &event);
}

static inline void feed_candidate(struct world *world, uint32_t pid, int64_t anon, int32_t adj)
{
	struct ev_task task = small_task(EV_ROLE_CANDIDATE, 1, pid, anon);

	task.oom_score_adj = adj;
	feed_task(world, &task);
}

/* Context and chain of the limit's own kill. */
static inline void feed_begin(struct world *world, uint32_t number)
{
	struct ev_context context = context_of(number, T0);

	feed_context(world, &context);
	feed_chain(world, number, EV_LEVEL_VICTIM);
}

/* From the choice to the end of the invocation. */
static inline void feed_kill(struct world *world, uint32_t number, uint32_t pid)
{
	feed_role(world, EV_ROLE_CHOSEN, number, T0 + 1 * MS, pid);
	feed_role(world, EV_ROLE_VICTIM, number, T0 + 2 * MS, pid);
	feed_end(world, number, T0 + 3 * MS, EV_END_CHOSEN);
}

static inline void feed_gone(struct world *world, uint32_t number, uint32_t pid)
{
	static const uint64_t usage[] = {62144, 100000, 200000};

	feed_freed(world, number, pid, usage, 3);
	feed_exit(world, number, T0 + 102 * MS, pid, START(pid));
}

static inline struct incident *tick_closed(struct world *world, uint64_t now_ns)
{
	incidents_tick(world->incidents, now_ns);
	return incidents_next_closed(world->incidents);
}

/* Whatever is open is ended, and there is exactly one. */
static inline struct incident *take_one(struct world *world)
{
	struct incident *incident;

	incidents_stop(world->incidents, T0 + 9 * SEC);
	incident = incidents_next_closed(world->incidents);
	assert_non_null(incident);
	return incident;
}

/* What /proc/meminfo showed: 16 GiB, 2 GiB of swap. */
static inline void host_16_gib(struct incident *incident)
{
	incident->host = (struct host_memory) {.total_bytes = 16 * GIB,
		.free_bytes = 1 * GIB,
		.available_bytes = 3 * GIB,
		.swap_total_bytes = 2 * GIB,
		.swap_free_bytes = 1 * GIB,
		.hugetlb_bytes = 0};
}

static inline const struct judgement *judge(struct world *world, const struct incident *incident)
{
	static struct judgement judgement;

	memset(&judgement, 0x5a, sizeof(judgement));
	judge_incident(incident, &world->host, &world->coverage, &judgement);
	return &judgement;
}

static inline const struct verdict *verdict_of(const struct judgement *judgement, const char *id)
{
	for (unsigned int i = 0; i < judgement->verdict_count; i++)
		if (!strcmp(judgement->verdicts[i].id, id))
			return &judgement->verdicts[i];
	return NULL;
}

static inline const char *missing_why(const struct judgement *judgement, const char *field)
{
	for (unsigned int i = 0; i < judgement->missing_count; i++)
		if (!strcmp(judgement->missing[i].field, field))
			return judgement->missing[i].why;
	return NULL;
}

#endif /* OOMSNOOP_TESTS_FIXTURE_INCIDENT_H */
