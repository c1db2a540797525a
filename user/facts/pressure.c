// SPDX-License-Identifier: Apache-2.0
#include "facts/pressure.h"

#include <errno.h>
#include <string.h>

#include "facts/file.h"
#include "facts/host.h"
#include "facts/scan.h"

#define TEXT_BYTES 512

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

int read_pressure(const char *root, struct pressure *ret)
{
	char text[TEXT_BYTES];
	ssize_t len = file_read(root, "/proc/pressure/memory", text, sizeof(text));

	return len < 0 ? (int)len : parse_pressure(text, ret);
}

int read_cgroup_pressure(const struct cgroup_mount *mount, const char *cgroup, struct pressure *ret)
{
	char text[TEXT_BYTES];
	ssize_t len;

	if (!mount->v2)
		return -ENOENT;
	len = read_cgroup_file(mount, cgroup, "/memory.pressure", text, sizeof(text));
	return len < 0 ? (int)len : parse_pressure(text, ret);
}

int parse_stalled(const char *text, uint64_t *ret_us)
{
	struct scan scan = scan_of(text, strlen(text)), line, field;

	while (scan_line(&scan, &line)) {
		if (!scan_text(&line, "full "))
			continue;
		while (scan_field(&line, ' ', &field)) {
			uint64_t us;

			if (!scan_text(&field, "total="))
				continue;
			if (!scan_u64(&field, &us) || scan_left(&field))
				return -EINVAL;
			*ret_us = us;
			return 0;
		}
	}
	return -EINVAL;
}

int read_cgroup_stalled(const struct cgroup_mount *mount, const char *cgroup, uint64_t *ret_us)
{
	char text[TEXT_BYTES];
	ssize_t len;

	if (!mount->v2)
		return -ENOENT;
	len = read_cgroup_file(mount, cgroup, "/memory.pressure", text, sizeof(text));
	return len < 0 ? (int)len : parse_stalled(text, ret_us);
}
