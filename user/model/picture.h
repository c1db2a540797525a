/* SPDX-License-Identifier: Apache-2.0 */
/*
 * picture.h: how memory grew in a window that ends at one moment: part of an incident.
 *
 * Filled by growth_picture() (model/growth.h); judged by judge/trend.h; plain data. `_bytes` may be
 * below zero only where the type is signed. UNKNOWN_U64 (facts/host.h): not known.
 */
#ifndef OOMSNOOP_MODEL_PICTURE_H
#define OOMSNOOP_MODEL_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "model/cgroup.h"

#define PICTURE_CGROUPS 16
#define PICTURE_PROCESSES 32
#define PICTURE_FAMILIES 8
#define PICTURE_POINTS 60 /* of the domain's usage, at equal distances over the window */
#define PICTURE_ARMED 8
#define PICTURE_PATH 320

struct picture_cgroup {
	uint64_t id;
	char path[PICTURE_PATH]; /* empty: not known, or too long */
	int64_t delta_bytes; /* usage, with all below it */
	int64_t own_bytes; /* the part that is no child's in this picture: sorted by it */
	uint64_t usage_bytes; /* at the end */
	uint64_t charged_bytes; /* by its own processes; UNKNOWN_U64: no charge hook */
	bool began; /* it was made within the window */
};

struct picture_process {
	uint32_t tgid;
	uint32_t ppid;
	uint64_t start_ns;
	uint64_t cgroup_id;
	char comm[EV_COMM_LEN + 1];
	int64_t delta_bytes; /* anon, file, shmem and swap, end less beginning; a process that began
				within the window begins at what it was forked with */
	uint64_t held_bytes; /* anon, file, shmem and swap at the end; at its exit: its peak */
	uint64_t cow_bytes; /* private copies of shared pages: RSS does not move */
	bool cow_upper_bound; /* cow_bytes is the most it can be */
	uint64_t cached_bytes; /* what its reads, writes or charges can account for of the cgroup's
				  growth that no address space shows (page cache, tmpfs): at most */
	uint64_t peak_bytes; /* the most it had resident within the window */
	bool exited;
	bool began; /* within the window */
};

struct picture_family {
	uint32_t root_tgid; /* who forked them; it may be dead or outside the domain */
	uint64_t root_start_ns;
	char comm[EV_COMM_LEN + 1];
	uint32_t members; /* alive at the end, the root included if it is in the domain */
	uint32_t exited; /* members that ended within the window */
	uint64_t private_bytes; /* what each member has to itself: grown since its fork, and copied
				 */
	uint64_t shared_bytes; /* what they were forked with and have not copied: counted once */
	int64_t delta_bytes; /* growth of the members' private memory without copies */
	uint64_t cow_bytes;
	bool cow_upper_bound;
};

/* When page faults were counted, in the window. */
struct picture_armed {
	uint64_t from_ns;
	uint64_t to_ns; /* 0: to the end */
};

struct growth_picture {
	bool valid; /* a recorder ran */
	uint64_t from_ns, to_ns; /* the window that the history covers: may be shorter than asked */
	uint64_t asked_ns; /* its length as asked for */
	uint64_t domain_id; /* the cgroup it is about; 0: the whole machine */
	uint64_t domain_max_bytes; /* its limit; UNKNOWN_U64: none */
	int64_t domain_delta_bytes; /* growth of its usage; of the machine: of used RAM */
	bool domain_known; /* its usage was recorded */
	int64_t unattributed_bytes; /* domain_delta less all processes' growth in it, RSS and cow,
				       of those alive at the end, and less what came back with those
				       that ended: page cache, tmpfs, kernel memory, or what is
				       shared */
	bool cow_counted; /* at least for a part of the window, write faults were counted */

	unsigned int cgroup_count, cgroup_total;
	struct picture_cgroup cgroups[PICTURE_CGROUPS];
	unsigned int process_count, process_total;
	struct picture_process
		processes[PICTURE_PROCESSES]; /* by delta + cow + cached, most first */
	unsigned int family_count, family_total;
	struct picture_family families[PICTURE_FAMILIES]; /* by delta + cow */

	unsigned int point_count;
	uint64_t points[PICTURE_POINTS]; /* usage bytes; the last one is at to_ns */
	unsigned int armed_count;
	struct picture_armed armed[PICTURE_ARMED];
	uint64_t evicted; /* chunks of history that gave way early, whole run */
	uint64_t not_followed; /* processes that ended between two passes and were too small to be
				  kept */
};

#endif /* OOMSNOOP_MODEL_PICTURE_H */
