// SPDX-License-Identifier: Apache-2.0
/* The thread that empties the queue into the store. What it has taken out stays in the queue until
 * it is committed, so that a failure costs nothing but another turn. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"
#include "cmd/clock.h"
#include "cmd/keeper_parts.h"
#include "sink/view.h"

/* A batch ends with the first series after so many points. */
#define BATCH_POINTS (STORE_BATCH_POINTS / 2)
#define LINE_BYTES 2048
#define AGAIN_MS 1000 /* after a failure */
#define CLOSING_MS 100 /* the same, while it is waited for */
#define MORE_MS 20 /* between two pieces of the work of keeping to the limits */
#define KEEP_ROUNDS 8 /* of it, in one turn */
#define KEEP_NS (60 * KEEPER_SECOND_NS) /* what is old goes, even if nothing new comes */

const char *keeper_why(const struct keeper *keeper)
{
	return store_writer_why(keeper->writer);
}

/* --- what is said --- */

/* One whole line, if stderr takes it at once: who reads it must not stop the recording. */
static void say_line(struct buf *line)
{
	struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

	if (line->len > LINE_BYTES - 2)
		buf_rewind(line, LINE_BYTES - 2);
	buf_putc(line, '\n');
	if (poll(&out, 1, 0) != 1 || !(out.revents & POLLOUT))
		return;
	if (write(STDERR_FILENO, line->data, line->len) < 0)
		return;
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	char text[LINE_BYTES], data[LINE_BYTES + 1];
	struct buf line;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	buf_init(&line, data, sizeof(data));
	buf_puts(&line, "oomsnoop: record: ");
	buf_put(&line, text, strnlen(text, sizeof(text) - 32));
	say_line(&line);
}

static void put_name(struct buf *line, const struct incident *incident)
{
	const struct task_facts *task;
	uint32_t total = view_victims_total(incident);

	if (!incident->victim_count) {
		buf_puts(line, "a process whose name was lost");
		return;
	}
	task = view_victim(incident, 0);
	if (view_known(task)) {
		text_terminal(line, task->comm, strlen(task->comm), 0);
		buf_printf(line, "[%u]", task->tgid);
	} else {
		buf_printf(line, "pid %u", task->tgid);
	}
	if (total > 1)
		buf_printf(line, " and %u more", total - 1);
}

static void announce(const struct keeper *keeper, int64_t id)
{
	const struct incident *incident = &keeper->item.incident;
	const char *path = view_limit_path(incident, &keeper->item.judgement);
	char data[LINE_BYTES + 1];
	struct buf line;

	if (keeper->quiet)
		return;
	buf_init(&line, data, sizeof(data));
	buf_printf(&line, "oomsnoop: stored incident %lld: ", (long long)id);
	if (incident->outcome == OUTCOME_NO_KILLABLE) {
		buf_puts(&line, "NOBODY KILLED");
	} else {
		buf_puts(&line, incident->outcome == OUTCOME_KILLED ? "KILLED " : "NOT KILLED ");
		put_name(&line, incident);
	}
	if (path[0]) {
		buf_puts(&line, " in ");
		text_terminal(&line, path, strlen(path), 256);
	}
	say_line(&line);
}

/* --- the store itself --- */

static int begin_run(struct keeper *keeper)
{
	struct capture_run *run = &keeper->run;

	run->id = 0;
	run->began_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
	run->ended_ns = INT64_MIN;
	run->ended_why[0] = '\0';
	return store_run_begin(keeper->writer, run, wall_minus_boot_now_ns());
}

static void drop_writer(struct keeper *keeper)
{
	store_writer_close(keeper->writer);
	keeper->writer = NULL;
	keeper->run.id = 0;
	keeper->batch.open = false;
	keeper->full = keeper->more = false;
	keeper->ended = false;
}

int keeper_ensure(struct keeper *keeper)
{
	int error;

	if (keeper->writer && !store_writer_in_place(keeper->writer)) {
		say("%s was removed or replaced: what was stored is gone with it; a new one is begun",
			keeper->shown);
		drop_writer(keeper);
		atomic_fetch_add(&keeper->renewed, 1);
	}
	if (!keeper->writer) {
		error = store_writer_open(keeper->path, &keeper->limits, &keeper->writer);
		if (error) {
			keeper->writer = NULL;
			return error;
		}
	}
	return keeper->run.id ? 0 : begin_run(keeper);
}

/* Would the same go well later, elsewhere on the disk or with more room? Otherwise it would stand
 * before all that follows for ever. */
static bool may_pass(int error)
{
	return error != -EINVAL && error != -EEXIST && error != -ERANGE && error != -EMSGSIZE;
}

static bool is_gap(const struct store_gap *gap)
{
	return gap->incidents || gap->points;
}

/* --- batches --- */

static int batch_begin(struct keeper *keeper)
{
	int error = keeper->batch.open ? 0 : store_batch_begin(keeper->writer);

	keeper->batch.open = !error;
	return error;
}

static void batch_forget(struct keeper *keeper)
{
	memset(&keeper->batch, 0, sizeof(keeper->batch));
	keeper->skip = false;
}

/* Writes what the batch holds; it goes on, and nothing is released: in the middle of a series. */
static int batch_flush(struct keeper *keeper)
{
	int error = 0;

	if (keeper->batch.open)
		error = store_batch_commit(keeper->writer, wall_minus_boot_now_ns());
	keeper->batch.open = false;
	return error;
}

/* All before `at` is done with. */
static int batch_commit(struct keeper *keeper, uint64_t at)
{
	struct keeper_batch *batch = &keeper->batch;
	int error = batch_flush(keeper);

	if (error)
		return error;
	atomic_fetch_add(&keeper->stored_points, batch->points);
	if (is_gap(&batch->skipped)) {
		keeper_gap_add(&keeper->skipped, batch->skipped.incidents, batch->skipped.points,
			batch->skipped.from_ns, batch->skipped.to_ns);
		keeper->skipped.why = STORE_GAP_DISK;
	}
	batch_forget(keeper);
	queue_release(&keeper->queue, at);
	return 0;
}

static void skip_point(struct keeper *keeper)
{
	int64_t wall_ns = keeper->item.point.time_ns + wall_minus_boot_now_ns();

	keeper_gap_add(&keeper->batch.skipped, 0, 1, wall_ns, wall_ns);
}

static int put_owner(struct keeper *keeper)
{
	const struct queue_item *item = &keeper->item;
	int error = batch_begin(keeper);

	return error ? error : store_owner(keeper->writer, &item->owner, item->path, item->cmdline);
}

static int take_owner(struct keeper *keeper)
{
	int error = 0;

	if (keeper->batch.points >= BATCH_POINTS)
		error = batch_commit(keeper, keeper->item.at);
	keeper->skip = keeper->no_series;
	return error || keeper->skip ? error : put_owner(keeper);
}

static int take_point(struct keeper *keeper)
{
	const struct history_point *point = &keeper->item.point;
	int error;

	if (keeper->skip) {
		skip_point(keeper);
		return 0;
	}
	error = store_point(keeper->writer, point);
	if (error == -ENOBUFS) {
		error = batch_flush(keeper);
		if (!error)
			error = put_owner(keeper);
		if (!error)
			error = store_point(keeper->writer, point);
	}
	if (error == -EINVAL)
		skip_point(keeper);
	else if (!error)
		keeper->batch.points++;
	return error == -EINVAL ? 0 : error;
}

static int take_gap(struct keeper *keeper)
{
	const struct store_gap *gap = &keeper->item.gap;
	int error;

	if (keeper->no_series) {
		/* It waits with those of the series that are left out now. */
		keeper_gap_add(&keeper->batch.skipped, gap->incidents,
			gap->points == UNKNOWN_U64 ? 1 : gap->points, gap->from_ns, gap->to_ns);
		return 0;
	}
	error = batch_begin(keeper);
	if (!error)
		error = store_gap(keeper->writer, gap);
	if (error == -ENOBUFS)
		error = batch_flush(keeper);
	else
		return error;
	if (!error)
		error = batch_begin(keeper);
	return error ? error : store_gap(keeper->writer, gap);
}

/* With the series that stand before it. What was written to a file that is gone is not stored. */
static int take_incident(struct keeper *keeper)
{
	const struct queue_item *item = &keeper->item;
	int64_t id;
	int error = batch_commit(keeper, item->at);

	if (!error)
		error = store_incident(keeper->writer, &keeper->run, &item->moment, &item->incident,
			&item->judgement, &id);
	if (!error && !store_writer_in_place(keeper->writer))
		error = keeper_ensure(keeper) ? -ENOENT : -ESTALE;
	if (error)
		return error;
	queue_release(&keeper->queue, item->end);
	atomic_fetch_add(&keeper->stored_incidents, 1);
	announce(keeper, id);
	return 0;
}

/* In the order of the queue, as incidents are. */
static int take_kill(struct keeper *keeper)
{
	const struct queue_item *item = &keeper->item;
	int64_t id;
	int error = batch_commit(keeper, item->at);

	if (!error)
		error = store_kill(keeper->writer, &keeper->run, &item->killing, &item->told, &id);
	if (error)
		return error;
	queue_release(&keeper->queue, item->end);
	atomic_fetch_add(&keeper->stored_kills, 1);
	return 0;
}

static int take_refusal(struct keeper *keeper)
{
	const struct queue_item *item = &keeper->item;
	int64_t id;
	int error = batch_commit(keeper, item->at);

	if (!error)
		error = store_refusal(
			keeper->writer, &keeper->run, &item->refusal, &item->told, &id);
	if (error)
		return error;
	queue_release(&keeper->queue, item->end);
	atomic_fetch_add(&keeper->stored_refusals, 1);
	return 0;
}

static int take_item(struct keeper *keeper)
{
	switch (keeper->item.kind) {
	case QUEUE_OWNER:
		return take_owner(keeper);
	case QUEUE_POINT:
		return take_point(keeper);
	case QUEUE_GAP:
		return take_gap(keeper);
	case QUEUE_INCIDENT:
		return take_incident(keeper);
	case QUEUE_KILL:
		return take_kill(keeper);
	case QUEUE_REFUSAL:
		return take_refusal(keeper);
	default:
		return 0;
	}
}

/* What can never be stored must not keep what follows from it: it is counted, and passed over; of
 * series all that stood in this batch, and the rest of the one in hand. */
static void pass_over(struct keeper *keeper, int error)
{
	struct queue_item *item = &keeper->item;
	int64_t wall_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
	bool incident = item->kind == QUEUE_INCIDENT, kill = item->kind == QUEUE_KILL;
	bool whole = incident || kill || item->kind == QUEUE_REFUSAL;
	uint64_t points = keeper->batch.points + !whole;

	say("%s cannot be stored and is left out: %s (%s)",
		incident ? "an incident"
		: kill	 ? "a kill"
		: whole	 ? "a refusal"
			 : "a series",
		keeper_why(keeper), strerror(-error));
	batch_forget(keeper);
	while (!whole && queue_next(&keeper->queue, item) == QUEUE_POINT)
		points++;
	queue_release(&keeper->queue, whole ? item->end : item->at);
	queue_rewind(&keeper->queue);
	keeper_gap_add(&keeper->skipped, incident, points, wall_ns, wall_ns);
	keeper->skipped.why = STORE_GAP_DISK;
}

/* All that is in the queue. */
static int drain_once(struct keeper *keeper, bool series)
{
	int error = 0;

	batch_forget(keeper);
	keeper->no_series = !series || keeper->full;
	queue_rewind(&keeper->queue);
	while (!error && queue_next(&keeper->queue, &keeper->item) != QUEUE_EMPTY) {
		error = take_item(keeper);
		if (error && !may_pass(error)) {
			pass_over(keeper, error);
			error = 0;
		}
	}
	if (error)
		return error;
	error = batch_commit(keeper, keeper->item.end);
	if (error && !may_pass(error)) {
		pass_over(keeper, error);
		error = 0;
	}
	return error;
}

static void set_full(struct keeper *keeper, bool full)
{
	uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);

	if (full && !keeper->full &&
		(!keeper->full_said_ns || now_ns - keeper->full_said_ns > KEEP_NS)) {
		say("another program has been reading %s for so long that its log is full: no "
		    "series are stored until it ends",
			keeper->shown);
		keeper->full_said_ns = now_ns;
	}
	keeper->full = full;
}

static int drain(struct keeper *keeper)
{
	int error = drain_once(keeper, true);

	if (error == -ESTALE) /* the file was replaced meanwhile */
		error = drain_once(keeper, true);
	if (error == -EAGAIN)
		set_full(keeper, true);
	/* The limit, or a reader: what has no room must not keep incidents waiting. */
	if (error == -EAGAIN || error == -EFBIG)
		error = drain_once(keeper, false);
	return error;
}

/* A gap of the thread's own, or the loop's last one. */
static int tell_gap(struct keeper *keeper, struct store_gap *gap)
{
	int error;

	if (!is_gap(gap) || keeper->full)
		return 0;
	error = batch_begin(keeper);
	if (!error)
		error = store_gap(keeper->writer, gap);
	if (!error)
		error = batch_flush(keeper);
	batch_forget(keeper);
	if (!error)
		memset(gap, 0, sizeof(*gap));
	return error;
}

static int keep_limits(struct keeper *keeper, bool wrote)
{
	uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
	bool full = keeper->full;
	int error = 0;

	if (!wrote && !keeper->more && !keeper->full && now_ns - keeper->kept_ns < KEEP_NS)
		return 0;
	keeper->kept_ns = now_ns;
	keeper->more = true;
	for (int i = 0; i < KEEP_ROUNDS && keeper->more && !error; i++)
		error = store_keep(keeper->writer, (int64_t)clock_now_ns(CLOCK_REALTIME),
			&keeper->more, &full);
	if (error)
		keeper->more = false;
	else
		set_full(keeper, full);
	atomic_store(&keeper->bytes, store_writer_bytes(keeper->writer));
	return error;
}

static int end_run(struct keeper *keeper)
{
	struct capture_run *run = &keeper->run;
	int error;

	run->ended_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
	snprintf(run->ended_why, sizeof(run->ended_why), "%s", keeper->why);
	error = store_run_end(keeper->writer, run);
	keeper->ended = !error;
	return error;
}

/* --- its life --- */

static void note(struct keeper *keeper, int error)
{
	int before = atomic_load(&keeper->error);

	if (error && !before)
		say("cannot write to %s: %s; what comes is kept in memory and tried again every "
		    "second",
			keeper->shown, keeper_why(keeper));
	else if (!error && before)
		say("%s can be written to again", keeper->shown);
	atomic_store(&keeper->error, error);
}

static int work(struct keeper *keeper, bool closing)
{
	uint64_t released = atomic_load(&keeper->queue.ring.released);
	int error = keeper_ensure(keeper);

	if (!error)
		error = drain(keeper);
	if (!error)
		error = tell_gap(keeper, &keeper->skipped);
	if (!error && closing)
		error = tell_gap(keeper, &keeper->lost);
	if (!error)
		error = keep_limits(keeper, atomic_load(&keeper->queue.ring.released) != released);
	if (!error && closing)
		error = end_run(keeper);
	return error;
}

static void turn(struct keeper *keeper)
{
	/* Before the queue is looked at: what was put before it is seen then. */
	bool closing = atomic_load(&keeper->closing);
	int error = work(keeper, closing);

	keeper->turn_ns = clock_now_ns(CLOCK_MONOTONIC);
	note(keeper, error);
	if (closing && (keeper->ended || keeper->turn_ns >= keeper->deadline_ns))
		keeper->finished = true;
}

static int wait_ms(const struct keeper *keeper)
{
	uint64_t passed_ms = (clock_now_ns(CLOCK_MONOTONIC) - keeper->turn_ns) / 1000000;
	uint64_t wait = AGAIN_MS;

	if (atomic_load(&keeper->error))
		wait = atomic_load(&keeper->closing) ? CLOSING_MS : AGAIN_MS;
	else if (keeper->more)
		wait = MORE_MS;
	return passed_ms < wait ? (int)(wait - passed_ms) : 0;
}

/* For the next second, or for an incident; after a failure for the next second, whatever comes. */
static void await(struct keeper *keeper)
{
	struct pollfd woken = {.fd = keeper->wake_fd, .events = POLLIN};
	uint64_t count;
	bool closing;

	do {
		closing = atomic_load(&keeper->closing);
		if (poll(&woken, 1, wait_ms(keeper)) > 0 &&
			read(keeper->wake_fd, &count, sizeof(count)) < 0)
			continue;
		/* Told to close: one more try at once. */
		if (!closing && atomic_load(&keeper->closing))
			return;
	} while (atomic_load(&keeper->error) && wait_ms(keeper) > 0);
}

void *keeper_main(void *arg)
{
	struct keeper *keeper = arg;

	/* The loop must be faster than all that die; a thread that waits for the disk need not. */
	if (keeper->started && getpriority(PRIO_PROCESS, 0) < 0)
		setpriority(PRIO_PROCESS, 0, 0);
	while (!keeper->finished) {
		if (!atomic_load(&keeper->closing) || atomic_load(&keeper->error))
			await(keeper);
		turn(keeper);
	}
	atomic_store(&keeper->bytes, keeper->writer ? store_writer_bytes(keeper->writer) : 0);
	if (keeper->writer)
		store_writer_close(keeper->writer);
	keeper->writer = NULL;
	return NULL;
}
