/* SPDX-License-Identifier: Apache-2.0 */
/*
 * need.h: how much memory the live trace takes at most, and tables that fit into what there is.
 *
 * All tables are taken at the start and cost memory as they fill: the need is with all of them
 * full. Halving them all, again and again, is the way to need less.
 */
#ifndef OOMSNOOP_CMD_NEED_H
#define OOMSNOOP_CMD_NEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NEED_SHRINK_MAX 4 /* a sixteenth: 1,024 processes, 512 cgroups */

/* What to take memory for: which tables there are at all, and those whose size was asked for. */
struct need_options {
	bool recorder; /* the flight recorder's tables */
	bool store; /* `record`: a queue and SQLite */
	uint32_t ring_bytes; /* 0: the default, which shrinks with the others */
	uint64_t queue_bytes; /* of the store; 0: likewise */
};

struct table_sizes {
	uint32_t ring_bytes;
	size_t processes, cgroups; /* places in the tables of names, and in the recorder's */
	size_t ledger_bytes;
	unsigned int incidents; /* open at the same time */
	uint64_t queue_bytes;
};

struct need {
	struct table_sizes sizes;
	uint64_t start_bytes; /* while programs are loaded, which is before any table fills */
	uint64_t full_bytes; /* with all tables full; at least start_bytes */
};

/* The tables halved so often. */
void need_of(const struct need_options *options, unsigned int shrink, struct need *ret);

/* The largest that fits. false: not even the smallest, which *ret is then. */
bool need_fit(const struct need_options *options, uint64_t room_bytes, struct need *ret);

#endif /* OOMSNOOP_CMD_NEED_H */
