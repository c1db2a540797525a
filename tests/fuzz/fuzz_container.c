// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as the path of a cgroup. What is told of must be a part of the path, and it must be the
 * path's own cgroups that are told to be the container's and the pod's. The path is a copy of its
 * very size, so that a read past its end is seen.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "facts/container.h"

static void check_end(const char *path, size_t len, size_t end)
{
	if (end > len || (end && path[end] != '/' && path[end] != '\0'))
		abort();
}

static void check_text(const char *text, size_t size)
{
	if (!memchr(text, '\0', size) || strchr(text, '/'))
		abort();
}

static void check(const char *path)
{
	struct container_path got, again;
	size_t len = strlen(path);

	parse_container_path(path, &got);
	check_end(path, len, got.own_end);
	check_end(path, len, got.pod_end);
	check_end(path, len, got.node_end);
	check_text(got.id, sizeof(got.id));
	check_text(got.pod_uid, sizeof(got.pod_uid));
	check_text(got.node_id, sizeof(got.node_id));
	check_text(got.unit, sizeof(got.unit));
	if (!memchr(got.name, '\0', sizeof(got.name)) || !memchr(got.job, '\0', sizeof(got.job)) ||
		!memchr(got.step, '\0', sizeof(got.step)))
		abort();
	if (got.own_end && got.node_end >= got.own_end)
		abort();
	if (!cgroup_kind_name(got.kind))
		abort();
	parse_container_path(path, &again);
	if (memcmp(&got, &again, sizeof(got)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *path = malloc(size + 1);

	if (!path)
		abort();
	memcpy(path, data, size);
	path[size] = '\0';
	check(path);
	free(path);
	return 0;
}
