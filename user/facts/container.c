// SPDX-License-Identifier: Apache-2.0
/*
 * One pass over the path, from the root on, so that what is nested comes last: the last container
 * id is the container, the first is a node of kind or the like.
 */
#include "facts/container.h"

#include <string.h>

#include "facts/scan.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define UID_PLAIN 32 /* static pods: a hash */
#define UID_DASHED 36

/* What the segments before tell of the next one. */
struct place {
	struct container_path *ret;
	struct scan segment, before; /* the last two */
	size_t end; /* of `segment`, in the path */
	unsigned int depth; /* 1: the first below the root */
	bool kubepods, ecs, nomad, slurm;
	enum pod_qos class;
};

static bool ends_with(struct scan text, const char *tail)
{
	size_t len = strlen(tail);

	return scan_left(&text) >= len && !memcmp(text.end - len, tail, len);
}

static bool strip_end(struct scan *text, const char *tail)
{
	if (!ends_with(*text, tail))
		return false;
	text->end -= strlen(tail);
	return true;
}

/* "kubelet-kubepods" ends in the word "kubepods", "mykubepods" does not. */
static bool ends_in_word(struct scan text, const char *word)
{
	return strip_end(&text, word) && (scan_done(&text) || text.end[-1] == '-');
}

static bool contains(struct scan text, const char *word)
{
	return !scan_done(&text) && memmem(text.at, scan_left(&text), word, strlen(word)) != NULL;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool container_is_hex(const char *text, size_t len)
{
	if (len != CONTAINER_HEX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_hex(text[i]))
			return false;
	return true;
}

/* Half an id or name would be another one: what does not fit is not kept. */
static void keep(struct scan text, char *ret, size_t size)
{
	if (scan_copy(&text, ret, size))
		ret[0] = '\0';
}

/* --- pods --- */

/* 8-4-4-4-12 digits; systemd slices have '_' where the uid has '-'. */
static bool is_dashed_uid(const char *text)
{
	char separator = text[8];

	if (separator != '-' && separator != '_')
		return false;
	for (int i = 0; i < UID_DASHED; i++) {
		bool between = i == 8 || i == 13 || i == 18 || i == 23;

		if (between ? text[i] != separator : !is_hex(text[i]))
			return false;
	}
	return true;
}

static bool is_plain_uid(const char *text)
{
	for (int i = 0; i < UID_PLAIN; i++)
		if (!is_hex(text[i]))
			return false;
	return true;
}

static bool uid_of_length(struct scan name, size_t len, struct scan *ret)
{
	struct scan head = name;

	if (scan_left(&name) < len)
		return false;
	head.end = ret->at = name.end - len;
	ret->end = name.end;
	return ends_in_word(head, "pod") &&
	       (len == UID_DASHED ? is_dashed_uid(ret->at) : is_plain_uid(ret->at));
}

static enum pod_qos class_of(struct scan name)
{
	if (contains(name, "besteffort"))
		return QOS_BESTEFFORT;
	return contains(name, "burstable") ? QOS_BURSTABLE : QOS_UNKNOWN;
}

/* Where pods are is no container: one that was found before holds a node. */
static void leave_container(struct place *place)
{
	struct container_path *ret = place->ret;

	if (!ret->node_end && ret->own_end) {
		memcpy(ret->node_id, ret->id, sizeof(ret->node_id));
		ret->node_end = ret->own_end;
	}
	ret->own_end = 0;
	ret->id[0] = ret->name[0] = '\0';
	ret->runtime = RUNTIME_UNKNOWN;
}

static void leave_pod(struct place *place)
{
	leave_container(place);
	place->ret->pod_end = 0;
	place->ret->pod_uid[0] = '\0';
	place->ret->qos = QOS_UNKNOWN;
}

/* "pod<uid>", "kubepods-burstable-pod<uid_>.slice" */
static bool take_kubernetes_pod(struct place *place, struct scan name)
{
	struct container_path *ret = place->ret;
	struct scan uid;

	strip_end(&name, ".slice");
	if (!uid_of_length(name, UID_DASHED, &uid) && !uid_of_length(name, UID_PLAIN, &uid))
		return false;
	leave_pod(place);
	keep(uid, ret->pod_uid, sizeof(ret->pod_uid));
	for (char *at = ret->pod_uid; *at; at++)
		if (*at == '_')
			*at = '-';
	ret->pod_end = place->end;
	ret->qos = class_of(name);
	if (ret->qos == QOS_UNKNOWN)
		ret->qos = place->class;
	if (ret->qos == QOS_UNKNOWN && (place->kubepods || contains(name, "kubepods")))
		ret->qos = QOS_GUARANTEED;
	return true;
}

/* "machine-libpod_pod_<id>.slice", and below libpod_parent the id alone. */
static bool take_podman_pod(struct place *place)
{
	struct scan name = place->segment, head;
	bool slice = strip_end(&name, ".slice");

	if (scan_left(&name) < CONTAINER_HEX ||
		!container_is_hex(name.end - CONTAINER_HEX, CONTAINER_HEX))
		return false;
	head = name;
	head.end = name.at = name.end - CONTAINER_HEX;
	if (slice ? !ends_with(head, "libpod_pod_")
		  : !scan_done(&head) || !scan_equals(&place->before, "libpod_parent"))
		return false;
	leave_pod(place);
	keep(name, place->ret->pod_uid, sizeof(place->ret->pod_uid));
	place->ret->pod_end = place->end;
	return true;
}

/* --- containers --- */

static void take_container(
	struct place *place, struct scan id, struct scan name, enum container_runtime runtime)
{
	struct container_path *ret = place->ret;

	leave_container(place);
	keep(id, ret->id, sizeof(ret->id));
	keep(name, ret->name, sizeof(ret->name));
	ret->own_end = place->end;
	ret->runtime = runtime;
}

static const struct {
	const char *name;
	enum container_runtime runtime;
} prefixes[] = {
	{"cri-containerd", RUNTIME_CONTAINERD},
	{"crio", RUNTIME_CRIO},
	{"docker", RUNTIME_DOCKER},
	{"libpod", RUNTIME_PODMAN},
	{"libpod-payload", RUNTIME_PODMAN}, /* podman run --cgroups=split */
	{"nerdctl", RUNTIME_CONTAINERD},
};

/* Monitors have an id, too ("crio-conmon-<id>.scope"): they are no part of the container. */
static bool runtime_of_prefix(struct scan prefix, enum container_runtime *ret)
{
	for (size_t i = 0; i < COUNT(prefixes); i++)
		if (scan_equals(&prefix, prefixes[i].name)) {
			*ret = prefixes[i].runtime;
			return true;
		}
	return false;
}

/* An id alone: the folder around it may be the runtime's. */
static enum container_runtime runtime_of_parent(const struct place *place)
{
	if (scan_equals(&place->before, "docker") || scan_equals(&place->before, "moby"))
		return RUNTIME_DOCKER;
	if (scan_equals(&place->before, "k8s.io"))
		return RUNTIME_CONTAINERD;
	return RUNTIME_UNKNOWN;
}

/* "<slice>:<prefix>:<id>" is how a runtime asks systemd for a scope. One that makes the cgroup
 * itself, with such a request in hand, makes a folder of that name. */
static bool take_request(struct place *place)
{
	struct scan slice, rest = place->segment, id, prefix;
	enum container_runtime runtime = RUNTIME_UNKNOWN;

	if (!scan_field(&rest, ':', &slice) || !scan_field(&rest, ':', &prefix))
		return false;
	id = rest;
	if (!container_is_hex(id.at, scan_left(&id)))
		return false;
	runtime_of_prefix(prefix, &runtime);
	if (take_kubernetes_pod(place, slice))
		place->ret->pod_end = 0; /* it has no cgroup of its own */
	take_container(place, id, (struct scan) {0}, runtime);
	return true;
}

static bool take_hex(struct place *place)
{
	enum container_runtime runtime;
	struct scan id = place->segment, prefix;

	strip_end(&id, ".scope");
	if (scan_left(&id) < CONTAINER_HEX ||
		!container_is_hex(id.end - CONTAINER_HEX, CONTAINER_HEX))
		return false;
	prefix = id;
	prefix.end = id.at = id.end - CONTAINER_HEX;
	if (scan_done(&prefix))
		runtime = runtime_of_parent(place);
	else if (!strip_end(&prefix, "-") || !runtime_of_prefix(prefix, &runtime))
		return false;
	take_container(place, id, (struct scan) {0}, place->ecs ? RUNTIME_ECS : runtime);
	return true;
}

/* "/ecs/<task>/<id>"; on Fargate the id is of another form. */
static bool take_ecs(struct place *place)
{
	if (!place->ecs || place->depth != 3 || place->ret->own_end)
		return false;
	take_container(place, place->segment, (struct scan) {0}, RUNTIME_ECS);
	return true;
}

/* "<allocation>.<task>.scope" */
static bool take_nomad(struct place *place)
{
	struct scan id = place->segment, task = place->segment;

	strip_end(&task, ".scope");
	if (!place->nomad || scan_left(&task) < UID_DASHED + 2 || !is_dashed_uid(id.at) ||
		id.at[UID_DASHED] != '.')
		return false;
	id.end = id.at + UID_DASHED;
	task.at = id.end + 1;
	take_container(place, id, task, RUNTIME_NOMAD);
	return true;
}

/* --- machines --- */

static int digit_of(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* "my\x2dname" -> "my-name", as systemd escapes what goes into the name of a unit. */
static struct scan unescape(struct scan text, char *ret, size_t size)
{
	size_t len = 0;

	while (!scan_done(&text)) {
		char c = *text.at;

		if (len + 1 >= size)
			return (struct scan) {0};
		if (scan_left(&text) >= 4 && text.at[0] == '\\' && text.at[1] == 'x' &&
			is_hex(text.at[2]) && is_hex(text.at[3])) {
			c = (char)(digit_of(text.at[2]) << 4 | digit_of(text.at[3]));
			text.at += 3;
		}
		text.at++;
		if (c == '\0' || c == '/') /* no such machine can be */
			return (struct scan) {0};
		ret[len++] = c;
	}
	return scan_of(ret, len);
}

/* Virtual machines are registered in the same way as containers: "machine-qemu\x2d1\x2dname". */
static bool take_nspawn(struct place *place)
{
	struct scan name = place->segment;
	char plain[CONTAINER_ID_LEN];

	if (strip_end(&name, ".scope")) {
		if (!scan_equals(&place->before, "machine.slice") || !scan_text(&name, "machine-"))
			return false;
	} else if (!strip_end(&name, ".service") || !scan_text(&name, "systemd-nspawn@")) {
		return false;
	}
	name = unescape(name, plain, sizeof(plain));
	if (scan_done(&name) || (scan_left(&name) > 5 && !memcmp(name.at, "qemu-", 5)))
		return false;
	take_container(place, name, name, RUNTIME_NSPAWN);
	return true;
}

/* "lxc.payload.<name>", before LXC 4 and on Proxmox "lxc/<name>" */
static bool take_lxc(struct place *place)
{
	struct scan name = place->segment;

	if (!scan_text(&name, "lxc.payload.") && !scan_equals(&place->before, "lxc") &&
		!scan_equals(&place->before, "lxc.payload"))
		return false;
	if (scan_done(&name))
		return false;
	take_container(place, name, name, RUNTIME_LXC);
	return true;
}

/* --- Slurm --- */

static bool is_step_name(struct scan text)
{
	if (scan_done(&text) || scan_left(&text) >= CONTAINER_STEP_LEN)
		return false;
	for (; !scan_done(&text); text.at++) {
		char c = *text.at;

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && c != '_' && c != '+')
			return false;
	}
	return true;
}

static bool take_job(struct place *place, enum cgroup_kind *ret_kind)
{
	struct container_path *ret = place->ret;
	struct scan name = place->segment;

	if (!place->slurm)
		return false;
	if (scan_text(&name, "job_") && is_step_name(name)) {
		keep(name, ret->job, sizeof(ret->job));
		ret->step[0] = '\0';
		if (!ret->own_end)
			ret->runtime = RUNTIME_SLURM;
		*ret_kind = KIND_JOB;
		return true;
	}
	if (ret->job[0] && scan_text(&name, "step_") && is_step_name(name)) {
		keep(name, ret->step, sizeof(ret->step));
		*ret_kind = KIND_STEP;
		return true;
	}
	return false;
}

/* --- the pass --- */

/* Slices have no processes of their own. A leading '_' protects names that the kernel's own files
 * might have. */
static void take_unit(struct place *place)
{
	static const char *const kinds[] = {".service", ".scope", ".socket", ".mount", ".swap"};
	struct scan name = place->segment;

	for (size_t i = 0; i < COUNT(kinds); i++) {
		if (!ends_with(name, kinds[i]) || scan_left(&name) == strlen(kinds[i]))
			continue;
		scan_text(&name, "_");
		keep(name, place->ret->unit, sizeof(place->ret->unit));
		return;
	}
}

/* Where the pods of a node begin. */
static bool take_kubepods(struct place *place, enum cgroup_kind *ret_kind)
{
	struct scan name = place->segment;
	bool inside =
		scan_equals(&place->before, "kubepods") || ends_with(place->before, "-kubepods");

	strip_end(&name, ".slice");
	if (ends_in_word(name, "kubepods")) {
		place->class = QOS_UNKNOWN;
		*ret_kind = KIND_KUBEPODS;
	} else if (ends_in_word(name, "kubepods-burstable") ||
		   ends_in_word(name, "kubepods-besteffort") ||
		   (inside &&
			   (scan_equals(&name, "burstable") || scan_equals(&name, "besteffort")))) {
		place->class = class_of(name);
		*ret_kind = KIND_QOS_CLASS;
	} else {
		return false;
	}
	place->kubepods = true;
	leave_pod(place);
	return true;
}

/* "user-1000.slice" */
static bool note_user(struct place *place)
{
	struct scan name = place->segment;
	uint64_t user;

	if (!scan_text(&name, "user-") || !scan_u64(&name, &user) ||
		!scan_equals(&name, ".slice") || user >= UINT32_MAX)
		return false;
	place->ret->user = (uint32_t)user;
	return true;
}

/* What a folder tells of those in it. */
static void note_folder(struct place *place)
{
	struct scan name = place->segment;

	if (note_user(place))
		return;
	if (ends_with(name, "slurmstepd.scope") || scan_equals(&name, "slurm") ||
		scan_text(&name, "slurm_"))
		place->slurm = true;
	else if (scan_equals(&name, "nomad.slice") || scan_equals(&name, "nomad"))
		place->nomad = true;
	else if (place->depth == 1 && scan_equals(&name, "ecs"))
		place->ecs = true;
	else if (scan_text(&name, "ecstasks-") && ends_with(name, ".slice"))
		place->ecs = true;
}

/* crun puts the processes one level deeper: that is the container still. */
static bool is_inner(const struct place *place)
{
	const struct container_path *ret = place->ret;

	return scan_equals(&place->segment, "container") && ret->own_end &&
	       ret->own_end + sizeof("container") == place->end &&
	       (ret->runtime == RUNTIME_PODMAN || ret->runtime == RUNTIME_CRIO);
}

/* The user's part of a step, beside that of Slurm itself. */
static bool is_user_part(const struct place *place)
{
	struct scan before = place->before;

	return scan_equals(&place->segment, "user") && place->ret->step[0] &&
	       scan_text(&before, "step_");
}

static enum cgroup_kind kind_of_unit(struct scan name)
{
	if (ends_with(name, ".service"))
		return KIND_SERVICE;
	if (ends_with(name, ".scope"))
		return KIND_SCOPE;
	return ends_with(name, ".slice") ? KIND_SLICE : KIND_CGROUP;
}

static enum cgroup_kind take_segment(struct place *place)
{
	enum cgroup_kind kind;

	take_unit(place);
	note_folder(place);
	if (take_podman_pod(place) || take_kubernetes_pod(place, place->segment))
		return KIND_POD;
	if (take_kubepods(place, &kind) || take_job(place, &kind))
		return kind;
	if (take_request(place) || take_hex(place) || take_ecs(place) || take_nomad(place) ||
		is_inner(place))
		return KIND_CONTAINER;
	if (take_nspawn(place) || take_lxc(place))
		return KIND_MACHINE;
	return is_user_part(place) ? KIND_STEP : kind_of_unit(place->segment);
}

void parse_container_path(const char *path, struct container_path *ret)
{
	struct scan rest = scan_of(path, strlen(path)), segment;
	struct place place = {.ret = ret};

	memset(ret, 0, sizeof(*ret));
	ret->user = UINT32_MAX;
	while (scan_field(&rest, '/', &segment)) {
		if (scan_done(&segment))
			continue;
		place.depth++;
		place.before = place.segment;
		place.segment = segment;
		place.end = (size_t)(segment.end - path);
		ret->kind = take_segment(&place);
	}
}

enum cgroup_kind parse_cgroup_kind(const char *path)
{
	struct container_path parsed;

	parse_container_path(path, &parsed);
	return parsed.kind;
}

/* --- names --- */

const char *container_runtime_name(enum container_runtime runtime)
{
	static const char *const names[] = {[RUNTIME_CONTAINERD] = "containerd",
		[RUNTIME_CRIO] = "cri-o",
		[RUNTIME_DOCKER] = "docker",
		[RUNTIME_PODMAN] = "podman",
		[RUNTIME_LXC] = "lxc",
		[RUNTIME_NSPAWN] = "nspawn",
		[RUNTIME_SLURM] = "slurm",
		[RUNTIME_ECS] = "ecs",
		[RUNTIME_NOMAD] = "nomad"};

	return (size_t)runtime < COUNT(names) ? names[runtime] : NULL;
}

const char *pod_qos_name(enum pod_qos qos)
{
	static const char *const names[] = {[QOS_GUARANTEED] = "guaranteed",
		[QOS_BURSTABLE] = "burstable",
		[QOS_BESTEFFORT] = "besteffort"};

	return (size_t)qos < COUNT(names) ? names[qos] : NULL;
}

const char *cgroup_kind_name(enum cgroup_kind kind)
{
	static const char *const names[] = {"cgroup", "container", "pod", "qos-class", "kubepods",
		"service", "scope", "slice", "job", "step", "machine"};

	return (size_t)kind < COUNT(names) ? names[kind] : NULL;
}
