/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.h: which slot of a fixed array holds which key, and which slot gives way when all are
 * taken.
 *
 * The owner keeps the entries in an array of its own; here are only numbers: hash chains, and two
 * lists in order of age, one of what lives and one of what is gone. Everything is O(1) and nothing
 * is allocated after slots_init(). The owner's keys may repeat (a pid of two processes): it walks
 * the chain and compares.
 */
#ifndef OOMSNOOP_MODEL_SLOTS_H
#define OOMSNOOP_MODEL_SLOTS_H

#include <stddef.h>
#include <stdint.h>

#define SLOT_NONE UINT32_MAX
#define SLOTS_MAX (1U << 24)

enum slot_list {
	SLOT_LIVE = 0,
	SLOT_GONE = 1,
	SLOT_LISTS = 2,
};

struct slot_link {
	uint32_t chain; /* next in the hash chain */
	uint32_t older, newer; /* neighbours in the list */
	uint32_t bucket;
	uint32_t list; /* enum slot_list */
};

struct slots {
	uint32_t capacity;
	uint32_t used;
	uint32_t mask;
	uint32_t *buckets;
	struct slot_link *links;
	uint32_t oldest[SLOT_LISTS], newest[SLOT_LISTS];
};

/* 0 or -EINVAL (capacity is 0 or above SLOTS_MAX), -ENOMEM. */
int slots_init(struct slots *slots, size_t capacity);
void slots_done(struct slots *slots);

/* What slots_init() takes. */
size_t slots_bytes(size_t capacity);

/* The slots that may hold a key: first, then next of each until SLOT_NONE. */
uint32_t slots_first(const struct slots *slots, uint64_t key);
uint32_t slots_next(const struct slots *slots, uint32_t slot);

/*
 * A slot for a new key, newest in the list of the living. Where none is free the oldest that is
 * gone is taken, then the oldest that lives; *ret_evicted says from which list, SLOT_LISTS: from
 * none.
 */
uint32_t slots_take(struct slots *slots, uint64_t key, enum slot_list *ret_evicted);

/* Makes a slot the newest of a list. */
void slots_move(struct slots *slots, uint32_t slot, enum slot_list list);

#endif /* OOMSNOOP_MODEL_SLOTS_H */
