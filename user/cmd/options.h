/* SPDX-License-Identifier: Apache-2.0 */
/* options.h: the options of the live trace, parsed and checked. */
#ifndef OOMSNOOP_CMD_OPTIONS_H
#define OOMSNOOP_CMD_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmd/filter.h"

#define WARN_MAX 4

/* A limit is near when it is so full, or when it will be full so soon. One of the two is 0. */
struct warn_threshold {
	const char *text; /* as it was given */
	double ratio;
	uint64_t left_ns;
};

enum faults_mode { FAULTS_AUTO, FAULTS_ALWAYS, FAULTS_NEVER };

/* Which kills that are not the OOM killer's are told. */
enum kills_mode { KILLS_FOREIGN, KILLS_ALL, KILLS_OFF };
/* Is it told what memory and processes were asked for and not given? AUTO: where that costs nothing
 * to those who are given. */
enum refused_mode { REFUSED_AUTO, REFUSED_ON, REFUSED_OFF };
/* What tells of kills. AUTO: BPF; where that is not permitted the kernel log; where that is not
 * readable the own cgroup's files. */
enum live_source { SOURCE_AUTO, SOURCE_BPF, SOURCE_KMSG, SOURCE_CGROUP };

enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct follower;

struct live_options {
	const struct follower *follower; /* cmd/follower.h; NULL: nobody is followed */
	bool json;
	enum live_source source;
	enum color_mode color;
	bool silent; /* nothing goes to stdout: `record` */
	bool quiet;
	bool verbose;
	struct filter filter;
	enum kills_mode kills;
	enum refused_mode refused;
	const char *host_root; /* where the host's file system is seen; "": at / */
	uint64_t max_events; /* 0: no bound */
	uint64_t timeout_ns; /* 0: none */
	uint64_t settle_ns; /* 0: the default */
	int ready_fd; /* -1: none */
	uint32_t ring_bytes; /* 0: the default */
	uint64_t memory_bytes; /* that all tables must fit into; 0: the default tables */
	const char *probe; /* name at which it answers; NULL: it does not */
	const char *without;

	/* the recorder */
	bool no_recorder; /* --without recorder */
	uint64_t window_ns; /* what a record looks back on */
	uint64_t history_ns; /* what is kept; at least window_ns */
	uint64_t census_ns; /* from pass to pass, where nothing is near its limit */
	enum faults_mode faults;
	uint32_t fault_period;
	bool growth; /* stream changes */
	uint64_t min_delta_bytes;
	uint64_t interval_ns;
	uint64_t stall_ns; /* a standstill at memory.high is told after so long; 0: never */
	unsigned int warn_count;
	struct warn_threshold warn[WARN_MAX];
};

void options_defaults(struct live_options *ret);

/* 0, or EX_USAGE after a message on stderr. --help and --version end the process, as argp does. */
int options_parse(int argc, char **argv, struct live_options *ret);

/* The same options as a part of another command's: its input is a struct live_options with the
 * defaults. */
extern const struct argp options_argp;

/* "90", "90s", "500ms", "5m", "2h", "7d" in ns, more than 0; "16MiB" in bytes. What is none is a
 * usage error that names `what`. */
uint64_t options_time(struct argp_state *state, const char *what, const char *text);
/* The value of --host-root, "" for "/"; a usage error where it cannot be opened. */
const char *options_host_root(struct argp_state *state, const char *text);
/* "auto", "on", "off". */
enum refused_mode options_refused(struct argp_state *state, const char *text);
uint64_t options_size(struct argp_state *state, const char *what, const char *text);

#endif /* OOMSNOOP_CMD_OPTIONS_H */
