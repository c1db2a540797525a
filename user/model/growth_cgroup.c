// SPDX-License-Identifier: Apache-2.0
/* Cgroups: their usage, their limits, and how near they are. */
#include <string.h>

#include "model/growth_parts.h"

/* A counter this near to its limit met it at some moment: charges come in batches. */
#define MET_PERCENT 95
#define RATE_NS 1000000000ULL
#define RATE_MIN_NS 100000000ULL /* a history shorter than this tells no rate */
/* Among limits that are reached within this time the nearest is the soonest, else the fullest. */
#define SOON_NS 60000000000ULL

/* --- what is told of them --- */

static uint64_t cut(uint64_t pages)
{
	return pages == EV_UNKNOWN ? EV_UNKNOWN : least(pages, GROWTH_PAGES_MAX);
}

bool growth_limited(const struct growth *growth, uint64_t max)
{
	/* PAGE_COUNTER_MAX stands for "max". */
	return max != EV_UNKNOWN && max != 0 && max < (uint64_t)INT64_MAX / growth->page_size;
}

bool measured_counts(const struct measured *cgroup)
{
	bool is_root = cgroup->flags & EV_LEVEL_ROOT;

	return cgroup->now.usage != EV_UNKNOWN && !(is_root && cgroup->flags & EV_LEVEL_V2);
}

static void store(struct growth *growth, struct measured *cgroup, uint64_t time_ns)
{
	const int64_t values[LEDGER_VALUES] = {
		[CGROUP_USAGE] = (int64_t)cgroup->now.usage,
		[CGROUP_CHARGED] =
			cgroup->charged == EV_UNKNOWN ? -1 : (int64_t)(cgroup->charged & INT64_MAX),
	};

	if (cgroup->now.usage == EV_UNKNOWN)
		return;
	if (!cgroup->series.first_ns) {
		cgroup->told_usage = cgroup->began ? 0 : cgroup->now.usage;
		cgroup->told_ns = time_ns;
	}
	ledger_append(growth->ledger, &cgroup->series, time_ns, values);
}

void growth_take_usage(struct growth *growth, const struct ev_usage *event)
{
	struct measured *cgroup;

	if (!event->id)
		return;
	cgroup = measured_get(growth, event->id);
	cgroup->parent_id = event->parent_id;
	cgroup->flags = event->flags;
	cgroup->max = event->max_pages;
	cgroup->high = event->high_pages;
	cgroup->swap_max = event->swap_max_pages;
	cgroup->charged = event->charged_pages;
	cgroup->removed_ns = 0;
	cgroup->now = (struct meter) {
		.usage = cut(event->usage_pages),
		.swap_usage = cut(event->swap_usage_pages),
		.failcnt = event->failcnt,
		.max_events = event->events[EV_EVENT_MAX],
		.high_events = event->events[EV_EVENT_HIGH],
	};
	if (growth->in_pass)
		cgroup->pass = growth->pass;
	store(growth, cgroup, event->hdr.time_ns);
}

/* Levels of a chain come one after the other, leaf first. */
static void link_levels(struct growth *growth, const struct ev_level *event)
{
	struct measured *below;

	if (growth->last_level.incident == event->hdr.incident &&
		growth->last_level.role == event->role &&
		growth->last_level.index + 1 == event->index) {
		below = measured_find(growth, growth->last_level.id);
		if (below)
			below->parent_id = event->id;
	}
	growth->last_level.incident = event->hdr.incident;
	growth->last_level.role = event->role;
	growth->last_level.index = event->index;
	growth->last_level.id = event->id;
}

/* A kill tells the counters of its chain: later looks may find memory given back already. */
void growth_take_level(struct growth *growth, const struct ev_level *event)
{
	struct measured *cgroup;

	if (!event->id)
		return;
	link_levels(growth, event);
	cgroup = measured_get(growth, event->id);
	cgroup->flags = event->flags;
	cgroup->max = event->max_pages;
	cgroup->high = event->high_pages;
	cgroup->swap_max = event->swap_max_pages;
	cgroup->level_ns = event->hdr.time_ns;
	cgroup->now = (struct meter) {
		.usage = cut(event->usage_pages),
		.swap_usage = cut(event->swap_usage_pages),
		.failcnt = event->failcnt,
		.max_events = event->events[EV_EVENT_MAX],
		.high_events = event->events[EV_EVENT_HIGH],
	};
	cgroup->level_usage = cgroup->now.usage;
	store(growth, cgroup, event->hdr.time_ns);
}

/* Until somebody is in it, it has the place of one that is gone: there may be any number of them.
 */
static void take_made(struct growth *growth, uint64_t id)
{
	const struct slots *slots = &growth->cgroup_slots;
	struct measured *cgroup;

	if (!id || measured_find(growth, id) ||
		(slots->used == slots->capacity && slots->oldest[SLOT_GONE] == SLOT_NONE))
		return;
	cgroup = measured_get(growth, id);
	cgroup->made = true;
	cgroup->now.usage = EV_UNKNOWN;
	slots_move(&growth->cgroup_slots, measured_slot(growth, cgroup), SLOT_GONE);
}

void growth_take_cgroup(struct growth *growth, const struct ev_cgroup *event)
{
	struct measured *cgroup;

	if (!event->removed) {
		take_made(growth, event->id);
		return;
	}
	cgroup = measured_find(growth, event->id);
	if (!cgroup)
		return;
	cgroup->removed_ns = event->hdr.time_ns;
	slots_move(&growth->cgroup_slots, measured_slot(growth, cgroup), SLOT_GONE);
}

/* --- from pass to pass --- */

static bool is_near_full(const struct growth *growth, uint64_t usage, uint64_t max)
{
	return growth_limited(growth, max) && usage >= max - max / 100 * (100 - MET_PERCENT);
}

static bool more(uint64_t now, uint64_t before)
{
	return now != EV_UNKNOWN && before != EV_UNKNOWN && now > before;
}

/* The failures of a counter are its own; events are also those of the cgroups below. */
static void find_met(const struct growth *growth, struct measured *cgroup)
{
	const struct meter *now = &cgroup->now, *before = &cgroup->before;

	cgroup->met_below = more(now->max_events, before->max_events) ||
			    more(now->high_events, before->high_events);
	cgroup->met_limit = more(now->failcnt, before->failcnt) ||
			    is_near_full(growth, now->usage, cgroup->max) ||
			    is_near_full(growth, now->usage, cgroup->high) ||
			    (now->failcnt == EV_UNKNOWN && cgroup->met_below) ||
			    (!(cgroup->flags & EV_LEVEL_V2) && now->swap_usage != EV_UNKNOWN &&
				    is_near_full(growth, now->swap_usage, cgroup->swap_max));
}

/*
 * At its limit with page cache to give, a cgroup stays full and may live so for ever; what counts
 * then is what its processes hold, copies included.
 */
static bool is_pinned(const struct growth *growth, const struct measured *cgroup)
{
	const struct meter *now = &cgroup->now, *before = &cgroup->before;

	return (more(now->failcnt, before->failcnt) || more(now->max_events, before->max_events)) &&
	       is_near_full(growth, now->usage, cgroup->max);
}

bool measured_met_limit(const struct growth *growth, const struct measured *cgroup)
{
	if (cgroup->met_below)
		return true;
	for (int i = 0; cgroup && i < GROWTH_CHAIN_MAX; i++) {
		if (cgroup->met_limit)
			return true;
		cgroup = measured_find(growth, cgroup->parent_id);
	}
	return false;
}

static int64_t difference(uint64_t now, uint64_t before)
{
	return now == EV_UNKNOWN || before == EV_UNKNOWN ? 0 : (int64_t)now - (int64_t)before;
}

static void measure(const struct growth *growth, struct measured *cgroup)
{
	bool was_told = cgroup->before_pass + 1 == growth->pass;
	bool is_new = cgroup->made && !cgroup->before_pass;

	cgroup->children_rise = 0;
	cgroup->has_rise = (was_told || is_new) && cgroup->now.usage != EV_UNKNOWN &&
			   cgroup->before.usage != EV_UNKNOWN;
	cgroup->rise = cgroup->swap_rise = 0;
	cgroup->met_limit = cgroup->met_below = cgroup->pinned = false;
	if (!cgroup->has_rise)
		return;
	cgroup->rise = difference(cgroup->now.usage, cgroup->before.usage);
	cgroup->swap_rise = difference(cgroup->now.swap_usage, cgroup->before.swap_usage);
	find_met(growth, cgroup);
	cgroup->pinned = is_pinned(growth, cgroup);
}

/* Only cgroups in which somebody is are told at a pass. What others hold stays, but moves no more.
 */
void growth_measure(struct growth *growth)
{
	struct slots *slots = &growth->cgroup_slots;
	uint32_t slot, next;

	for (slot = slots->oldest[SLOT_LIVE]; slot != SLOT_NONE; slot = next) {
		struct measured *cgroup = &growth->cgroups[slot];

		next = slots->links[slot].newer;
		/* A kill told it since the last pass: nobody may be left in it. */
		if (cgroup->level_ns > growth->before_ns)
			cgroup->pass = growth->pass;
		if (cgroup->pass != growth->pass) {
			cgroup->has_rise = false;
			slots_move(slots, slot, SLOT_GONE);
		} else {
			measure(growth, cgroup);
		}
	}
	for (slot = slots->oldest[SLOT_LIVE]; slot != SLOT_NONE; slot = slots->links[slot].newer) {
		struct measured *cgroup = &growth->cgroups[slot];
		struct measured *parent = measured_find(growth, cgroup->parent_id);

		if (parent && parent != cgroup)
			parent->children_rise += cgroup->rise;
	}
}

/* --- limits --- */

static void press(uint64_t usage, uint64_t max, double bytes_per_s, struct growth_pressure *ret)
{
	double left_ns;

	ret->usage_bytes = usage;
	ret->max_bytes = max;
	ret->ratio = (double)usage / (double)max;
	ret->bytes_per_s = 0;
	ret->left_ns = UINT64_MAX;
	if (!(bytes_per_s > 0))
		return;
	ret->bytes_per_s = bytes_per_s;
	left_ns = (double)less(max, usage) / bytes_per_s * 1e9;
	if (left_ns < 1e19)
		ret->left_ns = (uint64_t)left_ns;
}

/* `rise`: since the pass before. */
static double rate_of(const struct growth *growth, int64_t rise)
{
	return (double)rise / ((double)(growth->pass_ns - growth->before_ns) / 1e9);
}

/*
 * The rate over the last second at least: passes a few milliseconds apart see single steps. `rise`
 * as above; `now`: the first value of the series at this pass.
 */
static double steady_rate(
	const struct growth *growth, const struct series *series, int64_t now, int64_t rise)
{
	uint64_t since_ns = less(growth->pass_ns, RATE_NS);
	struct ledger_point point;

	if (growth->before_ns <= since_ns)
		return rate_of(growth, rise);
	if (!ledger_at(growth->ledger, series, since_ns, &point)) {
		since_ns = point.time_ns;
		if (!since_ns || growth->pass_ns < since_ns + RATE_MIN_NS)
			return rate_of(growth, rise);
	}
	return (double)(now - point.values[0]) / ((double)(growth->pass_ns - since_ns) / 1e9);
}

static void press_counter(const struct growth *growth, uint64_t usage, uint64_t max, double rate,
	struct growth_pressure *ret)
{
	press((uint64_t)to_bytes(growth, (int64_t)usage), max * growth->page_size,
		rate * growth->page_size, ret);
}

/* How full it is stands; how soon the end comes is told by what its processes hold. */
static void press_pinned(
	const struct growth *growth, const struct measured *cgroup, struct growth_pressure *ret)
{
	press_counter(growth, cgroup->held, cgroup->max, cgroup->held_rate, ret);
	ret->usage_bytes = (uint64_t)to_bytes(growth, (int64_t)cgroup->now.usage);
	ret->ratio = (double)cgroup->now.usage / (double)cgroup->max;
	ret->cgroup_id = cgroup->id;
}

/* Memory, and on version 1 also memory and swap together: the fuller one. False: no limit. */
static bool press_cgroup(const struct growth *growth, const struct measured *cgroup, bool steady,
	struct growth_pressure *ret)
{
	const struct meter *now = &cgroup->now;
	struct growth_pressure swap = {0};
	double rate = rate_of(growth, cgroup->rise), swap_rate = rate_of(growth, cgroup->swap_rise);

	*ret = (struct growth_pressure) {.left_ns = UINT64_MAX};
	if (cgroup->pinned) {
		press_pinned(growth, cgroup, ret);
		return true;
	}
	if (steady && cgroup->has_rise) {
		/* Memory and swap together have no history of their own: they move as memory does.
		 */
		rate = steady_rate(growth, &cgroup->series, (int64_t)now->usage, cgroup->rise);
		if (cgroup->swap_rise == cgroup->rise)
			swap_rate = rate;
	}
	if (now->usage != EV_UNKNOWN && growth_limited(growth, cgroup->max))
		press_counter(growth, now->usage, cgroup->max, rate, ret);
	if (!(cgroup->flags & EV_LEVEL_V2) && now->swap_usage != EV_UNKNOWN &&
		growth_limited(growth, cgroup->swap_max))
		press_counter(growth, now->swap_usage, cgroup->swap_max, swap_rate, &swap);
	if (swap.ratio > ret->ratio)
		*ret = swap;
	ret->cgroup_id = cgroup->id;
	return ret->max_bytes;
}

static bool press_host(const struct growth *growth, struct growth_pressure *ret)
{
	*ret = (struct growth_pressure) {.left_ns = UINT64_MAX};
	if (!growth->host_total_bytes)
		return false;
	press(growth->host_used_bytes, growth->host_total_bytes, growth->host_bytes_per_s, ret);
	return true;
}

static bool is_nearer(const struct growth_pressure *a, const struct growth_pressure *b)
{
	bool a_soon = a->left_ns < SOON_NS, b_soon = b->left_ns < SOON_NS;

	if (a_soon != b_soon)
		return a_soon;
	if (a_soon && a->left_ns != b->left_ns)
		return a->left_ns < b->left_ns;
	return a->ratio > b->ratio;
}

static void hold(struct growth *growth, const struct followed *process)
{
	uint64_t pages = private_pages(process->anon, process->shared, process->cow);
	struct measured *cgroup = measured_find(growth, process->cgroup_id);

	for (int i = 0; cgroup && i < GROWTH_CHAIN_MAX; i++) {
		cgroup->held += pages;
		cgroup = measured_find(growth, cgroup->parent_id);
	}
}

/* Only while a cgroup is pinned: it goes over all processes once more. */
static void hold_all(struct growth *growth)
{
	struct slots *cgroups = &growth->cgroup_slots, *processes = &growth->process_slots;
	uint32_t slot;

	for (slot = cgroups->oldest[SLOT_LIVE]; slot != SLOT_NONE;
		slot = cgroups->links[slot].newer) {
		struct measured *cgroup = &growth->cgroups[slot];

		/* Less what is added up now: what is left then is the rise. */
		cgroup->held_rate = -(double)cgroup->held;
		cgroup->held = 0;
	}
	for (slot = processes->oldest[SLOT_LIVE]; slot != SLOT_NONE;
		slot = processes->links[slot].newer)
		hold(growth, &growth->processes[slot]);
	for (slot = cgroups->oldest[SLOT_LIVE]; slot != SLOT_NONE;
		slot = cgroups->links[slot].newer) {
		struct measured *cgroup = &growth->cgroups[slot];
		double seconds = (double)(growth->pass_ns - cgroup->held_ns) / 1e9;

		cgroup->held_rate =
			cgroup->held_ns ? (cgroup->held_rate + (double)cgroup->held) / seconds : 0;
		cgroup->held_ns = growth->pass_ns;
	}
}

static bool any_pinned(const struct growth *growth)
{
	const struct slots *slots = &growth->cgroup_slots;

	for (uint32_t slot = slots->oldest[SLOT_LIVE]; slot != SLOT_NONE;
		slot = slots->links[slot].newer) {
		if (growth->cgroups[slot].pinned)
			return true;
	}
	return false;
}

void growth_weigh(struct growth *growth)
{
	struct slots *slots = &growth->cgroup_slots;
	struct growth_pressure nearest, pressure;
	uint64_t moved = 0;

	if (any_pinned(growth))
		hold_all(growth);
	press_host(growth, &nearest);
	for (uint32_t slot = slots->oldest[SLOT_LIVE]; slot != SLOT_NONE;
		slot = slots->links[slot].newer) {
		struct measured *cgroup = &growth->cgroups[slot];
		int64_t own = cgroup->rise - cgroup->children_rise;

		cgroup->before = cgroup->now;
		cgroup->before_pass = growth->pass;
		if (cgroup->has_rise && measured_counts(cgroup))
			moved += above(own) + above(-own);
		/* A jump is seen at once, and a pass that falls between two steps stops no clock.
		 */
		for (int steady = 0; steady < 2; steady++)
			if (press_cgroup(growth, cgroup, steady, &pressure) &&
				is_nearer(&pressure, &nearest))
				nearest = pressure;
	}
	growth->pressure = nearest;
	/* The same pages, counted twice: by who holds them and by who is charged for them. */
	if (moved < growth->moved_processes)
		moved = growth->moved_processes;
	growth->pressure.moved_bytes = (uint64_t)to_bytes(growth, (int64_t)least(moved, INT64_MAX));
}

void growth_pressure(const struct growth *growth, struct growth_pressure *ret)
{
	*ret = growth->pressure;
}

static bool is_near(const struct growth_pressure *pressure, double ratio, uint64_t left_ns)
{
	return (ratio > 0 && pressure->ratio >= ratio) || (left_ns && pressure->left_ns <= left_ns);
}

void growth_near(const struct growth *growth, double ratio, uint64_t left_ns,
	void (*fn)(const struct growth_pressure *pressure, void *arg), void *arg)
{
	const struct slots *slots = &growth->cgroup_slots;
	struct growth_pressure pressure;

	if (press_host(growth, &pressure) && is_near(&pressure, ratio, left_ns))
		fn(&pressure, arg);
	for (uint32_t slot = slots->oldest[SLOT_LIVE]; slot != SLOT_NONE;
		slot = slots->links[slot].newer) {
		if (press_cgroup(growth, &growth->cgroups[slot], true, &pressure) &&
			is_near(&pressure, ratio, left_ns))
			fn(&pressure, arg);
	}
}

static bool is_above_high(const struct growth *growth, const struct measured *cgroup)
{
	return cgroup->flags & EV_LEVEL_V2 && cgroup->pass == growth->pass &&
	       growth_limited(growth, cgroup->high) && cgroup->now.usage != EV_UNKNOWN &&
	       cgroup->now.high_events != EV_UNKNOWN && cgroup->now.usage >= cgroup->high;
}

void growth_above_high(const struct growth *growth,
	void (*fn)(const struct growth_high *high, void *arg), void *arg)
{
	const struct slots *slots = &growth->cgroup_slots;

	for (uint32_t slot = slots->oldest[SLOT_LIVE]; slot != SLOT_NONE;
		slot = slots->links[slot].newer) {
		const struct measured *cgroup = &growth->cgroups[slot];
		struct growth_high high = {
			.cgroup_id = cgroup->id,
			.usage_bytes = cgroup->now.usage * growth->page_size,
			.high_bytes = cgroup->high * growth->page_size,
			.max_bytes = growth_limited(growth, cgroup->max)
					     ? cgroup->max * growth->page_size
					     : UNKNOWN_U64,
			.high_events = cgroup->now.high_events,
		};

		if (is_above_high(growth, cgroup))
			fn(&high, arg);
	}
}
