// SPDX-License-Identifier: Apache-2.0
/* oomsnoop export: a store as NDJSON: the records of its incidents as they were told live, and on
 * request the series behind them. */
#include "cmd/export.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "cmd/outfile.h"
#include "cmd/reading.h"
#include "cmd/reading_kills.h"
#include "cmd/select.h"
#include "sink/json_series.h"
#include "sink/view.h"

/* --- options --- */

struct export_options {
	const char *file;
	struct selection selection;
	bool series;
};

enum { OPTION_SERIES = 0x400 };

static const struct argp_option option_table[] = {
	{"series", OPTION_SERIES, NULL, 0,
		"After the incidents, every point of every series, and the gaps: those between "
		"--since and --until, whatever else was asked for",
		2},
	{NULL, 0, NULL, 0, NULL, 0},
};

static const struct argp_child children[] = {{&selection_argp, 0, NULL, 1}, {NULL, 0, NULL, 0}};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct export_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->selection;
		return 0;
	case OPTION_SERIES:
		options->series = true;
		return 0;
	default:
		return selection_file(key, value, state, &options->file);
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.children = children,
	.args_doc = "FILE",
	.doc = "Writes what a capture store holds as NDJSON, one object a line, as "
	       "docs/record-schema.md describes. Needs no root and nothing but the file.\v"
	       "Exit status: 0 done, also if nothing matches; 1 failed; 64 usage; 65 the file "
	       "cannot be read; 74 output error; 77 not permitted.",
};

/* --- lines --- */

struct export_run {
	const struct export_options *options;
	struct reading reading;
	struct reading_kills kills;
	struct outfile out;
	bool begun;
	uint64_t points;
	char hostname[65];
	char line[SINK_JSON_MAX];
};

static int put_kill(struct reading_kills *kills, void *arg)
{
	struct export_run *run = arg;
	struct buf buf;

	buf_init(&buf, run->line, sizeof(run->line));
	reading_kills_json(kills, &buf);
	return outfile_put(&run->out, buf.data, buf.len);
}

/* In the order of time; of the last N only those between them and after. */
static int put_kills_until(struct export_run *run, int64_t time_ns)
{
	if (!run->begun && run->options->selection.last)
		reading_kills_skip(&run->kills, time_ns);
	run->begun = true;
	return reading_kills_until(&run->kills, time_ns, put_kill, run);
}

static int put_incident(struct reading *reading, void *arg)
{
	struct export_run *run = arg;
	struct buf buf;
	int err = put_kills_until(
		run, view_wall_ns(&reading->context, reading->captured->incident.time_ns));

	if (err)
		return err;
	buf_init(&buf, run->line, sizeof(run->line));
	if (json_incident(
		    &buf, &reading->context, &reading->captured->incident, reading->judgement)) {
		reading_say(reading, "incident %lld does not fit into a line and is left out",
			(long long)reading->captured->id);
		return 0;
	}
	return outfile_put(&run->out, buf.data, buf.len);
}

static void put_point(const struct capture_run *capture, const struct history_owner *owner,
	const char *path, const struct history_point *point, void *arg)
{
	struct export_run *run = arg;
	struct buf buf;

	if (run->reading.output_error)
		return;
	buf_init(&buf, run->line, sizeof(run->line));
	json_series(&buf, capture, owner, path, point);
	run->reading.output_error = outfile_put(&run->out, buf.data, buf.len);
	run->points++;
	reading_progress(&run->reading, "points:", run->points, 0);
}

static void put_gap(const struct store_gap *gap, void *arg)
{
	struct export_run *run = arg;
	struct buf buf;

	if (run->reading.output_error)
		return;
	buf_init(&buf, run->line, sizeof(run->line));
	json_gap(&buf, run->hostname, gap);
	run->reading.output_error = outfile_put(&run->out, buf.data, buf.len);
}

/* As with an incident: what is damaged is said, and what is there is given. */
static void put_series(struct export_run *run)
{
	struct reading *reading = &run->reading;
	const struct selection *selection = &run->options->selection;
	struct store_summary summary;
	int err, series_err;

	if (!store_summary(reading->store, &summary))
		snprintf(run->hostname, sizeof(run->hostname), "%s", summary.hostname);
	err = store_gaps(reading->store, selection->since_ns, selection->until_ns, put_gap, run);
	if (err)
		reading_say(reading, "a part of the gaps cannot be read: %s",
			store_why(reading->store));
	series_err = store_series(
		reading->store, selection->since_ns, selection->until_ns, put_point, run);
	reading_progress_end(reading);
	if (series_err)
		reading_say(reading, "a part of the series cannot be read: %s",
			store_why(reading->store));
	/* Something was told, then, even if no incident was. */
	reading->shown += run->points > 0;
	reading->unreadable += err || series_err;
}

static int tell(struct export_run *run)
{
	struct reading *reading = &run->reading;

	reading->output_error = outfile_open(&run->out, "-");
	if (!reading->output_error) {
		reading->progress = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
		if (reading_kills_open(&run->kills, reading))
			reading_say(reading,
				"not enough memory for the kills that were not the OOM "
				"killer's");
		reading_each(reading, put_incident, run);
	}
	if (!reading->output_error)
		reading->output_error = put_kills_until(run, INT64_MAX);
	if (!reading->output_error && run->options->series)
		put_series(run);
	if (!reading->output_error)
		reading->output_error = outfile_flush(&run->out);
	return reading_status(reading);
}

int cmd_export(int argc, char **argv)
{
	static struct export_run run;
	struct export_options options = {0};
	int status;

	argp_err_exit_status = EX_USAGE;
	selection_init(&options.selection);
	if (argp_parse(&argp, argc, argv, 0, NULL, &options))
		return EX_USAGE;
	signal(SIGPIPE, SIG_IGN);
	tzset();
	run.options = &options;
	status = reading_open(&run.reading, "export", options.file, &options.selection);
	if (!status)
		status = tell(&run);
	reading_kills_close(&run.kills);
	reading_close(&run.reading);
	return status;
}
