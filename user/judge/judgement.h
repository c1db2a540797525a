/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judgement.h: what an incident's facts mean. Pure: reads no file and no clock, so that live,
 * stored and imported incidents are judged alike.
 */
#ifndef OOMSNOOP_JUDGE_JUDGEMENT_H
#define OOMSNOOP_JUDGE_JUDGEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "facts/container.h"
#include "judge/badness.h"
#include "judge/trend.h"
#include "model/coverage.h"
#include "model/incident.h"

enum scope {
	SCOPE_UNKNOWN = 0,
	SCOPE_MEMCG = 1,
	SCOPE_GLOBAL = 2,
	SCOPE_CPUSET = 3,
	SCOPE_MEMPOLICY = 4,
};

enum confidence { CONFIDENCE_CERTAIN = 1, CONFIDENCE_LIKELY = 2, CONFIDENCE_POSSIBLE = 3 };

#define VERDICTS_MAX 16
#define VERDICT_EVIDENCE 6
#define VERDICT_TEXT 320

struct verdict {
	const char *id; /* docs/verdicts.md */
	char claim[VERDICT_TEXT]; /* one plain sentence; names in it are arbitrary bytes still */
	char evidence[VERDICT_EVIDENCE][VERDICT_TEXT];
	unsigned int evidence_count;
	enum confidence confidence;
};

struct ranked {
	unsigned int index; /* into incident.candidates */
	struct badness badness;
	const char *immune; /* NULL, or why it could not be chosen: ranked after all that could */
};

#define MISSING_MAX 48
struct missing {
	const char *field; /* name in the record */
	const char *why;
};

struct judgement {
	enum scope scope;
	bool scope_inferred; /* from the page counters, not from oom_control */
	int limit_level; /* index into incident.levels; -1: no cgroup's limit */
	bool manual; /* sysrq */
	bool manual_known;
	/* Of the victim's cgroup, or of the limit's where nobody was killed: see judge/whose.h. */
	struct container_path where;
	enum container_runtime runtime; /* by the path, else by where its names were found */
	enum cgroup_kind limit_kind; /* with limit_level, if its path is known */

	uint64_t totalpages; /* UNKNOWN_U64 */
	bool totalpages_computed;

	/* What the victim held is known: badness but for adj_pages and total_pages. Always so with
	 * has_badness */
	bool has_held;
	bool has_badness;
	struct badness
		badness; /* of the chosen victim, by the sum that matches the kernel's points */
	struct badness other_badness; /* by the other sum; valid with has_other */
	bool has_other;
	enum rss_match rss_match;
	enum rss_sum
		rss_sum; /* the one that this kernel prints and weighs by, as far as is known */
	int64_t victim_oom_score;
	bool has_oom_score;

	unsigned int ranked_count;
	struct ranked ranked[INCIDENT_CANDIDATES];

	uint64_t freed_bytes; /* UNKNOWN_U64 */
	uint64_t exit_ns; /* kill to last exit of the first victim; UNKNOWN_U64 */
	uint64_t unexplained_bytes; /* of the composition; UNKNOWN_U64 */

	struct trend trend; /* of incident.growth */
	struct growth_share share; /* who made most of it */

	unsigned int verdict_count;
	struct verdict verdicts[VERDICTS_MAX];
	unsigned int missing_count;
	struct missing missing[MISSING_MAX];
};

/* Appends what an imported incident lacks; for judge_incident(). */
void judge_missing_of_log(const struct incident *incident, struct judgement *ret);
/* The same of one that was noticed from within its cgroup. */
void judge_missing_of_self(const struct incident *incident, struct judgement *ret);
/* NULL field: none. Appends to ret->missing, as far as there is room. */
void judge_missing_add(struct judgement *ret, const char *field, const char *why);

void judge_incident(const struct incident *incident, const struct host_facts *host,
	const struct coverage *coverage, struct judgement *ret);

const char *scope_name(enum scope scope);
const char *outcome_name(enum incident_outcome outcome);
const char *closed_name(enum incident_closed closed);
const char *victim_why_name(enum victim_why why);
const char *rss_match_name(enum rss_match match);
const char *confidence_name(enum confidence confidence);
const char *kmsg_state_name(enum kmsg_state state);

#endif /* OOMSNOOP_JUDGE_JUDGEMENT_H */
