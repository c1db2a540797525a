/* SPDX-License-Identifier: Apache-2.0 */
/*
 * below.h: files of a tree that is not ours, such as a host's file system mounted in a container.
 *
 * Its symbolic links are meant for whoever has that tree as root: they are resolved in it, as
 * chroot(2) would, and lead nowhere else. Where the kernel does not offer that (openat2(2) is
 * refused by older containers' seccomp filters) no link is followed at all.
 */
#ifndef OOMSNOOP_FACTS_BELOW_H
#define OOMSNOOP_FACTS_BELOW_H

#include <stddef.h>
#include <sys/types.h>

/* The root itself, for the others; "" is "/". A descriptor or -errno. */
int below_root(const char *root);

/* A directory, or any file: `path` begins with '/'. A descriptor or -errno. */
int below_open(int root_fd, const char *path, int flags);

/* A regular file whole, terminated, into size bytes. Its length or -errno; -EFBIG: it does not fit;
 * -EINVAL: it is no regular file. */
ssize_t below_read(int root_fd, const char *path, char *ret, size_t size);

#endif /* OOMSNOOP_FACTS_BELOW_H */
