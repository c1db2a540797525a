// SPDX-License-Identifier: Apache-2.0
/* Every dialect of the kernel behind every prefix is the same incident. */
#include "klog_fixture.h"

#include "klog_dialects.h"
#include "klog_prefixes.h"

#define TEXT_MAX (1 << 20)

static size_t write_log(
	char *text, const struct log_prefix *prefix, const char *const *lines, unsigned int *number)
{
	size_t len = 0;

	for (; *lines; lines++)
		len += put_log_line(text + len, prefix, *lines, ++*number);
	return len;
}

static struct log_result *read_dialect(
	const struct dialect *dialect, const struct log_prefix *prefix)
{
	static char text[TEXT_MAX];
	unsigned int number = 0;
	size_t len = write_log(text, prefix, dialect->lines, &number);

	return log_of_bytes(text, len);
}

static void check_victim(const struct dialect *dialect, const struct incident *incident)
{
	const struct task_facts *task = &incident->victims[0].task;
	uint64_t unit = dialect->page_size / 1024;

	assert_int_equal(task->tgid, dialect->victim);
	assert_string_equal(task->comm, dialect->comm);
	assert_int_equal(task->total_vm_pages * unit, dialect->total_vm_kb);
	if (dialect->anon_kb == UNKNOWN_U64)
		assert_true(task->unknown & TASK_UNKNOWN_ANON);
	else
		assert_int_equal((uint64_t)task->rss_pages[EV_RSS_ANON] * unit, dialect->anon_kb);
}

static void check_dialect(const struct dialect *dialect, const struct log_result *log)
{
	const struct incident *incident = &log->incidents[0];
	const struct judgement *judgement = &log->judgements[0];
	const struct incident_level *level;
	uint64_t unit = dialect->page_size / 1024;

	print_message("%s\n", dialect->name);
	assert_int_equal(log->count, 1);
	assert_int_equal(incident->outcome, dialect->outcome);
	assert_int_equal(judgement->scope, dialect->scope);
	assert_int_equal(incident->candidate_total, dialect->candidates);
	assert_int_equal(log->hosts[0].page_size, dialect->page_size);
	assert_true(incident->has_trigger);
	assert_true(incident->log.has_order && incident->log.has_gfp);
	if (dialect->victim)
		check_victim(dialect, incident);
	else
		assert_int_equal(incident->victim_count, 0);
	for (int i = 0; dialect->verdicts[i]; i++)
		if (!log_verdict(log, 0, dialect->verdicts[i]))
			fail_msg("%s: no verdict %s", dialect->name, dialect->verdicts[i]);
	if (!dialect->limit) {
		assert_int_equal(judgement->limit_level, -1);
		return;
	}
	assert_true(judgement->limit_level >= 0);
	level = &incident->levels[judgement->limit_level];
	assert_string_equal(incident->level_paths[judgement->limit_level], dialect->limit);
	assert_int_equal(level->max_pages * unit, dialect->limit_kb);
	assert_int_equal(level->usage_pages * unit, dialect->usage_kb);
}

static void test_dialects(void **state)
{
	(void)state;
	for (size_t i = 0; i < DIALECTS; i++) {
		struct log_result *log = read_dialect(&dialects[i], &log_prefixes[0]);

		check_dialect(&dialects[i], log);
		free(log);
	}
}

/* All that a prefix tells, and that is not the kernel's text. */
static void forget_prefix(struct incident *incident)
{
	struct incident_log *log = &incident->log;

	incident->time_ns = 0;
	log->has_time = log->zone_assumed = log->has_mono = false;
	log->wall_ns = 0;
	log->mono_ns = 0;
	memset(log->stamp, 0, sizeof(log->stamp));
}

static void check_stamp(const struct log_prefix *prefix, const struct log_result *log)
{
	const struct incident_log *told = &log->incidents[0].log;

	if (told->has_mono != prefix->mono || told->has_time != (prefix->wall && prefix->year))
		fail_msg("%s: seconds %d, time of day %d", prefix->name, told->has_mono,
			told->has_time);
	if (told->has_time)
		assert_int_equal(told->zone_assumed, !prefix->zone);
	assert_string_equal(log->hosts[0].hostname, prefix->host ? prefix->host : "");
}

static void test_every_prefix_gives_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < DIALECTS; i++) {
		struct log_result *bare = read_dialect(&dialects[i], &log_prefixes[0]);

		forget_prefix(&bare->incidents[0]);
		for (size_t j = 1; j < LOG_PREFIXES; j++) {
			struct log_result *log = read_dialect(&dialects[i], &log_prefixes[j]);

			if (log->count != 1)
				fail_msg("%s, %s: %u incidents", dialects[i].name,
					log_prefixes[j].name, log->count);
			check_stamp(&log_prefixes[j], log);
			forget_prefix(&log->incidents[0]);
			if (memcmp(&bare->incidents[0], &log->incidents[0],
				    sizeof(bare->incidents[0])) != 0)
				fail_msg("%s differs behind %s", dialects[i].name,
					log_prefixes[j].name);
			free(log);
		}
		free(bare);
	}
}

/* One log after the other: each report ends where the next one begins. */
static void test_one_after_the_other(void **state)
{
	static char text[TEXT_MAX];

	(void)state;
	for (size_t j = 0; j < LOG_PREFIXES; j++) {
		struct log_result *log;
		unsigned int number = 0;
		size_t len = 0;

		for (size_t i = 0; i < DIALECTS && i < LOG_INCIDENTS; i++)
			len += write_log(text + len, &log_prefixes[j], dialects[i].lines, &number);
		log = log_of_bytes(text, len);
		if (log->count != DIALECTS)
			fail_msg("%s: %u incidents", log_prefixes[j].name, log->count);
		for (size_t i = 0; i < DIALECTS; i++) {
			assert_int_equal(log->incidents[i].outcome, dialects[i].outcome);
			if (dialects[i].victim)
				assert_int_equal(
					log->incidents[i].victims[0].task.tgid, dialects[i].victim);
		}
		free(log);
	}
}

/* --- lines that are lost, or somebody else's --- */

/* Each line alone lost: never another victim, never two incidents, never a crash. */
static void test_any_line_lost(void **state)
{
	static char text[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < DIALECTS; i++) {
		for (size_t lost = 0; dialects[i].lines[lost]; lost++) {
			struct log_result *log;
			size_t len = 0;

			for (size_t j = 0; dialects[i].lines[j]; j++)
				if (j != lost)
					len += put_log_line(text + len, &log_prefixes[2],
						dialects[i].lines[j], (unsigned int)j);
			log = log_of_bytes(text, len);
			/* That they died as a group is said nowhere else. */
			if (log->count != 1 && !strstr(dialects[i].lines[lost], "memory.oom.group"))
				fail_msg("%s without line %zu: %u incidents", dialects[i].name,
					lost, log->count);
			if (log->incidents[0].victim_count && dialects[i].victim &&
				!strstr(dialects[i].lines[lost], "Killed process"))
				assert_int_equal(
					log->incidents[0].victims[0].task.tgid, dialects[i].victim);
			free(log);
		}
	}
}

/* The log ends after any of its lines. */
static void test_cut_off_anywhere(void **state)
{
	static char text[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < DIALECTS; i++) {
		struct log_result *log;
		unsigned int number = 0;
		size_t len = write_log(text, &log_prefixes[2], dialects[i].lines, &number);
		size_t first = strstr(text, "oom_score_adj=") || strstr(text, "oom_adj=")
				       ? (size_t)(strchr(strstr(text, "invoked"), '\n') - text)
				       : 0;

		for (size_t cut = first; cut <= len; cut += 37) {
			log = log_of_bytes(text, cut);
			assert_int_equal(log->count, 1);
			free(log);
		}
	}
}

static void test_each_line_twice(void **state)
{
	static char text[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < DIALECTS; i++) {
		struct log_result *log;
		size_t len = 0;

		for (size_t j = 0; dialects[i].lines[j]; j++) {
			len += put_log_line(text + len, &log_prefixes[19], dialects[i].lines[j],
				(unsigned int)j);
			len += put_log_line(text + len, &log_prefixes[18], dialects[i].lines[j],
				(unsigned int)j);
		}
		log = log_of_bytes(text, len);
		if (log->count != 1)
			fail_msg("%s: %u incidents", dialects[i].name, log->count);
		assert_int_equal(log->incidents[0].candidate_total, dialects[i].candidates);
		free(log);
	}
}

/* The whole of it once more, as from a second collector. */
static void test_all_of_it_twice(void **state)
{
	static char text[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < DIALECTS; i++) {
		struct log_result *log;
		unsigned int number = 0;
		size_t len = write_log(text, &log_prefixes[19], dialects[i].lines, &number);

		number = 0;
		len += write_log(text + len, &log_prefixes[19], dialects[i].lines, &number);
		log = log_of_bytes(text, len);
		if (log->count != 1)
			fail_msg("%s: %u incidents", dialects[i].name, log->count);
		free(log);
	}
}

/* Between any two lines stands one of another CPU, of the network, of a program that quotes. */
static void test_interleaved(void **state)
{
	static const char *const others[] = {
		"Feb 11 03:10:41 web11 kernel: br-7f21: port 4(veth11c0a2f) entered blocking state\n",
		"Feb 11 03:10:41 web11 kernel: kworker/5:1: page allocation failure: order:0, mode:0x40a20(GFP_ATOMIC|__GFP_COMP), nodemask=(null)\n",
		"Feb 11 03:10:41 web11 kernel: CPU: 5 PID: 1822 Comm: kworker/5:1 Not tainted 5.10.0 #1\n",
		"Feb 11 03:10:41 web11 kernel: Workqueue: events_unbound flush_to_ldisc\n",
		"Feb 11 03:10:41 web11 kernel:  warn_alloc.cold+0x78/0xdc\n",
		"Feb 11 03:10:41 web11 kubelet[99]: container oom: Memory cgroup out of memory: Killed process 4711 (quoted) total-vm:1kB, anon-rss:2kB, file-rss:3kB, shmem-rss:4kB, UID:0 pgtables:5kB oom_score_adj:6\n",
		"Feb 11 03:10:41 web11 sshd[933]: Invalid user Killed process 1 (init) from 203.0.113.9 port 40122\n",
	};
	static char text[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < DIALECTS; i++) {
		struct log_result *bare = read_dialect(&dialects[i], &log_prefixes[18]), *log;
		size_t len = 0;

		for (size_t j = 0; dialects[i].lines[j]; j++) {
			len += put_log_line(text + len, &log_prefixes[18], dialects[i].lines[j],
				(unsigned int)j);
			len += (size_t)sprintf(
				text + len, "%s", others[j % (sizeof(others) / sizeof(others[0]))]);
		}
		log = log_of_bytes(text, len);
		if (log->count != 1)
			fail_msg("%s: %u incidents", dialects[i].name, log->count);
		if (memcmp(&bare->incidents[0], &log->incidents[0], sizeof(log->incidents[0])) != 0)
			fail_msg("%s differs", dialects[i].name);
		free(log);
		free(bare);
	}
}

/* Two machines in one log, line by line. */
static void test_two_hosts(void **state)
{
	static char text[TEXT_MAX];
	struct log_prefix other = log_prefixes[18];

	(void)state;
	other.pattern = "Feb 11 03:10:41 web12 kernel: @\n";
	for (size_t i = 0; i + 1 < DIALECTS; i++) {
		const char *const *a = dialects[i].lines, *const *b = dialects[i + 1].lines;
		struct log_result *log;
		size_t len = 0;

		/* Its first line is no report's yet: the other one would begin before it. */
		if (!strncmp(*a, "SysRq", 5))
			continue;
		while (*a || *b) {
			if (*a)
				len += put_log_line(text + len, &log_prefixes[18], *a++, 0);
			if (*b)
				len += put_log_line(text + len, &other, *b++, 0);
		}
		log = log_of_bytes(text, len);
		assert_int_equal(log->count, 2);
		assert_string_equal(log->hosts[0].hostname, "web11");
		assert_string_equal(log->hosts[1].hostname, "web12");
		assert_int_equal(log->incidents[0].outcome, dialects[i].outcome);
		assert_int_equal(log->incidents[1].outcome, dialects[i + 1].outcome);
		assert_int_equal(log->incidents[0].candidate_total, dialects[i].candidates);
		assert_int_equal(log->incidents[1].candidate_total, dialects[i + 1].candidates);
		free(log);
	}
}

/* printk's caller tells two CPUs apart, however their lines fall. */
static void test_two_callers(void **state)
{
	static char text[TEXT_MAX];
	struct log_prefix first = log_prefixes[13], second = first;
	const char *const *a = dialects[2].lines, *const *b = dialects[5].lines;
	struct log_result *log;
	size_t len = 0;

	(void)state;
	first.pattern = "[  253.000001][ T1234] @\n";
	second.pattern = "[  253.000001][ T1235] @\n";
	while (*a || *b) {
		if (*a)
			len += put_log_line(text + len, &first, *a++, 0);
		if (*b)
			len += put_log_line(text + len, &second, *b++, 0);
	}
	log = log_of_bytes(text, len);
	assert_int_equal(log->count, 2);
	assert_int_equal(log->incidents[0].victims[0].task.tgid, dialects[2].victim);
	assert_int_equal(log->incidents[1].victims[0].task.tgid, dialects[5].victim);
	assert_int_equal(log->incidents[0].candidate_total, dialects[2].candidates);
	assert_int_equal(log->incidents[1].candidate_total, dialects[5].candidates);
	free(log);
}

/* Before 4.x two cgroups may report at once, and only the order tells whose a line is. */
static void test_two_at_once(void **state)
{
	static char text[TEXT_MAX];
	static const struct dialect other = {
		.lines = {"java invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=0",
			"java cpuset=/ mems_allowed=0-1",
			"CPU: 5 PID: 4120 Comm: java Not tainted 3.10.0-957.el7.x86_64 #1",
			"Hardware name: QEMU Standard PC (Q35 + ICH9, 2009)",
			"Call Trace:", " [<ffffffff81761db1>] dump_stack+0x19/0x1b",
			"Task in /lxc/app killed as a result of limit of /lxc/app",
			"memory: usage 65536kB, limit 65536kB, failcnt 811",
			"memory+swap: usage 65536kB, limit 9007199254740988kB, failcnt 0",
			"kmem: usage 0kB, limit 9007199254740988kB, failcnt 0",
			"Memory cgroup stats for /lxc/app: cache:0KB rss:65536KB rss_huge:0KB mapped_file:0KB swap:0KB inactive_anon:0KB active_anon:65536KB inactive_file:0KB active_file:0KB unevictable:0KB",
			"[ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name",
			"[ 4100]     0  4100     2706      301       9        0             0 bash",
			"[ 4120]   500  4120   601122    16000      40        0             0 java",
			"Memory cgroup out of memory: Kill process 4120 (java) score 996 or sacrifice child",
			"Killed process 4120 (java) total-vm:2404488kB, anon-rss:63000kB, file-rss:1000kB"},
		.victim = 4120,
		.candidates = 2,
		.limit = "/lxc/app",
		.usage_kb = 65536,
	};
	const struct dialect *pair[] = {&dialects[2], &other};

	(void)state;
	for (unsigned int lead = 1; lead < 20; lead++) {
		const char *const *a = pair[0]->lines, *const *b = pair[1]->lines;
		struct log_result *log;
		unsigned int number = 0;
		size_t len = 0;

		while (*a || *b) {
			if (*a)
				len += put_log_line(text + len, &log_prefixes[2], *a++, number);
			if (number++ >= lead && *b)
				len += put_log_line(text + len, &log_prefixes[2], *b++, number);
		}
		log = log_of_bytes(text, len);
		if (log->count != 2)
			fail_msg("lead %u: %u incidents", lead, log->count);
		for (unsigned int i = 0; i < 2; i++) {
			const struct incident *incident = &log->incidents[i];
			int level = incident->log.limit_level;

			if (incident->victims[0].task.tgid != pair[i]->victim || level < 0 ||
				strcmp(incident->level_paths[level], pair[i]->limit) != 0 ||
				incident->candidate_total != pair[i]->candidates)
				fail_msg("lead %u, %u: victim %u, limit %s, %u rows", lead, i,
					incident->victims[0].task.tgid,
					level < 0 ? "" : incident->level_paths[level],
					incident->candidate_total);
			if (incident->levels[level].usage_pages * 4 != pair[i]->usage_kb)
				fail_msg("lead %u, %u: usage %llu kB", lead, i,
					(unsigned long long)incident->levels[level].usage_pages *
						4);
		}
		free(log);
	}
}

static bool tells_task(const struct dialect *dialect)
{
	for (const char *const *line = dialect->lines; *line; line++)
		if (!strncmp(*line, "Task in", 7))
			return true;
	return false;
}

/* The rest of one is lost, and another one begins right behind: it is whole all the same. */
static void test_cut_off_then_another(void **state)
{
	static char text[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < DIALECTS * DIALECTS; i++) {
		const struct dialect *first = &dialects[i / DIALECTS];
		const struct dialect *second = &dialects[i % DIALECTS];

		if (first == second || !strncmp(first->lines[0], "SysRq", 5))
			continue;
		/* One kernel does not speak two dialects; old ones report for two cgroups at once.
		 */
		if (first->limit && (tells_task(first) || !second->limit) &&
			tells_task(first) != tells_task(second))
			continue;
		for (unsigned int cut = 1; first->lines[cut]; cut += 3) {
			const struct incident *incident;
			struct log_result *log;
			unsigned int number = 0;
			size_t len = 0;

			if (strstr(first->lines[cut - 1], "score") ||
				strstr(first->lines[cut - 1], "oom-kill:") ||
				strstr(first->lines[cut - 1], "Killed") ||
				strstr(first->lines[cut - 1], "no killable") ||
				strstr(first->lines[cut - 1], "panic"))
				break;
			for (unsigned int j = 0; j < cut; j++)
				len += put_log_line(
					text + len, &log_prefixes[2], first->lines[j], ++number);
			len += write_log(text + len, &log_prefixes[2], second->lines, &number);
			log = log_of_bytes(text, len);
			if (log->count != 2)
				fail_msg("%s cut at %u, %s: %u incidents", first->name, cut,
					second->name, log->count);
			incident = &log->incidents[1];
			if (incident->outcome != second->outcome ||
				incident->candidate_total != second->candidates ||
				(second->victim &&
					incident->victims[0].task.tgid != second->victim))
				fail_msg("%s cut at %u, %s: outcome %d, %u rows, victim %u",
					first->name, cut, second->name, incident->outcome,
					incident->candidate_total, incident->victims[0].task.tgid);
			if (second->limit &&
				(incident->log.limit_level < 0 ||
					strcmp(incident->level_paths[incident->log.limit_level],
						second->limit) != 0))
				fail_msg("%s cut at %u, %s: the limit differs", first->name, cut,
					second->name);
			free(log);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dialects),
		cmocka_unit_test(test_every_prefix_gives_the_same),
		cmocka_unit_test(test_one_after_the_other),
		cmocka_unit_test(test_any_line_lost),
		cmocka_unit_test(test_cut_off_anywhere),
		cmocka_unit_test(test_each_line_twice),
		cmocka_unit_test(test_all_of_it_twice),
		cmocka_unit_test(test_interleaved),
		cmocka_unit_test(test_two_hosts),
		cmocka_unit_test(test_two_callers),
		cmocka_unit_test(test_two_at_once),
		cmocka_unit_test(test_cut_off_then_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
