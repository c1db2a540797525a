/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follower.h: the live trace on behalf of a command that it follows (`oomsnoop run`): what is told
 * is handed on, and the command's end ends the trace.
 */
#ifndef OOMSNOOP_CMD_FOLLOWER_H
#define OOMSNOOP_CMD_FOLLOWER_H

#include <stdbool.h>

#include "judge/judgement.h"
#include "judge/kills.h"
#include "judge/refusals.h"
#include "model/incident.h"
#include "model/killing.h"
#include "model/refusing.h"
#include "sink/sink.h"
#include "source/decode.h"

struct follower {
	int end_fd; /* readable, or hung up: the trace is to end. Takes the place of signals */
	void *arg;
	/* All is attached, and who lives was learnt. */
	void (*ready)(void *arg, const struct sink_context *sink);
	/* Each record of the ring, in its order. */
	void (*fact)(void *arg, const struct fact *fact);
	/* As they were judged. false: it is not about the family, and is told nowhere. */
	bool (*incident)(void *arg, const struct sink_context *sink,
		const struct incident *incident, const struct judgement *judgement);
	bool (*killing)(void *arg, const struct sink_context *sink, const struct killing *killing,
		const struct kill_judgement *judgement);
	/* Does it belong to the family? What others are refused is told nowhere. */
	bool (*is_followed)(void *arg, uint32_t tgid);
	void (*refusal)(void *arg, const struct sink_context *sink, const struct refusal *refusal,
		const struct refusal_judgement *judgement);
};

#endif /* OOMSNOOP_CMD_FOLLOWER_H */
