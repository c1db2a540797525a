// SPDX-License-Identifier: Apache-2.0
/* What is certain, and what is not, of a kill that was noticed from within its cgroup. */
#include "judge/verdict_rules.h"

const char *seen_text(const struct scene *scene)
{
	if (scene_is_self(scene))
		return "seen before the kill";
	return scene->incident->candidates_from_census ? "found right after the kill"
						       : "weighed by the kernel";
}

const char *self_limit_text(const struct scene *scene)
{
	return scene->incident->self.limit_sign == SELF_LIMIT_COUNTED
		       ? "its count of invocations of the OOM killer rose"
		       : "charges failed there since the look before, and it had been full";
}

static void evidence_of_counts(const struct scene *scene, struct verdict *verdict)
{
	const struct incident_self *self = &scene->incident->self;

	verdict_evidence(verdict, "the kernel counted %u %s, and %u %s", self->kills,
		self->kills == 1 ? "kill" : "kills", self->vanished,
		self->vanished == 1 ? "process vanished" : "processes vanished");
	verdict_evidence(verdict, "within %llu ms",
		(unsigned long long)(incident_within_ns(scene->incident) / 1000000));
	if (self->hidden)
		verdict_evidence(verdict, "%u processes of the cgroup cannot be seen from here",
			self->hidden);
}

bool rule_victim_uncertain(const struct scene *scene, struct verdict *verdict)
{
	const struct incident_self *self = &scene->incident->self;

	if (self->certainty != SELF_POSSIBLE)
		return false;
	verdict->confidence = CONFIDENCE_CERTAIN;
	if (self->vanished <= self->kills)
		verdict_claim(verdict,
			"What vanished may have ended by itself, since larger processes live on: what was killed may have come and gone between two looks.");
	else
		verdict_claim(verdict,
			"%u of the %u processes that vanished %s killed; which cannot be told from here. The largest is named first.",
			self->kills, self->vanished, self->kills == 1 ? "was" : "were");
	evidence_of_counts(scene, verdict);
	return true;
}

bool rule_victim_not_seen(const struct scene *scene, struct verdict *verdict)
{
	const struct incident_self *self = &scene->incident->self;

	if (!self->unseen)
		return false;
	verdict->confidence = CONFIDENCE_CERTAIN;
	verdict_claim(verdict,
		"Of %u %s no process was seen to vanish: it lived too briefly to be seen, or is one that cannot be seen from here.",
		self->unseen, self->unseen == 1 ? "kill" : "kills");
	evidence_of_counts(scene, verdict);
	return true;
}

/* Levels are seen from within, so that there is one at least. */
bool rule_limit_not_here(const struct scene *scene, struct verdict *verdict)
{
	const struct incident *incident = scene->incident;

	if (scene->ret->scope != SCOPE_UNKNOWN)
		return false;
	verdict->confidence = CONFIDENCE_LIKELY;
	verdict_claim(verdict,
		"No limit that can be seen from here was hit: it was that of a level above (a pod, a slice), or the machine was out of memory.");
	for (unsigned int i = 0; i < incident->level_count && i < 2; i++)
		verdict_evidence(verdict, "%s: no invocation of the OOM killer was counted there",
			incident->level_paths[i]);
	return true;
}
