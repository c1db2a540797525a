// SPDX-License-Identifier: Apache-2.0
/*
 * fillstore PATH KIND NUMBER: a capture store written by the recorder's own writer, for measuring
 * its readers. bytes N     incidents an hour apart with the series between them, until the file
 * holds N bytes window N    one incident, with ten minutes of N processes that move every second,
 * in families of 16
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "judge/judgement.h"
#include "sink/store.h"

#define SECOND_NS 1000000000LL
#define MIB (1LL << 20)
#define GROUP_ID 77
#define FAMILY 16
#define WALL_MINUS_BOOT_NS (1700000000 * SECOND_NS)
#define GROUP "/kubepods.slice/kubepods-burstable.slice/cri-containerd-9f3c2a.scope"

static struct store_writer *writer;
static struct capture_run run;
static struct incident incident;
static struct judgement judgement;

static int check(int error, const char *what)
{
	if (!error)
		return 0;
	fprintf(stderr, "fillstore: %s: %s: %s\n", what, strerror(-error),
		store_writer_why(writer));
	exit(1);
}

static struct history_owner process_owner(unsigned int number)
{
	struct history_owner owner = {
		.kind = HISTORY_PROCESS,
		.cgroup_id = GROUP_ID,
		.tgid = 1000 + number,
		.ppid = 1000 + number / FAMILY * FAMILY,
		.root_tgid = 1000 + number / FAMILY * FAMILY,
		.start_ns = (uint64_t)SECOND_NS * (100 + number),
		.root_start_ns = (uint64_t)SECOND_NS * (100 + number / FAMILY * FAMILY),
		.shared_bytes = number % FAMILY ? 12 * MIB : 0,
	};

	snprintf(owner.comm, sizeof(owner.comm), "worker%u", number / FAMILY);
	return owner;
}

/* Points of one process, `step_ns` apart, of memory that grows with some noise. */
static void put_process(unsigned int number, int64_t from_ns, unsigned int count, int64_t step_ns)
{
	struct history_owner owner = process_owner(number);

	check(store_owner(writer, &owner, "", "python train.py --workers 16"), "owner");
	for (unsigned int i = 0; i < count; i++) {
		struct history_point point = {.time_ns = from_ns + i * step_ns};

		point.values[HISTORY_RESIDENT] =
			20 * MIB + (int64_t)i * 4096 * (number % 7 + 1) + rand() % 65536;
		point.values[HISTORY_COW] = (int64_t)i * 8192;
		check(store_point(writer, &point), "point");
	}
}

static void put_group(int64_t from_ns, unsigned int count, int64_t step_ns)
{
	struct history_owner owner = {
		.kind = HISTORY_CGROUP, .cgroup_id = GROUP_ID, .max_bytes = 16ULL << 30};

	check(store_owner(writer, &owner, GROUP, ""), "owner");
	for (unsigned int i = 0; i < count; i++) {
		struct history_point point = {
			.time_ns = from_ns + i * step_ns, .values = {i * 24 * MIB, -1}};

		check(store_point(writer, &point), "point");
	}
}

static void fill_task(struct task_facts *task, unsigned int number, uint64_t at_ns)
{
	struct history_owner owner = process_owner(number);

	*task = (struct task_facts) {
		.tgid = owner.tgid,
		.tid = owner.tgid,
		.ppid = owner.ppid,
		.uid = 1000,
		.ns_tgid = owner.tgid,
		.at_ns = at_ns,
		.start_ns = owner.start_ns,
		.cgroup_id = GROUP_ID,
		.pgtables_bytes = 80 * 4096,
		.total_vm_pages = 60000,
	};
	task->rss_pages[EV_RSS_ANON] = 20000 - number * 10;
	task->rss_pages[EV_RSS_FILE] = 700;
	snprintf(task->comm, sizeof(task->comm), "%s", owner.comm);
}

static void fill_limit(uint64_t limit_pages)
{
	incident.level_count = 2;
	for (unsigned int i = 0; i < 2; i++) {
		struct incident_level *level = &incident.levels[i];

		memset(level, 0xff, sizeof(*level));
		level->id = i ? 1 : GROUP_ID;
		level->flags = EV_LEVEL_V2 | (i ? EV_LEVEL_ROOT : EV_LEVEL_LIMIT_HERE);
		level->usage_pages = limit_pages;
		level->max_pages = i ? INT64_MAX / 4096 : limit_pages;
	}
	strcpy(incident.level_paths[0], GROUP);
	strcpy(incident.level_paths[1], "/");
}

static void fill_incident(uint64_t time_ns)
{
	memset(&incident, 0, sizeof(incident));
	memset(&incident.host, 0xff, sizeof(incident.host));
	memset(&incident.stat, 0xff, sizeof(incident.stat));
	incident.number = 1;
	incident.time_ns = time_ns;
	incident.outcome = OUTCOME_KILLED;
	incident.closed = CLOSED_EXITED;
	incident.has_oc = incident.has_trigger = true;
	incident.constraint = EV_CONSTRAINT_MEMCG;
	incident.oc_limit_id = GROUP_ID;
	incident.totalpages = 4194304;
	incident.nodemask = incident.mems_allowed = incident.policy_nodes = UNKNOWN_U64;
	incident.stat_usage_bytes = incident.ceiling_hint = UNKNOWN_U64;
	fill_limit(incident.totalpages);
	fill_task(&incident.chosen, 0, time_ns);
	incident.chosen_points = 20780;
	incident.victim_count = 1;
	incident.victims[0].task = incident.chosen;
	incident.victims[0].why = VICTIM_CHOSEN;
	incident.victims[0].marked = incident.victims[0].exited = true;
	incident.victims[0].killed_ns = time_ns;
	incident.victims[0].exit_ns = time_ns + SECOND_NS / 5;
	strcpy(incident.victim_cgroup, GROUP);
	strcpy(incident.victim_cmdline, "python train.py --workers 16");
	incident.candidate_total = incident.candidate_count = INCIDENT_CANDIDATES;
	for (unsigned int i = 0; i < INCIDENT_CANDIDATES; i++)
		fill_task(&incident.candidates[i].task, i, time_ns);
}

static void put_incident(uint64_t time_ns)
{
	struct capture_moment moment = {.wall_minus_boot_ns = WALL_MINUS_BOOT_NS,
		.coverage = {.full_tier = true, .candidates_hook = true, .exit_hook = true}};
	int64_t id;

	fill_incident(time_ns);
	judge_incident(&incident, &run.host, &moment.coverage, &judgement);
	check(store_incident(writer, &run, &moment, &incident, &judgement, &id), "incident");
}

static void put_window(unsigned int processes)
{
	int64_t from_ns = 10000 * SECOND_NS;

	check(store_batch_begin(writer), "begin");
	put_group(from_ns, 600, SECOND_NS);
	for (unsigned int i = 0; i < processes; i++) {
		put_process(i, from_ns, 600, SECOND_NS);
		/* A batch is bounded. */
		if (i % 16 == 15) {
			check(store_batch_commit(writer, WALL_MINUS_BOOT_NS), "commit");
			check(store_batch_begin(writer), "begin");
		}
	}
	check(store_batch_commit(writer, WALL_MINUS_BOOT_NS), "commit");
	put_incident(from_ns + 600 * SECOND_NS);
}

/* An hour: 40 processes that move every ten seconds, then a kill. */
static void put_hours(const char *path, int64_t bytes)
{
	struct stat file = {.st_size = 0};

	for (int64_t hour = 1; file.st_size < bytes; hour++) {
		int64_t from_ns = hour * 3600 * SECOND_NS;

		for (int part = 0; part < 60; part++) {
			check(store_batch_begin(writer), "begin");
			for (unsigned int i = 0; i < 40; i++)
				put_process(i, from_ns + part * 60 * SECOND_NS, 6, 10 * SECOND_NS);
			put_group(from_ns + part * 60 * SECOND_NS, 6, 10 * SECOND_NS);
			check(store_batch_commit(writer, WALL_MINUS_BOOT_NS), "commit");
		}
		put_incident(from_ns + 3600 * SECOND_NS - 1);
		if (stat(path, &file))
			check(-errno, path);
	}
}

int main(int argc, char **argv)
{
	struct store_limits limits = {.max_bytes = 4ULL << 30};

	if (argc != 4) {
		fprintf(stderr, "usage: fillstore PATH bytes|window NUMBER\n");
		return 64;
	}
	check(store_writer_open(argv[1], &limits, &writer), argv[1]);
	run.host = (struct host_facts) {.hostname = "bench",
		.boot_id = "2b1c4d5e-0000-4000-8000-000000000001",
		.kernel = "6.1.0",
		.page_size = 4096,
		.cpus = 2,
		.memory_hierarchy = 0};
	run.began_ns = WALL_MINUS_BOOT_NS;
	run.ended_ns = INT64_MIN;
	strcpy(run.tier, "full");
	strcpy(run.version, OOMSNOOP_VERSION);
	check(store_run_begin(writer, &run, WALL_MINUS_BOOT_NS), "run");
	if (!strcmp(argv[2], "window"))
		put_window(atoi(argv[3]));
	else
		put_hours(argv[1], atoll(argv[3]));
	check(store_run_end(writer, &run), "run");
	store_writer_close(writer);
	return 0;
}
