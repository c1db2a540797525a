/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OOMSNOOP_CMD_REPORT_H
#define OOMSNOOP_CMD_REPORT_H

/* Returns the exit status: 0, 1, READING_OOM, EX_USAGE, EX_DATAERR, EX_IOERR or EX_NOPERM. */
int cmd_report(int argc, char **argv);

#endif /* OOMSNOOP_CMD_REPORT_H */
