// SPDX-License-Identifier: Apache-2.0
/* Who died for whom: a victim that is large only together with what was forked from it. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "judge/run.h"
#include "judge/verdict_parts.h"

#define COPIES_WORTH 8 /* of what the family holds: less by copying is not told */

static const struct verdict *verdict_of(const struct judgement *judgement, const char *id)
{
	for (unsigned int i = 0; i < judgement->verdict_count && i < VERDICTS_MAX; i++)
		if (!strcmp(judgement->verdicts[i].id, id))
			return &judgement->verdicts[i];
	return NULL;
}

static uint64_t known(uint64_t bytes)
{
	return bytes == UNKNOWN_U64 ? 0 : bytes;
}

/* Of the limit's cgroup, or of the machine, when the kernel killed; 0: not known. */
static uint64_t in_use(const struct growth_picture *picture)
{
	uint64_t last;

	if (!picture->domain_known || !picture->point_count ||
		picture->point_count > PICTURE_POINTS)
		return 0;
	last = picture->points[picture->point_count - 1];
	return known(last);
}

/* The victim's, where it holds most of what is in use. */
static const struct picture_family *family_of(
	const struct growth_picture *picture, const struct task_facts *victim)
{
	uint64_t usage = in_use(picture);

	for (unsigned int i = 0; i < picture->family_count && i < PICTURE_FAMILIES; i++) {
		const struct picture_family *family = &picture->families[i];
		uint64_t bytes = known(family->private_bytes) + known(family->shared_bytes);

		if (family->members > 1 && usage && bytes > usage / 2 &&
			(family->root_tgid == victim->tgid || family->root_tgid == victim->ppid))
			return family;
	}
	return NULL;
}

static void put_duration(struct buf *text, const struct growth_picture *picture,
	const struct picture_family *family, const struct trend *trend)
{
	uint64_t from = picture->from_ns;

	if (trend->start_ns > from)
		from = trend->start_ns;
	if (family->root_start_ns > from)
		from = family->root_start_ns;
	if (picture->to_ns > from)
		units_duration_ns(text, picture->to_ns - from);
	else
		buf_puts(text, "moments");
}

static void put_held(struct buf *text, const struct growth_picture *picture,
	const struct picture_family *family, const struct trend *trend)
{
	uint64_t usage = in_use(picture), copies = known(family->cow_bytes);
	uint64_t bytes = known(family->private_bytes) + known(family->shared_bytes);

	if (bytes < usage)
		units_bytes(text, bytes);
	else
		buf_puts(text, "about all");
	buf_puts(text, " of the ");
	units_bytes(text, usage);
	buf_puts(text, " in use");
	if (copies < bytes / COPIES_WORTH)
		return;
	buf_puts(text, family->cow_upper_bound ? ", up to " : ", ");
	units_bytes(text, copies < usage ? copies : usage);
	buf_puts(text, " of it private copies made in the last ");
	put_duration(text, picture, family, trend);
}

/* The highest of those that were weighed, or the highest only by its oom_score_adj. */
static void put_choice(
	struct buf *text, const struct incident *incident, const struct judgement *judgement)
{
	const struct ranked *first = &judgement->ranked[0];
	const struct task_facts *victim = &incident->victims[0].task;
	int64_t own;

	if (judgement->ranked_count < 2 || first->immune ||
		incident->candidates[first->index].task.tgid != victim->tgid)
		return;
	own = first->badness.points - first->badness.adj_pages;
	for (unsigned int i = 1; i < judgement->ranked_count; i++) {
		const struct ranked *other = &judgement->ranked[i];

		if (other->immune || other->badness.points - other->badness.adj_pages <= own)
			continue;
		buf_printf(text,
			"; it was picked since its oom_score_adj of %d puts it before larger ones",
			victim->oom_score_adj);
		return;
	}
	buf_puts(text, "; it was picked since its ");
	units_count(text, first->badness.points);
	buf_printf(text, " points are the most of %u", judgement->ranked_count);
}

bool judge_story(
	const struct incident *incident, const struct judgement *judgement, struct verdict *ret)
{
	const struct verdict *holds = verdict_of(judgement, "fork-family");
	const struct growth_picture *picture = &incident->growth;
	const struct task_facts *victim = &incident->victims[0].task;
	const struct picture_family *family;
	struct buf text;

	if (!holds || incident->outcome != OUTCOME_KILLED || !incident->victim_count)
		return false;
	family = family_of(picture, victim);
	if (!family)
		return false;
	*ret = *holds;
	ret->id = "died-for-workers";
	buf_init(&text, ret->claim, sizeof(ret->claim));
	buf_printf(&text, "%s[%u] died for its ", victim->comm, victim->tgid);
	if (family->root_tgid == victim->tgid)
		buf_printf(&text, "workers: it and the %u process%s it forked hold ",
			family->members - 1, family->members == 2 ? "" : "es");
	else
		buf_printf(&text,
			"family: the %u processes that %s[%u] forked, itself counted, hold ",
			family->members, family->comm, family->root_tgid);
	put_held(&text, picture, family, &judgement->trend);
	put_choice(&text, incident, judgement);
	buf_putc(&text, '.');
	return !text.full;
}
