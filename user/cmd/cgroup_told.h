/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_told.h: what whoever watches its own cgroup has to know beforehand, on stderr. */
#ifndef OOMSNOOP_CMD_CGROUP_TOLD_H
#define OOMSNOOP_CMD_CGROUP_TOLD_H

#include "cmd/cgroup_look.h"
#include "cmd/options.h"

/* After the first look. `woken`: the kernel tells when a kill was counted. `adj`: our own
 * oom_score_adj. With -q only what makes the watch useless. */
void cgroup_told_start(const struct cgroup_view *view, const struct selfwatch *watch,
	const struct live_options *options, bool woken, int adj);

#endif /* OOMSNOOP_CMD_CGROUP_TOLD_H */
