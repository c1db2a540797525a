// SPDX-License-Identifier: Apache-2.0
#include "cmd/filter.h"

#include <fnmatch.h>
#include <string.h>

static bool cgroup_matches(const char *wanted, const char *path)
{
	size_t len = strlen(wanted);

	if (!path[0])
		return false;
	if (strpbrk(wanted, "*?["))
		return !fnmatch(wanted, path, 0);
	while (len > 1 && wanted[len - 1] == '/')
		len--;
	if (len == 1)
		return true;
	return !strncmp(path, wanted, len) && (path[len] == '/' || path[len] == '\0');
}

static bool any_victim(const struct live_options *options, const struct incident *incident)
{
	if (!options->pid && !options->comm)
		return true;
	for (unsigned int i = 0; i < incident->victim_count; i++) {
		const struct task_facts *task = &incident->victims[i].task;

		if ((!options->pid || task->tgid == options->pid) &&
			(!options->comm || !fnmatch(options->comm, task->comm, 0)))
			return true;
	}
	return false;
}

bool filter_passes(const struct live_options *options, const struct incident *incident,
	const struct judgement *judgement)
{
	if (!any_victim(options, incident))
		return false;
	if (!options->cgroup)
		return true;
	if (judgement->limit_level >= 0 &&
		cgroup_matches(options->cgroup, incident->level_paths[judgement->limit_level]))
		return true;
	return cgroup_matches(options->cgroup, incident->victim_cgroup);
}

bool filter_change(
	const struct live_options *options, const struct growth_change *change, const char *path)
{
	if (options->cgroup && !cgroup_matches(options->cgroup, path))
		return false;
	/* Who asked for processes did not ask for cgroups. */
	if (change->is_cgroup)
		return !options->pid && !options->comm;
	return (!options->pid || change->tgid == options->pid) &&
	       (!options->comm || !fnmatch(options->comm, change->comm, 0));
}

bool filter_pressure(const struct live_options *options, const struct growth_pressure *pressure,
	const char *path)
{
	return !options->cgroup || (pressure->cgroup_id && cgroup_matches(options->cgroup, path));
}

bool filter_killing(const struct live_options *options, const struct killing *killing)
{
	if (options->cgroup && !cgroup_matches(options->cgroup, killing->target_cgroup))
		return false;
	if (!options->pid && !options->comm)
		return true;
	for (unsigned int i = 0; i < killing->target_count && i < KILLING_TARGETS; i++) {
		const struct killing_target *target = &killing->targets[i];

		if ((!options->pid || target->tgid == options->pid) &&
			(!options->comm || !fnmatch(options->comm, target->comm, 0)))
			return true;
	}
	return false;
}
