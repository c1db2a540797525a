// SPDX-License-Identifier: Apache-2.0
/*
 * Lines and layers: instants are chosen, and at each of them the newest point of every series is
 * what holds. One family is gone over after the other, and only the largest keep an array of their
 * own, so that any number of them takes no more memory than their points.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/chart_parts.h"

#define MINUTE_NS (60 * CHART_S)
#define BIN_NS (20 * CHART_MS) /* no recorder looks more often */
#define BINS (MINUTE_NS / BIN_NS)
#define NEAR_NS (BIN_NS / 2) /* two instants of one pass */
/* Of CHART_INSTANTS; a few are left for the edges and the kill. */
#define INSTANTS_BEFORE 240
#define INSTANTS_MINUTE 400
#define INSTANTS_AFTER 60
#define FORK_TO_EXEC_NS (2 * CHART_S)
#define BEFORE_NS CHART_S /* at least, between two of them */

/* The moment of the kill is one: all of it is its beginning. */
static int64_t effective(
	const struct chart_maker *maker, const struct chart_owner *owner, int64_t time_ns)
{
	bool is_of_kill = time_ns > maker->moment_from_ns && time_ns <= owner->moment_ns;

	return is_of_kill ? maker->moment_from_ns : time_ns;
}

/* --- points --- */

static int compare_points(const void *a, const void *b)
{
	const struct chart_point *left = a, *right = b;

	if (left->owner != right->owner)
		return left->owner < right->owner ? -1 : 1;
	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return left->number < right->number ? -1 : 1;
}

/*
 * Who executes a program soon after its fork had until then what it shares with its parent, which
 * the parent's family is drawn with. The recorder tells a new program as a point that holds
 * nothing.
 */
static void find_program(struct chart_owner *owner, const struct chart_point *point)
{
	uint64_t age_ns = (uint64_t)point->time_ns - owner->start_ns;
	bool is_own_root =
		owner->tgid == owner->root_tgid && owner->start_ns == owner->root_start_ns;

	if (is_own_root && !point->held && age_ns <= FORK_TO_EXEC_NS)
		owner->program_ns = point->time_ns;
}

static void order_points(struct chart_maker *maker)
{
	if (maker->unsorted)
		qsort(maker->points, maker->point_count, sizeof(*maker->points), compare_points);
	for (uint32_t i = 0; i < maker->point_count; i++) {
		struct chart_owner *owner = &maker->owners[maker->points[i].owner];

		find_program(owner, &maker->points[i]);
		if (!owner->count++)
			owner->first = i;
	}
}

/* --- instants --- */

/* The newest point in each bin of the last minute. */
static void fill_bins(
	const struct chart_maker *maker, int64_t minute_ns, int64_t end_ns, int64_t bins[BINS])
{
	for (unsigned int i = 0; i < BINS; i++)
		bins[i] = INT64_MIN;
	for (uint32_t i = 0; i < maker->point_count; i++) {
		int64_t time_ns = maker->points[i].time_ns;
		uint64_t bin;

		if (time_ns < minute_ns || time_ns > end_ns)
			continue;
		bin = chart_span(minute_ns, time_ns) / BIN_NS;
		bin = bin < BINS ? bin : BINS - 1;
		bins[bin] = chart_larger(bins[bin], time_ns);
	}
}

/* As they are, or, where that is too many, the last of two, of four, … */
static unsigned int take_bins(const int64_t bins[BINS], int64_t *times_ns)
{
	unsigned int width = 1, count = INSTANTS_MINUTE + 1;

	for (; count > INSTANTS_MINUTE; width *= 2) {
		count = 0;
		for (unsigned int i = 0; i < BINS && count <= INSTANTS_MINUTE; i += width) {
			int64_t newest = INT64_MIN;

			for (unsigned int j = i; j < i + width && j < BINS; j++)
				newest = chart_larger(newest, bins[j]);
			if (newest == INT64_MIN)
				continue;
			if (count < INSTANTS_MINUTE)
				times_ns[count] = newest;
			count++;
		}
	}
	return count;
}

/* At most `most` at equal distances from a on, b not among them. */
static unsigned int equal_distances(
	int64_t a, int64_t b, unsigned int most, int64_t least_ns, int64_t *times_ns)
{
	uint64_t length = chart_span(a, b), count = length / (uint64_t)least_ns + 1;

	if (!length)
		return 0;
	if (count > most)
		count = most;
	for (uint64_t i = 0; i < count; i++)
		times_ns[i] = (int64_t)((uint64_t)a + length / count * i);
	return (unsigned int)count;
}

static int compare_times(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return left < right ? -1 : left > right;
}

/* Of two of one pass the later one has all of it; the edges and the kill stay. */
static unsigned int thin_out(const struct chart_maker *maker, int64_t *times_ns, unsigned int count)
{
	unsigned int kept = 0;

	qsort(times_ns, count, sizeof(*times_ns), compare_times);
	for (unsigned int i = 0; i < count; i++) {
		int64_t at = times_ns[i];
		bool is_fixed = at == maker->from_ns || at == maker->to_ns || at == maker->kill_ns;

		if (i + 1 < count &&
			(times_ns[i + 1] == at ||
				(!is_fixed && chart_span(at, times_ns[i + 1]) < NEAR_NS)))
			continue;
		times_ns[kept++] = at;
	}
	return kept;
}

static void choose_instants(const struct chart_maker *maker, int64_t bins[BINS], struct chart *ret)
{
	int64_t end_ns = chart_larger(maker->from_ns, chart_smaller(maker->kill_ns, maker->to_ns));
	int64_t minute_ns = chart_span(maker->from_ns, end_ns) > MINUTE_NS ? end_ns - MINUTE_NS
									   : maker->from_ns;
	int64_t *times_ns = ret->times_ns;
	unsigned int count;

	count = equal_distances(maker->from_ns, minute_ns, INSTANTS_BEFORE, BEFORE_NS, times_ns);
	fill_bins(maker, minute_ns, end_ns, bins);
	count += take_bins(bins, times_ns + count);
	count += equal_distances(end_ns, maker->to_ns, INSTANTS_AFTER, BIN_NS, times_ns + count);
	times_ns[count++] = maker->from_ns;
	times_ns[count++] = maker->to_ns;
	if (maker->kill_ns >= maker->from_ns && maker->kill_ns <= maker->to_ns)
		times_ns[count++] = maker->kill_ns;
	ret->instants = thin_out(maker, times_ns, count);
}

static_assert(INSTANTS_BEFORE + INSTANTS_MINUTE + INSTANTS_AFTER + 3 <= CHART_INSTANTS,
	"all of them fit");

/* --- lines --- */

static void draw_usage(const struct chart_maker *maker, struct chart *ret)
{
	const struct chart_owner *domain = &maker->owners[CHART_DOMAIN];
	const struct chart_point *point = maker->points + domain->first,
				 *end = point + domain->count;
	int64_t last = domain->before.owner == CHART_NOBODY ? CHART_UNKNOWN : domain->before.held;

	for (unsigned int i = 0; i < ret->instants; i++) {
		int64_t at_ns = effective(maker, domain, ret->times_ns[i]);
		int64_t highest = CHART_UNKNOWN;

		for (; point < end && effective(maker, domain, point->time_ns) <= at_ns; point++) {
			last = point->held;
			highest = chart_larger(highest, last);
		}
		ret->usage_bytes[i] = highest == CHART_UNKNOWN ? last : highest;
	}
}

/* One family, while it is gone over. */
struct family {
	uint32_t root_tgid;
	uint64_t root_start_ns;
	unsigned int members;
	bool has_victim, has_first_victim;
	char comm[EV_COMM_LEN + 1];
	int64_t named_by; /* what the member that gave its name held at most; INT64_MAX: the root */
	/* [instants]; in the end `apart` is what all of it holds */
	int64_t *apart; /* what members have to themselves, the root not */
	int64_t *root; /* what the root has to itself */
	int64_t *shared; /* the most that a member shares */
};

static void count_member(const struct chart_maker *maker, const struct chart_owner *owner,
	int64_t most, struct family *family)
{
	bool is_root = owner->tgid == family->root_tgid && owner->start_ns == family->root_start_ns;

	family->members++;
	family->has_victim |= owner->is_victim;
	family->has_first_victim |= owner->is_victim && maker->victims[0].tgid == owner->tgid;
	most = is_root ? INT64_MAX : most;
	if (family->members > 1 && most <= family->named_by)
		return;
	family->named_by = most;
	memcpy(family->comm, owner->comm, sizeof(family->comm));
}

/* What it holds at one instant. */
static void add_at(const struct chart_owner *owner, const struct chart_point *point,
	struct family *family, unsigned int instant)
{
	int64_t shared = chart_larger(0, owner->shared - point->cow);
	int64_t private = chart_larger(0, point->held - shared);
	bool is_root = owner->tgid == family->root_tgid && owner->start_ns == family->root_start_ns;

	shared = chart_smaller(shared, point->held);
	family->shared[instant] = chart_larger(family->shared[instant], shared);
	if (is_root)
		family->root[instant] = private;
	else
		family->apart[instant] = chart_sum(family->apart[instant], private);
}

/* False: it was not there in the window. */
static bool add_member(const struct chart_maker *maker, const struct chart_owner *owner,
	struct family *family, const struct chart *chart, int64_t *swap_bytes)
{
	const struct chart_point *next = maker->points + owner->first, *end = next + owner->count;
	const struct chart_point *last = &owner->before;
	bool was_there = false;
	int64_t most = 0;

	if (last->owner == CHART_NOBODY || owner->program_ns)
		last = NULL;
	for (unsigned int i = 0; i < chart->instants; i++) {
		int64_t at_ns = effective(maker, owner, chart->times_ns[i]);

		for (; next < end && effective(maker, owner, next->time_ns) <= at_ns; next++) {
			last = next->time_ns < owner->program_ns ? NULL : next;
			was_there = true;
		}
		if (!last || (owner->exited_ns && owner->exited_ns < at_ns))
			continue;
		was_there = true;
		most = chart_larger(most, last->held);
		add_at(owner, last, family, i);
		swap_bytes[i] = chart_sum(swap_bytes[i], last->swap);
	}
	if (was_there)
		count_member(maker, owner, most, family);
	return was_there;
}

/* --- layers --- */

/* The layers while they are chosen. */
struct choice {
	int64_t peaks[CHART_LAYERS];
	struct chart_layer rest;
};

static void add_to_rest(
	struct choice *choice, const struct chart_layer *layer, unsigned int instants)
{
	choice->rest.members += layer->members;
	choice->rest.has_victim |= layer->has_victim;
	for (unsigned int i = 0; i < instants; i++)
		choice->rest.bytes[i] = chart_sum(choice->rest.bytes[i], layer->bytes[i]);
}

/* All together, into `apart`. Returns its peak. */
static int64_t close_family(struct family *family, unsigned int instants)
{
	int64_t peak = 0;

	for (unsigned int i = 0; i < instants; i++) {
		family->apart[i] = chart_sum(
			family->apart[i], chart_larger(family->root[i], family->shared[i]));
		peak = chart_larger(peak, family->apart[i]);
	}
	return family->has_first_victim ? INT64_MAX : peak;
}

static unsigned int smallest_of(const struct choice *choice)
{
	unsigned int smallest = 0;

	for (unsigned int i = 1; i < CHART_LAYERS; i++)
		if (choice->peaks[i] < choice->peaks[smallest])
			smallest = i;
	return smallest;
}

/* Takes its place among the layers, or that of the smallest, or goes into the rest. */
static int place_family(struct choice *choice, struct family *family, struct chart *ret)
{
	int64_t peak = close_family(family, ret->instants);
	unsigned int at = ret->layer_count;
	struct chart_layer layer = {.root_tgid = family->root_tgid,
		.root_start_ns = family->root_start_ns,
		.members = family->members,
		.has_victim = family->has_victim,
		.bytes = family->apart};

	memcpy(layer.comm, family->comm, sizeof(layer.comm));
	if (at == CHART_LAYERS) {
		at = smallest_of(choice);
		if (choice->peaks[at] >= peak) {
			add_to_rest(choice, &layer, ret->instants);
			return 0;
		}
		add_to_rest(choice, &ret->layers[at], ret->instants);
		layer.bytes = ret->layers[at].bytes;
	} else {
		layer.bytes = calloc(ret->instants, sizeof(*layer.bytes));
		if (!layer.bytes)
			return -ENOMEM;
		ret->layer_count++;
	}
	memcpy(layer.bytes, family->apart, ret->instants * sizeof(*layer.bytes));
	ret->layers[at] = layer;
	choice->peaks[at] = peak;
	return 0;
}

static unsigned int instant_of_kill(const struct chart *chart)
{
	unsigned int at = 0;

	while (at + 1 < chart->instants && chart->times_ns[at + 1] <= chart->kill_ns)
		at++;
	return at;
}

/* The largest at the kill first; of those that were gone by then, the one with the higher peak. */
static void order_layers(struct choice *choice, struct chart *ret)
{
	unsigned int kill = instant_of_kill(ret);

	for (unsigned int i = 1; i < ret->layer_count; i++) {
		struct chart_layer layer = ret->layers[i];
		int64_t peak = choice->peaks[i];
		unsigned int at = i;

		for (; at && (ret->layers[at - 1].bytes[kill] < layer.bytes[kill] ||
				     (ret->layers[at - 1].bytes[kill] == layer.bytes[kill] &&
					     choice->peaks[at - 1] < peak));
			at--) {
			ret->layers[at] = ret->layers[at - 1];
			choice->peaks[at] = choice->peaks[at - 1];
		}
		ret->layers[at] = layer;
		choice->peaks[at] = peak;
	}
}

struct entry {
	uint64_t root_start_ns;
	uint32_t root_tgid, owner;
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;

	if (left->root_start_ns != right->root_start_ns)
		return left->root_start_ns < right->root_start_ns ? -1 : 1;
	if (left->root_tgid != right->root_tgid)
		return left->root_tgid < right->root_tgid ? -1 : 1;
	return left->owner < right->owner ? -1 : 1;
}

/* All processes, those of one family together. */
static void list_by_family(const struct chart_maker *maker, struct entry *entries)
{
	for (uint32_t i = 1; i < maker->owner_count; i++) {
		const struct chart_owner *owner = &maker->owners[i];

		entries[i - 1] = (struct entry) {owner->root_start_ns, owner->root_tgid, i};
	}
	qsort(entries, maker->owner_count - 1, sizeof(*entries), compare_entries);
}

static void begin_family(struct family *family, const struct entry *entry, unsigned int instants)
{
	*family = (struct family) {.root_tgid = entry->root_tgid,
		.root_start_ns = entry->root_start_ns,
		.apart = family->apart,
		.root = family->root,
		.shared = family->shared};
	memset(family->apart, 0, instants * sizeof(*family->apart));
	memset(family->root, 0, instants * sizeof(*family->root));
	memset(family->shared, 0, instants * sizeof(*family->shared));
}

static int draw_families(const struct chart_maker *maker, const struct entry *entries,
	struct family *family, struct choice *choice, struct chart *ret)
{
	uint32_t count = maker->owner_count - 1;
	int error = 0;

	for (uint32_t i = 0, end; !error && i < count; i = end) {
		begin_family(family, &entries[i], ret->instants);
		for (end = i; end < count && entries[end].root_tgid == entries[i].root_tgid &&
			      entries[end].root_start_ns == entries[i].root_start_ns;
			end++)
			ret->processes += add_member(maker, &maker->owners[entries[end].owner],
				family, ret, ret->swap_bytes);
		if (family->members)
			error = place_family(choice, family, ret);
	}
	return error;
}

static int draw_layers(const struct chart_maker *maker, struct chart *ret)
{
	size_t instants = ret->instants;
	int64_t *lines = calloc(3 * instants, sizeof(*lines));
	struct entry *entries = calloc(maker->owner_count, sizeof(*entries));
	struct choice choice = {.rest.bytes = calloc(instants, sizeof(*lines))};
	struct family family = {0};
	int error = -ENOMEM;

	if (lines && entries && choice.rest.bytes) {
		family.apart = lines;
		family.root = lines + instants;
		family.shared = lines + 2 * instants;
		list_by_family(maker, entries);
		error = draw_families(maker, entries, &family, &choice, ret);
	}
	free(lines);
	free(entries);
	order_layers(&choice, ret);
	if (!error && choice.rest.members)
		ret->layers[ret->layer_count++] = choice.rest;
	else
		free(choice.rest.bytes);
	return error;
}

static void drop_swap_of_nobody(struct chart *chart)
{
	for (unsigned int i = 0; i < chart->instants; i++)
		if (chart->swap_bytes[i])
			return;
	free(chart->swap_bytes);
	chart->swap_bytes = NULL;
}

int chart_draw(struct chart_maker *maker, struct chart *ret)
{
	int64_t *bins = malloc(BINS * sizeof(*bins));
	int error = -ENOMEM;

	ret->times_ns = calloc(CHART_INSTANTS, sizeof(*ret->times_ns));
	ret->usage_bytes = calloc(CHART_INSTANTS, sizeof(*ret->usage_bytes));
	ret->swap_bytes = calloc(CHART_INSTANTS, sizeof(*ret->swap_bytes));
	if (bins && ret->times_ns && ret->usage_bytes && ret->swap_bytes) {
		order_points(maker);
		choose_instants(maker, bins, ret);
		draw_usage(maker, ret);
		error = draw_layers(maker, ret);
		drop_swap_of_nobody(ret);
	}
	free(bins);
	return error;
}
