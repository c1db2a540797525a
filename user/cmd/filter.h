/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h: is this incident, change or warning one that was asked for? */
#ifndef OOMSNOOP_CMD_FILTER_H
#define OOMSNOOP_CMD_FILTER_H

#include "cmd/options.h"
#include "judge/judgement.h"
#include "model/growth.h"
#include "model/killing.h"

bool filter_passes(const struct live_options *options, const struct incident *incident,
	const struct judgement *judgement);

/* `path` of the cgroup it is about, "" when it is not known. */
bool filter_change(
	const struct live_options *options, const struct growth_change *change, const char *path);
bool filter_pressure(const struct live_options *options, const struct growth_pressure *pressure,
	const char *path);

/* One of its targets, as far as they are known, is one that was asked for. */
bool filter_killing(const struct live_options *options, const struct killing *killing);

#endif /* OOMSNOOP_CMD_FILTER_H */
