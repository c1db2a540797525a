// SPDX-License-Identifier: Apache-2.0
/* What the text and the JSON form of the report share: what the findings mean, in sentences. */
#include "sink/doctor.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"

/* --- the verdict --- */

static const struct hook *unserved_required(const struct doctor_report *report)
{
	for (int i = 0; report->hooks_probed && i < HOOK_COUNT; i++) {
		if (hook_table[i].required && !hook_served(&report->hooks, i))
			return &hook_table[i];
	}
	return NULL;
}

static bool is_refusal(int error)
{
	return error == -EPERM || error == -EACCES;
}

enum doctor_obstacle doctor_obstacle(const struct doctor_report *report)
{
	if (report->tracer_error == 0)
		return DOCTOR_CLEAR;
	/* The kernel first: more rights would not help where it lacks what is needed. */
	if (report->kernel_error == 0 && report->kernel.major >= 0 && !report->kernel.new_enough)
		return DOCTOR_KERNEL_TOO_OLD;
	if (report->kernel_error == 0 && !report->kernel.btf)
		return DOCTOR_NO_BTF;
	/* Without rights every hook fails, so this comes before any of them. */
	if (is_refusal(report->tracer_error))
		return DOCTOR_NOT_PERMITTED;
	if (unserved_required(report))
		return DOCTOR_REQUIRED_HOOK;
	return DOCTOR_FAILED;
}

enum doctor_tier doctor_tier(const struct doctor_report *report)
{
	if (report->tracer_error != 0)
		return DOCTOR_TIER_NONE;
	return hooks_full_tier(&report->hooks) ? DOCTOR_TIER_FULL : DOCTOR_TIER_TRACEPOINT;
}

const char *doctor_tier_name(enum doctor_tier tier)
{
	static const char *const names[] = {
		[DOCTOR_TIER_NONE] = "none",
		[DOCTOR_TIER_TRACEPOINT] = "tracepoint",
		[DOCTOR_TIER_FULL] = "full",
	};

	return names[tier];
}

const char *doctor_obstacle_name(enum doctor_obstacle obstacle)
{
	static const char *const names[] = {
		[DOCTOR_CLEAR] = "clear",
		[DOCTOR_NOT_PERMITTED] = "not_permitted",
		[DOCTOR_KERNEL_TOO_OLD] = "kernel_too_old",
		[DOCTOR_NO_BTF] = "no_btf",
		[DOCTOR_REQUIRED_HOOK] = "required_hook",
		[DOCTOR_FAILED] = "failed",
	};

	return names[obstacle];
}

bool doctor_hooks_told(const struct doctor_report *report)
{
	const char *missing[RIGHTS_MISSING_MAX];

	if (!report->hooks_probed)
		return false;
	if (doctor_obstacle(report) != DOCTOR_NOT_PERMITTED || report->rights_error)
		return true;
	return rights_check(&report->rights, missing) == 0 && !report->rights.user_namespace;
}

static bool counts_memlock(const struct kernel_facts *kernel)
{
	return kernel->major >= 0 &&
	       (kernel->major < 5 || (kernel->major == 5 && kernel->minor < 11));
}

/* The cause that can be named, from the most to the least certain. */
static void put_refusal(struct buf *buf, const struct doctor_report *report)
{
	const char *missing[RIGHTS_MISSING_MAX];
	size_t count = report->rights_error ? 0 : rights_check(&report->rights, missing);

	buf_puts(buf, "not permitted: ");
	if (count > 0) {
		buf_puts(buf, missing[0]);
		for (size_t i = 1; i < count; i++)
			buf_printf(buf, " and %s", missing[i]);
		buf_puts(buf, count > 1 ? " are missing" : " is missing");
	} else if (!report->rights_error && report->rights.user_namespace) {
		buf_puts(buf, "this is a user namespace, and its capabilities do not reach the "
			      "kernel's BPF");
	} else if (!report->kernel_error && report->kernel.lockdown == LOCKDOWN_CONFIDENTIALITY) {
		buf_puts(buf, "the kernel is locked down for confidentiality");
	} else if (!report->kernel_error && counts_memlock(&report->kernel) &&
		   !(report->rights.effective & RIGHT(CAP_SYS_RESOURCE))) {
		buf_puts(buf, "before Linux 5.11 the memory of BPF counts against RLIMIT_MEMLOCK: "
			      "CAP_SYS_RESOURCE is missing, or a limit of 64 MiB (LimitMEMLOCK=, "
			      "`ulimit -l`)");
	} else {
		buf_puts(buf, "the capabilities are there, so a seccomp filter or a security "
			      "module refuses");
	}
}

void doctor_put_obstacle(struct buf *buf, const struct doctor_report *report)
{
	const struct hook *hook = unserved_required(report);

	switch (doctor_obstacle(report)) {
	case DOCTOR_CLEAR:
		break;
	case DOCTOR_NOT_PERMITTED:
		put_refusal(buf, report);
		break;
	case DOCTOR_KERNEL_TOO_OLD:
		buf_printf(buf, "this kernel is older than %d.%d and has no BPF ring buffer",
			KERNEL_FLOOR_MAJOR, KERNEL_FLOOR_MINOR);
		break;
	case DOCTOR_NO_BTF:
		buf_puts(buf, "this kernel does not describe its own types (no "
			      "/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF)");
		break;
	case DOCTOR_REQUIRED_HOOK:
		buf_printf(buf, "no hook can serve \"%s\": %s", hook->name, hook->lost);
		break;
	case DOCTOR_FAILED:
		buf_printf(buf, "loading the programs failed: %s", strerror(-report->tracer_error));
		break;
	}
}

/* --- capabilities that are of use, and not needed --- */

const char *doctor_right_lost(const struct doctor_report *report, const struct rights_extra *extra)
{
	const struct rights_protection *protection = &report->protection;
	bool lost = report->rights_error == 0;

	switch (extra->capability) {
	case CAP_SYS_RESOURCE:
		lost = protection->adj_error != 0;
		break;
	case CAP_IPC_LOCK:
		lost = protection->lock_error != 0;
		break;
	case CAP_SYS_NICE:
		lost = protection->priority_error != 0;
		break;
	case CAP_SYSLOG:
		lost = !report->kernel_error && is_refusal(report->kernel.kmsg_error);
		break;
	case CAP_DAC_READ_SEARCH:
		lost = lost && report->rights.uid != 0;
		break;
	default:
		break;
	}
	if (!report->rights_error && report->rights.effective & RIGHT(extra->capability))
		return NULL; /* something else is in the way, and the note on that tells it */
	return lost ? extra->lost : NULL;
}

/* --- the true quota --- */

static void put_bytes(struct buf *buf, uint64_t bytes)
{
	if (bytes == UNKNOWN_U64)
		buf_puts(buf, "an unknown amount");
	else
		units_bytes(buf, bytes);
}

/* ", 1.30 GiB is in use, of which 410 MiB is cache that the kernel gives back" */
static void put_use(struct buf *buf, const struct quota *quota)
{
	uint64_t used = quota->levels[quota->use_level].limits.usage_bytes, cache, dirty;

	if (!quota->level_count || used == UNKNOWN_U64)
		return;
	buf_puts(buf, "; ");
	units_bytes(buf, used);
	buf_puts(buf, " is in use");
	cache = quota->has_use ? memory_use_cache(&quota->use, &dirty) : UNKNOWN_U64;
	if (cache == UNKNOWN_U64)
		return;
	buf_puts(buf, ", of which ");
	units_bytes(buf, cache);
	buf_puts(buf, " is cache that the kernel gives back");
}

static void put_limited(struct buf *buf, const struct quota *quota, int tightest)
{
	bool hidden = quota_hidden_max(quota) != CGROUP_NO_LIMIT;

	buf_puts(buf, "You may use ");
	units_bytes(buf, quota_bytes(quota));
	if (hidden)
		buf_puts(buf, " (the limit of a level that cannot be seen from here)");
	else if (!quota->container)
		buf_printf(buf, ", with all others in %s", quota->levels[tightest].cgroup);
	put_use(buf, quota);
	buf_puts(buf, "; `free` says ");
	put_bytes(buf, quota->host.total_bytes);
	buf_puts(buf, ": that is the host.");
}

static void put_unlimited(struct buf *buf, const struct quota *quota, int tightest)
{
	buf_puts(buf, tightest < 0 ? "No cgroup limits the memory of this "
				   : "The limits are above the machine's memory for this ");
	buf_puts(buf, quota->container ? "container; " : "process; ");
	buf_puts(buf, "the machine's ");
	put_bytes(buf, quota->host.total_bytes);
	buf_puts(buf, ", as `free` shows, are shared with all that runs on it.");
}

bool doctor_limited(const struct quota *quota)
{
	return quota_bytes(quota) < quota->host.total_bytes;
}

void doctor_put_quota(struct buf *buf, const struct quota *quota)
{
	int tightest = quota_tightest(quota);

	if (doctor_limited(quota))
		put_limited(buf, quota, tightest);
	else
		put_unlimited(buf, quota, tightest);
	if (!quota->complete && quota->v2)
		buf_puts(buf, " Levels above what is mounted here cannot be seen: a pod or slice "
			      "may allow less.");
}

const char *doctor_fallback(const struct doctor_report *report)
{
	const struct quota *quota = &report->quota;

	if (doctor_obstacle(report) == DOCTOR_CLEAR)
		return NULL;
	if (!report->kernel_error && report->kernel.kmsg_error == 0)
		return "kmsg";
	if (!report->quota_error && (quota->container || quota_tightest(quota) >= 0))
		return "cgroup";
	return NULL;
}

/* --- what the tool itself takes --- */

static void put_mib_up(struct buf *buf, uint64_t bytes)
{
	buf_printf(buf, "%llu MiB", (unsigned long long)((bytes + (1 << 20) - 1) >> 20));
}

void doctor_put_own(struct buf *buf, const struct doctor_own *own)
{
	buf_puts(buf, "The live trace itself takes ");
	put_mib_up(buf, own->start_bytes);
	buf_puts(buf, " to start and at most ");
	put_mib_up(buf, own->full_bytes);
	buf_puts(buf, ", once all of its tables are full");
	if (own->room.room_bytes == UNKNOWN_U64) {
		buf_puts(buf, ".");
		return;
	}
	buf_puts(buf, "; ");
	units_bytes(buf, own->room.room_bytes);
	buf_printf(buf, " are left in %s, page cache counted as free: ", own->room.cgroup);
	if (own->fit_bytes == own->full_bytes) {
		buf_puts(buf, "it fits.");
	} else if (own->fit_bytes) {
		buf_puts(buf, "it refuses to start unless --memory ");
		buf_printf(buf, "%lluMiB",
			(unsigned long long)((own->fit_bytes + (1 << 20) - 1) >> 20));
		buf_puts(buf, " makes its tables smaller.");
	} else {
		buf_puts(buf, "it refuses to start; its smallest tables need ");
		put_mib_up(buf, own->smallest_bytes);
		buf_puts(buf, ".");
	}
}

/* --- settings with consequences --- */

static bool no_memory_controller(const struct doctor_report *report)
{
	return report->kernel.cgroup_mode == CGROUP_MODE_NONE;
}

static bool panics(const struct doctor_report *report)
{
	return report->kernel.panic_on_oom > 0;
}

static bool kills_allocating(const struct doctor_report *report)
{
	return report->kernel.oom_kill_allocating_task > 0;
}

static bool strict_overcommit(const struct doctor_report *report)
{
	return report->kernel.overcommit_memory == 2;
}

static bool no_swap(const struct doctor_report *report)
{
	return report->kernel.swap_total_bytes == 0;
}

static bool no_kmsg(const struct doctor_report *report)
{
	return report->kernel.kmsg_error != 0;
}

static bool no_ftrace(const struct doctor_report *report)
{
	return report->kernel.ftrace_enabled == 0;
}

static bool hidden_addresses(const struct doctor_report *report)
{
	return report->kernel.kptr_restrict >= 2 ||
	       (report->kernel.kptr_restrict == 1 && !report->rights_error &&
		       !(report->rights.effective & RIGHT(CAP_SYSLOG)));
}

static bool locked_down(const struct doctor_report *report)
{
	return report->kernel.lockdown == LOCKDOWN_CONFIDENTIALITY;
}

static bool foreign_pids(const struct doctor_report *report)
{
	return !report->kernel.initial_pid_namespace;
}

static bool no_psi(const struct doctor_report *report)
{
	return !report->kernel.psi;
}

static const struct {
	bool (*applies)(const struct doctor_report *report);
	const char *text;
} notes[] = {
	{panics, "vm.panic_on_oom is set: the machine panics in place of a kill, and no record of "
		 "that is written here; the kernel's own report has to be kept by pstore or "
		 "netconsole."},
	{kills_allocating, "vm.oom_kill_allocating_task is set: when the whole machine is out of "
			   "memory whoever asks dies, and nothing is weighed."},
	{strict_overcommit, "vm.overcommit_memory is 2: allocations are refused (ENOMEM) before "
			    "memory runs out, so programs may fail without any kill."},
	{no_swap, "No swap: anonymous memory cannot be written out, so a limit is met at once."},
	{no_memory_controller, "No memory controller is mounted: limits and usage of cgroups "
			       "cannot be read."},
	{foreign_pids, "This is not the host's pid namespace: command lines of processes outside "
		       "it are known only if they start while the tool runs (hostPID: true)."},
	{no_kmsg, "/dev/kmsg cannot be read: records are not checked against the kernel's own "
		  "log (CAP_SYSLOG, and the device in the container)."},
	{hidden_addresses, "kernel.kptr_restrict hides addresses: counters kept per CPU are "
			   "approximate where the kernel's own are."},
	{no_ftrace, "kernel.ftrace_enabled is 0: no fentry program and no kprobe will fire."},
	{locked_down, "The kernel is locked down for confidentiality: BPF may not read its "
		      "memory."},
	{no_psi, "No pressure figures (PSI): they are left out."},
};

const char *doctor_note(const struct doctor_report *report, unsigned int index)
{
	if (report->kernel_error)
		return NULL;
	for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++) {
		if (notes[i].applies(report) && index-- == 0)
			return notes[i].text;
	}
	return NULL;
}
