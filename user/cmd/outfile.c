// SPDX-License-Identifier: Apache-2.0
#include "cmd/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/output.h"

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};

/* For the handler; "": nothing is to be removed. One file at a time is unfinished. */
static char unfinished[PATH_MAX + 16];

static void remove_unfinished(int number)
{
	if (unfinished[0])
		unlink(unfinished);
	signal(number, SIG_DFL);
	raise(number);
}

static void watch_signals(bool on)
{
	struct sigaction action = {.sa_handler = on ? remove_unfinished : SIG_DFL};
	struct sigaction before;

	for (size_t i = 0; i < sizeof(ending_signals) / sizeof(ending_signals[0]); i++) {
		/* Whoever started this with a signal ignored (nohup) wants it so. */
		if (!sigaction(ending_signals[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(ending_signals[i], &action, NULL);
	}
}

/* A mode as open() would give it to a new file, or that of the one whose place it takes. */
static mode_t mode_for(const struct stat *stat)
{
	mode_t mask;

	if (stat)
		return stat->st_mode & 0777;
	mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

/* A signal finds either no file, or one that its handler knows of. */
static int make_temporary(struct outfile *file)
{
	sigset_t ending, before;
	int err = 0;

	sigemptyset(&ending);
	for (size_t i = 0; i < sizeof(ending_signals) / sizeof(ending_signals[0]); i++)
		sigaddset(&ending, ending_signals[i]);
	sigprocmask(SIG_BLOCK, &ending, &before);
	file->fd = mkostemp(file->temp, O_CLOEXEC);
	if (file->fd < 0) {
		err = -errno;
		file->temp[0] = '\0';
	} else {
		file->temporary = true;
		strcpy(unfinished, file->temp);
		watch_signals(true);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

static int open_temporary(struct outfile *file, const char *path, const struct stat *stat)
{
	int err;

	if (!(stat && realpath(path, file->path))) {
		if (strlen(path) >= sizeof(file->path))
			return -ENAMETOOLONG;
		strcpy(file->path, path);
	}
	snprintf(file->temp, sizeof(file->temp), "%s.XXXXXX", file->path);
	err = make_temporary(file);
	if (err)
		return err;
	return fchmod(file->fd, mode_for(stat)) ? -errno : 0;
}

int outfile_open(struct outfile *file, const char *path)
{
	struct stat stat_buf;
	bool there;
	int err;

	file->fd = -1;
	file->temporary = false;
	file->temp[0] = '\0';
	file->error = 0;
	file->len = 0;
	if (!strcmp(path, "-"))
		return output_check();
	there = !stat(path, &stat_buf);
	if (there && S_ISDIR(stat_buf.st_mode))
		return -EISDIR;
	if (there && !S_ISREG(stat_buf.st_mode)) {
		file->fd = open(path, O_WRONLY | O_CLOEXEC);
		return file->fd < 0 ? -errno : 0;
	}
	err = open_temporary(file, path, there ? &stat_buf : NULL);
	if (err)
		outfile_discard(file);
	return err;
}

static int write_all(int fd, const char *data, size_t len)
{
	if (fd < 0)
		return output_write(data, len);
	while (len) {
		ssize_t written = write(fd, data, len);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		data += written;
		len -= (size_t)written;
	}
	return 0;
}

int outfile_flush(struct outfile *file)
{
	if (!file->error && file->len)
		file->error = write_all(file->fd, file->data, file->len);
	file->len = 0;
	return file->error;
}

int outfile_put(struct outfile *file, const char *data, size_t len)
{
	if (len > sizeof(file->data) - file->len)
		outfile_flush(file);
	if (file->error)
		return file->error;
	if (len > sizeof(file->data)) {
		file->error = write_all(file->fd, data, len);
		return file->error;
	}
	memcpy(file->data + file->len, data, len);
	file->len += len;
	return 0;
}

int outfile_commit(struct outfile *file)
{
	outfile_flush(file);
	if (!file->error && file->temporary && fsync(file->fd) && errno != EINVAL)
		file->error = -errno;
	if (file->fd >= 0 && close(file->fd) && !file->error)
		file->error = -errno;
	file->fd = -1;
	if (!file->error && file->temporary) {
		if (rename(file->temp, file->path))
			file->error = -errno;
		else
			file->temporary = false;
	}
	outfile_discard(file);
	return file->error;
}

void outfile_discard(struct outfile *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	if (file->temporary)
		unlink(file->temp);
	file->temporary = false;
	if (file->temp[0]) {
		unfinished[0] = '\0';
		watch_signals(false);
	}
	file->temp[0] = '\0';
}
