// SPDX-License-Identifier: Apache-2.0
#include "model/slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t buckets_for(size_t capacity)
{
	uint32_t buckets = 16;

	while (buckets < capacity)
		buckets *= 2;
	return buckets;
}

size_t slots_bytes(size_t capacity)
{
	return buckets_for(capacity) * sizeof(uint32_t) + capacity * sizeof(struct slot_link);
}

int slots_init(struct slots *slots, size_t capacity)
{
	uint32_t buckets;

	if (capacity == 0 || capacity > SLOTS_MAX)
		return -EINVAL;
	buckets = buckets_for(capacity);
	memset(slots, 0, sizeof(*slots));
	slots->buckets = malloc(buckets * sizeof(*slots->buckets));
	slots->links = calloc(capacity, sizeof(*slots->links));
	if (!slots->buckets || !slots->links) {
		slots_done(slots);
		return -ENOMEM;
	}
	memset(slots->buckets, 0xff, buckets * sizeof(*slots->buckets)); /* SLOT_NONE */
	slots->capacity = (uint32_t)capacity;
	slots->mask = buckets - 1;
	for (int list = 0; list < SLOT_LISTS; list++)
		slots->oldest[list] = slots->newest[list] = SLOT_NONE;
	return 0;
}

void slots_done(struct slots *slots)
{
	free(slots->buckets);
	free(slots->links);
	memset(slots, 0, sizeof(*slots));
}

/* Pids and kernfs ids count up: a multiplication spreads them, and nobody can choose them at will.
 */
static uint32_t bucket_of(const struct slots *slots, uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15ULL) >> 32) & slots->mask;
}

uint32_t slots_first(const struct slots *slots, uint64_t key)
{
	return slots->buckets[bucket_of(slots, key)];
}

uint32_t slots_next(const struct slots *slots, uint32_t slot)
{
	return slots->links[slot].chain;
}

static void unlink_list(struct slots *slots, uint32_t slot)
{
	struct slot_link *link = &slots->links[slot];

	if (link->older != SLOT_NONE)
		slots->links[link->older].newer = link->newer;
	else
		slots->oldest[link->list] = link->newer;
	if (link->newer != SLOT_NONE)
		slots->links[link->newer].older = link->older;
	else
		slots->newest[link->list] = link->older;
}

static void append_list(struct slots *slots, uint32_t slot, enum slot_list list)
{
	struct slot_link *link = &slots->links[slot];

	link->list = list;
	link->newer = SLOT_NONE;
	link->older = slots->newest[list];
	if (link->older != SLOT_NONE)
		slots->links[link->older].newer = slot;
	else
		slots->oldest[list] = slot;
	slots->newest[list] = slot;
}

static void unlink_chain(struct slots *slots, uint32_t slot)
{
	uint32_t *at = &slots->buckets[slots->links[slot].bucket];

	while (*at != slot)
		at = &slots->links[*at].chain;
	*at = slots->links[slot].chain;
}

static void append_chain(struct slots *slots, uint32_t slot, uint64_t key)
{
	uint32_t bucket = bucket_of(slots, key);

	slots->links[slot].bucket = bucket;
	slots->links[slot].chain = slots->buckets[bucket];
	slots->buckets[bucket] = slot;
}

uint32_t slots_take(struct slots *slots, uint64_t key, enum slot_list *ret_evicted)
{
	enum slot_list from = SLOT_LISTS;
	uint32_t slot;

	if (slots->used < slots->capacity) {
		slot = slots->used++;
	} else {
		from = slots->oldest[SLOT_GONE] != SLOT_NONE ? SLOT_GONE : SLOT_LIVE;
		slot = slots->oldest[from];
		unlink_list(slots, slot);
		unlink_chain(slots, slot);
	}
	append_chain(slots, slot, key);
	append_list(slots, slot, SLOT_LIVE);
	*ret_evicted = from;
	return slot;
}

void slots_move(struct slots *slots, uint32_t slot, enum slot_list list)
{
	unlink_list(slots, slot);
	append_list(slots, slot, list);
}
