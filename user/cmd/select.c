// SPDX-License-Identifier: Apache-2.0
#include "cmd/select.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cmd/filter.h"
#include "cmd/when.h"

#define UID_LEN 36
#define UID_LEN_STATIC 32 /* of a pod that the kubelet took from a file */
#define COMM_MAX 64

void selection_init(struct selection *selection)
{
	*selection = (struct selection) {.since_ns = INT64_MIN, .until_ns = INT64_MAX};
}

bool selection_looks_inside(const struct selection *selection)
{
	return selection->cgroup || selection->comm || selection->pid || selection->pod ||
	       selection->scope_count || selection->verdict_count;
}

bool selection_given(const struct selection *selection)
{
	return selection_looks_inside(selection) || selection->since_ns != INT64_MIN ||
	       selection->until_ns != INT64_MAX || selection->id || selection->last;
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

static bool pod_passes(const struct selection *selection, const struct incident *incident,
	const struct judgement *judgement)
{
	int level = judgement->limit_level;

	if (!selection->pod)
		return true;
	if (level >= 0 && level < EV_MAX_LEVELS &&
		path_is_of_pod(incident->level_paths[level], selection->pod))
		return true;
	return path_is_of_pod(incident->victim_cgroup, selection->pod);
}

/* --- the test --- */

static bool scope_passes(const struct selection *selection, const struct judgement *judgement)
{
	for (unsigned int i = 0; i < selection->scope_count; i++) {
		if (selection->scopes[i] == judgement->scope)
			return true;
	}
	return !selection->scope_count;
}

static bool verdict_passes(const struct selection *selection, const struct judgement *judgement)
{
	for (unsigned int i = 0; i < selection->verdict_count; i++) {
		for (unsigned int j = 0; j < judgement->verdict_count && j < VERDICTS_MAX; j++) {
			if (!strcmp(selection->verdicts[i], judgement->verdicts[j].id))
				return true;
		}
	}
	return !selection->verdict_count;
}

bool selection_passes(const struct selection *selection, int64_t id,
	const struct incident *incident, const struct judgement *judgement)
{
	struct live_options live = {
		.cgroup = selection->cgroup, .comm = selection->comm, .pid = selection->pid};

	return (!selection->id || selection->id == id) &&
	       filter_passes(&live, incident, judgement) &&
	       pod_passes(selection, incident, judgement) && scope_passes(selection, judgement) &&
	       verdict_passes(selection, judgement);
}

bool selection_passes_killing(const struct selection *selection, const struct killing *killing)
{
	struct live_options live = {
		.cgroup = selection->cgroup, .comm = selection->comm, .pid = selection->pid};

	return filter_killing(&live, killing) &&
	       (!selection->pod || path_is_of_pod(killing->target_cgroup, selection->pod));
}

/* --- options --- */

enum {
	OPTION_SINCE = 0x200,
	OPTION_UNTIL,
	OPTION_CGROUP,
	OPTION_POD,
	OPTION_COMM,
	OPTION_SCOPE,
	OPTION_VERDICT,
	OPTION_INCIDENT,
	OPTION_LAST,
};

#define OPTIONS_OF_TIME 3 /* their heading, --since, --until */

static const struct argp_option option_table[] = {
	{NULL, 0, NULL, 0, "Which incidents:", 1},
	{"since", OPTION_SINCE, "TIME", 0,
		"From this time on: \"2026-11-30 03:14\", 03:14, yesterday, today, 2h, \"90 min "
		"ago\", @1700000000, or RFC 3339; local without a zone",
		1},
	{"until", OPTION_UNTIL, "TIME", 0, "Up to this time; a day alone is its beginning", 1},
	{"cgroup", OPTION_CGROUP, "PATH", 0,
		"Whose limit or victim is in this cgroup or below it; a pattern (*, ?) matches "
		"whole paths",
		1},
	{"pod", OPTION_POD, "UID", 0,
		"Whose limit or victim is in the cgroup of the pod with this uid; any other text "
		"is looked for in the names of the cgroups on the path",
		1},
	{"comm", OPTION_COMM, "NAME", 0,
		"That killed a process of this name, or matching this pattern", 1},
	{"pid", 'p', "PID", 0, "That killed this process (host's pid)", 1},
	{"scope", OPTION_SCOPE, "SCOPE", 0,
		"By what was full: memcg, global, cpuset or mempolicy; more than one: either", 1},
	{"verdict", OPTION_VERDICT, "ID", 0,
		"With this verdict, as fork-family; more than one: either", 1},
	{"incident", OPTION_INCIDENT, "N", 0, "The one of this number, as `list' tells it", 1},
	{"last", OPTION_LAST, "N", OPTION_ARG_OPTIONAL, "The last N of these (default 1)", 1},
	{NULL, 0, NULL, 0, NULL, 0},
};

/* All ids of docs/verdicts.md: a typing error would else be an answer, "none". */
static const char *const verdict_ids[] = {"own-limit", "ancestor-limit", "host-exhausted",
	"host-larger-than-limit", "node-bound", "zone-exhausted", "operator-request",
	"limit-lowered", "victim-is-largest", "victim-not-largest", "swap-heavy", "tmpfs-held",
	"kernel-memory-held", "no-process-holds-it", "hugetlb-held", "page-cache-dirty",
	"no-victim", "fork-family", "group-kill", "steady-leak", "spike", "copy-on-write",
	"grew-most", "no-process-grew", "repeated", "killed-by-process", "killed-by-oom-daemon",
	"killed-by-kernel", "cgroup-killed", "cleanup-after-oom", "shm-full", "memory-fault"};

static uint64_t parse_number(
	struct argp_state *state, const char *what, const char *text, uint64_t max)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || text[0] < '0' || text[0] > '9' || *end || value < 1 || value > max)
		argp_error(state, "%s: '%s' is not a number from 1 to %llu", what, text,
			(unsigned long long)max);
	return value;
}

static int64_t parse_when(struct argp_state *state, const char *what, const char *text,
	const struct selection *selection, enum when_edge edge)
{
	int64_t ret = 0;

	if (when_parse(text, selection->now_ns, edge, &ret))
		argp_error(state,
			"%s: '%s' is not a time such as \"2026-11-30 03:14\", 03:14, yesterday, 2h, "
			"\"90 min ago\", @1700000000 or 2026-11-30T03:14:22Z",
			what, text);
	return ret;
}

static void parse_scope(struct argp_state *state, struct selection *selection, const char *text)
{
	static const enum scope all[] = {SCOPE_MEMCG, SCOPE_GLOBAL, SCOPE_CPUSET, SCOPE_MEMPOLICY};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(text, scope_name(all[i])) != 0)
			continue;
		if (selection->scope_count < SELECT_CHOICES)
			selection->scopes[selection->scope_count++] = all[i];
		return;
	}
	argp_error(state, "--scope: '%s' is none of memcg, global, cpuset, mempolicy", text);
}

static void parse_verdict(struct argp_state *state, struct selection *selection, const char *text)
{
	for (size_t i = 0; i < sizeof(verdict_ids) / sizeof(verdict_ids[0]); i++) {
		if (strcmp(text, verdict_ids[i]) != 0)
			continue;
		if (selection->verdict_count == SELECT_CHOICES)
			argp_error(state, "--verdict: more than %d", SELECT_CHOICES);
		else
			selection->verdicts[selection->verdict_count++] = verdict_ids[i];
		return;
	}
	argp_error(state, "--verdict: there is no '%s'; docs/verdicts.md has the list", text);
}

/* The number may also stand apart, as in `--last 3 FILE', which getopt leaves in the arguments. */
static void parse_last(struct argp_state *state, struct selection *selection, const char *text)
{
	const char *next = state->next < state->argc ? state->argv[state->next] : "";

	if (!text && next[0] && next[strspn(next, "0123456789")] == '\0') {
		text = next;
		state->next++;
	}
	selection->last = text ? parse_number(state, "--last", text, UINT32_MAX) : 1;
}

static void parse_pod(struct argp_state *state, struct selection *selection, const char *text)
{
	if (!text[0] || strchr(text, '/'))
		argp_error(
			state, "--pod: '%s' is neither a uid nor a part of a cgroup's name", text);
	selection->pod = text;
}

static error_t parse_name(int key, char *value, struct argp_state *state)
{
	struct selection *selection = state->input;

	switch (key) {
	case OPTION_CGROUP:
		if (value[0] != '/' && value[0] != '*')
			argp_error(state, "--cgroup: '%s' does not begin with '/'", value);
		selection->cgroup = value;
		return 0;
	case OPTION_POD:
		parse_pod(state, selection, value);
		return 0;
	case OPTION_COMM:
		if (!value[0] || strlen(value) > COMM_MAX)
			argp_error(state, "--comm: '%s' is no name of a process", value);
		selection->comm = value;
		return 0;
	case 'p':
		selection->pid = parse_number(state, "--pid", value, 1U << 22);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void take_now(struct selection *selection)
{
	struct timespec now;

	if (selection->now_ns)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	selection->now_ns = now.tv_sec * 1000000000LL + now.tv_nsec;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct selection *selection = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		take_now(selection);
		return 0;
	case OPTION_SINCE:
		selection->since_ns =
			parse_when(state, "--since", value, selection, WHEN_BEGINNING);
		return 0;
	case OPTION_UNTIL:
		selection->until_ns = parse_when(state, "--until", value, selection, WHEN_END);
		return 0;
	case OPTION_SCOPE:
		parse_scope(state, selection, value);
		return 0;
	case OPTION_VERDICT:
		parse_verdict(state, selection, value);
		return 0;
	case OPTION_INCIDENT:
		selection->id = (int64_t)parse_number(state, "--incident", value, INT64_MAX);
		return 0;
	case OPTION_LAST:
		parse_last(state, selection, value);
		return 0;
	case ARGP_KEY_END:
		if (selection->since_ns > selection->until_ns)
			argp_error(state, "--since is later than --until");
		return 0;
	default:
		return parse_name(key, value, state);
	}
}

const struct argp selection_argp = {.options = option_table, .parser = parse_option};
const struct argp selection_inside_argp = {
	.options = option_table + OPTIONS_OF_TIME, .parser = parse_option};

error_t selection_file(int key, char *value, struct argp_state *state, const char **file)
{
	switch (key) {
	case ARGP_KEY_ARG:
		if (*file)
			argp_error(state, "'%s' is one argument too many", value);
		*file = value;
		return 0;
	case ARGP_KEY_END:
		if (!*file)
			argp_error(state, "which file? `oomsnoop record' writes them");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}
