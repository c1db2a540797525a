// SPDX-License-Identifier: Apache-2.0
/* arm.c: the hook on page faults, which is on only while it is wanted: it costs at every fault. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "source/ring.h"
#include "oomsnoop.skel.h"

static const struct hook_alternative *serving(const struct tracer *tracer)
{
	if (tracer->faults_serving < 0)
		return NULL;
	return &hook_table[HOOK_FAULTS].alternatives[tracer->faults_serving];
}

static int keep(struct tracer *tracer, struct bpf_link *link)
{
	if (!link)
		return -errno;
	tracer->arm_links[tracer->arm_count++] = link;
	return 0;
}

static int arm_tracepoints(struct tracer *tracer, const struct hook_alternative *alternative)
{
	for (size_t i = 0; i < HOOK_PROGRAMS && alternative->programs[i].name; i++) {
		int error =
			keep(tracer, bpf_program__attach(bpf_object__find_program_by_name(
					     tracer->skel->obj, alternative->programs[i].name)));

		if (error)
			return error;
	}
	return 0;
}

static int arm_cpu(struct tracer *tracer, const struct bpf_program *program, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = tracer->fault_period,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC), error;

	if (fd < 0)
		return errno == ENODEV ? 0 : -errno; /* a CPU that is not there now */
	error = keep(tracer, bpf_program__attach_perf_event(program, fd));
	if (error)
		close(fd);
	return error;
}

static int arm_perf(struct tracer *tracer, const struct hook_alternative *alternative)
{
	const struct bpf_program *program =
		bpf_object__find_program_by_name(tracer->skel->obj, alternative->programs[0].name);
	int error = 0;

	for (uint32_t cpu = 0; !error && cpu < tracer->arm_capacity; cpu++)
		error = arm_cpu(tracer, program, cpu);
	return error;
}

static void disarm(struct tracer *tracer)
{
	while (tracer->arm_count)
		bpf_link__destroy(tracer->arm_links[--tracer->arm_count]);
}

int tracer_arm(struct tracer *tracer, bool on)
{
	const struct hook_alternative *alternative = serving(tracer);
	int error;

	if (!alternative)
		return -ENOENT;
	if (on == (tracer->arm_count != 0))
		return 0;
	if (!on) {
		disarm(tracer);
		return 0;
	}
	tracer->skel->bss->counting = true;
	if (alternative->programs[0].kind == HOOK_PERF)
		error = arm_perf(tracer, alternative);
	else
		error = arm_tracepoints(tracer, alternative);
	if (error)
		disarm(tracer);
	return error;
}
