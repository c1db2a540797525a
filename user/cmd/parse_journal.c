// SPDX-License-Identifier: Apache-2.0
#include "cmd/parse_journal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "cmd/clock.h"
#include "cmd/when.h"

#define NS_PER_S 1000000000LL
/* A report that began in time is told whole, one that began before it is not told by its half. */
#define MARGIN_NS (60 * NS_PER_S)
#define BOOTS_MAX 1000000

enum { OPTION_JOURNAL = 0x500, OPTION_BOOT, OPTION_SINCE, OPTION_UNTIL, OPTION_FILE };

static const struct argp_option option_table[] = {
	{NULL, 0, NULL, 0, "The systemd journal:", 5},
	{"journal", OPTION_JOURNAL, NULL, 0, "Read the journal, not files or stdin", 5},
	{"boot", OPTION_BOOT, "BOOT", OPTION_ARG_OPTIONAL,
		"Of one boot: its id, 0 for the last (the default), -1 for the one before it, 1 for "
		"the first",
		5},
	{"since", OPTION_SINCE, "TIME", 0,
		"Kills from then on: \"2026-11-30 03:14\", 03:14, yesterday, 2h, @1700000000", 5},
	{"until", OPTION_UNTIL, "TIME", 0, "Kills up to then", 5},
	{"directory", 'D', "DIR", 0, "A folder of journal files, as of another machine's disk", 5},
	{"file", OPTION_FILE, "FILE", 0, "A journal file; may be given many times", 5},
	{NULL, 0, NULL, 0, NULL, 0},
};

static void take_boot(struct argp_state *state, struct klog_journal_query *query, const char *text)
{
	char *end;

	query->boot = KLOG_BOOT_BY_OFFSET;
	if (!text)
		return;
	if (klog_journal_boot_id(text, query->boot_id)) {
		query->boot = KLOG_BOOT_BY_ID;
		return;
	}
	errno = 0;
	query->boot_offset = strtoll(text, &end, 10);
	if (errno || end == text || *end || query->boot_offset < -BOOTS_MAX ||
		query->boot_offset > BOOTS_MAX)
		argp_error(state,
			"--boot: '%s' is neither a boot's id (32 hex digits) nor a number such as "
			"0 or -1",
			text);
}

static int64_t take_time(struct argp_state *state, const struct journal_options *options,
	const char *what, const char *text, enum when_edge edge)
{
	int64_t ret = 0;

	if (when_parse(text, options->now_ns, edge, &ret))
		argp_error(state,
			"%s: '%s' is not a time such as \"2026-11-30 03:14\", 03:14, yesterday, 2h, "
			"\"90 min ago\", @1700000000 or 2026-11-30T03:14:22Z",
			what, text);
	return ret;
}

static void take_file(struct argp_state *state, struct journal_options *options, const char *text)
{
	if (options->query.file_count == JOURNAL_FILES_MAX) {
		argp_error(state, "--file: more than %d", JOURNAL_FILES_MAX);
		return;
	}
	options->files[options->query.file_count++] = text;
	options->query.files = options->files;
}

static void begin(struct journal_options *options)
{
	options->now_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
	options->query.since_ns = INT64_MIN;
	options->query.until_ns = INT64_MAX;
}

static void check(struct argp_state *state, const struct journal_options *options)
{
	if (options->needs_it && !options->wanted)
		argp_error(state, "%s goes with --journal only", options->needs_it);
	if (options->query.directory && options->query.file_count)
		argp_error(state, "--directory or --file, not both");
	if (options->query.since_ns > options->query.until_ns)
		argp_error(state, "--since is later than --until");
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct journal_options *options = state->input;
	struct klog_journal_query *query = &options->query;

	switch (key) {
	case ARGP_KEY_INIT:
		begin(options);
		return 0;
	case OPTION_JOURNAL:
		options->wanted = true;
		return 0;
	case OPTION_BOOT:
		options->needs_it = "--boot";
		take_boot(state, query, value);
		return 0;
	case OPTION_SINCE:
		options->needs_it = "--since";
		query->since_ns = take_time(state, options, "--since", value, WHEN_BEGINNING);
		return 0;
	case OPTION_UNTIL:
		options->needs_it = "--until";
		query->until_ns = take_time(state, options, "--until", value, WHEN_END);
		return 0;
	case 'D':
		options->needs_it = "--directory";
		query->directory = value;
		return 0;
	case OPTION_FILE:
		options->needs_it = "--file";
		take_file(state, options, value);
		return 0;
	case ARGP_KEY_END:
		check(state, options);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp journal_argp = {.options = option_table, .parser = parse_option};

/* --- reading --- */

static void complain(const char *path, const char *why)
{
	fprintf(stderr, "oomsnoop: parse: %s: %s\n", path, why);
}

/* *arg: the exit status. */
static void tell_problem(void *arg, const char *path, int error)
{
	bool denied = error == -EACCES || error == -EPERM;
	int *status = arg;

	if (error == -EBADMSG || error == -ENODATA || error == -EBADFD)
		complain(path, "no journal file, or a damaged one; it is passed over");
	else if (error == -EPROTONOSUPPORT)
		complain(path, "of a kind that the libsystemd of this machine does not know; it is "
			       "passed over");
	else
		complain(path, strerror(-error));
	if (!*status || denied)
		*status = denied ? EX_NOPERM : EX_DATAERR;
}

static const char *place(const struct journal_options *options)
{
	if (options->query.file_count)
		return "the journal files";
	return options->query.directory ? options->query.directory : "this machine";
}

static int tell_no_journal(const struct journal_options *options, int error, int status)
{
	switch (error) {
	case -ELIBACC:
		complain("--journal", "libsystemd.so.0 is not on this machine, or does not go with "
				      "this build; `journalctl -k -o export | oomsnoop parse' does "
				      "without");
		return EX_UNAVAILABLE;
	case -ENOENT:
		complain(place(options), "no systemd journal is there");
		return EX_DATAERR;
	case -ENOKEY:
		complain(place(options), "there is no such boot in the journal");
		return EX_DATAERR;
	case -EBADMSG:
		if (status == EX_NOPERM)
			complain(place(options), "no journal that may be read; root and members of "
						 "the group systemd-journal may");
		return status ? status : EX_DATAERR;
	default:
		complain(place(options), strerror(-error));
		return 1;
	}
}

static int tell_damage(const struct journal_options *options, int end, uint64_t lost, int status)
{
	if (lost)
		fprintf(stderr,
			"oomsnoop: parse: %s: %llu entries of the journal are damaged and passed over\n",
			place(options), (unsigned long long)lost);
	if (end == -EBADMSG)
		complain(place(options), "a journal file is damaged, and not all of it was read");
	else if (end < 0)
		complain(place(options), strerror(-end));
	return status || (!lost && end >= 0) ? status : EX_DATAERR;
}

static void widen(struct klog_journal_query *query)
{
	if (query->since_ns > MARGIN_NS)
		query->since_ns -= MARGIN_NS;
	if (query->until_ns < INT64_MAX - MARGIN_NS)
		query->until_ns += MARGIN_NS;
}

int journal_read(const struct journal_options *options, struct klog_reports *reports,
	struct klog_stream *stream, const int *stop)
{
	struct klog_journal_query query = options->query;
	struct klog_entry *entry = calloc(1, sizeof(*entry));
	struct klog_journal *journal;
	uint64_t entries = 0;
	int error = -ENOMEM, status = 0;

	widen(&query);
	journal = entry ? klog_journal_open(&query, tell_problem, &status, &error) : NULL;
	if (!journal) {
		free(entry);
		return tell_no_journal(options, error, status);
	}
	while (!*stop && (error = klog_journal_next(journal, entry)) > 0) {
		klog_reports_at(reports, ++entries);
		klog_stream_entry(stream, entry);
	}
	klog_stream_end(stream);
	klog_reports_end(reports);
	status = tell_damage(options, error, klog_journal_lost(journal), status);
	klog_journal_close(journal);
	free(entry);
	return status;
}

bool journal_covers(const struct journal_options *options, const struct klog_report *report)
{
	const struct klog_when *began = &report->began;

	return !options->wanted || !began->has_wall ||
	       (began->wall_ns >= options->query.since_ns &&
		       began->wall_ns <= options->query.until_ns);
}
