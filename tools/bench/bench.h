/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h: what the programs of the measurements share. */
#ifndef TOOLS_BENCH_H
#define TOOLS_BENCH_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MIB (1UL << 20)
#define PAGE 4096UL

/* The clock of the records' mono_ns. */
static inline uint64_t boot_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

__attribute__((noreturn)) static inline void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

#endif /* TOOLS_BENCH_H */
