/* SPDX-License-Identifier: Apache-2.0 */
/*
 * klog_needles.h: the first of several short texts in much that holds none of them, in one pass: by
 * two bytes of each text at once, many places at a time. Pure.
 */
#ifndef OOMSNOOP_SOURCE_KLOG_NEEDLES_H
#define OOMSNOOP_SOURCE_KLOG_NEEDLES_H

#include <stddef.h>

#define KLOG_NEEDLES_MAX 16

struct klog_needle {
	const char *text;
	size_t len;
	size_t marks[2]; /* offsets of the two bytes */
};

struct klog_needles {
	unsigned int count; /* 0: none are set yet */
	size_t longest;
	struct klog_needle list[KLOG_NEEDLES_MAX];
};

/* `texts` ends with NULL and is kept; none is empty. */
void klog_needles_set(struct klog_needles *needles, const char *const *texts);

/* Where the first one begins; NULL: there is none. */
const char *klog_needles_find(const struct klog_needles *needles, const char *data, size_t len);

#endif /* OOMSNOOP_SOURCE_KLOG_NEEDLES_H */
