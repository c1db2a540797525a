/* SPDX-License-Identifier: Apache-2.0 */
/* kill_parts.h: what a rule about a kill that was not the OOM killer's looks at. */
#ifndef OOMSNOOP_JUDGE_KILL_PARTS_H
#define OOMSNOOP_JUDGE_KILL_PARTS_H

#include "judge/kills.h"

struct kill_scene {
	const struct killing *killing;
	const struct host_facts *host;
	const struct killer *killer;
	char sender[96], target[160]; /* for a sentence */
};

#endif /* OOMSNOOP_JUDGE_KILL_PARTS_H */
