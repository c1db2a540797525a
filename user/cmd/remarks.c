// SPDX-License-Identifier: Apache-2.0
#include "cmd/remarks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct rights_extra *extra_of(unsigned int capability)
{
	for (size_t i = 0; i < RIGHTS_EXTRAS; i++)
		if (rights_extras[i].capability == capability)
			return &rights_extras[i];
	return NULL;
}

static bool held(const struct remarks_of *of, unsigned int capability)
{
	return !of->rights || of->rights->effective & RIGHT(capability);
}

/* What failed, why, which capability would help where it is not there, and what that costs. */
static void tell(
	const struct remarks_of *of, const char *failed, int error, unsigned int capability)
{
	const struct rights_extra *extra = extra_of(capability);

	fprintf(stderr, "oomsnoop: %s (%s", failed, strerror(-error));
	if (!held(of, capability))
		fprintf(stderr, "; %s is missing", capability_name(capability));
	fprintf(stderr, "): %s\n", extra->lost);
}

static void tell_protection(const struct remarks_of *of)
{
	const struct rights_protection *protection = of->protection;
	char text[64];

	if (protection->adj_error) {
		snprintf(text, sizeof(text), "oom_score_adj stays at %d", protection->adj);
		tell(of, text, protection->adj_error, CAP_SYS_RESOURCE);
	}
	if (protection->lock_error)
		tell(of, "cannot lock its memory", protection->lock_error, CAP_IPC_LOCK);
	if (protection->priority_error)
		tell(of, "cannot raise its priority", protection->priority_error, CAP_SYS_NICE);
}

void remarks_tell(const struct remarks_of *of)
{
	if (!of->host_pids)
		fprintf(stderr,
			"oomsnoop: this is not the host's pid namespace (hostPID: true): pids are the host's "
			"all the same, and the command line of a process is known only if it starts from now "
			"on\n");
	tell_protection(of);
	if (of->kmsg_error)
		tell(of, "/dev/kmsg cannot be read", of->kmsg_error, CAP_SYSLOG);
	if (of->host_pids && !held(of, CAP_SYS_PTRACE))
		fprintf(stderr, "oomsnoop: CAP_SYS_PTRACE is missing: %s\n",
			extra_of(CAP_SYS_PTRACE)->lost);
}
