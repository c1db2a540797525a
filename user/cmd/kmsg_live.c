// SPDX-License-Identifier: Apache-2.0
#include "cmd/kmsg_live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "cmd/clock.h"
#include "cmd/filter.h"
#include "cmd/output.h"
#include "cmd/telling.h"
#include "facts/rights.h"
#include "judge/whose.h"
#include "model/containers.h"
#include "model/imported.h"
#include "model/klog_report.h"
#include "sink/sink.h"
#include "source/klog_stream.h"
#include "source/kmsg.h"

#define MS_NS 1000000ULL
#define CONTAINERS 256 /* looked for when one of theirs was killed */
/* The lines of a report follow each other at once; a group's deaths, too. */
#define QUIET_NS (150 * MS_NS)
/* One whose end does not come: the kernel's console may be slow. */
#define CUT_NS (10000 * MS_NS)

struct follower {
	const struct live_options *options;
	const struct host_facts *host;
	struct telling telling;
	struct klog_stream *stream;
	struct klog_reports *reports;
	struct importer *importer;
	struct containers *containers;
	struct names_reader *reader;
	int kmsg_fd;
	uint64_t ends_ns; /* CLOCK_BOOTTIME, as all of these; UINT64_MAX: no end */
	uint64_t last_ns; /* when the last line of a report was read */
	bool stamped; /* ahead_ns is known */
	int64_t ahead_ns; /* CLOCK_MONOTONIC less the log's clock, the least that was seen */
	uint64_t lines, lost_told;
	struct kmsg_record record;
	struct incident incident;
	struct host_facts log_host;
	struct judgement judgement;
};

/* --- telling --- */

/* The log's clock stands still in a suspend and is set by nobody. */
static void date_incident(const struct follower *follower, struct incident_log *log)
{
	int64_t age;

	if (!log->has_mono || !follower->stamped)
		return;
	age = (int64_t)clock_now_ns(CLOCK_MONOTONIC) - follower->ahead_ns - (int64_t)log->mono_ns;
	log->has_time = true;
	log->zone_assumed = false;
	log->wall_ns = (int64_t)clock_now_ns(CLOCK_REALTIME) - age;
}

/* Nothing tells of cgroups that come and go: what is still there when the report has come. */
static void take_names(struct follower *follower)
{
	struct incident *incident = &follower->incident;
	const struct container_names *names = containers_of(follower->containers, follower->reader,
		whose_place(incident, incident->log.limit_level), clock_now_ns(CLOCK_BOOTTIME));

	if (names)
		incident->names = *names;
}

static void tell(void *arg, const struct klog_report *report)
{
	static const struct coverage nothing_traced;
	struct follower *follower = arg;
	struct incident *incident = &follower->incident;

	if (telling_muted(&follower->telling) ||
		!importer_incident(follower->importer, report, incident, &follower->log_host))
		return;
	incident->number = (uint32_t)report->sequence;
	incident->log.followed = true;
	date_incident(follower, &incident->log);
	take_names(follower);
	judge_incident(incident, follower->host, &nothing_traced, &follower->judgement);
	if (!filter_passes(&follower->options->filter, incident, &follower->judgement))
		return;
	follower->telling.totals.incidents++;
	follower->telling.totals.kills += incident->outcome == OUTCOME_KILLED;
	follower->telling.totals.victims += incident->victim_count + incident->victims_dropped;
	telling_incident(&follower->telling, incident, &follower->judgement);
	if (telling_muted(&follower->telling))
		telling_end(&follower->telling, "max-events");
}

/* --- reading --- */

static void take_line(void *arg, const struct klog_record *record)
{
	struct follower *follower = arg;

	follower->last_ns = clock_now_ns(CLOCK_BOOTTIME);
	klog_reports_record(follower->reports, record);
}

static void take_stamp(struct follower *follower)
{
	int64_t ahead =
		(int64_t)clock_now_ns(CLOCK_MONOTONIC) - (int64_t)follower->record.time_us * 1000;

	if (!follower->stamped || ahead < follower->ahead_ns)
		follower->ahead_ns = ahead;
	follower->stamped = true;
}

static void tell_lost(struct follower *follower)
{
	uint64_t lost = follower->telling.totals.kmsg_lost - follower->lost_told;

	if (!lost)
		return;
	fprintf(stderr,
		"oomsnoop: %llu records of the kernel log were overwritten before they could be read: "
		"kills may be missing, or told in part\n",
		(unsigned long long)lost);
	follower->lost_told = follower->telling.totals.kmsg_lost;
}

/* When what is open has come to its end; UINT64_MAX: nothing is open. */
static uint64_t deadline(const struct follower *follower)
{
	if (klog_reports_idle(follower->reports))
		return UINT64_MAX;
	return follower->last_ns + (klog_reports_settled(follower->reports) ? QUIET_NS : CUT_NS);
}

/* 0 or -errno. */
static int drain(struct follower *follower)
{
	struct kmsg_record *record = &follower->record;
	int more = 0;

	while (!follower->telling.ended && (more = kmsg_next(follower->kmsg_fd, record,
						    &follower->telling.totals.kmsg_lost)) > 0) {
		take_stamp(follower);
		klog_reports_at(follower->reports, ++follower->lines);
		klog_stream_line(follower->stream, record->text, record->len);
	}
	klog_stream_end(follower->stream);
	tell_lost(follower);
	if (clock_now_ns(CLOCK_BOOTTIME) >= deadline(follower))
		klog_reports_end(follower->reports);
	return more < 0 ? more : 0;
}

/* --- the loop --- */

static int open_loop(struct follower *follower)
{
	int error = telling_open(&follower->telling);

	return error ? error : telling_watch(&follower->telling, follower->kmsg_fd, EPOLLIN);
}

static int wait_ms(const struct follower *follower)
{
	uint64_t now = clock_now_ns(CLOCK_BOOTTIME), until = deadline(follower);

	if (follower->ends_ns < until)
		until = follower->ends_ns;
	if (until == UINT64_MAX)
		return -1;
	if (until <= now)
		return 0;
	return until - now < 1000 * MS_NS ? (int)((until - now) / MS_NS) + 1 : 1000;
}

static void take_events(struct follower *follower, const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++) {
		telling_event(&follower->telling, &events[i]);
		if (events[i].data.fd == follower->telling.probe_fd)
			telling_probe(&follower->telling, follower->telling.totals.lost_events);
	}
}

static int follow(struct follower *follower)
{
	struct epoll_event events[4];
	int error = 0;

	while (!follower->telling.ended && !follower->telling.output_error && !error) {
		int count = epoll_wait(follower->telling.epoll_fd, events, 4, wait_ms(follower));

		if (count < 0 && errno != EINTR)
			return -errno;
		error = drain(follower);
		take_events(follower, events, count);
		if (clock_now_ns(CLOCK_BOOTTIME) >= follower->ends_ns)
			telling_end(&follower->telling, "timeout");
	}
	klog_reports_end(follower->reports);
	return error;
}

/* --- the run --- */

static int open_tables(struct follower *follower)
{
	follower->stream = klog_stream_new(NULL, take_line, follower);
	follower->reports = klog_reports_new(tell, follower);
	follower->importer = importer_new(NULL);
	follower->containers = containers_new(CONTAINERS);
	if (!follower->stream || !follower->reports || !follower->importer ||
		!follower->containers ||
		names_reader_new(follower->options->host_root, &follower->reader) ||
		klog_reports_bound(follower->reports, KLOG_ROWS_MAX))
		return -ENOMEM;
	importer_page_size(follower->importer, follower->host->page_size);
	return open_loop(follower);
}

static void tell_ready(struct follower *follower)
{
	const struct live_options *options = follower->options;

	telling_start(&follower->telling);
	if (options->growth || options->warn_count)
		fprintf(stderr, "oomsnoop: --growth and --warn tell nothing: no history is kept\n");
	if (options->filter.cgroup)
		telling_remark(&follower->telling,
			"a kill without a report names no cgroup: --cgroup leaves it out");
	telling_remark(&follower->telling, "watching for OOM kills; Ctrl-C ends");
}

static void protect(void)
{
	struct rights_protection protection;

	tzset();
	rights_protect("", &protection);
	rights_drop(0);
}

static int tell_end(struct follower *follower, int error)
{
	const struct run_totals *totals = &follower->telling.totals;

	telling_stop(&follower->telling, error ? "failed" : totals->reason);
	if (error)
		fprintf(stderr, "oomsnoop: the kernel log cannot be read any more: %s\n",
			strerror(-error));
	if (!follower->telling.output_error)
		telling_remark(&follower->telling, "%llu incidents, %llu processes killed",
			(unsigned long long)totals->incidents, (unsigned long long)totals->victims);
	return error ? EX_IOERR : telling_status(&follower->telling);
}

static int run(struct follower *follower)
{
	const struct live_options *options = follower->options;
	int status = telling_open_probe(&follower->telling), error;

	if (status)
		return status;
	error = open_tables(follower);
	if (error) {
		fprintf(stderr, "oomsnoop: cannot follow the kernel log: %s\n", strerror(-error));
		return 1;
	}
	protect();
	tell_ready(follower);
	follower->ends_ns = options->timeout_ns ? clock_now_ns(CLOCK_BOOTTIME) + options->timeout_ns
						: UINT64_MAX;
	return tell_end(follower, follow(follower));
}

int kmsg_live_run(const struct live_options *options, const struct host_facts *host, int kmsg_fd)
{
	struct follower *follower = calloc(1, sizeof(*follower));
	int status = 1;

	fprintf(stderr,
		"oomsnoop: follows the kernel log alone: no history, no command lines, no candidates but "
		"those of the kernel's own table, nothing of what comes after a kill; a kill whose report "
		"the kernel leaves out is told by its one line\n");
	if (follower) {
		follower->options = options;
		follower->host = host;
		follower->kmsg_fd = kmsg_fd;
		telling_init(&follower->telling, options);
		follower->telling.sink = (struct sink_context) {.host = host,
			.tier = "kernel-log",
			.color = !options->json && output_color(options->color),
			.width = output_width()};
		status = run(follower);
		telling_close(&follower->telling);
		klog_stream_free(follower->stream);
		klog_reports_free(follower->reports);
		importer_free(follower->importer);
		containers_free(follower->containers);
		names_reader_free(follower->reader);
	} else {
		fprintf(stderr, "oomsnoop: %s\n", strerror(ENOMEM));
	}
	free(follower);
	close(kmsg_fd);
	return status;
}
