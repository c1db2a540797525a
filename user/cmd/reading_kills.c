// SPDX-License-Identifier: Apache-2.0
#include "cmd/reading_kills.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/filter.h"

static int collect(const struct store_line *line, void *arg)
{
	struct reading_kills *kills = arg;

	if (kills->count == kills->room) {
		size_t room = kills->room ? 2 * kills->room : 256;
		struct store_line *lines = reallocarray(kills->lines, room, sizeof(*lines));

		if (!lines)
			return -ENOMEM;
		kills->lines = lines;
		kills->room = room;
	}
	kills->lines[kills->count++] = *line;
	return 0;
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
	err = store_kills(reading->store, selection->since_ns, selection->until_ns, collect, kills);
	if (err == -ENOMEM)
		return err;
	if (err) {
		reading_say(reading, "a part of the kills cannot be read: %s",
			store_why(reading->store));
		reading->unreadable++;
	}
	return 0;
}

void reading_kills_close(struct reading_kills *kills)
{
	free(kills->lines);
	free(kills->captured);
	*kills = (struct reading_kills) {0};
}

static bool load(struct reading_kills *kills, int64_t id)
{
	struct reading *reading = kills->reading;
	int err = store_load_kill(reading->store, id, &kills->killing, kills->captured);

	if (err == -ENOENT)
		return false;
	if (err) {
		reading->unreadable++;
		reading_say(reading, "kill %lld cannot be read: %s", (long long)id,
			store_why(reading->store));
		return false;
	}
	if (kills->captured->damaged)
		reading_say(reading, "kill %lld: a part of it cannot be read: %s", (long long)id,
			kills->captured->damage);
	judge_killing(&kills->killing, &kills->captured->run.host, &kills->judgement);
	sink_context_of(&kills->context, &kills->captured->run, &kills->captured->moment);
	kills->context.color = reading->context.color;
	kills->context.width = reading->context.width;
	return selection_passes_killing(&reading->selection, &kills->killing) &&
	       filter_verdicts(&reading->selection.verdicts, kills->judgement.verdicts,
		       kills->judgement.verdict_count);
}

int reading_kills_until(struct reading_kills *kills, int64_t time_ns,
	int (*fn)(struct reading_kills *kills, void *arg), void *arg)
{
	int ret = 0;

	while (!ret && kills->next < kills->count && kills->lines[kills->next].time_ns < time_ns) {
		if (!load(kills, kills->lines[kills->next++].id))
			continue;
		kills->shown++;
		kills->reading->shown++;
		ret = fn(kills, arg);
	}
	return ret;
}

void reading_kills_skip(struct reading_kills *kills, int64_t time_ns)
{
	while (kills->next < kills->count && kills->lines[kills->next].time_ns < time_ns)
		kills->next++;
}
