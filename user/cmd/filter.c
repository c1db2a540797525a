// SPDX-License-Identifier: Apache-2.0
#include "cmd/filter.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "judge/verdict_table.h"
#include "judge/whose.h"

#define UID_LEN 36
#define UID_LEN_STATIC 32 /* of a pod that the kubelet took from a file */
#define COMM_MAX 64
#define PID_MAX (1U << 22)
#define ID_PREFIX_MIN 6 /* of a container: shorter ones are names */

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

static bool any_victim(const struct filter *filter, const struct incident *incident)
{
	if (!filter->pid && !filter->comm)
		return true;
	for (unsigned int i = 0; i < incident->victim_count; i++) {
		const struct task_facts *task = &incident->victims[i].task;

		if ((!filter->pid || task->tgid == filter->pid) &&
			(!filter->comm || !fnmatch(filter->comm, task->comm, 0)))
			return true;
	}
	return false;
}

/* --- a pod in the path of a cgroup --- */

/* '-' and '_' are one: systemd's names of slices have '_' in a uid, since '-' parts levels. */
static char folded(char c)
{
	return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

/* "0b5e4f3c-8a77-4c1e-9d2a-6f1d7c1b2a90", its parts joined by '-' or '_', or 32 digits. */
static bool is_pod_uid(const char *text)
{
	size_t len = strlen(text);

	if (len != UID_LEN && len != UID_LEN_STATIC)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool joint = len == UID_LEN && (i == 8 || i == 13 || i == 18 || i == 23);

		if (joint ? folded(text[i]) != '-' : !isxdigit((unsigned char)text[i]))
			return false;
	}
	return true;
}

static bool begins_with_uid(const char *at, const char *uid)
{
	size_t len = strlen(uid);

	for (size_t i = 0; i < len; i++) {
		if (folded(at[i]) != folded(uid[i]))
			return false;
	}
	/* A longer number is another one. */
	return !isxdigit((unsigned char)at[len]) && folded(at[len]) != '-';
}

/* "pod<uid>" anywhere, as in kubepods-burstable-pod<uid>.slice. */
static bool path_has_uid(const char *path, const char *uid)
{
	for (const char *at = strstr(path, "pod"); at; at = strstr(at + 1, "pod")) {
		if (begins_with_uid(at + strlen("pod"), uid))
			return true;
	}
	return false;
}

/* `pod` holds no '/', so what is found lies within one component. */
static bool path_is_of_pod(const char *path, const char *pod)
{
	const char *uid = !strncmp(pod, "pod", 3) ? pod + 3 : pod;

	return is_pod_uid(uid) ? path_has_uid(path, uid) : strstr(path, pod) != NULL;
}

/* --- names --- */

static bool names_given(const struct names_filter *filter)
{
	return filter->pod || filter->namespace || filter->container;
}

static bool name_matches(const char *wanted, const char *name)
{
	return name[0] && !fnmatch(wanted, name, 0);
}

static bool pod_matches(const char *wanted, const char *path, const struct container_names *names)
{
	if (path_is_of_pod(path, wanted))
		return true;
	return names && (name_matches(wanted, names->pod) || !strcmp(wanted, names->pod_uid));
}

static bool container_matches(
	const char *wanted, const char *path, const struct container_names *names)
{
	size_t len = strlen(wanted);
	struct container_path parsed;

	parse_container_path(path, &parsed);
	if (len >= ID_PREFIX_MIN && !strncmp(parsed.id, wanted, len))
		return true;
	return name_matches(wanted, parsed.name) ||
	       (names && name_matches(wanted, names->container));
}

static bool names_match(
	const struct names_filter *filter, const char *path, const struct container_names *names)
{
	if (filter->pod && !pod_matches(filter->pod, path, names))
		return false;
	if (filter->namespace && !(names && name_matches(filter->namespace, names->namespace)))
		return false;
	return !filter->container || container_matches(filter->container, path, names);
}

/* The limit's cgroup may be of the pod alone, or of another one than the victim. */
static bool incident_names_match(const struct names_filter *filter, const struct incident *incident,
	const struct judgement *judgement)
{
	const char *limit = judgement->limit_level >= 0 && judgement->limit_level < EV_MAX_LEVELS
				    ? incident->level_paths[judgement->limit_level]
				    : "";

	return !names_given(filter) ||
	       names_match(filter, incident->victim_cgroup, &incident->names) ||
	       (limit[0] && names_match(filter, limit, whose_names(incident, judgement, limit)));
}

/* `pod` holds no '/', so what is found in a path lies within one component. */
static void parse_pod(struct argp_state *state, struct names_filter *filter, const char *text)
{
	if (!text[0] || strchr(text, '/'))
		argp_error(state,
			"--pod: '%s' is neither a name, nor a uid, nor a part of a cgroup's name",
			text);
	filter->pod = text;
}

static void parse_namespace(struct argp_state *state, struct names_filter *filter, const char *text)
{
	if (!text[0] || strchr(text, '/'))
		argp_error(state, "--namespace: '%s' is no name of a namespace", text);
	filter->namespace = text;
}

static void parse_container(struct argp_state *state, struct names_filter *filter, const char *text)
{
	if (!text[0] || strchr(text, '/'))
		argp_error(state, "--container: '%s' is no name and no id of a container", text);
	filter->container = text;
}

/* A typing error would else be an answer, "none". */
static void parse_verdict(struct argp_state *state, struct verdict_filter *filter, const char *text)
{
	const char *id = verdict_id(text);

	if (!id)
		argp_error(
			state, "--verdict: there is no '%s'; docs/verdicts.md has the list", text);
	else if (filter->count == VERDICTS_CHOSEN)
		argp_error(state, "--verdict: more than %d", VERDICTS_CHOSEN);
	else
		filter->ids[filter->count++] = id;
}

uint64_t filter_number(
	struct argp_state *state, const char *what, const char *text, uint64_t min, uint64_t max)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || !isdigit((unsigned char)text[0]) || *end || value < min || value > max)
		argp_error(state, "%s: '%s' is not a number from %llu to %llu", what, text,
			(unsigned long long)min, (unsigned long long)max);
	return value;
}

static error_t parse_name(
	int key, const char *value, struct argp_state *state, struct names_filter *names)
{
	switch (key) {
	case FILTER_POD:
		parse_pod(state, names, value);
		return 0;
	case FILTER_NAMESPACE:
		parse_namespace(state, names, value);
		return 0;
	case FILTER_CONTAINER:
		parse_container(state, names, value);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

error_t filter_parse(int key, const char *value, struct argp_state *state, struct filter *filter)
{
	switch (key) {
	case FILTER_CGROUP:
		if (value[0] != '/' && value[0] != '*')
			argp_error(state, "--cgroup: '%s' does not begin with '/'", value);
		filter->cgroup = value;
		return 0;
	case FILTER_COMM:
		if (!value[0] || strlen(value) > COMM_MAX)
			argp_error(state, "--comm: '%s' is no name of a process", value);
		filter->comm = value;
		return 0;
	case FILTER_PID:
		filter->pid = (uint32_t)filter_number(state, "--pid", value, 1, PID_MAX);
		return 0;
	case FILTER_VERDICT:
		parse_verdict(state, &filter->verdicts, value);
		return 0;
	default:
		return parse_name(key, value, state, &filter->names);
	}
}

bool filter_given(const struct filter *filter)
{
	return filter->cgroup || filter->comm || filter->pid || names_given(&filter->names) ||
	       filter->verdicts.count;
}

bool filter_verdicts(
	const struct verdict_filter *filter, const struct verdict *verdicts, unsigned int count)
{
	for (unsigned int i = 0; i < filter->count; i++)
		if (verdict_given(verdicts, count, filter->ids[i]))
			return true;
	return !filter->count;
}

bool filter_passes(const struct filter *filter, const struct incident *incident,
	const struct judgement *judgement)
{
	if (!any_victim(filter, incident) ||
		!incident_names_match(&filter->names, incident, judgement) ||
		!filter_verdicts(&filter->verdicts, judgement->verdicts, judgement->verdict_count))
		return false;
	if (!filter->cgroup)
		return true;
	if (judgement->limit_level >= 0 &&
		cgroup_matches(filter->cgroup, incident->level_paths[judgement->limit_level]))
		return true;
	return cgroup_matches(filter->cgroup, incident->victim_cgroup);
}

bool filter_change(const struct filter *filter, const struct growth_change *change,
	const char *path, const struct container_names *names)
{
	if ((filter->cgroup && !cgroup_matches(filter->cgroup, path)) ||
		!names_match(&filter->names, path, names))
		return false;
	/* Who asked for processes did not ask for cgroups. */
	if (change->is_cgroup)
		return !filter->pid && !filter->comm;
	return (!filter->pid || change->tgid == filter->pid) &&
	       (!filter->comm || !fnmatch(filter->comm, change->comm, 0));
}

bool filter_pressure(const struct filter *filter, const struct growth_pressure *pressure,
	const char *path, const struct container_names *names)
{
	if (!pressure->cgroup_id && (filter->cgroup || names_given(&filter->names)))
		return false;
	return (!filter->cgroup || cgroup_matches(filter->cgroup, path)) &&
	       names_match(&filter->names, path, names);
}

bool filter_stall(
	const struct filter *filter, const char *path, const struct container_names *names)
{
	return (!filter->cgroup || cgroup_matches(filter->cgroup, path)) &&
	       names_match(&filter->names, path, names);
}

bool filter_killing(const struct filter *filter, const struct killing *killing)
{
	if ((filter->cgroup && !cgroup_matches(filter->cgroup, killing->target_cgroup)) ||
		!names_match(&filter->names, killing->target_cgroup, &killing->names))
		return false;
	if (!filter->pid && !filter->comm)
		return true;
	for (unsigned int i = 0; i < killing->target_count && i < KILLING_TARGETS; i++) {
		const struct killing_target *target = &killing->targets[i];

		if ((!filter->pid || target->tgid == filter->pid) &&
			(!filter->comm || !fnmatch(filter->comm, target->comm, 0)))
			return true;
	}
	return false;
}

bool filter_refusal(const struct filter *filter, const struct refusal *refusal)
{
	return (!filter->cgroup || cgroup_matches(filter->cgroup, refusal->cgroup)) &&
	       names_match(&filter->names, refusal->cgroup, NULL) &&
	       (!filter->pid || refusal->tgid == filter->pid) &&
	       (!filter->comm || !fnmatch(filter->comm, refusal->comm, 0));
}
