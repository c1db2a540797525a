// SPDX-License-Identifier: Apache-2.0
#include <stddef.h>

#include "sink/svg_axis.h"

#define MS 1000000LL
#define SECOND (1000 * MS)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

#define TICKS 7 /* of memory, at most */

uint64_t axis_bytes_step(uint64_t most)
{
	uint64_t step = 1;

	while (step < (1ULL << 62) && most / step > TICKS)
		step <<= 1;
	return step;
}

int64_t axis_time_step(int64_t span_ns, unsigned int ticks)
{
	static const int64_t steps[] = {100 * MS, 200 * MS, 500 * MS, SECOND, 2 * SECOND,
		5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE,
		10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR,
		12 * HOUR, DAY};
	const size_t count = sizeof(steps) / sizeof(steps[0]);
	int64_t step;

	for (size_t i = 0; i < count; i++) {
		if (span_ns / steps[i] <= (int64_t)ticks)
			return steps[i];
	}
	step = steps[count - 1];
	while (step < INT64_MAX / 2 && span_ns / step > (int64_t)ticks)
		step *= 2;
	return step;
}

void axis_time_label(struct buf *buf, int64_t ns, int64_t step_ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	int64_t unit = step_ns >= HOUR ? HOUR : step_ns >= MINUTE ? MINUTE : SECOND;
	uint64_t tenths = size / ((uint64_t)unit / 10);

	if (ns == 0) {
		buf_putc(buf, '0');
		return;
	}
	buf_putc(buf, ns < 0 ? '-' : '+');
	buf_u64(buf, tenths / 10);
	if (tenths % 10 != 0)
		buf_printf(buf, ".%u", (unsigned int)(tenths % 10));
	buf_puts(buf, unit == HOUR ? " h" : unit == MINUTE ? " min" : " s");
}
