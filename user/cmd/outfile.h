/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outfile.h: where a report goes: stdout, a pipe or device, or a file, which is written under
 * another name beside it and takes its place when it is whole, so that a failed one leaves what was
 * there. A signal that ends the process meanwhile removes the unfinished one.
 */
#ifndef OOMSNOOP_CMD_OUTFILE_H
#define OOMSNOOP_CMD_OUTFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define OUTFILE_BUFFER (64U << 10)

struct outfile {
	int fd; /* -1: stdout */
	bool temporary; /* what is written is at `temp` still */
	char path[PATH_MAX]; /* of what is replaced, links followed */
	char temp[PATH_MAX + 16];
	int error; /* -errno of the first write that failed */
	size_t len;
	char data[OUTFILE_BUFFER];
};

/* "-" for stdout. 0 or -errno. */
int outfile_open(struct outfile *file, const char *path);
/* 0 or the first -errno; after that nothing is written any more. */
int outfile_put(struct outfile *file, const char *data, size_t len);
int outfile_flush(struct outfile *file);
/* Writes what is left and puts it in its place. 0 or the first -errno: nothing was put there. */
int outfile_commit(struct outfile *file);
/* Lets go of it all; fine after a commit, too. */
void outfile_discard(struct outfile *file);

#endif /* OOMSNOOP_CMD_OUTFILE_H */
