// SPDX-License-Identifier: Apache-2.0
/* Verdicts on the minutes before: who grew, how, and what RSS does not show. */
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "judge/verdict_rules.h"

/* Of the growth: so much by copying is told, since no list of processes shows it. */
#define COPIES_SHARE 3
#define REST_SHARE 8 /* of the growth: what may be left over where the parts add up */

/* Of what a family holds: with less of it private, it is one process's memory that others share. */
#define PRIVATE_SHARE 4

static uint64_t sum(uint64_t a, uint64_t b)
{
	uint64_t ret;

	return __builtin_add_overflow(known_bytes(a), known_bytes(b), &ret) ? UINT64_MAX - 1 : ret;
}

/* "58.7 s", in one of two places that take turns. */
static const char *duration_text(uint64_t ns)
{
	static char texts[2][32];
	static unsigned int turn;
	char *text = texts[turn++ % 2];
	struct buf buf;

	buf_init(&buf, text, sizeof(texts[0]));
	units_duration_ns(&buf, ns);
	return text;
}

static uint64_t window_ns(const struct growth_picture *picture)
{
	return less_bytes(picture->to_ns, picture->from_ns);
}

/* Of the domain at the end; 0: not known. */
static uint64_t usage_bytes(const struct scene *scene)
{
	const struct growth_picture *picture = &scene->incident->growth;
	uint32_t page_size = scene->host->page_size;

	if (picture->domain_known && picture->point_count &&
		picture->point_count <= PICTURE_POINTS &&
		picture->points[picture->point_count - 1] != UNKNOWN_U64)
		return picture->points[picture->point_count - 1];
	if (scene->limit && scene->limit->usage_pages < UINT64_MAX / page_size)
		return scene->limit->usage_pages * page_size;
	return 0;
}

/* --- fork families --- */

struct holder {
	const char *comm;
	uint32_t tgid;
	uint64_t bytes;
};

/* What a process holds beyond what its family shares, where it is seen to belong to it. */
static void hold(struct holder *most, const struct picture_family *family, const char *comm,
	uint32_t tgid, uint32_t ppid, uint64_t bytes)
{
	if (tgid == family->root_tgid || ppid == family->root_tgid)
		bytes = less_bytes(bytes, known_bytes(family->shared_bytes));
	if (bytes > most->bytes)
		*most = (struct holder) {comm, tgid, bytes};
}

/* The process that holds most by itself: of those that grew, and of those that were weighed. */
static struct holder largest_single(const struct scene *scene, const struct picture_family *family)
{
	const struct incident *incident = scene->incident;
	const struct growth_picture *picture = &incident->growth;
	struct holder ret = {0};

	for (unsigned int i = 0; i < picture->process_count && i < PICTURE_PROCESSES; i++) {
		const struct picture_process *process = &picture->processes[i];

		if (!process->exited)
			hold(&ret, family, process->comm, process->tgid, process->ppid,
				known_bytes(process->held_bytes));
	}
	for (unsigned int i = 0; i < scene->ret->ranked_count; i++) {
		const struct ranked *ranked = &scene->ret->ranked[i];
		const struct task_facts *task = &incident->candidates[ranked->index].task;

		hold(&ret, family, task->comm, task->tgid, task->ppid,
			held_bytes(scene, &ranked->badness));
	}
	return ret;
}

static uint64_t family_bytes(const struct picture_family *family)
{
	return sum(family->private_bytes, family->shared_bytes);
}

/* No more were weighed below the limit than are of the family, and most of what is in use is
 * processes' own memory: then it is theirs, however often a page was counted. */
static bool has_it_to_itself(const struct scene *scene, const struct picture_family *family)
{
	const struct incident *incident = scene->incident;

	return scene->limit && incident->candidate_total > 1 &&
	       incident->candidate_total <= family->members &&
	       incident->stat.anon_bytes != UNKNOWN_U64 &&
	       is_most(incident->stat.anon_bytes, usage_bytes(scene));
}

/* The family that holds most of what is in use, where it takes all of them together. A sum well
 * above the usage counts pages more than once, and proves nothing by itself. */
static const struct picture_family *family_that_holds(const struct scene *scene)
{
	const struct growth_picture *picture = &scene->incident->growth;
	const struct picture_family *found = NULL;
	uint64_t usage = usage_bytes(scene);

	if (!usage)
		return NULL;
	for (unsigned int i = 0; i < picture->family_count && i < PICTURE_FAMILIES; i++) {
		const struct picture_family *family = &picture->families[i];
		uint64_t bytes = family_bytes(family);

		if (family->members < 2 || !is_most(bytes, usage) ||
			(less_bytes(bytes, usage) > usage / 8 &&
				!has_it_to_itself(scene, family)) ||
			known_bytes(family->private_bytes) < bytes / PRIVATE_SHARE ||
			is_most(largest_single(scene, family).bytes, usage))
			continue;
		if (!found || bytes > family_bytes(found))
			found = family;
	}
	return found;
}

static void evidence_of_family(
	const struct scene *scene, struct verdict *verdict, const struct picture_family *family)
{
	struct holder most = largest_single(scene, family);
	uint64_t usage = usage_bytes(scene);
	/* What is private of it are copies, too. */
	const char *at_most = family->cow_upper_bound ? "at most " : "";

	verdict_evidence(verdict, "private %s%s, shared %s (counted once)", at_most,
		size_text(family->private_bytes), size_text(family->shared_bytes));
	if (usage)
		verdict_evidence(verdict, "in use at the end: %s", size_text(usage));
	verdict_evidence(verdict, "members alive: %u, ended within the window: %u%s",
		family->members, family->exited,
		has_it_to_itself(scene, family) ? "; nobody else was weighed" : "");
	verdict_evidence(verdict, "in %s: grew by %s, and copied %s%s",
		duration_text(window_ns(&scene->incident->growth)),
		size_text(growth_part(family->delta_bytes, 0)), at_most,
		size_text(family->cow_bytes));
	if (most.bytes)
		verdict_evidence(verdict, "the largest single process: %s[%u], %s of its own",
			most.comm, most.tgid, size_text(most.bytes));
}

/* Growth and copies of all processes together are what the usage shows: nothing of weight was
 * counted that is not there. */
static bool adds_up(const struct growth_picture *picture)
{
	int64_t growth = picture->domain_delta_bytes, rest = picture->unattributed_bytes;

	return picture->domain_known && growth > 0 && rest <= growth / REST_SHARE &&
	       rest >= -(growth / REST_SHARE);
}

/* An upper bound of the copies may be what makes it most. */
static enum confidence confidence_without(const struct growth_picture *picture, uint64_t part,
	uint64_t cow_bytes, bool upper_bound, uint64_t whole)
{
	if (upper_bound && !adds_up(picture) &&
		!is_most(less_bytes(part, known_bytes(cow_bytes)), whole))
		return CONFIDENCE_POSSIBLE;
	return CONFIDENCE_LIKELY;
}

bool rule_family_holds(const struct scene *scene, struct verdict *verdict)
{
	const struct picture_family *family = family_that_holds(scene);
	uint64_t usage = usage_bytes(scene), bytes;

	if (!family)
		return false;
	bytes = family_bytes(family);
	verdict->confidence = has_it_to_itself(scene, family)
				      ? CONFIDENCE_LIKELY
				      : confidence_without(&scene->incident->growth, bytes,
						family->cow_bytes, family->cow_upper_bound, usage);
	/* Pages of files may be charged elsewhere: then they seem to hold more than all. */
	verdict_claim(verdict,
		"The fork family of %s[%u], %u processes, holds %s of the %s in use; no single one of them holds most of it.",
		family->comm, family->root_tgid, family->members,
		bytes < usage ? size_text(bytes) : "about all", size_text(usage));
	evidence_of_family(scene, verdict, family);
	return true;
}

bool rule_family_grew(const struct scene *scene, struct verdict *verdict)
{
	const struct growth_share *share = &scene->ret->share;
	const struct picture_family *family;

	if (share->by != GROWTH_BY_FAMILY)
		return false;
	family = &scene->incident->growth.families[share->index];
	verdict->confidence = confidence_without(&scene->incident->growth, share->part_bytes,
		share->cow_bytes, share->cow_upper_bound, share->growth_bytes);
	verdict_claim(verdict,
		"The fork family of %s[%u], %u processes, made %s of the growth of %s; no single one of them made most of it.",
		family->comm, family->root_tgid, family->members,
		share->part_bytes < share->growth_bytes ? size_text(share->part_bytes)
							: "about all",
		size_text(share->growth_bytes));
	evidence_of_family(scene, verdict, family);
	return true;
}

/* --- copy-on-write --- */

struct copies {
	uint64_t bytes;
	bool upper_bound;
};

static void copy(struct copies *copies, uint64_t bytes, bool upper_bound)
{
	copies->bytes = sum(copies->bytes, bytes);
	copies->upper_bound |= upper_bound && known_bytes(bytes);
}

/* Both lists are cut, each in its own way: the larger sum is nearer to the truth. */
static struct copies copies_of(const struct growth_picture *picture)
{
	struct copies processes = {0}, families = {0};

	for (unsigned int i = 0; i < picture->process_count && i < PICTURE_PROCESSES; i++)
		copy(&processes, picture->processes[i].cow_bytes,
			picture->processes[i].cow_upper_bound);
	for (unsigned int i = 0; i < picture->family_count && i < PICTURE_FAMILIES; i++)
		copy(&families, picture->families[i].cow_bytes,
			picture->families[i].cow_upper_bound);
	return families.bytes > processes.bytes ? families : processes;
}

static void evidence_of_copies(
	struct verdict *verdict, const struct growth_picture *picture, const struct copies *copies)
{
	const struct picture_process *most = NULL;

	verdict_evidence(verdict, "copied %s%s in %s", copies->upper_bound ? "at most " : "",
		size_text(copies->bytes), duration_text(window_ns(picture)));
	verdict_evidence(verdict, "%s",
		copies->upper_bound
			? "bound: page faults beyond what RSS grew, and what was charged beyond it"
			: "write faults on present pages were counted, and what was charged agrees");
	for (unsigned int i = 0; i < picture->process_count && i < PICTURE_PROCESSES; i++) {
		const struct picture_process *process = &picture->processes[i];

		if (known_bytes(process->cow_bytes) &&
			(!most || process->cow_bytes > most->cow_bytes))
			most = process;
	}
	if (most)
		verdict_evidence(verdict, "most of it by %s[%u]: %s%s, RSS and swap %s by %s",
			most->comm, most->tgid, most->cow_upper_bound ? "at most " : "",
			size_text(most->cow_bytes), most->delta_bytes < 0 ? "shrank" : "grew",
			size_text(most->delta_bytes < 0 ? -(uint64_t)most->delta_bytes
							: (uint64_t)most->delta_bytes));
}

bool rule_copies(const struct scene *scene, struct verdict *verdict)
{
	const struct growth_picture *picture = &scene->incident->growth;
	uint64_t growth = scene->ret->share.growth_bytes;
	struct copies copies = copies_of(picture);

	if (!growth || !copies.bytes || copies.bytes < growth / COPIES_SHARE)
		return false;
	verdict->confidence =
		copies.upper_bound && !adds_up(picture) ? CONFIDENCE_POSSIBLE : CONFIDENCE_LIKELY;
	if (copies.upper_bound && copies.bytes >= growth)
		verdict_claim(verdict,
			"Private copies of pages that were shared by fork (copy-on-write) can account for all of the growth of %s: no RSS shows them.",
			size_text(growth));
	else
		verdict_claim(verdict,
			"%s%s of the growth of %s are private copies of pages that were shared by fork (copy-on-write): no RSS shows them.",
			copies.upper_bound ? "At most " : "",
			copies.bytes < growth ? size_text(copies.bytes) : "About all",
			size_text(growth));
	evidence_of_copies(verdict, picture, &copies);
	return true;
}

/* --- how it grew --- */

/* Where it began near the beginning of the history it may have begun before: then at least as long
 * as that. */
/* A hostile capture may hold anything. */
static uint64_t rate_bytes(const struct trend *trend)
{
	return trend->bytes_per_s >= 0 && trend->bytes_per_s < 0x1p63 ? (uint64_t)trend->bytes_per_s
								      : 0;
}

static void claim_leak(struct verdict *verdict, const struct growth_picture *picture,
	const struct trend *trend, uint64_t lasted_ns)
{
	uint64_t window = window_ns(picture);
	bool throughout = lasted_ns >= window - window / 20;

	verdict_claim(verdict, "Usage grew steadily by %s a second for %s%s, up to the end.",
		size_text(rate_bytes(trend)), throughout ? "at least " : "",
		duration_text(throughout ? window : lasted_ns));
	verdict_evidence(verdict, "a straight line explains it: r2 %.2f", trend->r2);
}

static void evidence_of_trend(const struct scene *scene, struct verdict *verdict)
{
	const struct growth_picture *picture = &scene->incident->growth;
	const struct trend *trend = &scene->ret->trend;
	uint64_t usage = usage_bytes(scene);

	verdict_evidence(verdict, "usage %s when it began, %s at the end",
		size_text(less_bytes(usage, trend->rise_bytes)), size_text(usage));
	verdict_evidence(verdict, "it began %s before the end, in a history of %s",
		duration_text(less_bytes(picture->to_ns, trend->start_ns)),
		duration_text(window_ns(picture)));
}

bool rule_spike(const struct scene *scene, struct verdict *verdict)
{
	const struct trend *trend = &scene->ret->trend;

	if (trend->kind != TREND_SPIKE)
		return false;
	verdict->confidence = CONFIDENCE_LIKELY;
	verdict_claim(verdict, "Nine tenths of the growth of %s came within about %s.",
		size_text(trend->rise_bytes), duration_text(trend->spike_ns));
	evidence_of_trend(scene, verdict);
	return true;
}

bool rule_leak(const struct scene *scene, struct verdict *verdict)
{
	const struct growth_picture *picture = &scene->incident->growth;
	const struct trend *trend = &scene->ret->trend;

	if (trend->kind != TREND_STEADY)
		return false;
	verdict->confidence = CONFIDENCE_LIKELY;
	claim_leak(verdict, picture, trend, less_bytes(picture->to_ns, trend->start_ns));
	evidence_of_trend(scene, verdict);
	return true;
}

/* --- who, where it is not the victim --- */

/* A tracepoint may have told a victim's pid and no more. */
static bool was_killed(const struct incident *incident, const struct picture_process *process)
{
	for (unsigned int i = 0; i < incident->victim_count && i < INCIDENT_VICTIMS; i++) {
		const struct task_facts *task = &incident->victims[i].task;

		if (task->tgid == process->tgid &&
			(!task->start_ns || task->start_ns == process->start_ns))
			return true;
	}
	return false;
}

bool rule_grew_most(const struct scene *scene, struct verdict *verdict)
{
	const struct incident *incident = scene->incident;
	const struct growth_share *share = &scene->ret->share;
	const struct picture_process *process;

	if (share->by != GROWTH_BY_PROCESS)
		return false;
	process = &incident->growth.processes[share->index];
	if (was_killed(incident, process))
		return false;
	/* What ended has given its memory back: it may have nothing to do with this kill. */
	verdict->confidence =
		process->exited
			? CONFIDENCE_POSSIBLE
			: confidence_without(&incident->growth, share->part_bytes, share->cow_bytes,
				  share->cow_upper_bound, share->growth_bytes);
	verdict_claim(verdict, "%s[%u] made %s of the growth of %s%s.", process->comm,
		process->tgid,
		share->part_bytes < share->growth_bytes ? size_text(share->part_bytes)
							: "about all",
		size_text(share->growth_bytes),
		incident->victim_count ? ", and it is not the one that was killed" : "");
	verdict_evidence(verdict, "in %s: grew by %s, and copied %s%s",
		duration_text(window_ns(&incident->growth)),
		size_text(growth_part(process->delta_bytes, 0)),
		process->cow_upper_bound ? "at most " : "", size_text(process->cow_bytes));
	verdict_evidence(verdict, process->exited ? "ended since; it held %s" : "holds %s",
		size_text(process->held_bytes));
	return true;
}

bool rule_no_process_grew(const struct scene *scene, struct verdict *verdict)
{
	const struct growth_picture *picture = &scene->incident->growth;
	const struct growth_share *share = &scene->ret->share;

	if (share->by != GROWTH_BY_NOBODY)
		return false;
	verdict->confidence = CONFIDENCE_LIKELY;
	verdict_claim(verdict,
		"%s of the growth of %s is in no process's own memory: page cache, tmpfs or kernel memory.",
		share->part_bytes < share->growth_bytes ? size_text(share->part_bytes)
							: "About all",
		size_text(share->growth_bytes));
	verdict_evidence(verdict, "growth of usage less that of all processes: %s",
		size_text(share->part_bytes));
	if (share->index < PICTURE_PROCESSES)
		verdict_evidence(verdict,
			"by what it read, wrote or was charged for, %s[%u] can account for %s",
			picture->processes[share->index].comm,
			picture->processes[share->index].tgid,
			size_text(picture->processes[share->index].cached_bytes));
	return true;
}
