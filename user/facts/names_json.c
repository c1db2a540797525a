// SPDX-License-Identifier: Apache-2.0
#include "facts/names_json.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/mman.h>

/* A file of NAMES_FILE_MAX takes three times as much if it is what runtimes write. */
#define ARENA_BYTES (8UL << 20)
#define ARENA_KEPT (1UL << 20) /* what a usual file needs; above it the memory is given back */

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

int json_arena_init(struct json_arena *arena)
{
	void *data = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (data == MAP_FAILED)
		return -errno;
	*arena = (struct json_arena) {.data = data, .size = ARENA_BYTES};
	return 0;
}

void json_arena_done(struct json_arena *arena)
{
	if (arena->data)
		munmap(arena->data, arena->size);
	arena->data = NULL;
}

/* jansson takes functions without an argument. */
static struct json_arena *arena_now;

static void *arena_take(size_t size)
{
	char *ret = arena_now->data + arena_now->used;

	size = (size + 15) & ~15UL;
	if (size > arena_now->size - arena_now->used)
		return NULL;
	arena_now->used += size;
	return ret;
}

static void arena_leave(void *data)
{
	(void)data;
}

/* What other users of jansson in this process have allocated is theirs to free. */
struct document {
	json_malloc_t take;
	json_free_t leave;
	json_t *json;
};

static const json_t *document_open(
	struct document *document, struct json_arena *arena, const char *text, size_t len)
{
	json_get_alloc_funcs(&document->take, &document->leave);
	/* Seeding reads a file, once; it is done before anything is tight. */
	json_object_seed(0);
	arena->used = 0;
	arena_now = arena;
	json_set_alloc_funcs(arena_take, arena_leave);
	document->json = json_loadb(text, len, 0, NULL);
	return document->json;
}

static void document_close(struct document *document, struct json_arena *arena)
{
	json_set_alloc_funcs(document->take, document->leave);
	arena_now = NULL;
	if (arena->used <= ARENA_KEPT)
		return;
	if (madvise(arena->data, arena->size, MADV_DONTNEED_LOCKED))
		madvise(arena->data, arena->size, MADV_DONTNEED);
}

/* --- labels --- */

static void take_text(struct container_names *ret, char *field, size_t size, const char *text)
{
	size_t len = strlen(text);

	if (field[0])
		return;
	if (len >= size)
		ret->troubles |= NAMES_TOO_LONG;
	else
		memcpy(field, text, len + 1);
}

#define TAKE(ret, member, text) take_text(ret, (ret)->member, sizeof((ret)->member), text)

static const char *first_label(const json_t *labels, const char *const *keys)
{
	for (; *keys; keys++) {
		const char *text = json_string_value(json_object_get(labels, *keys));

		if (text && text[0])
			return text;
	}
	return NULL;
}

static const char *const container_keys[] = {
	"io.kubernetes.cri.container-name", "io.kubernetes.container.name", "nerdctl/name", NULL};
static const char *const pod_keys[] = {"io.kubernetes.cri.sandbox-name", "io.kubernetes.pod.name",
	"io.kubernetes.cri-o.KubeName", NULL};
static const char *const namespace_keys[] = {"io.kubernetes.cri.sandbox-namespace",
	"io.kubernetes.pod.namespace", "io.kubernetes.cri-o.Namespace", NULL};
static const char *const uid_keys[] = {
	"io.kubernetes.cri.sandbox-uid", "io.kubernetes.pod.uid", NULL};
static const char *const type_keys[] = {"io.kubernetes.cri.container-type",
	"io.kubernetes.cri-o.ContainerType", "io.kubernetes.docker.type", NULL};

/* Annotations and labels alike: each runtime has keys of its own. */
static void take_labels(const json_t *labels, struct container_names *ret)
{
	const char *text = first_label(labels, type_keys);

	if (text && (!strcmp(text, "sandbox") || !strcmp(text, "podsandbox")))
		ret->sandbox = true;
	/* dockershim calls the sandbox "POD". */
	text = first_label(labels, container_keys);
	if (text && !ret->sandbox)
		TAKE(ret, container, text);
	text = first_label(labels, pod_keys);
	if (text)
		TAKE(ret, pod, text);
	text = first_label(labels, namespace_keys);
	if (text)
		TAKE(ret, namespace, text);
	text = first_label(labels, uid_keys);
	if (text)
		TAKE(ret, pod_uid, text);
}

/* CRI-O keeps the labels of Kubernetes as JSON in an annotation. */
static void take_nested_labels(const json_t *annotations, struct container_names *ret)
{
	const char *text =
		json_string_value(json_object_get(annotations, "io.kubernetes.cri-o.Labels"));
	const json_t *labels = text ? json_loads(text, 0, NULL) : NULL;

	if (labels)
		take_labels(labels, ret);
}

/* --- files --- */

static void take_oci(
	const json_t *config, struct container_names *ret, enum container_runtime runtime)
{
	const json_t *annotations = json_object_get(config, "annotations");
	const char *manager =
		json_string_value(json_object_get(annotations, "io.container.manager"));
	const char *pod =
		json_string_value(json_object_get(annotations, "io.kubernetes.cri-o.SandboxID"));

	/* Podman uses some of CRI-O's keys for pods of its own. */
	if (runtime == RUNTIME_CRIO && manager && !strcmp(manager, "libpod")) {
		runtime = RUNTIME_PODMAN;
		if (pod)
			TAKE(ret, pod_uid, pod);
	}
	if (!ret->runtime)
		ret->runtime = runtime;
	take_labels(annotations, ret);
	take_nested_labels(annotations, ret);
}

bool parse_oci_config(struct json_arena *arena, const char *text, size_t len,
	struct container_names *ret, enum container_runtime runtime)
{
	struct document document;
	const json_t *config = document_open(&document, arena, text, len);

	if (config)
		take_oci(config, ret, runtime);
	document_close(&document, arena);
	return config != NULL;
}

bool parse_docker_config(
	struct json_arena *arena, const char *text, size_t len, struct container_names *ret)
{
	struct document document;
	const json_t *config = document_open(&document, arena, text, len);
	const char *name = json_string_value(json_object_get(config, "Name"));

	if (config) {
		if (!ret->runtime)
			ret->runtime = RUNTIME_DOCKER;
		take_labels(json_object_get(json_object_get(config, "Config"), "Labels"), ret);
	}
	if (name && !ret->sandbox)
		TAKE(ret, container, name + (name[0] == '/'));
	document_close(&document, arena);
	return config != NULL;
}

bool parse_storage_names(
	struct json_arena *arena, const char *text, size_t len, names_link_fn fn, void *arg)
{
	struct document document;
	const json_t *list = document_open(&document, arena, text, len);

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);
		const char *id = json_string_value(json_object_get(entry, "id"));
		const char *name =
			json_string_value(json_array_get(json_object_get(entry, "names"), 0));
		struct container_names names = {0};

		if (!id || !name || !container_is_hex(id, strlen(id)))
			continue;
		TAKE(&names, container, name);
		fn(id, &names, arg);
	}
	document_close(&document, arena);
	return list != NULL;
}
