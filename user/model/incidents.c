// SPDX-License-Identifier: Apache-2.0
#include "model/incidents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "model/assemble.h"

#define POOL_RESERVE 8

struct slot {
	bool used;
	bool handed_fresh; /* given out by incidents_next_fresh() */
	uint64_t first_ns;
	uint64_t last_mark_ns;
	uint64_t last_exit_ns;
	uint64_t last_freed_ns;
	uint64_t last_ns; /* of any record */
	struct incident incident;
};

/*
 * What may come before the mark that it belongs to: the kernel signals a victim, then marks it,
 * then prints its line, and a victim that runs on another CPU may be gone by then.
 */
#define RECENT_EXITS 64
#define RECENT_LINES 64
#define RECENT_REPORTS 32
/* The kernel prints the line right behind the mark, the report right before it, however long its
 * console takes; more is the time for which this program may not have run. */
#define LINE_AGE_NS 30000000000ULL
#define LINE_EARLY_NS 1000000000ULL

struct recent_line {
	uint64_t read_ns;
	struct kmsg_kill line; /* pid 0: taken */
};

struct recent_report {
	uint64_t read_ns;
	struct joined_report report; /* pid 0: taken */
};

struct incidents {
	struct incidents_options options;
	struct ev_exit exits[RECENT_EXITS];
	unsigned int exit_next;
	struct recent_line lines[RECENT_LINES];
	unsigned int line_next;
	struct recent_report reports[RECENT_REPORTS];
	unsigned int report_next;
	struct processes *processes;
	struct cgroups *cgroups;
	struct incidents_totals totals;
	uint32_t
		last_number; /* the highest seen: a fact of one below it that is not open is late */
	unsigned int
		used; /* slots; with none, as at most times, nothing needs to be looked through */
	unsigned int pool; /* slots there are */
	struct slot *slots;
};

/* More than are held back for the next ones, or each would be told as soon as it begins. */
_Static_assert(INCIDENT_POOL_MIN > POOL_RESERVE, "room for what is open");

size_t incidents_bytes(unsigned int pool)
{
	return sizeof(struct incidents) + (pool ? pool : INCIDENT_POOL) * sizeof(struct slot);
}

struct incidents *incidents_new(const struct incidents_options *options,
	struct processes *processes, struct cgroups *cgroups)
{
	struct incidents *incidents = calloc(1, sizeof(*incidents));

	if (!incidents)
		return NULL;
	incidents->options = *options;
	if (!incidents->options.settle_ns)
		incidents->options.settle_ns = SETTLE_NS;
	incidents->pool = options->pool ? options->pool : INCIDENT_POOL;
	incidents->processes = processes;
	incidents->cgroups = cgroups;
	/* Mapped, not allocated: pages that no incident has used cost nothing. */
	incidents->slots = mmap(NULL, incidents->pool * sizeof(*incidents->slots),
		PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (incidents->slots == MAP_FAILED) {
		free(incidents);
		return NULL;
	}
	return incidents;
}

void incidents_free(struct incidents *incidents)
{
	if (!incidents)
		return;
	munmap(incidents->slots, incidents->pool * sizeof(*incidents->slots));
	free(incidents);
}

static struct slot *slot_find(struct incidents *incidents, uint32_t number)
{
	for (unsigned int i = 0; incidents->used && i < incidents->pool; i++) {
		struct slot *slot = &incidents->slots[i];

		if (slot->used && slot->incident.number == number &&
			slot->incident.closed == CLOSED_NOT)
			return slot;
	}
	return NULL;
}

static bool slot_has_victim(const struct slot *slot)
{
	return slot->incident.victim_count || slot->incident.chosen.tgid;
}

static void slot_close(const struct incidents *incidents, struct slot *slot,
	enum incident_closed how, uint64_t now_ns)
{
	incident_adopt_chosen(&slot->incident, incidents->processes);
	incident_paths_settle(&slot->incident, incidents->cgroups);
	slot->incident.closed = how;
	slot->incident.closed_ns = now_ns;
}

static void slot_clear(struct incidents *incidents, struct slot *slot)
{
	incidents->used -= slot->used;
	incident_reset(&slot->incident);
	slot->used = false;
	slot->handed_fresh = false;
	slot->first_ns = slot->last_mark_ns = slot->last_exit_ns = 0;
	slot->last_freed_ns = slot->last_ns = 0;
}

/*
 * The pool runs low: the oldest incident is told as it stands, so that there is room when the next
 * one begins. Closed ones are on their way out already.
 */
static void slots_make_room(struct incidents *incidents, uint64_t now_ns)
{
	struct slot *oldest = NULL;
	int free_slots = 0;

	for (unsigned int i = 0; incidents->used && i < incidents->pool; i++) {
		struct slot *slot = &incidents->slots[i];

		if (!slot->used || slot->incident.closed != CLOSED_NOT)
			free_slots++;
		else if (!oldest || slot->first_ns < oldest->first_ns)
			oldest = slot;
	}
	if (free_slots >= POOL_RESERVE || !oldest)
		return;
	incidents->totals.evicted++;
	if (slot_has_victim(oldest))
		slot_close(incidents, oldest, CLOSED_EVICTED, now_ns);
	else
		slot_clear(incidents, oldest);
}

static struct slot *slot_take(struct incidents *incidents, const struct ev_hdr *hdr)
{
	struct slot *slot = NULL;

	for (unsigned int i = 0; i < incidents->pool && !slot; i++)
		if (!incidents->slots[i].used)
			slot = &incidents->slots[i];
	if (!slot)
		return NULL;
	slot_clear(incidents, slot);
	slot->used = true;
	incidents->used++;
	slot->first_ns = hdr->time_ns;
	slot->incident.number = hdr->incident;
	slot->incident.cpu = hdr->cpu;
	slot->incident.time_ns = hdr->time_ns;
	incidents->totals.opened++;
	slots_make_room(incidents, hdr->time_ns);
	return slot;
}

static struct slot *slot_get(struct incidents *incidents, const struct ev_hdr *hdr)
{
	struct slot *slot;

	if (!hdr->incident)
		return NULL;
	slot = slot_find(incidents, hdr->incident);
	/* Numbers only rise: what comes late for one that was told must not open it again. */
	if (!slot && hdr->incident > incidents->last_number) {
		incidents->last_number = hdr->incident;
		slot = slot_take(incidents, hdr);
		if (!slot)
			incidents->totals.evicted++;
	}
	if (slot)
		slot->last_ns = hdr->time_ns;
	return slot;
}

/* The mark, then the line, then it was read. */
static bool line_fits(uint64_t read_ns, uint64_t mark_ns)
{
	return mark_ns <= read_ns + LINE_EARLY_NS && read_ns <= mark_ns + LINE_AGE_NS;
}

/* The report, then the mark; it may be read at any time. */
static bool report_fits(uint64_t read_ns, uint64_t mark_ns)
{
	return mark_ns <= read_ns + LINE_AGE_NS && read_ns <= mark_ns + LINE_AGE_NS;
}

static void recent_apply(
	struct incidents *incidents, struct slot *slot, const struct victim *victim)
{
	for (unsigned int i = 0; i < RECENT_EXITS; i++) {
		const struct ev_exit *exit = &incidents->exits[i];

		if (exit->tgid == victim->task.tgid && exit->start_ns == victim->task.start_ns &&
			incident_exit(&slot->incident, exit))
			slot->last_exit_ns = exit->hdr.time_ns;
	}
	for (unsigned int i = 0; i < RECENT_LINES; i++) {
		struct recent_line *recent = &incidents->lines[i];

		if (recent->line.pid && !strcmp(recent->line.comm, victim->task.comm) &&
			line_fits(recent->read_ns, victim->killed_ns) &&
			incident_kmsg(
				&slot->incident, &recent->line, incidents->options.host->page_size))
			recent->line.pid = 0;
	}
	for (unsigned int i = 0; i < RECENT_REPORTS; i++) {
		struct recent_report *recent = &incidents->reports[i];

		if (recent->report.pid && !strcmp(recent->report.comm, victim->task.comm) &&
			report_fits(recent->read_ns, victim->killed_ns) &&
			incident_join(&slot->incident, &recent->report, incidents->options.host))
			recent->report.pid = 0;
	}
}

static void fact_task(struct incidents *incidents, struct slot *slot, const struct ev_task *event)
{
	struct incident *incident = &slot->incident;
	struct victim *victim;

	switch (event->role) {
	case EV_ROLE_CANDIDATE:
		incident_candidate(incident, event, incidents->processes, incidents->cgroups,
			&incidents->options);
		return;
	case EV_ROLE_CHOSEN:
		task_facts_set(&incident->chosen, event);
		incident->time_ns = event->hdr.time_ns;
		return;
	case EV_ROLE_VICTIM:
	case EV_ROLE_SIGNALLED:
		victim = incident_victim(
			incident, event, incidents->processes, incidents->options.signal_hook);
		if (!victim)
			incidents->totals.victims_dropped++;
		else
			recent_apply(incidents, slot, victim);
		slot->last_mark_ns = event->hdr.time_ns;
		return;
	default:
		return;
	}
}

/* A scan that ended since an earlier victim is still dying belongs to that one's incident: the
 * latest that is open at this limit. */
static void scan_aborted(
	struct incidents *incidents, const struct slot *slot, const struct ev_end *event)
{
	struct slot *latest = NULL;

	for (unsigned int i = 0; incidents->used && i < incidents->pool; i++) {
		struct slot *other = &incidents->slots[i];

		if (other == slot || !other->used || other->incident.closed != CLOSED_NOT ||
			!slot_has_victim(other) || !other->incident.has_oc ||
			other->incident.oc_limit_id != event->limit_cgroup_id)
			continue;
		if (!latest || other->first_ns > latest->first_ns)
			latest = other;
	}
	if (latest)
		latest->incident.aborted_scans++;
}

/* out_of_memory() returned. */
static void fact_end(struct incidents *incidents, struct slot *slot, const struct ev_end *event)
{
	struct incident *incident = &slot->incident;

	incident->complete = true;
	if (event->choice == EV_END_ABORTED)
		scan_aborted(incidents, slot, event);
	if (slot_has_victim(slot)) {
		incident_adopt_chosen(incident, incidents->processes);
		/* It may have been gone before it was known to matter. */
		if (incident->victim_count == 1)
			recent_apply(incidents, slot, &incident->victims[0]);
		return;
	}
	if (event->choice == EV_END_NONE && incident->has_trigger) {
		incident->outcome = OUTCOME_NO_KILLABLE;
		incident->repeated_no_kill = event->suppressed;
		slot_close(incidents, slot, CLOSED_AT_ONCE, event->hdr.time_ns);
		return;
	}
	slot_clear(incidents, slot);
}

static void fact_exit(struct incidents *incidents, const struct ev_exit *event)
{
	incidents->exits[incidents->exit_next++ % RECENT_EXITS] = *event;
	for (unsigned int i = 0; incidents->used && i < incidents->pool; i++) {
		struct slot *slot = &incidents->slots[i];

		if (slot->used && slot->incident.closed == CLOSED_NOT &&
			incident_exit(&slot->incident, event))
			slot->last_exit_ns = event->hdr.time_ns;
	}
}

static void fact_reap(struct incidents *incidents, const struct ev_reap *event)
{
	if (event->stage != EV_REAP_FINISH)
		return;
	for (unsigned int i = 0; incidents->used && i < incidents->pool; i++) {
		struct slot *slot = &incidents->slots[i];

		if (slot->used && slot->incident.closed == CLOSED_NOT)
			incident_reap(&slot->incident, event->tid);
	}
}

static bool all_exited(const struct incident *incident)
{
	for (unsigned int i = 0; i < incident->victim_count; i++)
		if (!incident->victims[i].exited)
			return false;
	return incident->victim_count > 0;
}

static bool all_freed(const struct incident *incident)
{
	for (unsigned int i = 0; i < incident->victim_count; i++)
		if (!incident->victims[i].mm_freed && incident->victims[i].task.mm)
			return false;
	return true;
}

static bool all_gone_or_reaped(const struct incident *incident)
{
	for (unsigned int i = 0; i < incident->victim_count; i++)
		if (!incident->victims[i].exited && !incident->victims[i].reaped)
			return false;
	return true;
}

/* Has the kernel finished with this invocation? Where nothing tells, more victims of a group may
 * come for a while: until then it has not. */
static uint64_t complete_ns(const struct incidents *incidents, const struct slot *slot)
{
	if (incidents->options.scope_hook)
		return slot->incident.complete ? 0 : UINT64_MAX;
	if (!(slot->incident.trigger_flags & EV_CONTEXT_GROUP))
		return 0;
	return slot->last_mark_ns + GROUP_SETTLE_NS;
}

/*
 * An exit may have been passed over: a kernel that can interrupt a tracing program does not run it
 * a second time on that CPU meanwhile. That the memory was given back shows that the process is at
 * its end.
 */
static bool all_exited_or_freed(const struct incident *incident)
{
	for (unsigned int i = 0; i < incident->victim_count; i++)
		if (!incident->victims[i].exited && !incident->victims[i].mm_freed)
			return false;
	return incident->victim_count > 0;
}

/* When all that was waited for is there, or nobody waits for it any longer. */
static uint64_t exited_ns(const struct incidents *incidents, const struct slot *slot)
{
	uint64_t complete = complete_ns(incidents, slot), freed = 0;

	if (!all_exited_or_freed(&slot->incident))
		return UINT64_MAX;
	if (!all_exited(&slot->incident))
		freed = slot->last_freed_ns + FREED_SETTLE_NS;
	else if (incidents->options.freed_hook && !all_freed(&slot->incident))
		freed = slot->last_exit_ns + FREED_SETTLE_NS;
	/* A victim on another CPU may be gone before the kernel has printed its line. */
	if (incidents->options.kmsg && !slot->incident.kmsg_line.pid &&
		freed < slot->last_exit_ns + LINE_SETTLE_NS)
		freed = slot->last_exit_ns + LINE_SETTLE_NS;
	return complete > freed ? complete : freed;
}

static uint64_t settled_ns(const struct incidents *incidents, const struct slot *slot)
{
	uint64_t since = slot->last_mark_ns ? slot->last_mark_ns : slot->last_ns;

	return since + incidents->options.settle_ns;
}

static void slot_check(struct incidents *incidents, struct slot *slot, uint64_t now_ns)
{
	struct incident *incident = &slot->incident;

	if (now_ns >= exited_ns(incidents, slot)) {
		slot_close(incidents, slot, CLOSED_EXITED, now_ns);
		return;
	}
	if (now_ns < settled_ns(incidents, slot))
		return;
	if (!slot_has_victim(slot))
		slot_clear(incidents, slot); /* candidates of a scan whose end never came */
	else if (all_exited_or_freed(incident))
		slot_close(incidents, slot, CLOSED_EXITED, now_ns);
	else if (incident->victim_count && all_gone_or_reaped(incident))
		slot_close(incidents, slot, CLOSED_REAPED, now_ns);
	else
		slot_close(incidents, slot, CLOSED_TIMEOUT, now_ns);
}

void incidents_tick(struct incidents *incidents, uint64_t now_ns)
{
	for (unsigned int i = 0; incidents->used && i < incidents->pool; i++) {
		struct slot *slot = &incidents->slots[i];

		if (slot->used && slot->incident.closed == CLOSED_NOT)
			slot_check(incidents, slot, now_ns);
	}
}

uint64_t incidents_deadline(const struct incidents *incidents)
{
	uint64_t deadline = UINT64_MAX;

	for (unsigned int i = 0; incidents->used && i < incidents->pool; i++) {
		const struct slot *slot = &incidents->slots[i];
		uint64_t at, exited;

		if (!slot->used || slot->incident.closed != CLOSED_NOT)
			continue;
		at = settled_ns(incidents, slot);
		exited = exited_ns(incidents, slot);
		if (exited < at)
			at = exited;
		if (at < deadline)
			deadline = at;
	}
	return deadline;
}

void incidents_fact(struct incidents *incidents, const struct fact *fact)
{
	struct slot *slot;

	switch (fact->kind) {
	case EV_EXIT:
		fact_exit(incidents, &fact->exit);
		return;
	case EV_REAP:
		fact_reap(incidents, &fact->reap);
		return;
	case EV_MM_FREED:
		slot = slot_find(incidents, fact->hdr.incident);
		if (slot) {
			incident_freed(&slot->incident, &fact->mm_freed);
			slot->last_freed_ns = fact->hdr.time_ns;
		} else {
			incidents->totals.orphans++;
		}
		return;
	case EV_KILL_COUNT:
		slot = slot_find(incidents, fact->hdr.incident);
		if (slot)
			incident_count(&slot->incident, &fact->kill_count);
		return;
	case EV_CONTEXT:
	case EV_TASK:
	case EV_LEVEL:
	case EV_END:
		break;
	default:
		return;
	}
	slot = slot_get(incidents, &fact->hdr);
	if (!slot) {
		incidents->totals.orphans++;
		return;
	}
	if (fact->kind == EV_CONTEXT)
		incident_context(&slot->incident, &fact->context, incidents->processes);
	else if (fact->kind == EV_LEVEL)
		incident_level(&slot->incident, &fact->level, fact->text, incidents->cgroups);
	else if (fact->kind == EV_END)
		fact_end(incidents, slot, &fact->end);
	else
		fact_task(incidents, slot, &fact->task);
}

void incident_census(
	struct incidents *incidents, struct incident *incident, const struct fact *fact)
{
	if (fact->kind != EV_TASK || fact->task.role != EV_ROLE_CENSUS)
		return;
	incident->candidates_from_census = true;
	incident->census_ns = fact->hdr.time_ns;
	incident_candidate(incident, &fact->task, incidents->processes, incidents->cgroups,
		&incidents->options);
}

void incident_census_done(struct incidents *incidents, struct incident *incident)
{
	incident_victims_complete(incident);
	for (unsigned int i = 0; i < incident->victim_count; i++)
		incident_candidate_add(incident, &incident->victims[i].task, incidents->processes,
			incidents->cgroups, &incidents->options);
}

void incidents_kmsg(struct incidents *incidents, const struct kmsg_kill *line, uint64_t read_ns)
{
	for (unsigned int i = 0; incidents->used && i < incidents->pool; i++) {
		struct slot *slot = &incidents->slots[i];

		if (slot->used &&
			incident_kmsg(&slot->incident, line, incidents->options.host->page_size))
			return;
	}
	incidents->lines[incidents->line_next++ % RECENT_LINES] =
		(struct recent_line) {read_ns, *line};
}

void incidents_report(
	struct incidents *incidents, const struct joined_report *report, uint64_t read_ns)
{
	struct recent_report *recent;

	for (unsigned int i = 0; incidents->used && i < incidents->pool; i++) {
		struct slot *slot = &incidents->slots[i];

		if (slot->used && incident_join(&slot->incident, report, incidents->options.host))
			return;
	}
	/* Behind the choice comes the line of the kill, with the same report. */
	for (unsigned int i = 0; i < RECENT_REPORTS; i++)
		if (incidents->reports[i].report.pid == report->pid &&
			report_fits(incidents->reports[i].read_ns, read_ns)) {
			incidents->reports[i].report = *report;
			return;
		}
	recent = &incidents->reports[incidents->report_next++ % RECENT_REPORTS];
	recent->read_ns = read_ns;
	recent->report = *report;
}

bool incidents_await_kmsg(const struct incidents *incidents)
{
	for (unsigned int i = 0; incidents->used && i < incidents->pool; i++)
		if (incidents->slots[i].used)
			return true;
	return false;
}

struct incident *incidents_next_fresh(struct incidents *incidents)
{
	for (unsigned int i = 0; incidents->used && i < incidents->pool; i++) {
		struct slot *slot = &incidents->slots[i];

		if (!slot->used || slot->handed_fresh)
			continue;
		if (!slot_has_victim(slot) && slot->incident.outcome != OUTCOME_NO_KILLABLE)
			continue;
		slot->handed_fresh = true;
		incident_paths_settle(&slot->incident, incidents->cgroups);
		return &slot->incident;
	}
	return NULL;
}

struct incident *incidents_next_closed(struct incidents *incidents)
{
	struct slot *first = NULL;

	for (unsigned int i = 0; incidents->used && i < incidents->pool; i++) {
		struct slot *slot = &incidents->slots[i];

		if (slot->used && slot->incident.closed != CLOSED_NOT &&
			(!first || slot->first_ns < first->first_ns))
			first = slot;
	}
	return first ? &first->incident : NULL;
}

void incidents_release(struct incidents *incidents, struct incident *incident)
{
	for (unsigned int i = 0; incidents->used && i < incidents->pool; i++)
		if (&incidents->slots[i].incident == incident)
			slot_clear(incidents, &incidents->slots[i]);
}

void incidents_stop(struct incidents *incidents, uint64_t now_ns)
{
	for (unsigned int i = 0; incidents->used && i < incidents->pool; i++) {
		struct slot *slot = &incidents->slots[i];

		if (!slot->used || slot->incident.closed != CLOSED_NOT)
			continue;
		if (slot_has_victim(slot))
			slot_close(incidents, slot, CLOSED_STOPPED, now_ns);
		else
			slot_clear(incidents, slot);
	}
}

struct incidents_totals incidents_totals(const struct incidents *incidents)
{
	return incidents->totals;
}
