/* SPDX-License-Identifier: Apache-2.0 */
/* watch_refusals.h: the part of the live trace that tells of memory and processes that were asked
 * for and not given. As watch_kills.h. */
#ifndef OOMSNOOP_CMD_WATCH_REFUSALS_H
#define OOMSNOOP_CMD_WATCH_REFUSALS_H

#include "cmd/watch.h"

/* 0 or -errno; without a hook there is nothing to open. */
int watch_refusals_open(struct watch *watch);

void watch_refusals_fact(struct watch *watch, const struct fact *fact);
/* Reads what else is to be known of those that have just begun. */
void watch_refusals_gather(struct watch *watch);
/* Tells those that are over by then; UINT64_MAX: whatever is open. */
void watch_refusals_tell(struct watch *watch, uint64_t now_ns);
/* When to ask again; UINT64_MAX. */
uint64_t watch_refusals_deadline(const struct watch *watch, uint64_t now_ns);

#endif /* OOMSNOOP_CMD_WATCH_REFUSALS_H */
