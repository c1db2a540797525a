// SPDX-License-Identifier: Apache-2.0
#include "cmd/options.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sysexits.h>
#include <unistd.h>

#include "cmd/probe.h"
#include "facts/below.h"
#include "model/stalling.h"

enum {
	OPTION_COLOR = 0x100,
	OPTION_MAX_EVENTS,
	OPTION_TIMEOUT,
	OPTION_SETTLE,
	OPTION_READY_FD,
	OPTION_RING,
	OPTION_WITHOUT,
	OPTION_MEMORY,
	OPTION_PROBE,
	OPTION_WINDOW,
	OPTION_HISTORY,
	OPTION_CENSUS,
	OPTION_FAULTS,
	OPTION_FAULT_PERIOD,
	OPTION_GROWTH,
	OPTION_MIN_DELTA,
	OPTION_INTERVAL,
	OPTION_WARN,
	OPTION_KILLS,
	OPTION_REFUSED,
	OPTION_STALL,
	OPTION_SOURCE,
	OPTION_HOST_ROOT,
};

#define SECOND_NS 1000000000ULL
#define HISTORY_MAX_NS (24 * 3600 * SECOND_NS)

static const struct argp_option option_table[] = {
	{NULL, 0, NULL, 0, "What is told:", 2},
	{"cgroup", FILTER_CGROUP, "PATH", 0,
		"Only kills whose limit or victim is in this cgroup or below it; a pattern (*, ?) "
		"matches whole paths",
		2},
	{"comm", FILTER_COMM, "NAME", 0,
		"Only kills of a process of this name, or matching this pattern", 2},
	{"pid", FILTER_PID, "PID", 0, "Only kills of this process (host's pid)", 2},
	{"kills", OPTION_KILLS, "WHICH", 0,
		"Kills that are not the OOM killer's: foreign (default: SIGKILL, but not by a "
		"process to its own descendants, and SIGBUS at memory that cannot be had), all "
		"(these, too, and SIGSEGV) or off",
		2},
	{"refused", OPTION_REFUSED, "WHEN", 0,
		"Memory and processes that were asked for and not given (ENOMEM, EAGAIN): auto "
		"(default: where functions can be hooked), on (at the price of every system call, "
		"elsewhere) or off",
		2},
	{"pod", FILTER_POD, "NAME", 0,
		"Only of this pod: its name, a pattern, its uid, or a part of its cgroup's name",
		2},
	{"namespace", FILTER_NAMESPACE, "NAME", 0,
		"Only of pods in this namespace; a name or pattern", 2},
	{"container", FILTER_CONTAINER, "NAME", 0,
		"Only of this container: its name, a pattern, or the beginning of its id", 2},
	{"verdict", FILTER_VERDICT, "ID", 0,
		"Only kills with this verdict, as fork-family or shm-full (docs/verdicts.md); more "
		"than one: either",
		2},
	{NULL, 0, NULL, 0, "The minutes before:", 6},
	{"window", OPTION_WINDOW, "TIME", 0, "A record looks back on so much (default 60s)", 6},
	{"history", OPTION_HISTORY, "TIME", 0, "So much is kept (default 10m)", 6},
	{"growth", OPTION_GROWTH, NULL, 0,
		"Tell of every process and cgroup that grows or shrinks, too", 6},
	{"min-delta", OPTION_MIN_DELTA, "SIZE", 0,
		"With --growth: once it has changed by SIZE (default 16MiB)", 6},
	{"interval", OPTION_INTERVAL, "TIME", 0, "With --growth: at most so often (default 1s)", 6},
	{"warn", OPTION_WARN, "LIST", 0,
		"Tell of limits that are near: 90% full, or full in 30s; both: 90%,30s", 6},
	{"stall", OPTION_STALL, "TIME", 0,
		"Tell of a cgroup that has stood still at memory.high for TIME (default 10s, at "
		"least 6s; off: do not; cgroup v2)",
		6},
	{"census", OPTION_CENSUS, "TIME", 0,
		"Look at all processes so often (default 1s); by itself up to 20 times a second "
		"near a limit, every 2 s where nothing moves",
		6},
	{"faults", OPTION_FAULTS, "WHEN", 0,
		"Count page faults: auto (default: near a limit), always or never", 6},
	{"fault-period", OPTION_FAULT_PERIOD, "N", 0,
		"Look at a process at every Nth of its page faults (default 64)", 6},
	{NULL, 0, NULL, 0, "How it is told:", 3},
	{"json", 'j', NULL, 0, "One JSON object a line (NDJSON) in place of the text", 3},
	{"color", OPTION_COLOR, "WHEN", 0,
		"auto (default: on a terminal, without NO_COLOR), always or never", 3},
	{"quiet", 'q', NULL, 0, "No remarks on stderr, only errors", 3},
	{"verbose", 'v', NULL, 0, "Tell on stderr what is loaded and what libbpf says", 3},
	{NULL, 0, NULL, 0, "When it ends:", 4},
	{"max-events", OPTION_MAX_EVENTS, "N", 0, "End after N incidents", 4},
	{"timeout", OPTION_TIMEOUT, "TIME", 0, "End after TIME: 90, 90s, 5m or 2h", 4},
	{NULL, 0, NULL, 0, "For scripts and odd kernels:", 5},
	{"ready-fd", OPTION_READY_FD, "FD", 0,
		"Write \"READY\" and a newline there once all is attached", 5},
	{"source", OPTION_SOURCE, "WHAT", 0,
		"What tells of kills: bpf; kmsg: the kernel log alone; cgroup: the files of the own "
		"cgroup, without any right; auto (default): the first of these that is permitted",
		5},
	{"settle", OPTION_SETTLE, "TIME", 0,
		"Wait so long for a victim to be gone before its record is told (default 5s)", 5},
	{"ring-size", OPTION_RING, "KIB", 0,
		"Size of the ring between kernel and tracer, a power of two (default 4096)", 5},
	{"host-root", OPTION_HOST_ROOT, "DIR", 0,
		"Where the host's file system is seen, for names of pods and containers (default "
		"/; in a container /host, say)",
		5},
	{"memory", OPTION_MEMORY, "SIZE", 0,
		"Smaller tables, which take no more than SIZE once they are full (see `oomsnoop "
		"doctor`)",
		5},
	{"probe", OPTION_PROBE, "NAME", OPTION_ARG_OPTIONAL,
		"Answer `oomsnoop probe NAME` while it watches (default: " PROBE_NAME ")", 5},
	{"without", OPTION_WITHOUT, "LIST", 0,
		"Leave out hooks by purpose, kind or name (see `oomsnoop doctor`)", 5},
	{NULL, 0, NULL, 0, NULL, 0},
};

uint64_t options_time(struct argp_state *state, const char *what, const char *text)
{
	static const struct {
		const char *suffix;
		double seconds;
	} units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"h", 3600}, {"d", 86400}};
	char *end;
	double value = strtod(text, &end);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (end != text && !strcmp(end, units[i].suffix) && value > 0 &&
			value * units[i].seconds < 1e9)
			return value * units[i].seconds * 1e9;
	argp_error(state, "%s: '%s' is not a time such as 90, 90s, 5m, 2h or 7d", what, text);
	return 0;
}

const char *options_host_root(struct argp_state *state, const char *text)
{
	int fd = below_root(text);

	if (text[0] != '/' || fd < 0)
		argp_error(state, "--host-root: '%s' is no directory that can be opened (%s)", text,
			fd < 0 ? strerror(-fd) : "it does not begin with '/'");
	if (fd >= 0)
		close(fd);
	return strcmp(text, "/") == 0 ? "" : text;
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

uint64_t options_size(struct argp_state *state, const char *what, const char *text)
{
	static const struct {
		const char *suffix;
		unsigned int shift;
	} units[] = {{"", 0}, {"B", 0}, {"K", 10}, {"KiB", 10}, {"M", 20}, {"MiB", 20}, {"G", 30},
		{"GiB", 30}, {"T", 40}, {"TiB", 40}};
	char *end;
	double value = strtod(text, &end);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (end != text && !strcasecmp(end, units[i].suffix) && value > 0 &&
			value * (double)(1ULL << units[i].shift) < 1e18)
			return value * (double)(1ULL << units[i].shift);
	argp_error(state, "%s: '%s' is not a size such as 512KiB, 16MiB or 1G", what, text);
	return 0;
}

static enum live_source parse_source(struct argp_state *state, const char *text)
{
	static const char *const names[] = {[SOURCE_AUTO] = "auto",
		[SOURCE_BPF] = "bpf",
		[SOURCE_KMSG] = "kmsg",
		[SOURCE_CGROUP] = "cgroup"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(text, names[i]))
			return (enum live_source)i;
	argp_error(state, "--source: '%s' is none of auto, bpf, kmsg, cgroup", text);
	return SOURCE_AUTO;
}

static enum faults_mode parse_faults(struct argp_state *state, const char *text)
{
	if (!strcmp(text, "always"))
		return FAULTS_ALWAYS;
	if (!strcmp(text, "never"))
		return FAULTS_NEVER;
	if (strcmp(text, "auto"))
		argp_error(state, "--faults: '%s' is none of auto, always, never", text);
	return FAULTS_AUTO;
}

static enum kills_mode parse_kills(struct argp_state *state, const char *text)
{
	if (!strcmp(text, "all"))
		return KILLS_ALL;
	if (!strcmp(text, "off"))
		return KILLS_OFF;
	if (strcmp(text, "foreign"))
		argp_error(state, "--kills: '%s' is none of foreign, all, off", text);
	return KILLS_FOREIGN;
}

enum refused_mode options_refused(struct argp_state *state, const char *text)
{
	if (!strcmp(text, "on"))
		return REFUSED_ON;
	if (!strcmp(text, "off"))
		return REFUSED_OFF;
	if (strcmp(text, "auto"))
		argp_error(state, "--refused: '%s' is none of auto, on, off", text);
	return REFUSED_AUTO;
}

static uint64_t parse_stall(struct argp_state *state, const char *text)
{
	uint64_t ret = strcmp(text, "off") ? options_time(state, "--stall", text) : 0;

	if (ret && ret < STALL_MIN_NS)
		argp_error(state, "--stall: %s is less than 6s", text);
	return ret;
}

static void parse_threshold(
	struct argp_state *state, struct warn_threshold *threshold, const char *text)
{
	char *end;
	double percent = strtod(text, &end);

	threshold->text = text;
	if (end != text && !strcmp(end, "%")) {
		if (!(percent > 0 && percent <= 100))
			argp_error(state, "--warn: '%s' is not between 0%% and 100%%", text);
		threshold->ratio = percent / 100;
		return;
	}
	threshold->left_ns = options_time(state, "--warn", text);
}

/* The list is taken apart in place: what was given lives as long as the process. */
static void parse_warn(struct argp_state *state, struct live_options *options, char *list)
{
	char *rest = NULL;

	for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		if (options->warn_count == WARN_MAX)
			argp_error(state, "--warn: more than %d thresholds", WARN_MAX);
		else
			parse_threshold(state, &options->warn[options->warn_count++], word);
	}
	if (!options->warn_count)
		argp_error(state, "--warn: nothing is named, as in 90%% or 30s");
}

static error_t parse_recorder(int key, char *value, struct argp_state *state)
{
	struct live_options *options = state->input;

	switch (key) {
	case OPTION_WINDOW:
		options->window_ns = options_time(state, "--window", value);
		return 0;
	case OPTION_HISTORY:
		options->history_ns = options_time(state, "--history", value);
		if (options->history_ns > HISTORY_MAX_NS)
			argp_error(state, "--history: %s is more than a day", value);
		return 0;
	case OPTION_CENSUS:
		options->census_ns = options_time(state, "--census", value);
		if (options->census_ns < 10000000ULL)
			argp_error(state, "--census: %s is less than 10ms", value);
		return 0;
	case OPTION_FAULTS:
		options->faults = parse_faults(state, value);
		return 0;
	case OPTION_FAULT_PERIOD:
		options->fault_period = filter_number(state, "--fault-period", value, 1, 1 << 20);
		return 0;
	case OPTION_GROWTH:
		options->growth = true;
		return 0;
	case OPTION_MIN_DELTA:
		options->min_delta_bytes = options_size(state, "--min-delta", value);
		return 0;
	case OPTION_INTERVAL:
		options->interval_ns = options_time(state, "--interval", value);
		return 0;
	case OPTION_STALL:
		options->stall_ns = parse_stall(state, value);
		return 0;
	case OPTION_WARN:
		parse_warn(state, options, value);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_filter(int key, char *value, struct argp_state *state)
{
	struct live_options *options = state->input;
	error_t error;

	switch (key) {
	case OPTION_KILLS:
		options->kills = parse_kills(state, value);
		return 0;
	case OPTION_REFUSED:
		options->refused = options_refused(state, value);
		return 0;
	default:
		error = filter_parse(key, value, state, &options->filter);
		return error == ARGP_ERR_UNKNOWN ? parse_recorder(key, value, state) : error;
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
		options->max_events =
			filter_number(state, "--max-events", value, 1, UINT64_MAX / 2);
		return 0;
	case OPTION_TIMEOUT:
		options->timeout_ns = options_time(state, "--timeout", value);
		return 0;
	case OPTION_SETTLE:
		options->settle_ns = options_time(state, "--settle", value);
		return 0;
	case OPTION_READY_FD:
		options->ready_fd = filter_number(state, "--ready-fd", value, 0, 1 << 20);
		return 0;
	case OPTION_RING:
		options->ring_bytes = filter_number(state, "--ring-size", value, 64, 1 << 20) << 10;
		if (options->ring_bytes & (options->ring_bytes - 1))
			argp_error(state, "--ring-size: %s is not a power of two", value);
		return 0;
	case OPTION_WITHOUT:
		options->without = value;
		return 0;
	case OPTION_SOURCE:
		options->source = parse_source(state, value);
		return 0;
	case OPTION_HOST_ROOT:
		options->host_root = options_host_root(state, value);
		return 0;
	case OPTION_MEMORY:
		options->memory_bytes = options_size(state, "--memory", value);
		return 0;
	case OPTION_PROBE:
		options->probe = value ? value : PROBE_NAME;
		if (!options->probe[0] || strlen(options->probe) > PROBE_NAME_MAX)
			argp_error(state, "--probe: '%s' is no name of a probe", options->probe);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is no command; try --help", value);
		return 0;
	default:
		return parse_filter(key, value, state);
	}
}

const struct argp options_argp = {.options = option_table, .parser = parse_option};

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.args_doc =
		"\nrecord [-o FILE] [--also-print]"
		"\nrun [--memory-max SIZE] [--] CMD…"
		"\nlist FILE [--json]\nreport FILE [--html OUT]\nexport FILE [--series]"
		"\ndoctor [--json] [--host-root DIR]\nprobe [NAME]\nparse [--json|--text] [FILE…|-]\nrank [--cgroup PATH] [--json] [-n N]",
	.doc = "Explains every kill of the kernel's OOM killer as it happens: whose limit was hit, who asked "
	       "for the page, who died and why that one, and what came after.\n"
	       "`oomsnoop record` stores them, with the minutes before; `list`, "
	       "`report` and `export` tell of them later, anywhere. "
	       "`oomsnoop run` runs a command and tells how it ended. "
	       "`oomsnoop doctor` tells what works on this kernel and with these rights, `oomsnoop rank` who "
	       "would be killed next, `oomsnoop parse` what kernel logs tell of earlier kills; those two need "
	       "neither BPF nor root.\v"
	       "Records go to stdout, everything else to stderr.\n"
	       "Exit status: 0 done; 1 failed; 64 usage; 69 the kernel lacks what is needed, or a limit "
	       "leaves too little memory; 74 output "
	       "error; 77 not permitted.",
};

void options_defaults(struct live_options *ret)
{
	*ret = (struct live_options) {.ready_fd = -1,
		.host_root = "",
		.window_ns = 60 * SECOND_NS,
		.history_ns = 600 * SECOND_NS,
		.census_ns = SECOND_NS,
		.stall_ns = 10 * SECOND_NS,
		.fault_period = 64,
		.min_delta_bytes = 16 << 20,
		.interval_ns = SECOND_NS};
}

int options_parse(int argc, char **argv, struct live_options *ret)
{
	options_defaults(ret);
	argp_err_exit_status = EX_USAGE;
	return argp_parse(&argp, argc, argv, 0, NULL, ret) ? EX_USAGE : 0;
}
