// SPDX-License-Identifier: Apache-2.0
/* oomsnoop report: incidents of a store as they were told live, with the minutes around them; or
 * one of them as a page or a chart. */
#include "cmd/report.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "cmd/outfile.h"
#include "cmd/output.h"
#include "cmd/reading.h"
#include "cmd/reading_kills.h"
#include "cmd/report_page.h"
#include "cmd/select.h"
#include "cmd/show.h"
#include "cmd/window.h"
#include "sink/text_timeline.h"
#include "sink/view.h"

#define RECORD_BYTES (SINK_JSON_MAX > 2 * SINK_TEXT_MAX ? SINK_JSON_MAX : 2 * SINK_TEXT_MAX)

/* --- options --- */

struct report_options {
	const char *file;
	struct selection selection;
	struct show show;
	bool no_timeline;
	bool fail_on_oom;
	const char *html, *svg; /* NULL: no */
};

enum { OPTION_HTML = 0x400, OPTION_SVG, OPTION_NO_TIMELINE, OPTION_FAIL };

static const struct argp_option option_table[] = {
	{"no-timeline", OPTION_NO_TIMELINE, NULL, 0,
		"Only the text as it was told live, without the minutes around it", 2},
	{"html", OPTION_HTML, "OUT", 0,
		"Write a page on the last of these incidents to OUT (- for stdout), in place of "
		"the text",
		2},
	{"svg", OPTION_SVG, "OUT", 0, "The same, only the chart", 2},
	{NULL, 0, NULL, 0, "For scripts:", 3},
	{"fail-on-oom", OPTION_FAIL, NULL, 0,
		"Exit status 3 if a process was killed in any of these incidents", 3},
	{NULL, 0, NULL, 0, NULL, 0},
};

static const struct argp_child children[] = {
	{&selection_argp, 0, NULL, 1}, {&show_argp, 0, NULL, 2}, {NULL, 0, NULL, 0}};

static void check_outputs(struct argp_state *state, const struct report_options *options)
{
	bool page = options->html || options->svg;

	if (page && options->show.json)
		argp_error(state, "--json writes text to stdout, --html and --svg do not: one of "
				  "them");
	if (options->html && options->svg && !strcmp(options->html, options->svg))
		argp_error(state, "--html and --svg cannot both be written to '%s'", options->svg);
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct report_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->selection;
		state->child_inputs[1] = &options->show;
		return 0;
	case OPTION_HTML:
		options->html = value;
		return 0;
	case OPTION_SVG:
		options->svg = value;
		return 0;
	case OPTION_NO_TIMELINE:
		options->no_timeline = true;
		return 0;
	case OPTION_FAIL:
		options->fail_on_oom = true;
		return 0;
	case ARGP_KEY_END:
		selection_file(key, value, state, &options->file);
		check_outputs(state, options);
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
	.doc = "Tells the last incident of a capture store, or those that are asked for, as they were "
	       "told live, and the minutes around them. Needs no root and nothing but the file.\v"
	       "Exit status: 0 done, also if nothing matches; 1 failed, or there is nothing to make a "
	       "page of; 3 with --fail-on-oom, if there was a kill; 64 usage; 65 the file cannot be "
	       "read; 74 output error; 77 not permitted.",
};

/* --- text and records --- */

struct report_run {
	const struct report_options *options;
	struct reading reading;
	struct reading_kills kills;
	struct window window; /* of the incident in hand */
	struct outfile out;
	bool begun; /* something was written */
	bool killed; /* in one of the incidents that were told */
	int page_error; /* -errno of the first page that could not be made */
	char record[RECORD_BYTES];
};

static void add_timeline(struct report_run *run, struct buf *buf)
{
	struct reading *reading = &run->reading;
	struct timeline timeline = {
		.incident = &reading->captured->incident,
		.judgement = reading->judgement,
	};

	window_load(&run->window, reading, WINDOW_OF_RECORD);
	timeline.chart = run->window.has_chart ? &run->window.chart : NULL;
	timeline.gaps = run->window.gaps;
	timeline.gap_count = run->window.gap_count;
	if (text_timeline(buf, &reading->context, &timeline))
		reading_say(reading, "the timeline of incident %lld does not fit and is left out",
			(long long)reading->captured->id);
	window_free(&run->window);
}

static int put_kill(struct reading_kills *kills, void *arg)
{
	struct report_run *run = arg;
	bool json = run->options->show.json;
	struct buf buf;
	int err;

	buf_init(&buf, run->record, sizeof(run->record));
	if (run->begun && !json)
		buf_putc(&buf, '\n');
	err = json ? reading_kills_json(kills, &buf) : reading_kills_text(kills, &buf);
	if (err)
		return 0;
	run->begun = true;
	return outfile_put(&run->out, buf.data, buf.len);
}

/* In the order of time; of the last N incidents only those between them and after. */
static int put_kills_until(struct report_run *run, int64_t time_ns)
{
	if (!run->begun && run->reading.selection.last)
		reading_kills_skip(&run->kills, time_ns);
	return reading_kills_until(&run->kills, time_ns, put_kill, run);
}

/* After the last incident: without a wish only the last kill, if there was one. */
static int put_last_kills(struct report_run *run)
{
	struct reading_kills *kills = &run->kills;
	size_t left = kills->count - kills->next;

	if (selection_given(&run->options->selection) || left < 2)
		return put_kills_until(run, INT64_MAX);
	if (!run->options->show.quiet)
		reading_say(&run->reading,
			"and the last of %zu kills and refusals since then that were not the OOM "
			"killer's; --since tells more",
			left);
	kills->next = kills->count - 1;
	return reading_kills_until(kills, INT64_MAX, put_kill, run);
}

static int put_incident(struct reading *reading, void *arg)
{
	struct report_run *run = arg;
	const struct incident *incident = &reading->captured->incident;
	bool json = run->options->show.json;
	struct buf buf;
	int err = put_kills_until(run, view_wall_ns(&reading->context, incident->time_ns));

	if (err)
		return err;
	run->killed |= incident->outcome == OUTCOME_KILLED;
	buf_init(&buf, run->record, sizeof(run->record));
	/* As between records told live. */
	if (run->begun && !json)
		buf_putc(&buf, '\n');
	err = json ? json_incident(&buf, &reading->context, incident, reading->judgement)
		   : text_incident(&buf, &reading->context, incident, reading->judgement);
	if (err) {
		reading_say(reading, "the record of incident %lld does not fit and is left out",
			(long long)reading->captured->id);
		return 0;
	}
	run->begun = true;
	if (!json && !run->options->no_timeline)
		add_timeline(run, &buf);
	err = outfile_put(&run->out, buf.data, buf.len);
	/* Each is there when it is ready: reading the next one's series may take a while. */
	return err ? err : outfile_flush(&run->out);
}

/* --- pages --- */

static int write_piece(const char *data, size_t len, void *arg)
{
	return outfile_put(arg, data, len);
}

/* To stdout a page is a record like others; a file has messages of its own. */
static int page_failed(struct report_run *run, const char *path, int err)
{
	struct reading *reading = &run->reading;

	if (!run->page_error)
		run->page_error = err;
	if (err == -ENODATA) {
		reading_say(reading, "incident %lld: there are no series to draw a chart of",
			(long long)reading->captured->id);
		return 0;
	}
	if (!strcmp(path, "-"))
		return err;
	if (err != -EPIPE)
		reading_say(reading, "cannot write %s: %s", path, strerror(-err));
	return 0;
}

static int put_page(struct report_run *run, const char *path, bool html)
{
	struct reading *reading = &run->reading;
	int err = outfile_open(&run->out, path);

	if (err)
		return page_failed(run, path, err);
	err = html ? report_html(reading, &run->window, write_piece, &run->out)
		   : report_svg(reading, &run->window, write_piece, &run->out);
	if (!err)
		err = outfile_commit(&run->out);
	outfile_discard(&run->out);
	return err ? page_failed(run, path, err) : 0;
}

static int put_pages(struct reading *reading, void *arg)
{
	struct report_run *run = arg;
	const struct report_options *options = run->options;
	int err = 0;

	run->killed |= reading->captured->incident.outcome == OUTCOME_KILLED;
	window_load(&run->window, reading, WINDOW_WHOLE);
	if (options->html)
		err = put_page(run, options->html, true);
	if (!err && options->svg)
		err = put_page(run, options->svg, false);
	window_free(&run->window);
	return err;
}

/* --- the command --- */

/* Without a wish the last incident is told; of more there is a page on the last. */
static void narrow(struct report_run *run)
{
	struct reading *reading = &run->reading;
	const struct report_options *options = run->options;

	if (options->html || options->svg) {
		reading->selection.last = 1;
		return;
	}
	if (selection_given(&options->selection))
		return;
	reading->selection.last = 1;
	if (reading->count > 1 && !options->show.quiet)
		reading_say(reading,
			"the last of %zu incidents; `oomsnoop list' names them, --last %zu or "
			"--incident N tells more",
			reading->count, reading->count);
}

static bool stop_at_kill(const struct reading *reading)
{
	return reading->captured->incident.outcome == OUTCOME_KILLED;
}

/* Is there a kill in any incident that was asked for, told or not? */
static bool any_kill(struct report_run *run)
{
	struct reading *reading = &run->reading;

	if (run->killed)
		return true;
	/* What narrow() left out counts, too. */
	reading->selection.last = run->options->selection.last;
	return reading_any(reading, stop_at_kill);
}

static int page_status(int err)
{
	switch (err) {
	case 0:
	case -EPIPE: /* who reads no further has what it wanted */
		return 0;
	case -ENODATA:
	case -ENOMEM:
		return 1;
	case -EACCES:
	case -EPERM:
		return EX_NOPERM;
	default:
		return EX_IOERR;
	}
}

static int tell(struct report_run *run)
{
	struct reading *reading = &run->reading;
	const struct report_options *options = run->options;
	bool page = options->html || options->svg;
	int status;

	narrow(run);
	reading->context.color = !options->show.json && output_color(options->show.color);
	reading->context.width = options->show.width ? options->show.width : output_width();
	reading->progress = isatty(STDERR_FILENO) && (page || !isatty(STDOUT_FILENO));
	if (!page)
		reading->output_error = outfile_open(&run->out, "-");
	if (!reading->output_error && !page && reading_kills_open(&run->kills, reading))
		reading_say(
			reading, "not enough memory for the kills that were not the OOM killer's");
	if (!reading->output_error)
		reading_each(reading, page ? put_pages : put_incident, run);
	if (!reading->output_error && !page)
		reading->output_error = put_last_kills(run);
	if (!reading->output_error && !page)
		reading->output_error = outfile_flush(&run->out);
	status = reading_status(reading);
	if (status || reading->output_error)
		return status;
	status = page_status(run->page_error);
	if (status)
		return status;
	if (options->fail_on_oom && any_kill(run))
		return READING_OOM;
	/* Who asked for a file would go on with one that is not there. */
	return page && !reading->shown ? 1 : 0;
}

int cmd_report(int argc, char **argv)
{
	static struct report_run run;
	struct report_options options = {0};
	int status;

	argp_err_exit_status = EX_USAGE;
	selection_init(&options.selection);
	if (argp_parse(&argp, argc, argv, 0, NULL, &options))
		return EX_USAGE;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* an error of write() like others */
	tzset();
	run.options = &options;
	status = reading_open(&run.reading, "report", options.file, &options.selection);
	if (!status)
		status = tell(&run);
	reading_kills_close(&run.kills);
	reading_close(&run.reading);
	return status;
}
