// SPDX-License-Identifier: Apache-2.0
#include "facts/cgroupprocs.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "facts/host.h"
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

/* "avg10=12.34" in hundredths. */
static bool average(struct scan *line, uint64_t *ret)
{
	uint64_t whole, part;
	struct scan field;

	if (!scan_text(line, "avg10=") || !scan_field(line, ' ', &field))
		return false;
	if (!scan_u64(&field, &whole) || !scan_text(&field, ".") || scan_left(&field) != 2 ||
		!scan_u64(&field, &part) || whole > 100)
		return false;
	*ret = whole * 100 + part;
	return true;
}

int parse_pressure(const char *text, struct pressure *ret)
{
	struct scan scan = scan_of(text, strlen(text)), line;
	struct pressure pressure = {UNKNOWN_U64, UNKNOWN_U64};

	while (scan_line(&scan, &line)) {
		uint64_t *value = NULL;

		if (scan_text(&line, "some "))
			value = &pressure.some;
		else if (scan_text(&line, "full "))
			value = &pressure.full;
		if (value && !average(&line, value))
			return -EINVAL;
	}
	if (pressure.some == UNKNOWN_U64 && pressure.full == UNKNOWN_U64)
		return -EINVAL;
	*ret = pressure;
	return 0;
}

int read_cgroup_pressure(const struct cgroup_mount *mount, const char *cgroup, struct pressure *ret)
{
	char text[512];
	ssize_t len;

	if (!mount->v2)
		return -ENOENT;
	len = read_cgroup_file(mount, cgroup, "/memory.pressure", text, sizeof(text));
	return len < 0 ? (int)len : parse_pressure(text, ret);
}
