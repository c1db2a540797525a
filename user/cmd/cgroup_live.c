// SPDX-License-Identifier: Apache-2.0
#include "cmd/cgroup_live.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "cmd/cgroup_look.h"
#include "cmd/cgroup_told.h"
#include "cmd/ending.h"
#include "cmd/filter.h"
#include "cmd/follower.h"
#include "cmd/output.h"
#include "cmd/probe.h"
#include "cmd/stream.h"
#include "facts/rights.h"
#include "judge/judgement.h"
#include "sink/sink.h"

#define MS_NS 1000000ULL
#define SECOND_NS 1000000000ULL
#define FAST_NS (50 * MS_NS) /* near the limit, and while a victim is dying */
#define FOLLOWED_NS (100 * MS_NS)
#define STAT_NS SECOND_NS /* memory.stat makes the kernel sum up over all CPUs */
#define SHARE 33 /* a look of 1 ms is followed by at least 33 ms without one */
#define TIGHT_NS (10 * SECOND_NS) /* full so soon: looks come faster */
#define TIGHT_RATIO 0.9
#define LEDGER_BYTES (2 << 20)
#define CGROUPS 256
#define KEEPER_GRACE_NS (10 * SECOND_NS)
#define RECORD_BYTES (SINK_JSON_MAX > SINK_TEXT_MAX ? SINK_JSON_MAX : SINK_TEXT_MAX)

struct watcher {
	const struct live_options *options;
	const struct host_facts *host;
	struct cgroup_view view;
	struct selfwatch *watch;
	struct growth *growth;
	struct names names;
	struct stream stream;
	struct keeper *keeper;
	struct capture_run run;
	struct coverage coverage;
	struct sink_context sink;
	int events_fd, signal_fd, epoll_fd;
	int probe_fd; /* -1: nobody may ask */
	bool woken; /* the kernel said that a kill was counted */
	bool near;
	uint64_t kills_seen; /* out of the file that wakes us */
	uint64_t next_ns, stat_ns, ends_ns; /* CLOCK_BOOTTIME */
	uint64_t interval_ns, spent_ns, looks;
	uint32_t number;
	uint64_t told;
	bool ended, silent;
	int output_error, look_error;
	struct run_totals totals;
	struct growth_picture picture; /* of the open episode */
	struct incident incident;
	struct judgement judgement;
	char text[RECORD_BYTES];
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * SECOND_NS + now.tv_nsec;
}

static uint64_t boot_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

/* --- telling --- */

static void end_run(struct watcher *watcher, const char *reason)
{
	if (!watcher->ended)
		watcher->totals.reason = reason;
	watcher->ended = true;
}

static bool muted(const struct watcher *watcher)
{
	return watcher->output_error ||
	       (watcher->options->max_events &&
		       watcher->totals.incidents >= watcher->options->max_events);
}

static int print(const char *data, size_t len, void *arg)
{
	struct watcher *watcher = arg;

	if (!watcher->output_error && !watcher->silent)
		watcher->output_error = output_write(data, len);
	return watcher->output_error;
}

static void emit(struct watcher *watcher)
{
	bool json = watcher->options->json;
	struct buf buf;
	int error;

	buf_init(&buf, watcher->text, sizeof(watcher->text));
	if (watcher->told && !json)
		buf_putc(&buf, '\n');
	error = json ? json_incident(&buf, &watcher->sink, &watcher->incident, &watcher->judgement)
		     : text_incident(&buf, &watcher->sink, &watcher->incident, &watcher->judgement);
	if (error) {
		fprintf(stderr, "oomsnoop: the record of incident %u does not fit and is lost\n",
			watcher->incident.number);
		watcher->totals.lost_events++;
		return;
	}
	print(buf.data, buf.len, watcher);
	watcher->told++;
}

static void tell(struct watcher *watcher)
{
	const struct follower *follower = watcher->options->follower;
	struct incident *incident = &watcher->incident;
	struct capture_moment moment = {
		.wall_minus_boot_ns = (int64_t)(clock_ns(CLOCK_REALTIME) - boot_ns()),
		.coverage = watcher->coverage,
	};

	incident->number = ++watcher->number;
	incident->growth = watcher->picture;
	read_meminfo("", &incident->host);
	judge_incident(incident, watcher->host, &watcher->coverage, &watcher->judgement);
	if (muted(watcher) || !filter_passes(watcher->options, incident, &watcher->judgement))
		return;
	sink_context_of(&watcher->sink, &watcher->run, &moment);
	if (follower &&
		!follower->incident(follower->arg, &watcher->sink, incident, &watcher->judgement))
		return;
	watcher->totals.incidents++;
	watcher->totals.kills++;
	watcher->totals.victims += incident->self.kills;
	if (watcher->keeper)
		keeper_incident(watcher->keeper, incident, &watcher->judgement, &moment,
			watcher->growth, &watcher->names);
	if (!watcher->silent)
		emit(watcher);
	if (muted(watcher))
		end_run(watcher, "max-events");
}

/* --- looks --- */

/* Of the window before the kill, while this look has not been taken in yet. */
static void take_picture(struct watcher *watcher)
{
	memset(&watcher->picture, 0, sizeof(watcher->picture));
	growth_picture(watcher->growth, watcher->names.cgroups, selfwatch_growth_id(watcher->watch),
		selfwatch_before(watcher->watch), watcher->options->window_ns, &watcher->picture);
}

static void host_pass(struct watcher *watcher, uint64_t now_ns)
{
	struct host_memory host;

	if (read_meminfo("", &host) || host.total_bytes == UNKNOWN_U64 ||
		host.available_bytes == UNKNOWN_U64 || host.available_bytes > host.total_bytes)
		return;
	growth_host(
		watcher->growth, now_ns, host.total_bytes - host.available_bytes, host.total_bytes);
}

static void set_pace(struct watcher *watcher)
{
	uint64_t base = watcher->options->census_ns, interval;
	struct growth_pressure pressure;

	/* A command that is followed is young, and so is all that it starts. */
	if (watcher->options->follower && base > FOLLOWED_NS)
		base = FOLLOWED_NS;
	interval = base;
	growth_pressure(watcher->growth, &pressure);
	watcher->near = pressure.ratio >= TIGHT_RATIO || pressure.left_ns < TIGHT_NS;
	if (pressure.left_ns < TIGHT_NS)
		interval = pressure.left_ns / 20;
	else if (watcher->near)
		interval = base / 5;
	if (selfwatch_open(watcher->watch))
		interval = FAST_NS;
	if (interval < FAST_NS)
		interval = FAST_NS;
	if (interval < watcher->spent_ns * SHARE && !selfwatch_open(watcher->watch))
		interval = watcher->spent_ns * SHARE;
	watcher->interval_ns = interval < base ? interval : base;
}

/* What is known of its composition is that of the look before a kill. */
static void look_at_stat(struct watcher *watcher, uint64_t now_ns)
{
	if (selfwatch_open(watcher->watch) || now_ns < watcher->stat_ns)
		return;
	cgroup_view_stat(&watcher->view, watcher->watch);
	watcher->stat_ns = now_ns + STAT_NS;
}

static void pass_on(struct watcher *watcher, uint64_t now_ns)
{
	int error;

	if (watcher->options->no_recorder)
		return;
	host_pass(watcher, now_ns);
	selfwatch_feed(watcher->watch, watcher->growth);
	if (watcher->keeper)
		keeper_pass(watcher->keeper, watcher->growth, &watcher->names, now_ns);
	watcher->sink.wall_minus_boot_ns = (int64_t)(clock_ns(CLOCK_REALTIME) - boot_ns());
	error = stream_pass(&watcher->stream, watcher->growth, now_ns);
	if (error && !watcher->output_error)
		watcher->output_error = error;
}

static void look(struct watcher *watcher)
{
	uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID), now;
	bool was_open = selfwatch_open(watcher->watch);
	uint32_t kills;
	int error;

	error = cgroup_view_look(&watcher->view, watcher->watch,
		was_open || watcher->woken || watcher->near, &kills);
	now = boot_ns();
	watcher->woken = false;
	watcher->looks++;
	if (error) {
		watcher->look_error = error;
		end_run(watcher, "failed");
		return;
	}
	if (kills && !was_open)
		take_picture(watcher);
	pass_on(watcher, now);
	look_at_stat(watcher, now);
	watcher->spent_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
	watcher->totals.pass_ns += watcher->spent_ns;
	set_pace(watcher);
	watcher->next_ns = now + watcher->interval_ns;
}

static void tell_what_is_over(struct watcher *watcher, bool now)
{
	if (selfwatch_take(watcher->watch, boot_ns(), now, &watcher->incident))
		tell(watcher);
}

/* --- the loop --- */

/* memory.events of the domain: the kernel wakes whoever polls it, for other events, too. */
static void read_events(struct watcher *watcher)
{
	char text[1024];
	ssize_t len = pread(watcher->events_fd, text, sizeof(text) - 1, 0);
	const char *at;
	uint64_t kills;

	if (len <= 0)
		return;
	text[len] = '\0';
	at = strstr(text, "\noom_kill ");
	kills = at ? strtoull(at + strlen("\noom_kill "), NULL, 10) : 0;
	if (kills != watcher->kills_seen && watcher->looks) {
		watcher->woken = true;
		watcher->next_ns = 0;
	}
	watcher->kills_seen = kills;
}

static void open_events(struct watcher *watcher)
{
	char path[PATH_MAX];
	size_t len;

	if (!watcher->view.mount.v2)
		return;
	len = strlen(watcher->view.below.path);
	memcpy(path, watcher->view.below.path, len + 1);
	strcpy(path + len, "/memory.events");
	watcher->events_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (watcher->events_fd >= 0)
		read_events(watcher);
}

static int watch_fd(const struct watcher *watcher, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	return epoll_ctl(watcher->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_probe(struct watcher *watcher)
{
	watcher->probe_fd = probe_listen(watcher->options->probe);
	return watcher->probe_fd < 0 ? watcher->probe_fd
				     : watch_fd(watcher, watcher->probe_fd, EPOLLIN);
}

static void answer_probe(const struct watcher *watcher)
{
	struct probe_state state = {.tier = watcher->sink.tier,
		.incidents = watcher->totals.incidents,
		.victims = watcher->totals.victims};

	probe_answer(watcher->probe_fd, &state);
}

static int open_loop(struct watcher *watcher)
{
	int error;

	watcher->signal_fd = watcher->options->follower ? dup(watcher->options->follower->end_fd)
							: ending_open();
	if (watcher->signal_fd < 0)
		return watcher->signal_fd;
	watcher->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (watcher->epoll_fd < 0)
		return -errno;
	error = watch_fd(watcher, watcher->signal_fd, EPOLLIN);
	if (!error && watcher->options->probe)
		error = open_probe(watcher);
	open_events(watcher);
	if (!error && watcher->events_fd >= 0)
		error = watch_fd(watcher, watcher->events_fd, EPOLLPRI);
	/* A reader that has gone is noticed without writing. A file cannot be watched, and need not
	 * be. */
	if (!error && !watcher->silent)
		watch_fd(watcher, STDOUT_FILENO, 0);
	return error;
}

static int wait_ms(const struct watcher *watcher)
{
	uint64_t now = boot_ns(), until = watcher->next_ns;

	if (watcher->ends_ns < until)
		until = watcher->ends_ns;
	return until <= now ? 0 : (int)((until - now) / MS_NS) + 1;
}

static void take_events(struct watcher *watcher, const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++) {
		int fd = events[i].data.fd;

		if (fd == watcher->signal_fd)
			end_run(watcher, "signal");
		else if (fd == watcher->events_fd)
			read_events(watcher);
		else if (fd == watcher->probe_fd)
			answer_probe(watcher);
		else if (fd == STDOUT_FILENO)
			watcher->output_error = -EPIPE;
	}
}

static int follow(struct watcher *watcher)
{
	struct epoll_event events[4];

	while (!watcher->ended && !watcher->output_error) {
		int count = epoll_wait(watcher->epoll_fd, events, 4, wait_ms(watcher));

		if (count < 0 && errno != EINTR)
			return -errno;
		take_events(watcher, events, count);
		/* A kill right before a signal is told, too. */
		if (boot_ns() >= watcher->next_ns || watcher->ended)
			look(watcher);
		tell_what_is_over(watcher, watcher->ended);
		if (boot_ns() >= watcher->ends_ns)
			end_run(watcher, "timeout");
	}
	tell_what_is_over(watcher, true);
	return watcher->look_error;
}

/* --- the run --- */

static void describe(struct watcher *watcher)
{
	struct capture_run *run = &watcher->run;

	*run = (struct capture_run) {.host = *watcher->host,
		.began_ns = (int64_t)clock_ns(CLOCK_REALTIME),
		.ended_ns = INT64_MIN,
		.version = OOMSNOOP_VERSION,
		.tier = "cgroup",
		.recorder_source = "proc",
		.recorder_faults = "never"};
	run->recorder_interval_ns = watcher->options->census_ns;
	run->recorder_window_ns = watcher->options->window_ns;
	run->recorder_history_ns = watcher->options->history_ns;
	watcher->coverage = (struct coverage) {
		.recorder = true, .faults_why = "page faults are not counted without rights"};
	sink_context_of(&watcher->sink, run, NULL);
	watcher->sink.color = !watcher->options->json && output_color(watcher->options->color);
	watcher->sink.width = output_width();
	watcher->stream = (struct stream) {.options = watcher->options,
		.sink = &watcher->sink,
		.cgroups = watcher->names.cgroups,
		.write = print,
		.arg = watcher};
}

static int open_tables(struct watcher *watcher)
{
	struct selfwatch_options options = {.page_size = watcher->host->page_size,
		.settle_ns = watcher->options->settle_ns,
		.v2 = watcher->view.mount.v2,
		.complete = watcher->view.quota.complete};
	struct growth_options growth = {.processes = SELF_PROCESSES,
		.cgroups = CGROUPS,
		.ledger_bytes = LEDGER_BYTES,
		.keep_ns = watcher->options->history_ns,
		.page_size = watcher->host->page_size};

	watcher->names.processes = processes_new(SELF_PROCESSES);
	watcher->names.cgroups = watcher->view.cgroups = cgroups_new(CGROUPS);
	watcher->watch = selfwatch_new(&options);
	watcher->growth = growth_new(&growth);
	return watcher->names.processes && watcher->names.cgroups && watcher->watch &&
			       watcher->growth
		       ? open_loop(watcher)
		       : -ENOMEM;
}

static void tell_run(struct watcher *watcher, bool begins)
{
	uint64_t now = boot_ns();
	struct buf buf;

	if (!watcher->options->json || watcher->output_error)
		return;
	watcher->sink.wall_minus_boot_ns = (int64_t)(clock_ns(CLOCK_REALTIME) - now);
	watcher->totals.recorded = true;
	watcher->totals.growth = growth_totals(watcher->growth);
	buf_init(&buf, watcher->text, sizeof(watcher->text));
	if (!(begins ? json_start(&buf, &watcher->sink, now)
		     : json_stop(&buf, &watcher->sink, now, &watcher->totals)))
		print(buf.data, buf.len, watcher);
}

static void tell_ready(struct watcher *watcher)
{
	static const char ready[] = "READY\n";
	int fd = watcher->options->ready_fd;

	if (watcher->options->follower)
		watcher->options->follower->ready(watcher->options->follower->arg, &watcher->sink);
	tell_run(watcher, true);
	if (fd >= 0 && write(fd, ready, sizeof(ready) - 1) != sizeof(ready) - 1)
		fprintf(stderr, "oomsnoop: --ready-fd %d: %s\n", fd, strerror(errno));
	if (!watcher->options->quiet)
		fprintf(stderr, "oomsnoop: watching for OOM kills; Ctrl-C ends\n");
}

static int tell_end(struct watcher *watcher, int error)
{
	const struct selfwatch_totals totals = selfwatch_totals(watcher->watch);

	if (watcher->output_error)
		watcher->totals.reason = "output-closed";
	else if (error)
		watcher->totals.reason = "failed";
	if (watcher->looks)
		watcher->totals.pass_ns /= watcher->looks;
	tell_run(watcher, false);
	if (error)
		fprintf(stderr, "oomsnoop: its cgroup cannot be read any more: %s\n",
			strerror(-error));
	if (totals.no_room || totals.cgroups_no_room)
		fprintf(stderr,
			"oomsnoop: the tables were full: processes were passed over %llu times, cgroups %llu "
			"times\n",
			(unsigned long long)totals.no_room,
			(unsigned long long)totals.cgroups_no_room);
	if (watcher->output_error && watcher->output_error != -EPIPE) {
		fprintf(stderr, "oomsnoop: cannot write to stdout: %s\n",
			strerror(-watcher->output_error));
		return EX_IOERR;
	}
	if (!watcher->options->quiet && !watcher->output_error)
		fprintf(stderr, "oomsnoop: %llu incidents, %llu processes killed\n",
			(unsigned long long)watcher->totals.incidents,
			(unsigned long long)watcher->totals.victims);
	return error ? 1 : 0;
}

static int close_keeper(struct watcher *watcher)
{
	struct keeper_totals totals;

	keeper_close(watcher->keeper, watcher->totals.reason ? watcher->totals.reason : "failed",
		KEEPER_GRACE_NS, &totals);
	watcher->keeper = NULL;
	if (totals.error || totals.incidents_lost)
		fprintf(stderr, "oomsnoop: record: not stored, and lost: %llu incidents\n",
			(unsigned long long)totals.incidents_lost);
	return totals.error || totals.incidents_lost ? EX_IOERR : 0;
}

/* The first look is the ground that later ones are held against. */
static int watch(struct watcher *watcher)
{
	struct rights_protection protection;
	int error = 0;

	tzset();
	rights_protect("", &protection);
	rights_drop(0);
	if (watcher->keeper)
		error = keeper_start(watcher->keeper);
	if (error)
		return error;
	look(watcher);
	malloc_trim(0);
	if (!watcher->look_error) {
		cgroup_told_start(&watcher->view, watcher->watch, watcher->options,
			watcher->events_fd >= 0, protection.adj);
		tell_ready(watcher);
	}
	watcher->ends_ns = watcher->options->timeout_ns ? boot_ns() + watcher->options->timeout_ns
							: UINT64_MAX;
	return follow(watcher);
}

static int run(struct watcher *watcher, const struct keeper_options *store)
{
	int error = cgroup_view_open(&watcher->view), status = 0, kept = 0;

	if (error == -ENOENT) {
		fprintf(stderr, "oomsnoop: no memory cgroup of its own can be seen here: there is "
				"nothing to watch without rights\n");
		return EX_NOPERM;
	}
	if (!error)
		error = open_tables(watcher);
	if (error) {
		fprintf(stderr, "oomsnoop: cannot watch its own cgroup: %s\n", strerror(-error));
		return 1;
	}
	describe(watcher);
	if (store)
		watcher->keeper = keeper_open(store, &watcher->run, &status);
	if (status)
		return status;
	status = tell_end(watcher, watch(watcher));
	if (watcher->keeper)
		kept = close_keeper(watcher);
	return status ? status : kept;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

bool cgroup_live_serves(void)
{
	static struct cgroup_view view;

	return !cgroup_view_open(&view) &&
	       (view.quota.container || quota_tightest(&view.quota) >= 0);
}

int cgroup_live_run(const struct live_options *options, const struct host_facts *host,
	const struct keeper_options *store)
{
	struct watcher *watcher = calloc(1, sizeof(*watcher));
	int status;

	if (!watcher) {
		fprintf(stderr, "oomsnoop: %s\n", strerror(ENOMEM));
		return 1;
	}
	watcher->options = options;
	watcher->host = host;
	watcher->silent = options->silent;
	watcher->events_fd = watcher->signal_fd = watcher->epoll_fd = watcher->probe_fd = -1;
	status = run(watcher, store);
	close_fd(watcher->events_fd);
	close_fd(watcher->signal_fd);
	close_fd(watcher->probe_fd);
	close_fd(watcher->epoll_fd);
	selfwatch_free(watcher->watch);
	growth_free(watcher->growth);
	processes_free(watcher->names.processes);
	cgroups_free(watcher->names.cgroups);
	free(watcher);
	return status;
}
