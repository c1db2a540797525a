/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container.h: whose cgroup it is, by its path alone.
 *
 * Paths are the kernel's, from the root of the memory hierarchy. Runtimes, Kubernetes, systemd,
 * Slurm and others put ids, uids and unit names into them: docs/containers.md has the table. Pure;
 * any bytes of any length are taken. What the path does not tell is "" or 0. Whoever may make
 * cgroups may name one like a container: it is a name, no proof.
 */
#ifndef OOMSNOOP_FACTS_CONTAINER_H
#define OOMSNOOP_FACTS_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTAINER_HEX 64 /* digits of an id that containerd, CRI-O, Docker or Podman made */
#define CONTAINER_ID_LEN 80 /* others name theirs; a longer one is not kept */
#define CONTAINER_NAME_LEN 128
#define CONTAINER_UNIT_LEN 257 /* UNIT_NAME_MAX of systemd, and its end */
#define CONTAINER_STEP_LEN 32

enum container_runtime {
	RUNTIME_UNKNOWN = 0,
	RUNTIME_CONTAINERD = 1,
	RUNTIME_CRIO = 2,
	RUNTIME_DOCKER = 3,
	RUNTIME_PODMAN = 4,
	RUNTIME_LXC = 5,
	RUNTIME_NSPAWN = 6,
	RUNTIME_SLURM = 7,
	RUNTIME_ECS = 8,
	RUNTIME_NOMAD = 9,
};

enum pod_qos {
	QOS_UNKNOWN = 0,
	QOS_GUARANTEED = 1,
	QOS_BURSTABLE = 2,
	QOS_BESTEFFORT = 3,
};

enum cgroup_kind {
	KIND_CGROUP = 0, /* nothing more is known of it; the root, too */
	KIND_CONTAINER = 1,
	KIND_POD = 2,
	KIND_QOS_CLASS = 3, /* all burstable, or all best-effort, pods of a node */
	KIND_KUBEPODS = 4, /* all pods of a node */
	KIND_SERVICE = 5,
	KIND_SCOPE = 6,
	KIND_SLICE = 7,
	KIND_JOB = 8,
	KIND_STEP = 9,
	KIND_MACHINE = 10, /* a whole container of LXC or systemd-nspawn */
};

struct container_path {
	enum container_runtime runtime; /* of `id`; of a Slurm job */
	enum pod_qos qos;
	enum cgroup_kind kind; /* of the path's last cgroup */
	/* How much of the path names the cgroup of the container, of its pod, of the outermost
	 * container around: bytes; 0: there is none. */
	size_t own_end, pod_end, node_end;
	char id[CONTAINER_ID_LEN]; /* of the innermost container */
	char name[CONTAINER_NAME_LEN]; /* where the path has one: LXC, nspawn, Nomad */
	char pod_uid[CONTAINER_ID_LEN]; /* with dashes; of a Podman pod its id */
	char node_id[CONTAINER_ID_LEN]; /* a container that is a node, as kind has them */
	char unit[CONTAINER_UNIT_LEN]; /* of systemd, the innermost, as systemctl takes it */
	char job[CONTAINER_STEP_LEN], step[CONTAINER_STEP_LEN]; /* of Slurm */
	uint32_t user; /* whose slice it is in; UINT32_MAX: in none */
};

void parse_container_path(const char *path, struct container_path *ret);

/* Of the last cgroup of a path. */
enum cgroup_kind parse_cgroup_kind(const char *path);

/* 64 digits, as runtimes write them, and nothing else. */
bool container_is_hex(const char *text, size_t len);

/* Names as in the record; NULL: not known. */
const char *container_runtime_name(enum container_runtime runtime);
const char *pod_qos_name(enum pod_qos qos);
const char *cgroup_kind_name(enum cgroup_kind kind);

#endif /* OOMSNOOP_FACTS_CONTAINER_H */
