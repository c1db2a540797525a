// SPDX-License-Identifier: Apache-2.0
/* Moments as a log tells them, by one clock or another. */
#include "model/klog_report_parts.h"

struct klog_when klog_when_of(const struct klog_stamp *stamp)
{
	struct klog_when ret = {.has_mono = stamp->has_mono,
		.has_wall = stamp->has_wall,
		.has_year = stamp->has_year,
		.has_zone = stamp->has_zone,
		.mono_ns = stamp->mono_ns,
		.wall_ns = stamp->wall_ns};

	klog_copy_text(stamp->text, ret.text, sizeof(ret.text));
	return ret;
}

bool klog_when_comparable(const struct klog_when *from, const struct klog_when *to)
{
	return (from->has_mono && to->has_mono) ||
	       (from->has_wall && to->has_wall && from->has_year == to->has_year &&
		       from->has_zone == to->has_zone);
}

int64_t klog_when_gap(const struct klog_when *from, const struct klog_when *to)
{
	if (from->has_mono && to->has_mono)
		return (int64_t)(to->mono_ns - from->mono_ns);
	if (klog_when_comparable(from, to))
		return to->wall_ns - from->wall_ns;
	return 0;
}

bool klog_when_within(const struct klog_when *from, const struct klog_when *to, int64_t ns)
{
	int64_t gap = klog_when_gap(from, to);

	return gap >= -ns && gap <= ns;
}
