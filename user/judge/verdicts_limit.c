// SPDX-License-Identifier: Apache-2.0
/* Whose limit it was, or what else was full. */
#include <stdio.h>
#include <string.h>

#include "judge/limit.h"
#include "judge/verdict_rules.h"
#include "judge/whose.h"
#include "judge/zones.h"

static bool is_limited(const struct scene *scene, const struct incident_level *level)
{
	return level->max_pages < LIMIT_NONE_PAGES(scene->host->page_size);
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
	if (scene_is_imported(scene))
		return scene->ret->limit_level ||
				       !strcmp(scene->incident->victim_cgroup, scene->limit_path)
			       ? scene->ret->limit_level
			       : -1;
	/* Where only a pid was told, the chain is that of whoever asked. */
	if (!scene->victim || (id && id != scene->incident->levels[0].id))
		return id && id == scene->limit->id ? 0 : -1;
	return scene->ret->limit_level;
}

static void evidence_below_limit(const struct scene *scene, struct verdict *verdict)
{
	const struct incident *incident = scene->incident;

	verdict_evidence(verdict, "victim in %s", path_text(incident->victim_cgroup));
	for (int i = 0; i < scene->ret->limit_level && i < 3; i++)
		if (is_limited(scene, &incident->levels[i]))
			verdict_evidence(verdict, "%s: usage %s of %s",
				path_text(incident->level_paths[i]),
				size_text(pages_to_bytes(scene, incident->levels[i].usage_pages)),
				size_text(pages_to_bytes(scene, incident->levels[i].max_pages)));
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

/* `up`: what levels_up() said. */
static bool whose_limit_it_was(const struct scene *scene, struct verdict *verdict, int up)
{
	if (up < 0 && !scene->victim)
		return false;
	if (scene_is_imported(scene) &&
		(!scene->limit_path[0] || !scene->incident->victim_cgroup[0]))
		return false;
	verdict->confidence = scene->ret->scope_inferred ? CONFIDENCE_LIKELY : CONFIDENCE_CERTAIN;
	claim_whose_limit(scene, verdict, up);
	verdict_evidence(verdict, "%s of %s: usage %s of %s", limit_kind(scene),
		path_text(scene->limit_path), size_text(limit_usage_bytes(scene)),
		size_text(limit_bytes(scene)));
	if (up)
		evidence_below_limit(scene, verdict);
	if (scene_is_self(scene))
		verdict_evidence(verdict, "%s", self_limit_text(scene));
	else if (scene->ret->scope_inferred)
		verdict_evidence(verdict,
			"the page counters show which level is full; oom_control was not seen");
	return true;
}

/* Without a victim there is nobody whose own limit it could be: no-victim names it. */
bool rule_own_limit(const struct scene *scene, struct verdict *verdict)
{
	return scene->incident->victim_count && !levels_up(scene) &&
	       whose_limit_it_was(scene, verdict, 0);
}

bool rule_ancestor_limit(const struct scene *scene, struct verdict *verdict)
{
	int up = levels_up(scene);

	return scene->incident->victim_count && up && whose_limit_it_was(scene, verdict, up);
}

/* The victims' memory may be back, but they had no more than that: the rest was free at the kill,
 * and of no use. */
static bool too_much_is_free(const struct scene *scene)
{
	const struct host_memory *memory = &scene->incident->host;
	uint64_t back = victims_bytes(scene);

	return scene->ret->has_held && memory->free_bytes != UNKNOWN_U64 &&
	       memory->free_bytes > back &&
	       memory->free_bytes - back > memory->total_bytes / FREE_SHARE;
}

bool rule_host_exhausted(const struct scene *scene, struct verdict *verdict)
{
	const struct host_memory *memory = &scene->incident->host;
	enum confidence confidence = CONFIDENCE_CERTAIN;
	bool kthread = scene->incident->trigger_flags & EV_CONTEXT_KTHREAD;
	bool much_is_free = too_much_is_free(scene);

	/* The kernel's report shows the zones, which tell more: rule_log_host(). */
	if (scene->ret->scope != SCOPE_GLOBAL || scene->ret->manual || scene_is_imported(scene) ||
		judge_zones_known(scene->incident))
		return false;
	/* An order above 0 can fail with memory free: that is another verdict. */
	if (incident_order_known(scene->incident) && scene->incident->order > 0)
		return false;
	if (scene->ret->scope_inferred)
		confidence = kthread ? CONFIDENCE_POSSIBLE : CONFIDENCE_LIKELY;
	if (much_is_free)
		confidence = CONFIDENCE_POSSIBLE;
	verdict->confidence = confidence;
	claim_of_host(scene, verdict);
	verdict_evidence(verdict, "RAM %s, free %s just after the kill",
		size_text(memory->total_bytes), size_text(memory->free_bytes));
	if (memory->swap_total_bytes && memory->swap_total_bytes != UNKNOWN_U64)
		verdict_evidence(verdict, "swap %s, free %s just after the kill",
			size_text(memory->swap_total_bytes), size_text(memory->swap_free_bytes));
	if (much_is_free)
		verdict_evidence(verdict,
			"that is more than the victims gave back: one zone of memory may have been full, which the kernel's log would show");
	if (scene->ret->scope_inferred)
		verdict_evidence(verdict, "no level of the cgroup chain is at its limit");
	if (scene->ret->scope_inferred && kthread)
		verdict_evidence(
			verdict, "a kernel thread asked: sysrq f would look the same here");
	return true;
}

bool rule_host_larger(const struct scene *scene, struct verdict *verdict)
{
	uint64_t limit, total = scene->incident->host.total_bytes;

	if (!is_limited(scene, scene->limit))
		return false;
	limit = pages_to_bytes(scene, scene->limit->max_pages);
	if (limit >= total)
		return false;
	verdict->confidence = CONFIDENCE_CERTAIN;
	verdict_claim(verdict, "`free` shows the host's %s; the quota here is %s.",
		size_text(total), size_text(limit));
	verdict_evidence(verdict, "host %s, limit %s", size_text(total), size_text(limit));
	return true;
}

/* What the log shows is of the allowed nodes only, but for the machine's free pages. */
static void evidence_of_nodes(const struct scene *scene, struct verdict *verdict)
{
	const struct incident_machine *machine = &scene->incident->log.machine;
	uint64_t here = 0, all = incident_free_bytes(scene->incident);

	if (!incident_is_logged(scene->incident) || !machine->nodes_left_out || all == UNKNOWN_U64)
		return;
	for (unsigned int i = 0; i < machine->zone_count; i++)
		if (machine->zones[i].free_pages != UNKNOWN_U64)
			here += pages_to_bytes(scene, machine->zones[i].free_pages);
	if (here <= all)
		verdict_evidence(verdict, "free on the nodes allowed: %s; on others: %s",
			size_text(here), size_text(all - here));
}

bool rule_node_bound(const struct scene *scene, struct verdict *verdict)
{

	if (scene->ret->scope != SCOPE_CPUSET && scene->ret->scope != SCOPE_MEMPOLICY)
		return false;
	verdict->confidence = CONFIDENCE_CERTAIN;
	verdict_claim(verdict, "Only some memory nodes were allowed (by %s), and those were full.",
		scene->ret->scope == SCOPE_CPUSET ? "a cpuset" : "a memory policy");
	verdict_evidence(verdict, "constraint %s", scope_name(scene->ret->scope));
	if (scene->incident->nodemask != UNKNOWN_U64)
		verdict_evidence(
			verdict, "nodemask 0x%llx", (unsigned long long)scene->incident->nodemask);
	if (scene_is_imported(scene) && scene->incident->mems_allowed != UNKNOWN_U64)
		verdict_evidence(verdict, "mems_allowed 0x%llx",
			(unsigned long long)scene->incident->mems_allowed);
	if (scene->incident->host.free_bytes != UNKNOWN_U64)
		verdict_evidence(verdict, "free on the whole machine: %s %s",
			size_text(scene->incident->host.free_bytes), when_text(scene));
	evidence_of_nodes(scene, verdict);
	return true;
}

bool rule_order(const struct scene *scene, struct verdict *verdict)
{
	const struct incident *incident = scene->incident;

	/* The kernel's report shows the zones: rule_log_zones(). */
	if (scene_is_imported(scene) || judge_zones_known(incident) || incident->order <= 0 ||
		incident->order > 63 || scene->ret->scope == SCOPE_MEMCG)
		return false;
	verdict->confidence = CONFIDENCE_LIKELY;
	verdict_claim(verdict,
		"%llu pages in one piece were asked for (order %d); there may have been memory in smaller pieces.",
		1ULL << incident->order, incident->order);
	verdict_evidence(verdict, "order %d", incident->order);
	if (incident->host.free_bytes != UNKNOWN_U64)
		verdict_evidence(verdict, "free %s just after the kill",
			size_text(incident->host.free_bytes));
	return true;
}

bool rule_operator(const struct scene *scene, struct verdict *verdict)
{

	if (!scene->ret->manual)
		return false;
	verdict->confidence = CONFIDENCE_CERTAIN;
	verdict_claim(verdict,
		"Somebody asked for this kill by sysrq f; memory need not have been short.");
	if (!scene_is_imported(scene) || scene->incident->order == -1)
		verdict_evidence(verdict, "order -1");
	else
		verdict_evidence(
			verdict, "the log has sysrq's own line, or its function in the trace");
	if (scene_is_imported(scene) && scene->incident->host.free_bytes != UNKNOWN_U64)
		verdict_evidence(verdict, "free %s at the kill",
			size_text(scene->incident->host.free_bytes));
	if (scene->incident->host.available_bytes != UNKNOWN_U64)
		verdict_evidence(verdict, "available %s just after the kill",
			size_text(scene->incident->host.available_bytes));
	return true;
}

static bool trigger_is_below(const struct scene *scene)
{
	const char *path = scene->incident->trigger_cgroup;
	size_t len = strlen(scene->limit_path);

	return len && !strncmp(path, scene->limit_path, len) &&
	       (path[len] == '/' || path[len] == '\0');
}

bool rule_limit_lowered(const struct scene *scene, struct verdict *verdict)
{
	const struct incident *incident = scene->incident;
	enum confidence confidence = CONFIDENCE_LIKELY;

	if (!is_limited(scene, scene->limit) ||
		scene->limit->usage_pages <= scene->limit->max_pages + LIMIT_SLACK_PAGES)
		return false;
	/* Some charges may not fail, those of dying processes too: they come from inside. */
	if (scene_is_imported(scene))
		confidence = incident->log.limit_written ? CONFIDENCE_CERTAIN
			     : incident->log.has_trace	 ? CONFIDENCE_POSSIBLE
							 : CONFIDENCE_LIKELY;
	else if (trigger_is_below(scene))
		confidence = CONFIDENCE_POSSIBLE;
	verdict->confidence = confidence;
	verdict_claim(verdict, "The limit was set to %s when %s more than that was in use.",
		size_text(pages_to_bytes(scene, scene->limit->max_pages)),
		size_text(pages_to_bytes(
			scene, scene->limit->usage_pages - scene->limit->max_pages)));
	verdict_evidence(verdict, "usage is %s above the limit; ordinary charges stop at it",
		size_text(pages_to_bytes(
			scene, scene->limit->usage_pages - scene->limit->max_pages)));
	if (scene_is_imported(scene) && incident->log.limit_written)
		verdict_evidence(verdict, "the call trace comes from a write to the limit, by %s",
			incident->trigger_comm);
	else if (scene_is_imported(scene) && incident->has_trigger)
		verdict_evidence(verdict, "asked by %s", incident->trigger_comm);
	else if (incident->has_trigger)
		verdict_evidence(verdict, "asked by %s[%u]%s", incident->trigger_comm,
			incident->trigger_tgid,
			trigger_is_below(scene) ? "" : ", which is not charged to it");
	return true;
}
