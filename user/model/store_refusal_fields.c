// SPDX-License-Identifier: Apache-2.0
/* The facts of memory or a process that was asked for and not given, member by member. */
#include "model/store_fields_parts.h"

#define PAGES_MAX (1ULL << 52)

#define REFUSAL(type, name, member, max, about)                                                    \
	{                                                                                          \
		name, type, sizeof(((struct refusal *)0)->member), 0,                              \
			offsetof(struct refusal, member), max, about                               \
	}
#define ALLOWANCE(name) REFUSAL(FIELD_U64, #name, allowance.name, 0, NULL)

static const struct field refusal_fields[] = {
	REFUSAL(FIELD_U32, "number", number, 0, "within its run"),
	REFUSAL(FIELD_U32, "call", call, EV_CALL_LAST,
		"1 mmap, 2 brk, 3 mremap, 4 mprotect, 5 fork, 6 clone of a thread"),
	REFUSAL(FIELD_U64_KNOWN, "time_ns", time_ns, TIME_MAX, "of the first call"),
	REFUSAL(FIELD_U64_KNOWN, "last_ns", last_ns, TIME_MAX, NULL),
	REFUSAL(FIELD_I32, "error", error, 0, "11 EAGAIN, 12 ENOMEM"),
	REFUSAL(FIELD_U32, "flags", flags, 0, "enum ev_refusal_flag"),
	REFUSAL(FIELD_U64_KNOWN, "count", count, COUNTER_MAX, "calls, at least"),
	REFUSAL(FIELD_BOOL, "count_is_least", count_is_least, 0, NULL),
	REFUSAL(FIELD_U32, "processes", processes, 0, "of this name and cgroup"),
	REFUSAL(FIELD_U64_KNOWN, "before", before, COUNTER_MAX, "calls told by earlier records"),
	REFUSAL(FIELD_U64, "asked_bytes", asked_bytes, 0, "of the first; 0: no memory"),
	REFUSAL(FIELD_U64, "detail", detail, 0, "flags of the call"),
	REFUSAL(FIELD_U32, "pid", tgid, 0, NULL),
	REFUSAL(FIELD_U32, "tid", tid, 0, NULL),
	REFUSAL(FIELD_U32, "ppid", ppid, 0, NULL),
	REFUSAL(FIELD_U32, "uid", uid, 0, NULL),
	REFUSAL(FIELD_U32, "ns_pid", ns_tgid, 0, "as seen in its own pid namespace"),
	REFUSAL(FIELD_U32, "map_count", map_count, 0, NULL),
	REFUSAL(FIELD_U64, "start_ns", start_ns, TIME_MAX, NULL),
	REFUSAL(FIELD_U64, "cgroup_id", cgroup_id, 0, "kernfs id"),
	REFUSAL(FIELD_U64, "total_vm_pages", total_vm_pages, PAGES_MAX, NULL),
	REFUSAL(FIELD_U64, "data_vm_pages", data_vm_pages, PAGES_MAX, NULL),
	REFUSAL(FIELD_U64, "brk_bytes", brk_bytes, 0, NULL),
	REFUSAL(FIELD_U64, "task_size", task_size, 0, "end of the address space"),
	RSS_FIELDS(REFUSAL, PAGES_MAX),
	REFUSAL(FIELD_U64, "limit_as_bytes", limit_as_bytes, 0, "RLIMIT_AS; NULL: none"),
	REFUSAL(FIELD_U64, "limit_data_bytes", limit_data_bytes, 0, "RLIMIT_DATA; NULL: none"),
	REFUSAL(FIELD_U64, "limit_nproc", limit_nproc, 0, "RLIMIT_NPROC; NULL: none"),
	REFUSAL(FIELD_U64, "user_processes", user_processes, 0, NULL),
	REFUSAL(FIELD_TEXT, "comm", comm, 0, NULL),
	REFUSAL(FIELD_TEXT, "cmdline", cmdline, 0, NULL),
	REFUSAL(FIELD_TEXT, "exe", exe, 0, NULL),
	REFUSAL(FIELD_TEXT, "cgroup", cgroup, 0, NULL),
	REFUSAL(FIELD_U64, "pids_id", pids_id, 0, "kernfs id of the cgroup that is full"),
	REFUSAL(FIELD_I64, "pids_count", pids_count, COUNTER_MAX, NULL),
	REFUSAL(FIELD_I64, "pids_max", pids_max, COUNTER_MAX, NULL),
	REFUSAL(FIELD_U32, "pids_level", pids_level, EV_MAX_LEVELS, "above its own cgroup"),
	REFUSAL(FIELD_TEXT, "pids_name", pids_name, 0, NULL),
	REFUSAL(FIELD_TEXT, "pids_cgroup", pids_cgroup, 0, NULL),
	REFUSAL(FIELD_U64, "limit_id", limit_id, 0, "kernfs id of the fullest limit of the chain"),
	REFUSAL(FIELD_U64, "limit_usage_pages", limit_usage_pages, COUNTER_MAX, NULL),
	REFUSAL(FIELD_U64, "limit_max_pages", limit_max_pages, COUNTER_MAX, NULL),
	REFUSAL(FIELD_TEXT, "limit_cgroup", limit_cgroup, 0, NULL),
	REFUSAL(FIELD_BOOL, "gathered", gathered, 0, "what user space adds was read"),
	HOST_FIELDS(REFUSAL, BYTES_MAX),
	ALLOWANCE(overcommit),
	ALLOWANCE(commit_limit_bytes),
	ALLOWANCE(committed_bytes),
	ALLOWANCE(admin_reserve_bytes),
	ALLOWANCE(user_reserve_bytes),
	ALLOWANCE(max_map_count),
	ALLOWANCE(threads_max),
	ALLOWANCE(threads),
	ALLOWANCE(pid_max),
};

const struct field_table store_fields_refusal = {
	"refusal", "the refusal", refusal_fields, COUNT(refusal_fields), 0, 0, NULL};
