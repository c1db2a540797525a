// SPDX-License-Identifier: Apache-2.0
/* oomsnoop parse: the OOM kills of kernel logs, told as the live trace tells them. Needs no rights
 * but those to read the files. */
#include "cmd/parse.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "cmd/output.h"
#include "cmd/parse_journal.h"
#include "cmd/parse_page.h"
#include "judge/judgement.h"
#include "model/imported.h"
#include "model/klog_report.h"
#include "sink/sink.h"
#include "source/klog_input.h"
#include "source/klog_stream.h"

#define WIDTH_MAX 1000
#define NS_PER_S 1000000000LL
/* Of a log that is followed (dmesg -w, journalctl -f): whoever writes it hands on a report in one
 * go, or a piece at a time. */
#define QUIET_MS 1000
#define CUT_MS 10000
#define BACKWARDS 3 /* steps back in time; one or two are of another file, or of a clock set */

struct parse_options {
	bool json, quiet;
	enum color_mode color;
	int width; /* 0: of the terminal */
	char **files;
	int file_count;
	struct journal_options journal;
	struct page_options page;
};

/* --- options --- */

enum { OPTION_COLOR = 0x100, OPTION_WIDTH, OPTION_TEXT };

static const struct argp_option option_table[] = {
	{"json", 'j', NULL, 0,
		"One JSON object a line (NDJSON); the default where stdout is no terminal", 0},
	{"text", OPTION_TEXT, NULL, 0, "Text; the default on a terminal", 0},
	{"color", OPTION_COLOR, "WHEN", 0,
		"auto (default: on a terminal, without NO_COLOR), always or never", 0},
	{"width", OPTION_WIDTH, "N", 0, "Columns of the text (default: those of the terminal)", 0},
	{"quiet", 'q', NULL, 0, "No remarks on stderr, only errors", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static const struct argp_child children[] = {
	{&journal_argp, 0, NULL, 5}, {&page_argp, 0, NULL, 4}, {NULL, 0, NULL, 0}};

static enum color_mode parse_color(struct argp_state *state, const char *text)
{
	if (!strcmp(text, "always"))
		return COLOR_ALWAYS;
	if (!strcmp(text, "never"))
		return COLOR_NEVER;
	if (strcmp(text, "auto") != 0)
		argp_error(state, "--color: '%s' is none of auto, always, never", text);
	return COLOR_AUTO;
}

static int parse_width(struct argp_state *state, const char *text)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < 40 || value > WIDTH_MAX)
		argp_error(state, "--width: '%s' is not a number from 40 to %d", text, WIDTH_MAX);
	return (int)value;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct parse_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->journal;
		state->child_inputs[1] = &options->page;
		return 0;
	case 'j':
		options->json = true;
		return 0;
	case OPTION_TEXT:
		options->json = false;
		return 0;
	case 'q':
		options->quiet = true;
		return 0;
	case OPTION_COLOR:
		options->color = parse_color(state, value);
		return 0;
	case OPTION_WIDTH:
		options->width = parse_width(state, value);
		return 0;
	case ARGP_KEY_ARGS:
		options->files = state->argv + state->next;
		options->file_count = state->argc - state->next;
		return 0;
	case ARGP_KEY_END:
		if (options->journal.wanted && options->file_count)
			argp_error(state, "a file or --journal, not both");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.children = children,
	.args_doc = "[FILE…|-]\n--journal",
	.doc = "Tells the OOM kills that kernel logs hold: whose limit was hit, who asked, who died and "
	       "why that one. Takes what dmesg, journalctl (text, JSON, export), syslog, /dev/kmsg and "
	       "container runtimes write, pasted or mailed, plain or packed with gzip, xz or zstd; told "
	       "by its content. Without a file it reads stdin.\v"
	       "Records go to stdout, everything else to stderr. What a log does not tell is left out, "
	       "and named.\n"
	       "Exit status: 0 done, whether there were kills or not; 1 failed, or there is nothing to "
	       "make a page of; 64 usage; 65 a file cannot be read (the others are told), or there is "
	       "no journal; 69 no libsystemd, for --journal; 74 output error; 77 the journal may not be "
	       "read, or the page not be written.",
};

/* --- one run --- */

struct parse_run {
	const struct parse_options *options;
	struct importer *importer;
	struct klog_reports *reports;
	struct parse_page *page;
	bool begun; /* a record was written */
	struct sink_context context;
	struct host_facts host;
	uint64_t told, killed, cut;
	int64_t last_ns; /* the last stamp, and how often the next was later, or earlier */
	uint64_t later, earlier;
	bool unreadable;
	int journal_status;
	int output_error;
	struct incident incident;
	struct judgement judgement;
	char record[SINK_JSON_MAX];
};

/* Stamps without a zone are taken for local time, as dmesg -T and syslog write it. */
static int64_t from_local(int64_t civil_ns)
{
	time_t civil = (time_t)(civil_ns / NS_PER_S), utc;
	struct tm parts = {0};

	gmtime_r(&civil, &parts);
	parts.tm_isdst = -1;
	utc = mktime(&parts);
	return utc == (time_t)-1 ? civil_ns : (int64_t)utc * NS_PER_S + civil_ns % NS_PER_S;
}

/* Of text, records are parted by an empty line, which each begins with. */
static int put_record(const char *data, size_t len, void *arg)
{
	struct parse_run *run = arg;
	size_t skip = !run->options->json && !run->begun;

	run->begun = true;
	run->output_error = output_write(data + skip, len - skip);
	return run->output_error;
}

static void keep_or_put(struct parse_run *run, const struct buf *buf)
{
	if (!run->options->page.selection.last)
		put_record(buf->data, buf->len, run);
	else if (page_hold(run->page, buf->data, buf->len))
		fprintf(stderr, "oomsnoop: parse: no memory for incident %u, which is lost\n",
			run->incident.number);
}

static void tell(void *arg, const struct klog_report *report)
{
	static const struct coverage nothing_traced;
	struct parse_run *run = arg;
	struct buf buf;
	int error;

	if (run->output_error || !journal_covers(&run->options->journal, report) ||
		!importer_incident(run->importer, report, &run->incident, &run->host))
		return;
	run->incident.number = (uint32_t)++run->told;
	run->killed += run->incident.victim_count + run->incident.victims_dropped;
	judge_incident(&run->incident, &run->host, &nothing_traced, &run->judgement);
	if (!page_takes(run->page, &run->incident, &run->judgement, &run->host) ||
		page_wanted(&run->options->page))
		return;
	buf_init(&buf, run->record, sizeof(run->record));
	if (!run->options->json)
		buf_putc(&buf, '\n');
	error = run->options->json
			? json_incident(&buf, &run->context, &run->incident, &run->judgement)
			: text_incident(&buf, &run->context, &run->incident, &run->judgement);
	if (error) {
		fprintf(stderr,
			"oomsnoop: parse: the record of incident %u does not fit and is lost\n",
			run->incident.number);
		return;
	}
	keep_or_put(run, &buf);
}

/* What a web page of logs hands out is often newest first: a report in that order is no report. */
static void note_order(struct parse_run *run, const struct klog_stamp *stamp)
{
	int64_t now = stamp->has_mono ? (int64_t)stamp->mono_ns : stamp->wall_ns;

	if (!stamp->has_mono && !stamp->has_wall)
		return;
	run->later += now > run->last_ns;
	run->earlier += now < run->last_ns;
	run->last_ns = now;
}

static void take_record(void *arg, const struct klog_record *record)
{
	struct parse_run *run = arg;

	note_order(run, record->stamp);
	klog_reports_record(run->reports, record);
}

/* What a log that is followed has told is told on, without waiting for what comes after it. */
static void tell_if_quiet(
	struct parse_run *run, struct klog_input *input, struct klog_stream *stream)
{
	if (klog_reports_idle(run->reports) && klog_stream_idle(stream))
		return;
	if (!klog_input_stalls(input, QUIET_MS))
		return;
	klog_stream_end(stream);
	if (!klog_reports_settled(run->reports) && !klog_input_stalls(input, CUT_MS - QUIET_MS))
		return;
	klog_reports_end(run->reports);
}

/* 0 or -errno. */
static int read_lines(struct parse_run *run, struct klog_input *input, struct klog_stream *stream)
{
	const char *line;
	size_t len;
	int more;

	for (;;) {
		if (klog_reports_idle(run->reports) && klog_stream_idle(stream) &&
			klog_input_skip(input, klog_needles))
			klog_stream_end(stream);
		tell_if_quiet(run, input, stream);
		more = klog_input_line(input, &line, &len);
		if (more <= 0 || run->output_error)
			break;
		klog_reports_at(run->reports, klog_input_lines(input));
		klog_stream_line(stream, line, len);
	}
	klog_stream_end(stream);
	klog_reports_end(run->reports);
	return more < 0 ? more : 0;
}

static const char *reason(int error)
{
	return error == -EBADMSG ? "what is packed in it is damaged or cut off" : strerror(-error);
}

static void parse_file(struct parse_run *run, const char *name)
{
	bool is_stdin = !strcmp(name, "-");
	int fd = is_stdin ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC), error = 0;
	struct klog_input *input;
	struct klog_stream *stream;

	if (fd < 0) {
		fprintf(stderr, "oomsnoop: parse: %s: %s\n", name, strerror(errno));
		run->unreadable = true;
		return;
	}
	input = klog_input_new(fd);
	stream = input ? klog_stream_new(input, take_record, run) : NULL;
	error = stream ? read_lines(run, input, stream) : -ENOMEM;
	if (error) {
		fprintf(stderr, "oomsnoop: parse: %s: %s\n", is_stdin ? "stdin" : name,
			reason(error));
		run->unreadable = true;
	}
	if (input)
		run->cut += klog_input_cut(input);
	klog_stream_free(stream);
	klog_input_free(input);
	if (!is_stdin)
		close(fd);
}

static void parse_journal(struct parse_run *run)
{
	struct klog_stream *stream = klog_stream_new(NULL, take_record, run);

	if (stream) {
		run->journal_status = journal_read(
			&run->options->journal, run->reports, stream, &run->output_error);
	} else {
		fprintf(stderr, "oomsnoop: parse: %s\n", strerror(ENOMEM));
		run->journal_status = 1;
	}
	klog_stream_free(stream);
}

static void tell_end(const struct parse_run *run)
{
	unsigned long long copies = importer_copies(run->importer);

	if (run->cut)
		fprintf(stderr,
			"oomsnoop: parse: %llu lines were longer than %u KiB and were cut\n",
			(unsigned long long)run->cut, KLOG_LINE_MAX >> 10);
	if (copies)
		fprintf(stderr,
			"oomsnoop: parse: %llu copies of a kill told before were passed over\n",
			copies);
	if (run->earlier >= BACKWARDS && run->earlier > run->later)
		fprintf(stderr,
			"oomsnoop: parse: the lines are newest first, so reports cannot be put together: "
			"turn the log around, as `tac' does\n");
	if (page_taken(run->page) != run->told)
		fprintf(stderr, "oomsnoop: parse: %llu of %llu incidents are as asked for\n",
			(unsigned long long)page_taken(run->page), (unsigned long long)run->told);
	if (run->told)
		fprintf(stderr, "oomsnoop: parse: %llu incidents, %llu processes killed\n",
			(unsigned long long)run->told, (unsigned long long)run->killed);
	else if (!run->unreadable && !run->journal_status)
		fprintf(stderr, "oomsnoop: parse: no OOM kill of the kernel's in what was read\n");
}

static int finish(struct parse_run *run)
{
	int status;

	if (!run->output_error)
		page_release(run->page, put_record, run);
	if (run->output_error && run->output_error != -EPIPE) {
		fprintf(stderr, "oomsnoop: parse: cannot write to stdout: %s\n",
			strerror(-run->output_error));
		return EX_IOERR;
	}
	/* Who reads no further has what it wanted. */
	if (!run->options->quiet && !run->output_error)
		tell_end(run);
	status = page_wanted(&run->options->page) ? page_end(run->page) : 0;
	if (status)
		return status;
	return run->unreadable ? EX_DATAERR : run->journal_status;
}

static int run_all(struct parse_run *run)
{
	static char *const only_stdin[] = {"-"};
	char *const *files = run->options->file_count ? run->options->files : only_stdin;
	int count = run->options->file_count ? run->options->file_count : 1;

	if (run->options->journal.wanted)
		parse_journal(run);
	for (int i = 0; i < count && !run->output_error && !run->options->journal.wanted; i++)
		parse_file(run, files[i]);
	return finish(run);
}

int cmd_parse(int argc, char **argv)
{
	struct parse_options options = {.json = !isatty(STDOUT_FILENO)};
	struct parse_run *run;
	int status = 1, error;

	argp_err_exit_status = EX_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &options))
		return EX_USAGE;
	signal(SIGPIPE, SIG_IGN);
	tzset();
	signal(SIGXFSZ, SIG_IGN); /* an error of write() like others */
	error = page_wanted(&options.page) ? 0 : output_check();
	if (error) {
		fprintf(stderr, "oomsnoop: parse: stdout cannot be written to: %s\n",
			strerror(-error));
		return EX_IOERR;
	}
	run = calloc(1, sizeof(*run));
	if (run) {
		run->options = &options;
		run->context = (struct sink_context) {.host = &run->host,
			.color = output_color(options.color),
			.width = options.width ? options.width : output_width()};
		run->importer = importer_new(from_local);
		run->reports = klog_reports_new(tell, run);
		run->page = page_new(&options.page);
	}
	if (run && run->importer && run->reports && run->page)
		status = run_all(run);
	else
		fprintf(stderr, "oomsnoop: parse: %s\n", strerror(ENOMEM));
	if (run) {
		klog_reports_free(run->reports);
		page_free(run->page);
		importer_free(run->importer);
	}
	free(run);
	return status;
}
