/* SPDX-License-Identifier: Apache-2.0 */
/* ending.h: the signals that end a run, as a descriptor to wait for. */
#ifndef OOMSNOOP_CMD_ENDING_H
#define OOMSNOOP_CMD_ENDING_H

/* Blocks SIGINT, SIGTERM and SIGHUP. A signalfd that does not block, or -errno. */
int ending_open(void);

#endif /* OOMSNOOP_CMD_ENDING_H */
