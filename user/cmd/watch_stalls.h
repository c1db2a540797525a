/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_stalls.h: the part of the live trace that tells of cgroups that stand still at memory.high.
 * It looks after a pass of the recorder, at most once a second: at what the pass has found, and at
 * memory.pressure of those alone whose usage is not below memory.high.
 */
#ifndef OOMSNOOP_CMD_WATCH_STALLS_H
#define OOMSNOOP_CMD_WATCH_STALLS_H

#include "cmd/watch.h"

void watch_stalls_look(struct watch *watch, uint64_t now_ns);

#endif /* OOMSNOOP_CMD_WATCH_STALLS_H */
