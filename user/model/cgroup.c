// SPDX-License-Identifier: Apache-2.0
#include "model/cgroup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/slots.h"

struct cgroups {
	struct slots slots;
	uint64_t evicted;
	struct cgroup_entry entries[];
};

size_t cgroups_bytes(size_t capacity)
{
	return sizeof(struct cgroups) + capacity * sizeof(struct cgroup_entry) +
	       slots_bytes(capacity);
}

struct cgroups *cgroups_new(size_t capacity)
{
	struct cgroups *table;
	int err;

	if (capacity == 0 || capacity > SLOTS_MAX) {
		errno = EINVAL;
		return NULL;
	}
	table = calloc(1, sizeof(*table) + capacity * sizeof(table->entries[0]));
	if (!table)
		return NULL;
	err = slots_init(&table->slots, capacity);
	if (err) {
		free(table);
		errno = -err;
		return NULL;
	}
	return table;
}

void cgroups_free(struct cgroups *table)
{
	if (!table)
		return;
	slots_done(&table->slots);
	free(table);
}

static uint32_t slot_of(const struct cgroups *table, const struct cgroup_entry *entry)
{
	return (uint32_t)(entry - table->entries);
}

static struct cgroup_entry *lookup(struct cgroups *table, uint64_t id)
{
	uint32_t slot;

	for (slot = slots_first(&table->slots, id); slot != SLOT_NONE;
		slot = slots_next(&table->slots, slot)) {
		if (table->entries[slot].id == id)
			return &table->entries[slot];
	}
	return NULL;
}

static struct cgroup_entry *add(struct cgroups *table, uint64_t id)
{
	enum slot_list evicted;
	struct cgroup_entry *entry = &table->entries[slots_take(&table->slots, id, &evicted)];

	if (evicted == SLOT_LIVE)
		table->evicted++;
	memset(entry, 0, sizeof(*entry));
	entry->id = id;
	return entry;
}

int cgroup_learn(struct cgroups *table, uint64_t id, const char *path, uint64_t now_ns)
{
	struct cgroup_entry *entry;
	size_t len = strnlen(path, CGROUP_PATH_LEN);

	if (id == 0)
		return -EINVAL;
	/* Half a path would name another cgroup. */
	if (len >= CGROUP_PATH_LEN)
		return -ENAMETOOLONG;
	entry = lookup(table, id);
	if (!entry)
		entry = add(table, id);
	memcpy(entry->path, path, len + 1);
	entry->seen_ns = now_ns;
	entry->removed = false;
	slots_move(&table->slots, slot_of(table, entry), SLOT_LIVE);
	return 0;
}

void cgroup_remove(struct cgroups *table, uint64_t id, uint64_t now_ns)
{
	struct cgroup_entry *entry = lookup(table, id);

	if (!entry || entry->removed)
		return;
	entry->removed = true;
	entry->seen_ns = now_ns;
	slots_move(&table->slots, slot_of(table, entry), SLOT_GONE);
}

struct cgroup_entry *cgroup_find(struct cgroups *table, uint64_t id)
{
	struct cgroup_entry *entry = lookup(table, id);

	/* The removed stay in the order of their removal. */
	if (entry && !entry->removed)
		slots_move(&table->slots, slot_of(table, entry), SLOT_LIVE);
	return entry;
}

const char *cgroup_path(struct cgroups *table, uint64_t id)
{
	struct cgroup_entry *entry = cgroup_find(table, id);

	return entry ? entry->path : NULL;
}

static unsigned int kills_kept(const struct cgroup_entry *entry)
{
	return entry->kill_count < CGROUP_KILLS ? entry->kill_count : CGROUP_KILLS;
}

void cgroup_killed(struct cgroup_entry *entry, uint64_t when_ns)
{
	for (unsigned int i = 0; i < kills_kept(entry); i++)
		if (entry->kill_ns[i] == when_ns)
			return;
	entry->kill_ns[entry->kill_count % CGROUP_KILLS] = when_ns;
	entry->kill_count++;
}

uint32_t cgroup_kills_between(
	const struct cgroup_entry *entry, uint64_t since_ns, uint64_t before_ns)
{
	uint32_t count = 0;

	for (unsigned int i = 0; i < kills_kept(entry); i++)
		count += entry->kill_ns[i] >= since_ns && entry->kill_ns[i] < before_ns;
	return count < CGROUP_KILLS_COUNTED ? count : CGROUP_KILLS_COUNTED;
}

uint64_t cgroups_evicted(const struct cgroups *table)
{
	return table->evicted;
}
