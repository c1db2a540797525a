// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "fixture_incident.h"

/* Everything that a scene may change before it is judged. */
struct scene {
	struct world *world;
	struct ev_context context;
	struct ev_level levels[3]; /* app, pod, root */
	struct ev_task victim;
	bool census;
	struct incident *incident;
};

static struct scene scene_new(void)
{
	struct scene scene = {.world = world_new(),
		.context = context_of(1, T0),
		.levels = {level_of(1, 0, APP_ID), level_of(1, 1, POD_ID), level_of(1, 2, ROOT_ID)},
		.victim = task_of(EV_ROLE_CHOSEN, 1, T0 + MS, VICTIM)};

	scene.levels[0].usage_pages = scene.levels[0].max_pages = APP_MAX;
	return scene;
}

static void scene_feed_chain(struct scene *scene, enum ev_level_role role)
{
	static const char *const names[] = {"app", "pod", ""};

	feed_context(scene->world, &scene->context);
	for (int i = 0; i < 3; i++) {
		scene->levels[i].role = role;
		if (scene->levels[i].id == scene->context.limit_cgroup_id)
			scene->levels[i].flags |= EV_LEVEL_LIMIT_HERE;
		feed_level(scene->world, &scene->levels[i], names[i]);
	}
}

/* The victim weighed, chosen, marked. The incident is what the tests change last. */
static struct incident *scene_kill(struct scene *scene)
{
	struct ev_task task = scene->victim;

	task.role = EV_ROLE_CANDIDATE;
	task.totalpages = scene->context.totalpages;
	feed_task(scene->world, &task);
	scene_feed_chain(scene, EV_LEVEL_VICTIM);
	if (scene->context.flags & EV_CONTEXT_OC)
		feed_task(scene->world, &scene->victim);
	task = scene->victim;
	task.role = EV_ROLE_VICTIM;
	task.flags |= EV_TASK_SIGNALLED;
	feed_task(scene->world, &task);
	scene->incident = take_one(scene->world);
	host_16_gib(scene->incident);
	return scene->incident;
}

static void scene_free(struct scene *scene)
{
	world_free(scene->world);
}

static const struct verdict *given(struct scene *scene, const char *id)
{
	return verdict_of(judge(scene->world, scene->incident), id);
}

static bool has_evidence(const struct verdict *verdict, const char *part)
{
	for (unsigned int i = 0; i < verdict->evidence_count; i++)
		if (strstr(verdict->evidence[i], part))
			return true;
	return false;
}

static void assert_verdict(const struct verdict *verdict, enum confidence confidence,
	const char *claim, const char *evidence)
{
	assert_non_null(verdict);
	assert_string_equal(verdict->claim, claim);
	assert_int_equal(verdict->confidence, confidence);
	if (!has_evidence(verdict, evidence))
		print_error("no evidence \"%s\"\n", evidence);
	assert_true(has_evidence(verdict, evidence));
}

/* The candidate fed before the kill: what else was there. */
static void scene_other(struct scene *scene, uint32_t pid, int64_t anon, int32_t adj)
{
	struct ev_task task = small_task(EV_ROLE_CANDIDATE, 1, pid, anon);

	strcpy(task.comm, "other");
	task.oom_score_adj = adj;
	task.totalpages = scene->context.totalpages;
	feed_task(scene->world, &task);
}

static void make_global(struct scene *scene)
{
	scene->context.constraint = EV_CONSTRAINT_NONE;
	scene->context.limit_cgroup_id = 0;
	scene->context.totalpages = 18 * GIB / PAGE;
	scene->levels[0].max_pages = 2 * APP_MAX;
}

/* --- which limit --- */

static void own_limit(void **state)
{
	struct scene scene = scene_new();

	(void)state;
	scene_kill(&scene);
	assert_verdict(given(&scene, "own-limit"), CONFIDENCE_CERTAIN,
		"The victim's own cgroup reached its limit of 1.00 GiB.",
		"limit of /pod/app: usage 1.00 GiB of 1.00 GiB");
	assert_null(given(&scene, "ancestor-limit"));
	assert_null(given(&scene, "host-exhausted"));
	assert_null(given(&scene, "limit-lowered"));
	scene_free(&scene);
}

static void own_limit_that_was_inferred_says_so(void **state)
{
	struct scene scene = scene_new();

	(void)state;
	scene.context.flags = 0;
	scene_kill(&scene);
	assert_verdict(given(&scene, "own-limit"), CONFIDENCE_LIKELY,
		"The victim's own cgroup reached its limit of 1.00 GiB.",
		"the page counters show which level is full; oom_control was not seen");
	scene_free(&scene);
}

static void ancestor_limit(void **state)
{
	struct scene scene = scene_new();
	const struct verdict *verdict;

	(void)state;
	scene.context.limit_cgroup_id = POD_ID;
	scene.levels[0].max_pages = 2 * APP_MAX;
	scene.levels[1].max_pages = scene.levels[1].usage_pages = 3 * APP_MAX;
	scene_kill(&scene);
	verdict = given(&scene, "ancestor-limit");
	assert_verdict(verdict, CONFIDENCE_CERTAIN,
		"The limit of 3.00 GiB that was reached is not the victim's own but that of /pod, 1 level up.",
		"limit of /pod: usage 3.00 GiB of 3.00 GiB");
	assert_true(has_evidence(verdict, "victim in /pod/app"));
	assert_true(has_evidence(verdict, "/pod/app: usage 1.00 GiB of 2.00 GiB"));
	assert_null(given(&scene, "own-limit"));
	scene_free(&scene);
}

static void the_limit_of_v1_on_memory_and_swap_is_called_so(void **state)
{
	struct scene scene = scene_new();

	(void)state;
	scene.levels[0].flags = 0;
	scene.levels[0].usage_pages = 100000;
	scene.levels[0].max_pages = NO_LIMIT;
	scene.levels[0].swap_usage_pages = scene.levels[0].swap_max_pages = 2 * APP_MAX;
	scene_kill(&scene);
	assert_verdict(given(&scene, "own-limit"), CONFIDENCE_CERTAIN,
		"The victim's own cgroup reached its memory+swap limit of 2.00 GiB.",
		"memory+swap limit of /pod/app: usage 2.00 GiB of 2.00 GiB");
	scene_free(&scene);
}

/* With a bare pid the chain is that of whoever asked. */
static void whose_limit_it_was_is_not_claimed_where_the_victims_cgroup_is_another(void **state)
{
	struct scene scene = scene_new();
	const struct verdict *verdict;

	(void)state;
	scene.context.flags = 0;
	scene.victim.cgroup_id = 55;
	cgroup_learn(scene.world->cgroups, 55, "/pod/app/sub", 1);
	scene_kill(&scene);
	verdict = given(&scene, "ancestor-limit");
	assert_verdict(verdict, CONFIDENCE_LIKELY,
		"The limit of 1.00 GiB that was reached is not the victim's own but that of /pod/app.",
		"victim in /pod/app/sub");
	assert_null(given(&scene, "own-limit"));
	scene.incident->victims[0].task.flags |= EV_TASK_PARTIAL;
	assert_null(given(&scene, "ancestor-limit"));
	assert_null(given(&scene, "own-limit"));
	scene_free(&scene);
}

static void a_long_path_does_not_cut_off_the_numbers(void **state)
{
	struct scene scene = scene_new();
	const struct verdict *verdict;
	char *path;

	(void)state;
	scene_kill(&scene);
	path = scene.incident->level_paths[0];
	memset(path, 'a', INCIDENT_PATH - 1);
	path[0] = '/';
	strcpy(path + INCIDENT_PATH - 6, "/end1");
	verdict = given(&scene, "own-limit");
	assert_non_null(verdict);
	assert_true(has_evidence(verdict, "aaa/end1: usage 1.00 GiB of 1.00 GiB"));
	assert_true(has_evidence(verdict, "limit of ...aaa"));
	scene_free(&scene);
}

static void host_exhausted(void **state)
{
	struct scene scene = scene_new();
	const struct verdict *verdict;

	(void)state;
	make_global(&scene);
	scene_kill(&scene);
	verdict = given(&scene, "host-exhausted");
	assert_verdict(verdict, CONFIDENCE_CERTAIN,
		"The machine itself was out of memory (16.0 GiB of RAM, 2.00 GiB of swap); no cgroup's limit was hit.",
		"RAM 16.0 GiB, free 1.00 GiB just after the kill");
	assert_true(has_evidence(verdict, "swap 2.00 GiB, free 1.00 GiB"));
	assert_null(given(&scene, "own-limit"));
	assert_null(given(&scene, "host-larger-than-limit"));
	assert_null(given(&scene, "zone-exhausted"));
	assert_null(given(&scene, "node-bound"));
	/* More is free than the victim can have given back, and nothing tells why it was of no use.
	 */
	scene.incident->host.free_bytes = 8 * GIB;
	verdict = given(&scene, "host-exhausted");
	assert_int_equal(verdict->confidence, CONFIDENCE_POSSIBLE);
	assert_true(has_evidence(verdict, "more than the victims gave back"));
	scene.incident->host.swap_total_bytes = 0;
	assert_string_equal(given(&scene, "host-exhausted")->claim,
		"The machine itself was out of memory (16.0 GiB of RAM, no swap); no cgroup's limit was hit.");
	scene.incident->host.swap_total_bytes = UNKNOWN_U64;
	assert_string_equal(given(&scene, "host-exhausted")->claim,
		"The machine itself was out of memory (16.0 GiB of RAM); no cgroup's limit was hit.");
	scene.incident->host.total_bytes = UNKNOWN_U64;
	assert_null(given(&scene, "host-exhausted"));
	scene_free(&scene);
}

static void host_exhausted_is_less_sure_where_it_was_inferred(void **state)
{
	struct scene scene = scene_new();

	(void)state;
	make_global(&scene);
	scene.context.flags = 0;
	scene_kill(&scene);
	assert_int_equal(given(&scene, "host-exhausted")->confidence, CONFIDENCE_LIKELY);
	assert_true(has_evidence(
		given(&scene, "host-exhausted"), "no level of the cgroup chain is at its limit"));
	scene.incident->trigger_flags |= EV_CONTEXT_KTHREAD; /* what a sysrq looks like here */
	assert_int_equal(given(&scene, "host-exhausted")->confidence, CONFIDENCE_POSSIBLE);
	assert_null(given(&scene, "operator-request"));
	scene_free(&scene);
}

static void host_larger_than_limit(void **state)
{
	struct scene scene = scene_new();

	(void)state;
	scene_kill(&scene);
	assert_verdict(given(&scene, "host-larger-than-limit"), CONFIDENCE_CERTAIN,
		"`free` shows the host's 16.0 GiB; the quota here is 1.00 GiB.",
		"host 16.0 GiB, limit 1.00 GiB");
	scene.incident->host.total_bytes = APP_MAX * PAGE;
	assert_null(given(&scene, "host-larger-than-limit"));
	scene.incident->host.total_bytes = UNKNOWN_U64;
	assert_null(given(&scene, "host-larger-than-limit"));
	scene_free(&scene);
}

static void node_bound(void **state)
{
	struct scene scene = scene_new();
	const struct verdict *verdict;

	(void)state;
	make_global(&scene);
	scene.context.constraint = EV_CONSTRAINT_CPUSET;
	scene.context.nodemask = 2;
	scene_kill(&scene);
	verdict = given(&scene, "node-bound");
	assert_verdict(verdict, CONFIDENCE_CERTAIN,
		"Only some memory nodes were allowed (by a cpuset), and those were full.",
		"constraint cpuset");
	assert_true(has_evidence(verdict, "nodemask 0x2"));
	assert_true(has_evidence(verdict, "free on the whole machine: 1.00 GiB"));
	assert_null(given(&scene, "host-exhausted"));
	scene.incident->constraint = EV_CONSTRAINT_MEMORY_POLICY;
	assert_string_equal(given(&scene, "node-bound")->claim,
		"Only some memory nodes were allowed (by a memory policy), and those were full.");
	scene.incident->constraint = EV_CONSTRAINT_NONE;
	assert_null(given(&scene, "node-bound"));
	scene_free(&scene);
}

static void zone_exhausted(void **state)
{
	struct scene scene = scene_new();

	(void)state;
	make_global(&scene);
	scene.context.order = 3;
	scene_kill(&scene);
	assert_verdict(given(&scene, "zone-exhausted"), CONFIDENCE_LIKELY,
		"8 pages in one piece were asked for (order 3); there may have been memory in smaller pieces.",
		"free 1.00 GiB just after the kill");
	assert_null(given(&scene, "host-exhausted"));
	scene.incident->order = 0;
	assert_null(given(&scene, "zone-exhausted"));
	scene.incident->order = -1;
	assert_null(given(&scene, "zone-exhausted"));
	scene.incident->order = 64; /* no kernel's number */
	assert_null(given(&scene, "zone-exhausted"));
	scene_free(&scene);
}

static void a_large_order_within_a_cgroup_is_its_limit(void **state)
{
	struct scene scene = scene_new();

	(void)state;
	scene.context.order = 3;
	scene_kill(&scene);
	assert_null(given(&scene, "zone-exhausted"));
	assert_non_null(given(&scene, "own-limit"));
	scene_free(&scene);
}

static void operator_request(void **state)
{
	struct scene scene = scene_new();

	(void)state;
	make_global(&scene);
	scene.context.order = -1;
	scene_kill(&scene);
	assert_verdict(given(&scene, "operator-request"), CONFIDENCE_CERTAIN,
		"Somebody asked for this kill by sysrq f; memory need not have been short.",
		"available 3.00 GiB just after the kill");
	assert_null(given(&scene, "host-exhausted"));
	assert_null(given(&scene, "zone-exhausted"));
	scene.incident->order = 0;
	assert_null(given(&scene, "operator-request"));
	scene_free(&scene);
}

static void limit_lowered(void **state)
{
	struct scene scene = scene_new();
	const struct verdict *verdict;

	(void)state;
	scene.levels[0].usage_pages = APP_MAX + LIMIT_SLACK_PAGES + 1;
	scene.context.cgroup_id = 77;
	cgroup_learn(scene.world->cgroups, 77, "/pod/app2", 1);
	scene_kill(&scene);
	verdict = given(&scene, "limit-lowered");
	assert_non_null(verdict);
	assert_int_equal(verdict->confidence, CONFIDENCE_LIKELY);
	assert_true(has_evidence(verdict, "usage is 260 KiB above the limit"));
	assert_true(has_evidence(verdict, "asked by asker[4300], which is not charged to it"));
	/* Charges that may not fail come from inside. */
	strcpy(scene.incident->trigger_cgroup, "/pod/app/sub");
	assert_verdict(given(&scene, "limit-lowered"), CONFIDENCE_POSSIBLE,
		"The limit was set to 1.00 GiB when 260 KiB more than that was in use.",
		"asked by asker[4300]");
	scene.incident->levels[0].usage_pages--;
	assert_null(given(&scene, "limit-lowered"));
	scene_free(&scene);
}

/* --- who held the memory --- */

static void victim_is_largest(void **state)
{
	struct scene scene = scene_new();

	(void)state;
	scene_other(&scene, 4100, 5000, 0);
	scene_kill(&scene);
	assert_verdict(given(&scene, "victim-is-largest"), CONFIDENCE_CERTAIN,
		"The victim held the most of the 2 processes weighed by the kernel: 785 MiB.",
		"RSS, swap and page tables: 785 MiB");
	assert_null(given(&scene, "victim-not-largest"));
	scene.incident->lost_events = 1; /* somebody may not have been seen */
	assert_int_equal(given(&scene, "victim-is-largest")->confidence, CONFIDENCE_LIKELY);
	scene.incident->lost_events = 0;
	scene.incident->candidates_from_census = true;
	assert_verdict(given(&scene, "victim-is-largest"), CONFIDENCE_LIKELY,
		"The victim held the most of the 2 processes found right after the kill: 785 MiB.",
		"RSS");
	scene.incident->candidate_count = 0;
	assert_null(given(&scene, "victim-is-largest"));
	scene_free(&scene);
}

static void a_victim_alone_is_the_only_one(void **state)
{
	struct scene scene = scene_new();

	(void)state;
	scene_kill(&scene);
	assert_string_equal(given(&scene, "victim-is-largest")->claim,
		"The victim was the only process weighed by the kernel; it held 785 MiB.");
	scene_free(&scene);
}

static void a_hair_more_is_not_more(void **state)
{
	struct scene scene = scene_new();

	(void)state;
	scene_other(&scene, 4100, 202000, 0);
	scene_kill(&scene);
	assert_verdict(given(&scene, "victim-is-largest"), CONFIDENCE_LIKELY,
		"The victim held about as much as the largest of the 2 processes weighed by the kernel: 785 MiB.",
		"RSS");
	assert_null(given(&scene, "victim-not-largest"));
	/* Unless there is a better reason than counters that move. */
	scene.incident->candidates[0].task.flags |= EV_TASK_VFORK;
	assert_non_null(given(&scene, "victim-not-largest"));
	assert_null(given(&scene, "victim-is-largest"));
	scene_free(&scene);
}

/* Another that held twice as much, and why it lived. */
static void assert_lived(int32_t adj, uint32_t flags, void (*change)(struct incident *),
	const char *why, const char *evidence)
{
	struct scene scene = scene_new();
	char claim[VERDICT_TEXT];

	scene_other(&scene, 4100, 401800, adj);
	scene_kill(&scene);
	for (unsigned int i = 0; i < scene.incident->candidate_count; i++)
		if (scene.incident->candidates[i].task.tgid == 4100)
			scene.incident->candidates[i].task.flags |= flags;
	if (change)
		change(scene.incident);
	snprintf(claim, sizeof(claim),
		"other[4100] held more (1.53 GiB against 785 MiB) and was not chosen: %s.", why);
	assert_verdict(given(&scene, "victim-not-largest"), CONFIDENCE_CERTAIN, claim, evidence);
	assert_true(has_evidence(
		given(&scene, "victim-not-largest"), "victim: oom_score_adj 0, 200900 points"));
	assert_null(given(&scene, "victim-is-largest"));
	scene_free(&scene);
}

static void by_allocating_task(struct incident *incident)
{
	strcpy(incident->message, "Out of memory (oom_kill_allocating_task)");
}

static void in_swapoff(struct incident *incident)
{
	incident->chosen_points = INT64_MAX;
}

static void with_the_group(struct incident *incident)
{
	incident->victims[1].task = incident->candidates[0].task;
	incident->victims[1].why = VICTIM_GROUP;
	incident->victim_count = 2;
}

static void was_exiting(struct incident *incident)
{
	incident->victims[0].why = VICTIM_ALREADY_EXITING;
}

static void bound_to_nodes(struct incident *incident)
{
	incident->constraint = EV_CONSTRAINT_CPUSET;
}

static void victim_not_largest(void **state)
{
	(void)state;
	assert_lived(-1000, 0, NULL, "oom_score_adj -1000",
		"other[4100]: oom_score_adj -1000, not eligible");
	assert_lived(0, EV_TASK_VFORK, NULL, "it is in vfork", "not eligible");
	assert_lived(0, EV_TASK_OOM_SKIP, NULL, "the kernel gave up on it", "not eligible");
	assert_lived(-900, 0, NULL, "oom_score_adj decided",
		"other[4100]: oom_score_adj -900, 166000 points");
	assert_lived(0, 0, by_allocating_task, "vm.oom_kill_allocating_task kills whoever asks",
		"other[4100]: oom_score_adj 0, 401800 points");
	assert_lived(0, 0, in_swapoff, "the victim was in swapoff or KSM work, which goes first",
		"401800 points");
	assert_lived(0, 0, with_the_group, "it was killed with it", "401800 points");
	assert_lived(0, 0, was_exiting, "the victim was on its way out already", "401800 points");
	assert_lived(0, 0, bound_to_nodes,
		"it may not use the memory nodes that were full, or it grew since",
		"401800 points");
	assert_lived(0, 0, NULL,
		"it grew, or the victim gave memory back, after the kernel had looked",
		"401800 points");
}

/* What lives goes on growing: a later size is no reason by itself. */
static void a_larger_one_in_a_census_needs_a_reason(void **state)
{
	struct scene scene = scene_new();

	(void)state;
	scene_other(&scene, 4100, 400000, 0);
	scene_kill(&scene);
	assert_non_null(given(&scene, "victim-not-largest"));
	scene.incident->candidates_from_census = true;
	assert_null(given(&scene, "victim-not-largest"));
	scene_free(&scene);
}

/* A database that is protected holds most of a machine of 200 processes. */
static void a_protected_eater_is_seen_among_many(void **state)
{
	struct scene scene = scene_new();

	(void)state;
	make_global(&scene);
	for (uint32_t i = 0; i < 200; i++)
		scene_other(&scene, 6000 + i, i == 40 ? 3000000 : 1000 + i, i == 40 ? -900 : 0);
	scene_kill(&scene);
	assert_non_null(given(&scene, "victim-not-largest"));
	assert_string_equal(given(&scene, "victim-not-largest")->claim,
		"other[6040] held more (11.4 GiB against 785 MiB) and was not chosen: oom_score_adj decided.");
	assert_null(given(&scene, "victim-is-largest"));
	scene_free(&scene);
}

static void swap_heavy(void **state)
{
	struct scene scene = scene_new();

	(void)state;
	scene.victim.rss_pages[EV_RSS_SWAP] = 200401;
	scene_kill(&scene);
	assert_verdict(given(&scene, "swap-heavy"), CONFIDENCE_CERTAIN,
		"Most of the victim was in swap: 783 MiB of 1.53 GiB.",
		"swap 200401 pages of 400801");
	scene_free(&scene);
	scene = scene_new();
	scene.victim.rss_pages[EV_RSS_SWAP] = 200400; /* one half is not most */
	scene_kill(&scene);
	assert_null(given(&scene, "swap-heavy"));
	scene_free(&scene);
}

static void tmpfs_held(void **state)
{
	struct scene scene = scene_new();

	(void)state;
	scene_kill(&scene);
	assert_null(given(&scene, "tmpfs-held"));
	scene.incident->stat_usage_bytes = 700 * MIB;
	assert_null(given(&scene, "tmpfs-held"));
	scene.incident->stat.shmem_bytes = 600 * MIB;
	assert_verdict(given(&scene, "tmpfs-held"), CONFIDENCE_LIKELY,
		"600 MiB of the 1.00 GiB in use are tmpfs files or shared memory: a file in a tmpfs stays when processes are killed.",
		"shmem 600 MiB just after the kill, 1.00 GiB in use at the kill");
	/* A little of a lot is not most, though it is most of what the victim left. */
	scene.incident->stat_usage_bytes = 5 * MIB;
	scene.incident->stat.shmem_bytes = 4 * MIB;
	assert_null(given(&scene, "tmpfs-held"));
	scene_free(&scene);
}

static void kernel_memory_held(void **state)
{
	struct scene scene = scene_new();

	(void)state;
	scene_kill(&scene);
	scene.incident->stat_usage_bytes = 700 * MIB;
	assert_null(given(&scene, "kernel-memory-held"));
	scene.incident->stat.kernel_bytes = 513 * MIB;
	assert_verdict(given(&scene, "kernel-memory-held"), CONFIDENCE_LIKELY,
		"513 MiB of the 1.00 GiB in use are kernel memory, which no process's RSS shows.",
		"kernel 513 MiB just after the kill, 1.00 GiB in use at the kill");
	scene.incident->stat.kernel_bytes = 512 * MIB;
	assert_null(given(&scene, "kernel-memory-held"));
	scene_free(&scene);
}

static void no_process_holds_it(void **state)
{
	struct scene scene = scene_new();
	int64_t *rss;

	(void)state;
	scene_kill(&scene);
	rss = scene.incident->victims[0].task.rss_pages;
	memset(rss, 0, EV_RSS_COUNTERS * sizeof(*rss));
	scene.incident->stat_usage_bytes = 700 * MIB;
	assert_null(given(&scene, "no-process-holds-it"));
	scene.incident->stat.anon_bytes = 100 * MIB;
	assert_verdict(given(&scene, "no-process-holds-it"), CONFIDENCE_POSSIBLE,
		"600 MiB of the 1.00 GiB in use are of no kind that memory.stat names.",
		"unexplained 600 MiB just after the kill, 1.00 GiB in use at the kill");
	/* By then the victim may have handed that much back. */
	rss[EV_RSS_ANON] = 100 * MIB / 4096;
	assert_null(given(&scene, "no-process-holds-it"));
	scene.incident->stat_at_kill = true;
	assert_non_null(given(&scene, "no-process-holds-it"));
	scene.incident->stat_at_kill = false;
	rss[EV_RSS_ANON] = 0;
	scene.incident->stat.anon_bytes = 188 * MIB;
	assert_null(given(&scene, "no-process-holds-it"));
	scene_free(&scene);
}

static void no_victim(void **state)
{
	struct scene scene = scene_new();
	const struct verdict *verdict;

	(void)state;
	scene_other(&scene, 4100, 5000, -1000);
	scene_other(&scene, 4101, 6000, 0);
	scene_feed_chain(&scene, EV_LEVEL_LIMIT);
	feed_end(scene.world, 1, T0, EV_END_NONE);
	scene.incident = incidents_next_closed(scene.world->incidents);
	host_16_gib(scene.incident);
	scene.incident->repeated_no_kill = 222;
	verdict = given(&scene, "no-victim");
	assert_verdict(verdict, CONFIDENCE_CERTAIN,
		"The limit of /pod/app was hit, and the kernel found no process below it that it may kill.",
		"limit: usage 1.00 GiB of 1.00 GiB");
	assert_true(has_evidence(verdict, "the scan ended without a choice"));
	assert_true(has_evidence(verdict, "processes with memory there: 2"));
	assert_true(has_evidence(verdict, "1 of them with oom_score_adj -1000"));
	assert_true(has_evidence(verdict, "222 more scans like this one"));
	assert_null(given(&scene, "own-limit")); /* nobody's own */
	assert_null(given(&scene, "victim-is-largest"));
	scene_free(&scene);
	scene = scene_new();
	scene_kill(&scene);
	assert_null(given(&scene, "no-victim"));
	scene_free(&scene);
}

static void group_kill(void **state)
{
	struct scene scene = scene_new();

	(void)state;
	/* The kernel takes the highest with the flag, and looks no higher than the limit. */
	scene.context.limit_cgroup_id = POD_ID;
	scene.levels[0].flags |= EV_LEVEL_OOM_GROUP;
	scene.levels[1].flags |= EV_LEVEL_OOM_GROUP;
	scene_kill(&scene);
	assert_null(given(&scene, "group-kill"));
	scene.incident->victims[1].why = VICTIM_GROUP;
	scene.incident->victims[2].why = VICTIM_SHARED_MM;
	scene.incident->victim_count = 3;
	assert_verdict(given(&scene, "group-kill"), CONFIDENCE_CERTAIN,
		"memory.oom.group took 1 more process with the one that was chosen.",
		"memory.oom.group is set on /pod");
	assert_false(has_evidence(given(&scene, "group-kill"), "/pod/app"));
	assert_true(has_evidence(given(&scene, "group-kill"), "victims: 3"));
	scene.incident->oc_limit_id = APP_ID;
	assert_true(
		has_evidence(given(&scene, "group-kill"), "memory.oom.group is set on /pod/app"));
	scene.incident->victims_dropped = 9;
	assert_string_equal(given(&scene, "group-kill")->claim,
		"memory.oom.group took 10 more processes with the one that was chosen.");
	scene_free(&scene);
}

static void repeated(void **state)
{
	struct scene scene = scene_new();

	(void)state;
	scene_kill(&scene);
	assert_null(given(&scene, "repeated"));
	scene.incident->earlier_kills = 2;
	assert_verdict(given(&scene, "repeated"), CONFIDENCE_CERTAIN,
		"This limit has killed 3 times within 10 minutes, this one included.",
		"2 earlier at /pod/app");
	scene.incident->earlier_kills = CGROUP_KILLS_COUNTED; /* no more are remembered */
	assert_verdict(given(&scene, "repeated"), CONFIDENCE_CERTAIN,
		"This limit has killed at least 17 times within 10 minutes, this one included.",
		"at least 16 earlier at /pod/app");
	scene_free(&scene);
}

/* --- all of them --- */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_limit),
		cmocka_unit_test(own_limit_that_was_inferred_says_so),
		cmocka_unit_test(ancestor_limit),
		cmocka_unit_test(the_limit_of_v1_on_memory_and_swap_is_called_so),
		cmocka_unit_test(
			whose_limit_it_was_is_not_claimed_where_the_victims_cgroup_is_another),
		cmocka_unit_test(a_long_path_does_not_cut_off_the_numbers),
		cmocka_unit_test(host_exhausted),
		cmocka_unit_test(host_exhausted_is_less_sure_where_it_was_inferred),
		cmocka_unit_test(host_larger_than_limit),
		cmocka_unit_test(node_bound),
		cmocka_unit_test(zone_exhausted),
		cmocka_unit_test(a_large_order_within_a_cgroup_is_its_limit),
		cmocka_unit_test(operator_request),
		cmocka_unit_test(limit_lowered),
		cmocka_unit_test(victim_is_largest),
		cmocka_unit_test(a_victim_alone_is_the_only_one),
		cmocka_unit_test(a_larger_one_in_a_census_needs_a_reason),
		cmocka_unit_test(a_hair_more_is_not_more),
		cmocka_unit_test(victim_not_largest),
		cmocka_unit_test(a_protected_eater_is_seen_among_many),
		cmocka_unit_test(swap_heavy),
		cmocka_unit_test(tmpfs_held),
		cmocka_unit_test(kernel_memory_held),
		cmocka_unit_test(no_process_holds_it),
		cmocka_unit_test(no_victim),
		cmocka_unit_test(group_kill),
		cmocka_unit_test(repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
