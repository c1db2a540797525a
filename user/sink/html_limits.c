// SPDX-License-Identifier: Apache-2.0
/* What the limit's cgroup consisted of, the limits on the way up, and what came after. */
#include <stdlib.h>

#include "facts/host.h"
#include "sink/html_parts.h"
#include "sink/view.h"

#define COUNT_OF(list) ((unsigned int)(sizeof(list) / sizeof((list)[0])))
#define PARTS_MAX 12
#define BAR_WIDTH 1000
#define EXITS 12 /* told one by one */

/* --- composition --- */

struct part {
	const char *name;
	const char *class;
	uint64_t bytes;
};

struct parts {
	struct part list[PARTS_MAX];
	unsigned int count;
	uint64_t sum;
};

static void add_part(struct parts *parts, const char *name, const char *class, uint64_t bytes)
{
	if (bytes == UNKNOWN_U64 || parts->count == PARTS_MAX)
		return;
	parts->list[parts->count++] = (struct part) {name, class, bytes};
	parts->sum += bytes;
}

static uint64_t less(uint64_t whole, uint64_t part)
{
	if (whole == UNKNOWN_U64 || part == UNKNOWN_U64)
		return whole;
	return whole > part ? whole - part : 0;
}

/* What memory.stat counts twice is told once: tmpfs is in its file, most kinds in its kernel. */
static void parts_of(struct parts *parts, const struct html_view *view)
{
	const struct cgroup_stat *stat = &view->incident->stat;
	uint64_t other = stat->kernel_bytes;

	add_part(parts, "anonymous memory of processes", "anon", stat->anon_bytes);
	add_part(parts, "page cache", "cache", less(stat->file_bytes, stat->shmem_bytes));
	add_part(parts, "tmpfs and shared memory", "shmem", stat->shmem_bytes);
	add_part(parts, "kernel: slab", "slab", stat->slab_bytes);
	add_part(parts, "kernel: page tables", "tables", stat->pagetables_bytes);
	add_part(parts, "kernel: stacks", "stacks", stat->kernel_stack_bytes);
	add_part(parts, "kernel: per CPU", "percpu", stat->percpu_bytes);
	add_part(parts, "kernel: vmalloc", "vmalloc", stat->vmalloc_bytes);
	other = less(other, stat->slab_bytes);
	other = less(other, stat->pagetables_bytes);
	other = less(other, stat->kernel_stack_bytes);
	other = less(other, stat->percpu_bytes);
	other = less(other, stat->vmalloc_bytes);
	add_part(parts, "kernel: all else", "other", other);
	add_part(parts, "sockets", "sock", stat->sock_bytes);
	add_part(parts, "huge pages (hugetlb)", "hugetlb", stat->hugetlb_bytes);
	add_part(parts, "not explained by memory.stat", "none", view->judgement->unexplained_bytes);
}

static void put_bar(struct html_view *view, const struct parts *parts)
{
	struct html_out *out = &view->out;
	double at = 0;

	html_printf(out,
		"<svg class=\"bar\" viewBox=\"0 0 %d 28\" preserveAspectRatio=\"none\" role=\"img\" "
		"aria-label=\"Composition\">",
		BAR_WIDTH);
	for (unsigned int i = 0; i < parts->count && parts->sum > 0; i++) {
		double width = (double)parts->list[i].bytes / (double)parts->sum * BAR_WIDTH;

		html_printf(out,
			"<rect class=\"c-%s\" x=\"%.2f\" width=\"%.2f\" height=\"28\"><title>%s</title>"
			"</rect>",
			parts->list[i].class, at, width, parts->list[i].name);
		at += width;
	}
	html_raw(out, "</svg>\n");
}

static void put_part(struct html_view *view, const struct parts *parts, unsigned int i)
{
	const struct part *part = &parts->list[i];
	struct html_out *out = &view->out;
	uint64_t tenths =
		parts->sum > 0 ? (uint64_t)((unsigned __int128)part->bytes * 1000 / parts->sum) : 0;

	html_row(view, false);
	html_printf(out, "<td><i class=\"key c-%s\"></i>%s</td>", part->class, part->name);
	html_cell_bytes(view, part->bytes);
	html_printf(out, "<td class=\"n\" data-v=\"%llu\">%u.%u\xc2\xa0%%</td>",
		(unsigned long long)tenths, (unsigned int)(tenths / 10),
		(unsigned int)(tenths % 10));
	html_row_end(view);
}

void html_composition(struct html_view *view)
{
	static const struct html_column columns[] = {
		{"kind", false, NULL},
		{"size", true, NULL},
		{"share", true, NULL},
	};
	struct parts parts = {.count = 0};

	parts_of(&parts, view);
	if (parts.count == 0 || parts.sum == 0)
		return;
	html_section(view, "composition", "What it consisted of");
	html_raw(&view->out, "<p class=\"say\">By memory.stat of the cgroup whose limit was hit, "
			     "read ");
	html_raw(&view->out, view_self(view->incident) ? "at the last look before the kill"
			     : view_stat_at_kill(view->incident) ? "by the kernel at the kill"
								 : "just after the kill");
	if (view->incident->stat_usage_bytes != UNKNOWN_U64) {
		html_raw(&view->out, ", when ");
		html_bytes(&view->out, view->incident->stat_usage_bytes);
		html_raw(&view->out, " were in use");
	}
	html_raw(&view->out, ".</p>\n");
	put_bar(view, &parts);
	html_table(view, "Composition", columns, COUNT_OF(columns));
	for (unsigned int i = 0; i < parts.count; i++) {
		if (parts.list[i].bytes > 0)
			put_part(view, &parts, i);
	}
	html_table_end(view);
	html_section_end(view);
}

/* --- levels --- */

static void put_limit_cell(struct html_view *view, uint64_t pages)
{
	if (view_unlimited(pages, view->page_size))
		html_raw(&view->out, "<td class=\"n no\">none</td>");
	else
		html_cell_pages(view, pages);
}

static void put_level(struct html_view *view, unsigned int index)
{
	const struct incident_level *level = &view->incident->levels[index];
	bool hit = level == view_limit(view->incident, view->judgement);

	html_row(view, hit);
	html_cell_path(view, view->incident->level_paths[index]);
	put_limit_cell(view, level->max_pages);
	put_limit_cell(view, level->high_pages);
	html_cell_pages(view, level->usage_pages);
	html_cell_pages(view, level->watermark_pages);
	put_limit_cell(view, level->swap_max_pages);
	html_cell_pages(view, level->swap_usage_pages);
	html_cell_pages(view, level->freed_usage_pages);
	if (level->failcnt != UNKNOWN_U64 && level->failcnt <= INT64_MAX)
		html_cell_count(view, (int64_t)level->failcnt);
	else
		html_cell_none(view);
	html_cell_literal(view, hit ? (level->flags & EV_LEVEL_OOM_GROUP ? "hit, oom.group" : "hit")
				: level->flags & EV_LEVEL_OOM_GROUP ? "oom.group"
								    : "");
	html_row_end(view);
}

void html_levels(struct html_view *view)
{
	static const struct html_column v2[] = {
		{"cgroup", false, NULL},
		{"max", true, "memory.max"},
		{"high", true, "memory.high"},
		{"in use", true, "at the kill"},
		{"peak", true, "the most that was ever in use"},
		{"swap max", true, "memory.swap.max"},
		{"swap", true, "in use at the kill"},
		{"after", true, "in use once the victim's memory was gone"},
		{"refused", true, "how often a charge met the limit"},
		{"", false, NULL},
	};
	static const struct html_column v1[] = {
		{"cgroup", false, NULL},
		{"limit", true, "memory.limit_in_bytes"},
		{"soft", true, "memory.soft_limit_in_bytes"},
		{"in use", true, "at the kill"},
		{"peak", true, "the most that was ever in use"},
		{"with swap", true, "memory.memsw.limit_in_bytes"},
		{"used with swap", true, "memory and swap at the kill"},
		{"after", true, "in use once the victim's memory was gone"},
		{"refused", true, "how often a charge met the limit"},
		{"", false, NULL},
	};
	const struct incident *incident = view->incident;
	bool is_v2;

	if (incident->level_count == 0)
		return;
	is_v2 = view_imported(incident) ? !incident->log.limit_v1
					: (incident->levels[0].flags & EV_LEVEL_V2) != 0;
	html_section(view, "limits", "Limits on the way up");
	html_table(view, "Limits", is_v2 ? v2 : v1, COUNT_OF(v2));
	for (unsigned int i = 0; i < incident->level_count && i < EV_MAX_LEVELS; i++)
		put_level(view, i);
	html_table_end(view);
	html_section_end(view);
}

/* --- after --- */

static void put_moment(struct html_view *view, uint64_t at_ns)
{
	uint64_t kill_ns = view->incident->time_ns;

	html_raw(&view->out, "<li><time>+");
	if (at_ns > kill_ns)
		html_duration(&view->out, at_ns - kill_ns);
	else
		html_raw(&view->out, "0");
	html_raw(&view->out, "</time> ");
}

static int by_exit(const void *a, const void *b)
{
	const struct victim *left = *(const struct victim *const *)a;
	const struct victim *right = *(const struct victim *const *)b;

	return (left->exit_ns > right->exit_ns) - (left->exit_ns < right->exit_ns);
}

static void put_exit(struct html_view *view, const struct victim *victim)
{
	unsigned int index = (unsigned int)(victim - view->incident->victims);
	const struct task_facts *task = view_victim(view->incident, index);

	put_moment(view, victim->exit_ns);
	html_name(&view->out, view_comm_known(task) ? task->comm : "pid ", task->tgid);
	html_raw(&view->out, " was gone");
	if (victim->reaped)
		html_raw(&view->out, "; the kernel's reaper had taken its memory");
	html_raw(&view->out, "</li>\n");
}

static void put_exits(struct html_view *view)
{
	const struct incident *incident = view->incident;
	const struct victim *list[INCIDENT_VICTIMS];
	unsigned int count = 0;

	for (unsigned int i = 0; i < incident->victim_count && i < INCIDENT_VICTIMS; i++) {
		if (incident->victims[i].exited)
			list[count++] = &incident->victims[i];
	}
	qsort(list, count, sizeof(list[0]), by_exit);
	for (unsigned int i = 0; i < count; i++) {
		if (i < EXITS - 1 || i == count - 1)
			put_exit(view, list[i]);
		else if (i == EXITS - 1)
			html_printf(&view->out, "<li>\xe2\x80\xa6 %u more</li>\n", count - EXITS);
	}
}

/* Of a log there is no exit to tell it with. */
static void put_reaped(struct html_view *view)
{
	const struct incident *incident = view->incident;
	unsigned int count = 0;

	if (!view_imported(incident))
		return;
	for (unsigned int i = 0; i < incident->victim_count && i < INCIDENT_VICTIMS; i++)
		count += incident->victims[i].reaped;
	if (count > 0)
		html_printf(&view->out,
			"<li>the kernel's reaper took the memory of %u of them</li>\n", count);
}

static const char *closed_text(enum incident_closed closed)
{
	switch (closed) {
	case CLOSED_EXITED:
		return "every victim had exited and its memory had come back";
	case CLOSED_REAPED:
		return "the reaper had taken the memory; not all had exited";
	case CLOSED_TIMEOUT:
		return "the wait for their end was over";
	case CLOSED_EVICTED:
		return "no longer followed: newer kills needed the room";
	case CLOSED_STOPPED:
		return "no longer followed: tracing was stopped";
	case CLOSED_AT_ONCE:
		return "nothing to wait for";
	default:
		return "not followed to its end";
	}
}

void html_after(struct html_view *view)
{
	const struct incident *incident = view->incident;
	struct html_out *out = &view->out;

	html_section(view, "after", "What came after");
	html_paragraph(view, "say", "after", 0);
	html_raw(out, "<ol class=\"moments\">\n");
	put_moment(view, incident->time_ns);
	if (incident->outcome == OUTCOME_KILLED)
		html_printf(out, "the kernel killed %u process%s", view_victims_total(incident),
			view_victims_total(incident) == 1 ? "" : "es");
	else if (incident->outcome == OUTCOME_NO_KILLABLE)
		html_raw(out, "the kernel found nobody that it may kill");
	else if (incident->outcome == OUTCOME_PANIC)
		html_raw(out, "the kernel stopped in place of killing (vm.panic_on_oom)");
	else if (incident->outcome == OUTCOME_UNKNOWN)
		html_raw(out, "the kernel looked for somebody to kill; what came of it is not in "
			      "the log");
	else
		html_raw(out, "whoever was marked was exiting already");
	html_raw(out, "</li>\n");
	put_exits(view);
	put_reaped(view);
	if (incident->closed != CLOSED_NOT && incident->closed_ns >= incident->time_ns) {
		put_moment(view, incident->closed_ns);
		html_raw(out, closed_text(incident->closed));
		html_raw(out, "</li>\n");
	}
	html_raw(out, "</ol>\n");
	html_section_end(view);
}
