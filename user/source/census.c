// SPDX-License-Identifier: Apache-2.0
/* census.c: one read of the task iterator. The kernel hands out whole records, a page or so at a
 * time. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "source/ring.h"
#include "oomsnoop.skel.h"

#define CENSUS_BATCH 128

int tracer_census(struct tracer *tracer, uint64_t domain, bool exact,
	void (*fn)(const struct fact *fact, void *arg), void *arg)
{
	static struct ev_task batch[CENSUS_BATCH];
	ssize_t got = 0;
	int fd, count = 0;

	if (!tracer->census_link)
		return -ENOENT;
	tracer->skel->bss->census_domain = domain;
	tracer->skel->bss->census_exact = exact;
	fd = bpf_iter_create(bpf_link__fd(tracer->census_link));
	if (fd < 0)
		return -errno;
	tracer->census_delivery.fn = fn;
	tracer->census_delivery.arg = arg;
	for (;;) {
		got = read(fd, batch, sizeof(batch));
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0)
			break;
		/* A record cut at the end of a read would shift all that follow: none is, but it is
		 * counted. */
		if (got % sizeof(batch[0]))
			tracer->bad++;
		for (size_t i = 0; i < got / sizeof(batch[0]); i++, count++)
			tracer_deliver(
				tracer, &tracer->census_delivery, &batch[i], sizeof(batch[i]));
	}
	got = got < 0 ? -errno : 0;
	close(fd);
	return got ? (int)got : count;
}
