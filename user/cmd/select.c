// SPDX-License-Identifier: Apache-2.0
#include "cmd/select.h"

#include <string.h>

#include "cmd/clock.h"
#include "cmd/when.h"

void selection_init(struct selection *selection)
{
	*selection = (struct selection) {.since_ns = INT64_MIN, .until_ns = INT64_MAX};
}

bool selection_looks_inside(const struct selection *selection)
{
	return filter_given(&selection->filter) || selection->scope_count;
}

bool selection_given(const struct selection *selection)
{
	return selection_looks_inside(selection) || selection->since_ns != INT64_MIN ||
	       selection->until_ns != INT64_MAX || selection->id || selection->last;
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

bool selection_passes(const struct selection *selection, int64_t id,
	const struct incident *incident, const struct judgement *judgement)
{
	return (!selection->id || selection->id == id) &&
	       filter_passes(&selection->filter, incident, judgement) &&
	       scope_passes(selection, judgement);
}

/* --- options --- */

enum {
	OPTION_SINCE = 0x200,
	OPTION_UNTIL,
	OPTION_SCOPE,
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
	{"cgroup", FILTER_CGROUP, "PATH", 0,
		"Whose limit or victim is in this cgroup or below it; a pattern (*, ?) matches "
		"whole paths",
		1},
	{"pod", FILTER_POD, "NAME", 0,
		"Whose limit or victim is in this pod: its name, a pattern, its uid, or a part of "
		"the name of a cgroup on the path",
		1},
	{"namespace", FILTER_NAMESPACE, "NAME", 0, "Of pods in this namespace; a name or pattern",
		1},
	{"container", FILTER_CONTAINER, "NAME", 0,
		"Of this container: its name, a pattern, or the beginning of its id", 1},
	{"comm", FILTER_COMM, "NAME", 0,
		"That killed a process of this name, or matching this pattern", 1},
	{"pid", FILTER_PID, "PID", 0, "That killed this process (host's pid)", 1},
	{"scope", OPTION_SCOPE, "SCOPE", 0,
		"By what was full: memcg, global, cpuset or mempolicy; more than one: either", 1},
	{"verdict", FILTER_VERDICT, "ID", 0,
		"With this verdict, as fork-family; more than one: either", 1},
	{"incident", OPTION_INCIDENT, "N", 0, "The one of this number, as `list' tells it", 1},
	{"last", OPTION_LAST, "N", OPTION_ARG_OPTIONAL, "The last N of these (default 1)", 1},
	{NULL, 0, NULL, 0, NULL, 0},
};

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

/* The number may also stand apart, as in `--last 3 FILE', which getopt leaves in the arguments. */
static void parse_last(struct argp_state *state, struct selection *selection, const char *text)
{
	const char *next = state->next < state->argc ? state->argv[state->next] : "";

	if (!text && next[0] && next[strspn(next, "0123456789")] == '\0') {
		text = next;
		state->next++;
	}
	selection->last = text ? filter_number(state, "--last", text, 1, UINT32_MAX) : 1;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct selection *selection = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		if (!selection->now_ns)
			selection->now_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
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
	case OPTION_INCIDENT:
		selection->id = (int64_t)filter_number(state, "--incident", value, 1, INT64_MAX);
		return 0;
	case OPTION_LAST:
		parse_last(state, selection, value);
		return 0;
	case ARGP_KEY_END:
		if (selection->since_ns > selection->until_ns)
			argp_error(state, "--since is later than --until");
		return 0;
	default:
		return filter_parse(key, value, state, &selection->filter);
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
