// SPDX-License-Identifier: Apache-2.0
/* From the recorder into a chart: at the kill it shows, to the byte, what the incident tells. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "growth_world.h"
#include "model/chart.h"

static struct incident incident;
static struct chart chart;

static unsigned int instant_of(int64_t time_ns)
{
	for (unsigned int i = 0; i < chart.instants; i++)
		if (chart.times_ns[i] == time_ns)
			return i;
	fail_msg("no such instant");
	return 0;
}

static const struct chart_layer *layer_of(uint32_t root_tgid, uint64_t root_start_ns)
{
	for (unsigned int i = 0; i < chart.layer_count; i++)
		if (chart.layers[i].root_tgid == root_tgid &&
			chart.layers[i].root_start_ns == root_start_ns)
			return &chart.layers[i];
	fail_msg("no layer of %u", root_tgid);
	return NULL;
}

/* What world->picture has, at the moment of the kill and at its end. */
static void assert_as_pictured(const struct world *world)
{
	const struct growth_picture *picture = &world->picture;
	unsigned int at = instant_of(chart.kill_ns);

	for (unsigned int i = 0; i < picture->family_count; i++) {
		const struct picture_family *family = &picture->families[i];
		const struct chart_layer *layer =
			layer_of(family->root_tgid, family->root_start_ns);

		assert_int_equal(layer->bytes[at], family->private_bytes + family->shared_bytes);
		assert_true(layer->members >= family->members + family->exited);
		assert_string_equal(layer->comm, family->comm);
	}
	for (unsigned int i = 0; i < picture->process_count; i++) {
		const struct picture_process *process = &picture->processes[i];

		/* not alone in its family, or not in the picture's */
		if (family_pictured(picture, process->tgid) || process->exited ||
			process->ppid != 1)
			continue;
		assert_int_equal(
			layer_of(process->tgid, process->start_ns)->bytes[at], process->held_bytes);
	}
	if (picture->domain_known)
		assert_int_equal(chart.usage_bytes[at], picture->points[picture->point_count - 1]);
}

static void make_chart(struct world *world, uint64_t domain_id, uint64_t from_ns)
{
	struct chart_maker *maker = chart_new(
		&incident, domain_id, UNKNOWN_U64, (int64_t)from_ns, (int64_t)world->now_ns);
	struct history_taker taker = chart_taker(maker);

	assert_int_equal(growth_history(world->growth, domain_id, from_ns, true, &taker), 0);
	assert_int_equal(chart_finish(maker, &chart), 0);
}

/* An incident whose first record was at that moment; the rest is told by kill_told(). */
static void incident_begins(struct world *world)
{
	memset(&incident, 0, sizeof(incident));
	incident.time_ns = world->now_ns;
}

static void kill_told(struct world *world, uint32_t tgid, uint32_t role)
{
	const struct ev_sample *task = task_of(world, tgid);
	struct victim *victim = &incident.victims[incident.victim_count];

	world_kill(world, task, role);
	if (role == EV_ROLE_CANDIDATE)
		return;
	if (role == EV_ROLE_CHOSEN) {
		incident.chosen.tgid = tgid;
		incident.chosen.at_ns = incident.time_ns = world->now_ns;
		return;
	}
	victim->task.tgid = tgid;
	victim->task.start_ns = task->start_ns;
	victim->task.at_ns = world->now_ns;
	incident.victim_count++;
}

static void picture_taken(struct world *world, uint64_t domain_id, uint64_t at_ns)
{
	growth_picture(world->growth, NULL, domain_id, at_ns, 60 * S, &world->picture);
	incident.growth = world->picture;
}

static void workers_that_copied(void **state)
{
	struct world *world = workers_new();

	(void)state;
	for (int i = 0; i < 10; i++) {
		for (uint32_t w = 0; w < WORKERS; w++) {
			copy(world, FIRST + w, (5 + w) * MIB);
			task_of(world, FIRST + w)->rss_pages[EV_RSS_ANON] += w;
			group_of(world, GROUP)->usage += w;
		}
		world_pass(world);
	}
	world_exit(world, FIRST + 3, 400 * MIB);
	group_of(world, GROUP)->usage -= 80 * MIB;
	world_pass(world);
	incident_begins(world);
	picture_taken(world, GROUP, world->now_ns);
	world_pass(world);
	make_chart(world, GROUP, 1000 * S);
	assert_int_equal(world->picture.family_count, 1);
	assert_true(world->picture.families[0].cow_bytes > 100 * MIB_BYTES);
	assert_int_equal(world->picture.families[0].exited, 1);
	assert_as_pictured(world);
	assert_int_equal(chart.layers[0].bytes[0], 0); /* before the first pass */
	assert_int_equal(chart.layers[0].bytes[instant_of(1003 * S)], 400 * MIB_BYTES);
	chart_free(&chart);
	world_free(world);
}

/* What the kill told is later than its first record, and so are ends. */
static void what_only_the_kill_has_seen(void **state)
{
	struct world *world = workers_new();
	struct group *group = group_of(world, GROUP);
	uint64_t begin_ns;

	(void)state;
	world_pass(world);
	begin_ns = world->now_ns += 500 * MS;
	incident_begins(world);
	for (uint32_t w = 0; w < WORKERS; w++) {
		task_of(world, FIRST + w)->rss_pages[EV_RSS_ANON] += (10 + w) * MIB;
		task_of(world, FIRST + w)->faults += (10 + w) * MIB;
		copy(world, FIRST + w, 20 * MIB);
		group->usage += (10 + w) * MIB;
		world->now_ns += 100000;
		kill_told(world, FIRST + w, EV_ROLE_CANDIDATE);
	}
	world->now_ns += 100000;
	group->max = group->usage;
	world_level(world, group, 0, 3);
	kill_told(world, FIRST, EV_ROLE_CHOSEN);
	for (uint32_t w = 0; w < 2; w++) {
		world->now_ns += 2 * MS;
		kill_told(world, FIRST + w, EV_ROLE_VICTIM);
	}
	/* the first victim is gone before the second one is marked, and the pass sees neither */
	world->now_ns -= MS;
	world_exit(world, FIRST, 410 * MIB);
	world->now_ns += 20 * MS;
	world_exit(world, FIRST + 1, 410 * MIB);
	group->silent = true;
	world->now_ns = begin_ns;
	world_look(world);
	picture_taken(world, GROUP, begin_ns);
	/* a second later much of it has come back */
	group->silent = false;
	group->usage -= 40 * MIB;
	task_of(world, FIRST + 2)->rss_pages[EV_RSS_ANON] -= 10 * MIB;
	world_pass(world);
	make_chart(world, GROUP, 1000 * S);
	assert_int_equal(family_pictured(&world->picture, 100)->members, 5);
	assert_true(family_pictured(&world->picture, 100)->cow_bytes > 50 * MIB_BYTES);
	assert_true(incident.time_ns > incident.growth.to_ns);
	assert_as_pictured(world);
	assert_true(layer_of(100, task_of(world, 100)->start_ns)->has_victim);
	/* then they are gone */
	assert_true(chart.layers[0].bytes[chart.instants - 1] <
		    chart.layers[0].bytes[instant_of(chart.kill_ns)]);
	chart_free(&chart);
	world_free(world);
}

/* --- any story --- */

static uint32_t random_state;

static uint32_t below(uint32_t count)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % count;
}

static struct ev_sample *somebody(struct world *world)
{
	struct ev_sample *task;

	do
		task = &world->tasks[below(world->task_count)];
	while (!task->tgid);
	return task;
}

static void something_happens(struct world *world, uint32_t *next_tgid)
{
	struct ev_sample *task = somebody(world);
	struct group *group = group_of(world, task->cgroup_id);
	int64_t pages = below(20 * MIB);

	switch (below(12)) {
	case 0:
		if (*next_tgid < 160)
			world_fork(world, task->tgid, (*next_tgid)++);
		return;
	case 1:
		if (task->tgid >= 106)
			world_exit(world, task->tgid, (uint64_t)task->rss_pages[EV_RSS_ANON]);
		return;
	case 2:
		/* few: a picture has room for eight families */
		if (task->tgid == 120 || task->tgid == 130)
			world_exec(world, task->tgid);
		return;
	case 3:
		task->rss_pages[EV_RSS_ANON] -= pages / 3;
		task->rss_pages[EV_RSS_SWAP] += pages / 3;
		return;
	case 4:
	case 5:
	case 6:
		task->rss_pages[EV_RSS_ANON] += pages;
		task->faults += (uint64_t)pages;
		group->usage += (uint64_t)pages;
		return;
	default:
		copy(world, task->tgid, (uint64_t)pages);
		return;
	}
}

/* A kill in the middle of it: all are weighed, one or two are marked and end, in their own time. */
static void a_kill_happens(struct world *world)
{
	uint64_t begin_ns = world->now_ns += 1 + below(900 * MS);
	uint32_t victim, victims = 1 + below(2);

	incident_begins(world);
	for (unsigned int i = 0; i < world->task_count; i++) {
		world->now_ns += below(50000);
		if (world->tasks[i].tgid && below(4))
			kill_told(world, world->tasks[i].tgid, EV_ROLE_CANDIDATE);
	}
	world_level(world, group_of(world, GROUP), 0, 7);
	for (uint32_t i = 0; i < victims; i++) {
		victim = somebody(world)->tgid;
		world->now_ns += below(100000);
		if (!i)
			kill_told(world, victim, EV_ROLE_CHOSEN);
		kill_told(world, victim, EV_ROLE_VICTIM);
		world->now_ns += below(100000);
		world_exit(world, victim, 0);
	}
	world->now_ns = begin_ns;
	if (below(3)) {
		group_of(world, GROUP)->silent = true;
		world_look(world);
		group_of(world, GROUP)->silent = false;
	}
	picture_taken(world, GROUP, begin_ns);
}

static void any_story(void **state)
{
	unsigned int families = 0, copied = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= 200; seed++) {
		struct world *world = world_new(0);
		uint32_t next_tgid = 106;

		random_state = seed;
		for (uint32_t i = 0; i < 6; i++)
			world_task(world, 100 + i, 1, 50 * MIB + below(300 * MIB));
		group_of(world, GROUP)->usage = 1200 * MIB;
		for (int pass = 0; pass < 30; pass++) {
			world_pass(world);
			for (uint32_t i = below(12); i > 0; i--)
				something_happens(world, &next_tgid);
		}
		a_kill_happens(world);
		for (int pass = 0; pass < 3; pass++) {
			world_pass(world);
			for (unsigned int i = 0; i < world->task_count; i++)
				world->tasks[i].rss_pages[EV_RSS_ANON] /= 2;
		}
		make_chart(world, GROUP, 1000 * S);
		assert_as_pictured(world);
		families += world->picture.family_count;
		for (unsigned int i = 0; i < world->picture.family_count; i++)
			copied += world->picture.families[i].cow_bytes > 0;
		chart_free(&chart);
		world_free(world);
	}
	/* the stories are such that there is something to compare */
	assert_true(families > 400 && copied > 200);
}

/* A process that nothing of the kill tells of, seen between its records: the most that the two can
 * differ by is what it grew by within them. */
static void one_that_moved_within_the_kill(void **state)
{
	struct world *world = workers_new();
	struct ev_sample *other = world_task(world, 500, 1, 100 * MIB);
	uint64_t begin_ns;

	(void)state;
	world_pass(world);
	begin_ns = world->now_ns += 500 * MS;
	incident_begins(world);
	world->now_ns += MS;
	other->rss_pages[EV_RSS_ANON] += 7 * MIB;
	world_sample(world, other, EV_SAMPLE_FAULTS);
	world->now_ns += MS;
	kill_told(world, FIRST, EV_ROLE_CHOSEN);
	kill_told(world, FIRST, EV_ROLE_VICTIM);
	picture_taken(world, GROUP, begin_ns);
	world->now_ns += S;
	make_chart(world, GROUP, 1000 * S);
	assert_int_equal(pictured(&world->picture, 500)->held_bytes, 100 * MIB_BYTES);
	assert_int_equal(
		layer_of(500, other->start_ns)->bytes[instant_of(chart.kill_ns)], 107 * MIB_BYTES);
	chart_free(&chart);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers_that_copied),
		cmocka_unit_test(what_only_the_kill_has_seen),
		cmocka_unit_test(any_story),
		cmocka_unit_test(one_that_moved_within_the_kill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
