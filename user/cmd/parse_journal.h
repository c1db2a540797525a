/* SPDX-License-Identifier: Apache-2.0 */
/* parse_journal.h: `parse --journal`: its options, and the journal in place of files. */
#ifndef OOMSNOOP_CMD_PARSE_JOURNAL_H
#define OOMSNOOP_CMD_PARSE_JOURNAL_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/klog_report.h"
#include "source/klog_journal.h"
#include "source/klog_stream.h"

#define JOURNAL_FILES_MAX 1024

struct journal_options {
	bool wanted; /* --journal */
	const char *needs_it; /* an option that was given and means nothing without; NULL: none */
	struct klog_journal_query query;
	int64_t now_ns;
	const char *files[JOURNAL_FILES_MAX];
};

/* A part of another argp; its input is a struct journal_options of zeros. */
extern const struct argp journal_argp;

/* Gives the entries to the stream until the end or *stop is set. An exit status, after words on
 * stderr. */
int journal_read(const struct journal_options *options, struct klog_reports *reports,
	struct klog_stream *stream, const int *stop);

/* Does it fall in the time that was asked for? */
bool journal_covers(const struct journal_options *options, const struct klog_report *report);

#endif /* OOMSNOOP_CMD_PARSE_JOURNAL_H */
