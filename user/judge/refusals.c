// SPDX-License-Identifier: Apache-2.0
#include "judge/refusals.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "judge/verdict_parts.h"
#include "judge/verdict_table.h"

#define MAP_PRIVATE 0x02 /* include/uapi/linux/mman.h */
#define MAP_FIXED 0x10 /* include/uapi/asm-generic/mman-common.h */
#define MAP_NORESERVE 0x4000 /* include/uapi/asm-generic/mman.h */
#define PROT_WRITE 0x2
#define MREMAP_MAPPINGS 6 /* move_vma() keeps room for so many; 3 on older kernels */
#define MEMCG_BATCH_PAGES 64 /* charges come in such batches: a limit is full within one */
#define OVERCOMMIT_HEURISTIC 0
#define OVERCOMMIT_NEVER 2

const char *refusal_call_name(enum ev_call call)
{
	static const char *const names[] = {
		[EV_CALL_MMAP] = "mmap",
		[EV_CALL_BRK] = "brk",
		[EV_CALL_MREMAP] = "mremap",
		[EV_CALL_MPROTECT] = "mprotect",
		[EV_CALL_FORK] = "fork",
		[EV_CALL_THREAD] = "clone",
	};

	return call >= EV_CALL_MMAP && call <= EV_CALL_LAST ? names[call] : "unknown";
}

const char *refusal_error_name(int32_t error)
{
	return error == ENOMEM ? "ENOMEM" : error == EAGAIN ? "EAGAIN" : NULL;
}

const char *refusal_cause_name(enum refusal_cause cause)
{
	static const char *const names[] = {
		[REFUSED_ADDRESS_SPACE] = "address-space",
		[REFUSED_MAP_COUNT] = "max-map-count",
		[REFUSED_RLIMIT_AS] = "rlimit-as",
		[REFUSED_RLIMIT_DATA] = "rlimit-data",
		[REFUSED_COMMIT_LIMIT] = "commit-limit",
		[REFUSED_OVERCOMMIT] = "overcommit",
		[REFUSED_PIDS_MAX] = "pids-max",
		[REFUSED_RLIMIT_NPROC] = "rlimit-nproc",
		[REFUSED_THREADS_MAX] = "threads-max",
		[REFUSED_MEMCG] = "memory-cgroup",
	};

	return cause <= REFUSED_MEMCG ? names[cause] : NULL;
}

bool refusal_counts_bytes(enum refusal_cause cause)
{
	switch (cause) {
	case REFUSED_MAP_COUNT:
	case REFUSED_PIDS_MAX:
	case REFUSED_RLIMIT_NPROC:
	case REFUSED_THREADS_MAX:
		return false;
	default:
		return true;
	}
}

/* --- which limit --- */

struct refusal_scene {
	const struct refusal *refusal;
	const struct host_facts *host;
	struct refusal_judgement *ret;
	uint64_t asked; /* in whole pages, as the kernel counts */
	enum confidence confidence;
};

static bool is_fork(const struct refusal *refusal)
{
	return refusal->call == EV_CALL_FORK || refusal->call == EV_CALL_THREAD;
}

static uint64_t bytes_of(const struct refusal_scene *scene, uint64_t pages)
{
	uint64_t bytes;

	return __builtin_mul_overflow(pages, (uint64_t)scene->host->page_size, &bytes) ? UNKNOWN_U64
										       : bytes;
}

static uint64_t whole_pages(uint64_t bytes, uint64_t page)
{
	uint64_t rounded;

	if (!page || __builtin_add_overflow(bytes, page - 1, &rounded))
		return bytes;
	return rounded / page * page;
}

/* More would be in use than may be; what is not known is no reason. */
static bool exceeds(uint64_t used, uint64_t asked, uint64_t limit)
{
	uint64_t sum;

	if (used == UNKNOWN_U64 || limit == UNKNOWN_U64)
		return false;
	return __builtin_add_overflow(used, asked, &sum) || sum > limit;
}

static bool found(struct refusal_scene *scene, enum refusal_cause cause, uint64_t used,
	uint64_t limit, enum confidence confidence)
{
	scene->ret->cause = cause;
	scene->ret->used = used;
	scene->ret->limit = limit;
	scene->confidence = confidence;
	return true;
}

static uint64_t map_flags(const struct refusal *refusal)
{
	return refusal->call == EV_CALL_MMAP ? refusal->detail >> 32 : 0;
}

/* Private and writable: what counts as data. Of mremap() it is not known. */
static bool may_be_data(const struct refusal *refusal)
{
	if (refusal->call == EV_CALL_MMAP)
		return map_flags(refusal) & MAP_PRIVATE && refusal->detail & PROT_WRITE;
	return refusal->call != EV_CALL_MPROTECT || refusal->detail & PROT_WRITE;
}

/* A new mapping needs less than one too many; one that is cut in two needs room. */
static bool judge_map_count(struct refusal_scene *scene)
{
	const struct refusal *refusal = scene->refusal;
	uint64_t max = refusal->allowance.max_map_count, room = 0;
	bool whole = refusal->call == EV_CALL_MMAP && !(map_flags(refusal) & MAP_FIXED);

	if (max == UNKNOWN_U64 || !(refusal->flags & EV_REFUSAL_MM) || refusal->call == EV_CALL_BRK)
		return false;
	if (refusal->call == EV_CALL_MREMAP)
		room = MREMAP_MAPPINGS;
	if (refusal->map_count + room < max + whole)
		return false;
	return found(scene, REFUSED_MAP_COUNT, refusal->map_count, max, CONFIDENCE_CERTAIN);
}

static bool judge_address_space(struct refusal_scene *scene)
{
	const struct refusal *refusal = scene->refusal;

	if (!refusal->task_size || refusal->call == EV_CALL_MPROTECT ||
		scene->asked <= refusal->task_size)
		return false;
	return found(
		scene, REFUSED_ADDRESS_SPACE, UNKNOWN_U64, refusal->task_size, CONFIDENCE_CERTAIN);
}

/* may_expand_vm() */
static bool judge_rlimit_as(struct refusal_scene *scene)
{
	const struct refusal *refusal = scene->refusal;
	uint64_t used = bytes_of(scene, refusal->total_vm_pages);

	if (refusal->call == EV_CALL_MPROTECT ||
		!exceeds(used, scene->asked, refusal->limit_as_bytes))
		return false;
	return found(scene, REFUSED_RLIMIT_AS, used, refusal->limit_as_bytes, CONFIDENCE_CERTAIN);
}

static bool judge_rlimit_data(struct refusal_scene *scene)
{
	const struct refusal *refusal = scene->refusal;
	uint64_t used = refusal->call == EV_CALL_BRK ? refusal->brk_bytes
						     : bytes_of(scene, refusal->data_vm_pages);

	if (!may_be_data(refusal))
		return false;
	if (exceeds(used, scene->asked, refusal->limit_data_bytes))
		return found(scene, REFUSED_RLIMIT_DATA, used, refusal->limit_data_bytes,
			refusal->call == EV_CALL_MREMAP ? CONFIDENCE_LIKELY : CONFIDENCE_CERTAIN);
	/* brk: do_brk_flags() asks may_expand_vm(), too. */
	used = bytes_of(scene, refusal->data_vm_pages);
	if (refusal->call != EV_CALL_BRK || !exceeds(used, scene->asked, refusal->limit_data_bytes))
		return false;
	return found(
		scene, REFUSED_RLIMIT_DATA, used, refusal->limit_data_bytes, CONFIDENCE_CERTAIN);
}

/* __vm_enough_memory(): what is kept back for root, and for the user to recover with. */
static uint64_t commit_allowed(const struct refusal_scene *scene)
{
	const struct refusal *refusal = scene->refusal;
	const struct allowance *allowance = &refusal->allowance;
	uint64_t limit = allowance->commit_limit_bytes, kept = 0, own;

	if (limit == UNKNOWN_U64)
		return limit;
	if (!(refusal->flags & EV_REFUSAL_ADMIN) && allowance->admin_reserve_bytes != UNKNOWN_U64)
		kept += allowance->admin_reserve_bytes;
	own = bytes_of(scene, refusal->total_vm_pages / 32);
	if (refusal->flags & EV_REFUSAL_MM && allowance->user_reserve_bytes != UNKNOWN_U64)
		kept += own < allowance->user_reserve_bytes ? own : allowance->user_reserve_bytes;
	return kept < limit ? limit - kept : 0;
}

/* What it would have to be promised: of a fork all that the parent may write to and has for
 * itself. */
static uint64_t commit_asked(const struct refusal_scene *scene)
{
	const struct refusal *refusal = scene->refusal;

	if (refusal->call == EV_CALL_FORK && refusal->flags & EV_REFUSAL_MM)
		return bytes_of(scene, refusal->data_vm_pages);
	return scene->asked;
}

/* The sum of promises is read just after, in user space: it moves. */
static bool judge_commit_limit(struct refusal_scene *scene)
{
	const struct allowance *allowance = &scene->refusal->allowance;
	uint64_t allowed = commit_allowed(scene), asked = commit_asked(scene);

	if (allowance->overcommit != OVERCOMMIT_NEVER ||
		!exceeds(allowance->committed_bytes, asked, allowed))
		return false;
	scene->ret->asked = asked;
	return found(scene, REFUSED_COMMIT_LIMIT, allowance->committed_bytes, allowed,
		exceeds(0, asked, allowed) ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY);
}

/* The heuristic refuses only what could not be there at all. */
static bool judge_overcommit(struct refusal_scene *scene)
{
	const struct refusal *refusal = scene->refusal;
	uint64_t ram = refusal->host.total_bytes, swap = refusal->host.swap_total_bytes;

	if (refusal->allowance.overcommit != OVERCOMMIT_HEURISTIC || ram == UNKNOWN_U64 ||
		swap == UNKNOWN_U64 || !exceeds(0, commit_asked(scene), ram + swap) ||
		map_flags(refusal) & MAP_NORESERVE)
		return false;
	scene->ret->asked = commit_asked(scene);
	/* Of a fork each mapping is asked for by itself. */
	return found(scene, REFUSED_OVERCOMMIT, UNKNOWN_U64, ram + swap,
		is_fork(refusal) ? CONFIDENCE_LIKELY : CONFIDENCE_CERTAIN);
}

/* --- forks --- */

static bool judge_nproc(struct refusal_scene *scene)
{
	const struct refusal *refusal = scene->refusal;

	if (refusal->flags & (EV_REFUSAL_ROOT | EV_REFUSAL_ADMIN | EV_REFUSAL_RESOURCE) ||
		!exceeds(refusal->user_processes, 1, refusal->limit_nproc))
		return false;
	return found(scene, REFUSED_RLIMIT_NPROC, refusal->user_processes, refusal->limit_nproc,
		CONFIDENCE_CERTAIN);
}

/* How many threads there are is read just after. */
static bool judge_threads_max(struct refusal_scene *scene)
{
	const struct allowance *allowance = &scene->refusal->allowance;

	if (!exceeds(allowance->threads, 1, allowance->threads_max))
		return false;
	return found(scene, REFUSED_THREADS_MAX, allowance->threads, allowance->threads_max,
		CONFIDENCE_LIKELY);
}

static bool judge_pids(struct refusal_scene *scene)
{
	const struct refusal *refusal = scene->refusal;

	if (!(refusal->flags & EV_REFUSAL_PIDS))
		return false;
	return found(scene, REFUSED_PIDS_MAX, (uint64_t)refusal->pids_count,
		(uint64_t)refusal->pids_max, CONFIDENCE_CERTAIN);
}

/* Stacks and page tables are charged, too. */
static bool judge_memcg(struct refusal_scene *scene)
{
	const struct refusal *refusal = scene->refusal;
	uint64_t used = bytes_of(scene, refusal->limit_usage_pages);
	uint64_t max = bytes_of(scene, refusal->limit_max_pages);

	if (!(refusal->flags & EV_REFUSAL_LIMIT) ||
		!exceeds(used, MEMCG_BATCH_PAGES * (uint64_t)scene->host->page_size, max))
		return false;
	return found(scene, REFUSED_MEMCG, used, max, CONFIDENCE_LIKELY);
}

static void judge_fork(struct refusal_scene *scene)
{
	bool again = scene->refusal->error == EAGAIN;

	scene->ret->asked = 1;
	if (again && (judge_nproc(scene) || judge_threads_max(scene) || judge_pids(scene)))
		return;
	if (!again && (judge_commit_limit(scene) || judge_overcommit(scene) || judge_memcg(scene)))
		return;
	scene->ret->asked = UNKNOWN_U64;
}

/* In the order in which the kernel asks. */
static void judge_memory(struct refusal_scene *scene)
{
	if (judge_map_count(scene) || judge_address_space(scene) || judge_rlimit_as(scene) ||
		judge_rlimit_data(scene) || judge_commit_limit(scene) || judge_overcommit(scene))
		return;
	judge_memcg(scene);
}

/* --- the sentence --- */

static const char *what_text(const struct refusal_scene *scene)
{
	switch (scene->refusal->call) {
	case EV_CALL_FORK:
		return "a new process by fork";
	case EV_CALL_THREAD:
		return "a new thread by clone";
	default:
		return NULL;
	}
}

static void put_limit(struct refusal_scene *scene, char *ret, size_t size)
{
	const struct refusal *refusal = scene->refusal;
	const struct refusal_judgement *judged = scene->ret;
	const char *pids = refusal->pids_cgroup[0] ? refusal->pids_cgroup : refusal->pids_name;

	switch (judged->cause) {
	case REFUSED_ADDRESS_SPACE:
		snprintf(ret, size, "an address space has room for %s at most",
			size_text(judged->limit));
		return;
	case REFUSED_MAP_COUNT:
		snprintf(ret, size, "vm.max_map_count is %" PRIu64 ", it has %" PRIu64 " mappings",
			judged->limit, judged->used);
		return;
	case REFUSED_RLIMIT_AS:
		snprintf(ret, size, "ulimit -v is %s, it has %s mapped", size_text(judged->limit),
			size_text(judged->used));
		return;
	case REFUSED_RLIMIT_DATA:
		snprintf(ret, size, "ulimit -d is %s, its data has %s", size_text(judged->limit),
			size_text(judged->used));
		return;
	case REFUSED_COMMIT_LIMIT:
		snprintf(ret, size,
			"vm.overcommit_memory is 2, and of the %s that may be promised %s are",
			size_text(judged->limit), size_text(judged->used));
		return;
	case REFUSED_OVERCOMMIT:
		snprintf(ret, size, "the machine has %s of RAM and swap", size_text(judged->limit));
		return;
	case REFUSED_PIDS_MAX:
		snprintf(ret, size, "pids.max of %s is %" PRIu64 ", and it has %" PRIu64,
			path_text(pids), judged->limit, judged->used);
		return;
	case REFUSED_RLIMIT_NPROC:
		snprintf(ret, size, "ulimit -u is %" PRIu64 ", uid %u has %" PRIu64 " threads",
			judged->limit, refusal->uid, judged->used);
		return;
	case REFUSED_THREADS_MAX:
		snprintf(ret, size,
			"kernel.threads-max is %" PRIu64 ", the machine has %" PRIu64 " threads",
			judged->limit, judged->used);
		return;
	case REFUSED_MEMCG:
		snprintf(ret, size, "%s is full: %s of %s", path_text(refusal->limit_cgroup),
			size_text(judged->used), size_text(judged->limit));
		return;
	default:
		snprintf(ret, size, "which limit it was is not known");
	}
}

static const char *sureness_text(const struct refusal_scene *scene)
{
	return scene->confidence == CONFIDENCE_LIKELY && scene->ret->cause ? "most likely since "
									   : "";
}

static void put_claim(struct refusal_scene *scene, struct verdict *verdict)
{
	const struct refusal *refusal = scene->refusal;
	const char *what = what_text(scene), *call = refusal_call_name(refusal->call);
	char limit[VERDICT_TEXT - 110], others[48] = "";

	put_limit(scene, limit, sizeof(limit));
	if (refusal->processes > 1)
		snprintf(
			others, sizeof(others), " and %u more of its name", refusal->processes - 1);
	if (what)
		verdict_claim(verdict, "%s (pid %u)%s %s refused %s: %s%s: nobody was killed",
			refusal->comm, refusal->tgid, others, others[0] ? "were" : "was", what,
			sureness_text(scene), limit);
	else
		verdict_claim(verdict, "%s (pid %u)%s %s refused %s by %s: %s%s: nobody was killed",
			refusal->comm, refusal->tgid, others, others[0] ? "were" : "was",
			refusal->asked_bytes ? size_text(refusal->asked_bytes) : "memory", call,
			sureness_text(scene), limit);
}

static void tell_sum(struct refusal_scene *scene, struct verdict *verdict)
{
	const struct refusal_judgement *judged = scene->ret;

	if (!judged->cause || judged->used == UNKNOWN_U64 || judged->cause == REFUSED_MAP_COUNT ||
		judged->cause == REFUSED_MEMCG)
		return;
	verdict_evidence(verdict, "%" PRIu64 "%s in use + %" PRIu64 " asked for > %" PRIu64 " (%s)",
		judged->used, refusal_counts_bytes(judged->cause) ? " bytes" : "", judged->asked,
		judged->limit, refusal_cause_name(judged->cause));
}

static void put_evidence(struct refusal_scene *scene, struct verdict *verdict)
{
	const struct refusal *refusal = scene->refusal;
	const char *error = refusal_error_name(refusal->error);

	verdict_evidence(verdict, "%s gave %s%s%" PRIu64 " time%s",
		refusal_call_name(refusal->call), error ? error : "an error",
		refusal->count_is_least ? ", at least " : ", ", refusal->count,
		refusal->count == 1 ? "" : "s");
	tell_sum(scene, verdict);
	if (scene->ret->cause == REFUSED_COMMIT_LIMIT)
		verdict_evidence(verdict, "Committed_AS %s, CommitLimit %s, read just after",
			size_text(refusal->allowance.committed_bytes),
			size_text(refusal->allowance.commit_limit_bytes));
	if (refusal->cmdline[0])
		verdict_evidence(verdict, "%.200s", refusal->cmdline);
}

/* --- all of it --- */

static void lacks(
	struct refusal_judgement *ret, bool is_missing, const char *field, const char *why)
{
	if (is_missing && ret->missing_count < REFUSAL_MISSING)
		ret->missing[ret->missing_count++] = (struct missing) {field, why};
}

static void judge_lacks(const struct refusal *refusal, struct refusal_judgement *ret)
{
	lacks(ret, !ret->cause, "cause", "none of the limits that are known explains it");
	lacks(ret, !(refusal->flags & EV_REFUSAL_MM), "mapped_bytes", "it has no address space");
	lacks(ret, !refusal->cmdline[0], "cmdline", "it was not learnt while it lived");
	lacks(ret, !refusal->cgroup[0], "cgroup", "its path was not learnt");
	lacks(ret, refusal->flags & EV_REFUSAL_PIDS && !refusal->pids_cgroup[0], "pids_cgroup",
		"the process was gone before its cgroup was looked at");
	lacks(ret, is_fork(refusal) && refusal->user_processes == UNKNOWN_U64, "user_processes",
		"where this kernel counts them is not known");
	lacks(ret, refusal->allowance.overcommit == UNKNOWN_U64, "overcommit_memory",
		"/proc/sys/vm/overcommit_memory cannot be read");
}

void judge_refusal(
	const struct refusal *refusal, const struct host_facts *host, struct refusal_judgement *ret)
{
	struct refusal_scene scene = {
		.refusal = refusal,
		.host = host,
		.ret = ret,
		.asked = whole_pages(refusal->asked_bytes, host->page_size),
		.confidence = CONFIDENCE_CERTAIN,
	};

	memset(ret, 0, sizeof(*ret));
	ret->asked = scene.asked ? scene.asked : UNKNOWN_U64;
	ret->used = UNKNOWN_U64;
	ret->limit = UNKNOWN_U64;
	if (is_fork(refusal))
		judge_fork(&scene);
	else
		judge_memory(&scene);
	ret->verdict_count = 1;
	ret->verdicts[0].id = verdict_id("allocation-refused");
	ret->verdicts[0].confidence = scene.confidence;
	put_claim(&scene, &ret->verdicts[0]);
	put_evidence(&scene, &ret->verdicts[0]);
	judge_lacks(refusal, ret);
}

bool refusal_is_told(const struct refusal *refusal, const struct refusal_judgement *judgement)
{
	return judgement->cause ||
	       (refusal->call != EV_CALL_BRK && refusal->call != EV_CALL_MPROTECT);
}
