// SPDX-License-Identifier: Apache-2.0
#include "facts/container_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "facts/below.h"
#include "facts/names_json.h"
#include "facts/scan.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define LOG_LINKS "/var/log/containers"
#define POD_LOGS "/var/log/pods"
#define TASKS "/io.containerd.runtime.v2.task/"
#define PODS_GIVE "pods, namespaces and containers (containerd)"
#define PODMAN_GIVES "containers of CRI-O and Podman"
#define DOCKER_GIVES "containers of Docker"

enum place_form { FORM_LINKS, FORM_PODS, FORM_OCI, FORM_STORAGE, FORM_DOCKER };

static const struct place_row {
	const char *path, *gives;
	enum place_form form;
	enum container_runtime runtime; /* of what is found there */
} place_rows[] = {
	{LOG_LINKS, "pods, namespaces and containers (kubelet)", FORM_LINKS, RUNTIME_UNKNOWN},
	{POD_LOGS, "pods and namespaces (kubelet)", FORM_PODS, RUNTIME_UNKNOWN},
	{"/run/containerd" TASKS "k8s.io", PODS_GIVE, FORM_OCI, RUNTIME_CONTAINERD},
	{"/run/k3s/containerd" TASKS "k8s.io", PODS_GIVE, FORM_OCI, RUNTIME_CONTAINERD},
	{"/run/k0s/containerd" TASKS "k8s.io", PODS_GIVE, FORM_OCI, RUNTIME_CONTAINERD},
	{"/var/snap/microk8s/common/run/containerd" TASKS "k8s.io", PODS_GIVE, FORM_OCI,
		RUNTIME_CONTAINERD},
	{"/run/containerd" TASKS "default", "containers (containerd)", FORM_OCI,
		RUNTIME_CONTAINERD},
	{"/run/containers/storage/overlay-containers", PODMAN_GIVES, FORM_STORAGE, RUNTIME_CRIO},
	{"/var/lib/containers/storage/overlay-containers", PODMAN_GIVES, FORM_STORAGE,
		RUNTIME_CRIO},
	{"/var/lib/containers/storage/vfs-containers", PODMAN_GIVES, FORM_STORAGE, RUNTIME_CRIO},
	{"/var/lib/docker/containers", DOCKER_GIVES, FORM_DOCKER, RUNTIME_DOCKER},
	{"/var/snap/docker/common/var-lib-docker/containers", DOCKER_GIVES, FORM_DOCKER,
		RUNTIME_DOCKER},
	{"/run/containerd" TASKS "moby", "that it is one of Docker", FORM_OCI, RUNTIME_DOCKER},
	{"/run/docker/containerd/daemon" TASKS "moby", "that it is one of Docker", FORM_OCI,
		RUNTIME_DOCKER},
};
#define PLACES COUNT(place_rows)
_Static_assert(PLACES <= NAMES_PLACES_MAX, "each has a place in a report");

/* Below a user's home. */
static const struct place_row home_rows[] = {
	{"/.local/share/containers/storage/overlay-containers", NULL, FORM_STORAGE, RUNTIME_CRIO},
	{"/.local/share/containers/storage/vfs-containers", NULL, FORM_STORAGE, RUNTIME_CRIO},
	{"/.local/share/docker/containers", NULL, FORM_DOCKER, RUNTIME_DOCKER},
};

struct names_reader {
	int root_fd;
	struct names_place places[PLACES];
	struct json_arena arena;
	char *text; /* NAMES_FILE_MAX and an end */
};

int names_reader_new(const char *root, struct names_reader **ret)
{
	struct names_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader)
		return -ENOMEM;
	reader->root_fd = below_root(root);
	reader->text = malloc(NAMES_FILE_MAX + 1);
	err = reader->root_fd < 0 ? reader->root_fd : json_arena_init(&reader->arena);
	if (!err && !reader->text)
		err = -ENOMEM;
	if (err) {
		names_reader_free(reader);
		return err;
	}
	names_look(reader);
	*ret = reader;
	return 0;
}

void names_reader_free(struct names_reader *reader)
{
	if (!reader)
		return;
	if (reader->root_fd >= 0)
		close(reader->root_fd);
	json_arena_done(&reader->arena);
	free(reader->text);
	free(reader);
}

void names_look(struct names_reader *reader)
{
	for (size_t i = 0; i < PLACES; i++) {
		const struct place_row *row = &place_rows[i];
		bool listed = row->form == FORM_LINKS || row->form == FORM_PODS;
		int fd = below_open(
			reader->root_fd, row->path, (listed ? O_RDONLY : O_PATH) | O_DIRECTORY);

		reader->places[i] = (struct names_place) {row->path, row->gives, fd < 0 ? fd : 0};
		if (fd >= 0)
			close(fd);
	}
}

size_t names_places(const struct names_reader *reader, const struct names_place **ret)
{
	*ret = reader->places;
	return PLACES;
}

bool names_wanted_of(const struct container_path *path, struct names_wanted *ret)
{
	if (!container_is_hex(path->id, strlen(path->id)))
		return false;
	memcpy(ret->id, path->id, sizeof(ret->id));
	ret->runtime = path->runtime;
	ret->in_pod = path->pod_uid[0] && path->runtime != RUNTIME_PODMAN;
	ret->user = path->user;
	return true;
}

bool names_complete(const struct names_wanted *wanted, const struct container_names *names)
{
	if (!wanted->runtime && !names->runtime)
		return false;
	if (wanted->in_pod && (!names->pod[0] || !names->namespace[0]))
		return false;
	return names->container[0] || names->sandbox;
}

static void merge_text(char *ret, const char *from, size_t size)
{
	if (!ret[0])
		memcpy(ret, from, size);
}

void names_merge(struct container_names *ret, const struct container_names *from)
{
	if (!ret->runtime)
		ret->runtime = from->runtime;
	ret->sandbox |= from->sandbox;
	ret->troubles |= from->troubles;
	merge_text(ret->container, from->container, sizeof(ret->container));
	merge_text(ret->pod, from->pod, sizeof(ret->pod));
	merge_text(ret->namespace, from->namespace, sizeof(ret->namespace));
	merge_text(ret->pod_uid, from->pod_uid, sizeof(ret->pod_uid));
}

/* --- the forms of names in /var/log --- */

/* "<first>_<second>_<rest>": neither pods nor namespaces have a '_'. */
static bool split_names(
	struct scan text, struct scan *ret_first, struct scan *ret_second, struct scan *ret_rest)
{
	if (!scan_field(&text, '_', ret_first) || !scan_field(&text, '_', ret_second))
		return false;
	*ret_rest = text;
	return !scan_done(ret_first) && !scan_done(ret_second) && !scan_done(ret_rest);
}

int parse_log_link(const char *name, const char **ret_id, struct container_names *ret)
{
	static const char tail[] = ".log";
	size_t len = strlen(name), end = CONTAINER_HEX + sizeof(tail) - 1;
	struct scan pod, namespace, container;

	if (len <= end + 1 || strcmp(name + len - (sizeof(tail) - 1), tail) != 0 ||
		name[len - end - 1] != '-' || !container_is_hex(name + len - end, CONTAINER_HEX) ||
		!split_names(scan_of(name, len - end - 1), &pod, &namespace, &container))
		return -EINVAL;
	memset(ret, 0, sizeof(*ret));
	*ret_id = name + len - end;
	if (scan_copy(&pod, ret->pod, sizeof(ret->pod)) ||
		scan_copy(&namespace, ret->namespace, sizeof(ret->namespace)) ||
		scan_copy(&container, ret->container, sizeof(ret->container)))
		return -ENAMETOOLONG;
	return 0;
}

static int parse_pod_folder(struct scan name, struct container_names *ret)
{
	struct scan pod, namespace, uid;

	if (!split_names(name, &namespace, &pod, &uid))
		return -EINVAL;
	memset(ret, 0, sizeof(*ret));
	if (scan_copy(&pod, ret->pod, sizeof(ret->pod)) ||
		scan_copy(&namespace, ret->namespace, sizeof(ret->namespace)) ||
		scan_copy(&uid, ret->pod_uid, sizeof(ret->pod_uid)))
		return -ENAMETOOLONG;
	return 0;
}

int parse_pod_log(const char *name, struct container_names *ret)
{
	return parse_pod_folder(scan_of(name, strlen(name)), ret);
}

int parse_log_target(const char *target, struct container_names *ret)
{
	struct scan rest = scan_of(target, strlen(target)), last[3] = {{0}}, part;
	struct container_names folder;

	while (scan_field(&rest, '/', &part)) {
		last[0] = last[1];
		last[1] = last[2];
		last[2] = part;
	}
	if (parse_pod_folder(last[0], &folder) || strcmp(folder.pod, ret->pod) != 0 ||
		strcmp(folder.namespace, ret->namespace) != 0)
		return -EINVAL;
	if (!ret->pod_uid[0])
		memcpy(ret->pod_uid, folder.pod_uid, sizeof(ret->pod_uid));
	return 0;
}

/* --- whole folders --- */

static DIR *open_folder(const struct names_reader *reader, const char *path)
{
	int fd = below_open(reader->root_fd, path, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

/* The link is read, not followed: what it leads to may be gone, or be anything. */
static void read_link(DIR *dir, const char *name, struct container_names *names)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(dirfd(dir), name, target, sizeof(target) - 1);

	if (len <= 0)
		return;
	target[len] = '\0';
	parse_log_target(target, names);
}

void read_log_links(struct names_reader *reader, names_link_fn fn, void *arg)
{
	DIR *dir = open_folder(reader, LOG_LINKS);
	struct container_names names;
	struct dirent *entry;
	const char *id;

	if (!dir)
		return;
	while ((entry = readdir(dir)) != NULL) {
		int err = parse_log_link(entry->d_name, &id, &names);

		if (err == -EINVAL)
			continue;
		if (err)
			names.troubles |= NAMES_TOO_LONG;
		else
			read_link(dir, entry->d_name, &names);
		fn(id, &names, arg);
	}
	closedir(dir);
}

void read_pod_logs(struct names_reader *reader, names_pod_fn fn, void *arg)
{
	DIR *dir = open_folder(reader, POD_LOGS);
	struct container_names names;
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)) != NULL)
		if (!parse_pod_log(entry->d_name, &names))
			fn(&names, arg);
	closedir(dir);
}

/* --- homes --- */

/* "name:x:1000:1000:gecos:/home/name:/bin/sh" */
static bool is_user(struct scan line, uint32_t user, struct scan *ret_home)
{
	struct scan field;
	uint64_t number;

	for (int i = 0; i < 3; i++)
		if (!scan_field(&line, ':', &field))
			return false;
	if (!scan_u64(&field, &number) || !scan_done(&field) || number != user)
		return false;
	for (int i = 0; i < 3; i++)
		if (!scan_field(&line, ':', ret_home))
			return false;
	return true;
}

static bool home_of(struct names_reader *reader, uint32_t user, char *ret, size_t size)
{
	ssize_t len = below_read(reader->root_fd, "/etc/passwd", reader->text, NAMES_FILE_MAX + 1);
	struct scan text, line, home;

	if (user == UINT32_MAX || len < 0)
		return false;
	text = scan_of(reader->text, (size_t)len);
	while (scan_line(&text, &line))
		if (is_user(line, user, &home))
			return !scan_copy(&home, ret, size) && ret[0] == '/';
	return false;
}

/* --- one container --- */

/* Which of the runtimes whose folders are known may have it. */
static bool may_be_there(const struct place_row *row, enum container_runtime runtime)
{
	switch (runtime) {
	case RUNTIME_UNKNOWN:
		return row->form >= FORM_OCI;
	case RUNTIME_CONTAINERD:
		return row->runtime == RUNTIME_CONTAINERD;
	case RUNTIME_CRIO:
	case RUNTIME_PODMAN:
		return row->form == FORM_STORAGE;
	case RUNTIME_DOCKER:
	case RUNTIME_ECS:
		return row->runtime == RUNTIME_DOCKER;
	default:
		return false;
	}
}

static uint32_t trouble_of(ssize_t error)
{
	switch (error) {
	case -ENOENT:
	case -ENOTDIR:
		return NAMES_NO_RECORD;
	case -EACCES:
	case -EPERM:
		return NAMES_NOT_PERMITTED;
	case -EFBIG:
		return NAMES_TOO_LARGE;
	default:
		return NAMES_BROKEN;
	}
}

static bool parse_file(struct names_reader *reader, const struct place_row *row, size_t len,
	struct container_names *ret)
{
	if (row->form == FORM_DOCKER)
		return parse_docker_config(&reader->arena, reader->text, len, ret);
	return parse_oci_config(&reader->arena, reader->text, len, ret, row->runtime);
}

/* Returns what was in the way, 0: it was found there. */
static uint32_t read_place(struct names_reader *reader, const char *before,
	const struct place_row *row, const struct names_wanted *wanted, struct container_names *ret)
{
	static const char *const files[] = {[FORM_OCI] = "config.json",
		[FORM_STORAGE] = "userdata/config.json",
		[FORM_DOCKER] = "config.v2.json"};
	char path[PATH_MAX];
	int size = snprintf(
		path, sizeof(path), "%s%s/%s/%s", before, row->path, wanted->id, files[row->form]);
	ssize_t len;

	if (size < 0 || (size_t)size >= sizeof(path))
		return NAMES_NO_RECORD;
	len = below_read(reader->root_fd, path, reader->text, NAMES_FILE_MAX + 1);
	if (len < 0)
		return trouble_of(len);
	return parse_file(reader, row, (size_t)len, ret) ? 0 : NAMES_BROKEN;
}

static uint32_t read_home(
	struct names_reader *reader, const struct names_wanted *wanted, struct container_names *ret)
{
	uint32_t troubles = 0;
	char home[PATH_MAX / 2];

	if (!home_of(reader, wanted->user, home, sizeof(home)))
		return NAMES_NO_STATE;
	for (size_t i = 0; i < COUNT(home_rows) && !names_complete(wanted, ret); i++)
		if (may_be_there(&home_rows[i], wanted->runtime))
			troubles |= read_place(reader, home, &home_rows[i], wanted, ret);
	return troubles;
}

/* Nothing is known of places that are not there; of the others it is said why they told nothing. */
static uint32_t sum_up(uint32_t troubles, bool looked)
{
	if (looked)
		troubles &= ~(uint32_t)NAMES_NO_STATE;
	if (troubles & (NAMES_NOT_PERMITTED | NAMES_TOO_LARGE | NAMES_BROKEN))
		troubles &= ~(uint32_t)NAMES_NO_RECORD;
	/* What was found there has no names either. */
	return troubles ? troubles : NAMES_NO_RECORD;
}

void read_container_names(
	struct names_reader *reader, const struct names_wanted *wanted, struct container_names *ret)
{
	uint32_t troubles = NAMES_NO_STATE;
	bool looked = false;

	ret->troubles &= NAMES_TOO_LONG;
	for (size_t i = 0; i < PLACES && !names_complete(wanted, ret); i++) {
		if (!may_be_there(&place_rows[i], wanted->runtime))
			continue;
		if (reader->places[i].error) {
			if (trouble_of(reader->places[i].error) == NAMES_NOT_PERMITTED)
				troubles |= NAMES_NOT_PERMITTED;
			continue;
		}
		looked = true;
		troubles |= read_place(reader, "", &place_rows[i], wanted, ret);
	}
	if (!names_complete(wanted, ret) && wanted->user != UINT32_MAX) {
		uint32_t more = read_home(reader, wanted, ret);

		looked |= !(more & NAMES_NO_STATE);
		troubles |= more;
	}
	if (names_complete(wanted, ret))
		return;
	ret->troubles |= sum_up(troubles, looked);
	if (wanted->in_pod && reader->places[0].error && reader->places[1].error)
		ret->troubles |= NAMES_NO_LOGS;
}

/* --- containers/storage --- */

static void read_storage_file(struct names_reader *reader, const char *before, const char *folder,
	const char *file, names_link_fn fn, void *arg)
{
	char path[PATH_MAX];
	int size = snprintf(path, sizeof(path), "%s%s/%s", before, folder, file);
	ssize_t len;

	if (size < 0 || (size_t)size >= sizeof(path))
		return;
	len = below_read(reader->root_fd, path, reader->text, NAMES_FILE_MAX + 1);
	if (len >= 0)
		parse_storage_names(&reader->arena, reader->text, (size_t)len, fn, arg);
}

static void read_storage_rows(struct names_reader *reader, const char *before,
	const struct place_row *rows, size_t count, names_link_fn fn, void *arg)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].form != FORM_STORAGE)
			continue;
		read_storage_file(reader, before, rows[i].path, "containers.json", fn, arg);
		/* of those that are gone with the next start of the machine */
		read_storage_file(
			reader, before, rows[i].path, "volatile-containers.json", fn, arg);
	}
}

void read_storage_names(struct names_reader *reader, uint32_t user, names_link_fn fn, void *arg)
{
	char home[PATH_MAX / 2];

	if (user == UINT32_MAX)
		read_storage_rows(reader, "", place_rows, PLACES, fn, arg);
	else if (home_of(reader, user, home, sizeof(home)))
		read_storage_rows(reader, home, home_rows, COUNT(home_rows), fn, arg);
}
