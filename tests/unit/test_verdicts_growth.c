// SPDX-License-Identifier: Apache-2.0
/* Verdicts on the minutes before a kill, each from literal facts, and none without its evidence. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "growth_fixture.h"
#include "judge/judgement.h"

#define MIB PIC_MIB
#define GIB PIC_GIB
#define VICTIM 31415

static const struct host_facts host = {.page_size = 4096, .cpus = 4, .swappiness = 60};
static struct incident incident;
static struct judgement judgement;

/* Somebody was killed by the limit of 16 GiB; that he grew is for the picture to tell. */
static struct growth_picture *kill_of(uint32_t tgid)
{
	memset(&incident, 0, sizeof(incident));
	incident.outcome = OUTCOME_KILLED;
	incident.victim_count = 1;
	incident.victims[0].task.tgid = tgid;
	incident.victims[0].why = VICTIM_CHOSEN;
	strcpy(incident.victims[0].task.comm, "victim");
	memset(&incident.stat, 0xff, sizeof(incident.stat));
	incident.stat_usage_bytes = UNKNOWN_U64;
	incident.totalpages = 4194304;
	return &incident.growth;
}

static void candidate(uint32_t tgid, uint32_t ppid, uint64_t held_bytes)
{
	struct task_facts *task = &incident.candidates[incident.candidate_count++].task;

	task->tgid = tgid;
	task->ppid = ppid;
	task->rss_pages[EV_RSS_ANON] = (int64_t)(held_bytes / 4096);
	strcpy(task->comm, "weighed");
	incident.candidate_total = incident.candidate_count;
}

static const struct verdict *given(const char *id)
{
	const struct coverage coverage = {.full_tier = true, .recorder = true};

	memset(&judgement, 0x5a, sizeof(judgement));
	judge_incident(&incident, &host, &coverage, &judgement);
	for (unsigned int i = 0; i < judgement.verdict_count; i++)
		if (!strcmp(judgement.verdicts[i].id, id))
			return &judgement.verdicts[i];
	return NULL;
}

static bool has_evidence(const struct verdict *verdict, const char *text)
{
	for (unsigned int i = 0; i < verdict->evidence_count; i++)
		if (!strcmp(verdict->evidence[i], text))
			return true;
	return false;
}

static void assert_evidence(const struct verdict *verdict, const char *const *texts)
{
	unsigned int count = 0;

	for (; texts[count]; count++) {
		if (!has_evidence(verdict, texts[count])) {
			for (unsigned int i = 0; i < verdict->evidence_count; i++)
				print_error("evidence: %s\n", verdict->evidence[i]);
			fail_msg("no evidence \"%s\"", texts[count]);
		}
	}
	assert_int_equal(verdict->evidence_count, count);
}

static void assert_claim(const char *id, enum confidence confidence, const char *claim)
{
	const struct verdict *verdict = given(id);

	assert_non_null(verdict);
	assert_string_equal(verdict->claim, claim);
	assert_int_equal(verdict->confidence, confidence);
}

/* --- fork-family --- */

static void a_family_that_holds_most(void **state)
{
	static const char *const texts[] = {"private 11.5 GiB, shared 2.83 GiB (counted once)",
		"in use at the end: 16.0 GiB", "members alive: 17, ended within the window: 3",
		"in 1 min: grew by 48.0 MiB, and copied 11.5 GiB",
		"the largest single process: weighed[31402], 1.00 GiB of its own", NULL};
	struct growth_picture *picture = kill_of(VICTIM);

	(void)state;
	pic_workers(picture);
	picture->families[0].exited = 3;
	candidate(31402, 1, 3924 * MIB);
	assert_claim("fork-family", CONFIDENCE_LIKELY,
		"The fork family of python3[31402], 17 processes, holds 14.4 GiB of the 16.0 GiB in use; no single one of them holds most of it.");
	assert_evidence(given("fork-family"), texts);
}

static void a_family_of_one_is_a_process(void **state)
{
	struct growth_picture *picture = kill_of(VICTIM);

	(void)state;
	pic_workers(picture);
	picture->families[0].members = 1;
	assert_null(given("fork-family"));
	picture->families[0].members = 2;
	assert_non_null(given("fork-family"));
}

static void where_one_process_holds_most_it_is_no_family(void **state)
{
	struct growth_picture *picture = kill_of(VICTIM);

	(void)state;
	pic_workers(picture);
	picture->families[0].delta_bytes = picture->families[0].cow_bytes = 0;
	assert_non_null(given("fork-family"));
	candidate(7, 1, 8 * GIB + MIB); /* no member, as far as is seen */
	assert_null(given("fork-family"));
	incident.candidates[0].task.ppid = 31402; /* a member: 2.83 GiB of that is shared */
	assert_non_null(given("fork-family"));
	picture->processes[0].held_bytes = 12 * GIB;
	assert_null(given("fork-family"));
}

/* What one process loaded and a few look at is that process's memory. */
static void a_family_with_little_of_its_own_holds_nothing(void **state)
{
	struct growth_picture *picture = kill_of(VICTIM);

	(void)state;
	pic_workers(picture);
	picture->families[0].delta_bytes = picture->families[0].cow_bytes = 0;
	picture->families[0].private_bytes = GIB;
	picture->families[0].shared_bytes = 12 * GIB;
	assert_null(given("fork-family"));
	picture->families[0].private_bytes = 4 * GIB;
	assert_non_null(given("fork-family"));
}

static void less_than_half_is_not_most(void **state)
{
	struct growth_picture *picture = kill_of(VICTIM);

	(void)state;
	pic_workers(picture);
	picture->families[0].delta_bytes = picture->families[0].cow_bytes = 0;
	picture->families[0].private_bytes = 5 * GIB;
	picture->families[0].shared_bytes = 3 * GIB;
	assert_null(given("fork-family"));
	picture->families[0].shared_bytes++;
	assert_non_null(given("fork-family"));
}

/* Pages of files may be charged to others; but what is twice the usage counts pages twice. */
static void a_family_holds_no_more_than_all(void **state)
{
	struct growth_picture *picture = kill_of(VICTIM);

	(void)state;
	pic_workers(picture);
	picture->families[0].private_bytes = 15 * GIB;
	assert_claim("fork-family", CONFIDENCE_LIKELY,
		"The fork family of python3[31402], 17 processes, holds about all of the 16.0 GiB in use; no single one of them holds most of it.");
	picture->families[0].private_bytes = 64 * GIB;
	picture->families[0].delta_bytes = 60LL * (int64_t)GIB;
	assert_null(given("fork-family"));
}

/* Where all that were weighed are its members, what was counted twice is theirs all the same. */
static void a_family_that_is_alone_below_the_limit(void **state)
{
	struct growth_picture *picture = kill_of(VICTIM);

	(void)state;
	pic_workers(picture);
	picture->families[0].private_bytes = 64 * GIB;
	picture->families[0].delta_bytes = 60LL * (int64_t)GIB;
	incident.has_oc = true;
	incident.constraint = EV_CONSTRAINT_MEMCG;
	incident.oc_limit_id = incident.levels[0].id = 7;
	incident.level_count = 1;
	incident.stat.anon_bytes = 15 * GIB;
	for (uint32_t i = 0; i < 17; i++)
		candidate(31402 + i, 31402, GIB / 2);
	assert_int_equal(given("fork-family")->confidence, CONFIDENCE_LIKELY);
	assert_true(has_evidence(given("fork-family"),
		"members alive: 17, ended within the window: 0; nobody else was weighed"));
	incident.stat.anon_bytes = GIB;
	assert_null(given("fork-family"));
	incident.stat.anon_bytes = UNKNOWN_U64;
	assert_null(given("fork-family"));
	incident.stat.anon_bytes = 15 * GIB;
	candidate(9, 1, GIB / 2);
	assert_null(given("fork-family"));
}

static void copies_that_may_be_fewer_make_a_family_less_sure(void **state)
{
	struct growth_picture *picture = kill_of(VICTIM);

	(void)state;
	pic_workers(picture);
	picture->families[0].cow_upper_bound = true;
	/* all that was counted is what the usage shows */
	assert_int_equal(given("fork-family")->confidence, CONFIDENCE_LIKELY);
	picture->unattributed_bytes = -3LL * (int64_t)GIB;
	assert_int_equal(given("fork-family")->confidence, CONFIDENCE_POSSIBLE);
	picture->families[0].private_bytes = 15 * GIB;
	picture->families[0].cow_bytes = GIB;
	assert_int_equal(given("fork-family")->confidence, CONFIDENCE_LIKELY);
}

static void a_family_that_made_most_of_the_growth(void **state)
{
	struct growth_picture *picture = kill_of(VICTIM);

	(void)state;
	pic_workers(picture);
	picture->families[0].private_bytes = 3 * GIB;
	picture->families[0].shared_bytes = GIB;
	assert_claim("fork-family", CONFIDENCE_LIKELY,
		"The fork family of python3[31402], 17 processes, made 11.6 GiB of the growth of 12.0 GiB; no single one of them made most of it.");
	picture->processes[4].delta_bytes = 7 * GIB;
	assert_null(given("fork-family"));
}

/* Of the machine there is no limit's cgroup; the usage is that of the picture. */
static void without_a_usage_there_is_no_share_of_it(void **state)
{
	struct growth_picture *picture = kill_of(VICTIM);

	(void)state;
	pic_workers(picture);
	picture->domain_id = 0;
	assert_non_null(given("fork-family"));
	picture->domain_known = false;
	assert_null(given("fork-family"));
	assert_null(given("copy-on-write"));
	assert_null(given("steady-leak"));
}

/* --- copy-on-write --- */

static void copies_that_were_counted(void **state)
{
	static const char *const texts[] = {"copied 11.5 GiB in 1 min",
		"write faults on present pages were counted, and what was charged agrees",
		"most of it by python3[31415]: 744 MiB, RSS and swap grew by 3.00 MiB", NULL};
	struct growth_picture *picture = kill_of(VICTIM);

	(void)state;
	pic_workers(picture);
	assert_claim("copy-on-write", CONFIDENCE_LIKELY,
		"11.5 GiB of the growth of 12.0 GiB are private copies of pages that were shared by fork (copy-on-write): no RSS shows them.");
	assert_evidence(given("copy-on-write"), texts);
	picture->families[0].cow_bytes = 12 * GIB;
	assert_claim("copy-on-write", CONFIDENCE_LIKELY,
		"About all of the growth of 12.0 GiB are private copies of pages that were shared by fork (copy-on-write): no RSS shows them.");
}

static void copies_that_were_bounded_say_at_most(void **state)
{
	static const char *const texts[] = {"copied at most 11.5 GiB in 1 min",
		"bound: page faults beyond what RSS grew, and what was charged beyond it",
		"most of it by python3[31415]: at most 744 MiB, RSS and swap shrank by 4.00 KiB",
		NULL};
	struct growth_picture *picture = kill_of(VICTIM);

	(void)state;
	pic_workers(picture);
	picture->family_count = 0;
	picture->processes[0].cow_upper_bound = true;
	picture->processes[0].delta_bytes = -4096;
	assert_int_equal(given("copy-on-write")->confidence, CONFIDENCE_LIKELY);
	picture->unattributed_bytes = 3LL * (int64_t)GIB;
	assert_claim("copy-on-write", CONFIDENCE_POSSIBLE,
		"At most 11.5 GiB of the growth of 12.0 GiB are private copies of pages that were shared by fork (copy-on-write): no RSS shows them.");
	assert_evidence(given("copy-on-write"), texts);
	picture->processes[0].cow_bytes = 20 * GIB;
	assert_claim("copy-on-write", CONFIDENCE_POSSIBLE,
		"Private copies of pages that were shared by fork (copy-on-write) can account for all of the growth of 12.0 GiB: no RSS shows them.");
}

static void a_few_copies_are_not_told(void **state)
{
	struct growth_picture *picture = kill_of(VICTIM);

	(void)state;
	pic_workers(picture);
	picture->process_count = 0;
	picture->families[0].cow_bytes = 4 * GIB;
	assert_non_null(given("copy-on-write"));
	picture->families[0].cow_bytes--;
	assert_null(given("copy-on-write"));
	picture->families[0].cow_bytes = 0;
	picture->families[0].cow_upper_bound = true;
	assert_null(given("copy-on-write"));
	picture->families[0].cow_bytes = UNKNOWN_U64;
	assert_null(given("copy-on-write"));
}

static void copies_without_growth_are_not_told(void **state)
{
	struct growth_picture *picture = kill_of(VICTIM);

	(void)state;
	pic_flat(picture);
	picture->processes[0].cow_bytes = GIB;
	assert_null(given("copy-on-write"));
	pic_leak(picture);
	assert_null(given("copy-on-write"));
}

/* --- how --- */

static void a_spike(void **state)
{
	static const char *const texts[] = {"usage 200 MiB when it began, 2.00 GiB at the end",
		"it began 2.03 s before the end, in a history of 30.0 s", NULL};
	struct growth_picture *picture = kill_of(5000);

	(void)state;
	pic_spike(picture);
	assert_claim("spike", CONFIDENCE_LIKELY,
		"Nine tenths of the growth of 1.80 GiB came within about 2.03 s.");
	assert_evidence(given("spike"), texts);
	assert_null(given("steady-leak"));
	pic_tmpfs(picture);
	assert_null(given("spike"));
	assert_null(given("steady-leak"));
	pic_flat(picture);
	assert_null(given("spike"));
	assert_null(given("steady-leak"));
}

static void a_steady_leak(void **state)
{
	struct growth_picture *picture = kill_of(900);

	(void)state;
	pic_leak(picture);
	assert_claim("steady-leak", CONFIDENCE_LIKELY,
		"Usage grew steadily by 15.5 MiB a second for 3 min 18 s, up to the end.");
	assert_true(has_evidence(
		given("steady-leak"), "usage 1.00 GiB when it began, 4.00 GiB at the end"));
	assert_true(has_evidence(given("steady-leak"), "a straight line explains it: r2 1.00"));
	assert_null(given("spike"));
	pic_workers(picture);
	assert_claim("steady-leak", CONFIDENCE_LIKELY,
		"Usage grew steadily by 205 MiB a second for at least 1 min, up to the end.");
}

/* --- who --- */

static void who_grew_most_and_was_not_killed(void **state)
{
	static const char *const texts[] = {
		"in 5 min: grew by 2.88 GiB, and copied 0", "holds 2.94 GiB", NULL};
	struct growth_picture *picture = kill_of(901);

	(void)state;
	pic_leak(picture);
	assert_claim("grew-most", CONFIDENCE_LIKELY,
		"java[900] made 2.88 GiB of the growth of 3.00 GiB, and it is not the one that was killed.");
	assert_evidence(given("grew-most"), texts);
	assert_null(given("no-process-grew"));
	picture->processes[0].exited = true;
	assert_true(has_evidence(given("grew-most"), "ended since; it held 2.94 GiB"));
	incident.victim_count = 0;
	incident.outcome = OUTCOME_NO_KILLABLE;
	/* What it held has come back since. */
	assert_claim("grew-most", CONFIDENCE_POSSIBLE,
		"java[900] made 2.88 GiB of the growth of 3.00 GiB.");
}

static void who_grew_most_and_was_killed_is_not_told_again(void **state)
{
	struct growth_picture *picture = kill_of(900);

	(void)state;
	pic_leak(picture);
	assert_null(given("grew-most"));
	incident.victims[0].task.start_ns = 5; /* the pid was somebody else's by then */
	assert_non_null(given("grew-most"));
	incident.victims[0].task.tgid = 899;
	assert_non_null(given("grew-most"));
	incident.victims[1].task.tgid = 900;
	incident.victim_count = 2;
	assert_null(given("grew-most"));
	pic_workers(picture);
	assert_null(given("grew-most"));
}

static void copies_make_the_grower_less_sure(void **state)
{
	struct growth_picture *picture = kill_of(901);

	(void)state;
	pic_leak(picture);
	picture->processes[0].delta_bytes = GIB;
	picture->processes[0].cow_bytes = GIB;
	assert_int_equal(given("grew-most")->confidence, CONFIDENCE_LIKELY);
	picture->processes[0].cow_upper_bound = true;
	picture->unattributed_bytes = 9LL * (int64_t)GIB;
	assert_int_equal(given("grew-most")->confidence, CONFIDENCE_POSSIBLE);
}

static void growth_that_no_process_shows(void **state)
{
	static const char *const texts[] = {"growth of usage less that of all processes: 1.50 GiB",
		"by what it read, wrote or was charged for, dd[77] can account for 1.51 GiB", NULL};
	struct growth_picture *picture = kill_of(1);

	(void)state;
	pic_tmpfs(picture);
	assert_claim("no-process-grew", CONFIDENCE_LIKELY,
		"1.50 GiB of the growth of 1.51 GiB is in no process's own memory: page cache, tmpfs or kernel memory.");
	assert_evidence(given("no-process-grew"), texts);
	picture->processes[0].cached_bytes = MIB;
	assert_int_equal(given("no-process-grew")->evidence_count, 1);
	picture->unattributed_bytes = 700 * MIB;
	assert_null(given("no-process-grew"));
	pic_leak(picture);
	assert_null(given("no-process-grew"));
}

/* --- all of them --- */

static void without_a_history_nothing_is_claimed(void **state)
{
	static const char *const ids[] = {"fork-family", "copy-on-write", "spike", "steady-leak",
		"grew-most", "no-process-grew"};
	struct growth_picture *picture = kill_of(1);

	(void)state;
	pic_workers(picture);
	picture->valid = false;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		assert_null(given(ids[i]));
	assert_int_equal(judgement.trend.kind, TREND_UNKNOWN);
	assert_int_equal(judgement.share.by, GROWTH_BY_NONE);
}

/* Numbers at their limits, and lists that claim to be longer than they are. */
static void absurd_facts_make_no_absurd_claims(void **state)
{
	struct growth_picture *picture = kill_of(1);

	(void)state;
	pic_workers(picture);
	picture->process_count = picture->family_count = picture->point_count = 1000;
	assert_null(given("steady-leak"));
	pic_workers(picture);
	for (unsigned int i = 0; i < 16; i++) {
		picture->processes[i].delta_bytes = i % 2 ? INT64_MAX : INT64_MIN;
		picture->processes[i].cow_bytes = UINT64_MAX - 1;
		picture->processes[i].held_bytes = UNKNOWN_U64;
		picture->processes[i].cached_bytes = UNKNOWN_U64;
	}
	picture->families[0].private_bytes = picture->families[0].shared_bytes = UINT64_MAX - 1;
	picture->families[0].delta_bytes = INT64_MIN;
	picture->unattributed_bytes = INT64_MIN;
	picture->domain_delta_bytes = INT64_MIN;
	assert_null(given("fork-family"));
	for (unsigned int i = 0; i < judgement.verdict_count; i++)
		assert_int_equal(
			judgement.verdicts[i].claim[strlen(judgement.verdicts[i].claim) - 1], '.');
}

static void the_longest_names_leave_their_claims_whole(void **state)
{
	struct growth_picture *picture = kill_of(1);

	(void)state;
	pic_workers(picture);
	memset(picture->families[0].comm, '\x1b', EV_COMM_LEN);
	memset(picture->processes[0].comm, '\x1b', EV_COMM_LEN);
	picture->families[0].root_tgid = picture->families[0].members = UINT32_MAX;
	assert_int_equal(given("fork-family")->claim[strlen(given("fork-family")->claim) - 1], '.');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_family_that_holds_most),
		cmocka_unit_test(a_family_of_one_is_a_process),
		cmocka_unit_test(where_one_process_holds_most_it_is_no_family),
		cmocka_unit_test(a_family_with_little_of_its_own_holds_nothing),
		cmocka_unit_test(less_than_half_is_not_most),
		cmocka_unit_test(a_family_holds_no_more_than_all),
		cmocka_unit_test(a_family_that_is_alone_below_the_limit),
		cmocka_unit_test(copies_that_may_be_fewer_make_a_family_less_sure),
		cmocka_unit_test(a_family_that_made_most_of_the_growth),
		cmocka_unit_test(without_a_usage_there_is_no_share_of_it),
		cmocka_unit_test(copies_that_were_counted),
		cmocka_unit_test(copies_that_were_bounded_say_at_most),
		cmocka_unit_test(a_few_copies_are_not_told),
		cmocka_unit_test(copies_without_growth_are_not_told),
		cmocka_unit_test(a_spike),
		cmocka_unit_test(a_steady_leak),
		cmocka_unit_test(who_grew_most_and_was_not_killed),
		cmocka_unit_test(who_grew_most_and_was_killed_is_not_told_again),
		cmocka_unit_test(copies_make_the_grower_less_sure),
		cmocka_unit_test(growth_that_no_process_shows),
		cmocka_unit_test(without_a_history_nothing_is_claimed),
		cmocka_unit_test(absurd_facts_make_no_absurd_claims),
		cmocka_unit_test(the_longest_names_leave_their_claims_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
