// SPDX-License-Identifier: Apache-2.0
/* The kernel's own report, record by record of /dev/kmsg, and the incident of the same kill. */
#include "fixture_incident.h"

#include <stdio.h>

#include "model/joined.h"

struct scene {
	struct world *world;
	struct joiner *joiner;
	unsigned int told;
	unsigned int sequence;
	struct judgement judgement;
};

static void take_report(void *arg, const struct joined_report *report)
{
	struct scene *scene = arg;

	scene->told++;
	incidents_report(scene->world->incidents, report, T0);
}

static void scene_open(struct scene *scene)
{
	*scene = (struct scene) {.world = world_new()};
	scene->joiner = joiner_new(4096, take_report, scene);
	assert_non_null(scene->joiner);
}

static void scene_close(struct scene *scene)
{
	joiner_free(scene->joiner);
	world_free(scene->world);
}

static void say(struct scene *scene, const char *text)
{
	char record[512];
	int len = snprintf(record, sizeof(record), "6,%u,%u,-;%s", 100 + scene->sequence,
		5000000 + scene->sequence, text);

	scene->sequence++;
	joiner_record(scene->joiner, record, (size_t)len);
}

static void say_all(struct scene *scene, const char *const *texts)
{
	for (; *texts; texts++)
		say(scene, *texts);
	joiner_flush(scene->joiner);
}

#define KILLED(pid)                                                                                \
	"Memory cgroup out of memory: Killed process " pid                                         \
	" (worker) total-vm:1000000kB, anon-rss:800000kB, file-rss:1200kB, shmem-rss:160kB, "      \
	"UID:1000 pgtables:240kB oom_score_adj:0"
#define SUMMARY(pid, limit)                                                                             \
	"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=" limit \
	",task_memcg=/pod/app,task=worker,pid=" pid ",uid=1000"
#define INVOKED(order)                                                                             \
	"asker invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=" order ", oom_score_adj=5"
#define HEAD                                                                                       \
	"CPU: 1 UID: 1001 PID: 4301 Comm: asker Not tainted 6.18.1 #1 PREEMPT(none)",              \
		"Call Trace:", " <TASK>", " dump_stack_lvl+0x59/0x90", " </TASK>"
#define USAGE(limit)                                                                               \
	"memory: usage 1048576kB, limit " limit "kB, failcnt 14",                                  \
		"swap: usage 2000kB, limit 0kB, failcnt 3"
#define STATS(limit)                                                                               \
	"Memory cgroup stats for " limit ":", "anon 819200000", "file 1000000", "kernel 500000",   \
		"shmem 160000"

static const char *const whole_report[] = {INVOKED("0"), HEAD, USAGE("1048576"), STATS("/pod/app"),
	"Tasks state (memory values in pages):",
	"[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
	"[   4242]  1000  4242   250000   200340   245760      500             0 worker",
	SUMMARY("4242", "/pod/app"), KILLED("4242"), NULL};

/* A kill where oom_control is out of reach. */
static void feed_traced(struct scene *scene, bool has_oc)
{
	struct ev_context context = context_of(1, T0);

	if (!has_oc) {
		context.flags = 0;
		context.message[0] = '\0';
	}
	feed_context(scene->world, &context);
	feed_chain(scene->world, 1, EV_LEVEL_VICTIM);
	feed_kill(scene->world, 1, VICTIM);
	scene->world->coverage.full_tier = has_oc;
}

static struct incident *judged(struct scene *scene)
{
	struct incident *incident = take_one(scene->world);

	incident->host.swap_total_bytes = 0;
	judge_incident(incident, &scene->world->host, &scene->world->coverage, &scene->judgement);
	return incident;
}

static bool is_missing(const struct scene *scene, const char *field)
{
	for (unsigned int i = 0; i < scene->judgement.missing_count; i++)
		if (!strcmp(scene->judgement.missing[i].field, field))
			return true;
	return false;
}

static void assert_joined(struct scene *scene, const struct incident *incident)
{
	assert_int_equal(incident->kmsg, KMSG_AGREES);
	assert_string_equal(incident->kmsg_difference, "");
	assert_true(incident->log.joined);
	assert_int_equal(incident->log.usage_bytes, GIB);
	assert_int_equal(incident->log.limit_bytes, GIB);
	assert_int_equal(incident->log.failcnt, 14);
	assert_true(incident->stat_at_kill);
	assert_int_equal(incident->stat.anon_bytes, 819200000);
	assert_int_equal(incident->stat.kernel_bytes, 500000);
	assert_int_equal(incident->stat_usage_bytes, GIB);
	assert_int_equal(scene->judgement.scope, SCOPE_MEMCG);
	assert_int_equal(scene->judgement.limit_level, 0);
	assert_false(scene->judgement.scope_inferred);
}

static void a_report_fills_what_tracepoints_cannot_tell(void **state)
{
	const struct incident *incident;
	struct scene scene;

	(void)state;
	scene_open(&scene);
	feed_traced(&scene, false);
	say_all(&scene, whole_report);
	incident = judged(&scene);
	assert_joined(&scene, incident);
	assert_true(incident->log.has_order && incident->log.has_gfp);
	assert_int_equal(incident->order, 0);
	assert_int_equal(incident->gfp_mask, 0xcc0);
	assert_string_equal(incident->log.gfp_flags, "GFP_KERNEL");
	assert_int_equal(incident->mems_allowed, 1);
	assert_true(scene.judgement.manual_known);
	assert_false(is_missing(&scene, "order") || is_missing(&scene, "gfp_mask") ||
		     is_missing(&scene, "manual") || is_missing(&scene, "nodemask"));
	assert_true(is_missing(&scene, "badness.kernel_points"));
	assert_int_equal(scene.judgement.totalpages, APP_MAX);
	scene_close(&scene);
}

static void without_a_report_all_stays_as_it_was(void **state)
{
	const struct incident *incident;
	struct scene scene;

	(void)state;
	scene_open(&scene);
	feed_traced(&scene, false);
	incident = judged(&scene);
	assert_false(incident->log.joined || incident->stat_at_kill);
	assert_true(scene.judgement.scope_inferred);
	assert_true(is_missing(&scene, "order") && is_missing(&scene, "gfp_mask") &&
		    is_missing(&scene, "nodemask") && is_missing(&scene, "manual"));
	scene_close(&scene);
}

/* The report is printed before the mark, and may be read before it. */
static void a_report_that_is_read_before_the_mark_is_kept_for_it(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene);
	say_all(&scene, whole_report);
	assert_int_equal(scene.told, 2);
	feed_traced(&scene, false);
	/* The line itself comes by incidents_kmsg(). */
	assert_joined(&scene, judged(&scene));
	scene_close(&scene);
}

static void what_the_kernels_structures_tell_stays(void **state)
{
	static const char *const other[] = {INVOKED("3"), HEAD, USAGE("524288"), STATS("/pod/app"),
		SUMMARY("4242", "/pod/app"), KILLED("4242"), NULL};
	const struct incident *incident;
	struct scene scene;

	(void)state;
	scene_open(&scene);
	feed_traced(&scene, true);
	say_all(&scene, other);
	incident = judged(&scene);
	assert_int_equal(incident->order, 0);
	assert_int_equal(incident->levels[0].max_pages, APP_MAX);
	assert_int_equal(incident->kmsg, KMSG_DIFFERS);
	assert_string_equal(incident->kmsg_difference,
		"order 0 here, 3 in the log; limit_kb 1048576 here, 524288 in the log");
	scene_close(&scene);
}

static void another_limit_is_a_difference_and_its_contents_are_not_taken(void **state)
{
	static const char *const other[] = {INVOKED("0"), HEAD, USAGE("1048576"), STATS("/pod"),
		SUMMARY("4242", "/pod"), KILLED("4242"), NULL};
	const struct incident *incident;
	struct scene scene;

	(void)state;
	scene_open(&scene);
	feed_traced(&scene, true);
	say_all(&scene, other);
	incident = judged(&scene);
	assert_string_equal(
		incident->kmsg_difference, "limit_cgroup /pod/app here, /pod in the log");
	assert_false(incident->stat_at_kill);
	assert_int_equal(scene.judgement.limit_level, 0);
	scene_close(&scene);
}

/* Inferred would be the full leaf; the kernel says that it was the level above. */
static void the_limit_that_the_log_names_is_taken_over_the_fullest(void **state)
{
	static const char *const other[] = {
		INVOKED("0"), STATS("/pod"), SUMMARY("4242", "/pod"), KILLED("4242"), NULL};
	struct scene scene;

	(void)state;
	scene_open(&scene);
	feed_traced(&scene, false);
	say_all(&scene, other);
	judged(&scene);
	assert_int_equal(scene.judgement.limit_level, 1);
	assert_false(scene.judgement.scope_inferred);
	scene_close(&scene);
}

static void a_cgroup_that_is_not_the_victims_is_no_limit(void **state)
{
	static const char *const other[] = {
		INVOKED("0"), STATS("/else"), SUMMARY("4242", "/else"), KILLED("4242"), NULL};
	const struct incident *incident;
	struct scene scene;

	(void)state;
	scene_open(&scene);
	feed_traced(&scene, false);
	say_all(&scene, other);
	incident = judged(&scene);
	assert_int_equal(incident->kmsg, KMSG_DIFFERS);
	assert_non_null(strstr(incident->kmsg_difference, "/else in the log"));
	assert_true(scene.judgement.scope_inferred);
	assert_int_equal(scene.judgement.limit_level, 0);
	scene_close(&scene);
}

/* Rate-limited: the line of the kill is all there is. */
static void a_line_without_a_report_brings_nothing_but_itself(void **state)
{
	static const char *const line[] = {KILLED("4242"), NULL};
	const struct incident *incident;
	struct scene scene;

	(void)state;
	scene_open(&scene);
	feed_traced(&scene, false);
	say_all(&scene, line);
	incident = judged(&scene);
	assert_int_equal(incident->kmsg, KMSG_AGREES);
	assert_false(incident->stat_at_kill || incident->log.has_order || incident->log.has_scope);
	assert_true(scene.judgement.scope_inferred);
	assert_true(is_missing(&scene, "order"));
	scene_close(&scene);
}

/* Its head was overwritten, and what fills the limit is cut off in the middle. */
static void a_report_in_parts_brings_what_it_has(void **state)
{
	static const char *const parts[] = {"Memory cgroup stats for /pod/app:", "anon 819200000",
		SUMMARY("4242", "/pod/app"), KILLED("4242"), NULL};
	const struct incident *incident;
	struct scene scene;

	(void)state;
	scene_open(&scene);
	feed_traced(&scene, false);
	say_all(&scene, parts);
	incident = judged(&scene);
	assert_true(incident->stat_at_kill);
	assert_int_equal(incident->stat.anon_bytes, 819200000);
	assert_true(incident->stat.file_bytes == UNKNOWN_U64);
	assert_true(incident->log.usage_bytes == UNKNOWN_U64);
	assert_true(is_missing(&scene, "order") && is_missing(&scene, "gfp_flags"));
	assert_false(scene.judgement.scope_inferred);
	scene_close(&scene);
}

static void the_others_of_a_group_and_other_kills_are_passed_over(void **state)
{
	static const char *const others[] = {INVOKED("5"), SUMMARY("777", "/pod/app"),
		KILLED("777"),
		"Tasks in /pod/app are going to be killed due to memory.oom.group set",
		KILLED("4242"), KILLED("4243"), NULL};
	const struct incident *incident;
	struct scene scene;

	(void)state;
	scene_open(&scene);
	feed_traced(&scene, false);
	say_all(&scene, others);
	incident = judged(&scene);
	assert_false(incident->log.joined);
	assert_int_equal(incident->kmsg, KMSG_NOT_READ);
	scene_close(&scene);
}

/* More kills than there is room for reports, long before the victim's number comes again. */
static void old_reports_give_way_and_are_not_taken_for_new_ones(void **state)
{
	struct joined_report report = {.pid = VICTIM, .comm = "worker", .has_order = true};
	struct scene scene;

	(void)state;
	scene_open(&scene);
	incidents_report(scene.world->incidents, &report, T0 - 60 * SEC);
	feed_traced(&scene, false);
	assert_false(judged(&scene)->log.joined);
	scene_close(&scene);
	scene_open(&scene);
	incidents_report(scene.world->incidents, &report, T0);
	for (uint32_t pid = 1; pid < 1000; pid++) {
		report.pid = pid;
		incidents_report(scene.world->incidents, &report, T0);
	}
	feed_traced(&scene, false);
	assert_false(judged(&scene)->log.joined);
	scene_close(&scene);
}

/* Where the machine was full the report has an account of it, in kB and in pages. */
static const char *const full_machine[] = {INVOKED("0"), HEAD,
	"Mem-Info:", "active_anon:1000 inactive_anon:24 isolated_anon:0",
	" active_file:3 inactive_file:4 isolated_file:0", " unevictable:0 dirty:5 writeback:6",
	" slab_reclaimable:7 slab_unreclaimable:8", " mapped:1 shmem:600000 pagetables:9",
	" free:200000 free_pcp:0 free_cma:0",
	"Node 0 Normal free:1024kB min:2048kB low:2560kB high:3072kB present:4194304kB managed:4194304kB free_cma:0kB",
	"lowmem_reserve[]: 0 0", "1048576 pages RAM", "0 pages reserved",
	"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/pod/app,task=worker,pid=4242,uid=1000",
	NULL};

static struct incident *judged_global(struct scene *scene)
{
	struct ev_context context = context_of(1, T0);
	struct incident *ret;

	context.constraint = EV_CONSTRAINT_NONE;
	context.limit_cgroup_id = 0;
	feed_context(scene->world, &context);
	feed_kill(scene->world, 1, VICTIM);
	say_all(scene, full_machine);
	ret = judged(scene);
	ret->host.total_bytes = 4ULL << 30;
	return ret;
}

static const struct verdict *given(
	struct scene *scene, const struct incident *incident, const char *id)
{
	judge_incident(incident, &scene->world->host, &scene->world->coverage, &scene->judgement);
	for (unsigned int i = 0; i < scene->judgement.verdict_count; i++)
		if (!strcmp(scene->judgement.verdicts[i].id, id))
			return &scene->judgement.verdicts[i];
	return NULL;
}

static void the_machines_memory_comes_with_the_report(void **state)
{
	const struct incident_machine *machine;
	struct scene scene;

	(void)state;
	scene_open(&scene);
	machine = &judged_global(&scene)->log.machine;
	assert_int_equal(machine->free_bytes, 200000 * 4096);
	assert_int_equal(machine->anon_bytes, 1024 * 4096);
	assert_true(machine->shmem_bytes == 600000ULL * 4096);
	assert_int_equal(machine->dirty_bytes, 11 * 4096);
	assert_int_equal(machine->slab_bytes, 15 * 4096);
	assert_int_equal(machine->zone_count, 1);
	assert_int_equal(machine->zones[0].free_pages, 256);
	assert_int_equal(machine->zones[0].min_pages, 512);
	assert_false(machine->nodes_left_out);
	scene_close(&scene);
}

static void what_was_free_and_of_no_use_is_told_with_a_report(void **state)
{
	struct incident *incident;
	struct scene scene;

	(void)state;
	scene_open(&scene);
	incident = judged_global(&scene);
	assert_int_equal(given(&scene, incident, "zone-exhausted")->confidence, CONFIDENCE_CERTAIN);
	assert_null(given(&scene, incident, "host-exhausted"));
	assert_string_equal(given(&scene, incident, "tmpfs-held")->claim,
		"2.29 GiB of the 4.00 GiB of RAM are tmpfs files or shared memory: a file in a tmpfs stays when processes are killed.");
	incident->log.machine.free_bytes = 256 * 4096;
	assert_null(given(&scene, incident, "zone-exhausted"));
	assert_int_equal(given(&scene, incident, "host-exhausted")->confidence, CONFIDENCE_CERTAIN);
	/* Without it there is no more than a guess. */
	incident->log.joined = false;
	incident->host.free_bytes = 2ULL << 30;
	assert_int_equal(
		given(&scene, incident, "host-exhausted")->confidence, CONFIDENCE_POSSIBLE);
	assert_null(given(&scene, incident, "tmpfs-held"));
	scene_close(&scene);
}

static void lines_of_others_cost_no_report(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene);
	for (int i = 0; i < 10000; i++)
		say(&scene, "eth0: link is up, 1000 Mbit/s");
	say_all(&scene, whole_report);
	for (int i = 0; i < 10000; i++)
		say(&scene, "eth0: link is down");
	joiner_flush(scene.joiner);
	assert_int_equal(scene.told, 2);
	scene_close(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_fills_what_tracepoints_cannot_tell),
		cmocka_unit_test(without_a_report_all_stays_as_it_was),
		cmocka_unit_test(a_report_that_is_read_before_the_mark_is_kept_for_it),
		cmocka_unit_test(what_the_kernels_structures_tell_stays),
		cmocka_unit_test(another_limit_is_a_difference_and_its_contents_are_not_taken),
		cmocka_unit_test(the_limit_that_the_log_names_is_taken_over_the_fullest),
		cmocka_unit_test(a_cgroup_that_is_not_the_victims_is_no_limit),
		cmocka_unit_test(a_line_without_a_report_brings_nothing_but_itself),
		cmocka_unit_test(a_report_in_parts_brings_what_it_has),
		cmocka_unit_test(the_others_of_a_group_and_other_kills_are_passed_over),
		cmocka_unit_test(old_reports_give_way_and_are_not_taken_for_new_ones),
		cmocka_unit_test(the_machines_memory_comes_with_the_report),
		cmocka_unit_test(what_was_free_and_of_no_use_is_told_with_a_report),
		cmocka_unit_test(lines_of_others_cost_no_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
