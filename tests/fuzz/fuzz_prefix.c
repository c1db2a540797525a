// SPDX-License-Identifier: Apache-2.0
/*
 * One line of any bytes: its prefix, its words, the line as JSON. Every text that is told of must
 * lie in the line. The line is a copy of its very size, so that a read past its end is seen.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "source/klog_entry.h"
#include "source/klog_line.h"
#include "source/klog_prefix.h"

static struct klog_entry entry;
/* A head of a table: a row is none without. */
static const char head[] = "[ pid ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem "
			   "pgtables_bytes swapents oom_score_adj name";

static void check_within(struct scan part, const char *line, size_t len)
{
	if (!part.at && !part.end)
		return;
	if (part.at < line || part.end > line + len || part.at > part.end)
		abort();
}

static void check_texts(const struct klog_line *line, const char *data, size_t len)
{
	switch (line->kind) {
	case KLOG_INVOKED:
		check_within(line->invoked.comm, data, len);
		break;
	case KLOG_TASK_IN:
		check_within(line->task_in.task, data, len);
		check_within(line->task_in.limit, data, len);
		break;
	case KLOG_STATS:
		check_within(line->stats.path, data, len);
		check_within(line->stats.list, data, len);
		break;
	case KLOG_SUMMARY:
		check_within(line->summary.oom_memcg, data, len);
		check_within(line->summary.task_memcg, data, len);
		check_within(line->summary.comm, data, len);
		break;
	case KLOG_CHOICE:
	case KLOG_SHARING:
	case KLOG_EXITING:
		check_within(line->choice.comm, data, len);
		break;
	case KLOG_KILL:
		check_within(line->kill.comm, data, len);
		break;
	case KLOG_ROW:
		check_within(line->row.comm, data, len);
		break;
	case KLOG_GROUP:
		check_within(line->path, data, len);
		break;
	default:
		break;
	}
}

static void check_prefix(const char *data, size_t len, struct klog_prefix *prefix)
{
	klog_prefix_parse(data, len, prefix);
	check_within(prefix->body, data, len);
	check_within(prefix->host, data, len);
	check_within(prefix->caller, data, len);
	check_within(prefix->stamp.text, data, len);
}

static void check_entry(struct scan line)
{
	klog_entry_begin(&entry);
	if (klog_entry_json(&entry, line) && (!entry.has_text || entry.len > KLOG_TEXT_MAX))
		abort();
	klog_entry_begin(&entry);
	klog_entry_pretty(&entry, line);
	klog_entry_assignment(&entry, line);
	if (!memchr(entry.host, '\0', sizeof(entry.host)) ||
		!memchr(entry.boot_id, '\0', sizeof(entry.boot_id)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);
	struct klog_layout layout;
	struct klog_prefix prefix;
	struct klog_line line;

	if (!copy)
		abort();
	memcpy(copy, data, size);
	klog_line_parse(scan_of(head, sizeof(head) - 1), &(struct klog_layout) {0}, &line);
	if (line.kind != KLOG_TABLE)
		abort();
	layout = line.table;
	check_prefix(copy, size, &prefix);
	klog_line_parse(prefix.body, &layout, &line);
	check_texts(&line, copy, size);
	klog_line_parse(scan_of(copy, size), &(struct klog_layout) {0}, &line);
	check_texts(&line, copy, size);
	check_entry(scan_of(copy, size));
	free(copy);
	return 0;
}
