/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h: facts of the machine that hold for every record.
 *
 * read_*() open files below a root that the caller gives ("" for the real one, a made tree in
 * tests); parse_*() are pure. All return 0 or -errno and leave the outputs untouched on failure,
 * except that a field the file does not tell is UNKNOWN_U64. Source:
 * Documentation/filesystems/proc.rst.
 */
#ifndef OOMSNOOP_FACTS_HOST_H
#define OOMSNOOP_FACTS_HOST_H

#include <stddef.h>
#include <stdint.h>

#define UNKNOWN_U64 UINT64_MAX

struct host_memory {
	uint64_t total_bytes;
	uint64_t free_bytes;
	uint64_t available_bytes;
	uint64_t swap_total_bytes;
	uint64_t swap_free_bytes;
	uint64_t hugetlb_bytes;
};

struct host_facts {
	char hostname[65];
	char boot_id[37];
	char kernel[65]; /* uname release */
	uint32_t page_size;
	uint32_t cpus; /* possible CPUs, as the kernel numbers them */
	uint32_t swappiness; /* vm.swappiness; UINT32_MAX: not readable */
	uint64_t memory_nodes; /* bit = number of a NUMA node that has memory, the first 64; 0: not
				  known */
	int memory_hierarchy; /* hierarchy id of the memory controller: 0 is cgroup v2, above 0 v1,
				 -1 none */
};

int parse_meminfo(const char *text, size_t len, struct host_memory *ret);
int read_meminfo(const char *root, struct host_memory *ret);

/* Reads hostname, boot id, kernel release, page size, possible CPUs, swappiness and the memory
 * controller's hierarchy. */
int read_host(const char *root, struct host_facts *ret);

/* "0-3,5" -> 6 (highest number + 1, since the kernel's per-CPU tables have that many places);
 * -EINVAL. */
int parse_cpu_list(const char *text, uint32_t *ret_count);

/* "0-1,3" -> 0xb; what is above 63 is left out; -EINVAL. */
int parse_node_list(const char *text, uint64_t *ret_mask);

/* Text of /proc/cgroups -> hierarchy id of "memory"; -ENOENT where there is no such controller.
 * Kernels that leave the v2-only controllers out of this file: the caller then looks at
 * cgroup.controllers. */
int parse_proc_cgroups(const char *text, int *ret_hierarchy);

#endif /* OOMSNOOP_FACTS_HOST_H */
