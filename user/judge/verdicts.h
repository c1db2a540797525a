/* SPDX-License-Identifier: Apache-2.0 */
/* verdicts.h: named answers with their evidence. One without evidence is not given. The list:
 * docs/verdicts.md. */
#ifndef OOMSNOOP_JUDGE_VERDICTS_H
#define OOMSNOOP_JUDGE_VERDICTS_H

#include "judge/judgement.h"

/* Appends to ret->verdicts; everything else of the judgement is filled already. */
void judge_verdicts(
	const struct incident *incident, const struct host_facts *host, struct judgement *ret);

#endif /* OOMSNOOP_JUDGE_VERDICTS_H */
