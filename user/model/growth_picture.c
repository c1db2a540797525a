// SPDX-License-Identifier: Apache-2.0
/*
 * The picture of a window.
 *
 * A process counts with what it held at the end less what it held at the beginning. One that began
 * within the window began with what it was forked with. One that ended within it counts with what
 * it held last: it gave that back, but it is what it ate. If it also began within the window, that
 * is at least its peak, since it may have grown between two looks; of an older one the peak may be
 * of any time.
 *
 * What is not attributed is the growth of usage less, of those alive at the end, growth of RSS and
 * copies, and of those that ended, what came back with them. Pages in swap are on neither side.
 *
 * What a kill tells comes with its own time, a little after its first record, and is taken to hold
 * at the end of a window that ends there: an exit after that moment does not matter.
 */
#include <assert.h>
#include <string.h>

#include "model/growth_parts.h"

/* The levels of one kill are told one right after the other. */
#define CHAIN_NS 100000000ULL

/* The window that is looked at. */
struct window {
	struct growth *growth;
	struct growth_picture *ret;
	const struct measured *domain; /* NULL: the machine, or not known */
	uint64_t from_ns, to_ns;
	int64_t accounted; /* pages of the domain's growth that are some process's */
	struct {
		const struct followed *process;
		int64_t weight;
	} places[PICTURE_PROCESSES];
};

/* When what is newest is told for the end of the window. */
static uint64_t end_of(const struct window *window, uint64_t late_ns)
{
	bool is_of_end = late_ns > window->to_ns && late_ns - window->to_ns <= GROWTH_KILL_NS;

	return is_of_end ? late_ns : window->to_ns;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/*
 * Is what a kill told of a cgroup told for the end of the window? Told after the mark, it is of
 * that moment all the same; told before it, or read late, a pass between the two may have found
 * memory given back already.
 */
static bool ends_at_kill(const struct window *window, const struct measured *cgroup)
{
	uint64_t chain_ns = window->domain ? window->domain->level_ns : 0;

	if (!cgroup->level_ns || apart(cgroup->level_ns, window->to_ns) > GROWTH_KILL_NS)
		return false;
	return cgroup->level_ns > window->to_ns || apart(cgroup->level_ns, chain_ns) <= CHAIN_NS;
}

static uint64_t end_of_cgroup(const struct window *window, const struct measured *cgroup)
{
	return ends_at_kill(window, cgroup) ? cgroup->level_ns : window->to_ns;
}

/* --- the window --- */

static uint64_t kept_from(const struct growth *growth, uint64_t to_ns, uint64_t window_ns)
{
	uint64_t from_ns = less(to_ns, least(window_ns, growth->keep_ns));

	return from_ns > growth->first_pass_ns ? from_ns : growth->first_pass_ns;
}

/* A history that does not reach back so far makes the window shorter. */
static void clip(struct window *window, const struct series *series, bool began)
{
	uint64_t oldest_ns = series->cut_ns;

	if (!oldest_ns && !began)
		oldest_ns = series->first_ns;
	if (oldest_ns > window->from_ns)
		window->from_ns = least(oldest_ns, window->to_ns);
}

static_assert((int)CGROUP_USAGE == (int)HOST_USED_BYTES, "both are usage");

/* What a cgroup or the machine used at a moment. Before it was made it was nothing. */
static int64_t usage_at(
	const struct growth *growth, const struct series *series, bool began, uint64_t time_ns)
{
	struct ledger_point point;

	if (!ledger_at(growth->ledger, series, time_ns, &point) && began && !series->cut_ns)
		return 0;
	return point.values[CGROUP_USAGE];
}

static int64_t usage_at_end(const struct window *window, const struct measured *cgroup)
{
	if (ends_at_kill(window, cgroup) && cgroup->level_usage != EV_UNKNOWN)
		return (int64_t)cgroup->level_usage;
	return usage_at(
		window->growth, &cgroup->series, cgroup->began, end_of_cgroup(window, cgroup));
}

static void draw(
	struct window *window, const struct series *series, bool began, int64_t end, uint32_t unit)
{
	struct growth_picture *ret = window->ret;
	uint64_t length = window->to_ns - window->from_ns;
	unsigned int last = length ? PICTURE_POINTS - 1 : 0;
	int64_t bytes = 0, first = 0;

	for (unsigned int i = 0; i <= last; i++) {
		uint64_t at_ns = window->from_ns + (last ? length / last * i : 0);
		int64_t usage = i == last ? end : usage_at(window->growth, series, began, at_ns);

		if (__builtin_mul_overflow(usage, (int64_t)unit, &bytes))
			bytes = INT64_MAX;
		first = i ? first : bytes;
		ret->points[i] = (uint64_t)bytes;
	}
	ret->point_count = last + 1;
	ret->domain_delta_bytes = bytes - first;
}

static void picture_domain(struct window *window)
{
	struct growth *growth = window->growth;
	struct growth_picture *ret = window->ret;
	const struct measured *domain = window->domain;

	ret->domain_max_bytes = UNKNOWN_U64;
	if (domain && domain->series.first_ns &&
		domain->series.first_ns <= end_of_cgroup(window, domain)) {
		ret->domain_known = true;
		clip(window, &domain->series, domain->began);
		draw(window, &domain->series, domain->began, usage_at_end(window, domain),
			growth->page_size);
	} else if (!ret->domain_id && growth->host.first_ns &&
		   growth->host.first_ns <= window->to_ns) {
		ret->domain_known = true;
		ret->domain_max_bytes = growth->host_total_bytes;
		clip(window, &growth->host, false);
		draw(window, &growth->host, false,
			usage_at(growth, &growth->host, false, window->to_ns), 1);
	}
	if (domain && growth_limited(growth, domain->max))
		ret->domain_max_bytes = domain->max * growth->page_size;
	ret->from_ns = window->from_ns;
}

static void picture_armed(struct window *window)
{
	const struct growth *growth = window->growth;
	struct growth_picture *ret = window->ret;
	uint64_t kept = least(growth->armed_count, GROWTH_ARMED_KEPT);

	for (uint64_t i = growth->armed_count - kept; i < growth->armed_count; i++) {
		struct picture_armed armed = growth->armed[i % GROWTH_ARMED_KEPT];

		if (armed.from_ns >= window->to_ns ||
			(armed.to_ns && armed.to_ns <= window->from_ns))
			continue;
		if (armed.from_ns < window->from_ns)
			armed.from_ns = window->from_ns;
		if (armed.to_ns >= window->to_ns)
			armed.to_ns = 0;
		if (ret->armed_count == PICTURE_ARMED)
			memmove(&ret->armed[0], &ret->armed[1], --ret->armed_count * sizeof(armed));
		ret->armed[ret->armed_count++] = armed;
	}
	ret->cow_counted = ret->armed_count;
}

/* --- who is in the domain --- */

/* Climbs until it is known, and remembers it for all on the way. */
static void find_inside(struct growth *growth, struct measured *cgroup, uint64_t domain_id)
{
	struct measured *at = cgroup;
	bool inside = domain_id == 0;
	int levels = 0;

	for (; at && !inside && levels < GROWTH_CHAIN_MAX; levels++) {
		if (at->picture == growth->picture) {
			inside = at->inside;
			break;
		}
		inside = at->id == domain_id || at->parent_id == domain_id;
		at = measured_find(growth, at->parent_id);
	}
	at = cgroup;
	do {
		at->picture = growth->picture;
		at->inside = inside;
		at = measured_find(growth, at->parent_id);
	} while (at && --levels > 0);
}

void growth_mark_inside(struct growth *growth, uint64_t domain_id)
{
	const struct slots *slots = &growth->cgroup_slots;

	growth->picture++;
	for (int list = 0; list < SLOT_LISTS; list++) {
		for (uint32_t slot = slots->oldest[list]; slot != SLOT_NONE;
			slot = slots->links[slot].newer) {
			if (growth->cgroups[slot].picture != growth->picture)
				find_inside(growth, &growth->cgroups[slot], domain_id);
		}
	}
}

bool growth_is_inside(const struct growth *growth, uint64_t domain_id, uint64_t cgroup_id)
{
	const struct measured *cgroup;

	if (domain_id == 0 || cgroup_id == domain_id)
		return true;
	cgroup = measured_find(growth, cgroup_id);
	return cgroup && cgroup->inside;
}

/* --- cgroups --- */

static void for_cgroups(
	struct window *window, void (*fn)(struct window *window, struct measured *cgroup))
{
	const struct slots *slots = &window->growth->cgroup_slots;

	for (int list = 0; list < SLOT_LISTS; list++) {
		for (uint32_t slot = slots->oldest[list]; slot != SLOT_NONE;
			slot = slots->links[slot].newer)
			fn(window, &window->growth->cgroups[slot]);
	}
}

static bool is_gone(const struct window *window, const struct measured *cgroup)
{
	return cgroup->removed_ns && cgroup->removed_ns <= window->to_ns;
}

/* Of one that was removed, what it held was freed, or is its parent's now. */
static void measure_window(struct window *window, struct measured *cgroup)
{
	const struct growth *growth = window->growth;
	const struct series *series = &cgroup->series;
	uint64_t end_ns = end_of_cgroup(window, cgroup);
	int64_t begin, end = 0;

	cgroup->window_rise = cgroup->window_children = 0;
	if (!series->first_ns || series->first_ns > end_ns ||
		(is_gone(window, cgroup) && cgroup->removed_ns <= window->from_ns))
		return;
	begin = usage_at(growth, series, cgroup->began, window->from_ns);
	if (!is_gone(window, cgroup))
		end = usage_at_end(window, cgroup);
	cgroup->window_rise = end - begin;
}

static void sum_children(struct window *window, struct measured *cgroup)
{
	struct measured *parent = measured_find(window->growth, cgroup->parent_id);

	if (parent && parent != cgroup)
		parent->window_children += cgroup->window_rise;
}

static uint64_t charged_in(const struct window *window, const struct measured *cgroup)
{
	const struct growth *growth = window->growth;
	struct ledger_point begin, end;
	int64_t charged;

	ledger_at(growth->ledger, &cgroup->series, end_of_cgroup(window, cgroup), &end);
	if (!ledger_at(growth->ledger, &cgroup->series, window->from_ns, &begin) && cgroup->began &&
		!cgroup->series.cut_ns)
		begin.values[CGROUP_CHARGED] = 0;
	charged = end.values[CGROUP_CHARGED] - begin.values[CGROUP_CHARGED];
	if (end.values[CGROUP_CHARGED] < 0 || begin.values[CGROUP_CHARGED] < 0 || charged < 0)
		return UNKNOWN_U64;
	return (uint64_t)to_bytes(growth, charged);
}

static void fill_cgroup(
	const struct window *window, const struct measured *cgroup, struct picture_cgroup *ret)
{
	const struct growth *growth = window->growth;
	int64_t usage = usage_at_end(window, cgroup);

	*ret = (struct picture_cgroup) {
		.id = cgroup->id,
		.delta_bytes = to_bytes(growth, cgroup->window_rise),
		.own_bytes = to_bytes(growth, cgroup->window_rise - cgroup->window_children),
		.usage_bytes = (uint64_t)to_bytes(growth, usage),
		.charged_bytes = charged_in(window, cgroup),
		.began = cgroup->began && cgroup->series.first_ns > window->from_ns,
	};
}

static bool is_listed(const struct window *window, const struct measured *cgroup)
{
	return cgroup->inside && measured_counts(cgroup) && !is_gone(window, cgroup) &&
	       cgroup->series.first_ns && cgroup->series.first_ns <= end_of_cgroup(window, cgroup);
}

static void insert_cgroup(
	const struct window *window, const struct measured *cgroup, unsigned int places)
{
	struct growth_picture *ret = window->ret;
	unsigned int at = ret->cgroup_count;
	struct picture_cgroup entry;

	fill_cgroup(window, cgroup, &entry);
	while (at > 0 && ret->cgroups[at - 1].own_bytes < entry.own_bytes)
		at--;
	if (at == places)
		return;
	if (ret->cgroup_count < places)
		ret->cgroup_count++;
	memmove(&ret->cgroups[at + 1], &ret->cgroups[at],
		(ret->cgroup_count - 1 - at) * sizeof(entry));
	ret->cgroups[at] = entry;
}

/* One place is the domain's, though it may be the last. */
static void list_cgroup(struct window *window, struct measured *cgroup)
{
	if (!is_listed(window, cgroup))
		return;
	window->ret->cgroup_total++;
	if (cgroup != window->domain)
		insert_cgroup(window, cgroup, PICTURE_CGROUPS - (window->domain ? 1 : 0));
}

static void list_cgroups(struct window *window)
{
	for_cgroups(window, list_cgroup);
	if (window->domain && is_listed(window, window->domain))
		insert_cgroup(window, window->domain, PICTURE_CGROUPS);
}

static void name_cgroups(struct growth_picture *ret, struct cgroups *cgroups)
{
	for (unsigned int i = 0; i < ret->cgroup_count; i++) {
		const char *path = cgroups ? cgroup_path(cgroups, ret->cgroups[i].id) : NULL;

		if (path && strlen(path) < sizeof(ret->cgroups[i].path))
			strcpy(ret->cgroups[i].path, path);
	}
}

/* --- processes --- */

static void find_begin(const struct window *window, struct standing *standing)
{
	const struct followed *process = standing->process;
	const struct growth *growth = window->growth;
	bool reaches =
		ledger_at(growth->ledger, &process->series, window->from_ns, &standing->begin);

	standing->began = process->start_ns > window->from_ns;
	if (reaches && !standing->began)
		return;
	/* The oldest that is known, unless it was seen from its beginning. */
	if (!standing->began && (process->series.cut_ns || !began_since(growth, process->start_ns)))
		return;
	memset(&standing->begin, 0, sizeof(standing->begin));
	standing->begin.values[PROCESS_RESIDENT] = (int64_t)process->shared;
}

/* False: it was not there in this window, or nothing is known of it then. */
static bool find_standing(
	const struct window *window, const struct followed *process, struct standing *ret)
{
	const struct ledger_point *begin = &ret->begin, *end = &ret->end;
	bool exited = process->exited_ns && process->exited_ns < window->to_ns;
	uint64_t end_ns = exited ? process->exited_ns : end_of(window, process->late_ns);

	*ret = (struct standing) {.process = process, .exited = exited};
	if (!process->series.first_ns || process->series.first_ns > end_ns ||
		(exited && process->exited_ns < window->from_ns) ||
		!growth_is_inside(window->growth, window->ret->domain_id, process->cgroup_id))
		return false;
	find_begin(window, ret);
	ledger_at(window->growth->ledger, &process->series, end_ns, &ret->end);
	ret->held = end->values[PROCESS_RESIDENT] + end->values[PROCESS_SWAP];
	if (exited && ret->began && (int64_t)process->peak > ret->held)
		ret->held = (int64_t)process->peak;
	ret->delta = ret->held - begin->values[PROCESS_RESIDENT] - begin->values[PROCESS_SWAP];
	ret->cow = above(end->values[PROCESS_COW] - begin->values[PROCESS_COW]);
	ret->cached = above(end->values[PROCESS_CACHED] - begin->values[PROCESS_CACHED]);
	ret->cow_estimated = ret->cow && process->estimated_ns > window->from_ns;
	return true;
}

/* What began within the window began with nothing of its own. */
static void account(struct window *window, const struct standing *standing)
{
	const int64_t *begin = standing->begin.values, *end = standing->end.values;

	if (standing->exited)
		window->accounted -= (int64_t)private_pages(begin[PROCESS_RESIDENT],
			standing->process->shared, above(begin[PROCESS_COW]));
	else
		window->accounted +=
			end[PROCESS_RESIDENT] - begin[PROCESS_RESIDENT] + (int64_t)standing->cow;
}

static void fill_process(
	const struct window *window, const struct standing *standing, struct picture_process *ret)
{
	const struct followed *process = standing->process;
	const struct growth *growth = window->growth;

	*ret = (struct picture_process) {
		.tgid = process->tgid,
		.ppid = process->ppid,
		.start_ns = process->start_ns,
		.cgroup_id = process->cgroup_id,
		.delta_bytes = to_bytes(growth, standing->delta),
		.held_bytes = (uint64_t)to_bytes(growth, standing->held),
		.cow_bytes = (uint64_t)to_bytes(growth, (int64_t)standing->cow),
		.cow_upper_bound = standing->cow_estimated,
		.cached_bytes = (uint64_t)to_bytes(growth, (int64_t)standing->cached),
		.exited = standing->exited,
		.began = standing->began,
	};
	fact_comm(process->comm, ret->comm);
}

static void list_process(struct window *window, const struct standing *standing)
{
	struct growth_picture *ret = window->ret;
	int64_t weight = standing->delta + (int64_t)(standing->cow + standing->cached);
	unsigned int at = ret->process_count, behind;

	while (at > 0 && window->places[at - 1].weight < weight)
		at--;
	if (at == PICTURE_PROCESSES)
		return;
	if (ret->process_count < PICTURE_PROCESSES)
		ret->process_count++;
	behind = ret->process_count - 1 - at;
	memmove(&ret->processes[at + 1], &ret->processes[at], behind * sizeof(ret->processes[0]));
	memmove(&window->places[at + 1], &window->places[at], behind * sizeof(window->places[0]));
	fill_process(window, standing, &ret->processes[at]);
	window->places[at].process = standing->process;
	window->places[at].weight = weight;
}

static void picture_processes(struct window *window)
{
	struct growth *growth = window->growth;
	const struct slots *slots = &growth->process_slots;
	struct standing standing;

	for (int list = 0; list < SLOT_LISTS; list++) {
		for (uint32_t slot = slots->oldest[list]; slot != SLOT_NONE;
			slot = slots->links[slot].newer) {
			if (!find_standing(window, &growth->processes[slot], &standing))
				continue;
			window->ret->process_total++;
			account(window, &standing);
			families_add(growth, &standing);
			list_process(window, &standing);
		}
	}
}

struct peak {
	uint64_t to_ns;
	int64_t pages;
};

static void take_peak(const struct ledger_point *point, void *arg)
{
	struct peak *peak = arg;

	if (point->time_ns <= peak->to_ns && point->values[PROCESS_RESIDENT] > peak->pages)
		peak->pages = point->values[PROCESS_RESIDENT];
}

/* Only of those that are told: it takes a walk through all that is known of each. */
static void find_peaks(struct window *window)
{
	struct growth *growth = window->growth;
	struct growth_picture *ret = window->ret;

	for (unsigned int i = 0; i < ret->process_count; i++) {
		const struct followed *process = window->places[i].process;
		struct peak peak = {.to_ns = end_of(window, process->late_ns)};

		ledger_walk(growth->ledger, &process->series, window->from_ns, take_peak, &peak);
		if (ret->processes[i].exited && ret->processes[i].began &&
			(int64_t)process->peak > peak.pages)
			peak.pages = (int64_t)process->peak;
		ret->processes[i].peak_bytes = (uint64_t)to_bytes(growth, peak.pages);
	}
}

void growth_picture(struct growth *growth, struct cgroups *cgroups, uint64_t domain_id,
	uint64_t to_ns, uint64_t window_ns, struct growth_picture *ret)
{
	struct window window = {.growth = growth, .ret = ret, .to_ns = to_ns};

	memset(ret, 0, sizeof(*ret));
	ret->domain_id = domain_id;
	ret->asked_ns = window_ns;
	ret->from_ns = ret->to_ns = to_ns;
	ret->domain_max_bytes = UNKNOWN_U64;
	ret->evicted = ledger_totals(growth->ledger).evicted;
	ret->not_followed = growth->totals.not_followed;
	if (!growth->first_pass_ns || growth->first_pass_ns > to_ns)
		return;
	ret->valid = true;
	window.domain = domain_id ? measured_find(growth, domain_id) : NULL;
	window.from_ns = kept_from(growth, to_ns, window_ns);
	picture_domain(&window);
	picture_armed(&window);
	growth_mark_inside(growth, domain_id);
	for_cgroups(&window, measure_window);
	for_cgroups(&window, sum_children);
	list_cgroups(&window);
	name_cgroups(ret, cgroups);
	families_clear(growth);
	picture_processes(&window);
	find_peaks(&window);
	families_tell(growth, ret);
	if (ret->domain_known &&
		__builtin_sub_overflow(ret->domain_delta_bytes, to_bytes(growth, window.accounted),
			&ret->unattributed_bytes))
		ret->unattributed_bytes = window.accounted < 0 ? INT64_MAX : INT64_MIN;
}
