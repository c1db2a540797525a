/* SPDX-License-Identifier: Apache-2.0 */
/*
 * containers.h: names of containers, learnt while they live and kept after they are gone.
 *
 * A bounded table by container id, allocated once; when full, the container that went longest ago
 * gives way, then the one that was asked for longest ago. Names may come into being after the
 * cgroup: what is not complete is looked for again, CONTAINER_TRIES times, each time after twice as
 * long.
 */
#ifndef OOMSNOOP_MODEL_CONTAINERS_H
#define OOMSNOOP_MODEL_CONTAINERS_H

#include <stddef.h>
#include <stdint.h>

#include "facts/container_names.h"

#define CONTAINER_TRIES 8 /* the last comes two minutes after the first */
#define CONTAINER_RETRY_NS 1000000000ULL /* before the second */

struct containers;

struct containers *containers_new(size_t capacity); /* NULL with errno */
size_t containers_bytes(size_t capacity); /* what it takes, once all of it is used */
void containers_free(struct containers *table);

/* A cgroup is there: its container is to be looked for, unless it is known. Opens nothing. */
void containers_note(struct containers *table, const char *path, uint64_t now_ns);

/* A cgroup is gone: if it was the container's own, its names may give way. */
void containers_gone(struct containers *table, const char *path);

/*
 * Looks for those whose time has come: every folder of names is listed once at most, and of single
 * containers at most `budget` files are read. Returns how many of those that are due are left.
 */
size_t containers_read(
	struct containers *table, struct names_reader *reader, uint64_t now_ns, size_t budget);

/* For an incident: as containers_read(), but for the container of one path, and at once, unless it
 * was looked for within the last CONTAINER_RETRY_NS. reader NULL: nothing is read. */
const struct container_names *containers_of(
	struct containers *table, struct names_reader *reader, const char *path, uint64_t now_ns);

/* As far as is known; NULL: there is none in the path, or nothing is known of it. */
const struct container_names *containers_known(struct containers *table, const char *path);

/* All of the table: how many there are, of how many all names are known, and what was in the way of
 * the others. */
struct containers_sum {
	size_t count, named;
	uint32_t troubles; /* enum names_trouble */
};
struct containers_sum containers_sum(const struct containers *table);

uint64_t containers_evicted(const struct containers *table); /* while they lived */

#endif /* OOMSNOOP_MODEL_CONTAINERS_H */
