/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict_rules.h: the rules of the table. Each gets facts, and fills claim, evidence and
 * confidence of a verdict that is empty; false: it does not hold, whatever was filled. What a row
 * of the table says that a rule needs is known when it is asked.
 */
#ifndef OOMSNOOP_JUDGE_VERDICT_RULES_H
#define OOMSNOOP_JUDGE_VERDICT_RULES_H

#include "judge/kill_parts.h"
#include "judge/verdict_parts.h"

typedef bool incident_rule(const struct scene *scene, struct verdict *verdict);
typedef bool kill_rule(const struct kill_scene *scene, struct verdict *verdict);

/* verdicts_limit.c */
incident_rule rule_operator, rule_limit_lowered, rule_own_limit, rule_ancestor_limit,
	rule_host_exhausted, rule_host_larger, rule_node_bound, rule_order;

/* verdicts_held.c */
incident_rule rule_largest, rule_not_largest, rule_swap_heavy, rule_tmpfs, rule_kernel_memory,
	rule_dirty, rule_unexplained, rule_no_victim;

/* verdicts_log.c: what the kernel's own account of the machine shows */
incident_rule rule_log_zones, rule_log_host, rule_log_family, rule_hugetlb, rule_log_tmpfs,
	rule_log_kernel_memory, rule_log_dirty, rule_log_unexplained;

/* verdicts_growth.c */
incident_rule rule_family_holds, rule_family_grew, rule_copies, rule_grew_most,
	rule_no_process_grew, rule_spike, rule_leak;

/* verdicts_more.c */
incident_rule rule_group_kill, rule_repeated, rule_repeated_name, rule_throttled;
/* Is there a level with memory.high, its usage and how often it was passed? */
bool scene_knows_high(const struct scene *scene);

/* verdicts_self.c */
incident_rule rule_victim_uncertain, rule_victim_not_seen, rule_limit_not_here;

/* kills.c */
kill_rule rule_cleanup, rule_daemon, rule_cgroup, rule_process, rule_kernel, rule_shm_full,
	rule_fault;

#endif /* OOMSNOOP_JUDGE_VERDICT_RULES_H */
