/* SPDX-License-Identifier: Apache-2.0 */
/* watch_kills.h: the part of the live trace that tells of kills that were not the OOM killer's. */
#ifndef OOMSNOOP_CMD_WATCH_KILLS_H
#define OOMSNOOP_CMD_WATCH_KILLS_H

#include "cmd/watch.h"

/* 0 or -errno; without the hook, or with --kills off, there is nothing to open. */
int watch_kills_open(struct watch *watch);

/* Reads what else is to be known of those that have just begun. */
void watch_kills_gather(struct watch *watch);
/* Tells those that are over by then; UINT64_MAX: whatever is open. While the ring is read that is
 * the time of its records: what came next may belong to one that would be over by the clock. */
void watch_kills_tell(struct watch *watch, uint64_t now_ns);
/* When the next one is; UINT64_MAX. */
uint64_t watch_kills_deadline(const struct watch *watch);

#endif /* OOMSNOOP_CMD_WATCH_KILLS_H */
