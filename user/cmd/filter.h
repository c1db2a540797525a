/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h: is this incident one that was asked for? */
#ifndef OOMSNOOP_CMD_FILTER_H
#define OOMSNOOP_CMD_FILTER_H

#include "cmd/options.h"
#include "judge/judgement.h"

bool filter_passes(const struct live_options *options, const struct incident *incident,
	const struct judgement *judgement);

#endif /* OOMSNOOP_CMD_FILTER_H */
