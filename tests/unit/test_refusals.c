// SPDX-License-Identifier: Apache-2.0
/* Which limit refused, and how it is told. */
#include <errno.h>
#include <jansson.h>

#include "base/buf.h"
#include "judge/refusals.h"
#include "sink/refusal.h"
#include "sink_fixture.h"

#define MIB (1ULL << 20)
#define SEC 1000000000ULL

static struct refusal refusal;
static struct refusal_judgement judged;
static char out[64 << 10];

/* python3[100] of /pod/app asked for 2 GiB; it has 1 GiB mapped, half of it its own data. No limit
 * is set, and the machine promises by the heuristic. */
static int a_refusal(void **state)
{
	(void)state;
	memset(&fix_context, 0, sizeof(fix_context));
	memset(&fix_host, 0, sizeof(fix_host));
	fix_host.page_size = 4096;
	strcpy(fix_host.hostname, "web-7");
	strcpy(fix_host.boot_id, "60f9fdcb-57df-438f-b6cc-b318fd71ec35");
	strcpy(fix_host.kernel, "6.12");
	fix_context.host = &fix_host;
	fix_context.width = 80;
	fix_context.hook_count = 1;
	fix_context.hooks[0] = (struct sink_hook) {"refused", "fexit vm_mmap_pgoff"};
	refusal = (struct refusal) {.number = 3,
		.call = EV_CALL_MMAP,
		.error = ENOMEM,
		.time_ns = 1000 * SEC,
		.last_ns = 1002 * SEC,
		.flags = EV_REFUSAL_MM,
		.count = 7,
		.processes = 1,
		.asked_bytes = 2 * GIB,
		.detail = 0x22ULL << 32 | 3,
		.tgid = 100,
		.tid = 100,
		.ns_tgid = 100,
		.start_ns = 900 * SEC,
		.map_count = 500,
		.total_vm_pages = GIB / 4096,
		.data_vm_pages = GIB / 8192,
		.brk_bytes = 64 * MIB,
		.task_size = 1ULL << 47,
		.limit_as_bytes = UNKNOWN_U64,
		.limit_data_bytes = UNKNOWN_U64,
		.limit_nproc = UNKNOWN_U64,
		.user_processes = 10,
		.comm = "python3",
		.cmdline = "python3 train.py",
		.cgroup = "/pod/app",
		.allowance = {.overcommit = 0,
			.commit_limit_bytes = 8 * GIB,
			.committed_bytes = 4 * GIB,
			.admin_reserve_bytes = 8 * MIB,
			.user_reserve_bytes = 128 * MIB,
			.max_map_count = 65530,
			.threads_max = 10000,
			.threads = 500,
			.pid_max = 32768}};
	refusal.host = (struct host_memory) {.total_bytes = 16 * GIB,
		.available_bytes = 8 * GIB,
		.swap_total_bytes = 0,
		.swap_free_bytes = 0};
	return 0;
}

static enum refusal_cause cause(enum confidence confidence)
{
	judge_refusal(&refusal, &fix_host, &judged);
	assert_int_equal(judged.verdict_count, 1);
	assert_true(judged.verdicts[0].evidence_count > 0);
	assert_int_equal(judged.verdicts[0].confidence, confidence);
	assert_non_null(strstr(judged.verdicts[0].claim, "nobody was killed"));
	return judged.cause;
}

static void none_explains_it(void **state)
{
	(void)state;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_UNKNOWN);
	assert_true(refusal_is_told(&refusal, &judged));
	assert_string_equal(judged.missing[0].field, "cause");
	refusal.call = EV_CALL_MPROTECT;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_UNKNOWN);
	assert_false(refusal_is_told(&refusal, &judged));
	refusal.call = EV_CALL_BRK;
	cause(CONFIDENCE_CERTAIN);
	assert_false(refusal_is_told(&refusal, &judged));
}

static void ulimit_v_is_the_sum_to_the_page(void **state)
{
	(void)state;
	refusal.limit_as_bytes = 3 * GIB;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_UNKNOWN);
	refusal.asked_bytes++;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_RLIMIT_AS);
	assert_true(judged.used == GIB && judged.asked == 2 * GIB + 4096);
	assert_string_equal(judged.verdicts[0].claim,
		"python3 (pid 100) was refused 2.00 GiB by mmap: ulimit -v is 3.00 GiB, it has "
		"1.00 GiB mapped: nobody was killed");
	refusal.asked_bytes = UINT64_MAX;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_ADDRESS_SPACE);
}

static void ulimit_d_bounds_what_is_written_to(void **state)
{
	(void)state;
	refusal.limit_data_bytes = GIB;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_RLIMIT_DATA);
	assert_true(judged.used == GIB / 2);
	refusal.detail = 0x22ULL << 32 | 1; /* only read */
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_UNKNOWN);
	refusal.detail = 0x21ULL << 32 | 3; /* shared */
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_UNKNOWN);
	refusal.call = EV_CALL_BRK;
	refusal.limit_data_bytes = 2 * GIB;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_RLIMIT_DATA);
	assert_true(judged.used == 64 * MIB);
}

static void mappings_are_counted(void **state)
{
	(void)state;
	refusal.map_count = 65530;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_UNKNOWN);
	refusal.map_count = 65531;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_MAP_COUNT);
	assert_false(refusal_counts_bytes(judged.cause));
	refusal.call = EV_CALL_MPROTECT;
	refusal.map_count = 65530;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_MAP_COUNT);
	assert_true(refusal_is_told(&refusal, &judged));
	refusal.allowance.max_map_count = UNKNOWN_U64;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_UNKNOWN);
}

static void promises_have_a_limit(void **state)
{
	(void)state;
	refusal.allowance.overcommit = 2;
	/* 4 GiB are promised, 8 are the limit, 8 MiB for root and 1/32 of its size are kept. */
	refusal.asked_bytes = 4 * GIB - 8 * MIB - GIB / 32;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_UNKNOWN);
	refusal.asked_bytes += 4096;
	assert_int_equal(cause(CONFIDENCE_LIKELY), REFUSED_COMMIT_LIMIT);
	assert_non_null(strstr(judged.verdicts[0].claim, "vm.overcommit_memory is 2"));
	refusal.flags |= EV_REFUSAL_ADMIN;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_UNKNOWN);
	refusal.asked_bytes = 9 * GIB;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_COMMIT_LIMIT);
	refusal.allowance.overcommit = UNKNOWN_U64;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_UNKNOWN);
}

static void the_heuristic_refuses_what_could_never_be(void **state)
{
	(void)state;
	refusal.asked_bytes = 16 * GIB;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_UNKNOWN);
	refusal.asked_bytes++;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_OVERCOMMIT);
	refusal.host.swap_total_bytes = GIB;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_UNKNOWN);
	refusal.asked_bytes = 32 * GIB;
	refusal.detail |= 0x4000ULL << 32; /* MAP_NORESERVE */
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_UNKNOWN);
	refusal.detail = 3;
	refusal.allowance.overcommit = 1;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_UNKNOWN);
}

static void forks_have_limits_of_their_own(void **state)
{
	(void)state;
	refusal.call = EV_CALL_FORK;
	refusal.error = EAGAIN;
	refusal.asked_bytes = 0;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_UNKNOWN);
	refusal.flags |= EV_REFUSAL_PIDS;
	refusal.pids_count = refusal.pids_max = 64;
	strcpy(refusal.pids_name, "app");
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_PIDS_MAX);
	assert_string_equal(judged.verdicts[0].claim,
		"python3 (pid 100) was refused a new process by fork: pids.max of app is 64, and "
		"it has 64: nobody was killed");
	refusal.limit_nproc = 10;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_RLIMIT_NPROC);
	refusal.flags |= EV_REFUSAL_RESOURCE;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_PIDS_MAX);
	refusal.allowance.threads = 10000;
	assert_int_equal(cause(CONFIDENCE_LIKELY), REFUSED_THREADS_MAX);
}

static void a_fork_promises_all_that_the_parent_has(void **state)
{
	(void)state;
	refusal.call = EV_CALL_FORK;
	refusal.asked_bytes = 0;
	refusal.allowance.overcommit = 2;
	refusal.allowance.committed_bytes = 8 * GIB - 512 * MIB;
	assert_int_equal(cause(CONFIDENCE_LIKELY), REFUSED_COMMIT_LIMIT);
	assert_true(judged.asked == GIB / 2);
	refusal.call = EV_CALL_THREAD;
	refusal.flags |= EV_REFUSAL_LIMIT;
	refusal.limit_max_pages = 1000;
	refusal.limit_usage_pages = 900;
	assert_int_equal(cause(CONFIDENCE_CERTAIN), REFUSED_UNKNOWN);
	refusal.limit_usage_pages = 990;
	assert_int_equal(cause(CONFIDENCE_LIKELY), REFUSED_MEMCG);
}

/* --- how it is told --- */

static json_t *told(void)
{
	struct buf buf;
	json_t *json;

	judge_refusal(&refusal, &fix_host, &judged);
	buf_init(&buf, out, sizeof(out));
	assert_int_equal(json_refusal(&buf, &fix_context, &refusal, &judged), 0);
	json = json_loads(out, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(json);
	return json;
}

static void what_is_not_known_is_left_out(void **state)
{
	json_t *json;

	(void)state;
	refusal.flags = 0;
	memset(&refusal.allowance, 0xff, sizeof(refusal.allowance));
	memset(&refusal.host, 0xff, sizeof(refusal.host));
	refusal.cmdline[0] = '\0';
	json = told();
	assert_null(json_object_get(json, "cause"));
	assert_null(json_object_get(json, "mapped_bytes"));
	assert_null(json_object_get(json, "rlimit_as_bytes"));
	assert_null(json_object_get(json, "pids_max"));
	assert_null(json_object_get(json, "overcommit_memory"));
	assert_null(json_object_get(json, "cmdline"));
	assert_int_equal(json_array_size(json_object_get(json, "missing")), 4);
	json_decref(json);
}

static void hostile_names_are_harmless(void **state)
{
	struct buf buf;

	(void)state;
	strcpy(refusal.comm, "a\n\033[1m\"\xff");
	strcpy(refusal.cgroup, "/b\n\033]0;x\a");
	strcpy(refusal.cmdline, "c\nd");
	json_decref(told());
	buf_init(&buf, out, sizeof(out));
	assert_int_equal(text_refusal(&buf, &fix_context, &refusal, &judged), 0);
	assert_null(strchr(out, '\033'));
	assert_null(strchr(out, '\a'));
	assert_non_null(strstr(out, "\\x0a"));
}

static void the_longest_record_fits(void **state)
{
	static char wide[256 << 10];
	struct buf buf;

	(void)state;
	refusal.flags |= EV_REFUSAL_PIDS | EV_REFUSAL_LIMIT;
	memset(refusal.comm, 1, sizeof(refusal.comm) - 1);
	memset(refusal.cmdline, 1, sizeof(refusal.cmdline) - 1);
	memset(refusal.exe, 1, sizeof(refusal.exe) - 1);
	memset(refusal.cgroup, 1, sizeof(refusal.cgroup) - 1);
	memset(refusal.pids_name, 1, sizeof(refusal.pids_name) - 1);
	memset(refusal.pids_cgroup, 1, sizeof(refusal.pids_cgroup) - 1);
	memset(refusal.limit_cgroup, 1, sizeof(refusal.limit_cgroup) - 1);
	judge_refusal(&refusal, &fix_host, &judged);
	buf_init(&buf, wide, sizeof(wide));
	assert_int_equal(json_refusal(&buf, &fix_context, &refusal, &judged), 0);
	assert_int_equal(text_refusal(&buf, &fix_context, &refusal, &judged), 0);
	buf_init(&buf, wide, 100);
	assert_int_equal(json_refusal(&buf, &fix_context, &refusal, &judged), -ENOSPC);
	assert_int_equal(buf.len, 0);
}

static void the_first_line_says_it(void **state)
{
	struct buf buf;

	(void)state;
	refusal.limit_as_bytes = 2 * GIB;
	refusal.processes = 3;
	refusal.before = 5;
	judge_refusal(&refusal, &fix_host, &judged);
	buf_init(&buf, out, sizeof(out));
	assert_int_equal(text_refusal(&buf, &fix_context, &refusal, &judged), 0);
	assert_non_null(strstr(out, " REFUSED python3 (pid 100) and 2 more of its name were"));
	assert_non_null(strstr(out, "mmap, 2.00 GiB, ENOMEM 7 times in 2.00 s"));
	assert_non_null(strstr(out, "5 were told before"));
	assert_non_null(strstr(out, "\n limits  ulimit -v 2.00 GiB, vm.overcommit_memory 0"));
	assert_non_null(strstr(out, "\n source  fexit vm_mmap_pgoff, certain\n"));
}

#define EACH(test) cmocka_unit_test_setup(test, a_refusal)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(none_explains_it),
		EACH(ulimit_v_is_the_sum_to_the_page),
		EACH(ulimit_d_bounds_what_is_written_to),
		EACH(mappings_are_counted),
		EACH(promises_have_a_limit),
		EACH(the_heuristic_refuses_what_could_never_be),
		EACH(forks_have_limits_of_their_own),
		EACH(a_fork_promises_all_that_the_parent_has),
		EACH(what_is_not_known_is_left_out),
		EACH(hostile_names_are_harmless),
		EACH(the_longest_record_fits),
		EACH(the_first_line_says_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
