// SPDX-License-Identifier: Apache-2.0
/* Names that imitate the kernel's lines, and lines that were broken on their way. */
#include "klog_fixture.h"

#include "klog_dialects.h"
#include "klog_prefixes.h"
#include "source/klog_entry.h"

#define TEXT_MAX (1 << 20)

/* --- names --- */

static const char *const names[] = {
	"a) total-vm:1kB",
	", UID 0, (x",
	"a,task=b,pid=1",
	",uid=0,task=x",
	") score 1 or",
	"[1] 2 3 4 5 6 7",
	"Killed process ",
	"Out of memory: ",
	" two  blanks",
	"trailing )",
	"((sd-pam))",
	"()",
	"x invoked oom-k",
	"> quoted",
	"k: [ 1.000000]",
	"kernel: x",
	"a\\x1bb",
	"12 34",
	"oom-kill:constr",
	"Tasks in / are ",
	"name\twith tab",
	"caf\xc3\xa9 worker",
	"\xff\xfe broken",
	"\x1b[31mred",
	"#012#033",
	"123456789012345",
	"}\",\"MESSAGE\":\"",
};

#define NAMES (sizeof(names) / sizeof(names[0]))

/* The lines of 6.1 with this name in all their places. */
static size_t write_named(char *text, const struct log_prefix *prefix, const char *name)
{
	static const char *const forms[] = {
		"%s invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
		"CPU: 0 PID: 334 Comm: %s Not tainted 6.1.0-28-amd64 #1 Debian 6.1.119-1",
		"memory: usage 40960kB, limit 40960kB, failcnt 23",
		"swap: usage 0kB, limit 0kB, failcnt 0",
		"[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
		"[    300]     0   300      611      383    49152        0             0 bystander",
		"[    334]     0   334    25849    10210   122880        0             0 %s",
		"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a/b,task=%s,pid=334,uid=0",
		"Memory cgroup out of memory: Killed process 334 (%s) total-vm:103396kB, anon-rss:40316kB, file-rss:4kB, shmem-rss:520kB, UID:0 pgtables:120kB oom_score_adj:0",
		"oom_reaper: reaped process 334 (%s), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
	};
	size_t len = 0;
	char line[512];

	for (unsigned int i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		snprintf(line, sizeof(line), forms[i], name);
		len += put_log_line(text + len, prefix, line, i);
	}
	return len;
}

static void check_named(const struct log_result *log, const char *prefix, const char *name)
{
	const struct incident *incident = &log->incidents[0];

	if (log->count != 1)
		fail_msg("%s, '%s': %u incidents", prefix, name, log->count);
	if (strcmp(incident->victims[0].task.comm, name) != 0)
		fail_msg("%s: the victim '%s' is read as '%s'", prefix, name,
			incident->victims[0].task.comm);
	if (strcmp(incident->trigger_comm, name) != 0)
		fail_msg("%s: who asked, '%s', is read as '%s'", prefix, name,
			incident->trigger_comm);
	assert_int_equal(incident->victim_count, 1);
	assert_int_equal(incident->victims[0].task.tgid, 334);
	assert_int_equal(incident->victims[0].task.rss_pages[EV_RSS_ANON], 40316 / 4);
	assert_int_equal(incident->candidate_total, 2);
	assert_int_equal(incident->trigger_tid, 334);
	assert_string_equal(incident->victim_cgroup, "/a/b");
	assert_true(incident->victims[0].reaped);
	assert_non_null(log_verdict(log, 0, "ancestor-limit"));
}

static void test_hostile_names(void **state)
{
	static const char *const prefixes[] = {"bare", "dmesg", "kmsg", "syslog with seconds",
		"syslog, ISO", "RFC 5424", "journalctl", "journal JSON", "journal JSON, bytes",
		"journal export", "journal export, binary", "docker JSON", "printk caller"};
	static char text[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < LOG_PREFIXES; i++) {
		bool used = false;

		for (size_t j = 0; j < sizeof(prefixes) / sizeof(prefixes[0]); j++)
			used |= !strcmp(prefixes[j], log_prefixes[i].name);
		for (size_t j = 0; used && j < NAMES; j++) {
			struct log_result *log;
			bool syslog = strstr(log_prefixes[i].name, "syslog") ||
				      strstr(log_prefixes[i].name, "RFC") ||
				      strstr(log_prefixes[i].name, "journalctl");

			bool dmesg = strstr(log_prefixes[i].name, "dmesg") ||
				     strstr(log_prefixes[i].name, "bare") ||
				     strstr(log_prefixes[i].name, "caller") ||
				     strstr(log_prefixes[i].name, "docker");

			/* What looks like the writer's own escape, or its quoting, is taken for
			 * that. */
			if ((syslog && strchr(names[j], '#')) ||
				(dmesg && (strstr(names[j], "\\x1b") ||
						  strstr(names[j], "kernel:"))) ||
				(!strcmp(log_prefixes[i].name, "bare") &&
					(names[j][0] == '>' || names[j][0] == '\x1b')))
				continue;
			log = log_of_bytes(text, write_named(text, &log_prefixes[i], names[j]));
			check_named(log, log_prefixes[i].name, names[j]);
			free(log);
		}
	}
}

/* A newline in a name: whole where the transport escapes it, and two lines where it does not. */
static void test_newline_in_name(void **state)
{
	static char text[TEXT_MAX];
	struct log_result *log;

	(void)state;
	for (size_t i = 0; i < LOG_PREFIXES; i++) {
		if (log_prefixes[i].form != BODY_KMSG && log_prefixes[i].form != BODY_JSON &&
			log_prefixes[i].form != BODY_JSON_BYTES &&
			log_prefixes[i].form != BODY_EXPORT_BINARY)
			continue;
		/* There a newline ends the line that was written. */
		if (!strcmp(log_prefixes[i].name, "docker JSON") ||
			!strcmp(log_prefixes[i].name, "JSON, wrapped by a shipper"))
			continue;
		log = log_of_bytes(text, write_named(text, &log_prefixes[i], "two\nlines"));
		check_named(log, log_prefixes[i].name, "two\nlines");
		free(log);
	}
	log = log_of(
		"[ 1.000001] Memory cgroup out of memory: Killed process 334 (two\n"
		"[ 1.000001] lines) total-vm:103396kB, anon-rss:40316kB, file-rss:4kB, shmem-rss:520kB, UID:0 pgtables:120kB oom_score_adj:0\n");
	assert_int_equal(log->count, 1);
	assert_string_equal(log->incidents[0].victims[0].task.comm, "two\nlines");
	assert_int_equal(log->incidents[0].victims[0].task.rss_pages[EV_RSS_ANON], 40316 / 4);
	free(log);
}

/* Nothing behind the colon, and nothing behind that: each byte is looked at where there is one. */
static void test_member_without_a_value(void **state)
{
	static const char *const texts[] = {"\"a\":", "\"a\" : ", "\"a\":{", "\"a\":[", "\"a\":\""};
	static struct klog_entry entry;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t len = strlen(texts[i]);
		char *exact = malloc(len);

		assert_non_null(exact);
		memcpy(exact, texts[i], len);
		klog_entry_begin(&entry);
		klog_entry_pretty(&entry, scan_of(exact, len));
		assert_false(entry.has_text);
		free(exact);
	}
}

/* Programs that write \xNN for what is not printable leave the backslash alone. */
static void test_escapes_of_dmesg(void **state)
{
	struct log_result *log;

	(void)state;
	log = log_of(
		"[ 1.000001] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a\\x2db,task_memcg=/a\\x2db,task=\\x1b[31mrender,pid=334,uid=0\n"
		"[ 1.000002] Memory cgroup out of memory: Killed process 334 (\\x1b[31mrender) total-vm:103396kB, anon-rss:40316kB, file-rss:4kB, shmem-rss:520kB, UID:0 pgtables:120kB oom_score_adj:0\n");
	assert_int_equal(log->count, 1);
	assert_string_equal(log->incidents[0].victims[0].task.comm, "\x1b[31mrender");
	assert_string_equal(log->incidents[0].victim_cgroup, "/a\\x2db");
	free(log);
}

static void test_octal_of_syslog(void **state)
{
	struct log_result *log;

	(void)state;
	log = log_of(
		"Feb 11 03:10:41 h kernel: Out of memory: Killed process 334 (#033[31mr #12) total-vm:103396kB, anon-rss:40316kB, file-rss:4kB, shmem-rss:520kB, UID:0 pgtables:120kB oom_score_adj:0\n");
	assert_int_equal(log->count, 1);
	assert_string_equal(log->incidents[0].victims[0].task.comm, "\x1b[31mr #12");
	free(log);
}

/* Paths that hold what separates them. */
static void test_hostile_paths(void **state)
{
	struct log_result *log;

	(void)state;
	log = log_of(
		"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,mems_allowed=0,oom_memcg=/a,task_memcg=/x,task_memcg=/a,task_memcg=/x/b,task=c,task=n,pid=7,uid=0\n"
		"Memory cgroup out of memory: Killed process 7 (n) total-vm:4kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:4kB oom_score_adj:0\n"
		"Task in /p/x killed as a result of limit of /q killed as a result of limit of /p\n"
		"memory: usage 4096kB, limit 4096kB, failcnt 1\n"
		"Memory cgroup out of memory: Kill process 8 (n) score 1 or sacrifice child\n"
		"Killed process 8 (n) total-vm:8kB, anon-rss:4kB, file-rss:0kB\n");
	assert_int_equal(log->count, 2);
	assert_string_equal(log->incidents[0].level_paths[log->incidents[0].log.limit_level],
		"/a,task_memcg=/x");
	assert_string_equal(log->incidents[0].victims[0].task.comm, "n");
	assert_string_equal(
		log->incidents[1].victim_cgroup, "/p/x killed as a result of limit of /q");
	assert_string_equal(log->incidents[1].level_paths[log->incidents[1].log.limit_level], "/p");
	free(log);
}

/* --- lines that were broken --- */

/* As a mail or a terminal does it: at a column, or at the last blank before it. */
static size_t fold(
	char *ret, const char *text, size_t len, size_t width, bool at_blank, const char *quote)
{
	size_t out = 0, from = 0;

	while (from < len) {
		const char *end = memchr(text + from, '\n', len - from);
		size_t left = (size_t)(end - (text + from));

		while (left > width) {
			size_t cut = width;

			while (at_blank && cut > 1 && text[from + cut] != ' ')
				cut--;
			if (at_blank && cut == 1)
				cut = width;
			out += (size_t)sprintf(ret + out, "%s%.*s\n", quote, (int)cut, text + from);
			if (at_blank && text[from + cut] == ' ')
				cut++;
			from += cut;
			left -= cut;
		}
		out += (size_t)sprintf(ret + out, "%s%.*s\n", quote, (int)left, text + from);
		from += left + 1;
	}
	return out;
}

static void check_folded(const struct dialect *dialect, const struct incident *bare,
	const struct log_result *log, size_t width, const char *how)
{
	const struct incident *incident = &log->incidents[0];

	if (log->count != 1)
		fail_msg("%s, %s at %zu: %u incidents", dialect->name, how, width, log->count);
	if (incident->victim_count != bare->victim_count ||
		incident->candidate_total != bare->candidate_total ||
		incident->order != bare->order || incident->gfp_mask != bare->gfp_mask ||
		incident->log.limit_level != bare->log.limit_level ||
		incident->log.machine.zone_count != bare->log.machine.zone_count)
		fail_msg(
			"%s, %s at %zu: %u victims, %u rows, order %d, gfp 0x%x, limit %d, %u zones",
			dialect->name, how, width, incident->victim_count,
			incident->candidate_total, incident->order, incident->gfp_mask,
			incident->log.limit_level, incident->log.machine.zone_count);
	if (memcmp(&incident->victims[0].task, &bare->victims[0].task,
		    sizeof(bare->victims[0].task)) != 0)
		fail_msg("%s, %s at %zu: the victim differs: %u %s anon %lld unknown 0x%x vm %llu",
			dialect->name, how, width, incident->victims[0].task.tgid,
			incident->victims[0].task.comm,
			(long long)incident->victims[0].task.rss_pages[EV_RSS_ANON],
			incident->victims[0].task.unknown,
			(unsigned long long)incident->victims[0].task.total_vm_pages);
	if (incident->outcome != bare->outcome)
		fail_msg("%s, %s at %zu: outcome %d", dialect->name, how, width, incident->outcome);
}

static void test_folded_lines(void **state)
{
	static char text[TEXT_MAX], folded[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < DIALECTS; i++) {
		struct log_result *bare, *log;
		unsigned int number = 0;
		size_t len = 0, out;

		for (const char *const *line = dialects[i].lines; *line; line++)
			len += put_log_line(text + len, &log_prefixes[19], *line, ++number);
		bare = log_of_bytes(text, len);
		for (size_t width = 76; width <= 132; width += 7) {
			out = fold(folded, text, len, width, false, "> ");
			log = log_of_bytes(folded, out);
			check_folded(&dialects[i], &bare->incidents[0], log, width, "cut, quoted");
			free(log);
			out = fold(folded, text, len, width, true, "> ");
			log = log_of_bytes(folded, out);
			check_folded(
				&dialects[i], &bare->incidents[0], log, width, "wrapped, quoted");
			free(log);
			out = fold(folded, text, len, width, false, "");
			log = log_of_bytes(folded, out);
			check_folded(&dialects[i], &bare->incidents[0], log, width, "cut");
			free(log);
		}
		free(bare);
	}
}

/* --- records of several lines --- */

static void check_stats(const char *text)
{
	struct log_result *log = log_of(text);

	assert_int_equal(log->count, 1);
	assert_int_equal(log->incidents[0].stat.anon_bytes, 41271296);
	assert_int_equal(log->incidents[0].stat.file_bytes, 8192);
	assert_int_equal(log->incidents[0].stat.shmem_bytes, 4096);
	free(log);
}

static void test_stats_in_one_record(void **state)
{
	(void)state;
	check_stats(
		"Jun 17 13:08:41 h kernel: hog invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
		"Jun 17 13:08:41 h kernel: Memory cgroup stats for /a:\n"
		"Jun 17 13:08:41 h kernel: anon 41271296#012file 8192#012kernel_stack 0#012shmem 4096#012slab 0\n");
	check_stats(
		"Jun 17 13:08:41 h kernel: hog invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
		"Jun 17 13:08:41 h kernel: Memory cgroup stats for /a:\n"
		"                          anon 41271296\n"
		"                          file 8192\n"
		"                          shmem 4096\n");
	check_stats(
		"6,1,253000001,-;hog invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
		"6,2,253000002,-;Memory cgroup stats for /a:\\x0aanon 41271296\\x0afile 8192\\x0ashmem 4096\n"
		" SUBSYSTEM=memory\n");
	check_stats(
		"{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"hog invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\"}\n"
		"{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"Memory cgroup stats for /a:\\nanon 41271296\\nfile 8192\\nshmem 4096\"}\n");
}

/* --- damage --- */

static unsigned int random_next(unsigned int *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Bytes changed, pieces lost or doubled: whatever comes of it, it ends and stays within bounds. */
static void test_damaged_logs(void **state)
{
	static char text[TEXT_MAX];
	unsigned int seed = 1;

	(void)state;
	for (unsigned int round = 0; round < 1000; round++) {
		const struct dialect *dialect = &dialects[random_next(&seed) % DIALECTS];
		const struct log_prefix *prefix = &log_prefixes[random_next(&seed) % LOG_PREFIXES];
		unsigned int number = 0, changes = random_next(&seed) % 40;
		size_t len = 0;

		for (const char *const *line = dialect->lines; *line; line++)
			len += put_log_line(text + len, prefix, *line, ++number);
		for (unsigned int i = 0; i < changes; i++) {
			size_t at = random_next(&seed) % len;
			size_t piece = random_next(&seed) % 200;

			if (piece > len - at)
				piece = len - at;
			switch (random_next(&seed) % 4) {
			case 0:
				text[at] = (char)random_next(&seed);
				break;
			case 1:
				memmove(text + at, text + at + piece, len - at - piece);
				len -= piece;
				break;
			case 2:
				memmove(text + at + piece, text + at, len - at);
				len += piece;
				break;
			default:
				text[at] = "\n\0 ()[]{}:,=\\\""[random_next(&seed) % 14];
				break;
			}
			if (len < 100)
				break;
		}
		free(log_of_bytes(text, len));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_newline_in_name),
		cmocka_unit_test(test_member_without_a_value),
		cmocka_unit_test(test_escapes_of_dmesg),
		cmocka_unit_test(test_octal_of_syslog),
		cmocka_unit_test(test_hostile_paths),
		cmocka_unit_test(test_folded_lines),
		cmocka_unit_test(test_stats_in_one_record),
		cmocka_unit_test(test_damaged_logs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
