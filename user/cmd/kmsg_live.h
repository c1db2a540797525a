/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kmsg_live.h: the live trace where the kernel permits no BPF: what it prints of its kills is
 * followed and told as it comes.
 */
#ifndef OOMSNOOP_CMD_KMSG_LIVE_H
#define OOMSNOOP_CMD_KMSG_LIVE_H

#include "cmd/options.h"
#include "facts/host.h"

/* `kmsg_fd`: of kmsg_open(), which is closed here. Returns the exit status. */
int kmsg_live_run(const struct live_options *options, const struct host_facts *host, int kmsg_fd);

#endif /* OOMSNOOP_CMD_KMSG_LIVE_H */
