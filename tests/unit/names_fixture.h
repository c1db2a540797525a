/* SPDX-License-Identifier: Apache-2.0 */
/* names_fixture.h: what container runtimes leave on a host's disk, made below a tree of tree.h. */
#ifndef OOMSNOOP_TESTS_NAMES_FIXTURE_H
#define OOMSNOOP_TESTS_NAMES_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "facts/container_names.h"
#include "tree.h"

#define A16 "9f3c41d2a0b15e6f"
#define ID A16 A16 A16 A16
#define OTHER "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define UID "1b4e28ba-2fa1-11d2-883f-0016d3cca427"

#define TASKS "/run/containerd/io.containerd.runtime.v2.task/k8s.io/"
#define STORAGE "/var/lib/containers/storage/overlay-containers/"
#define DOCKER "/var/lib/docker/containers/"

/* As containerd's CRI writes it for a container of a pod. */
#define CRI_CONFIG(container, pod, space)                                                          \
	"{\"ociVersion\":\"1.0.2\",\"process\":{\"args\":[\"sh\"]},\"annotations\":{"              \
	"\"io.kubernetes.cri.container-name\":\"" container                                        \
	"\",\"io.kubernetes.cri.container-type\":\"container\","                                   \
	"\"io.kubernetes.cri.sandbox-id\":\"" OTHER "\",\"io.kubernetes.cri.sandbox-name\":\"" pod \
	"\",\"io.kubernetes.cri.sandbox-namespace\":\"" space                                      \
	"\",\"io.kubernetes.cri.sandbox-uid\":\"" UID "\"},\"linux\":{\"cgroupsPath\":\"/x\"}}"

/* As Podman 4.3 writes it. */
#define PODMAN_CONFIG                                                                              \
	"{\"ociVersion\":\"1.0.2-dev\",\"annotations\":{\"io.container.manager\":\"libpod\","      \
	"\"io.kubernetes.cri-o.Created\":\"2026-11-30T14:17:06.571758296Z\","                      \
	"\"io.kubernetes.cri-o.SandboxID\":\"" OTHER "\"}}"

#define STORAGE_LIST(id, name)                                                                     \
	"[{\"id\":\"" id "\",\"names\":[\"" name "\"],\"image\":\"\",\"layer\":\"e31a\","          \
	"\"metadata\":\"{\\\"name\\\":\\\"" name "\\\"}\"}]"

#define DOCKER_CONFIG(name, labels)                                                                \
	"{\"StreamConfig\":{},\"State\":{\"Running\":true},\"ID\":\"" ID "\",\"Name\":\"/" name    \
	"\",\"Config\":{\"Hostname\":\"x\",\"Image\":\"y\",\"Labels\":{" labels "}}}"

/* The kubelet's two links of one container. */
static inline void tree_pod_log(const char *root, const char *pod, const char *space,
	const char *uid, const char *container, const char *id)
{
	char name[512], target[512];

	snprintf(target, sizeof(target), "/var/log/pods/%s_%s_%s/%s/0.log", space, pod, uid,
		container);
	tree_link(root, target, "/run/gone.log");
	snprintf(name, sizeof(name), "/var/log/containers/%s_%s_%s-%s.log", pod, space, container,
		id);
	tree_link(root, name, target);
}

#endif /* OOMSNOOP_TESTS_NAMES_FIXTURE_H */
