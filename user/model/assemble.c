// SPDX-License-Identifier: Apache-2.0
#include "model/assemble.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/joined.h"

/*
 * Until 6.1 a thread keeps what its last 64 faults brought to itself (TASK_RSS_EVENTS_THRESH,
 * mm/memory.c) and hands it in when it exits: the victim, sent its signal before its line is
 * printed, may do so in between. A fault brings one anonymous page, or up to 16 pages of a file
 * (fault_around_bytes).
 */
#define SPLIT_FAULTS 64
#define SPLIT_FILE_PAGES 16

static void copy_text(char *ret, size_t size, const char *text)
{
	size_t len = strnlen(text, size - 1);

	memcpy(ret, text, len);
	ret[len] = '\0';
}

static void copy_comm(char ret[EV_COMM_LEN + 1], const char comm[EV_COMM_LEN])
{
	memcpy(ret, comm, EV_COMM_LEN);
	ret[EV_COMM_LEN] = '\0';
}

void incident_reset(struct incident *incident)
{
	/* Everything before the large arrays and after them; of the arrays only what was filled. */
	memset(incident->level_paths, 0, sizeof(incident->level_paths[0]) * incident->level_count);
	memset(incident->victims, 0, sizeof(incident->victims[0]) * incident->victim_count);
	memset(incident->candidates, 0,
		sizeof(incident->candidates[0]) * incident->candidate_count);
	memset(incident, 0, offsetof(struct incident, level_paths));
	memset(&incident->chosen, 0, sizeof(incident->chosen));
	incident->victim_count = incident->victims_dropped = 0;
	memset(incident->victim_cgroup, 0,
		offsetof(struct incident, candidates) - offsetof(struct incident, victim_cgroup));
	memset(&incident->aborted_scans, 0,
		sizeof(*incident) - offsetof(struct incident, aborted_scans));
	incident->totalpages = UNKNOWN_U64;
	incident->ceiling_hint = UNKNOWN_U64;
	incident->nodemask = UNKNOWN_U64;
	incident->mems_allowed = incident->policy_nodes = UNKNOWN_U64;
	incident->stat_usage_bytes = UNKNOWN_U64;
	memset(&incident->stat, 0xff, sizeof(incident->stat));
	memset(&incident->host, 0xff, sizeof(incident->host));
}

void task_facts_set(struct task_facts *ret, const struct ev_task *event)
{
	*ret = (struct task_facts) {
		.tgid = event->tgid,
		.tid = event->tid,
		.ppid = event->ppid,
		.uid = event->uid,
		.ns_tgid = event->ns_tgid,
		.oom_score_adj = event->oom_score_adj,
		.flags = event->flags,
		.at_ns = event->hdr.time_ns,
		.start_ns = event->start_ns,
		.mm = event->mm,
		.cgroup_id = event->cgroup_id,
		.pgtables_bytes = event->pgtables_bytes,
		.total_vm_pages = event->total_vm_pages,
	};
	memcpy(ret->rss_pages, event->rss_pages, sizeof(ret->rss_pages));
	memcpy(ret->rss_exact, event->rss_exact, sizeof(ret->rss_exact));
	copy_comm(ret->comm, event->comm);
}

/* The names as learnt while it lived; nothing is looked up now. */
static void names_copy(
	struct processes *processes, uint32_t tgid, uint64_t start_ns, char *cmdline, char *exe)
{
	const struct process *process = process_find(processes, tgid, start_ns);

	if (!process)
		return;
	copy_text(cmdline, INCIDENT_CMDLINE, process->cmdline);
	if (exe)
		copy_text(exe, PROCESS_EXE_LEN, process->exe);
}

void incident_context(
	struct incident *incident, const struct ev_context *event, struct processes *processes)
{
	incident->has_trigger = true;
	incident->trigger_flags = event->flags;
	incident->trigger_tgid = event->tgid;
	incident->trigger_tid = event->tid;
	incident->trigger_uid = event->uid;
	incident->trigger_adj = event->oom_score_adj;
	incident->trigger_start_ns = event->start_ns;
	incident->trigger_cgroup_id = event->cgroup_id;
	copy_comm(incident->trigger_comm, event->comm);
	names_copy(processes, event->tgid, event->start_ns, incident->trigger_cmdline, NULL);
	incident->mems_allowed = event->mems_allowed;
	incident->policy_nodes = event->policy_nodes;
	incident->time_ns = event->hdr.time_ns;
	if (!(event->flags & EV_CONTEXT_OC))
		return;
	incident->has_oc = true;
	incident->constraint = event->constraint;
	incident->oc_limit_id = event->limit_cgroup_id;
	incident->totalpages = event->totalpages;
	incident->ceiling_hint = event->totalpages;
	incident->chosen_points = event->chosen_points;
	incident->nodemask = event->nodemask;
	incident->gfp_mask = event->gfp_mask;
	incident->order = event->order;
	memcpy(incident->message, event->message, EV_MESSAGE_LEN);
	incident->message[EV_MESSAGE_LEN] = '\0';
}

/*
 * A path that is under way, names only, does not begin with '/': only the root makes it whole. What
 * never gets that far, since a level was lost or there is no room for all of it, ends up empty:
 * part of a path would name another cgroup.
 */
static bool path_is_whole(const char *path)
{
	return path[0] == '/';
}

/* Names hold no '/': as many names as there are. */
static unsigned int path_names(const char *path)
{
	unsigned int count = path[0] != '\0';

	for (; *path; path++)
		count += *path == '/';
	return count;
}

/* The name of the level at `index`, the leaf's being 0, before those below it. */
static void path_prepend(char path[INCIDENT_PATH], unsigned int index, const char *name)
{
	size_t len = strlen(path), add = strlen(name);

	if (path_is_whole(path) || path_names(path) != index || !add)
		return;
	if (add + 1 + len + 1 >= INCIDENT_PATH)
		return;
	memmove(path + add + (len > 0), path, len + 1);
	memcpy(path, name, add);
	if (len)
		path[add] = '/';
}

static void path_end(char path[INCIDENT_PATH], unsigned int root_index)
{
	if (path_is_whole(path))
		return;
	if (path_names(path) != root_index) {
		path[0] = '\0';
		return;
	}
	memmove(path + 1, path, strlen(path) + 1);
	path[0] = '/';
}

/* Paths of all levels, once the root is there: level_paths holds the bare names until then. */
static void level_paths_build(struct incident *incident, struct cgroups *cgroups, uint64_t now_ns)
{
	char name[INCIDENT_PATH];

	for (unsigned int i = incident->level_count; i-- > 0;) {
		char *path = incident->level_paths[i];
		const char *parent =
			i + 1 < incident->level_count ? incident->level_paths[i + 1] : NULL;

		if (!parent) {
			copy_text(path, INCIDENT_PATH, "/");
		} else if (!path_is_whole(path)) {
			memcpy(name, path, sizeof(name));
			if (!strcmp(parent, "/"))
				parent = "";
			else if (!parent[0])
				name[0] = '\0';
			if (!name[0] || snprintf(path, INCIDENT_PATH, "%s/%s", parent, name) >=
						INCIDENT_PATH) {
				path[0] = '\0';
				continue;
			}
		}
		cgroup_learn(cgroups, incident->levels[i].id, path, now_ns);
	}
}

static void path_settle(char path[INCIDENT_PATH], struct cgroups *cgroups, uint64_t id)
{
	const char *known;

	if (path_is_whole(path))
		return;
	known = cgroup_path(cgroups, id);
	copy_text(path, INCIDENT_PATH, known ? known : "");
}

void incident_paths_settle(struct incident *incident, struct cgroups *cgroups)
{
	const struct task_facts *victim = &incident->victims[0].task;
	const struct incident_level *leaf = incident->level_count ? &incident->levels[0] : NULL;

	for (unsigned int i = 0; i < incident->level_count; i++)
		path_settle(incident->level_paths[i], cgroups, incident->levels[i].id);
	if (leaf && incident->trigger_cgroup_id == leaf->id)
		copy_text(incident->trigger_cgroup, INCIDENT_PATH, incident->level_paths[0]);
	path_settle(incident->trigger_cgroup, cgroups, incident->trigger_cgroup_id);
	if (!incident->victim_count)
		return;
	/* Where only a pid was told, the chain is that of whoever asked. */
	incident->victim_cgroup[0] = '\0';
	if (victim->flags & EV_TASK_PARTIAL)
		return;
	if (leaf && (victim->cgroup_id == leaf->id || !victim->cgroup_id))
		copy_text(incident->victim_cgroup, INCIDENT_PATH, incident->level_paths[0]);
	else
		path_settle(incident->victim_cgroup, cgroups, victim->cgroup_id);
}

static void level_set(struct incident_level *level, const struct ev_level *event)
{
	*level = (struct incident_level) {
		.id = event->id,
		.flags = event->flags,
		.swappiness = event->swappiness,
		.usage_pages = event->usage_pages,
		.max_pages = event->max_pages,
		.high_pages = event->high_pages,
		.min_pages = event->min_pages,
		.low_pages = event->low_pages,
		.watermark_pages = event->watermark_pages,
		.failcnt = event->failcnt,
		.swap_usage_pages = event->swap_usage_pages,
		.swap_max_pages = event->swap_max_pages,
		.kmem_usage_pages = event->kmem_usage_pages,
		.oom_local_before = UNKNOWN_U64,
		.freed_usage_pages = UNKNOWN_U64,
	};
	memcpy(level->events, event->events, sizeof(level->events));
	memcpy(level->events_local, event->events_local, sizeof(level->events_local));
}

/* How often this limit had invoked the OOM killer when it was last looked at. */
static void level_remember(struct incident_level *level, struct cgroups *cgroups)
{
	struct cgroup_entry *entry = cgroup_find(cgroups, level->id);

	if (!entry || level->events_local[EV_EVENT_OOM] == UNKNOWN_U64)
		return;
	if (entry->has_oom_local)
		level->oom_local_before = entry->oom_local;
	entry->has_oom_local = true;
	entry->oom_local = level->events_local[EV_EVENT_OOM];
}

void incident_level(struct incident *incident, const struct ev_level *event, const char *name,
	struct cgroups *cgroups)
{
	if (event->role == EV_LEVEL_TRIGGER) {
		if (!(event->flags & EV_LEVEL_ROOT)) {
			path_prepend(incident->trigger_cgroup, event->index, name);
			return;
		}
		path_end(incident->trigger_cgroup, event->index);
		if (path_is_whole(incident->trigger_cgroup))
			cgroup_learn(cgroups, incident->trigger_cgroup_id, incident->trigger_cgroup,
				event->hdr.time_ns);
		return;
	}
	/* Levels come leaf first, without gaps unless one was dropped: then the rest cannot be
	 * placed. */
	if (event->index != incident->level_count || event->index >= EV_MAX_LEVELS)
		return;
	if (incident_chain_is_whole(incident))
		return;
	level_set(&incident->levels[event->index], event);
	level_remember(&incident->levels[event->index], cgroups);
	copy_text(incident->level_paths[event->index], INCIDENT_PATH, name);
	incident->level_count++;
	if (event->flags & EV_LEVEL_ROOT)
		level_paths_build(incident, cgroups, event->hdr.time_ns);
}

/* A count only rises: the highest that was told is the latest. */
static void count_raise(uint64_t *count, uint64_t told)
{
	if (told != UNKNOWN_U64 && (*count == UNKNOWN_U64 || told > *count))
		*count = told;
}

void incident_count(struct incident *incident, const struct ev_kill_count *event)
{
	for (unsigned int i = 0; event->id && i < incident->level_count; i++) {
		struct incident_level *level = &incident->levels[i];

		if (level->id != event->id)
			continue;
		count_raise(&level->events[EV_EVENT_OOM_KILL], event->oom_kill);
		count_raise(&level->events[EV_EVENT_OOM_GROUP_KILL], event->oom_group_kill);
		count_raise(&level->events_local[EV_EVENT_OOM_KILL], event->oom_kill_local);
		count_raise(
			&level->events_local[EV_EVENT_OOM_GROUP_KILL], event->oom_group_kill_local);
		return;
	}
}

/* What it holds, whatever its oom_score_adj. */
static int64_t held_pages(const struct task_facts *task, uint32_t page_size)
{
	int64_t pages = 0;

	for (int i = 0; i < EV_RSS_COUNTERS; i++)
		pages += task->rss_pages[i] > 0 ? task->rss_pages[i] : 0;
	if (task->pgtables_bytes != UNKNOWN_U64)
		pages += (int64_t)(task->pgtables_bytes / page_size);
	return pages;
}

static struct candidate *candidate_find(struct incident *incident, const struct task_facts *task)
{
	for (unsigned int i = 0; i < incident->candidate_count; i++) {
		struct candidate *candidate = &incident->candidates[i];

		if (candidate->task.tgid == task->tgid &&
			candidate->task.start_ns == task->start_ns)
			return candidate;
	}
	return NULL;
}

/*
 * A place for one more: a free one, or that of the lightest. The one that holds the most stays,
 * however light oom_score_adj makes it: whether the victim was the largest hangs on it.
 */
static struct candidate *candidate_place(struct incident *incident, const struct task_facts *task,
	int64_t weight, uint32_t page_size)
{
	struct candidate *least = NULL, *largest = &incident->candidates[0];

	if (incident->candidate_count < INCIDENT_CANDIDATES)
		return &incident->candidates[incident->candidate_count++];
	for (unsigned int i = 1; i < incident->candidate_count; i++)
		if (held_pages(&incident->candidates[i].task, page_size) >
			held_pages(&largest->task, page_size))
			largest = &incident->candidates[i];
	for (unsigned int i = 0; i < incident->candidate_count; i++) {
		struct candidate *candidate = &incident->candidates[i];

		if (candidate != largest && (!least || candidate->weight < least->weight))
			least = candidate;
	}
	if (held_pages(task, page_size) > held_pages(&largest->task, page_size))
		return largest->weight < least->weight ? largest : least;
	return least->weight < weight ? least : NULL;
}

void incident_candidate_add(struct incident *incident, const struct task_facts *task,
	struct processes *processes, struct cgroups *cgroups,
	const struct incidents_options *options)
{
	struct candidate *candidate;
	const char *path;
	int64_t weight;

	if (task->flags & (EV_TASK_NO_MM | EV_TASK_PARTIAL))
		return;
	weight = options->weight(task, incident->ceiling_hint, options->host->page_size);
	candidate = candidate_find(incident, task);
	if (!candidate) {
		incident->candidate_total++;
		candidate = candidate_place(incident, task, weight, options->host->page_size);
	}
	if (!candidate)
		return;
	candidate->task = *task;
	candidate->weight = weight;
	candidate->cgroup[0] = candidate->cmdline[0] = '\0';
	path = cgroup_path(cgroups, task->cgroup_id);
	if (path && strlen(path) < sizeof(candidate->cgroup))
		copy_text(candidate->cgroup, sizeof(candidate->cgroup), path);
	names_copy(processes, task->tgid, task->start_ns, candidate->cmdline, NULL);
}

void incident_candidate(struct incident *incident, const struct ev_task *event,
	struct processes *processes, struct cgroups *cgroups,
	const struct incidents_options *options)
{
	struct task_facts task;

	task_facts_set(&task, event);
	if (event->totalpages != EV_UNKNOWN)
		incident->ceiling_hint = event->totalpages;
	incident_candidate_add(incident, &task, processes, cgroups, options);
}

static struct victim *victim_find(struct incident *incident, uint32_t tgid, uint64_t start_ns)
{
	for (unsigned int i = 0; i < incident->victim_count; i++) {
		struct victim *victim = &incident->victims[i];

		if (victim->task.tgid == tgid &&
			(victim->task.start_ns == start_ns || start_ns == EV_UNKNOWN ||
				victim->task.flags & EV_TASK_PARTIAL))
			return victim;
	}
	return NULL;
}

static enum victim_why victim_reason(
	const struct incident *incident, const struct victim *victim, bool signal_hook)
{
	if (!victim->marked)
		return VICTIM_SHARED_MM;
	if (signal_hook && !victim->signalled)
		return VICTIM_ALREADY_EXITING;
	return victim == &incident->victims[0] ? VICTIM_CHOSEN : VICTIM_GROUP;
}

/* A tracepoint that tells only a pid: what the scan, or a census, told of it stands for the rest.
 */
static void victim_complete(const struct incident *incident, struct victim *victim)
{
	uint32_t tgid = victim->task.tgid;

	if (incident->chosen.tgid &&
		(incident->chosen.tgid == tgid || incident->chosen.tid == tgid)) {
		victim->task = incident->chosen;
		return;
	}
	for (unsigned int i = 0; i < incident->candidate_count; i++)
		if (incident->candidates[i].task.tgid == tgid) {
			victim->task = incident->candidates[i].task;
			return;
		}
}

void incident_victims_complete(struct incident *incident)
{
	for (unsigned int i = 0; i < incident->victim_count; i++)
		if (incident->victims[i].task.flags & EV_TASK_PARTIAL)
			victim_complete(incident, &incident->victims[i]);
}

/* Nothing was killed where all that were marked were dying already. */
static enum incident_outcome victims_outcome(const struct incident *incident)
{
	for (unsigned int i = 0; i < incident->victim_count; i++)
		if (incident->victims[i].why != VICTIM_ALREADY_EXITING)
			return OUTCOME_KILLED;
	return OUTCOME_ALREADY_EXITING;
}

void incident_adopt_chosen(struct incident *incident, struct processes *processes)
{
	struct victim *victim = &incident->victims[0];

	if (incident->victim_count || !incident->chosen.tgid)
		return;
	incident->victim_count = 1;
	memset(victim, 0, sizeof(*victim));
	victim->task = incident->chosen;
	/* The kernel came back without a mark: it found the chosen one at its end, and let it be.
	 */
	victim->why = incident->complete || incident->chosen.flags & EV_TASK_NO_MM
			      ? VICTIM_ALREADY_EXITING
			      : VICTIM_CHOSEN;
	victim->killed_ns = incident->chosen.at_ns;
	incident->outcome = victims_outcome(incident);
	names_copy(processes, victim->task.tgid, victim->task.start_ns, incident->victim_cmdline,
		incident->victim_exe);
}

struct victim *incident_victim(struct incident *incident, const struct ev_task *event,
	struct processes *processes, bool signal_hook)
{
	struct victim *victim = victim_find(incident, event->tgid, event->start_ns);
	bool first = incident->victim_count == 0;

	if (!victim) {
		if (incident->victim_count == INCIDENT_VICTIMS) {
			incident->victims_dropped++;
			return NULL;
		}
		victim = &incident->victims[incident->victim_count++];
		memset(victim, 0, sizeof(*victim));
		task_facts_set(&victim->task, event);
		victim->killed_ns = event->hdr.time_ns;
	}
	if (event->role == EV_ROLE_VICTIM) {
		/* The mark is the later and better reading: the kernel prints its line right after
		 * it. */
		if (!victim->marked && !(event->flags & EV_TASK_PARTIAL))
			task_facts_set(&victim->task, event);
		victim->marked = true;
		victim->signalled |= !!(event->flags & EV_TASK_SIGNALLED);
	} else {
		victim->signalled = true;
	}
	if (victim->task.flags & EV_TASK_PARTIAL)
		victim_complete(incident, victim);
	victim->why = victim_reason(incident, victim, signal_hook);
	incident->outcome = victims_outcome(incident);
	if (first) {
		if (!incident->chosen.tgid)
			incident->time_ns = event->hdr.time_ns;
		names_copy(processes, victim->task.tgid, victim->task.start_ns,
			incident->victim_cmdline, incident->victim_exe);
	}
	return victim;
}

bool incident_exit(struct incident *incident, const struct ev_exit *event)
{
	struct victim *victim = victim_find(incident, event->tgid, event->start_ns);

	if (!victim)
		return false;
	if (!victim->exited) {
		victim->exited = true;
		victim->exit_ns = event->hdr.time_ns;
		victim->exit_code = event->exit_code;
	}
	return true;
}

bool incident_reap(struct incident *incident, uint32_t tid)
{
	for (unsigned int i = 0; i < incident->victim_count; i++) {
		struct victim *victim = &incident->victims[i];

		if (victim->task.tid == tid || victim->task.tgid == tid) {
			victim->reaped = true;
			return true;
		}
	}
	return false;
}

/*
 * The lowest level of the chain that this victim's own surely passes. A group's victims live in
 * several leaves, all below the limit that was hit and below the level that makes them a group.
 */
static unsigned int level_in_common(const struct incident *incident, const struct victim *victim)
{
	unsigned int group = incident->level_count - 1;

	if (victim->task.cgroup_id == incident->levels[0].id)
		return 0;
	for (unsigned int i = 0; i < incident->level_count; i++)
		if (incident->levels[i].flags & EV_LEVEL_LIMIT_HERE)
			return i;
	while (group > 0 && !(incident->levels[group].flags & EV_LEVEL_OOM_GROUP))
		group--;
	return incident->levels[group].flags & EV_LEVEL_OOM_GROUP ? group
								  : incident->level_count - 1;
}

/* Both chains end at the root: they are laid together from there. */
static void levels_freed(
	struct incident *incident, const struct ev_mm_freed *event, const struct victim *victim)
{
	unsigned int lowest, count = 0;

	if (!incident_chain_is_whole(incident))
		return;
	while (count < EV_FREED_LEVELS && event->usage_pages[count] != EV_UNKNOWN)
		count++;
	if (count == EV_FREED_LEVELS)
		return; /* the chain may be longer than was read */
	lowest = level_in_common(incident, victim);
	/* The last user of the memory need not have been the victim: then this is another chain. */
	if (count < incident->level_count - lowest || (!lowest && count != incident->level_count))
		return;
	for (unsigned int i = lowest; i < incident->level_count; i++)
		incident->levels[i].freed_usage_pages =
			event->usage_pages[count - (incident->level_count - i)];
}

void incident_freed(struct incident *incident, const struct ev_mm_freed *event)
{
	const struct victim *victim = NULL;

	for (unsigned int i = 0; i < incident->victim_count; i++) {
		if (!event->mm || incident->victims[i].task.mm != event->mm)
			continue;
		incident->victims[i].mm_freed = true;
		if (!victim)
			victim = &incident->victims[i];
	}
	if (victim)
		levels_freed(incident, event, victim);
}

/* One number against the log's, in the log's own kB. RSS may be either of the two sums: kernels
 * differ. */
static bool kb_differs(
	const struct task_facts *task, uint64_t log_kb, int which, uint32_t page_size)
{
	const int64_t unit = page_size / 1024;
	int64_t pages = task->rss_pages[which], log_pages = (int64_t)log_kb / unit;

	if (task->flags & EV_TASK_RSS_EXACT && log_pages == task->rss_exact[which])
		return false;
	/* A counter may be below zero for a moment; the kernel then prints 0. */
	pages = pages < 0 ? 0 : pages;
	if (task->flags & EV_TASK_RSS_SPLIT)
		return llabs(log_pages - pages) >
		       SPLIT_FAULTS * (which == EV_RSS_ANON ? 1 : SPLIT_FILE_PAGES);
	return log_pages != pages;
}

static void number_differs(struct incident *incident, const char *what, uint64_t here,
	uint64_t there, const char *unit)
{
	if (here != there)
		incident_differs(incident, "%s %llu%s here, %llu%s in the log", what,
			(unsigned long long)here, unit, (unsigned long long)there, unit);
}

static void rss_compare(struct incident *incident, const struct task_facts *task,
	const struct kmsg_kill *line, uint32_t page_size)
{
	const struct {
		const char *what;
		int which;
		uint64_t log_kb;
	} fields[] = {{"anon-rss", EV_RSS_ANON, line->anon_kb},
		{"file-rss", EV_RSS_FILE, line->file_kb},
		{"shmem-rss", EV_RSS_SHMEM, line->shmem_kb}};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		int64_t pages = task->rss_pages[fields[i].which];

		if (kb_differs(task, fields[i].log_kb, fields[i].which, page_size))
			incident_differs(incident, "%s %lld kB here, %llu kB in the log",
				fields[i].what, (long long)pages * (page_size / 1024),
				(unsigned long long)fields[i].log_kb);
	}
}

static void kmsg_compare(struct incident *incident, const struct task_facts *task,
	const struct kmsg_kill *line, uint32_t page_size)
{
	if (task->flags & EV_TASK_PARTIAL)
		return; /* nothing but the pid is known */
	number_differs(incident, "UID", task->uid, line->uid, "");
	if (line->oom_score_adj != task->oom_score_adj)
		incident_differs(incident, "oom_score_adj %d here, %d in the log",
			task->oom_score_adj, line->oom_score_adj);
	if (task->flags & EV_TASK_NO_MM)
		return;
	number_differs(incident, "total-vm", task->total_vm_pages * (page_size / 1024),
		line->total_vm_kb, " kB");
	rss_compare(incident, task, line, page_size);
	number_differs(incident, "pgtables", task->pgtables_bytes / 1024, line->pgtables_kb, " kB");
}

bool incident_kmsg(struct incident *incident, const struct kmsg_kill *line, uint32_t page_size)
{
	for (unsigned int i = 0; i < incident->victim_count; i++) {
		if (incident->victims[i].task.tgid != line->pid)
			continue;
		/* The record is about the first one; the log may name it twice in a group kill. */
		if (i || incident->kmsg_line.pid)
			return true;
		if (incident->kmsg == KMSG_NOT_READ)
			incident->kmsg = KMSG_AGREES;
		incident->kmsg_line = *line;
		kmsg_compare(incident, &incident->victims[i].task, line, page_size);
		return true;
	}
	return false;
}
