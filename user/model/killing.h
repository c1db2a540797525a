/* SPDX-License-Identifier: Apache-2.0 */
/*
 * killing.h: who killed, where it was not the OOM killer: signals to one record.
 *
 * Contract
 *   What one sender did in one manner within a moment is one record: cgroup.kill, `kill -9 -PGID`
 * and a manager that takes its processes one by one are told once, with a count. A record is closed
 * when nothing came for KILLING_GAP_NS, or after KILLING_MOST_NS. The OOM killer's own signals come
 * in, too, where the kernel side cannot tell: they are taken out when the mark follows. A bounded
 * pool, taken once; when it is full the oldest is closed early, which is counted.
 *
 * Units as in incident.h; what is not known is UNKNOWN_U64.
 */
#ifndef OOMSNOOP_MODEL_KILLING_H
#define OOMSNOOP_MODEL_KILLING_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "facts/container_names.h"
#include "facts/host.h"
#include "facts/pressure.h"
#include "facts/tmpfs.h"
#include "model/cgroup.h"
#include "model/process.h"
#include "source/decode.h"

#define KILLING_GAP_NS 150000000ULL
#define KILLING_MOST_NS 1000000000ULL
#define KILLING_TARGETS 16 /* kept of each record; the others are counted */
/* An OOM kill so long before may still be what a manager cleans up after. */
#define KILLING_OOM_NS 120000000000ULL

enum killing_manner {
	MANNER_EACH = 1, /* to one process after the other: kill(2), tgkill(2), pidfd_send_signal(2)
			  */
	MANNER_GROUP = 2, /* kill(2) of a process group */
	MANNER_ALL = 3, /* kill(2) of all there are */
	MANNER_CGROUP = 4, /* cgroup.kill */
	MANNER_NAMESPACE =
		5, /* the first process of a pid namespace ended, and takes all with it */
	MANNER_PARENT = 6, /* the parent ended, and the target had asked for it: PR_SET_PDEATHSIG */
	MANNER_KERNEL = 7, /* the kernel's own will: RLIMIT_CPU, a file system, ptrace */
	MANNER_FAULT = 8, /* memory that cannot be had or is not there */
	MANNER_TIMER = 9, /* a timer of its own */
};
#define MANNER_LAST MANNER_TIMER

struct killing_target {
	uint32_t tgid, tid, ppid, uid, ns_tgid, pgid;
	int32_t oom_score_adj;
	uint32_t flags; /* enum ev_signal_flag */
	uint64_t time_ns;
	uint64_t start_ns;
	uint64_t cgroup_id;
	int64_t rss_pages[EV_RSS_COUNTERS];
	char comm[EV_COMM_LEN + 1];
};

struct killing {
	uint32_t number; /* within the run: 1, 2, … */
	enum killing_manner manner;
	uint64_t time_ns, last_ns; /* of the first signal, and of the last */
	uint32_t signal;
	int32_t code; /* si_code */
	uint32_t result; /* enum ev_signal_result */
	uint32_t flags; /* enum ev_signal_flag, of the first */
	int32_t argument; /* of kill(2), with EV_SIGNAL_ARGUMENT */

	uint32_t sender_tgid, sender_tid, sender_ppid, sender_uid;
	uint64_t sender_start_ns, sender_cgroup_id;
	char sender_comm[EV_COMM_LEN + 1];
	char sender_parent[EV_COMM_LEN + 1];
	char sender_cmdline[PROCESS_CMDLINE_LEN];
	char sender_exe[PROCESS_EXE_LEN];
	char sender_file[EV_FILE_LEN]; /* the name of the same, as the kernel told it with the
					  signal */
	char sender_parent_exe[PROCESS_EXE_LEN];
	char sender_cgroup[CGROUP_PATH_LEN];

	uint32_t total; /* signals, those included that the kernel side counted only */
	uint32_t descendants; /* of those that were told: to whom descends from the sender, or is
				 the sender, of its own process group */
	unsigned int target_count;
	struct killing_target targets[KILLING_TARGETS];
	char target_cgroup[CGROUP_PATH_LEN]; /* of the first */
	char target_cmdline[PROCESS_CMDLINE_LEN];
	char target_exe[PROCESS_EXE_LEN];
	struct container_names names; /* of the container that the first is in, as learnt */

	/* SIGTERM that went before, to the first target; term_ns 0: none */
	uint64_t term_ns;
	uint32_t term_tgid, term_count;
	char term_comm[EV_COMM_LEN + 1]; /* "": not known */

	/* the fullest level of the first target's chain, with EV_SIGNAL_LIMIT */
	uint64_t limit_id, limit_usage_pages, limit_max_pages, limit_oom_kills;
	char limit_cgroup[CGROUP_PATH_LEN];

	/* the last OOM kill in the same cgroup, at most KILLING_OOM_NS before; oom_ns 0: none */
	uint64_t oom_ns;
	uint32_t oom_tgid;
	char oom_comm[EV_COMM_LEN + 1];

	/* of a fault */
	uint64_t address;
	uint64_t mapping_magic, mapping_bytes, mapping_pgoff,
		mapping_offset; /* EV_SIGNAL_MAPPING */
	uint64_t tmpfs_max_blocks, tmpfs_used_blocks; /* EV_SIGNAL_BLOCKS */
	uint32_t mapping_dev; /* major << 20 | minor */
	char mapping_name[EV_NAME_LEN + 1];
	struct tmpfs_use tmpfs; /* with EV_SIGNAL_BLOCKS, as the target or its parent sees it */

	/* read in user space when the record began */
	bool gathered;
	struct host_memory host;
	struct pressure pressure;
	struct pressure cgroup_pressure; /* of the first target's cgroup */

	/* the kernel side's, to ask how many there were */
	uint64_t burst_ns;
	uint32_t burst_first, received;
};

struct killings;

/* Names come from the two tables, which stay the caller's. NULL with errno. */
struct killings *killings_new(struct processes *processes, struct cgroups *cgroups);
void killings_free(struct killings *killings);

/* EV_SIGNAL, and the marks of EV_TASK; others are passed over. */
void killings_fact(struct killings *killings, const struct fact *fact);

/* One that has just begun, for what else is to be read; NULL: none. Given once. */
struct killing *killings_next_fresh(struct killings *killings);
/* The oldest that is closed by now, to be released; NULL: none. now_ns UINT64_MAX: all are. */
struct killing *killings_next_closed(struct killings *killings, uint64_t now_ns);
void killings_release(struct killings *killings, struct killing *killing);
/* When the next one is; UINT64_MAX: none is open. */
uint64_t killings_deadline(const struct killings *killings);
/* Closed before its time, as the pool was full. */
uint64_t killings_evicted(const struct killings *killings);

/* How many of its burst the kernel side has counted by now: 0: that is not known. */
void killing_counted(struct killing *killing, uint32_t burst);

#endif /* OOMSNOOP_MODEL_KILLING_H */
