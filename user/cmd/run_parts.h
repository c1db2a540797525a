/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_parts.h: what the pieces of `oomsnoop run` share.
 *
 * Processes: the runner, whom the shell sees, starts the command and waits for it; the tracer is
 * the live trace in a process and a process group of its own, so that loading BPF programs holds
 * nobody up and nothing that befalls it touches the command; the witness is in the runner's process
 * group and does nothing but tell whether a signal went to the whole group.
 */
#ifndef OOMSNOOP_CMD_RUN_PARTS_H
#define OOMSNOOP_CMD_RUN_PARTS_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/keeper.h"
#include "cmd/options.h"
#include "facts/cgroupfs.h"
#include "facts/host.h"
#include "facts/procsize.h"
#include "judge/run.h"
#include "model/family.h"

#define RUN_TEXT_BYTES (4U << 20) /* taken as it fills */
#define RUN_PIECES 12

struct run_options {
	char **command; /* NULL terminated */
	const char *store; /* -o; NULL: none */
	bool json, quiet, attach_first, verbose;
	uint64_t memory_max, memory_high, swap_max; /* UNKNOWN_U64: not asked for */
	bool oom_group;
	enum refused_mode refused;
};

/* One record of the trace, as text or as JSON. */
struct run_piece {
	uint32_t offset, len;
	int oom; /* index into told.ooms; -1: another kind */
};

/* Between tracer and runner. The tracer writes all but root_pid until it ends. */
struct run_shared {
	_Atomic uint32_t root_pid; /* 0: the command has not been started */
	_Atomic uint32_t ready;
	uint64_t ready_ns; /* CLOCK_BOOTTIME */
	struct run_told told;
	unsigned int piece_count;
	struct run_piece pieces[RUN_PIECES];
	uint32_t text_len;
	char text[RUN_TEXT_BYTES];
};

struct run_cgroup_made {
	char dir[CGROUP_PATH_LEN + 320]; /* "": none was made */
};

/* How much the family holds, by looks at /proc. */
struct run_sampler {
	struct run_peak *peak;
	struct family *family; /* all that were ever seen */
	pid_t self, root, skip[2];
	uint32_t page_size;
	uint64_t start_ns, next_ns, pss_ns, pss_rss_bytes;
	uint32_t alive; /* at the last look, the root included */
	size_t count, room;
	struct proc_size *table;
};

struct run {
	struct run_options options;
	struct host_facts host;
	struct run_facts facts;
	struct run_judgement judgement;
	struct run_shared *shared;
	struct run_cgroup_made made;
	struct run_sampler sampler;
	struct cgroup_mount mount; /* of the cgroup that the command runs in */
	bool mounted;
	uint64_t kills_before;
	sigset_t signals_before;
	struct sigaction child_before;
	int signal_fd, end_fd, said_fd, witness_fd; /* -1: not open */
	int account_fd; /* a copy of standard error; -1: that was closed */
	pid_t self, child, tracer, witness; /* 0: not there, or ended */
	int tracer_status; /* as in wait(2), once it has ended */
	bool tracer_ended, ended;
	uint64_t start_ns, end_ns; /* CLOCK_BOOTTIME */
	int width;
	bool color;
};

/* --- run_cgroup.c --- */

/* A cgroup for the command, with its limits. 0 or the exit status, after a message. */
int run_cgroup_make(struct run *run);
/* What the command's cgroup has counted before it starts. */
void run_cgroup_before(struct run *run);
/* The same once it has ended; removes what was made. */
void run_cgroup_after(struct run *run);
/* In the child: joins it. 0 or -errno. */
int run_cgroup_join(const struct run *run);

/* --- run_child.c --- */

/* Blocks and opens what is to be passed on. 0 or -errno. */
int run_signals_open(struct run *run);

/* Who is who after a fork: each returns to main in its own process. */
enum run_role { RUN_RUNNER, RUN_ELSE };

/* The witness. *ret_role RUN_ELSE in its process, which has then done its work. 0 or -errno. */
int run_witness_start(struct run *run, enum run_role *ret_role);

/* The command. RUN_ELSE: in its process, which could not execute it. 0; or the exit status, after a
 * message. */
int run_child_start(struct run *run, enum run_role *ret_role);

/* Waits for the command, no longer than until then, passes signals on, looks at the family. true:
 * it has ended. */
bool run_child_wait(struct run *run, uint64_t until_ns);

/* Has it left nobody behind, as far as the kernel tells without a look at /proc? */
bool run_is_childless(const struct run *run);

/* Waits for the tracer's end, no longer than until then. 0, or the signal that cut it short: one of
 * those that end programs. */
int run_tracer_wait(struct run *run, uint64_t until_ns);

/* Ends as the command did; returns the exit status where it was not a signal. */
int run_end_alike(const struct run *run);

/* --- run_tracer.c --- */

/* RUN_ELSE: in its process, after the trace; the value returned is its exit status. 0 or -errno. */
int run_tracer_start(struct run *run, enum run_role *ret_role);
/* Until it watches: 0, or the exit status to end with, after a message. */
int run_tracer_ready(struct run *run);
/* Takes over what it told, or why there is nothing. */
void run_tracer_end(struct run *run);
/* All that it said on its standard error: the length, or below 0. */
ssize_t run_tracer_said(const struct run *run, char *ret, size_t size);

/* --- run_sample.c --- */

/* 0 or -ENOMEM. */
int run_sampler_open(struct run_sampler *sampler, struct run_peak *peak, uint32_t page_size);
void run_sampler_close(struct run_sampler *sampler);
/* One look, and when the next one is due. 0 or -errno. */
int run_sample(struct run_sampler *sampler);
/* Everybody who descends from `root` or is a child of `self`, into the family: the root first. */
int run_census(struct run_sampler *sampler, struct family *family);

#endif /* OOMSNOOP_CMD_RUN_PARTS_H */
