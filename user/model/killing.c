// SPDX-License-Identifier: Apache-2.0
#include "model/killing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts/procfs.h"

#define KILLINGS 64
#define OOM_VICTIMS 64 /* the last ones are remembered */
#define OOM_SIGNALS_NS 10000000000ULL /* the kernel is long done with all of a group by then */

#define SI_USER 0 /* include/uapi/asm-generic/siginfo.h */
#define SI_TIMER (-2)
#define SIGNAL_KILL 9

enum place_state { PLACE_FREE, PLACE_FRESH, PLACE_OPEN };

struct place {
	enum place_state state;
	bool early; /* the pool is full: closed whatever the time */
	struct killing killing;
};

struct oom_victim {
	uint64_t time_ns; /* 0: this place is free */
	uint64_t cgroup_id;
	uint32_t tgid;
	char comm[EV_COMM_LEN + 1];
};

struct killings {
	struct processes *processes;
	struct cgroups *cgroups;
	uint32_t last_number;
	uint64_t evicted;
	unsigned int oom_next;
	struct oom_victim oom_victims[OOM_VICTIMS];
	struct place places[KILLINGS];
};

struct killings *killings_new(struct processes *processes, struct cgroups *cgroups)
{
	struct killings *killings = calloc(1, sizeof(*killings));

	if (!killings)
		return NULL;
	killings->processes = processes;
	killings->cgroups = cgroups;
	return killings;
}

void killings_free(struct killings *killings)
{
	free(killings);
}

/* --- which record a signal belongs to --- */

static enum killing_manner manner_of(const struct ev_signal *event)
{
	uint32_t flags = event->flags;

	if (event->signal != SIGNAL_KILL)
		return MANNER_FAULT;
	if (flags & EV_SIGNAL_PRIV)
		return flags & EV_SIGNAL_EXITING && flags & EV_SIGNAL_NS_INIT ? MANNER_NAMESPACE
									      : MANNER_KERNEL;
	if (flags & EV_SIGNAL_NOINFO) {
		if (!(flags & EV_SIGNAL_GROUP))
			return MANNER_CGROUP;
		return flags & EV_SIGNAL_EXITING ? MANNER_PARENT : MANNER_KERNEL;
	}
	if (event->code == SI_TIMER)
		return MANNER_TIMER;
	if (event->code > SI_USER)
		return MANNER_KERNEL;
	if (!(flags & EV_SIGNAL_ARGUMENT) || event->argument > 0)
		return MANNER_EACH;
	return event->argument == -1 ? MANNER_ALL : MANNER_GROUP;
}

static bool is_full(const struct killing *killing, uint64_t now_ns)
{
	return now_ns > killing->last_ns + KILLING_GAP_NS ||
	       now_ns > killing->time_ns + KILLING_MOST_NS;
}

static bool belongs(
	const struct killing *killing, const struct ev_signal *event, enum killing_manner manner)
{
	return killing->sender_tgid == event->sender_tgid &&
	       killing->sender_start_ns == event->sender_start_ns &&
	       killing->signal == event->signal && killing->manner == manner &&
	       killing->result == event->result &&
	       (manner != MANNER_GROUP || killing->argument == event->argument) &&
	       !is_full(killing, event->hdr.time_ns);
}

static struct place *find(
	struct killings *killings, const struct ev_signal *event, enum killing_manner manner)
{
	for (unsigned int i = 0; i < KILLINGS; i++) {
		struct place *place = &killings->places[i];

		if (place->state != PLACE_FREE && !place->early &&
			belongs(&place->killing, event, manner))
			return place;
	}
	return NULL;
}

/* NULL: all are in use, and the oldest is to be closed first. */
static struct place *take(struct killings *killings)
{
	struct place *oldest = NULL;
	unsigned int early = 0;

	for (unsigned int i = 0; i < KILLINGS; i++) {
		struct place *place = &killings->places[i];

		early += place->early;
		if (place->state == PLACE_FREE)
			return place;
		if (!place->early && (!oldest || place->killing.time_ns < oldest->killing.time_ns))
			oldest = place;
	}
	/* Whoever reads closes it before the next signal: one at a time is enough. */
	if (oldest && !early)
		oldest->early = true;
	killings->evicted++;
	return NULL;
}

/* --- names --- */

static void put_path(struct cgroups *cgroups, uint64_t id, char ret[CGROUP_PATH_LEN])
{
	const char *path = id ? cgroup_path(cgroups, id) : NULL;

	if (path)
		snprintf(ret, CGROUP_PATH_LEN, "%s", path);
}

static void name_sender(struct killings *killings, struct killing *killing, const struct fact *fact)
{
	const struct ev_signal *event = &fact->signal;
	const struct process *process =
		process_find(killings->processes, event->sender_tgid, event->sender_start_ns);
	const struct process *parent =
		process_find(killings->processes, event->sender_ppid, UINT64_MAX);

	if (process) {
		memcpy(killing->sender_cmdline, process->cmdline, sizeof(process->cmdline));
		memcpy(killing->sender_exe, process->exe, sizeof(process->exe));
	}
	/* What it runs now, told by the hook, is newer than anything learnt. */
	if (fact->text_len)
		cmdline_text(fact->text, fact->text_len, event->args_len, killing->sender_cmdline,
			sizeof(killing->sender_cmdline));
	if (parent)
		memcpy(killing->sender_parent_exe, parent->exe, sizeof(parent->exe));
	put_path(killings->cgroups, event->sender_cgroup_id, killing->sender_cgroup);
}

static void name_target(
	struct killings *killings, struct killing *killing, const struct ev_signal *event)
{
	const struct process *process =
		process_find(killings->processes, event->tgid, event->start_ns);

	if (process) {
		memcpy(killing->target_cmdline, process->cmdline, sizeof(process->cmdline));
		memcpy(killing->target_exe, process->exe, sizeof(process->exe));
	}
	put_path(killings->cgroups, event->cgroup_id, killing->target_cgroup);
	if (event->flags & EV_SIGNAL_LIMIT)
		put_path(killings->cgroups, event->limit_id, killing->limit_cgroup);
}

/* --- OOM kills --- */

/* The same cgroup, or one is within the other: a runtime ends all of a container. */
static bool is_near(struct killings *killings, uint64_t id, const char *path, uint64_t other_id)
{
	const char *other = cgroup_path(killings->cgroups, other_id);
	size_t len;

	if (id == other_id)
		return true;
	if (!other || !other[0] || !path[0] || !strcmp(path, "/") || !strcmp(other, "/"))
		return false;
	len = strlen(path) < strlen(other) ? strlen(path) : strlen(other);
	return !strncmp(path, other, len) && (path[len] == '/' || other[len] == '/');
}

static void find_oom(struct killings *killings, struct killing *killing)
{
	for (unsigned int i = 0; i < OOM_VICTIMS; i++) {
		const struct oom_victim *victim = &killings->oom_victims[i];

		if (!victim->time_ns || victim->time_ns > killing->time_ns ||
			killing->time_ns - victim->time_ns > KILLING_OOM_NS ||
			victim->time_ns <= killing->oom_ns ||
			!is_near(killings, killing->targets[0].cgroup_id, killing->target_cgroup,
				victim->cgroup_id))
			continue;
		killing->oom_ns = victim->time_ns;
		killing->oom_tgid = victim->tgid;
		memcpy(killing->oom_comm, victim->comm, sizeof(victim->comm));
	}
}

static void drop_target(struct place *place, unsigned int index)
{
	struct killing *killing = &place->killing;

	killing->target_count--;
	killing->total--;
	memmove(&killing->targets[index], &killing->targets[index + 1],
		(killing->target_count - index) * sizeof(killing->targets[0]));
	if (!killing->target_count)
		place->state = PLACE_FREE;
}

/* Its signals were the OOM killer's: there may be two, one for itself and one as a member of its
 * group. */
static void take_back(struct killings *killings, uint32_t tgid)
{
	for (unsigned int i = 0; i < KILLINGS; i++) {
		struct place *place = &killings->places[i];

		if (place->state == PLACE_FREE || place->killing.manner != MANNER_KERNEL)
			continue;
		for (unsigned int j = place->killing.target_count; j-- > 0;)
			if (place->killing.targets[j].tgid == tgid)
				drop_target(place, j);
	}
}

/* One that was marked is sent no other signal of the kernel's than the OOM killer's. */
static bool is_oom_victim(const struct killings *killings, const struct ev_signal *event)
{
	for (unsigned int i = 0; i < OOM_VICTIMS; i++) {
		const struct oom_victim *victim = &killings->oom_victims[i];

		if (victim->time_ns && victim->tgid == event->tgid &&
			event->start_ns <= victim->time_ns &&
			event->hdr.time_ns - victim->time_ns < OOM_SIGNALS_NS)
			return true;
	}
	return false;
}

static void oom_marked(struct killings *killings, const struct ev_task *task)
{
	struct oom_victim *victim = &killings->oom_victims[killings->oom_next++ % OOM_VICTIMS];

	take_back(killings, task->tgid);
	*victim = (struct oom_victim) {
		.time_ns = task->hdr.time_ns,
		.cgroup_id = task->cgroup_id,
		.tgid = task->tgid,
	};
	fact_comm(task->comm, victim->comm);
}

/* --- signals --- */

static void fill_fault(struct killing *killing, const struct ev_signal *event)
{
	size_t len = strnlen(event->mapping_name, EV_NAME_LEN);

	killing->address = event->address;
	killing->mapping_magic = event->mapping_magic;
	killing->mapping_dev = event->mapping_dev;
	killing->mapping_bytes = event->mapping_bytes;
	killing->mapping_pgoff = event->mapping_pgoff;
	killing->mapping_offset = event->mapping_offset;
	killing->tmpfs_max_blocks = event->tmpfs_max_blocks;
	killing->tmpfs_used_blocks = event->tmpfs_used_blocks;
	memcpy(killing->mapping_name, event->mapping_name, len);
}

static void fill_sender(struct killing *killing, const struct ev_signal *event)
{
	killing->sender_tgid = event->sender_tgid;
	killing->sender_tid = event->sender_tid;
	killing->sender_ppid = event->sender_ppid;
	killing->sender_uid = event->sender_uid;
	killing->sender_start_ns = event->sender_start_ns;
	killing->sender_cgroup_id = event->sender_cgroup_id;
	fact_comm(event->sender_comm, killing->sender_comm);
	fact_comm(event->parent_comm, killing->sender_parent);
	memcpy(killing->sender_file, event->sender_file,
		strnlen(event->sender_file, EV_FILE_LEN - 1));
}

static void fill_term(
	struct killings *killings, struct killing *killing, const struct ev_signal *event)
{
	const struct process *process;

	if (!(event->flags & EV_SIGNAL_TERM) || event->term_ns > event->hdr.time_ns)
		return;
	killing->term_ns = event->term_ns;
	killing->term_tgid = event->term_tgid;
	killing->term_count = event->term_count;
	process = process_find(killings->processes, event->term_tgid, UINT64_MAX);
	if (event->term_tgid == event->sender_tgid)
		memcpy(killing->term_comm, killing->sender_comm, sizeof(killing->term_comm));
	else if (process && process->exe[0])
		snprintf(killing->term_comm, sizeof(killing->term_comm), "%.16s",
			strrchr(process->exe, '/') ? strrchr(process->exe, '/') + 1 : process->exe);
}

static void begin(struct killings *killings, struct killing *killing, const struct fact *fact,
	enum killing_manner manner)
{
	const struct ev_signal *event = &fact->signal;

	*killing = (struct killing) {
		.number = ++killings->last_number,
		.manner = manner,
		.time_ns = event->hdr.time_ns,
		.signal = event->signal,
		.code = event->code,
		.result = event->result,
		.flags = event->flags,
		.argument = event->argument,
		.limit_id = event->limit_id,
		.limit_usage_pages = event->limit_usage_pages,
		.limit_max_pages = event->limit_max_pages,
		.limit_oom_kills = event->limit_oom_kills,
		.pressure = {UNKNOWN_U64, UNKNOWN_U64},
		.cgroup_pressure = {UNKNOWN_U64, UNKNOWN_U64},
		.burst_ns = event->burst_ns,
		.burst_first = event->burst,
	};
	memset(&killing->host, 0xff, sizeof(killing->host));
	killing->tmpfs.files = UINT32_MAX;
	fill_sender(killing, event);
	fill_term(killings, killing, event);
	if (manner == MANNER_FAULT)
		fill_fault(killing, event);
	name_sender(killings, killing, fact);
	name_target(killings, killing, event);
}

/* Who kills its own process group means its family, and is in it. */
static bool is_family(const struct ev_signal *event, enum killing_manner manner)
{
	return event->flags & EV_SIGNAL_DESCENDANT ||
	       (manner == MANNER_GROUP && event->tgid == event->sender_tgid);
}

static void add_target(struct killing *killing, const struct ev_signal *event)
{
	struct killing_target *target;

	killing->last_ns = event->hdr.time_ns;
	killing->received++;
	killing->total++;
	killing->descendants += is_family(event, killing->manner);
	if (killing->target_count == KILLING_TARGETS)
		return;
	target = &killing->targets[killing->target_count++];
	*target = (struct killing_target) {
		.tgid = event->tgid,
		.tid = event->tid,
		.ppid = event->ppid,
		.uid = event->uid,
		.ns_tgid = event->ns_tgid,
		.pgid = event->pgid,
		.oom_score_adj = event->oom_score_adj,
		.flags = event->flags,
		.time_ns = event->hdr.time_ns,
		.start_ns = event->start_ns,
		.cgroup_id = event->cgroup_id,
	};
	memcpy(target->rss_pages, event->rss_pages, sizeof(target->rss_pages));
	fact_comm(event->comm, target->comm);
}

static void signalled(struct killings *killings, const struct fact *fact)
{
	const struct ev_signal *event = &fact->signal;
	enum killing_manner manner = manner_of(event);
	struct place *place;

	if (manner == MANNER_KERNEL && is_oom_victim(killings, event))
		return;
	place = find(killings, event, manner);
	if (place) {
		add_target(&place->killing, event);
		return;
	}
	place = take(killings);
	if (!place)
		return;
	place->state = PLACE_FRESH;
	place->early = false;
	begin(killings, &place->killing, fact, manner);
	add_target(&place->killing, event);
	find_oom(killings, &place->killing);
}

void killings_fact(struct killings *killings, const struct fact *fact)
{
	if (fact->kind == EV_SIGNAL)
		signalled(killings, fact);
	else if (fact->kind == EV_TASK &&
		 (fact->task.role == EV_ROLE_VICTIM || fact->task.role == EV_ROLE_SIGNALLED))
		oom_marked(killings, &fact->task);
}

void killing_counted(struct killing *killing, uint32_t burst)
{
	uint32_t counted = burst >= killing->burst_first ? burst - killing->burst_first + 1 : 0;

	/* Short ones are told whole, and may be of more than one manner. Of the OOM killer's own,
	 * those that were taken back are in the kernel side's count. */
	if (burst > EV_BURST_TOLD && counted > killing->received &&
		killing->received == killing->total)
		killing->total = counted;
}

/* --- what becomes of them --- */

struct killing *killings_next_fresh(struct killings *killings)
{
	for (unsigned int i = 0; i < KILLINGS; i++) {
		if (killings->places[i].state != PLACE_FRESH)
			continue;
		killings->places[i].state = PLACE_OPEN;
		return &killings->places[i].killing;
	}
	return NULL;
}

static uint64_t closes_at(const struct place *place)
{
	uint64_t gap = place->killing.last_ns + KILLING_GAP_NS;
	uint64_t most = place->killing.time_ns + KILLING_MOST_NS;

	if (place->early)
		return 0;
	return gap < most ? gap : most;
}

struct killing *killings_next_closed(struct killings *killings, uint64_t now_ns)
{
	struct place *oldest = NULL;

	for (unsigned int i = 0; i < KILLINGS; i++) {
		struct place *place = &killings->places[i];

		if (place->state == PLACE_FREE || closes_at(place) > now_ns)
			continue;
		if (!oldest || place->killing.number < oldest->killing.number)
			oldest = place;
	}
	return oldest ? &oldest->killing : NULL;
}

void killings_release(struct killings *killings, struct killing *killing)
{
	for (unsigned int i = 0; i < KILLINGS; i++) {
		if (&killings->places[i].killing != killing)
			continue;
		killings->places[i].state = PLACE_FREE;
		killings->places[i].early = false;
	}
}

uint64_t killings_deadline(const struct killings *killings)
{
	uint64_t ret = UINT64_MAX;

	for (unsigned int i = 0; i < KILLINGS; i++) {
		const struct place *place = &killings->places[i];

		if (place->state != PLACE_FREE && closes_at(place) < ret)
			ret = closes_at(place);
	}
	return ret;
}

uint64_t killings_evicted(const struct killings *killings)
{
	return killings->evicted;
}
