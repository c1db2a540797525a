// SPDX-License-Identifier: Apache-2.0
#include "cmd/procpass.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "facts/host.h"
#include "facts/procfs.h"
#include "facts/procmem.h"

#define PATH_BYTES (EV_PATH_LEN + 512)

struct procpass {
	struct names *names;
	uint64_t now_ns;
	uint64_t page_size;
	void (*fn)(const struct fact *fact, void *arg);
	void *arg;
	int count;
	struct fact fact; /* the one in hand */
};

static void deliver(struct procpass *pass)
{
	pass->fn(&pass->fact, pass->arg);
	pass->count++;
}

/* A cgroup's number is that of its directory. 0: it cannot be seen. */
static uint64_t cgroup_id(const struct procpass *pass, const char *path)
{
	char dir[PATH_BYTES];
	struct stat status;

	if (!pass->names->mounted || cgroup_dir(&pass->names->mount, path, dir, sizeof(dir)) ||
		stat(dir, &status))
		return 0;
	return status.st_ino;
}

static uint64_t cgroup_of(const struct procpass *pass, pid_t pid)
{
	char path[EV_PATH_LEN];

	if (read_proc_cgroup("", pid, pass->names->mount.v2, path, sizeof(path)))
		return 0;
	return cgroup_id(pass, path);
}

static uint64_t pages_of(const struct procpass *pass, uint64_t bytes)
{
	if (bytes == UNKNOWN_U64)
		return EV_UNKNOWN;
	/* "No limit" is a number of pages that no memory has, as in the kernel. */
	return bytes / pass->page_size;
}

static int64_t counter_of(const struct procpass *pass, uint64_t bytes)
{
	return bytes == UNKNOWN_U64 ? 0 : (int64_t)(bytes / pass->page_size);
}

static uint64_t start_of(const struct procpass *pass, pid_t pid, uint64_t start_ns)
{
	const struct process *process = process_find(pass->names->processes, pid, start_ns);

	return process && process->start_ns != UINT64_MAX ? process->start_ns : start_ns;
}

static void fill_sample(struct procpass *pass, pid_t pid, const struct proc_memory *memory)
{
	struct ev_sample *sample = &pass->fact.sample;

	memset(sample, 0, sizeof(*sample));
	pass->fact.kind = EV_SAMPLE;
	pass->fact.text_len = 0;
	sample->hdr = (struct ev_hdr) {.len = sizeof(*sample),
		.kind = EV_SAMPLE,
		.version = EV_VERSION,
		.time_ns = pass->now_ns};
	sample->tgid = pid;
	sample->ppid = memory->ppid;
	sample->oom_score_adj =
		memory->oom_score_adj == PROC_ADJ_UNKNOWN ? 0 : memory->oom_score_adj;
	sample->flags =
		(memory->forked ? EV_TASK_FORKED : 0) | (memory->has_memory ? 0 : EV_TASK_NO_MM);
	sample->why = EV_SAMPLE_CENSUS;
	sample->start_ns = start_of(pass, pid, memory->start_ns);
	sample->mm = memory->has_memory; /* it has one: which, /proc does not tell */
	sample->cgroup_id = cgroup_of(pass, pid);
	sample->rss_pages[EV_RSS_ANON] = counter_of(pass, memory->anon_bytes);
	sample->rss_pages[EV_RSS_FILE] = counter_of(pass, memory->file_bytes);
	sample->rss_pages[EV_RSS_SHMEM] = counter_of(pass, memory->shmem_bytes);
	sample->rss_pages[EV_RSS_SWAP] = counter_of(pass, memory->swap_bytes);
	sample->pgtables_bytes = memory->pgtables_bytes;
	sample->faults = memory->faults;
	sample->io_bytes = memory->io_bytes;
	sample->copied_pages = EV_UNKNOWN;
	sample->charged_pages = EV_UNKNOWN;
	memcpy(sample->comm, memory->comm, sizeof(sample->comm));
}

static int pass_process(pid_t pid, void *arg)
{
	struct procpass *pass = arg;
	struct proc_memory memory;

	if (read_proc_memory("", pid, PROC_MEMORY_IO, &memory) || memory.kernel_thread)
		return 0; /* gone meanwhile, or without memory of its own */
	fill_sample(pass, pid, &memory);
	deliver(pass);
	return 0;
}

static uint64_t parent_of(const struct procpass *pass, const char *path)
{
	char parent[EV_PATH_LEN];
	char *slash;

	if (!strcmp(path, "/") || snprintf(parent, sizeof(parent), "%s", path) >= EV_PATH_LEN)
		return 0;
	slash = strrchr(parent, '/');
	if (!slash)
		return 0;
	slash[slash == parent] = '\0';
	return cgroup_id(pass, parent);
}

static void fill_usage(struct procpass *pass, uint64_t id, const char *path, uint64_t usage_bytes)
{
	struct ev_usage *usage = &pass->fact.usage;

	memset(usage, 0xff, sizeof(*usage)); /* EV_UNKNOWN */
	pass->fact.kind = EV_USAGE;
	pass->fact.text_len = 0;
	usage->hdr = (struct ev_hdr) {.len = sizeof(*usage),
		.kind = EV_USAGE,
		.version = EV_VERSION,
		.time_ns = pass->now_ns};
	usage->id = id;
	usage->parent_id = parent_of(pass, path);
	usage->flags =
		(pass->names->mount.v2 ? EV_LEVEL_V2 : 0) | (usage->parent_id ? 0 : EV_LEVEL_ROOT);
	usage->usage_pages = pages_of(pass, usage_bytes);
}

static void fill_limits(struct procpass *pass, const struct cgroup_limits *limits)
{
	struct ev_usage *usage = &pass->fact.usage;

	usage->max_pages = pages_of(pass, limits->max_bytes);
	usage->high_pages = pages_of(pass, limits->high_bytes);
	usage->swap_usage_pages = pages_of(pass, limits->swap_usage_bytes);
	usage->swap_max_pages = pages_of(pass, limits->swap_max_bytes);
	usage->events[EV_EVENT_OOM] = limits->oom;
	usage->events[EV_EVENT_OOM_KILL] = limits->oom_kill;
	/* The file is memory.events on version 2, failcnt on version 1. */
	if (pass->names->mount.v2)
		usage->events[EV_EVENT_MAX] = limits->max_events;
	else
		usage->failcnt = limits->max_events;
}

static int pass_cgroup(uint64_t id, const char *path, void *arg)
{
	struct procpass *pass = arg;
	struct cgroup_limits limits;

	if (read_cgroup_limits(&pass->names->mount, path, &limits) ||
		limits.usage_bytes == UNKNOWN_U64)
		return 0;
	fill_usage(pass, id, path, limits.usage_bytes);
	fill_limits(pass, &limits);
	deliver(pass);
	return 0;
}

static int pass_usage(uint64_t id, const char *path, void *arg)
{
	struct procpass *pass = arg;
	uint64_t usage_bytes;

	if (read_cgroup_usage(&pass->names->mount, path, &usage_bytes))
		return 0;
	fill_usage(pass, id, path, usage_bytes);
	deliver(pass);
	return 0;
}

static struct procpass *begin(struct names *names, uint64_t now_ns,
	void (*fn)(const struct fact *fact, void *arg), void *arg)
{
	static struct procpass pass; /* holds a fact: too large for a stack */

	pass = (struct procpass) {.names = names,
		.now_ns = now_ns,
		.page_size = sysconf(_SC_PAGESIZE),
		.fn = fn,
		.arg = arg};
	return &pass;
}

int procpass(struct names *names, uint64_t now_ns, void (*fn)(const struct fact *fact, void *arg),
	void *arg)
{
	struct procpass *pass = begin(names, now_ns, fn, arg);
	int error;

	if (!names->host_proc)
		return -EXDEV;
	error = walk_processes("", pass_process, pass);
	if (!error && names->mounted)
		error = walk_cgroups(&names->mount, pass_cgroup, pass);
	return error < 0 ? error : pass->count;
}

int procpass_usages(struct names *names, uint64_t now_ns,
	void (*fn)(const struct fact *fact, void *arg), void *arg)
{
	struct procpass *pass = begin(names, now_ns, fn, arg);
	int error = names->mounted ? walk_cgroups(&names->mount, pass_usage, pass) : 0;

	return error < 0 ? error : pass->count;
}
