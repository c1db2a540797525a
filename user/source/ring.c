// SPDX-License-Identifier: Apache-2.0
#include "source/ring.h"

#include <bpf/libbpf.h>
#include <errno.h>

#include "oomsnoop.skel.h"

void tracer_deliver(struct tracer *tracer, struct delivery *delivery, const void *data, size_t size)
{
	int error = decode_event(data, size, &delivery->fact);

	if (error == -ENOMSG)
		tracer->unknown++;
	else if (error)
		tracer->bad++;
	else if (delivery->fn)
		delivery->fn(&delivery->fact, delivery->arg);
}

static int ring_record(void *context, void *data, size_t size)
{
	struct tracer *tracer = context;

	tracer_deliver(tracer, &tracer->ring_delivery, data, size);
	return 0;
}

int ring_open(struct tracer *tracer)
{
	tracer->ring =
		ring_buffer__new(bpf_map__fd(tracer->skel->maps.events), ring_record, tracer, NULL);
	return tracer->ring ? 0 : -errno;
}

void ring_close(struct tracer *tracer)
{
	ring_buffer__free(tracer->ring);
	tracer->ring = NULL;
}

int tracer_fd(const struct tracer *tracer)
{
	return ring_buffer__epoll_fd(tracer->ring);
}

int tracer_drain(struct tracer *tracer, void (*fn)(const struct fact *fact, void *arg), void *arg)
{
	tracer->ring_delivery.fn = fn;
	tracer->ring_delivery.arg = arg;
	return ring_buffer__consume(tracer->ring);
}

void tracer_losses(const struct tracer *tracer, struct tracer_losses *ret)
{
	for (int i = 0; i < EV_DROP_COUNT; i++)
		ret->dropped[i] = __atomic_load_n(&tracer->skel->bss->drops[i], __ATOMIC_RELAXED);
	ret->bad = tracer->bad;
	ret->unknown = tracer->unknown;
}
