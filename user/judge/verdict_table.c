// SPDX-License-Identifier: Apache-2.0
#include "judge/verdict_table.h"

#include <string.h>

#define INCIDENT(name, exclusive, needs, rule)                                                     \
	{                                                                                          \
		name, SUBJECT_INCIDENT, exclusive, needs, rule, NULL                               \
	}
#define KILL(name, exclusive, needs, rule)                                                         \
	{                                                                                          \
		name, SUBJECT_KILL, exclusive, needs, NULL, rule                                   \
	}
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What the reader is to know of first comes first: somebody asked for it; the memory is in what no
 * process shows; many hold it together; another held more. Then whose limit it was, which the first
 * line of a text says anyway; and last what is true of most kills. */
const struct verdict_rule verdict_rules[] = {
	INCIDENT("operator-request", EXCLUDES_LIMIT, 0, rule_operator),
	INCIDENT("limit-lowered", EXCLUDES_NONE, FACT_LIMIT | FACT_LIMIT_USE, rule_limit_lowered),
	INCIDENT("no-victim", EXCLUDES_NONE, 0, rule_no_victim),
	INCIDENT("node-bound", EXCLUDES_LIMIT, FACT_SCOPE, rule_node_bound),
	INCIDENT("zone-exhausted", EXCLUDES_LIMIT, FACT_SCOPE | FACT_ACCOUNT | FACT_RAM,
		rule_log_zones),
	INCIDENT("zone-exhausted", EXCLUDES_LIMIT, FACT_SCOPE | FACT_ORDER, rule_order),
	INCIDENT("hugetlb-held", EXCLUDES_HOLDER, FACT_SCOPE | FACT_RAM | FACT_MACHINE_HUGETLB,
		rule_hugetlb),
	INCIDENT("tmpfs-held", EXCLUDES_HOLDER, FACT_LIMIT | FACT_STAT | FACT_SHMEM, rule_tmpfs),
	INCIDENT("tmpfs-held", EXCLUDES_HOLDER,
		FACT_SCOPE | FACT_ACCOUNT | FACT_RAM | FACT_MACHINE_SHMEM, rule_log_tmpfs),
	INCIDENT("kernel-memory-held", EXCLUDES_HOLDER, FACT_LIMIT | FACT_STAT | FACT_KERNEL,
		rule_kernel_memory),
	INCIDENT("kernel-memory-held", EXCLUDES_HOLDER,
		FACT_SCOPE | FACT_ACCOUNT | FACT_RAM | FACT_MACHINE_SLAB, rule_log_kernel_memory),
	INCIDENT("page-cache-dirty", EXCLUDES_HOLDER, FACT_LIMIT | FACT_STAT | FACT_DIRTY,
		rule_dirty),
	INCIDENT("page-cache-dirty", EXCLUDES_HOLDER,
		FACT_SCOPE | FACT_ACCOUNT | FACT_RAM | FACT_MACHINE_DIRTY, rule_log_dirty),
	INCIDENT("fork-family", EXCLUDES_NONE, FACT_HISTORY, rule_family_holds),
	INCIDENT("fork-family", EXCLUDES_NONE, FACT_HISTORY | FACT_USAGE_HISTORY, rule_family_grew),
	INCIDENT("fork-family", EXCLUDES_NONE, FACT_SCOPE | FACT_LOG, rule_log_family),
	INCIDENT("copy-on-write", EXCLUDES_NONE, FACT_HISTORY | FACT_USAGE_HISTORY, rule_copies),
	INCIDENT("victim-not-largest", EXCLUDES_CHOICE, FACT_VICTIM | FACT_HELD | FACT_WEIGHED,
		rule_not_largest),
	INCIDENT("grew-most", EXCLUDES_GROWER, FACT_HISTORY | FACT_USAGE_HISTORY, rule_grew_most),
	INCIDENT("no-process-grew", EXCLUDES_GROWER, FACT_HISTORY | FACT_USAGE_HISTORY,
		rule_no_process_grew),
	INCIDENT("own-limit", EXCLUDES_LIMIT, FACT_SCOPE | FACT_LIMIT | FACT_LIMIT_USE,
		rule_own_limit),
	INCIDENT("ancestor-limit", EXCLUDES_LIMIT, FACT_SCOPE | FACT_LIMIT | FACT_LIMIT_USE,
		rule_ancestor_limit),
	INCIDENT("host-exhausted", EXCLUDES_LIMIT, FACT_SCOPE | FACT_RAM, rule_host_exhausted),
	INCIDENT("host-exhausted", EXCLUDES_LIMIT, FACT_SCOPE | FACT_ACCOUNT | FACT_RAM,
		rule_log_host),
	INCIDENT("limit-not-here", EXCLUDES_LIMIT, FACT_LOOKS, rule_limit_not_here),
	INCIDENT("victim-uncertain", EXCLUDES_SEEN, FACT_LOOKS, rule_victim_uncertain),
	INCIDENT("victim-not-seen", EXCLUDES_SEEN, FACT_LOOKS, rule_victim_not_seen),
	INCIDENT("swap-heavy", EXCLUDES_NONE, FACT_HELD, rule_swap_heavy),
	INCIDENT("victim-is-largest", EXCLUDES_CHOICE, FACT_VICTIM | FACT_HELD | FACT_WEIGHED,
		rule_largest),
	INCIDENT("group-kill", EXCLUDES_NONE, 0, rule_group_kill),
	INCIDENT("spike", EXCLUDES_TREND, FACT_HISTORY | FACT_USAGE_HISTORY, rule_spike),
	INCIDENT("steady-leak", EXCLUDES_TREND, FACT_HISTORY | FACT_USAGE_HISTORY, rule_leak),
	INCIDENT("throttled-before", EXCLUDES_NONE, FACT_HIGH, rule_throttled),
	INCIDENT("no-process-holds-it", EXCLUDES_HOLDER, FACT_LIMIT | FACT_STAT | FACT_UNEXPLAINED,
		rule_unexplained),
	INCIDENT("no-process-holds-it", EXCLUDES_HOLDER,
		FACT_SCOPE | FACT_ACCOUNT | FACT_RAM | FACT_MACHINE_PARTS, rule_log_unexplained),
	INCIDENT("repeated", EXCLUDES_NONE, FACT_LIMIT, rule_repeated),
	INCIDENT("repeated", EXCLUDES_NONE, FACT_LOG | FACT_VICTIM, rule_repeated_name),
	INCIDENT("host-larger-than-limit", EXCLUDES_NONE, FACT_LIMIT | FACT_LIMIT_USE | FACT_RAM,
		rule_host_larger),

	KILL("cleanup-after-oom", EXCLUDES_NONE, FACT_SENDER | FACT_OOM_BEFORE, rule_cleanup),
	KILL("shm-full", EXCLUDES_KILLER, FACT_TMPFS, rule_shm_full),
	KILL("killed-by-oom-daemon", EXCLUDES_KILLER, FACT_SENDER, rule_daemon),
	KILL("cgroup-killed", EXCLUDES_KILLER, 0, rule_cgroup),
	KILL("killed-by-kernel", EXCLUDES_KILLER, 0, rule_kernel),
	KILL("memory-fault", EXCLUDES_KILLER, 0, rule_fault),
	KILL("killed-by-process", EXCLUDES_KILLER, 0, rule_process),

	{"allocation-refused", SUBJECT_REFUSAL, EXCLUDES_NONE, 0, NULL, NULL},
	{"high-livelock", SUBJECT_STALL, EXCLUDES_NONE, 0, NULL, NULL},
};
const size_t verdict_rule_count = COUNT(verdict_rules);

const char *verdict_id(const char *text)
{
	for (size_t i = 0; i < verdict_rule_count; i++)
		if (!strcmp(text, verdict_rules[i].id))
			return verdict_rules[i].id;
	return NULL;
}

bool verdict_given(const struct verdict *verdicts, unsigned int count, const char *id)
{
	for (unsigned int i = 0; i < count; i++)
		if (!strcmp(verdicts[i].id, id))
			return true;
	return false;
}

/* --- what is known --- */

static uint32_t fact_if(bool is_known, enum verdict_fact fact)
{
	return is_known ? (uint32_t)fact : 0;
}

static bool is_known(uint64_t value)
{
	return value != UNKNOWN_U64;
}

static uint32_t facts_of_limit(const struct scene *scene)
{
	const struct incident *incident = scene->incident;

	if (!scene->limit)
		return 0;
	return FACT_LIMIT |
	       fact_if(is_known(scene->limit->usage_pages) && is_known(scene->limit->max_pages),
		       FACT_LIMIT_USE) |
	       fact_if(is_known(incident->stat_usage_bytes), FACT_STAT) |
	       fact_if(is_known(incident->stat.shmem_bytes), FACT_SHMEM) |
	       fact_if(is_known(kernel_memory_bytes(scene)), FACT_KERNEL) |
	       fact_if(is_known(incident->stat.file_dirty_bytes), FACT_DIRTY) |
	       fact_if(is_known(scene->ret->unexplained_bytes), FACT_UNEXPLAINED);
}

static uint32_t facts_of_machine(const struct scene *scene)
{
	const struct incident_machine *machine = &scene->incident->log.machine;
	const struct host_memory *host = &scene->incident->host;
	uint32_t ret = fact_if(is_known(host->total_bytes), FACT_RAM) |
		       fact_if(is_known(host->hugetlb_bytes), FACT_MACHINE_HUGETLB);

	ret |= fact_if(scene_is_imported(scene), FACT_LOG);
	if (!incident_is_logged(scene->incident))
		return ret;
	return ret | FACT_ACCOUNT | fact_if(is_known(machine->shmem_bytes), FACT_MACHINE_SHMEM) |
	       fact_if(is_known(machine->slab_bytes), FACT_MACHINE_SLAB) |
	       fact_if(is_known(machine->dirty_bytes), FACT_MACHINE_DIRTY) |
	       fact_if(is_known(machine->anon_bytes) && is_known(machine->file_bytes) &&
			       is_known(machine->slab_bytes),
		       FACT_MACHINE_PARTS);
}

static uint32_t facts_of(const struct scene *scene)
{
	const struct incident *incident = scene->incident;

	return facts_of_limit(scene) | facts_of_machine(scene) |
	       fact_if(scene->ret->scope != SCOPE_UNKNOWN, FACT_SCOPE) |
	       fact_if(scene_knows_high(scene), FACT_HIGH) | fact_if(scene->victim, FACT_VICTIM) |
	       fact_if(scene->ret->has_held, FACT_HELD) |
	       fact_if(scene->ret->ranked_count, FACT_WEIGHED) |
	       fact_if(incident_order_known(incident), FACT_ORDER) |
	       fact_if(incident->growth.valid, FACT_HISTORY) |
	       fact_if(incident->growth.domain_known, FACT_USAGE_HISTORY) |
	       fact_if(scene_is_self(scene), FACT_LOOKS);
}

static uint32_t facts_of_kill(const struct killing *killing)
{
	return fact_if(killing->sender_comm[0] || killing->sender_exe[0] || killing->sender_file[0],
		       FACT_SENDER) |
	       fact_if(killing->oom_ns, FACT_OOM_BEFORE) |
	       fact_if(killing->flags & EV_SIGNAL_BLOCKS, FACT_TMPFS);
}

/* --- the walk --- */

/* What verdicts are put into, and what was excluded by then. */
struct giving {
	struct verdict *verdicts;
	unsigned int count, max;
	bool excluded[EXCLUDES_KINDS];
};

/* NULL: this row is not to be asked. Else an empty verdict to be filled. */
static struct verdict *asked(struct giving *giving, const struct verdict_rule *row, uint32_t known)
{
	struct verdict *ret;

	if ((row->needs & ~known) || giving->count == giving->max ||
		giving->excluded[row->exclusive] ||
		verdict_given(giving->verdicts, giving->count, row->id))
		return NULL;
	ret = &giving->verdicts[giving->count];
	memset(ret, 0, sizeof(*ret));
	ret->id = row->id;
	return ret;
}

/* One without evidence is none. */
static void give(struct giving *giving, const struct verdict_rule *row)
{
	if (!giving->verdicts[giving->count].evidence_count)
		return;
	giving->count++;
	giving->excluded[row->exclusive] = row->exclusive != EXCLUDES_NONE;
}

/* No guess goes before what is surer. */
static void put_possible_last(struct verdict *verdicts, unsigned int count)
{
	unsigned int sure = 0;

	for (unsigned int i = 0; i < count; i++) {
		struct verdict verdict = verdicts[i];

		if (verdict.confidence == CONFIDENCE_POSSIBLE)
			continue;
		memmove(&verdicts[sure + 1], &verdicts[sure], (i - sure) * sizeof(verdict));
		verdicts[sure++] = verdict;
	}
}

void judge_verdicts(
	const struct incident *incident, const struct host_facts *host, struct judgement *ret)
{
	struct scene scene = {.incident = incident, .host = host, .ret = ret, .limit_path = ""};
	struct giving giving = {.verdicts = ret->verdicts, .max = VERDICTS_MAX};
	uint32_t known;

	if (ret->limit_level >= 0) {
		scene.limit = &incident->levels[ret->limit_level];
		scene.limit_path = incident->level_paths[ret->limit_level];
	}
	if (incident->victim_count && !(incident->victims[0].task.flags & EV_TASK_PARTIAL))
		scene.victim = &incident->victims[0].task;
	known = facts_of(&scene);
	for (size_t i = 0; i < verdict_rule_count; i++) {
		const struct verdict_rule *row = &verdict_rules[i];
		struct verdict *verdict =
			row->subject == SUBJECT_INCIDENT ? asked(&giving, row, known) : NULL;

		if (verdict && row->incident(&scene, verdict))
			give(&giving, row);
	}
	ret->verdict_count = giving.count;
	put_possible_last(ret->verdicts, ret->verdict_count);
}

void judge_kill_verdicts(const struct kill_scene *scene, struct kill_judgement *ret)
{
	struct giving giving = {.verdicts = ret->verdicts, .max = KILL_VERDICTS};
	uint32_t known = facts_of_kill(scene->killing);

	for (size_t i = 0; i < verdict_rule_count; i++) {
		const struct verdict_rule *row = &verdict_rules[i];
		struct verdict *verdict =
			row->subject == SUBJECT_KILL ? asked(&giving, row, known) : NULL;

		if (verdict && row->kill(scene, verdict))
			give(&giving, row);
	}
	ret->verdict_count = giving.count;
	put_possible_last(ret->verdicts, ret->verdict_count);
}
