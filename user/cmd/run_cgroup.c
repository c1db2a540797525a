// SPDX-License-Identifier: Apache-2.0
/* A memory cgroup for one command: made below the caller's own, with limits, and removed again. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/run_parts.h"
#include "facts/scan.h"

#define RETRY_NS 5000000L
#define RETRIES 100 /* half a second: who was killed with the command is on its way out */

static int write_file(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	int fd, error = 0;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		error = -errno;
	close(fd);
	return error;
}

static int write_bytes(const char *dir, const char *name, uint64_t bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)bytes);
	return write_file(dir, name, text);
}

static int failed(const char *what, const char *which, int error)
{
	char shown[512];
	struct buf buf;

	buf_init(&buf, shown, sizeof(shown));
	text_terminal(&buf, which, strlen(which), 0);
	fprintf(stderr, "oomsnoop: run: %s %s: %s; the command was not started\n", what, shown,
		error == -EOPNOTSUPP ? "there is no such limit here" : strerror(-error));
	if (error == -EACCES || error == -EPERM || error == -EROFS)
		return EX_NOPERM;
	return error == -EOPNOTSUPP || error == -ENOENT || error == -EINVAL ? EX_UNAVAILABLE : 1;
}

/* A cgroup of version 2 that has processes in it may have no children with limits; one beside it is
 * under the same limits where it has none of its own. */
static int parent_v2(struct run *run, char *cgroup)
{
	struct cgroup_limits limits;
	char *slash = strrchr(cgroup, '/');

	if (!strcmp(cgroup, "/"))
		return 0;
	if (!slash || read_cgroup_limits(&run->mount, cgroup, &limits))
		return -ENOENT;
	if (limits.max_bytes < CGROUP_NO_LIMIT || limits.high_bytes < CGROUP_NO_LIMIT ||
		limits.swap_max_bytes < CGROUP_NO_LIMIT)
		return -EBUSY;
	*(slash == cgroup ? slash + 1 : slash) = '\0';
	return 0;
}

static int busy(void)
{
	fprintf(stderr,
		"oomsnoop: run: --memory-max: the own cgroup has a limit, and on cgroup v2 none can be "
		"made below it while it has processes; the command was not started. With systemd: "
		"systemd-run --scope -p Delegate=yes, or -p MemoryMax= of its own\n");
	return EX_UNAVAILABLE;
}

static int set_limits_v1(const struct run *run)
{
	const struct run_options *options = &run->options;
	const char *dir = run->made.dir;
	uint64_t both;
	int error = 0;

	if (options->memory_high != UNKNOWN_U64 || options->oom_group)
		return -ENOENT;
	if (options->memory_max != UNKNOWN_U64)
		error = write_bytes(dir, "memory.limit_in_bytes", options->memory_max);
	if (error || options->swap_max == UNKNOWN_U64 || options->memory_max == UNKNOWN_U64)
		return error;
	if (__builtin_add_overflow(options->memory_max, options->swap_max, &both))
		return -EINVAL;
	return write_bytes(dir, "memory.memsw.limit_in_bytes", both);
}

static int set_limits_v2(const struct run *run)
{
	const struct run_options *options = &run->options;
	const char *dir = run->made.dir;
	int error = 0;

	if (options->memory_max != UNKNOWN_U64)
		error = write_bytes(dir, "memory.max", options->memory_max);
	if (!error && options->memory_high != UNKNOWN_U64)
		error = write_bytes(dir, "memory.high", options->memory_high);
	if (!error && options->swap_max != UNKNOWN_U64)
		error = write_bytes(dir, "memory.swap.max", options->swap_max);
	if (!error && options->oom_group)
		error = write_file(dir, "memory.oom.group", "1\n");
	return error;
}

static int name_it(struct run *run, const char *parent)
{
	struct run_cgroup *cgroup = &run->facts.cgroup;
	int len = snprintf(cgroup->path, sizeof(cgroup->path), "%s/oomsnoop-run-%d",
		strcmp(parent, "/") ? parent : "", (int)getpid());

	if (len < 0 || (size_t)len >= sizeof(cgroup->path))
		return -ENAMETOOLONG;
	return cgroup_dir(&run->mount, cgroup->path, run->made.dir, sizeof(run->made.dir));
}

static int make(struct run *run, const char *parent)
{
	char above[sizeof(run->made.dir)];
	int error = name_it(run, parent);

	if (!error && run->mount.v2) {
		error = cgroup_dir(&run->mount, parent, above, sizeof(above));
		/* Already on, as a rule; where it cannot be, memory.max will not be there. */
		if (!error)
			write_file(above, "cgroup.subtree_control", "+memory\n");
	}
	if (!error && mkdir(run->made.dir, 0755))
		error = -errno;
	if (error)
		run->made.dir[0] = '\0';
	return error;
}

int run_cgroup_make(struct run *run)
{
	const struct run_options *options = &run->options;
	struct run_cgroup *cgroup = &run->facts.cgroup;
	char parent[CGROUP_PATH_LEN];
	int error = read_own_memory_mount("", &run->mount, parent, sizeof(parent));

	if (error)
		return failed("there is no memory cgroup to make one in for", "the command", error);
	if (run->mount.v2)
		error = parent_v2(run, parent);
	if (error == -EBUSY)
		return busy();
	if (!error)
		error = make(run, parent);
	if (error)
		return failed("cannot make a cgroup in", parent, error);
	error = run->mount.v2 ? set_limits_v2(run) : set_limits_v1(run);
	if (error) {
		rmdir(run->made.dir);
		/* No swap accounting, no memory controller, or one that cgroup v1 does not have. */
		return failed("cannot set the limits of", cgroup->path,
			error == -ENOENT ? -EOPNOTSUPP : error);
	}
	cgroup->own = true;
	cgroup->max_bytes = options->memory_max;
	cgroup->swap_max_bytes = options->swap_max;
	run->mounted = true;
	return 0;
}

/* Kills that the OOM killer has counted there. One file: a short command is not to wait for all
 * that a cgroup tells. */
static uint64_t kills_of(const struct run *run)
{
	const char *name = run->mount.v2 ? "/memory.events" : "/memory.oom_control";
	struct scan scan, line;
	char text[1024];
	ssize_t len = -1;
	uint64_t kills;

	if (run->mounted)
		len = read_cgroup_file(
			&run->mount, run->facts.cgroup.path, name, text, sizeof(text));
	scan = scan_of(text, len > 0 ? (size_t)len : 0);
	while (scan_line(&scan, &line))
		if (scan_text(&line, "oom_kill ") && scan_u64(&line, &kills))
			return kills;
	return UNKNOWN_U64;
}

void run_cgroup_before(struct run *run)
{
	struct run_cgroup *cgroup = &run->facts.cgroup;

	if (!cgroup->own) {
		cgroup->max_bytes = cgroup->swap_max_bytes = UNKNOWN_U64;
		run->mounted =
			!read_own_memory_mount("", &run->mount, cgroup->path, sizeof(cgroup->path));
		if (!run->mounted)
			cgroup->path[0] = '\0';
	}
	cgroup->peak_bytes = cgroup->oom_kills = UNKNOWN_U64;
	run->kills_before = kills_of(run);
}

static void remove_made(struct run *run)
{
	struct timespec pause = {0, RETRY_NS};
	int tries = RETRIES;

	while (rmdir(run->made.dir)) {
		if (errno != EBUSY || !tries--) {
			run->facts.cgroup.left = errno != ENOENT;
			return;
		}
		nanosleep(&pause, NULL);
	}
}

void run_cgroup_after(struct run *run)
{
	struct run_cgroup *cgroup = &run->facts.cgroup;
	struct cgroup_limits limits;
	uint64_t kills = kills_of(run);

	if (kills != UNKNOWN_U64 && run->kills_before != UNKNOWN_U64 && kills >= run->kills_before)
		cgroup->oom_kills = kills - run->kills_before;
	if (cgroup->own && !read_cgroup_limits(&run->mount, cgroup->path, &limits))
		cgroup->peak_bytes = limits.peak_bytes;
	if (run->made.dir[0])
		remove_made(run);
}

int run_cgroup_join(const struct run *run)
{
	return run->made.dir[0] ? write_file(run->made.dir, "cgroup.procs", "0\n") : 0;
}
