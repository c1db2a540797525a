/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OOMSNOOP_CMD_PARSE_H
#define OOMSNOOP_CMD_PARSE_H

/* `oomsnoop parse [FILE…|-]`: kernel logs in, the same records out. Returns an exit status. */
int cmd_parse(int argc, char **argv);

#endif /* OOMSNOOP_CMD_PARSE_H */
