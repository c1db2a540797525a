// SPDX-License-Identifier: Apache-2.0
#include "cmd/report_page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report_page_kills.h"
#include "sink/html.h"
#include "sink/view.h"

#define NEIGHBOURS 100 /* the newest */

struct neighbours {
	int64_t self;
	int64_t ids[NEIGHBOURS]; /* a ring: the newest so far */
	uint64_t total;
	size_t count;
	struct html_neighbour list[NEIGHBOURS];
};

static int take_id(const struct store_line *line, void *arg)
{
	struct neighbours *neighbours = arg;

	if (line->id != neighbours->self)
		neighbours->ids[neighbours->total++ % NEIGHBOURS] = line->id;
	return 0;
}

static const char *claim_of(const struct judgement *judgement)
{
	const struct verdict *first = view_first(judgement);

	return first ? first->claim : "";
}

/* Each needs to be loaded and judged, which takes the place of the incident in hand: its own is put
 * aside meanwhile. */
static void judge_neighbours(struct neighbours *neighbours, struct reading *reading)
{
	size_t count = neighbours->total < NEIGHBOURS ? (size_t)neighbours->total : NEIGHBOURS;
	size_t oldest = neighbours->total > NEIGHBOURS ? neighbours->total % NEIGHBOURS : 0;

	for (size_t i = 0; i < count; i++) {
		struct html_neighbour *one = &neighbours->list[neighbours->count];

		reading_progress(reading, "other incidents read:", i, count);
		if (!reading_load(reading, neighbours->ids[(oldest + i) % NEIGHBOURS], false))
			continue;
		one->id = reading->captured->id;
		one->time_ns = view_wall_ns(&reading->context, reading->captured->incident.time_ns);
		snprintf(one->claim, sizeof(one->claim), "%s", claim_of(reading->judgement));
		neighbours->count++;
	}
	reading_progress_end(reading);
}

static void find_neighbours(struct neighbours *neighbours, struct reading *reading)
{
	struct captured *captured = reading->captured;
	struct judgement *judgement = reading->judgement;
	struct sink_context context = reading->context;

	neighbours->self = captured->id;
	if (store_each(reading->store, INT64_MIN, INT64_MAX, false, take_id, neighbours))
		reading_say(reading, "not all other incidents are named: %s",
			store_why(reading->store));
	reading->captured = malloc(sizeof(*reading->captured));
	reading->judgement = malloc(sizeof(*reading->judgement));
	if (reading->captured && reading->judgement)
		judge_neighbours(neighbours, reading);
	free(reading->captured);
	free(reading->judgement);
	reading->captured = captured;
	reading->judgement = judgement;
	reading->context = context;
}

int report_html(struct reading *reading, const struct window *window,
	int (*write)(const char *data, size_t len, void *arg), void *arg)
{
	struct neighbours *neighbours = calloc(1, sizeof(*neighbours));
	struct page_kills *kills;
	struct html_page page = {
		.context = &reading->context,
		.id = reading->captured->id,
		.incident = &reading->captured->incident,
		.judgement = reading->judgement,
		.chart = window->has_chart ? &window->chart : NULL,
		.gaps = window->gaps,
		.gap_count = window->gap_count,
		.damage = reading->captured->damaged ? reading->captured->damage : NULL,
	};
	int err;

	if (!neighbours)
		return -ENOMEM;
	find_neighbours(neighbours, reading);
	page.neighbours = neighbours->list;
	page.neighbour_count = neighbours->count;
	page.neighbour_total = neighbours->total;
	kills = page_kills_load(reading, window);
	if (kills) {
		page.kills = kills->list;
		page.kill_count = kills->count;
		page.kill_total = kills->total;
	}
	err = html_page(&page, write, arg);
	free(kills);
	free(neighbours);
	return err;
}

int report_svg(struct reading *reading, const struct window *window,
	int (*write)(const char *data, size_t len, void *arg), void *arg)
{
	/* Without series there is still the usage that the record itself tells. */
	return svg_file(&reading->context, &reading->captured->incident, reading->judgement,
		window->has_chart ? &window->chart : NULL, write, arg);
}
