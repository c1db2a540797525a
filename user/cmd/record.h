/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OOMSNOOP_CMD_RECORD_H
#define OOMSNOOP_CMD_RECORD_H

/* The live trace into a store. Returns the exit status. */
int cmd_record(int argc, char **argv);

#endif /* OOMSNOOP_CMD_RECORD_H */
