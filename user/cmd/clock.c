// SPDX-License-Identifier: Apache-2.0
#include "cmd/clock.h"

uint64_t clock_now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t boot_now_ns(void)
{
	return clock_now_ns(CLOCK_BOOTTIME);
}

int64_t wall_minus_boot_now_ns(void)
{
	return (int64_t)(clock_now_ns(CLOCK_REALTIME) - boot_now_ns());
}
