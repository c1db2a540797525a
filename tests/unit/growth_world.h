/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growth_world.h: a small machine for the tests of model/growth.h: processes and cgroups whose
 * counters a test moves as it likes, and passes over them. Pages of 4 KiB; passes once a second.
 */
#ifndef OOMSNOOP_TESTS_GROWTH_WORLD_H
#define OOMSNOOP_TESTS_GROWTH_WORLD_H

#include <stdlib.h>
#include <string.h>

#include "facts/host.h"
#include "model/growth.h"

#define S 1000000000ULL
#define MS 1000000ULL
#define PAGE 4096
#define MIB 256 /* pages */
#define MIB_BYTES (1LL << 20)
#define WORLD_TASKS 400
#define WORLD_GROUPS 32
#define ROOT 1
#define GROUP 10

struct group {
	uint64_t id, parent_id;
	uint32_t flags;
	uint64_t usage, max, high, swap_usage, swap_max, failcnt, max_events, charged;
	bool silent; /* told by no pass */
};

struct world {
	struct growth *growth;
	struct cgroups *paths;
	uint64_t now_ns;
	struct ev_sample tasks[WORLD_TASKS]; /* tgid 0: none */
	unsigned int task_count;
	struct group groups[WORLD_GROUPS];
	unsigned int group_count;
	struct fact fact;
	struct growth_picture picture;
};

static inline struct group *world_group(struct world *world, uint64_t id, uint64_t parent_id)
{
	struct group *group = &world->groups[world->group_count++];

	*group = (struct group) {
		.id = id,
		.parent_id = parent_id,
		.flags = EV_LEVEL_V2 | (parent_id ? 0 : EV_LEVEL_ROOT),
		.max = (uint64_t)INT64_MAX / PAGE,
		.high = (uint64_t)INT64_MAX / PAGE,
		.swap_max = (uint64_t)INT64_MAX / PAGE,
		.charged = EV_UNKNOWN,
	};
	return group;
}

/* A root, one cgroup below it, and the first pass is not yet. */
static inline struct world *world_new(size_t processes)
{
	struct growth_options options = {.page_size = PAGE, .processes = processes};
	struct world *world = calloc(1, sizeof(*world));

	world->growth = growth_new(&options);
	world->paths = cgroups_new(64);
	world->now_ns = 1000 * S;
	world_group(world, ROOT, 0);
	world_group(world, GROUP, ROOT);
	return world;
}

static inline void world_free(struct world *world)
{
	growth_free(world->growth);
	cgroups_free(world->paths);
	free(world);
}

static inline struct group *group_of(struct world *world, uint64_t id)
{
	for (unsigned int i = 0; i < world->group_count; i++)
		if (world->groups[i].id == id)
			return &world->groups[i];
	abort();
}

static inline struct ev_sample *task_of(struct world *world, uint32_t tgid)
{
	for (unsigned int i = 0; i < world->task_count; i++)
		if (world->tasks[i].tgid == tgid)
			return &world->tasks[i];
	abort();
}

/* Runs a program of its own, in GROUP; started long ago. Its charges are not counted. */
static inline struct ev_sample *world_task(
	struct world *world, uint32_t tgid, uint32_t ppid, int64_t anon)
{
	struct ev_sample *task = NULL;

	for (unsigned int i = 0; i < world->task_count && !task; i++)
		if (!world->tasks[i].tgid)
			task = &world->tasks[i];
	if (!task)
		task = &world->tasks[world->task_count++];
	memset(task, 0, sizeof(*task));
	task->tgid = tgid;
	task->ppid = ppid;
	task->start_ns = 10 * S + tgid;
	task->mm = 0xffff888000000000ULL + tgid * 1024ULL;
	task->cgroup_id = GROUP;
	task->rss_pages[EV_RSS_ANON] = anon;
	task->why = EV_SAMPLE_CENSUS;
	task->copied_pages = task->charged_pages = EV_UNKNOWN;
	memcpy(task->comm, "task", 4);
	return task;
}

static inline void world_fact(struct world *world, enum ev_kind kind, uint64_t time_ns)
{
	world->fact.kind = kind;
	world->fact.hdr.kind = (uint16_t)kind;
	world->fact.hdr.time_ns = time_ns;
	growth_fact(world->growth, &world->fact);
}

static inline void world_sample(struct world *world, const struct ev_sample *task, uint32_t why)
{
	world->fact.sample = *task;
	world->fact.sample.why = why;
	if (why != EV_SAMPLE_CENSUS)
		world->fact.sample.faults = world->fact.sample.io_bytes = EV_UNKNOWN;
	world_fact(world, EV_SAMPLE, world->now_ns);
}

static inline void world_usage(struct world *world, const struct group *group)
{
	struct ev_usage *usage = &world->fact.usage;

	memset(usage, 0, sizeof(*usage));
	usage->id = group->id;
	usage->parent_id = group->parent_id;
	usage->flags = group->flags;
	usage->usage_pages = group->usage;
	usage->max_pages = group->max;
	usage->high_pages = group->high;
	usage->swap_usage_pages = group->swap_usage;
	usage->swap_max_pages = group->swap_max;
	usage->failcnt = group->failcnt;
	usage->events[EV_EVENT_MAX] = group->max_events;
	usage->charged_pages = group->charged;
	world_fact(world, EV_USAGE, world->now_ns);
}

/* A pass now. Usages come last, as they may. */
static inline void world_look(struct world *world)
{
	growth_pass_begin(world->growth, world->now_ns);
	for (unsigned int i = 0; i < world->task_count; i++)
		if (world->tasks[i].tgid)
			world_sample(world, &world->tasks[i], EV_SAMPLE_CENSUS);
	for (unsigned int i = 0; i < world->group_count; i++)
		if (!world->groups[i].silent)
			world_usage(world, &world->groups[i]);
	growth_pass_end(world->growth);
}

static inline void world_pass(struct world *world)
{
	world->now_ns += S;
	world_look(world);
}

/* A child that begins with all that its parent has, at this moment. */
static inline struct ev_sample *world_fork(struct world *world, uint32_t parent, uint32_t tgid)
{
	const struct ev_sample before = *task_of(world, parent);
	struct ev_sample *task = world_task(world, tgid, parent, 0);
	struct ev_fork *event = &world->fact.fork;
	uint64_t mm = task->mm;

	*task = before;
	task->tgid = tgid;
	task->ppid = parent;
	task->mm = mm;
	task->start_ns = world->now_ns + 1; /* after a pass at this moment */
	task->flags = EV_TASK_FORKED;
	task->faults = task->io_bytes = 0;
	memset(event, 0, sizeof(*event));
	event->tgid = tgid;
	event->parent_tgid = parent;
	event->start_ns = task->start_ns;
	event->parent_start_ns = before.start_ns;
	for (int i = 0; i < EV_RSS_COUNTERS; i++)
		event->rss_pages += i == EV_RSS_SWAP ? 0 : (uint64_t)before.rss_pages[i];
	event->anon_pages = (uint64_t)before.rss_pages[EV_RSS_ANON];
	world_fact(world, EV_FORK, world->now_ns);
	return task;
}

/* A child in its parent's address space. */
static inline void world_vfork(struct world *world, uint32_t parent, uint32_t tgid)
{
	struct ev_sample *task = world_task(world, tgid, parent, 0);

	task->start_ns = world->now_ns + 1;
	task->flags = EV_TASK_FORKED;
	memset(&world->fact.fork, 0, sizeof(world->fact.fork));
	world->fact.fork.tgid = tgid;
	world->fact.fork.parent_tgid = parent;
	world->fact.fork.start_ns = task->start_ns;
	world->fact.fork.parent_start_ns = task_of(world, parent)->start_ns;
	world_fact(world, EV_FORK, world->now_ns);
}

static inline void world_exec(struct world *world, uint32_t tgid)
{
	struct ev_sample *task = task_of(world, tgid);
	struct ev_exec *event = &world->fact.exec;

	task->flags &= ~EV_TASK_FORKED;
	task->mm += 512;
	task->rss_pages[EV_RSS_ANON] = task->rss_pages[EV_RSS_FILE] = 10;
	memcpy(task->comm, "program", 7);
	memset(event, 0, sizeof(*event));
	event->tgid = tgid;
	event->ppid = task->ppid;
	event->start_ns = task->start_ns;
	memcpy(event->comm, task->comm, sizeof(event->comm));
	world_fact(world, EV_EXEC, world->now_ns);
}

static inline void exit_record(struct world *world, const struct ev_sample *task, uint64_t peak)
{
	struct ev_exit *event = &world->fact.exit;

	memset(event, 0, sizeof(*event));
	event->tgid = task->tgid;
	event->start_ns = task->start_ns;
	event->ppid = task->ppid;
	event->cgroup_id = task->cgroup_id;
	event->peak_pages = peak;
	event->copied_pages = task->copied_pages;
	event->charged_pages = task->charged_pages;
	event->faults = task->faults;
	event->io_bytes = task->io_bytes;
	memcpy(event->comm, task->comm, sizeof(event->comm));
	world_fact(world, EV_EXIT, world->now_ns);
}

/* `peak`: resident pages. */
static inline void world_exit(struct world *world, uint32_t tgid, uint64_t peak)
{
	struct ev_sample *task = task_of(world, tgid);

	exit_record(world, task, peak);
	task->tgid = 0;
}

/* What the OOM killer tells of a process. */
static inline void world_kill(struct world *world, const struct ev_sample *task, uint32_t role)
{
	struct ev_task *event = &world->fact.task;

	memset(event, 0, sizeof(*event));
	event->role = role;
	event->flags = task->flags;
	event->tgid = event->tid = task->tgid;
	event->ppid = task->ppid;
	event->start_ns = task->start_ns;
	event->mm = task->mm;
	event->cgroup_id = task->cgroup_id;
	memcpy(event->rss_pages, task->rss_pages, sizeof(event->rss_pages));
	memcpy(event->comm, "thread", 6);
	world_fact(world, EV_TASK, world->now_ns);
}

static inline void world_level(
	struct world *world, const struct group *group, uint32_t index, uint32_t incident)
{
	struct ev_level *event = &world->fact.level;

	memset(event, 0, sizeof(*event));
	event->hdr.incident = incident;
	event->role = EV_LEVEL_VICTIM;
	event->index = index;
	event->flags = group->flags;
	event->id = group->id;
	event->usage_pages = group->usage;
	event->max_pages = group->max;
	event->high_pages = event->swap_max_pages = (uint64_t)INT64_MAX / PAGE;
	event->failcnt = group->failcnt;
	world_fact(world, EV_LEVEL, world->now_ns);
}

/* Of the last `seconds`, of one cgroup (0: the machine). */
static inline const struct growth_picture *world_picture(
	struct world *world, uint64_t domain_id, unsigned int seconds)
{
	growth_picture(world->growth, world->paths, domain_id, world->now_ns, seconds * S,
		&world->picture);
	return &world->picture;
}

/* NULL: it is not in the picture. */
static inline const struct picture_process *pictured(
	const struct growth_picture *picture, uint32_t tgid)
{
	for (unsigned int i = 0; i < picture->process_count; i++)
		if (picture->processes[i].tgid == tgid)
			return &picture->processes[i];
	return NULL;
}

static inline const struct picture_family *family_pictured(
	const struct growth_picture *picture, uint32_t root_tgid)
{
	for (unsigned int i = 0; i < picture->family_count; i++)
		if (picture->families[i].root_tgid == root_tgid)
			return &picture->families[i];
	return NULL;
}

static inline const struct picture_cgroup *cgroup_pictured(
	const struct growth_picture *picture, uint64_t id)
{
	for (unsigned int i = 0; i < picture->cgroup_count; i++)
		if (picture->cgroups[i].id == id)
			return &picture->cgroups[i];
	return NULL;
}

/* --- those that copy what they share --- */

#define WORKERS 4
#define FIRST 200

/* A parent of 400 MiB and four workers that share all of it. */
static inline struct world *workers_new(void)
{
	struct world *world = world_new(0);
	struct group *group = group_of(world, GROUP);

	group->usage = 400 * MIB;
	group->max = 2000 * MIB;
	world_task(world, 100, 1, 400 * MIB);
	world_pass(world);
	world_pass(world);
	for (uint32_t i = 0; i < WORKERS; i++)
		world_fork(world, 100, FIRST + i);
	world_pass(world);
	return world;
}

/* So many pages were copied: faults, and usage, and nothing else. */
static inline void copy(struct world *world, uint32_t tgid, uint64_t pages)
{
	struct ev_sample *task = task_of(world, tgid);

	task->faults += pages;
	if (task->copied_pages != EV_UNKNOWN)
		task->copied_pages += pages;
	if (task->charged_pages != EV_UNKNOWN)
		task->charged_pages += pages;
	group_of(world, task->cgroup_id)->usage += pages;
}

/* Within 5 %. */
static inline void assert_near(uint64_t value, uint64_t wanted)
{
	assert_in_range(value, wanted - wanted / 20, wanted + wanted / 20);
}

#endif /* OOMSNOOP_TESTS_GROWTH_WORLD_H */
