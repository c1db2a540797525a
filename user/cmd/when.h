/* SPDX-License-Identifier: Apache-2.0 */
/*
 * when.h: a moment as a person writes it. Pure but for the time zone (TZ), which it takes as
 * localtime_r() does.
 *
 *   2026-11-30T03:14:22Z, 2026-11-30 03:14:22.5 +0100   RFC 3339, also as reports print it
 *   2026-11-30, 2026-11-30 03:14, 03:14, 03:14:22       local; a time alone is today's
 *   now, today, yesterday                               local; a day is its beginning
 *   1 hour ago, 90 min ago, 2h, 1h 30m                  before now; a day is 24 hours
 *   @1700000000                                         seconds since 1970
 */
#ifndef OOMSNOOP_CMD_WHEN_H
#define OOMSNOOP_CMD_WHEN_H

#include <stdint.h>

/* A local time that comes twice, when clocks are set back, is the first for the beginning of a span
 * and the second for its end. One that never comes is as far after the change as it was to be. */
enum when_edge { WHEN_BEGINNING, WHEN_END };

/* CLOCK_REALTIME in ns. 0 or -EINVAL: none of these, or not between 1970 and 2261. */
int when_parse(const char *text, int64_t now_ns, enum when_edge edge, int64_t *ret_ns);

#endif /* OOMSNOOP_CMD_WHEN_H */
