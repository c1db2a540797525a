/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.h: does this kernel take this hook? Asked of the kernel by the exact kind, never of its
 * version: a tracepoint by its type in BTF, fentry by loading an empty program for that very
 * function, kprobe by opening that very probe.
 */
#ifndef OOMSNOOP_SOURCE_PROBE_H
#define OOMSNOOP_SOURCE_PROBE_H

#include <stddef.h>

#include "source/hooks.h"

struct probe;

/* -ENOENT: the kernel has no BTF; or another -errno. */
int probe_open(struct probe **ret);
void probe_close(struct probe *probe);

/* 0, or -errno with the reason in plain words. */
int probe_program(struct probe *probe, const struct hook_program *program, char *why, size_t size);

/* Fills the table: for each purpose the first alternative that may serve and was not ruled out
 * before (why is empty). */
void probe_plan(struct probe *probe, struct hooks *hooks);

#endif /* OOMSNOOP_SOURCE_PROBE_H */
