// SPDX-License-Identifier: Apache-2.0
/* live.c: opens what the live trace needs, in an order that misses nothing, and tells what cannot
 * be had. */
#include "cmd/live.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cgroup_live.h"
#include "cmd/clock.h"
#include "cmd/fit.h"
#include "cmd/follower.h"
#include "cmd/kmsg_live.h"
#include "cmd/output.h"
#include "cmd/remarks.h"
#include "cmd/watch.h"
#include "cmd/watch_kills.h"
#include "cmd/watch_refusals.h"
#include "facts/kernel.h"
#include "facts/rights.h"

/* How long the end waits for a disk that does not take what is queued. */
#define KEEPER_GRACE_NS 10000000000ULL

int live_rights(void)
{
	const char *missing[RIGHTS_MISSING_MAX];
	struct rights rights;
	size_t count;

	rights_raise(); /* what it does not get is named below */
	if (read_rights("", &rights))
		return 0; /* no /proc: the kernel will say it */
	count = rights_check(&rights, missing);
	if (count) {
		fprintf(stderr, "oomsnoop: not permitted: needs %s%s%s; run it with sudo\n",
			missing[0], count > 1 ? " and " : "", count > 1 ? missing[1] : "");
		return EX_NOPERM;
	}
	return 0;
}

static int check_kernel(const struct host_facts *host)
{
	int major, minor;

	if (!parse_release(host->kernel, &major, &minor) && !kernel_new_enough(major, minor)) {
		fprintf(stderr,
			"oomsnoop: this kernel (%s) is too old: 5.8 or newer is needed (BPF ring buffer)\n",
			host->kernel);
		return EX_UNAVAILABLE;
	}
	return 0;
}

static void tell_refused_hooks(const struct hooks *hooks)
{
	char label[96];

	for (int i = 0; i < HOOK_COUNT; i++)
		for (size_t j = 0; j < hook_alternatives(&hook_table[i]); j++)
			if (hooks->states[i].why[j][0])
				fprintf(stderr, "oomsnoop:   %s: %s: %s\n", hook_table[i].name,
					hook_label(&hook_table[i].alternatives[j], label,
						sizeof(label)),
					hooks->states[i].why[j]);
}

static int open_failed(const struct watch *watch, int error)
{
	switch (error) {
	case -ENOENT:
		fprintf(stderr,
			"oomsnoop: this kernel tells no types (/sys/kernel/btf/vmlinux is missing): it must be "
			"built with CONFIG_DEBUG_INFO_BTF=y\n");
		return EX_UNAVAILABLE;
	case -EPERM:
	case -EACCES:
		fprintf(stderr,
			"oomsnoop: the kernel does not permit loading BPF programs (CAP_BPF and CAP_PERFMON in "
			"the host's user namespace, no lockdown; before 5.11 also CAP_SYS_RESOURCE)\n");
		fputs(tracer_log(), stderr);
		return EX_NOPERM;
	case -EOPNOTSUPP:
		fprintf(stderr, "oomsnoop: no hook that this kernel takes shows OOM victims:\n");
		tell_refused_hooks(&watch->hooks);
		return EX_UNAVAILABLE;
	default:
		fprintf(stderr, "oomsnoop: cannot load the BPF programs: %s\n", strerror(-error));
		fputs(tracer_log(), stderr);
		return 1;
	}
}

static int64_t weigh(const struct task_facts *task, uint64_t totalpages, uint32_t page_size)
{
	return badness_of(task, RSS_APPROX, totalpages, page_size).points;
}

static int open_tracer(struct watch *watch)
{
	struct tracer_options options = {
		.host = &watch->host,
		.ring_bytes = watch->sizes.ring_bytes,
		.without = watch->options->without,
		.fault_period = watch->options->fault_period,
		.no_kills = watch->options->kills == KILLS_OFF,
		.no_refusals = watch->options->refused == REFUSED_OFF,
		.every_call = watch->options->refused == REFUSED_ON,
		.no_faults = watch->options->faults == FAULTS_NEVER,
	};
	int error;

	tracer_verbose(watch->options->verbose);
	error = tracer_open(&options, &watch->hooks, &watch->tracer);
	if (error)
		return open_failed(watch, error);
	if (watch->options->verbose)
		tell_refused_hooks(&watch->hooks);
	return 0;
}

/* What a tie between the recorder and its sinks needs is made here: neither knows the other. */
static int stream_write(const char *data, size_t len, void *arg)
{
	struct watch *watch = arg;

	return telling_print(&watch->telling, data, len);
}

static int open_recorder(struct watch *watch)
{
	int error = recorder_open(&watch->recorder, watch->options, &watch->host, &watch->hooks,
		watch->tracer, &watch->names, &watch->sizes);

	if (error) {
		fprintf(stderr, "oomsnoop: no memory for the history: %s\n", strerror(-error));
		return 1;
	}
	watch->stream = (struct stream) {
		.options = watch->options,
		.sink = &watch->telling.sink,
		.cgroups = watch->names.cgroups,
		.containers = watch->names.containers,
		.write = stream_write,
		.arg = watch,
	};
	watch->stalling.stall_ns = watch->options->stall_ns;
	if (watch->recorder.source == RECORDER_PROC)
		telling_remark(&watch->telling,
			"this kernel has no task iterator: the history is read from /proc, at a higher cost");
	return 0;
}

static int open_incidents(struct watch *watch)
{
	struct incidents_options options = {
		.host = &watch->host,
		.scope_hook = hook_served(&watch->hooks, HOOK_SCOPE),
		.exit_hook = hook_served(&watch->hooks, HOOK_EXIT),
		.freed_hook = hook_served(&watch->hooks, HOOK_FREED),
		.kmsg = watch->kmsg_fd >= 0,
		.signal_hook = hook_served(&watch->hooks, HOOK_SHARED),
		.pool = watch->sizes.incidents,
		.settle_ns = watch->options->settle_ns,
		.weight = weigh,
	};

	if (options.kmsg)
		watch->joiner = joiner_new(options.host->page_size, watch_report, watch);
	watch->incidents = incidents_new(&options, watch->names.processes, watch->names.cgroups);
	if (!watch->incidents || (options.kmsg && !watch->joiner)) {
		fprintf(stderr, "oomsnoop: no memory for the tables: %s\n", strerror(errno));
		return 1;
	}
	return 0;
}

/* From here on the tool must outlive what it watches, with no more rights than it still needs. */
static void protect(struct watch *watch)
{
	uint64_t keep =
		RIGHT(CAP_SYS_PTRACE) | RIGHT(CAP_DAC_READ_SEARCH); /* /proc/PID/exe of others */
	struct rights_protection protection;
	struct rights rights;
	int error, rights_error = read_rights("", &rights);

	tzset(); /* reads the zone's file now, not with the first record */
	malloc_trim(0);
	rights_protect("", &protection);
	if (!watch->options->quiet)
		remarks_tell(&(struct remarks_of) {
			.rights = rights_error ? NULL : &rights,
			.protection = &protection,
			.kmsg_error = watch->kmsg_fd < 0 ? watch->kmsg_fd : 0,
			.host_pids = watch->names.host_proc,
		});
	/* Each census and each pass opens its iterator anew, which the kernel allows to CAP_BPF
	 * alone; counting page faults begins while running. */
	if (watch->recorder.source == RECORDER_ITERATOR ||
		(watch->coverage.census && !watch->coverage.candidates_hook))
		keep |= RIGHT(CAP_BPF);
	if (watch->recorder.can_arm)
		keep |= RIGHT(CAP_BPF) | RIGHT(CAP_PERFMON);
	error = rights_drop(keep);
	if (error)
		telling_remark(&watch->telling, "cannot give up its rights (%s)", strerror(-error));
}

static void tell_ready(struct watch *watch)
{
	if (watch->options->follower)
		watch->options->follower->ready(
			watch->options->follower->arg, &watch->telling.sink);
	telling_start(&watch->telling);
	if (!watch->coverage.full_tier)
		telling_remark(&watch->telling,
			"this kernel allows tracepoints only: limits are read from page counters, "
			"candidates from a census (see `oomsnoop doctor`)");
	telling_remark(&watch->telling, "watching for OOM kills; Ctrl-C ends");
}

static int open_store(struct watch *watch, const struct keeper_options *store)
{
	struct keeper_options sized = *store;
	int status = 0;

	sized.queue_bytes = watch->sizes.queue_bytes;
	watch->keeper = keeper_open(&sized, &watch->run, &status);
	return status;
}

static int open_watch(struct watch *watch, const struct keeper_options *store)
{
	int status, error;

	watch->kmsg_fd = kmsg_open("/dev/kmsg");
	status = telling_open_probe(&watch->telling);
	if (!status)
		status = open_incidents(watch);
	if (!status)
		status = open_recorder(watch);
	if (!status && (watch_kills_open(watch) || watch_refusals_open(watch))) {
		fprintf(stderr, "oomsnoop: no memory for the tables: %s\n", strerror(errno));
		status = 1;
	}
	if (status)
		return status;
	watch_describe(watch);
	error = watch_open(watch);
	if (error) {
		fprintf(stderr, "oomsnoop: cannot set up its event loop: %s\n", strerror(-error));
		return 1;
	}
	return store ? open_store(watch, store) : 0;
}

static int watch_opened(struct watch *watch)
{
	int error;

	/* The hooks are attached: whatever starts while /proc is read is told by them. */
	names_learn_all(&watch->names, boot_now_ns());
	watch_drain(watch);
	protect(watch);
	error = watch->keeper ? keeper_start(watch->keeper) : 0;
	if (error) {
		fprintf(stderr, "oomsnoop: cannot start the thread that writes: %s\n",
			strerror(-error));
		return 1;
	}
	tell_ready(watch);
	watch->ends_ns = watch->options->timeout_ns ? boot_now_ns() + watch->options->timeout_ns
						    : UINT64_MAX;
	error = watch_run(watch);
	watch_finish(watch);
	if (error) {
		fprintf(stderr, "oomsnoop: waiting for events: %s\n", strerror(-error));
		return 1;
	}
	return 0;
}

static void tell_end(const struct watch *watch)
{
	const struct run_totals *totals = &watch->telling.totals;

	if (totals->lost_events || totals->lost_candidates || totals->bad_records)
		fprintf(stderr,
			"oomsnoop: lost: %llu records of incidents, %llu candidates; %llu unreadable\n",
			(unsigned long long)totals->lost_events,
			(unsigned long long)totals->lost_candidates,
			(unsigned long long)totals->bad_records);
	if (totals->passes_failed)
		fprintf(stderr,
			"oomsnoop: %llu looks at all processes failed: the history has gaps\n",
			(unsigned long long)totals->passes_failed);
	if (totals->missed_hooks)
		telling_remark(&watch->telling, "the kernel passed over a hook %llu times",
			(unsigned long long)totals->missed_hooks);
	if (totals->lost_process_events)
		telling_remark(&watch->telling,
			"%llu names of processes or cgroups were left out under load",
			(unsigned long long)totals->lost_process_events);
	if (totals->lost_signals)
		telling_remark(&watch->telling,
			"%llu signals that kill came too fast to be told one by one",
			(unsigned long long)totals->lost_signals);
	if (totals->lost_refusals)
		telling_remark(&watch->telling, "%llu refused calls came too fast to be told",
			(unsigned long long)totals->lost_refusals);
	if (totals->refusals)
		telling_remark(&watch->telling,
			"%llu times memory or a process was asked for and not given",
			(unsigned long long)totals->refusals);
	if (totals->other_kills)
		telling_remark(&watch->telling, "%llu kills that were not the OOM killer's",
			(unsigned long long)totals->other_kills);
	telling_remark(&watch->telling, "%llu incidents, %llu processes killed",
		(unsigned long long)totals->incidents, (unsigned long long)totals->victims);
}

/* Waits for the store; 0 or the exit status. */
static int close_keeper(struct watch *watch)
{
	struct keeper_totals totals;

	keeper_close(watch->keeper,
		watch->telling.totals.reason ? watch->telling.totals.reason : "failed",
		KEEPER_GRACE_NS, &totals);
	watch->keeper = NULL;
	telling_remark(&watch->telling, "stored %llu incidents; the file has %llu KiB",
		(unsigned long long)totals.incidents, (unsigned long long)totals.bytes >> 10);
	if (totals.kills_lost)
		fprintf(stderr,
			"oomsnoop: record: not stored, and lost: %llu kills that were not the OOM "
			"killer's\n",
			(unsigned long long)totals.kills_lost);
	if (totals.refusals_lost)
		fprintf(stderr, "oomsnoop: record: not stored, and lost: %llu refusals\n",
			(unsigned long long)totals.refusals_lost);
	if (totals.incidents_lost || totals.points_lost)
		fprintf(stderr,
			"oomsnoop: record: not stored, and lost: %llu incidents, %llu points of series\n",
			(unsigned long long)totals.incidents_lost,
			(unsigned long long)totals.points_lost);
	if (totals.error)
		fprintf(stderr, "oomsnoop: record: the store could not be finished: %s\n",
			strerror(-totals.error));
	return totals.error || totals.incidents_lost ? EX_IOERR : 0;
}

static int run(struct watch *watch, const struct keeper_options *store)
{
	int status = open_tracer(watch), kept = 0;

	if (!status)
		status = open_watch(watch, store);
	if (!status)
		status = watch_opened(watch);
	if (watch->keeper)
		kept = close_keeper(watch);
	if (status)
		return status;
	if (!watch->telling.output_error)
		tell_end(watch);
	status = telling_status(&watch->telling);
	return status ? status : kept;
}

static int check_output(const struct live_options *options)
{
	int error = options->silent ? 0 : output_check();

	if (!error)
		return 0;
	fprintf(stderr, "oomsnoop: stdout cannot be written to: %s\n", strerror(-error));
	return EX_IOERR;
}

/* Whoever starts it may have closed some of them: no file of ours may get the number of one, to be
 * written to as if it were standard error. */
static int hold_standard_files(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return -errno;
	return 0;
}

/*
 * No BPF here; what the kernel prints may be readable all the same, and if not, the files of the
 * own cgroup are. Without those, or where a store is to be filled and nothing else was asked for,
 * `status` stands.
 */
static int fall_back(const struct live_options *options, const struct host_facts *host,
	const struct keeper_options *store, int status)
{
	bool no_log = store || options->follower || options->source == SOURCE_BPF;
	int fd = no_log ? -1 : kmsg_open("/dev/kmsg");

	if (fd >= 0)
		return kmsg_live_run(options, host, fd);
	if (store || options->source == SOURCE_BPF || !cgroup_live_serves())
		return status;
	return cgroup_live_run(options, host, NULL);
}

/* Asked for by name: nothing else will do. */
static int run_source(const struct live_options *options, const struct host_facts *host,
	const struct keeper_options *store)
{
	int fd;

	if (options->source == SOURCE_CGROUP)
		return cgroup_live_run(options, host, store);
	if (store) {
		fprintf(stderr, "oomsnoop: record: no store is filled from the kernel log alone\n");
		return EX_USAGE;
	}
	fd = kmsg_open("/dev/kmsg");
	if (fd >= 0)
		return kmsg_live_run(options, host, fd);
	fprintf(stderr, "oomsnoop: /dev/kmsg cannot be read: %s (CAP_SYSLOG)\n", strerror(-fd));
	return EX_NOPERM;
}

static int size_tables(struct watch *watch, const struct keeper_options *store)
{
	struct need_options asked;

	fit_options(watch->options, store, store ? store->queue_bytes : 0, &asked);
	return fit_tables(watch->options, &asked, &watch->sizes);
}

int live_run(struct live_options *options, const struct keeper_options *store)
{
	static struct watch watch;
	int status, error;
	bool refused;

	options->no_recorder = hook_listed(options->without, hook_table[HOOK_RECORDER].name);
	signal(SIGPIPE, SIG_IGN);
	watch = (struct watch) {.options = options, .kmsg_fd = -ENOENT, .timer_fd = -1};
	telling_init(&watch.telling, options);
	watch.telling.outlived = store;
	status = check_output(options);
	if (status)
		return status;
	error = hold_standard_files();
	if (!error)
		error = read_host("", &watch.host);
	if (!error && (options->source == SOURCE_CGROUP || options->source == SOURCE_KMSG))
		return run_source(options, &watch.host, store);
	status = live_rights();
	if (!error && status)
		return fall_back(options, &watch.host, store, status);
	if (!error)
		status = size_tables(&watch, store);
	if (status)
		return status;
	if (!error)
		error = names_open(&watch.names, options->host_root, watch.sizes.processes,
			watch.sizes.cgroups);
	if (error) {
		fprintf(stderr, "oomsnoop: cannot learn about this machine: %s\n",
			strerror(-error));
		return 1;
	}
	status = check_kernel(&watch.host);
	if (!status)
		status = run(&watch, store);
	watch_close(&watch);
	recorder_close(&watch.recorder);
	incidents_free(watch.incidents);
	killings_free(watch.killings);
	refusals_free(watch.refusals);
	joiner_free(watch.joiner);
	refused = status == EX_NOPERM && !watch.tracer;
	tracer_close(watch.tracer);
	names_close(&watch.names);
	return refused ? fall_back(options, &watch.host, store, status) : status;
}

int cmd_live(int argc, char **argv)
{
	struct live_options options;
	int status = options_parse(argc, argv, &options);

	return status ? status : live_run(&options, NULL);
}
