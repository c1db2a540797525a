// SPDX-License-Identifier: Apache-2.0
/* What a small file keeps of a long time, and what goes first. */
#include "keep_fixture.h"

#include <time.h>

#ifdef __SANITIZE_ADDRESS__ /* many times slower */
#define STEP_S 800
#else
#define STEP_S 400
#endif

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static unsigned long setting(const char *name, unsigned long usual)
{
	const char *text = getenv(name);

	return text && *text ? strtoul(text, NULL, 10) : usual;
}

/* --- 30 days in some seconds --- */

struct days {
	struct fixture fixture;
	unsigned long days, step_s, processes;
	const char *boot_id;
	int64_t boot_ns;
	uint32_t born; /* pids so far */
	uint64_t seed, commits;
	int64_t incidents;
	double slowest_s;
};

/* Processes come and go: one of them is replaced every few minutes. */
static void one_step(struct days *days)
{
	struct fixture *fixture = &days->fixture;
	struct history_owner host = host_owner(1 << 30), app = cgroup_owner(APP, 1, 1 << 28);
	double before = now_s();
	bool more = false, full;

	if (random_next(&days->seed) % 30 == 0)
		days->born++;
	batch_begin(fixture);
	tell_owner(fixture, &host, "", "");
	tell_point(
		fixture, days->boot_ns, (int64_t)(random_next(&days->seed) % (1 << 30)), -1, 0, 0);
	tell_owner(fixture, &app, "/pod/app", "");
	tell_point(
		fixture, days->boot_ns, (int64_t)(random_next(&days->seed) % (1 << 28)), 5, 0, 0);
	for (uint32_t pid = days->born; pid < days->born + days->processes; pid++) {
		struct history_owner owner = process_owner(pid, pid, APP, "worker");

		tell_owner(fixture, &owner, "", "python3 train.py --workers 16");
		tell_point(fixture, days->boot_ns, (int64_t)(random_next(&days->seed) % (1 << 26)),
			0, (int64_t)(random_next(&days->seed) % (1 << 20)), 0);
	}
	batch_commit(fixture);
	assert_within(fixture);
	fixture_says(fixture,
		store_keep(fixture->writer, days->boot_ns + fixture->offset_ns, &more, &full));
	assert_false(full);
	assert_within(fixture);
	days->commits++;
	before = now_s() - before;
	if (before > days->slowest_s)
		days->slowest_s = before;
}

static void one_day(struct days *days, unsigned long day)
{
	struct fixture *fixture = &days->fixture;
	unsigned long steps = 86400 / days->step_s;

	for (unsigned long step = 0; step < steps; step++) {
		days->boot_ns += (int64_t)days->step_s * SEC;
		one_step(days);
		if (step % (steps / 6) == 3) { /* six a day */
			fixture_incident(fixture, days->boot_ns, 3 + (unsigned int)(day % 10));
			days->incidents++;
			assert_within(fixture);
		}
	}
	if (day == days->days / 2)
		fixture->offset_ns -= DAY; /* somebody sets the clock */
	if (day % 10 == 3) { /* the recorder is killed, and started again */
		fixture_close(fixture);
		fixture_open(fixture);
		days->boot_ns += 30 * SEC;
		fixture_run(fixture, days->boot_id, days->boot_ns);
	}
	if (day == days->days * 3 / 4) { /* another boot */
		days->boot_id = BOOT_B;
		days->boot_ns = 20 * SEC;
		fixture->offset_ns = WALL0 + (int64_t)day * DAY;
		fixture_run(fixture, days->boot_id, days->boot_ns);
	}
}

static unsigned int history_points;

static void count_owner(const struct history_owner *owner, void *arg)
{
	assert_null(arg);
	assert_true(owner->kind);
}

static void count_point(const struct history_point *point, void *arg)
{
	assert_null(arg);
	assert_true(point->time_ns > 0);
	history_points++;
}

/* The newest incident is whole, and so are its series. */
static void read_newest(struct days *days)
{
	static struct captured captured;
	struct history_taker taker = {count_owner, count_point, NULL};
	int ret;
	struct store *store = store_open(days->fixture.path, &ret);
	double before = now_s();
	int64_t at_ns;

	assert_int_equal(ret, 0);
	assert_int_equal(store_load(store, days->incidents, &captured), 0);
	assert_string_equal(captured.damage, "");
	at_ns = (int64_t)captured.incident.time_ns;
	history_points = 0;
	assert_int_equal(store_history(store, &captured, 0, at_ns - 300 * SEC, at_ns, &taker), 0);
	print_message("%llu commits, slowest %.1f ms; newest incident and %u points read in %.1f "
		      "ms\n",
		(unsigned long long)days->commits, days->slowest_s * 1e3, history_points,
		(now_s() - before) * 1e3);
	store_close(store);
	assert_true(history_points >=
		    (300 / days->step_s > 1 ? 300 / days->step_s - 1 : 1) * days->processes);
}

/* STORE_DAYS, STORE_STEP_S, STORE_PROCESSES and STORE_MIB make it larger. */
static void a_month_in_a_small_file(void **state)
{
	static struct days days;
	int64_t first, last, names;

	(void)state;
	days = (struct days) {.seed = 88172645463325252ULL,
		.born = 1000,
		.boot_id = BOOT_A,
		.boot_ns = T0,
		.days = setting("STORE_DAYS", 30),
		.step_s = setting("STORE_STEP_S", STEP_S),
		.processes = setting("STORE_PROCESSES", 20)};
	fixture_start(&days.fixture, setting("STORE_MIB", 4) * MIB, T0);
	for (unsigned long day = 0; day < days.days; day++)
		one_day(&days, day);
	first = fixture_number(&days.fixture, "SELECT min(id) FROM incident");
	last = fixture_number(&days.fixture, "SELECT max(id) FROM incident");
	names = fixture_number(&days.fixture, "SELECT count(*) FROM process");
	print_message("%lld of %lld incidents, %lld points, %lld of %u names, %llu bytes\n",
		(long long)(last - first + 1), (long long)days.incidents,
		(long long)points(&days.fixture), (long long)names,
		days.born + (unsigned int)days.processes - 1000,
		(unsigned long long)fixture_bytes(&days.fixture));
	assert_int_equal(last, days.incidents);
	assert_true(last - first + 1 >= 30); /* the last days' at least */
	assert_int_equal(
		fixture_number(&days.fixture, "SELECT count(*) FROM incident"), last - first + 1);
	assert_int_equal(fixture_number(&days.fixture,
				 "SELECT count(*) FROM candidate WHERE incident NOT IN (SELECT id"
				 " FROM incident)"),
		0);
	assert_true(points(&days.fixture) > 3000);
	assert_no_orphans(&days.fixture);
	assert_int_equal(
		fixture_number(&days.fixture, "SELECT count(*) FROM gap WHERE why = 5"), 1);
	assert_true(fixture_is_sound(&days.fixture));
	read_newest(&days);
	fixture_close(&days.fixture); /* as it is found later */
	assert_true(fixture_bytes(&days.fixture) <= days.fixture.limits.max_bytes);
	fixture_remove(&days.fixture);
}

/* --- what goes first --- */

static void fill(struct fixture *fixture, int64_t *boot_ns, int steps, uint32_t processes)
{
	for (int i = 0; i < steps; i++) {
		*boot_ns += 10 * SEC;
		batch(fixture, *boot_ns, 1, processes);
		fixture_keep(fixture, *boot_ns + fixture->offset_ns);
		assert_within(fixture);
	}
}

/* The minutes around it stay, though all that came after has begun to go. */
static void series_of_the_newest_incident_stay(void **state)
{
	struct fixture fixture;
	int64_t boot_ns = T0, at_ns;
	char sql[256];

	(void)state;
	fixture_start(&fixture, 4 * MIB, T0);
	fill(&fixture, &boot_ns, 100, 10);
	at_ns = boot_ns;
	fixture_incident(&fixture, at_ns, 3);
	fill(&fixture, &boot_ns, 1200, 100);
	snprintf(sql, sizeof(sql),
		"SELECT count(*) FROM process_point WHERE t_ms BETWEEN %lld AND %lld",
		(long long)((at_ns - 600 * SEC) / MS), (long long)(at_ns / MS));
	assert_int_equal(fixture_number(&fixture, sql), 61 * 10);
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM process_point WHERE t_ms < %lld",
		(long long)((at_ns - 600 * SEC) / MS));
	assert_int_equal(fixture_number(&fixture, sql), 0);
	snprintf(sql, sizeof(sql), "SELECT min(t_ms) - %lld FROM process_point WHERE t_ms > %lld",
		(long long)((at_ns + 60 * SEC) / MS), (long long)((at_ns + 60 * SEC) / MS));
	assert_true(fixture_number(&fixture, sql) > 1000 * 1000);
	assert_int_equal(fixture_number(&fixture, "SELECT count(*) FROM incident"), 1);
	assert_no_orphans(&fixture);
	/* The next one takes its place. */
	fixture_incident(&fixture, boot_ns, 3);
	fill(&fixture, &boot_ns, 500, 100);
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM process_point WHERE t_ms <= %lld",
		(long long)(at_ns / MS));
	assert_int_equal(fixture_number(&fixture, sql), 0);
	assert_int_equal(fixture_number(&fixture, "SELECT count(*) FROM incident"), 2);
	fixture_remove(&fixture);
}

/* Where incidents alone fill the store, the oldest go; the newest one and its series never. */
static void incidents_give_way_to_incidents(void **state)
{
	struct fixture fixture;
	int64_t boot_ns = T0, kept, left;

	(void)state;
	fixture_start(&fixture, 4 * MIB, T0);
	for (int i = 0; i < 300; i++) {
		boot_ns += 20 * SEC;
		batch(&fixture, boot_ns, 1, 5);
		assert_int_equal(fixture_incident(&fixture, boot_ns, INCIDENT_CANDIDATES), i + 1);
		assert_within(&fixture);
		fixture_keep(&fixture, boot_ns + fixture.offset_ns);
		assert_within(&fixture);
	}
	kept = fixture_number(&fixture, "SELECT count(*) FROM incident");
	assert_true(kept >= 30 && kept < 300);
	assert_int_equal(fixture_number(&fixture, "SELECT max(id) FROM incident"), 300);
	assert_int_equal(fixture_number(&fixture, "SELECT min(id) FROM incident"), 301 - kept);
	/* Those of the newest's ten minutes; and since room was last made, of one or two more. */
	left = points(&fixture);
	assert_true(left >= 31 * 5 && left <= 33 * 5);
	assert_int_equal(
		fixture_number(&fixture, "SELECT incidents FROM gap WHERE why = 5"), 300 - kept);
	assert_int_equal(
		fixture_number(&fixture, "SELECT points FROM gap WHERE why = 5"), 300 * 5 - left);
	assert_int_equal(fixture_number(&fixture,
				 "SELECT count(*) FROM victim WHERE incident NOT IN (SELECT id FROM"
				 " incident)"),
		0);
	fixture_remove(&fixture);
}

static void age_is_a_limit_too(void **state)
{
	struct fixture fixture;
	int64_t boot_ns = T0, wall_ns;

	(void)state;
	fixture_make(&fixture, 8 * MIB);
	fixture.limits.keep_ns = 3600 * SEC;
	fixture_open(&fixture);
	fixture_run(&fixture, BOOT_A, T0);
	batch(&fixture, boot_ns, 1, 100);
	fixture_incident(&fixture, boot_ns, 1);
	fixture_incident(&fixture, boot_ns + 1800 * SEC, 1);
	batch(&fixture, boot_ns + 1800 * SEC, 1, 10);
	fixture_keep(&fixture, WALL0 + boot_ns + 3600 * SEC);
	assert_int_equal(points(&fixture), 110); /* not older than that */
	fixture_keep(&fixture, WALL0 + boot_ns + 3600 * SEC + MS);
	assert_int_equal(points(&fixture), 10);
	assert_int_equal(fixture_number(&fixture, "SELECT count(*) FROM incident"), 1);
	/* By the clock of the boot, which is the wall's again after a reboot. */
	wall_ns = WALL0 + boot_ns + 1800 * SEC;
	fixture.offset_ns = wall_ns + 60 * SEC;
	fixture_run(&fixture, BOOT_B, 10 * SEC);
	batch(&fixture, 20 * SEC, 1, 7);
	fixture_keep(&fixture, wall_ns + 3600 * SEC);
	assert_int_equal(points(&fixture), 17);
	/* The clock jumps ahead by a year, and the boot's with it: this boot's are as old as
	 * before, those of the boot before are past it. */
	fixture.offset_ns += 365 * DAY;
	batch(&fixture, 21 * SEC, 1, 1);
	fixture_keep(&fixture, fixture.offset_ns + 22 * SEC);
	assert_int_equal(points(&fixture), 8);
	/* The last incident stays, however old. */
	fixture_keep(&fixture, fixture.offset_ns + 365 * DAY);
	assert_int_equal(points(&fixture), 0);
	assert_int_equal(fixture_number(&fixture, "SELECT count(*) FROM incident"), 1);
	assert_int_equal(fixture_number(&fixture, "SELECT points FROM gap WHERE why = 5"), 118);
	assert_int_equal(fixture_number(&fixture, "SELECT incidents FROM gap WHERE why = 5"), 1);
	assert_int_equal(fixture_number(&fixture, "SELECT count(*) FROM gap WHERE why = 5"), 1);
	fixture_remove(&fixture);
}

/* Thousands that lived for a moment each, beside one that goes on and moves again much later. */
static void names_go_with_their_points(void **state)
{
	struct fixture fixture;
	int64_t boot_ns = T0, most = 0;

	(void)state;
	fixture_make(&fixture, 8 * MIB);
	fixture.limits.keep_ns = 4 * 3600 * SEC;
	fixture_open(&fixture);
	fixture_run(&fixture, BOOT_A, T0);
	batch(&fixture, boot_ns, 1, 1);
	for (uint32_t step = 0; step < 200; step++) { /* 100000 s */
		struct history_owner app = cgroup_owner(APP, 1, UINT64_MAX);
		int64_t names;

		boot_ns += 500 * SEC;
		if (!step) {
			batch_begin(&fixture);
			tell_owner(&fixture, &app, "/pod/app", "");
			tell_point(&fixture, boot_ns, 1, 1, 0, 0);
			batch_commit(&fixture);
		}
		batch(&fixture, boot_ns, 100 + step * 100, 100);
		fixture_keep(&fixture, boot_ns + fixture.offset_ns);
		names = fixture_number(&fixture, "SELECT count(*) FROM process");
		most = names > most ? names : most;
	}
	/* 4 hours have 2880 of them; an hour more is their grace. */
	assert_true(most < 5000);
	assert_no_orphans(&fixture);
	assert_int_equal(fixture_number(&fixture, "SELECT count(*) FROM process WHERE pid = 1"), 0);
	/* Its name went; it is told anew. The path of the cgroup is wanted by others. */
	batch(&fixture, boot_ns, 1, 1);
	assert_no_orphans(&fixture);
	assert_int_equal(fixture_number(&fixture, "SELECT count(*) FROM process WHERE pid = 1"), 1);
	assert_int_equal(
		fixture_number(&fixture, "SELECT count(*) FROM cgroup WHERE path = '/pod/app'"), 1);
	fixture_remove(&fixture);
}

static void a_lower_limit_is_reached(void **state)
{
	struct fixture fixture;
	int64_t boot_ns = T0, kept;

	(void)state;
	fixture_start(&fixture, 14 * MIB, T0);
	for (int i = 0; i < 20; i++)
		fixture_incident(&fixture, boot_ns + i * SEC, 20);
	for (int i = 0; i < 700; i++)
		batch(&fixture, boot_ns += 10 * SEC, 1, 500);
	fixture_close(&fixture);
	assert_true(fixture_bytes(&fixture) > 7 * MIB);
	fixture.limits.max_bytes = 5 * MIB;
	fixture_open(&fixture);
	fixture_run(&fixture, BOOT_A, boot_ns);
	fixture_keep(&fixture, boot_ns + fixture.offset_ns);
	fixture_close(&fixture);
	assert_true(fixture_bytes(&fixture) <= 5 * MIB);
	fixture_open(&fixture);
	assert_within(&fixture);
	kept = points(&fixture);
	assert_true(kept > 20000);
	assert_int_equal(fixture_number(&fixture, "SELECT count(*) FROM incident"), 20);
	assert_true(fixture_is_sound(&fixture));
	/* And raised again: it grows. */
	fixture_close(&fixture);
	fixture.limits.max_bytes = 10 * MIB;
	fixture_open(&fixture);
	fixture_run(&fixture, BOOT_A, boot_ns);
	for (int i = 0; i < 200; i++) {
		batch(&fixture, boot_ns += 10 * SEC, 1, 500);
		fixture_keep(&fixture, boot_ns + fixture.offset_ns);
		assert_within(&fixture);
	}
	assert_true(points(&fixture) > kept + 50000);
	fixture_remove(&fixture);
}

/* Nothing can be pruned before it is even begun, so no call of store_keep() is needed for that. */
static void writes_make_their_own_room(void **state)
{
	struct fixture fixture;
	int64_t boot_ns = T0;

	(void)state;
	fixture_start(&fixture, 4 * MIB, T0);
	for (int i = 0; i < 10; i++) {
		batch_begin(&fixture);
		for (uint32_t pid = 1; pid <= 100; pid++) { /* each batch over the same hour */
			struct history_owner owner = process_owner(pid, pid, APP, "worker");

			tell_owner(&fixture, &owner, "", "");
			for (int64_t k = 0; k < 300; k++)
				tell_point(&fixture, boot_ns + k * 12 * SEC + i * MS, i, k, pid, 0);
		}
		batch_commit(&fixture);
		assert_within(&fixture);
		fixture_incident(&fixture, boot_ns + 3000 * SEC, INCIDENT_CANDIDATES);
		assert_within(&fixture);
	}
	assert_true(points(&fixture) > 10000);
	assert_true(fixture_number(&fixture, "SELECT count(*) FROM incident") >= 2);
	assert_no_orphans(&fixture);
	assert_true(fixture_is_sound(&fixture));
	fixture_remove(&fixture);
}

/* --- a recorder that is started again and again --- */

static void runs_do_not_pile_up(void **state)
{
	int64_t boot_ns = T0, runs;
	struct fixture fixture;

	(void)state;
	fixture_start(&fixture, 4 * MIB, T0);
	fixture_incident(&fixture, T0, 1);
	for (int i = 0; i < 1100; i++) {
		char boot_id[37];

		snprintf(boot_id, sizeof(boot_id), "boot-%d", i / 2);
		fixture_run(&fixture, boot_id, boot_ns += 10 * SEC);
	}
	runs = fixture_number(&fixture, "SELECT count(*) FROM run");
	assert_true(runs > 900 && runs <= 1001);
	assert_int_equal(fixture_number(&fixture, "SELECT min(id) FROM run"), 1); /* saw one */
	assert_int_equal(fixture_number(&fixture, "SELECT max(id) FROM run"), 1101);
	assert_int_equal(fixture_number(&fixture, "SELECT count(*) FROM run_hook"), 2 * runs);
	assert_true(fixture_number(&fixture, "SELECT count(*) FROM boot") < 510);
	assert_within(&fixture);
	fixture_remove(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_month_in_a_small_file),
		cmocka_unit_test(series_of_the_newest_incident_stay),
		cmocka_unit_test(incidents_give_way_to_incidents),
		cmocka_unit_test(age_is_a_limit_too),
		cmocka_unit_test(names_go_with_their_points),
		cmocka_unit_test(a_lower_limit_is_reached),
		cmocka_unit_test(writes_make_their_own_room),
		cmocka_unit_test(runs_do_not_pile_up),
	};

	return cmocka_run_group_tests(tests, bound_memory, NULL);
}
