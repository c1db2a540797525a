// SPDX-License-Identifier: Apache-2.0
#include "facts/below.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "facts/scan.h"

int below_root(const char *root)
{
	int fd = open(root[0] ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* One component after the other, none of them a link and none that leads up. */
static int open_plainly(int root_fd, const char *path, int flags)
{
	struct scan rest = scan_of(path, strlen(path)), part;
	int fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	char name[NAME_MAX + 1];

	while (fd >= 0 && scan_field(&rest, '/', &part)) {
		bool last = scan_done(&rest);
		int next;

		if (scan_done(&part))
			continue;
		if (scan_equals(&part, "..") || scan_copy(&part, name, sizeof(name))) {
			close(fd);
			return -ELOOP;
		}
		next = openat(
			fd, name, (last ? flags : O_PATH | O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			next = -errno;
		close(fd);
		fd = next;
	}
	return fd;
}

int below_open(int root_fd, const char *path, int flags)
{
	/* Not blocking: what is named like a file of ours may be a pipe. */
	int quick = flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY;
	struct open_how how = {.flags = (uint64_t)(flags | quick | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	long fd;

	do
		fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return open_plainly(root_fd, path, (int)how.flags);
	return fd < 0 ? -errno : (int)fd;
}

static ssize_t read_whole(int fd, char *ret, size_t size)
{
	size_t len = 0;

	while (len < size) {
		ssize_t got = read(fd, ret + len, size - len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0) {
			ret[len] = '\0';
			return (ssize_t)len;
		}
		len += (size_t)got;
	}
	return -EFBIG;
}

ssize_t below_read(int root_fd, const char *path, char *ret, size_t size)
{
	int fd = below_open(root_fd, path, O_RDONLY);
	struct stat st;
	ssize_t len;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		len = -errno;
	else if (!S_ISREG(st.st_mode))
		len = -EINVAL;
	else if (st.st_size >= (off_t)size)
		len = -EFBIG;
	else
		len = read_whole(fd, ret, size);
	close(fd);
	return len;
}
