// SPDX-License-Identifier: Apache-2.0
#include "judge/killer.h"

#include <stddef.h>
#include <string.h>

#define COMM_SHOWN 15 /* what the kernel keeps of a name */
#define NAME_MAX_LEN 64

/* Names of program files; a '*' at the end takes any rest (python3.11, containerd-shim-runc-v2). */
static const struct known {
	const char *file;
	enum killer_kind kind;
} known[] = {
	{"systemd-oomd", KILLER_OOM_DAEMON},
	{"earlyoom", KILLER_OOM_DAEMON},
	{"nohang", KILLER_OOM_DAEMON},
	{"oomd", KILLER_OOM_DAEMON},
	{"bustd", KILLER_OOM_DAEMON},
	{"systemd", KILLER_SERVICE_MANAGER},
	{"init", KILLER_SERVICE_MANAGER},
	{"openrc-run", KILLER_SERVICE_MANAGER},
	{"start-stop-daemon", KILLER_SERVICE_MANAGER},
	{"supervise-daemon", KILLER_SERVICE_MANAGER},
	{"runit", KILLER_SERVICE_MANAGER},
	{"runsv", KILLER_SERVICE_MANAGER},
	{"s6-supervise", KILLER_SERVICE_MANAGER},
	{"supervisord", KILLER_SERVICE_MANAGER},
	{"kubelet", KILLER_KUBELET},
	{"runc", KILLER_RUNTIME},
	{"crun", KILLER_RUNTIME},
	{"youki", KILLER_RUNTIME},
	{"containerd", KILLER_RUNTIME},
	{"containerd-shim*", KILLER_RUNTIME},
	{"conmon", KILLER_RUNTIME},
	{"conmonrs", KILLER_RUNTIME},
	{"crio", KILLER_RUNTIME},
	{"dockerd", KILLER_RUNTIME},
	{"docker-init", KILLER_RUNTIME},
	{"podman", KILLER_RUNTIME},
	{"catatonit", KILLER_RUNTIME},
	{"tini", KILLER_RUNTIME},
	{"dumb-init", KILLER_RUNTIME},
	{"lxc-start", KILLER_RUNTIME},
	{"lxc-stop", KILLER_RUNTIME},
	{"systemd-nspawn", KILLER_RUNTIME},
	{"systemd-machined", KILLER_RUNTIME},
	{"slurmstepd", KILLER_BATCH},
	{"slurmd", KILLER_BATCH},
	{"pbs_mom", KILLER_BATCH},
	{"sge_shepherd", KILLER_BATCH},
	{"condor_starter", KILLER_BATCH},
	{"kill", KILLER_TOOL},
	{"pkill", KILLER_TOOL},
	{"skill", KILLER_TOOL},
	{"killall", KILLER_TOOL},
	{"killall5", KILLER_TOOL},
	{"fuser", KILLER_TOOL},
	{"timeout", KILLER_TOOL},
	{"htop", KILLER_TOOL},
	{"top", KILLER_TOOL},
	{"sudo", KILLER_PRIVILEGE},
	{"su", KILLER_PRIVILEGE},
	{"doas", KILLER_PRIVILEGE},
	{"runuser", KILLER_PRIVILEGE},
	{"bash", KILLER_SHELL},
	{"sh", KILLER_SHELL},
	{"dash", KILLER_SHELL},
	{"zsh", KILLER_SHELL},
	{"ksh*", KILLER_SHELL},
	{"mksh", KILLER_SHELL},
	{"fish", KILLER_SHELL},
	{"busybox", KILLER_SHELL},
	{"python*", KILLER_INTERPRETER},
	{"pypy*", KILLER_INTERPRETER},
	{"perl*", KILLER_INTERPRETER},
	{"ruby*", KILLER_INTERPRETER},
	{"node", KILLER_INTERPRETER},
	{"java", KILLER_INTERPRETER},
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

static bool file_matches(const char *pattern, const char *name)
{
	size_t len = strlen(pattern);

	if (pattern[len - 1] == '*')
		return !strncmp(pattern, name, len - 1);
	return !strcmp(pattern, name);
}

static const struct known *find_file(const char *name)
{
	for (size_t i = 0; i < KNOWN; i++)
		if (file_matches(known[i].file, name))
			return &known[i];
	return NULL;
}

/* A name is cut: of "containerd-shim-runc-v2" as much is left as is asked for. */
static const struct known *find_comm(const char *comm)
{
	for (size_t i = 0; i < KNOWN; i++)
		if (file_matches(known[i].file, comm) ||
			(strlen(comm) == COMM_SHOWN && !strncmp(known[i].file, comm, COMM_SHOWN)))
			return &known[i];
	return NULL;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A runtime copies itself before it enters a container, lest its file be written to from inside:
 * "/memfd:runc_cloned:/proc/self/exe". That name was given by the program that ran before. */
static const char *file_of(const struct killer_facts *facts)
{
	const char *exe = facts->file[0] ? facts->file : facts->exe;

	exe += *exe == '/';
	if (!strncmp(exe, "memfd:runc_cloned:", strlen("memfd:runc_cloned:")))
		return "runc";
	if (!strncmp(exe, "memfd:crun_cloned:", strlen("memfd:crun_cloned:")))
		return "crun";
	return base_of(exe);
}

/* The nth word of a command line, without its directory. Words are parted by one blank. */
static void word_of(const char *cmdline, unsigned int n, char ret[NAME_MAX_LEN])
{
	size_t len, at;

	ret[0] = '\0';
	while (n-- && *cmdline) {
		cmdline += strcspn(cmdline, " ");
		cmdline += *cmdline == ' ';
	}
	len = strcspn(cmdline, " ");
	for (at = len; at > 0 && cmdline[at - 1] != '/'; at--)
		;
	if (len - at >= NAME_MAX_LEN)
		return;
	memcpy(ret, cmdline + at, len - at);
	ret[len - at] = '\0';
}

/* "python3 /usr/bin/nohang --monitor": what an interpreter runs is what it is. */
static const struct known *find_script(const char *cmdline)
{
	const struct known *found;
	char word[NAME_MAX_LEN];

	for (unsigned int n = 1; n < 5; n++) {
		word_of(cmdline, n, word);
		if (!word[0])
			return NULL;
		if (word[0] == '-')
			continue;
		found = find_file(word);
		return found && found->kind != KILLER_INTERPRETER ? found : NULL;
	}
	return NULL;
}

/* "/usr/lib/systemd/systemd --user" below user@1000.service, where that is known. */
static bool is_user_manager(const struct killer_facts *facts)
{
	return facts->tgid != 1 &&
	       (strstr(facts->cmdline, " --user") || strstr(facts->cgroup, "/user@"));
}

static struct killer made(const struct killer_facts *facts, const struct known *found, bool by_name)
{
	struct killer killer = {.kind = found->kind, .name = found->file, .by_name = by_name};

	if (found->file[strlen(found->file) - 1] == '*')
		killer.name = NULL;
	if (!strcmp(found->file, "systemd"))
		killer.user_manager = is_user_manager(facts);
	/* Only the first process is one by that name: containers have others. */
	if (!strcmp(found->file, "init") && facts->tgid != 1)
		return (struct killer) {0};
	return killer;
}

struct killer killer_of(const struct killer_facts *facts)
{
	const char *file = file_of(facts);
	const struct known *found = file[0] ? find_file(file) : find_comm(facts->comm), *script;

	if (found && found->kind == KILLER_INTERPRETER) {
		script = find_script(facts->cmdline);
		if (script)
			return made(facts, script, true);
	}
	/* busybox is whatever it is called by; so is a shell's own "kill". */
	if (found && !strcmp(found->file, "busybox") && find_file(facts->comm))
		return made(facts, find_file(facts->comm), false);
	if (found)
		return made(facts, found, !file[0]);
	if (facts->tgid == 1)
		return (struct killer) {.kind = KILLER_SERVICE_MANAGER};
	return (struct killer) {0};
}

bool killer_has_office(const struct killer *killer)
{
	switch (killer->kind) {
	case KILLER_OOM_DAEMON:
	case KILLER_SERVICE_MANAGER:
	case KILLER_RUNTIME:
	case KILLER_KUBELET:
	case KILLER_BATCH:
		return true;
	default:
		return false;
	}
}

const char *killer_kind_name(enum killer_kind kind)
{
	static const char *const names[] = {
		[KILLER_PROCESS] = "process",
		[KILLER_OOM_DAEMON] = "oom-daemon",
		[KILLER_SERVICE_MANAGER] = "service-manager",
		[KILLER_RUNTIME] = "container-runtime",
		[KILLER_KUBELET] = "kubelet",
		[KILLER_BATCH] = "batch-system",
		[KILLER_SHELL] = "shell",
		[KILLER_TOOL] = "tool",
		[KILLER_INTERPRETER] = "interpreter",
		[KILLER_PRIVILEGE] = "privilege-helper",
	};

	return names[kind <= KILLER_LAST ? kind : 0];
}
