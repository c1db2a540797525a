// SPDX-License-Identifier: Apache-2.0
#include "cmd/report_page_kills.h"

#include <stdlib.h>
#include <string.h>

#include "judge/kills.h"
#include "sink/view.h"

struct kill_ids {
	int64_t ids[PAGE_KILLS]; /* a ring: the newest so far */
	size_t total;
};

/* What it takes to read one. */
struct kill_room {
	struct kill_ids ids;
	struct killing killing;
	struct kill_judgement judgement;
	struct captured captured;
};

static int take_id(const struct store_line *line, void *arg)
{
	struct kill_ids *ids = arg;

	ids->ids[ids->total++ % PAGE_KILLS] = line->id;
	return 0;
}

static bool is_below(const char *path, const char *above)
{
	size_t len = strlen(above);

	return len > 1 && !strncmp(path, above, len) && (path[len] == '/' || path[len] == '\0');
}

/* In the cgroup of the limit, or what a manager did after this very kill. */
static bool is_near(const struct reading *reading, const struct killing *killing)
{
	const struct incident *incident = &reading->captured->incident;

	if (is_below(killing->target_cgroup, view_limit_path(incident, reading->judgement)))
		return true;
	for (unsigned int i = 0; killing->oom_ns && i < incident->victim_count; i++)
		if (incident->victims[i].task.tgid == killing->oom_tgid)
			return true;
	return false;
}

static void load_one(
	struct page_kills *kills, struct reading *reading, struct kill_room *room, int64_t id)
{
	struct html_kill *one = &kills->list[kills->count];

	if (store_load_kill(reading->store, id, &room->killing, &room->captured)) {
		reading_say(reading, "kill %lld cannot be read: %s", (long long)id,
			store_why(reading->store));
		return;
	}
	judge_killing(&room->killing, &room->captured.run.host, &room->judgement);
	one->time_ns = (int64_t)room->killing.time_ns + room->captured.moment.wall_minus_boot_ns;
	one->near = is_near(reading, &room->killing);
	one->verdict = room->judgement.verdicts[0];
	kills->count++;
}

static void load(struct page_kills *kills, struct reading *reading, const struct window *window,
	struct kill_room *room)
{
	int64_t offset = reading->captured->moment.wall_minus_boot_ns;
	uint64_t until_ns = reading->captured->incident.time_ns + KILLING_OOM_NS;
	size_t count, oldest;

	if (store_kills(reading->store, (int64_t)window->from_ns + offset,
		    (int64_t)until_ns + offset, take_id, &room->ids))
		reading_say(reading, "a part of the kills cannot be read: %s",
			store_why(reading->store));
	kills->total = room->ids.total;
	count = kills->total < PAGE_KILLS ? kills->total : PAGE_KILLS;
	oldest = kills->total > PAGE_KILLS ? kills->total % PAGE_KILLS : 0;
	for (size_t i = 0; i < count; i++)
		load_one(kills, reading, room, room->ids.ids[(oldest + i) % PAGE_KILLS]);
}

struct page_kills *page_kills_load(struct reading *reading, const struct window *window)
{
	struct page_kills *kills = calloc(1, sizeof(*kills));
	struct kill_room *room = calloc(1, sizeof(*room));

	if (kills && room)
		load(kills, reading, window, room);
	else {
		free(kills);
		kills = NULL;
	}
	free(room);
	return kills;
}
