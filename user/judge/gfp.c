// SPDX-License-Identifier: Apache-2.0
#include "judge/gfp.h"

#include <stdio.h>
#include <string.h>

/* Names of sets come before their parts, as in the kernel's table: the first that fits takes its
 * bits. */
static const struct {
	uint32_t mask;
	const char *name;
} gfp_names[] = {
	{0x1c24ca, "GFP_TRANSHUGE"},
	{0x1c20ca, "GFP_TRANSHUGE_LIGHT"},
	{0x100cca, "GFP_HIGHUSER_MOVABLE"},
	{0x100cc2, "GFP_HIGHUSER"},
	{0x100cc0, "GFP_USER"},
	{0x400cc0, "GFP_KERNEL_ACCOUNT"},
	{0x000cc0, "GFP_KERNEL"},
	{0x000c40, "GFP_NOFS"},
	{0x000a20, "GFP_ATOMIC"}, /* until 6.3; never an OOM kill's mask since */
	{0x000c00, "GFP_NOIO"},
	{0x000001, "GFP_DMA"},
	{0x000002, "__GFP_HIGHMEM"},
	{0x000004, "GFP_DMA32"},
	{0x000020, "__GFP_HIGH"},
	{0x000200, "__GFP_ATOMIC"},
	{0x000040, "__GFP_IO"},
	{0x000080, "__GFP_FS"},
	{0x002000, "__GFP_NOWARN"},
	{0x004000, "__GFP_RETRY_MAYFAIL"},
	{0x008000, "__GFP_NOFAIL"},
	{0x010000, "__GFP_NORETRY"},
	{0x040000, "__GFP_COMP"},
	{0x000100, "__GFP_ZERO"},
	{0x080000, "__GFP_NOMEMALLOC"},
	{0x020000, "__GFP_MEMALLOC"},
	{0x100000, "__GFP_HARDWALL"},
	{0x200000, "__GFP_THISNODE"},
	{0x000010, "__GFP_RECLAIMABLE"},
	{0x000008, "__GFP_MOVABLE"},
	{0x400000, "__GFP_ACCOUNT"},
	{0x001000, "__GFP_WRITE"},
	{0x000400, "__GFP_DIRECT_RECLAIM"},
	{0x000800, "__GFP_KSWAPD_RECLAIM"},
};

void gfp_flags_text(uint32_t mask, char *ret, size_t size)
{
	size_t len = 0;

	if (!size)
		return;
	ret[0] = '\0';
	for (size_t i = 0; i < sizeof(gfp_names) / sizeof(gfp_names[0]) && len < size; i++) {
		if ((mask & gfp_names[i].mask) != gfp_names[i].mask)
			continue;
		mask &= ~gfp_names[i].mask;
		len += snprintf(ret + len, size - len, "%s%s", gfp_names[i].name, mask ? "|" : "");
	}
	if (mask && len < size)
		snprintf(ret + len, size - len, "0x%x", mask);
}
