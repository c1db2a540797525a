// SPDX-License-Identifier: Apache-2.0
#include "cmd/reading.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "cmd/clock.h"

#define PROGRESS_AFTER_NS 1000000000LL
#define PROGRESS_EVERY_NS 200000000LL
#define PAGE_SIZE_MIN 512
#define PAGE_SIZE_MAX (1U << 22)

void reading_say(const struct reading *reading, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "oomsnoop: %s: ", reading->command);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* --- progress --- */

void reading_progress(struct reading *reading, const char *what, uint64_t count, uint64_t all)
{
	int64_t now;

	if (!reading->progress)
		return;
	now = (int64_t)clock_now_ns(CLOCK_MONOTONIC);
	if (now - reading->began_ns < PROGRESS_AFTER_NS ||
		now - reading->told_ns < PROGRESS_EVERY_NS)
		return;
	reading->told_ns = now;
	fprintf(stderr, "\r\033[Koomsnoop: %s: %s %llu", reading->command, what,
		(unsigned long long)count);
	if (all)
		fprintf(stderr, " of %llu", (unsigned long long)all);
}

void reading_progress_end(struct reading *reading)
{
	if (reading->told_ns)
		fputs("\r\033[K", stderr);
	reading->told_ns = 0;
}

/* --- open --- */

static void say_stale(const struct reading *reading)
{
	if (store_stale(reading->store))
		reading_say(reading,
			"%s-wal could not be read with it: the newest incidents may be missing",
			reading->path);
}

static int unreadable(const struct reading *reading, int err)
{
	if (err == -ENOMEM) {
		reading_say(reading, "not enough memory");
		return 1;
	}
	if (err == -EPROTO)
		reading_say(reading, "%s: needs a newer oomsnoop: %s", reading->path,
			store_why(reading->store));
	else
		reading_say(reading, "%s: %s", reading->path, store_why(reading->store));
	say_stale(reading);
	return err == -EACCES || err == -EPERM ? EX_NOPERM : EX_DATAERR;
}

static int collect_id(const struct store_line *line, void *arg)
{
	struct reading *reading = arg;

	if (reading->selection.id && reading->selection.id != line->id)
		return 0;
	if (reading->count == reading->room) {
		size_t room = reading->room ? 2 * reading->room : 256;
		int64_t *ids = reallocarray(reading->ids, room, sizeof(*ids));

		if (!ids)
			return -ENOMEM;
		reading->ids = ids;
		reading->room = room;
	}
	reading->ids[reading->count++] = line->id;
	return 0;
}

/* Numbers first, incidents one by one later: a store that is being written to is held for no longer
 * than a look at its index, however slowly the output is read. */
static int find(struct reading *reading)
{
	const struct selection *selection = &reading->selection;
	int err;

	err = store_each(reading->store, selection->since_ns, selection->until_ns, false,
		collect_id, reading);
	if (!err)
		return 0;
	if (err == -ENOMEM || !reading->count)
		return unreadable(reading, err);
	reading->broken = true;
	reading_say(reading, "%s: only a part can be read: %s", reading->path,
		store_why(reading->store));
	return 0;
}

int reading_open(struct reading *reading, const char *command, const char *path,
	const struct selection *selection)
{
	int err;

	*reading = (struct reading) {.command = command,
		.path = path,
		.selection = *selection,
		.asked = selection_given(selection),
		.began_ns = (int64_t)clock_now_ns(CLOCK_MONOTONIC)};
	reading->captured = malloc(sizeof(*reading->captured));
	reading->judgement = malloc(sizeof(*reading->judgement));
	if (!reading->captured || !reading->judgement)
		return unreadable(reading, -ENOMEM);
	reading->store = store_open(path, &err);
	if (!reading->store || err)
		return unreadable(reading, reading->store ? err : -ENOMEM);
	say_stale(reading);
	return find(reading);
}

void reading_close(struct reading *reading)
{
	if (reading->store)
		store_close(reading->store);
	free(reading->captured);
	free(reading->judgement);
	free(reading->ids);
	*reading = (struct reading) {0};
}

/* --- one incident --- */

/* What a tracer says in words of its own is printed as it is; of a file that somebody sent, no more
 * than that it looks like it. */
static void disarm(char *text)
{
	for (; *text; text++) {
		if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
			*text = '?';
	}
}

static void disarm_words(struct captured *captured)
{
	struct capture_run *run = &captured->run;

	for (unsigned int i = 0; i < run->hook_count && i < CAPTURE_HOOKS; i++) {
		disarm(run->hooks[i].purpose);
		disarm(run->hooks[i].hook);
	}
	disarm(run->tier);
	disarm(run->recorder_source);
	disarm(run->recorder_faults);
	disarm(captured->faults_why);
}

static bool is_page_size(uint32_t size)
{
	return size >= PAGE_SIZE_MIN && size <= PAGE_SIZE_MAX && !(size & (size - 1));
}

bool reading_load(struct reading *reading, int64_t id, bool say)
{
	struct captured *captured = reading->captured;
	int err = store_load(reading->store, id, captured);

	/* Given up for newer ones since the index was read. */
	if (err == -ENOENT)
		return false;
	if (err) {
		reading->unreadable += say;
		if (say)
			reading_say(reading, "incident %lld cannot be read: %s", (long long)id,
				store_why(reading->store));
		return false;
	}
	if (!is_page_size(captured->run.host.page_size)) {
		reading->unreadable += say;
		if (say)
			reading_say(reading,
				"incident %lld cannot be read: what is known of its machine is damaged",
				(long long)id);
		return false;
	}
	disarm_words(captured);
	judge_incident(&captured->incident, &captured->run.host, &captured->moment.coverage,
		reading->judgement);
	sink_context_of(&reading->context, &captured->run, &captured->moment);
	return true;
}

static bool passes(const struct reading *reading)
{
	return selection_passes(&reading->selection, reading->captured->id,
		&reading->captured->incident, reading->judgement);
}

/* Where the last N begin: from the newest back, until there are as many that match. */
static void find_last(struct reading *reading)
{
	uint64_t wanted = reading->selection.last, found = 0;
	size_t at = reading->count;

	reading->first = 0;
	if (!wanted)
		return;
	if (!selection_looks_inside(&reading->selection)) {
		reading->first = reading->count > wanted ? reading->count - (size_t)wanted : 0;
		return;
	}
	while (at > 0 && found < wanted) {
		at--;
		found += reading_load(reading, reading->ids[at], false) && passes(reading);
		reading_progress(reading, "incidents looked at:", reading->count - at, 0);
	}
	reading->first = at;
}

static void say_damage(const struct reading *reading)
{
	if (reading->captured->damaged)
		reading_say(reading, "incident %lld: a part of it cannot be read: %s",
			(long long)reading->captured->id, reading->captured->damage);
}

void reading_each(struct reading *reading, int (*fn)(struct reading *reading, void *arg), void *arg)
{
	find_last(reading);
	for (size_t i = reading->first; i < reading->count && !reading->output_error; i++) {
		reading_progress(reading, "incidents looked at:", i, reading->count);
		if (!reading_load(reading, reading->ids[i], true) || !passes(reading))
			continue;
		reading_progress_end(reading);
		say_damage(reading);
		reading->shown++;
		reading->output_error = fn(reading, arg);
	}
	reading_progress_end(reading);
}

bool reading_any(struct reading *reading, bool (*test)(const struct reading *reading))
{
	bool found = false;

	find_last(reading);
	for (size_t i = reading->count; i > reading->first && !found; i--) {
		reading_progress(reading, "incidents looked at:", reading->count - i, 0);
		found = reading_load(reading, reading->ids[i - 1], false) && passes(reading) &&
			test(reading);
	}
	reading_progress_end(reading);
	return found;
}

/* --- what it comes to --- */

static void say_nothing_found(const struct reading *reading)
{
	if (reading->selection.id)
		reading_say(reading, "there is no incident %lld in %s, or it does not match",
			(long long)reading->selection.id, reading->path);
	else if (reading->asked)
		reading_say(reading, "no incident matches");
	else
		reading_say(reading, "there is no incident in %s", reading->path);
}

int reading_status(const struct reading *reading)
{
	/* Who reads no further has what it wanted. */
	if (reading->output_error == -EPIPE)
		return 0;
	if (reading->output_error) {
		reading_say(
			reading, "cannot write to stdout: %s", strerror(-reading->output_error));
		return EX_IOERR;
	}
	if (reading->broken)
		return EX_DATAERR;
	if (reading->shown)
		return 0;
	if (reading->unreadable)
		return EX_DATAERR;
	say_nothing_found(reading);
	return 0;
}
