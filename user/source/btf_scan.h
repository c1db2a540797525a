/* SPDX-License-Identifier: Apache-2.0 */
/*
 * btf_scan.h: does the running kernel have this function, or this tracepoint with these arguments?
 *
 * One pass over the kernel's type information. libbpf answers the same after building an index of
 * all types, which it will build again to load the programs: that costs as much as everything else
 * at start. This reads names and kinds only. Source: Documentation/bpf/btf.rst,
 * include/uapi/linux/btf.h.
 */
#ifndef OOMSNOOP_SOURCE_BTF_SCAN_H
#define OOMSNOOP_SOURCE_BTF_SCAN_H

#include <stddef.h>
#include <stdint.h>

enum btf_want_kind {
	BTF_WANT_FUNCTION,
	BTF_WANT_TRACEPOINT, /* name is the tracepoint's own; its type is btf_trace_NAME */
};

enum btf_argument {
	BTF_ARGUMENT_OTHER = 0,
	BTF_ARGUMENT_INT = 1,
	BTF_ARGUMENT_TASK = 2, /* struct task_struct * */
};

struct btf_want {
	enum btf_want_kind kind;
	const char *name;
	uint32_t id; /* found: its type id; 0: not there */
	enum btf_argument first; /* of a tracepoint that was found */
};

#define BTF_PATH "/sys/kernel/btf/vmlinux"

/* Fills id and first of each want from BTF bytes. -EBADMSG: damaged or of another byte order. */
int btf_scan(const void *data, size_t size, struct btf_want *wants, size_t count);

/* The same for a file. -ENOENT: the kernel has none. */
int btf_scan_file(const char *path, struct btf_want *wants, size_t count);

#endif /* OOMSNOOP_SOURCE_BTF_SCAN_H */
