// SPDX-License-Identifier: Apache-2.0
/* What the text and the JSON form of the ranking share: what is to be known besides, in sentences.
 */
#include "sink/rank.h"

#include "base/units.h"

const struct quota_level *rank_limit(const struct rank_report *report)
{
	return report->level >= 0 ? &report->quota.levels[report->level] : NULL;
}

static bool is_asked(const struct rank_report *report, const struct rank_candidate *candidate)
{
	return candidate->cgroup && cgroup_is_below(candidate->cgroup, report->asked);
}

/* Where more is weighed than the cgroup that was asked for: how its own processes stand. */
static void put_first_inside(struct buf *buf, const struct rank_report *report)
{
	const struct ranking *ranking = &report->ranking;

	for (size_t i = 0; i < ranking->eligible; i++) {
		const struct rank_candidate *candidate = &ranking->candidates[i];

		if (!is_asked(report, candidate))
			continue;
		if (i > 0)
			buf_printf(buf, " The first of %s itself is number %zu: %s[%u].",
				report->asked, i + 1, candidate->task.comm, candidate->task.tgid);
		return;
	}
	buf_printf(buf, " None of %s itself may be chosen.", report->asked);
}

static void note_domain(struct buf *buf, const struct rank_report *report)
{
	const struct quota_level *limit = rank_limit(report);
	const struct quota *quota = &report->quota;

	/* The root has no limit, and is the machine. */
	if (!report->asked || report->level == 0 || (quota->level_count == 1 && quota->complete))
		return;
	if (limit) {
		buf_printf(buf, "%s has no limit of its own: the nearest above it is that of %s (",
			report->asked, limit->cgroup);
		units_bytes(buf, limit->limits.max_bytes);
		buf_puts(buf, "), and all processes in and below that are weighed.");
	} else {
		buf_printf(buf,
			"%s has no limit of its own, nor has any cgroup above it%s: the limit is the "
			"machine's memory, and all processes are weighed.",
			report->asked, quota->complete ? "" : " that can be seen from here");
	}
	put_first_inside(buf, report);
}

/* A level above may be full before the one that was asked about. */
static void note_nearer(struct buf *buf, const struct rank_report *report)
{
	const struct quota_level *limit = rank_limit(report);
	uint64_t left;
	int nearest;

	if (!limit)
		return;
	nearest = quota_nearest(&report->quota, &left);
	if (nearest < 0 || nearest == report->level)
		return;
	buf_printf(buf, "%s is nearer to its limit: ", report->quota.levels[nearest].cgroup);
	units_bytes(buf, left);
	buf_puts(buf,
		" are left there, page cache that can be dropped not counted. If it is hit first, "
		"all processes in and below that are weighed.");
}

static void note_machine_first(struct buf *buf, const struct rank_report *report)
{
	const struct quota_level *limit = rank_limit(report);
	uint64_t available = report->quota.host.available_bytes, max, usage;

	if (!limit || available == UNKNOWN_U64)
		return;
	max = limit->limits.max_bytes;
	usage = limit->limits.usage_bytes;
	if (usage == UNKNOWN_U64 || usage > max || available >= max - usage)
		return;
	buf_puts(buf, "The machine has less available (");
	units_bytes(buf, available);
	buf_puts(buf, ") than that limit has left (");
	units_bytes(buf, max - usage);
	buf_puts(buf, "): if its memory is out first, all processes are weighed.");
}

static void note_group(struct buf *buf, const struct rank_report *report)
{
	const struct ranking *ranking = &report->ranking;
	size_t members = 0;

	if (!report->oom_group[0])
		return;
	for (size_t i = 0; i < ranking->count; i++) {
		const struct rank_candidate *candidate = &ranking->candidates[i];

		/* With -1000 it stays, and so does init; whatever else speaks against choosing one
		 * does not keep it from dying with the others. */
		if (candidate->cgroup && candidate->task.oom_score_adj != -1000 &&
			!(candidate->task.flags & (EV_TASK_INIT | EV_TASK_NO_MM)) &&
			cgroup_is_below(candidate->cgroup, report->oom_group))
			members++;
	}
	buf_printf(buf, "memory.oom.group is set on %s: all its processes die together (%zu).",
		report->oom_group, members);
}

static void note_nobody(struct buf *buf, const struct rank_report *report)
{
	const struct oom_rules *rules = &report->rules;
	const struct quota_level *limit = rank_limit(report);

	if (rules->panic_on_oom == 2 || (rules->panic_on_oom == 1 && !limit))
		buf_printf(buf, "vm.panic_on_oom is %d: the kernel panics and kills nobody.",
			rules->panic_on_oom);
	else if (limit && rules->kill_disabled == 1)
		buf_printf(buf,
			"oom_kill_disable is set in memory.oom_control of %s: nobody is killed, who "
			"asks for memory there waits.",
			limit->cgroup);
	else if (!limit && rules->kill_allocating_task == 1)
		buf_puts(buf,
			"vm.oom_kill_allocating_task is set: whoever asks for memory when none is left "
			"is killed, whatever its points.");
}

static void note_ties(struct buf *buf, const struct rank_report *report)
{
	size_t ties = report->ranking.ties;

	if (ties)
		buf_printf(buf,
			"%zu more %s as many points. Of equals the kernel takes the one that it comes "
			"to last: as a rule the one that started, or joined, last.",
			ties, ties == 1 ? "has" : "have");
}

static void note_unreadable(struct buf *buf, const struct rank_report *report)
{
	size_t count = report->unreadable;

	if (count)
		buf_printf(buf, "%zu more %s not be read, and %s not in this ranking: %s.", count,
			count == 1 ? "process could" : "processes could", count == 1 ? "is" : "are",
			report->unreadable_why);
}

static void note_unseen(struct buf *buf, const struct rank_report *report)
{
	if (report->own_pid_namespace)
		buf_puts(buf,
			"Seen from a pid namespace of its own: only its processes are ranked, by their "
			"pids in it.");
	if (report->hidden)
		buf_printf(buf,
			"%s/proc is mounted with hidepid: other users' processes are not ranked.",
			report->own_pid_namespace ? " " : "");
}

static void note_ceiling(struct buf *buf, const struct rank_report *report)
{
	if (report->ranking.total_pages == UNKNOWN_U64)
		buf_puts(buf,
			"How much oom_score_adj weighs is not known (swap or swappiness cannot be "
			"read): it is left out of the points.");
}

static void note_formula(struct buf *buf, const struct rank_report *report)
{
	const struct ranking *ranking = &report->ranking;

	for (size_t i = 0; i < ranking->eligible && !ranking->score_agrees; i++) {
		if (ranking->candidates[i].oom_score == UNKNOWN_U64)
			continue;
		buf_puts(buf,
			"The oom_score of no process is what Linux 5.9 and newer make of it: this "
			"kernel may weigh otherwise.");
		return;
	}
}

bool rank_note(struct buf *buf, const struct rank_report *report, unsigned int index)
{
	static void (*const notes[])(struct buf *, const struct rank_report *) = {
		note_nobody,
		note_domain,
		note_nearer,
		note_machine_first,
		note_group,
		note_ties,
		note_unreadable,
		note_unseen,
		note_ceiling,
		note_formula,
	};

	if (index >= sizeof(notes) / sizeof(notes[0]))
		return false;
	notes[index](buf, report);
	return true;
}
