// SPDX-License-Identifier: Apache-2.0
#include "cmd/rank_collect.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "facts/file.h"
#include "facts/oomrules.h"
#include "facts/procfs.h"
#include "facts/scan.h"

#define PROCS_MAX (64U << 20) /* of a list of pids: more than there can be */
#define PATH_ROOM 4096 /* of a cgroup's path */

static bool make_room(void **array, size_t *room, size_t count, size_t size)
{
	size_t wanted = *room ? 2 * *room : 64;
	void *bigger;

	if (count < *room)
		return true;
	bigger = reallocarray(*array, wanted, size);
	if (!bigger)
		return false;
	*array = bigger;
	*room = wanted;
	return true;
}

/* A copy that lives as long as the collection; NULL: no memory. */
static const char *keep_text(struct collection *collection, const char *text)
{
	char *copy;

	if (!make_room((void **)&collection->texts, &collection->text_room, collection->text_count,
		    sizeof(*collection->texts)))
		return NULL;
	copy = strdup(text);
	if (copy)
		collection->texts[collection->text_count++] = copy;
	return copy;
}

static int add(struct collection *collection, pid_t pid, const struct proc_memory *memory,
	const char *cgroup)
{
	bool is_init = pid == 1 && collection->initial_pid_namespace;

	if (!make_room((void **)&collection->candidates, &collection->room, collection->count,
		    sizeof(*collection->candidates)))
		return -ENOMEM;
	collection->candidates[collection->count++] = (struct rank_candidate) {
		.task = rank_task(pid, is_init, memory, collection->page_size),
		.oom_score = memory->oom_score,
		.cgroup = cgroup,
	};
	return 0;
}

static int leave_out(struct collection *collection, const char *why)
{
	if (!collection->unreadable++)
		collection->unreadable_why = why;
	return 0;
}

/* With hidepid a process that may not be seen looks like one that is gone. */
static bool is_gone(pid_t pid, int err)
{
	return (err == -ENOENT || err == -ESRCH) && kill(pid, 0) < 0 && errno == ESRCH;
}

static bool memory_is_told(const struct proc_memory *memory)
{
	return memory->oom_score_adj != PROC_ADJ_UNKNOWN &&
	       (!memory->has_memory ||
		       (memory->anon_bytes != UNKNOWN_U64 && memory->file_bytes != UNKNOWN_U64 &&
			       memory->shmem_bytes != UNKNOWN_U64 &&
			       memory->swap_bytes != UNKNOWN_U64 &&
			       memory->pgtables_bytes != UNKNOWN_U64));
}

static int consider(struct collection *collection, pid_t pid, const char *cgroup)
{
	struct proc_memory memory;
	int err;

	if (pid == getpid())
		return 0;
	err = read_proc_memory("", pid, PROC_MEMORY_SCORE, &memory);
	if (err && is_gone(pid, err))
		return 0;
	if (err)
		return leave_out(collection, err == -ENOENT || err == -ESRCH
						     ? "they are hidden in /proc"
						     : strerror(-err));
	if (memory.kernel_thread)
		return 0;
	/* Its first thread has ended, and others go on with the memory. */
	if (!memory.has_memory && memory.threads > 1)
		read_thread_memory("", pid, &memory);
	if (!memory_is_told(&memory))
		return leave_out(collection, "/proc does not tell their memory");
	return add(collection, pid, &memory, cgroup);
}

/* A task list is appended to, so it is in the order of starting; the clock's ticks are coarse. */
static int compare_start(const void *one, const void *other)
{
	const struct task_facts *a = &((const struct rank_candidate *)one)->task;
	const struct task_facts *b = &((const struct rank_candidate *)other)->task;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->tgid < b->tgid ? -1 : a->tgid > b->tgid;
}

static void sort_from(struct collection *collection, size_t first)
{
	if (collection->count > first)
		qsort(collection->candidates + first, collection->count - first,
			sizeof(*collection->candidates), compare_start);
}

/* --- the machine --- */

struct machine_walk {
	struct collection *collection;
	const struct cgroup_mount *mount;
};

static int consider_anywhere(pid_t pid, void *arg)
{
	struct machine_walk *walk = arg;
	const char *cgroup = NULL;
	char path[PATH_ROOM];

	if (walk->mount && !read_proc_cgroup("", pid, walk->mount->v2, path, sizeof(path))) {
		cgroup = keep_text(walk->collection, path);
		if (!cgroup)
			return -ENOMEM;
	}
	return consider(walk->collection, pid, cgroup);
}

int collect_machine(struct collection *collection, const struct cgroup_mount *mount)
{
	struct machine_walk walk = {.collection = collection, .mount = mount};
	int err = walk_processes("", consider_anywhere, &walk);

	if (!err)
		sort_from(collection, 0);
	return err;
}

/* --- a cgroup --- */

struct cgroup_walk {
	struct collection *collection;
	const struct cgroup_mount *mount;
	const char *top;
};

static int consider_list(struct collection *collection, const char *cgroup, struct scan list)
{
	struct scan line;
	uint64_t pid;
	int err = 0;

	while (!err && scan_line(&list, &line)) {
		if (!scan_u64(&line, &pid) || !scan_done(&line) || pid > INT32_MAX)
			return -EINVAL;
		err = pid ? consider(collection, (pid_t)pid, cgroup)
			  : leave_out(collection, "they are in another pid namespace");
	}
	return err;
}

static int consider_cgroup(uint64_t id, const char *path, void *arg)
{
	struct cgroup_walk *walk = arg;
	size_t before = walk->collection->count, len;
	const char *cgroup;
	char dir[PATH_MAX], *text;
	int err;

	(void)id;
	if (!cgroup_is_below(path, walk->top) || cgroup_dir(walk->mount, path, dir, sizeof(dir)))
		return 0;
	err = file_read_all(dir, "/cgroup.procs", PROCS_MAX, &text, &len);
	/* It was removed; or it is threaded, and its processes are listed further up. */
	if (err == -ENOENT || err == -ENODEV || err == -EOPNOTSUPP)
		return 0;
	if (err)
		return err;
	cgroup = keep_text(walk->collection, path);
	err = cgroup ? consider_list(walk->collection, cgroup, scan_of(text, len)) : -ENOMEM;
	free(text);
	/* Version 2 lists them as it scans them; version 1 by pid. */
	if (!err && !walk->mount->v2)
		sort_from(walk->collection, before);
	return err;
}

int collect_cgroup(
	struct collection *collection, const struct cgroup_mount *mount, const char *cgroup)
{
	struct cgroup_walk walk = {.collection = collection, .mount = mount, .top = cgroup};

	return walk_cgroups(mount, consider_cgroup, &walk);
}

/* --- more about some --- */

int collect_commands(struct collection *collection, size_t count)
{
	char text[512];

	for (size_t i = 0; i < count && i < collection->count; i++) {
		struct rank_candidate *candidate = &collection->candidates[i];

		if (candidate->task.flags & EV_TASK_NO_MM ||
			read_cmdline("", (pid_t)candidate->task.tgid, text, sizeof(text)))
			continue;
		candidate->cmdline = keep_text(collection, text);
		if (!candidate->cmdline)
			return -ENOMEM;
	}
	return 0;
}

void collection_free(struct collection *collection)
{
	for (size_t i = 0; i < collection->text_count; i++)
		free(collection->texts[i]);
	free(collection->texts);
	free(collection->candidates);
}
