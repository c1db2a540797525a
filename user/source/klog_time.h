/* SPDX-License-Identifier: Apache-2.0 */
/*
 * klog_time.h: the stamps that stand before lines of a log, in the forms that people and programs
 * write. Pure; asks no clock, no locale and no time zone. A cursor moves only over what was taken.
 */
#ifndef OOMSNOOP_SOURCE_KLOG_TIME_H
#define OOMSNOOP_SOURCE_KLOG_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "facts/scan.h"

struct klog_stamp {
	bool has_mono;
	uint64_t mono_ns; /* the kernel's own seconds */
	bool has_wall;
	bool has_year; /* without: wall_ns is of the year 1972, good for distances only */
	bool has_zone; /* without: wall_ns is what the clock on the wall showed, as if it were UTC
			*/
	int64_t wall_ns;
	struct scan text; /* the wall clock's stamp as it is written */
};

/* "HH:MM:SS", "HH:MM:SS.123456", "HH:MM:SS,123456"; ns of the day. */
bool klog_time_of_day(struct scan *scan, int64_t *ret_ns);

/* "2024-01-02T03:04:05.678Z", with a blank for T, '/' for '-', zone "+0100", "+01:00", " UTC" or
 * none. */
bool klog_iso_stamp(struct scan *scan, struct klog_stamp *ret);

/* "Jan  2 03:04:05", maybe "Tue Jan  7 09:17:33 2025"; month names of many languages. */
bool klog_month_stamp(struct scan *scan, struct klog_stamp *ret);

/* "2024 Jan  2 03:04:05" */
bool klog_year_stamp(struct scan *scan, struct klog_stamp *ret);

/* What dmesg -T puts into its brackets, in any of the languages known: "lun. févr.  9 09:31:15
 * 2026". All of the text must be that; a stamp whose month is in no language known here is one
 * without a time. */
bool klog_ctime_stamp(struct scan text, struct klog_stamp *ret);

/* "12345.678901": seconds and a fraction of at least 3 digits, as nanoseconds. */
bool klog_seconds(struct scan *scan, uint64_t *ret_ns);

#endif /* OOMSNOOP_SOURCE_KLOG_TIME_H */
