// SPDX-License-Identifier: Apache-2.0
/* oomsnoop list: the incidents of a store, one line each. */
#include "cmd/list.h"

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
#include "cmd/output.h"
#include "cmd/reading.h"
#include "cmd/reading_kills.h"
#include "cmd/select.h"
#include "cmd/show.h"
#include "sink/json_series.h"
#include "sink/text_list.h"
#include "sink/view.h"

#define LINE_BYTES JSON_SERIES_MAX
#define GAP_KINDS (STORE_GAP_PRUNED + 1)

/* --- options --- */

struct list_options {
	const char *file;
	struct selection selection;
	struct show show;
	bool no_header;
};

enum { OPTION_NO_HEADER = 0x400 };

static const struct argp_option option_table[] = {
	{"no-header", OPTION_NO_HEADER, NULL, 0, "Leave out the names of the columns", 2},
	{NULL, 0, NULL, 0, NULL, 0},
};

static const struct argp_child children[] = {
	{&selection_argp, 0, NULL, 1}, {&show_argp, 0, NULL, 2}, {NULL, 0, NULL, 0}};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct list_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->selection;
		state->child_inputs[1] = &options->show;
		return 0;
	case OPTION_NO_HEADER:
		options->no_header = true;
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
	.doc = "Lists the incidents of a capture store, oldest first, with kills that were not the OOM "
	       "killer's, which have no number, and the times between them in "
	       "which nothing was recorded. Needs no root and nothing but the file.\v"
	       "Exit status: 0 done, also if nothing matches; 1 failed; 64 usage; 65 the file "
	       "cannot be read; 74 output error; 77 not permitted.",
};

/* --- gaps --- */

struct gaps {
	struct store_gap *list;
	size_t count, room;
	bool no_memory;
};

static void take_gap(const struct store_gap *gap, void *arg)
{
	struct gaps *gaps = arg;

	if (!list_gap_matters(gap) || gaps->no_memory)
		return;
	if (gaps->count == gaps->room) {
		size_t room = gaps->room ? 2 * gaps->room : 64;
		struct store_gap *list = reallocarray(gaps->list, room, sizeof(*list));

		gaps->no_memory = !list;
		if (!list)
			return;
		gaps->list = list;
		gaps->room = room;
	}
	gaps->list[gaps->count++] = *gap;
}

static int by_beginning(const void *one, const void *other)
{
	const struct store_gap *a = one, *b = other;

	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* --- lines --- */

struct list_run {
	const struct list_options *options;
	struct list_layout layout;
	struct reading reading;
	struct reading_kills kills;
	struct gaps gaps;
	size_t next_gap;
	bool begun; /* a line was written */
	char hostname[65];
	struct outfile out;
	char line[LINE_BYTES];
};

static int put_line(struct list_run *run, const struct buf *buf)
{
	return outfile_put(&run->out, buf->data, buf->len);
}

static int put_header(struct list_run *run)
{
	bool wanted = !run->begun && !run->options->show.json && !run->options->no_header &&
		      !run->options->show.quiet;
	struct buf buf;

	run->begun = true;
	if (!wanted)
		return 0;
	buf_init(&buf, run->line, sizeof(run->line));
	text_list_header(&buf, &run->layout);
	return put_line(run, &buf);
}

static int put_json_gaps(struct list_run *run, size_t end)
{
	struct buf buf;
	int err = 0;

	for (; run->next_gap < end && !err; run->next_gap++) {
		buf_init(&buf, run->line, sizeof(run->line));
		json_gap(&buf, run->hostname, &run->gaps.list[run->next_gap]);
		err = put_line(run, &buf);
	}
	return err;
}

/* Those of a kind are one line, in the order in which the kinds come up. */
static int put_text_gaps(struct list_run *run, size_t end)
{
	struct list_gaps sums[GAP_KINDS] = {0};
	const struct store_gap *list = run->gaps.list;
	struct buf buf;
	int err = 0;

	for (size_t i = run->next_gap; i < end; i++)
		list_gaps_add(&sums[list[i].why < GAP_KINDS ? list[i].why : 0], &list[i]);
	for (size_t i = run->next_gap; i < end && !err; i++) {
		enum store_gap_why why = list[i].why < GAP_KINDS ? list[i].why : 0;

		if (!sums[why].count)
			continue;
		buf_init(&buf, run->line, sizeof(run->line));
		text_list_gaps(&buf, &run->layout, why, &sums[why]);
		err = put_line(run, &buf);
		sums[why].count = 0;
	}
	run->next_gap = end;
	return err;
}

/* Gaps that began before this moment and were not told yet. */
static int put_gaps_until(struct list_run *run, int64_t time_ns)
{
	size_t end = run->next_gap;
	int err;

	while (end < run->gaps.count && run->gaps.list[end].from_ns < time_ns)
		end++;
	if (end == run->next_gap)
		return 0;
	err = put_header(run);
	if (err)
		return err;
	return run->options->show.json ? put_json_gaps(run, end) : put_text_gaps(run, end);
}

static int put_kill(struct reading_kills *kills, void *arg)
{
	struct list_run *run = arg;
	int64_t time_ns = view_wall_ns(
		&kills->context, kills->refused ? kills->refusal.time_ns : kills->killing.time_ns);
	struct buf buf;
	int err = put_gaps_until(run, time_ns);

	if (!err)
		err = put_header(run);
	if (err)
		return err;
	buf_init(&buf, run->line, sizeof(run->line));
	if (run->options->show.json)
		reading_kills_json(kills, &buf);
	else if (kills->refused)
		text_list_refusal(&buf, &run->layout, &kills->context, &kills->refusal,
			&kills->refusal_judgement);
	else
		text_list_kill(
			&buf, &run->layout, &kills->context, &kills->killing, &kills->judgement);
	return put_line(run, &buf);
}

/* Gaps and kills in the order of time. */
static int put_until(struct list_run *run, int64_t time_ns)
{
	int err = reading_kills_until(&run->kills, time_ns, put_kill, run);

	return err ? err : put_gaps_until(run, time_ns);
}

/* Of the last N only what lies between them. */
static void skip_gaps_before(struct list_run *run, int64_t time_ns)
{
	while (run->next_gap < run->gaps.count && run->gaps.list[run->next_gap].from_ns < time_ns)
		run->next_gap++;
}

static int put_incident(struct reading *reading, void *arg)
{
	struct list_run *run = arg;
	const struct captured *captured = reading->captured;
	const struct list_entry entry = {
		.id = captured->id,
		.damaged = captured->damaged,
		.context = &reading->context,
		.incident = &captured->incident,
		.judgement = reading->judgement,
	};
	int64_t time_ns = view_wall_ns(&reading->context, captured->incident.time_ns);
	struct buf buf;
	int err;

	if (!run->begun && run->options->selection.last) {
		skip_gaps_before(run, time_ns);
		reading_kills_skip(&run->kills, time_ns);
	}
	err = put_until(run, time_ns);
	if (!err)
		err = put_header(run);
	if (err)
		return err;
	buf_init(&buf, run->line, sizeof(run->line));
	if (run->options->show.json)
		json_listed(&buf, &entry);
	else
		text_list_entry(&buf, &run->layout, &entry);
	return put_line(run, &buf);
}

/* --- the command --- */

static void lay_out(struct list_run *run)
{
	const struct show *show = &run->options->show;
	const struct reading *reading = &run->reading;
	int64_t most = reading->count ? reading->ids[reading->count - 1] : 0;

	run->layout.color = !show->json && output_color(show->color);
	run->layout.width = show->width ? show->width : isatty(STDOUT_FILENO) ? output_width() : 0;
	for (; most > 0; most /= 10)
		run->layout.number_columns++;
}

static void find_gaps(struct list_run *run)
{
	struct reading *reading = &run->reading;
	struct store_summary summary;
	int err;

	if (run->options->selection.id)
		return;
	if (!store_summary(reading->store, &summary))
		snprintf(run->hostname, sizeof(run->hostname), "%s", summary.hostname);
	err = store_gaps(reading->store, reading->selection.since_ns, reading->selection.until_ns,
		take_gap, &run->gaps);
	if (run->gaps.no_memory)
		reading_say(reading, "not enough memory for all gaps");
	else if (err)
		reading_say(reading, "the gaps cannot be read: %s", store_why(reading->store));
	if (run->gaps.count)
		qsort(run->gaps.list, run->gaps.count, sizeof(*run->gaps.list), by_beginning);
}

static int tell(struct list_run *run)
{
	struct reading *reading = &run->reading;

	reading->output_error = outfile_open(&run->out, "-");
	if (reading->output_error)
		return reading_status(reading);
	lay_out(run);
	find_gaps(run);
	if (reading_kills_open(&run->kills, reading))
		reading_say(
			reading, "not enough memory for the kills that were not the OOM killer's");
	reading->progress = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
	reading_each(reading, put_incident, run);
	/* Of the last N there is nothing after them but what is to come. */
	if (!reading->output_error && (reading->shown || !run->options->selection.last))
		reading->output_error = put_until(run, INT64_MAX);
	if (!reading->output_error)
		reading->output_error = outfile_flush(&run->out);
	return reading_status(reading);
}

int cmd_list(int argc, char **argv)
{
	static struct list_run run;
	struct list_options options = {0};
	int status;

	argp_err_exit_status = EX_USAGE;
	selection_init(&options.selection);
	if (argp_parse(&argp, argc, argv, 0, NULL, &options))
		return EX_USAGE;
	signal(SIGPIPE, SIG_IGN);
	tzset();
	run = (struct list_run) {.options = &options};
	status = reading_open(&run.reading, "list", options.file, &options.selection);
	if (!status)
		status = tell(&run);
	reading_kills_close(&run.kills);
	reading_close(&run.reading);
	free(run.gaps.list);
	return status;
}
