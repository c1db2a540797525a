/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict_table.h: all verdicts there are, as rows: what each is about, which facts it needs, which
 * others it excludes, and the rule. Pure. What they mean: docs/verdicts.md.
 *
 * The order of the rows is the order in which verdicts are given, the most useful first: the first
 * claim answers "why did my process vanish?" to somebody who reads no further. What is only
 * possible goes behind what is surer, in the same order.
 */
#ifndef OOMSNOOP_JUDGE_VERDICT_TABLE_H
#define OOMSNOOP_JUDGE_VERDICT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "judge/verdict_rules.h"

enum verdict_subject {
	SUBJECT_INCIDENT = 1, /* what the OOM killer did */
	SUBJECT_KILL = 2, /* who else killed */
	SUBJECT_REFUSAL = 3, /* what was asked for and not given: one verdict, without a rule, since
				which limit it was is all there is to judge (refusals.h) */
	SUBJECT_STALL = 4, /* what stands still: likewise (stalls.h) */
};

/* Of those of one kind at most one is given: the first that holds. */
enum verdict_exclusive {
	EXCLUDES_NONE = 0,
	EXCLUDES_LIMIT, /* what was full */
	EXCLUDES_HOLDER, /* what holds more than half, and is no process's own */
	EXCLUDES_CHOICE, /* the victim was the largest, or not */
	EXCLUDES_GROWER, /* who made more than half of the growth */
	EXCLUDES_TREND, /* how it grew */
	EXCLUDES_SEEN, /* from within: who it was */
	EXCLUDES_KILLER, /* who killed */
	EXCLUDES_KINDS,
};

/* Facts that a rule may need. Known is not the same as more than zero. */
enum verdict_fact {
	FACT_SCOPE = 1 << 0, /* what was full */
	FACT_LIMIT = 1 << 1, /* the level of the limit that was hit */
	FACT_LIMIT_USE = 1 << 2, /* its size and its usage */
	FACT_VICTIM = 1 << 3, /* more of the victim than a pid */
	FACT_HELD = 1 << 4, /* what it held */
	FACT_WEIGHED = 1 << 5, /* candidates */
	FACT_ORDER = 1 << 6, /* how many pages in one piece were asked for */
	FACT_RAM = 1 << 7, /* of the machine */
	FACT_STAT = 1 << 8, /* of the limit's cgroup: usage when its statistics were read */
	FACT_SHMEM = 1 << 9, /* there */
	FACT_KERNEL = 1 << 10, /* there: kernel memory */
	FACT_DIRTY = 1 << 11, /* there: file pages to be written */
	FACT_UNEXPLAINED = 1 << 12, /* there: all parts, so that a rest can be told */
	FACT_HISTORY = 1 << 13, /* a history of the minutes before */
	FACT_USAGE_HISTORY = 1 << 14, /* that of the usage, too */
	FACT_LOG = 1 << 15, /* the kernel's report alone tells of it */
	FACT_MACHINE_SHMEM = 1 << 16, /* in the kernel's report, of the machine */
	FACT_MACHINE_SLAB = 1 << 17,
	FACT_MACHINE_DIRTY = 1 << 18,
	FACT_MACHINE_HUGETLB = 1 << 19, /* of the machine, whoever tells it */
	FACT_MACHINE_PARTS = 1 << 20, /* anonymous memory, files and slab */
	FACT_LOOKS = 1 << 21, /* it was noticed from within, between two looks */
	FACT_SENDER = 1 << 22, /* of a kill: name or program file of who sent the signal */
	FACT_OOM_BEFORE = 1 << 23, /* of a kill: an OOM kill there before it */
	FACT_TMPFS = 1 << 24, /* of a fault: how full the tmpfs was */
	FACT_HIGH = 1 << 25, /* a level with memory.high, its usage, and how often it was passed */
	FACT_ACCOUNT = 1 << 26, /* the kernel's report of it, alone or joined to what was traced */
};

struct verdict_rule {
	const char *id; /* stable; rows of one id are alternatives, and stand side by side */
	enum verdict_subject subject;
	enum verdict_exclusive exclusive;
	uint32_t needs; /* enum verdict_fact: all of them known, or it is not asked */
	/* By the subject one of: */
	incident_rule *incident;
	kill_rule *kill;
};

extern const struct verdict_rule verdict_rules[];
extern const size_t verdict_rule_count;

/* The table's own text of this id; NULL: there is none such. */
const char *verdict_id(const char *text);

/* Is it among those that were given? */
bool verdict_given(const struct verdict *verdicts, unsigned int count, const char *id);

/* Fills ret->verdicts; everything else of the judgement is filled already. */
void judge_verdicts(
	const struct incident *incident, const struct host_facts *host, struct judgement *ret);
/* The same of a kill. Fills ret->verdicts, at least one. */
void judge_kill_verdicts(const struct kill_scene *scene, struct kill_judgement *ret);

#endif /* OOMSNOOP_JUDGE_VERDICT_TABLE_H */
