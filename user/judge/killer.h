/* SPDX-License-Identifier: Apache-2.0 */
/*
 * killer.h: what a process is that kills others. Pure.
 *
 * The program file tells (by the kernel: its name when the signal was sent, else the link in
 * /proc); of an interpreter the script that it runs; the name alone, which anybody may take, only
 * where the file is not known, and then `by_name` says so. Where the file is known to be another
 * one the name counts for nothing.
 */
#ifndef OOMSNOOP_JUDGE_KILLER_H
#define OOMSNOOP_JUDGE_KILLER_H

#include <stdbool.h>
#include <stdint.h>

enum killer_kind {
	KILLER_PROCESS = 0, /* nothing in particular */
	KILLER_OOM_DAEMON = 1, /* systemd-oomd, earlyoom, nohang, oomd */
	KILLER_SERVICE_MANAGER = 2, /* systemd, of the machine or of a user; other inits */
	KILLER_RUNTIME = 3, /* runc, crun, containerd-shim, conmon, dockerd, podman, lxc */
	KILLER_KUBELET = 4,
	KILLER_BATCH = 5, /* slurmstepd and the like */
	KILLER_SHELL = 6,
	KILLER_TOOL = 7, /* kill, pkill, killall, timeout, fuser: somebody's hand */
	KILLER_INTERPRETER = 8, /* python, perl, node … running a program of its own */
	KILLER_PRIVILEGE = 9, /* sudo, su: hands a signal on */
};
#define KILLER_LAST KILLER_PRIVILEGE

struct killer_facts {
	uint32_t tgid;
	/* "": not known */
	const char *comm, *exe, *file; /* file: the last part of exe, at that moment */
	const char *cmdline, *cgroup;
};

struct killer {
	enum killer_kind kind;
	const char *name; /* "systemd-oomd"; NULL: as it calls itself */
	bool user_manager; /* systemd --user */
	bool by_name; /* by its name alone */
};

struct killer killer_of(const struct killer_facts *facts);

/* Killing its own children is its office, and told all the same. */
bool killer_has_office(const struct killer *killer);

const char *killer_kind_name(enum killer_kind kind); /* for the record */

#endif /* OOMSNOOP_JUDGE_KILLER_H */
