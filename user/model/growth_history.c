// SPDX-License-Identifier: Apache-2.0
/*
 * The series that leave the flight recorder: those of a window, whole, and all of them thinned.
 *
 * Both run in the loop of the live trace, while a machine is out of memory: nothing allocates, and
 * a process that stands still costs a look at its entry. A series is told from the ledger itself.
 *
 * A window is told once: each entry remembers from when to when its points have left, in the
 * ledger's own times, and further calls tell what is beyond. A point may change without getting
 * newer (what was copied before a kill is known after it), so its values are remembered, too.
 */
#include <assert.h>
#include <string.h>

#include "model/growth_parts.h"

#define THINNED_PART 32
#define RENEW_NS 30000000000ULL

static_assert((int)HISTORY_VALUES == (int)LEDGER_VALUES, "a point is told as it is kept");
static_assert((int)HISTORY_USED == (int)HOST_USED_BYTES, "machine");
static_assert(
	(int)HISTORY_USAGE == (int)CGROUP_USAGE && (int)HISTORY_CHARGED == (int)CGROUP_CHARGED,
	"cgroups");
static_assert(
	(int)HISTORY_RESIDENT == (int)PROCESS_RESIDENT && (int)HISTORY_SWAP == (int)PROCESS_SWAP &&
		(int)HISTORY_COW == (int)PROCESS_COW && (int)HISTORY_CACHED == (int)PROCESS_CACHED,
	"processes");

/* --- owners and points, in bytes --- */

static void fill_host(const struct growth *growth, struct history_owner *ret)
{
	*ret = (struct history_owner) {
		.kind = HISTORY_HOST,
		.max_bytes = growth->host_total_bytes ? growth->host_total_bytes : UNKNOWN_U64,
	};
}

static void fill_cgroup(
	const struct growth *growth, const struct measured *cgroup, struct history_owner *ret)
{
	*ret = (struct history_owner) {
		.kind = HISTORY_CGROUP,
		.cgroup_id = cgroup->id,
		.parent_id = cgroup->parent_id,
		.max_bytes = growth_limited(growth, cgroup->max) ? cgroup->max * growth->page_size
								 : UNKNOWN_U64,
	};
}

static void fill_process(
	const struct growth *growth, const struct followed *process, struct history_owner *ret)
{
	*ret = (struct history_owner) {
		.kind = HISTORY_PROCESS,
		.cgroup_id = process->cgroup_id,
		.max_bytes = UNKNOWN_U64,
		.tgid = process->tgid,
		.ppid = process->ppid,
		.start_ns = process->start_ns,
		.root_tgid = process->root_tgid,
		.root_start_ns = process->root_start_ns,
		.exited_ns = process->exited_ns,
		.shared_bytes = (uint64_t)to_bytes(
			growth, (int64_t)least(process->shared, GROWTH_PAGES_MAX)),
	};
	fact_comm(process->comm, ret->comm);
}

static void tell_point(const struct growth *growth, enum history_kind kind,
	const struct ledger_point *point, uint64_t time_ns, const struct history_taker *taker)
{
	struct history_point told = {.time_ns = (int64_t)least(time_ns, INT64_MAX)};

	for (int i = 0; i < HISTORY_VALUES; i++)
		told.values[i] = kind == HISTORY_HOST ? point->values[i]
						      : to_bytes(growth, point->values[i]);
	if (kind == HISTORY_CGROUP && point->values[CGROUP_CHARGED] < 0)
		told.values[HISTORY_CHARGED] = -1;
	taker->point(&told, taker->arg);
}

static uint64_t mix(uint64_t mixed, uint64_t number)
{
	mixed = (mixed ^ number) * 0x9e3779b97f4a7c15ULL;
	return mixed ^ mixed >> 29;
}

static uint64_t mix_values(const struct ledger_point *point)
{
	uint64_t mixed = 1;

	for (int i = 0; i < LEDGER_VALUES; i++)
		mixed = mix(mixed, (uint64_t)point->values[i]);
	return mixed;
}

/* What may change without a point of its own. */
static uint64_t mix_owner(const struct history_owner *owner)
{
	uint64_t mixed = mix(mix(1, owner->exited_ns), owner->max_bytes);

	mixed = mix(mix(mixed, owner->cgroup_id), owner->parent_id);
	mixed = mix(mix(mixed, owner->root_tgid), owner->root_start_ns);
	return mix(mix(mixed, owner->shared_bytes), owner->ppid);
}

/* --- one series of a window --- */

struct telling {
	const struct growth *growth;
	const struct history_taker *taker;
	struct history_mark *mark;
	struct history_owner owner;
	uint64_t from_ns;
	bool again;

	struct history_mark was; /* the mark as the last call left it */
	bool owner_told, has_begun, has_point;
	struct ledger_point point; /* not told yet: one at the same moment would take its place */
};

static uint64_t told_at(const struct telling *telling, const struct ledger_point *point)
{
	return point->time_ns > telling->from_ns ? point->time_ns : telling->from_ns;
}

static bool was_told(const struct telling *telling, uint64_t values)
{
	const struct history_mark *was = &telling->was;

	return !telling->again && told_at(telling, &telling->point) >= was->from_ns &&
	       (telling->point.time_ns < was->newest_ns ||
		       (telling->point.time_ns == was->newest_ns && values == was->values));
}

/* With the first point of this window: does it join the one told before? */
static void begin_span(struct telling *telling)
{
	const struct history_mark *was = &telling->was;
	uint64_t begin_ns = told_at(telling, &telling->point);
	bool joins = was->newest_ns && telling->point.time_ns <= was->newest_ns;

	telling->has_begun = true;
	telling->mark->from_ns = joins ? least(was->from_ns, begin_ns) : begin_ns;
}

/* Of what stands still the last point may be long ago: who reads the window would look far back. */
static bool is_far_back(const struct telling *telling)
{
	uint64_t last_ns = telling->point.time_ns;

	if (telling->was.begin_ns <= telling->from_ns && telling->was.begin_ns > last_ns)
		last_ns = telling->was.begin_ns;
	return less(telling->from_ns, last_ns) > RENEW_NS;
}

static void tell_owner(struct telling *telling)
{
	if (!telling->owner_told)
		telling->taker->owner(&telling->owner, telling->taker->arg);
	telling->owner_told = true;
	telling->mark->owner = mix_owner(&telling->owner);
}

static void flush_point(struct telling *telling)
{
	bool is_first = !telling->has_begun;
	uint64_t values;

	if (!telling->has_point)
		return;
	telling->has_point = false;
	values = mix_values(&telling->point);
	if (is_first)
		begin_span(telling);
	if (!was_told(telling, values) || (is_first && is_far_back(telling))) {
		tell_owner(telling);
		tell_point(telling->growth, telling->owner.kind, &telling->point,
			told_at(telling, &telling->point), telling->taker);
		if (is_first)
			telling->mark->begin_ns = told_at(telling, &telling->point);
	}
	telling->mark->newest_ns = telling->point.time_ns;
	telling->mark->values = values;
}

static void take_point(const struct ledger_point *point, void *arg)
{
	struct telling *telling = arg;

	if (telling->has_point && told_at(telling, point) != told_at(telling, &telling->point))
		flush_point(telling);
	telling->point = *point;
	telling->has_point = true;
}

static void tell_series(struct telling *telling, const struct series *series, uint64_t removed_ns)
{
	struct ledger_point end = series->last;

	telling->was = *telling->mark;
	ledger_walk(telling->growth->ledger, series, telling->from_ns, take_point, telling);
	/* What it held was freed then, or is its parent's. */
	if (removed_ns > end.time_ns) {
		end.time_ns = removed_ns;
		end.values[CGROUP_USAGE] = 0;
		take_point(&end, telling);
	}
	flush_point(telling);
	if (telling->again || telling->mark->owner != mix_owner(&telling->owner))
		tell_owner(telling);
}

static void tell_host(struct growth *growth, const struct telling *how)
{
	struct telling telling = *how;

	if (!growth->host.first_ns)
		return;
	telling.mark = &growth->host_history;
	fill_host(growth, &telling.owner);
	tell_series(&telling, &growth->host, 0);
}

/* --- cgroups of a window --- */

static bool has_usage(const struct measured *cgroup, uint64_t from_ns)
{
	return cgroup->series.first_ns && measured_counts(cgroup) &&
	       !(cgroup->removed_ns && cgroup->removed_ns < from_ns);
}

static void tell_cgroup(struct measured *cgroup, const struct telling *how)
{
	struct telling telling = *how;

	if (!has_usage(cgroup, how->from_ns))
		return;
	telling.mark = &cgroup->history;
	fill_cgroup(how->growth, cgroup, &telling.owner);
	tell_series(&telling, &cgroup->series, cgroup->removed_ns);
}

/* Of the whole machine: who moved, and whoever has a limit. */
static bool is_asked_for(const struct growth *growth, const struct measured *cgroup,
	uint64_t domain_id, uint64_t from_ns)
{
	if (domain_id)
		return cgroup->id == domain_id || cgroup->inside;
	return cgroup->series.last.time_ns > from_ns || growth_limited(growth, cgroup->max);
}

static void tell_cgroups(struct growth *growth, uint64_t domain_id, const struct telling *how)
{
	const struct slots *slots = &growth->cgroup_slots;
	struct measured *cgroup = measured_find(growth, domain_id);

	for (int i = 0; i < GROWTH_CHAIN_MAX && cgroup && cgroup->parent_id; i++) {
		cgroup = measured_find(growth, cgroup->parent_id);
		if (cgroup && !growth_is_inside(growth, domain_id, cgroup->id))
			tell_cgroup(cgroup, how);
	}
	for (int list = 0; list < SLOT_LISTS; list++) {
		for (uint32_t slot = slots->oldest[list]; slot != SLOT_NONE;
			slot = slots->links[slot].newer) {
			cgroup = &growth->cgroups[slot];
			if (is_asked_for(growth, cgroup, domain_id, how->from_ns))
				tell_cgroup(cgroup, how);
		}
	}
}

/* --- processes of a window: the largest --- */

static void take_most(const struct ledger_point *point, void *arg)
{
	int64_t held = point->values[PROCESS_RESIDENT] + point->values[PROCESS_SWAP];
	int64_t *most = arg;

	if (held > *most)
		*most = held;
}

/* Of who stands still since before the window the newest point says all. */
static int64_t most_held(
	const struct growth *growth, const struct followed *process, uint64_t from_ns)
{
	int64_t most = 0;

	if (process->series.last.time_ns <= from_ns)
		take_most(&process->series.last, &most);
	else
		ledger_walk(growth->ledger, &process->series, from_ns, take_most, &most);
	return most;
}

/* The smallest goes on top of places[0 … count - 1]; all below the top is a heap already. */
static void sink_place(struct history_place *places, unsigned int count, unsigned int at)
{
	struct history_place place = places[at];
	unsigned int below;

	for (; (below = 2 * at + 1) < count; at = below) {
		if (below + 1 < count && places[below + 1].most < places[below].most)
			below++;
		if (places[below].most >= place.most)
			break;
		places[at] = places[below];
	}
	places[at] = place;
}

static void raise_place(struct history_place *places, unsigned int at)
{
	struct history_place place = places[at];

	for (; at && places[(at - 1) / 2].most > place.most; at = (at - 1) / 2)
		places[at] = places[(at - 1) / 2];
	places[at] = place;
}

/* Returns how many are kept by now. */
static unsigned int offer_place(
	struct history_place *places, unsigned int count, struct history_place place)
{
	if (count < HISTORY_PROCESSES) {
		places[count] = place;
		raise_place(places, count);
		return count + 1;
	}
	if (place.most > places[0].most) {
		places[0] = place;
		sink_place(places, count, 0);
	}
	return count;
}

/* The largest first: where the taker has no room for all, the smallest are missing. */
static void sort_places(struct history_place *places, unsigned int count)
{
	while (count > 1) {
		struct history_place smallest = places[0];

		places[0] = places[--count];
		sink_place(places, count, 0);
		places[count] = smallest;
	}
}

static bool is_in_window(const struct growth *growth, const struct followed *process,
	uint64_t domain_id, uint64_t from_ns)
{
	return process->series.first_ns && !(process->exited_ns && process->exited_ns < from_ns) &&
	       growth_is_inside(growth, domain_id, process->cgroup_id);
}

static unsigned int choose_processes(
	struct growth *growth, uint64_t domain_id, uint64_t from_ns, unsigned int *ret_total)
{
	const struct slots *slots = &growth->process_slots;
	unsigned int count = 0;

	*ret_total = 0;
	for (int list = 0; list < SLOT_LISTS; list++) {
		for (uint32_t slot = slots->oldest[list]; slot != SLOT_NONE;
			slot = slots->links[slot].newer) {
			const struct followed *process = &growth->processes[slot];
			struct history_place place = {.slot = slot};

			if (!is_in_window(growth, process, domain_id, from_ns))
				continue;
			++*ret_total;
			place.most = most_held(growth, process, from_ns);
			count = offer_place(growth->places, count, place);
		}
	}
	sort_places(growth->places, count);
	return count;
}

static void tell_process(struct growth *growth, uint32_t slot, const struct telling *how)
{
	struct followed *process = &growth->processes[slot];
	struct telling telling = *how;

	telling.mark = &process->history;
	fill_process(growth, process, &telling.owner);
	tell_series(&telling, &process->series, 0);
}

unsigned int growth_history(struct growth *growth, uint64_t domain_id, uint64_t from_ns, bool again,
	const struct history_taker *taker)
{
	const struct telling how = {
		.growth = growth, .taker = taker, .from_ns = from_ns, .again = again};
	unsigned int count, total;

	growth_mark_inside(growth, domain_id);
	tell_host(growth, &how);
	tell_cgroups(growth, domain_id, &how);
	count = choose_processes(growth, domain_id, from_ns, &total);
	for (unsigned int i = 0; i < count; i++)
		tell_process(growth, growth->places[i].slot, &how);
	return total - count;
}

/* --- thinned --- */

static uint64_t distance(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* The first `count` values; `least_moved` in their unit. Remembers them where they are told. */
static bool is_worth_telling(struct thinned_mark *mark, const struct ledger_point *point,
	unsigned int count, uint64_t end, bool ended, uint64_t least_moved)
{
	uint64_t moved = 0, held = 0, holds = 0;

	for (unsigned int i = 0; i < count; i++) {
		moved += distance(point->values[i], mark->values[i]);
		held += above(mark->values[i]);
		holds += above(point->values[i]);
	}
	if (!mark->told && (!holds || holds < least_moved))
		return false;
	if (mark->told && mark->end == end &&
		(ended || !moved || moved < least_moved || moved < held / THINNED_PART))
		return false;
	mark->told = true;
	mark->end = end;
	memcpy(mark->values, point->values, count * sizeof(mark->values[0]));
	return true;
}

static void thin_host(struct growth *growth, uint64_t now_ns, uint64_t min_bytes,
	const struct history_taker *taker)
{
	struct ledger_point point;
	struct history_owner owner;

	if (!ledger_at(growth->ledger, &growth->host, now_ns, &point) ||
		!is_worth_telling(&growth->host_thinned, &point, 1, growth->host_total_bytes, false,
			min_bytes))
		return;
	fill_host(growth, &owner);
	taker->owner(&owner, taker->arg);
	tell_point(growth, owner.kind, &point, point.time_ns, taker);
}

static void thin_cgroup(struct growth *growth, struct measured *cgroup, uint64_t now_ns,
	uint64_t min_pages, const struct history_taker *taker)
{
	bool ended = cgroup->removed_ns && cgroup->removed_ns <= now_ns;
	struct ledger_point point;
	struct history_owner owner;

	if (!measured_counts(cgroup) || !ledger_at(growth->ledger, &cgroup->series, now_ns, &point))
		return;
	if (ended) {
		point.time_ns = cgroup->removed_ns;
		point.values[CGROUP_USAGE] = 0;
	}
	if (!is_worth_telling(&cgroup->thinned, &point, 1, ended ? cgroup->removed_ns : cgroup->max,
		    ended, min_pages))
		return;
	fill_cgroup(growth, cgroup, &owner);
	taker->owner(&owner, taker->arg);
	tell_point(growth, owner.kind, &point, point.time_ns, taker);
}

static void thin_process(struct growth *growth, struct followed *process, uint64_t now_ns,
	uint64_t min_pages, const struct history_taker *taker)
{
	struct ledger_point point;
	struct history_owner owner;

	if (!ledger_at(growth->ledger, &process->series, now_ns, &point) ||
		!is_worth_telling(&process->thinned, &point, THINNED_VALUES, process->exited_ns,
			process->exited_ns, min_pages))
		return;
	fill_process(growth, process, &owner);
	taker->owner(&owner, taker->arg);
	tell_point(growth, owner.kind, &point, point.time_ns, taker);
}

static_assert(PROCESS_RESIDENT < THINNED_VALUES && PROCESS_SWAP < THINNED_VALUES &&
		      PROCESS_COW < THINNED_VALUES && CGROUP_USAGE == 0,
	"what counts as moved comes first");

void growth_thinned(struct growth *growth, uint64_t now_ns, uint64_t min_bytes,
	const struct history_taker *taker)
{
	const struct slots *processes = &growth->process_slots, *cgroups = &growth->cgroup_slots;
	uint64_t min_pages = min_bytes / growth->page_size;

	thin_host(growth, now_ns, min_bytes, taker);
	for (int list = 0; list < SLOT_LISTS; list++) {
		for (uint32_t slot = cgroups->oldest[list]; slot != SLOT_NONE;
			slot = cgroups->links[slot].newer)
			thin_cgroup(growth, &growth->cgroups[slot], now_ns, min_pages, taker);
		for (uint32_t slot = processes->oldest[list]; slot != SLOT_NONE;
			slot = processes->links[slot].newer)
			thin_process(growth, &growth->processes[slot], now_ns, min_pages, taker);
	}
}
