// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts/container.h"

#define A16 "9f3c41d2a0b15e6f"
#define ID A16 A16 A16 A16
#define NODE "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define UID "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
#define UID_ "1b4e28ba_2fa1_11d2_883f_0016d3cca427"
#define HASH "0123456789abcdef0123456789abcdef"
#define ALLOC "5b1a3f7e-1c2d-4e5f-8a9b-0c1d2e3f4a5b"

/* NULL and 0: the path does not tell it. `own` and `pod`: the cgroup of the container and of the
 * pod, as the beginning of the path up to the first "|" and "#" in it. */
struct row {
	const char *path;
	enum container_runtime runtime;
	const char *id, *pod_uid;
	enum pod_qos qos;
	enum cgroup_kind kind;
	const char *unit, *node, *name, *job, *step;
};

/* What a row leaves out at its end is not there. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
static const struct row rows[] = {
	/* Kubernetes, cgroupfs driver */
	{"/kubepods/pod" UID "#/" ID "|", 0, ID, UID, QOS_GUARANTEED, KIND_CONTAINER},
	{"/kubepods/burstable/pod" UID "#/" ID "|", 0, ID, UID, QOS_BURSTABLE, KIND_CONTAINER},
	{"/kubepods/besteffort/pod" UID "#/" ID "|", 0, ID, UID, QOS_BESTEFFORT, KIND_CONTAINER},
	{"/kubepods/burstable/pod" HASH "#/" ID "|", 0, ID, HASH, QOS_BURSTABLE, KIND_CONTAINER},
	{"/kubepods/burstable/pod" UID "#/" ID "|/app/worker-3", 0, ID, UID, QOS_BURSTABLE,
		KIND_CGROUP},
	{"/kubepods/burstable/pod" UID "#", 0, NULL, UID, QOS_BURSTABLE, KIND_POD},
	{"/kubepods/burstable", 0, NULL, NULL, 0, KIND_QOS_CLASS},
	{"/kubepods/besteffort", 0, NULL, NULL, 0, KIND_QOS_CLASS},
	{"/kubepods", 0, NULL, NULL, 0, KIND_KUBEPODS},
	/* Kubernetes, systemd driver, containerd */
	{"/kubepods.slice/kubepods-pod" UID_ ".slice#/cri-containerd-" ID ".scope|",
		RUNTIME_CONTAINERD, ID, UID, QOS_GUARANTEED, KIND_CONTAINER,
		"cri-containerd-" ID ".scope"},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	 ".slice#/cri-containerd-" ID ".scope|",
		RUNTIME_CONTAINERD, ID, UID, QOS_BURSTABLE, KIND_CONTAINER,
		"cri-containerd-" ID ".scope"},
	{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	 ".slice#/cri-containerd-" ID ".scope|",
		RUNTIME_CONTAINERD, ID, UID, QOS_BESTEFFORT, KIND_CONTAINER,
		"cri-containerd-" ID ".scope"},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" HASH
	 ".slice#/cri-containerd-" ID ".scope|",
		RUNTIME_CONTAINERD, ID, HASH, QOS_BURSTABLE, KIND_CONTAINER,
		"cri-containerd-" ID ".scope"},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice#", 0, NULL,
		UID, QOS_BURSTABLE, KIND_POD},
	{"/kubepods.slice/kubepods-burstable.slice", 0, NULL, NULL, 0, KIND_QOS_CLASS},
	{"/kubepods.slice", 0, NULL, NULL, 0, KIND_KUBEPODS},
	/* CRI-O; its monitor is no part of the container */
	{"/kubepods.slice/kubepods-pod" UID_ ".slice#/crio-" ID ".scope|", RUNTIME_CRIO, ID, UID,
		QOS_GUARANTEED, KIND_CONTAINER, "crio-" ID ".scope"},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice#/crio-" ID ".scope|/container", RUNTIME_CRIO,
		ID, UID, QOS_GUARANTEED, KIND_CONTAINER, "crio-" ID ".scope"},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice#/crio-conmon-" ID ".scope", 0, NULL, UID,
		QOS_GUARANTEED, KIND_SCOPE, "crio-conmon-" ID ".scope"},
	{"/kubepods/burstable/pod" UID "#/crio-" ID "|", RUNTIME_CRIO, ID, UID, QOS_BURSTABLE,
		KIND_CONTAINER},
	/* dockershim, cri-dockerd */
	{"/kubepods.slice/kubepods-pod" UID_ ".slice#/docker-" ID ".scope|", RUNTIME_DOCKER, ID,
		UID, QOS_GUARANTEED, KIND_CONTAINER, "docker-" ID ".scope"},
	/* the runtime took systemd's notation for the name of a folder */
	{"/system.slice/kubepods-besteffort-pod" UID_ ".slice:cri-containerd:" ID "|",
		RUNTIME_CONTAINERD, ID, UID, QOS_BESTEFFORT, KIND_CONTAINER},
	{"/kubepods-burstable-pod" UID_ ".slice:crio:" ID "|", RUNTIME_CRIO, ID, UID, QOS_BURSTABLE,
		KIND_CONTAINER},
	{"/system.slice:docker:" ID "|", RUNTIME_DOCKER, ID, NULL, 0, KIND_CONTAINER},
	/* Docker */
	{"/docker/" ID "|", RUNTIME_DOCKER, ID, NULL, 0, KIND_CONTAINER},
	{"/system.slice/docker-" ID ".scope|", RUNTIME_DOCKER, ID, NULL, 0, KIND_CONTAINER,
		"docker-" ID ".scope"},
	{"/system.slice/docker-" ID ".scope|/init.scope", RUNTIME_DOCKER, ID, NULL, 0, KIND_SCOPE,
		"init.scope"},
	{"/own-parent/" ID "|", 0, ID, NULL, 0, KIND_CONTAINER},
	{"/k8s.io/" ID "|", RUNTIME_CONTAINERD, ID, NULL, 0, KIND_CONTAINER},
	{"/user.slice/user-1000.slice/user@1000.service/user.slice/nerdctl-" ID ".scope|",
		RUNTIME_CONTAINERD, ID, NULL, 0, KIND_CONTAINER, "nerdctl-" ID ".scope"},
	/* Podman */
	{"/libpod_parent/libpod-" ID "|", RUNTIME_PODMAN, ID, NULL, 0, KIND_CONTAINER},
	{"/libpod_parent/" NODE "#/libpod-" ID "|", RUNTIME_PODMAN, ID, NODE, 0, KIND_CONTAINER},
	{"/libpod_parent/" NODE "#", 0, NULL, NODE, 0, KIND_POD},
	{"/libpod_parent/libpod-conmon-" ID, 0, NULL, NULL, 0, KIND_CGROUP},
	{"/machine.slice/libpod-" ID ".scope|", RUNTIME_PODMAN, ID, NULL, 0, KIND_CONTAINER,
		"libpod-" ID ".scope"},
	{"/machine.slice/libpod-" ID ".scope|/container", RUNTIME_PODMAN, ID, NULL, 0,
		KIND_CONTAINER, "libpod-" ID ".scope"},
	{"/machine.slice/libpod-" ID ".scope|/container/app", RUNTIME_PODMAN, ID, NULL, 0,
		KIND_CGROUP, "libpod-" ID ".scope"},
	{"/machine.slice/libpod-conmon-" ID ".scope", 0, NULL, NULL, 0, KIND_SCOPE,
		"libpod-conmon-" ID ".scope"},
	{"/machine.slice/machine-libpod_pod_" NODE ".slice#/libpod-" ID ".scope|", RUNTIME_PODMAN,
		ID, NODE, 0, KIND_CONTAINER, "libpod-" ID ".scope"},
	{"/machine.slice/machine-libpod_pod_" NODE ".slice#", 0, NULL, NODE, 0, KIND_POD},
	{"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope|/container",
		RUNTIME_PODMAN, ID, NULL, 0, KIND_CONTAINER, "libpod-" ID ".scope"},
	{"/user.slice/user-1000.slice/user@1000.service/user.slice/user-libpod_pod_" NODE
	 ".slice#/libpod-" ID ".scope|/container",
		RUNTIME_PODMAN, ID, NODE, 0, KIND_CONTAINER, "libpod-" ID ".scope"},
	{"/system.slice/web.service/libpod-payload-" ID "|", RUNTIME_PODMAN, ID, NULL, 0,
		KIND_CONTAINER, "web.service"},
	/* kind: the node is a container itself */
	{"/system.slice/docker-" NODE ".scope/kubelet.slice/kubelet-kubepods.slice/"
	 "kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod" UID_
	 ".slice#/cri-containerd-" ID ".scope|",
		RUNTIME_CONTAINERD, ID, UID, QOS_BURSTABLE, KIND_CONTAINER,
		"cri-containerd-" ID ".scope", NODE},
	{"/docker/" NODE "/kubelet/kubepods/besteffort/pod" UID "#/" ID "|", 0, ID, UID,
		QOS_BESTEFFORT, KIND_CONTAINER, NULL, NODE},
	{"/docker/" NODE "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
	 ".slice#/cri-containerd-" ID ".scope|",
		RUNTIME_CONTAINERD, ID, UID, QOS_GUARANTEED, KIND_CONTAINER,
		"cri-containerd-" ID ".scope", NODE},
	{"/docker/" NODE "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice",
		0, NULL, NULL, 0, KIND_QOS_CLASS, NULL, NODE},
	{"/docker/" NODE "/kubelet.slice/kubelet-kubepods.slice", 0, NULL, NULL, 0, KIND_KUBEPODS,
		NULL, NODE},
	{"/docker/" NODE "|/system.slice/kubelet.service", RUNTIME_DOCKER, NODE, NULL, 0,
		KIND_SERVICE, "kubelet.service"},
	{"/docker/" NODE "|", RUNTIME_DOCKER, NODE, NULL, 0, KIND_CONTAINER},
	{"/docker/" NODE "/docker/" ID "|", RUNTIME_DOCKER, ID, NULL, 0, KIND_CONTAINER, NULL,
		NODE},
	/* Docker in a pod's container: the pod stays */
	{"/kubepods/burstable/pod" UID "#/" NODE "/docker/" ID "|", RUNTIME_DOCKER, ID, UID,
		QOS_BURSTABLE, KIND_CONTAINER, NULL, NODE},
	/* ECS */
	{"/ecs/0123456789abcdef/" ID "|", RUNTIME_ECS, ID, NULL, 0, KIND_CONTAINER},
	{"/ecs/" HASH "/" HASH "-265927825|", RUNTIME_ECS, HASH "-265927825", NULL, 0,
		KIND_CONTAINER},
	{"/ecs/" HASH "/" HASH "-265927825|/app", RUNTIME_ECS, HASH "-265927825", NULL, 0,
		KIND_CGROUP},
	{"/ecstasks.slice/ecstasks-" HASH ".slice/docker-" ID ".scope|", RUNTIME_ECS, ID, NULL, 0,
		KIND_CONTAINER, "docker-" ID ".scope"},
	{"/ecstasks.slice/ecstasks-" HASH ".slice", 0, NULL, NULL, 0, KIND_SLICE},
	/* Slurm */
	{"/system.slice/slurmstepd.scope/job_42/step_0/user/task_1", RUNTIME_SLURM, NULL, NULL, 0,
		KIND_CGROUP, "slurmstepd.scope", NULL, NULL, "42", "0"},
	{"/system.slice/slurmstepd.scope/job_42/step_0/user", RUNTIME_SLURM, NULL, NULL, 0,
		KIND_STEP, "slurmstepd.scope", NULL, NULL, "42", "0"},
	{"/system.slice/n17_slurmstepd.scope/job_42/step_batch/user/task_special", RUNTIME_SLURM,
		NULL, NULL, 0, KIND_CGROUP, "n17_slurmstepd.scope", NULL, NULL, "42", "batch"},
	{"/system.slice/slurmstepd.scope/job_42/step_interactive", RUNTIME_SLURM, NULL, NULL, 0,
		KIND_STEP, "slurmstepd.scope", NULL, NULL, "42", "interactive"},
	{"/system.slice/slurmstepd.scope/job_42", RUNTIME_SLURM, NULL, NULL, 0, KIND_JOB,
		"slurmstepd.scope", NULL, NULL, "42"},
	{"/system.slice/slurmstepd.scope/system", 0, NULL, NULL, 0, KIND_CGROUP,
		"slurmstepd.scope"},
	{"/slurm/uid_1000/job_42/step_extern/task_0", RUNTIME_SLURM, NULL, NULL, 0, KIND_CGROUP,
		NULL, NULL, NULL, "42", "extern"},
	{"/slurm_n17/uid_1000/job_42/step_7", RUNTIME_SLURM, NULL, NULL, 0, KIND_STEP, NULL, NULL,
		NULL, "42", "7"},
	{"/slurm/uid_1000", 0, NULL, NULL, 0, KIND_CGROUP},
	{"/jobs/job_42/step_0", 0, NULL, NULL, 0, KIND_CGROUP},
	/* a container in a job */
	{"/slurm/uid_1000/job_42/step_0/libpod-" ID "|", RUNTIME_PODMAN, ID, NULL, 0,
		KIND_CONTAINER, NULL, NULL, NULL, "42", "0"},
	/* systemd */
	{"/system.slice/nginx.service", 0, NULL, NULL, 0, KIND_SERVICE, "nginx.service"},
	{"/system.slice/system-getty.slice/getty@tty1.service", 0, NULL, NULL, 0, KIND_SERVICE,
		"getty@tty1.service"},
	{"/system.slice/run-r" HASH ".scope", 0, NULL, NULL, 0, KIND_SCOPE, "run-r" HASH ".scope"},
	{"/machine.slice/machine-ml.slice/train.service", 0, NULL, NULL, 0, KIND_SERVICE,
		"train.service"},
	{"/user.slice/user-1000.slice/session-3.scope", 0, NULL, NULL, 0, KIND_SCOPE,
		"session-3.scope"},
	{"/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-firefox-5120.scope", 0,
		NULL, NULL, 0, KIND_SCOPE, "app-gnome-firefox-5120.scope"},
	{"/user.slice/user-1000.slice/user@1000.service/app.slice/app-org.gnome\\x2dterm.slice/"
	 "app-org.gnome\\x2dterm-1.scope",
		0, NULL, NULL, 0, KIND_SCOPE, "app-org.gnome\\x2dterm-1.scope"},
	{"/system.slice/_memory.service", 0, NULL, NULL, 0, KIND_SERVICE, "memory.service"},
	{"/system.slice/big.service/worker", 0, NULL, NULL, 0, KIND_CGROUP, "big.service"},
	{"/user.slice/user-1000.slice", 0, NULL, NULL, 0, KIND_SLICE},
	{"/.service", 0, NULL, NULL, 0, KIND_SERVICE},
	{"/system.slice/docker.socket", 0, NULL, NULL, 0, KIND_CGROUP, "docker.socket"},
	{"/init.scope", 0, NULL, NULL, 0, KIND_SCOPE, "init.scope"},
	/* LXC, nspawn; monitors and virtual machines are none */
	{"/lxc.payload.web|/system.slice/nginx.service", RUNTIME_LXC, "web", NULL, 0, KIND_SERVICE,
		"nginx.service", NULL, "web"},
	{"/lxc.payload.web|", RUNTIME_LXC, "web", NULL, 0, KIND_MACHINE, NULL, NULL, "web"},
	{"/lxc/101|/ns/init.scope", RUNTIME_LXC, "101", NULL, 0, KIND_SCOPE, "init.scope", NULL,
		"101"},
	{"/lxc/101|", RUNTIME_LXC, "101", NULL, 0, KIND_MACHINE, NULL, NULL, "101"},
	{"/lxc.payload/web|", RUNTIME_LXC, "web", NULL, 0, KIND_MACHINE, NULL, NULL, "web"},
	{"/lxc.monitor.web", 0, NULL, NULL, 0, KIND_CGROUP},
	{"/lxc.monitor/web", 0, NULL, NULL, 0, KIND_CGROUP},
	{"/lxc", 0, NULL, NULL, 0, KIND_CGROUP},
	{"/lxc.payload.web/system.slice/docker-" ID ".scope|", RUNTIME_DOCKER, ID, NULL, 0,
		KIND_CONTAINER, "docker-" ID ".scope", "web"},
	{"/machine.slice/machine-deb12.scope|", RUNTIME_NSPAWN, "deb12", NULL, 0, KIND_MACHINE,
		"machine-deb12.scope", NULL, "deb12"},
	{"/machine.slice/machine-my\\x2dbox.scope|/payload", RUNTIME_NSPAWN, "my-box", NULL, 0,
		KIND_CGROUP, "machine-my\\x2dbox.scope", NULL, "my-box"},
	{"/machine.slice/systemd-nspawn@deb12.service|/payload", RUNTIME_NSPAWN, "deb12", NULL, 0,
		KIND_CGROUP, "systemd-nspawn@deb12.service", NULL, "deb12"},
	{"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", 0, NULL, NULL, 0, KIND_SCOPE,
		"machine-qemu\\x2d1\\x2dvm.scope"},
	/* Nomad */
	{"/nomad.slice/" ALLOC ".web.scope|", RUNTIME_NOMAD, ALLOC, NULL, 0, KIND_CONTAINER,
		ALLOC ".web.scope", NULL, "web"},
	{"/nomad.slice/share.slice/" ALLOC ".my.web.scope|", RUNTIME_NOMAD, ALLOC, NULL, 0,
		KIND_CONTAINER, ALLOC ".my.web.scope", NULL, "my.web"},
	{"/nomad.slice/docker-" ID ".scope|", RUNTIME_DOCKER, ID, NULL, 0, KIND_CONTAINER,
		"docker-" ID ".scope"},
	{"/elsewhere.slice/" ALLOC ".web.scope", 0, NULL, NULL, 0, KIND_SCOPE, ALLOC ".web.scope"},
	/* what is nothing of the kind */
	{"/", 0, NULL, NULL, 0, KIND_CGROUP},
	{"", 0, NULL, NULL, 0, KIND_CGROUP},
	{"/workers", 0, NULL, NULL, 0, KIND_CGROUP},
	{"/docker", 0, NULL, NULL, 0, KIND_CGROUP},
	{"/docker/" A16, 0, NULL, NULL, 0, KIND_CGROUP},
	{"/docker/" ID "0", 0, NULL, NULL, 0, KIND_CGROUP},
	{"/docker/0" ID, 0, NULL, NULL, 0, KIND_CGROUP},
	{"/docker/" A16 A16 A16 "9F3C41D2A0B15E6F", 0, NULL, NULL, 0, KIND_CGROUP},
	{"/my-" ID ".scope", 0, NULL, NULL, 0, KIND_SCOPE, "my-" ID ".scope"},
	{"/mykubepods", 0, NULL, NULL, 0, KIND_CGROUP},
	{"/burstable", 0, NULL, NULL, 0, KIND_CGROUP},
	{"/kubepods/burstable/pod" UID "0/" ID "|", 0, ID, NULL, 0, KIND_CONTAINER},
	{"/kubepods/burstable/tripod" UID "/" ID "|", 0, ID, NULL, 0, KIND_CONTAINER},
	{"/apart/pod" UID "#/" ID "|", 0, ID, UID, QOS_UNKNOWN, KIND_CONTAINER},
	{"//docker//" ID "|", RUNTIME_DOCKER, ID, NULL, 0, KIND_CONTAINER},
	/* as seen from a cgroup namespace */
	{"/../../pod" UID "#/" ID "|", 0, ID, UID, QOS_UNKNOWN, KIND_CONTAINER},
};

/* The path without its marks, and where they were. */
static void unmark(const char *marked, char *path, size_t *own_end, size_t *pod_end)
{
	size_t len = 0;

	*own_end = *pod_end = 0;
	for (; *marked; marked++) {
		if (*marked == '|')
			*own_end = len;
		else if (*marked == '#')
			*pod_end = len;
		else
			path[len++] = *marked;
	}
	path[len] = '\0';
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

/* All of it in one text, so that a row that fails is shown. */
static void every_row_of_the_table_is_understood(void **state)
{
	static const char format[] = "%s: runtime %d id %s pod %s qos %d kind %d unit %s node %s "
				     "name %s job %s step %s own %zu pod %zu node %d";

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		char path[1024], wanted[4096], told[4096];
		struct container_path got;
		size_t own_end, pod_end;

		unmark(row->path, path, &own_end, &pod_end);
		snprintf(wanted, sizeof(wanted), format, path, row->runtime, or_empty(row->id),
			or_empty(row->pod_uid), row->qos, row->kind, or_empty(row->unit),
			or_empty(row->node), or_empty(row->name), or_empty(row->job),
			or_empty(row->step), own_end, pod_end, row->node != NULL);
		parse_container_path(path, &got);
		snprintf(told, sizeof(told), format, path, got.runtime, got.id, got.pod_uid,
			got.qos, got.kind, got.unit, got.node_id, got.name, got.job, got.step,
			got.own_end, got.pod_end, got.node_end != 0);
		assert_string_equal(told, wanted);
		assert_int_equal(parse_cgroup_kind(path), row->kind);
	}
}

/* A level's kind, up the chain of one victim. */
static void each_level_of_a_chain_has_its_kind(void **state)
{
	static const struct {
		const char *path;
		enum cgroup_kind kind;
	} levels[] = {
		{"/system.slice", KIND_SLICE},
		{"/docker-" NODE ".scope", KIND_CONTAINER},
		{"/kubelet.slice", KIND_SLICE},
		{"/kubelet-kubepods.slice", KIND_KUBEPODS},
		{"/kubelet-kubepods-burstable.slice", KIND_QOS_CLASS},
		{"/kubelet-kubepods-burstable-pod" UID_ ".slice", KIND_POD},
		{"/cri-containerd-" ID ".scope", KIND_CONTAINER},
		{"/worker", KIND_CGROUP},
	};
	char path[1024] = "";
	struct container_path whole;
	size_t node_end = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		strcat(path, levels[i].path);
		assert_int_equal(parse_cgroup_kind(path), levels[i].kind);
		if (i == 1)
			node_end = strlen(path);
	}
	parse_container_path(path, &whole);
	assert_int_equal(whole.node_end, node_end);
}

static void what_does_not_fit_is_not_kept(void **state)
{
	char path[4096] = "/system.slice/";
	struct container_path got;

	(void)state;
	memset(path + 14, 'u', 300);
	strcpy(path + 14 + 300, ".service");
	parse_container_path(path, &got);
	assert_string_equal(got.unit, "");
	assert_int_equal(got.kind, KIND_SERVICE);
	strcpy(path, "/lxc.payload.");
	memset(path + 13, 'n', 200);
	path[213] = '\0';
	parse_container_path(path, &got);
	assert_string_equal(got.id, "");
	assert_int_equal(got.kind, KIND_MACHINE);
	strcpy(path, "/slurm/uid_0/job_");
	memset(path + 17, '1', 100);
	path[117] = '\0';
	parse_container_path(path, &got);
	assert_string_equal(got.job, "");
}

static void a_very_long_path_is_read_to_its_end(void **state)
{
	size_t depth = 100000;
	char *path = malloc(depth * 2 + sizeof("/docker/" ID));
	struct container_path got;

	(void)state;
	for (size_t i = 0; i < depth; i++)
		memcpy(path + i * 2, "/a", 2);
	strcpy(path + depth * 2, "/docker/" ID);
	parse_container_path(path, &got);
	assert_string_equal(got.id, ID);
	assert_int_equal(got.own_end, strlen(path));
	free(path);
}

static void hostile_bytes_are_passed_on_as_they_are(void **state)
{
	struct container_path got;

	(void)state;
	parse_container_path("/lxc.payload.\x1b[31m\n\xff", &got);
	assert_string_equal(got.name, "\x1b[31m\n\xff");
	parse_container_path("/machine.slice/machine-a\\x00b.scope", &got);
	assert_string_equal(got.name, "");
	assert_int_equal(got.kind, KIND_SCOPE);
	parse_container_path("/machine.slice/machine-a\\x0ab\\x.scope", &got);
	assert_string_equal(got.name, "a\nb\\x");
}

static void names_are_those_of_the_record(void **state)
{
	(void)state;
	assert_null(container_runtime_name(RUNTIME_UNKNOWN));
	assert_string_equal(container_runtime_name(RUNTIME_CRIO), "cri-o");
	assert_null(container_runtime_name((enum container_runtime)99));
	assert_null(pod_qos_name(QOS_UNKNOWN));
	assert_string_equal(pod_qos_name(QOS_BESTEFFORT), "besteffort");
	assert_string_equal(cgroup_kind_name(KIND_CGROUP), "cgroup");
	assert_string_equal(cgroup_kind_name(KIND_MACHINE), "machine");
	assert_null(cgroup_kind_name((enum cgroup_kind)99));
}

/* What the fuzzer begins with. */
static int print_paths(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t own_end, pod_end;
		char path[1024];

		unmark(rows[i].path, path, &own_end, &pod_end);
		puts(path);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_of_the_table_is_understood),
		cmocka_unit_test(each_level_of_a_chain_has_its_kind),
		cmocka_unit_test(what_does_not_fit_is_not_kept),
		cmocka_unit_test(a_very_long_path_is_read_to_its_end),
		cmocka_unit_test(hostile_bytes_are_passed_on_as_they_are),
		cmocka_unit_test(names_are_those_of_the_record),
	};

	if (argc > 1 && !strcmp(argv[1], "--paths"))
		return print_paths();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
