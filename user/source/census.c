// SPDX-License-Identifier: Apache-2.0
/* census.c: one read of a task iterator, for the candidates of a kill or for the recorder's pass.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "source/ring.h"
#include "oomsnoop.skel.h"

/* The kernel hands out at most 8 pages at a time. */
#define READ_BYTES (64U << 10)

/* Whole records from the front of what was read; returns how many bytes are left over. */
static size_t deliver_records(struct tracer *tracer, char *data, size_t size, int *count)
{
	size_t at = 0;

	while (size - at >= sizeof(struct ev_hdr)) {
		struct ev_hdr hdr;

		memcpy(&hdr, data + at, sizeof(hdr));
		if (hdr.len < sizeof(hdr) || hdr.len > READ_BYTES / 2) {
			/* Where the next one begins is not known any more. */
			tracer->bad++;
			return 0;
		}
		if (hdr.len > size - at)
			break;
		tracer_deliver(tracer, &tracer->census_delivery, data + at, hdr.len);
		at += hdr.len;
		++*count;
	}
	memmove(data, data + at, size - at);
	return size - at;
}

static int iterator_read(struct tracer *tracer, const struct bpf_link *link,
	void (*fn)(const struct fact *fact, void *arg), void *arg)
{
	static char buffer[READ_BYTES];
	size_t held = 0;
	ssize_t got;
	int fd, count = 0;

	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return -errno;
	tracer->census_delivery.fn = fn;
	tracer->census_delivery.arg = arg;
	for (;;) {
		got = read(fd, buffer + held, sizeof(buffer) - held);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0)
			break;
		held = deliver_records(tracer, buffer, held + got, &count);
	}
	got = got < 0 ? -errno : 0;
	close(fd);
	tracer->bad += held != 0;
	return got ? (int)got : count;
}

int tracer_census(struct tracer *tracer, uint64_t domain, bool exact,
	void (*fn)(const struct fact *fact, void *arg), void *arg)
{
	if (!tracer->census_link)
		return -ENOENT;
	tracer->skel->bss->census_domain = domain;
	tracer->skel->bss->census_exact = exact;
	return iterator_read(tracer, tracer->census_link, fn, arg);
}

int tracer_pass(struct tracer *tracer, uint64_t now_ns,
	void (*fn)(const struct fact *fact, void *arg), void *arg)
{
	if (!tracer->recorder_link)
		return -ENOENT;
	tracer->skel->bss->pass_number++;
	tracer->skel->bss->pass_ns = now_ns;
	return iterator_read(tracer, tracer->recorder_link, fn, arg);
}

void tracer_threshold(struct tracer *tracer, uint64_t pages)
{
	tracer->skel->data->sample_pages = pages ? pages : 1;
}
