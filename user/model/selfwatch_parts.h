/* SPDX-License-Identifier: Apache-2.0 */
/* selfwatch_parts.h: what the files of selfwatch share. */
#ifndef OOMSNOOP_MODEL_SELFWATCH_PARTS_H
#define OOMSNOOP_MODEL_SELFWATCH_PARTS_H

#include "model/selfwatch.h"
#include "model/slots.h"

/* Times of kills that are remembered: no more are told apart. */
#define SELF_EARLIER CGROUP_KILLS_COUNTED

struct self_group {
	uint64_t id, parent_id;
	bool inside, domain, root;
	uint64_t look; /* of the last look that showed it */
	uint32_t rise; /* of its count of kills, at this look */
	char path[INCIDENT_PATH];
	/* An invocation of the OOM killer may be counted a moment before its kill, and a look may
	 * fall between: what rose is held against the look before the last. */
	struct cgroup_limits now, before, older;
};

struct episode {
	bool open;
	uint64_t before_ns, seen_ns;
	uint32_t kills;
	uint64_t where; /* the cgroup that the victims were in; 0: any */
};

struct selfwatch {
	struct selfwatch_options options;
	struct slots slots;
	struct self_process *processes; /* by slot; tgid 0: free */
	uint64_t look, look_ns, looked_ns;
	unsigned int hidden;
	unsigned int group_count;
	struct self_group groups[SELF_CGROUPS];
	unsigned int gone_count; /* all that were put there; the ring has the last ones */
	struct self_process gone[SELF_GONE];
	unsigned int earlier_count;
	uint64_t earlier_ns[SELF_EARLIER];
	struct cgroup_stat stat;
	uint64_t stat_usage_bytes;
	struct pressure pressure;
	struct selfwatch_totals totals;
	struct episode episode;
	struct incident incident; /* of the open episode: what was known when it began */
};

struct self_group *self_group_of(struct selfwatch *watch, uint64_t id); /* NULL */
struct self_group *self_domain(struct selfwatch *watch); /* NULL: it was not told yet */

/* Anon, file, shmem, swap and page tables, in pages. */
uint64_t self_held_pages(const struct task_facts *task, uint32_t page_size);

/* Candidates, levels and counters, when a kill is first seen; who vanished, when it is over. */
void self_begin_incident(struct selfwatch *watch);
void self_fill_victims(struct selfwatch *watch, struct incident *ret);

/* Those that may have been killed in this episode: gone since, or seen to die. At most `room`. */
unsigned int self_suspects(
	struct selfwatch *watch, struct self_process **ret, unsigned int room, bool *ret_dying);

#endif /* OOMSNOOP_MODEL_SELFWATCH_PARTS_H */
