/* SPDX-License-Identifier: Apache-2.0 */
/*
 * klog_input.h: lines of a file of any size, plain or compressed (gzip, xz, zstd: told by its first
 * bytes, not by its name), in constant memory.
 *
 * A line is handed out where it was read and is good until the next call. A line longer than
 * KLOG_LINE_MAX is cut there and counted; the rest of it is passed over. NULs are bytes like
 * others. klog_input_skip() passes over lines that can be of no interest faster than they can be
 * looked at.
 */
#ifndef OOMSNOOP_SOURCE_KLOG_INPUT_H
#define OOMSNOOP_SOURCE_KLOG_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KLOG_LINE_MAX (64U << 10)
/* So much before a needle is handed out, too: the beginning of its report may have no needle. */
#define KLOG_LOOKBACK (32U << 10)

struct klog_input;

/* Takes a descriptor that the caller keeps. NULL with errno: no memory. */
struct klog_input *klog_input_new(int fd);
void klog_input_free(struct klog_input *input);

/*
 * 1: *ret_line and *ret_len are the next line, without its newline; 0: the end; -errno: reading
 * failed, or -EBADMSG: what is compressed is damaged or cut off. What came before was handed out.
 */
int klog_input_line(struct klog_input *input, const char **ret_line, size_t *ret_len);

/* Waits for the next line, so long at most. True: nothing more came, as from a pipe that is kept
 * open. Before the first line was handed out, and of what is packed, it does not wait. */
bool klog_input_stalls(const struct klog_input *input, int wait_ms);

/*
 * Passes over lines up to the next one that holds one of the needles, and KLOG_LOOKBACK bytes
 * before it, or to the end. True: some were passed over. `needles` ends with NULL, has 16 at most,
 * and is the same list at every call.
 */
bool klog_input_skip(struct klog_input *input, const char *const *needles);

/* Exactly so many bytes, newlines among them, of what comes next: the binary fields of a journal's
 * export. False: there are not so many, or more than KLOG_LINE_MAX; they are passed over then. */
bool klog_input_bytes(struct klog_input *input, uint64_t len, const char **ret_bytes);

uint64_t klog_input_cut(const struct klog_input *input); /* lines that were cut */
uint64_t klog_input_lines(const struct klog_input *input); /* all that were handed out */
/* "gzip", "xz", "zstd" or NULL */
const char *klog_input_compression(const struct klog_input *input);

#endif /* OOMSNOOP_SOURCE_KLOG_INPUT_H */
