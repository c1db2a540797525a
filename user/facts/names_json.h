/* SPDX-License-Identifier: Apache-2.0 */
/* names_json.h: names out of the JSON that container runtimes write. For container_names.c. */
#ifndef OOMSNOOP_FACTS_NAMES_JSON_H
#define OOMSNOOP_FACTS_NAMES_JSON_H

#include <stddef.h>

#include "facts/container_names.h"

/* Memory for one document at a time, so that a runtime's file cannot make this process grow. */
struct json_arena {
	char *data;
	size_t size, used;
};

int json_arena_init(struct json_arena *arena); /* 0 or -errno */
void json_arena_done(struct json_arena *arena);

/* The forms of a container's own file. `ret` gets what it does not know yet; false: the text is no
 * whole JSON of that form. */
bool parse_oci_config(struct json_arena *arena, const char *text, size_t len,
	struct container_names *ret, enum container_runtime runtime);
bool parse_docker_config(
	struct json_arena *arena, const char *text, size_t len, struct container_names *ret);

/* containers.json of containers/storage: fn for each id that has a name. */
bool parse_storage_names(
	struct json_arena *arena, const char *text, size_t len, names_link_fn fn, void *arg);

#endif /* OOMSNOOP_FACTS_NAMES_JSON_H */
