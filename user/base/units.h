/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units.h: sizes, counts and times for people. Bytes in IEC units (16.0 GiB), three significant
 * digits at least; counts with thousands separators (246,016). Local times take the time zone as
 * tzset() left it: call that once, early, since the zone's file is read by the first use.
 */
#ifndef OOMSNOOP_BASE_UNITS_H
#define OOMSNOOP_BASE_UNITS_H

#include <stdint.h>

#include "base/buf.h"

void units_bytes(
	struct buf *buf, uint64_t bytes); /* "0", "512 B", "1.50 KiB", "961 MiB", "16.0 GiB" */
void units_count(struct buf *buf, int64_t count); /* "246,016", "-1,200" */
void units_duration_ns(
	struct buf *buf, uint64_t ns); /* "182 ms", "4.20 s", "12 min", "3 h 5 min", "2 d 4 h" */
void units_rfc3339_utc(struct buf *buf, int64_t realtime_ns); /* 2026-01-02T03:04:05.123456789Z */
void units_local_time(struct buf *buf, int64_t realtime_ns); /* 03:14:22.184 */
void units_local_date(struct buf *buf, int64_t realtime_ns); /* 2026-01-02 03:14:22 +0100 */

#endif /* OOMSNOOP_BASE_UNITS_H */
