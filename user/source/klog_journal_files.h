/* SPDX-License-Identifier: Apache-2.0 */
/* klog_journal_files.h: where journal files are, opened: journald may rename them meanwhile. */
#ifndef OOMSNOOP_SOURCE_KLOG_JOURNAL_FILES_H
#define OOMSNOOP_SOURCE_KLOG_JOURNAL_FILES_H

#include <stddef.h>

#include "source/klog_journal.h"

struct journal_file {
	int fd;
	char *path;
};

struct journal_files {
	struct journal_file *list;
	size_t count, room;
	size_t problems; /* that were told */
	klog_journal_problem_fn problem;
	void *arg;
};

/* Those of the query. What cannot be opened is told. 0 or -ENOMEM. */
int journal_files_find(struct journal_files *files, const struct klog_journal_query *query);

/* This one is of no use. */
void journal_files_drop(struct journal_files *files, size_t index, int error);
void journal_files_free(struct journal_files *files);

#endif /* OOMSNOOP_SOURCE_KLOG_JOURNAL_FILES_H */
