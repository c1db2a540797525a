/* SPDX-License-Identifier: Apache-2.0 */
/* keep_fixture.h: a store that is filled with series, batch by batch, and its bounds. */
#ifndef OOMSNOOP_TESTS_KEEP_FIXTURE_H
#define OOMSNOOP_TESTS_KEEP_FIXTURE_H

#include "series_fixture.h"

#define T0 (5000 * SEC)
#define APP 30

/* A batch of one point for each of `count` processes, from `first` on. */
static inline int try_batch(
	struct fixture *fixture, int64_t boot_ns, uint32_t first, uint32_t count)
{
	int ret = store_batch_begin(fixture->writer);

	for (uint32_t pid = first; pid < first + count && !ret; pid++) {
		struct history_owner owner = process_owner(pid, pid, APP, "worker");
		struct history_point point = {
			.time_ns = boot_ns, .values = {boot_ns / SEC, pid, 0, 0}};

		ret = store_owner(fixture->writer, &owner, "", "worker --with some words");
		if (!ret)
			ret = store_point(fixture->writer, &point);
	}
	return ret ? ret : store_batch_commit(fixture->writer, fixture->offset_ns);
}

static inline void batch(struct fixture *fixture, int64_t boot_ns, uint32_t first, uint32_t count)
{
	fixture_says(fixture, try_batch(fixture, boot_ns, first, count));
}

static inline int64_t points(struct fixture *fixture)
{
	return fixture_number(fixture, "SELECT count(*) FROM process_point");
}

static inline void assert_no_orphans(struct fixture *fixture)
{
	assert_int_equal(
		fixture_number(fixture,
			"SELECT count(*) FROM process_point WHERE process NOT IN (SELECT id"
			" FROM process)"),
		0);
	assert_int_equal(fixture_number(fixture,
				 "SELECT count(*) FROM cgroup_point WHERE cgroup NOT IN (SELECT id"
				 " FROM cgroup)"),
		0);
}

static inline void assert_within(const struct fixture *fixture)
{
	uint64_t bytes = fixture_bytes(fixture), most = fixture->limits.max_bytes;

	if (bytes > most)
		print_error("%llu bytes of at most %llu\n", (unsigned long long)bytes,
			(unsigned long long)most);
	assert_true(bytes <= most);
	assert_int_equal(store_writer_bytes(fixture->writer), bytes);
}

/* As much as the recorder allows it. */
static inline int bound_memory(void **state)
{
	(void)state;
	return db_memory(8 * MIB);
}

#endif /* OOMSNOOP_TESTS_KEEP_FIXTURE_H */
