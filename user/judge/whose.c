// SPDX-License-Identifier: Apache-2.0
#include "judge/whose.h"

#include <string.h>

static bool is_level(const struct incident *incident, int level)
{
	return level >= 0 && (unsigned int)level < incident->level_count && level < EV_MAX_LEVELS;
}

const char *whose_place(const struct incident *incident, int limit_level)
{
	if (incident->victim_cgroup[0] || !is_level(incident, limit_level))
		return incident->victim_cgroup;
	return incident->level_paths[limit_level];
}

/* What is learnt is of a container: a path may name a Slurm job around it. */
enum container_runtime whose_runtime(
	const struct container_path *where, const struct container_names *names)
{
	return where->runtime == RUNTIME_UNKNOWN ? names->runtime : where->runtime;
}

void judge_whose(const struct incident *incident, struct judgement *ret)
{
	parse_container_path(whose_place(incident, ret->limit_level), &ret->where);
	ret->runtime = whose_runtime(&ret->where, &incident->names);
	if (is_level(incident, ret->limit_level))
		ret->limit_kind = parse_cgroup_kind(incident->level_paths[ret->limit_level]);
}

const char *whose_container(const struct incident *incident, const struct judgement *judgement)
{
	return incident->names.container[0] ? incident->names.container : judgement->where.name;
}

const char *whose_pod_uid(const struct incident *incident, const struct judgement *judgement)
{
	return judgement->where.pod_uid[0] ? judgement->where.pod_uid : incident->names.pod_uid;
}

const char *whose_limit(const struct incident *incident, const struct judgement *judgement)
{
	static const char *const words[] = {[KIND_CONTAINER] = "container",
		[KIND_POD] = "pod",
		[KIND_QOS_CLASS] = "QoS class",
		[KIND_KUBEPODS] = "kubepods cgroup",
		[KIND_SERVICE] = "service",
		[KIND_JOB] = "Slurm job",
		[KIND_STEP] = "Slurm step",
		[KIND_MACHINE] = "container"};
	size_t end;

	if (!is_level(incident, judgement->limit_level))
		return NULL;
	end = strlen(incident->level_paths[judgement->limit_level]);
	if (end && end == judgement->where.node_end)
		return "node's container";
	return (size_t)judgement->limit_kind < sizeof(words) / sizeof(words[0])
		       ? words[judgement->limit_kind]
		       : NULL;
}

const struct container_names *whose_names(
	const struct incident *incident, const struct judgement *judgement, const char *path)
{
	struct container_path parsed;

	parse_container_path(path, &parsed);
	if (strcmp(parsed.pod_uid, judgement->where.pod_uid) != 0 ||
		(parsed.id[0] && strcmp(parsed.id, judgement->where.id) != 0))
		return NULL;
	return &incident->names;
}

/* --- what is not known --- */

/* What stands in the way more than the rest comes first. */
static const char *why_of_files(uint32_t troubles)
{
	if (troubles & NAMES_NOT_PERMITTED)
		return "its runtime's files may not be read: CAP_DAC_READ_SEARCH lets it";
	if (troubles & NAMES_TOO_LARGE)
		return "its runtime's file is larger than 1 MiB";
	if (troubles & NAMES_BROKEN)
		return "its runtime's file is not whole, or no JSON";
	if (troubles & NAMES_TOO_LONG)
		return "the name is longer than such a name can be";
	if (troubles & NAMES_NO_RECORD)
		return troubles & NAMES_NO_LOGS
			       ? "its runtime's folder tells nothing of it, and /var/log/containers is "
				 "not there (mount it, see --host-root)"
			       : "neither /var/log nor its runtime's folder tells anything of it";
	return NULL;
}

const char *whose_unknown_why(const struct container_names *names)
{
	uint32_t troubles = names->troubles;
	const char *why = why_of_files(troubles);

	if (why)
		return why;
	if (troubles & NAMES_NO_LOGS)
		return "/var/log/containers and its runtime's folder are not there (mount them, see "
		       "--host-root)";
	if (troubles & NAMES_NO_STATE)
		return "its runtime's folder is not there (mount it, see --host-root)";
	if (troubles & NAMES_NOT_ASKED)
		return "its names were not looked for while it was there";
	return "its names were not looked for";
}

static const char *why_of(const struct incident *incident)
{
	return incident->source == INCIDENT_IMPORTED && !incident->names.troubles
		       ? "kernel logs tell ids, not names"
		       : whose_unknown_why(&incident->names);
}

static void missing_pod(const struct incident *incident, const char *why, struct judgement *ret)
{
	if (!whose_pod_uid(incident, ret)[0])
		return;
	if (ret->runtime == RUNTIME_PODMAN)
		why = "Podman keeps the names of pods in a database of its own";
	if (!incident->names.pod[0])
		judge_missing_add(ret, "pod_name", why);
	if (!incident->names.namespace[0] && ret->runtime != RUNTIME_PODMAN)
		judge_missing_add(ret, "pod_namespace", why);
}

void judge_whose_missing(const struct incident *incident, struct judgement *ret)
{
	const char *why = why_of(incident);
	struct names_wanted wanted;

	/* A pod's own cgroup is in no container. */
	if (!names_wanted_of(&ret->where, &wanted)) {
		missing_pod(incident, why, ret);
		return;
	}
	if (!whose_container(incident, ret)[0])
		judge_missing_add(ret, "container_name",
			incident->names.sandbox ? "it is the pod's sandbox, which has no name"
						: why);
	if (ret->runtime == RUNTIME_UNKNOWN)
		judge_missing_add(ret, "runtime", why);
	missing_pod(incident, why, ret);
}
