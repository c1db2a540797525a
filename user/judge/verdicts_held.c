// SPDX-License-Identifier: Apache-2.0
/* Who held the memory, and why it was this one that died. */
#include <stdio.h>
#include <string.h>

#include "judge/verdict_rules.h"

/* Counters move while they are read: of two that are this near none is the larger. */
#define NEARLY(less, more) (((more) - (less)) * 64 <= (more))

/* The candidate that holds the most, points or not. */
static const struct ranked *largest(const struct scene *scene)
{
	const struct ranked *found = NULL;

	for (unsigned int i = 0; i < scene->ret->ranked_count; i++) {
		const struct ranked *entry = &scene->ret->ranked[i];

		if (!found ||
			held_bytes(scene, &entry->badness) > held_bytes(scene, &found->badness))
			found = entry;
	}
	return found;
}

static bool is_the_victim(const struct scene *scene, const struct task_facts *task)
{
	return task->tgid == scene->victim->tgid && task->start_ns == scene->victim->start_ns;
}

/* "its parent httpd[390] was chosen, and a child of it dies first" */
static const char *child_text(const struct incident_log *log)
{
	static char text[96];

	snprintf(text, sizeof(text), "%s[%u] was chosen, and a child of it died in its place",
		log->choice_comm, log->choice_pid);
	return text;
}

/* oom_score_adj alone tells it where the ceiling that it is a part of is not known. */
static bool adj_decided(const struct scene *scene, const struct ranked *other)
{
	const struct task_facts *task = &scene->incident->candidates[other->index].task;

	if (scene->ret->totalpages != UNKNOWN_U64 || !scene_is_imported(scene))
		return other->badness.adj_pages < scene->ret->badness.adj_pages;
	return !((task->unknown | scene->victim->unknown) & TASK_UNKNOWN_ADJ) &&
	       task->oom_score_adj < scene->victim->oom_score_adj;
}

/* NULL: nothing explains it, and nothing needs to. */
static const char *why_larger_lived(const struct scene *scene, const struct ranked *other)
{
	const struct task_facts *task = &scene->incident->candidates[other->index].task;

	if (other->immune)
		return other->immune;
	if (strstr(scene->incident->message, "oom_kill_allocating_task"))
		return "vm.oom_kill_allocating_task kills whoever asks";
	if (scene_is_imported(scene) && scene->incident->log.child_died)
		return child_text(&scene->incident->log);
	if (scene->incident->victims[0].why == VICTIM_ALREADY_EXITING)
		return "the victim was on its way out already";
	if (scene->incident->has_oc && scene->incident->chosen_points == INT64_MAX)
		return "the victim was in swapoff or KSM work, which goes first";
	for (unsigned int i = 1; i < scene->incident->victim_count; i++)
		if (scene->incident->victims[i].task.tgid == task->tgid)
			return "it was killed with it";
	if (adj_decided(scene, other))
		return "oom_score_adj decided";
	/* Read before or after the kill, what lives goes on growing: a larger size then proves
	 * nothing. */
	if (scene->incident->candidates_from_census || scene_is_self(scene))
		return NULL;
	if (scene->ret->scope == SCOPE_CPUSET || scene->ret->scope == SCOPE_MEMPOLICY)
		return "it may not use the memory nodes that were full, or it grew since";
	if (scene_is_imported(scene))
		return "the log does not show why";
	return "it grew, or the victim gave memory back, after the kernel had looked";
}

/* The larger one lived for no reason but that counters move while they are read. */
static bool is_nearly_as_large(const struct scene *scene, const struct ranked *most)
{
	return !most->immune && !adj_decided(scene, most) &&
	       most->badness.adj_pages == scene->ret->badness.adj_pages &&
	       NEARLY(held_bytes(scene, &scene->ret->badness), held_bytes(scene, &most->badness));
}

static void evidence_of_points(const struct scene *scene, struct verdict *verdict, const char *name,
	const struct task_facts *task, const struct badness *badness)
{
	if (task->unknown & TASK_UNKNOWN_ADJ)
		verdict_evidence(verdict, "%s: %lld pages", name, (long long)badness->points);
	else if (scene_is_imported(scene) && scene->ret->totalpages == UNKNOWN_U64)
		verdict_evidence(verdict, "%s: oom_score_adj %d, %lld pages", name,
			task->oom_score_adj, (long long)badness->points);
	else
		verdict_evidence(verdict, "%s: oom_score_adj %d, %lld points", name,
			task->oom_score_adj, (long long)badness->points);
}

/* Of what was noticed from within it is not certain who the victim was. */
static bool victim_is_certain(const struct scene *scene)
{
	return scene->incident->self.certainty != SELF_POSSIBLE;
}

static enum confidence sureness(const struct scene *scene)
{
	return scene->incident->candidates_from_census || scene->incident->lost_events ||
			       scene_is_self(scene)
		       ? CONFIDENCE_LIKELY
		       : CONFIDENCE_CERTAIN;
}

static bool none_held_more(const struct scene *scene, const struct ranked *most)
{
	return is_the_victim(scene, &scene->incident->candidates[most->index].task) ||
	       held_bytes(scene, &most->badness) <= held_bytes(scene, &scene->ret->badness);
}

bool rule_largest(const struct scene *scene, struct verdict *verdict)
{
	const struct ranked *most = largest(scene);
	const char *held = size_text(held_bytes(scene, &scene->ret->badness));
	unsigned int total = scene->incident->candidate_total;
	const char *seen = seen_text(scene);
	bool nearly = !none_held_more(scene, most);

	if (!victim_is_certain(scene) || (nearly && !is_nearly_as_large(scene, most)))
		return false;
	verdict->confidence = nearly ? CONFIDENCE_LIKELY : sureness(scene);
	if (total == 1)
		verdict_claim(
			verdict, "The victim was the only process %s; it held %s.", seen, held);
	else
		verdict_claim(verdict, "The victim held %s of the %u processes %s: %s.",
			nearly ? "about as much as the largest" : "the most", total, seen, held);
	verdict_evidence(verdict, "RSS, swap and page tables: %s", held);
	return true;
}

bool rule_not_largest(const struct scene *scene, struct verdict *verdict)
{
	const struct ranked *most = largest(scene);
	const struct task_facts *task = &scene->incident->candidates[most->index].task;
	const char *reason;
	char name[40];

	if (!victim_is_certain(scene) || none_held_more(scene, most) ||
		is_nearly_as_large(scene, most))
		return false;
	reason = why_larger_lived(scene, most);
	if (!reason)
		return false;
	verdict->confidence = sureness(scene);
	verdict_claim(verdict, "%s[%u] held more (%s against %s) and was not chosen: %s.",
		task->comm, task->tgid, size_text(held_bytes(scene, &most->badness)),
		size_text(held_bytes(scene, &scene->ret->badness)), reason);
	evidence_of_points(scene, verdict, "victim", scene->victim, &scene->ret->badness);
	snprintf(name, sizeof(name), "%s[%u]", task->comm, task->tgid);
	if (most->immune)
		verdict_evidence(
			verdict, "%s: oom_score_adj %d, not eligible", name, task->oom_score_adj);
	else
		evidence_of_points(scene, verdict, name, task, &most->badness);
	return true;
}

bool rule_swap_heavy(const struct scene *scene, struct verdict *verdict)
{
	const struct badness *badness = &scene->ret->badness;

	if (badness->swap_pages <= (badness->points - badness->adj_pages) / 2)
		return false;
	verdict->confidence = CONFIDENCE_CERTAIN;
	verdict_claim(verdict, "Most of the victim was in swap: %s of %s.",
		size_text(pages_to_bytes(scene, badness->swap_pages)),
		size_text(held_bytes(scene, badness)));
	verdict_evidence(verdict, "swap %lld pages of %lld", (long long)badness->swap_pages,
		(long long)(badness->points - badness->adj_pages));
	return true;
}

/* What was in use at the kill. The reading of the parts came after it, when the victim's share may
 * have gone: against what was left then, a little would look like most. */
static uint64_t in_use_bytes(const struct scene *scene)
{
	uint64_t before = pages_to_bytes(scene, scene->limit->usage_pages);
	uint64_t after = scene->incident->stat_usage_bytes;

	return before == UNKNOWN_U64 || before < after ? after : before;
}

/* More than half of what the limit's cgroup had in use. */
static bool held_most(const struct scene *scene, uint64_t part, uint64_t *ret_whole)
{
	*ret_whole = in_use_bytes(scene);
	return is_most(part, *ret_whole);
}

static void evidence_of_part(const struct scene *scene, struct verdict *verdict, const char *name,
	uint64_t part, uint64_t whole)
{
	verdict_evidence(verdict, "%s %s %s, %s in use at the kill", name, size_text(part),
		stat_when_text(scene), size_text(whole));
}

bool rule_tmpfs(const struct scene *scene, struct verdict *verdict)
{
	uint64_t shmem = scene->incident->stat.shmem_bytes, whole;

	if (!held_most(scene, shmem, &whole))
		return false;
	verdict->confidence = CONFIDENCE_LIKELY;
	verdict_claim(verdict,
		"%s of the %s in use are tmpfs files or shared memory: a file in a tmpfs stays when processes are killed.",
		size_text(shmem), size_text(whole));
	evidence_of_part(scene, verdict, "shmem", shmem, whole);
	return true;
}

bool rule_kernel_memory(const struct scene *scene, struct verdict *verdict)
{
	uint64_t kernel = kernel_memory_bytes(scene), whole;

	if (!held_most(scene, kernel, &whole))
		return false;
	verdict->confidence = CONFIDENCE_LIKELY;
	verdict_claim(verdict,
		"%s of the %s in use are kernel memory, which no process's RSS shows.",
		size_text(kernel), size_text(whole));
	evidence_of_part(scene, verdict, "kernel", kernel, whole);
	return true;
}

bool rule_dirty(const struct scene *scene, struct verdict *verdict)
{
	const struct cgroup_stat *stat = &scene->incident->stat;
	uint64_t dirty = stat->file_dirty_bytes + known_bytes(stat->file_writeback_bytes), whole;

	if (!held_most(scene, dirty, &whole))
		return false;
	verdict->confidence = CONFIDENCE_LIKELY;
	verdict_claim(verdict, "%s of the %s in use are file pages that wait to be written.",
		size_text(dirty), size_text(whole));
	evidence_of_part(scene, verdict, "dirty or being written:", dirty, whole);
	return true;
}

/* Where statistics are read just after the kill they may have fallen already by what the usage has
 * yet to fall: what the victims hand back is nobody's for a moment. */
static uint64_t handed_back_bytes(const struct scene *scene)
{
	if (scene->incident->stat_at_kill || scene_is_imported(scene) || scene_is_self(scene))
		return 0;
	return victims_bytes(scene);
}

bool rule_unexplained(const struct scene *scene, struct verdict *verdict)
{
	uint64_t rest = scene->ret->unexplained_bytes, back = handed_back_bytes(scene), whole;

	if (rest <= back || !held_most(scene, rest - back, &whole))
		return false;
	verdict->confidence = CONFIDENCE_POSSIBLE;
	verdict_claim(verdict, "%s of the %s in use are of no kind that memory.stat names.",
		size_text(rest), size_text(whole));
	evidence_of_part(scene, verdict, "unexplained", rest, whole);
	return true;
}

bool rule_no_victim(const struct scene *scene, struct verdict *verdict)
{
	const struct incident *incident = scene->incident;
	unsigned int guarded = 0;

	if (incident->outcome != OUTCOME_NO_KILLABLE)
		return false;
	for (unsigned int i = 0; i < incident->candidate_count; i++)
		guarded += incident->candidates[i].task.oom_score_adj == -1000;
	verdict->confidence = CONFIDENCE_CERTAIN;
	if (scene->limit)
		verdict_claim(verdict,
			"The limit of %s was hit, and the kernel found no process below it that it may kill.",
			path_text(scene->limit_path));
	else
		verdict_claim(verdict, "The kernel found no process that it may kill.");
	verdict_evidence(verdict, "the scan ended without a choice");
	if (scene->limit)
		verdict_evidence(verdict, "%s: usage %s of %s", limit_kind(scene),
			size_text(limit_usage_bytes(scene)), size_text(limit_bytes(scene)));
	if (incident->candidate_total)
		verdict_evidence(
			verdict, "processes with memory there: %u", incident->candidate_total);
	if (guarded)
		verdict_evidence(verdict, "%u of them with oom_score_adj -1000", guarded);
	if (incident->repeated_no_kill)
		verdict_evidence(verdict,
			"%u more scans like this one since the last that was told",
			incident->repeated_no_kill);
	return true;
}
