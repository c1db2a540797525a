/* SPDX-License-Identifier: Apache-2.0 */
/* fit.h: are there tables that fit into the memory that this process may take? */
#ifndef OOMSNOOP_CMD_FIT_H
#define OOMSNOOP_CMD_FIT_H

#include "cmd/need.h"
#include "cmd/options.h"

void fit_options(const struct live_options *options, bool store, uint64_t queue_bytes,
	struct need_options *ret);

/*
 * Sizes for --memory, or the default ones, held against the limits of our own cgroup. 0; EX_USAGE,
 * EX_UNAVAILABLE after a message that says what is needed, what there is, and what to do.
 */
int fit_tables(const struct live_options *options, const struct need_options *asked,
	struct table_sizes *ret);

#endif /* OOMSNOOP_CMD_FIT_H */
