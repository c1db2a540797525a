/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zones.h: had a zone of memory room for what was asked for? The arithmetic behind the verdict
 * zone-exhausted, for one zone, so that a page can show it. Source: mm/page_alloc.c
 * __zone_watermark_ok().
 */
#ifndef OOMSNOOP_JUDGE_ZONES_H
#define OOMSNOOP_JUDGE_ZONES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/incident.h"

/* Pages. */
struct zone_room {
	bool usable; /* the request may be served from this zone at all */
	uint64_t kept_pages; /* for requests that can go nowhere else (lowmem_reserve) */
	uint64_t aside_pages; /* for movable memory (CMA) or urgent pieces (highatomic) only */
	bool room; /* free pages are left above the watermark and both of these */
	bool piece; /* one of the size that was asked for is there, as far as the log tells */
};

/* The kernel's report has them, and what was asked for is known. */
bool judge_zones_known(const struct incident *incident);

/* False: the request or the zone's sizes are not known. */
bool judge_zone_room(const struct incident *incident, unsigned int index, struct zone_room *ret);

#endif /* OOMSNOOP_JUDGE_ZONES_H */
