/* SPDX-License-Identifier: Apache-2.0 */
/* output.h: stdout, written whole. */
#ifndef OOMSNOOP_CMD_OUTPUT_H
#define OOMSNOOP_CMD_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/options.h"

/* 0, -EPIPE (the reader is gone), or another -errno. */
int output_write(const char *data, size_t len);

/* Is stdout open for writing? 0 or -errno. */
int output_check(void);

bool output_color(enum color_mode mode);
int output_width(void); /* of the terminal; 80 where there is none */

#endif /* OOMSNOOP_CMD_OUTPUT_H */
