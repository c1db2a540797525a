/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusals.h: which limit refused memory or a process: by the kernel's own arithmetic, in its own
 * order. Pure: live and stored records are judged alike. docs/verdicts.md has it for people.
 *
 * Source: do_mmap(), may_expand_vm(), do_brk_flags(), move_vma() (mm/mmap.c, mm/vma.c,
 * mm/mremap.c), __vm_enough_memory() (mm/util.c), copy_process() (kernel/fork.c), pids_can_fork()
 * (kernel/cgroup/pids.c).
 */
#ifndef OOMSNOOP_JUDGE_REFUSALS_H
#define OOMSNOOP_JUDGE_REFUSALS_H

#include "judge/judgement.h"
#include "model/refusing.h"

/* Which limit it was. */
enum refusal_cause {
	REFUSED_UNKNOWN = 0,
	REFUSED_ADDRESS_SPACE = 1, /* more than an address space can hold */
	REFUSED_MAP_COUNT = 2, /* vm.max_map_count */
	REFUSED_RLIMIT_AS = 3,
	REFUSED_RLIMIT_DATA = 4,
	REFUSED_COMMIT_LIMIT = 5, /* vm.overcommit_memory 2: CommitLimit */
	REFUSED_OVERCOMMIT = 6, /* vm.overcommit_memory 0: more than RAM and swap at once */
	REFUSED_PIDS_MAX = 7,
	REFUSED_RLIMIT_NPROC = 8,
	REFUSED_THREADS_MAX = 9, /* kernel.threads-max */
	REFUSED_MEMCG = 10, /* the memory cgroup is full, and the kernel's own memory counts */
};

#define REFUSAL_VERDICTS 1
#define REFUSAL_MISSING 8

struct refusal_judgement {
	enum refusal_cause cause;
	/* What was asked for, what there was and what there may be, of the cause: bytes, or a
	 * number of mappings, processes. UNKNOWN_U64: does not apply. */
	uint64_t asked, used, limit;
	unsigned int verdict_count; /* always 1 */
	struct verdict verdicts[REFUSAL_VERDICTS];
	unsigned int missing_count;
	struct missing missing[REFUSAL_MISSING];
};

void judge_refusal(const struct refusal *refusal, const struct host_facts *host,
	struct refusal_judgement *ret);

/* Worth a record? Not what fails every day and means nothing: brk() that finds the way blocked,
 * for which allocators take mmap(), and mprotect() of what is not mapped. */
bool refusal_is_told(const struct refusal *refusal, const struct refusal_judgement *judgement);

const char *refusal_call_name(enum ev_call call); /* "mmap" */
const char *refusal_error_name(int32_t error); /* "ENOMEM"; NULL: another one */
const char *refusal_cause_name(enum refusal_cause cause); /* for the record; NULL: not known */
/* Is it a limit of bytes? Else of mappings, processes, threads. */
bool refusal_counts_bytes(enum refusal_cause cause);

#endif /* OOMSNOOP_JUDGE_REFUSALS_H */
