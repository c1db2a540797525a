// SPDX-License-Identifier: Apache-2.0
/*
 * Series are taken as they come: an owner each, and one array of all points, each with the number
 * of its owner. Of all that was before the window only the newest point is kept.
 */
#include "model/chart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/chart_parts.h"

#define MOMENT_NS CHART_S /* a kill takes no longer */
#define POINTS_ROOM 1024 /* to begin with */
#define START_SLACK_NS (20 * CHART_MS) /* /proc tells starts in hundredths of a second */
#define STORE_SLACK_NS CHART_MS /* a store keeps milliseconds */

static int64_t cut_bytes(int64_t bytes)
{
	return bytes < 0 ? 0 : chart_smaller(bytes, CHART_BYTES_MAX);
}

/* Not known: as if there were none. */
static int64_t cut_unsigned(uint64_t number)
{
	return number == UNKNOWN_U64 ? 0 : (int64_t)(number > INT64_MAX ? INT64_MAX : number);
}

/* --- the moment of the kill --- */

static void stretch_moment(struct chart_maker *maker, uint64_t at_ns)
{
	int64_t at = cut_unsigned(at_ns);

	if (at > maker->moment_to_ns && chart_span(maker->moment_from_ns, at) <= MOMENT_NS)
		maker->moment_to_ns = at;
}

static void set_moment(struct chart_maker *maker, const struct incident *incident)
{
	const struct growth_picture *growth = &incident->growth;
	int64_t picture_ns = cut_unsigned(growth->to_ns);

	maker->kill_ns = maker->moment_from_ns = cut_unsigned(incident->time_ns);
	maker->moment_to_ns = maker->kill_ns;
	if (!growth->valid)
		picture_ns = maker->kill_ns;
	if (picture_ns < maker->kill_ns && chart_span(picture_ns, maker->kill_ns) <= MOMENT_NS)
		maker->moment_from_ns = picture_ns;
	else if (picture_ns > maker->kill_ns)
		stretch_moment(maker, growth->to_ns);
	if (incident->chosen.tgid)
		stretch_moment(maker, incident->chosen.at_ns);
	if (incident->victim_count)
		stretch_moment(maker, incident->victims[0].task.at_ns);
}

/* What was told of each victim is told a little later than of the one before. */
static void set_victims(struct chart_maker *maker, const struct incident *incident)
{
	int64_t of_all_ns = maker->moment_to_ns;

	for (unsigned int i = 0; i < incident->victim_count && i < INCIDENT_VICTIMS; i++) {
		const struct task_facts *task = &incident->victims[i].task;

		maker->moment_to_ns = of_all_ns;
		stretch_moment(maker, task->at_ns);
		maker->victims[i].tgid = task->tgid;
		maker->victims[i].start_ns = task->start_ns;
		maker->victims[i].at_ns = maker->moment_to_ns;
		maker->victim_count++;
	}
	maker->moment_to_ns = of_all_ns;
}

static void find_victim(const struct chart_maker *maker, struct chart_owner *owner)
{
	int64_t moment_ns = maker->moment_to_ns;

	owner->is_victim = false;
	for (unsigned int i = 0; i < maker->victim_count; i++) {
		uint64_t start_ns = maker->victims[i].start_ns;
		uint64_t apart_ns = start_ns > owner->start_ns ? start_ns - owner->start_ns
							       : owner->start_ns - start_ns;

		if (maker->victims[i].tgid != owner->tgid || apart_ns > START_SLACK_NS)
			continue;
		owner->is_victim = true;
		moment_ns = maker->victims[i].at_ns;
		break;
	}
	owner->moment_ns = chart_sum(moment_ns, STORE_SLACK_NS);
}

/* --- owners --- */

static int grow_owners(struct chart_maker *maker)
{
	uint32_t room = maker->owner_room ? 2 * maker->owner_room : 64;
	uint32_t *buckets = calloc(2 * (size_t)room, sizeof(*buckets));
	struct chart_owner *owners =
		buckets ? realloc(maker->owners, room * sizeof(*maker->owners)) : NULL;

	if (!owners) {
		free(buckets);
		return -ENOMEM;
	}
	free(maker->buckets);
	maker->owners = owners;
	maker->owner_room = room;
	maker->buckets = buckets;
	maker->bucket_mask = 2 * room - 1;
	return 0;
}

/* Whoever made a store does not know the address, and so cannot make owners meet in one bucket. */
static uint32_t mix(const struct chart_maker *maker, uint32_t tgid, uint64_t start_ns)
{
	uint64_t mixed = (start_ns ^ (uintptr_t)maker) * 0x9e3779b97f4a7c15ULL;

	mixed = (mixed ^ mixed >> 31 ^ tgid) * 0xd6e8feb86659fd93ULL;
	return (uint32_t)(mixed >> 32);
}

static uint32_t *bucket_of(struct chart_maker *maker, uint32_t tgid, uint64_t start_ns)
{
	uint32_t at = mix(maker, tgid, start_ns) & maker->bucket_mask;

	for (; maker->buckets[at]; at = (at + 1) & maker->bucket_mask) {
		const struct chart_owner *owner = &maker->owners[maker->buckets[at] - 1];

		if (owner->tgid == tgid && owner->start_ns == start_ns)
			break;
	}
	return &maker->buckets[at];
}

static int make_room(struct chart_maker *maker)
{
	int error;

	if (maker->owner_count < maker->owner_room)
		return 0;
	error = grow_owners(maker);
	for (uint32_t i = 0; !error && i < maker->owner_count; i++) {
		const struct chart_owner *owner = &maker->owners[i];

		*bucket_of(maker, owner->tgid, owner->start_ns) = i + 1;
	}
	return error;
}

static uint32_t find_or_add(struct chart_maker *maker, uint32_t tgid, uint64_t start_ns)
{
	uint32_t *bucket = maker->buckets ? bucket_of(maker, tgid, start_ns) : NULL;
	struct chart_owner *owner;

	if (bucket && *bucket)
		return *bucket - 1;
	if (maker->owner_count == CHART_OWNERS_MAX) {
		maker->dropped++;
		return CHART_NOBODY;
	}
	if (make_room(maker)) {
		maker->no_memory = true;
		return CHART_NOBODY;
	}
	owner = &maker->owners[maker->owner_count++];
	*owner = (struct chart_owner) {
		.tgid = tgid, .start_ns = start_ns, .before.owner = CHART_NOBODY};
	find_victim(maker, owner);
	*bucket_of(maker, tgid, start_ns) = maker->owner_count;
	return maker->owner_count - 1;
}

static void take_process(struct chart_maker *maker, const struct history_owner *told)
{
	struct chart_owner *owner;

	/* No process has the pid 0: the domain's own series has it here. */
	if (!told->tgid) {
		maker->dropped++;
		return;
	}
	maker->current = find_or_add(maker, told->tgid, told->start_ns);
	if (maker->current == CHART_NOBODY)
		return;
	owner = &maker->owners[maker->current];
	owner->root_tgid = told->root_tgid ? told->root_tgid : told->tgid;
	owner->root_start_ns = told->root_tgid ? told->root_start_ns : told->start_ns;
	owner->exited_ns = cut_unsigned(told->exited_ns);
	owner->shared = cut_bytes(cut_unsigned(told->shared_bytes));
	memcpy(owner->comm, told->comm, sizeof(owner->comm));
	owner->comm[sizeof(owner->comm) - 1] = 0;
	/* It was there when it was marked, though a store may have its end a little earlier. */
	if (owner->is_victim && owner->exited_ns && owner->exited_ns < owner->moment_ns)
		owner->exited_ns = owner->moment_ns;
}

static void take_owner(const struct history_owner *told, void *arg)
{
	struct chart_maker *maker = arg;
	bool is_domain = maker->domain_id ? told->kind == HISTORY_CGROUP &&
						    told->cgroup_id == maker->domain_id
					  : told->kind == HISTORY_HOST;

	maker->current = is_domain ? CHART_DOMAIN : CHART_NOBODY;
	if (told->kind == HISTORY_PROCESS)
		take_process(maker, told);
}

/* --- points --- */

static int grow_points(struct chart_maker *maker)
{
	uint32_t room = maker->point_room ? 2 * maker->point_room : POINTS_ROOM;
	struct chart_point *points = realloc(maker->points, (size_t)room * sizeof(*points));

	if (!points)
		return -ENOMEM;
	maker->points = points;
	maker->point_room = room;
	return 0;
}

static void keep_point(struct chart_maker *maker, struct chart_point *point)
{
	const struct chart_point *last;

	if (maker->point_count == CHART_POINTS_MAX) {
		maker->dropped++;
		return;
	}
	if (maker->point_count == maker->point_room && grow_points(maker)) {
		maker->no_memory = true;
		return;
	}
	if (maker->point_count) {
		last = &maker->points[maker->point_count - 1];
		maker->unsorted |= last->owner > point->owner ||
				   (last->owner == point->owner && last->time_ns > point->time_ns);
	}
	point->number = maker->point_count;
	maker->points[maker->point_count++] = *point;
}

static struct chart_point read_point(const struct history_point *told, uint32_t owner)
{
	struct chart_point ret = {.time_ns = told->time_ns, .owner = owner};

	if (owner == CHART_DOMAIN) {
		ret.held = cut_bytes(told->values[HISTORY_USAGE]);
		return ret;
	}
	ret.swap = cut_bytes(told->values[HISTORY_SWAP]);
	ret.held = cut_bytes(told->values[HISTORY_RESIDENT]) + ret.swap;
	ret.cow = cut_bytes(told->values[HISTORY_COW]);
	return ret;
}

static void take_point(const struct history_point *told, void *arg)
{
	struct chart_maker *maker = arg;
	int64_t begin_ns = chart_sum(maker->from_ns, STORE_SLACK_NS);
	struct chart_owner *owner;
	struct chart_point point;

	maker->reaches |= told->time_ns <= begin_ns;
	if (maker->current == CHART_NOBODY || maker->no_memory)
		return;
	owner = &maker->owners[maker->current];
	if (told->time_ns > chart_larger(maker->to_ns, owner->moment_ns))
		return;
	point = read_point(told, maker->current);
	if (told->time_ns > begin_ns)
		keep_point(maker, &point);
	else if (owner->before.owner == CHART_NOBODY || owner->before.time_ns <= point.time_ns)
		owner->before = point;
}

/* --- from beginning to end --- */

struct chart_maker *chart_new(const struct incident *incident, uint64_t domain_id,
	uint64_t limit_bytes, int64_t from_ns, int64_t to_ns)
{
	struct chart_maker *maker;

	if (to_ns < from_ns) {
		errno = EINVAL;
		return NULL;
	}
	maker = calloc(1, sizeof(*maker));
	if (!maker)
		return NULL;
	maker->domain_id = domain_id;
	maker->limit_bytes = limit_bytes;
	maker->from_ns = from_ns;
	maker->to_ns = to_ns;
	set_moment(maker, incident);
	set_victims(maker, incident);
	maker->current = CHART_NOBODY;
	/* The first is the domain's own. */
	if (find_or_add(maker, 0, 0) == CHART_DOMAIN && !grow_points(maker))
		return maker;
	chart_drop(maker);
	errno = ENOMEM;
	return NULL;
}

struct history_taker chart_taker(struct chart_maker *maker)
{
	return (struct history_taker) {.owner = take_owner, .point = take_point, .arg = maker};
}

int chart_finish(struct chart_maker *maker, struct chart *ret)
{
	int error;

	*ret = (struct chart) {.kill_ns = maker->kill_ns,
		.limit_bytes = maker->limit_bytes,
		.from_ns = maker->from_ns,
		.to_ns = maker->to_ns,
		.dropped = maker->dropped,
		.whole = maker->reaches && !maker->dropped};
	error = maker->no_memory ? -ENOMEM : chart_draw(maker, ret);
	chart_drop(maker);
	if (error)
		chart_free(ret);
	return error;
}

void chart_drop(struct chart_maker *maker)
{
	if (!maker)
		return;
	free(maker->owners);
	free(maker->buckets);
	free(maker->points);
	free(maker);
}

void chart_free(struct chart *chart)
{
	for (unsigned int i = 0; i < chart->layer_count; i++)
		free(chart->layers[i].bytes);
	free(chart->times_ns);
	free(chart->usage_bytes);
	free(chart->swap_bytes);
	memset(chart, 0, sizeof(*chart));
}
