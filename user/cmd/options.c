// SPDX-License-Identifier: Apache-2.0
#include "cmd/options.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

enum {
	OPTION_CGROUP = 0x100,
	OPTION_COMM,
	OPTION_COLOR,
	OPTION_MAX_EVENTS,
	OPTION_TIMEOUT,
	OPTION_SETTLE,
	OPTION_READY_FD,
	OPTION_RING,
	OPTION_WITHOUT,
};

static const struct argp_option option_table[] = {
	{NULL, 0, NULL, 0, "What is told:", 1},
	{"cgroup", OPTION_CGROUP, "PATH", 0,
		"Only kills whose limit or victim is in this cgroup or below it; a pattern (*, ?) "
		"matches whole paths",
		1},
	{"comm", OPTION_COMM, "NAME", 0,
		"Only kills of a process of this name, or matching this pattern", 1},
	{"pid", 'p', "PID", 0, "Only kills of this process (host's pid)", 1},
	{NULL, 0, NULL, 0, "How it is told:", 2},
	{"json", 'j', NULL, 0, "One JSON object a line (NDJSON) in place of the text", 2},
	{"color", OPTION_COLOR, "WHEN", 0,
		"auto (default: on a terminal, without NO_COLOR), always or never", 2},
	{"quiet", 'q', NULL, 0, "No remarks on stderr, only errors", 2},
	{"verbose", 'v', NULL, 0, "Tell on stderr what is loaded and what libbpf says", 2},
	{NULL, 0, NULL, 0, "When it ends:", 3},
	{"max-events", OPTION_MAX_EVENTS, "N", 0, "End after N incidents", 3},
	{"timeout", OPTION_TIMEOUT, "TIME", 0, "End after TIME: 90, 90s, 5m or 2h", 3},
	{NULL, 0, NULL, 0, "For scripts and odd kernels:", 4},
	{"ready-fd", OPTION_READY_FD, "FD", 0,
		"Write \"READY\" and a newline there once all is attached", 4},
	{"settle", OPTION_SETTLE, "TIME", 0,
		"Wait so long for a victim to be gone before its record is told (default 5s)", 4},
	{"ring-size", OPTION_RING, "KIB", 0,
		"Size of the ring between kernel and tracer, a power of two (default 4096)", 4},
	{"without", OPTION_WITHOUT, "LIST", 0,
		"Leave out hooks by purpose, kind or name (see `oomsnoop doctor`)", 4},
	{NULL, 0, NULL, 0, NULL, 0},
};

static uint64_t parse_number(
	struct argp_state *state, const char *what, const char *text, uint64_t min, uint64_t max)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || value < min || value > max)
		argp_error(state, "%s: '%s' is not a number from %llu to %llu", what, text,
			(unsigned long long)min, (unsigned long long)max);
	return value;
}

static uint64_t parse_time(struct argp_state *state, const char *what, const char *text)
{
	static const struct {
		const char *suffix;
		double seconds;
	} units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"h", 3600}};
	char *end;
	double value = strtod(text, &end);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (end != text && !strcmp(end, units[i].suffix) && value > 0 &&
			value * units[i].seconds < 1e9)
			return value * units[i].seconds * 1e9;
	argp_error(state, "%s: '%s' is not a time such as 90, 90s, 5m or 2h", what, text);
	return 0;
}

static enum color_mode parse_color(struct argp_state *state, const char *text)
{
	if (!strcmp(text, "always"))
		return COLOR_ALWAYS;
	if (!strcmp(text, "never"))
		return COLOR_NEVER;
	if (strcmp(text, "auto"))
		argp_error(state, "--color: '%s' is none of auto, always, never", text);
	return COLOR_AUTO;
}

static error_t parse_filter(int key, char *value, struct argp_state *state)
{
	struct live_options *options = state->input;

	switch (key) {
	case OPTION_CGROUP:
		if (value[0] != '/' && value[0] != '*')
			argp_error(state, "--cgroup: '%s' does not begin with '/'", value);
		options->cgroup = value;
		return 0;
	case OPTION_COMM:
		if (!value[0] || strlen(value) > 64)
			argp_error(state, "--comm: '%s' is no name of a process", value);
		options->comm = value;
		return 0;
	case 'p':
		options->pid = parse_number(state, "--pid", value, 1, 1U << 22);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct live_options *options = state->input;

	switch (key) {
	case 'j':
		options->json = true;
		return 0;
	case 'q':
		options->quiet = true;
		return 0;
	case 'v':
		options->verbose = true;
		return 0;
	case OPTION_COLOR:
		options->color = parse_color(state, value);
		return 0;
	case OPTION_MAX_EVENTS:
		options->max_events = parse_number(state, "--max-events", value, 1, UINT64_MAX / 2);
		return 0;
	case OPTION_TIMEOUT:
		options->timeout_ns = parse_time(state, "--timeout", value);
		return 0;
	case OPTION_SETTLE:
		options->settle_ns = parse_time(state, "--settle", value);
		return 0;
	case OPTION_READY_FD:
		options->ready_fd = parse_number(state, "--ready-fd", value, 0, 1 << 20);
		return 0;
	case OPTION_RING:
		options->ring_bytes = parse_number(state, "--ring-size", value, 64, 1 << 20) << 10;
		if (options->ring_bytes & (options->ring_bytes - 1))
			argp_error(state, "--ring-size: %s is not a power of two", value);
		return 0;
	case OPTION_WITHOUT:
		options->without = value;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is no command; try --help", value);
		return 0;
	default:
		return parse_filter(key, value, state);
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "\ndoctor [--json]",
	.doc = "Explains every kill of the kernel's OOM killer as it happens: whose limit was hit, who asked "
	       "for the page, who died and why that one, and what came after.\n"
	       "`oomsnoop doctor` tells what works on this kernel and with these rights.\v"
	       "Records go to stdout, everything else to stderr.\n"
	       "Exit status: 0 done; 1 failed; 64 usage; 69 the kernel lacks what is needed; 74 output "
	       "error; 77 not permitted.",
};

int options_parse(int argc, char **argv, struct live_options *ret)
{
	*ret = (struct live_options) {.ready_fd = -1};
	argp_err_exit_status = EX_USAGE;
	return argp_parse(&argp, argc, argv, 0, NULL, ret) ? EX_USAGE : 0;
}
