/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OOMSNOOP_CMD_RANK_H
#define OOMSNOOP_CMD_RANK_H

/* Returns the exit status: 0, 1, EX_USAGE, EX_UNAVAILABLE, EX_NOPERM or EX_IOERR. */
int cmd_rank(int argc, char **argv);

#endif /* OOMSNOOP_CMD_RANK_H */
