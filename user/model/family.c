// SPDX-License-Identifier: Apache-2.0
#include "model/family.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/slots.h"

struct family {
	struct slots slots;
	struct family_member *members;
	uint32_t root, count, alive;
};

struct family *family_new(size_t capacity)
{
	struct family *family = calloc(1, sizeof(*family));
	int error = -ENOMEM;

	if (!family)
		return NULL;
	family->members = calloc(capacity, sizeof(*family->members));
	if (family->members)
		error = slots_init(&family->slots, capacity);
	if (!error)
		return family;
	free(family->members);
	free(family);
	errno = -error;
	return NULL;
}

void family_free(struct family *family)
{
	if (!family)
		return;
	slots_done(&family->slots);
	free(family->members);
	free(family);
}

static uint32_t slot_of(const struct family *family, uint32_t pid)
{
	uint32_t slot = slots_first(&family->slots, pid);

	while (slot != SLOT_NONE && family->members[slot].pid != pid)
		slot = slots_next(&family->slots, slot);
	return slot;
}

static bool lives(const struct family_member *member)
{
	return !member->ended_ns && !member->stranger;
}

static struct family_member *add(
	struct family *family, uint32_t pid, uint32_t ppid, uint64_t started_ns)
{
	uint32_t slot = slot_of(family, pid);
	enum slot_list evicted = SLOT_LISTS;

	if (slot == SLOT_NONE)
		slot = slots_take(&family->slots, pid, &evicted);
	else
		slots_move(&family->slots, slot, SLOT_LIVE);
	/* Whoever had the place, or the pid, before. */
	family->alive -= evicted == SLOT_LIVE ||
			 (evicted == SLOT_LISTS && family->members[slot].pid == pid &&
				 lives(&family->members[slot]));
	family->members[slot] =
		(struct family_member) {.pid = pid, .ppid = ppid, .started_ns = started_ns};
	family->count++;
	family->alive++;
	return &family->members[slot];
}

static struct family_member *find(const struct family *family, uint32_t pid)
{
	uint32_t slot = slot_of(family, pid);

	return slot == SLOT_NONE || family->members[slot].stranger ? NULL : &family->members[slot];
}

void family_begin(struct family *family, uint32_t root_pid, const char *comm)
{
	if (family->root)
		return;
	family->root = root_pid;
	snprintf(add(family, root_pid, 0, 0)->comm, EV_COMM_LEN + 1, "%s", comm);
}

uint32_t family_root(const struct family *family)
{
	return family->root;
}

bool family_seen(struct family *family, uint32_t pid, uint32_t ppid, const char *comm)
{
	struct family_member *member = find(family, pid);
	const struct family_member *parent = find(family, ppid);

	if (!member || member->ended_ns) {
		/* The root's orphans are seen as its children, as it may have ended. */
		if (!parent || (parent->ended_ns && ppid != family->root))
			return false;
		member = add(family, pid, ppid, 0);
	}
	snprintf(member->comm, sizeof(member->comm), "%s", comm);
	return true;
}

static void forked(struct family *family, const struct ev_fork *event)
{
	const struct family_member *parent = find(family, event->parent_tgid);
	uint32_t slot = slot_of(family, event->tgid);
	char comm[EV_COMM_LEN + 1];

	if (parent && !parent->ended_ns) {
		/* Known already: it was seen in /proc before this record of it was read. */
		if (slot != SLOT_NONE && lives(&family->members[slot]) &&
			family->members[slot].ppid == event->parent_tgid &&
			!family->members[slot].started_ns) {
			family->members[slot].started_ns = event->start_ns;
			return;
		}
		snprintf(comm, sizeof(comm), "%s", parent->comm);
		snprintf(add(family, event->tgid, event->parent_tgid, event->start_ns)->comm,
			sizeof(comm), "%s", comm);
	} else if (slot != SLOT_NONE && !family->members[slot].stranger) {
		family->alive -= lives(&family->members[slot]);
		family->members[slot].stranger = true;
		slots_move(&family->slots, slot, SLOT_GONE);
	}
}

static const struct family_member *ended(struct family *family, const struct ev_exit *event)
{
	struct family_member *member = find(family, event->tgid);

	if (!member || member->ended_ns)
		return NULL;
	member->ended_ns = event->hdr.time_ns ? event->hdr.time_ns : 1;
	member->exit_code = event->exit_code;
	fact_comm(event->comm, member->comm);
	family->alive--;
	slots_move(&family->slots, slot_of(family, event->tgid), SLOT_GONE);
	return member;
}

const struct family_member *family_fact(struct family *family, const struct fact *fact)
{
	struct family_member *member;
	char comm[EV_COMM_LEN + 1];

	switch (fact->kind) {
	case EV_FORK:
		forked(family, &fact->fork);
		return NULL;
	case EV_EXEC:
		member = find(family, fact->exec.tgid);
		if (member)
			fact_comm(fact->exec.comm, member->comm);
		return NULL;
	case EV_EXIT:
		return ended(family, &fact->exit);
	case EV_SAMPLE:
		/* One whose fork was not told. */
		fact_comm(fact->sample.comm, comm);
		if (fact->sample.mm)
			family_seen(family, fact->sample.tgid, fact->sample.ppid, comm);
		return NULL;
	default:
		return NULL;
	}
}

const struct family_member *family_find(const struct family *family, uint32_t pid)
{
	return find(family, pid);
}

uint32_t family_count(const struct family *family)
{
	return family->count;
}

uint32_t family_alive(const struct family *family)
{
	return family->alive;
}
