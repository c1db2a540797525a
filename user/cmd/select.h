/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select.h: which incidents of a store are asked for: the options that list, report and export
 * share, and the test. An incident is judged before it is tested, by the rules of this build:
 * nothing that an older one said of it counts.
 */
#ifndef OOMSNOOP_CMD_SELECT_H
#define OOMSNOOP_CMD_SELECT_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmd/filter.h"
#include "judge/judgement.h"
#include "model/incident.h"
#include "model/killing.h"
#include "model/refusing.h"

#define SELECT_CHOICES 4 /* --scope may be given so often: any of them */

struct selection {
	int64_t now_ns; /* CLOCK_REALTIME that times are relative to; 0: the clock's when options
			   are parsed */
	int64_t since_ns, until_ns; /* CLOCK_REALTIME, both included; INT64_MIN, INT64_MAX: none */
	struct filter filter; /* as in the live trace */
	unsigned int scope_count;
	enum scope scopes[SELECT_CHOICES];
	int64_t id; /* in the store; 0: any */
	uint64_t last; /* so many of those that match, the newest; 0: all */
};

/* Selects everything. */
void selection_init(struct selection *selection);

/* Something was asked for: a time, a filter, a number. */
bool selection_given(const struct selection *selection);
/* An incident must be read and judged to be tested. */
bool selection_looks_inside(const struct selection *selection);

/* Everything but the times and `last`, which whoever walks the store sees to. */
bool selection_passes(const struct selection *selection, int64_t id,
	const struct incident *incident, const struct judgement *judgement);

/* To be a child of a command's argp; the input of it is a struct selection, initialized. */
extern const struct argp selection_argp;
/* The same without --since and --until. */
extern const struct argp selection_inside_argp;

/* The one FILE that each of these commands takes: to be asked for what its own parser does not
 * know. */
error_t selection_file(int key, char *value, struct argp_state *state, const char **file);

#endif /* OOMSNOOP_CMD_SELECT_H */
