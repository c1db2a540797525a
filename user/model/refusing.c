// SPDX-License-Identifier: Apache-2.0
#include "model/refusing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFUSALS 64
#define BURSTS 16 /* of a record; those of more processes count by what was told of them */
#define TOLD 64 /* the last ones that were told */
#define TOLD_AT_ONCE 3 /* so many alike are told as they come; then one in REFUSAL_AGAIN_NS */

enum place_state { PLACE_FREE, PLACE_FRESH, PLACE_OPEN };

/* What one process was refused without a pause. */
struct burst {
	uint32_t tgid;
	enum ev_call call;
	uint32_t count;
	uint64_t began_ns;
	uint64_t moved_ns; /* when the count last rose */
	bool ended; /* the kernel side counts another one in its place */
};

struct place {
	enum place_state state;
	bool held; /* the same was told a moment ago */
	uint64_t closes_ns; /* at the latest */
	uint64_t moved_ns; /* when the count last rose */
	unsigned int burst_count;
	struct burst bursts[BURSTS];
	uint64_t counted; /* of bursts that have ended, and of those without a place */
	struct refusal refusal;
};

struct told {
	uint64_t time_ns; /* 0: this place is free */
	uint64_t count; /* of all that were told */
	unsigned int records;
	uint32_t tgid;
	uint64_t cgroup_id;
	enum ev_call call;
	int32_t error;
	char comm[EV_COMM_LEN + 1];
};

struct refusals {
	struct processes *processes;
	struct cgroups *cgroups;
	refusal_counter *counter;
	void *arg;
	uint32_t last_number;
	uint64_t lost;
	unsigned int told_next;
	struct told told[TOLD];
	struct place places[REFUSALS];
};

struct refusals *refusals_new(
	struct processes *processes, struct cgroups *cgroups, refusal_counter *counter, void *arg)
{
	struct refusals *refusals = calloc(1, sizeof(*refusals));

	if (!refusals)
		return NULL;
	refusals->processes = processes;
	refusals->cgroups = cgroups;
	refusals->counter = counter;
	refusals->arg = arg;
	return refusals;
}

void refusals_free(struct refusals *refusals)
{
	free(refusals);
}

/* --- which record a call belongs to --- */

/* An allocator that is refused by one call tries the next: malloc() does mmap, brk and mmap. */
static bool same_call(enum ev_call a, enum ev_call b)
{
	return a == b || (a <= EV_CALL_MREMAP && b <= EV_CALL_MREMAP);
}

static struct place *find(struct refusals *refusals, const struct ev_refusal *event)
{
	for (unsigned int i = 0; i < REFUSALS; i++) {
		struct place *place = &refusals->places[i];
		const struct refusal *refusal = &place->refusal;

		if (place->state != PLACE_FREE && same_call(refusal->call, event->call) &&
			refusal->error == event->error && refusal->cgroup_id == event->cgroup_id &&
			!strncmp(refusal->comm, event->comm, EV_COMM_LEN) &&
			event->hdr.time_ns <= place->closes_ns)
			return place;
	}
	return NULL;
}

static struct place *take(struct refusals *refusals)
{
	for (unsigned int i = 0; i < REFUSALS; i++)
		if (refusals->places[i].state == PLACE_FREE)
			return &refusals->places[i];
	return NULL;
}

static struct told *find_told(struct refusals *refusals, const struct refusal *refusal)
{
	for (unsigned int i = 0; i < TOLD; i++) {
		struct told *told = &refusals->told[i];

		if (told->time_ns && same_call(told->call, refusal->call) &&
			told->error == refusal->error && told->cgroup_id == refusal->cgroup_id &&
			!strcmp(told->comm, refusal->comm))
			return told;
	}
	return NULL;
}

/* --- one record --- */

static void put_path(struct cgroups *cgroups, uint64_t id, char ret[CGROUP_PATH_LEN])
{
	const char *path = id ? cgroup_path(cgroups, id) : NULL;

	if (path)
		snprintf(ret, CGROUP_PATH_LEN, "%s", path);
}

static void put_names(struct refusals *refusals, struct refusal *refusal)
{
	const struct process *process =
		process_find(refusals->processes, refusal->tgid, refusal->start_ns);

	if (process) {
		memcpy(refusal->cmdline, process->cmdline, sizeof(process->cmdline));
		memcpy(refusal->exe, process->exe, sizeof(process->exe));
	}
	put_path(refusals->cgroups, refusal->cgroup_id, refusal->cgroup);
	if (refusal->flags & EV_REFUSAL_LIMIT)
		put_path(refusals->cgroups, refusal->limit_id, refusal->limit_cgroup);
	if (refusal->flags & EV_REFUSAL_PIDS)
		put_path(refusals->cgroups, refusal->pids_id, refusal->pids_cgroup);
}

static void fill(struct refusal *refusal, const struct ev_refusal *event)
{
	*refusal = (struct refusal) {
		.call = event->call,
		.error = event->error,
		.flags = event->flags,
		.time_ns = event->hdr.time_ns,
		.asked_bytes = event->asked_bytes,
		.detail = event->detail,
		.tgid = event->tgid,
		.tid = event->tid,
		.ppid = event->ppid,
		.uid = event->uid,
		.ns_tgid = event->ns_tgid,
		.map_count = event->map_count,
		.start_ns = event->start_ns,
		.cgroup_id = event->cgroup_id,
		.total_vm_pages = event->total_vm_pages,
		.data_vm_pages = event->data_vm_pages,
		.brk_bytes = event->brk_bytes,
		.task_size = event->task_size,
		.limit_as_bytes = event->limit_as_bytes,
		.limit_data_bytes = event->limit_data_bytes,
		.limit_nproc = event->limit_nproc,
		.user_processes = event->user_processes,
		.pids_id = event->pids_id,
		.pids_count = event->pids_count,
		.pids_max = event->pids_max,
		.pids_level = event->pids_level,
		.limit_id = event->limit_id,
		.limit_usage_pages = event->limit_usage_pages,
		.limit_max_pages = event->limit_max_pages,
	};
	memset(&refusal->host, 0xff, sizeof(refusal->host));
	memset(&refusal->allowance, 0xff, sizeof(refusal->allowance));
	memcpy(refusal->rss_pages, event->rss_pages, sizeof(refusal->rss_pages));
	memcpy(refusal->pids_name, event->pids_name, strnlen(event->pids_name, EV_NAME_LEN));
	fact_comm(event->comm, refusal->comm);
}

static void begin(struct refusals *refusals, struct place *place, const struct ev_refusal *event)
{
	struct told *told;

	memset(place, 0, sizeof(*place));
	place->state = PLACE_FRESH;
	fill(&place->refusal, event);
	place->refusal.number = ++refusals->last_number;
	put_names(refusals, &place->refusal);
	place->closes_ns = event->hdr.time_ns + REFUSAL_MOST_NS;
	told = find_told(refusals, &place->refusal);
	if (!told)
		return;
	if (event->hdr.time_ns > told->time_ns + 2 * REFUSAL_AGAIN_NS) {
		told->time_ns = 0;
		return;
	}
	if (event->hdr.time_ns < told->time_ns + REFUSAL_AGAIN_NS &&
		(told->records >= TOLD_AT_ONCE || told->tgid == event->tgid)) {
		place->held = true;
		place->closes_ns = told->time_ns + REFUSAL_AGAIN_NS;
	}
	place->refusal.before = told->count;
}

/* Of an allocator's calls the one that asks for what the program wants: brk may fail for another
 * reason, and be of no consequence. */
static void prefer(struct place *place, const struct ev_refusal *event)
{
	struct refusal *refusal = &place->refusal;

	if (refusal->call != EV_CALL_BRK || event->call == EV_CALL_BRK)
		return;
	refusal->call = event->call;
	refusal->asked_bytes = event->asked_bytes;
	refusal->detail = event->detail;
	refusal->tid = event->tid;
}

static struct burst *find_burst(struct place *place, const struct ev_refusal *event)
{
	for (unsigned int i = 0; i < place->burst_count; i++)
		if (place->bursts[i].tgid == event->tgid && place->bursts[i].call == event->call &&
			place->bursts[i].began_ns == event->burst_ns)
			return &place->bursts[i];
	return NULL;
}

static bool knows_process(const struct place *place, uint32_t tgid)
{
	for (unsigned int i = 0; i < place->burst_count; i++)
		if (place->bursts[i].tgid == tgid)
			return true;
	return false;
}

static void add(struct place *place, const struct ev_refusal *event)
{
	struct burst *burst = find_burst(place, event);

	place->refusal.last_ns = event->hdr.time_ns;
	place->moved_ns = event->hdr.time_ns;
	if (event->tgid == place->refusal.tgid)
		prefer(place, event);
	if (!burst && place->burst_count < BURSTS) {
		place->refusal.processes += !knows_process(place, event->tgid);
		burst = &place->bursts[place->burst_count++];
		*burst = (struct burst) {
			.tgid = event->tgid, .call = event->call, .began_ns = event->burst_ns};
	}
	if (burst) {
		if (event->count > burst->count)
			burst->count = event->count;
		burst->moved_ns = event->hdr.time_ns;
		return;
	}
	place->refusal.count_is_least = true;
	place->refusal.processes += event->count == 1;
	place->counted++;
}

void refusals_fact(struct refusals *refusals, const struct fact *fact)
{
	struct place *place;

	if (fact->kind != EV_REFUSAL)
		return;
	place = find(refusals, &fact->refusal);
	if (!place) {
		place = take(refusals);
		if (!place) {
			refusals->lost++;
			return;
		}
		begin(refusals, place, &fact->refusal);
	}
	add(place, &fact->refusal);
}

/* --- what becomes of them --- */

struct refusal *refusals_next_fresh(struct refusals *refusals)
{
	for (unsigned int i = 0; i < REFUSALS; i++) {
		if (refusals->places[i].state != PLACE_FRESH)
			continue;
		refusals->places[i].state = PLACE_OPEN;
		return &refusals->places[i].refusal;
	}
	return NULL;
}

/* The kernel side counts what it does not tell. */
static void recount_burst(
	struct refusals *refusals, struct place *place, struct burst *burst, uint64_t now_ns)
{
	uint32_t counted;

	if (burst->ended)
		return;
	counted =
		refusals->counter(burst->tgid, place->refusal.call, burst->began_ns, refusals->arg);
	if (counted > burst->count) {
		burst->count = counted;
		burst->moved_ns = now_ns;
		place->moved_ns = now_ns;
	}
	if (counted)
		return;
	burst->ended = true;
	/* It was not over when another process took its place: how far it went is not known. */
	if (now_ns < burst->moved_ns + REFUSAL_GAP_NS)
		place->refusal.count_is_least = true;
}

static void recount(struct refusals *refusals, struct place *place, uint64_t now_ns)
{
	place->refusal.count = place->counted;
	for (unsigned int i = 0; i < place->burst_count; i++) {
		recount_burst(refusals, place, &place->bursts[i], now_ns);
		place->refusal.count += place->bursts[i].count;
	}
}

static bool is_closed(struct refusals *refusals, struct place *place, uint64_t now_ns)
{
	recount(refusals, place, now_ns == UINT64_MAX ? place->moved_ns : now_ns);
	if (now_ns >= place->closes_ns)
		return true;
	return !place->held && now_ns > place->moved_ns + REFUSAL_GAP_NS;
}

struct refusal *refusals_next_closed(struct refusals *refusals, uint64_t now_ns)
{
	struct place *oldest = NULL;

	for (unsigned int i = 0; i < REFUSALS; i++) {
		struct place *place = &refusals->places[i];

		if (place->state == PLACE_FREE || !is_closed(refusals, place, now_ns))
			continue;
		if (!oldest || place->refusal.number < oldest->refusal.number)
			oldest = place;
	}
	return oldest ? &oldest->refusal : NULL;
}

static void remember(struct refusals *refusals, const struct refusal *refusal, uint64_t now_ns)
{
	struct told *told = find_told(refusals, refusal);
	unsigned int records = told ? told->records : 0;

	if (!told)
		told = &refusals->told[refusals->told_next++ % TOLD];
	*told = (struct told) {
		.time_ns = now_ns,
		.count = refusal->before + refusal->count,
		.records = records + 1,
		.tgid = refusal->tgid,
		.cgroup_id = refusal->cgroup_id,
		.call = refusal->call,
		.error = refusal->error,
	};
	memcpy(told->comm, refusal->comm, sizeof(told->comm));
}

void refusals_release(
	struct refusals *refusals, struct refusal *refusal, uint64_t now_ns, bool told)
{
	if (told)
		remember(refusals, refusal, now_ns);
	for (unsigned int i = 0; i < REFUSALS; i++)
		if (&refusals->places[i].refusal == refusal)
			refusals->places[i].state = PLACE_FREE;
}

uint64_t refusals_deadline(const struct refusals *refusals, uint64_t now_ns)
{
	uint64_t ret = UINT64_MAX;

	for (unsigned int i = 0; i < REFUSALS; i++) {
		const struct place *place = &refusals->places[i];
		uint64_t at = place->closes_ns;

		if (place->state == PLACE_FREE)
			continue;
		if (!place->held && now_ns + REFUSAL_GAP_NS < at)
			at = now_ns + REFUSAL_GAP_NS;
		if (at < ret)
			ret = at;
	}
	return ret;
}

uint64_t refusals_lost(const struct refusals *refusals)
{
	return refusals->lost;
}
