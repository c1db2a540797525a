// SPDX-License-Identifier: Apache-2.0
#include "facts/tmpfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "facts/cgroupfs.h"
#include "facts/file.h"

#define MOUNTINFO_READ (256U << 10) /* of more mounts the first */
#define FILES_LOOKED_AT 4096
#define BLOCK 512U /* st_blocks, whatever the file system's are */

static void keep_largest(struct tmpfs_use *use, const char *name, uint64_t bytes)
{
	unsigned int at = use->largest_count;

	while (at && use->largest[at - 1].bytes < bytes)
		at--;
	if (at == TMPFS_LARGEST)
		return;
	if (use->largest_count < TMPFS_LARGEST)
		use->largest_count++;
	memmove(&use->largest[at + 1], &use->largest[at],
		(use->largest_count - at - 1) * sizeof(use->largest[0]));
	memset(&use->largest[at], 0, sizeof(use->largest[at]));
	use->largest[at].bytes = bytes;
	snprintf(use->largest[at].name, TMPFS_NAME_LEN, "%.*s", TMPFS_NAME_LEN - 1, name);
}

static void look_at(int dir, const char *name, struct tmpfs_use *use)
{
	struct stat stat;

	if (fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) || !S_ISREG(stat.st_mode))
		return;
	use->files++;
	use->named_bytes += (uint64_t)stat.st_blocks * BLOCK;
	keep_largest(use, name, (uint64_t)stat.st_blocks * BLOCK);
}

/* As readdir(3) does, which allocates. */
static void walk(int dir, struct tmpfs_use *use)
{
	static char entries[32768] __attribute__((aligned(8)));
	long len;

	while (use->files < FILES_LOOKED_AT &&
		(len = syscall(SYS_getdents64, dir, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < len;) {
			const struct dirent64 *entry = (const struct dirent64 *)(entries + at);

			look_at(dir, entry->d_name, use);
			at += entry->d_reclen;
		}
	}
}

static void read_files(const char *root, pid_t pid, uint32_t dev, struct tmpfs_use *use)
{
	char path[TMPFS_MOUNT_LEN + PATH_MAX];
	struct stat stat;
	int dir;

	snprintf(path, sizeof(path), "%s/proc/%d/root%s", root, pid, use->mount);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return;
	/* Something else may be mounted over it. */
	if (!fstat(dir, &stat) && major(stat.st_dev) == dev >> 20 &&
		minor(stat.st_dev) == (dev & 0xfffff)) {
		use->files = 0;
		walk(dir, use);
	}
	close(dir);
}

int read_tmpfs_use(const char *root, pid_t pid, uint32_t dev, struct tmpfs_use *ret)
{
	static char text[MOUNTINFO_READ];
	struct tmpfs_use use = {.files = UINT32_MAX};
	char path[64];
	ssize_t len;
	int error;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	len = file_read(root, path, text, sizeof(text));
	if (len <= 0)
		return len ? (int)len : -ESRCH;
	error = parse_mountinfo_device(
		text, dev >> 20, dev & 0xfffff, use.mount, sizeof(use.mount));
	if (error)
		return error;
	read_files(root, pid, dev, &use);
	*ret = use;
	return 0;
}
