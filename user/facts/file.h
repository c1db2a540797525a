/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h: small files of /proc and /sys, read whole into memory that the caller owns.
 *
 * `root` is put before the path as it is ("" for the real machine). Lengths or -errno. The text is
 * always terminated and never longer than size - 1: exactly that many bytes mean that the file may
 * go on.
 */
#ifndef OOMSNOOP_FACTS_FILE_H
#define OOMSNOOP_FACTS_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

ssize_t file_read(const char *root, const char *path, char *ret, size_t size);
ssize_t file_read_at(int dir, const char *name, char *ret, size_t size);

/* As file_read(), but the first line without its newline. */
ssize_t file_read_line(const char *root, const char *path, char *ret, size_t size);

/* One decimal number and its newline. 0 or -errno; -EINVAL: something else is there. */
int file_read_i64(const char *root, const char *path, int64_t *ret);

/* For files of any size, at start only: allocates, the caller frees. -EFBIG above max bytes. */
int file_read_all(const char *root, const char *path, size_t max, char **ret, size_t *ret_len);

/* root and path in one. 0 or -ENAMETOOLONG. */
int file_path(const char *root, const char *path, char *ret, size_t size);

#endif /* OOMSNOOP_FACTS_FILE_H */
