// SPDX-License-Identifier: Apache-2.0
/* The live trace beside a command, in a process of its own. What it says goes into a file in
 * memory, to be told before the command starts or after it has ended, and never in between. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "cmd/clock.h"
#include "cmd/follower.h"
#include "cmd/live.h"
#include "cmd/options.h"
#include "cmd/run_parts.h"
#include "facts/kernel.h"
#include "sink/kill.h"
#include "sink/refusal.h"

#define SECOND_NS 1000000000ULL
#define FAMILY 16384
#define GRACE_NS (15 * SECOND_NS) /* a second to see what is open, and the store's own time */
#define READY_NS 5000000ULL /* how often the runner looks whether it is attached */
#define MAX_BYTES (512ULL << 20)
#define DAY_NS (86400 * SECOND_NS)

struct tracer_side {
	struct run *run;
	struct run_shared *shared;
	struct family *family;
};

/* --- what is told --- */

static bool begin_piece(struct run_shared *shared, struct buf *buf)
{
	if (shared->piece_count == RUN_PIECES)
		return false;
	buf_init(buf, shared->text + shared->text_len, RUN_TEXT_BYTES - shared->text_len);
	return true;
}

static void end_piece(struct run_shared *shared, const struct buf *buf, int oom)
{
	struct run_piece *piece = &shared->pieces[shared->piece_count];

	*piece = (struct run_piece) {shared->text_len, (uint32_t)buf->len, oom};
	shared->text_len += (uint32_t)buf->len;
	shared->piece_count++;
}

static struct sink_context as_shown(const struct tracer_side *side, const struct sink_context *sink)
{
	struct sink_context ret = *sink;

	ret.width = side->run->width;
	ret.color = side->run->color;
	return ret;
}

static bool is_member(const struct tracer_side *side, uint32_t pid)
{
	/* Without the hooks who belongs to it is known to the runner, which asks later. */
	return side->shared->told.watch == RUN_WATCH_CGROUP || family_find(side->family, pid);
}

static void note_oom(struct tracer_side *side, const struct incident *incident,
	const struct judgement *judgement, struct run_oom *oom)
{
	*oom = (struct run_oom) {.number = incident->number};
	for (unsigned int i = 0; i < incident->victim_count && i < INCIDENT_VICTIMS; i++) {
		const struct task_facts *task = &incident->victims[i].task;

		if (!is_member(side, task->tgid))
			continue;
		if (!oom->victim_count)
			snprintf(oom->comm, sizeof(oom->comm), "%s", task->comm);
		if (oom->victim_count < RUN_VICTIMS)
			oom->pids[oom->victim_count] = task->tgid;
		oom->victim_count++;
	}
	oom->certain =
		incident->source != INCIDENT_SELF || incident->self.certainty == SELF_CERTAIN;
	oom->has_story = judge_story(incident, judgement, &oom->story);
	if (judgement->verdict_count)
		oom->first = judgement->verdicts[0];
}

/* A limit that the command lives under: another process died there. */
static bool limits_us(const struct tracer_side *side, const struct incident *incident,
	const struct judgement *judgement)
{
	const char *ours = side->run->facts.cgroup.path, *path;
	size_t len;

	if (judgement->scope == SCOPE_GLOBAL)
		return true;
	if (judgement->limit_level < 0 || judgement->limit_level >= EV_MAX_LEVELS || !ours[0])
		return false;
	path = incident->level_paths[judgement->limit_level];
	len = strlen(path);
	return len && !strncmp(ours, path, len) &&
	       (len == 1 || ours[len] == '/' || ours[len] == '\0');
}

static bool take_incident(void *arg, const struct sink_context *sink,
	const struct incident *incident, const struct judgement *judgement)
{
	struct tracer_side *side = arg;
	struct run_told *told = &side->shared->told;
	struct sink_context shown = as_shown(side, sink);
	unsigned int at = told->oom_total < RUN_OOMS ? told->oom_total : RUN_OOMS - 1;
	struct run_oom oom;
	struct buf buf;

	note_oom(side, incident, judgement, &oom);
	if (!oom.victim_count) {
		told->foreign_ooms += limits_us(side, incident, judgement);
		return false;
	}
	told->ooms[at] = oom;
	told->oom_total++;
	if (!begin_piece(side->shared, &buf))
		return true;
	if (!(side->run->options.json ? json_incident(&buf, &shown, incident, judgement)
				      : text_incident(&buf, &shown, incident, judgement)))
		end_piece(side->shared, &buf, (int)at);
	return true;
}

static bool take_killing(void *arg, const struct sink_context *sink, const struct killing *killing,
	const struct kill_judgement *judgement)
{
	struct tracer_side *side = arg;
	struct run_told *told = &side->shared->told;
	struct sink_context shown = as_shown(side, sink);
	unsigned int at = told->kill_total < RUN_KILLS ? told->kill_total : RUN_KILLS - 1;
	struct run_kill kill = {.number = killing->number, .signal = killing->signal};
	struct buf buf;

	for (unsigned int i = 0; i < killing->target_count && i < KILLING_TARGETS; i++) {
		const struct killing_target *target = &killing->targets[i];

		if (!is_member(side, target->tgid))
			continue;
		if (!kill.pid) {
			kill.pid = target->tgid;
			snprintf(kill.comm, sizeof(kill.comm), "%s", target->comm);
		}
		kill.root |= target->tgid == family_root(side->family);
	}
	if (!kill.pid)
		return false;
	kill.first = judgement->verdicts[0];
	told->kills[at] = kill;
	told->kill_total++;
	/* What a command does to its own children is counted, and shown where it explains the end.
	 */
	if ((!kill.root && !killing_is_foreign(killing)) || !begin_piece(side->shared, &buf))
		return true;
	if (!(side->run->options.json ? json_kill(&buf, &shown, killing, judgement)
				      : text_kill(&buf, &shown, killing, judgement)))
		end_piece(side->shared, &buf, -1);
	return true;
}

static bool is_followed(void *arg, uint32_t tgid)
{
	return is_member(arg, tgid);
}

static void take_refusal(void *arg, const struct sink_context *sink, const struct refusal *refusal,
	const struct refusal_judgement *judgement)
{
	struct tracer_side *side = arg;
	struct run_told *told = &side->shared->told;
	struct sink_context shown = as_shown(side, sink);
	unsigned int at =
		told->refusal_total < RUN_REFUSALS ? told->refusal_total : RUN_REFUSALS - 1;
	struct buf buf;

	told->refusals[at] = (struct run_refusal) {refusal->tgid, judgement->verdicts[0]};
	told->refusal_total++;
	if (!begin_piece(side->shared, &buf))
		return;
	if (!(side->run->options.json ? json_refusal(&buf, &shown, refusal, judgement)
				      : text_refusal(&buf, &shown, refusal, judgement)))
		end_piece(side->shared, &buf, -1);
}

static void note_dead(struct run_told *told, const struct family_member *member)
{
	unsigned int at = told->dead_total < RUN_DEAD ? told->dead_total : RUN_DEAD - 1;

	told->dead[at] = (struct run_dead) {.pid = member->pid, .signal = member->exit_code & 0x7f};
	snprintf(told->dead[at].comm, sizeof(told->dead[at].comm), "%s", member->comm);
	told->dead_total++;
}

static void take_fact(void *arg, const struct fact *fact)
{
	struct tracer_side *side = arg;
	struct run_told *told = &side->shared->told;
	const struct family_member *ended;

	/* The runner forks one process after we were attached, if that was not before. */
	if (fact->kind == EV_FORK && fact->fork.parent_tgid == (uint32_t)side->run->self) {
		family_begin(side->family, fact->fork.tgid, "");
		told->members = family_count(side->family);
		return;
	}
	if (!family_root(side->family))
		return;
	ended = family_fact(side->family, fact);
	told->members = family_count(side->family);
	if (ended && ended->pid != family_root(side->family) && ended->exit_code & 0x7f)
		note_dead(told, ended);
}

/* Attached: who was there before is looked for in /proc, and what happened since is in the ring. */
static void take_ready(void *arg, const struct sink_context *sink)
{
	struct tracer_side *side = arg;
	struct run_shared *shared = side->shared;
	struct run_told *told = &shared->told;
	struct run_sampler *sampler = &side->run->sampler;

	told->watch = strcmp(sink->tier, "cgroup") ? RUN_WATCH_TRACE : RUN_WATCH_CGROUP;
	sampler->root = (pid_t)atomic_load(&shared->root_pid);
	told->from_start = !sampler->root;
	if (sampler->root && told->watch == RUN_WATCH_TRACE)
		run_census(sampler, side->family);
	shared->ready_ns = boot_now_ns();
	atomic_store(&shared->ready, 1);
}

/* --- its process --- */

static void hold_only(const struct run *run)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int said = fcntl(run->said_fd, F_DUPFD_CLOEXEC, 64);
	int end = fcntl(run->end_fd, F_DUPFD_CLOEXEC, 65);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(said, STDERR_FILENO);
	dup2(end, STDERR_FILENO + 1);
	/* Pipes and locks of others are not to be held by it. */
	close_range(STDERR_FILENO + 2, ~0U, 0);
}

static int trace(struct run *run)
{
	struct tracer_side side = {run, run->shared, family_new(FAMILY)};
	struct follower follower = {.end_fd = STDERR_FILENO + 1,
		.arg = &side,
		.ready = take_ready,
		.fact = take_fact,
		.incident = take_incident,
		.killing = take_killing,
		.is_followed = is_followed,
		.refusal = take_refusal};
	struct keeper_options keeper = {.path = run->options.store,
		.limits = {.max_bytes = MAX_BYTES, .keep_ns = 30 * DAY_NS},
		.series_all = true,
		.quiet = true};
	struct live_options options;
	int status;

	if (!side.family)
		return 1;
	options_defaults(&options);
	options.silent = options.quiet = true;
	options.verbose = run->options.verbose;
	options.kills = KILLS_ALL;
	options.refused = run->options.refused;
	options.follower = &follower;
	/* Whoever descends from the command could not be told from others there. */
	if (!in_initial_pid_namespace("")) {
		fprintf(stderr, "oomsnoop: in a pid namespace of its own the trace, which knows "
				"the host's pids, does not know the family\n");
		options.source = SOURCE_CGROUP;
	}
	status = live_run(&options, run->options.store ? &keeper : NULL);
	family_free(side.family);
	return status;
}

int run_tracer_start(struct run *run, enum run_role *ret_role)
{
	int pair[2];

	*ret_role = RUN_RUNNER;
	run->said_fd = memfd_create("oomsnoop-said", MFD_CLOEXEC);
	if (run->said_fd < 0 || pipe2(pair, O_CLOEXEC))
		return -errno;
	run->end_fd = pair[0];
	run->tracer = fork();
	if (run->tracer < 0) {
		run->tracer = 0;
		return -errno;
	}
	if (run->tracer) {
		close(pair[0]);
		run->end_fd = pair[1];
		return 0;
	}
	*ret_role = RUN_ELSE;
	/* The terminal's keys and what is sent to the command's group are none of its business. */
	setpgid(0, 0);
	prctl(PR_SET_NAME, "oomsnoop-trace");
	run->sampler.skip[0] = getpid();
	hold_only(run);
	return trace(run);
}

/* --- the runner's side --- */

ssize_t run_tracer_said(const struct run *run, char *ret, size_t size)
{
	ssize_t len = run->said_fd < 0 ? -1 : pread(run->said_fd, ret, size - 1, 0);

	ret[len > 0 ? len : 0] = '\0';
	return len;
}

int run_tracer_ready(struct run *run)
{
	char said[4096];
	ssize_t len;
	int signal = 0;

	while (!atomic_load(&run->shared->ready) && !run->tracer_ended && !signal)
		signal = run_tracer_wait(run, boot_now_ns() + READY_NS);
	if (signal) {
		kill(run->tracer, SIGKILL);
		return 128 + signal;
	}
	if (!run->tracer_ended)
		return 0;
	len = run_tracer_said(run, said, sizeof(said));
	if (len > 0)
		fputs(said, stderr);
	return WIFEXITED(run->tracer_status) && WEXITSTATUS(run->tracer_status)
		       ? WEXITSTATUS(run->tracer_status)
		       : 1;
}

/* The first thing that it said, without our own name: why there is no trace. */
static void note_why(struct run *run)
{
	static const char prefix[] = "oomsnoop: ";
	char *ret = run->facts.why_not_traced, said[512];
	const char *at = said;

	if (run_tracer_said(run, said, sizeof(said)) <= 0)
		return;
	said[strcspn(said, "\n")] = '\0';
	if (!strncmp(at, prefix, sizeof(prefix) - 1))
		at += sizeof(prefix) - 1;
	snprintf(ret, sizeof(run->facts.why_not_traced), "%.*s",
		(int)sizeof(run->facts.why_not_traced) - 1, at);
}

/* Who belongs to the family the hooks have told; without them, who was seen. */
static void keep_our_own(struct run *run)
{
	struct run_told *told = &run->shared->told;
	unsigned int kept = 0, count = told->oom_total < RUN_OOMS ? told->oom_total : RUN_OOMS;

	for (unsigned int i = 0; i < count; i++) {
		bool ours = false;

		for (unsigned int j = 0; j < told->ooms[i].victim_count && j < RUN_VICTIMS; j++)
			ours |= family_find(run->sampler.family, told->ooms[i].pids[j]) != NULL;
		for (unsigned int j = 0; j < run->shared->piece_count && !ours; j++)
			if (run->shared->pieces[j].oom == (int)i)
				run->shared->pieces[j].len = 0;
		if (ours)
			told->ooms[kept++] = told->ooms[i];
		else
			told->foreign_ooms++;
	}
	told->oom_total = kept;
}

static void end_early(struct run *run)
{
	if (run->tracer)
		kill(run->tracer, SIGKILL);
	snprintf(run->facts.why_not_traced, sizeof(run->facts.why_not_traced),
		"it ended before BPF programs were loaded (--attach-first waits for them)");
}

void run_tracer_end(struct run *run)
{
	struct run_shared *shared = run->shared;
	struct run_told *told = &run->facts.told;

	if (!run->tracer) {
		end_early(run);
		return;
	}
	close(run->end_fd);
	run->end_fd = -1;
	if (atomic_load(&shared->ready) && shared->ready_ns < run->end_ns) {
		run_tracer_wait(run, boot_now_ns() + GRACE_NS);
		if (!run->tracer_ended)
			kill(run->tracer, SIGKILL);
		if (shared->told.watch == RUN_WATCH_CGROUP)
			keep_our_own(run);
		*told = shared->told;
		if (!told->from_start)
			told->attached_ns = shared->ready_ns - run->start_ns;
	} else if (!run->tracer_ended) {
		end_early(run);
	}
	if (told->watch == RUN_WATCH_TRACE && !told->members) {
		told->watch = RUN_WATCH_NONE;
		snprintf(run->facts.why_not_traced, sizeof(run->facts.why_not_traced),
			"the command was not among what the trace was told");
	}
	if (told->watch != RUN_WATCH_TRACE && !run->facts.why_not_traced[0])
		note_why(run);
}
