/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_series.h: lines of NDJSON that only a store can tell: points of series, gaps, and an
 * incident in one short line. Names: docs/record-schema.md. Each: 0 or -ENOSPC, buf is then as it
 * was before.
 */
#ifndef OOMSNOOP_SINK_JSON_SERIES_H
#define OOMSNOOP_SINK_JSON_SERIES_H

#include "base/buf.h"
#include "model/history.h"
#include "model/store.h"
#include "sink/text_list.h"

/* Room that no line of these exceeds. */
#define JSON_SERIES_MAX (64U << 10)

/* point->time_ns is CLOCK_REALTIME; `path` of the cgroup, or of the process's; "": not known. */
int json_series(struct buf *buf, const struct capture_run *run, const struct history_owner *owner,
	const char *path, const struct history_point *point);
int json_gap(struct buf *buf, const char *hostname, const struct store_gap *gap);
/* `"type": "incident"`. */
int json_listed(struct buf *buf, const struct list_entry *entry);

#endif /* OOMSNOOP_SINK_JSON_SERIES_H */
