/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h: what time it is. Nothing below cmd/ asks. */
#ifndef OOMSNOOP_CMD_CLOCK_H
#define OOMSNOOP_CMD_CLOCK_H

#include <stdint.h>
#include <time.h>

uint64_t clock_now_ns(clockid_t clock);
/* CLOCK_BOOTTIME, which records are stamped with. */
uint64_t boot_now_ns(void);
/* What is to be added to it now for CLOCK_REALTIME. */
int64_t wall_minus_boot_now_ns(void);

#endif /* OOMSNOOP_CMD_CLOCK_H */
