/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gfp.h: names for an allocation mask, as the kernel's own report prints them.
 *
 * Source: include/trace/events/mmflags.h (order and names), include/linux/gfp_types.h (values).
 * Bits 0 to 22 are the same from 5.10 to 7.3; higher ones moved and depend on the configuration:
 * they stay a number, as unnamed bits do in the kernel's print.
 * The order is that of kernels until 6.14; later ones print what is left beside the sets from the
 * lowest bit up (__GFP_ZERO before __GFP_COMP).
 */
#ifndef OOMSNOOP_JUDGE_GFP_H
#define OOMSNOOP_JUDGE_GFP_H

#include <stddef.h>
#include <stdint.h>

/* "GFP_HIGHUSER_MOVABLE|__GFP_COMP|__GFP_ZERO"; always terminated, cut where it does not fit. */
void gfp_flags_text(uint32_t mask, char *ret, size_t size);

#endif /* OOMSNOOP_JUDGE_GFP_H */
