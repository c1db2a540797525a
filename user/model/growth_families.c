// SPDX-License-Identifier: Apache-2.0
/*
 * Fork families in a window.
 *
 * With R what a member holds, B what it was forked with and C what it copied of that, it still
 * shares S = max(0, B - C) and has R - S to itself. Over the members that are alive:
 *
 *   shared  = max(S): the members share with the root and among each other, so it is there once
 *   private = sum(R - S), less `shared` where the root is among them: what they share is part of
 *             what it holds
 *
 * so that private + shared is what the family takes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/growth_parts.h"

struct family_sum {
	uint32_t root_tgid;
	uint32_t next; /* in its bucket: number + 1 */
	uint64_t root_start_ns;
	uint32_t members, exited;
	int64_t private, delta, root_private;
	uint64_t shared, cow;
	bool cow_estimated;
	const struct followed *named_by;
};

static uint32_t buckets_for(size_t capacity)
{
	uint32_t buckets = 16;

	while (buckets < capacity)
		buckets *= 2;
	return buckets;
}

size_t families_bytes(size_t capacity)
{
	return capacity * sizeof(struct family_sum) + buckets_for(capacity) * sizeof(uint32_t);
}

int families_new(struct growth *growth, size_t capacity)
{
	uint32_t buckets = buckets_for(capacity);

	growth->families = calloc(capacity, sizeof(*growth->families));
	growth->family_buckets = calloc(buckets, sizeof(*growth->family_buckets));
	growth->family_mask = buckets - 1;
	return growth->families && growth->family_buckets ? 0 : -ENOMEM;
}

void families_clear(struct growth *growth)
{
	growth->family_count = 0;
	memset(growth->family_buckets, 0,
		((size_t)growth->family_mask + 1) * sizeof(*growth->family_buckets));
}

/* There are as many places as there are processes. */
static struct family_sum *family_of(struct growth *growth, const struct followed *process)
{
	uint64_t mixed = (process->root_tgid ^ process->root_start_ns) * 0x9e3779b97f4a7c15ULL;
	uint32_t *bucket = &growth->family_buckets[mixed >> 32 & growth->family_mask];
	struct family_sum *family;

	for (uint32_t number = *bucket; number; number = family->next) {
		family = &growth->families[number - 1];
		if (family->root_tgid == process->root_tgid &&
			family->root_start_ns == process->root_start_ns)
			return family;
	}
	family = &growth->families[growth->family_count++];
	*family = (struct family_sum) {.root_tgid = process->root_tgid,
		.root_start_ns = process->root_start_ns,
		.next = *bucket,
		.named_by = process};
	*bucket = growth->family_count;
	return family;
}

void families_add(struct growth *growth, const struct standing *standing)
{
	const struct followed *process = standing->process;
	struct family_sum *family = family_of(growth, process);
	uint64_t shared = less(process->shared, above(standing->end.values[PROCESS_COW]));
	uint64_t private = less(above(standing->held), shared);

	if (standing->exited) {
		family->exited++;
		return;
	}
	family->members++;
	family->private += (int64_t) private;
	family->delta += standing->delta;
	family->cow += standing->cow;
	family->cow_estimated |= standing->cow_estimated;
	shared = least(shared, above(standing->held));
	if (shared > family->shared)
		family->shared = shared;
	if (process->tgid == family->root_tgid && process->start_ns == family->root_start_ns)
		family->root_private = (int64_t) private;
}

static void tell(struct growth *growth, const struct family_sum *family, struct picture_family *ret)
{
	const struct followed *root =
		followed_find(growth, family->root_tgid, family->root_start_ns);
	int64_t in_root = family->root_private < (int64_t)family->shared ? family->root_private
									 : (int64_t)family->shared;

	*ret = (struct picture_family) {
		.root_tgid = family->root_tgid,
		.root_start_ns = family->root_start_ns,
		.members = family->members,
		.exited = family->exited,
		.private_bytes = (uint64_t)to_bytes(growth, family->private - in_root),
		.shared_bytes = (uint64_t)to_bytes(growth, (int64_t)family->shared),
		.delta_bytes = to_bytes(growth, family->delta),
		.cow_bytes = (uint64_t)to_bytes(growth, (int64_t)family->cow),
		.cow_upper_bound = family->cow && family->cow_estimated,
	};
	fact_comm((root ? root : family->named_by)->comm, ret->comm);
}

static int64_t weight_of(const struct family_sum *family)
{
	return family->delta + (int64_t)family->cow;
}

void families_tell(struct growth *growth, struct growth_picture *ret)
{
	const struct family_sum *largest[PICTURE_FAMILIES];
	unsigned int count = 0, at;

	for (uint32_t i = 0; i < growth->family_count; i++) {
		const struct family_sum *family = &growth->families[i];

		if (family->members + family->exited < 2)
			continue;
		ret->family_total++;
		for (at = count; at > 0 && weight_of(largest[at - 1]) < weight_of(family); at--)
			if (at < PICTURE_FAMILIES)
				largest[at] = largest[at - 1];
		if (at < PICTURE_FAMILIES)
			largest[at] = family;
		if (count < PICTURE_FAMILIES)
			count++;
	}
	ret->family_count = count;
	for (unsigned int i = 0; i < count; i++)
		tell(growth, largest[i], &ret->families[i]);
}
