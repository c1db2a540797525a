/* SPDX-License-Identifier: Apache-2.0 */
/* klog_line_parts.h: what the parsers of one line share. */
#ifndef OOMSNOOP_SOURCE_KLOG_LINE_PARTS_H
#define OOMSNOOP_SOURCE_KLOG_LINE_PARTS_H

#include "source/klog_line.h"

bool klog_starts(struct scan scan, const char *text);
bool klog_ends(struct scan scan, const char *text);

/* Where the text is; NULL: it is not. The last one: what stands before it may imitate it, what
 * stands behind it cannot. */
const char *klog_find(struct scan scan, const char *text);
const char *klog_find_last(struct scan scan, const char *text);

bool klog_take_pid(struct scan *scan, uint32_t *ret);
bool klog_take_adj(struct scan *scan, int32_t *ret);

/* A name that the kernel may print. One that is longer as it stands may have \xNN in it. */
bool klog_is_comm(struct scan comm);

/* At the mark between two paths, both of which may hold it: where one is below the other. */
bool klog_split_paths(struct scan text, const char *mark, struct scan *ret_first,
	struct scan *ret_second, bool second_above);

/* Who died: the lines of the kill and what announces it. False: it is none. */
bool klog_parse_kill(struct scan body, struct klog_line *ret);
bool klog_parse_choice(struct scan body, struct klog_line *ret);
bool klog_parse_exiting(struct scan body, struct klog_line *ret);
bool klog_parse_summary(struct scan body, struct klog_line *ret);

#endif /* OOMSNOOP_SOURCE_KLOG_LINE_PARTS_H */
