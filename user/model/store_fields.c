// SPDX-License-Identifier: Apache-2.0
/* The facts of an incident, member by member. */
#include "model/store_fields_parts.h"

/*
 * Bounds of what any machine tells: with these no sum, product or difference that the judge or a
 * sink makes leaves 64 bits. Pages are of 1 KiB at least and 1 MiB at most.
 */
#define HOST_MAX (1ULL << 57)
#define PAGES_MAX (1ULL << 43) /* of one process */
#define KIB_MAX (1ULL << 53)
#define ORDER_MAX 63

/* A member of a struct that is one row. */
#define ONE(of, type, name, member, max, about)                                                    \
	{                                                                                          \
		name, type, sizeof(((struct of *)0)->member), 0, offsetof(struct of, member), max, \
			about                                                                      \
	}

/* A member of the elements of an array in struct incident. */
#define ROW(type, name, array, member, max, about)                                                 \
	{                                                                                          \
		name, type, sizeof(((struct incident *)0)->array[0].member),                       \
			sizeof(((struct incident *)0)->array[0]),                                  \
			offsetof(struct incident, array[0].member), max, about                     \
	}

/* The elements of an array themselves. */
#define ELEMENT(type, name, array, max, about)                                                     \
	{                                                                                          \
		name, type, sizeof(((struct incident *)0)->array[0]),                              \
			sizeof(((struct incident *)0)->array[0]),                                  \
			offsetof(struct incident, array[0]), max, about                            \
	}

#define INC(type, name, member, max, about) ONE(incident, type, name, member, max, about)

/* struct task_facts, which is in the incident once and in two arrays of it: `field` makes the entry
 * out of type, name, member, max and about. */
#define TASK(field, prefix)                                                                        \
	field(FIELD_U32, prefix "pid", tgid, 0, NULL),                                             \
		field(FIELD_U32, prefix "tid", tid, 0, NULL),                                      \
		field(FIELD_U32, prefix "ppid", ppid, 0, NULL),                                    \
		field(FIELD_U32, prefix "uid", uid, 0, NULL),                                      \
		field(FIELD_U32, prefix "ns_pid", ns_tgid, 0, "as seen in its own pid namespace"), \
		field(FIELD_I32, prefix "oom_score_adj", oom_score_adj, ADJ_MAX, NULL),            \
		field(FIELD_U32, prefix "flags", flags, 0, "enum ev_task_flag"),                   \
		field(FIELD_U64, prefix "at_ns", at_ns, TIME_MAX, "when its counters were read"),  \
		field(FIELD_U64, prefix "start_ns", start_ns, TIME_MAX, NULL),                     \
		field(FIELD_ADDRESS, prefix "mm", mm, 0,                                           \
			"a number for its address space: equal where it is shared"),               \
		field(FIELD_U64, prefix "cgroup_id", cgroup_id, 0, "kernfs id"),                   \
		field(FIELD_I64, prefix "file_pages", rss_pages[EV_RSS_FILE], PAGES_MAX,           \
			"as get_mm_counter() reads it"),                                           \
		field(FIELD_I64, prefix "anon_pages", rss_pages[EV_RSS_ANON], PAGES_MAX, NULL),    \
		field(FIELD_I64, prefix "swap_pages", rss_pages[EV_RSS_SWAP], PAGES_MAX, NULL),    \
		field(FIELD_I64, prefix "shmem_pages", rss_pages[EV_RSS_SHMEM], PAGES_MAX, NULL),  \
		field(FIELD_I64, prefix "file_exact_pages", rss_exact[EV_RSS_FILE], PAGES_MAX,     \
			"summed over all CPUs, where flags & 1024"),                               \
		field(FIELD_I64, prefix "anon_exact_pages", rss_exact[EV_RSS_ANON], PAGES_MAX,     \
			NULL),                                                                     \
		field(FIELD_I64, prefix "swap_exact_pages", rss_exact[EV_RSS_SWAP], PAGES_MAX,     \
			NULL),                                                                     \
		field(FIELD_I64, prefix "shmem_exact_pages", rss_exact[EV_RSS_SHMEM], PAGES_MAX,   \
			NULL),                                                                     \
		field(FIELD_U64, prefix "pgtables_bytes", pgtables_bytes, BYTES_MAX, NULL),        \
		field(FIELD_U64, prefix "total_vm_pages", total_vm_pages, COUNTER_MAX, NULL),      \
		field(FIELD_U32, prefix "unknown", unknown, 0,                                     \
			"enum task_unknown: what a log does not tell"),                            \
		field(FIELD_U64_KNOWN, prefix "rss_total_pages", rss_total_pages, PAGES_MAX,       \
			"anon, file and shmem, where unknown & 16"),                               \
		field(FIELD_TEXT, prefix "comm", comm, 0, NULL)

/* memory.events, by enum ev_memcg_event. */
#define EVENTS(field, prefix, member)                                                              \
	field(FIELD_U64, prefix "low", member[EV_EVENT_LOW], 0, NULL),                             \
		field(FIELD_U64, prefix "high", member[EV_EVENT_HIGH], 0, NULL),                   \
		field(FIELD_U64, prefix "max", member[EV_EVENT_MAX], 0, NULL),                     \
		field(FIELD_U64, prefix "oom", member[EV_EVENT_OOM], 0, NULL),                     \
		field(FIELD_U64, prefix "oom_kill", member[EV_EVENT_OOM_KILL], 0, NULL),           \
		field(FIELD_U64, prefix "oom_group_kill", member[EV_EVENT_OOM_GROUP_KILL], 0,      \
			NULL)

#define CHOSEN(type, name, member, max, about) INC(type, name, chosen.member, max, about)
#define VICTIM(type, name, member, max, about) ROW(type, name, victims, member, max, about)
#define VICTIM_TASK(type, name, member, max, about)                                                \
	ROW(type, name, victims, task.member, max, about)
#define CANDIDATE(type, name, member, max, about) ROW(type, name, candidates, member, max, about)
#define CANDIDATE_TASK(type, name, member, max, about)                                             \
	ROW(type, name, candidates, task.member, max, about)
#define LEVEL(type, name, member, max, about) ROW(type, name, levels, member, max, about)
#define STAT(name) INC(FIELD_U64, "stat_" #name, stat.name, BYTES_MAX, NULL)
#define GROWTH(type, name, member, max, about) INC(type, "growth_" name, growth.member, max, about)

static const struct field incident_fields[] = {
	INC(FIELD_U32, "source", source, INCIDENT_SELF,
		"0 traced, 1 imported from a kernel log: see table log; 2 noticed from within its "
		"cgroup: see self_*"),
	INC(FIELD_BOOL, "joined", log.joined, 0,
		"traced, and the kernel's own report of it was found: see table log"),
	INC(FIELD_U32, "number", number, 0, "of the incident within its run"),
	INC(FIELD_U64, "time_ns", time_ns, TIME_MAX, "of the kill, else of the first record"),
	INC(FIELD_U32, "cpu", cpu, 0, NULL),
	INC(FIELD_U32, "outcome", outcome, OUTCOME_PANIC,
		"1 killed, 2 nobody could be killed, 3 who was marked was dying anyway; from a log "
		"also: 0 not told, 4 the kernel stopped instead"),
	INC(FIELD_U32, "closed", closed, CLOSED_AT_ONCE,
		"1 exited, 2 reaped, 3 timeout, 4 evicted, 5 stopped, 6 at once"),
	INC(FIELD_U64, "closed_ns", closed_ns, TIME_MAX, NULL),
	INC(FIELD_BOOL, "gathered", gathered, 0, "what user space adds was read"),
	INC(FIELD_BOOL, "complete", complete, 0, "the kernel had finished killing"),

	INC(FIELD_BOOL, "has_trigger", has_trigger, 0, "it is known who asked"),
	INC(FIELD_U32, "trigger_flags", trigger_flags, 0, "enum ev_context_flag"),
	INC(FIELD_U32, "trigger_pid", trigger_tgid, 0, NULL),
	INC(FIELD_U32, "trigger_tid", trigger_tid, 0, NULL),
	INC(FIELD_U32, "trigger_uid", trigger_uid, 0, NULL),
	INC(FIELD_I32, "trigger_oom_score_adj", trigger_adj, ADJ_MAX, NULL),
	INC(FIELD_U64, "trigger_start_ns", trigger_start_ns, TIME_MAX, NULL),
	INC(FIELD_U64, "trigger_cgroup_id", trigger_cgroup_id, 0, "kernfs id"),
	INC(FIELD_TEXT, "trigger_comm", trigger_comm, 0, NULL),
	INC(FIELD_TEXT, "trigger_cgroup", trigger_cgroup, 0, NULL),
	INC(FIELD_TEXT, "trigger_cmdline", trigger_cmdline, 0, NULL),

	INC(FIELD_BOOL, "has_oc", has_oc, 0, "oom_control was read"),
	INC(FIELD_U32, "oc_constraint", constraint, EV_CONSTRAINT_MEMCG,
		"0 none, 1 cpuset, 2 memory policy, 3 memcg"),
	INC(FIELD_U64, "oc_limit_id", oc_limit_id, 0, "kernfs id"),
	INC(FIELD_U64, "totalpages", totalpages, COUNTER_MAX, NULL),
	INC(FIELD_I64, "chosen_points", chosen_points, 0, "the kernel's own"),
	INC(FIELD_U64, "nodemask", nodemask, 0, NULL),
	INC(FIELD_U64, "mems_allowed", mems_allowed, 0, NULL),
	INC(FIELD_U64, "policy_nodes", policy_nodes, 0, NULL),
	INC(FIELD_U32, "gfp_mask", gfp_mask, 0, NULL),
	INC(FIELD_I32, "oom_order", order, ORDER_MAX, "-1: sysrq"),
	INC(FIELD_TEXT, "message", message, 0, "the kernel's own"),

	INC(FIELD_U32, "level_count", level_count, EV_MAX_LEVELS, NULL),
	TASK(CHOSEN, "chosen_"),
	INC(FIELD_U32, "victim_count", victim_count, INCIDENT_VICTIMS, NULL),
	INC(FIELD_U32, "victims_dropped", victims_dropped, 1U << 22, "beyond the largest number"),
	INC(FIELD_TEXT, "victim_cgroup", victim_cgroup, 0, "of victim 0"),
	INC(FIELD_TEXT, "victim_cmdline", victim_cmdline, 0, "of victim 0"),
	INC(FIELD_TEXT, "victim_exe", victim_exe, 0, "of victim 0"),
	NAMES_FIELDS(INC),

	INC(FIELD_U64, "ceiling_hint_pages", ceiling_hint, COUNTER_MAX, NULL),
	INC(FIELD_U32, "candidate_total", candidate_total, 0, "weighed by the kernel, or listed"),
	INC(FIELD_U32, "candidate_count", candidate_count, INCIDENT_CANDIDATES, "kept"),
	INC(FIELD_BOOL, "candidates_from_census", candidates_from_census, 0, NULL),
	INC(FIELD_U64, "census_ns", census_ns, TIME_MAX, NULL),

	INC(FIELD_U32, "aborted_scans", aborted_scans, 0, NULL),
	INC(FIELD_U32, "repeated_no_kill", repeated_no_kill, 0, NULL),
	INC(FIELD_U64, "lost_events", lost_events, 0, "records of it that never arrived"),

	HOST_FIELDS(INC, HOST_MAX),

	STAT(anon_bytes),
	STAT(file_bytes),
	STAT(shmem_bytes),
	STAT(slab_bytes),
	STAT(kernel_bytes),
	STAT(kernel_stack_bytes),
	STAT(pagetables_bytes),
	STAT(sec_pagetables_bytes),
	STAT(percpu_bytes),
	STAT(vmalloc_bytes),
	STAT(sock_bytes),
	STAT(hugetlb_bytes),
	STAT(file_dirty_bytes),
	STAT(file_writeback_bytes),
	STAT(swapcached_bytes),
	INC(FIELD_U64, "stat_usage_bytes", stat_usage_bytes, BYTES_MAX, NULL),
	INC(FIELD_BOOL, "stat_at_kill", stat_at_kill, 0,
		"stat_* as the kernel printed them before it killed; else read just after"),
	EVENTS(INC, "events_before_", events_before),
	INC(FIELD_BOOL, "has_events_before", has_events_before, 0, NULL),
	INC(FIELD_U32, "earlier_kills", earlier_kills, 0, "at the same limit, within 10 minutes"),

	INC(FIELD_U64, "self_before_ns", self.before_ns, TIME_MAX,
		"the count of kills had not risen yet"),
	INC(FIELD_U32, "self_kills", self.kills, 0, "by so much it rose"),
	INC(FIELD_U32, "self_vanished", self.vanished, 0, "processes, meanwhile"),
	INC(FIELD_U32, "self_unseen", self.unseen, 0, "kills for which nobody vanished"),
	INC(FIELD_U32, "self_hidden", self.hidden, 0, "processes that cannot be seen from there"),
	INC(FIELD_U32, "self_certainty", self.certainty, SELF_POSSIBLE,
		"of the victim: 0 not seen, 1 certain, 2 likely, 3 one of those"),
	INC(FIELD_U32, "self_limit_sign", self.limit_sign, SELF_LIMIT_FAILED,
		"0 none seen to be hit, 1 its count of invocations rose, 2 charges failed"),
	INC(FIELD_I32, "self_limit_level", self.limit_level, EV_MAX_LEVELS, "level.n; -1: none"),
	INC(FIELD_BOOL, "self_complete", self.complete, 0, "the levels reach up to the root"),
	INC(FIELD_U64, "self_counted", self.counted, 0, "kills since the cgroup was made"),
	INC(FIELD_U64, "self_pressure_some", self.pressure_some, 10000, "hundredths of a percent"),
	INC(FIELD_U64, "self_pressure_full", self.pressure_full, 10000, NULL),

	GROWTH(FIELD_BOOL, "valid", valid, 0, "a recorder ran"),
	GROWTH(FIELD_U64, "from_ns", from_ns, TIME_MAX, NULL),
	GROWTH(FIELD_U64, "to_ns", to_ns, TIME_MAX, NULL),
	GROWTH(FIELD_U64, "asked_ns", asked_ns, TIME_MAX, "length of the window as asked for"),
	GROWTH(FIELD_U64, "domain_id", domain_id, 0, "kernfs id; 0: the machine"),
	GROWTH(FIELD_U64, "domain_max_bytes", domain_max_bytes, 0, NULL),
	GROWTH(FIELD_I64, "domain_delta_bytes", domain_delta_bytes, BYTES_MAX, NULL),
	GROWTH(FIELD_BOOL, "domain_known", domain_known, 0, "its usage was recorded"),
	GROWTH(FIELD_I64, "unattributed_bytes", unattributed_bytes, BYTES_MAX, NULL),
	GROWTH(FIELD_BOOL, "cow_counted", cow_counted, 0, NULL),
	GROWTH(FIELD_U32, "cgroup_count", cgroup_count, PICTURE_CGROUPS, NULL),
	GROWTH(FIELD_U32, "cgroup_total", cgroup_total, 0, NULL),
	GROWTH(FIELD_U32, "process_count", process_count, PICTURE_PROCESSES, NULL),
	GROWTH(FIELD_U32, "process_total", process_total, 0, NULL),
	GROWTH(FIELD_U32, "family_count", family_count, PICTURE_FAMILIES, NULL),
	GROWTH(FIELD_U32, "family_total", family_total, 0, NULL),
	GROWTH(FIELD_U32, "point_count", point_count, PICTURE_POINTS, NULL),
	GROWTH(FIELD_U32, "armed_count", armed_count, PICTURE_ARMED, NULL),
	GROWTH(FIELD_U64, "evicted", evicted, 0, NULL),
	GROWTH(FIELD_U64, "not_followed", not_followed, 0, NULL),

	INC(FIELD_U32, "kmsg", kmsg, KMSG_DIFFERS,
		"the kernel log: 0 not read, 1 no line seen, 2 agrees, 3 differs"),
	INC(FIELD_U64, "kmsg_time_us", kmsg_line.time_us, TIME_MAX, NULL),
	INC(FIELD_U32, "kmsg_pid", kmsg_line.pid, 0, NULL),
	INC(FIELD_U32, "kmsg_uid", kmsg_line.uid, 0, NULL),
	INC(FIELD_I32, "kmsg_oom_score_adj", kmsg_line.oom_score_adj, ADJ_MAX, NULL),
	INC(FIELD_U64, "kmsg_total_vm_kb", kmsg_line.total_vm_kb, KIB_MAX, NULL),
	INC(FIELD_U64, "kmsg_anon_kb", kmsg_line.anon_kb, KIB_MAX, NULL),
	INC(FIELD_U64, "kmsg_file_kb", kmsg_line.file_kb, KIB_MAX, NULL),
	INC(FIELD_U64, "kmsg_shmem_kb", kmsg_line.shmem_kb, KIB_MAX, NULL),
	INC(FIELD_U64, "kmsg_pgtables_kb", kmsg_line.pgtables_kb, KIB_MAX, NULL),
	INC(FIELD_TEXT, "kmsg_comm", kmsg_line.comm, 0, NULL),
	INC(FIELD_TEXT, "kmsg_difference", kmsg_difference, 0, NULL),
};

static const struct field level_fields[] = {
	ELEMENT(FIELD_TEXT, "path", level_paths, 0, NULL),
	LEVEL(FIELD_U64, "id", id, 0, "kernfs id"),
	LEVEL(FIELD_U32, "flags", flags, 0, "enum ev_level_flag"),
	LEVEL(FIELD_U32_OR_NONE, "swappiness", swappiness, 0, NULL),
	LEVEL(FIELD_U64, "usage_pages", usage_pages, COUNTER_MAX, NULL),
	LEVEL(FIELD_U64, "max_pages", max_pages, COUNTER_MAX, NULL),
	LEVEL(FIELD_U64, "high_pages", high_pages, COUNTER_MAX, NULL),
	LEVEL(FIELD_U64, "min_pages", min_pages, COUNTER_MAX, NULL),
	LEVEL(FIELD_U64, "low_pages", low_pages, COUNTER_MAX, NULL),
	LEVEL(FIELD_U64, "watermark_pages", watermark_pages, COUNTER_MAX, "its peak"),
	LEVEL(FIELD_U64, "failcnt", failcnt, 0, NULL),
	LEVEL(FIELD_U64, "swap_usage_pages", swap_usage_pages, COUNTER_MAX,
		"version 1: memory and swap together"),
	LEVEL(FIELD_U64, "swap_max_pages", swap_max_pages, COUNTER_MAX, NULL),
	LEVEL(FIELD_U64, "kmem_usage_pages", kmem_usage_pages, COUNTER_MAX, NULL),
	EVENTS(LEVEL, "events_", events),
	EVENTS(LEVEL, "events_local_", events_local),
	LEVEL(FIELD_U64, "oom_local_before", oom_local_before, 0,
		"events_local_oom at the last look"),
	LEVEL(FIELD_U64, "freed_usage_pages", freed_usage_pages, COUNTER_MAX,
		"usage once the victim's memory was gone"),
};

static const struct field victim_fields[] = {
	TASK(VICTIM_TASK, ""),
	VICTIM(FIELD_U32, "why", why, VICTIM_POSSIBLE,
		"1 chosen, 2 group, 3 shares the memory, 4 was exiting already, 5 vanished with the "
		"kill, 6 vanished, and may be it"),
	VICTIM(FIELD_BOOL, "marked", marked, 0, NULL),
	VICTIM(FIELD_BOOL, "signalled", signalled, 0, NULL),
	VICTIM(FIELD_BOOL, "exited", exited, 0, NULL),
	VICTIM(FIELD_BOOL, "mm_freed", mm_freed, 0, NULL),
	VICTIM(FIELD_BOOL, "reaped", reaped, 0, NULL),
	VICTIM(FIELD_U64, "killed_ns", killed_ns, TIME_MAX, NULL),
	VICTIM(FIELD_U64, "exit_ns", exit_ns, TIME_MAX, NULL),
	VICTIM(FIELD_U32, "exit_code", exit_code, 0, NULL),
};

static const struct field candidate_fields[] = {
	TASK(CANDIDATE_TASK, ""),
	CANDIDATE(FIELD_I64, "weight", weight, 0, "order of keeping only"),
	CANDIDATE(FIELD_TEXT, "cgroup", cgroup, 0, NULL),
	CANDIDATE(FIELD_TEXT, "cmdline", cmdline, 0, NULL),
};

#define CGROUP(type, name, member, max, about) ROW(type, name, growth.cgroups, member, max, about)
static const struct field picture_cgroup_fields[] = {
	CGROUP(FIELD_U64, "id", id, 0, "kernfs id"),
	CGROUP(FIELD_TEXT, "path", path, 0, NULL),
	CGROUP(FIELD_I64, "delta_bytes", delta_bytes, BYTES_MAX, NULL),
	CGROUP(FIELD_I64, "own_bytes", own_bytes, BYTES_MAX, NULL),
	CGROUP(FIELD_U64, "usage_bytes", usage_bytes, BYTES_MAX, NULL),
	CGROUP(FIELD_U64, "charged_bytes", charged_bytes, BYTES_MAX, NULL),
	CGROUP(FIELD_BOOL, "began", began, 0, NULL),
};

#define PROCESS(type, name, member, max, about)                                                    \
	ROW(type, name, growth.processes, member, max, about)
static const struct field picture_process_fields[] = {
	PROCESS(FIELD_U32, "pid", tgid, 0, NULL),
	PROCESS(FIELD_U32, "ppid", ppid, 0, NULL),
	PROCESS(FIELD_U64, "start_ns", start_ns, TIME_MAX, NULL),
	PROCESS(FIELD_U64, "cgroup_id", cgroup_id, 0, "kernfs id"),
	PROCESS(FIELD_TEXT, "comm", comm, 0, NULL),
	PROCESS(FIELD_I64, "delta_bytes", delta_bytes, BYTES_MAX, NULL),
	PROCESS(FIELD_U64, "held_bytes", held_bytes, BYTES_MAX, NULL),
	PROCESS(FIELD_U64, "cow_bytes", cow_bytes, BYTES_MAX, NULL),
	PROCESS(FIELD_BOOL, "cow_upper_bound", cow_upper_bound, 0, NULL),
	PROCESS(FIELD_U64, "cached_bytes", cached_bytes, BYTES_MAX, NULL),
	PROCESS(FIELD_U64, "peak_bytes", peak_bytes, BYTES_MAX, NULL),
	PROCESS(FIELD_BOOL, "exited", exited, 0, NULL),
	PROCESS(FIELD_BOOL, "began", began, 0, NULL),
};

#define FAMILY(type, name, member, max, about) ROW(type, name, growth.families, member, max, about)
static const struct field picture_family_fields[] = {
	FAMILY(FIELD_U32, "root_pid", root_tgid, 0, NULL),
	FAMILY(FIELD_U64, "root_start_ns", root_start_ns, TIME_MAX, NULL),
	FAMILY(FIELD_TEXT, "comm", comm, 0, NULL),
	FAMILY(FIELD_U32, "members", members, 0, NULL),
	FAMILY(FIELD_U32, "exited", exited, 0, NULL),
	FAMILY(FIELD_U64, "private_bytes", private_bytes, BYTES_MAX, NULL),
	FAMILY(FIELD_U64, "shared_bytes", shared_bytes, BYTES_MAX, NULL),
	FAMILY(FIELD_I64, "delta_bytes", delta_bytes, BYTES_MAX, NULL),
	FAMILY(FIELD_U64, "cow_bytes", cow_bytes, BYTES_MAX, NULL),
	FAMILY(FIELD_BOOL, "cow_upper_bound", cow_upper_bound, 0, NULL),
};

static const struct field picture_point_fields[] = {
	ELEMENT(FIELD_U64, "usage_bytes", growth.points, BYTES_MAX,
		"at equal distances over the window"),
};

static const struct field picture_armed_fields[] = {
	ROW(FIELD_U64, "from_ns", growth.armed, from_ns, TIME_MAX, "page faults were counted"),
	ROW(FIELD_U64, "to_ns", growth.armed, to_ns, TIME_MAX, "0: to the end"),
};

/* --- what a kernel log tells --- */

#define LOG(type, name, member, max, about)                                                        \
	{                                                                                          \
		name, type, sizeof(((struct incident *)0)->log.member), sizeof(struct incident),   \
			offsetof(struct incident, log.member), max, about                          \
	}
#define LOG_FLAG(name, about) LOG(FIELD_BOOL, #name, name, 0, about)
#define LOG_BYTES(name) LOG(FIELD_U64, #name, machine.name, HOST_MAX, NULL)

/* A traced incident without the kernel's report has no row: nothing in it is known. */
static size_t log_rows(const void *base)
{
	return incident_is_logged(base);
}

static const struct field log_fields[] = {
	LOG_FLAG(followed, "out of the log of this machine, as it was printed"),
	LOG(FIELD_U64, "usage_bytes", usage_bytes, BYTES_MAX, "of the limit's cgroup, as printed"),
	LOG(FIELD_U64, "limit_bytes", limit_bytes, 0, NULL),
	LOG(FIELD_U64, "failcnt", failcnt, 0, NULL),
	LOG_FLAG(has_time, "wall_ns is known"),
	LOG(FIELD_I64, "wall_ns", wall_ns, 0, "CLOCK_REALTIME"),
	LOG_FLAG(zone_assumed, "the stamp names no time zone: the reader's was taken"),
	LOG_FLAG(has_mono, "mono_ns is known"),
	LOG(FIELD_U64_KNOWN, "mono_ns", mono_ns, TIME_MAX, "the kernel's own seconds"),
	LOG(FIELD_TEXT, "stamp", stamp, 0, "of the wall clock, as the log has it"),
	LOG_FLAG(page_size_assumed, "4096"),
	LOG_FLAG(has_order, NULL),
	LOG_FLAG(has_gfp, NULL),
	LOG_FLAG(has_constraint, NULL),
	LOG_FLAG(has_scope, NULL),
	LOG_FLAG(has_trigger_pid, NULL),
	LOG_FLAG(has_trigger_tid, NULL),
	LOG_FLAG(has_trigger_adj, NULL),
	LOG_FLAG(has_trigger_uid, NULL),
	LOG_FLAG(has_table, "the log has the table of processes"),
	LOG_FLAG(has_oom_group, "it names the cgroup that died as one"),
	LOG(FIELD_I32, "limit_level", limit_level, EV_MAX_LEVELS, "level.n of the limit; -1: none"),
	LOG_FLAG(limit_v1, "memory and swap are in one counter"),
	LOG_FLAG(sysrq, NULL),
	LOG_FLAG(limit_written, "somebody wrote a lower limit"),
	LOG_FLAG(has_trace, "the call trace is there"),
	LOG_FLAG(child_died, "a child of the one chosen died in its place"),
	LOG(FIELD_U32, "choice_pid", choice_pid, 0, NULL),
	LOG(FIELD_TEXT, "choice_comm", choice_comm, 0, NULL),
	LOG(FIELD_TEXT, "gfp_flags", gfp_flags, 0, "as the log has them"),
	LOG(FIELD_U32, "family_members", family_members, 1U << 22,
		"processes of one name that hold the most together"),
	LOG(FIELD_TEXT, "family_comm", family_comm, 0, NULL),
	LOG(FIELD_U64_KNOWN, "family_pages", family_pages, PAGES_MAX, NULL),
	LOG(FIELD_U64_KNOWN, "family_largest_pages", family_largest_pages, PAGES_MAX, NULL),
	LOG_FLAG(family_from_anon, "without pages that several of them may share"),
	LOG(FIELD_U64, "free_bytes", machine.free_bytes, HOST_MAX,
		"of the machine's memory at the kill, as printed, as are the next"),
	LOG_BYTES(cma_bytes),
	LOG_BYTES(anon_bytes),
	LOG_BYTES(file_bytes),
	LOG_BYTES(dirty_bytes),
	LOG_BYTES(shmem_bytes),
	LOG_BYTES(slab_bytes),
	LOG_BYTES(slab_unreclaimable_bytes),
	LOG_BYTES(kernel_stack_bytes),
	LOG_BYTES(pagetables_bytes),
	LOG_BYTES(unevictable_bytes),
	LOG(FIELD_BOOL, "nodes_left_out", machine.nodes_left_out, 0,
		"only nodes that may be used are shown"),
	LOG(FIELD_U32, "zone_count", machine.zone_count, INCIDENT_ZONES, NULL),
	LOG(FIELD_U32, "zones_dropped", machine.zones_dropped, 1U << 20,
		"beyond the largest number"),
};

#define ZONE(type, name, member, max, about) ROW(type, name, log.machine.zones, member, max, about)
#define ZONE_PAGES(name) ZONE(FIELD_U64, #name, name, PAGES_MAX, NULL)
#define ZONE_RESERVE(n)                                                                            \
	ZONE(FIELD_U64_KNOWN, "reserve" #n "_pages", reserve_pages[n], PAGES_MAX, NULL)
#define ZONE_ORDER(n)                                                                              \
	ZONE(FIELD_U64_KNOWN, "free" #n, pieces[n], PAGES_MAX, NULL),                              \
		ZONE(FIELD_U8, "types" #n, types[n], 0, NULL)

static const struct field zone_fields[] = {
	ZONE(FIELD_I32, "node", node, 1U << 20, "-1: the kernel knows no nodes"),
	ZONE(FIELD_TEXT, "name", name, 0, NULL),
	ZONE_PAGES(free_pages),
	ZONE_PAGES(min_pages),
	ZONE_PAGES(low_pages),
	ZONE_PAGES(present_pages),
	ZONE_PAGES(managed_pages),
	ZONE_PAGES(highatomic_pages),
	ZONE_PAGES(cma_pages),
	ZONE(FIELD_U32, "reserve_count", reserve_count, ZONE_LISTS, NULL),
	ZONE_RESERVE(0),
	ZONE_RESERVE(1),
	ZONE_RESERVE(2),
	ZONE_RESERVE(3),
	ZONE_RESERVE(4),
	ZONE_RESERVE(5),
	ZONE_RESERVE(6),
	ZONE_RESERVE(7),
	ZONE(FIELD_U32, "order_count", order_count, ZONE_ORDERS,
		"free<order>: pieces of 2^order pages; types<order>: what they may be used for"),
	ZONE_ORDER(0),
	ZONE_ORDER(1),
	ZONE_ORDER(2),
	ZONE_ORDER(3),
	ZONE_ORDER(4),
	ZONE_ORDER(5),
	ZONE_ORDER(6),
	ZONE_ORDER(7),
	ZONE_ORDER(8),
	ZONE_ORDER(9),
	ZONE_ORDER(10),
	ZONE_ORDER(11),
	ZONE_ORDER(12),
	ZONE_ORDER(13),
	ZONE_ORDER(14),
	ZONE_ORDER(15),
};
_Static_assert(ZONE_LISTS == 8 && ZONE_ORDERS == 16, "zone_fields");

#define TABLE(name, what, fields, count_member, max)                                               \
	{                                                                                          \
		name, what, fields, COUNT(fields), max, offsetof(struct incident, count_member),   \
			NULL                                                                       \
	}

const struct field_table store_field_tables[] = {
	{"incident", "the incident", incident_fields, COUNT(incident_fields), 0, 0, NULL},
	TABLE("level", "limits", level_fields, level_count, EV_MAX_LEVELS),
	TABLE("victim", "victims", victim_fields, victim_count, INCIDENT_VICTIMS),
	TABLE("candidate", "candidates", candidate_fields, candidate_count, INCIDENT_CANDIDATES),
	TABLE("picture_cgroup", "cgroups that grew", picture_cgroup_fields, growth.cgroup_count,
		PICTURE_CGROUPS),
	TABLE("picture_process", "processes that grew", picture_process_fields,
		growth.process_count, PICTURE_PROCESSES),
	TABLE("picture_family", "fork families", picture_family_fields, growth.family_count,
		PICTURE_FAMILIES),
	TABLE("picture_point", "points of usage", picture_point_fields, growth.point_count,
		PICTURE_POINTS),
	TABLE("picture_armed", "times of fault counting", picture_armed_fields, growth.armed_count,
		PICTURE_ARMED),
	{"log", "what the log tells", log_fields, COUNT(log_fields), 1, 0, log_rows},
	TABLE("zone", "zones of memory", zone_fields, log.machine.zone_count, INCIDENT_ZONES),
};

const size_t store_field_table_count = COUNT(store_field_tables);
_Static_assert(COUNT(store_field_tables) < STORE_FIELDS_TABLES, "STORE_FIELDS_TABLES");

#define MOMENT(type, name, member, max, about) ONE(capture_moment, type, name, member, max, about)
#define COVERAGE(name) MOMENT(FIELD_BOOL, "coverage_" #name, coverage.name, 0, NULL)
static const struct field moment_fields[] = {
	MOMENT(FIELD_I64, "wall_minus_boot_ns", wall_minus_boot_ns, TIME_MAX,
		"add to any _ns for CLOCK_REALTIME"),
	MOMENT(FIELD_U64, "run_lost_events", lost_events, 0, "of the whole run, by then"),
	COVERAGE(full_tier),
	COVERAGE(candidates_hook),
	COVERAGE(exit_hook),
	COVERAGE(freed_hook),
	COVERAGE(reaper_hook),
	COVERAGE(signal_hook),
	COVERAGE(process_hook),
	MOMENT(FIELD_U32, "coverage_kernel_sum", coverage.kernel_sum, RSS_MATCH_NEITHER,
		"1: this kernel takes the plain counters; 2: the exact sums"),
	COVERAGE(census),
	COVERAGE(recorder),
	COVERAGE(charge_hook),
	COVERAGE(faults_hook),
	MOMENT(FIELD_CSTRING, "coverage_faults_why", coverage.faults_why, 0,
		"why page faults cannot be counted"),
};

const struct field_table store_fields_moment = {
	"incident", "the incident", moment_fields, COUNT(moment_fields), 0, 0, NULL};

#define RUN(type, name, member, max, about) ONE(capture_run, type, name, member, max, about)
static const struct field run_fields[] = {
	RUN(FIELD_TEXT, "hostname", host.hostname, 0, NULL),
	RUN(FIELD_TEXT, "boot_id", host.boot_id, 0, NULL),
	RUN(FIELD_TEXT, "kernel", host.kernel, 0, NULL),
	RUN(FIELD_U32, "page_size", host.page_size, 1U << 20, NULL),
	RUN(FIELD_U32, "cpus", host.cpus, 0, "possible ones"),
	RUN(FIELD_U32_OR_NONE, "swappiness", host.swappiness, 0, NULL),
	RUN(FIELD_U64, "memory_nodes", host.memory_nodes, 0, "bit: a NUMA node with memory"),
	RUN(FIELD_I32, "memory_hierarchy", host.memory_hierarchy, 0,
		"0: cgroup v2; above 0: v1; -1: none"),
	RUN(FIELD_TEXT, "version", version, 0, "of oomsnoop"),
	RUN(FIELD_TEXT, "tier", tier, 0, NULL),
	RUN(FIELD_U32, "hook_count", hook_count, CAPTURE_HOOKS, NULL),
	RUN(FIELD_U64, "recorder_interval_ns", recorder_interval_ns, TIME_MAX, "0: no recorder"),
	RUN(FIELD_U64, "recorder_window_ns", recorder_window_ns, TIME_MAX, NULL),
	RUN(FIELD_U64, "recorder_history_ns", recorder_history_ns, TIME_MAX, NULL),
	RUN(FIELD_TEXT, "recorder_source", recorder_source, 0, NULL),
	RUN(FIELD_TEXT, "recorder_faults", recorder_faults, 0, NULL),
	RUN(FIELD_I64, "began_ns", began_ns, TIME_MAX, "CLOCK_REALTIME"),
	RUN(FIELD_I64_OR_NONE, "ended_ns", ended_ns, TIME_MAX,
		"CLOCK_REALTIME; NULL: it goes on, or ended without a word"),
	RUN(FIELD_TEXT, "ended_why", ended_why, 0, NULL),
};

const struct field_table store_fields_run = {
	"run", "the facts of the run", run_fields, COUNT(run_fields), 0, 0, NULL};

static const struct field run_hook_fields[] = {
	{"purpose", FIELD_TEXT, CAPTURE_NAME, sizeof(struct capture_hook),
		offsetof(struct capture_run, hooks[0].purpose), 0, NULL},
	{"hook", FIELD_TEXT, sizeof(((struct capture_hook *)0)->hook), sizeof(struct capture_hook),
		offsetof(struct capture_run, hooks[0].hook), 0, "NULL: none could be attached"},
};

const struct field_table store_fields_run_hook = {"run_hook", "the hooks of the run",
	run_hook_fields, COUNT(run_hook_fields), CAPTURE_HOOKS,
	offsetof(struct capture_run, hook_count), NULL};

#define TOLD(type, name, member, max, about) ONE(store_told, type, name, member, max, about)
static const struct field told_fields[] = {
	TOLD(FIELD_I64, "time_real_ns", time_real_ns, TIME_MAX, "of the kill, CLOCK_REALTIME"),
	TOLD(FIELD_I64, "run", run, 0, "run.id"),
	TOLD(FIELD_TEXT, "told_by", by, 0, "version of oomsnoop that judged it for these columns"),
	TOLD(FIELD_TEXT, "told_scope", scope, 0, NULL),
	TOLD(FIELD_TEXT, "told_outcome", outcome, 0, NULL),
	TOLD(FIELD_U32_OR_NONE, "told_manual", manual, 1, "an operator asked for it"),
	TOLD(FIELD_BOOL, "told_rss_exact", rss_exact, 0, "the kernel takes the exact sums"),
	TOLD(FIELD_TEXT, "told_limit_cgroup", limit_cgroup, 0, NULL),
	TOLD(FIELD_U64, "told_limit_bytes", limit_bytes, 0, NULL),
	TOLD(FIELD_U64, "told_usage_bytes", usage_bytes, 0, NULL),
	TOLD(FIELD_U64, "told_total_pages", total_pages, 0, "the ceiling the kernel divided by"),
	TOLD(FIELD_I64_OR_NONE, "told_points", points, 0, "the victim's badness sum"),
	TOLD(FIELD_TEXT, "told_limit_kind", limit_kind, 0, NULL),
	TOLD(FIELD_TEXT, "told_container_id", container_id, 0, NULL),
	TOLD(FIELD_TEXT, "told_container_name", container_name, 0, NULL),
	TOLD(FIELD_TEXT, "told_pod_uid", pod_uid, 0, NULL),
	TOLD(FIELD_TEXT, "told_runtime", runtime, 0, NULL),
	TOLD(FIELD_TEXT, "told_unit", unit, 0, "systemd's"),
	TOLD(FIELD_TEXT, "told_first_verdict", first_verdict, 0, NULL),
	TOLD(FIELD_TEXT, "told_claim", claim, 0, "of the first verdict"),
};

const struct field_table store_fields_told = {
	"incident", "the incident", told_fields, COUNT(told_fields), 0, 0, NULL};

#define VERDICT(type, name, member, about) ONE(store_verdict, type, name, member, 0, about)
static const struct field verdict_fields[] = {
	VERDICT(FIELD_TEXT, "id", id, "docs/verdicts.md"),
	VERDICT(FIELD_TEXT, "claim", claim, NULL),
	VERDICT(FIELD_U32, "confidence", confidence, "1 certain, 2 likely, 3 possible"),
	VERDICT(FIELD_TEXT, "evidence", evidence, "a line each"),
};

const struct field_table store_fields_verdict = {
	"verdict", "verdicts", verdict_fields, COUNT(verdict_fields), 0, 0, NULL};
