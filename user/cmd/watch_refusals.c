// SPDX-License-Identifier: Apache-2.0
#include "cmd/watch_refusals.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/clock.h"
#include "cmd/filter.h"
#include "cmd/follower.h"
#include "facts/allowance.h"
#include "sink/refusal.h"

static uint32_t counted(uint32_t tgid, enum ev_call call, uint64_t began_ns, void *arg)
{
	const struct watch *watch = arg;

	return tracer_refusals(watch->tracer, tgid, call, began_ns);
}

int watch_refusals_open(struct watch *watch)
{
	if (!hook_served(&watch->hooks, HOOK_REFUSED))
		return 0;
	watch->refusals =
		refusals_new(watch->names.processes, watch->names.cgroups, counted, watch);
	return watch->refusals ? 0 : -errno;
}

/* Of those who are alike one record is made: strangers must be told apart before that. */
void watch_refusals_fact(struct watch *watch, const struct fact *fact)
{
	const struct follower *follower = watch->options->follower;

	if (!watch->refusals || fact->kind != EV_REFUSAL ||
		(follower && !follower->is_followed(follower->arg, fact->refusal.tgid)))
		return;
	refusals_fact(watch->refusals, fact);
}

void watch_refusals_gather(struct watch *watch)
{
	struct refusal *refusal;

	if (!watch->refusals)
		return;
	while ((refusal = refusals_next_fresh(watch->refusals))) {
		read_meminfo("", &refusal->host);
		read_allowance("", &refusal->allowance);
		/* Nobody is killed: its files can be read without waiting. With cgroup v2 the path
		 * is known by its id. */
		if (refusal->flags & EV_REFUSAL_PIDS && !refusal->pids_cgroup[0])
			read_pids_cgroup("", (pid_t)refusal->tgid, refusal->pids_level,
				refusal->pids_cgroup, sizeof(refusal->pids_cgroup));
		refusal->gathered = true;
	}
}

static void store(struct watch *watch, const struct refusal *refusal)
{
	const struct verdict *verdict = &watch->refusal_judgement.verdicts[0];
	struct store_kill_told told = {
		.time_real_ns = (int64_t)refusal->time_ns + watch->telling.sink.wall_minus_boot_ns,
		.wall_minus_boot_ns = watch->telling.sink.wall_minus_boot_ns,
	};

	snprintf(told.by, sizeof(told.by), "%s", OOMSNOOP_VERSION);
	snprintf(told.first_verdict, sizeof(told.first_verdict), "%s", verdict->id);
	snprintf(told.claim, sizeof(told.claim), "%s", verdict->claim);
	keeper_refusal(watch->keeper, refusal, &told);
}

static void emit(struct watch *watch, const struct refusal *refusal)
{
	struct telling *telling = &watch->telling;
	struct buf *buf = telling_begin(telling);

	if (buf)
		telling_commit(telling,
			watch->options->json ? json_refusal(buf, &telling->sink, refusal,
						       &watch->refusal_judgement)
					     : text_refusal(buf, &telling->sink, refusal,
						       &watch->refusal_judgement),
			"refusal", refusal->number);
}

static bool tell(struct watch *watch, const struct refusal *refusal)
{
	const struct follower *follower = watch->options->follower;

	if (!filter_refusal(&watch->options->filter, refusal))
		return false;
	judge_refusal(refusal, &watch->host, &watch->refusal_judgement);
	if (!refusal_is_told(refusal, &watch->refusal_judgement) ||
		!filter_verdicts(&watch->options->filter.verdicts,
			watch->refusal_judgement.verdicts, watch->refusal_judgement.verdict_count))
		return false;
	telling_clock(&watch->telling);
	if (follower)
		follower->refusal(
			follower->arg, &watch->telling.sink, refusal, &watch->refusal_judgement);
	watch->telling.totals.refusals++;
	if (watch->keeper)
		store(watch, refusal);
	emit(watch, refusal);
	return true;
}

void watch_refusals_tell(struct watch *watch, uint64_t now_ns)
{
	struct refusal *refusal;

	while (watch->refusals && !watch->telling.output_error &&
		(refusal = refusals_next_closed(watch->refusals, now_ns))) {
		bool told;

		watch_refusals_gather(watch);
		told = tell(watch, refusal);
		refusals_release(watch->refusals, refusal, boot_now_ns(), told);
	}
}

uint64_t watch_refusals_deadline(const struct watch *watch, uint64_t now_ns)
{
	return watch->refusals ? refusals_deadline(watch->refusals, now_ns) : UINT64_MAX;
}
