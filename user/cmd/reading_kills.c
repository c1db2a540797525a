// SPDX-License-Identifier: Apache-2.0
#include "cmd/reading_kills.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/filter.h"
#include "sink/kill.h"
#include "sink/refusal.h"

static int collect(const struct store_line *line, void *arg)
{
	struct reading_kills *kills = arg;

	if (kills->count == kills->room) {
		size_t room = kills->room ? 2 * kills->room : 256;
		struct reading_note *notes = reallocarray(kills->notes, room, sizeof(*notes));

		if (!notes)
			return -ENOMEM;
		kills->notes = notes;
		kills->room = room;
	}
	kills->notes[kills->count++] = (struct reading_note) {
		.id = line->id, .time_ns = line->time_ns, .refused = kills->listing_refusals};
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct reading_note *first = a, *second = b;

	if (first->time_ns != second->time_ns)
		return first->time_ns < second->time_ns ? -1 : 1;
	if (first->refused != second->refused)
		return first->refused ? 1 : -1;
	return (first->id > second->id) - (first->id < second->id);
}

/* -ENOMEM; what cannot be read is said. */
static int list_all(struct reading_kills *kills)
{
	struct reading *reading = kills->reading;
	const struct selection *selection = &reading->selection;
	int err = store_kills(
		reading->store, selection->since_ns, selection->until_ns, collect, kills);

	if (err && err != -ENOMEM) {
		reading_say(reading, "a part of the kills cannot be read: %s",
			store_why(reading->store));
		reading->unreadable++;
	}
	if (err == -ENOMEM)
		return err;
	kills->listing_refusals = true;
	err = store_refusals(
		reading->store, selection->since_ns, selection->until_ns, collect, kills);
	if (err && err != -ENOMEM) {
		reading_say(reading, "a part of the refusals cannot be read: %s",
			store_why(reading->store));
		reading->unreadable++;
	}
	return err == -ENOMEM ? err : 0;
}

int reading_kills_open(struct reading_kills *kills, struct reading *reading)
{
	const struct selection *selection = &reading->selection;
	int err;

	*kills = (struct reading_kills) {.reading = reading};
	if (selection->id || selection->scope_count)
		return 0;
	kills->captured = calloc(1, sizeof(*kills->captured));
	if (!kills->captured)
		return -ENOMEM;
	err = list_all(kills);
	if (kills->count)
		qsort(kills->notes, kills->count, sizeof(*kills->notes), by_time);
	return err;
}

void reading_kills_close(struct reading_kills *kills)
{
	free(kills->notes);
	free(kills->captured);
	*kills = (struct reading_kills) {0};
}

static bool verdict_passes(const struct reading_kills *kills)
{
	const struct verdict_filter *wanted = &kills->reading->selection.filter.verdicts;

	return kills->refused ? filter_verdicts(wanted, kills->refusal_judgement.verdicts,
					kills->refusal_judgement.verdict_count)
			      : filter_verdicts(wanted, kills->judgement.verdicts,
					kills->judgement.verdict_count);
}

static void judge(struct reading_kills *kills)
{
	const struct host_facts *host = &kills->captured->run.host;

	if (kills->refused)
		judge_refusal(&kills->refusal, host, &kills->refusal_judgement);
	else
		judge_killing(&kills->killing, host, &kills->judgement);
	sink_context_of(&kills->context, &kills->captured->run, &kills->captured->moment);
	kills->context.color = kills->reading->context.color;
	kills->context.width = kills->reading->context.width;
}

static bool passes(const struct reading_kills *kills)
{
	const struct selection *selection = &kills->reading->selection;

	return (kills->refused ? filter_refusal(&selection->filter, &kills->refusal)
			       : filter_killing(&selection->filter, &kills->killing)) &&
	       verdict_passes(kills);
}

static bool load(struct reading_kills *kills, const struct reading_note *note)
{
	struct reading *reading = kills->reading;
	const char *what = note->refused ? "refusal" : "kill";
	int err;

	kills->refused = note->refused;
	err = note->refused
		      ? store_load_refusal(
				reading->store, note->id, &kills->refusal, kills->captured)
		      : store_load_kill(reading->store, note->id, &kills->killing, kills->captured);
	if (err == -ENOENT)
		return false;
	if (err) {
		reading->unreadable++;
		reading_say(reading, "%s %lld cannot be read: %s", what, (long long)note->id,
			store_why(reading->store));
		return false;
	}
	if (kills->captured->damaged)
		reading_say(reading, "%s %lld: a part of it cannot be read: %s", what,
			(long long)note->id, kills->captured->damage);
	judge(kills);
	return passes(kills);
}

int reading_kills_json(const struct reading_kills *kills, struct buf *buf)
{
	if (kills->refused)
		return json_refusal(
			buf, &kills->context, &kills->refusal, &kills->refusal_judgement);
	return json_kill(buf, &kills->context, &kills->killing, &kills->judgement);
}

int reading_kills_text(const struct reading_kills *kills, struct buf *buf)
{
	if (kills->refused)
		return text_refusal(
			buf, &kills->context, &kills->refusal, &kills->refusal_judgement);
	return text_kill(buf, &kills->context, &kills->killing, &kills->judgement);
}

int reading_kills_until(struct reading_kills *kills, int64_t time_ns,
	int (*fn)(struct reading_kills *kills, void *arg), void *arg)
{
	int ret = 0;

	while (!ret && kills->next < kills->count && kills->notes[kills->next].time_ns < time_ns) {
		if (!load(kills, &kills->notes[kills->next++]))
			continue;
		kills->shown++;
		kills->reading->shown++;
		ret = fn(kills, arg);
	}
	return ret;
}

void reading_kills_skip(struct reading_kills *kills, int64_t time_ns)
{
	while (kills->next < kills->count && kills->notes[kills->next].time_ns < time_ns)
		kills->next++;
}
