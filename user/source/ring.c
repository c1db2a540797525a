// SPDX-License-Identifier: Apache-2.0
#include "source/ring.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>

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

static uint64_t program_missed(const struct bpf_program *program)
{
	char path[64], line[128];
	unsigned long long missed = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_program__fd(program));
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "recursion_misses: %llu", &missed) == 1)
			break;
	fclose(file);
	return missed;
}

uint64_t tracer_missed(const struct tracer *tracer)
{
	struct bpf_program *program;
	uint64_t missed = 0;

	bpf_object__for_each_program(program, tracer->skel->obj) if (bpf_program__autoload(program))
		missed += program_missed(program);
	return missed;
}

static uint32_t burst_count(const struct ev_burst *burst, uint32_t sender, uint64_t began_ns)
{
	uint32_t count = __atomic_load_n(&burst->count, __ATOMIC_RELAXED);

	/* Looked at last: another sender may have taken the place meanwhile. */
	if (__atomic_load_n(&burst->sender, __ATOMIC_ACQUIRE) != sender ||
		__atomic_load_n(&burst->began_ns, __ATOMIC_ACQUIRE) != began_ns)
		return 0;
	return count;
}

uint32_t tracer_burst(const struct tracer *tracer, uint32_t sender, uint64_t began_ns)
{
	return burst_count(&tracer->skel->bss->bursts[sender & (EV_BURSTS - 1)], sender, began_ns);
}

uint32_t tracer_refusals(
	const struct tracer *tracer, uint32_t tgid, uint32_t call, uint64_t began_ns)
{
	uint32_t key = EV_REFUSAL_KEY(tgid, call);

	return burst_count(&tracer->skel->bss->refusals[EV_REFUSAL_PLACE(key)], key, began_ns);
}

void tracer_losses(const struct tracer *tracer, struct tracer_losses *ret)
{
	for (int i = 0; i < EV_DROP_COUNT; i++)
		ret->dropped[i] = __atomic_load_n(&tracer->skel->bss->drops[i], __ATOMIC_RELAXED);
	ret->bad = tracer->bad;
	ret->unknown = tracer->unknown;
}
