/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the doctor's report share: a machine on which all is well, and what is said of
 * it. */
#ifndef OOMSNOOP_TESTS_DOCTOR_FIXTURE_H
#define OOMSNOOP_TESTS_DOCTOR_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/text.h"
#include "sink/doctor.h"

#define GIB (1ULL << 30)

static char memory[DOCTOR_BUF_BYTES];
static struct buf out;

static inline void add_level(struct quota *quota, const char *cgroup, uint64_t max, uint64_t usage)
{
	struct quota_level *level = &quota->levels[quota->level_count++];

	strcpy(level->cgroup, cgroup);
	memset(&level->limits, 0xff, sizeof(level->limits)); /* UNKNOWN_U64 */
	level->limits.max_bytes = max;
	level->limits.usage_bytes = usage;
}

/* A machine on which all is well, in a container of 32 GiB. */
static inline struct doctor_report healthy(void)
{
	struct doctor_report report = {.wall_ns = 1767323045123456789LL, .hooks_probed = true};

	strcpy(report.host.hostname, "node-7");
	strcpy(report.host.boot_id, "b3c1d2e4-f5a6-0718-293a-4b5c6d7e8f90");
	report.host.cpus = 64;
	report.host.page_size = 4096;
	strcpy(report.kernel.release, "6.12.117+deb13");
	report.kernel.major = 6;
	report.kernel.minor = 12;
	report.kernel.new_enough = true;
	report.kernel.btf = true;
	report.kernel.btf_bytes = 5520272;
	report.kernel.cgroup_mode = CGROUP_MODE_V2;
	strcpy(report.kernel.cgroup_mount, "/sys/fs/cgroup");
	report.kernel.lockdown = LOCKDOWN_NONE;
	report.kernel.unprivileged_bpf_disabled = 2;
	report.kernel.ftrace_enabled = 1;
	report.kernel.dmesg_restrict = KERNEL_UNKNOWN;
	report.kernel.swappiness = 60;
	report.kernel.swap_total_bytes = 8 * GIB;
	report.kernel.psi = true;
	report.kernel.initial_pid_namespace = true;
	report.rights.effective = RIGHT(CAP_BPF) | RIGHT(CAP_PERFMON) | RIGHT(CAP_SYSLOG);
	report.protection.adj = -1000;
	hooks_init(&report.hooks);
	for (int i = 0; i < HOOK_COUNT; i++)
		report.hooks.states[i].serving = 0;
	report.quota.host.total_bytes = 480 * GIB;
	report.quota.host.available_bytes = 400 * GIB;
	report.quota.host.swap_total_bytes = UNKNOWN_U64;
	report.quota.v2 = report.quota.complete = report.quota.container = true;
	add_level(&report.quota, "/kubepods/pod1/main", 32 * GIB, 31 * GIB);
	add_level(&report.quota, "/kubepods/pod1", CGROUP_NO_LIMIT, 31 * GIB);
	add_level(&report.quota, "/", UNKNOWN_U64, UNKNOWN_U64);
	return report;
}

static inline const char *text_of(const struct doctor_report *report)
{
	buf_init(&out, memory, sizeof(memory));
	assert_int_equal(doctor_text(&out, report), 0);
	return memory;
}

static inline json_t *json_of(const struct doctor_report *report)
{
	json_error_t error;
	json_t *json;

	buf_init(&out, memory, sizeof(memory));
	assert_int_equal(doctor_json(&out, report), 0);
	assert_int_equal(memory[out.len - 1], '\n');
	assert_ptr_equal(strchr(memory, '\n'), memory + out.len - 1);
	json = json_loads(memory, JSON_REJECT_DUPLICATES, &error);
	if (!json)
		fail_msg("%s at %d: %s", error.text, error.position, memory);
	return json;
}

static inline const char *string_at(json_t *json, const char *key)
{
	return json_string_value(json_object_get(json, key));
}

/* Lines are wrapped wherever: for finding sentences, all white space is one blank. */
static inline const char *flat(const char *text)
{
	static char ret[DOCTOR_BUF_BYTES];
	size_t len = 0;

	for (; *text; text++) {
		char c = *text == '\n' ? ' ' : *text;

		if (c == ' ' && len > 0 && ret[len - 1] == ' ')
			continue;
		ret[len++] = c;
	}
	ret[len] = '\0';
	return ret;
}

static inline void assert_says(const struct doctor_report *report, const char *sentence)
{
	const char *text = flat(text_of(report));

	if (!strstr(text, sentence))
		fail_msg("not said: \"%s\" in:\n%s", sentence, memory);
}

static inline void assert_silent(const struct doctor_report *report, const char *sentence)
{
	if (strstr(flat(text_of(report)), sentence))
		fail_msg("said: \"%s\" in:\n%s", sentence, memory);
}

static inline const char *quota_sentence(const struct quota *quota)
{
	static char text[2048];
	struct buf buf;

	buf_init(&buf, text, sizeof(text));
	doctor_put_quota(&buf, quota);
	return text;
}

#endif /* OOMSNOOP_TESTS_DOCTOR_FIXTURE_H */
