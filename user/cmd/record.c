// SPDX-License-Identifier: Apache-2.0
/* oomsnoop record: the live trace with its options, into a store. */
#include "cmd/record.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

#include "cmd/keeper.h"
#include "cmd/live.h"
#include "cmd/options.h"

#define DEFAULT_FOLDER "/var/lib/oomsnoop"
#define DEFAULT_FILE DEFAULT_FOLDER "/oom.db"
#define DEFAULT_MAX_BYTES (512ULL << 20)
#define DAY_NS (86400 * 1000000000ULL)

enum { OPTION_ALSO_PRINT = 0x200, OPTION_SERIES, OPTION_MAX_SIZE, OPTION_KEEP };

struct record_options {
	struct live_options live;
	struct keeper_options keeper;
};

static const struct argp_option option_table[] = {
	{NULL, 0, NULL, 0, "What is stored:", 1},
	{"output", 'o', "FILE", 0, "The store (default " DEFAULT_FILE ")", 1},
	{"series", OPTION_SERIES, "WHICH", 0,
		"all (default): how memory moved at any time; incidents: only in the minutes before "
		"an incident",
		1},
	{"max-size", OPTION_MAX_SIZE, "SIZE", 0,
		"The store takes no more than SIZE, at least 4MiB (default 512MiB): what is oldest "
		"goes",
		1},
	{"keep", OPTION_KEEP, "TIME", 0, "What is older goes (default 30d; 0: never)", 1},
	{"also-print", OPTION_ALSO_PRINT, NULL, 0,
		"Tell of them on standard output, too, as without `record`", 1},
	{NULL, 0, NULL, 0, NULL, 0},
};

static void parse_series(struct argp_state *state, struct record_options *options, const char *text)
{
	options->keeper.series_all = !strcmp(text, "all");
	if (!options->keeper.series_all && strcmp(text, "incidents"))
		argp_error(state, "--series: '%s' is none of all, incidents", text);
}

static void parse_max_size(
	struct argp_state *state, struct record_options *options, const char *text)
{
	options->keeper.limits.max_bytes = options_size(state, "--max-size", text);
	if (options->keeper.limits.max_bytes < STORE_MIN_BYTES)
		argp_error(state, "--max-size: %s is less than 4MiB", text);
}

/* What only changes what is printed is no mistake, even if nothing is; what only prints is one. */
static void check(struct argp_state *state, const struct live_options *live)
{
	if (live->silent && live->growth)
		argp_error(state, "--growth prints, and needs --also-print");
	if (live->silent && live->warn_count)
		argp_error(state, "--warn prints, and needs --also-print");
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct record_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->live;
		return 0;
	case 'o':
		if (!value[0])
			argp_error(state, "--output: no file is named");
		options->keeper.path = value;
		return 0;
	case OPTION_SERIES:
		parse_series(state, options, value);
		return 0;
	case OPTION_MAX_SIZE:
		parse_max_size(state, options, value);
		return 0;
	case OPTION_KEEP:
		options->keeper.limits.keep_ns =
			strcmp(value, "0") ? options_time(state, "--keep", value) : 0;
		return 0;
	case OPTION_ALSO_PRINT:
		options->live.silent = false;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is too much; the file is named with -o", value);
		return 0;
	case ARGP_KEY_END:
		check(state, &options->live);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{&options_argp, 0, NULL, 0},
	{NULL, 0, NULL, 0},
};

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.children = children,
	.doc = "Stores every kill of the kernel's OOM killer, with what led to it, in an SQLite file "
	       "that `oomsnoop list`, `report` and `export` read.\v"
	       "Each incident is on the disk when it is announced on standard error.\n"
	       "Exit status: 0 done; 1 failed, or another recorder writes there; 64 usage; 65 the "
	       "file is no store, damaged or of a newer version; 69 the kernel lacks what is "
	       "needed; 74 it cannot be written, or something could not be stored in the end; 77 "
	       "not permitted.",
};

/* 0 or the exit status. */
static int make_folder(void)
{
	int error = mkdir(DEFAULT_FOLDER, 0750) ? errno : 0;

	if (!error || error == EEXIST)
		return 0;
	fprintf(stderr, "oomsnoop: record: cannot make " DEFAULT_FOLDER ": %s\n", strerror(error));
	return error == EACCES || error == EPERM ? EX_NOPERM : EX_IOERR;
}

int cmd_record(int argc, char **argv)
{
	static struct record_options options;
	int status;

	options_defaults(&options.live);
	options.live.silent = true;
	options.keeper = (struct keeper_options) {
		.limits = {.max_bytes = DEFAULT_MAX_BYTES, .keep_ns = 30 * DAY_NS},
		.series_all = true,
	};
	argp_err_exit_status = EX_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &options))
		return EX_USAGE;
	if (!options.keeper.path) {
		status = live_rights();
		if (!status)
			status = make_folder();
		if (status)
			return status;
		options.keeper.path = DEFAULT_FILE;
	}
	options.keeper.quiet = options.live.quiet;
	return live_run(&options.live, &options.keeper);
}
