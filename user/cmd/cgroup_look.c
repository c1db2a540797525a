// SPDX-License-Identifier: Apache-2.0
#include "cmd/cgroup_look.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/clock.h"
#include "facts/cgroupprocs.h"
#include "facts/kernel.h"
#include "facts/procfate.h"
#include "facts/procfs.h"
#include "facts/procmem.h"

#define PATH_BYTES (QUOTA_PATH + 512)

struct look {
	struct cgroup_view *view;
	struct selfwatch *watch;
	bool closely;
	uint64_t cgroup_id; /* whose processes are being read */
	uint32_t page_size;
	unsigned int hidden;
	unsigned int inside; /* cgroups of the domain */
	bool all_of_proc; /* a threaded cgroup tells no processes: /proc does */
	int error; /* of the domain */
};

/* --- where --- */

/* In a container all that can be seen is ours: its limit may be above a cgroup of our own making.
 */
static unsigned int domain_of(const struct quota *quota)
{
	if (!quota->complete)
		return quota->level_count - 1;
	for (unsigned int i = 0; i < quota->level_count; i++)
		if (quota->levels[i].limits.max_bytes < CGROUP_NO_LIMIT)
			return i;
	return 0;
}

static int open_below(struct cgroup_view *view)
{
	const char *domain = cgroup_view_domain(view)->cgroup;

	view->below = view->mount;
	if (strlen(domain) >= sizeof(view->below.root))
		return -ENAMETOOLONG;
	strcpy(view->below.root, domain);
	return cgroup_dir(&view->mount, domain, view->below.path, sizeof(view->below.path));
}

int cgroup_view_open(struct cgroup_view *view)
{
	char own[QUOTA_PATH];
	int error = read_own_memory_mount("", &view->mount, own, sizeof(own));

	if (!error)
		error = read_quota_levels(&view->mount, own, &view->quota);
	if (!error)
		error = read_meminfo("", &view->quota.host);
	if (error)
		return error;
	view->domain = domain_of(&view->quota);
	view->host_proc = in_initial_pid_namespace("");
	if (view->quota.complete && view->domain == view->quota.level_count - 1)
		return -ENOENT;
	if (cgroup_view_domain(view)->limits.oom_kill == UNKNOWN_U64)
		return -ENOENT;
	return open_below(view);
}

/* --- processes --- */

static int64_t pages_of(const struct look *look, uint64_t bytes)
{
	return bytes == UNKNOWN_U64 ? 0 : (int64_t)(bytes / look->page_size);
}

static void task_of(const struct look *look, pid_t pid, const struct proc_memory *memory,
	struct task_facts *task)
{
	*task = (struct task_facts) {
		.tgid = (uint32_t)pid,
		.ppid = memory->ppid,
		.uid = memory->uid,
		.ns_tgid = look->view->host_proc ? 0 : (uint32_t)pid,
		.oom_score_adj =
			memory->oom_score_adj == PROC_ADJ_UNKNOWN ? 0 : memory->oom_score_adj,
		.flags = memory->forked ? EV_TASK_FORKED : 0,
		.at_ns = boot_now_ns(),
		.start_ns = memory->start_ns,
		.cgroup_id = look->cgroup_id,
		.pgtables_bytes = memory->pgtables_bytes,
		.total_vm_pages = memory->total_vm_bytes == UNKNOWN_U64
					  ? UNKNOWN_U64
					  : memory->total_vm_bytes / look->page_size,
	};
	task->rss_pages[EV_RSS_ANON] = pages_of(look, memory->anon_bytes);
	task->rss_pages[EV_RSS_FILE] = pages_of(look, memory->file_bytes);
	task->rss_pages[EV_RSS_SHMEM] = pages_of(look, memory->shmem_bytes);
	task->rss_pages[EV_RSS_SWAP] = pages_of(look, memory->swap_bytes);
	task->unknown = (memory->oom_score_adj == PROC_ADJ_UNKNOWN ? TASK_UNKNOWN_ADJ : 0) |
			(memory->uid == UINT32_MAX ? TASK_UNKNOWN_UID : 0) |
			(memory->anon_bytes == UNKNOWN_U64 ? TASK_UNKNOWN_ANON : 0) |
			(memory->file_bytes == UNKNOWN_U64 ? TASK_UNKNOWN_FILE : 0) |
			(memory->shmem_bytes == UNKNOWN_U64 ? TASK_UNKNOWN_SHMEM : 0) |
			(memory->swap_bytes == UNKNOWN_U64 ? TASK_UNKNOWN_SWAP : 0);
	memcpy(task->comm, memory->comm, sizeof(task->comm));
}

static void read_names(pid_t pid, struct self_process *process)
{
	if (read_cmdline("", pid, process->cmdline, sizeof(process->cmdline)) < 0)
		process->cmdline[0] = '\0';
	if (read_exe("", pid, process->exe, sizeof(process->exe)) < 0)
		process->exe[0] = '\0';
	process->named = true;
}

static int see_process(pid_t pid, void *arg)
{
	struct look *look = arg;
	struct proc_fate fate = {0};
	struct self_process *process;
	struct proc_memory memory;
	struct self_sight sight;
	int error = read_proc_memory("", pid, 0, &memory);

	/* Whoever is listed and may not be read, as with hidepid. */
	if (error == -EACCES || error == -EPERM)
		look->hidden++;
	if (error || memory.kernel_thread)
		return 0;
	if (!memory.has_memory && memory.threads > 1)
		read_thread_memory("", pid, &memory);
	if ((look->closely || !memory.has_memory) && read_proc_fate("", pid, &fate))
		return 0;
	task_of(look, pid, &memory, &sight.task);
	sight.faults = memory.faults;
	sight.has_memory = memory.has_memory;
	sight.zombie = fate.zombie;
	sight.killed = fate.killed;
	process = selfwatch_process(look->watch, &sight);
	if (process && !process->named && !look->closely)
		read_names(pid, process);
	return 0;
}

/* --- cgroups --- */

static uint64_t id_of(const struct cgroup_view *view, const char *path)
{
	char dir[PATH_BYTES];
	struct stat status;

	if (cgroup_dir(&view->mount, path, dir, sizeof(dir)) || stat(dir, &status))
		return 0;
	return status.st_ino;
}

static uint64_t parent_of(const struct cgroup_view *view, const char *path)
{
	char parent[QUOTA_PATH];
	char *slash;

	if (!strcmp(path, "/") || strlen(path) >= sizeof(parent))
		return 0;
	strcpy(parent, path);
	slash = strrchr(parent, '/');
	slash[slash == parent] = '\0';
	return id_of(view, parent);
}

/* A cgroup without the memory controller charges the next one above that has it. */
static uint64_t charged_id(const struct cgroup_view *view, uint64_t id, const char *path)
{
	char dir[PATH_BYTES + sizeof("/memory.events")], at[QUOTA_PATH];
	char *slash;

	if (!view->mount.v2 || strlen(path) >= sizeof(at))
		return id;
	for (strcpy(at, path); id && strcmp(at, "/"); id = id_of(view, at)) {
		if (cgroup_dir(&view->mount, at, dir, PATH_BYTES))
			break;
		strcat(dir, "/memory.events");
		if (!access(dir, F_OK))
			break;
		slash = strrchr(at, '/');
		slash[slash == at] = '\0';
	}
	return id;
}

static void learn(const struct look *look, uint64_t id, const char *path)
{
	if (!cgroup_find(look->view->cgroups, id))
		cgroup_learn(look->view->cgroups, id, path, boot_now_ns());
}

static void see_procs(struct look *look, const char *path)
{
	struct cgroup_members members;
	int error;

	error = read_cgroup_procs(&look->view->mount, path, see_process, look, &members);
	if (error == -EOPNOTSUPP || error == -ENOTSUP)
		look->all_of_proc = true;
	else if (!error)
		look->hidden += members.hidden;
}

static int see_members(uint64_t id, const char *path, void *arg)
{
	struct look *look = arg;

	if (look->inside++ == SELF_CGROUPS - QUOTA_LEVELS)
		return 1;
	look->cgroup_id = charged_id(look->view, id, path);
	see_procs(look, path);
	return 0;
}

static int see_counts(uint64_t id, const char *path, void *arg)
{
	struct look *look = arg;
	const char *domain = cgroup_view_domain(look->view)->cgroup;
	struct self_counts counts = {.id = id, .inside = true, .path = path};

	if (look->inside++ == SELF_CGROUPS - QUOTA_LEVELS)
		return 1;
	counts.domain = !strcmp(path, domain);
	if (read_cgroup_limits(&look->view->mount, path, &counts.limits) ||
		counts.limits.oom_kill == UNKNOWN_U64) {
		if (counts.domain)
			look->error = -ENOENT;
		return 0;
	}
	counts.parent_id = parent_of(look->view, path);
	learn(look, id, path);
	selfwatch_cgroup(look->watch, &counts);
	return 0;
}

static void see_levels_above(struct look *look)
{
	const struct quota *quota = &look->view->quota;

	for (unsigned int i = look->view->domain + 1; i < quota->level_count; i++) {
		const char *path = quota->levels[i].cgroup;
		struct self_counts counts = {.id = id_of(look->view, path), .path = path};

		if (!counts.id || read_cgroup_limits(&look->view->mount, path, &counts.limits))
			continue;
		counts.root = quota->complete && i == quota->level_count - 1;
		counts.parent_id = counts.root ? 0 : parent_of(look->view, path);
		learn(look, counts.id, path);
		selfwatch_cgroup(look->watch, &counts);
	}
}

/* The processes first: see model/selfwatch.h. */
int cgroup_view_look(
	struct cgroup_view *view, struct selfwatch *watch, bool closely, uint32_t *ret_kills)
{
	struct look look = {.view = view,
		.watch = watch,
		.closely = closely,
		.page_size = (uint32_t)sysconf(_SC_PAGESIZE)};
	int error;

	*ret_kills = 0;
	selfwatch_look(watch, boot_now_ns());
	error = walk_cgroups(&view->below, see_members, &look);
	if (error < 0)
		return error;
	if (look.all_of_proc)
		walk_processes("", see_process, &look);
	selfwatch_hidden(watch, look.hidden);
	look.inside = 0;
	error = walk_cgroups(&view->below, see_counts, &look);
	if (error < 0 || look.error)
		return error < 0 ? error : look.error;
	see_levels_above(&look);
	*ret_kills = selfwatch_looked(watch, boot_now_ns());
	return 0;
}

void cgroup_view_stat(const struct cgroup_view *view, struct selfwatch *watch)
{
	const char *domain = cgroup_view_domain(view)->cgroup;
	struct cgroup_stat stat;
	struct pressure pressure;
	uint64_t usage_bytes;

	if (!read_cgroup_stat(&view->mount, domain, &stat) &&
		!read_cgroup_usage(&view->mount, domain, &usage_bytes))
		selfwatch_stat(watch, &stat, usage_bytes);
	if (!read_cgroup_pressure(&view->mount, domain, &pressure))
		selfwatch_pressure(watch, &pressure);
}
