// SPDX-License-Identifier: Apache-2.0
/* The report for people: verdict first, then hooks, kernel, rights and memory, 80 columns. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "sink/doctor.h"
#include "sink/text_flow.h"

#define SCRATCH 2048

struct page {
	struct flow flow;
	struct buf scratch; /* a sentence on its way to the flow */
	char memory[SCRATCH];
};

/* Names of cgroups and what a library says of a failure: nothing of it may steer a terminal. */
static void put_harmless(struct buf *buf, const char *text)
{
	text_terminal(buf, text, strlen(text), 0);
}

static void put_number(struct page *page, const char *name, int32_t value)
{
	if (value != KERNEL_UNKNOWN)
		buf_printf(&page->scratch, "%s=%d ", name, value);
}

/* --- verdict --- */

/* "reaper, freed": what is not served, apart from what the tier itself is about. */
static unsigned int put_unserved(struct buf *buf, const struct hooks *hooks)
{
	unsigned int count = 0;

	for (int i = 0; i < HOOK_COUNT; i++) {
		if (hook_served(hooks, i) || i == HOOK_KILL)
			continue;
		buf_printf(buf, "%s%s", count++ ? ", " : "", hook_table[i].name);
	}
	return count;
}

static void put_verdict(struct page *page, const struct doctor_report *report)
{
	struct buf *out = &page->scratch;
	size_t before;

	switch (doctor_tier(report)) {
	case DOCTOR_TIER_NONE:
		flow_raw(&page->flow, "Tier: none: ");
		buf_puts(out, "nothing can be traced: ");
		doctor_put_obstacle(out, report);
		buf_putc(out, '.');
		return;
	case DOCTOR_TIER_TRACEPOINT:
		flow_raw(&page->flow, "Tier: tracepoints only: ");
		buf_printf(out, "every kill is seen, but %s.", hook_table[HOOK_KILL].lost);
		break;
	case DOCTOR_TIER_FULL:
		flow_raw(&page->flow, "Tier: full: ");
		buf_puts(out, "every kill is seen with all that the kernel decided by.");
		break;
	}
	before = out->len;
	buf_puts(out, " Not served: ");
	if (put_unserved(out, &report->hooks))
		buf_puts(out, " (below).");
	else
		buf_rewind(out, before);
}

static void put_fallback(struct page *page, const struct doctor_report *report)
{
	const char *fallback = doctor_fallback(report);

	if (!fallback)
		return;
	flow_label(&page->flow, "");
	flow_text(&page->flow,
		strcmp(fallback, "kmsg") == 0
			? "The kernel log can be read: `oomsnoop` tells of kills from that."
			: "`oomsnoop` tells of kills in its own cgroup all the same, from "
			  "the cgroup's files: see docs/no-rights.md.");
}

/* --- hooks --- */

/* Every alternative that was tried before the one that serves, with the reason that it failed. */
static void put_tried(struct page *page, const struct hook *hook, const struct hook_state *state)
{
	char label[96];

	for (size_t i = 0; i < hook_alternatives(hook); i++) {
		if ((int)i == state->serving || !state->why[i][0])
			continue;
		flow_label(&page->flow, "");
		flow_raw(&page->flow, "  not ");
		put_harmless(
			&page->scratch, hook_label(&hook->alternatives[i], label, sizeof(label)));
		buf_puts(&page->scratch, ": ");
		put_harmless(&page->scratch, state->why[i]);
		flow_take(&page->flow, &page->scratch);
	}
}

static void put_hook(struct page *page, const struct hook *hook, const struct hook_state *state)
{
	char label[96];

	buf_printf(&page->scratch, "%s: ", hook->name);
	if (state->serving >= 0)
		put_harmless(&page->scratch,
			hook_label(&hook->alternatives[state->serving], label, sizeof(label)));
	else
		buf_printf(&page->scratch, "none%s: %s", hook->required ? " (required)" : "",
			hook->lost);
	flow_take(&page->flow, &page->scratch);
	put_tried(page, hook, state);
}

static void put_hooks(struct page *page, const struct doctor_report *report)
{
	if (!doctor_hooks_told(report)) {
		flow_label(&page->flow, "hooks");
		flow_text(&page->flow, "not tried: nothing can be loaded");
		return;
	}
	for (int i = 0; i < HOOK_COUNT; i++) {
		flow_label(&page->flow, i == 0 ? "hooks" : "");
		put_hook(page, &hook_table[i], &report->hooks.states[i]);
	}
}

/* --- kernel --- */

static void put_kernel_head(struct page *page, const struct doctor_report *report)
{
	const struct kernel_facts *kernel = &report->kernel;
	struct buf *out = &page->scratch;

	put_harmless(out, kernel->release);
	buf_puts(out, kernel->btf ? ", BTF " : ", no BTF");
	if (kernel->btf)
		glue_bytes(out, kernel->btf_bytes);
	if (!report->host_error)
		buf_printf(
			out, ", %u CPUs, %u-byte pages", report->host.cpus, report->host.page_size);
	buf_puts(out, ", lockdown ");
	buf_puts(out, lockdown_name(kernel->lockdown));
	flow_take(&page->flow, out);
}

static void put_kernel_mounts(struct page *page, const struct kernel_facts *kernel)
{
	struct buf *out = &page->scratch;

	flow_label(&page->flow, "");
	buf_printf(out, "memory cgroups: %s", cgroup_mode_name(kernel->cgroup_mode));
	if (kernel->cgroup_mount[0]) {
		buf_puts(out, " at ");
		put_harmless(out, kernel->cgroup_mount);
	}
	if (kernel->tracefs[0]) {
		buf_puts(out, "; tracefs at ");
		put_harmless(out, kernel->tracefs);
	} else {
		buf_puts(out, "; tracefs not mounted, and not needed");
	}
	buf_printf(out, "; PSI %s", kernel->psi ? "yes" : "no");
	buf_puts(out, "; kernel log ");
	buf_puts(out, kernel->kmsg_error ? strerror(-kernel->kmsg_error) : "readable");
	flow_take(&page->flow, out);
}

static void put_kernel_switches(struct page *page, const struct kernel_facts *kernel)
{
	flow_label(&page->flow, "");
	put_number(page, "unprivileged_bpf_disabled", kernel->unprivileged_bpf_disabled);
	put_number(page, "bpf_jit_enable", kernel->bpf_jit_enable);
	put_number(page, "kptr_restrict", kernel->kptr_restrict);
	put_number(page, "perf_event_paranoid", kernel->perf_event_paranoid);
	put_number(page, "ftrace_enabled", kernel->ftrace_enabled);
	put_number(page, "dmesg_restrict", kernel->dmesg_restrict);
	put_number(page, "panic_on_oom", kernel->panic_on_oom);
	put_number(page, "oom_kill_allocating_task", kernel->oom_kill_allocating_task);
	put_number(page, "overcommit_memory", kernel->overcommit_memory);
	put_number(page, "swappiness", kernel->swappiness);
	flow_take(&page->flow, &page->scratch);
}

static void put_kernel(struct page *page, const struct doctor_report *report)
{
	const char *note;

	flow_label(&page->flow, "kernel");
	if (report->kernel_error) {
		buf_printf(&page->scratch, "not readable: %s", strerror(-report->kernel_error));
		flow_take(&page->flow, &page->scratch);
		return;
	}
	put_kernel_head(page, report);
	put_kernel_mounts(page, &report->kernel);
	put_kernel_switches(page, &report->kernel);
	for (unsigned int i = 0; (note = doctor_note(report, i)); i++) {
		flow_label(&page->flow, i == 0 ? "notes" : "");
		flow_text(&page->flow, note);
	}
}

/* --- rights --- */

static void put_held(struct buf *out, uint64_t effective)
{
	static const unsigned int asked[] = {CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN, CAP_SYS_RESOURCE,
		CAP_SYSLOG, CAP_IPC_LOCK, CAP_SYS_NICE, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH};
	unsigned int count = 0;

	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		if (effective & RIGHT(asked[i]))
			buf_printf(
				out, "%s%s", count++ ? ", " : "held: ", capability_name(asked[i]));
	}
	if (count == 0)
		buf_puts(out, "none is held that matters here");
}

static void put_protection(struct buf *out, const struct rights_protection *protection)
{
	buf_printf(out, "memory locked: %s; oom_score_adj %d",
		protection->lock_error ? strerror(-protection->lock_error) : "yes",
		protection->adj);
	if (protection->adj_error)
		buf_printf(out, " (-1000: %s; the tool itself may be killed)",
			strerror(-protection->adj_error));
}

static void put_lost_rights(struct page *page, const struct doctor_report *report)
{
	const char *lost;

	for (size_t i = 0; i < RIGHTS_EXTRAS; i++) {
		lost = doctor_right_lost(report, &rights_extras[i]);
		if (!lost)
			continue;
		flow_label(&page->flow, "");
		buf_printf(&page->scratch, "without %s: %s",
			capability_name(rights_extras[i].capability), lost);
		flow_take(&page->flow, &page->scratch);
	}
}

static void put_rights(struct page *page, const struct doctor_report *report)
{
	const char *missing[RIGHTS_MISSING_MAX];
	struct buf *out = &page->scratch;
	size_t count;

	flow_label(&page->flow, "rights");
	if (report->rights_error) {
		buf_printf(out, "not readable: %s", strerror(-report->rights_error));
	} else {
		put_held(out, report->rights.effective);
		count = rights_check(&report->rights, missing);
		for (size_t i = 0; i < count; i++)
			buf_printf(out, "%s%s", i ? ", " : "; missing: ", missing[i]);
		if (report->rights.user_namespace)
			buf_puts(out, "; in a user namespace");
	}
	flow_take(&page->flow, out);
	flow_label(&page->flow, "");
	put_protection(out, &report->protection);
	flow_take(&page->flow, out);
	put_lost_rights(page, report);
}

/* --- memory --- */

static void put_value(struct buf *out, const char *name, uint64_t bytes)
{
	if (bytes == UNKNOWN_U64)
		return;
	buf_printf(out, "%s %s ", out->data[out->len - 1] == ':' ? "" : ",", name);
	if (bytes == CGROUP_NO_LIMIT)
		buf_puts(out, "none");
	else
		glue_bytes(out, bytes);
}

static void put_level(struct page *page, const struct quota *quota, const struct quota_level *level)
{
	const struct cgroup_limits *limits = &level->limits;
	struct buf *out = &page->scratch;

	flow_label(&page->flow, "");
	put_harmless(out, level->cgroup);
	buf_putc(out, ':');
	put_value(out, "limit", limits->max_bytes);
	put_value(out, "high", limits->high_bytes);
	put_value(out, "used", limits->usage_bytes);
	put_value(out, quota->v2 ? "swap limit" : "memory+swap limit", limits->swap_max_bytes);
	put_value(out, quota->v2 ? "swap used" : "memory+swap used", limits->swap_usage_bytes);
	flow_take(&page->flow, out);
}

static void put_left(struct page *page, const struct quota *quota)
{
	struct buf *out = &page->scratch;
	uint64_t left;
	int nearest = quota_nearest(quota, &left);

	if (nearest < 0)
		return;
	flow_label(&page->flow, "");
	glue_bytes(out, left);
	buf_puts(out, " are left before the limit of ");
	put_harmless(out, quota->levels[nearest].cgroup);
	buf_puts(out, ", page cache that can be dropped not counted");
	flow_take(&page->flow, out);
}

static void put_part(struct buf *out, const char *name, uint64_t bytes)
{
	if (bytes == UNKNOWN_U64)
		return;
	if (out->data[out->len - 1] != ':')
		buf_putc(out, ',');
	buf_printf(out, " %s%c", name, FLOW_GLUE);
	glue_bytes(out, bytes);
}

/* Which part of what is in use goes by itself when it gets tight, and which does not. */
static void put_reclaim(struct page *page, const struct quota *quota)
{
	const struct memory_use *use = &quota->use;
	bool swap = quota_swap_bytes(quota) != 0 && quota_swap_bytes(quota) != UNKNOWN_U64;
	struct buf *out = &page->scratch;
	uint64_t dirty, cache;

	if (!quota->has_use)
		return;
	cache = memory_use_cache(use, &dirty);
	flow_label(&page->flow, "");
	buf_puts(out, "the kernel gives back:");
	put_part(out, "page cache", cache);
	if (cache != UNKNOWN_U64 && dirty) {
		buf_puts(out, " (");
		glue_bytes(out, dirty);
		buf_puts(out, " of it once written)");
	}
	put_part(out, "kernel caches", use->slab_reclaimable_bytes);
	flow_take(&page->flow, out);
	flow_label(&page->flow, "");
	buf_printf(out, "it cannot give back%s:", swap ? " but by swapping" : "");
	put_part(out, "anonymous", use->anon_bytes);
	put_part(out, "tmpfs and shared memory", use->shmem_bytes);
	put_part(out, swap ? "and not at all: kernel" : "kernel",
		use->kernel_bytes != UNKNOWN_U64 && use->slab_reclaimable_bytes != UNKNOWN_U64 &&
				use->kernel_bytes >= use->slab_reclaimable_bytes
			? use->kernel_bytes - use->slab_reclaimable_bytes
			: use->kernel_bytes);
	put_part(out, "locked", use->unevictable_bytes);
	flow_take(&page->flow, out);
}

static void put_swap_allowed(struct page *page, const struct quota *quota)
{
	uint64_t swap = quota_swap_bytes(quota);
	struct buf *out = &page->scratch;

	if (swap == UNKNOWN_U64)
		return;
	flow_label(&page->flow, "");
	if (swap == 0) {
		buf_puts(out, quota->host.swap_total_bytes
				      ? "no swap may be used here, though the machine has some"
				      : "there is no swap");
	} else {
		buf_puts(out, "swap beside it: ");
		glue_bytes(out, swap);
	}
	flow_take(&page->flow, out);
}

/* The same numbers under all of their names, so that nobody has to ask which one is right. */
static void put_others_say(struct page *page, const struct quota *quota)
{
	struct buf *out = &page->scratch;

	if (!doctor_limited(quota))
		return;
	flow_label(&page->flow, "");
	buf_puts(out, "`free`, psutil.virtual_memory() and /proc/meminfo say: total ");
	glue_bytes(out, quota->host.total_bytes);
	if (quota->host.available_bytes != UNKNOWN_U64) {
		buf_puts(out, ", available ");
		glue_bytes(out, quota->host.available_bytes);
	}
	buf_puts(out, "; all of it of the machine, nothing of your quota");
	flow_take(&page->flow, out);
}

static void put_so_far(struct page *page, const struct quota *quota)
{
	const struct cgroup_limits *limits = &quota->levels[quota->use_level].limits;
	struct buf *out = &page->scratch;

	if (limits->peak_bytes == UNKNOWN_U64 && limits->oom_kill == UNKNOWN_U64)
		return;
	flow_label(&page->flow, "");
	buf_puts(out, "so far:");
	put_part(out, "at most in use", limits->peak_bytes);
	if (limits->oom_kill != UNKNOWN_U64)
		buf_printf(out, "%s killed by the OOM killer%c%llu",
			out->data[out->len - 1] == ':' ? "" : ",", FLOW_GLUE,
			(unsigned long long)limits->oom_kill);
	flow_take(&page->flow, out);
}

static void put_answer(struct page *page, const struct quota *quota)
{
	char sentence[SCRATCH];
	struct buf plain;

	buf_init(&plain, sentence, sizeof(sentence));
	doctor_put_quota(&plain, quota);
	put_harmless(&page->scratch, sentence);
	flow_take(&page->flow, &page->scratch);
}

/* A line without a label has to begin with what is known to fit. */
static void put_answer_first(struct page *page, const struct quota *quota)
{
	static const char begins[] = "You may use ";
	char sentence[SCRATCH];
	struct buf plain;

	buf_init(&plain, sentence, sizeof(sentence));
	doctor_put_quota(&plain, quota);
	flow_raw(&page->flow, begins);
	put_harmless(&page->scratch, sentence + sizeof(begins) - 1);
	flow_take(&page->flow, &page->scratch);
}

/* Whoever asks in a container asks for this first. */
static bool answer_first(const struct doctor_report *report)
{
	return !report->quota_error && report->quota.container && doctor_limited(&report->quota);
}

static void put_own(struct page *page, const struct doctor_own *own)
{
	char sentence[SCRATCH];
	struct buf plain;

	if (!own->full_bytes)
		return;
	buf_init(&plain, sentence, sizeof(sentence));
	doctor_put_own(&plain, own);
	flow_label(&page->flow, "");
	put_harmless(&page->scratch, sentence);
	flow_take(&page->flow, &page->scratch);
}

static void put_memory(struct page *page, const struct doctor_report *report)
{
	const struct quota *quota = &report->quota;

	flow_label(&page->flow, "memory");
	if (report->quota_error) {
		buf_printf(&page->scratch, "not readable: %s", strerror(-report->quota_error));
		flow_take(&page->flow, &page->scratch);
		return;
	}
	if (answer_first(report))
		flow_text(&page->flow, "in detail:");
	else
		put_answer(page, quota);
	put_left(page, quota);
	put_swap_allowed(page, quota);
	put_reclaim(page, quota);
	put_so_far(page, quota);
	put_others_say(page, quota);
	for (unsigned int i = 0; i < quota->level_count; i++)
		put_level(page, quota, &quota->levels[i]);
	put_own(page, &report->own);
}

/* --- names --- */

static void put_place(struct page *page, const struct names_place *place)
{
	struct buf *out = &page->scratch;

	if (place->error == -ENOENT || place->error == -ENOTDIR)
		return;
	flow_label(&page->flow, "");
	buf_puts(out, place->path);
	if (place->error)
		buf_printf(out, " cannot be read: %s", strerror(-place->error));
	else
		buf_printf(out, ": %s", place->gives);
	flow_take(&page->flow, out);
}

static void put_names(struct page *page, const struct doctor_names *names)
{
	struct buf *out = &page->scratch;

	flow_label(&page->flow, "names");
	if (names->error) {
		buf_printf(out, "not to be looked for: %s", strerror(-names->error));
		flow_take(&page->flow, out);
		return;
	}
	doctor_put_named(out, names);
	if (names->host_root && names->host_root[0]) {
		buf_puts(out, "; looked for below ");
		put_harmless(out, names->host_root);
	}
	flow_take(&page->flow, out);
	for (size_t i = 0; i < names->place_count; i++)
		put_place(page, &names->places[i]);
	for (unsigned int i = 0; doctor_put_unnamed(out, names, i); i++) {
		flow_label(&page->flow, "");
		flow_take(&page->flow, out);
	}
}

int doctor_text(struct buf *buf, const struct doctor_report *report)
{
	size_t start = buf->len;
	struct page page;

	flow_init(&page.flow, buf, FLOW_WIDTH, false);
	buf_init(&page.scratch, page.memory, sizeof(page.memory));
	if (answer_first(report)) {
		put_answer_first(&page, &report->quota);
		flow_end(&page.flow);
	}
	put_verdict(&page, report);
	flow_take(&page.flow, &page.scratch);
	put_fallback(&page, report);
	put_hooks(&page, report);
	put_kernel(&page, report);
	put_rights(&page, report);
	put_memory(&page, report);
	put_names(&page, &report->names);
	flow_end(&page.flow);
	if (!buf->full)
		return 0;
	buf_rewind(buf, start);
	return -ENOSPC;
}
