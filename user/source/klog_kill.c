// SPDX-License-Identifier: Apache-2.0
/* The lines that tell who was chosen and who died. */
#include <string.h>

#include "source/klog_line_parts.h"

#define PATH_SHARE_MARK ",task_memcg="

/* --- who died --- */

static bool take_message(struct scan *scan, const char *verb, enum klog_message *ret)
{
	static const struct {
		const char *text;
		enum klog_message message;
	} forms[] = {{"Memory cgroup out of memory: ", KLOG_MESSAGE_MEMCG},
		{"Out of memory (oom_kill_allocating_task): ", KLOG_MESSAGE_ALLOCATING},
		{"Out of memory: ", KLOG_MESSAGE_GLOBAL}, {"Out of Memory: ", KLOG_MESSAGE_GLOBAL},
		{"", KLOG_MESSAGE_NONE}};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct scan rest = *scan;

		if (!scan_text(&rest, forms[i].text) || !scan_text(&rest, verb))
			continue;
		*ret = forms[i].message;
		*scan = rest;
		return true;
	}
	return false;
}

static uint64_t take_size(struct scan *scan, const char *name)
{
	struct scan rest = *scan;
	uint64_t value;

	if (!scan_text(&rest, name) || !scan_u64(&rest, &value))
		return UNKNOWN_U64;
	scan_text(&rest, "kB");
	*scan = rest;
	return value;
}

/* "total-vm:1kB, anon-rss:2kB, file-rss:3kB, shmem-rss:4kB, UID:5 pgtables:6kB oom_score_adj:7",
 * each kernel with more of it than the one before. True: nothing else follows. */
static bool parse_sizes(struct scan rest, struct klog_line *ret)
{
	uint64_t uid;

	ret->kill.total_vm_kb = take_size(&rest, "total-vm:");
	if (ret->kill.total_vm_kb == UNKNOWN_U64)
		ret->kill.total_vm_kb = take_size(&rest, "vsz:");
	ret->kill.anon_kb = take_size(&rest, ", anon-rss:");
	ret->kill.file_kb = take_size(&rest, ", file-rss:");
	ret->kill.shmem_kb = take_size(&rest, ", shmem-rss:");
	uid = take_size(&rest, ", UID:");
	if (uid != UNKNOWN_U64)
		ret->kill.uid = uid;
	ret->kill.pgtables_kb = take_size(&rest, " pgtables:");
	if (ret->kill.pgtables_kb == UNKNOWN_U64)
		ret->kill.pgtables_kb = take_size(&rest, ", pgtables:");
	if (scan_text(&rest, " oom_score_adj:") || scan_text(&rest, ", oom_score_adj:"))
		ret->kill.has_adj = klog_take_adj(&rest, &ret->kill.oom_score_adj);
	return ret->kill.file_kb != UNKNOWN_U64 && scan_done(&rest);
}

/* Behind the sizes' beginning nothing can imitate it, so the name ends before the last one. It may
 * be followed by ", UID 1000, " there. */
static bool split_kill(struct scan rest, struct scan *ret_name, struct scan *ret_sizes)
{
	const char *sizes = klog_find_last(rest, "total-vm:"), *close;

	if (!sizes)
		sizes = klog_find_last(rest, "vsz:");
	*ret_sizes = (struct scan) {sizes ? sizes : rest.end, rest.end};
	*ret_name = (struct scan) {rest.at, ret_sizes->at};
	close = klog_find_last(*ret_name, ")");
	if (!close)
		return false;
	*ret_sizes = (struct scan) {close + 1, rest.end};
	ret_name->end = close;
	return true;
}

bool klog_parse_kill(struct scan body, struct klog_line *ret)
{
	struct scan rest = body, sizes;

	if (!take_message(&rest, "Killed process ", &ret->kill.message) ||
		!klog_take_pid(&rest, &ret->kill.pid))
		return false;
	ret->kind = KLOG_KILL;
	ret->whole = false;
	ret->kill.uid = ret->kill.total_vm_kb = ret->kill.anon_kb = ret->kill.file_kb =
		ret->kill.shmem_kb = ret->kill.pgtables_kb = UNKNOWN_U64;
	ret->kill.has_adj = false;
	if (scan_text(&rest, ", UID ") && !scan_u64(&rest, &ret->kill.uid))
		return false;
	scan_text(&rest, ",");
	/* Cut off within the number, or none of it. */
	if (!scan_text(&rest, " ("))
		return false;
	if (!split_kill(rest, &ret->kill.comm, &sizes)) {
		/* Cut off within the name: what is there is not all of it. */
		ret->kill.comm = (struct scan) {0};
		return true;
	}
	if (!klog_is_comm(ret->kill.comm))
		return false;
	/* The oldest form ends here, maybe with a full stop. */
	if (scan_done(&sizes) || scan_equals(&sizes, ".")) {
		ret->whole = true;
		return true;
	}
	if (scan_text(&sizes, ", UID "))
		scan_u64(&sizes, &ret->kill.uid);
	scan_text(&sizes, ",");
	scan_text(&sizes, " ");
	ret->whole = parse_sizes(sizes, ret);
	/* Words of somebody else's, not sizes: no line of the kernel's. */
	return ret->kill.total_vm_kb != UNKNOWN_U64 || scan_done(&sizes);
}

bool klog_parse_choice(struct scan body, struct klog_line *ret)
{
	const char *end;

	if (!take_message(&body, "Kill process ", &ret->choice.message) &&
		!take_message(&body, "kill process ", &ret->choice.message))
		return false;
	if (!klog_take_pid(&body, &ret->choice.pid) || !scan_text(&body, " ("))
		return false;
	ret->kind = KLOG_CHOICE;
	end = klog_find_last(body, ") score ");
	if (end) {
		ret->whole = klog_ends(body, "child") || klog_ends(body, "children.");
	} else {
		end = klog_find_last(body, ") sharing same memory");
		if (!end)
			return false;
		ret->kind = KLOG_SHARING;
		ret->whole = true;
	}
	ret->choice.comm = (struct scan) {body.at, end};
	return klog_is_comm(ret->choice.comm);
}

bool klog_parse_exiting(struct scan body, struct klog_line *ret)
{
	static const char mark[] = ": OOM victim ", tail[] = ") is already exiting";
	const char *found = klog_find(body, mark), *end = klog_find_last(body, tail);

	if (!found || !end || end < found)
		return false;
	body.at = found + sizeof(mark) - 1;
	if (!klog_take_pid(&body, &ret->choice.pid) || !scan_text(&body, " ("))
		return false;
	ret->kind = KLOG_EXITING;
	ret->whole = true;
	ret->choice.comm = (struct scan) {body.at, end};
	return klog_is_comm(ret->choice.comm);
}

/* --- the summary line --- */

static enum klog_constraint constraint_of(struct scan name)
{
	if (scan_equals(&name, "CONSTRAINT_NONE"))
		return KLOG_CONSTRAINT_NONE;
	if (scan_equals(&name, "CONSTRAINT_CPUSET"))
		return KLOG_CONSTRAINT_CPUSET;
	if (scan_equals(&name, "CONSTRAINT_MEMORY_POLICY"))
		return KLOG_CONSTRAINT_POLICY;
	if (scan_equals(&name, "CONSTRAINT_MEMCG"))
		return KLOG_CONSTRAINT_MEMCG;
	return KLOG_CONSTRAINT_UNKNOWN;
}

/* Between this name and the next one that is there; empty: it is not. */
static struct scan part_of(struct scan text, const char *name, const char *const *nexts)
{
	struct scan ret = {klog_find(text, name), text.end};

	if (!ret.at)
		return (struct scan) {0};
	ret.at += strlen(name);
	for (; *nexts; nexts++) {
		const char *end = klog_find(ret, *nexts);

		if (end)
			ret.end = end;
	}
	return ret;
}

/* ",task=x,pid=1,uid=0" at the end of the line: cut from the right, the name at most as long as
 * names are. */
static bool take_task(struct scan *body, struct klog_line *ret)
{
	static const char task_mark[] = ",task=", pid_mark[] = ",pid=", uid_mark[] = ",uid=";
	const char *uid_at = klog_find_last(*body, uid_mark), *pid_at, *task_at = NULL, *found;
	struct scan rest, number;

	if (!uid_at)
		return false;
	number = (struct scan) {uid_at + sizeof(uid_mark) - 1, body->end};
	ret->whole = scan_u64(&number, &ret->summary.uid) && scan_done(&number);
	rest = (struct scan) {body->at, uid_at};
	pid_at = klog_find_last(rest, pid_mark);
	if (!pid_at)
		return false;
	number = (struct scan) {pid_at + sizeof(pid_mark) - 1, uid_at};
	if (!klog_take_pid(&number, &ret->summary.pid) || !scan_done(&number))
		return false;
	for (rest.end = pid_at; (found = klog_find(rest, task_mark)); rest.at = found + 1)
		if (klog_is_comm((struct scan) {found + sizeof(task_mark) - 1, pid_at})) {
			task_at = found;
			break;
		}
	if (!task_at)
		return false;
	ret->summary.comm = (struct scan) {task_at + sizeof(task_mark) - 1, pid_at};
	body->end = task_at;
	return true;
}

bool klog_parse_summary(struct scan body, struct klog_line *ret)
{
	static const char *const after_nodemask[] = {
		",cpuset=", ",oom_memcg=", ",global_oom", NULL};
	static const char *const after_mems[] = {",oom_memcg=", ",global_oom", NULL};
	struct scan name, paths;
	const char *found;

	if (!scan_text(&body, "oom-kill:"))
		return false;
	scan_blanks(&body);
	if (!scan_text(&body, "constraint="))
		return false;
	ret->kind = KLOG_SUMMARY;
	ret->summary.uid = UNKNOWN_U64;
	ret->summary.pid = 0;
	ret->summary.comm = ret->summary.oom_memcg = ret->summary.task_memcg = (struct scan) {0};
	ret->whole = false;
	take_task(&body, ret);
	ret->summary.nodemask = part_of(body, "nodemask=", after_nodemask);
	ret->summary.mems = part_of(body, "mems_allowed=", after_mems);
	ret->summary.global = klog_find(body, ",global_oom") != NULL;
	paths = body;
	if (!scan_field(&body, ',', &name))
		return true;
	ret->summary.constraint = constraint_of(name);
	found = klog_find(paths, ",oom_memcg=");
	if (found) {
		paths.at = found + strlen(",oom_memcg=");
		ret->summary.oom_memcg = paths;
		klog_split_paths(paths, PATH_SHARE_MARK, &ret->summary.oom_memcg,
			&ret->summary.task_memcg, false);
	} else {
		ret->summary.task_memcg = part_of(paths, PATH_SHARE_MARK, &(const char *) {NULL});
	}
	return true;
}
