/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kmsg.h: the kernel's own "Killed process" lines, used only to confirm what the hooks told.
 *
 * kmsg_open() positions at the end of /dev/kmsg; kmsg_next() gives the kills that were printed
 * since, oldest first. Source: mm/oom_kill.c __oom_kill_process();
 * Documentation/ABI/testing/dev-kmsg.
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

/* 1: ret was filled; 0: nothing more for now; -errno. Records overwritten before they were read:
 * *lost is raised. */
int kmsg_next(int fd, struct kmsg_kill *ret, uint64_t *lost);

#endif /* OOMSNOOP_SOURCE_KMSG_H */
