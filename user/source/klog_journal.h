/* SPDX-License-Identifier: Apache-2.0 */
/*
 * klog_journal.h: what the kernel said, out of the systemd journal, entry by entry in the order of
 * the journal; of this machine or of any folder or files. Reads by libsystemd, loaded at run time.
 *
 * A file that cannot be read is told by `problem` and the others are read. What is lost of a file
 * that is damaged further in is told at the end (klog_journal_next) or counted
 * (klog_journal_lost).
 */
#ifndef OOMSNOOP_SOURCE_KLOG_JOURNAL_H
#define OOMSNOOP_SOURCE_KLOG_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/klog_entry.h"

#define KLOG_BOOT_ID_LEN 32

enum klog_boot { KLOG_BOOT_ALL, KLOG_BOOT_BY_ID, KLOG_BOOT_BY_OFFSET };

struct klog_journal_query {
	const char *directory; /* NULL: this machine's; not looked at where there are files */
	const char *const *files;
	size_t file_count;
	enum klog_boot boot;
	char boot_id[KLOG_BOOT_ID_LEN + 1]; /* lower case, without dashes */
	/* 0: this boot, or the last one of a folder or files; -1: the one before it; 1: the first
	 */
	int64_t boot_offset;
	int64_t since_ns,
		until_ns; /* CLOCK_REALTIME, both inclusive; INT64_MIN, INT64_MAX: no bound */
};

/* `error`: as -errno. -EBADMSG, -ENODATA, -EBADFD: no journal file, or a damaged one;
 * -EPROTONOSUPPORT: of a kind that the library does not know. */
typedef void (*klog_journal_problem_fn)(void *arg, const char *path, int error);

struct klog_journal;

/*
 * NULL with *ret_error: -ELIBACC: no libsystemd; -ENOENT: no journal is there; -ENOKEY: there is no
 * such boot in it; -EBADMSG: no file of it can be read, each of them was told; or another -errno.
 */
struct klog_journal *klog_journal_open(const struct klog_journal_query *query,
	klog_journal_problem_fn problem, void *arg, int *ret_error);
void klog_journal_close(struct klog_journal *journal);

/* 1: *ret is the next entry; 0: the end; -EBADMSG: the end, but a file had to be left on the way,
 * since it is damaged; or another -errno. */
int klog_journal_next(struct klog_journal *journal, struct klog_entry *ret);

uint64_t klog_journal_lost(const struct klog_journal *journal); /* entries that are damaged */

/* The id of a boot as it is written, maybe with dashes and capitals. False: it is none. */
bool klog_journal_boot_id(const char *text, char ret[KLOG_BOOT_ID_LEN + 1]);

#endif /* OOMSNOOP_SOURCE_KLOG_JOURNAL_H */
