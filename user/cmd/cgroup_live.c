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

#include "cmd/cgroup_look.h"
#include "cmd/cgroup_told.h"
#include "cmd/clock.h"
#include "cmd/filter.h"
#include "cmd/follower.h"
#include "cmd/output.h"
#include "cmd/stream.h"
#include "cmd/telling.h"
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
	struct telling telling;
	int events_fd;
	bool woken; /* the kernel said that a kill was counted */
	bool near;
	uint64_t kills_seen; /* out of the file that wakes us */
	uint64_t next_ns, stat_ns, ends_ns; /* CLOCK_BOOTTIME */
	uint64_t interval_ns, spent_ns, looks;
	uint32_t number;
	int look_error;
	struct growth_picture picture; /* of the open episode */
	struct incident incident;
	struct judgement judgement;
};

/* --- telling --- */

static void tell(struct watcher *watcher)
{
	const struct follower *follower = watcher->options->follower;
	struct incident *incident = &watcher->incident;
	struct capture_moment moment = {
		.wall_minus_boot_ns = wall_minus_boot_now_ns(),
		.coverage = watcher->coverage,
	};

	incident->number = ++watcher->number;
	incident->growth = watcher->picture;
	read_meminfo("", &incident->host);
	judge_incident(incident, watcher->host, &watcher->coverage, &watcher->judgement);
	if (telling_muted(&watcher->telling) ||
		!filter_passes(&watcher->options->filter, incident, &watcher->judgement))
		return;
	sink_context_of(&watcher->telling.sink, &watcher->run, &moment);
	if (follower && !follower->incident(follower->arg, &watcher->telling.sink, incident,
				&watcher->judgement))
		return;
	watcher->telling.totals.incidents++;
	watcher->telling.totals.kills++;
	watcher->telling.totals.victims += incident->self.kills;
	if (watcher->keeper)
		keeper_incident(watcher->keeper, incident, &watcher->judgement, &moment,
			watcher->growth, &watcher->names);
	telling_incident(&watcher->telling, incident, &watcher->judgement);
	if (telling_muted(&watcher->telling))
		telling_end(&watcher->telling, "max-events");
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

	if (watcher->options->no_recorder)
		return;
	host_pass(watcher, now_ns);
	selfwatch_feed(watcher->watch, watcher->growth);
	if (watcher->keeper)
		keeper_pass(watcher->keeper, watcher->growth, &watcher->names, now_ns);
	telling_clock(&watcher->telling);
	stream_pass(&watcher->stream, watcher->growth, now_ns);
}

static void look(struct watcher *watcher)
{
	uint64_t began = clock_now_ns(CLOCK_THREAD_CPUTIME_ID), now;
	bool was_open = selfwatch_open(watcher->watch);
	uint32_t kills;
	int error;

	error = cgroup_view_look(&watcher->view, watcher->watch,
		was_open || watcher->woken || watcher->near, &kills);
	now = boot_now_ns();
	watcher->woken = false;
	watcher->looks++;
	if (error) {
		watcher->look_error = error;
		telling_end(&watcher->telling, "failed");
		return;
	}
	if (kills && !was_open)
		take_picture(watcher);
	pass_on(watcher, now);
	look_at_stat(watcher, now);
	watcher->spent_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - began;
	watcher->telling.totals.pass_ns += watcher->spent_ns;
	set_pace(watcher);
	watcher->next_ns = now + watcher->interval_ns;
}

static void tell_what_is_over(struct watcher *watcher, bool now)
{
	if (selfwatch_take(watcher->watch, boot_now_ns(), now, &watcher->incident))
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

static int open_loop(struct watcher *watcher)
{
	int error = telling_open(&watcher->telling);

	open_events(watcher);
	if (!error && watcher->events_fd >= 0)
		error = telling_watch(&watcher->telling, watcher->events_fd, EPOLLPRI);
	return error;
}

static int wait_ms(const struct watcher *watcher)
{
	uint64_t now = boot_now_ns(), until = watcher->next_ns;

	if (watcher->ends_ns < until)
		until = watcher->ends_ns;
	return until <= now ? 0 : (int)((until - now) / MS_NS) + 1;
}

static void take_events(struct watcher *watcher, const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++) {
		telling_event(&watcher->telling, &events[i]);
		if (events[i].data.fd == watcher->events_fd)
			read_events(watcher);
		if (events[i].data.fd == watcher->telling.probe_fd)
			telling_probe(&watcher->telling, watcher->telling.totals.lost_events);
	}
}

static int follow(struct watcher *watcher)
{
	struct epoll_event events[4];

	while (!watcher->telling.ended && !watcher->telling.output_error) {
		int count = epoll_wait(watcher->telling.epoll_fd, events, 4, wait_ms(watcher));

		if (count < 0 && errno != EINTR)
			return -errno;
		take_events(watcher, events, count);
		if (watcher->telling.left)
			telling_end(&watcher->telling, "command-ended");
		/* A kill right before a signal is told, too. */
		if (boot_now_ns() >= watcher->next_ns || watcher->telling.ended)
			look(watcher);
		tell_what_is_over(watcher, watcher->telling.ended);
		if (boot_now_ns() >= watcher->ends_ns)
			telling_end(&watcher->telling, "timeout");
	}
	tell_what_is_over(watcher, true);
	return watcher->look_error;
}

/* --- the run --- */

static int stream_write(const char *data, size_t len, void *arg)
{
	struct watcher *watcher = arg;

	return telling_print(&watcher->telling, data, len);
}

static void describe(struct watcher *watcher)
{
	struct capture_run *run = &watcher->run;

	*run = (struct capture_run) {.host = *watcher->host,
		.began_ns = (int64_t)clock_now_ns(CLOCK_REALTIME),
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
	sink_context_of(&watcher->telling.sink, run, NULL);
	watcher->telling.sink.color =
		!watcher->options->json && output_color(watcher->options->color);
	watcher->telling.sink.width = output_width();
	watcher->stream = (struct stream) {.options = watcher->options,
		.sink = &watcher->telling.sink,
		.cgroups = watcher->names.cgroups,
		.write = stream_write,
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

static void count_growth(struct watcher *watcher)
{
	watcher->telling.totals.recorded = true;
	watcher->telling.totals.growth = growth_totals(watcher->growth);
}

static int tell_end(struct watcher *watcher, int error)
{
	const struct selfwatch_totals totals = selfwatch_totals(watcher->watch);

	if (watcher->looks)
		watcher->telling.totals.pass_ns /= watcher->looks;
	count_growth(watcher);
	telling_stop(&watcher->telling, error ? "failed" : watcher->telling.totals.reason);
	if (error)
		fprintf(stderr, "oomsnoop: its cgroup cannot be read any more: %s\n",
			strerror(-error));
	if (totals.no_room || totals.cgroups_no_room)
		fprintf(stderr,
			"oomsnoop: the tables were full: processes were passed over %llu times, cgroups %llu "
			"times\n",
			(unsigned long long)totals.no_room,
			(unsigned long long)totals.cgroups_no_room);
	if (!watcher->telling.output_error)
		telling_remark(&watcher->telling, "%llu incidents, %llu processes killed",
			(unsigned long long)watcher->telling.totals.incidents,
			(unsigned long long)watcher->telling.totals.victims);
	return error ? 1 : telling_status(&watcher->telling);
}

static int close_keeper(struct watcher *watcher)
{
	struct keeper_totals totals;

	keeper_close(watcher->keeper,
		watcher->telling.totals.reason ? watcher->telling.totals.reason : "failed",
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
		if (watcher->options->follower)
			watcher->options->follower->ready(
				watcher->options->follower->arg, &watcher->telling.sink);
		telling_start(&watcher->telling);
		telling_remark(&watcher->telling, "watching for OOM kills; Ctrl-C ends");
	}
	watcher->ends_ns = watcher->options->timeout_ns
				   ? boot_now_ns() + watcher->options->timeout_ns
				   : UINT64_MAX;
	return follow(watcher);
}

static int run(struct watcher *watcher, const struct keeper_options *store)
{
	int error = cgroup_view_open(&watcher->view);
	int status = telling_open_probe(&watcher->telling), kept = 0;

	if (status)
		return status;
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
	watcher->events_fd = -1;
	telling_init(&watcher->telling, options);
	watcher->telling.outlived = store;
	status = run(watcher, store);
	if (watcher->events_fd >= 0)
		close(watcher->events_fd);
	telling_close(&watcher->telling);
	selfwatch_free(watcher->watch);
	growth_free(watcher->growth);
	processes_free(watcher->names.processes);
	cgroups_free(watcher->names.cgroups);
	free(watcher);
	return status;
}
