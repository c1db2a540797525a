// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "model/selfwatch.h"

#define MIB (1ULL << 20)
#define PAGES(mib) ((int64_t)((mib) * (MIB / 4096)))
#define SECOND 1000000000ULL
#define DOMAIN_ID 7
#define CHILD_ID 8
#define ABOVE_ID 6

/* What the kernel would show at one look. */
struct world {
	struct selfwatch *watch;
	uint64_t now_ns;
	uint64_t kills, oom, failcnt, usage, max, peak;
	uint64_t child_kills, child_oom;
	uint64_t above_oom;
	bool v2, child, above, above_is_root;
	struct incident incident;
};

static struct world world;

static void make(bool v2, bool complete)
{
	const struct selfwatch_options options = {
		.page_size = 4096, .v2 = v2, .complete = complete};

	memset(&world, 0, sizeof(world));
	world.watch = selfwatch_new(&options);
	assert_non_null(world.watch);
	world.now_ns = 100 * SECOND;
	world.v2 = v2;
	world.usage = 10 * MIB;
	world.peak = 12 * MIB;
	world.max = 64 * MIB;
}

static int tear_down(void **state)
{
	(void)state;
	selfwatch_free(world.watch);
	return 0;
}

static void begin(void)
{
	world.now_ns += SECOND;
	selfwatch_look(world.watch, world.now_ns);
}

static void see_at(uint32_t pid, unsigned int mib, uint64_t cgroup, bool zombie, bool killed)
{
	struct self_sight sight = {.has_memory = !zombie, .zombie = zombie, .killed = killed};
	struct self_process *process;

	sight.task = (struct task_facts) {.tgid = pid,
		.ppid = 1,
		.start_ns = pid * SECOND,
		.at_ns = world.now_ns,
		.cgroup_id = cgroup,
		.pgtables_bytes = 0};
	sight.task.rss_pages[EV_RSS_ANON] = PAGES(mib);
	snprintf(sight.task.comm, sizeof(sight.task.comm), "p%u", pid);
	process = selfwatch_process(world.watch, &sight);
	if (process && !process->named) {
		snprintf(process->cmdline, sizeof(process->cmdline), "/bin/p%u", pid);
		process->named = true;
	}
}

static void see(uint32_t pid, unsigned int mib)
{
	see_at(pid, mib, DOMAIN_ID, false, false);
}

static struct self_counts counts_of(uint64_t id, uint64_t parent, const char *path)
{
	struct self_counts counts = {.id = id, .parent_id = parent, .path = path};

	memset(&counts.limits, 0xff, sizeof(counts.limits)); /* UNKNOWN_U64 */
	counts.limits.max_bytes = CGROUP_NO_LIMIT;
	counts.limits.oom_group = world.v2 ? 0 : -1;
	return counts;
}

static void tell_domain(void)
{
	struct self_counts counts = counts_of(DOMAIN_ID, world.above ? ABOVE_ID : 0, "/");

	counts.inside = counts.domain = true;
	counts.limits.max_bytes = world.max;
	counts.limits.usage_bytes = world.usage;
	counts.limits.peak_bytes = world.peak;
	counts.limits.oom_kill = world.kills;
	counts.limits.oom = world.v2 ? world.oom : UNKNOWN_U64;
	counts.limits.max_events = world.failcnt;
	selfwatch_cgroup(world.watch, &counts);
}

/* The end of a look: how many kills it showed. */
static uint32_t end(void)
{
	struct self_counts child = counts_of(CHILD_ID, DOMAIN_ID, "/job");
	struct self_counts above = counts_of(ABOVE_ID, 0, "/pod");

	tell_domain();
	if (world.child) {
		child.inside = true;
		child.limits.oom_kill = world.child_kills;
		child.limits.oom = world.v2 ? world.child_oom : UNKNOWN_U64;
		child.limits.max_events = 0;
		selfwatch_cgroup(world.watch, &child);
	}
	if (world.above) {
		above.root = world.above_is_root;
		above.limits.oom = world.above_oom;
		above.limits.oom_kill = world.kills;
		selfwatch_cgroup(world.watch, &above);
	}
	return selfwatch_looked(world.watch, world.now_ns + 1000);
}

static const struct incident *taken(void)
{
	assert_true(selfwatch_take(world.watch, world.now_ns + 2000, false, &world.incident));
	assert_false(selfwatch_open(world.watch));
	return &world.incident;
}

/* --- who vanished --- */

static void the_one_that_vanished(void **state)
{
	const struct incident *incident;

	(void)state;
	make(true, false);
	begin(), see(1, 2), see(50, 60), end();
	begin(), see(1, 2);
	world.kills = world.oom = 1;
	world.usage = 3 * MIB;
	world.peak = 64 * MIB;
	assert_int_equal(end(), 1);
	incident = taken();
	assert_int_equal(incident->source, INCIDENT_SELF);
	assert_int_equal(incident->victim_count, 1);
	assert_int_equal(incident->victims[0].task.tgid, 50);
	assert_int_equal(incident->victims[0].why, VICTIM_VANISHED);
	assert_int_equal(incident->victims[0].task.rss_pages[EV_RSS_ANON], PAGES(60));
	assert_int_equal(incident->victims[0].task.at_ns, 101 * SECOND);
	assert_string_equal(incident->victim_cmdline, "/bin/p50");
	assert_string_equal(incident->victim_cgroup, "/");
	assert_int_equal(incident->time_ns, 102 * SECOND + 1000);
	assert_int_equal(incident->self.before_ns, 101 * SECOND + 1000);
	assert_int_equal(incident->self.kills, 1);
	assert_int_equal(incident->self.vanished, 1);
	assert_int_equal(incident->self.certainty, SELF_LIKELY);
	assert_int_equal(incident->candidate_total, 2);
	assert_int_equal(incident->candidates[0].task.tgid, 50);
	assert_int_equal(incident->self.limit_sign, SELF_LIMIT_COUNTED);
	assert_int_equal(incident->self.limit_level, 0);
	/* In use was more before: that came back. */
	assert_int_equal(incident->levels[0].usage_pages, PAGES(10));
	assert_int_equal(incident->levels[0].freed_usage_pages, PAGES(3));
	assert_int_equal(incident->levels[0].watermark_pages, PAGES(64));
	assert_int_equal(incident->events_before[EV_EVENT_OOM_KILL], 0);
}

static void one_that_ends_is_no_kill(void **state)
{
	(void)state;
	make(true, false);
	begin(), see(1, 2), see(50, 60), end();
	begin(), see(1, 2);
	assert_int_equal(end(), 0);
	assert_false(selfwatch_open(world.watch));
	assert_false(selfwatch_take(world.watch, world.now_ns, true, &world.incident));
}

/* It was missed at a look that showed no kill: it is none of those that came after that. */
static void who_ended_before_is_not_suspected(void **state)
{
	const struct incident *incident;

	(void)state;
	make(true, false);
	begin(), see(1, 2), see(40, 30), see(50, 20), end();
	begin(), see(1, 2), see(50, 20), end();
	begin(), see(1, 2);
	world.kills = world.oom = 1;
	end();
	incident = taken();
	assert_int_equal(incident->victim_count, 1);
	assert_int_equal(incident->victims[0].task.tgid, 50);
	assert_int_equal(incident->candidate_total, 2);
}

static void sigkill_seen_is_certain(void **state)
{
	const struct incident *incident;

	(void)state;
	make(true, false);
	begin(), see(1, 2), see(50, 60), end();
	begin(), see(1, 2), see_at(50, 5, DOMAIN_ID, false, true);
	world.kills = world.oom = 1;
	end();
	/* It is dying still. */
	assert_false(selfwatch_take(world.watch, world.now_ns + 2000, false, &world.incident));
	begin(), see(1, 2), see_at(50, 0, DOMAIN_ID, true, true), end();
	incident = taken();
	assert_int_equal(incident->self.certainty, SELF_CERTAIN);
	assert_true(incident->victims[0].signalled);
	/* The reading of before it began to give its memory back. */
	assert_int_equal(incident->victims[0].task.rss_pages[EV_RSS_ANON], PAGES(60));
	assert_int_equal(incident->self.vanished, 1);
	/* The zombie stays; it is told once. */
	begin(), see(1, 2), see_at(50, 0, DOMAIN_ID, true, true);
	assert_int_equal(end(), 0);
}

static void two_of_two(void **state)
{
	const struct incident *incident;

	(void)state;
	make(true, false);
	begin(), see(1, 2), see(50, 20), see(51, 30), see(52, 10), end();
	begin(), see(1, 2), see(52, 10);
	world.kills = 2;
	world.oom = 1;
	assert_int_equal(end(), 2);
	incident = taken();
	assert_int_equal(incident->victim_count, 2);
	assert_int_equal(incident->victims[0].task.tgid, 51);
	assert_int_equal(incident->victims[1].task.tgid, 50);
	assert_int_equal(incident->self.certainty, SELF_LIKELY);
	assert_int_equal(incident->self.unseen, 0);
}

/* It may have ended by itself: the kernel would have taken the larger one. */
static void a_small_one_while_a_larger_one_lives(void **state)
{
	const struct incident *incident;

	(void)state;
	make(true, false);
	begin(), see(1, 2), see(50, 1), see(52, 10), end();
	begin(), see(1, 2), see(52, 10);
	world.kills = world.oom = 1;
	end();
	incident = taken();
	assert_int_equal(incident->self.certainty, SELF_POSSIBLE);
	assert_int_equal(incident->self.vanished, 1);
	assert_int_equal(incident->victim_count, 1);
	assert_int_equal(incident->victims[0].task.tgid, 50);
	assert_int_equal(incident->victims[0].why, VICTIM_POSSIBLE);
}

static void three_vanished_and_one_was_killed(void **state)
{
	const struct incident *incident;

	(void)state;
	make(true, false);
	begin(), see(1, 2), see(50, 20), see(51, 22), see(52, 18), end();
	begin(), see(1, 2);
	world.kills = world.oom = 1;
	end();
	incident = taken();
	assert_int_equal(incident->self.certainty, SELF_POSSIBLE);
	assert_int_equal(incident->self.vanished, 3);
	assert_int_equal(incident->victim_count, 3);
	assert_int_equal(incident->victims[0].task.tgid, 51);
	for (int i = 0; i < 3; i++)
		assert_int_equal(incident->victims[i].why, VICTIM_POSSIBLE);
}

/* A shell that ends with its child is far too small to have been chosen. */
static void the_largest_by_far(void **state)
{
	const struct incident *incident;

	(void)state;
	make(true, false);
	begin(), see(1, 2), see(49, 1), see(50, 50), end();
	begin(), see(1, 2);
	world.kills = world.oom = 1;
	end();
	incident = taken();
	assert_int_equal(incident->self.certainty, SELF_LIKELY);
	assert_int_equal(incident->victim_count, 1);
	assert_int_equal(incident->victims[0].task.tgid, 50);
	assert_int_equal(incident->self.vanished, 2);
}

/* A larger one lives: then the largest that vanished need not have been chosen. */
static void not_the_largest_of_all(void **state)
{
	(void)state;
	make(true, false);
	begin(), see(1, 55), see(49, 1), see(50, 50), end();
	begin(), see(1, 55);
	world.kills = world.oom = 1;
	end();
	assert_int_equal(taken()->self.certainty, SELF_POSSIBLE);
}

static void sigkill_tells_it_from_one_that_ended(void **state)
{
	const struct incident *incident;

	(void)state;
	make(true, false);
	begin(), see(1, 2), see(50, 30), see(51, 31), end();
	begin(), see(1, 2), see_at(50, 0, DOMAIN_ID, true, true),
		see_at(51, 0, DOMAIN_ID, true, false);
	world.kills = world.oom = 1;
	end();
	incident = taken();
	assert_int_equal(incident->victim_count, 1);
	assert_int_equal(incident->victims[0].task.tgid, 50);
	assert_int_equal(incident->self.certainty, SELF_LIKELY);
}

static void nobody_was_seen(void **state)
{
	const struct incident *incident;

	(void)state;
	make(true, false);
	begin(), see(1, 2), end();
	begin(), see(1, 2);
	world.kills = world.oom = 3;
	assert_int_equal(end(), 3);
	/* It is waited for: who dies slowly is seen later. */
	assert_false(selfwatch_take(world.watch, world.now_ns + SECOND, false, &world.incident));
	world.now_ns += 2 * SECOND;
	incident = taken();
	assert_int_equal(incident->victim_count, 0);
	assert_int_equal(incident->self.kills, 3);
	assert_int_equal(incident->self.unseen, 3);
	assert_int_equal(incident->self.certainty, SELF_NOBODY_SEEN);
	assert_int_equal(incident->closed, CLOSED_TIMEOUT);
}

static void a_pid_that_comes_back_is_another(void **state)
{
	struct self_sight sight = {.has_memory = true};
	const struct incident *incident;

	(void)state;
	make(true, false);
	begin(), see(1, 2), see(50, 60), end();
	begin(), see(1, 2);
	sight.task = (struct task_facts) {.tgid = 50,
		.start_ns = 900 * SECOND,
		.at_ns = world.now_ns,
		.cgroup_id = DOMAIN_ID};
	selfwatch_process(world.watch, &sight);
	world.kills = world.oom = 1;
	end();
	incident = taken();
	assert_int_equal(incident->victims[0].task.start_ns, 50 * SECOND);
	assert_int_equal(incident->victims[0].task.rss_pages[EV_RSS_ANON], PAGES(60));
}

static void kills_of_before_are_not_told(void **state)
{
	(void)state;
	make(true, false);
	world.kills = 9;
	begin(), see(1, 2);
	assert_int_equal(end(), 0);
	assert_int_equal(selfwatch_totals(world.watch).domain_kills, 9);
	begin(), see(1, 2);
	assert_int_equal(end(), 0);
}

/* A second kill while the first victim is dying belongs to the same incident. */
static void a_second_kill_meanwhile(void **state)
{
	const struct incident *incident;

	(void)state;
	make(true, false);
	begin(), see(1, 2), see(50, 30), see(51, 20), end();
	begin(), see(1, 2), see_at(50, 3, DOMAIN_ID, false, true), see(51, 25);
	world.kills = world.oom = 1;
	end();
	begin(), see(1, 2);
	world.kills = world.oom = 2;
	assert_int_equal(end(), 1);
	incident = taken();
	assert_int_equal(incident->self.kills, 2);
	assert_int_equal(incident->victim_count, 2);
	assert_int_equal(incident->earlier_kills, 0);
	begin(), see(1, 60), end();
	begin();
	world.kills = world.oom = 3;
	end();
	assert_int_equal(taken()->earlier_kills, 1);
}

/* --- which limit --- */

static void no_limit_that_can_be_seen(void **state)
{
	const struct incident *incident;

	(void)state;
	make(true, false);
	begin(), see(1, 2), see(50, 30), end();
	begin(), see(1, 2);
	world.kills = 1;
	world.failcnt = 5;
	end();
	incident = taken();
	assert_int_equal(incident->self.limit_sign, SELF_LIMIT_NONE);
	assert_int_equal(incident->self.limit_level, -1);
	assert_int_equal(incident->level_count, 1);
}

static void the_limit_of_a_level_above(void **state)
{
	const struct incident *incident;

	(void)state;
	make(true, true);
	world.above = true;
	begin(), see(1, 2), see(50, 30), end();
	begin(), see(1, 2);
	world.kills = world.above_oom = 1;
	end();
	incident = taken();
	assert_int_equal(incident->self.limit_level, 1);
	assert_int_equal(incident->levels[1].id, ABOVE_ID);
	assert_string_equal(incident->level_paths[1], "/pod");
}

/* The count of invocations rose at a look before that of kills did. */
static void counted_a_moment_before(void **state)
{
	(void)state;
	make(true, false);
	begin(), see(1, 2), see(50, 30), end();
	begin(), see(1, 2), see(50, 60);
	world.oom = 1;
	assert_int_equal(end(), 0);
	begin(), see(1, 2);
	world.kills = 1;
	end();
	assert_int_equal(taken()->self.limit_sign, SELF_LIMIT_COUNTED);
}

static void a_cgroup_below(void **state)
{
	const struct incident *incident;

	(void)state;
	make(true, false);
	world.child = true;
	begin(), see(1, 2), see(49, 40), see_at(50, 20, CHILD_ID, false, false), end();
	begin(), see(1, 2);
	world.kills = world.oom = world.child_kills = world.child_oom = 1;
	end();
	incident = taken();
	/* The larger one vanished, too, but was not where the kernel counted the kill. */
	assert_int_equal(incident->victim_count, 1);
	assert_int_equal(incident->victims[0].task.tgid, 50);
	assert_string_equal(incident->victim_cgroup, "/job");
	assert_int_equal(incident->self.limit_level, 0);
	assert_int_equal(incident->levels[0].id, CHILD_ID);
	assert_int_equal(incident->levels[1].id, DOMAIN_ID);
	/* Only what is in the limit's cgroup could be chosen. */
	assert_int_equal(incident->candidate_total, 1);
}

static void v1_counts_each_its_own(void **state)
{
	const struct incident *incident;

	(void)state;
	make(false, false);
	begin(), see(1, 2), see(49, 5), end();
	world.child = true;
	begin(), see(1, 2), see(49, 5), see_at(50, 50, CHILD_ID, false, false);
	assert_int_equal(end(), 0);
	begin(), see(1, 2), see(49, 5);
	world.child_kills = 1;
	world.failcnt = 3;
	world.peak = 64 * MIB;
	assert_int_equal(end(), 1);
	incident = taken();
	assert_int_equal(incident->victims[0].task.tgid, 50);
	assert_int_equal(incident->self.limit_sign, SELF_LIMIT_FAILED);
	assert_int_equal(incident->self.limit_level, 1);
	assert_int_equal(incident->levels[1].failcnt, 3);
}

/* Charges that fail at a limit which is not full are reclaim's business. */
static void v1_failures_without_a_full_limit(void **state)
{
	(void)state;
	make(false, false);
	begin(), see(1, 2), see(50, 5), end();
	begin(), see(1, 2);
	world.kills = 1;
	world.failcnt = 3;
	end();
	assert_int_equal(taken()->self.limit_sign, SELF_LIMIT_NONE);
}

/* --- bounds --- */

static void a_full_table_is_counted(void **state)
{
	const struct selfwatch_options options = {.page_size = 4096, .v2 = true, .processes = 4};

	(void)state;
	make(true, false);
	selfwatch_free(world.watch);
	world.watch = selfwatch_new(&options);
	for (int look = 0; look < 3; look++) {
		begin();
		for (uint32_t pid = 1; pid <= 6; pid++)
			see(pid, 1);
		end();
	}
	assert_int_equal(selfwatch_totals(world.watch).processes, 4);
	assert_int_equal(selfwatch_totals(world.watch).no_room, 6);
	begin(), see(5, 1), see(6, 1), end();
	begin(), see(5, 1), see(6, 1), end();
	assert_int_equal(selfwatch_totals(world.watch).processes, 2);
}

static void more_than_can_be_kept_vanish(void **state)
{
	(void)state;
	make(true, false);
	begin();
	for (uint32_t pid = 1; pid <= 1000; pid++)
		see(pid, 1);
	end();
	begin();
	world.kills = 1000;
	world.oom = 1;
	assert_int_equal(end(), 1000);
	world.now_ns += 3 * SECOND;
	assert_int_equal(taken()->self.kills, 1000);
	assert_int_equal(world.incident.victim_count, SELF_GONE);
	assert_int_equal(world.incident.self.unseen, 1000 - SELF_GONE);
}

static void as_a_pass_of_the_recorder(void **state)
{
	const struct growth_options options = {.processes = 64, .cgroups = 8, .page_size = 4096};
	struct growth *growth = growth_new(&options);
	struct cgroups *cgroups = cgroups_new(8);
	static struct growth_picture picture;

	(void)state;
	make(true, false);
	for (int look = 0; look < 5; look++) {
		begin(), see(1, 2), see(50, 10 * (look + 1));
		world.usage = (12 + 10 * look) * MIB;
		end();
		selfwatch_feed(world.watch, growth);
	}
	begin(), see(1, 2);
	world.kills = world.oom = 1;
	end();
	growth_picture(growth, cgroups, selfwatch_growth_id(world.watch),
		selfwatch_before(world.watch), 60 * SECOND, &picture);
	assert_true(picture.domain_known);
	assert_int_equal(picture.domain_delta_bytes, 40 * MIB);
	assert_int_equal(picture.processes[0].tgid, 50);
	assert_int_equal(picture.processes[0].delta_bytes, 40 * MIB);
	growth_free(growth);
	cgroups_free(cgroups);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_one_that_vanished, tear_down),
		cmocka_unit_test_teardown(one_that_ends_is_no_kill, tear_down),
		cmocka_unit_test_teardown(who_ended_before_is_not_suspected, tear_down),
		cmocka_unit_test_teardown(sigkill_seen_is_certain, tear_down),
		cmocka_unit_test_teardown(two_of_two, tear_down),
		cmocka_unit_test_teardown(a_small_one_while_a_larger_one_lives, tear_down),
		cmocka_unit_test_teardown(three_vanished_and_one_was_killed, tear_down),
		cmocka_unit_test_teardown(the_largest_by_far, tear_down),
		cmocka_unit_test_teardown(not_the_largest_of_all, tear_down),
		cmocka_unit_test_teardown(sigkill_tells_it_from_one_that_ended, tear_down),
		cmocka_unit_test_teardown(nobody_was_seen, tear_down),
		cmocka_unit_test_teardown(a_pid_that_comes_back_is_another, tear_down),
		cmocka_unit_test_teardown(kills_of_before_are_not_told, tear_down),
		cmocka_unit_test_teardown(a_second_kill_meanwhile, tear_down),
		cmocka_unit_test_teardown(no_limit_that_can_be_seen, tear_down),
		cmocka_unit_test_teardown(the_limit_of_a_level_above, tear_down),
		cmocka_unit_test_teardown(counted_a_moment_before, tear_down),
		cmocka_unit_test_teardown(a_cgroup_below, tear_down),
		cmocka_unit_test_teardown(v1_counts_each_its_own, tear_down),
		cmocka_unit_test_teardown(v1_failures_without_a_full_limit, tear_down),
		cmocka_unit_test_teardown(a_full_table_is_counted, tear_down),
		cmocka_unit_test_teardown(more_than_can_be_kept_vanish, tear_down),
		cmocka_unit_test_teardown(as_a_pass_of_the_recorder, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
