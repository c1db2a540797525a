/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h: paths of cgroups by kernfs id, learnt while they exist and kept after they are gone.
 *
 * A bounded table, allocated once; when full, the cgroup removed longest ago gives way, then the
 * one not asked for longest. Also keeps, per cgroup that was a limit, the memory.events of its last
 * incident and when its kills were.
 */
#ifndef OOMSNOOP_MODEL_CGROUP_H
#define OOMSNOOP_MODEL_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

#define CGROUP_PATH_LEN EV_PATH_LEN
#define CGROUP_KILLS 24 /* times of the last kills that are kept, of those not told yet, too */
#define CGROUP_KILLS_COUNTED 16 /* more are not told apart from so many */

struct cgroup_entry {
	uint64_t id;
	uint64_t seen_ns;
	bool removed;
	bool has_events;
	uint64_t events[EV_EVENT_COUNT];
	bool has_oom_local;
	uint64_t oom_local; /* how often its limit had invoked the OOM killer, at the last look */
	uint64_t kill_ns[CGROUP_KILLS];
	unsigned int kill_count;
	char path[CGROUP_PATH_LEN];
};

struct cgroups;

struct cgroups *cgroups_new(size_t capacity); /* NULL with errno */
size_t cgroups_bytes(size_t capacity); /* what it takes, once all of it is used */
void cgroups_free(struct cgroups *table);

/* Learns or renews a path. A path that does not fit is not kept (-ENAMETOOLONG). */
int cgroup_learn(struct cgroups *table, uint64_t id, const char *path, uint64_t now_ns);
void cgroup_remove(struct cgroups *table, uint64_t id, uint64_t now_ns);

struct cgroup_entry *cgroup_find(struct cgroups *table, uint64_t id); /* NULL: not known */
const char *cgroup_path(struct cgroups *table, uint64_t id); /* NULL: not known */

/* A kill at its limit. The same one may be told again. */
void cgroup_killed(struct cgroup_entry *entry, uint64_t when_ns);
/* At most CGROUP_KILLS_COUNTED. */
uint32_t cgroup_kills_between(
	const struct cgroup_entry *entry, uint64_t since_ns, uint64_t before_ns);
uint64_t cgroups_evicted(const struct cgroups *table);

#endif /* OOMSNOOP_MODEL_CGROUP_H */
