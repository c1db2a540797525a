/* SPDX-License-Identifier: Apache-2.0 */
/*
 * klog_unpack.h: bytes of a descriptor, unpacked if they are packed. What it is, is told by the
 * first bytes. Several members, streams or frames one after the other are one file.
 */
#ifndef OOMSNOOP_SOURCE_KLOG_UNPACK_H
#define OOMSNOOP_SOURCE_KLOG_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct klog_unpack;

struct klog_unpack *klog_unpack_new(int fd); /* NULL with errno */
void klog_unpack_free(struct klog_unpack *unpack);

/* Bytes put into ret, 0 at the end, -errno; -EBADMSG: damaged, or cut off. */
ssize_t klog_unpack_read(struct klog_unpack *unpack, char *ret, size_t size);

/* Waits for the next bytes, so long at most. True: nothing came. Of what is packed it does not
 * wait, since some may be here that is not unpacked yet. */
bool klog_unpack_stalls(const struct klog_unpack *unpack, int wait_ms);

const char *klog_unpack_name(const struct klog_unpack *unpack); /* NULL: plain */

#endif /* OOMSNOOP_SOURCE_KLOG_UNPACK_H */
