/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OOMSNOOP_CMD_EXPORT_H
#define OOMSNOOP_CMD_EXPORT_H

/* Returns the exit status: 0, 1, EX_USAGE, EX_DATAERR, EX_IOERR or EX_NOPERM. */
int cmd_export(int argc, char **argv);

#endif /* OOMSNOOP_CMD_EXPORT_H */
