/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h: is this incident, change or warning one that was asked for? */
#ifndef OOMSNOOP_CMD_FILTER_H
#define OOMSNOOP_CMD_FILTER_H

#include "cmd/options.h"
#include "judge/judgement.h"
#include "model/growth.h"
#include "model/killing.h"
#include "model/refusing.h"

bool filter_passes(const struct live_options *options, const struct incident *incident,
	const struct judgement *judgement);

/* `path` of the cgroup it is about, "" when it is not known; `names` of its container, or NULL. */
bool filter_change(const struct live_options *options, const struct growth_change *change,
	const char *path, const struct container_names *names);
bool filter_stall(
	const struct live_options *options, const char *path, const struct container_names *names);
bool filter_pressure(const struct live_options *options, const struct growth_pressure *pressure,
	const char *path, const struct container_names *names);

/* The options of names, for the live trace and for stores: a name or pattern each, a pod's uid, the
 * beginning of a container's id. An argp's parser: an argp_error() where a value is none. */
void filter_parse_pod(struct argp_state *state, struct names_filter *filter, const char *text);
void filter_parse_namespace(
	struct argp_state *state, struct names_filter *filter, const char *text);
void filter_parse_container(
	struct argp_state *state, struct names_filter *filter, const char *text);
/* The same of --verdict: an id of the judge's table. */
void filter_parse_verdict(
	struct argp_state *state, struct verdict_filter *filter, const char *text);
bool filter_names_given(const struct names_filter *filter);

/* One of those that were asked for was given. */
bool filter_verdicts(
	const struct verdict_filter *filter, const struct verdict *verdicts, unsigned int count);

/* Whatever its verdicts: one of its targets, as far as they are known, is one that was asked for.
 */
bool filter_killing(const struct live_options *options, const struct killing *killing);
bool filter_refusal(const struct live_options *options, const struct refusal *refusal);

#endif /* OOMSNOOP_CMD_FILTER_H */
