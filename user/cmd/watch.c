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
#include "cmd/ending.h"
#include "cmd/filter.h"
#include "cmd/output.h"
#include "cmd/probe.h"
#include "cmd/watch_kills.h"
#include "cmd/watch_refusals.h"
#include "facts/cgroupfs.h"
#include "judge/limit.h"
#include "judge/whose.h"

/* How often the ring is looked at when nothing urgent is in it: names of processes wait no longer
 * than this. */
#define TICK_NS 200000000L
#define EXACT_CENSUS_CPUS 16
#define RECORD_BYTES (SINK_JSON_MAX > SINK_TEXT_MAX ? SINK_JSON_MAX : SINK_TEXT_MAX)

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

uint64_t boot_now_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

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
		.began_ns = (int64_t)clock_ns(CLOCK_REALTIME),
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
	sink_context_of(&watch->sink, &watch->run, NULL);
	watch->sink.color = !watch->options->json && output_color(watch->options->color);
	watch->sink.width = output_width();
}

static int epoll_watch(int epoll_fd, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int watch_open(struct watch *watch)
{
	struct itimerspec tick = {{0, TICK_NS}, {0, TICK_NS}};
	int error;

	watch->signal_fd = ending_open();
	if (watch->signal_fd < 0)
		return watch->signal_fd;
	watch->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (watch->timer_fd < 0 || watch->epoll_fd < 0 ||
		timerfd_settime(watch->timer_fd, 0, &tick, NULL))
		return -errno;
	error = epoll_watch(watch->epoll_fd, watch->signal_fd, EPOLLIN);
	if (!error)
		error = epoll_watch(watch->epoll_fd, watch->timer_fd, EPOLLIN);
	if (!error)
		error = epoll_watch(watch->epoll_fd, tracer_fd(watch->tracer), EPOLLIN);
	/* Woken by the log only while an incident waits for its line: others may write there a lot.
	 */
	if (!error && watch->kmsg_fd >= 0)
		error = epoll_watch(watch->epoll_fd, watch->kmsg_fd, 0);
	if (error)
		return error;
	if (watch->probe_fd >= 0)
		epoll_watch(watch->epoll_fd, watch->probe_fd, EPOLLIN);
	/* A reader that has gone is noticed without writing. A file cannot be watched, and need not
	 * be. */
	if (!watch->silent)
		epoll_watch(watch->epoll_fd, STDOUT_FILENO, 0);
	return 0;
}

void watch_close(struct watch *watch)
{
	if (watch->kmsg_fd >= 0)
		close(watch->kmsg_fd);
	if (watch->probe_fd >= 0)
		close(watch->probe_fd);
	if (watch->signal_fd >= 0)
		close(watch->signal_fd);
	if (watch->timer_fd >= 0)
		close(watch->timer_fd);
	if (watch->epoll_fd >= 0)
		close(watch->epoll_fd);
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

/* It ends a trace; beside a store it only ends the printing. */
static void print_failed(struct watch *watch, int error)
{
	if (!watch->keeper) {
		watch->output_error = error;
		return;
	}
	watch->silent = true;
	watch->print_error = error;
	epoll_ctl(watch->epoll_fd, EPOLL_CTL_DEL, STDOUT_FILENO, NULL);
	fprintf(stderr, "oomsnoop: %s; the recording goes on\n",
		error == -EPIPE ? "nobody reads standard output any more"
				: "cannot write to standard output");
}

void watch_print(struct watch *watch, const char *data, size_t len)
{
	int error = watch->silent ? 0 : output_write(data, len);

	if (error)
		print_failed(watch, error);
}

static void emit(struct watch *watch, struct incident *incident)
{
	static char record[RECORD_BYTES];
	struct buf buf;
	int error;

	if (watch->silent)
		return;
	buf_init(&buf, record, sizeof(record));
	if (watch->told && !watch->options->json)
		buf_putc(&buf, '\n');
	error = watch->options->json
			? json_incident(&buf, &watch->sink, incident, &watch->judgement)
			: text_incident(&buf, &watch->sink, incident, &watch->judgement);
	if (error) {
		fprintf(stderr, "oomsnoop: the record of incident %u does not fit and is lost\n",
			incident->number);
		watch->totals.lost_events++;
		return;
	}
	watch_print(watch, buf.data, buf.len);
	watch->told++;
}

/* Into the store's queue first: who reads stdout may take its time. */
static void tell(struct watch *watch, struct incident *incident, const struct coverage *judged_by)
{
	struct capture_moment moment = {
		.wall_minus_boot_ns =
			(int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME)),
		.lost_events = lost_incident_records(watch),
		.coverage = *judged_by,
	};

	watch->totals.incidents++;
	watch->totals.kills += incident->outcome == OUTCOME_KILLED;
	watch->totals.victims += incident->victim_count;
	if (watch->keeper)
		keeper_incident(watch->keeper, incident, &watch->judgement, &moment,
			watch->recorder.growth, &watch->names);
	sink_context_of(&watch->sink, &watch->run, &moment);
	emit(watch, incident);
}

static void end_run(struct watch *watch, const char *reason)
{
	if (!watch->ended)
		watch->totals.reason = reason;
	watch->ended = true;
}

/* Whatever ends the run, what is known by then is told: unless nobody reads it, or enough was told.
 */
static bool muted(const struct watch *watch)
{
	return watch->output_error ||
	       (watch->options->max_events &&
		       watch->totals.incidents >= watch->options->max_events);
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
	if (!muted(watch) && filter_passes(watch->options, incident, &watch->judgement)) {
		tell(watch, incident, &judged_by);
		if (muted(watch))
			end_run(watch, "max-events");
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
	recorder_fact(&watch->recorder, fact);
	incidents_fact(watch->incidents, fact);
	if (watch->killings)
		killings_fact(watch->killings, fact);
	if (watch->refusals)
		refusals_fact(watch->refusals, fact);
	if (fact->kind == EV_SIGNAL)
		watch_kills_tell(watch, fact->hdr.time_ns);
	/* In a storm the pool must not fill up while the ring is read. */
	finish_closed(watch);
}

/* The recorder's pass, where one is due, and what is told after it. */
static void take_pass(struct watch *watch)
{
	uint64_t now = boot_now_ns();
	int error;

	if (!recorder_tick(&watch->recorder, now) || watch->ended || watch->output_error)
		return;
	watch->coverage.faults_hook = watch->recorder.can_arm;
	if (watch->recorder.arm_error && !watch->coverage.faults_why) {
		watch->coverage.faults_why = "the kernel refused to count page faults";
		fprintf(stderr, "oomsnoop: cannot count page faults: %s\n",
			strerror(-watch->recorder.arm_error));
	}
	if (watch->keeper)
		keeper_pass(watch->keeper, watch->recorder.growth, &watch->names, now);
	watch->sink.wall_minus_boot_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);
	error = stream_pass(&watch->stream, watch->recorder.growth, now);
	if (error && !watch->silent)
		print_failed(watch, error);
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

static void answer_probe(const struct watch *watch)
{
	struct probe_state state = {
		.tier = watch->run.tier,
		.incidents = watch->totals.incidents,
		.victims = watch->totals.victims,
		.lost_events = lost_incident_records(watch),
	};

	probe_answer(watch->probe_fd, &state);
}

static void take_events(struct watch *watch, const struct epoll_event *events, int count)
{
	struct signalfd_siginfo info;
	uint64_t expired;

	for (int i = 0; i < count; i++) {
		int fd = events[i].data.fd;

		if (fd == watch->signal_fd) {
			if (read(fd, &info, sizeof(info)) == sizeof(info))
				end_run(watch, "signal");
		} else if (fd == watch->timer_fd) {
			if (read(fd, &expired, sizeof(expired)) < 0)
				continue;
		} else if (fd == watch->probe_fd) {
			answer_probe(watch);
		} else if (fd == STDOUT_FILENO && events[i].events & (EPOLLERR | EPOLLHUP)) {
			if (!watch->silent)
				print_failed(watch, -EPIPE);
		}
	}
}

static int wait_ms(const struct watch *watch)
{
	uint64_t now = boot_now_ns(), until = incidents_deadline(watch->incidents);

	if (watch->ends_ns < until)
		until = watch->ends_ns;
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
	if (!epoll_ctl(watch->epoll_fd, EPOLL_CTL_MOD, watch->kmsg_fd, &event))
		watch->kmsg_armed = wanted;
}

int watch_run(struct watch *watch)
{
	struct epoll_event events[8];

	while (!watch->ended && !watch->output_error) {
		int count = epoll_wait(watch->epoll_fd, events, 8, wait_ms(watch));

		if (count < 0 && errno != EINTR)
			return -errno;
		take_events(watch, events, count);
		if (watch->output_error)
			break;
		watch_drain(watch);
		kmsg_arm(watch);
		if (boot_now_ns() >= watch->ends_ns)
			end_run(watch, "timeout");
	}
	return 0;
}

static void totals_fill(struct watch *watch)
{
	struct incidents_totals totals = incidents_totals(watch->incidents);
	struct tracer_losses losses;

	tracer_losses(watch->tracer, &losses);
	watch->totals.lost_events += losses.dropped[EV_DROP_INCIDENT];
	watch->totals.lost_candidates = losses.dropped[EV_DROP_CANDIDATE];
	watch->totals.lost_process_events = losses.dropped[EV_DROP_PROCESS];
	watch->totals.bad_records = losses.bad + losses.unknown;
	watch->totals.missed_hooks = tracer_missed(watch->tracer);
	watch->totals.evicted = totals.evicted;
	watch->totals.kmsg_lost = watch->kmsg_lost;
	watch->totals.lost_signals = losses.dropped[EV_DROP_SIGNAL];
	if (watch->killings)
		watch->totals.lost_signals += killings_evicted(watch->killings);
	watch->totals.lost_refusals = losses.dropped[EV_DROP_REFUSAL];
	if (watch->refusals)
		watch->totals.lost_refusals += refusals_lost(watch->refusals);
	if (!watch->recorder.growth)
		return;
	watch->totals.recorded = true;
	watch->totals.growth = growth_totals(watch->recorder.growth);
	watch->totals.lost_samples = losses.dropped[EV_DROP_SAMPLE];
	watch->totals.arm_count = watch->recorder.arm_count;
	watch->totals.passes_failed = watch->recorder.passes_failed;
	watch->totals.pass_ns = watch->recorder.passes > 1
					? watch->recorder.spent_ns / (watch->recorder.passes - 1)
					: 0;
}

void watch_start_line(struct watch *watch)
{
	char line[8192];
	struct buf buf;

	if (!watch->options->json)
		return;
	buf_init(&buf, line, sizeof(line));
	watch->sink.wall_minus_boot_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);
	if (!json_start(&buf, &watch->sink, boot_now_ns()))
		watch_print(watch, buf.data, buf.len);
}

void watch_finish(struct watch *watch)
{
	const char *reason = watch->totals.reason;
	char line[8192];
	struct buf buf;

	watch_drain(watch);
	incidents_stop(watch->incidents, boot_now_ns());
	finish_closed(watch);
	watch_kills_tell(watch, UINT64_MAX);
	watch_refusals_tell(watch, UINT64_MAX);
	totals_fill(watch);
	watch->totals.reason = watch->output_error ? "output-closed" : reason;
	if (!watch->options->json || watch->output_error)
		return;
	buf_init(&buf, line, sizeof(line));
	watch->sink.wall_minus_boot_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);
	if (!json_stop(&buf, &watch->sink, boot_now_ns(), &watch->totals))
		watch_print(watch, buf.data, buf.len);
}
