// SPDX-License-Identifier: Apache-2.0
#include "facts/pressure.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts/file.h"

#define PERCENT_MAX 100
#define TEXT_BYTES 256

/* "some avg10=51.34 avg60=…" */
static int parse_line(const char *text, const char *name, uint32_t *ret)
{
	const char *at = strstr(text, name);
	unsigned long whole, part = 0;
	char *end;

	*ret = UINT32_MAX;
	if (!at)
		return 0;
	at += strlen(name);
	if (*at < '0' || *at > '9')
		return -EINVAL;
	whole = strtoul(at, &end, 10);
	if (*end == '.' && end[1] >= '0' && end[1] <= '9' && end[2] >= '0' && end[2] <= '9')
		part = (unsigned long)(end[1] - '0') * 10 + (unsigned long)(end[2] - '0');
	if (whole > PERCENT_MAX)
		return -EINVAL;
	*ret = (uint32_t)(whole * 100 + part);
	return 0;
}

int parse_pressure(const char *text, uint32_t *ret_some, uint32_t *ret_full)
{
	uint32_t some, full;

	if (parse_line(text, "some avg10=", &some) || parse_line(text, "full avg10=", &full) ||
		(some == UINT32_MAX && full == UINT32_MAX))
		return -EINVAL;
	*ret_some = some;
	*ret_full = full;
	return 0;
}

int read_pressure(const char *root, uint32_t *ret_some, uint32_t *ret_full)
{
	char text[TEXT_BYTES];
	ssize_t len = file_read(root, "/proc/pressure/memory", text, sizeof(text));

	return len < 0 ? (int)len : parse_pressure(text, ret_some, ret_full);
}

int read_cgroup_pressure(const struct cgroup_mount *mount, const char *cgroup, uint32_t *ret_some,
	uint32_t *ret_full)
{
	char directory[PATH_MAX], text[TEXT_BYTES];
	ssize_t len;
	int error;

	if (!mount->v2)
		return -ENOENT;
	error = cgroup_dir(mount, cgroup, directory, sizeof(directory));
	if (error)
		return error;
	len = file_read(directory, "/memory.pressure", text, sizeof(text));
	return len < 0 ? (int)len : parse_pressure(text, ret_some, ret_full);
}
