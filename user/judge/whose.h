/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whose.h: whose container, pod or unit it is that an incident is about, and whose limit. Out of
 * paths, and of the names that were learnt (incident.names). Pure.
 */
#ifndef OOMSNOOP_JUDGE_WHOSE_H
#define OOMSNOOP_JUDGE_WHOSE_H

#include "judge/judgement.h"

/* The cgroup that it is told for: the victim's; where nobody was killed, that of the limit (-1:
 * none). */
const char *whose_place(const struct incident *incident, int limit_level);

/* Fills `where`, `runtime` and `limit_kind`; the limit must be judged already. */
void judge_whose(const struct incident *incident, struct judgement *ret);

/* Names the container's names that are not known, with the reason. */
void judge_whose_missing(const struct incident *incident, struct judgement *ret);

/* "container", "pod", "service": whose limit it is; NULL: of a cgroup of which no more is known.
 * Said with "its", or with "the victim's". */
const char *whose_limit(const struct incident *incident, const struct judgement *judgement);

/* Of the victim; "": not known. */
const char *whose_container(const struct incident *incident, const struct judgement *judgement);
const char *whose_pod_uid(const struct incident *incident, const struct judgement *judgement);

/* Out of the path, else whose folder had its names. */
enum container_runtime whose_runtime(
	const struct container_path *where, const struct container_names *names);

/* Why names that are not known are not. */
const char *whose_unknown_why(const struct container_names *names);

/* The names that were learnt, if this cgroup is of the same container and pod, or of the pod alone;
 * NULL: it is another's. */
const struct container_names *whose_names(
	const struct incident *incident, const struct judgement *judgement, const char *path);

#endif /* OOMSNOOP_JUDGE_WHOSE_H */
