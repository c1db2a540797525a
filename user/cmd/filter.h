/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h: is this incident, change or warning one that was asked for? */
#ifndef OOMSNOOP_CMD_FILTER_H
#define OOMSNOOP_CMD_FILTER_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "judge/judgement.h"
#include "model/growth.h"
#include "model/killing.h"
#include "model/refusing.h"

/* By what the runtime and Kubernetes call it; NULL: all. */
struct names_filter {
	const char *pod; /* its name or a pattern, its uid, or a part of a cgroup's name */
	const char *namespace; /* a name or pattern */
	const char *container; /* a name or pattern, or the beginning of its id */
};

#define VERDICTS_CHOSEN 4 /* --verdict may be given so often: any of them */

/* Ids of the judge's table; 0 of them: all. */
struct verdict_filter {
	unsigned int count;
	const char *ids[VERDICTS_CHOSEN];
};

/* What was asked for, of the live trace or of a store; all of it 0: everything. */
struct filter {
	const char *cgroup; /* path or pattern; NULL: all */
	const char *comm; /* name or pattern; NULL: all */
	uint32_t pid; /* 0: all */
	struct names_filter names;
	struct verdict_filter verdicts;
};

/* Keys of the options, which each table has with words of its own. */
enum {
	FILTER_CGROUP = 0x700, /* apart from those of the commands */
	FILTER_COMM,
	FILTER_POD,
	FILTER_NAMESPACE,
	FILTER_CONTAINER,
	FILTER_VERDICT,
	FILTER_PID = 'p',
};

/* An argp's parser of these: an argp_error() where a value is none; ARGP_ERR_UNKNOWN: another key.
 */
error_t filter_parse(int key, const char *value, struct argp_state *state, struct filter *filter);
/* Of `what`, an option: decimal digits and nothing else. */
uint64_t filter_number(
	struct argp_state *state, const char *what, const char *text, uint64_t min, uint64_t max);

bool filter_passes(const struct filter *filter, const struct incident *incident,
	const struct judgement *judgement);

/* `path` of the cgroup it is about, "" when it is not known; `names` of its container, or NULL. */
bool filter_change(const struct filter *filter, const struct growth_change *change,
	const char *path, const struct container_names *names);
bool filter_stall(
	const struct filter *filter, const char *path, const struct container_names *names);
bool filter_pressure(const struct filter *filter, const struct growth_pressure *pressure,
	const char *path, const struct container_names *names);

bool filter_given(const struct filter *filter);

/* One of those that were asked for was given. */
bool filter_verdicts(
	const struct verdict_filter *filter, const struct verdict *verdicts, unsigned int count);

/* Whatever its verdicts: one of its targets, as far as they are known, is one that was asked for.
 */
bool filter_killing(const struct filter *filter, const struct killing *killing);
bool filter_refusal(const struct filter *filter, const struct refusal *refusal);

#endif /* OOMSNOOP_CMD_FILTER_H */
