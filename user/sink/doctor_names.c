// SPDX-License-Identifier: Apache-2.0
/* Which names of pods and containers can be known here, in sentences for both forms. */
#include <errno.h>
#include <string.h>

#include "sink/doctor.h"

static bool is_there(const struct doctor_names *names, const char *begins)
{
	for (size_t i = 0; i < names->place_count; i++)
		if (!strncmp(names->places[i].path, begins, strlen(begins)) &&
			!names->places[i].error)
			return true;
	return false;
}

static bool any_runtime(const struct doctor_names *names)
{
	for (size_t i = 0; i < names->place_count; i++)
		if (strncmp(names->places[i].path, "/var/log/", 9) != 0 && !names->places[i].error)
			return true;
	return false;
}

static void put_count(struct buf *buf, size_t count, const char *one, const char *many)
{
	if (count == 1)
		buf_puts(buf, one);
	else
		buf_printf(buf, "%zu %s", count, many);
}

void doctor_put_named(struct buf *buf, const struct doctor_names *names)
{
	if (!names->sum.count) {
		buf_puts(buf, "no container is here that a runtime of those known made");
		return;
	}
	put_count(buf, names->sum.count, "one container is here", "containers are here");
	if (names->sum.named == names->sum.count)
		buf_puts(buf, names->sum.count == 1 ? ", and its name is known"
						    : ", and the names of all are known");
	else
		buf_printf(buf, "; the names of %zu are known", names->sum.named);
}

#define MOUNT_IT "; in a container mount it read-only and say --host-root"

static const char *unnamed_logs(const struct doctor_names *names)
{
	if (is_there(names, "/var/log/containers"))
		return NULL;
	if (is_there(names, "/var/log/pods"))
		return "/var/log/containers is not there: /var/log/pods names pods and namespaces, "
		       "but which container it is, only its runtime's folder tells" MOUNT_IT;
	if (any_runtime(names))
		return "/var/log/containers is not there: names of pods come from the runtimes' "
		       "folders alone, which forget a container when it ends" MOUNT_IT;
	return "/var/log/containers is not there: names of pods, namespaces and their containers "
	       "cannot be known" MOUNT_IT;
}

static const char *unnamed_runtimes(const struct doctor_names *names)
{
	if (any_runtime(names))
		return NULL;
	return "no runtime's folder is there (/run/containerd, /run/containers, "
	       "/var/lib/containers, /var/lib/docker): names of containers outside Kubernetes "
	       "cannot be known" MOUNT_IT;
}

static const char *unnamed_rights(const struct doctor_names *names)
{
	for (size_t i = 0; i < names->place_count; i++)
		if (names->places[i].error == -EACCES || names->places[i].error == -EPERM)
			return "some of these folders may not be read: CAP_DAC_READ_SEARCH lets it";
	if (names->sum.troubles & NAMES_NOT_PERMITTED)
		return "files in these folders may not be read: CAP_DAC_READ_SEARCH lets it";
	return NULL;
}

bool doctor_put_unnamed(struct buf *buf, const struct doctor_names *names, unsigned int index)
{
	const char *const all[] = {
		unnamed_logs(names), unnamed_runtimes(names), unnamed_rights(names)};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!all[i] || index-- > 0)
			continue;
		buf_puts(buf, all[i]);
		return true;
	}
	return false;
}
