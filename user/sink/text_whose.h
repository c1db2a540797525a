/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_whose.h: a container, its pod or its job in words for a terminal. Names are made harmless.
 */
#ifndef OOMSNOOP_SINK_TEXT_WHOSE_H
#define OOMSNOOP_SINK_TEXT_WHOSE_H

#include <stdbool.h>

#include "base/buf.h"
#include "facts/container_names.h"
#include "judge/judgement.h"

/* "pod train/bert-0, container trainer (containerd 9f3c41d2a0b1)"; false: it is in none. */
bool text_whose(
	struct buf *text, const struct incident *incident, const struct judgement *judgement);

/* The same out of a path and the names that were learnt; `runtime`: whose it is. */
bool text_whose_names(struct buf *text, const struct container_path *where,
	const struct container_names *names, enum container_runtime runtime);

/* "train/bert-0/trainer", "web" of Docker, the beginning of an id: a few words for a list. Of the
 * cgroup itself and what is in it. false: it is of no container or pod. `names` may be NULL. */
bool text_whose_short(struct buf *text, const char *path, const struct container_names *names);

#endif /* OOMSNOOP_SINK_TEXT_WHOSE_H */
