/* SPDX-License-Identifier: Apache-2.0 */
/*
 * klog_entry.h: log lines that come as named fields: the journal as JSON, as export or verbose, and
 * the JSON of container runtimes and shippers. Pure but for the entry that the caller owns.
 *
 * An entry is begun, fields are added, and when it is whole (klog_entry_is_text) it stands for one
 * line: `text`, with a prefix of its own where `inner` is set.
 */
#ifndef OOMSNOOP_SOURCE_KLOG_ENTRY_H
#define OOMSNOOP_SOURCE_KLOG_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "facts/scan.h"
#include "source/klog_prefix.h"

#define KLOG_TEXT_MAX (32U << 10)

struct klog_entry {
	bool has_text;
	bool has_transport;
	bool inner; /* the text is a line with a prefix of its own */
	enum klog_speaker speaker;
	struct klog_stamp stamp;
	char host[65];
	char boot_id[37];
	size_t len;
	char text[KLOG_TEXT_MAX]; /* cut where it is longer */
};

void klog_entry_begin(struct klog_entry *entry);

/* A field; names that mean nothing here are passed over. The value is arbitrary bytes. */
void klog_entry_field(struct klog_entry *entry, struct scan name, struct scan value);

/* One line that is a JSON object, maybe behind "data: " or a record separator. False: it is none,
 * or holds no text. */
bool klog_entry_json(struct klog_entry *entry, struct scan line);

/* "	"MESSAGE" : "text"," of pretty-printed JSON: one field. False: it is not of that form. */
bool klog_entry_pretty(struct klog_entry *entry, struct scan line);

/* "_TRANSPORT=kernel", maybe indented. False: it is not of that form. */
bool klog_entry_assignment(struct klog_entry *entry, struct scan line);

#endif /* OOMSNOOP_SOURCE_KLOG_ENTRY_H */
