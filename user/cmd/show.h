/* SPDX-License-Identifier: Apache-2.0 */
/* show.h: how list and report show what they found: options that both have. */
#ifndef OOMSNOOP_CMD_SHOW_H
#define OOMSNOOP_CMD_SHOW_H

#include <argp.h>
#include <stdbool.h>

#include "cmd/options.h"

struct show {
	bool json;
	bool quiet;
	enum color_mode color;
	int width; /* 0: of the terminal */
};

/* To be a child of a command's argp; the input of it is a struct show, zeroed. */
extern const struct argp show_argp;

#endif /* OOMSNOOP_CMD_SHOW_H */
