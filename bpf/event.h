/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * event.h: the wire between the kernel side (bpf/) and user space.
 *
 * Contract
 *   Every record starts with struct ev_hdr. `len` is the size of the whole record, `kind` names its
 * struct, `version` is EV_VERSION of the side that wrote it. Readers check all three and the number
 * of bytes they were given; a record may grow at its end without a new version. Values of enums are
 * explicit and are never reused. Strings are NUL terminated when they fit and are arbitrary bytes
 * otherwise: names of processes and cgroups are whatever their owners chose.
 *
 * Units
 *   `_ns` nanoseconds of CLOCK_BOOTTIME, `_pages` pages of the running kernel, `_bytes` bytes. A
 * counter that could not be read is EV_UNKNOWN, never 0. `tgid` and `tid` are numbers of the
 * initial pid namespace.
 *
 * Source of the facts: mm/oom_kill.c, mm/memcontrol.c, include/linux/page_counter.h,
 * include/linux/mm.h.
 *
 * This is the only header of bpf/ that user space includes; it needs nothing but fixed-width types.
 */
#ifndef OOMSNOOP_EVENT_H
#define OOMSNOOP_EVENT_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define EV_VERSION 2
#define EV_UNKNOWN (~0ULL)

#define EV_COMM_LEN 16 /* TASK_COMM_LEN */
#define EV_NAME_LEN 256 /* NAME_MAX + 1: a cgroup's own name */
#define EV_FILE_LEN 64 /* a program file's name; a longer one is cut */
#define EV_PATH_LEN 1024 /* a cgroup's path as told by cgroup_mkdir */
#define EV_CMDLINE_LEN 512 /* the first bytes of the argument area */
#define EV_MESSAGE_LEN 48 /* the message oom_kill_process() was given */
#define EV_MAX_LEVELS 24 /* levels of one memcg chain that are walked */
#define EV_FREED_LEVELS 16 /* levels whose usage is read when a victim's memory is gone */

enum ev_kind {
	EV_CONTEXT = 1, /* an OOM invocation: who asked, and oom_control where it could be read */
	EV_TASK = 2, /* one process with all badness inputs; role says why it is told */
	EV_LEVEL = 3, /* one level of a memcg chain, leaf first */
	EV_END = 4, /* out_of_memory() returned */
	EV_EXIT = 5, /* the last thread of a process exited */
	EV_MM_FREED = 6, /* a victim's address space was torn down */
	EV_REAP = 7, /* the OOM reaper and a victim */
	EV_FORK = 8, /* a process (not a thread) was forked */
	EV_EXEC = 9, /* a process executed a program */
	EV_CGROUP = 10, /* a cgroup of the memory hierarchy was made or removed */
	EV_SAMPLE = 11, /* the recorder: one process's counters at one moment */
	EV_USAGE = 12, /* the recorder: one memory cgroup's counters at one moment */
	EV_KILL_COUNT = 13, /* what kills have added to the events of one level of a memcg chain */
	EV_REFUSAL = 20, /* memory or a process was asked for and not given */
	EV_SIGNAL = 16, /* a signal that kills, and was not the OOM killer's as far as is known */
};

struct ev_hdr {
	__u32 len;
	__u16 kind; /* enum ev_kind */
	__u16 version; /* EV_VERSION */
	__u64 time_ns; /* CLOCK_BOOTTIME when the hook ran */
	__u32 cpu;
	__u32 incident; /* 1… within one load of the programs; 0: belongs to none */
};

/* Index of the resident set counters: include/linux/mm_types_task.h, the same on every kernel
 * since 4.5. */
enum ev_rss {
	EV_RSS_FILE = 0,
	EV_RSS_ANON = 1,
	EV_RSS_SWAP = 2,
	EV_RSS_SHMEM = 3,
	EV_RSS_COUNTERS = 4,
};

enum ev_task_role {
	EV_ROLE_CANDIDATE = 1, /* weighed by the kernel in this scan */
	EV_ROLE_CHOSEN = 2, /* handed to oom_kill_process() */
	EV_ROLE_VICTIM = 3, /* marked as OOM victim */
	EV_ROLE_SIGNALLED = 4, /* sent SIGKILL by the OOM killer, whether marked or not */
	EV_ROLE_CENSUS = 5, /* listed by the task iterator, not by the kernel's scan */
};

enum ev_task_flag {
	EV_TASK_KTHREAD = 1 << 0,
	EV_TASK_NO_MM = 1 << 1, /* no thread of it has an address space any more */
	EV_TASK_OOM_SKIP = 1 << 2, /* MMF_OOM_SKIP: the kernel will not choose it (again) */
	EV_TASK_VFORK = 1 << 3, /* in vfork: not eligible */
	EV_TASK_OOM_VICTIM = 1 << 4, /* signal->oom_mm was set before this record */
	EV_TASK_EXITING = 1 << 5, /* group exit under way */
	EV_TASK_ORIGIN = 1 << 6, /* oom_flag_origin: swapoff or KSM, chosen first */
	EV_TASK_INIT = 1 << 7, /* global init: never eligible */
	EV_TASK_SIGNALLED = 1 << 8, /* victim: the OOM killer sent SIGKILL just before the mark */
	EV_TASK_RSS_SPLIT =
		1 << 9, /* one atomic counter; each thread may hold back up to 64 pages (< 6.2) */
	EV_TASK_RSS_EXACT = 1 << 10, /* rss_exact was summed over all CPUs */
	EV_TASK_PARTIAL = 1 << 11, /* only pid and time are known (tracepoint with a bare pid) */
	EV_TASK_FORKED = 1 << 12, /* PF_FORKNOEXEC: still runs what it was forked with */
};

struct ev_task {
	struct ev_hdr hdr;
	__u32 role; /* enum ev_task_role */
	__u32 flags; /* enum ev_task_flag */
	__u32 tgid;
	__u32 tid;
	__u32 ppid; /* tgid of the real parent */
	__u32 uid; /* of the initial user namespace */
	__u32 ns_tgid; /* tgid as seen in its own pid namespace */
	__s32 oom_score_adj;
	__u64 start_ns; /* start of the group leader, CLOCK_BOOTTIME */
	__u64 mm; /* address of the mm: joins sharers, never shown */
	__u64 cgroup_id; /* kernfs id of its memory cgroup */
	__s64 rss_pages[EV_RSS_COUNTERS]; /* what get_mm_counter() reads: approximate where percpu
					   */
	__s64 rss_exact[EV_RSS_COUNTERS]; /* sum over all CPUs; valid with EV_TASK_RSS_EXACT */
	__u64 pgtables_bytes;
	__u64 total_vm_pages;
	__u64 totalpages; /* candidates: oom_control.totalpages of the scan; else EV_UNKNOWN */
	char comm[EV_COMM_LEN];
};

enum ev_context_flag {
	EV_CONTEXT_OC = 1 << 0, /* oom_control was read */
	EV_CONTEXT_KTHREAD = 1 << 1, /* asked from a kernel thread */
	EV_CONTEXT_GROUP =
		1 << 2, /* the victim's chain has memory.oom.group set below the limit's level */
};

/* enum oom_constraint, include/linux/oom.h */
enum ev_constraint {
	EV_CONSTRAINT_NONE = 0,
	EV_CONSTRAINT_CPUSET = 1,
	EV_CONSTRAINT_MEMORY_POLICY = 2,
	EV_CONSTRAINT_MEMCG = 3,
};

struct ev_context {
	struct ev_hdr hdr;
	__u32 flags; /* enum ev_context_flag */
	__u32 constraint;
	/* who asked: current */
	__u32 tgid;
	__u32 tid;
	__u32 uid;
	__s32 oom_score_adj;
	__u64 start_ns; /* of its group leader */
	__u64 cgroup_id;
	char comm[EV_COMM_LEN]; /* of the thread that asked */
	/* oom_control, with EV_CONTEXT_OC */
	__u64 limit_cgroup_id; /* oc->memcg; 0: no memcg */
	__u64 totalpages;
	__s64 chosen_points;
	__u64 nodemask; /* first word of oc->nodemask; EV_UNKNOWN without one */
	/* of whoever asked, in any case; first words; EV_UNKNOWN where the kernel knows no nodes or
	 * policy */
	__u64 mems_allowed; /* by its cpuset */
	__u64 policy_nodes; /* by its own memory policy, where that binds */
	__u32 gfp_mask;
	__s32 order;
	char message[EV_MESSAGE_LEN];
};

enum ev_level_role {
	EV_LEVEL_VICTIM = 1, /* the chain of the victim's memcg */
	EV_LEVEL_TRIGGER = 2, /* the chain of the memcg of whoever asked, where it is another one */
	EV_LEVEL_LIMIT = 3, /* the chain of oom_control.memcg when there is no victim */
};

enum ev_level_flag {
	EV_LEVEL_ROOT = 1 << 0,
	EV_LEVEL_OOM_GROUP = 1 << 1, /* memory.oom.group */
	EV_LEVEL_V2 = 1 << 2, /* the default hierarchy: swap is its own counter, not memory+swap */
	EV_LEVEL_LIMIT_HERE = 1 << 3, /* this is oom_control.memcg */
};

/* index into ev_level.events: enum memcg_memory_event by name, since its numbers move */
enum ev_memcg_event {
	EV_EVENT_LOW = 0,
	EV_EVENT_HIGH = 1,
	EV_EVENT_MAX = 2,
	EV_EVENT_OOM = 3,
	EV_EVENT_OOM_KILL = 4,
	EV_EVENT_OOM_GROUP_KILL = 5,
	EV_EVENT_COUNT = 6,
};

struct ev_level {
	struct ev_hdr hdr;
	__u32 role; /* enum ev_level_role */
	__u32 index; /* 0: the leaf */
	__u32 flags; /* enum ev_level_flag */
	__u32 swappiness; /* v1 only; v2 takes vm.swappiness: ~0 */
	__u64 id; /* kernfs id */
	__u64 usage_pages;
	__u64 max_pages;
	__u64 high_pages;
	__u64 min_pages;
	__u64 low_pages;
	__u64 watermark_pages;
	__u64 failcnt;
	__u64 swap_usage_pages; /* v2: swap; v1: memory+swap */
	__u64 swap_max_pages;
	__u64 kmem_usage_pages; /* v1; else EV_UNKNOWN */
	__u64 events[EV_EVENT_COUNT]; /* of this cgroup and those below it */
	__u64 events_local[EV_EVENT_COUNT]; /* of this very cgroup */
	char name[EV_NAME_LEN];
};

/*
 * The kernel counts a kill after it has chosen: in a level's own record it may not be counted yet.
 * Told when out_of_memory() returns; where that is not hooked, when a victim's memory is gone.
 */
struct ev_kill_count {
	struct ev_hdr hdr;
	__u64 id; /* kernfs id */
	__u64 oom_kill; /* of this cgroup and those below it */
	__u64 oom_group_kill;
	__u64 oom_kill_local; /* of this very cgroup */
	__u64 oom_group_kill_local;
};

enum ev_end_choice {
	EV_END_NONE = 0, /* nobody was eligible */
	EV_END_CHOSEN = 1, /* a task was chosen */
	EV_END_ABORTED = 2, /* an earlier victim was still on its way out */
	EV_END_FREEING =
		3, /* current was already dying, or the notifier chain freed memory: no scan */
};

struct ev_end {
	struct ev_hdr hdr;
	__u32 choice; /* enum ev_end_choice */
	__u32 returned; /* out_of_memory()'s return value */
	__u32 killed; /* oom_kill_process() ran in this invocation */
	__u32 suppressed; /* like invocations left out since the last one told */
	__u64 limit_cgroup_id;
};

struct ev_exit {
	struct ev_hdr hdr;
	__u32 tgid;
	__u32 oom_victim; /* signal->oom_mm was set */
	__u64 start_ns;
	__u32 exit_code; /* as in wait(2) */
	__u32 ppid;
	__u64 cgroup_id;
	__u64 peak_pages; /* signal->maxrss: the most it ever had resident, any thread's end
			     included */
	/* of the recorder's table, as in ev_sample; EV_UNKNOWN: nothing was counted for it */
	__u64 copied_pages;
	__u64 charged_pages;
	__u64 faults; /* of all its threads, as in ev_sample */
	__u64 io_bytes;
	char comm[EV_COMM_LEN];
};

struct ev_mm_freed {
	struct ev_hdr hdr;
	__u64 mm;
	__u64 usage_pages[EV_FREED_LEVELS]; /* of the victim's memcg chain, leaf first; EV_UNKNOWN
					       past its end */
};

enum ev_reap_stage {
	EV_REAP_WAKE = 1,
	EV_REAP_START = 2,
	EV_REAP_FINISH = 3,
	EV_REAP_SKIP = 4,
};

struct ev_reap {
	struct ev_hdr hdr;
	__u32 stage;
	__u32 tid; /* of the thread that was marked */
};

struct ev_fork {
	struct ev_hdr hdr;
	__u32 tgid;
	__u32 parent_tgid;
	__u64 start_ns;
	__u64 parent_start_ns;
	__u64 rss_pages; /* anon, file and shmem that it begins with, shared with its parent, at
			    least 1; 0: it runs in its parent's address space (vfork) */
	__u64 anon_pages; /* anon of it: files are mapped anew as they are touched */
};

struct ev_exec {
	struct ev_hdr hdr;
	__u32 tgid;
	__u32 ppid;
	__u64 start_ns;
	__u64 cgroup_id;
	__u32 uid;
	__u32 cmdline_len; /* bytes that are valid below; arguments end in NUL */
	__u32 args_len; /* size of the whole argument area */
	__u32 pad;
	char comm[EV_COMM_LEN];
	char cmdline[EV_CMDLINE_LEN];
};

struct ev_cgroup {
	struct ev_hdr hdr;
	__u64 id;
	__u32 removed; /* 0: made */
	__u32 pad;
	char path[EV_PATH_LEN];
};

enum ev_sample_why {
	EV_SAMPLE_CENSUS = 1, /* a pass over all processes */
	EV_SAMPLE_FAULTS =
		2, /* its memory moved by more than the threshold: seen at a page fault */
	EV_SAMPLE_CHARGES = 3, /* the same, seen at a charge to its cgroup */
};

/*
 * One process. Counters are plain get_mm_counter() readings: where they are kept per CPU (6.2 and
 * newer) each lags by at most batch × CPUs pages, batch = max(32, 2 × CPUs).
 */
struct ev_sample {
	struct ev_hdr hdr;
	__u32 tgid;
	__u32 ppid; /* tgid of the real parent */
	__s32 oom_score_adj;
	__u32 flags; /* enum ev_task_flag */
	__u32 why; /* enum ev_sample_why */
	__u32 pad;
	__u64 start_ns;
	__u64 mm; /* 0: it has none any more */
	__u64 cgroup_id;
	__s64 rss_pages[EV_RSS_COUNTERS];
	__u64 pgtables_bytes;
	/* Of all its threads since it started, those that ended included; EV_UNKNOWN in a sample
	 * that is none of a census, and where it has more threads than are walked. */
	__u64 faults; /* minor and major page faults: task_struct.min_flt, maj_flt */
	__u64 io_bytes; /* through read and write calls: task_io_accounting.rchar, wchar */
	/* Of the recorder's table, since it first met this process; EV_UNKNOWN: nothing counts it.
	 */
	__u64 copied_pages; /* write faults on pages that were present: at most so many were copied
			     */
	__u64 charged_pages; /* charged to its own cgroup by its own threads, in the kernel's
			      * batches
			      */
	char comm[EV_COMM_LEN];
};

/* One memory cgroup: include/linux/page_counter.h, mem_cgroup.memory_events. */
struct ev_usage {
	struct ev_hdr hdr;
	__u64 id; /* kernfs id */
	__u64 parent_id; /* 0: it is the root */
	__u32 flags; /* enum ev_level_flag */
	__u32 pad;
	__u64 usage_pages;
	__u64 max_pages;
	__u64 high_pages;
	__u64 swap_usage_pages; /* v2: swap; v1: memory+swap */
	__u64 swap_max_pages;
	__u64 failcnt;
	__u64 events[EV_EVENT_COUNT]; /* of this cgroup and those below it */
	__u64 charged_pages; /* by its own processes since the recorder met it, in batches;
			      * EV_UNKNOWN
			      */
};

enum ev_signal_flag {
	EV_SIGNAL_GROUP = 1 << 0, /* to the whole process, not to one thread */
	EV_SIGNAL_PRIV = 1 << 1, /* SEND_SIG_PRIV: from the kernel */
	EV_SIGNAL_NOINFO = 1 << 2, /* SEND_SIG_NOINFO: in the name of current, but not by kill(2) */
	EV_SIGNAL_KTHREAD = 1 << 3, /* current is a kernel thread */
	EV_SIGNAL_EXITING = 1 << 4, /* the sender is on its way out itself */
	EV_SIGNAL_NS_INIT = 1 << 5, /* the sender is the first process of a pid namespace */
	EV_SIGNAL_CHILD = 1 << 6, /* the target is the sender's child */
	EV_SIGNAL_DESCENDANT = 1 << 7, /* the same, or a child's child and so on */
	EV_SIGNAL_PARENT = 1 << 8, /* the sender is the target's child */
	EV_SIGNAL_ARGUMENT = 1 << 9, /* `argument` was read: current is in kill(2) */
	EV_SIGNAL_TERM = 1 << 10, /* a SIGTERM went before, term_* */
	EV_SIGNAL_TARGET_INIT = 1 << 11, /* the target is the first process of its pid namespace */
	EV_SIGNAL_LIMIT = 1 << 12, /* limit_*: a level of the target's chain has a limit */
	EV_SIGNAL_LIMIT_V2 = 1 << 13,
	EV_SIGNAL_MAPPING = 1 << 14, /* mapping_*: the file that the fault was in */
	EV_SIGNAL_MAPPING_ANON = 1 << 15, /* the fault was in memory that is no file's */
	EV_SIGNAL_BLOCKS = 1 << 16, /* tmpfs_*_blocks */
};

/* include/trace/events/signal.h */
enum ev_signal_result {
	EV_SIGNAL_DELIVERED = 0,
	EV_SIGNAL_IGNORED = 1, /* and the target lives on: the first process of a pid namespace */
	EV_SIGNAL_LOST_INFO = 4, /* delivered without its siginfo */
};

/* One signal. Sender is whoever ran: of a fault the target itself, of a kernel thread that thread.
 */
struct ev_signal {
	struct ev_hdr hdr;
	__u32 signal;
	__u32 flags; /* enum ev_signal_flag */
	__s32 code; /* si_code */
	__u32 result; /* enum ev_signal_result */
	__s32 argument; /* first one of kill(2): below 0 a process group, -1 all */
	__u32 term_count; /* how many SIGTERM the same sender sent it */
	__u64 address; /* of the fault */
	__u64 term_ns; /* when that sender sent the first */
	__u32 term_tgid;
	__u32 burst; /* this is the nth one of its sender in this burst */
	__u64 burst_ns; /* when that began */
	/* the sender */
	__u32 sender_tgid;
	__u32 sender_tid;
	__u32 sender_ppid;
	__u32 sender_uid;
	__u64 sender_start_ns;
	__u64 sender_cgroup_id;
	/* the target */
	__u32 tgid;
	__u32 tid;
	__u32 ppid;
	__u32 uid;
	__u32 ns_tgid;
	__u32 pgid;
	__s32 oom_score_adj;
	__u32 cmdline_len; /* of the sender, where it is so young that its name may not be known */
	__u64 start_ns;
	__u64 cgroup_id;
	__s64 rss_pages[EV_RSS_COUNTERS];
	/* the level of its chain that is fullest */
	__u64 limit_id;
	__u64 limit_usage_pages;
	__u64 limit_max_pages;
	__u64 limit_oom_kills; /* memory.events oom_kill */
	/* of the file that the fault was in */
	__u64 mapping_magic; /* super_block.s_magic */
	__u64 mapping_bytes; /* size of the file */
	__u64 mapping_pgoff; /* where in it the mapping begins, in pages */
	__u64 mapping_offset; /* and the fault in that, in bytes */
	__u64 tmpfs_max_blocks;
	__u64 tmpfs_used_blocks;
	__u32 args_len;
	__u32 mapping_dev; /* super_block.s_dev: major << 20 | minor */
	char sender_comm[EV_COMM_LEN]; /* of its leader */
	char parent_comm[EV_COMM_LEN]; /* of the sender's parent */
	char comm[EV_COMM_LEN]; /* of the target's leader */
	char sender_file[EV_FILE_LEN]; /* what the sender runs: the file's name, without its path */
	char mapping_name[EV_NAME_LEN]; /* last component */
	char cmdline[EV_CMDLINE_LEN];
};

/* A burst of one sender, for user space to read how many there were in the end. */
#define EV_BURST_TOLD 32 /* so many of a burst are told one by one; then each power of two */
#define EV_BURSTS 64 /* a power of two: place by sender */
struct ev_burst {
	__u64 began_ns;
	__u64 last_ns;
	__u32 sender;
	__u32 count;
};

/* Who was sent SIGTERM, and by whom: told with the SIGKILL that may follow. One place for each pid
 * modulo their number, and the last one has it: no map is as cheap, and a machine that ends
 * thousands of processes at once does not have each of them killed after it. */
#define EV_TERMS 4096

struct ev_term {
	__u64 task; /* whose address that was sent to: of another process, should the pid come back
		     */
	__u64 start_ns; /* of the target */
	__u64 first_ns; /* of this sender's */
	__u64 jiffies; /* when that was looked at */
	__u32 tgid;
	__u32 sender;
	__u32 count;
};

/* Which call it was that failed. */
enum ev_call {
	EV_CALL_MMAP = 1,
	EV_CALL_BRK = 2,
	EV_CALL_MREMAP = 3,
	EV_CALL_MPROTECT = 4,
	EV_CALL_FORK = 5, /* fork, vfork, clone, clone3: a process */
	EV_CALL_THREAD = 6, /* clone, clone3: a thread */
	EV_CALL_LAST = 6,
};

enum ev_refusal_flag {
	EV_REFUSAL_MM = 1 << 0, /* what the process has was read */
	EV_REFUSAL_ADMIN = 1 << 1, /* CAP_SYS_ADMIN: what is kept back for root is free to it */
	EV_REFUSAL_RESOURCE = 1 << 2, /* CAP_SYS_RESOURCE */
	EV_REFUSAL_ROOT = 1 << 3, /* the root user of the machine */
	EV_REFUSAL_PIDS = 1 << 4, /* pids_*: a level of its chain has as many as it may have */
	EV_REFUSAL_LIMIT = 1 << 5, /* limit_*: a level of its memory cgroup's chain has a limit */
};

/* One call that was refused with ENOMEM or EAGAIN. Everything is of the moment when it returned,
 * in the thread that asked. */
struct ev_refusal {
	struct ev_hdr hdr;
	__u32 call; /* enum ev_call */
	__s32 error; /* ENOMEM, EAGAIN */
	__u32 flags; /* enum ev_refusal_flag */
	__u32 count; /* this is the nth one of its process and call in this burst */
	__u64 burst_ns; /* when that began */
	__u64 asked_bytes; /* 0: a process or thread, or nothing more than there was */
	__u64 detail; /* mmap: flags << 32 | protection; mprotect: protection; mremap: the new
			 length; fork: its flags */
	__u32 tgid;
	__u32 tid;
	__u32 ppid;
	__u32 uid;
	__u32 ns_tgid;
	__u32 map_count; /* mappings it has */
	__u64 start_ns;
	__u64 cgroup_id;
	__u64 total_vm_pages; /* mapped: what RLIMIT_AS bounds */
	__u64 data_vm_pages; /* private and writable: what RLIMIT_DATA bounds */
	__u64 brk_bytes; /* data segment and heap: what RLIMIT_DATA bounds for brk */
	__u64 task_size; /* end of the address space */
	__s64 rss_pages[EV_RSS_COUNTERS];
	/* soft limits; EV_UNKNOWN: unlimited (RLIM_INFINITY) */
	__u64 limit_as_bytes;
	__u64 limit_data_bytes;
	__u64 limit_nproc;
	__u64 user_processes; /* of its user, as RLIMIT_NPROC counts them; EV_UNKNOWN */
	/* of the pids controller */
	__u64 pids_id; /* kernfs id */
	__s64 pids_count;
	__s64 pids_max;
	__u32 pids_level; /* so many above its own cgroup */
	__u32 pad;
	/* the level of its memory cgroup's chain that is fullest */
	__u64 limit_id;
	__u64 limit_usage_pages;
	__u64 limit_max_pages;
	char comm[EV_COMM_LEN]; /* of its leader */
	char pids_name[EV_NAME_LEN];
};

/* A process and its call; there are fewer pids than 2^22. Their place among the bursts. */
#define EV_REFUSAL_KEY(tgid, call) ((tgid) | (call) << 24)
#define EV_REFUSAL_PLACE(key) (((key) ^ (key) >> 21) & (EV_BURSTS - 1))

/* Why a record never reached the ring; index into the kernel side's table of drops. */
enum ev_drop {
	EV_DROP_INCIDENT = 0, /* a record of an incident: the ring was full */
	EV_DROP_CANDIDATE = 1, /* a candidate: the ring was full */
	EV_DROP_PROCESS =
		2, /* fork, exec, exit, cgroup: left out, to keep half of the ring for incidents */
	EV_DROP_SAMPLE = 3, /* a sample between two passes; the next pass makes up for it */
	EV_DROP_SIGNAL =
		4, /* a signal: too many at once; those of a burst are counted there, too */
	EV_DROP_REFUSAL = 5, /* the same of refusals */
	EV_DROP_COUNT = 6,
};

/*
 * The invocation that is under way. The kernel holds oom_lock around every one of them, so there is
 * one at a time in the whole system, and the thread that holds it owns this. Others only compare
 * the owner.
 */
struct oom_scope {
	__u64 owner; /* pid_tgid of the thread inside out_of_memory(); stays after it where no hook
		      tells the end */
	__u64 oc;
	__u64 css; /* of the chain that was told */
	__u64 last_mm; /* of the victim marked last */
	__u64 last_ns;
	__u32 number;
	__u8 open;
	__u8 context_sent;
	__u8 killed; /* oom_kill_process() ran */
	__u8 marked;
	__u8 group; /* memory.oom.group on the victim's chain */
	__u8 pad[3];
	__u32 candidates; /* of this scan so far */
	/* the limit that was last told to have nobody to kill, and how often it was not told since
	 */
	__u64 no_kill_limit;
	__u64 no_kill_told_ns;
	__u32 no_kill_suppressed;
	__u32 pad2;
};

#endif /* OOMSNOOP_EVENT_H */
