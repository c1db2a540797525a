// SPDX-License-Identifier: Apache-2.0
#include "model/containers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/slots.h"

#define USERS_MAX 8 /* whose homes are looked into in one batch */
#define NOT_PENDING UINT32_MAX

struct container_entry {
	struct names_wanted wanted;
	struct container_names names;
	char pod_uid[CONTAINER_ID_LEN]; /* of the path */
	uint64_t due_ns, looked_ns;
	unsigned int tries;
	uint32_t pending; /* where in the list of those to be looked for */
	uint32_t same_uid; /* the next one of a batch whose pod's uid has the same hash */
	bool in_batch;
};

struct containers {
	struct slots slots;
	uint64_t evicted;
	uint32_t *pending; /* slots */
	size_t pending_count;
	uint32_t *uids; /* the first of a batch by the hash of its pod's uid; as many as slots.mask
			   tells */
	struct container_entry *entries;
};

size_t containers_bytes(size_t capacity)
{
	const struct containers *table = NULL;

	/* There are up to four places of the index for each entry. */
	return sizeof(*table) + slots_bytes(capacity) +
	       capacity * (sizeof(*table->entries) + sizeof(*table->pending) +
				  4 * sizeof(*table->uids));
}

struct containers *containers_new(size_t capacity)
{
	struct containers *table;
	int err;

	if (capacity == 0 || capacity > SLOTS_MAX) {
		errno = EINVAL;
		return NULL;
	}
	table = calloc(1, sizeof(*table));
	if (!table)
		return NULL;
	err = slots_init(&table->slots, capacity);
	if (!err) {
		table->pending = calloc(capacity, sizeof(*table->pending));
		table->uids = calloc((size_t)table->slots.mask + 1, sizeof(*table->uids));
		table->entries = calloc(capacity, sizeof(*table->entries));
		if (!table->pending || !table->uids || !table->entries)
			err = -ENOMEM;
	}
	if (err) {
		containers_free(table);
		errno = -err;
		return NULL;
	}
	return table;
}

void containers_free(struct containers *table)
{
	if (!table)
		return;
	slots_done(&table->slots);
	free(table->pending);
	free(table->uids);
	free(table->entries);
	free(table);
}

static uint32_t slot_of(const struct containers *table, const struct container_entry *entry)
{
	return (uint32_t)(entry - table->entries);
}

/* Any part of an id is as good as a hash of it. */
static uint64_t key_of(const char *id)
{
	uint64_t key = 0;

	for (int i = 0; i < 16; i++)
		key = key << 4 | (uint64_t)(id[i] <= '9' ? id[i] - '0' : id[i] - 'a' + 10);
	return key;
}

static struct container_entry *lookup(struct containers *table, const char *id)
{
	uint32_t slot;

	for (slot = slots_first(&table->slots, key_of(id)); slot != SLOT_NONE;
		slot = slots_next(&table->slots, slot))
		if (!memcmp(table->entries[slot].wanted.id, id, CONTAINER_HEX))
			return &table->entries[slot];
	return NULL;
}

/* --- those to be looked for --- */

static void pending_add(struct containers *table, struct container_entry *entry)
{
	if (entry->pending != NOT_PENDING)
		return;
	entry->pending = (uint32_t)table->pending_count;
	table->pending[table->pending_count++] = slot_of(table, entry);
}

static void pending_remove(struct containers *table, struct container_entry *entry)
{
	uint32_t last;

	if (entry->pending == NOT_PENDING)
		return;
	last = table->pending[--table->pending_count];
	table->pending[entry->pending] = last;
	table->entries[last].pending = entry->pending;
	entry->pending = NOT_PENDING;
}

static struct container_entry *add(struct containers *table, const struct names_wanted *wanted)
{
	uint32_t used = table->slots.used, slot;
	enum slot_list evicted;
	struct container_entry *entry;

	slot = slots_take(&table->slots, key_of(wanted->id), &evicted);
	entry = &table->entries[slot];
	if (evicted == SLOT_LIVE)
		table->evicted++;
	if (table->slots.used == used)
		pending_remove(table, entry);
	*entry = (struct container_entry) {
		.wanted = *wanted, .names = {.troubles = NAMES_NOT_ASKED}, .pending = NOT_PENDING};
	return entry;
}

static struct container_entry *note(
	struct containers *table, const struct container_path *path, uint64_t now_ns)
{
	struct container_entry *entry;
	struct names_wanted wanted;

	if (!names_wanted_of(path, &wanted))
		return NULL;
	entry = lookup(table, wanted.id);
	if (entry) {
		slots_move(&table->slots, slot_of(table, entry), SLOT_LIVE);
		return entry;
	}
	entry = add(table, &wanted);
	memcpy(entry->pod_uid, path->pod_uid, sizeof(entry->pod_uid));
	entry->due_ns = now_ns;
	pending_add(table, entry);
	return entry;
}

void containers_note(struct containers *table, const char *path, uint64_t now_ns)
{
	struct container_path parsed;

	parse_container_path(path, &parsed);
	note(table, &parsed, now_ns);
}

void containers_gone(struct containers *table, const char *path)
{
	struct container_entry *entry;
	struct container_path parsed;
	struct names_wanted wanted;

	parse_container_path(path, &parsed);
	if (parsed.own_end != strlen(path) || !names_wanted_of(&parsed, &wanted))
		return;
	entry = lookup(table, wanted.id);
	if (entry)
		slots_move(&table->slots, slot_of(table, entry), SLOT_GONE);
}

/* --- one batch --- */

static bool complete(const struct container_entry *entry)
{
	return names_complete(&entry->wanted, &entry->names);
}

static bool lacks_pod(const struct container_entry *entry)
{
	return entry->wanted.in_pod && (!entry->names.pod[0] || !entry->names.namespace[0]);
}

static bool is_podman(const struct container_entry *entry)
{
	return entry->wanted.runtime == RUNTIME_PODMAN || entry->names.runtime == RUNTIME_PODMAN;
}

static void take_named(const char *id, const struct container_names *names, void *arg)
{
	struct container_entry *entry = lookup(arg, id);

	if (entry && entry->in_batch)
		names_merge(&entry->names, names);
}

static uint32_t *uid_place(struct containers *table, const char *uid)
{
	uint64_t hash = 14695981039346656037ULL;

	for (; *uid; uid++)
		hash = (hash ^ (unsigned char)*uid) * 1099511628211ULL;
	return &table->uids[(hash ^ hash >> 32) & table->slots.mask];
}

static void take_pod(const struct container_names *names, void *arg)
{
	struct containers *table = arg;
	uint32_t slot = *uid_place(table, names->pod_uid);

	for (; slot != SLOT_NONE; slot = table->entries[slot].same_uid)
		if (!strcmp(table->entries[slot].pod_uid, names->pod_uid))
			names_merge(&table->entries[slot].names, names);
}

struct batch {
	struct containers *table;
	struct names_reader *reader;
	const uint32_t *slots; /* the first `count` of these that are in_batch */
	size_t count;
};

static struct container_entry *batch_entry(const struct batch *batch, size_t i)
{
	struct container_entry *entry = &batch->table->entries[batch->slots[i]];

	return entry->in_batch ? entry : NULL;
}

/* Of those whose link was not there; a sandbox has none. */
static void read_pods(const struct batch *batch)
{
	struct containers *table = batch->table;
	bool any = false;

	for (size_t i = 0; i <= table->slots.mask; i++)
		table->uids[i] = SLOT_NONE;
	for (size_t i = 0; i < batch->count; i++) {
		struct container_entry *entry = batch_entry(batch, i);
		uint32_t *place;

		if (!entry || !lacks_pod(entry))
			continue;
		place = uid_place(table, entry->pod_uid);
		entry->same_uid = *place;
		*place = batch->slots[i];
		any = true;
	}
	if (any)
		read_pod_logs(batch->reader, take_pod, table);
}

/* Those for which the budget does not suffice leave the batch, and stay due. */
static void read_files(const struct batch *batch, size_t budget)
{
	for (size_t i = 0; i < batch->count; i++) {
		struct container_entry *entry = batch_entry(batch, i);

		if (!entry || complete(entry))
			continue;
		if (!budget) {
			entry->in_batch = false;
			continue;
		}
		budget--;
		read_container_names(batch->reader, &entry->wanted, &entry->names);
	}
}

static bool lacks_stored_name(const struct container_entry *entry)
{
	return entry && is_podman(entry) && !entry->names.container[0];
}

/* Each user's list once, root's too (UINT32_MAX). */
static void read_storage(const struct batch *batch)
{
	uint32_t users[USERS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < batch->count; i++) {
		struct container_entry *entry = batch_entry(batch, i);
		size_t at = 0;

		if (!lacks_stored_name(entry))
			continue;
		while (at < count && users[at] != entry->wanted.user)
			at++;
		if (at < count || count == USERS_MAX)
			continue;
		users[count++] = entry->wanted.user;
		read_storage_names(batch->reader, entry->wanted.user, take_named, batch->table);
	}
}

/* When to look again, and whether. */
static void finish_entry(struct containers *table, struct container_entry *entry, uint64_t now_ns)
{
	entry->in_batch = false;
	entry->looked_ns = now_ns;
	entry->tries++;
	if (complete(entry)) {
		entry->names.troubles = 0;
		pending_remove(table, entry);
	} else if (entry->tries >= CONTAINER_TRIES) {
		pending_remove(table, entry);
	} else {
		entry->due_ns = now_ns + (CONTAINER_RETRY_NS << (entry->tries - 1));
	}
}

static void read_batch(const struct batch *batch, uint64_t now_ns, size_t budget)
{
	names_look(batch->reader);
	read_log_links(batch->reader, take_named, batch->table);
	read_pods(batch);
	read_files(batch, budget);
	read_storage(batch);
	/* From the end on: what is done with leaves the list, and the last takes its place. */
	for (size_t i = batch->count; i-- > 0;) {
		struct container_entry *entry = batch_entry(batch, i);

		if (entry)
			finish_entry(batch->table, entry, now_ns);
	}
}

size_t containers_read(
	struct containers *table, struct names_reader *reader, uint64_t now_ns, size_t budget)
{
	struct batch batch = {table, reader, table->pending, table->pending_count};
	size_t due = 0, left = 0;

	for (size_t i = 0; i < table->pending_count; i++) {
		struct container_entry *entry = &table->entries[table->pending[i]];

		entry->in_batch = entry->due_ns <= now_ns;
		due += entry->in_batch;
	}
	if (!due)
		return 0;
	read_batch(&batch, now_ns, budget);
	for (size_t i = 0; i < table->pending_count; i++)
		left += table->entries[table->pending[i]].due_ns <= now_ns;
	return left;
}

const struct container_names *containers_of(
	struct containers *table, struct names_reader *reader, const char *path, uint64_t now_ns)
{
	struct container_entry *entry;
	struct container_path parsed;
	uint32_t slot;

	parse_container_path(path, &parsed);
	entry = note(table, &parsed, now_ns);
	if (!entry)
		return NULL;
	if (complete(entry) || !reader ||
		(entry->tries && now_ns - entry->looked_ns < CONTAINER_RETRY_NS))
		return &entry->names;
	slot = slot_of(table, entry);
	entry->in_batch = true;
	read_batch(&(struct batch) {table, reader, &slot, 1}, now_ns, 1);
	return &entry->names;
}

const struct container_names *containers_known(struct containers *table, const char *path)
{
	struct container_path parsed;
	struct container_entry *entry;
	struct names_wanted wanted;

	parse_container_path(path, &parsed);
	if (!names_wanted_of(&parsed, &wanted))
		return NULL;
	entry = lookup(table, wanted.id);
	return entry ? &entry->names : NULL;
}

struct containers_sum containers_sum(const struct containers *table)
{
	struct containers_sum ret = {.count = table->slots.used};

	for (size_t i = 0; i < ret.count; i++) {
		if (complete(&table->entries[i]))
			ret.named++;
		else
			ret.troubles |= table->entries[i].names.troubles;
	}
	return ret;
}

uint64_t containers_evicted(const struct containers *table)
{
	return table->evicted;
}
