// SPDX-License-Identifier: Apache-2.0
/* The report as one NDJSON line; keys: docs/doctor.md. */
#include <errno.h>
#include <string.h>

#include "sink/doctor.h"
#include "sink/json.h"
#include "sink/json_parts.h"

#define SENTENCE 2048

static void put_switch(struct buf *buf, const char *key, int32_t value)
{
	if (value != KERNEL_UNKNOWN)
		json_add_i64(buf, key, value);
}

/* An errno is a number of one machine: its name in words is what stays readable elsewhere. */
static void put_error(struct buf *buf, const char *key, int error)
{
	if (error)
		json_add_string(buf, key, strerror(-error));
}

static void put_verdict(struct buf *buf, const struct doctor_report *report)
{
	enum doctor_obstacle obstacle = doctor_obstacle(report);
	char text[SENTENCE];
	struct buf sentence;

	json_add_name(buf, "tier", doctor_tier_name(doctor_tier(report)));
	if (obstacle == DOCTOR_CLEAR)
		return;
	buf_init(&sentence, text, sizeof(text));
	doctor_put_obstacle(&sentence, report);
	json_add_name(buf, "obstacle", doctor_obstacle_name(obstacle));
	json_add_string(buf, "obstacle_text", text);
	json_add_string(buf, "fallback", doctor_fallback(report));
}

static void put_tried(struct buf *buf, const struct hook *hook, const struct hook_state *state)
{
	size_t start = json_begin(buf, "tried", '[');
	char label[96];

	for (size_t i = 0; i < hook_alternatives(hook); i++) {
		if ((int)i == state->serving || !state->why[i][0])
			continue;
		json_begin(buf, NULL, '{');
		json_add_name(
			buf, "hook", hook_label(&hook->alternatives[i], label, sizeof(label)));
		json_add_name(buf, "why", state->why[i]);
		json_end(buf, '}');
	}
	json_end_filled(buf, start, ']');
}

static void put_hooks(struct buf *buf, const struct doctor_report *report)
{
	char label[96];

	if (!doctor_hooks_told(report))
		return;
	json_begin(buf, "hooks", '[');
	for (int i = 0; i < HOOK_COUNT; i++) {
		const struct hook_state *state = &report->hooks.states[i];
		const struct hook *hook = &hook_table[i];

		json_begin(buf, NULL, '{');
		json_add_name(buf, "purpose", hook->name);
		json_add_bool(buf, "required", hook->required);
		if (state->serving >= 0)
			json_add_name(buf, "hook",
				hook_label(
					&hook->alternatives[state->serving], label, sizeof(label)));
		else
			json_add_string(buf, "lost", hook->lost);
		put_tried(buf, hook, state);
		json_end(buf, '}');
	}
	json_end(buf, ']');
}

static void put_switches(struct buf *buf, const struct kernel_facts *kernel)
{
	put_switch(buf, "unprivileged_bpf_disabled", kernel->unprivileged_bpf_disabled);
	put_switch(buf, "bpf_jit_enable", kernel->bpf_jit_enable);
	put_switch(buf, "kptr_restrict", kernel->kptr_restrict);
	put_switch(buf, "perf_event_paranoid", kernel->perf_event_paranoid);
	put_switch(buf, "ftrace_enabled", kernel->ftrace_enabled);
	put_switch(buf, "dmesg_restrict", kernel->dmesg_restrict);
	put_switch(buf, "panic_on_oom", kernel->panic_on_oom);
	put_switch(buf, "oom_kill_allocating_task", kernel->oom_kill_allocating_task);
	put_switch(buf, "overcommit_memory", kernel->overcommit_memory);
	put_switch(buf, "swappiness", kernel->swappiness);
}

static void put_kernel(struct buf *buf, const struct doctor_report *report)
{
	const struct kernel_facts *kernel = &report->kernel;

	if (report->kernel_error)
		return;
	json_begin(buf, "kernel", '{');
	json_add_string(buf, "release", kernel->release);
	json_add_bool(buf, "new_enough", kernel->new_enough);
	json_add_bool(buf, "btf", kernel->btf);
	if (kernel->btf)
		json_add_u64(buf, "btf_bytes", kernel->btf_bytes);
	if (!report->host_error) {
		json_add_u64(buf, "page_size", report->host.page_size);
		json_add_u64(buf, "cpus", report->host.cpus);
	}
	json_add_name(buf, "cgroup_mode", cgroup_mode_name(kernel->cgroup_mode));
	json_add_string(buf, "cgroup_mount", kernel->cgroup_mount);
	json_add_string(buf, "tracefs", kernel->tracefs);
	if (kernel->lockdown != LOCKDOWN_UNKNOWN)
		json_add_name(buf, "lockdown", lockdown_name(kernel->lockdown));
	put_switches(buf, kernel);
	json_add_bool(buf, "psi", kernel->psi);
	json_add_bool(buf, "kmsg_readable", kernel->kmsg_error == 0);
	put_error(buf, "kmsg_error", kernel->kmsg_error);
	json_add_u64(buf, "swap_total_bytes", kernel->swap_total_bytes);
	json_add_bool(buf, "initial_pid_namespace", kernel->initial_pid_namespace);
	json_end(buf, '}');
}

static void put_notes(struct buf *buf, const struct doctor_report *report)
{
	size_t start = json_begin(buf, "notes", '[');
	const char *note;

	for (unsigned int i = 0; (note = doctor_note(report, i)); i++)
		json_add_name(buf, NULL, note);
	json_end_filled(buf, start, ']');
}

static void put_capabilities(struct buf *buf, const char *key, uint64_t set)
{
	size_t start = json_begin(buf, key, '[');

	for (unsigned int i = 0; i < 64; i++) {
		if ((set & RIGHT(i)) && capability_name(i))
			json_add_name(buf, NULL, capability_name(i));
	}
	json_end_filled(buf, start, ']');
}

static void put_extras(struct buf *buf, const struct doctor_report *report)
{
	const char *lost;

	json_begin(buf, "extra", '[');
	for (size_t i = 0; i < RIGHTS_EXTRAS; i++) {
		const struct rights_extra *extra = &rights_extras[i];

		lost = doctor_right_lost(report, extra);
		json_begin(buf, NULL, '{');
		json_add_name(buf, "capability", capability_name(extra->capability));
		if (!report->rights_error)
			json_add_bool(
				buf, "held", report->rights.effective & RIGHT(extra->capability));
		json_add_name(buf, "for", extra->buys);
		if (lost)
			json_add_name(buf, "lost", lost);
		json_end(buf, '}');
	}
	json_end(buf, ']');
}

static void put_rights(struct buf *buf, const struct doctor_report *report)
{
	const char *missing[RIGHTS_MISSING_MAX];
	size_t count, start;

	json_begin(buf, "rights", '{');
	if (!report->rights_error) {
		put_capabilities(buf, "effective", report->rights.effective);
		start = json_begin(buf, "missing", '[');
		count = rights_check(&report->rights, missing);
		for (size_t i = 0; i < count; i++)
			json_add_name(buf, NULL, missing[i]);
		json_end_filled(buf, start, ']');
		json_add_bool(buf, "no_new_privs", report->rights.no_new_privs);
		json_add_bool(buf, "user_namespace", report->rights.user_namespace);
	}
	json_add_bool(buf, "memory_locked", report->protection.lock_error == 0);
	put_error(buf, "memory_locked_error", report->protection.lock_error);
	json_add_bool(buf, "priority_raised", report->protection.priority_error == 0);
	put_error(buf, "priority_raised_error", report->protection.priority_error);
	json_add_i64(buf, "oom_score_adj", report->protection.adj);
	put_error(buf, "oom_score_adj_error", report->protection.adj_error);
	put_extras(buf, report);
	json_end(buf, '}');
}

static void put_level(struct buf *buf, const struct quota *quota, const struct quota_level *level)
{
	const struct cgroup_limits *limits = &level->limits;

	/* "No limit" is beyond every number that JSON takes: such a key is left out. */
	json_begin(buf, NULL, '{');
	json_add_name(buf, "cgroup", level->cgroup);
	json_add_u64(buf, "max_bytes", limits->max_bytes);
	json_add_u64(buf, "high_bytes", limits->high_bytes);
	json_add_u64(buf, "usage_bytes", limits->usage_bytes);
	json_add_u64(buf, "peak_bytes", limits->peak_bytes);
	json_add_u64(
		buf, quota->v2 ? "swap_max_bytes" : "memsw_limit_bytes", limits->swap_max_bytes);
	json_add_u64(buf, quota->v2 ? "swap_usage_bytes" : "memsw_usage_bytes",
		limits->swap_usage_bytes);
	json_add_u64(buf, "oom_kill", limits->oom_kill);
	json_end(buf, '}');
}

/* Of the level with the tightest limit, else of our own. */
static void put_use(struct buf *buf, const struct quota *quota)
{
	const struct memory_use *use = &quota->use;
	uint64_t dirty, cache;

	if (!quota->has_use)
		return;
	cache = memory_use_cache(use, &dirty);
	json_begin(buf, "use", '{');
	json_add_name(buf, "cgroup", quota->levels[quota->use_level].cgroup);
	json_add_u64(buf, "usage_bytes", quota->levels[quota->use_level].limits.usage_bytes);
	json_add_u64(buf, "cache_bytes", cache);
	if (cache != UNKNOWN_U64)
		json_add_u64(buf, "cache_dirty_bytes", dirty);
	json_add_u64(buf, "inactive_file_bytes", use->inactive_file_bytes);
	json_add_u64(buf, "active_file_bytes", use->active_file_bytes);
	json_add_u64(buf, "slab_reclaimable_bytes", use->slab_reclaimable_bytes);
	json_add_u64(buf, "anon_bytes", use->anon_bytes);
	json_add_u64(buf, "shmem_bytes", use->shmem_bytes);
	json_add_u64(buf, "kernel_bytes", use->kernel_bytes);
	json_add_u64(buf, "unevictable_bytes", use->unevictable_bytes);
	json_add_u64(buf, "peak_bytes", quota->levels[quota->use_level].limits.peak_bytes);
	json_add_u64(buf, "oom_kill", quota->levels[quota->use_level].limits.oom_kill);
	json_end(buf, '}');
}

static void put_memory(struct buf *buf, const struct doctor_report *report)
{
	const struct quota *quota = &report->quota;
	int tightest = quota_tightest(quota), nearest;
	char text[SENTENCE];
	struct buf sentence;
	uint64_t left;

	buf_init(&sentence, text, sizeof(text));
	doctor_put_quota(&sentence, quota);
	json_add_string(buf, "summary", text);
	json_add_u64(buf, "allowed_bytes", quota_bytes(quota));
	if (quota_hidden_max(quota) != CGROUP_NO_LIMIT)
		json_add_u64(buf, "hidden_max_bytes", quota_hidden_max(quota));
	json_add_u64(buf, "swap_allowed_bytes", quota_swap_bytes(quota));
	put_use(buf, quota);
	if (tightest >= 0)
		json_add_name(buf, "limited_by", quota->levels[tightest].cgroup);
	nearest = quota_nearest(quota, &left);
	if (nearest >= 0) {
		json_add_u64(buf, "left_bytes", left);
		json_add_name(buf, "left_in", quota->levels[nearest].cgroup);
	}
	json_add_u64(buf, "host_total_bytes", quota->host.total_bytes);
	json_add_u64(buf, "host_available_bytes", quota->host.available_bytes);
	json_add_u64(buf, "host_swap_total_bytes", quota->host.swap_total_bytes);
	json_add_bool(buf, "container", quota->container);
	json_add_bool(buf, "complete", quota->complete);
	json_begin(buf, "limits", '[');
	for (unsigned int i = 0; i < quota->level_count; i++)
		put_level(buf, quota, &quota->levels[i]);
	json_end(buf, ']');
}

static void put_places(struct buf *buf, const struct doctor_names *names)
{
	json_begin(buf, "places", '[');
	for (size_t i = 0; i < names->place_count; i++) {
		const struct names_place *place = &names->places[i];

		json_begin(buf, NULL, '{');
		json_add_name(buf, "path", place->path);
		json_add_name(buf, "gives", place->gives);
		json_add_bool(buf, "there", place->error == 0);
		if (place->error != -ENOENT && place->error != -ENOTDIR)
			put_error(buf, "error", place->error);
		json_end(buf, '}');
	}
	json_end(buf, ']');
}

static void put_names(struct buf *buf, const struct doctor_names *names)
{
	char text[SENTENCE];
	struct buf sentence;
	size_t start;

	json_begin(buf, "names", '{');
	json_add_string(buf, "host_root", names->host_root);
	json_add_u64(buf, "containers", names->sum.count);
	json_add_u64(buf, "named", names->sum.named);
	put_places(buf, names);
	start = json_begin(buf, "unknown", '[');
	buf_init(&sentence, text, sizeof(text));
	for (unsigned int i = 0; doctor_put_unnamed(&sentence, names, i); i++) {
		json_add_string(buf, NULL, text);
		buf_reset(&sentence);
	}
	json_end_filled(buf, start, ']');
	json_end(buf, '}');
}

static void put_own(struct buf *buf, const struct doctor_own *own)
{
	if (!own->full_bytes)
		return;
	json_begin(buf, "own", '{');
	json_add_u64(buf, "start_bytes", own->start_bytes);
	json_add_u64(buf, "full_bytes", own->full_bytes);
	json_add_u64(buf, "smallest_bytes", own->smallest_bytes);
	json_add_u64(buf, "room_bytes", own->room.room_bytes);
	json_add_string(buf, "room_in", own->room.cgroup);
	json_add_bool(buf, "fits", own->fit_bytes == own->full_bytes);
	if (own->fit_bytes && own->fit_bytes != own->full_bytes)
		json_add_u64(buf, "memory_option_bytes", own->fit_bytes);
	json_end(buf, '}');
}

int doctor_json(struct buf *buf, const struct doctor_report *report)
{
	size_t start = buf->len;

	json_begin(buf, NULL, '{');
	json_add_u64(buf, "v", 1);
	json_add_name(buf, "type", "doctor");
	json_add_time(buf, "ts", report->wall_ns);
	if (!report->host_error) {
		json_add_string(buf, "host", report->host.hostname);
		json_add_string(buf, "boot_id", report->host.boot_id);
	}
	json_add_string(buf, "version", OOMSNOOP_VERSION);
	put_verdict(buf, report);
	put_hooks(buf, report);
	put_kernel(buf, report);
	put_notes(buf, report);
	put_rights(buf, report);
	if (!report->quota_error) {
		json_begin(buf, "memory", '{');
		put_memory(buf, report);
		json_end(buf, '}');
	}
	if (!report->names.error)
		put_names(buf, &report->names);
	put_own(buf, &report->own);
	return json_finish(buf, start);
}
