// SPDX-License-Identifier: Apache-2.0
#include "model/imported.h"

#include <stdlib.h>
#include <string.h>

#include "model/imported_parts.h"

#define HOSTS_MAX 16
#define HISTORY_MAX 256
#define NAMES_MAX 1024 /* different names in one table that are summed; more are left out */
#define PAGE_ASSUMED 4096
#define SAME_NS 2000000000LL /* two collectors' stamps of one line */

struct known_host {
	char name[65];
	uint32_t page_size; /* 0: no report told */
	char release[65];
	uint64_t used;
};

/* What is remembered of a report. */
struct remembered {
	struct klog_when when;
	char host[65];
	uint32_t pid; /* 0: nobody died */
	uint64_t total_vm_kb, anon_kb, file_kb;
	uint64_t limit_hash; /* of the limit's path; 0: none */
	uint64_t comm_hash; /* of the victim's name */
	uint64_t asker_hash; /* of who asked, where nobody died; 0: not told */
};

struct name_sum {
	uint32_t members;
	uint64_t pages, largest;
	char comm[EV_COMM_LEN + 1];
};

struct importer {
	imported_zone_fn zone;
	uint64_t copies, told;
	struct known_host hosts[HOSTS_MAX];
	unsigned int history_count; /* all that were remembered; the ring has the last ones */
	struct remembered history[HISTORY_MAX];
	struct name_sum names[NAMES_MAX];
};

struct importer *importer_new(imported_zone_fn zone)
{
	struct importer *importer = calloc(1, sizeof(*importer));

	if (importer)
		importer->zone = zone;
	return importer;
}

void importer_free(struct importer *importer)
{
	free(importer);
}

uint64_t importer_copies(const struct importer *importer)
{
	return importer->copies;
}

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ULL;
	return hash ? hash : 1;
}

/* --- what earlier reports teach --- */

/* The one of this name, else the one not used for longest. */
static struct known_host *host_of(struct importer *importer, const char *name)
{
	struct known_host *found = &importer->hosts[0];

	for (int i = 0; i < HOSTS_MAX; i++) {
		struct known_host *host = &importer->hosts[i];

		if (host->used && !strcmp(host->name, name)) {
			host->used = ++importer->told;
			return host;
		}
		if (host->used < found->used)
			found = host;
	}
	memset(found, 0, sizeof(*found));
	strcpy(found->name, name);
	found->used = ++importer->told;
	return found;
}

void importer_page_size(struct importer *importer, uint32_t page_size)
{
	host_of(importer, "")->page_size = page_size;
}

/* kB over pages, where that is a page size, as near as two readings of one number are. */
static uint32_t page_size_of(uint64_t kb, uint64_t pages)
{
	if (!pages || kb == UNKNOWN_U64 || pages == UNKNOWN_U64 || kb > UINT64_MAX / 4096)
		return 0;
	for (uint32_t size = 4096; size <= 1 << 20; size *= 2) {
		uint64_t expected = pages * (size / KB_BYTES);
		uint64_t off = kb > expected ? kb - expected : expected - kb;

		if (off <= expected / 32)
			return size;
	}
	return 0;
}

static uint32_t report_page_size(const struct klog_report *report)
{
	for (unsigned int i = 0; i < report->dead_count; i++) {
		const struct klog_task *row = klog_report_row(report, report->dead[i].pid);
		uint32_t size =
			row ? page_size_of(report->dead[i].total_vm_kb, row->total_vm_pages) : 0;

		if (size)
			return size;
	}
	return (uint32_t)report->page_kb * KB_BYTES;
}

static const struct klog_dead *first_dead(const struct klog_report *report)
{
	return report->dead_count ? &report->dead[0] : NULL;
}

/* One kill, told twice: all numbers agree, and no clock says that they are two. */
static bool is_copy(const struct remembered *old, const struct remembered *new)
{
	int64_t gap = klog_when_gap(&old->when, &new->when);

	if (old->host[0] && new->host[0] && strcmp(old->host, new->host) != 0)
		return false;
	/* Where nobody died a storm of them looks alike: only the kernel's own clock tells. */
	if (!new->pid)
		return !old->pid && new->asker_hash && old->asker_hash == new->asker_hash &&
		       old->when.has_mono &&new->when.has_mono &&
		       old->when.mono_ns / 1000 == new->when.mono_ns / 1000;
	if (old->pid != new->pid || old->total_vm_kb != new->total_vm_kb ||
		old->anon_kb != new->anon_kb || old->file_kb != new->file_kb)
		return false;
	/* A pid that came back: another process of the same size. Names alone prove nothing, since
	 * collectors write odd bytes each in its own way. */
	if (old->comm_hash != new->comm_hash && old->when.has_mono &&new->when.has_mono &&
		old->when.mono_ns / 1000 != new->when.mono_ns / 1000)
		return false;
	return gap >= -SAME_NS && gap <= SAME_NS;
}

static struct remembered remember(const struct klog_report *report)
{
	const struct klog_dead *dead = first_dead(report);
	struct remembered ret = {.when = report->dead_count ? report->killed : report->began,
		.pid = dead ? dead->pid : 0};

	strcpy(ret.host, report->host);
	if (!dead && report->has_summary)
		ret.pid = report->summary_pid;
	ret.total_vm_kb = dead ? dead->total_vm_kb : UNKNOWN_U64;
	ret.anon_kb = dead ? dead->anon_kb : UNKNOWN_U64;
	ret.file_kb = dead ? dead->file_kb : UNKNOWN_U64;
	ret.comm_hash = hash_text(dead ? dead->comm : report->summary_comm);
	if (!ret.pid && report->has_invoked && report->began.mono_ns != report->last.mono_ns)
		ret.asker_hash = hash_text(report->trigger_comm);
	if (report->has_limit_path)
		ret.limit_hash = hash_text(report->limit_path);
	return ret;
}

static unsigned int history_size(const struct importer *importer)
{
	return importer->history_count < HISTORY_MAX ? importer->history_count : HISTORY_MAX;
}

/*
 * Kills by the same limit within the window before, or, where no limit is told, of the same
 * command; those that no clock can place do not count.
 */
static uint32_t earlier_kills(const struct importer *importer, const struct remembered *new)
{
	uint32_t count = 0;

	for (unsigned int i = 0; i < history_size(importer); i++) {
		const struct remembered *old = &importer->history[i];
		int64_t gap = klog_when_gap(&old->when, &new->when);

		if (!old->pid || old->limit_hash != new->limit_hash ||
			(!new->limit_hash && old->comm_hash != new->comm_hash) ||
			strcmp(old->host, new->host) != 0 ||
			!klog_when_comparable(&old->when, &new->when) || gap < 0 ||
			gap > (int64_t)REPEAT_WINDOW_NS)
			continue;
		count++;
	}
	return count;
}

/* --- processes --- */

static int64_t pages_of_kb(uint64_t kb, uint32_t page_size)
{
	return (int64_t)(kb / (page_size / KB_BYTES));
}

/* What a row does not tell is marked so. */
static void task_of_row(const struct klog_task *row, uint32_t page_size, struct task_facts *ret)
{
	*ret = (struct task_facts) {.tgid = row->tgid,
		.tid = row->pid,
		.uid = row->uid,
		.oom_score_adj = row->oom_score_adj,
		.total_vm_pages = row->total_vm_pages,
		.pgtables_bytes = row->pgtables_bytes,
		.unknown = TASK_UNKNOWN_PPID};
	memcpy(ret->comm, row->comm, sizeof(ret->comm));
	if (row->anon_pages != UNKNOWN_U64) {
		ret->rss_pages[EV_RSS_ANON] = (int64_t)row->anon_pages;
		ret->rss_pages[EV_RSS_FILE] = (int64_t)(row->file_pages + 0);
		ret->rss_pages[EV_RSS_SHMEM] = (int64_t)row->shmem_pages;
	} else {
		ret->unknown |= TASK_UNKNOWN_ANON | TASK_UNKNOWN_FILE | TASK_UNKNOWN_SHMEM |
				TASK_UNKNOWN_SPLIT;
		ret->rss_total_pages = row->rss_pages == UNKNOWN_U64 ? 0 : row->rss_pages;
	}
	if (row->swap_pages == UNKNOWN_U64)
		ret->unknown |= TASK_UNKNOWN_SWAP;
	else
		ret->rss_pages[EV_RSS_SWAP] = (int64_t)row->swap_pages;
	if (!row->adj_known)
		ret->unknown |= TASK_UNKNOWN_ADJ;
	if (row->pgtables_bytes == UNKNOWN_U64 && row->ptes_pages != UNKNOWN_U64) {
		ret->unknown |= TASK_PTES_ONLY;
		ret->pgtables_bytes = row->ptes_pages * page_size;
	}
}

/* 5.4 and some of 5.5 print bytes there and call them kB. */
static uint64_t pgtables_bytes(const struct klog_dead *dead, const struct klog_task *row)
{
	if (dead->pgtables_kb == UNKNOWN_U64)
		return UNKNOWN_U64;
	if (row && row->pgtables_bytes != UNKNOWN_U64 && row->pgtables_bytes == dead->pgtables_kb)
		return dead->pgtables_kb;
	/* Tables map 512 times as much as they hold; even those of the sparsest do not come near.
	 */
	if (dead->total_vm_kb != UNKNOWN_U64 && dead->pgtables_kb > 2048 + dead->total_vm_kb / 64 &&
		dead->pgtables_kb % 4096 == 0)
		return dead->pgtables_kb;
	return dead->pgtables_kb * KB_BYTES;
}

static void set_kb(
	struct task_facts *task, enum ev_rss kind, uint32_t flag, uint64_t kb, uint32_t page_size)
{
	if (kb == UNKNOWN_U64)
		return;
	task->rss_pages[kind] = pages_of_kb(kb, page_size);
	task->unknown &= ~flag;
}

/* A victim by its line, and by its row where the line is silent. */
static void task_of_dead(const struct klog_dead *dead, const struct klog_task *row,
	uint32_t page_size, struct task_facts *ret)
{
	uint64_t tables = pgtables_bytes(dead, row);

	if (row)
		task_of_row(row, page_size, ret);
	else
		*ret = (struct task_facts) {.tgid = dead->pid,
			.total_vm_pages = UNKNOWN_U64,
			.pgtables_bytes = UNKNOWN_U64,
			.unknown = TASK_UNKNOWN_PPID | TASK_UNKNOWN_ANON | TASK_UNKNOWN_FILE |
				   TASK_UNKNOWN_SHMEM | TASK_UNKNOWN_SWAP | TASK_UNKNOWN_ADJ |
				   TASK_UNKNOWN_UID | TASK_UNKNOWN_COMM};
	if (dead->comm_known) {
		memcpy(ret->comm, dead->comm, sizeof(ret->comm));
		ret->unknown &= ~(uint32_t)TASK_UNKNOWN_COMM;
	}
	if (dead->uid != UNKNOWN_U64) {
		ret->uid = (uint32_t)dead->uid;
		ret->unknown &= ~(uint32_t)TASK_UNKNOWN_UID;
	}
	if (dead->has_adj) {
		ret->oom_score_adj = dead->oom_score_adj;
		ret->unknown &= ~(uint32_t)TASK_UNKNOWN_ADJ;
	}
	if (dead->total_vm_kb != UNKNOWN_U64)
		ret->total_vm_pages = (uint64_t)pages_of_kb(dead->total_vm_kb, page_size);
	/* The line splits what an older table has as one sum. */
	if (dead->anon_kb != UNKNOWN_U64 && ret->unknown & TASK_UNKNOWN_SPLIT)
		ret->unknown &= ~(uint32_t)TASK_UNKNOWN_SPLIT;
	set_kb(ret, EV_RSS_ANON, TASK_UNKNOWN_ANON, dead->anon_kb, page_size);
	set_kb(ret, EV_RSS_FILE, TASK_UNKNOWN_FILE, dead->file_kb, page_size);
	set_kb(ret, EV_RSS_SHMEM, TASK_UNKNOWN_SHMEM, dead->shmem_kb, page_size);
	if (tables != UNKNOWN_U64) {
		ret->pgtables_bytes = tables;
		ret->unknown &= ~(uint32_t)TASK_PTES_ONLY;
	}
}

static void add_victim(struct incident *ret, const struct klog_report *report,
	const struct klog_dead *dead, uint32_t page_size)
{
	struct victim *victim = &ret->victims[ret->victim_count++];

	task_of_dead(dead, klog_report_row(report, dead->pid), page_size, &victim->task);
	victim->why = dead->why;
	victim->reaped = dead->reaped;
}

/* The line of the kill is lost, that of the choice is there. */
static void add_summary_victim(
	struct incident *ret, const struct klog_report *report, uint32_t page_size)
{
	struct klog_dead dead = {.pid = report->summary_pid,
		.why = VICTIM_CHOSEN,
		.comm_known = true,
		.uid = report->summary_uid,
		.total_vm_kb = UNKNOWN_U64,
		.anon_kb = UNKNOWN_U64,
		.file_kb = UNKNOWN_U64,
		.shmem_kb = UNKNOWN_U64,
		.pgtables_kb = UNKNOWN_U64};

	memcpy(dead.comm, report->summary_comm, sizeof(dead.comm));
	add_victim(ret, report, &dead, page_size);
}

/* Old kernels chose a process and killed a child of it, or named a thread of the one they killed.
 */
static void fill_choice(struct incident *ret, const struct klog_report *report)
{
	const struct klog_task *row;

	if (!report->has_choice)
		return;
	ret->log.choice_pid = report->choice_pid;
	memcpy(ret->log.choice_comm, report->choice_comm, sizeof(ret->log.choice_comm));
	row = klog_report_row(report, report->choice_pid);
	ret->log.child_died = ret->victim_count && row && row->tgid != ret->victims[0].task.tgid;
}

static void fill_victims(struct incident *ret, const struct klog_report *report, uint32_t page_size)
{
	const struct klog_task *row;

	for (unsigned int i = 0; i < report->dead_count; i++)
		add_victim(ret, report, &report->dead[i], page_size);
	ret->victims_dropped = report->dead_dropped;
	if (!report->dead_count && report->has_summary && report->summary_pid)
		add_summary_victim(ret, report, page_size);
	if (ret->victim_count && report->has_summary && report->summary_uid != UNKNOWN_U64 &&
		ret->victims[0].task.unknown & TASK_UNKNOWN_UID) {
		ret->victims[0].task.uid = (uint32_t)report->summary_uid;
		ret->victims[0].task.unknown &= ~(uint32_t)TASK_UNKNOWN_UID;
	}
	fill_choice(ret, report);
	row = ret->victim_count ? klog_report_row(report, ret->victims[0].task.tgid) : NULL;
	if (row)
		task_of_row(row, page_size, &ret->chosen);
	if (report->has_task_path)
		strcpy(ret->victim_cgroup, report->task_path);
}

/* --- the table --- */

static uint64_t row_pages(const struct klog_task *row)
{
	return imported_known(row->rss_pages) + imported_known(row->swap_pages);
}

/* The rows that weigh most, heaviest first; of two that weigh alike the first of the table. */
struct heaviest {
	unsigned int count;
	const struct klog_task *rows[INCIDENT_CANDIDATES];
};

static void keep_row(struct heaviest *heaviest, const struct klog_task *row, bool always)
{
	uint64_t weight = row_pages(row);
	unsigned int at = heaviest->count;

	if (at == INCIDENT_CANDIDATES) {
		at--;
		if (!always && row_pages(heaviest->rows[at]) >= weight)
			return;
	} else {
		heaviest->count++;
	}
	for (; at > 0 && row_pages(heaviest->rows[at - 1]) < weight; at--)
		heaviest->rows[at] = heaviest->rows[at - 1];
	heaviest->rows[at] = row;
}

static bool is_kept(const struct heaviest *heaviest, uint32_t tgid)
{
	for (unsigned int i = 0; i < heaviest->count; i++)
		if (heaviest->rows[i]->tgid == tgid)
			return true;
	return false;
}

static void fill_candidates(
	struct incident *ret, const struct klog_report *report, uint32_t page_size)
{
	struct heaviest heaviest = {0};

	ret->candidate_total = (unsigned int)report->row_total;
	ret->log.has_table = report->has_table;
	for (size_t i = 0; i < report->row_count; i++)
		keep_row(&heaviest, &report->rows[i], false);
	if (ret->chosen.tgid && !is_kept(&heaviest, ret->chosen.tgid))
		keep_row(&heaviest, klog_report_row(report, ret->chosen.tgid), true);
	ret->candidate_count = heaviest.count;
	for (unsigned int i = 0; i < heaviest.count; i++) {
		const struct klog_task *row = heaviest.rows[i];

		ret->candidates[i].weight = (int64_t)row_pages(row);
		ret->candidates[i].cgroup[0] = ret->candidates[i].cmdline[0] = '\0';
		task_of_row(row, page_size, &ret->candidates[i].task);
	}
}

/* Its own pages where they are told apart, since those of files may be everybody's. */
static uint64_t family_pages(const struct klog_task *row, bool *ret_own)
{
	*ret_own = row->anon_pages != UNKNOWN_U64;
	return imported_known(*ret_own ? row->anon_pages : row->rss_pages) +
	       imported_known(row->swap_pages);
}

static struct name_sum *sum_of(struct importer *importer, const char *comm)
{
	uint64_t at = hash_text(comm) % NAMES_MAX;

	for (unsigned int i = 0; i < NAMES_MAX; i++) {
		struct name_sum *sum = &importer->names[(at + i) % NAMES_MAX];

		if (!sum->members)
			memcpy(sum->comm, comm, sizeof(sum->comm));
		if (!strcmp(sum->comm, comm))
			return sum;
	}
	return NULL;
}

/* Those of one name that hold the most; a log does not tell who is whose child. */
static void fill_family(
	struct importer *importer, struct incident *ret, const struct klog_report *report)
{
	const struct name_sum *most = NULL;
	bool own = false;

	memset(importer->names, 0, sizeof(importer->names));
	for (size_t i = 0; i < report->row_count; i++) {
		uint64_t pages = family_pages(&report->rows[i], &own);
		struct name_sum *sum = sum_of(importer, report->rows[i].comm);

		if (!sum)
			continue;
		sum->members++;
		sum->pages += pages;
		if (pages > sum->largest)
			sum->largest = pages;
		if (sum->members > 1 && (!most || sum->pages > most->pages))
			most = sum;
	}
	if (!most)
		return;
	ret->log.family_members = most->members;
	ret->log.family_pages = most->pages;
	ret->log.family_largest_pages = most->largest;
	ret->log.family_from_anon = own;
	memcpy(ret->log.family_comm, most->comm, sizeof(ret->log.family_comm));
}

/* --- who asked, when, what came of it --- */

static void fill_trigger(struct incident *ret, const struct klog_report *report)
{
	struct incident_log *log = &ret->log;
	const struct klog_task *row = NULL;

	ret->has_trigger = report->has_invoked;
	memcpy(ret->trigger_comm, report->trigger_comm, sizeof(ret->trigger_comm));
	log->has_order = report->has_order;
	ret->order = report->order;
	log->has_gfp = report->has_gfp;
	ret->gfp_mask = (uint32_t)report->gfp_mask;
	strcpy(log->gfp_flags, report->gfp_flags);
	log->has_trigger_adj = report->has_trigger_adj;
	ret->trigger_adj = report->trigger_adj;
	log->has_trigger_tid = report->trigger_tid != 0;
	ret->trigger_tid = report->trigger_tid;
	log->has_trigger_uid = report->trigger_uid != UNKNOWN_U64;
	ret->trigger_uid = (uint32_t)report->trigger_uid;
	/* The number is a thread's; a row shows whether it is a process. */
	for (size_t i = 0; report->trigger_tid && i < report->row_count; i++)
		if (report->rows[i].tgid == report->trigger_tid)
			row = &report->rows[i];
	log->has_trigger_pid = row != NULL;
	ret->trigger_tgid = row ? row->tgid : 0;
	log->sysrq = report->sysrq || (report->has_order && report->order == -1);
	log->limit_written = report->limit_written;
	log->has_trace = report->has_trace;
	ret->nodemask = report->nodemask;
	ret->mems_allowed = report->mems_allowed;
}

/* Old kernels print no constraint: the words of the kill tell a cgroup's limit from the machine. */
static void fill_scope(struct incident *ret, const struct klog_report *report)
{
	static const uint32_t constraints[] = {[KLOG_CONSTRAINT_NONE] = EV_CONSTRAINT_NONE,
		[KLOG_CONSTRAINT_CPUSET] = EV_CONSTRAINT_CPUSET,
		[KLOG_CONSTRAINT_POLICY] = EV_CONSTRAINT_MEMORY_POLICY,
		[KLOG_CONSTRAINT_MEMCG] = EV_CONSTRAINT_MEMCG};
	static const char *const messages[] = {[KLOG_MESSAGE_NONE] = "",
		[KLOG_MESSAGE_GLOBAL] = "Out of memory",
		[KLOG_MESSAGE_MEMCG] = "Memory cgroup out of memory",
		[KLOG_MESSAGE_ALLOCATING] = "Out of memory (oom_kill_allocating_task)"};
	struct incident_log *log = &ret->log;

	strcpy(ret->message, messages[report->message]);
	if (report->constraint != KLOG_CONSTRAINT_UNKNOWN) {
		log->has_constraint = log->has_scope = true;
		ret->constraint = constraints[report->constraint];
	} else if (report->message == KLOG_MESSAGE_MEMCG) {
		log->has_scope = true;
		ret->constraint = EV_CONSTRAINT_MEMCG;
	} else if (report->message != KLOG_MESSAGE_NONE || report->has_mem_info ||
		   report->counts[KLOG_COUNT_RAM] != UNKNOWN_U64 || report->panicked) {
		log->has_scope = true;
		ret->constraint = EV_CONSTRAINT_NONE;
	}
}

static enum incident_outcome outcome_of(
	const struct incident *incident, const struct klog_report *report)
{
	if (report->exiting)
		return OUTCOME_ALREADY_EXITING;
	if (incident->victim_count)
		return OUTCOME_KILLED;
	if (report->no_killable)
		return OUTCOME_NO_KILLABLE;
	return report->panicked ? OUTCOME_PANIC : OUTCOME_UNKNOWN;
}

static void fill_time(
	const struct importer *importer, struct incident *ret, const struct klog_report *report)
{
	const struct klog_when *when = report->dead_count ? &report->killed : &report->began;
	struct incident_log *log = &ret->log;

	memcpy(log->stamp, when->text, sizeof(log->stamp));
	log->has_mono = when->has_mono;
	log->mono_ns = when->mono_ns;
	if (when->has_mono)
		ret->time_ns = when->mono_ns;
	if (!when->has_wall || !when->has_year || (!when->has_zone && !importer->zone))
		return;
	log->has_time = true;
	log->zone_assumed = !when->has_zone;
	log->wall_ns = when->has_zone ? when->wall_ns : importer->zone(when->wall_ns);
}

static void fill_host(struct importer *importer, const struct klog_report *report,
	struct incident *ret, struct host_facts *ret_host)
{
	struct known_host *host = host_of(importer, report->host);
	uint32_t page_size = report_page_size(report);

	if (page_size)
		host->page_size = page_size;
	if (report->release[0])
		strcpy(host->release, report->release);
	ret->log.page_size_assumed = !host->page_size;
	*ret_host = (struct host_facts) {
		.page_size = host->page_size ? host->page_size : PAGE_ASSUMED,
		.swappiness = UINT32_MAX,
		.memory_hierarchy = -1,
	};
	strcpy(ret_host->hostname, report->host);
	strcpy(ret_host->boot_id, report->boot_id);
	strcpy(ret_host->kernel, report->release);
}

/* What of the machine is told only where it was the machine that ran out. */
void incident_log_clear(struct incident_log *log)
{
	struct incident_machine *machine = &log->machine;
	uint64_t *const unknown[] = {&log->usage_bytes, &log->limit_bytes, &log->failcnt,
		&machine->free_bytes, &machine->cma_bytes, &machine->anon_bytes,
		&machine->file_bytes, &machine->dirty_bytes, &machine->shmem_bytes,
		&machine->slab_bytes, &machine->slab_unreclaimable_bytes,
		&machine->kernel_stack_bytes, &machine->pagetables_bytes,
		&machine->unevictable_bytes};

	memset(log, 0, sizeof(*log));
	log->limit_level = -1;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		*unknown[i] = UNKNOWN_U64;
}

static void clear(struct incident *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->source = INCIDENT_IMPORTED;
	memset(&ret->host, 0xff, sizeof(ret->host));
	memset(&ret->stat, 0xff, sizeof(ret->stat));
	ret->stat_usage_bytes = ret->totalpages = ret->ceiling_hint = UNKNOWN_U64;
	ret->policy_nodes = UNKNOWN_U64;
	incident_log_clear(&ret->log);
}

bool importer_incident(struct importer *importer, const struct klog_report *report,
	struct incident *ret, struct host_facts *ret_host)
{
	struct remembered new = remember(report);

	for (unsigned int i = 0; i < history_size(importer); i++)
		if (is_copy(&importer->history[i], &new)) {
			importer->copies++;
			return false;
		}
	clear(ret);
	fill_host(importer, report, ret, ret_host);
	fill_time(importer, ret, report);
	fill_trigger(ret, report);
	fill_scope(ret, report);
	fill_victims(ret, report, ret_host->page_size);
	fill_candidates(ret, report, ret_host->page_size);
	fill_family(importer, ret, report);
	if (ret->log.has_scope && ret->constraint == EV_CONSTRAINT_MEMCG) {
		if (report->has_limit_path || report->usage_kb[KLOG_USAGE_MEMORY] != UNKNOWN_U64)
			imported_limit(ret, report, ret_host->page_size);
	} else {
		imported_host(&ret->host, report, ret_host->page_size);
		imported_machine(&ret->log.machine, report, ret_host->page_size);
	}
	ret->outcome = outcome_of(ret, report);
	ret->complete = ret->outcome != OUTCOME_UNKNOWN;
	if (new.pid)
		ret->earlier_kills = earlier_kills(importer, &new);
	importer->history[importer->history_count++ % HISTORY_MAX] = new;
	return true;
}
