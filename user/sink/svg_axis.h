/* SPDX-License-Identifier: Apache-2.0 */
/* svg_axis.h: where the ticks of a chart stand, and what they are called. Pure. */
#ifndef OOMSNOOP_SINK_SVG_AXIS_H
#define OOMSNOOP_SINK_SVG_AXIS_H

#include <stdint.h>

#include "base/buf.h"

/* Distance of the ticks of memory: a power of two, so that each has a round IEC size; 3 to 7 of
 * them up to `most`, 0 not counted. */
uint64_t axis_bytes_step(uint64_t most);

/* Distance of the ticks of time: round in the units that people count in; at most `ticks` of them
 * in the span. */
int64_t axis_time_step(int64_t span_ns, unsigned int ticks);

/* Time relative to the kill in the unit of that step: "-60 s", "-2.5 s", "-5 min", "+1 s", "0". */
void axis_time_label(struct buf *buf, int64_t ns, int64_t step_ns);

#endif /* OOMSNOOP_SINK_SVG_AXIS_H */
