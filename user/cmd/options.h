/* SPDX-License-Identifier: Apache-2.0 */
/* options.h: the options of the live trace, parsed and checked. */
#ifndef OOMSNOOP_CMD_OPTIONS_H
#define OOMSNOOP_CMD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct live_options {
	bool json;
	enum color_mode color;
	bool quiet;
	bool verbose;
	const char *cgroup; /* path or pattern; NULL: all */
	const char *comm; /* name or pattern; NULL: all */
	uint32_t pid; /* 0: all */
	uint64_t max_events; /* 0: no bound */
	uint64_t timeout_ns; /* 0: none */
	uint64_t settle_ns; /* 0: the default */
	int ready_fd; /* -1: none */
	uint32_t ring_bytes; /* 0: the default */
	const char *without;
};

/* 0, or EX_USAGE after a message on stderr. --help and --version end the process, as argp does. */
int options_parse(int argc, char **argv, struct live_options *ret);

#endif /* OOMSNOOP_CMD_OPTIONS_H */
