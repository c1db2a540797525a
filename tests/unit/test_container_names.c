// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "names_fixture.h"

/* The names of one container in a tree, from all places as a batch reads them. */
struct found {
	const char *id;
	struct container_names names;
};

static void take_link(const char *id, const struct container_names *names, void *arg)
{
	struct found *found = arg;

	if (!strncmp(id, found->id, CONTAINER_HEX))
		names_merge(&found->names, names);
}

static void take_pod(const struct container_names *names, void *arg)
{
	struct found *found = arg;

	if (!strcmp(names->pod_uid, UID))
		names_merge(&found->names, names);
}

static struct container_names read_of(
	const char *root, enum container_runtime runtime, bool in_pod, uint32_t user)
{
	struct names_wanted wanted = {.id = ID, .runtime = runtime, .in_pod = in_pod, .user = user};
	struct found found = {.id = ID};
	struct names_reader *reader;

	assert_int_equal(names_reader_new(root, &reader), 0);
	read_log_links(reader, take_link, &found);
	read_pod_logs(reader, take_pod, &found);
	read_container_names(reader, &wanted, &found.names);
	read_storage_names(reader, user, take_link, &found);
	names_reader_free(reader);
	return found.names;
}

static struct container_names read_pod(const char *root)
{
	return read_of(root, RUNTIME_CONTAINERD, true, UINT32_MAX);
}

static struct container_names read_plain(const char *root, enum container_runtime runtime)
{
	return read_of(root, runtime, false, UINT32_MAX);
}

static void is(const struct container_names *names, const char *container, const char *pod,
	const char *namespace, const char *uid)
{
	assert_string_equal(names->container, container);
	assert_string_equal(names->pod, pod);
	assert_string_equal(names->namespace, namespace);
	assert_string_equal(names->pod_uid, uid);
}

static int setup(void **state)
{
	*state = tree_new();
	return 0;
}

static int teardown(void **state)
{
	tree_remove(*state);
	return 0;
}

/* --- the forms --- */

static void a_log_link_names_pod_namespace_and_container(void **state)
{
	struct container_names names;
	const char *id;

	(void)state;
	assert_int_equal(parse_log_link("bert-0.a_train_side-car-" ID ".log", &id, &names), 0);
	assert_memory_equal(id, ID, CONTAINER_HEX);
	is(&names, "side-car", "bert-0.a", "train", "");
}

static void other_files_are_no_log_links(void **state)
{
	static const char *const others[] = {"", ".", "..", ".log", ID ".log", "-" ID ".log",
		"bert-0_train_main-" ID, "bert-0_train_main-" ID ".log.gz",
		"bert-0_train_main" ID ".log", "bert-0_train_main-" A16 ".log",
		"bert-0_main-" ID ".log", "_train_main-" ID ".log", "bert-0__main-" ID ".log",
		"bert-0_train_-" ID ".log", "bert-0_train_main-" A16 A16 A16 "9F3C41D2A0B15E6F.log",
		"bert-0_train_main-" A16 A16 A16 "9f3c41d2a0b15e6g.log"};
	struct container_names names;
	const char *id;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(parse_log_link(others[i], &id, &names), -EINVAL);
}

static void a_name_that_does_not_fit_is_said(void **state)
{
	struct container_names names;
	char name[1024] = "";
	const char *id;

	(void)state;
	memset(name, 'p', 260);
	strcpy(name + 260, "_train_main-" ID ".log");
	assert_int_equal(parse_log_link(name, &id, &names), -ENAMETOOLONG);
}

static void the_target_of_a_link_tells_the_uid_of_the_same_pod_only(void **state)
{
	struct container_names names = {.pod = "bert-0", .namespace = "train"};

	(void)state;
	assert_int_equal(
		parse_log_target("/var/log/pods/train_other_" UID "/main/0.log", &names), -EINVAL);
	assert_int_equal(parse_log_target("", &names), -EINVAL);
	assert_int_equal(parse_log_target("0.log", &names), -EINVAL);
	assert_string_equal(names.pod_uid, "");
	assert_int_equal(
		parse_log_target("/elsewhere/train_bert-0_" UID "/main/12.log", &names), 0);
	assert_string_equal(names.pod_uid, UID);
}

/* --- Kubernetes --- */

static void log_links_to_nowhere_tell_all_names(void **state)
{
	struct container_names names;

	tree_pod_log(*state, "bert-0", "train", UID, "trainer", ID);
	tree_pod_log(*state, "web", "default", UID, "web", OTHER);
	names = read_pod(*state);
	is(&names, "trainer", "bert-0", "train", UID);
	assert_int_equal(names.troubles & ~(uint32_t)NAMES_NO_STATE, 0);
}

static void a_pods_log_folder_tells_pod_and_namespace(void **state)
{
	struct container_names names;

	tree_dir(*state, "/var/log/pods/train_bert-0_" UID "/trainer");
	tree_dir(*state, "/var/log/pods/train_other_" A16 A16);
	tree_dir(*state, "/var/log/pods/nothing");
	names = read_pod(*state);
	is(&names, "", "bert-0", "train", UID);
}

static void containerd_tells_names_by_annotations(void **state)
{
	struct container_names names;

	tree_file(*state, TASKS ID "/config.json", CRI_CONFIG("trainer", "bert-0", "train"));
	names = read_of(*state, RUNTIME_UNKNOWN, true, UINT32_MAX);
	is(&names, "trainer", "bert-0", "train", UID);
	assert_int_equal(names.runtime, RUNTIME_CONTAINERD);
	assert_int_equal(names.troubles, 0);
}

static void k3s_has_containerds_folder_elsewhere(void **state)
{
	struct container_names names;

	tree_file(*state,
		"/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
		CRI_CONFIG("trainer", "bert-0", "train"));
	names = read_pod(*state);
	is(&names, "trainer", "bert-0", "train", UID);
}

static void the_log_link_is_believed_before_the_config(void **state)
{
	struct container_names names;

	tree_pod_log(*state, "bert-0", "train", UID, "trainer", ID);
	tree_file(*state, TASKS ID "/config.json", CRI_CONFIG("else", "other", "space"));
	names = read_of(*state, RUNTIME_UNKNOWN, true, UINT32_MAX);
	is(&names, "trainer", "bert-0", "train", UID);
	assert_int_equal(names.runtime, RUNTIME_CONTAINERD);
}

static void a_sandbox_has_a_pod_and_no_name(void **state)
{
	struct names_wanted wanted = {.in_pod = true, .runtime = RUNTIME_CONTAINERD};
	struct container_names names;

	tree_file(*state, TASKS ID "/config.json",
		"{\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\","
		"\"io.kubernetes.cri.sandbox-name\":\"bert-0\","
		"\"io.kubernetes.cri.sandbox-namespace\":\"train\"}}");
	names = read_pod(*state);
	is(&names, "", "bert-0", "train", "");
	assert_true(names.sandbox);
	assert_true(names_complete(&wanted, &names));
}

static void crio_keeps_labels_as_json_in_an_annotation(void **state)
{
	struct container_names names;

	tree_file(*state, "/run/containers/storage/overlay-containers/" ID "/userdata/config.json",
		"{\"annotations\":{\"io.container.manager\":\"cri-o\","
		"\"io.kubernetes.cri-o.ContainerType\":\"container\","
		"\"io.kubernetes.cri-o.Labels\":\"{\\\"io.kubernetes.container.name\\\":\\\"trainer\\\","
		"\\\"io.kubernetes.pod.name\\\":\\\"bert-0\\\",\\\"io.kubernetes.pod.namespace\\\":"
		"\\\"train\\\",\\\"io.kubernetes.pod.uid\\\":\\\"" UID "\\\"}\"}}");
	names = read_of(*state, RUNTIME_UNKNOWN, true, UINT32_MAX);
	is(&names, "trainer", "bert-0", "train", UID);
	assert_int_equal(names.runtime, RUNTIME_CRIO);
}

static void crio_has_plain_annotations_too(void **state)
{
	struct container_names names;

	tree_file(*state, STORAGE ID "/userdata/config.json",
		"{\"annotations\":{\"io.kubernetes.container.name\":\"trainer\","
		"\"io.kubernetes.cri-o.KubeName\":\"bert-0\","
		"\"io.kubernetes.cri-o.Namespace\":\"train\","
		"\"io.kubernetes.cri-o.Labels\":\"{half\"}}");
	names = read_of(*state, RUNTIME_CRIO, true, UINT32_MAX);
	is(&names, "trainer", "bert-0", "train", "");
}

/* --- without Kubernetes --- */

static void docker_tells_the_name(void **state)
{
	struct container_names names;

	tree_file(*state, DOCKER ID "/config.v2.json", DOCKER_CONFIG("t1", ""));
	names = read_plain(*state, RUNTIME_UNKNOWN);
	is(&names, "t1", "", "", "");
	assert_int_equal(names.runtime, RUNTIME_DOCKER);
	names = read_plain(*state, RUNTIME_ECS);
	is(&names, "t1", "", "", "");
}

static void docker_below_kubernetes_has_labels(void **state)
{
	struct container_names names;

	tree_file(*state, DOCKER ID "/config.v2.json",
		DOCKER_CONFIG("k8s_trainer_bert-0_train_" UID "_0",
			"\"io.kubernetes.container.name\":\"trainer\","
			"\"io.kubernetes.pod.name\":\"bert-0\","
			"\"io.kubernetes.pod.namespace\":\"train\","
			"\"io.kubernetes.docker.type\":\"container\","
			"\"io.kubernetes.pod.uid\":\"" UID "\""));
	names = read_of(*state, RUNTIME_DOCKER, true, UINT32_MAX);
	is(&names, "trainer", "bert-0", "train", UID);
}

static void moby_in_containerds_folder_is_docker(void **state)
{
	struct container_names names;

	tree_file(*state, "/run/containerd/io.containerd.runtime.v2.task/moby/" ID "/config.json",
		"{\"annotations\":null}");
	names = read_plain(*state, RUNTIME_UNKNOWN);
	assert_int_equal(names.runtime, RUNTIME_DOCKER);
	is(&names, "", "", "", "");
	assert_int_equal(names.troubles, NAMES_NO_RECORD);
}

static void podmans_names_are_in_the_list_of_its_storage(void **state)
{
	struct container_names names;

	tree_file(*state, STORAGE ID "/userdata/config.json", PODMAN_CONFIG);
	tree_file(*state, "/var/lib/containers/storage/overlay-containers/containers.json",
		STORAGE_LIST(ID, "mytest"));
	names = read_plain(*state, RUNTIME_UNKNOWN);
	is(&names, "mytest", "", "", OTHER);
	assert_int_equal(names.runtime, RUNTIME_PODMAN);
}

static void a_users_podman_is_found_in_the_home(void **state)
{
#define HOME_STORAGE "/srv/ann/.local/share/containers/storage/overlay-containers/"
	struct container_names names;

	tree_file(*state, "/etc/passwd",
		"root:x:0:0:root:/root:/bin/sh\nbroken\nann:x:1000:1000:Ann,,,:/srv/ann:/bin/sh\n"
		"bob:x:10000:1000::/srv/bob:/bin/sh\n");
	tree_file(*state, HOME_STORAGE ID "/userdata/config.json", PODMAN_CONFIG);
	tree_file(*state, HOME_STORAGE "containers.json", STORAGE_LIST(ID, "mine"));
	names = read_of(*state, RUNTIME_PODMAN, false, 1000);
	is(&names, "mine", "", "", OTHER);
	names = read_of(*state, RUNTIME_PODMAN, false, 10000);
	is(&names, "", "", "", "");
	names = read_of(*state, RUNTIME_PODMAN, false, 77);
	is(&names, "", "", "", "");
}

/* --- what is wrong --- */

static void half_a_file_is_no_file(void **state)
{
	static const char whole[] = CRI_CONFIG("trainer", "bert-0", "train");
	struct container_names names;
	char half[sizeof(whole)];

	for (size_t len = 0; len < sizeof(whole) - 1; len += 7) {
		memcpy(half, whole, len);
		half[len] = '\0';
		tree_file(*state, TASKS ID "/config.json", half);
		names = read_pod(*state);
		is(&names, "", "", "", "");
		assert_true(names.troubles & NAMES_BROKEN);
	}
}

static void json_that_is_something_else_tells_nothing(void **state)
{
	static const char *const texts[] = {"[]", "{}", "{\"annotations\":7}",
		"{\"annotations\":{\"io.kubernetes.cri.container-name\":7}}",
		"{\"annotations\":{\"io.kubernetes.cri-o.Labels\":\"[]\"}}",
		"{\"annotations\":{\"io.kubernetes.cri.container-name\":\"\"}}"};
	struct container_names names;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		tree_file(*state, TASKS ID "/config.json", texts[i]);
		names = read_pod(*state);
		is(&names, "", "", "", "");
		assert_true(names.troubles & (NAMES_NO_RECORD | NAMES_BROKEN));
	}
}

static void a_file_above_the_bound_is_not_read(void **state)
{
	char *text = malloc(NAMES_FILE_MAX + 2);
	struct container_names names;
	size_t len = strlen(CRI_CONFIG("trainer", "bert-0", "train"));

	memcpy(text, CRI_CONFIG("trainer", "bert-0", "train"), len);
	memset(text + len, ' ', NAMES_FILE_MAX + 1 - len);
	tree_bytes(*state, TASKS ID "/config.json", text, NAMES_FILE_MAX + 1);
	names = read_pod(*state);
	is(&names, "", "", "", "");
	assert_true(names.troubles & NAMES_TOO_LARGE);
	tree_bytes(*state, TASKS ID "/config.json", text, NAMES_FILE_MAX);
	names = read_pod(*state);
	is(&names, "trainer", "bert-0", "train", UID);
	free(text);
}

/* What would take hundreds of megabytes once it was parsed. */
static void a_file_made_to_take_memory_is_given_up(void **state)
{
	char *text = malloc(NAMES_FILE_MAX);
	struct container_names names;

	for (size_t i = 0; i < NAMES_FILE_MAX; i++)
		text[i] = i == 0 ? '[' : "{},"[(i - 1) % 3];
	tree_bytes(*state, TASKS ID "/config.json", text, NAMES_FILE_MAX);
	names = read_pod(*state);
	assert_true(names.troubles & NAMES_BROKEN);
	memset(text, '[', NAMES_FILE_MAX);
	tree_bytes(*state, TASKS ID "/config.json", text, NAMES_FILE_MAX);
	names = read_pod(*state);
	assert_true(names.troubles & NAMES_BROKEN);
	free(text);
}

static void hostile_names_are_kept_as_they_are(void **state)
{
	struct container_names names;

	tree_pod_log(*state, "\x1b[2Jpod", "sp\nace", UID, "c\xff\"", ID);
	names = read_pod(*state);
	is(&names, "c\xff\"", "\x1b[2Jpod", "sp\nace", UID);
}

static void hostile_names_in_json_too(void **state)
{
	struct container_names names;

	tree_file(
		*state, TASKS ID "/config.json", CRI_CONFIG("\\u001b[31m", "../../etc", "a/b\\\\"));
	names = read_pod(*state);
	is(&names, "\x1b[31m", "../../etc", "a/b\\", UID);
	/* A name would end before its end. */
	tree_file(*state, TASKS ID "/config.json", CRI_CONFIG("a\\u0000b", "p", "n"));
	names = read_pod(*state);
	is(&names, "", "", "", "");
	assert_true(names.troubles & NAMES_BROKEN);
}

static void a_long_name_is_left_out_and_said(void **state)
{
	char text[4096], name[400];
	struct container_names names;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(text, sizeof(text),
		"{\"annotations\":{\"io.kubernetes.cri.container-name\":\"%s\","
		"\"io.kubernetes.cri.sandbox-name\":\"bert-0\"}}",
		name);
	tree_file(*state, TASKS ID "/config.json", text);
	names = read_pod(*state);
	is(&names, "", "bert-0", "", "");
	assert_true(names.troubles & NAMES_TOO_LONG);
}

static void what_is_no_file_is_not_waited_for(void **state)
{
	struct container_names names;
	char path[PATH_MAX];

	tree_dir(*state, TASKS ID);
	snprintf(path, sizeof(path), "%s" TASKS ID "/config.json", (char *)*state);
	assert_int_equal(mkfifo(path, 0600), 0);
	names = read_pod(*state);
	is(&names, "", "", "", "");
	assert_true(names.troubles & NAMES_BROKEN);
}

static void a_folder_that_is_a_file_is_none(void **state)
{
	struct container_names names;

	tree_file(*state, "/var/log/containers", "no folder");
	tree_file(*state, "/run/containerd", "no folder");
	names = read_pod(*state);
	is(&names, "", "", "", "");
	assert_int_equal(names.troubles, NAMES_NO_STATE | NAMES_NO_LOGS);
}

static void nothing_there_is_said_as_such(void **state)
{
	struct container_names names = read_pod(*state);

	assert_int_equal(names.troubles, NAMES_NO_STATE | NAMES_NO_LOGS);
	tree_dir(*state, TASKS);
	names = read_pod(*state);
	assert_int_equal(names.troubles, NAMES_NO_RECORD | NAMES_NO_LOGS);
	tree_dir(*state, "/var/log/pods");
	names = read_pod(*state);
	assert_int_equal(names.troubles, NAMES_NO_RECORD);
}

/* --- links --- */

/* As the host would: below its own root. */
static void links_are_resolved_in_the_root(void **state)
{
	struct container_names names;

	tree_file(*state, "/data/docker/containers/" ID "/config.v2.json", DOCKER_CONFIG("t1", ""));
	tree_link(*state, "/var/lib/docker", "/data/docker");
	names = read_plain(*state, RUNTIME_DOCKER);
	is(&names, "t1", "", "", "");
}

static void a_link_does_not_lead_out_of_the_root(void **state)
{
	char *outside = tree_new(), target[PATH_MAX];
	struct container_names names;

	tree_file(outside, "/config.json", CRI_CONFIG("secret", "secret", "secret"));
	snprintf(target, sizeof(target), "%s/config.json", outside);
	tree_link(*state, TASKS ID "/config.json", target);
	names = read_pod(*state);
	is(&names, "", "", "", "");
	snprintf(target, sizeof(target), "%s" TASKS ID "/config.json", (char *)*state);
	assert_int_equal(unlink(target), 0);
	snprintf(target, sizeof(target),
		"../../../../../../../../../../../../../../..%s/config.json", outside);
	tree_link(*state, TASKS ID "/config.json", target);
	names = read_pod(*state);
	is(&names, "", "", "", "");
	tree_remove(outside);
}

/* --- in a child, with less than this process has --- */

static void in_child(void (*fn)(const char *root), const char *root)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		fn(root);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void expect_child(bool good)
{
	if (!good)
		_exit(1);
}

/* As a container's seccomp filter does it that was written before openat2(2). */
static void refuse_openat2(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	expect_child(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
		     !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static void read_without_openat2(const char *root)
{
	struct container_names names;

	refuse_openat2();
	names = read_plain(root, RUNTIME_UNKNOWN);
	expect_child(!strcmp(names.container, "t1"));
	names = read_pod(root);
	expect_child(!names.container[0] && names.troubles & NAMES_BROKEN);
}

static void without_openat2_no_link_is_followed(void **state)
{
	tree_file(*state, DOCKER ID "/config.v2.json", DOCKER_CONFIG("t1", ""));
	tree_file(*state, "/there.json", CRI_CONFIG("trainer", "bert-0", "train"));
	tree_link(*state, TASKS ID "/config.json", "/there.json");
	in_child(read_without_openat2, *state);
}

static void read_without_rights(const char *root)
{
	struct container_names names;

	expect_child(!setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534));
	names = read_pod(root);
	expect_child(!names.container[0] && names.troubles & NAMES_NOT_PERMITTED);
	expect_child(!(names.troubles & NAMES_NO_RECORD));
}

/* Only root may become somebody else; whoever runs this as somebody else lacks the right as it is.
 */
static void a_file_that_may_not_be_read_is_said(void **state)
{
	char path[PATH_MAX];

	tree_file(*state, TASKS ID "/config.json", CRI_CONFIG("trainer", "bert-0", "train"));
	snprintf(path, sizeof(path), "%s" TASKS ID "/config.json", (char *)*state);
	assert_int_equal(chmod(path, 0), 0);
	assert_int_equal(chmod(*state, 0755), 0);
	if (geteuid() == 0)
		in_child(read_without_rights, *state);
	else
		assert_true(read_pod(*state).troubles & NAMES_NOT_PERMITTED);
}

/* --- doctor, wanted --- */

static void places_tell_what_is_there(void **state)
{
	const struct names_place *places;
	struct names_reader *reader;
	size_t count, there = 0;

	tree_dir(*state, "/var/log/pods");
	assert_int_equal(names_reader_new(*state, &reader), 0);
	count = names_places(reader, &places);
	for (size_t i = 0; i < count; i++) {
		assert_non_null(places[i].gives);
		there += !places[i].error;
	}
	assert_int_equal(there, 1);
	assert_string_equal(places[0].path, "/var/log/containers");
	assert_int_equal(places[0].error, -ENOENT);
	names_reader_free(reader);
}

static void a_root_that_is_not_there_is_an_error(void **state)
{
	struct names_reader *reader;

	(void)state;
	assert_int_equal(names_reader_new("/no/such/root", &reader), -ENOENT);
}

static void only_ids_of_runtimes_are_looked_for(void **state)
{
	static const char *const others[] = {
		"/lxc.payload.web", "/system.slice/x.service", "/ecs/0123/0123456789-17", "/"};
	struct container_path path;
	struct names_wanted wanted;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		parse_container_path(others[i], &path);
		assert_false(names_wanted_of(&path, &wanted));
	}
	parse_container_path("/kubepods/burstable/pod" UID "/" ID "/x", &path);
	assert_true(names_wanted_of(&path, &wanted));
	assert_string_equal(wanted.id, ID);
	assert_true(wanted.in_pod);
	assert_int_equal(wanted.user, UINT32_MAX);
	parse_container_path("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
			     ".scope",
		&path);
	assert_true(names_wanted_of(&path, &wanted));
	assert_false(wanted.in_pod);
	assert_int_equal(wanted.user, 1000);
}

#define TREE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_log_link_names_pod_namespace_and_container),
		cmocka_unit_test(other_files_are_no_log_links),
		cmocka_unit_test(a_name_that_does_not_fit_is_said),
		cmocka_unit_test(the_target_of_a_link_tells_the_uid_of_the_same_pod_only),
		TREE(log_links_to_nowhere_tell_all_names),
		TREE(a_pods_log_folder_tells_pod_and_namespace),
		TREE(containerd_tells_names_by_annotations),
		TREE(k3s_has_containerds_folder_elsewhere),
		TREE(the_log_link_is_believed_before_the_config),
		TREE(a_sandbox_has_a_pod_and_no_name),
		TREE(crio_keeps_labels_as_json_in_an_annotation),
		TREE(crio_has_plain_annotations_too),
		TREE(docker_tells_the_name),
		TREE(docker_below_kubernetes_has_labels),
		TREE(moby_in_containerds_folder_is_docker),
		TREE(podmans_names_are_in_the_list_of_its_storage),
		TREE(a_users_podman_is_found_in_the_home),
		TREE(half_a_file_is_no_file),
		TREE(json_that_is_something_else_tells_nothing),
		TREE(a_file_above_the_bound_is_not_read),
		TREE(a_file_made_to_take_memory_is_given_up),
		TREE(hostile_names_are_kept_as_they_are),
		TREE(hostile_names_in_json_too),
		TREE(a_long_name_is_left_out_and_said),
		TREE(what_is_no_file_is_not_waited_for),
		TREE(a_folder_that_is_a_file_is_none),
		TREE(nothing_there_is_said_as_such),
		TREE(links_are_resolved_in_the_root),
		TREE(a_link_does_not_lead_out_of_the_root),
		TREE(without_openat2_no_link_is_followed),
		TREE(a_file_that_may_not_be_read_is_said),
		TREE(places_tell_what_is_there),
		cmocka_unit_test(a_root_that_is_not_there_is_an_error),
		cmocka_unit_test(only_ids_of_runtimes_are_looked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
