// SPDX-License-Identifier: Apache-2.0
/*
 * confine [-n] [-m] [-u UID] CGROUP PROGRAM [ARGUMENT...]
 *
 * Runs a program as a container's runtime would, for guests that have none: in that cgroup, in
 * namespaces of its own for pids and mounts and, with -n, for cgroups; /sys/fs/cgroup read-only
 * (with -n mounted anew, so that its top is CGROUP; without, the machine's own root is to be seen
 * there); With -m it goes on in CGROUP/main, so that cgroups beside that can have limits and
 * processes. As UID (1000) with no capability in any set and no new privileges. Ends as the program
 * does.
 */
#define _GNU_SOURCE 1
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "workload.h"

#define CGROUPFS "/sys/fs/cgroup"

static void mount_all(int own_cgroups)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	if (mount("proc", "/proc", "proc", flags, NULL) < 0)
		fail("proc");
	if (own_cgroups) {
		/* It does not go on top of itself. */
		if (umount2(CGROUPFS, MNT_DETACH) < 0)
			fail("umount");
		if (mount("cgroup2", CGROUPFS, "cgroup2", flags | MS_RDONLY, NULL) < 0)
			fail("cgroup2");
		return;
	}
	if (mount(CGROUPFS, CGROUPFS, NULL, MS_BIND, NULL) < 0 ||
		mount(NULL, CGROUPFS, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL) < 0)
		fail("bind");
}

static void drop_all(uid_t uid)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	for (int i = 0; prctl(PR_CAPBSET_READ, i) >= 0; i++)
		if (prctl(PR_CAPBSET_DROP, i) < 0)
			fail("bounding");
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
		fail("setuid");
	if (syscall(SYS_capset, &header, none) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		fail("capset");
}

static void run(int own_cgroups, uid_t uid, char **argv)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 && errno != EINVAL)
		fail("private");
	mount_all(own_cgroups);
	drop_all(uid);
	execv(argv[0], argv);
	fail("exec");
}

/* The namespace's top stays the cgroup that it was made in. */
static void go_below(const char *cgroup)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/main", cgroup);
	join_cgroup(path);
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", cgroup);
	write_file(path, "+memory");
}

int main(int argc, char **argv)
{
	int own_cgroups = 0, below = 0, opt, status;
	uid_t uid = 1000;
	pid_t child;

	while ((opt = getopt(argc, argv, "+nmu:")) != -1) {
		if (opt == 'n')
			own_cgroups = 1;
		else if (opt == 'm')
			below = 1;
		else if (opt == 'u')
			uid = atoi(optarg);
		else
			return 64;
	}
	if (argc - optind < 2)
		return 64;
	join_cgroup(argv[optind]);
	if (unshare(CLONE_NEWPID | CLONE_NEWNS | (own_cgroups ? CLONE_NEWCGROUP : 0)) < 0)
		fail("unshare");
	if (below)
		go_below(argv[optind]);
	child = fork();
	if (child < 0)
		fail("fork");
	if (!child)
		run(own_cgroups, uid, argv + optind + 1);
	while (waitpid(child, &status, 0) < 0)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
