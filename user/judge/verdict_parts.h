/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_parts.h: what the verdicts are put together from. */
#ifndef OOMSNOOP_JUDGE_VERDICT_PARTS_H
#define OOMSNOOP_JUDGE_VERDICT_PARTS_H

#include "judge/judgement.h"

/* What a rule about an incident looks at. */
struct scene {
	const struct incident *incident;
	const struct host_facts *host;
	const struct judgement *ret; /* all of it but the verdicts */
	const struct incident_level *limit; /* NULL: no cgroup's limit */
	const char *limit_path;
	const struct task_facts
		*victim; /* NULL: nobody, or one of whom no more than a pid is known */
};

void verdict_claim(struct verdict *verdict, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* What is beyond VERDICT_EVIDENCE is left out. */
void verdict_evidence(struct verdict *verdict, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "16.0 GiB" in one of a few places that take turns, for use as an argument. */
const char *size_text(uint64_t bytes);

/* A path for a sentence; of a long one the end, which tells more than its front. Like size_text().
 */
const char *path_text(const char *path);

/* RSS, swap and page tables: what killing a process can give back. */
uint64_t held_bytes(const struct scene *scene, const struct badness *badness);

/* UNKNOWN_U64 stays what it is. */
uint64_t pages_to_bytes(const struct scene *scene, uint64_t pages);

/* The limit that was hit: of cgroup v1 it may be that on memory and swap together. `limit` is not
 * NULL. UNKNOWN_U64: not known. */
const char *limit_kind(const struct scene *scene);
uint64_t limit_bytes(const struct scene *scene);
uint64_t limit_usage_bytes(const struct scene *scene);

/* Of the limit's cgroup: all of it, or at least so much. UNKNOWN_U64: not known. */
uint64_t kernel_memory_bytes(const struct scene *scene);

/* --- arithmetic on bytes of which some are not known --- */

static inline uint64_t known_bytes(uint64_t bytes)
{
	return bytes == UNKNOWN_U64 ? 0 : bytes;
}

/* No less than 0. */
static inline uint64_t less_bytes(uint64_t bytes, uint64_t by)
{
	return bytes > by ? bytes - by : 0;
}

/* Of all memory: with more of it free it was not the machine that ran out. */
#define FREE_SHARE 16

/* A share of the whole that is worth a sentence. */
static inline bool is_most(uint64_t part, uint64_t whole)
{
	return part > whole / 2;
}

static inline bool scene_is_self(const struct scene *scene)
{
	return scene->incident->source == INCIDENT_SELF;
}

static inline bool scene_is_imported(const struct scene *scene)
{
	return scene->incident->source == INCIDENT_IMPORTED;
}

/* "at the kill": when the numbers of the machine and of memory.stat were read. */
const char *when_text(const struct scene *scene);
const char *stat_when_text(const struct scene *scene);
/* "weighed by the kernel": how the candidates came to be known. */
const char *seen_text(const struct scene *scene);
/* Of what was noticed from within the cgroup: what shows that it was this limit. */
const char *self_limit_text(const struct scene *scene);

/* The claim of host-exhausted, whatever shows it. */
void claim_of_host(const struct scene *scene, struct verdict *verdict);

/* What the victims had in RAM. */
uint64_t victims_bytes(const struct scene *scene);

#endif /* OOMSNOOP_JUDGE_VERDICT_PARTS_H */
