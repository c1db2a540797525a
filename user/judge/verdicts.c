// SPDX-License-Identifier: Apache-2.0
#include "judge/verdicts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "judge/limit.h"
#include "judge/verdict_parts.h"
#include "judge/whose.h"

/* A share of the whole that is worth a sentence. */
#define MOST(part, whole) ((part)*2 > (whole))

/* Longest path within a sentence: the numbers beside it must not be cut off. */
#define PATH_SHOWN 180

/* Counters move while they are read: of two that are this near none is the larger. */
#define NEARLY(less, more) (((more) - (less)) * 64 <= (more))

struct verdict *verdict_new(struct scene *scene, const char *id, enum confidence confidence)
{
	struct verdict *verdict;

	if (scene->ret->verdict_count == VERDICTS_MAX)
		return NULL;
	verdict = &scene->ret->verdicts[scene->ret->verdict_count++];
	verdict->id = id;
	verdict->confidence = confidence;
	return verdict;
}

void verdict_claim(struct verdict *verdict, const char *format, ...)
{
	va_list args;

	if (!verdict)
		return;
	va_start(args, format);
	vsnprintf(verdict->claim, sizeof(verdict->claim), format, args);
	va_end(args);
}

void verdict_evidence(struct verdict *verdict, const char *format, ...)
{
	va_list args;

	if (!verdict || verdict->evidence_count == VERDICT_EVIDENCE)
		return;
	va_start(args, format);
	vsnprintf(verdict->evidence[verdict->evidence_count++], VERDICT_TEXT, format, args);
	va_end(args);
}

const char *size_text(uint64_t bytes)
{
	static char texts[8][24];
	static unsigned int turn;
	char *text = texts[turn++ % 8];
	struct buf buf;

	if (bytes == UNKNOWN_U64)
		return "unknown";
	buf_init(&buf, text, sizeof(texts[0]));
	units_bytes(&buf, bytes);
	return text;
}

static uint64_t to_bytes(const struct scene *scene, uint64_t pages)
{
	return pages == UNKNOWN_U64 ? UNKNOWN_U64 : pages * scene->host->page_size;
}

const char *path_text(const char *path)
{
	static char texts[4][PATH_SHOWN + 1];
	static unsigned int turn;
	size_t len = strlen(path);
	char *text;

	if (!len)
		return "a cgroup whose path is not known";
	if (len <= PATH_SHOWN)
		return path;
	text = texts[turn++ % 4];
	path += len - (PATH_SHOWN - 3);
	while ((*path & 0xc0) == 0x80)
		path++;
	snprintf(text, sizeof(texts[0]), "...%s", path);
	return text;
}

static bool is_imported(const struct scene *scene)
{
	return scene->incident->source == INCIDENT_IMPORTED;
}

/* Who traces reads such numbers just after the kill; the kernel printed them before it. */
static const char *when_text(const struct scene *scene)
{
	return is_imported(scene) ? "at the kill" : "just after the kill";
}

static const char *stat_when_text(const struct scene *scene)
{
	if (scene_is_self(scene))
		return "at the last look before the kill";
	return scene->incident->stat_at_kill ? "at the kill" : when_text(scene);
}

static bool is_limited(const struct scene *scene, const struct incident_level *level)
{
	return level->max_pages < LIMIT_NONE_PAGES(scene->host->page_size);
}

uint64_t held_bytes(const struct scene *scene, const struct badness *badness)
{
	return (uint64_t)(badness->points - badness->adj_pages) * scene->host->page_size;
}

/* --- which limit --- */

/* Of cgroup v1 the limit on memory and swap together, where it is that which was hit. */
static const char *limit_kind(const struct scene *scene)
{
	return limit_is_memsw(scene->limit, scene->host->page_size) ? "memory+swap limit" : "limit";
}

static uint64_t limit_bytes(const struct scene *scene)
{
	return to_bytes(scene, limit_is_memsw(scene->limit, scene->host->page_size)
				       ? scene->limit->swap_max_pages
				       : scene->limit->max_pages);
}

static uint64_t usage_bytes(const struct scene *scene)
{
	return to_bytes(scene, limit_is_memsw(scene->limit, scene->host->page_size)
				       ? scene->limit->swap_usage_pages
				       : scene->limit->usage_pages);
}

/* Levels from the victim's own cgroup up to the limit; -1: the chain is not the victim's. */
static int levels_up(const struct scene *scene)
{
	uint64_t id = scene->victim ? scene->victim->cgroup_id : 0;

	if (scene->incident->has_oc)
		return scene->ret->limit_level;
	/* A log names the limit and the victim's cgroup: the chain is of both, or the limit's
	 * alone.
	 */
	if (is_imported(scene))
		return scene->ret->limit_level ||
				       !strcmp(scene->incident->victim_cgroup, scene->limit_path)
			       ? scene->ret->limit_level
			       : -1;
	/* Where only a pid was told, the chain is that of whoever asked. */
	if (!scene->victim || (id && id != scene->incident->levels[0].id))
		return id && id == scene->limit->id ? 0 : -1;
	return scene->ret->limit_level;
}

static void evidence_below_limit(struct scene *scene, struct verdict *verdict)
{
	const struct incident *incident = scene->incident;

	verdict_evidence(verdict, "victim in %s", path_text(incident->victim_cgroup));
	for (int i = 0; i < scene->ret->limit_level && i < 3; i++)
		if (is_limited(scene, &incident->levels[i]))
			verdict_evidence(verdict, "%s: usage %s of %s",
				path_text(incident->level_paths[i]),
				size_text(to_bytes(scene, incident->levels[i].usage_pages)),
				size_text(to_bytes(scene, incident->levels[i].max_pages)));
}

static void claim_whose_limit(const struct scene *scene, struct verdict *verdict, int up)
{
	const char *whose = whose_limit(scene->incident, scene->ret);
	const char *kind = limit_kind(scene), *size = size_text(limit_bytes(scene));
	char levels[32] = "";

	if (!up) {
		verdict_claim(verdict, "The victim's %s reached its %s of %s.",
			whose ? whose : "own cgroup", kind, size);
		return;
	}
	if (up > 0)
		snprintf(levels, sizeof(levels), ", %d level%s up", up, up == 1 ? "" : "s");
	if (up < 0)
		whose = NULL;
	verdict_claim(verdict,
		"The %s of %s that was reached is not the victim's own but that of %s%s%s%s%s.",
		kind, size, whose ? "its " : "", whose ? whose : "", whose ? ", " : "",
		path_text(scene->limit_path), levels);
}

static void judge_whose_limit(struct scene *scene)
{
	enum confidence confidence =
		scene->ret->scope_inferred ? CONFIDENCE_LIKELY : CONFIDENCE_CERTAIN;
	struct verdict *verdict;
	int up;

	/* Without a victim there is nobody whose own limit it could be: no-victim names it. */
	if (!scene->limit || !scene->incident->victim_count)
		return;
	if (is_imported(scene) && (!scene->limit_path[0] || !scene->incident->victim_cgroup[0] ||
					  scene->limit->max_pages == UNKNOWN_U64))
		return;
	up = levels_up(scene);
	if (up < 0 && !scene->victim)
		return;
	verdict = verdict_new(scene, up ? "ancestor-limit" : "own-limit", confidence);
	claim_whose_limit(scene, verdict, up);
	verdict_evidence(verdict, "%s of %s: usage %s of %s", limit_kind(scene),
		path_text(scene->limit_path), size_text(usage_bytes(scene)),
		size_text(limit_bytes(scene)));
	if (up)
		evidence_below_limit(scene, verdict);
	if (scene_is_self(scene))
		verdict_evidence(verdict, "%s", self_limit_text(scene));
	else if (scene->ret->scope_inferred)
		verdict_evidence(verdict,
			"the page counters show which level is full; oom_control was not seen");
}

/* ", 2.00 GiB of swap" */
static const char *swap_text(const struct host_memory *memory)
{
	static char text[48];

	if (memory->swap_total_bytes == UNKNOWN_U64)
		return "";
	if (!memory->swap_total_bytes)
		return ", no swap";
	snprintf(text, sizeof(text), ", %s of swap", size_text(memory->swap_total_bytes));
	return text;
}

static void judge_host_exhausted(struct scene *scene)
{
	const struct host_memory *memory = &scene->incident->host;
	enum confidence confidence = CONFIDENCE_CERTAIN;
	struct verdict *verdict;
	bool kthread = scene->incident->trigger_flags & EV_CONTEXT_KTHREAD;

	/* A log shows the zones, which tell more: judge_machine(). */
	if (scene->ret->scope != SCOPE_GLOBAL || scene->ret->manual || is_imported(scene) ||
		memory->total_bytes == UNKNOWN_U64)
		return;
	/* An order above 0 can fail with memory free: that is another verdict. */
	if (incident_order_known(scene->incident) && scene->incident->order > 0)
		return;
	if (scene->ret->scope_inferred)
		confidence = kthread ? CONFIDENCE_POSSIBLE : CONFIDENCE_LIKELY;
	verdict = verdict_new(scene, "host-exhausted", confidence);
	verdict_claim(verdict,
		"The machine itself was out of memory (%s of RAM%s); no cgroup's limit was hit.",
		size_text(memory->total_bytes), swap_text(memory));
	verdict_evidence(verdict, "RAM %s, free %s just after the kill",
		size_text(memory->total_bytes), size_text(memory->free_bytes));
	if (memory->swap_total_bytes && memory->swap_total_bytes != UNKNOWN_U64)
		verdict_evidence(verdict, "swap %s, free %s just after the kill",
			size_text(memory->swap_total_bytes), size_text(memory->swap_free_bytes));
	if (scene->ret->scope_inferred)
		verdict_evidence(verdict, "no level of the cgroup chain is at its limit");
	if (scene->ret->scope_inferred && kthread)
		verdict_evidence(
			verdict, "a kernel thread asked: sysrq f would look the same here");
}

static void judge_host_larger(struct scene *scene)
{
	uint64_t limit, total = scene->incident->host.total_bytes;
	struct verdict *verdict;

	if (!scene->limit || total == UNKNOWN_U64 || !is_limited(scene, scene->limit))
		return;
	limit = to_bytes(scene, scene->limit->max_pages);
	if (limit >= total)
		return;
	verdict = verdict_new(scene, "host-larger-than-limit", CONFIDENCE_CERTAIN);
	verdict_claim(verdict, "`free` shows the host's %s; the quota here is %s.",
		size_text(total), size_text(limit));
	verdict_evidence(verdict, "host %s, limit %s", size_text(total), size_text(limit));
}

/* What the log shows is of the allowed nodes only, but for the machine's free pages. */
static void evidence_of_nodes(const struct scene *scene, struct verdict *verdict)
{
	const struct incident_log *log = &scene->incident->log;
	uint64_t here = 0, all = scene->incident->host.free_bytes;

	if (!is_imported(scene) || !log->nodes_left_out || all == UNKNOWN_U64)
		return;
	for (unsigned int i = 0; i < log->zone_count; i++)
		if (log->zones[i].free_pages != UNKNOWN_U64)
			here += to_bytes(scene, log->zones[i].free_pages);
	if (here <= all)
		verdict_evidence(verdict, "free on the nodes allowed: %s; on others: %s",
			size_text(here), size_text(all - here));
}

static void judge_node_bound(struct scene *scene)
{
	struct verdict *verdict;

	if (scene->ret->scope != SCOPE_CPUSET && scene->ret->scope != SCOPE_MEMPOLICY)
		return;
	verdict = verdict_new(scene, "node-bound", CONFIDENCE_CERTAIN);
	verdict_claim(verdict, "Only some memory nodes were allowed (by %s), and those were full.",
		scene->ret->scope == SCOPE_CPUSET ? "a cpuset" : "a memory policy");
	verdict_evidence(verdict, "constraint %s", scope_name(scene->ret->scope));
	if (scene->incident->nodemask != UNKNOWN_U64)
		verdict_evidence(
			verdict, "nodemask 0x%llx", (unsigned long long)scene->incident->nodemask);
	if (is_imported(scene) && scene->incident->mems_allowed != UNKNOWN_U64)
		verdict_evidence(verdict, "mems_allowed 0x%llx",
			(unsigned long long)scene->incident->mems_allowed);
	if (scene->incident->host.free_bytes != UNKNOWN_U64)
		verdict_evidence(verdict, "free on the whole machine: %s %s",
			size_text(scene->incident->host.free_bytes), when_text(scene));
	evidence_of_nodes(scene, verdict);
}

static void judge_zone_exhausted(struct scene *scene)
{
	const struct incident *incident = scene->incident;
	struct verdict *verdict;

	if (is_imported(scene) || !incident_order_known(incident) || incident->order <= 0 ||
		incident->order > 63 || scene->ret->scope == SCOPE_MEMCG)
		return;
	verdict = verdict_new(scene, "zone-exhausted", CONFIDENCE_LIKELY);
	verdict_claim(verdict,
		"%llu pages in one piece were asked for (order %d); there may have been memory in smaller pieces.",
		1ULL << incident->order, incident->order);
	verdict_evidence(verdict, "order %d", incident->order);
	if (incident->host.free_bytes != UNKNOWN_U64)
		verdict_evidence(verdict, "free %s just after the kill",
			size_text(incident->host.free_bytes));
}

static void judge_operator(struct scene *scene)
{
	struct verdict *verdict;

	if (!scene->ret->manual)
		return;
	verdict = verdict_new(scene, "operator-request", CONFIDENCE_CERTAIN);
	verdict_claim(verdict,
		"Somebody asked for this kill by sysrq f; memory need not have been short.");
	if (!is_imported(scene) || scene->incident->order == -1)
		verdict_evidence(verdict, "order -1");
	else
		verdict_evidence(
			verdict, "the log has sysrq's own line, or its function in the trace");
	if (is_imported(scene) && scene->incident->host.free_bytes != UNKNOWN_U64)
		verdict_evidence(verdict, "free %s at the kill",
			size_text(scene->incident->host.free_bytes));
	if (scene->incident->host.available_bytes != UNKNOWN_U64)
		verdict_evidence(verdict, "available %s just after the kill",
			size_text(scene->incident->host.available_bytes));
}

static bool trigger_is_below(const struct scene *scene)
{
	const char *path = scene->incident->trigger_cgroup;
	size_t len = strlen(scene->limit_path);

	return len && !strncmp(path, scene->limit_path, len) &&
	       (path[len] == '/' || path[len] == '\0');
}

static void judge_limit_lowered(struct scene *scene)
{
	const struct incident *incident = scene->incident;
	enum confidence confidence = CONFIDENCE_LIKELY;
	struct verdict *verdict;

	if (!scene->limit || !is_limited(scene, scene->limit) ||
		scene->limit->usage_pages == UNKNOWN_U64 ||
		scene->limit->usage_pages <= scene->limit->max_pages + LIMIT_SLACK_PAGES)
		return;
	/* Some charges may not fail, those of dying processes too: they come from inside. */
	if (is_imported(scene))
		confidence = incident->log.limit_written ? CONFIDENCE_CERTAIN
			     : incident->log.has_trace	 ? CONFIDENCE_POSSIBLE
							 : CONFIDENCE_LIKELY;
	else if (trigger_is_below(scene))
		confidence = CONFIDENCE_POSSIBLE;
	verdict = verdict_new(scene, "limit-lowered", confidence);
	verdict_claim(verdict, "The limit was set to %s when %s more than that was in use.",
		size_text(to_bytes(scene, scene->limit->max_pages)),
		size_text(to_bytes(scene, scene->limit->usage_pages - scene->limit->max_pages)));
	verdict_evidence(verdict, "usage is %s above the limit; ordinary charges stop at it",
		size_text(to_bytes(scene, scene->limit->usage_pages - scene->limit->max_pages)));
	if (is_imported(scene) && incident->log.limit_written)
		verdict_evidence(verdict, "the call trace comes from a write to the limit, by %s",
			incident->trigger_comm);
	else if (is_imported(scene) && incident->has_trigger)
		verdict_evidence(verdict, "asked by %s", incident->trigger_comm);
	else if (incident->has_trigger)
		verdict_evidence(verdict, "asked by %s[%u]%s", incident->trigger_comm,
			incident->trigger_tgid,
			trigger_is_below(scene) ? "" : ", which is not charged to it");
}

/* --- who held the memory --- */

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

	if (scene->ret->totalpages != UNKNOWN_U64 || !is_imported(scene))
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
	if (is_imported(scene) && scene->incident->log.child_died)
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
	if (is_imported(scene))
		return "the log does not show why";
	return "it grew, or the victim gave memory back, after the kernel had looked";
}

static void victim_is_largest(struct scene *scene, enum confidence confidence, bool nearly)
{
	const char *held = size_text(held_bytes(scene, &scene->ret->badness));
	unsigned int total = scene->incident->candidate_total;
	const char *seen = seen_text(scene);
	struct verdict *verdict = verdict_new(scene, "victim-is-largest", confidence);

	if (total == 1)
		verdict_claim(
			verdict, "The victim was the only process %s; it held %s.", seen, held);
	else
		verdict_claim(verdict, "The victim held %s of the %u processes %s: %s.",
			nearly ? "about as much as the largest" : "the most", total, seen, held);
	verdict_evidence(verdict, "RSS, swap and page tables: %s", held);
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
	else if (is_imported(scene) && scene->ret->totalpages == UNKNOWN_U64)
		verdict_evidence(verdict, "%s: oom_score_adj %d, %lld pages", name,
			task->oom_score_adj, (long long)badness->points);
	else
		verdict_evidence(verdict, "%s: oom_score_adj %d, %lld points", name,
			task->oom_score_adj, (long long)badness->points);
}

static void judge_largest(struct scene *scene)
{
	const struct ranked *most = largest(scene);
	const struct task_facts *task;
	struct verdict *verdict;
	enum confidence confidence = CONFIDENCE_CERTAIN;
	const char *reason;
	char name[40];

	if (!most || !scene->victim || !scene->ret->has_held ||
		scene->incident->self.certainty == SELF_POSSIBLE)
		return;
	if (scene->incident->candidates_from_census || scene->incident->lost_events ||
		scene_is_self(scene))
		confidence = CONFIDENCE_LIKELY;
	task = &scene->incident->candidates[most->index].task;
	if (is_the_victim(scene, task) ||
		held_bytes(scene, &most->badness) <= held_bytes(scene, &scene->ret->badness)) {
		victim_is_largest(scene, confidence, false);
		return;
	}
	if (is_nearly_as_large(scene, most)) {
		victim_is_largest(scene, CONFIDENCE_LIKELY, true);
		return;
	}
	reason = why_larger_lived(scene, most);
	if (!reason)
		return;
	verdict = verdict_new(scene, "victim-not-largest", confidence);
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
}

static void judge_swap_heavy(struct scene *scene)
{
	const struct badness *badness = &scene->ret->badness;
	struct verdict *verdict;

	if (!scene->ret->has_held ||
		!MOST(badness->swap_pages, badness->points - badness->adj_pages))
		return;
	verdict = verdict_new(scene, "swap-heavy", CONFIDENCE_CERTAIN);
	verdict_claim(verdict, "Most of the victim was in swap: %s of %s.",
		size_text(to_bytes(scene, badness->swap_pages)),
		size_text(held_bytes(scene, badness)));
	verdict_evidence(verdict, "swap %lld pages of %lld", (long long)badness->swap_pages,
		(long long)(badness->points - badness->adj_pages));
}

/* What was in use at the kill. The reading of the parts came after it, when the victim's share may
 * have gone: against what was left then, a little would look like most. */
static uint64_t in_use_bytes(const struct scene *scene)
{
	uint64_t before = to_bytes(scene, scene->limit->usage_pages);
	uint64_t after = scene->incident->stat_usage_bytes;

	return before == UNKNOWN_U64 || before < after ? after : before;
}

/* Before 5.18 memory.stat has the parts of it only; a log adds nothing to those. */
static uint64_t kernel_bytes(const struct scene *scene)
{
	const struct cgroup_stat *stat = &scene->incident->stat;
	const uint64_t parts[] = {stat->slab_bytes, stat->kernel_stack_bytes,
		stat->pagetables_bytes, stat->percpu_bytes, stat->vmalloc_bytes};
	uint64_t sum = 0;

	if (stat->kernel_bytes != UNKNOWN_U64 || !is_imported(scene) ||
		stat->slab_bytes == UNKNOWN_U64)
		return stat->kernel_bytes;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i] != UNKNOWN_U64)
			sum += parts[i];
	return sum;
}

static void judge_held_elsewhere(struct scene *scene)
{
	const struct cgroup_stat *stat = &scene->incident->stat;
	uint64_t whole, kernel = kernel_bytes(scene);
	struct verdict *verdict;

	if (!scene->limit || scene->incident->stat_usage_bytes == UNKNOWN_U64)
		return;
	whole = in_use_bytes(scene);
	if (stat->shmem_bytes != UNKNOWN_U64 && MOST(stat->shmem_bytes, whole)) {
		verdict = verdict_new(scene, "tmpfs-held", CONFIDENCE_LIKELY);
		verdict_claim(verdict,
			"%s of the %s in use are tmpfs files or shared memory: a file in a tmpfs stays when processes are killed.",
			size_text(stat->shmem_bytes), size_text(whole));
		verdict_evidence(verdict, "shmem %s %s, %s in use at the kill",
			size_text(stat->shmem_bytes), stat_when_text(scene), size_text(whole));
	}
	if (kernel != UNKNOWN_U64 && MOST(kernel, whole)) {
		verdict = verdict_new(scene, "kernel-memory-held", CONFIDENCE_LIKELY);
		verdict_claim(verdict,
			"%s of the %s in use are kernel memory, which no process's RSS shows.",
			size_text(kernel), size_text(whole));
		verdict_evidence(verdict, "kernel %s %s, %s in use at the kill", size_text(kernel),
			stat_when_text(scene), size_text(whole));
	}
	if (scene->ret->unexplained_bytes != UNKNOWN_U64 &&
		MOST(scene->ret->unexplained_bytes, whole)) {
		verdict = verdict_new(scene, "no-process-holds-it", CONFIDENCE_POSSIBLE);
		verdict_claim(verdict, "%s of the %s in use are of no kind that memory.stat names.",
			size_text(scene->ret->unexplained_bytes), size_text(whole));
		verdict_evidence(verdict, "unexplained %s %s, %s in use at the kill",
			size_text(scene->ret->unexplained_bytes), stat_when_text(scene),
			size_text(whole));
	}
}

static void judge_no_victim(struct scene *scene)
{
	const struct incident *incident = scene->incident;
	struct verdict *verdict;
	unsigned int guarded = 0;

	if (incident->outcome != OUTCOME_NO_KILLABLE)
		return;
	for (unsigned int i = 0; i < incident->candidate_count; i++)
		guarded += incident->candidates[i].task.oom_score_adj == -1000;
	verdict = verdict_new(scene, "no-victim", CONFIDENCE_CERTAIN);
	if (scene->limit)
		verdict_claim(verdict,
			"The limit of %s was hit, and the kernel found no process below it that it may kill.",
			path_text(scene->limit_path));
	else
		verdict_claim(verdict, "The kernel found no process that it may kill.");
	verdict_evidence(verdict, "the scan ended without a choice");
	if (scene->limit)
		verdict_evidence(verdict, "%s: usage %s of %s", limit_kind(scene),
			size_text(usage_bytes(scene)), size_text(limit_bytes(scene)));
	if (incident->candidate_total)
		verdict_evidence(
			verdict, "processes with memory there: %u", incident->candidate_total);
	if (guarded)
		verdict_evidence(verdict, "%u of them with oom_score_adj -1000", guarded);
	if (incident->repeated_no_kill)
		verdict_evidence(verdict,
			"%u more scans like this one since the last that was told",
			incident->repeated_no_kill);
}

void judge_verdicts(
	const struct incident *incident, const struct host_facts *host, struct judgement *ret)
{
	struct scene scene = {.incident = incident, .host = host, .ret = ret, .limit_path = ""};

	if (ret->limit_level >= 0) {
		scene.limit = &incident->levels[ret->limit_level];
		scene.limit_path = incident->level_paths[ret->limit_level];
	}
	if (incident->victim_count && !(incident->victims[0].task.flags & EV_TASK_PARTIAL))
		scene.victim = &incident->victims[0].task;
	judge_no_victim(&scene);
	judge_self(&scene);
	judge_operator(&scene);
	judge_limit_lowered(&scene);
	judge_whose_limit(&scene);
	judge_host_exhausted(&scene);
	judge_node_bound(&scene);
	judge_zone_exhausted(&scene);
	judge_log_machine(&scene);
	judge_group(&scene);
	judge_largest(&scene);
	judge_swap_heavy(&scene);
	judge_held_elsewhere(&scene);
	judge_log_holders(&scene);
	judge_growth(&scene);
	judge_repeated(&scene);
	judge_host_larger(&scene);
}
