// SPDX-License-Identifier: Apache-2.0
/* What one line adds to its report. */
#include <stdlib.h>
#include <string.h>

#include "model/klog_report_parts.h"

#define FIRST_ROWS 256
#define DOUBLED_ROWS 4 /* so near a line of another collector may be */

void klog_report_clear(struct klog_report *report)
{
	struct klog_task *rows = report->rows;
	size_t room = report->row_room;
	bool bounded = report->bounded;

	memset(report, 0, sizeof(*report));
	report->rows = rows;
	report->bounded = bounded;
	report->row_room = room;
	report->trigger_uid = report->summary_uid = UNKNOWN_U64;
	report->nodemask = report->mems_allowed = UNKNOWN_U64;
	report->hugepages_kb = report->kernel_stack_kb = UNKNOWN_U64;
	report->reserve_zone = -1;
	for (int i = 0; i < 4; i++)
		report->usage_kb[i] = report->limit_kb[i] = report->failcnt[i] = UNKNOWN_U64;
	memset(&report->stat, 0xff, sizeof(report->stat));
	memset(report->counters, 0xff, sizeof(report->counters));
	memset(report->counts, 0xff, sizeof(report->counts));
}

/* --- names --- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void klog_copy_text(struct scan text, char *ret, size_t size)
{
	size_t len = scan_left(&text);

	if (len >= size)
		len = size - 1;
	if (len)
		memcpy(ret, text.at, len);
	ret[len] = '\0';
}

/* "\x1b" of a byte that is not printable: nobody escapes one that is. */
static bool take_escape(struct scan *scan, char *ret)
{
	int high, low, byte;

	if (scan_left(scan) < 4 || scan->at[0] != '\\' || scan->at[1] != 'x')
		return false;
	high = hex_digit(scan->at[2]);
	low = hex_digit(scan->at[3]);
	byte = high << 4 | low;
	if (high < 0 || low < 0 || !byte || (byte >= ' ' && byte < 0x7f))
		return false;
	*ret = (char)byte;
	scan->at += 4;
	return true;
}

/* A name of more bytes than names have was escaped on its way, too. */
void klog_copy_comm(struct scan comm, bool escaped, char *ret)
{
	size_t len = 0;

	escaped |= scan_left(&comm) > KLOG_COMM_MAX;
	while (!scan_done(&comm) && len < KLOG_COMM_MAX) {
		if (!escaped || !take_escape(&comm, &ret[len]))
			ret[len] = *comm.at++;
		len++;
	}
	ret[len] = '\0';
}

bool klog_names(struct scan text, bool escaped, const char *comm)
{
	char copy[EV_COMM_LEN + 1];
	size_t len = strlen(comm);

	if (scan_text(&text, comm))
		return scan_done(&text) || *text.at == ' ';
	/* With escapes in it. */
	for (const char *at = text.at; at < text.end && at - text.at <= (ptrdiff_t)len * 4; at++) {
		if (*at != ' ')
			continue;
		klog_copy_comm((struct scan) {text.at, at}, escaped, copy);
		if (!strcmp(copy, comm))
			return true;
	}
	return false;
}

/* --- the request --- */

static void fill_invoked(struct klog_report *report, const struct klog_line *line)
{
	report->has_invoked = true;
	klog_copy_comm(line->invoked.comm, line->escaped, report->trigger_comm);
	report->has_gfp = line->invoked.has_gfp;
	report->gfp_mask = line->invoked.gfp_mask;
	klog_copy_text(line->invoked.gfp_flags, report->gfp_flags, sizeof(report->gfp_flags));
	report->has_order = line->invoked.has_order;
	report->order = line->invoked.order;
	report->has_trigger_adj = line->invoked.has_adj;
	report->trigger_adj = line->invoked.oom_score_adj;
	if (scan_left(&line->invoked.nodemask))
		report->nodemask = klog_node_mask(line->invoked.nodemask);
}

/* Another CPU's trace has such a line, too: it is this one's only with the name of who asked. */
static void fill_cpu(struct klog_report *report, const struct klog_line *line)
{
	if (!report->has_invoked || report->trigger_tid ||
		!klog_names(line->cpu.comm, line->escaped, report->trigger_comm))
		return;
	report->trigger_tid = line->cpu.pid;
	report->trigger_uid = line->cpu.uid;
	klog_copy_text(line->cpu.release, report->release, sizeof(report->release));
}

static void fill_stack(struct klog_report *report, struct scan function)
{
	static const char *const writes[] = {"memory_max_write", "mem_cgroup_resize_limit",
		"mem_cgroup_resize_max", "mem_cgroup_write", "mem_cgroup_resize_memsw_limit"};

	report->has_trace = true;
	for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
		report->limit_written |= scan_equals(&function, writes[i]);
	report->sysrq |= scan_equals(&function, "moom_callback");
}

/* --- the limit --- */

static void fill_task_in(struct klog_report *report, const struct klog_line *line)
{
	report->constraint = KLOG_CONSTRAINT_MEMCG;
	report->has_limit_path = scan_left(&line->task_in.limit) > 0;
	klog_copy_text(line->task_in.limit, report->limit_path, sizeof(report->limit_path));
	report->has_task_path = scan_left(&line->task_in.task) > 0;
	klog_copy_text(line->task_in.task, report->task_path, sizeof(report->task_path));
}

static void fill_usage(struct klog_report *report, const struct klog_line *line)
{
	if (report->usage_kb[line->usage.which] != UNKNOWN_U64)
		return;
	report->usage_kb[line->usage.which] = line->usage.usage_kb;
	report->limit_kb[line->usage.which] = line->usage.limit_kb;
	report->failcnt[line->usage.which] = line->usage.failcnt;
	report->constraint = KLOG_CONSTRAINT_MEMCG;
}

static void add(uint64_t *sum, uint64_t value)
{
	*sum = *sum == UNKNOWN_U64 ? value : *sum + value;
}

/* "cache:1KB rss:2KB": what the cgroup itself holds; those below it have lines of their own. */
static void fill_list(struct cgroup_stat *stat, struct scan list)
{
	struct scan part, name;
	uint64_t kb;

	while (scan_field(&list, ' ', &part)) {
		if (!scan_field(&part, ':', &name) || !scan_u64(&part, &kb))
			continue;
		if (scan_equals(&name, "cache"))
			add(&stat->file_bytes, kb << 10);
		else if (scan_equals(&name, "rss"))
			add(&stat->anon_bytes, kb << 10);
		else if (scan_equals(&name, "shmem"))
			add(&stat->shmem_bytes, kb << 10);
		else if (scan_equals(&name, "dirty"))
			add(&stat->file_dirty_bytes, kb << 10);
		else if (scan_equals(&name, "writeback"))
			add(&stat->file_writeback_bytes, kb << 10);
	}
}

static void fill_stats(struct klog_report *report, const struct klog_line *line)
{
	/* Of the limit's own cgroup comes first, so its path is known even if all else is lost. */
	if (!report->has_limit_path && !report->has_stats) {
		report->has_limit_path = scan_left(&line->stats.path) > 0;
		klog_copy_text(line->stats.path, report->limit_path, sizeof(report->limit_path));
	}
	report->has_stats = true;
	report->constraint = KLOG_CONSTRAINT_MEMCG;
	if (!scan_left(&line->stats.list))
		return;
	fill_list(&report->stat, line->stats.list);
	report->stats_in_parts = true;
	if (report->has_task_path && scan_equals(&line->stats.path, report->task_path))
		report->stats_of_task = true;
}

/* Version 1 prints what the cgroup itself holds first, then with all below it, as its files do. */
static bool fill_total(struct cgroup_stat *stat, const struct klog_line *line)
{
	const struct {
		const char *name;
		uint64_t *value;
	} fields[] = {{"total_rss", &stat->anon_bytes}, {"total_cache", &stat->file_bytes},
		{"total_shmem", &stat->shmem_bytes}, {"total_dirty", &stat->file_dirty_bytes},
		{"total_writeback", &stat->file_writeback_bytes},
		{"total_swapcached", &stat->swapcached_bytes}};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (scan_equals(&line->stat.name, fields[i].name)) {
			*fields[i].value = line->stat.value;
			return true;
		}
	return false;
}

static void fill_stat(struct klog_report *report, const struct klog_line *line)
{
	struct cgroup_stat *stat = &report->stat;
	const struct {
		const char *name;
		uint64_t *value;
	} fields[] = {{"anon", &stat->anon_bytes}, {"file", &stat->file_bytes},
		{"shmem", &stat->shmem_bytes}, {"slab", &stat->slab_bytes},
		{"kernel", &stat->kernel_bytes}, {"kernel_stack", &stat->kernel_stack_bytes},
		{"pagetables", &stat->pagetables_bytes},
		{"sec_pagetables", &stat->sec_pagetables_bytes}, {"percpu", &stat->percpu_bytes},
		{"vmalloc", &stat->vmalloc_bytes}, {"sock", &stat->sock_bytes},
		{"hugetlb", &stat->hugetlb_bytes}, {"file_dirty", &stat->file_dirty_bytes},
		{"file_writeback", &stat->file_writeback_bytes},
		{"swapcached", &stat->swapcached_bytes}};

	if (!report->has_stats || fill_total(stat, line))
		return;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (scan_equals(&line->stat.name, fields[i].name) &&
			*fields[i].value == UNKNOWN_U64)
			*fields[i].value = line->stat.value;
}

/* --- the machine's memory --- */

static struct incident_zone *find_zone(struct klog_report *report, int node, struct scan name)
{
	for (unsigned int i = 0; i < report->zone_count; i++)
		if (report->zones[i].node == node && scan_equals(&name, report->zones[i].name))
			return &report->zones[i];
	return NULL;
}

/* kB here; klog_report's reader divides by the page size once that is known. */
static void fill_zone(struct klog_report *report, const struct klog_line *line)
{
	struct incident_zone *zone = find_zone(report, line->zone.node, line->zone.name);

	report->reserve_zone = -1;
	if (zone)
		return;
	if (report->zone_count == INCIDENT_ZONES) {
		report->zones_dropped++;
		return;
	}
	report->reserve_zone = (int)report->zone_count;
	zone = &report->zones[report->zone_count++];
	*zone = (struct incident_zone) {.node = line->zone.node,
		.free_pages = line->zone.free_kb,
		.min_pages = line->zone.min_kb,
		.low_pages = line->zone.low_kb,
		.present_pages = line->zone.present_kb,
		.managed_pages = line->zone.managed_kb,
		.highatomic_pages = line->zone.highatomic_kb,
		.cma_pages = line->zone.cma_kb};
	klog_copy_text(line->zone.name, zone->name, sizeof(zone->name));
}

static void fill_reserve(struct klog_report *report, const struct klog_line *line)
{
	struct incident_zone *zone;

	if (report->reserve_zone < 0)
		return;
	zone = &report->zones[report->reserve_zone];
	zone->reserve_count = line->reserve.count;
	for (unsigned int i = 0; i < line->reserve.count && i < ZONE_LISTS; i++)
		zone->reserve_pages[i] = line->reserve.pages[i];
	report->reserve_zone = -1;
}

static void fill_buddy(struct klog_report *report, const struct klog_line *line)
{
	struct incident_zone *zone = find_zone(report, line->buddy.node, line->buddy.name);

	if (!report->page_kb)
		report->page_kb = line->buddy.page_kb;
	if (!zone || zone->order_count)
		return;
	zone->order_count = line->buddy.orders;
	for (unsigned int i = 0; i < line->buddy.orders && i < ZONE_ORDERS; i++) {
		zone->pieces[i] = line->buddy.counts[i];
		zone->types[i] = line->buddy.types[i];
	}
}

static void fill_counters(struct klog_report *report, const struct klog_line *line)
{
	for (int i = 0; i < KLOG_COUNTERS_COUNT; i++)
		if (report->counters[i] == UNKNOWN_U64)
			report->counters[i] = line->counters[i];
}

static void fill_memory(struct klog_report *report, const struct klog_line *line)
{
	/* Of a cgroup's limit the kernel shows no such lines: they are somebody else's. */
	if (report->constraint == KLOG_CONSTRAINT_MEMCG)
		return;
	switch (line->kind) {
	case KLOG_MEM_INFO:
		report->has_mem_info = true;
		break;
	case KLOG_COUNTERS:
		fill_counters(report, line);
		break;
	case KLOG_ZONE:
		fill_zone(report, line);
		break;
	case KLOG_RESERVE:
		fill_reserve(report, line);
		break;
	case KLOG_BUDDY:
		fill_buddy(report, line);
		break;
	case KLOG_NODE:
		if (line->node.kernel_stack_kb != UNKNOWN_U64)
			add(&report->kernel_stack_kb, line->node.kernel_stack_kb);
		break;
	case KLOG_HUGEPAGES:
		add(&report->hugepages_kb, line->hugepages.total * line->hugepages.size_kb);
		break;
	case KLOG_COUNT:
		if (report->counts[line->count.which] == UNKNOWN_U64)
			report->counts[line->count.which] = line->count.value;
		break;
	default:
		break;
	}
}

/* --- the table --- */

static void fill_table(struct klog_report *report, const struct klog_line *line)
{
	/* A second head behind rows is another collector's copy, or a report without its beginning.
	 */
	if (report->has_table) {
		report->table_closed |= report->row_total > 0;
		return;
	}
	report->has_table = true;
	report->layout = line->table;
}

static bool row_room(struct klog_report *report)
{
	size_t room = report->row_room ? report->row_room * 2 : FIRST_ROWS;
	struct klog_task *rows;

	if (report->row_count < report->row_room)
		return true;
	if (report->bounded || report->row_count >= KLOG_ROWS_MAX)
		return false;
	rows = realloc(report->rows, room * sizeof(*rows));
	if (!rows)
		return false;
	report->rows = rows;
	report->row_room = room;
	return true;
}

static void fill_row(struct klog_report *report, const struct klog_line *line)
{
	const struct klog_row *row = &line->row;
	size_t first = report->row_count > DOUBLED_ROWS ? report->row_count - DOUBLED_ROWS : 0;

	if (!report->has_table || report->table_closed)
		return;
	for (size_t i = first; i < report->row_count; i++)
		if (report->rows[i].pid == row->pid)
			return;
	report->row_total++;
	if (!row_room(report))
		return;
	report->rows[report->row_count] = (struct klog_task) {.pid = row->pid,
		.tgid = row->tgid,
		.uid = row->uid,
		.oom_score_adj = row->oom_score_adj,
		.adj_known = row->adj_known,
		.total_vm_pages = row->total_vm_pages,
		.rss_pages = row->rss_pages,
		.anon_pages = row->anon_pages,
		.file_pages = row->file_pages,
		.shmem_pages = row->shmem_pages,
		.ptes_pages = row->ptes_pages,
		.pgtables_bytes = row->pgtables_bytes,
		.swap_pages = row->swap_pages};
	klog_copy_comm(row->comm, line->escaped, report->rows[report->row_count].comm);
	report->row_count++;
}

/* --- the choice --- */

static void fill_summary(struct klog_report *report, const struct klog_line *line)
{
	report->has_summary = true;
	report->summary_pid = line->summary.pid;
	report->summary_uid = line->summary.uid;
	klog_copy_comm(line->summary.comm, line->escaped, report->summary_comm);
	if (line->summary.constraint != KLOG_CONSTRAINT_UNKNOWN)
		report->constraint = line->summary.constraint;
	if (scan_left(&line->summary.oom_memcg)) {
		report->has_limit_path = true;
		klog_copy_text(
			line->summary.oom_memcg, report->limit_path, sizeof(report->limit_path));
	}
	if (scan_left(&line->summary.task_memcg)) {
		report->has_task_path = true;
		klog_copy_text(
			line->summary.task_memcg, report->task_path, sizeof(report->task_path));
	}
	if (scan_left(&line->summary.nodemask))
		report->nodemask = klog_node_mask(line->summary.nodemask);
	if (scan_left(&line->summary.mems))
		report->mems_allowed = klog_node_mask(line->summary.mems);
}

void klog_fill(struct klog_report *report, const struct klog_line *line)
{
	switch (line->kind) {
	case KLOG_INVOKED:
		fill_invoked(report, line);
		break;
	case KLOG_CPU:
		fill_cpu(report, line);
		break;
	case KLOG_CPUSET:
		if (report->mems_allowed == UNKNOWN_U64 &&
			klog_names(line->cpuset.comm, line->escaped, report->trigger_comm))
			report->mems_allowed = klog_node_mask(line->cpuset.mems);
		break;
	case KLOG_STACK:
		fill_stack(report, line->function);
		break;
	case KLOG_TASK_IN:
		if (!report->has_limit_path)
			fill_task_in(report, line);
		break;
	case KLOG_USAGE:
		fill_usage(report, line);
		break;
	case KLOG_STATS:
		if (!report->has_table)
			fill_stats(report, line);
		break;
	case KLOG_STAT:
		fill_stat(report, line);
		break;
	case KLOG_TABLE:
		fill_table(report, line);
		break;
	case KLOG_ROW:
		fill_row(report, line);
		break;
	case KLOG_SUMMARY:
		fill_summary(report, line);
		break;
	case KLOG_CHOICE:
		report->has_choice = true;
		report->choice_pid = line->choice.pid;
		report->message = line->choice.message;
		klog_copy_comm(line->choice.comm, line->escaped, report->choice_comm);
		break;
	case KLOG_GROUP:
		report->has_group = true;
		klog_copy_text(line->path, report->group_path, sizeof(report->group_path));
		break;
	default:
		fill_memory(report, line);
		break;
	}
}

bool klog_fill_dead(struct klog_report *report, const struct klog_line *line, enum victim_why why)
{
	bool kill = line->kind == KLOG_KILL;
	uint32_t pid = kill ? line->kill.pid : line->choice.pid;
	struct scan comm = kill ? line->kill.comm : line->choice.comm;
	struct klog_dead *dead;

	for (unsigned int i = 0; i < report->dead_count; i++)
		if (report->dead[i].pid == pid)
			return false;
	if (report->dead_count == INCIDENT_VICTIMS) {
		report->dead_dropped++;
		return true;
	}
	dead = &report->dead[report->dead_count++];
	*dead = (struct klog_dead) {.pid = pid,
		.why = why,
		.comm_known = comm.at != NULL,
		.uid = UNKNOWN_U64,
		.total_vm_kb = UNKNOWN_U64,
		.anon_kb = UNKNOWN_U64,
		.file_kb = UNKNOWN_U64,
		.shmem_kb = UNKNOWN_U64,
		.pgtables_kb = UNKNOWN_U64};
	klog_copy_comm(comm, line->escaped, dead->comm);
	if (!kill)
		return true;
	dead->has_adj = line->kill.has_adj;
	dead->oom_score_adj = line->kill.oom_score_adj;
	dead->uid = line->kill.uid;
	dead->total_vm_kb = line->kill.total_vm_kb;
	dead->anon_kb = line->kill.anon_kb;
	dead->file_kb = line->kill.file_kb;
	dead->shmem_kb = line->kill.shmem_kb;
	dead->pgtables_kb = line->kill.pgtables_kb;
	return true;
}
