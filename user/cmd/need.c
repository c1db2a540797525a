// SPDX-License-Identifier: Apache-2.0
#include "cmd/need.h"

#include "model/cgroup.h"
#include "model/containers.h"
#include "model/growth.h"
#include "model/incidents.h"
#include "model/process.h"

#define MIB (1ULL << 20)
#define RING_BYTES (4U << 20)
#define RING_MIN_BYTES (512U << 10)
#define PROCESSES 16384
#define CGROUPS 8192
#define LEDGER_BYTES (16UL << 20)
#define QUEUE_BYTES (16U << 20)
#define QUEUE_MIN_BYTES (4U << 20)

/* Measured (docs/kubernetes.md, "Sizes") on 5.10 to 7.3, the highest of them and a little more. */
#define LOAD_BYTES (16 * MIB) /* types, relocations, the verifier: given back after the start */
#define KERNEL_BYTES (6 * MIB) /* programs and maps but the ring */
#define PROCESS_BYTES (5 * MIB) /* buffers of records, the libraries' own, stacks, page tables */
#define STORE_BYTES (9 * MIB) /* SQLite's page cache and statements, a record being written */

static unsigned int open_incidents(unsigned int shrink)
{
	unsigned int pool = INCIDENT_POOL >> shrink;

	return pool > INCIDENT_POOL_MIN ? pool : INCIDENT_POOL_MIN;
}

static uint64_t shrunk(uint64_t bytes, unsigned int shrink, uint64_t least)
{
	return bytes >> shrink > least ? bytes >> shrink : least;
}

static uint64_t recorder_bytes(const struct table_sizes *sizes)
{
	struct growth_options growth = {.processes = sizes->processes,
		.cgroups = sizes->cgroups,
		.ledger_bytes = sizes->ledger_bytes};

	return growth_bytes(&growth);
}

void need_of(const struct need_options *options, unsigned int shrink, struct need *ret)
{
	struct table_sizes *sizes = &ret->sizes;
	uint64_t full;

	*sizes = (struct table_sizes) {
		.ring_bytes = options->ring_bytes ? options->ring_bytes
						  : shrunk(RING_BYTES, shrink, RING_MIN_BYTES),
		.processes = PROCESSES >> shrink,
		.cgroups = CGROUPS >> shrink,
		.ledger_bytes = LEDGER_BYTES >> shrink,
		.incidents = open_incidents(shrink),
		.queue_bytes = options->queue_bytes ? options->queue_bytes
						    : shrunk(QUEUE_BYTES, shrink, QUEUE_MIN_BYTES),
	};
	full = sizes->ring_bytes + KERNEL_BYTES + PROCESS_BYTES;
	full += processes_bytes(sizes->processes) + cgroups_bytes(sizes->cgroups);
	full += containers_bytes(sizes->cgroups) + incidents_bytes(sizes->incidents);
	if (options->recorder)
		full += recorder_bytes(sizes);
	if (options->store)
		full += sizes->queue_bytes + STORE_BYTES;
	ret->start_bytes = sizes->ring_bytes + LOAD_BYTES;
	ret->full_bytes = full > ret->start_bytes ? full : ret->start_bytes;
}

bool need_fit(const struct need_options *options, uint64_t room_bytes, struct need *ret)
{
	for (unsigned int shrink = 0; shrink <= NEED_SHRINK_MAX; shrink++) {
		need_of(options, shrink, ret);
		if (ret->full_bytes <= room_bytes)
			return true;
	}
	return false;
}
