// SPDX-License-Identifier: Apache-2.0
#include "cmd/watch_stalls.h"

#include <string.h>

#include "cmd/filter.h"
#include "facts/pressure.h"
#include "sink/stall.h"

#define LOOK_NS 1000000000ULL
#define LOOK_EARLY_NS 50000000ULL /* passes that are meant to be a second apart are not quite */
#define LINE_BYTES 8192
#define HISTORY_NS 60000000000ULL

struct looking {
	struct watch *watch;
	uint64_t now_ns;
};

static void take_process(struct stall_scene *scene, const struct picture_process *process)
{
	unsigned int at = scene->process_count;

	while (at && scene->processes[at - 1].held_bytes < process->held_bytes)
		at--;
	if (at == STALL_PROCESSES || process->exited || !process->held_bytes)
		return;
	if (scene->process_count < STALL_PROCESSES)
		scene->process_count++;
	memmove(&scene->processes[at + 1], &scene->processes[at],
		(scene->process_count - at - 1) * sizeof(scene->processes[0]));
	scene->processes[at] = (struct stall_process) {
		.tgid = process->tgid,
		.start_ns = process->start_ns,
		.held_bytes = process->held_bytes,
	};
	memcpy(scene->processes[at].comm, process->comm, sizeof(scene->processes[at].comm));
}

/* Among those that grew most. */
static void take_processes(const struct looking *looking, struct stall_scene *scene)
{
	static struct growth_picture picture; /* too large for a stack */
	struct watch *watch = looking->watch;

	growth_picture(watch->recorder.growth, watch->names.cgroups, scene->stall.last.cgroup_id,
		looking->now_ns, HISTORY_NS, &picture);
	for (unsigned int i = 0; i < picture.process_count && i < PICTURE_PROCESSES; i++)
		take_process(scene, &picture.processes[i]);
}

static void tell(const struct looking *looking, const struct stall *stall, bool ended)
{
	struct watch *watch = looking->watch;
	const struct live_options *options = watch->options;
	const char *path = cgroup_path(watch->names.cgroups, stall->last.cgroup_id);
	struct stall_scene scene = {.stall = *stall, .ended = ended, .path = path ? path : ""};
	struct verdict verdict;
	char data[LINE_BYTES];
	struct buf line;

	if (watch->names.containers && path)
		scene.names = containers_known(watch->names.containers, path);
	if (!filter_stall(&options->filter, scene.path, scene.names))
		return;
	if (!ended)
		take_processes(looking, &scene);
	judge_stall(&scene, &verdict);
	if (!filter_verdicts(&options->filter.verdicts, &verdict, 1))
		return;
	buf_init(&line, data, sizeof(data));
	if (options->json
			? json_stall(&line, &watch->telling.sink, looking->now_ns, &scene, &verdict)
			: text_stall(
				  &line, &watch->telling.sink, looking->now_ns, &scene, &verdict))
		return;
	telling_print(&watch->telling, line.data, line.len);
}

static void take_high(const struct growth_high *high, void *arg)
{
	const struct looking *looking = arg;
	struct watch *watch = looking->watch;
	struct stall_look look = {
		.cgroup_id = high->cgroup_id,
		.usage_bytes = high->usage_bytes,
		.high_bytes = high->high_bytes,
		.max_bytes = high->max_bytes,
		.high_events = high->high_events,
	};
	const char *path = cgroup_path(watch->names.cgroups, high->cgroup_id);
	enum stall_news news;
	struct stall stall;

	if (!path || read_cgroup_stalled(&watch->names.mount, path, &look.full_us))
		return;
	news = stalling_take(&watch->stalling, looking->now_ns, &look, &stall);
	if (news != STALL_NO_NEWS)
		tell(looking, &stall, news == STALL_ENDED);
}

void watch_stalls_look(struct watch *watch, uint64_t now_ns)
{
	struct looking looking = {watch, now_ns};
	struct stall stall;

	if (!watch->stalling.stall_ns || watch->options->silent || !watch->names.mounted ||
		!watch->names.mount.v2 ||
		now_ns < watch->stalls_looked_ns + LOOK_NS - LOOK_EARLY_NS)
		return;
	watch->stalls_looked_ns = now_ns;
	growth_above_high(watch->recorder.growth, take_high, &looking);
	while (stalling_left(&watch->stalling, now_ns, &stall))
		tell(&looking, &stall, true);
	if (watch->stalling.not_followed && !watch->stalls_full_told) {
		watch->stalls_full_told = true;
		telling_remark(&watch->telling,
			"more than %d cgroups are above memory.high at once: of the others it is not told whether they stand still",
			STALLS_MAX);
	}
}
