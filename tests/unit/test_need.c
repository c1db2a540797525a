// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "cmd/need.h"
#include "model/cgroup.h"
#include "model/growth.h"
#include "model/incidents.h"
#include "model/process.h"

#define MIB (1ULL << 20)

/* AddressSanitizer's allocator takes other amounts: what is measured there is its own. */
#ifndef __SANITIZE_ADDRESS__

/* Private memory that may be written to, as the kernel counts what was taken. */
static uint64_t taken_bytes(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	unsigned long long kib = 0;
	char line[256];

	assert_non_null(status);
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "VmData: %llu kB", &kib) == 1)
			break;
	fclose(status);
	return kib << 10;
}

/* What it is said to take is what is taken: within what the allocator rounds. */
static void assert_taken(uint64_t before, uint64_t said)
{
	uint64_t taken = taken_bytes() - before;

	assert_in_range(taken, said - 64 * 1024, said + said / 100 + 256 * 1024);
}

static void tables_take_what_is_said(void **state)
{
	uint64_t before = taken_bytes();
	struct processes *processes = processes_new(16384);
	struct cgroups *cgroups;

	(void)state;
	assert_taken(before, processes_bytes(16384));
	before = taken_bytes();
	cgroups = cgroups_new(8192);
	assert_taken(before, cgroups_bytes(8192));
	cgroups_free(cgroups);
	processes_free(processes);
}

static void the_recorder_takes_what_is_said(void **state)
{
	struct growth_options options = {.page_size = 4096};
	uint64_t before = taken_bytes();
	struct growth *growth = growth_new(&options);

	(void)state;
	assert_taken(before, growth_bytes(&options));
	growth_free(growth);
}

static void the_pool_takes_what_is_said(void **state)
{
	struct incidents_options options = {.pool = 32};
	struct processes *processes = processes_new(16);
	struct cgroups *cgroups = cgroups_new(16);
	uint64_t before = taken_bytes();
	struct incidents *incidents = incidents_new(&options, processes, cgroups);

	(void)state;
	assert_taken(before, incidents_bytes(32));
	incidents_free(incidents);
	cgroups_free(cgroups);
	processes_free(processes);
}

#endif

static void each_halving_needs_less(void **state)
{
	struct need_options options = {.recorder = true, .store = true};
	struct need need, before;

	(void)state;
	need_of(&options, 0, &before);
	for (unsigned int shrink = 1; shrink <= NEED_SHRINK_MAX; shrink++) {
		need_of(&options, shrink, &need);
		assert_true(need.full_bytes < before.full_bytes);
		assert_true(need.start_bytes <= need.full_bytes);
		assert_int_equal(need.sizes.processes, before.sizes.processes / 2);
		assert_true(need.sizes.incidents >= INCIDENT_POOL_MIN);
		before = need;
	}
}

static void the_largest_that_fits_is_taken(void **state)
{
	struct need_options options = {.recorder = true};
	struct need need, full;

	(void)state;
	need_of(&options, 0, &full);
	assert_true(need_fit(&options, full.full_bytes, &need));
	assert_int_equal(need.full_bytes, full.full_bytes);
	assert_true(need_fit(&options, full.full_bytes - 1, &need));
	assert_int_equal(need.sizes.processes, full.sizes.processes / 2);
	need_of(&options, NEED_SHRINK_MAX, &full);
	assert_false(need_fit(&options, full.full_bytes - 1, &need));
	assert_int_equal(need.full_bytes, full.full_bytes);
}

static void a_size_that_was_asked_for_stays(void **state)
{
	struct need_options options = {.ring_bytes = 64 << 20, .queue_bytes = 1 << 20};
	struct need need;

	(void)state;
	need_of(&options, NEED_SHRINK_MAX, &need);
	assert_int_equal(need.sizes.ring_bytes, 64 << 20);
	assert_int_equal(need.sizes.queue_bytes, 1 << 20);
	assert_true(need.start_bytes > 64 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifndef __SANITIZE_ADDRESS__
		cmocka_unit_test(tables_take_what_is_said),
		cmocka_unit_test(the_recorder_takes_what_is_said),
		cmocka_unit_test(the_pool_takes_what_is_said),
#endif
		cmocka_unit_test(each_halving_needs_less),
		cmocka_unit_test(the_largest_that_fits_is_taken),
		cmocka_unit_test(a_size_that_was_asked_for_stays),
	};

	/* Each table is mapped anew, not put where an earlier one was. */
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
