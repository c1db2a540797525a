// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/select.h"

#define S 1000000000LL
#define NOW (1700000000 * S)
#define UID "0b5e4f3c-8a77-4c1e-9d2a-6f1d7c1b2a90"
#define UID_ "0b5e4f3c_8a77_4c1e_9d2a_6f1d7c1b2a90"
#define STATIC_UID "d4c1e9d2a6f1d7c1b2a900b5e4f3c8a7"

static struct incident incident;
static struct judgement judgement;
static struct selection selection;
static char *rest; /* the argument that is no option */

/* web[10] and db[20] of /kubepods/…/app died by the limit of the pod. */
static int two_victims(void **state)
{
	(void)state;
	setenv("TZ", "UTC0", 1);
	tzset();
	memset(&incident, 0, sizeof(incident));
	memset(&judgement, 0, sizeof(judgement));
	incident.victim_count = 2;
	incident.victims[0].task.tgid = 10;
	strcpy(incident.victims[0].task.comm, "web");
	incident.victims[1].task.tgid = 20;
	strcpy(incident.victims[1].task.comm, "db");
	incident.level_count = 2;
	strcpy(incident.level_paths[0], "/kubepods/burstable/pod" UID "/app");
	strcpy(incident.level_paths[1], "/kubepods/burstable/pod" UID);
	strcpy(incident.victim_cgroup, "/kubepods/burstable/pod" UID "/app");
	judgement.limit_level = 1;
	judgement.scope = SCOPE_MEMCG;
	judgement.verdict_count = 2;
	judgement.verdicts[0].id = "ancestor-limit";
	judgement.verdicts[1].id = "fork-family";
	return 0;
}

static error_t take_rest(int key, char *value, struct argp_state *state)
{
	if (key == ARGP_KEY_INIT)
		state->child_inputs[0] = state->input;
	if (key == ARGP_KEY_ARG)
		rest = value;
	return key == ARGP_KEY_INIT || key == ARGP_KEY_ARG ? 0 : ARGP_ERR_UNKNOWN;
}

/* Options, each a word, up to NULL. */
static void parse(const char *word, ...)
{
	static const struct argp_child children[] = {{&selection_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {.parser = take_rest, .children = children};
	char *words[16] = {(char *)"test"};
	int count = 1;
	va_list list;

	va_start(list, word);
	for (; word; word = va_arg(list, const char *))
		words[count++] = (char *)word;
	va_end(list);
	rest = NULL;
	selection_init(&selection);
	selection.now_ns = NOW;
	assert_int_equal(argp_parse(&argp, count, words, ARGP_NO_EXIT, NULL, &selection), 0);
}

static bool passes(void)
{
	return selection_passes(&selection, 7, &incident, &judgement);
}

static bool passes_with(const char *option, const char *value)
{
	parse(option, value, NULL);
	return passes();
}

static void nothing_asked_is_everything(void **state)
{
	(void)state;
	parse(NULL, NULL);
	assert_true(passes());
	assert_false(selection_given(&selection));
	assert_false(selection_looks_inside(&selection));
	assert_int_equal(selection.since_ns, INT64_MIN);
	assert_int_equal(selection.until_ns, INT64_MAX);
	incident.victim_count = 0;
	judgement.scope = SCOPE_UNKNOWN;
	judgement.limit_level = -1;
	assert_true(passes());
}

static void times(void **state)
{
	(void)state;
	parse("--since", "2h", "--until=1 hour ago", NULL);
	assert_int_equal(selection.since_ns, NOW - 7200 * S);
	assert_int_equal(selection.until_ns, NOW - 3600 * S);
	assert_true(selection_given(&selection));
	assert_false(selection_looks_inside(&selection));
	parse("--since", "2023-11-14", NULL);
	assert_int_equal(selection.since_ns, 1699920000 * S);
}

static void by_number(void **state)
{
	(void)state;
	assert_true(passes_with("--incident", "7"));
	assert_false(passes_with("--incident", "8"));
	assert_true(selection_given(&selection));
}

static void the_last_ones(void **state)
{
	(void)state;
	parse("--last", "file", NULL);
	assert_int_equal(selection.last, 1);
	assert_string_equal(rest, "file");
	parse("--last=3", "file", NULL);
	assert_int_equal(selection.last, 3);
	assert_string_equal(rest, "file");
	parse("--last", "3", "file", NULL);
	assert_int_equal(selection.last, 3);
	assert_string_equal(rest, "file");
	parse("file", "--last", "12", NULL);
	assert_int_equal(selection.last, 12);
	assert_string_equal(rest, "file");
	parse("file", "--last", NULL);
	assert_int_equal(selection.last, 1);
	assert_string_equal(rest, "file");
	parse("file", "--last", "12", "--pid", "10", NULL);
	assert_int_equal(selection.last, 12);
	assert_int_equal(selection.filter.pid, 10);
	parse("--last", "3.sqlite", NULL);
	assert_int_equal(selection.last, 1);
	assert_string_equal(rest, "3.sqlite");
}

static void by_victim(void **state)
{
	(void)state;
	assert_true(passes_with("--comm", "db"));
	assert_true(passes_with("--comm", "w*"));
	assert_false(passes_with("--comm", "nginx"));
	assert_true(passes_with("--pid", "20"));
	assert_false(passes_with("--pid", "30"));
	/* both of one and the same */
	parse("--pid", "20", "--comm", "web", NULL);
	assert_false(passes());
	assert_true(selection_looks_inside(&selection));
}

static void by_cgroup(void **state)
{
	(void)state;
	assert_true(passes_with("--cgroup", "/kubepods"));
	assert_true(passes_with("--cgroup", "*/app"));
	assert_false(passes_with("--cgroup", "/kube"));
	assert_false(passes_with("--cgroup", "/system.slice"));
}

static void by_scope(void **state)
{
	(void)state;
	assert_true(passes_with("--scope", "memcg"));
	assert_false(passes_with("--scope", "global"));
	parse("--scope", "global", "--scope", "memcg", NULL);
	assert_true(passes());
	judgement.scope = SCOPE_UNKNOWN;
	assert_false(passes());
	/* However often. */
	parse("--scope", "cpuset", "--scope", "cpuset", "--scope", "cpuset", "--scope", "cpuset",
		"--scope", "mempolicy", NULL);
	assert_int_equal(selection.scope_count, SELECT_CHOICES);
}

static void by_verdict(void **state)
{
	(void)state;
	assert_true(passes_with("--verdict", "ancestor-limit"));
	assert_true(passes_with("--verdict", "fork-family"));
	assert_false(passes_with("--verdict", "own-limit"));
	parse("--verdict", "own-limit", "--verdict", "fork-family", NULL);
	assert_true(passes());
	judgement.verdict_count = 0;
	assert_false(passes());
}

static void with_pod_at(const char *limit, const char *victim)
{
	strcpy(incident.level_paths[1], limit);
	strcpy(incident.victim_cgroup, victim);
}

static void by_uid_of_a_pod(void **state)
{
	(void)state;
	assert_true(passes_with("--pod", UID));
	assert_true(passes_with("--pod", UID_));
	assert_true(passes_with("--pod", "pod" UID));
	assert_false(passes_with("--pod", "1b5e4f3c-8a77-4c1e-9d2a-6f1d7c1b2a90"));
	/* as systemd names it; only the victim's is below it */
	with_pod_at("/kubepods.slice",
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
		".slice/cri-containerd-9f3c.scope");
	assert_true(passes_with("--pod", UID));
	assert_true(passes_with("--pod", UID_));
	with_pod_at("/system.slice/kubepods-besteffort-pod" UID_ ".slice:cri-containerd:9f", "");
	assert_true(passes_with("--pod", UID));
	with_pod_at("/kubepods/pod" STATIC_UID, "/");
	assert_true(passes_with("--pod", STATIC_UID));
	assert_false(passes_with("--pod", UID));
	/* a container's id is no pod's, and neither is a longer number */
	with_pod_at("/kubepods/" STATIC_UID STATIC_UID, "/kubepods/pod" STATIC_UID "00");
	assert_false(passes_with("--pod", STATIC_UID));
	with_pod_at("/", "/kubepods/pod");
	assert_false(passes_with("--pod", UID));
	judgement.limit_level = -1;
	with_pod_at("/kubepods/pod" UID, "/kubepods/pod" UID);
	assert_true(passes_with("--pod", UID));
}

static void by_the_names_of_pod_and_container(void **state)
{
	(void)state;
	strcpy(incident.names.pod, "bert-0");
	strcpy(incident.names.namespace, "train");
	strcpy(incident.names.container, "trainer");
	assert_true(passes_with("--pod", "bert-?"));
	assert_true(passes_with("--namespace", "train"));
	assert_false(passes_with("--namespace", "default"));
	assert_true(passes_with("--container", "trainer"));
	parse("--namespace", "train", "--container", "web", NULL);
	assert_false(passes());
	assert_true(selection_looks_inside(&selection));
}

static void by_a_part_of_a_name(void **state)
{
	(void)state;
	assert_true(passes_with("--pod", "burst"));
	assert_false(passes_with("--pod", "train"));
	with_pod_at("/machine.slice/machine-libpod_pod_train.slice", "/");
	assert_true(passes_with("--pod", "libpod_pod_train"));
	assert_true(passes_with("--pod", "train"));
	assert_false(
		passes_with("--pod", "libpod-pod-train")); /* only a uid is spelled both ways */
	judgement.limit_level = -1;
	assert_false(passes_with("--pod", "train"));
}

static void all_wishes_must_hold(void **state)
{
	(void)state;
	parse("--cgroup", "/kubepods", "--comm", "web", "--pid", "10", "--pod", UID, "--scope",
		"memcg", "--verdict", "fork-family", "--incident", "7", NULL);
	assert_true(passes());
	assert_false(selection_passes(&selection, 6, &incident, &judgement));
	judgement.verdicts[1].id = "spike";
	assert_false(passes());
}

#define TEST(name) cmocka_unit_test_setup(name, two_victims)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_asked_is_everything),
		TEST(times),
		TEST(by_number),
		TEST(the_last_ones),
		TEST(by_victim),
		TEST(by_cgroup),
		TEST(by_scope),
		TEST(by_verdict),
		TEST(by_uid_of_a_pod),
		TEST(by_the_names_of_pod_and_container),
		TEST(by_a_part_of_a_name),
		TEST(all_wishes_must_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
