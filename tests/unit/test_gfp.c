// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "judge/gfp.h"

static void assert_text(uint32_t mask, const char *want)
{
	char text[512];

	memset(text, 'x', sizeof(text));
	gfp_flags_text(mask, text, sizeof(text));
	assert_string_equal(text, want);
}

static void masks_of_real_reports_read_as_the_kernel_prints_them(void **state)
{
	(void)state;
	assert_text(0xcc0, "GFP_KERNEL");
	assert_text(0x100cca, "GFP_HIGHUSER_MOVABLE");
	assert_text(0x140dca, "GFP_HIGHUSER_MOVABLE|__GFP_COMP|__GFP_ZERO");
	assert_text(0x140cca, "GFP_HIGHUSER_MOVABLE|__GFP_COMP");
	assert_text(0x1100cca, "GFP_HIGHUSER_MOVABLE|0x1000000");
	assert_text(0x101c4a, "GFP_NOFS|__GFP_HIGHMEM|__GFP_HARDWALL|__GFP_MOVABLE|__GFP_WRITE");
	assert_text(0x400dc0, "GFP_KERNEL_ACCOUNT|__GFP_ZERO");
	assert_text(0xc40, "GFP_NOFS");
	assert_text(0xc00, "GFP_NOIO");
	assert_text(0x100cc0, "GFP_USER");
	assert_text(0xcc4, "GFP_KERNEL|GFP_DMA32");
	assert_text(0x1c24ca, "GFP_TRANSHUGE");
	assert_text(0x3c24ca, "GFP_TRANSHUGE|__GFP_THISNODE");
}

static void nothing_asked_for_is_an_empty_text(void **state)
{
	(void)state;
	assert_text(0, "");
}

static void what_has_no_name_stays_a_number(void **state)
{
	(void)state;
	assert_text(0x800000, "0x800000");
	assert_text(0xcc0 | 0x2800000, "GFP_KERNEL|0x2800000");
	assert_text(0x80000000, "0x80000000");
}

/* Every bit, alone and with all others, comes back out of the text in some form. */
static void no_bit_is_swallowed(void **state)
{
	char text[1024];

	(void)state;
	for (unsigned int bit = 0; bit < 32; bit++) {
		gfp_flags_text(1U << bit, text, sizeof(text));
		assert_true(strlen(text) > 0);
		assert_true(text[strlen(text) - 1] != '|');
	}
	gfp_flags_text(UINT32_MAX, text, sizeof(text));
	assert_non_null(strstr(text, "|0xff800000"));
}

static void a_text_without_room_is_cut_and_ends(void **state)
{
	char text[16];

	(void)state;
	for (size_t size = 0; size <= sizeof(text); size++) {
		memset(text, 'x', sizeof(text));
		gfp_flags_text(0x140dca, text, size);
		if (size)
			assert_int_equal(strlen(text), size - 1);
		for (size_t i = size; i < sizeof(text); i++)
			assert_int_equal(text[i], 'x');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(masks_of_real_reports_read_as_the_kernel_prints_them),
		cmocka_unit_test(nothing_asked_for_is_an_empty_text),
		cmocka_unit_test(what_has_no_name_stays_a_number),
		cmocka_unit_test(no_bit_is_swallowed),
		cmocka_unit_test(a_text_without_room_is_cut_and_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
