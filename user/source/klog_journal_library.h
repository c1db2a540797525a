/* SPDX-License-Identifier: Apache-2.0 */
/*
 * klog_journal_library.h: the functions of libsystemd that read journals, found at run time: a
 * machine without systemd needs none, and neither build depends on it.
 */
#ifndef OOMSNOOP_SOURCE_KLOG_JOURNAL_LIBRARY_H
#define OOMSNOOP_SOURCE_KLOG_JOURNAL_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

/* sd-journal.h's own; its interface is stable since systemd 230. */
struct sd_journal;

struct journal_library {
	int (*open_files_fd)(struct sd_journal **ret, int fds[], unsigned int count, int flags);
	void (*close)(struct sd_journal *journal);
	int (*next)(struct sd_journal *journal);
	int (*seek_head)(struct sd_journal *journal);
	int (*seek_realtime_usec)(struct sd_journal *journal, uint64_t usec);
	int (*get_realtime_usec)(struct sd_journal *journal, uint64_t *ret);
	int (*get_data)(
		struct sd_journal *journal, const char *field, const void **data, size_t *len);
	int (*add_match)(struct sd_journal *journal, const void *data, size_t len);
	void (*flush_matches)(struct sd_journal *journal);
	int (*query_unique)(struct sd_journal *journal, const char *field);
	int (*enumerate_unique)(struct sd_journal *journal, const void **data, size_t *len);
	int (*get_usage)(struct sd_journal *journal, uint64_t *bytes);
};

/* The library stays loaded. 0; -ELIBACC: it is not here, or this program is a static one. */
int journal_library_load(struct journal_library *ret);

#endif /* OOMSNOOP_SOURCE_KLOG_JOURNAL_LIBRARY_H */
