// SPDX-License-Identifier: Apache-2.0
#include "sink/text_whose.h"

#include <string.h>

#include "base/text.h"

#define ID_SHOWN 12 /* as the runtimes' own tools show it */

static void put_name(struct buf *text, const char *name)
{
	text_terminal(text, name, strlen(name), 0);
}

/* Only what is a hash may be cut: others' ids are names. */
static void put_id(struct buf *text, const char *id)
{
	size_t len = strlen(id);

	text_terminal(text, id, container_is_hex(id, len) ? ID_SHOWN : len, 0);
}

static void put_pod(struct buf *text, const struct container_names *names, const char *uid)
{
	buf_puts(text, "pod ");
	if (!names->pod[0]) {
		put_id(text, uid);
		return;
	}
	if (names->namespace[0]) {
		put_name(text, names->namespace);
		buf_putc(text, '/');
	}
	put_name(text, names->pod);
}

/* "(containerd 9f3c41d2a0b1)"; what has its id for a name has it said already. */
static void put_runtime(struct buf *text, enum container_runtime runtime, const char *id)
{
	const char *name = container_runtime_name(runtime);

	if (!name && !id)
		return;
	buf_puts(text, " (");
	buf_puts(text, name ? name : "");
	if (name && id)
		buf_putc(text, ' ');
	if (id)
		put_id(text, id);
	buf_putc(text, ')');
}

static void put_container(struct buf *text, const struct container_path *where,
	const struct container_names *names, enum container_runtime runtime)
{
	const char *name = names->container[0] ? names->container : where->name;
	bool id = name[0] && strcmp(name, where->id) != 0;

	if (names->sandbox) {
		buf_puts(text, "its sandbox");
		put_runtime(text, runtime, where->id);
		return;
	}
	buf_puts(text, "container ");
	if (name[0])
		put_name(text, name);
	else
		put_id(text, where->id);
	put_runtime(text, runtime, id ? where->id : NULL);
}

static void separate(struct buf *text, size_t start)
{
	if (text->len > start)
		buf_puts(text, ", ");
}

static void put_job(struct buf *text, const struct container_path *where)
{
	buf_puts(text, "Slurm job ");
	put_name(text, where->job);
	if (!where->step[0])
		return;
	buf_puts(text, ", step ");
	put_name(text, where->step);
}

bool text_whose_names(struct buf *text, const struct container_path *where,
	const struct container_names *names, enum container_runtime runtime)
{
	const char *uid = where->pod_uid[0] ? where->pod_uid : names->pod_uid;
	size_t start = text->len;

	if (uid[0] || names->pod[0])
		put_pod(text, names, uid);
	if (where->id[0]) {
		separate(text, start);
		put_container(text, where, names, runtime);
	}
	if (where->node_id[0]) {
		separate(text, start);
		buf_puts(text, "in node ");
		put_id(text, where->node_id);
	}
	if (where->job[0]) {
		separate(text, start);
		put_job(text, where);
	}
	return text->len > start;
}

bool text_whose(
	struct buf *text, const struct incident *incident, const struct judgement *judgement)
{
	return text_whose_names(text, &judgement->where, &incident->names, judgement->runtime);
}

static void put_short_pod(
	struct buf *text, const struct container_path *path, const struct container_names *names)
{
	if (!names || !names->pod[0]) {
		buf_puts(text, "pod ");
		put_id(text, path->pod_uid);
		return;
	}
	if (names->namespace[0]) {
		put_name(text, names->namespace);
		buf_putc(text, '/');
	}
	put_name(text, names->pod);
}

bool text_whose_short(struct buf *text, const char *path, const struct container_names *names)
{
	const char *name = names ? names->container : "";
	struct container_path parsed;
	bool pod;

	parse_container_path(path, &parsed);
	pod = parsed.pod_uid[0] != '\0';
	if (pod)
		put_short_pod(text, &parsed, names);
	if (parsed.id[0]) {
		if (pod)
			buf_putc(text, '/');
		if (name[0] || parsed.name[0])
			put_name(text, name[0] ? name : parsed.name);
		else
			put_id(text, parsed.id);
	}
	return pod || parsed.id[0];
}
