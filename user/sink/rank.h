/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank.h: who would be killed next. The command fills the report, the sinks only format it. Keys of
 * the JSON object: docs/record-schema.md, type "rank".
 */
#ifndef OOMSNOOP_SINK_RANK_H
#define OOMSNOOP_SINK_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "facts/oomrules.h"
#include "facts/quota.h"
#include "judge/rank.h"
#include "sink/sink.h"

/* Room for one note with names of cgroups in it. */
#define RANK_NOTE_BYTES 4096

struct rank_report {
	uint64_t boot_ns; /* CLOCK_BOOTTIME of the reading */
	const char *asked; /* the cgroup asked for; NULL: the machine */
	struct quota quota; /* host; and, if a cgroup was asked for, its levels */
	int level; /* of quota, whose limit is told of; -1: the machine's memory */
	struct oom_rules rules;
	const char *oom_group; /* dies with the first as a whole; "": only the first does */
	uint64_t counter_slack_pages;
	/* what is not in the ranking */
	size_t unreadable; /* listed, but their files may not be read, or do not tell it */
	const char *unreadable_why; /* why the first of them could not; NULL: all could */
	bool hidden; /* /proc does not even list other users' processes */
	bool own_pid_namespace; /* only processes of this one are listed, by their pids in it */

	struct ranking ranking;
	size_t shown; /* of the ranking, at most */
};

/* The cgroup whose limit is told of; NULL: the machine. */
const struct quota_level *rank_limit(const struct rank_report *report);

/* What else is to be known, in a sentence or two; one that does not apply appends nothing. False:
 * there are no more of them. Names in them are arbitrary bytes. */
bool rank_note(struct buf *buf, const struct rank_report *report, unsigned int index);

/* 0, or -ENOSPC: buf is then as it was before. */
int rank_text(struct buf *buf, const struct rank_report *report);
int rank_json(
	struct buf *buf, const struct sink_context *context, const struct rank_report *report);

#endif /* OOMSNOOP_SINK_RANK_H */
