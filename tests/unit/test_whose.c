// SPDX-License-Identifier: Apache-2.0
/* Whose container it is and whose limit: as judged, in words, in the record. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "judge/whose.h"
#include "names_fixture.h"
#include "sink/json.h"
#include "sink/json_parts.h"
#include "sink/text_whose.h"

#define CONTAINER "/cri-containerd-" ID ".scope"
#define NODE "/docker/" OTHER
#define SLICES "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
#define UID_ "1b4e28ba_2fa1_11d2_883f_0016d3cca427"
#define POD SLICES UID_ ".slice"

static struct incident incident;
static struct judgement judgement;
static char data[8192];
static struct buf out;

/* The victim in one cgroup, the limit that of another; limit NULL: of none. */
static void judge(const char *victim, const char *limit)
{
	memset(&judgement, 0, sizeof(judgement));
	strcpy(incident.victim_cgroup, victim);
	judgement.limit_level = limit ? 0 : -1;
	incident.level_count = limit ? 1 : 0;
	strcpy(incident.level_paths[0], limit ? limit : "");
	judge_whose(&incident, &judgement);
	judge_whose_missing(&incident, &judgement);
}

static int without_names(void **state)
{
	(void)state;
	memset(&incident, 0, sizeof(incident));
	buf_init(&out, data, sizeof(data));
	return 0;
}

static void name_all(void)
{
	strcpy(incident.names.container, "trainer");
	strcpy(incident.names.pod, "bert-0");
	strcpy(incident.names.namespace, "train");
	incident.names.troubles = 0;
}

static const char *why(const char *field)
{
	for (unsigned int i = 0; i < judgement.missing_count; i++)
		if (!strcmp(judgement.missing[i].field, field))
			return judgement.missing[i].why;
	return NULL;
}

/* --- judged --- */

static void whose_limit_it_is_has_a_word(void **state)
{
	static const struct {
		const char *victim, *limit, *word;
	} cases[] = {
		{POD CONTAINER, POD CONTAINER, "container"},
		{POD CONTAINER, POD, "pod"},
		{POD CONTAINER, "/kubepods.slice/kubepods-burstable.slice", "QoS class"},
		{POD CONTAINER, "/kubepods.slice", "kubepods cgroup"},
		{POD CONTAINER "/app", POD CONTAINER "/app", NULL},
		{NODE "/kubelet" POD CONTAINER, NODE, "node's container"},
		{NODE "/kubelet" POD CONTAINER, NODE "/kubelet" POD, "pod"},
		{"/system.slice/x.service", "/system.slice/x.service", "service"},
		{"/system.slice/x.service", "/system.slice", NULL},
		{"/lxc.payload.web/init.scope", "/lxc.payload.web", "container"},
		{"/slurm/uid_1/job_4/step_0/task_1", "/slurm/uid_1/job_4", "Slurm job"},
		{"/slurm/uid_1/job_4/step_0/task_1", "/slurm/uid_1/job_4/step_0", "Slurm step"},
		{"/a/b", "/a", NULL},
		{"/a/b", "", NULL},
		{"/a/b", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *word;

		judge(cases[i].victim, cases[i].limit);
		word = whose_limit(&incident, &judgement);
		assert_string_equal(word ? word : "", cases[i].word ? cases[i].word : "");
	}
}

static void where_nobody_was_killed_it_is_the_limits(void **state)
{
	(void)state;
	judge("", POD CONTAINER);
	assert_string_equal(judgement.where.id, ID);
	judge("", NULL);
	assert_string_equal(judgement.where.id, "");
}

static void the_path_is_believed_before_the_disk(void **state)
{
	(void)state;
	incident.names.runtime = RUNTIME_DOCKER;
	strcpy(incident.names.pod_uid, OTHER);
	judge(POD CONTAINER, NULL);
	assert_int_equal(judgement.runtime, RUNTIME_CONTAINERD);
	assert_string_equal(whose_pod_uid(&incident, &judgement), UID);
	judge("/own/" ID, NULL);
	assert_int_equal(judgement.runtime, RUNTIME_DOCKER);
	assert_string_equal(whose_pod_uid(&incident, &judgement), OTHER);
}

static void names_are_of_one_container_and_its_pod(void **state)
{
	(void)state;
	name_all();
	judge(NODE "/kubelet" POD CONTAINER, NODE);
	assert_ptr_equal(whose_names(&incident, &judgement, NODE "/kubelet" POD CONTAINER "/app"),
		&incident.names);
	assert_ptr_equal(whose_names(&incident, &judgement, NODE "/kubelet" POD), &incident.names);
	assert_null(whose_names(&incident, &judgement, NODE));
	assert_null(whose_names(&incident, &judgement, POD "/" OTHER));
}

static void what_is_not_known_has_a_reason(void **state)
{
	static const struct {
		uint32_t troubles;
		const char *says;
	} cases[] = {
		{NAMES_NO_LOGS | NAMES_NO_STATE, "/var/log/containers and its runtime's folder"},
		{NAMES_NO_STATE, "its runtime's folder is not there"},
		{NAMES_NO_LOGS | NAMES_NO_RECORD, "and /var/log/containers is not there"},
		{NAMES_NO_RECORD, "neither /var/log nor"},
		{NAMES_NOT_PERMITTED | NAMES_NO_LOGS, "CAP_DAC_READ_SEARCH"},
		{NAMES_TOO_LARGE, "larger than 1 MiB"},
		{NAMES_BROKEN, "not whole"},
		{NAMES_TOO_LONG, "longer than"},
		{NAMES_NOT_ASKED, "while it was there"},
		{0, "not looked for"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		incident.names.troubles = cases[i].troubles;
		judge("/kubepods/pod" UID "/" ID, NULL);
		assert_int_equal(judgement.missing_count, 4);
		assert_non_null(strstr(why("container_name"), cases[i].says));
		assert_non_null(strstr(why("pod_name"), cases[i].says));
		assert_non_null(strstr(why("pod_namespace"), cases[i].says));
		assert_non_null(strstr(why("runtime"), cases[i].says));
	}
}

static void what_cannot_be_is_not_missed(void **state)
{
	(void)state;
	judge("/system.slice/x.service", NULL);
	assert_int_equal(judgement.missing_count, 0);
	judge("/lxc.payload.web", NULL);
	assert_int_equal(judgement.missing_count, 0);
	judge("/docker/" ID, NULL);
	assert_int_equal(judgement.missing_count, 1);
	assert_non_null(why("container_name"));
	name_all();
	judge(POD CONTAINER, NULL);
	assert_int_equal(judgement.missing_count, 0);
}

static void a_sandbox_and_a_log_say_why(void **state)
{
	(void)state;
	incident.names.sandbox = true;
	judge(POD CONTAINER, NULL);
	assert_non_null(strstr(why("container_name"), "sandbox"));
	without_names(NULL);
	incident.source = INCIDENT_IMPORTED;
	judge(POD CONTAINER, NULL);
	assert_non_null(strstr(why("pod_name"), "kernel logs tell ids"));
	without_names(NULL);
	judge("/libpod_parent/" OTHER "/libpod-" ID, NULL);
	assert_non_null(strstr(why("pod_name"), "database"));
	assert_null(why("pod_namespace"));
}

/* --- in words --- */

static void says(const char *victim, const char *wanted)
{
	judge(victim, NULL);
	buf_reset(&out);
	assert_int_equal(text_whose(&out, &incident, &judgement), wanted[0] != '\0');
	assert_string_equal(data, wanted);
}

static void a_container_is_said_in_words(void **state)
{
	(void)state;
	says(POD CONTAINER,
		"pod 1b4e28ba-2fa1-11d2-883f-0016d3cca427, container 9f3c41d2a0b1 (containerd)");
	says("/own/" ID, "container 9f3c41d2a0b1");
	says("/system.slice/x.service", "");
	says("/lxc.payload.web/x", "container web (lxc)");
	says("/slurm/uid_1/job_4/step_0", "Slurm job 4, step 0");
	says("/nomad.slice/1b4e28ba-2fa1-11d2-883f-0016d3cca427.api.scope",
		"container api (nomad 1b4e28ba-2fa1-11d2-883f-0016d3cca427)");
	name_all();
	says(POD CONTAINER, "pod train/bert-0, container trainer (containerd 9f3c41d2a0b1)");
	says(NODE POD CONTAINER,
		"pod train/bert-0, container trainer (containerd 9f3c41d2a0b1), in node "
		"001122334455");
	incident.names.sandbox = true;
	says(POD CONTAINER, "pod train/bert-0, its sandbox (containerd 9f3c41d2a0b1)");
	incident.names.sandbox = false;
	strcpy(incident.names.pod, "\x1b[2J");
	says(POD CONTAINER, "pod train/\\x1b[2J, container trainer (containerd 9f3c41d2a0b1)");
}

static void short_says(const char *path, const struct container_names *names, const char *wanted)
{
	buf_reset(&out);
	assert_int_equal(text_whose_short(&out, path, names), wanted[0] != '\0');
	assert_string_equal(data, wanted);
}

static void a_few_words_for_a_list(void **state)
{
	(void)state;
	short_says(POD CONTAINER, NULL, "pod 1b4e28ba-2fa1-11d2-883f-0016d3cca427/9f3c41d2a0b1");
	short_says("/docker/" ID, NULL, "9f3c41d2a0b1");
	short_says("/a/b", NULL, "");
	name_all();
	short_says(POD CONTAINER "/x", &incident.names, "train/bert-0/trainer");
	short_says(POD, &incident.names, "train/bert-0");
	short_says("/docker/" ID, &incident.names, "trainer");
}

/* --- in the record --- */

static void the_record_has_all_of_it(void **state)
{
	(void)state;
	name_all();
	judge(NODE "/kubelet" POD CONTAINER, NODE "/kubelet" POD);
	json_begin(&out, NULL, '{');
	json_whose(&out, &incident, &judgement);
	json_end(&out, '}');
	assert_string_equal(data,
		"{\"container_id\":\"" ID
		"\",\"container_name\":\"trainer\",\"pod_name\":\"bert-0\","
		"\"pod_namespace\":\"train\",\"pod_uid\":\"" UID "\",\"pod_qos\":\"burstable\","
		"\"runtime\":\"containerd\",\"node_container_id\":\"" OTHER "\"}");
	buf_reset(&out);
	judge("/slurm/uid_1/job_4/step_batch", NULL);
	memset(&incident.names, 0, sizeof(incident.names));
	json_begin(&out, NULL, '{');
	json_whose(&out, &incident, &judgement);
	json_end(&out, '}');
	assert_string_equal(
		data, "{\"runtime\":\"slurm\",\"victim_job\":\"4\",\"victim_step\":\"batch\"}");
}

static void a_line_of_growth_has_names(void **state)
{
	(void)state;
	name_all();
	json_begin(&out, NULL, '{');
	json_whose_cgroup(&out, POD CONTAINER, &incident.names);
	json_end(&out, '}');
	assert_string_equal(data, "{\"container_id\":\"" ID
				  "\",\"container_name\":\"trainer\",\"pod_name\":\"bert-0\","
				  "\"pod_namespace\":\"train\",\"pod_uid\":\"" UID "\"}");
	buf_reset(&out);
	json_begin(&out, NULL, '{');
	json_whose_cgroup(&out, "", NULL);
	json_end(&out, '}');
	assert_string_equal(data, "{}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(whose_limit_it_is_has_a_word, without_names),
		cmocka_unit_test_setup(where_nobody_was_killed_it_is_the_limits, without_names),
		cmocka_unit_test_setup(the_path_is_believed_before_the_disk, without_names),
		cmocka_unit_test_setup(names_are_of_one_container_and_its_pod, without_names),
		cmocka_unit_test_setup(what_is_not_known_has_a_reason, without_names),
		cmocka_unit_test_setup(what_cannot_be_is_not_missed, without_names),
		cmocka_unit_test_setup(a_sandbox_and_a_log_say_why, without_names),
		cmocka_unit_test_setup(a_container_is_said_in_words, without_names),
		cmocka_unit_test_setup(a_few_words_for_a_list, without_names),
		cmocka_unit_test_setup(the_record_has_all_of_it, without_names),
		cmocka_unit_test_setup(a_line_of_growth_has_names, without_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
