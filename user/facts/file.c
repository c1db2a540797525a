// SPDX-License-Identifier: Apache-2.0
#include "facts/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "facts/scan.h"

int file_path(const char *root, const char *path, char *ret, size_t size)
{
	int len = snprintf(ret, size, "%s%s", root, path);

	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : 0;
}

/* Files of /proc may be given out in pieces, and a signal may come between them. */
static ssize_t read_pieces(int fd, char *ret, size_t size)
{
	size_t len = 0;

	while (len < size - 1) {
		ssize_t got = read(fd, ret + len, size - 1 - len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		len += (size_t)got;
	}
	ret[len] = '\0';
	return (ssize_t)len;
}

ssize_t file_read_at(int dir, const char *name, char *ret, size_t size)
{
	/* Not blocking: what is named like a file of ours may be a pipe in a hostile tree. */
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = read_pieces(fd, ret, size);
	close(fd);
	return len;
}

ssize_t file_read(const char *root, const char *path, char *ret, size_t size)
{
	char whole[PATH_MAX];
	int err = file_path(root, path, whole, sizeof(whole));

	return err ? err : file_read_at(AT_FDCWD, whole, ret, size);
}

ssize_t file_read_line(const char *root, const char *path, char *ret, size_t size)
{
	ssize_t len = file_read(root, path, ret, size);

	if (len < 0)
		return len;
	len = (ssize_t)strcspn(ret, "\n");
	ret[len] = '\0';
	return len;
}

int file_read_i64(const char *root, const char *path, int64_t *ret)
{
	char text[64];
	ssize_t len = file_read_line(root, path, text, sizeof(text));
	struct scan scan;
	int64_t value;

	if (len < 0)
		return (int)len;
	scan = scan_of(text, (size_t)len);
	if (!scan_i64(&scan, &value) || !scan_done(&scan))
		return -EINVAL;
	*ret = value;
	return 0;
}

static int grow_and_read(int fd, size_t max, char **ret, size_t *ret_len)
{
	size_t size = 16384, len = 0;
	char *text = NULL;

	for (;;) {
		char *bigger = realloc(text, size);
		ssize_t got;

		if (!bigger)
			break;
		text = bigger;
		got = read_pieces(fd, text + len, size - len);
		if (got < 0) {
			free(text);
			return (int)got;
		}
		len += (size_t)got;
		if (len < size - 1) {
			*ret = text;
			*ret_len = len;
			return 0;
		}
		if (len >= max) {
			free(text);
			return -EFBIG;
		}
		size *= 2;
	}
	free(text);
	return -ENOMEM;
}

int file_read_all(const char *root, const char *path, size_t max, char **ret, size_t *ret_len)
{
	char whole[PATH_MAX];
	int err = file_path(root, path, whole, sizeof(whole));
	int fd;

	if (err)
		return err;
	fd = open(whole, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = grow_and_read(fd, max, ret, ret_len);
	close(fd);
	return err;
}
