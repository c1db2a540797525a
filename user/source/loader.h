/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader.h: the kernel side from the outside: load, attach, read the ring, take a census.
 *
 * The only place, with probe.h, that knows libbpf.
 */
#ifndef OOMSNOOP_SOURCE_LOADER_H
#define OOMSNOOP_SOURCE_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "facts/host.h"
#include "source/decode.h"
#include "source/hooks.h"

struct tracer;

struct tracer_options {
	const struct host_facts *host;
	uint32_t ring_bytes; /* a power of two and a multiple of the page size; 0: the default, 4
				MiB */
	bool no_faults; /* page faults are never to be counted */
	bool no_kills; /* kills that are not the OOM killer's are never told */
	bool no_refusals; /* nor what was asked for and not given */
	bool every_call; /* to that end every system call may be hooked */
	uint32_t fault_period; /* one sample in so many page faults; 0: the default, 64 */
	const char *without; /* hooks to leave out, "kill,scope,…", for tests and for odd kernels;
				NULL */
};

/*
 * Probes, loads and attaches. 0; -ENOENT: no BTF; -EPERM: not permitted; -EOPNOTSUPP: a required
 * hook cannot be served (hooks says why); or another -errno. `hooks` is filled in every case but
 * -ENOENT.
 */
int tracer_open(const struct tracer_options *options, struct hooks *hooks, struct tracer **ret);
void tracer_close(struct tracer *tracer);

/* Becomes readable when an incident moved on or the ring fills. */
int tracer_fd(const struct tracer *tracer);

/* Hands over everything in the ring, oldest first. Returns how many, or -errno. */
int tracer_drain(struct tracer *tracer, void (*fn)(const struct fact *fact, void *arg), void *arg);

/* Every process below the memcg `domain` (0: all), read in one pass. Returns how many, or -errno
 * (-ENOENT: no census). */
int tracer_census(struct tracer *tracer, uint64_t domain, bool exact,
	void (*fn)(const struct fact *fact, void *arg), void *arg);

/*
 * The recorder's pass: an EV_SAMPLE for every process and an EV_USAGE for every memory cgroup that
 * has one in it or below, in one read, all with the time now_ns. Returns how many records, or
 * -errno
 * (-ENOENT: the kernel has no task iterator).
 */
int tracer_pass(struct tracer *tracer, uint64_t now_ns,
	void (*fn)(const struct fact *fact, void *arg), void *arg);

/* Between two passes a process is told of once it has moved by so many pages. */
void tracer_threshold(struct tracer *tracer, uint64_t pages);

/*
 * Counts page faults from now on, or no longer. 0 or -errno (-ENOENT: no hook serves; -EACCES,
 * -EPERM: not permitted). Needs CAP_BPF and CAP_PERFMON at the time it is called.
 */
int tracer_arm(struct tracer *tracer, bool on);

struct tracer_losses {
	uint64_t dropped[EV_DROP_COUNT]; /* by the kernel side: the ring was full */
	uint64_t bad; /* records that could not be decoded */
	uint64_t unknown; /* kinds that this build does not know */
};

/*
 * How often the kernel passed over one of the programs since it was already running on that CPU,
 * interrupted by another task. Reads a file of /proc for each program: not for every incident. 0
 * where the kernel does not count it (before 5.12).
 */
uint64_t tracer_missed(const struct tracer *tracer);

void tracer_losses(const struct tracer *tracer, struct tracer_losses *ret);

/* How many signals a sender sent in the burst that began then, as far as it went by now; 0: that is
 * not known any more. */
uint32_t tracer_burst(const struct tracer *tracer, uint32_t sender, uint64_t began_ns);

/* The same of a process's calls of one kind (enum ev_call) that were refused. */
uint32_t tracer_refusals(
	const struct tracer *tracer, uint32_t tgid, uint32_t call, uint64_t began_ns);

/* What libbpf said while loading, the last lines: for -v and for errors. */
const char *tracer_log(void);
void tracer_verbose(bool on);

#endif /* OOMSNOOP_SOURCE_LOADER_H */
