// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

/* The commands are in no library that tests link; this one needs nothing but the C library. */
#include "cmd/filter.c"

static struct incident incident;
static struct judgement judgement;

/* web[10] and db[20] of /pod/app died by the limit of /pod. */
static int two_victims(void **state)
{
	(void)state;
	memset(&incident, 0, sizeof(incident));
	memset(&judgement, 0, sizeof(judgement));
	incident.victim_count = 2;
	incident.victims[0].task.tgid = 10;
	strcpy(incident.victims[0].task.comm, "web");
	incident.victims[1].task.tgid = 20;
	strcpy(incident.victims[1].task.comm, "db");
	incident.level_count = 2;
	strcpy(incident.level_paths[0], "/pod/app");
	strcpy(incident.level_paths[1], "/pod");
	strcpy(incident.victim_cgroup, "/pod/app");
	judgement.limit_level = 1;
	return 0;
}

static bool passes(const char *cgroup, const char *comm, uint32_t pid)
{
	struct filter filter = {.cgroup = cgroup, .comm = comm, .pid = pid};

	return filter_passes(&filter, &incident, &judgement);
}

static void without_a_wish_all_pass(void **state)
{
	(void)state;
	assert_true(passes(NULL, NULL, 0));
	incident.victim_count = 0;
	assert_true(passes(NULL, NULL, 0));
}

static void any_victim_may_be_the_one_asked_for(void **state)
{
	(void)state;
	assert_true(passes(NULL, NULL, 10));
	assert_true(passes(NULL, NULL, 20));
	assert_false(passes(NULL, NULL, 30));
	assert_true(passes(NULL, "db", 0));
	assert_true(passes(NULL, "[dx]?", 0));
	assert_false(passes(NULL, "d", 0));
}

static void pid_and_name_are_asked_of_one_and_the_same(void **state)
{
	(void)state;
	assert_true(passes(NULL, "web", 10));
	assert_false(passes(NULL, "db", 10));
}

static void a_scan_without_a_victim_passes_no_wish_for_one(void **state)
{
	(void)state;
	incident.victim_count = 0;
	assert_false(passes(NULL, NULL, 10));
	assert_false(passes(NULL, "*", 0));
	assert_true(passes("/pod", NULL, 0));
}

static void a_cgroup_stands_for_all_below_it(void **state)
{
	(void)state;
	assert_true(passes("/pod", NULL, 0));
	assert_true(passes("/pod/", NULL, 0));
	assert_true(passes("/pod/app", NULL, 0)); /* the victim's, below the limit */
	assert_true(passes("/", NULL, 0));
	assert_false(passes("/po", NULL, 0));
	assert_false(passes("/pod/ap", NULL, 0));
	assert_false(passes("/pod/app/sub", NULL, 0));
	assert_false(passes("/other", NULL, 0));
}

static void a_pattern_is_for_the_whole_path(void **state)
{
	(void)state;
	assert_true(passes("*/app", NULL, 0));
	assert_true(passes("/p?d", NULL, 0));
	assert_true(passes("/*", NULL, 0));
	assert_false(passes("*/ap", NULL, 0));
	assert_false(passes("app*", NULL, 0));
}

static void without_a_limit_the_victims_cgroup_decides(void **state)
{
	(void)state;
	judgement.limit_level = -1;
	assert_true(passes("/pod", NULL, 0));
	assert_true(passes("*app", NULL, 0));
	assert_false(passes("/p?d", NULL, 0));
}

static void a_path_that_is_not_known_is_no_match(void **state)
{
	(void)state;
	judgement.limit_level = -1;
	incident.victim_cgroup[0] = '\0';
	assert_false(passes("/pod", NULL, 0));
	assert_false(passes("*", NULL, 0));
}

static void all_wishes_must_hold(void **state)
{
	(void)state;
	assert_true(passes("/pod", "web", 10));
	assert_false(passes("/other", "web", 10));
	assert_false(passes("/pod", "web", 11));
}

#define ID "9f3c41d2a0b15e6f9f3c41d2a0b15e6f9f3c41d2a0b15e6f9f3c41d2a0b15e6f"
#define UID "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
#define POD "/kubepods/burstable/pod" UID

/* The victim in a container of train/bert-0, by the limit of the pod. */
static void in_a_pod(void)
{
	strcpy(incident.victim_cgroup, POD "/" ID);
	strcpy(incident.level_paths[0], POD "/" ID);
	strcpy(incident.level_paths[1], POD);
	strcpy(incident.names.container, "trainer");
	strcpy(incident.names.pod, "bert-0");
	strcpy(incident.names.namespace, "train");
	judge_whose(&incident, &judgement);
}

static bool passes_names(const char *pod, const char *namespace, const char *container)
{
	struct filter filter = {
		.names = {.pod = pod, .namespace = namespace, .container = container}};

	return filter_passes(&filter, &incident, &judgement);
}

static void names_match_as_names_uids_ids_and_patterns(void **state)
{
	(void)state;
	in_a_pod();
	assert_true(passes_names("bert-0", NULL, NULL));
	assert_true(passes_names("bert-*", "train", "trainer"));
	assert_true(passes_names(UID, NULL, NULL));
	assert_true(passes_names(NULL, NULL, "9f3c41d2a0b1"));
	assert_true(passes_names(NULL, NULL, ID));
	assert_false(passes_names("bert", NULL, NULL));
	assert_false(passes_names("bert-0", "default", NULL));
	assert_false(passes_names(NULL, NULL, "train"));
	assert_false(passes_names(NULL, NULL, "9f3c")); /* too short to be an id */
	assert_false(passes_names(NULL, NULL, "9f3c41d2a0b2"));
}

static void names_that_are_not_known_match_nothing(void **state)
{
	(void)state;
	in_a_pod();
	memset(&incident.names, 0, sizeof(incident.names));
	assert_false(passes_names("bert-*", NULL, NULL));
	assert_false(passes_names(NULL, "*", NULL));
	assert_false(passes_names(NULL, NULL, "*"));
	assert_true(passes_names(UID, NULL, NULL));
	strcpy(incident.victim_cgroup, "/lxc.payload.web/init.scope");
	judgement.limit_level = -1;
	assert_true(passes_names(NULL, NULL, "web"));
}

static void changes_are_asked_for_by_name_too(void **state)
{
	struct filter filter = {.names = {.pod = "bert-0"}};
	struct growth_change change = {.tgid = 10};
	struct growth_pressure pressure = {.cgroup_id = 7};

	(void)state;
	in_a_pod();
	assert_true(filter_change(&filter, &change, POD "/" ID, &incident.names));
	assert_false(filter_change(&filter, &change, POD "/" ID, NULL));
	assert_false(filter_change(&filter, &change, "", NULL));
	assert_true(filter_pressure(&filter, &pressure, POD, &incident.names));
	assert_false(filter_pressure(&filter, &pressure, "/a", NULL));
	/* the machine is no pod */
	pressure.cgroup_id = 0;
	assert_false(filter_pressure(&filter, &pressure, "", NULL));
	filter.names.pod = NULL;
	assert_true(filter_pressure(&filter, &pressure, "", NULL));
}

static void kills_are_chosen_by_the_names_of_their_target(void **state)
{
	static struct killing killing;
	struct filter filter = {.names = {.pod = "bert-*"}};

	(void)state;
	killing.target_count = 1;
	strcpy(killing.target_cgroup, "/kubepods/pod" UID "/9f3c41d2a0b1");
	assert_false(filter_killing(&filter, &killing));
	strcpy(killing.names.pod, "bert-0");
	strcpy(killing.names.namespace, "train");
	strcpy(killing.names.container, "trainer");
	assert_true(filter_killing(&filter, &killing));
	filter.names = (struct names_filter) {.namespace = "train", .container = "trainer"};
	assert_true(filter_killing(&filter, &killing));
	filter.names.namespace = "other";
	assert_false(filter_killing(&filter, &killing));
}

#define TEST(name) cmocka_unit_test_setup(name, two_victims)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_wish_all_pass),
		TEST(any_victim_may_be_the_one_asked_for),
		TEST(pid_and_name_are_asked_of_one_and_the_same),
		TEST(a_scan_without_a_victim_passes_no_wish_for_one),
		TEST(a_cgroup_stands_for_all_below_it),
		TEST(a_pattern_is_for_the_whole_path),
		TEST(without_a_limit_the_victims_cgroup_decides),
		TEST(a_path_that_is_not_known_is_no_match),
		TEST(all_wishes_must_hold),
		TEST(names_match_as_names_uids_ids_and_patterns),
		TEST(names_that_are_not_known_match_nothing),
		TEST(changes_are_asked_for_by_name_too),
		TEST(kills_are_chosen_by_the_names_of_their_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
