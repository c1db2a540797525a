/* SPDX-License-Identifier: Apache-2.0 */
/*
 * klog_prefix.h: what stands before the kernel's words in a line of a log: quoting, levels, stamps,
 * host, program. Told by its form, layer by layer, whoever wrote it: dmesg (all its time formats,
 * any locale), printk's caller, /dev/kmsg, syslog of RFC 3164 and 5424, journalctl, container
 * runtimes, boot consoles, mails and tickets. Pure.
 */
#ifndef OOMSNOOP_SOURCE_KLOG_PREFIX_H
#define OOMSNOOP_SOURCE_KLOG_PREFIX_H

#include <stdbool.h>

#include "facts/scan.h"
#include "source/klog_time.h"

enum klog_speaker {
	KLOG_ANYBODY = 0, /* the prefix does not say */
	KLOG_KERNEL = 1,
	KLOG_PROGRAM = 2, /* somebody else, whatever is quoted in the text */
};

/* How what is not printable was written. */
enum klog_escape {
	KLOG_ESCAPE_DMESG = 0, /* maybe \xNN; the backslash itself is left as it is */
	KLOG_ESCAPE_KMSG = 1, /* \xNN, the backslash itself too */
	KLOG_ESCAPE_SYSLOG = 2, /* #NNN, octal, of control characters */
	KLOG_ESCAPE_DONE = 3, /* not at all, or it is undone already */
};

struct klog_prefix {
	struct klog_stamp stamp;
	enum klog_speaker speaker;
	enum klog_escape escape;
	bool tagged; /* the writer's name was there */
	bool stamped; /* something was there that marks the beginning of a record */
	unsigned int quoted; /* levels of "> " */
	size_t trimmed; /* blanks at the end of the line that are not in body */
	bool continued; /* /dev/kmsg: goes on with the record before it */
	struct scan host; /* empty: not told */
	struct scan caller; /* "T123", "C0"; empty: not told */
	struct scan body;
};

void klog_prefix_parse(const char *line, size_t len, struct klog_prefix *ret);

#endif /* OOMSNOOP_SOURCE_KLOG_PREFIX_H */
