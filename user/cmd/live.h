/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OOMSNOOP_CMD_LIVE_H
#define OOMSNOOP_CMD_LIVE_H

/* The live trace. Returns the exit status. */
int cmd_live(int argc, char **argv);

#endif /* OOMSNOOP_CMD_LIVE_H */
