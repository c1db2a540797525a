// SPDX-License-Identifier: Apache-2.0
#include "cmd/learn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "facts/kernel.h"
#include "facts/procfs.h"

#define LOOK_NS 200000000ULL
#define LOOK_FILES 16

int names_open(struct names *names, const char *host_root, size_t processes, size_t cgroups)
{
	int error;

	memset(names, 0, sizeof(*names));
	names->processes = processes_new(processes);
	names->cgroups = cgroups_new(cgroups);
	names->containers = containers_new(cgroups);
	error = names->processes && names->cgroups && names->containers ? 0 : -ENOMEM;
	if (!error)
		error = names_reader_new(host_root, &names->reader);
	if (error) {
		names_close(names);
		return error;
	}
	names->host_proc = in_initial_pid_namespace("");
	names->mounted = !read_memory_mount("", &names->mount);
	return 0;
}

void names_close(struct names *names)
{
	processes_free(names->processes);
	cgroups_free(names->cgroups);
	containers_free(names->containers);
	names_reader_free(names->reader);
	names->processes = NULL;
	names->cgroups = NULL;
	names->containers = NULL;
	names->reader = NULL;
}

struct learning {
	struct names *names;
	uint64_t now_ns;
};

static int learn_process(pid_t pid, void *arg)
{
	struct learning *learning = arg;
	struct process *process;
	struct proc_ids ids;

	if (read_proc_ids("", pid, &ids))
		return 0; /* gone meanwhile */
	process = process_get(learning->names->processes, pid, ids.start_ns, learning->now_ns);
	process->ppid = ids.ppid;
	process->inherited = false;
	if (read_cmdline("", pid, process->cmdline, sizeof(process->cmdline)) < 0)
		process->cmdline[0] = '\0';
	if (read_exe("", pid, process->exe, sizeof(process->exe)) < 0)
		process->exe[0] = '\0';
	return 0;
}

static int learn_cgroup(uint64_t id, const char *path, void *arg)
{
	struct learning *learning = arg;

	cgroup_learn(learning->names->cgroups, id, path, learning->now_ns);
	containers_note(learning->names->containers, path, learning->now_ns);
	return 0;
}

void names_learn_all(struct names *names, uint64_t now_ns)
{
	struct learning learning = {names, now_ns};

	if (names->host_proc)
		walk_processes("", learn_process, &learning);
	if (names->mounted)
		walk_cgroups(&names->mount, learn_cgroup, &learning);
	containers_read(names->containers, names->reader, now_ns, SIZE_MAX);
}

void names_tick(struct names *names, uint64_t now_ns)
{
	if (now_ns < names->look_ns)
		return;
	names->look_ns = now_ns + LOOK_NS;
	containers_read(names->containers, names->reader, now_ns, LOOK_FILES);
}

static void learn_exec(struct names *names, const struct fact *fact)
{
	const struct ev_exec *event = &fact->exec;
	struct process *process =
		process_get(names->processes, event->tgid, event->start_ns, event->hdr.time_ns);

	process->ppid = event->ppid;
	process->inherited = false;
	cmdline_text(fact->text, fact->text_len, event->args_len, process->cmdline,
		sizeof(process->cmdline));
	/* A link, which takes no lock of the process; it is gone with a process that was short. */
	if (!names->host_proc || read_exe("", event->tgid, process->exe, sizeof(process->exe)) < 0)
		process->exe[0] = '\0';
}

/* Seen from its beginning: its limit has not been hit yet. */
static void learn_new_cgroup(struct names *names, const struct fact *fact)
{
	struct cgroup_entry *entry;

	cgroup_learn(names->cgroups, fact->cgroup.id, fact->text, fact->hdr.time_ns);
	containers_note(names->containers, fact->text, fact->hdr.time_ns);
	entry = cgroup_find(names->cgroups, fact->cgroup.id);
	if (entry) {
		entry->has_oom_local = true;
		entry->oom_local = 0;
	}
}

static void learn_removed_cgroup(struct names *names, const struct fact *fact)
{
	const char *path = cgroup_path(names->cgroups, fact->cgroup.id);

	if (path)
		containers_gone(names->containers, path);
	cgroup_remove(names->cgroups, fact->cgroup.id, fact->hdr.time_ns);
}

void names_learn(struct names *names, const struct fact *fact)
{
	uint64_t now_ns = fact->hdr.time_ns;

	switch (fact->kind) {
	case EV_FORK:
		process_fork(names->processes, fact->fork.tgid, fact->fork.start_ns,
			fact->fork.parent_tgid, fact->fork.parent_start_ns, now_ns);
		return;
	case EV_EXEC:
		learn_exec(names, fact);
		return;
	case EV_EXIT:
		process_exit(names->processes, fact->exit.tgid, fact->exit.start_ns, now_ns);
		return;
	case EV_CGROUP:
		if (fact->cgroup.removed)
			learn_removed_cgroup(names, fact);
		else
			learn_new_cgroup(names, fact);
		return;
	default:
		return;
	}
}
