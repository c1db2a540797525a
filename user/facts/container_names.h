/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container_names.h: what a container and its pod are called, from what is on the host's disk.
 *
 * No runtime and no API server is asked. In the order in which they are believed: the links of
 * /var/log/containers, the folders of /var/log/pods, containerd's, CRI-O's and Podman's
 * config.json, Docker's config.v2.json (docs/containers.md). All below the root that the reader was
 * opened with; links are resolved in it. Names are arbitrary bytes. A value that is known is never
 * overwritten.
 *
 * Reading allocates nothing but what names_reader_new() took: JSON is parsed in an arena. One
 * reader at a time parses.
 */
#ifndef OOMSNOOP_FACTS_CONTAINER_NAMES_H
#define OOMSNOOP_FACTS_CONTAINER_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "facts/container.h"

#define POD_NAME_LEN 254 /* 253 in Kubernetes */
#define POD_NAMESPACE_LEN 64 /* 63 */
#define NAMES_FILE_MAX (1U << 20) /* a larger file counts as not readable */

/* What the last look met with. */
enum names_trouble {
	NAMES_NO_LOGS = 1 << 0, /* neither /var/log/containers nor /var/log/pods is there */
	NAMES_NO_STATE = 1 << 1, /* no folder of a runtime's is there that might have it */
	NAMES_NOT_PERMITTED = 1 << 2,
	NAMES_TOO_LARGE = 1 << 3, /* a file has more than NAMES_FILE_MAX bytes */
	NAMES_BROKEN = 1 << 4, /* a file is no whole JSON, or needs more memory than there is */
	NAMES_TOO_LONG = 1 << 5, /* a name does not fit and was left out */
	NAMES_NO_RECORD = 1 << 6, /* folders are there, but nothing of this container in them */
	NAMES_NOT_ASKED = 1 << 7, /* not looked for yet, or no longer kept */
};

struct container_names {
	enum container_runtime runtime;
	bool sandbox; /* the container that holds a pod's namespaces, and has no name */
	uint32_t troubles; /* enum names_trouble */
	char container[CONTAINER_NAME_LEN];
	char pod[POD_NAME_LEN];
	char namespace[POD_NAMESPACE_LEN];
	char pod_uid[CONTAINER_ID_LEN];
};

/* What is asked for: out of the path. */
struct names_wanted {
	char id[CONTAINER_HEX + 1];
	enum container_runtime runtime; /* as far as the path tells */
	bool in_pod; /* of Kubernetes */
	uint32_t user; /* whose session it runs in; UINT32_MAX: in none */
};

struct names_reader;

/* `root`: where the host's file system is seen; "" is "/". 0 or -errno. */
int names_reader_new(const char *root, struct names_reader **ret);
void names_reader_free(struct names_reader *reader);

/* Looks which of the places are there. Once before a batch. */
void names_look(struct names_reader *reader);

/* Of a path; false: there is no container in it whose names are kept anywhere. */
bool names_wanted_of(const struct container_path *path, struct names_wanted *ret);

/* Has everything that such a container can have. */
bool names_complete(const struct names_wanted *wanted, const struct container_names *names);

/* --- whole folders, once a batch: fn is called for each entry of the right form --- */

/* A link of /var/log/containers: id (not terminated, CONTAINER_HEX digits), and its names. */
typedef void (*names_link_fn)(const char *id, const struct container_names *names, void *arg);
void read_log_links(struct names_reader *reader, names_link_fn fn, void *arg);

/* A folder of /var/log/pods: the pod's uid, name and namespace. */
typedef void (*names_pod_fn)(const struct container_names *names, void *arg);
void read_pod_logs(struct names_reader *reader, names_pod_fn fn, void *arg);

/* The names in containers/storage, which Podman's own config.json lacks: root's, or a user's. */
void read_storage_names(struct names_reader *reader, uint32_t user, names_link_fn fn, void *arg);

/* --- one container: no folder is listed --- */
void read_container_names(struct names_reader *reader, const struct names_wanted *wanted,
	struct container_names *ret);

/* Takes over what `from` knows and `ret` does not. */
void names_merge(struct container_names *ret, const struct container_names *from);

/* --- pure parts --- */

/* "<pod>_<namespace>_<container>-<id>.log"; -EINVAL: of another form; -ENAMETOOLONG. */
int parse_log_link(const char *name, const char **ret_id, struct container_names *ret);
/* "<namespace>_<pod>_<uid>" */
int parse_pod_log(const char *name, struct container_names *ret);
/* The pod's uid out of the target of a log link, ".../<namespace>_<pod>_<uid>/<container>/0.log",
 * if it is of the pod that `ret` is of. */
int parse_log_target(const char *target, struct container_names *ret);

/* --- for `doctor` --- */

struct names_place {
	const char *path; /* below the root */
	const char *gives; /* which names come from there */
	int error; /* 0: it is there and can be listed */
};
#define NAMES_PLACES_MAX 16
size_t names_places(const struct names_reader *reader, const struct names_place **ret);

#endif /* OOMSNOOP_FACTS_CONTAINER_NAMES_H */
