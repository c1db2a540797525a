/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OOMSNOOP_CMD_RUN_H
#define OOMSNOOP_CMD_RUN_H

/* Runs a command under watch and tells how it ended. Returns the exit status, the command's own;
 * where a signal ended that, the same one ends this process. */
int cmd_run(int argc, char **argv);

#endif /* OOMSNOOP_CMD_RUN_H */
