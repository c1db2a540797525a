/* SPDX-License-Identifier: Apache-2.0 */
/* kills.h: what it means that a process was killed, and not by the OOM killer. Pure: live and
 * stored records are judged alike. The list of verdicts: docs/verdicts.md. */
#ifndef OOMSNOOP_JUDGE_KILLS_H
#define OOMSNOOP_JUDGE_KILLS_H

#include "facts/container.h"
#include "judge/judgement.h"
#include "judge/killer.h"
#include "model/killing.h"

#define KILL_VERDICTS 4
#define KILL_MISSING 12

struct kill_judgement {
	struct killer killer;
	struct container_path where; /* out of the first target's path */
	unsigned int verdict_count; /* at least one */
	struct verdict verdicts[KILL_VERDICTS];
	unsigned int missing_count;
	struct missing missing[KILL_MISSING];
};

void judge_killing(
	const struct killing *killing, const struct host_facts *host, struct kill_judgement *ret);

/* Told by `--kills foreign`? Not what a process does to its own descendants. */
bool killing_is_foreign(const struct killing *killing);

const char *manner_name(enum killing_manner manner); /* for the record */
const char *signal_name(uint32_t signal); /* "SIGKILL"; NULL: none of those that are told */
/* "SI_USER", by the signal; NULL: a number that is not known. */
const char *signal_code_name(uint32_t signal, int32_t code);
/* "tmpfs"; NULL: another one. */
const char *mapping_fs_name(uint64_t magic);

#endif /* OOMSNOOP_JUDGE_KILLS_H */
