/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h: the inside of a tracer, shared by the loader, the ring's reader and the census. Not for
 * others. */
#ifndef OOMSNOOP_SOURCE_RING_H
#define OOMSNOOP_SOURCE_RING_H

#include "source/loader.h"

#define TRACER_LINKS (HOOK_COUNT * HOOK_PROGRAMS)

struct bpf_link;
struct oomsnoop;
struct ring_buffer;

/* Where decoded records go, and the one in hand: too large for a stack. */
struct delivery {
	void (*fn)(const struct fact *fact, void *arg);
	void *arg;
	struct fact fact;
};

struct tracer {
	struct oomsnoop *skel;
	struct ring_buffer *ring;
	struct bpf_link *links[TRACER_LINKS];
	size_t link_count;
	struct bpf_link *census_link; /* one of the links; NULL: no census */
	struct bpf_link *recorder_link; /* the same of the recorder's pass */
	/* the hook on page faults while it is armed: one link a program, or one a CPU */
	struct bpf_link **arm_links;
	uint32_t arm_count, arm_capacity;
	int faults_serving; /* index of the alternative; -1: none */
	uint32_t fault_period;
	struct delivery ring_delivery;
	struct delivery
		census_delivery; /* a census may be taken while a record of the ring is in hand */
	uint64_t bad, unknown;
};

int ring_open(struct tracer *tracer);
void ring_close(struct tracer *tracer);

/* Decodes one record and hands it on; counts what cannot be read. */
void tracer_deliver(
	struct tracer *tracer, struct delivery *delivery, const void *data, size_t size);

#endif /* OOMSNOOP_SOURCE_RING_H */
