/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h: how a command ended, and what that means: `oomsnoop run`. Pure: facts in, verdicts out.
 *
 * Units as in model/incident.h; what is not known is UNKNOWN_U64. Pids as the one who ran the
 * command sees them. Names are arbitrary bytes still.
 */
#ifndef OOMSNOOP_JUDGE_RUN_H
#define OOMSNOOP_JUDGE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "judge/judgement.h"
#include "judge/kills.h"
#include "judge/refusals.h"

#define RUN_OOMS 8
#define RUN_KILLS 8
#define RUN_DEAD 8
#define RUN_REFUSALS 8
#define RUN_VICTIMS 8
#define RUN_COMM (EV_COMM_LEN + 1)
#define RUN_CMDLINE 384
#define RUN_VERDICTS 8
#define RUN_MISSING 6

/* What watched while the command ran. */
enum run_watch {
	RUN_WATCH_NONE = 0, /* wait4(2) and /proc alone */
	RUN_WATCH_CGROUP = 1, /* the files of the own cgroup, without rights */
	RUN_WATCH_TRACE = 2, /* BPF */
};

/* One incident in which one of the family died. */
struct run_oom {
	uint32_t number;
	uint32_t victim_count; /* of the family; pids of the first RUN_VICTIMS */
	uint32_t pids[RUN_VICTIMS];
	char comm[RUN_COMM]; /* of the first */
	bool certain; /* false: noticed from within the cgroup, and not sure to be of the family */
	bool has_story;
	struct verdict story; /* died-for-workers */
	struct verdict first; /* of the incident; id NULL: it has none */
};

/* A kill that was not the OOM killer's, of one of the family. */
struct run_kill {
	uint32_t number;
	uint32_t pid; /* the first target of the family */
	uint32_t signal;
	char comm[RUN_COMM];
	bool root; /* the command itself is among the targets */
	struct verdict first;
};

/* What one of the family asked for and was not given. */
struct run_refusal {
	uint32_t pid;
	struct verdict first;
};

/* One of the family, but not the command itself, that a signal ended. */
struct run_dead {
	uint32_t pid;
	uint32_t signal;
	char comm[RUN_COMM];
};

/* What the trace tells of the family. */
struct run_told {
	enum run_watch watch;
	bool from_start; /* attached before the command was started */
	uint64_t attached_ns; /* after its start; with `watch`. 0 with from_start */
	unsigned int oom_total, kill_total, dead_total, refusal_total; /* more than are kept */
	struct run_oom ooms[RUN_OOMS]; /* the last one replaces the one before, once it is full */
	struct run_kill kills[RUN_KILLS];
	struct run_dead dead[RUN_DEAD];
	struct run_refusal refusals[RUN_REFUSALS];
	unsigned int foreign_ooms; /* at limits the command lives under; none of the family died */
	uint32_t members; /* of the family, ever; 0: not followed */
};

enum run_measure {
	RUN_MEASURE_NONE = 0,
	RUN_MEASURE_CGROUP = 1, /* the kernel's own peak of a cgroup of its own */
	RUN_MEASURE_PSS = 2, /* sum of Pss at one moment: what is shared counts once */
	RUN_MEASURE_ONE = 3, /* there was one process: its RSS */
	RUN_MEASURE_RSS = 4, /* sum of RSS at one moment: what is shared counts in each */
	RUN_MEASURE_MAXRSS = 5, /* the kernel's own peak of the largest process; getrusage(2) */
	RUN_MEASURE_BELOW = 6, /* the same, and no more than what it was before it executed */
};

struct run_peak {
	uint64_t looks;
	uint64_t rss_bytes; /* the highest sum */
	uint64_t rss_at_ns; /* after the start */
	uint32_t rss_processes; /* at that moment */
	uint64_t pss_bytes; /* the highest sum of Pss; UNKNOWN_U64: none was taken */
	uint64_t pss_at_ns;
	uint32_t pss_processes;
	bool pss_late; /* RSS rose by more than a tenth after the last sum of Pss that was taken */
	uint64_t largest_bytes;
	uint32_t largest_pid;
	char largest_comm[RUN_COMM];
	uint32_t members; /* of the family, that were seen */
};

struct run_cgroup {
	bool own; /* made for the command */
	char path[CGROUP_PATH_LEN]; /* that it ran in; "": not known */
	uint64_t max_bytes, swap_max_bytes; /* of its own */
	uint64_t peak_bytes; /* its own; UNKNOWN_U64 */
	uint64_t oom_kills; /* counted there while it ran; UNKNOWN_U64: not readable */
	bool left; /* it could not be removed, as somebody lives in it */
};

struct run_facts {
	uint32_t pid;
	char comm[RUN_COMM];
	char cmdline[RUN_CMDLINE];
	int status; /* as in wait(2) */
	uint64_t wall_ns, user_ns, system_ns;
	uint64_t maxrss_bytes; /* of the largest of it and of what it waited for */
	uint64_t maxrss_floor_bytes; /* it counts what the process held as ours, before it executed
				      */
	uint64_t alive; /* descendants that live on; UNKNOWN_U64 */
	struct run_cgroup cgroup;
	struct run_peak peak;
	struct run_told told;
	char why_not_traced[160]; /* with watch other than RUN_WATCH_TRACE */
	/* The last signal that it was sent through us, and by whom; 0: none */
	uint32_t passed_signal, passed_pid, passed_uid;
	bool passed_by_kernel; /* the terminal, say */
};

struct run_judgement {
	enum run_measure measure;
	uint64_t peak_bytes; /* UNKNOWN_U64 */
	uint32_t told_signal; /* exit code 128+N: N; else 0 */
	unsigned int verdict_count; /* at least one */
	struct verdict verdicts[RUN_VERDICTS];
	unsigned int missing_count;
	struct missing missing[RUN_MISSING];
};

void judge_run(const struct run_facts *facts, struct run_judgement *ret);

/* Did anything happen beyond an end of its own with status 0? */
bool run_is_quiet(const struct run_facts *facts, const struct run_judgement *judgement);

/*
 * "It died for its workers": of an incident as judged, where the victim is of a fork family that
 * holds the memory, and most of that is private copies. true: *ret is died-for-workers.
 */
bool judge_story(
	const struct incident *incident, const struct judgement *judgement, struct verdict *ret);

const char *run_signal_name(uint32_t signal); /* "SIGKILL", "SIGRTMIN+3", "signal 99" */
const char *run_measure_name(enum run_measure measure); /* for the record */
const char *run_watch_name(enum run_watch watch);

#endif /* OOMSNOOP_JUDGE_RUN_H */
