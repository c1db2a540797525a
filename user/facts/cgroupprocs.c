// SPDX-License-Identifier: Apache-2.0
#include "facts/cgroupprocs.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "facts/scan.h"

#define PROCS_BYTES 65536

int read_cgroup_procs(const struct cgroup_mount *mount, const char *cgroup,
	int (*fn)(pid_t pid, void *arg), void *arg, struct cgroup_members *ret)
{
	static char text[PROCS_BYTES]; /* too large for a stack */
	ssize_t len = read_cgroup_file(mount, cgroup, "/cgroup.procs", text, sizeof(text));
	struct scan scan, line;
	uint64_t pid;
	int err = 0;

	if (len < 0)
		return (int)len;
	*ret = (struct cgroup_members) {.cut = len == (ssize_t)sizeof(text) - 1};
	/* A number that the buffer cut in two would be another process's. */
	if (ret->cut)
		*(strrchr(text, '\n') ?: text) = '\0';
	scan = scan_of(text, strlen(text));
	while (!err && scan_line(&scan, &line)) {
		if (!scan_u64(&line, &pid) || !scan_done(&line) || pid > INT_MAX)
			continue;
		if (pid)
			err = fn((pid_t)pid, arg);
		else
			ret->hidden++;
	}
	return err;
}
