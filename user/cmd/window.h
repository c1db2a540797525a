/* SPDX-License-Identifier: Apache-2.0 */
/* window.h: the minutes around an incident, out of its store: the chart of its series, and the
 * gaps in them. */
#ifndef OOMSNOOP_CMD_WINDOW_H
#define OOMSNOOP_CMD_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/reading.h"
#include "model/chart.h"

#define WINDOW_GAPS 256

struct window {
	uint64_t from_ns, to_ns; /* CLOCK_BOOTTIME */
	bool has_chart; /* false: the store has no series of it, or they cannot be read */
	struct chart chart;
	size_t gap_count;
	struct store_gap gaps[WINDOW_GAPS];
};

enum window_back {
	WINDOW_OF_RECORD, /* what the record looks back on */
	WINDOW_WHOLE, /* all the history that the recorder kept, from where there is something to
			 see */
};

/* Of the incident in hand. What cannot be read is told on stderr and left out. */
void window_load(struct window *window, struct reading *reading, enum window_back back);
void window_free(struct window *window);

#endif /* OOMSNOOP_CMD_WINDOW_H */
