/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h: a made /proc and /sys below a temporary directory, and the fixtures of tests/data. */
#ifndef OOMSNOOP_TESTS_TREE_H
#define OOMSNOOP_TESTS_TREE_H

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline void tree_die(const char *what, const char *path)
{
	perror(what);
	fprintf(stderr, "%s\n", path);
	abort();
}

/* The root of a new tree; tree_remove() takes it away. */
static inline char *tree_new(void)
{
	const char *base = getenv("TMPDIR");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/oomsnoop-test-XXXXXX", base ? base : "/tmp");
	if (!mkdtemp(path))
		tree_die("mkdtemp", path);
	return strdup(path);
}

static inline int tree_remove_one(
	const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void tree_remove(char *root)
{
	nftw(root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(root);
}

/* Makes every directory of the path; the last name is one, too, when the path ends in '/'. */
static inline void tree_dirs(const char *path)
{
	char part[PATH_MAX];

	for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
		mkdir(part, 0755);
	}
}

static inline void tree_bytes(const char *root, const char *name, const void *data, size_t len)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", root, name);
	tree_dirs(path);
	file = fopen(path, "w");
	if (!file || fwrite(data, 1, len, file) != len || fclose(file) != 0)
		tree_die("write", path);
}

static inline void tree_file(const char *root, const char *name, const char *text)
{
	tree_bytes(root, name, text, strlen(text));
}

static inline void tree_dir(const char *root, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s/", root, name);
	tree_dirs(path);
}

static inline void tree_link(const char *root, const char *name, const char *target)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", root, name);
	tree_dirs(path);
	if (symlink(target, path) != 0)
		tree_die("symlink", path);
}

/* A file of tests/data, whole and terminated; the caller frees. Tests run at the top of the tree.
 */
static inline char *tree_fixture(const char *name)
{
	char path[PATH_MAX], *text = calloc(1, 1 << 16);
	FILE *file;

	snprintf(path, sizeof(path), "tests/data/%s", name);
	file = fopen(path, "r");
	if (!file || fread(text, 1, (1 << 16) - 1, file) == 0)
		tree_die("fixture", path);
	fclose(file);
	return text;
}

#endif /* OOMSNOOP_TESTS_TREE_H */
