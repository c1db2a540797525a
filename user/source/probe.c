// SPDX-License-Identifier: Apache-2.0
#include "source/probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "source/btf_scan.h"

#define PROBE_WANTS 64

struct probe {
	size_t count;
	struct btf_want wants[PROBE_WANTS];
};

static void want_add(struct probe *probe, const struct hook_program *program)
{
	struct btf_want *want = &probe->wants[probe->count];

	if (!program->name || probe->count == PROBE_WANTS)
		return;
	if (program->kind == HOOK_TP_BTF)
		want->kind = BTF_WANT_TRACEPOINT;
	else if (program->kind == HOOK_FENTRY || program->kind == HOOK_FEXIT)
		want->kind = BTF_WANT_FUNCTION;
	else
		return;
	want->name = program->target;
	probe->count++;
}

int probe_open(struct probe **ret)
{
	struct probe *probe = calloc(1, sizeof(*probe));
	int error;

	if (!probe)
		return -ENOMEM;
	for (int i = 0; i < HOOK_COUNT; i++)
		for (size_t j = 0; j < HOOK_ALTERNATIVES; j++)
			for (size_t k = 0; k < HOOK_PROGRAMS; k++)
				want_add(probe, &hook_table[i].alternatives[j].programs[k]);
	error = btf_scan_file(BTF_PATH, probe->wants, probe->count);
	if (error) {
		free(probe);
		return error;
	}
	*ret = probe;
	return 0;
}

void probe_close(struct probe *probe)
{
	free(probe);
}

static const struct btf_want *want_find(
	const struct probe *probe, const char *name, enum btf_want_kind kind)
{
	for (size_t i = 0; i < probe->count; i++)
		if (probe->wants[i].id && probe->wants[i].kind == kind &&
			!strcmp(probe->wants[i].name, name))
			return &probe->wants[i];
	return NULL;
}

static int probe_tracepoint(
	const struct probe *probe, const struct hook_program *program, char *why, size_t size)
{
	const struct btf_want *want = want_find(probe, program->target, BTF_WANT_TRACEPOINT);

	if (!want) {
		snprintf(why, size, "this kernel has no tracepoint %s", program->target);
		return -ENOENT;
	}
	if ((program->shape == HOOK_SHAPE_TASK && want->first != BTF_ARGUMENT_TASK) ||
		(program->shape == HOOK_SHAPE_INT && want->first != BTF_ARGUMENT_INT)) {
		snprintf(why, size, "here the tracepoint has other arguments");
		return -EPROTO;
	}
	return 0;
}

static int probe_trampoline(
	const struct probe *probe, const struct hook_program *program, char *why, size_t size)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts);
	const struct btf_want *want = want_find(probe, program->target, BTF_WANT_FUNCTION);
	int fd;

	if (!want) {
		snprintf(why, size, "%s is not in this kernel's BTF", program->target);
		return -ENOENT;
	}
	opts.expected_attach_type =
		program->kind == HOOK_FENTRY ? BPF_TRACE_FENTRY : BPF_TRACE_FEXIT;
	opts.attach_btf_id = want->id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, NULL, "GPL", insns, 2, &opts);
	if (fd < 0) {
		snprintf(why, size, "this kernel refuses BPF trampolines here (%s)", strerror(-fd));
		return fd;
	}
	close(fd);
	return 0;
}

static int read_number(const char *path, const char *format, int *ret)
{
	FILE *file = fopen(path, "re");
	int count;

	if (!file)
		return -errno;
	count = fscanf(file, format, ret);
	fclose(file);
	return count == 1 ? 0 : -EBADMSG;
}

static int probe_kprobe(const struct hook_program *program, char *why, size_t size)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	int type, bit = 0, fd;

	if (read_number("/sys/bus/event_source/devices/kprobe/type", "%d", &type)) {
		snprintf(why, size, "this kernel has no kprobes");
		return -ENOENT;
	}
	if (program->kind == HOOK_KRETPROBE)
		read_number(
			"/sys/bus/event_source/devices/kprobe/format/retprobe", "config:%d", &bit);
	attr.type = type;
	attr.config = program->kind == HOOK_KRETPROBE ? 1ULL << bit : 0;
	attr.config1 = (uintptr_t)program->target;
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		fd = -errno;
		snprintf(why, size, "no kprobe on %s (%s)", program->target, strerror(-fd));
		return fd;
	}
	close(fd);
	return 0;
}

static int probe_perf(char *why, size_t size)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1000,
		.disabled = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0) {
		fd = -errno;
		snprintf(why, size, "the perf event of page faults is refused (%s)", strerror(-fd));
		return fd;
	}
	close(fd);
	return 0;
}

int probe_program(struct probe *probe, const struct hook_program *program, char *why, size_t size)
{
	switch (program->kind) {
	case HOOK_TP_BTF:
		return probe_tracepoint(probe, program, why, size);
	case HOOK_FENTRY:
	case HOOK_FEXIT:
		return probe_trampoline(probe, program, why, size);
	case HOOK_KPROBE:
	case HOOK_KRETPROBE:
		return probe_kprobe(program, why, size);
	case HOOK_PERF:
		return probe_perf(why, size);
	case HOOK_ITER: /* known only by loading it; the loader goes on without */
	case HOOK_NONE:
		break;
	}
	return 0;
}

static int probe_alternative(
	struct probe *probe, const struct hook_alternative *alternative, char *why, size_t size)
{
	for (size_t i = 0; i < HOOK_PROGRAMS && alternative->programs[i].name; i++) {
		int error = probe_program(probe, &alternative->programs[i], why, size);

		if (error)
			return error;
	}
	return 0;
}

void probe_plan(struct probe *probe, struct hooks *hooks)
{
	for (int i = 0; i < HOOK_COUNT; i++) {
		const struct hook *hook = &hook_table[i];
		struct hook_state *state = &hooks->states[i];
		size_t count = hook_alternatives(hook);

		state->serving = -1;
		for (size_t j = 0; j < count && state->serving < 0; j++) {
			if (state->why[j][0])
				continue;
			if (!probe_alternative(probe, &hook->alternatives[j], state->why[j],
				    sizeof(state->why[j])))
				state->serving = j;
		}
	}
}
