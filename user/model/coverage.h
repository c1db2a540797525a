/* SPDX-License-Identifier: Apache-2.0 */
/* coverage.h: what a tracer could see when it told of an incident, so that the judge can say what
 * is missing and why. Kept with each incident, since it changes while a run goes on. */
#ifndef OOMSNOOP_MODEL_COVERAGE_H
#define OOMSNOOP_MODEL_COVERAGE_H

#include <stdbool.h>

/* Which of the two sums of resident sizes the kernel's own points were made from. */
enum rss_match {
	RSS_MATCH_UNKNOWN =
		0, /* the kernel's own points were not seen, or the sums are the same by nature */
	RSS_MATCH_APPROX = 1,
	RSS_MATCH_EXACT = 2,
	RSS_MATCH_BOTH = 3,
	RSS_MATCH_NEITHER = 4, /* the counters moved between the kernel's reading and ours */
};

/* What the tracer could not see, so that the judge can name it. */
struct coverage {
	bool full_tier; /* oom_control was within reach: oom_kill_process */
	bool candidates_hook;
	bool exit_hook;
	bool freed_hook;
	bool reaper_hook;
	bool signal_hook;
	bool process_hook; /* fork and exec */
	/* RSS_MATCH_APPROX or _EXACT once an earlier incident of this kernel showed which sum it
	 * takes; else _UNKNOWN */
	enum rss_match kernel_sum;
	bool census;
	bool recorder; /* history was kept */
	bool charge_hook; /* charges were counted for each process */
	bool faults_hook; /* page faults can be counted when it gets tight */
	const char *faults_why; /* why not: told in `missing`; NULL: they can */
};

#endif /* OOMSNOOP_MODEL_COVERAGE_H */
