/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_parts.h: what the verdicts are put together from. */
#ifndef OOMSNOOP_JUDGE_VERDICT_PARTS_H
#define OOMSNOOP_JUDGE_VERDICT_PARTS_H

#include "judge/verdicts.h"

struct scene {
	const struct incident *incident;
	const struct host_facts *host;
	struct judgement *ret;
	const struct incident_level *limit; /* NULL: no cgroup's limit */
	const char *limit_path;
	const struct task_facts *victim; /* NULL: nobody */
};

/* NULL when there are VERDICTS_MAX already; the next two take that. */
struct verdict *verdict_new(struct scene *scene, const char *id, enum confidence confidence);
void verdict_claim(struct verdict *verdict, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void verdict_evidence(struct verdict *verdict, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "16.0 GiB" in one of a few places that take turns, for use as an argument. */
const char *size_text(uint64_t bytes);

/* A path for a sentence; of a long one the end, which tells more than its front. Like size_text().
 */
const char *path_text(const char *path);

/* RSS, swap and page tables: what killing a process can give back. */
uint64_t held_bytes(const struct scene *scene, const struct badness *badness);

/* Of an imported incident: what its account of the machine's memory and its table show. */
void judge_log_machine(struct scene *scene);
void judge_log_holders(struct scene *scene);

static inline bool scene_is_self(const struct scene *scene)
{
	return scene->incident->source == INCIDENT_SELF;
}

/* "weighed by the kernel": how the candidates came to be known. */
const char *seen_text(const struct scene *scene);
/* Of what was noticed from within the cgroup: what shows that it was this limit. */
const char *self_limit_text(const struct scene *scene);
/* The same: who it was, and that the limit is not one of ours. */
void judge_self(struct scene *scene);

/* Who else died: of the same group, and at the same limit before. */
void judge_group(struct scene *scene);
void judge_repeated(struct scene *scene);

/* How it came: of incident.growth. */
void judge_growth(struct scene *scene);

#endif /* OOMSNOOP_JUDGE_VERDICT_PARTS_H */
