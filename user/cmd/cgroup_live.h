/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup_live.h: the live trace where neither BPF nor the kernel log is permitted: the own cgroup's
 * files are watched, and the processes in it. docs/no-rights.md says what that can tell.
 */
#ifndef OOMSNOOP_CMD_CGROUP_LIVE_H
#define OOMSNOOP_CMD_CGROUP_LIVE_H

#include "cmd/keeper.h"
#include "cmd/options.h"
#include "facts/host.h"

/* There is a cgroup of our own in which kills are counted, and it is a container's or has a limit:
 * on a host whoever asks for the machine is not to be given less without a word. */
bool cgroup_live_serves(void);

/* Returns the exit status. store: where incidents go to, too; NULL: nowhere. */
int cgroup_live_run(const struct live_options *options, const struct host_facts *host,
	const struct keeper_options *store);

#endif /* OOMSNOOP_CMD_CGROUP_LIVE_H */
