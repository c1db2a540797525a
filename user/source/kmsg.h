/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kmsg.h: what the kernel itself prints, record by record, and its "Killed process" lines.
 *
 * kmsg_open() positions at the end of /dev/kmsg; kmsg_next() gives what the kernel printed since,
 * oldest first. Source: mm/oom_kill.c __oom_kill_process(); Documentation/ABI/testing/dev-kmsg.
 */
#ifndef OOMSNOOP_SOURCE_KMSG_H
#define OOMSNOOP_SOURCE_KMSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmsg_kill {
	uint64_t time_us; /* the record's own stamp: local clock, microseconds */
	uint32_t pid;
	uint32_t uid;
	int32_t oom_score_adj;
	uint64_t total_vm_kb, anon_kb, file_kb, shmem_kb, pgtables_kb;
	char comm[17];
};

/* One record of /dev/kmsg ("6,1234,5678,-;text"). True if it is a "Killed process" line with all
 * its numbers. */
bool parse_kmsg_kill(const char *record, size_t len, struct kmsg_kill *ret);

/* Returns a descriptor or -errno (-EPERM, -ENOENT where it is not to be had). */
int kmsg_open(const char *path);

#define KMSG_RECORD_MAX 8192 /* PRINTK_MESSAGE_MAX has been no more on any kernel */

struct kmsg_record {
	uint64_t time_us; /* local clock */
	size_t len;
	char text[KMSG_RECORD_MAX]; /* as it was read, up to the end of its first line */
};

/* 1: ret was filled; 0: nothing more for now; -errno. What others wrote there is passed over.
 * Records overwritten before they were read: *lost is raised. */
int kmsg_next(int fd, struct kmsg_record *ret, uint64_t *lost);

#endif /* OOMSNOOP_SOURCE_KMSG_H */
