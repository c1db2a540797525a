// SPDX-License-Identifier: Apache-2.0
/* Who grew in the minutes before: families, processes, cgroups. */
#include "facts/host.h"
#include "sink/html_parts.h"
#include "sink/view.h"

#define COUNT_OF(list) ((unsigned int)(sizeof(list) / sizeof((list)[0])))

/* Copies are an upper bound unless write faults were counted: the sign says so. */
static void put_copies_cell(struct html_view *view, uint64_t bytes, bool upper_bound)
{
	if (bytes == UNKNOWN_U64) {
		html_cell_none(view);
		return;
	}
	html_printf(&view->out, "<td class=\"n\" data-v=\"%llu\">", (unsigned long long)bytes);
	html_raw(&view->out, upper_bound && bytes > 0 ? "\xe2\x89\xa4\xc2\xa0" : "");
	html_bytes(&view->out, bytes);
	html_raw(&view->out, "</td>");
}

static void put_rest(struct html_view *view, unsigned int count, unsigned int total)
{
	if (total > count)
		html_printf(&view->out,
			"<p class=\"say\">%u more, each with less, were not kept "
			"with this incident.</p>\n",
			total - count);
}

static bool family_has_victim(const struct html_view *view, const struct picture_family *family)
{
	const struct chart *chart = view->page->chart;

	for (unsigned int i = 0; chart != NULL && i < chart->layer_count; i++) {
		if (chart->layers[i].root_tgid == family->root_tgid &&
			chart->layers[i].root_start_ns == family->root_start_ns)
			return chart->layers[i].has_victim;
	}
	return false;
}

static void put_families(struct html_view *view)
{
	static const struct html_column columns[] = {
		{"root pid", true, "who executed the program that all of them run"},
		{"name", false, NULL},
		{"alive", true, "members at the kill"},
		{"ended", true, "members that ended within the window"},
		{"private", true, "what each member has to itself"},
		{"shared", true, "what they were forked with and have not copied, counted once"},
		{"grown", true, "growth of their private memory without copies"},
		{"copied", true, "private copies of shared pages: no RSS shows them"},
	};
	const struct growth_picture *picture = &view->incident->growth;

	if (picture->family_count == 0)
		return;
	html_table(view, "Growth by fork family", columns, COUNT_OF(columns));
	for (unsigned int i = 0; i < picture->family_count && i < PICTURE_FAMILIES; i++) {
		const struct picture_family *family = &picture->families[i];

		html_row(view, family_has_victim(view, family));
		html_cell_id(view, family->root_tgid);
		html_cell_text(view, family->comm);
		html_cell_count(view, family->members);
		html_cell_count(view, family->exited);
		html_cell_bytes(view, family->private_bytes);
		html_cell_bytes(view, family->shared_bytes);
		html_cell_signed(view, family->delta_bytes);
		put_copies_cell(view, family->cow_bytes, family->cow_upper_bound);
		html_row_end(view);
	}
	html_table_end(view);
	put_rest(view, picture->family_count, picture->family_total);
}

static bool process_is_victim(const struct html_view *view, const struct picture_process *process)
{
	const struct incident *incident = view->incident;

	for (unsigned int i = 0; i < incident->victim_count && i < INCIDENT_VICTIMS; i++) {
		const struct task_facts *task = &incident->victims[i].task;

		if (task->tgid == process->tgid &&
			(!view_known(task) || task->start_ns == process->start_ns))
			return true;
	}
	return false;
}

static const char *state_of(const struct picture_process *process)
{
	if (process->exited)
		return process->began ? "began and ended" : "ended";
	return process->began ? "began" : "alive";
}

static void put_processes(struct html_view *view)
{
	static const struct html_column columns[] = {
		{"pid", true, NULL},
		{"name", false, NULL},
		{"grown", true, "anon, file, shmem and swap: end less beginning"},
		{"copied", true, "private copies of shared pages: no RSS shows them"},
		{"cache", true,
			"page cache and tmpfs that its reads, writes or charges account for: "
			"at most"},
		{"holds", true, "at the kill; of one that ended: its peak"},
		{"peak", true, "the most it had resident within the window"},
		{"in the window", false, NULL},
		{"cgroup", false, "\xe2\x80\xa6: the one whose limit was hit"},
	};
	const struct growth_picture *picture = &view->incident->growth;

	if (picture->process_count == 0)
		return;
	html_table(view, "Growth by process", columns, COUNT_OF(columns));
	for (unsigned int i = 0; i < picture->process_count && i < PICTURE_PROCESSES; i++) {
		const struct picture_process *process = &picture->processes[i];

		html_row(view, process_is_victim(view, process));
		html_cell_id(view, process->tgid);
		html_cell_text(view, process->comm);
		html_cell_signed(view, process->delta_bytes);
		put_copies_cell(view, process->cow_bytes, process->cow_upper_bound);
		put_copies_cell(view, process->cached_bytes, true);
		html_cell_bytes(view, process->held_bytes);
		html_cell_bytes(view, process->peak_bytes);
		html_cell_literal(view, state_of(process));
		html_cell_below(view, view_growth_path(picture, process->cgroup_id));
		html_row_end(view);
	}
	html_table_end(view);
	put_rest(view, picture->process_count, picture->process_total);
}

static void put_cgroups(struct html_view *view)
{
	static const struct html_column columns[] = {
		{"cgroup", false, NULL},
		{"grown", true, "its usage, with all below it"},
		{"of its own", true, "the part that is none of the cgroups below it here"},
		{"in use", true, "at the kill"},
		{"charged", true, "by its own processes"},
		{"in the window", false, NULL},
	};
	const struct growth_picture *picture = &view->incident->growth;

	if (picture->cgroup_count == 0)
		return;
	html_table(view, "Growth by cgroup", columns, COUNT_OF(columns));
	for (unsigned int i = 0; i < picture->cgroup_count && i < PICTURE_CGROUPS; i++) {
		const struct picture_cgroup *cgroup = &picture->cgroups[i];

		html_row(view, false);
		html_cell_path(view, cgroup->path);
		html_cell_signed(view, cgroup->delta_bytes);
		html_cell_signed(view, cgroup->own_bytes);
		html_cell_bytes(view, cgroup->usage_bytes);
		html_cell_bytes(view, cgroup->charged_bytes);
		html_cell_literal(view, cgroup->began ? "began" : "there");
		html_row_end(view);
	}
	html_table_end(view);
	put_rest(view, picture->cgroup_count, picture->cgroup_total);
}

void html_growth(struct html_view *view)
{
	const struct growth_picture *picture = &view->incident->growth;
	struct html_out *out = &view->out;

	if (!picture->valid)
		return;
	html_section(view, "growth", "Who grew");
	html_raw(out, "<p class=\"say\">Within the ");
	html_duration(out, view_window_ns(picture));
	html_raw(out, " before the kill");
	if (picture->domain_known) {
		html_raw(out, "; of all growth, ");
		html_signed_bytes(out, picture->unattributed_bytes);
		html_raw(out, " is no process's own: page cache, tmpfs, kernel memory or what is "
			      "shared");
	}
	html_raw(out, ". Resident sizes are never summed: what processes share would count once "
		      "for each.</p>\n");
	put_families(view);
	put_processes(view);
	put_cgroups(view);
	html_section_end(view);
}
