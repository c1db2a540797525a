/* SPDX-License-Identifier: Apache-2.0 */
/* live.h: the live trace, alone or with a store beside it. */
#ifndef OOMSNOOP_CMD_LIVE_H
#define OOMSNOOP_CMD_LIVE_H

#include "cmd/keeper.h"
#include "cmd/options.h"

/* All return the exit status. */
int cmd_live(int argc, char **argv);

/* store: where incidents go to, too; NULL: nowhere. */
int live_run(struct live_options *options, const struct keeper_options *store);

/* 0, or EX_NOPERM after a message. */
int live_rights(void);

#endif /* OOMSNOOP_CMD_LIVE_H */
