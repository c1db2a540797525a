/* SPDX-License-Identifier: Apache-2.0 */
/*
 * klog_stream.h: lines of a log in, the kernel's typed lines out.
 *
 * Between the two: prefixes are taken off, what a transport escaped is undone, records of several
 * lines are taken apart, lines that a mail or a terminal broke are put together again, and journal
 * entries are gathered from their fields. What another program said is dropped, whatever it quotes.
 * Constant memory.
 */
#ifndef OOMSNOOP_SOURCE_KLOG_STREAM_H
#define OOMSNOOP_SOURCE_KLOG_STREAM_H

#include <stddef.h>

#include "source/klog_entry.h"
#include "source/klog_input.h"
#include "source/klog_line.h"
#include "source/klog_prefix.h"

struct klog_record {
	const struct klog_stamp *stamp;
	enum klog_speaker speaker; /* never KLOG_PROGRAM */
	struct scan host, caller, boot_id;
	const struct klog_line *line; /* never KLOG_NONE */
};

/* All that it is given is good during the call only. */
typedef void (*klog_record_fn)(void *arg, const struct klog_record *record);

struct klog_stream;

/* `input`: where the lines come from, for the binary fields of a journal's export; NULL: there are
 * none. NULL with errno: no memory. */
struct klog_stream *klog_stream_new(struct klog_input *input, klog_record_fn fn, void *arg);
void klog_stream_free(struct klog_stream *stream);

void klog_stream_line(struct klog_stream *stream, const char *line, size_t len);
/* An entry of a journal, in place of a line. */
void klog_stream_entry(struct klog_stream *stream, const struct klog_entry *entry);
void klog_stream_end(struct klog_stream *stream); /* what is held back is told */

/* Nothing that matters is held back: lines without interest may be passed over, if
 * klog_stream_end() is called after some were. */
bool klog_stream_idle(const struct klog_stream *stream);

/* Lines without one of these have no beginning of a report. Ends with NULL. */
extern const char *const klog_needles[];

#endif /* OOMSNOOP_SOURCE_KLOG_STREAM_H */
