// SPDX-License-Identifier: Apache-2.0
#include "judge/trend.h"

#include <string.h>

#include "facts/host.h"

#define NS_PER_S 1000000000ULL
#define POINTS_MIN 3
#define FLAT_SHARE 32 /* growth below 1/32 is no growth */
#define LOW_SHARE 0.05 /* within so much of the rise above the lowest point it is still low */
#define STEADY_POINTS 10
#define STEADY_R2 0.9
#define SPIKE_SHARE 0.9
#define SPIKE_S 3.0
#define SPIKE_CALM                                                                                 \
	3 /* a jump needs a window so many times as long, or there was no calm to see              \
	   */

/* The points that are known. In doubles, so that no sum of huge values overflows. */
struct curve {
	unsigned int count;
	double window_s;
	double at_s[PICTURE_POINTS];
	double bytes[PICTURE_POINTS];
	uint64_t first_bytes, last_bytes, lowest_bytes;
};

struct line {
	double slope, level; /* bytes = level + slope × seconds */
	double r2;
};

const char *trend_name(enum trend_kind kind)
{
	static const char *const names[] = {"unknown", "flat", "steady", "spike", "uneven"};

	return names[kind];
}

static bool curve_of(const struct growth_picture *picture, struct curve *ret)
{
	unsigned int count = picture->point_count;

	memset(ret, 0, sizeof(*ret));
	if (!picture->valid || !picture->domain_known || picture->to_ns <= picture->from_ns ||
		count < POINTS_MIN || count > PICTURE_POINTS)
		return false;
	ret->window_s = (double)(picture->to_ns - picture->from_ns) / NS_PER_S;
	ret->lowest_bytes = UNKNOWN_U64;
	for (unsigned int i = 0; i < count; i++) {
		uint64_t bytes = picture->points[i];

		if (bytes == UNKNOWN_U64)
			continue;
		if (!ret->count)
			ret->first_bytes = bytes;
		if (bytes < ret->lowest_bytes)
			ret->lowest_bytes = bytes;
		ret->last_bytes = bytes;
		ret->at_s[ret->count] = ret->window_s * i / (count - 1);
		ret->bytes[ret->count++] = (double)bytes;
	}
	return ret->count >= POINTS_MIN;
}

static int64_t difference(uint64_t end, uint64_t begin)
{
	uint64_t distance = end > begin ? end - begin : begin - end;

	if (distance > INT64_MAX)
		distance = INT64_MAX;
	return end > begin ? (int64_t)distance : -(int64_t)distance;
}

/*
 * The last point that is still low. Not the lowest one: of a level that stood for long any point
 * may be that, and not the first that is higher: what stands still trembles.
 */
static unsigned int last_low(const struct curve *curve, double rise)
{
	double bound = (double)curve->lowest_bytes + LOW_SHARE * rise;
	unsigned int at = curve->count - 1;

	while (at > 0 && curve->bytes[at] > bound)
		at--;
	return at;
}

/* Least squares from one point to the end. Sums are of differences, first from that point and then
 * from the means: those of large numbers would not be 0 where all are equal. */
static struct line line_from(const struct curve *curve, unsigned int first)
{
	double mean_s = 0, mean_bytes = 0, xx = 0, xy = 0, yy = 0, base = curve->bytes[first];
	unsigned int count = curve->count - first;
	struct line ret = {0};

	for (unsigned int i = first; i < curve->count; i++) {
		mean_s += curve->at_s[i] / count;
		mean_bytes += (curve->bytes[i] - base) / count;
	}
	for (unsigned int i = first; i < curve->count; i++) {
		double x = curve->at_s[i] - mean_s, y = curve->bytes[i] - base - mean_bytes;

		xx += x * x;
		xy += x * y;
		yy += y * y;
	}
	if (xx > 0)
		ret.slope = xy / xx;
	ret.level = base + mean_bytes - ret.slope * mean_s;
	/* What stands still needs no line to explain it. */
	if (xx > 0 && yy > 0)
		ret.r2 = xy / xx * xy / yy;
	return ret;
}

/* The two points nearest to each other in time between which nine tenths of the rise came. */
static double spike_of(const struct curve *curve, unsigned int first, double rise, double *ret_from)
{
	double shortest = curve->window_s;

	*ret_from = 0;
	for (unsigned int to = first + 1; to < curve->count; to++) {
		for (unsigned int from = first; from < to; from++) {
			double span = curve->at_s[to] - curve->at_s[from];

			if (curve->bytes[to] - curve->bytes[from] < SPIKE_SHARE * rise ||
				span > shortest)
				continue;
			shortest = span;
			*ret_from = curve->at_s[from];
		}
	}
	return shortest;
}

static bool is_spike(const struct curve *curve, double span_s, double from_s)
{
	if (span_s <= SPIKE_S && span_s * SPIKE_CALM <= curve->window_s)
		return true;
	return from_s >= curve->window_s * 0.9;
}

static bool is_flat(const struct growth_picture *picture, const struct curve *curve, uint64_t rise)
{
	uint64_t whole = picture->domain_max_bytes;

	if (whole == UNKNOWN_U64 || !whole)
		whole = curve->last_bytes;
	return rise < whole / FLAT_SHARE || !rise;
}

static uint64_t moment(const struct growth_picture *picture, double at_s)
{
	return picture->from_ns + (uint64_t)(at_s * NS_PER_S);
}

static void judge_rise(
	const struct growth_picture *picture, const struct curve *curve, struct trend *ret)
{
	double rise = (double)ret->rise_bytes, spike_from, spike_s, start_s, left_s;
	unsigned int low = last_low(curve, rise);
	struct line line = line_from(curve, low);

	start_s = curve->at_s[low];
	spike_s = spike_of(curve, low, rise, &spike_from);
	ret->kind = TREND_UNEVEN;
	ret->bytes_per_s = line.slope;
	ret->r2 = line.r2;
	if (is_spike(curve, spike_s, spike_from)) {
		ret->kind = TREND_SPIKE;
		ret->spike_ns = (uint64_t)(spike_s * NS_PER_S);
	} else if (line.r2 >= STEADY_R2 && curve->count - low >= STEADY_POINTS) {
		ret->kind = TREND_STEADY;
		/* The line left the low level before it was above all that counts as low. */
		left_s = ((double)curve->lowest_bytes - line.level) / line.slope;
		if (left_s < start_s)
			start_s = left_s > 0 ? left_s : 0;
	}
	ret->start_ns = moment(picture, start_s);
}

void trend_of(const struct growth_picture *picture, struct trend *ret)
{
	struct curve curve;
	struct line line;

	memset(ret, 0, sizeof(*ret));
	if (!curve_of(picture, &curve))
		return;
	ret->delta_bytes = difference(curve.last_bytes, curve.first_bytes);
	ret->rise_bytes = curve.last_bytes - curve.lowest_bytes;
	if (!is_flat(picture, &curve, ret->rise_bytes)) {
		judge_rise(picture, &curve, ret);
		return;
	}
	line = line_from(&curve, 0);
	ret->kind = TREND_FLAT;
	ret->bytes_per_s = line.slope;
	ret->r2 = line.r2;
}

/* --- who --- */

static uint64_t known(uint64_t bytes)
{
	return bytes == UNKNOWN_U64 ? 0 : bytes;
}

uint64_t growth_part(int64_t delta_bytes, uint64_t cow_bytes)
{
	uint64_t cow = known(cow_bytes), ret;

	if (delta_bytes < 0) {
		uint64_t less = -(uint64_t)delta_bytes;

		return cow > less ? cow - less : 0;
	}
	return __builtin_add_overflow(cow, (uint64_t)delta_bytes, &ret) ? UINT64_MAX : ret;
}

static uint64_t whole_growth(const struct growth_picture *picture, const struct trend *trend)
{
	uint64_t ret = trend->rise_bytes;

	if (trend->kind == TREND_UNKNOWN || trend->kind == TREND_FLAT)
		return 0;
	if (picture->domain_delta_bytes > 0 && (uint64_t)picture->domain_delta_bytes > ret)
		ret = (uint64_t)picture->domain_delta_bytes;
	return ret;
}

static bool by_process(const struct growth_picture *picture, struct growth_share *ret)
{
	for (unsigned int i = 0; i < picture->process_count && i < PICTURE_PROCESSES; i++) {
		const struct picture_process *process = &picture->processes[i];
		uint64_t part = growth_part(process->delta_bytes, process->cow_bytes);

		if (part <= ret->growth_bytes / 2 || part <= ret->part_bytes)
			continue;
		ret->by = GROWTH_BY_PROCESS;
		ret->index = i;
		ret->part_bytes = part;
		ret->cow_bytes = known(process->cow_bytes);
		ret->cow_upper_bound = process->cow_upper_bound;
	}
	return ret->by != GROWTH_BY_NONE;
}

/*
 * Pages that members share since they were forked, as a tmpfs that all of them map, are in the
 * counters of each. A sum that is well above the whole is no amount of memory.
 */
static bool is_counted_twice(uint64_t part, uint64_t whole)
{
	return part > whole && part - whole > whole / 4;
}

static bool by_family(const struct growth_picture *picture, struct growth_share *ret)
{
	for (unsigned int i = 0; i < picture->family_count && i < PICTURE_FAMILIES; i++) {
		const struct picture_family *family = &picture->families[i];
		uint64_t part = growth_part(family->delta_bytes, family->cow_bytes);

		if (family->members < 2 || part <= ret->growth_bytes / 2 ||
			part <= ret->part_bytes || is_counted_twice(part, ret->growth_bytes))
			continue;
		ret->by = GROWTH_BY_FAMILY;
		ret->index = i;
		ret->part_bytes = part;
		ret->cow_bytes = known(family->cow_bytes);
		ret->cow_upper_bound = family->cow_upper_bound;
	}
	return ret->by != GROWTH_BY_NONE;
}

static void by_nobody(const struct growth_picture *picture, struct growth_share *ret)
{
	uint64_t most = 0;

	if (picture->unattributed_bytes <= 0 ||
		(uint64_t)picture->unattributed_bytes <= ret->growth_bytes / 2)
		return;
	ret->by = GROWTH_BY_NOBODY;
	ret->index = PICTURE_PROCESSES;
	ret->part_bytes = (uint64_t)picture->unattributed_bytes;
	for (unsigned int i = 0; i < picture->process_count && i < PICTURE_PROCESSES; i++) {
		uint64_t cached = known(picture->processes[i].cached_bytes);

		if (cached < ret->part_bytes / 2 || cached <= most)
			continue;
		most = cached;
		ret->index = i;
	}
}

void growth_share_of(
	const struct growth_picture *picture, const struct trend *trend, struct growth_share *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->growth_bytes = whole_growth(picture, trend);
	if (!ret->growth_bytes || by_process(picture, ret) || by_family(picture, ret))
		return;
	by_nobody(picture, ret);
}
