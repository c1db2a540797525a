// SPDX-License-Identifier: Apache-2.0
#include "cmd/window.h"

#include <errno.h>
#include <string.h>

#include "sink/view.h"

#define DEFAULT_NS (60ULL * 1000000000ULL) /* where it is not known what was looked back on */
#define AFTER_NS (10ULL * 1000000000ULL) /* how its memory came back; later points are others' */

static uint64_t less_ns(uint64_t ns, uint64_t by)
{
	return ns > by ? ns - by : 0;
}

/* And what came after, as far as it was followed. */
static void find_bounds(
	struct window *window, const struct captured *captured, enum window_back back_to)
{
	const struct incident *incident = &captured->incident;
	const struct growth_picture *picture = &incident->growth;
	uint64_t back =
		captured->run.recorder_window_ns ? captured->run.recorder_window_ns : DEFAULT_NS;
	uint64_t kill = incident->time_ns;

	window->from_ns = less_ns(kill, back);
	if (back_to == WINDOW_WHOLE && captured->run.recorder_history_ns > back)
		window->from_ns = less_ns(kill, captured->run.recorder_history_ns);
	else if (picture->valid && picture->from_ns < kill)
		window->from_ns = picture->from_ns;
	window->to_ns = kill;
	if (picture->valid && picture->to_ns > window->to_ns)
		window->to_ns = picture->to_ns;
	if (incident->closed_ns > window->to_ns)
		window->to_ns = incident->closed_ns;
	if (window->to_ns > kill + AFTER_NS)
		window->to_ns = kill + AFTER_NS;
}

/* --- gaps --- */

static void take_gap(const struct store_gap *gap, void *arg)
{
	struct window *window = arg;

	if (window->gap_count < WINDOW_GAPS)
		window->gaps[window->gap_count++] = *gap;
}

static void load_gaps(struct window *window, struct reading *reading)
{
	int64_t offset = reading->captured->moment.wall_minus_boot_ns;

	if (store_gaps(reading->store, (int64_t)window->from_ns + offset,
		    (int64_t)window->to_ns + offset, take_gap, window))
		reading_say(reading, "incident %lld: the gaps around it cannot be read: %s",
			(long long)reading->captured->id, store_why(reading->store));
}

/* --- series --- */

struct counted_taker {
	struct history_taker to;
	struct reading *reading;
	uint64_t points;
};

static void take_owner(const struct history_owner *owner, void *arg)
{
	struct counted_taker *taker = arg;

	taker->to.owner(owner, taker->to.arg);
}

static void take_point(const struct history_point *point, void *arg)
{
	struct counted_taker *taker = arg;

	taker->to.point(point, taker->to.arg);
	if (!(++taker->points % 4096))
		reading_progress(taker->reading, "points read:", taker->points, 0);
}

static uint64_t limit_of(const struct reading *reading)
{
	const struct incident *incident = &reading->captured->incident;
	const struct incident_level *level = view_limit(incident, reading->judgement);
	uint32_t page_size = reading->context.host->page_size;

	if (!level)
		return incident->host.total_bytes;
	if (level->max_pages == UNKNOWN_U64 || view_unlimited(level->max_pages, page_size))
		return UNKNOWN_U64;
	return level->max_pages * page_size;
}

static int load_series(struct window *window, struct reading *reading)
{
	const struct incident *incident = &reading->captured->incident;
	const struct incident_level *level = view_limit(incident, reading->judgement);
	uint64_t domain_id = level ? level->id : 0;
	struct chart_maker *maker = chart_new(incident, domain_id, limit_of(reading),
		(int64_t)window->from_ns, (int64_t)window->to_ns);
	struct counted_taker counted = {.reading = reading};
	const struct history_taker taker = {take_owner, take_point, &counted};
	int err, made;

	if (!maker)
		return -errno;
	counted.to = chart_taker(maker);
	err = store_history(reading->store, reading->captured, domain_id, (int64_t)window->from_ns,
		(int64_t)window->to_ns, &taker);
	reading_progress_end(reading);
	made = chart_finish(maker, &window->chart);
	if (made)
		return made;
	/* Series that end in damage are drawn as far as they go. */
	window->has_chart = counted.points > 0 && window->chart.instants > 0;
	if (!window->has_chart)
		chart_free(&window->chart);
	return err;
}

/* Is there any memory at an instant? */
static bool holds(const struct chart *chart, unsigned int instant)
{
	if (chart->usage_bytes && chart->usage_bytes[instant] > 0)
		return true;
	for (unsigned int i = 0; i < chart->layer_count; i++)
		if (chart->layers[i].bytes[instant] > 0)
			return true;
	return false;
}

/*
 * A cgroup that began ten seconds ago is not to be seen in ten minutes: the series are taken anew
 * from a little before it held anything, where that is in the second half.
 */
static int narrow_series(struct window *window, struct reading *reading)
{
	const struct chart *chart = &window->chart;
	int64_t span = chart->to_ns - chart->from_ns, begun;
	unsigned int first = 0;

	while (first < chart->instants && !holds(chart, first))
		first++;
	if (first == chart->instants)
		return 0;
	begun = chart->times_ns[first ? first - 1 : 0];
	if (begun - chart->from_ns < span / 2)
		return 0;
	window->from_ns = begun - (chart->to_ns - begun) / 20;
	window_free(window);
	return load_series(window, reading);
}

void window_load(struct window *window, struct reading *reading, enum window_back back)
{
	int err;

	window->has_chart = false;
	find_bounds(window, reading->captured, back);
	err = load_series(window, reading);
	if (back == WINDOW_WHOLE && window->has_chart && !err)
		err = narrow_series(window, reading);
	window->gap_count = 0;
	load_gaps(window, reading);
	if (window->has_chart && window->chart.dropped)
		reading_say(reading,
			"incident %lld: more series than can be drawn: %llu points left out",
			(long long)reading->captured->id,
			(unsigned long long)window->chart.dropped);
	if (err)
		reading_say(reading, "incident %lld: its series cannot all be read: %s",
			(long long)reading->captured->id,
			err == -ENOMEM ? "not enough memory" : store_why(reading->store));
}

void window_free(struct window *window)
{
	if (window->has_chart)
		chart_free(&window->chart);
	window->has_chart = false;
}
