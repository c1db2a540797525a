// SPDX-License-Identifier: Apache-2.0
#include "judge/run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/units.h"
#include "judge/verdict_parts.h"

#define SHELL_BASE 128 /* a shell tells of a signal N by 128+N: POSIX, 2.8.2 */
#define SIGNAL_MAX 64

/* --- names --- */

const char *run_signal_name(uint32_t signal)
{
	static char text[24];
	const char *name = signal <= SIGNAL_MAX ? sigabbrev_np((int)signal) : NULL;

	if (name)
		snprintf(text, sizeof(text), "SIG%s", name);
	else
		snprintf(text, sizeof(text), "signal %u", signal);
	return text;
}

const char *run_measure_name(enum run_measure measure)
{
	static const char *const names[] = {[RUN_MEASURE_NONE] = NULL,
		[RUN_MEASURE_CGROUP] = "cgroup",
		[RUN_MEASURE_PSS] = "pss",
		[RUN_MEASURE_ONE] = "rss",
		[RUN_MEASURE_RSS] = "rss-sum",
		[RUN_MEASURE_MAXRSS] = "maxrss",
		[RUN_MEASURE_BELOW] = "below"};

	return names[measure];
}

const char *run_watch_name(enum run_watch watch)
{
	static const char *const names[] = {[RUN_WATCH_NONE] = "none",
		[RUN_WATCH_CGROUP] = "cgroup",
		[RUN_WATCH_TRACE] = "bpf"};

	return names[watch];
}

/* --- facts asked for more than once --- */

static uint32_t signal_of(const struct run_facts *facts)
{
	return WIFSIGNALED(facts->status) ? (uint32_t)WTERMSIG(facts->status) : 0;
}

static uint32_t told_signal(const struct run_facts *facts)
{
	int code = WIFEXITED(facts->status) ? WEXITSTATUS(facts->status) : 0;

	return code > SHELL_BASE && code <= SHELL_BASE + SIGNAL_MAX ? code - SHELL_BASE : 0;
}

static unsigned int kept(unsigned int total, unsigned int room)
{
	return total < room ? total : room;
}

static bool is_victim(const struct run_oom *oom, uint32_t pid)
{
	for (unsigned int i = 0; i < oom->victim_count && i < RUN_VICTIMS; i++)
		if (oom->pids[i] == pid)
			return true;
	return false;
}

/* The one that the command itself died in, else the last. */
static const struct run_oom *oom_of(const struct run_facts *facts)
{
	const struct run_told *told = &facts->told;
	unsigned int count = kept(told->oom_total, RUN_OOMS);

	for (unsigned int i = 0; i < count; i++)
		if (is_victim(&told->ooms[i], facts->pid))
			return &told->ooms[i];
	return count ? &told->ooms[count - 1] : NULL;
}

/* The last by that signal; of the command itself, or of another one. */
static const struct run_kill *kill_of(const struct run_facts *facts, uint32_t signal, bool of_root)
{
	const struct run_told *told = &facts->told;

	for (unsigned int i = kept(told->kill_total, RUN_KILLS); i > 0; i--)
		if (told->kills[i - 1].root == of_root && told->kills[i - 1].signal == signal)
			return &told->kills[i - 1];
	return NULL;
}

static const struct run_dead *dead_of(const struct run_facts *facts, uint32_t signal)
{
	const struct run_told *told = &facts->told;

	for (unsigned int i = kept(told->dead_total, RUN_DEAD); i > 0; i--)
		if (told->dead[i - 1].signal == signal)
			return &told->dead[i - 1];
	return NULL;
}

/* The command's own last one, else the last of all. NULL: there was none. */
static const struct run_refusal *refusal_of(const struct run_facts *facts)
{
	const struct run_told *told = &facts->told;
	unsigned int count = kept(told->refusal_total, RUN_REFUSALS);

	for (unsigned int i = count; i > 0; i--)
		if (told->refusals[i - 1].pid == facts->pid)
			return &told->refusals[i - 1];
	return count ? &told->refusals[count - 1] : NULL;
}

static bool traced(const struct run_facts *facts)
{
	return facts->told.watch == RUN_WATCH_TRACE;
}

static const char *duration(uint64_t ns)
{
	static char texts[2][32];
	static unsigned int turn;
	char *text = texts[turn++ % 2];
	struct buf buf;

	buf_init(&buf, text, sizeof(texts[0]));
	units_duration_ns(&buf, ns);
	return text;
}

/* --- verdicts --- */

static struct verdict *add(struct run_judgement *ret, const char *id, enum confidence confidence)
{
	struct verdict *verdict;

	if (ret->verdict_count == RUN_VERDICTS)
		return NULL;
	verdict = &ret->verdicts[ret->verdict_count++];
	*verdict = (struct verdict) {.id = id, .confidence = confidence};
	return verdict;
}

static void add_copy(struct run_judgement *ret, const struct verdict *verdict)
{
	struct verdict *copy = verdict->id ? add(ret, verdict->id, verdict->confidence) : NULL;

	if (copy)
		*copy = *verdict;
}

static bool explains_signal(const struct run_facts *facts, const struct run_oom *oom)
{
	return signal_of(facts) == SIGKILL && is_victim(oom, facts->pid);
}

/* true: it is what ended the command. */
static bool judge_oom(const struct run_facts *facts, struct run_judgement *ret)
{
	const struct run_oom *oom = oom_of(facts);
	struct verdict *verdict;
	bool root;

	if (!oom)
		return false;
	root = is_victim(oom, facts->pid);
	if (oom->has_story)
		add_copy(ret, &oom->story);
	verdict = add(ret, "oom-killed", oom->certain ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY);
	if (!verdict)
		return root;
	if (oom->first.id) {
		*verdict = oom->first;
		verdict->id = "oom-killed";
		if (!oom->certain && verdict->confidence == CONFIDENCE_CERTAIN)
			verdict->confidence = CONFIDENCE_LIKELY;
	}
	verdict_claim(verdict, "The OOM killer killed %s[%u]%s.%s%s", oom->comm, oom->pids[0],
		oom->pids[0] == facts->pid ? ""
		: root			   ? ", which it had started, and the command with it"
					   : ", which it had started",
		oom->first.id ? " " : "", oom->first.id ? oom->first.claim : "");
	if (facts->told.oom_total > 1)
		verdict_evidence(verdict, "%u times while it ran", facts->told.oom_total);
	return explains_signal(facts, oom);
}

/* Without a trace: that the kernel counted kills where the command ran. */
static bool judge_counted(const struct run_facts *facts, struct run_judgement *ret)
{
	const struct run_cgroup *cgroup = &facts->cgroup;
	bool killed = signal_of(facts) == SIGKILL || told_signal(facts) == SIGKILL;
	struct verdict *verdict;

	if (facts->told.oom_total || traced(facts) || cgroup->oom_kills == UNKNOWN_U64 ||
		!cgroup->oom_kills || (!cgroup->own && !killed))
		return false;
	verdict = add(ret, "oom-killed", cgroup->own ? CONFIDENCE_CERTAIN : CONFIDENCE_POSSIBLE);
	verdict_claim(verdict,
		"The OOM killer killed %" PRIu64 " process%s in its cgroup while it ran%s.",
		cgroup->oom_kills, cgroup->oom_kills == 1 ? "" : "es",
		cgroup->own ? "" : ", and others may live there");
	verdict_evidence(verdict, "%s counted there", path_text(cgroup->path));
	return cgroup->own && signal_of(facts) == SIGKILL;
}

static void name_sender(const struct run_facts *facts, struct verdict *verdict, uint32_t signal)
{
	if (facts->passed_signal == signal) {
		if (facts->passed_by_kernel)
			verdict_evidence(
				verdict, "the kernel sent it, as for a key of the terminal");
		else
			verdict_evidence(verdict,
				"sent to oomsnoop by pid %u, uid %u, and passed on",
				facts->passed_pid, facts->passed_uid);
	} else if (!traced(facts)) {
		verdict_evidence(verdict, "who sent it is not known: %s",
			facts->why_not_traced[0] ? facts->why_not_traced : "nothing watched");
	} else if (signal == SIGKILL) {
		verdict_evidence(verdict, "no record of who sent it was seen");
	}
}

static void judge_signal(const struct run_facts *facts, struct run_judgement *ret, bool explained)
{
	uint32_t signal = signal_of(facts);
	const struct run_kill *kill = kill_of(facts, signal, true);
	struct verdict *verdict;

	if (explained)
		return;
	if (kill) {
		add_copy(ret, &kill->first);
		return;
	}
	verdict = add(ret, "ended-by-signal", CONFIDENCE_CERTAIN);
	verdict_claim(verdict, "It was ended by %s%s.", run_signal_name(signal),
		WCOREDUMP(facts->status) ? ", and left a core dump" : "");
	name_sender(facts, verdict, signal);
}

static void judge_shell(const struct run_facts *facts, struct run_judgement *ret, uint32_t signal)
{
	const struct run_kill *kill = kill_of(facts, signal, false);
	const struct run_dead *dead = dead_of(facts, signal);
	const struct run_oom *oom = signal == SIGKILL ? oom_of(facts) : NULL;
	const char *comm = oom ? oom->comm : dead ? dead->comm : kill->comm;
	uint32_t pid = oom ? oom->pids[0] : dead ? dead->pid : kill->pid;
	struct verdict *verdict = add(ret, "shell-told-of-child", CONFIDENCE_CERTAIN);

	verdict_claim(verdict,
		"It ended with %u, as a shell does when what it ran was ended by %s: %s[%u] was.",
		SHELL_BASE + signal, run_signal_name(signal), comm, pid);
	if (kill && !oom)
		add_copy(ret, &kill->first);
}

/* 128+N, and nobody of the family is known to have been ended by signal N. */
static void judge_alone(const struct run_facts *facts, struct run_judgement *ret, uint32_t signal)
{
	const struct run_told *told = &facts->told;
	struct verdict *verdict;

	if (traced(facts) && told->from_start) {
		verdict = add(ret, "exited-by-itself", CONFIDENCE_CERTAIN);
		verdict_claim(verdict, "No signal killed it: it exited with %u by itself.",
			SHELL_BASE + signal);
		verdict_evidence(verdict, "none of its %u processes was ended by %s", told->members,
			run_signal_name(signal));
		return;
	}
	if (traced(facts)) {
		verdict = add(ret, "exited-by-itself", CONFIDENCE_LIKELY);
		verdict_claim(verdict,
			"No signal was seen to kill it or what it ran: it exited with %u by itself.",
			SHELL_BASE + signal);
		verdict_evidence(
			verdict, "its first %s were not watched", duration(told->attached_ns));
		return;
	}
	verdict = add(ret, "exited-unwatched", CONFIDENCE_CERTAIN);
	verdict_claim(verdict,
		"It exited with %u: by itself, or as a shell that tells that what it ran was ended by %s.",
		SHELL_BASE + signal, run_signal_name(signal));
	verdict_evidence(verdict, "which of the two is not known: %s",
		facts->why_not_traced[0] ? facts->why_not_traced : "nothing watched");
}

static void evidence_of_counts(const struct run_facts *facts, struct run_judgement *ret)
{
	const struct run_cgroup *cgroup = &facts->cgroup;

	/* In a cgroup that all it ran was in. */
	if (cgroup->oom_kills == 0 && ret->verdict_count)
		verdict_evidence(&ret->verdicts[ret->verdict_count - 1],
			"the OOM killer killed nobody in %s meanwhile", path_text(cgroup->path));
}

/* That it ended for this reason is not claimed: only what happened, and how it ended. */
static void judge_refused(
	const struct run_facts *facts, struct run_judgement *ret, const struct run_refusal *refusal)
{
	struct verdict *verdict = add(ret, refusal->first.id, refusal->first.confidence);

	*verdict = refusal->first;
	verdict_claim(verdict, "%s; %s ended with %d", refusal->first.claim,
		refusal->pid == facts->pid ? "it" : "the command", WEXITSTATUS(facts->status));
}

/* Where something else comes first. */
static void evidence_of_refusal(const struct run_facts *facts, struct run_judgement *ret)
{
	const struct run_refusal *refusal = refusal_of(facts);

	if (refusal && strcmp(ret->verdicts[0].id, refusal->first.id) != 0)
		verdict_evidence(&ret->verdicts[0], "%s", refusal->first.claim);
}

static void judge_exit(const struct run_facts *facts, struct run_judgement *ret)
{
	uint32_t signal = told_signal(facts);
	bool known = signal && (kill_of(facts, signal, false) || dead_of(facts, signal) ||
				       (signal == SIGKILL && oom_of(facts)));
	const struct run_refusal *refusal = refusal_of(facts);
	struct verdict *verdict;

	if (known) {
		judge_shell(facts, ret, signal);
	} else if (signal && !(signal == SIGKILL && ret->verdict_count)) {
		judge_alone(facts, ret, signal);
		if (signal == SIGKILL)
			evidence_of_counts(facts, ret);
	} else if (refusal && WEXITSTATUS(facts->status) && !ret->verdict_count) {
		judge_refused(facts, ret, refusal);
	} else {
		verdict = add(ret, "ended", CONFIDENCE_CERTAIN);
		verdict_claim(verdict, "It ended by itself with %d.", WEXITSTATUS(facts->status));
	}
}

/* --- what it held --- */

static void measure(const struct run_facts *facts, struct run_judgement *ret)
{
	const struct run_peak *peak = &facts->peak;
	bool above;

	ret->peak_bytes = UNKNOWN_U64;
	if (facts->cgroup.own && facts->cgroup.peak_bytes != UNKNOWN_U64) {
		ret->measure = RUN_MEASURE_CGROUP;
		ret->peak_bytes = facts->cgroup.peak_bytes;
		return;
	}
	if (peak->rss_bytes && peak->rss_processes <= 1) {
		ret->measure = RUN_MEASURE_ONE;
		ret->peak_bytes = peak->rss_bytes;
	} else if (peak->rss_bytes && peak->pss_bytes != UNKNOWN_U64 && !peak->pss_late) {
		ret->measure = RUN_MEASURE_PSS;
		ret->peak_bytes = peak->pss_bytes;
	} else if (peak->rss_bytes) {
		ret->measure = RUN_MEASURE_RSS;
		ret->peak_bytes = peak->rss_bytes;
	}
	/* Between two looks it may have held more. */
	above = facts->maxrss_bytes > facts->maxrss_floor_bytes;
	if (facts->maxrss_bytes == UNKNOWN_U64 || !facts->maxrss_bytes ||
		(ret->measure != RUN_MEASURE_NONE &&
			(!above || facts->maxrss_bytes <= ret->peak_bytes)))
		return;
	ret->measure = above ? RUN_MEASURE_MAXRSS : RUN_MEASURE_BELOW;
	ret->peak_bytes = facts->maxrss_bytes;
}

static void miss(struct run_judgement *ret, const char *field, const char *why)
{
	if (ret->missing_count < RUN_MISSING)
		ret->missing[ret->missing_count++] = (struct missing) {field, why};
}

static void judge_missing(const struct run_facts *facts, struct run_judgement *ret)
{
	if (!traced(facts))
		miss(ret, "kills",
			facts->why_not_traced[0] ? facts->why_not_traced : "nothing watched");
	if (ret->measure == RUN_MEASURE_NONE)
		miss(ret, "peak_bytes", "it ended before it was looked at");
	if (facts->alive == UNKNOWN_U64)
		miss(ret, "alive", "/proc could not be read");
	if (facts->cgroup.oom_kills == UNKNOWN_U64)
		miss(ret, "cgroup_oom_kills", "its cgroup's count of kills is not readable here");
}

/* How it ended is evidence in any case. */
static void show_status(const struct run_facts *facts, struct verdict *verdict)
{
	if (verdict->evidence_count)
		return;
	if (signal_of(facts))
		verdict_evidence(verdict, "wait status: %s", run_signal_name(signal_of(facts)));
	else
		verdict_evidence(verdict, "wait status: exit code %d", WEXITSTATUS(facts->status));
}

void judge_run(const struct run_facts *facts, struct run_judgement *ret)
{
	bool explained;

	memset(ret, 0, sizeof(*ret));
	ret->told_signal = told_signal(facts);
	measure(facts, ret);
	explained = judge_oom(facts, ret);
	explained |= judge_counted(facts, ret);
	if (signal_of(facts))
		judge_signal(facts, ret, explained);
	else
		judge_exit(facts, ret);
	for (unsigned int i = 0; i < ret->verdict_count; i++)
		show_status(facts, &ret->verdicts[i]);
	evidence_of_refusal(facts, ret);
	judge_missing(facts, ret);
}

bool run_is_quiet(const struct run_facts *facts, const struct run_judgement *judgement)
{
	return judgement->verdict_count == 1 && !strcmp(judgement->verdicts[0].id, "ended") &&
	       !facts->told.kill_total && !facts->told.refusal_total && !facts->cgroup.left;
}
