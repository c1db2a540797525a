/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rights.h: what this process may do, and making it safe to be the one that watches.
 *
 * Source: capabilities(7), Documentation/filesystems/proc.rst, mm/oom_kill.c. 0 or -errno; every
 * step is reported apart, so that the tool can say which one failed and go on.
 */
#ifndef OOMSNOOP_FACTS_RIGHTS_H
#define OOMSNOOP_FACTS_RIGHTS_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RIGHT(capability) (1ULL << (capability))
#define RIGHTS_MISSING_MAX 2

struct rights {
	uint64_t effective, permitted, bounding; /* bit = number of the capability */
	uint32_t uid; /* the effective one: what root owns is readable to it without any capability
		       */
	bool no_new_privs;
	bool user_namespace; /* capabilities count in a namespace only, and bpf(2) asks the host's
			      */
};

/* Fills all but user_namespace out of the text of /proc/PID/status. */
int parse_status_rights(const char *text, struct rights *ret);
/* True if the text of /proc/PID/uid_map is that of the initial user namespace. */
bool parse_uid_map_initial(const char *text);
int read_rights(const char *root, struct rights *ret);

/* "CAP_BPF"; NULL: a number that is not known here. */
const char *capability_name(unsigned int number);

/*
 * Names of what is missing to load and attach the programs: CAP_BPF, CAP_PERFMON; CAP_SYS_ADMIN
 * stands for both. Returns how many; 0 in the host's user namespace means that it may be tried.
 */
size_t rights_check(const struct rights *rights, const char *ret_missing[RIGHTS_MISSING_MAX]);

/*
 * A capability that is of use, and not needed: what it buys, and what is lost without it. Each was
 * found by taking it away. capabilities(7); kernel/ptrace.c, mm/mlock.c, kernel/printk/printk.c.
 */
struct rights_extra {
	unsigned int capability;
	const char *buys, *lost;
};

enum { RIGHTS_EXTRAS = 6 };
extern const struct rights_extra rights_extras[RIGHTS_EXTRAS];

/* What is permitted counts from now on: a file's capabilities are given as permitted alone, so that
 * it may be started where the bounding set has none of them. 0 or -errno. */
int rights_raise(void);

struct rights_protection {
	int lock_error; /* 0 or -errno of mlockall() */
	int priority_error; /* 0 or -errno of setpriority(): in a storm of kills all others are
			       runnable, too */
	int adj_error; /* 0: oom_score_adj is -1000; else why it is not */
	int adj; /* what it is now */
	int adj_before; /* for children, which inherit it: a watched command must stay killable */
};

/*
 * Keeps the tool alive while memory runs out: its pages stay resident as they are touched, and the
 * OOM killer passes it over (-1000, or the lowest that is permitted).
 */
void rights_protect(const char *root, struct rights_protection *ret);

int rights_set_adj(const char *root, int adj);

/*
 * The lowest oom_score_adj that set() takes, between -1000 and `current`. The kernel keeps a floor
 * that it does not show and refuses what is below it: found by halving. set() returns 0 or -errno.
 * *ret_adj is the last value that it took, or `current`.
 */
int rights_lowest_adj(int current, int (*set)(int adj, void *arg), void *arg, int *ret_adj);

/*
 * Gives up every capability but `keep` (RIGHT() bits; those not held are no error), in the bounding
 * and ambient sets too where CAP_SETPCAP allows it, and forbids getting any back by execve(). The
 * programs and maps that are open stay usable. After the hooks are attached nothing is needed to
 * trace; CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE where other users' /proc/PID/exe is to be read.
 *
 * The user id stays: what names processes, cgroups and containers (/proc/PID/cmdline, cgroupfs, the
 * runtimes' state below directories of mode 0700) is opened by name for as long as the tool runs,
 * and belongs to root. Root without capabilities may read what root owns, and nothing more.
 */
int rights_drop(uint64_t keep);

#endif /* OOMSNOOP_FACTS_RIGHTS_H */
