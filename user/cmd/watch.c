// SPDX-License-Identifier: Apache-2.0
#include "cmd/watch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "cmd/clock.h"
#include "cmd/ending.h"
#include "cmd/filter.h"
#include "cmd/follower.h"
#include "cmd/output.h"
#include "cmd/probe.h"
#include "cmd/watch_kills.h"
#include "cmd/watch_refusals.h"
#include "cmd/watch_stalls.h"
#include "facts/cgroupfs.h"
#include "judge/limit.h"
#include "judge/whose.h"

/* How often the ring is looked at when nothing urgent is in it: names of processes wait no longer
 * than this. */
#define TICK_NS 200000000L
#define EXACT_CENSUS_CPUS 16
/* So long the end of a command that is followed waits for what is still open: a victim that is not
 * gone yet, a line of the kernel log. */
#define LEAVE_NS 1000000000ULL

static void put_text(char *ret, size_t size, const char *text)
{
	snprintf(ret, size, "%s", text);
}

static void describe_recorder(struct watch *watch)
{
	static const char *const faults[] = {
		[FAULTS_AUTO] = "auto", [FAULTS_ALWAYS] = "always", [FAULTS_NEVER] = "never"};
	const struct live_options *options = watch->options;
	struct capture_run *run = &watch->run;

	if (watch->recorder.source == RECORDER_NONE)
		return;
	run->recorder_interval_ns = options->census_ns;
	run->recorder_window_ns = options->window_ns;
	run->recorder_history_ns = options->history_ns;
	put_text(run->recorder_source, sizeof(run->recorder_source),
		watch->recorder.source == RECORDER_ITERATOR ? "iterator" : "proc");
	put_text(run->recorder_faults, sizeof(run->recorder_faults),
		watch->recorder.can_arm ? faults[options->faults] : "never");
	if (watch->recorder.can_arm)
		return;
	watch->coverage.faults_why = options->faults == FAULTS_NEVER
					     ? "page faults are not counted, as was asked for"
					     : "no hook on page faults serves here";
}

_Static_assert(HOOK_COUNT <= CAPTURE_HOOKS && HOOK_COUNT <= SINK_HOOKS, "each has a place");

static void describe_run(struct watch *watch)
{
	const struct hooks *hooks = &watch->hooks;
	struct capture_run *run = &watch->run;

	*run = (struct capture_run) {.host = watch->host,
		.hook_count = HOOK_COUNT,
		.began_ns = (int64_t)clock_now_ns(CLOCK_REALTIME),
		.ended_ns = INT64_MIN};
	put_text(run->version, sizeof(run->version), OOMSNOOP_VERSION);
	put_text(run->tier, sizeof(run->tier), watch->coverage.full_tier ? "full" : "tracepoint");
	for (int i = 0; i < HOOK_COUNT; i++) {
		int serving = hooks->states[i].serving;

		put_text(run->hooks[i].purpose, sizeof(run->hooks[i].purpose), hook_table[i].name);
		if (serving >= 0)
			hook_label(&hook_table[i].alternatives[serving], run->hooks[i].hook,
				sizeof(run->hooks[i].hook));
	}
}

void watch_describe(struct watch *watch)
{
	const struct hooks *hooks = &watch->hooks;

	watch->coverage = (struct coverage) {
		.full_tier = hooks_full_tier(hooks),
		.candidates_hook = hook_served(hooks, HOOK_CANDIDATES),
		.exit_hook = hook_served(hooks, HOOK_EXIT),
		.freed_hook = hook_served(hooks, HOOK_FREED),
		.reaper_hook = hook_served(hooks, HOOK_REAPER),
		.signal_hook = hook_served(hooks, HOOK_SHARED),
		.process_hook = hook_served(hooks, HOOK_EXEC),
		.census = hook_served(hooks, HOOK_CENSUS),
		.recorder = watch->recorder.source != RECORDER_NONE,
		.charge_hook = hook_served(hooks, HOOK_CHARGE),
		.faults_hook = watch->recorder.can_arm,
	};
	describe_run(watch);
	describe_recorder(watch);
	sink_context_of(&watch->telling.sink, &watch->run, NULL);
	watch->telling.sink.color = !watch->options->json && output_color(watch->options->color);
	watch->telling.sink.width = output_width();
}

int watch_open(struct watch *watch)
{
	struct itimerspec tick = {{0, TICK_NS}, {0, TICK_NS}};
	int error;

	watch->leaves_ns = UINT64_MAX;
	watch->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (watch->timer_fd < 0 || timerfd_settime(watch->timer_fd, 0, &tick, NULL))
		return -errno;
	error = telling_open(&watch->telling);
	if (!error)
		error = telling_watch(&watch->telling, watch->timer_fd, EPOLLIN);
	if (!error)
		error = telling_watch(&watch->telling, tracer_fd(watch->tracer), EPOLLIN);
	/* Woken by the log only while an incident waits for its line: others may write there a lot.
	 */
	if (!error && watch->kmsg_fd >= 0)
		error = telling_watch(&watch->telling, watch->kmsg_fd, 0);
	return error;
}

void watch_close(struct watch *watch)
{
	if (watch->kmsg_fd >= 0)
		close(watch->kmsg_fd);
	if (watch->timer_fd >= 0)
		close(watch->timer_fd);
	telling_close(&watch->telling);
}

/* --- one incident --- */

struct census_target {
	struct watch *watch;
	struct incident *incident;
};

static void census_fact(const struct fact *fact, void *arg)
{
	struct census_target *target = arg;

	recorder_fact(&target->watch->recorder, fact);
	incident_census(target->watch->incidents, target->incident, fact);
}

/* Where the kernel's scan cannot be watched: who was there, as soon as possible after the kill. */
static void gather_census(struct watch *watch, struct incident *incident, int level)
{
	struct census_target target = {watch, incident};
	uint64_t domain = level >= 0 ? incident->levels[level].id : 0;
	int count;

	if (watch->coverage.candidates_hook || !watch->coverage.census)
		return;
	incident->ceiling_hint = watch->judgement.totalpages;
	/* Exact sums cost a read a CPU and counter: within a cgroup, or on a machine with few CPUs.
	 */
	count = tracer_census(watch->tracer, domain,
		level >= 0 || watch->host.cpus <= EXACT_CENSUS_CPUS, census_fact, &target);
	if (count >= 0)
		incident_census_done(watch->incidents, incident);
}

/* As soon as it is seen: it may be told after one that came later. */
static void note_kill(struct watch *watch, const struct incident *incident, int level)
{
	struct cgroup_entry *entry =
		level >= 0 ? cgroup_find(watch->names.cgroups, incident->levels[level].id) : NULL;

	if (entry && incident->outcome == OUTCOME_KILLED)
		cgroup_killed(entry, incident->time_ns);
}

/* What is not known yet is looked for once more. */
static void take_names(struct watch *watch, struct incident *incident)
{
	const char *place = whose_place(incident, watch->judgement.limit_level);
	const struct container_names *names =
		containers_of(watch->names.containers, watch->names.reader, place, boot_now_ns());

	if (names)
		incident->names = *names;
}

/* What only user space can read, while the kill still goes on: small files of the kernel's, no
 * process's. */
static void gather(struct watch *watch, struct incident *incident)
{
	int level;

	if (incident->gathered)
		return;
	incident->gathered = true;
	read_meminfo("", &incident->host);
	memset(&watch->judgement, 0, sizeof(watch->judgement));
	judge_limit(incident, &watch->host, &watch->judgement);
	level = watch->judgement.limit_level;
	note_kill(watch, incident, level);
	gather_census(watch, incident, level);
	recorder_incident(&watch->recorder, incident, watch->names.cgroups,
		level >= 0 ? incident->levels[level].id : 0, boot_now_ns());
	/* What the kernel printed before it killed is better. */
	if (level >= 0 && watch->names.mounted && !incident->stat_at_kill) {
		const char *path = incident->level_paths[level];

		if (!read_cgroup_stat(&watch->names.mount, path, &incident->stat))
			read_cgroup_usage(&watch->names.mount, path, &incident->stat_usage_bytes);
	}
	take_names(watch, incident);
}

/* The line and its report are in the log in the order in which the kernel printed them. */
static void take_kmsg(struct watch *watch)
{
	static struct kmsg_record record;
	struct kmsg_kill line;

	if (watch->kmsg_fd < 0)
		return;
	while (kmsg_next(watch->kmsg_fd, &record, &watch->kmsg_lost) > 0) {
		joiner_record(watch->joiner, record.text, record.len);
		if (parse_kmsg_kill(record.text, record.len, &line))
			incidents_kmsg(watch->incidents, &line, boot_now_ns());
	}
	joiner_flush(watch->joiner);
}

void watch_report(void *arg, const struct joined_report *report)
{
	struct watch *watch = arg;

	incidents_report(watch->incidents, report, boot_now_ns());
}

/* What earlier incidents of the same cgroup left behind, and what this one leaves. */
static void remember_limit(struct watch *watch, struct incident *incident)
{
	struct cgroup_entry *entry;
	int level;

	judge_limit(incident, &watch->host, &watch->judgement);
	level = watch->judgement.limit_level;
	entry = level >= 0 ? cgroup_find(watch->names.cgroups, incident->levels[level].id) : NULL;
	if (!entry)
		return;
	incident->has_events_before = entry->has_events;
	memcpy(incident->events_before, entry->events, sizeof(entry->events));
	entry->has_events = true;
	memcpy(entry->events, incident->levels[level].events, sizeof(entry->events));
	if (incident->outcome != OUTCOME_KILLED)
		return;
	note_kill(watch, incident, level);
	incident->earlier_kills = cgroup_kills_between(entry,
		incident->time_ns > REPEAT_WINDOW_NS ? incident->time_ns - REPEAT_WINDOW_NS : 0,
		incident->time_ns);
}

static uint64_t lost_incident_records(const struct watch *watch)
{
	struct tracer_losses losses;

	tracer_losses(watch->tracer, &losses);
	return losses.dropped[EV_DROP_INCIDENT] + losses.dropped[EV_DROP_CANDIDATE] + losses.bad;
}

/* Into the store's queue first: who reads stdout may take its time. */
static void tell(struct watch *watch, struct incident *incident, const struct coverage *judged_by)
{
	struct capture_moment moment = {
		.wall_minus_boot_ns = wall_minus_boot_now_ns(),
		.lost_events = lost_incident_records(watch),
		.coverage = *judged_by,
	};

	watch->telling.totals.incidents++;
	watch->telling.totals.kills += incident->outcome == OUTCOME_KILLED;
	watch->telling.totals.victims += incident->victim_count;
	if (watch->keeper)
		keeper_incident(watch->keeper, incident, &watch->judgement, &moment,
			watch->recorder.growth, &watch->names);
	sink_context_of(&watch->telling.sink, &watch->run, &moment);
	telling_incident(&watch->telling, incident, &watch->judgement);
}

static bool follows(struct watch *watch, const struct incident *incident)
{
	const struct follower *follower = watch->options->follower;

	if (!follower)
		return true;
	telling_clock(&watch->telling);
	return follower->incident(follower->arg, &watch->telling.sink, incident, &watch->judgement);
}

static void finish(struct watch *watch, struct incident *incident)
{
	uint64_t lost = lost_incident_records(watch);
	struct coverage judged_by = watch->coverage;

	gather(watch, incident);
	if (watch->kmsg_fd >= 0 && incident->kmsg == KMSG_NOT_READ &&
		incident->outcome == OUTCOME_KILLED)
		incident->kmsg = KMSG_NOT_SEEN;
	incident->lost_events = lost - watch->lost_told;
	watch->lost_told = lost;
	remember_limit(watch, incident);
	take_names(watch, incident);
	judge_incident(incident, &watch->host, &judged_by, &watch->judgement);
	if (watch->judgement.rss_match == RSS_MATCH_APPROX ||
		watch->judgement.rss_match == RSS_MATCH_EXACT)
		watch->coverage.kernel_sum = watch->judgement.rss_match;
	if (!telling_muted(&watch->telling) &&
		filter_passes(&watch->options->filter, incident, &watch->judgement) &&
		follows(watch, incident)) {
		tell(watch, incident, &judged_by);
		if (telling_muted(&watch->telling))
			telling_end(&watch->telling, "max-events");
	}
	incidents_release(watch->incidents, incident);
}

static void finish_closed(struct watch *watch)
{
	struct incident *incident;

	while ((incident = incidents_next_closed(watch->incidents)) != NULL)
		finish(watch, incident);
}

/* --- the loop --- */

static void take_fact(const struct fact *fact, void *arg)
{
	struct watch *watch = arg;

	names_learn(&watch->names, fact);
	if (watch->options->follower)
		watch->options->follower->fact(watch->options->follower->arg, fact);
	recorder_fact(&watch->recorder, fact);
	incidents_fact(watch->incidents, fact);
	if (watch->killings)
		killings_fact(watch->killings, fact);
	watch_refusals_fact(watch, fact);
	if (fact->kind == EV_SIGNAL)
		watch_kills_tell(watch, fact->hdr.time_ns);
	/* In a storm the pool must not fill up while the ring is read. */
	finish_closed(watch);
}

/* The recorder's pass, where one is due, and what is told after it. */
static void take_pass(struct watch *watch)
{
	uint64_t now = boot_now_ns();

	if (!recorder_tick(&watch->recorder, now) || watch->telling.ended ||
		watch->telling.output_error)
		return;
	watch->coverage.faults_hook = watch->recorder.can_arm;
	if (watch->recorder.arm_error && !watch->coverage.faults_why) {
		watch->coverage.faults_why = "the kernel refused to count page faults";
		fprintf(stderr, "oomsnoop: cannot count page faults: %s\n",
			strerror(-watch->recorder.arm_error));
	}
	if (watch->keeper)
		keeper_pass(watch->keeper, watch->recorder.growth, &watch->names, now);
	telling_clock(&watch->telling);
	stream_pass(&watch->stream, watch->recorder.growth, now);
	watch_stalls_look(watch, now);
}

void watch_drain(struct watch *watch)
{
	struct incident *incident;

	tracer_drain(watch->tracer, take_fact, watch);
	take_kmsg(watch);
	while ((incident = incidents_next_fresh(watch->incidents)) != NULL)
		gather(watch, incident);
	watch_kills_gather(watch);
	watch_refusals_gather(watch);
	/* After what is known of a kill was taken: a pass would show the moments after it. */
	take_pass(watch);
	incidents_tick(watch->incidents, boot_now_ns());
	finish_closed(watch);
	watch_kills_tell(watch, boot_now_ns());
	watch_refusals_tell(watch, boot_now_ns());
	names_tick(&watch->names, boot_now_ns());
}

static void take_events(struct watch *watch, const struct epoll_event *events, int count)
{
	uint64_t expired;

	for (int i = 0; i < count; i++) {
		telling_event(&watch->telling, &events[i]);
		if (events[i].data.fd == watch->telling.probe_fd)
			telling_probe(&watch->telling, lost_incident_records(watch));
		if (events[i].data.fd == watch->timer_fd &&
			read(watch->timer_fd, &expired, sizeof(expired)) < 0)
			continue;
	}
}

static int wait_ms(const struct watch *watch)
{
	uint64_t now = boot_now_ns(), until = incidents_deadline(watch->incidents);

	if (watch->ends_ns < until)
		until = watch->ends_ns;
	if (watch->leaves_ns < until)
		until = watch->leaves_ns;
	if (watch_kills_deadline(watch) < until)
		until = watch_kills_deadline(watch);
	if (watch_refusals_deadline(watch, now) < until)
		until = watch_refusals_deadline(watch, now);
	if (recorder_deadline(&watch->recorder) < until)
		until = recorder_deadline(&watch->recorder);
	if (until <= now)
		return 1;
	return until - now < 1000000000ULL ? (until - now) / 1000000 + 1 : 1000;
}

static void kmsg_arm(struct watch *watch)
{
	bool wanted = incidents_await_kmsg(watch->incidents);
	struct epoll_event event = {.events = wanted ? EPOLLIN : 0, .data.fd = watch->kmsg_fd};

	if (watch->kmsg_fd < 0 || wanted == watch->kmsg_armed)
		return;
	if (!epoll_ctl(watch->telling.epoll_fd, EPOLL_CTL_MOD, watch->kmsg_fd, &event))
		watch->kmsg_armed = wanted;
}

/* Whoever is followed has ended: what is open by then may come to its end. */
static void leave(struct watch *watch)
{
	if (watch->leaves_ns == UINT64_MAX)
		watch->leaves_ns = boot_now_ns() + LEAVE_NS;
	if (incidents_deadline(watch->incidents) == UINT64_MAX || boot_now_ns() >= watch->leaves_ns)
		telling_end(&watch->telling, "command-ended");
}

int watch_run(struct watch *watch)
{
	struct epoll_event events[8];

	while (!watch->telling.ended && !watch->telling.output_error) {
		int count = epoll_wait(watch->telling.epoll_fd, events, 8, wait_ms(watch));

		if (count < 0 && errno != EINTR)
			return -errno;
		take_events(watch, events, count);
		if (watch->telling.output_error)
			break;
		watch_drain(watch);
		kmsg_arm(watch);
		if (boot_now_ns() >= watch->ends_ns)
			telling_end(&watch->telling, "timeout");
		if (watch->telling.left)
			leave(watch);
	}
	return 0;
}

static void totals_fill(struct watch *watch)
{
	struct incidents_totals totals = incidents_totals(watch->incidents);
	struct tracer_losses losses;

	tracer_losses(watch->tracer, &losses);
	watch->telling.totals.lost_events += losses.dropped[EV_DROP_INCIDENT];
	watch->telling.totals.lost_candidates = losses.dropped[EV_DROP_CANDIDATE];
	watch->telling.totals.lost_process_events = losses.dropped[EV_DROP_PROCESS];
	watch->telling.totals.bad_records = losses.bad + losses.unknown;
	watch->telling.totals.missed_hooks = tracer_missed(watch->tracer);
	watch->telling.totals.evicted = totals.evicted;
	watch->telling.totals.kmsg_lost = watch->kmsg_lost;
	watch->telling.totals.lost_signals = losses.dropped[EV_DROP_SIGNAL];
	if (watch->killings)
		watch->telling.totals.lost_signals += killings_evicted(watch->killings);
	watch->telling.totals.lost_refusals = losses.dropped[EV_DROP_REFUSAL];
	if (watch->refusals)
		watch->telling.totals.lost_refusals += refusals_lost(watch->refusals);
	if (!watch->recorder.growth)
		return;
	watch->telling.totals.recorded = true;
	watch->telling.totals.growth = growth_totals(watch->recorder.growth);
	watch->telling.totals.lost_samples = losses.dropped[EV_DROP_SAMPLE];
	watch->telling.totals.arm_count = watch->recorder.arm_count;
	watch->telling.totals.passes_failed = watch->recorder.passes_failed;
	watch->telling.totals.pass_ns =
		watch->recorder.passes > 1 ? watch->recorder.spent_ns / (watch->recorder.passes - 1)
					   : 0;
}

void watch_finish(struct watch *watch)
{
	const char *reason = watch->telling.totals.reason;

	watch_drain(watch);
	incidents_stop(watch->incidents, boot_now_ns());
	finish_closed(watch);
	watch_kills_tell(watch, UINT64_MAX);
	watch_refusals_tell(watch, UINT64_MAX);
	totals_fill(watch);
	telling_stop(&watch->telling, reason);
}
