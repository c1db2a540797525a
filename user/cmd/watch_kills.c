// SPDX-License-Identifier: Apache-2.0
#include "cmd/watch_kills.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/clock.h"
#include "cmd/filter.h"
#include "cmd/follower.h"
#include "facts/pressure.h"
#include "facts/tmpfs.h"
#include "judge/whose.h"
#include "sink/kill.h"

int watch_kills_open(struct watch *watch)
{
	if (!hook_served(&watch->hooks, HOOK_SIGNAL))
		return 0;
	watch->killings = killings_new(watch->names.processes, watch->names.cgroups);
	return watch->killings ? 0 : -errno;
}

/* What is not known yet is looked for, and once more when it is told. */
static void take_names(struct watch *watch, struct killing *killing)
{
	const struct container_names *names = containers_of(watch->names.containers,
		watch->names.reader, killing->target_cgroup, boot_now_ns());

	if (names)
		killing->names = *names;
}

/* Who dies of it may be gone; its parent, as a loader of data, sees the same one. */
static void gather_tmpfs(struct killing *killing)
{
	const struct killing_target *target = &killing->targets[0];

	if (!(killing->flags & EV_SIGNAL_BLOCKS) || !killing->mapping_dev)
		return;
	if (read_tmpfs_use("", (pid_t)target->tgid, killing->mapping_dev, &killing->tmpfs) &&
		read_tmpfs_use("", (pid_t)target->ppid, killing->mapping_dev, &killing->tmpfs))
		read_tmpfs_use("", getpid(), killing->mapping_dev, &killing->tmpfs);
}

void watch_kills_gather(struct watch *watch)
{
	struct killing *killing;

	if (!watch->killings)
		return;
	/* Small files of the kernel's, no process's. What cannot be read stays unknown. */
	while ((killing = killings_next_fresh(watch->killings))) {
		read_meminfo("", &killing->host);
		read_pressure("", &killing->pressure);
		if (watch->names.mounted && killing->target_cgroup[0])
			read_cgroup_pressure(&watch->names.mount, killing->target_cgroup,
				&killing->cgroup_pressure);
		take_names(watch, killing);
		gather_tmpfs(killing);
		killing->gathered = true;
	}
}

static void tell_whose(struct store_kill_told *told, const struct killing *killing,
	const struct container_path *where)
{
	const struct container_names *names = &killing->names;
	const char *runtime = container_runtime_name(whose_runtime(where, names));

	memcpy(told->container_id, where->id, sizeof(told->container_id));
	snprintf(told->container_name, sizeof(told->container_name), "%s",
		names->container[0] ? names->container : where->name);
	snprintf(told->pod_uid, sizeof(told->pod_uid), "%s",
		where->pod_uid[0] ? where->pod_uid : names->pod_uid);
	snprintf(told->runtime, sizeof(told->runtime), "%s", runtime ? runtime : "");
	memcpy(told->unit, where->unit, sizeof(told->unit));
}

static void store(struct watch *watch, const struct killing *killing)
{
	const struct verdict *verdict = &watch->kill_judgement.verdicts[0];
	struct store_kill_told told = {
		.time_real_ns = (int64_t)killing->time_ns + watch->telling.sink.wall_minus_boot_ns,
		.wall_minus_boot_ns = watch->telling.sink.wall_minus_boot_ns,
	};

	snprintf(told.by, sizeof(told.by), "%s", OOMSNOOP_VERSION);
	snprintf(told.first_verdict, sizeof(told.first_verdict), "%s", verdict->id);
	snprintf(told.claim, sizeof(told.claim), "%s", verdict->claim);
	tell_whose(&told, killing, &watch->kill_judgement.where);
	keeper_kill(watch->keeper, killing, &told);
}

static void emit(struct watch *watch, const struct killing *killing)
{
	struct telling *telling = &watch->telling;
	struct buf *buf = telling_begin(telling);

	if (buf)
		telling_commit(telling,
			watch->options->json
				? json_kill(buf, &telling->sink, killing, &watch->kill_judgement)
				: text_kill(buf, &telling->sink, killing, &watch->kill_judgement),
			"kill", killing->number);
}

static void tell(struct watch *watch, struct killing *killing)
{
	const struct follower *follower = watch->options->follower;

	if (watch->options->kills == KILLS_FOREIGN && !killing_is_foreign(killing))
		return;
	take_names(watch, killing);
	if (!filter_killing(&watch->options->filter, killing))
		return;
	killing_counted(
		killing, tracer_burst(watch->tracer, killing->sender_tgid, killing->burst_ns));
	judge_killing(killing, &watch->host, &watch->kill_judgement);
	if (!filter_verdicts(&watch->options->filter.verdicts, watch->kill_judgement.verdicts,
		    watch->kill_judgement.verdict_count))
		return;
	telling_clock(&watch->telling);
	if (follower && !follower->killing(follower->arg, &watch->telling.sink, killing,
				&watch->kill_judgement))
		return;
	watch->telling.totals.other_kills++;
	if (watch->keeper)
		store(watch, killing);
	emit(watch, killing);
}

void watch_kills_tell(struct watch *watch, uint64_t now_ns)
{
	struct killing *killing;

	while (watch->killings && !watch->telling.output_error &&
		(killing = killings_next_closed(watch->killings, now_ns))) {
		/* One that was closed early has not been looked at. */
		watch_kills_gather(watch);
		tell(watch, killing);
		killings_release(watch->killings, killing);
	}
}

uint64_t watch_kills_deadline(const struct watch *watch)
{
	return watch->killings ? killings_deadline(watch->killings) : UINT64_MAX;
}
