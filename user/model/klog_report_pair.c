// SPDX-License-Identifier: Apache-2.0
/* Two reports that go on at once on one host: what was taken for the wrong one's is handed back. */
#include <string.h>

#include "model/klog_report_parts.h"

bool klog_is_of_another(const struct klog_report *report, const struct klog_line *line)
{
	if (line->kind == KLOG_TASK_IN)
		return report->has_limit_path && report->has_task_path &&
		       !(scan_equals(&line->task_in.limit, report->limit_path) &&
			       scan_equals(&line->task_in.task, report->task_path));
	if (line->kind == KLOG_TABLE)
		return report->has_table;
	return line->kind == KLOG_USAGE && report->usage_kb[line->usage.which] != UNKNOWN_U64 &&
	       (report->usage_kb[line->usage.which] != line->usage.usage_kb ||
		       report->limit_kb[line->usage.which] != line->usage.limit_kb);
}

static int stage(const struct klog_report *report)
{
	if (report->has_table)
		return 4;
	if (report->has_stats || report->has_mem_info)
		return 3;
	if (report->usage_kb[KLOG_USAGE_MEMORY] != UNKNOWN_U64)
		return 2;
	return report->has_limit_path;
}

bool klog_comes_next(const struct klog_report *older, const struct klog_report *newer,
	const struct klog_line *line)
{
	int at = line->kind == KLOG_USAGE ? 2 : line->kind == KLOG_TABLE ? 4 : 0;

	return older->has_limit_path && older->constraint == KLOG_CONSTRAINT_MEMCG &&
	       stage(older) > stage(newer) && stage(older) <= at;
}

static void hand_back_paths(struct klog_report *newer, struct klog_report *older)
{
	if (older->has_limit_path || !newer->has_limit_path)
		return;
	older->has_limit_path = true;
	older->has_task_path = newer->has_task_path;
	strcpy(older->limit_path, newer->limit_path);
	strcpy(older->task_path, newer->task_path);
	newer->has_limit_path = newer->has_task_path = false;
}

static void hand_back_usages(struct klog_report *newer, struct klog_report *older)
{
	for (int i = 0; i < 4; i++) {
		if (older->usage_kb[i] != UNKNOWN_U64)
			continue;
		older->usage_kb[i] = newer->usage_kb[i];
		older->limit_kb[i] = newer->limit_kb[i];
		newer->usage_kb[i] = newer->limit_kb[i] = UNKNOWN_U64;
	}
}

static void hand_back_table(struct klog_report *newer, struct klog_report *older)
{
	struct klog_task *rows = older->rows;
	size_t room = older->row_room;

	if (older->has_table || !newer->has_table)
		return;
	older->has_table = true;
	older->layout = newer->layout;
	older->rows = newer->rows;
	older->row_room = newer->row_room;
	older->row_count = newer->row_count;
	older->row_total = newer->row_total;
	newer->has_table = false;
	newer->rows = rows;
	newer->row_room = room;
	newer->row_count = newer->row_total = 0;
}

void klog_hand_back(struct klog_report *newer, struct klog_report *older)
{
	hand_back_paths(newer, older);
	hand_back_usages(newer, older);
	hand_back_table(newer, older);
	older->constraint = newer->constraint;
	if (!older->has_stats && newer->has_stats) {
		older->has_stats = true;
		older->stat = newer->stat;
		older->stats_in_parts = newer->stats_in_parts;
		older->stats_of_task = newer->stats_of_task;
		newer->has_stats = newer->stats_in_parts = newer->stats_of_task = false;
		memset(&newer->stat, 0xff, sizeof(newer->stat));
	}
}

const struct klog_task *klog_report_row(const struct klog_report *report, uint32_t pid)
{
	for (size_t i = 0; i < report->row_count; i++)
		if (report->rows[i].pid == pid || report->rows[i].tgid == pid)
			return &report->rows[i];
	return NULL;
}
