/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor.h: what works on this kernel and with these rights, and how much memory there really is.
 *
 * The command fills the report; the sinks only format it. Keys of the JSON object: docs/doctor.md.
 */
#ifndef OOMSNOOP_SINK_DOCTOR_H
#define OOMSNOOP_SINK_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "facts/container_names.h"
#include "facts/host.h"
#include "facts/kernel.h"
#include "facts/quota.h"
#include "facts/rights.h"
#include "facts/room.h"
#include "model/containers.h"
#include "source/hooks.h"

/* Room for either form with every reason at its longest. */
#define DOCTOR_BUF_BYTES 65536

/* Whether pods and containers can be named. */
struct doctor_names {
	int error; /* -errno: the host's file system cannot be looked at */
	const char *host_root; /* as it was given, "" for "/" */
	struct containers_sum sum; /* of those that are here now */
	size_t place_count;
	struct names_place places[NAMES_PLACES_MAX];
};

/* What the live trace itself takes. */
struct doctor_own {
	uint64_t start_bytes; /* while its programs are loaded */
	uint64_t full_bytes; /* with all of its tables full */
	uint64_t smallest_bytes; /* likewise, with the smallest tables */
	uint64_t fit_bytes; /* likewise, with the largest tables that fit; 0: none do */
	struct memory_room room; /* room_bytes UNKNOWN_U64: no limit is to be seen */
};

struct doctor_report {
	int64_t wall_ns; /* CLOCK_REALTIME of the report */

	/* 0: filled; else -errno of reading it, and the struct beside it is to be left alone */
	int host_error;
	struct host_facts host;
	int kernel_error;
	struct kernel_facts kernel;
	int rights_error;
	struct rights rights;
	int quota_error;
	struct quota quota;

	struct doctor_names names;

	struct rights_protection protection;

	struct doctor_own own;

	int tracer_error; /* 0: the programs were loaded and attached; else -errno */
	bool hooks_probed; /* hooks says what was tried; not so where there is no BTF */
	struct hooks hooks;
};

enum doctor_tier {
	DOCTOR_TIER_NONE = 0, /* nothing can be traced */
	DOCTOR_TIER_TRACEPOINT = 1, /* kills are seen; the kernel's own decision is not */
	DOCTOR_TIER_FULL = 2,
};

enum doctor_obstacle {
	DOCTOR_CLEAR = 0,
	DOCTOR_NOT_PERMITTED = 1,
	DOCTOR_KERNEL_TOO_OLD = 2,
	DOCTOR_NO_BTF = 3,
	DOCTOR_REQUIRED_HOOK = 4,
	DOCTOR_FAILED = 5,
};

enum doctor_tier doctor_tier(const struct doctor_report *report);
enum doctor_obstacle doctor_obstacle(const struct doctor_report *report);
const char *doctor_tier_name(enum doctor_tier tier); /* "full", "tracepoint", "none" */
const char *doctor_obstacle_name(enum doctor_obstacle obstacle);

/* The table of hooks tells of this kernel. Not so where rights were missing: then all of them fail,
 * and their reasons would blame the kernel. */
bool doctor_hooks_told(const struct doctor_report *report);

/* One sentence on what stands in the way; nothing where the way is clear. */
void doctor_put_obstacle(struct buf *buf, const struct doctor_report *report);

/* Less may be used than the machine has. */
bool doctor_limited(const struct quota *quota);

/* What tells of kills where BPF does not: "kmsg", "cgroup", or NULL: nothing, or BPF does. */
const char *doctor_fallback(const struct doctor_report *report);

/* "You may use 2.00 GiB; 1.30 GiB is in use, of which 410 MiB is cache that the kernel gives back;
 * `free` says 480 GiB: that is the host." Names in it are arbitrary bytes. */
void doctor_put_quota(struct buf *buf, const struct quota *quota);

/* What of names cannot be known, and what would have to be mounted for it; index from 0, false: no
 * more of them. */
bool doctor_put_unnamed(struct buf *buf, const struct doctor_names *names, unsigned int index);
/* "12 containers are here; the names of 10 are known" */
void doctor_put_named(struct buf *buf, const struct doctor_names *names);

/* How things are set, where that has consequences: one sentence each. NULL: no more of them. */
const char *doctor_note(const struct doctor_report *report, unsigned int index);

/* "The tracer itself needs ...": and whether that fits. Names in it are arbitrary bytes. */
void doctor_put_own(struct buf *buf, const struct doctor_own *own);

/* What is lost for want of this capability; NULL: nothing is, by what was tried. */
const char *doctor_right_lost(const struct doctor_report *report, const struct rights_extra *extra);

/* 0, or -ENOSPC: buf is then as it was before. */
int doctor_text(struct buf *buf, const struct doctor_report *report);
int doctor_json(struct buf *buf, const struct doctor_report *report);

#endif /* OOMSNOOP_SINK_DOCTOR_H */
