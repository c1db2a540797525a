// SPDX-License-Identifier: Apache-2.0
#include "cmd/keeper.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/clock.h"
#include "cmd/keeper_parts.h"
#include "source/db.h"

#define QUEUE_BYTES (16U << 20)
#define DB_BYTES (8U << 20)
#define STACK_BYTES (512U << 10)
#define GUARD_BYTES (64U << 10)
#define THINNED_NS (10 * KEEPER_SECOND_NS)
#define THINNED_BYTES (1U << 20)
/* Windows are told anew at most so often after points were lost: the disk is slow already then. */
#define AGAIN_NS (10 * KEEPER_SECOND_NS)
#define WINDOW_NS (600 * KEEPER_SECOND_NS) /* where the run tells of no history */
/* Beyond the grace: for the call that is on its way. */
#define JOIN_NS (2 * KEEPER_SECOND_NS)

void keeper_gap_add(
	struct store_gap *gap, uint64_t incidents, uint64_t points, int64_t from_ns, int64_t to_ns)
{
	if (!gap->incidents && !gap->points) {
		gap->from_ns = from_ns;
		gap->to_ns = to_ns;
	}
	gap->incidents += incidents;
	gap->points += points;
	if (from_ns < gap->from_ns)
		gap->from_ns = from_ns;
	if (to_ns > gap->to_ns)
		gap->to_ns = to_ns;
}

/* --- opening --- */

static int status_of(int error)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		return EX_NOPERM;
	case -EBADMSG:
	case -EPROTO:
		return EX_DATAERR;
	case -EBUSY:
	case -ENOMEM:
		return 1;
	default:
		return EX_IOERR;
	}
}

static int open_failed(const struct keeper *keeper, int error)
{
	if (error == -EBUSY)
		fprintf(stderr, "oomsnoop: record: another recorder writes to %s\n", keeper->shown);
	else
		fprintf(stderr, "oomsnoop: record: cannot write to %s: %s\n", keeper->shown,
			keeper_why(keeper));
	return status_of(error);
}

static void *take_memory(size_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void give_back(struct keeper *keeper)
{
	if (keeper->memory)
		munmap(keeper->memory, keeper->memory_bytes);
	if (keeper->stack)
		munmap(keeper->stack, GUARD_BYTES + STACK_BYTES);
	if (keeper->wake_fd >= 0)
		close(keeper->wake_fd);
	munmap(keeper, sizeof(*keeper));
}

static size_t queue_size(uint64_t wanted)
{
	size_t bytes = QUEUE_MIN_BYTES;

	while (bytes < (wanted ? wanted : QUEUE_BYTES))
		bytes *= 2;
	return bytes;
}

static struct keeper *keeper_new(const struct keeper_options *options)
{
	struct keeper *keeper = take_memory(sizeof(*keeper));

	if (!keeper)
		return NULL;
	keeper->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	keeper->memory_bytes = queue_size(options->queue_bytes);
	keeper->memory = take_memory(keeper->memory_bytes);
	keeper->stack = take_memory(GUARD_BYTES + STACK_BYTES);
	if (keeper->wake_fd < 0 || !keeper->memory || !keeper->stack ||
		mprotect(keeper->stack, GUARD_BYTES, PROT_NONE)) {
		give_back(keeper);
		return NULL;
	}
	queue_init(&keeper->queue, keeper->memory, keeper->memory_bytes);
	return keeper;
}

static void keeper_fill(
	struct keeper *keeper, const struct keeper_options *options, const struct capture_run *run)
{
	struct buf shown;

	snprintf(keeper->path, sizeof(keeper->path), "%s", options->path);
	buf_init(&shown, keeper->shown, sizeof(keeper->shown));
	text_terminal(&shown, keeper->path, strlen(keeper->path), 0);
	keeper->limits = options->limits;
	keeper->series_all = options->series_all;
	keeper->quiet = options->quiet;
	keeper->window_ns = run->recorder_history_ns ? run->recorder_history_ns : WINDOW_NS;
	keeper->run = *run;
	keeper->run.id = 0;
}

struct keeper *keeper_open(
	const struct keeper_options *options, const struct capture_run *run, int *ret_status)
{
	struct keeper *keeper;
	int error;

	if (strlen(options->path) >= PATH_MAX) {
		fprintf(stderr, "oomsnoop: record: the path of the file is too long\n");
		*ret_status = EX_IOERR;
		return NULL;
	}
	/* One arena: another one for the thread would be 64 MiB of address space, locked as it is
	 * used. Where the file may not grow further, write() is to say so. */
	mallopt(M_ARENA_MAX, 1);
	signal(SIGXFSZ, SIG_IGN);
	error = db_memory(DB_BYTES);
	keeper = error && error != -EALREADY ? NULL : keeper_new(options);
	if (!keeper) {
		fprintf(stderr, "oomsnoop: record: no memory for the queue: %s\n",
			strerror(error ? -error : errno));
		*ret_status = 1;
		return NULL;
	}
	keeper_fill(keeper, options, run);
	error = keeper_ensure(keeper);
	if (error) {
		*ret_status = open_failed(keeper, error);
		if (keeper->writer)
			store_writer_close(keeper->writer);
		give_back(keeper);
		return NULL;
	}
	return keeper;
}

int keeper_start(struct keeper *keeper)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int error = pthread_attr_init(&attributes);

	if (error)
		return -error;
	/* Its own stack, taken before memory was locked. */
	error = pthread_attr_setstack(
		&attributes, (char *)keeper->stack + GUARD_BYTES, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	keeper->started = !error;
	if (!error)
		error = pthread_create(&keeper->thread, &attributes, keeper_main, keeper);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (error) {
		keeper->started = false;
		return -error;
	}
	if (!keeper->quiet)
		fprintf(stderr, "oomsnoop: recording to %s\n", keeper->shown);
	return 0;
}

/* --- the loop's side --- */

static void wake(const struct keeper *keeper)
{
	static const uint64_t one = 1;

	/* Full means that it is awake already. */
	if (write(keeper->wake_fd, &one, sizeof(one)) < 0)
		return;
}

static void lose(struct keeper *keeper, uint64_t incidents, uint64_t points, int64_t boot_ns)
{
	int64_t wall_ns = boot_ns + keeper->wall_minus_boot_ns;

	/* One gap until it is told: of the disk, if it had a part in it. */
	if (!keeper->lost.why || atomic_load(&keeper->error))
		keeper->lost.why = atomic_load(&keeper->error) ? STORE_GAP_DISK : STORE_GAP_QUEUE;
	keeper_gap_add(&keeper->lost, incidents, points, wall_ns, wall_ns);
	keeper->refused_incidents += incidents;
	keeper->refused_points += points;
	keeper->again = true;
}

/* Once it is over: one gap, not one for each that found no room. */
static void tell_lost(struct keeper *keeper)
{
	keeper->wall_minus_boot_ns = wall_minus_boot_now_ns();
	if ((keeper->lost.incidents || keeper->lost.points) && !queue_fills(&keeper->queue) &&
		queue_gap(&keeper->queue, &keeper->lost))
		memset(&keeper->lost, 0, sizeof(keeper->lost));
}

/* One telling of series. */
struct telling {
	struct keeper *keeper;
	const struct names *names;
	bool left_out; /* the owner in hand found no room */
};

static const char *path_of(const struct names *names, uint64_t id)
{
	const char *path = id ? cgroup_path(names->cgroups, id) : NULL;

	return path ? path : "";
}

static const char *cmdline_of(const struct names *names, const struct history_owner *owner)
{
	const struct process *process =
		process_find(names->processes, owner->tgid, owner->start_ns);

	return process ? process->cmdline : "";
}

static void take_owner(const struct history_owner *owner, void *arg)
{
	struct telling *telling = arg;
	const char *path = "", *cmdline = "";

	if (owner->kind == HISTORY_CGROUP)
		path = path_of(telling->names, owner->cgroup_id);
	else if (owner->kind == HISTORY_PROCESS)
		cmdline = cmdline_of(telling->names, owner);
	telling->left_out = !queue_owner(&telling->keeper->queue, owner, path, cmdline);
}

static void take_point(const struct history_point *point, void *arg)
{
	struct telling *telling = arg;
	struct keeper *keeper = telling->keeper;

	if (!telling->left_out && queue_point(&keeper->queue, point))
		keeper->queued_points++;
	else
		lose(keeper, 0, 1, point->time_ns);
}

void keeper_pass(
	struct keeper *keeper, struct growth *growth, const struct names *names, uint64_t now_ns)
{
	struct telling telling = {.keeper = keeper, .names = names};
	const struct history_taker taker = {take_owner, take_point, &telling};

	tell_lost(keeper);
	if (!growth || !keeper->series_all || now_ns < keeper->next_thinned_ns)
		return;
	keeper->next_thinned_ns = now_ns + THINNED_NS;
	growth_thinned(growth, now_ns, THINNED_BYTES, &taker);
	queue_publish(&keeper->queue);
	if (queue_fills(&keeper->queue))
		wake(keeper);
}

/* Are points to be told that were told before? They may have been lost since, or be in a file that
 * is gone. */
static bool told_again(struct keeper *keeper, uint64_t now_ns)
{
	unsigned int renewed = atomic_load(&keeper->renewed);

	if (renewed == keeper->renewed_seen && (!keeper->again || now_ns < keeper->again_ns))
		return false;
	keeper->renewed_seen = renewed;
	keeper->again = false;
	keeper->again_ns = now_ns + AGAIN_NS;
	return true;
}

static void tell_window(struct keeper *keeper, const struct incident *incident, uint64_t domain_id,
	struct growth *growth, const struct names *names)
{
	struct telling telling = {.keeper = keeper, .names = names};
	const struct history_taker taker = {take_owner, take_point, &telling};
	uint64_t from_ns =
		incident->time_ns > keeper->window_ns ? incident->time_ns - keeper->window_ns : 1;
	int64_t wall_ns = keeper->wall_minus_boot_ns;
	unsigned int left_out;

	left_out = growth_history(
		growth, domain_id, from_ns, told_again(keeper, boot_now_ns()), &taker);
	if (left_out) {
		struct store_gap gap = {
			.why = STORE_GAP_WINDOW,
			.from_ns = (int64_t)from_ns + wall_ns,
			.to_ns = (int64_t)incident->time_ns + wall_ns,
			.points = UNKNOWN_U64,
		};

		queue_gap(&keeper->queue, &gap);
	}
	queue_publish(&keeper->queue);
}

void keeper_incident(struct keeper *keeper, const struct incident *incident,
	const struct judgement *judgement, const struct capture_moment *moment,
	struct growth *growth, const struct names *names)
{
	int level = judgement->limit_level;

	tell_lost(keeper);
	if (growth)
		tell_window(keeper, incident, level >= 0 ? incident->levels[level].id : 0, growth,
			names);
	if (queue_incident(&keeper->queue, incident, judgement, moment))
		keeper->queued_incidents++;
	else
		lose(keeper, 1, 0, (int64_t)incident->time_ns);
	wake(keeper);
}

void keeper_kill(
	struct keeper *keeper, const struct killing *killing, const struct store_kill_told *told)
{
	keeper->told_kills++;
	if (queue_kill(&keeper->queue, killing, told))
		wake(keeper);
}

void keeper_refusal(
	struct keeper *keeper, const struct refusal *refusal, const struct store_kill_told *told)
{
	keeper->told_refusals++;
	if (queue_refusal(&keeper->queue, refusal, told))
		wake(keeper);
}

/* --- closing --- */

/* False: the thread hangs in a call to the disk. */
static bool join(struct keeper *keeper)
{
	uint64_t until_ns = keeper->deadline_ns + JOIN_NS;
	struct timespec until = {
		.tv_sec = (time_t)(until_ns / KEEPER_SECOND_NS),
		.tv_nsec = (long)(until_ns % KEEPER_SECOND_NS),
	};

	if (!keeper->started) {
		keeper_main(keeper);
		return true;
	}
	return pthread_clockjoin_np(keeper->thread, NULL, CLOCK_MONOTONIC, &until) == 0;
}

void keeper_close(
	struct keeper *keeper, const char *why, uint64_t grace_ns, struct keeper_totals *ret)
{
	uint64_t incidents = keeper->queued_incidents + keeper->refused_incidents;
	uint64_t points = keeper->queued_points + keeper->refused_points;
	bool joined;

	snprintf(keeper->why, sizeof(keeper->why), "%s", why);
	keeper->deadline_ns = clock_now_ns(CLOCK_MONOTONIC) + grace_ns;
	atomic_store(&keeper->closing, true);
	wake(keeper);
	joined = join(keeper);
	*ret = (struct keeper_totals) {
		.incidents = atomic_load(&keeper->stored_incidents),
		.points = atomic_load(&keeper->stored_points),
		.kills = atomic_load(&keeper->stored_kills),
		.bytes = atomic_load(&keeper->bytes),
		.error = joined ? atomic_load(&keeper->error) : -ETIMEDOUT,
	};
	ret->incidents_lost = incidents - ret->incidents;
	ret->points_lost = points - ret->points;
	ret->kills_lost = keeper->told_kills - ret->kills;
	ret->refusals_lost = keeper->told_refusals - atomic_load(&keeper->stored_refusals);
	/* What a hanging thread still uses stays until the process ends. */
	if (joined)
		give_back(keeper);
}
