// SPDX-License-Identifier: Apache-2.0
/*
 * The table of verdicts, by facts drawn at random, likely ones and extreme ones: no two of those
 * that exclude each other, none without evidence or out of its place, each of them given at some
 * time, and none once a fact that it needs is taken away.
 */
#include "judge/killer.h"
#include "judge/verdict_table.h"
#include "store_random.h"

#define GIB (1ULL << 30)
#define PAGE 4096ULL
#define ROUNDS 30000
#define TAKEN_AWAY 6 /* of each verdict so often */

static struct incident incident, without;
static struct judgement judgement;
static struct killing killing;
static struct kill_judgement judged;
static struct host_facts host = {.page_size = PAGE, .cpus = 4, .memory_nodes = 3};
static unsigned int given[64]; /* by row: how often one of its id was given */

/* --- the table --- */

static void rows_are_whole(void **state)
{
	bool kinds[EXCLUDES_KINDS] = {0};
	unsigned int counts[SUBJECT_STALL + 1] = {0};

	(void)state;
	assert_true(verdict_rule_count <= sizeof(given) / sizeof(given[0]));
	for (size_t i = 0; i < verdict_rule_count; i++) {
		const struct verdict_rule *row = &verdict_rules[i];
		bool first = verdict_id(row->id) == row->id;

		assert_true(strspn(row->id, "abcdefghijklmnopqrstuvwxyz-") == strlen(row->id));
		assert_true(!row->incident == (row->subject != SUBJECT_INCIDENT));
		assert_true(!row->kill == (row->subject != SUBJECT_KILL));
		/* Alternatives of one id stand side by side, and are of one kind. */
		if (!first && strcmp(row->id, verdict_id(row->id)) == 0) {
			assert_string_equal(row->id, row[-1].id);
			assert_int_equal(row->exclusive, row[-1].exclusive);
		}
		if (i && !strcmp(row->id, row[-1].id))
			continue;
		counts[row->subject] += row->exclusive == EXCLUDES_NONE || !kinds[row->exclusive];
		kinds[row->exclusive] = true;
	}
	/* However many hold, none is cut off. */
	assert_true(counts[SUBJECT_INCIDENT] <= VERDICTS_MAX);
	assert_true(counts[SUBJECT_KILL] <= KILL_VERDICTS);
	assert_null(verdict_id("no-such-verdict"));
	assert_null(verdict_id(""));
}

static unsigned int row_of(const char *id)
{
	for (unsigned int i = 0; i < verdict_rule_count; i++)
		if (!strcmp(verdict_rules[i].id, id))
			return i;
	fail_msg("%s is in no row", id);
	return 0;
}

static void assert_in_order(const struct verdict *verdicts, unsigned int count)
{
	bool kinds[EXCLUDES_KINDS] = {0};
	unsigned int last = 0, part = 0;

	for (unsigned int i = 0; i < count; i++) {
		const struct verdict *verdict = &verdicts[i];
		unsigned int row = row_of(verdict->id);
		enum verdict_exclusive kind = verdict_rules[row].exclusive;
		unsigned int own_part = verdict->confidence == CONFIDENCE_POSSIBLE;

		given[row]++;
		assert_true(verdict->claim[0] && verdict->evidence_count);
		for (unsigned int j = 0; j < verdict->evidence_count; j++)
			assert_true(verdict->evidence[j][0]);
		assert_in_range(verdict->confidence, CONFIDENCE_CERTAIN, CONFIDENCE_POSSIBLE);
		if (kind && kinds[kind])
			fail_msg("%s excludes another one that was given", verdict->id);
		kinds[kind] = true;
		/* What is only possible stands behind; within each part by the table. */
		assert_true(own_part >= part);
		if (i && own_part == part)
			assert_true(row > last);
		part = own_part;
		last = row;
	}
}

/* --- its pages --- */

/* A file of docs/, from the place of this one. */
static char *read_doc(const char *name)
{
	static char text[128 << 10];
	const char *slash = strrchr(__FILE__, '/');
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%.*s/../../docs/%s", (int)(slash - __FILE__), __FILE__, name);
	file = fopen(path, "r");
	if (!file)
		fail_msg("no %s", path);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

/* Each id has one page, which says four things; and each page is of an id. */
static void every_verdict_has_its_page(void **state)
{
	static const char *const files[] = {"verdicts/limit.md", "verdicts/held.md",
		"verdicts/growth.md", "verdicts/kills.md", "verdicts/refused.md"};
	static const char *const parts[] = {
		"\n**Means** ", "\n**Rests on** ", "\n**By hand** ", "\n**Do** "};
	unsigned int pages[64] = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *rest = NULL, *text = read_doc(files[i]);

		for (char *page = strstr(text, "\n## `"); page; page = rest) {
			char *id = page + strlen("\n## `"), *end = strchr(id, '`');

			rest = strstr(id, "\n## `");
			if (rest)
				*rest = '\0';
			*end = '\0';
			if (!verdict_id(id))
				fail_msg("%s: %s is no verdict", files[i], id);
			pages[row_of(id)]++;
			for (size_t j = 0; j < sizeof(parts) / sizeof(parts[0]); j++)
				if (!strstr(end + 1, parts[j]))
					fail_msg("%s: no%s", id, parts[j] + 1);
			if (rest)
				*rest = '\n';
		}
	}
	for (size_t i = 0; i < verdict_rule_count; i++)
		if (pages[row_of(verdict_rules[i].id)] != 1)
			fail_msg("%s has %u pages", verdict_rules[i].id,
				pages[row_of(verdict_rules[i].id)]);
}

/* The list of all of them is in the order in which they are given; and the table of situations has
 * each. */
static void every_verdict_is_listed(void **state)
{
	char *text = read_doc("verdicts.md"), *at = text;
	char cell[96];

	(void)state;
	for (size_t i = 0; i < verdict_rule_count; i++) {
		if (i && !strcmp(verdict_rules[i].id, verdict_rules[i - 1].id))
			continue;
		snprintf(cell, sizeof(cell), "\n| [`%s`](", verdict_rules[i].id);
		at = strstr(at, cell);
		if (!at)
			fail_msg("%s is not in the list, or not in its place", verdict_rules[i].id);
	}
	at = strstr(text, "\n| verdict | situation | command |");
	assert_non_null(at);
	for (size_t i = 0; i < verdict_rule_count; i++) {
		snprintf(cell, sizeof(cell), "`%s`", verdict_rules[i].id);
		if (!strstr(at, cell))
			fail_msg("no situation of %s", verdict_rules[i].id);
	}
}

/* --- incidents --- */

static bool one_in(uint64_t n)
{
	return !random_below(n);
}

/* Of the whole: nothing, little, more than half, all of it, more than there can be; or unknown. */
static uint64_t share_of(uint64_t whole)
{
	switch (random_below(8)) {
	case 0:
		return UNKNOWN_U64;
	case 1:
		return 0;
	case 2:
		return whole;
	case 3:
		return whole + whole / 3;
	case 4:
		return one_in(8) ? UINT64_MAX - random_below(3) : whole / 100;
	default:
		return random_below(whole + 1);
	}
}

static int64_t pages_of(uint64_t bytes)
{
	return bytes == UNKNOWN_U64 ? 0 : (int64_t)(bytes / PAGE);
}

static void some_task(struct task_facts *task, uint32_t tgid)
{
	static const int32_t adjs[] = {0, 0, 0, 0, -1000, -500, 300, 1000};

	*task = (struct task_facts) {.tgid = tgid,
		.tid = tgid,
		.ppid = 10,
		.start_ns = tgid * 7ULL,
		.oom_score_adj = adjs[random_below(8)]};
	task->rss_pages[EV_RSS_ANON] = pages_of(share_of(GIB));
	if (one_in(4))
		task->rss_pages[EV_RSS_SWAP] = pages_of(share_of(GIB));
	strcpy(task->comm, "worker");
}

static void some_levels(void)
{
	incident.level_count = (unsigned int)random_below(4);
	for (unsigned int i = 0; i < incident.level_count; i++) {
		struct incident_level *level = &incident.levels[i];
		uint64_t max = share_of(GIB);

		level->id = 30 + i;
		level->flags = one_in(2) ? EV_LEVEL_V2 : 0;
		level->flags |= one_in(3) ? EV_LEVEL_OOM_GROUP : 0;
		level->max_pages = max == UNKNOWN_U64 ? max : max / PAGE;
		level->usage_pages = one_in(4) ? level->max_pages : share_of(GIB) / PAGE;
		level->swap_usage_pages = level->swap_max_pages = UNKNOWN_U64;
		level->high_pages = one_in(2) ? UNKNOWN_U64 : share_of(GIB) / PAGE;
		level->events[EV_EVENT_HIGH] = one_in(4) ? UNKNOWN_U64 : random_below(9);
		level->events_local[EV_EVENT_HIGH] = one_in(4) ? UNKNOWN_U64 : random_below(9);
		level->kmem_usage_pages = one_in(2) ? UNKNOWN_U64 : share_of(GIB) / PAGE;
		snprintf(incident.level_paths[i], INCIDENT_PATH, "%s",
			one_in(8) ? "" : "/pod/app/job");
	}
	if (incident.level_count && one_in(2))
		incident.levels[incident.level_count - 1].flags |= EV_LEVEL_ROOT;
	incident.log.limit_level = (int)random_below(incident.level_count + 1) - 1;
	incident.self.limit_level = incident.log.limit_level;
	incident.self.limit_sign = incident.self.limit_level < 0
					   ? SELF_LIMIT_NONE
					   : (enum self_limit_sign)(1 + random_below(2));
	incident.oc_limit_id = 30 + random_below(4);
	incident.constraint = (uint32_t)random_below(4);
}

static void some_people(void)
{
	incident.candidate_total = incident.candidate_count = (unsigned int)random_below(4);
	for (unsigned int i = 0; i < incident.candidate_count; i++)
		some_task(&incident.candidates[i].task, 100 + i);
	incident.candidates_from_census = one_in(3);
	incident.victim_count = (unsigned int)random_below(3);
	for (unsigned int i = 0; i < incident.victim_count; i++) {
		some_task(&incident.victims[i].task, 100 + i);
		incident.victims[i].task.cgroup_id = 30 + random_below(2);
		incident.victims[i].why = (enum victim_why)(1 + random_below(4));
		if (one_in(8))
			incident.victims[i].task.flags |= EV_TASK_PARTIAL;
	}
	if (incident.victim_count) {
		incident.chosen = incident.victims[0].task;
		strcpy(incident.victim_cgroup, one_in(6) ? "" : "/pod/app/job");
	}
	incident.has_trigger = one_in(2);
	strcpy(incident.trigger_cgroup, one_in(2) ? "/pod/app/job" : "/other");
	incident.earlier_kills = one_in(3) ? (uint32_t)random_below(20) : 0;
	incident.lost_events = one_in(8);
}

static void some_memory(void)
{
	struct host_memory *memory = &incident.host;
	struct cgroup_stat *stat = &incident.stat;
	struct incident_log *log = &incident.log;

	memory->total_bytes = one_in(6) ? UNKNOWN_U64 : 16 * GIB;
	memory->free_bytes = share_of(16 * GIB);
	memory->available_bytes = share_of(16 * GIB);
	memory->swap_total_bytes = share_of(2 * GIB);
	memory->swap_free_bytes = share_of(2 * GIB);
	memory->hugetlb_bytes = one_in(3) ? share_of(16 * GIB) : 0;
	incident.stat_usage_bytes = share_of(GIB);
	stat->anon_bytes = share_of(GIB);
	stat->file_bytes = share_of(GIB);
	stat->shmem_bytes = share_of(GIB);
	stat->kernel_bytes = share_of(GIB);
	stat->slab_bytes = share_of(GIB);
	stat->file_dirty_bytes = share_of(GIB);
	stat->file_writeback_bytes = share_of(GIB);
	log->machine.anon_bytes = share_of(16 * GIB);
	log->machine.file_bytes = share_of(16 * GIB);
	log->machine.shmem_bytes = share_of(16 * GIB);
	log->machine.slab_bytes = share_of(16 * GIB);
	log->machine.dirty_bytes = share_of(16 * GIB);
	log->machine.kernel_stack_bytes = log->machine.pagetables_bytes =
		log->machine.unevictable_bytes = UNKNOWN_U64;
}

static void some_log(void)
{
	struct incident_log *log = &incident.log;

	log->has_scope = !one_in(8);
	log->has_order = one_in(2);
	log->has_gfp = one_in(2);
	log->sysrq = one_in(10);
	log->limit_written = one_in(4);
	log->has_trace = one_in(2);
	log->family_members = (uint32_t)random_below(8);
	log->family_pages = share_of(GIB) / PAGE;
	log->family_largest_pages = log->family_pages / (1 + random_below(6));
	log->family_from_anon = one_in(2);
	strcpy(log->family_comm, "worker");
	log->machine.zone_count = (unsigned int)random_below(3);
	for (unsigned int i = 0; i < log->machine.zone_count; i++) {
		strcpy(log->machine.zones[i].name, i ? "HighMem" : "Normal");
		log->machine.zones[i].free_pages = share_of(8 * GIB) / PAGE;
		log->machine.zones[i].min_pages = share_of(GIB / 16) / PAGE;
		log->machine.zones[i].cma_pages = log->machine.zones[i].highatomic_pages = 0;
	}
}

static void some_history(void)
{
	struct growth_picture *picture = &incident.growth;
	uint64_t at = GIB / 8, rise = random_below(GIB / 40);
	bool spike = one_in(2);

	picture->valid = !one_in(4);
	picture->domain_known = !one_in(4);
	picture->from_ns = 1000000000ULL;
	picture->to_ns = 61000000000ULL;
	picture->domain_max_bytes = GIB;
	picture->point_count = one_in(6) ? (unsigned int)random_below(4) : 40;
	for (unsigned int i = 0; i < picture->point_count; i++) {
		at += spike ? (i == 39 ? GIB / 2 : 0) : rise;
		picture->points[i] = at;
	}
	picture->domain_delta_bytes = (int64_t)(at - GIB / 8);
	picture->unattributed_bytes = one_in(2) ? 0 : picture->domain_delta_bytes;
	picture->process_count = (unsigned int)random_below(4);
	for (unsigned int i = 0; i < picture->process_count; i++) {
		struct picture_process *process = &picture->processes[i];

		process->tgid = 100 + i;
		process->start_ns = process->tgid * (one_in(2) ? 7 : 8);
		process->held_bytes = share_of(GIB);
		process->delta_bytes = (int64_t)random_below(GIB);
		process->cow_bytes = one_in(2) ? share_of(GIB) : 0;
		process->cow_upper_bound = one_in(2);
		strcpy(process->comm, "worker");
	}
	picture->family_count = (unsigned int)random_below(2);
	picture->families[0] = (struct picture_family) {.root_tgid = 10,
		.comm = "parent",
		.members = (uint32_t)random_below(5),
		.private_bytes = share_of(GIB),
		.shared_bytes = share_of(GIB / 4),
		.delta_bytes = (int64_t)random_below(GIB),
		.cow_bytes = one_in(2) ? share_of(GIB) : 0,
		.cow_upper_bound = one_in(2)};
}

static void some_looks(void)
{
	struct incident_self *self = &incident.self;

	self->kills = 1 + (uint32_t)random_below(3);
	self->vanished = (uint32_t)random_below(5);
	self->unseen = one_in(3);
	self->certainty = (enum self_certainty)random_below(4);
	self->complete = one_in(2);
}

static void some_incident(void)
{
	memset(&incident, 0, sizeof(incident));
	incident.source = (enum incident_source)random_below(3);
	incident.outcome = one_in(6) ? OUTCOME_NO_KILLABLE : OUTCOME_KILLED;
	incident.has_oc = incident.source == INCIDENT_TRACED && one_in(2);
	incident.order = one_in(4) ? (int)random_below(12) - 1 : 0;
	incident.gfp_mask = one_in(2) ? 0xcc0 : 0x100cca;
	incident.nodemask = incident.mems_allowed = incident.policy_nodes = UNKNOWN_U64;
	incident.totalpages = one_in(6) ? UNKNOWN_U64 : GIB / PAGE;
	incident.trigger_flags = one_in(4) ? EV_CONTEXT_KTHREAD : 0;
	some_levels();
	some_people();
	some_memory();
	some_history();
	incident.log.joined = incident.source == INCIDENT_TRACED && one_in(3);
	if (incident_is_logged(&incident))
		some_log();
	if (incident.source == INCIDENT_SELF)
		some_looks();
	if (incident.outcome == OUTCOME_NO_KILLABLE)
		incident.victim_count = 0;
}

/* --- a fact is taken away --- */

static void forget_memory(uint32_t fact)
{
	switch (fact) {
	case FACT_RAM:
		without.host.total_bytes = UNKNOWN_U64;
		break;
	case FACT_STAT:
		without.stat_usage_bytes = UNKNOWN_U64;
		break;
	case FACT_SHMEM:
		without.stat.shmem_bytes = UNKNOWN_U64;
		break;
	case FACT_KERNEL:
		without.stat.kernel_bytes = without.stat.slab_bytes = UNKNOWN_U64;
		for (unsigned int i = 0; i < without.level_count; i++)
			without.levels[i].kmem_usage_pages = UNKNOWN_U64;
		break;
	case FACT_DIRTY:
		without.stat.file_dirty_bytes = UNKNOWN_U64;
		break;
	case FACT_UNEXPLAINED:
		without.stat.anon_bytes = UNKNOWN_U64;
		break;
	case FACT_MACHINE_SHMEM:
		without.log.machine.shmem_bytes = UNKNOWN_U64;
		break;
	case FACT_MACHINE_SLAB:
		without.log.machine.slab_bytes = UNKNOWN_U64;
		break;
	case FACT_MACHINE_DIRTY:
		without.log.machine.dirty_bytes = UNKNOWN_U64;
		break;
	case FACT_MACHINE_HUGETLB:
		without.host.hugetlb_bytes = UNKNOWN_U64;
		break;
	case FACT_MACHINE_PARTS:
		without.log.machine.file_bytes = UNKNOWN_U64;
		break;
	default:
		fail_msg("no test takes fact 0x%x away", fact);
	}
}

/* `incident` but for one fact. */
static void forget(uint32_t fact)
{
	without = incident;
	switch (fact) {
	case FACT_SCOPE:
	case FACT_LIMIT:
		without.level_count = 0;
		without.has_oc = without.log.has_scope = false;
		without.log.limit_level = without.self.limit_level = -1;
		without.self.limit_sign = SELF_LIMIT_NONE;
		break;
	case FACT_LIMIT_USE:
		for (unsigned int i = 0; i < without.level_count; i++)
			without.levels[i].usage_pages = UNKNOWN_U64;
		break;
	case FACT_HIGH:
		for (unsigned int i = 0; i < without.level_count; i++)
			without.levels[i].high_pages = UNKNOWN_U64;
		break;
	case FACT_VICTIM:
	case FACT_HELD:
		without.victim_count = 0;
		without.chosen.tgid = 0;
		break;
	case FACT_WEIGHED:
		without.candidate_count = 0;
		break;
	case FACT_ORDER:
		without.has_oc = without.log.has_order = false;
		break;
	case FACT_HISTORY:
		without.growth.valid = false;
		break;
	case FACT_USAGE_HISTORY:
		without.growth.domain_known = false;
		break;
	default:
		forget_memory(fact);
	}
}

/* Given by one row or another, of which each rests on less than all of its facts. */
static bool has_alternatives(const char *id)
{
	bool either = !strcmp(id, "zone-exhausted") || !strcmp(id, "host-exhausted");

	return !strcmp(id, "fork-family") || !strcmp(id, "repeated") ||
	       (either && incident.log.joined);
}

/* That one of the rows of its id whose facts are all there: the one that gave it. */
static void take_facts_away(const char *id)
{
	const struct coverage coverage = {.full_tier = true};

	for (const struct verdict_rule *row = &verdict_rules[row_of(id)];
		row < verdict_rules + verdict_rule_count && !strcmp(row->id, id); row++) {
		bool of_log = row->needs & (FACT_LOG | FACT_ACCOUNT),
		     of_looks = row->needs & FACT_LOOKS;

		/* An alternative that rests on other facts may hold without these. */
		if (of_log != (incident_is_logged(&incident) && judgement.limit_level < 0) ||
			(of_looks && incident.source != INCIDENT_SELF) || has_alternatives(id))
			continue;
		for (uint32_t fact = 1; fact && fact <= row->needs; fact <<= 1) {
			static struct judgement less;

			/* Who tells of it is no fact that could be missing. */
			if (!(row->needs & fact &
				    ~(uint32_t)(FACT_LOG | FACT_ACCOUNT | FACT_LOOKS)))
				continue;
			forget(fact);
			judge_incident(&without, &host, &coverage, &less);
			if (verdict_given(less.verdicts, less.verdict_count, id))
				fail_msg("%s is given without fact 0x%x", id, fact);
		}
	}
}

/* Ids that several kinds of facts may lead to, each with the rest of them unknown. */
static void no_family_without_a_history_or_a_log(void **state)
{
	const struct coverage coverage = {.full_tier = true};

	(void)state;
	for (int i = 0; i < ROUNDS / 10; i++) {
		some_incident();
		incident.growth.valid = false;
		incident.log.family_members = 0;
		judge_incident(&incident, &host, &coverage, &judgement);
		assert_false(
			verdict_given(judgement.verdicts, judgement.verdict_count, "fork-family"));
	}
}

static void incidents_are_judged_without_contradiction(void **state)
{
	const struct coverage coverage = {.full_tier = true};

	(void)state;
	memset(given, 0, sizeof(given));
	for (int i = 0; i < ROUNDS; i++) {
		some_incident();
		memset(&judgement, 0x5a, sizeof(judgement));
		judge_incident(&incident, &host, &coverage, &judgement);
		assert_in_order(judgement.verdicts, judgement.verdict_count);
		for (unsigned int j = 0; j < judgement.verdict_count; j++) {
			const char *claim = judgement.verdicts[j].claim;

			assert_int_equal(claim[strlen(claim) - 1], '.');
			if (given[row_of(judgement.verdicts[j].id)] <= TAKEN_AWAY)
				take_facts_away(judgement.verdicts[j].id);
		}
	}
	for (size_t i = 0; i < verdict_rule_count; i++)
		if (verdict_rules[i].subject == SUBJECT_INCIDENT &&
			!given[row_of(verdict_rules[i].id)])
			fail_msg("%s was never given", verdict_rules[i].id);
}

/* Whatever a damaged store may hold. */
static void any_facts_are_judged_without_contradiction(void **state)
{
	const struct coverage coverage = {.full_tier = true};

	(void)state;
	for (int i = 0; i < 300; i++) {
		random_incident(&incident);
		memset(&judgement, 0x5a, sizeof(judgement));
		judge_incident(&incident, &host, &coverage, &judgement);
		assert_in_order(judgement.verdicts, judgement.verdict_count);
	}
}

/* --- kills --- */

static void some_killing(void)
{
	static const char *const files[] = {"/usr/bin/bash", "/usr/lib/systemd/systemd-oomd",
		"/usr/bin/earlyoom", "/usr/lib/systemd/systemd", "/usr/bin/dockerd", "", "/x/y"};

	memset(&killing, 0, sizeof(killing));
	killing.manner = (enum killing_manner)random_below(MANNER_LAST + 1);
	killing.signal = killing.manner == MANNER_FAULT ? (one_in(2) ? 7 : 11) : 9;
	killing.code = (int32_t)random_below(4);
	killing.time_ns = killing.last_ns = 900000000000ULL;
	killing.flags = (uint32_t)random_u64();
	killing.sender_tgid = one_in(6) ? 100 : 10;
	strcpy(killing.sender_comm, one_in(6) ? "" : "sender");
	strcpy(killing.sender_exe, files[random_below(7)]);
	killing.total = killing.received = 1 + (uint32_t)random_below(3);
	killing.descendants = (uint32_t)random_below(killing.received + 1);
	killing.target_count = 1;
	killing.targets[0].tgid = 100;
	killing.term_ns = one_in(3) ? 1 : 0;
	killing.oom_ns = one_in(2) ? killing.time_ns - random_below(120000000000ULL) : 0;
	killing.tmpfs_max_blocks = random_up_to(UINT64_MAX);
	killing.tmpfs_used_blocks = one_in(2) ? killing.tmpfs_max_blocks : random_u64();
	killing.host.total_bytes = killing.host.available_bytes = share_of(16 * GIB);
	killing.pressure.some = killing.cgroup_pressure.some = share_of(10000);
}

static void judge_kill(void)
{
	memset(&judged, 0x5a, sizeof(judged));
	judge_killing(&killing, &host, &judged);
}

static void forget_of_kill(uint32_t fact)
{
	if (fact == FACT_SENDER)
		killing.sender_comm[0] = killing.sender_exe[0] = killing.sender_file[0] = '\0';
	else if (fact == FACT_OOM_BEFORE)
		killing.oom_ns = 0;
	else if (fact == FACT_TMPFS)
		killing.flags &= ~(uint32_t)EV_SIGNAL_BLOCKS;
	else
		fail_msg("no test takes fact 0x%x away", fact);
}

static void take_facts_of_kill_away(unsigned int row)
{
	const struct killing whole = killing;

	for (uint32_t fact = 1; fact && fact <= verdict_rules[row].needs; fact <<= 1) {
		if (!(verdict_rules[row].needs & fact))
			continue;
		killing = whole;
		forget_of_kill(fact);
		judge_kill();
		assert_false(verdict_given(
			judged.verdicts, judged.verdict_count, verdict_rules[row].id));
	}
	killing = whole;
	judge_kill();
}

/* Somebody or something killed: there is always an answer, and one only. */
static void kills_are_judged_without_contradiction(void **state)
{
	(void)state;
	memset(given, 0, sizeof(given));
	for (int i = 0; i < ROUNDS; i++) {
		unsigned int answers = 0;

		some_killing();
		judge_kill();
		assert_in_order(judged.verdicts, judged.verdict_count);
		for (unsigned int j = 0; j < judged.verdict_count; j++) {
			unsigned int row = row_of(judged.verdicts[j].id);

			answers += verdict_rules[row].exclusive == EXCLUDES_KILLER;
			if (given[row] <= TAKEN_AWAY)
				take_facts_of_kill_away(row);
		}
		assert_int_equal(answers, 1);
	}
	for (size_t i = 0; i < verdict_rule_count; i++)
		if (verdict_rules[i].subject == SUBJECT_KILL && !given[i])
			fail_msg("%s was never given", verdict_rules[i].id);
}

/* What the kernel does by itself is no act of whoever ran at that moment. */
static void a_daemon_that_only_ran_has_not_killed(void **state)
{
	(void)state;
	for (int manner = MANNER_PARENT; manner <= MANNER_TIMER; manner++) {
		some_killing();
		killing.manner = (enum killing_manner)manner;
		killing.sender_tgid = 10;
		strcpy(killing.sender_exe, "/usr/bin/earlyoom");
		judge_kill();
		assert_false(verdict_given(
			judged.verdicts, judged.verdict_count, "killed-by-oom-daemon"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_whole),
		cmocka_unit_test(every_verdict_has_its_page),
		cmocka_unit_test(every_verdict_is_listed),
		cmocka_unit_test(incidents_are_judged_without_contradiction),
		cmocka_unit_test(no_family_without_a_history_or_a_log),
		cmocka_unit_test(any_facts_are_judged_without_contradiction),
		cmocka_unit_test(kills_are_judged_without_contradiction),
		cmocka_unit_test(a_daemon_that_only_ran_has_not_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
