// SPDX-License-Identifier: Apache-2.0
#include "source/klog_journal_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MACHINE_ID_FILE "/etc/machine-id"
#define ID_LEN 32

static void tell(struct journal_files *files, const char *path, int error)
{
	files->problems++;
	files->problem(files->arg, path, error);
}

/* All files are open at once, and a journal may have many. */
static void allow_many(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int add(struct journal_files *files, const char *path, bool named)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0) {
		/* One that was listed may have been removed, as journald does with old ones. */
		if (errno != ENOENT || named)
			tell(files, path, -errno);
		return 0;
	}
	if (files->count == files->room) {
		size_t room = files->room ? 2 * files->room : 16;
		struct journal_file *list = reallocarray(files->list, room, sizeof(*list));

		if (!list) {
			close(fd);
			return -ENOMEM;
		}
		files->list = list;
		files->room = room;
	}
	files->list[files->count] = (struct journal_file) {fd, strdup(path)};
	if (!files->list[files->count++].path)
		return -ENOMEM;
	return 0;
}

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len > end_len && !strcmp(name + len - end_len, end);
}

/* The kernel's words are in none of the users' own. "~": journald found it damaged and left it. */
static bool is_journal(const char *name)
{
	return (ends_with(name, ".journal") || ends_with(name, ".journal~")) &&
	       strncmp(name, "user-", 5) != 0;
}

static bool is_machine_id(const char *name)
{
	return strlen(name) == ID_LEN && strspn(name, "0123456789abcdef") == ID_LEN;
}

/* `depth`: how many levels of folders, by their machine's id, are looked into. */
static int add_directory(struct journal_files *files, const char *path, int depth, bool named)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	char below[PATH_MAX];
	int error = 0;

	if (!dir) {
		if (errno != ENOENT || named)
			tell(files, path, -errno);
		return 0;
	}
	while (!error && (entry = readdir(dir))) {
		if ((size_t)snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) >=
			sizeof(below))
			continue;
		if (is_journal(entry->d_name))
			error = add(files, below, false);
		else if (depth && is_machine_id(entry->d_name))
			error = add_directory(files, below, depth - 1, false);
	}
	closedir(dir);
	return error;
}

static bool this_machine(char id[ID_LEN + 1])
{
	int fd = open(MACHINE_ID_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, id, ID_LEN);

	if (fd >= 0)
		close(fd);
	id[got == ID_LEN ? ID_LEN : 0] = '\0';
	return is_machine_id(id);
}

static int add_this_machine(struct journal_files *files)
{
	static const char *const places[] = {"/var/log/journal", "/run/log/journal"};
	char id[ID_LEN + 1], path[PATH_MAX];
	int error = 0;

	if (!this_machine(id))
		return 0;
	for (size_t i = 0; !error && i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", places[i], id);
		error = add_directory(files, path, 0, false);
	}
	return error;
}

int journal_files_find(struct journal_files *files, const struct klog_journal_query *query)
{
	int error = 0;

	allow_many();
	if (!query->file_count)
		return query->directory ? add_directory(files, query->directory, 1, true)
					: add_this_machine(files);
	for (size_t i = 0; !error && i < query->file_count; i++)
		error = add(files, query->files[i], true);
	return error;
}

void journal_files_drop(struct journal_files *files, size_t index, int error)
{
	struct journal_file *file = &files->list[index];

	tell(files, file->path, error);
	close(file->fd);
	free(file->path);
	*file = files->list[--files->count];
}

void journal_files_free(struct journal_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		close(files->list[i].fd);
		free(files->list[i].path);
	}
	free(files->list);
	files->list = NULL;
	files->count = files->room = 0;
}
